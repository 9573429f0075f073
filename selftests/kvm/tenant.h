/* SPDX-License-Identifier: GPL-2.0-only */
/* A VM (or a plain process) with a cgroup of its own, one of several on a machine */
#ifndef MMGATE_TENANT_H
#define MMGATE_TENANT_H

#include "scenario.h"
#include "worker.h"

/**
 * struct tenant - a helper process that owns a VM, its memory and its cgroup
 * @group:	the cgroup and its generations
 * @w:		the helper process
 * @s:		what the helper has: the VM and the region
 * @units:	base pages of the region
 * @host:	no VM: the helper touches the region itself
 * @backwards:	its memory is faulted in from the end to the start
 */
struct tenant {
	struct group group;
	struct worker w;
	struct scenario s;
	size_t units;
	bool host;
	bool backwards;
};

/*
 * Start the helper, with @bytes of anonymous memory charged to a new group below @parent
 * (NULL: the root), all of it written once.  Set t->host and t->backwards before.
 */
void tenant_start(struct tenant *t, const struct memcg *parent, const char *name, size_t bytes);

/* The same in a group that is there already, beside others that it has */
void tenant_join(struct tenant *t, const struct group *group, size_t bytes);

/* Write @n of the units, from @from on, and put them on the lists */
void tenant_touch(struct tenant *t, size_t from, size_t n);

/* Write every other unit, the hot half */
void tenant_touch_hot(struct tenant *t);

/* Give all of it back (MADV_DONTNEED, as a balloon does): the next touch is charged anew */
void tenant_drop(struct tenant *t);

/* Hot and cold units that are no longer in memory */
u64 tenant_absent_hot(struct tenant *t);
u64 tenant_absent_cold(struct tenant *t);

/* Fill the memory with the pattern of @key; words that differ from it as guest and host read it */
void tenant_fill(struct tenant *t, u64 key);
u64 tenant_check(struct tenant *t, u64 key);

/* Age the group @rounds times, without touches */
void tenant_age(struct tenant *t, int rounds);

/* Units that are no longer in memory */
u64 tenant_absent(struct tenant *t);

/* Pages of the group that were reclaimed so far, by anybody (memory.stat, pgsteal) */
u64 tenant_stolen(const struct tenant *t);

/* Write @text to a file of the group; broken where that is refused */
void tenant_set(const struct memcg *cg, const char *file, const char *text);

#endif /* MMGATE_TENANT_H */
