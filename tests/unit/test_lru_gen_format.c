// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/lru_gen_format.c
/* The exact form of lru_gen and lru_gen_full: each kind of damage is found and located. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lru_gen_format.h"

#define HEAD	"memcg     1 /\n node     0\n"
#define GEN(n)	"          " n "       1234         56           7 \n"
#define SHORT	HEAD GEN("1") GEN("2")

#define ROW(n, a, b, c) "                     " n "          0" a "          1" b \
	"          2" c "          0" a "          1" b "          2" c "\n"
#define TIERS(a, b, c) ROW("0", a, b, c) ROW("1", a, b, c) ROW("2", a, b, c) ROW("3", a, b, c)
#define NUM(m)	"          0" m
#define WALK4(a, b, c, d) "                      " NUM(a) NUM(b) NUM(c) NUM(d) "\n"
#define WALK6(a, b, c, d, e, f) "                      " NUM(a) NUM(b) NUM(c) NUM(d) NUM(e) \
	NUM(f) "\n"
#define FULL	HEAD GEN("1") TIERS("r", "e", "p") WALK4("x", "x", "x", "x") \
	GEN("2") TIERS("R", "T", "x") WALK4("T", "Y", "F", "A")
#define OLD	HEAD GEN("1") TIERS("r", "e", "p") WALK6(" ", " ", " ", " ", " ", " ") \
	GEN("2") TIERS("R", "T", " ") WALK6("L", "O", "Y", "N", "F", "A")

static struct lru_gen_format f;
static struct lru_gen_error err;

static int check(const char *text, bool full)
{
	return lru_gen_check_format(text, full, &f, &err);
}

static void good(void **state)
{
	(void)state;
	assert_int_equal(check(SHORT, false), 0);
	assert_int_equal(f.gens, 2);
	assert_int_equal(f.columns, 0);
	assert_int_equal(check("memcg 4294967296 /a b\n" SHORT, false), 0);
	assert_int_equal(f.memcgs, 2);
	assert_int_equal(check(FULL, true), 0);
	assert_int_equal(f.columns, 4);
	assert_int_equal(f.tiers, 8);
	assert_string_equal(f.walk, "TYFA");
	assert_string_equal(f.tier, "RTx");
}

static void before_the_companion_patch(void **state)
{
	(void)state;
	assert_int_equal(check(OLD, true), 0);
	assert_int_equal(f.columns, 6);
	assert_string_equal(f.walk, "LOYNFA");
	assert_string_equal(f.tier, "RT ");
}

static void swapped_files(void **state)
{
	(void)state;
	assert_int_not_equal(check(FULL, false), 0);
	assert_int_equal(err.line, 4);
	assert_non_null(strstr(err.what, "long form"));
	assert_int_not_equal(check(SHORT, true), 0);
	assert_non_null(strstr(err.what, "tier rows"));
}

static void mixtures(void **state)
{
	(void)state;
	/* letters of columns that were removed, on rows of four */
	assert_int_not_equal(check(HEAD GEN("1") TIERS("r", "e", "p") WALK4("x", "x", "x", "x")
				   GEN("2") TIERS("R", "T", " ") WALK4("L", "O", "Y", "N"), true),
			     0);
	assert_int_not_equal(check(HEAD GEN("1") TIERS("r", "e", "p") WALK4("x", "x", "x", "x")
				   GEN("2") TIERS("R", "T", "x") WALK4("L", "O", "Y", "N"), true),
			     0);
	assert_int_not_equal(check(HEAD GEN("1") TIERS("r", "e", "p")
				   WALK6("x", "x", "x", "x", "x", "x")
				   GEN("2") TIERS("R", "T", "x") WALK4("T", "Y", "F", "A"), true),
			     0);
	/* one file has both forms: every row of counters is a generation's */
	assert_int_not_equal(check(SHORT WALK4("T", "Y", "F", "A"), false), 0);
}

static void damage(void **state)
{
	static const char *const texts[] = {
		"", "memcg", "memcg x /\n", "memcg     1 no-path\n", "memcg      1 /\n",
		HEAD "junk\n", HEAD GEN("1"), HEAD GEN("1") GEN("3"), " node     0\n",
		"memcg     1 /\n node 0\n", HEAD " 1 2 3  4 \n", HEAD GEN("1") " node     1\n",
		HEAD GEN("1") GEN("2") GEN("3") GEN("4") GEN("5"),
		HEAD "          1       1234         56x          7 \n" GEN("2"),
		HEAD GEN("1") "          2       1234         56           7 ",
		HEAD "          1       1234        -56           7 \n" GEN("2"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!check(texts[i], false))
			fail_msg("taken for well-formed: \"%s\"", texts[i]);
		assert_true(err.what[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(before_the_companion_patch),
		cmocka_unit_test(swapped_files),
		cmocka_unit_test(mixtures),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
