// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/source/series.c host/source/patch.c host/source/mail.c host/source/git.c host/source/revision.c host/source/edit.c host/source/nearest.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/environment.h"
#include "base/scratch.h"
#include "source/patch.h"
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
	environment_clean();
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
	scratch_end();
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
		"not a path inside", MMG_EXIT_USAGE);
	refused("--- /dev/null\n+++ /etc/cron.d/x\n@@ -0,0 +1 @@\n+x\n", "not a path inside",
		MMG_EXIT_USAGE);
	refused("diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
		"symbolic link", MMG_EXIT_USAGE);
	refused("diff --git a/mm/a.c b/.git/hooks/post-checkout\nrename from mm/a.c\n"
		"rename to .git/hooks/post-checkout\n", "not a path inside", MMG_EXIT_USAGE);
	refused("diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "binary", MMG_EXIT_USAGE);
	refused("--- \"a/mm/\\056\\056/\\056\\056/x\"\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
		"not a path inside", MMG_EXIT_USAGE);
}

/* Lines of a hunk that look like headers are content */
static void test_content_is_no_header(void **state)
{
	static const char patch[] = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n"
				    "--- a/../x\n+++ b/../x\n three\n";
	GPtrArray *changes = patch_changes(patch, strlen(patch), NULL);
	GPtrArray *paths = patch_paths(changes, 1, NULL);

	(void)state;
	g_ptr_array_unref(changes);
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
	assert_non_null(strstr(err->message, "is not a git work tree"));
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

/* ---- series as they arrive ---- */

static void applies(const char *content, const char *path, const char *want)
{
	GError *err = NULL;
	GHashTable *o = apply(content, NULL, &err);

	if (!o)
		fail_msg("%s", err->message);
	holds(o, path, want);
	g_hash_table_unref(o);
}

static char *with_crs(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	return g_strjoinv("\r\n", lines);
}

#define CHANGED	"one\n2\nthree\nfour\nfive\n"
#define TYPED(type, encoding) "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8" type \
		"\nContent-Transfer-Encoding: " encoding "\n"

static void test_encodings(void **state)
{
	static const char mail[] = FROM(1) "Subject: [PATCH] mm: say 2\n\nText.\n" CHANGE "-- \n2.39.5\n";
	g_autofree char *crlf = with_crs(mail), *base64 = NULL, *all = NULL, *gz = NULL;
	g_autofree char *body = with_crs("Text.\n" CHANGE);
	GHashTable *o = overlay_new();
	GError *err = NULL;
	const char *zip[] = { "gzip", "-k", NULL, NULL };
	struct mmg_cmd cmd = { .what = "packing", .argv = zip };

	(void)state;
	applies(crlf, "mm/a.c", CHANGED);
	applies(FROM(1) "Subject: =?UTF-8?q?=5BPATCH=5D_mm=3A_say_2?=\n" TYPED("", "quoted-printable")
		"\nText=\n more.\n---\n mm/a.c | 2 +-\n\ndiff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n"
		"+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+=32\n three\n", "mm/a.c", CHANGED);
	base64 = g_base64_encode((const guchar *)body, strlen(body));
	all = g_strconcat(FROM(1) "Subject: [PATCH] mm: say 2\n", TYPED("", "base64"), "\n", base64, "\n",
			  NULL);
	applies(all, "mm/a.c", CHANGED);
	/* the mailer puts a space before lines that begin with one */
	applies(FROM(1) "Subject: [PATCH] mm: say 2\n" TYPED("; format=flowed; delsp=no", "7bit")
		"\nText.\n---\ndiff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n+++ b/mm/a.c\n"
		"@@ -1,3 +1,3 @@\n  one\n-two\n+2\n  three\n", "mm/a.c", CHANGED);
	/* gzip, as lore gives threads */
	gz = put("packed.mbox", mail);
	zip[2] = gz;
	assert_true(mmg_run(&cmd, NULL));
	g_free(gz);
	gz = g_build_filename(dir, "packed.mbox.gz", NULL);
	if (!series_apply(gz, src, o, NULL, &err))
		fail_msg("%s", err->message);
	holds(o, "mm/a.c", CHANGED);
	g_hash_table_unref(o);
}

#define MAIL(subject, body) FROM(1) "Subject: " subject "\n\n" body "-- \n2.39.5\n\n"
#define SET(from, to) "---\ndiff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n+++ b/mm/a.c\n" \
		"@@ -1,3 +1,3 @@\n one\n-" from "\n+" to "\n three\n"
#define ADD(name, text) "---\ndiff --git a/mm/" name " b/mm/" name "\nnew file mode 100644\n" \
		"--- /dev/null\n+++ b/mm/" name "\n@@ -0,0 +1 @@\n+" text "\n"

static void test_threads(void **state)
{
	(void)state;
	/* a cover letter with an interdiff and a range-diff carries no change */
	applies(MAIL("[PATCH v2 0/1] mm: say", "Interdiff against v1:\n" SET("two", "nine"))
		MAIL("[PATCH v2 1/1] mm: say", SET("two", "2")), "mm/a.c", CHANGED);
	/* the same with git's own range-diff, as format-patch --range-diff writes it, in mail 0 and below a patch's "---" */
	applies(MAIL("[PATCH v2 0/1] mm: say", "Range-diff against v1:\n1:  0123456789ab ! 1:  fedcba987654 mm: say\n"
		"    @@ mm/a.c: one\n      one\n    --two\n    -+nine\n    ++2\n      three\n-:  ------------ > 2:  0123456789ab mm: b\n\n")
		MAIL("[PATCH v2 1/1] mm: say", "Text.\n---\nRange-diff against v1:\n1:  0123456789ab ! 1:  fedcba987654 mm: say\n"
		"    @@ mm/a.c: one\n    --two\n    ++nine\n\n" SET("two", "2")), "mm/a.c", CHANGED);
	/* v1, v2, v3, out of order, and replies that quote and propose */
	applies(MAIL("[PATCH v3 2/2] mm: b", ADD("b.c", "v3"))
		MAIL("[PATCH 1/2] mm: a", SET("two", "v1")) MAIL("[PATCH 2/2] mm: b", ADD("b.c", "v1"))
		MAIL("[PATCH v2 1/2] mm: a", SET("two", "v2"))
		MAIL("Re: [PATCH v3 1/2] mm: a", "How about\n" SET("two", "me"))
		MAIL("[PATCH v2 2/2] mm: b", ADD("b.c", "v2"))
		MAIL("[PATCH v3 1/2] mm: a", SET("two", "2")), "mm/a.c", CHANGED);
	/* only patch 1 was sent again: the rest is v1's */
	applies(MAIL("[PATCH 1/2] mm: a", SET("two", "v1")) MAIL("[PATCH 2/2] mm: b", ADD("b.c", "v1"))
		MAIL("[PATCH v2 1/2] mm: a", SET("two", "2")), "mm/b.c", "v1\n");
	applies(MAIL("[PATCH 1/2] mm: a", SET("two", "v1")) MAIL("[PATCH 2/2] mm: b", ADD("b.c", "v1"))
		MAIL("[PATCH v2 1/2] mm: a", SET("two", "2")), "mm/a.c", CHANGED);
	/* the same mail from two lists */
	applies(MAIL("[PATCH 1/1] mm: a", SET("two", "2")) MAIL("[PATCH 1/1] mm: a", SET("two", "2")),
		"mm/a.c", CHANGED);
	/* numbered or not, a single newer form */
	applies(MAIL("[PATCH] mm: a", SET("two", "1")) MAIL("[PATCH v2] mm: a", SET("two", "2")),
		"mm/a.c", CHANGED);
	/* a mail of the maintainer's script is no patch of the series */
	applies(MAIL("[PATCH v2] mm: a", SET("two", "2"))
		MAIL("+ mm-a.patch added to mm-unstable branch", SET("two", "3")), "mm/a.c", CHANGED);
	/* what cannot be told is refused, with both names */
	refused(MAIL("[PATCH 1/2] mm: a", SET("two", "2")) MAIL("[PATCH 1/2] mm: z", SET("two", "3"))
		MAIL("[PATCH 2/2] mm: b", ADD("b.c", "v1")), "([PATCH 1/2] mm: z)", MMG_EXIT_USAGE);
	refused(MAIL("[PATCH 1/2] mm: a", SET("two", "2")) MAIL("[PATCH 1/2] mm: a", SET("two", "3")),
		"differ", MMG_EXIT_USAGE);
	refused(MAIL("[PATCH v2 1/3] mm: a", SET("two", "2")) MAIL("[PATCH v2 3/3] mm: b", ADD("b.c", "1")),
		"2/3", MMG_EXIT_USAGE);
	refused(MAIL("[PATCH v2 1/1] mm: a", SET("two", "2")) MAIL("[PATCH v2 1/2] mm: b", ADD("b.c", "1")),
		"two series", MMG_EXIT_USAGE);
	refused(MAIL("[PATCH] mm: a", SET("two", "2")) MAIL("[PATCH v2] mm: b", ADD("b.c", "1")),
		"older form", MMG_EXIT_USAGE);
}

static void test_subjects(void **state)
{
	static const struct {
		const char *subject, *title;
		int revision, number, total;
		bool reply, tagged;
	} cases[] = {
		{ "[PATCH] a", "a", 1, -1, -1, false, true },
		{ "[PATCH mm-unstable v4 08/22] mm: b", "mm: b", 4, 8, 22, false, true },
		{ "[RFC PATCH v2 0/3] c", "c", 2, 0, 3, false, true },
		{ "[linux-next][PATCHv3 1/2] d", "d", 3, 1, 2, false, true },
		{ "Re: [PATCH v2] e", "e", 2, -1, -1, true, true },
		{ "AW: RE: [PATCH 1/2] f [was: g]", "f [was: g]", 1, 1, 2, true, true },
		{ "Revert \"mm: h\"", "Revert \"mm: h\"", 1, -1, -1, false, false },
		{ "[PATCH 99999999999999/2] i", "i", 1, -1, -1, false, true },
		{ "[", "[", 1, -1, -1, false, false },
		{ "", "", 1, -1, -1, false, false },
	};

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct mail *m = g_new0(struct mail, 1);

		mail_read_subject(m, cases[i].subject);
		assert_string_equal(m->title, cases[i].title);
		assert_int_equal(m->revision, cases[i].revision);
		assert_int_equal(m->number, cases[i].number);
		assert_int_equal(m->total, cases[i].total);
		assert_int_equal(m->reply, cases[i].reply);
		assert_int_equal(m->tagged, cases[i].tagged);
		mail_free(m);
	}
}

static void test_forms_of_diffs(void **state)
{
	(void)state;
	/* diff.noprefix */
	applies("diff --git mm/a.c mm/a.c\n--- mm/a.c\n+++ mm/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
		"mm/a.c", CHANGED);
	applies("diff --git mm/n.c mm/n.c\nnew file mode 100644\n--- /dev/null\n+++ mm/n.c\n@@ -0,0 +1 @@\n+n\n",
		"mm/n.c", "n\n");
	/* diff -ru between two folders */
	applies("diff -ru linux-6.12/mm/a.c linux/mm/a.c\n--- linux-6.12/mm/a.c\t2024-01-01 00:00:00\n"
		"+++ linux/mm/a.c\t2024-01-02 00:00:00\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
		"mm/a.c", CHANGED);
	/* a rename, alone and with a change */
	applies("diff --git a/mm/a.c b/mm/z.c\nsimilarity index 100%\nrename from mm/a.c\nrename to mm/z.c\n",
		"mm/z.c", "one\ntwo\nthree\nfour\nfive\n");
	applies("diff --git a/mm/a.c b/mm/z.c\nsimilarity index 100%\nrename from mm/a.c\nrename to mm/z.c\n",
		"mm/a.c", NULL);
	applies("diff --git a/mm/a.c b/mm/z.c\nsimilarity index 80%\nrename from mm/a.c\nrename to mm/z.c\n"
		"--- a/mm/a.c\n+++ b/mm/z.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "mm/z.c", CHANGED);
	/* a mode alone, a new empty file, one that is emptied away */
	applies("diff --git a/mm/a.c b/mm/a.c\nold mode 100644\nnew mode 100755\n", "mm/a.c",
		"one\ntwo\nthree\nfour\nfive\n");
	applies("diff --git a/mm/e.c b/mm/e.c\nnew file mode 100644\nindex 000000000000..e69de29bb2d1\n",
		"mm/e.c", "");
	applies("diff --git a/mm/gone.c b/mm/gone.c\ndeleted file mode 100644\n--- a/mm/gone.c\n"
		"+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n", "mm/gone.c", NULL);
	/* a name with a space, a quoted one */
	applies("diff --git a/mm/b c.c b/mm/b c.c\nnew file mode 100644\n--- /dev/null\n+++ b/mm/b c.c\t\n"
		"@@ -0,0 +1 @@\n+n\n", "mm/b c.c", "n\n");
	applies("diff --git \"a/mm/\\303\\244.c\" \"b/mm/\\303\\244.c\"\nnew file mode 100644\n"
		"--- /dev/null\n+++ \"b/mm/\\303\\244.c\"\n@@ -0,0 +1 @@\n+n\n", "mm/\303\244.c", "n\n");
	/* binary: by name */
	refused("diff --git a/mm/logo.png b/mm/logo.png\nnew file mode 100644\nindex 0000000..1111111\n"
		"GIT binary patch\nliteral 1\nIcmZPo000310RR91\n", "mm/logo.png", MMG_EXIT_USAGE);
	refused("diff --git a/mm/a.c b/mm/a.c\nindex 1..2 100644\nBinary files a/mm/a.c and b/mm/a.c differ\n",
		"mm/a.c", MMG_EXIT_USAGE);
}

/* What a commit message says is text, whatever it looks like */
static void test_messages(void **state)
{
	(void)state;
	applies(FROM(1) "Subject: [PATCH] mm: say 2\n\nSee\n\n--- /proc/zoneinfo before\n+++ /proc/zoneinfo "
		"after\n  pages\n\nBinary files a and b differ\n" CHANGE "-- \n2.39.5\n", "mm/a.c", CHANGED);
	applies(FROM(1) "Subject: [PATCH] mm: say 2\n\n--- /proc/zoneinfo before\nx\n" CHANGE, "mm/a.c", CHANGED);
}

/* Nothing that the tree's configuration names is executed */
static void test_hostile_tree(void **state)
{
	g_autofree char *mark = g_build_filename(dir, "executed", NULL);
	g_autofree char *script = put("hostile.sh",
		"set -e; cd \"$1\"; [ -d .git ] || git init -q .\n"
		"printf '#!/bin/sh\\ntouch %s\\ncat\\n' \"$2\" >.git/evil; chmod +x .git/evil\n"
		"echo '* filter=evil diff=evil' >.gitattributes; git add -A\n"
		"git -c user.name=a -c user.email=a@example.org commit -q -m hostile; git tag -f hostile\n"
		"mkdir -p .git/hooks; for h in post-index-change fsmonitor-watchman reference-transaction; do\n"
		"cp .git/evil .git/hooks/$h; done\n"
		"echo changed >>mm/a.c; touch mm/Kconfig\n"
		"git config filter.evil.clean \"$PWD/.git/evil\"; git config filter.evil.smudge \"$PWD/.git/evil\"\n"
		"git config filter.evil.required true\n"
		"git config diff.evil.textconv \"$PWD/.git/evil\"; git config diff.external \"$PWD/.git/evil\"\n"
		"git config core.fsmonitor \"$PWD/.git/evil\"; git config core.hooksPath \"$PWD/.git/hooks\"\n"
		"git config core.pager \"$PWD/.git/evil\"; git config core.sshCommand \"$PWD/.git/evil\"\n");
	const char *argv[] = { "sh", script, src->tree, mark, NULL };
	struct mmg_cmd cmd = { .what = "making a hostile repository", .argv = argv };
	GHashTable *o = overlay_new();
	GError *err = NULL;

	(void)state;
	if (!mmg_run(&cmd, &err))
		fail_msg("%s", err->message);
	unlink(mark);
	if (!git_overlay(src, "hostile", o, &err))
		fail_msg("%s", err->message);
	holds(o, "mm/a.c", "one\ntwo\nthree\nfour\nfive\n");
	assert_false(g_file_test(mark, G_FILE_TEST_EXISTS));
	g_hash_table_unref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mbox), cmocka_unit_test(test_folder),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_content_is_no_header),
		cmocka_unit_test(test_encodings), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_subjects), cmocka_unit_test(test_forms_of_diffs),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_edit_file),
		cmocka_unit_test(test_git), cmocka_unit_test(test_hostile_tree),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
