/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest memory as VMMs make it: a table of shapes, each of which changes how the region of
 * a scenario is mapped, who has it, and by which way it is touched.  An experiment that
 * works on units of a region works on each shape; see shapes_test.c.
 */
#ifndef MMGATE_SHAPE_H
#define MMGATE_SHAPE_H

#include "scenario.h"

#define SHAPE_WAYS	2

/**
 * struct shape_way - one way to touch the region
 * @guest:	the VM
 * @vcpu:	its vCPU
 * @gpa:	where the region starts there
 */
struct shape_way {
	struct guest *guest;
	int vcpu;
	u64 gpa;
};

/**
 * struct shape - a row of the table
 * @name:	as in the names of cases
 * @about:	one line, for messages
 * @backing:	what the memory is made of
 * @order:	log2 of the base pages of a folio where that is asked for (mTHP), else 0
 * @huge:	the region has 2M folios: few units, so more of them
 * @mib:	size of the region, 0 for the usual one
 * @partly:	so many base pages at the start of each unit are given back
 * @held:	base pages of memory that a unit takes, 0 where that is all of them (KSM merges)
 * @write:	units are touched by writes
 * @vcpus:	vCPUs, 0 for one
 * @guest_only:	has no form without a VM
 * @fit:	before anything is made: skip where the shape cannot be had; may be NULL
 * @map:	after the region is mapped, before it is touched; may be NULL
 * @attach:	give the region to the VM or VMs and fill in the ways; NULL for one memslot
 * @populated:	once all of it was faulted in; may be NULL
 * @round:	before each round of touches; may be NULL
 * @touched:	after each round, with the base pages that were touched; may be NULL
 * @detach:	before all of it goes; may be NULL
 */
struct shape {
	const char *name;
	const char *about;
	enum backing backing;
	unsigned int order;
	bool huge;
	size_t mib;
	size_t partly;
	size_t held;
	bool write;
	int vcpus;
	bool guest_only;
	void (*fit)(const struct shape *shape);
	void (*map)(struct scenario *s);
	void (*attach)(struct scenario *s);
	void (*populated)(struct scenario *s);
	void (*round)(struct scenario *s);
	void (*touched)(struct scenario *s, const u32 *pages, size_t n);
	void (*detach)(struct scenario *s);
};

/* The tables: shape.c, shape_live.c */
extern const struct shape live_shapes[];
extern const size_t nr_live_shapes;

/* The shape of that name; broken where there is none */
const struct shape *shape_find(const char *name);

/* Size in bytes that an experiment with the shape should take */
size_t shape_bytes(const struct shape *shape);

/* Called by scenario_create(), in this order */
void shape_map(struct scenario *s);
void shape_attach(struct scenario *s);
/* Called by scenario_populate(): all base pages that are there, by every way */
void shape_populate(struct scenario *s);
/* Called by scenario_touch(): one base page of each unit, not its first, by the unit's way */
void shape_touch(struct scenario *s, const u32 *list, size_t n, bool write);
/* Called by scenario_destroy() */
void shape_detach(struct scenario *s);

/* Base pages of memory that a unit takes, once the shape is made */
size_t shape_held(const struct scenario *s);

/* For the hooks of a table: give the region to the VM as one memslot, touched in one way */
void shape_one_slot(struct scenario *s, u32 flags);
/*
 * Read each base page once.  What takes the guest's entries away leaves KVM to mark only
 * those accessed that are mapped again, and tiers would tell them from the others.
 */
void shape_map_again(struct scenario *s);
/* Move the region, not touched yet, to where @below base pages of it lie below 1 GiB */
void shape_move_to_edge(struct scenario *s, size_t below);

#endif /* MMGATE_SHAPE_H */
