# SPDX-License-Identifier: GPL-2.0-only
#
# The KVM selftest library of KSRC as OUTPUT/kvm/.libkvm/libkvm.a.
#
# Its sources are taken by wildcard, with the folder of the architecture under
# whichever name this kernel has (x86_64 or x86, aarch64 or arm64).  The uapi
# headers are used right from include/uapi of the tree rather than installed:
# that works for a tree that is read-only or was built in, and takes no time.

KVM_DIR := $(KSRC)/tools/testing/selftests/kvm

ifneq ($(filter all run_tests install,$(or $(MAKECMDGOALS),all)),)
ifeq ($(KSRC),)
$(error KSRC is not set: give the kernel source tree, KSRC=/usr/src/linux-source-6.12)
endif
ifeq ($(wildcard $(KVM_DIR)/lib/kvm_util.c),)
$(error KSRC=$(KSRC) has no KVM selftest library (tools/testing/selftests/kvm/lib/kvm_util.c))
endif
endif

KVM_ARCH := $(firstword $(notdir $(wildcard $(addprefix $(KVM_DIR)/lib/,$(if \
	$(filter x86,$(ARCH)),x86 x86_64,$(if $(filter arm64,$(ARCH)),arm64 aarch64,$(if \
	$(filter s390,$(ARCH)),s390 s390x,$(ARCH))))))))

# Where the library knows nothing of the architecture, the few functions that the tests use
# are our own, on the KVM headers of the compiler.
OWN_KVM := $(if $(KVM_ARCH),,$(wildcard $(ARCH)/kvm_util.c))
ifeq ($(KVM_ARCH)$(OWN_KVM),)
ifneq ($(filter all run_tests install,$(or $(MAKECMDGOALS),all)),)
$(error the KVM selftest library of $(KSRC) knows no architecture $(ARCH))
endif
endif

# Not in the library: they need headers of other selftests (see access tracking below)
KVM_SKIP := memstress perf_test_util userfaultfd_util lru_gen_util hyperv

KVM_C := $(filter-out $(addsuffix .c,$(KVM_SKIP)),$(notdir $(wildcard $(KVM_DIR)/lib/*.c)))
KVM_ARCH_SRC := $(filter-out $(addsuffix .c,$(KVM_SKIP)),$(notdir $(wildcard \
	$(KVM_DIR)/lib/$(KVM_ARCH)/*.[cS])))
KVM_OUT := $(OUTPUT)/kvm/.libkvm
KVM_OBJS := $(patsubst %.c,$(KVM_OUT)/%.o,$(KVM_C)) \
	$(addprefix $(KVM_OUT)/arch/,$(addsuffix .o,$(basename $(KVM_ARCH_SRC))))
ifneq ($(OWN_KVM),)
KVM_OBJS := $(KVM_OUT)/own/kvm_util.o
endif
LIBKVM := $(KVM_OUT)/libkvm.a
# What the tests share: all sources of this directory that are no test
VM_O := $(addprefix $(KVM_OUT)/,$(patsubst %.c,%.o,$(filter-out %_test.c,$(wildcard *.c))))

KVM_INCLUDES := -I$(KVM_DIR)/include -I$(KVM_DIR)/include/$(KVM_ARCH) \
	-I$(KSRC)/tools/include -I$(KSRC)/tools/arch/$(ARCH)/include \
	-I$(KSRC)/include/uapi -I$(KSRC)/arch/$(ARCH)/include/uapi \
	-I$(KSRC)/tools/testing/selftests -I$(KSRC)/tools/testing/selftests/rseq
KVM_CFLAGS := -D__EXPORTED_HEADERS__ -D__user= '-D__packed=__attribute__((packed))' -DCONFIG_64BIT -U_FORTIFY_SOURCE \
	-fno-builtin-memcmp -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-strnlen \
	-fno-stack-protector -fno-PIE -fno-strict-aliasing $(KVM_INCLUDES)
ifneq ($(OWN_KVM),)
KVM_CFLAGS := -fno-stack-protector -fno-PIE -fno-strict-aliasing -I$(ARCH)
endif
# tools/include defines words as glibc's headers do, and not quite alike
KVM_LIB_CFLAGS = -std=gnu11 -O2 -g -w -D_GNU_SOURCE= $(KVM_CFLAGS)

# What the library of this tree has, found out by compiling a line against its headers: a
# version number would be wrong for every backport.  kvm_compat.h makes the same of both.
kvm_compiles = $(shell printf '\043include "kvm_util.h"\n\043include "%s"\n%s\n' $(1) '$(2)' | \
	$(CC) $(KVM_LIB_CFLAGS) -fsyntax-only -x c - 2>/dev/null && echo yes)
comma := ,
ifeq ($(filter clean emit_tests,$(MAKECMDGOALS)),)
ifeq ($(ARCH),x86)
KVM_FEATURES := $(if $(call kvm_compiles,svm_util.h,void f(struct svm_test_data *s$(comma) void *p) \
	{ generic_svm_setup(s$(comma) p$(comma) p); }),-DKVM_LIB_SVM_SETUP_TAKES_STACK)
endif
endif

# Where asm/unistd.h includes a header that the kernel generates, give the generic
# table in its place: the numbers of these architectures are the generic ones.
ifneq ($(filter arm64 riscv,$(ARCH)),)
UNISTD_H := $(KVM_OUT)/include/asm/unistd.h
KVM_CFLAGS := -I$(KVM_OUT)/include $(KVM_CFLAGS)
$(UNISTD_H):
	$(Q)mkdir -p $(@D)
	$(Q)printf '#define __ARCH_WANT_%s\n' NEW_STAT SET_GET_RLIMIT RENAMEAT SYS_CLONE3 > $@
	$(Q)echo '#include <asm-generic/unistd.h>' >> $@
$(KVM_OBJS) $(TEST_OBJS) $(VM_O): $(UNISTD_H)
endif

# arm64's system registers are generated from a table
ifeq ($(ARCH),arm64)
SYSREG_TOOL := $(firstword $(wildcard $(KSRC)/arch/arm64/tools/gen-sysreg.awk))
SYSREG_TABLE := $(wildcard $(KSRC)/arch/arm64/tools/sysreg)
SYSREG_H := $(KVM_OUT)/generated/asm/sysreg-defs.h
KVM_CFLAGS += -I$(KVM_OUT)/generated
$(SYSREG_H): $(SYSREG_TOOL) $(SYSREG_TABLE)
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $(SYSREG_TOOL) $(SYSREG_TABLE) > $@
$(KVM_OBJS) $(TEST_OBJS) $(VM_O): $(SYSREG_H)
endif

# The library's constructor opens module parameters and exits, before main(),
# where KVM is not loaded; the tests call it themselves, once they know it is.
$(KVM_OUT)/kvm_util.o: KVM_LIB_CFLAGS += -Dconstructor=used
# Guests call these: nothing of libc may be in them
$(KVM_OUT)/string_override.o: KVM_LIB_CFLAGS += -ffreestanding

$(KVM_OUT)/%.o: $(KVM_DIR)/lib/%.c $(STAMP)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(KVM_LIB_CFLAGS) -I$(<D) -c $< -o $@

$(KVM_OUT)/arch/%.o: $(KVM_DIR)/lib/$(KVM_ARCH)/%.c $(STAMP)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(KVM_LIB_CFLAGS) -I$(<D) -I$(KVM_DIR)/lib -c $< -o $@

$(KVM_OUT)/arch/%.o: $(KVM_DIR)/lib/$(KVM_ARCH)/%.S $(STAMP)
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(KVM_LIB_CFLAGS) -I$(<D) -c $< -o $@

$(KVM_OUT)/own/%.o: $(ARCH)/%.c $(wildcard $(ARCH)/*.h) $(STAMP)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) $(KVM_CFLAGS) -c $< -o $@

$(LIBKVM): $(KVM_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# The family's own helpers, and the flags of guest code, which runs without libc
TEST_CFLAGS += $(KVM_CFLAGS:-I%=-isystem %) $(KVM_FEATURES)
$(VM_O): $(KVM_OUT)/%.o: %.c $(STAMP)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) $(TEST_CFLAGS) -c $< -o $@
-include $(VM_O:.o=.d)

$(TEST_BINS): $(VM_O) $(LIBKVM)
TEST_DEPS += $(VM_O) $(if $(OWN_KVM),,$(KVM_OUT)/string_override.o) $(LIBKVM)
TEST_LDFLAGS += $(if $(findstring clang,$(CC)),,-no-pie)

# Upstream's own test of access tracking, as a function for ours to call.  Where this
# tree has none that knows MGLRU (6.12's does not, 7.2's does), or it does not build, a
# stub says so.
UPSTREAM := $(KVM_DIR)/access_tracking_perf_test.c
UPSTREAM_O := $(KVM_OUT)/upstream/access_tracking.o
UPSTREAM_C := $(UPSTREAM) $(KVM_DIR)/lib/memstress.c $(KVM_DIR)/lib/lru_gen_util.c \
	$(wildcard $(KVM_DIR)/lib/$(KVM_ARCH)/memstress.c) \
	$(wildcard $(KSRC)/tools/testing/selftests/cgroup/lib/cgroup_util.c)
UPSTREAM_CFLAGS = -Dmain=upstream_main -I$(KSRC)/tools/testing/selftests/cgroup/lib/include

ifneq ($(OWN_KVM),)
$(UPSTREAM_O): libkvm.mk $(STAMP)
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'const char *upstream_why_not = "the kernel has no KVM selftest library for' \
		' $(ARCH)"; int upstream_main(void) { return 4; }' | tr -d '\n' > $(@D)/why_not.c
	$(Q)$(CC) -c $(@D)/why_not.c -o $@
else ifneq ($(wildcard $(KVM_DIR)/lib/lru_gen_util.c),)
$(UPSTREAM_O): $(UPSTREAM_C) libkvm.mk $(STAMP)
	$(call say,CC,$@)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)echo 'const char *upstream_why_not;' > $(@D)/why_not.c
	$(Q)cd $(@D) && ( for c in why_not.c $(UPSTREAM_C); do \
		n=x$$n; LC_ALL=C $(CC) $(KVM_LIB_CFLAGS) $(UPSTREAM_CFLAGS) -c $$c -o $$n.o || exit 1; \
		done && $(CC) -r -nostdlib x*.o -o $@ ) 2> log || { \
		sed -n '/error:/{s/.*error://; s/["\\]//g; s/.*/const char *upstream_why_not = \
"the access_tracking_perf_test of KSRC does not build:&"; int upstream_main(void) { return 4; }/p; q}' \
		log > why_not.c; [ -s why_not.c ] || echo 'const char *upstream_why_not = "the \
access_tracking_perf_test of KSRC does not link"; int upstream_main(void) { return 4; }' > why_not.c; \
		$(CC) -c why_not.c -o $@; }
else
$(UPSTREAM_O): libkvm.mk $(STAMP)
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'const char *upstream_why_not = "the access_tracking_perf_test of KSRC' \
		' ages by page_idle only: --ksrc of a later kernel, such as 7.2";' \
		'int upstream_main(void) { return 4; }' | tr -d '\n' > $(@D)/why_not.c
	$(Q)$(CC) -c $(@D)/why_not.c -o $@
endif

$(OUTPUT)/kvm/access_tracking_test: TEST_DEPS := $(UPSTREAM_O) $(TEST_DEPS)
$(OUTPUT)/kvm/access_tracking_test: $(UPSTREAM_O)
