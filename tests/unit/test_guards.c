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

static double ten_seconds(const char *glob, void *data)
{
	(void)glob;
	(void)data;
	return 10;
}

static struct guard *add_guard(GPtrArray *all, const char *by, const char *gate, const char *tests)
{
	struct guard *g = g_new0(struct guard, 1);
	g_auto(GStrv) names = g_strsplit(tests, " ", 0);

	g->by = (char *)by;
	g->gate = (char *)gate;
	g->file = (char *)"mm/x.c";
	g->function = (char *)"f";
	g->tests = g_ptr_array_new_with_free_func(g_free);
	g->machines = g_ptr_array_new_with_free_func(g_free);
	for (char **n = names; *n; n++)
		g_ptr_array_add(g->tests, g_strdup(*n));
	g_ptr_array_add(all, g);
	return g;
}

static void guard_drop(gpointer guard)
{
	struct guard *g = guard;

	g_ptr_array_unref(g->tests);
	g_ptr_array_unref(g->machines);
	g_free(g);
}

/*
 * Four mutants of one function: one test that notices three of them, one for the fourth, and others that notice
 * what those do.  The first two look at everything; a budget for two must not take another.
 */
static void all_guards_first(void **state)
{
	const struct place p = { "mm/x.c", "f" };
	g_autoptr(GPtrArray) guards = g_ptr_array_new_with_free_func(guard_drop);
	static const char *const want[] = { "kvm/c", "kvm/d", "kvm/b", "kvm/a" };
	struct choice *c;

	(void)state;
	add_guard(guards, "mutant one", NULL, "kvm/b kvm/c kvm/a");
	add_guard(guards, "mutant two", NULL, "kvm/b kvm/c");
	add_guard(guards, "mutant three", NULL, "kvm/c");
	add_guard(guards, "mutant four", NULL, "kvm/d");
	c = choice_make(guards, &p, 1);
	assert_int_equal(c->tests->len, G_N_ELEMENTS(want));
	for (guint i = 0; i < c->tests->len; i++)
		assert_string_equal(((struct chosen_test *)c->tests->pdata[i])->glob, want[i]);
	choice_free(c);
	/* each test of a gate is claimed by itself */
	add_guard(guards, "gate g", "g", "kvm/a kvm/d");
	c = choice_make(guards, &p, 1);
	assert_string_equal(((struct chosen_test *)c->tests->pdata[0])->glob, "kvm/c");
	assert_string_equal(((struct chosen_test *)c->tests->pdata[1])->glob, "kvm/d");
	assert_string_equal(((struct chosen_test *)c->tests->pdata[2])->glob, "kvm/a");
	choice_free(c);
}

/* What a gate claims without a machine is claimed of each of its own; what is run anyway costs nothing more */
static void machines_of_claims(void **state)
{
	const struct place p = { "mm/x.c", "f" };
	g_autoptr(GPtrArray) guards = g_ptr_array_new_with_free_func(guard_drop);
	static const char *const want[] = { "kvm/a/x@one", "kvm/a@one", "kvm/a@two", "kvm/a/y" };
	static const char *const costs[] = { "kvm/a@one", "kvm/a@two", "kvm/a/x@one", "kvm/a/y" };
	struct guard *g = add_guard(guards, "gate g", "g", "kvm/a kvm/a/x@one");
	struct choice *c;

	(void)state;
	g_ptr_array_add(g->machines, g_strdup("one"));
	g_ptr_array_add(g->machines, g_strdup("two"));
	add_guard(guards, "mutant one", NULL, "kvm/a/y");
	c = choice_make(guards, &p, 1);
	assert_int_equal(c->tests->len, G_N_ELEMENTS(want));
	for (guint w = 0; w < G_N_ELEMENTS(want); w++) {
		bool found = false;

		for (guint i = 0; i < c->tests->len; i++)
			found |= !strcmp(((struct chosen_test *)c->tests->pdata[i])->glob, want[w]);
		assert_true(found);
	}
	for (guint i = 0; i < c->tests->len; i++) {
		struct chosen_test *t = c->tests->pdata[i];

		g_free(t->glob);
		t->glob = g_strdup(costs[i]);
	}
	choice_bound(c, 30, ten_seconds, NULL);
	for (guint i = 0; i < c->tests->len; i++) {
		assert_true(((struct chosen_test *)c->tests->pdata[i])->kept);
		assert_int_equal(((struct chosen_test *)c->tests->pdata[i])->seconds, i == 2 ? 0 : 10);
	}
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
		cmocka_unit_test(all_guards_first),
		cmocka_unit_test(machines_of_claims),
		cmocka_unit_test(a_file_alone),
		cmocka_unit_test(nothing_guarded),
		cmocka_unit_test(budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
