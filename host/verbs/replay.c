// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb replay: what would the automatic gate have said of series of the past?  Each file of configs/replay
 * names a commit, what became of it, and the edits that make it on today's source.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "gate/gate.h"

/**
 * struct past_series - a file of configs/replay
 * @commit, @title: of what was merged
 * @fixed:	what repaired or reverted it later, or NULL: then it was good
 * @edits:	struct edit *: of a good one they take it out of base, of a bad one they put its fault into patched
 */
struct past_series {
	char *name, *commit, *title, *fixed;
	GPtrArray *edits;
};

static void past_series_free(gpointer series)
{
	struct past_series *s = series;

	g_free(s->name);
	g_free(s->commit);
	g_free(s->title);
	g_free(s->fixed);
	g_ptr_array_unref(s->edits);
	g_free(s);
}

/* The edits of a mutant or of a gate, where the file names one rather than edits of its own */
static bool read_borrowed(GKeyFile *kf, const char *path, struct past_series *s, GError **err)
{
	g_autofree char *from = g_key_file_get_string(kf, "replay", "edits", NULL), *file = NULL;
	g_autoptr(GKeyFile) other = NULL;

	if (!from)
		return edit_read_groups(kf, path, s->edits, err);
	file = mmg_root_path("configs", from, NULL);
	if (!path_is_inside(from)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: edits=%s leaves configs", path, from);
		return false;
	}
	other = conf_load(file, err);
	return other && edit_read_groups(other, file, s->edits, err);
}

static struct past_series *read_series(const char *name, GError **err)
{
	static const char *const known[] = { "commit", "title", "fixed", "edits", NULL };
	g_autofree char *file = g_strconcat(name, ".conf", NULL);
	g_autofree char *path = mmg_root_path("configs", "replay", file, NULL);
	g_autoptr(GKeyFile) kf = conf_load(path, err);
	struct past_series *s;

	if (!kf || !conf_keys_known(kf, path, "replay", known, err))
		return NULL;
	s = g_new0(struct past_series, 1);
	s->name = g_strdup(name);
	s->edits = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	s->commit = g_key_file_get_string(kf, "replay", "commit", NULL);
	s->title = g_key_file_get_string(kf, "replay", "title", NULL);
	s->fixed = g_key_file_get_string(kf, "replay", "fixed", NULL);
	if (!s->commit || !s->title)
		mmg_set_error(err, MMG_EXIT_USAGE, "%s needs commit= and title= in [replay]", path);
	else if (read_borrowed(kf, path, s, err) && s->edits->len)
		return s;
	else if (err && !*err)
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has no [edit ...] and no edits=", path);
	past_series_free(s);
	return NULL;
}

/* Those that one of @globs names (none: all); NULL with *@err */
static GPtrArray *read_all(const GPtrArray *globs, GError **err)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(past_series_free);
	g_autoptr(GPtrArray) names = conf_names("replay");

	for (guint i = 0; i + 1 < names->len; i++) {
		struct past_series *s;

		if (globs->len && !mmg_glob_any(globs, names->pdata[i]))
			continue;
		s = read_series(names->pdata[i], err);
		if (!s)
			return NULL;
		g_ptr_array_add(all, s);
	}
	if (all->len)
		return g_steal_pointer(&all);
	mmg_set_error(err, MMG_EXIT_USAGE, "no series of configs/replay is named so");
	return NULL;
}

/* What the gate should say; a good series may also change nothing that the chosen tests look at */
static bool is_right(const struct past_series *s, const char *verdict)
{
	return !strcmp(verdict, verdict_name(s->fixed ? VERDICT_REGRESSED : VERDICT_PASS));
}

/* The verdict of an earlier start that lies in @dir, or NULL where it was cut off; g_free() it */
static char *verdict_in(const char *dir, double *seconds)
{
	json_t *run = rep_load(dir, NULL), *gate = json_object_get(run, "gate");
	bool whole = gate && json_is_true(json_object_get(run, "complete"));
	char *verdict = whole ? g_strdup(obj_str(gate, "verdict")) : NULL;

	*seconds = obj_num(run, "duration_s") + obj_num(gate, "build_s");
	json_decref(run);
	return verdict;
}

/**
 * struct tally_of - how it went
 * @rows:	of the table, as JSON
 */
struct tally_of {
	unsigned int right, wrong, broken;
	json_t *rows;
};

/* False with *@err only where all has to end */
static bool replay_one(struct cli *cli, const struct past_series *s, const char *out, struct tally_of *t,
		       GError **err)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autofree char *dir = g_build_filename(out, s->name, NULL), *verdict = NULL, *why = NULL;
	struct gate_options opt = cli_gate(cli);
	gint64 began = g_get_monotonic_time();
	g_autoptr(GError) e = NULL;
	double seconds;
	int status;

	opt.words = none;
	opt.run.out = dir;
	opt.edits = s->edits;
	opt.edits_undo = !s->fixed;
	opt.forms.quiet = true;
	verdict = verdict_in(dir, &seconds);
	if (!verdict) {
		mmg_rmtree(dir);
		status = gate_run(&opt, &e);
		if (status == MMG_EXIT_INTERRUPTED || (e && e->code == MMG_EXIT_INTERRUPTED)) {
			mmg_set_error(err, MMG_EXIT_INTERRUPTED, "interrupted; with the same --out it goes on from there");
			return false;
		}
		verdict = verdict_in(dir, &seconds);
		seconds = (g_get_monotonic_time() - began) / (double)G_USEC_PER_SEC;
	}
	why = verdict ? NULL : g_strdup(e ? e->message : "no result");
	if (!verdict || !strcmp(verdict, verdict_name(VERDICT_BROKEN)))
		t->broken++;
	else if (is_right(s, verdict))
		t->right++;
	else
		t->wrong++;
	printf("%-6s %-28s %-12s %-14s %5.0f s  %s\n", s->fixed ? "bad" : "good", s->name, s->commit,
	       verdict ?: "no answer", seconds, why ?: s->title);
	fflush(stdout);
	json_array_append_new(t->rows, json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b, s:f}", "name", s->name, "commit",
						 s->commit, "title", s->title, "fixed", s->fixed, "verdict", verdict,
						 "right", verdict && is_right(s, verdict), "seconds", seconds));
	return true;
}

static int say_plan(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		const struct past_series *s = all->pdata[i];

		printf("%-6s %-28s %-12s %s%s%s\n", s->fixed ? "bad" : "good", s->name, s->commit, s->title,
		       s->fixed ? "; " : "", s->fixed ?: "");
	}
	return MMG_EXIT_OK;
}

/**
 * verb_replay() - run the automatic gate over series of the past
 * @cli: words are globs of configs/replay; --out keeps the answers, and what is there is not run again
 * @err: what could not be read
 *
 * Return: exit status: 0 where each answer is right, 1 where one is wrong, 3 where one could not be had.
 */
int verb_replay(struct cli *cli, GError **err)
{
	g_autoptr(GPtrArray) all = read_all(cli->args, err);
	struct tally_of t = { .rows = json_array() };
	g_autofree char *out = NULL, *file = NULL;
	int status = MMG_EXIT_BROKEN;
	bool ok = all;

	if (ok && cli->dry_run) {
		json_decref(t.rows);
		return say_plan(all);
	}
	if (ok)
		out = cli->out ? g_strdup(cli->out) : mmg_root_path("results", "replay", NULL);
	ok = ok && mmg_mkdirs(out, err);
	for (guint i = 0; ok && i < all->len; i++)
		ok = replay_one(cli, all->pdata[i], out, &t, err);
	if (ok) {
		file = g_build_filename(out, "replay.json", NULL);
		if (json_dump_file(t.rows, file, JSON_INDENT(1)))
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s", file);
		fprintf(stderr, "mmgate: %u right, %u wrong, %u without an answer; results in %s\n", t.right, t.wrong,
			t.broken, out);
		status = t.wrong ? MMG_EXIT_FAIL : t.broken ? MMG_EXIT_BROKEN : MMG_EXIT_OK;
	}
	json_decref(t.rows);
	return err && *err ? (*err)->code : status;
}
