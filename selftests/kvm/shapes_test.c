// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is guest memory aged and evicted in order in the shapes that VMMs give it?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 900
 *
 * The shapes are rows of a table in shape.c: memslots over one range, memslots that end
 * within huge pages or move, several VMs of one process, folios of several sizes, memory
 * that other processes have mapped.  Three experiments go over them:
 *
 *	aging-*	half of the units are touched before each of two agings: they, and no
 *		others, are in the generation that was aged; an aging without touches
 *		moves nothing
 *	order-*	what was touched leaves last: AUC 1.00, and 0.50 with the walk off, which
 *		is the negative control of each
 *	look-*	with the walk off reclaim asks page by page: nothing that was touched
 *		leaves; the control touches nothing, and both halves leave alike
 *
 * A unit is a folio.  One page of it is touched, never its first, so that a kernel which
 * asks about the first page of a range only is blind.  Where there are two ways to touch a
 * unit (two memslots, VMs or vCPUs) a hash of its number, which its label does not depend
 * on, decides: a kernel that asks only one of them, or takes only the last answer, loses
 * half of what was touched.  The host-* cases are the same memory touched by this process,
 * for shapes that have such a form.
 *
 * How it could mislead: a shape that the kernel did not make (huge entries, folios of the
 * size and residency are checked first, and skipped or broken); moving a memslot zaps its
 * entries with their accessed bits (it is moved before the touches, never after).  There is
 * no order-moved-slot: up to 6.12 KVM marks a page accessed when its entry is zapped, so
 * that tiers tell hot from cold with the walk off as well, and the control is not blind.
 */
#include "order_run.h"

#include <stdlib.h>

#include "shape.h"

#define BATCH		64	/* MIN_LRU_BATCH, MEMCG_CHARGE_BATCH */
#define ROUNDS		2

/**
 * struct params - a case
 * @shape:	name of the row in shape.c
 * @host:	touched by this process
 */
struct params {
	const char *shape;
	bool host;
};

static const struct shape *prepare(const struct params *p)
{
	const struct shape *shape = shape_find(p->shape);

	if (!p->host)
		guest_require();
	mglru_require(shape_bytes(shape));
	if (shape->fit)
		shape->fit(shape);
	return shape;
}

static struct scenario_opts opts_of(const struct params *p, const struct shape *shape,
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

static void aging_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
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
	least = n * (s.r.unit - shape->partly);
	most = n * s.r.unit;
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

static void order_of(struct order_run *run, const struct params *p, const struct shape *shape,
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

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
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

static void look(const struct params *p, const struct shape *shape, bool touch,
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
	for (i = 0; i < 8; i++)
		memcg_reclaim(&s.group.cg, s.r.pages / 32 * s.r.page_size, NULL);
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

static void look_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
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

/* Its name, what it does, the shape, and whether the host touches it */
#define CASE(name_, fn_, shape_, host_) { .name = (name_), .fn = (fn_), .timeout_s = 120, \
	.arg = &(const struct params){ .shape = (shape_), .host = (host_) } }

static const struct mmg_case cases[] = {
	CASE("aging-aliases", aging_case, "aliases", false),
	CASE("order-aliases", order_case, "aliases", false),
	CASE("look-aliases", look_case, "aliases", false),
	CASE("aging-aliases-thp", aging_case, "aliases-thp", false),
	CASE("order-aliases-thp", order_case, "aliases-thp", false),
	CASE("aging-odd-slots-thp", aging_case, "odd-slots-thp", false),
	CASE("order-odd-slots-thp", order_case, "odd-slots-thp", false),
	CASE("aging-moved-slot", aging_case, "moved-slot", false),
	CASE("aging-many-vmas", aging_case, "many-vmas", false),
	CASE("order-many-vmas", order_case, "many-vmas", false),
	CASE("host-aging-many-vmas", aging_case, "many-vmas", true),
	CASE("aging-pud-edge", aging_case, "pud-edge", false),
	CASE("order-pud-edge", order_case, "pud-edge", false),
	CASE("host-aging-pud-edge", aging_case, "pud-edge", true),
	CASE("aging-two-vms", aging_case, "two-vms", false),
	CASE("order-two-vms", order_case, "two-vms", false),
	CASE("look-two-vms", look_case, "two-vms", false),
	CASE("aging-two-vms-thp", aging_case, "two-vms-thp", false),
	CASE("look-two-vms-thp", look_case, "two-vms-thp", false),
	CASE("aging-two-vms-halves", aging_case, "two-vms-halves", false),
	CASE("order-two-vms-halves", order_case, "two-vms-halves", false),
	CASE("aging-two-roots", aging_case, "two-roots", false),
	CASE("order-two-roots", order_case, "two-roots", false),
	CASE("aging-thp-4k-tables", aging_case, "thp-4k-tables", false),
	CASE("order-thp-4k-tables", order_case, "thp-4k-tables", false),
	CASE("look-thp-4k-tables", look_case, "thp-4k-tables", false),
	CASE("aging-thp-partly", aging_case, "thp-partly", false),
	CASE("host-aging-thp-partly", aging_case, "thp-partly", true),
	CASE("aging-mthp-16k", aging_case, "mthp-16k", false),
	CASE("order-mthp-16k", order_case, "mthp-16k", false),
	CASE("host-aging-mthp-16k", aging_case, "mthp-16k", true),
	CASE("aging-mthp-64k", aging_case, "mthp-64k", false),
	CASE("order-mthp-64k", order_case, "mthp-64k", false),
	CASE("look-mthp-64k", look_case, "mthp-64k", false),
	CASE("host-aging-mthp-64k", aging_case, "mthp-64k", true),
	CASE("aging-mthp-1m", aging_case, "mthp-1m", false),
	CASE("host-aging-mthp-1m", aging_case, "mthp-1m", true),
	CASE("aging-shmem-thp", aging_case, "shmem-thp", false),
	CASE("host-aging-shmem-thp", aging_case, "shmem-thp", true),
	CASE("aging-helper", aging_case, "helper", false),
	CASE("order-helper", order_case, "helper", false),
	CASE("aging-forked", aging_case, "forked", false),
	CASE("order-forked", order_case, "forked", false),
};

static const struct mmg_test test = {
	.name = "kvm/shapes",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
