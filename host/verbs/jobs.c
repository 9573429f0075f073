// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb jobs: a run written down as job folders, for somebody else to carry out.
 */
#include "kernel/entry.h"
#include "run/fleet.h"
#include "run/job.h"
#include "run/services.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

/* The kernels of configs/kernels that the command line names, beside those of --kernel, and their rows of a table */
static bool add_entries(struct cli *cli, json_t *rows, GError **err)
{
	g_autoptr(GPtrArray) entries = cli->args->len ? kernel_entries(cli->args, cli_arch(cli), err) : NULL;

	for (guint i = 0; entries && i < entries->len; i++) {
		const struct kernel_entry *e = entries->pdata[i];

		g_ptr_array_add(cli->kernels, g_strdup(e->spec));
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", e->name, "spec",
						      e->spec, "why", e->why, "since", e->since ? e->since : "", "until",
						      e->until ? e->until : "", "seen", "", "state", "tested", "reason",
						      ""));
	}
	return entries || !cli->args->len;
}

/* A table of kernels: jobs.json says so, and merge makes it */
static bool note_table(const char *dir, json_t *rows, const char *arch, GError **err)
{
	json_t *all = jobs_load(dir, err), *kernels, *k, *row;
	g_autofree char *path = g_build_filename(dir, "jobs.json", NULL), *text = NULL;
	size_t i, j;
	bool ok;

	if (!all)
		return false;
	kernels = json_object_get(json_object_get(all, "run"), "kernels");
	json_array_foreach(kernels, i, k)
		json_array_foreach(rows, j, row) {
			if (strcmp(obj_str(k, "spec"), obj_str(row, "spec")) || json_object_get(row, "label"))
				continue;
			json_object_set(row, "label", json_object_get(k, "label"));
			json_object_set(row, "release", json_object_get(k, "release"));
			json_object_set(row, "version", json_object_get(k, "version"));
			json_object_set(row, "seen", json_object_get(json_object_get(all, "run"), "started"));
			break;
		}
	json_object_set_new(json_object_get(all, "run"), "matrix",
			    json_pack("{s:O, s:s, s:[], s:s, s:i, s:i}", "kernels", rows, "arch", arch, "changes",
				      "previous", "", "boots_run", (int)json_array_size(json_object_get(all, "jobs")),
				      "boots_recalled", 0));
	text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
	ok = text && mmg_write_atomic(path, text, -1, err);
	json_decref(all);
	return ok;
}

/* The words after the verb that wrote the jobs, but for where they go: a service writes them again */
static GPtrArray *own_words(const struct cli *cli)
{
	GPtrArray *words = g_ptr_array_new();
	bool verb = false;

	for (guint i = 1; i < cli->command->len; i++) {
		const char *w = cli->command->pdata[i];

		if (!strcmp(w, "--out") || !strcmp(w, "--for"))
			i++;
		else if (!verb && !strcmp(w, "jobs"))
			verb = true;
		else if (!g_str_has_prefix(w, "--out=") && !g_str_has_prefix(w, "--for="))
			g_ptr_array_add(words, (char *)w);
	}
	return words;
}

/* LAVA's hosts see the folder where it is; a pipeline's jobs see it in their workspace, under the name that was typed */
static bool tell_services(struct cli *cli, const json_t *all, const char *dir, GError **err)
{
	g_autoptr(GPtrArray) words = own_words(cli);
	g_autofree char *base = cli->out && !g_path_is_absolute(cli->out) ? g_strdup(cli->out) : g_path_get_basename(dir);
	bool ok = true;

	for (guint i = 0; ok && i < cli->services->len; i++) {
		const char *name = cli->services->pdata[i];

		ok = services_write(name, all, dir, strcmp(name, "lava") ? base : dir, words, err);
	}
	return ok;
}

int verb_jobs(struct cli *cli, GError **err)
{
	const struct fleet write_only = { .write_only = true };
	struct suite s = { .opt = cli_run(cli), .tests = cli->tests, .machines = cli->machines,
			   .repeat = MAX(cli->repeat, 1), .verb = "run" };
	g_autofree char *dir = NULL;
	json_t *rows = json_array(), *run = NULL, *all = NULL;
	int status = MMG_EXIT_BROKEN;

	s.opt.fleet = &write_only;
	if (add_entries(cli, rows, err) && (s.kernels = cli_kernels(cli, err)))
		run = suite_run(&s, &dir, err);
	if (run && (!json_array_size(rows) || note_table(dir, rows, cli_arch(cli), err)) && (all = jobs_load(dir, err)) &&
	    tell_services(cli, all, dir, err)) {
		size_t n = json_array_size(json_object_get(all, "jobs"));

		status_clear();
		if (!cli->quiet)
			printf("%zu job%s in %s\nrun one:   %s/runner/mmgate job %s/00001\nput their results together: "
			       "./run.sh merge %s\n", n, n == 1 ? "" : "s", dir, dir, dir, dir);
		status = MMG_EXIT_OK;
	} else if (err && *err) {
		status = (*err)->code;
	}
	json_decref(all);
	json_decref(run);
	json_decref(rows);
	if (s.kernels)
		g_ptr_array_unref(s.kernels);
	return status;
}
