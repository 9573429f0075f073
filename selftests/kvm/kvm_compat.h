/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The KVM selftest library of the tree that the tests are built from, and the one place
 * that knows how it differs from kernel to kernel.
 */
#ifndef MMGATE_KVM_COMPAT_H
#define MMGATE_KVM_COMPAT_H

#include "kvm_util.h"
#include "processor.h"
#include "ucall_common.h"

/* Up to 6.6 the first argument of __vm_create_with_vcpus() is a mode, later a shape */
#ifndef VM_SHAPE_DEFAULT
#define VM_SHAPE_DEFAULT VM_MODE_DEFAULT
#endif

/* Run by main() through a constructor in the library, from 6.4 on; see libkvm.mk */
#pragma weak kvm_selftest_init
void kvm_selftest_init(void);

#endif /* MMGATE_KVM_COMPAT_H */
