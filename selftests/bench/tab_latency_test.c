// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: workload: tabs opened beside a VM that idles, under a memory limit
 * mmgate-guards: MGLRU asks the secondary MMU (v6.12): mm/vmscan.c, mm/rmap.c, mm/memcontrol.c
 * mmgate-machines: bench-tabs
 * mmgate-needs: CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_KVM CONFIG_ZRAM CONFIG_EXT4_FS
 * mmgate-modules: kvm
 * mmgate-timeout: 400
 *
 * A benchmark: it measures and never fails.  A session: a VM starts, its vCPU
 * touches all of its memory once, and it idles; tabs, each a process with
 * anonymous memory and a file, are opened in a seeded Zipf order.  Tabs and VM are
 * in one memcg whose limit is smaller than both.  Opening a tab touches its whole
 * working set, and the time of that is its latency.
 *
 * The VM's memory is the oldest by far, so it should go first and an opened
 * tab should be found where it was left.  Before the series the page-table walk clears
 * the host's accessed bits and leaves the nested ones, so the idle VM's pages still look
 * touched when they come to be evicted: each goes to the youngest generation, and
 * tabs are evicted in its stead.
 *
 * How it could mislead: the VM's own faults are not to be counted as the
 * tabs' (it does not run while tabs are opened); a tab's first opening fills
 * memory that was never there, so refaults are counted by the workingset code, and
 * latency only of tabs opened before.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "lru_gen.h"
#include "memcg.h"
#include "residency.h"
#include "runner.h"
#include "work.h"

#define PAGE		4096ul
#define TABS		24
#define TAB_ANON	(5 * MIB)
#define TAB_FILE	(1 * MIB)
#define VM_BYTES	(64 * MIB)
#define LIMIT		(128 * MIB)
#define OPENINGS	100
#define SESSIONS	2
#define ZIPF_ONE	1000000ul
#define FOLDER		"/mnt/data"
#define PAGE_CLUSTER	"/proc/sys/vm/page-cluster"

/* A tab: its process, told to open by a byte to @in, says in @out how long that took */
struct tab {
	int in, out;
	pid_t pid;
	bool opened;
};

struct session {
	struct memcg cg;
	struct guest vm;
	struct tab tab[TABS];
};

/* What all sessions add up to */
static struct {
	double ms[SESSIONS * OPENINGS];
	unsigned int nr_ms;
	double refaults, vm_evicted, evicted, scanned, swapped_in;
} sum;

/* Write into each page, first all of it: of one word, so that it takes no room in swap */
static void use_anon(u64 *anon, u64 word)
{
	size_t step = PAGE / sizeof(*anon), i, k;

	for (i = 0; i < TAB_ANON / sizeof(*anon); i += step) {
		size_t n = anon[i + 1] == word ? 1 : step;

		for (k = 0; k < n; k++)
			__atomic_store_n(&anon[i + k], word, __ATOMIC_RELAXED);
	}
}

static double use_memory(u64 *anon, const u8 *file, u64 word)
{
	double start = work_now();
	size_t i;

	use_anon(anon, word);
	for (i = 0; i < TAB_FILE; i += PAGE)
		__atomic_load_n(&file[i], __ATOMIC_RELAXED);
	return (work_now() - start) * 1e3;
}

static void tab_main(int nr, int in, int out)
{
	char path[64], c;
	double ms;
	u64 *anon;
	u8 *file;
	int fd;

	snprintf(path, sizeof(path), FOLDER "/tab%d", nr);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || unlink(path) || ftruncate(fd, TAB_FILE))
		_exit(1);
	file = mmap(NULL, TAB_FILE, PROT_READ, MAP_SHARED, fd, 0);
	anon = mmap(NULL, TAB_ANON, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file == MAP_FAILED || anon == MAP_FAILED)
		_exit(1);
	madvise(anon, TAB_ANON, MADV_NOHUGEPAGE);
	while (read(in, &c, 1) == 1) {
		ms = use_memory(anon, file, nr + 1);
		if (write(out, &ms, sizeof(ms)) != sizeof(ms))
			break;
	}
	_exit(0);
}

static void start_tab(struct tab *t, int nr)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		mmg_broken("pipe: %s", strerror(errno));
	t->pid = fork();
	if (t->pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!t->pid)
		tab_main(nr, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	t->in = in[1];
	t->out = out[0];
	t->opened = false;
}

static void stop_tab(struct tab *t)
{
	close(t->in);
	close(t->out);
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
}

static void open_tab(struct tab *t, int nr)
{
	double ms;

	if (write(t->in, "", 1) != 1 || read(t->out, &ms, sizeof(ms)) != sizeof(ms))
		mmg_broken("tab %d is gone (a data disk on " FOLDER "? memory?)", nr);
	if (t->opened)
		sum.ms[sum.nr_ms++] = ms;
	t->opened = true;
}

/* A rank by Zipf: rank r comes 1 / (r + 1) times as often as the first */
static unsigned int zipf(u64 *seed)
{
	unsigned long all = 0, at;
	unsigned int r;

	for (r = 0; r < TABS; r++)
		all += ZIPF_ONE / (r + 1);
	at = mmg_rand(seed) % all;
	for (r = 0; r < TABS - 1 && at >= ZIPF_ONE / (r + 1); r++)
		at -= ZIPF_ONE / (r + 1);
	return r;
}

static void open_tabs(struct session *s, u64 seed)
{
	u32 rank[TABS];
	unsigned int i;

	for (i = 0; i < TABS; i++)
		rank[i] = i;
	mmg_shuffle(rank, TABS, &seed);
	for (i = 0; i < OPENINGS; i++) {
		unsigned int nr = rank[zipf(&seed)];

		mmg_doing("opening %u of %u", i + 1, OPENINGS);
		open_tab(&s->tab[nr], nr);
	}
}

static double cg_count(const struct memcg *cg, const char *key)
{
	long long n = memcg_key_maybe(cg, "memory.stat", key);

	return n > 0 ? n : 0;
}

static double refaults(const struct memcg *cg)
{
	return cg_count(cg, "workingset_refault_anon") + cg_count(cg, "workingset_refault_file");
}

static size_t vm_pages(const struct guest *g, u8 *present)
{
	return residency_read(g->mem, VM_BYTES / PAGE, RESIDENCY_ANON, present);
}

static void session(unsigned int nr)
{
	static u8 present[VM_BYTES / PAGE];
	static struct vmstat before, after;
	struct memcg root = { .dir = MEMCG_ROOT };
	struct session s;
	double gone, was;
	char name[20];
	unsigned int i;

	snprintf(name, sizeof(name), "tabs%u", nr);
	memcg_create(&s.cg, NULL, name);
	if (memcg_write(&s.cg, "memory.max", "%lu", LIMIT))
		mmg_broken("memory.max of %s cannot be written", s.cg.dir);
	memcg_enter(&s.cg, 0);
	for (i = 0; i < TABS; i++)
		start_tab(&s.tab[i], i);
	mmg_doing("starting the VM");
	guest_create(&s.vm, VM_BYTES, false);
	guest_touch(&s.vm, 0, PAGE, VM_BYTES / PAGE, true);
	if (vm_pages(&s.vm, present) != VM_BYTES / PAGE)
		mmg_broken("the VM's memory is not there although it fits");
	was = refaults(&s.cg);
	work_vmstat(&before);
	open_tabs(&s, mmg_opts.seed * SESSIONS + nr);
	work_vmstat(&after);
	gone = VM_BYTES / PAGE - vm_pages(&s.vm, present);
	sum.refaults += refaults(&s.cg) - was;
	sum.vm_evicted += gone;
	sum.evicted += cg_count(&s.cg, "pgsteal");
	sum.scanned += cg_count(&s.cg, "pgscan");
	sum.swapped_in += vmstat_delta(&before, &after, "pswpin");
	for (i = 0; i < TABS; i++)
		stop_tab(&s.tab[i]);
	guest_destroy(&s.vm);
	memcg_enter(&root, 0);
}

static void report(void)
{
	double all = 0;
	char name[20];
	unsigned int i;

	for (i = 0; i < sum.nr_ms; i++)
		all += sum.ms[i];
	work_sort(sum.ms, sum.nr_ms);
	mmg_metric("refaults_per_open", sum.refaults / (SESSIONS * OPENINGS));
	mmg_metric("refaults", sum.refaults);
	mmg_metric("evicted_vm", sum.vm_evicted);
	mmg_metric("evicted_tabs", sum.evicted - sum.vm_evicted);
	mmg_metric("vm_kept_pct", 100 - 100 * sum.vm_evicted / (SESSIONS * VM_BYTES / PAGE));
	mmg_metric("pgscan", sum.scanned);
	mmg_metric("pgsteal", sum.evicted);
	mmg_metric("pswpin", sum.swapped_in);
	mmg_metric("openings", SESSIONS * OPENINGS);
	mmg_metric("reopenings", sum.nr_ms);
	mmg_metric("ms_mean", sum.nr_ms ? all / sum.nr_ms : 0);
	mmg_metric("ms_max", work_quantile(sum.ms, sum.nr_ms, 1));
	for (i = 5; i < 100; i += i < 95 ? 5 : 1) {
		snprintf(name, sizeof(name), "ms_p%02u", i);
		mmg_metric(name, work_quantile(sum.ms, sum.nr_ms, i / 100.0));
	}
}

static void tab_latency(const struct mmg_case *c)
{
	unsigned int nr;

	memcg_require();
	swap_require(VM_BYTES + TABS * TAB_ANON);
	work_stop_damon();
	mmg_write_setting(LRU_GEN_ENABLED, "%d", *(const int *)c->arg);
	mmg_write_setting(PAGE_CLUSTER, "0");
	signal(SIGPIPE, SIG_IGN);
	for (nr = 0; nr < SESSIONS; nr++)
		session(nr);
	report();
	mmg_pass("%.1f tab pages refaulted an opening; of %lu evicted pages %.0f were the VM's",
		 sum.refaults / (SESSIONS * OPENINGS), (unsigned long)sum.evicted, sum.vm_evicted);
}

static const int classic, mglru = 7;

static const struct mmg_case cases[] = {
	{ "mglru", tab_latency, &mglru, 180, true },
	{ "classic", tab_latency, &classic, 180, true },
};

static const char *const settings[] = { LRU_GEN_ENABLED, PAGE_CLUSTER, NULL };

static const struct mmg_test test = {
	.name = "bench/tab_latency",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
