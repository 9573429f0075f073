// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "residency.h"
#include "runner.h"

/* bit of a pagemap entry: Documentation/admin-guide/mm/pagemap.rst */
#define PM_PRESENT	0x8000000000000000ULL
#define ZSWAP		"/sys/module/zswap/parameters/enabled"
#define DEMOTION	"/sys/kernel/mm/numa/demotion_enabled"
#define PM_BATCH	2048

/*
 * PAGEMAP_SCAN as include/uapi/linux/fs.h has it from 6.7 on: written out here,
 * since the headers may be older than the kernel under test.
 */
struct scan_region {
	u64 start;
	u64 end;
	u64 categories;
};

struct scan_arg {
	u64 size;
	u64 flags;
	u64 start;
	u64 end;
	u64 walk_end;
	u64 vec;
	u64 vec_len;
	u64 max_pages;
	u64 category_inverted;
	u64 category_mask;
	u64 category_anyof_mask;
	u64 return_mask;
};

#define SCAN_IOCTL	_IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT	0x8ULL
#define SCAN_BATCH	512

static size_t page_size(void)
{
	static size_t size;

	if (!size)
		size = sysconf(_SC_PAGESIZE);
	return size;
}

static int pagemap_fd(void)
{
	static int fd = -1;
	static pid_t owner;

	/* a forked child must not ask about its parent's memory */
	if (fd >= 0 && owner != getpid()) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
		owner = getpid();
	}
	return fd < 0 ? -errno : fd;
}

int residency_pagemap(const void *addr, size_t pages, u8 *present)
{
	static u64 entry[PM_BATCH];
	u64 first = (uintptr_t)addr / page_size();
	int fd = pagemap_fd();
	size_t done, i;

	if (fd < 0)
		return fd;
	for (done = 0; done < pages;) {
		size_t want = pages - done < PM_BATCH ? pages - done : PM_BATCH;
		ssize_t n = pread(fd, entry, want * 8, (first + done) * 8);

		if (n < 8)
			return n < 0 ? -errno : -EIO;
		for (i = 0; i < (size_t)n / 8; i++)
			present[done + i] = !!(entry[i] & PM_PRESENT);
		done += n / 8;
	}
	return 0;
}

int residency_scan(const void *addr, size_t pages, u8 *present)
{
	static struct scan_region region[SCAN_BATCH];
	u64 start = (uintptr_t)addr, at = start, end = start + pages * page_size();
	int fd = pagemap_fd();
	long n, i;

	if (fd < 0)
		return fd;
	memset(present, 0, pages);
	while (at < end) {
		struct scan_arg arg = {
			.size = sizeof(arg), .start = at, .end = end,
			.vec = (uintptr_t)region, .vec_len = SCAN_BATCH,
			.category_mask = SCAN_PRESENT, .return_mask = SCAN_PRESENT,
		};

		n = ioctl(fd, SCAN_IOCTL, &arg);
		if (n < 0)
			return -errno;
		for (i = 0; i < n; i++)
			memset(present + (region[i].start - start) / page_size(), 1,
			       (region[i].end - region[i].start) / page_size());
		if (arg.walk_end <= at)
			return -EIO;
		at = arg.walk_end;
	}
	return 0;
}

/* Shared memory: a page that mincore finds in the page cache is still there */
static int add_cached(const void *addr, size_t pages, u8 *present)
{
	unsigned char *vec = malloc(pages);
	size_t i;

	if (!vec)
		return -ENOMEM;
	if (mincore((void *)addr, pages * page_size(), vec)) {
		free(vec);
		return -errno;
	}
	for (i = 0; i < pages; i++)
		present[i] |= vec[i] & 1;
	free(vec);
	return 0;
}

size_t residency_read(const void *addr, size_t pages, enum residency_kind kind, u8 *present)
{
	static bool no_scan;
	int err = -ENOTTY;
	size_t i, n = 0;

	if (!no_scan)
		err = residency_scan(addr, pages, present);
	if (err == -ENOTTY || err == -EINVAL) {
		no_scan = true;
		err = residency_pagemap(addr, pages, present);
	}
	if (err)
		mmg_broken("reading /proc/self/pagemap for %zu pages: %s", pages, strerror(-err));
	if (kind == RESIDENCY_SHARED) {
		err = add_cached(addr, pages, present);
		if (err)
			mmg_broken("mincore of %zu pages: %s", pages, strerror(-err));
	}
	for (i = 0; i < pages; i++)
		n += present[i];
	return n;
}

size_t residency_huge_bytes(const void *addr)
{
	static const char *const keys[] = { "AnonHugePages:", "ShmemPmdMapped:",
					    "FilePmdMapped:" };
	char *text = mmg_read_file("/proc/self/smaps", NULL), *line, *save = NULL;
	size_t kib = 0, i;
	bool ours = false;

	if (!text)
		mmg_broken("reading /proc/self/smaps: %s", strerror(errno));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			ours = start <= (uintptr_t)addr && (uintptr_t)addr < end;
		for (i = 0; ours && i < ARRAY_SIZE(keys); i++) {
			if (!strncmp(line, keys[i], strlen(keys[i])))
				kib += strtoul(line + strlen(keys[i]), NULL, 10);
		}
	}
	free(text);
	return kib * 1024;
}

long residency_on_node(void *addr, size_t pages, size_t stride, int nid)
{
	void *page[512];
	int status[512];
	long on = 0;
	size_t at = 0;

	while (at < pages) {
		size_t n, i;

		for (n = 0; n < ARRAY_SIZE(page) && at < pages; n++, at += stride)
			page[n] = (char *)addr + at * page_size();
		if (syscall(SYS_move_pages, 0, n, page, NULL, status, 0))
			return -errno;
		for (i = 0; i < n; i++)
			on += status[i] == nid;
	}
	return on;
}

u64 swap_free_bytes(void)
{
	char *text = mmg_read_file("/proc/meminfo", NULL), *p;
	u64 kib = 0;

	p = text ? strstr(text, "SwapFree:") : NULL;
	if (p)
		kib = strtoull(p + strlen("SwapFree:"), NULL, 10);
	free(text);
	return kib * 1024;
}

/* Is a switch of /sys on ("Y", "1", "true")? */
static bool switched_on(const char *path)
{
	char *text = mmg_read_file(path, NULL);
	bool on = text && strchr("Yy1t", text[0]);

	free(text);
	return on;
}

void swap_require(u64 bytes)
{
	u64 free_bytes = swap_free_bytes();

	if (free_bytes < bytes)
		mmg_skip("%llu MiB of swap free, the experiment evicts up to %llu MiB: add swap",
			 (unsigned long long)free_bytes >> 20, (unsigned long long)bytes >> 20);
	if (switched_on(ZSWAP))
		mmg_skip("zswap keeps evicted pages in memory: echo 0 > %s", ZSWAP);
	if (switched_on(DEMOTION))
		mmg_skip("reclaim demotes to another memory tier: echo 0 > %s", DEMOTION);
}

bool swap_writes_later(void)
{
	char *text = mmg_read_file("/proc/swaps", NULL), *line;
	bool later = false;

	for (line = text; line && (line = strchr(line, '\n')); ) {
		line++;
		later |= *line && strncmp(line, "/dev/zram", strlen("/dev/zram"));
	}
	free(text);
	return later;
}
