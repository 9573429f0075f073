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
 * @partly:	so many base pages at the start of each unit are given back
 * @vcpus:	vCPUs, 0 for one
 * @guest_only:	has no form without a VM
 * @fit:	before anything is made: skip where the shape cannot be had; may be NULL
 * @map:	after the region is mapped, before it is touched; may be NULL
 * @attach:	give the region to the VM or VMs and fill in the ways; NULL for one memslot
 * @populated:	once all of it was faulted in; may be NULL
 * @round:	before each round of touches; may be NULL
 */
struct shape {
	const char *name;
	const char *about;
	enum backing backing;
	unsigned int order;
	bool huge;
	size_t partly;
	int vcpus;
	bool guest_only;
	void (*fit)(const struct shape *shape);
	void (*map)(struct scenario *s);
	void (*attach)(struct scenario *s);
	void (*populated)(struct scenario *s);
	void (*round)(struct scenario *s);
};

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

#endif /* MMGATE_SHAPE_H */
