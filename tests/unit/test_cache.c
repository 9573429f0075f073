// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/store/cache.c host/kernel/image.c host/store/pkg.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "store/store.h"

static int made;

static bool fill(const char *dir, void *data, GError **err)
{
	char *path = g_build_filename(dir, "init", NULL);
	bool ok = g_file_set_contents(path, "program", -1, err);

	(void)data;
	made++;
	g_free(path);
	return ok;
}

/* A file of the cache that a power loss emptied, cut or filled with zeros is made anew */
static void damaged(void **state)
{
	static const char *const bad[] = { "", "prog", "PROGRAM" };
	char *dir, *path, *text;

	(void)state;
	dir = cache_make("selftests", "k", fill, NULL, NULL);
	assert_non_null(dir);
	path = g_build_filename(dir, "init", NULL);
	g_free(dir);
	assert_int_equal(made, 1);
	g_free(cache_make("selftests", "k", fill, NULL, NULL));
	assert_int_equal(made, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		assert_true(g_file_set_contents(path, bad[i], -1, NULL));
		g_free(cache_make("selftests", "k", fill, NULL, NULL));
		assert_int_equal(made, 2 + i);
		assert_true(g_file_get_contents(path, &text, NULL, NULL));
		assert_string_equal(text, "program");
		g_free(text);
	}
	made = 0;
	unlink(path);
	g_free(cache_make("selftests", "k", fill, NULL, NULL));
	assert_int_equal(made, 1);
	g_free(path);
}

static bool fill_large(const char *dir, void *data, GError **err)
{
	static const char *const files[] = { "vmlinuz", "lib/modules/6.1/a.ko", "mm/vmscan.c" };
	bool ok = true;

	for (gsize i = 0; ok && i < G_N_ELEMENTS(files); i++) {
		char *path = g_build_filename(dir, files[i], NULL), *parent = g_path_get_dirname(path);

		ok = mmg_mkdirs(parent, err) && g_file_set_contents(path, files[i], -1, err);
		g_free(parent);
		g_free(path);
	}
	(void)data;
	made++;
	return ok;
}

/* The same of kernels, modules and sources; what others add to them later is no damage */
static void damaged_large(void **state)
{
	static const struct {
		const char *kind, *file, *text;
		bool whole;
	} rows[] = {
		{ "kernels", "vmlinuz", "", false }, { "kernels", "vmlinuz", "VMLINUZ", false },
		{ "kernels", "lib/modules/6.1/a.ko", "lib", false }, { "kernels", "vmlinuz", NULL, false },
		{ "sources", "mm/vmscan.c", "", false }, { "sources", "mm/vmscan.c", NULL, false },
		{ "modules", "lib/modules/6.1/a.ko", "", false }, { "sources", "mm/extra.o", "x", true },
		{ "kernels", "notes", "x", true },
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		char *key = g_strdup_printf("k%zu", i), *dir = cache_make(rows[i].kind, key, fill_large, NULL, NULL), *path;

		assert_non_null(dir);
		made = 0;
		g_free(cache_make(rows[i].kind, key, fill_large, NULL, NULL));
		assert_int_equal(made, 0);
		path = g_build_filename(dir, rows[i].file, NULL);
		if (rows[i].text)
			assert_true(g_file_set_contents(path, rows[i].text, -1, NULL));
		else
			assert_int_equal(unlink(path), 0);
		g_free(dir);
		dir = cache_have(rows[i].kind, key);
		if (rows[i].whole != !!dir)
			fail_msg("row %zu is %s", i, dir ? "believed" : "not believed");
		g_free(dir);
		g_free(cache_make(rows[i].kind, key, fill_large, NULL, NULL));
		assert_int_equal(made, !rows[i].whole);
		g_free(path);
		g_free(key);
	}
	made = 0;
}

/* An x86 image that is shorter than its setup header says */
static void cut_image(void **state)
{
	char *path = mmg_cache_path("bzImage", NULL);
	guchar image[0x4000] = { 0 };
	GError *err = NULL;
	struct image *img;

	(void)state;
	image[0x1f1] = 1;			/* two sectors of setup */
	image[0x1f4] = (sizeof(image) - 1024) / 16 & 0xff;
	image[0x1f5] = (sizeof(image) - 1024) / 16 >> 8;
	image[0x1fe] = 0x55;
	image[0x1ff] = 0xaa;
	memcpy(image + 0x202, "HdrS", 4);
	image[0x206] = 0x0f;
	image[0x207] = 0x02;
	assert_true(g_file_set_contents(path, (char *)image, sizeof(image), NULL));
	img = image_open(path, &err);
	assert_non_null(img);
	image_free(img);
	assert_true(g_file_set_contents(path, (char *)image, sizeof(image) - 1, NULL));
	assert_null(image_open(path, &err));
	assert_non_null(strstr(err->message, "cut short"));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_error_free(err);
	g_free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged),
		cmocka_unit_test(damaged_large),
		cmocka_unit_test(cut_image),
	};
	char *dir = g_dir_make_tmp("mmgate-cache-XXXXXX", NULL);
	int ret;

	g_setenv("XDG_CACHE_HOME", dir, TRUE);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	mmg_rmtree(dir);
	g_free(dir);
	return ret;
}
