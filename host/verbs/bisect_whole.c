// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb bisect with --good and --bad: the whole bisection.  Commits are
 * built beside the tree, which is never checked out; each answer is kept, so a
 * bisection that was interrupted goes on where it was.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/reply.h"
#include "run/bisection.h"
#include "source/commits.h"
#include "run/seen.h"
#include "verbs/verbs.h"

#define FIRST_RUNS	5	/* of the bad end, to learn how often the fault shows */
#define MOST_RUNS	20
#define FIXES_DEPTH	5	/* of a chain of "Fixes:" */

/**
 * struct bisection - one bisection
 * @good:	full ids of what is given as good, and of what was found good
 * @bad:	the earliest commit known to be bad
 * @steps:	struct bisect_step *, in the order in which they were judged
 * @faults:	names of the cases that fail at the bad end: only these make a commit bad
 * @rate:	the share of runs in which the fault shows at least
 * @alpha:	how likely one good answer may be wrong
 * @rounds:	runs of the suite by this start: each has a folder of its own
 */
struct bisection {
	struct cli *cli;
	struct source *src;
	GPtrArray *good, *steps;
	GHashTable *faults;
	char *bad, *first_bad, *dir, *state;
	double rate, alpha;
	unsigned int left, rounds;
};

static const struct bisect_step *step_of(const struct bisection *b, const char *commit)
{
	for (guint i = 0; i < b->steps->len; i++)
		if (!strcmp(((struct bisect_step *)b->steps->pdata[i])->commit, commit))
			return b->steps->pdata[i];
	return NULL;
}

static const struct bisect_step *step_of_image(const struct bisection *b, const char *sha256)
{
	for (guint i = 0; i < b->steps->len; i++) {
		const struct bisect_step *s = b->steps->pdata[i];

		if (!g_strcmp0(s->sha256, sha256) && s->answer != BISECT_SKIP)
			return s;
	}
	return NULL;
}

static bool is_fault(const struct bisection *b, const char *name)
{
	return !g_hash_table_size(b->faults) || g_hash_table_contains(b->faults, name);
}

/* The first failure that counts settles it */
static bool until_failure(json_t *result, void *data)
{
	const struct bisection *b = data;

	return obj_result(result) != RESULT_FAIL || !is_fault(b, obj_str(result, "name"));
}

/*
 * What @run says: the case that failed most often, of those that count.  What else failed is
 * another fault and only said.
 */
static void judge_run(struct bisection *b, json_t *run, struct bisect_step *s)
{
	g_autoptr(GHashTable) all = seen_collect(run, 0);
	g_autoptr(GPtrArray) keys = seen_keys(all, all);
	const struct seen *fail = NULL, *broken = NULL, *other = NULL, *most = NULL;

	for (guint i = 0; i < keys->len; i++) {
		const struct seen *c = g_hash_table_lookup(all, keys->pdata[i]);
		bool counts = is_fault(b, c->name);

		if (c->t.fail && counts && (!fail || c->t.fail > fail->t.fail))
			fail = c;
		if (c->t.fail && !counts)
			other = c;
		if (c->t.broken && counts)
			broken = c;
		if (counts && (!most || c->t.pass > most->t.pass) && !g_str_has_prefix(c->name, "boot/"))
			most = c;
	}
	g_free(s->reason);
	if (fail) {
		s->answer = BISECT_BAD;
		s->runs = fail->t.fail + fail->t.pass;
		s->fails = fail->t.fail;
		s->reason = g_strdup_printf("%s on %s fails %u of %u: %s", fail->name, fail->machine, s->fails,
					    s->runs, fail->reason ?: "");
	} else if (broken) {
		s->answer = BISECT_SKIP;
		s->reason = g_strdup_printf("%s on %s is broken: %s", broken->name, broken->machine,
					    broken->reason ?: "");
	} else if (!most || !most->t.pass) {
		s->answer = BISECT_SKIP;
		s->reason = g_strdup_printf("no case that counts ran%s%s", other ? "; another one fails: " : "",
					    other ? other->name : "");
	} else {
		s->answer = BISECT_GOOD;
		s->runs = most->t.pass;
		s->reason = g_strdup_printf("passes %u of %u%s%s", s->runs, s->runs,
					    other ? "; another fault: " : "", other ? other->name : "");
	}
}

/* Learn which cases fail */
static void note_faults(struct bisection *b, json_t *run)
{
	g_autoptr(GHashTable) all = seen_collect(run, 0);
	GHashTableIter it;
	gpointer v;

	g_hash_table_iter_init(&it, all);
	while (g_hash_table_iter_next(&it, NULL, &v)) {
		const struct seen *c = v;

		if (c->t.fail)
			g_hash_table_add(b->faults, g_strdup(c->name));
	}
}

/* Build @commit; false with *@err where the user is to be asked, else s->answer may be BISECT_SKIP */
static bool build_commit(struct bisection *b, struct bisect_step *s, struct kernel **k, GError **err)
{
	g_autofree char *title = g_strndup(s->commit, 12);
	const struct kernel_options how = cli_kernel(b->cli);
	GHashTable *overlay = overlay_new();
	struct build_spec spec = { .src = b->src, .overlay = overlay, .arch = cli_arch(b->cli),
				   .fragments = b->cli->config, .label = title };
	struct build_result *built = NULL;
	g_autoptr(GError) e = NULL;

	if (git_overlay(b->src, s->commit, overlay, &e))
		built = kernel_build(&spec, &e);
	if (built) {
		s->sha256 = g_strdup(built->sha256);
		*k = kernel_from_build(&how, b->src, built, title, NULL, &e);
		build_result_free(built);
	}
	g_hash_table_unref(overlay);
	if (*k)
		return true;
	if (e->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	s->answer = BISECT_SKIP;
	s->reason = g_strdup_printf("does not build: %s", e->message);
	return true;
}

/* Boot @k up to @runs times, until a failure where @stop */
static bool test_commit(struct bisection *b, struct bisect_step *s, struct kernel *k, unsigned int runs,
			bool stop, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new();
	g_autofree char *sub = g_strdup_printf("%03u-%.12s", ++b->rounds, s->commit);
	g_autofree char *out = g_build_filename(b->dir, sub, NULL);
	struct suite suite = { .opt = cli_run(b->cli), .kernels = kernels, .tests = b->cli->tests,
			       .machines = b->cli->machines, .repeat = runs, .verb = "bisect",
			       .out = out, .on_case = stop ? until_failure : NULL, .data = b };
	g_autofree char *dir = NULL;
	g_autoptr(GError) e = NULL;
	json_t *run;

	g_ptr_array_add(kernels, k);
	if (!mmg_mkdirs(out, err))
		return false;
	run = suite_run(&suite, &dir, &e);
	if (!run && (e->code == MMG_EXIT_USAGE || e->code == MMG_EXIT_INTERRUPTED)) {
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	if (!run) {
		s->answer = BISECT_SKIP;
		g_free(s->reason);
		s->reason = g_strdup(e->message);
		return true;
	}
	if (obj_int(run, "exit") == MMG_EXIT_INTERRUPTED) {
		json_decref(run);
		mmg_set_error(err, MMG_EXIT_INTERRUPTED, "interrupted; what was found out is kept, and the same "
			      "command goes on from there");
		return false;
	}
	if (!stop)
		note_faults(b, run);
	judge_run(b, run, s);
	if (!b->cli->no_history)
		history_add(run, NULL);
	json_decref(run);
	return true;
}

static bool keep(struct bisection *b, struct bisect_step *s, gint64 began, GError **err)
{
	g_autofree char *title = commit_title(b->src->tree, s->commit, 12);

	s->seconds = (g_get_monotonic_time() - began) / (double)G_USEC_PER_SEC;
	g_ptr_array_add(b->steps, s);
	status_note("%-5s %s: %s", bisect_word(s->answer), title, s->reason);
	return bisect_save(b->state, b->steps, err);
}

/* Judge @commit with at most @runs runs, or recall it; its step, NULL with *@err */
static const struct bisect_step *judge_commit(struct bisection *b, const char *commit, unsigned int runs,
					      GError **err)
{
	const struct bisect_step *old = step_of(b, commit);
	gint64 began = g_get_monotonic_time();
	struct bisect_step *s;
	struct kernel *k = NULL;
	bool ok;

	if (old)
		return old;
	s = g_new0(struct bisect_step, 1);
	s->commit = g_strdup(commit);
	ok = build_commit(b, s, &k, err);
	old = k ? step_of_image(b, s->sha256) : NULL;
	if (ok && old) {
		s->answer = old->answer;
		s->recalled = true;
		s->reason = g_strdup_printf("the image is that of %.12s", old->commit);
	} else if (ok && k) {
		ok = test_commit(b, s, k, runs, true, err);
	}
	if (k)
		kernel_free(k);
	if (ok)
		return keep(b, s, began, err) ? s : NULL;
	bisect_step_free(s);
	return NULL;
}

/*
 * The bad end says what the fault is and how often it shows.  A few runs settle it where the
 * fault shows always; where it does not, more runs bound how rare it is.
 */
static bool learn_fault(struct bisection *b, GError **err)
{
	gint64 began = g_get_monotonic_time();
	struct bisect_step *s = g_new0(struct bisect_step, 1);
	g_autofree char *seen = NULL;
	unsigned int runs = 0, fails = 0;
	struct kernel *k = NULL;
	bool ok;

	s->commit = g_strdup(b->first_bad);
	ok = build_commit(b, s, &k, err);
	while (ok && k && runs < MOST_RUNS) {
		ok = test_commit(b, s, k, FIRST_RUNS, false, err);
		if (!ok || s->answer == BISECT_SKIP)
			break;
		runs += s->runs;
		fails += s->fails;
		/* the last few may all have passed */
		if (s->fails) {
			g_free(seen);
			seen = g_strdup(s->reason);
		}
		/* ten failures of ten: at least 74 % of runs */
		if (fails == runs && runs >= 2 * FIRST_RUNS)
			break;
	}
	if (k)
		kernel_free(k);
	if (!ok) {
		bisect_step_free(s);
		return false;
	}
	if (s->answer == BISECT_SKIP || !fails) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the bad end %.12s %s: there is nothing to look for",
			      s->commit, s->answer == BISECT_SKIP ? s->reason : "passed every run");
		bisect_step_free(s);
		return false;
	}
	s->answer = BISECT_BAD;
	s->runs = runs;
	s->fails = fails;
	g_free(s->reason);
	s->reason = g_strdup_printf("%u of %u runs fail; %s", fails, runs, seen);
	return keep(b, s, began, err);
}

/* The names of the failing cases are kept beside the steps, for a second start */
static bool keep_faults(const struct bisection *b, GError **err)
{
	g_autofree char *path = g_strconcat(b->state, ".faults", NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(b->faults), (GCompareFunc)strcmp);

	for (GList *n = names; n; n = n->next)
		g_string_append_printf(text, "%s\n", (char *)n->data);
	return mmg_write_atomic(path, text->str, text->len, err);
}

static void recall_faults(struct bisection *b)
{
	g_autofree char *path = g_strconcat(b->state, ".faults", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	for (char **l = lines; *l; l++)
		if (**l)
			g_hash_table_add(b->faults, g_strdup(*l));
}

/* How often a good commit has to pass, for the whole to be as sure as was asked for */
static void set_effort(struct bisection *b, unsigned int commits)
{
	const struct bisect_step *end = step_of(b, b->first_bad);
	double confidence = (b->cli->confidence ?: 95) / 100.0;
	double asked = (b->cli->rate ?: 20) / 100.0;
	/* a bisection of n commits gives at most this many good answers, the good end's too */
	unsigned int answers = ceil(log2(MAX(commits, 2))) + 1;

	b->rate = MAX(bisect_least_rate(end->fails, end->runs), asked);
	b->alpha = 1 - pow(confidence, 1.0 / answers);
}

/* Judge what halves the rest until one is left */
static bool halve(struct bisection *b, GPtrArray **rest, GError **err)
{
	for (;;) {
		g_autoptr(GPtrArray) commits = commits_to_judge(b->src->tree, b->bad, b->good, err);
		const struct bisect_step *s;
		const char *next;

		if (!commits)
			return false;
		next = bisect_next(commits, b->steps);
		b->left = commits->len;
		if (!next) {
			*rest = g_steal_pointer(&commits);
			return true;
		}
		status_note("%u commits left, about %.0f steps", commits->len, ceil(log2(commits->len)));
		s = judge_commit(b, next, bisect_runs(b->rate, b->alpha), err);
		if (!s)
			return false;
		if (s->answer == BISECT_BAD) {
			g_free(b->bad);
			b->bad = g_strdup(s->commit);
		} else if (s->answer == BISECT_GOOD) {
			g_ptr_array_add(b->good, g_strdup(s->commit));
		}
	}
}

/* Steps of an earlier start move the ends */
static void resume(struct bisection *b)
{
	unsigned int n = b->steps->len;

	for (guint i = 0; i < n; i++) {
		const struct bisect_step *s = b->steps->pdata[i];

		if (s->answer == BISECT_GOOD)
			g_ptr_array_add(b->good, g_strdup(s->commit));
		if (s->answer == BISECT_BAD && commit_is_ancestor(b->src->tree, s->commit, b->bad, NULL)) {
			g_free(b->bad);
			b->bad = g_strdup(s->commit);
		}
	}
	if (n)
		status_note("going on with a bisection of which %u commit%s judged", n, n == 1 ? " is" : "s are");
}

/* ---- what is said of it ---- */

static void add_fixes(const struct bisection *b, const char *commit, int depth, GString *text)
{
	g_autoptr(GPtrArray) fixes = commit_fixes(b->src->tree, commit);

	for (guint i = 0; i < fixes->len; i++) {
		g_autofree char *ref = g_strndup(fixes->pdata[i], strcspn(fixes->pdata[i], " "));
		g_autofree char *id = commit_id(b->src->tree, ref, NULL);

		g_string_append_printf(text, "%*sFixes: %s\n", 2 + 2 * depth, "", (char *)fixes->pdata[i]);
		if (id && depth < FIXES_DEPTH)
			add_fixes(b, id, depth + 1, text);
	}
}

/* @reason as it stands, or as others can read it; g_free() it */
static char *reason_text(const struct bisection *b, const char *reason, bool mail)
{
	return mail ? reply_reason(reason, b->src->tree, b->dir) : g_strdup(reason);
}

static void add_steps(const struct bisection *b, bool mail, GString *text)
{
	double seconds = 0;

	g_string_append(text, "Steps:\n");
	for (guint i = 0; i < b->steps->len; i++) {
		const struct bisect_step *s = b->steps->pdata[i];
		g_autofree char *title = commit_title(b->src->tree, s->commit, 12);
		g_autofree char *reason = reason_text(b, s->reason, mail);

		g_string_append_printf(text, "  %-5s %s\n        %s\n", bisect_word(s->answer), title,
				       reason);
		seconds += s->seconds;
	}
	g_string_append_printf(text, "  %u commits judged in %.0f min\n", b->steps->len, seconds / 60);
}

/* The report: what was found first, then how; as @mail without what means nothing on another host */
static char *report(const struct bisection *b, const GPtrArray *rest, bool mail)
{
	GString *text = g_string_new(NULL);
	const struct bisect_step *s = step_of(b, b->bad);
	g_autofree char *title = commit_title(b->src->tree, b->bad, 12);
	g_autofree char *author = commit_author(b->src->tree, b->bad);
	g_autofree char *reason = reason_text(b, s ? s->reason : "", mail);

	if (rest->len == 1) {
		g_string_append_printf(text, "First bad commit: %s\n", title);
		if (author)
			g_string_append_printf(text, "  Author: %s\n", author);
		add_fixes(b, b->bad, 0, text);
	} else {
		g_string_append_printf(text, "The first bad commit is one of %u; the others could not be "
				       "judged:\n", rest->len);
		for (guint i = 0; i < rest->len; i++) {
			g_autofree char *t = commit_title(b->src->tree, rest->pdata[i], 12);

			g_string_append_printf(text, "  %s\n", t);
		}
	}
	g_string_append_printf(text, "  %s\n", reason);
	g_string_append_printf(text, "  No good answer missed the fault with a probability of at least %.1f %%, "
			       "if it shows in %.0f %% of runs or more.\n\n",
			       100 * bisect_confidence(b->steps, b->rate), 100 * b->rate);
	add_steps(b, mail, text);
	g_string_append(text, "\nTo see it again:\n");
	if (mail) {
		g_autofree char *again = reply_again(b->cli->command);

		g_string_append(text, again);
	} else {
		g_string_append(text, "  ");
		for (guint i = 0; i < b->cli->command->len; i++)
			g_string_append_printf(text, "%s%s", i ? " " : "", (char *)b->cli->command->pdata[i]);
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

/* The report as a mail to the author, not sent: 72 columns, the verdict first */
static bool write_reply(const struct bisection *b, const GPtrArray *rest, GError **err)
{
	g_autofree char *text = report(b, rest, true);
	g_autofree char *path = g_build_filename(b->dir, "bisect-reply.txt", NULL);
	g_autofree char *author = commit_author(b->src->tree, b->bad);
	g_autofree char *title = commit_title(b->src->tree, b->bad, 12);
	g_autoptr(GString) mail = g_string_new(NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	g_string_append_printf(mail, "To: %s\nSubject: [REGRESSION] bisected to %s\n\n", author ?: "",
			       strchr(title, ' ') ? strchr(title, ' ') + 1 : title);
	for (char **l = lines; *l; l++) {
		int indent = strspn(*l, " ");

		g_autofree char *plain = text_ascii(*l + indent);

		if (strlen(*l) <= 72 && g_str_is_ascii(*l))
			g_string_append(mail, *l);
		else
			text_wrap(mail, plain, indent, 72);
		if (l[1])
			g_string_append_c(mail, '\n');
	}
	return mmg_write_atomic(path, mail->str, mail->len, err);
}

static int finish(struct bisection *b, const GPtrArray *rest, GError **err)
{
	g_autofree char *text = report(b, rest, false);
	g_autofree char *path = g_build_filename(b->dir, "bisect.txt", NULL);
	g_autofree char *json = g_build_filename(b->dir, "bisect.json", NULL);

	status_clear();
	if (!mmg_write_atomic(path, text, -1, err) || !bisect_save(json, b->steps, err) ||
	    (rest->len == 1 && !write_reply(b, rest, err)))
		return MMG_EXIT_BROKEN;
	printf("%s", text);
	fprintf(stderr, "mmgate: the report is in %s\n", b->dir);
	if (rest->len == 1)
		return MMG_EXIT_OK;
	mmg_set_error(err, MMG_EXIT_BROKEN, "%u commits are left that could not be judged", rest->len);
	return MMG_EXIT_BROKEN;
}

/* ---- the verb ---- */

/* What the answers depend on names the file in which they are kept */
static char *state_path(const struct bisection *b)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
	const GPtrArray *lists[] = { b->good, b->cli->tests, b->cli->machines, b->cli->config };
	g_autofree char *name = NULL;
	char *path;

	g_checksum_update(sum, (const guchar *)b->src->tree, strlen(b->src->tree) + 1);
	g_checksum_update(sum, (const guchar *)b->first_bad, strlen(b->first_bad) + 1);
	g_checksum_update(sum, (const guchar *)cli_arch(b->cli), strlen(cli_arch(b->cli)) + 1);
	for (guint l = 0; l < G_N_ELEMENTS(lists); l++) {
		for (guint i = 0; i < lists[l]->len; i++)
			g_checksum_update(sum, lists[l]->pdata[i], strlen(lists[l]->pdata[i]) + 1);
		g_checksum_update(sum, (const guchar *)"", 1);
	}
	name = g_strdup_printf("%.32s.json", g_checksum_get_string(sum));
	path = mmg_cache_path("bisect", name, NULL);
	g_checksum_free(sum);
	return path;
}

static bool ends(struct bisection *b, GError **err)
{
	for (guint i = 0; i < b->cli->good->len; i++) {
		char *id = commit_id(b->src->tree, b->cli->good->pdata[i], err);

		if (!id)
			return false;
		g_ptr_array_add(b->good, id);
	}
	b->first_bad = commit_id(b->src->tree, b->cli->bad, err);
	if (!b->first_bad)
		return false;
	b->bad = g_strdup(b->first_bad);
	for (guint i = 0; i < b->good->len; i++) {
		if (!strcmp(b->good->pdata[i], b->bad)) {
			mmg_set_error(err, MMG_EXIT_USAGE, "'%s' is given as good and as bad",
				      b->cli->bad);
			return false;
		}
		if (!commit_is_ancestor(b->src->tree, b->good->pdata[i], b->bad, err)) {
			if (err && !*err)
				mmg_set_error(err, MMG_EXIT_USAGE, "'%s' is not an ancestor of '%s': bisect their "
					      "merge base first", (char *)b->cli->good->pdata[i], b->cli->bad);
			return false;
		}
	}
	return true;
}

static int say_plan(const struct bisection *b, GError **err)
{
	g_autoptr(GPtrArray) commits = commits_to_judge(b->src->tree, b->bad, b->good, err);

	if (!commits)
		return MMG_EXIT_BROKEN;
	printf("%u commits, about %.0f steps; %u are judged already\n", commits->len,
	       ceil(log2(MAX(commits->len, 2))), b->steps->len);
	return MMG_EXIT_OK;
}

static int bisect(struct bisection *b, GError **err)
{
	g_autoptr(GPtrArray) commits = NULL;
	g_autoptr(GPtrArray) rest = NULL;
	g_autoptr(GPtrArray) good = NULL;

	if (!step_of(b, b->first_bad) && (!learn_fault(b, err) || !keep_faults(b, err)))
		return MMG_EXIT_BROKEN;
	commits = commits_to_judge(b->src->tree, b->first_bad, b->good, err);
	if (!commits)
		return MMG_EXIT_BROKEN;
	set_effort(b, commits->len);
	/* what is said to be good has to be */
	good = g_ptr_array_ref(b->good);
	for (guint i = 0; i < b->cli->good->len; i++) {
		const struct bisect_step *s = judge_commit(b, good->pdata[i], bisect_runs(b->rate, b->alpha), err);

		if (!s)
			return MMG_EXIT_BROKEN;
		if (s->answer == BISECT_GOOD)
			continue;
		mmg_set_error(err, MMG_EXIT_BROKEN, "the good end '%s' is %s: %s", (char *)b->cli->good->pdata[i],
			      bisect_word(s->answer), s->reason);
		return MMG_EXIT_BROKEN;
	}
	if (!halve(b, &rest, err))
		return MMG_EXIT_BROKEN;
	return finish(b, rest, err);
}

int bisect_whole(struct cli *cli, struct source *src, GError **err)
{
	struct bisection b = { .cli = cli, .src = src };
	g_autofree char *key = NULL;
	int status = MMG_EXIT_USAGE, lock = -1;

	b.good = g_ptr_array_new_with_free_func(g_free);
	b.faults = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!cli->good->len || !cli->bad || !cli->tests->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "a whole bisection needs --good A, --bad B and --test C");
	} else if (ends(&b, err)) {
		b.state = state_path(&b);
		b.steps = bisect_load(b.state, err);
		status = MMG_EXIT_BROKEN;
		if (b.steps && cli->dry_run) {
			status = say_plan(&b, err);
		} else if (b.steps) {
			g_autofree char *parent = g_path_get_dirname(b.state);

			key = g_path_get_basename(b.state);
			lock = mmg_mkdirs(parent, err) ? mmg_lock(key, err) : -1;
			b.dir = lock >= 0 ? results_make_dir(cli->out, err) : NULL;
			if (b.dir) {
				recall_faults(&b);
				resume(&b);
				status = bisect(&b, err);
			}
		}
	}
	if (lock >= 0)
		close(lock);
	if (err && *err)
		status = (*err)->code;
	g_ptr_array_unref(b.good);
	if (b.steps)
		g_ptr_array_unref(b.steps);
	g_hash_table_unref(b.faults);
	g_free(b.bad);
	g_free(b.first_bad);
	g_free(b.dir);
	g_free(b.state);
	return status;
}
