// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/base/arch.c host/build/selftests.c host/kernel/kernel.c host/source/ksrc.c host/kernel/image.c host/debian/apt.c host/kernel/modules.c host/store/pkg.c host/store/cache.c host/base/util.c host/base/status.c
/*
 * Building what runs in the VM, on a checkout of two tiny programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "pkg.h"
#include "pkg_fixture.h"

static char *top, *ksrc;
static struct cli cli;

static void put(const char *name, const char *text)
{
	char *path = fixture_path(top, name);

	assert_true(g_file_set_contents(path, text, -1, NULL));
	g_free(path);
}

static int setup(void **state)
{
	char *cache;

	(void)state;
	top = g_dir_make_tmp("mmgate tests-XXXXXX", NULL);
	cache = g_build_filename(top, "the cache", NULL);
	g_setenv("XDG_CACHE_HOME", cache, TRUE);
	g_setenv("MMGATE_ROOT", top, TRUE);
	g_free(cache);
	ksrc = g_build_filename(top, "linux source", NULL);
	put("linux source/tools/testing/selftests/kvm/lib/x.c", "");
	put("guest/Makefile", "all:\n\techo guest >>$(OUTPUT)/calls\n\t$(CROSS_COMPILE)cc -g -o $(OUTPUT)/init init.c\n");
	put("guest/init.c", "int main(void) { return 0; }\n");
	/* As strict as the real one: one word each */
	put("selftests/Makefile",
	    "ifneq ($(words $(OUTPUT) $(KSRC)),2)\n$(error names with spaces)\nendif\n"
	    "all:\n\ttest -d $(KSRC)/tools\n\tmkdir -p $(OUTPUT)/kvm $(OUTPUT)/.hidden\n"
	    "\t$(CC) -g -o $(OUTPUT)/kvm/a_test kvm/a_test.c\n\tcp $(OUTPUT)/kvm/a_test $(OUTPUT)/.hidden/\n"
	    "\techo notes >$(OUTPUT)/kvm/a_test.d\n");
	put("selftests/kvm/a_test.c", "int main(void) { return 1; }\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	g_free(ksrc);
	return 0;
}

static char *build(GError **err)
{
	struct kernel k = { .arch = (char *)kernel_host_arch(), .ksrc = ksrc, .ksrc_name = ksrc };

	return selftests_build(&cli, &k, err);
}

static bool has(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL);
	bool there = !access(path, X_OK);

	g_free(path);
	return there;
}

/* How often make ran in guest/ */
static int calls(void)
{
	GPtrArray *keys = cache_list("objects", "*");
	char *path, *text = NULL;
	int n = 0, i;

	assert_int_equal(keys->len, 1);
	path = mmg_cache_path("objects", keys->pdata[0], "calls", NULL);
	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	for (i = 0; text[i]; i++)
		n += text[i] == '\n';
	g_free(text);
	g_free(path);
	g_ptr_array_unref(keys);
	return n;
}

static void test_built_once(void **state)
{
	char *dir = build(NULL), *again = build(NULL), *other;

	(void)state;
	assert_non_null(dir);
	assert_true(has(dir, "init"));
	assert_true(has(dir, "kvm/a_test"));
	assert_false(has(dir, "kvm/a_test.d"));
	assert_false(has(dir, ".hidden/a_test"));
	assert_string_equal(dir, again);
	assert_int_equal(calls(), 1);
	/* A changed test is another result; the old one stays for the run that has it */
	put("selftests/kvm/a_test.c", "int main(void) { return 2; }\n");
	other = build(NULL);
	assert_non_null(other);
	assert_string_not_equal(dir, other);
	assert_true(has(dir, "kvm/a_test"));
	assert_int_equal(calls(), 2);
	/* And back: nothing to build */
	put("selftests/kvm/a_test.c", "int main(void) { return 1; }\n");
	g_free(again);
	again = build(NULL);
	assert_string_equal(dir, again);
	assert_int_equal(calls(), 2);
	/* A changed kernel source is, too */
	put("linux source/tools/testing/selftests/kvm/lib/x.c", "int x;");
	g_free(again);
	again = build(NULL);
	assert_string_not_equal(dir, again);
	g_free(dir);
	g_free(again);
	g_free(other);
}

/* The first thing the compiler said, where all of it is, and nothing half in the cache */
static void test_build_error(void **state)
{
	GPtrArray *before = cache_list("selftests", "*"), *after;
	GError *e = NULL;

	(void)state;
	put("selftests/kvm/a_test.c", "int main(void) { return nonsense; }\n");
	assert_null(build(&e));
	assert_int_equal(e->code, MMG_EXIT_BROKEN);
	assert_non_null(strstr(e->message, "nonsense"));
	assert_non_null(strstr(e->message, "build.log"));
	g_error_free(e);
	after = cache_list("selftests", "*");
	assert_int_equal(before->len, after->len);
	g_ptr_array_unref(before);
	g_ptr_array_unref(after);
}

static void test_no_compiler(void **state)
{
	struct kernel k = { .arch = "vax", .ksrc = ksrc, .ksrc_name = ksrc };
	GError *e = NULL;

	(void)state;
	assert_null(selftests_build(&cli, &k, &e));
	assert_non_null(strstr(e->message, "vax"));
	g_clear_error(&e);
	k.arch = (char *)kernel_host_arch();
	g_setenv("CC", "no-such-compiler", TRUE);
	assert_null(selftests_build(&cli, &k, &e));
	assert_non_null(strstr(e->message, "no-such-compiler"));
	g_clear_error(&e);
	g_setenv("CC", "env gcc", TRUE);
	k.ksrc_name = ksrc;
	put("selftests/kvm/a_test.c", "int main(void) { return 3; }\n");
	char *dir = selftests_build(&cli, &k, NULL);

	assert_non_null(dir);
	g_free(dir);
	g_unsetenv("CC");
	k.arch = "s390x";
	g_setenv("CROSS_COMPILE", "no-such-cross-", TRUE);
	assert_null(selftests_build(&cli, &k, &e));
	assert_non_null(strstr(e->message, "no-such-cross-gcc"));
	g_clear_error(&e);
	g_unsetenv("CROSS_COMPILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_once),
		cmocka_unit_test(test_build_error),
		cmocka_unit_test(test_no_compiler),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
