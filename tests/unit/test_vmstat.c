// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/vmstat.c selftests/lib/node.c
/* Files of counters, and lists of nodes */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../selftests/lib/node.h"
#include "../../selftests/lib/vmstat.h"

static struct vmstat v, w;

static void test_recorded(void **state)
{
	static const char * const versions[] = { "6.1", "6.12", "7.2" };
	char path[200];
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "tests/fixtures/%s/small-zones/vmstat", versions[i]);
		assert_int_equal(vmstat_read(path, &v), 0);
		assert_true(vmstat_has(&v, "pgscan_kswapd"));
		assert_true(vmstat_has(&v, "pgalloc_dma32"));
		assert_true(vmstat_get(&v, "nr_free_pages") > 100000);
		assert_true(vmstat_alloc(&v, "Normal") > 1000);
		assert_int_equal(vmstat_alloc(&v, "Normal"), vmstat_get(&v, "pgalloc_normal"));
		snprintf(path, sizeof(path), "tests/fixtures/%s/small-zones/meminfo", versions[i]);
		assert_int_equal(vmstat_read(path, &v), 0);
		assert_true(vmstat_get(&v, "MemTotal") > 600000);
		assert_true(vmstat_has(&v, "Inactive(file)"));
		snprintf(path, sizeof(path), "tests/fixtures/%s/small-zones/node0-meminfo",
			 versions[i]);
		assert_int_equal(vmstat_read(path, &w), 0);
		assert_int_equal(vmstat_get(&w, "MemTotal"), vmstat_get(&v, "MemTotal"));
		snprintf(path, sizeof(path), "tests/fixtures/%s/small-zones/node0-numastat",
			 versions[i]);
		assert_int_equal(vmstat_read(path, &w), 0);
		assert_true(vmstat_get(&w, "numa_hit") > 0);
	}
}

static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(vmstat_parse("a 1\nab 2\nb 3", &v), 0);
	assert_int_equal(vmstat_get(&v, "a"), 1);
	assert_int_equal(vmstat_sum(&v, "a"), 3);
	assert_int_equal(vmstat_sum(&v, ""), 6);
	assert_false(vmstat_has(&v, "c"));
	assert_int_equal(vmstat_parse("a 5\nab 1\n", &w), 0);
	assert_int_equal(vmstat_delta(&v, &w, "a"), 4);
	assert_int_equal(vmstat_delta(&v, &w, "ab"), -1);
	assert_int_equal(vmstat_parse("Node 3 MemFree:  12 kB\n", &v), 0);
	assert_int_equal(vmstat_get(&v, "MemFree"), 12);
	assert_int_equal(vmstat_parse("", &v), 0);
	assert_int_equal(v.nr, 0);
	assert_int_equal(vmstat_parse("lonely\n", &v), -EINVAL);
	assert_int_equal(vmstat_parse("a many\n", &v), -EINVAL);
	assert_int_equal(vmstat_parse("a 99999999999999999999999\n", &v), -EINVAL);
	assert_int_equal(vmstat_read("tests/fixtures/none", &v), -ENOENT);
}

static void test_too_many(void **state)
{
	static char text[64 * (VMSTAT_MAX + 1)];
	size_t used = 0;
	int i;

	(void)state;
	for (i = 0; i <= VMSTAT_MAX; i++)
		used += snprintf(text + used, sizeof(text) - used, "counter_%d %d\n", i, i);
	assert_int_equal(vmstat_parse(text, &v), -ENOSPC);
}

static void list(const char *text, int count, int last)
{
	struct node_set set;
	int n, at = -1;

	assert_int_equal(node_list_parse(text, &set), 0);
	assert_int_equal(node_set_count(&set), count);
	for (n = node_set_next(&set, -1); n >= 0; n = node_set_next(&set, n))
		at = n;
	assert_int_equal(at, last);
}

static void test_node_lists(void **state)
{
	struct node_set set;
	char text[32];

	(void)state;
	list("", 0, -1);
	list("\n", 0, -1);
	list("0\n", 1, 0);
	list("0-3", 4, 3);
	list("0,2-3,64-65,1023\n", 6, 1023);
	assert_int_equal(node_list_parse("a", &set), -EINVAL);
	assert_int_equal(node_list_parse("3-1", &set), -EINVAL);
	assert_int_equal(node_list_parse("1,", &set), -EINVAL);
	assert_int_equal(node_list_parse("1-", &set), -EINVAL);
	assert_int_equal(node_list_parse("1024", &set), -ERANGE);
	node_list_parse("0,2-4,9", &set);
	assert_string_equal(node_set_text(&set, text, sizeof(text)), "0,2-4,9");
	node_list_parse("", &set);
	assert_string_equal(node_set_text(&set, text, sizeof(text)), "none");
	set = node_set_of(65);
	assert_true(node_set_has(&set, 65));
	assert_false(node_set_has(&set, 1) || node_set_has(&set, -1) || node_set_has(&set, 9999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_node_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
