/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of the units of a region, in the order in which they are to be touched */
#ifndef MMGATE_UNIT_LIST_H
#define MMGATE_UNIT_LIST_H

#include <stddef.h>

#include "compiler.h"

#define ORDER_K_MAX	16

/* Lists: all units in order, shuffled by @seed where that is not 0 */
u32 *list_all(size_t n, u64 seed);
/* Those units i of n with @label[i] == @which; *count of them */
u32 *list_where(const u8 *label, size_t n, u8 which, size_t *count);
/*
 * Labels 0..@k-1 at random, but equally many of each in every run of @k
 * consecutive entries of @order: labels are independent of the order of faults,
 * and a kernel that evicts by that order comes out at 0.5 even for few units.
 */
void label_stratified(u8 *label, const u32 *order, size_t n, unsigned int k, u64 seed);

#endif /* MMGATE_UNIT_LIST_H */
