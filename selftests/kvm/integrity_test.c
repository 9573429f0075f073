// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a guest keep every byte while its memory is aged, evicted and moved?
 * mmgate-guards: 8931a454aea0 KVM: Take mmu_lock when handling MMU notifier iff hva hits
 * mmgate-machines: default npt-off tdp-mmu-off numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 400
 *
 * Each word of the guest's memory says which page it is in, which word it is and which
 * round wrote it.  The vCPU rewrites half of the pages a round and checks all of them,
 * while another thread ages and reclaims the group:
 *
 *	vCPU	| write X, key r | check all | write X', key r+1 | check all | ...
 *	thread	| age, reclaim, age, reclaim, age, reclaim, ...
 *	host	|						     | check all
 *
 * The host's look at the end is another one than the guest's: a guest that keeps a
 * mapping which the host took away reads its own writes back, the host does not.
 * Other cases take the pages away in other ways: discard, fork, migration.  A dirty log
 * has to name the pages that were written, all of them and no other, and copying what it
 * names has to give a copy of the guest.
 *
 * How it could mislead: without swap-ins nothing was at stake (broken); pages that the
 * guest reads may count as dirty, since KVM maps them writable (rounds that judge the
 * log exactly only write).
 */
#include "residency.h"
#include "scenario.h"
#include "worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vmstat.h"

#define ROUNDS		4
#define FIRST_KEY	0x5eed0000ULL

struct params {
	enum backing backing;
	int vcpus;
	bool dirty_log;
	bool still;	/* no reclaim: more memory for the same time */
};

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? (p->still ? 8 : 2) * HUGE_SIZE : mmg_opts.mem_bytes / 8;
}

static void set_up(struct scenario *s, const struct params *p)
{
	int vcpus = p->vcpus ? p->vcpus : 1;

	guest_require();
	mglru_require(2 * bytes_of(p));
	memset(s, 0, sizeof(*s));
	group_create(&s->group, NULL, "integrity");
	guest_create(&s->guest, vcpus, bytes_of(p), NULL);
	region_create(&s->r, p->backing, bytes_of(p), 0);
	s->all = list_all(s->r.units, 0);
	guest_set_memory(&s->guest, &s->r, 1, p->dirty_log ? KVM_MEM_LOG_DIRTY_PAGES : 0);
	group_enter(&s->group);
	mmg_doing("faulting %zu units in", s->r.units);
	scenario_touch(s, s->all, s->r.units, true);
	region_check_resident(&s->r);
}

/* --- pressure --------------------------------------------------------------------------- */

/* Ages and reclaims the group until it is told to stop */
struct pressure {
	struct group group;
	pthread_t thread;
	u64 bytes;
	int stop;
	u64 rounds;
	u64 ins, outs;
};

static u64 counter(const char *name)
{
	static struct vmstat v;

	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	return vmstat_has(&v, name) ? vmstat_get(&v, name) : 0;
}

/* Aging that finds nothing to do, or is overtaken by reclaim, is as good here */
static void age_once(struct group *group)
{
	unsigned int i;

	lru_gen_read(false, group->cg.path, &group->info);
	for (i = 0; i < group->info.nr_nodes; i++)
		group_age_node(group, group->info.node[i].nid, true);
}

static void *press(void *arg)
{
	struct pressure *p = arg;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		age_once(&p->group);
		memcg_reclaim(&p->group.cg, p->bytes, NULL);
		__atomic_fetch_add(&p->rounds, 1, __ATOMIC_RELAXED);
		usleep(30000);
	}
	return NULL;
}

static void pressure_start(struct pressure *p, const struct scenario *s)
{
	memset(p, 0, sizeof(*p));
	p->group = s->group;
	p->group.cg.path = p->group.cg.dir + (s->group.cg.path - s->group.cg.dir);
	p->bytes = s->r.pages * s->r.page_size / 4;
	p->ins = counter("pswpin");
	p->outs = counter("pswpout");
	if (pthread_create(&p->thread, NULL, press, p))
		mmg_broken("starting a thread failed");
}

/* Broken where the guest's memory was never swapped: then nothing was at stake */
static void pressure_stop(struct pressure *p, const struct scenario *s)
{
	__atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
	pthread_join(p->thread, NULL);
	p->ins = counter("pswpin") - p->ins;
	p->outs = counter("pswpout") - p->outs;
	mmg_metric("pressure_rounds", p->rounds);
	mmg_metric("swap_ins", p->ins);
	mmg_metric("swap_outs", p->outs);
	if (p->outs < s->r.pages / 4 || !p->ins)
		mmg_broken("only %llu pages swapped out, %llu in",
			   (unsigned long long)p->outs, (unsigned long long)p->ins);
}

/* Until the other thread, which counts in @count, has gone round once more */
static void wait_for(const u64 *count)
{
	u64 from = __atomic_load_n(count, __ATOMIC_RELAXED);
	int i;

	for (i = 0; i < 5000; i++) {
		if (__atomic_load_n(count, __ATOMIC_RELAXED) > from)
			return;
		usleep(1000);
	}
	mmg_broken("the other thread did not come round within 5 s");
}

/* --- who wrote what ----------------------------------------------------------------------- */

/* Key that each unit was last written with, as an index above FIRST_KEY */
static u8 *keys;

static void write_units(struct scenario *s, const u32 *list, size_t n, u8 key)
{
	size_t i;

	guest_pattern(&s->guest, 0, OP_FILL, list, n, FIRST_KEY + key);
	for (i = 0; i < n; i++)
		keys[list[i]] = key;
}

static void check_guest(struct scenario *s, int vcpu, const char *when)
{
	u64 bad;
	size_t n;
	u32 *list;
	int key;

	for (key = 0; key <= ROUNDS; key++) {
		list = list_where(keys, s->r.units, key, &n);
		bad = guest_pattern(&s->guest, vcpu, OP_CHECK, list, n, FIRST_KEY + key);
		free(list);
		if (bad)
			mmg_fail("%s the guest reads %llu wrong words, first in unit %llu", when,
				 (unsigned long long)bad,
				 (unsigned long long)s->guest.job[vcpu]->first_bad);
	}
}

static void check_host(struct scenario *s, const char *when)
{
	u64 bad, first = 0;
	size_t n;
	u32 *list;
	int key;

	for (key = 0; key <= ROUNDS; key++) {
		list = list_where(keys, s->r.units, key, &n);
		bad = region_check(&s->r, list, n, FIRST_KEY + key, &first);
		free(list);
		if (bad)
			mmg_fail("%s the host reads %llu wrong words, the first in unit %llu", when,
				 (unsigned long long)bad, (unsigned long long)first);
	}
}

static u32 *draw(const struct scenario *s, u64 seed, unsigned int one_of, size_t *n)
{
	u8 *label = calloc(1, s->r.units);
	u32 *list;

	label_stratified(label, s->all, s->r.units, one_of, seed);
	list = list_where(label, s->r.units, 0, n);
	free(label);
	return list;
}

static void fill_all(struct scenario *s)
{
	keys = calloc(1, s->r.units);
	write_units(s, s->all, s->r.units, 0);
}

/* --- under reclaim -------------------------------------------------------------------------- */

struct checker {
	struct scenario *s;
	const u32 *list;
	size_t n;
	u64 bad;
	int stop;
	u64 rounds;
};

/* A second vCPU that reads, over and over, what nobody writes */
static void *check_steadily(void *arg)
{
	struct checker *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED) && !c->bad) {
		c->bad = guest_pattern(&c->s->guest, 1, OP_CHECK, c->list, c->n, FIRST_KEY);
		c->rounds++;
	}
	return NULL;
}

static void rounds_of(struct scenario *s, const u8 *mine, const u64 *count)
{
	u32 *list;
	size_t n, i, kept;
	u8 round;

	for (round = 1; round <= ROUNDS; round++) {
		mmg_doing("round %u", round);
		list = draw(s, mmg_opts.seed + round, 2, &n);
		for (i = kept = 0; i < n; i++) {
			if (!mine || mine[list[i]])
				list[kept++] = list[i];
		}
		write_units(s, list, kept, round);
		free(list);
		wait_for(count);
		check_guest(s, 0, "under pressure");
	}
}

static void reclaim_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	struct checker checker = { };
	static struct pressure pressure;
	static struct scenario s;
	u8 *mine = NULL;
	pthread_t t;

	set_up(&s, p);
	fill_all(&s);
	pressure_start(&pressure, &s);
	if (p->vcpus == 2) {
		mine = calloc(1, s.r.units);
		label_stratified(mine, s.all, s.r.units, 2, mmg_opts.seed + 99);
		checker.s = &s;
		checker.list = list_where(mine, s.r.units, 0, &checker.n);
		if (pthread_create(&t, NULL, check_steadily, &checker))
			mmg_broken("starting the thread of a vCPU failed");
	}
	rounds_of(&s, mine, &pressure.rounds);
	if (p->vcpus == 2) {
		__atomic_store_n(&checker.stop, 1, __ATOMIC_RELAXED);
		pthread_join(t, NULL);
		if (checker.bad)
			mmg_fail("the second vCPU reads %llu wrong words that nobody wrote",
				 (unsigned long long)checker.bad);
	}
	pressure_stop(&pressure, &s);
	check_host(&s, "after reclaim");
	check_guest(&s, 0, "at the end");
	mmg_pass("%d rounds, %llu swap-outs, %llu swap-ins of %zu pages: not a word lost", ROUNDS,
		 (unsigned long long)pressure.outs, (unsigned long long)pressure.ins, s.r.pages);
}

/* --- dirty log -------------------------------------------------------------------------------- */

/* @list is what was written: is the log that, and nothing else? */
static void judge_log(const struct region *r, const u8 *dirty, const u32 *list, size_t n,
		      int round)
{
	u8 *written = calloc(1, r->pages);
	size_t i, lost = 0, made_up = 0;

	for (i = 0; i < n; i++)
		written[list[i]] = 1;
	for (i = 0; i < r->pages; i++) {
		lost += written[i] && !dirty[i];
		made_up += dirty[i] && !written[i];
	}
	free(written);
	if (lost)
		mmg_fail("round %d: the dirty log misses %zu of %zu pages written", round, lost, n);
	if (made_up)
		mmg_fail("round %d: the dirty log names %zu pages that were not touched", round,
			 made_up);
}

static void copy_dirty(const struct region *r, const u8 *dirty, char *copy)
{
	size_t i;

	for (i = 0; i < r->pages; i++) {
		if (dirty[i])
			memcpy(copy + i * r->page_size, r->mem + i * r->page_size,
			       r->page_size);
	}
}

static void dirty_log_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct pressure pressure;
	static struct scenario s;
	size_t n, total = 0;
	u8 *dirty, round;
	char *copy;
	u32 *list;

	set_up(&s, p);
	fill_all(&s);
	dirty = calloc(1, s.r.pages);
	copy = malloc(s.r.pages * s.r.page_size);
	pressure_start(&pressure, &s);
	n = guest_dirty_log(&s.guest, dirty);
	if (n != s.r.pages)
		mmg_fail("the dirty log names %zu of %zu pages, all were written", n,
			 s.r.pages);
	copy_dirty(&s.r, dirty, copy);
	for (round = 1; round <= ROUNDS; round++) {
		mmg_doing("round %u", round);
		list = draw(&s, mmg_opts.seed + round, 4, &n);
		write_units(&s, list, n, round);
		wait_for(&pressure.rounds);
		guest_dirty_log(&s.guest, dirty);
		judge_log(&s.r, dirty, list, n, round);
		copy_dirty(&s.r, dirty, copy);
		total += n;
		free(list);
	}
	pressure_stop(&pressure, &s);
	if (guest_dirty_log(&s.guest, dirty))
		mmg_fail("the dirty log names pages although nothing was written");
	if (memcmp(copy, s.r.mem, s.r.pages * s.r.page_size))
		mmg_fail("copying what the dirty log named did not give a copy of the guest");
	check_guest(&s, 0, "at the end");
	mmg_pass("%d rounds: the log named %zu pages written, no other; copy equal",
		 ROUNDS, total);
}

/* --- other ways to take a page away ------------------------------------------------ */

/* Runs of units, of 1 to 16 each (2 where there are few), with gaps between them */
static u32 *draw_runs(const struct scenario *s, u64 seed, u8 *in, size_t *n)
{
	size_t most = s->r.units < 64 ? 2 : 16, i = 0, len;

	while (i < s->r.units) {
		len = 1 + mmg_rand(&seed) % most;
		for (; len && i < s->r.units; len--)
			in[i++] = 1;
		i += 1 + mmg_rand(&seed) % most;
	}
	return list_where(in, s->r.units, 1, n);
}

/* The host discards runs of pages and writes others in their place */
static void discard_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	size_t stride, i, from, n;
	u32 *list;
	u8 *in;

	set_up(&s, p);
	fill_all(&s);
	stride = s.r.unit * s.r.page_size;
	in = calloc(1, s.r.units);
	list = draw_runs(&s, mmg_opts.seed, in, &n);
	mmg_doing("discarding %zu units", n);
	for (i = 0; i < s.r.units; i++) {
		for (from = i; i < s.r.units && in[i]; i++)
			;
		if (i > from && madvise(s.r.mem + from * stride, (i - from) * stride,
					MADV_DONTNEED))
			mmg_broken("madvise: %s", strerror(errno));
	}
	region_fill(&s.r, list, n, FIRST_KEY + 1);
	for (i = 0; i < n; i++)
		keys[list[i]] = 1;
	check_guest(&s, 0, "after the host replaced pages");
	/* and what the guest writes now, the host must see */
	write_units(&s, s.all, s.r.units, 2);
	check_host(&s, "after the guest wrote");
	mmg_pass("%zu of %zu units replaced: the guest saw those and kept the rest",
		 n, s.r.units);
}

static u64 snapshot_fn(void *state, int cmd, u64 arg)
{
	struct scenario *s = state;
	u64 first = 0;

	(void)cmd;
	return region_check(&s->r, s->all, s->r.units, arg, &first);
}

/* A child has a snapshot of the memory: what the guest writes must not get into it */
static void fork_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	struct worker w;
	size_t n;
	u64 bad;
	u32 *list;

	set_up(&s, p);
	fill_all(&s);
	worker_start(&w, snapshot_fn, &s);
	mmg_doing("writing after a fork");
	list = draw(&s, mmg_opts.seed, 2, &n);
	write_units(&s, list, n, 1);
	bad = worker_call(&w, 0, FIRST_KEY);
	if (bad)
		mmg_fail("the guest wrote %llu words into a snapshot taken by fork",
			 (unsigned long long)bad);
	check_guest(&s, 0, "after a fork");
	check_host(&s, "after a fork");
	mmg_pass("%zu units written after a fork: the snapshot kept all %zu units", n, s.r.units);
}

static long move_to(struct region *r, int nid)
{
	void **pages = calloc(r->pages, sizeof(*pages));
	int *nodes = calloc(r->pages, sizeof(*nodes)), *status = calloc(r->pages, sizeof(*status));
	size_t i;
	long on;

	for (i = 0; i < r->pages; i++) {
		pages[i] = r->mem + i * r->page_size;
		nodes[i] = nid;
	}
	if (syscall(SYS_move_pages, 0, r->pages, pages, nodes, status, 2 /* MPOL_MF_MOVE */) < 0)
		mmg_broken("move_pages to node %d: %s", nid, strerror(errno));
	on = residency_on_node(r->mem, r->pages, 1, nid);
	free(pages);
	free(nodes);
	free(status);
	return on;
}

/* The vCPU writes and checks while the host moves its memory between two nodes */
static void *move_steadily(void *arg)
{
	struct checker *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		move_to(&c->s->r, c->rounds % 2);
		__atomic_fetch_add(&c->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void migrate_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	struct checker mover = { .s = &s };
	pthread_t t;
	long on;

	set_up(&s, p);
	if (s.r.nid < 0)
		mmg_skip("one memory node only: boot with numa=fake=2 (machine numa-fake2)");
	fill_all(&s);
	on = move_to(&s.r, !s.r.nid);
	if (on * 10 < (long)s.r.pages * 9)
		mmg_broken("%ld of %zu pages were moved to node %d", on, s.r.pages, !s.r.nid);
	check_guest(&s, 0, "after a move to another node");
	if (pthread_create(&t, NULL, move_steadily, &mover))
		mmg_broken("starting a thread failed");
	rounds_of(&s, NULL, &mover.rounds);
	__atomic_store_n(&mover.stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	check_host(&s, "after moves between nodes");
	mmg_metric("moves", mover.rounds);
	mmg_pass("%d rounds while the memory changed node %llu times: not a word lost",
		 ROUNDS, (unsigned long long)mover.rounds);
}

static const struct params anon = { .backing = BACK_ANON };
static const struct params thp = { .backing = BACK_THP };
static const struct params still_thp = { .backing = BACK_THP, .still = true };
static const struct params shmem = { .backing = BACK_SHMEM };
static const struct params two = { .backing = BACK_ANON, .vcpus = 2 };
static const struct params logged = { .backing = BACK_ANON, .dirty_log = true };
static const struct params logged_shmem = { .backing = BACK_SHMEM, .dirty_log = true };

/* Swapping on a busy host without KVM hardware: far beyond the seconds it takes else */
#define SLOW(name_, ...) { .name = name_, .timeout_s = 120, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("anon-4k", .fn = reclaim_case, .arg = &anon),
	SLOW("anon-thp", .fn = reclaim_case, .arg = &thp),
	SLOW("shmem", .fn = reclaim_case, .arg = &shmem),
	SLOW("two-vcpus", .fn = reclaim_case, .arg = &two),
	SLOW("dirty-log", .fn = dirty_log_case, .arg = &logged),
	SLOW("dirty-log-shmem", .fn = dirty_log_case, .arg = &logged_shmem),
	{ .name = "discard", .fn = discard_case, .arg = &anon },
	{ .name = "discard-thp", .fn = discard_case, .arg = &still_thp },
	{ .name = "fork", .fn = fork_case, .arg = &anon },
	{ .name = "fork-thp", .fn = fork_case, .arg = &still_thp },
	SLOW("migrate", .fn = migrate_case, .arg = &anon),
};

static const struct mmg_test test = {
	.name = "kvm/integrity",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
