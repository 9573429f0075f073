// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: workload: which pages are in memory, asked in bulk and page by page
 * mmgate-machines: bench-large
 * mmgate-timeout: 260
 *
 * A benchmark: it measures and never fails.  Upstream's access tracking test
 * reads /proc/self/pagemap with one pread() a page; selftests/lib/residency.c asks for
 * the whole region at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "residency.h"
#include "runner.h"
#include "work.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define ROUNDS	3
#define SAMPLE	16384		/* pages asked one by one; more would only take longer */
#define PRESENT	0x8000000000000000ull

struct region {
	u8 *addr, *present;
	size_t pages;
};

static size_t sample(const struct region *r)
{
	return r->pages < SAMPLE ? r->pages : SAMPLE;
}

static int by_scan(const struct region *r)
{
	return residency_scan(r->addr, r->pages, r->present);
}

static int by_pagemap(const struct region *r)
{
	return residency_pagemap(r->addr, r->pages, r->present);
}

static int by_page(const struct region *r)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	long page = sysconf(_SC_PAGESIZE);
	size_t i;
	u64 entry;

	if (fd < 0)
		return -errno;
	for (i = 0; i < sample(r); i++) {
		off_t at = ((unsigned long)r->addr / page + i) * sizeof(entry);

		if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
			break;
		r->present[i] = !!(entry & PRESENT);
	}
	close(fd);
	return i == sample(r) ? 0 : -EIO;
}

/* The fastest of some rounds in ns a page, or 0 where the kernel has no such call */
static double measure(const struct region *r, int (*ask)(const struct region *r), const char *name,
		      int rounds)
{
	size_t pages = ask == by_page ? sample(r) : r->pages;
	double best = 0;
	size_t i, there;
	int n;

	mmg_doing("measuring %s", name);
	for (n = 0; n < rounds; n++) {
		double start = work_now(), ns;

		memset(r->present, 0, r->pages);
		if (ask(r))
			return 0;
		ns = (work_now() - start) * 1e9 / pages;
		best = n && best < ns ? best : ns;
		for (i = there = 0; i < pages; i++)
			there += r->present[i];
		if (there != pages)
			mmg_broken("%s saw %zu of %zu pages that were just touched", name, there,
				   pages);
	}
	mmg_metric(name, best);
	return best;
}

static void residency(const struct mmg_case *c)
{
	size_t bytes = *(const size_t *)c->arg, i;
	long page = sysconf(_SC_PAGESIZE);
	struct region r = { .pages = bytes / page };
	double scan, bulk, single;

	r.present = malloc(r.pages);
	r.addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!r.present || r.addr == MAP_FAILED)
		mmg_broken("no room for %zu bytes", bytes);
	madvise(r.addr, bytes, MADV_NOHUGEPAGE);
	mmg_doing("touching %zu pages", r.pages);
	if (madvise(r.addr, bytes, MADV_POPULATE_WRITE))	/* from 5.14 on */
		for (i = 0; i < r.pages; i++)
			r.addr[i * page] = 1;
	scan = measure(&r, by_scan, "scan_ns_per_page", ROUNDS);
	bulk = measure(&r, by_pagemap, "pagemap_ns_per_page", ROUNDS);
	single = measure(&r, by_page, "pread_ns_per_page", 1);
	mmg_metric("speedup", single / (scan ? scan : bulk));
	mmg_pass("%.1f ns a page by %s, %.1f by bulk pagemap, %.1f by a pread each",
		 scan ? scan : bulk, scan ? "PAGEMAP_SCAN" : "pagemap", bulk, single);
}

static const size_t small = 64 * MIB, large = 1024 * MIB;

static const struct mmg_case cases[] = {
	{ "64m", residency, &small, 60, false },
	{ "1g", residency, &large, 180, true },
};

static const struct mmg_test test = {
	.name = "bench/residency",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
