// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: a node's reclaim file takes the kind that was asked for, from all zones
 * mmgate-guards: b980077899ea mm: introduce per-node proactive reclaim interface
 * mmgate-guards: user_proactive_reclaim() passes swappiness on and looks at all zones
 * mmgate-machines: numa-fake2 movable
 * mmgate-needs: CONFIG_NUMA CONFIG_SWAP CONFIG_EXT4_FS CONFIG_VIRTIO_BLK /mnt/data
 * mmgate-timeout: 120
 *
 * /sys/devices/system/node/nodeN/reclaim (from 6.17 on) takes swappiness= as
 * memory.reclaim does.  Anonymous memory and as much page cache are put on one node,
 * vm.swappiness says the opposite of what is asked, and a quarter is asked for: with
 * swappiness=0 no anonymous page may go, with swappiness=max no page of the file
 * (proactive_swappiness in user_proactive_reclaim(), mm/vmscan.c).
 *
 * The case movable asks for anonymous memory that lies in ZONE_MOVABLE.
 * user_proactive_reclaim() took the zone of GFP_KERNEL for the highest to look at, as if
 * something were to be allocated there, and pages of ZONE_MOVABLE were passed over; so
 * the other cases go to a node without that zone.
 *
 * How it could mislead: page cache and slab below vm.min_unmapped_ratio and
 * vm.min_slab_ratio keep a node from being reclaimed at all (both are set to 0); pages
 * that were just touched are young, and the first request only ages them (asked again).
 * Where nothing goes, the same pages are paged out by madvise() to see that they could go.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "mm_util.h"
#include "residency.h"

#define BYTES		(32 * MIB)
#define ASKED		(8 * MIB)
#define TRIES		8	/* requests until pages that were just touched are old */
#define BATCH		64	/* two of SWAP_CLUSTER_MAX: what is isolated at once */

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

static int node;
static unsigned char *present;

static int request(const char *swappiness)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/reclaim", node);
	return mmg_try_write(path, "%lu swappiness=%s", ASKED, swappiness);
}

static void set(const char *path, const char *value)
{
	mmg_save_setting(path);
	mmg_write_setting(path, "%s", value);
}

/* Free pages of a node above its marks, user memory being meant for the highest zone */
static unsigned long room(const struct zoneinfo *zi, int nid)
{
	unsigned long all = 0;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		if (z->node == nid && z->populated && z->free > z->high)
			all += z->free - z->high;
	}
	return all;
}

/* Choose the node with the most room and go there with all that is allocated from now on */
static void choose_node(bool movable)
{
	unsigned long most = 0, need = 3 * BYTES / mm_page_size();
	struct node_set memory, one;
	struct zoneinfo zi;
	int n;

	if (node_state("has_memory", &memory))
		mmg_skip("no node directory in sysfs: CONFIG_NUMA is needed");
	mm_zoneinfo(&zi);
	node = -1;
	for (n = node_set_next(&memory, -1); n >= 0; n = node_set_next(&memory, n)) {
		const struct zi_zone *z = zoneinfo_zone_named(&zi, n, "Movable");
		unsigned long r = room(&zi, n);

		if (movable)
			r = z && z->free > z->high ? z->free - z->high : 0;
		else if (z && z->populated)
			r = 0;
		if (r > most) {
			most = r;
			node = n;
		}
	}
	zoneinfo_free(&zi);
	if (node < 0 || most < need)
		mmg_skip("no node has %lu pages free %s ZONE_MOVABLE: use machine %s", need,
			 movable ? "in" : "and no", movable ? "movable" : "numa-fake2");
	one = node_set_of(node);
	if (node_set_policy(NODE_BIND, &one))
		mmg_broken("binding memory to node %d: %s", node, strerror(errno));
}

static void set_up(bool movable)
{
	if (access("/sys/devices/system/node/node0/reclaim", F_OK))
		mmg_skip("no /sys/devices/system/node/node0/reclaim (from 6.17 on, CONFIG_NUMA)");
	swap_require(2 * BYTES);
	set("/proc/sys/vm/min_unmapped_ratio", "0");
	set("/proc/sys/vm/min_slab_ratio", "0");
	present = malloc(BYTES / mm_page_size());
	choose_node(movable);
}

/* Page cache of a file on the disk, clean and read once */
static char *cache_file(void)
{
	static char buf[65536];
	char path[] = "/mnt/data/mmgate.XXXXXX", *map;
	struct statfs fs;
	size_t at;
	int fd;

	/* a RAM file system's pages are as anonymous ones */
	if (statfs("/mnt/data", &fs) || fs.f_type == 0x01021994 || fs.f_type == 0x858458f6)
		mmg_skip("no file system of a disk at /mnt/data: use machine numa-fake2");
	fd = mkstemp(path);
	if (fd < 0)
		mmg_skip("%s: %s", path, strerror(errno));
	unlink(path);
	errno = posix_fallocate(fd, 0, BYTES);
	if (errno)
		mmg_skip("a file of %lu MiB at /mnt/data: %s", BYTES / MIB, strerror(errno));
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (at = 0; at < BYTES; at += sizeof(buf))
		if (pread(fd, buf, sizeof(buf), at) != sizeof(buf))
			mmg_broken("reading a file at %zu: %s", at, strerror(errno));
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		mmg_broken("mmap of a file: %s", strerror(errno));
	return map;
}

static unsigned long file_pages(char *map)
{
	unsigned long i, n = 0;

	if (mincore(map, BYTES, present))
		mmg_broken("mincore: %s", strerror(errno));
	for (i = 0; i < BYTES / mm_page_size(); i++)
		n += present[i] & 1;
	return n;
}

static unsigned long anon_pages(char *map)
{
	return residency_read(map, BYTES / mm_page_size(), RESIDENCY_ANON, present);
}

static char *anon_memory(void)
{
	unsigned long all = BYTES / mm_page_size();
	long count[MAX_NODES];
	char *map = mm_map(BYTES);

	madvise(map, BYTES, MADV_NOHUGEPAGE);
	mm_touch(map, BYTES, count);
	if (count[node] < (long)all * 9 / 10)
		mmg_broken("%ld of %lu pages are on node %d", count[node], all, node);
	return map;
}

struct kind {
	const char *swappiness, *opposite;
	bool anon;	/* what may go */
};

static void kind_case(const struct mmg_case *c)
{
	const struct kind *k = c->arg;
	unsigned long a0, f0, anon = 0, file = 0, right, wrong;
	char *a, *f;
	int i, err = 0;

	set_up(false);
	f = cache_file();
	a = anon_memory();
	set("/proc/sys/vm/swappiness", k->opposite);
	a0 = anon_pages(a);
	f0 = file_pages(f);
	if (f0 < BYTES / mm_page_size() / 2)
		mmg_broken("precondition: %lu of %lu file pages are in memory", f0,
			   BYTES / mm_page_size());
	for (i = 0; i < TRIES; i++) {
		mmg_doing("request %d of node %d", i + 1, node);
		err = request(k->swappiness);
		if (err == -EINVAL && !i)
			mmg_skip("a node's reclaim takes no swappiness=%s here", k->swappiness);
		if (err && err != -EAGAIN)
			mmg_fail("reclaim of node %d: %s", node, strerror(-err));
		anon = a0 - anon_pages(a);
		file = f0 - file_pages(f);
		if (anon + file >= BATCH)
			break;
	}
	mmg_metric("anon_taken", anon);
	mmg_metric("file_taken", file);
	right = k->anon ? anon : file;
	wrong = k->anon ? file : anon;
	if (wrong > BATCH)
		mmg_fail("node %d, swappiness=%s (sysctl %s) took %lu anon, %lu file: %lu wrong",
			 node, k->swappiness, k->opposite, anon, file, wrong);
	if (!right) {
		if (k->anon && madvise(a, BYTES, MADV_PAGEOUT))
			mmg_broken("madvise(MADV_PAGEOUT): %s", strerror(errno));
		mmg_fail("node %d, swappiness=%s: %d requests for %lu took none of %lu (%lu can)",
			 node, k->swappiness, TRIES, ASKED / mm_page_size(), k->anon ? a0 : f0,
			 k->anon ? a0 - anon_pages(a) : f0);
	}
	mmg_pass("node %d, swappiness=%s (sysctl %s) took %lu anon, %lu file pages",
		 node, k->swappiness, k->opposite, anon, file);
}

/* Anonymous pages in ZONE_MOVABLE of the node */
static unsigned long movable_anon(void)
{
	unsigned long active = 0, inactive = 0;
	const struct zi_zone *z;
	struct zoneinfo zi;

	mm_zoneinfo(&zi);
	z = zoneinfo_zone_named(&zi, node, "Movable");
	if (!z || !zi_zone_stat(z, "nr_zone_active_anon", &active) ||
	    !zi_zone_stat(z, "nr_zone_inactive_anon", &inactive))
		mmg_skip("zoneinfo has no nr_zone_active_anon of ZONE_MOVABLE");
	zoneinfo_free(&zi);
	return active + inactive;
}

static void movable_case(const struct mmg_case *c)
{
	unsigned long before, there, all, gone = 0, asked = ASKED / mm_page_size();
	char *a;
	int i, err = 0;

	(void)c;
	set_up(true);
	before = movable_anon();
	a = anon_memory();
	there = movable_anon() - before;
	all = anon_pages(a);
	if (there < all * 3 / 4)
		mmg_broken("precondition: %lu of %lu pages are in ZONE_MOVABLE of node %d",
			   there, all, node);
	for (i = 0; i < TRIES && gone < asked / 2; i++) {
		mmg_doing("request %d of node %d", i + 1, node);
		err = request("200");
		if (err && err != -EAGAIN)
			mmg_fail("reclaim of node %d: %s", node, strerror(-err));
		gone = all - anon_pages(a);
	}
	mmg_metric("gone", gone);
	mmg_metric("requests", i);
	if (gone < asked / 2) {
		unsigned long out;

		if (madvise(a, BYTES, MADV_PAGEOUT))
			mmg_broken("madvise(MADV_PAGEOUT): %s", strerror(errno));
		out = all - anon_pages(a);
		if (out < asked)
			mmg_broken("only %lu of %lu pages can be paged out at all", out, all);
		mmg_fail("node %d: %d requests for %lu took %lu of %lu in Movable, madvise() %lu",
			 node, i, asked, gone, there, out);
	}
	mmg_pass("node %d: %d requests for %lu pages took %lu of %lu in ZONE_MOVABLE", node, i,
		 asked, gone, there);
}

static const struct kind file_only = { .swappiness = "0", .opposite = "200" };
static const struct kind anon_only = { .swappiness = "max", .opposite = "0", .anon = true };

static const struct mmg_case cases[] = {
	{ .name = "swappiness-0", .fn = kind_case, .arg = &file_only, .destructive = true },
	{ .name = "swappiness-max", .fn = kind_case, .arg = &anon_only, .destructive = true },
	{ .name = "movable", .fn = movable_case, .destructive = true },
};

static const struct mmg_test test = {
	.name = "mm/node_reclaim",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
