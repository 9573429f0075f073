// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/zoneinfo.c
/*
 * The parser of /proc/zoneinfo and the arithmetic of reserves and watermarks,
 * over files recorded from 6.1, 6.12 and 7.2 kernels on three machines.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../selftests/lib/zoneinfo.h"

#define FIXTURES	"tests/fixtures"

static const char * const versions[] = { "6.1", "6.12", "7.2" };
static const char * const machines[] = { "small-zones", "memoryless", "movable" };

static char *load(const char *version, const char *machine, const char *name)
{
	char path[200];
	char *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), FIXTURES "/%s/%s/%s", version, machine, name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static long number(const char *version, const char *machine, const char *name)
{
	char *text = load(version, machine, name);
	long n = strtol(text, NULL, 10);

	free(text);
	return n;
}

static void parse(const char *version, const char *machine, struct zoneinfo *zi)
{
	char *text = load(version, machine, "zoneinfo"), err[200];

	if (zoneinfo_parse(text, zi, err, sizeof(err)))
		fail_msg("%s %s: %s", version, machine, err);
	free(text);
}

#define for_each_fixture(v, m)	for (v = 0; v < 3; v++) for (m = 0; m < 3; m++)

/* What a person reads in the file */
static void test_fields(void **state)
{
	const struct zi_zone *z;
	struct zoneinfo zi;
	unsigned long value;

	(void)state;
	parse("6.12", "small-zones", &zi);
	assert_int_equal(zi.nr_zones, 5);
	assert_int_equal(zi.zones_per_node, 5);
	z = zoneinfo_zone_named(&zi, 0, "DMA32");
	assert_non_null(z);
	assert_int_equal(z->index, 1);
	assert_true(z->populated);
	assert_int_equal(z->boost, 0);
	assert_int_equal(z->nr_cpus, 2);
	assert_true(z->threshold > 0 && z->pcp_batch > 0);
	assert_true(z->min < z->low && z->low < z->high && z->high < z->promo);
	assert_true(z->managed < z->present && z->present < z->spanned);
	assert_int_equal(z->start_pfn, 4096);
	assert_true(zi_zone_stat(z, "nr_free_pages", &value));
	assert_int_equal(value, z->free);
	assert_false(zi_zone_stat(z, "nr_nonsense", &value));
	assert_true(zi_node_stat(&zi, 0, "nr_kernel_stack", &value));
	assert_true(value > 0);
	assert_false(zi_node_stat(&zi, 1, "nr_kernel_stack", &value));
	assert_int_equal(zi_zone_slack(z), z->threshold * 2);
	z = zoneinfo_zone_named(&zi, 0, "Movable");
	assert_false(z->populated);
	assert_int_equal(z->managed, 0);
	assert_int_equal(z->nr_protection, 5);
	assert_null(zoneinfo_zone_named(&zi, 0, "HighMem"));
	assert_null(zoneinfo_zone(&zi, 1, 0));
	zoneinfo_free(&zi);
}

static void test_nodes(void **state)
{
	struct zoneinfo zi;
	size_t v;
	int n;

	(void)state;
	for (v = 0; v < 3; v++) {
		parse(versions[v], "memoryless", &zi);
		assert_int_equal(zi.nr_zones, 20);
		for (n = 0; n < 4; n++)
			assert_non_null(zoneinfo_zone(&zi, n, 4));
		assert_int_equal(zoneinfo_zone_named(&zi, 1, "DMA32")->managed, 0);
		assert_true(zoneinfo_zone_named(&zi, 3, "Normal")->managed > 0);
		/* only nodes with populated zones print counters of the node */
		assert_int_equal(zi.nr_nodes, 2);
		zoneinfo_free(&zi);
	}
}

/* Every row of every fixture, and not by way of zi_protection() alone */
static void test_formula(void **state)
{
	size_t v, m, i;
	int j;

	(void)state;
	for_each_fixture(v, m) {
		char *text = load(versions[v], machines[m], "lowmem_reserve_ratio");
		long ratio[ZI_MAX_ZONES] = { 0 };
		struct zoneinfo zi;
		int n = zi_ratio_parse(text, ratio, ZI_MAX_ZONES);

		assert_int_equal(n, 5);
		assert_int_equal(ratio[0], 256);
		parse(versions[v], machines[m], &zi);
		for (i = 0; i < zi.nr_zones; i++) {
			const struct zi_zone *z = &zi.zones[i];
			unsigned long above = 0;

			for (j = z->index + 1; j < 5; j++) {
				above += zoneinfo_zone(&zi, z->node, j)->managed;
				assert_int_equal(z->protection[j], ratio[z->index] && z->managed ?
						 above / ratio[z->index] : 0);
				assert_int_equal(z->protection[j],
						 zi_protection(&zi, z->node, z->index, j,
							       ratio[z->index]));
			}
		}
		zoneinfo_free(&zi);
		free(text);
	}
}

/* The three ways for a protection to be 0, and the one that is a bug */
static void test_formula_edges(void **state)
{
	struct zoneinfo zi;
	unsigned long normal;

	(void)state;
	parse("6.12", "small-zones", &zi);
	normal = zoneinfo_zone_named(&zi, 0, "Normal")->managed;
	assert_int_equal(zi_protection(&zi, 0, 1, 1, 256), 0);
	assert_int_equal(zi_protection(&zi, 0, 1, 0, 256), 0);
	assert_int_equal(zi_protection(&zi, 0, 1, 2, 0), 0);
	assert_int_equal(zi_protection(&zi, 0, 1, 2, -1), 0);
	assert_int_equal(zi_protection(&zi, 0, 3, 4, 256), 0);
	assert_int_equal(zi_protection(&zi, 7, 1, 2, 256), 0);
	assert_int_equal(zi_protection(&zi, 0, 1, 2, 1), normal);
	/* Movable and Device are empty: the sum stays */
	assert_int_equal(zi_protection(&zi, 0, 1, 3, 1), normal);
	assert_int_equal(zi_protection(&zi, 0, 1, 4, 1), normal);
	assert_int_equal(zi_protection(&zi, 0, 1, 4, 7), normal / 7);
	assert_int_equal(zi_protection(&zi, 0, 0, 4, 1),
			 normal + zoneinfo_zone_named(&zi, 0, "DMA32")->managed);
	zoneinfo_free(&zi);
}

static void test_watermarks(void **state)
{
	size_t v, m, i;

	(void)state;
	for_each_fixture(v, m) {
		struct zoneinfo zi;
		enum zi_movable_rule rule;
		struct zi_wmarks w;

		parse(versions[v], machines[m], &zi);
		rule = zi_movable_rule(&zi);
		assert_int_equal(rule, v ? ZI_MOVABLE_CAPPED : ZI_MOVABLE_LOWMEM);
		for (i = 0; i < zi.nr_zones; i++) {
			const struct zi_zone *z = &zi.zones[i];

			zi_watermarks(&zi, z, rule,
				      number(versions[v], machines[m], "min_free_kbytes"),
				      number(versions[v], machines[m], "watermark_scale_factor"),
				      4, &w);
			assert_int_equal(z->min - z->boost, w.min);
			assert_int_equal(z->low - z->boost, w.low);
			assert_int_equal(z->high - z->boost, w.high);
			if (z->promo)
				assert_int_equal(z->promo - z->boost, w.promo);
		}
		zoneinfo_free(&zi);
	}
}

static void test_totalreserve(void **state)
{
	struct zoneinfo zi;
	unsigned long sum = 0;
	size_t i;

	(void)state;
	parse("6.12", "small-zones", &zi);
	for (i = 0; i < 3; i++) {
		const struct zi_zone *z = &zi.zones[i];

		sum += z->high + z->protection[4];
	}
	assert_int_equal(zi_totalreserve(&zi), sum);
	/* a zone gives no more than it has */
	zi.zones[0].managed = 10;
	assert_int_equal(zi_totalreserve(&zi), sum - zi.zones[0].high -
			 zi.zones[0].protection[4] + 10);
	zoneinfo_free(&zi);
}

static void test_ratio(void **state)
{
	long ratio[4];

	(void)state;
	assert_int_equal(zi_ratio_parse("256\t256\t32\t0\n", ratio, 4), 4);
	assert_int_equal(ratio[2], 32);
	assert_int_equal(zi_ratio_parse("", ratio, 4), 0);
	assert_int_equal(zi_ratio_parse("1 2 3 4 5", ratio, 4), -EINVAL);
	assert_int_equal(zi_ratio_parse("1 two", ratio, 4), -EINVAL);
}

/* Bad text names its line and is no crash */
static void bad(const char *text, const char *says)
{
	struct zoneinfo zi;
	char err[200];

	assert_int_equal(zoneinfo_parse(text, &zi, err, sizeof(err)), -EINVAL);
	if (!strstr(err, says))
		fail_msg("\"%s\" does not say \"%s\"", err, says);
	zoneinfo_free(&zi);
}

#define ZONE(name)	"Node 0, zone " name "\n  pages free 1\n        min 0\n        managed 1\n"

static void test_bad_text(void **state)
{
	struct zoneinfo zi;

	(void)state;
	bad("", "no zone at all");
	bad("nonsense\n", "line 1");
	bad("Node x, zone DMA\n", "line 1");
	bad("Node 0, zone\n", "line 1");
	bad(ZONE("DMA"), "no protection row");
	bad(ZONE("DMA") "        protection: (0, 1\n", "line 5");
	bad(ZONE("DMA") "        protection: (0, x)\n", "line 5");
	bad(ZONE("DMA") "        protection: 0, 1)\n", "line 5");
	bad(ZONE("DMA") "        protection: (0, 1, 2, 3, 4, 5, 6, 7, 8)\n", "more protection");
	bad(ZONE("DMA") "        protection: (0, 1)\n", "not one column a zone");
	bad(ZONE("DMA") "        protection: (0)\n      nr_free_pages lots\n", "line 6");
	bad(ZONE("DMA") "        protection: (0)\n      nr_free_pages 99999999999999999999999\n",
	    "line 6");
	bad(ZONE("DMA") ZONE("DMA32"), "zone before it");
	bad("Node 0, zone DMA\n        min 3\n", "before the zone's");
	assert_int_equal(zoneinfo_parse(ZONE("DMA") "        protection: (0)\n", &zi, NULL, 0), 0);
	assert_int_equal(zi.zones[0].managed, 1);
	zoneinfo_free(&zi);
}

/* Every cut of a real file is refused or read, never a crash (ASan looks on) */
static void test_truncated(void **state)
{
	char *text = load("7.2", "memoryless", "zoneinfo");
	size_t len = strlen(text), at;

	(void)state;
	for (at = 0; at < len; at += 37) {
		char *part = strndup(text, at), err[200];
		struct zoneinfo zi;

		zoneinfo_parse(part, &zi, err, sizeof(err));
		zoneinfo_free(&zi);
		free(part);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_formula_edges),
		cmocka_unit_test(test_watermarks),
		cmocka_unit_test(test_totalreserve),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
