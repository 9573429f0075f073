/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, read through a trace instance of our own, which goes away with the
 * case.
 */
#ifndef MMGATE_TRACE_H
#define MMGATE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/* Does this kernel have the event, such as "kvm/kvm_age_hva"?  False without tracefs. */
bool trace_has(const char *event);

/*
 * Record @event with @kib KiB of buffer a CPU from now on.  Returns 0 or -errno.
 */
int trace_start(const char *event, size_t kib);

/* Stop recording and return the text (to be freed): a line an event, "#" comments first */
char *trace_stop(void);

/* Events that were lost for want of room, summed over the CPUs; -1 if unknown */
long trace_lost(void);

#endif /* MMGATE_TRACE_H */
