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

/* Turn the page-table walk of MGLRU on or off (lru_gen/enabled 0x2) */
void mglru_set_walk(bool on);

#endif /* MMGATE_MGLRU_H */
