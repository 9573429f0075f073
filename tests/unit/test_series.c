// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/series.c host/source/edit.c host/source/nearest.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "source/source.h"

static char *dir;
static struct source *src;

static char *put(const char *name, const char *content)
{
	char *path = g_build_filename(dir, name, NULL);
	char *parent = g_path_get_dirname(path);

	g_mkdir_with_parents(parent, 0755);
	assert_true(g_file_set_contents(path, content, -1, NULL));
	g_free(parent);
	return path;
}

static int setup(void **state)
{
	(void)state;
	dir = g_dir_make_tmp("mmgate-test-XXXXXX", NULL);
	g_free(put("tree/Makefile", "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n"));
	g_free(put("tree/mm/Kconfig", "config MMU\n"));
	g_free(put("tree/mm/a.c", "one\ntwo\nthree\nfour\nfive\n"));
	g_free(put("tree/mm/gone.c", "gone\n"));
	{
		char *tree = g_build_filename(dir, "tree", NULL);

		src = source_open(tree, "test-tree", NULL);
		g_free(tree);
	}
	assert_non_null(src);
	assert_string_equal(src->version, "6.12.7");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	source_free(src);
	mmg_rmtree(dir);
	g_free(dir);
	return 0;
}

#define FROM(n) "From 0123456789abcdef0123456789abcdef0123456" #n " Mon Sep 17 00:00:00 2001\n" \
		"From: A <a@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\n"
#define CHANGE	"---\n mm/a.c | 2 +-\n\n" \
		"diff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n+++ b/mm/a.c\n" \
		"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
#define AGAIN	"diff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n+++ b/mm/a.c\n" \
		"@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n"
#define NEW	"diff --git a/mm/new.c b/mm/new.c\nnew file mode 100644\n" \
		"--- /dev/null\n+++ b/mm/new.c\n@@ -0,0 +1 @@\n+new\n"
#define GONE	"diff --git a/mm/gone.c b/mm/gone.c\ndeleted file mode 100644\n" \
		"--- a/mm/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"

static GHashTable *apply(const char *content, GPtrArray **titles, GError **err)
{
	GHashTable *o = overlay_new();
	char *path = put("series.mbox", content);

	if (!series_apply(path, src, o, titles, err)) {
		g_hash_table_unref(o);
		o = NULL;
	}
	g_free(path);
	return o;
}

static void holds(GHashTable *o, const char *path, const char *want)
{
	GBytes *b = g_hash_table_lookup(o, path);

	assert_true(g_hash_table_contains(o, path));
	if (!want) {
		assert_null(b);
		return;
	}
	assert_non_null(b);
	assert_int_equal(g_bytes_get_size(b), strlen(want));
	assert_memory_equal(g_bytes_get_data(b, NULL), want, strlen(want));
}

static void test_mbox(void **state)
{
	GPtrArray *titles = NULL;
	GError *err = NULL;
	GHashTable *o = apply(FROM(1) "Subject: [PATCH 1/2] mm: say\n 2\n\n" CHANGE
			      "-- \n2.39.5\n\n"
			      FROM(2) "Subject: [PATCH 2/2] mm: more\n\n" AGAIN NEW GONE "-- \n2.39.5\n",
			      &titles, &err);
	char *tree_file = g_build_filename(dir, "tree/mm/a.c", NULL), *now;

	(void)state;
	if (!o)
		fail_msg("%s", err->message);
	holds(o, "mm/a.c", "one\nzwei\nthree\nfour\nfive\n");
	holds(o, "mm/new.c", "new\n");
	holds(o, "mm/gone.c", NULL);
	assert_int_equal(g_hash_table_size(o), 3);
	assert_int_equal(titles->len, 2);
	assert_string_equal(titles->pdata[0], "[PATCH 1/2] mm: say 2");
	g_ptr_array_unref(titles);
	g_hash_table_unref(o);
	/* the tree itself is as it was */
	assert_true(g_file_get_contents(tree_file, &now, NULL, NULL));
	assert_string_equal(now, "one\ntwo\nthree\nfour\nfive\n");
	g_free(now);
	g_free(tree_file);
}

static void test_folder(void **state)
{
	GHashTable *o = overlay_new();
	GError *err = NULL;
	char *folder = g_build_filename(dir, "patches", NULL);

	(void)state;
	g_free(put("patches/0000-cover-letter.patch", "Subject: [PATCH 0/2] x\n\nHello\n"));
	g_free(put("patches/0002-b.patch", AGAIN));
	g_free(put("patches/0001-a.patch", CHANGE));
	g_free(put("patches/notes.txt", "not a patch\n"));
	if (!series_apply(folder, src, o, NULL, &err))
		fail_msg("%s", err->message);
	holds(o, "mm/a.c", "one\nzwei\nthree\nfour\nfive\n");
	g_hash_table_unref(o);
	g_free(folder);
}

static void refused(const char *content, const char *because, int code)
{
	GError *err = NULL;
	GHashTable *o = apply(content, NULL, &err);

	assert_null(o);
	if (!strstr(err->message, because))
		fail_msg("'%s' instead of '%s'", err->message, because);
	assert_int_equal(err->code, code);
	assert_null(strchr(err->message, '\n'));
	g_error_free(err);
}

static void test_refused(void **state)
{
	(void)state;
	/* names file, line and hunk */
	refused(AGAIN, "mm/a.c:1", MMG_EXIT_BROKEN);
	refused(AGAIN, "failing hunk: @@ -1,3 +1,3 @@", MMG_EXIT_BROKEN);
	refused(FROM(1) "Subject: mm: no\n\n" AGAIN, "(mm: no) does not apply to test-tree",
		MMG_EXIT_BROKEN);
	refused("nothing here\n", "holds no patch", MMG_EXIT_USAGE);
	refused("--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -0,0 +1 @@\n+x\n",
		"not a path inside", MMG_EXIT_BROKEN);
	refused("--- /dev/null\n+++ /etc/cron.d/x\n@@ -0,0 +1 @@\n+x\n", "not a path inside",
		MMG_EXIT_BROKEN);
	refused("diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
		"symbolic link", MMG_EXIT_BROKEN);
	refused("diff --git a/mm/a.c b/.git/hooks/post-checkout\nrename from mm/a.c\n"
		"rename to .git/hooks/post-checkout\n", "not a path inside", MMG_EXIT_BROKEN);
	refused("diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "binary", MMG_EXIT_BROKEN);
	refused("--- \"a/mm/\\056\\056/\\056\\056/x\"\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
		"not a path inside", MMG_EXIT_BROKEN);
}

/* Lines of a hunk that look like headers are content */
static void test_content_is_no_header(void **state)
{
	static const char patch[] = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n"
				    "--- a/../x\n+++ b/../x\n three\n";
	GPtrArray *paths = patch_paths(patch, strlen(patch), NULL);

	(void)state;
	assert_non_null(paths);
	assert_int_equal(paths->len, 1);
	assert_string_equal(paths->pdata[0], "mm/a.c");
	g_ptr_array_unref(paths);
}

static void test_edit_file(void **state)
{
	g_autofree char *file = put("mine.conf", "[mutant]\nabout=two is three\nroom=walk\n"
				    "survives=equivalent: no\n[edit 1]\nfile=mm/a.c\n"
				    "find=two\nreplace=three\n");
	g_autofree char *lost = put("lost.conf", "[mutant]\nabout=a\nroom=walk\nnotice=kvm/a\n"
				    "[edit 1]\nfile=mm/a.c\nfind=six\nreplace=7\n");
	g_autoptr(GPtrArray) titles = NULL;
	g_autoptr(GError) err = NULL;
	GHashTable *o = overlay_new();

	(void)state;
	assert_true(series_apply(file, src, o, &titles, NULL));
	assert_int_equal(titles->len, 1);
	assert_string_equal(titles->pdata[0], "two is three");
	holds(o, "mm/a.c", "one\nthree\nthree\nfour\nfive\n");
	assert_false(series_apply(lost, src, o, NULL, &err));
	assert_int_equal(err->code, MMG_EXIT_BROKEN);
	g_hash_table_unref(o);
}

static void test_git(void **state)
{
	GHashTable *o = overlay_new();
	GError *err = NULL;
	char *script = put("make.sh",
		"set -e; cd \"$1\"; git init -q .; git add -A\n"
		"git -c user.name=a -c user.email=a@example.org commit -q -m one\n"
		"echo 6 >> mm/a.c; echo n > mm/n.c; git rm -q mm/gone.c; git add -A\n"
		"git -c user.name=a -c user.email=a@example.org commit -q -m two\n"
		"git tag two; git checkout -q HEAD~1\n");
	const char *argv[] = { "sh", script, src->tree, NULL };
	struct mmg_cmd cmd = { .what = "making a repository", .argv = argv };

	(void)state;
	assert_false(git_overlay(src, "two", o, &err));
	assert_non_null(strstr(err->message, "no git work tree"));
	g_clear_error(&err);
	assert_true(mmg_run(&cmd, NULL));
	if (!git_overlay(src, "two", o, &err))
		fail_msg("%s", err->message);
	holds(o, "mm/a.c", "one\ntwo\nthree\nfour\nfive\n6\n");
	holds(o, "mm/n.c", "n\n");
	holds(o, "mm/gone.c", NULL);
	assert_int_equal(g_hash_table_size(o), 3);
	assert_false(git_overlay(src, "three", o, &err));
	assert_non_null(strstr(err->message, "has no revision three"));
	g_clear_error(&err);
	assert_false(git_overlay(src, "--output=x", o, &err));
	g_clear_error(&err);
	g_hash_table_unref(o);
	g_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mbox), cmocka_unit_test(test_folder),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_content_is_no_header),
		cmocka_unit_test(test_edit_file),
		cmocka_unit_test(test_git),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
