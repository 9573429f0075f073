/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory cgroups (version 2) of a test.  Each is in the journal, so it goes
 * away with the case however that ends.
 */
#ifndef MMGATE_MEMCG_H
#define MMGATE_MEMCG_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "compiler.h"

#define MEMCG_ROOT	"/sys/fs/cgroup"

/**
 * struct memcg - a cgroup of ours
 * @dir:	its directory
 * @path:	its path as the kernel prints it (in lru_gen), below MEMCG_ROOT
 */
struct memcg {
	char dir[256];
	const char *path;
};

/*
 * Skip, with what is missing, unless cgroup2 is mounted on MEMCG_ROOT with the
 * memory controller on for children, and we may create groups there.
 */
void memcg_require(void);

/* Whether groups can be made here, for what is only better with one */
bool memcg_there(void);

/* The group that the caller is in */
void memcg_home(struct memcg *cg);

/*
 * Create MEMCG_ROOT/mmgate.PID.NAME, or @parent/NAME with the controllers passed
 * down to it.  Broken where that is refused.
 */
void memcg_create(struct memcg *cg, const struct memcg *parent, const char *name);

/* Move process @pid (0: the caller) into the group; later faults are charged to it */
void memcg_enter(const struct memcg *cg, pid_t pid);

/* Does the group have this file, such as "memory.reclaim"? */
bool memcg_has(const struct memcg *cg, const char *file);

/* A file that holds one number ("max" is UINT64_MAX); broken where it cannot be read */
u64 memcg_read(const struct memcg *cg, const char *file);

/* Value of @key in a "key value" file, such as memory.stat or memory.events; broken if absent */
u64 memcg_key(const struct memcg *cg, const char *file, const char *key);
/* Same, but -1 where the kernel has no such key */
long long memcg_key_maybe(const struct memcg *cg, const char *file, const char *key);

/* Write text into a file of the group.  Returns 0 or -errno. */
int memcg_write(const struct memcg *cg, const char *file, const char *fmt, ...) __printf(3, 4);

/*
 * memory.reclaim of @bytes, with "swappiness=@swappiness" where that is not NULL
 * (6.10 on, "max" from 6.15 on).  Returns 0 where the kernel says it reclaimed
 * all of it, else -errno: -EAGAIN for less, -EINTR after a signal.
 */
int memcg_reclaim(const struct memcg *cg, u64 bytes, const char *swappiness);

/* Numeric id of the group in lru_gen, found by its path; broken if not listed */
u64 memcg_lru_gen_id(const struct memcg *cg);

/*
 * Put the pages that still wait in per-CPU batches on their LRU lists, on all
 * CPUs.  They belong to no generation until then.
 */
void memcg_drain_lru(void);

#endif /* MMGATE_MEMCG_H */
