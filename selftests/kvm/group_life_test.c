// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: a VM's group is moved out of, frozen, removed: do counts and order hold?
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-guards: ec55ef9c9e2d mm: multi-gen LRU: groundwork
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 240
 *
 *	moved		libvirt's and systemd's way: the process goes to another group after its
 *			memory was charged.  What is charged later is aged there; what stays
 *			behind is counted exactly, can be reclaimed, and is whole
 *	frozen		reclaim of a frozen VM, in order; thawed, its memory is whole
 *	swapped-back	all out, all back in: counted as refaults, whole, in order again
 *	removed		the group is removed with the memory still charged to it: what is above
 *			reclaims it, and it is whole
 *	killed		a VM is killed while others reclaim from its group, 16 times: it is gone
 *			in time, and nothing of it is left charged or listed
 *	rmdir-races	1000 groups with a process that was in each, aged and reclaimed by another
 *			process while they are removed: no splat, and they leave lru_gen
 *
 * After each step the pages in the generations have to be those in memory.stat.  The
 * order of what stayed behind is lost to ageing until 7.x: a walk of the old group does
 * not look at a process that left it (lru_gen_migrate_mm() moves the mm to the list of
 * the new one).  It is measured there, and must not be upside down.
 *
 * How it could mislead: memory.stat lags by a batch a CPU (allowed for); a race that was
 * never tried passes (the commands that met their group are counted, few are broken).
 */
#include "tenant.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH		64
#define KEY		0x11feULL
#define ROUNDS		1000
#define FEW		50	/* commands that met their group */
#define FEW_LEFT	100	/* removed groups that something may still hold */
#define RACE_PAGES	16

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

static u64 lag(void)
{
	return BATCH * (2 + sysconf(_SC_NPROCESSORS_ONLN));
}

static size_t bytes_of_one(void)
{
	return mmg_opts.mem_bytes / 4;
}

static bool within(u64 a, u64 b, u64 slack)
{
	return a <= b + slack && b <= a + slack;
}

/* The pages in the generations of a group are those of its memory.stat */
static void check_counts(struct group *group, const char *when)
{
	u64 gens, stat;

	memcg_drain_lru();
	group_read(group, false);
	gens = group_total(group, LRU_GEN_ANON);
	stat = (memcg_key(&group->cg, "memory.stat", "inactive_anon") +
		memcg_key(&group->cg, "memory.stat", "active_anon")) / page();
	if (!within(gens, stat, lag()))
		mmg_fail("%s lru_gen counts %llu anonymous pages, memory.stat %llu", when,
			 (unsigned long long)gens, (unsigned long long)stat);
}

static void check_words(struct tenant *t, const char *when)
{
	u64 bad = tenant_check(t, KEY);

	if (bad)
		mmg_fail("%s %llu words are not what the guest wrote", when,
			 (unsigned long long)bad);
}

static void start(struct tenant *t, const struct memcg *parent)
{
	guest_require();
	mglru_require(2 * mmg_opts.mem_bytes);
	mmg_doing("starting a VM");
	tenant_start(t, parent, "vm", bytes_of_one());
	tenant_fill(t, KEY);
	check_counts(&t->group, "at first");
}

/* A touch writes a word of each hot page: the pattern is put back where it has to be checked */
static void heat(struct tenant *t, struct group *group)
{
	int round;

	mmg_doing("touching the hot half and aging");
	group_age(group, true);
	for (round = 0; round < 2; round++) {
		tenant_touch_hot(t);
		group_age(group, true);
	}
}

/* Reclaim 7/8 of the cold half from @cg, and say what went */
static void take(struct tenant *t, const struct memcg *cg, const char *when, u64 *hot, u64 *cold)
{
	u64 asked = t->units / 2 * 7 / 8, hot_was = tenant_absent_hot(t);
	u64 cold_was = tenant_absent_cold(t);
	int err;

	mmg_doing("reclaiming %s", when);
	err = memcg_reclaim(cg, asked * page(), NULL);
	*hot = tenant_absent_hot(t) - hot_was;
	*cold = tenant_absent_cold(t) - cold_was;
	mmg_info("%s: hot %llu and cold %llu of %zu each evicted", when, (unsigned long long)*hot,
		 (unsigned long long)*cold, t->units / 2);
	if (*hot + *cold + 2 * BATCH < asked)
		mmg_fail("%s %llu pages were reclaimed of %llu asked for: %s", when,
			 (unsigned long long)(*hot + *cold), (unsigned long long)asked,
			 err ? strerror(-err) : "0");
}

/* Tiers of pages that came back have a word, too; blind is one in two */
static void judge_order(const char *when, const struct tenant *t, u64 hot, u64 cold)
{
	if (hot * 4 > cold)
		mmg_fail("%s the order is lost: hot %llu and cold %llu of %zu each evicted", when,
			 (unsigned long long)hot, (unsigned long long)cold, t->units / 2);
}

/* --- moved ------------------------------------------------------------------------- */

static void moved_case(const struct mmg_case *c)
{
	static struct tenant t;
	static struct group other;
	u64 hot, cold, new_hot, new_cold, moved;

	(void)c;
	start(&t, NULL);
	group_create(&other, NULL, "other");
	memcg_enter(&other.cg, t.w.pid);
	check_counts(&t.group, "after the move");
	group_read(&other, false);
	moved = group_total(&other, LRU_GEN_ANON);
	if (moved > lag())
		mmg_fail("%llu pages went to the new group with the process",
			 (unsigned long long)moved);
	heat(&t, &t.group);
	take(&t, &t.group.cg, "of what stayed behind", &hot, &cold);
	check_counts(&t.group, "after reclaim of what stayed behind");
	mmg_metric("behind_hot_evicted", hot);
	mmg_metric("behind_cold_evicted", cold);
	if (hot > cold + cold / 4 + BATCH)
		mmg_fail("what stayed behind goes upside down: hot %llu, cold %llu of %zu each",
			 (unsigned long long)hot, (unsigned long long)cold, t.units / 2);
	/* what comes back from swap is charged to whom it was charged before: give it up */
	tenant_drop(&t);
	check_counts(&t.group, "with nothing behind");
	tenant_fill(&t, KEY);
	check_counts(&other, "in the new group");
	group_read(&other, false);
	moved = group_total(&other, LRU_GEN_ANON);
	if (moved + t.units / 8 < t.units)
		mmg_broken("%llu of %zu pages, written anew, are charged to the new group",
			   (unsigned long long)moved, t.units);
	heat(&t, &other);
	take(&t, &other.cg, "in the new group", &new_hot, &new_cold);
	judge_order("in the new group", &t, new_hot, new_cold);
	mmg_metric("hot_evicted", new_hot);
	mmg_metric("cold_evicted", new_cold);
	mmg_pass("in the new group hot %llu, cold %llu of %zu gone; of what stayed %llu and %llu",
		 (unsigned long long)new_hot, (unsigned long long)new_cold, t.units / 2,
		 (unsigned long long)hot, (unsigned long long)cold);
}

/* --- frozen -------------------------------------------------------------------------- */

static void set_frozen(const struct memcg *cg, bool on)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int looks;

	tenant_set(cg, "cgroup.freeze", on ? "1" : "0");
	/* cgroup.events can be polled, but the group is seen to be frozen in a moment */
	for (looks = 0; looks < 5000 && memcg_key(cg, "cgroup.events", "frozen") != on; looks++)
		nanosleep(&nap, NULL);
	if (memcg_key(cg, "cgroup.events", "frozen") != on)
		mmg_broken("%s is not %s after 5 s", cg->dir, on ? "frozen" : "thawed");
}

static void frozen_case(const struct mmg_case *c)
{
	static struct tenant t;
	u64 hot, cold, asked, taken;
	int err;

	(void)c;
	start(&t, NULL);
	if (!memcg_has(&t.group.cg, "cgroup.freeze"))
		mmg_skip("this kernel has no cgroup.freeze (5.2)");
	heat(&t, &t.group);
	set_frozen(&t.group.cg, true);
	mmg_doing("reclaiming from a frozen VM");
	asked = t.units / 2 * 7 / 8;
	taken = tenant_stolen(&t);
	err = memcg_reclaim(&t.group.cg, asked * page(), NULL);
	taken = tenant_stolen(&t) - taken;
	check_counts(&t.group, "frozen");
	set_frozen(&t.group.cg, false);
	hot = tenant_absent_hot(&t);
	cold = tenant_absent_cold(&t);
	mmg_metric("hot_evicted", hot);
	mmg_metric("cold_evicted", cold);
	if (hot + cold + 2 * BATCH < asked)
		mmg_fail("%llu pages of a frozen VM were reclaimed of %llu asked for: %s",
			 (unsigned long long)taken, (unsigned long long)asked,
			 err ? strerror(-err) : "0");
	judge_order("frozen,", &t, hot, cold);
	tenant_fill(&t, KEY);
	check_words(&t, "thawed,");
	check_counts(&t.group, "thawed");
	mmg_pass("frozen: hot %llu and cold %llu of %zu each evicted; thawed, all is there",
		 (unsigned long long)hot, (unsigned long long)cold, t.units / 2);
}

/* --- swapped out and back ---------------------------------------------------------------- */

static void swapped_case(const struct mmg_case *c)
{
	static struct tenant t;
	u64 gone, refaults, hot, cold;

	(void)c;
	start(&t, NULL);
	tenant_age(&t, 3);
	mmg_doing("swapping all of it out");
	memcg_reclaim(&t.group.cg, 2 * bytes_of_one(), NULL);
	gone = tenant_absent(&t);
	if (gone * 10 < t.units * 9)
		mmg_broken("%llu of %zu pages were swapped out", (unsigned long long)gone, t.units);
	check_counts(&t.group, "swapped out");
	refaults = memcg_key(&t.group.cg, "memory.stat", "workingset_refault_anon");
	check_words(&t, "swapped back in,");
	refaults = memcg_key(&t.group.cg, "memory.stat", "workingset_refault_anon") - refaults;
	mmg_metric("swapped_out", gone);
	mmg_metric("refaults", refaults);
	if (tenant_absent(&t))
		mmg_fail("%llu pages are still out after all were read",
			 (unsigned long long)tenant_absent(&t));
	if (!within(refaults, gone, gone / 8 + lag()))
		mmg_fail("%llu refaults were counted, %llu pages came back",
			 (unsigned long long)refaults, (unsigned long long)gone);
	check_counts(&t.group, "swapped back in");
	heat(&t, &t.group);
	take(&t, &t.group.cg, "once back", &hot, &cold);
	judge_order("once back", &t, hot, cold);
	mmg_metric("hot_evicted", hot);
	mmg_metric("cold_evicted", cold);
	mmg_pass("%llu pages out and back, %llu refaults; then hot %llu, cold %llu of %zu gone",
		 (unsigned long long)gone, (unsigned long long)refaults, (unsigned long long)hot,
		 (unsigned long long)cold, t.units / 2);
}

/* --- removed ------------------------------------------------------------------------------ */

static void removed_case(const struct mmg_case *c)
{
	static struct tenant t;
	static struct group above, other;
	u64 hot, cold, before, after;

	(void)c;
	group_create(&above, NULL, "above");
	start(&t, &above.cg);
	group_create(&other, NULL, "other");
	heat(&t, &t.group);
	tenant_fill(&t, KEY);
	memcg_enter(&other.cg, t.w.pid);
	before = memcg_read(&above.cg, "memory.current") / page();
	if (rmdir(t.group.cg.dir))
		mmg_broken("rmdir %s: %s", t.group.cg.dir, strerror(errno));
	after = memcg_read(&above.cg, "memory.current") / page();
	if (!within(before, after, lag()))
		mmg_fail("the group above had %llu pages, and %llu after its child was removed",
			 (unsigned long long)before, (unsigned long long)after);
	check_words(&t, "after its group was removed");
	take(&t, &above.cg, "from above what a removed group left", &hot, &cold);
	mmg_metric("hot_evicted", hot);
	mmg_metric("cold_evicted", cold);
	check_words(&t, "reclaimed from above and read again");
	mmg_pass("reclaim from above took hot %llu and cold %llu of %zu each; all whole",
		 (unsigned long long)hot, (unsigned long long)cold, t.units / 2);
}

/* --- killed under reclaim --------------------------------------------------------------- */

#define KILLS	16

/*
 * The victim runs on this CPU, and only where nobody else wants to: whenever this process
 * wakes up it finds the victim's exit where it was left.
 */
static void yield_to_us(pid_t pid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sched_setaffinity(pid, sizeof(one), &one) ||
	    setpriority(PRIO_PROCESS, pid, 19))
		mmg_broken("pinning to a CPU: %s", strerror(errno));
}

/* A process that is exiting has given its memory up before that is unmapped: all is 0 then */
static bool memory_given_up(const char *statm)
{
	char *text = mmg_read_file(statm, NULL);
	bool up = !text || !strncmp(text, "0 ", 2);

	free(text);
	return up;
}

/* One batch by command, for which no group is the target as for kswapd */
static void evict_batch(const struct group *group, u64 seq)
{
	unsigned int i;

	for (i = 0; i < group->info.nr_nodes; i++)
		lru_gen_evict(group->id, group->info.node[i].nid, seq, LRU_GEN_ANON_ONLY, BATCH);
}

/*
 * Kill the helper, and reclaim from the group while its memory is being unmapped.  Such a
 * process belongs to no group any more (mm_update_next_owner()), so that memory.reclaim does
 * not ask its page tables (invalid_folio_referenced_vma() in mm/rmap.c); kswapd would.
 */
static void kill_and_reclaim(struct tenant *t)
{
	u64 oldest;
	const struct timespec nap = { .tv_nsec = 20000 };
	char statm[64];
	pid_t ended = 0;

	snprintf(statm, sizeof(statm), "/proc/%d/statm", t->w.pid);
	group_read(&t->group, false);
	oldest = lru_gen_max_seq(&t->group.info.node[0]) - 2;
	yield_to_us(t->w.pid);
	kill(t->w.pid, SIGKILL);
	while (!memory_given_up(statm))
		nanosleep(&nap, NULL);
	while (!ended) {
		evict_batch(&t->group, oldest);
		memcg_reclaim(&t->group.cg, BATCH * page(), NULL);
		ended = waitpid(t->w.pid, NULL, WNOHANG);
		if (ended < 0)
			mmg_broken("waiting for %d: %s", t->w.pid, strerror(errno));
		nanosleep(&nap, NULL);
	}
	worker_forget(&t->w);
}

static void wait_gone(struct group *group)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	u64 left = 0, swapped = 0;
	int looks;

	/* a removed process's last references are dropped by others, a moment later */
	for (looks = 0; looks < 500; looks++) {
		memcg_drain_lru();
		left = memcg_key(&group->cg, "memory.stat", "anon") / page();
		swapped = memcg_read(&group->cg, "memory.swap.current") / page();
		if (left <= lag() && swapped <= lag())
			return;
		nanosleep(&nap, NULL);
	}
	mmg_fail("a killed VM left %llu pages charged and %llu in swap after 5 s",
		 (unsigned long long)left, (unsigned long long)swapped);
}

static void killed_case(const struct mmg_case *c)
{
	/* exit unmaps from the start on, reclaim begins with what was faulted in first */
	static struct tenant t = { .backwards = true };
	struct group group;
	u64 stolen = 0;
	int round;

	(void)c;
	guest_require();
	mglru_require(2 * mmg_opts.mem_bytes);
	group_create(&group, NULL, "killed");
	for (round = 0; round < KILLS; round++) {
		mmg_doing("killing VM %d of %d under reclaim", round + 1, KILLS);
		tenant_join(&t, &group, mmg_opts.mem_bytes);
		tenant_age(&t, 2);
		stolen -= tenant_stolen(&t);
		kill_and_reclaim(&t);
		stolen += tenant_stolen(&t);
		wait_gone(&group);
		check_counts(&group, "after a kill");
	}
	mmg_metric("stolen", stolen);
	mmg_metric("kills", KILLS);
	mmg_pass("%d VMs were killed while reclaim looked at them; nothing is left of them", KILLS);
}

/* --- rmdir against ageing ----------------------------------------------------------- */

/* Number of the group in @text, -1 where it is not listed */
static long long id_in(const char *text, const char *path)
{
	const char *at = strstr(text, path), *line = at;

	if (!at)
		return -1;
	while (line > text && line[-1] != '\n')
		line--;
	return !strncmp(line, "memcg", 5) ? strtoll(line + 5, NULL, 10) : -1;
}

/* How many groups of the race are in lru_gen */
static int still_listed(const char *prefix)
{
	char *text = mmg_read_file(LRU_GEN_DIR "lru_gen", NULL), *at = text;
	int n = 0;

	while (at && (at = strstr(at, prefix))) {
		at += strlen(prefix);
		n++;
	}
	free(text);
	return n;
}

struct race {
	unsigned long round;	/* which group is there now */
	unsigned long met;	/* commands that were taken */
	int stop;
};

/* Age and reclaim whatever group of the race is there, until told to stop */
static void race_against(struct race *race, const char *prefix)
{
	static char text[1 << 18];
	char path[320];
	struct memcg cg;
	long long id;
	int seq, fd;
	ssize_t n;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		fd = open(LRU_GEN_DIR "lru_gen", O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		text[n] = 0;
		id = id_in(text, prefix);
		if (id < 0)
			continue;
		/* a new group is at 3, and each command that is taken goes on by one */
		for (seq = 3; seq < 8; seq++)
			__atomic_fetch_add(&race->met, !lru_gen_age(id, 0, seq, 200, true),
					   __ATOMIC_RELAXED);
		lru_gen_evict(id, 0, 4, 200, RACE_PAGES);
		snprintf(path, sizeof(path), "%.200s%s.%lu", MEMCG_ROOT, prefix,
			 __atomic_load_n(&race->round, __ATOMIC_RELAXED));
		snprintf(cg.dir, sizeof(cg.dir), "%.250s", path);
		memcg_reclaim(&cg, RACE_PAGES / 2 * page(), NULL);
	}
	_exit(0);
}

static void race_case(const struct mmg_case *c)
{
	size_t bytes = RACE_PAGES * page();
	char prefix[64], dir[256];
	struct timespec from, to;
	struct race *race;
	pid_t ager;
	int round, i, left = 0;
	char *mem;

	(void)c;
	mglru_require(bytes_of_one());
	race = mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (race == MAP_FAILED)
		mmg_broken("mmap: %s", strerror(errno));
	snprintf(prefix, sizeof(prefix), "/mmgate.%d.race", getpid());
	fflush(NULL);
	ager = fork();
	if (ager < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!ager)
		race_against(race, prefix);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (round = 0; round < ROUNDS; round++) {
		char procs[300];

		mmg_doing("group %d of %d", round + 1, ROUNDS);
		__atomic_store_n(&race->round, round, __ATOMIC_RELAXED);
		snprintf(dir, sizeof(dir), "%s%s.%d", MEMCG_ROOT, prefix, round);
		if (mkdir(dir, 0755))
			mmg_broken("mkdir %s: %s", dir, strerror(errno));
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
		if (mmg_try_write(procs, "0"))
			mmg_broken("entering %s failed", dir);
		mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
		if (mem == MAP_FAILED)
			mmg_broken("mmap: %s", strerror(errno));
		for (i = 0; i < RACE_PAGES; i++)
			mem[i * page()] = i + 1;
		mmg_try_write(MEMCG_ROOT "/cgroup.procs", "0");
		if (rmdir(dir))
			mmg_broken("rmdir %s: %s", dir, strerror(errno));
		for (i = 0; i < RACE_PAGES; i++) {
			if (mem[i * page()] != i + 1)
				mmg_fail("page %d of group %d is not what was written", i, round);
		}
		munmap(mem, bytes);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	__atomic_store_n(&race->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 5000 && !kill(ager, 0); i++) {
		if (waitpid(ager, NULL, WNOHANG) == ager)
			break;
		usleep(1000);
	}
	/* what a CPU has charged ahead, or holds in a batch, keeps the last ones for a moment */
	for (i = 0; i < 100 && (left = still_listed(prefix)) > FEW_LEFT; i++) {
		memcg_drain_lru();
		usleep(20000);
	}
	mmg_metric("listed_after", left);
	mmg_metric("seconds", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
	mmg_metric("commands_met", race->met);
	if (left > FEW_LEFT)
		mmg_fail("%d of %d removed groups are still in lru_gen", left, ROUNDS);
	if (race->met < FEW)
		mmg_broken("%lu commands met a group in %d rounds: no race", race->met, ROUNDS);
	mmg_pass("%d groups removed while they were aged, %lu commands met one", ROUNDS,
		 race->met);
}

static const struct mmg_case cases[] = {
	{ .name = "moved", .fn = moved_case },
	{ .name = "frozen", .fn = frozen_case },
	{ .name = "swapped-back", .fn = swapped_case },
	{ .name = "removed", .fn = removed_case },
	{ .name = "killed", .fn = killed_case, .timeout_s = 120 },
	{ .name = "rmdir-races", .fn = race_case, .timeout_s = 120, .destructive = true },
};

static const struct mmg_test test = {
	.name = "kvm/group_life",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
