// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/vm/ktap.c host/base/*.c
/* The reader of a VM's KTAP: results, and what an untrusted guest may try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vm/vm.h"

static struct ktap *feed(const char *text)
{
	struct ktap *k = ktap_new();

	ktap_feed(k, text, strlen(text));
	return k;
}

static const char *get(const struct ktap *k, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(k->cases, i), key));
}

#define HEAD "KTAP version 1\n1..1\n  # Subtest: kvm/x\n  KTAP version 1\n"

static void results(void **state)
{
	struct ktap *k = feed(HEAD "  1..4\n"
			      "  # mmgate-case: a\n  # mmgate-metric: a auc 0.5\n  # a: said this\n"
			      "  # mmgate-reason: a all is well\n  # mmgate-time: a 1.25\n  ok 1 a\n"
			      "  # mmgate-reason: b AUC 0.5\n  not ok 2 b\n"
			      "  ok 3 c # SKIP no swap\n  not ok 4 d # BROKEN control failed\n"
			      "not ok 1 kvm/x\n");
	json_t *a = json_array_get(k->cases, 0);

	(void)state;
	assert_int_equal(json_array_size(k->cases), 4);
	assert_string_equal(get(k, 0, "name"), "kvm/x/a");
	assert_string_equal(get(k, 0, "result"), "pass");
	assert_string_equal(get(k, 0, "reason"), "all is well");
	assert_true(json_number_value(json_object_get(json_object_get(a, "metrics"), "auc")) == 0.5);
	assert_true(json_number_value(json_object_get(a, "duration_s")) == 1.25);
	assert_string_equal(json_string_value(json_array_get(json_object_get(a, "diag"), 0)), "said this");
	assert_string_equal(get(k, 1, "result"), "fail");
	assert_string_equal(get(k, 1, "reason"), "AUC 0.5");
	assert_string_equal(get(k, 2, "result"), "skip");
	assert_string_equal(get(k, 2, "reason"), "no swap");
	assert_string_equal(get(k, 3, "result"), "broken");
	assert_int_equal(k->planned, 1);
	assert_int_equal(k->ended, 1);
	ktap_free(k);
}

static void missing_results_are_broken(void **state)
{
	struct ktap *k = feed(HEAD "  1..2\n  ok 1 a\n  # mmgate-case: b\nok 1 kvm/x\n");

	(void)state;
	assert_int_equal(json_array_size(k->cases), 2);
	assert_string_equal(get(k, 1, "name"), "kvm/x/b");
	assert_string_equal(get(k, 1, "result"), "broken");
	ktap_free(k);
}

static void no_plan_is_broken(void **state)
{
	struct ktap *k = feed(HEAD "  ok 1 a\nok 1 kvm/x\n");

	(void)state;
	assert_string_equal(get(k, json_array_size(k->cases) - 1, "result"), "broken");
	ktap_free(k);
}

static void silent_skip_is_broken(void **state)
{
	struct ktap *k = feed(HEAD "ok 1 kvm/x # SKIP all of it\n");

	(void)state;
	assert_int_equal(json_array_size(k->cases), 1);
	assert_string_equal(get(k, 0, "result"), "broken");
	ktap_free(k);
	k = feed(HEAD "  1..0 # SKIP no KVM here\nok 1 kvm/x # SKIP all of it\n");
	assert_string_equal(get(k, 0, "result"), "skip");
	assert_string_equal(get(k, 0, "reason"), "no KVM here");
	ktap_free(k);
}

static void a_name_given_twice_is_broken(void **state)
{
	struct ktap *k = feed(HEAD "  1..2\n  not ok 1 a\n  ok 2 a\nok 1 kvm/x\n");

	(void)state;
	assert_string_equal(get(k, 0, "result"), "fail");
	assert_string_equal(get(k, 1, "result"), "broken");
	ktap_free(k);
}

static void a_bad_end_after_good_results_is_broken(void **state)
{
	static const char good[] = HEAD "  1..2\n  ok 1 a\n  ok 2 b # SKIP no swap\n"
				   "  # mmgate: kvm/x signal 11 after 5 ms\n";
	struct ktap *k = feed(good);

	(void)state;
	ktap_feed(k, "not ok 1 kvm/x\n", strlen("not ok 1 kvm/x\n"));
	assert_int_equal(json_array_size(k->cases), 3);
	assert_string_equal(get(k, 2, "name"), "kvm/x");
	assert_string_equal(get(k, 2, "result"), "broken");
	assert_non_null(strstr(get(k, 2, "reason"), "signal 11"));
	ktap_free(k);
	k = feed(good);
	ktap_feed(k, "ok 1 mm/y\n", strlen("ok 1 mm/y\n"));
	assert_string_equal(get(k, 2, "result"), "broken");
	ktap_free(k);
}

static void a_plan_changed_is_broken(void **state)
{
	struct ktap *k = feed(HEAD "  1..3\n  ok 1 a\n  ok 2 b\n  1..2\nok 1 kvm/x\n");

	(void)state;
	assert_int_equal(json_array_size(k->cases), 3);
	assert_string_equal(get(k, 2, "result"), "broken");
	ktap_free(k);
}

static void a_failure_cannot_drown_in_results(void **state)
{
	struct ktap *k = feed(HEAD "  1..5000\n");
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		char *line = g_strdup_printf("  ok %d c%d\n", i, i);

		ktap_feed(k, line, strlen(line));
		g_free(line);
	}
	ktap_feed(k, "  not ok 10001 z\nok 1 kvm/x\n", strlen("  not ok 10001 z\nok 1 kvm/x\n"));
	assert_int_equal(json_array_size(k->cases), 5000);
	assert_string_equal(get(k, 4999, "result"), "broken");
	assert_string_equal(get(k, 4999, "reason"), "the VM gave more results than are read");
	assert_true(g_hash_table_size(k->names) <= 5001);
	ktap_free(k);
}

static void a_cut_stream_fails_the_case_that_ran(void **state)
{
	struct ktap *k = feed(HEAD "  1..2\n  ok 1 a\n  # mmgate-case: b\n");

	(void)state;
	ktap_cut(k, RESULT_FAIL, "panic: \x01oops");
	assert_int_equal(json_array_size(k->cases), 2);
	assert_string_equal(get(k, 1, "name"), "kvm/x/b");
	assert_string_equal(get(k, 1, "result"), "fail");
	assert_string_equal(get(k, 1, "reason"), "panic:  oops");
	ktap_free(k);
}

static void hostile_text_is_harmless(void **state)
{
	struct ktap *k = ktap_new();
	char junk[256];
	int i;

	(void)state;
	for (i = 0; i < 256; i++)
		junk[i] = i;
	for (i = 0; i < 20000; i++)
		ktap_feed(k, junk, sizeof(junk));
	ktap_feed(k, "\n", 1);
	/* a test's own lines are indented: it can neither end itself nor begin another */
	ktap_feed(k, HEAD, strlen(HEAD));
	ktap_feed(k, "  # Subtest: mm/y\n", strlen("  # Subtest: mm/y\n"));
	assert_string_equal(k->test, "kvm/x");
	for (i = 0; i < 20000; i++) {
		char *line = g_strdup_printf("  # mmgate-metric: c%d m%d nan\n  ok %d c%d\xff\xfe\n", i, i, i, i);

		ktap_feed(k, line, strlen(line));
		g_free(line);
	}
	assert_true(json_array_size(k->cases) <= 5000);
	assert_non_null(get(k, 0, "name"));
	ktap_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results),
		cmocka_unit_test(missing_results_are_broken),
		cmocka_unit_test(no_plan_is_broken),
		cmocka_unit_test(silent_skip_is_broken),
		cmocka_unit_test(a_name_given_twice_is_broken),
		cmocka_unit_test(a_bad_end_after_good_results_is_broken),
		cmocka_unit_test(a_plan_changed_is_broken),
		cmocka_unit_test(a_failure_cannot_drown_in_results),
		cmocka_unit_test(a_cut_stream_fails_the_case_that_ran),
		cmocka_unit_test(hostile_text_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
