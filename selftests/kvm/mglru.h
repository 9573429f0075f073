/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's settings that an experiment on MGLRU depends on */
#ifndef MMGATE_MGLRU_H
#define MMGATE_MGLRU_H

#include <stdbool.h>

#include "compiler.h"

/* Settings that each ordering experiment declares in its struct mmg_test */
extern const char *const mglru_settings[];

/*
 * What every experiment needs: cgroup2 with memory.reclaim, MGLRU, its debugfs
 * file, @swap bytes of swap.  Then bring the settings of mglru_settings to where the
 * experiment is armed: MGLRU on with walks (skip where the CPU has no accessed
 * bit), no NUMA balancing, KSM, khugepaged or swap readahead, min_ttl 0.
 */
void mglru_require(u64 swap);

/*
 * What the kernel promises of touches on this machine: that ageing sees them (it walks page
 * tables), or that only reclaim does, page by page.  mglru_require_any() probes it: where there
 * are no walks lru_gen/enabled takes no 0x2 (mm/vmscan.c, lru_gen_enabled_store() and
 * enabled_show()).
 */
enum mglru_promise { PROMISE_WALK, PROMISE_EVICTION };

/* mglru_require() for experiments that can be made under either promise */
void mglru_require_any(u64 swap);
enum mglru_promise mglru_promise(void);
/* "walk" or "eviction only" */
const char *mglru_promise_name(void);

/* Turn the page-table walk of MGLRU on or off (lru_gen/enabled 0x2) */
void mglru_set_walk(bool on);

#endif /* MMGATE_MGLRU_H */
