/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that does one thing, touch its memory, built on KVM's ioctls alone:
 * the benchmarks need no selftest library, so they build and run the same on
 * every kernel.  x86 only; elsewhere the benchmarks skip.
 */
#ifndef MMGATE_BENCH_GUEST_H
#define MMGATE_BENCH_GUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

struct kvm_run;

/**
 * struct guest - a VM with one vCPU
 * @mem:	its memory as the host maps it
 * @bytes:	how much
 */
struct guest {
	u8 *mem;
	size_t bytes;
	int vm, vcpu;
	struct kvm_run *run;
	size_t run_bytes;
	u8 *code;
};

/*
 * Create a guest with @bytes of private anonymous memory, of huge pages where
 * @thp.  Does not return where it cannot: skip without /dev/kvm, else broken.
 */
void guest_create(struct guest *g, size_t bytes, bool thp);

/*
 * Let the vCPU write to (or read, where not @write) one word at @offset and at
 * each @stride bytes after it, @count times in all.  Broken where it leaves the
 * guest for any other reason than having done so.
 */
void guest_touch(struct guest *g, size_t offset, size_t stride, size_t count, bool write);

/* Undo guest_create() */
void guest_destroy(struct guest *g);

#endif /* MMGATE_BENCH_GUEST_H */
