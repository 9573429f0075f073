// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: memory that fits higher up leaves the reserve of a low zone alone
 * mmgate-guards: 96a5c186efff mm/page_alloc.c: don't show protection ... for empty zone
 * mmgate-machines: small-zones no-normal numa-fake2 memoryless movable
 * mmgate-quick: small-zones
 * mmgate-quick-cases: anon default-ratio
 * mmgate-needs: CONFIG_SWAP CONFIG_ZRAM CONFIG_HUGETLBFS CONFIG_TRANSPARENT_HUGEPAGE CONFIG_EXT4_FS
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
 * between the watermarks does not hide the reserve.
 *
 * Control: the ratio is then set to 0 and the same memory grows on: now the low
 * zone must give pages.  So a pass means that the reserve held them, not that
 * nothing ever asked.
 *
 * How it could mislead: tasks that reclaim (PF_MEMALLOC) ignore reserves, so
 * what is swapped out is all the same word, which zram keeps without memory.
 * Counters lag by per-CPU batches: they are folded (vm.stat_refresh) before each
 * look.
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
#define ISOLATED	100		/* free pages that compaction may hold for a moment */
#define ISOLATED_HUGE	512		/* the same while huge pages are in demand */
#define NEAR		64		/* pages above its floor: a low zone was asked */
#define FAR		256		/* so it was if it gave that many */
#define CONTROL_MIN	256		/* pages that the control must get */
#define SMALL_MIN_KB	4096
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage"

/* A zone that is watched, as it was and at its lowest */
struct watched {
	int node, index;
	char name[16];
	unsigned long start;		/* pages free, per-CPU lists included */
	unsigned long last;		/* at the last look */
	unsigned long lowest;		/* in two looks running, against short dips */
	unsigned long floor;		/* what must stay */
	unsigned long slack;
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

static unsigned long have(const struct zi_zone *z)
{
	return z->free + z->pcp_count;
}

static bool is_pipe(enum fill_kind kind)
{
	return kind == FILL_PIPE || kind == FILL_SPLICE;
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

/* The reserve that must be kept is the formula's, not what the kernel shows */
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
		/* what is printed as min includes a boost that comes and goes */
		t->floor = z->min - z->boost +
			   zi_protection(zi, z->node, z->index, aim, ratio[z->index]);
		t->slack = SLACK_PER_CPU * z->nr_cpus;
		if (!t->protected)
			w->upper += z->free > z->min ? z->free - z->min : 0;
	}
}

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

		if (!z)
			continue;
		both = have(z) > t->last ? have(z) : t->last;
		t->last = have(z);
		if (both < t->lowest)
			t->lowest = both;
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

static bool reclaiming(const struct vmstat *a, const struct vmstat *b)
{
	return vmstat_sum(a, "pgscan_") != vmstat_sum(b, "pgscan_") ||
	       vmstat_sum(a, "allocstall_") != vmstat_sum(b, "allocstall_");
}

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

		mmg_info("node %d %-7s %s: %lu pages at the start, %lu at the least, floor %lu",
			 t->node, t->name, t->protected ? "low  " : "upper", t->start, t->lowest,
			 t->floor);
	}
}

/* No low zone below its floor, or below its start where that is less */
static void judge_floor(const struct watch *w, unsigned long isolated)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];
		unsigned long least = t->floor < t->start ? t->floor : t->start;

		if (t->lowest + t->slack + isolated >= least)
			continue;
		say_zones(w);
		mmg_fail("node %d %s went down to %lu pages of %lu, must keep %lu (slack %lu)",
			 t->node, t->name, t->lowest, t->start, least, t->slack + isolated);
	}
}

/*
 * pgalloc_ is summed over the nodes: it can be asked only for zones that are
 * low wherever they have pages.
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
		bool alone = t->protected && t->start <= t->floor;

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

/* Swap has to be there, or reclaim of anonymous memory is an OOM kill */
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

static void ratio_one(const struct mmg_case *c)
{
	const struct pressure *p = c->arg;
	static struct vmstat now;
	static struct watch w, control;
	long ratio[ZI_MAX_ZONES];
	struct zoneinfo zi;
	struct fill f, first;
	size_t hogged, target;
	int aim, node, i;
	unsigned long thp;

	need_swap(p->kind);
	mm_shrink_slabs();
	prepare_thp(p);
	mmg_save_setting(ZI_RATIO_PATH);
	mm_write_ratio(1);
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	aim = aim_of(&zi, p->kind);
	node = aim_at_node(p, &zi, aim);
	watch_start(&w, &zi, node, aim, ratio);
	/* what cannot be reclaimed needs more beside it that can be, or the OOM killer comes */
	hogged = hog(&w, &zi, is_pipe(p->kind) ? LEFT + 2 * PAST : LEFT);
	/* 18 MiB left without one huge page among them were seen */
	for (i = 0; p->defrag && i < w.nr; i++) {
		if (!w.zone[i].protected)
			hog_leave_huge(w.zone[i].node, HUGE_LEFT);
	}
	settle();
	zoneinfo_free(&zi);
	mm_zoneinfo(&zi);
	watch_start(&w, &zi, node, aim, ratio);
	/* a low zone with more than its reserve may give the rest */
	for (i = 0; i < w.nr; i++)
		if (w.zone[i].protected && w.zone[i].start > w.zone[i].floor)
			w.upper += w.zone[i].start - w.zone[i].floor;
	target = w.upper * mm_page_size() + PAST;
	mmg_info("hog %zu MiB, upper zones have %zu MiB left, using %zu MiB", hogged / MIB,
		 (target - PAST) / MIB, target / MIB);
	if (is_pipe(p->kind)) {
		/* what cannot be reclaimed needs something that can be */
		fill_start(&first, FILL_ANON, target);
		grow(&first, &w, target - PAST, ULONG_MAX);
		target = PAST;
	}
	fill_start(&f, p->kind, 4 * target + 4 * PAST);
	grow(&f, &w, target, ULONG_MAX);
	mm_vmstat(&now);
	for (i = 0; i < 4 && !reclaiming(&w.before, &now); i++) {
		grow(&f, &w, PAST, ULONG_MAX);
		mm_vmstat(&now);
	}
	thp = vmstat_delta(&w.before, &now, "thp_fault_alloc");
	say_zones(&w);
	mmg_metric("taken_low", taken_low(&w));
	mmg_metric("huge_pages", thp);
	judge_counter(&w, &zi);
	judge_floor(&w, ISOLATED_HUGE);
	judge_oom(&w);
	if (f.used < target)
		mmg_skip("%zu MiB of %s are not enough, %zu needed", f.used / MIB,
			 p->kind == FILL_BLKDEV ? "block device" : "memory", target / MIB);
	if (!reclaiming(&w.before, &now))
		mmg_broken("%zu MiB used and no reclaim: the upper zones were not full",
			   f.used / MIB);
	if (p->defrag && !thp)
		mmg_broken("not one huge page was had");

	mm_write_ratio(0);
	zoneinfo_free(&zi);
	mm_zoneinfo(&zi);
	memset(ratio, 0, sizeof(ratio));
	watch_start(&control, &zi, w.node, aim, ratio);
	/* further than what is free: reclaim goes on meanwhile, on each node */
	grow(&f, &control, 3 * (control.upper * mm_page_size() + PAST), CONTROL_MIN);
	mmg_metric("control_low", taken_low(&control));
	if (taken_low(&control) < CONTROL_MIN)
		mmg_fail("with ratio 0 the low zones gave %lu pages, must give %d or more",
			 taken_low(&control), CONTROL_MIN);
	fill_stop(&f);
	judge_oom(&w);
	mmg_pass("%zu MiB past the upper zones took %lu pages of the low ones; with ratio 0: %lu",
		 PAST / MIB, taken_low(&w), taken_low(&control));
}

/* Leave every zone only LEFT above what it has to keep */
static size_t hog_to_floor(const struct watch *w)
{
	size_t took = 0;
	int i;

	for (i = w->nr - 1; i >= 0; i--) {
		const struct watched *t = &w->zone[i];
		unsigned long keep = t->floor + LEFT / 2 / mm_page_size();

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

/* Whether a low zone came to its floor, or gave pages at all */
static bool tried(const struct watch *w)
{
	int i;

	for (i = 0; i < w->nr; i++) {
		const struct watched *t = &w->zone[i];

		if (t->protected && t->start > t->floor &&
		    (t->lowest < t->floor + NEAR || t->start - t->lowest > FAR))
			return true;
	}
	return false;
}

static void default_ratio(const struct mmg_case *c)
{
	const struct pressure *p = c->arg;
	static struct watch w;
	static struct vmstat now;
	long ratio[ZI_MAX_ZONES];
	struct zoneinfo zi;
	struct fill f;
	size_t past = 0;
	int aim, node;
	long margin;

	need_swap(p->kind);
	mm_shrink_slabs();
	mmg_save_setting("/proc/sys/vm/min_free_kbytes");
	mmg_write_setting("/proc/sys/vm/min_free_kbytes", "%d", SMALL_MIN_KB);
	mm_ratio(ratio);
	mm_zoneinfo(&zi);
	aim = aim_of(&zi, p->kind);
	node = aim_at_node(p, &zi, aim);
	watch_start(&w, &zi, node, aim, ratio);
	mmg_info("hog %zu MiB", hog_to_floor(&w) / MIB);
	settle();
	zoneinfo_free(&zi);
	mm_zoneinfo(&zi);
	watch_start(&w, &zi, node, aim, ratio);
	fill_start(&f, p->kind, 512 * MIB);
	while (past < (tried(&w) ? 16 : 40) * MIB) {
		mmg_doing("using memory until reclaim begins: %zu MiB", f.used / MIB);
		if (fill_more(&f, STEP / 4) < STEP / 4)
			mmg_skip("%zu MiB used, and reclaim has not begun", f.used / MIB);
		watch_look(&w);
		mm_vmstat(&now);
		if (reclaiming(&w.before, &now))
			past += STEP / 4;
	}
	say_zones(&w);
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
