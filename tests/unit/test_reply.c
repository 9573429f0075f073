// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/report/reply.c host/base/*.c
/* The reply to a series: width, threads, commands, and when it is Tested-by */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "report/reply.h"

static json_t *tally(int pass, int fail, int broken)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:f, s:f}", "pass", pass, "fail", fail, "skip", 0, "broken", broken,
			 "fail_rate_low", 0.0, "fail_rate_high", 1.0);
}

static json_t *a_case(const char *name, const char *change, json_t *base, json_t *patched)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:s}", "name", name, "machine", "small-zones", "claim",
			 "", "change", change, "base", base, "patched", patched, "base_reason",
			 "a reason with a word of more than a line: "
			 "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567",
			 "patched_reason", "caf\xc3\xa9");
}

static json_t *a_run(const char *verdict, json_t *cases)
{
	return json_pack("{s:{s:s}, s:i, s:[{s:s, s:s}], s:{s:s, s:s, s:o}, s:[{s:s}]}", "host", "accel", "tcg", "seed", 1,
			 "kernels", "release", "6.12.0", "arch", "x86_64", "gate", "verdict", verdict, "reason",
			 "because", "cases", cases, "past", "note", "kvm/x/y@default: failed in 2 of the last 10 runs as well");
}

static void assert_narrow(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **l = lines; *l; l++)
		assert_true(strlen(*l) <= 72);
	assert_true(g_str_is_ascii(text));
}

static void narrow_however_long_the_names(void **state)
{
	json_t *cases = json_pack("[o, o, o]",
		a_case("kvm/eviction_order/anon-4k", "fixed", tally(0, 3, 0), tally(3, 0, 0)),
		a_case("kvm/a_test_with_a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on/and_a_case_of_it_that_does_so_too",
		       "broken", tally(100, 0, 1000), tally(1, 0, 1000)),
		a_case("mm/caf\xc3\xa9/x", "regressed", tally(3, 0, 0), tally(0, 3, 0)));
	json_t *run = a_run("regressed", cases);
	struct reply r = { .run = run, .tester = "A <a@example.org>" };
	g_autofree char *body = reply_body(&r);

	(void)state;
	assert_narrow(body);
	assert_true(g_str_has_prefix(body, "mmgate: regressed: because"));
	assert_non_null(strstr(body, "failed in 2 of the last 10"));
	assert_non_null(strstr(body, "accelerator tcg,"));
	assert_null(strstr(body, "Tested-by"));
	json_decref(run);
}

static void tested_only_where_all_is_fixed(void **state)
{
	static const struct {
		const char *verdict, *second;
		bool tested;
	} rows[] = {
		{ "pass", "still passing", true }, { "pass", "still failing", false },
		{ "regressed", "still passing", false }, { "inconclusive", "still passing", false },
	};

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		json_t *cases = json_pack("[o, o]", a_case("mm/a/b", "fixed", tally(0, 3, 0), tally(3, 0, 0)),
					  a_case("mm/a/c", rows[i].second, tally(0, 3, 0), tally(0, 3, 0)));
		json_t *run = a_run(rows[i].verdict, cases);
		struct reply r = { .run = run, .tester = "A <a@example.org>" };
		g_autofree char *body = reply_body(&r);

		assert_int_equal(strstr(body, "\nTested-by: A <a@example.org>\n") != NULL, rows[i].tested);
		json_decref(run);
	}
}

/* What a shell makes of the command: its words, one a line */
static char *by_shell(const char *command)
{
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	char *out = NULL;
	int status = -1;

	assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, NULL, &status, NULL));
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	return out;
}

static void commands_are_narrow_and_whole(void **state)
{
	static const char *const ids[] = {
		"short@example.org", "a'b c$(touch x)>y;z@example.org", "''''''''''''''''''''''''''''''''''''''''",
		"20261203060000.0123456789abcdef-very-long-message-identifier-of-a-mail-program-1-somebody.with.a.name@mail.example.org",
		"with 'quotes' and blanks, as long as no line: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x",
	};

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		const char *const words[] = { "printf", "%s\\n", "am", "-o", "-", ids[i], "--base", ids[i], NULL };
		g_autofree char *command = reply_command(words, NULL), *out = NULL, *want = NULL;

		assert_narrow(command);
		out = by_shell(command);
		want = g_strdup_printf("am\n-o\n-\n%s\n--base\n%s\n", ids[i], ids[i]);
		assert_string_equal(out, want);
	}
}

static void into_a_file(void **state)
{
	static const char *const words[] = { "b4", "am", "-o", "-", "1@x", NULL };
	g_autofree char *command = reply_command(words, "series.mbox");

	(void)state;
	assert_string_equal(command, "  b4 am -o - 1@x >series.mbox\n");
}

/* A name of usual length stands on the line of its results */
static void one_line_a_case(void **state)
{
	json_t *run = a_run("pass", json_pack("[o]", a_case("mm/lowmem_reserve/ratio-some-0", "fixed", tally(0, 3, 0),
							    tally(3, 0, 0))));
	struct reply r = { .run = run };
	g_autofree char *body = reply_body(&r), *row = NULL;

	(void)state;
	row = g_strdup_printf("\n  %-52s FAIL 3/3 pass 3/3\n", "mm/lowmem_reserve/ratio-some-0@small-zones");
	assert_non_null(strstr(body, row));
	json_decref(run);
}

static void nothing_of_this_host(void **state)
{
	static const char *const typed[] = { "./run.sh", "bisect", "--tree", "/home/me/linux", "--good", "v6.12", "--bad", "v6.13",
					     "--test", "mm/lowmem_reserve/formula", "--out", "/home/me/out" };
	static const char *const joined[] = { "./run.sh", "bisect", "--tree=/home/me/linux", "--out=/home/me/out", "--bad", "x" };
	g_autoptr(GPtrArray) a = g_ptr_array_new(), b = g_ptr_array_new();
	g_autofree char *first = NULL, *second = NULL, *reason = NULL;

	(void)state;
	for (guint i = 0; i < G_N_ELEMENTS(typed); i++)
		g_ptr_array_add(a, (char *)typed[i]);
	for (guint i = 0; i < G_N_ELEMENTS(joined); i++)
		g_ptr_array_add(b, (char *)joined[i]);
	first = reply_again(a);
	second = reply_again(b);
	/* one command for a shell, however many lines */
	assert_string_equal(first, "  ./run.sh bisect --tree linux --good v6.12 --bad v6.13 --test \\\n"
				   "    mm/lowmem_reserve/formula\n");
	assert_string_equal(second, "  ./run.sh bisect --tree=linux --bad x\n");
	reason = reply_reason("/home/me/linux has no Kconfig, see /home/me/out/log; the whole log is /x/build.log", "/home/me/linux",
			      "/home/me/out");
	assert_string_equal(reason, "the tree has no Kconfig, see results/log");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_this_host), cmocka_unit_test(one_line_a_case),
		cmocka_unit_test(narrow_however_long_the_names), cmocka_unit_test(tested_only_where_all_is_fixed),
		cmocka_unit_test(commands_are_narrow_and_whole), cmocka_unit_test(into_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
