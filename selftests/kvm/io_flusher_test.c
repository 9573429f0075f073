// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what does a process that must not wait for I/O reclaim beside a VM?
 * mmgate-guards: ac35a4902374 mm: multi-gen LRU: minimal implementation
 * mmgate-machines: data-disk
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 240
 *
 * A process that serves a block device in user space asks for PR_SET_IO_FLUSHER: reclaim on
 * its behalf has no __GFP_IO.  Here it runs into memory.max in the group of a VM that is
 * idle, beside idle and clean page cache.  The guest's memory is not in the swap cache, so
 * it would have to be written: it stays where it is (isolate_folio() up to 6.12,
 * shrink_folio_list()), however often it is passed over.
 *
 *	cache	the process needs half as much as there is page cache: it gets that, of
 *		the cache alone
 *	beyond	it needs more than all of the cache: the group's OOM killer ends it
 *
 * After both the guest's memory is in memory and whole, and the pages in the generations
 * are those of memory.stat.
 *
 * How it could mislead: anybody else who allocates in the group could swap (this process
 * leaves it before the limit is set, and the vCPU does not run).
 */
#include "scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptor.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER	57	/* from 5.6 on */
#endif

#define BATCH		64	/* MIN_LRU_BATCH, MEMCG_CHARGE_BATCH */
#define KEY		0x10f1ULL
#define NEVER_S		60

static struct scenario s;
static struct region file;

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Charges and statistics of each CPU lag by a batch */
static u64 lag(void)
{
	return BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
}

static void check_counts(const char *when)
{
	static const char *const kinds[] = { "anon", "file" };
	char key[2][16];
	u64 gens, stat;
	int type;

	memcg_drain_lru();
	group_read(&s.group, false);
	for (type = LRU_GEN_ANON; type <= LRU_GEN_FILE; type++) {
		snprintf(key[0], sizeof(key[0]), "inactive_%s", kinds[type]);
		snprintf(key[1], sizeof(key[1]), "active_%s", kinds[type]);
		gens = group_total(&s.group, type);
		stat = (memcg_key(&s.group.cg, "memory.stat", key[0]) +
			memcg_key(&s.group.cg, "memory.stat", key[1])) / page();
		if (gens > stat + lag() || stat > gens + lag())
			mmg_fail("%s lru_gen counts %llu %s pages, memory.stat %llu", when,
				 (unsigned long long)gens, kinds[type], (unsigned long long)stat);
	}
}

static void set_up(void)
{
	struct scenario_opts o = { .name = "flusher", .bytes = mmg_opts.mem_bytes / 4 };
	struct memcg root = { .dir = MEMCG_ROOT, .path = "/" };
	int i;

	guest_require();
	mglru_require(2 * o.bytes);
	region_create(&file, BACK_FILE, o.bytes, 0);
	if (posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
	scenario_create(&s, &o);
	scenario_populate(&s);
	scenario_fill(&s, s.all, s.r.units, KEY);
	descriptor_read(&file, NULL, -1, 1);
	memcg_drain_lru();
	for (i = 0; i < 3; i++)
		group_age(&s.group, true);
	if (region_read(&file) != file.units || region_read(&s.r) != s.r.units)
		mmg_broken("precondition: %zu of %zu pages of the file are in memory",
			   region_read(&file), file.units);
	check_counts("at first");
	memcg_enter(&root, 0);
}

/*
 * The process: it waits for a byte in @go, so that its death can be announced before, and
 * has the one writing end of @end
 */
static pid_t start_flusher(int go[2], int end[2], size_t pages)
{
	size_t bytes = pages * page(), i;
	pid_t pid;
	char *mem;
	char byte;

	if (pipe(go) || pipe(end))
		mmg_broken("pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || madvise(mem, bytes, MADV_NOHUGEPAGE))
		_exit(2);
	if (memcg_write(&s.group.cg, "cgroup.procs", "0"))
		_exit(3);
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0))
		_exit(4);
	if (read(go[0], &byte, 1) != 1)
		_exit(5);
	for (i = 0; i < bytes; i += page())
		TOUCH_WRITE(mem + i, i);
	_exit(0);
}

static void flusher_case(const struct mmg_case *c)
{
	bool beyond = c->arg;
	size_t want, gone, cache, bad;
	u64 kills, swapped;
	int go[2], end[2], status;
	struct pollfd over;
	pid_t pid;

	set_up();
	want = beyond ? 2 * file.pages : file.pages / 2;
	kills = memcg_key(&s.group.cg, "memory.events", "oom_kill");
	pid = start_flusher(go, end, want);
	close(go[0]);
	close(end[1]);
	if (memcg_write(&s.group.cg, "memory.max", "%llu",
			(unsigned long long)memcg_read(&s.group.cg, "memory.current")))
		mmg_broken("memory.max is refused");
	swapped = memcg_read(&s.group.cg, "memory.swap.current");
	if (beyond)
		mmg_expect_oom_kill(pid);
	mmg_doing("a process without I/O takes %zu pages at memory.max", want);
	over = (struct pollfd){ .fd = end[0], .events = POLLIN };
	if (write(go[1], "", 1) != 1)
		mmg_broken("the process could not be started: %s", strerror(errno));
	/* it takes a second: one that never ends is stuck in reclaim */
	if (poll(&over, 1, NEVER_S * 1000) == 0)
		mmg_fail("a process without I/O that needs %zu pages neither gets them nor ends",
			 want);
	if (waitpid(pid, &status, 0) != pid)
		mmg_broken("waiting for the process: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		mmg_skip("PR_SET_IO_FLUSHER is refused: 5.6 has it, with CAP_SYS_RESOURCE");
	swapped = memcg_read(&s.group.cg, "memory.swap.current") - swapped;
	kills = memcg_key(&s.group.cg, "memory.events", "oom_kill") - kills;
	gone = s.r.units - region_read(&s.r);
	cache = file.units - region_read(&file);
	mmg_metric("guest_gone", gone);
	mmg_metric("cache_gone", cache);
	mmg_metric("swapped", swapped / page());
	mmg_metric("oom_kills", kills);
	check_counts("after reclaim without I/O");
	/* the limit is the group's memory then; what it holds on to is freed by a batch */
	if (memcg_write(&s.group.cg, "memory.max", "max"))
		mmg_broken("memory.max is refused");
	if (gone || swapped)
		mmg_fail("%zu pages of a guest were taken, %llu swapped, by one who may not do I/O",
			 gone, (unsigned long long)swapped / page());
	bad = scenario_wrong(&s, s.all, s.r.units, KEY);
	if (bad)
		mmg_fail("%zu words of the guest's memory are not what it wrote", bad);
	if (!beyond && (kills || !WIFEXITED(status) || WEXITSTATUS(status)))
		mmg_fail("it needed %zu pages beside %zu of cache: status %#x, %llu OOM kills",
			 want, file.pages, status, (unsigned long long)kills);
	if (beyond && (kills != 1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
		mmg_fail("a process that needed %zu pages: status %#x, %llu OOM kills", want,
			 status, (unsigned long long)kills);
	if (!beyond && (cache + lag() < want || cache > want + lag()))
		mmg_fail("a process that needed %zu pages: %zu pages of cache went", want, cache);
	if (beyond && cache + lag() < file.pages)
		mmg_fail("an OOM kill with %zu of %zu pages of clean cache left",
			 file.pages - cache, file.pages);
	mmg_pass("a process without I/O took %zu pages: %zu of cache, 0 of the guest went%s", want,
		 cache, beyond ? ", then it was killed" : "");
}

static const struct mmg_case cases[] = {
	{ .name = "cache", .fn = flusher_case, .timeout_s = 2 * NEVER_S },
	{ .name = "beyond", .fn = flusher_case, .arg = "beyond", .timeout_s = 2 * NEVER_S },
};

static const struct mmg_test test = {
	.name = "kvm/io_flusher",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
