// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a guest's working set survive a memory.reclaim of the rest?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: 94968384dde1 memcg: introduce per-memcg reclaim interface
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * All of the guest's memory is cold, then half of it is touched and aged twice.
 * memory.reclaim takes the cold half less 1 MiB.  The vCPU then runs its hot set again: no
 * major fault and no swap-in may happen.  Touching the cold half must cost as many swap-ins
 * as pages are gone, which shows that the counter counts.
 *
 * The host case is the same without a VM, and the control of the guest's.
 *
 * How it could mislead: KVM's asynchronous page faults happen in a kernel worker, so that
 * major faults may be fewer than swap-ins (both are judged for the hot set).
 */
#include "reclaim_request.h"

#include <stdlib.h>

#include "vmstat.h"

#define MIB		0x100000UL

static u64 swap_ins(void)
{
	static struct vmstat v;

	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	return vmstat_get(&v, "pswpin") + (vmstat_has(&v, "swpin_zero") ?
					    vmstat_get(&v, "swpin_zero") : 0);
}

static size_t count_absent(struct region *r, const u8 *label, u8 which)
{
	size_t i, n = 0;

	region_read(r);
	for (i = 0; i < r->units; i++)
		n += label[i] == which && !r->present[i];
	return n;
}

/* Major faults and swap-ins that touching @list costs */
static void cost_of_touch(struct scenario *s, const u32 *list, size_t n, u64 *faults, u64 *ins)
{
	u64 f = memcg_key(&s->group.cg, "memory.stat", "pgmajfault");
	u64 i = swap_ins();

	scenario_touch(s, list, n, false);
	*faults = memcg_key(&s->group.cg, "memory.stat", "pgmajfault") - f;
	*ins = swap_ins() - i;
}

static void hot_case(const struct mmg_case *c)
{
	const struct cold_params *p = c->arg;
	static struct scenario s;
	struct taken t;
	size_t n_hot, n_cold, hot_gone, cold_gone;
	u64 faults, ins, cold_faults, cold_ins;
	u32 *hot, *cold;
	u8 *label;
	int round;

	set_up_cold(&s, p, cold_bytes(p));
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	hot = list_where(label, s.r.units, 0, &n_hot);
	cold = list_where(label, s.r.units, 1, &n_cold);
	for (round = 0; round < 2; round++) {
		scenario_touch(&s, hot, n_hot, false);
		reclaim_age(&s);
	}
	mmg_doing("reclaiming the cold part less 1 MiB");
	take(&s, n_cold * s.r.unit - MIB / reclaim_page(), NULL, &t);
	hot_gone = count_absent(&s.r, label, 0);
	cold_gone = count_absent(&s.r, label, 1);
	mmg_metric("hot_evicted", hot_gone);
	mmg_metric("cold_evicted", cold_gone);
	mmg_metric("reclaim_s", t.s);
	mmg_doing("touching the hot set, then the cold one");
	cost_of_touch(&s, hot, n_hot, &faults, &ins);
	cost_of_touch(&s, cold, n_cold, &cold_faults, &cold_ins);
	mmg_metric("hot_major_faults", faults);
	mmg_metric("hot_swap_ins", ins);
	mmg_metric("cold_major_faults", cold_faults);
	mmg_info("hot set: %zu of %zu gone, %llu major faults, %llu swap-ins; cold set: %zu gone, %llu, %llu",
		 hot_gone, n_hot, (unsigned long long)faults, (unsigned long long)ins, cold_gone,
		 (unsigned long long)cold_faults, (unsigned long long)cold_ins);
	judge_errno(&t);
	if (hot_gone || faults || ins)
		mmg_fail("hot set of %zu lost %zu: %llu major faults, %llu swap-ins; cold lost %zu",
			 n_hot, hot_gone, (unsigned long long)faults, (unsigned long long)ins,
			 cold_gone);
	/*
	 * Arms the counter: the cold set must cost what it lost.  Major faults may be
	 * fewer, KVM's asynchronous page faults happen in a kernel worker.
	 */
	if (cold_ins < cold_gone)
		mmg_broken("touching %zu evicted units counted %llu swap-ins", cold_gone,
			   (unsigned long long)cold_ins);
	mmg_pass("the %s re-ran its hot set: 0 major faults, 0 swap-ins; cold lost %zu of %zu",
		 p->host ? "host" : "vCPU", cold_gone, n_cold);
}

static const struct cold_params guest_4k = { .backing = BACK_ANON };
static const struct cold_params guest_thp = { .backing = BACK_THP };
static const struct cold_params host_4k = { .backing = BACK_ANON, .host = true };

#define SLOW(name_, ...) { .name = name_, .timeout_s = RECLAIM_TIMEOUT_S, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("hot-kept-4k", .fn = hot_case, .arg = &guest_4k),
	SLOW("hot-kept-thp", .fn = hot_case, .arg = &guest_thp),
	SLOW("host-hot-kept-4k", .fn = hot_case, .arg = &host_4k),
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_hot_set",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
