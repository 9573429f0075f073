/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who guards which part of the kernel.  Gates and mutants name files and functions
 * that they edit, and the cases that notice: read the other way round, that says
 * which tests a change calls for.
 */
#ifndef MMGATE_GUARDS_H
#define MMGATE_GUARDS_H

#include "base/base.h"

/**
 * struct guard - one place of the kernel that somebody guards
 * @by:		"gate NAME" or "mutant NAME"
 * @gate:	the gate's name, or NULL
 * @file:	path in the kernel tree
 * @function:	or NULL for the whole file
 * @tests:	globs of the cases that notice (char *)
 * @machines:	of a gate; empty where the tests know
 */
struct guard {
	char *by, *gate, *file, *function;
	GPtrArray *tests, *machines;
};

/* All guards of configs/gates and configs/mutants; NULL with *@err where a file is broken */
GPtrArray *guards_load(GError **err);

/**
 * struct chosen_test - a test that a change calls for
 * @glob:	of cases, "GLOB@MACHINE" where a guard names the machine
 * @why:	"walk_pte_range() of mm/vmscan.c: gate ..., 3 mutants"
 * @weight:	how telling: a guard of a touched function counts 10, one of a touched file 1
 * @seconds:	what it takes, as far as is known
 * @kept:	within the budget
 */
struct chosen_test {
	char *glob, *why;
	unsigned int weight;
	double seconds;
	bool kept;
};

/**
 * struct choice - what a change calls for
 * @gates:	names of the gates whose place is touched (char *)
 * @tests:	struct chosen_test *; each next one looks at most of what those before it do not look at
 * @places:	"file: function", each touched place that somebody guards (char *)
 */
struct choice {
	GPtrArray *gates, *tests, *places;
};

/* A touched place; @function: NULL for text outside any function */
struct place {
	const char *file, *function;
};

/*
 * What the @n touched @places call for.  A place outside any function, and one that nobody
 * guards by name, calls for those who guard its file.
 */
struct choice *choice_make(const GPtrArray *guards, const struct place *places, guint n);
/*
 * Mark as kept the first tests that fit into @budget seconds (0: all); @seconds tells what
 * one takes.  The first is always kept.
 */
void choice_bound(struct choice *c, double budget, double (*seconds)(const char *glob, void *data),
		  void *data);
void choice_free(struct choice *c);

#endif /* MMGATE_GUARDS_H */
