// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: can lru_gen/enabled be switched under a running guest without harm?
 * mmgate-guards: 354ed5974429 mm: multi-gen LRU: kill switch
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 *	bits		each value written reads back as the file documents, junk is refused
 *	pages-kept	idle group, off and on ten times: no page lost between the lists
 *	order-after	hot and cold halves reclaimed before and after: the same verdict
 *	under-load	vCPU writes and checks, another thread reclaims, ten switches: every
 *			word there, all of it on lists afterwards, no OOM kill
 *	off-reclaim	off: the classic lists reclaim the guest's memory, exactly as asked
 *	limit		switches while a VM works against memory.max: no OOM kill
 *
 * limit runs only where the kernel has the fix (the static key lru_switch, after 6.12):
 * up to 6.12 reclaim sees empty lists during a switch and a group at its limit is
 * OOM-killed, a known failure.  No other case sets a limit around a switch.
 *
 * How it could mislead: a switch that does not happen harms nothing (the file is read
 * back); memory.stat lags by a batch a CPU (allowed for).
 */
#include "scenario.h"
#include "worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BATCH	64
#define SWITCHES	10
#define KEY	0x70661eULL

static size_t bytes_now(void)
{
	return mmg_opts.mem_bytes / 8;
}

static void set_up(struct scenario *s, const char *name)
{
	struct scenario_opts o = { .name = name, .bytes = bytes_now() };

	guest_require();
	mglru_require(2 * bytes_now());
	scenario_create(s, &o);
	scenario_populate(s);
}

static void switch_to(bool on)
{
	int bits;

	mmg_write_setting(LRU_GEN_ENABLED, on ? "7" : "0");
	bits = lru_gen_enabled();
	if (!(bits & LRU_GEN_CORE_BIT) == on)
		mmg_fail("lru_gen/enabled reads 0x%x after it was switched %s", bits,
			 on ? "on" : "off");
}

static bool within(u64 a, u64 b, u64 slack)
{
	return a <= b + slack && b <= a + slack;
}

static u64 lag(void)
{
	return BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
}

static u64 listed(const struct group *group)
{
	return (memcg_key(&group->cg, "memory.stat", "inactive_anon") +
		memcg_key(&group->cg, "memory.stat", "active_anon")) / sysconf(_SC_PAGESIZE);
}

static u64 in_generations(struct scenario *s)
{
	group_read(&s->group, false);
	return group_total(&s->group, LRU_GEN_ANON);
}

static void check_words(struct scenario *s, const char *when)
{
	u64 first = 0, bad = guest_pattern(&s->guest, 0, OP_CHECK, s->all, s->r.units, KEY);

	if (bad)
		mmg_fail("%s the guest reads %llu wrong words", when, (unsigned long long)bad);
	bad = region_check(&s->r, s->all, s->r.units, KEY, &first);
	if (bad)
		mmg_fail("%s the host reads %llu wrong words, first in page %llu", when,
			 (unsigned long long)bad, (unsigned long long)first);
}

/* --- the file ------------------------------------------------------------------------ */

static void bits_case(const struct mmg_case *c)
{
	static const struct {
		const char *write;
		int mask;
	} rows[] = {
		{ "0", 0 }, { "1", 1 }, { "3", 3 }, { "5", 5 }, { "0x7", 7 }, { "n", 0 },
		{ "y", 7 }, { "N", 0 }, { "Y", 7 }, { "0x0006", 6 }, { "7", 7 },
	};
	int has, got;
	char want[16], *text;
	size_t i;

	(void)c;
	mglru_require(0);
	mmg_write_setting(LRU_GEN_ENABLED, "y");
	has = lru_gen_enabled();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		mmg_write_setting(LRU_GEN_ENABLED, "%s", rows[i].write);
		text = mmg_read_file(LRU_GEN_ENABLED, NULL);
		snprintf(want, sizeof(want), "0x%04x\n", rows[i].mask & has);
		if (!text || strcmp(text, want))
			mmg_fail("lru_gen/enabled reads \"%.8s\" after \"%s\", not \"%.6s\"",
				 text ? text : "", rows[i].write, want);
		free(text);
	}
	if (mmg_try_write(LRU_GEN_ENABLED, "junk") != -EINVAL)
		mmg_fail("lru_gen/enabled took \"junk\"");
	got = lru_gen_enabled();
	if (got != has)
		mmg_fail("lru_gen/enabled went from 0x%x to 0x%x by \"junk\"", has, got);
	mmg_pass("%zu values read back as written, of the bits 0x%04x; junk refused",
		 ARRAY_SIZE(rows), has);
}

/* --- an idle group ---------------------------------------------------------------------- */

static void pages_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 before, now;
	int i;

	(void)c;
	set_up(&s, "idle");
	guest_pattern(&s.guest, 0, OP_FILL, s.all, s.r.units, KEY);
	memcg_drain_lru();
	before = in_generations(&s);
	for (i = 0; i < SWITCHES; i++) {
		mmg_doing("switch %d", i);
		switch_to(false);
		now = listed(&s.group);
		if (!within(now, before, lag()))
			mmg_fail("off: %llu pages on the classic lists, %llu in generations before",
				 (unsigned long long)now, (unsigned long long)before);
		now = in_generations(&s);
		if (now > BATCH)
			mmg_fail("off: %llu pages are still in generations",
				 (unsigned long long)now);
		switch_to(true);
		memcg_drain_lru();
		now = in_generations(&s);
		if (!within(now, before, BATCH))
			mmg_fail("on again: the generations have %llu pages, %llu before",
				 (unsigned long long)now, (unsigned long long)before);
	}
	if (region_read(&s.r) != s.r.units)
		mmg_fail("%zu pages were evicted by switching", s.r.units - region_read(&s.r));
	check_words(&s, "after switching");
	mmg_pass("%d times off and on: %llu pages in the generations, %llu at first", SWITCHES,
		 (unsigned long long)now, (unsigned long long)before);
}

/* --- the order afterwards ------------------------------------------------------------------ */

/* Share of the hot half among what reclaim of the cold half less 1/8 took, in percent */
static unsigned int hot_share(struct scenario *s, const u8 *label)
{
	size_t n, i, hot = 0, cold = 0;
	u32 *list = list_where(label, s->r.units, 0, &n);
	int round;

	scenario_touch(s, s->all, s->r.units, true);
	memcg_drain_lru();
	group_age(&s->group, true);
	for (round = 0; round < 2; round++) {
		scenario_touch(s, list, n, false);
		group_age(&s->group, true);
	}
	free(list);
	memcg_reclaim(&s->group.cg, n * 7 / 8 * s->r.page_size, NULL);
	region_read(&s->r);
	for (i = 0; i < s->r.units; i++) {
		if (!s->r.present[i])
			*(label[i] ? &cold : &hot) += 1;
	}
	mmg_info("reclaim took %zu hot and %zu cold pages of %zu each", hot, cold, n);
	if ((hot + cold) * 2 < n)
		mmg_fail("reclaim of %zu pages took %zu", n * 7 / 8, hot + cold);
	return hot * 100 / (hot + cold);
}

static void order_case(const struct mmg_case *c)
{
	static struct scenario s;
	unsigned int before, after;
	u8 *label;
	int i;

	(void)c;
	set_up(&s, "order");
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	before = hot_share(&s, label);
	for (i = 0; i < SWITCHES; i++) {
		switch_to(false);
		switch_to(true);
	}
	after = hot_share(&s, label);
	mmg_metric("hot_share_before", before);
	mmg_metric("hot_share_after", after);
	if (!within(after, before, 10))
		mmg_fail("the hot half is %u %% of what reclaim takes, it was %u %% before",
			 after, before);
	mmg_pass("the hot half is %u %% of what reclaim takes, before switching %u %%", after,
		 before);
}

/* --- under load ------------------------------------------------------------------------------ */

struct load {
	struct scenario *s;
	int stop;
	u64 rounds;
	u64 bad;
};

static bool stopped(struct load *l)
{
	return __atomic_load_n(&l->stop, __ATOMIC_RELAXED);
}

static void *reclaim_load(void *arg)
{
	struct load *l = arg;

	while (!stopped(l)) {
		memcg_reclaim(&l->s->group.cg, l->s->r.pages / 8 * l->s->r.page_size, NULL);
		l->rounds++;
		usleep(5000);
	}
	return NULL;
}

static void *vcpu_load(void *arg)
{
	struct load *l = arg;
	struct guest *g = &l->s->guest;

	while (!stopped(l) && !l->bad) {
		guest_pattern(g, 0, OP_FILL, l->s->all, l->s->r.units, KEY);
		l->bad = guest_pattern(g, 0, OP_CHECK, l->s->all, l->s->r.units, KEY);
		l->rounds++;
	}
	return NULL;
}

static void start(pthread_t *t, void *(*fn)(void *arg), struct load *l)
{
	if (pthread_create(t, NULL, fn, l))
		mmg_broken("starting a thread failed");
}

static void load_case(const struct mmg_case *c)
{
	struct load vcpu = { }, reclaim = { };
	static struct scenario s;
	pthread_t a, b;
	u64 kills, total;
	int i;

	(void)c;
	set_up(&s, "load");
	guest_pattern(&s.guest, 0, OP_FILL, s.all, s.r.units, KEY);
	vcpu.s = &s;
	reclaim.s = &s;
	start(&a, vcpu_load, &vcpu);
	start(&b, reclaim_load, &reclaim);
	for (i = 0; i < SWITCHES; i++) {
		mmg_doing("switch %d under load", i);
		switch_to(i % 2);
		usleep(30000);
	}
	switch_to(true);
	__atomic_store_n(&vcpu.stop, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&reclaim.stop, 1, __ATOMIC_RELAXED);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	mmg_metric("vcpu_rounds", vcpu.rounds);
	mmg_metric("reclaims", reclaim.rounds);
	if (vcpu.bad)
		mmg_fail("the guest read %llu wrong words while the lists were switched",
			 (unsigned long long)vcpu.bad);
	kills = memcg_key(&s.group.cg, "memory.events", "oom_kill");
	if (kills)
		mmg_fail("%llu OOM kills without a limit", (unsigned long long)kills);
	if (!vcpu.rounds || !reclaim.rounds)
		mmg_broken("no load: the vCPU went round %llu times, reclaim %llu times",
			   (unsigned long long)vcpu.rounds, (unsigned long long)reclaim.rounds);
	check_words(&s, "after switching under load");
	memcg_drain_lru();
	total = in_generations(&s);
	if (total + BATCH < s.r.pages)
		mmg_fail("%llu pages are in generations afterwards, the guest has %zu in memory",
			 (unsigned long long)total, region_read(&s.r));
	mmg_pass("%d switches, %llu reclaims, %llu vCPU rounds: no word lost; %llu of %zu listed",
		 SWITCHES, (unsigned long long)reclaim.rounds, (unsigned long long)vcpu.rounds,
		 (unsigned long long)total, s.r.pages);
}

static void off_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 asked, gone;
	int err;

	(void)c;
	set_up(&s, "off");
	guest_pattern(&s.guest, 0, OP_FILL, s.all, s.r.units, KEY);
	switch_to(false);
	/*
	 * The classic lists deactivate by counters that may be 2 s old (kernels with
	 * mem_cgroup_flush_stats_ratelimited()): reading memory.stat brings them up to date.
	 */
	if (!within(listed(&s.group), s.r.pages, lag()))
		mmg_fail("off: %llu pages on the classic lists, the guest has %zu",
			 (unsigned long long)listed(&s.group), s.r.pages);
	asked = s.r.pages / 2;
	mmg_doing("reclaiming with the classic lists");
	err = memcg_reclaim(&s.group.cg, asked * s.r.page_size, NULL);
	gone = s.r.units - region_read(&s.r);
	mmg_metric("gone", gone);
	if (err && (err != -EAGAIN || gone >= asked))
		mmg_fail("off: reclaim of %llu pages: %s, %llu are gone", (unsigned long long)asked,
			 strerror(-err), (unsigned long long)gone);
	if (!err && gone + BATCH < asked)
		mmg_fail("off: reclaim said all %llu pages, %llu are gone",
			 (unsigned long long)asked, (unsigned long long)gone);
	if (gone * 2 < asked || gone > asked + asked / 2 + 2 * BATCH)
		mmg_fail("off: reclaim of %llu pages took %llu", (unsigned long long)asked,
			 (unsigned long long)gone);
	check_words(&s, "with the classic lists");
	switch_to(true);
	mmg_pass("off: reclaim of %llu pages took %llu, no word lost", (unsigned long long)asked,
		 (unsigned long long)gone);
}

/* --- under a limit ------------------------------------------------------------------------ */

/* 1 where the kernel has the symbol, 0 where not, -1 where it lists no data symbols */
static int has_symbol(const char *name)
{
	bool data = false, found = false;
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], symbol[128];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %127s", symbol) != 1)
			continue;
		data |= !strcmp(symbol, "lru_gen_caps");
		found |= !strcmp(symbol, name);
	}
	fclose(f);
	return found ? 1 : data ? 0 : -1;
}

static void skip_unless_fixed(void)
{
	struct utsname u;
	int fixed = has_symbol("lru_switch"), major = 0, minor = 0;

	uname(&u);
	if (sscanf(u.release, "%d.%d", &major, &minor) != 2)
		mmg_broken("uname says release \"%s\"", u.release);
	/* without the symbol table: the version that first had it */
	if (fixed < 0)
		fixed = major > 7 || (major == 7 && minor >= 1);
	if (!fixed)
		mmg_skip("%s has not the fix (lru_switch): known to OOM-kill here up to 6.12",
			 u.release);
}

enum limited_cmd { L_START, L_WORK };

struct limited {
	struct memcg cg;
	struct scenario s;
	int *stop;
};

/* A VM in a process of its own: the OOM killer would take that, not the test */
static u64 limited_fn(void *state, int cmd, u64 arg)
{
	struct limited *l = state;
	u64 rounds = 0;

	switch (cmd) {
	case L_START:
		guest_create(&l->s.guest, 1, arg, NULL);
		region_create(&l->s.r, BACK_ANON, arg, 0);
		l->s.all = list_all(l->s.r.units, 0);
		guest_set_memory(&l->s.guest, &l->s.r, 1, 0);
		memcg_enter(&l->cg, 0);
		scenario_touch(&l->s, l->s.all, l->s.r.units, true);
		return l->s.r.units;
	case L_WORK:
		while (!__atomic_load_n(l->stop, __ATOMIC_RELAXED)) {
			scenario_touch(&l->s, l->s.all, l->s.r.units, true);
			rounds++;
		}
	}
	return rounds;
}

static void limit_case(const struct mmg_case *c)
{
	size_t bytes = mmg_opts.mem_bytes / 4, max = bytes / 4 * 3;
	static struct limited l;
	struct worker w;
	u64 kills, hits, rounds = 0;
	int i;

	(void)c;
	guest_require();
	mglru_require(2 * bytes);
	skip_unless_fixed();
	l.stop = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (l.stop == MAP_FAILED)
		mmg_broken("mmap: %s", strerror(errno));
	memcg_create(&l.cg, NULL, "limit");
	worker_start(&w, limited_fn, &l);
	worker_call(&w, L_START, bytes);
	if (memcg_write(&l.cg, "memory.max", "%zu", max))
		mmg_broken("memory.max of %zu bytes was refused", max);
	hits = memcg_key(&l.cg, "memory.events", "max");
	worker_send(&w, L_WORK, 0);
	for (i = 0; i < 2 * SWITCHES; i++) {
		mmg_doing("switch %d at the limit", i);
		switch_to(i % 2);
		usleep(20000);
	}
	switch_to(true);
	hits = memcg_key(&l.cg, "memory.events", "max") - hits;
	kills = memcg_key(&l.cg, "memory.events", "oom_kill");
	__atomic_store_n(l.stop, 1, __ATOMIC_RELAXED);
	mmg_metric("limit_hits", hits);
	mmg_metric("oom_kills", kills);
	if (kills)
		mmg_fail("%llu OOM kills while lru_gen was switched (memory.max hit %llu times)",
			 (unsigned long long)kills, (unsigned long long)hits);
	rounds = worker_wait(&w);
	if (!hits)
		mmg_broken("the VM never hit its memory.max");
	mmg_pass("%d switches, memory.max hit %llu times, %llu rounds of the VM: no OOM kill",
		 2 * SWITCHES, (unsigned long long)hits, (unsigned long long)rounds);
}

static const struct mmg_case cases[] = {
	{ .name = "bits", .fn = bits_case },
	{ .name = "pages-kept", .fn = pages_case },
	{ .name = "order-after", .fn = order_case },
	{ .name = "under-load", .fn = load_case },
	{ .name = "off-reclaim", .fn = off_case },
	{ .name = "limit", .fn = limit_case, .destructive = true },
};

static const struct mmg_test test = {
	.name = "kvm/toggle",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
