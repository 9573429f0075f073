// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: reserves, watermarks and zonelists follow memory that comes and goes
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: movable dimm
 * mmgate-needs: CONFIG_NUMA CONFIG_MEMORY_HOTPLUG CONFIG_MEMORY_HOTREMOVE
 * mmgate-timeout: 120
 *
 * Memory blocks go offline and come back, into ZONE_MOVABLE and into a kernel
 * zone; DIMMs are plugged through ACPI (asked for over the control port), make
 * node 0 larger, give memory to a node that has none, and bring up a node that
 * was not there.  After each step every protection and every watermark of every
 * node is compared with the formula.
 *
 * How it could mislead: reading lowmem_reserve_ratio recomputes the protections
 * and would hide that a step did not, so it is read once, before the first step,
 * and never between a step and the look.  A block that refuses to go offline (it
 * holds kernel memory) is no failure.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mm_util.h"

#define AUTO_ONLINE	"/sys/devices/system/memory/auto_online_blocks"
#define MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define SCALE		"/proc/sys/vm/watermark_scale_factor"
#define BYTES		(2 * MIB)

static long ratio[ZI_MAX_ZONES];	/* as read before the first step */
static int looks;

/*
 * Everything by the formula, without touching the ratio.  A node that was just
 * plugged has no watermarks until its first block goes online: @marks false.
 */
static void look_at(const char *step, bool marks)
{
	struct node_set memory, running;
	char first[160], have[64], want[64];
	unsigned int wrong;
	struct zoneinfo zi;
	struct mm_rows rows;
	size_t i;

	mmg_doing("looking after: %s", step);
	mm_zoneinfo(&zi);
	mm_compare_rows(&zi, ratio, &rows);
	if (rows.wrong) {
		mm_info_rows(&zi);
		mmg_fail("after %s %u protections are off; first: %s", step, rows.wrong,
			 rows.first);
	}
	wrong = mm_compare_marks(&zi, mm_number(MIN_FREE), mm_number(SCALE), 0, first,
				 sizeof(first));
	if (wrong && marks)
		mmg_fail("after %s %u watermarks are off; first: %s", step, wrong, first);
	if (node_state("has_memory", &memory))
		mmg_broken("reading which nodes have memory failed");
	for (i = 0; i < zi.nr_zones; i++)
		if (zi.zones[i].present && !node_set_has(&memory, zi.zones[i].node))
			mmg_fail("after %s node %d has %lu pages in %s, but is not in has_memory",
				 step, zi.zones[i].node, zi.zones[i].present, zi.zones[i].name);
	mm_kswapd_nodes(&running);
	if (memcmp(&running, &memory, sizeof(memory)))
		mmg_fail("after %s kswapd runs for node %s, memory is on node %s", step,
			 node_set_text(&running, have, sizeof(have)),
			 node_set_text(&memory, want, sizeof(want)));
	zoneinfo_free(&zi);
	looks++;
}

static void look(const char *step)
{
	look_at(step, true);
}

static void begin(void)
{
	if (mem_block_bytes() < 0)
		mmg_skip("no memory blocks in sysfs: CONFIG_MEMORY_HOTPLUG is needed");
	mm_fresh_ratio(ratio);
	/* a write of what is there brings the watermarks up to date, too */
	mmg_save_setting(MIN_FREE);
	mmg_write_setting(MIN_FREE, "%lu", mm_number(MIN_FREE));
	looks = 0;
}

static void set_block(int id, const char *state)
{
	int ret = mem_block_set(id, state);

	if (ret)
		mmg_broken("memory%d: \"%s\" was refused: %s", id, state, strerror(-ret));
}

static unsigned long managed_in_all(void)
{
	unsigned long sum = 0;
	struct zoneinfo zi;
	size_t i;

	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++)
		sum += zi.zones[i].managed;
	zoneinfo_free(&zi);
	return sum;
}

static unsigned long managed_by(int node, const char *zone)
{
	const struct zi_zone *z;
	unsigned long managed;
	struct zoneinfo zi;

	mm_zoneinfo(&zi);
	z = zoneinfo_zone_named(&zi, node, zone);
	managed = z ? z->managed : 0;
	zoneinfo_free(&zi);
	return managed;
}

/* Movable blocks, one by one: away, looked at, back, looked at */
static void one_by_one(const struct mmg_case *c)
{
	struct mem_block *blocks;
	int n, i, moved = 0, refused = 0;
	unsigned long start;

	(void)c;
	begin();
	start = managed_in_all();
	n = mem_blocks(&blocks);
	for (i = n - 1; i >= 0 && moved < 3; i--) {
		char step[64];

		if (!blocks[i].online || strcmp(blocks[i].zone, "Movable"))
			continue;
		mmg_doing("taking memory%d of node %d offline", blocks[i].id, blocks[i].node);
		if (mem_block_set(blocks[i].id, "offline")) {
			refused++;
			continue;
		}
		moved++;
		snprintf(step, sizeof(step), "memory%d of node %d went offline", blocks[i].id,
			 blocks[i].node);
		look(step);
		set_block(blocks[i].id, "online_movable");
		snprintf(step, sizeof(step), "memory%d of node %d came back", blocks[i].id,
			 blocks[i].node);
		look(step);
	}
	if (!moved)
		mmg_skip("no block of ZONE_MOVABLE went offline (%d refused); use machine movable",
			 refused);
	if (managed_in_all() != start)
		mmg_fail("%lu pages are managed after all came back, %lu before",
			 managed_in_all(), start);
	mmg_pass("%d blocks away and back, %d refused, %d looks by the formula", moved, refused,
		 looks);
}

/* All of a node's ZONE_MOVABLE: the zone is empty, the rows below stay cumulative */
static void empty_movable(const struct mmg_case *c)
{
	struct mem_block *blocks;
	int gone[64], nr = 0, n, i, node = -1, refused = 0, aim;
	unsigned long start;
	struct zoneinfo zi;
	char step[64];

	(void)c;
	begin();
	n = mem_blocks(&blocks);
	for (i = 0; i < n; i++)
		if (blocks[i].online && !strcmp(blocks[i].zone, "Movable"))
			node = blocks[i].node;
	if (node < 0)
		mmg_skip("no block is in ZONE_MOVABLE; use machine movable");
	start = managed_by(node, "Movable");
	for (i = n - 1; i >= 0 && nr < (int)ARRAY_SIZE(gone); i--) {
		if (blocks[i].node != node || strcmp(blocks[i].zone, "Movable"))
			continue;
		mmg_doing("taking memory%d of node %d offline", blocks[i].id, node);
		if (mem_block_set(blocks[i].id, "offline"))
			refused++;
		else
			gone[nr++] = blocks[i].id;
	}
	snprintf(step, sizeof(step), "%d Movable blocks of node %d went offline", nr, node);
	look(step);
	if (!refused && managed_by(node, "Movable"))
		mmg_fail("node %d Movable manages %lu pages, and all its blocks are offline", node,
			 managed_by(node, "Movable"));
	mm_zoneinfo(&zi);
	aim = zoneinfo_zone_named(&zi, node, "Movable")->index;
	for (i = 0; i < aim && !refused; i++) {
		const struct zi_zone *z = zoneinfo_zone(&zi, node, i);

		if (z && z->nr_protection > aim && z->protection[aim] < z->protection[aim - 1])
			mmg_fail("node %d %s keeps %lu from empty Movable, %lu from the zone below",
				 node, z->name, z->protection[aim], z->protection[aim - 1]);
	}
	zoneinfo_free(&zi);
	for (i = nr - 1; i >= 0; i--)
		set_block(gone[i], "online_movable");
	snprintf(step, sizeof(step), "%d Movable blocks of node %d came back", nr, node);
	look(step);
	if (managed_by(node, "Movable") != start)
		mmg_fail("node %d Movable manages %lu pages, %lu before it was emptied", node,
			 managed_by(node, "Movable"), start);
	if (!nr)
		mmg_skip("all %d Movable blocks of node %d refused to go offline", refused, node);
	mmg_pass("node %d Movable: %d blocks away and back, %d refused, %d looks by the formula",
		 node, nr, refused, looks);
}

/* A Movable block comes back as kernel memory, and then as Movable again */
static void as_kernel(const struct mmg_case *c)
{
	struct mem_block *blocks, now;
	int n, i, refused = 0;

	(void)c;
	begin();
	n = mem_blocks(&blocks);
	for (i = 0; i < n; i++) {
		char step[96];
		int ret;

		if (!blocks[i].online || strcmp(blocks[i].zone, "Movable"))
			continue;
		mmg_doing("taking memory%d offline", blocks[i].id);
		if (mem_block_set(blocks[i].id, "offline")) {
			refused++;
			continue;
		}
		ret = mem_block_set(blocks[i].id, "online_kernel");
		if (ret) {
			refused++;
			set_block(blocks[i].id, "online_movable");
			continue;
		}
		mem_block_read(blocks[i].id, &now);
		snprintf(step, sizeof(step), "memory%d came back in %s", now.id, now.zone);
		mmg_info("%s", step);
		look(step);
		ret = mem_block_set(now.id, "offline");
		if (ret)
			mmg_pass("%s; then it refused to leave: %s; %d looks by the formula", step,
				 strerror(-ret), looks);
		set_block(now.id, "online_movable");
		look("it came back as Movable");
		mmg_pass("%s and returned, %d looks by the formula", step, looks);
	}
	mmg_skip("no Movable block could become kernel memory (%d refused)", refused);
}

static char *map_bytes(void)
{
	char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		mmg_broken("mapping memory: %s", strerror(errno));
	return at;
}

/*
 * The node that a page comes from: asked for on a CPU of @node, or by a policy
 * that prefers it (a binding would end in an OOM kill on a kernel whose
 * zonelists forgot the node).  -1 where it cannot be asked for so.
 */
static int page_from(int node, bool preferred)
{
	struct node_set one = node_set_of(node);
	int where[1] = { -1 };
	char *at;

	if (!preferred && node_run_on(node))
		return -1;
	at = map_bytes();
	if (preferred && node_bind_range(at, BYTES, NODE_PREFERRED, &one)) {
		munmap(at, BYTES);
		return -1;
	}
	*at = 1;
	if (node_of_pages(at, 1, where))
		mmg_broken("asking where a page is failed");
	munmap(at, BYTES);
	return where[0];
}

static bool binding_refused(int node)
{
	struct node_set one = node_set_of(node);
	char *at = map_bytes();
	int ret = node_bind_range(at, BYTES, NODE_BIND, &one);

	munmap(at, BYTES);
	return ret == -EINVAL;
}

struct dimm {
	int nr, node;
	const char *state;	/* how its memory is brought online */
};

/* A block that was not there before, once it has a node; -1 while there is none */
static int new_block(const struct mem_block *before, int nr)
{
	struct mem_block *now;
	int n = mem_blocks(&now), i, k, found = -1;

	for (i = 0; i < n && found < 0; i++) {
		for (k = 0; k < nr; k++)
			if (before[k].id == now[i].id)
				break;
		if (k == nr && now[i].node >= 0)
			found = now[i].id;
	}
	free(now);
	return found;
}

static int wait_block(const struct mem_block *before, int nr, bool there)
{
	int i, id = -1;

	for (i = 0; i < 400; i++) {
		id = new_block(before, nr);
		if (there ? id >= 0 : id < 0)
			break;
		usleep(25000);
	}
	return id;
}

static void plug_dimm(const struct mmg_case *c)
{
	const struct dimm *d = c->arg;
	struct node_set memory, online;
	struct mem_block *before, block;
	char reply[200], step[120], what[64];
	unsigned long start;
	bool had_memory, had_node;
	int nr, id, ret, from;

	begin();
	mmg_save_setting(AUTO_ONLINE);
	if (mmg_try_write(AUTO_ONLINE, "offline"))
		mmg_skip("%s cannot be written", AUTO_ONLINE);
	start = managed_in_all();
	node_state("has_memory", &memory);
	node_state("online", &online);
	had_memory = node_set_has(&memory, d->node);
	had_node = node_set_has(&online, d->node);
	nr = mem_blocks(&before);
	snprintf(what, sizeof(what), "plug dimm%d node=%d", d->nr, d->node);
	mmg_doing("asking for: %s", what);
	if (mmg_request(what, reply, sizeof(reply)))
		mmg_skip("\"%s\" was refused: %s; use machine dimm", what, reply);
	id = wait_block(before, nr, true);
	if (id < 0)
		mmg_fail("no memory block appeared within 10 s of \"%s\"", what);
	mem_block_read(id, &block);
	if (block.node != d->node)
		mmg_fail("memory%d appeared on node %d, was plugged into node %d", id, block.node,
			 d->node);
	snprintf(step, sizeof(step), "dimm%d was plugged into node %d", d->nr, d->node);
	look_at(step, false);
	set_block(id, d->state);
	mem_block_read(id, &block);
	snprintf(step, sizeof(step), "memory%d of node %d went %s into %s", id, d->node, d->state,
		 block.zone);
	mmg_info("%s", step);
	look(step);
	node_state("has_memory", &memory);
	if (!node_set_has(&memory, d->node))
		mmg_fail("after %s node %d is not in has_memory", step, d->node);
	if (managed_in_all() <= start)
		mmg_fail("after %s %lu pages are managed, %lu before", step, managed_in_all(),
			 start);
	from = page_from(d->node, true);
	if (from != d->node)
		mmg_fail("after %s node %d is preferred, node %d gave", step, d->node, from);
	from = page_from(d->node, false);
	if (from >= 0 && from != d->node)
		mmg_fail("after %s a CPU of node %d got memory of node %d", step, d->node, from);

	mmg_doing("taking memory%d offline", id);
	ret = mem_block_set(id, "offline");
	if (ret)
		mmg_pass("%s; it refused to leave: %s; %d looks by the formula", step,
			 strerror(-ret), looks);
	snprintf(step, sizeof(step), "memory%d of node %d went offline", id, d->node);
	look(step);
	node_state("has_memory", &memory);
	if (node_set_has(&memory, d->node) != had_memory)
		mmg_fail("after %s node %d is %s has_memory", step, d->node,
			 had_memory ? "not in" : "still in");
	if (!had_memory && !binding_refused(d->node))
		mmg_fail("after %s a binding to node %d is not refused", step, d->node);
	snprintf(what, sizeof(what), "unplug dimm%d", d->nr);
	if (mmg_request(what, reply, sizeof(reply)))
		mmg_pass("%d looks by the formula; \"%s\" was refused: %s", looks, what, reply);
	if (wait_block(before, nr, false) >= 0)
		mmg_fail("memory%d is still there 10 s after \"%s\"", id, what);
	look(what);
	node_state("online", &online);
	if (node_set_has(&online, d->node) != had_node)
		mmg_fail("node %d is %s after \"%s\"", d->node, had_node ? "gone" : "still there",
			 what);
	if (managed_in_all() != start)
		mmg_fail("%lu pages are managed after \"%s\", %lu at the start", managed_in_all(),
			 what, start);
	mmg_pass("node %d got a DIMM (%s) and lost it, %d looks by the formula", d->node, d->state,
		 looks);
}

static const struct dimm larger = { 0, 0, "online_movable" };
static const struct dimm first_memory = { 1, 1, "online_movable" };
static const struct dimm new_node = { 2, 2, "online_movable" };
/* last: it may stay, when the kernel has put something of its own there */
static const struct dimm kernel_memory = { 3, 0, "online_kernel" };

static const struct mmg_case cases[] = {
	{ .name = "one-by-one", .fn = one_by_one, .destructive = true },
	{ .name = "empty-movable", .fn = empty_movable, .destructive = true },
	{ .name = "as-kernel", .fn = as_kernel, .destructive = true },
	{ .name = "dimm-larger-node", .fn = plug_dimm, .arg = &larger, .destructive = true },
	{ .name = "dimm-first-memory", .fn = plug_dimm, .arg = &first_memory, .destructive = true },
	{ .name = "dimm-new-node", .fn = plug_dimm, .arg = &new_node, .destructive = true },
	{ .name = "dimm-kernel", .fn = plug_dimm, .arg = &kernel_memory, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/hotplug_zone",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
