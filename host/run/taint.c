// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel's taint: the flags that it sets when something in it went wrong stay
 * set, also where the words for it never came to the console.  PID 1 reads them
 * before and after each test.
 */
#include "run/run.h"

#include <string.h>

/* Letters of kernel/panic.c's taint_flags[], in the order of the bits */
static const char letters[] = "PFSRMBUDAWCIOELKXTNJ";

/*
 * Flags that say that something went wrong; the others say what was loaded or
 * asked for.  Machine check, bad page, died, warning, soft lockup.
 */
#define WRONG (1u << 4 | 1u << 5 | 1u << 7 | 1u << 9 | 1u << 14)

/* Flags as letters, as the kernel prints them; g_free() them */
static char *flag_letters(guint64 flags)
{
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < sizeof(letters) - 1; i++)
		if (flags >> i & 1)
			g_string_append_c(s, letters[i]);
	return g_string_free(s, FALSE);
}

static bool has_splat(const json_t *splats, const char *test)
{
	const json_t *s;
	size_t i;

	json_array_foreach(splats, i, s) {
		const char *name = json_string_value(json_object_get(s, "test"));

		if (test ? name && !strcmp(name, test) : !name)
			return true;
	}
	return false;
}

/**
 * taint_splats() - add what the kernel's taint tells and its console did not
 * @splats:	array of splat_scan(); a flag that a splat of the same test explains adds none
 * @taints:	test ("-" for the boot), flags before and after it, by PID 1
 *
 * Each is a splat of kind "unknown".
 */
void taint_splats(json_t *splats, const json_t *taints)
{
	const json_t *t;
	size_t i;

	json_array_foreach(taints, i, t) {
		const char *test = json_string_value(json_object_get(t, "test"));
		guint64 before = json_integer_value(json_object_get(t, "before"));
		guint64 now = json_integer_value(json_object_get(t, "after")) & ~before & WRONG;
		char *flags, *title, *sum;

		if (test && !strcmp(test, "-"))
			test = NULL;
		if (!now || has_splat(splats, test))
			continue;
		flags = flag_letters(now);
		title = g_strdup_printf("the kernel is tainted (%s)%s, and its console did not say why", flags,
					test ? "" : " since its boot");
		sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, title, -1);
		sum[16] = '\0';
		json_array_append_new(splats, json_pack("{s:s, s:s, s:s, s:s?, s:i, s:s, s:n}", "kind", "unknown",
							"title", title, "fingerprint", sum, "test", test, "count",
							1, "text", title, "allowed"));
		g_free(flags);
		g_free(title);
		g_free(sum);
	}
}
