# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by the Makefiles of the families.  Before including it, set
#	FAMILY		name of the directory (kvm, mm)
#	TESTS		tests without their .c, such as eviction_order_test
# and, where a family needs them
#	TEST_CFLAGS	further flags for its own sources
#	TEST_DEPS	objects linked into each of its tests
#
# The targets are those of kselftest: all, run_tests, install, emit_tests,
# clean.  The kernel's own lib.mk is not included, because it changes from 6.1
# to 7.2, wants headers installed into the source tree and rsync on the host;
# nothing here ever writes into KSRC.

# Sources by relative names: a checkout may lie in a path with spaces, which
# make cannot have in its rules.
LIB_DIR := ../lib
SRC_DIR := .

# Relative directories are meant from where make was called, not from here
from_caller = $(if $(filter /%,$(1)),$(1),$(if $(1),$(abspath $(or $(PWD),$(CURDIR))/$(1))))
ifeq ($(OUTPUT),)
override OUTPUT := ../../build/selftests
else
override OUTPUT := $(call from_caller,$(OUTPUT))
endif
override KSRC := $(call from_caller,$(KSRC))
ifneq ($(words $(OUTPUT))$(filter-out 0 1,$(words $(KSRC))),1)
$(error OUTPUT "$(OUTPUT)" and KSRC "$(KSRC)" must be one word each: make knows no names with spaces)
endif

# ARCH as kbuild spells it, from ARCH, CROSS_COMPILE or the host
ifeq ($(ARCH),)
ifneq ($(CROSS_COMPILE),)
MACHINE := $(firstword $(subst -, ,$(notdir $(CROSS_COMPILE))))
else
MACHINE := $(shell uname -m)
endif
else
MACHINE := $(ARCH)
endif
override ARCH := $(if $(filter x86_64 i386 x86,$(MACHINE)),x86,$(if $(filter \
	aarch64 arm64,$(MACHINE)),arm64,$(if $(filter s390 s390x,$(MACHINE)),s390,$(if \
	$(filter riscv%,$(MACHINE)),riscv,$(if $(filter ppc64% powerpc%,$(MACHINE)),powerpc,$(if \
	$(filter loong%,$(MACHINE)),loongarch,$(MACHINE)))))))

ifneq ($(LLVM),)
CC := clang $(if $(CROSS_COMPILE),--target=$(patsubst %-,%,$(notdir $(CROSS_COMPILE))))
AR := llvm-ar
else ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR := $(CROSS_COMPILE)ar
endif

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n' $(1) $(patsubst $(OUTPUT)/%,%,$(2))
MAKEFLAGS += --no-print-directory
endif

WARN_CFLAGS := -Wall -Wextra -Wstrict-prototypes
# clang makes bcmp() of memcmp(), and libc's bcmp() brings a second memcmp() beside the KVM library's
LIB_CFLAGS := -std=gnu11 -O2 -g -fno-builtin-bcmp -D_GNU_SOURCE= $(WARN_CFLAGS) -I$(LIB_DIR) -MMD -MP $(USERCFLAGS)

LIB_SRCS := $(wildcard $(LIB_DIR)/*.c)
LIB_OBJS := $(patsubst $(LIB_DIR)/%.c,$(OUTPUT)/$(FAMILY)/.lib/%.o,$(LIB_SRCS))
LIB_A := $(OUTPUT)/$(FAMILY)/.lib/libmmgate.a
TEST_BINS := $(addprefix $(OUTPUT)/$(FAMILY)/,$(TESTS))
TEST_OBJS := $(addsuffix .o,$(TEST_BINS))

all: $(TEST_BINS)

# A build for another architecture, compiler or tree must not reuse objects
STAMP := $(OUTPUT)/$(FAMILY)/.lib/.flags
FLAGS_NOW := $(CC) $(ARCH) $(LIB_CFLAGS) $(TEST_CFLAGS) $(KSRC)
$(shell mkdir -p $(dir $(STAMP)) && printf '%s\n' "$(FLAGS_NOW)" | cmp -s - $(STAMP) || \
	printf '%s\n' "$(FLAGS_NOW)" > $(STAMP))

$(LIB_OBJS): $(OUTPUT)/$(FAMILY)/.lib/%.o: $(LIB_DIR)/%.c $(STAMP)
	$(call say,CC,$@)
	$(Q)$(CC) $(LIB_CFLAGS) -c $< -o $@

$(LIB_A): $(LIB_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(TEST_OBJS): $(OUTPUT)/$(FAMILY)/%.o: $(SRC_DIR)/%.c $(STAMP)
	$(call say,CC,$@)
	$(Q)$(CC) $(LIB_CFLAGS) $(TEST_CFLAGS) -c $< -o $@

$(TEST_BINS): %: %.o $(TEST_DEPS) $(LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) -static $(TEST_LDFLAGS) $(USERLDFLAGS) $< $(TEST_DEPS) $(LIB_A) -pthread -o $@

run_tests: all
	@sh $(LIB_DIR)/run_tests.sh $(FAMILY) $(SRC_DIR)/settings $(TEST_BINS)

install: all
	@test -n "$(INSTALL_PATH)" || { echo "install: set INSTALL_PATH" >&2; exit 2; }
	$(Q)mkdir -p $(INSTALL_PATH)
	$(Q)cp $(TEST_BINS) $(wildcard $(SRC_DIR)/settings $(SRC_DIR)/config) $(INSTALL_PATH)/
	$(Q)cd $(SRC_DIR) && grep -H 'mmgate-[a-z]*:' $(addsuffix .c,$(TESTS)) | \
		sed 's,_test\.c:[ *]*mmgate-,\t,; s,:[ \t]*,\t,; s,^,$(FAMILY)/,' \
		> $(INSTALL_PATH)/catalogue.tsv

emit_tests:
	@for t in $(TESTS); do echo "$(FAMILY):$$t"; done

clean:
	$(Q)rm -rf $(OUTPUT)/$(FAMILY) $(EXTRA_CLEAN)

-include $(LIB_OBJS:.o=.d) $(TEST_OBJS:.o=.d)

.PHONY: all run_tests install emit_tests clean
.DELETE_ON_ERROR:
