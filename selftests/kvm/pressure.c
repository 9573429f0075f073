// SPDX-License-Identifier: GPL-2.0-only
#include "pressure.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "vmstat.h"
#include "zoneinfo.h"

#define MIN_FREE_KIB	2048
#define SMALL_FRACTION	1000000	/* of a zone for lists of CPUs: the least, 4 batches */
#define STEP_PAGES	64
#define BY_BASE_PAGES	8192	/* the last ones: huge pages may be hard to find then */
#define LOOK_NS		1000000
#define MAX_LOOKS	5000

enum { TAKE, TAKE_HUGE, GIVE_BACK };

/* Memory of the helper: ranges of addresses, locked from their start on */
struct hog {
	char *mem;
	size_t bytes;
	size_t held;
};

static struct hog hogs[2];	/* by base pages, and by huge ones, which are taken faster */

static void hog_create(struct hog *h, size_t bytes, int nid, int advice)
{
	h->bytes = bytes;
	h->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->mem == MAP_FAILED)
		mmg_broken("reserving %zu MiB of addresses: %s", bytes >> 20, strerror(errno));
	madvise(h->mem, bytes, advice);
	if (nid >= 0)
		region_bind(h->mem, bytes, nid);
}

static u64 hog_take(struct hog *h, size_t pages)
{
	size_t bytes = pages * sysconf(_SC_PAGESIZE);

	if (h->held + bytes > h->bytes || mlock(h->mem + h->held, bytes))
		return 0;
	h->held += bytes;
	return pages;
}

static void hog_give_back(struct hog *h)
{
	munlock(h->mem, h->held);
	madvise(h->mem, h->held, MADV_DONTNEED);
	h->held = 0;
}

static u64 hog_work(void *state, int cmd, u64 arg)
{
	struct hog *h = state;

	if (cmd != GIVE_BACK)
		return hog_take(&h[cmd], arg);
	hog_give_back(&h[TAKE]);
	hog_give_back(&h[TAKE_HUGE]);
	return 0;
}

/*
 * Free pages of a node that user memory can have before kswapd is woken: of each zone
 * those above its low watermark and its reserve
 */
static size_t free_above_low(int nid)
{
	struct zoneinfo zi;
	size_t sum = 0, i;
	char err[160];

	if (zoneinfo_read(&zi, err, sizeof(err)))
		mmg_broken("%s", err);
	for (i = 0; i < zi.nr_zones; i++) {
		const struct zi_zone *z = &zi.zones[i];
		unsigned long mark = z->low + (z->nr_protection ?
					       z->protection[z->nr_protection - 1] : 0);

		if ((nid < 0 || z->node == nid) && z->managed && z->free > mark)
			sum += z->free - mark;
	}
	zoneinfo_free(&zi);
	return sum;
}

/* The thread that reclaims node @nid; 0 where it is not to be seen */
static pid_t find_kswapd(int nid)
{
	char want[24], path[300], *comm;
	struct dirent *d;
	pid_t pid = 0;
	DIR *proc = opendir("/proc");

	snprintf(want, sizeof(want), "kswapd%d\n", nid < 0 ? 0 : nid);
	while (proc && !pid && (d = readdir(proc))) {
		if (d->d_name[0] < '0' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		comm = mmg_read_file(path, NULL);
		if (comm && !strcmp(comm, want))
			pid = atoi(d->d_name);
		free(comm);
	}
	if (proc)
		closedir(proc);
	return pid;
}

/*
 * kswapd_try_to_sleep() sleeps interruptibly, the waits within reclaim are
 * uninterruptible.  It naps for a tenth of a second first, and goes on by itself where
 * the node is not balanced by then: that turn is seen in a later look.
 *
 * The file stays open: an open() for each look wants slabs of a higher order on a debug
 * kernel, where KASAN's quarantine keeps what was freed.  There are no free pages of such
 * an order at the low mark, so that the looking itself would reclaim.
 */
static bool kswapd_asleep(const struct pressure *p)
{
	char text[256], *state;
	ssize_t n = pread(p->kswapd_stat, text, sizeof(text) - 1, 0);

	if (n <= 0)
		mmg_broken("reading /proc/%d/stat: %s", p->kswapd,
			   n ? strerror(errno) : "it is empty");
	text[n] = 0;
	state = strrchr(text, ')');
	return state && !strncmp(state, ") S", strlen(") S"));
}

static void set(const char *path, const char *value)
{
	mmg_save_setting(path);
	if (!access(path, W_OK))
		mmg_write_setting(path, "%s", value);
}

void pressure_start(struct pressure *p, int nid)
{
	size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), i;
	char text[16], path[64];

	memset(p, 0, sizeof(*p));
	p->nid = nid;
	p->kswapd = find_kswapd(nid);
	if (!p->kswapd)
		mmg_skip("kswapd%d is not to be seen in /proc: run it in the first PID namespace",
			 nid < 0 ? 0 : nid);
	snprintf(path, sizeof(path), "/proc/%d/stat", p->kswapd);
	p->kswapd_stat = open(path, O_RDONLY | O_CLOEXEC);
	if (p->kswapd_stat < 0)
		mmg_broken("opening %s: %s", path, strerror(errno));
	snprintf(text, sizeof(text), "%d", MIN_FREE_KIB);
	set(PRESSURE_MIN_FREE, text);
	set(PRESSURE_SCALE, "10");
	set(PRESSURE_BOOST, "0");
	snprintf(text, sizeof(text), "%d", SMALL_FRACTION);
	set(PRESSURE_PCP, text);
	hog_create(&hogs[TAKE], all, nid, MADV_NOHUGEPAGE);
	hog_create(&hogs[TAKE_HUGE], all, nid, MADV_HUGEPAGE);
	worker_start(&p->w, hog_work, hogs);
	for (i = 0; i < ARRAY_SIZE(hogs); i++)
		munmap(hogs[i].mem, hogs[i].bytes);
}

static bool take(struct pressure *p, int how, size_t pages)
{
	if (p->held + pages > p->limit)
		return false;
	if (worker_call(&p->w, how, pages) != pages)
		mmg_broken("locking %zu pages after %zu was refused: ulimit -l?", pages, p->held);
	p->held += pages;
	return true;
}

void pressure_fill(struct pressure *p, size_t extra)
{
	size_t huge = HUGE_SIZE / sysconf(_SC_PAGESIZE), above = free_above_low(p->nid), part;

	p->limit = above + extra;
	/* in parts, since the counters of zones lag behind */
	while (above > 2 * BY_BASE_PAGES) {
		part = (above - BY_BASE_PAGES) / 2 / huge * huge;
		if (!take(p, TAKE_HUGE, part ? part : huge))
			return;
		above = free_above_low(p->nid);
	}
	while (above > 4 * STEP_PAGES && take(p, TAKE, above - 2 * STEP_PAGES))
		above = free_above_low(p->nid);
}

bool pressure_step(struct pressure *p)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };
	int looks;

	if (!take(p, TAKE, STEP_PAGES))
		return false;
	/* not woken: the next step will; there is no event for its falling asleep */
	for (looks = 0; looks < MAX_LOOKS && !kswapd_asleep(p); looks++)
		nanosleep(&nap, NULL);
	return true;
}

size_t pressure_left(const struct pressure *p)
{
	return free_above_low(p->nid);
}

void pressure_release(struct pressure *p)
{
	worker_call(&p->w, GIVE_BACK, 0);
	p->held = 0;
}
