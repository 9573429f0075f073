// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what is left of the order of guest memory with NUMA balancing on?
 * mmgate-machines: numa-balancing
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_NUMA_BALANCING debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * NUMA balancing takes the entries of a process away now and then, to see by the fault
 * who uses a page.  KVM drops its own entries with them, and the accessed bits in them:
 * a page that was touched before such a scan looks untouched to the aging after it.
 *
 *	scan, touch, age	AUC 1.00, judged: the hinting fault makes the process's own
 *				entry young, so this holds without the series as well
 *	touch, scan, age	AUC 0.50, measured: the scan dropped KVM's accessed bits
 *	scans at a period	0.50 or 1.00, measured: did one come in between?
 *
 * Balancing stays on throughout.  A bound mapping is scanned where its policy says so
 * (MPOL_F_NUMA_BALANCING, no page is migrated then) and not otherwise, so that it is
 * known where the scans are; they are counted by numa_pte_updates, and the touches that
 * ran into them by numa_hint_faults.
 *
 * How it could mislead: a scan runs on the time of the thread itself, which has to burn
 * some, and passes over pages of its own node where the process has one thread only
 * (a second one is there).  scan_size_mb must not be 0: 6.12 divides by it.
 */
#include "scenario.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vmstat.h"

#define NUMA_DIR	"/sys/kernel/debug/sched/numa_balancing/"
#define BALANCING	"/proc/sys/kernel/numa_balancing"
#define SCAN_DELAY_MS	"10"	/* of a new mapping; after four of them it is idle again */
#define SCAN_WAIT_S	120
#define AUC_GOOD	0.99
#define AUC_UPSIDE_DOWN	0.4
#define BIND		2		/* MPOL_BIND */
#define BIND_AND_SCAN	(2 | 1 << 13)	/* ... | MPOL_F_NUMA_BALANCING */

enum when { SCAN_FIRST, SCAN_LAST, SCAN_FREE };

/**
 * struct params - a case
 * @when:	scans before the touches, between them and the aging, or as they come
 * @period:	of a scan in milliseconds, as text
 * @rounds:	of touches.  A hinting fault makes the process's own entry young, so that
 *		from the second round on a touch does not depend on KVM's bits any more
 */
struct params {
	enum when when;
	const char *period;
	int rounds;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Let the region be scanned, or not */
static void scans(const struct scenario *s, bool on)
{
	unsigned long mask[16] = { };

	mask[s->r.nid / 64] = 1UL << (s->r.nid % 64);
	if (syscall(SYS_mbind, s->r.mem, s->r.pages * s->r.page_size, on ? BIND_AND_SCAN : BIND,
		    mask, 1024UL, 0UL))
		mmg_broken("mbind %s MPOL_F_NUMA_BALANCING: %s", on ? "with" : "without",
			   strerror(errno));
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/*
 * Burn time of this thread until a scan has been through @want entries (those that are
 * taken away already do not count again), or where that is 0 for @limit_s
 */
static void burn(double limit_s, size_t want)
{
	unsigned long start = vmstat_now("numa_pte_updates"), now = start;
	double end = seconds() + limit_s;
	unsigned int i;

	while (seconds() < end && (!want || now < start + want)) {
		for (i = 0; i < 1000000; i++)
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
		now = vmstat_now("numa_pte_updates");
	}
	if (now < start + want)
		mmg_broken("%lu entries were scanned in %.0f s, %zu were to be", now - start,
			   limit_s, want);
}

static void prepare(struct scenario *s)
{
	static pthread_t t;

	if (s->r.nid < 0)
		mmg_skip("one memory node only: nothing to balance (machine numa-balancing)");
	if (!t && pthread_create(&t, NULL, idle, NULL))
		mmg_broken("starting a second thread failed");
}

/* The rounds: who was zapped when is what the cases differ in */
static void rounds(struct scenario *s, const struct params *p, const u32 *hot, size_t n)
{
	unsigned long scanned = 0, faults = 0, before;
	double period = strtod(p->period, NULL) / 1000;
	int round;

	group_age(&s->group, true);
	for (round = 0; round < p->rounds; round++) {
		mmg_doing("round %d: scan and touch", round);
		if (p->when == SCAN_FIRST) {
			scans(s, true);
			burn(SCAN_WAIT_S, round ? n : s->r.pages);
			scans(s, false);
		}
		before = vmstat_now("numa_hint_faults");
		scenario_touch(s, hot, n, false);
		faults += vmstat_now("numa_hint_faults") - before;
		before = vmstat_now("numa_pte_updates");
		if (p->when == SCAN_LAST) {
			scans(s, true);
			burn(SCAN_WAIT_S, round ? n : s->r.pages);
			scans(s, false);
		} else if (p->when == SCAN_FREE) {
			burn(period, 0);
		}
		group_age(&s->group, true);
		scanned += vmstat_now("numa_pte_updates") - before;
	}
	scans(s, false);
	mmg_metric("hint_faults", faults);
	mmg_metric("scanned_between", scanned);
	if (p->when == SCAN_FIRST && faults < n * p->rounds * 9 / 10)
		mmg_broken("%lu hinting faults in %d times %zu touches: not zapped", faults,
			   p->rounds, n);
	/* counted for the whole machine: some of it are the pages of others */
	if (p->when == SCAN_FIRST && scanned > s->r.pages / 4)
		mmg_broken("%lu entries were scanned between a touch and its aging", scanned);
	mmg_info("%lu hinting faults, %lu entries scanned between touch and aging", faults,
		 scanned);
}

static void experiment(const struct params *p, const char *name, struct scenario_order *r)
{
	struct scenario_opts o = { .name = name, .prepare = prepare,
				.bytes = mmg_opts.mem_bytes / 4 };
	static struct scenario s;
	size_t n;
	u8 *label;
	u32 *hot;

	scenario_create(&s, &o);
	scenario_populate(&s);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	hot = list_where(label, s.r.units, 0, &n);
	scans(&s, p->when == SCAN_FREE);
	rounds(&s, p, hot, n);
	scenario_reclaim(&s, label, r);
	scenario_destroy(&s);
	free(hot);
	free(label);
}

static void judge(const struct params *p)
{
	/* the walk turned off is no control: eviction itself sees what the faults marked */
	const struct params lost = { .when = SCAN_LAST, .period = p->period, .rounds = 1 };
	struct scenario_order r, control;
	char text[160];

	experiment(p, "numa", &r);
	mmg_metric("auc", r.auc);
	mmg_metric("hot_evicted", r.hot_gone);
	mmg_metric("cold_evicted", r.cold_gone);
	snprintf(text, sizeof(text), "AUC %.3f, hot %zu and cold %zu of %zu each evicted", r.auc,
		 r.hot_gone, r.cold_gone, r.cold);
	if ((r.hot_gone + r.cold_gone) * 2 < r.cold)
		mmg_fail("asked for the cold half: %s", text);
	if (!(r.auc >= AUC_UPSIDE_DOWN))
		mmg_fail("balancing turned the order upside down: %s", text);
	if (p->when != SCAN_FIRST)
		mmg_pass("measured, %s: %s", p->when == SCAN_LAST ?
			 "a scan between touch and aging" : "scans as they come", text);
	experiment(&lost, "control", &control);
	mmg_metric("control_auc", control.auc);
	if (!(control.auc >= 0.4 && control.auc <= 0.6))
		mmg_broken("control: AUC %.3f with a scan after the touch: not blind", control.auc);
	if (!(r.auc >= AUC_GOOD))
		mmg_fail("touches after a scan were not seen: %s", text);
	mmg_pass("touches after a scan are seen: %s, AUC %.3f with a scan after", text,
		 control.auc);
}

static void numa_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	pid_t pid;

	guest_require();
	mglru_require(mmg_opts.mem_bytes / 4);
	if (access(BALANCING, W_OK))
		mmg_skip("no %s: needs CONFIG_NUMA_BALANCING", BALANCING);
	if (access(NUMA_DIR "scan_delay_ms", W_OK))
		mmg_skip("no %s: needs debugfs and CONFIG_SCHED_DEBUG", NUMA_DIR);
	mmg_write_setting(NUMA_DIR "scan_period_min_ms", "%s", p->period);
	mmg_write_setting(NUMA_DIR "scan_period_max_ms", "%s", p->period);
	mmg_write_setting(NUMA_DIR "scan_delay_ms", SCAN_DELAY_MS);
	mmg_write_setting(BALANCING, "1");
	/* a thread takes the periods over when it is created */
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!pid)
		judge(p);
	waitpid(pid, NULL, 0);
	_exit(0);
}

#define CASE(name_, ...) { .name = name_, .fn = numa_case, .timeout_s = 90, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("scan-then-touch", .when = SCAN_FIRST, .period = "50", .rounds = 2),
	CASE("touch-then-scan", .when = SCAN_LAST, .period = "50", .rounds = 1),
	CASE("touch-then-scan-twice", .when = SCAN_LAST, .period = "50", .rounds = 2),
	CASE("period-50ms", .when = SCAN_FREE, .period = "50", .rounds = 1),
	CASE("period-200ms", .when = SCAN_FREE, .period = "200", .rounds = 1),
	CASE("period-1000ms", .when = SCAN_FREE, .period = "1000", .rounds = 1),
};

static const char *const settings[] = {
	"/proc/sys/vm/min_free_kbytes",
	LRU_GEN_ENABLED,
	LRU_GEN_MIN_TTL,
	BALANCING,
	NUMA_DIR "scan_period_min_ms",
	NUMA_DIR "scan_period_max_ms",
	NUMA_DIR "scan_delay_ms",
	"/proc/sys/vm/page-cluster",
	"/proc/sys/vm/swappiness",
	"/sys/kernel/mm/ksm/run",
	"/sys/module/damon_stat/parameters/enabled",
	"/sys/module/damon_reclaim/parameters/enabled",
	"/sys/module/damon_lru_sort/parameters/enabled",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
	NULL
};

static const struct mmg_test test = {
	.name = "kvm/numa_balancing",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
