// SPDX-License-Identifier: GPL-2.0-only
/*
 * The results folder and the verdict on what is in it.
 */
#include "run/fleet.h"
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void point_latest(const char *results, const char *name)
{
	char *tmp = g_strdup_printf("%s/.latest.%d", results, (int)getpid());
	char *link = g_build_filename(results, "latest", NULL);

	unlink(tmp);
	if (symlink(name, tmp) || rename(tmp, link))
		unlink(tmp);
	g_free(link);
	g_free(tmp);
}

static char *make_out(const char *out, GError **err)
{
	char *path = g_canonicalize_filename(out, NULL), *parent = g_path_get_dirname(path);

	if (mmg_mkdirs(parent, err) && !mkdir(path, 0755)) {
		g_free(parent);
		return path;
	}
	if (err && !*err)
		mmg_set_error(err, errno == EEXIST ? MMG_EXIT_USAGE : MMG_EXIT_BROKEN,
			      "--out %s: %s; name a folder that does not exist yet", out,
			      g_strerror(errno));
	g_free(parent);
	g_free(path);
	return NULL;
}

char *results_make_dir(const char *out, GError **err)
{
	char *results, *date, *path = NULL;
	GDateTime *now;
	int n;

	if (out)
		return make_out(out, err);
	results = mmg_root_path("results", NULL);
	now = g_date_time_new_now_local();
	date = g_date_time_format(now, "%Y-%m-%d");
	for (n = 1; mmg_mkdirs(results, err) && n < 100000; n++) {
		char *name = g_strdup_printf("%s-%d", date, n);

		path = g_build_filename(results, name, NULL);
		if (!mkdir(path, 0755)) {
			point_latest(results, name);
			g_free(name);
			break;
		}
		if (errno != EEXIST) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make %s: %s; name another place with --out",
				      path, g_strerror(errno));
			g_clear_pointer(&path, g_free);
			g_free(name);
			break;
		}
		g_clear_pointer(&path, g_free);
		g_free(name);
	}
	g_date_time_unref(now);
	g_free(date);
	g_free(results);
	return path;
}

char *results_dir_of(const struct run_options *opt, GError **err)
{
	if (opt->fleet && opt->fleet->resume && opt->out && g_file_test(opt->out, G_FILE_TEST_IS_DIR))
		return g_canonicalize_filename(opt->out, NULL);
	return results_make_dir(opt->out, err);
}

void run_add_case(json_t *run, const char *name, int kernel, int boot, const char *machine,
		  int repeat, enum result result, const char *reason)
{
	char *clean = mmg_clean(reason, -1, 2000);
	json_t *c = json_pack("{s:s, s:s, s:s, s:f, s:{}, s:[]}", "name", name, "result", result_name(result),
			      "reason", clean, "duration_s", 0.0, "metrics", "diag");

	json_object_set_new(c, "kernel", json_integer(kernel));
	json_object_set_new(c, "boot", json_integer(boot));
	json_object_set_new(c, "machine", json_string(machine));
	json_object_set_new(c, "repeat", json_integer(repeat));
	json_array_append_new(json_object_get(run, "cases"), c);
	g_free(clean);
}

static const char *kernel_label(const json_t *run, const json_t *c)
{
	json_t *k = json_array_get(json_object_get(run, "kernels"),
				   json_integer_value(json_object_get(c, "kernel")));

	return obj_str(k, "label");
}

/* The first case with this result that no known issue excuses, and how many */
static json_t *first_with(const json_t *run, enum result result, int *count)
{
	json_t *c, *first = NULL;
	size_t i;

	*count = 0;
	json_array_foreach(json_object_get(run, "cases"), i, c) {
		if (obj_result(c) != result || *obj_str(c, "allowed"))
			continue;
		first = first ?: c;
		++*count;
	}
	return first;
}

static json_t *first_splat(const json_t *run, json_t **boot, int *count)
{
	json_t *b, *s, *first = NULL;
	size_t i, j;

	*count = 0;
	json_array_foreach(json_object_get(run, "boots"), i, b) {
		/* a kernel that died before PID 1's hello gave no answer: broken, not fail */
		if (obj_state(b) == STATE_NO_BOOT)
			continue;
		json_array_foreach(json_object_get(b, "splats"), j, s) {
			if (*obj_str(s, "allowed"))
				continue;
			if (!first)
				*boot = b;
			first = first ?: s;
			++*count;
		}
	}
	return first;
}

static const char *missing_require(json_t *run)
{
	const char *missing = NULL;
	json_t *r, *c;
	size_t i, j;

	json_array_foreach(json_object_get(run, "requires"), i, r) {
		bool ran = false;

		json_array_foreach(json_object_get(run, "cases"), j, c) {
			enum result result = obj_result(c);

			if (mmg_glob(obj_str(r, "glob"), obj_str(c, "name")))
				ran |= result == RESULT_PASS || result == RESULT_FAIL;
		}
		/* a skip of one of them is not green, though others ran */
		json_array_foreach(json_object_get(run, "cases"), j, c)
			if (mmg_glob(obj_str(r, "glob"), obj_str(c, "name")) && obj_result(c) == RESULT_SKIP)
				ran = false;
		json_object_set_new(r, "ran", json_boolean(ran));
		if (!ran && !missing)
			missing = obj_str(r, "glob");
	}
	return missing;
}

static int verdict(json_t *run, enum result result, int status, char *reason)
{
	char *clean = mmg_clean(reason, -1, 1000);

	json_object_set_new(run, "verdict", json_string(result_name(result)));
	json_object_set_new(run, "exit", json_integer(status));
	json_object_set_new(run, "reason", json_string(clean));
	g_free(clean);
	g_free(reason);
	return status;
}

static char *case_reason(const json_t *run, const json_t *c, int count, const char *head)
{
	char *more = count > 1 ? g_strdup_printf(" (and %d more)", count - 1) : g_strdup("");
	char *text = g_strdup_printf("%s: %s on %s (%s): %s%s", head, obj_str(c, "name"),
				     kernel_label(run, c), obj_str(c, "machine"), obj_str(c, "reason"), more);

	g_free(more);
	return text;
}

int results_judge(json_t *run)
{
	int fails, brokens, passes, skips, splats;
	json_t *fail = first_with(run, RESULT_FAIL, &fails), *broken = first_with(run, RESULT_BROKEN, &brokens);
	json_t *boot = NULL, *splat = first_splat(run, &boot, &splats), *skip;
	const char *missing = missing_require(run);

	first_with(run, RESULT_PASS, &passes);
	skip = first_with(run, RESULT_SKIP, &skips);
	if (!json_is_true(json_object_get(run, "complete")) && mmg_interrupted())
		return verdict(run, RESULT_BROKEN, MMG_EXIT_INTERRUPTED,
			       g_strdup("interrupted: the results are incomplete"));
	if (fail)
		return verdict(run, RESULT_FAIL, MMG_EXIT_FAIL, case_reason(run, fail, fails, result_name(RESULT_FAIL)));
	if (splat)
		return verdict(run, RESULT_FAIL, MMG_EXIT_FAIL,
			       g_strdup_printf("fail: %s on %s (%s)%s%s", obj_str(splat, "title"),
					       kernel_label(run, boot), obj_str(boot, "machine"),
					       *obj_str(splat, "test") ? " while it ran " : "",
					       obj_str(splat, "test")));
	if (broken)
		return verdict(run, RESULT_BROKEN, MMG_EXIT_BROKEN, case_reason(run, broken, brokens, result_name(RESULT_BROKEN)));
	if (missing)
		return verdict(run, RESULT_BROKEN, MMG_EXIT_BROKEN,
			       g_strdup_printf("broken: required %s was skipped or did not run", missing));
	if (!json_is_true(json_object_get(run, "complete")))
		return verdict(run, RESULT_BROKEN, MMG_EXIT_BROKEN, g_strdup("broken: the run is not complete"));
	if (!passes)
		return verdict(run, RESULT_SKIP, MMG_EXIT_NOTHING,
			       skip ? case_reason(run, skip, skips, "nothing ran") :
			       g_strdup("nothing ran"));
	return verdict(run, RESULT_PASS, MMG_EXIT_OK,
		       g_strdup_printf("pass: %d case%s%s", passes, passes == 1 ? "" : "s",
				       skips ? ", some skipped" : ""));
}

bool results_save(json_t *run, const char *dir, GError **err)
{
	char *text = json_dumps(run, JSON_INDENT(1)), *path, *line;
	bool ok;

	if (!text) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make JSON of the results");
		return false;
	}
	path = g_build_filename(dir, "run.json", NULL);
	line = g_strconcat(text, "\n", NULL);
	ok = mmg_write_atomic(path, line, -1, err);
	g_free(line);
	g_free(path);
	free(text);
	return ok;
}
