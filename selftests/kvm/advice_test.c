// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does guest memory that its VMM calls cold, or pages out, go first and come back whole?
 * mmgate-guards: 9c276cc65a58 mm: introduce MADV_COLD
 * mmgate-guards: 1a4e58cce84e mm: introduce MADV_PAGEOUT
 * mmgate-guards: 018ee47f1489 mm: multi-gen LRU: exploit locality in rmap
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 *	cold-*		all is touched and aged twice, all alike.  Then half is advised
 *			MADV_COLD: it goes to the oldest generation, and leaves first.  The
 *			control is without the advice, and blind.
 *	pageout-thp	MADV_PAGEOUT of half of the huge pages that the guest has just
 *			written: these leave, whole, and no other
 *	pageout-part	MADV_PAGEOUT of a part of each huge page: it is split, these pages
 *			leave and the others stay
 *
 * After the last two every word reads as it was written.
 *
 * How it could mislead: MADV_COLD clears the accessed bits of the process, not KVM's: it is
 * given here when neither are set.  (What a guest touches after it: the cold shapes of
 * kvm/live_shapes.)
 */
#include "order_run.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ROUNDS		2
#define TABLES		16
#define KEY		0x01d0000ULL

/**
 * struct params - a case
 * @backing:	BACK_ANON or BACK_THP
 * @host:	touched by this process
 */
struct params {
	enum backing backing;
	bool host;
};

static struct scenario_opts opts_of(const struct params *p)
{
	bool huge = p->backing == BACK_THP;

	if (!p->host)
		guest_require();
	mglru_require(huge ? 2 * TABLES * HUGE_SIZE : mmg_opts.mem_bytes / 4);
	return (struct scenario_opts){
		.backing = p->backing, .host = p->host,
		.bytes = huge ? 2 * TABLES * HUGE_SIZE : mmg_opts.mem_bytes / 4,
	};
}

/* Ends the case where it is refused */
static void advise(struct scenario *s, size_t page, size_t pages, int advice)
{
	if (madvise(s->r.mem + page * s->r.page_size, pages * s->r.page_size, advice))
		mmg_broken("madvise(%d) of %zu pages: %s", advice, pages, strerror(errno));
}

/* --- MADV_COLD ------------------------------------------------------------------------------ */

static void cold_run(struct order_run *run, const struct params *p, bool advised)
{
	struct scenario_opts o = opts_of(p);
	struct scenario *s = &run->s;
	size_t i;

	o.name = advised ? "cold" : "control";
	order_run_create(run, &o, 2, advised);
	scenario_populate(s);
	for (i = 0; i < ROUNDS; i++) {
		scenario_touch(s, s->all, s->r.units, false);
		group_age(&s->group, true);
	}
	mmg_doing("advising half of it");
	for (i = 0; i < s->r.units; i++) {
		if (advised && run->age[i])
			advise(s, i * s->r.unit, s->r.unit, MADV_COLD);
	}
	memcg_drain_lru();
	order_run_reclaim(run, order_run_by_memory_reclaim, 1);
	order_run_measure(run);
	order_run_destroy(run);
}

static void cold_case(const struct mmg_case *c)
{
	static struct order_run run, control;

	cold_run(&run, c->arg, true);
	order_run_report(&run);
	cold_run(&control, c->arg, false);
	order_require_blind(&control, "without the advice");
	order_judge(&run, run.auc, &control);
}

/* --- MADV_PAGEOUT --------------------------------------------------------------------------- */

/* All of it, each word in its place */
static void set_up(struct scenario *s, const struct params *p)
{
	struct scenario_opts o = opts_of(p);

	o.name = "pageout";
	scenario_create(s, &o);
	scenario_populate(s);
	scenario_fill(s, s->all, s->r.units, KEY);
	memcg_drain_lru();
}

/* Base pages with @advised that are present, and others that are not */
static void count(struct scenario *s, const u8 *advised, size_t *stayed, size_t *others_gone)
{
	size_t i;

	*stayed = 0;
	*others_gone = 0;
	region_read(&s->r);
	for (i = 0; i < s->r.pages; i++) {
		*stayed += advised[i] && s->r.scratch[i];
		*others_gone += !advised[i] && !s->r.scratch[i];
	}
	mmg_metric("stayed", *stayed);
	mmg_metric("others_gone", *others_gone);
}

static void must_be_whole(struct scenario *s)
{
	u64 first = 0, bad;

	bad = s->host ? 0 : guest_pattern(&s->guest, 0, OP_CHECK, s->all, s->r.units, KEY);
	if (bad)
		mmg_fail("DATA LOST: the guest reads %llu wrong words after MADV_PAGEOUT",
			 (unsigned long long)bad);
	bad = region_check(&s->r, s->all, s->r.units, KEY, &first);
	if (bad)
		mmg_fail("DATA LOST: the host reads %llu wrong words after MADV_PAGEOUT",
			 (unsigned long long)bad);
}

static void pageout(const struct params *p, bool part)
{
	static struct scenario s;
	size_t n = 0, i, stayed, others_gone, from, pages;
	u64 state = mmg_opts.seed;
	u8 *advised;

	set_up(&s, p);
	advised = calloc(1, s.r.pages);
	for (i = 0; advised && i < s.r.units; i++) {
		from = part ? mmg_rand(&state) % (s.r.unit / 2) : 0;
		pages = part ? 1 + mmg_rand(&state) % (s.r.unit / 2) : s.r.unit;
		if (!part && mmg_rand(&state) & 1)
			continue;
		advise(&s, i * s.r.unit + from, pages, MADV_PAGEOUT);
		memset(advised + i * s.r.unit + from, 1, pages);
		n += pages;
	}
	mmg_metric("advised", n);
	count(&s, advised, &stayed, &others_gone);
	if (others_gone)
		mmg_fail("MADV_PAGEOUT of %zu pages took %zu others", n, others_gone);
	if (stayed * 20 > n)
		mmg_fail("MADV_PAGEOUT of %zu pages left %zu of them", n, stayed);
	must_be_whole(&s);
	mmg_pass("%zu of %zu pages that the %s had just written were paged out, no other; not a word lost",
		 n - stayed, n, s.host ? "host" : "guest");
}

static void pageout_case(const struct mmg_case *c)
{
	pageout(c->arg, false);
}

static void part_case(const struct mmg_case *c)
{
	pageout(c->arg, true);
}

#define CASE(name_, fn_, backing_, host_) { .name = (name_), .fn = (fn_), .timeout_s = 120, \
	.arg = &(const struct params){ .backing = (backing_), .host = (host_) } }

static const struct mmg_case cases[] = {
	CASE("cold-4k", cold_case, BACK_ANON, false),
	CASE("host-cold-4k", cold_case, BACK_ANON, true),
	CASE("cold-thp", cold_case, BACK_THP, false),
	CASE("host-cold-thp", cold_case, BACK_THP, true),
	CASE("pageout-thp", pageout_case, BACK_THP, false),
	CASE("host-pageout-thp", pageout_case, BACK_THP, true),
	CASE("pageout-part", part_case, BACK_THP, false),
	CASE("host-pageout-part", part_case, BACK_THP, true),
};

static const struct mmg_test test = {
	.name = "kvm/advice",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
