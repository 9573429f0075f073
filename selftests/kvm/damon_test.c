// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does DAMON see what a guest touches, and page out only what it does not?
 * mmgate-guards: 8ee53820edfd thp: mmu_notifier_test_young
 * mmgate-guards: 3f49584b262c mm/damon: implement primitives for the virtual memory address spaces
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_DAMON_SYSFS CONFIG_DAMON_VADDR CONFIG_MEMCG CONFIG_SWAP root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * A vCPU goes on touching half of its memory, huge page by huge page, every other one.  A DAMON
 * scheme pages out what was not accessed for some intervals; it watches the addresses of the
 * process (vaddr), or the physical ones of the very pages (paddr).  DAMON clears and tests accessed
 * bits through the MMU notifier: blind to KVM it pages out what the vCPU works on.
 *
 *	vaddr, paddr	the idle half goes, the busy one stays
 *	host-vaddr	the same where the process itself touches
 *
 * The control touches nothing, and has to lose both halves.
 *
 * How it could mislead: a sampling interval in which the vCPU does not come round on a busy
 * machine (the rounds are counted, and the interval is 50 ms); a vCPU whose TLB outlives the
 * sampling on hardware (it moves between CPUs, and starts each round with an empty one).
 */
#include "scenario.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ADMIN		"/sys/kernel/mm/damon/admin/kdamonds/"
#define CONTEXT		ADMIN "0/contexts/0/"
#define UNITS		16
#define SAMPLE_US	50000
#define AGGR_US		500000
#define LOOKS		300	/* every tenth of a second */
#define FEW_ROUNDS	20

enum ops { OPS_VADDR, OPS_PADDR };

struct params {
	enum ops ops;
	bool host;
};

struct busy {
	struct scenario *s;
	u32 list[UNITS];
	size_t n;
	int stop;
	unsigned long rounds;
};

static void set_text(const char *path, const char *text)
{
	int err = mmg_try_write(path, "%s", text);

	if (err)
		mmg_broken("writing \"%s\" to %s: %s", text, path, strerror(-err));
}

static void set(const char *path, u64 value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	set_text(path, text);
}

static void set_range(const char *path, u64 min, u64 max)
{
	char file[200];

	snprintf(file, sizeof(file), "%s/min", path);
	set(file, min);
	snprintf(file, sizeof(file), "%s/max", path);
	set(file, max);
}

/* Physical address of a page; 0 where pagemap does not say */
static u64 physical(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	u64 entry = 0, page = sysconf(_SC_PAGESIZE);

	if (pread(fd, &entry, sizeof(entry), (uintptr_t)at / page * sizeof(entry)) !=
	    sizeof(entry))
		entry = 0;
	close(fd);
	return (entry & ((1ULL << 55) - 1)) * page;
}

static int by_start(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void watch(struct scenario *s, enum ops ops)
{
	u64 start[UNITS];
	char path[200];
	size_t i;

	set(ADMIN "nr_kdamonds", 1);
	set(ADMIN "0/contexts/nr_contexts", 1);
	if (mmg_try_write(CONTEXT "operations", ops == OPS_VADDR ? "vaddr" : "paddr"))
		mmg_skip("this DAMON has no %s operations",
			 ops == OPS_VADDR ? "vaddr" : "paddr");
	set(CONTEXT "monitoring_attrs/intervals/sample_us", SAMPLE_US);
	set(CONTEXT "monitoring_attrs/intervals/aggr_us", AGGR_US);
	set_range(CONTEXT "monitoring_attrs/nr_regions", UNITS, 4 * UNITS);
	set(CONTEXT "targets/nr_targets", 1);
	if (ops == OPS_VADDR)
		set(CONTEXT "targets/0/pid_target", getpid());
	for (i = 0; i < UNITS; i++) {
		char *at = s->r.mem + i * HUGE_SIZE;

		start[i] = ops == OPS_VADDR ? (uintptr_t)at : physical(at);
		if (!start[i])
			mmg_broken("pagemap does not say where the memory is");
	}
	qsort(start, UNITS, sizeof(start[0]), by_start);
	set(CONTEXT "targets/0/regions/nr_regions", UNITS);
	for (i = 0; i < UNITS; i++) {
		snprintf(path, sizeof(path), CONTEXT "targets/0/regions/%zu/start", i);
		set(path, start[i]);
		snprintf(path, sizeof(path), CONTEXT "targets/0/regions/%zu/end", i);
		set(path, start[i] + HUGE_SIZE);
	}
	set(CONTEXT "schemes/nr_schemes", 1);
	set_text(CONTEXT "schemes/0/action", "pageout");
	set_range(CONTEXT "schemes/0/access_pattern/sz", 4096, 1ULL << 40);
	set_range(CONTEXT "schemes/0/access_pattern/nr_accesses", 0, 0);
	set_range(CONTEXT "schemes/0/access_pattern/age", 3, 1000000);
	set_text(ADMIN "0/state", "on");
}

static void *work(void *arg)
{
	struct busy *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		scenario_touch(b->s, b->list, b->n, false);
		b->rounds++;
	}
	return NULL;
}

static void damon_stop(void)
{
	mmg_try_write(ADMIN "0/state", "off");
	mmg_try_write(ADMIN "nr_kdamonds", "0");
}

struct gone {
	size_t busy, idle;
	unsigned long rounds;
};

/* Run until the idle half is out, or nothing more comes */
static struct gone experiment(const struct params *p, bool touch)
{
	struct scenario_opts o = {
		.name = touch ? "damon" : "control", .backing = BACK_THP, .host = p->host,
		.bytes = UNITS * HUGE_SIZE,
	};
	const struct timespec nap = { .tv_nsec = 100000000 };
	static struct scenario s;
	static struct busy b;
	struct gone gone = { };
	pthread_t t;
	size_t i;
	int look;

	memset(&b, 0, sizeof(b));
	scenario_create(&s, &o);
	scenario_populate(&s);
	b.s = &s;
	for (i = 0; i < UNITS; i += 2)
		b.list[b.n++] = i;
	watch(&s, p->ops);
	if (touch && pthread_create(&t, NULL, work, &b))
		mmg_broken("starting a thread failed");
	mmg_doing("waiting for DAMON to page the idle half out");
	for (look = 0; look < LOOKS; look++) {
		nanosleep(&nap, NULL);
		region_read(&s.r);
		gone.busy = 0;
		gone.idle = 0;
		for (i = 0; i < UNITS; i++)
			*(i % 2 ? &gone.idle : &gone.busy) += !s.r.present[i];
		if (gone.idle == UNITS / 2 && (touch || gone.busy == UNITS / 2))
			break;
	}
	__atomic_store_n(&b.stop, 1, __ATOMIC_RELAXED);
	if (touch)
		pthread_join(t, NULL);
	damon_stop();
	gone.rounds = b.rounds;
	mmg_metric(touch ? "looks" : "control_looks", look);
	scenario_destroy(&s);
	return gone;
}

static void damon_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	struct gone g, control;
	char *nr;

	if (!p->host)
		guest_require();
	mglru_require(2 * UNITS * HUGE_SIZE);
	if (access(ADMIN "nr_kdamonds", W_OK))
		mmg_skip("no %snr_kdamonds (CONFIG_DAMON_SYSFS)", ADMIN);
	nr = mmg_read_file(ADMIN "nr_kdamonds", NULL);
	if (nr && atoi(nr))
		mmg_skip("somebody uses DAMON: %snr_kdamonds is %d", ADMIN, atoi(nr));
	free(nr);
	control = experiment(p, false);
	if (control.busy + control.idle < UNITS / 2)
		mmg_broken("control: DAMON paged %zu of %d idle huge pages out",
			   control.busy + control.idle, UNITS);
	g = experiment(p, true);
	mmg_metric("busy_gone", g.busy);
	mmg_metric("idle_gone", g.idle);
	mmg_metric("rounds", g.rounds);
	if (g.rounds < FEW_ROUNDS)
		mmg_broken("the memory was touched %lu times only", g.rounds);
	if (g.busy * 4 > UNITS / 2)
		mmg_fail("DAMON took %zu of %d huge pages that the %s goes on touching, %zu idle",
			 g.busy, UNITS / 2, p->host ? "process" : "guest", g.idle);
	if (g.idle * 2 < UNITS / 2)
		mmg_fail("DAMON paged %zu of %d idle huge pages out", g.idle, UNITS / 2);
	mmg_pass("DAMON took %zu idle and %zu busy huge pages of %d each, %lu rounds; control %zu",
		 g.idle, g.busy, UNITS / 2, g.rounds, control.busy + control.idle);
}

static const struct mmg_case cases[] = {
	{ .name = "vaddr", .fn = damon_case, .timeout_s = 120, .destructive = true,
	  .arg = &(const struct params){ .ops = OPS_VADDR } },
	{ .name = "paddr", .fn = damon_case, .timeout_s = 120, .destructive = true,
	  .arg = &(const struct params){ .ops = OPS_PADDR } },
	{ .name = "host-vaddr", .fn = damon_case, .timeout_s = 120, .destructive = true,
	  .arg = &(const struct params){ .ops = OPS_VADDR, .host = true } },
};

static const struct mmg_test test = {
	.name = "kvm/damon",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
