// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does min_ttl_ms end thrashing by an OOM kill, and only then?
 * mmgate-guards: 1332a809d95a mm: multi-gen LRU: thrashing prevention
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * Two VMs in groups of their own have 16 MiB each (cold-group: 32).  A helper locks all other memory,
 * until kswapd has to reclaim.  Where every group's oldest generation is younger than
 * min_ttl_ms, kswapd asks for an OOM kill instead (lru_gen_age_node() in mm/vmscan.c);
 * the first VM has asked to be the victim, all others are exempt.
 *
 *	kill		min_ttl_ms of a day: the victim is killed at kswapd's first turns
 *	off		0: nobody is killed, kswapd evicts
 *	cold-group	two seconds, and the oldest generation of the second VM is older than
 *			that, its youngest and every generation of all other groups, the
 *			root's among them, are not: nobody is killed in kswapd's first turn
 *			(which may age the VM: it is young after that)
 *	file		what is written reads back; junk is refused
 *
 * How it could mislead: an OOM kill that the allocator itself asks for (the helper stops
 * at the low watermark, where it never does; swap is free for all that the VMs have); a
 * kill of somebody else (all but the victim are exempt); kswapd that never ran (broken).
 * cold-group says pass of a kernel that looks at the youngest generation where kswapd's
 * first turn comes later than two seconds after the last ageing.
 */
#include "tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pressure.h"
#include "vmstat.h"

#define TTL_DAY		"86400000"
#define TTL_SHORT_MS	2000
#define DEF_PRIORITY	12		/* include/linux/mmzone.h */
#define MAX_STEPS	400
#define SOME		64		/* evicted: kswapd went on to reclaim */
#define MANY		(2 * 1024)	/* evicted: in several of its turns */

enum who { NOBODY, VICTIM };

struct params {
	const char *ttl;
	bool cold;	/* the second VM has not been aged for longer than the ttl */
	enum who dies;
	u64 enough;	/* pages evicted after which it ends */
};

static struct pressure pressure;

static void exempt(pid_t pid, const char *adj)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/oom_score_adj");
	mmg_write_setting(path, "%s", adj);
}

/* Has the helper ended?  Its death is what the experiment waits for, so no error here. */
static bool is_dead(const struct worker *w)
{
	siginfo_t info = { };

	return !waitid(P_PID, w->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Age, in milliseconds, of the oldest generation that has anonymous pages */
static u64 oldest_ms(struct tenant *t)
{
	const struct lru_gen_node *node;
	u64 oldest = 0;
	unsigned int n, g;

	group_read(&t->group, false);
	for (n = 0; n < t->group.info.nr_nodes; n++) {
		node = &t->group.info.node[n];
		for (g = 0; g < node->nr_gens; g++) {
			if (node->gen[g].pages[LRU_GEN_ANON] && node->gen[g].age_ms > oldest)
				oldest = node->gen[g].age_ms;
		}
	}
	return oldest;
}

static void wait_until_old(struct tenant *t)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	int looks;

	mmg_doing("waiting until a group is older than %d ms", TTL_SHORT_MS);
	for (looks = 0; looks < 500 && oldest_ms(t) < TTL_SHORT_MS + 500; looks++)
		nanosleep(&nap, NULL);
	if (oldest_ms(t) < TTL_SHORT_MS)
		mmg_broken("the generations of %s do not get older: %llu ms", t->group.cg.dir,
			   (unsigned long long)oldest_ms(t));
}

/*
 * Age every group but @but until all its generations are new: inc_min_seq() moves what is
 * older into the next one where there are MAX_NR_GENS.  A group that went away is none.
 */
static void make_others_young(u64 but)
{
	static struct lru_gen_memcg cg;
	struct lru_gen_error err;
	unsigned long long id;
	unsigned int n, round;
	char *text, *line, *at;

	for (round = 0; round < LRU_GEN_MAX_GENS; round++) {
		text = mmg_read_file(LRU_GEN_DIR "lru_gen", NULL);
		if (!text)
			mmg_broken("cannot read " LRU_GEN_DIR "lru_gen");
		for (line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
			char *now;

			if (sscanf(line, "memcg %llu", &id) != 1 || id == but)
				continue;
			now = mmg_read_file(LRU_GEN_DIR "lru_gen", NULL);
			if (!now || lru_gen_parse(now, NULL, id, &cg, &err))
				cg.nr_nodes = 0;
			free(now);
			for (n = 0; n < cg.nr_nodes; n++)
				lru_gen_age(id, cg.node[n].nid, lru_gen_max_seq(&cg.node[n]), 200,
					    true);
		}
		free(text);
	}
}

/*
 * A group counts only if it has a page for each 2^priority (lruvec_is_sizable()), and a turn
 * of kswapd begins at DEF_PRIORITY: with 4096 pages it counts until the first is evicted, or
 * waits in a CPU's batch.  One that must count all the time has twice as many.
 */
static size_t vm_bytes(bool counts)
{
	size_t least = (size_t)sysconf(_SC_PAGESIZE) * 2 << DEF_PRIORITY;
	size_t bytes = mmg_opts.mem_bytes / 2;

	return counts && bytes < least ? least : bytes;
}

static void ttl_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	size_t bytes = vm_bytes(p->cold);
	static struct tenant victim, other;
	u64 kills, stolen[2], turns;
	int step;
	bool dead = false;

	guest_require();
	mglru_require(4 * bytes);
	if (access(LRU_GEN_MIN_TTL, W_OK))
		mmg_skip("no %s", LRU_GEN_MIN_TTL);
	if (vmstat_now("oom_kill") == 0 && access("/proc/vmstat", R_OK))
		mmg_skip("no oom_kill in /proc/vmstat (CONFIG_VM_EVENT_COUNTERS)");
	exempt(0, "-1000");
	pressure_start(&pressure, region_node());
	mmg_doing("starting two VMs");
	tenant_start(&victim, NULL, "victim", bytes);
	tenant_start(&other, NULL, "other", bytes);
	exempt(victim.w.pid, "1000");
	if (p->dies == VICTIM)
		mmg_expect_oom_kill(victim.w.pid);
	tenant_age(&victim, 1);
	tenant_age(&other, 3);
	if (p->cold)
		wait_until_old(&other);
	mmg_doing("filling the rest of memory");
	pressure_fill(&pressure, 4 * bytes / sysconf(_SC_PAGESIZE));
	if (p->cold) {
		make_others_young(other.group.id);
		/* its youngest generation is new, the oldest is not */
		tenant_age(&other, 1);
	}
	mmg_write_setting(LRU_GEN_MIN_TTL, "%s", p->ttl);
	kills = vmstat_now("oom_kill");
	turns = vmstat_now("pageoutrun");
	stolen[0] = tenant_stolen(&victim);
	stolen[1] = tenant_stolen(&other);
	mmg_doing("waking kswapd");
	for (step = 0; step < MAX_STEPS; step++) {
		if (!pressure_step(&pressure))
			break;
		dead = is_dead(&victim.w);
		if (dead || tenant_stolen(&victim) - stolen[0] + tenant_stolen(&other) -
		    stolen[1] >= p->enough)
			break;
	}
	mmg_write_setting(LRU_GEN_MIN_TTL, "0");
	kills = vmstat_now("oom_kill") - kills;
	turns = vmstat_now("pageoutrun") - turns;
	stolen[0] = tenant_stolen(&victim) - stolen[0];
	stolen[1] = tenant_stolen(&other) - stolen[1];
	dead = is_dead(&victim.w);
	pressure_release(&pressure);
	mmg_metric("oom_kills", kills);
	mmg_metric("kswapd_turns", turns);
	mmg_metric("steps", step);
	mmg_metric("victim_evicted", stolen[0]);
	mmg_metric("other_evicted", stolen[1]);
	if (!turns)
		mmg_broken("kswapd was not woken in %d steps", step);
	if (p->dies == VICTIM && (!dead || kills != 1))
		mmg_fail("min_ttl_ms %s: %llu OOM kills in %llu turns of kswapd, %llu pages gone",
			 p->ttl, (unsigned long long)kills, (unsigned long long)turns,
			 (unsigned long long)(stolen[0] + stolen[1]));
	if (p->dies == NOBODY && (dead || kills))
		mmg_fail("min_ttl_ms %s: %llu OOM kills although %s", p->ttl,
			 (unsigned long long)kills,
			 p->cold ? "a group was older than that" : "it is off");
	if (p->dies == NOBODY && stolen[0] + stolen[1] < p->enough)
		mmg_fail("kswapd evicted %llu pages in %llu turns, %llu were to be had",
			 (unsigned long long)(stolen[0] + stolen[1]), (unsigned long long)turns,
			 (unsigned long long)p->enough);
	mmg_pass("min_ttl_ms %s: %llu OOM kills, %llu and %llu pages gone in %llu turns of kswapd",
		 p->ttl, (unsigned long long)kills, (unsigned long long)stolen[0],
		 (unsigned long long)stolen[1], (unsigned long long)turns);
}

static void file_case(const struct mmg_case *c)
{
	static const char *const values[] = { "1", "1000", TTL_DAY, "0" };
	char *text;
	size_t i;

	(void)c;
	mglru_require(0);
	if (access(LRU_GEN_MIN_TTL, W_OK))
		mmg_skip("no %s", LRU_GEN_MIN_TTL);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		mmg_write_setting(LRU_GEN_MIN_TTL, "%s", values[i]);
		text = mmg_read_file(LRU_GEN_MIN_TTL, NULL);
		/* kept in jiffies: rounded up to one */
		if (!text || atoll(text) < atoll(values[i]) || atoll(text) > atoll(values[i]) + 10)
			mmg_fail("min_ttl_ms reads %.20s after %s was written", text ? text : "",
				 values[i]);
		free(text);
	}
	if (mmg_try_write(LRU_GEN_MIN_TTL, "junk") != -EINVAL)
		mmg_fail("min_ttl_ms took \"junk\"");
	mmg_pass("%zu values read back as written, junk refused", ARRAY_SIZE(values));
}

#define TTL(name_, ...) { .name = name_, .fn = ttl_case, .destructive = true, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	{ .name = "file", .fn = file_case },
	TTL("kill", .ttl = TTL_DAY, .dies = VICTIM, .enough = MANY),
	TTL("off", .ttl = "0", .dies = NOBODY, .enough = MANY),
	TTL("cold-group", .ttl = "2000", .cold = true, .dies = NOBODY, .enough = SOME),
};

static const struct mmg_test test = {
	.name = "kvm/min_ttl",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
