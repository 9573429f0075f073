/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three experiments that go over the shapes of shape.h, for tests that are tables of
 * them:
 *
 *	aging	half of the units are touched before each of two agings: they, and no
 *		others, are in the generation that was aged; an aging without touches
 *		moves nothing
 *	order	what was touched leaves last: AUC 1.00, and 0.50 with the walk off, which
 *		is the negative control of each
 *	look	with the walk off reclaim asks page by page: nothing that was touched
 *		leaves; the control touches nothing, and both halves leave alike
 */
#ifndef MMGATE_SHAPE_CASES_H
#define MMGATE_SHAPE_CASES_H

#include "runner.h"

/**
 * struct shape_params - a case
 * @shape:	name of the row in one of the tables of shapes
 * @host:	touched by this process
 */
struct shape_params {
	const char *shape;
	bool host;
};

void shape_aging_case(const struct mmg_case *c);
void shape_order_case(const struct mmg_case *c);
void shape_look_case(const struct mmg_case *c);

/* Its name, what it does, the shape, and whether the host touches it */
#define SHAPE_CASE(name_, fn_, shape_, host_) { .name = (name_), .fn = (fn_), .timeout_s = 120, \
	.arg = &(const struct shape_params){ .shape = (shape_), .host = (host_) } }

#endif /* MMGATE_SHAPE_CASES_H */
