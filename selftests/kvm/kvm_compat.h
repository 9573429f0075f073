/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The KVM selftest library of the tree that the tests are built from, and the one place
 * that knows how it differs from kernel to kernel.
 */
#ifndef MMGATE_KVM_COMPAT_H
#define MMGATE_KVM_COMPAT_H

#include "kvm_util.h"
/* our own for powerpc is one file */
#if __has_include("processor.h")
#include "processor.h"
#include "ucall_common.h"
#endif

/* Up to 6.6 the first argument of __vm_create_with_vcpus() is a mode, later a shape */
#ifndef VM_SHAPE_DEFAULT
#define VM_SHAPE_DEFAULT VM_MODE_DEFAULT
#endif

/* Run by main() through a constructor in the library, from 6.4 on; see libkvm.mk */
#pragma weak kvm_selftest_init
void kvm_selftest_init(void);

#ifdef __x86_64__
#include "svm_util.h"

/* Names of the VMCB's fields up to 7.0 */
#ifndef SVM_MISC_ENABLE_NP
#define SVM_MISC_ENABLE_NP	SVM_NESTED_CTL_NP_ENABLE
#define misc_ctl		nested_ctl
#endif

/*
 * For guest code: prepare @svm to run @code on the stack that ends at @stack.  Up to 7.2
 * generic_svm_setup() takes the stack, later the library has one (of a page) itself.
 */
static inline void svm_setup(struct svm_test_data *svm, void *code, void *stack)
{
#ifdef KVM_LIB_SVM_SETUP_TAKES_STACK
	generic_svm_setup(svm, code, stack);
#else
	generic_svm_setup(svm, code);
	svm->vmcb->save.rsp = (u64)stack;
#endif
}
#endif /* __x86_64__ */

#endif /* MMGATE_KVM_COMPAT_H */
