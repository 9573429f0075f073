// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does memory.reclaim take what was asked, from whom it was asked, and say so?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: 94968384dde1 memcg: introduce per-memcg reclaim interface
 * mmgate-guards: 68cd9050d871 mm: add swappiness= arg to memory.reclaim
 * mmgate-guards: 0388536ac291 mm:vmscan: fix inaccurate reclaim during proactive reclaim
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 400
 *
 * What reclaim did is read in five places that have to agree, page for page but for
 * a batch: the residency of the guest's memory, memory.current, memory.swap.current,
 * pgsteal of memory.stat, pswpout of /proc/vmstat.  Then the errno is compared with it:
 *
 *	asked			errno	taken
 *	cold part less 1 MiB	0	cold only: the vCPU re-runs its hot set, no swap-in
 *	N			0	N to N + a batch
 *	twice what is there	EAGAIN	nearly all
 *	8 MiB, swap.max 4 MiB	EAGAIN	4 MiB less a batch
 *	without swap		EAGAIN	0
 *	swappiness=0		-	file pages only;  =200, =max: anonymous only
 *	a sibling's, a parent's	-	the other VM 0;  the cold child's;  low, min: 0
 *
 * How it could mislead: memory.current lags by a batch of charges a CPU (allowed for);
 * the test's own pages in the group may be taken as well (a batch is allowed for);
 * reclaim of a group ages its children, so the hot VM is touched between small steps.
 */
#include "scenario.h"
#include "worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "node.h"
#include "trace.h"
#include "vmstat.h"

#define BATCH		64	/* MIN_LRU_BATCH, MEMCG_CHARGE_BATCH */
#define BACK_IN_S	40	/* a reclaim not back by then does not come back */
#define MIB		0x100000UL
#define NODE_TRIES	8	/* requests until a node's reclaim has come to the VM */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static size_t base_page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Is this kernel from before MAJOR.MINOR? */
static bool older_than(int major, int minor)
{
	struct utsname u;
	int a = 0, b = 0;

	uname(&u);
	if (sscanf(u.release, "%d.%d", &a, &b) != 2)
		mmg_broken("uname says release \"%s\"", u.release);
	return a < major || (a == major && b < minor);
}

/* --- asking, with a bound on time ---------------------------------------------------- */

struct request {
	const struct memcg *cg;
	u64 bytes;
	const char *swappiness;
	int err;
};

static void *reclaim_thread(void *arg)
{
	struct request *q = arg;

	q->err = memcg_reclaim(q->cg, q->bytes, q->swappiness);
	return NULL;
}

/* memory.reclaim that never comes back is the kernel's failure, not a broken case */
static int bounded_reclaim(const struct memcg *cg, u64 bytes, const char *swappiness, double *took)
{
	static struct request q;
	struct timespec until;
	double start = seconds();
	pthread_t t;

	q = (struct request){ .cg = cg, .bytes = bytes, .swappiness = swappiness };
	if (pthread_create(&t, NULL, reclaim_thread, &q))
		mmg_broken("starting a thread for memory.reclaim failed");
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += BACK_IN_S;
	if (pthread_timedjoin_np(t, NULL, &until))
		mmg_fail("memory.reclaim of %llu bytes did not come back in %d s",
			 (unsigned long long)bytes, BACK_IN_S);
	*took = seconds() - start;
	return q.err;
}

/* --- the counters ------------------------------------------------------------------------ */

/* What reclaim changes, in base pages */
struct counters {
	u64 current;		/* memory.current */
	u64 swap;		/* memory.swap.current */
	u64 steal;		/* pgsteal of memory.stat */
	u64 swpout;		/* pswpout, and swpout_zero where the kernel has it */
	u64 absent;		/* pages of the region */
};

struct taken {
	u64 asked;
	u64 freed;
	u64 swapped;
	u64 stolen;
	u64 written;
	u64 gone;
	int err;
	double s;
};

static void read_counters(struct counters *b, const struct memcg *cg, struct region *r)
{
	static struct vmstat v;

	b->absent = (r->units - region_read(r)) * r->unit;
	b->current = memcg_read(cg, "memory.current") / base_page();
	b->swap = memcg_read(cg, "memory.swap.current") / base_page();
	b->steal = memcg_key(cg, "memory.stat", "pgsteal");
	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	b->swpout = vmstat_get(&v, "pswpout");
	if (vmstat_has(&v, "swpout_zero"))
		b->swpout += vmstat_get(&v, "swpout_zero");
}

/* Reclaim @asked pages of the scenario's group and see what every counter says */
static void take(struct scenario *s, u64 asked, const char *swappiness, struct taken *t)
{
	struct counters a, b;

	read_counters(&a, &s->group.cg, &s->r);
	memset(t, 0, sizeof(*t));
	t->asked = asked;
	t->err = bounded_reclaim(&s->group.cg, asked * base_page(), swappiness, &t->s);
	read_counters(&b, &s->group.cg, &s->r);
	t->freed = a.current > b.current ? a.current - b.current : 0;
	t->swapped = b.swap - a.swap;
	t->stolen = b.steal - a.steal;
	t->written = b.swpout - a.swpout;
	t->gone = b.absent - a.absent;
	mmg_info("asked %llu: %s, in %.3f s; pages gone %llu, freed %llu, stolen %llu, in swap %llu, written %llu",
		 (unsigned long long)asked, t->err ? strerror(-t->err) : "0", t->s,
		 (unsigned long long)t->gone, (unsigned long long)t->freed,
		 (unsigned long long)t->stolen, (unsigned long long)t->swapped,
		 (unsigned long long)t->written);
}

static bool within(u64 a, u64 b, u64 slack)
{
	return a <= b + slack && b <= a + slack;
}

/* Charges that memory.current and memory.stat may not show yet */
static u64 lag(void)
{
	return BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
}

/* The counters against the residency of the memory, which cannot lag */
static void judge_counters(const struct taken *t)
{
	u64 slack = lag();

	if (!within(t->swapped, t->gone, BATCH))
		mmg_fail("memory.swap.current grew by %llu pages, %llu of the guest are gone",
			 (unsigned long long)t->swapped, (unsigned long long)t->gone);
	if (!within(t->freed, t->gone, slack))
		mmg_fail("memory.current fell by %llu pages, %llu of the guest are gone",
			 (unsigned long long)t->freed, (unsigned long long)t->gone);
	if (!within(t->stolen, t->gone, slack))
		mmg_fail("pgsteal counted %llu pages, %llu of the guest are gone",
			 (unsigned long long)t->stolen, (unsigned long long)t->gone);
	if (!within(t->written, t->gone, BATCH))
		mmg_fail("pswpout counted %llu pages, %llu of the guest are gone",
			 (unsigned long long)t->written, (unsigned long long)t->gone);
}

/* The return value against the residency, both ways */
static void judge_errno(const struct taken *t)
{
	if (t->err && t->err != -EAGAIN)
		mmg_fail("memory.reclaim of %llu pages: %s instead of 0 or EAGAIN",
			 (unsigned long long)t->asked, strerror(-t->err));
	if (!t->err && t->gone + BATCH < t->asked)
		mmg_fail("memory.reclaim said that it took all %llu pages: %llu are gone",
			 (unsigned long long)t->asked, (unsigned long long)t->gone);
	if (t->err && t->gone >= t->asked)
		mmg_fail("memory.reclaim said EAGAIN: %llu pages are gone, %llu were asked for",
			 (unsigned long long)t->gone, (unsigned long long)t->asked);
}

/* --- setting up --------------------------------------------------------------------------- */

struct params {
	enum backing backing;
	bool host;
};

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 32 * HUGE_SIZE : mmg_opts.mem_bytes / 2;
}

static void age(struct scenario *s)
{
	group_age(&s->group, true);
}

/* All in memory, aged twice without touches: everything is cold */
static void set_up_cold(struct scenario *s, const struct params *p, size_t bytes)
{
	struct scenario_opts o = {
		.name = "reclaim", .backing = p->backing, .host = p->host, .bytes = bytes,
	};

	if (!p->host)
		guest_require();
	mglru_require(bytes);
	scenario_create(s, &o);
	scenario_populate(s);
	mmg_doing("aging");
	age(s);
	age(s);
}

/* --- the hot set ---------------------------------------------------------------------- */

static u64 swap_ins(void)
{
	static struct vmstat v;

	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	return vmstat_get(&v, "pswpin") + (vmstat_has(&v, "swpin_zero") ?
					    vmstat_get(&v, "swpin_zero") : 0);
}

static size_t count_absent(struct region *r, const u8 *label, u8 which)
{
	size_t i, n = 0;

	region_read(r);
	for (i = 0; i < r->units; i++)
		n += label[i] == which && !r->present[i];
	return n;
}

/* Major faults and swap-ins that touching @list costs */
static void cost_of_touch(struct scenario *s, const u32 *list, size_t n, u64 *faults, u64 *ins)
{
	u64 f = memcg_key(&s->group.cg, "memory.stat", "pgmajfault");
	u64 i = swap_ins();

	scenario_touch(s, list, n, false);
	*faults = memcg_key(&s->group.cg, "memory.stat", "pgmajfault") - f;
	*ins = swap_ins() - i;
}

static void hot_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	struct taken t;
	size_t n_hot, n_cold, hot_gone, cold_gone;
	u64 faults, ins, cold_faults, cold_ins;
	u32 *hot, *cold;
	u8 *label;
	int round;

	set_up_cold(&s, p, bytes_of(p));
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	hot = list_where(label, s.r.units, 0, &n_hot);
	cold = list_where(label, s.r.units, 1, &n_cold);
	for (round = 0; round < 2; round++) {
		scenario_touch(&s, hot, n_hot, false);
		age(&s);
	}
	mmg_doing("reclaiming the cold part less 1 MiB");
	take(&s, n_cold * s.r.unit - MIB / base_page(), NULL, &t);
	hot_gone = count_absent(&s.r, label, 0);
	cold_gone = count_absent(&s.r, label, 1);
	mmg_metric("hot_evicted", hot_gone);
	mmg_metric("cold_evicted", cold_gone);
	mmg_metric("reclaim_s", t.s);
	mmg_doing("touching the hot set, then the cold one");
	cost_of_touch(&s, hot, n_hot, &faults, &ins);
	cost_of_touch(&s, cold, n_cold, &cold_faults, &cold_ins);
	mmg_metric("hot_major_faults", faults);
	mmg_metric("hot_swap_ins", ins);
	mmg_metric("cold_major_faults", cold_faults);
	mmg_info("hot set: %zu of %zu gone, %llu major faults, %llu swap-ins; cold set: %zu gone, %llu, %llu",
		 hot_gone, n_hot, (unsigned long long)faults, (unsigned long long)ins, cold_gone,
		 (unsigned long long)cold_faults, (unsigned long long)cold_ins);
	judge_errno(&t);
	if (hot_gone || faults || ins)
		mmg_fail("hot set of %zu lost %zu: %llu major faults, %llu swap-ins; cold lost %zu",
			 n_hot, hot_gone, (unsigned long long)faults, (unsigned long long)ins,
			 cold_gone);
	/*
	 * Arms the counter: the cold set must cost what it lost.  Major faults may be
	 * fewer, KVM's asynchronous page faults happen in a kernel worker.
	 */
	if (cold_ins < cold_gone)
		mmg_broken("touching %zu evicted units counted %llu swap-ins", cold_gone,
			   (unsigned long long)cold_ins);
	mmg_pass("the %s re-ran its hot set: 0 major faults, 0 swap-ins; cold lost %zu of %zu",
		 p->host ? "host" : "vCPU", cold_gone, n_cold);
}

/* --- bytes and errno ------------------------------------------------------------------ */

static void bytes_case(const struct mmg_case *c)
{
	static const unsigned int fraction[] = { 8192, 32, 8, 4 };
	const struct params *p = c->arg;
	static struct scenario s;
	u64 asked, over, bound, worst = 0;
	struct taken t;
	size_t i;

	set_up_cold(&s, p, bytes_of(p));
	mmg_doing("reclaiming");
	for (i = 0; i < ARRAY_SIZE(fraction); i++) {
		asked = s.r.pages / fraction[i] ? s.r.pages / fraction[i] : 1;
		take(&s, asked, NULL, &t);
		judge_errno(&t);
		judge_counters(&t);
		if (t.err)
			mmg_fail("memory.reclaim of %llu of %zu cold pages: %s, %llu are gone",
				 (unsigned long long)asked, s.r.pages, strerror(-t.err),
				 (unsigned long long)t.gone);
		over = t.gone > asked ? t.gone - asked : 0;
		worst = over > worst ? over : worst;
		bound = asked / 4 + 2 * BATCH * (s.r.nid < 0 ? 1 : 2);
		if (s.r.unit > 1)
			bound += s.r.unit;
		if (over > bound)
			mmg_fail("memory.reclaim took %llu pages, %llu asked for (%llu allowed)",
				 (unsigned long long)t.gone, (unsigned long long)asked,
				 (unsigned long long)(asked + bound));
	}
	mmg_metric("overshoot_pages", worst);
	mmg_metric("last_reclaim_s", t.s);
	mmg_pass("up to %llu pages taken as asked, at most %llu too many, all counters agree",
		 (unsigned long long)asked, (unsigned long long)worst);
}

static void more_than_all(struct scenario *s)
{
	struct taken t;
	u64 all_gone;

	take(s, 2 * s->r.pages, NULL, &t);
	all_gone = s->r.pages - region_read(&s->r) * s->r.unit;
	mmg_metric("of_all_gone", all_gone);
	judge_errno(&t);
	judge_counters(&t);
	if (t.err != -EAGAIN)
		mmg_fail("memory.reclaim of twice the group's memory: %s instead of EAGAIN",
			 t.err ? strerror(-t.err) : "0");
	if (all_gone * 20 < s->r.pages * 19)
		mmg_fail("memory.reclaim of twice the group's memory gave up at %llu of %zu pages",
			 (unsigned long long)all_gone, s->r.pages);
}

static void limit_swap(struct scenario *s, u64 pages)
{
	int err = memcg_write(&s->group.cg, "memory.swap.max", "%llu",
			      (unsigned long long)(pages * base_page()));

	if (err)
		mmg_broken("memory.swap.max of %llu pages: %s", (unsigned long long)pages,
			   strerror(-err));
}

/* EAGAIN is partial success: how partial is measured */
static void eagain_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	struct taken none, some;
	u64 room;

	set_up_cold(&s, p, bytes_of(p));
	room = s.r.pages / 4;
	mmg_doing("reclaiming without swap");
	limit_swap(&s, 0);
	take(&s, s.r.pages / 2, NULL, &none);
	if (none.gone || none.err != -EAGAIN)
		mmg_fail("reclaim without swap: %s, %llu pages gone, instead of EAGAIN and none",
			 none.err ? strerror(-none.err) : "0", (unsigned long long)none.gone);
	mmg_doing("reclaiming twice the swap that is left");
	limit_swap(&s, room);
	take(&s, 2 * room, NULL, &some);
	judge_errno(&some);
	judge_counters(&some);
	if (some.err != -EAGAIN)
		mmg_fail("asked for %llu pages, swap had room for %llu: %s instead of EAGAIN",
			 (unsigned long long)some.asked, (unsigned long long)room,
			 some.err ? strerror(-some.err) : "0");
	if (some.gone > room || some.gone + 2 * BATCH < room)
		mmg_fail("swap had room for %llu pages, %llu are gone", (unsigned long long)room,
			 (unsigned long long)some.gone);
	mmg_doing("reclaiming twice what is there");
	if (memcg_write(&s.group.cg, "memory.swap.max", "max"))
		mmg_broken("memory.swap.max cannot be lifted");
	more_than_all(&s);
	mmg_metric("without_swap_s", none.s);
	mmg_pass("EAGAIN: 0 pages without swap, %llu where swap had room for %llu, then all",
		 (unsigned long long)some.gone, (unsigned long long)room);
}

static void refused_case(const struct mmg_case *c)
{
	static const char *const bad[] = {
		"", "junk", "1M swappiness=201", "1M swappiness=-1", "1M swappiness=x",
		"1M swappiness", "1M node=0", "1M 2M",
	};
	static const struct params p = { .backing = BACK_ANON };
	static struct scenario s;
	size_t i;
	int err;

	(void)c;
	set_up_cold(&s, &p, 4 * MIB);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		/* before 6.10 nothing at all is the word for everything */
		if (!*bad[i] && older_than(6, 10))
			continue;
		err = memcg_write(&s.group.cg, "memory.reclaim", "%s\n", bad[i]);
		if (err != -EINVAL)
			mmg_fail("memory.reclaim took \"%s\": %s instead of EINVAL", bad[i],
				 err ? strerror(-err) : "0");
	}
	if (region_read(&s.r) != s.r.units)
		mmg_fail("a request that was refused took memory");
	mmg_pass("%zu malformed requests were refused with EINVAL and took nothing",
		 ARRAY_SIZE(bad));
}

/* --- swappiness ----------------------------------------------------------------------- */

/* Page cache of a file on a disk, or of an empty zram device where there is no disk */
struct cache {
	char *map;
	size_t pages;
	u8 *in;
};

static int read_number(const char *path)
{
	char *text = mmg_read_file(path, NULL);
	int n = text ? atoi(text) : -1;

	free(text);
	return n;
}

/* Removes the device when this process is gone, whichever way it went */
static void remove_after_us(int nr)
{
	int fds[2], i;
	pid_t pid;
	char c;

	if (pipe(fds))
		return;
	pid = fork();
	if (pid) {
		close(fds[0]);
		return;
	}
	setsid();
	close(fds[1]);
	while (read(fds[0], &c, 1) > 0)
		;
	for (i = 0; i < 50; i++) {
		if (!mmg_try_write("/sys/class/zram-control/hot_remove", "%d", nr))
			break;
		usleep(20000);
	}
	_exit(0);
}

static int open_zram(size_t bytes)
{
	char path[64];
	int nr = read_number("/sys/class/zram-control/hot_add"), fd;

	if (nr < 0)
		mmg_skip("nothing to fill page cache from: no disk (machine data-disk), no zram");
	remove_after_us(nr);
	snprintf(path, sizeof(path), "/sys/block/zram%d/disksize", nr);
	mmg_write_setting(path, "%zu", bytes);
	snprintf(path, sizeof(path), "/dev/zram%d", nr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		mmg_broken("%s: %s", path, strerror(errno));
	return fd;
}

static int open_cache_file(size_t bytes)
{
	struct statfs fs;
	char path[] = "/mnt/data/mmgate.XXXXXX";
	int fd;

	if (statfs("/mnt/data", &fs) || fs.f_type == 0x01021994 || fs.f_type == 0x858458f6)
		return open_zram(bytes);
	fd = mkstemp(path);
	if (fd < 0)
		return open_zram(bytes);
	unlink(path);
	if (posix_fallocate(fd, 0, bytes))
		mmg_broken("making a file of %zu bytes: %s", bytes, strerror(errno));
	fsync(fd);
	return fd;
}

static size_t cached(struct cache *c)
{
	size_t i, n = 0;

	if (mincore(c->map, c->pages * base_page(), c->in))
		mmg_broken("mincore: %s", strerror(errno));
	for (i = 0; i < c->pages; i++)
		n += c->in[i] & 1;
	return n;
}

/* Charged to the group that the caller is in */
static void fill_cache(struct cache *c, int fd, size_t bytes)
{
	static char buf[65536];
	size_t at;

	c->pages = bytes / base_page();
	c->in = calloc(1, c->pages);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (at = 0; at < bytes; at += sizeof(buf)) {
		if (pread(fd, buf, sizeof(buf), at) != sizeof(buf))
			mmg_broken("reading %zu bytes at %zu: %s", sizeof(buf), at,
				   strerror(errno));
	}
	c->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (c->map == MAP_FAILED)
		mmg_broken("mmap of a file: %s", strerror(errno));
	if (cached(c) != c->pages)
		mmg_broken("precondition: %zu of %zu file pages are in memory after a read",
			   cached(c), c->pages);
}

/*
 * On the node where the VM's pages are: reclaim goes node by node, and one that has no
 * file pages gives anonymous ones whatever is asked.
 */
static void bind_cache(const struct scenario *s)
{
	struct node_set one;

	if (s->r.nid < 0)
		return;
	one = node_set_of(s->r.nid);
	if (node_set_policy(NODE_BIND, &one))
		mmg_broken("binding page cache to node %d: %s", s->r.nid, strerror(errno));
}

enum expect { FILE_ONLY, FILE_FIRST, ANON_FIRST, ANON_ONLY };

struct swappiness {
	const char *value;	/* as the argument, or NULL: by vm.swappiness */
	const char *sysctl;
	enum expect expect;
};

static void skip_unless_known(const struct memcg *cg, const char *value)
{
	int err = memcg_reclaim(cg, 0, value);

	if (err != -EINVAL)
		return;
	if (strcmp(value, "max") ? older_than(6, 10) : older_than(6, 15))
		mmg_skip("memory.reclaim takes no swappiness=%s before %s", value,
			 strcmp(value, "max") ? "6.10" : "6.15");
	mmg_fail("memory.reclaim refuses \"0 swappiness=%s\" with EINVAL", value);
}

static void judge_swappiness(enum expect expect, const char *what, u64 asked, u64 anon, u64 file)
{
	bool wants_anon = expect == ANON_FIRST || expect == ANON_ONLY;
	u64 right = wants_anon ? anon : file, wrong = wants_anon ? file : anon;
	u64 slack = expect == FILE_ONLY || expect == ANON_ONLY ? 0 : BATCH;

	if (wrong > slack)
		mmg_fail("%s took %llu anonymous and %llu file pages: %llu of the wrong kind", what,
			 (unsigned long long)anon, (unsigned long long)file,
			 (unsigned long long)wrong);
	if (right + BATCH < asked)
		mmg_fail("%s took %llu anonymous and %llu file pages of %llu asked for", what,
			 (unsigned long long)anon, (unsigned long long)file,
			 (unsigned long long)asked);
}

static void swappiness_case(const struct mmg_case *c)
{
	const struct swappiness *w = c->arg;
	/*
	 * The sysctl is asked on 6.1, too, where a guest's cold pages may still be young
	 * to eviction, all of them are then put to the young end, and files go instead
	 */
	const struct params p = { .backing = BACK_ANON, .host = !w->value };
	size_t bytes = mmg_opts.mem_bytes / 4;
	static struct cache cache;
	static struct scenario s;
	struct taken t, all;
	char what[40];
	u64 file, file_before;
	int fd;

	set_up_cold(&s, &p, bytes);
	if (w->value)
		skip_unless_known(&s.group.cg, w->value);
	fd = open_cache_file(bytes);
	bind_cache(&s);
	fill_cache(&cache, fd, bytes);
	memcg_drain_lru();
	age(&s);
	age(&s);
	if (w->sysctl)
		mmg_write_setting("/proc/sys/vm/swappiness", "%s", w->sysctl);
	snprintf(what, sizeof(what), "%s%s", w->value ? "swappiness=" : "vm.swappiness ",
		 w->value ? w->value : w->sysctl);
	mmg_doing("reclaiming with %s", what);
	file_before = cached(&cache);
	take(&s, s.r.pages / 2, w->value, &t);
	file = file_before - cached(&cache);
	mmg_metric("anon_taken", t.gone);
	mmg_metric("file_taken", file);
	judge_swappiness(w->expect, what, t.asked, t.gone, file);
	if (w->expect == FILE_FIRST || w->expect == ANON_FIRST)
		mmg_pass("%s took %llu anonymous and %llu file pages", what,
			 (unsigned long long)t.gone, (unsigned long long)file);
	/* all of its kind is still not enough: the other kind must not be taken instead */
	take(&s, 2 * s.r.pages, w->value, &all);
	file = file_before - cached(&cache);
	t.gone += all.gone;
	if (w->expect == FILE_ONLY ? t.gone : file)
		mmg_fail("%s took %llu anonymous and %llu file pages once its kind ran out", what,
			 (unsigned long long)t.gone, (unsigned long long)file);
	if (all.err != -EAGAIN)
		mmg_fail("%s: %s instead of EAGAIN once its kind had run out", what,
			 all.err ? strerror(-all.err) : "0");
	mmg_pass("%s took %llu anonymous and %llu file pages, then EAGAIN", what,
		 (unsigned long long)t.gone, (unsigned long long)file);
}

/* --- several VMs ----------------------------------------------------------------------- */

enum tenant_cmd { T_START, T_HEAT, T_ABSENT };

/* A VM in a process and a group of its own */
struct tenant {
	struct memcg cg;
	struct worker w;
	struct scenario s;		/* the helper's */
	size_t units;
	int *cool;		/* shared: ends T_HEAT */
};

static u64 tenant_fn(void *state, int cmd, u64 arg)
{
	struct tenant *t = state;
	u64 rounds = 0;

	switch (cmd) {
	case T_START:
		guest_create(&t->s.guest, 1, arg, NULL);
		region_create(&t->s.r, BACK_ANON, arg, 0);
		t->s.all = list_all(t->s.r.units, 0);
		guest_set_memory(&t->s.guest, &t->s.r, 1, 0);
		memcg_enter(&t->cg, 0);
		scenario_touch(&t->s, t->s.all, t->s.r.units, true);
		region_check_resident(&t->s.r);
		memcg_drain_lru();
		return t->s.r.units;
	case T_HEAT:
		while (!__atomic_load_n(t->cool, __ATOMIC_RELAXED)) {
			scenario_touch(&t->s, t->s.all, t->s.r.units, false);
			rounds++;
		}
		return rounds;
	case T_ABSENT:
		return t->s.r.units - region_read(&t->s.r);
	}
	return 0;
}

static void tenant_start(struct tenant *t, const struct memcg *parent, const char *name,
			 size_t bytes)
{
	memcg_create(&t->cg, parent, name);
	t->cool = mmap(NULL, base_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (t->cool == MAP_FAILED)
		mmg_broken("mmap: %s", strerror(errno));
	worker_start(&t->w, tenant_fn, t);
	t->units = worker_call(&t->w, T_START, bytes);
}

static u64 absent(struct tenant *t)
{
	return worker_call(&t->w, T_ABSENT, 0);
}

static void age_group(const struct memcg *cg)
{
	static struct group group;

	group.cg = *cg;
	group.cg.path = group.cg.dir + (cg->path - cg->dir);
	group.id = memcg_lru_gen_id(cg);
	group_age(&group, true);
}

struct family {
	struct memcg parent;
	struct tenant a, b;
};

static void start_family(struct family *f, bool nested)
{
	size_t bytes = mmg_opts.mem_bytes / 4;

	guest_require();
	mglru_require(bytes * 2);
	region_node();
	if (nested)
		memcg_create(&f->parent, NULL, "parent");
	mmg_doing("starting two VMs");
	tenant_start(&f->a, nested ? &f->parent : NULL, "a", bytes);
	tenant_start(&f->b, nested ? &f->parent : NULL, "b", bytes);
	age_group(&f->a.cg);
	age_group(&f->b.cg);
	age_group(&f->a.cg);
	age_group(&f->b.cg);
}

static void siblings_case(const struct mmg_case *c)
{
	bool nested = c->arg;
	static struct family f;
	u64 b_current, b_steal, gone_a, gone_b;
	double took;
	int err;

	start_family(&f, nested);
	b_current = memcg_read(&f.b.cg, "memory.current");
	b_steal = memcg_key(&f.b.cg, "memory.stat", "pgsteal");
	mmg_doing("reclaiming from the first VM's group");
	err = bounded_reclaim(&f.a.cg, f.a.units / 2 * base_page(), NULL, &took);
	gone_a = absent(&f.a);
	gone_b = absent(&f.b);
	b_steal = memcg_key(&f.b.cg, "memory.stat", "pgsteal") - b_steal;
	mmg_metric("target_evicted", gone_a);
	mmg_metric("sibling_evicted", gone_b);
	if (gone_b || b_steal)
		mmg_fail("reclaim of one VM's group took %llu pages of its sibling (pgsteal %llu)",
			 (unsigned long long)gone_b, (unsigned long long)b_steal);
	if (!within(memcg_read(&f.b.cg, "memory.current"), b_current, lag() * base_page()))
		mmg_fail("the sibling's memory.current went from %llu to %llu",
			 (unsigned long long)b_current,
			 (unsigned long long)memcg_read(&f.b.cg, "memory.current"));
	if (err || !within(gone_a, f.a.units / 2, 2 * BATCH))
		mmg_fail("reclaim of half of a VM's group: %s, %llu of %zu pages gone",
			 err ? strerror(-err) : "0", (unsigned long long)gone_a, f.a.units);
	mmg_pass("reclaim of one VM's group took %llu of its pages and 0 of its sibling's",
		 (unsigned long long)gone_a);
}

/* One VM goes on touching all it has while the parent is reclaimed */
static void parent_case(const struct mmg_case *c)
{
	static struct family f;
	struct tenant *h = c->arg ? &f.a : &f.b, *o = c->arg ? &f.b : &f.a;
	u64 hot, cold, asked, rounds;
	double took;

	start_family(&f, true);
	asked = f.a.units / 2;
	cold = memcg_key(&o->cg, "memory.stat", "pgsteal");
	hot = memcg_key(&h->cg, "memory.stat", "pgsteal");
	mmg_doing("reclaiming from the parent, one VM is hot");
	worker_send(&h->w, T_HEAT, 0);
	usleep(20000);
	bounded_reclaim(&f.parent, asked * base_page(), NULL, &took);
	__atomic_store_n(h->cool, 1, __ATOMIC_RELAXED);
	rounds = worker_wait(&h->w);
	cold = memcg_key(&o->cg, "memory.stat", "pgsteal") - cold;
	hot = memcg_key(&h->cg, "memory.stat", "pgsteal") - hot;
	mmg_metric("cold_evicted", cold);
	mmg_metric("hot_evicted", hot);
	mmg_metric("rounds", rounds);
	if (!rounds)
		mmg_broken("the hot VM did not run while the parent was reclaimed");
	if (!within(cold + hot, asked, asked / 4 + 2 * BATCH))
		mmg_fail("parent reclaim of %llu pages took %llu cold and %llu hot ones",
			 (unsigned long long)asked, (unsigned long long)cold,
			 (unsigned long long)hot);
	if (hot * 4 > cold)
		mmg_fail("parent reclaim took %llu pages of the hot VM, %llu of the cold one",
			 (unsigned long long)hot, (unsigned long long)cold);
	mmg_pass("reclaim from the parent took the cold VM first: %llu pages, %llu of the hot one",
		 (unsigned long long)cold, (unsigned long long)hot);
}

static void protect(const struct memcg *cg, const char *file, const char *value)
{
	int err = memcg_write(cg, file, "%s", value);

	if (err)
		mmg_broken("writing \"%s\" to %s/%s: %s", value, cg->dir, file, strerror(-err));
}

static void protection_case(const struct mmg_case *c)
{
	const char *file = c->arg;
	bool min = !strcmp(file, "memory.min");
	static struct family f;
	u64 gone_a, gone_b, events;
	double took;
	int err;

	start_family(&f, true);
	protect(&f.parent, file, "1G");
	protect(&f.a.cg, file, "1G");
	mmg_doing("reclaiming from the parent, one VM is protected by %s", file);
	err = bounded_reclaim(&f.parent, f.b.units / 2 * base_page(), NULL, &took);
	gone_a = absent(&f.a);
	gone_b = absent(&f.b);
	mmg_metric("protected_evicted", gone_a);
	mmg_metric("other_evicted", gone_b);
	if (gone_a)
		mmg_fail("parent reclaim took %llu pages of a VM within its %s, %llu others",
			 (unsigned long long)gone_a, file, (unsigned long long)gone_b);
	if (err || gone_b + BATCH < f.b.units / 2)
		mmg_fail("reclaim from the parent: %s, took %llu of %zu unprotected pages",
			 err ? strerror(-err) : "0", (unsigned long long)gone_b, f.b.units);
	mmg_doing("reclaiming more than is not protected");
	events = memcg_key(&f.a.cg, "memory.events", "low");
	err = bounded_reclaim(&f.parent, (f.a.units + f.b.units) * base_page(), NULL, &took);
	gone_a = absent(&f.a);
	events = memcg_key(&f.a.cg, "memory.events", "low") - events;
	mmg_metric("protected_evicted_at_last", gone_a);
	if (min && (gone_a || err != -EAGAIN))
		mmg_fail("%llu pages of a VM within its memory.min were taken at last (%s)",
			 (unsigned long long)gone_a, err ? strerror(-err) : "0");
	if (!min && gone_a && !events)
		mmg_fail("%llu pages of a VM within its memory.low went without a low event",
			 (unsigned long long)gone_a);
	mmg_pass("%s held: 0 pages while others had some; then %llu of %zu (low events %llu)",
		 file, (unsigned long long)gone_a, f.a.units, (unsigned long long)events);
}

/* Above its memory.min a VM is reclaimed, down to it */
static void partial_min_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct memcg parent;
	struct scenario_opts o = { .name = "child", .parent = &parent };
	u64 min, left;
	double took;
	int err;

	(void)c;
	guest_require();
	o.bytes = mmg_opts.mem_bytes / 2;
	mglru_require(o.bytes);
	memcg_create(&parent, NULL, "parent");
	scenario_create(&s, &o);
	scenario_populate(&s);
	age(&s);
	age(&s);
	min = s.r.pages / 2;
	err = memcg_write(&parent, "memory.min", "max");
	if (!err)
		err = memcg_write(&s.group.cg, "memory.min", "%llu",
				  (unsigned long long)(min * base_page()));
	if (err)
		mmg_broken("memory.min: %s", strerror(-err));
	mmg_doing("reclaiming all from the parent");
	err = bounded_reclaim(&parent, 2 * s.r.pages * base_page(), NULL, &took);
	left = memcg_read(&s.group.cg, "memory.current") / base_page();
	mmg_metric("min_pages", min);
	mmg_metric("left_pages", left);
	if (err != -EAGAIN || left + 2 * BATCH < min)
		mmg_fail("reclaim left %llu pages to a VM with memory.min of %llu (%s)",
			 (unsigned long long)left, (unsigned long long)min,
			 err ? strerror(-err) : "0");
	if (left > min + min / 4 + lag())
		mmg_fail("reclaim left %llu pages to a VM, only %llu are protected",
			 (unsigned long long)left, (unsigned long long)min);
	mmg_pass("reclaim left %llu pages, memory.min is %llu", (unsigned long long)left,
		 (unsigned long long)min);
}

/* --- signals ---------------------------------------------------------------------------- */

static int ticks;

static void on_tick(int sig)
{
	(void)sig;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

/* More than there is: a kernel that is deaf to signals ends with EAGAIN */
static void signal_case(const struct mmg_case *c)
{
	static const struct params p = { .backing = BACK_ANON };
	struct sigaction sa = { .sa_handler = on_tick };
	const struct itimerval every = { { 0, 5000 }, { 0, 5000 } }, never = { };
	static struct scenario s;
	double start, took;
	u64 gone;
	int err;

	(void)c;
	set_up_cold(&s, &p, bytes_of(&p));
	sigaction(SIGALRM, &sa, NULL);
	mmg_doing("reclaiming while a signal comes every 5 ms");
	start = seconds();
	setitimer(ITIMER_REAL, &every, NULL);
	err = memcg_reclaim(&s.group.cg, 4 * bytes_of(&p), NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	took = seconds() - start;
	gone = s.r.units - region_read(&s.r);
	mmg_metric("interrupted_after_s", took);
	mmg_metric("gone", gone);
	if (!ticks)
		mmg_broken("no signal came in %.3f s", took);
	if (err != -EINTR)
		mmg_fail("memory.reclaim: %s after %d signals in %.3f s instead of EINTR",
			 err ? strerror(-err) : "0", ticks, took);
	mmg_pass("a signal ended memory.reclaim with EINTR after %.3f s and %llu pages", took,
		 (unsigned long long)gone);
}

/* --- a node's reclaim file ---------------------------------------------------------------- */

static u64 all_steal(void)
{
	static struct vmstat v;

	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	return vmstat_sum(&v, "pgsteal_") - vmstat_get(&v, "pgsteal_anon") -
		vmstat_get(&v, "pgsteal_file");
}

static int reclaim_node(int nid, u64 bytes)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/reclaim", nid);
	return mmg_try_write(path, "%llu swappiness=200", (unsigned long long)bytes);
}

static void free_ratio(const char *path)
{
	mmg_save_setting(path);
	mmg_write_setting(path, "0");
}

/* Page cache of a node that reclaim can take, in pages */
static u64 node_cache(int node)
{
	static struct vmstat v;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
	if (vmstat_read(path, &v))
		mmg_broken("reading %s failed", path);
	return vmstat_get(&v, "nr_active_file") + vmstat_get(&v, "nr_inactive_file");
}

#define NODE_EVENT	"vmscan/mm_vmscan_node_reclaim_end"

/*
 * What the kernel counted towards a node's request, pages and slab alike: the sum of
 * nr_reclaimed over the event, which is recorded since trace_start().
 */
static u64 traced_reclaim(void)
{
	char *text = trace_stop(), *at = text;
	u64 sum = 0;

	if (!text || trace_lost() > 0)
		mmg_broken("events of %s were lost", NODE_EVENT);
	while ((at = strstr(at, "nr_reclaimed="))) {
		at += strlen("nr_reclaimed=");
		sum += strtoull(at, NULL, 10);
	}
	free(text);
	return sum;
}

/* Pages that @n requests for @asked may take of the VM at most */
static u64 due(const struct scenario *s, u64 asked, int n)
{
	return asked * n < s->r.units ? asked * n : s->r.units;
}

static void node_case(const struct mmg_case *c)
{
	static const struct params p = { .backing = BACK_ANON };
	static struct scenario s;
	u64 stolen, asked, gone, cache, counted;
	int err, home, other, i;

	(void)c;
	if (access("/sys/devices/system/node/node0/reclaim", F_OK))
		mmg_skip("no /sys/devices/system/node/node0/reclaim (from 6.17 on, CONFIG_NUMA)");
	if (!trace_has(NODE_EVENT))
		mmg_skip("no tracepoint %s (tracefs, CONFIG_NUMA): what was counted cannot be seen",
			 NODE_EVENT);
	set_up_cold(&s, &p, bytes_of(&p));
	/* else a node with little page cache and slab is not reclaimed at all */
	free_ratio("/proc/sys/vm/min_unmapped_ratio");
	free_ratio("/proc/sys/vm/min_slab_ratio");
	home = s.r.nid < 0 ? 0 : s.r.nid;
	other = !home;
	asked = s.r.pages / 4;
	/* other memory of the node is as good to it as the VM's pages */
	cache = node_cache(home);
	if (cache > asked)
		mmg_skip("node %d has %llu pages of page cache beside the VM: run it in a VM alone",
			 home, (unsigned long long)cache);
	if (s.r.nid >= 0) {
		mmg_doing("reclaiming from node %d", other);
		err = reclaim_node(other, MIB);
		if (err && err != -EAGAIN)
			mmg_fail("reclaim of node %d: %s", other, strerror(-err));
		gone = s.r.units - region_read(&s.r);
		if (gone)
			mmg_fail("reclaim of node %d took %llu pages of a VM on node %d", other,
				 (unsigned long long)gone, home);
	}
	mmg_doing("reclaiming from node %d", home);
	err = trace_start(NODE_EVENT, 512);
	if (err)
		mmg_broken("recording %s: %s", NODE_EVENT, strerror(-err));
	stolen = all_steal();
	err = reclaim_node(home, asked * base_page());
	stolen = all_steal() - stolen;
	counted = traced_reclaim();
	gone = s.r.units - region_read(&s.r);
	mmg_metric("counted", counted);
	mmg_metric("stolen", stolen);
	mmg_metric("gone", gone);
	if (err && err != -EAGAIN)
		mmg_fail("reclaim of node %d: %s", home, strerror(-err));
	if (err ? counted >= asked : counted < asked)
		mmg_fail("reclaim of node %d said %s: it counted %llu pages, %llu asked for", home,
			 err ? "EAGAIN" : "0", (unsigned long long)counted,
			 (unsigned long long)asked);
	/* slab that went is counted, too (flush_reclaim_state()): 7 of 1021 pages were */
	if (stolen + BATCH < counted)
		mmg_fail("reclaim of node %d counted %llu pages: pgsteal says %llu", home,
			 (unsigned long long)counted, (unsigned long long)stolen);
	/*
	 * shrink_many() begins with any group, so the VM's turn comes, if not at once.
	 * What is not the VM's is little (see cache): half of all that was asked is its.
	 */
	for (i = 0; i < NODE_TRIES && gone * 2 < due(&s, asked, 1 + i); i++) {
		reclaim_node(home, asked * base_page());
		gone = s.r.units - region_read(&s.r);
	}
	mmg_metric("more_requests", i);
	if (gone * 2 < due(&s, asked, 1 + i))
		mmg_fail("node %d: %d requests for %llu pages took %llu of the cold VM there",
			 home, 1 + i, (unsigned long long)asked, (unsigned long long)gone);
	if (stolen > 2 * asked + 4 * BATCH)
		mmg_fail("reclaim of node %d took %llu pages, %llu were asked for", home,
			 (unsigned long long)stolen, (unsigned long long)asked);
	mmg_pass("reclaim of node %d: %s, %llu pages for %llu asked, %llu of them the VM's", home,
		 err ? strerror(-err) : "0", (unsigned long long)stolen,
		 (unsigned long long)asked, (unsigned long long)gone);
}

static const struct params guest_4k = { .backing = BACK_ANON };
static const struct params guest_thp = { .backing = BACK_THP };
static const struct params guest_shmem = { .backing = BACK_SHMEM };
static const struct params host_4k = { .backing = BACK_ANON, .host = true };

#define SWAPPINESS(name_, ...) { .name = name_, .fn = swappiness_case, \
	.arg = &(const struct swappiness){ __VA_ARGS__ } }

/* Swapping on a busy host without KVM hardware: far beyond the second it takes else */
#define SLOW(name_, ...) { .name = name_, .timeout_s = 120, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("hot-kept-4k", .fn = hot_case, .arg = &guest_4k),
	SLOW("hot-kept-thp", .fn = hot_case, .arg = &guest_thp),
	SLOW("host-hot-kept-4k", .fn = hot_case, .arg = &host_4k),
	SLOW("bytes-4k", .fn = bytes_case, .arg = &guest_4k),
	SLOW("bytes-thp", .fn = bytes_case, .arg = &guest_thp),
	SLOW("bytes-shmem", .fn = bytes_case, .arg = &guest_shmem),
	SLOW("eagain", .fn = eagain_case, .arg = &guest_4k),
	{ .name = "refused", .fn = refused_case },
	SWAPPINESS("swappiness-0", .value = "0", .expect = FILE_ONLY),
	SWAPPINESS("swappiness-1", .value = "1", .expect = FILE_FIRST),
	SWAPPINESS("swappiness-200", .value = "200", .expect = ANON_FIRST),
	SWAPPINESS("swappiness-max", .value = "max", .expect = ANON_ONLY),
	SWAPPINESS("vm-swappiness-0", .sysctl = "0", .expect = FILE_ONLY),
	SWAPPINESS("vm-swappiness-200", .sysctl = "200", .expect = ANON_FIRST),
	SLOW("siblings", .fn = siblings_case),
	SLOW("siblings-nested", .fn = siblings_case, .arg = &guest_4k),
	SLOW("parent-cold-first", .fn = parent_case),
	SLOW("parent-cold-second", .fn = parent_case, .arg = &guest_4k),
	SLOW("low", .fn = protection_case, .arg = "memory.low"),
	SLOW("min", .fn = protection_case, .arg = "memory.min"),
	SLOW("min-partial", .fn = partial_min_case),
	SLOW("signal", .fn = signal_case),
	{ .name = "node-reclaim", .fn = node_case, .destructive = true },
};

static const struct mmg_test test = {
	.name = "kvm/proactive_reclaim",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
