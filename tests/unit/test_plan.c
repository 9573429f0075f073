// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/plan/plan.c host/plan/catalog.c host/plan/head.c host/base/*.c
/* Head comments, globs and machines: what runs where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

/* plan.c packs modules through this; nothing here loads any */
GPtrArray *modules_resolve(const struct kernel *k, const char *const *names, GPtrArray *missing,
			   GError **err)
{
	(void)k;
	(void)names;
	(void)missing;
	(void)err;
	return g_ptr_array_new();
}

/* A kernel without CONFIG_ABSENT */
char kernel_config(const struct kernel *k, const char *name)
{
	(void)k;
	return strcmp(name, "ABSENT") ? 'y' : 'n';
}

static GPtrArray *list(const char *first, ...)
{
	GPtrArray *l = g_ptr_array_new();
	const char *w;
	va_list ap;

	va_start(ap, first);
	for (w = first; w; w = va_arg(ap, const char *))
		g_ptr_array_add(l, (char *)w);
	va_end(ap);
	return l;
}

static GPtrArray *catalog(void)
{
	GPtrArray *c = g_ptr_array_new_with_free_func(catalog_test_free);

	g_ptr_array_add(c, catalog_parse("kvm/order",
		"/*\n * mmgate-about: order\n * mmgate-machines: default numa-fake2\n"
		" * mmgate-quick: default\n * mmgate-quick-cases: anon-*\n * mmgate-timeout: 77\n"
		" * mmgate-guards: abc mm: one\n * mmgate-guards: def mm: two\n */\n"
		"static const char *x = \"mmgate-about: not this\";\n/* mmgate-timeout: 5 */\n"));
	g_ptr_array_add(c, catalog_parse("mm/zone", "/*\n * no tags at all\n */\n"));
	return c;
}

static void tags(void **state)
{
	GPtrArray *c = catalog();
	struct test *t = c->pdata[0];

	(void)state;
	assert_string_equal(t->about, "order");
	assert_int_equal(t->guards->len, 2);
	assert_string_equal(t->guards->pdata[1], "def mm: two");
	assert_int_equal(t->timeout, 77);
	t = c->pdata[1];
	assert_string_equal(t->machines->pdata[0], "default");
	g_ptr_array_unref(c);
}

/* Both kinds of comments, the first paragraph, and where the head ends */
static void head_comment(void **state)
{
	struct test *t = catalog_parse("mm/x",
		"/* SPDX-License-Identifier: GPL-2.0 */\n\n// mmgate-timeout: 5\n/*\n * Before the tags.\n"
		" * mmgate-about: x\n * mmgate-export: no, it is ours\n *\n * One line,\n *\tand one more.\n *\n"
		" * Another paragraph; mmgate-about: not this\n */\n#include <a.h>\n// mmgate-timeout: 6\n");

	(void)state;
	assert_string_equal(t->about, "x");
	assert_string_equal(t->prose, "One line, and one more.");
	assert_true(t->stays);
	assert_int_equal(t->timeout, 5);
	catalog_test_free(t);
	t = catalog_parse("mm/x", "/* mmgate-machines: one */ int x;\n/* mmgate-about: late */");
	assert_string_equal(t->machines->pdata[0], "one");
	assert_int_equal(t->machines->len, 1);
	assert_string_equal(t->prose, "");
	assert_false(t->stays);
	catalog_test_free(t);
}

static void check_plan(GPtrArray *globs, GPtrArray *machines, int boots, int tests, const char *one_case)
{
	GPtrArray *c = catalog(), *plan;
	GError *err = NULL;
	int n = 0;
	guint i;

	plan = plan_make(c, globs, machines, &err);
	if (!plan)
		fail_msg("%s", err->message);
	assert_int_equal(plan->len, boots);
	for (i = 0; i < plan->len; i++) {
		struct boot_plan *bp = plan->pdata[i];
		struct planned *p = bp->tests->pdata[0];

		n += bp->tests->len;
		assert_int_equal(p->cases->len, one_case ? 1 : 0);
		if (one_case)
			assert_string_equal(p->cases->pdata[0], one_case);
	}
	assert_int_equal(n, tests);
	g_ptr_array_unref(plan);
	g_ptr_array_unref(c);
	g_ptr_array_unref(globs);
	g_ptr_array_unref(machines);
}

static void what_runs_where(void **state)
{
	(void)state;
	/* the main job */
	check_plan(list(NULL, NULL), list(NULL, NULL), 1, 1, "anon-*");
	/* everything, on the machines the tests ask for */
	check_plan(list("*", NULL), list(NULL, NULL), 2, 3, NULL);
	check_plan(list("kvm", NULL), list(NULL, NULL), 2, 2, NULL);
	check_plan(list("kvm/order/thp", NULL), list(NULL, NULL), 2, 2, "thp");
	check_plan(list("kvm/*/thp", NULL), list("default", NULL), 1, 1, "thp");
	/* a machine alone: the tests that ask for it; with a glob: these tests there */
	check_plan(list(NULL, NULL), list("numa-fake2", NULL), 1, 1, NULL);
	check_plan(list("mm/zone", NULL), list("numa-fake2", NULL), 1, 1, NULL);
	/* "@MACHINE" narrows a glob, with and without its machines asked for */
	check_plan(list("mm/zone@numa-fake2", NULL), list("default", "numa-fake2", NULL), 1, 1, NULL);
	check_plan(list("kvm/*/thp@default", NULL), list(NULL, NULL), 1, 1, "thp");
}

static void nothing_fits(void **state)
{
	GPtrArray *c = catalog(), *g = list("kvm/nothing", NULL), *m = list("no-such", NULL), *e = list(NULL, NULL);
	GError *err = NULL;

	(void)state;
	assert_null(plan_make(c, g, e, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	assert_null(plan_make(c, e, m, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	/* a glob's machine that is not among those asked for is not dropped without a word */
	g_ptr_array_unref(m);
	m = list("default", NULL);
	g_ptr_array_unref(g);
	g = list("mm/zone@numa-fake2", NULL);
	assert_null(plan_make(c, g, m, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	g_ptr_array_unref(c);
	g_ptr_array_unref(g);
	g_ptr_array_unref(m);
	g_ptr_array_unref(e);
}

/* The same machines and orders for the same number, others for another */
static void shuffled(void **state)
{
	GPtrArray *c = g_ptr_array_new_with_free_func(catalog_test_free);
	GPtrArray *globs = list("mm/*", NULL), *machines = list("default", NULL), *plan;
	GString *first = NULL;
	int other = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		char *name = g_strdup_printf("mm/t%d", i);

		g_ptr_array_add(c, catalog_parse(name, "/* mmgate-machines: default */\n"));
		g_free(name);
	}
	for (int seed = 1; seed < 6; seed++) {
		for (int again = 0; again < 2; again++) {
			GString *order = g_string_new(NULL);
			struct boot_plan *bp;

			plan = plan_make(c, globs, machines, NULL);
			assert_non_null(plan);
			plan_shuffle(plan, seed);
			bp = plan->pdata[0];
			assert_int_equal(bp->tests->len, 8);
			for (guint i = 0; i < bp->tests->len; i++)
				g_string_append(order, ((struct planned *)bp->tests->pdata[i])->test->name);
			if (!again && first)
				other += !g_string_equal(first, order);
			if (again)
				assert_true(g_string_equal(first, order));
			if (first)
				g_string_free(first, TRUE);
			first = order;
			g_ptr_array_unref(plan);
		}
	}
	assert_true(other >= 3);
	g_string_free(first, TRUE);
	g_ptr_array_unref(globs);
	g_ptr_array_unref(machines);
	g_ptr_array_unref(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags),
		cmocka_unit_test(head_comment),
		cmocka_unit_test(what_runs_where),
		cmocka_unit_test(nothing_fits),
		cmocka_unit_test(shuffled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
