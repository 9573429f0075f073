// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: without page-table walks, does eviction see young guest pages and their neighbours?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: 018ee47f1489 mm: multi-gen LRU: exploit locality in rmap
 * mmgate-machines: default npt-off tdp-mmu-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * All is faulted in and aged once, so nothing is young; then walks are turned off
 * (lru_gen/enabled without 0x2), a random half is touched, and half of the other
 * half is asked back.  Eviction finds a young page by the reverse map, keeps it, and
 * looks around: the up to 63 neighbours in its page table that are young, too, are
 * promoted without being isolated.  "Kept" is pgscan - pgsteal of the group:
 *
 *					touched evicted		kept (of 1024 touched)
 *	series present			0			about one in 32
 *	neighbours not looked at	0			all
 *	series absent, eviction blind	half			0 to all
 *	control: nothing touched	half			0
 *
 * How it could mislead: pages that fail to be written out are kept as well (swap is
 * checked); a huge page has no neighbours, its case counts survivors only.
 */
#include "scenario.h"

#include <stdlib.h>

struct params {
	enum backing backing;
	bool host;
	int slots;
	size_t offset;
};

struct result {
	size_t touched, touched_gone, others_gone;
	u64 kept;
};

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 32 * HUGE_SIZE : mmg_opts.mem_bytes / 4;
}

static u64 stat_of(const struct scenario *s, const char *key)
{
	return memcg_key(&s->group.cg, "memory.stat", key);
}

static struct result look(const struct params *p, bool touch)
{
	struct scenario_opts o = {
		.name = touch ? "look" : "control", .backing = p->backing, .host = p->host,
		.bytes = bytes_of(p), .slots = p->slots, .offset = p->offset,
		/* a batch of 64 is isolated before it is looked at: let it lie scattered */
		.fault_seed = mmg_opts.seed + 1,
	};
	struct result res = { };
	static struct scenario s;
	u64 scan, steal;
	u8 *label;
	u32 *list;
	size_t i;

	scenario_create(&s, &o);
	scenario_populate(&s);
	group_age(&s.group, true);
	mglru_set_walk(false);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	list = list_where(label, s.r.units, 0, &res.touched);
	if (touch)
		scenario_touch(&s, list, res.touched, false);
	scan = stat_of(&s, "pgscan");
	steal = stat_of(&s, "pgsteal");
	mmg_doing("reclaiming half of what was not touched");
	for (i = 0; i < 8; i++)
		memcg_reclaim(&s.group.cg, s.r.pages / 32 * s.r.page_size, NULL);
	scan = stat_of(&s, "pgscan") - scan;
	steal = stat_of(&s, "pgsteal") - steal;
	res.kept = scan > steal ? scan - steal : 0;
	region_read(&s.r);
	for (i = 0; i < s.r.units; i++) {
		if (!s.r.present[i])
			*(label[i] ? &res.others_gone : &res.touched_gone) += 1;
	}
	mglru_set_walk(true);
	scenario_destroy(&s);
	free(label);
	free(list);
	return res;
}

static void look_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "host" : "guest";
	struct result r, control;
	size_t total;

	if (!p->host)
		guest_require();
	mglru_require(bytes_of(p));
	r = look(p, true);
	mmg_metric("touched", r.touched);
	mmg_metric("touched_evicted", r.touched_gone);
	mmg_metric("others_evicted", r.others_gone);
	mmg_metric("kept_pages", r.kept);
	control = look(p, false);
	total = control.touched_gone + control.others_gone;
	mmg_metric("control_evicted", control.touched_gone);
	if (control.touched_gone * 5 < total * 2 || control.touched_gone * 5 > total * 3)
		mmg_broken("control: nothing touched, yet %zu and %zu of the halves evicted",
			   control.touched_gone, control.others_gone);
	if (r.touched_gone * 100 > r.touched)
		mmg_fail("%zu of %zu pages that the %s touched were evicted, %zu others",
			 r.touched_gone, r.touched, who, r.others_gone);
	if (r.others_gone * 4 < r.touched)
		mmg_fail("only %zu of %zu untouched pages were evicted", r.others_gone, r.touched);
	if (p->backing != BACK_THP && r.kept * 4 > r.touched)
		mmg_fail("neighbours not seen: %llu young pages isolated one by one, %zu touched",
			 (unsigned long long)r.kept, r.touched);
	mmg_pass("%zu of %zu touched and %zu other pages evicted; %llu isolated and kept",
		 r.touched_gone, r.touched, r.others_gone, (unsigned long long)r.kept);
}

#define CASE(name_, ...) { .name = name_, .fn = look_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("anon-4k", .backing = BACK_ANON),
	CASE("anon-thp", .backing = BACK_THP),
	CASE("shmem", .backing = BACK_SHMEM),
	CASE("pmd-edges", .backing = BACK_ANON, .slots = 5, .offset = 37),
	CASE("host-anon-4k", .backing = BACK_ANON, .host = true),
	CASE("host-anon-thp", .backing = BACK_THP, .host = true),
};

static const struct mmg_test test = {
	.name = "kvm/lookaround",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
