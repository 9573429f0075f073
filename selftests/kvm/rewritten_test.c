// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is memory that was swapped back in, or given up, and written again kept?
 * mmgate-guards: 802a3a92ad7a mm: reclaim MADV_FREE pages
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default disk-swap
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * All of the memory is filled with a pattern.  Then, by the guest or by this process:
 *
 *	redirtied	it is evicted, read back, half of it written anew, and evicted
 *			again: a page in the swap cache is clean until it is written, and
 *			only the dirty bit of its entry says that what is in swap is old
 *	freed		MADV_FREE of all (free page reporting), half of it written anew, and
 *			all is reclaimed: what was written stays, the rest is old or zero
 *	given-back	MADV_DONTNEED of half (a balloon): it reads as zeroes, is written
 *			anew and evicted, and nothing else has changed
 *	paged-out	MADV_PAGEOUT of half: it leaves, the rest stays, and all reads as
 *			it was written
 *
 * At the end each word is compared.  A word that is wrong is data lost.
 *
 * How it could mislead: nothing is at stake where nothing was evicted (the number of
 * absent pages is checked each time).  Swap on zram may bypass the swap cache up to 6.17
 * (SWP_SYNCHRONOUS_IO in do_swap_page()), so that "redirtied" needs the machine disk-swap
 * there.  KVM marks what it maps for writing dirty itself: the host-* cases are the ones
 * that only the entry's dirty bit saves.
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/mman.h>

#define OLD		0x01d0000ULL
#define NEW		0x9e30000ULL

static size_t bytes(void)
{
	return mmg_opts.mem_bytes / 8;
}

static void must_be(struct scenario *s, const u32 *list, size_t n, u64 key, const char *what)
{
	u64 bad = scenario_wrong(s, list, n, key);

	if (bad)
		mmg_fail("DATA LOST: %llu of %llu words of what was %s are wrong",
			 (unsigned long long)bad,
			 (unsigned long long)n * s->r.page_size / sizeof(u64), what);
}

struct halves {
	u32 *mine, *rest;	/* written anew, and not */
	size_t n, n_rest;
};

static void set_up(struct scenario *s, struct halves *h, bool host)
{
	struct scenario_opts o = { .name = "rewritten", .host = host, .bytes = bytes() };
	u8 *label;

	if (!host)
		guest_require();
	mglru_require(2 * bytes());
	scenario_create(s, &o);
	scenario_populate(s);
	label = calloc(1, s->r.units);
	label_stratified(label, s->all, s->r.units, 2, mmg_opts.seed);
	h->mine = list_where(label, s->r.units, 0, &h->n);
	h->rest = list_where(label, s->r.units, 1, &h->n_rest);
	free(label);
	scenario_fill(s, s->all, s->r.units, OLD);
}

/* Age and reclaim until nearly all is gone; how many units are absent */
static size_t evict_all(struct scenario *s)
{
	size_t gone = 0;
	int i;

	mmg_doing("evicting all of it");
	memcg_drain_lru();
	for (i = 0; i < 8 && gone * 10 < s->r.units * 9; i++) {
		group_age(&s->group, true);
		memcg_reclaim(&s->group.cg, s->r.pages * s->r.page_size, NULL);
		gone = s->r.units - region_read(&s->r);
	}
	mmg_metric("evicted", gone);
	return gone;
}

static void must_evict(struct scenario *s)
{
	size_t gone = evict_all(s);

	if (gone * 10 < s->r.units * 9)
		mmg_broken("only %zu of %zu pages could be evicted", gone, s->r.units);
}

static void advise(struct scenario *s, const u32 *list, size_t n, int advice, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (madvise(s->r.mem + list[i] * s->r.page_size, s->r.page_size, advice))
			mmg_skip("%s: %s", name, strerror(errno));
	}
}

static void redirtied_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct halves h;

	set_up(&s, &h, c->arg);
	must_evict(&s);
	mmg_doing("reading all of it back, then writing half anew");
	must_be(&s, s.all, s.r.units, OLD, "evicted and read back");
	scenario_fill(&s, h.mine, h.n, NEW);
	/*
	 * Neither aging nor reclaim by the LRU: where those find an entry young they pass
	 * its dirty bit on to the page at once (walk_pte_range(), lru_gen_look_around()).
	 * MADV_PAGEOUT leaves the dirty bit to try_to_unmap_one().
	 */
	advise(&s, s.all, s.r.units, MADV_PAGEOUT, "MADV_PAGEOUT");
	must_evict(&s);
	must_be(&s, h.mine, h.n, NEW, "written again after it was read from swap");
	must_be(&s, h.rest, h.n_rest, OLD, "evicted twice");
	mmg_pass("%zu pages written after they were read from swap, %zu only read: not a word lost",
		 h.n, h.n_rest);
}

static void freed_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct halves h;
	size_t i, dropped = 0;

	set_up(&s, &h, c->arg);
	mmg_doing("freeing all of it and writing half anew");
	if (madvise(s.r.mem, s.r.pages * s.r.page_size, MADV_FREE))
		mmg_skip("MADV_FREE: %s", strerror(errno));
	scenario_fill(&s, h.mine, h.n, NEW);
	evict_all(&s);
	must_be(&s, h.mine, h.n, NEW, "written after MADV_FREE");
	for (i = 0; i < h.n_rest; i++) {
		const u64 *p = (const u64 *)(s.r.mem + h.rest[i] * s.r.page_size);
		bool old = p[0] == region_pattern(OLD, h.rest[i], 0);

		if (!old && p[0])
			mmg_fail("a page given up by MADV_FREE reads as neither old nor zero");
		dropped += !old;
	}
	mmg_metric("dropped", dropped);
	if (dropped * 2 < h.n_rest)
		mmg_broken("only %zu of %zu pages given up were dropped", dropped, h.n_rest);
	mmg_pass("%zu pages written after MADV_FREE were kept, %zu of %zu others dropped", h.n,
		 dropped, h.n_rest);
}

static void given_back_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct halves h;
	size_t i;

	set_up(&s, &h, c->arg);
	advise(&s, h.mine, h.n, MADV_DONTNEED, "MADV_DONTNEED");
	scenario_fill(&s, h.mine, 1, NEW);
	for (i = 1; i < h.n; i++) {
		if (*(const u64 *)(s.r.mem + h.mine[i] * s.r.page_size))
			mmg_fail("a page given back by MADV_DONTNEED does not read as zero");
	}
	scenario_fill(&s, h.mine, h.n, NEW);
	must_evict(&s);
	must_be(&s, h.mine, h.n, NEW, "written after MADV_DONTNEED");
	must_be(&s, h.rest, h.n_rest, OLD, "never given back");
	mmg_pass("%zu pages given back and written anew, %zu kept: not a word lost", h.n,
		 h.n_rest);
}

static void paged_out_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct halves h;
	size_t i, gone = 0, others = 0;

	set_up(&s, &h, c->arg);
	memcg_drain_lru();
	advise(&s, h.mine, h.n, MADV_PAGEOUT, "MADV_PAGEOUT");
	region_read(&s.r);
	for (i = 0; i < h.n; i++)
		gone += !s.r.present[h.mine[i]];
	for (i = 0; i < h.n_rest; i++)
		others += !s.r.present[h.rest[i]];
	mmg_metric("paged_out", gone);
	mmg_metric("others_gone", others);
	if (others)
		mmg_fail("MADV_PAGEOUT of %zu pages took %zu others", h.n, others);
	if (gone * 20 < h.n * 19)
		mmg_fail("MADV_PAGEOUT of %zu pages took %zu of them", h.n, gone);
	must_be(&s, s.all, s.r.units, OLD, "paged out, or beside what was");
	mmg_pass("%zu of %zu pages paged out, 0 of %zu others, and not a word lost", gone, h.n,
		 h.n_rest);
}

static const struct mmg_case cases[] = {
	{ .name = "redirtied", .fn = redirtied_case },
	{ .name = "host-redirtied", .fn = redirtied_case, .arg = "host" },
	{ .name = "freed", .fn = freed_case },
	{ .name = "host-freed", .fn = freed_case, .arg = "host" },
	{ .name = "given-back", .fn = given_back_case },
	{ .name = "host-given-back", .fn = given_back_case, .arg = "host" },
	{ .name = "paged-out", .fn = paged_out_case },
	{ .name = "host-paged-out", .fn = paged_out_case, .arg = "host" },
};

static const struct mmg_test test = {
	.name = "kvm/rewritten",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
