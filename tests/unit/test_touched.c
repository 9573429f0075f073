// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/touched.c host/source/edit.c host/source/nearest.c host/base/*.c
/* Which definitions a change touches */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/touched.h"

static const char before[] =
	"#include <linux/mm.h>\n"
	"#define ROUNDS 3\n"
	"struct walk {\n\tint nr;\n};\n"
	"static bool walk_pte_range(pmd_t *pmd,\n\t\t\t   struct walk *args)\n{\n\tint i;\nretry:\n\treturn true;\n}\n"
	"\n"
	"static int get_pfn(int pte)\n{\n\treturn pte;\n}\n"
	"\n"
	"SYSCALL_DEFINE2(one, int, a)\n{\n\treturn 1;\n}\n"
	"SYSCALL_DEFINE2(two, int, a)\n{\n\treturn 2;\n}\n";

/* "file:function file:" of what differs when @from becomes @to in the text above */
static char *differs(const char *from, const char *to)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(touched_free);
	g_auto(GStrv) parts = g_strsplit(before, from, 2);
	g_autofree char *after = g_strjoinv(to, parts);
	g_autoptr(GBytes) a = g_bytes_new(before, strlen(before));
	g_autoptr(GBytes) b = g_bytes_new(after, strlen(after));
	GString *s = g_string_new(NULL);

	touched_in_text("mm/x.c", a, b, list);
	for (guint i = 0; i < list->len; i++) {
		const struct touched *t = list->pdata[i];

		assert_string_equal(t->file, "mm/x.c");
		g_string_append_printf(s, "%s%s", i ? " " : "", t->function ?: "-");
	}
	return g_string_free(s, FALSE);
}

static void expect(const char *from, const char *to, const char *want)
{
	g_autofree char *got = differs(from, to);

	assert_string_equal(got, want);
}

static void functions(void **state)
{
	(void)state;
	expect("return true", "return false", "walk_pte_range");
	expect("return pte;", "return 0;", "get_pfn");
	/* the signature is part of it */
	expect("int pte)", "long pte)", "get_pfn");
	/* two system calls are two functions */
	expect("return 2", "return 3", "two");
}

static void text_outside(void **state)
{
	(void)state;
	expect("ROUNDS 3", "ROUNDS 4", "-");
	expect("int nr", "long nr", "-");
	expect("return true", "return true", "");
}

static void renamed_and_new(void **state)
{
	(void)state;
	expect("get_pfn", "get_page", "get_page get_pfn");
	expect("SYSCALL_DEFINE2(one", "int added(void)\n{\n\treturn 0;\n}\n\nSYSCALL_DEFINE2(one", "added -");
}

static void hostile(void **state)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(touched_free);
	g_autoptr(GBytes) a = g_bytes_new_static("{\n{\n}\n(\n{", 9);
	g_autoptr(GBytes) b = g_bytes_new_static("x(\0{\n\n{\n}", 9);

	(void)state;
	touched_in_text("x", a, b, list);
	touched_in_text("x", NULL, NULL, list);
	touched_in_text("x", a, NULL, list);
	assert_true(list->len >= 1);
}

/* A side may be the one that is changed: base without the fix that the tree has */
static void either_side(void **state)
{
	char dir[] = "/tmp/mmgate-touched-XXXXXX";
	struct source src = { .tree = mkdtemp(dir) };
	g_autofree char *path = g_build_filename(dir, "x.c", NULL);
	g_autoptr(GHashTable) none = overlay_new(), edited = overlay_new();
	GHashTable *sides[][2] = { { none, edited }, { edited, none }, { NULL, edited }, { edited, edited } };

	(void)state;
	assert_non_null(src.tree);
	assert_true(g_file_set_contents(path, "int f(void)\n{\n\treturn 1;\n}\n", -1, NULL));
	overlay_set(edited, "x.c", g_bytes_new_static("int f(void)\n{\n\treturn 2;\n}\n", 27));
	for (guint i = 0; i < G_N_ELEMENTS(sides); i++) {
		g_autoptr(GPtrArray) list = touched_by(&src, sides[i][0], sides[i][1]);

		assert_int_equal(list->len, i < 3);
		if (list->len)
			assert_string_equal(((struct touched *)list->pdata[0])->function, "f");
	}
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(text_outside),
		cmocka_unit_test(renamed_and_new),
		cmocka_unit_test(hostile),
		cmocka_unit_test(either_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
