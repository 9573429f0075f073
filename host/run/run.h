/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests run on kernels, and what came of it: run.json, its verdict, statistics, history.
 */
#ifndef MMGATE_RUN_H
#define MMGATE_RUN_H

#include "base/words.h"
#include "build/build.h"
#include "plan/plan.h"
#include "vm/vm.h"
#include <stdio.h>

struct fleet;
struct job;

/* ---- suite.c: run tests on kernels, the heart of run, gate, mutants and bisect ---- */

#define DEFAULT_KERNEL "debian:6.12"	/* where no --kernel is given */
#define MAX_REPEAT	10000	/* of --repeat and of repeat= */

/**
 * struct run_options - how tests are run, as results record it
 * @command:	the command line as typed
 * @require:	globs of tests that must have run
 * @tests, @machines: what was asked for
 * @accel:	"auto", "kvm", "tcg", or NULL
 * @out:	results folder to make, or NULL
 * @seed:	0: the default
 * @shuffle:	seed of the order of tests, 0: as planned
 * @repeat:	1 at least
 * @jobs:	VMs at once, 0: as many as fit
 * @timeout:	seconds of one VM, 0: by the plan
 * @verbose:	of the command line
 * @dump:	the guest's memory where a kernel hangs or panics
 * @destructive: also tests that a production host would feel
 * @fleet:	where the VMs run, or NULL: here
 */
struct run_options {
	const GPtrArray *command, *require, *tests, *machines;
	const char *accel, *out;
	uint64_t seed, shuffle;
	int repeat, jobs, timeout, verbose;
	bool destructive, dump;
	const struct fleet *fleet;
	struct kernel_options kernel;
};

/**
 * struct suite - what to run
 * @kernels:	struct kernel *
 * @tests:	globs, empty for all that fit
 * @machines:	names, empty for those the tests ask for
 * @plan:	what plan_make() gave, in place of @tests and @machines, or NULL
 * @repeat:	runs; kernels alternate within each
 * @one_seed:	the same seed in every run; else each draws from the one after
 * @quiet:	no text on stdout
 * @job:	the folder that all was taken from, in place of a kernel's source and built tests, or NULL;
 *		@kernels, @plan, @repeat and @one_seed are its own
 * @on_case:	called with each case result object as it comes, or NULL; return
 *		false to end the boot there (mutants: killed already)
 */
struct suite {
	struct run_options opt;
	GPtrArray *kernels;
	GPtrArray *tests;
	GPtrArray *machines;
	GPtrArray *plan;
	int repeat;
	bool one_seed;
	const char *verb;
	const char *out;		/* results folder, made already, or NULL: made by the rules */
	const struct job *job;
	bool (*on_case)(json_t *result, void *data);
	void *data;
};

/*
 * Run it.  Returns run.json (json_decref() it), also written to its folder
 * (*@dir, g_free() it), with verdict, exit and reason filled in; NULL with *@err
 * where not even that could be had.
 */
json_t *suite_run(const struct suite *s, char **dir, GError **err);

/* ---- kernels.c ---- */

/*
 * The kernels that @specs name (the default one where empty), of each architecture that this host can
 * boot where @how says "all", labels made unique: struct kernel *.  NULL with *@err.
 */
GPtrArray *kernels_resolve(const struct kernel_options *how, const GPtrArray *specs, GError **err);

/* Make the label of each struct kernel * of @kernels its own, by "#2", "#3": two columns with one heading would be read as one */
void kernels_unique_labels(GPtrArray *kernels);

/* ---- results.c ---- */

/* Make the results folder (@out, or results/<date>-<n>) and point latest at it; g_free() it */
char *results_make_dir(const char *out, GError **err);
/* The same for a run by @opt: with --resume the folder may be there */
char *results_dir_of(const struct run_options *opt, GError **err);
/* Judge the cases, boots, splats and requires in @run: sets verdict, exit and reason; returns the exit status */
int results_judge(json_t *run);
/* Write @run to @dir/run.json */
bool results_save(json_t *run, const char *dir, GError **err);

/* A run.json to be filled: tool, host, command, kernels and empty lists */
json_t *run_new(const struct run_options *opt, const char *verb, const GPtrArray *kernels);
/* Which accelerator its VMs used (the first one's word) */
void run_set_accel(json_t *run, const struct accel *a);
/* A kernel as run.json has it */
json_t *run_kernel_json(const struct kernel *k);
/* Add a case result that no VM gave */
void run_add_case(json_t *run, const char *name, int kernel, int boot, const char *machine,
		  int repeat, enum result result, const char *reason);

/*
 * Run the tests of @plan on the host itself as kernel @nr of @run, results below @dir.
 * False with *@err where that was not possible.
 */
bool host_run(json_t *run, const struct run_options *opt, int nr, const GPtrArray *plan, const char *built,
	      const char *dir, int repeat, GError **err);

/* ---- splat.c, known.c, history.c ---- */
/*
 * Find splats in a console: array as in boots[].splats.  Lines of the form
 * "mmgate: start TEST" written to the kernel log by PID 1 tie them to tests.
 */
json_t *splat_scan(const char *console, gsize len);
/* Add to @splats what the kernel's taint tells and its console did not */
void taint_splats(json_t *splats, const json_t *taints);
/* Set "allowed" in @splats that come of what one of @tests (struct planned *) does */
void provoked_splats(json_t *splats, const GPtrArray *tests);
/* Set "allowed" in splats and results where an entry of configs/known-issues fits; notes go to run["known_issues"] */
bool known_apply(json_t *run, GError **err);
/* Put the run into the history database; false with *@err (a warning for the caller, no failure) */
bool history_add(json_t *run, GError **err);
/*
 * The history database, made or brought up to date; for reading alone where @reads: then none is
 * made, and one that cannot be written to is read as it is.  sqlite3_close() it; NULL with *@err
 */
struct sqlite3 *history_open(bool reads, GError **err);
/*
 * What one run of all cases of @glob on one machine takes in seconds, the median of the last runs
 * that are kept (a debug kernel or a busy day says little of others); negative where none is
 */
double history_seconds(const char *glob);

/**
 * struct history_record - a case on a machine and a kernel, over all runs
 * @kernel:	SHA-256 of its image, or its release
 * @flips:	how often it changed its mind
 * @last:	of the results that count: 'p' or 'f'
 * @seconds:	double, of each that ran
 * @trail:	a letter each, oldest first: . pass, F fail, B broken, s skip
 */
struct history_record {
	char *name, *machine, *kernel, *label;
	int pass, fail, broken, skip, flips;
	char last;
	GArray *seconds;
	GString *trail;
};

/*
 * The record of the cases that @tests (globs) name on @kernels (a label, or the start of an image's
 * SHA-256), each empty for all: struct history_record *.  NULL with *@err.
 */
GPtrArray *history_read(const GPtrArray *tests, const GPtrArray *kernels, GError **err);
void history_record_free(void *record);

/* ---- verdict.c: numbers and words ---- */

/* Exact (Clopper-Pearson) two-sided bounds of a rate: @k of @n, confidence 1 - @alpha */
void clopper_pearson(unsigned int k, unsigned int n, double alpha, double *low, double *high);
/*
 * Mann-Whitney rank test of two samples, ties counted: two-sided p; exact
 * where there are few values, else by the normal approximation.  *@effect gets the chance that a
 * value of @b is larger than one of @a (ties half), may be NULL.
 */
double rank_test(const double *a, unsigned int na, const double *b, unsigned int nb,
		 double *effect);

/* What a case did in all runs of one kernel */
struct tally {
	unsigned int pass, fail, skip, broken;
};

/* Count @result; what is none of the four is a broken experiment */
void tally_add(struct tally *t, enum result result);

/* How a case went from base to patched */
enum change change_of(const struct tally *base, const struct tally *patched);

int verdict_exit(enum verdict v);

/**
 * struct judged - one case of a gate, judged
 * @name:	family/test/case@machine
 * @claim:	what the gate asks of it
 */
struct judged {
	const char *name;
	enum claim claim;
	struct tally base, patched;
	enum change change;
};

/*
 * The verdict on all cases; @why gets one line, g_free() it.  @more gets how many
 * more runs an inconclusive one needs (0: more runs will not help).
 */
enum verdict verdict_of(const struct judged *cases, unsigned int n, char **why, unsigned int *more);

/* ---- judged.c: what was found out before ---- */

struct judged_keys;

/*
 * Names for what is known of mutants: each holds all that an answer depends on,
 * the images, the programs that run in the VM (those of @good's selftests), the machines'
 * files, seed and accelerator.  NULL with *@err.
 */
struct judged_keys *judged_keys_new(const struct run_options *opt, const struct kernel *good, GError **err);
void judged_keys_free(struct judged_keys *keys);
/*
 * The name of "@tests on @machines, on the image @sha256"; @how: more words that count.
 * NULL where it cannot be had (no such test, say); g_free() it.
 */
char *judged_key(const struct judged_keys *keys, const char *sha256, const GPtrArray *tests,
		 const GPtrArray *machines, const char *how);
/* The same for one boot of a plan; NULL where a file of the machine is missing */
char *judged_boot_key(const struct judged_keys *keys, const char *sha256, const struct boot_plan *bp,
		      const char *how);
/* What was kept under @key in the cache (mutants/judged), NULL where nothing was */
json_t *judged_load(const char *key);
/* Keep @what under @key, with the time as "judged"; trouble is only said */
void judged_save(const char *key, json_t *what);

/* ---- bench_stat.c ---- */

/* Median of @n values, which are left as they are; NaN where there are none */
double bench_median(const double *v, guint n);

/**
 * struct bench_ratio - median of one sample over that of another
 * @value:	the ratio; NaN where the divisor is 0 or a sample is empty
 * @lo, @hi:	95 % bounds of it by bootstrap (both samples drawn anew with
 *		replacement, 2000 times, from a fixed seed: the same values give the same bounds)
 */
struct bench_ratio {
	double value, lo, hi;
};

struct bench_ratio bench_ratio(const double *num, guint nn, const double *den, guint nd);

/*
 * Values of @metric in the cases of @run named @name, in the order of the
 * runs, for kernel @kernel (-1: any).  Only cases that passed.  g_array_unref() it.
 */
GArray *bench_values(const json_t *run, const char *name, int kernel, const char *metric);

#endif /* MMGATE_RUN_H */
