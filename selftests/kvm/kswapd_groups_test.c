// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: from which of several VMs does kswapd take, and does protection hold?
 * mmgate-guards: e4dde56cd208 mm: multi-gen LRU: per-node lru_gen_folio lists
 * mmgate-guards: 22199fd0 mm: memcg, vmscan: integrate protection into global reclaim
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * Each VM has a process and a group of its own.  A helper locks all other memory and
 * then a little more at a time, so that kswapd takes from the VMs, round by round.
 *
 *	even		four VMs, all idle: each one gives, none gives nearly all
 *	many		twelve plain processes in groups of their own: the same
 *	hot-spared	two idle VMs and one that goes on touching all it has
 *	turns		groups whose turn is over are found again, turn after turn
 *	turns-min	the same beside a group within memory.min, which is always passed over
 *	low, min	two VMs below one group, one of them protected with that group:
 *			it loses nothing while the other one and an outsider have pages
 *	min-shared	memory.min of the group above is half of what its two VMs ask for:
 *			each keeps its share, and loses what is beyond
 *	own-reclaim	a VM's own memory.min holds others back, not the memory.reclaim of its
 *			own group, whatever kswapd has computed for it before
 *	nested		memory.reclaim of a group with two VMs takes from both, not from a third
 *
 * How it could mislead: kswapd takes about the high watermark in one turn, from several
 * groups or from one (each turn is small beside what is asked); a VM whose pages are
 * all young gives less (all idle ones are aged alike).
 */
#include "tenant.h"

#include <stdlib.h>
#include <unistd.h>

#include "pressure.h"

#define MAX_TENANTS	12
#define MAX_STEPS	2000
#define BATCH		64
#define TURN		256	/* of what one turn of kswapd takes, a group's part */
#define TURNS		3
#define ASKS		8
#define STARVED		3	/* steps of 64 pages: low is 250 above min, see pressure_start() */

/* Several VMs, and what each has lost */
struct crowd {
	struct memcg parent;
	struct tenant t[MAX_TENANTS];
	u64 before[MAX_TENANTS], lost[MAX_TENANTS];
	int nr;
};

static struct crowd crowd;
static struct pressure pressure;

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

static struct tenant *add(struct crowd *c, const struct memcg *parent, bool host, size_t bytes)
{
	struct tenant *t = &c->t[c->nr];
	char name[16];

	snprintf(name, sizeof(name), "vm%d", c->nr++);
	t->host = host;
	mmg_doing("starting %s", name);
	tenant_start(t, parent, name, bytes);
	return t;
}

static void begin(struct crowd *c, bool need_guest)
{
	if (need_guest)
		guest_require();
	mglru_require(4 * mmg_opts.mem_bytes);
	pressure_start(&pressure, region_node());
	c->nr = 0;
}

static u64 look(struct crowd *c)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < c->nr; i++) {
		c->lost[i] = tenant_absent(&c->t[i]) - c->before[i];
		sum += c->lost[i];
	}
	return sum;
}

/* Take from the VMs until @pages are gone; @hot, if any, is touched all the while */
static u64 press(struct crowd *c, u64 pages, struct tenant *hot)
{
	u64 gone = 0, last = 0;
	int step, i, starved = 0;

	for (i = 0; i < c->nr; i++)
		c->before[i] = tenant_absent(&c->t[i]);
	mmg_doing("pressing for %llu pages", (unsigned long long)pages);
	pressure_fill(&pressure, 4 * pages);
	for (step = 0; step < MAX_STEPS && gone < pages; step++) {
		if (hot)
			tenant_touch(hot, 0, hot->units);
		if (!pressure_step(&pressure))
			break;
		gone = look(c);
		/* a little below min and somebody is killed, which tells less */
		starved = gone > last || pressure_left(&pressure) ? 0 : starved + 1;
		last = gone;
		if (starved == STARVED)
			mmg_fail("kswapd sleeps with no page above low: it took %llu of %llu pages",
				 (unsigned long long)gone, (unsigned long long)pages);
	}
	pressure_release(&pressure);
	for (i = 0; i < c->nr; i++)
		mmg_info("vm%d lost %llu of %zu pages", i, (unsigned long long)c->lost[i],
			 c->t[i].units);
	if (gone * 4 < pages * 3)
		mmg_broken("kswapd took %llu pages in %d steps, %llu were to be had",
			   (unsigned long long)gone, step, (unsigned long long)pages);
	return gone;
}

static void age_all(struct crowd *c, int rounds)
{
	int i;

	while (rounds--) {
		for (i = 0; i < c->nr; i++)
			tenant_age(&c->t[i], 1);
	}
}

/* --- who gives ---------------------------------------------------------------------- */

static void even_case(const struct mmg_case *c)
{
	bool many = c->arg;
	int nr = many ? 12 : 4, i, least = 0, most = 0;
	u64 gone, mean;

	begin(&crowd, !many);
	for (i = 0; i < nr; i++)
		add(&crowd, NULL, many, mmg_opts.mem_bytes / nr);
	age_all(&crowd, 3);
	gone = press(&crowd, nr * crowd.t[0].units / 2, NULL);
	mean = gone / nr;
	for (i = 0; i < nr; i++) {
		if (crowd.lost[i] < crowd.lost[least])
			least = i;
		if (crowd.lost[i] > crowd.lost[most])
			most = i;
	}
	mmg_metric("least", crowd.lost[least]);
	mmg_metric("most", crowd.lost[most]);
	mmg_metric("mean", mean);
	if (crowd.lost[least] * 2 < mean)
		mmg_fail("of %d idle groups one lost %llu pages, another %llu, on average %llu",
			 nr, (unsigned long long)crowd.lost[least],
			 (unsigned long long)crowd.lost[most], (unsigned long long)mean);
	mmg_pass("%d idle groups lost %llu to %llu pages, on average %llu", nr,
		 (unsigned long long)crowd.lost[least], (unsigned long long)crowd.lost[most],
		 (unsigned long long)mean);
}

static void hot_case(const struct mmg_case *c)
{
	struct tenant *hot;
	u64 idle;
	int i;

	(void)c;
	begin(&crowd, true);
	for (i = 0; i < 3; i++)
		add(&crowd, NULL, false, mmg_opts.mem_bytes / 4);
	hot = &crowd.t[1];
	for (i = 0; i < 3; i++) {
		tenant_touch(hot, 0, hot->units);
		age_all(&crowd, 1);
	}
	press(&crowd, crowd.t[0].units, hot);
	idle = crowd.lost[0] + crowd.lost[2];
	mmg_metric("hot_lost", crowd.lost[1]);
	mmg_metric("idle_lost", idle);
	if (crowd.lost[1] * 10 > idle)
		mmg_fail("the hot VM lost %llu pages, two idle ones %llu",
			 (unsigned long long)crowd.lost[1], (unsigned long long)idle);
	if (crowd.lost[0] * 8 < idle || crowd.lost[2] * 8 < idle)
		mmg_fail("of two idle VMs one lost %llu pages, the other %llu",
			 (unsigned long long)crowd.lost[0], (unsigned long long)crowd.lost[2]);
	mmg_pass("the hot VM lost %llu pages, two idle ones %llu and %llu",
		 (unsigned long long)crowd.lost[1], (unsigned long long)crowd.lost[0],
		 (unsigned long long)crowd.lost[2]);
}

/* --- turns -------------------------------------------------------------------------- */

static u64 youngest(struct tenant *t)
{
	u64 sum = 0;
	unsigned int i;

	group_read(&t->group, false);
	for (i = 0; i < t->group.info.nr_nodes; i++)
		sum += lru_gen_max_seq(&t->group.info.node[i]);
	return sum;
}

/*
 * Have a group's turn end: reclaim that finds all of it young ages it, and then moves the
 * group to the young end of the node's list of groups (lru_gen_shrink_lruvec())
 */
static void turn(struct tenant *t)
{
	u64 before;
	int tries;

	tenant_touch(t, 0, t->units);
	before = youngest(t);
	for (tries = 0; tries < 8 && youngest(t) == before; tries++)
		memcg_reclaim(&t->group.cg, BATCH * page(), NULL);
	if (youngest(t) == before)
		mmg_broken("%d requests for %d pages did not age %s", tries, BATCH,
			   t->group.cg.dir);
}

/*
 * Groups whose turn is over are found again: once the last one has left the old list, the
 * young list becomes the old one, whoever is kept from reclaim.  First by memory.reclaim of
 * the root, which goes the same way as kswapd (lru_gen_shrink_node()), then by kswapd.
 */
static void turns_case(const struct mmg_case *c)
{
	struct memcg root = { .dir = MEMCG_ROOT, .path = "/" };
	int first = c->arg ? 1 : 0, i, round, err, tries;
	u64 asked, gone, seq, all = 0, lost[4] = { };

	begin(&crowd, true);
	if (!memcg_has(&root, "memory.reclaim"))
		mmg_skip("the root group has no memory.reclaim");
	for (i = 0; i < (int)ARRAY_SIZE(lost); i++)
		add(&crowd, NULL, i % 2, mmg_opts.mem_bytes / 8);
	if (first)
		tenant_set(&crowd.t[0].group.cg, "memory.min", "1G");
	asked = (crowd.nr - first) * crowd.t[0].units / 4;
	seq = youngest(&crowd.t[first]);
	for (round = 1; round <= TURNS; round++) {
		mmg_doing("turn %d", round);
		for (i = first; i < crowd.nr; i++)
			turn(&crowd.t[i]);
		for (i = 0; i < crowd.nr; i++)
			crowd.before[i] = tenant_absent(&crowd.t[i]);
		/* what is not in our groups is taken as well, as long as it lasts */
		for (gone = 0, tries = 0, err = 0; !err && gone < asked && tries < ASKS; tries++) {
			err = memcg_reclaim(&root, asked / 2 * page(), NULL);
			gone = look(&crowd);
		}
		for (i = 0; i < crowd.nr; i++) {
			lost[i] += crowd.lost[i];
			mmg_info("turn %d: vm%d lost %llu of %zu pages", round, i,
				 (unsigned long long)crowd.lost[i], crowd.t[i].units);
		}
		if (gone * 4 < asked * 3)
			mmg_fail("turn %d, %d requests for %llu pages to the root: %s, %llu gone",
				 round, tries, (unsigned long long)asked / 2,
				 err ? strerror(-err) : "0", (unsigned long long)gone);
	}
	seq = youngest(&crowd.t[first]) - seq;
	mmg_metric("agings", seq);
	for (i = first; i < crowd.nr; i++)
		turn(&crowd.t[i]);
	gone = press(&crowd, asked, NULL);
	mmg_metric("gone", gone);
	if (first && crowd.lost[0])
		mmg_fail("kswapd took %llu pages within memory.min",
			 (unsigned long long)crowd.lost[0]);
	for (i = first; i < crowd.nr; i++) {
		lost[i] += crowd.lost[i];
		all += lost[i];
	}
	for (i = first; i < crowd.nr; i++) {
		if (lost[i] * 8 * (crowd.nr - first) < all)
			mmg_fail("of %llu pages in all vm%d lost %llu", (unsigned long long)all, i,
				 (unsigned long long)lost[i]);
	}
	mmg_pass("found again after %d turns, %llu agings: kswapd took %llu pages of %d groups",
		 TURNS + 1, (unsigned long long)seq, (unsigned long long)gone, crowd.nr - first);
}

/* --- protection ------------------------------------------------------------------------ */

static void protect_case(const struct mmg_case *c)
{
	const char *file = c->arg;
	bool low = !strcmp(file, "memory.low");
	struct tenant *kept;
	u64 others, events;

	begin(&crowd, true);
	memcg_create(&crowd.parent, NULL, "parent");
	kept = add(&crowd, &crowd.parent, false, mmg_opts.mem_bytes / 4);
	add(&crowd, &crowd.parent, false, mmg_opts.mem_bytes / 4);
	add(&crowd, NULL, false, mmg_opts.mem_bytes / 4);
	tenant_set(&crowd.parent, file, "1G");
	tenant_set(&kept->group.cg, file, "1G");
	age_all(&crowd, 3);
	press(&crowd, kept->units, NULL);
	others = crowd.lost[1] + crowd.lost[2];
	events = memcg_key(&kept->group.cg, "memory.events", "low");
	mmg_metric("low_events", events);
	mmg_metric("protected_lost", crowd.lost[0]);
	mmg_metric("sibling_lost", crowd.lost[1]);
	mmg_metric("outsider_lost", crowd.lost[2]);
	/* low is a delay in shrink_one(): the second time round it is broken, and says so */
	if (crowd.lost[0] && (!low || !events || crowd.lost[0] * 2 > others + 2 * TURN))
		mmg_fail("kswapd took %llu pages within %s, %llu of the others (low events %llu)",
			 (unsigned long long)crowd.lost[0], file, (unsigned long long)others,
			 (unsigned long long)events);
	if (crowd.lost[1] * 8 < others || crowd.lost[2] * 8 < others)
		mmg_fail("of two VMs without protection one lost %llu pages, the other %llu",
			 (unsigned long long)crowd.lost[1], (unsigned long long)crowd.lost[2]);
	mmg_pass("%s against kswapd: lost %llu (low events %llu), sibling %llu, outsider %llu",
		 file, (unsigned long long)crowd.lost[0], (unsigned long long)events,
		 (unsigned long long)crowd.lost[1], (unsigned long long)crowd.lost[2]);
}

static void shared_min_case(const struct mmg_case *c)
{
	size_t units;
	char half[32];
	int i;

	(void)c;
	begin(&crowd, true);
	memcg_create(&crowd.parent, NULL, "parent");
	for (i = 0; i < 3; i++)
		add(&crowd, i < 2 ? &crowd.parent : NULL, false, mmg_opts.mem_bytes / 4);
	units = crowd.t[0].units;
	/* of the two claims of all they have each gets half: effective_protection() */
	snprintf(half, sizeof(half), "%zu", units * page());
	tenant_set(&crowd.parent, "memory.min", half);
	for (i = 0; i < 2; i++)
		tenant_set(&crowd.t[i].group.cg, "memory.min", "1G");
	age_all(&crowd, 3);
	press(&crowd, units * 9 / 5, NULL);
	for (i = 0; i < 2; i++) {
		mmg_metric(i ? "second_lost" : "first_lost", crowd.lost[i]);
		/* a CPU's stock of charges, and one batch of eviction */
		if (crowd.lost[i] > units / 2 + BATCH * (2 + sysconf(_SC_NPROCESSORS_ONLN)))
			mmg_fail("kswapd took %llu of %zu pages, its share of memory.min is half",
				 (unsigned long long)crowd.lost[i], units);
	}
	if (crowd.lost[0] + crowd.lost[1] < units / 4)
		mmg_fail("kswapd took %llu pages beyond memory.min, %zu were to be had",
			 (unsigned long long)(crowd.lost[0] + crowd.lost[1]), units);
	mmg_pass("two VMs that share memory.min lost %llu and %llu of %zu pages, outsider %llu",
		 (unsigned long long)crowd.lost[0], (unsigned long long)crowd.lost[1], units,
		 (unsigned long long)crowd.lost[2]);
}

/* --- memory.reclaim ----------------------------------------------------------------- */

static void own_reclaim_case(const struct mmg_case *c)
{
	struct tenant *t;
	u64 asked, gone;
	int err;

	(void)c;
	begin(&crowd, true);
	memcg_create(&crowd.parent, NULL, "parent");
	t = add(&crowd, &crowd.parent, false, mmg_opts.mem_bytes / 4);
	add(&crowd, NULL, false, mmg_opts.mem_bytes / 4);
	tenant_set(&crowd.parent, "memory.min", "1G");
	tenant_set(&t->group.cg, "memory.min", "1G");
	age_all(&crowd, 3);
	/* kswapd computes what protects the VM from others, and leaves it there */
	press(&crowd, t->units / 4, NULL);
	if (crowd.lost[0])
		mmg_fail("kswapd took %llu pages of a VM within its memory.min",
			 (unsigned long long)crowd.lost[0]);
	asked = t->units / 2;
	mmg_doing("reclaiming from the VM's own group");
	err = memcg_reclaim(&t->group.cg, asked * page(), NULL);
	gone = tenant_absent(t);
	mmg_metric("asked", asked);
	mmg_metric("gone", gone);
	if (err || gone + BATCH < asked || gone > asked + 4 * BATCH)
		mmg_fail("own reclaim within memory.min: %s, %llu pages gone of %llu asked for",
			 err ? strerror(-err) : "0", (unsigned long long)gone,
			 (unsigned long long)asked);
	mmg_pass("memory.min held against kswapd, own reclaim took %llu of %llu asked for",
		 (unsigned long long)gone, (unsigned long long)asked);
}

static void nested_case(const struct mmg_case *c)
{
	u64 asked;
	int i, round, err = 0;

	(void)c;
	begin(&crowd, true);
	memcg_create(&crowd.parent, NULL, "parent");
	for (i = 0; i < 3; i++)
		add(&crowd, i < 2 ? &crowd.parent : NULL, false, mmg_opts.mem_bytes / 4);
	age_all(&crowd, 3);
	asked = crowd.t[0].units;
	for (i = 0; i < crowd.nr; i++)
		crowd.before[i] = 0;
	mmg_doing("reclaiming from the group above two VMs");
	for (round = 0; round < 8 && !err; round++)
		err = memcg_reclaim(&crowd.parent, asked / 8 * page(), NULL);
	look(&crowd);
	for (i = 0; i < 3; i++) {
		static const char *const names[] = { "first_lost", "second_lost", "third_lost" };

		mmg_metric(names[i], crowd.lost[i]);
	}
	if (crowd.lost[2])
		mmg_fail("reclaim of one group took %llu pages of a VM beside it",
			 (unsigned long long)crowd.lost[2]);
	if (err || crowd.lost[0] + crowd.lost[1] + 2 * BATCH < asked)
		mmg_fail("reclaim of a group with two VMs: %s, %llu of %llu pages gone",
			 err ? strerror(-err) : "0",
			 (unsigned long long)(crowd.lost[0] + crowd.lost[1]),
			 (unsigned long long)asked);
	for (i = 0; i < 2; i++) {
		if (crowd.lost[i] * 8 < asked)
			mmg_fail("of two idle VMs in one group reclaim took %llu and %llu pages",
				 (unsigned long long)crowd.lost[0],
				 (unsigned long long)crowd.lost[1]);
	}
	mmg_pass("reclaim of the group above took %llu and %llu pages of its VMs, 0 of another one",
		 (unsigned long long)crowd.lost[0], (unsigned long long)crowd.lost[1]);
}

#define CASE(name_, ...) { .name = name_, .destructive = true, .timeout_s = 120, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	CASE("even", .fn = even_case),
	CASE("many", .fn = even_case, .arg = "many"),
	CASE("hot-spared", .fn = hot_case),
	CASE("turns", .fn = turns_case),
	CASE("turns-min", .fn = turns_case, .arg = "memory.min"),
	CASE("low", .fn = protect_case, .arg = "memory.low"),
	CASE("min", .fn = protect_case, .arg = "memory.min"),
	CASE("min-shared", .fn = shared_min_case),
	CASE("own-reclaim", .fn = own_reclaim_case),
	CASE("nested", .fn = nested_case),
};

static const struct mmg_test test = {
	.name = "kvm/kswapd_groups",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
