// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a guest get back what it wrote, with zswap in between?
 * mmgate-guards: 2b2811178e85 zswap: add to mm/
 * mmgate-machines: default disk-swap
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZSWAP debugfs root
 * mmgate-modules: kvm zram zsmalloc zbud lzo
 * mmgate-timeout: 180
 *
 * A guest fills its memory with a pattern, all of it is swapped out, and guest and host read
 * it back; then again with another pattern, so that an older copy of a page is a wrong one.
 *
 *	on		zswap is on: pages are seen to be in it
 *	left-behind	stored with zswap on, written again and stored with it off, read with it
 *			on: what zswap still has of the first time is not what is read
 *	written-back	the group may keep nothing in zswap: all goes on to the device
 *	toggled		zswap is turned off and on all the while
 *
 * How it could mislead: zswap that took nothing (zswapped of memory.stat is read: broken, or a
 * skip where zswap cannot be turned on); a pattern that cannot be compressed, which it refuses.
 */
#include "scenario.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ZSWAP		"/sys/module/zswap/parameters/"
#define ENABLED		ZSWAP "enabled"
#define SHRINKER	ZSWAP "shrinker_enabled"
#define POOL_PERCENT	ZSWAP "max_pool_percent"
#define KEY		0x25ba9ULL
#define ROUNDS		3
#define TOGGLE_ROUNDS	6

static const char *const settings[] = {
	ENABLED, SHRINKER, POOL_PERCENT, "/proc/sys/vm/min_free_kbytes", LRU_GEN_ENABLED,
	LRU_GEN_MIN_TTL, "/proc/sys/kernel/numa_balancing", "/proc/sys/vm/page-cluster",
	"/proc/sys/vm/swappiness", "/sys/kernel/mm/ksm/run",
	"/sys/module/damon_stat/parameters/enabled",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", NULL
};

/* Words of a page that are written: the rest stays 0, or zswap would not take it */
#define WORDS		64

/* Guest code: as usual, but for the pattern, which has to be one that can be compressed */
static void zswap_code(struct vm_job *job)
{
	u64 i, w, *p;

	for (;;) {
		if (job->op != OP_FILL && job->op != OP_CHECK)
			guest_work(job);
		for (i = 0; i < job->n && (job->op == OP_FILL || job->op == OP_CHECK); i++) {
			p = (u64 *)(job->base + job->list[i] * job->stride);
			for (w = 0; w < WORDS; w++) {
				u64 want = region_pattern(job->value, job->list[i], w);

				if (job->op == OP_FILL)
					TOUCH_WRITE(&p[w], want);
				else if (__atomic_load_n(&p[w], __ATOMIC_RELAXED) != want &&
					 !job->bad++)
					job->first_bad = job->list[i];
			}
		}
		GUEST_SYNC(0);
	}
}

static size_t bytes_of_all(void)
{
	return mmg_opts.mem_bytes / 4;
}

static void set_zswap(bool on)
{
	char *text;
	int err = mmg_try_write(ENABLED, on ? "Y" : "N");

	if (err && on)
		mmg_skip("zswap cannot be turned on: %s (its compressor or allocator is missing?)",
			 strerror(-err));
	text = mmg_read_file(ENABLED, NULL);
	if (text && (text[0] == 'Y') != on)
		mmg_skip("zswap reads %.1s after it was turned %s: is its compressor there?", text,
			 on ? "on" : "off");
	free(text);
}

static void set_up(struct scenario *s)
{
	struct scenario_opts o = {
		.name = "zswap", .bytes = bytes_of_all(), .code = zswap_code,
	};

	guest_require();
	if (access(ENABLED, W_OK))
		mmg_skip("no %s (CONFIG_ZSWAP)", ENABLED);
	mmg_write_setting(ENABLED, "N");
	mglru_require(2 * bytes_of_all());
	scenario_create(s, &o);
	if (!memcg_has(&s->group.cg, "memory.zswap.current"))
		mmg_skip("no memory.zswap.current (CONFIG_ZSWAP, 5.19)");
	scenario_populate(s);
}

static void fill(struct scenario *s, u64 key)
{
	guest_pattern(&s->guest, 0, OP_FILL, s->all, s->r.units, key);
}

static void push_out(struct scenario *s)
{
	int tries;

	memcg_drain_lru();
	/* what is sent to a disk is credited to the write that finds it done */
	for (tries = 0; tries < 8 && region_read(&s->r) > s->r.units / 16; tries++)
		memcg_reclaim(&s->group.cg, 2 * bytes_of_all(), NULL);
	if (region_read(&s->r) > s->r.units / 4)
		mmg_broken("%zu of %zu pages are still in memory after all were asked for",
			   region_read(&s->r), s->r.units);
}

static u64 in_zswap(const struct scenario *s)
{
	return memcg_key(&s->group.cg, "memory.stat", "zswapped") / s->r.page_size;
}

static void check(struct scenario *s, u64 key, const char *when)
{
	u64 bad = guest_pattern(&s->guest, 0, OP_CHECK, s->all, s->r.units, key), w;
	const u64 *p;
	size_t i;

	if (bad)
		mmg_fail("%s the guest reads %llu wrong words, first in page %llu", when,
			 (unsigned long long)bad, (unsigned long long)s->guest.job[0]->first_bad);
	for (i = 0; i < s->r.units; i++) {
		p = (const u64 *)(s->r.mem + i * s->r.page_size);
		for (w = 0; w < s->r.page_size / sizeof(*p); w++) {
			if (p[w] != (w < WORDS ? region_pattern(key, i, w) : 0))
				mmg_fail("%s the host reads a wrong word %llu in page %zu", when,
					 (unsigned long long)w, i);
		}
	}
}

static void on_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 stored = 0;
	int round;

	(void)c;
	set_up(&s);
	set_zswap(true);
	for (round = 0; round < ROUNDS; round++) {
		mmg_doing("round %d", round);
		fill(&s, KEY + round);
		push_out(&s);
		stored = in_zswap(&s);
		if (stored * 2 < s.r.units)
			mmg_broken("zswap is on and took %llu of %zu pages",
				   (unsigned long long)stored, s.r.units);
		check(&s, KEY + round, "from zswap");
	}
	mmg_metric("stored", stored);
	mmg_pass("%d patterns came back whole, %llu of %zu pages were in zswap", ROUNDS,
		 (unsigned long long)stored, s.r.units);
}

static void left_behind_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 stored;
	int round;

	(void)c;
	set_up(&s);
	for (round = 0; round < ROUNDS; round++) {
		mmg_doing("storing with zswap on, then with it off");
		set_zswap(true);
		fill(&s, KEY + 2 * round);
		push_out(&s);
		stored = in_zswap(&s);
		if (stored * 2 < s.r.units)
			mmg_broken("zswap is on and took %llu of %zu pages",
				   (unsigned long long)stored, s.r.units);
		set_zswap(false);
		fill(&s, KEY + 2 * round + 1);
		push_out(&s);
		set_zswap(true);
		check(&s, KEY + 2 * round + 1, "written again with zswap off,");
	}
	mmg_pass("%d times the newer copy was read, %llu older ones had been in zswap", ROUNDS,
		 (unsigned long long)stored);
}

static void written_back_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 stored;
	int round;

	(void)c;
	set_up(&s);
	if (memcg_write(&s.group.cg, "memory.zswap.max", "0"))
		mmg_skip("no memory.zswap.max");
	set_zswap(true);
	for (round = 0; round < ROUNDS; round++) {
		mmg_doing("round %d", round);
		fill(&s, KEY + round);
		push_out(&s);
		stored = in_zswap(&s);
		if (stored)
			mmg_fail("%llu pages are in zswap, memory.zswap.max is 0",
				 (unsigned long long)stored);
		check(&s, KEY + round, "past zswap");
	}
	mmg_pass("with memory.zswap.max 0 nothing was in zswap, %d patterns came back whole",
		 ROUNDS);
}

static int stop;
static unsigned long toggles;

static void *toggle(void *arg)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		mmg_try_write(ENABLED, toggles++ % 2 ? "Y" : "N");
		if (!access(SHRINKER, W_OK))
			mmg_try_write(SHRINKER, toggles % 3 ? "Y" : "N");
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static void toggled_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 stored = 0;
	pthread_t t;
	int round;

	(void)c;
	set_up(&s);
	set_zswap(true);
	if (pthread_create(&t, NULL, toggle, NULL))
		mmg_broken("starting a thread failed");
	for (round = 0; round < TOGGLE_ROUNDS; round++) {
		mmg_doing("round %d, zswap is turned off and on", round);
		fill(&s, KEY + round);
		push_out(&s);
		stored += in_zswap(&s);
		check(&s, KEY + round, "zswap turned off and on,");
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	mmg_metric("toggles", toggles);
	mmg_metric("stored", stored);
	if (toggles < TOGGLE_ROUNDS || !stored)
		mmg_broken("%lu switches, %llu pages stored: nothing was tried", toggles,
			   (unsigned long long)stored);
	mmg_pass("%d patterns came back whole through %lu switches, %llu pages were in zswap",
		 TOGGLE_ROUNDS, toggles, (unsigned long long)stored);
}

static const struct mmg_case cases[] = {
	{ .name = "on", .fn = on_case },
	{ .name = "left-behind", .fn = left_behind_case },
	{ .name = "written-back", .fn = written_back_case },
	{ .name = "toggled", .fn = toggled_case },
};

static const struct mmg_test test = {
	.name = "kvm/zswap",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
