// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb bisect.  With --good and --bad it does the whole bisection
 * (bisect_whole.c), else one step of git bisect run.  Then it speaks git's language: 0 for
 * good, 1 for bad, 125 for "cannot tell, try another commit".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "source/git.h"
#include "run/seen.h"
#include "verbs/verbs.h"

#define STEP_GOOD	0
#define STEP_BAD	1
#define STEP_SKIP	125

static int num(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* Short name of the commit that is checked out, or "tree"; g_free() it */
static char *commit_of(const char *tree)
{
	const char *const args[] = { "rev-parse", "--short", "HEAD", NULL };
	g_autofree char *git = g_build_filename(tree, ".git", NULL);
	char *out = NULL;

	if (g_file_test(git, G_FILE_TEST_EXISTS))
		out = git_read(tree, "asking git which commit this is", args, NULL, NULL);
	return out ? g_strstrip(out) : g_strdup("tree");
}

static int say(int status, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

static int say(int status, const char *fmt, ...)
{
	const char *word = status == STEP_GOOD ? "good" : status == STEP_BAD ? "bad" :
			   "cannot tell";
	g_autofree char *why = NULL;
	va_list ap;

	va_start(ap, fmt);
	why = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	status_clear();
	fprintf(stderr, "mmgate: %s: %s\n", word, why);
	return status;
}

/*
 * Judge the runs.  A test that must always pass is bad at its first failure; that
 * all passed says how rare a fault would have to be to have been missed.
 */
static int judge(const char *commit, json_t *run, int repeat)
{
	g_autoptr(GHashTable) all = seen_collect(run, 0);
	g_autoptr(GPtrArray) keys = seen_keys(all, all);
	const struct seen *fail = NULL, *broken = NULL;
	unsigned int ran = 0;
	double lo, hi;

	for (guint i = 0; i < keys->len; i++) {
		const struct seen *s = g_hash_table_lookup(all, keys->pdata[i]);

		if (s->t.fail && (!fail || s->t.fail > fail->t.fail))
			fail = s;
		if (s->t.broken)
			broken = s;
		if (!g_str_has_prefix(s->name, "boot/"))
			ran += s->t.pass + s->t.fail;
	}
	if (fail) {
		unsigned int n = fail->t.fail + fail->t.pass;

		clopper_pearson(fail->t.fail, n, 0.05, &lo, &hi);
		return say(STEP_BAD, "%s: %s on %s fails %u of %u (95 %%: %.0f to %.0f %% of runs): %s",
			   commit, fail->name, fail->machine, fail->t.fail, n, 100 * lo, 100 * hi,
			   fail->reason ? fail->reason : "");
	}
	if (broken)
		return say(STEP_SKIP, "%s: %s on %s is broken: %s", commit, broken->name,
			   broken->machine, broken->reason ? broken->reason : "");
	if (!ran)
		return say(STEP_SKIP, "%s: nothing ran, all was skipped", commit);
	return say(STEP_GOOD, "%s: %u results, none failed; a fault that shows in more than %.0f %% of "
		   "runs would have been seen (95 %%)", commit, ran,
		   100 * (1 - pow(0.05, 1.0 / repeat)));
}

static int test_tree(struct cli *cli, struct source *src, GError **err)
{
	g_autofree char *commit = commit_of(src->tree);
	struct build_spec spec = { .src = src, .arch = cli_arch(cli), .fragments = cli->config,
				   .label = commit };
	g_autoptr(GPtrArray) kernels = g_ptr_array_new();
	struct suite s = { .opt = cli_run(cli), .kernels = kernels, .tests = cli->tests,
			   .machines = cli->machines, .repeat = MAX(cli->repeat, 1), .verb = "bisect" };
	struct build_result *b = kernel_build(&spec, err);
	struct kernel *k = b ? kernel_from_build(&s.opt.kernel, src, b, commit, NULL, err) : NULL;
	g_autofree char *dir = NULL;
	int status = STEP_SKIP;
	json_t *run = NULL;

	build_result_free(b);
	if (!k)
		return STEP_SKIP;
	g_ptr_array_add(kernels, k);
	run = suite_run(&s, &dir, err);
	if (run && num(run, "exit") == MMG_EXIT_INTERRUPTED)
		mmg_set_error(err, MMG_EXIT_INTERRUPTED, "interrupted");
	else if (run)
		status = judge(commit, run, MAX(cli->repeat, 1));
	if (run && !cli->no_history)
		history_add(run, NULL);
	json_decref(run);
	kernel_free(k);
	return status;
}

int verb_bisect(struct cli *cli, GError **err)
{
	g_autoptr(GError) e = NULL;
	struct source *src;
	int status;

	if (!cli->tree || cli->args->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "bisect needs --tree DIR and takes no words: git bisect "
			      "run ./run.sh bisect --tree . --test T");
		return MMG_EXIT_USAGE;
	}
	src = source_named(cli->tree, NULL, cli_kernel(cli).offline, err);
	if (!src)
		return MMG_EXIT_USAGE;
	if (cli->good->len || cli->bad) {
		status = bisect_whole(cli, src, err);
		source_free(src);
		return status;
	}
	if (cli->dry_run) {
		g_autofree char *commit = commit_of(src->tree);

		source_free(src);
		/* 0 would be an answer to git bisect run */
		return say(STEP_SKIP, "%s would be built and tested", commit);
	}
	status = test_tree(cli, src, &e);
	source_free(src);
	if (!e)
		return status;
	/* what the user got wrong, and an interrupt, end the bisection; the rest is this commit's */
	if (e->code == MMG_EXIT_USAGE || e->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, g_steal_pointer(&e));
		return (*err)->code;
	}
	return say(STEP_SKIP, "%s", e->message);
}
