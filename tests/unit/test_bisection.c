// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/bisection.c host/run/verdict.c host/base/*.c
/* How often to run, what to judge next, and a memory that survives */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/bisection.h"

static void runs(void **state)
{
	(void)state;
	/* 0.8^14 = 0.044, 0.8^13 = 0.055 */
	assert_int_equal(bisect_runs(0.2, 0.05), 14);
	assert_int_equal(bisect_runs(1, 0.05), 1);
	assert_int_equal(bisect_runs(0.5, 0.5), 1);
	assert_int_equal(bisect_runs(0.5, 0.25), 2);
	assert_true(bisect_runs(0, 0.05) >= 1000);
}

static void rates(void **state)
{
	(void)state;
	/* ten of ten: 0.05^(1/10) */
	assert_true(fabs(bisect_least_rate(10, 10) - pow(0.05, 0.1)) < 1e-6);
	assert_true(bisect_least_rate(0, 10) == 0);
}

static GPtrArray *commits(const char *words)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) w = g_strsplit(words, " ", -1);

	for (char **p = w; *p; p++)
		g_ptr_array_add(list, g_strdup(*p));
	return list;
}

static void know(GPtrArray *steps, const char *commit, enum bisect_answer answer, unsigned int n)
{
	struct bisect_step *s = g_new0(struct bisect_step, 1);

	s->commit = g_strdup(commit);
	s->reason = g_strdup("why");
	s->answer = answer;
	s->runs = n;
	g_ptr_array_add(steps, s);
}

static void next(void **state)
{
	g_autoptr(GPtrArray) all = commits("d c e b f a bad");
	g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func(bisect_step_free);

	(void)state;
	know(steps, "bad", BISECT_BAD, 1);
	assert_string_equal(bisect_next(all, steps), "d");
	know(steps, "d", BISECT_SKIP, 0);
	/* not its neighbour: one away from the front */
	assert_string_equal(bisect_next(all, steps), "e");
	know(steps, "e", BISECT_SKIP, 0);
	assert_string_equal(bisect_next(all, steps), "a");
	know(steps, "a", BISECT_GOOD, 1);
	assert_string_equal(bisect_next(all, steps), "c");
	for (guint i = 0; i < all->len; i++)
		know(steps, all->pdata[i], BISECT_SKIP, 0);
	assert_null(bisect_next(all, steps));
}

static void confidence(void **state)
{
	g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func(bisect_step_free);

	(void)state;
	assert_true(bisect_confidence(steps, 0.2) == 1);
	know(steps, "a", BISECT_GOOD, 1);
	know(steps, "b", BISECT_BAD, 5);
	know(steps, "c", BISECT_GOOD, 2);
	assert_true(fabs(bisect_confidence(steps, 0.5) - 0.5 * 0.75) < 1e-9);
}

static void kept(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-bisection-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "state.json", NULL);
	g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func(bisect_step_free);
	g_autoptr(GPtrArray) again = NULL;
	GError *err = NULL;
	const struct bisect_step *s;

	(void)state;
	know(steps, "a", BISECT_GOOD, 14);
	know(steps, "b", BISECT_SKIP, 0);
	assert_true(bisect_save(path, steps, &err));
	again = bisect_load(path, &err);
	assert_non_null(again);
	assert_int_equal(again->len, 2);
	s = again->pdata[0];
	assert_string_equal(s->commit, "a");
	assert_int_equal(s->answer, BISECT_GOOD);
	assert_int_equal(s->runs, 14);
	assert_int_equal(((struct bisect_step *)again->pdata[1])->answer, BISECT_SKIP);
	/* half a file is not taken for an empty one */
	assert_true(g_file_set_contents(path, "{\"steps\": [", -1, NULL));
	assert_null(bisect_load(path, &err));
	assert_non_null(err);
	g_error_free(err);
	unlink(path);
	g_ptr_array_unref(again);
	again = bisect_load(path, NULL);
	assert_int_equal(again->len, 0);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(rates),
		cmocka_unit_test(next),
		cmocka_unit_test(confidence),
		cmocka_unit_test(kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
