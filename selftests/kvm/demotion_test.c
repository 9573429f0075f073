// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is it the cold half of a guest's memory that goes to the slower node, whole?
 * mmgate-guards: 26aa2d199d6f mm/migrate: demote pages during reclaim
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-machines: memory-tiers
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_NUMA debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * Half of a guest's memory on the fast node is touched before each of two agings.  With
 * demotion on, memory.reclaim of the other half moves pages to the slower node rather than
 * to swap.  Which ones moved is asked of move_pages(); guest and host then read a pattern.
 *
 * How it could mislead: pages that went to swap after all (counted apart); a machine whose
 * nodes are in one tier (skip, by /sys/devices/virtual/memory_tiering).
 */
#include "scenario.h"

#include <stdlib.h>
#include <unistd.h>

#include "node.h"

#define DEMOTION	"/sys/kernel/mm/numa/demotion_enabled"
#define TIERING		"/sys/devices/virtual/memory_tiering/"
#define MAX_TIER	4096
#define KEY		0xde307eULL

struct params {
	bool host;
};

/* First nodes of the fastest tier and of the next one; how many tiers there are */
static int find_tiers(int *fast, int *slow)
{
	int tier, nr = 0;
	char path[96], *text;

	for (tier = 0; tier < MAX_TIER; tier++) {
		snprintf(path, sizeof(path), TIERING "memory_tier%d/nodelist", tier);
		if (access(path, R_OK))
			continue;
		text = mmg_read_file(path, NULL);
		if (text && *text >= '0' && *text <= '9' && nr < 2)
			*(nr++ ? slow : fast) = atoi(text);
		free(text);
	}
	return nr;
}

static void demote_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	struct scenario_opts o = {
		.name = "demoted", .host = p->host, .bytes = mmg_opts.mem_bytes / 4,
	};
	size_t hot = 0, cold = 0, swapped = 0, asked, half, i;
	int fast = -1, slow = -1, err, round, *nodes;
	static struct scenario s;
	u64 bad, first = 0;
	u32 *list;

	if (!p->host)
		guest_require();
	if (access(DEMOTION, W_OK))
		mmg_skip("no %s (CONFIG_NUMA and CONFIG_MIGRATION)", DEMOTION);
	if (find_tiers(&fast, &slow) < 2)
		mmg_skip("no slower memory tier: machine memory-tiers, kernel from 6.11 on");
	mmg_save_setting(DEMOTION);
	mmg_write_setting(DEMOTION, "0");
	mglru_require(o.bytes);
	scenario_create(&s, &o);
	s.r.nid = fast;
	region_bind(s.r.mem, s.r.pages * s.r.page_size, fast);
	scenario_populate(&s);
	half = s.r.units / 2;
	list = malloc(half * sizeof(*list));
	for (i = 0; i < half; i++)
		list[i] = 2 * i;
	if (!p->host)
		guest_pattern(&s.guest, 0, OP_FILL, s.all, s.r.units, KEY);
	else
		region_fill(&s.r, s.all, s.r.units, KEY);
	group_age(&s.group, true);
	for (round = 0; round < 2; round++) {
		scenario_touch(&s, list, half, false);
		group_age(&s.group, true);
	}
	mmg_write_setting(DEMOTION, "1");
	asked = half * 7 / 8;
	mmg_doing("demoting %zu pages", asked);
	err = memcg_reclaim(&s.group.cg, asked * s.r.page_size, NULL);
	mmg_write_setting(DEMOTION, "0");
	nodes = calloc(s.r.units, sizeof(*nodes));
	region_read(&s.r);
	if (node_of_pages(s.r.mem, s.r.units, nodes))
		mmg_broken("move_pages() does not say where the memory is");
	for (i = 0; i < s.r.units; i++) {
		swapped += !s.r.present[i];
		if (s.r.present[i] && nodes[i] != fast)
			*(i % 2 ? &cold : &hot) += 1;
	}
	mmg_metric("hot_demoted", hot);
	mmg_metric("cold_demoted", cold);
	mmg_metric("swapped", swapped);
	if (hot + cold < asked / 2)
		mmg_fail("%zu pages were demoted and %zu swapped, of %zu asked for: %s", hot + cold,
			 swapped, asked, err ? strerror(-err) : "0");
	if (hot * 8 > cold)
		mmg_fail("demoted were %zu hot and %zu cold pages of %zu each", hot, cold, half);
	bad = p->host ? 0 : guest_pattern(&s.guest, 0, OP_CHECK, s.all, s.r.units, KEY);
	bad += region_check(&s.r, s.all, s.r.units, KEY, &first);
	if (bad)
		mmg_fail("%llu words are not what was written after demotion",
			 (unsigned long long)bad);
	mmg_pass("to node %d went %zu hot and %zu cold pages of %zu each, %zu to swap; all whole",
		 slow, hot, cold, half, swapped);
}

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = demote_case, .arg = &(const struct params){ } },
	{ .name = "host-anon-4k", .fn = demote_case,
	  .arg = &(const struct params){ .host = true } },
};

static const struct mmg_test test = {
	.name = "kvm/demotion",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
