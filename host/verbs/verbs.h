/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line and the verbs.
 */
#ifndef MMGATE_VERBS_H
#define MMGATE_VERBS_H

#include "gate/gate.h"
#include "report/report.h"
#include "run/fleet.h"

/**
 * struct cli - the command line, options shared by all verbs
 *
 * Lists are GPtrArray of char *, empty rather than NULL; strings are NULL
 * where the option was not given.
 */
struct cli {
	const char *verb;
	GPtrArray *args;		/* words that are no options, after the verb */
	GPtrArray *command;		/* the whole command line as typed */

	GPtrArray *kernels;		/* --kernel */
	char *modules;			/* --modules */
	char *ksrc;			/* --ksrc */
	char *arch;			/* --arch */
	GPtrArray *machines;		/* --machine */
	GPtrArray *tests;		/* --test */
	GPtrArray *require;		/* --require */
	char *accel;			/* --accel: auto, kvm, tcg */
	int repeat;			/* --repeat, 1 by default */
	int jobs;			/* --jobs, 0: as many as fit */
	int timeout;			/* --timeout, 0: by the plan */
	char *out;			/* --out */
	uint64_t seed;			/* --seed, 0: the default */
	uint64_t shuffle;		/* --shuffle, 0: tests and cases in their own order */
	int count;			/* --count of fuzz and mutants, 0: the default */
	bool generate;			/* mutants --generate */
	char *function, *coverage;	/* of it */
	bool json, junit, tap, html, kcidb, gitlab, github, patchwork;
	bool strict;			/* what does not fit is an error: mutants, drift */
	bool dump;			/* --dump: memory of a guest that hangs or panics */
	bool gdb, halt;			/* shell */
	bool offline, dry_run, yes, quiet, no_history, destructive;
	int verbose;

	char *tree;			/* --tree: gate, build, bisect, export */
	char *base, *patched, *series;	/* gate */
	GPtrArray *good;		/* --good: bisect */
	char *bad;			/* --bad: bisect */
	int confidence, rate;		/* bisect, in percent; 0: the default */
	char *metric;			/* trend */
	bool once;			/* watch: what is there now, then end */
	char *tester;			/* --from: who answers, "Name <address>" */
	int budget;			/* --budget: gate without a name, minutes; 0: no bound */
	GPtrArray *config;		/* --config FRAGMENT: build */
	bool flaky;			/* history --flaky */
	char *shard;			/* --shard I/N: matrix */
	bool empty_cache;		/* doctor --empty-cache */
	bool slurm, resume;		/* --slurm, --resume */
	GPtrArray *services;		/* jobs --for */
	bool lava;			/* job --lava */
	GPtrArray *on;			/* --on ssh://HOST */
	struct fleet fleet;		/* what these say */
};

/* Verbs; each returns the exit status and has set *@err when it is not 0 and
 * no run.json carries the reason.
 */
int verb_run(struct cli *cli, GError **err);
int verb_gate(struct cli *cli, GError **err);
int verb_mutants(struct cli *cli, GError **err);
int verb_bench(struct cli *cli, GError **err);
int verb_coverage(struct cli *cli, GError **err);
int verb_bisect(struct cli *cli, GError **err);
int verb_watch(struct cli *cli, GError **err);
int verb_trend(struct cli *cli, GError **err);
int verb_replay(struct cli *cli, GError **err);
/* bisect_whole.c: the whole bisection on @src, where --good and --bad are given */
int bisect_whole(struct cli *cli, struct source *src, GError **err);
int verb_report(struct cli *cli, GError **err);
int verb_shell(struct cli *cli, GError **err);
int verb_list(struct cli *cli, GError **err);
int verb_doctor(struct cli *cli, GError **err);
int verb_build(struct cli *cli, GError **err);
int verb_fuzz(struct cli *cli, GError **err);
int verb_history(struct cli *cli, GError **err);
int verb_export(struct cli *cli, GError **err);
int verb_restore(struct cli *cli, GError **err);
int verb_matrix(struct cli *cli, GError **err);
int verb_merge(struct cli *cli, GError **err);
int verb_drift(struct cli *cli, GError **err);
int verb_jobs(struct cli *cli, GError **err);
int verb_job(struct cli *cli, GError **err);

struct cli *cli_new(void);
/* What @cli says, as the rooms below take it; borrowed from @cli */
struct kernel_options cli_kernel(const struct cli *cli);
struct run_options cli_run(const struct cli *cli);
struct report_forms cli_forms(const struct cli *cli);
struct gate_options cli_gate(const struct cli *cli);
/* kernels_resolve() and reports_make() by what @cli says */
GPtrArray *cli_kernels(const struct cli *cli, GError **err);
int cli_reports(const struct cli *cli, json_t *run, const char *dir, GError **err);
/* The architecture asked for, or the host's, as a static string */
const char *cli_arch(const struct cli *cli);
void cli_free(struct cli *cli);
/* A verb: exit status, with *@err where that is to be explained */
typedef int verb_fn(struct cli *cli, GError **err);
/* What was asked for in place of doing something: nothing, cli_usage() of all or of the verb, the version */
enum cli_help { CLI_HELP_NONE, CLI_HELP_ALL, CLI_HELP_VERB, CLI_VERSION };
/*
 * Parse argv into @cli and return the verb's function, or NULL with *@err
 * (usage).  The first word is the verb; options stand on either side of it.
 */
verb_fn *cli_parse(struct cli *cli, int argc, char **argv, enum cli_help *help, GError **err);
/* Help for @verb, or for all where NULL; g_free() it */
char *cli_usage(const char *verb);

#endif /* MMGATE_VERBS_H */
