/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order experiment: which units of a region leave first, those that were touched long
 * ago or those that were touched lately?  The tests decide how the region is faulted in,
 * who touches it and who asks for memory back; here are the parts that they share.
 */
#ifndef MMGATE_ORDER_RUN_H
#define MMGATE_ORDER_RUN_H

#include "scenario.h"

/* Steps of reclaim after each of which the residency of the region is read */
#define ORDER_STEPS	16
/* AUC of an order that is kept: batches and per-CPU lists may cost a hundredth */
#define ORDER_AUC_GOOD	0.99

/**
 * struct order_run - one run of the experiment
 * @s:		group, region and who touches it
 * @walk:	with MGLRU's page-table walk; without it, or, where only eviction asks, without
 *		touches, the run is the negative control
 * @ages:	number of touch ages
 * @age:	touch age of each unit: 0 is the hottest
 * @rank:	step at which each unit was first seen absent, 0 while it is present
 * @out:	units that no order is asked of: they left before the touches
 * @steps:	steps of reclaim so far
 * @auc:	see order_auc(); this and what follows is set by order_run_measure()
 * @somers_d:	see order_somers_d()
 * @same_step:	see order_same_step()
 * @hot:	units of age 0
 * @cold:	all others
 * @hot_evicted: units of age 0 that left
 * @cold_evicted: all others that left
 */
struct order_run {
	struct scenario s;
	bool walk;
	unsigned int ages;
	u8 *age;
	u16 *rank;
	u8 *out;
	unsigned int steps;
	double auc, somers_d, same_step;
	size_t hot, cold, hot_evicted, cold_evicted;
};

/*
 * Create the scenario, and give each unit one of @ages ages by a seeded label that is
 * balanced along the fault order.  Nothing is touched yet.  The group's name is "order" or
 * "control" where @o has none.
 */
void order_run_create(struct order_run *run, const struct scenario_opts *o, unsigned int ages,
		      bool walk);

/*
 * Age once, so that nothing is young, then touch and age in rounds: a unit of age A is
 * touched for the last time in the A-th round from the end, the oldest not at all.
 *
 * Where only eviction asks who was touched (see mglru_promise()) ageing clears nothing.  There
 * a small reclaim comes first: it finds all units young, clears them, and takes the first
 * that it then meets.  Those are left out, and the hot half is touched once.  Skips where
 * there are more ages than two: page-table walks make them.
 */
void order_run_age(struct order_run *run);

/* Look which units left since the last look, as step @step; returns how many are absent, not
 * counting those that are left out
 */
size_t order_run_look(struct order_run *run, unsigned int step);

/* Cold units that are still present, as of the last look */
size_t order_run_cold_left(const struct order_run *run);

/*
 * Ask for the cold units in ORDER_STEPS steps: @ask is to make the kernel reclaim @pages
 * base pages.  A step that fell short is asked for again, @tries times in all.
 */
void order_run_reclaim(struct order_run *run, void (*ask)(struct order_run *run, u64 pages),
		       unsigned int tries);

/* The usual way to ask: memory.reclaim of the group */
void order_run_by_memory_reclaim(struct order_run *run, u64 pages);

/* Compute the order from the ranks, and write the artifact order.tsv */
void order_run_measure(struct order_run *run);

/* Free all of it; the walk is on again */
void order_run_destroy(struct order_run *run);

/* Metrics of a measured run */
void order_run_report(const struct order_run *run);

/* "AUC 0.500, hot 9 and cold 9 of 18 each evicted" */
const char *order_run_text(const struct order_run *run, char *text, size_t size);

/* What the negative control is made by: "with the walk off" or "with nothing touched" */
const char *order_control(void);

/* An order that does not tell hot from cold */
bool order_blind(double auc);

/* Broken unless the negative control came out blind; @what says what it was without */
void order_require_blind(const struct order_run *control, const char *what);

/*
 * End the case: fails where less than half of the cold units' number left, or the order
 * was not kept by @auc; passes otherwise.  @control is NULL where there is none.
 */
__noreturn void order_judge(const struct order_run *run, double auc,
			    const struct order_run *control);

#endif /* MMGATE_ORDER_RUN_H */
