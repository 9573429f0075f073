// SPDX-License-Identifier: GPL-2.0-only
#include "order_run.h"

#include <stdlib.h>

#include "orderstat.h"
#include "shape.h"
#include "vmstat.h"

#define ROUNDS		2	/* of touches, with two ages */
#define PRIME_SHARE	16	/* of the units leave first where only eviction asks */
#define PRIME_TRIES	4
#define SOMERS_GOOD	0.98
#define BLIND_LOW	0.4
#define BLIND_HIGH	0.6

void order_run_create(struct order_run *run, const struct scenario_opts *o, unsigned int ages,
		      bool walk)
{
	struct scenario_opts opts = *o;
	size_t n;

	memset(run, 0, sizeof(*run));
	run->walk = walk;
	run->ages = ages;
	if (!opts.name)
		opts.name = walk ? "order" : "control";
	scenario_create(&run->s, &opts);
	n = run->s.r.units;
	run->age = calloc(n, sizeof(*run->age));
	run->rank = calloc(n, sizeof(*run->rank));
	run->out = calloc(n, sizeof(*run->out));
	if (!run->age || !run->rank || !run->out)
		mmg_broken("no memory for the labels of %zu units", n);
	label_stratified(run->age, run->s.all, n, ages, mmg_opts.seed + walk);
}

/* The units that are younger than @age, a list to be freed */
static u32 *younger_than(const struct order_run *run, unsigned int age, size_t *n)
{
	u32 *list = malloc(run->s.r.units * sizeof(*list));
	size_t i;

	*n = 0;
	for (i = 0; list && i < run->s.r.units; i++) {
		if (!run->out[i] && run->age[i] < age)
			list[(*n)++] = i;
	}
	return list;
}

static void say_generations(struct order_run *run, const char *when)
{
	const struct group *group = &run->s.group;
	int type = scenario_type(&run->s);

	if (!mmg_opts.verbose)
		return;
	group_read(&run->s.group, true);
	mmg_info("%s: generations -3 to 0 have %llu %llu %llu %llu pages; walk: %lld leaves, %lld young",
		 when, (unsigned long long)group_pages(group, 3, type),
		 (unsigned long long)group_pages(group, 2, type),
		 (unsigned long long)group_pages(group, 1, type),
		 (unsigned long long)group_pages(group, 0, type),
		 group_counter(group, WALK_TOTAL), group_counter(group, WALK_YOUNG));
}

/*
 * folio_check_references() finds every unit young as long as the bit is there that its fault
 * left, and clears it: nothing is taken before all that is older was looked at and cleared.
 */
static void prime(struct order_run *run)
{
	struct region *r = &run->s.r;
	size_t few = r->units / PRIME_SHARE ? r->units / PRIME_SHARE : 1, left = 0, i, n;
	u64 splits = vmstat_now("thp_swpout_fallback");
	unsigned int tries;
	u32 *list;

	mmg_doing("clearing what faults left young");
	for (tries = 0; tries < PRIME_TRIES && left < few; tries++) {
		memcg_reclaim(&run->s.group.cg, (few - left) * r->unit * r->page_size, NULL);
		left = r->units - region_read(r);
	}
	mmg_metric(run->walk ? "primed" : "control_primed", left);
	/* not CONFIG_THP_SWAP: the base pages of all that were isolated are evicted at once */
	if (r->unit > 1 && left > r->units / 2 && vmstat_now("thp_swpout_fallback") > splits)
		mmg_skip("reclaim splits huge pages here instead of swapping them whole, so they have no order");
	if (left < few || left > r->units / 2)
		mmg_broken("%zu of %zu units left when %zu were asked for", left, r->units, few);
	for (i = 0; i < r->units; i++)
		run->out[i] = !r->present[i];
	if (!run->walk)
		return;
	list = younger_than(run, 1, &n);
	scenario_touch(&run->s, list, n, false);
	free(list);
}

/*
 * With two ages the hot half is touched in both of two rounds.  With more, the last round
 * is not followed by an aging: only four generations are kept, the youngest stays empty,
 * and folding would mix the two oldest ages.
 */
void order_run_age(struct order_run *run)
{
	unsigned int ages = run->ages, rounds = ages > 2 ? ages - 1 : ROUNDS, round;
	size_t n;
	u32 *list;

	if (mglru_promise() == PROMISE_EVICTION) {
		if (ages > 2)
			mmg_skip("eviction only: an order of %u ages is what page-table walks make",
				 ages);
		prime(run);
		return;
	}
	mmg_doing("aging");
	/* after the fault-in: switching while the group is busy trips kernels up to 6.12 */
	mglru_set_walk(run->walk);
	group_age(&run->s.group, true);
	say_generations(run, "after the first aging");
	for (round = 0; round < rounds; round++) {
		list = younger_than(run, ages > 2 ? ages - 1 - round : 1, &n);
		scenario_touch(&run->s, list, n, false);
		free(list);
		if (ages > 2 && round == rounds - 1)
			break;
		group_age(&run->s.group, true);
		say_generations(run, "after touching the younger ones and aging");
		group_read(&run->s.group, false);
		group_log(&run->s.group, round);
	}
}

size_t order_run_look(struct order_run *run, unsigned int step)
{
	struct region *r = &run->s.r;
	size_t i, left = 0;

	run->steps = step;
	region_read(r);
	for (i = 0; i < r->units; i++) {
		if (run->out[i] || r->present[i])
			continue;
		left++;
		if (!run->rank[i])
			run->rank[i] = step;
	}
	return left;
}

size_t order_run_cold_left(const struct order_run *run)
{
	size_t n = 0, i;

	for (i = 0; i < run->s.r.units; i++)
		n += !run->out[i] && run->age[i] && !run->rank[i];
	return n;
}

void order_run_by_memory_reclaim(struct order_run *run, u64 pages)
{
	memcg_reclaim(&run->s.group.cg, pages * run->s.r.page_size, NULL);
}

void order_run_reclaim(struct order_run *run, void (*ask)(struct order_run *run, u64 pages),
		       unsigned int tries)
{
	/* steps that end where an age ends */
	unsigned int steps = ORDER_STEPS - ORDER_STEPS % (run->ages - 1), step, i;
	size_t cold = order_run_cold_left(run), left = 0, target;

	mmg_doing("reclaiming");
	if (cold < steps)
		steps = cold;
	for (step = 1; step <= steps; step++) {
		target = cold * step / steps;
		for (i = 0; left < target && i < tries; i++) {
			ask(run, (target - left) * shape_held(&run->s));
			left = order_run_look(run, step);
		}
	}
	run->steps = steps;
}

static void write_order(const struct order_run *run)
{
	FILE *f = mmg_artifact(run->walk ? "order.tsv" : "control.order.tsv");
	size_t i;

	if (!f)
		return;
	fprintf(f, "page\tage\tstep\tnsteps\n");
	for (i = 0; i < run->s.r.units; i++) {
		if (!run->out[i])
			fprintf(f, "%zu\t%u\t%u\t%u\n", i, run->age[i], run->rank[i],
				run->steps);
	}
	fclose(f);
}

void order_run_measure(struct order_run *run)
{
	struct order o = { .age = run->age, .rank = run->rank, .nr_ranks = run->steps + 1 };
	unsigned int age;
	size_t i;

	for (i = 0; i < run->s.r.units; i++) {
		if (!run->rank[i])
			run->rank[i] = o.nr_ranks;
	}
	write_order(run);
	/* from here on the arrays have only those that an order is asked of */
	for (i = 0; i < run->s.r.units; i++) {
		if (run->out[i])
			continue;
		run->age[o.n] = run->age[i];
		run->rank[o.n++] = run->rank[i];
	}
	run->auc = order_auc(&o);
	run->somers_d = order_somers_d(&o);
	run->same_step = order_same_step(&o);
	run->hot = order_count(&o, 0);
	run->cold = o.n - run->hot;
	run->hot_evicted = order_evicted(&o, 0);
	run->cold_evicted = 0;
	for (age = 1; age < ORDER_MAX_AGES; age++)
		run->cold_evicted += order_evicted(&o, age);
}

void order_run_destroy(struct order_run *run)
{
	mmg_doing("tearing down");
	scenario_destroy(&run->s);
	free(run->age);
	free(run->rank);
	free(run->out);
	run->age = NULL;
	run->rank = NULL;
	run->out = NULL;
	if (mglru_promise() == PROMISE_WALK)
		mglru_set_walk(true);
}

void order_run_report(const struct order_run *run)
{
	mmg_metric("promise_walk", mglru_promise() == PROMISE_WALK);
	mmg_metric("auc", run->auc);
	mmg_metric("somers_d", run->somers_d);
	mmg_metric("hot", run->hot);
	mmg_metric("cold", run->cold);
	mmg_metric("hot_evicted", run->hot_evicted);
	mmg_metric("cold_evicted", run->cold_evicted);
}

const char *order_run_text(const struct order_run *run, char *text, size_t size)
{
	int n = snprintf(text, size, "AUC %.3f, hot %zu and cold %zu of %zu each evicted", run->auc,
			 run->hot_evicted, run->cold_evicted, run->cold);

	if (run->ages > 2 && n > 0 && (size_t)n < size)
		snprintf(text + n, size - n, ", Somers' D %.3f over %u ages", run->somers_d,
			 run->ages);
	return text;
}

const char *order_control(void)
{
	return mglru_promise() == PROMISE_WALK ? "with the walk off" : "with nothing touched";
}

bool order_blind(double auc)
{
	return auc >= BLIND_LOW && auc <= BLIND_HIGH;
}

void order_require_blind(const struct order_run *control, const char *what)
{
	mmg_metric("control_auc", control->auc);
	if (!order_blind(control->auc))
		mmg_broken("control: AUC %.3f %s, hot %zu, cold %zu gone: not blind", control->auc,
			   what, control->hot_evicted, control->cold_evicted);
}

__noreturn void order_judge(const struct order_run *run, double auc,
			    const struct order_run *control)
{
	const char *who = run->s.host ? "host" : "guest";
	char text[160], without[48] = "";

	order_run_text(run, text, sizeof(text));
	if (control)
		snprintf(without, sizeof(without), ", AUC %.3f in the control", control->auc);
	if ((run->hot_evicted + run->cold_evicted) * 2 < run->cold)
		mmg_fail("asked for the cold part: %s", text);
	if (!(auc >= ORDER_AUC_GOOD) || (run->ages > 2 && !(run->somers_d >= SOMERS_GOOD)))
		mmg_fail("%s to the %s (%s): %s%s", order_blind(run->auc) ? "blind" : "misordered",
			 who, mglru_promise_name(), text, without);
	mmg_pass("%s's order kept (%s): %s%s", who, mglru_promise_name(), text, without);
}
