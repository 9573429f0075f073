/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few functions of the kernel's KVM selftest library that the tests use, for powerpc,
 * which that library does not know: the same names, on the KVM API itself.
 *
 * The guest runs in real mode, so a guest address is a guest physical one and there are no
 * page tables of its own: under radix its accesses go through KVM's partition-scoped tables
 * alone, and those are what is under test.
 */
#ifndef MMGATE_POWERPC_KVM_UTIL_H
#define MMGATE_POWERPC_KVM_UTIL_H

/* the library's header brings these along */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kvm.h>

#include "compiler.h"

/* Shapes are the library's word for page sizes: here there is one */
#define VM_SHAPE_DEFAULT 0

struct kvm_vcpu {
	int fd;
	struct kvm_run *run;
	size_t run_bytes;
	struct kvm_vcpu *next;
};

/**
 * struct kvm_vm - a VM with the program itself in it
 * @image:	memory of the program's copy, @image_bytes at its own address
 * @vectors:	what an interrupt in the guest meets
 * @stacks:	one a vCPU
 */
struct kvm_vm {
	int fd;
	size_t page_size;
	void *image, *vectors, *stacks;
	size_t image_bytes, vectors_bytes, stacks_bytes;
	struct kvm_vcpu *vcpus;
};

/*
 * A VM that has this program in its memory, and @nr vCPUs that stand at @code.  Takes no
 * shape and no further pages; ends the case as broken where KVM refuses.
 */
struct kvm_vm *__vm_create_with_vcpus(int shape, u32 nr, u64 extra_pages, void *code,
				      struct kvm_vcpu **vcpus);
void kvm_vm_free(struct kvm_vm *vm);
/* Arguments of the vCPU's function: @num of them, at most 8 */
void vcpu_args_set(struct kvm_vcpu *vcpu, unsigned int num, ...);
/* One KVM_RUN; 0 or -1 with errno */
int __vcpu_run(struct kvm_vcpu *vcpu);
/* An ioctl of the VM; ends the case as broken where it fails */
void powerpc_vm_ioctl(struct kvm_vm *vm, unsigned long cmd, const char *name, void *arg);
#define vm_ioctl(vm, cmd, arg)	powerpc_vm_ioctl(vm, cmd, #cmd, arg)

/* Real mode: every address is mapped to itself */
static inline void virt_map(struct kvm_vm *vm, u64 va, u64 pa, unsigned int pages)
{
	(void)vm;
	(void)va;
	(void)pa;
	(void)pages;
}

/* What the guest says to us: a hypercall that no kernel knows */
#define POWERPC_UCALL	0xf7f0UL

enum { UCALL_NONE, UCALL_SYNC, UCALL_ABORT };

struct ucall {
	u64 cmd;
	u64 args[6];
};

/* UCALL_SYNC where the vCPU stopped at GUEST_SYNC(), else UCALL_NONE, args[0] being where it is */
u64 get_ucall(struct kvm_vcpu *vcpu, struct ucall *uc);

/* For guest code; PAPR: a hypercall's number and status are in r3, and r3 to r12 may change */
static inline void powerpc_ucall(u64 cmd, u64 arg)
{
	register u64 r3 asm("r3") = POWERPC_UCALL;
	register u64 r4 asm("r4") = cmd;
	register u64 r5 asm("r5") = arg;

	asm volatile("sc 1" : "+r"(r3), "+r"(r4), "+r"(r5) : : "r0", "r6", "r7", "r8", "r9",
		     "r10", "r11", "r12", "cr0", "cr1", "cr5", "cr6", "cr7", "ctr", "xer",
		     "memory");
}

#define GUEST_SYNC(stage)	powerpc_ucall(UCALL_SYNC, stage)

#endif /* MMGATE_POWERPC_KVM_UTIL_H */
