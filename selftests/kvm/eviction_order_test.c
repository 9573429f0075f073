// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is memory evicted in the order in which it was last touched?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off numa-balancing thp-always disk-swap
 * mmgate-quick: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * All pages are faulted in, then aged once so that none is young.  Half of them,
 * by a seeded random label that is balanced along the fault order, are touched
 * again before each of two more agings.  Then memory.reclaim takes as much as
 * the cold half, in 16 steps; after each the residency of the whole region is
 * read.  AUC is the chance that a cold page left before a hot one.
 *
 *	guest, series present	AUC 1.00	hot 0, cold 4096 evicted
 *	guest, series absent	AUC 0.50	the walk does not see the vCPU's touches
 *	host, any kernel	AUC 1.00
 *	walk off (0x2)		AUC 0.50	the control, in each guest case
 *
 * How it could mislead: a touch whose translation is still in the TLB sets no
 * accessed bit (both kinds of touch flush first); pages in per-CPU batches are on
 * no list (drained, and the number on the lists is checked); fault order alone can
 * give 0 or 1 (the labels are balanced along it).
 */
#include "vm.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "orderstat.h"

#define STEPS		16
#define ROUNDS		2
#define AUC_GOOD	0.99
#define BLIND_LOW	0.4
#define BLIND_HIGH	0.6

struct params {
	enum backing backing;
	bool host;
};

/* One run of the experiment */
struct run {
	const struct params *p;
	bool walk;
	struct stage s;
	u8 *age;
	u16 *rank;
	unsigned int steps;
	double auc;
	size_t hot, cold, hot_evicted, cold_evicted;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void phase(const char *what)
{
	static double last;
	double now = seconds();

	if (mmg_opts.verbose && last > 0)
		mmg_info("%.3f s before %s", now - last, what);
	last = now;
	mmg_doing("%s", what);
}

static size_t region_bytes(const struct params *p)
{
	/* enough huge pages for an order to show */
	if (p->backing == BACK_THP && mmg_opts.mem_bytes < 32 * HUGE_SIZE)
		return 32 * HUGE_SIZE;
	return mmg_opts.mem_bytes;
}

static void set_up(struct run *run)
{
	struct stage_opts o = {
		.name = run->walk ? "order" : "control",
		.backing = run->p->backing,
		.host = run->p->host,
		.bytes = region_bytes(run->p),
	};
	size_t n;

	/* the control needs fewer pages: blind is blind */
	if (!run->walk && run->p->backing != BACK_THP)
		o.bytes /= 4;
	phase("setting up");
	stage_create(&run->s, &o);
	n = run->s.r.units;
	run->age = calloc(n, sizeof(*run->age));
	run->rank = calloc(n, sizeof(*run->rank));
	label_stratified(run->age, run->s.all, n, 2, mmg_opts.seed + run->walk);
	phase("faulting the region in");
	stage_populate(&run->s);
}

static void show_gens(struct run *run, const char *when)
{
	const struct lab *lab = &run->s.lab;

	lab_read(&run->s.lab, mmg_opts.verbose);
	if (mmg_opts.verbose)
		mmg_info("%s: anon -3..0: %llu %llu %llu %llu, walk: %lld leaves, %lld young", when,
			 (unsigned long long)lab_pages(lab, 3, LRU_GEN_ANON),
			 (unsigned long long)lab_pages(lab, 2, LRU_GEN_ANON),
			 (unsigned long long)lab_pages(lab, 1, LRU_GEN_ANON),
			 (unsigned long long)lab_pages(lab, 0, LRU_GEN_ANON),
			 lab_counter(lab, WALK_TOTAL), lab_counter(lab, WALK_YOUNG));
}

static void age_rounds(struct run *run)
{
	size_t n;
	u32 *hot = list_where(run->age, run->s.r.units, 0, &n);
	int round;

	phase("aging");
	lab_age(&run->s.lab, true);
	show_gens(run, "after the first aging");
	for (round = 0; round < ROUNDS; round++) {
		stage_touch(&run->s, hot, n, false);
		lab_age(&run->s.lab, true);
		show_gens(run, "after touching the hot half and aging");
		lab_log(&run->s.lab, round);
	}
	free(hot);
}

/* Units that are absent now and were not before left in this step */
static size_t take_ranks(struct run *run, unsigned int step)
{
	struct region *r = &run->s.r;
	size_t i, left;

	left = r->units - region_read(r);
	for (i = 0; i < r->units; i++) {
		if (!r->present[i] && !run->rank[i])
			run->rank[i] = step;
	}
	return left;
}

static void reclaim_in_steps(struct run *run)
{
	struct region *r = &run->s.r;
	size_t cold = 0, left = 0, i, target;
	unsigned int step;
	u64 bytes;

	for (i = 0; i < r->units; i++)
		cold += run->age[i] != 0;
	run->steps = cold < STEPS ? cold : STEPS;
	phase("reclaiming");
	for (step = 1; step <= run->steps; step++) {
		target = cold * step / run->steps;
		if (left < target) {
			bytes = (target - left) * r->unit * r->page_size;
			memcg_reclaim(&run->s.lab.cg, bytes, NULL);
		}
		left = take_ranks(run, step);
	}
	for (i = 0; i < r->units; i++) {
		if (!run->rank[i])
			run->rank[i] = run->steps + 1;
	}
}

static void write_order(const struct run *run)
{
	FILE *f = mmg_artifact(run->walk ? "order.tsv" : "control.order.tsv");
	size_t i;

	if (!f)
		return;
	fprintf(f, "page\tage\tstep\tnsteps\n");
	for (i = 0; i < run->s.r.units; i++)
		fprintf(f, "%zu\t%u\t%u\t%u\n", i, run->age[i], run->rank[i], run->steps);
	fclose(f);
}

static void measure(struct run *run)
{
	struct order o = { .n = run->s.r.units, .age = run->age, .rank = run->rank,
			   .nr_ranks = run->steps + 1 };

	run->auc = order_auc(&o);
	run->hot = order_count(&o, 0);
	run->cold = o.n - run->hot;
	run->hot_evicted = order_evicted(&o, 0);
	run->cold_evicted = 0;
	for (unsigned int age = 1; age < ORDER_MAX_AGES; age++)
		run->cold_evicted += order_evicted(&o, age);
	write_order(run);
}

static void experiment(struct run *run, const struct params *p, bool walk)
{
	memset(run, 0, sizeof(*run));
	run->p = p;
	run->walk = walk;
	set_up(run);
	/* after the fault-in: switching while the group is busy trips kernels up to 6.12 */
	lab_set_walk(walk);
	age_rounds(run);
	reclaim_in_steps(run);
	measure(run);
	phase("tearing down");
	stage_destroy(&run->s);
	free(run->age);
	free(run->rank);
	lab_set_walk(true);
	phase("next");
}

static bool blind(double auc)
{
	return auc >= BLIND_LOW && auc <= BLIND_HIGH;
}

/*
 * Walk off: nothing tells hot from cold, so anything but blind means that the
 * experiment measures something else than what the walk saw.
 */
static double run_control(const struct params *p)
{
	static struct run run;

	experiment(&run, p, false);
	mmg_metric("control_auc", run.auc);
	if (!blind(run.auc))
		mmg_broken("control: AUC %.3f with the walk off, hot %zu, cold %zu gone: not blind",
			   run.auc, run.hot_evicted, run.cold_evicted);
	return run.auc;
}

static void report(const struct run *run)
{
	mmg_metric("auc", run->auc);
	mmg_metric("hot", run->hot);
	mmg_metric("cold", run->cold);
	mmg_metric("hot_evicted", run->hot_evicted);
	mmg_metric("cold_evicted", run->cold_evicted);
}

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "host" : "guest";
	static struct run run;
	double control = NAN;
	char text[200];

	if (!p->host)
		guest_require();
	lab_require(region_bytes(p));
	experiment(&run, p, true);
	report(&run);
	if (!p->host)
		control = run_control(p);
	snprintf(text, sizeof(text), "AUC %.3f, hot %zu and cold %zu of %zu each evicted", run.auc,
		 run.hot_evicted, run.cold_evicted, run.cold);
	if (!p->host)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", AUC %.3f with the walk off", control);
	if ((run.hot_evicted + run.cold_evicted) * 2 < run.cold)
		mmg_fail("memory.reclaim of the cold half evicted hot %zu and cold %zu of %zu each",
			 run.hot_evicted, run.cold_evicted, run.cold);
	if (!(run.auc >= AUC_GOOD))
		mmg_fail("%s to the %s: %s", blind(run.auc) ? "blind" : "misordered", who, text);
	mmg_pass("%s's order kept: %s", who, text);
}

static const struct params guest_4k = { .backing = BACK_ANON };
static const struct params guest_thp = { .backing = BACK_THP };
static const struct params guest_shmem = { .backing = BACK_SHMEM };
static const struct params host_4k = { .backing = BACK_ANON, .host = true };
static const struct params host_thp = { .backing = BACK_THP, .host = true };
static const struct params host_shmem = { .backing = BACK_SHMEM, .host = true };

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = order_case, .arg = &guest_4k },
	{ .name = "anon-thp", .fn = order_case, .arg = &guest_thp },
	{ .name = "shmem", .fn = order_case, .arg = &guest_shmem },
	{ .name = "host-anon-4k", .fn = order_case, .arg = &host_4k },
	{ .name = "host-anon-thp", .fn = order_case, .arg = &host_thp },
	{ .name = "host-shmem", .fn = order_case, .arg = &host_shmem },
};

static const struct mmg_test test = {
	.name = "kvm/eviction_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = lab_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
