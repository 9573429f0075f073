// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/rules.c
/* What holds since which kernel: the table, and what it says of a release */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rules.h"

static void by_release(void **state)
{
	(void)state;
	assert_false(mmg_rule_of(RULE_ratio_checked, "7.2.13+deb14-amd64"));
	assert_true(mmg_rule_of(RULE_ratio_checked, "7.3.4"));
	assert_true(mmg_rule_of(RULE_ratio_checked, "7.10.0-rc1"));
	assert_true(mmg_rule_of(RULE_ratio_checked, "10.0"));
	assert_false(mmg_rule_of(RULE_movable_capped, "6.1.192"));
	assert_true(mmg_rule_of(RULE_movable_capped, "6.12.0"));
	/* the newest rule where nothing can be read */
	assert_true(mmg_rule_of(RULE_ratio_checked, "next"));
}

static void newest(void **state)
{
	(void)state;
	assert_true(mmg_rule_known("6.1"));
	assert_true(mmg_rule_known(RULES_NEWEST ".99-foo"));
	assert_false(mmg_rule_known("99.0"));
	assert_false(mmg_rule_known("next"));
}

static void whole(void **state)
{
	(void)state;
	for (int i = 0; i < NR_RULES; i++) {
		unsigned int major, minor;

		assert_int_equal(sscanf(mmg_rules[i].since, "%u.%u", &major, &minor), 2);
		assert_true(*mmg_rules[i].holds && *mmg_rules[i].before && *mmg_rules[i].source &&
			    *mmg_rules[i].probe);
		assert_true(mmg_rule_known(mmg_rules[i].since));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_release),
		cmocka_unit_test(newest),
		cmocka_unit_test(whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
