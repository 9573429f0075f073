// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what each zone keeps back from allocations aimed higher, against the formula
 * mmgate-guards: 96a5c186efff mm/page_alloc.c: don't show protection ... for empty zone
 * mmgate-machines: default numa-fake2 numa-fake4 numa-fake8 numa-uneven small-zones
 * mmgate-machines: no-normal memoryless movable one-zone
 * mmgate-quick: default numa-fake2 small-zones
 * mmgate-needs: CONFIG_NUMA_EMU /proc/zoneinfo /proc/sys/vm/lowmem_reserve_ratio
 * mmgate-timeout: 60
 *
 * For a zone i and an allocation that may use zones up to j, the kernel keeps
 *	floor((managed pages of zones i+1 .. j of the node) / ratio[i])
 * pages of zone i back; nothing where ratio[i] is 0 or zone i is empty.  The
 * commit above made it 0 wherever zone j was empty, and user memory aims at
 * ZONE_MOVABLE, which is empty on most machines: the reserve was gone.
 *
 * How it could mislead: the kernel recomputes the rows when the ratio is read,
 * so every look but the first ("boot-rows") follows such a read.  On 6.12 the
 * rows of a freshly booted kernel may be a little too small, since memory that
 * is freed late in boot does not recompute them; "boot-rows" allows for that.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "mm_util.h"

/*
 * Before anything has read the ratio: within an eighth of the formula.  What
 * boot frees late (the initramfs, __init text) is far less than that; rows
 * that were never computed, or not for this node, are far more.
 */
static void boot_rows(const struct mmg_case *c)
{
	struct zoneinfo before, after;
	long ratio[ZI_MAX_ZONES];
	unsigned int stale = 0;
	size_t i;
	int j;

	(void)c;
	mm_zoneinfo(&before);
	mm_ratio(ratio);
	mm_zoneinfo(&after);
	for (i = 0; i < before.nr_zones; i++) {
		const struct zi_zone *z = &before.zones[i];

		for (j = 0; j < z->nr_protection; j++) {
			unsigned long want = zi_protection(&after, z->node, z->index, j,
							   ratio[z->index]);
			unsigned long off = want > z->protection[j] ? want - z->protection[j] :
					    z->protection[j] - want;

			stale += off > 0;
			if (off > want / 8 + 1)
				mmg_fail("node %d %s column %d was %lu at boot, must be about %lu",
					 z->node, z->name, j, z->protection[j], want);
		}
	}
	mmg_metric("stale_cells", stale);
	mmg_pass("%u cells of %zu rows stale before the first read, none by over an eighth", stale,
		 before.nr_zones);
}

static void every_row(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	struct mm_rows rows;

	(void)c;
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	mm_compare_rows(&zi, ratio, &rows);
	mm_info_rows(&zi);
	mm_protection_artifact(&zi, ratio);
	mmg_metric("cells", rows.cells);
	mmg_metric("wrong", rows.wrong);
	if (rows.wrong)
		mmg_fail("%u of %u cells off the formula; first: %s", rows.wrong, rows.cells,
			 rows.first);
	mmg_pass("%u rows, %u cells, all by the formula", rows.rows, rows.cells);
}

static void non_decreasing(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	struct mm_rows rows;

	(void)c;
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	mm_compare_rows(&zi, ratio, &rows);
	if (rows.decreasing) {
		mm_info_rows(&zi);
		mmg_fail("protection falls from one column to the next %u times in %u rows",
			 rows.decreasing, rows.rows);
	}
	mmg_pass("no row of %u falls", rows.rows);
}

/* A zone without pages has nothing to protect */
static void empty_zone(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	unsigned int empty = 0;
	size_t i;
	int j;

	(void)c;
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];

		if (z->managed)
			continue;
		empty++;
		for (j = 0; j < z->nr_protection; j++)
			if (z->protection[j])
				mmg_fail("node %d %s has no pages, yet keeps %lu from column %d",
					 z->node, z->name, z->protection[j], j);
	}
	if (!empty)
		mmg_skip("no zone is empty here; use machine default or small-zones");
	mmg_pass("%u empty zones, each with a row of zeroes", empty);
}

/*
 * A zone below empty ones: the empty ones add nothing to the sum, and take
 * nothing from it.
 */
static void below_empty(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	unsigned int judged = 0;
	size_t i;
	int j;

	(void)c;
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];

		for (j = z->index + 1; j < z->nr_protection; j++) {
			const struct zi_zone *up = zoneinfo_zone(&zi, z->node, j);
			unsigned long want = zi_protection(&zi, z->node, z->index, j,
							   ratio[z->index]);

			if (!z->managed || !up || up->managed || !want)
				continue;
			judged++;
			if (z->protection[j] == want)
				continue;
			mm_info_rows(&zi);
			mmg_fail("node %d %s keeps %lu pages from empty %s, must be %lu", z->node,
				 z->name, z->protection[j], up->name, want);
		}
	}
	mmg_metric("judged", judged);
	if (!judged)
		mmg_skip("no populated zone has both a populated and an empty zone above it here");
	mmg_pass("%u protections against empty zones, all cumulative", judged);
}

/* ZONE_DEVICE is last and almost always empty: everything above counts */
static void last_column(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	unsigned int judged = 0;
	size_t i;

	(void)c;
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		int last = z->nr_protection - 1;
		unsigned long want = zi_protection(&zi, z->node, z->index, last, ratio[z->index]);

		judged += want > 0;
		if (z->protection[last] != want)
			mmg_fail("node %d %s, last column: %lu, must be %lu", z->node, z->name,
				 z->protection[last], want);
	}
	if (!judged)
		mmg_skip("no zone has pages above it here: nothing to protect");
	mmg_pass("last column right in %zu rows, %u of them not 0", zi.nr_zones, judged);
}

/* Write the ratios; the kernel is to hold what was written and follow it */
static void write_ratios(const long *want, int n)
{
	char text[160];
	int i, used = 0;

	for (i = 0; i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%ld", i ? " " : "", want[i]);
	mmg_doing("writing ratio %s", text);
	mmg_write_setting(ZI_RATIO_PATH, "%s", text);
}

static void check_follows(const long *want, int n)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	struct mm_rows rows;
	int i;

	/* First without a read of the ratio: the write alone must recompute */
	mm_zoneinfo(&zi);
	mm_compare_rows(&zi, want, &rows);
	if (rows.wrong) {
		mm_info_rows(&zi);
		mmg_fail("ratio %ld %ld ... written, %u of %u cells do not follow; first: %s",
			 want[0], want[1], rows.wrong, rows.cells, rows.first);
	}
	zoneinfo_free(&zi);
	mm_ratio(ratio);
	for (i = 0; i < n; i++)
		if (ratio[i] != want[i])
			mmg_fail("ratio %d reads back %ld after %ld was written", i, ratio[i],
				 want[i]);
}

struct ratio_set {
	long value[ZI_MAX_ZONES];
};

static const struct ratio_set all_1 = { { 1, 1, 1, 1, 1, 1, 1, 1 } };
static const struct ratio_set all_32 = { { 32, 32, 32, 32, 32, 32, 32, 32 } };
static const struct ratio_set all_256 = { { 256, 256, 256, 256, 256, 256, 256, 256 } };
static const struct ratio_set all_0 = { { 0, 0, 0, 0, 0, 0, 0, 0 } };
/* no two alike, so that a row computed with a neighbour's ratio shows */
static const struct ratio_set primes = { { 7, 3, 11, 5, 13, 17, 19, 23 } };
static const struct ratio_set one_zero = { { 0, 2, 0, 2, 0, 2, 0, 2 } };

static void ratio_written(const struct mmg_case *c)
{
	const struct ratio_set *set = c->arg;
	long now[ZI_MAX_ZONES];
	int n;

	mmg_save_setting(ZI_RATIO_PATH);
	n = mm_ratio(now);
	write_ratios(set->value, n);
	check_follows(set->value, n);
	write_ratios(now, n);
	check_follows(now, n);
	mmg_pass("rows followed the %d ratios %ld %ld %ld ... and back", n, set->value[0],
		 set->value[1], set->value[2]);
}

/*
 * What is no ratio.  The handler drops its parser's error, so the write
 * reports success; what counts is that the rows stay those of the ratio that
 * is read back afterwards, and that no nonsense gets in.
 */
struct odd_write {
	const char *text;
	bool changes;	/* the first ratio becomes ... */
	long first;	/* ... this one */
};

static const struct odd_write negative = { "-1 -1 -1", true, 0 };
static const struct odd_write huge = { "2147483647", true, INT_MAX };
static const struct odd_write overflow = { "4294967297", false, 0 };
static const struct odd_write junk = { "pages", false, 0 };

static void odd_value(const struct mmg_case *c)
{
	const struct odd_write *odd = c->arg;
	long before[ZI_MAX_ZONES], after[ZI_MAX_ZONES], want;
	struct zoneinfo zi;
	struct mm_rows rows;
	int ret;

	mmg_save_setting(ZI_RATIO_PATH);
	mm_ratio(before);
	ret = mmg_try_write(ZI_RATIO_PATH, "%s", odd->text);
	mm_zoneinfo(&zi);
	mm_ratio(after);
	want = odd->changes ? odd->first : before[0];
	mmg_info("writing \"%s\" returned %d; first ratio %ld before, %ld after", odd->text, ret,
		 before[0], after[0]);
	if (after[0] != want)
		mmg_fail("first ratio is %ld after writing \"%s\" over %ld, must be %ld", after[0],
			 odd->text, before[0], want);
	mm_compare_rows(&zi, after, &rows);
	if (rows.wrong)
		mmg_fail("rows do not follow after writing \"%s\"; first: %s", odd->text,
			 rows.first);
	mmg_pass("\"%s\" made the first ratio %ld of %ld (write returned %d)", odd->text, after[0],
		 before[0], ret);
}

static const struct mmg_case cases[] = {
	{ .name = "boot-rows", .fn = boot_rows },
	{ .name = "formula", .fn = every_row },
	{ .name = "non-decreasing", .fn = non_decreasing },
	{ .name = "empty-zone", .fn = empty_zone },
	{ .name = "below-empty", .fn = below_empty },
	{ .name = "last-column", .fn = last_column },
	{ .name = "ratio-1", .fn = ratio_written, .arg = &all_1, .destructive = true },
	{ .name = "ratio-32", .fn = ratio_written, .arg = &all_32, .destructive = true },
	{ .name = "ratio-256", .fn = ratio_written, .arg = &all_256, .destructive = true },
	{ .name = "ratio-0", .fn = ratio_written, .arg = &all_0, .destructive = true },
	{ .name = "ratio-each", .fn = ratio_written, .arg = &primes, .destructive = true },
	{ .name = "ratio-some-0", .fn = ratio_written, .arg = &one_zero, .destructive = true },
	{ .name = "write-negative", .fn = odd_value, .arg = &negative, .destructive = true },
	{ .name = "write-huge", .fn = odd_value, .arg = &huge, .destructive = true },
	{ .name = "write-overflow", .fn = odd_value, .arg = &overflow, .destructive = true },
	{ .name = "write-junk", .fn = odd_value, .arg = &junk, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/lowmem_reserve",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
