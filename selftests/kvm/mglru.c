// SPDX-License-Identifier: GPL-2.0-only
#include "mglru.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lru_gen.h"
#include "memcg.h"
#include "residency.h"
#include "runner.h"

const char *const mglru_settings[] = {
	/* first, so put back last: the kernel raises it when huge pages are turned on */
	"/proc/sys/vm/min_free_kbytes",
	LRU_GEN_ENABLED,
	LRU_GEN_MIN_TTL,
	"/proc/sys/kernel/numa_balancing",
	"/proc/sys/vm/page-cluster",
	"/proc/sys/vm/swappiness",
	"/sys/kernel/mm/ksm/run",
	"/sys/module/damon_stat/parameters/enabled",
	"/sys/module/damon_reclaim/parameters/enabled",
	"/sys/module/damon_lru_sort/parameters/enabled",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/mm/transparent_hugepage/defrag",
	"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
	NULL
};

/*
 * DAMON clears accessed bits as well, of a page of each of its regions, and keeps
 * them in PG_young, where only eviction looks: to the walk such a page was not
 * touched.  7.2 has it on by default (damon_stat), and a huge page is often hit.
 */
static void stop_damon(void)
{
	static const char *const users[] = { "stat", "reclaim", "lru_sort" };
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		char *text;

		snprintf(path, sizeof(path), "/sys/module/damon_%s/parameters/enabled", users[i]);
		text = mmg_read_file(path, NULL);
		if (text && text[0] == 'Y')
			mmg_write_setting(path, "N");
		free(text);
	}
}

static void set_if_there(const char *path, const char *value)
{
	if (!access(path, W_OK))
		mmg_write_setting(path, "%s", value);
}

static enum mglru_promise promise;

enum mglru_promise mglru_promise(void)
{
	return promise;
}

const char *mglru_promise_name(void)
{
	return promise == PROMISE_WALK ? "walk" : "eviction only";
}

void mglru_require(u64 swap)
{
	mglru_require_any(swap);
	if (promise != PROMISE_WALK)
		mmg_skip("eviction only: lru_gen/enabled reads 0x%x after 0x7 was written, so no page-table walks",
			 lru_gen_enabled());
}

void mglru_require_any(u64 swap)
{
	int bits = lru_gen_enabled();
	char *thp;

	memcg_require();
	if (bits < 0)
		mmg_skip("this kernel has no multi-gen LRU: needs CONFIG_LRU_GEN");
	if (access(LRU_GEN_ENABLED, W_OK) || access(LRU_GEN_DIR "lru_gen", R_OK | W_OK))
		mmg_skip("%slru_gen cannot be used: %s (root? debugfs mounted? lockdown?)",
			 LRU_GEN_DIR, strerror(errno));
	if ((bits & 7) != 7)
		mmg_write_setting(LRU_GEN_ENABLED, "0x7");
	bits = lru_gen_enabled();
	if (!(bits & LRU_GEN_CORE_BIT))
		mmg_broken("lru_gen/enabled reads 0x%x after 0x7 was written", bits);
	promise = bits & LRU_GEN_WALK_BIT ? PROMISE_WALK : PROMISE_EVICTION;
	if (swap)
		swap_require(swap);
	stop_damon();
	set_if_there(LRU_GEN_MIN_TTL, "0");
	set_if_there("/proc/sys/kernel/numa_balancing", "0");
	set_if_there("/proc/sys/vm/page-cluster", "0");
	set_if_there("/proc/sys/vm/swappiness", "60");
	set_if_there("/sys/kernel/mm/ksm/run", "0");
	set_if_there("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0");
	thp = mmg_read_file("/sys/kernel/mm/transparent_hugepage/enabled", NULL);
	if (thp && strstr(thp, "[never]"))
		mmg_write_setting("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	free(thp);
}

void mglru_set_walk(bool on)
{
	mmg_write_setting(LRU_GEN_ENABLED, on ? "0x7" : "0x5");
	if (!(lru_gen_enabled() & LRU_GEN_WALK_BIT) == on)
		mmg_broken("lru_gen/enabled reads 0x%x after the walk was turned %s",
			   lru_gen_enabled(), on ? "on" : "off");
}
