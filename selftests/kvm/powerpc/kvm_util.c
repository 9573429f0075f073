// SPDX-License-Identifier: GPL-2.0-only
#include "kvm_util.h"

#include <elf.h>
#include <stdarg.h>

#include "runner.h"

#define STACK_BYTES	0x10000UL
#define STACKS_GPA	0x8000000UL	/* below the program, which is linked to 256M */
#define VECTORS_BYTES	0x10000UL
#define SLOT_IMAGE	0
#define SLOT_VECTORS	1
#define SLOT_STACKS	2
#define PHDRS_MAX	32

/* Bits of the machine state register (arch/powerpc/include/asm/reg.h) */
#define MSR_SF	(1UL << 63)		/* 64 bits */
#define MSR_VEC	(1UL << 25)
#define MSR_VSX	(1UL << 23)
#define MSR_FP	(1UL << 13)
#define MSR_ME	(1UL << 12)
#define MSR_RI	(1UL << 1)
#define MSR_LE	(1UL << 0)

#define INSN_SC_1	0x44000022U	/* the hypercall instruction */

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		mmg_broken("mmap of %zu bytes: %s", bytes, strerror(errno));
	return p;
}

void powerpc_vm_ioctl(struct kvm_vm *vm, unsigned long cmd, const char *name, void *arg)
{
	if (ioctl(vm->fd, cmd, arg) < 0)
		mmg_broken("%s: %s", name, strerror(errno));
}

static void add_slot(struct kvm_vm *vm, u32 slot, u64 gpa, void *mem, size_t bytes)
{
	struct kvm_userspace_memory_region m = {
		.slot = slot, .guest_phys_addr = gpa, .memory_size = bytes,
		.userspace_addr = (uintptr_t)mem,
	};

	vm_ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m);
}

static void read_at(int fd, void *to, size_t bytes, u64 at)
{
	if (pread(fd, to, bytes, at) != (ssize_t)bytes)
		mmg_broken("reading this program: %s", strerror(errno));
}

/* This static program's segments, at the addresses it is linked to */
static void load_program(struct kvm_vm *vm)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	u64 low = ~0UL, high = 0, mask = vm->page_size - 1;
	Elf64_Phdr ph[PHDRS_MAX];
	Elf64_Ehdr eh;
	int i;

	if (fd < 0)
		mmg_broken("/proc/self/exe: %s", strerror(errno));
	read_at(fd, &eh, sizeof(eh), 0);
	if (eh.e_phnum > PHDRS_MAX)
		mmg_broken("this program has %d segments", eh.e_phnum);
	read_at(fd, ph, eh.e_phnum * sizeof(*ph), eh.e_phoff);
	for (i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		low = ph[i].p_vaddr < low ? ph[i].p_vaddr : low;
		if (ph[i].p_vaddr + ph[i].p_memsz > high)
			high = ph[i].p_vaddr + ph[i].p_memsz;
	}
	low &= ~mask;
	vm->image_bytes = ((high + mask) & ~mask) - low;
	vm->image = memory(vm->image_bytes);
	for (i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD)
			read_at(fd, (char *)vm->image + (ph[i].p_vaddr - low), ph[i].p_filesz,
				ph[i].p_offset);
	}
	close(fd);
	add_slot(vm, SLOT_IMAGE, low, vm->image, vm->image_bytes);
}

/* An interrupt that nobody expects ends up in a hypercall that is not ours */
static void make_vectors(struct kvm_vm *vm)
{
	size_t i;
	u32 *p;

	vm->vectors_bytes = VECTORS_BYTES;
	vm->vectors = memory(vm->vectors_bytes);
	p = vm->vectors;
	for (i = 0; i < vm->vectors_bytes / sizeof(*p); i++)
		p[i] = INSN_SC_1;
	add_slot(vm, SLOT_VECTORS, 0, vm->vectors, vm->vectors_bytes);
}

static struct kvm_vcpu *add_vcpu(struct kvm_vm *vm, int kvm, u32 id, void *code)
{
	struct kvm_enable_cap papr = { .cap = KVM_CAP_PPC_PAPR };
	struct kvm_vcpu *v = calloc(1, sizeof(*v));
	struct kvm_regs regs = { };

	if (!v)
		mmg_broken("no memory for a vCPU");
	v->fd = ioctl(vm->fd, KVM_CREATE_VCPU, (unsigned long)id);
	if (v->fd < 0)
		mmg_broken("KVM_CREATE_VCPU %u: %s", id, strerror(errno));
	/* HV KVM runs no other kind (arch/powerpc/kvm/powerpc.c, kvmppc_sanity_check()) */
	if (ioctl(v->fd, KVM_ENABLE_CAP, &papr))
		mmg_broken("KVM_CAP_PPC_PAPR: %s", strerror(errno));
	v->run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0UL);
	v->run = mmap(NULL, v->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (v->run == MAP_FAILED)
		mmg_broken("mmap of a vCPU: %s", strerror(errno));
	if (ioctl(v->fd, KVM_GET_REGS, &regs))
		mmg_broken("KVM_GET_REGS: %s", strerror(errno));
	regs.msr = MSR_SF | MSR_VEC | MSR_VSX | MSR_FP | MSR_ME | MSR_RI | MSR_LE;
	regs.pc = (uintptr_t)code;
	/* ELFv2: a function finds its table of contents from its own address in r12 */
	regs.gpr[12] = (uintptr_t)code;
	/* room for the caller's frame, whose back chain ends here */
	regs.gpr[1] = STACKS_GPA + (id + 1) * STACK_BYTES - 256;
	if (ioctl(v->fd, KVM_SET_REGS, &regs))
		mmg_broken("KVM_SET_REGS: %s", strerror(errno));
	v->next = vm->vcpus;
	vm->vcpus = v;
	return v;
}

struct kvm_vm *__vm_create_with_vcpus(int shape, u32 nr, u64 extra_pages, void *code,
				      struct kvm_vcpu **vcpus)
{
	struct kvm_vm *vm = calloc(1, sizeof(*vm));
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	u32 i;

	(void)shape;
	(void)extra_pages;
	if (!vm || kvm < 0)
		mmg_broken("/dev/kvm: %s", strerror(errno));
	vm->page_size = sysconf(_SC_PAGESIZE);
	vm->fd = ioctl(kvm, KVM_CREATE_VM, 0UL);
	if (vm->fd < 0)
		mmg_broken("KVM_CREATE_VM: %s", strerror(errno));
	if (ioctl(vm->fd, KVM_CHECK_EXTENSION, KVM_CAP_PPC_MMU_RADIX) <= 0)
		mmg_skip("this KVM has no radix guests: needs POWER9 or later and a radix kernel");
	load_program(vm);
	make_vectors(vm);
	vm->stacks_bytes = nr * STACK_BYTES;
	vm->stacks = memory(vm->stacks_bytes);
	add_slot(vm, SLOT_STACKS, STACKS_GPA, vm->stacks, vm->stacks_bytes);
	for (i = 0; i < nr; i++)
		vcpus[i] = add_vcpu(vm, kvm, i, code);
	close(kvm);
	return vm;
}

void vcpu_args_set(struct kvm_vcpu *vcpu, unsigned int num, ...)
{
	struct kvm_regs regs;
	unsigned int i;
	va_list ap;

	if (ioctl(vcpu->fd, KVM_GET_REGS, &regs))
		mmg_broken("KVM_GET_REGS: %s", strerror(errno));
	va_start(ap, num);
	for (i = 0; i < num && i < 8; i++)
		regs.gpr[3 + i] = va_arg(ap, u64);
	va_end(ap);
	if (ioctl(vcpu->fd, KVM_SET_REGS, &regs))
		mmg_broken("KVM_SET_REGS: %s", strerror(errno));
}

int __vcpu_run(struct kvm_vcpu *vcpu)
{
	return ioctl(vcpu->fd, KVM_RUN, 0UL);
}

u64 get_ucall(struct kvm_vcpu *vcpu, struct ucall *uc)
{
	struct kvm_run *run = vcpu->run;
	struct kvm_regs regs = { };

	memset(uc, 0, sizeof(*uc));
	if (run->exit_reason == KVM_EXIT_PAPR_HCALL && run->papr_hcall.nr == POWERPC_UCALL) {
		uc->cmd = run->papr_hcall.args[0];
		uc->args[0] = run->papr_hcall.args[1];
		run->papr_hcall.ret = 0;
		return uc->cmd;
	}
	ioctl(vcpu->fd, KVM_GET_REGS, &regs);
	uc->args[0] = regs.pc;
	return UCALL_NONE;
}

void kvm_vm_free(struct kvm_vm *vm)
{
	struct kvm_vcpu *v, *next;

	for (v = vm->vcpus; v; v = next) {
		next = v->next;
		munmap(v->run, v->run_bytes);
		close(v->fd);
		free(v);
	}
	close(vm->fd);
	munmap(vm->image, vm->image_bytes);
	munmap(vm->vectors, vm->vectors_bytes);
	munmap(vm->stacks, vm->stacks_bytes);
	free(vm);
}
