// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: workload: random reads beside a device that can only use DMA32
 * mmgate-guards: Broken-by: 96a5c186efff ("mm/page_alloc.c: don't show protection in zone's ->lowmem_reserve[] for empty zone")
 * mmgate-machines: bench-randread bench-randread-fio
 * mmgate-needs: CONFIG_USB_EHCI_HCD CONFIG_USB_EHCI_PCI CONFIG_EXT4_FS CONFIG_LRU_GEN
 * mmgate-modules: ehci_pci
 * mmgate-timeout: 400
 *
 * A benchmark: it measures and never fails.  It is a node of hundreds of
 * GiB at scale: DMA32 is a small part of it, and the lowmem_reserve that the
 * default ratio gives keeps about half of DMA32 for those who can use nothing
 * else.  Page cache of random reads fills the node; a driver of a device with 32
 * address bits takes and gives back buffers (USB's, by mmap() of a root hub,
 * which is dma_alloc_coherent()).
 *
 * With the reserve the buffers come from free memory.  Without it page cache
 * fills DMA32 to its low watermark, each buffer below that wakes kswapd with
 * ZONE_DMA32 as the highest zone, and kswapd walks the node's whole LRU list past
 * Normal pages, which it may not take, to the few that lie in DMA32.
 * isolate_lru_folios() counts what it passes over as scanned; MGLRU keeps a
 * list for each zone and does not pass over anything.
 *
 * How it could mislead: buffers larger than the reserve wake kswapd on a good
 * kernel, too; the hold below stays a quarter of it.  So do boosted watermarks and long
 * lists of CPUs, and the kernel's own slabs, which aim at Normal and wake kswapd
 * before page cache reaches DMA32: all three are kept out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"
#include "work.h"
#include "zoneinfo.h"

#define FILE_NAME	"/mnt/data/randread"
#define PROGRAMS	"/mnt/data/programs"	/* of the host, machine key programs */
#define FIO		PROGRAMS "/fio"
#define FIO_LOADER	PROGRAMS "/ld-linux-x86-64.so.2"
#define FIO_ANSWER	"/tmp/fio.json"
#define USBFS_MB	"/sys/module/usbcore/parameters/usbfs_memory_mb"
#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define BOOST		"/proc/sys/vm/watermark_boost_factor"
#define PCP_FRACTION	"/proc/sys/vm/percpu_pagelist_high_fraction"
#define READ_BYTES	65536ul
#define READ_MIB	128
#define MAX_SECONDS	60.0
#define PACE_US		2000		/* an idle moment a read, as a disk would give */
#define BUFFERS_PER_MIB	15
#define MAX_HELD	256
#define DEFAULT_RATIO	256
#define DMA32_MIN	200		/* pages; its low watermark lies a quarter above */

struct param {
	int lru_gen;
	bool no_reserve;		/* ratio 0: what the bug does, on any kernel */
};

/* The device's buffers; @fd is its root hub */
struct device {
	int fd;
	long page;
	void *buf[MAX_HELD];
	unsigned int held, hold;
	unsigned long taken, refused;
};

struct zones {
	struct zi_zone dma32, normal;
};

static void read_zones(struct zones *z)
{
	const struct zi_zone *dma32, *normal, *movable;
	struct zoneinfo zi;
	char why[128];

	if (zoneinfo_read(&zi, why, sizeof(why)))
		mmg_broken("/proc/zoneinfo: %s", why);
	dma32 = zoneinfo_zone_named(&zi, 0, "DMA32");
	normal = zoneinfo_zone_named(&zi, 0, "Normal");
	movable = zoneinfo_zone_named(&zi, 0, "Movable");
	if (!dma32 || !dma32->managed || !normal || normal->managed < 4 * dma32->managed)
		mmg_skip("node 0 needs DMA32 small beside Normal: machine bench-randread");
	if (movable && movable->managed)
		mmg_skip("Movable is populated: nothing aims at an empty zone");
	z->dma32 = *dma32;
	z->normal = *normal;
	zoneinfo_free(&zi);
}

static void *take(struct device *d, unsigned int pages)
{
	return mmap(NULL, pages * d->page, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
}

static void give_back(struct device *d)
{
	while (d->held)
		munmap(d->buf[--d->held], d->page);
}

static void open_device(struct device *d)
{
	d->page = sysconf(_SC_PAGESIZE);
	d->fd = open("/dev/bus/usb/001/001", O_RDWR | O_CLOEXEC);
	if (d->fd < 0)
		mmg_skip("/dev/bus/usb/001/001: %s (an EHCI controller and its driver ehci_pci)",
			 strerror(errno));
	mmg_save_setting(USBFS_MB);
	mmg_write_setting(USBFS_MB, "512");
}

/*
 * Take DMA32 for good until only @keep pages are free: the zone's size, and so
 * the scale, then does not depend on how large the kernel's own image is.
 */
static unsigned long pin_dma32(struct device *d, unsigned long keep)
{
	unsigned long pinned = 0;
	struct zones z;

	for (read_zones(&z); z.dma32.free > keep + 8; read_zones(&z)) {
		unsigned int n = z.dma32.free > keep + 300 ? 64 : 4;

		if (take(d, n) == MAP_FAILED)
			break;
		pinned += n;
	}
	return pinned;
}

/*
 * The watermarks of a large node, in pages: between low and min there must be
 * room for kswapd to be in time, else direct reclaim does the scanning.
 */
static void set_watermarks(void)
{
	unsigned long pages;
	struct zones z;

	read_zones(&z);
	pages = DMA32_MIN * (z.dma32.managed + z.normal.managed) / z.dma32.managed;
	mmg_write_setting(MIN_FREE, "%lu", pages * (sysconf(_SC_PAGESIZE) / 1024));
	/*
	 * A slab that falls back into DMA32 boosts its marks by a pageblock and more
	 * (boost_watermark() in mm/page_alloc.c): half of a zone as small as this one, so
	 * the next buffer meets it below min with the whole reserve free.
	 */
	if (!access(BOOST, W_OK))
		mmg_write_setting(BOOST, "0");
}

/*
 * Lists of CPUs as short as the kernel lets them be.  Else each may keep an eighth of
 * DMA32 (zone_highsize() in mm/page_alloc.c, from 6.7 on), and together more than the
 * reserve: free pages then fall below the low mark on a good kernel, too.
 */
static void set_pcp(void)
{
	if (!access(PCP_FRACTION, W_OK))
		mmg_write_setting(PCP_FRACTION, "%d", 1000000);
}

static int open_file(size_t *bytes)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	int fd = open(FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	*bytes = 4 * (size_t)pages * sysconf(_SC_PAGESIZE) / READ_BYTES * READ_BYTES;
	if (fd < 0 || ftruncate(fd, *bytes))
		mmg_skip("%s: %s (a machine with a data disk)", FILE_NAME, strerror(errno));
	return fd;
}

static void read_at(int fd, void *buf, size_t n, off_t at)
{
	if (pread(fd, buf, n, at) != (ssize_t)n)
		mmg_broken("read of %zu bytes at %lld of %s: %s", n, (long long)at, FILE_NAME,
			   strerror(errno));
}

/*
 * Read a page of each 256 KiB: the page cache then has its nodes (64 slots) for the whole
 * file, and keeps them, for shadow entries
 */
static void make_nodes(int fd, size_t bytes)
{
	size_t at, step = 64 * sysconf(_SC_PAGESIZE);
	char c;

	mmg_doing("making nodes of the page cache");
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (at = 0; at < bytes; at += step)
		read_at(fd, &c, 1, at);
}

/* Fill memory with page cache, in order, since that is fast */
static void fill(int fd, size_t bytes)
{
	char *buf = malloc(MIB);
	struct zones z;
	size_t at;

	mmg_doing("filling memory with page cache");
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (at = 0; at + MIB <= bytes; at += MIB) {
		if (at % (8 * MIB) == 0) {
			read_zones(&z);
			if (z.normal.free < z.normal.low + z.normal.low / 8)
				break;
		}
		read_at(fd, buf, MIB, at);
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	free(buf);
}

/* One buffer more; all are given back when the driver holds as many as it wants */
static void use_device(struct device *d)
{
	void *p = take(d, 1);

	if (p == MAP_FAILED) {
		d->refused++;
		return;
	}
	d->buf[d->held++] = p;
	d->taken++;
	if (d->held == d->hold)
		give_back(d);
}

static double random_reads(int fd, size_t bytes, struct device *d)
{
	double end = work_now() + MAX_SECONDS, owed = 0, mib = 0;
	u64 seed = mmg_opts.seed;
	char *buf = malloc(READ_BYTES);

	mmg_doing("reading at random");
	while (mib < READ_MIB && work_now() < end) {
		read_at(fd, buf, READ_BYTES, mmg_rand(&seed) % (bytes / READ_BYTES) * READ_BYTES);
		mib += (double)READ_BYTES / MIB;
		for (owed += BUFFERS_PER_MIB * (double)READ_BYTES / MIB; owed >= 1; owed--)
			use_device(d);
		usleep(PACE_US);
	}
	free(buf);
	return mib;
}

static pid_t start_fio(size_t bytes)
{
	char size[48], seed[48];
	pid_t pid;

	snprintf(size, sizeof(size), "--size=%zu", bytes);
	snprintf(seed, sizeof(seed), "--randseed=%lu", (unsigned long)mmg_opts.seed);
	pid = fork();
	if (pid)
		return pid;
	/* what it finds in the page cache stays there, as under any reader */
	execl(FIO_LOADER, FIO_LOADER, "--library-path", PROGRAMS, FIO, "--name=randread",
	      "--filename=" FILE_NAME, "--rw=randread", "--bs=64k", "--ioengine=psync",
	      "--thread", "--io_size=128m", "--thinktime=2000", "--runtime=60",
	      "--invalidate=0", "--norandommap", "--allow_file_create=0",
	      "--output-format=json", "--output=" FIO_ANSWER, size, seed, NULL);
	_exit(127);
}

/* The number behind "@key" in the read part of fio's answer; broken where it is not there */
static double fio_number(const char *answer, const char *key)
{
	const char *read = strstr(answer, "\"read\" :"), *at = read ? strstr(read, key) : NULL;

	at = at ? strchr(at, ':') : NULL;
	if (!at)
		mmg_broken("fio's answer has no %s: %.60s", key, answer);
	return strtod(at + 1, NULL);
}

/* MiB of pages taken from the zones: what tells how far fio has come */
static double mib_taken(void)
{
	static struct vmstat v;

	work_vmstat(&v);
	return (vmstat_alloc(&v, "dma32") + vmstat_alloc(&v, "normal")) / 256.0;
}

/* fio reads, the driver follows: MiB that fio says it read */
static double fio_reads(size_t bytes, struct device *d)
{
	double end = work_now() + 2 * MAX_SECONDS, start = mib_taken(), mib;
	pid_t pid = start_fio(bytes);
	char *answer;
	int status;

	mmg_doing("fio reading at random");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (work_now() > end)
			kill(pid, SIGKILL);
		mib = mib_taken() - start;
		if (d->taken + d->refused < BUFFERS_PER_MIB * mib)
			use_device(d);
		usleep(PACE_US);
	}
	answer = mmg_read_file(FIO_ANSWER, NULL);
	unlink(FIO_ANSWER);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !answer)
		mmg_broken("fio ended with status %#x: %.60s", status,
			   answer ?: "it left no answer");
	mib = fio_number(answer, "\"io_bytes\"") / MIB;
	mmg_metric("fio_reads_per_s", fio_number(answer, "\"iops\""));
	free(answer);
	return mib;
}

static void report(const struct vmstat *a, const struct vmstat *b, double mib)
{
	static const char *const counters[] = {
		"pgsteal_kswapd", "pgsteal_direct", "pgskip_dma32", "pgskip_normal", "pgrefill",
		"pageoutrun", "allocstall_dma32", "allocstall_normal", "allocstall_movable",
		"kswapd_low_wmark_hit_quickly", "kswapd_high_wmark_hit_quickly", "pgalloc_dma32",
		"pgalloc_normal",
	};
	double kswapd = work_count(a, b, "pgscan_kswapd");
	double direct = work_count(a, b, "pgscan_direct");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		work_count(a, b, counters[i]);
	mmg_metric("read_mib", mib);
	mmg_metric("kswapd_scan_per_mib", kswapd / mib);
	mmg_metric("scan_per_mib", (kswapd + direct) / mib);
}

static void randread(const struct mmg_case *c)
{
	const struct param *p = c->arg;
	static struct vmstat before, after;
	static struct device d;
	unsigned long reserve, pinned;
	double cpu, start, mib;
	struct zones z;
	size_t bytes;
	int fd;

	if (mmg_try_write(LRU_GEN, "%d", p->lru_gen) && p->lru_gen)
		mmg_skip("%s: no MGLRU in this kernel (CONFIG_LRU_GEN)", LRU_GEN);
	mmg_write_setting(ZI_RATIO_PATH, p->no_reserve ? "0 0 0 0" : "%d %d 32 0", DEFAULT_RATIO,
			  DEFAULT_RATIO);
	if (mmg_try_write("/proc/sys/vm/drop_caches", "3"))
		mmg_broken("/proc/sys/vm/drop_caches cannot be written");
	set_watermarks();
	set_pcp();
	fd = open_file(&bytes);
	open_device(&d);
	read_zones(&z);
	/* what the zone should keep back, whatever this kernel makes of it */
	reserve = z.normal.managed / DEFAULT_RATIO;
	d.hold = reserve / 4 < MAX_HELD ? reserve / 4 : MAX_HELD;
	pinned = pin_dma32(&d, z.dma32.low + reserve + reserve / 8);
	make_nodes(fd, bytes);
	fill(fd, bytes);
	read_zones(&z);
	mmg_metric("dma32_free_filled", z.dma32.free);
	mmg_metric("dma32_low", z.dma32.low);
	mmg_metric("reserve_due", reserve);
	mmg_metric("pinned", pinned);
	cpu = work_cpu_of("kswapd");
	start = work_now();
	work_vmstat(&before);
	if (access(FIO, X_OK)) {
		mmg_info("no fio on the data disk: the workload's own reads");
		mib = random_reads(fd, bytes, &d);
	} else {
		mib = fio_reads(bytes, &d);
	}
	work_vmstat(&after);
	mmg_metric("kswapd_cpu_s", work_cpu_of("kswapd") - cpu);
	mmg_metric("mib_per_s", mib / (work_now() - start));
	mmg_metric("buffers", d.taken);
	mmg_metric("buffers_refused", d.refused);
	report(&before, &after, mib);
	mmg_pass("%.0f pages scanned by kswapd for %.0f MiB read: %.0f a MiB",
		 (double)vmstat_delta(&before, &after, "pgscan_kswapd"), mib,
		 vmstat_delta(&before, &after, "pgscan_kswapd") / mib);
}

static const struct param classic = { .lru_gen = 0 };
static const struct param mglru = { .lru_gen = 7 };
static const struct param classic_bare = { .lru_gen = 0, .no_reserve = true };
static const struct param mglru_bare = { .lru_gen = 7, .no_reserve = true };

static const struct mmg_case cases[] = {
	{ "classic", randread, &classic, 150, true },
	{ "mglru", randread, &mglru, 150, true },
	{ "classic-no-reserve", randread, &classic_bare, 150, true },
	{ "mglru-no-reserve", randread, &mglru_bare, 150, true },
};

static const char *const settings[] = {
	LRU_GEN, ZI_RATIO_PATH, MIN_FREE, BOOST, PCP_FRACTION, NULL
};

static const struct mmg_test test = {
	.name = "bench/randread",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
