// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is memory evicted in the order in which it was last touched?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off la57 numa-balancing thp-always disk-swap
 * mmgate-machines: arm64-sw-af arm64-max arm64-nvhe arm64-fake2 riscv64-sv39 riscv64-sv48
 * mmgate-machines: ppc64el-powernv9 ppc64el-memoryless
 * mmgate-quick: default numa-fake2 arm64-sw-af
 * mmgate-quick-cases: anon-* shmem host-anon-* host-shmem
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * All pages are faulted in, then aged once so that none is young.  Half of them,
 * by a seeded random label that is balanced along the fault order, are touched
 * again before each of two more agings.  Then memory.reclaim takes as much as
 * the cold half, in 16 steps; after each the residency of the whole region is
 * read.  AUC is the chance that a cold page left before a hot one.
 *
 *	guest, series present	AUC 1.00	only cold pages are evicted
 *	guest, series absent	AUC 0.50	the walk does not see the vCPU's touches
 *	host, any kernel	AUC 1.00
 *	walk off (0x2)		AUC 0.50	the negative control of each guest case
 *
 * The control is the same case with lru_gen/enabled without 0x2, on at most a quarter of
 * the memory: nothing tells hot from cold then, and any other answer means that the
 * experiment measures something else than what the walk saw.  Host cases have none: they
 * are the positive control of the guest case of the same name.
 *
 * That is the promise "walk".  Where lru_gen/enabled has no 0x2, and takes none, because the
 * CPU sets no accessed bit in hardware (mm/vmscan.c, should_walk_mmu()), the kernel promises
 * "eviction only": ageing asks nobody, reclaim asks KVM page by page.  There a small reclaim
 * first clears what the faults left young, half are touched once, and the rest is as above:
 *
 *	guest or host		AUC 1.00	with or without the series
 *	nothing touched		AUC 0.50	the control, in each guest case
 *
 * Order under kswapd is kswapd_order_test.c, order within a generation that others were
 * folded into is folded_order_test.c.
 *
 * How it could mislead: a touch whose translation is still in the TLB sets no
 * accessed bit (both kinds of touch flush first); pages in per-CPU batches are on
 * no list (drained, and the number on the lists is checked); fault order alone can
 * give 0 or 1 (the labels are balanced along it).
 */
#include "order_run.h"

#include <stdlib.h>

#include "lru_gen.h"
#include "residency.h"

#define MIN_NR_GENS	2	/* mm/mmzone.h: the youngest generations that reclaim leaves alone */

/* Who asks for memory back */
enum how { BY_RECLAIM, BY_COMMAND, BY_HIGH };

/**
 * struct params - a case
 * @backing:	what the memory is made of
 * @host:	touched by the host instead of a vCPU
 * @ages:	how many ages of touch are told apart, 2 (hot and cold) where 0
 * @how:	who asks for memory back
 * @blocks:	labels in one block each rather than mixed
 * @fault_seed:	fault order shuffled by it; ~0 for backwards
 * @divide:	the default size by it, 1 where 0
 */
struct params {
	enum backing backing;
	bool host;
	unsigned int ages;
	enum how how;
	bool blocks;
	u64 fault_seed;
	unsigned int divide;
};

#define BACKWARDS	(~0ULL)
#define BLOCKS		8

static size_t region_bytes(const struct params *p, bool walk)
{
	size_t bytes = mmg_opts.mem_bytes / (p->divide ? p->divide : 1);

	/* enough huge pages for an order to show */
	if (p->backing == BACK_THP)
		return mmg_opts.mem_bytes < 32 * HUGE_SIZE ? 32 * HUGE_SIZE : mmg_opts.mem_bytes;
	return walk || bytes < mmg_opts.mem_bytes / 4 ? bytes : mmg_opts.mem_bytes / 4;
}

/* Which pages are hot: order_run_create() labels at random; here what a case wants otherwise */
static void set_labels(struct order_run *run, const struct params *p)
{
	size_t n = run->s.r.units, i;

	if (p->fault_seed == BACKWARDS) {
		for (i = 0; i < n; i++)
			run->s.all[i] = n - 1 - i;
		label_stratified(run->age, run->s.all, n, run->ages, mmg_opts.seed + run->walk);
	}
	for (i = 0; i < n && p->blocks; i++)
		run->age[i] = (i * BLOCKS / n + mmg_opts.seed) % run->ages;
}

/* The "-" command, for the oldest generations that it may take from */
static void by_command(struct order_run *run, u64 pages)
{
	struct group *group = &run->s.group;
	const struct lru_gen_node *node;
	int err;

	group_read(group, false);
	node = run->s.r.nid < 0 ? &group->info.node[0] :
				  lru_gen_node(&group->info, run->s.r.nid);
	if (!node)
		mmg_broken("lru_gen does not list node %d", run->s.r.nid);
	err = lru_gen_evict(group->id, node->nid, lru_gen_max_seq(node) - MIN_NR_GENS,
			    LRU_GEN_ANON_ONLY, pages);
	if (err)
		mmg_fail("evicting %llu pages by command: %s", (unsigned long long)pages,
			 strerror(-err));
}

/* The write reclaims until the group is below, or gives up (memory_high_write()) */
static void by_memory_high(struct order_run *run, u64 pages)
{
	const struct memcg *cg = &run->s.group.cg;
	u64 ahead = 64;		/* MEMCG_CHARGE_BATCH, charged ahead on a CPU */
	u64 now = memcg_read(cg, "memory.current");

	memcg_write(cg, "memory.high", "%llu",
		    (unsigned long long)(now - (pages + ahead) * run->s.r.page_size));
	memcg_write(cg, "memory.high", "max");
}

static void experiment(struct order_run *run, const struct params *p, bool walk)
{
	static void (*const ask[])(struct order_run *run, u64 pages) = {
		[BY_RECLAIM] = order_run_by_memory_reclaim,
		[BY_COMMAND] = by_command,
		[BY_HIGH] = by_memory_high,
	};
	struct scenario_opts o = {
		.backing = p->backing, .host = p->host, .bytes = region_bytes(p, walk),
		.fault_seed = p->fault_seed,
	};
	/*
	 * memory.high stops within a per-CPU stock of charges of where it was set; a step
	 * on a disk is credited with pages that the one before sent out
	 */
	unsigned int tries = p->how == BY_HIGH || swap_writes_later() ? 4 : 1;

	order_run_create(run, &o, p->ages ? p->ages : 2, walk);
	set_labels(run, p);
	scenario_populate(&run->s);
	order_run_age(run);
	/* the command takes from the oldest generations; without walks ageing just counts on */
	if (mglru_promise() == PROMISE_EVICTION && p->how == BY_COMMAND) {
		group_age(&run->s.group, true);
		group_age(&run->s.group, true);
	}
	order_run_reclaim(run, ask[p->how], tries);
	order_run_measure(run);
	order_run_destroy(run);
}

/*
 * A page that is still being written is not reclaimed yet, so reclaim goes on: with
 * few huge pages it has sent all of them before the first cold one is gone, the
 * host's memory and the guest's alike.
 */
static void require_prompt_swap(const struct params *p)
{
	if (p->backing == BACK_THP && swap_writes_later())
		mmg_skip("swap is on a disk: all huge pages are sent before one is gone; use zram");
}

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct order_run run, control;

	if (!p->host)
		guest_require();
	mglru_require_any(region_bytes(p, true));
	require_prompt_swap(p);
	experiment(&run, p, true);
	order_run_report(&run);
	/* order_judge() ends the case */
	if (p->host)
		order_judge(&run, run.auc, NULL);
	experiment(&control, p, false);
	order_require_blind(&control, order_control());
	order_judge(&run, run.auc, &control);
}

#define CASE(name_, ...) { .name = name_, .fn = order_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("anon-4k", .backing = BACK_ANON),
	CASE("anon-thp", .backing = BACK_THP),
	CASE("shmem", .backing = BACK_SHMEM),
	CASE("host-anon-4k", .backing = BACK_ANON, .host = true),
	CASE("host-anon-thp", .backing = BACK_THP, .host = true),
	CASE("host-shmem", .backing = BACK_SHMEM, .host = true),
	CASE("four-ages", .ages = 4, .divide = 2),
	CASE("host-four-ages", .ages = 4, .divide = 2, .host = true),
	CASE("blocks", .blocks = true, .fault_seed = 3, .divide = 4),
	CASE("random-faults", .fault_seed = 1, .divide = 4),
	CASE("backward-faults", .fault_seed = BACKWARDS, .divide = 4),
	CASE("by-command", .how = BY_COMMAND, .divide = 4),
	CASE("by-memory-high", .how = BY_HIGH, .divide = 4),
};

static const struct mmg_test test = {
	.name = "kvm/eviction_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
