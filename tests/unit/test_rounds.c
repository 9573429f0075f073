// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/gate/rounds.c host/run/seen.c host/run/merge.c host/run/verdict.c host/run/bench_stat.c host/base/*.c
/* The runs of an automatic gate: what is run again, how often, and what is left alone */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate/gate.h"

#define MOST_ROUNDS	8

/* What each round's suite answers: for each case of "a b c" and both kernels p, f or b ("pp pf pp"); splat: of patched */
struct script {
	const char *rounds[MOST_ROUNDS];
	bool splat;
};

static const struct script *script;
static int calls;
static gint64 takes_us;
static char *asked[MOST_ROUNDS];	/* tests of each round, in one line */
static uint64_t seeds[MOST_ROUNDS];

static enum result result_at(char c)
{
	return c == 'p' ? RESULT_PASS : c == 'f' ? RESULT_FAIL : RESULT_BROKEN;
}

json_t *suite_run(const struct suite *s, char **dir, GError **err)
{
	g_auto(GStrv) words = g_strsplit(script->rounds[calls], " ", 0);
	json_t *run = json_pack("{s:[{s:s}, {s:s}], s:[], s:[], s:f, s:b, s:{}}", "kernels", "label", "base", "label",
				"patched", "boots", "cases", "duration_s", 1.0, "complete", 1, "options");
	g_autoptr(GString) tests = g_string_new(NULL);

	(void)err;
	assert_true(calls < MOST_ROUNDS);
	for (guint i = 0; i < s->tests->len; i++)
		g_string_append_printf(tests, "%s%s", i ? " " : "", (char *)s->tests->pdata[i]);
	asked[calls] = g_strdup(tests->str);
	seeds[calls] = s->opt.seed;
	for (int k = 0; k < 2; k++) {
		json_t *boot = json_pack("{s:i, s:s, s:i, s:s, s:s, s:[]}", "kernel", k, "machine", "default", "repeat", 0,
					 "dir", k ? "patched/default" : "base/default", "state",
					 state_name(STATE_GOODBYE), "splats");

		if (k && script->splat)
			json_array_append_new(json_object_get(boot, "splats"), json_pack("{s:s}", "title", "BUG: x"));
		json_array_append_new(json_object_get(run, "boots"), boot);
		for (int c = 0; words[c]; c++) {
			g_autofree char *name = g_strdup_printf("mm/t/%c", 'a' + c);

			if (words[c][0] != '-')
				json_array_append_new(json_object_get(run, "cases"),
						      json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:i}", "name", name,
								"machine", "default", "kernel", k, "boot", k, "result",
								result_name(result_at(words[c][k])), "reason", "",
								"repeat", 0));
		}
	}
	g_usleep(takes_us);
	*dir = s->out ? g_strdup(s->out) : g_dir_make_tmp("mmgate-rounds-XXXXXX", NULL);
	calls++;
	return run;
}

int results_judge(json_t *run)
{
	(void)run;
	return 0;
}

bool results_save(json_t *run, const char *dir, GError **err)
{
	(void)run;
	(void)dir;
	(void)err;
	return true;
}

/* Runs @s with a budget that is over after the first round, or one that never is */
static json_t *rounds(const struct script *s, bool time)
{
	g_autoptr(GPtrArray) tests = g_ptr_array_new();
	struct suite suite = { .tests = tests };
	g_autofree char *dir = NULL;
	json_t *run, *repeat;

	for (int i = 0; i < MOST_ROUNDS; i++)
		g_clear_pointer(&asked[i], g_free);
	g_ptr_array_add(tests, (char *)"mm/t");
	script = s;
	calls = 0;
	takes_us = 2000;
	run = rounds_run(&suite, 3, time ? 3600 : 0.001, &dir, NULL);
	assert_non_null(run);
	repeat = json_object_get(json_object_get(run, "options"), "repeat");
	assert_int_equal(repeat ? json_integer_value(repeat) : 1, calls);
	mmg_rmtree(dir);
	return run;
}

static void nothing_differs(void **state)
{
	static const struct script s = { { "pp pp ff", "pp pp ff", "pp pp ff" }, false };

	(void)state;
	json_decref(rounds(&s, false));
	assert_int_equal(calls, 1);
	/* there is time */
	json_decref(rounds(&s, true));
	assert_int_equal(calls, 3);
	assert_string_equal(asked[1], "mm/t");
	assert_int_equal(seeds[1], 2);
	assert_int_equal(seeds[2], 3);
}

static void what_differs_runs_again(void **state)
{
	static const struct script s = { { "pp pf fp", "-- pf fp", "-- pp fp" }, false };
	json_t *run = rounds(&s, false), *c;
	int n = 0;
	size_t i;

	(void)state;
	assert_int_equal(calls, 3);
	assert_string_equal(asked[1], "mm/t/b@default mm/t/c@default");
	/* one that went both ways still differs */
	assert_string_equal(asked[2], "mm/t/b@default mm/t/c@default");
	json_array_foreach(json_object_get(run, "cases"), i, c) {
		const json_t *boot = json_array_get(json_object_get(run, "boots"), obj_int(c, "boot"));

		/* each case lies in a boot of its own round and kernel */
		assert_int_equal(obj_int(boot, "repeat"), obj_int(c, "repeat"));
		assert_int_equal(obj_int(boot, "kernel"), obj_int(c, "kernel"));
		n += !strcmp(obj_str(c, "name"), "mm/t/b");
	}
	assert_int_equal(n, 6);
	assert_string_equal(obj_str(json_array_get(json_object_get(run, "boots"), 2), "dir"), "again-1/base/default");
	assert_int_equal(json_array_size(json_object_get(run, "kernels")), 2);
	json_decref(run);
}

/* Broken once is broken: another run would not make it less so */
static void broken_is_left(void **state)
{
	static const struct script s = { { "pp pb bf" }, false };

	(void)state;
	json_decref(rounds(&s, false));
	assert_int_equal(calls, 1);
}

/* A few are enough where many differ */
static void not_all_of_many(void **state)
{
	static const struct script s = { { "pf pf pf pf pf pf pf pf", "pf pf pf pf pf", "pf pf pf pf pf" }, false };

	(void)state;
	json_decref(rounds(&s, false));
	assert_int_equal(calls, 3);
	assert_string_equal(asked[1], "mm/t/a@default mm/t/b@default mm/t/c@default mm/t/d@default mm/t/e@default");
}

/* Part of the tests could not show again what the whole boot said */
static void a_splat_runs_all_again(void **state)
{
	static const struct script s = { { "pp pf", "pp pf", "pp pf" }, true };

	(void)state;
	json_decref(rounds(&s, false));
	assert_int_equal(calls, 3);
	assert_string_equal(asked[1], "mm/t");
	assert_string_equal(asked[2], "mm/t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_differs), cmocka_unit_test(what_differs_runs_again),
		cmocka_unit_test(broken_is_left), cmocka_unit_test(not_all_of_many),
		cmocka_unit_test(a_splat_runs_all_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
