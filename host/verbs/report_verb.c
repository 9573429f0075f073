// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb report: the reports of an earlier run, made again from its folder.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANNOTATIONS_MAX	10	/* GitHub shows no more of a step */

json_t *rep_load(const char *dir, GError **err)
{
	char *path = g_build_filename(dir, "run.json", NULL);
	json_error_t why;
	json_t *run = NULL;

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s holds no run.json: name the folder of a run, such as results/latest",
			      dir);
	} else {
		run = json_load_file(path, 0, &why);
		if (!run)
			mmg_set_error(err, MMG_EXIT_BROKEN, "reading %s: line %d: %s", path, why.line,
				      why.text);
	}
	g_free(path);
	return run;
}

/* A form is made where it was asked for, and where the folder has it already */
static bool wanted(bool asked, const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL);
	bool there = g_file_test(path, G_FILE_TEST_EXISTS);

	g_free(path);
	return asked || there;
}

static void print_file(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL), *text = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL))
		fputs(text, stdout);
	g_free(text);
	g_free(path);
}

static bool write_forms(const struct cli *cli, json_t *run, const char *dir, GError **err)
{
	return report_summary(run, dir, err) && report_tap(run, dir, err) &&
	       (!wanted(cli->junit, dir, "junit.xml") || report_junit(run, dir, err)) &&
	       (!wanted(cli->html, dir, "report.html") || report_html(run, dir, err)) &&
	       (!wanted(cli->kcidb, dir, "kcidb.json") || report_kcidb(run, dir, err));
}

/**
 * verb_report() - make the reports of an earlier run again
 * @cli: DIR is its one word; results/latest where there is none
 * @err: where they could not be made
 *
 * Return: exit status; it says whether the reports were made, not how the run ended.
 */
int verb_report(struct cli *cli, GError **err)
{
	bool others = cli->junit || cli->html || cli->kcidb;
	json_t *run;
	char *dir;
	bool ok;

	if (cli->args->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "report takes one folder, not %u", cli->args->len);
		return MMG_EXIT_USAGE;
	}
	dir = cli->args->len ? g_strdup(cli->args->pdata[0]) :
			       mmg_root_path("results", "latest", NULL);
	run = rep_load(dir, err);
	ok = run && write_forms(cli, run, dir, err);
	if (ok && cli->json && !cli->tap && !others)
		print_file(dir, "run.json");
	else if (ok && cli->tap && !cli->json && !others)
		print_file(dir, "results.tap");
	else if (ok && !cli->quiet)
		ok = report_text(run, dir, stdout, isatty(STDOUT_FILENO) && !g_getenv("NO_COLOR"),
				 err);
	if (ok)
		fprintf(stderr, "mmgate: %s\n", obj_str(run, "reason"));
	json_decref(run);
	g_free(dir);
	return ok ? MMG_EXIT_OK : MMG_EXIT_BROKEN;
}

/* In the value of a command of GitHub's, and in its properties */
static void github_text(GString *out, const char *s, bool property)
{
	char *clean = mmg_clean(s, -1, 1000);

	for (const char *p = clean; *p; p++) {
		if (*p == '%' || (property && (*p == ':' || *p == ',')))
			g_string_append_printf(out, "%%%02X", (unsigned char)*p);
		else
			g_string_append_c(out, *p);
	}
	g_free(clean);
}

static void annotate(const char *level, const char *title, const char *message)
{
	GString *s = g_string_new("::");

	g_string_append_printf(s, "%s title=", level);
	github_text(s, title, true);
	g_string_append(s, "::");
	github_text(s, message, false);
	fprintf(stderr, "%s\n", s->str);
	g_string_free(s, TRUE);
}

static void annotate_row(const struct rep *r, const struct rep_row *row, size_t k, int *left)
{
	const struct rep_cell *cell = &row->cells[k];
	const char *word = rep_cell_word(cell);
	json_t *c = rep_cell_case(cell);
	char *title;

	if ((strcmp(word, "fail") && strcmp(word, "broken")) || *obj_str(c, "allowed") ||
	    (*left)-- <= 0)
		return;
	title = g_strdup_printf("%s: %s on %s, %s", word, row->name, rep_label(r, k), row->machine);
	annotate("error", title, obj_str(c, "reason"));
	g_free(title);
}

/**
 * report_annotations() - tell GitHub what went wrong, so that it shows it beside the run
 * @run: run.json
 *
 * On stderr, where GitHub reads it as well, so that what is printed can be piped.
 * Silent anywhere else.
 */
void report_annotations(json_t *run)
{
	struct rep *r;
	int left = ANNOTATIONS_MAX;
	json_t *b, *s;
	size_t i, j;

	if (g_strcmp0(g_getenv("GITHUB_ACTIONS"), "true"))
		return;
	r = rep_new(run, ".", NULL);
	if (!r)
		return;
	for (guint i = 0; i < r->verdicts->len; i++) {
		struct rep_verdict *v = r->verdicts->pdata[i];

		if ((!strcmp(v->word, "fail") || !strcmp(v->word, "broken")) && left-- > 0)
			annotate("error", v->name, v->reason);
	}
	for (guint row = 0; row < r->rows->len && !r->compared; row++)
		for (size_t k = 0; k < r->nr_kernels; k++)
			annotate_row(r, r->rows->pdata[row], k, &left);
	json_array_foreach(r->boots, i, b)
		json_array_foreach(json_object_get(b, "splats"), j, s)
			if (!*obj_str(s, "allowed") && left-- > 0)
				annotate("error", "kernel splat", obj_str(s, "title"));
	json_array_foreach(json_object_get(run, "known_issues"), i, s)
		if (strcmp(obj_str(s, "state"), "applied"))
			annotate("warning", "known issues", obj_str(s, "note"));
	if (r->skip) {
		char *text = g_strdup_printf("%d skipped; see the summary for the reasons", r->skip);

		annotate("notice", "skipped", text);
		g_free(text);
	}
	rep_free(r);
}
