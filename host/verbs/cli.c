// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line: one table of options, each with the verbs that take it.
 */
#include "base/arch.h"
#include "run/services.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN = 1 << 0, GATE = 1 << 1, MUTANTS = 1 << 2, BENCH = 1 << 3, BISECT = 1 << 4,
	REPORT = 1 << 5, SHELL = 1 << 6, LIST = 1 << 7, DOCTOR = 1 << 8, BUILD = 1 << 9,
	HISTORY = 1 << 10, EXPORT = 1 << 11, RESTORE = 1 << 12, WATCH = 1 << 13, TREND = 1 << 14, FUZZ = 1 << 15,
	MATRIX = 1 << 16, MERGE = 1 << 17, DRIFT = 1 << 18, COVERAGE = 1 << 19, REPLAY = 1 << 20,
	JOBS = 1 << 21, JOB = 1 << 22,
	SUITE = RUN | GATE | MUTANTS | BENCH | BISECT | WATCH | FUZZ | COVERAGE | REPLAY,
	BOOT = SUITE | SHELL | JOBS,
	FLEET = RUN | GATE | MUTANTS | MATRIX,
	ALL = (1 << 23) - 1,
};

static const struct verb {
	const char *name;
	unsigned int bit;
	verb_fn *fn;
	const char *args;
	const char *help;
} verbs[] = {
	{ "run", RUN, verb_run, "", "boot, test, say the verdict" },
	{ "gate", GATE, verb_gate, "[NAME]", "a patch gate: base and patched, side by side" },
	{ "mutants", MUTANTS, verb_mutants, "[NAME...]",
	  "break the kernel on purpose; every mutant must be caught" },
	{ "coverage", COVERAGE, verb_coverage, "[debian-source:VERSION] [DIR...]",
	  "which lines and branches of the guarded kernel functions the tests reach" },
	{ "bench", BENCH, verb_bench, "NAME", "the workload benchmarks" },
	{ "fuzz", FUZZ, verb_fuzz, "machines",
	  "random machines, tests in random order, on a kernel known to be good" },
	{ "bisect", BISECT, verb_bisect, "",
	  "a whole bisection (--good, --bad), or one step for `git bisect run` (0 good, 1 bad, 125 skip, 129 usage)" },
	{ "watch", WATCH, verb_watch, "MAILBOX", "judge each new series of a mailbox, and write the answer as a mail" },
	{ "replay", REPLAY, verb_replay, "[NAME...]", "what the automatic gate says of series of the past" },
	{ "trend", TREND, verb_trend, "[GLOB...]", "measured values over time, and where they changed" },
	{ "report", REPORT, verb_report, "DIR", "reports from an earlier run's results" },
	{ "shell", SHELL, verb_shell, "[-- COMMAND...]", "boot the same VM with a shell, for a person" },
	{ "list", LIST, verb_list, "[tests|machines|gates|mutants|kernels|rules]",
	  "what there is, each with its one-line description" },
	{ "doctor", DOCTOR, verb_doctor, "", "what this host has and lacks, and what to do about it" },
	{ "build", BUILD, verb_build, "[debian-source:VERSION]",
	  "a kernel from a tree or packaged source" },
	{ "history", HISTORY, verb_history, "", "a test's record over runs and kernels" },
	{ "export", EXPORT, verb_export, "[BRANCH]", "the tests as a branch in a kernel tree" },
	{ "matrix", MATRIX, verb_matrix, "[NAME...]",
	  "every kernel in use, one table; only what is new runs" },
	{ "merge", MERGE, verb_merge, "DIR...", "put the results of several runs together, or of the jobs of one" },
	{ "jobs", JOBS, verb_jobs, "[NAME...]", "write a run down as job folders that run anywhere" },
	{ "job", JOB, verb_job, "DIR...", "run job folders; needs QEMU alone" },
	{ "drift", DRIFT, verb_drift, "[NAME...]",
	  "what of ours no longer fits the newest sources; seconds, no VM" },
	{ "restore", RESTORE, verb_restore, "",
	  "put back host settings that an interrupted host run left changed" },
};

enum kind { FLAG, COUNT, STRING, LISTED, NUMBER, SEED };

static const struct option_row {
	const char *name;
	char letter;
	enum kind kind;
	size_t offset;
	unsigned int verbs;
	const char *arg;
	const char *help;
} rows[] = {
#define ROW(name, letter, kind, field, verbs, arg, help) \
	{ name, letter, kind, offsetof(struct cli, field), verbs, arg, help }
	ROW("kernel", 0, LISTED, kernels, BOOT | HISTORY | MATRIX, "SPEC",
	    "image file | build tree | .deb/.rpm file(s) | debian:VERSION | host; may be repeated"),
	ROW("modules", 0, STRING, modules, BOOT, "DIR",
	    "modules for an image file, where they are not beside it"),
	ROW("ksrc", 0, STRING, ksrc, BOOT | MATRIX, "DIR",
	    "kernel source for the KVM selftest library and headers"),
	ROW("arch", 0, STRING, arch, BOOT | BUILD | MATRIX | DRIFT, "NAME", "x86_64 | arm64 | riscv64 | ppc64el | all"),
	ROW("machine", 0, LISTED, machines, BOOT | MATRIX, "NAME", "one of configs/machines, or a machine file; may be repeated"),
	ROW("test", 0, LISTED, tests, SUITE | JOBS | HISTORY | MATRIX, "GLOB", "only these tests; may be repeated"),
	ROW("accel", 0, STRING, accel, BOOT | MATRIX, "WHICH", "auto | kvm | tcg"),
	ROW("repeat", 0, NUMBER, repeat, SUITE | JOBS | MATRIX, "N", "run N times, judge on all"),
	ROW("jobs", 0, NUMBER, jobs, SUITE | BUILD | MATRIX, "N", "VMs at once; build: compilers at once"),
	ROW("timeout", 0, NUMBER, timeout, SUITE | JOBS | MATRIX, "SECS", "for one VM"),
	ROW("out", 0, STRING, out, SUITE | JOBS | JOB | BUILD | TREND | MATRIX | MERGE, "DIR",
	    "results (default results/<date>-<n>); build: a copy of the kernel; trend: the page"),
	ROW("seed", 0, SEED, seed, SUITE | JOBS | MATRIX, "N", "for the tests' labels and orders"),
	ROW("shuffle", 0, SEED, shuffle, RUN | JOBS | FUZZ, "N", "tests and cases in an order drawn from this number"),
	ROW("count", 0, NUMBER, count, FUZZ | MUTANTS, "N", "how many random machines, or generated mutants (30)"),
	ROW("generate", 0, FLAG, generate, MUTANTS, NULL,
	    "mutants made by rule on the functions of configs/guarded.conf, drawn by --seed"),
	ROW("function", 0, STRING, function, MUTANTS, "GLOB", "with --generate: only in these functions"),
	ROW("coverage", 0, STRING, coverage, MUTANTS, "FILE",
	    "with --generate: coverage.json; lines that no test reaches come last"),
	ROW("json", 0, FLAG, json, SUITE | JOB | TREND | REPORT | LIST | HISTORY | DOCTOR | BUILD | MATRIX | MERGE | DRIFT, NULL,
	    "run.json; alone, printed in place of the text"),
	ROW("junit", 0, FLAG, junit, SUITE | JOB | REPORT | MATRIX | MERGE, NULL, "also write junit.xml"),
	ROW("tap", 0, FLAG, tap, SUITE | JOB | REPORT | MERGE, NULL, "results.tap; alone, printed in place of the text"),
	ROW("html", 0, FLAG, html, SUITE | JOB | TREND | REPORT | MATRIX | MERGE, NULL, "also write report.html"),
	ROW("kcidb", 0, FLAG, kcidb, SUITE | REPORT | MERGE, NULL, "also write kcidb.json"),
	ROW("gitlab", 0, FLAG, gitlab, SUITE | REPORT | MERGE, NULL, "also write codequality.json, for a merge request"),
	ROW("github", 0, FLAG, github, SUITE | REPORT | MERGE, NULL, "also write check-run.json, the body of a check run"),
	ROW("patchwork", 0, FLAG, patchwork, SUITE | REPORT | MERGE, NULL, "also write patchwork.json, a check of a patch"),
	ROW("offline", 0, FLAG, offline, BOOT | BUILD | MATRIX | DRIFT, NULL, "cache only, no network"),
	ROW("require", 0, LISTED, require, SUITE | JOBS, "GLOB",
	    "tests that must have run: a skip of one is not green"),
	ROW("strict", 0, FLAG, strict, MUTANTS | DRIFT, NULL, "a mutant that does not fit the kernel is an error"),
	ROW("shard", 0, STRING, shard, MATRIX, "I/N", "only the I-th of N parts of the kernels"),
	ROW("for", 0, LISTED, services, JOBS, "SERVICE", "also what it is to be given: gitlab, github, jenkins or lava; may be repeated"),
	ROW("lava", 0, FLAG, lava, JOB, NULL, "also print the results as LAVA's signals"),
	ROW("slurm", 0, FLAG, slurm, FLEET, NULL, "the VMs run as elements of Slurm's job arrays"),
	ROW("on", 0, LISTED, on, FLEET, "ssh://HOST", "the VMs run there, ssh://[USER@]HOST[:PORT][/DIR]; may be repeated"),
	ROW("resume", 0, FLAG, resume, FLEET, NULL, "with --slurm or --on, and --out: go on where that run ended"),
	ROW("no-history", 0, FLAG, no_history, SUITE | MATRIX | MERGE, NULL, "keep this run out of the history"),
	ROW("dump", 0, FLAG, dump, SUITE | MATRIX, NULL, "where a kernel hangs or panics, also write its memory"),
	ROW("gdb", 0, FLAG, gdb, SHELL, NULL, "let gdb in; says the command that attaches it"),
	ROW("halt", 0, FLAG, halt, SHELL, NULL, "with --gdb: stand still before the kernel's first instruction"),
	ROW("destructive", 0, FLAG, destructive, RUN, NULL,
	    "with --kernel host: also the tests that a production host would feel"),
	ROW("tree", 0, STRING, tree, GATE | WATCH | REPLAY | MUTANTS | COVERAGE | BENCH | BISECT | BUILD | EXPORT | DRIFT, "DIR",
	    "kernel source tree"),
	ROW("base", 0, STRING, base, GATE | WATCH, "REF", "git revision without the series"),
	ROW("patched", 0, STRING, patched, GATE, "REF", "git revision with it"),
	ROW("series", 0, STRING, series, GATE | BUILD, "FILE",
	    "mbox, patch directory, or an edit file such as configs/mutants/NAME.conf"),
	ROW("good", 0, LISTED, good, BISECT, "REF", "with --bad: the whole bisection; a revision without the fault"),
	ROW("bad", 0, STRING, bad, BISECT, "REF", "a revision that has the fault"),
	ROW("confidence", 0, NUMBER, confidence, BISECT, "PERCENT", "that no good answer missed the fault (95)"),
	ROW("rate", 0, NUMBER, rate, BISECT, "PERCENT", "of runs in which the fault shows at least (20)"),
	ROW("metric", 0, STRING, metric, TREND, "NAME", "auc, duration_s, or a figure of a workload"),
	ROW("once", 0, FLAG, once, WATCH, NULL, "judge what is there now, then end"),
	ROW("from", 0, STRING, tester, WATCH, "NAME <ADDRESS>", "who answers: From and Tested-by of the replies"),
	ROW("budget", 0, NUMBER, budget, GATE | WATCH | REPLAY, "MINUTES", "without a gate's name: what the chosen tests may take"),
	ROW("config", 0, LISTED, config, BUILD | GATE | MUTANTS | COVERAGE | BENCH | BISECT | WATCH, "NAME",
	    "one more fragment of configs/kernel, such as debug"),
	ROW("flaky", 0, FLAG, flaky, HISTORY, NULL, "only results that flip without a kernel change"),
	ROW("empty-cache", 0, FLAG, empty_cache, DOCTOR, NULL, "delete the cache, after saying what is in it"),
	ROW("dry-run", 'n', FLAG, dry_run, BOOT | BUILD | EXPORT | RESTORE | MATRIX, NULL,
	    "say what would be done, do nothing"),
	ROW("yes", 'y', FLAG, yes, ALL, NULL, "yes to installing what is missing"),
	ROW("quiet", 'q', FLAG, quiet, ALL, NULL, "only the verdict"),
	ROW("verbose", 'v', COUNT, verbose, ALL, NULL, "more of what is done"),
#undef ROW
};

#define NR_ROWS G_N_ELEMENTS(rows)
#define KEY_BASE 1000
#define VERSION_KEY 999

static void *field(struct cli *cli, const struct option_row *r)
{
	return (char *)cli + r->offset;
}

struct cli *cli_new(void)
{
	struct cli *cli = g_new0(struct cli, 1);
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		if (rows[i].kind == LISTED)
			*(GPtrArray **)field(cli, &rows[i]) = g_ptr_array_new_with_free_func(g_free);
	cli->args = g_ptr_array_new_with_free_func(g_free);
	cli->command = g_ptr_array_new_with_free_func(g_free);
	return cli;
}

void cli_free(struct cli *cli)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++) {
		if (rows[i].kind == LISTED)
			g_ptr_array_unref(*(GPtrArray **)field(cli, &rows[i]));
		else if (rows[i].kind == STRING)
			g_free(*(char **)field(cli, &rows[i]));
	}
	g_ptr_array_unref(cli->args);
	g_ptr_array_unref(cli->command);
	g_free(cli);
}

static const struct verb *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static bool set_number(struct cli *cli, const struct option_row *r, const char *arg, GError **err)
{
	long long v, max = r->kind == SEED ? INT64_MAX : 1000000;
	char *end;

	/* decimal, whatever zeros it begins with */
	errno = 0;
	v = strtoll(arg, &end, 10);
	if (errno || *end || !g_ascii_isdigit(*arg) || v < 1 || v > max) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--%s takes a whole number from 1 to %lld, not '%s'",
			      r->name, max, arg);
		return false;
	}
	if (r->kind == SEED)
		*(uint64_t *)field(cli, r) = v;
	else
		*(int *)field(cli, r) = v;
	return true;
}

static bool set_option(struct cli *cli, const struct option_row *r, const char *arg, GError **err)
{
	void *f = field(cli, r);

	if (arg && !*arg) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--%s takes %s, not an empty word", r->name, r->arg);
		return false;
	}
	switch (r->kind) {
	case FLAG:
		*(bool *)f = true;
		break;
	case COUNT:
		++*(int *)f;
		break;
	case STRING:
		g_free(*(char **)f);
		*(char **)f = g_strdup(arg);
		break;
	case LISTED:
		g_ptr_array_add(*(GPtrArray **)f, g_strdup(arg));
		break;
	case NUMBER:
	case SEED:
		return set_number(cli, r, arg, err);
	}
	return true;
}

static bool one_of(const char *option, const char *value, const char *const *allowed, GError **err)
{
	char *list;

	if (!value || g_strv_contains(allowed, value))
		return true;
	list = g_strjoinv(", ", (char **)allowed);
	mmg_set_error(err, MMG_EXIT_USAGE, "--%s %s: it is one of %s", option, value, list);
	g_free(list);
	return false;
}

/* --arch by the table's own name, whichever of its names was typed; "all" is for what boots */
static bool check_arch(struct cli *cli, GError **err)
{
	const struct arch *a;
	GString *list;
	unsigned int n;

	if (!cli->arch)
		return true;
	if (!strcmp(cli->arch, "all")) {
		if (!cli->verb || !strcmp(cli->verb, "run"))
			return true;
		mmg_set_error(err, MMG_EXIT_USAGE, "--arch all: %s takes one architecture", cli->verb);
		return false;
	}
	a = arch_find(cli->arch);
	if (a) {
		g_free(cli->arch);
		cli->arch = g_strdup(a->name);
		return true;
	}
	list = g_string_new(NULL);
	a = arch_all(&n);
	for (unsigned int i = 0; i < n; i++)
		g_string_append_printf(list, "%s, ", a[i].name);
	mmg_set_error(err, MMG_EXIT_USAGE, "--arch %s: it is one of %sall", cli->arch, list->str);
	g_string_free(list, TRUE);
	return false;
}

static bool check_values(struct cli *cli, GError **err)
{
	static const char *const accels[] = { "auto", "kvm", "tcg", NULL };

	if (cli->repeat > MAX_REPEAT) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--repeat takes at most %d, not %d", MAX_REPEAT, cli->repeat);
		return false;
	}
	if (cli->slurm && cli->on->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--slurm and --on: the VMs run in one place or the other");
		return false;
	}
	if (cli->resume && (!cli->out || (!cli->slurm && !cli->on->len))) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--resume goes with --slurm or --on, and with the --out of the run to go on with");
		return false;
	}
	cli->fleet = (struct fleet){ .slurm = cli->slurm, .resume = cli->resume, .hosts = cli->on, .at_once = cli->jobs };
	return fleet_hosts_valid(cli->on, err) && services_known(cli->services, err) && one_of("accel", cli->accel, accels, err) && check_arch(cli, err);
}

static void usage_option(GString *s, const struct option_row *r)
{
	char *left = g_strdup_printf("%s%c%s--%s %s", r->letter ? "-" : " ", r->letter ?: ' ',
				     r->letter ? ", " : "  ", r->name, r->arg ?: "");

	g_string_append_printf(s, "    %-24s %s\n", left, r->help);
	g_free(left);
}

char *cli_usage(const char *verb)
{
	const struct verb *v = verb ? find_verb(verb) : NULL;
	GString *s = g_string_new(NULL);
	size_t i;

	if (v)
		g_string_append_printf(s, "usage: ./run.sh %s %s%s[options]\n    %s\n\n", v->name, v->args,
				       *v->args ? " " : "", v->help);
	else
		g_string_append(s, "usage: ./run.sh [VERB] [options]     (options on either side)\n\n");
	for (i = 0; !v && i < G_N_ELEMENTS(verbs); i++)
		g_string_append_printf(s, "    %-10s %s%s\n", verbs[i].name, verbs[i].help,
				       i ? "" : " (the default)");
	if (!v)
		g_string_append(s, "    check      the suite's own tests\n"
				"    help       this text, or with a verb after it that verb's options\n\n");
	g_string_append(s, "options:\n");
	for (i = 0; i < NR_ROWS; i++)
		if (!v || rows[i].verbs & v->bit)
			usage_option(s, &rows[i]);
	g_string_append(s, "    -h,  --help               this text; with a verb, that verb's options\n"
			"         --version            the version of mmgate\n\n"
			"exit status: 0 all asked for holds; 1 a test failed or a gate says no;\n"
			"2 usage; 3 the answer could not be had; 4 nothing ran (all skipped)\n");
	return g_string_free(s, FALSE);
}

static struct option *long_options(void)
{
	struct option *o = g_new0(struct option, NR_ROWS + 3);
	size_t i;

	for (i = 0; i < NR_ROWS; i++) {
		o[i].name = rows[i].name;
		o[i].has_arg = rows[i].kind == FLAG || rows[i].kind == COUNT ? no_argument :
			       required_argument;
		o[i].val = KEY_BASE + i;
	}
	o[NR_ROWS].name = "help";
	o[NR_ROWS].val = 'h';
	o[NR_ROWS + 1].name = "version";
	o[NR_ROWS + 1].val = VERSION_KEY;
	return o;
}

static const struct option_row *row_of(int key)
{
	size_t i;

	if (key >= KEY_BASE)
		return &rows[key - KEY_BASE];
	for (i = 0; i < NR_ROWS; i++)
		if (rows[i].letter == key)
			return &rows[i];
	return NULL;
}

/* The names of verbs, for what somebody may have meant */
static char *verb_meant(const char *word)
{
	const char *names[G_N_ELEMENTS(verbs) + 3];
	size_t n = 0;

	for (; n < G_N_ELEMENTS(verbs); n++)
		names[n] = verbs[n].name;
	names[n++] = "check";
	names[n++] = "help";
	names[n] = NULL;
	return mmg_did_you_mean(word, names);
}

/* The long options that @v takes; what follows an '=' in @word does not count */
static char *option_meant(const struct verb *v, const char *word)
{
	g_autofree char *name = g_strndup(word, strcspn(word, "="));
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (size_t i = 0; i < NR_ROWS; i++)
		if (rows[i].verbs & v->bit)
			g_ptr_array_add(names, g_strconcat("--", rows[i].name, NULL));
	g_ptr_array_add(names, g_strdup("--help"));
	g_ptr_array_add(names, g_strdup("--version"));
	g_ptr_array_add(names, NULL);
	return mmg_did_you_mean(name, (const char *const *)names->pdata);
}

/**
 * struct given - an option as it stands on the command line, before the verb is known
 * @arg:	its value, or NULL
 */
struct given {
	const struct option_row *row;
	const char *arg;
};

/**
 * struct words - the command line, taken apart
 * @given:	struct given
 * @rest:	words that are not options (const char *), the verb first
 * @unknown:	a word that looks like an option and is none, or NULL
 * @lacks:	an option whose value is missing, or NULL
 */
struct words {
	GArray *given;
	GPtrArray *rest;
	const char *unknown, *lacks;
	bool help, version;
};

static void take_apart(struct words *w, int argc, char **argv)
{
	struct option *longs = long_options();
	int key;

	opterr = 0;
	optind = 1;
	while ((key = getopt_long(argc, argv, ":nyqvh", longs, NULL)) != -1) {
		struct given g = { NULL, optarg };

		if (key == 'h') {
			w->help = true;
		} else if (key == VERSION_KEY) {
			w->version = true;
		} else if (key == ':') {
			w->lacks = w->lacks ?: argv[optind - 1];
		} else if (key == '?') {
			w->unknown = w->unknown ?: argv[optind - 1];
		} else {
			g.row = row_of(key);
			g_array_append_val(w->given, g);
		}
	}
	for (; optind < argc; optind++)
		g_ptr_array_add(w->rest, argv[optind]);
	g_free(longs);
}

/* The verb, which is the first word wherever the options stand; NULL with *@err */
static const struct verb *choose_verb(struct words *w, GError **err)
{
	const struct verb *v = &verbs[0];
	g_autofree char *meant = NULL;

	if (w->rest->len && !strcmp(w->rest->pdata[0], "help")) {
		w->help = true;
		g_ptr_array_remove_index(w->rest, 0);
	}
	if (!w->rest->len)
		return v;
	v = find_verb(w->rest->pdata[0]);
	/* the word may be the value of an option that is none: that one is told */
	if (!v && (w->unknown || w->lacks))
		return &verbs[0];
	if (!v) {
		meant = verb_meant(w->rest->pdata[0]);
		mmg_set_error(err, MMG_EXIT_USAGE, "no verb '%s'%s; ./run.sh help lists what there is",
			      (char *)w->rest->pdata[0], meant);
		return NULL;
	}
	g_ptr_array_remove_index(w->rest, 0);
	return v;
}

static bool set_options(struct cli *cli, const struct verb *v, const struct words *w, GError **err)
{
	g_autofree char *meant = w->unknown ? option_meant(v, w->unknown) : NULL;

	if (w->unknown || w->lacks) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s '%s'%s; ./run.sh help %s lists what there is",
			      w->unknown ? "no such option:" : "a value is missing after",
			      w->unknown ?: w->lacks, meant ?: "", v->name);
		return false;
	}
	for (guint i = 0; i < w->given->len; i++) {
		const struct given *g = &g_array_index(w->given, struct given, i);

		if (!(g->row->verbs & v->bit)) {
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "'%s' takes no --%s; ./run.sh help %s lists what it takes", v->name,
				      g->row->name, v->name);
			return false;
		}
		if (!set_option(cli, g->row, g->arg, err))
			return false;
	}
	for (guint i = 0; i < w->rest->len; i++)
		g_ptr_array_add(cli->args, g_strdup(w->rest->pdata[i]));
	return check_values(cli, err);
}

static const struct verb *parse(struct cli *cli, struct words *w, enum cli_help *help, GError **err)
{
	const struct verb *v;
	bool named;

	if (w->version) {
		*help = CLI_VERSION;
		return &verbs[0];
	}
	named = w->rest->len > (w->rest->len && !strcmp(w->rest->pdata[0], "help"));
	v = choose_verb(w, err);
	if (!v)
		return NULL;
	cli->verb = v->name;
	if (w->help) {
		/* no verb was named: all of them */
		*help = named ? CLI_HELP_VERB : CLI_HELP_ALL;
		return v;
	}
	if (!set_options(cli, v, w, err))
		return NULL;
	if (!*v->args && cli->args->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "'%s' takes no word '%s'; ./run.sh help %s lists what it takes",
			      v->name, (char *)cli->args->pdata[0], v->name);
		return NULL;
	}
	return v;
}

verb_fn *cli_parse(struct cli *cli, int argc, char **argv, enum cli_help *help, GError **err)
{
	struct words w = { .given = g_array_new(FALSE, FALSE, sizeof(struct given)),
			   .rest = g_ptr_array_new() };
	const struct verb *v;

	*help = CLI_HELP_NONE;
	g_ptr_array_add(cli->command, g_strdup("./run.sh"));
	for (int i = 1; i < argc; i++)
		g_ptr_array_add(cli->command, g_strdup(argv[i]));
	take_apart(&w, argc, argv);
	v = parse(cli, &w, help, err);
	g_array_unref(w.given);
	g_ptr_array_unref(w.rest);
	return v ? v->fn : NULL;
}
