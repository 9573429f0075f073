// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: do refaults, and nothing else, protect what was read several times?
 * mmgate-guards: ac35a4902374 mm: multi-gen LRU: minimal implementation
 * mmgate-machines: default data-disk
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * Half of the pages of a memfd or a file, as a VM's disk in the page cache of another
 * process, are read three times through a descriptor: tier 2 (MAX_NR_TIERS in
 * include/linux/mmzone.h).  A feedback loop decides whether a tier is protected: it has to
 * have 64 refaults (MIN_LRU_BATCH) and a higher rate of them than the first tier
 * (positive_ctrl_err(), get_tier_idx()).
 *
 *	none	nothing was read again after it was evicted: both halves go alike
 *	few	63 pages of the tier were: the same
 *	cold	only pages of the first tier were: the same
 *	just	64 pages of the tier were: it is protected
 *	hot	all that was evicted of the tier was: it is protected
 *	below	the same, and the tier below it, of which nothing was read again, is not
 *	rate	pages of both were, so many that the tier is protected until those that
 *		were protected bring down its rate
 *
 * Each refault has to be counted in the tier from which the page was evicted (lru_gen_full).
 * File memory at swappiness 0, where get_tier_idx() alone decides, and at 60, where
 * get_type_to_scan() did up to 6.12.
 *
 * How it could mislead: aging by force forgets reads, so they come after it; a page that was
 * read again is younger than the others, and is not looked at any more.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "descriptor.h"
#include "kernel_release.h"

#define READS		3
#define TIER		2
#define FEWER_READS	2	/* tier 1 */
#define BATCH		64	/* MIN_LRU_BATCH */

enum feedback { FEED_NONE, FEED_FEW, FEED_COLD, FEED_JUST, FEED_HOT, FEED_BELOW, FEED_RATE };

struct params {
	enum backing backing;
	const char *swappiness;
	enum feedback feed;
};

/* What read_ctrl_pos() makes of the counters */
struct position {
	u64 refaulted[LRU_GEN_MAX_TIERS];
	u64 total[LRU_GEN_MAX_TIERS];
};

enum { HOT, COLD, LOWER, OUT, LABELS };

static struct group group;
static struct region r;
static u8 *label;

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int type_of_pages(void)
{
	return r.backing == BACK_FILE ? LRU_GEN_FILE : LRU_GEN_ANON;
}

/* Averages are in the row of the youngest generation, counts in that of min_seq */
static void read_position(struct position *p)
{
	int type = type_of_pages(), t;
	unsigned int i, g;

	memset(p, 0, sizeof(*p));
	group_read(&group, true);
	for (i = 0; i < group.info.nr_nodes; i++) {
		const struct lru_gen_node *node = &group.info.node[i];
		bool counted = false;

		if (r.nid >= 0 && node->nid != r.nid)
			continue;
		for (g = 0; g < node->nr_gens; g++) {
			const struct lru_gen_gen *gen = &node->gen[g];
			bool averages = gen->seq == lru_gen_max_seq(node);

			if (gen->nr_tiers != LRU_GEN_MAX_TIERS)
				mmg_skip("lru_gen_full has no tiers");
			if (gen->stale[type] || (counted && !averages))
				continue;
			for (t = 0; t < LRU_GEN_MAX_TIERS; t++) {
				p->refaulted[t] += gen->tier[t].n[type][0];
				p->total[t] += gen->tier[t].n[type][1];
				if (!averages)
					p->total[t] += gen->tier[t].n[type][2];
			}
			counted = true;
		}
	}
}

static void set_up(const struct params *p)
{
	u32 *all;
	int i;

	mglru_require(mmg_opts.mem_bytes / 4);
	mmg_write_setting("/proc/sys/vm/swappiness", "%s", p->swappiness);
	group_create(&group, NULL, "tiers");
	if (p->backing == BACK_SHMEM)
		descriptor_memfd(&r, mmg_opts.mem_bytes / 4);
	else
		region_create(&r, p->backing, mmg_opts.mem_bytes / 4, 0);
	group_enter(&group);
	if (p->backing == BACK_SHMEM)
		descriptor_write(&r);
	else if (posix_fadvise(r.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
	label = calloc(1, r.units);
	all = list_all(r.units, 0);
	label_stratified(label, all, r.units, p->feed == FEED_BELOW ? 3 : 2, mmg_opts.seed);
	free(all);
	descriptor_read(&r, NULL, -1, 1);
	memcg_drain_lru();
	if (region_read(&r) != r.units)
		mmg_broken("precondition: %zu of %zu pages are in memory", region_read(&r),
			   r.units);
	for (i = 0; i < 3; i++)
		group_age(&group, true);
	descriptor_read(&r, label, HOT, READS);
	descriptor_read(&r, label, LOWER, FEWER_READS);
}

/* Reclaim @pages; what is gone of those that were there before, by label */
static void take(size_t pages, size_t gone[LABELS])
{
	u8 *before = malloc(r.units);
	size_t i;

	region_read(&r);
	memcpy(before, r.present, r.units);
	memcg_reclaim(&group.cg, pages * page(), NULL);
	region_read(&r);
	memset(gone, 0, LABELS * sizeof(*gone));
	for (i = 0; i < r.units; i++)
		gone[label[i]] += before[i] && !r.present[i];
	free(before);
}

/* Read up to @most pages of @which again that are gone; those are out of the experiment */
static size_t read_again(int which, size_t most)
{
	size_t i, n = 0;
	char byte;

	region_read(&r);
	for (i = 0; i < r.units && n < most; i++) {
		if (label[i] != which || r.present[i])
			continue;
		if (pread(r.fd, &byte, 1, i * page()) != 1)
			mmg_broken("reading page %zu: %s", i, strerror(errno));
		label[i] = OUT;
		n++;
	}
	return n;
}

/*
 * So many refaults of the first tier that @hot of the other one protect it now, but not when
 * both have two batches more: positive_ctrl_err() with the gains of get_tier_idx()
 */
static size_t cold_for(const struct position *p, size_t hot)
{
	bool old = kernel_before(6, 14);
	u64 sp_gain = old ? 1 : 2, pv_gain = old ? 2 : 3;
	u64 want = (hot * (p->total[0] + 3 * BATCH) * sp_gain) /
		   ((p->total[TIER] + 2 * BATCH) * pv_gain) + 1;

	if (hot * (p->total[0] + BATCH) * sp_gain <= want * p->total[TIER] * pv_gain)
		mmg_broken("%llu of the first tier and %llu of the other one were evicted: no room",
			   (unsigned long long)p->total[0], (unsigned long long)p->total[TIER]);
	return want - 1;
}

static void give_feedback(enum feedback feed, const size_t gone[LABELS])
{
	size_t want[2] = { 0, 0 }, n[2], counted[2];
	struct position a, b;

	read_position(&a);
	if (feed == FEED_HOT || feed == FEED_BELOW)
		want[HOT] = gone[HOT];
	else if (feed == FEED_FEW || feed == FEED_JUST)
		want[HOT] = BATCH - (feed == FEED_FEW);
	else if (feed == FEED_COLD)
		want[COLD] = gone[COLD];
	if (feed == FEED_RATE) {
		/* from 6.14 on folding counts in the first tier's total: fewer are to come back */
		for (want[HOT] = gone[HOT]; want[HOT] >= BATCH; want[HOT] -= BATCH / 4) {
			want[COLD] = cold_for(&a, want[HOT]);
			if (want[COLD] <= gone[COLD])
				break;
		}
	}
	n[HOT] = read_again(HOT, want[HOT]);
	n[COLD] = read_again(COLD, want[COLD]);
	memcg_drain_lru();
	read_position(&b);
	counted[HOT] = b.refaulted[TIER] - a.refaulted[TIER];
	counted[COLD] = b.refaulted[0] - a.refaulted[0];
	mmg_info("before: refaulted %llu and %llu, total %llu and %llu",
		 (unsigned long long)a.refaulted[0], (unsigned long long)a.refaulted[TIER],
		 (unsigned long long)a.total[0], (unsigned long long)a.total[TIER]);
	mmg_info("read again: %zu of tier %d, %zu others", n[HOT], TIER, n[COLD]);
	mmg_metric("refaults_hot", counted[HOT]);
	mmg_metric("refaults_cold", counted[COLD]);
	if (n[HOT] != want[HOT] || n[COLD] != want[COLD])
		mmg_broken("%zu and %zu pages were to be read again, %zu and %zu were gone",
			   want[HOT], want[COLD], n[HOT], n[COLD]);
	if (counted[HOT] != n[HOT] || counted[COLD] != n[COLD])
		mmg_fail("%zu pages of tier %d and %zu of 0 came back, counted there: %zu and %zu",
			 n[HOT], TIER, n[COLD], counted[HOT], counted[COLD]);
}

/* Labels are drawn so that both halves are as many anywhere in the list: half, and a batch */
static bool alike(size_t a, size_t b)
{
	size_t most = a > b ? a : b, least = a + b - most;

	return most - least <= BATCH + most / 4;
}

static void tiers_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	size_t gone[LABELS], first[LABELS];

	set_up(p);
	mmg_doing("reclaiming without refaults");
	take(r.units * 3 / 8, gone);
	mmg_metric("hot_before", gone[HOT]);
	mmg_metric("cold_before", gone[COLD]);
	if ((gone[HOT] + gone[COLD] + gone[LOWER]) * 8 < r.units)
		mmg_fail("asked for %zu pages: %zu read %d times and %zu others are gone",
			 r.units * 3 / 8, gone[HOT], READS, gone[COLD]);
	if (!alike(gone[HOT], gone[COLD]))
		mmg_fail("without refaults %zu pages that were read %d times went, %zu others",
			 gone[HOT], READS, gone[COLD]);
	give_feedback(p->feed, gone);
	mmg_doing("reclaiming after refaults");
	take(BATCH, first);
	take(r.units * 3 / 16, gone);
	mmg_metric("hot_first", first[HOT]);
	mmg_metric("cold_first", first[COLD]);
	mmg_metric("hot_after", gone[HOT]);
	mmg_metric("cold_after", gone[COLD]);
	if ((gone[HOT] + gone[COLD] + gone[LOWER] + gone[OUT]) * 8 < r.units)
		mmg_fail("asked for %zu pages: %zu read %d times and %zu others are gone",
			 r.units * 3 / 16, gone[HOT], READS, gone[COLD]);
	if (p->feed >= FEED_JUST && first[HOT] * 8 > first[COLD])
		mmg_fail("not protected: %zu pages of the tier that was read again, %zu others",
			 first[HOT], first[COLD]);
	if (p->feed != FEED_RATE && p->feed >= FEED_JUST && gone[HOT] * 8 > gone[COLD])
		mmg_fail("not protected: %zu pages of the tier that was read again, %zu others",
			 gone[HOT], gone[COLD]);
	if (p->feed < FEED_JUST && !alike(gone[HOT], gone[COLD]))
		mmg_fail("%zu pages that were read %d times went, %zu others: nothing says so",
			 gone[HOT], READS, gone[COLD]);
	if (p->feed == FEED_BELOW && !alike(gone[LOWER], gone[COLD]))
		mmg_fail("of the tier below one with refaults %zu pages went, %zu of the first",
			 gone[LOWER], gone[COLD]);
	if (p->feed == FEED_RATE && gone[HOT] * 8 < gone[COLD])
		mmg_fail("still protected: %zu pages of the tier went, %zu others, its rate is low",
			 gone[HOT], gone[COLD]);
	mmg_pass("pages read %d times, others: %zu, %zu; then %zu, %zu", READS, first[HOT],
		 first[COLD], gone[HOT], gone[COLD]);
}

#define CASE(name_, ...) { .name = name_, .fn = tiers_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("memfd-none", BACK_SHMEM, "60", FEED_NONE),
	CASE("memfd-few", BACK_SHMEM, "60", FEED_FEW),
	CASE("memfd-cold", BACK_SHMEM, "60", FEED_COLD),
	CASE("memfd-just", BACK_SHMEM, "60", FEED_JUST),
	CASE("memfd-hot", BACK_SHMEM, "60", FEED_HOT),
	CASE("memfd-below", BACK_SHMEM, "60", FEED_BELOW),
	CASE("memfd-rate", BACK_SHMEM, "60", FEED_RATE),
	CASE("file-none", BACK_FILE, "60", FEED_NONE),
	CASE("file-hot", BACK_FILE, "60", FEED_HOT),
	CASE("file-0-few", BACK_FILE, "0", FEED_FEW),
	CASE("file-0-cold", BACK_FILE, "0", FEED_COLD),
	CASE("file-0-just", BACK_FILE, "0", FEED_JUST),
	CASE("file-0-hot", BACK_FILE, "0", FEED_HOT),
	CASE("file-0-below", BACK_FILE, "0", FEED_BELOW),
	CASE("file-0-rate", BACK_FILE, "0", FEED_RATE),
};

static const struct mmg_test test = {
	.name = "kvm/tiers",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
