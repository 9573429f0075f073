// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a VM beside a plain process lose memory by age, not by kind?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-machines: default npt-off tdp-mmu-off
 * mmgate-quick: default
 * mmgate-quick-cases: idle-4k
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * A VM and a plain process of the same size in one group, faulted in alternately,
 * 64 pages at a time, touched and aged twice, then left alone.  memory.reclaim takes
 * half of it in eighths of a side; after each, how many pages has each side lost?
 *
 *			step 1		2		3		4	(of 4096 each)
 *	6.12, 7.2	 512/512	1024/1024	1536/1536	2048/2048
 *	6.1		1024/0		2048/0		3072/0		4096/0	process/VM
 *
 * The other cases keep one side hot: the cold side must then go first, whichever it
 * is, so the even split above is no accident of the set-up.
 *
 * How it could mislead: faulted in one after the other, fault order decides; up to
 * 6.12 KVM's mapping leaves a reference on guest pages whose tier protects them once
 * (both are touched again before they are aged); from 6.14 on guest pages are
 * promoted at the first observation and process pages at the second (two rounds).  Where only
 * eviction asks there are no rounds, so nothing even is promised: skipped.
 */
#include "scenario.h"
#include "worker.h"

#include <stdlib.h>

#define CHUNK	64
#define STEPS	4

enum { CMD_MAP, CMD_TOUCH, CMD_ABSENT };

/* Which side is kept hot */
enum hot { HOT_NONE, HOT_PROCESS, HOT_VM };

struct params {
	enum backing backing;
	enum hot hot;
};

struct plain {
	struct region r;
	u32 *all;
	enum backing backing;
};

/* The plain process: a region of its own, touched through its own page tables */
static u64 plain_fn(void *state, int cmd, u64 arg)
{
	struct plain *p = state;

	switch (cmd) {
	case CMD_MAP:
		region_create(&p->r, p->backing, arg, 0);
		p->all = list_all(p->r.units, 0);
		break;
	case CMD_TOUCH:
		region_touch(&p->r, p->all + (arg >> 32), (u32)arg, true);
		break;
	case CMD_ABSENT:
		return p->r.units - region_read(&p->r);
	}
	return 0;
}

struct pair {
	struct scenario vm;
	struct worker proc;
	size_t units;
};

static size_t side_bytes(const struct params *p)
{
	return p->backing == BACK_THP ? 16 * HUGE_SIZE : mmg_opts.mem_bytes / 2;
}

static void touch_process(struct pair *pair, size_t from, size_t n)
{
	worker_call(&pair->proc, CMD_TOUCH, (u64)from << 32 | n);
}

/* Both sides in turns, so that neither is older than the other */
static void touch_alternately(struct pair *pair, bool process, bool vm)
{
	size_t step = pair->vm.r.unit > 1 ? 1 : CHUNK, i, n;

	for (i = 0; i < pair->units; i += step) {
		n = pair->units - i < step ? pair->units - i : step;
		if (vm)
			scenario_touch(&pair->vm, pair->vm.all + i, n, true);
		if (process)
			touch_process(pair, i, n);
	}
}

static void set_up(struct pair *pair, const struct params *p)
{
	struct scenario_opts o = { .name = "pair", .backing = p->backing, .bytes = side_bytes(p) };
	static struct plain plain;
	u64 listed;

	guest_require();
	mglru_require(side_bytes(p) * 2);
	plain.backing = p->backing;
	/* forked before there is a VM: its mm must have no MMU notifier */
	worker_start(&pair->proc, plain_fn, &plain);
	scenario_create(&pair->vm, &o);
	memcg_enter(&pair->vm.group.cg, pair->proc.pid);
	worker_call(&pair->proc, CMD_MAP, o.bytes);
	pair->units = pair->vm.r.units;
	mmg_doing("faulting both sides in by turns");
	touch_alternately(pair, true, true);
	memcg_drain_lru();
	region_check_resident(&pair->vm.r);
	if (worker_call(&pair->proc, CMD_ABSENT, 0))
		mmg_broken("precondition: pages of the process are missing");
	group_read(&pair->vm.group, false);
	listed = group_total(&pair->vm.group, LRU_GEN_ANON);
	if (listed < 2 * pair->vm.r.pages)
		mmg_broken("precondition: %llu pages are on the group's lists, both sides have %zu",
			   (unsigned long long)listed, 2 * pair->vm.r.pages);
}

/* Two rounds of touching and aging; then one more for the side that is kept hot */
static void age_both(struct pair *pair, enum hot hot)
{
	int round;

	for (round = 0; round < 2; round++) {
		touch_alternately(pair, true, true);
		group_age(&pair->vm.group, true);
	}
	for (round = 0; round < 2 && hot != HOT_NONE; round++) {
		touch_alternately(pair, hot == HOT_PROCESS, hot == HOT_VM);
		group_age(&pair->vm.group, true);
	}
	group_read(&pair->vm.group, false);
	group_log(&pair->vm.group, 0);
}

static void report_cost(const struct pair *pair, u64 scan, u64 steal)
{
	scan = memcg_key(&pair->vm.group.cg, "memory.stat", "pgscan") - scan;
	steal = memcg_key(&pair->vm.group.cg, "memory.stat", "pgsteal") - steal;
	mmg_metric("scanned", scan);
	mmg_metric("scanned_per_reclaimed", steal ? (double)scan / steal : 0);
}

static void fairness_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct pair pair;
	size_t gone_vm = 0, gone_proc = 0, per_step, slack, apart, worst = 0;
	u64 scan, steal;
	int step;
	FILE *f;

	set_up(&pair, p);
	mmg_doing("aging both sides");
	age_both(&pair, p->hot);
	scan = memcg_key(&pair.vm.group.cg, "memory.stat", "pgscan");
	steal = memcg_key(&pair.vm.group.cg, "memory.stat", "pgsteal");
	per_step = pair.units / 8 * pair.vm.r.unit * pair.vm.r.page_size;
	if (p->hot == HOT_NONE)
		per_step *= 2;
	f = mmg_artifact("shares.tsv");
	if (f)
		fprintf(f, "step\tprocess\tvm\n");
	mmg_doing("reclaiming");
	for (step = 1; step <= STEPS; step++) {
		memcg_reclaim(&pair.vm.group.cg, per_step, NULL);
		gone_proc = worker_call(&pair.proc, CMD_ABSENT, 0);
		gone_vm = pair.units - region_read(&pair.vm.r);
		mmg_info("step %d: process %zu, VM %zu gone", step, gone_proc, gone_vm);
		if (f)
			fprintf(f, "%d\t%zu\t%zu\n", step, gone_proc, gone_vm);
		apart = gone_vm > gone_proc ? gone_vm - gone_proc : gone_proc - gone_vm;
		slack = (gone_vm + gone_proc) / 10 + (pair.vm.r.unit > 1 ? 1 : CHUNK);
		if (apart > slack && apart - slack > worst)
			worst = apart - slack;
	}
	if (f)
		fclose(f);
	report_cost(&pair, scan, steal);
	mmg_metric("process_evicted", gone_proc);
	mmg_metric("vm_evicted", gone_vm);
	if ((gone_vm + gone_proc) * pair.vm.r.unit * pair.vm.r.page_size * 2 < per_step * STEPS)
		mmg_fail("reclaim took %zu of %zu units that were asked for", gone_vm + gone_proc,
			 per_step * STEPS / (pair.vm.r.unit * pair.vm.r.page_size));
	if (p->hot == HOT_NONE) {
		if (worst)
			mmg_fail("unfair: process %zu, VM %zu of %zu each evicted, both idle",
				 gone_proc, gone_vm, pair.units);
		mmg_pass("fair: process %zu, VM %zu of %zu each evicted, both idle",
			 gone_proc, gone_vm, pair.units);
	}
	if ((p->hot == HOT_VM ? gone_vm : gone_proc) * 20 > gone_vm + gone_proc)
		mmg_fail("hot %s lost memory: process %zu, VM %zu of %zu evicted",
			 p->hot == HOT_VM ? "VM" : "process", gone_proc, gone_vm, pair.units);
	mmg_pass("hot %s kept its memory: process %zu, VM %zu of %zu evicted",
		 p->hot == HOT_VM ? "VM" : "process", gone_proc, gone_vm, pair.units);
}

#define CASE(name_, ...) { .name = name_, .fn = fairness_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("idle-4k", .backing = BACK_ANON, .hot = HOT_NONE),
	CASE("idle-thp", .backing = BACK_THP, .hot = HOT_NONE),
	CASE("hot-process", .backing = BACK_ANON, .hot = HOT_PROCESS),
	CASE("hot-vm", .backing = BACK_ANON, .hot = HOT_VM),
};

static const struct mmg_test test = {
	.name = "kvm/fairness",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
