// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: kswapd wakes when it must, frees up to high, scans no more than it frees, sleeps
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: small-zones no-normal memoryless
 * mmgate-needs: CONFIG_VM_EVENT_COUNTERS
 * mmgate-wants: CONFIG_EXT4_FS CONFIG_VIRTIO_BLK CONFIG_HUGETLBFS
 * mmgate-provokes: allocation failure
 * mmgate-timeout: 60
 *
 * A file larger than what is free is read once, through the page cache.  It is a
 * hole, so that no device slows it down.  The load is steady and clean: kswapd
 * can free every page it looks at.
 *
 * How it could mislead: "asleep" is seen as no scanning over a while, since a
 * thread may sleep for other reasons.  What was scanned per MiB read depends on
 * watermarks and on the size of the machine: a gate compares it on one machine.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fill.h"
#include "mm_util.h"

#define LEFT		(6 * MIB)	/* above high, when the hog is done */
#define CHURN		(64 * MIB)	/* read beyond what is free */
#define STEP		(1 * MIB)
#define ISOLATED	100		/* free pages that compaction may hold for a moment */
#define SLEEP_S		5
#define MIN_FREE_KB	2048	/* marks far below what stops_at_high() leaves to be freed */
#define BATCH		64	/* MIN_LRU_BATCH, what MGLRU may overshoot by */
#define MAX_SCAN	8		/* pages scanned for one reclaimed: measured 1 to 2 */

static int node;
static struct vmstat before, now;
static struct fill file;

/* The node with most memory in one zone; all else is left alone */
static void pick(struct zoneinfo *zi)
{
	const struct zi_zone *best = NULL;
	struct node_set one;
	size_t i;

	mm_zoneinfo(zi);
	for (i = 0; i < zi->nr_zones; i++)
		if (!best || zi->zones[i].free > best->free)
			best = &zi->zones[i];
	node = best->node;
	one = node_set_of(node);
	node_set_policy(NODE_BIND, &one);
}

/* Every zone of the node but @left bytes above its high watermark and its reserve */
static void fill_up(size_t left)
{
	unsigned long page = mm_page_size(), want = 0, room = 0;
	long ratio[ZI_MAX_ZONES];
	struct zoneinfo zi;
	size_t i;

	mm_usual_reclaim();
	mm_shrink_slabs();
	mm_fresh_ratio(ratio);
	pick(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long keep = z->high + left / page +
				     zi_protection(&zi, z->node, z->index, zi.zones_per_node - 1,
						   ratio[z->index]);

		if (z->node == node && z->free > keep)
			want += z->free - keep;
		if (z->node == node && z->free > keep - left / page)
			room += z->free - (keep - left / page);
	}
	zoneinfo_free(&zi);
	/* page cache has no more than that to be in: with less the OOM killer is right */
	if (room < left / page)
		mmg_skip("node %d has %lu MiB above high watermarks and reserves, %zu are needed",
			 node, room * page / MIB, left / MIB);
	mmg_doing("filling node %d", node);
	hog_start(node, want * page);
}

static unsigned long scanned(const struct vmstat *v)
{
	return vmstat_get(v, "pgscan_kswapd");
}

/* What kswapd did so far: pages looked at, and rounds begun even where it finds none */
static unsigned long activity(const struct vmstat *v)
{
	return scanned(v) + vmstat_get(v, "pageoutrun");
}

/* Until kswapd has done nothing for 300 ms; the seconds it took, or -1 */
static double wait_asleep(void)
{
	unsigned long last;
	int still = 0, i;

	mm_vmstat(&now);
	last = activity(&now);
	for (i = 0; i < SLEEP_S * 20; i++) {
		usleep(50000);
		mm_vmstat(&now);
		still = activity(&now) == last ? still + 1 : 0;
		last = activity(&now);
		if (still == 6)
			return (i - 5) * 0.05;
	}
	return -1;
}

static unsigned long free_above_min(void)
{
	unsigned long sum = 0;
	struct zoneinfo zi;
	size_t i;

	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		if (zi.zones[i].node == node && zi.zones[i].free > zi.zones[i].min)
			sum += zi.zones[i].free - zi.zones[i].min;
	zoneinfo_free(&zi);
	return sum;
}

static void churn(size_t bytes)
{
	size_t done;

	for (done = 0; done < bytes; done += STEP) {
		mmg_doing("reading: %zu of %zu MiB", done / MIB, bytes / MIB);
		if (fill_more(&file, STEP) < STEP)
			break;
	}
}

/*
 * Read on until kswapd works, and no further.  It looks at the marks again a tenth of a
 * second after its last round (kswapd_try_to_sleep()); on a slow machine reads go on
 * after that, and end anywhere between high and low.
 */
static void churn_until_awake(size_t bytes)
{
	unsigned long last;
	size_t done;

	mm_vmstat(&now);
	last = activity(&now);
	for (done = 0; done < bytes && activity(&now) == last; done += STEP) {
		mmg_doing("reading until kswapd works: %zu MiB", done / MIB);
		if (fill_more(&file, STEP) < STEP)
			break;
		mm_vmstat(&now);
	}
}

/*
 * Pages passed over because kswapd worked for a lower zone: the classic LRU counts them as
 * scanned (isolate_lru_folios()), MGLRU does not (scan_folios()).
 */
static unsigned long passed_over(void)
{
	char *text = mmg_read_file("/sys/kernel/mm/lru_gen/enabled", NULL);
	bool mglru = text && strtoul(text, NULL, 0) & 1;

	free(text);
	return mglru ? 0 : vmstat_sum(&now, "pgskip_") - vmstat_sum(&before, "pgskip_");
}

/* Read past what is free; what was scanned and freed for it */
static void steady(const struct mmg_case *c)
{
	unsigned long scan, steal, direct, skipped;
	double asleep, ratio;
	size_t bytes;

	(void)c;
	fill_up(LEFT);
	if (wait_asleep() < 0)
		mmg_fail("kswapd scans without a load for more than %d s", SLEEP_S);
	before = now;
	bytes = free_above_min() * mm_page_size() + CHURN;
	fill_start(&file, FILL_FILE, bytes + MIB);
	churn(bytes);
	asleep = wait_asleep();
	scan = scanned(&now) - scanned(&before);
	steal = vmstat_delta(&before, &now, "pgsteal_kswapd");
	direct = vmstat_delta(&before, &now, "pgscan_direct");
	skipped = passed_over();
	ratio = steal ? (double)(scan > skipped ? scan - skipped : 0) / steal : 0;
	mmg_metric("read_mib", file.reads / MIB);
	mmg_metric("kswapd_scanned", scan);
	mmg_metric("kswapd_reclaimed", steal);
	mmg_metric("direct_scanned", direct);
	mmg_metric("skipped", skipped);
	mmg_metric("scanned_per_mib", (double)(scan + direct) / (file.reads / MIB));
	mmg_metric("scanned_per_reclaimed", ratio);
	mmg_metric("pageoutrun", vmstat_delta(&before, &now, "pageoutrun"));
	mmg_metric("allocstall", vmstat_sum(&now, "allocstall_") -
		   vmstat_sum(&before, "allocstall_"));
	if (asleep < 0)
		mmg_fail("kswapd still scans %d s after the load ended (%lu pages so far)",
			 SLEEP_S, scan);
	mmg_metric("asleep_s", asleep);
	if (!scan)
		mmg_fail("%zu MiB read past what was free, and kswapd never scanned",
			 bytes / MIB);
	if (ratio > MAX_SCAN)
		mmg_fail("kswapd scanned %lu pages to reclaim %lu of clean cache (%.1f each)", scan,
			 steal, ratio);
	if (vmstat_delta(&before, &now, "oom_kill"))
		mmg_fail("%ld processes killed for want of memory",
			 vmstat_delta(&before, &now, "oom_kill"));
	mmg_pass("%zu MiB read: kswapd scanned %lu, reclaimed %lu (%.2f each), asleep after %.1f s",
		 file.reads / MIB, scan, steal, ratio, asleep);
}

/*
 * What kswapd leaves behind: a zone with its high watermark and its reserve free,
 * and every zone with its min watermark and its reserve
 */
static void frees_to_high(const struct mmg_case *c)
{
	long ratio[ZI_MAX_ZONES], best = 0;
	const char *best_name = "none";
	struct zoneinfo zi, start;
	bool first = true;
	size_t bytes, i;
	int aim;

	(void)c;
	fill_up(LEFT);
	wait_asleep();
	before = now;
	mm_zoneinfo(&start);
	bytes = free_above_min() * mm_page_size() + CHURN / 2;
	fill_start(&file, FILL_FILE, 2 * bytes + MIB);
	churn(bytes);
	if (wait_asleep() < 0)
		mmg_fail("kswapd still scans %d s after the load ended", SLEEP_S);
	churn_until_awake(bytes);
	if (wait_asleep() < 0)
		mmg_fail("kswapd still scans %d s after the load ended", SLEEP_S);
	if (scanned(&now) == scanned(&before))
		mmg_fail("%zu MiB read past what was free, and kswapd never scanned",
			 bytes / MIB);
	mm_refresh();
	mm_zoneinfo(&zi);
	mm_fresh_ratio(ratio);
	aim = zi.zones_per_node - 1;
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long mark = z->high + zi_protection(&zi, z->node, z->index, aim,
							     ratio[z->index]);
		long over = (long)z->free - (long)mark;

		unsigned long floor = mark - z->high + z->min - z->boost;

		if (z->node != node || !z->managed)
			continue;
		if (start.zones[i].free >= floor && z->free + z->pcp_count + ISOLATED < floor)
			mmg_fail("node %d %s has %lu pages left, must keep %lu (slack %d)", node,
				 z->name, z->free + z->pcp_count, floor, ISOLATED);
		mmg_info("node %d %-7s free %lu, high and reserve %lu: %ld over", node, z->name,
			 z->free, mark, over);
		if (first || over > best) {
			best = over;
			best_name = z->name;
			first = false;
		}
	}
	mmg_metric("over_high", best);
	/* what the last pages read took after kswapd went to sleep */
	if (best < -(long)(zi_zone_slack(&zi.zones[0]) + 64))
		mmg_fail("kswapd sleeps with node %d at best %ld pages below high (%s)", node,
			 -best, best_name);
	mmg_pass("kswapd slept with %s %ld pages over its high watermark and reserve", best_name,
		 best);
}

/* What one round of kswapd asks for: kswapd_shrink_node() in mm/vmscan.c */
static unsigned long one_round(const struct zoneinfo *zi)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		if (z->node == node && z->managed)
			sum += (z->high > 32 ? z->high : 32) + BATCH;
	}
	return sum;
}

/*
 * No round begins once a zone has its high watermark and its reserve free
 * (balance_pgdat()).  With a ratio of 1 only the uppermost zone counts, so that a small
 * one cannot end the matter; a second round allows for direct reclaim beside it.
 */
static void stops_at_high(const struct mmg_case *c)
{
	long ratio[ZI_MAX_ZONES], best = LONG_MIN, bound;
	struct zoneinfo zi;
	size_t i;

	(void)c;
	mmg_save_setting("/proc/sys/vm/min_free_kbytes");
	mmg_save_setting("/proc/sys/vm/watermark_boost_factor");
	mmg_save_setting(ZI_RATIO_PATH);
	mmg_write_setting("/proc/sys/vm/min_free_kbytes", "%d", MIN_FREE_KB);
	mmg_write_setting("/proc/sys/vm/watermark_boost_factor", "0");
	mm_write_ratio(1);
	fill_up(16 * MIB);
	wait_asleep();
	before = now;
	fill_start(&file, FILL_FILE, CHURN + MIB);
	churn(CHURN);
	if (wait_asleep() < 0)
		mmg_fail("kswapd still runs %d s after the load ended", SLEEP_S);
	if (scanned(&now) == scanned(&before))
		mmg_fail("%lu MiB read past what was free, and kswapd never scanned", CHURN / MIB);
	mm_refresh();
	mm_zoneinfo(&zi);
	mm_fresh_ratio(ratio);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		long over = (long)z->free - (long)z->high -
			    (long)zi_protection(&zi, z->node, z->index, zi.zones_per_node - 1,
						ratio[z->index]);

		if (z->node != node || !z->managed)
			continue;
		mmg_info("node %d %-7s free %lu, high %lu: %ld over with its reserve", node,
			 z->name, z->free, z->high, over);
		if (over > best)
			best = over;
	}
	bound = 2 * one_round(&zi) + zi_zone_slack(&zi.zones[0]);
	mmg_metric("over_high", best);
	mmg_metric("over_allowed", bound);
	mmg_metric("pageoutrun", vmstat_delta(&before, &now, "pageoutrun"));
	if (best > bound)
		mmg_fail("kswapd went on to %ld pages over high and reserve, two rounds are %ld",
			 best, bound);
	mmg_pass("kswapd stopped %ld pages over high watermark and reserve (two rounds: %ld)", best,
		 bound);
}

/* Plenty free: no kswapd, whatever is empty or small beside it */
static void idle_when_free(const struct mmg_case *c)
{
	struct zoneinfo zi;
	unsigned long room = 0;
	size_t i;

	(void)c;
	pick(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		if (zi.zones[i].node == node && zi.zones[i].free > zi.zones[i].high)
			room += zi.zones[i].free - zi.zones[i].high;
	if (room < 96 * MIB / mm_page_size())
		mmg_skip("node %d has only %lu MiB above its watermarks", node,
			 room * mm_page_size() / MIB);
	if (wait_asleep() < 0)
		mmg_fail("kswapd scans without a load for more than %d s", SLEEP_S);
	before = now;
	fill_start(&file, FILL_FILE, 48 * MIB);
	churn(47 * MIB);
	usleep(200000);
	mm_vmstat(&now);
	if (scanned(&now) != scanned(&before) || vmstat_delta(&before, &now, "pageoutrun"))
		mmg_fail("kswapd ran %ld times and scanned %lu pages with %lu MiB free above high",
			 vmstat_delta(&before, &now, "pageoutrun"),
			 scanned(&now) - scanned(&before), room * mm_page_size() / MIB);
	mmg_pass("kswapd let 47 MiB of page cache come with %lu MiB above the watermarks",
		 room * mm_page_size() / MIB);
}

static const struct mmg_case cases[] = {
	{ .name = "idle-when-free", .fn = idle_when_free, .destructive = true },
	{ .name = "steady-churn", .fn = steady, .destructive = true },
	{ .name = "frees-to-high", .fn = frees_to_high, .destructive = true },
	{ .name = "stops-at-high", .fn = stops_at_high, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/kswapd_scan",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
