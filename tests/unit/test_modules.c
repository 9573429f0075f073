// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/kernel/modules.c host/store/pkg.c host/store/cache.c host/base/*.c
/*
 * Load order, on modules that the compiler makes here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "pkg_fixture.h"

#define REL "6.12.1-test"

static char *top, *dir;

/* A module that exports @exports and calls @needs (each NULL: nothing) */
static void module(const char *path, const char *name, const char *exports, const char *needs,
		   const char *modinfo)
{
	char *c = g_build_filename(top, "m.c", NULL), *ko = fixture_path(dir, path), *text;
	const char *argv[] = { "cc", "-c", "-o", ko, c, NULL };
	const struct mmg_cmd cmd = { .what = "making a module", .argv = argv };

	text = g_strdup_printf("%s%s%s%s%s%s __attribute__((section(\".modinfo\"), used)) static const char n[] = \"name=%s\\0%s\";",
			       exports ? "__attribute__((section(\"__ksymtab_strings\"), used)) static const char e[] = \"" : "",
			       exports ? exports : "", exports ? "\";" : "",
			       needs ? "extern int " : "", needs ? needs : "",
			       needs ? "(void); int use(void); int use(void) { return 1; } " : "",
			       name, modinfo ? modinfo : "license=GPL");
	if (needs) {
		char *call = g_strdup_printf("%s int call(void); int call(void) { return %s(); }", text,
					     needs);

		g_free(text);
		text = call;
	}
	g_file_set_contents(c, text, -1, NULL);
	assert_true(mmg_run(&cmd, NULL));
	g_free(text);
	g_free(ko);
	g_free(c);
}

static int setup(void **state)
{
	char *cache, *builtin;

	(void)state;
	top = g_dir_make_tmp("mmgate-modules-XXXXXX", NULL);
	cache = g_build_filename(top, "cache", NULL);
	g_setenv("XDG_CACHE_HOME", cache, TRUE);
	g_free(cache);
	dir = g_build_filename(top, "root", "lib", "modules", REL, NULL);
	module("kernel/virt/irqbypass.ko", "irqbypass", "irq_bypass", NULL, NULL);
	module("kernel/kvm/kvm.ko", "kvm", "kvm_init", "irq_bypass", NULL);
	module("kernel/kvm/kvm-amd.ko", "kvm_amd", NULL, "kvm_init", NULL);
	module("kernel/fs/ext4.ko", "ext4", NULL, NULL, "softdep=pre: crcx");
	module("kernel/crypto/crcx.ko", "crcx", NULL, NULL, NULL);
	module("kernel/other.ko", "other", NULL, NULL, "alias=fancy-thing");
	builtin = g_build_filename(dir, "modules.builtin", NULL);
	g_file_set_contents(builtin, "kernel/drivers/virtio/virtio_pci.ko\n", -1, NULL);
	g_free(builtin);
	builtin = g_build_filename(dir, "modules.order", NULL);
	g_file_set_contents(builtin, "kernel/kvm/kvm.ko\n", -1, NULL);
	g_free(builtin);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	g_free(dir);
	return 0;
}

/* "a b c" of what loads for @names, and what is missing behind a "!" */
static char *order(const char *modules, const char *const *names)
{
	struct kernel k = { .modules = (char *)modules };
	GPtrArray *missing = g_ptr_array_new_with_free_func(g_free), *paths;
	GString *s = g_string_new(NULL);
	guint i;

	paths = modules_resolve(&k, names, missing, NULL);
	assert_non_null(paths);
	for (i = 0; i < paths->len; i++) {
		char *base = g_path_get_basename(paths->pdata[i]);

		assert_int_equal(access(paths->pdata[i], R_OK), 0);
		g_string_append_printf(s, "%s%s", s->len ? " " : "", base);
		g_free(base);
	}
	for (i = 0; i < missing->len; i++)
		g_string_append_printf(s, "!%s", (char *)missing->pdata[i]);
	g_ptr_array_unref(paths);
	g_ptr_array_unref(missing);
	return g_string_free(s, FALSE);
}

static void assert_order(const char *modules, const char *want, ...)
{
	const char *names[16];
	va_list ap;
	char *got;
	int n = 0;

	va_start(ap, want);
	while ((names[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	got = order(modules, names);
	assert_string_equal(got, want);
	g_free(got);
}

static void check_orders(const char *modules)
{
	assert_order(modules, "irqbypass.ko kvm.ko kvm-amd.ko", "kvm_amd", NULL);
	assert_order(modules, "irqbypass.ko kvm.ko kvm-amd.ko", "kvm", "kvm-amd", "kvm", NULL);
	assert_order(modules, "crcx.ko ext4.ko", "ext4", NULL);
	assert_order(modules, "other.ko", "fancy-thing", NULL);
	assert_order(modules, "", "virtio_pci", NULL);
	assert_order(modules, "other.ko!nonsense", "nonsense", "other", NULL);
	assert_order(modules, "", NULL);
}

/* Straight out of a package: no index; one is made in the cache, the folder stays as it was */
static void test_no_index(void **state)
{
	char *made = modules_indexed(dir, REL, NULL), *again, *index;

	(void)state;
	assert_non_null(made);
	assert_string_not_equal(made, dir);
	check_orders(made);
	index = g_build_filename(dir, "modules.dep", NULL);
	assert_false(g_file_test(index, G_FILE_TEST_EXISTS));
	again = modules_indexed(dir, REL, NULL);
	assert_string_equal(made, again);
	g_free(index);
	g_free(again);
	g_free(made);
}

static void test_with_index(void **state)
{
	char *root = g_build_filename(top, "root", NULL), *made;

	(void)state;
	assert_true(modules_depmod(root, REL, NULL));
	made = modules_indexed(dir, REL, NULL);
	assert_string_equal(made, dir);
	check_orders(dir);
	g_free(made);
	g_free(root);
}

/* Nothing is missing where nothing is known of what is built in */
static void test_unknown(void **state)
{
	struct kernel k = { .modules = "/nonexistent" };
	const char *const names[] = { "kvm", NULL };
	GError *e = NULL;

	(void)state;
	assert_order(NULL, "", "kvm", "virtio_pci", NULL);
	assert_null(modules_resolve(&k, names, NULL, &e));
	assert_non_null(strstr(e->message, "/nonexistent"));
	g_clear_error(&e);
	assert_null(modules_indexed("/nonexistent", REL, &e));
	assert_int_equal(e->code, MMG_EXIT_USAGE);
	g_clear_error(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_index),
		cmocka_unit_test(test_with_index),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
