// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb merge: result folders of several runs, such as the shards of a matrix
 * on several machines, put together into one.
 */
#include "report/report_matrix.h"
#include "run/campaign.h"
#include "run/matrix.h"
#include "run/merge.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Take over the folders of the boots of @part, which lies in @dir, below @out/@prefix */
static bool take_folders(json_t *part, const char *dir, const char *out, const char *prefix, GError **err)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(part, "boots"), i, o) {
		const char *sub = obj_str(o, "dir");
		g_autofree char *from = g_build_filename(dir, sub, NULL);
		g_autofree char *to = g_build_filename(out, prefix, sub, NULL);
		struct stat st;

		/* a path that leads out of the folder is no boot's */
		if (!*sub || strstr(sub, "..") || *sub == '/' || lstat(from, &st) || !S_ISDIR(st.st_mode) ||
		    !access(to, F_OK)) {
			json_object_set_new(o, "dir", json_string(""));
			continue;
		}
		if (!job_copy_tree(from, to, err))
			return false;
	}
	return true;
}

static void merge_matrix(json_t *run, json_t *part)
{
	json_t *from = json_object_get(part, "matrix"), *to = json_object_get(run, "matrix"), *v;
	size_t i;

	if (!from)
		return;
	if (!to) {
		to = json_pack("{s:[], s:s, s:[], s:s, s:i, s:i}", "kernels", "arch", obj_str(from, "arch"),
			       "changes", "previous", obj_str(from, "previous"), "boots_run", 0,
			       "boots_recalled", 0);
		json_object_set_new(run, "matrix", to);
	}
	json_array_foreach(json_object_get(from, "kernels"), i, v)
		json_array_append(json_object_get(to, "kernels"), v);
	json_array_foreach(json_object_get(from, "changes"), i, v)
		json_array_append(json_object_get(to, "changes"), v);
	json_object_set_new(to, "boots_run", json_integer(obj_int(to, "boots_run") + obj_int(from, "boots_run")));
	json_object_set_new(to, "boots_recalled", json_integer(obj_int(to, "boots_recalled") +
							       obj_int(from, "boots_recalled")));
}

static bool merge_one(json_t *run, const char *dir, const char *out, guint nr, GError **err)
{
	g_autofree char *prefix = g_strdup_printf("%u", nr + 1);
	json_t *part = rep_load(dir, err);
	bool ok = part && take_folders(part, dir, out, prefix, err);

	if (ok) {
		/* what one lacked, all of them lack */
		if (!json_is_true(json_object_get(part, "complete")))
			json_object_set_new(run, "complete", json_false());
		json_object_set_new(run, "duration_s", json_real(obj_num(run, "duration_s") +
								 obj_num(part, "duration_s")));
		if (!json_object_get(json_object_get(run, "host"), "qemu"))
			json_object_set(run, "host", json_object_get(part, "host"));
		json_array_extend(json_object_get(run, "requires"), json_object_get(part, "requires"));
		merge_matrix(run, part);
		run_merge(run, part, prefix);
	}
	json_decref(part);
	return ok;
}

/* Judge and write what was put together; exit status, with *@err where there is none */
static int close_up(struct cli *cli, json_t *run, const char *out, GError **err)
{
	const struct report_forms forms = cli_forms(cli);
	bool matrix = json_object_get(run, "matrix"), ok;
	GError *e = NULL;
	int status;

	if (!known_apply(run, err))
		return MMG_EXIT_BROKEN;
	status = matrix ? matrix_judge(run, &e) : results_judge(run);
	ok = !e && results_save(run, out, &e) && (!matrix || report_matrix_html(run, out, &e));
	if (!ok) {
		g_propagate_error(err, e);
		return status ? status : MMG_EXIT_BROKEN;
	}
	return matrix ? matrix_reports(&forms, run, out, err) : cli_reports(cli, run, out, err);
}

/* @jobs is a folder with jobs.json; the other words are where more results of the same jobs lie */
static int merge_jobs(struct cli *cli, const char *jobs, GError **err)
{
	g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) lost = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *out = NULL, *id = NULL;
	json_t *all = jobs_load(jobs, err), *run = NULL;
	int status = MMG_EXIT_BROKEN;

	if (!all)
		return (*err)->code;
	for (guint i = 0; i < cli->args->len; i++)
		campaign_look_in(cli->args->pdata[i], folders);
	out = results_make_dir(cli->out, err);
	run = out ? campaign_merge(all, folders, out, lost, err) : NULL;
	if (run) {
		id = g_path_get_basename(out);
		json_object_set_new(run, "id", json_string(id));
		if (lost->len) {
			g_autofree char *names = NULL;

			g_ptr_array_add(lost, NULL);
			names = g_strjoinv(" ", (char **)lost->pdata);
			status_note("%u of %zu jobs have no result: %s", lost->len - 1,
				    json_array_size(json_object_get(all, "jobs")), names);
		}
		status = close_up(cli, run, out, err);
	} else {
		status = (*err)->code;
	}
	json_decref(run);
	json_decref(all);
	return status;
}

/* The folder of jobs among the words, NULL where there is none */
static const char *jobs_among(const GPtrArray *words)
{
	for (guint i = 0; i < words->len; i++) {
		g_autofree char *path = g_build_filename(words->pdata[i], "jobs.json", NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return words->pdata[i];
	}
	return NULL;
}

int verb_merge(struct cli *cli, GError **err)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autofree char *out = NULL;
	const struct run_options opt = cli_run(cli);
	int status = MMG_EXIT_BROKEN;
	bool ok = true;
	json_t *run;

	if (jobs_among(cli->args))
		return merge_jobs(cli, jobs_among(cli->args), err);
	if (!cli->args->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "merge takes the results folders to put together");
		return MMG_EXIT_USAGE;
	}
	/* all are read before anything is written */
	for (guint i = 0; i < cli->args->len; i++) {
		json_t *part = rep_load(cli->args->pdata[i], err);

		if (!part)
			return (*err)->code;
		json_decref(part);
	}
	out = results_make_dir(cli->out, err);
	if (!out)
		return (*err)->code;
	run = run_new(&opt, "merge", none);
	json_object_set_new(run, "complete", json_true());
	{
		g_autofree char *id = g_path_get_basename(out);

		json_object_set_new(run, "id", json_string(id));
	}
	for (guint i = 0; ok && i < cli->args->len; i++)
		ok = merge_one(run, cli->args->pdata[i], out, i, err);
	if (ok)
		status = close_up(cli, run, out, err);
	json_decref(run);
	return status;
}
