// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/history.c host/verbs/history.c host/run/rep.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/verbs.h"

static char *tmp, *file;

static int setup(void **state)
{
	(void)state;
	tmp = g_dir_make_tmp("mmgate-history-XXXXXX", NULL);
	g_setenv("XDG_CACHE_HOME", tmp, TRUE);
	file = mmg_cache_path("history.sqlite", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(tmp);
	g_free(tmp);
	g_free(file);
	return 0;
}

static json_t *new_run(int n, const char *sha, const char *result)
{
	return json_pack("{s:i, s:o, s:o, s:s, s:[{s:s, s:s}], s:[{s:s, s:i, s:s, s:i, s:s, s:f, s:s}]}",
			 "schema", 1, "id", json_sprintf("run-%d", n), "started",
			 json_sprintf("2026-11-30T10:%02d:%02dZ", n / 60 % 60, n % 60), "verb", "run",
			 "kernels", "label", "6.12", "image_sha256", sha, "cases", "name",
			 "kvm/eviction_order/anon-4k", "kernel", 0, "machine", "default", "repeat", 0,
			 "result", result, "duration_s", 1.5, "reason", "AUC 1.00");
}

static void add(int n, const char *sha, const char *result)
{
	json_t *run = new_run(n, sha, result);

	assert_non_null(run);
	assert_true(history_add(run, NULL));
	json_decref(run);
}

/* What history prints as JSON, and its exit status */
static json_t *ask(bool flaky, int *status)
{
	struct cli cli = {
		.kernels = g_ptr_array_new(), .tests = g_ptr_array_new(), .args = g_ptr_array_new(),
		.json = true, .flaky = flaky,
	};
	char *path = g_build_filename(tmp, "out", NULL), *text = NULL;
	json_t *list;
	int saved = dup(1);

	fflush(stdout);
	assert_non_null(freopen(path, "w", stdout));
	*status = verb_history(&cli, NULL);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	list = json_loads(text, 0, NULL);
	g_free(text);
	g_free(path);
	g_ptr_array_unref(cli.kernels);
	g_ptr_array_unref(cli.tests);
	g_ptr_array_unref(cli.args);
	assert_non_null(list);
	return list;
}

static void fresh(void)
{
	mmg_rmtree(mmg_cache());
}

static json_int_t number(json_t *list, size_t i, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(list, i), key));
}

static void empty(void **state)
{
	int status;
	json_t *list;

	(void)state;
	fresh();
	list = ask(false, &status);
	assert_int_equal(json_array_size(list), 0);
	assert_int_equal(status, MMG_EXIT_NOTHING);
	json_decref(list);
}

static void flips_on_one_kernel_are_flaky(void **state)
{
	int status;
	json_t *list;

	(void)state;
	fresh();
	add(1, "aa", "pass");
	add(2, "aa", "fail");
	add(3, "aa", "skip");
	add(4, "aa", "pass");
	list = ask(true, &status);
	assert_int_equal(status, MMG_EXIT_FAIL);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(number(list, 0, "flips"), 2);
	assert_int_equal(number(list, 0, "pass"), 2);
	assert_int_equal(number(list, 0, "skip"), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "last")), ".Fs.");
	json_decref(list);
}

static void a_change_of_kernel_is_no_flake(void **state)
{
	int status;
	json_t *list;

	(void)state;
	fresh();
	add(1, "aa", "fail");
	add(2, "bb", "pass");
	add(3, "aa", "fail");
	add(4, "bb", "pass");
	add(5, "bb", "skip");
	list = ask(true, &status);
	assert_int_equal(status, MMG_EXIT_OK);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	list = ask(false, &status);
	assert_int_equal(json_array_size(list), 2);
	json_decref(list);
}

static void once_only(void **state)
{
	int status;
	json_t *list;

	(void)state;
	fresh();
	add(1, "aa", "pass");
	add(1, "aa", "pass");
	list = ask(false, &status);
	assert_int_equal(number(list, 0, "pass"), 1);
	json_decref(list);
}

/* Many runs that are first at once */
static void several_at_once(void **state)
{
	int status, code;
	json_t *list;

	(void)state;
	fresh();
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			for (int n = 0; n < 10; n++) {
				json_t *run = new_run(i * 10 + n, "aa", "pass");

				if (!history_add(run, NULL))
					_exit(1);
				json_decref(run);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++) {
		assert_true(wait(&code) > 0);
		assert_int_equal(code, 0);
	}
	list = ask(false, &status);
	assert_int_equal(number(list, 0, "pass"), 80);
	json_decref(list);
}

static void newer_schema_is_left_alone(void **state)
{
	json_t *run = new_run(1, "aa", "pass");
	GError *err = NULL;
	sqlite3 *db;

	(void)state;
	fresh();
	add(1, "aa", "pass");
	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_false(history_add(run, &err));
	assert_non_null(strstr(err->message, "schema 99"));
	assert_non_null(strstr(err->message, "--no-history"));
	g_error_free(err);
	json_decref(run);
}

static void garbage_is_an_error(void **state)
{
	json_t *run = new_run(1, "aa", "pass");
	GError *err = NULL;

	(void)state;
	fresh();
	assert_true(mmg_mkdirs(mmg_cache(), NULL));
	assert_true(g_file_set_contents(file, "this is no database, and it is long enough to be read as one: "
					      "0123456789012345678901234567890123456789", -1, NULL));
	assert_false(history_add(run, &err));
	assert_non_null(err);
	g_error_free(err);
	json_decref(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(flips_on_one_kernel_are_flaky),
		cmocka_unit_test(a_change_of_kernel_is_no_flake),
		cmocka_unit_test(once_only),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(newer_schema_is_left_alone),
		cmocka_unit_test(garbage_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
