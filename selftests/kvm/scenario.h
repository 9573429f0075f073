/* SPDX-License-Identifier: GPL-2.0-only */
/* The usual experiment: a cgroup, a region that is charged to it, and who touches it */
#ifndef MMGATE_SCENARIO_H
#define MMGATE_SCENARIO_H

#include "group.h"
#include "guest.h"
#include "mglru.h"
#include "region.h"
#include "runner.h"
#include "unit_list.h"

struct shape;

/**
 * struct scenario - a group, a region in it, and who touches it
 * @group:	the group
 * @guest:	the VM, unless @host
 * @r:		the region
 * @host:	touched through this process's own page tables
 * @all:	list of all units, in the order of their faults
 * @shape:	how its memory is made, NULL for one mapping and one memslot
 */
struct scenario {
	struct group group;
	struct guest guest;
	struct region r;
	bool host;
	u32 *all;
	const struct shape *shape;
};

/**
 * struct scenario_opts - how to set it up; zeroes are the usual choice
 * @name:	name of the group
 * @parent:	its parent, NULL for the root
 * @backing:	what the memory is made of
 * @host:	no VM
 * @bytes:	size of the region (default mmg_opts.mem_bytes)
 * @vcpus:	vCPUs (default 1)
 * @slots:	memslots (default 1)
 * @offset:	base pages from a 2M boundary to the region's start
 * @fault_seed:	shuffles the fault order where not 0
 * @code:	what the vCPUs run, NULL for the usual loop
 * @shape:	how the memory is made (see shape.h); it sets @backing, @bytes and @vcpus
 * @prepare:	called once the VM has its memory, before this process enters the group
 */
struct scenario_opts {
	const char *name;
	const struct memcg *parent;
	enum backing backing;
	bool host;
	size_t bytes;
	int vcpus;
	int slots;
	size_t offset;
	u64 fault_seed;
	void *code;
	const struct shape *shape;
	void (*prepare)(struct scenario *s);
};

/* VM, region and group, with this process in it; nothing is touched yet */
void scenario_create(struct scenario *s, const struct scenario_opts *o);
/* Touch units by whoever touches here */
void scenario_touch(struct scenario *s, const u32 *list, size_t n, bool write);
/* The pattern of @key (see guest_pattern()) by the same: write it, or count the words that differ */
void scenario_fill(struct scenario *s, const u32 *list, size_t n, u64 key);
u64 scenario_wrong(struct scenario *s, const u32 *list, size_t n, u64 key);
/*
 * Touch all units by a write, and check what every judgement builds on: all are in
 * memory, by pages of the size asked for, and on the lists of the group.
 */
void scenario_populate(struct scenario *s);
void scenario_destroy(struct scenario *s);
/**
 * struct scenario_order - who left first of the hot (label 0) and the cold (label 1)
 * @auc:	see order_auc()
 */
struct scenario_order {
	double auc;
	size_t hot, cold;
	size_t hot_gone, cold_gone;
};

/* memory.reclaim of as many units as are cold by @label, in 16 steps */
void scenario_reclaim(struct scenario *s, const u8 *label, struct scenario_order *r);

/* Type of the region's pages in lru_gen: LRU_GEN_FILE for files, else LRU_GEN_ANON */
int scenario_type(const struct scenario *s);

#endif /* MMGATE_SCENARIO_H */
