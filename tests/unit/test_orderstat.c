// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/orderstat.c
/* Order as a number, against counting all pairs by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "orderstat.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static struct order of(size_t n, const u8 *age, const u16 *rank, unsigned int nr_ranks)
{
	struct order o = { .n = n, .age = age, .rank = rank, .nr_ranks = nr_ranks };

	return o;
}

static void known_orders(void **state)
{
	const u8 age[] = { 0, 0, 1, 1 };
	const u16 good[] = { 3, 3, 1, 2 }, bad[] = { 1, 2, 3, 3 }, tied[] = { 3, 3, 3, 3 };
	const u16 half[] = { 1, 3, 1, 3 }, most[] = { 3, 1, 1, 2 };
	struct order o = of(4, age, good, 3);

	(void)state;
	NEAR(order_auc(&o), 1.0);	/* the cold left first */
	NEAR(order_somers_d(&o), 1.0);
	NEAR(order_same_step(&o), 0.0);
	o.rank = bad;
	NEAR(order_auc(&o), 0.0);	/* upside down */
	NEAR(order_somers_d(&o), -1.0);
	o.rank = tied;
	NEAR(order_auc(&o), 0.5);	/* nobody left: ties are half */
	NEAR(order_somers_d(&o), 0.0);
	NEAR(order_same_step(&o), 0.0);	/* survivors left in no step */
	o.rank = half;
	NEAR(order_auc(&o), 0.5);
	NEAR(order_same_step(&o), 0.25);
	o.rank = most;
	NEAR(order_auc(&o), 0.625);	/* (1, 1, 0.5, 0) of 4 pairs */
	NEAR(order_somers_d(&o), 0.25);
	assert_int_equal(order_evicted(&o, 0), 1);
	assert_int_equal(order_evicted(&o, 1), 2);
	assert_int_equal(order_count(&o, 0), 2);
}

static void what_cannot_be_judged(void **state)
{
	const u8 hot[] = { 0, 0 }, mixed[] = { 0, 1 };
	const u16 rank[] = { 1, 2 }, out[] = { 1, 9 }, zero[] = { 0, 1 };
	struct order o = of(2, hot, rank, 3);

	(void)state;
	assert_true(isnan(order_auc(&o)));	/* no cold page */
	o = of(2, mixed, out, 3);
	assert_true(isnan(order_auc(&o)));	/* a rank beyond the last */
	assert_true(isnan(order_same_step(&o)));
	o = of(2, mixed, zero, 3);
	assert_true(isnan(order_auc(&o)));	/* a page that was never ranked */
	o = of(0, mixed, rank, 3);
	assert_true(isnan(order_auc(&o)));
	assert_true(isnan(order_somers_d(&o)));
}

/* Both numbers by looking at every pair */
static void by_hand(const struct order *o, double *auc, double *somers)
{
	double won = 0, pairs = 0, d = 0, d_pairs = 0;
	size_t i, j;

	for (i = 0; i < o->n; i++) {
		for (j = 0; j < o->n; j++) {
			if (o->age[i] > o->age[j]) {
				d_pairs++;
				d += (o->rank[i] < o->rank[j]) - (o->rank[i] > o->rank[j]);
			}
			if (o->age[i] && !o->age[j]) {
				pairs++;
				won += o->rank[i] < o->rank[j] ? 1 : o->rank[i] == o->rank[j] ? 0.5 : 0;
			}
		}
	}
	*auc = won / pairs;
	*somers = d / d_pairs;
}

static void random_orders(void **state)
{
	u8 age[200];
	u16 rank[200];
	int round, i;

	(void)state;
	srand(7);
	for (round = 0; round < 200; round++) {
		int ages = 2 + rand() % 3, ranks = 2 + rand() % 20;
		struct order o = of(200, age, rank, ranks);
		double auc, somers;

		for (i = 0; i < 200; i++) {
			age[i] = i < ages ? i : rand() % ages;
			rank[i] = 1 + rand() % ranks;
		}
		by_hand(&o, &auc, &somers);
		NEAR(order_auc(&o), auc);
		NEAR(order_somers_d(&o), somers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_orders),
		cmocka_unit_test(what_cannot_be_judged),
		cmocka_unit_test(random_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
