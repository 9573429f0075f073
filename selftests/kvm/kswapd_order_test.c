// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does kswapd, too, evict a guest's memory in the order in which it was touched?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off numa-balancing thp-always disk-swap
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * The experiment of eviction_order_test.c, but nobody asks the group for memory: a helper
 * outside of it takes what is free, a little at a time, until kswapd has evicted as many
 * units as are cold.  The negative control is the same with the walk off.
 *
 * The same-step correction.  The experiment looks at the residency after each turn of
 * kswapd, and a turn is as large as kswapd wants: about the distance of the watermarks,
 * more where it lost its CPU.  Of a hot and a cold page that left in the same turn nobody
 * can tell which was first, and AUC counts such a pair as half a disorder.  One turn that
 * reaches across the border from the cold to the hot half would so make a kernel look
 * disordered that is not.  Let s be the share of such pairs.  The pairs that were resolved
 * are 1 - s of all, and AUC - s/2 of all are resolved and in order, so the order among the
 * resolved ones is
 *
 *	(AUC - s/2) / (1 - s)
 *
 * which is judged against the usual bound.  It cannot hide disorder: where s exceeds
 * SAME_STEP_MAX and the order would still pass by it, the case is broken, and a kernel that
 * is blind mixes the halves in every turn, so that its resolved pairs are at 0.5 as well.
 *
 * Once as many units left as are cold, kswapd gets a few turns more while cold pages are
 * left: another reclaimer that lost its CPU may have had them in its hands.  Hot pages that
 * leave in those turns are no disorder, since kswapd was asked for more than is cold: they
 * count as present.  (One batch that swap refused, 68 cold pages, and 1560 hot ones in the turns
 * after it would make 0.987.)  A blind walk stays below 0.6 by that.
 *
 * How it could mislead: a process that finds no memory reclaims itself, in an order that
 * is not kswapd's (counted, and broken from a quarter on); other groups' memory may be what
 * kswapd takes (broken where it evicted less than half of the cold units here).
 */
#include "order_run.h"

#include <stdlib.h>

#include "pressure.h"
#include "residency.h"
#include "vmstat.h"

#define MAX_LOOKS	1000	/* at what kswapd left */
#define MORE_TURNS	3	/* of kswapd, where cold pages are left */
#define SAME_STEP_MAX	0.05	/* twice a turn of a tenth of the region: 2 * 0.1 * 0.1 / 0.5 */

/* Pages of the group that were reclaimed */
struct reclaimed {
	u64 kswapd;
	u64 others;
};

/* Of the group, or of all memory where memory.stat does not say */
static u64 reclaimed_by(const struct order_run *run, const char *key)
{
	long long n = memcg_key_maybe(&run->s.group.cg, "memory.stat", key);

	return n >= 0 ? (u64)n : vmstat_now(key);
}

static struct reclaimed reclaimed_now(const struct order_run *run)
{
	return (struct reclaimed){
		.kswapd = reclaimed_by(run, "pgsteal_kswapd"),
		.others = reclaimed_by(run, "pgsteal_direct"),
	};
}

/* Each look is a step of its own, so that the last one, beyond @target, is small */
static void press(struct order_run *run, struct pressure *pressure, size_t target)
{
	size_t left = 0, now, i;
	unsigned int step = 0, more = 0, end = 0;

	while (step < MAX_LOOKS && pressure_step(pressure)) {
		now = order_run_look(run, ++step);
		more += left >= target && now > left;
		left = now;
		if (left >= target && !end)
			end = step;
		if (left >= target && (!order_run_cold_left(run) || more >= MORE_TURNS))
			break;
	}
	/* the hot pages of those last turns were there when the experiment was over */
	for (i = 0; end && i < run->s.r.units; i++)
		if (!run->age[i] && run->rank[i] > end)
			run->rank[i] = 0;
}

static void experiment(struct order_run *run, struct pressure *pressure, bool walk,
		       struct reclaimed *took)
{
	struct scenario_opts o = { .backing = BACK_ANON };
	struct reclaimed before, after;

	order_run_create(run, &o, 2, walk);
	scenario_populate(&run->s);
	order_run_age(run);
	before = reclaimed_now(run);
	mmg_doing("taking memory until kswapd reclaims");
	pressure_fill(pressure, 2 * run->s.r.pages);
	press(run, pressure, order_run_cold_left(run));
	after = reclaimed_now(run);
	pressure_release(pressure);
	took->kswapd = after.kswapd - before.kswapd;
	took->others = after.others - before.others;
	order_run_measure(run);
	order_run_destroy(run);
}

/* The order is kswapd's only if it was kswapd that reclaimed, and enough of it */
static void require_kswapd(const struct order_run *run, const struct reclaimed *took,
			   const struct pressure *pressure)
{
	mmg_metric("kswapd_reclaimed", took->kswapd);
	mmg_metric("direct_reclaimed", took->others);
	mmg_metric("same_step", run->same_step);
	/* a walk that was blind is so whatever the order within the turns was */
	if (run->same_step > SAME_STEP_MAX && run->auc + run->same_step / 2 >= ORDER_AUC_GOOD)
		mmg_broken("%.3f of the pairs left in one turn of kswapd: in unseen order",
			   run->same_step);
	if ((run->hot_evicted + run->cold_evicted) * 2 < run->cold)
		mmg_broken("kswapd evicted hot %zu and cold %zu of %zu each, %zu pages were held",
			   run->hot_evicted, run->cold_evicted, run->cold, pressure->limit);
	/* a process that wants pages of a higher order at the low watermark reclaims itself */
	if (took->others * 4 > took->kswapd)
		mmg_broken("kswapd reclaimed %llu pages, others %llu: not kswapd's order",
			   (unsigned long long)took->kswapd, (unsigned long long)took->others);
}

static void order_case(const struct mmg_case *c)
{
	static struct order_run run, control;
	static struct pressure pressure;
	struct reclaimed took, unused;
	double resolved;

	(void)c;
	guest_require();
	mglru_require_any(mmg_opts.mem_bytes);
	pressure_start(&pressure, region_node());
	experiment(&run, &pressure, true, &took);
	order_run_report(&run);
	require_kswapd(&run, &took, &pressure);
	experiment(&control, &pressure, false, &unused);
	order_require_blind(&control, order_control());
	resolved = (run.auc - run.same_step / 2) / (1 - run.same_step);
	mmg_metric("auc_resolved", resolved);
	order_judge(&run, resolved, &control);
}

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = order_case, .destructive = true },
};

static const struct mmg_test test = {
	.name = "kvm/kswapd_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
