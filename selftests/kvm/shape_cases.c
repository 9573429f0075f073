// SPDX-License-Identifier: GPL-2.0-only
#include "shape_cases.h"

#include <stdlib.h>

#include "order_run.h"
#include "shape.h"

#define BATCH		64	/* MIN_LRU_BATCH, MEMCG_CHARGE_BATCH */
#define ROUNDS		2

static const struct shape *prepare(const struct shape_params *p)
{
	const struct shape *shape = shape_find(p->shape);

	if (!p->host)
		guest_require();
	mglru_require(shape_bytes(shape));
	if (shape->fit)
		shape->fit(shape);
	return shape;
}

static struct scenario_opts opts_of(const struct shape_params *p, const struct shape *shape,
				    const char *name)
{
	return (struct scenario_opts){ .name = name, .host = p->host, .shape = shape };
}

static u32 *half_of(const struct scenario *s, u8 **label, size_t *n)
{
	*label = calloc(1, s->r.units);
	if (!*label)
		mmg_broken("no memory for the labels of %zu units", s->r.units);
	label_stratified(*label, s->all, s->r.units, 2, mmg_opts.seed);
	return list_where(*label, s->r.units, 0, n);
}

/* --- aging -------------------------------------------------------------------------------- */

static u64 moved_pages(struct scenario *s)
{
	int type = scenario_type(s);

	group_read(&s->group, false);
	return group_pages(&s->group, 0, type) + group_pages(&s->group, 1, type);
}

void shape_aging_case(const struct mmg_case *c)
{
	const struct shape_params *p = c->arg;
	const struct shape *shape = prepare(p);
	struct scenario_opts o = opts_of(p, shape, "shape");
	const char *who = p->host ? "host" : "guest";
	static struct scenario s;
	u64 moved, still, least, most;
	size_t n;
	u8 *label;
	u32 *list;
	int round;

	scenario_create(&s, &o);
	scenario_populate(&s);
	group_age(&s.group, true);
	list = half_of(&s, &label, &n);
	mmg_doing("touching half of it and aging");
	for (round = 0; round < ROUNDS; round++) {
		scenario_touch(&s, list, n, false);
		group_age(&s.group, true);
	}
	moved = moved_pages(&s);
	/* what was given back of a folio is counted until the folio is split */
	least = n * (shape_held(&s) - shape->partly);
	most = n * shape_held(&s);
	mmg_metric("touched", most);
	mmg_metric("moved", moved);
	if (moved + BATCH < least || moved > most + BATCH)
		mmg_fail("%s: %llu pages moved, the %s touched %zu of %zu units of %zu pages",
			 shape->about, (unsigned long long)moved, who, n, s.r.units, s.r.unit);
	mmg_doing("aging without touches");
	group_age(&s.group, true);
	still = moved_pages(&s);
	mmg_metric("moved_untouched", still);
	if (still > BATCH)
		mmg_fail("%s: %llu pages moved although nobody touched any", shape->about,
			 (unsigned long long)still);
	mmg_pass("%s: %llu pages of the %zu units of %zu that the %s touched moved, then none",
		 shape->about, (unsigned long long)moved, n, s.r.unit, who);
}

/* --- order -------------------------------------------------------------------------------- */

static void order_of(struct order_run *run, const struct shape_params *p, const struct shape *shape,
		     bool walk)
{
	struct scenario_opts o = opts_of(p, shape, NULL);

	order_run_create(run, &o, 2, walk);
	scenario_populate(&run->s);
	order_run_age(run);
	order_run_reclaim(run, order_run_by_memory_reclaim, 1);
	order_run_measure(run);
	order_run_destroy(run);
}

void shape_order_case(const struct mmg_case *c)
{
	const struct shape_params *p = c->arg;
	const struct shape *shape = prepare(p);
	static struct order_run run, control;

	order_of(&run, p, shape, true);
	order_run_report(&run);
	order_of(&control, p, shape, false);
	order_require_blind(&control, "with the walk off");
	order_judge(&run, run.auc, &control);
}

/* --- look-around ---------------------------------------------------------------------------- */

struct looked {
	size_t touched, touched_gone, others_gone;
};

static void look(const struct shape_params *p, const struct shape *shape, bool touch,
		 struct looked *res)
{
	struct scenario_opts o = opts_of(p, shape, touch ? "look" : "control");
	static struct scenario s;
	size_t i, n;
	u8 *label;
	u32 *list;

	memset(res, 0, sizeof(*res));
	/* a batch of 64 is isolated before it is looked at: let it lie scattered */
	o.fault_seed = mmg_opts.seed + 1;
	scenario_create(&s, &o);
	scenario_populate(&s);
	group_age(&s.group, true);
	mglru_set_walk(false);
	list = half_of(&s, &label, &n);
	res->touched = n;
	if (touch)
		scenario_touch(&s, list, n, false);
	mmg_doing("reclaiming half of what was not touched");
	/* no further: a request may take many times what it asks for */
	for (i = 0; i < 8 && s.r.units - region_read(&s.r) < s.r.units / 4; i++)
		memcg_reclaim(&s.group.cg, s.r.units * shape_held(&s) / 32 * s.r.page_size, NULL);
	region_read(&s.r);
	for (i = 0; i < s.r.units; i++) {
		if (!s.r.present[i])
			*(label[i] ? &res->others_gone : &res->touched_gone) += 1;
	}
	mglru_set_walk(true);
	scenario_destroy(&s);
	free(list);
	free(label);
}

void shape_look_case(const struct mmg_case *c)
{
	const struct shape_params *p = c->arg;
	const struct shape *shape = prepare(p);
	struct looked r, control;
	size_t total;

	look(p, shape, true, &r);
	look(p, shape, false, &control);
	total = control.touched_gone + control.others_gone;
	mmg_metric("touched", r.touched);
	mmg_metric("touched_evicted", r.touched_gone);
	mmg_metric("others_evicted", r.others_gone);
	mmg_metric("control_evicted", control.touched_gone);
	if (control.touched_gone * 5 < total * 2 || control.touched_gone * 5 > total * 3)
		mmg_broken("control: nothing touched, yet %zu and %zu of the halves evicted",
			   control.touched_gone, control.others_gone);
	if (r.touched_gone * 100 > r.touched)
		mmg_fail("%s: %zu of %zu units that were touched were evicted, %zu others",
			 shape->about, r.touched_gone, r.touched, r.others_gone);
	if (r.others_gone * 4 < r.touched)
		mmg_fail("%s: only %zu of %zu untouched units were evicted", shape->about,
			 r.others_gone, r.touched);
	mmg_pass("%s: %zu of %zu touched and %zu other units evicted", shape->about,
		 r.touched_gone, r.touched, r.others_gone);
}
