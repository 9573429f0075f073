/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run beside what the history holds: was it so before?
 */
#ifndef MMGATE_PAST_H
#define MMGATE_PAST_H

#include "base/base.h"

#define PAST_RUNS	10	/* the newest of a case, that a run is compared with */

/*
 * True where @now is worse than all of the @n values of @old (at least five), by more than @least
 * and by more than six times their spread (median absolute deviation, scaled as a standard deviation).
 * @higher: a greater value is the worse one.
 */
bool past_worse(const double *old, guint n, double now, double least, bool higher);

/*
 * Compare @run with the last runs of the same cases on the same machines and architecture, and set
 * run["past"] where there is something to say: a case that fails now and failed before, one that is
 * slower or orders worse than it used to.  Of a gate the patched kernel is looked at, and what its base
 * shows as well is not said.  Hunts for mutants, bisections and the patched kernels of gates are no past.
 * False with *@err where the history cannot be read.
 */
bool past_add(json_t *run, GError **err);

#endif /* MMGATE_PAST_H */
