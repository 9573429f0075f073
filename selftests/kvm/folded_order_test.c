// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: do pages of a generation that is folded into the next one stay its oldest?
 * mmgate-guards: ac35a4902374 mm: multi-gen LRU: minimal implementation
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off data-disk
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
 * host-file-0 does the same with a mapped file and agings at swappiness 0, which leave anonymous
 * memory where it is: file memory has to be folded all the same, and none of it may
 * be younger after an aging without touches than before, which file-0-counts asks of
 * every kernel.  Both need machine data-disk.
 *
 * From 6.14 on a page that a walk saw is sorted by tiers as well (sort_folio()), and the
 * order within a generation is no promise any more: skipped there, before a VM is built.
 *
 * How it could mislead: one aging too many moves the list a second time, and turns it
 * (agings end with the first one after which both halves are in one generation).
 */
#include "order_run.h"

#include <fcntl.h>
#include <stdlib.h>

#include "descriptor.h"
#include "kernel_release.h"

#define AGES_APART	2	/* generations between the halves */
#define MAX_AGINGS	8

struct params {
	bool host;
	enum backing backing;
	int swappiness;
};

static void age(struct group *group, int swappiness)
{
	unsigned int i;

	group_read(group, false);
	for (i = 0; i < group->info.nr_nodes; i++) {
		const struct lru_gen_node *node = &group->info.node[i];
		int err = lru_gen_age(group->id, node->nid, lru_gen_max_seq(node), swappiness,
				      true);

		if (err)
			mmg_broken("aging at swappiness %d: %s", swappiness, strerror(-err));
	}
}

/*
 * All of a file in the page cache, and page faults that map one page each: neighbours that
 * are mapped on the way have their accessed bits set
 */
static void read_file(struct scenario *s)
{
	static const char around[] = "/sys/kernel/debug/fault_around_bytes";

	mmg_save_setting(around);
	if (mmg_try_write(around, "%zu", s->r.page_size))
		mmg_skip("%s cannot be written", around);
	if (posix_fadvise(s->r.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
	descriptor_read(&s->r, NULL, -1, 1);
	memcg_drain_lru();
}

/* Both halves, the cold one (age 1) first and @apart agings before the hot one */
static void populate(struct order_run *run, const struct params *p, int apart)
{
	struct scenario *s = &run->s;
	unsigned int which;
	size_t n;
	u32 *list;
	int i;

	if (p->backing == BACK_FILE)
		read_file(s);
	if (!apart && p->backing == BACK_FILE) {
		scenario_touch(s, s->all, s->r.units, false);
		return;
	}
	if (!apart) {
		scenario_populate(s);
		return;
	}
	for (which = 2; which-- > 0;) {
		list = list_where(run->age, s->r.units, which, &n);
		/* a written page of a file has to be written back first */
		scenario_touch(s, list, n, p->backing != BACK_FILE);
		memcg_drain_lru();
		free(list);
		for (i = 0; which && i < apart; i++)
			age(&s->group, p->swappiness);
	}
	region_check_resident(&s->r);
}

static bool in_one_generation(struct scenario *s)
{
	unsigned int back;

	group_read(&s->group, false);
	for (back = 0; back < LRU_GEN_MAX_GENS; back++) {
		if (group_pages(&s->group, back, scenario_type(s)) >= s->r.pages)
			return true;
	}
	return false;
}

static void experiment(struct order_run *run, const struct params *p, int apart)
{
	struct scenario_opts o = {
		.name = apart ? "folded" : "mixed", .host = p->host, .backing = p->backing,
		.bytes = mmg_opts.mem_bytes / 4,
	};
	u64 young;
	int i;

	/* the walk is on in the control, too: see above */
	order_run_create(run, &o, 2, true);
	populate(run, p, apart);
	for (i = 0; i < MAX_AGINGS && (i < AGES_APART || !in_one_generation(&run->s)); i++) {
		age(&run->s.group, p->swappiness);
		group_read(&run->s.group, false);
		young = group_pages(&run->s.group, 0, scenario_type(&run->s));
		/* this process's own few pages, as it reads the file itself */
		if (young > run->s.r.pages / 8)
			mmg_fail("%llu pages are in the youngest generation after an aging",
				 (unsigned long long)young);
	}
	if (!in_one_generation(&run->s))
		mmg_broken("two halves are not in one generation after %d agings", i);
	order_run_reclaim(run, order_run_by_memory_reclaim, 1);
	order_run_measure(run);
	order_run_destroy(run);
}

static void order_case(const struct mmg_case *c)
{
	static struct order_run run, control;
	const struct params *p = c->arg;

	if (!kernel_before(6, 14))
		mmg_skip("from 6.14 on tiers, too, decide about pages that a walk saw");
	if (!p->host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes / 4);
	if (!p->swappiness)
		mmg_write_setting("/proc/sys/vm/swappiness", "0");
	experiment(&run, p, AGES_APART);
	order_run_report(&run);
	experiment(&control, p, 0);
	order_require_blind(&control, "where both halves were faulted in together");
	order_judge(&run, run.auc, &control);
}

/*
 * Aging after aging without touches: all file memory is in the generations that lru_gen
 * shows, and none of it in the youngest one
 */
static void counts_case(const struct mmg_case *c)
{
	struct scenario_opts o = {
		.name = "counts", .host = true, .backing = BACK_FILE,
		.bytes = mmg_opts.mem_bytes / 4,
	};
	static struct scenario s;
	u64 young, total, min_seq;
	int i;

	(void)c;
	mglru_require(o.bytes);
	scenario_create(&s, &o);
	read_file(&s);
	group_read(&s.group, false);
	total = group_total(&s.group, LRU_GEN_FILE);
	if (total < s.r.pages)
		mmg_broken("precondition: %llu of %zu pages are on the lists",
			   (unsigned long long)total, s.r.pages);
	for (i = 0; i < MAX_AGINGS; i++) {
		age(&s.group, 0);
		group_read(&s.group, false);
		young = group_pages(&s.group, 0, LRU_GEN_FILE);
		total = group_total(&s.group, LRU_GEN_FILE);
		if (young > s.r.pages / 8)
			mmg_fail("aging %d made %llu of %zu pages of a file the youngest", i + 1,
				 (unsigned long long)young, s.r.pages);
		if (total < s.r.pages)
			mmg_fail("%llu of %zu pages are in a generation after aging %d",
				 (unsigned long long)total, s.r.pages, i + 1);
	}
	min_seq = lru_gen_min_seq(&s.group.info.node[0]);
	mmg_pass("all %zu pages of a file are old after %d agings at swappiness 0, min_seq %llu",
		 s.r.pages, i, (unsigned long long)min_seq);
}

#define CASE(name_, ...) { .name = name_, .fn = order_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("anon-4k", false, BACK_ANON, 200),
	CASE("host-anon-4k", true, BACK_ANON, 200),
	CASE("host-file-0", true, BACK_FILE, 0),
	{ .name = "file-0-counts", .fn = counts_case },
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
