// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/build/selftests.c host/build/unbuilt.c host/build/ksrc.c host/source/*.c host/kernel/*.c host/debian/*.c host/store/*.c host/base/*.c
/*
 * Building what runs in the VM, on a checkout of two tiny programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/environment.h"
#include "build/build.h"
#include "store/store.h"
#include "pkg_fixture.h"
#include "build/unbuilt.h"

static char *top, *ksrc;

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
	    "TARGETS ?= kvm\nall:\n\ttest $(TARGETS) = kvm\n\ttest -z \"$(O)$(KBUILD_OUTPUT)$(LLVM)$(KCFLAGS)\"\n\ttest -d $(KSRC)/tools\n\tmkdir -p $(OUTPUT)/kvm $(OUTPUT)/.hidden\n"
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

	return selftests_build(&k, err);
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
/* What a caller exported is not built, and leaves nothing in the cache that a later run believes */
static void test_exported(void **state)
{
	static const char *const names[] = {
		"TARGETS", "OUTPUT", "KSRC", "ARCH", "O", "KBUILD_OUTPUT", "LLVM", "KCONFIG_CONFIG", "KCFLAGS", "CROSS_COMPILE",
	};
	char *dir, *again;

	(void)state;
	put("selftests/kvm/a_test.c", "int main(void) { return 7; }\n");
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_setenv(names[i], "mm", TRUE);
	g_setenv("MAKEFLAGS", " -- TARGETS=mm", TRUE);
	environment_clean();
	dir = build(NULL);
	assert_non_null(dir);
	assert_true(has(dir, "kvm/a_test"));
	again = build(NULL);
	assert_string_equal(dir, again);
	g_free(dir);
	g_free(again);
}

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

/* As the real ones: a rule for each program, and a library that all of a family need */
static const char families[] =
	"all: kvm mm\n"
	"kvm:\n\t+@$(MAKE) --no-print-directory -f Makefile OUTPUT=$(OUTPUT) kvm-programs\n"
	"mm:\n\t+@$(MAKE) --no-print-directory -f Makefile OUTPUT=$(OUTPUT) mm-programs\n"
	"kvm-programs: $(OUTPUT)/kvm/a_test $(OUTPUT)/kvm/b_test\n"
	"mm-programs: $(OUTPUT)/mm/c_test\n"
	"$(OUTPUT)/kvm/a_test $(OUTPUT)/kvm/b_test: $(OUTPUT)/kvm/.lib/l.o\n"
	"$(OUTPUT)/kvm/.lib/l.o: kvm/l.h\n\t@mkdir -p $(@D)\n\t@$(CC) -xc -c -o $@ $<\n"
	"$(OUTPUT)/%_test: %_test.c\n\t@mkdir -p $(@D)\n\t@$(CC) -g -o $@ $<\n"
	".DELETE_ON_ERROR:\n.PHONY: all kvm mm kvm-programs mm-programs\n";

static void put_families(const char *b, const char *lib)
{
	put("selftests/Makefile", families);
	put("selftests/kvm/a_test.c", "int main(void) { return 1; }\n");
	put("selftests/kvm/b_test.c", b);
	put("selftests/kvm/l.h", lib);
	put("selftests/mm/c_test.c", "int main(void) { return 1; }\n");
}

static const char *why_not(json_t *tests, const char *name)
{
	return json_string_value(json_object_get(tests, name));
}

/* One test that does not compile costs itself, with the compiler's line, and no other */
static void test_one_unbuilt(void **state)
{
	char *dir, *other, *gone;
	json_t *tests;

	(void)state;
	put_families("int main(void) { return 2; }\n", "int l;\n");
	dir = build(NULL);
	assert_non_null(dir);
	assert_true(has(dir, "kvm/b_test"));
	tests = unbuilt_load(dir);
	assert_int_equal(json_object_size(tests), 0);
	json_decref(tests);

	put_families("int main(void) { return nonsense; }\n", "int l;\n");
	other = build(NULL);
	assert_non_null(other);
	assert_true(has(other, "kvm/a_test"));
	assert_true(has(other, "mm/c_test"));
	/* the program of the time when it compiled is not taken for it */
	assert_false(has(other, "kvm/b_test"));
	tests = unbuilt_load(other);
	assert_int_equal(json_object_size(tests), 1);
	assert_non_null(strstr(why_not(tests, "kvm/b"), "b_test.c:1"));
	assert_non_null(strstr(why_not(tests, "kvm/b"), "nonsense"));
	json_decref(tests);
	g_free(other);

	/* does not link: the same */
	put_families("int f(void); int main(void) { return f(); }\n", "int l;\n");
	other = build(NULL);
	tests = unbuilt_load(other);
	assert_non_null(strstr(why_not(tests, "kvm/b"), "undefined reference"));
	json_decref(tests);
	g_free(other);

	/* a library costs its family */
	put_families("int main(void) { return 3; }\n", "oops;;\n#error no library\n");
	other = build(NULL);
	assert_non_null(other);
	assert_true(has(other, "mm/c_test"));
	assert_false(has(other, "kvm/a_test"));
	tests = unbuilt_load(other);
	assert_int_equal(json_object_size(tests), 2);
	assert_non_null(strstr(why_not(tests, "kvm/a"), "no library"));
	json_decref(tests);

	/* what the host is to blame for is not kept */
	put_families("#error No space left on device\n", "int l;\n");
	gone = build(NULL);
	assert_null(gone);
	g_free(dir);
	g_free(other);
}

static void test_make_lines(void **state)
{
	struct unbuilt *u = unbuilt_new();

	(void)state;
	unbuilt_line(u, "/o", "aging_test.c:3:1: error: 'x' undeclared");
	unbuilt_line(u, "/o", "aging_test.c:4:1: error: 'y' undeclared");
	unbuilt_line(u, "/o", "make[1]: *** [../lib/lib.mk:84: /o/kvm/aging_test.o] Error 1");
	unbuilt_line(u, "/o", "make[1]: *** [lib.mk:90: /o/kvm/other_test] Error 1");
	unbuilt_line(u, "/o", "libkvm.mk:18: *** KSRC=/k has no KVM selftest library.  Stop.");
	unbuilt_line(u, "/o", "make: *** [Makefile:26: kvm] Error 2");
	assert_string_equal(unbuilt_why(u, "kvm/aging"), "aging_test.c:3:1: error: 'x' undeclared");
	assert_non_null(strstr(unbuilt_why(u, "kvm/other"), "Error 1"));
	assert_non_null(strstr(unbuilt_why(u, "kvm/third"), "no KVM selftest library"));
	assert_null(unbuilt_why(u, "mm/zoneinfo"));
	assert_true(unbuilt_is_diagnosis(unbuilt_why(u, "kvm/third")));
	assert_false(unbuilt_is_diagnosis(unbuilt_why(u, "kvm/other")));
	assert_false(unbuilt_is_diagnosis("fatal error: error writing to /tmp/x: No space left on device"));
	unbuilt_free(u);
}

static void test_no_compiler(void **state)
{
	struct kernel k = { .arch = "vax", .ksrc = ksrc, .ksrc_name = ksrc };
	GError *e = NULL;

	(void)state;
	assert_null(selftests_build(&k, &e));
	assert_non_null(strstr(e->message, "vax"));
	g_clear_error(&e);
	k.arch = (char *)kernel_host_arch();
	g_setenv("CC", "no-such-compiler", TRUE);
	assert_null(selftests_build(&k, &e));
	assert_non_null(strstr(e->message, "no-such-compiler"));
	g_clear_error(&e);
	g_setenv("CC", "env gcc", TRUE);
	k.ksrc_name = ksrc;
	put("selftests/kvm/a_test.c", "int main(void) { return 3; }\n");
	char *dir = selftests_build(&k, NULL);

	assert_non_null(dir);
	g_free(dir);
	g_unsetenv("CC");
	k.arch = "s390x";
	g_setenv("MMGATE_CROSS_COMPILE", "no-such-cross-", TRUE);
	assert_null(selftests_build(&k, &e));
	assert_non_null(strstr(e->message, "no-such-cross-gcc"));
	g_clear_error(&e);
	g_unsetenv("MMGATE_CROSS_COMPILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_once),
		cmocka_unit_test(test_exported),
		cmocka_unit_test(test_build_error),
		cmocka_unit_test(test_no_compiler),
		cmocka_unit_test(test_one_unbuilt),
		cmocka_unit_test(test_make_lines),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
