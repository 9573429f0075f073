// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is memory evicted in the order in which it was last touched?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default numa-fake2 npt-off tdp-mmu-off numa-balancing thp-always disk-swap
 * mmgate-quick: default numa-fake2
 * mmgate-quick-cases: anon-* shmem host-anon-* host-shmem
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
 * kswapd's turn is as large as it wants: pairs that left in the same turn count neither
 * way there, and too many of them are broken.
 *
 * How it could mislead: a touch whose translation is still in the TLB sets no
 * accessed bit (both kinds of touch flush first); pages in per-CPU batches are on
 * no list (drained, and the number on the lists is checked); fault order alone can
 * give 0 or 1 (the labels are balanced along it).
 */
#include "scenario.h"

#include <math.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include "orderstat.h"
#include "pressure.h"
#include "vmstat.h"

#define STEPS		16
#define MAX_LOOKS	1000	/* at what kswapd left */
#define MORE_TURNS	3	/* of kswapd, where cold pages are left */
#define ROUNDS		2
#define AUC_GOOD	0.99
#define SAME_STEP_MAX	0.05	/* two turns of 762 in one look, half of each kind: 0.035 */
#define SOMERS_GOOD	0.98
#define BLIND_LOW	0.4
#define BLIND_HIGH	0.6

/* Who asks for memory back */
enum how { BY_RECLAIM, BY_COMMAND, BY_HIGH, BY_KSWAPD };

/**
 * struct params - a case
 * @backing:	what the memory is made of
 * @host:	touched by the host instead of a vCPU
 * @ages:	touch ages, 2 where 0
 * @how:	who asks for memory back
 * @blocks:	labels in one block each rather than mixed
 * @folded:	the cold half is faulted in first, and both end in one generation
 * @fault_seed:	fault order shuffled by it; ~0 for backwards
 * @divide:	of the default size
 */
struct params {
	enum backing backing;
	bool host;
	unsigned int ages;
	enum how how;
	bool blocks;
	bool folded;
	u64 fault_seed;
	unsigned int divide;
};

#define BACKWARDS	(~0ULL)

/* One run of the experiment */
struct run {
	const struct params *p;
	bool walk;
	struct scenario s;
	u8 *age;
	u16 *rank;
	unsigned int steps;
	double auc, somers_d, same_step;
	size_t hot, cold, hot_evicted, cold_evicted;
	u64 by_kswapd, by_others;	/* pages of the group reclaimed */
};

static struct pressure pressure;

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
	return mmg_opts.mem_bytes / (p->divide ? p->divide : 1);
}

static unsigned int nr_ages(const struct run *run)
{
	return run->p->ages ? run->p->ages : 2;
}

static void set_labels(struct run *run, size_t n)
{
	unsigned int ages = nr_ages(run);
	size_t i;

	if (run->p->fault_seed == BACKWARDS) {
		for (i = 0; i < n; i++)
			run->s.all[i] = n - 1 - i;
	}
	if (!run->p->blocks)
		label_stratified(run->age, run->s.all, n, ages, mmg_opts.seed + run->walk);
	for (i = 0; i < n && run->p->blocks; i++)
		run->age[i] = (i * 8 / n + mmg_opts.seed) % ages;
}

static int kernel_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	return sscanf(u.release, "%d.%d", &major, &minor) == 2 ? major * 1000 + minor : 0;
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

/*
 * Cold ones first; the hot ones when those are older by two generations.  Agings
 * without touches then fold the older generation into the next one, at its old end.
 */
static void populate_folded(struct run *run)
{
	struct scenario *s = &run->s;
	unsigned int age;
	size_t n;
	u32 *list;
	int i;

	for (age = 2; age-- > 0;) {
		list = list_where(run->age, s->r.units, age, &n);
		scenario_touch(s, list, n, true);
		memcg_drain_lru();
		free(list);
		for (i = 0; age && i < 2; i++)
			group_age(&s->group, true);
	}
	/* until the first fold that brings both together: a further one may turn the list */
	for (i = 0; i < 8 && !in_one_generation(s); i++)
		group_age(&s->group, true);
	if (!in_one_generation(s))
		mmg_broken("two halves are not in one generation after %d agings", i);
	region_check_resident(&s->r);
}

static void set_up(struct run *run)
{
	struct scenario_opts o = {
		.name = run->walk ? "order" : "control",
		.backing = run->p->backing,
		.host = run->p->host,
		.bytes = region_bytes(run->p),
		.fault_seed = run->p->fault_seed,
	};
	size_t n;

	/* the control needs fewer pages: blind is blind */
	if (!run->walk && run->p->backing != BACK_THP && run->p->how != BY_KSWAPD)
		o.bytes /= 4;
	phase("setting up");
	if (run->p->how == BY_KSWAPD && !pressure.w.pid)
		pressure_start(&pressure, region_node());
	scenario_create(&run->s, &o);
	n = run->s.r.units;
	run->age = calloc(n, sizeof(*run->age));
	run->rank = calloc(n, sizeof(*run->rank));
	set_labels(run, n);
	phase("faulting the region in");
	if (run->p->folded && kernel_version() >= 6014)
		mmg_skip("from 6.14 on tiers, too, decide about pages that a walk saw");
	if (run->p->folded)
		populate_folded(run);
	else
		scenario_populate(&run->s);
}

static void show_gens(struct run *run, const char *when)
{
	const struct group *group = &run->s.group;

	group_read(&run->s.group, mmg_opts.verbose);
	if (mmg_opts.verbose)
		mmg_info("%s: anon -3..0: %llu %llu %llu %llu, walk: %lld leaves, %lld young", when,
			 (unsigned long long)group_pages(group, 3, LRU_GEN_ANON),
			 (unsigned long long)group_pages(group, 2, LRU_GEN_ANON),
			 (unsigned long long)group_pages(group, 1, LRU_GEN_ANON),
			 (unsigned long long)group_pages(group, 0, LRU_GEN_ANON),
			 group_counter(group, WALK_TOTAL), group_counter(group, WALK_YOUNG));
}

/* The units that are younger than @age, a list to be freed */
static u32 *younger_than(const struct run *run, unsigned int age, size_t *n)
{
	u32 *list = malloc(run->s.r.units * sizeof(*list));
	size_t i;

	*n = 0;
	for (i = 0; list && i < run->s.r.units; i++) {
		if (run->age[i] < age)
			list[(*n)++] = i;
	}
	return list;
}

/*
 * A unit of age A is touched for the last time in the A-th round from the end; the
 * oldest not at all.  With two ages the hot half is touched in both of two rounds.
 * With more, the last round is not followed by an aging: only four generations are
 * kept, the youngest stays empty, and a fold would mix the two oldest ages.
 */
static void age_rounds(struct run *run)
{
	unsigned int ages = nr_ages(run), rounds = ages > 2 ? ages - 1 : ROUNDS, round;
	size_t n;
	u32 *list;

	phase("aging");
	group_age(&run->s.group, true);
	show_gens(run, "after the first aging");
	for (round = 0; round < rounds; round++) {
		list = younger_than(run, ages > 2 ? ages - 1 - round : 1, &n);
		scenario_touch(&run->s, list, n, false);
		free(list);
		if (ages > 2 && round == rounds - 1)
			break;
		group_age(&run->s.group, true);
		show_gens(run, "after touching the younger ones and aging");
		group_log(&run->s.group, round);
	}
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

/* The "-" command, for the oldest generations that it may take from */
static void evict_by_command(struct run *run, u64 pages)
{
	struct group *group = &run->s.group;
	const struct lru_gen_node *node;
	int err;

	group_read(group, false);
	node = run->s.r.nid < 0 ? &group->info.node[0] : lru_gen_node(&group->info, run->s.r.nid);
	if (!node)
		mmg_broken("lru_gen does not list node %d", run->s.r.nid);
	err = lru_gen_evict(group->id, node->nid, lru_gen_max_seq(node) - 2,
			    LRU_GEN_ANON_ONLY, pages);
	if (err)
		mmg_fail("evicting %llu pages by command: %s", (unsigned long long)pages,
			 strerror(-err));
}

static void ask_back(struct run *run, u64 pages)
{
	u64 bytes = pages * run->s.r.page_size, now;
	u64 stock = 64 * run->s.r.page_size;	/* charged ahead on a CPU */

	switch (run->p->how) {
	case BY_COMMAND:
		evict_by_command(run, pages);
		break;
	case BY_HIGH:
		/* the write reclaims until the group is below, or gives up */
		now = memcg_read(&run->s.group.cg, "memory.current");
		memcg_write(&run->s.group.cg, "memory.high", "%llu",
			    (unsigned long long)(now - bytes - stock));
		memcg_write(&run->s.group.cg, "memory.high", "max");
		break;
	default:
		memcg_reclaim(&run->s.group.cg, bytes, NULL);
	}
}

/* Pages of the group that @who reclaimed; of all memory where memory.stat does not say */
static u64 reclaimed_by(const struct run *run, const char *key)
{
	long long n = memcg_key_maybe(&run->s.group.cg, "memory.stat", key);

	return n >= 0 ? (u64)n : vmstat_now(key);
}

static size_t cold_left(const struct run *run)
{
	size_t n = 0, i;

	for (i = 0; i < run->s.r.units; i++)
		n += run->age[i] && !run->rank[i];
	return n;
}

/*
 * Global pressure, a little more each time, until kswapd has evicted @target units.
 * It takes what the watermarks lie apart at a time, and on a busy machine more: each
 * look is a step of its own, so that the last one, beyond the target, is small.  Cold
 * pages that are left then get a few turns more: another reclaimer that lost its CPU
 * may have had them in its hands (156 on 7.2, all in the next turn's reach).
 */
static void press(struct run *run, size_t target)
{
	size_t left = 0, now;
	unsigned int more = 0;

	for (run->steps = 0; run->steps < MAX_LOOKS && pressure_step(&pressure);) {
		now = take_ranks(run, ++run->steps);
		more += left >= target && now > left;
		left = now;
		if (left >= target && (!cold_left(run) || more >= MORE_TURNS))
			break;
	}
}

/* Is a swap device in use that writes in the background, so not zram? */
static bool swap_writes_later(void)
{
	char *text = mmg_read_file("/proc/swaps", NULL), *line;
	bool later = false;

	for (line = text; line && (line = strchr(line, '\n')); ) {
		line++;
		later |= *line && strncmp(line, "/dev/zram", strlen("/dev/zram"));
	}
	free(text);
	return later;
}

static void reclaim_in_steps(struct run *run)
{
	struct region *r = &run->s.r;
	size_t cold = 0, left = 0, i, target;
	/*
	 * memory.high stops within a per-CPU stock of charges of where it was set; a step
	 * on a disk is credited with pages that the one before sent out
	 */
	bool again = run->p->how == BY_HIGH || swap_writes_later();
	unsigned int step, tries, max_tries = again ? 4 : 1;

	for (i = 0; i < r->units; i++)
		cold += run->age[i] != 0;
	/* steps that end where an age ends */
	i = STEPS - STEPS % (nr_ages(run) - 1);
	run->steps = cold < i ? cold : i;
	phase("reclaiming");
	if (run->p->how == BY_KSWAPD) {
		run->by_kswapd = reclaimed_by(run, "pgsteal_kswapd");
		run->by_others = reclaimed_by(run, "pgsteal_direct");
		pressure_fill(&pressure, 2 * r->pages);
	}
	if (run->p->how == BY_KSWAPD)
		press(run, cold);
	for (step = 1; run->p->how != BY_KSWAPD && step <= run->steps; step++) {
		target = cold * step / run->steps;
		for (tries = 0; left < target && tries < max_tries; tries++) {
			ask_back(run, (target - left) * r->unit);
			left = take_ranks(run, step);
		}
	}
	for (i = 0; i < r->units; i++) {
		if (!run->rank[i])
			run->rank[i] = run->steps + 1;
	}
	if (run->p->how == BY_KSWAPD) {
		run->by_kswapd = reclaimed_by(run, "pgsteal_kswapd") - run->by_kswapd;
		run->by_others = reclaimed_by(run, "pgsteal_direct") - run->by_others;
		pressure_release(&pressure);
	}
}

/* The order is kswapd's only if it was kswapd that reclaimed, and enough of it */
static void require_kswapd(const struct run *run)
{
	mmg_metric("kswapd_reclaimed", run->by_kswapd);
	mmg_metric("direct_reclaimed", run->by_others);
	mmg_metric("same_step", run->same_step);
	/* a walk that was blind is so whatever the order within the turns was */
	if (run->same_step > SAME_STEP_MAX && run->auc + run->same_step / 2 >= AUC_GOOD)
		mmg_broken("%.3f of the pairs left in one turn of kswapd: in unseen order",
			   run->same_step);
	if ((run->hot_evicted + run->cold_evicted) * 2 < run->cold)
		mmg_broken("kswapd evicted hot %zu and cold %zu of %zu each, %zu pages were held",
			   run->hot_evicted, run->cold_evicted, run->cold, pressure.limit);
	/* a process that wants pages of a higher order at the low watermark reclaims itself */
	if (run->by_others * 4 > run->by_kswapd)
		mmg_broken("kswapd reclaimed %llu pages, others %llu: not kswapd's order",
			   (unsigned long long)run->by_kswapd, (unsigned long long)run->by_others);
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
	run->somers_d = order_somers_d(&o);
	run->same_step = order_same_step(&o);
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
	mglru_set_walk(walk);
	if (!p->folded)
		age_rounds(run);
	reclaim_in_steps(run);
	measure(run);
	phase("tearing down");
	scenario_destroy(&run->s);
	free(run->age);
	free(run->rank);
	mglru_set_walk(true);
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

	double start = seconds();

	experiment(&run, p, false);
	mmg_metric("control_auc", run.auc);
	mmg_metric("control_s", seconds() - start);
	if (!blind(run.auc))
		mmg_broken("control: AUC %.3f with the walk off, hot %zu, cold %zu gone: not blind",
			   run.auc, run.hot_evicted, run.cold_evicted);
	return run.auc;
}

static void report(const struct run *run)
{
	mmg_metric("auc", run->auc);
	mmg_metric("somers_d", run->somers_d);
	mmg_metric("hot", run->hot);
	mmg_metric("cold", run->cold);
	mmg_metric("hot_evicted", run->hot_evicted);
	mmg_metric("cold_evicted", run->cold_evicted);
}

/*
 * A page that is still being written is not reclaimed yet, so reclaim goes on: with
 * few huge pages it has sent all of them before the first cold one is gone, the
 * host's memory and the guest's alike.
 */
static void require_prompt_swap(const struct params *p)
{
	if (p->backing == BACK_THP && swap_writes_later())
		mmg_skip("swap is on a disk: all huge pages are sent before one is gone; use zram");
}

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "host" : "guest";
	static struct run run;
	double control = NAN, resolved;
	char text[200];

	if (!p->host)
		guest_require();
	mglru_require(region_bytes(p));
	require_prompt_swap(p);
	experiment(&run, p, true);
	report(&run);
	if (p->how == BY_KSWAPD)
		require_kswapd(&run);
	/* one control for each kind of memory is enough */
	if (!p->host && !p->divide)
		control = run_control(p);
	snprintf(text, sizeof(text), "AUC %.3f, hot %zu and cold %zu of %zu each evicted", run.auc,
		 run.hot_evicted, run.cold_evicted, run.cold);
	if (p->ages)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", Somers' D %.3f over %u ages", run.somers_d, p->ages);
	if (!isnan(control))
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", AUC %.3f with the walk off", control);
	if ((run.hot_evicted + run.cold_evicted) * 2 < run.cold)
		mmg_fail("asked for the cold half: hot %zu and cold %zu of %zu each evicted",
			 run.hot_evicted, run.cold_evicted, run.cold);
	/*
	 * kswapd takes about the high watermark in one turn, 762 pages here; what one turn,
	 * or two on a busy machine, took of both halves is no disorder of the kernel's
	 */
	resolved = run.auc;
	if (p->how == BY_KSWAPD)
		resolved = (run.auc - run.same_step / 2) / (1 - run.same_step);
	if (!(resolved >= AUC_GOOD) || (p->ages && !(run.somers_d >= SOMERS_GOOD)))
		mmg_fail("%s to the %s: %s", blind(run.auc) ? "blind" : "misordered", who, text);
	mmg_pass("%s's order kept: %s", who, text);
}

#define CASE(name_, ...) { .name = name_, .fn = order_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("anon-4k", .backing = BACK_ANON),
	CASE("anon-thp", .backing = BACK_THP),
	CASE("shmem", .backing = BACK_SHMEM),
	CASE("host-anon-4k", .backing = BACK_ANON, .host = true),
	CASE("host-anon-thp", .backing = BACK_THP, .host = true),
	CASE("host-shmem", .backing = BACK_SHMEM, .host = true),
	CASE("four-ages", .ages = 4, .divide = 2),
	CASE("host-four-ages", .ages = 4, .divide = 2, .host = true),
	CASE("folded", .folded = true, .divide = 4),
	CASE("host-folded", .folded = true, .divide = 4, .host = true),
	CASE("blocks", .blocks = true, .fault_seed = 3, .divide = 4),
	CASE("random-faults", .fault_seed = 1, .divide = 4),
	CASE("backward-faults", .fault_seed = BACKWARDS, .divide = 4),
	CASE("by-command", .how = BY_COMMAND, .divide = 4),
	CASE("by-memory-high", .how = BY_HIGH, .divide = 4),
	{ .name = "by-kswapd", .fn = order_case, .destructive = true,
	  .arg = &(const struct params){ .how = BY_KSWAPD } },
};

static const struct mmg_test test = {
	.name = "kvm/eviction_order",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
