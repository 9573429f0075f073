// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/edit.c host/source/nearest.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/source.h"

static const char text[] =
	"int helper(int a);\n"
	"\n"
	"static bool look(struct page *p,\n"
	"\t\t int n)\n"
	"{\n"
	"\tif (!young(p) &&\n"
	"\t    !asked(p))\n"
	"\t\treturn false;\n"
	"\n"
	"\treturn true;\n"
	"}\n"
	"\n"
	"static bool overlook(struct page *p)\n"
	"{\n"
	"\tlook(p, 1);\n"
	"\treturn true;\n"
	"}\n"
	"#ifdef TWICE\n"
	"static int sc(int x)\n"
	"{\n"
	"\treturn x;\n"
	"}\n"
	"#else\n"
	"static int sc(int x)\n"
	"{\n"
	"\treturn 0;\n"
	"}\n"
	"#endif\n";

static char *apply(const char *function, const char *find, const char *replace, char **error)
{
	struct edit e = { .file = (char *)"mm/x.c", .function = (char *)function,
			  .find = (char *)find, .replace = (char *)replace,
			  .where = (char *)"m.conf [edit 1]" };
	GError *err = NULL;
	char *out = edit_apply_text(&e, text, &err);

	*error = NULL;
	if (!out) {
		assert_int_equal(err->code, MMG_EXIT_BROKEN);
		*error = g_strdup(err->message);
		g_error_free(err);
	}
	return out;
}

static void fits(const char *function, const char *find, const char *replace, const char *expect)
{
	char *error, *out = apply(function, find, replace, &error);

	if (!out)
		fail_msg("'%s' was refused: %s", find, error);
	assert_non_null(strstr(out, expect));
	assert_int_equal(strlen(out) > strlen(replace), 1);
	g_free(out);
}

static void refused(const char *function, const char *find, const char *because)
{
	char *error, *out = apply(function, find, "x", &error);

	assert_null(out);
	if (!strstr(error, because))
		fail_msg("'%s' instead of '%s'", error, because);
	g_free(error);
}

static void test_apply(void **state)
{
	(void)state;
	/* white space is elastic, the rest of the text stays */
	fits("look", "if (!young(p) && !asked(p))", "if (!young(p))",
	     "{\n\tif (!young(p))\n\t\treturn false;\n");
	/* once in this function, though twice in the file */
	fits("look", "return true;", "return 2;", "\treturn 2;\n}\n\nstatic bool overlook");
	fits("overlook", "return true;", "return 3;", "look(p, 1);\n\treturn 3;");
	/* of two definitions the one that holds the text */
	fits("sc", "return 0;", "return 9;", "return x;\n}\n#else\nstatic int sc(int x)\n{\n\treturn 9;");
	fits(NULL, "look(p, 1);", "", "{\n\t\n\treturn true;");
}

static void test_refuse(void **state)
{
	(void)state;
	refused("look", "return maybe;", "nowhere");
	refused(NULL, "return true;", "more than once");
	refused("sc", "return", "more than once");
	refused("helper", "a", "defines no function helper");
	refused("loo", "return", "defines no function loo");
	refused("look", "return  falsehood", "nowhere");
}

/* What does not fit says where it would nearly: a changed argument, a renamed function */
static void test_nearest(void **state)
{
	(void)state;
	refused("overlook", "look(p, 2);", "the nearest is line 15: 'look(p, 1);'");
	refused("overlok", "no such text", "the nearest name is overlook, line 13");
	refused("gone", "look(p, 1);", "the text is in overlook now, line 15");
}

/* Of one step the first that fits is made; a version's range is not needed for it */
static void test_steps(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-edit-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(dir, "x.c", NULL);
	struct source src = { .tree = dir, .name = (char *)"s", .version = (char *)"6.18" };
	struct edit one = { .file = (char *)"x.c", .find = (char *)"walk(pmd)", .replace = (char *)"stop(1)",
			    .step = (char *)"1", .where = (char *)"m [one]" };
	struct edit two = { .file = (char *)"x.c", .find = (char *)"walk(&val)", .replace = (char *)"stop(2)",
			    .step = (char *)"1", .where = (char *)"m [two]" };
	struct edit other = { .file = (char *)"x.c", .find = (char *)"then()", .replace = (char *)"now()",
			      .where = (char *)"m [other]" };
	g_autoptr(GPtrArray) edits = g_ptr_array_new();
	g_autoptr(GHashTable) overlay = overlay_new(), none = overlay_new();
	g_autoptr(GBytes) out = NULL;
	g_autoptr(GError) e = NULL;

	(void)state;
	g_ptr_array_add(edits, &one);
	g_ptr_array_add(edits, &two);
	g_ptr_array_add(edits, &other);
	assert_true(g_file_set_contents(file, "walk(&val); then();", -1, NULL));
	assert_true(edits_apply(edits, &src, overlay, NULL));
	out = source_read(&src, overlay, "x.c", NULL);
	assert_memory_equal(g_bytes_get_data(out, NULL), "stop(2); now();", 15);
	/* neither: the error is the last one's */
	assert_true(g_file_set_contents(file, "walk(args);\nthen();", -1, NULL));
	assert_false(edits_apply(edits, &src, none, &e));
	assert_non_null(strstr(e->message, "m [two]"));
	assert_non_null(strstr(e->message, "walk(args)"));
	mmg_rmtree(dir);
}

static void test_ranges(void **state)
{
	(void)state;
	assert_true(version_in_range("6.12..6.13", "6.12.117"));
	assert_true(version_in_range("6.12..6.13", "6.12"));
	assert_false(version_in_range("6.12..6.13", "6.13"));
	assert_false(version_in_range("6.12..6.13", "6.1.170"));
	assert_true(version_in_range("6.9..", "6.12"));
	assert_false(version_in_range("..6.9", "6.12"));
	assert_true(version_in_range("..7", "6.99"));
	assert_true(version_in_range(NULL, "1"));
	assert_true(version_range_valid("6.12.."));
	assert_false(version_range_valid("6.12"));
	assert_false(version_range_valid("six..seven"));
}

static void test_paths(void **state)
{
	(void)state;
	assert_true(path_is_inside("mm/vmscan.c"));
	assert_false(path_is_inside("/etc/passwd"));
	assert_false(path_is_inside("../x"));
	assert_false(path_is_inside("mm/../../x"));
	assert_false(path_is_inside("mm//x"));
	assert_false(path_is_inside(""));
	assert_false(path_is_inside(".git/config"));
}

static struct edit_script *load(const char *content, GError **err)
{
	char *dir = g_dir_make_tmp("mmgate-test-XXXXXX", NULL);
	char *file = g_build_filename(dir, "one.conf", NULL);
	struct edit_script *s;

	assert_true(g_file_set_contents(file, content, -1, NULL));
	s = edit_script_load(file, err);
	mmg_rmtree(dir);
	g_free(file);
	g_free(dir);
	return s;
}

static void test_load(void **state)
{
	static const char good[] =
		"[mutant]\nabout=x\nroom=walk\nkernels=6.12..6.13\nnotice=kvm/a;kvm/b/*\n"
		"[edit 1]\nfile=mm/v.c\nfunction=f\nfind=a\nreplace=b\\n\\tc\n"
		"[edit 2]\nfile=mm/v.c\nfind=d\nreplace=\nkernels=7.0..\n";
	static const char *const bad[][2] = {
		{ "[mutant]\nabout=x\n", "needs about=, room= and notice=" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\n", "no [edit]" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\ntypo=1\n", "unknown key typo" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\n[edits]\n", "unknown group [edits]" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\nkernels=6.12\n", "is no range" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\n[edit]\nfile=../x\nfind=a\nreplace=b\n",
		  "leaves the source tree" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\n[edit]\nfile=x\nfind=a\n", "needs file=" },
		{ "[mutant]\nabout=x\nroom=r\nnotice=a\n[edit]\nfile=x\nfind=a\nreplace=a\n",
		  "by itself" },
		{ "not a key file", "cannot read" },
	};
	struct edit_script *s = load(good, NULL);
	GError *err = NULL;

	(void)state;
	assert_non_null(s);
	assert_string_equal(s->name, "one");
	assert_int_equal(s->edits->len, 2);
	assert_int_equal(s->notice->len, 2);
	assert_string_equal(((struct edit *)s->edits->pdata[0])->replace, "b\n\tc");
	assert_true(edit_script_fits(s, "6.12.5", "x86_64"));
	assert_false(edit_script_fits(s, "7.2", "x86_64"));
	edit_script_free(s);
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		s = load(bad[i][0], &err);
		assert_null(s);
		assert_int_equal(err->code, MMG_EXIT_USAGE);
		if (!strstr(err->message, bad[i][1]))
			fail_msg("'%s' instead of '%s'", err->message, bad[i][1]);
		g_clear_error(&err);
	}
}

static void test_overlay(void **state)
{
	GHashTable *o = overlay_new(), *copy;
	char *a, *b;

	(void)state;
	a = overlay_hash(o);
	assert_string_equal(a, "");
	g_free(a);
	overlay_set(o, "mm/a", g_bytes_new("x", 1));
	overlay_set(o, "mm/b", NULL);
	copy = overlay_copy(o);
	a = overlay_hash(o);
	b = overlay_hash(copy);
	assert_string_equal(a, b);
	g_free(b);
	overlay_set(copy, "mm/b", g_bytes_new("", 0));
	b = overlay_hash(copy);
	assert_string_not_equal(a, b);
	g_free(a);
	g_free(b);
	g_hash_table_unref(o);
	g_hash_table_unref(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply), cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_ranges), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_load), cmocka_unit_test(test_overlay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
