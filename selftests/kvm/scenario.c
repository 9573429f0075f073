// SPDX-License-Identifier: GPL-2.0-only
#include "scenario.h"

#include <stdlib.h>

#include "orderstat.h"
#include "shape.h"

#define RECLAIM_STEPS	16

int scenario_type(const struct scenario *s)
{
	return s->r.backing == BACK_FILE ? LRU_GEN_FILE : LRU_GEN_ANON;
}

void scenario_create(struct scenario *s, const struct scenario_opts *o)
{
	size_t bytes = o->bytes ? o->bytes : mmg_opts.mem_bytes;
	int vcpus = o->vcpus ? o->vcpus : 1;
	enum backing backing = o->backing;

	memset(s, 0, sizeof(*s));
	s->host = o->host;
	s->shape = o->shape;
	if (s->shape) {
		backing = s->shape->backing;
		bytes = shape_bytes(s->shape);
		vcpus = s->shape->vcpus ? s->shape->vcpus : 1;
	}
	group_create(&s->group, o->parent, o->name ? o->name : "scenario");
	if (!s->host)
		guest_create(&s->guest, vcpus, bytes, o->code);
	region_create(&s->r, backing, bytes, o->offset);
	if (s->shape)
		shape_map(s);
	s->all = list_all(s->r.units, o->fault_seed);
	if (!s->host && s->shape)
		shape_attach(s);
	else if (!s->host)
		guest_set_memory(&s->guest, &s->r, o->slots ? o->slots : 1, 0);
	if (o->prepare)
		o->prepare(s);
	group_enter(&s->group);
}

void scenario_touch(struct scenario *s, const u32 *list, size_t n, bool write)
{
	if (s->shape)
		shape_touch(s, list, n, write);
	else if (s->host)
		region_touch(&s->r, list, n, write);
	else if (s->guest.nr_vcpus > 1)
		guest_touch_all(&s->guest, list, n, write);
	else
		guest_touch(&s->guest, 0, list, n, write);
}

void scenario_fill(struct scenario *s, const u32 *list, size_t n, u64 key)
{
	if (s->host)
		region_fill(&s->r, list, n, key);
	else
		guest_pattern(&s->guest, 0, OP_FILL, list, n, key);
}

u64 scenario_wrong(struct scenario *s, const u32 *list, size_t n, u64 key)
{
	u64 first;

	return s->host ? region_check(&s->r, list, n, key, &first) :
			 guest_pattern(&s->guest, 0, OP_CHECK, list, n, key);
}

void scenario_populate(struct scenario *s)
{
	u64 listed;

	mmg_doing("faulting %zu units in", s->r.units);
	/* a file's pages stay clean: reclaim may drop them without writing */
	if (s->shape)
		shape_populate(s);
	else
		scenario_touch(s, s->all, s->r.units, s->r.backing != BACK_FILE);
	region_check_resident(&s->r);
	memcg_drain_lru();
	group_read(&s->group, false);
	listed = group_total(&s->group, scenario_type(s));
	if (listed < s->r.pages || listed > s->r.pages * 5 / 4 + 64)
		mmg_broken("precondition: %llu pages on the group's lists, %zu were faulted in",
			   (unsigned long long)listed, s->r.pages);
	if (s->shape && s->shape->populated)
		s->shape->populated(s);
}

void scenario_reclaim(struct scenario *s, const u8 *label, struct scenario_order *r)
{
	u16 *rank = calloc(s->r.units, sizeof(*rank));
	struct order o = { .n = s->r.units, .age = label, .rank = rank,
			   .nr_ranks = RECLAIM_STEPS + 1 };
	size_t left = 0, target, i;
	unsigned int step;

	mmg_doing("reclaiming");
	r->hot = order_count(&o, 0);
	r->cold = o.n - r->hot;
	for (step = 1; step <= RECLAIM_STEPS; step++) {
		target = r->cold * step / RECLAIM_STEPS;
		if (left >= target)
			continue;
		memcg_reclaim(&s->group.cg, (target - left) * s->r.unit * s->r.page_size, NULL);
		left = o.n - region_read(&s->r);
		for (i = 0; i < o.n; i++) {
			if (!s->r.present[i] && !rank[i])
				rank[i] = step;
		}
	}
	for (i = 0; i < o.n; i++) {
		if (!rank[i])
			rank[i] = RECLAIM_STEPS + 1;
	}
	r->auc = order_auc(&o);
	r->hot_gone = order_evicted(&o, 0);
	r->cold_gone = order_evicted(&o, 1);
	free(rank);
}

void scenario_destroy(struct scenario *s)
{
	if (s->shape)
		shape_detach(s);
	if (!s->host)
		guest_destroy(&s->guest);
	region_destroy(&s->r);
	free(s->all);
	group_destroy(&s->group);
}
