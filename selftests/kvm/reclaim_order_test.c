// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is the order of eviction the same, whoever has to reclaim?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: 018ee47f1489 mm: multi-gen LRU: exploit locality in rmap
 * mmgate-guards: 8ee53820edfd thp: mmu_notifier_test_young
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * kvm/eviction_order asks memory.reclaim, which always has a page-table walk at hand.
 * Here the one that reclaims is somebody else:
 *
 *	max-fault	a vCPU that faults new pages in at memory.max: direct reclaim
 *	max-write	who lowers memory.max
 *	high-fault	a vCPU that runs into memory.high, on its way back to the host
 *	parent		memory.reclaim of a group above
 *	look-*		walks are off; the bits were cleared before, and the hot half was
 *			touched after that: eviction's own look has to see it, and its
 *			neighbours (direct reclaim has no walk to note them in, and
 *			lru_gen_look_around() then activates them)
 *	classic-*	aging has cleared all bits, lru_gen is then turned off, and the hot
 *			half is touched; KVM is asked page by page
 *
 * Hot and cold halves are labelled at random, balanced along the fault order; the
 * measure is AUC, as in kvm/eviction_order, of the pairs that left in different steps, or
 * of which one is left.  The control of the first four is the same with walks off, of
 * look-* and classic-* the same without the touches: 0.4 to 0.6.
 *
 * How it could mislead: pages that are faulted in to push others out are young, and go
 * last; the charges of a CPU's stock let a step take up to 64 pages less than asked.
 */
#include "scenario.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "orderstat.h"

#define STEPS		8
#define BATCH		64
#define AUC_GOOD	0.99
#define OPEN_MAX	0.75	/* of the pairs may say nothing */
#define BLIND_LOW	0.4
#define BLIND_HIGH	0.6

enum how { BY_RECLAIM, BY_MAX_FAULT, BY_MAX_WRITE, BY_HIGH_FAULT, BY_PARENT };

/* What makes the hot half hot */
enum kind {
	KIND_AGED,	/* touched before two agings */
	KIND_LOOK,	/* touched after one aging, walks off */
	KIND_CLASSIC,	/* touched after a small reclaim, lru_gen off */
};

struct params {
	enum how how;
	enum kind kind;
	enum backing backing;
	bool host;
};

struct run {
	const struct params *p;
	bool armed;		/* else the control */
	struct memcg parent;
	struct scenario s;
	size_t base;		/* units that are labelled; what follows is faulted in later */
	size_t grown;
	u8 *label;
	u16 *rank;
	size_t hot, cold, hot_gone, cold_gone;
	u64 kept;
	double auc;
};

static u64 stat_of(const struct run *run, const char *key)
{
	return memcg_key(&run->s.group.cg, "memory.stat", key);
}

static u64 current_pages(const struct run *run)
{
	return memcg_read(&run->s.group.cg, "memory.current") / run->s.r.page_size;
}

static void limit(const struct run *run, const char *file, u64 pages)
{
	int err = memcg_write(&run->s.group.cg, file, "%llu",
			      (unsigned long long)pages * run->s.r.page_size);

	if (err)
		mmg_broken("writing %llu pages to %s/%s: %s", (unsigned long long)pages,
			   run->s.group.cg.dir, file, strerror(-err));
}

/* Let new pages be faulted in */
static void grow(struct run *run, size_t pages)
{
	size_t left = run->s.r.units - run->base - run->grown;

	if (pages > left)
		pages = left;
	scenario_touch(&run->s, run->s.all + run->base + run->grown, pages, true);
	run->grown += pages;
}

static void ask(struct run *run, size_t pages)
{
	u64 stock = BATCH;

	switch (run->p->how) {
	case BY_RECLAIM:
		memcg_reclaim(&run->s.group.cg, pages * run->s.r.page_size, NULL);
		break;
	case BY_PARENT:
		memcg_reclaim(&run->parent, pages * run->s.r.page_size, NULL);
		break;
	case BY_MAX_WRITE:
		limit(run, "memory.max", current_pages(run) - pages - stock);
		memcg_write(&run->s.group.cg, "memory.max", "max");
		break;
	case BY_MAX_FAULT:
	case BY_HIGH_FAULT:
		grow(run, pages);
		break;
	}
}

static void take_ranks(struct run *run, unsigned int step)
{
	size_t i;

	region_read(&run->s.r);
	for (i = 0; i < run->base; i++) {
		if (!run->s.r.present[i] && !run->rank[i])
			run->rank[i] = step;
	}
}

static void touch_hot(struct run *run)
{
	size_t n;
	u32 *list = list_where(run->label, run->base, 0, &n);

	scenario_touch(&run->s, list, n, false);
	free(list);
}

static void heat(struct run *run)
{
	struct group *group = &run->s.group;
	int round;

	switch (run->p->kind) {
	case KIND_AGED:
		mglru_set_walk(run->armed);
		group_age(group, true);
		for (round = 0; round < 2; round++) {
			touch_hot(run);
			group_age(group, true);
		}
		break;
	case KIND_LOOK:
		group_age(group, true);
		mglru_set_walk(false);
		if (run->armed)
			touch_hot(run);
		break;
	case KIND_CLASSIC:
		/* three agings: none is young, none on the active list that it is drained to */
		for (round = 0; round < 3; round++)
			group_age(group, true);
		mmg_write_setting(LRU_GEN_ENABLED, "0");
		if (run->armed)
			touch_hot(run);
		break;
	}
}

static void populate(struct run *run)
{
	struct scenario *s = &run->s;
	size_t there;

	mmg_doing("faulting %zu pages in", run->base);
	scenario_touch(s, s->all, run->base, true);
	there = region_read(&s->r);
	if (there != run->base)
		mmg_broken("precondition: %zu of %zu pages are in memory after all were touched",
			   there, run->base);
	memcg_drain_lru();
}

static void reclaim(struct run *run)
{
	size_t target, step;
	u64 scan, steal;

	scan = stat_of(run, "pgscan");
	steal = stat_of(run, "pgsteal");
	if (run->p->how == BY_MAX_FAULT)
		limit(run, "memory.max", current_pages(run));
	if (run->p->how == BY_HIGH_FAULT)
		limit(run, "memory.high", current_pages(run));
	for (step = 1; step <= STEPS; step++) {
		target = run->cold * 7 / 8 / STEPS;
		mmg_doing("asking for %zu pages, step %zu of %d", target, step, STEPS);
		ask(run, target);
		take_ranks(run, step + 1);
		if (step == 4 && stat_of(run, "pgsteal") == steal)
			mmg_fail("4 times %zu pages were asked for, and none was evicted", target);
	}
	memcg_write(&run->s.group.cg, "memory.max", "max");
	memcg_write(&run->s.group.cg, "memory.high", "max");
	scan = stat_of(run, "pgscan") - scan;
	steal = stat_of(run, "pgsteal") - steal;
	run->kept = scan > steal ? scan - steal : 0;
}

static void measure(struct run *run)
{
	struct order o = { .n = run->base, .age = run->label, .rank = run->rank,
			   .nr_ranks = STEPS + 2 };
	double open;
	size_t i;

	for (i = 0; i < run->base; i++) {
		if (!run->rank[i])
			run->rank[i] = STEPS + 2;
	}
	run->hot_gone = order_evicted(&o, 0);
	run->cold_gone = order_evicted(&o, 1);
	/* pairs of which both are left, or left in one step, say nothing about the order */
	open = (double)(run->hot - run->hot_gone) * (run->cold - run->cold_gone) /
	       ((double)run->hot * run->cold) + order_same_step(&o);
	run->auc = order_auc(&o);
	if (open < OPEN_MAX)
		run->auc = (run->auc - open / 2) / (1 - open);
}

static void experiment(struct run *run, const struct params *p, bool armed)
{
	struct scenario_opts o = {
		.name = armed ? "order" : "control", .backing = p->backing, .host = p->host,
		.bytes = mmg_opts.mem_bytes * 3 / 8,
	};
	u64 seed = mmg_opts.seed;

	memset(run, 0, sizeof(*run));
	run->p = p;
	run->armed = armed;
	if (p->how == BY_PARENT) {
		memcg_create(&run->parent, NULL, armed ? "above" : "above-control");
		o.parent = &run->parent;
	}
	scenario_create(&run->s, &o);
	run->base = run->s.r.units * 2 / 3;
	/* a batch is isolated before one of it is looked at: neighbours must not be in one batch */
	if (p->kind == KIND_LOOK)
		mmg_shuffle(run->s.all, run->base, &seed);
	run->label = calloc(run->base, sizeof(*run->label));
	run->rank = calloc(run->base, sizeof(*run->rank));
	label_stratified(run->label, run->s.all, run->base, 2, mmg_opts.seed + armed);
	list_where(run->label, run->base, 0, &run->hot);
	run->cold = run->base - run->hot;
	populate(run);
	heat(run);
	reclaim(run);
	measure(run);
	scenario_destroy(&run->s);
	if (p->how == BY_PARENT)
		rmdir(run->parent.dir);
	free(run->label);
	free(run->rank);
	if (p->kind == KIND_CLASSIC)
		mmg_write_setting(LRU_GEN_ENABLED, "7");
	else
		mglru_set_walk(true);
}

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "host" : "guest";
	static struct run run, control;
	size_t gone;

	if (!p->host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes);
	experiment(&run, p, true);
	gone = run.hot_gone + run.cold_gone;
	mmg_metric("auc", run.auc);
	mmg_metric("hot_evicted", run.hot_gone);
	mmg_metric("cold_evicted", run.cold_gone);
	mmg_metric("kept", run.kept);
	experiment(&control, p, false);
	mmg_metric("control_auc", control.auc);
	if (!(control.auc >= BLIND_LOW && control.auc <= BLIND_HIGH) &&
	    !(p->host && p->kind == KIND_AGED))
		mmg_broken("control: AUC %.3f, hot %zu and cold %zu of %zu each evicted",
			   control.auc, control.hot_gone, control.cold_gone, control.cold);
	if (gone * 2 < run.cold * 7 / 8)
		mmg_fail("asked for %zu pages: hot %zu and cold %zu of %zu each evicted",
			 run.cold * 7 / 8, run.hot_gone, run.cold_gone, run.cold);
	if (!(run.auc >= AUC_GOOD))
		mmg_fail("%s to the %s: AUC %.3f, hot %zu, cold %zu of %zu each gone, control %.3f",
			 run.auc < BLIND_HIGH ? "blind" : "misordered", who, run.auc,
			 run.hot_gone, run.cold_gone, run.cold, control.auc);
	if (p->kind == KIND_LOOK && run.kept * 4 > run.hot)
		mmg_fail("neighbours not seen: %llu young pages isolated one by one, %zu touched",
			 (unsigned long long)run.kept, run.hot);
	mmg_pass("%s's order: AUC %.3f, hot %zu, cold %zu of %zu gone, %llu kept, control %.3f",
		 who, run.auc, run.hot_gone, run.cold_gone, run.cold,
		 (unsigned long long)run.kept, control.auc);
}

#define CASE(name_, ...) { .name = name_, .fn = order_case, .timeout_s = 90, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("max-fault", .how = BY_MAX_FAULT),
	CASE("max-write", .how = BY_MAX_WRITE),
	CASE("high-fault", .how = BY_HIGH_FAULT),
	CASE("parent", .how = BY_PARENT),
	CASE("host-max-fault", .how = BY_MAX_FAULT, .host = true),
	CASE("look-max-fault", .how = BY_MAX_FAULT, .kind = KIND_LOOK),
	CASE("look-max-write", .how = BY_MAX_WRITE, .kind = KIND_LOOK),
	CASE("look-max-shmem", .how = BY_MAX_WRITE, .kind = KIND_LOOK, .backing = BACK_SHMEM),
	CASE("host-look-max-write", .how = BY_MAX_WRITE, .kind = KIND_LOOK, .host = true),
	CASE("classic", .how = BY_RECLAIM, .kind = KIND_CLASSIC),
	CASE("classic-shmem", .how = BY_RECLAIM, .kind = KIND_CLASSIC, .backing = BACK_SHMEM),
	CASE("classic-max-fault", .how = BY_MAX_FAULT, .kind = KIND_CLASSIC),
	CASE("host-classic", .how = BY_RECLAIM, .kind = KIND_CLASSIC, .host = true),
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
