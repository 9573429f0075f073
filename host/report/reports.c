// SPDX-License-Identifier: GPL-2.0-only
/*
 * The forms that were asked for, written and printed.
 */
#include "report/report_matrix.h"
#include "run/past.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *slurp(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL), *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	g_free(path);
	return text;
}

/* A form asked for alone is printed in place of the text */
static void print_form(const char *dir, const char *name)
{
	char *text = slurp(dir, name);

	if (text)
		fputs(text, stdout);
	g_free(text);
}

int reports_make(const struct report_forms *forms, json_t *run, const char *dir, GError **err)
{
	bool others = forms->junit || forms->html || forms->kcidb || forms->gitlab || forms->github ||
		      forms->patchwork;
	bool only_json = forms->json && !forms->tap && !others;
	bool only_tap = forms->tap && !forms->json && !others;
	GError *e = NULL;

	/* a gate has compared itself before it was printed; mutants are broken on purpose */
	if (!strcmp(obj_str(run, "verb"), "run") && past_add(run, NULL) &&
	    json_object_get(run, "past") && !results_save(run, dir, err))
		return MMG_EXIT_BROKEN;
	if (!forms->no_history && !history_add(run, &e)) {
		status_note("not in the history: %s", e->message);
		g_clear_error(&e);
	}
	if (!report_summary(run, dir, err) || !report_tap(run, dir, err) ||
	    (forms->junit && !report_junit(run, dir, err)) ||
	    (forms->html && !report_html(run, dir, err)) ||
	    (forms->kcidb && !report_kcidb(run, dir, err)) ||
	    (forms->gitlab && !report_gitlab(run, dir, err)) ||
	    (forms->github && !report_github(run, dir, err)) ||
	    (forms->patchwork && !report_patchwork(run, dir, err)))
		return MMG_EXIT_BROKEN;
	if (only_json)
		print_form(dir, "run.json");
	else if (only_tap)
		print_form(dir, "results.tap");
	else if (!forms->quiet && !report_text(run, dir, stdout, isatty(STDOUT_FILENO) &&
					     !g_getenv("NO_COLOR"), err))
		return MMG_EXIT_BROKEN;
	report_annotations(run);
	fflush(stdout);
	status_clear();
	if (!forms->quiet)
		fprintf(stderr, "mmgate: results in %s\n", dir);
	fprintf(stderr, "mmgate: %s\n", json_string_value(json_object_get(run, "reason")));
	return json_integer_value(json_object_get(run, "exit"));
}

int matrix_reports(const struct report_forms *forms, json_t *run, const char *dir, GError **err)
{
	if (!report_tap(run, dir, err) || (forms->junit && !report_junit(run, dir, err)) ||
	    (forms->html && !report_html(run, dir, err)))
		return MMG_EXIT_BROKEN;
	if (forms->json)
		json_dumpf(run, stdout, JSON_INDENT(1));
	else if (!forms->quiet)
		report_matrix_text(run, stdout);
	fflush(stdout);
	if (!forms->quiet)
		fprintf(stderr, "mmgate: results in %s, the page is matrix.html\n", dir);
	fprintf(stderr, "mmgate: %s\n", obj_str(run, "reason"));
	return obj_int(run, "exit");
}
