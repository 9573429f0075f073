// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does khugepaged collapse what a guest uses, leave what it does not, and lose nothing?
 * mmgate-guards: 8ee53820edfd thp: mmu_notifier_test_young
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: 394bfac1c7f7 mm/khugepaged: fix the address passed to notifier on testing young
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_TRANSPARENT_HUGEPAGE debugfs root
 * mmgate-wants: CONFIG_USERFAULTFD
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * khugepaged collapses the base pages of a page table to a huge page if at least one of them
 * was used: its entry is young, the page is marked so, or a notifier says that it is young
 * (hpage_collapse_scan_pmd() up to 7.1, collapse_scan_pmd() later).  A guest's touches are in
 * KVM's entries alone.
 *
 *	warm		all is touched and aged twice, then aged once more: nothing is young.  One
 *			page, not the first, of each table of one half is touched.  khugepaged
 *			goes over all: these tables become huge, the others do not.  Guest and
 *			host read the pattern, the guest writes half of the pages anew, the host
 *			must see that: a guest that still had the old pages would write there.
 *			Then the warm ones are touched in two rounds of aging, and reclaim of most
 *			of the others takes none of them.
 *	missing		pages of each table are missing, and a userfaultfd is to place them
 *			(post-copy).  khugepaged may fill gaps with zeroes elsewhere
 *			(max_ptes_none), here it must not: the guest has to find what was to be
 *			placed.  The control is the same once nobody watches any more: collapsed.
 *
 * How it could mislead: collapse_huge_page() takes KVM's entries away and then asks once more
 * whether a page is young (__collapse_huge_page_isolate()).  Up to 6.12 KVM marks what it loses
 * accessed, later it does not, and what only a guest uses is never collapsed.  So that is
 * asked for up to 6.12 only, and measured on later kernels.  On a kernel without the series
 * aging does not clear the guest's bits, and all of it is young: "warm" fails.
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "kernel_release.h"
#include "khugepaged.h"
#include "residency.h"
#include "trace.h"
#include "uffd.h"

#define TABLES		16
#define TRIES		32
#define OLD		0x01d0000ULL
#define NEW		0x9e30000ULL

static size_t per_table(const struct scenario *s)
{
	return HUGE_SIZE / s->r.page_size;
}

/* A mapping of its own for each page table, so that smaps tells them apart */
static void separate(struct scenario *s)
{
	size_t t;

	for (t = 0; t < s->r.pages / per_table(s); t += 2) {
		if (madvise(s->r.mem + t * HUGE_SIZE, HUGE_SIZE, MADV_DONTDUMP))
			mmg_broken("MADV_DONTDUMP: %s", strerror(errno));
	}
}

static void set_up(struct scenario *s, bool host, size_t tables)
{
	struct scenario_opts o = {
		.name = "collapse", .host = host, .bytes = tables * HUGE_SIZE, .prepare = separate,
	};

	if (!host)
		guest_require();
	mglru_require(o.bytes);
	khugepaged_require();
	/* nobody else has memory that khugepaged may collapse */
	mmg_write_setting("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	scenario_create(s, &o);
}

static void must_be(struct scenario *s, bool by_host, const u32 *list, size_t n, u64 key,
		    const char *what)
{
	u64 first = 0, bad;

	bad = by_host ? region_check(&s->r, list, n, key, &first) :
			guest_pattern(&s->guest, 0, OP_CHECK, list, n, key);
	if (bad)
		mmg_fail("DATA LOST: the %s reads %llu wrong words %s", by_host ? "host" : "guest",
			 (unsigned long long)bad, what);
}

static void both_read(struct scenario *s, const u32 *list, size_t n, u64 key, const char *what)
{
	must_be(s, true, list, n, key, what);
	if (!s->host)
		must_be(s, false, list, n, key, what);
}

/*
 * Nothing is young afterwards, and no page is marked referenced: from 6.14 on a walk marks
 * what it finds young for the first time, and promotes and unmarks it the second time.
 */
static void quiet(struct scenario *s)
{
	int i;

	mmg_doing("aging until nothing is young");
	for (i = 0; i < 2; i++) {
		scenario_touch(s, s->all, s->r.units, false);
		group_age(&s->group, true);
	}
	group_age(&s->group, true);
}

/* One page of each table with label 0, never the table's first */
static u32 *one_each(struct scenario *s, const u8 *label, size_t tables, u64 *state, size_t *n)
{
	u32 *list = malloc(tables * sizeof(*list));
	size_t t;

	*n = 0;
	for (t = 0; list && t < tables; t++) {
		if (!label[t])
			list[(*n)++] = t * per_table(s) + 1 + mmg_rand(state) % (per_table(s) - 1);
	}
	return list;
}

/* Let khugepaged see all of it; which tables are huge now */
static void let_collapse(struct scenario *s, u8 *huge, size_t tables)
{
	size_t t;

	if (madvise(s->r.mem, s->r.pages * s->r.page_size, MADV_HUGEPAGE))
		mmg_broken("MADV_HUGEPAGE: %s", strerror(errno));
	khugepaged_pass();
	for (t = 0; t < tables; t++)
		huge[t] = residency_huge_bytes(s->r.mem + t * HUGE_SIZE) == HUGE_SIZE;
}

/*
 * Which tables khugepaged found in use: it went over them from the first to the last, and
 * nobody else has memory that it may collapse.  Broken where it did not go over all.
 */
static void found_in_use(const char *text, u8 *used, size_t tables)
{
	const char *line = text, *at;
	size_t t = 0;

	while (line && t < tables) {
		line = strstr(line, "mm_khugepaged_scan_pmd: ");
		at = line ? strstr(line, "referenced=") : NULL;
		if (!at)
			break;
		used[t++] = at[strlen("referenced=")] != '0';
		line = strchr(line, '\n');
	}
	if (t < tables)
		mmg_broken("khugepaged went over %zu of %zu page tables", t, tables);
}

static void collapse_all(struct scenario *s, const u8 *label, const u8 *huge)
{
	size_t t;

	for (t = 0; t < TABLES; t++) {
		if (!label[t] && !huge[t] &&
		    madvise(s->r.mem + t * HUGE_SIZE, HUGE_SIZE, MADV_COLLAPSE))
			mmg_skip("MADV_COLLAPSE (from 6.1 on): %s", strerror(errno));
	}
}

/* Of the tables that are warm by @label none may go before the others */
static void judge_order(struct scenario *s, const u8 *label, const u32 *list, size_t n)
{
	size_t idle = s->r.pages - n * per_table(s), warm_gone = 0, idle_gone = 0, i;

	for (i = 0; i < 2; i++) {
		scenario_touch(s, list, n, false);
		group_age(&s->group, true);
	}
	mmg_doing("reclaiming most of the idle half");
	for (i = 0; i < TRIES && s->r.units - region_read(&s->r) < idle / 8 * 7; i++)
		memcg_reclaim(&s->group.cg, idle / 16 * s->r.page_size, NULL);
	for (i = 0; i < s->r.pages; i++) {
		if (!s->r.present[i])
			*(label[i / per_table(s)] ? &idle_gone : &warm_gone) += 1;
	}
	mmg_metric("warm_evicted", warm_gone);
	mmg_metric("idle_evicted", idle_gone);
	if (warm_gone)
		mmg_fail("%zu pages of the tables in use were evicted, of %zu idle pages %zu",
			 warm_gone, idle, idle_gone);
	if (idle_gone * 2 < idle)
		mmg_fail("asked for most of %zu idle pages: %zu went", idle, idle_gone);
}

#define SCAN_EVENT	"huge_memory/mm_khugepaged_scan_pmd"

static void warm_case(const struct mmg_case *c)
{
	static struct scenario s;
	u8 label[TABLES], huge[TABLES], used[TABLES];
	size_t n, t, m = 0, i, warm_used = 0, idle_used = 0, warm_huge = 0, idle_huge = 0;
	u64 state = mmg_opts.seed;
	u32 tables[TABLES], *list, *mine;
	const char *who;

	set_up(&s, c->arg, TABLES);
	who = s.host ? "host" : "guest";
	if (!trace_has(SCAN_EVENT))
		mmg_skip("no tracepoint " SCAN_EVENT);
	scenario_populate(&s);
	scenario_fill(&s, s.all, s.r.units, OLD);
	quiet(&s);
	for (t = 0; t < TABLES; t++)
		tables[t] = t;
	/* a quarter of them: one that takes idle for used is not right by number either */
	label_stratified(label, tables, TABLES, 4, mmg_opts.seed);
	list = one_each(&s, label, TABLES, &state, &n);
	scenario_touch(&s, list, n, false);
	if (trace_start(SCAN_EVENT, 256))
		mmg_broken("tracing " SCAN_EVENT);
	let_collapse(&s, huge, TABLES);
	found_in_use(trace_stop(), used, TABLES);
	for (t = 0; t < TABLES; t++) {
		*(label[t] ? &idle_used : &warm_used) += used[t];
		*(label[t] ? &idle_huge : &warm_huge) += huge[t];
	}
	mmg_metric("warm", n);
	mmg_metric("warm_found", warm_used);
	mmg_metric("idle_found", idle_used);
	mmg_metric("warm_collapsed", warm_huge);
	mmg_metric("idle_collapsed", idle_huge);
	if (warm_used < n || idle_used)
		mmg_fail("khugepaged found %zu of %zu tables that the %s uses in use, and %zu of %zu idle ones",
			 warm_used, n, who, idle_used, TABLES - n);
	if (idle_huge)
		mmg_fail("khugepaged collapsed %zu of %zu idle tables", idle_huge, TABLES - n);
	if (warm_huge < n && (s.host || kernel_before(6, 13)))
		mmg_fail("khugepaged collapsed %zu of %zu tables that the %s uses", warm_huge, n,
			 who);
	collapse_all(&s, label, huge);
	judge_order(&s, label, list, n);
	both_read(&s, s.all, s.r.units, OLD, "after a collapse");
	mine = malloc(s.r.units * sizeof(*mine));
	for (i = 0; mine && i < s.r.units; i++) {
		if (mmg_rand(&state) & 1)
			mine[m++] = i;
	}
	scenario_fill(&s, mine, m, NEW);
	both_read(&s, mine, m, NEW, "written after a collapse");
	mmg_pass("khugepaged found the %zu tables of %d that the %s uses, no other, collapsed %zu; order and data kept",
		 warm_used, TABLES, who, warm_huge);
}

/* --- post-copy ------------------------------------------------------------------------------ */

#define GAPS_OF		8	/* one page of so many is missing */

static void place(u64 *words, size_t page)
{
	size_t i;

	for (i = 0; i < (size_t)getpagesize() / 8; i++)
		words[i] = region_pattern(OLD, page, i);
}

static void missing_case(const struct mmg_case *c)
{
	size_t tables = TABLES / 4, n = 0, i, placed, collapsed = 0, t, bytes;
	u64 state = mmg_opts.seed;
	static struct uffd uffd;
	static struct scenario s;
	u8 huge[TABLES];
	u32 *there;

	set_up(&s, c->arg, tables);
	bytes = s.r.pages * s.r.page_size;
	mmg_write_setting("/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", "%zu",
			  per_table(&s) - 1);
	uffd_open(&uffd, s.r.mem, bytes);
	uffd_serve_missing(&uffd, place);
	there = malloc(s.r.pages * sizeof(*there));
	for (i = 0; there && i < s.r.pages; i++) {
		if (mmg_rand(&state) % GAPS_OF)
			there[n++] = i;
	}
	mmg_doing("placing %zu of %zu pages", n, s.r.pages);
	scenario_touch(&s, there, n, true);
	scenario_fill(&s, there, n, OLD);
	placed = uffd.missing;
	memcg_drain_lru();
	group_age(&s.group, true);
	scenario_touch(&s, there, n, false);
	if (placed != n || uffd.missing != n)
		mmg_fail("%zu pages were placed, and %zu after an aging: %zu were touched",
			 placed, uffd.missing, n);
	let_collapse(&s, huge, tables);
	for (t = 0; t < tables; t++) {
		madvise(s.r.mem + t * HUGE_SIZE, HUGE_SIZE, MADV_COLLAPSE);
		collapsed += residency_huge_bytes(s.r.mem + t * HUGE_SIZE) == HUGE_SIZE;
	}
	mmg_metric("collapsed_while_missing", collapsed);
	if (s.host)
		must_be(&s, true, s.all, s.r.units, OLD, "where pages were to be placed");
	else
		both_read(&s, s.all, s.r.units, OLD, "where pages were to be placed");
	mmg_metric("placed", uffd.missing);
	if (collapsed || uffd.missing != s.r.pages)
		mmg_fail("%zu of %zu tables with pages missing were collapsed, %zu of %zu pages placed",
			 collapsed, tables, uffd.missing, s.r.pages);
	uffd_close(&uffd);
	for (i = 1; i < s.r.pages; i += GAPS_OF)
		madvise(s.r.mem + i * s.r.page_size, s.r.page_size, MADV_DONTNEED);
	n = 0;
	for (i = 0; i < s.r.pages; i += GAPS_OF)
		there[n++] = i;
	scenario_touch(&s, there, n, false);
	let_collapse(&s, huge, tables);
	for (collapsed = t = 0; t < tables; t++)
		collapsed += huge[t];
	if (collapsed < tables)
		mmg_broken("control: %zu of %zu tables with gaps that nobody watches were collapsed",
			   collapsed, tables);
	mmg_pass("none of %zu tables with pages missing was collapsed, all %zu pages placed; control %zu",
		 tables, s.r.pages, collapsed);
}

static const struct mmg_case cases[] = {
	{ .name = "warm", .fn = warm_case, .timeout_s = 120 },
	{ .name = "host-warm", .fn = warm_case, .arg = "host", .timeout_s = 120 },
	{ .name = "missing", .fn = missing_case, .timeout_s = 120 },
	{ .name = "host-missing", .fn = missing_case, .arg = "host", .timeout_s = 120 },
};

static const struct mmg_test test = {
	.name = "kvm/collapse",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
