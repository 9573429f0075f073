// SPDX-License-Identifier: GPL-2.0-only
/* What a run says of a mutant: killed, survived, or nothing where the host lost the VM. */
// unit-sources: host/verbs/mutants_judge.c host/run/seen.c host/run/verdict.c host/base/*.c
#include "verbs/mutants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* A run of the case kvm/aging/a on two machines, with what became of the VM and of the case on each */
static json_t *made(const char *state1, const char *result1, const char *state2, const char *result2)
{
	json_error_t e;
	json_t *j = json_pack_ex(&e, 0, "{s:[{s:i,s:s,s:s,s:s,s:i},{s:i,s:s,s:s,s:s,s:i}],"
				 "s:[{s:s,s:s,s:i,s:s,s:i,s:s},{s:s,s:s,s:i,s:s,s:i,s:s}]}", "boots",
				 "kernel", 0, "machine", "one", "state", state1, "reason", "qemu died", "repeat", 0,
				 "kernel", 0, "machine", "two", "state", state2, "reason", "qemu died", "repeat", 0,
				 "cases",
				 "name", "kvm/aging/a", "machine", "one", "kernel", 0, "result", result1, "repeat", 0,
				 "reason", "r",
				 "name", "kvm/aging/a", "machine", "two", "kernel", 0, "result", result2, "repeat", 0,
				 "reason", "r");

	assert_non_null(j);
	return j;
}

static enum fate judge(json_t *run, unsigned int *kills)
{
	struct edit_script script = { 0 };
	struct mutant m = { .script = &script };
	json_t *good = made("goodbye", "pass", "goodbye", "pass");

	m.kills = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	m.shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	mutant_judge(&m, good, run);
	*kills = g_hash_table_size(m.kills);
	g_hash_table_unref(m.kills);
	g_hash_table_unref(m.shown);
	g_free(m.first);
	json_decref(good);
	json_decref(run);
	return m.fate;
}

static void test_seen(void **state)
{
	unsigned int kills;

	(void)state;
	assert_int_equal(judge(made("goodbye", "pass", "goodbye", "pass"), &kills), FATE_SURVIVED);
	assert_int_equal(kills, 0);
	assert_int_equal(judge(made("goodbye", "fail", "goodbye", "pass"), &kills), FATE_KILLED);
	assert_int_equal(kills, 1);
	/* an experiment that the mutant broke: a kill, if a weak one */
	assert_int_equal(judge(made("goodbye", "broken", "goodbye", "pass"), &kills), FATE_KILLED);
	assert_int_equal(judge(made("panic", "fail", "goodbye", "pass"), &kills), FATE_KILLED);
}

/* The host lost a VM: neither a kill nor a survivor, unless the other machine saw something */
static void test_lost(void **state)
{
	unsigned int kills;

	(void)state;
	assert_int_equal(judge(made("lost", "broken", "lost", "broken"), &kills), FATE_UNSEEN);
	assert_int_equal(kills, 0);
	assert_int_equal(judge(made("lost", "broken", "goodbye", "pass"), &kills), FATE_UNSEEN);
	assert_int_equal(judge(made("lost", "broken", "goodbye", "fail"), &kills), FATE_KILLED);
	assert_int_equal(judge(made("lost", "fail", "goodbye", "pass"), &kills), FATE_KILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_seen), cmocka_unit_test(test_lost) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
