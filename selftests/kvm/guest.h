/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest whose memory is a region: its pages are touched only by vCPUs, which work off
 * lists of page numbers.
 */
#ifndef MMGATE_GUEST_H
#define MMGATE_GUEST_H

#include "kvm_compat.h"
#include "region.h"

#define VM_MAX_VCPUS	4
#define VM_OTHER_SLOT	200
/* Where a guest has them: the job of vCPU 0, and the region (less its offset) */
#define VM_JOB_GPA	0x100000000UL	/* 4G: a vCPU's job each 2G */
#define VM_MEM_GPA	0x1000000000UL	/* 64G */

enum vm_op { OP_READ, OP_WRITE, OP_FILL, OP_CHECK };

/* What a vCPU is asked to do, in memory that it shares with us */
struct vm_job {
	u64 op;
	u64 base;	/* guest address of the region */
	u64 stride;	/* bytes of a unit */
	u64 n;		/* length of list */
	u64 value;	/* OP_FILL, OP_CHECK: the pattern's key */
	u64 bad;	/* OP_CHECK: words that differ */
	u64 first_bad;	/* the unit of the first of them */
	u32 list[];
};

/**
 * struct guest - a VM whose memory is a region
 * @vm:		the library's
 * @vcpu:	its vCPUs
 * @nr_vcpus:	how many
 * @r:		the region
 * @gpa:	guest physical (and virtual) address of the region
 * @job:	what each vCPU is to do
 * @ran:	a vCPU came to its sync: what goes wrong from now on is the kernel's
 */
struct guest {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[VM_MAX_VCPUS];
	int nr_vcpus;
	struct region *r;
	u64 gpa;
	struct vm_job *job[VM_MAX_VCPUS];
	u32 slot_flags;
	int nr_slots;
	bool ran;
};

/* Skip, with what to do, unless /dev/kvm can be used by the library that we were built with */
void guest_require(void);

/*
 * Create the VM for memory of up to @bytes.  Call it before the process enters
 * the experiment's memcg: what the library allocates is then charged elsewhere.
 * The vCPUs run @code, with their job as argument, or the usual loop where it is NULL.
 */
void guest_create(struct guest *g, int nr_vcpus, size_t bytes, void *code);

/*
 * Make @r the guest's memory, as @nr_slots memslots of about the same size (at
 * page granularity: their borders lie inside PMD ranges where @nr_slots > 1).
 */
void guest_set_memory(struct guest *g, struct region *r, int nr_slots, u32 flags);

/* Let vCPU @v touch the units of @list in that order */
void guest_touch(struct guest *g, int v, const u32 *list, size_t n, bool write);
/* Let all vCPUs at once touch a share of the list each */
void guest_touch_all(struct guest *g, const u32 *list, size_t n, bool write);
/* Let vCPU @v write (OP_FILL) or check (OP_CHECK) a pattern that depends on @key */
u64 guest_pattern(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 key);
/*
 * Fetch and clear the dirty log of a region with one memslot that was set up with
 * KVM_MEM_LOG_DIRTY_PAGES: a byte for each base page.  Returns how many are dirty.
 */
size_t guest_dirty_log(struct guest *g, u8 *dirty);
/* Lower level: set up a job, run it in the calling thread */
void guest_job(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 value);
void guest_run(struct guest *g, int v);

/* For guest code: do what the job says, starting with an empty TLB */
void guest_work(struct vm_job *job);
/* A memslot of our own, numbers from VM_OTHER_SLOT on */
void guest_add_slot(struct guest *g, u32 slot, u64 gpa, void *hva, size_t bytes, u32 flags);
/* Map a range in the guest's page tables, one to one, by 2M entries where they can be had */
void guest_map(struct guest *g, u64 gpa, size_t bytes);

void guest_destroy(struct guest *g);

#endif /* MMGATE_GUEST_H */
