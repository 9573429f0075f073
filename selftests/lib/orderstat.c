// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages are counted into one bucket for each age and rank; pairs are then
 * counted between buckets, never between pages.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "orderstat.h"

/* Buckets [age][rank], rank from 1; NULL where an age or rank is out of range */
static double *count_buckets(const struct order *o)
{
	size_t width = o->nr_ranks + 1, i;
	double *b = calloc(ORDER_MAX_AGES * width, sizeof(*b));

	for (i = 0; b && i < o->n; i++) {
		if (o->age[i] >= ORDER_MAX_AGES || !o->rank[i] || o->rank[i] > o->nr_ranks) {
			free(b);
			return NULL;
		}
		b[o->age[i] * width + o->rank[i]]++;
	}
	return b;
}

/* Pairs (young, old): how many had old out first, how many the same rank, of all */
static void count_pairs(const double *young, const double *old, size_t nr_ranks,
			double *old_first, double *ties, double *pairs)
{
	double young_sum = 0, old_sum = 0;
	size_t r;

	for (r = 1; r <= nr_ranks; r++) {
		*old_first += young[r] * old_sum;
		*ties += young[r] * old[r];
		old_sum += old[r];
		young_sum += young[r];
	}
	*pairs += young_sum * old_sum;
}

double order_auc(const struct order *o)
{
	size_t width = o->nr_ranks + 1;
	double first = 0, ties = 0, pairs = 0;
	double *b = count_buckets(o);
	int age;

	if (!b)
		return NAN;
	for (age = 1; age < ORDER_MAX_AGES; age++)
		count_pairs(b, b + age * width, o->nr_ranks, &first, &ties, &pairs);
	free(b);
	return pairs > 0 ? (first + ties / 2) / pairs : NAN;
}

double order_same_step(const struct order *o)
{
	size_t width = o->nr_ranks + 1;
	double first = 0, ties = 0, pairs = 0;
	double *b = count_buckets(o);
	int age;

	if (!b)
		return NAN;
	for (age = 1; age < ORDER_MAX_AGES; age++) {
		/* the last rank is that of survivors, no step */
		count_pairs(b, b + age * width, o->nr_ranks, &first, &ties, &pairs);
		ties -= b[o->nr_ranks] * b[age * width + o->nr_ranks];
	}
	free(b);
	return pairs > 0 ? ties / pairs : NAN;
}

double order_somers_d(const struct order *o)
{
	size_t width = o->nr_ranks + 1;
	double first = 0, ties = 0, pairs = 0;
	double *b = count_buckets(o);
	int young, old;

	if (!b)
		return NAN;
	for (young = 0; young < ORDER_MAX_AGES; young++) {
		for (old = young + 1; old < ORDER_MAX_AGES; old++)
			count_pairs(b + young * width, b + old * width, o->nr_ranks, &first,
				    &ties, &pairs);
	}
	free(b);
	/* younger first is what is left: pairs - first - ties */
	return pairs > 0 ? (2 * first + ties - pairs) / pairs : NAN;
}

size_t order_evicted(const struct order *o, unsigned int age)
{
	size_t i, n = 0;

	for (i = 0; i < o->n; i++)
		n += o->age[i] == age && o->rank[i] < o->nr_ranks;
	return n;
}

size_t order_count(const struct order *o, unsigned int age)
{
	size_t i, n = 0;

	for (i = 0; i < o->n; i++)
		n += o->age[i] == age;
	return n;
}
