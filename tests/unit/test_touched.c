// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/touched.c host/source/edit.c host/source/nearest.c host/base/*.c
/* Which definitions a change touches */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(text_outside),
		cmocka_unit_test(renamed_and_new),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
