// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/plan/guards.c host/base/*.c
/* What a change calls for, by the gates and mutants of this checkout */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/guards.h"

static struct choice *choose(const char *file, const char *function)
{
	const struct place p = { file, function };
	g_autoptr(GPtrArray) guards = guards_load(NULL);

	assert_non_null(guards);
	return choice_make(guards, &p, 1);
}

static bool has_gate(const struct choice *c, const char *name)
{
	return g_ptr_array_find_with_equal_func(c->gates, name, g_str_equal, NULL);
}

static void a_gate_and_its_tests(void **state)
{
	struct choice *c = choose("mm/page_alloc.c", "setup_per_zone_lowmem_reserve");

	(void)state;
	assert_true(has_gate(c, "lowmem-reserve"));
	assert_false(has_gate(c, "mglru-secondary-mmu"));
	assert_true(c->tests->len > 0);
	for (guint i = 0; i < c->tests->len; i++) {
		const struct chosen_test *t = c->tests->pdata[i];

		assert_true(t->weight >= 10);
		assert_non_null(strstr(t->why, "setup_per_zone_lowmem_reserve() of mm/page_alloc.c"));
	}
	choice_free(c);
}

static void most_telling_first(void **state)
{
	struct choice *c = choose("mm/vmscan.c", "walk_pte_range");

	(void)state;
	assert_true(has_gate(c, "mglru-secondary-mmu"));
	for (guint i = 1; i < c->tests->len; i++)
		assert_true(((struct chosen_test *)c->tests->pdata[i - 1])->weight >=
			    ((struct chosen_test *)c->tests->pdata[i])->weight);
	choice_free(c);
}

static void a_file_alone(void **state)
{
	struct choice *c = choose("mm/vmscan.c", "a_function_nobody_guards");

	(void)state;
	/* its tests are asked for, but no gate claims it */
	assert_int_equal(c->gates->len, 0);
	assert_true(c->tests->len > 0);
	choice_free(c);
}

static void nothing_guarded(void **state)
{
	struct choice *c = choose("drivers/net/veth.c", "veth_xmit");

	(void)state;
	assert_int_equal(c->gates->len + c->tests->len + c->places->len, 0);
	choice_free(c);
}

static double ten_seconds(const char *glob, void *data)
{
	(void)glob;
	(void)data;
	return 10;
}

static void budget(void **state)
{
	struct choice *c = choose("mm/vmscan.c", "a_function_nobody_guards");
	guint kept = 0;

	(void)state;
	choice_bound(c, 25, ten_seconds, NULL);
	for (guint i = 0; i < c->tests->len; i++)
		kept += ((struct chosen_test *)c->tests->pdata[i])->kept;
	assert_int_equal(kept, 2);
	choice_bound(c, 1, ten_seconds, NULL);
	assert_true(((struct chosen_test *)c->tests->pdata[0])->kept);
	choice_bound(c, 0, ten_seconds, NULL);
	for (guint i = 0; i < c->tests->len; i++)
		assert_true(((struct chosen_test *)c->tests->pdata[i])->kept);
	choice_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gate_and_its_tests),
		cmocka_unit_test(most_telling_first),
		cmocka_unit_test(a_file_alone),
		cmocka_unit_test(nothing_guarded),
		cmocka_unit_test(budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
