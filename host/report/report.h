/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the reports share: run.json seen as a matrix, and text made harmless.
 */
#ifndef MMGATE_REPORT_H
#define MMGATE_REPORT_H

#include "mmg.h"

/**
 * struct rep_cell - a case on one machine and one kernel, over all repeats
 * @cases:	its objects of run["cases"], borrowed
 * @pass:	how many passed; and so on
 * @allowed:	of the failed and broken ones, how many a known issue allows
 * @auc:	AUC measured, least and greatest over the repeats; has_auc where any
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
 * @boot:	its object of run["boots"], or NULL where there was none
 * @name:	"default", or "default.2" for the third repeat; g_free() it
 * @cases:	objects of run["cases"], borrowed
 */
struct rep_group {
	size_t kernel;
	json_t *boot;
	char *name;
	GPtrArray *cases;
};

/**
 * struct rep_verdict - a line of the run's own: a required test, a case of a
 * gate, a mutant
 * @word:	"pass", "fail", "broken" or "skip"
 */
struct rep_verdict {
	char *name;
	const char *word;
	char *reason;
};

/**
 * struct rep - run.json, checked and counted; strings are borrowed from it
 * @rows:	struct rep_row *, in the order in which they ran
 */
struct rep {
	json_t *run;
	const char *dir;
	json_t *kernels, *boots, *cases;
	size_t nr_kernels;
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

/* Members of an object: "" or 0 where absent or of another type */
const char *rep_str(const json_t *o, const char *key);
double rep_num(const json_t *o, const char *key);
json_int_t rep_int(const json_t *o, const char *key);
bool rep_bool(const json_t *o, const char *key);
/* The run's reason, without the verdict in front of it */
const char *rep_reason(const json_t *run);
/* Label of kernel number @i */
const char *rep_label(const struct rep *r, size_t i);
/* "fail", "broken", "pass", "skip", or "none" where it did not run, the worst first */
const char *rep_cell_word(const struct rep_cell *c);
/* Text of a cell: "pass 1.00", "FAIL 3/20 0.50"; g_free() it */
char *rep_cell_text(const struct rep_cell *c);
/* The case that shows best what is wrong (or right) in a cell, or NULL */
json_t *rep_cell_case(const struct rep_cell *c);
/* What it means for a user that case @c failed, or NULL where it did not */
const char *rep_meaning(const struct rep *r, const json_t *c);
/*
 * The result of a boot as such, which machine-readable reports show as a case
 * named "boot": "pass" where it went to its end without a splat that counts,
 * "fail" where the kernel died or splatted, "broken" where it never came up or
 * was lost.  @reason: one line, g_free() it.
 */
const char *rep_boot_result(const json_t *boot, char **reason);
/*
 * How CI forms show a result so that they are red where the run is, and only
 * there: what a known issue allows, and what a gate or a hunt for mutants
 * judges by comparison, is a skip that says so.  @reason: g_free() it.
 */
const char *rep_shown(const struct rep *r, const json_t *c, char **reason);
const char *rep_boot_shown(const struct rep *r, const json_t *boot, char **reason);
/* Name of a case within its test, and of its test; g_free() them */
char *rep_test_name(const json_t *c);
const char *rep_case_name(const json_t *c);
/* Write @text as file @name of the results folder; false with *@err */
bool rep_write(const struct rep *r, const char *name, const GString *text, GError **err);
/* A regular file below the results folder, at most @max bytes (its tail where @tail);
 * NULL where there is none or the path leaves the folder.  g_free() it.
 */
char *rep_file(const struct rep *r, const char *path, gsize max, bool tail, gsize *len);

/* ---- text.c ---- */

/* Columns that @s takes on a terminal */
int text_width(const char *s);
/* Append @s and pad it with blanks to @width columns */
void text_pad(GString *out, const char *s, int width);
/* Append @s broken into lines of @width columns, each after @indent blanks; no line break at the end */
void text_wrap(GString *out, const char *s, int indent, int width);
/* Only printable ASCII, others as '?'; g_free() it */
char *text_ascii(const char *s);
/* Append @s with the characters that mean something in HTML and XML replaced, control characters too */
void text_escape(GString *out, const char *s);
/* "1.2 s", "3 min 20 s"; g_free() it */
char *text_seconds(double s);

#endif /* MMGATE_REPORT_H */
