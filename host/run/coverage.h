/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests reach of the guarded functions: gcov's counts of all boots, added up.
 */
#ifndef MMGATE_COVERAGE_H
#define MMGATE_COVERAGE_H

#include "build/build.h"
#include "source/guarded.h"

/* How a guarded function stands with the kernel that was counted */
enum coverage_state {
	COVERAGE_COUNTED,
	COVERAGE_NOT_BUILT,		/* the source defines it, and this configuration has no code of it */
	COVERAGE_NOT_DEFINED,		/* the source has no such function in this file */
};

/**
 * struct coverage_line - a line that has code
 * @nr:		from 1
 * @count:	how often it ran, summed over all copies that the compiler inlined
 * @branches:	guint64 each: how often each way out of the line was taken; of several inlined copies
 *		those that have the most ways count, the others have lost some to constants
 * @assertion:	the line only checks (WARN_ON() and its like): its branches are not to be reached
 * @code:	gcc made code of it
 * @text:	the source line, without the white space around it
 * @reason:	why branches of it are not reached, from configs/unreached.conf, or NULL
 */
struct coverage_line {
	unsigned int nr;
	guint64 count;
	GArray *branches;
	bool assertion, code;
	char *text, *reason;
};

/**
 * struct coverage_function - a guarded function
 * @lines:	struct coverage_line *, in order
 */
struct coverage_function {
	char *file, *name;
	enum coverage_state state;
	GPtrArray *lines;
};

/**
 * struct coverage - the counts of one kernel
 * @sha256:	of its image: counts of another one are not added
 * @functions:	struct coverage_function *, in the order of configs/guarded.conf
 * @boots:	whose counts are in it
 * @lost:	boots that ended without sending theirs
 * @stale:	names of entries of configs/unreached.conf that fit no line, or a line that is reached
 */
struct coverage {
	char *source, *version, *arch, *sha256;
	GPtrArray *functions;
	unsigned int boots, lost;
	GPtrArray *stale;
};

/* Sums over one function or all: assertions are counted apart */
struct coverage_sum {
	unsigned int lines, lines_reached, branches, branches_reached, assertions;
};

/* In what folder of a boot's artifacts its counts are, and the plan's lines for it: "NAME PATH" */
#define COVERAGE_FOLDER	"gcov"
GPtrArray *coverage_kept(const GPtrArray *files, const char *objects);
/* The notes of gcc (.gcno) that kernel_build() is to keep, as paths in the object folder */
GPtrArray *coverage_notes(const GPtrArray *files);

/*
 * Nothing counted yet: every line of @guarded that @b has code for, with 0.  NULL with *@err
 */
struct coverage *coverage_new(const struct source *src, const char *arch, const struct build_result *b,
			      const GPtrArray *guarded, GError **err);
/* Add the counts that a boot left in the folder @artifacts; false with *@err where gcov cannot read them */
bool coverage_add_boot(struct coverage *c, const struct build_result *b, const char *artifacts, GError **err);
/* Add the counts of coverage.json @path, of the same image; false with *@err */
bool coverage_add_file(struct coverage *c, const char *path, GError **err);
/* Add gcov's JSON @text, of which lines of guarded functions count; false with *@err */
bool coverage_add_gcov(struct coverage *c, const char *text, gsize len, GError **err);
/* Fill in the reasons of @path (NULL: configs/unreached.conf); false with *@err */
bool coverage_reasons(struct coverage *c, const char *path, GError **err);
void coverage_free(struct coverage *c);

struct coverage_sum coverage_sum(const struct coverage *c, const struct coverage_function *f);
unsigned int coverage_missed(const struct coverage_line *l);
const char *coverage_state_name(enum coverage_state s);
json_t *coverage_json(const struct coverage *c);
/* The same as it was written; NULL with *@err.  coverage_free() it */
struct coverage *coverage_load(const char *path, GError **err);

/* Of nothing yet, and without names: for coverage_new() and tests */
struct coverage *coverage_empty(void);
/* For tests: the function @name of @text, lines first to last, with nothing counted */
struct coverage_function *coverage_function_new(const char *file, const char *name, const char *text);

#endif /* MMGATE_COVERAGE_H */
