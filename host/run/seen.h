/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_SEEN_H
#define MMGATE_SEEN_H

#include "run/run.h"

/**
 * struct seen - what one case did in all runs of one kernel
 * @name:	family/test/case, or boot/splat and boot/between_tests
 * @machine:	where
 * @t:		counts
 * @reason:	of its worst result
 * @metrics:	name -> GArray of double
 */
struct seen {
	char *name, *machine, *reason;
	struct tally t;
	GHashTable *metrics;
};

/* "name@machine" -> struct seen *, for kernel @nr of @run */
GHashTable *seen_collect(json_t *run, int nr);
/* That of one case, made where it is absent; it stays the table's */
struct seen *seen_get(GHashTable *all, const char *name, const char *machine);
/*
 * Make the two speak of the same cases: a test that never came to its cases (a
 * dead VM) stands for each of them, and a boot without trouble passes what the
 * other's boots failed at.
 */
void seen_align(GHashTable *a, json_t *run_a, int nr_a, GHashTable *b, json_t *run_b, int nr_b);
/* Keys of both, sorted; char * borrowed from the tables */
GPtrArray *seen_keys(GHashTable *a, GHashTable *b);
/* True where @glob ("GLOB" or "GLOB@MACHINE") names that case */
bool claim_matches(const char *glob, const char *name, const char *machine);
/* The first boot of kernel @nr that did not end well: its reason, NULL where all did */
const char *bad_boot(json_t *run, int nr);

#endif /* MMGATE_SEEN_H */
