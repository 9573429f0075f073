// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does aging go on behind a mapping that it has to leave alone?
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-guards: 8788f6781486 mm: add vma_has_recency()
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-wants: CONFIG_HUGETLBFS CONFIG_PERF_EVENTS
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * Of the guest's memory every other run of 64 pages is a neighbour that the walk skips
 * (should_skip_vma()): advised MADV_RANDOM or MADV_SEQUENTIAL, locked, without access, or a
 * device's buffer (perf's: VM_DONTEXPAND, mapped by frame numbers from 6.16 on).  Four runs
 * of either kind share a page table.  In "hugetlb" every other 2 MiB is a hugetlb page.
 *
 * Half of the other pages are touched before each of two agings, and of the neighbours all
 * that can be.  Those pages, and no others, have to be in the generation that was aged: a
 * walk that stops at the first mapping to be skipped loses all behind it.  Then as much as
 * is cold is reclaimed: what was touched stays, and neighbours that were advised go with the
 * cold ones however often they were touched (from 6.3 on).
 *
 * locked-part-thp	the second half of each huge page is locked: reclaim takes the others,
 *			splitting what it has to, and none of the locked pages
 */
#include "kernel_release.h"
#include "scenario.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH		64	/* MIN_LRU_BATCH, and what else the process has in the group */
#define RUN		64	/* pages of a mapping */
#define ROUNDS		2
#define TRIES		32

enum kind { RANDOM, SEQUENTIAL, LOCKED, NO_ACCESS, DEVICE, HUGETLB };

/**
 * struct params - a case
 * @kind:	what the neighbours are
 * @host:	touched by this process
 */
struct params {
	enum kind kind;
	bool host;
};

static const struct params *now;

/* Pages of a mapping: the two kinds take turns */
static size_t run_pages(const struct scenario *s)
{
	return now->kind == HUGETLB ? HUGE_SIZE / s->r.page_size : RUN;
}

static bool ours(const struct scenario *s, size_t page)
{
	return !(page / run_pages(s) % 2);
}

/* Can the pages of a neighbour be touched, and are they on the group's lists? */
static bool advised(void)
{
	return now->kind == RANDOM || now->kind == SEQUENTIAL;
}

static bool usable(void)
{
	return advised() || now->kind == LOCKED;
}

/* perf's buffer: a page for its state and 2^n for records */
static void map_device(char *p, size_t bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
	};
	size_t size = bytes / 2 + getpagesize();
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		mmg_skip("perf_event_open: %s", strerror(errno));
	if (munmap(p, bytes))
		mmg_broken("munmap: %s", strerror(errno));
	if (mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		mmg_skip("mapping %zu KiB of perf's buffer: %s: kernel.perf_event_mlock_kb",
			 size >> 10, strerror(errno));
}

static void map_hugetlb(char *p, size_t bytes)
{
	if (mmap(p, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED | MAP_POPULATE, -1, 0) ==
	    MAP_FAILED)
		mmg_skip("a huge page: %s: vm.nr_hugepages", strerror(errno));
}

/* Before the region is the guest's and before it is touched */
static void make_neighbours(struct scenario *s)
{
	size_t bytes = run_pages(s) * s->r.page_size, i;

	for (i = run_pages(s); i < s->r.pages; i += 2 * run_pages(s)) {
		char *p = s->r.mem + i * s->r.page_size;

		if (now->kind == DEVICE)
			map_device(p, bytes);
		if (now->kind == HUGETLB)
			map_hugetlb(p, bytes);
		if (advised() && madvise(p, bytes, now->kind == RANDOM ? MADV_RANDOM :
					 MADV_SEQUENTIAL))
			mmg_broken("advising: %s", strerror(errno));
	}
}

/* Once all was faulted in */
static void close_neighbours(struct scenario *s)
{
	size_t bytes = run_pages(s) * s->r.page_size, i;

	for (i = run_pages(s); i < s->r.pages; i += 2 * run_pages(s)) {
		char *p = s->r.mem + i * s->r.page_size;

		if (now->kind == LOCKED && mlock(p, bytes))
			mmg_broken("mlock of %zu KiB: %s", bytes >> 10, strerror(errno));
		if (now->kind == NO_ACCESS && mprotect(p, bytes, PROT_NONE))
			mmg_broken("PROT_NONE of %zu KiB: %s", bytes >> 10, strerror(errno));
	}
}

static u32 *pages_where(const struct scenario *s, bool (*wanted)(const struct scenario *s,
								 size_t page), size_t *n)
{
	u32 *list = malloc(s->r.pages * sizeof(*list));
	size_t i;

	*n = 0;
	for (i = 0; list && i < s->r.pages; i++) {
		if (wanted(s, i))
			list[(*n)++] = i;
	}
	return list;
}

static bool faulted(const struct scenario *s, size_t page)
{
	return ours(s, page) || usable() || now->kind == NO_ACCESS;
}

/* How many pages that are aged, or were to be, are absent */
static size_t left_of(struct scenario *s)
{
	size_t n = 0, i;

	region_read(&s->r);
	for (i = 0; i < s->r.pages; i++)
		n += !s->r.present[i] && (ours(s, i) || advised());
	return n;
}

static void judge_order(struct scenario *s, const u8 *label, size_t hot)
{
	size_t cold = 0, hot_gone = 0, cold_gone = 0, next = 0, next_gone = 0, i;

	for (i = 0; i < s->r.pages; i++) {
		cold += ours(s, i) && label[i];
		next += !ours(s, i) && advised();
	}
	mmg_doing("reclaiming most of what is cold");
	/* not a page more: what is touched would have to go */
	for (i = 0; i < TRIES && left_of(s) < (cold + next) / 8 * 7; i++)
		memcg_reclaim(&s->group.cg, (cold + next) / 16 * s->r.page_size, NULL);
	for (i = 0; i < s->r.pages; i++) {
		if (s->r.present[i])
			continue;
		if (!ours(s, i))
			next_gone++;
		else
			*(label[i] ? &cold_gone : &hot_gone) += 1;
	}
	mmg_metric("hot_evicted", hot_gone);
	mmg_metric("cold_evicted", cold_gone);
	mmg_metric("neighbours_evicted", next_gone);
	if (hot_gone * 50 > hot)
		mmg_fail("%zu of %zu pages that were touched beside them were evicted, %zu of %zu others",
			 hot_gone, hot, cold_gone, cold);
	if (advised() && next_gone * 2 < next)
		mmg_fail("%zu of %zu advised pages were evicted, their touches are not to count",
			 next_gone, next);
	if (now->kind == LOCKED && next_gone)
		mmg_fail("%zu locked pages were evicted", next_gone);
}

static void beside_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct scenario_opts o = { .name = "beside", .prepare = make_neighbours };
	size_t n, hot = 0, touched = 0, i;
	u32 *all, *list;
	u8 *label;
	u64 moved;

	now = c->arg;
	if (advised() && kernel_before(6, 3))
		mmg_skip("up to 6.2 eviction counts references through advised mappings (vma_has_recency())");
	o.host = now->host;
	o.bytes = now->kind == HUGETLB ? 8 * HUGE_SIZE : mmg_opts.mem_bytes / 4;
	if (!now->host)
		guest_require();
	mglru_require(o.bytes);
	if (now->kind == HUGETLB) {
		mmg_save_setting("/proc/sys/vm/nr_hugepages");
		mmg_try_write("/proc/sys/vm/nr_hugepages", "%zu", o.bytes / HUGE_SIZE / 2 + 1);
	}
	scenario_create(&s, &o);
	all = pages_where(&s, faulted, &n);
	scenario_touch(&s, all, n, true);
	memcg_drain_lru();
	close_neighbours(&s);
	group_age(&s.group, true);
	label = calloc(1, s.r.pages);
	label_stratified(label, s.all, s.r.pages, 2, mmg_opts.seed);
	list = malloc(s.r.pages * sizeof(*list));
	for (i = 0; i < s.r.pages; i++) {
		bool mine = ours(&s, i);

		if (mine ? !label[i] : usable())
			list[touched++] = i;
		hot += mine && !label[i];
	}
	mmg_doing("touching %zu pages and aging", touched);
	for (i = 0; i < ROUNDS; i++) {
		scenario_touch(&s, list, touched, false);
		group_age(&s.group, true);
	}
	group_read(&s.group, false);
	moved = group_pages(&s.group, 0, LRU_GEN_ANON) + group_pages(&s.group, 1, LRU_GEN_ANON);
	mmg_metric("touched", hot);
	mmg_metric("touched_neighbours", touched - hot);
	mmg_metric("moved", moved);
	if (moved + BATCH < hot)
		mmg_fail("%llu of %zu pages moved that the %s touched between mappings to be skipped",
			 (unsigned long long)moved, hot, now->host ? "host" : "guest");
	if (moved > hot + BATCH)
		mmg_fail("%llu pages moved, the %s touched %zu beside %zu of mappings to be skipped",
			 (unsigned long long)moved, now->host ? "host" : "guest", hot,
			 touched - hot);
	judge_order(&s, label, hot);
	mmg_pass("all %zu pages that the %s touched between mappings to be skipped moved and stayed",
		 hot, now->host ? "host" : "guest");
}

/* --- a part of each huge page ----------------------------------------------------------------- */

#define KEY		0x10c0000ULL

/* Pages of the locked second half of each huge page, or of the first halves, that are absent */
static size_t half_gone(const struct scenario *s, bool locked)
{
	size_t n = 0, i;

	for (i = 0; i < s->r.pages; i++)
		n += !s->r.scratch[i] && (i % s->r.unit >= s->r.unit / 2) == locked;
	return n;
}

static void part_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct scenario_opts o = {
		.name = "part", .backing = BACK_THP, .host = c->arg, .bytes = 8 * HUGE_SIZE,
	};
	size_t half, i, locked, others = 0;
	u64 bad;

	if (!o.host)
		guest_require();
	mglru_require(o.bytes);
	scenario_create(&s, &o);
	scenario_populate(&s);
	scenario_fill(&s, s.all, s.r.units, KEY);
	half = s.r.unit / 2 * s.r.page_size;
	for (i = 0; i < s.r.units; i++) {
		if (mlock(s.r.mem + (2 * i + 1) * half, half))
			mmg_broken("mlock of %zu KiB: %s", half >> 10, strerror(errno));
	}
	memcg_drain_lru();
	mmg_doing("evicting what is not locked");
	for (i = 0; i < 8 && others * 2 < s.r.pages / 2; i++) {
		group_age(&s.group, true);
		memcg_reclaim(&s.group.cg, s.r.pages / 8 * s.r.page_size, NULL);
		region_read(&s.r);
		others = half_gone(&s, false);
	}
	locked = half_gone(&s, true);
	mmg_metric("locked_evicted", locked);
	mmg_metric("others_evicted", others);
	if (locked)
		mmg_fail("%zu locked pages of %zu halves of huge pages were evicted, %zu others",
			 locked, s.r.units, others);
	bad = scenario_wrong(&s, s.all, s.r.units, KEY);
	if (bad)
		mmg_fail("DATA LOST: %llu words of huge pages that are half locked are wrong",
			 (unsigned long long)bad);
	if (others * 2 < s.r.pages / 2)
		mmg_broken("only %zu of %zu pages that are not locked were evicted", others,
			   s.r.pages / 2);
	mmg_pass("all %zu locked pages of half locked huge pages stayed, %zu of %zu others left; not a word lost",
		 s.r.pages / 2, others, s.r.pages / 2);
}

#define CASE(name_, kind_, host_) { .name = (name_), .fn = beside_case, .timeout_s = 60, \
	.destructive = (kind_) == HUGETLB, \
	.arg = &(const struct params){ .kind = (kind_), .host = (host_) } }

static const struct mmg_case cases[] = {
	CASE("random", RANDOM, false),
	CASE("host-random", RANDOM, true),
	CASE("sequential", SEQUENTIAL, false),
	CASE("locked", LOCKED, false),
	CASE("host-locked", LOCKED, true),
	CASE("no-access", NO_ACCESS, false),
	CASE("device", DEVICE, false),
	CASE("host-device", DEVICE, true),
	CASE("hugetlb", HUGETLB, false),
	CASE("host-hugetlb", HUGETLB, true),
	{ .name = "locked-part-thp", .fn = part_case, .timeout_s = 60 },
	{ .name = "host-locked-part-thp", .fn = part_case, .arg = "host", .timeout_s = 60 },
};

static const struct mmg_test test = {
	.name = "kvm/neighbours",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
