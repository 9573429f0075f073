// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb merge: result folders of several runs, such as the shards of a matrix
 * on several machines, put together into one.
 */
#include "report/report_matrix.h"
#include "run/matrix.h"
#include "run/merge.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of @from as @to: links where the file system has them, else the same by its path */
static bool take_files(const char *from, const char *to, GError **err)
{
	g_autofree char *parent = g_path_get_dirname(to);
	const char *argv[] = { "cp", "-al", "--", from, to, NULL };
	const char *copy[] = { "cp", "-a", "--", from, to, NULL };
	struct mmg_cmd cmd = { .what = "taking the files of a run over", .argv = argv };

	if (!mmg_mkdirs(parent, err))
		return false;
	if (mmg_run(&cmd, NULL))
		return true;
	mmg_rmtree(to);
	cmd.argv = copy;
	return mmg_run(&cmd, err);
}

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
		if (!take_files(from, to, err))
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

int verb_merge(struct cli *cli, GError **err)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autofree char *out = NULL;
	const struct run_options opt = cli_run(cli);
	const struct report_forms forms = cli_forms(cli);
	int status = MMG_EXIT_BROKEN;
	bool ok = true, matrix;
	json_t *run;

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
	matrix = json_object_get(run, "matrix");
	if (ok)
		ok = known_apply(run, err);
	if (ok && matrix)
		ok = matrix_judge(run, err) != MMG_EXIT_USAGE || !*err;
	else if (ok)
		results_judge(run);
	ok = ok && results_save(run, out, err) && (!matrix || report_matrix_html(run, out, err));
	if (ok)
		status = matrix ? matrix_reports(&forms, run, out, err) : cli_reports(cli, run, out, err);
	json_decref(run);
	return status;
}
