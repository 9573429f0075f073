/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic and the memory of a bisection.
 */
#ifndef MMGATE_BISECTION_H
#define MMGATE_BISECTION_H

#include "base/base.h"

/* What is known of a commit; the words are in bisect_word() */
enum bisect_answer { BISECT_UNKNOWN, BISECT_GOOD, BISECT_BAD, BISECT_SKIP };

const char *bisect_word(enum bisect_answer a);

/**
 * struct bisect_step - one commit that was judged
 * @commit:	full id
 * @sha256:	of its image; NULL where it was not built
 * @reason:	one line
 * @recalled:	the image had been judged before: nothing was booted
 * @runs:	how often the test ran
 * @fails:	how often it failed
 * @seconds:	what building and testing took
 */
struct bisect_step {
	char *commit, *sha256, *reason;
	enum bisect_answer answer;
	bool recalled;
	unsigned int runs, fails;
	double seconds;
};

void bisect_step_free(gpointer step);

/*
 * How often a test that fails in @rate of its runs (0 to 1) has to pass before a commit is good,
 * if a fault may be missed with a probability of at most @alpha.  At least 1.
 */
unsigned int bisect_runs(double rate, double alpha);
/*
 * The chance that no good answer of @steps (struct bisect_step *) missed a fault that shows in
 * @rate of the runs: the product over them of 1 - (1 - rate)^runs
 */
double bisect_confidence(const GPtrArray *steps, double rate);
/* The share of runs in which the fault shows at least (95 %, one-sided): exact, for @fails of @runs */
double bisect_least_rate(unsigned int fails, unsigned int runs);

/* The steps kept in @path, empty where there is no such file; NULL with *@err where it is not one of ours */
GPtrArray *bisect_load(const char *path, GError **err);
/* Keep @steps in @path, whole or not at all */
bool bisect_save(const char *path, const GPtrArray *steps, GError **err);

/*
 * The next of @commits (best first) to judge: the first that @steps say nothing of, or NULL.
 * Neighbours of a commit that cannot be judged often cannot either, so each skip moves the
 * choice further away.
 */
const char *bisect_next(const GPtrArray *commits, const GPtrArray *steps);

#endif /* MMGATE_BISECTION_H */
