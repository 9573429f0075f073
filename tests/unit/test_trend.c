// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/trend.c host/run/verdict.c host/run/bench_stat.c host/run/history.c host/run/rep.c host/base/*.c
/* Where a value changed, and where it only varied */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "noise.h"
#include "run/trend.h"

static void a_step(void **state)
{
	static const double v[] = { 1, 1.1, 0.9, 1, 1.05, 0.95, 2, 2.1, 1.9, 2, 2.05, 1.95 };
	struct trend_change c;

	(void)state;
	assert_true(trend_split(v, 12, 3, 0.05, &c));
	assert_int_equal(c.at, 6);
	assert_true(c.before == 1 && c.after == 2);
	assert_true(c.p < 0.05);
}

static void no_step(void **state)
{
	static const double flat[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const double varied[] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2 };
	/* too few to say anything: the smallest p of three against three is 0.1 */
	static const double few[] = { 1, 1, 1, 9, 9, 9 };
	struct trend_change c;

	(void)state;
	assert_false(trend_split(flat, 10, 3, 0.05, &c));
	assert_false(trend_split(varied, 12, 3, 0.05, &c));
	assert_false(trend_split(few, 6, 3, 0.05, &c));
	assert_false(trend_split(few, 0, 3, 0.05, &c));
}

static void two_steps(void **state)
{
	struct trend t = { .points = g_ptr_array_new_with_free_func(g_free) };
	g_autoptr(GArray) changes = NULL;

	(void)state;
	for (int i = 0; i < 36; i++) {
		struct trend_point *p = g_new0(struct trend_point, 1);

		p->value = i / 12 + (i % 3) * 0.01;
		g_ptr_array_add(t.points, p);
	}
	changes = trend_changes(&t);
	assert_int_equal(changes->len, 2);
	assert_int_equal(g_array_index(changes, struct trend_change, 0).at, 12);
	assert_int_equal(g_array_index(changes, struct trend_change, 1).at, 24);
	g_ptr_array_unref(t.points);
}

/* How often something is found in @n values, of which those from @at on are shifted by @shift */
static double found(double (*noise)(void), guint n, guint at, double shift, guint tries, guint *right)
{
	guint called = 0;

	for (guint i = 0; i < tries; i++) {
		struct trend t = { .points = g_ptr_array_new_with_free_func(g_free) };
		g_autoptr(GArray) changes = NULL;

		for (guint k = 0; k < n; k++) {
			struct trend_point *p = g_new0(struct trend_point, 1);

			p->value = noise() + (k >= at ? shift : 0);
			g_ptr_array_add(t.points, p);
		}
		changes = trend_changes(&t);
		called += changes->len > 0;
		for (guint k = 0; k < changes->len && right; k++) {
			guint where = g_array_index(changes, struct trend_change, k).at;

			if (where + 1 >= at && where <= at + 1) {
				(*right)++;
				break;
			}
		}
		g_ptr_array_unref(t.points);
	}
	return (double)called / tries;
}

/* docs/series.md states these rates */
static void rates(void **state)
{
	double normal, skewed, long_one, step;
	guint right = 0;

	(void)state;
	normal = found(noise_normal, 20, 20, 0, 80, NULL);
	skewed = found(noise_skewed, 20, 20, 0, 80, NULL);
	long_one = found(noise_normal, 60, 60, 0, 10, NULL);
	step = found(noise_normal, 20, 10, 3, 40, &right);
	print_message("false: normal %.3f, skewed %.3f, 60 values %.3f; a step of three spreads: %.3f, at its place %.3f\n",
		      normal, skewed, long_one, step, right / 40.0);
	assert_true(normal <= 0.06 && skewed <= 0.06 && long_one <= 0.06);
	assert_true(step > 0.95 && right > 35);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step),
		cmocka_unit_test(no_step),
		cmocka_unit_test(two_steps), cmocka_unit_test(rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
