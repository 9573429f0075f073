// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/judged.c host/plan/plan.c host/plan/catalog.c host/plan/head.c host/base/*.c
/* What is kept of mutants must fall with anything that the answer depends on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/run.h"

static char *dir;
static struct run_options opt;
static struct kernel good = { .sha256 = (char *)"good" };
static GPtrArray *tests, *machines;

/* plan.c packs modules through this; nothing here loads any */
GPtrArray *modules_resolve(const struct kernel *k, const char *const *names, GPtrArray *missing,
			   GError **err)
{
	(void)k;
	(void)names;
	(void)missing;
	(void)err;
	return g_ptr_array_new();
}

/* plan.c asks what the kernel has; this one says nothing of that */
char kernel_config(const struct kernel *k, const char *name)
{
	(void)k;
	(void)name;
	return 0;
}

char *selftests_build(const struct kernel *k, GError **err)
{
	(void)k;
	(void)err;
	return g_build_filename(dir, "built", NULL);
}

static void put(const char *name, const char *content)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);

	g_mkdir_with_parents(parent, 0755);
	assert_true(g_file_set_contents(path, content, -1, NULL));
}

static int setup(void **state)
{
	(void)state;
	dir = g_dir_make_tmp("mmgate-test-XXXXXX", NULL);
	g_setenv("MMGATE_ROOT", dir, TRUE);
	g_setenv("XDG_CACHE_HOME", dir, TRUE);
	put("selftests/kvm/a_test.c", "/*\n * mmgate-about: a\n */\n");
	put("selftests/kvm/b_test.c", "/*\n * mmgate-about: b\n */\n");
	put("configs/machines/default.conf", "[machine]\nabout=d\nmemory=1G\n");
	put("configs/machines/small.conf", "[machine]\nabout=s\nmemory=1G\n");
	put("built/init", "init");
	put("built/kvm/a_test", "a");
	put("built/kvm/b_test", "b");
	tests = g_ptr_array_new();
	machines = g_ptr_array_new();
	g_ptr_array_add(tests, (char *)"kvm/a");
	g_ptr_array_add(machines, (char *)"default");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	g_ptr_array_unref(tests);
	g_ptr_array_unref(machines);
	mmg_rmtree(dir);
	g_free(dir);
	return 0;
}

/* The key by what is on disk now */
static char *key(const char *sha256, const char *how)
{
	struct judged_keys *keys = judged_keys_new(&opt, &good, NULL);
	char *k = judged_key(keys, sha256, tests, machines, how);

	judged_keys_free(keys);
	return k;
}

static void differs(const char *from, char *now)
{
	assert_non_null(now);
	assert_string_not_equal(from, now);
	g_free(now);
}

static void test_key(void **state)
{
	g_autofree char *first = key("mutant", "all"), *same = NULL;

	(void)state;
	assert_non_null(first);
	differs(first, key("other", "all"));
	differs(first, key("mutant", "stop"));
	good.sha256 = (char *)"better";
	differs(first, key("mutant", "all"));
	good.sha256 = (char *)"good";
	opt.seed = 7;
	differs(first, key("mutant", "all"));
	opt.seed = 0;
	machines->pdata[0] = (char *)"small";
	differs(first, key("mutant", "all"));
	machines->pdata[0] = (char *)"default";
	tests->pdata[0] = (char *)"kvm/a/one";
	differs(first, key("mutant", "all"));
	tests->pdata[0] = (char *)"kvm/a";
	/* another test's program does not matter, its own does */
	put("built/kvm/b_test", "B");
	same = key("mutant", "all");
	assert_string_equal(first, same);
	put("built/kvm/a_test", "A");
	differs(first, key("mutant", "all"));
	put("built/kvm/a_test", "a");
	put("built/init", "INIT");
	differs(first, key("mutant", "all"));
	put("built/init", "init");
	put("configs/machines/default.conf", "[machine]\nabout=d\nmemory=2G\n");
	differs(first, key("mutant", "all"));
	put("configs/machines/default.conf", "[machine]\nabout=d\nmemory=1G\n");
}

static void test_no_key(void **state)
{
	(void)state;
	assert_null(key(NULL, "all"));
	tests->pdata[0] = (char *)"kvm/nowhere";
	assert_null(key("mutant", "all"));
	tests->pdata[0] = (char *)"kvm/a";
	assert_null(judged_load(NULL));
	assert_null(judged_load("never-kept"));
}

static void test_keep(void **state)
{
	json_t *what = json_pack("{s:s}", "fate", "killed"), *back;

	(void)state;
	judged_save("k", what);
	json_decref(what);
	back = judged_load("k");
	assert_non_null(back);
	assert_string_equal(json_string_value(json_object_get(back, "fate")), "killed");
	assert_non_null(strchr(json_string_value(json_object_get(back, "judged")), 'T'));
	json_decref(back);
	/* half a file is none */
	put("mmgate/mutants/judged/k.json", "{ \"fate\": \"kil");
	assert_null(judged_load("k"));
	put("mmgate/mutants/judged/k.json", "[]");
	assert_null(judged_load("k"));
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_no_key),
		cmocka_unit_test(test_keep),
	};

	return cmocka_run_group_tests(all, setup, teardown);
}
