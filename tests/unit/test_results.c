// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/results.c host/base/*.c
/* The verdict: which results make a run green, red, broken or empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/run.h"

static json_t *run_of(const char *text)
{
	json_error_t e;
	json_t *run = json_loads(text, 0, &e);

	if (!run)
		fail_msg("fixture: %s", e.text);
	return run;
}

#define KERNELS "'kernels':[{'label':'6.12'}],"
#define CASE(n, r) "{'name':'kvm/" n "','result':'" r "','reason':'why','kernel':0,'machine':'default'}"

static int judge(const char *quoted, const char *verdict, const char *in_reason)
{
	char *text = g_strdup(quoted), *p;
	json_t *run;
	int status;

	for (p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	run = run_of(text);
	status = results_judge(run);
	assert_string_equal(json_string_value(json_object_get(run, "verdict")), verdict);
	assert_int_equal(json_integer_value(json_object_get(run, "exit")), status);
	if (!strstr(json_string_value(json_object_get(run, "reason")), in_reason))
		fail_msg("reason '%s' lacks '%s'", json_string_value(json_object_get(run, "reason")),
			 in_reason);
	json_decref(run);
	g_free(text);
	return status;
}

static void order_of_words(void **state)
{
	(void)state;
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[" CASE("a", "pass") "]}", "pass", "1 case"), 0);
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[" CASE("a", "pass") "," CASE("b", "broken") ","
			       CASE("c", "fail") "]}", "fail", "kvm/c on 6.12 (default): why"), 1);
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[" CASE("a", "pass") "," CASE("b", "broken") "]}",
			       "broken", "kvm/b"), 3);
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[" CASE("a", "skip") "]}", "skip", "nothing ran"), 4);
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[]}", "skip", "nothing ran"), 4);
	assert_int_equal(judge("{" KERNELS "'complete':false,'cases':[" CASE("a", "pass") "]}", "broken",
			       "not complete"), 3);
}

static void splats_fail_the_run(void **state)
{
	const char *warn = "{" KERNELS "'complete':true,'cases':[" CASE("a", "pass") "],'boots':[{'kernel':0,"
		"'machine':'default','state':'goodbye','splats':[{'title':'WARNING: x','test':'kvm/a'%s}]}]}";
	char *plain = g_strdup_printf(warn, ""), *allowed = g_strdup_printf(warn, ",'allowed':'entry'");

	(void)state;
	assert_int_equal(judge(plain, "fail", "WARNING: x"), 1);
	assert_int_equal(judge(allowed, "pass", "1 case"), 0);
	assert_int_equal(judge("{" KERNELS "'complete':true,'cases':[" CASE("a", "broken") "],'boots':[{'kernel':0,"
			       "'machine':'default','state':'no-boot','splats':[{'title':'Kernel panic'}]}]}",
			       "broken", "kvm/a"), 3);
	g_free(plain);
	g_free(allowed);
}

static void required_skips_are_not_green(void **state)
{
	(void)state;
	assert_int_equal(judge("{" KERNELS "'complete':true,'requires':[{'glob':'kvm/a'}],'cases':["
			       CASE("a", "pass") "]}", "pass", "1 case"), 0);
	assert_int_equal(judge("{" KERNELS "'complete':true,'requires':[{'glob':'kvm/*'}],'cases':["
			       CASE("a", "pass") "," CASE("b", "skip") "]}", "broken", "required kvm/*"), 3);
	assert_int_equal(judge("{" KERNELS "'complete':true,'requires':[{'glob':'mm/*'}],'cases':["
			       CASE("a", "pass") "]}", "broken", "required mm/*"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_words),
		cmocka_unit_test(splats_fail_the_run),
		cmocka_unit_test(required_skips_are_not_green),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
