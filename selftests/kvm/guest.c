// SPDX-License-Identifier: GPL-2.0-only
#include "guest.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner.h"

#define JOB_STEP	0x80000000UL
/* the library takes 1/256 of it as memory: room for a static binary and page tables */
#define EXTRA_PAGES	0x40000
#define JOB_SLOT	10
#define MEM_SLOT	20

/* The accessed bit is set when an entry is loaded into the TLB: start with an empty one */
static inline void guest_flush_tlb(void)
{
#if defined(__x86_64__)
	u64 cr3;

	asm volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(cr3) : : "memory");
#elif defined(__aarch64__)
	asm volatile("dsb ishst; tlbi vmalle1; dsb ish; isb" : : : "memory");
#elif defined(__riscv)
	asm volatile("sfence.vma" : : : "memory");
#endif
	/* powerpc: real mode has no entries of the guest's own, and ours flushes where a vCPU moves */
}

static void guest_check(struct vm_job *job, u64 unit)
{
	u64 *p = (u64 *)(job->base + unit * job->stride);
	u64 i;

	for (i = 0; i < job->stride / 8; i++) {
		if (__atomic_load_n(&p[i], __ATOMIC_RELAXED) == region_pattern(job->value, unit, i))
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
		TOUCH_WRITE(&p[i], region_pattern(job->value, unit, i));
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
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = bytes / page;
	size_t job_bytes = (sizeof(struct vm_job) + 4 * pages + page - 1) & ~(page - 1);
	static bool initialized;
	int v;

	memset(g, 0, sizeof(*g));
	mmg_doing("creating a VM");
	/* the library loads our own binary into the guest */
	program_invocation_name = "/proc/self/exe";
	if (kvm_selftest_init && !initialized)
		kvm_selftest_init();
	initialized = true;
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
