// SPDX-License-Identifier: GPL-2.0-only
#include "shape.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "residency.h"
#include "worker.h"

#define ALIAS_SLOT	(VM_OTHER_SLOT + 10)
#define ALIAS_MOVE	0x800000000UL	/* 32G above the region's usual place */
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage/"
#define VMA_PAGES	64		/* of a VMA where a table has several */
#define PUD_BYTES	0x40000000UL

/* What belongs to the one shape that a case has */
static struct {
	struct guest second;
	struct shape_way way[SHAPE_WAYS];
	int nr_ways;
	struct worker helper;
	bool at_alias;
	u32 *pages;
} now;

/* --- huge pages of a size ------------------------------------------------------------ */

static void order_path(char *path, size_t size, unsigned int order, const char *file)
{
	snprintf(path, size, THP_DIR "hugepages-%lukB/%s",
		 ((unsigned long)sysconf(_SC_PAGESIZE) << order) / 1024, file);
}

static u64 order_faults(unsigned int order)
{
	char path[128], *text;
	u64 n;

	order_path(path, sizeof(path), order, "stats/anon_fault_alloc");
	text = mmg_read_file(path, NULL);
	n = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	return n;
}

static void fit_order(const struct shape *shape)
{
	char path[128];

	order_path(path, sizeof(path), shape->order, "stats/anon_fault_alloc");
	if (access(path, R_OK))
		mmg_skip("no %s: mTHP and its counters are from 6.10 on", path);
	order_path(path, sizeof(path), shape->order, "enabled");
	mmg_save_setting(path);
	mmg_write_setting(path, "madvise");
}

static void map_order(struct scenario *s)
{
	struct region *r = &s->r;

	r->unit = 1UL << s->shape->order;
	r->units = r->pages / r->unit;
	/* only this size: the region is no longer advised against huge pages */
	mmg_save_setting(THP_DIR "hugepages-2048kB/enabled");
	mmg_write_setting(THP_DIR "hugepages-2048kB/enabled", "never");
	if (madvise(r->mem, r->pages * r->page_size, MADV_HUGEPAGE))
		mmg_broken("MADV_HUGEPAGE: %s", strerror(errno));
}

static void fit_shmem_huge(const struct shape *shape)
{
	(void)shape;
	mmg_save_setting(THP_DIR "shmem_enabled");
	if (mmg_try_write(THP_DIR "shmem_enabled", "advise"))
		mmg_skip("shmem has no huge pages here: %sshmem_enabled", THP_DIR);
}

static void map_shmem_huge(struct scenario *s)
{
	struct region *r = &s->r;

	r->unit = HUGE_SIZE / r->page_size;
	r->units = r->pages / r->unit;
	if (madvise(r->mem, r->pages * r->page_size, MADV_HUGEPAGE))
		mmg_skip("MADV_HUGEPAGE of shmem: %s", strerror(errno));
}

/* Half of them is enough: a region may straddle what the kernel takes as one */
static void check_shmem_huge(struct scenario *s)
{
	size_t huge = residency_huge_bytes(s->r.mem), bytes = s->r.pages * s->r.page_size;

	if (huge != bytes)
		mmg_skip("%zu of %zu MiB of shmem are mapped by huge pages", huge >> 20,
			 bytes >> 20);
}

/* The first pages of each huge page are given back: it is mapped by PTEs, and partly */
static void give_back(struct scenario *s)
{
	struct region *r = &s->r;
	size_t i;

	for (i = 0; i < r->units; i++) {
		if (madvise(r->mem + i * r->unit * r->page_size, s->shape->partly * r->page_size,
			    MADV_DONTNEED))
			mmg_broken("MADV_DONTNEED: %s", strerror(errno));
	}
	if (residency_huge_bytes(r->mem))
		mmg_broken("precondition: huge entries are left after a part was given back");
}

/* --- several mappings in a page table ------------------------------------------------- */

static void map_many_vmas(struct scenario *s)
{
	struct region *r = &s->r;
	size_t i;

	for (i = 0; i < r->pages; i += 2 * VMA_PAGES) {
		if (madvise(r->mem + i * r->page_size, VMA_PAGES * r->page_size, MADV_DONTDUMP))
			mmg_broken("MADV_DONTDUMP: %s", strerror(errno));
	}
}

void shape_move_to_edge(struct scenario *s, size_t below)
{
	struct region *r = &s->r;
	size_t bytes = r->pages * r->page_size;
	char *room = mmap(NULL, 2 * PUD_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *border;

	if (room == MAP_FAILED)
		mmg_broken("reserving 2 GiB of addresses: %s", strerror(errno));
	border = (char *)(((uintptr_t)room + PUD_BYTES - 1) & ~(PUD_BYTES - 1));
	if (border - room < (long)bytes)
		border += PUD_BYTES;
	munmap(r->mem, bytes);
	r->mem = border - below * r->page_size;
	if (mmap(r->mem, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0) == MAP_FAILED)
		mmg_broken("mapping %zu bytes: %s", bytes, strerror(errno));
	madvise(r->mem, bytes, r->backing == BACK_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (r->nid >= 0)
		region_bind(r->mem, bytes, r->nid);
}

static void map_pud_edge(struct scenario *s)
{
	shape_move_to_edge(s, s->r.pages / 2);
}

/* --- memslots ----------------------------------------------------------------------------- */

static void one_way(struct scenario *s)
{
	now.way[0] = (struct shape_way){ &s->guest, 0, s->guest.gpa };
	now.nr_ways = 1;
}

static void attach_aliases(struct scenario *s)
{
	size_t bytes = s->r.pages * s->r.page_size;
	struct guest *g = &s->guest;

	guest_set_memory(g, &s->r, 1, 0);
	one_way(s);
	guest_add_slot(g, ALIAS_SLOT, g->gpa + ALIAS_MOVE, s->r.mem, bytes, 0);
	guest_map(g, g->gpa + ALIAS_MOVE, bytes);
	now.way[1] = (struct shape_way){ g, 0, g->gpa + ALIAS_MOVE };
	now.nr_ways = 2;
}

static void attach_odd_slots(struct scenario *s)
{
	guest_set_memory(&s->guest, &s->r, 5, 0);
	one_way(s);
}

void shape_one_slot(struct scenario *s, u32 flags)
{
	guest_set_memory(&s->guest, &s->r, 1, flags);
	one_way(s);
}

/* The dirty log wants an entry a base page in KVM's tables, whatever the host has */
static void attach_logged(struct scenario *s)
{
	shape_one_slot(s, KVM_MEM_LOG_DIRTY_PAGES);
}

static void attach_movable(struct scenario *s)
{
	size_t bytes = s->r.pages * s->r.page_size;
	struct guest *g = &s->guest;

	g->r = &s->r;
	g->gpa = VM_MEM_GPA + ((uintptr_t)s->r.mem & (HUGE_SIZE - 1));
	guest_add_slot(g, ALIAS_SLOT, g->gpa, s->r.mem, bytes, 0);
	guest_map(g, g->gpa, bytes);
	guest_map(g, g->gpa + ALIAS_MOVE, bytes);
	one_way(s);
}

/* Deleted, and added again in another place */
static void move_slot(struct scenario *s)
{
	struct shape_way *w = &now.way[0];
	size_t bytes = s->r.pages * s->r.page_size;

	now.at_alias = !now.at_alias;
	guest_add_slot(&s->guest, ALIAS_SLOT, w->gpa, s->r.mem, 0, 0);
	w->gpa = s->guest.gpa + (now.at_alias ? ALIAS_MOVE : 0);
	guest_add_slot(&s->guest, ALIAS_SLOT, w->gpa, s->r.mem, bytes, 0);
}

/* --- several VMs and roots ------------------------------------------------------------------ */

static void attach_two_vms(struct scenario *s)
{
	size_t bytes = s->r.pages * s->r.page_size;

	guest_set_memory(&s->guest, &s->r, 1, 0);
	one_way(s);
	guest_create(&now.second, 1, bytes, NULL);
	guest_set_memory(&now.second, &s->r, 1, 0);
	now.way[1] = (struct shape_way){ &now.second, 0, now.second.gpa };
	now.nr_ways = 2;
}

/* Each VM has a half: the unit's way is given by its place */
static void attach_halves(struct scenario *s)
{
	size_t bytes = s->r.pages * s->r.page_size;
	u64 gpa = VM_MEM_GPA + ((uintptr_t)s->r.mem & (HUGE_SIZE - 1));
	struct guest *g[] = { &s->guest, &now.second };
	int i;

	guest_create(&now.second, 1, bytes, NULL);
	for (i = 0; i < 2; i++) {
		g[i]->r = &s->r;
		g[i]->gpa = gpa;
		guest_add_slot(g[i], ALIAS_SLOT, gpa + i * bytes / 2, s->r.mem + i * bytes / 2,
			       bytes / 2, 0);
		guest_map(g[i], gpa, bytes);
		now.way[i] = (struct shape_way){ g[i], 0, gpa };
	}
	now.nr_ways = 2;
}

/*
 * The second vCPU gets a copy of the root of the guest's page tables.  Where KVM shadows
 * those (npt-off), it has a root and entries of its own for it.
 */
static void attach_two_roots(struct scenario *s)
{
	struct guest *g = &s->guest;

	guest_set_memory(g, &s->r, 1, 0);
	one_way(s);
	now.way[1] = (struct shape_way){ g, 1, g->gpa };
	now.nr_ways = 2;
#ifdef __x86_64__
	{
		struct kvm_sregs sregs;
		u64 root;

		vcpu_sregs_get(g->vcpu[1], &sregs);
		root = vm_phy_page_alloc(g->vm, s->r.page_size, 0);
		memcpy(addr_gpa2hva(g->vm, root), addr_gpa2hva(g->vm, sregs.cr3 & ~0xfffUL),
		       s->r.page_size);
		sregs.cr3 = root;
		vcpu_sregs_set(g->vcpu[1], &sregs);
	}
#endif
}

/* @pages of the region by way @w */
static void touch_pages(struct scenario *s, int w, const u32 *pages, size_t n, bool write)
{
	const struct shape_way *way = &now.way[w];
	size_t i;

	if (s->host) {
		for (i = 0; i < n; i++) {
			char *p = s->r.mem + pages[i] * s->r.page_size;

			if (write)
				TOUCH_WRITE(p, pages[i]);
			else
				TOUCH_READ(p);
		}
		return;
	}
	guest_job(way->guest, way->vcpu, write ? OP_WRITE : OP_READ, pages, n, 0);
	way->guest->job[way->vcpu]->base = way->gpa;
	way->guest->job[way->vcpu]->stride = s->r.page_size;
	guest_run(way->guest, way->vcpu);
}

/* --- other processes ------------------------------------------------------------------------- */

enum { HELPER_READ };

static u64 helper_fn(void *state, int cmd, u64 arg)
{
	struct scenario *s = state;
	size_t i;

	(void)cmd;
	(void)arg;
	for (i = 0; i < s->r.pages; i++)
		TOUCH_READ(s->r.mem + i * s->r.page_size);
	return s->r.pages;
}

void shape_map_again(struct scenario *s)
{
	size_t i;

	for (i = 0; i < s->r.pages; i++)
		now.pages[i] = i;
	touch_pages(s, 0, now.pages, i, false);
}

/* A helper such as virtiofsd that has mapped all of it, and looked at all of it once */
static void share_with_helper(struct scenario *s)
{
	worker_start(&now.helper, helper_fn, s);
	if (worker_call(&now.helper, HELPER_READ, 0) != s->r.pages)
		mmg_broken("the helper did not read the memory");
	/* a fork takes the guest's entries away */
	shape_map_again(s);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct shape shapes[] = {
	{ .name = "aliases", .about = "two memslots over one range", .backing = BACK_ANON,
	  .guest_only = true, .attach = attach_aliases },
	{ .name = "aliases-thp", .about = "two memslots over one range of huge pages",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .attach = attach_aliases },
	{ .name = "odd-slots-thp", .about = "memslots that end inside of huge pages",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .attach = attach_odd_slots },
	{ .name = "moved-slot", .about = "a memslot deleted and added elsewhere before each round",
	  .backing = BACK_ANON, .guest_only = true, .attach = attach_movable,
	  .round = move_slot },
	{ .name = "many-vmas", .about = "eight mappings in each page table", .backing = BACK_ANON,
	  .map = map_many_vmas },
	{ .name = "pud-edge", .about = "a region across a border of 1 GiB", .backing = BACK_ANON,
	  .map = map_pud_edge },
	{ .name = "two-vms", .about = "two VMs of one process over the same memory",
	  .backing = BACK_ANON, .guest_only = true, .attach = attach_two_vms },
	{ .name = "two-vms-thp", .about = "two VMs of one process over the same huge pages",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .attach = attach_two_vms },
	{ .name = "two-vms-halves", .about = "two VMs of one process with a half each",
	  .backing = BACK_ANON, .guest_only = true, .attach = attach_halves },
	{ .name = "two-roots", .about = "two vCPUs with page tables of their own",
	  .backing = BACK_ANON, .vcpus = 2, .guest_only = true, .attach = attach_two_roots },
	{ .name = "thp-4k-tables", .about = "huge pages, entries of 4K in KVM's tables",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .attach = attach_logged },
	{ .name = "thp-partly", .about = "huge pages, partly given back, mapped by PTEs",
	  .backing = BACK_THP, .huge = true, .partly = 64, .populated = give_back },
	{ .name = "mthp-16k", .about = "folios of 16K", .backing = BACK_ANON, .order = 2,
	  .fit = fit_order, .map = map_order },
	{ .name = "mthp-64k", .about = "folios of 64K", .backing = BACK_ANON, .order = 4,
	  .fit = fit_order, .map = map_order },
	{ .name = "mthp-1m", .about = "folios of 1M", .backing = BACK_ANON, .order = 8,
	  .huge = true, .fit = fit_order, .map = map_order },
	{ .name = "shmem-thp", .about = "huge pages of shared memory", .backing = BACK_SHMEM,
	  .huge = true, .fit = fit_shmem_huge, .map = map_shmem_huge,
	  .populated = check_shmem_huge },
	{ .name = "helper", .about = "shared memory that a second process has mapped, too",
	  .backing = BACK_SHMEM, .populated = share_with_helper },
	{ .name = "forked", .about = "a VMM that has forked", .backing = BACK_ANON,
	  .populated = share_with_helper },
};

const struct shape *shape_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	}
	for (i = 0; i < nr_live_shapes; i++) {
		if (!strcmp(live_shapes[i].name, name))
			return &live_shapes[i];
	}
	mmg_broken("there is no shape \"%s\"", name);
}

size_t shape_bytes(const struct shape *shape)
{
	if (shape->mib)
		return shape->mib << 20;
	return shape->huge ? 32 * HUGE_SIZE : mmg_opts.mem_bytes / 4;
}

/* --- called by the scenario ---------------------------------------------------------- */

void shape_map(struct scenario *s)
{
	memset(&now, 0, sizeof(now));
	if (s->shape->map)
		s->shape->map(s);
	now.pages = calloc(s->r.pages, sizeof(*now.pages));
	if (!now.pages)
		mmg_broken("no memory for a list of %zu pages", s->r.pages);
}

void shape_attach(struct scenario *s)
{
	if (s->shape->attach) {
		s->shape->attach(s);
		return;
	}
	shape_one_slot(s, 0);
}

size_t shape_held(const struct scenario *s)
{
	return s->shape && s->shape->held ? s->shape->held : s->r.unit;
}

/* Which way a unit is touched: both are needed to see all, whatever its label */
static int way_of(const struct scenario *s, u32 unit)
{
	if (now.nr_ways < 2)
		return 0;
	if (s->shape->attach == attach_halves)
		return unit >= s->r.units / 2;
	return (unit * 0x9e3779b9U) >> 31;
}

/* The page of a unit that is touched: any but its first, where it has more than one */
static size_t page_of(const struct scenario *s, u32 unit)
{
	size_t first = s->shape->partly ? s->shape->partly : 1;

	if (s->r.unit == 1)
		return unit;
	return unit * s->r.unit + first + (unit * 37 + 5) % (s->r.unit - first);
}

void shape_populate(struct scenario *s)
{
	u64 faults = s->shape->order ? order_faults(s->shape->order) : 0;
	size_t i, n, ways = s->host ? 1 : now.nr_ways, w, unit = s->r.unit;
	bool halves = s->shape->attach == attach_halves;

	for (w = 0; w < ways; w++) {
		for (i = n = 0; i < s->r.pages; i++) {
			if (!halves || way_of(s, i / unit) == (int)w)
				now.pages[n++] = s->all[i / unit] * unit + i % unit;
		}
		/* after the first way all is there: the others only map it */
		touch_pages(s, w, now.pages, n, !w || halves);
	}
	if (!s->shape->order)
		return;
	faults = order_faults(s->shape->order) - faults;
	if (faults < s->r.units)
		mmg_skip("%llu of %zu folios of %zu pages could be had", (unsigned long long)faults,
			 s->r.units, unit);
}

void shape_touch(struct scenario *s, const u32 *list, size_t n, bool write)
{
	int ways = s->host ? 1 : now.nr_ways, w;
	size_t i, m = 0;

	if (s->shape->round && !s->host)
		s->shape->round(s);
	flush_own_tlb();
	for (w = 0; w < ways; w++) {
		for (i = m = 0; i < n; i++) {
			if (s->host || way_of(s, list[i]) == w)
				now.pages[m++] = page_of(s, list[i]);
		}
		touch_pages(s, w, now.pages, m, write || s->shape->write);
	}
	if (s->shape->touched && !s->host)
		s->shape->touched(s, now.pages, m);
}

void shape_detach(struct scenario *s)
{
	if (s->shape->detach)
		s->shape->detach(s);
	if (now.helper.pid)
		worker_stop(&now.helper);
	if (now.second.vm)
		guest_destroy(&now.second);
	free(now.pages);
	memset(&now, 0, sizeof(now));
}
