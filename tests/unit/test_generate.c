// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/generate.c host/source/cparse.c host/source/guarded.c host/source/edit.c host/source/nearest.c host/base/*.c
/* Mutants made by rule: what each operator makes, what none of them touches, and that no two are the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glib/gstdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/generate.h"

static const char text[] =
	"#define NULL ((void *)0)\n"
	"#define WRITE_ONCE(x, v) do { *(volatile int *)&(x) = (v); } while (0)\n"
	"#define for_each(i, n) for (i = 0; i < (n) && 1 == 1; i++)\n"
	"#define likely(x) __builtin_expect(!!(x), 1)\n"
	"#define WARN_ON(x) do { if (x) warn(); } while (0)\n"
	"typedef _Bool bool;\n"
	"enum { false, true };\n"
	"struct page { int young, nr; struct page *next; };\n"
	"void warn(void);\n"
	"int move(int from, int to, struct page *p);\n"
	"unknown_type nobody_declared_this;\n"
	"\n"
	"static bool look(struct page *p, int n)\n"
	"{\n"
	"	int i, sum = 0;\n"
	"\n"
	"	WARN_ON(!p);\n"
	"	if (likely(p->young) && n < 3)\n"
	"		return true;\n"
	"	for_each(i, n)\n"
	"		sum += p->nr;\n"
	"	while (p->nr) {\n"
	"		if (p->nr == 7)\n"
	"			break;\n"
	"		p->nr &= ~4;\n"
	"		move(n, sum, p);\n"
	"	}\n"
	"	WRITE_ONCE(p->young, sum | 1UL);\n"
	"	if (n < 3)\n"
	"		p->nr = n ? 5 : sum;\n"
	"	else\n"
	"		p->nr++;\n"
	"	return sum > n;\n"
	"}\n"
	"\n"
	"static struct page *next(struct page *p)\n"
	"{\n"
	"	return p->next;\n"
	"}\n"
	"\n"
	"static bool other(struct page *p)\n"
	"{\n"
	"	return look(p, 3);\n"
	"}\n";

/* One for each call: mutants point to theirs */
static GPtrArray *made(const char *function)
{
	static const char *const flags[] = { "-std=gnu11", NULL };
	static struct guarded all[8];
	static size_t nr;
	struct guarded *g = &all[nr++ % G_N_ELEMENTS(all)];
	GError *err = NULL;
	struct c_file *f = c_file_parse("/nowhere/mm/x.c", text, flags, &err);
	GPtrArray *list;

	g->file = (char *)"mm/x.c";
	g->name = (char *)function;
	if (!f)
		fail_msg("%s", err->message);
	list = generate_function(f, text, g);
	c_file_free(f);
	return list;
}

/* The mutant of @operator that makes @with out of @was, told by its whole result; NULL where there is none */
static struct mutation *find(GPtrArray *list, const char *operator, const char *was, const char *with)
{
	g_auto(GStrv) parts = g_strsplit(text, was, 3);
	g_autofree char *want = NULL;

	if (g_strv_length(parts) != 2)
		fail_msg("'%s' is not there once", was);
	want = g_strconcat(parts[0], with, parts[1], NULL);
	for (guint i = 0; i < list->len; i++) {
		struct mutation *m = list->pdata[i];
		struct edit e = { .file = m->file, .function = m->function, .find = m->find, .replace = m->replace,
				  .where = (char *)"test" };
		g_autofree char *got = edit_apply_text(&e, text, NULL);

		/* each one fits, by the engine's own rule */
		assert_non_null(got);
		if (!strcmp(m->operator, operator) && !strcmp(got, want))
			return m;
	}
	return NULL;
}

static void has(GPtrArray *list, const char *operator, const char *was, const char *with)
{
	if (!find(list, operator, was, with))
		fail_msg("no mutant (%s) makes '%s' of '%s'", operator, with, was);
}

static void test_operators(void **state)
{
	GPtrArray *list = made("look");

	(void)state;
	has(list, "negate", "if (likely(p->young) && n < 3)", "if (!(likely(p->young) && n < 3))");
	has(list, "negate", "while (p->nr)", "while (!(p->nr))");
	has(list, "negate", "n ? 5", "!(n) ? 5");
	has(list, "swap", "p->nr == 7", "p->nr != 7");
	has(list, "swap", "likely(p->young) && n", "likely(p->young) || n");
	has(list, "swap", "&& n < 3", "&& n <= 3");
	has(list, "swap", "sum > n", "sum >= n");
	has(list, "bits", "p->nr &= ~4", "p->nr |= ~4");
	has(list, "bits", "sum | 1UL", "sum & 1UL");
	has(list, "off-by-one", "== 7", "== 8");
	has(list, "off-by-one", "1UL", "(1UL + 1)");
	has(list, "off-by-one", "? 5 :", "? 6 :");
	has(list, "drop", "sum += p->nr;", ";");
	has(list, "drop", "break;", ";");
	has(list, "drop", "move(n, sum, p);", ";");
	has(list, "drop", "WRITE_ONCE(p->young, sum | 1UL);", ";");
	has(list, "drop", "p->nr++;", ";");
	has(list, "arguments", "move(n, sum, p)", "move(sum, n, p)");
	has(list, "return", "return sum > n", "return false");
	has(list, "return", "return sum > n", "return true");
	has(list, "return", "return true", "return false");
	g_ptr_array_unref(list);
	list = made("next");
	has(list, "return", "return p->next", "return NULL");
	assert_int_equal(list->len, 1);
	g_ptr_array_unref(list);
}

static void test_left_alone(void **state)
{
	GPtrArray *list = made("look");

	(void)state;
	for (guint i = 0; i < list->len; i++) {
		const struct mutation *m = list->pdata[i];

		/* nothing in a macro's body, nothing in another function, no assertion */
		assert_true(m->line >= 13 && m->line <= 34);
		assert_null(strstr(m->about, "WARN_ON"));
		assert_null(strstr(m->about, "'for_each"));
		assert_null(strstr(m->replace, "!(for_each"));
	}
	/* a lone comparison is swapped, not negated as well: it would be the same kernel twice */
	assert_null(find(list, "negate", "if (p->nr == 7)", "if (!(p->nr == 7))"));
	g_ptr_array_unref(list);
	list = made("absent");
	assert_int_equal(list->len, 0);
	g_ptr_array_unref(list);
}

static void test_no_two_the_same(void **state)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *list = made("look"), *again = made("look");

	(void)state;
	assert_int_equal(list->len, again->len);
	assert_true(list->len > 25);
	for (guint i = 0; i < list->len; i++) {
		struct mutation *m = list->pdata[i];
		struct edit e = { .file = m->file, .function = m->function, .find = m->find, .replace = m->replace,
				  .where = (char *)"test" };
		char *got = edit_apply_text(&e, text, NULL);

		assert_string_equal(m->name, ((struct mutation *)again->pdata[i])->name);
		assert_true(g_hash_table_add(names, m->name));
		assert_string_not_equal(got, text);
		assert_true(g_hash_table_add(results, got));
	}
	g_ptr_array_unref(list);
	g_ptr_array_unref(again);
}

static char **no_flags(const char *file, void *data, GError **err)
{
	(void)file;
	(void)data;
	(void)err;
	return g_new0(char *, 1);
}

static bool late_lines(const char *file, const char *function, unsigned int line, void *data)
{
	(void)file;
	(void)function;
	(void)data;
	return line >= 30;
}

static void test_draw(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	g_autofree char *mm = g_build_filename(dir, "mm", NULL), *x = g_build_filename(mm, "x.c", NULL);
	g_autofree char *conf = g_build_filename(dir, "g.conf", NULL), *eq = g_build_filename(dir, "eq.conf", NULL);
	g_autofree char *out = g_build_filename(dir, "out", NULL), *known = NULL, *path = NULL, *file = NULL;
	struct source src = { .tree = dir, .name = (char *)"s", .version = (char *)"6.12" };
	struct generate g = { .src = &src, .flags = no_flags, .count = 6, .seed = 1 };
	GPtrArray *a, *b;
	unsigned int all;
	GError *err = NULL;
	struct edit_script *s;
	bool seen[3] = { 0 };

	(void)state;
	g_mkdir_with_parents(mm, 0755);
	g_file_set_contents(x, text, -1, NULL);
	g_file_set_contents(conf, "[mm/x.c]\nlook=kvm/aging/anon-4k;kvm/x/y@small\nnext=kvm/a\nother=kvm/a\n[mm/none.c]\nf=kvm/a\n",
			    -1, NULL);
	g.guarded = guarded_load(conf, "x86_64", &err);
	a = generate_mutants(&g, &all, &err);
	b = generate_mutants(&g, &all, &err);
	assert_int_equal(a->len, 6);
	assert_true(all > 30);
	for (guint i = 0; i < a->len; i++) {
		const struct mutation *m = a->pdata[i];

		assert_string_equal(m->name, ((struct mutation *)b->pdata[i])->name);
		seen[0] |= !strcmp(m->function, "look");
		seen[1] |= !strcmp(m->function, "next");
		seen[2] |= !strcmp(m->function, "other");
	}
	/* a few are spread over all functions, and another seed draws others */
	assert_true(seen[0] && seen[1] && seen[2]);
	g_ptr_array_unref(a);
	g_ptr_array_unref(b);
	g.function = "look";
	a = generate_mutants(&g, &all, &err);
	g.seed = 2;
	b = generate_mutants(&g, &all, &err);
	for (guint i = 0, same = 0; i < a->len; i++) {
		same += !strcmp(((struct mutation *)a->pdata[i])->name, ((struct mutation *)b->pdata[i])->name);
		assert_true(same < 4);
	}
	/* what the tests reach comes first */
	g_ptr_array_unref(a);
	g_ptr_array_unref(b);
	g.reached = late_lines;
	a = generate_mutants(&g, &all, &err);
	for (guint i = 0; i < a->len; i++)
		assert_true(((struct mutation *)a->pdata[i])->line >= 30);
	/* as files, read back by the engine, with the reason of one that is known */
	known = g_strdup_printf("[%s]\nchange=x\nreason=equivalent: so it is\n", ((struct mutation *)a->pdata[0])->name);
	g_file_set_contents(eq, known, -1, NULL);
	assert_true(generate_write(a, out, eq, &err));
	file = g_strconcat(((struct mutation *)a->pdata[0])->name, ".conf", NULL);
	path = g_build_filename(out, file, NULL);
	s = edit_script_load(path, &err);
	assert_non_null(s);
	assert_string_equal(s->survives, "equivalent: so it is");
	assert_int_equal(s->notice->len, 2);
	assert_string_equal(((struct edit *)s->edits->pdata[0])->replace, ((struct mutation *)a->pdata[0])->replace);
	edit_script_free(s);
	g_ptr_array_unref(a);
	g.function = "nothing";
	assert_null(generate_mutants(&g, &all, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	g_ptr_array_unref((GPtrArray *)g.guarded);
	mmg_rmtree(dir);
}

int main(void)
{
	GError *err = NULL;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_no_two_the_same),
		cmocka_unit_test(test_draw),
	};

	if (!c_parser_here(&err)) {
		print_message("not tested: %s\n", err->message);
		g_error_free(err);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
