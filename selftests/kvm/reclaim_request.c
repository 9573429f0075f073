// SPDX-License-Identifier: GPL-2.0-only
#include "reclaim_request.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "vmstat.h"

#define BACK_IN_S	40	/* a reclaim not back by then does not come back */

double reclaim_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

size_t reclaim_page(void)
{
	return sysconf(_SC_PAGESIZE);
}

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

int bounded_reclaim(const struct memcg *cg, u64 bytes, const char *swappiness, double *took)
{
	static struct request q;
	struct timespec until;
	double start = reclaim_seconds();
	pthread_t t;

	q = (struct request){ .cg = cg, .bytes = bytes, .swappiness = swappiness };
	if (pthread_create(&t, NULL, reclaim_thread, &q))
		mmg_broken("starting a thread for memory.reclaim failed");
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += BACK_IN_S;
	if (pthread_timedjoin_np(t, NULL, &until))
		mmg_fail("memory.reclaim of %llu bytes did not come back in %d s",
			 (unsigned long long)bytes, BACK_IN_S);
	*took = reclaim_seconds() - start;
	return q.err;
}

/* What reclaim changes, in base pages */
struct counters {
	u64 current;		/* memory.current */
	u64 swap;		/* memory.swap.current */
	u64 steal;		/* pgsteal of memory.stat */
	u64 swpout;		/* pswpout, and swpout_zero where the kernel has it */
	u64 absent;		/* pages of the region */
};

static void read_counters(struct counters *b, const struct memcg *cg, struct region *r)
{
	static struct vmstat v;

	b->absent = (r->units - region_read(r)) * r->unit;
	b->current = memcg_read(cg, "memory.current") / reclaim_page();
	b->swap = memcg_read(cg, "memory.swap.current") / reclaim_page();
	b->steal = memcg_key(cg, "memory.stat", "pgsteal");
	if (vmstat_read("/proc/vmstat", &v))
		mmg_broken("reading /proc/vmstat failed");
	b->swpout = vmstat_get(&v, "pswpout");
	if (vmstat_has(&v, "swpout_zero"))
		b->swpout += vmstat_get(&v, "swpout_zero");
}

void take(struct scenario *s, u64 asked, const char *swappiness, struct taken *t)
{
	struct counters a, b;

	read_counters(&a, &s->group.cg, &s->r);
	memset(t, 0, sizeof(*t));
	t->asked = asked;
	t->err = bounded_reclaim(&s->group.cg, asked * reclaim_page(), swappiness, &t->s);
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

bool within(u64 a, u64 b, u64 slack)
{
	return a <= b + slack && b <= a + slack;
}

u64 lag(void)
{
	return BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
}

void judge_counters(const struct taken *t)
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

void judge_errno(const struct taken *t)
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

size_t cold_bytes(const struct cold_params *p)
{
	return p->backing == BACK_THP ? 32 * HUGE_SIZE : mmg_opts.mem_bytes / 2;
}

void reclaim_age(struct scenario *s)
{
	group_age(&s->group, true);
}

void set_up_cold(struct scenario *s, const struct cold_params *p, size_t bytes)
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
	reclaim_age(s);
	reclaim_age(s);
}
