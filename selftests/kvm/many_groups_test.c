// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does global reclaim stop when it has enough, however many groups there are?
 * mmgate-guards: e4dde56cd208 mm: multi-gen LRU: per-node lru_gen_folio lists
 * mmgate-machines: default one-zone
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * 64 processes have a group of 256 idle pages each, as containers beside a VM.  Reclaim of the
 * node goes from group to group, takes a batch from each, and has to stop on the way.
 *
 *	asked	memory.reclaim of the root
 *	kswapd	a helper locks all other memory, and then a little more at a time
 *
 * A kernel that goes on to the last group takes 4096 pages at once.  The bounds are the
 * kernel's own arithmetic; machine one-zone has the tighter one for kswapd.
 *
 * How it could mislead: a turn of kswapd may begin before a look and end after it.
 */
#include "tenant.h"

#include <stdlib.h>
#include <unistd.h>

#include "kernel_release.h"
#include "pressure.h"
#include "vmstat.h"
#include "zoneinfo.h"

#define GROUPS		64
#define PAGES		256	/* of each */
#define BATCH		64	/* MIN_LRU_BATCH */
#define ASKS		16
#define MAX_STEPS	200

static struct tenant group[GROUPS];
static struct pressure pressure;

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* All groups, aged until their pages are old enough to be taken */
static void begin(void)
{
	char name[16];
	int i;

	if (kernel_before(6, 3))
		mmg_skip("before 6.3 global reclaim goes through all groups, whatever it has");
	mglru_require(GROUPS * PAGES * page());
	pressure_start(&pressure, region_node());
	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "group%d", i);
		group[i].host = true;
		mmg_doing("starting %s", name);
		tenant_start(&group[i], NULL, name, PAGES * page());
	}
	for (i = 0; i < GROUPS; i++)
		tenant_age(&group[i], 2);
}

/* Pages that all groups lost so far */
static u64 look(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < GROUPS; i++)
		sum += tenant_absent(&group[i]);
	return sum;
}

/*
 * memory.reclaim asks for a quarter of what is missing at a time, at least SWAP_CLUSTER_MAX
 * (32) pages, as long as anything is missing.  Each time should_abort_scan() looks
 * after every batch of up to MIN_LRU_BATCH pages, of whichever group, and ends it.
 */
static void asked_case(const struct mmg_case *c)
{
	struct memcg root = { .dir = MEMCG_ROOT, .path = "/" };
	const u64 asked = 4 * BATCH, bound = asked + asked / 4 + BATCH;
	u64 gone, last = 0, most = 0;
	int round, err = 0;

	(void)c;
	begin();
	if (!memcg_has(&root, "memory.reclaim"))
		mmg_skip("the root group has no memory.reclaim");
	for (round = 0; round < ASKS && !err && last < 2 * asked; round++) {
		err = memcg_reclaim(&root, asked * page(), NULL);
		gone = look();
		if (gone - last > most)
			most = gone - last;
		last = gone;
	}
	mmg_metric("most", most);
	mmg_metric("bound", bound);
	if (most > bound)
		mmg_fail("a request for %llu pages took %llu of %d groups, %llu at most are right",
			 (unsigned long long)asked, (unsigned long long)most, GROUPS,
			 (unsigned long long)bound);
	if (last < asked)
		mmg_broken("%d requests for %llu pages took %llu: %s", round,
			   (unsigned long long)asked, (unsigned long long)last,
			   err ? strerror(-err) : "0");
	mmg_pass("a request for %llu pages took %llu of %d groups at most, the bound is %llu",
		 (unsigned long long)asked, (unsigned long long)most, GROUPS,
		 (unsigned long long)bound);
}

/*
 * The most that one turn of kswapd may take.  It begins above min, else others reclaim as
 * well.  Where the node has one zone, it ends MIN_LRU_BATCH above high (should_abort_scan()).
 * With several, those that hold nothing of ours may never be safe: then it goes round
 * until a zone is above high, and each round ends when it has the sum of the
 * high watermarks (kswapd_shrink_node()).  A batch more is taken at once, and the helper
 * takes a step in the meantime.
 */
static u64 kswapd_bound(int nid)
{
	unsigned long min = 0, high = 0;
	struct zoneinfo zi;
	char err[160];
	int zones = 0;
	size_t i;

	if (zoneinfo_read(&zi, err, sizeof(err)))
		mmg_broken("%s", err);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];

		if (!z->managed || (nid >= 0 && z->node != nid))
			continue;
		min += z->min;
		high += z->high;
		zones++;
	}
	zoneinfo_free(&zi);
	mmg_metric("zones", zones);
	return high - min + (zones > 1 ? high : BATCH) + 2 * BATCH;
}

static void kswapd_case(const struct mmg_case *c)
{
	u64 bound, gone = 0, turns = 0, stalls = 0;
	struct vmstat a, b;
	int step;

	(void)c;
	begin();
	bound = kswapd_bound(pressure.nid);
	if (vmstat_read("/proc/vmstat", &a))
		mmg_broken("/proc/vmstat: %s", strerror(errno));
	mmg_doing("pressing");
	pressure_fill(&pressure, GROUPS * PAGES);
	for (step = 0; step < MAX_STEPS && gone < 3 * bound; step++) {
		if (!pressure_step(&pressure))
			break;
		gone = look();
		vmstat_read("/proc/vmstat", &b);
		turns = vmstat_delta(&a, &b, "pageoutrun");
		/* who reclaims beside kswapd takes SWAP_CLUSTER_MAX and a batch at most */
		stalls = vmstat_sum(&b, "allocstall_") - vmstat_sum(&a, "allocstall_");
		/* one turn may have begun before the first look */
		if (gone > (turns + 1) * bound + stalls * 2 * BATCH)
			mmg_fail("%llu pages of %d groups in %llu turns (bound %llu), others %llu",
				 (unsigned long long)gone, GROUPS, (unsigned long long)turns,
				 (unsigned long long)bound, (unsigned long long)stalls);
	}
	pressure_release(&pressure);
	mmg_metric("gone", gone);
	mmg_metric("bound", bound);
	mmg_metric("turns", turns);
	mmg_metric("others", stalls);
	if (gone < 3 * bound)
		mmg_broken("kswapd took %llu pages in %d steps", (unsigned long long)gone, step);
	mmg_pass("kswapd took %llu pages of %d groups, %llu turns, bound %llu, others %llu times",
		 (unsigned long long)gone, GROUPS, (unsigned long long)turns,
		 (unsigned long long)bound, (unsigned long long)stalls);
}

#define CASE(name_, fn_) { .name = name_, .destructive = true, .timeout_s = 120, .fn = fn_ }

static const struct mmg_case cases[] = {
	CASE("asked", asked_case),
	CASE("kswapd", kswapd_case),
};

static const struct mmg_test test = {
	.name = "kvm/many_groups",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
