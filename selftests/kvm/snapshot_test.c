// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a snapshot of a running guest see each first write, and merged memory each write?
 * mmgate-guards: f45ec5ff16a7 userfaultfd: wp: support swap and page migration
 * mmgate-guards: 31dbd01f3143 ksm: Kernel SamePage Merging
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-wants: CONFIG_USERFAULTFD CONFIG_KSM
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * All of the memory has a pattern, and a part of it is in swap.
 *
 *	live*	a userfaultfd protects all of it against writes.  It is aged, more of it is
 *		evicted, and half is written anew.  The first write of each of these pages
 *		has to come to the userfaultfd, before it is done: the page is copied then.
 *		The copies and the pages that were not written are the memory as it was.
 *	merged*	KSM makes one page of each four that are equal.  Half of the pages are
 *		written anew: those that shared a page with them must not change, before
 *		eviction and after it.
 *
 * A word that is wrong is data lost.  How it could mislead: a page that is in no page table
 * and not in swap cannot be protected; all is faulted in first.
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "khugepaged.h"
#include "uffd.h"

#define OLD		0x01d0000ULL
#define NEW		0x9e30000ULL
#define MERGED		4

/**
 * struct params - a case
 * @backing:	BACK_ANON, BACK_THP or BACK_SHMEM
 * @host:	touched by this process
 */
struct params {
	enum backing backing;
	bool host;
};

static struct scenario s;
static struct uffd uffd;
/* Copies of the pages at their first write, and whether there is one */
static char *copies;
static u8 *copied;

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 4 * HUGE_SIZE : mmg_opts.mem_bytes / 8;
}

/* For this process alone, before it is in the group: the group's pages are the guest's */
static void make_copies(struct scenario *sc)
{
	size_t bytes = sc->r.pages * sc->r.page_size;

	copies = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	copied = calloc(1, sc->r.pages);
	if (copies == MAP_FAILED || !copied || mlock(copies, bytes))
		mmg_broken("no memory for copies of %zu pages", sc->r.pages);
}

static void before_write(const char *page, size_t number)
{
	size_t size = s.r.page_size;

	/* a second fault of a page is answered, its copy is the first */
	if (copied[number]++)
		return;
	memcpy(copies + number * size, page, size);
}

static void set_up(const struct params *p, void (*prepare)(struct scenario *sc))
{
	struct scenario_opts o = {
		.name = "snapshot", .backing = p->backing, .host = p->host,
		.bytes = bytes_of(p), .prepare = prepare,
	};

	if (!p->host)
		guest_require();
	mglru_require(2 * o.bytes);
	scenario_create(&s, &o);
	scenario_populate(&s);
}

static void must_be(const u32 *list, size_t n, u64 key, const char *what)
{
	u64 bad = scenario_wrong(&s, list, n, key);

	if (bad)
		mmg_fail("DATA LOST: %llu words of memory that was %s are wrong",
			 (unsigned long long)bad, what);
}

/* Age and reclaim until @share of 8 of it is gone */
static void evict(size_t share)
{
	size_t want = s.r.units * share / 8;
	int i;

	memcg_drain_lru();
	for (i = 0; i < 16 && s.r.units - region_read(&s.r) < want; i++) {
		group_age(&s.group, true);
		memcg_reclaim(&s.group.cg, s.r.pages / 8 * s.r.page_size, NULL);
	}
	if (s.r.units - region_read(&s.r) < want)
		mmg_broken("only %zu of %zu units could be evicted", s.r.units - region_read(&s.r),
			   s.r.units);
}

static void halves(u32 **mine, size_t *n, u32 **rest, size_t *n_rest)
{
	u8 *label = calloc(1, s.r.units);

	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	*mine = list_where(label, s.r.units, 0, n);
	*rest = list_where(label, s.r.units, 1, n_rest);
	free(label);
}

/* --- a live snapshot -------------------------------------------------------------------------- */

/* Words of a unit's copies that are not the old pattern; pages without a copy count whole */
static size_t copies_wrong(u32 unit)
{
	size_t words = s.r.unit * s.r.page_size / 8, per_page = s.r.page_size / 8, w, bad = 0;
	const u64 *p = (const u64 *)(copies + unit * s.r.unit * s.r.page_size);

	for (w = 0; w < words; w++)
		bad += !copied[unit * s.r.unit + w / per_page] ||
		       p[w] != region_pattern(OLD, unit, w);
	return bad;
}

static void live_case(const struct mmg_case *c)
{
	size_t n, n_rest, i, bad = 0, early;
	const struct params *p = c->arg;
	u32 *mine, *rest;

	set_up(p, make_copies);
	halves(&mine, &n, &rest, &n_rest);
	scenario_fill(&s, s.all, s.r.units, OLD);
	mmg_doing("evicting a quarter, protecting all, evicting more");
	evict(2);
	uffd_open(&uffd, s.r.mem, s.r.pages * s.r.page_size);
	uffd.before_write = before_write;
	uffd_serve_writes(&uffd);
	uffd_protect(&uffd);
	group_age(&s.group, true);
	evict(4);
	must_be(rest, n_rest, OLD, "only read");
	early = uffd.protected;
	mmg_doing("writing half of it");
	scenario_fill(&s, mine, n, NEW);
	for (i = 0; i < n; i++)
		bad += copies_wrong(mine[i]) > 0;
	mmg_metric("written", n * s.r.unit);
	mmg_metric("seen", uffd.protected);
	if (early)
		mmg_fail("%zu writes were seen before there was any", early);
	if (bad)
		mmg_fail("DATA LOST: of %zu units written %zu are not in the snapshot as they were, %zu writes seen",
			 n, bad, uffd.protected);
	must_be(mine, n, NEW, "written during a snapshot");
	must_be(rest, n_rest, OLD, "protected and not written");
	uffd_close(&uffd);
	mmg_pass("all %zu first writes by the %s were seen in time: the snapshot is whole",
		 n * s.r.unit, s.host ? "host" : "guest");
}

/* --- merged ------------------------------------------------------------------------------------ */

/* Pages of @list that do not have the pattern of the first page of their four */
static size_t not_as_first(const u32 *list, size_t n)
{
	size_t words = s.r.page_size / 8, i, w, bad = 0;

	for (i = 0; i < n; i++) {
		const u64 *p = (const u64 *)(s.r.mem + list[i] * s.r.page_size);
		u64 first = list[i] / MERGED * MERGED;

		for (w = 0; w < words && p[w] == region_pattern(OLD, first, w); w++)
			;
		bad += w < words;
	}
	return bad;
}

static void merged_case(const struct mmg_case *c)
{
	size_t n, n_rest, i, size;
	u32 *mine, *rest;

	ksm_require();
	set_up(c->arg, NULL);
	size = s.r.page_size;
	halves(&mine, &n, &rest, &n_rest);
	if (madvise(s.r.mem, s.r.pages * size, MADV_MERGEABLE))
		mmg_skip("MADV_MERGEABLE: %s", strerror(errno));
	for (i = 0; i < s.r.pages; i++) {
		if (i % MERGED)
			memcpy(s.r.mem + i * size, s.r.mem + i / MERGED * MERGED * size, size);
		else
			region_fill(&s.r, &s.all[i], 1, OLD);
	}
	ksm_merge(s.r.mem, s.r.pages, MERGED);
	/* the guest has them all in its tables */
	scenario_touch(&s, s.all, s.r.units, false);
	group_age(&s.group, true);
	mmg_doing("writing half of the merged pages");
	scenario_fill(&s, mine, n, NEW);
	must_be(mine, n, NEW, "merged and written");
	if (not_as_first(rest, n_rest))
		mmg_fail("DATA LOST: %zu of %zu merged pages changed when others were written",
			 not_as_first(rest, n_rest), n_rest);
	evict(7);
	must_be(mine, n, NEW, "merged, written and evicted");
	if (not_as_first(rest, n_rest))
		mmg_fail("DATA LOST: %zu of %zu merged pages changed in swap",
			 not_as_first(rest, n_rest), n_rest);
	mmg_pass("%zu merged pages written by the %s, %zu others kept, before and after eviction",
		 n, s.host ? "host" : "guest", n_rest);
}

#define CASE(name_, fn_, backing_, host_) { .name = (name_), .fn = (fn_), .timeout_s = 120, \
	.arg = &(const struct params){ .backing = (backing_), .host = (host_) } }

static const struct mmg_case cases[] = {
	CASE("live", live_case, BACK_ANON, false),
	CASE("host-live", live_case, BACK_ANON, true),
	CASE("live-thp", live_case, BACK_THP, false),
	CASE("live-shmem", live_case, BACK_SHMEM, false),
	CASE("merged", merged_case, BACK_ANON, false),
	CASE("host-merged", merged_case, BACK_ANON, true),
};

static const struct mmg_test test = {
	.name = "kvm/snapshot",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
