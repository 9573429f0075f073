// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does aging move what was touched, all of it, and nothing else?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-guards: 354ed5974429 mm: multi-gen LRU: kill switch
 * mmgate-machines: default data-disk numa-fake2 npt-off tdp-mmu-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * Aging ("+" in lru_gen) at generation S promotes what was touched since the last
 * one to S and then opens S+1, so touched pages are in the second newest:
 *
 *	populate, age	touch T, age	age		"- S-2": evict that generation
 *	all in -1	T in -1		T in -2		all but T gone, T whole
 *			rest in -2	rest in -3
 *
 * The generations say how many pages moved, the eviction says which.  The host's
 * own touches are cases of their own.  Bloom cases age without force: then only
 * page tables that were dense in young entries at the last walk are looked at.
 *
 * How it could mislead: pages in per-CPU batches are in no generation (drained);
 * the process has some pages of its own in the group (a batch of 64 is allowed for);
 * from 6.14 on a page is promoted at its second observation (it is aged once first).
 */
#include "aging_step.h"
#include "residency.h"
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH	64	/* MIN_LRU_BATCH, and what else the process has in the group */

struct params {
	enum backing backing;
	bool host;
	bool write;
	int vcpus;
	int slots;
	size_t offset;
	unsigned int divide;	/* of the default size */
};

static size_t bytes_of(const struct params *p)
{
	if (p->backing == BACK_THP)
		return 16 * HUGE_SIZE;
	return mmg_opts.mem_bytes / (p->divide ? p->divide : 1);
}

static void set_up(struct scenario *s, const struct params *p, const char *name)
{
	struct scenario_opts o = {
		.name = name, .backing = p->backing, .host = p->host, .bytes = bytes_of(p),
		.vcpus = p->vcpus, .slots = p->slots, .offset = p->offset,
	};

	if (!p->host)
		guest_require();
	mglru_require(bytes_of(p));
	scenario_create(s, &o);
}

static bool near(u64 a, u64 b)
{
	return a <= b + BATCH && b <= a + BATCH;
}

static void age(struct scenario *s, bool force)
{
	aging_once(&s->group, force);
}

static void say_generations(const struct scenario *s, const char *when)
{
	int t = scenario_type(s);

	mmg_info("%s: generations -3 to 0 have %llu %llu %llu %llu pages", when,
		 (unsigned long long)group_pages(&s->group, 3, t),
		 (unsigned long long)group_pages(&s->group, 2, t),
		 (unsigned long long)group_pages(&s->group, 1, t),
		 (unsigned long long)group_pages(&s->group, 0, t));
}

/* Which pages were evicted: the touched ones (label 0) must be whole, the rest gone */
static void judge_identity(struct scenario *s, const u8 *label, size_t n_touched)
{
	size_t touched_gone = 0, rest_gone = 0, rest, i;

	region_read(&s->r);
	for (i = 0; i < s->r.units; i++) {
		if (!s->r.present[i])
			*(label[i] ? &rest_gone : &touched_gone) += 1;
	}
	rest = s->r.units - n_touched;
	mmg_metric("touched_evicted", touched_gone);
	mmg_metric("rest_evicted", rest_gone);
	if (touched_gone * 100 > n_touched || rest_gone * 100 < rest * 98)
		mmg_fail("wrong pages moved: evicted %zu of %zu touched and %zu of %zu others",
			 touched_gone, n_touched, rest_gone, rest);
}

static void histogram_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	const char *who = p->host ? "the host" : "the guest";
	static struct scenario s;
	u64 want, moved, stayed;
	size_t n;
	u8 *label;
	u32 *t;

	set_up(&s, p, "aging");
	scenario_populate(&s);
	age(&s, true);
	say_generations(&s, "all faulted in and aged");
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	t = list_where(label, s.r.units, 0, &n);
	want = n * s.r.unit;

	mmg_doing("touching half of the units and aging");
	scenario_touch(&s, t, n, p->write);
	age(&s, true);
	group_log(&s.group, 1);
	say_generations(&s, "half touched and aged");
	moved = group_pages(&s.group, 1, scenario_type(&s));
	stayed = group_pages(&s.group, 2, scenario_type(&s)) +
		 group_pages(&s.group, 3, scenario_type(&s));
	mmg_metric("touched", want);
	mmg_metric("moved", moved);
	if (!near(moved, want))
		mmg_fail("%llu pages moved to the generation aged, %s touched %llu of %zu",
			 (unsigned long long)moved, who, (unsigned long long)want, s.r.pages);
	if (!near(stayed, s.r.pages - want) || group_pages(&s.group, 0, scenario_type(&s)) > BATCH)
		mmg_fail("%llu pages stayed, %zu were not touched by %s",
			 (unsigned long long)stayed, s.r.pages - (size_t)want, who);

	mmg_doing("aging without touches");
	age(&s, true);
	group_log(&s.group, 2);
	say_generations(&s, "aged again");
	moved = group_pages(&s.group, 1, scenario_type(&s)) +
		group_pages(&s.group, 0, scenario_type(&s));
	mmg_metric("moved_untouched", moved);
	if (moved > BATCH)
		mmg_fail("%llu pages moved although nobody touched any", (unsigned long long)moved);

	mmg_doing("evicting the untouched generation");
	aging_evict_oldest(&s.group, s.r.backing == BACK_FILE);
	judge_identity(&s, label, n);
	mmg_pass("all %llu pages that %s touched moved, %llu others stayed and were evicted",
		 (unsigned long long)want, who, (unsigned long long)stayed);
}

/* A command names one group: no other group ages, and neither does the root */
static void target_case(const struct mmg_case *c)
{
	static const struct params p = { .backing = BACK_ANON, .host = true, .divide = 8 };
	static struct scenario s;
	struct memcg other;
	u64 other_before, root_before, other_after, root_after;

	(void)c;
	set_up(&s, &p, "aged");
	memcg_create(&other, NULL, "other");
	scenario_populate(&s);
	other_before = aging_max_seq(other.path);
	root_before = aging_max_seq("/");
	age(&s, true);
	other_after = aging_max_seq(other.path);
	root_after = aging_max_seq("/");
	if (other_after != other_before || root_after != root_before)
		mmg_fail("aged too: another group, %llu to %llu, or the root, %llu to %llu",
			 (unsigned long long)other_before,
			 (unsigned long long)other_after, (unsigned long long)root_before,
			 (unsigned long long)root_after);
	if (lru_gen_age(s.group.id + 0x100000, 0, 0, 200, true) != -EINVAL)
		mmg_fail("aging a group that does not exist was not refused with EINVAL");
	mmg_pass("only the group named was aged; a group that is not there is refused");
}

/* --- nodes ------------------------------------------------------------------------ */

static void node_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	const struct lru_gen_node *a, *b;
	u64 max_b, moved;
	size_t half;
	long on_a;

	set_up(&s, p, "nodes");
	group_read(&s.group, false);
	if (s.group.info.nr_nodes < 2)
		mmg_skip("one memory node only: boot with numa=fake=2 (machine numa-fake2)");
	half = s.r.pages / 2;
	s.r.nid = -1;
	region_bind(s.r.mem, half * s.r.page_size, s.group.info.node[0].nid);
	region_bind(s.r.mem + half * s.r.page_size, half * s.r.page_size, s.group.info.node[1].nid);
	scenario_populate(&s);
	on_a = residency_on_node(s.r.mem, half, 1, s.group.info.node[0].nid);
	if (on_a != (long)half)
		mmg_broken("precondition: %ld of %zu pages are on node %d", on_a, half,
			   s.group.info.node[0].nid);
	age(&s, true);
	max_b = lru_gen_max_seq(&s.group.info.node[1]);
	scenario_touch(&s, s.all, s.r.units, false);
	if (group_age_node(&s.group, s.group.info.node[0].nid, true))
		mmg_fail("aging node %d alone was refused", s.group.info.node[0].nid);
	group_read(&s.group, false);
	a = &s.group.info.node[0];
	b = &s.group.info.node[1];
	if (lru_gen_max_seq(a) != max_b + 1 || lru_gen_max_seq(b) != max_b)
		mmg_fail("aging node %d at %llu left max_seq at %llu there and %llu on node %d",
			 a->nid, (unsigned long long)max_b, (unsigned long long)lru_gen_max_seq(a),
			 (unsigned long long)lru_gen_max_seq(b), b->nid);
	moved = lru_gen_pages(a, max_b, LRU_GEN_ANON);
	if (!near(moved, half))
		mmg_fail("%llu of the node's %zu touched pages moved", (unsigned long long)moved,
			 half);
	moved = lru_gen_pages(b, max_b, LRU_GEN_ANON);
	if (moved > BATCH)
		mmg_fail("%llu pages of the other node moved", (unsigned long long)moved);
	mmg_pass("node %d aged: its %zu pages moved, those of node %d stayed", a->nid, half,
		 b->nid);
}

/* --- Bloom filter ------------------------------------------------------------------- */

/* Even page tables densely, odd ones one page of 16: below what the filter takes in */
static u32 *dense_and_sparse(const struct scenario *s, size_t *n, size_t *dense)
{
	size_t per_table = HUGE_SIZE / s->r.page_size, i;
	u32 *list = malloc(s->r.units * sizeof(*list));

	*n = 0;
	*dense = 0;
	for (i = 0; i < s->r.units; i++) {
		bool even = !(i / per_table % 2);

		if (even || !(i % 16))
			list[(*n)++] = i;
		*dense += even;
	}
	return list;
}

static void bloom_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	size_t n, dense, tables;
	long long found, added, before;
	u64 moved;
	u32 *list;

	set_up(&s, p, "bloom");
	if (!(lru_gen_enabled() & LRU_GEN_NONLEAF_BIT))
		mmg_skip("no accessed bits in page-table pages here (lru_gen/enabled 0x4)");
	scenario_populate(&s);
	age(&s, true);
	list = dense_and_sparse(&s, &n, &dense);
	tables = dense * s.r.page_size / HUGE_SIZE;
	scenario_touch(&s, list, n, false);
	age(&s, true);

	mmg_doing("aging by the Bloom filter");
	group_read(&s.group, true);
	before = group_counter(&s.group, WALK_FOUND);
	added = group_counter(&s.group, WALK_ADDED);
	scenario_touch(&s, list, n, false);
	aging_unforced(&s.group, false);
	found = group_counter(&s.group, WALK_FOUND) - before;
	added = group_counter(&s.group, WALK_ADDED) - added;
	moved = group_pages(&s.group, 1, LRU_GEN_ANON);
	say_generations(&s, "dense and sparse tables touched, aged without force");
	mmg_metric("dense", dense);
	mmg_metric("sparse", n - dense);
	mmg_metric("moved", moved);
	mmg_metric("tables_found", found);
	mmg_metric("tables_added", added);
	if (!near(moved, dense))
		mmg_fail("without force %llu pages moved, touched are %zu dense and %zu sparse",
			 (unsigned long long)moved, dense, n - dense);
	if (before >= 0 && (found < (long long)tables || found > (long long)tables + 2))
		mmg_fail("the filter let %lld page tables through, %zu were dense", found, tables);
	if (before >= 0 && (added < (long long)tables || added > found))
		mmg_fail("%lld page tables were noted as dense, %zu were, %lld walked", added,
			 tables, found);

	mmg_doing("aging by the Bloom filter again");
	before = group_counter(&s.group, WALK_FOUND);
	if (!p->host)
		scenario_touch(&s, list, n, false);
	aging_unforced(&s.group, false);
	found = group_counter(&s.group, WALK_FOUND) - before;
	moved = group_pages(&s.group, 1, LRU_GEN_ANON);
	mmg_metric("tables_found_again", found);
	if (p->host && before >= 0 && found > 2)
		mmg_fail("%lld page tables were walked whose own accessed bit was clear", found);
	if (!p->host && !near(moved, dense))
		mmg_fail("%llu of %zu pages moved: the host's page-table pages must not decide",
			 (unsigned long long)moved, dense);
	mmg_pass("without force only the %zu dense tables were walked; non-leaf bits %s",
		 tables, p->host ? "saved the second walk" : "were not asked about the guest");
}

/*
 * A VM that is made once its memory is there (a snapshot restored): until then the mm has
 * no notifier, and agings clear the accessed bits of the page-table pages.  A guest's
 * touches do not set those, so that from now on they must not decide.
 */
static void late_vm_case(const struct mmg_case *c)
{
	static struct scenario s;
	struct scenario_opts o = { .name = "late", .host = true, .bytes = mmg_opts.mem_bytes };
	size_t n, dense, i;
	u64 moved;
	u32 *list;
	int err;

	(void)c;
	guest_require();
	mglru_require(0);
	if (!(lru_gen_enabled() & LRU_GEN_NONLEAF_BIT))
		mmg_skip("no accessed bits in page-table pages here (lru_gen/enabled 0x4)");
	scenario_create(&s, &o);
	scenario_populate(&s);
	age(&s, true);
	list = dense_and_sparse(&s, &n, &dense);
	/* only dense tables: eviction, too, promotes what it finds young in a sparse one */
	for (i = dense = 0; i < n; i++) {
		if (!(list[i] / (HUGE_SIZE / s.r.page_size) % 2))
			list[dense++] = list[i];
	}
	scenario_touch(&s, list, dense, false);
	age(&s, true);
	mmg_doing("aging by the Bloom filter before there is a VM");
	scenario_touch(&s, list, dense, false);
	aging_unforced(&s.group, false);
	/* what the library allocates is not this group's */
	err = mmg_try_write(MEMCG_ROOT "/cgroup.procs", "0");
	if (err)
		mmg_broken("leaving %s: %s", s.group.cg.dir, strerror(-err));
	guest_create(&s.guest, 1, o.bytes, NULL);
	guest_set_memory(&s.guest, &s.r, 1, 0);
	group_enter(&s.group);
	s.host = false;
	mmg_doing("aging by the Bloom filter what the guest touched");
	scenario_touch(&s, list, dense, false);
	aging_unforced(&s.group, false);
	moved = group_pages(&s.group, 1, LRU_GEN_ANON);
	say_generations(&s, "dense tables touched by a new VM, aged without force");
	mmg_metric("dense", dense);
	mmg_metric("moved", moved);
	if (!near(moved, dense))
		mmg_fail("%llu pages moved, a new VM touched %zu: the host's page-table pages must not decide",
			 (unsigned long long)moved, dense);
	mmg_pass("all %zu pages that a new VM touched moved without force", dense);
}

/* --- what never ages ------------------------------------------------------------------ */

static void reclaim_half(struct scenario *s)
{
	memcg_reclaim(&s->group.cg, s->r.pages * s->r.page_size / 2, NULL);
}

/* Touched, aged and reclaimed: none is on a list, all stay */
static void judge_unevictable(struct scenario *s, const char *what)
{
	u64 listed;

	scenario_touch(s, s->all, s->r.units, false);
	age(s, true);
	scenario_touch(s, s->all, s->r.units, false);
	age(s, true);
	listed = group_total(&s->group, LRU_GEN_ANON);
	mmg_metric("listed", listed);
	if (listed > BATCH)
		mmg_fail("%llu pages of %s memory are in a generation",
			 (unsigned long long)listed, what);
	reclaim_half(s);
	if (region_read(&s->r) != s->r.units)
		mmg_fail("%s memory was evicted", what);
	mmg_pass("%s memory is in no generation and stays under reclaim", what);
}

static void mlock_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;

	set_up(&s, p, "mlock");
	scenario_populate(&s);
	if (mlock(s.r.mem, s.r.pages * s.r.page_size))
		mmg_broken("mlock of %zu pages: %s", s.r.pages, strerror(errno));
	memcg_drain_lru();
	judge_unevictable(&s, "mlocked");
}

static void hugetlb_case(const struct mmg_case *c)
{
	static const struct params p = { .backing = BACK_HUGETLB, .divide = 4 };
	static struct scenario s;

	(void)c;
	mmg_save_setting("/proc/sys/vm/nr_hugepages");
	mmg_try_write("/proc/sys/vm/nr_hugepages", "%zu", bytes_of(&p) / HUGE_SIZE + 1);
	set_up(&s, &p, "hugetlb");
	scenario_touch(&s, s.all, s.r.units, true);
	memcg_drain_lru();
	judge_unevictable(&s, "hugetlb");
}

/* io_uring's registered buffers are pinned for as long as the ring lives */
static void pin(void *p, size_t bytes)
{
	struct iovec {
		void *base;
		size_t len;
	} v = { p, bytes };
	u8 params[256] = { };
	int fd = syscall(SYS_io_uring_setup, 4, params);

	if (fd < 0)
		mmg_skip("io_uring_setup, for pinning memory: %s", strerror(errno));
	if (syscall(SYS_io_uring_register, fd, 0 /* IORING_REGISTER_BUFFERS */, &v, 1))
		mmg_skip("io_uring_register of a buffer: %s", strerror(errno));
}

static void pinned_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	size_t half, i, pinned_gone = 0, gone = 0;

	set_up(&s, p, "pinned");
	scenario_populate(&s);
	half = s.r.pages / 2;
	pin(s.r.mem, half * s.r.page_size);
	age(&s, true);
	reclaim_half(&s);
	reclaim_half(&s);
	region_read(&s.r);
	for (i = 0; i < s.r.units; i++)
		*(i < half ? &pinned_gone : &gone) += !s.r.present[i];
	mmg_metric("pinned_evicted", pinned_gone);
	mmg_metric("others_evicted", gone);
	if (pinned_gone)
		mmg_fail("%zu pinned pages lost their mapping", pinned_gone);
	if (gone * 100 < half * 95)
		mmg_fail("%zu of %zu pages that are not pinned were evicted", gone, half);
	mmg_pass("%zu pinned pages stayed, %zu of %zu others were evicted", half, gone, half);
}

#ifdef KVM_CREATE_GUEST_MEMFD

#define GMEM_SLOT	VM_OTHER_SLOT
/* In 7.2's headers; in 6.12 a VM of the usual type cannot use guest_memfd at all */
#ifndef GUEST_MEMFD_FLAG_MMAP
#define GUEST_MEMFD_FLAG_MMAP		1
#define GUEST_MEMFD_FLAG_INIT_SHARED	2
#endif

/**
 * struct gmem - guest_memfd memory, or a plain memfd as the control
 * @g:		the VM that owns it
 * @r:		its pages, where they can be mapped
 * @bytes:	size
 * @fd:		its file
 * @mapped:	the guest uses it
 */
struct gmem {
	struct guest g;
	struct region r;
	size_t bytes;
	int fd;
	bool mapped;
	u32 *all;
};

static int gmem_create(struct gmem *m, u64 flags)
{
	struct kvm_create_guest_memfd arg = { .size = m->bytes, .flags = flags };

	return ioctl(m->g.vm->fd, KVM_CREATE_GUEST_MEMFD, &arg);
}

/* The guest's memory is the file itself, where the kernel lets it */
static void gmem_open(struct gmem *m)
{
	struct kvm_userspace_memory_region2 slot = {
		.slot = GMEM_SLOT, .flags = KVM_MEM_GUEST_MEMFD,
		.guest_phys_addr = VM_MEM_GPA, .memory_size = m->bytes,
	};

	m->fd = gmem_create(m, GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED);
	m->mapped = m->fd >= 0;
	if (m->fd < 0)
		m->fd = gmem_create(m, 0);
	if (m->fd < 0)
		mmg_skip("no guest_memfd: %s: CONFIG_KVM_PRIVATE_MEM or CONFIG_KVM_GUEST_MEMFD",
			 strerror(errno));
	if (!m->mapped)
		return;
	m->r.page_size = getpagesize();
	m->r.pages = m->bytes / m->r.page_size;
	m->r.units = m->r.pages;
	m->r.unit = 1;
	m->r.fd = m->fd;
	m->r.nid = -1;
	m->r.mem = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->r.mem == MAP_FAILED)
		mmg_broken("mapping guest_memfd: %s", strerror(errno));
	slot.guest_memfd = m->fd;
	slot.userspace_addr = (uintptr_t)m->r.mem;
	vm_ioctl(m->g.vm, KVM_SET_USER_MEMORY_REGION2, &slot);
	guest_map(&m->g, VM_MEM_GPA, m->bytes);
	m->g.r = &m->r;
	m->g.gpa = VM_MEM_GPA;
	m->all = list_all(m->r.units, 0);
}

static u64 unevictable(const struct group *group)
{
	return memcg_key(&group->cg, "memory.stat", "unevictable") / getpagesize();
}

static u64 listed(struct group *group)
{
	memcg_drain_lru();
	group_read(group, false);
	return group_total(group, LRU_GEN_ANON) + group_total(group, LRU_GEN_FILE);
}

/* The same with a plain memfd: it is in a generation, and can be reclaimed */
static void memfd_control(struct group *group, size_t bytes, u64 before)
{
	u64 pages = bytes / getpagesize(), now;
	int fd = memfd_create("mmgate", MFD_CLOEXEC);

	if (fd < 0 || fallocate(fd, 0, 0, bytes))
		mmg_broken("control: a memfd of %zu MiB: %s", bytes >> 20, strerror(errno));
	now = listed(group);
	if (now < before + pages - BATCH)
		mmg_broken("control: %llu pages listed, %llu before %llu of a memfd were made",
			   (unsigned long long)now, (unsigned long long)before,
			   (unsigned long long)pages);
	memcg_reclaim(&group->cg, bytes, NULL);
	now = listed(group);
	if (now > before + pages / 2)
		mmg_broken("control: %llu of %llu pages of a memfd still listed after reclaim",
			   (unsigned long long)now, (unsigned long long)pages);
	close(fd);
}

/* Brought up to date by the kernel every two seconds, or with the next many changes */
static u64 unevictable_settled(struct group *group, u64 base, u64 pages)
{
	u64 stuck = unevictable(group) - base;
	int i;

	for (i = 0; i < 50 && (stuck + BATCH < pages || stuck > pages + BATCH); i++) {
		usleep(100000);
		stuck = unevictable(group) - base;
	}
	return stuck;
}

/* What the group has of it now; fails unless it is unevictable and in no generation */
static void judge_gmem(struct group *group, const struct gmem *m, u64 base, const char *when)
{
	u64 pages = m->bytes / getpagesize(), on = listed(group);
	u64 stuck = unevictable_settled(group, base, pages);

	mmg_metric("unevictable", stuck);
	mmg_metric("listed", on);
	if (stuck + BATCH < pages || stuck > pages + BATCH)
		mmg_fail("%llu of %llu pages of guest_memfd are unevictable %s",
			 (unsigned long long)stuck, (unsigned long long)pages, when);
	if (on > BATCH)
		mmg_fail("%llu pages of guest_memfd are in a generation %s",
			 (unsigned long long)on, when);
}

static void gmem_case(const struct mmg_case *c)
{
	static struct gmem m;
	struct group group;
	u64 base, bad;
	int i;

	(void)c;
	m.bytes = mmg_opts.mem_bytes / 4;
	guest_require();
	mglru_require(m.bytes);
	group_create(&group, NULL, "gmem");
	guest_create(&m.g, 1, m.bytes, NULL);
	gmem_open(&m);
	group_enter(&group);
	memcg_drain_lru();
	base = unevictable(&group);
	if (fallocate(m.fd, FALLOC_FL_KEEP_SIZE, 0, m.bytes))
		mmg_broken("allocating %zu MiB of guest_memfd: %s", m.bytes >> 20, strerror(errno));
	memcg_drain_lru();
	judge_gmem(&group, &m, base, "after they were allocated");
	if (m.mapped)
		guest_pattern(&m.g, 0, OP_FILL, m.all, m.r.units, mmg_opts.seed);
	for (i = 0; i < 3; i++) {
		if (m.mapped)
			guest_touch(&m.g, 0, m.all, m.r.units, false);
		group_age(&group, true);
		judge_gmem(&group, &m, base, "after an aging");
	}
	memcg_reclaim(&group.cg, m.bytes, NULL);
	judge_gmem(&group, &m, base, "after a reclaim of as much");
	bad = m.mapped ? guest_pattern(&m.g, 0, OP_CHECK, m.all, m.r.units, mmg_opts.seed) : 0;
	if (bad)
		mmg_fail("%llu words of guest_memfd changed", (unsigned long long)bad);
	memfd_control(&group, m.bytes, listed(&group));
	mmg_pass("all %zu guest_memfd pages stayed unevictable through 3 agings and a reclaim, %s",
		 m.bytes / getpagesize(), m.mapped ? "the guest's pattern in them whole" :
		 "used by no guest (this KVM lets no VM of the usual type)");
}

#else

static void gmem_case(const struct mmg_case *c)
{
	(void)c;
	mmg_skip("built with headers older than 6.8: no guest_memfd there");
}

#endif

#define GUEST(name_, ...) { .name = name_, .fn = histogram_case, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct params host_small = { .host = true, .divide = 2 };
static const struct params guest_small = { .divide = 2 };
static const struct params guest_quarter = { .divide = 4 };

static const struct mmg_case cases[] = {
	GUEST("anon-4k", .backing = BACK_ANON),
	GUEST("anon-4k-write", .backing = BACK_ANON, .write = true, .divide = 4),
	GUEST("anon-thp", .backing = BACK_THP),
	GUEST("shmem", .backing = BACK_SHMEM, .divide = 4),
	GUEST("file", .backing = BACK_FILE, .divide = 4),
	GUEST("two-vcpus", .backing = BACK_ANON, .vcpus = 2, .divide = 4),
	GUEST("many-slots", .backing = BACK_ANON, .slots = 11, .divide = 4),
	GUEST("pmd-edges", .backing = BACK_ANON, .slots = 2, .offset = 37, .divide = 4),
	GUEST("host-anon-4k", .backing = BACK_ANON, .host = true, .divide = 2),
	GUEST("host-anon-thp", .backing = BACK_THP, .host = true),
	GUEST("host-shmem", .backing = BACK_SHMEM, .host = true, .divide = 4),
	{ .name = "one-group", .fn = target_case },
	{ .name = "one-node", .fn = node_case, .arg = &guest_quarter },
	{ .name = "bloom", .fn = bloom_case, .arg = &guest_small },
	{ .name = "bloom-late-vm", .fn = late_vm_case },
	{ .name = "host-bloom", .fn = bloom_case, .arg = &host_small },
	{ .name = "mlocked", .fn = mlock_case, .arg = &guest_quarter },
	{ .name = "hugetlb", .fn = hugetlb_case, .destructive = true },
	{ .name = "pinned", .fn = pinned_case, .arg = &guest_quarter },
	{ .name = "guest-memfd", .fn = gmem_case },
};

static const struct mmg_test test = {
	.name = "kvm/aging",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
