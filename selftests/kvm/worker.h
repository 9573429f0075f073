/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_WORKER_H
#define MMGATE_WORKER_H

#include <sys/types.h>

#include "compiler.h"

/*
 * A helper process, for what has to be another mm or another group: it forks, and
 * calls @fn with each command that worker_call() sends, returning what that returns.
 * Its death is the end of the case.
 */
typedef u64 (*worker_fn)(void *state, int cmd, u64 arg);

struct worker {
	pid_t pid;
	int to;
	int from;
};

void worker_start(struct worker *w, worker_fn fn, void *state);
u64 worker_call(struct worker *w, int cmd, u64 arg);
/* End the helper and wait for it */
void worker_stop(struct worker *w);
/* The helper has ended already, and was waited for */
void worker_forget(struct worker *w);
/* The two halves of a call, to let helpers work at the same time */
void worker_send(struct worker *w, int cmd, u64 arg);
u64 worker_wait(struct worker *w);

#endif /* MMGATE_WORKER_H */
