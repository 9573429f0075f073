// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: pages come from the node and the zone that policy and zonelists name
 * mmgate-guards: the order of zonelists and fallback (mm/page_alloc.c, build_all_zonelists)
 * mmgate-machines: numa-uneven memoryless movable small-zones
 * mmgate-needs: CONFIG_NUMA
 * mmgate-wants: CONFIG_MIGRATION CONFIG_HUGETLBFS
 * mmgate-provokes: allocation failure
 * mmgate-timeout: 90
 *
 * Each policy places a few MiB and every page is looked up. For the fallback
 * order, a node is filled up to its watermarks first, and what is asked for next
 * on one of its CPUs has to come from the nearest node that is left, by the
 * distance table. Within a node, the highest zone gives first.
 *
 * How it could mislead: equal distances leave the choice to the kernel, so only
 * nodes that differ are judged. kswapd frees pages of the filled node meanwhile:
 * those may be used again, so the filled node itself is always allowed.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fill.h"
#include "mm_util.h"

#define BYTES		(2 * MIB)
#define TAKE		(4 * MIB)
#define FALL_MOST	(48 * MIB)	/* until a filled node is really full */
#define FALL_PAGES	256		/* then from the next one */
#define SPARE		512		/* pages left to a node beyond what is asked for */

static struct node_set memory, cpus;

static void need_nodes(int least)
{
	if (node_state("has_memory", &memory) || node_state("has_cpu", &cpus))
		mmg_skip("no node directory in sysfs: CONFIG_NUMA is needed");
	if (node_set_count(&memory) < least)
		mmg_skip("%d node with memory; use machine numa-uneven or memoryless",
			 node_set_count(&memory));
}

static void policy_one(const struct mmg_case *c)
{
	const enum node_policy *policy = c->arg;
	long count[MAX_NODES], all = BYTES / mm_page_size();
	int n, judged = 0;

	need_nodes(2);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		struct node_set one = node_set_of(n);
		char *at;
		int ret;

		if (!mm_node_has_room(n, all + SPARE))
			continue;
		at = mm_map(BYTES);
		ret = node_bind_range(at, BYTES, *policy, &one);
		if (ret)
			mmg_fail("policy %d of node %d was refused: %s", *policy, n,
				 strerror(-ret));
		mm_touch(at, BYTES, count);
		munmap(at, BYTES);
		judged++;
		if (count[n] != all)
			mmg_fail("%ld of %ld pages are on node %d, the only one of the policy",
				 count[n], all, n);
	}
	if (!judged)
		mmg_skip("no node has %ld pages above its watermarks", all + SPARE);
	mmg_pass("each of %d nodes got all of its %ld pages", judged, all);
}

static void interleave(const struct mmg_case *c)
{
	long count[MAX_NODES], all, share;
	char *at = mm_map(BYTES);
	int n, ret;

	(void)c;
	need_nodes(2);
	all = BYTES / mm_page_size();
	share = all / node_set_count(&memory);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n))
		if (!mm_node_has_room(n, share + SPARE))
			mmg_skip("node %d has not %ld pages above its watermarks", n,
				 share + SPARE);
	ret = node_bind_range(at, BYTES, NODE_INTERLEAVE, &memory);
	if (ret)
		mmg_fail("interleaving over the nodes with memory was refused: %s",
			 strerror(-ret));
	mm_touch(at, BYTES, count);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n))
		if (count[n] < share - 1 || count[n] > share + 1)
			mmg_fail("node %d got %ld of %ld pages, its share is %ld", n, count[n],
				 all, share);
	mmg_pass("%ld pages went evenly over %d nodes", all, node_set_count(&memory));
}

/* The one nearest node of @from within @set, -1 where two are equally near */
static int nearest(int from, const struct node_set *set)
{
	int distance[MAX_NODES], n, best = -1;
	bool tie = false;

	if (node_distances(from, distance, MAX_NODES))
		mmg_broken("reading the distances of node %d failed", from);
	for (n = node_set_next(set, -1); n >= 0; n = node_set_next(set, n)) {
		if (best >= 0 && distance[n] == distance[best])
			tie = true;
		if (best < 0 || distance[n] < distance[best]) {
			best = n;
			tie = false;
		}
	}
	return tie ? -1 : best;
}

static void local(const struct mmg_case *c)
{
	long count[MAX_NODES], all = BYTES / mm_page_size();
	int n, judged = 0;

	(void)c;
	need_nodes(2);
	for (n = node_set_next(&cpus, -1); n >= 0; n = node_set_next(&cpus, n)) {
		int want = nearest(n, &memory);
		char *at;

		if (want < 0 || node_run_on(n) || !mm_node_has_room(want, all + SPARE))
			continue;
		at = mm_map(BYTES);
		mm_touch(at, BYTES, count);
		munmap(at, BYTES);
		judged++;
		if (count[want] != all)
			mmg_fail("%ld of %ld pages asked for on node %d came from node %d",
				 count[want], all, n, want);
	}
	if (!judged)
		mmg_skip("no node here has one nearest node with memory, and room on it");
	mmg_pass("CPUs of %d nodes got pages of the nearest node with memory", judged);
}

/* Take most of a node's larger zones */
static void fill_node(int node)
{
	unsigned long page = mm_page_size(), want = 0;
	struct zoneinfo zi;
	size_t i;

	mmg_doing("filling node %d", node);
	mm_usual_reclaim();
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long keep = z->high + 6 * MIB / page;

		if (z->node == node && z->managed > 32 * MIB / page && z->free > keep)
			want += z->free - keep;
	}
	zoneinfo_free(&zi);
	hog_start(node, want * page);
}

/* Pages that came from @full and from @next once @full gave no more; others in @wrong */
static void fall(int full, int next, long *from_full, long *from_next, long *wrong)
{
	char *at = mm_map(FALL_MOST);
	size_t done;
	long count[MAX_NODES];
	int k;

	*from_full = 0;
	*from_next = 0;
	*wrong = 0;
	for (done = 0; done < FALL_MOST && *from_next < FALL_PAGES; done += MIB) {
		mm_touch(at + done, MIB, count);
		for (k = 0; k < MAX_NODES; k++)
			if (k != full && k != next)
				*wrong += count[k];
		*from_full += count[full];
		*from_next += count[next];
		if (*wrong)
			break;
	}
	munmap(at, FALL_MOST);
}

static void read_numastat(int node, struct vmstat *v)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", node);
	if (vmstat_read(path, v))
		mmg_broken("reading %s failed", path);
}

/*
 * The nearest node is filled; the next in distance has to give then, and both
 * have to count it: a miss where the page came from, foreign where it was due
 */
static void fallback_order(const struct mmg_case *c)
{
	static struct vmstat full_before, full_after, next_before, next_after;
	int n, judged = 0;

	(void)c;
	need_nodes(2);
	mm_need_numa_stat();
	for (n = node_set_next(&cpus, -1); n >= 0 && judged < 2; n = node_set_next(&cpus, n)) {
		struct node_set left = memory, one;
		long from_full, from_next, wrong;
		int full = nearest(n, &left), next;
		size_t i;

		if (full < 0 || node_run_on(n))
			continue;
		one = node_set_of(full);
		for (i = 0; i < ARRAY_SIZE(left.bits); i++)
			left.bits[i] &= ~one.bits[i];
		next = nearest(n, &left);
		if (next < 0)
			continue;
		fill_node(full);
		/* one that was filled before may have too little left on a debug kernel */
		if (!mm_node_has_room(next, 2 * FALL_PAGES + MIB / mm_page_size()))
			continue;
		read_numastat(full, &full_before);
		read_numastat(next, &next_before);
		fall(full, next, &from_full, &from_next, &wrong);
		read_numastat(full, &full_after);
		read_numastat(next, &next_after);
		judged++;
		mmg_info("CPU of node %d: %ld pages of node %d until it was full, %ld of node %d",
			 n, from_full, full, from_next, next);
		if (wrong)
			mmg_fail("node %d full, CPU of node %d: %ld pages are not of node %d",
				 full, n, wrong, next);
		if (from_next < FALL_PAGES)
			mmg_broken("node %d was not full: it gave %ld pages, node %d %ld", full,
				   from_full, next, from_next);
		if (vmstat_delta(&next_before, &next_after, "numa_miss") < from_next ||
		    vmstat_delta(&full_before, &full_after, "numa_foreign") < from_next)
			mmg_fail("%ld pages of node %d for node %d: miss +%ld, foreign +%ld",
				 from_next, next, full,
				 vmstat_delta(&next_before, &next_after, "numa_miss"),
				 vmstat_delta(&full_before, &full_after, "numa_foreign"));
	}
	if (!judged)
		mmg_skip("no node has two others with memory at different distances, and room");
	mmg_pass("with the nearest node full, the next in distance gave, from %d nodes", judged);
}

/* What the zones of a node gave while 4 MiB were taken from it */
struct order {
	char name[16];		/* its highest zone that the memory may use */
	bool roomy;		/* which has that much to give */
	long top, others;
};

static void take_from(int node, enum fill_kind kind, struct order *o)
{
	const struct zi_zone *top = NULL;
	struct zoneinfo a, b;
	struct fill f;
	size_t i;

	memset(o, 0, sizeof(*o));
	mm_refresh();
	mm_zoneinfo(&a);
	fill_start(&f, kind, 8 * MIB);
	fill_more(&f, TAKE);
	mm_refresh();
	mm_zoneinfo(&b);
	fill_stop(&f);
	for (i = 0; i < a.nr_zones; i++) {
		const struct zi_zone *z = &a.zones[i], *now = &b.zones[i];
		long gave = z->free + z->pcp_count - (now->free + now->pcp_count);

		if (z->node != node || !z->managed)
			continue;
		if (kind == FILL_PIPE && !strcmp(z->name, "Movable")) {
			o->others += gave > 0 ? gave : 0;
			continue;
		}
		/* what was highest so far is a lower one */
		if (top && o->top > 0)
			o->others += o->top;
		top = z;
		o->top = gave;
	}
	if (top) {
		memcpy(o->name, top->name, sizeof(o->name));
		o->roomy = top->free > top->high + (TAKE + 2 * MIB) / mm_page_size();
	}
	zoneinfo_free(&a);
	zoneinfo_free(&b);
}

/* Within a node: from the highest zone that the memory may use */
static void zone_order(const struct mmg_case *c)
{
	const enum fill_kind *kind = c->arg;
	long most = MIB / mm_page_size(), least = TAKE / mm_page_size() - most;
	int n, judged = 0;

	if (node_state("has_memory", &memory))
		memory = node_set_of(0);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		struct node_set one = node_set_of(n);
		struct order o;
		int tries = 3;

		/* the pages of a small node would be got by the OOM killer alone */
		if (!mm_node_has_room(n, TAKE / mm_page_size() + SPARE))
			continue;
		node_set_policy(NODE_BIND, &one);
		/* others may take and give meanwhile: one quiet try is enough */
		do {
			take_from(n, *kind, &o);
		} while (o.roomy && (o.top < least || o.others > most) && --tries);
		if (!o.roomy)
			continue;
		judged++;
		mmg_info("node %d: %ld pages from %s, %ld from other zones", n, o.top, o.name,
			 o.others);
		if (!tries)
			mmg_fail("node %d: %s gave %ld of %lu pages, other zones %ld", n, o.name,
				 o.top, TAKE / mm_page_size(), o.others);
	}
	if (!judged)
		mmg_skip("no node has 6 MiB above the high watermark of its highest zone");
	mmg_pass("the highest zone gave first on %d nodes", judged);
}

/* What is counted as hit, local and other follows from where pages went */
static void numa_counts(const struct mmg_case *c)
{
	static struct vmstat a, b;
	long all = BYTES / mm_page_size();
	char path[96];
	unsigned int cpu, at_home;
	int n, judged = 0;

	(void)c;
	need_nodes(2);
	mm_need_numa_stat();
	/* stay on this CPU; a fake node lists CPUs whose own node is another one */
	if (getcpu(&cpu, &at_home) || node_run_on_cpu(cpu) || getcpu(&cpu, &at_home))
		mmg_broken("staying on one CPU failed");
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		struct node_set one = node_set_of(n);
		const char *where = n == (int)at_home ? "local_node" : "other_node";
		long count[MAX_NODES], hit, loc, miss;
		char *at;

		if (!mm_node_has_room(n, all + SPARE))
			continue;
		at = mm_map(BYTES);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", n);
		if (node_bind_range(at, BYTES, NODE_BIND, &one) || vmstat_read(path, &a))
			mmg_broken("binding to node %d, or reading %s, failed", n, path);
		mm_touch(at, BYTES, count);
		vmstat_read(path, &b);
		munmap(at, BYTES);
		hit = vmstat_delta(&a, &b, "numa_hit");
		loc = vmstat_delta(&a, &b, where);
		miss = vmstat_delta(&a, &b, "numa_miss");
		judged++;
		if (hit < all || hit > all + all / 2 || loc < all || miss > all / 8)
			mmg_fail("node %d: %ld pages came, numa_hit +%ld, %s +%ld, numa_miss +%ld",
				 n, all, hit, where, loc, miss);
	}
	if (!judged)
		mmg_skip("no node has %ld pages above its watermarks", all + SPARE);
	mmg_pass("numastat of %d nodes counted their %ld pages as hits", judged, all);
}

/* Huge pages of each node, -1 where it has none of them */
static long huge_pages(int node)
{
	char path[128], *text;
	long nr;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/node/node%d/hugepages/hugepages-%lukB/nr_hugepages", node,
		 hog_huge_bytes() / 1024);
	text = mmg_read_file(path, NULL);
	nr = text ? strtol(text, NULL, 10) : -1;
	free(text);
	return nr;
}

/*
 * Huge pages of one node are allocated with __GFP_THISNODE (mm/hugetlb.c): where the node has
 * no more, there are no more, though others have plenty.
 */
static void thisnode(const struct mmg_case *c)
{
	long before[MAX_NODES], gained = 0;
	struct zoneinfo zi;
	size_t i, all = 0;
	int n, last = -1;

	(void)c;
	need_nodes(2);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		before[n] = huge_pages(n);
		last = n;
	}
	if (last < 0 || before[last] < 0 || hog_huge_bytes() > 4 * MIB)
		mmg_skip("no huge pages by node (CONFIG_HUGETLBFS), or gigantic ones");
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		all += zi.zones[i].node == last ? zi.zones[i].managed * mm_page_size() : 0;
	zoneinfo_free(&zi);
	mm_usual_reclaim();
	mmg_doing("asking node %d for all of its memory in huge pages", last);
	gained = hog_start(last, all + 8 * hog_huge_bytes()) / hog_huge_bytes();
	if (gained * hog_huge_bytes() >= all)
		mmg_fail("node %d of %zu MiB gave %ld huge pages", last, all / MIB, gained);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n))
		if (n != last && huge_pages(n) > before[n])
			mmg_fail("node %d was asked for huge pages, node %d gave %ld", last, n,
				 huge_pages(n) - before[n]);
	mmg_pass("node %d gave %ld huge pages of its own, other nodes none", last, gained);
}

/*
 * move_pages() asks for memory of the target with __GFP_THISNODE and without a set of nodes
 * (alloc_migration_target() in mm/migrate.c): where the target has no more, pages stay where
 * they are, and no page is said to be where it is not.
 */
static void thisnode_moved(const struct mmg_case *c)
{
	int from = -1, to = -1, n, *nodes;
	size_t all = 0, i, pages;
	long said, there = 0, astray = 0, swapped = 0;
	struct node_set one;
	struct zoneinfo zi;
	unsigned long spare = 0;
	char *at;

	(void)c;
	need_nodes(2);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n))
		to = n;
	if (huge_pages(to) < 0 || hog_huge_bytes() > 4 * MIB)
		mmg_skip("no huge pages by node (CONFIG_HUGETLBFS), or gigantic ones");
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		all += zi.zones[i].node == to ? zi.zones[i].managed * mm_page_size() : 0;
	zoneinfo_free(&zi);
	mm_usual_reclaim();
	mmg_doing("filling node %d with huge pages", to);
	hog_start(to, all + 8 * hog_huge_bytes());
	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		spare += zi.zones[i].node == to ? zi.zones[i].free + zi.zones[i].pcp_count : 0;
	zoneinfo_free(&zi);
	/* more than is free there and than reclaim may find */
	pages = spare + FALL_MOST / mm_page_size();
	for (n = node_set_next(&memory, -1); n >= 0 && from < 0; n = node_set_next(&memory, n)) {
		if (n != to && mm_node_has_room(n, pages + SPARE))
			from = n;
	}
	if (from < 0)
		mmg_skip("no other node has %zu pages above its watermarks", pages + SPARE);
	one = node_set_of(from);
	at = mm_map(pages * mm_page_size());
	nodes = calloc(pages, sizeof(*nodes));
	if (!nodes || node_bind_range(at, pages * mm_page_size(), NODE_BIND, &one))
		mmg_broken("no %zu pages could be bound to node %d", pages, from);
	memset(at, 1, pages * mm_page_size());
	mmg_doing("moving %zu pages to node %d, which is full", pages, to);
	said = node_move_pages(at, pages, to);
	if (said == -ENOSYS || said == -EPERM)
		mmg_skip("move_pages: %s", strerror(-said));
	if (said < 0)
		mmg_broken("move_pages: %s", strerror(-said));
	if (node_of_pages(at, pages, nodes))
		mmg_broken("cannot tell where %zu pages are", pages);
	for (i = 0; i < pages; i++) {
		there += nodes[i] == to;
		/* moved, and then reclaimed for the next one */
		swapped += nodes[i] < 0;
		astray += nodes[i] >= 0 && nodes[i] != to && nodes[i] != from;
	}
	free(nodes);
	munmap(at, pages * mm_page_size());
	mmg_metric("moved", there);
	mmg_metric("said", said);
	if (astray)
		mmg_fail("%ld pages on their way from node %d to %d went elsewhere", astray, from,
			 to);
	if (said > there + swapped)
		mmg_fail("%ld pages are on node %d by the kernel's word: %ld are, %ld are in swap",
			 said, to, there, swapped);
	if (there == (long)pages)
		mmg_broken("node %d took all %zu pages: it was not full", to, pages);
	mmg_pass("node %d has %ld of %zu pages, %ld were swapped out, the others stayed on node %d",
		 to, there, pages, swapped, from);
}

static const enum node_policy bind = NODE_BIND;
static const enum node_policy preferred = NODE_PREFERRED;
static const enum fill_kind user = FILL_ANON;
static const enum fill_kind kernel = FILL_PIPE;

static const struct mmg_case cases[] = {
	{ .name = "bind", .fn = policy_one, .arg = &bind },
	{ .name = "preferred", .fn = policy_one, .arg = &preferred },
	{ .name = "interleave", .fn = interleave },
	{ .name = "local", .fn = local },
	{ .name = "zone-order-user", .fn = zone_order, .arg = &user },
	{ .name = "zone-order-kernel", .fn = zone_order, .arg = &kernel },
	{ .name = "numa-counts", .fn = numa_counts },
	{ .name = "thisnode", .fn = thisnode, .destructive = true },
	{ .name = "thisnode-moved", .fn = thisnode_moved, .destructive = true },
	{ .name = "fallback-order", .fn = fallback_order, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/node_alloc",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
