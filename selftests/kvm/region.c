// SPDX-License-Identifier: GPL-2.0-only
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "residency.h"
#include "runner.h"

static size_t base_page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/*
 * The kernel says it where it has huge pages.  Else: a table of pointers fills a page, but on
 * powerpc, whose radix tables have their own sizes (asm/book3s/64/radix.h).
 */
size_t region_huge_size(void)
{
	static size_t size;
	char *text;

	if (size)
		return size;
	text = mmg_read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", NULL);
	if (text)
		size = strtoull(text, NULL, 10);
	free(text);
	if (!size)
#ifdef __powerpc64__
		size = 2UL << 20;
#else
		size = base_page() / 8 * base_page();
#endif
	return size;
}

/* Huge pages of 32 or 512 MiB are too many for a small machine */
static void require_room(size_t bytes)
{
	char *text = mmg_read_file("/proc/meminfo", NULL), *p;
	u64 avail = 0;

	p = text ? strstr(text, "MemAvailable:") : NULL;
	if (p)
		avail = strtoull(p + strlen("MemAvailable:"), NULL, 10) << 10;
	free(text);
	if (p && bytes > avail / 2)
		mmg_skip("a huge page is %zu MiB here: %zu of them do not fit into half of %llu MiB",
			 HUGE_SIZE >> 20, bytes / HUGE_SIZE, (unsigned long long)avail >> 20);
}

/*
 * An address range of @bytes at @offset from a 2M boundary, with unmapped
 * neighbours, so that the mapping put there is never merged with another.
 */
static char *reserve(size_t bytes, size_t offset)
{
	size_t room = bytes + 4 * HUGE_SIZE;
	char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		mmg_broken("reserving %zu bytes of addresses: %s", room, strerror(errno));
	p += 2 * HUGE_SIZE - 1;
	return (char *)((uintptr_t)p & ~(HUGE_SIZE - 1)) + offset;
}

/* A file of its own on a real filesystem, already removed, filled and written out */
static int make_file(size_t bytes)
{
	static const char *const dirs[] = { "/mnt/data", "/var/tmp" };
	char path[64], *block = calloc(1, 1 << 20);
	size_t i, done;
	int fd = -1;

	for (i = 0; i < ARRAY_SIZE(dirs) && fd < 0; i++) {
		struct statfs fs;

		/* tmpfs, ramfs, overlayfs: no page cache of a disk */
		if (statfs(dirs[i], &fs) || fs.f_type == 0x01021994 ||
		    fs.f_type == 0x858458f6 || fs.f_type == 0x794c7630)
			continue;
		snprintf(path, sizeof(path), "%s/mmgate.XXXXXX", dirs[i]);
		fd = mkstemp(path);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		mmg_skip("no disk filesystem on /mnt/data (machine data-disk) or /var/tmp");
	for (done = 0; done < bytes; done += 1 << 20) {
		if (write(fd, block, 1 << 20) != 1 << 20)
			mmg_skip("writing a file of %zu MiB: %s", bytes >> 20, strerror(errno));
	}
	free(block);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

/*
 * Changing the protection of more pages than any architecture flushes one by one
 * makes the kernel flush the whole TLB of this process.
 */
void flush_own_tlb(void)
{
	static char *p;
	size_t bytes = 600 * base_page(), i;

	if (!p) {
		/* shared: a forked helper must not be charged for copies */
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			mmg_broken("mmap: %s", strerror(errno));
		madvise(p, bytes, MADV_NOHUGEPAGE);
	}
	for (i = 0; i < bytes; i += base_page())
		TOUCH_WRITE(p + i, 1);
	mprotect(p, bytes, PROT_READ);
	mprotect(p, bytes, PROT_READ | PROT_WRITE);
}

static void map_region(struct region *r, size_t bytes)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_FIXED;
	void *p;

	switch (r->backing) {
	case BACK_SHMEM:
		flags |= MAP_SHARED | MAP_ANONYMOUS;
		break;
	case BACK_FILE:
		flags |= MAP_SHARED;
		r->fd = make_file(bytes);
		break;
	case BACK_HUGETLB:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
		break;
	default:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	}
	p = mmap(r->mem, bytes, prot, flags, r->fd, 0);
	if (p == MAP_FAILED && r->backing == BACK_HUGETLB)
		mmg_skip("%zu MiB of huge pages: %s: vm.nr_hugepages", bytes >> 20,
			 strerror(errno));
	if (p == MAP_FAILED)
		mmg_broken("mapping %zu bytes: %s", bytes, strerror(errno));
}

/* Free bytes of a node, 0 where it has no memory */
static u64 node_free(int nid)
{
	char path[80], *text, *p;
	u64 kib = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", nid);
	text = mmg_read_file(path, NULL);
	p = text ? strstr(text, "MemFree:") : NULL;
	if (p)
		kib = strtoull(p + strlen("MemFree:"), NULL, 10);
	free(text);
	return kib * 1024;
}

int region_node(void)
{
	static int best = -2;
	int nid, nodes = 0;
	u64 most = 0, have;

	/* once: the regions of one case, and of its helpers, belong together */
	if (best != -2)
		return best;
	for (nid = 0; nid < 64; nid++) {
		have = node_free(nid);
		nodes += have > 0;
		if (have >= most && have) {
			most = have;
			best = nid;
		}
	}
	if (nodes < 2)
		best = -1;
	return best;
}

void region_bind(void *mem, size_t bytes, int nid)
{
	unsigned long mask[16] = { };

	mask[nid / 64] = 1UL << (nid % 64);
	if (syscall(SYS_mbind, mem, bytes, 2 /* MPOL_BIND */, mask, 1024UL, 0UL))
		mmg_broken("binding %zu bytes to node %d: %s", bytes, nid, strerror(errno));
}

static void advise_thp(struct region *r, size_t bytes)
{
	int advice = r->backing == BACK_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;

	if (r->backing == BACK_HUGETLB || r->backing == BACK_FILE)
		return;
	if (madvise(r->mem, bytes, advice) && r->backing == BACK_THP)
		mmg_skip("this kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)");
}

void region_create(struct region *r, enum backing kind, size_t bytes, size_t offset_pages)
{
	bool huge = kind == BACK_THP || kind == BACK_HUGETLB;

	memset(r, 0, sizeof(*r));
	r->backing = kind;
	r->fd = -1;
	r->page_size = base_page();
	if (huge)
		bytes = (bytes + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	if (huge && HUGE_SIZE > 2UL << 20)
		require_room(bytes);
	r->pages = bytes / r->page_size;
	r->unit = huge ? HUGE_SIZE / r->page_size : 1;
	r->units = r->pages / r->unit;
	r->present = calloc(1, r->units);
	r->scratch = calloc(1, r->pages);
	/* its pages are to be charged here and now, not to the experiment's group */
	flush_own_tlb();
	r->mem = reserve(bytes, offset_pages * r->page_size);
	if (!r->present || !r->scratch)
		mmg_broken("no memory for %zu pages", r->pages);
	map_region(r, bytes);
	advise_thp(r, bytes);
	/* reclaim goes through the nodes one by one: the order is within one of them */
	r->nid = kind == BACK_FILE || kind == BACK_HUGETLB ? -1 : region_node();
	if (r->nid >= 0)
		region_bind(r->mem, bytes, r->nid);
}

void region_destroy(struct region *r)
{
	munmap(r->mem, r->pages * r->page_size);
	if (r->fd >= 0)
		close(r->fd);
	free(r->present);
	free(r->scratch);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

size_t region_read(struct region *r)
{
	bool shared = r->backing == BACK_SHMEM || r->backing == BACK_FILE;
	size_t i, n = 0;

	residency_read(r->mem, r->pages, shared ? RESIDENCY_SHARED : RESIDENCY_ANON, r->scratch);
	for (i = 0; i < r->units; i++) {
		r->present[i] = r->scratch[i * r->unit];
		n += r->present[i];
	}
	return n;
}

static void check_node(const struct region *r)
{
	size_t n = (r->pages + r->unit - 1) / r->unit;
	long on;

	if (r->nid < 0)
		return;
	on = residency_on_node(r->mem, r->pages, r->unit, r->nid);
	if (on != (long)n)
		mmg_broken("precondition: %ld of %zu units are on node %d", on, n, r->nid);
}

void region_check_resident(struct region *r)
{
	size_t n = region_read(r), huge;

	if (n != r->units)
		mmg_broken("precondition: %zu of %zu units are in memory after all were touched",
			   n, r->units);
	huge = residency_huge_bytes(r->mem);
	if (r->backing == BACK_THP && huge != r->pages * r->page_size)
		mmg_broken("precondition: %zu of %zu MiB are mapped by huge pages", huge >> 20,
			   r->pages * r->page_size >> 20);
	check_node(r);
	if (r->backing != BACK_THP && r->backing != BACK_HUGETLB && huge && r->unit == 1)
		mmg_broken("precondition: %zu MiB are mapped by huge pages, none was asked for",
			   huge >> 20);
}

void region_touch(struct region *r, const u32 *list, size_t n, bool write)
{
	size_t stride = r->unit * r->page_size, i;

	flush_own_tlb();
	for (i = 0; i < n; i++) {
		if (write)
			TOUCH_WRITE(r->mem + list[i] * stride, list[i]);
		else
			TOUCH_READ(r->mem + list[i] * stride);
	}
}

void region_fill(struct region *r, const u32 *list, size_t n, u64 key)
{
	size_t words = r->unit * r->page_size / 8, i, w;

	for (i = 0; i < n; i++) {
		u64 *p = (u64 *)r->mem + list[i] * words;

		for (w = 0; w < words; w++)
			p[w] = region_pattern(key, list[i], w);
	}
}

u64 region_check(const struct region *r, const u32 *list, size_t n, u64 key, u64 *first_bad)
{
	size_t words = r->unit * r->page_size / 8, i, w;
	u64 bad = 0;

	for (i = 0; i < n; i++) {
		const u64 *p = (const u64 *)r->mem + list[i] * words;

		for (w = 0; w < words; w++) {
			if (p[w] == region_pattern(key, list[i], w))
				continue;
			if (!bad++)
				*first_bad = list[i];
		}
	}
	return bad;
}
