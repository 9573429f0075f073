/* SPDX-License-Identifier: GPL-2.0-only */
/* One aging, checked: with force and without */
#ifndef MMGATE_AGING_STEP_H
#define MMGATE_AGING_STEP_H

#include "group.h"

/* Youngest generation of the group at @path, on its first node; 0 where it is not listed */
u64 aging_max_seq(const char *path);

/*
 * Age the group once and read its generations.  The case fails unless the generation number
 * of its first node went up by exactly one.
 */
void aging_once(struct group *group, bool force);

/*
 * Evict generation max_seq - 3 of each node, however many pages that are; @file: clean page
 * cache is what is meant.  Refused, the case fails.
 */
void aging_evict_oldest(struct group *group, bool file);

/* Without force a walk skips an mm that did not run since the last one: let this one run */
void aging_run_again(void);

/*
 * Age the group without force and read its generations, in the long form.  Up to 6.12 that
 * wants room for a generation (run_aging() in mm/vmscan.c), so the oldest is evicted first.
 */
void aging_unforced(struct group *group, bool file);

#endif /* MMGATE_AGING_STEP_H */
