// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/past.c host/run/seen.c host/run/verdict.c host/run/bench_stat.c host/run/history.c host/run/rep.c host/base/*.c
/* A run beside made-up earlier ones: what is told, and how often by mistake */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noise.h"
#include "run/past.h"
#include "run/run.h"

#define TRIES	20000

static char *dir;

static int setup(void **state)
{
	(void)state;
	dir = g_dir_make_tmp("mmgate-test-XXXXXX", NULL);
	setenv("XDG_CACHE_HOME", dir, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(dir);
	g_clear_pointer(&dir, g_free);
	return 0;
}

static void worse_than_all(void **state)
{
	static const double old[] = { 10, 10.5, 9.8, 10.1, 10.2, 9.9, 10, 10.3, 9.7, 10.1 };
	static const double flat[] = { 1, 1, 1, 1, 1 };

	(void)state;
	assert_true(past_worse(old, 10, 20, 2, true));
	assert_false(past_worse(old, 10, 20, 2, false));
	assert_true(past_worse(old, 10, 5, 2, false));
	/* less than what counts, though far from the others */
	assert_false(past_worse(old, 10, 20, 11, true));
	/* within the spread */
	assert_false(past_worse(old, 10, 10.6, 0, true));
	/* too few to say anything, and no value */
	assert_false(past_worse(old, 4, 20, 2, true));
	assert_false(past_worse(old, 10, NAN, 2, true));
	/* values that never varied: only what counts decides */
	assert_true(past_worse(flat, 5, 0.97, 0.02, false));
	assert_false(past_worse(flat, 5, 0.99, 0.02, false));
}

/* Ten earlier runs and one more of the same: how often is it called worse? */
static double false_rate(double (*noise)(void), double shift)
{
	unsigned int called = 0;

	for (int i = 0; i < TRIES; i++) {
		double old[PAST_RUNS];

		for (int n = 0; n < PAST_RUNS; n++)
			old[n] = 10 + noise();
		called += past_worse(old, PAST_RUNS, 10 + noise() + shift, 0, true);
	}
	return (double)called / TRIES;
}

/* Without the least difference that counts, which only makes it rarer: docs/series.md states these rates */
static void rates(void **state)
{
	double normal = false_rate(noise_normal, 0), skewed = false_rate(noise_skewed, 0);

	(void)state;
	print_message("false: normal %.4f, skewed %.4f; found, ten spreads: %.4f\n", normal, skewed,
		      false_rate(noise_normal, 10));
	assert_true(normal < 0.01);
	assert_true(skewed < 0.05);
	assert_true(false_rate(noise_normal, 10) > 0.9);
}

static json_t *a_run(int n, const char *verb, const char *label, const char *result, double seconds, double auc)
{
	g_autofree char *id = g_strdup_printf("r%d", n), *when = g_strdup_printf("2026-12-%02dT00:00:00Z", n + 1);

	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:b, s:f, s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:s}], s:[], s:[{s:s, s:i, s:n, s:s, s:i, s:s, s:s, s:f, s:{s:f}}]}",
			 "schema", 1, "id", id, "verb", verb, "started", when, "verdict", "pass", "reason", "",
			 "exit", 0, "complete", 1, "duration_s", 1.0, "accel", "tcg", "host", "accel", "tcg",
			 "kernels", "label", label, "release", "6.12", "arch", "x86_64", "image_sha256", label, "boots",
			 "cases", "name", "kvm/t/c", "kernel", 0, "boot", "machine", "default", "repeat", 0, "result",
			 result, "reason", "", "duration_s", seconds, "metrics", "auc", auc);
}

static void keep(int n, const char *verb, const char *label, const char *result, double seconds, double auc)
{
	json_t *run = a_run(n, verb, label, result, seconds, auc);
	GError *err = NULL;

	if (!history_add(run, &err))
		fail_msg("%s", err->message);
	json_decref(run);
}

/* What run["past"] says of one more run, as kinds; g_free() it */
static char *notes(const char *result, double seconds, double auc)
{
	json_t *run = a_run(29, "run", "6.12", result, seconds, auc), *e;
	GString *s = g_string_new(NULL);
	size_t i;

	assert_true(past_add(run, NULL));
	json_array_foreach(json_object_get(run, "past"), i, e)
		g_string_append_printf(s, "%s%s%s", i ? ", " : "", obj_str(e, "kind"),
				       *obj_str(e, "metric") ? obj_str(e, "metric") : "");
	json_decref(run);
	return g_string_free(s, FALSE);
}

static void beside_the_history(void **state)
{
	g_autofree char *none = notes("fail", 1, 1), *few = NULL, *same = NULL, *slow = NULL, *low = NULL, *fails = NULL;

	(void)state;
	assert_string_equal(none, "");
	keep(20, "run", "6.12", "fail", 10, 0.99);
	keep(21, "run", "6.12", "fail", 10, 0.99);
	few = notes("fail", 1, 1);
	assert_string_equal(few, "");
	for (int i = 0; i < 10; i++)
		keep(i, "run", "6.12", i == 3 ? "fail" : "pass", 10 + 0.1 * (i % 4), 0.99);
	/* what is broken on purpose is no past, nor is what a series did */
	for (int i = 10; i < 14; i++) {
		keep(i, "mutants", "m", "fail", 100, 0.5);
		keep(i + 4, "gate", "6.12-patched", "fail", 100, 0.5);
	}
	same = notes("pass", 10.2, 0.99);
	assert_string_equal(same, "");
	slow = notes("pass", 25, 0.99);
	assert_string_equal(slow, "worseduration_s");
	low = notes("pass", 10, 0.9);
	assert_string_equal(low, "worseauc");
	fails = notes("fail", 10, 0.99);
	assert_string_equal(fails, "flaky before");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worse_than_all), cmocka_unit_test(rates),
		cmocka_unit_test_setup_teardown(beside_the_history, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
