// SPDX-License-Identifier: GPL-2.0-only
#include "group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "region.h"
#include "runner.h"

void group_create(struct group *group, const struct memcg *parent, const char *name)
{
	memset(group, 0, sizeof(*group));
	memcg_create(&group->cg, parent, name);
	if (!memcg_has(&group->cg, "memory.reclaim"))
		mmg_skip("this kernel has no memory.reclaim (5.19)");
	group->id = memcg_lru_gen_id(&group->cg);
}

void group_enter(struct group *group)
{
	memcg_enter(&group->cg, 0);
}

void group_destroy(struct group *group)
{
	int err = mmg_try_write(MEMCG_ROOT "/cgroup.procs", "0");

	if (err)
		mmg_broken("leaving %s: %s", group->cg.dir, strerror(-err));
	if (rmdir(group->cg.dir))
		mmg_info("%s could not be removed: %s", group->cg.dir, strerror(errno));
}

void group_read(struct group *group, bool full)
{
	lru_gen_read(full, group->cg.path, &group->info);
}

static void age_one(struct group *group, const struct lru_gen_node *node, bool force)
{
	u64 seq = lru_gen_max_seq(node);
	int err = lru_gen_age(group->id, node->nid, seq, 200, force);

	if (err)
		mmg_broken("aging \"+ %llu %d %llu 200 %d\": %s", (unsigned long long)group->id,
			   node->nid, (unsigned long long)seq, force, strerror(-err));
}

void group_age(struct group *group, bool force)
{
	const struct lru_gen_node *first;
	unsigned int i;

	group_read(group, false);
	/*
	 * 6.1 trusts the accessed bits of page-table pages even in a forced walk
	 * (mm/vmscan.c, walk_pmd_range()), and every node's walk clears them: what one
	 * node's aging has looked at is hidden from the next one's.
	 */
	first = lru_gen_node(&group->info, region_node());
	if (first)
		age_one(group, first, force);
	for (i = 0; i < group->info.nr_nodes; i++) {
		if (&group->info.node[i] != first)
			age_one(group, &group->info.node[i], force);
	}
}

int group_age_node(struct group *group, int nid, bool force)
{
	const struct lru_gen_node *node;

	group_read(group, false);
	node = lru_gen_node(&group->info, nid);
	return node ? lru_gen_age(group->id, nid, lru_gen_max_seq(node), 200, force) : -ENOENT;
}

u64 group_pages(const struct group *group, unsigned int back, int type)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < group->info.nr_nodes; i++) {
		const struct lru_gen_node *node = &group->info.node[i];
		u64 max = lru_gen_max_seq(node);

		if (max >= back)
			sum += lru_gen_pages(node, max - back, type);
	}
	return sum;
}

u64 group_total(const struct group *group, int type)
{
	u64 sum = 0;
	unsigned int back;

	for (back = 0; back < LRU_GEN_MAX_GENS; back++)
		sum += group_pages(group, back, type);
	return sum;
}

long long group_counter(const struct group *group, enum lru_gen_counter which)
{
	long long sum = -1;
	unsigned int i;

	for (i = 0; i < group->info.nr_nodes; i++) {
		long long v = lru_gen_counter(&group->info.node[i], which);

		if (v >= 0)
			sum = (sum < 0 ? 0 : sum) + v;
	}
	return sum;
}

void group_log(const struct group *group, int pass)
{
	static FILE *f;
	unsigned int i;

	if (!f) {
		f = mmg_artifact("gens.tsv");
		if (!f)
			return;
		fprintf(f, "pass\tgen\tanon\tfile\n");
	}
	for (i = LRU_GEN_MAX_GENS; i-- > 0;)
		fprintf(f, "%d\t-%u\t%llu\t%llu\n", pass, i,
			(unsigned long long)group_pages(group, i, LRU_GEN_ANON),
			(unsigned long long)group_pages(group, i, LRU_GEN_FILE));
	fflush(f);
}
