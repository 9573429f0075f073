/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_CHOOSE_H
#define MMGATE_CHOOSE_H

#include "plan/guards.h"
#include "source/source.h"

/*
 * What the change from overlay @base to overlay @patched of @src calls for: gates, and tests with their
 * machines, printed with their reasons unless @quiet.  Tests are kept, the most telling first, as
 * long as @runs runs of each, one after the other, fit into @budget seconds.  NULL with *@err;
 * exit status MMG_EXIT_NOTHING where nothing that is touched is guarded.
 */
struct choice *choose_for_change(const struct source *src, GHashTable *base, GHashTable *patched, double runs,
				 double budget, bool quiet, GError **err);

#endif /* MMGATE_CHOOSE_H */
