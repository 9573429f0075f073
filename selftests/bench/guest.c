// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kvm.h>

#include "guest.h"
#include "runner.h"

#define CODE_GPA	0x1000ul
#define MEM_GPA		0x40000000ul
#define MAX_BYTES	(2ul << 30)	/* below the local APIC at 0xfee00000 */
#define CODE_BYTES	4096
#define HUGE		(2ul << 20)

#if defined(__x86_64__)
/*
 * 32-bit code without paging: one load or store, a step, a count, a halt.
 *	mov (%esi),%al or mov %ecx,(%esi); add %edx,%esi; dec %ecx; jnz; hlt
 */
static const u8 reader[] = { 0x8a, 0x06, 0x01, 0xd6, 0x49, 0x75, 0xf9, 0xf4 };
static const u8 writer[] = { 0x89, 0x0e, 0x01, 0xd6, 0x49, 0x75, 0xf9, 0xf4 };

#define READER	0
#define WRITER	64

static void add_slot(struct guest *g, u32 slot, u64 gpa, size_t bytes, void *host)
{
	struct kvm_userspace_memory_region r = {
		.slot = slot,
		.guest_phys_addr = gpa,
		.memory_size = bytes,
		.userspace_addr = (uintptr_t)host,
	};

	if (ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &r))
		mmg_broken("KVM_SET_USER_MEMORY_REGION of %zu bytes: %s", bytes, strerror(errno));
}

/* Flat 32-bit protected mode */
static void set_mode(struct guest *g)
{
	struct kvm_segment data = {
		.base = 0, .limit = 0xffffffff, .selector = 16, .type = 3,
		.present = 1, .s = 1, .db = 1, .g = 1,
	};
	struct kvm_sregs sregs;

	if (ioctl(g->vcpu, KVM_GET_SREGS, &sregs))
		mmg_broken("KVM_GET_SREGS: %s", strerror(errno));
	sregs.ds = data;
	sregs.es = data;
	sregs.fs = data;
	sregs.gs = data;
	sregs.ss = data;
	sregs.cs = data;
	sregs.cs.selector = 8;
	sregs.cs.type = 11;
	sregs.cr0 = 0x11;
	if (ioctl(g->vcpu, KVM_SET_SREGS, &sregs))
		mmg_broken("KVM_SET_SREGS: %s", strerror(errno));
}

static void *map(size_t bytes, size_t align)
{
	u8 *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	u8 *q = (u8 *)(((uintptr_t)p + align - 1) & ~(align - 1));

	if (p == MAP_FAILED)
		mmg_broken("mmap of %zu bytes: %s", bytes, strerror(errno));
	if (q > p)
		munmap(p, q - p);
	munmap(q + bytes, p + align - q);
	return q;
}

void guest_create(struct guest *g, size_t bytes, bool thp)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), run_bytes;

	if (kvm < 0)
		mmg_skip("/dev/kvm: %s (load kvm_amd or kvm_intel)", strerror(errno));
	if (bytes > MAX_BYTES)
		mmg_broken("a guest of %zu bytes: the most is %lu", bytes, MAX_BYTES);
	g->bytes = bytes;
	g->vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (g->vm < 0)
		mmg_broken("KVM_CREATE_VM: %s", strerror(errno));
	g->code = map(CODE_BYTES, CODE_BYTES);
	memcpy(g->code + READER, reader, sizeof(reader));
	memcpy(g->code + WRITER, writer, sizeof(writer));
	g->mem = map(bytes, HUGE);
	if (madvise(g->mem, bytes, thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && thp)
		mmg_skip("MADV_HUGEPAGE: %s (CONFIG_TRANSPARENT_HUGEPAGE)", strerror(errno));
	add_slot(g, 0, CODE_GPA, CODE_BYTES, g->code);
	add_slot(g, 1, MEM_GPA, bytes, g->mem);
	g->vcpu = ioctl(g->vm, KVM_CREATE_VCPU, 0);
	run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (g->vcpu < 0 || run_bytes < 0)
		mmg_broken("KVM_CREATE_VCPU: %s", strerror(errno));
	g->run_bytes = run_bytes;
	g->run = mmap(NULL, run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu, 0);
	if (g->run == MAP_FAILED)
		mmg_broken("mmap of kvm_run: %s", strerror(errno));
	set_mode(g);
	close(kvm);
}

void guest_touch(struct guest *g, size_t offset, size_t stride, size_t count, bool write)
{
	struct kvm_regs regs = {
		.rip = CODE_GPA + (write ? WRITER : READER),
		.rsi = MEM_GPA + offset,
		.rdx = stride,
		.rcx = count,
		.rflags = 2,
	};

	if (!count)
		return;
	if (ioctl(g->vcpu, KVM_SET_REGS, &regs))
		mmg_broken("KVM_SET_REGS: %s", strerror(errno));
	while (ioctl(g->vcpu, KVM_RUN, 0))
		if (errno != EINTR && errno != EAGAIN)
			mmg_broken("KVM_RUN: %s", strerror(errno));
	if (g->run->exit_reason != KVM_EXIT_HLT)
		mmg_broken("the guest left with exit reason %u, not with its halt",
			   g->run->exit_reason);
}
#else
void guest_create(struct guest *g, size_t bytes, bool thp)
{
	(void)g;
	(void)bytes;
	(void)thp;
	mmg_skip("the benchmark guest is written for x86 only");
}

void guest_touch(struct guest *g, size_t offset, size_t stride, size_t count, bool write)
{
	(void)g;
	(void)offset;
	(void)stride;
	(void)count;
	(void)write;
}
#endif

void guest_destroy(struct guest *g)
{
	/* the mapping keeps the vCPU, and the vCPU the VM with its MMU notifier */
	munmap(g->run, g->run_bytes);
	close(g->vcpu);
	close(g->vm);
	munmap(g->mem, g->bytes);
	munmap(g->code, CODE_BYTES);
}
