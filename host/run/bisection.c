// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic and the memory of a bisection.
 */
#include "run/bisection.h"

#include <math.h>
#include <string.h>

#include "run/run.h"

#define MAX_RUNS	1000
#define MAX_STATE	(16 << 20)	/* bytes of a kept bisection */

static const char *const words[] = {
	[BISECT_UNKNOWN] = "unknown", [BISECT_GOOD] = "good", [BISECT_BAD] = "bad",
	[BISECT_SKIP] = "skip",
};

const char *bisect_word(enum bisect_answer a)
{
	return words[a];
}

static enum bisect_answer answer_of(const char *word)
{
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (!g_strcmp0(word, words[i]))
			return i;
	return BISECT_UNKNOWN;
}

void bisect_step_free(gpointer step)
{
	struct bisect_step *s = step;

	g_free(s->commit);
	g_free(s->sha256);
	g_free(s->reason);
	g_free(s);
}

unsigned int bisect_runs(double rate, double alpha)
{
	double n;

	if (rate >= 1)
		return 1;
	n = ceil(log(alpha) / log1p(-MAX(rate, 1e-6)) - 1e-9);
	return CLAMP(n, 1, MAX_RUNS);
}

double bisect_confidence(const GPtrArray *steps, double rate)
{
	double all = 1;

	for (guint i = 0; i < steps->len; i++) {
		const struct bisect_step *s = steps->pdata[i];

		if (s->answer == BISECT_GOOD && !s->recalled)
			all *= 1 - pow(1 - rate, s->runs);
	}
	return all;
}

double bisect_least_rate(unsigned int fails, unsigned int runs)
{
	double low, high;

	/* one-sided 95 % is the lower end of the two-sided interval of 90 % */
	clopper_pearson(fails, runs, 0.10, &low, &high);
	return low;
}

static struct bisect_step *step_read(const json_t *o)
{
	const char *commit = json_string_value(json_object_get(o, "commit"));
	const char *sha256 = json_string_value(json_object_get(o, "image_sha256"));
	struct bisect_step *s;

	if (!commit)
		return NULL;
	s = g_new0(struct bisect_step, 1);
	s->commit = g_strdup(commit);
	s->sha256 = g_strdup(sha256);
	s->reason = g_strdup(json_string_value(json_object_get(o, "reason")) ?: "");
	s->answer = answer_of(json_string_value(json_object_get(o, "answer")));
	s->recalled = json_is_true(json_object_get(o, "recalled"));
	s->runs = json_integer_value(json_object_get(o, "runs"));
	s->fails = json_integer_value(json_object_get(o, "fails"));
	s->seconds = json_number_value(json_object_get(o, "seconds"));
	return s;
}

GPtrArray *bisect_load(const char *path, GError **err)
{
	g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func(bisect_step_free);
	g_autofree char *text = NULL;
	json_t *doc, *list, *o;
	json_error_t why;
	gsize len;
	size_t i;

	if (!g_file_get_contents(path, &text, &len, NULL))
		return g_steal_pointer(&steps);
	doc = len <= MAX_STATE ? json_loadb(text, len, 0, &why) : NULL;
	list = json_object_get(doc, "steps");
	json_array_foreach(list, i, o) {
		struct bisect_step *s = step_read(o);

		if (s)
			g_ptr_array_add(steps, s);
	}
	if (!json_is_array(list)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s does not hold the steps of a bisection; remove it to "
			      "start anew", path);
		g_ptr_array_set_size(steps, 0);
		json_decref(doc);
		return NULL;
	}
	json_decref(doc);
	return g_steal_pointer(&steps);
}

bool bisect_save(const char *path, const GPtrArray *steps, GError **err)
{
	json_t *list = json_array(), *doc = json_pack("{s:i, s:o}", "schema", 1, "steps", list);
	g_autofree char *text = NULL;
	bool ok;

	for (guint i = 0; i < steps->len; i++) {
		const struct bisect_step *s = steps->pdata[i];

		json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:s, s:b, s:i, s:i, s:f}",
						      "commit", s->commit, "image_sha256", s->sha256,
						      "answer", words[s->answer], "reason", s->reason,
						      "recalled", s->recalled, "runs", (int)s->runs,
						      "fails", (int)s->fails, "seconds", s->seconds));
	}
	text = json_dumps(doc, JSON_INDENT(1));
	json_decref(doc);
	ok = text && mmg_write_atomic(path, text, -1, err);
	return ok;
}

static bool is_known(const GPtrArray *steps, const char *commit)
{
	for (guint i = 0; i < steps->len; i++)
		if (!strcmp(((const struct bisect_step *)steps->pdata[i])->commit, commit))
			return true;
	return false;
}

const char *bisect_next(const GPtrArray *commits, const GPtrArray *steps)
{
	g_autoptr(GPtrArray) open = g_ptr_array_new();
	guint skipped = 0;

	for (guint i = 0; i < commits->len; i++)
		if (!is_known(steps, commits->pdata[i]))
			g_ptr_array_add(open, commits->pdata[i]);
	/* only skips at the end of the list count: what was skipped long ago lies elsewhere */
	for (guint i = steps->len; i && ((const struct bisect_step *)steps->pdata[i - 1])->answer ==
	     BISECT_SKIP; i--)
		skipped++;
	if (!open->len)
		return NULL;
	return open->pdata[MIN(skipped * skipped, open->len - 1)];
}
