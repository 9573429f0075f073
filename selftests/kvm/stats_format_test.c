// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: do lru_gen and lru_gen_full say what is documented, and the truth?
 * mmgate-guards: 798c0330c2ca mm: multi-gen LRU: remove MM_LEAF_OLD and MM_NONLEAF_TOTAL stats
 * mmgate-guards: d6c3af7d8a2b mm: multi-gen LRU: debugfs interface
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * Each row is read and printed again in the kernel's own format: it is right where that
 * gives the same bytes.
 *
 *	lru_gen		memcg, node, 2 to 4 generations; no other row
 *	lru_gen_full	each generation has 4 tiers and a row of walk counters
 *	columns		TYFA and RTx;  LOYNFA and RT before the companion patch (6.12)
 *
 * The columns are a case of their own: it fails on kernels that still have the two
 * counters which the companion patch removed, and says which; all others take both
 * forms.  Then the numbers: pages against memory.stat and against the memory that is
 * there, also after many agings (drift) and by active and inactive, T Y F A around one
 * aging with known touches, evicted and refaulted of the tiers around one reclaim, the
 * ages against the clock.
 *
 * How it could mislead: other groups change while a file is read (only the idle group of
 * the test is compared); memory.stat lags by a batch a CPU (allowed for).
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lru_gen_format.h"

#define BATCH	64
#define FORM_TRIES	20

static const char *const file_of[] = { LRU_GEN_DIR "lru_gen", LRU_GEN_DIR "lru_gen_full" };

static size_t bytes_now(void)
{
	return mmg_opts.mem_bytes / 4;
}

static void set_up(struct scenario *s, bool host)
{
	struct scenario_opts o = { .name = "stats", .host = host, .bytes = bytes_now() };

	if (!host)
		guest_require();
	mglru_require(bytes_now());
	scenario_create(s, &o);
	scenario_populate(s);
}

/* --- form --------------------------------------------------------------------------- */

static void read_format(bool full, struct lru_gen_format *f)
{
	char *text = mmg_read_file(file_of[full], NULL);
	struct lru_gen_error err;

	if (!text)
		mmg_skip("%s: %s: root? debugfs mounted? CONFIG_LRU_GEN?", file_of[full],
			 strerror(errno));
	if (lru_gen_check_format(text, full, f, &err))
		mmg_fail("%s line %u: %s", file_of[full], err.line, err.what);
	free(text);
}

static void form_case(const struct mmg_case *c)
{
	bool full = c->arg;
	mode_t want = full ? 0444 : 0644;
	static struct lru_gen_format f;
	static struct scenario s;
	struct stat st;

	set_up(&s, true);
	read_format(full, &f);
	if (stat(file_of[full], &st) || (st.st_mode & 0777) != want)
		mmg_fail("%s has mode %o instead of %o", file_of[full], st.st_mode & 0777, want);
	mmg_metric("memcgs", f.memcgs);
	mmg_metric("generations", f.gens);
	mmg_pass("%u groups, %u nodes, %u generations, %u tiers: each row as documented", f.memcgs,
		 f.nodes, f.gens, f.tiers);
}

static void columns_case(const struct mmg_case *c)
{
	static struct lru_gen_format f;
	static struct scenario s;

	(void)c;
	set_up(&s, true);
	read_format(true, &f);
	mmg_metric("columns", f.columns);
	if (!f.columns)
		mmg_skip("no walk counters: this kernel does not walk page tables");
	if (f.columns == 6)
		mmg_fail("\"%s\" and \"%s\": the counters that the companion patch of 6.12 removed",
			 f.walk, f.tier);
	mmg_pass("four walk counters, %s; tiers %s", f.walk, f.tier);
}

/* --- pages ---------------------------------------------------------------------------- */

static u64 stat_pages(const struct group *group, const char *what)
{
	char key[32];
	u64 sum;

	snprintf(key, sizeof(key), "inactive_%s", what);
	sum = memcg_key(&group->cg, "memory.stat", key);
	snprintf(key, sizeof(key), "active_%s", what);
	sum += memcg_key(&group->cg, "memory.stat", key);
	return sum / sysconf(_SC_PAGESIZE);
}

static bool within(u64 a, u64 b, u64 slack)
{
	return a <= b + slack && b <= a + slack;
}

static bool same_pages(const struct lru_gen_memcg *a, const struct lru_gen_memcg *b)
{
	unsigned int i, g;

	for (i = 0; i < a->nr_nodes && i < b->nr_nodes; i++) {
		for (g = 0; g < a->node[i].nr_gens * 2; g++) {
			u64 seq = a->node[i].gen[g / 2].seq;

			if (lru_gen_pages(&a->node[i], seq, g % 2) !=
			    lru_gen_pages(&b->node[i], seq, g % 2))
				return false;
		}
	}
	return true;
}

/*
 * Both files, generation by generation.  Pages in a CPU's batch may come onto the lists
 * between two reads: the long form counts when the short one is the same before and after.
 */
static void compare_forms(struct scenario *s)
{
	static struct lru_gen_memcg brief, full;
	unsigned int i, g;
	int type, tries;

	for (tries = 0; tries < FORM_TRIES; tries++) {
		memcg_drain_lru();
		group_read(&s->group, false);
		brief = s->group.info;
		group_read(&s->group, true);
		full = s->group.info;
		group_read(&s->group, false);
		if (same_pages(&brief, &s->group.info))
			break;
	}
	if (tries == FORM_TRIES)
		mmg_broken("lru_gen never read twice alike in %d tries: others use the group",
			   FORM_TRIES);
	for (i = 0; i < brief.nr_nodes; i++) {
		const struct lru_gen_node *a = &brief.node[i], *b = &full.node[i];

		if (lru_gen_max_seq(a) != lru_gen_max_seq(b))
			mmg_fail("youngest generation %llu in lru_gen, %llu in lru_gen_full",
				 (unsigned long long)lru_gen_max_seq(a),
				 (unsigned long long)lru_gen_max_seq(b));
		for (g = 0; g < a->nr_gens * 2; g++) {
			u64 seq = a->gen[g / 2].seq;

			type = g % 2;
			if (lru_gen_pages(a, seq, type) != lru_gen_pages(b, seq, type))
				mmg_fail("generation %llu: %llu pages, %llu in lru_gen_full",
					 (unsigned long long)seq,
					 (unsigned long long)lru_gen_pages(a, seq, type),
					 (unsigned long long)lru_gen_pages(b, seq, type));
		}
	}
}

static void pages_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 anon, file, lag = BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
	int round;

	(void)c;
	set_up(&s, false);
	for (round = 0; round < 3; round++) {
		compare_forms(&s);
		anon = group_total(&s.group, LRU_GEN_ANON);
		file = group_total(&s.group, LRU_GEN_FILE);
		mmg_info("generations: %llu anonymous, %llu file; memory.stat: %llu, %llu; guest %zu",
			 (unsigned long long)anon, (unsigned long long)file,
			 (unsigned long long)stat_pages(&s.group, "anon"),
			 (unsigned long long)stat_pages(&s.group, "file"), s.r.pages);
		if (anon < s.r.pages || anon > s.r.pages + BATCH)
			mmg_fail("the generations have %llu pages, the guest %zu",
				 (unsigned long long)anon, s.r.pages);
		if (!within(anon, stat_pages(&s.group, "anon"), lag) ||
		    !within(file, stat_pages(&s.group, "file"), lag))
			mmg_fail("generations have %llu and %llu pages, memory.stat %llu and %llu",
				 (unsigned long long)anon, (unsigned long long)file,
				 (unsigned long long)stat_pages(&s.group, "anon"),
				 (unsigned long long)stat_pages(&s.group, "file"));
		scenario_touch(&s, s.all, s.r.units / 2, false);
		group_age(&s.group, true);
	}
	mmg_pass("files and memory.stat agree through three agings: %llu pages, guest %zu",
		 (unsigned long long)anon, s.r.pages);
}

static u64 stat_of(const struct group *group, const char *key)
{
	return memcg_key(&group->cg, "memory.stat", key) / sysconf(_SC_PAGESIZE);
}

/* The two youngest generations are what others call active (lru_gen_is_active()) */
static void check_active(struct scenario *s, const char *when)
{
	u64 lag = BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
	u64 young, old, active, inactive;

	memcg_drain_lru();
	group_read(&s->group, false);
	young = group_pages(&s->group, 0, LRU_GEN_ANON) + group_pages(&s->group, 1, LRU_GEN_ANON);
	old = group_total(&s->group, LRU_GEN_ANON) - young;
	active = stat_of(&s->group, "active_anon");
	inactive = stat_of(&s->group, "inactive_anon");
	mmg_info("%s: two youngest generations %llu, older %llu; active %llu, inactive %llu", when,
		 (unsigned long long)young, (unsigned long long)old, (unsigned long long)active,
		 (unsigned long long)inactive);
	if (!within(young, active, lag) || !within(old, inactive, lag))
		mmg_fail("%s: %llu young and %llu old, memory.stat: active %llu, inactive %llu",
			 when, (unsigned long long)young, (unsigned long long)old,
			 (unsigned long long)active, (unsigned long long)inactive);
}

static void active_case(const struct mmg_case *c)
{
	static struct scenario s;

	(void)c;
	set_up(&s, false);
	check_active(&s, "faulted in");
	group_age(&s.group, true);
	check_active(&s, "aged");
	group_age(&s.group, true);
	check_active(&s, "aged without touches");
	scenario_touch(&s, s.all, s.r.units / 2, false);
	group_age(&s.group, true);
	scenario_touch(&s, s.all, s.r.units / 2, false);
	group_age(&s.group, true);
	check_active(&s, "half touched and aged twice");
	if (!within(group_pages(&s.group, 1, LRU_GEN_ANON), s.r.pages / 2, BATCH))
		mmg_broken("%llu of %zu touched pages moved",
			   (unsigned long long)group_pages(&s.group, 1, LRU_GEN_ANON),
			   s.r.pages / 2);
	mmg_pass("active_anon is the two youngest generations, inactive_anon the others");
}

#define DRIFT_ROUNDS	32

/*
 * What a walk moves is counted in batches of 4096 (MAX_LRU_BATCH, reset_batch_size()).  A
 * page that is counted twice or not at all with each of them shows after some rounds.
 */
static void drift_case(const struct mmg_case *c)
{
	struct scenario_opts o = { .name = "drift", .host = c->arg };
	static struct scenario s;
	u64 before, after, stat, lag = BATCH * (1 + sysconf(_SC_NPROCESSORS_ONLN));
	int round;

	if (!o.host)
		guest_require();
	mglru_require(mmg_opts.mem_bytes);
	scenario_create(&s, &o);
	scenario_populate(&s);
	group_age(&s.group, true);
	memcg_drain_lru();
	group_read(&s.group, false);
	before = group_total(&s.group, LRU_GEN_ANON);
	for (round = 0; round < DRIFT_ROUNDS; round++) {
		mmg_doing("aging, round %d of %d", round + 1, DRIFT_ROUNDS);
		scenario_touch(&s, s.all, s.r.units, false);
		group_age(&s.group, true);
	}
	memcg_drain_lru();
	group_read(&s.group, false);
	after = group_total(&s.group, LRU_GEN_ANON);
	stat = stat_pages(&s.group, "anon");
	mmg_metric("before", before);
	mmg_metric("after", after);
	mmg_metric("memory_stat", stat);
	if (!within(before, after, DRIFT_ROUNDS / 2))
		mmg_fail("%d agings turned %llu pages of the generations into %llu", DRIFT_ROUNDS,
			 (unsigned long long)before, (unsigned long long)after);
	if (!within(after, stat, lag))
		mmg_fail("after %d agings the generations have %llu pages, memory.stat %llu",
			 DRIFT_ROUNDS, (unsigned long long)after, (unsigned long long)stat);
	mmg_pass("%llu pages before, %llu after %d agings of all of them",
		 (unsigned long long)before, (unsigned long long)after, DRIFT_ROUNDS);
}

/* --- walk counters ---------------------------------------------------------------------- */

struct walk {
	long long total, young, found, added;
};

static void read_walk(struct scenario *s, struct walk *w)
{
	group_read(&s->group, true);
	w->total = group_counter(&s->group, WALK_TOTAL);
	w->young = group_counter(&s->group, WALK_YOUNG);
	w->found = group_counter(&s->group, WALK_FOUND);
	w->added = group_counter(&s->group, WALK_ADDED);
	if (w->young < 0)
		mmg_skip("lru_gen_full shows no walk counters here (no page-table walk)");
}

/* Deltas around one aging */
static void walk_once(struct scenario *s, struct walk *d)
{
	struct walk a;

	read_walk(s, &a);
	group_age(&s->group, true);
	read_walk(s, d);
	d->total -= a.total;
	d->young -= a.young;
	d->found -= a.found;
	d->added -= a.added;
	mmg_info("one aging: total %lld, young %lld, found %lld, added %lld", d->total, d->young,
		 d->found, d->added);
}

/* Every other page is touched: dense enough for the filter, in each page table */
static u32 *every_other(const struct scenario *s, size_t *n)
{
	u32 *list = malloc(s->r.units * sizeof(*list));
	size_t i;

	for (i = *n = 0; i < s->r.units; i += 2)
		list[(*n)++] = i;
	return list;
}

static void counters_case(const struct mmg_case *c)
{
	bool host = c->arg;
	static struct scenario s;
	struct walk touched, idle;
	long long tables, n;
	size_t count;
	u32 *list;

	set_up(&s, host);
	tables = s.r.pages * s.r.page_size / HUGE_SIZE;
	group_age(&s.group, true);
	list = every_other(&s, &count);
	n = count;
	scenario_touch(&s, list, count, false);
	walk_once(&s, &touched);
	walk_once(&s, &idle);
	mmg_metric("touched", n);
	mmg_metric("total", touched.total);
	mmg_metric("young", touched.young);
	mmg_metric("young_idle", idle.young);
	mmg_metric("tables_found", touched.found);
	mmg_metric("tables_added", touched.added);
	if (touched.young < n || touched.young > n + BATCH)
		mmg_fail("a walk counted %lld young entries, %lld were touched by the %s",
			 touched.young, n, host ? "host" : "guest");
	if (touched.total < (long long)s.r.units)
		mmg_fail("a walk counted %lld entries, the region alone has %zu", touched.total,
			 s.r.units);
	if (idle.young > BATCH)
		mmg_fail("a walk counted %lld young entries, none was touched", idle.young);
	if (touched.found < tables)
		mmg_fail("a forced walk looked into %lld page tables, the region has %lld",
			 touched.found, tables);
	if (touched.added < tables || touched.added > tables + 4 || idle.added > 4)
		mmg_fail("%lld tables went into the filter, %lld are dense; then %lld of none",
			 touched.added, tables, idle.added);
	mmg_pass("young %lld of %lld touched, then %lld; dense tables %lld of %lld, then %lld",
		 touched.young, n, idle.young, touched.added, tables, idle.added);
}

/* --- tiers -------------------------------------------------------------------------------- */

/* Evicted (1) or refaulted (0) anonymous pages in the tiers of all older generations */
static u64 tier_sum(struct scenario *s, int which)
{
	u64 sum = 0;
	unsigned int i, g, t;

	group_read(&s->group, true);
	for (i = 0; i < s->group.info.nr_nodes; i++) {
		const struct lru_gen_node *node = &s->group.info.node[i];

		for (g = 0; g + 1 < node->nr_gens; g++) {
			for (t = 0; t < node->gen[g].nr_tiers; t++) {
				const struct lru_gen_tier *row = &node->gen[g].tier[t];

				if (row->mark[LRU_GEN_ANON][0] == 'r')
					sum += row->n[LRU_GEN_ANON][which];
			}
		}
	}
	return sum;
}

static void tiers_case(const struct mmg_case *c)
{
	static struct scenario s;
	u64 evicted, refaulted, gone, back, stat;

	(void)c;
	set_up(&s, true);
	group_age(&s.group, true);
	group_age(&s.group, true);
	mmg_doing("reclaiming a quarter");
	evicted = tier_sum(&s, 1);
	refaulted = tier_sum(&s, 0);
	stat = memcg_key(&s.group.cg, "memory.stat", "workingset_refault_anon");
	memcg_reclaim(&s.group.cg, s.r.pages / 4 * s.r.page_size, NULL);
	gone = s.r.units - region_read(&s.r);
	evicted = tier_sum(&s, 1) - evicted;
	scenario_touch(&s, s.all, s.r.units, false);
	back = region_read(&s.r) - (s.r.units - gone);
	refaulted = tier_sum(&s, 0) - refaulted;
	stat = memcg_key(&s.group.cg, "memory.stat", "workingset_refault_anon") - stat;
	mmg_metric("gone", gone);
	mmg_metric("evicted", evicted);
	mmg_metric("back", back);
	mmg_metric("refaulted", refaulted);
	if (!within(evicted, gone, BATCH))
		mmg_fail("the tiers count %llu evicted pages, %llu are gone",
			 (unsigned long long)evicted, (unsigned long long)gone);
	if (!within(refaulted, back, BATCH))
		mmg_fail("the tiers count %llu refaulted pages, %llu came back",
			 (unsigned long long)refaulted, (unsigned long long)back);
	if (!within(stat, back, BATCH))
		mmg_fail("workingset_refault_anon counts %llu pages, %llu came back",
			 (unsigned long long)stat, (unsigned long long)back);
	mmg_pass("evicted %llu of %llu gone, refaulted %llu of %llu that came back",
		 (unsigned long long)evicted, (unsigned long long)gone,
		 (unsigned long long)refaulted, (unsigned long long)back);
}

/* --- ages ----------------------------------------------------------------------------------- */

#define TICK_MS	20	/* two ticks at HZ=100 */
#define NAP_MS	120

/*
 * The clock that moves with jiffies, in which generations are dated: where a virtual CPU
 * loses its time, both stand still (43 ms on a busy host).
 */
static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void ages_case(const struct mmg_case *c)
{
	const struct lru_gen_node *node;
	double born[3], before, after, age;
	static struct scenario s;
	unsigned int i, g;

	(void)c;
	set_up(&s, true);
	for (i = 0; i < 3; i++) {
		group_age(&s.group, true);
		born[i] = now_ms();
		usleep(NAP_MS * 1000);
	}
	before = now_ms();
	group_read(&s.group, false);
	after = now_ms();
	node = &s.group.info.node[0];
	for (g = 1; g < node->nr_gens; g++) {
		if (node->gen[g].age_ms > node->gen[g - 1].age_ms)
			mmg_fail("generation %llu is older than the one before: %llu, %llu ms",
				 (unsigned long long)node->gen[g].seq,
				 (unsigned long long)node->gen[g].age_ms,
				 (unsigned long long)node->gen[g - 1].age_ms);
	}
	for (i = 0; i < 3 && i < node->nr_gens; i++) {
		age = node->gen[node->nr_gens - 1 - i].age_ms;
		mmg_info("generation -%u: %.0f ms old, opened %.0f ms before", i, age,
			 before - born[2 - i]);
		/* opened at the latest when the command came back, and read by @after */
		if (age + TICK_MS < before - born[2 - i])
			mmg_fail("generation -%u is %.0f ms old, opened %.0f ms before", i, age,
				 before - born[2 - i]);
		if (i < 2 && age > after - born[1 - i] + TICK_MS)
			mmg_fail("generation -%u is %.0f ms old, the next came %.0f ms before",
				 i, age, after - born[1 - i]);
	}
	mmg_pass("ages follow the clock: youngest %llu ms, oldest %llu ms",
		 (unsigned long long)node->gen[node->nr_gens - 1].age_ms,
		 (unsigned long long)node->gen[0].age_ms);
}

/* --- commands --------------------------------------------------------------------------------- */

static void refused_case(const struct mmg_case *c)
{
	static struct scenario s;
	unsigned long long id, seq;
	char text[12][64];
	int err, nid, i, n = 0;

	(void)c;
	set_up(&s, true);
	group_age(&s.group, true);
	group_read(&s.group, false);
	id = s.group.id;
	nid = s.group.info.node[0].nid;
	seq = lru_gen_max_seq(&s.group.info.node[0]);
	snprintf(text[n++], 64, "junk");
	snprintf(text[n++], 64, "+ %llu", id);
	snprintf(text[n++], 64, "+ %llu %d", id, nid);
	snprintf(text[n++], 64, "* %llu %d %llu", id, nid, seq);
	snprintf(text[n++], 64, "+ %llu %d %llu", id, nid, seq + 1);
	snprintf(text[n++], 64, "+ %llu 999 %llu", id, seq);
	snprintf(text[n++], 64, "+ %llu %d %llu 202", id, nid, seq);
	snprintf(text[n++], 64, "+ %llu %d %llu 200 1 junk", id, nid, seq);
	snprintf(text[n++], 64, "- %llu %d %llu", id, nid, seq);
	snprintf(text[n++], 64, "- %llu %d %llu", id, nid, seq - 1);
	for (i = 0; i < n; i++) {
		err = lru_gen_command(text[i]);
		if (err != -EINVAL)
			mmg_fail("\"%s\": %s instead of EINVAL", text[i],
				 err ? strerror(-err) : "0");
	}
	group_read(&s.group, false);
	if (lru_gen_max_seq(&s.group.info.node[0]) != seq || region_read(&s.r) != s.r.units)
		mmg_fail("a command that was refused aged or evicted");
	mmg_pass("%d malformed commands were refused with EINVAL and did nothing", n);
}

static const bool yes = true;

static const struct mmg_case cases[] = {
	{ .name = "short-form", .fn = form_case },
	{ .name = "full-form", .fn = form_case, .arg = &yes },
	{ .name = "columns", .fn = columns_case },
	{ .name = "pages", .fn = pages_case },
	{ .name = "active", .fn = active_case },
	{ .name = "drift", .fn = drift_case },
	{ .name = "counters", .fn = counters_case },
	{ .name = "host-counters", .fn = counters_case, .arg = &yes },
	{ .name = "tiers", .fn = tiers_case },
	{ .name = "ages", .fn = ages_case },
	{ .name = "refused", .fn = refused_case },
};

static const struct mmg_test test = {
	.name = "kvm/stats_format",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
