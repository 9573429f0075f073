/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_SPLAT_H
#define MMGATE_SPLAT_H

#include "run/run.h"

enum {
	/* may stand anywhere in a line: no other text says it */
	SPLAT_ANYWHERE = 1,
	/* one more line of a report of a fault that has only begun */
	SPLAT_OF_FAULT = 2,
	/* what the kernel ends with after a splat */
	SPLAT_END = 4,
	/* complete in one line */
	SPLAT_SINGLE = 8,
	/* counts only where a kernel's line is told apart by its time stamp */
	SPLAT_STAMPED = 16,
	/* counts only where a kernel has spoken before */
	SPLAT_NOT_FIRST = 32,
	/* the words of a WARN() or BUG(), which the line that names its place follows or precedes */
	SPLAT_MESSAGE = 64,
};

/**
 * struct splat_kind - a form of line that opens a splat
 * @key:	text that each such line holds; looked for first, since it is cheap
 * @regex:	on the line without its stamps
 * @kind:	what it is called
 * @sample:	a line of this form, which is the row's own test
 * @flags:	SPLAT_*
 */
struct splat_kind {
	const char *key, *regex, *kind, *sample;
	unsigned int flags;
};

extern const struct splat_kind splat_kinds[];
extern const size_t splat_nr_kinds;

/**
 * struct splat_innocent - a form of line that only looks like one
 * @key:	text that each such line holds
 * @regex:	on the line without its stamps
 * @sample:	a line of this form
 * @trace:	a trace that follows was asked for, or belongs to no fault
 */
struct splat_innocent {
	const char *key, *regex, *sample;
	bool trace;
};

extern const struct splat_innocent splat_innocents[];
extern const size_t splat_nr_innocents;

/* True for a function that only reports: the one that matters is its caller */
bool splat_reporter(const char *function);

/* What a reporter is about ("refcount"), the same in all kernels, or NULL where that is not told */
const char *splat_family(const char *reporter);

/* True for a function that every system call, thread or work goes through: it says nothing of a bug */
bool splat_ending(const char *function);

#endif /* MMGATE_SPLAT_H */
