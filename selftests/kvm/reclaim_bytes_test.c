// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does memory.reclaim take as much as was asked, and say so?
 * mmgate-guards: 94968384dde1 memcg: introduce per-memcg reclaim interface
 * mmgate-guards: 0388536ac291 mm:vmscan: fix inaccurate reclaim during proactive reclaim
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 300
 *
 * What reclaim did is read in five places that have to agree, page for page but for
 * a batch: the residency of the guest's memory, memory.current, memory.swap.current,
 * pgsteal of memory.stat, pswpout of /proc/vmstat.  Then the errno is compared with it:
 *
 *	asked			errno	taken
 *	N			0	N to N + a batch
 *	twice what is there	EAGAIN	nearly all
 *	8 MiB, swap.max 4 MiB	EAGAIN	4 MiB less a batch
 *	without swap		EAGAIN	0
 *	nonsense		EINVAL	0
 *
 * How it could mislead: memory.current lags by a batch of charges a CPU (allowed for);
 * the test's own pages in the group may be taken as well (a batch is allowed for).
 */
#include "reclaim_request.h"

#include <stdlib.h>

#include "kernel_release.h"

#define MIB		0x100000UL

static void bytes_case(const struct mmg_case *c)
{
	static const unsigned int fraction[] = { 8192, 32, 8, 4 };
	const struct cold_params *p = c->arg;
	static struct scenario s;
	u64 asked, over, bound, worst = 0;
	struct taken t;
	size_t i;

	set_up_cold(&s, p, cold_bytes(p));
	mmg_doing("reclaiming");
	for (i = 0; i < ARRAY_SIZE(fraction); i++) {
		asked = s.r.pages / fraction[i] ? s.r.pages / fraction[i] : 1;
		take(&s, asked, NULL, &t);
		judge_errno(&t);
		judge_counters(&t);
		if (t.err)
			mmg_fail("memory.reclaim of %llu of %zu cold pages: %s, %llu are gone",
				 (unsigned long long)asked, s.r.pages, strerror(-t.err),
				 (unsigned long long)t.gone);
		over = t.gone > asked ? t.gone - asked : 0;
		worst = over > worst ? over : worst;
		bound = asked / 4 + 2 * BATCH * (s.r.nid < 0 ? 1 : 2);
		if (s.r.unit > 1)
			bound += s.r.unit;
		if (over > bound)
			mmg_fail("memory.reclaim took %llu pages, %llu asked for (%llu allowed)",
				 (unsigned long long)t.gone, (unsigned long long)asked,
				 (unsigned long long)(asked + bound));
	}
	mmg_metric("overshoot_pages", worst);
	mmg_metric("last_reclaim_s", t.s);
	mmg_pass("up to %llu pages taken as asked, at most %llu too many, all counters agree",
		 (unsigned long long)asked, (unsigned long long)worst);
}

static void more_than_all(struct scenario *s)
{
	struct taken t;
	u64 all_gone;

	take(s, 2 * s->r.pages, NULL, &t);
	all_gone = s->r.pages - region_read(&s->r) * s->r.unit;
	mmg_metric("of_all_gone", all_gone);
	judge_errno(&t);
	judge_counters(&t);
	if (t.err != -EAGAIN)
		mmg_fail("memory.reclaim of twice the group's memory: %s instead of EAGAIN",
			 t.err ? strerror(-t.err) : "0");
	if (all_gone * 20 < s->r.pages * 19)
		mmg_fail("memory.reclaim of twice the group's memory gave up at %llu of %zu pages",
			 (unsigned long long)all_gone, s->r.pages);
}

static void limit_swap(struct scenario *s, u64 pages)
{
	int err = memcg_write(&s->group.cg, "memory.swap.max", "%llu",
			      (unsigned long long)(pages * reclaim_page()));

	if (err)
		mmg_broken("memory.swap.max of %llu pages: %s", (unsigned long long)pages,
			   strerror(-err));
}

/* EAGAIN is partial success: how partial is measured */
static void eagain_case(const struct mmg_case *c)
{
	const struct cold_params *p = c->arg;
	static struct scenario s;
	struct taken none, some;
	u64 room;

	set_up_cold(&s, p, cold_bytes(p));
	room = s.r.pages / 4;
	mmg_doing("reclaiming without swap");
	limit_swap(&s, 0);
	take(&s, s.r.pages / 2, NULL, &none);
	if (none.gone || none.err != -EAGAIN)
		mmg_fail("reclaim without swap: %s, %llu pages gone, instead of EAGAIN and none",
			 none.err ? strerror(-none.err) : "0", (unsigned long long)none.gone);
	mmg_doing("reclaiming twice the swap that is left");
	limit_swap(&s, room);
	take(&s, 2 * room, NULL, &some);
	judge_errno(&some);
	judge_counters(&some);
	if (some.err != -EAGAIN)
		mmg_fail("asked for %llu pages, swap had room for %llu: %s instead of EAGAIN",
			 (unsigned long long)some.asked, (unsigned long long)room,
			 some.err ? strerror(-some.err) : "0");
	if (some.gone > room || some.gone + 2 * BATCH < room)
		mmg_fail("swap had room for %llu pages, %llu are gone", (unsigned long long)room,
			 (unsigned long long)some.gone);
	mmg_doing("reclaiming twice what is there");
	if (memcg_write(&s.group.cg, "memory.swap.max", "max"))
		mmg_broken("memory.swap.max cannot be lifted");
	more_than_all(&s);
	mmg_metric("without_swap_s", none.s);
	mmg_pass("EAGAIN: 0 pages without swap, %llu where swap had room for %llu, then all",
		 (unsigned long long)some.gone, (unsigned long long)room);
}

static void refused_case(const struct mmg_case *c)
{
	static const char *const bad[] = {
		"", "junk", "1M swappiness=201", "1M swappiness=-1", "1M swappiness=x",
		"1M swappiness", "1M node=0", "1M 2M",
	};
	static const struct cold_params p = { .backing = BACK_ANON };
	static struct scenario s;
	size_t i;
	int err;

	(void)c;
	set_up_cold(&s, &p, 4 * MIB);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		/* before 6.10 nothing at all is the word for everything */
		if (!*bad[i] && kernel_before(6, 10))
			continue;
		err = memcg_write(&s.group.cg, "memory.reclaim", "%s\n", bad[i]);
		if (err != -EINVAL)
			mmg_fail("memory.reclaim took \"%s\": %s instead of EINVAL", bad[i],
				 err ? strerror(-err) : "0");
	}
	if (region_read(&s.r) != s.r.units)
		mmg_fail("a request that was refused took memory");
	mmg_pass("%zu malformed requests were refused with EINVAL and took nothing",
		 ARRAY_SIZE(bad));
}

static const struct cold_params guest_4k = { .backing = BACK_ANON };
static const struct cold_params guest_thp = { .backing = BACK_THP };
static const struct cold_params guest_shmem = { .backing = BACK_SHMEM };

#define SLOW(name_, ...) { .name = name_, .timeout_s = RECLAIM_TIMEOUT_S, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("bytes-4k", .fn = bytes_case, .arg = &guest_4k),
	SLOW("bytes-thp", .fn = bytes_case, .arg = &guest_thp),
	SLOW("bytes-shmem", .fn = bytes_case, .arg = &guest_shmem),
	SLOW("eagain", .fn = eagain_case, .arg = &guest_4k),
	{ .name = "refused", .fn = refused_case },
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_bytes",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
