// SPDX-License-Identifier: GPL-2.0-only
/* What the zone and node tests share: snapshots, and rows against the formula */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
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
 * mm_ratio() - read lowmem_reserve_ratio
 * @ratio:	room for ZI_MAX_ZONES
 *
 * Up to 7.2 that makes the kernel recompute the rows, see rules.def.
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
 * mm_write_ratios() - write lowmem_reserve_ratio
 * @ratio:	one number a zone
 * @n:		how many; the kernel wants no more than it has zones
 *
 * On every kernel a write makes it recompute the rows.
 */
void mm_write_ratios(const long *ratio, int n)
{
	char text[24 * ZI_MAX_ZONES];
	int i, used = 0;

	for (i = 0; i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%ld", i ? " " : "",
				 ratio[i]);
	mmg_doing("writing ratio %s", text);
	mmg_write_setting(ZI_RATIO_PATH, "%s", text);
}

/**
 * mm_fresh_ratio() - read lowmem_reserve_ratio and have the rows recomputed for it
 * @ratio:	room for ZI_MAX_ZONES
 *
 * What was read is written back, which changes no setting.
 *
 * Return: how many numbers the kernel has.
 */
int mm_fresh_ratio(long *ratio)
{
	int n = mm_ratio(ratio);

	mm_write_ratios(ratio, n);
	return n;
}

/**
 * mm_write_ratio() - give every zone the same ratio
 * @value:	the ratio
 */
void mm_write_ratio(long value)
{
	long ratio[ZI_MAX_ZONES];
	int i, n = mm_ratio(ratio);

	for (i = 0; i < n; i++)
		ratio[i] = value;
	mm_write_ratios(ratio, n);
}

/**
 * mm_ratio_checked() - which of the two handlers of lowmem_reserve_ratio the kernel has
 *
 * Found out by a write of -1: the later handler refuses it, the earlier one makes it 0
 * (rules.def, ratio_checked).  The ratios are put back.
 *
 * Return: true for the handler that takes a write whole or not at all.
 */
bool mm_ratio_checked(void)
{
	long ratio[ZI_MAX_ZONES];
	int n = mm_ratio(ratio), ret = mmg_try_write(ZI_RATIO_PATH, "-1");

	mm_write_ratios(ratio, n);
	return ret == -EINVAL;
}

/**
 * mm_rule() - whether a rule of rules.def holds on the running kernel, by its version
 * @rule:	the rule; where it names a probe, use that
 *
 * Says so where the kernel is newer than the table.
 *
 * Return: whether it holds.
 */
bool mm_rule(enum mmg_rule rule)
{
	struct utsname uts;

	uname(&uts);
	if (!mmg_rule_known(uts.release))
		mmg_info("%s is newer than the table of rules: assuming that %s", uts.release,
			 mmg_rules[rule].holds);
	return mmg_rule_of(rule, uts.release);
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
 * mm_freed_late() - memory that boot gave back after it had computed reserves and watermarks
 *
 * By the kernel's own words, in the log that PID 1 of the test VM kept.
 *
 * Return: pages, -1 where there is no log.
 */
long mm_freed_late(void)
{
	char *log = mmg_read_file(MM_BOOT_DIR "dmesg", NULL), *at = log;
	long kib = 0, one;
	int lines = 0;

	while (at && (at = strstr(at, "Freeing "))) {
		char *end = at + strcspn(at, "\n"), *memory = strstr(at, " memory: ");

		if (memory && memory < end && sscanf(memory, " memory: %ldK", &one) == 1) {
			kib += one;
			lines++;
		}
		at = end;
	}
	free(log);
	return lines ? kib * 1024 / (long)mm_page_size() : -1;
}

/**
 * mm_usual_reclaim() - turn off what a user may have set in the way of kswapd
 *
 * min_ttl_ms: kswapd asks for the OOM killer where every generation is younger than that
 * (lru_gen_age_node() in mm/vmscan.c), and what a case has just put there is.
 * zone_reclaim_mode: who allocates takes clean cache of the nearest node before kswapd is
 * woken at all (get_page_from_freelist() in mm/page_alloc.c).
 * Both are 0 while the case runs.  Nothing is done where the kernel has no such file.
 */
void mm_usual_reclaim(void)
{
	static const char *const paths[] = {
		"/sys/kernel/mm/lru_gen/min_ttl_ms", "/proc/sys/vm/zone_reclaim_mode",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (access(paths[i], W_OK))
			continue;
		mmg_save_setting(paths[i]);
		mmg_write_setting(paths[i], "0");
	}
}

/**
 * mm_node_has_room() - can user memory be had from a node before reclaim begins?
 * @node:	node id
 * @pages:	how many
 *
 * Return: whether the node's zones have that many above their high watermarks and reserves.
 */
bool mm_node_has_room(int node, unsigned long pages)
{
	unsigned long above = 0;
	struct zoneinfo zi;
	size_t i;

	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long mark = z->high + (z->nr_protection ?
						z->protection[z->nr_protection - 1] : 0);

		if (z->node == node && z->free > mark)
			above += z->free - mark;
	}
	zoneinfo_free(&zi);
	return above >= pages;
}

/**
 * mm_shrink_slabs() - make the kernel give back what it keeps of freed slab objects
 *
 * On a KASAN kernel that is up to a 32nd of memory, in the quarantine.  A batch that
 * leaves it in the middle of a case frees pages that no reclaim has freed.  A shrink
 * empties it (kmem_cache_shrink(), kasan_quarantine_remove_cache()).  Nothing is done
 * where slabs are not to be seen in sysfs.
 */
void mm_shrink_slabs(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	char path[300];
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		/* the other names of merged caches are links */
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", d->d_name);
		mmg_try_write(path, "1");
	}
	if (dir)
		closedir(dir);
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
 * mm_need_counters() - skip the case where /proc/vmstat lacks a counter
 * @names:	counters, NULL-terminated; what ends in '_' is the beginning of names
 *
 * A counter that is configured out is not 0: nothing can be said without it.
 */
void mm_need_counters(const char *const *names)
{
	static struct vmstat v;

	mm_vmstat(&v);
	for (; *names; names++)
		if (!vmstat_has_prefix(&v, *names))
			mmg_skip("no counter %s in /proc/vmstat: the kernel needs %s", *names,
				 vmstat_option(*names));
}

/**
 * mm_need_events() - skip the case where the kernel counts no reclaim and no OOM kills
 */
void mm_need_events(void)
{
	static const char *const events[] = {
		"pgscan_kswapd", "pgscan_direct", "pgsteal_kswapd", "allocstall_", "pageoutrun",
		"pgalloc_", "oom_kill", NULL
	};

	mm_need_counters(events);
}

/**
 * mm_need_numa_stat() - have the hits and misses of nodes counted, or skip the case
 *
 * The kernel counts them while vm.numa_stat is 1 (mm/page_alloc.c, zone_statistics()).  It is
 * turned on for the case in a VM; a host's setting is left alone.
 */
void mm_need_numa_stat(void)
{
	static const char path[] = "/proc/sys/vm/numa_stat";
	char *text = mmg_read_file(path, NULL);
	bool off = text && *text == '0';

	free(text);
	if (!off)
		return;
	if (!mmg_in_vm() && !mmg_opts.destructive)
		mmg_skip("vm.numa_stat is 0: the kernel counts no hits and misses of nodes");
	mmg_save_setting(path);
	mmg_write_setting(path, "1");
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

/**
 * mm_number() - a file that holds one number; the case is broken without it
 * @path:	file
 *
 * Return: the number.
 */
unsigned long mm_number(const char *path)
{
	char *text = mmg_read_file(path, NULL);
	unsigned long n;

	if (!text)
		mmg_broken("reading %s: %s", path, strerror(errno));
	n = strtoul(text, NULL, 10);
	free(text);
	return n;
}

/**
 * mm_compare_marks() - every watermark of every zone against the formula
 * @zi:		snapshot
 * @min_free:	min_free_kbytes in force
 * @scale:	watermark_scale_factor in force
 * @off_by:	part of a mark that it may be off by (4: a quarter), 0 for none
 * @first:	the first difference, in words
 * @size:	its size
 *
 * Return: how many marks differ.
 */
unsigned int mm_compare_marks(const struct zoneinfo *zi, unsigned long min_free,
			      unsigned long scale, unsigned long off_by, char *first, size_t size)
{
	static const char * const what[] = { "min", "low", "high", "promo" };
	enum zi_movable_rule rule = zi_movable_rule(zi);
	unsigned int wrong = 0;
	size_t i;
	int k;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		unsigned long have[] = { z->min, z->low, z->high, z->promo };
		struct zi_wmarks w;
		unsigned long want[4];

		zi_watermarks(zi, z, rule, min_free, scale, mm_page_size() / 1024, &w);
		want[0] = w.min;
		want[1] = w.low;
		want[2] = w.high;
		want[3] = w.promo;
		/* promo is not printed by older kernels, and 0 where all is 0 */
		for (k = 0; k < (z->promo ? 4 : 3); k++) {
			unsigned long is = have[k] - z->boost;
			unsigned long off = is > want[k] ? is - want[k] : want[k] - is;

			if (off <= (off_by ? want[k] / off_by + 1 : 0))
				continue;
			if (!wrong++)
				snprintf(first, size, "node %d %s (%lu managed): %s %lu, not %lu",
					 z->node, z->name, z->managed, what[k], is, want[k]);
		}
	}
	return wrong;
}

/**
 * mm_kswapd_nodes() - the nodes whose kswapd runs
 * @nodes:	filled, by the names of the kernel's threads
 */
void mm_kswapd_nodes(struct node_set *nodes)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	memset(nodes, 0, sizeof(*nodes));
	while (proc && (e = readdir(proc))) {
		char path[300], *comm, extra;
		int n;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		comm = mmg_read_file(path, NULL);
		if (comm && sscanf(comm, "kswapd%d%c", &n, &extra) == 2 && extra == '\n')
			node_set_add(nodes, n);
		free(comm);
	}
	if (proc)
		closedir(proc);
}

/**
 * mm_map() - anonymous memory of base pages, not there yet
 * @bytes:	how much
 *
 * Return: its address; a case that cannot have it is broken
 */
char *mm_map(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		mmg_broken("mapping %zu MiB: %s", bytes / MIB, strerror(errno));
	madvise(at, bytes, MADV_NOHUGEPAGE);
	return at;
}

/**
 * mm_touch() - write to each page of a mapping, and see which nodes they are on
 * @at:		its address
 * @bytes:	its size
 * @count:	MAX_NODES numbers, the pages on each node; a page that went to swap is on none
 */
void mm_touch(char *at, size_t bytes, long *count)
{
	unsigned long page = mm_page_size();
	size_t i, nr = bytes / page;
	int *where = calloc(nr, sizeof(*where));

	for (i = 0; i < nr; i++)
		at[i * page] = 1;
	memset(count, 0, sizeof(*count) * MAX_NODES);
	if (!where || node_of_pages(at, nr, where))
		mmg_broken("asking where the pages are failed");
	for (i = 0; i < nr; i++) {
		if (where[i] >= MAX_NODES)
			mmg_broken("page %zu is on node %d, beyond this test", i, where[i]);
		if (where[i] >= 0)
			count[where[i]]++;
	}
	free(where);
}
