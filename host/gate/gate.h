/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gates: does a series do what it says?  Used by the verbs gate, watch and bench.
 */
#ifndef MMGATE_GATE_H
#define MMGATE_GATE_H

#include "build/build.h"
#include "report/report.h"
#include "run/run.h"
#include "source/source.h"

/**
 * struct gate_options - what is asked of a gate; all of it borrowed
 * @run:	how tests are run; @run.tests and @run.machines go before those of the gate
 * @forms:	reports that were asked for
 * @words:	the gate's name and perhaps a source; empty: tests are chosen by what the series touches
 * @kernels:	two kernels that are built already, base first, or empty
 * @config:	more fragments of configs/kernel
 * @arch:	architecture to build for
 * @tree:	kernel source tree, or NULL
 * @base, @patched, @series: what makes the two sides, each NULL where it was not given
 * @edits:	struct edit *: in place of a series, what makes the difference of the two sides, or NULL
 * @edits_undo:	they are made in base, which then lacks what patched has; else in patched
 * @repeat:	runs of each, 0: by the gate, and where it is automatic as many as the budget allows
 * @budget:	minutes that chosen tests may take, 0: the default
 * @dry_run:	say what would be done
 */
struct gate_options {
	struct run_options run;
	struct report_forms forms;
	const GPtrArray *words, *kernels;
	GPtrArray *config;
	const char *arch, *tree, *base, *patched, *series;
	GPtrArray *edits;
	int repeat, budget;
	bool dry_run, edits_undo;
};

struct gate_metric {
	char *cases, *name;
	bool higher;			/* which way is better */
};

/**
 * struct gate - a file of configs/gates
 * @fixes:	globs of cases that fail on base and pass on patched
 * @keeps:	globs of cases that must not get worse
 * @tests:	globs of what is run
 * @undo:	edits that take the fix out of a tree that has it
 * @repeat:	least number of runs; of an automatic gate, runs of what has changed
 * @automatic:	no file: tests and machines are chosen by what the series touches
 * @budget_s:	of an automatic gate, what its tests may take
 * @steps:	struct step *: of an automatic gate, the states between base and patched
 */
struct gate {
	char *name, *about, *kernels, *arch;
	GPtrArray *fixes, *keeps, *tests, *machines, *metrics, *undo, *steps;
	int repeat;
	bool automatic;
	double budget_s;
};

/* ---- file.c ---- */

/* Gate @name of configs/gates, or a file; NULL with *@err */
struct gate *gate_load(const char *name, GError **err);
/* A gate without a file: nothing may get worse; its tests are chosen once the series is applied */
struct gate *gate_automatic(void);
void gate_free(struct gate *g);

/* ---- sides.c ---- */

/**
 * struct side - base or patched
 * @how:	one line: what was done to get it
 */
struct side {
	GHashTable *overlay;
	char *how;
};

void side_clear(struct side *s);
/*
 * Base and patched, built from source @word (NULL: the tree) or taken from the cache; empty for a
 * dry run.  struct kernel *; NULL with *@err
 */
GPtrArray *gate_kernels_built(const struct gate_options *opt, struct gate *g, const char *word,
			      struct side *base, struct side *patched, GError **err);
/* Base and patched as --kernel names them; NULL with *@err */
GPtrArray *gate_kernels_named(const struct gate_options *opt, struct side *base, struct side *patched,
			      GError **err);
/* Base and patched of gate @name for another verb; NULL with *@err */
GPtrArray *gate_kernels(const struct gate_options *opt, const char *name, GError **err);

/* ---- steps.c ---- */

/**
 * struct step - a state between base and patched: so many patches of the series are applied
 * @title:	of the last of them
 * @error:	why it does not build, or NULL
 * @kernel:	number of the kernel that it is: its own, or one with the same image; -1 where it did not build
 */
struct step {
	GHashTable *overlay;
	char *title, *error;
	int kernel;
};

void step_free(gpointer step);
/* The states of a series with these @titles and @overlays, its last one left out, into @g */
void steps_take(struct gate *g, GPtrArray *titles, GPtrArray *overlays);
/* Build them; those with images of their own are added to @kernels.  False with *@err where it has to end */
bool steps_build(const struct gate_options *opt, struct gate *g, const struct source *src, GPtrArray *kernels,
		 GError **err);
/* What @run says of them, into @out; a verdict @v without fault becomes VERDICT_REGRESSED where one is bad */
enum verdict steps_judge(const struct gate *g, json_t *run, json_t *out, enum verdict v);

/* ---- rounds.c ---- */

/*
 * Run @suite once.  Where cases then differ between base and another kernel, a few of them run again, with seeds of
 * their own, until they have @most runs; where none does, all run again, as long as @budget seconds last.
 * All in one run.json below *@dir, as suite_run() gives it; NULL with *@err.
 */
json_t *rounds_run(const struct suite *suite, int most, double budget, char **dir, GError **err);
/*
 * The first few cases of @run that differ between base and another kernel, as "NAME@MACHINE"; *@boots where a
 * boot as a whole does, by a splat say
 */
GPtrArray *rounds_open(json_t *run, bool *boots);

/* ---- judge.c ---- */

/* Everything that @run says of what @g claims, into @out (run["gate"]); the verdict with it */
enum verdict gate_judge(const struct gate *g, json_t *run, json_t *out);
/* Exit, verdict and reason of @run by what gate_judge() set in @out */
void gate_set_verdict(json_t *run, json_t *out, enum verdict v);

/* ---- gate.c ---- */

/* The gate that @opt asks for, from its files to its results; exit status, with *@err where it has none */
int gate_run(const struct gate_options *opt, GError **err);

#endif /* MMGATE_GATE_H */
