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

/* What the runs of the cases of @glob_at take, by the history */
static double seconds_of(const char *glob_at, void *data)
{
	const char *machine;
	g_autofree char *glob = mmg_glob_split(glob_at, &machine);
	double s = history_seconds(glob);

	return (s > 0 ? s : UNKNOWN_SECONDS) * *(double *)data;
}

/* The machine that the test of @glob asks for first, or NULL */
static const char *first_machine(const GPtrArray *catalog, const char *glob)
{
	for (guint t = 0; t < catalog->len; t++) {
		const struct test *test = catalog->pdata[t];
		size_t len = strlen(test->name);

		if (!strncmp(glob, test->name, len) && (!glob[len] || glob[len] == '/'))
			return test->machines->pdata[0];
	}
	return NULL;
}

static bool has_glob(const struct choice *c, const char *glob)
{
	for (guint i = 0; i < c->tests->len; i++)
		if (!strcmp(((struct chosen_test *)c->tests->pdata[i])->glob, glob))
			return true;
	return false;
}

/*
 * A test for which no guard names a machine runs on the first that it asks for itself: else it would run on
 * each machine of all that are chosen
 */
static bool name_machines(struct choice *c, GError **err)
{
	g_autoptr(GPtrArray) catalog = catalog_load(err);

	if (!catalog)
		return false;
	for (guint i = 0; i < c->tests->len; i++) {
		struct chosen_test *t = c->tests->pdata[i];
		const char *machine = mmg_glob_machine(t->glob) ? NULL : first_machine(catalog, t->glob);
		char *at = machine ? g_strdup_printf("%s@%s", t->glob, machine) : NULL;

		if (at && has_glob(c, at)) {
			g_free(at);
			g_ptr_array_remove_index(c->tests, i--);
		} else if (at) {
			g_free(t->glob);
			t->glob = at;
		}
	}
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
	if (name_machines(c, err)) {
		choice_bound(c, budget, seconds_of, &runs);
		say_choice(c, quiet);
		return c;
	}
	choice_free(c);
	return NULL;
}
