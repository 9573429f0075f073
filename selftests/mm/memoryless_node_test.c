// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: nodes without memory: who serves them, what they show, what is refused
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: memoryless dimm arm64-memoryless ppc64el-memoryless
 * mmgate-needs: CONFIG_NUMA
 * mmgate-wants: CONFIG_MIGRATION
 * mmgate-timeout: 60
 *
 * Machine memoryless makes such nodes by QEMU's topology, with CPUs; on machine
 * dimm one waits for its first DIMM, and another has neither CPU nor memory and
 * is offline. hotplug_zone_test makes them by offlining.
 *
 * How it could mislead: on a machine without such nodes everything is skipped,
 * which is no statement about the kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mm_util.h"

#define BYTES		(2 * MIB)
#define SPARE		512		/* pages left to a node beyond what is asked for */
#define NODE_DIR	"/sys/devices/system/node"

static struct node_set possible, online, memory, cpus, empty;

static void read_states(void)
{
	size_t i;

	if (node_state("possible", &possible) || node_state("online", &online) ||
	    node_state("has_memory", &memory) || node_state("has_cpu", &cpus))
		mmg_skip("no node directory in sysfs: CONFIG_NUMA is needed");
	for (i = 0; i < ARRAY_SIZE(empty.bits); i++)
		empty.bits[i] = online.bits[i] & ~memory.bits[i];
}

static void need_empty(void)
{
	read_states();
	if (!node_set_count(&empty))
		mmg_skip("every online node has memory; use machine memoryless or dimm");
}

/* sysfs, the zones and the node's own meminfo must say the same */
static void states_agree(const struct mmg_case *c)
{
	static struct vmstat m;
	struct node_set normal, has;
	struct zoneinfo zi;
	char path[96];
	int n;

	(void)c;
	need_empty();
	mm_zoneinfo(&zi);
	if (node_state("has_normal_memory", &normal))
		normal = memory;
	for (n = node_set_next(&online, -1); n >= 0; n = node_set_next(&online, n)) {
		unsigned long present = 0, managed = 0, low = 0;
		size_t i;

		for (i = 0; i < zi.nr_zones; i++) {
			const struct zi_zone *z = &zi.zones[i];

			if (z->node != n)
				continue;
			present += z->present;
			managed += z->managed;
			if (strcmp(z->name, "Movable") && strcmp(z->name, "HighMem") &&
			    strcmp(z->name, "Device"))
				low += z->present;
		}
		snprintf(path, sizeof(path), NODE_DIR "/node%d/meminfo", n);
		if (vmstat_read(path, &m))
			mmg_fail("node %d is online, but %s cannot be read", n, path);
		if (node_set_has(&memory, n) != !!present)
			mmg_fail("node %d has %lu present pages, but is %sin has_memory", n,
				 present, node_set_has(&memory, n) ? "" : "not ");
		if (node_set_has(&normal, n) != !!low)
			mmg_fail("node %d has %lu low pages, but is %sin has_normal_memory", n,
				 low, node_set_has(&normal, n) ? "" : "not ");
		if (!vmstat_get(&m, "MemTotal") != !managed)
			mmg_fail("node %d: MemTotal %lu KiB, its zones manage %lu pages", n,
				 vmstat_get(&m, "MemTotal"), managed);
		if (node_cpus(n, &has) || node_set_has(&cpus, n) != !!node_set_count(&has))
			mmg_fail("node %d has %d CPUs, but is %sin has_cpu", n,
				 node_set_count(&has), node_set_has(&cpus, n) ? "" : "not ");
	}
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n))
		if (!node_set_has(&online, n))
			mmg_fail("node %d has memory, but is not online", n);
	mmg_pass("states of %d online nodes agree; %d of them without memory",
		 node_set_count(&online), node_set_count(&empty));
}

/* As many zones as everybody, and nothing in them */
static void empty_rows(const struct mmg_case *c)
{
	struct zoneinfo zi;
	int n, j, rows = 0;
	size_t i;

	(void)c;
	need_empty();
	mm_zoneinfo(&zi);
	for (n = node_set_next(&empty, -1); n >= 0; n = node_set_next(&empty, n)) {
		int zones = 0;

		for (i = 0; i < zi.nr_zones; i++) {
			const struct zi_zone *z = &zi.zones[i];
			unsigned long most = strcmp(z->name, "Movable") ? 0 : 32;

			if (z->node != n)
				continue;
			zones++;
			rows++;
			if (z->free || z->present || z->managed || z->boost || z->min > most ||
			    z->low > most || z->high > most)
				mmg_fail("node %d %s is empty, yet free %lu managed %lu min %lu",
					 n, z->name, z->free, z->managed, z->min);
			for (j = 0; j < z->nr_protection; j++)
				if (z->protection[j])
					mmg_fail("node %d %s is empty, yet keeps %lu pages", n,
						 z->name, z->protection[j]);
		}
		if (zones != zi.zones_per_node)
			mmg_fail("node %d is online and prints %d zones, others %d", n, zones,
				 zi.zones_per_node);
	}
	mmg_pass("%d zones of nodes without memory print zeroes", rows);
}

/* A possible node that is not online prints nothing */
static void offline_nodes(const struct mmg_case *c)
{
	static struct vmstat unused;
	struct zoneinfo zi;
	char path[96];
	int n, seen = 0;

	(void)c;
	read_states();
	mm_zoneinfo(&zi);
	for (n = node_set_next(&possible, -1); n >= 0; n = node_set_next(&possible, n)) {
		if (node_set_has(&online, n))
			continue;
		seen++;
		snprintf(path, sizeof(path), NODE_DIR "/node%d/meminfo", n);
		if (zoneinfo_zone(&zi, n, 0))
			mmg_fail("node %d is offline, but zoneinfo shows its zones", n);
		if (vmstat_read(path, &unused) != -ENOENT)
			mmg_fail("node %d is offline, but %s is there", n, path);
	}
	if (!seen)
		mmg_skip("every possible node is online; use machine dimm");
	mmg_pass("%d offline nodes show no zones", seen);
}

/* The nodes with memory nearest to @from; all that are equally near */
static void nearest(int from, struct node_set *near)
{
	int distance[MAX_NODES], n, least = 0;

	memset(near, 0, sizeof(*near));
	if (node_distances(from, distance, MAX_NODES))
		mmg_broken("reading the distances of node %d failed", from);
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		if (least && distance[n] > least)
			continue;
		if (!least || distance[n] < least)
			memset(near, 0, sizeof(*near));
		least = distance[n];
		node_set_add(near, n);
	}
}

/* A node that has not gives the job to the next one */
static bool have_room(const struct node_set *set, unsigned long pages)
{
	int n;

	for (n = node_set_next(set, -1); n >= 0; n = node_set_next(set, n)) {
		if (!mm_node_has_room(n, pages))
			return false;
	}
	return true;
}

static void served_by_nearest(const struct mmg_case *c)
{
	long count[MAX_NODES], all = BYTES / mm_page_size();
	int n, k, judged = 0;

	(void)c;
	need_empty();
	for (n = node_set_next(&empty, -1); n >= 0; n = node_set_next(&empty, n)) {
		struct node_set near;
		char text[64];
		long good = 0;
		char *at;

		if (node_run_on(n))
			continue;
		nearest(n, &near);
		if (!have_room(&near, all + SPARE))
			continue;
		at = mm_map(BYTES);
		mm_touch(at, BYTES, count);
		munmap(at, BYTES);
		judged++;
		for (k = 0; k < MAX_NODES; k++)
			if (node_set_has(&near, k))
				good += count[k];
		node_set_text(&near, text, sizeof(text));
		mmg_info("CPUs of node %d: %ld of %ld pages from node %s", n, good, all, text);
		if (good != all)
			mmg_fail("%ld of %ld pages for CPUs of node %d are from node %s",
				 good, all, n, text);
	}
	if (!judged)
		mmg_skip("no node without memory has a CPU and a nearest node with %ld pages to give; use machine memoryless",
			 all + SPARE);
	mmg_pass("CPUs of %d nodes without memory got it all from the nearest", judged);
}

/* Policies that name nothing but nodes without memory */
static void policy_refused(const struct mmg_case *c)
{
	static const enum node_policy policies[] = { NODE_PREFERRED, NODE_BIND, NODE_INTERLEAVE };
	char *at = mm_map(BYTES);
	size_t i;
	int ret;

	(void)c;
	need_empty();
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		ret = node_set_policy(policies[i], &empty);
		if (ret != -EINVAL)
			mmg_fail("set_mempolicy %d of nodes without memory: %s, must be %s",
				 policies[i], ret ? strerror(-ret) : "accepted", strerror(EINVAL));
		ret = node_bind_range(at, BYTES, policies[i], &empty);
		if (ret != -EINVAL)
			mmg_fail("mbind %d to nodes without memory: %s, must be %s", policies[i],
				 ret ? strerror(-ret) : "accepted", strerror(EINVAL));
	}
	mmg_pass("%zu policies of only such nodes refused with EINVAL, twice each",
		 ARRAY_SIZE(policies));
}

/* Policies that name nodes with and without memory: the latter fall away */
static void policy_mixed(const struct mmg_case *c)
{
	static const enum node_policy policies[] = { NODE_BIND, NODE_INTERLEAVE };
	long count[MAX_NODES], all = BYTES / mm_page_size();
	int last = -1, n, ret, policy;
	struct node_set mixed, got;
	size_t i;

	(void)c;
	need_empty();
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		if (mm_node_has_room(n, all + SPARE))
			last = n;
	}
	if (last < 0)
		mmg_skip("no node has %ld pages above its watermarks", all + SPARE);
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		char *at = mm_map(BYTES), text[64];

		mixed = empty;
		node_set_add(&mixed, last);
		ret = node_set_policy(policies[i], &mixed);
		if (ret)
			mmg_fail("policy %d of node %d and some without memory: %s", policies[i],
				 last, strerror(-ret));
		if (node_get_policy(&policy, &got))
			mmg_broken("asking for the policy failed");
		mm_touch(at, BYTES, count);
		munmap(at, BYTES);
		node_set_policy(NODE_DEFAULT, NULL);
		node_set_text(&got, text, sizeof(text));
		if (node_set_count(&got) != 1 || !node_set_has(&got, last))
			mmg_fail("policy %d keeps nodes %s, must keep node %d alone", policies[i],
				 text, last);
		if (count[last] != all)
			mmg_fail("policy %d: %ld of %ld pages on node %d, its only one with memory",
				 policies[i], count[last], all, last);
	}
	mmg_pass("nodes without memory fell out of %zu policies", ARRAY_SIZE(policies));
}

/* Its CPUs' allocations count where the pages are: as hits, of another node */
static void numa_counts(const struct mmg_case *c)
{
	static struct vmstat before[MAX_NODES], after[MAX_NODES];
	long count[MAX_NODES], all = BYTES / mm_page_size();
	int n, k, judged = 0;
	char path[96];

	(void)c;
	need_empty();
	mm_need_numa_stat();
	for (n = node_set_next(&empty, -1); n >= 0; n = node_set_next(&empty, n)) {
		struct node_set near;
		char *at;

		nearest(n, &near);
		if (node_run_on(n) || !have_room(&near, all + SPARE))
			continue;
		for (k = node_set_next(&online, -1); k >= 0; k = node_set_next(&online, k)) {
			snprintf(path, sizeof(path), NODE_DIR "/node%d/numastat", k);
			if (k >= MAX_NODES || vmstat_read(path, &before[k]))
				mmg_broken("reading %s failed", path);
		}
		at = mm_map(BYTES);
		mm_touch(at, BYTES, count);
		for (k = node_set_next(&online, -1); k >= 0; k = node_set_next(&online, k)) {
			long hit, other;

			snprintf(path, sizeof(path), NODE_DIR "/node%d/numastat", k);
			vmstat_read(path, &after[k]);
			hit = vmstat_delta(&before[k], &after[k], "numa_hit");
			other = vmstat_delta(&before[k], &after[k], "other_node");
			if (node_set_has(&empty, k) &&
			    vmstat_sum(&after[k], "") != vmstat_sum(&before[k], ""))
				mmg_fail("node %d has no memory, yet its numastat moved", k);
			if (hit < count[k] || other < count[k])
				mmg_fail("node %d gave %ld pages: numa_hit +%ld, other_node +%ld",
					 k, count[k], hit, other);
			if (vmstat_delta(&before[k], &after[k], "numa_miss") > all / 8)
				mmg_fail("node %d counts %ld misses for its nearest neighbour", k,
					 vmstat_delta(&before[k], &after[k], "numa_miss"));
		}
		munmap(at, BYTES);
		judged++;
	}
	if (!judged)
		mmg_skip("no node without memory has a CPU and a nearest node with %ld pages to give; use machine memoryless",
			 all + SPARE);
	mmg_pass("numastat counted %ld pages each for %d nodes where they came from", all, judged);
}

/* A kswapdN for every node with memory, and for no other */
static void kswapd_nodes(const struct mmg_case *c)
{
	struct node_set running;
	char have[64], want[64];

	(void)c;
	need_empty();
	mm_kswapd_nodes(&running);
	node_set_text(&running, have, sizeof(have));
	node_set_text(&memory, want, sizeof(want));
	if (memcmp(&running, &memory, sizeof(memory)))
		mmg_fail("kswapd runs for node %s, memory is on node %s", have, want);
	mmg_pass("kswapd runs for node %s, where the memory is", have);
}

static const struct mmg_case cases[] = {
	{ .name = "states", .fn = states_agree },
	{ .name = "empty-rows", .fn = empty_rows },
	{ .name = "offline-nodes", .fn = offline_nodes },
	{ .name = "served-by-nearest", .fn = served_by_nearest },
	{ .name = "policy-refused", .fn = policy_refused },
	{ .name = "policy-mixed", .fn = policy_mixed },
	{ .name = "numa-counts", .fn = numa_counts },
	{ .name = "kswapd", .fn = kswapd_nodes },
};

static const struct mmg_test test = {
	.name = "mm/memoryless_node",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
