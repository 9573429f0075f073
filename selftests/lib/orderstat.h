/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Order as a number: did the pages that were touched long ago leave before
 * those that were touched lately?
 */
#ifndef MMGATE_ORDERSTAT_H
#define MMGATE_ORDERSTAT_H

#include <stddef.h>

#include "compiler.h"

#define ORDER_MAX_AGES	16

/**
 * struct order - what happened to a set of pages
 * @n:		number of pages
 * @age:	touch age of each: 0 is the hottest, less than ORDER_MAX_AGES
 * @rank:	step at which each was first seen absent, 1 to @nr_ranks - 1;
 *		survivors share the last rank, @nr_ranks
 * @nr_ranks:	steps + 1
 */
struct order {
	size_t n;
	const u8 *age;
	const u16 *rank;
	unsigned int nr_ranks;
};

/*
 * AUC: the chance that a random cold page (age > 0) left before a random hot
 * one (age 0), ties counting half.  1 is perfect, 0.5 blind, 0 upside down.
 * NaN where there are no hot or no cold pages, or an age or rank is out of
 * range.  Time linear in pages and ranks.
 */
double order_auc(const struct order *o);

/*
 * The share of pairs (hot, cold) that left in one and the same step, so that nobody
 * can tell which was first.  AUC counts half of it as disorder.  NaN as above.
 */
double order_same_step(const struct order *o);

/*
 * Somers' D of rank on age: over all pairs of pages of different age,
 * (older left first - younger left first) / pairs.  1 perfect, 0 blind, -1
 * upside down; for two ages it is 2 * AUC - 1.  NaN as above.
 */
double order_somers_d(const struct order *o);

/* Number of pages of @age that left within the steps */
size_t order_evicted(const struct order *o, unsigned int age);
/* Number of pages of @age */
size_t order_count(const struct order *o, unsigned int age);

#endif /* MMGATE_ORDERSTAT_H */
