// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/store/pkg.c host/base/*.c
/*
 * Packages and archives, honest and hostile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>

#include "store/store.h"
#include "pkg_fixture.h"

#define CONTROL "Package: linux-image-6.12.1-amd64\nVersion: 6.12.1-1\nArchitecture: amd64\n"

static char *top;

static int setup(void **state)
{
	(void)state;
	top = g_dir_make_tmp("mmgate pkg-XXXXXX", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	return 0;
}

static char *want_all(const char *path, void *data)
{
	(void)data;
	return g_strdup(path);
}

static char *want_lib(const char *path, void *data)
{
	(void)data;
	return g_str_has_prefix(path, "lib/") ? g_strdup(path) : NULL;
}

/* Unpack @file to a fresh folder; the folder is in @out, g_free() it */
static int unpack(const char *file, char *(*want)(const char *, void *), uint64_t max, char **out,
		  GError **err)
{
	static int n;
	char *name = g_strdup_printf("out%d", n++), *dir = g_build_filename(top, name, NULL);
	struct pkg_unpack how = { .dir = dir, .want = want, .max = max };
	int r;

	g_mkdir(dir, 0755);
	r = pkg_unpack(file, &how, err);
	g_free(name);
	*out = dir;
	return r;
}

static void assert_content(const char *dir, const char *name, const char *want)
{
	char *path = g_build_filename(dir, name, NULL), *text = NULL;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	assert_string_equal(text, want);
	g_free(text);
	g_free(path);
}

static void assert_absent(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL);

	assert_false(g_file_test(path, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK));
	g_free(path);
}

static const struct member plain[] = {
	{ "./", NULL, AE_IFDIR }, { "./lib/", NULL, AE_IFDIR }, { "./lib/a", "one", 0 },
	{ "./lib/deep/b", "two", 0 }, { "./lib/l", "a", AE_IFLNK }, { "./usr/c", "three", 0 },
	{ NULL, NULL, 0 },
};

static void test_deb(void **state)
{
	static const char *const filters[] = { "none", "gzip", "xz", "zstd" };
	char *file = g_build_filename(top, "a b.deb", NULL), *dir;
	struct pkg *p;
	guint i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(filters); i++) {
		fixture_deb(file, CONTROL, plain, filters[i]);
		assert_true(pkg_is_archive(file));
		p = pkg_open(file, NULL);
		assert_non_null(p);
		assert_string_equal(p->name, "linux-image-6.12.1-amd64");
		assert_string_equal(p->version, "6.12.1-1");
		assert_string_equal(p->arch, "amd64");
		pkg_free(p);
		assert_int_equal(unpack(file, want_lib, 1 << 20, &dir, NULL), 3);
		assert_content(dir, "lib/a", "one");
		assert_content(dir, "lib/deep/b", "two");
		assert_content(dir, "lib/l", "one");
		assert_absent(dir, "usr");
		g_free(dir);
	}
	g_free(file);
}

static void test_rpm(void **state)
{
	char *file = g_build_filename(top, "kernel-default-6.12.0-160000.5.1.x86_64.rpm", NULL), *dir;
	char *renamed = g_build_filename(top, "k.rpm", NULL);
	struct pkg *p;

	(void)state;
	fixture_rpm(file, "kernel-default", "6.12.0", "160000.5.1", "x86_64", plain + 2);
	assert_true(pkg_is_archive(file));
	p = pkg_open(file, NULL);
	assert_non_null(p);
	assert_string_equal(p->name, "kernel-default");
	assert_string_equal(p->version, "6.12.0-160000.5.1");
	assert_string_equal(p->arch, "x86_64");
	pkg_free(p);
	assert_int_equal(unpack(file, want_lib, 1 << 20, &dir, NULL), 3);
	assert_content(dir, "lib/a", "one");
	assert_content(dir, "lib/deep/b", "two");
	g_free(dir);
	/* a name that says nothing is the name */
	fixture_rpm(renamed, "kernel-default", "6.12.0", "160000.5.1", "x86_64", plain + 2);
	p = pkg_open(renamed, NULL);
	assert_non_null(p);
	assert_string_equal(p->name, "k.rpm");
	assert_null(p->version);
	pkg_free(p);
	g_free(renamed);
	g_free(file);
}

static void test_tar_and_inner(void **state)
{
	const struct member source[] = { { "linux-source-6.12/Makefile", "all:", 0 },
					 { NULL, NULL, 0 } };
	char *file = g_build_filename(top, "s.tar.xz", NULL), *text, *dir;
	char *outer = g_build_filename(top, "s.deb", NULL);
	struct pkg_unpack how = { .inner = "usr/src/*.tar*", .want = want_all, .max = 1 << 20 };
	struct archive *a = archive_write_new();
	GByteArray *inner = fixture_archive(source, "xz", "ustar"), *ar = g_byte_array_new(), *data;
	struct archive_entry *e = archive_entry_new();
	struct fixture_sink sink = { g_byte_array_new() };

	(void)state;
	/* A tarball with a tarball in it, which has zero bytes: by hand */
	archive_write_set_format_ustar(a);
	archive_write_open(a, &sink, NULL, fixture_write, NULL);
	archive_entry_set_pathname(e, "./usr/src/linux-source-6.12.tar.xz");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_size(e, inner->len);
	archive_write_header(a, e);
	archive_write_data(a, inner->data, inner->len);
	archive_entry_free(e);
	archive_write_free(a);
	data = sink.bytes;
	g_byte_array_append(ar, (const guint8 *)"!<arch>\n", 8);
	fixture_ar_member(ar, "debian-binary", "2.0\n", 4);
	fixture_ar_member(ar, "data.tar", data->data, data->len);
	g_byte_array_unref(data);
	fixture_save(outer, ar);
	fixture_save(file, inner);
	assert_true(pkg_is_archive(file));
	dir = g_build_filename(top, "inner", NULL);
	g_mkdir(dir, 0755);
	how.dir = dir;
	assert_int_equal(pkg_unpack(outer, &how, NULL), 1);
	assert_content(dir, "linux-source-6.12/Makefile", "all:");
	g_free(dir);
	g_free(file);
	g_free(outer);
	/* Not everything is an archive */
	file = g_build_filename(top, "text", NULL);
	text = g_strnfill(20000, 'x');
	assert_true(g_file_set_contents(file, text, -1, NULL));
	assert_false(pkg_is_archive(file));
	assert_false(pkg_is_archive(top));
	assert_false(pkg_is_archive("/nonexistent"));
	g_free(text);
	g_free(file);
}

/* A member that would land outside is refused, and nothing lands outside */
static void test_hostile(void **state)
{
	static const struct member cases[][3] = {
		{ { "../evil", "x", 0 } },
		{ { "./a/../../evil", "x", 0 } },
		{ { "a/..", "x", 0 } },
		{ { "out", "..", AE_IFLNK }, { "out/evil", "x", 0 } },
		{ { "out", "/tmp", AE_IFLNK } },
		{ { "d/out", "../../evil", AE_IFLNK } },
		{ { "h", "../evil", 'H' } },
		{ { "h", "/etc/passwd", 'H' } },
		{ { "dev", NULL, AE_IFCHR } },
		{ { "fifo", NULL, AE_IFIFO } },
	};
	char *file = g_build_filename(top, "evil.deb", NULL), *dir;
	guint i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(cases); i++) {
		GError *e = NULL;

		fixture_deb(file, CONTROL, cases[i], "gzip");
		assert_int_equal(unpack(file, want_all, 1 << 20, &dir, &e), -1);
		assert_non_null(e);
		assert_int_equal(e->code, i == 7 ? MMG_EXIT_BROKEN : MMG_EXIT_USAGE);
		/* A hard link to an absolute name is one to what is not there */
		assert_non_null(strstr(e->message, i == 7 ? "No such file" : "refused"));
		assert_absent(top, "evil");
		g_error_free(e);
		g_free(dir);
	}
	g_free(file);
}

/* An absolute name is taken as below the folder, as dpkg does; a link inside is fine */
static void test_absolute_and_inside(void **state)
{
	const struct member m[] = { { "/lib/a", "one", 0 }, { "lib/d/l", "../a", AE_IFLNK },
				    { "lib/h", "./lib/a", 'H' }, { NULL, NULL, 0 } };
	char *file = g_build_filename(top, "abs.deb", NULL), *dir;

	(void)state;
	fixture_deb(file, CONTROL, m, "none");
	assert_int_equal(unpack(file, want_all, 1 << 20, &dir, NULL), 3);
	assert_content(dir, "lib/a", "one");
	assert_content(dir, "lib/d/l", "one");
	assert_content(dir, "lib/h", "one");
	g_free(dir);
	g_free(file);
}

/* Through a link that was there before: libarchive's secure flag refuses or replaces it */
static void test_planted_link(void **state)
{
	const struct member m[] = { { "lib/evil", "x", 0 }, { NULL, NULL, 0 } };
	char *b = g_build_filename(top, "two.deb", NULL);
	char *dir = g_build_filename(top, "planted", NULL), *link = g_build_filename(dir, "lib", NULL);
	struct pkg_unpack how = { .dir = dir, .want = want_all, .max = 1 << 20 };

	(void)state;
	fixture_deb(b, CONTROL, m, "none");
	g_mkdir(dir, 0755);
	assert_int_equal(symlink("..", link), 0);
	assert_int_equal(pkg_unpack(b, &how, NULL), -1);
	assert_absent(top, "evil");
	g_free(link);
	g_free(dir);
	g_free(b);
}

static void test_bounds(void **state)
{
	char *big = g_strnfill(300000, 'z'), *file = g_build_filename(top, "big.deb", NULL), *dir;
	const struct member m[] = { { "lib/big", big, 0 }, { NULL, NULL, 0 } };
	GError *e = NULL;

	(void)state;
	fixture_deb(file, CONTROL, m, "xz");
	assert_int_equal(unpack(file, want_all, 100000, &dir, &e), -1);
	assert_non_null(strstr(e->message, "larger"));
	g_clear_error(&e);
	g_free(dir);
	assert_int_equal(unpack(file, want_all, 300000, &dir, NULL), 1);
	g_free(dir);
	g_free(file);
	g_free(big);
}

/* Cut anywhere, a package is an error with a text, never a success or a crash */
static void test_truncated(void **state)
{
	char *file = g_build_filename(top, "cut", NULL), *dir;
	GByteArray *whole = fixture_deb_bytes(CONTROL, plain, "xz");
	guint n;

	(void)state;
	/* The last bytes are padding of the tar and the ar */
	for (n = 0; n < whole->len - 16; n += n < 200 ? 1 : 13) {
		struct pkg *p;
		GError *e = NULL;

		assert_true(g_file_set_contents(file, (char *)whole->data, n, NULL));
		if (unpack(file, want_all, 1 << 20, &dir, &e) >= 0)
			fail_msg("%u of %u bytes pass for a package", n, whole->len);
		assert_non_null(e);
		g_clear_error(&e);
		p = pkg_open(file, NULL);
		pkg_free(p);
		mmg_rmtree(dir);
		g_free(dir);
	}
	g_byte_array_unref(whole);
	fixture_rpm(file, "k", "1", "2", "x86_64", plain + 2);
	for (n = 0; n < 170; n++) {
		char *text;
		gsize len;

		fixture_rpm(file, "k", "1", "2", "x86_64", plain + 2);
		assert_true(g_file_get_contents(file, &text, &len, NULL));
		assert_true(g_file_set_contents(file, text, n, NULL));
		if (n >= 4) {
			assert_int_equal(unpack(file, want_all, 1 << 20, &dir, NULL), -1);
			mmg_rmtree(dir);
			g_free(dir);
		}
		g_free(text);
	}
	g_free(file);
}

/* The same where what is cut is not wanted: the archive is still not whole */
static void test_truncated_beyond(void **state)
{
	char *file = g_build_filename(top, "cut.deb", NULL), *dir, *noise = g_malloc(400001);
	const struct member m[] = { { "lib/a", "one", 0 }, { "usr/big", noise, 0 },
				    { "usr/more", noise, 0 }, { NULL, NULL, 0 } };
	GByteArray *whole;
	guint i;

	(void)state;
	for (i = 0; i < 400000; i++)
		noise[i] = g_random_int_range(1, 256);
	noise[i] = '\0';
	whole = fixture_deb_bytes(CONTROL, m, "gzip");
	assert_true(whole->len > 500000);
	for (i = 1; i < 8; i++) {
		GError *e = NULL;

		assert_true(g_file_set_contents(file, (char *)whole->data, whole->len * i / 8, NULL));
		assert_int_equal(unpack(file, want_lib, 1 << 20, &dir, &e), -1);
		assert_non_null(strstr(e->message, "complete?"));
		g_error_free(e);
		g_free(dir);
	}
	g_byte_array_unref(whole);
	g_free(noise);
	g_free(file);
}

/* Any byte of an RPM's header changed: an error or other words, never a crash */
static void test_damaged_rpm(void **state)
{
	char *file = g_build_filename(top, "bad.rpm", NULL), *text, *dir = NULL;
	gsize len, i;

	(void)state;
	fixture_rpm(file, "kernel", "1", "2", "x86_64", plain + 2);
	assert_true(g_file_get_contents(file, &text, &len, NULL));
	for (i = 96; i < 220 && i < len; i++) {
		char was = text[i];

		text[i] = 0xff;
		assert_true(g_file_set_contents(file, text, len, NULL));
		if (unpack(file, want_all, 1 << 20, &dir, NULL) >= 0 || dir) {
			mmg_rmtree(dir);
			g_free(dir);
		}
		text[i] = was;
	}
	g_free(text);
	g_free(file);
}

static void test_unreadable(void **state)
{
	GError *e = NULL;

	(void)state;
	assert_null(pkg_open("/nonexistent", &e));
	assert_int_equal(e->code, MMG_EXIT_USAGE);
	g_clear_error(&e);
	assert_null(pkg_open(top, &e));
	assert_int_equal(e->code, MMG_EXIT_USAGE);
	g_clear_error(&e);
	assert_null(pkg_read("/dev/zero", 100, &e));
	g_clear_error(&e);
}

static void test_decompress(void **state)
{
	static const char *const filters[] = { "none", "gzip", "xz", "zstd", "bzip2", "lz4" };
	char *file = g_build_filename(top, "m.ko.x", NULL), *text = g_strnfill(50000, 'k');
	GError *e = NULL;
	guint i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(filters); i++) {
		struct fixture_sink sink = { g_byte_array_new() };
		struct archive *a = archive_write_new();
		struct archive_entry *ae = archive_entry_new();
		GByteArray *b;

		if (strcmp(filters[i], "none"))
			archive_write_add_filter_by_name(a, filters[i]);
		archive_write_set_format_raw(a);
		archive_write_set_bytes_in_last_block(a, 1);
		archive_write_open(a, &sink, NULL, fixture_write, NULL);
		archive_entry_set_filetype(ae, AE_IFREG);
		archive_write_header(a, ae);
		archive_write_data(a, text, 50000);
		archive_entry_free(ae);
		archive_write_close(a);
		archive_write_free(a);
		if (strcmp(filters[i], "none"))
			assert_true(sink.bytes->len < 5000);
		fixture_save(file, sink.bytes);
		b = pkg_decompress(file, 1 << 20, NULL);
		assert_non_null(b);
		assert_int_equal(b->len, 50000);
		assert_memory_equal(b->data, text, 50000);
		g_byte_array_unref(b);
		assert_null(pkg_decompress(file, 40000, &e));
		assert_non_null(strstr(e->message, "too large"));
		g_clear_error(&e);
	}
	g_free(text);
	g_free(file);
}

static void test_names(void **state)
{
	(void)state;
	assert_true(pkg_name_is_safe("a"));
	assert_true(pkg_name_is_safe("a/b..c/..d"));
	assert_false(pkg_name_is_safe(""));
	assert_false(pkg_name_is_safe("/a"));
	assert_false(pkg_name_is_safe("a//b"));
	assert_false(pkg_name_is_safe("a/./b"));
	assert_false(pkg_name_is_safe(".."));
	assert_false(pkg_name_is_safe("a/.."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deb),
		cmocka_unit_test(test_rpm),
		cmocka_unit_test(test_tar_and_inner),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_absolute_and_inside),
		cmocka_unit_test(test_planted_link),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_truncated_beyond),
		cmocka_unit_test(test_damaged_rpm),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_decompress),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
