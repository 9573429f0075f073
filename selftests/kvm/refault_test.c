// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: do reads through descriptors, refaults and swappiness decide what goes?
 * mmgate-guards: ac35a4902374 mm: multi-gen LRU: minimal implementation
 * mmgate-machines: default data-disk
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 *	tiers-memfd	pages of a memfd, as of a VM whose disk another process serves: half of
 *	tiers-file	them are read eight times through the descriptor, all once before that.
 *			No page table says so; tiers do: sort_folio() moves them on
 *	refault-anon	guest pages that were swapped out and read again are counted, and are
 *			younger than idle ones that never left
 *	positions-*	pages that come back at once are recent refaults, later they are not,
 *			wherever min_seq is
 *	file-first	idle guest memory and idle page cache at the default swappiness: cache goes
 *	file-thrashes	the same once the cache has been read again after it was evicted: refaults
 *			of the one kind turn reclaim to the other one
 *
 * The measure of tiers-* is AUC, as in kvm/eviction_order, of the pairs of which one left; the
 * control reads both halves alike: 0.4 to 0.6.  file-* need a file on a disk: machine data-disk.
 *
 * How it could mislead: aging by force folds generations and forgets the reads, so they come
 * last; the last batches at the end of the cold half take a few others with them.
 */
#include "scenario.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "descriptor.h"
#include "orderstat.h"
#include "residency.h"

#define STEPS		8
#define READS		8
#define BATCH		64
#define POSITIONS	4	/* of min_seq, 13 apart: all remainders of 4 */
#define AUC_GOOD	0.99
#define BLIND_LOW	0.4
#define BLIND_HIGH	0.6

/* --- tiers --------------------------------------------------------------------------- */

struct tiers {
	struct group group;
	struct region r;
	u8 *label;
	u16 *rank;
	size_t hot_gone, cold_gone, half;
	double auc;
};

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void tiers_experiment(struct tiers *t, enum backing made_of, bool armed)
{
	size_t bytes = mmg_opts.mem_bytes / 4, step, i;
	struct order o;
	double both;

	memset(t, 0, sizeof(*t));
	group_create(&t->group, NULL, armed ? "tiers" : "control");
	if (made_of == BACK_SHMEM)
		descriptor_memfd(&t->r, bytes);
	else
		region_create(&t->r, made_of, bytes, 0);
	group_enter(&t->group);
	if (made_of == BACK_SHMEM)
		descriptor_write(&t->r);
	else if (posix_fadvise(t->r.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
	t->label = calloc(1, t->r.units);
	t->rank = calloc(t->r.units, sizeof(*t->rank));
	t->half = t->r.units / 2;
	{
		u32 *all = list_all(t->r.units, 0);

		label_stratified(t->label, all, t->r.units, 2, mmg_opts.seed + armed);
		free(all);
	}
	descriptor_read(&t->r, t->label, -1, 1);
	memcg_drain_lru();
	if (region_read(&t->r) != t->r.units)
		mmg_broken("precondition: %zu of %zu pages are in memory", region_read(&t->r),
			   t->r.units);
	for (i = 0; i < 3; i++)
		group_age(&t->group, true);
	if (armed)
		descriptor_read(&t->r, t->label, 0, READS);
	for (step = 1; step <= STEPS; step++) {
		mmg_doing("reclaiming, step %zu of %d", step, STEPS);
		memcg_reclaim(&t->group.cg, t->half * 7 / 8 / STEPS * page(), NULL);
		region_read(&t->r);
		for (i = 0; i < t->r.units; i++) {
			if (!t->r.present[i] && !t->rank[i])
				t->rank[i] = step;
		}
	}
	for (i = 0; i < t->r.units; i++) {
		if (!t->rank[i])
			t->rank[i] = STEPS + 1;
	}
	o = (struct order){ .n = t->r.units, .age = t->label, .rank = t->rank,
			    .nr_ranks = STEPS + 1 };
	t->hot_gone = order_evicted(&o, 0);
	t->cold_gone = order_evicted(&o, 1);
	both = (double)(t->half - t->hot_gone) * (t->half - t->cold_gone) /
	       ((double)t->half * t->half);
	t->auc = both < 1 ? (order_auc(&o) - both / 2) / (1 - both) : NAN;
	munmap(t->r.mem, t->r.pages * page());
	close(t->r.fd);
	free(t->label);
	free(t->rank);
	group_destroy(&t->group);
}

static void tiers_case(const struct mmg_case *c)
{
	enum backing kind = c->arg ? BACK_FILE : BACK_SHMEM;
	static struct tiers t, control;

	mglru_require(mmg_opts.mem_bytes / 4);
	tiers_experiment(&t, kind, true);
	tiers_experiment(&control, kind, false);
	mmg_metric("auc", t.auc);
	mmg_metric("hot_evicted", t.hot_gone);
	mmg_metric("cold_evicted", t.cold_gone);
	mmg_metric("control_auc", control.auc);
	if (!(control.auc >= BLIND_LOW && control.auc <= BLIND_HIGH))
		mmg_broken("control: AUC %.3f, %zu and %zu of %zu each evicted", control.auc,
			   control.hot_gone, control.cold_gone, control.half);
	if ((t.hot_gone + t.cold_gone) * 2 < t.half * 7 / 8)
		mmg_fail("asked for %zu pages: %zu read once and %zu read %d times were evicted",
			 t.half * 7 / 8, t.cold_gone, t.hot_gone, READS + 1);
	if (!(t.auc >= AUC_GOOD))
		mmg_fail("not protected: AUC %.3f, %zu read %d times, %zu read once of %zu gone",
			 t.auc, t.hot_gone, READS + 1, t.cold_gone, t.half);
	mmg_pass("AUC %.3f: %zu pages read %d times, %zu read once of %zu each gone, control %.3f",
		 t.auc, t.hot_gone, READS + 1, t.cold_gone, t.half, control.auc);
}

/* --- refaults ----------------------------------------------------------------------------- */

static u64 stat_of(const struct scenario *s, const char *key)
{
	return memcg_key(&s->group.cg, "memory.stat", key);
}

static void refault_case(const struct mmg_case *c)
{
	struct scenario_opts o = { .name = "refault", .bytes = mmg_opts.mem_bytes / 4 };
	static struct scenario s;
	size_t i, back = 0, back_gone = 0, idle = 0, idle_gone = 0;
	u64 refaults, activated;
	u32 *list;
	u8 *was_out;

	(void)c;
	guest_require();
	mglru_require(o.bytes);
	scenario_create(&s, &o);
	scenario_populate(&s);
	for (i = 0; i < 3; i++)
		group_age(&s.group, true);
	mmg_doing("evicting a third");
	memcg_reclaim(&s.group.cg, s.r.pages / 3 * page(), NULL);
	region_read(&s.r);
	was_out = malloc(s.r.units);
	list = malloc(s.r.units * sizeof(*list));
	for (i = 0; i < s.r.units; i++) {
		was_out[i] = !s.r.present[i];
		if (was_out[i])
			list[back++] = i;
	}
	idle = s.r.units - back;
	if (back * 5 < s.r.units || idle * 5 < s.r.units)
		mmg_broken("%zu of %zu pages were evicted, a third was asked for", back, s.r.units);
	refaults = stat_of(&s, "workingset_refault_anon");
	activated = stat_of(&s, "workingset_activate_anon");
	mmg_doing("reading them again");
	scenario_touch(&s, list, back, false);
	memcg_drain_lru();
	refaults = stat_of(&s, "workingset_refault_anon") - refaults;
	activated = stat_of(&s, "workingset_activate_anon") - activated;
	mmg_metric("evicted", back);
	mmg_metric("refaults", refaults);
	mmg_metric("activated", activated);
	mmg_doing("evicting a third again");
	memcg_reclaim(&s.group.cg, s.r.pages / 3 * page(), NULL);
	region_read(&s.r);
	for (i = 0; i < s.r.units; i++) {
		if (!s.r.present[i])
			*(was_out[i] ? &back_gone : &idle_gone) += 1;
	}
	mmg_metric("refaulted_evicted", back_gone);
	mmg_metric("idle_evicted", idle_gone);
	if (refaults + back / 8 + BATCH < back || refaults > back + back / 8 + BATCH)
		mmg_fail("%llu refaults were counted, %zu pages came back",
			 (unsigned long long)refaults, back);
	if (back_gone * 20 > back)
		mmg_fail("of %zu pages just come back %zu were evicted again, of %zu idle %zu",
			 back, back_gone, idle, idle_gone);
	if ((back_gone + idle_gone) * 4 < s.r.units)
		mmg_fail("asked for a third of %zu pages: %zu were evicted", s.r.units,
			 back_gone + idle_gone);
	mmg_pass("%llu refaults of %zu pages; then %zu of them and %zu idle ones evicted",
		 (unsigned long long)refaults, back, back_gone, idle_gone);
}

/* --- recent or not --------------------------------------------------------------------- */

/* Refaults of all tiers, counted since min_seq of the type moved; *@seq is that */
static u64 counted(struct group *group, int nid, int type, u64 *seq)
{
	u64 sum = 0;
	unsigned int i, g, t;

	group_read(group, true);
	*seq = 0;
	for (i = 0; i < group->info.nr_nodes; i++) {
		const struct lru_gen_node *node = &group->info.node[i];

		if (nid >= 0 && node->nid != nid)
			continue;
		for (g = 0; g < node->nr_gens && node->gen[g].stale[type]; g++)
			;
		if (g == node->nr_gens || node->gen[g].nr_tiers != LRU_GEN_MAX_TIERS)
			mmg_skip("lru_gen_full has no tiers");
		*seq += node->gen[g].seq;
		for (t = 0; t < LRU_GEN_MAX_TIERS; t++)
			sum += node->gen[g].tier[t].n[type][0];
	}
	return sum;
}

/* Pages of this process itself that are in swap: they come back when they are used */
static u64 own_gone(struct region *r)
{
	char *text = mmg_read_file("/proc/self/status", NULL), *p;
	u64 pages, gone = r->units - region_read(r);

	p = text ? strstr(text, "VmSwap:") : NULL;
	pages = p ? strtoull(p + strlen("VmSwap:"), NULL, 10) * 1024 / page() : 0;
	free(text);
	return pages > gone ? pages - gone : 0;
}

/* Read again what is gone, by whoever reads here; returns how many pages that were */
static size_t bring_back(struct scenario *s, bool file)
{
	u32 *list = malloc(s->r.units * sizeof(*list));
	size_t n = 0, i;

	region_read(&s->r);
	for (i = 0; i < s->r.units; i++) {
		if (!s->r.present[i])
			list[n++] = i;
	}
	if (file)
		descriptor_read(&s->r, s->r.present, 0, 1);
	else
		scenario_touch(s, list, n, false);
	free(list);
	memcg_drain_lru();
	if (region_read(&s->r) != s->r.units)
		mmg_broken("%zu of %zu pages are in memory after they were read again",
			   region_read(&s->r), s->r.units);
	return n;
}

/*
 * The shadow of an evicted page holds min_seq of that time, in few bits.  A page that comes
 * back while that is still so is counted as a recent refault, whatever min_seq is, and
 * one that comes back MAX_NR_GENS generations later is not (lru_gen_test_recent()).
 */
static void positions_case(const struct mmg_case *c)
{
	bool file = c->arg;
	struct scenario_opts o = { .name = "positions", .bytes = mmg_opts.mem_bytes / 4,
				   .host = file, .backing = file ? BACK_FILE : BACK_ANON };
	int type = file ? LRU_GEN_FILE : LRU_GEN_ANON, round, i;
	u64 before, after, seq, again, first = 0, own;
	static struct scenario s;
	size_t back;

	if (!file)
		guest_require();
	mglru_require(o.bytes);
	scenario_create(&s, &o);
	if (file) {
		mmg_write_setting("/proc/sys/vm/swappiness", "0");
		if (posix_fadvise(s.r.fd, 0, 0, POSIX_FADV_RANDOM))
			mmg_broken("posix_fadvise: %s", strerror(errno));
		descriptor_read(&s.r, NULL, -1, 1);
		memcg_drain_lru();
	} else {
		scenario_populate(&s);
	}
	for (round = 0; round < POSITIONS; round++) {
		/* all of it in the oldest generation */
		for (i = 0; i < LRU_GEN_MAX_GENS; i++)
			group_age(&s.group, true);
		mmg_doing("evicting and reading again, round %d", round);
		memcg_reclaim(&s.group.cg, 2 * BATCH * page(), NULL);
		own = own_gone(&s.r);
		before = counted(&s.group, s.r.nid, type, &seq);
		if (!round)
			first = seq;
		back = bring_back(&s, file);
		after = counted(&s.group, s.r.nid, type, &again);
		if (seq != again || back < BATCH)
			mmg_broken("min_seq went from %llu to %llu, %zu pages came back",
				   (unsigned long long)seq, (unsigned long long)again, back);
		if (after - before < back || after - before > back + own)
			mmg_fail("at min_seq %llu %zu pages came back at once, %llu were counted",
				 (unsigned long long)seq, back,
				 (unsigned long long)(after - before));
		memcg_reclaim(&s.group.cg, 2 * BATCH * page(), NULL);
		for (i = 0; i < 2 * LRU_GEN_MAX_GENS + 1; i++)
			group_age(&s.group, true);
		own = own_gone(&s.r);
		before = counted(&s.group, s.r.nid, type, &seq);
		back = bring_back(&s, file);
		after = counted(&s.group, s.r.nid, type, &again);
		if (seq != again || back < BATCH)
			mmg_broken("min_seq went from %llu to %llu, %zu pages came back",
				   (unsigned long long)seq, (unsigned long long)again, back);
		if (after > before + own)
			mmg_fail("at min_seq %llu %zu pages came back late, %llu were counted",
				 (unsigned long long)seq, back,
				 (unsigned long long)(after - before));
	}
	mmg_metric("first_seq", first);
	mmg_metric("last_seq", seq);
	if (seq < 8)
		mmg_broken("min_seq is only %llu after %d rounds", (unsigned long long)seq, round);
	mmg_pass("refaults counted where they are recent, at min_seq %llu to %llu",
		 (unsigned long long)first, (unsigned long long)seq);
}

/* --- anonymous against file ------------------------------------------------------------- */

static void kinds_case(const struct mmg_case *c)
{
	bool thrash = c->arg;
	struct scenario_opts o = { .name = "kinds", .bytes = mmg_opts.mem_bytes / 4 };
	static struct scenario s;
	static struct region file;
	size_t asked, anon, cache, files, round;
	u64 refaults;

	(void)c;
	guest_require();
	mglru_require(o.bytes);
	mmg_write_setting("/proc/sys/vm/swappiness", "60");
	region_create(&file, BACK_FILE, o.bytes, 0);
	if (posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
	scenario_create(&s, &o);
	scenario_populate(&s);
	descriptor_read(&file, NULL, -1, 1);
	memcg_drain_lru();
	for (round = 0; round < 3; round++)
		group_age(&s.group, true);
	asked = s.r.pages / 2;
	refaults = stat_of(&s, "workingset_refault_file");
	for (round = 0; round < (thrash ? 4 : 0); round++) {
		mmg_doing("evicting page cache and reading it again, round %zu", round);
		memcg_reclaim(&s.group.cg, asked / 4 * page(), NULL);
		region_read(&file);
		/* no others: each reading protects page cache whatever the other kind does */
		descriptor_read(&file, file.present, 0, 1);
	}
	refaults = stat_of(&s, "workingset_refault_file") - refaults;
	anon = region_read(&s.r);
	cache = region_read(&file);
	mmg_doing("reclaiming at the default swappiness");
	memcg_reclaim(&s.group.cg, asked * page(), NULL);
	files = cache - region_read(&file);
	anon -= region_read(&s.r);
	mmg_metric("anon_taken", anon);
	mmg_metric("file_taken", files);
	mmg_metric("file_refaults", refaults);
	if ((anon + files) * 4 < asked * 3)
		mmg_fail("asked for %zu pages: %zu anonymous, %zu of page cache went", asked,
			 anon, files);
	if (!thrash && anon * 10 > files)
		mmg_fail("at swappiness 60 %zu anonymous pages went and %zu of idle page cache",
			 anon, files);
	if (thrash && refaults < 2 * BATCH)
		mmg_broken("%llu refaults of page cache: it does not thrash",
			   (unsigned long long)refaults);
	if (thrash && anon * 2 < files)
		mmg_fail("page cache had %llu refaults, yet %zu of it went, anonymous %zu",
			 (unsigned long long)refaults, files, anon);
	mmg_pass("after %llu refaults of page cache %zu anonymous pages and %zu of cache went",
		 (unsigned long long)refaults, anon, files);
}

static const struct mmg_case cases[] = {
	{ .name = "tiers-memfd", .fn = tiers_case },
	{ .name = "tiers-file", .fn = tiers_case, .arg = "file" },
	{ .name = "refault-anon", .fn = refault_case },
	{ .name = "positions-anon", .fn = positions_case },
	{ .name = "positions-file", .fn = positions_case, .arg = "file" },
	{ .name = "file-first", .fn = kinds_case },
	{ .name = "file-thrashes", .fn = kinds_case, .arg = "thrash" },
};

static const struct mmg_test test = {
	.name = "kvm/refault",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
