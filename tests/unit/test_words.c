// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/base/*.c
/* Unit tests of the words for results, states and verdicts, and of small readers of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"

static const int last[NR_WORDS] = {
	[WORDS_RESULT] = RESULT_SKIP, [WORDS_STATE] = STATE_REFUSED, [WORDS_CHANGE] = CHANGE_ABSENT,
	[WORDS_VERDICT] = VERDICT_BROKEN, [WORDS_CLAIM] = CLAIM_NONE, [WORDS_FATE] = FATE_UNSEEN,
};

/* Each value has a word of its own, and the word leads back to it */
static void test_round_trip(void **state)
{
	(void)state;
	for (int kind = 0; kind < NR_WORDS; kind++) {
		for (int v = 0; v <= last[kind]; v++) {
			assert_non_null(word_of(kind, v));
			assert_int_equal(word_find(kind, word_of(kind, v)), v);
		}
		assert_int_equal(word_find(kind, "no such word"), -1);
	}
}

/* What run.json does not say, or says in a word nobody knows, is never a pass */
static void test_unknown(void **state)
{
	json_t *o = json_pack("{s:s, s:i, s:s}", "result", "PASS", "state", 1, "claim", "mends");

	(void)state;
	assert_int_equal(obj_result(o), RESULT_NONE);
	assert_int_equal(obj_verdict(o), RESULT_NONE);
	assert_int_equal(obj_state(o), STATE_NONE);
	assert_int_equal(obj_change(o), CHANGE_ABSENT);
	assert_int_equal(obj_claim(o), CLAIM_NONE);
	assert_int_equal(obj_fate(o), FATE_UNSEEN);
	json_decref(o);
}

/* The exit status that docs/results.md gives each verdict */
static void test_exit(void **state)
{
	(void)state;
	assert_int_equal(exit_result(MMG_EXIT_OK), RESULT_PASS);
	assert_int_equal(exit_result(MMG_EXIT_FAIL), RESULT_FAIL);
	assert_int_equal(exit_result(MMG_EXIT_NOTHING), RESULT_SKIP);
	assert_int_equal(exit_result(MMG_EXIT_BROKEN), RESULT_BROKEN);
	assert_int_equal(exit_result(MMG_EXIT_INTERRUPTED), RESULT_BROKEN);
}

static void test_glob_split(void **state)
{
	const char *machine;
	char *test;

	(void)state;
	test = mmg_glob_split("kvm/aging/*@numa-*", &machine);
	assert_string_equal(test, "kvm/aging/*");
	assert_string_equal(machine, "numa-*");
	g_free(test);
	test = mmg_glob_split("kvm/aging", &machine);
	assert_string_equal(test, "kvm/aging");
	assert_null(machine);
	g_free(test);
}

static void test_fields(void **state)
{
	static const char config[] = "CONFIG_NUMA_EMU=y\nCONFIG_XNUMA=y\n# CONFIG_KVM is not set\nCONFIG_NUMA=m\nCONFIG_NR_CPUS=64";
	static const struct {
		const char *option, *value;
	} all[] = {
		{ "CONFIG_NUMA", "m" }, { "CONFIG_NUMA_EMU", "y" }, { "CONFIG_KVM", "n" },
		{ "CONFIG_NR_CPUS", "64" }, { "NUMA", "n" }, { "CONFIG_ABSENT", "n" },
	};
	char *v;

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		v = kconfig_value(config, all[i].option);
		assert_string_equal(v, all[i].value);
		g_free(v);
	}
	v = text_field("Package: a\nversion:  1.2 \nVersions: 3\n", "Version");
	assert_string_equal(v, "1.2");
	g_free(v);
	assert_null(text_field("Package: a\n", "Version"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_glob_split),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
