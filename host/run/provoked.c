// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of the kernel that a test brings about itself, by its own word (mmgate-provokes).
 */
#include "run/run.h"

#include <string.h>

static const struct test *test_named(const GPtrArray *tests, const char *name)
{
	for (guint i = 0; name && i < tests->len; i++) {
		const struct planned *p = tests->pdata[i];

		if (!strcmp(p->test->name, name))
			return p->test;
	}
	return NULL;
}

/**
 * provoked_splats() - set "allowed" in the splats that their test says it provokes
 * @splats:	array of splat_scan()
 * @tests:	struct planned *, of the boot
 *
 * A splat counts as its test's where it came while that ran, and where its kind is one of
 * mmgate-provokes.  A splat of a known issue is marked later, and keeps the name.
 */
void provoked_splats(json_t *splats, const GPtrArray *tests)
{
	json_t *s;
	size_t i;

	json_array_foreach(splats, i, s) {
		const char *kind = json_string_value(json_object_get(s, "kind"));
		const struct test *t = test_named(tests, json_string_value(json_object_get(s, "test")));

		for (guint k = 0; kind && t && k < t->provokes->len; k++)
			if (!strcmp(t->provokes->pdata[k], kind))
				json_object_set_new(s, "allowed", json_sprintf("provoked by %s", t->name));
	}
}
