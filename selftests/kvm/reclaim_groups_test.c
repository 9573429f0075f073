// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does memory.reclaim take from the group it was asked of, and respect protection?
 * mmgate-guards: 94968384dde1 memcg: introduce per-memcg reclaim interface
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 400
 *
 * Two VMs, each in a process and a group of its own:
 *
 *	reclaim of		taken
 *	one VM's group		its own pages, none of its sibling
 *	the parent, one hot	the cold VM's
 *	the parent, low or min	none of the protected VM while the other has some
 *	a VM above its min	what is above
 *
 * How it could mislead: reclaim of a group ages its children (the hot VM goes on touching
 * all of its memory while the parent is reclaimed).
 */
#include "reclaim_request.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "worker.h"

enum tenant_cmd { T_START, T_HEAT, T_ABSENT };

/* A VM in a process and a group of its own */
struct tenant {
	struct memcg cg;
	struct worker w;
	struct scenario s;		/* the helper's */
	size_t units;
	int *cool;		/* shared: ends T_HEAT */
};

static u64 tenant_fn(void *state, int cmd, u64 arg)
{
	struct tenant *t = state;
	u64 rounds = 0;

	switch (cmd) {
	case T_START:
		guest_create(&t->s.guest, 1, arg, NULL);
		region_create(&t->s.r, BACK_ANON, arg, 0);
		t->s.all = list_all(t->s.r.units, 0);
		guest_set_memory(&t->s.guest, &t->s.r, 1, 0);
		memcg_enter(&t->cg, 0);
		scenario_touch(&t->s, t->s.all, t->s.r.units, true);
		region_check_resident(&t->s.r);
		memcg_drain_lru();
		return t->s.r.units;
	case T_HEAT:
		while (!__atomic_load_n(t->cool, __ATOMIC_RELAXED)) {
			scenario_touch(&t->s, t->s.all, t->s.r.units, false);
			rounds++;
		}
		return rounds;
	case T_ABSENT:
		return t->s.r.units - region_read(&t->s.r);
	}
	return 0;
}

static void tenant_start(struct tenant *t, const struct memcg *parent, const char *name,
			 size_t bytes)
{
	memcg_create(&t->cg, parent, name);
	t->cool = mmap(NULL, reclaim_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (t->cool == MAP_FAILED)
		mmg_broken("mmap: %s", strerror(errno));
	worker_start(&t->w, tenant_fn, t);
	t->units = worker_call(&t->w, T_START, bytes);
}

static u64 absent(struct tenant *t)
{
	return worker_call(&t->w, T_ABSENT, 0);
}

static void age_group(const struct memcg *cg)
{
	static struct group group;

	group.cg = *cg;
	group.cg.path = group.cg.dir + (cg->path - cg->dir);
	group.id = memcg_lru_gen_id(cg);
	group_age(&group, true);
}

struct family {
	struct memcg parent;
	struct tenant a, b;
};

static void start_family(struct family *f, bool nested)
{
	size_t bytes = mmg_opts.mem_bytes / 4;

	guest_require();
	mglru_require(bytes * 2);
	region_node();
	if (nested)
		memcg_create(&f->parent, NULL, "parent");
	mmg_doing("starting two VMs");
	tenant_start(&f->a, nested ? &f->parent : NULL, "a", bytes);
	tenant_start(&f->b, nested ? &f->parent : NULL, "b", bytes);
	age_group(&f->a.cg);
	age_group(&f->b.cg);
	age_group(&f->a.cg);
	age_group(&f->b.cg);
}

static void siblings_case(const struct mmg_case *c)
{
	bool nested = c->arg;
	static struct family f;
	u64 b_current, b_steal, gone_a, gone_b;
	double took;
	int err;

	start_family(&f, nested);
	b_current = memcg_read(&f.b.cg, "memory.current");
	b_steal = memcg_key(&f.b.cg, "memory.stat", "pgsteal");
	mmg_doing("reclaiming from the first VM's group");
	err = bounded_reclaim(&f.a.cg, f.a.units / 2 * reclaim_page(), NULL, &took);
	gone_a = absent(&f.a);
	gone_b = absent(&f.b);
	b_steal = memcg_key(&f.b.cg, "memory.stat", "pgsteal") - b_steal;
	mmg_metric("target_evicted", gone_a);
	mmg_metric("sibling_evicted", gone_b);
	if (gone_b || b_steal)
		mmg_fail("reclaim of one VM's group took %llu pages of its sibling (pgsteal %llu)",
			 (unsigned long long)gone_b, (unsigned long long)b_steal);
	if (!within(memcg_read(&f.b.cg, "memory.current"), b_current, lag() * reclaim_page()))
		mmg_fail("the sibling's memory.current went from %llu to %llu",
			 (unsigned long long)b_current,
			 (unsigned long long)memcg_read(&f.b.cg, "memory.current"));
	if (err || !within(gone_a, f.a.units / 2, 2 * BATCH))
		mmg_fail("reclaim of half of a VM's group: %s, %llu of %zu pages gone",
			 err ? strerror(-err) : "0", (unsigned long long)gone_a, f.a.units);
	mmg_pass("reclaim of one VM's group took %llu of its pages and 0 of its sibling's",
		 (unsigned long long)gone_a);
}

/* One VM goes on touching all it has while the parent is reclaimed */
static void parent_case(const struct mmg_case *c)
{
	static struct family f;
	struct tenant *h = c->arg ? &f.a : &f.b, *o = c->arg ? &f.b : &f.a;
	u64 hot, cold, asked, rounds;
	double took;

	start_family(&f, true);
	asked = f.a.units / 2;
	cold = memcg_key(&o->cg, "memory.stat", "pgsteal");
	hot = memcg_key(&h->cg, "memory.stat", "pgsteal");
	mmg_doing("reclaiming from the parent, one VM is hot");
	worker_send(&h->w, T_HEAT, 0);
	usleep(20000);
	bounded_reclaim(&f.parent, asked * reclaim_page(), NULL, &took);
	__atomic_store_n(h->cool, 1, __ATOMIC_RELAXED);
	rounds = worker_wait(&h->w);
	cold = memcg_key(&o->cg, "memory.stat", "pgsteal") - cold;
	hot = memcg_key(&h->cg, "memory.stat", "pgsteal") - hot;
	mmg_metric("cold_evicted", cold);
	mmg_metric("hot_evicted", hot);
	mmg_metric("rounds", rounds);
	if (!rounds)
		mmg_broken("the hot VM did not run while the parent was reclaimed");
	if (!within(cold + hot, asked, asked / 4 + 2 * BATCH))
		mmg_fail("parent reclaim of %llu pages took %llu cold and %llu hot ones",
			 (unsigned long long)asked, (unsigned long long)cold,
			 (unsigned long long)hot);
	if (hot * 4 > cold)
		mmg_fail("parent reclaim took %llu pages of the hot VM, %llu of the cold one",
			 (unsigned long long)hot, (unsigned long long)cold);
	mmg_pass("reclaim from the parent took the cold VM first: %llu pages, %llu of the hot one",
		 (unsigned long long)cold, (unsigned long long)hot);
}

static void protect(const struct memcg *cg, const char *file, const char *value)
{
	int err = memcg_write(cg, file, "%s", value);

	if (err)
		mmg_broken("writing \"%s\" to %s/%s: %s", value, cg->dir, file, strerror(-err));
}

static void protection_case(const struct mmg_case *c)
{
	const char *file = c->arg;
	bool min = !strcmp(file, "memory.min");
	static struct family f;
	u64 gone_a, gone_b, events;
	double took;
	int err;

	start_family(&f, true);
	protect(&f.parent, file, "1G");
	protect(&f.a.cg, file, "1G");
	mmg_doing("reclaiming from the parent, one VM is protected by %s", file);
	err = bounded_reclaim(&f.parent, f.b.units / 2 * reclaim_page(), NULL, &took);
	gone_a = absent(&f.a);
	gone_b = absent(&f.b);
	mmg_metric("protected_evicted", gone_a);
	mmg_metric("other_evicted", gone_b);
	if (gone_a)
		mmg_fail("parent reclaim took %llu pages of a VM within its %s, %llu others",
			 (unsigned long long)gone_a, file, (unsigned long long)gone_b);
	if (err || gone_b + BATCH < f.b.units / 2)
		mmg_fail("reclaim from the parent: %s, took %llu of %zu unprotected pages",
			 err ? strerror(-err) : "0", (unsigned long long)gone_b, f.b.units);
	mmg_doing("reclaiming more than is not protected");
	events = memcg_key(&f.a.cg, "memory.events", "low");
	err = bounded_reclaim(&f.parent, (f.a.units + f.b.units) * reclaim_page(), NULL, &took);
	gone_a = absent(&f.a);
	events = memcg_key(&f.a.cg, "memory.events", "low") - events;
	mmg_metric("protected_evicted_at_last", gone_a);
	if (min && (gone_a || err != -EAGAIN))
		mmg_fail("%llu pages of a VM within its memory.min were taken at last (%s)",
			 (unsigned long long)gone_a, err ? strerror(-err) : "0");
	if (!min && gone_a && !events)
		mmg_fail("%llu pages of a VM within its memory.low went without a low event",
			 (unsigned long long)gone_a);
	mmg_pass("%s held: 0 pages while others had some; then %llu of %zu (low events %llu)",
		 file, (unsigned long long)gone_a, f.a.units, (unsigned long long)events);
}

/* Above its memory.min a VM is reclaimed, down to it */
static void partial_min_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct memcg parent;
	struct scenario_opts o = { .name = "child", .parent = &parent };
	u64 min, left;
	double took;
	int err;

	(void)c;
	guest_require();
	o.bytes = mmg_opts.mem_bytes / 2;
	mglru_require(o.bytes);
	memcg_create(&parent, NULL, "parent");
	scenario_create(&s, &o);
	scenario_populate(&s);
	reclaim_age(&s);
	reclaim_age(&s);
	min = s.r.pages / 2;
	err = memcg_write(&parent, "memory.min", "max");
	if (!err)
		err = memcg_write(&s.group.cg, "memory.min", "%llu",
				  (unsigned long long)(min * reclaim_page()));
	if (err)
		mmg_broken("memory.min: %s", strerror(-err));
	mmg_doing("reclaiming all from the parent");
	err = bounded_reclaim(&parent, 2 * s.r.pages * reclaim_page(), NULL, &took);
	left = memcg_read(&s.group.cg, "memory.current") / reclaim_page();
	mmg_metric("min_pages", min);
	mmg_metric("left_pages", left);
	if (err != -EAGAIN || left + 2 * BATCH < min)
		mmg_fail("reclaim left %llu pages to a VM with memory.min of %llu (%s)",
			 (unsigned long long)left, (unsigned long long)min,
			 err ? strerror(-err) : "0");
	if (left > min + min / 4 + lag())
		mmg_fail("reclaim left %llu pages to a VM, only %llu are protected",
			 (unsigned long long)left, (unsigned long long)min);
	mmg_pass("reclaim left %llu pages, memory.min is %llu", (unsigned long long)left,
		 (unsigned long long)min);
}

#define SLOW(name_, ...) { .name = name_, .timeout_s = RECLAIM_TIMEOUT_S, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("siblings", .fn = siblings_case),
	SLOW("siblings-nested", .fn = siblings_case, .arg = "nested"),
	SLOW("parent-cold-first", .fn = parent_case),
	SLOW("parent-cold-second", .fn = parent_case, .arg = "second"),
	SLOW("low", .fn = protection_case, .arg = "memory.low"),
	SLOW("min", .fn = protection_case, .arg = "memory.min"),
	SLOW("min-partial", .fn = partial_min_case),
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_groups",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
