// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: the files that count a zone's and a node's pages agree with each other
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: small-zones numa-uneven memoryless movable arm64-small-zones
 * mmgate-machines: arm64-memoryless ppc64el-memoryless
 * mmgate-needs: /proc/zoneinfo
 * mmgate-wants: CONFIG_NUMA CONFIG_COMPACTION CONFIG_PROC_PAGE_MONITOR
 * mmgate-timeout: 60
 *
 * /proc/zoneinfo, /proc/buddyinfo, /proc/pagetypeinfo, /proc/meminfo and each
 * node's meminfo, vmstat and numastat tell of the same pages.
 *
 * How it could mislead: the files are read one after the other on a live system,
 * and counters lag by what each CPU holds back.  That part is folded first
 * (vm.stat_refresh), zoneinfo is read before and after the other file, and a
 * difference counts only if it is outside both, by more than the slack and what
 * moved between them.  Some
 * cloud kernels initialise memory as it is needed (deferred_init=lazy): their
 * zones do not count what is left, their meminfo does; that is skipped.  Memory that
 * was plugged and taken away leaves a span that is short by part of a subsection.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm_util.h"

#define SLACK	64	/* pages a live system may move between two reads */
#define ORDERS	16
#define SUBSECTION	(2 * MIB)	/* SUBSECTION_SHIFT, include/linux/mmzone.h */
#define BOOT_ZONEINFO	"/run/mmgate/boot/zoneinfo"	/* kept by PID 1 of the test VM */

static struct zoneinfo before, after;

static void bracket_open(void)
{
	mm_refresh();
	mm_zoneinfo(&before);
}

static void bracket_close(void)
{
	mm_refresh();
	mm_zoneinfo(&after);
	if (before.nr_zones != after.nr_zones)
		mmg_broken("zones came or went meanwhile: %zu, then %zu", before.nr_zones,
			   after.nr_zones);
}

/* Such a kernel's zones grow as memory is used, its totals do not */
static void skip_lazy(void)
{
	char *line = mmg_read_file("/proc/cmdline", NULL);

	if (line && strstr(line, "deferred_init=lazy"))
		mmg_skip("booted with deferred_init=lazy: zones do not count all memory yet");
	free(line);
}

/*
 * Outside of what was seen before and after, by more than the slack and what
 * moved meanwhile: a busy host moves a lot
 */
static bool outside(long n, long a, long b, long slack)
{
	long least = a < b ? a : b, most = a > b ? a : b;

	slack += most - least;
	return n < least - slack || n > most + slack;
}

static char *text_of(const char *path)
{
	char *text = mmg_read_file(path, NULL);

	if (!text)
		mmg_skip("reading %s: %s", path, strerror(errno));
	return text;
}

/* Free pages of a "Node 0, zone   DMA   1 0 2 ..." line: blocks by order */
static int orders_of(const char *at, unsigned long *blocks)
{
	int n = 0;

	while (n < ORDERS) {
		char *stop;

		while (*at == ' ' || *at == '>')
			at++;
		blocks[n] = strtoul(at, &stop, 10);
		if (stop == at)
			break;
		at = stop;
		n++;
	}
	return n;
}

static unsigned long pages_of(const unsigned long *blocks, int n)
{
	unsigned long sum = 0;
	int k;

	for (k = 0; k < n; k++)
		sum += blocks[k] << k;
	return sum;
}

static void check_buddyinfo(const struct mmg_case *c)
{
	char *text, *line, *save = NULL;
	unsigned int zones = 0;
	long most = 0;

	(void)c;
	bracket_open();
	text = text_of("/proc/buddyinfo");
	bracket_close();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const struct zi_zone *a, *b;
		unsigned long blocks[ORDERS];
		char name[16];
		int node, at = 0;
		long sum;

		if (sscanf(line, "Node %d, zone %15s %n", &node, name, &at) != 2 || !at)
			mmg_broken("/proc/buddyinfo has a line \"%.60s\"", line);
		sum = pages_of(blocks, orders_of(line + at, blocks));
		a = zoneinfo_zone_named(&before, node, name);
		b = zoneinfo_zone_named(&after, node, name);
		if (!a || !b || !a->present)
			mmg_fail("buddyinfo has node %d %s, zoneinfo has no pages there", node,
				 name);
		zones++;
		if (labs(sum - (long)a->free) > most)
			most = labs(sum - (long)a->free);
		if (outside(sum, a->free, b->free, SLACK))
			mmg_fail("node %d %s: buddy lists hold %ld pages, zoneinfo %lu then %lu",
				 node, name, sum, a->free, b->free);
	}
	mmg_metric("most_off", most);
	mmg_pass("buddy lists of %u zones hold what zoneinfo calls free (%ld off at most)", zones,
		 most);
}

struct by_type {
	int node;
	char name[16];
	unsigned long free, blocks;
	bool capped;		/* a count above 100000 is only shown as such */
};

static struct by_type types[256];
static int nr_types;

static struct by_type *type_of(int node, const char *name)
{
	int i;

	for (i = 0; i < nr_types; i++)
		if (types[i].node == node && !strcmp(types[i].name, name))
			return &types[i];
	if (nr_types == (int)ARRAY_SIZE(types))
		mmg_broken("more zones than this test holds");
	types[i].node = node;
	snprintf(types[i].name, sizeof(types[i].name), "%s", name);
	nr_types++;
	return &types[i];
}

static void check_pagetypeinfo(const struct mmg_case *c)
{
	unsigned long per_block = 0;
	char *text, *line, *save = NULL;
	int i;

	(void)c;
	skip_lazy();
	bracket_open();
	text = text_of("/proc/pagetypeinfo");
	bracket_close();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long blocks[ORDERS];
		char name[16], type[16];
		int node, at = 0, n;

		if (sscanf(line, "Pages per block: %lu", &per_block) == 1)
			continue;
		if (sscanf(line, "Node %d, zone %15[^,], type %15s %n", &node, name, type,
			   &at) == 3 && at) {
			struct by_type *t = type_of(node, name);

			t->free += pages_of(blocks, orders_of(line + at, blocks));
			t->capped |= !!strchr(line + at, '>');
		} else if (sscanf(line, "Node %d, zone %15s %n", &node, name, &at) == 2 && at) {
			n = orders_of(line + at, blocks);
			while (n--)
				type_of(node, name)->blocks += blocks[n];
		}
	}
	if (!nr_types || !per_block)
		mmg_broken("/proc/pagetypeinfo has no zones, or no block size");
	for (i = 0; i < nr_types; i++) {
		const struct by_type *t = &types[i];
		const struct zi_zone *a = zoneinfo_zone_named(&before, t->node, t->name);
		const struct zi_zone *b = zoneinfo_zone_named(&after, t->node, t->name);

		if (!a || !b)
			mmg_fail("pagetypeinfo has node %d %s, zoneinfo has not", t->node, t->name);
		if (!t->capped && outside(t->free, a->free, b->free, SLACK))
			mmg_fail("node %d %s: lists by type hold %lu pages, zoneinfo %lu then %lu",
				 t->node, t->name, t->free, a->free, b->free);
		if (t->blocks * per_block + 2 * per_block < a->present ||
		    t->blocks * per_block > a->spanned + 2 * per_block)
			mmg_fail("node %d %s: %lu blocks of %lu pages for %lu present pages",
				 t->node, t->name, t->blocks, per_block, a->present);
	}
	mmg_pass("lists by type of %d zones hold what zoneinfo calls free", nr_types);
}

static unsigned long managed_of(const struct zoneinfo *zi, int node)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (node < 0 || zi->zones[i].node == node)
			sum += zi->zones[i].managed;
	return sum;
}

static unsigned long free_of(const struct zoneinfo *zi, int node)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (node < 0 || zi->zones[i].node == node)
			sum += zi->zones[i].free;
	return sum;
}

static void check_one_meminfo(const char *path, int node)
{
	static struct vmstat m;
	unsigned long page_kb = mm_page_size() / 1024;
	unsigned long total, free;
	int ret;

	bracket_open();
	ret = vmstat_read(path, &m);
	bracket_close();
	if (ret)
		mmg_broken("reading %s: %s", path, strerror(-ret));
	total = vmstat_get(&m, "MemTotal") / page_kb;
	free = vmstat_get(&m, "MemFree") / page_kb;
	if (total != managed_of(&before, node) && total != managed_of(&after, node))
		mmg_fail("%s: MemTotal is %lu pages, the zones manage %lu", path, total,
			 managed_of(&after, node));
	if (outside(free, free_of(&before, node), free_of(&after, node), SLACK))
		mmg_fail("%s: MemFree is %lu pages, the zones have %lu then %lu", path, free,
			 free_of(&before, node), free_of(&after, node));
	zoneinfo_free(&before);
	zoneinfo_free(&after);
}

static void check_meminfo(const struct mmg_case *c)
{
	struct node_set online;
	char path[96];
	int n, nodes = 0;

	(void)c;
	skip_lazy();
	check_one_meminfo("/proc/meminfo", -1);
	if (node_state("online", &online))
		mmg_broken("reading the online nodes failed");
	for (n = node_set_next(&online, -1); n >= 0; n = node_set_next(&online, n)) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", n);
		check_one_meminfo(path, n);
		nodes++;
	}
	mmg_pass("MemTotal and MemFree are the sums over the zones, in all and on %d nodes",
		 nodes);
}

/* Counter @name summed over the zones of @node */
static unsigned long node_sum(const struct zoneinfo *zi, int node, const char *name)
{
	unsigned long sum = 0, one;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].node == node && zi_zone_stat(&zi->zones[i], name, &one))
			sum += one;
	return sum;
}

/* A node's own file of counters, the zones read before and after it */
static void node_file(int node, const char *name, struct vmstat *v)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", node, name);
	bracket_open();
	if (vmstat_read(path, v))
		mmg_skip("no %s: CONFIG_NUMA is needed", path);
	bracket_close();
}

/* The counters of a node's zones, summed, in its own vmstat file */
static void node_vmstat(const struct mmg_case *c)
{
	static const char * const names[] = {
		"nr_free_pages", "nr_zone_inactive_anon", "nr_zone_active_anon",
		"nr_zone_inactive_file", "nr_zone_active_file", "nr_zone_unevictable", "nr_mlock",
	};
	/* the same pages counted by node rather than by zone */
	static const char * const twins[] = {
		NULL, "nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file",
		"nr_unevictable", NULL,
	};
	struct node_set memory;
	static struct vmstat v;
	unsigned int compared = 0;
	size_t k;
	int n;

	(void)c;
	if (node_state("has_memory", &memory))
		mmg_broken("reading the nodes with memory failed");
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		node_file(n, "vmstat", &v);
		for (k = 0; k < ARRAY_SIZE(names); k++) {
			unsigned long a = node_sum(&before, n, names[k]);
			unsigned long b = node_sum(&after, n, names[k]), twin;

			if (!vmstat_has(&v, names[k]))
				continue;
			compared++;
			if (outside(vmstat_get(&v, names[k]), a, b, SLACK))
				mmg_fail("node %d: %s is %lu, its zones have %lu then %lu", n,
					 names[k], vmstat_get(&v, names[k]), a, b);
			if (twins[k] && zi_node_stat(&before, n, twins[k], &twin) &&
			    outside(twin, a, b, SLACK))
				mmg_fail("node %d: %s is %lu, the zones' %s %lu", n, twins[k],
					 twin, names[k], a);
		}
		zoneinfo_free(&before);
		zoneinfo_free(&after);
	}
	mmg_pass("%u counters of nodes are the sums over their zones", compared);
}

static void check_numastat(const struct mmg_case *c)
{
	static const char * const pairs[][2] = {
		{ "numa_hit", "numa_hit" }, { "numa_miss", "numa_miss" },
		{ "numa_foreign", "numa_foreign" }, { "local_node", "numa_local" },
		{ "other_node", "numa_other" }, { "interleave_hit", "numa_interleave" },
	};
	struct node_set memory;
	static struct vmstat v;
	unsigned int compared = 0;
	size_t k;
	int n;

	(void)c;
	if (node_state("has_memory", &memory))
		mmg_broken("reading the nodes with memory failed");
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		node_file(n, "numastat", &v);
		for (k = 0; k < ARRAY_SIZE(pairs); k++) {
			unsigned long a = node_sum(&before, n, pairs[k][1]);
			unsigned long b = node_sum(&after, n, pairs[k][1]);

			compared++;
			/* the node's sum has zones that lost their memory, too; zoneinfo has not */
			if (outside(vmstat_get(&v, pairs[k][0]), a, b, SLACK))
				mmg_fail("node %d: %s is %lu, its zones' %s were %lu then %lu", n,
					 pairs[k][0], vmstat_get(&v, pairs[k][0]), pairs[k][1], a,
					 b);
		}
		zoneinfo_free(&before);
		zoneinfo_free(&after);
	}
	mmg_pass("%u numbers of numastat are the sums over the zones", compared);
}

/*
 * Pages by which a zone may have more than it spans.  Memory that goes takes the rest of a
 * subsection off the span: shrink_zone_span() (mm/memory_hotplug.c) looks for the new end, or
 * start, in steps of subsections, and a node of numa=fake may end within one.  A zone
 * that is as it was at boot lost nothing.
 */
static unsigned long span_slack(const struct zi_zone *z)
{
	char *text = mmg_read_file(BOOT_ZONEINFO, NULL), err[200];
	const struct zi_zone *was = NULL;
	struct zoneinfo zi;
	bool same = false;

	if (text && !zoneinfo_parse(text, &zi, err, sizeof(err))) {
		was = zoneinfo_zone(&zi, z->node, z->index);
		same = was && was->spanned == z->spanned && was->present == z->present;
		zoneinfo_free(&zi);
	}
	free(text);
	return same ? 0 : 2 * (SUBSECTION / mm_page_size() - 1);
}

/* What one zone says of itself must be possible */
static void zone_sizes(const struct mmg_case *c)
{
	size_t i;

	(void)c;
	mm_refresh();
	mm_zoneinfo(&before);
	for (i = 0; i < before.nr_zones; i++) {
		const struct zi_zone *z = &before.zones[i];
		const struct zi_zone *up = zoneinfo_zone(&before, z->node, z->index + 1);

		if (z->managed > z->present ||
		    (z->present > z->spanned && z->present > z->spanned + span_slack(z)))
			mmg_fail("node %d %s: %lu managed, %lu present, %lu spanned", z->node,
				 z->name, z->managed, z->present, z->spanned);
		if (z->free + z->pcp_count > z->managed)
			mmg_fail("node %d %s: %lu free and %lu in per-CPU lists of %lu managed",
				 z->node, z->name, z->free, z->pcp_count, z->managed);
		if (z->min > z->low || z->low > z->high || (z->promo && z->high > z->promo))
			mmg_fail("node %d %s: watermarks %lu, %lu, %lu do not rise", z->node,
				 z->name, z->min, z->low, z->high);
		if (z->populated != !!z->present)
			mmg_fail("node %d %s: %lu present, yet counters are %sprinted", z->node,
				 z->name, z->present, z->populated ? "" : "not ");
		if (up && z->present && up->present && strcmp(up->name, "Movable") &&
		    strcmp(up->name, "Device") && up->start_pfn < z->start_pfn)
			mmg_fail("node %d: %s starts at %lu, below %s at %lu", z->node, up->name,
				 up->start_pfn, z->name, z->start_pfn);
	}
	mmg_pass("sizes and watermarks of %zu zones are possible", before.nr_zones);
}

static const struct mmg_case cases[] = {
	{ .name = "zone-sizes", .fn = zone_sizes },
	{ .name = "buddyinfo", .fn = check_buddyinfo },
	{ .name = "pagetypeinfo", .fn = check_pagetypeinfo },
	{ .name = "meminfo", .fn = check_meminfo },
	{ .name = "node-vmstat", .fn = node_vmstat },
	{ .name = "numastat", .fn = check_numastat },
};

static const struct mmg_test test = {
	.name = "mm/zoneinfo",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
