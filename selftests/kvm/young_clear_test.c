// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does the aging walk ask KVM about every page, and clear what it finds?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: f922bd9bf33b KVM: Move MMU notifier's mmu_lock acquisition into common helper
 * mmgate-machines: default npt-off tdp-mmu-off la57
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG debugfs tracefs root
 * mmgate-modules: kvm
 * mmgate-timeout: 120
 *
 * Young pages that a walk finds, by three oracles, each where the kernel has it:
 *
 *	pass	touched since the last	walk counter Y	kvm_age_hva		idle bitmap
 *	1	all			all		a range for each page	-
 *	2	half			half		the same		half not idle
 *	3	none			0		the same		all idle
 *
 * A walk that finds young pages in pass 3 did not clear the secondary MMU's bits;
 * one without events in pass 2 never asked KVM (kernels before the series).
 *
 * And what a walk counts after all units were touched, less what it counts after one was, is
 * the other units, within a quarter.
 *
 * How it could mislead: the counters are of all pages of the group, so a batch is allowed
 * for what the process itself has; a trace with lost events is broken.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace.h"

#define BATCH	64
#define ROUNDS	5

struct params {
	enum backing backing;
	bool host;
};

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 16 * HUGE_SIZE : mmg_opts.mem_bytes / 4;
}

static void set_up(struct scenario *s, const struct params *p)
{
	struct scenario_opts o = {
		.name = "young", .backing = p->backing, .host = p->host, .bytes = bytes_of(p),
	};

	if (!p->host)
		guest_require();
	mglru_require(0);
	scenario_create(s, &o);
	scenario_populate(s);
}

static u32 *half_of(const struct scenario *s, size_t *n)
{
	u8 *label = calloc(1, s->r.units);
	u32 *list;

	label_stratified(label, s->all, s->r.units, 2, mmg_opts.seed);
	list = list_where(label, s->r.units, 0, n);
	free(label);
	return list;
}

/* --- walk counters ------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/* Young entries that one aging counts */
static long long young_in_walk(struct scenario *s)
{
	long long before;

	group_read(&s->group, true);
	before = group_counter(&s->group, WALK_YOUNG);
	if (before < 0)
		mmg_skip("lru_gen_full shows no walk counters here (no page-table walk)");
	group_age(&s->group, true);
	group_read(&s->group, true);
	return group_counter(&s->group, WALK_YOUNG) - before;
}

/*
 * How many more young entries a walk finds after all units were touched than after one was: the
 * middle of ROUNDS walks each.  What the process itself touches is in both and falls out, which
 * matters where there are few units: its own entries are as many as 16 huge pages.
 */
static long long young_beyond_one(struct scenario *s)
{
	long long all[ROUNDS], one[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		scenario_touch(s, s->all, s->r.units, false);
		all[i] = young_in_walk(s);
		scenario_touch(s, s->all, 1, false);
		one[i] = young_in_walk(s);
	}
	qsort(all, ROUNDS, sizeof(*all), by_value);
	qsort(one, ROUNDS, sizeof(*one), by_value);
	mmg_metric("young_after_all", all[ROUNDS / 2]);
	mmg_metric("young_after_one", one[ROUNDS / 2]);
	return all[ROUNDS / 2] - one[ROUNDS / 2];
}

static void counter_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "host" : "guest";
	static struct scenario s;
	long long all, half, none, beyond;
	size_t n;
	u32 *list;

	set_up(&s, p);
	list = half_of(&s, &n);
	all = young_in_walk(&s);
	scenario_touch(&s, list, n, false);
	half = young_in_walk(&s);
	none = young_in_walk(&s);
	beyond = young_beyond_one(&s);
	mmg_metric("units", s.r.units);
	mmg_metric("young_all", all);
	mmg_metric("young_half", half);
	mmg_metric("young_none", none);
	if (half < (long long)n || half > (long long)n + BATCH)
		mmg_fail("the walk found %lld young entries, the %s touched %zu", half, who, n);
	if (none > BATCH)
		mmg_fail("the walk found %lld young entries after one that cleared them", none);
	if (all < (long long)s.r.units)
		mmg_fail("the first walk found %lld of %zu entries young", all, s.r.units);
	if (beyond * 4 < (long long)(s.r.units - 1) * 3)
		mmg_fail("touching all %zu units gave %lld young entries more than touching one",
			 s.r.units, beyond);
	mmg_pass("young entries found: %lld, then %lld of the %zu that the %s touched, then %lld",
		 all, half, n, who, none);
}

/* --- the tracepoint -------------------------------------------------------------------- */

struct coverage {
	size_t events;
	size_t covered;		/* base pages of the region in some event's range */
	size_t beyond;		/* events of this region's neighbourhood that leave it */
};

static void note_range(const struct region *r, u8 *seen, u64 start, u64 end, struct coverage *c)
{
	u64 first = (uintptr_t)r->mem, last = first + r->pages * r->page_size, at;

	if (end <= first || start >= last)
		return;
	c->events++;
	c->beyond += start < first || end > last;
	for (at = start < first ? first : start; at < end && at < last; at += r->page_size)
		seen[(at - first) / r->page_size] = 1;
}

/* Lines end in "... age hva: 0xSTART -- 0xEND" */
static struct coverage read_coverage(const struct region *r, char *text)
{
	struct coverage c = { };
	u8 *seen = calloc(1, r->pages);
	char *line, *save = NULL, *p;
	size_t i;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long start, end;

		p = strstr(line, "age hva: ");
		if (line[0] != '#' && p && sscanf(p, "age hva: %llx -- %llx", &start, &end) == 2)
			note_range(r, seen, start, end, &c);
	}
	for (i = 0; i < r->pages; i++)
		c.covered += seen[i];
	free(seen);
	return c;
}

static struct coverage traced_aging(struct scenario *s)
{
	struct coverage c;
	char *text;
	int err = trace_start("kvm/kvm_age_hva", 4096);

	if (err)
		mmg_skip("tracing kvm_age_hva: %s", strerror(-err));
	group_age(&s->group, true);
	text = trace_stop();
	if (!text)
		mmg_broken("reading the trace: %s", strerror(errno));
	if (trace_lost() > 0)
		mmg_broken("%ld events were lost", trace_lost());
	c = read_coverage(&s->r, text);
	free(text);
	return c;
}

static void trace_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	struct coverage first, second;
	size_t n;
	u32 *list;

	if (!trace_has("kvm/kvm_age_hva"))
		mmg_skip("no tracepoint kvm:kvm_age_hva: mount tracefs, CONFIG_TRACING");
	set_up(&s, p);
	list = half_of(&s, &n);
	scenario_touch(&s, list, n, false);
	first = traced_aging(&s);
	second = traced_aging(&s);
	mmg_metric("pages", s.r.pages);
	mmg_metric("events", first.events);
	mmg_metric("covered", first.covered);
	mmg_metric("covered_again", second.covered);
	if (!first.events)
		mmg_fail("aging did not ask KVM about a single page of %zu", s.r.pages);
	if (first.covered != s.r.pages || second.covered != s.r.pages)
		mmg_fail("aging asked KVM about %zu, then %zu of %zu pages", first.covered,
			 second.covered, s.r.pages);
	if (first.beyond || second.beyond)
		mmg_fail("%zu of the ranges asked about leave the memory slot's mapping",
			 first.beyond + second.beyond);
	mmg_pass("aging asked KVM about all %zu pages in %zu ranges, and again in %zu",
		 s.r.pages, first.events, second.events);
}

/* --- idle bitmap ------------------------------------------------------------------------ */

#define IDLE_BITMAP	"/sys/kernel/mm/page_idle/bitmap"

static u64 pfn_of(const void *p)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	u64 e = 0;

	if (fd < 0 || pread(fd, &e, 8, (uintptr_t)p / getpagesize() * 8) != 8)
		mmg_broken("reading /proc/self/pagemap: %s", strerror(errno));
	close(fd);
	return e & ((1ULL << 55) - 1);
}

/*
 * The last word of the bitmap is short where memory ends within it.  Its bits are then
 * set, but the kernel counts whole words only and says 0; nor can they be read
 * (page_idle_bitmap_write() and _read() in mm/page_idle.c).
 */
static void mark_idle(const struct region *r, int fd)
{
	size_t i;

	for (i = 0; i < r->units; i++) {
		u64 pfn = pfn_of(r->mem + i * r->unit * r->page_size), word;
		ssize_t n;

		word = 1ULL << (pfn % 64);
		n = pwrite(fd, &word, 8, pfn / 64 * 8);
		if (n != 8 && n != 0)
			mmg_broken("writing %s for page frame %llu: %s", IDLE_BITMAP,
				   (unsigned long long)pfn, strerror(errno));
	}
}

/* Idle ones of the units; those in the short last word go to @unseen */
static size_t count_idle(const struct region *r, int fd, size_t *unseen)
{
	size_t i, idle = 0;

	*unseen = 0;
	for (i = 0; i < r->units; i++) {
		u64 pfn = pfn_of(r->mem + i * r->unit * r->page_size), word = 0;
		ssize_t n = pread(fd, &word, 8, pfn / 64 * 8);

		if (n != 8 && n != 0)
			mmg_broken("reading %s for page frame %llu: %s", IDLE_BITMAP,
				   (unsigned long long)pfn, strerror(errno));
		*unseen += n == 0;
		if (n)
			idle += word >> (pfn % 64) & 1;
	}
	if (*unseen > 63)
		mmg_broken("%zu pages cannot be read from %s, one word has 64", *unseen,
			   IDLE_BITMAP);
	return idle;
}

static void idle_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	int fd = open(IDLE_BITMAP, O_RDWR | O_CLOEXEC);
	static struct scenario s;
	size_t n, idle, again, unseen, slack;
	u32 *list;

	if (fd < 0)
		mmg_skip("%s: %s: needs CONFIG_IDLE_PAGE_TRACKING", IDLE_BITMAP, strerror(errno));
	set_up(&s, p);
	/* pages in batches; of a few huge ones one that somebody else looked at */
	slack = s.r.unit > 1 ? 1 : BATCH;
	list = half_of(&s, &n);
	mark_idle(&s.r, fd);
	again = count_idle(&s.r, fd, &unseen);
	mmg_metric("idle_before", again);
	if (again + unseen + slack < s.r.units)
		mmg_fail("%zu of %zu pages are idle right after they were marked", again,
			 s.r.units);
	scenario_touch(&s, list, n, false);
	idle = count_idle(&s.r, fd, &unseen);
	mmg_metric("idle_after", idle);
	mmg_metric("idle_unseen", unseen);
	if (idle > s.r.units - n + slack || idle + unseen + slack < s.r.units - n)
		mmg_fail("%zu of %zu pages are idle, %zu were touched", idle, s.r.units, n);
	mmg_pass("%zu of %zu pages idle after %zu were touched by the guest", idle, s.r.units, n);
}

static const struct params guest_4k = { .backing = BACK_ANON };
static const struct params guest_thp = { .backing = BACK_THP };
static const struct params guest_shmem = { .backing = BACK_SHMEM };
static const struct params host_4k = { .backing = BACK_ANON, .host = true };
static const struct params host_thp = { .backing = BACK_THP, .host = true };

static const struct mmg_case cases[] = {
	{ .name = "anon-4k", .fn = counter_case, .arg = &guest_4k },
	{ .name = "anon-thp", .fn = counter_case, .arg = &guest_thp },
	{ .name = "shmem", .fn = counter_case, .arg = &guest_shmem },
	{ .name = "host-anon-4k", .fn = counter_case, .arg = &host_4k },
	{ .name = "host-anon-thp", .fn = counter_case, .arg = &host_thp },
	{ .name = "traced-anon-4k", .fn = trace_case, .arg = &guest_4k },
	{ .name = "traced-anon-thp", .fn = trace_case, .arg = &guest_thp },
	{ .name = "idle-anon-4k", .fn = idle_case, .arg = &guest_4k },
	{ .name = "idle-anon-thp", .fn = idle_case, .arg = &guest_thp },
};

static const struct mmg_test test = {
	.name = "kvm/young_clear",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
