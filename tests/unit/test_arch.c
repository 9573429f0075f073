// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/base/arch.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <glib.h>
#include <string.h>

#include "base/arch.h"

static void every_name_finds_its_row(void **state)
{
	unsigned int n;
	const struct arch *a = arch_all(&n);

	(void)state;
	assert_true(n >= 4);
	for (unsigned int i = 0; i < n; i++) {
		assert_ptr_equal(arch_find(a[i].name), &a[i]);
		assert_ptr_equal(arch_of_elf(a[i].elf), &a[i]);
		for (unsigned int j = 0; a[i].aliases[j]; j++)
			assert_ptr_equal(arch_find(a[i].aliases[j]), &a[i]);
		/* Debian's and the kernel's words are taken as well */
		assert_ptr_equal(arch_find(a[i].deb), &a[i]);
		assert_ptr_equal(arch_find(a[i].kbuild), &a[i]);
	}
	assert_null(arch_find("vax"));
	assert_null(arch_find(""));
	assert_null(arch_of_elf(EM_VAX));
}

/* What cannot be booted says why; what can has all that a boot takes */
static void a_row_is_whole(void **state)
{
	unsigned int n;
	const struct arch *a = arch_all(&n);

	(void)state;
	for (unsigned int i = 0; i < n; i++) {
		assert_non_null(a[i].package);
		assert_non_null(a[i].cross[0]);
		if (!a[i].qemu) {
			assert_non_null(a[i].why_not);
			continue;
		}
		assert_true(a[i].machine && a[i].cpu && a[i].console && a[i].kvm[0] && a[i].images[0]);
		assert_true(*a[i].tcg == ',');
	}
}

static void cross_compile_is_heeded(void **state)
{
	const struct arch *other = arch_find(arch_host() == arch_find("riscv64") ? "arm64" : "riscv64");

	(void)state;
	g_setenv("MMGATE_CROSS_COMPILE", "mine-", TRUE);
	assert_string_equal(arch_cross(other), "mine-");
	assert_string_equal(arch_cross(arch_host()), "");
	g_unsetenv("MMGATE_CROSS_COMPILE");
	assert_true(*arch_cross(other) != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_finds_its_row),
		cmocka_unit_test(a_row_is_whole),
		cmocka_unit_test(cross_compile_is_heeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
