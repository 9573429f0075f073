// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/verdict.c host/base/*.c
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run/run.h"

static void near(double got, double want, double slack)
{
	if (fabs(got - want) > slack)
		fail_msg("got %.6f, want %.6f", got, want);
}

/* Bounds from published tables of the exact binomial interval */
static void test_clopper_pearson(void **state)
{
	double lo, hi;

	(void)state;
	clopper_pearson(0, 10, 0.05, &lo, &hi);
	near(lo, 0, 1e-9);
	near(hi, 0.308497, 1e-5);
	clopper_pearson(10, 10, 0.05, &lo, &hi);
	near(lo, 0.691503, 1e-5);
	near(hi, 1, 1e-9);
	clopper_pearson(5, 10, 0.05, &lo, &hi);
	near(lo, 0.187086, 1e-5);
	near(hi, 0.812914, 1e-5);
	clopper_pearson(1, 1, 0.05, &lo, &hi);
	near(lo, 0.025, 1e-6);
	clopper_pearson(20, 20, 0.05, &lo, &hi);
	near(lo, 0.831567, 1e-5);
	clopper_pearson(0, 0, 0.05, &lo, &hi);
	near(lo, 0, 0);
	near(hi, 1, 0);
}

static void test_rank(void **state)
{
	const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 }, c[] = { 1, 1, 1, 1 };
	double big_a[80], big_b[80], effect;

	(void)state;
	/* 2 of C(8,4) = 70 arrangements are this extreme */
	near(rank_test(a, 4, b, 4, &effect), 2.0 / 70, 1e-9);
	near(effect, 1, 1e-9);
	near(rank_test(b, 4, a, 4, &effect), 2.0 / 70, 1e-9);
	near(effect, 0, 1e-9);
	near(rank_test(c, 4, c, 4, &effect), 1, 1e-9);
	near(effect, 0.5, 1e-9);
	near(rank_test(a, 3, b, 3, &effect), 2.0 / 20, 1e-9);
	near(rank_test(a, 0, b, 4, &effect), 1, 0);
	for (int i = 0; i < 80; i++) {
		big_a[i] = i;
		big_b[i] = i + 0.5;
	}
	assert_true(rank_test(big_a, 80, big_b, 80, &effect) > 0.8);
	for (int i = 0; i < 80; i++)
		big_b[i] = i + 40;
	assert_true(rank_test(big_a, 80, big_b, 80, &effect) < 1e-9);
	assert_true(effect > 0.8);
}

static struct judged judged(enum claim claim, struct tally base, struct tally patched)
{
	struct judged j = { .name = "kvm/x/y", .claim = claim, .base = base, .patched = patched };

	j.change = change_of(&base, &patched);
	return j;
}

static void expect(struct judged *j, unsigned int n, enum verdict want)
{
	unsigned int more;
	char *why = NULL;
	enum verdict got = verdict_of(j, n, &why, &more);

	if (got != want)
		fail_msg("verdict %s (%s), want %s", verdict_name(got), why, verdict_name(want));
	assert_non_null(why);
	g_free(why);
}

#define T(p, f) ((struct tally){ .pass = (p), .fail = (f) })

static void test_changes(void **state)
{
	struct tally skip = { .skip = 3 }, broken = { .pass = 2, .broken = 1 }, none = { 0 };

	(void)state;
	assert_int_equal(change_of(&T(0, 3), &T(3, 0)), CHANGE_FIXED);
	assert_int_equal(change_of(&T(3, 0), &T(0, 3)), CHANGE_REGRESSED);
	assert_int_equal(change_of(&T(3, 0), &T(3, 0)), CHANGE_STILL_PASSING);
	assert_int_equal(change_of(&T(0, 3), &T(0, 3)), CHANGE_STILL_FAILING);
	assert_int_equal(change_of(&T(0, 3), &T(2, 1)), CHANGE_FLAKY);
	assert_int_equal(change_of(&T(3, 0), &T(2, 1)), CHANGE_FLAKY);
	/* an intermittent fault: few runs say nothing, many do */
	assert_int_equal(change_of(&T(2, 2), &T(4, 0)), CHANGE_FLAKY);
	assert_int_equal(change_of(&T(10, 10), &T(20, 0)), CHANGE_FIXED);
	assert_int_equal(change_of(&broken, &T(3, 0)), CHANGE_BROKEN);
	assert_int_equal(change_of(&skip, &T(3, 0)), CHANGE_SKIPPED);
	assert_int_equal(change_of(&none, &none), CHANGE_ABSENT);
}

static void test_verdicts(void **state)
{
	struct judged fixed = judged(CLAIM_FIXES, T(0, 3), T(3, 0));
	struct judged kept = judged(CLAIM_KEEPS, T(3, 0), T(3, 0));
	struct judged worse = judged(CLAIM_NONE, T(3, 0), T(0, 3));
	struct judged passes = judged(CLAIM_FIXES, T(3, 0), T(3, 0));
	struct judged fails = judged(CLAIM_FIXES, T(0, 3), T(0, 3));
	struct judged flaky = judged(CLAIM_FIXES, T(0, 3), T(2, 1));
	struct judged flaky_base = judged(CLAIM_FIXES, T(2, 2), T(4, 0));
	struct judged kept_flaky_base = judged(CLAIM_KEEPS, T(1, 2), T(3, 0));
	struct judged kept_flaky = judged(CLAIM_KEEPS, T(3, 0), T(2, 1));
	struct judged kept_fails_now = judged(CLAIM_KEEPS, T(1, 2), T(0, 3));
	struct judged broken = judged(CLAIM_FIXES, (struct tally){ .broken = 1 }, T(1, 0));
	struct judged base_broke = judged(CLAIM_KEEPS, (struct tally){ .broken = 1 }, T(3, 0));
	struct judged base_broke_patched_fails = judged(CLAIM_KEEPS, (struct tally){ .broken = 1 }, T(0, 1));
	struct judged patched_broke = judged(CLAIM_KEEPS, T(3, 0), (struct tally){ .pass = 2, .broken = 1 });
	struct judged absent = judged(CLAIM_FIXES, T(0, 0), T(0, 0));
	struct judged lost = judged(CLAIM_KEEPS, T(3, 0), (struct tally){ .skip = 3 });
	struct judged fix_lost = judged(CLAIM_FIXES, T(0, 3), (struct tally){ .skip = 3 });
	struct judged fix_new = judged(CLAIM_FIXES, (struct tally){ .skip = 3 }, T(3, 0));
	struct judged new = judged(CLAIM_KEEPS, (struct tally){ .skip = 3 }, T(3, 0));
	struct judged v[3];

	(void)state;
	/* no pass by a claimed case that only one of the kernels could run */
	expect((struct judged[]){ fixed, lost }, 2, VERDICT_BROKEN);
	expect((struct judged[]){ fixed, fix_lost }, 2, VERDICT_BROKEN);
	expect((struct judged[]){ fixed, fix_new }, 2, VERDICT_BROKEN);
	expect((struct judged[]){ fixed, new }, 2, VERDICT_PASS);
	expect((struct judged[]){ fixed, kept }, 2, VERDICT_PASS);
	expect((struct judged[]){ fixed, kept, worse }, 3, VERDICT_REGRESSED);
	expect((struct judged[]){ passes, kept }, 2, VERDICT_NOT_REPRODUCED);
	expect((struct judged[]){ fails, fixed }, 2, VERDICT_NOT_FIXED);
	expect((struct judged[]){ flaky, fixed }, 2, VERDICT_INCONCLUSIVE);
	expect((struct judged[]){ flaky, fails }, 2, VERDICT_NOT_FIXED);
	expect((struct judged[]){ flaky_base }, 1, VERDICT_INCONCLUSIVE);
	/* what must only not get worse: open where the patched kernel ever failed, not else */
	expect((struct judged[]){ fixed, kept_flaky_base }, 2, VERDICT_PASS);
	expect((struct judged[]){ fixed, kept_flaky }, 2, VERDICT_INCONCLUSIVE);
	expect((struct judged[]){ fixed, kept_fails_now }, 2, VERDICT_INCONCLUSIVE);
	expect((struct judged[]){ broken, fixed }, 2, VERDICT_BROKEN);
	/* an experiment that base broke and patched passed: not worse, where something else could be compared */
	expect((struct judged[]){ base_broke, kept }, 2, VERDICT_PASS);
	expect((struct judged[]){ base_broke, fixed }, 2, VERDICT_PASS);
	expect((struct judged[]){ base_broke }, 1, VERDICT_BROKEN);
	expect((struct judged[]){ base_broke_patched_fails, kept }, 2, VERDICT_BROKEN);
	expect((struct judged[]){ patched_broke, kept }, 2, VERDICT_BROKEN);
	expect((struct judged[]){ absent, kept }, 2, VERDICT_BROKEN);
	expect(v, 0, VERDICT_BROKEN);
	assert_int_equal(verdict_exit(VERDICT_PASS), 0);
	assert_int_equal(verdict_exit(VERDICT_REGRESSED), 1);
	assert_int_equal(verdict_exit(VERDICT_INCONCLUSIVE), 3);
}

/* "How many more" is a promise: with that many at the same rates the verdict changes */
static void test_more_runs(void **state)
{
	struct judged j = judged(CLAIM_FIXES, T(2, 2), T(4, 0));
	unsigned int more, n;
	char *why;

	(void)state;
	assert_int_equal(verdict_of(&j, 1, &why, &more), VERDICT_INCONCLUSIVE);
	assert_true(more > 0);
	assert_non_null(strstr(why, "more runs would tell"));
	g_free(why);
	n = 4 + more;
	j = judged(CLAIM_FIXES, T(n - (n + 1) / 2, (n + 1) / 2), T(n, 0));
	assert_int_equal(verdict_of(&j, 1, &why, &more), VERDICT_PASS);
	g_free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clopper_pearson), cmocka_unit_test(test_rank),
		cmocka_unit_test(test_changes), cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_more_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
