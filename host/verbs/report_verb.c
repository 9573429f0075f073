// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb report: the reports of an earlier run, made again from its folder.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	       (!wanted(cli->kcidb, dir, "kcidb.json") || report_kcidb(run, dir, err)) &&
	       (!wanted(cli->gitlab, dir, "codequality.json") || report_gitlab(run, dir, err)) &&
	       (!wanted(cli->github, dir, "check-run.json") || report_github(run, dir, err)) &&
	       (!wanted(cli->patchwork, dir, "patchwork.json") || report_patchwork(run, dir, err));
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
	bool others = cli->junit || cli->html || cli->kcidb || cli->gitlab || cli->github || cli->patchwork;
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
