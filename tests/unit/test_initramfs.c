// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/vm/initramfs.c host/store/pkg.c host/base/*.c
/*
 * The initramfs, read back with libarchive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "vm/vm.h"
#include "pkg_fixture.h"

static char *top, *image, *source;

static int setup(void **state)
{
	(void)state;
	top = g_dir_make_tmp("mmgate-initramfs-XXXXXX", NULL);
	image = g_build_filename(top, "initrd", NULL);
	source = g_build_filename(top, "source file", NULL);
	g_file_set_contents(source, "program", -1, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	g_free(image);
	g_free(source);
	return 0;
}

static GPtrArray *list_of(struct initramfs_file *files, guint n)
{
	GPtrArray *list = g_ptr_array_new();
	guint i;

	for (i = 0; i < n; i++)
		g_ptr_array_add(list, &files[i]);
	return list;
}

/* Members as "name:mode:content\n" */
static char *read_back(void)
{
	struct archive *a = archive_read_new();
	GString *s = g_string_new(NULL);
	struct archive_entry *e;

	archive_read_support_format_cpio(a);
	assert_int_equal(archive_read_open_filename(a, image, 4096), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		char buf[100] = "";

		archive_read_data(a, buf, sizeof(buf) - 1);
		g_string_append_printf(s, "%s:%o:%s\n", archive_entry_pathname(e),
				       archive_entry_mode(e), buf);
		assert_int_equal(archive_entry_mtime(e), 0);
		assert_int_equal(archive_entry_uid(e), 0);
	}
	assert_string_equal(archive_format_name(a), "ASCII cpio (SVR4 with no CRC)");
	archive_read_free(a);
	return g_string_free(s, FALSE);
}

static void test_content(void **state)
{
	struct initramfs_file files[] = {
		{ .dst = "init", .src = source, .mode = 0755 },
		{ .dst = "bin/kvm/test", .src = source, .mode = 0755 },
		{ .dst = "bin/kvm/other", .data = "abc", .len = 3, .mode = 0644 },
		{ .dst = "proc", .data = "", .mode = S_IFDIR | 0755 },
		{ .dst = "empty", .data = "", .mode = 0600 },
	};
	GPtrArray *list = list_of(files, G_N_ELEMENTS(files));
	char *sha = NULL, *again = NULL, *real, *text;

	(void)state;
	assert_true(initramfs_pack(list, image, &sha, NULL));
	text = read_back();
	assert_string_equal(text, "init:100755:program\nbin:40755:\nbin/kvm:40755:\n"
			    "bin/kvm/test:100755:program\nbin/kvm/other:100644:abc\n"
			    "proc:40755:\nempty:100600:\n");
	g_free(text);
	real = mmg_sha256_file(image, NULL);
	assert_string_equal(sha, real);
	/* The same again, whatever the clock and the file's times say */
	g_file_set_contents(source, "program", -1, NULL);
	assert_true(initramfs_pack(list, image, &again, NULL));
	assert_string_equal(sha, again);
	/* Other content, other hash */
	g_free(again);
	files[2].data = "abd";
	assert_true(initramfs_pack(list, image, &again, NULL));
	assert_string_not_equal(sha, again);
	g_free(sha);
	g_free(again);
	g_free(real);
	g_ptr_array_unref(list);
}

static void test_modules_are_unpacked(void **state)
{
	const struct member m[] = { { "x", "module text", 0 }, { NULL, NULL, 0 } };
	char *ko = g_build_filename(top, "kvm.ko.xz", NULL), *plain, *text;
	struct initramfs_file files[] = {
		{ .dst = "lib/modules/kvm.ko.xz", .src = ko, .mode = 0644, .unpack = true },
		{ .dst = "lib/modules/ext4.ko", .src = source, .mode = 0644, .unpack = true },
	};
	GPtrArray *list = list_of(files, 2);

	(void)state;
	fixture_save(ko, fixture_archive(m, "xz", "raw"));
	assert_true(initramfs_pack(list, image, NULL, NULL));
	text = read_back();
	plain = "lib:40755:\nlib/modules:40755:\nlib/modules/kvm.ko:100644:module text\n"
		"lib/modules/ext4.ko:100644:program\n";
	assert_string_equal(text, plain);
	g_free(text);
	/* Damaged: refused, and the old initramfs stays as it was */
	g_file_set_contents(ko, "\xfd" "7zXZ\0broken", 12, NULL);
	assert_false(initramfs_pack(list, image, NULL, NULL));
	text = read_back();
	assert_string_equal(text, plain);
	g_free(text);
	g_ptr_array_unref(list);
	g_free(ko);
}

static void refused(struct initramfs_file *files, guint n, const char *word)
{
	GPtrArray *list = list_of(files, n);
	char *path = g_build_filename(top, "refused", NULL);
	GError *e = NULL;
	GDir *dir;
	const char *name;

	assert_false(initramfs_pack(list, path, NULL, &e));
	assert_int_equal(e->code, MMG_EXIT_BROKEN);
	assert_non_null(strstr(e->message, word));
	/* Nothing half is left */
	dir = g_dir_open(top, 0, NULL);
	while ((name = g_dir_read_name(dir)))
		assert_false(g_str_has_prefix(name, "refused"));
	g_dir_close(dir);
	g_error_free(e);
	g_free(path);
	g_ptr_array_unref(list);
}

static void test_refused(void **state)
{
	struct initramfs_file up = { .dst = "../x", .data = "", .mode = 0644 };
	struct initramfs_file abs = { .dst = "/x", .data = "", .mode = 0644 };
	struct initramfs_file empty = { .dst = "", .data = "", .mode = 0644 };
	struct initramfs_file absent = { .dst = "x", .src = "/nonexistent", .mode = 0644 };
	struct initramfs_file folder = { .dst = "x", .src = top, .mode = 0644 };
	struct initramfs_file two[] = { { .dst = "x", .data = "", .mode = 0644 },
					{ .dst = "x", .data = "", .mode = 0644 } };

	(void)state;
	refused(&up, 1, "no name");
	refused(&abs, 1, "no name");
	refused(&empty, 1, "no name");
	refused(&absent, 1, "/nonexistent");
	refused(&folder, 1, "no plain file");
	refused(two, 2, "two files");
}

static void test_nowhere(void **state)
{
	struct initramfs_file f = { .dst = "x", .data = "", .mode = 0644 };
	GPtrArray *list = list_of(&f, 1);
	GError *e = NULL;

	(void)state;
	assert_false(initramfs_pack(list, "/nonexistent/initrd", NULL, &e));
	assert_non_null(strstr(e->message, "/nonexistent/initrd"));
	g_error_free(e);
	g_ptr_array_unref(list);
}

/* A disk without room: /dev/full stands for it */
static void test_full_disk(void **state)
{
	char *big = g_malloc0(1 << 20), *link = g_strdup_printf("%s/full.%d.tmp", top, getpid());
	struct initramfs_file f = { .dst = "x", .data = big, .len = 1 << 20, .mode = 0644 };
	char *path = g_build_filename(top, "full", NULL);
	GPtrArray *list = list_of(&f, 1);
	GError *e = NULL;

	(void)state;
	assert_int_equal(symlink("/dev/full", link), 0);
	assert_false(initramfs_pack(list, path, NULL, &e));
	assert_non_null(strstr(e->message, "No space left"));
	assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_error_free(e);
	g_ptr_array_unref(list);
	g_free(path);
	g_free(link);
	g_free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_modules_are_unpacked),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
