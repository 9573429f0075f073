// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does the size of the working set read from generations follow the guest's?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * What a working-set estimator does: age every period, and take the pages of the two
 * youngest generations for what was used in it.  The guest cycles through a set of
 * known size, which grows, shrinks and moves:
 *
 *	set		10 %	30 %	60 %	90 %	40 %	5 %	idle	40 %, other pages
 *	estimate	the same within 5 % of the truth and a batch, each time
 *
 * and the pages that left the set are found in the older generations, none is lost.
 * With the walk off nothing moves: the estimate then must not follow (the control).
 *
 * How it could mislead: huge pages count whole; the process has a few pages of its own
 * in the group (a batch is allowed for).
 */
#include "scenario.h"

#include <stdlib.h>

#define BATCH	64

struct params {
	enum backing backing;
	bool host;
	int vcpus;
};

struct phase {
	unsigned int percent;
	unsigned int seed;	/* which pages: the same seed draws the same order */
};

static const struct phase phases[] = {
	{ 10, 1 }, { 30, 1 }, { 60, 1 }, { 90, 1 }, { 40, 1 }, { 5, 1 }, { 0, 1 }, { 40, 2 },
};

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 40 * HUGE_SIZE : mmg_opts.mem_bytes / 2;
}

static void set_up(struct scenario *s, const struct params *p, const char *name)
{
	struct scenario_opts o = {
		.name = name, .backing = p->backing, .host = p->host,
		.bytes = bytes_of(p), .vcpus = p->vcpus,
	};

	if (!p->host)
		guest_require();
	mglru_require(bytes_of(p));
	scenario_create(s, &o);
	scenario_populate(s);
	group_age(&s->group, true);
	group_age(&s->group, true);
}

/*
 * One period: the set is cycled through and aged, twice.  Returns the estimate in pages.
 *
 * From 6.14 on (4d5d14a01e2c) a page that was folded into another generation is promoted
 * on the second observation only, unless it comes marked accessed, as a guest's does:
 * folio_update_gen() in mm/vmscan.c sets PG_referenced on the first.
 */
static u64 period(struct scenario *s, const u32 *order, size_t n)
{
	int type = scenario_type(s), i;

	for (i = 0; i < 2; i++) {
		scenario_touch(s, order, n, i);
		group_age(&s->group, true);
	}
	group_read(&s->group, false);
	return group_pages(&s->group, 0, type) + group_pages(&s->group, 1, type);
}

static bool close_to(u64 estimate, u64 truth)
{
	u64 slack = truth / 20 + BATCH;

	return estimate <= truth + slack && truth <= estimate + slack;
}

/* Neither do pages get lost on the way nor do they come from nowhere */
static void check_total(const struct scenario *s, u64 at_first, unsigned int percent)
{
	u64 total = group_total(&s->group, scenario_type(s));

	if (total > at_first + BATCH || total + BATCH < at_first)
		mmg_fail("at %u %% the generations have %llu pages in all, %llu at first", percent,
			 (unsigned long long)total, (unsigned long long)at_first);
}

static void follow_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	char said[256] = "";
	u64 truth, estimate, worst = 0, off, at_first;
	size_t i, n, len = 0;
	u32 *order;

	set_up(&s, p, "working_set");
	group_read(&s.group, false);
	at_first = group_total(&s.group, scenario_type(&s));
	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		mmg_doing("working set of %u %%", phases[i].percent);
		order = list_all(s.r.units, mmg_opts.seed + phases[i].seed);
		n = s.r.units * phases[i].percent / 100;
		truth = n * s.r.unit;
		estimate = period(&s, order, n);
		free(order);
		group_log(&s.group, i);
		off = estimate > truth ? estimate - truth : truth - estimate;
		worst = off > worst ? off : worst;
		len += snprintf(said + len, sizeof(said) - len, "%s%llu/%llu", i ? " " : "",
				(unsigned long long)estimate, (unsigned long long)truth);
		check_total(&s, at_first, phases[i].percent);
		if (!close_to(estimate, truth))
			mmg_fail("working set of %llu pages, estimated %llu (estimate/truth: %s)",
				 (unsigned long long)truth, (unsigned long long)estimate, said);
	}
	mmg_metric("worst_error_pages", worst);
	mmg_pass("estimate/truth in pages: %s", said);
}

/* Walk off: an estimate that follows all the same is not made of what the walk saw */
static void control_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	u64 estimate, truth;
	u32 *order;

	set_up(&s, p, "control");
	mglru_set_walk(false);
	order = list_all(s.r.units, mmg_opts.seed);
	truth = s.r.units / 2;
	period(&s, order, truth);
	estimate = period(&s, order, truth);
	mmg_metric("estimate", estimate);
	if (close_to(estimate, truth))
		mmg_broken("control: with the walk off the estimate is %llu, the set %llu pages",
			   (unsigned long long)estimate, (unsigned long long)truth);
	mmg_pass("with the walk off the estimate is %llu, the set %llu pages: it is the walk's",
		 (unsigned long long)estimate, (unsigned long long)truth);
}

static const struct params anon = { .backing = BACK_ANON };
static const struct params thp = { .backing = BACK_THP };
static const struct params shmem = { .backing = BACK_SHMEM };
static const struct params two = { .backing = BACK_ANON, .vcpus = 2 };
static const struct params host_anon = { .backing = BACK_ANON, .host = true };
static const struct params host_thp = { .backing = BACK_THP, .host = true };

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = follow_case, .arg = &anon },
	{ .name = "anon-thp", .fn = follow_case, .arg = &thp },
	{ .name = "shmem", .fn = follow_case, .arg = &shmem },
	{ .name = "two-vcpus", .fn = follow_case, .arg = &two },
	{ .name = "host-anon-4k", .fn = follow_case, .arg = &host_anon },
	{ .name = "host-anon-thp", .fn = follow_case, .arg = &host_thp },
	{ .name = "control-walk-off", .fn = control_case, .arg = &anon },
};

static const struct mmg_test test = {
	.name = "kvm/working_set",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
