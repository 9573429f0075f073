// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/kernels.c host/base/*.c
/* Unit tests of the headings of a run's kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/run.h"

/* No kernel is resolved here */
struct kernel *kernel_resolve(const struct kernel_options *how, const char *spec, GError **err)
{
	(void)how;
	(void)spec;
	(void)err;
	return NULL;
}

void kernel_free(struct kernel *k)
{
	g_free(k->label);
	g_free(k);
}

static void free_kernel(gpointer k)
{
	kernel_free(k);
}

/* @given and what each is to become, both NULL-terminated */
static void check(const char *const *given, const char *const *want)
{
	GPtrArray *kernels = g_ptr_array_new_with_free_func(free_kernel);

	for (; *given; given++) {
		struct kernel *k = g_new0(struct kernel, 1);

		k->label = g_strdup(*given);
		g_ptr_array_add(kernels, k);
	}
	kernels_unique_labels(kernels);
	for (guint i = 0; i < kernels->len; i++)
		assert_string_equal(((struct kernel *)kernels->pdata[i])->label, want[i]);
	g_ptr_array_unref(kernels);
}

/* A label that another one begins with is not that one */
static void test_prefix(void **state)
{
	static const char *const labels[] = { "6.12.10", "6.12.1", "6.12", NULL };

	(void)state;
	check(labels, labels);
}

static void test_same(void **state)
{
	static const char *const given[] = { "6.12.1", "6.12.10", "6.12.1", "6.12.1", NULL };
	static const char *const want[] = { "6.12.1", "6.12.10", "6.12.1#2", "6.12.1#3", NULL };

	(void)state;
	check(given, want);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
