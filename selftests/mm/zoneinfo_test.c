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
 * moved between them, and that in each of ten looks: memory can also be gone only while
 * the other file is read.  Some
 * cloud kernels initialise memory as it is needed (deferred_init=lazy): their
 * zones do not count what is left, their meminfo does; that is skipped.  Memory that
 * was plugged and taken away leaves a span that is short by part of a subsection.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mm_util.h"

#define SLACK	64	/* pages a live system may move between two reads */
#define LOOKS	10	/* at files that differ */
#define ORDERS	16
#define SUBSECTION	(2 * MIB)	/* SUBSECTION_SHIFT, include/linux/mmzone.h */
#define BOOT_ZONEINFO	"/run/mmgate/boot/zoneinfo"	/* kept by PID 1 of the test VM */

static struct zoneinfo before, after;
static char difference[240];		/* the first one of a look */
static unsigned int compared;		/* in one look */
static const char *path;		/* of the file that is compared */
static int node;			/* whose it is, -1: of all */

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

/* Something differs in this look; the first thing is kept */
static void __printf(1, 2) differ(const char *fmt, ...)
{
	va_list ap;

	if (*difference)
		return;
	va_start(ap, fmt);
	vsnprintf(difference, sizeof(difference), fmt, ap);
	va_end(ap);
}

/*
 * Memory that is taken and given back between two reads of zoneinfo is in neither of them.
 * Counters that went apart stay so: what differs counts if it does in each of some looks.
 */
static void compare(void (*look)(void))
{
	int i;

	for (i = 0; i < LOOKS; i++) {
		*difference = 0;
		look();
		zoneinfo_free(&before);
		zoneinfo_free(&after);
		if (!*difference)
			return;
		mmg_info("look %d: %s", i + 1, difference);
		usleep(20000);
	}
	mmg_fail("%s, and so in %d looks", difference, LOOKS);
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

static void look_buddyinfo(void)
{
	char *text, *line, *save = NULL;

	compared = 0;
	bracket_open();
	text = text_of("/proc/buddyinfo");
	bracket_close();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const struct zi_zone *a, *b;
		unsigned long blocks[ORDERS];
		char name[16];
		int nid, at = 0;
		long sum;

		if (sscanf(line, "Node %d, zone %15s %n", &nid, name, &at) != 2 || !at)
			mmg_broken("/proc/buddyinfo has a line \"%.60s\"", line);
		sum = pages_of(blocks, orders_of(line + at, blocks));
		a = zoneinfo_zone_named(&before, nid, name);
		b = zoneinfo_zone_named(&after, nid, name);
		compared++;
		if (!a || !b || !a->present)
			differ("buddyinfo has node %d %s, zoneinfo has no pages there", nid, name);
		else if (outside(sum, a->free, b->free, SLACK))
			differ("node %d %s: buddy lists hold %ld pages, zoneinfo %lu then %lu", nid,
			       name, sum, a->free, b->free);
	}
	free(text);
}

static void check_buddyinfo(const struct mmg_case *c)
{
	(void)c;
	compare(look_buddyinfo);
	mmg_pass("buddy lists of %u zones hold what zoneinfo calls free", compared);
}

struct by_type {
	int node;
	char name[16];
	unsigned long free, blocks;
	bool capped;		/* a count above 100000 is only shown as such */
};

static struct by_type types[256];
static int nr_types;

static struct by_type *type_of(int nid, const char *name)
{
	int i;

	for (i = 0; i < nr_types; i++)
		if (types[i].node == nid && !strcmp(types[i].name, name))
			return &types[i];
	if (nr_types == (int)ARRAY_SIZE(types))
		mmg_broken("more zones than this test holds");
	types[i].node = nid;
	snprintf(types[i].name, sizeof(types[i].name), "%s", name);
	nr_types++;
	return &types[i];
}

static void look_pagetypeinfo(void)
{
	unsigned long per_block = 0;
	char *text, *line, *save = NULL;
	int i;

	memset(types, 0, sizeof(types));
	nr_types = 0;
	bracket_open();
	text = text_of("/proc/pagetypeinfo");
	bracket_close();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long blocks[ORDERS];
		char name[16], type[16];
		int nid, at = 0, n;

		if (sscanf(line, "Pages per block: %lu", &per_block) == 1)
			continue;
		if (sscanf(line, "Node %d, zone %15[^,], type %15s %n", &nid, name, type,
			   &at) == 3 && at) {
			struct by_type *t = type_of(nid, name);

			t->free += pages_of(blocks, orders_of(line + at, blocks));
			t->capped |= !!strchr(line + at, '>');
		} else if (sscanf(line, "Node %d, zone %15s %n", &nid, name, &at) == 2 && at) {
			n = orders_of(line + at, blocks);
			while (n--)
				type_of(nid, name)->blocks += blocks[n];
		}
	}
	if (!nr_types || !per_block)
		mmg_broken("/proc/pagetypeinfo has no zones, or no block size");
	for (i = 0; i < nr_types; i++) {
		const struct by_type *t = &types[i];
		const struct zi_zone *a = zoneinfo_zone_named(&before, t->node, t->name);
		const struct zi_zone *b = zoneinfo_zone_named(&after, t->node, t->name);

		if (!a || !b) {
			differ("pagetypeinfo has node %d %s, zoneinfo has not", t->node, t->name);
			continue;
		}
		if (!t->capped && outside(t->free, a->free, b->free, SLACK))
			differ("node %d %s: lists by type hold %lu pages, zoneinfo %lu then %lu",
			       t->node, t->name, t->free, a->free, b->free);
		if (t->blocks * per_block + 2 * per_block < a->present ||
		    t->blocks * per_block > a->spanned + 2 * per_block)
			differ("node %d %s: %lu blocks of %lu pages for %lu present pages",
			       t->node, t->name, t->blocks, per_block, a->present);
	}
	free(text);
}

static void check_pagetypeinfo(const struct mmg_case *c)
{
	(void)c;
	skip_lazy();
	compare(look_pagetypeinfo);
	mmg_pass("lists by type of %d zones hold what zoneinfo calls free", nr_types);
}

static unsigned long managed_of(const struct zoneinfo *zi, int nid)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (nid < 0 || zi->zones[i].node == nid)
			sum += zi->zones[i].managed;
	return sum;
}

static unsigned long free_of(const struct zoneinfo *zi, int nid)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (nid < 0 || zi->zones[i].node == nid)
			sum += zi->zones[i].free;
	return sum;
}

static void look_meminfo(void)
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
		differ("%s: MemTotal is %lu pages, the zones manage %lu", path, total,
		       managed_of(&after, node));
	if (outside(free, free_of(&before, node), free_of(&after, node), SLACK))
		differ("%s: MemFree is %lu pages, the zones have %lu then %lu", path, free,
		       free_of(&before, node), free_of(&after, node));
}

static void check_meminfo(const struct mmg_case *c)
{
	struct node_set online;
	char file[96];
	int n, nodes = 0;

	(void)c;
	skip_lazy();
	node = -1;
	path = "/proc/meminfo";
	compare(look_meminfo);
	if (node_state("online", &online))
		mmg_broken("reading the online nodes failed");
	for (n = node_set_next(&online, -1); n >= 0; n = node_set_next(&online, n)) {
		snprintf(file, sizeof(file), "/sys/devices/system/node/node%d/meminfo", n);
		node = n;
		path = file;
		compare(look_meminfo);
		nodes++;
	}
	mmg_pass("MemTotal and MemFree are the sums over the zones, in all and on %d nodes",
		 nodes);
}

/* Counter @name summed over the zones of @node */
static unsigned long node_sum(const struct zoneinfo *zi, int nid, const char *name)
{
	unsigned long sum = 0, one;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].node == nid && zi_zone_stat(&zi->zones[i], name, &one))
			sum += one;
	return sum;
}

/* The node's own file of counters, the zones read before and after it */
static void node_file(const char *name, struct vmstat *v)
{
	char file[96];

	snprintf(file, sizeof(file), "/sys/devices/system/node/node%d/%s", node, name);
	bracket_open();
	if (vmstat_read(file, v))
		mmg_skip("no %s: CONFIG_NUMA is needed", file);
	bracket_close();
}

/* The counters of a node's zones, summed, in its own vmstat file */
static void look_vmstat(void)
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
	static struct vmstat v;
	size_t k;

	compared = 0;
	node_file("vmstat", &v);
	for (k = 0; k < ARRAY_SIZE(names); k++) {
		unsigned long a = node_sum(&before, node, names[k]);
		unsigned long b = node_sum(&after, node, names[k]), twin;

		if (!vmstat_has(&v, names[k]))
			continue;
		compared++;
		if (outside(vmstat_get(&v, names[k]), a, b, SLACK))
			differ("node %d: %s is %lu, its zones have %lu then %lu", node, names[k],
			       vmstat_get(&v, names[k]), a, b);
		if (twins[k] && zi_node_stat(&before, node, twins[k], &twin) &&
		    outside(twin, a, b, SLACK))
			differ("node %d: %s is %lu, the zones' %s %lu", node, twins[k], twin,
			       names[k], a);
	}
}

static void look_numastat(void)
{
	static const char * const pairs[][2] = {
		{ "numa_hit", "numa_hit" }, { "numa_miss", "numa_miss" },
		{ "numa_foreign", "numa_foreign" }, { "local_node", "numa_local" },
		{ "other_node", "numa_other" }, { "interleave_hit", "numa_interleave" },
	};
	static struct vmstat v;
	size_t k;

	compared = 0;
	node_file("numastat", &v);
	for (k = 0; k < ARRAY_SIZE(pairs); k++) {
		unsigned long a = node_sum(&before, node, pairs[k][1]);
		unsigned long b = node_sum(&after, node, pairs[k][1]);

		compared++;
		/* the node's sum has zones that lost their memory, too; zoneinfo has not */
		if (outside(vmstat_get(&v, pairs[k][0]), a, b, SLACK))
			differ("node %d: %s is %lu, its zones' %s were %lu then %lu", node,
			       pairs[k][0], vmstat_get(&v, pairs[k][0]), pairs[k][1], a, b);
	}
}

/* Each node with memory; how many numbers were compared */
static unsigned int compare_nodes(void (*look)(void))
{
	struct node_set memory;
	unsigned int all = 0;

	if (node_state("has_memory", &memory))
		mmg_broken("reading the nodes with memory failed");
	for (node = node_set_next(&memory, -1); node >= 0; node = node_set_next(&memory, node)) {
		compare(look);
		all += compared;
	}
	return all;
}

static void node_vmstat(const struct mmg_case *c)
{
	(void)c;
	mmg_pass("%u counters of nodes are the sums over their zones", compare_nodes(look_vmstat));
}

static void check_numastat(const struct mmg_case *c)
{
	(void)c;
	mmg_pass("%u numbers of numastat are the sums over the zones",
		 compare_nodes(look_numastat));
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
