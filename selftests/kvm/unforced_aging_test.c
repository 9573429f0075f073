// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does aging without force, kswapd's way, find every VM of a group?
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * Without force a walk looks only at page tables that the Bloom filter names: those that
 * the last walk found dense in young entries.  A process that came since that walk is looked
 * at whole, once (iterate_mm_list() in mm/vmscan.c), so that its tables come into the filter.
 *
 *	new-vm		one VM was aged, then another one starts in its group
 *	new-vms		two of them start
 *	after-exit	one that started before it is gone again before anybody aged
 *	two-vms		both are dense: the filter has the tables of the first one as well
 *	one-a-line	one page of eight is touched, on average one entry of each cache line:
 *			that is dense (suitable_to_scan()), one page less in a table is not
 *
 * In all but the last, the newcomers' first half is touched between two agings without
 * force.  The second one moves those pages, and none of a VM that is idle.
 *
 * How it could mislead: a process has pages of its own in the group (a batch of 64 is allowed
 * for each); from 6.14 on a page is promoted at its second observation (each is seen twice).
 */
#include "aging_step.h"
#include "tenant.h"

#include <stdlib.h>

#define BATCH	64	/* MIN_LRU_BATCH */
#define LINE	8	/* entries of a cache line of 64 bytes or more, as the kernel counts */
#define NR_NEW	2

/**
 * struct params - who comes to the group
 * @newcomers:	how many VMs start once another one was aged
 * @gone:	one starts before them, and exits
 * @host:	plain processes in place of VMs
 */
struct params {
	int newcomers;
	bool gone;
	bool host;
};

static size_t bytes_of_one(void)
{
	return mmg_opts.mem_bytes / 4;
}

static void set_up(struct group *group, bool host)
{
	if (!host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes);
	group_create(group, NULL, "vms");
}

static void join(struct tenant *t, const struct group *group, bool host)
{
	t->host = host;
	tenant_join(t, group, bytes_of_one());
}

static u64 touch_half(struct tenant *t)
{
	tenant_touch(t, 0, t->units / 2);
	return t->units / 2;
}

static void judge(struct group *group, u64 touched, int processes)
{
	u64 moved = group_pages(group, 1, LRU_GEN_ANON), slack = BATCH * processes;

	mmg_metric("touched", touched);
	mmg_metric("moved", moved);
	if (moved + slack < touched || moved > touched + slack)
		mmg_fail("aging without force moved %llu pages, %llu were touched",
			 (unsigned long long)moved, (unsigned long long)touched);
}

static void newcomer_case(const struct mmg_case *c)
{
	static struct tenant old, gone, new[NR_NEW];
	const struct params *p = c->arg;
	struct group group;
	u64 touched = 0;
	int i;

	set_up(&group, p->host);
	join(&old, &group, p->host);
	aging_once(&group, true);
	aging_once(&group, true);
	if (p->gone) {
		join(&gone, &group, p->host);
		worker_stop(&gone.w);
	}
	for (i = 0; i < p->newcomers; i++)
		join(&new[i], &group, p->host);
	mmg_doing("aging without force, the first time since they came");
	aging_unforced(&group, false);
	for (i = 0; i < p->newcomers; i++)
		touched += touch_half(&new[i]);
	mmg_doing("aging without force what they touched");
	aging_unforced(&group, false);
	judge(&group, touched, 1 + p->newcomers);
	mmg_pass("all %llu pages that %d newcomers touched moved without force",
		 (unsigned long long)touched, p->newcomers);
}

static void two_vms_case(const struct mmg_case *c)
{
	static struct tenant vm[2];
	struct group group;
	u64 touched = 0;
	int i;

	(void)c;
	set_up(&group, false);
	for (i = 0; i < 2; i++)
		join(&vm[i], &group, false);
	aging_once(&group, true);
	for (i = 0; i < 2; i++)
		touched += touch_half(&vm[i]);
	mmg_doing("aging by what a walk of two VMs noted");
	aging_unforced(&group, false);
	judge(&group, touched, 2);
	mmg_pass("all %llu pages that two VMs touched moved without force",
		 (unsigned long long)touched);
}

/* One unit of LINE in each page table, in odd ones less one: the last */
static u32 *one_a_line(const struct scenario *s, size_t *n, size_t *dense)
{
	size_t per_table = HUGE_SIZE / s->r.page_size, i;
	u32 *list = malloc(s->r.units / LINE * sizeof(*list));

	*n = 0;
	*dense = 0;
	for (i = 0; list && i < s->r.units; i += LINE) {
		bool even = !(i / per_table % 2);

		if (!even && i % per_table == per_table - LINE)
			continue;
		list[(*n)++] = i;
		*dense += even;
	}
	return list;
}

static void line_case(const struct mmg_case *c)
{
	struct scenario_opts o = { .name = "lines", .host = c->arg };
	static struct scenario s;
	size_t n, dense;
	u32 *list;

	if (!o.host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes);
	scenario_create(&s, &o);
	scenario_populate(&s);
	aging_once(&s.group, true);
	list = one_a_line(&s, &n, &dense);
	scenario_touch(&s, list, n, false);
	aging_once(&s.group, true);
	mmg_doing("aging tables that are just dense enough, or just not");
	scenario_touch(&s, list, n, false);
	aging_unforced(&s.group, false);
	mmg_metric("sparse", n - dense);
	judge(&s.group, dense, 1);
	mmg_pass("tables with one young entry of %d are dense, those with one less are not", LINE);
}

static const bool yes = true;

static const struct mmg_case cases[] = {
	{ .name = "new-vm", .fn = newcomer_case,
	  .arg = &(const struct params){ .newcomers = 1 } },
	{ .name = "new-vms", .fn = newcomer_case,
	  .arg = &(const struct params){ .newcomers = 2 } },
	{ .name = "host-new", .fn = newcomer_case,
	  .arg = &(const struct params){ .newcomers = 2, .host = true } },
	{ .name = "after-exit", .fn = newcomer_case,
	  .arg = &(const struct params){ .newcomers = 1, .gone = true } },
	{ .name = "two-vms", .fn = two_vms_case },
	{ .name = "one-a-line", .fn = line_case },
	{ .name = "host-one-a-line", .fn = line_case, .arg = &yes },
};

static const struct mmg_test test = {
	.name = "kvm/unforced_aging",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
