// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: do pages of a generation that is folded into the next one stay its oldest?
 * mmgate-guards: ac35a4902374 mm: multi-gen LRU: minimal implementation
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * The cold half is faulted in first, the hot half two generations later.  Agings without
 * touches then run out of generations: inc_min_seq() (mm/vmscan.c) moves the pages of the
 * oldest generation to the old end of the next one, one by one from the tail to the tail,
 * so that they are still evicted before it.  Once both halves are in one generation,
 * memory.reclaim takes as much as the cold half, and AUC says who left first.
 *
 * The walk promotes nothing here (nothing is touched), so turning it off is no negative
 * control.  The control is the same experiment without its cause: both halves are faulted
 * in mixed, in one generation, and aged as often.  Nothing tells them apart then.
 *
 * From 6.14 on a page that a walk saw is sorted by tiers as well (sort_folio()), and the
 * order within a generation is no promise any more: skipped there, before a VM is built.
 *
 * How it could mislead: one aging too many moves the list a second time, and turns it
 * (agings end with the first one after which both halves are in one generation).
 */
#include "order_run.h"

#include <stdlib.h>

#include "kernel_release.h"

#define AGES_APART	2	/* generations between the halves */
#define MAX_AGINGS	8

/* Both halves, the cold one (age 1) first and @apart agings before the hot one */
static void populate(struct order_run *run, int apart)
{
	struct scenario *s = &run->s;
	unsigned int age;
	size_t n;
	u32 *list;
	int i;

	if (!apart) {
		scenario_populate(s);
		return;
	}
	for (age = 2; age-- > 0;) {
		list = list_where(run->age, s->r.units, age, &n);
		scenario_touch(s, list, n, true);
		memcg_drain_lru();
		free(list);
		for (i = 0; age && i < apart; i++)
			group_age(&s->group, true);
	}
	region_check_resident(&s->r);
}

static bool in_one_generation(struct scenario *s)
{
	unsigned int back;

	group_read(&s->group, false);
	for (back = 0; back < LRU_GEN_MAX_GENS; back++) {
		if (group_pages(&s->group, back, LRU_GEN_ANON) >= s->r.pages)
			return true;
	}
	return false;
}

static void experiment(struct order_run *run, bool host, int apart)
{
	struct scenario_opts o = {
		.name = apart ? "folded" : "mixed", .host = host, .bytes = mmg_opts.mem_bytes / 4,
	};
	int i;

	/* the walk is on in the control, too: see above */
	order_run_create(run, &o, 2, true);
	populate(run, apart);
	for (i = 0; i < MAX_AGINGS && (i < AGES_APART || !in_one_generation(&run->s)); i++)
		group_age(&run->s.group, true);
	if (!in_one_generation(&run->s))
		mmg_broken("two halves are not in one generation after %d agings", i);
	order_run_reclaim(run, order_run_by_memory_reclaim, 1);
	order_run_measure(run);
	order_run_destroy(run);
}

static void order_case(const struct mmg_case *c)
{
	static struct order_run run, control;
	bool host = c->arg;

	if (!kernel_before(6, 14))
		mmg_skip("from 6.14 on tiers, too, decide about pages that a walk saw");
	if (!host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes / 4);
	experiment(&run, host, AGES_APART);
	order_run_report(&run);
	experiment(&control, host, 0);
	order_require_blind(&control, "where both halves were faulted in together");
	order_judge(&run, run.auc, &control);
}

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = order_case },
	{ .name = "host-anon-4k", .fn = order_case, .arg = "host" },
};

static const struct mmg_test test = {
	.name = "kvm/folded_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
