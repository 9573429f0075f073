// SPDX-License-Identifier: GPL-2.0-only
#include "vm.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "orderstat.h"

#define JOB_STEP	0x80000000UL
/* the library takes 1/256 of it as memory: room for a static binary and page tables */
#define EXTRA_PAGES	0x40000
#define JOB_SLOT	10
#define MEM_SLOT	20
#define RECLAIM_STEPS	16

/* Library of 6.1: the first argument is a mode, later a shape */
#ifndef VM_SHAPE_DEFAULT
#define VM_SHAPE_DEFAULT VM_MODE_DEFAULT
#endif

/* Run by main() through a constructor in the library, from 6.4 on; see libkvm.mk */
#pragma weak kvm_selftest_init
void kvm_selftest_init(void);

const char *const lab_settings[] = {
	/* first, so put back last: the kernel raises it when huge pages are turned on */
	"/proc/sys/vm/min_free_kbytes",
	LRU_GEN_ENABLED,
	LRU_GEN_MIN_TTL,
	"/proc/sys/kernel/numa_balancing",
	"/proc/sys/vm/page-cluster",
	"/proc/sys/vm/swappiness",
	"/sys/kernel/mm/ksm/run",
	"/sys/module/damon_stat/parameters/enabled",
	"/sys/module/damon_reclaim/parameters/enabled",
	"/sys/module/damon_lru_sort/parameters/enabled",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/mm/transparent_hugepage/defrag",
	"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
	NULL
};

/* One access, not optimized away */
#define TOUCH_READ(p)		((void)__atomic_load_n((u64 *)(p), __ATOMIC_RELAXED))
#define TOUCH_WRITE(p, v)	__atomic_store_n((u64 *)(p), (v), __ATOMIC_RELAXED)

/* --- memory -------------------------------------------------------------------- */

static size_t base_page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/*
 * An address range of @bytes at @offset from a 2M boundary, with unmapped
 * neighbours, so that the mapping put there is never merged with another.
 */
static char *reserve(size_t bytes, size_t offset)
{
	size_t room = bytes + 4 * HUGE_SIZE;
	char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		mmg_broken("reserving %zu bytes of addresses: %s", room, strerror(errno));
	p += 2 * HUGE_SIZE - 1;
	return (char *)((uintptr_t)p & ~(HUGE_SIZE - 1)) + offset;
}

/* A file of its own on a real filesystem, already removed, filled and written out */
static int make_file(size_t bytes)
{
	static const char *const dirs[] = { "/mnt/data", "/var/tmp" };
	char path[64], *block = calloc(1, 1 << 20);
	size_t i, done;
	int fd = -1;

	for (i = 0; i < ARRAY_SIZE(dirs) && fd < 0; i++) {
		struct statfs fs;

		/* tmpfs, ramfs, overlayfs: no page cache of a disk */
		if (statfs(dirs[i], &fs) || fs.f_type == 0x01021994 ||
		    fs.f_type == 0x858458f6 || fs.f_type == 0x794c7630)
			continue;
		snprintf(path, sizeof(path), "%s/mmgate.XXXXXX", dirs[i]);
		fd = mkstemp(path);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		mmg_skip("no disk filesystem on /mnt/data (machine data-disk) or /var/tmp");
	for (done = 0; done < bytes; done += 1 << 20) {
		if (write(fd, block, 1 << 20) != 1 << 20)
			mmg_skip("writing a file of %zu MiB: %s", bytes >> 20, strerror(errno));
	}
	free(block);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

/*
 * Changing the protection of more pages than any architecture flushes one by one
 * makes the kernel flush the whole TLB of this process.
 */
static void flush_own_tlb(void)
{
	static char *p;
	size_t bytes = 600 * base_page(), i;

	if (!p) {
		/* shared: a forked helper must not be charged for copies */
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			mmg_broken("mmap: %s", strerror(errno));
		madvise(p, bytes, MADV_NOHUGEPAGE);
	}
	for (i = 0; i < bytes; i += base_page())
		TOUCH_WRITE(p + i, 1);
	mprotect(p, bytes, PROT_READ);
	mprotect(p, bytes, PROT_READ | PROT_WRITE);
}

static void map_region(struct region *r, size_t bytes)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_FIXED;
	void *p;

	switch (r->backing) {
	case BACK_SHMEM:
		flags |= MAP_SHARED | MAP_ANONYMOUS;
		break;
	case BACK_FILE:
		flags |= MAP_SHARED;
		r->fd = make_file(bytes);
		break;
	case BACK_HUGETLB:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
		break;
	default:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	}
	p = mmap(r->mem, bytes, prot, flags, r->fd, 0);
	if (p == MAP_FAILED && r->backing == BACK_HUGETLB)
		mmg_skip("%zu MiB of huge pages: %s: vm.nr_hugepages", bytes >> 20,
			 strerror(errno));
	if (p == MAP_FAILED)
		mmg_broken("mapping %zu bytes: %s", bytes, strerror(errno));
}

/* Free bytes of a node, 0 where it has no memory */
static u64 node_free(int nid)
{
	char path[80], *text, *p;
	u64 kib = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", nid);
	text = mmg_read_file(path, NULL);
	p = text ? strstr(text, "MemFree:") : NULL;
	if (p)
		kib = strtoull(p + strlen("MemFree:"), NULL, 10);
	free(text);
	return kib * 1024;
}

int region_node(void)
{
	static int best = -2;
	int nid, nodes = 0;
	u64 most = 0, have;

	/* once: the regions of one case, and of its helpers, belong together */
	if (best != -2)
		return best;
	for (nid = 0; nid < 64; nid++) {
		have = node_free(nid);
		nodes += have > 0;
		if (have >= most && have) {
			most = have;
			best = nid;
		}
	}
	if (nodes < 2)
		best = -1;
	return best;
}

void region_bind(void *mem, size_t bytes, int nid)
{
	unsigned long mask[16] = { };

	mask[nid / 64] = 1UL << (nid % 64);
	if (syscall(SYS_mbind, mem, bytes, 2 /* MPOL_BIND */, mask, 1024UL, 0UL))
		mmg_broken("binding %zu bytes to node %d: %s", bytes, nid, strerror(errno));
}

static void advise_thp(struct region *r, size_t bytes)
{
	int advice = r->backing == BACK_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;

	if (r->backing == BACK_HUGETLB || r->backing == BACK_FILE)
		return;
	if (madvise(r->mem, bytes, advice) && r->backing == BACK_THP)
		mmg_skip("this kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)");
}

void region_create(struct region *r, enum backing kind, size_t bytes, size_t offset_pages)
{
	bool huge = kind == BACK_THP || kind == BACK_HUGETLB;

	memset(r, 0, sizeof(*r));
	r->backing = kind;
	r->fd = -1;
	r->page_size = base_page();
	if (huge)
		bytes = (bytes + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	r->pages = bytes / r->page_size;
	r->unit = huge ? HUGE_SIZE / r->page_size : 1;
	r->units = r->pages / r->unit;
	r->present = calloc(1, r->units);
	r->scratch = calloc(1, r->pages);
	/* its pages are to be charged here and now, not to the experiment's group */
	flush_own_tlb();
	r->mem = reserve(bytes, offset_pages * r->page_size);
	if (!r->present || !r->scratch)
		mmg_broken("no memory for %zu pages", r->pages);
	map_region(r, bytes);
	advise_thp(r, bytes);
	/* reclaim goes through the nodes one by one: the order is within one of them */
	r->nid = kind == BACK_FILE || kind == BACK_HUGETLB ? -1 : region_node();
	if (r->nid >= 0)
		region_bind(r->mem, bytes, r->nid);
}

void region_destroy(struct region *r)
{
	munmap(r->mem, r->pages * r->page_size);
	if (r->fd >= 0)
		close(r->fd);
	free(r->present);
	free(r->scratch);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

size_t region_read(struct region *r)
{
	bool shared = r->backing == BACK_SHMEM || r->backing == BACK_FILE;
	size_t i, n = 0;

	residency_read(r->mem, r->pages, shared ? RESIDENCY_SHARED : RESIDENCY_ANON, r->scratch);
	for (i = 0; i < r->units; i++) {
		r->present[i] = r->scratch[i * r->unit];
		n += r->present[i];
	}
	return n;
}

static void check_node(const struct region *r)
{
	size_t n = (r->pages + r->unit - 1) / r->unit;
	long on;

	if (r->nid < 0)
		return;
	on = residency_on_node(r->mem, r->pages, r->unit, r->nid);
	if (on != (long)n)
		mmg_broken("precondition: %ld of %zu units are on node %d", on, n, r->nid);
}

void region_check_resident(struct region *r)
{
	size_t n = region_read(r), huge;

	if (n != r->units)
		mmg_broken("precondition: %zu of %zu units are in memory after all were touched",
			   n, r->units);
	huge = residency_huge_bytes(r->mem);
	if (r->backing == BACK_THP && huge != r->pages * r->page_size)
		mmg_broken("precondition: %zu of %zu MiB are mapped by huge pages", huge >> 20,
			   r->pages * r->page_size >> 20);
	check_node(r);
	if (r->backing != BACK_THP && r->backing != BACK_HUGETLB && huge)
		mmg_broken("precondition: %zu MiB are mapped by huge pages, none was asked for",
			   huge >> 20);
}

void region_touch(struct region *r, const u32 *list, size_t n, bool write)
{
	size_t stride = r->unit * r->page_size, i;

	flush_own_tlb();
	for (i = 0; i < n; i++) {
		if (write)
			TOUCH_WRITE(r->mem + list[i] * stride, list[i]);
		else
			TOUCH_READ(r->mem + list[i] * stride);
	}
}

/* --- the guest ------------------------------------------------------------------ */

/* The accessed bit is set when an entry is loaded into the TLB: start with an empty one */
static inline void guest_flush_tlb(void)
{
#if defined(__x86_64__)
	u64 cr3;

	asm volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(cr3) : : "memory");
#elif defined(__aarch64__)
	asm volatile("dsb ishst; tlbi vmalle1; dsb ish; isb" : : : "memory");
#endif
}

static inline u64 pattern(u64 key, u64 unit, u64 word)
{
	return (key + unit * 0x9e3779b97f4a7c15ULL) ^ (word * 0xbf58476d1ce4e5b9ULL);
}

void region_fill(struct region *r, const u32 *list, size_t n, u64 key)
{
	size_t words = r->unit * r->page_size / 8, i, w;

	for (i = 0; i < n; i++) {
		u64 *p = (u64 *)r->mem + list[i] * words;

		for (w = 0; w < words; w++)
			p[w] = pattern(key, list[i], w);
	}
}

u64 region_check(const struct region *r, const u32 *list, size_t n, u64 key, u64 *first_bad)
{
	size_t words = r->unit * r->page_size / 8, i, w;
	u64 bad = 0;

	for (i = 0; i < n; i++) {
		const u64 *p = (const u64 *)r->mem + list[i] * words;

		for (w = 0; w < words; w++) {
			if (p[w] == pattern(key, list[i], w))
				continue;
			if (!bad++)
				*first_bad = list[i];
		}
	}
	return bad;
}

static void guest_check(struct vm_job *job, u64 unit)
{
	u64 *p = (u64 *)(job->base + unit * job->stride);
	u64 i;

	for (i = 0; i < job->stride / 8; i++) {
		if (__atomic_load_n(&p[i], __ATOMIC_RELAXED) == pattern(job->value, unit, i))
			continue;
		if (!job->bad)
			job->first_bad = unit;
		job->bad++;
	}
}

static void guest_fill(struct vm_job *job, u64 unit)
{
	u64 *p = (u64 *)(job->base + unit * job->stride);
	u64 i;

	for (i = 0; i < job->stride / 8; i++)
		TOUCH_WRITE(&p[i], pattern(job->value, unit, i));
}

void guest_work(struct vm_job *job)
{
	u64 base = job->base, stride = job->stride, n = job->n, i;

	guest_flush_tlb();
	switch (job->op) {
	case OP_READ:
		for (i = 0; i < n; i++)
			TOUCH_READ(base + job->list[i] * stride);
		break;
	case OP_WRITE:
		for (i = 0; i < n; i++)
			TOUCH_WRITE(base + job->list[i] * stride, job->list[i]);
		break;
	case OP_FILL:
		for (i = 0; i < n; i++)
			guest_fill(job, job->list[i]);
		break;
	case OP_CHECK:
		for (i = 0; i < n; i++)
			guest_check(job, job->list[i]);
		break;
	}
}

static void guest_code(struct vm_job *job)
{
	for (;;) {
		guest_work(job);
		GUEST_SYNC(0);
	}
}

static int kvm_cap(int fd, int cap)
{
	return ioctl(fd, KVM_CHECK_EXTENSION, cap);
}

void guest_require(void)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENODEV))
		mmg_skip("no /dev/kvm: load kvm_amd or kvm_intel (in a VM: nested virtualization)");
	if (fd < 0)
		mmg_skip("/dev/kvm: %s: run as root or in the group kvm", strerror(errno));
	if (!kvm_cap(fd, KVM_CAP_USER_MEMORY))
		mmg_skip("this KVM has no KVM_CAP_USER_MEMORY");
#ifdef KVM_CAP_USER_MEMORY2
	if (kvm_cap(fd, KVM_CAP_USER_MEMORY2) <= 0)
		mmg_skip("no KVM_CAP_USER_MEMORY2: build with KSRC of this kernel version");
#endif
	close(fd);
}

void guest_add_slot(struct guest *g, u32 slot, u64 gpa, void *hva, size_t bytes, u32 flags)
{
	struct kvm_userspace_memory_region m = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa,
		.memory_size = bytes, .userspace_addr = (uintptr_t)hva,
	};

	vm_ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &m);
}

/* Guest page tables: 2M entries where the library can make them, it is faster */
void guest_map(struct guest *g, u64 gpa, size_t bytes)
{
#ifdef __x86_64__
	u64 start = gpa & ~(HUGE_SIZE - 1);
	u64 end = (gpa + bytes + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);

	virt_map_level(g->vm, start, start, end - start, PG_LEVEL_2M);
#else
	virt_map(g->vm, gpa, gpa, bytes / g->vm->page_size);
#endif
}

static void add_job(struct guest *g, int v, size_t bytes)
{
	u64 gpa = VM_JOB_GPA + v * JOB_STEP;

	g->job[v] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (g->job[v] == MAP_FAILED)
		mmg_broken("mmap of %zu bytes: %s", bytes, strerror(errno));
	guest_add_slot(g, JOB_SLOT + v, gpa, g->job[v], bytes, 0);
	guest_map(g, gpa, bytes);
	vcpu_args_set(g->vcpu[v], 1, gpa);
}

void guest_create(struct guest *g, int nr_vcpus, size_t bytes, void *code)
{
	size_t page = base_page(), pages = bytes / page;
	size_t job_bytes = (sizeof(struct vm_job) + 4 * pages + page - 1) & ~(page - 1);
	int v;

	memset(g, 0, sizeof(*g));
	mmg_doing("creating a VM");
	/* the library loads our own binary into the guest */
	program_invocation_name = "/proc/self/exe";
	if (kvm_selftest_init)
		kvm_selftest_init();
	g->nr_vcpus = nr_vcpus;
	g->vm = __vm_create_with_vcpus(VM_SHAPE_DEFAULT, nr_vcpus, EXTRA_PAGES,
				       code ? code : (void *)guest_code, g->vcpu);
	for (v = 0; v < nr_vcpus; v++)
		add_job(g, v, job_bytes);
}

void guest_set_memory(struct guest *g, struct region *r, int nr_slots, u32 flags)
{
	u64 offset = (uintptr_t)r->mem & (HUGE_SIZE - 1);
	size_t done = 0, n;
	int i;

	g->r = r;
	g->gpa = VM_MEM_GPA + offset;
	g->nr_slots = nr_slots;
	g->slot_flags = flags;
	for (i = 0; i < nr_slots; i++) {
		n = r->pages * (i + 1) / nr_slots - done;
		/* an odd border */
		if (i < nr_slots - 1)
			n = n > 3 ? n - 3 : n;
		guest_add_slot(g, MEM_SLOT + i, g->gpa + done * r->page_size,
			       r->mem + done * r->page_size, n * r->page_size, flags);
		done += n;
	}
	guest_map(g, g->gpa, r->pages * r->page_size);
}

/*
 * KVM flushes the guest's TLB when a vCPU comes to another CPU: without that an
 * entry that outlives the aging would hide the next touch.
 */
static void move_to_other_cpu(int v)
{
	static cpu_set_t allowed;
	static int turn;
	cpu_set_t one;
	int cpu, n, want;

	if (!CPU_COUNT(&allowed))
		sched_getaffinity(0, sizeof(allowed), &allowed);
	n = CPU_COUNT(&allowed);
	if (n < 2)
		return;
	want = (__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) + v) % n;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && !want--)
			break;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void guest_job(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 value)
{
	struct vm_job *job = g->job[v];

	job->op = op;
	job->base = g->gpa;
	job->stride = g->r->unit * g->r->page_size;
	job->n = n;
	job->value = value;
	job->bad = 0;
	memcpy(job->list, list, n * sizeof(*list));
}

/*
 * What a vCPU that does not come to its sync means: before it ever did, that the
 * experiment does not work; later, that the guest lost its memory (code and stack too).
 */
static __noreturn void vcpu_died(const struct guest *g, int v, const char *how)
{
	if (!g->ran)
		mmg_broken("vCPU %d did not start: %s", v, how);
	mmg_fail("the guest died, its memory is not what it was: vCPU %d, %s", v, how);
}

/* What the library's guest side said last: its words are text from 6.5 on */
static __noreturn void vcpu_stopped(const struct guest *g, int v, u64 cmd, const struct ucall *uc)
{
	char how[160];

#ifdef UCALL_BUFFER_LEN
	if (cmd == UCALL_ABORT)
		vcpu_died(g, v, uc->buffer);
#endif
	snprintf(how, sizeof(how), "ucall %llu (0x%llx), exit reason %u", (unsigned long long)cmd,
		 (unsigned long long)uc->args[0], g->vcpu[v]->run->exit_reason);
	vcpu_died(g, v, how);
}

void guest_run(struct guest *g, int v)
{
	struct ucall uc = { };
	u64 cmd;
	int err;

	move_to_other_cpu(v);
	do {
		err = __vcpu_run(g->vcpu[v]);
	} while (err && errno == EINTR);
	if (err)
		vcpu_died(g, v, strerror(errno));
	cmd = get_ucall(g->vcpu[v], &uc);
	if (cmd != UCALL_SYNC)
		vcpu_stopped(g, v, cmd, &uc);
	g->ran = true;
}

void guest_touch(struct guest *g, int v, const u32 *list, size_t n, bool write)
{
	guest_job(g, v, write ? OP_WRITE : OP_READ, list, n, 0);
	guest_run(g, v);
}

u64 guest_pattern(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 key)
{
	guest_job(g, v, op, list, n, key);
	guest_run(g, v);
	return g->job[v]->bad;
}

size_t guest_dirty_log(struct guest *g, u8 *dirty)
{
	size_t words = (g->r->pages + 63) / 64, i, n = 0;
	u64 *bitmap = calloc(words, sizeof(*bitmap));
	struct kvm_dirty_log log = { .slot = MEM_SLOT, .dirty_bitmap = bitmap };

	if (!bitmap || g->nr_slots != 1)
		mmg_broken("the dirty log is read from one memslot, the guest has %d", g->nr_slots);
	vm_ioctl(g->vm, KVM_GET_DIRTY_LOG, &log);
	for (i = 0; i < g->r->pages; i++) {
		dirty[i] = bitmap[i / 64] >> (i % 64) & 1;
		n += dirty[i];
	}
	free(bitmap);
	return n;
}

struct runner {
	struct guest *g;
	int v;
};

static void *run_thread(void *arg)
{
	struct runner *r = arg;

	guest_run(r->g, r->v);
	return NULL;
}

void guest_touch_all(struct guest *g, const u32 *list, size_t n, bool write)
{
	struct runner r[VM_MAX_VCPUS];
	pthread_t t[VM_MAX_VCPUS];
	size_t done = 0, share;
	int v;

	for (v = 0; v < g->nr_vcpus; v++) {
		share = n * (v + 1) / g->nr_vcpus - done;
		guest_job(g, v, write ? OP_WRITE : OP_READ, list + done, share, 0);
		done += share;
	}
	for (v = 0; v < g->nr_vcpus; v++) {
		r[v] = (struct runner){ g, v };
		if (pthread_create(&t[v], NULL, run_thread, &r[v]))
			mmg_broken("starting the thread of vCPU %d failed", v);
	}
	for (v = 0; v < g->nr_vcpus; v++)
		pthread_join(t[v], NULL);
}

void guest_destroy(struct guest *g)
{
	kvm_vm_free(g->vm);
	memset(g, 0, sizeof(*g));
}

/* --- the group ------------------------------------------------------------------- */

/*
 * DAMON clears accessed bits as well, of a page of each of its regions, and keeps
 * them in PG_young, where only eviction looks: to the walk such a page was not
 * touched.  7.2 has it on by default (damon_stat), and a huge page is often hit.
 */
static void stop_damon(void)
{
	static const char *const users[] = { "stat", "reclaim", "lru_sort" };
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		char *text;

		snprintf(path, sizeof(path), "/sys/module/damon_%s/parameters/enabled", users[i]);
		text = mmg_read_file(path, NULL);
		if (text && text[0] == 'Y')
			mmg_write_setting(path, "N");
		free(text);
	}
}

static void set_if_there(const char *path, const char *value)
{
	if (!access(path, W_OK))
		mmg_write_setting(path, "%s", value);
}

void lab_require(u64 swap)
{
	int bits = lru_gen_enabled();
	char *thp;

	memcg_require();
	if (bits < 0)
		mmg_skip("this kernel has no multi-gen LRU: needs CONFIG_LRU_GEN");
	if (access(LRU_GEN_ENABLED, W_OK) || access(LRU_GEN_DIR "lru_gen", R_OK | W_OK))
		mmg_skip("%slru_gen cannot be used: %s (root? debugfs mounted? lockdown?)",
			 LRU_GEN_DIR, strerror(errno));
	if ((bits & 7) != 7)
		mmg_write_setting(LRU_GEN_ENABLED, "0x7");
	bits = lru_gen_enabled();
	if (!(bits & LRU_GEN_CORE_BIT))
		mmg_broken("lru_gen/enabled reads 0x%x after 0x7 was written", bits);
	if (!(bits & LRU_GEN_WALK_BIT))
		mmg_skip("no page-table walks: lru_gen/enabled reads 0x%x after 0x7 was written",
			 bits);
	if (swap)
		swap_require(swap);
	stop_damon();
	set_if_there(LRU_GEN_MIN_TTL, "0");
	set_if_there("/proc/sys/kernel/numa_balancing", "0");
	set_if_there("/proc/sys/vm/page-cluster", "0");
	set_if_there("/proc/sys/vm/swappiness", "60");
	set_if_there("/sys/kernel/mm/ksm/run", "0");
	set_if_there("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0");
	thp = mmg_read_file("/sys/kernel/mm/transparent_hugepage/enabled", NULL);
	if (thp && strstr(thp, "[never]"))
		mmg_write_setting("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	free(thp);
}

void lab_set_walk(bool on)
{
	mmg_write_setting(LRU_GEN_ENABLED, on ? "0x7" : "0x5");
	if (!(lru_gen_enabled() & LRU_GEN_WALK_BIT) == on)
		mmg_broken("lru_gen/enabled reads 0x%x after the walk was turned %s",
			   lru_gen_enabled(), on ? "on" : "off");
}

void lab_create(struct lab *lab, const struct memcg *parent, const char *name)
{
	memset(lab, 0, sizeof(*lab));
	memcg_create(&lab->cg, parent, name);
	if (!memcg_has(&lab->cg, "memory.reclaim"))
		mmg_skip("this kernel has no memory.reclaim (5.19)");
	lab->id = memcg_lru_gen_id(&lab->cg);
}

void lab_enter(struct lab *lab)
{
	memcg_enter(&lab->cg, 0);
}

void lab_destroy(struct lab *lab)
{
	int err = mmg_try_write(MEMCG_ROOT "/cgroup.procs", "0");

	if (err)
		mmg_broken("leaving %s: %s", lab->cg.dir, strerror(-err));
	if (rmdir(lab->cg.dir))
		mmg_info("%s could not be removed: %s", lab->cg.dir, strerror(errno));
}

void lab_read(struct lab *lab, bool full)
{
	lru_gen_read(full, lab->cg.path, &lab->info);
}

static void age_one(struct lab *lab, const struct lru_gen_node *node, bool force)
{
	u64 seq = lru_gen_max_seq(node);
	int err = lru_gen_age(lab->id, node->nid, seq, 200, force);

	if (err)
		mmg_broken("aging \"+ %llu %d %llu 200 %d\": %s", (unsigned long long)lab->id,
			   node->nid, (unsigned long long)seq, force, strerror(-err));
}

void lab_age(struct lab *lab, bool force)
{
	const struct lru_gen_node *first;
	unsigned int i;

	lab_read(lab, false);
	/*
	 * 6.1 trusts the accessed bits of page-table pages even in a forced walk
	 * (mm/vmscan.c, walk_pmd_range()), and every node's walk clears them: what one
	 * node's aging has looked at is hidden from the next one's.
	 */
	first = lru_gen_node(&lab->info, region_node());
	if (first)
		age_one(lab, first, force);
	for (i = 0; i < lab->info.nr_nodes; i++) {
		if (&lab->info.node[i] != first)
			age_one(lab, &lab->info.node[i], force);
	}
}

int lab_age_node(struct lab *lab, int nid, bool force)
{
	const struct lru_gen_node *node;

	lab_read(lab, false);
	node = lru_gen_node(&lab->info, nid);
	return node ? lru_gen_age(lab->id, nid, lru_gen_max_seq(node), 200, force) : -ENOENT;
}

u64 lab_pages(const struct lab *lab, unsigned int back, int type)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < lab->info.nr_nodes; i++) {
		const struct lru_gen_node *node = &lab->info.node[i];
		u64 max = lru_gen_max_seq(node);

		if (max >= back)
			sum += lru_gen_pages(node, max - back, type);
	}
	return sum;
}

u64 lab_total(const struct lab *lab, int type)
{
	u64 sum = 0;
	unsigned int back;

	for (back = 0; back < LRU_GEN_MAX_GENS; back++)
		sum += lab_pages(lab, back, type);
	return sum;
}

long long lab_counter(const struct lab *lab, enum lru_gen_counter which)
{
	long long sum = -1;
	unsigned int i;

	for (i = 0; i < lab->info.nr_nodes; i++) {
		long long v = lru_gen_counter(&lab->info.node[i], which);

		if (v >= 0)
			sum = (sum < 0 ? 0 : sum) + v;
	}
	return sum;
}

void lab_log(const struct lab *lab, int pass)
{
	static FILE *f;
	unsigned int i;

	if (!f) {
		f = mmg_artifact("gens.tsv");
		if (!f)
			return;
		fprintf(f, "pass\tgen\tanon\tfile\n");
	}
	for (i = LRU_GEN_MAX_GENS; i-- > 0;)
		fprintf(f, "%d\t-%u\t%llu\t%llu\n", pass, i,
			(unsigned long long)lab_pages(lab, i, LRU_GEN_ANON),
			(unsigned long long)lab_pages(lab, i, LRU_GEN_FILE));
	fflush(f);
}

/* --- scenes and helpers ----------------------------------------------------------- */

int stage_type(const struct stage *s)
{
	return s->r.backing == BACK_FILE ? LRU_GEN_FILE : LRU_GEN_ANON;
}

void stage_create(struct stage *s, const struct stage_opts *o)
{
	size_t bytes = o->bytes ? o->bytes : mmg_opts.mem_bytes;
	int vcpus = o->vcpus ? o->vcpus : 1;

	memset(s, 0, sizeof(*s));
	s->host = o->host;
	lab_create(&s->lab, o->parent, o->name ? o->name : "stage");
	if (!s->host)
		guest_create(&s->guest, vcpus, bytes, o->code);
	region_create(&s->r, o->backing, bytes, o->offset);
	s->all = list_all(s->r.units, o->fault_seed);
	if (!s->host)
		guest_set_memory(&s->guest, &s->r, o->slots ? o->slots : 1, 0);
	if (o->prepare)
		o->prepare(s);
	lab_enter(&s->lab);
}

void stage_touch(struct stage *s, const u32 *list, size_t n, bool write)
{
	if (s->host)
		region_touch(&s->r, list, n, write);
	else if (s->guest.nr_vcpus > 1)
		guest_touch_all(&s->guest, list, n, write);
	else
		guest_touch(&s->guest, 0, list, n, write);
}

void stage_populate(struct stage *s)
{
	u64 listed;

	mmg_doing("faulting %zu units in", s->r.units);
	/* a file's pages stay clean: reclaim may drop them without writing */
	stage_touch(s, s->all, s->r.units, s->r.backing != BACK_FILE);
	region_check_resident(&s->r);
	memcg_drain_lru();
	lab_read(&s->lab, false);
	listed = lab_total(&s->lab, stage_type(s));
	if (listed < s->r.pages || listed > s->r.pages * 5 / 4 + 64)
		mmg_broken("precondition: %llu pages on the group's lists, %zu were faulted in",
			   (unsigned long long)listed, s->r.pages);
}

void stage_reclaim(struct stage *s, const u8 *label, struct stage_order *r)
{
	u16 *rank = calloc(s->r.units, sizeof(*rank));
	struct order o = { .n = s->r.units, .age = label, .rank = rank,
			   .nr_ranks = RECLAIM_STEPS + 1 };
	size_t left = 0, target, i;
	unsigned int step;

	mmg_doing("reclaiming");
	r->hot = order_count(&o, 0);
	r->cold = o.n - r->hot;
	for (step = 1; step <= RECLAIM_STEPS; step++) {
		target = r->cold * step / RECLAIM_STEPS;
		if (left >= target)
			continue;
		memcg_reclaim(&s->lab.cg, (target - left) * s->r.unit * s->r.page_size, NULL);
		left = o.n - region_read(&s->r);
		for (i = 0; i < o.n; i++) {
			if (!s->r.present[i] && !rank[i])
				rank[i] = step;
		}
	}
	for (i = 0; i < o.n; i++) {
		if (!rank[i])
			rank[i] = RECLAIM_STEPS + 1;
	}
	r->auc = order_auc(&o);
	r->hot_gone = order_evicted(&o, 0);
	r->cold_gone = order_evicted(&o, 1);
	free(rank);
}

void stage_destroy(struct stage *s)
{
	if (!s->host)
		guest_destroy(&s->guest);
	region_destroy(&s->r);
	free(s->all);
	lab_destroy(&s->lab);
}

struct message {
	int cmd;
	u64 arg;
};

static void worker_loop(int in, int out, worker_fn fn, void *state)
{
	struct message m;
	u64 ret;

	while (read(in, &m, sizeof(m)) == sizeof(m)) {
		ret = fn(state, m.cmd, m.arg);
		if (write(out, &ret, sizeof(ret)) != sizeof(ret))
			break;
	}
	_exit(0);
}

void worker_start(struct worker *w, worker_fn fn, void *state)
{
	int to[2], from[2];

	flush_own_tlb();
	region_node();
	if (pipe(to) || pipe(from))
		mmg_broken("pipe: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (w->pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		worker_loop(to[0], from[1], fn, state);
	}
	close(to[0]);
	close(from[1]);
	w->to = to[1];
	w->from = from[0];
}

void worker_send(struct worker *w, int cmd, u64 arg)
{
	struct message m = { .cmd = cmd, .arg = arg };

	if (write(w->to, &m, sizeof(m)) != sizeof(m))
		mmg_broken("the helper process is gone");
}

u64 worker_wait(struct worker *w)
{
	u64 ret;

	/* it has told why, if it could: the first word counts */
	if (read(w->from, &ret, sizeof(ret)) != sizeof(ret))
		mmg_broken("the helper process died");
	return ret;
}

u64 worker_call(struct worker *w, int cmd, u64 arg)
{
	worker_send(w, cmd, arg);
	return worker_wait(w);
}

/* --- lists ------------------------------------------------------------------------ */

u32 *list_all(size_t n, u64 seed)
{
	u32 *list = malloc(n * sizeof(*list));
	size_t i;

	if (!list)
		mmg_broken("no memory for a list of %zu", n);
	for (i = 0; i < n; i++)
		list[i] = i;
	if (seed)
		mmg_shuffle(list, n, &seed);
	return list;
}

u32 *list_where(const u8 *label, size_t n, u8 which, size_t *count)
{
	u32 *list = malloc((n ? n : 1) * sizeof(*list));
	size_t i;

	if (!list)
		mmg_broken("no memory for a list of %zu", n);
	*count = 0;
	for (i = 0; i < n; i++) {
		if (label[i] == which)
			list[(*count)++] = i;
	}
	return list;
}

void label_stratified(u8 *label, const u32 *order, size_t n, unsigned int k, u64 seed)
{
	u32 group[ORDER_K_MAX];
	size_t i;
	unsigned int j;

	for (i = 0; i < n; i += k) {
		for (j = 0; j < k; j++)
			group[j] = j;
		mmg_shuffle(group, k, &seed);
		for (j = 0; j < k && i + j < n; j++)
			label[order[i + j]] = group[j];
	}
}
