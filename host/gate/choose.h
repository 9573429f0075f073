/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_CHOOSE_H
#define MMGATE_CHOOSE_H

#include "plan/guards.h"
#include "source/source.h"

/*
 * What the change from overlay @base to overlay @patched of @src calls for: gates, tests and
 * machines, printed with their reasons unless @quiet.  Tests are kept, the most telling first, as
 * long as @runs runs of each, all kernels together, fit into @minutes (0: three).  NULL with *@err;
 * exit status MMG_EXIT_NOTHING where nothing that is touched is guarded.
 */
struct choice *choose_for_change(const struct source *src, GHashTable *base, GHashTable *patched, int runs,
				 int minutes, bool quiet, GError **err);

#endif /* MMGATE_CHOOSE_H */
