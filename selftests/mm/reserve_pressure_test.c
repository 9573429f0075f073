// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: memory that fits higher up leaves the reserve of a low zone alone
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-guards: Fixes: eae116d1f044 ("Revert "mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone"")
 * mmgate-machines: small-zones no-normal numa-fake2 memoryless movable movable-bare
 * mmgate-quick: small-zones
 * mmgate-quick-cases: anon default-ratio
 * mmgate-needs: CONFIG_VM_EVENT_COUNTERS
 * mmgate-wants: CONFIG_SWAP CONFIG_ZRAM CONFIG_HUGETLBFS CONFIG_TRANSPARENT_HUGEPAGE CONFIG_EXT4_FS
 * mmgate-provokes: allocation failure
 * mmgate-timeout: 240
 *
 * Two experiments, each with several kinds of memory:
 *
 * ratio 1: every zone keeps as many pages as there are above it, which for a
 * low zone is more than it has: allocations that may be served higher up must
 * not get one page of it, in the fast path (low watermark) as well as in the
 * slow one (min), base pages as well as huge ones.  Memory is used up until the
 * upper zones are full and reclaim has begun, and then 10 MiB more.
 *
 * default ratio: until reclaim begins, and a little longer, every zone keeps its
 * min watermark and its reserve.  min_free_kbytes is made small first, so that the distance
 * between the watermarks does not hide the reserve; where it does all the same,
 * the case is skipped.
 *
 * Control: the ratio is then set to 0 and the same memory grows on: now the low
 * zone must give pages.  So a pass means that the reserve held them, not that
 * nothing ever asked; a control that gets none breaks the case.
 *
 * Two kinds of pages are told apart.  User memory aims at Movable, and is counted
 * by a zone's own LRU counters (nr_zone_active_anon and its like): a low zone may
 * gain as many as it had above min and its reserve, and no more.  Page tables, slabs and
 * swap's own structures aim at Normal, and may rightly take what user memory may not:
 * free pages are judged against the reserve that holds for both.
 *
 * How it could mislead: tasks that reclaim (PF_MEMALLOC) ignore reserves, so
 * what is swapped out is all the same word, which zram keeps without memory.
 * Counters lag by per-CPU batches: they are folded (vm.stat_refresh) before each
 * look.  Pages in per-CPU LRU batches are not counted yet: the slack allows for them.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fill.h"
#include "mm_util.h"

#define HUGE_LEFT	8		/* huge pages to be had, where they are wanted */
#define PAST		(10 * MIB)	/* beyond what the upper zones have */
#define LEFT		(8 * MIB)	/* of the upper zones, when the hog is done */
#define STEP		(1 * MIB)
#define NOISE		32		/* pages a busy kernel may allocate meanwhile */
#define SLACK_PER_CPU	8		/* pages a CPU moves while all are being counted */
#define LRU_BATCH	31		/* PAGEVEC_SIZE: pages a CPU holds back from the LRU lists */
#define ISOLATED	100		/* free pages that compaction may hold for a moment */
#define ISOLATED_HUGE	512		/* the same while huge pages are in demand */
#define NEAR		64		/* pages above its low mark and reserve: a low zone was asked */
#define FAR		256		/* so it was if it gave that many */
#define CONTROL_MIN	256		/* pages the control must get: well above NOISE and slack */
#define SMALL_MIN_KB	4096
#define GIB		(1024 * MIB)
#define SWAP_LEFT	(16 * MIB)	/* the OOM killer comes where there is none */
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage"

/* A zone that is watched, as it was and at its lowest */
struct watched {
	int node, index;
	char name[16];
	unsigned long start;		/* pages free, per-CPU lists included */
	unsigned long last;		/* at the last look */
	unsigned long lowest;		/* in two looks running, against short dips */
	unsigned long floor;		/* what user memory must leave */
	unsigned long any_floor;	/* what the kernel's own memory must leave, too */
	unsigned long gap;		/* from min to low: where the fast path ends */
	unsigned long slack, lru_slack;
	long lru_start, lru_most;	/* pages on the LRU lists, at the start and at most */
	long other_start;		/* pages in use that are on no LRU list */
	long came;			/* to the LRU lists at most, of what was free at the start */
	bool protected;
};

struct watch {
	struct watched zone[64];
	int nr;
	int node;			/* only this one; -1: all */
	unsigned long upper;		/* pages above min in zones with nothing above them */
	struct vmstat before;
};

struct pressure {
	enum fill_kind kind;
	bool bound;			/* to the last node that has a reserve */
	bool alone;			/* skip where the machine has one node only */
	const char *defrag;		/* THP: content of defrag */
	const char *mthp;		/* size directory, "hugepages-16kB" */
};

/* Pages free in a zone, with those on per-CPU lists */
static unsigned long have(const struct zi_zone *z)
{
	return z->free + z->pcp_count;
}

static bool is_pipe(enum fill_kind kind)
{
	return kind == FILL_PIPE || kind == FILL_SPLICE;
}

/* Pages of user memory and page cache in a zone, by its own counters */
static long lru_pages(const struct zi_zone *z)
{
	static const char *const names[] = {
		"nr_zone_inactive_anon", "nr_zone_active_anon", "nr_zone_inactive_file",
		"nr_zone_active_file", "nr_zone_unevictable",
	};
	unsigned long sum = 0, one;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!zi_zone_stat(z, names[i], &one))
			mmg_broken("node %d %s prints no %s", z->node, z->name, names[i]);
		sum += one;
	}
	return sum;
}

/* Pages of a zone that the kernel has for itself: in use, and on no LRU list */
static long other_pages(const struct zi_zone *z)
{
	return (long)z->managed - (long)have(z) - lru_pages(z);
}

/* User memory may use the zones up to Movable, the last but Device */
static int aim_of(const struct zoneinfo *zi, enum fill_kind kind)
{
	const char *name = kind == FILL_BLKDEV || is_pipe(kind) ? "Normal" : "Movable";
	const struct zi_zone *z = zoneinfo_zone_named(zi, zi->zones[0].node, name);

	if (!z)
		mmg_broken("no zone %s in /proc/zoneinfo", name);
	return z->index;
}

/* What the kernel takes for itself aims at Normal, or lower where the case does */
static int kernel_aim(const struct zoneinfo *zi, int aim)
{
	const struct zi_zone *z = zoneinfo_zone_named(zi, zi->zones[0].node, "Normal");

	return z && z->index < aim ? z->index : aim;
}

/* The last node with a zone that has pages above it: later nodes are forgotten first */
static int pick_node(const struct zoneinfo *zi, int aim)
{
	int node = -1;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].managed &&
		    zi_protection(zi, zi->zones[i].node, zi->zones[i].index, aim, 1))
			node = zi->zones[i].node;
	if (node < 0)
		mmg_skip("no zone here has pages above it; use machine small-zones");
	return node;
}

/*
 * Watch the zones of @node (-1: of all nodes) that memory aimed at zone @aim may come from.  The
 * reserve that must be kept is the formula's for @ratio, not what the kernel shows.
 */
static void watch_start(struct watch *w, const struct zoneinfo *zi, int node, int aim,
			const long *ratio)
{
	size_t i;

	memset(w, 0, sizeof(*w));
	w->node = node;
	mm_vmstat(&w->before);
	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		struct watched *t = &w->zone[w->nr];
		unsigned long above = zi_protection(zi, z->node, z->index, aim, 1);

		if (!z->managed || z->index > aim || (node >= 0 && z->node != node) ||
		    w->nr == (int)ARRAY_SIZE(w->zone))
			continue;
		w->nr++;
		t->node = z->node;
		t->index = z->index;
		snprintf(t->name, sizeof(t->name), "%s", z->name);
		t->start = have(z);
		t->last = t->start;
		t->lowest = t->start;
		t->protected = above > 0;
		/*
		 * What is printed as min includes a boost that comes and goes.  Swap's structures
		 * (ALLOC_MIN_RESERVE) may take half of min, interrupts (ALLOC_NON_BLOCK) a quarter of
		 * the rest: __zone_watermark_ok() in mm/page_alloc.c.  A zone that nobody is kept from
		 * says nothing of reserves, and is held to that; where there is one it is far larger.
		 */
		t->floor = z->min - z->boost +
			   zi_protection(zi, z->node, z->index, aim, ratio[z->index]);
		t->any_floor = z->min - z->boost +
			       zi_protection(zi, z->node, z->index, kernel_aim(zi, aim),
					     ratio[z->index]);
		if (!t->protected)
			t->any_floor -= (z->min - z->boost) - (z->min - z->boost) / 8 * 3;
		t->gap = z->low - z->min;
		t->slack = SLACK_PER_CPU * z->nr_cpus;
		t->lru_slack = LRU_BATCH * z->nr_cpus + NOISE;
		t->lru_start = lru_pages(z);
		t->lru_most = t->lru_start;
		t->other_start = other_pages(z);
		if (!t->protected)
			w->upper += z->free > z->min ? z->free - z->min : 0;
	}
}

/* Note how low each zone is now, and how much user memory it holds */
static void watch_look(struct watch *w)
{
	struct zoneinfo zi;
	int i;

	mm_refresh();
	mm_zoneinfo(&zi);
	for (i = 0; i < w->nr; i++) {
		struct watched *t = &w->zone[i];
		const struct zi_zone *z = zoneinfo_zone(&zi, t->node, t->index);
		unsigned long both;
		long came;

		if (!z)
			continue;
		both = have(z) > t->last ? have(z) : t->last;
		t->last = have(z);
		if (both < t->lowest)
			t->lowest = both;
		if (lru_pages(z) > t->lru_most)
			t->lru_most = lru_pages(z);
		came = lru_pages(z) - t->lru_start;
		/* where slabs are shrunk meanwhile, user memory may take their place */
		if (other_pages(z) < t->other_start)
			came -= t->other_start - other_pages(z);
		if (came > t->came)
			t->came = came;
	}
	zoneinfo_free(&zi);
}

/* Pages taken from zones that had something above them */
static unsigned long taken_low(const struct watch *w)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < w->nr; i++)
		if (w->zone[i].protected)
			sum += w->zone[i].start - w->zone[i].lowest;
	return sum;
}

/* Whether kswapd or an allocating task scanned between two looks */
static bool reclaiming(const struct vmstat *a, const struct vmstat *b)
{
	return vmstat_sum(a, "pgscan_") != vmstat_sum(b, "pgscan_") ||
	       vmstat_sum(a, "allocstall_") != vmstat_sum(b, "allocstall_");
}

/* There is memory or swap for all that is asked: nobody may be killed */
static void judge_oom(const struct watch *w)
{
	static struct vmstat now;

	mm_vmstat(&now);
	if (vmstat_delta(&w->before, &now, "oom_kill"))
		mmg_fail("%ld processes killed for want of memory",
			 vmstat_delta(&w->before, &now, "oom_kill"));
}

static void say_zones(const struct watch *w)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];

		mmg_info("node %d %-7s %s: %lu pages at the start, %lu at the least, floor %lu (%lu), %ld of users",
			 t->node, t->name, t->protected ? "low  " : "upper", t->start, t->lowest,
			 t->floor, t->any_floor, t->lru_most - t->lru_start);
	}
}

/* No low zone below what everybody has to leave, or below its start where that is less */
static void judge_floor(const struct watch *w, unsigned long isolated)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		unsigned long least = t->any_floor < t->start ? t->any_floor : t->start;

		if (t->lowest + t->slack + isolated >= least)
			continue;
		say_zones(w);
		mmg_fail("node %d %s went down to %lu pages of %lu, must keep %lu (slack %lu)",
			 t->node, t->name, t->lowest, t->start, least, t->slack + isolated);
	}
}

/* No low zone with more user memory than it had above its floor */
static void judge_users(const struct watch *w)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		long room = t->start > t->floor ? t->start - t->floor : 0;

		if (!t->protected || t->came <= room + (long)t->lru_slack)
			continue;
		say_zones(w);
		mmg_fail("%ld pages of user memory came from node %d %s, must be %ld at most (slack %lu)",
			 t->came, t->node, t->name, room, t->lru_slack);
	}
}

/*
 * pgalloc_ is summed over the nodes: it can be asked only for zones that are
 * low wherever they have pages, and that the kernel may not take for itself either.
 */
static void judge_counter(const struct watch *w, const struct zoneinfo *zi)
{
	static struct vmstat now;
	int i;
	size_t k;

	mm_vmstat(&now);
	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		unsigned long moved;
		bool alone = t->protected && t->start <= t->any_floor;

		for (k = 0; k < zi->nr_zones; k++)
			if (zi->zones[k].managed && zi->zones[k].node != t->node &&
			    !strcmp(zi->zones[k].name, t->name))
				alone = false;
		if (!alone)
			continue;
		moved = vmstat_alloc(&now, t->name) - vmstat_alloc(&w->before, t->name);
		mmg_info("node %d %s: %lu pages allocated meanwhile", t->node, t->name, moved);
		if (moved > t->slack + NOISE)
			mmg_fail("%lu pages came from node %d %s, must be none (slack %lu)",
				 moved, t->node, t->name, t->slack + NOISE);
	}
}

/* Swap has to be there, and be used, or reclaim of anonymous memory is an OOM kill */
static void need_swap(enum fill_kind kind)
{
	static struct vmstat mem;
	unsigned long want = (PAST + LEFT) / 1024 * 3;

	if (kind == FILL_FILE || kind == FILL_BLKDEV)
		return;
	if (vmstat_read("/proc/meminfo", &mem))
		mmg_broken("reading /proc/meminfo failed");
	if (vmstat_get(&mem, "SwapFree") < want)
		mmg_skip("%lu MiB of swap are free, %lu are needed for what is reclaimed",
			 vmstat_get(&mem, "SwapFree") / 1024, want / 1024);
	mmg_save_setting("/proc/sys/vm/swappiness");
	mmg_write_setting("/proc/sys/vm/swappiness", "60");
}

static void prepare_thp(const struct pressure *p)
{
	char path[128];

	if (p->defrag) {
		mmg_save_setting(THP_DIR "/enabled");
		mmg_save_setting(THP_DIR "/defrag");
		if (mmg_try_write(THP_DIR "/enabled", "madvise"))
			mmg_skip("no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)");
		mmg_write_setting(THP_DIR "/defrag", "%s", p->defrag);
	}
	if (p->mthp) {
		snprintf(path, sizeof(path), THP_DIR "/%s/enabled", p->mthp);
		if (access(path, F_OK))
			mmg_skip("no %s in " THP_DIR ": kernels before 6.8", p->mthp);
		mmg_save_setting(path);
		mmg_write_setting(path, "always");
		mmg_save_setting(THP_DIR "/enabled");
		mmg_write_setting(THP_DIR "/enabled", "never");
	}
}

static bool has_zone(const struct zoneinfo *zi, int index)
{
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].managed && zi->zones[i].index == index)
			return true;
	return false;
}

/*
 * The experiment fills what has nothing above it, so there must be something: with less,
 * the case's own few pages would have to come from zones that must not give any, and
 * the OOM killer would be right.
 */
static void need_upper(const struct zoneinfo *zi, int node, int aim)
{
	unsigned long need = (PAST + LEFT) / mm_page_size(), room = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		if (z->index <= aim && (node < 0 || z->node == node) && z->free > z->high &&
		    !zi_protection(zi, z->node, z->index, aim, 1))
			room += z->free - z->high;
	}
	if (room < need)
		mmg_skip("the uppermost zones have %lu MiB above high, %lu are needed",
			 room * mm_page_size() / MIB, need * mm_page_size() / MIB);
}

/* The node to watch, -1 for all of them */
static int aim_at_node(const struct pressure *p, const struct zoneinfo *zi, int aim)
{
	struct node_set one, memory;
	int node = pick_node(zi, aim);
	size_t i;

	if (node_state("has_memory", &memory))
		mmg_broken("reading which nodes have memory failed");
	if (p->alone && node_set_count(&memory) == 1)
		mmg_skip("one node has all the memory here: the same as the unbound case");
	/* the hog would take ZONE_MOVABLE first, and never come to what is below */
	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].managed && zi->zones[i].index > aim)
			mmg_skip("aims at Normal, and %s has pages above that here",
				 zi->zones[i].name);
	/* pipes cannot be reclaimed: with little beside them the kernel rightly OOM-kills */
	if (is_pipe(p->kind) && !has_zone(zi, aim))
		mmg_skip("pipes aim at Normal, which is empty here: the rest is too small");
	need_upper(zi, p->bound ? node : -1, aim);
	if (!p->bound)
		return -1;
	one = node_set_of(node);
	if (node_set_policy(NODE_BIND, &one))
		mmg_skip("memory cannot be bound to node %d: CONFIG_NUMA is needed", node);
	return node;
}

/* Take the upper zones but for @left bytes quickly, on each node that is watched */
static size_t hog(const struct watch *w, const struct zoneinfo *zi, size_t left)
{
	size_t took = 0;
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct zi_zone *z = zoneinfo_zone(zi, w->zone[i].node, w->zone[i].index);
		unsigned long spare = left / mm_page_size() + z->high;

		if (w->zone[i].protected || z->free <= spare)
			continue;
		mmg_doing("taking most of node %d %s", z->node, z->name);
		took += hog_start(z->node, (z->free - spare) * mm_page_size());
	}
	return took;
}

/* Wait until what the hog set off (reclaim, compaction) has come to rest */
static void settle(void)
{
	static struct vmstat a, b;
	int still = 0, i;

	mm_vmstat(&a);
	for (i = 0; i < 100 && still < 3; i++) {
		usleep(20000);
		mm_vmstat(&b);
		still++;
		if (reclaiming(&a, &b) || vmstat_sum(&a, "compact_") != vmstat_sum(&b, "compact_"))
			still = 0;
		a = b;
	}
}

/* Until @enough pages came from the low zones, or @target bytes are used */
static void grow(struct fill *f, struct watch *w, size_t target, unsigned long enough)
{
	size_t done;

	for (done = 0; done < target && taken_low(w) < enough; done += STEP) {
		mmg_doing("using memory: %zu of %zu MiB", done / MIB, target / MIB);
		if (fill_more(f, STEP) < STEP)
			break;
		watch_look(w);
	}
}

/* One experiment with ratio 1, from the beginning to its control */
struct experiment {
	const struct pressure *p;
	struct zoneinfo zi;
	struct watch w;
	struct fill fill;
	int aim, node;
	size_t target;			/* bytes to be used */
};

/* Pages that the control can get of the low zones */
static unsigned long control_room(const struct watch *w, const struct zoneinfo *zi)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		const struct zi_zone *z = zoneinfo_zone(zi, t->node, t->index);

		if (t->protected && z->free > z->low)
			sum += z->free - z->low;
	}
	return sum;
}

/* Take the upper zones up to what the experiment wants to use, and see what there is */
static void take_upper(struct experiment *e)
{
	const struct pressure *p = e->p;
	long ratio[ZI_MAX_ZONES];
	size_t hogged;
	int i;

	mm_zoneinfo(&e->zi);
	e->aim = aim_of(&e->zi, p->kind);
	e->node = aim_at_node(p, &e->zi, e->aim);
	mm_write_ratio(1);
	mm_ratio(ratio);
	watch_start(&e->w, &e->zi, e->node, e->aim, ratio);
	/* what cannot be reclaimed needs more beside it that can be, or the OOM killer comes */
	hogged = hog(&e->w, &e->zi, is_pipe(p->kind) ? LEFT + 2 * PAST : LEFT);
	/* what is left may be without one huge page among it */
	for (i = 0; p->defrag && i < e->w.nr; i++) {
		if (!e->w.zone[i].protected)
			hog_leave_huge(e->w.zone[i].node, HUGE_LEFT);
	}
	settle();
	zoneinfo_free(&e->zi);
	mm_refresh();
	mm_zoneinfo(&e->zi);
	watch_start(&e->w, &e->zi, e->node, e->aim, ratio);
	/* a low zone with more than its reserve may give the rest */
	for (i = 0; i < e->w.nr; i++)
		if (e->w.zone[i].protected && e->w.zone[i].start > e->w.zone[i].floor)
			e->w.upper += e->w.zone[i].start - e->w.zone[i].floor;
	e->target = e->w.upper * mm_page_size() + PAST;
	mmg_info("hog %zu MiB, upper zones have %zu MiB left, using %zu MiB", hogged / MIB,
		 (e->target - PAST) / MIB, e->target / MIB);
	if (control_room(&e->w, &e->zi) < 2 * CONTROL_MIN)
		mmg_skip("the low zones have %lu pages above low, the control needs %d",
			 control_room(&e->w, &e->zi), 2 * CONTROL_MIN);
}

/* Use memory up until reclaim has begun, and PAST beyond */
static void use_up(struct experiment *e)
{
	static struct vmstat now;
	struct fill first;
	int i;

	if (is_pipe(e->p->kind)) {
		/* what cannot be reclaimed needs something that can be */
		fill_start(&first, FILL_ANON, e->target);
		grow(&first, &e->w, e->target - PAST, ULONG_MAX);
		e->target = PAST;
	}
	fill_start(&e->fill, e->p->kind, 4 * e->target + 4 * PAST);
	if (e->fill.max < e->target)
		mmg_skip("a block device of %zu MiB is not enough, %zu are needed",
			 e->fill.max / MIB, e->target / MIB);
	grow(&e->fill, &e->w, e->target, ULONG_MAX);
	mm_vmstat(&now);
	for (i = 0; i < 4 && !reclaiming(&e->w.before, &now); i++) {
		grow(&e->fill, &e->w, PAST, ULONG_MAX);
		mm_vmstat(&now);
	}
}

static void judge(const struct experiment *e)
{
	bool huge = e->p->defrag || e->p->mthp;
	static struct vmstat now;
	unsigned long thp;

	mm_vmstat(&now);
	thp = vmstat_delta(&e->w.before, &now, "thp_fault_alloc");
	say_zones(&e->w);
	mmg_metric("taken_low", taken_low(&e->w));
	mmg_metric("huge_pages", thp);
	judge_users(&e->w);
	judge_counter(&e->w, &e->zi);
	judge_floor(&e->w, huge ? ISOLATED_HUGE : ISOLATED);
	judge_oom(&e->w);
	if (!reclaiming(&e->w.before, &now))
		mmg_broken("%zu MiB used and no reclaim: the upper zones were not full",
			   e->fill.used / MIB);
	if (e->p->defrag && !thp)
		mmg_broken("not one huge page was had");
}

/* The same with ratio 0: now the low zones must give pages; how many they gave */
static unsigned long control(struct experiment *e)
{
	static struct watch w;
	long ratio[ZI_MAX_ZONES] = { 0 };
	unsigned long gave;

	mm_write_ratio(0);
	zoneinfo_free(&e->zi);
	mm_zoneinfo(&e->zi);
	watch_start(&w, &e->zi, e->w.node, e->aim, ratio);
	/* further than what is free: reclaim goes on meanwhile, on each node */
	grow(&e->fill, &w, 3 * (w.upper * mm_page_size() + PAST), CONTROL_MIN);
	gave = taken_low(&w);
	mmg_metric("control_low", gave);
	if (gave < CONTROL_MIN)
		mmg_broken("control: with ratio 0 the low zones gave %lu pages, not %d or more",
			   gave, CONTROL_MIN);
	return gave;
}

static void ratio_one(const struct mmg_case *c)
{
	static struct experiment e;
	unsigned long gave;

	e.p = c->arg;
	mm_need_events();
	need_swap(e.p->kind);
	mm_usual_reclaim();
	mm_shrink_slabs();
	prepare_thp(e.p);
	mmg_save_setting(ZI_RATIO_PATH);
	take_upper(&e);
	use_up(&e);
	judge(&e);
	gave = control(&e);
	fill_stop(&e.fill);
	judge_oom(&e.w);
	mmg_pass("%zu MiB past the upper zones took %lu pages of the low ones; with ratio 0: %lu",
		 PAST / MIB, taken_low(&e.w), gave);
}

/*
 * Leave every zone only LEFT / 2 above what it has to keep.  Where user memory has a zone of its
 * own (@aside), page tables and swap's structures have but those below, and nothing there
 * can be reclaimed for them: with 4 MiB the OOM killer came.
 */
static size_t hog_to_floor(const struct watch *w, bool aside)
{
	size_t took = 0;
	int i;

	for (i = w->nr - 1; i >= 0; i--) {
		const struct watched *t = &w->zone[i];
		size_t left = aside && t->protected ? LEFT : LEFT / 2;
		unsigned long keep = t->floor + left / mm_page_size();

		if (t->start > keep)
			took += hog_start(t->node, (t->start - keep) * mm_page_size());
	}
	return took;
}

/* Pages that the low zone nearest to its floor had above it */
static long least_margin(const struct watch *w)
{
	long least = LONG_MAX;
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		long over = (long)t->lowest - (long)t->floor;

		if (t->protected && t->start > t->floor && over < least)
			least = over;
	}
	return least;
}

/*
 * A kernel without the reserve would let user memory go on to the low mark alone, and in
 * the slow path to min.  That can be seen where a reserve is larger than the distance of the
 * marks and what the checks allow.
 */
static void need_telling(const struct watch *w, const struct zoneinfo *zi, int aim,
			 const long *ratio)
{
	unsigned long most = 0;
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		unsigned long keeps = zi_protection(zi, t->node, t->index, aim, ratio[t->index]);

		if (!t->protected || t->start <= t->floor)
			continue;
		if (keeps > t->gap + t->lru_slack)
			return;
		if (keeps > most)
			most = keeps;
	}
	mmg_skip("the largest reserve to be asked for is %lu pages: the marks' distance hides it",
		 most);
}

/*
 * Whether a low zone came to where the fast path ends, its low mark and its reserve, or
 * gave pages at all: kswapd may keep it from going any lower.
 */
static bool tried(const struct watch *w)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];

		if (t->protected && t->start > t->floor &&
		    (t->lowest < t->floor + t->gap + NEAR || t->start - t->lowest > FAR))
			return true;
	}
	return false;
}

/* Whether more can be reclaimed: anonymous memory needs swap for it */
static bool can_go_on(enum fill_kind kind)
{
	static struct vmstat mem;

	if (kind == FILL_FILE || kind == FILL_BLKDEV)
		return true;
	return !vmstat_read("/proc/meminfo", &mem) &&
	       vmstat_get(&mem, "SwapFree") * 1024 > SWAP_LEFT;
}

/*
 * Use memory until reclaim begins and a low zone was asked, and a little longer.  Where
 * somebody else had kswapd woken, it may keep ahead for a while, so the event is waited for
 * as long as there is memory and swap.
 */
static void use_past_reclaim(struct fill *f, struct watch *w)
{
	static struct vmstat now;
	size_t past = 0;

	while (past < 16 * MIB || !tried(w)) {
		mmg_doing("using memory until a low zone is asked: %zu MiB", f->used / MIB);
		if (!can_go_on(f->kind) || fill_more(f, STEP / 4) < STEP / 4)
			break;
		watch_look(w);
		mm_vmstat(&now);
		if (reclaiming(&w->before, &now))
			past += STEP / 4;
	}
	if (!reclaiming(&w->before, &now))
		mmg_skip("%zu MiB used, and reclaim has not begun", f->used / MIB);
}

static void default_ratio(const struct mmg_case *c)
{
	const struct pressure *p = c->arg;
	static struct watch w;
	long ratio[ZI_MAX_ZONES];
	struct zoneinfo zi;
	struct fill f;
	int aim, node;
	long margin;
	bool aside;

	mm_need_events();
	need_swap(p->kind);
	mm_usual_reclaim();
	mm_shrink_slabs();
	mmg_save_setting("/proc/sys/vm/min_free_kbytes");
	mmg_write_setting("/proc/sys/vm/min_free_kbytes", "%d", SMALL_MIN_KB);
	/* kswapd works for a boost, too, before any zone is at its marks */
	mmg_save_setting("/proc/sys/vm/watermark_boost_factor");
	mmg_write_setting("/proc/sys/vm/watermark_boost_factor", "0");
	mmg_save_setting(ZI_RATIO_PATH);
	mm_fresh_ratio(ratio);
	mm_zoneinfo(&zi);
	aim = aim_of(&zi, p->kind);
	node = aim_at_node(p, &zi, aim);
	watch_start(&w, &zi, node, aim, ratio);
	aside = kernel_aim(&zi, aim) < aim && has_zone(&zi, aim);
	mmg_info("hog %zu MiB", hog_to_floor(&w, aside) / MIB);
	settle();
	zoneinfo_free(&zi);
	mm_refresh();
	mm_zoneinfo(&zi);
	watch_start(&w, &zi, node, aim, ratio);
	need_telling(&w, &zi, aim, ratio);
	fill_start(&f, p->kind, GIB);
	use_past_reclaim(&f, &w);
	say_zones(&w);
	judge_users(&w);
	judge_floor(&w, ISOLATED);
	judge_oom(&w);
	margin = least_margin(&w);
	mmg_metric("least_margin", margin);
	if (!tried(&w))
		mmg_broken("%zu MiB used, the low zones had %ld pages to spare: nothing was asked",
			   f.used / MIB, margin);
	mmg_pass("low zones came down to %ld pages above min and reserve after %zu MiB", margin,
		 f.used / MIB);
}

static const struct pressure anon = { .kind = FILL_ANON };
static const struct pressure apart = { .kind = FILL_ANON, .bound = true, .alone = true };
static const struct pressure bound = { .kind = FILL_ANON, .bound = true };
static const struct pressure thp = { .kind = FILL_THP, .bound = true, .defrag = "never" };
static const struct pressure thp_direct = { .kind = FILL_THP, .bound = true, .defrag = "always" };
static const struct pressure mthp = { .kind = FILL_THP, .bound = true, .mthp = "hugepages-16kB" };
static const struct pressure shmem = { .kind = FILL_SHMEM, .bound = true };
static const struct pressure file = { .kind = FILL_FILE, .bound = true };
static const struct pressure blkdev = { .kind = FILL_BLKDEV, .bound = true };
static const struct pressure pipes = { .kind = FILL_PIPE, .bound = true };
static const struct pressure spliced = { .kind = FILL_SPLICE };

static const struct mmg_case cases[] = {
	{ .name = "anon", .fn = ratio_one, .arg = &anon, .destructive = true },
	{ .name = "anon-bound", .fn = ratio_one, .arg = &apart, .destructive = true },
	{ .name = "anon-thp", .fn = ratio_one, .arg = &thp, .destructive = true },
	{ .name = "anon-thp-direct", .fn = ratio_one, .arg = &thp_direct, .destructive = true },
	{ .name = "anon-16k", .fn = ratio_one, .arg = &mthp, .destructive = true },
	{ .name = "shmem", .fn = ratio_one, .arg = &shmem, .destructive = true },
	{ .name = "file", .fn = ratio_one, .arg = &file, .destructive = true },
	{ .name = "blkdev", .fn = ratio_one, .arg = &blkdev, .destructive = true },
	{ .name = "pipe", .fn = ratio_one, .arg = &pipes, .destructive = true },
	{ .name = "pipe-bulk", .fn = ratio_one, .arg = &spliced, .destructive = true },
	{ .name = "default-ratio", .fn = default_ratio, .arg = &bound, .destructive = true },
	{ .name = "default-ratio-file", .fn = default_ratio, .arg = &file, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/reserve_pressure",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
