/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory cgroup of an experiment, and its generations in MGLRU */
#ifndef MMGATE_GROUP_H
#define MMGATE_GROUP_H

#include "lru_gen.h"
#include "memcg.h"

/**
 * struct group - the memcg of an experiment and its generations
 * @cg:		the group
 * @id:		its number in lru_gen
 * @info:	what group_read() read last
 */
struct group {
	struct memcg cg;
	u64 id;
	struct lru_gen_memcg info;
};

/* Create the group; the calling process stays outside until group_enter() */
void group_create(struct group *group, const struct memcg *parent, const char *name);
void group_enter(struct group *group);

/* Read the generations (long form where @full) */
void group_read(struct group *group, bool full);

/*
 * Age every node that has memory of the group, the regions' own first, at its current
 * max_seq, with swappiness 200.  Broken, with what came back, where the command fails.
 */
void group_age(struct group *group, bool force);

/* Leave the group and remove it */
void group_destroy(struct group *group);

/* Same for one node only.  Returns 0 or -errno. */
int group_age_node(struct group *group, int nid, bool force);

/* Anonymous (or file) pages of the group in generation max_seq - @back, all nodes */
u64 group_pages(const struct group *group, unsigned int back, int type);
/* Pages of all generations */
u64 group_total(const struct group *group, int type);
/* Walk counter summed over nodes, -1 where the kernel does not show it */
long long group_counter(const struct group *group, enum lru_gen_counter which);
/* Append the generations to the artifact gens.tsv as pass @pass */
void group_log(const struct group *group, int pass);

#endif /* MMGATE_GROUP_H */
