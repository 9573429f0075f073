/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Global pressure: a helper process outside of the experiment's group takes memory
 * until kswapd has to work.  What it holds is locked, so that only others can be
 * reclaimed.
 */
#ifndef MMGATE_PRESSURE_H
#define MMGATE_PRESSURE_H

#include "scenario.h"
#include "worker.h"

/* Settings that pressure_start() changes, for the list of a struct mmg_test */
#define PRESSURE_MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define PRESSURE_SCALE		"/proc/sys/vm/watermark_scale_factor"
#define PRESSURE_BOOST		"/proc/sys/vm/watermark_boost_factor"
#define PRESSURE_PCP		"/proc/sys/vm/percpu_pagelist_high_fraction"

/**
 * struct pressure - memory held by the helper
 * @w:		the helper
 * @nid:	node that is used up, -1 where there is only one
 * @held:	pages that it holds
 * @limit:	pages that it may hold
 * @kswapd:	the node's kswapd
 * @kswapd_stat: its /proc/PID/stat, open
 */
struct pressure {
	struct worker w;
	int nid;
	size_t held;
	size_t limit;
	pid_t kswapd;
	int kswapd_stat;
};

/*
 * Start the helper; call it before the process enters the experiment's group.
 * Watermarks are put close together, at 2 MiB: kswapd takes about the high
 * watermark at each turn, and that has to be little beside the experiment's memory.
 * Lists of CPUs are kept short: a CPU that only allocates fills its own with up to 2016
 * pages at once (nr_pcp_alloc() in mm/page_alloc.c, from 6.7 on), from above the low mark
 * to below min, where the helper reclaims itself and kswapd was never asked.
 */
void pressure_start(struct pressure *p, int nid);

/*
 * Take what is free above the low watermarks of the node, up to kswapd's waking, and
 * @extra pages more as they are asked for.  Broken where it is refused.
 */
void pressure_fill(struct pressure *p, size_t extra);

/*
 * Take a little more, and let kswapd finish: where that woke it, until it is asleep.
 * Returns false where the limit was reached.
 */
bool pressure_step(struct pressure *p);

/*
 * Free pages of the node that user memory can have before kswapd is woken; 0 after a step,
 * with kswapd asleep, where it did not do its work
 */
size_t pressure_left(const struct pressure *p);

/* Give all back */
void pressure_release(struct pressure *p);

#endif /* MMGATE_PRESSURE_H */
