// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/vm/programs.c host/base/*.c
/* Programs of the host, gathered for a data disk */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/utsname.h>

#include "vm/vm.h"

static char *stage(const char *dir, const char *name, const char *arch)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	g_ptr_array_add(names, (char *)name);
	return programs_stage(dir, names, arch);
}

static void with_its_libraries(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-programs-XXXXXX", NULL);
	struct utsname host;
	g_autofree char *root = NULL, *program = NULL, *libc = NULL;

	(void)state;
	uname(&host);
	root = stage(dir, "mkdir", host.machine);
	assert_non_null(root);
	program = g_build_filename(root, "programs", "mkdir", NULL);
	libc = g_build_filename(root, "programs", "libc.so.6", NULL);
	assert_true(g_file_test(program, G_FILE_TEST_IS_EXECUTABLE));
	/* a file of its own: mke2fs would take a link as one */
	assert_true(g_file_test(libc, G_FILE_TEST_IS_REGULAR));
	assert_false(g_file_test(libc, G_FILE_TEST_IS_SYMLINK));
	mmg_rmtree(dir);
}

static void none_where_there_is_none(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-programs-XXXXXX", NULL);
	struct utsname host;

	(void)state;
	uname(&host);
	assert_null(stage(dir, "no-such-program", host.machine));
	assert_null(stage(dir, "mkdir", "another"));
	mmg_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_its_libraries),
		cmocka_unit_test(none_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
