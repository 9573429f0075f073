// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a node's reclaim file take what was asked, on its node?
 * mmgate-guards: b980077899ea mm: introduce per-node proactive reclaim interface
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_NUMA debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * /sys/devices/system/node/nodeN/reclaim (from 6.17 on) is asked for a quarter of a cold VM:
 * what the kernel counted (tracepoint mm_vmscan_node_reclaim_end), its errno, pgsteal and
 * the VM's residency have to agree, and another node's request takes nothing of it.
 *
 * How it could mislead: page cache and slab of the node are as good to reclaim as the VM's
 * pages (skipped where they are many, slab is allowed for); the VM's group may not be the
 * first one that is asked (asked again, up to eight times).
 */
#include "reclaim_request.h"

#include <stdlib.h>
#include <unistd.h>

#include "trace.h"
#include "vmstat.h"

#define MIB		0x100000UL
#define NODE_TRIES	8	/* requests until a node's reclaim has come to the VM */

static u64 all_steal(void)
{
	static struct vmstat v;

	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	return vmstat_sum(&v, "pgsteal_") - vmstat_get(&v, "pgsteal_anon") -
		vmstat_get(&v, "pgsteal_file");
}

static int reclaim_node(int nid, u64 bytes)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/reclaim", nid);
	return mmg_try_write(path, "%llu swappiness=200", (unsigned long long)bytes);
}

static void free_ratio(const char *path)
{
	mmg_save_setting(path);
	mmg_write_setting(path, "0");
}

/* Page cache of a node that reclaim can take, in pages */
static u64 node_cache(int node)
{
	static struct vmstat v;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
	if (vmstat_read(path, &v))
		mmg_broken("reading %s failed", path);
	return vmstat_get(&v, "nr_active_file") + vmstat_get(&v, "nr_inactive_file");
}

#define NODE_EVENT	"vmscan/mm_vmscan_node_reclaim_end"

/*
 * What the kernel counted towards a node's request, pages and slab alike: the sum of
 * nr_reclaimed over the event, which is recorded since trace_start().
 */
static u64 traced_reclaim(void)
{
	char *text = trace_stop(), *at = text;
	u64 sum = 0;

	if (!text || trace_lost() > 0)
		mmg_broken("events of %s were lost", NODE_EVENT);
	while ((at = strstr(at, "nr_reclaimed="))) {
		at += strlen("nr_reclaimed=");
		sum += strtoull(at, NULL, 10);
	}
	free(text);
	return sum;
}

/* Pages that @n requests for @asked may take of the VM at most */
static u64 due(const struct scenario *s, u64 asked, int n)
{
	return asked * n < s->r.units ? asked * n : s->r.units;
}

static void node_case(const struct mmg_case *c)
{
	static const struct cold_params p = { .backing = BACK_ANON };
	static struct scenario s;
	u64 stolen, asked, gone, cache, counted;
	int err, home, other, i;

	(void)c;
	if (access("/sys/devices/system/node/node0/reclaim", F_OK))
		mmg_skip("no /sys/devices/system/node/node0/reclaim (from 6.17 on, CONFIG_NUMA)");
	if (!trace_has(NODE_EVENT))
		mmg_skip("no tracepoint %s (tracefs, CONFIG_NUMA): what was counted cannot be seen",
			 NODE_EVENT);
	set_up_cold(&s, &p, cold_bytes(&p));
	/* else a node with little page cache and slab is not reclaimed at all */
	free_ratio("/proc/sys/vm/min_unmapped_ratio");
	free_ratio("/proc/sys/vm/min_slab_ratio");
	home = s.r.nid < 0 ? 0 : s.r.nid;
	other = !home;
	asked = s.r.pages / 4;
	/* other memory of the node is as good to it as the VM's pages */
	cache = node_cache(home);
	if (cache > asked)
		mmg_skip("node %d has %llu pages of page cache beside the VM: run it in a VM alone",
			 home, (unsigned long long)cache);
	if (s.r.nid >= 0) {
		mmg_doing("reclaiming from node %d", other);
		err = reclaim_node(other, MIB);
		if (err && err != -EAGAIN)
			mmg_fail("reclaim of node %d: %s", other, strerror(-err));
		gone = s.r.units - region_read(&s.r);
		if (gone)
			mmg_fail("reclaim of node %d took %llu pages of a VM on node %d", other,
				 (unsigned long long)gone, home);
	}
	mmg_doing("reclaiming from node %d", home);
	err = trace_start(NODE_EVENT, 512);
	if (err)
		mmg_broken("recording %s: %s", NODE_EVENT, strerror(-err));
	stolen = all_steal();
	err = reclaim_node(home, asked * reclaim_page());
	stolen = all_steal() - stolen;
	counted = traced_reclaim();
	gone = s.r.units - region_read(&s.r);
	mmg_metric("counted", counted);
	mmg_metric("stolen", stolen);
	mmg_metric("gone", gone);
	if (err && err != -EAGAIN)
		mmg_fail("reclaim of node %d: %s", home, strerror(-err));
	if (err ? counted >= asked : counted < asked)
		mmg_fail("reclaim of node %d said %s: it counted %llu pages, %llu asked for", home,
			 err ? "EAGAIN" : "0", (unsigned long long)counted,
			 (unsigned long long)asked);
	/* slab that went is counted, too (flush_reclaim_state()): 7 of 1021 pages were */
	if (stolen + BATCH < counted)
		mmg_fail("reclaim of node %d counted %llu pages: pgsteal says %llu", home,
			 (unsigned long long)counted, (unsigned long long)stolen);
	/*
	 * shrink_many() begins with any group, so the VM's turn comes, if not at once.
	 * What is not the VM's is little (see cache): half of all that was asked is its.
	 */
	for (i = 0; i < NODE_TRIES && gone * 2 < due(&s, asked, 1 + i); i++) {
		reclaim_node(home, asked * reclaim_page());
		gone = s.r.units - region_read(&s.r);
	}
	mmg_metric("more_requests", i);
	if (gone * 2 < due(&s, asked, 1 + i))
		mmg_fail("node %d: %d requests for %llu pages took %llu of the cold VM there",
			 home, 1 + i, (unsigned long long)asked, (unsigned long long)gone);
	if (stolen > 2 * asked + 4 * BATCH)
		mmg_fail("reclaim of node %d took %llu pages, %llu were asked for", home,
			 (unsigned long long)stolen, (unsigned long long)asked);
	mmg_pass("reclaim of node %d: %s, %llu pages for %llu asked, %llu of them the VM's", home,
		 err ? strerror(-err) : "0", (unsigned long long)stolen,
		 (unsigned long long)asked, (unsigned long long)gone);
}

static const struct mmg_case cases[] = {
	{ .name = "node-reclaim", .fn = node_case, .destructive = true },
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_node",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
