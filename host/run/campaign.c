// SPDX-License-Identifier: GPL-2.0-only
/*
 * The results of a campaign of jobs put together: in any order, any number of times, with gaps.
 */
#include "run/campaign.h"

#include <stdlib.h>
#include <string.h>

/* A folder of jobs has no more in it than this */
#define FOLDERS_MAX (2 * JOBS_MAX)

static bool add_where(const char *dir, const char *name, GPtrArray *folders)
{
	g_autofree char *folder = name ? g_build_filename(dir, name, NULL) : g_strdup(dir);
	g_autofree char *file = g_build_filename(folder, "run.json", NULL);
	bool there = g_file_test(file, G_FILE_TEST_IS_REGULAR);

	if (there && folders->len < FOLDERS_MAX)
		g_ptr_array_add(folders, g_steal_pointer(&folder));
	return there;
}

void campaign_look_in(const char *dir, GPtrArray *folders)
{
	g_autoptr(GDir) d = NULL;
	const char *name;

	if (add_where(dir, NULL, folders) || add_where(dir, "result", folders))
		return;
	d = g_dir_open(dir, 0, NULL);
	while (d && (name = g_dir_read_name(d))) {
		g_autofree char *sub = g_build_filename(dir, name, NULL);

		if (!add_where(sub, "result", folders))
			add_where(sub, NULL, folders);
	}
}

struct candidate {
	const char *dir;
	json_t *result;
	char *text;			/* without what differs from place to place */
};

static int worth(const json_t *run)
{
	if (!json_is_true(json_object_get(run, "complete")))
		return 0;
	switch (obj_verdict(run)) {
	case RESULT_FAIL:
		return 3;
	case RESULT_PASS:
	case RESULT_SKIP:
		return 2;
	default:
		return 1;
	}
}

/* Is @a to be taken rather than @b?  By what they say alone, so that the order in which they come does not count */
static bool better(const struct candidate *a, const struct candidate *b)
{
	int by;

	if (!b->result)
		return true;
	by = worth(a->result) - worth(b->result);
	if (!by)
		by = strcmp(obj_str(b->result, "started"), obj_str(a->result, "started"));
	if (!by)
		by = strcmp(b->text, a->text);
	return by > 0;
}

static void clear(struct candidate *c)
{
	json_decref(c->result);
	free(c->text);
	memset(c, 0, sizeof(*c));
}

/* Put the result in @dir where it belongs, if it is the best so far */
static void consider(struct candidate *best, const json_t *all, const char *dir)
{
	const json_t *jobs = json_object_get(all, "jobs");
	g_autoptr(GError) why = NULL;
	struct candidate c = { .dir = dir };
	int nr = job_number(dir, &why);

	if (nr < 1 || nr > (int)json_array_size(jobs)) {
		status_note("%s is left out: %s", dir, why ? why->message : "it is the result of no job of these");
		return;
	}
	c.result = job_result(dir, json_array_get(jobs, nr - 1), obj_str(all, "campaign"), &why);
	if (!c.result) {
		status_note("%s", why->message);
		return;
	}
	c.text = json_dumps(c.result, JSON_COMPACT | JSON_SORT_KEYS);
	if (better(&c, &best[nr - 1])) {
		clear(&best[nr - 1]);
		best[nr - 1] = c;
	} else {
		clear(&c);
	}
}

json_t *campaign_merge(json_t *all, const GPtrArray *folders, const char *out, GPtrArray *lost, GError **err)
{
	json_t *jobs = json_object_get(all, "jobs"), *run = json_deep_copy(json_object_get(all, "run")), *names;
	size_t n = json_array_size(jobs);
	struct candidate *best = g_new0(struct candidate, n);
	double seconds = 0;
	bool ok = true, first = true;

	json_object_set_new(run, "boots", json_array());
	json_object_set_new(run, "cases", json_array());
	for (guint i = 0; i < folders->len; i++)
		consider(best, all, folders->pdata[i]);
	for (size_t i = 0; i < n && ok; i++) {
		const json_t *entry = json_array_get(jobs, i);

		if (best[i].result) {
			if (first)
				json_object_set(run, "host", json_object_get(best[i].result, "host"));
			first = false;
			seconds += obj_num(best[i].result, "duration_s");
			ok = job_take(run, entry, best[i].result, best[i].dir, out, err) >= 0;
		} else {
			g_ptr_array_add(lost, g_strdup(obj_str(entry, "id")));
			job_lost(run, entry, "it is not among those that were given");
		}
	}
	for (size_t i = 0; i < n; i++)
		clear(&best[i]);
	g_free(best);
	names = json_array();
	for (guint i = 0; i < lost->len; i++)
		json_array_append_new(names, json_string(lost->pdata[i]));
	json_object_set_new(run, "jobs", json_pack("{s:s, s:I, s:o}", "campaign", obj_str(all, "campaign"), "of",
						   (json_int_t)n, "lost", names));
	json_object_set_new(run, "complete", json_boolean(!lost->len));
	json_object_set_new(run, "duration_s", json_real(seconds));
	if (ok)
		return run;
	json_decref(run);
	return NULL;
}
