// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is a file that is a guest's memory aged in order, and are its writes kept?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-guards: 369ea8242c0f mm/rmap: update to new mmu_notifier semantic v2
 * mmgate-machines: data-disk
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_EXT4_FS debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * The file has a pattern in it, and is on a disk.
 *
 *	private		mapped MAP_PRIVATE: half of its pages are written and copied, so that
 *			anonymous memory and page cache lie side by side in each page table.
 *			Half of either is touched before each of two agings: as many pages of
 *			each kind have to move, and none of them leaves before the others of its
 *			kind.  In the end the copies read as they were written, the rest is the
 *			file, and the file is what it was.
 *	shared		mapped MAP_SHARED: all is written, and written back, which protects each
 *			page again.  Half is written once more: those writes have to be seen as
 *			such, although the guest could write a moment ago.  All is written back:
 *			the disk has the last words.  Then all is evicted, and the guest reads
 *			them.
 *
 * How it could mislead: the page cache has the last words even where nobody knows that it is
 * dirty, so the file is read past it (O_DIRECT).  Dirty page cache is not evicted until it is
 * written back, so it is written back first, and what cannot be evicted then is a failure.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH		64	/* MIN_LRU_BATCH, and what else the process has in the group */
#define OLD		0x01d0000ULL
#define NEW		0x9e30000ULL
#define ROUNDS		2

static size_t bytes(void)
{
	return mmg_opts.mem_bytes / 4;
}

static void must_be(struct scenario *s, const u32 *list, size_t n, u64 key, const char *what)
{
	u64 bad = scenario_wrong(s, list, n, key);

	if (bad)
		mmg_fail("DATA LOST: %llu of %llu words %s are wrong", (unsigned long long)bad,
			 (unsigned long long)n * s->r.page_size / sizeof(u64), what);
}

/* Pages of the file, as they are on its disk, that are not @key's pattern */
static size_t file_wrong(const struct region *r, const u32 *list, size_t n, u64 key)
{
	size_t size = r->page_size, words = size / 8, i, w, bad = 0;
	u64 *page = aligned_alloc(size, size);
	char path[64];
	int fd;

	/* not by the page cache, which has the last words whether they are written back or not */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (fd < 0)
		mmg_skip("reading the file past the page cache: %s", strerror(errno));
	for (i = 0; page && i < n; i++) {
		if (pread(fd, page, size, list[i] * size) != (ssize_t)size)
			mmg_broken("reading page %u of the file: %s", list[i], strerror(errno));
		for (w = 0; w < words && page[w] == region_pattern(key, list[i], w); w++)
			;
		bad += w < words;
	}
	free(page);
	close(fd);
	return bad;
}

/* The pattern is in the file before anybody maps it, and none of it in the page cache */
static void write_file(struct scenario *s)
{
	const struct region *r = &s->r;
	size_t words = r->page_size / 8, i, w;
	u64 *page = malloc(r->page_size);

	for (i = 0; page && i < r->pages; i++) {
		for (w = 0; w < words; w++)
			page[w] = region_pattern(OLD, i, w);
		if (pwrite(r->fd, page, r->page_size, i * r->page_size) != (ssize_t)r->page_size)
			mmg_skip("writing page %zu of the file: %s", i, strerror(errno));
	}
	free(page);
	if (fsync(r->fd) || posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED))
		mmg_broken("writing the file back: %s", strerror(errno));
	if (posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
}

static void map_private(struct scenario *s)
{
	struct region *r = &s->r;

	write_file(s);
	if (mmap(r->mem, r->pages * r->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		 r->fd, 0) == MAP_FAILED)
		mmg_broken("mapping the file privately: %s", strerror(errno));
}

static void set_up(struct scenario *s, bool host, void (*prepare)(struct scenario *s))
{
	struct scenario_opts o = {
		.name = "file", .backing = BACK_FILE, .host = host, .bytes = bytes(),
		.prepare = prepare,
	};

	if (!host)
		guest_require();
	mglru_require(bytes());
	scenario_create(s, &o);
}

/* Age and reclaim until nearly all is gone; how many units are left */
static size_t evict_all(struct scenario *s)
{
	size_t left = s->r.units;
	int i;

	mmg_doing("evicting all of it");
	for (i = 0; i < 8 && left * 50 > s->r.units; i++) {
		group_age(&s->group, true);
		fsync(s->r.fd);
		memcg_drain_lru();
		memcg_reclaim(&s->group.cg, s->r.pages * s->r.page_size, NULL);
		left = region_read(&s->r);
	}
	mmg_metric("left", left);
	return left;
}

/* --- private -------------------------------------------------------------------------------- */

/* Of the hot and the cold of one kind, label 0 and 1: how many left */
struct gone {
	size_t hot, cold, hot_gone, cold_gone;
};

static struct gone gone_of(const struct scenario *s, const u8 *label, int hot, int cold)
{
	struct gone g = { 0 };
	size_t i;

	for (i = 0; i < s->r.units; i++) {
		g.hot += label[i] == hot;
		g.cold += label[i] == cold;
		g.hot_gone += label[i] == hot && !s->r.present[i];
		g.cold_gone += label[i] == cold && !s->r.present[i];
	}
	return g;
}

static void judge_moved(struct scenario *s, int type, size_t hot, const char *kind)
{
	u64 moved;

	group_read(&s->group, false);
	moved = group_pages(&s->group, 0, type) + group_pages(&s->group, 1, type);
	mmg_metric(type == LRU_GEN_ANON ? "anon_moved" : "file_moved", moved);
	/* page cache is this file alone, of anonymous memory the process has some */
	if (moved + BATCH < hot || moved > hot + BATCH)
		mmg_fail("%llu %s moved, %zu were touched by the %s", (unsigned long long)moved,
			 kind, hot, s->host ? "host" : "guest");
}

/* Labels: 0 copied and hot, 1 copied and cold, 2 the file's and hot, 3 the file's and cold */
static void private_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct gone anon, file;
	u32 *list, *copied, *rest;
	size_t n = 0, n_copied = 0, n_rest = 0, i, bad;
	u8 *label;

	set_up(&s, c->arg, map_private);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 4, mmg_opts.seed);
	list = malloc(s.r.units * sizeof(*list));
	copied = malloc(s.r.units * sizeof(*copied));
	rest = malloc(s.r.units * sizeof(*rest));
	for (i = 0; list && copied && rest && i < s.r.units; i++) {
		if (label[i] < 2)
			copied[n_copied++] = i;
		else
			rest[n_rest++] = i;
		if (!(label[i] % 2))
			list[n++] = i;
	}
	mmg_doing("writing %zu pages, reading %zu", n_copied, n_rest);
	scenario_fill(&s, copied, n_copied, NEW);
	scenario_touch(&s, rest, n_rest, false);
	memcg_drain_lru();
	if (region_read(&s.r) != s.r.units)
		mmg_broken("precondition: not all of %zu pages are in memory", s.r.units);
	group_age(&s.group, true);
	for (i = 0; i < ROUNDS; i++) {
		scenario_touch(&s, list, n, false);
		group_age(&s.group, true);
	}
	judge_moved(&s, LRU_GEN_ANON, n_copied / 2, "copied pages");
	judge_moved(&s, LRU_GEN_FILE, n_rest / 2, "pages of the file");
	/* what was copied is in the page cache as well, idle and unmapped */
	mmg_doing("reclaiming what is cold");
	for (i = 0; i < 7; i++)
		memcg_reclaim(&s.group.cg, (n + n_copied) / 8 * s.r.page_size, NULL);
	region_read(&s.r);
	anon = gone_of(&s, label, 0, 1);
	file = gone_of(&s, label, 2, 3);
	mmg_metric("anon_hot_evicted", anon.hot_gone);
	mmg_metric("anon_cold_evicted", anon.cold_gone);
	mmg_metric("file_hot_evicted", file.hot_gone);
	mmg_metric("file_cold_evicted", file.cold_gone);
	if (anon.hot_gone * 50 > anon.hot || file.hot_gone * 50 > file.hot)
		mmg_fail("hot pages left: %zu copied (cold %zu), %zu of the file (cold %zu) of %zu each",
			 anon.hot_gone, anon.cold_gone, file.hot_gone, file.cold_gone, anon.hot);
	if ((anon.cold_gone + file.cold_gone) * 2 < n)
		mmg_fail("asked for most of %zu cold pages: %zu copied, %zu of the file went", n,
			 anon.cold_gone, file.cold_gone);
	if (evict_all(&s) * 10 > s.r.units)
		mmg_broken("not all could be evicted");
	must_be(&s, copied, n_copied, NEW, "of copies of the file's pages");
	must_be(&s, rest, n_rest, OLD, "of the file's own pages");
	bad = file_wrong(&s.r, s.all, s.r.units, OLD);
	if (bad)
		mmg_fail("%zu pages of the file were changed by a private mapping", bad);
	mmg_pass("%zu copied and %zu of the file's pages moved and stayed, %zu and %zu cold ones left; data kept",
		 anon.hot, file.hot, anon.cold_gone, file.cold_gone);
}

/* --- shared --------------------------------------------------------------------------------- */

static void shared_case(const struct mmg_case *c)
{
	static struct scenario s;
	size_t n, n_rest, left, bad;
	u32 *mine, *rest;
	u8 *label;

	set_up(&s, c->arg, write_file);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	mine = list_where(label, s.r.units, 0, &n);
	rest = list_where(label, s.r.units, 1, &n_rest);
	mmg_doing("writing all, writing it back, and writing half of it again");
	scenario_fill(&s, s.all, s.r.units, NEW);
	if (fsync(s.r.fd))
		mmg_broken("fsync: %s", strerror(errno));
	scenario_fill(&s, mine, n, OLD);
	if (fsync(s.r.fd))
		mmg_broken("fsync: %s", strerror(errno));
	bad = file_wrong(&s.r, mine, n, OLD);
	if (bad)
		mmg_fail("DATA LOST: %zu of %zu pages written after they were written back are not in the file",
			 bad, n);
	bad = file_wrong(&s.r, rest, n_rest, NEW);
	if (bad)
		mmg_fail("DATA LOST: %zu of %zu pages written once are not in the file", bad,
			 n_rest);
	left = evict_all(&s);
	if (left * 50 > s.r.units)
		mmg_fail("%zu of %zu pages cannot be evicted although all was written back", left,
			 s.r.units);
	must_be(&s, mine, n, OLD, "written after they were written back");
	must_be(&s, rest, n_rest, NEW, "written once");
	mmg_pass("%zu pages written again after they were written back, %zu once: all in the file",
		 n, n_rest);
}

static const struct mmg_case cases[] = {
	{ .name = "private", .fn = private_case, .timeout_s = 120 },
	{ .name = "host-private", .fn = private_case, .arg = "host", .timeout_s = 120 },
	{ .name = "shared", .fn = shared_case, .timeout_s = 120 },
	{ .name = "host-shared", .fn = shared_case, .arg = "host", .timeout_s = 120 },
};

static const struct mmg_test test = {
	.name = "kvm/file_memory",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
