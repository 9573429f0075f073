// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: min, low and high of every zone against the kernel's arithmetic
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: default small-zones memoryless movable one-zone
 * mmgate-needs: /proc/zoneinfo /proc/sys/vm/min_free_kbytes /proc/sys/vm/watermark_scale_factor
 * mmgate-timeout: 60
 *
 * min is the zone's share of min_free_kbytes by its managed pages; the distances
 * from min to low and from low to high are the larger of a quarter of that share
 * and managed * watermark_scale_factor / 10000 (mm/page_alloc.c,
 * __setup_per_zone_wmarks()).  ZONE_MOVABLE is a low zone like the others up to
 * 6.1; on later kernels it has managed / 1024, from 32 to 128, and counts for
 * nothing in the sum.  The two are told apart by what an empty one shows.
 *
 * How it could mislead: the printed values include a boost that comes and goes
 * with fragmentation; it is printed, too, and taken off.  The values of a fresh
 * boot may be older than the managed pages, so everything but "boot-marks" looks
 * after a write, which recomputes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "mm_util.h"

#define MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define SCALE		"/proc/sys/vm/watermark_scale_factor"

static void say_zones(const struct zoneinfo *zi)
{
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		mmg_info("node %d %-7s managed %7lu min %lu low %lu high %lu boost %lu", z->node,
			 z->name, z->managed, z->min, z->low, z->high, z->boost);
	}
}

/* A zone's marks if boot freed @late pages after it had computed them: of it, or of others */
static void marks_of_boot(const struct zoneinfo *zi, const struct zi_zone *z, unsigned long late,
			  unsigned long min_free, unsigned long scale, struct zi_wmarks *least,
			  struct zi_wmarks *most)
{
	enum zi_movable_rule rule = zi_movable_rule(zi);
	unsigned long page_kb = mm_page_size() / 1024, left = late;
	struct zoneinfo then = *zi;
	struct zi_zone less = *z;
	size_t i;

	less.managed = z->managed > late ? z->managed - late : 0;
	zi_watermarks(zi, &less, rule, min_free, scale, page_kb, least);
	/* the fewer pages all the others had, the larger was its share */
	then.zones = calloc(zi->nr_zones, sizeof(*then.zones));
	if (!then.zones)
		mmg_broken("no memory for %zu zones", zi->nr_zones);
	for (i = 0; i < zi->nr_zones; i++) {
		unsigned long take = zi->zones[i].managed < left ? zi->zones[i].managed : left;

		then.zones[i] = zi->zones[i];
		if (!strcmp(z->name, "Movable") || strcmp(zi->zones[i].name, "Movable")) {
			then.zones[i].managed -= take;
			left -= take;
		}
	}
	zi_watermarks(&then, z, rule, min_free, scale, page_kb, most);
	free(then.zones);
}

/* Marks of boot outside of what the log lets them be; the first in words */
static unsigned int boot_off(const struct zoneinfo *zi, unsigned long late, unsigned long min_free,
			     unsigned long scale, char *first, size_t size)
{
	unsigned int wrong = 0;
	size_t i;
	int k;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		unsigned long is[] = { z->min - z->boost, z->low - z->boost, z->high - z->boost };
		static const char *const what[] = { "min", "low", "high" };
		struct zi_wmarks a, b;

		marks_of_boot(zi, z, late, min_free, scale, &a, &b);
		for (k = 0; k < 3; k++) {
			unsigned long least[] = { a.min, a.low, a.high };
			unsigned long most[] = { b.min, b.low, b.high };

			if (is[k] >= least[k] && is[k] <= most[k])
				continue;
			if (!wrong++)
				snprintf(first, size,
					 "node %d %s (%lu managed): %s %lu, not %lu to %lu",
					 z->node, z->name, z->managed, what[k], is[k], least[k],
					 most[k]);
		}
	}
	return wrong;
}

/*
 * As boot left them.  Memory is still freed after that, which makes no difference to the marks;
 * where no log says how much, a quarter is allowed.
 */
static void boot_marks(const struct mmg_case *c)
{
	unsigned long min_free = mm_number(MIN_FREE), scale = mm_number(SCALE);
	struct zoneinfo zi;
	char first[160];
	unsigned int wrong;
	long late;

	(void)c;
	mm_zoneinfo(&zi);
	late = mm_freed_late();
	wrong = late < 0 ? mm_compare_marks(&zi, min_free, scale, 4, first, sizeof(first)) :
		boot_off(&zi, late, min_free, scale, first, sizeof(first));
	if (wrong) {
		say_zones(&zi);
		mmg_fail("%u marks are off with min_free_kbytes %lu; first: %s", wrong, min_free,
			 first);
	}
	mmg_metric("freed_late", late);
	mmg_pass("marks of %zu zones are as min_free_kbytes %lu makes them, by what boot freed late (%ld pages)",
		 zi.nr_zones, min_free, late);
}

struct setting {
	unsigned long min_free, scale;
};

/* Memory in all: a watermark of half of it would bring the OOM killer */
static unsigned long total_kib(void)
{
	static struct vmstat m;

	if (vmstat_read("/proc/meminfo", &m) || !vmstat_has(&m, "MemTotal"))
		mmg_broken("no MemTotal in /proc/meminfo");
	return vmstat_get(&m, "MemTotal");
}

static void written(const struct mmg_case *c)
{
	const struct setting *s = c->arg;
	struct zoneinfo zi;
	struct mm_rows rows;
	long ratio[ZI_MAX_ZONES];
	char first[160];
	unsigned int wrong;

	if (s->min_free > total_kib() / 16)
		mmg_skip("min_free_kbytes %lu is too much for %lu KiB of memory", s->min_free,
			 total_kib());
	mmg_save_setting(MIN_FREE);
	mmg_save_setting(SCALE);
	mm_fresh_ratio(ratio);
	/* the factor last, then the minimum: each write alone has to recompute */
	mmg_write_setting(MIN_FREE, "%lu", s->min_free);
	mmg_write_setting(SCALE, "%lu", s->scale);
	mm_zoneinfo(&zi);
	wrong = mm_compare_marks(&zi, s->min_free, s->scale, 0, first, sizeof(first));
	if (!wrong) {
		zoneinfo_free(&zi);
		mmg_write_setting(MIN_FREE, "%lu", s->min_free + 1024);
		mm_zoneinfo(&zi);
		wrong = mm_compare_marks(&zi, s->min_free + 1024, s->scale, 0, first,
					 sizeof(first));
	}
	if (wrong) {
		say_zones(&zi);
		mmg_fail("%u marks off with min_free_kbytes %lu, scale factor %lu; first: %s",
			 wrong, s->min_free, s->scale, first);
	}
	mm_compare_rows(&zi, ratio, &rows);
	if (rows.wrong)
		mmg_fail("writing watermarks disturbed a reserve: %s", rows.first);
	mmg_metric("zones", zi.nr_zones);
	mmg_pass("marks of %zu zones by the formula with min_free_kbytes %lu, scale factor %lu",
		 zi.nr_zones, s->min_free, s->scale);
}

/* Which formula ZONE_MOVABLE follows, and that every zone follows the same */
static void movable_rule(const struct mmg_case *c)
{
	struct utsname uts;
	struct zoneinfo zi;
	enum zi_movable_rule rule;
	unsigned int movable = 0, major = 0, minor = 0;
	size_t i;

	(void)c;
	mm_zoneinfo(&zi);
	rule = zi_movable_rule(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long min = z->min - z->boost;

		if (strcmp(z->name, "Movable"))
			continue;
		movable++;
		if (rule == ZI_MOVABLE_CAPPED && (min < 32 || min > 128))
			mmg_fail("node %d Movable: min %lu, must be from 32 to 128", z->node, min);
		if (rule == ZI_MOVABLE_LOWMEM && !z->managed && min)
			mmg_fail("node %d Movable is empty, yet its min is %lu", z->node, min);
	}
	if (!movable)
		mmg_skip("this kernel has no ZONE_MOVABLE (CONFIG_MEMORY_HOTPLUG or NUMA)");
	uname(&uts);
	if (sscanf(uts.release, "%u.%u", &major, &minor) == 2 &&
	    (major > 6 || (major == 6 && minor >= 12)) && rule == ZI_MOVABLE_LOWMEM)
		mmg_fail("Movable counts as low memory on %s, must be capped since 6.12",
			 uts.release);
	mmg_metric("capped", rule == ZI_MOVABLE_CAPPED);
	mmg_pass("%u Movable zones %s", movable, rule == ZI_MOVABLE_CAPPED ?
		 "have managed/1024 from 32 to 128 and are no low memory" : "are low memory");
}

/* Values that the handlers are to refuse, leaving everything as it was */
static void odd_values(const struct mmg_case *c)
{
	static const struct {
		const char *path, *text;
	} odd[] = {
		{ MIN_FREE, "-1" }, { MIN_FREE, "pages" }, { SCALE, "0" }, { SCALE, "-1" },
		{ SCALE, "30001" }, { SCALE, "x" },
	};
	struct zoneinfo before, after;
	size_t i, k;

	(void)c;
	mmg_save_setting(MIN_FREE);
	mmg_save_setting(SCALE);
	/* a write of what is there brings the marks up to date */
	mmg_write_setting(MIN_FREE, "%lu", mm_number(MIN_FREE));
	mm_zoneinfo(&before);
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		unsigned long was = mm_number(odd[i].path);
		int ret = mmg_try_write(odd[i].path, "%s", odd[i].text);

		if (!ret || mm_number(odd[i].path) != was)
			mmg_fail("\"%s\" into %s returned %d and made %lu of %lu", odd[i].text,
				 odd[i].path, ret, mm_number(odd[i].path), was);
	}
	mm_zoneinfo(&after);
	for (k = 0; k < before.nr_zones; k++)
		if (before.zones[k].min - before.zones[k].boost !=
		    after.zones[k].min - after.zones[k].boost)
			mmg_fail("node %d %s: min went from %lu to %lu by refused writes",
				 after.zones[k].node, after.zones[k].name, before.zones[k].min,
				 after.zones[k].min);
	mmg_pass("%zu values refused, no watermark moved", ARRAY_SIZE(odd));
}

/* MemAvailable in KiB by the kernel's own sum, from the other lines of the same snapshot */
static long available(const struct vmstat *m, const struct zoneinfo *zi, unsigned long page_kb)
{
	long low = 0, cache, slab, sum;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		low += (zi->zones[i].low - zi->zones[i].boost) * page_kb;
	cache = vmstat_get(m, "Active(file)") + vmstat_get(m, "Inactive(file)");
	slab = vmstat_get(m, "KReclaimable");
	sum = vmstat_get(m, "MemFree") - zi_totalreserve(zi) * page_kb;
	sum += cache - (cache / 2 < low ? cache / 2 : low);
	sum += slab - (slab / 2 < low ? slab / 2 : low);
	return sum < 0 ? 0 : sum;
}

/*
 * totalreserve_pages is not shown, but MemAvailable is free memory less that sum
 * and the like (mm/show_mem.c, si_mem_available()).
 */
static void total_reserve(const struct mmg_case *c)
{
	static struct vmstat m;
	unsigned long page_kb = mm_page_size() / 1024;
	unsigned long min_free = mm_number(MIN_FREE);
	struct zoneinfo zi;
	long off = 0, slack;
	int i;

	(void)c;
	mmg_save_setting(MIN_FREE);
	mmg_save_setting(ZI_RATIO_PATH);
	slack = 64 * page_kb;
	for (i = 0; i < 3; i++) {
		mm_write_ratio(i == 2 ? 16 : 256);
		mmg_write_setting(MIN_FREE, "%lu", i == 1 ? 2 * min_free : min_free);
		mm_refresh();
		mm_zoneinfo(&zi);
		if (vmstat_read("/proc/meminfo", &m) || !vmstat_has(&m, "MemAvailable"))
			mmg_broken("no MemAvailable in /proc/meminfo");
		off = (long)vmstat_get(&m, "MemAvailable") - available(&m, &zi, page_kb);
		mmg_info("reserve in all %lu pages: MemAvailable %lu KiB, %ld off the sum",
			 zi_totalreserve(&zi), vmstat_get(&m, "MemAvailable"), off);
		if (off > slack || off < -slack)
			mmg_fail("MemAvailable is %lu KiB, %ld off with %lu pages in reserve",
				 vmstat_get(&m, "MemAvailable"), off, zi_totalreserve(&zi));
		zoneinfo_free(&zi);
	}
	mmg_pass("MemAvailable leaves out the reserves of every zone (%ld KiB off)", off);
}

static const struct setting small = { 1024, 10 };
static const struct setting usual = { 8192, 10 };
static const struct setting large = { 65536, 10 };
static const struct setting wide = { 4096, 1000 };
static const struct setting widest = { 2048, 3000 };
static const struct setting odd = { 5003, 7 };

static const struct mmg_case cases[] = {
	{ .name = "boot-marks", .fn = boot_marks },
	{ .name = "movable-rule", .fn = movable_rule },
	{ .name = "min-1024", .fn = written, .arg = &small, .destructive = true },
	{ .name = "min-8192", .fn = written, .arg = &usual, .destructive = true },
	{ .name = "min-65536", .fn = written, .arg = &large, .destructive = true },
	{ .name = "scale-1000", .fn = written, .arg = &wide, .destructive = true },
	{ .name = "scale-3000", .fn = written, .arg = &widest, .destructive = true },
	{ .name = "odd-numbers", .fn = written, .arg = &odd, .destructive = true },
	{ .name = "refused", .fn = odd_values, .destructive = true },
	{ .name = "total-reserve", .fn = total_reserve, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/watermark",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
