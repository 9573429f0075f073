// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/bench_stat.c host/base/*.c
/* Medians, ratios and their bounds */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "run/run.h"

static void medians(void **state)
{
	static const double v[] = { 9, 1, 4, 2 };

	(void)state;
	assert_true(bench_median(v, 3) == 4);
	assert_true(bench_median(v, 4) == 3);
	assert_true(isnan(bench_median(v, 0)));
	/* the values keep their order */
	assert_true(v[0] == 9);
}

static void ratio_of_constants(void **state)
{
	static const double a[] = { 20, 20, 20 }, b[] = { 2, 2, 2 };
	struct bench_ratio r = bench_ratio(a, 3, b, 3);

	(void)state;
	assert_true(r.value == 10 && r.lo == 10 && r.hi == 10);
}

static void bounds_hold_the_ratio(void **state)
{
	static const double a[] = { 30, 20, 25, 40, 22 }, b[] = { 1, 2, 1.5, 2.5, 1.8 };
	struct bench_ratio r = bench_ratio(a, 5, b, 5), again = bench_ratio(a, 5, b, 5);

	(void)state;
	assert_true(fabs(r.value - 25 / 1.8) < 1e-9);
	assert_true(r.lo < r.value && r.value < r.hi);
	/* no median of a redrawn sample leaves the sample's range */
	assert_true(r.lo >= 20 / 2.5 && r.hi <= 40 / 1.0);
	assert_true(r.lo == again.lo && r.hi == again.hi);
}

static void no_ratio(void **state)
{
	static const double a[] = { 1, 2 }, zero[] = { 0, 0 }, some[] = { 0, 0, 5 };

	(void)state;
	assert_true(isnan(bench_ratio(a, 2, zero, 2).value));
	assert_true(isnan(bench_ratio(a, 0, a, 2).value));
	assert_true(isnan(bench_ratio(a, 2, a, 0).lo));
	/* some draws have nothing to divide by: the bounds would be those of the others */
	assert_true(isnan(bench_ratio(a, 2, some, 3).value));
}

static void values_of_a_run(void **state)
{
	json_t *run = json_pack("{s:[{s:s, s:i, s:s, s:{s:f}}, {s:s, s:i, s:s, s:{s:f}},"
				"{s:s, s:i, s:s, s:{s:f}}, {s:s, s:i, s:s, s:{}}, {s:s, s:i, s:s}]}", "cases",
				"name", "bench/x/y", "kernel", 0, "result", "pass", "metrics", "m", 1.0,
				"name", "bench/x/y", "kernel", 1, "result", "pass", "metrics", "m", 2.0,
				"name", "bench/x/y", "kernel", 1, "result", "broken", "metrics", "m", 9.0,
				"name", "bench/x/y", "kernel", 1, "result", "pass", "metrics",
				"name", "bench/x/y", "kernel", 1, "result", "pass");
	GArray *all = bench_values(run, "bench/x/y", -1, "m"), *one = bench_values(run, "bench/x/y", 1, "m");

	(void)state;
	assert_int_equal(all->len, 2);
	assert_int_equal(one->len, 1);
	assert_true(g_array_index(one, double, 0) == 2);
	g_array_unref(all);
	g_array_unref(one);
	json_decref(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians),
		cmocka_unit_test(ratio_of_constants),
		cmocka_unit_test(bounds_hold_the_ratio),
		cmocka_unit_test(no_ratio),
		cmocka_unit_test(values_of_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
