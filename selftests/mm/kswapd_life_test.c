// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: kswapd wakes at low, does not sleep below high, gives up on a hopeless node, comes back
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: small-zones no-normal memoryless
 * mmgate-needs: CONFIG_VM_EVENT_COUNTERS /proc/sys/vm/swappiness
 * mmgate-wants: CONFIG_EXT4_FS CONFIG_VIRTIO_BLK CONFIG_HUGETLBFS CONFIG_MEMCG
 * mmgate-provokes: allocation failure
 * mmgate-timeout: 120
 *
 * The uppermost zone of one node is filled with memory that nobody can reclaim, with a
 * little cold page cache among it: less than lies between the low and the high watermark.
 * The fast path gives pages down to low, then kswapd is woken (mm/page_alloc.c,
 * __alloc_pages_slowpath()).  It takes the cache, which does not bring the zone to high, so it
 * must not sleep as if all were well: it tries on, and after MAX_RECLAIM_RETRIES rounds
 * without a page it gives up (balance_pgdat(), kswapd_failures), which zoneinfo shows as
 * node_unreclaimable.  From then on it sleeps, whoever allocates.  When memory can be
 * reclaimed again, it works again.
 *
 * How it could mislead: something else that can be reclaimed keeps kswapd from giving up.
 * Swap is left alone (swappiness 0), the case is locked in memory, ratio 1 takes the
 * lower zones out of the question, and the zone is filled up again when more came
 * free than was put there.  Where pages go on being reclaimed, the case is broken.
 * Rounds that failed before the case count, too: they are made to be forgotten first.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fill.h"
#include "memcg.h"
#include "mm_util.h"

#define LEFT		(8 * MIB)	/* above high, when the hog is done */
#define SCALE		200		/* watermark_scale_factor: 2 % of the zone from mark to mark */
#define MIN_FREE_KB	2048
#define STEP		16		/* pages taken between two looks */
#define MOST		(96 * MIB)	/* locked memory of the case */
#define RETRIES		16		/* MAX_RECLAIM_RETRIES, mm/internal.h */
#define SPIN		2000		/* rounds without a page: it never gives up */
#define WAIT_S		20
#define SLACK		128		/* pages that come and go beside the case */
#define KEPT		(4 * MIB)	/* cache of the protected group */

static int node, zone;			/* the zone that is filled: the node's uppermost */
static char *locked;			/* memory of the case that cannot be reclaimed */
static size_t used;
static bool from_zero;			/* kswapd's failed rounds are counted from 0 */
static struct fill cache = { .fd = -1 };

static const struct zi_zone *look(struct zoneinfo *zi)
{
	zoneinfo_free(zi);
	mm_refresh();
	mm_zoneinfo(zi);
	return zoneinfo_zone(zi, node, zone);
}

/* The node with most memory in its uppermost zone */
/*
 * What the node's lower zones have beyond marks and the reserve of ratio 1: it serves
 * memory that the uppermost zone cannot, and kswapd is not woken for that
 */
static unsigned long spare_below(const struct zoneinfo *zi, const struct zi_zone *top)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		unsigned long keep = z->high + zi_protection(zi, z->node, z->index,
							     zi->zones_per_node - 1, 1);

		if (z->node == top->node && z->index < top->index && z->free > keep)
			sum += z->free - keep;
	}
	return sum;
}

static void pick(void)
{
	unsigned long best = 0;
	struct node_set one;
	bool spare = false;
	struct zoneinfo zi;
	size_t i;

	mm_zoneinfo(&zi);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];

		if (z->free <= best ||
		    zi_protection(&zi, z->node, z->index, zi.zones_per_node - 1, 1))
			continue;
		if (spare_below(&zi, z) > MOST / 4 / mm_page_size()) {
			spare = true;
			continue;
		}
		best = z->free;
		node = z->node;
		zone = z->index;
	}
	zoneinfo_free(&zi);
	if (best < 64 * MIB / mm_page_size())
		mmg_skip("no node has 64 MiB free in its uppermost zone%s",
			 spare ? " and no more below it than is kept for that" : "");
	one = node_set_of(node);
	node_set_policy(NODE_BIND, &one);
}

static unsigned long rounds(void)
{
	return vmstat_now("pageoutrun");
}

static unsigned long freed(void)
{
	return vmstat_now("pgsteal_kswapd");
}

/*
 * Read until kswapd works on the node; the bytes read.  It begins with direct reclaim,
 * which finds the cache that can be reclaimed.
 */
static size_t read_until_awake(void)
{
	unsigned long scanned = vmstat_now("pgscan_kswapd");
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z = look(&zi);
	size_t bytes = ((z->free + 2 * z->high) * mm_page_size() + 48 * MIB) / MIB * MIB, read;

	zoneinfo_free(&zi);
	fill_stop(&cache);
	fill_start(&cache, FILL_FILE, bytes + 4 * MIB);
	while (cache.used < bytes && vmstat_now("pgscan_kswapd") == scanned) {
		mmg_doing("reading until kswapd works again: %zu MiB", cache.used / MIB);
		if (fill_more(&cache, MIB) < MIB)
			break;
	}
	read = cache.used;
	fill_stop(&cache);
	return vmstat_now("pgscan_kswapd") == scanned ? 0 : read;
}

/*
 * Give the case's memory back and have kswapd try the node again.  Up to 7.1 the next
 * reclaim that frees a page does that; later the node has to be balanced when it happens
 * (rules.def, hopeless_until_balanced), which the node's own reclaim file allows.
 */
static size_t revive(void)
{
	char path[80];

	munlockall();
	if (locked)
		munmap(locked, MOST);
	locked = NULL;
	fill_stop(&cache);
	/* __node_reclaim() asks for more cache than min_unmapped_ratio, 1 % of the node */
	hog_give_back(node, 40 * MIB);
	fill_start(&cache, FILL_FILE, 24 * MIB);
	fill_more(&cache, 20 * MIB);
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/reclaim", node);
	if (!access(path, W_OK))
		mmg_try_write(path, "1M");
	else if (mm_rule(RULE_hopeless_until_balanced))
		mmg_skip("no %s: nothing here reclaims from a balanced node", path);
	return read_until_awake();
}

/*
 * Rounds that freed nothing are counted until something is freed (kswapd_failures), be it
 * hours before the case: the search for huge pages alone makes kswapd fail some.  A group
 * that gives a page back while the node is balanced sets the count to 0 on every kernel:
 * shrink_node() in mm/vmscan.c, kswapd_try_clear_hopeless() on those of
 * hopeless_until_balanced.  Without groups nobody can tell how many rounds are left.
 */
static void forget_failures(void)
{
	struct memcg cg, home;
	struct fill f;
	u64 was;

	if (!memcg_there())
		return;
	memcg_home(&home);
	memcg_create(&cg, NULL, "freed");
	if (!memcg_has(&cg, "memory.reclaim"))
		return;
	memcg_enter(&cg, 0);
	fill_start(&f, FILL_FILE, 4 * MIB);
	fill_more(&f, 2 * MIB);
	memcg_drain_lru();
	memcg_enter(&home, 0);
	was = memcg_read(&cg, "memory.current");
	memcg_reclaim(&cg, MIB, NULL);
	from_zero = memcg_read(&cg, "memory.current") < was;
	fill_stop(&f);
}

/* Ratio 1, marks far apart, no swapping; then the uppermost zone filled up to LEFT above high */
static void prepare(void)
{
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z;
	unsigned long keep;
	char dev[200];

	if (!fill_data_dir(dev, sizeof(dev)))
		mmg_skip("no filesystem on a device; use a machine with a disk: small-zones");
	mm_need_events();
	mm_usual_reclaim();
	mm_shrink_slabs();
	mmg_save_setting(ZI_RATIO_PATH);
	mmg_save_setting("/proc/sys/vm/min_free_kbytes");
	mmg_save_setting("/proc/sys/vm/watermark_scale_factor");
	mmg_save_setting("/proc/sys/vm/watermark_boost_factor");
	mmg_save_setting("/proc/sys/vm/swappiness");
	pick();
	mm_write_ratio(1);
	mmg_write_setting("/proc/sys/vm/min_free_kbytes", "%d", MIN_FREE_KB);
	mmg_write_setting("/proc/sys/vm/watermark_scale_factor", "%d", SCALE);
	mmg_write_setting("/proc/sys/vm/watermark_boost_factor", "0");
	mmg_write_setting("/proc/sys/vm/swappiness", "0");
	z = look(&zi);
	if (z->unreclaimable) {
		revive();
		z = look(&zi);
		if (z->unreclaimable)
			mmg_skip("node %d is given up already, and stays so", node);
	}
	keep = z->high + LEFT / mm_page_size();
	mmg_doing("filling node %d %s", node, z->name);
	if (z->free > keep)
		hog_start(node, (z->free - keep) * mm_page_size());
	zoneinfo_free(&zi);
	forget_failures();
	locked = mm_map(MOST);
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		mmg_skip("locking memory: %s", strerror(errno));
}

/* Cold cache, half of what lies between low and high */
static unsigned long put_cache(void)
{
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z = look(&zi);
	size_t bytes = (z->high - z->low) / 2 * mm_page_size() / MIB * MIB;

	zoneinfo_free(&zi);
	if (!bytes)
		return 0;
	fill_start(&cache, FILL_FILE, bytes + 4 * MIB);
	return fill_more(&cache, bytes) / mm_page_size();
}

static void take(unsigned int pages)
{
	unsigned long page = mm_page_size();

	for (; pages && used + page <= MOST; pages--, used += page)
		__atomic_store_n(locked + used, 1, __ATOMIC_RELAXED);
}

/* Take pages until kswapd begins a round; what was free just before and after */
static void take_until_awake(long *before, long *after)
{
	unsigned long was = rounds();
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z = look(&zi);

	*before = *after = z->free + z->pcp_count;
	while (rounds() == was && used < MOST) {
		*before = *after;
		take(STEP);
		z = look(&zi);
		*after = z->free + z->pcp_count;
		mmg_doing("taking pages until kswapd wakes: %ld free, low %lu", *after, z->low);
		if (*after <= (long)z->min && rounds() == was)
			mmg_fail("node %d %s is down to %ld pages, min is %lu, and kswapd never woke",
				 node, z->name, *after, z->min);
	}
	zoneinfo_free(&zi);
	if (used >= MOST)
		mmg_fail("%zu MiB taken, node %d has %ld pages free, and kswapd never woke",
			 used / MIB, node, *after);
}

enum state { GAVE_UP, ASLEEP, SPINS, BUSY };

/* What becomes of kswapd when nobody asks for anything */
static enum state wait_settled(unsigned long began)
{
	unsigned long last_freed = freed(), last = rounds(), since = began;
	struct zoneinfo zi = { 0 };
	int still = 0, i;

	for (i = 0; i < WAIT_S * 20; i++) {
		usleep(50000);
		if (look(&zi)->unreclaimable)
			return GAVE_UP;
		if (freed() != last_freed) {
			last_freed = freed();
			since = rounds();
		}
		if (rounds() - since > SPIN)
			return SPINS;
		still = rounds() == last ? still + 1 : 0;
		last = rounds();
		if (still == 10)
			return ASLEEP;
	}
	return BUSY;
}

/* Fill until kswapd gives up; a zone that came to high meanwhile is filled up again */
static void until_given_up(void)
{
	struct zoneinfo zi = { 0 };
	unsigned long began = rounds();
	int tries;

	for (tries = 0; tries < 20; tries++) {
		const struct zi_zone *z;
		enum state state;
		long before, after;

		take_until_awake(&before, &after);
		state = wait_settled(began);
		z = look(&zi);
		if (!tries || state != ASLEEP) {
			mmg_info("woke between %ld and %ld pages free (min %lu, low %lu, high %lu), now %lu",
				 before, after, z->min, z->low, z->high, z->free);
		}
		if (!tries && before < (long)(z->low - SLACK))
			mmg_fail("kswapd woke only with %ld pages free, low is %lu", before,
				 z->low);
		if (state == GAVE_UP)
			break;
		if (state == SPINS)
			mmg_fail("kswapd ran %d rounds that freed nothing, and has not given up",
				 SPIN);
		if (state == BUSY)
			mmg_broken("kswapd goes on freeing pages of node %d for %d s", node,
				   WAIT_S);
		if (z->free + SLACK < z->high)
			mmg_fail("kswapd sleeps with node %d %s at %lu pages, high is %lu", node,
				 z->name, z->free, z->high);
	}
	if (tries == 20)
		mmg_broken("kswapd found something to free each of %d times", tries);
	mmg_metric("rounds", rounds() - began);
	mmg_metric("fills", tries + 1);
	if (!from_zero)
		mmg_info("no group to free pages of: kswapd may have failed before");
	else if (rounds() - began < RETRIES)
		mmg_fail("kswapd gave up after %lu rounds, must be %d without a page",
			 rounds() - began, RETRIES);
	zoneinfo_free(&zi);
}

/* A node that was given up is left alone by kswapd, whoever allocates */
static void stays_asleep(const char *after)
{
	unsigned long was, now;

	usleep(200000);
	was = rounds();
	usleep(500000);
	now = rounds();
	if (now != was)
		mmg_fail("kswapd ran %lu rounds on a node it gave up, %s", now - was, after);
}

/*
 * Take pages until the zone is halfway between low and min.  Only below low does an
 * allocation leave the fast path and call wakeup_kswapd(), and above min it is served
 * without direct reclaim, which could find the node alive again.  The pages free then.
 */
static unsigned long take_below_low(void)
{
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z = look(&zi);
	unsigned long left;

	while (z->free > (z->low + z->min) / 2 && used < MOST) {
		take(STEP);
		z = look(&zi);
	}
	left = z->free;
	if (left >= z->low)
		mmg_broken("%zu MiB taken, and node %d %s has %lu pages free, low is %lu",
			   used / MIB, node, z->name, left, z->low);
	take(2 * STEP);
	zoneinfo_free(&zi);
	return left;
}

static void gives_up(const struct mmg_case *c)
{
	struct zoneinfo zi = { 0 };
	unsigned long was, put, left;
	const struct zi_zone *z;

	(void)c;
	prepare();
	put = put_cache();
	until_given_up();
	stays_asleep("with no load");
	was = rounds();
	left = take_below_low();
	stays_asleep("after an allocation");
	z = look(&zi);
	if (rounds() != was)
		mmg_fail("allocations below low woke kswapd %lu times on a node it gave up",
			 rounds() - was);
	if (!z->unreclaimable)
		mmg_broken("node %d was reclaimed from while pages were taken below low", node);
	revive();
	mmg_pass("gave up (low %lu, high %lu; %lu pages of cache put there), sleeps at %lu pages",
		 z->low, z->high, put, left);
}

/* Memory can be reclaimed again: kswapd must take part again */
static void comes_back(const struct mmg_case *c)
{
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z;
	size_t read;

	(void)c;
	prepare();
	until_given_up();
	read = revive();
	z = look(&zi);
	if (!read)
		mmg_fail("cache was read past what is free, and kswapd still leaves node %d alone (%lu free)",
			 node, z->free);
	if (z->unreclaimable)
		mmg_fail("kswapd works, and node %d is still shown as given up", node);
	mmg_pass("kswapd worked again after %zu MiB of cache", read / MIB);
}

/*
 * memory.reclaim of a group frees pages, but says nothing about the node: it stays given up
 * as long as it is not balanced.
 */
static void proactive(const struct mmg_case *c)
{
	struct zoneinfo zi = { 0 };
	const struct zi_zone *z;
	static struct fill kept;
	struct memcg cg, away;
	u64 was, is;

	(void)c;
	memcg_require();
	memcg_create(&cg, NULL, "kept");
	memcg_create(&away, NULL, "away");
	if (!memcg_has(&cg, "memory.reclaim"))
		mmg_skip("no memory.reclaim in a group: kernels before 5.19");
	prepare();
	memcg_enter(&cg, 0);
	fill_start(&kept, FILL_FILE, KEPT + 4 * MIB);
	fill_more(&kept, KEPT);
	memcg_drain_lru();
	memcg_enter(&away, 0);
	if (memcg_write(&cg, "memory.min", "max"))
		mmg_skip("memory.min was refused");
	until_given_up();
	was = memcg_read(&cg, "memory.current");
	z = look(&zi);
	if (z->free + MIB / mm_page_size() + SLACK > z->high)
		mmg_skip("the node is within 1 MiB of its high watermark");
	memcg_reclaim(&cg, MIB, NULL);
	if (memcg_read(&cg, "memory.current") + MIB / 2 > was)
		mmg_broken("memory.reclaim took %llu bytes of a group that has %llu",
			   (unsigned long long)(was - memcg_read(&cg, "memory.current")),
			   (unsigned long long)was);
	z = look(&zi);
	if (!z->unreclaimable && !mm_rule(RULE_hopeless_until_balanced))
		mmg_skip("this kernel's rule: any reclaim makes kswapd try again, a group's, too");
	if (!z->unreclaimable)
		mmg_fail("memory.reclaim of a group made kswapd's node count as reclaimable (%lu free, high %lu)",
			 z->free, z->high);
	stays_asleep("after memory.reclaim of a group");
	is = memcg_read(&cg, "memory.current");
	revive();
	mmg_pass("the node stayed given up after memory.reclaim freed %llu KiB of a group",
		 (unsigned long long)(was - is) / 1024);
}

static const struct mmg_case cases[] = {
	{ .name = "gives-up", .fn = gives_up, .destructive = true },
	{ .name = "comes-back", .fn = comes_back, .destructive = true },
	{ .name = "proactive", .fn = proactive, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/kswapd_life",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
