// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/build/build.c host/source/series.c host/source/patch.c host/source/mail.c host/source/git.c host/source/revision.c host/source/edit.c host/source/nearest.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

#include "build/build.h"

/* A source tree that kbuild would know by its outside: configure, compile, link */
static const char makefile[] =
	"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n"
	"allnoconfig:\n"
	"\tcp $(KCONFIG_ALLCONFIG) $(O)/.config\n"
	"\tmkdir -p $(O)/include/config; echo 6.12.0 > $(O)/include/config/kernel.release\n"
	"vmlinux: $(O)/vmlinux\n"
	"$(O)/vmlinux: $(O)/a.o\n"
	"\t$(CC) -nostdlib -static -Wl,--build-id=none -o $@ $(O)/a.o\n"
	"$(O)/a.o: mm/a.c\n"
	"\t@echo '  CC      mm/a.o'; echo x >> $(O)/compiled\n"
	"\t$(CC) -c -o $@ $<\n";

static char *dir, *tree;

/* What only another part of the program has; no test here comes to it */
void kernel_free(struct kernel *k)
{
	g_free(k);
}

static void put(const char *name, const char *content)
{
	g_autofree char *path = g_build_filename(tree, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);

	g_mkdir_with_parents(parent, 0755);
	assert_true(g_file_set_contents(path, content, -1, NULL));
}

static int setup(void **state)
{
	g_autofree char *cache = NULL;

	(void)state;
	dir = g_dir_make_tmp("mmgate-test-XXXXXX", NULL);
	/* a path with a space, as people have them */
	tree = g_build_filename(dir, "a tree", NULL);
	cache = g_build_filename(dir, "cache", NULL);
	setenv("XDG_CACHE_HOME", cache, 1);
	put("Makefile", makefile);
	put("mm/Kconfig", "config MMU\n");
	put("mm/a.c", "int _start(void) { return 1; }\n");
	put("arch/x86/Kconfig", "config X86\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(dir);
	g_free(tree);
	g_free(dir);
	return 0;
}

static struct build_result *build(const char *a_c, GError **err)
{
	struct source *src = source_open(tree, NULL, NULL);
	GHashTable *overlay = overlay_new();
	struct build_spec spec = { .src = src, .overlay = overlay, .arch = "x86_64", .label = "t" };
	struct build_result *r;

	assert_non_null(src);
	if (a_c)
		overlay_set(overlay, "mm/a.c", g_bytes_new(a_c, strlen(a_c)));
	r = kernel_build(&spec, err);
	g_hash_table_unref(overlay);
	source_free(src);
	return r;
}

/* Build and take the hash; g_free() it */
static char *hash_of(const char *a_c, bool cached)
{
	GError *err = NULL;
	struct build_result *r = build(a_c, &err);
	char *sum;

	if (!r)
		fail_msg("%s", err->message);
	assert_int_equal(r->cached, cached);
	assert_true(g_file_test(r->config, G_FILE_TEST_EXISTS));
	sum = g_strdup(r->sha256);
	build_result_free(r);
	return sum;
}

/* How often the compiler was called in all */
static int compiled(void)
{
	g_autofree char *line = g_strdup_printf("cat %s/cache/mmgate/build/*/x86_64/compiled | wc -l", dir);
	const char *argv[] = { "sh", "-c", line, NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "counting", .argv = argv, .out = out };
	int n;

	assert_true(mmg_run(&cmd, NULL));
	n = atoi(out->str);
	g_string_free(out, TRUE);
	return n;
}

static void forget_kernels(void)
{
	g_autofree char *kernels = mmg_cache_path("kernels", NULL);

	mmg_rmtree(kernels);
}

static void test_variants(void **state)
{
	static const char changed[] = "int _start(void) { return 2; }\n";
	g_autofree char *file = g_build_filename(tree, "mm/a.c", NULL);
	struct stat before, after;
	char *good, *mutant, *again;

	(void)state;
	assert_int_equal(stat(file, &before), 0);
	good = hash_of(NULL, false);
	again = hash_of(NULL, true);
	assert_string_equal(good, again);
	g_free(again);
	mutant = hash_of(changed, false);
	assert_string_not_equal(good, mutant);
	assert_int_equal(compiled(), 2);
	/* back to the good one: compiled anew, not taken from the mutant's object */
	forget_kernels();
	again = hash_of(NULL, false);
	assert_string_equal(good, again);
	assert_int_equal(compiled(), 3);
	g_free(again);
	/* the same change as nothing at all: the overlay differs, the image does not */
	again = hash_of("int _start(void) { return 1; }\n\n", false);
	assert_string_equal(good, again);
	g_free(again);
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	g_free(good);
	g_free(mutant);
}

/* A source that changes to something with an older time stamp is noticed all the same */
static void test_older_change(void **state)
{
	g_autofree char *file = g_build_filename(tree, "mm/a.c", NULL);
	struct utimbuf old = { 1000000, 1000000 };
	char *good = hash_of(NULL, true), *now;

	(void)state;
	put("mm/a.c", "int _start(void) { return 77; }\n");
	assert_int_equal(utime(file, &old), 0);
	now = hash_of(NULL, false);
	assert_string_not_equal(good, now);
	g_free(now);
	put("mm/a.c", "int _start(void) { return 1; }\n");
	assert_int_equal(utime(file, &old), 0);
	now = hash_of(NULL, false);
	assert_string_equal(good, now);
	g_free(now);
	g_free(good);
}

/* A .config that was changed behind the stamp is not built with: a compiler may have been away for a while */
static void test_config_changed_outside(void **state)
{
	struct build_result *r = build(NULL, NULL);
	g_autofree char *cache = g_build_filename(dir, "cache", "mmgate", "build", NULL);
	g_autofree char *want = NULL, *dot = NULL, *got = NULL;
	const char *work;
	GDir *d;

	(void)state;
	assert_non_null(r);
	assert_true(g_file_get_contents(r->config, &want, NULL, NULL));
	build_result_free(r);
	d = g_dir_open(cache, 0, NULL);
	work = g_dir_read_name(d);
	dot = g_build_filename(cache, work, "x86_64", ".config", NULL);
	g_dir_close(d);
	assert_true(g_file_set_contents(dot, "CONFIG_WRONG=y\n", -1, NULL));
	r = build("int _start(void) { return 7; }\n", NULL);
	assert_non_null(r);
	assert_true(g_file_get_contents(r->config, &got, NULL, NULL));
	assert_string_equal(got, want);
	build_result_free(r);
}

static void test_compile_error(void **state)
{
	GError *err = NULL;
	struct build_result *r = build("int _start(void) { return x; }\n", &err);

	(void)state;
	assert_null(r);
	assert_int_equal(err->code, MMG_EXIT_BROKEN);
	if (!strstr(err->message, "mm/a.c:1") || !strstr(err->message, "'x' undeclared"))
		fail_msg("%s", err->message);
	assert_null(strchr(err->message, '\n'));
	g_error_free(err);
}

/* What a build in place left behind is not source */
static void test_unclean(void **state)
{
	g_autofree char *dot = NULL;
	char *sum;

	(void)state;
	/* as Debian's source package has it: packaging keeps nothing but debian/ in git */
	put(".gitignore", ".*\n*.o\n/include/config/\n/*\n!/debian/\n");
	put(".config", "CONFIG_STALE=y\n");
	put("include/config/auto.conf", "CONFIG_STALE=y\n");
	put("mm/a.o", "no object\n");
	/* it is the same source as before all that */
	sum = hash_of(NULL, true);
	g_free(sum);
	forget_kernels();
	sum = hash_of(NULL, false);
	g_free(sum);
	dot = g_strdup_printf("test -z \"$(find %s/cache/mmgate/build/*/src -name .config -o -name a.o -o -name auto.conf)\"",
			      dir);
	assert_int_equal(system(dot), 0);
}

static void test_no_source(void **state)
{
	GError *err = NULL;

	(void)state;
	assert_null(source_open(dir, NULL, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	assert_non_null(strstr(err->message, "no kernel source tree"));
	g_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variants), cmocka_unit_test(test_older_change),
		cmocka_unit_test(test_config_changed_outside),
		cmocka_unit_test(test_compile_error), cmocka_unit_test(test_unclean),
		cmocka_unit_test(test_no_source),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
