// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does memory.reclaim take the kind of memory that swappiness names?
 * mmgate-guards: 68cd9050d871 mm: add swappiness= arg to memory.reclaim
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * A cold VM and as much cold page cache are in one group; half a VM's size is asked for:
 *
 *	swappiness	taken
 *	0		file pages only, then EAGAIN
 *	1		file pages, but for a batch
 *	200		anonymous pages, but for a batch
 *	max		anonymous pages only, then EAGAIN
 *
 * The sysctl vm.swappiness is asked of the host's own memory instead of a guest's: on 6.1 a
 * guest's cold pages may still be young to eviction, and files go instead.
 *
 * How it could mislead: reclaim goes node by node, and a node without file pages gives
 * anonymous ones whatever is asked (the page cache is bound to the VM's node).
 */
#include "reclaim_request.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "kernel_release.h"
#include "node.h"

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

	if (mincore(c->map, c->pages * reclaim_page(), c->in))
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

	c->pages = bytes / reclaim_page();
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
	if (strcmp(value, "max") ? kernel_before(6, 10) : kernel_before(6, 15))
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
	const struct cold_params p = { .backing = BACK_ANON, .host = !w->value };
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
	reclaim_age(&s);
	reclaim_age(&s);
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

#define SWAPPINESS(name_, ...) { .name = name_, .fn = swappiness_case, \
	.arg = &(const struct swappiness){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	SWAPPINESS("swappiness-0", .value = "0", .expect = FILE_ONLY),
	SWAPPINESS("swappiness-1", .value = "1", .expect = FILE_FIRST),
	SWAPPINESS("swappiness-200", .value = "200", .expect = ANON_FIRST),
	SWAPPINESS("swappiness-max", .value = "max", .expect = ANON_ONLY),
	SWAPPINESS("vm-swappiness-0", .sysctl = "0", .expect = FILE_ONLY),
	SWAPPINESS("vm-swappiness-200", .sysctl = "200", .expect = ANON_FIRST),
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_swappiness",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
