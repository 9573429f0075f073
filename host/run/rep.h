/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.json read back: checked, laid out and counted, for reports and the history.
 */
#ifndef MMGATE_REP_H
#define MMGATE_REP_H

#include "base/words.h"

/* A kernel of the run; strings are "" where run.json has none */
struct rep_kernel {
	const char *label, *spec, *release, *arch, *sha256, *ksrc, *role;
	const json_t *packages;
};

/**
 * struct rep_splat - a complaint of a kernel on its console
 * @test:	during which it came, "" where outside any
 * @allowed:	the known issue that allows it, or ""
 */
struct rep_splat {
	const char *kind, *title, *text, *fingerprint, *test, *allowed;
	json_int_t count;
};

/**
 * struct rep_boot - one VM, or the host
 * @nr:		its place in run["boots"]
 * @kernel:	number of its kernel
 * @word:	of @state, as run.json has it
 * @dir:	of its console and artifacts, below the results folder
 * @splats:	struct rep_splat, in order
 */
struct rep_boot {
	size_t nr, kernel;
	const char *machine, *dir, *word, *reason, *started, *append, *initramfs_sha256;
	enum vm_state state;
	bool complete;
	json_int_t repeat;
	double hello_s, duration_s;
	GArray *splats;
	const json_t *artifacts, *qemu;
};

/**
 * struct rep_case - one result
 * @allowed:	the known issue that allows it, or ""
 * @boot:	in which it ran, or NULL
 * @auc:	where @has_auc
 */
struct rep_case {
	const char *name, *machine, *reason, *allowed;
	enum result result;
	size_t kernel;
	const struct rep_boot *boot;
	json_int_t repeat;
	double duration_s, auc;
	bool has_auc;
	json_t *metrics;
	const json_t *diag;
};

/**
 * struct rep_cell - a case on one machine and one kernel, over all repeats
 * @cases:	const struct rep_case *
 * @pass:	how many passed; and so on
 * @allowed:	of the failed and broken ones, how many a known issue allows
 * @auc_min, @auc_max: over the repeats; where @has_auc
 */
struct rep_cell {
	GPtrArray *cases;
	int pass, fail, skip, broken, allowed;
	bool has_auc;
	double auc_min, auc_max;
};

/* A line of the matrix; @cells has one for each kernel */
struct rep_row {
	const char *name, *machine;
	char *test;			/* family/test */
	struct rep_cell *cells;
};

/**
 * struct rep_group - what one boot of a kernel yielded
 * @kernel:	its number
 * @boot:	or NULL where there was none
 * @name:	"default", or "default.2" for the third repeat; g_free() it
 * @cases:	const struct rep_case *
 */
struct rep_group {
	size_t kernel;
	const struct rep_boot *boot;
	char *name;
	GPtrArray *cases;
};

/* A line of the run's own: a required test, a case of a gate, a mutant */
struct rep_verdict {
	char *name;
	enum result result;
	char *reason;
};

/**
 * struct rep - run.json, checked and counted; strings are borrowed from it
 * @kernels:	@nr_kernels of them
 * @boots:	struct rep_boot *, in order
 * @cases:	struct rep_case *, in order
 * @rows:	struct rep_row *, in the order in which they ran
 */
struct rep {
	json_t *run;
	const char *dir;
	struct rep_kernel *kernels;
	size_t nr_kernels;
	GPtrArray *boots, *cases;
	GPtrArray *rows;
	GPtrArray *groups;		/* struct rep_group *, by kernel, then in order */
	GPtrArray *verdicts;		/* struct rep_verdict * */
	bool compared;			/* results are judged against each other, not one by one */
	GHashTable *index;
	int pass, fail, skip, broken, splats, splats_allowed;
};

/* Read run.json of @dir; NULL with *@err */
json_t *rep_load(const char *dir, GError **err);
/* Check @run and lay it out; NULL with *@err naming what is wrong in it */
struct rep *rep_new(json_t *run, const char *dir, GError **err);
void rep_free(struct rep *r);

/* The run's reason, without the verdict in front of it */
const char *rep_reason(const json_t *run);
/* Label of kernel number @i */
const char *rep_label(const struct rep *r, size_t i);
/* Splat @i of @boot, NULL after the last */
const struct rep_splat *rep_splat(const struct rep_boot *boot, guint i);
/* What a cell came to, the worst of its repeats: fail, broken, pass, skip; RESULT_NONE where none ran */
enum result rep_cell_result(const struct rep_cell *c);
/* Text of a cell: "pass 1.00", "FAIL 3/20 0.50"; g_free() it */
char *rep_cell_text(const struct rep_cell *c);
/* The case that shows best what is wrong (or right) in a cell, or NULL */
const struct rep_case *rep_cell_case(const struct rep_cell *c);
/* What it means for a user that case @c failed, or NULL where it did not */
const char *rep_meaning(const struct rep_case *c);
/*
 * The result of a boot as such, which machine-readable reports show as a case
 * named "boot": pass where it went to its end without a splat that counts, fail
 * where the kernel died or splatted, broken where it never came up or was lost.
 * @reason: one line, g_free() it.
 */
enum result rep_boot_result(const struct rep_boot *boot, char **reason);
/*
 * How CI forms show a result so that they are red where the run is, and only
 * there: what a known issue allows, and what a gate or a run of mutants
 * judges by comparison, is a skip that says so.  @reason: g_free() it.
 */
enum result rep_shown(const struct rep *r, const struct rep_case *c, char **reason);
enum result rep_boot_shown(const struct rep *r, const struct rep_boot *boot, char **reason);
/* Name of a case within its test, and of its test (g_free() that) */
const char *rep_case_name(const struct rep_case *c);
char *rep_test_name(const struct rep_case *c);
/* Write @text as file @name of the results folder; false with *@err */
bool rep_write(const struct rep *r, const char *name, const GString *text, GError **err);
/*
 * A regular file below the results folder, at most @max bytes (its tail where @tail);
 * NULL where there is none or the path leaves the folder.  g_free() it.
 */
char *rep_file(const struct rep *r, const char *path, gsize max, bool tail, gsize *len);

#endif /* MMGATE_REP_H */
