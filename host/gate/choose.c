// SPDX-License-Identifier: GPL-2.0-only
/*
 * gate --series without a name: which tests does this series call for?
 */
#include "gate/choose.h"

#include <stdio.h>
#include <string.h>

#include "run/run.h"
#include "source/touched.h"

#define UNKNOWN_SECONDS	10	/* of a glob that never ran here */

/* What the runs of the cases of @glob take, by the history */
static double seconds_of(const char *glob, void *data)
{
	double s = history_seconds(glob);

	return (s > 0 ? s : UNKNOWN_SECONDS) * *(double *)data;
}

static bool has_word(const GPtrArray *list, const char *word)
{
	return g_ptr_array_find_with_equal_func((GPtrArray *)list, word, g_str_equal, NULL);
}

/*
 * The machines of the gates; the first that a guard names for a test; and for a test that
 * asks for none of those its own first
 */
static bool add_machines(struct choice *c, GError **err)
{
	g_autoptr(GPtrArray) catalog = catalog_load(err);

	if (!catalog)
		return false;
	for (guint i = 0; i < c->tests->len; i++) {
		const struct chosen_test *chosen = c->tests->pdata[i];

		if (chosen->kept && chosen->machines->len && !has_word(c->machines, chosen->machines->pdata[0]))
			g_ptr_array_add(c->machines, g_strdup(chosen->machines->pdata[0]));
		for (guint t = 0; chosen->kept && t < catalog->len; t++) {
			const struct test *test = catalog->pdata[t];
			size_t len = strlen(test->name);
			bool covered = false;

			if (strncmp(chosen->glob, test->name, len) ||
			    (chosen->glob[len] && chosen->glob[len] != '/'))
				continue;
			for (guint m = 0; m < test->machines->len && !covered; m++)
				covered = has_word(c->machines, test->machines->pdata[m]);
			if (!covered)
				g_ptr_array_add(c->machines, g_strdup(test->machines->pdata[0]));
		}
	}
	if (!c->machines->len)
		g_ptr_array_add(c->machines, g_strdup("default"));
	return true;
}

static void say_choice(const struct choice *c, bool quiet)
{
	guint left = 0;

	for (guint i = 0; i < c->gates->len && !quiet; i++)
		printf("gate     %s\n", (char *)c->gates->pdata[i]);
	for (guint i = 0; i < c->tests->len; i++) {
		const struct chosen_test *t = c->tests->pdata[i];

		left += !t->kept;
		if (t->kept && !quiet)
			printf("test     %s (%s)\n", t->glob, t->why);
	}
	for (guint i = 0; i < c->tests->len && !quiet; i++) {
		const struct chosen_test *t = c->tests->pdata[i];

		if (!t->kept)
			printf("left out %s (%.0f s)\n", t->glob, t->seconds);
	}
	if (left)
		status_note("%u of %u tests are left out, the least telling ones: --budget MINUTES takes more",
			    left, c->tests->len);
}

static char *file_list(const GPtrArray *touched)
{
	GString *s = g_string_new(NULL);
	const char *last = "";

	for (guint i = 0; i < touched->len && s->len < 300; i++) {
		const struct touched *t = touched->pdata[i];

		if (strcmp(t->file, last))
			g_string_append_printf(s, "%s%s", s->len ? ", " : "", t->file);
		last = t->file;
	}
	return g_string_free(s, FALSE);
}

struct choice *choose_for_change(const struct source *src, GHashTable *base, GHashTable *patched, double runs,
				 double budget, bool quiet, GError **err)
{
	g_autoptr(GPtrArray) touched = touched_by(src, base, patched);
	g_autoptr(GPtrArray) guards = guards_load(err);
	g_autofree struct place *places = g_new0(struct place, touched->len + 1);
	struct choice *c;

	if (!guards)
		return NULL;
	for (guint i = 0; i < touched->len; i++) {
		const struct touched *t = touched->pdata[i];

		places[i].file = t->file;
		places[i].function = t->function;
	}
	c = choice_make(guards, places, touched->len);
	if (!c->tests->len) {
		g_autofree char *files = file_list(touched);

		mmg_set_error(err, MMG_EXIT_NOTHING, "the series touches nothing that a gate or a mutant "
			      "guards (%s): nothing was run; name a gate to run it all the same", files);
		choice_free(c);
		return NULL;
	}
	choice_bound(c, budget, seconds_of, &runs);
	if (add_machines(c, err)) {
		say_choice(c, quiet);
		return c;
	}
	choice_free(c);
	return NULL;
}
