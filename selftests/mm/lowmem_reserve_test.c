// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what each zone keeps back from allocations aimed higher, against the formula
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-guards: Fixes: eae116d1f044 ("Revert "mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone"")
 * mmgate-machines: default numa-fake2 numa-fake4 numa-fake8 numa-uneven small-zones
 * mmgate-machines: no-normal memoryless movable one-zone arm64-small-zones arm64-fake2
 * mmgate-machines: arm64-memoryless ppc64el-memoryless
 * mmgate-quick: default numa-fake2 small-zones arm64-small-zones arm64-memoryless
 * mmgate-quick: ppc64el-memoryless
 * mmgate-needs: /proc/zoneinfo /proc/sys/vm/lowmem_reserve_ratio
 * mmgate-timeout: 60
 *
 * For a zone i and an allocation that may use zones up to j, the kernel keeps
 *	floor((managed pages of zones i+1 .. j of the node) / ratio[i])
 * pages of zone i back; nothing where ratio[i] is 0 or zone i is empty.  The
 * commit above made it 0 wherever zone j was empty, and user memory aims at
 * ZONE_MOVABLE, which is empty on most machines: the reserve was gone.
 *
 * How it could mislead: rows follow a zone's size only when something makes the
 * kernel recompute them.  So each look follows a write of the ratio, but for those of
 * "boot-rows" and "read": they judge what PID 1 of the test VM saw before anything
 * else had run, since nobody can tell later what has been recomputed.  Up to 7.1 the
 * rows of a freshly booted kernel may be a little too small, since memory that
 * is freed late in boot does not recompute them; "boot-rows" allows for that.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm_util.h"

/* What PID 1 keeps (guest/init.c, keep_boot_rows()): the rows, then the ratio, then the rows */
#define BOOT_DIR	MM_BOOT_DIR

static void boot_zoneinfo(const char *name, struct zoneinfo *zi)
{
	char path[80], err[200], *text;

	snprintf(path, sizeof(path), BOOT_DIR "%s", name);
	text = mmg_read_file(path, NULL);
	if (!text)
		mmg_skip("no %s: only PID 1 of the test VM can look before anything else", path);
	if (zoneinfo_parse(text, zi, err, sizeof(err)))
		mmg_broken("%s: %s", path, err);
	free(text);
}

static void boot_ratio(long *ratio)
{
	char *text = mmg_read_file(BOOT_DIR "ratio", NULL);

	memset(ratio, 0, sizeof(*ratio) * ZI_MAX_ZONES);
	if (!text || zi_ratio_parse(text, ratio, ZI_MAX_ZONES) < 1)
		mmg_broken("PID 1 kept no lowmem_reserve_ratio in " BOOT_DIR "ratio");
	free(text);
}

/*
 * Before anything has read or written the ratio.  Rows are computed once in boot
 * (init_per_zone_wmark_min()), and up to 7.1 not again for what is freed after that: the
 * initramfs, __init text.  So a row may lack as many pages of the zones above as that
 * is, and none where the kernel recomputes (rules.def, managed_recomputes); it
 * never has too many.
 */
static void boot_rows(const struct mmg_case *c)
{
	long ratio[ZI_MAX_ZONES], late;
	unsigned int stale = 0;
	struct zoneinfo zi;
	size_t i;
	int j;

	(void)c;
	boot_zoneinfo("zoneinfo", &zi);
	boot_ratio(ratio);
	late = mm_rule(RULE_managed_recomputes) ? 0 : mm_freed_late();
	if (late < 0)
		mmg_skip("the kernel's log does not say what boot freed late (CONFIG_PRINTK)");
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		long may_lack = ratio[z->index] > 0 ? late / ratio[z->index] + 1 : 0;

		for (j = 0; j < z->nr_protection; j++) {
			long want = zi_protection(&zi, z->node, z->index, j, ratio[z->index]);
			long is = z->protection[j];

			stale += want != is;
			if (is > want || want - is > may_lack)
				mmg_fail("node %d %s column %d was %ld at boot, must be %ld (less %ld at most)",
					 z->node, z->name, j, is, want, may_lack);
		}
	}
	mmg_metric("stale_cells", stale);
	mmg_metric("freed_late", late);
	mmg_pass("%u cells of %zu rows stale before the first read, by what boot freed late (%ld pages)",
		 stale, zi.nr_zones, late);
}

/* What a mere read of the ratio does to the rows: rules.def, ratio_read_passive */
static void read_alone(const struct mmg_case *c)
{
	struct mm_rows before, after;
	struct zoneinfo boot, then;
	long ratio[ZI_MAX_ZONES];
	bool passive;
	size_t i;
	int j;

	(void)c;
	boot_zoneinfo("zoneinfo", &boot);
	boot_zoneinfo("zoneinfo-after-read", &then);
	boot_ratio(ratio);
	mm_compare_rows(&boot, ratio, &before);
	mm_compare_rows(&then, ratio, &after);
	mmg_save_setting(ZI_RATIO_PATH);
	passive = mm_ratio_checked();
	mmg_metric("stale_before", before.wrong);
	mmg_metric("stale_after", after.wrong);
	if (boot.nr_zones != then.nr_zones)
		mmg_broken("%zu zones before the first read, %zu after it", boot.nr_zones,
			   then.nr_zones);
	for (i = 0; passive && i < boot.nr_zones; i++)
		for (j = 0; j < boot.zones[i].nr_protection; j++)
			if (boot.zones[i].protection[j] != then.zones[i].protection[j])
				mmg_fail("a read made %lu of %lu in node %d %s, column %d",
					 then.zones[i].protection[j], boot.zones[i].protection[j],
					 boot.zones[i].node, boot.zones[i].name, j);
	if (passive)
		mmg_pass("a read changed no row (%u cells were stale, and are)", before.wrong);
	if (after.wrong)
		mmg_fail("a read left %u of %u cells off the formula; first: %s", after.wrong,
			 after.cells, after.first);
	if (!before.wrong)
		mmg_skip("no row was stale after boot: there was nothing for a read to refresh");
	mmg_pass("a read brought %u stale cells up to date", before.wrong);
}

/* Kinds of cells, to say at once what is wrong with a row: more than one may fit */
static void explain(const struct zoneinfo *zi, const long *ratio, char *text, size_t size)
{
	unsigned int own = 0, below = 0, falls = 0;
	size_t i;
	int j;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		for (j = 0; j < z->nr_protection; j++) {
			const struct zi_zone *up = zoneinfo_zone(zi, z->node, j);

			falls += j && z->protection[j] < z->protection[j - 1];
			if (z->protection[j] == zi_protection(zi, z->node, z->index, j,
							      ratio[z->index]))
				continue;
			own += !z->managed;
			below += z->managed && j > z->index && up && !up->managed;
		}
	}
	snprintf(text, size, "%u of zones without pages, %u against zones without pages, %u fall",
		 own, below, falls);
}

static void formula(const struct mmg_case *c)
{
	struct zoneinfo zi;
	long ratio[ZI_MAX_ZONES];
	struct mm_rows rows;
	char kinds[120];

	(void)c;
	mm_fresh_ratio(ratio);
	mm_zoneinfo(&zi);
	mm_compare_rows(&zi, ratio, &rows);
	mm_info_rows(&zi);
	mm_protection_artifact(&zi, ratio);
	mmg_metric("cells", rows.cells);
	mmg_metric("wrong", rows.wrong);
	explain(&zi, ratio, kinds, sizeof(kinds));
	if (rows.wrong)
		mmg_fail("%u of %u cells off the formula (%s); first: %s", rows.wrong, rows.cells,
			 kinds, rows.first);
	mmg_pass("%u rows, %u cells, all by the formula", rows.rows, rows.cells);
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
	mm_write_ratios(set->value, n);
	check_follows(set->value, n);
	mm_write_ratios(now, n);
	check_follows(now, n);
	mmg_pass("rows followed the %d ratios %ld %ld %ld ... and back", n, set->value[0],
		 set->value[1], set->value[2]);
}

/*
 * What is not a ratio.  The earlier handler drops its parser's error, so the write
 * reports success, and takes what came before the error; the later one takes a write whole or
 * refuses it (rules.def, ratio_checked).  With both the rows stay those of the ratio that
 * is read back, and no nonsense gets in.
 */
struct odd_write {
	const char *text;
	long loose;	/* what the earlier handler makes of the first ratio; KEPT: nothing */
	long checked;	/* the later one; KEPT: it refuses */
};

#define KEPT	LONG_MIN

static const struct odd_write negative = { "-1 -1 -1", 0, KEPT };
static const struct odd_write half = { "77 pages", 77, KEPT };
static const struct odd_write huge = { "2147483647", INT_MAX, INT_MAX };
static const struct odd_write overflow = { "4294967297", KEPT, KEPT };
static const struct odd_write junk = { "pages", KEPT, KEPT };

static void odd_value(const struct mmg_case *c)
{
	const struct odd_write *odd = c->arg;
	long before[ZI_MAX_ZONES], after[ZI_MAX_ZONES], want;
	struct zoneinfo zi;
	struct mm_rows rows;
	bool checked, refuse, refused;
	int ret;

	mmg_save_setting(ZI_RATIO_PATH);
	checked = mm_ratio_checked();
	mm_fresh_ratio(before);
	ret = mmg_try_write(ZI_RATIO_PATH, "%s", odd->text);
	mm_zoneinfo(&zi);
	mm_ratio(after);
	want = checked ? odd->checked : odd->loose;
	refuse = want == KEPT;
	mmg_info("writing \"%s\" returned %d; first ratio %ld before, %ld after", odd->text, ret,
		 before[0], after[0]);
	refused = ret < 0;
	if (checked && refused != refuse)
		mmg_fail("writing \"%s\" returned %d: this kernel %s", odd->text, ret,
			 want == KEPT ? "refuses what is not a ratio" : "takes it");
	if (want == KEPT)
		want = before[0];
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
	{ .name = "read", .fn = read_alone },
	{ .name = "formula", .fn = formula },
	{ .name = "ratio-1", .fn = ratio_written, .arg = &all_1, .destructive = true },
	{ .name = "ratio-32", .fn = ratio_written, .arg = &all_32, .destructive = true },
	{ .name = "ratio-256", .fn = ratio_written, .arg = &all_256, .destructive = true },
	{ .name = "ratio-0", .fn = ratio_written, .arg = &all_0, .destructive = true },
	{ .name = "ratio-each", .fn = ratio_written, .arg = &primes, .destructive = true },
	{ .name = "ratio-some-0", .fn = ratio_written, .arg = &one_zero, .destructive = true },
	{ .name = "write-negative", .fn = odd_value, .arg = &negative, .destructive = true },
	{ .name = "write-half", .fn = odd_value, .arg = &half, .destructive = true },
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
