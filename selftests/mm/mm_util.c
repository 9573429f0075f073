// SPDX-License-Identifier: GPL-2.0-only
/* What the zone and node tests share: snapshots, and rows against the formula */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mm_util.h"

/**
 * mm_page_size() - the kernel's base page
 *
 * Return: bytes.
 */
unsigned long mm_page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/**
 * mm_zoneinfo() - snapshot of /proc/zoneinfo; the case is broken without one
 * @zi:	filled; to be given to zoneinfo_free()
 */
void mm_zoneinfo(struct zoneinfo *zi)
{
	char err[200];

	if (zoneinfo_read(zi, err, sizeof(err)))
		mmg_broken("%s", err);
}

/**
 * mm_ratio() - read lowmem_reserve_ratio, which makes the kernel recompute
 * @ratio:	room for ZI_MAX_ZONES
 *
 * Return: how many numbers the kernel has; the case is broken without any.
 */
int mm_ratio(long *ratio)
{
	int n = zi_ratio_read(ratio, ZI_MAX_ZONES);

	if (n < 1)
		mmg_broken("reading %s: %s", ZI_RATIO_PATH, n ? strerror(-n) : "it is empty");
	return n;
}

/**
 * mm_write_ratio() - give every zone the same ratio
 * @value:	the ratio
 *
 * The kernel wants no more numbers than it has zones.
 */
void mm_write_ratio(long value)
{
	long now[ZI_MAX_ZONES];
	char text[16 * ZI_MAX_ZONES];
	int i, used = 0, n = mm_ratio(now);

	for (i = 0; i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%ld", i ? " " : "", value);
	mmg_write_setting(ZI_RATIO_PATH, "%s", text);
}

/**
 * mm_refresh() - make the kernel fold what each CPU holds back of the counters
 *
 * vm.stat_refresh (mm/vmstat.c, vmstat_refresh()).  It also complains about
 * counters below zero: -EINVAL, which is not this function's business.
 */
void mm_refresh(void)
{
	mmg_try_write("/proc/sys/vm/stat_refresh", "1");
}

/**
 * mm_vmstat() - snapshot of /proc/vmstat; the case is broken without one
 * @v:	filled
 */
void mm_vmstat(struct vmstat *v)
{
	int ret = vmstat_read("/proc/vmstat", v);

	if (ret)
		mmg_broken("reading /proc/vmstat: %s", strerror(-ret));
}

/**
 * mm_compare_rows() - every protection of every zone against the formula
 * @zi:		snapshot
 * @ratio:	the ratios that were in force
 * @rows:	what differs
 */
void mm_compare_rows(const struct zoneinfo *zi, const long *ratio, struct mm_rows *rows)
{
	size_t i;
	int j;

	memset(rows, 0, sizeof(*rows));
	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		rows->rows++;
		for (j = 0; j < z->nr_protection; j++) {
			unsigned long want = zi_protection(zi, z->node, z->index, j,
							   ratio[z->index]);

			rows->cells++;
			if (j && z->protection[j] < z->protection[j - 1])
				rows->decreasing++;
			if (z->protection[j] == want)
				continue;
			if (!rows->wrong++)
				snprintf(rows->first, sizeof(rows->first),
					 "node %d %s against column %d: %lu, must be %lu", z->node,
					 z->name, j, z->protection[j], want);
		}
	}
}

/**
 * mm_protection_artifact() - keep every cell, expected and seen
 * @zi:		snapshot
 * @ratio:	the ratios that were in force
 */
void mm_protection_artifact(const struct zoneinfo *zi, const long *ratio)
{
	FILE *f = mmg_artifact("protection.tsv");
	size_t i;
	int j;

	if (!f)
		return;
	fprintf(f, "node\tzone\tcolumn\texpected\tseen\n");
	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		for (j = 0; j < z->nr_protection; j++)
			fprintf(f, "%d\t%s\t%d\t%lu\t%lu\n", z->node, z->name, j,
				zi_protection(zi, z->node, z->index, j, ratio[z->index]),
				z->protection[j]);
	}
	fclose(f);
}

/**
 * mm_info_rows() - say the rows, one line a zone
 * @zi:	snapshot
 */
void mm_info_rows(const struct zoneinfo *zi)
{
	size_t i;
	int j;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		char row[160];
		int n = 0;

		for (j = 0; j < z->nr_protection && n < (int)sizeof(row) - 24; j++)
			n += snprintf(row + n, sizeof(row) - n, "%s%lu", j ? ", " : "",
				      z->protection[j]);
		mmg_info("node %d %-7s managed %7lu protection (%s)", z->node, z->name, z->managed,
			 row);
	}
}
