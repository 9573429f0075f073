// SPDX-License-Identifier: GPL-2.0-only
#include "aging_step.h"

#include <string.h>
#include <time.h>

#include "runner.h"

u64 aging_max_seq(const char *path)
{
	static struct lru_gen_memcg info;

	lru_gen_read(false, path, &info);
	return info.nr_nodes ? lru_gen_max_seq(&info.node[0]) : 0;
}

void aging_once(struct group *group, bool force)
{
	u64 before = aging_max_seq(group->cg.path), after;

	group_age(group, force);
	group_read(group, false);
	after = aging_max_seq(group->cg.path);
	if (after != before + 1)
		mmg_fail("aging at generation %llu left max_seq at %llu",
			 (unsigned long long)before, (unsigned long long)after);
}

void aging_evict_oldest(struct group *group, bool file)
{
	unsigned int i;

	group_read(group, false);
	for (i = 0; i < group->info.nr_nodes; i++) {
		const struct lru_gen_node *node = &group->info.node[i];
		u64 seq = lru_gen_max_seq(node) - 3;
		u64 all = group_total(group, LRU_GEN_ANON) + group_total(group, LRU_GEN_FILE);
		int err = lru_gen_evict(group->id, node->nid, seq,
					file ? 0 : LRU_GEN_ANON_ONLY, 2 * all);

		if (err)
			mmg_fail("evicting generation %llu of node %d: %s",
				 (unsigned long long)seq, node->nid, strerror(-err));
	}
}

void aging_run_again(void)
{
	const struct timespec nap = { .tv_nsec = 3000000 };

	nanosleep(&nap, NULL);
}

void aging_unforced(struct group *group, bool file)
{
	aging_evict_oldest(group, file);
	aging_run_again();
	aging_once(group, false);
	group_read(group, true);
}
