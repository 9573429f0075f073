// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways to use memory up, a little at a time, and a quick one for the bulk of
 * it.  Every page gets the same contents, which zram stores in no memory at
 * all, so that swapping it out does not itself disturb the zones.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fill.h"
#include "mm_util.h"

#define DATA_DIR	"/mnt/data"
#define PIPE_BYTES	MIB

/* Filesystems whose page cache is the only copy, or no page cache at all */
static bool memory_filesystem(long type)
{
	return type == 0x01021994 ||		/* tmpfs */
	       type == 0x858458f6 ||		/* ramfs */
	       type == 0x794c7630;		/* overlayfs: ask its upper directory */
}

/**
 * fill_data_dir() - a directory on a real filesystem, where there is one
 * @dev:	its block device, empty where it has none
 * @size:	size of @dev
 *
 * Return: the directory, NULL where everything is in memory.
 */
const char *fill_data_dir(char *dev, size_t size)
{
	static const char * const dirs[] = { DATA_DIR, "/var/tmp", NULL };
	char line[512], from[200], on[200];
	struct statfs fs;
	FILE *mounts;
	int i;

	dev[0] = 0;
	for (i = 0; dirs[i]; i++)
		if (!statfs(dirs[i], &fs) && !memory_filesystem(fs.f_type) &&
		    !access(dirs[i], W_OK))
			break;
	if (!dirs[i])
		return NULL;
	mounts = fopen("/proc/self/mounts", "r");
	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%199s %199s", from, on) == 2 && !strcmp(on, dirs[i]) &&
		    from[0] == '/')
			snprintf(dev, size, "%s", from);
	if (mounts)
		fclose(mounts);
	return dirs[i];
}

static void start_mapping(struct fill *f)
{
	int flags = f->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	f->at = mmap(NULL, f->max, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, f->fd, 0);
	if (f->at == MAP_FAILED)
		mmg_broken("mapping %zu MiB: %s", f->max / MIB, strerror(errno));
	madvise(f->at, f->max, f->kind == FILL_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static void start_file(struct fill *f)
{
	char dev[200];
	const char *dir = fill_data_dir(dev, sizeof(dev));

	if (!dir)
		mmg_skip("no filesystem on a device; use a machine with a disk: small-zones");
	snprintf(f->path, sizeof(f->path), "%s/mmgate-fill.%d", dir, getpid());
	f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0)
		mmg_broken("creating %s: %s", f->path, strerror(errno));
	unlink(f->path);
	/* a hole is read without any I/O, but through the page cache */
	if (ftruncate(f->fd, f->max))
		mmg_broken("growing %s to %zu MiB: %s", f->path, f->max / MIB, strerror(errno));
}

static void start_blkdev(struct fill *f)
{
	char dev[200];
	off_t size;

	if (!fill_data_dir(dev, sizeof(dev)) || !dev[0])
		mmg_skip("no block device; use a machine with a disk, such as no-normal");
	f->fd = open(dev, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		mmg_broken("opening %s: %s", dev, strerror(errno));
	size = lseek(f->fd, 0, SEEK_END);
	if (size > 0 && (size_t)size < f->max)
		f->max = size;
}

/**
 * fill_start() - begin one, nothing used yet
 * @f:		filled
 * @kind:	what
 * @max:	how far it may grow, bytes; a block device is as long as it is
 *
 * Skips or breaks the case where it cannot be had.
 */
void fill_start(struct fill *f, enum fill_kind kind, size_t max)
{
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->max = max / (2 * MIB) * (2 * MIB);
	f->fd = -1;
	switch (kind) {
	case FILL_SHMEM:
		f->fd = memfd_create("mmgate-fill", MFD_CLOEXEC);
		if (f->fd < 0 || ftruncate(f->fd, f->max))
			mmg_broken("making a memfd of %zu MiB: %s", f->max / MIB, strerror(errno));
		start_mapping(f);
		break;
	case FILL_ANON:
	case FILL_THP:
		start_mapping(f);
		break;
	case FILL_FILE:
		start_file(f);
		break;
	case FILL_BLKDEV:
		start_blkdev(f);
		break;
	case FILL_PIPE:
		break;
	case FILL_SPLICE:
		f->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		if (f->fd < 0)
			mmg_skip("/dev/zero: %s", strerror(errno));
		break;
	}
}

static void more_mapping(struct fill *f, size_t bytes)
{
	unsigned long page = mm_page_size();
	size_t i;

	/* a store of 0 makes the page, and the compiler cannot know it is 0 already */
	for (i = 0; i < bytes; i += page)
		__atomic_store_n((unsigned long *)(f->at + f->used + i), 0, __ATOMIC_RELAXED);
}

/* Cold cache is read on; a second lap finds what is still there */
static void more_cache(struct fill *f, size_t bytes)
{
	static char buf[256 * 1024];
	size_t i;
	ssize_t n;

	for (i = 0; i < bytes; i += n) {
		n = pread(f->fd, buf, bytes - i < sizeof(buf) ? bytes - i : sizeof(buf),
			  f->used + i);
		if (n <= 0)
			mmg_broken("reading at %zu MiB: %s", (f->used + i) / MIB,
				   n ? strerror(errno) : "end of file");
	}
	f->reads += bytes;
}

/* copy_splice_read() of fs/splice.c asks for all the pages of a call at once */
static void splice_full(struct fill *f, int end)
{
	size_t done = 0;
	ssize_t n;

	while (done < PIPE_BYTES) {
		n = splice(f->fd, NULL, end, NULL, PIPE_BYTES - done, SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINVAL)
			mmg_skip("/dev/zero cannot be spliced: from 6.5 on");
		if (n <= 0)
			mmg_broken("splicing at %zu KiB of a pipe: %s", done / 1024,
				   n ? strerror(errno) : "nothing came");
		done += n;
	}
}

static void more_pipe(struct fill *f)
{
	static char buf[PIPE_BYTES];
	int ends[2];

	if (f->nr_pipes + 2 > (int)ARRAY_SIZE(f->pipes))
		mmg_broken("out of pipes at %zu MiB", f->used / MIB);
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		mmg_broken("making a pipe at %zu MiB: %s", f->used / MIB, strerror(errno));
	f->pipes[f->nr_pipes++] = ends[0];
	f->pipes[f->nr_pipes++] = ends[1];
	if (fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		mmg_broken("making a pipe of %lu bytes: %s", PIPE_BYTES, strerror(errno));
	if (f->kind == FILL_SPLICE)
		splice_full(f, ends[1]);
	else if (write(ends[1], buf, sizeof(buf)) < 0)
		mmg_broken("filling a pipe at %zu MiB: %s", f->used / MIB, strerror(errno));
}

/**
 * fill_more() - use more memory
 * @f:		as started
 * @bytes:	how much; a multiple of 1 MiB for pipes, of a page otherwise
 *
 * Return: bytes added, less than asked where it cannot grow further.
 */
size_t fill_more(struct fill *f, size_t bytes)
{
	size_t done;

	if (bytes > f->max - f->used)
		bytes = f->max - f->used;
	switch (f->kind) {
	case FILL_FILE:
	case FILL_BLKDEV:
		more_cache(f, bytes);
		break;
	case FILL_PIPE:
	case FILL_SPLICE:
		for (done = 0; done < bytes; done += PIPE_BYTES)
			more_pipe(f);
		break;
	default:
		more_mapping(f, bytes);
	}
	f->used += bytes;
	return bytes;
}

/**
 * fill_stop() - give all of it back
 * @f:	as started
 */
void fill_stop(struct fill *f)
{
	if (f->at)
		munmap(f->at, f->max);
	if (f->fd >= 0) {
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
		close(f->fd);
	}
	while (f->nr_pipes)
		close(f->pipes[--f->nr_pipes]);
	f->at = NULL;
	f->fd = -1;
	f->used = 0;
}

/**
 * hog_huge_bytes() - the default huge page
 *
 * Return: bytes, 0 where the kernel has no hugetlb pages.
 */
unsigned long hog_huge_bytes(void)
{
	static struct vmstat v;

	return vmstat_read("/proc/meminfo", &v) ? 0 : vmstat_get(&v, "Hugepagesize") * 1024;
}

/* Locked memory of the case itself */
static size_t hog_locked(int node, size_t bytes, int advice)
{
	struct node_set one = node_set_of(node);
	unsigned long page = mm_page_size();
	size_t i;
	char *at;

	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		return 0;
	madvise(at, bytes, advice);
	node_bind_range(at, bytes, NODE_BIND, &one);
	if (mlock2(at, bytes, MLOCK_ONFAULT))
		mmg_info("locking %zu MiB: %s; it may be reclaimed", bytes / MIB, strerror(errno));
	for (i = 0; i < bytes; i += page)
		__atomic_store_n(at + i, 1, __ATOMIC_RELAXED);
	return bytes;
}

/* nr_hugepages of a node and its @path; -1 where there is none, or they are gigantic */
static long hugetlb_pages(int node, char *path, size_t size)
{
	unsigned long huge = hog_huge_bytes();
	char *text;
	long nr;

	snprintf(path, size,
		 "/sys/devices/system/node/node%d/hugepages/hugepages-%lukB/nr_hugepages", node,
		 huge / 1024);
	text = huge && huge <= 4 * MIB ? mmg_read_file(path, NULL) : NULL;
	nr = text ? strtol(text, NULL, 10) : -1;
	free(text);
	return nr;
}

/**
 * hog_start() - take memory of a node that is not given back by reclaim
 * @node:	node id
 * @bytes:	how much
 *
 * By hugetlb pages, since the kernel does not even clear them; their number is
 * put back when the case ends.  They come from the highest zone first, as
 * everything does.
 *
 * Return: bytes taken.
 */
size_t hog_start(int node, size_t bytes)
{
	unsigned long huge = hog_huge_bytes();
	char path[128];
	long before, after;

	if (huge && bytes < huge)
		return 0;
	before = hugetlb_pages(node, path, sizeof(path));
	if (before < 0)
		return hog_locked(node, bytes, MADV_HUGEPAGE);	/* kernels without hugetlb pages */
	mmg_save_setting(path);
	mmg_write_setting(path, "%lu", before + bytes / huge);
	after = hugetlb_pages(node, path, sizeof(path));
	return after > before ? (after - before) * huge : 0;
}

/**
 * hog_leave_huge() - trade hugetlb pages of the hog for base pages
 * @node:	node id
 * @nr:		how many
 *
 * hugetlb pages take what lies together and leave the pieces.  As many are given back
 * as are wanted whole; base pages take their place, and for those the allocator breaks
 * the smallest pieces first.  Nothing is done where the hog is not of hugetlb pages.
 */
void hog_leave_huge(int node, unsigned int nr)
{
	char path[128];
	long now = hugetlb_pages(node, path, sizeof(path));

	if (now < (long)nr)
		return;
	mmg_save_setting(path);
	mmg_write_setting(path, "%ld", now - nr);
	hog_locked(node, nr * hog_huge_bytes(), MADV_NOHUGEPAGE);
}

/**
 * hog_give_back() - free some of what hog_start() took as hugetlb pages
 * @node:	node id
 * @bytes:	how much; nothing is done where the hog is not of hugetlb pages
 */
void hog_give_back(int node, size_t bytes)
{
	unsigned long huge = hog_huge_bytes();
	char path[128];
	long now = hugetlb_pages(node, path, sizeof(path));
	long less = huge ? bytes / huge : 0;

	if (now <= 0)
		return;
	mmg_save_setting(path);
	mmg_write_setting(path, "%ld", now > less ? now - less : 0);
}
