# SPDX-License-Identifier: GPL-2.0-only
# Builds build/mmgate and the suite's unit tests; the selftests have their own Makefile.
.DEFAULT_GOAL := all
B ?= build
PKGS := glib-2.0 gio-unix-2.0 libarchive libkmod jansson sqlite3 libxml-2.0 gmime-3.0
CFLAGS ?= -O2 -g
# The vendor of a package may want -Werror off: make WERROR=
WERROR ?=
comma := ,
SAN := $(if $(SANITIZE)$(FUZZ),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
SAN += $(if $(FUZZ),-fsanitize=fuzzer-no-link)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE= -Wall -Wextra -Wformat=2 -Wno-format-nonliteral $(WERROR) $(SAN) \
	$(PKG_CFLAGS) -Ihost -Iselftests/lib -Iguest -MMD -MP $(CFLAGS)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS := $(shell pkg-config --libs $(PKGS))
# the journal of changed settings and the table of rules are the selftests' own
OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard host/*/*.c) selftests/lib/journal.c selftests/lib/rules.c)
UNITS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))

# The parser of `mutants --generate`: its header now, the library itself only when it is used
LLVM := $(patsubst %/include/clang-c/Index.h,%,$(lastword $(sort $(wildcard /usr/lib/llvm-*/include/clang-c/Index.h \
	/usr/lib64/llvm*/include/clang-c/Index.h)) $(wildcard /usr/include/clang-c/Index.h)))
CPARSE_FLAGS := $(if $(LLVM),-isystem $(LLVM)/include -DLIBCLANG='"$(LLVM)/lib/libclang.so.1"')
$(B)/host/source/cparse.o: ALL_CFLAGS += $(CPARSE_FLAGS)
# compiled anew where the library came or went since; its header is as old as its package
$(B)/host/source/cparse.o: $(B)/llvm
$(B)/llvm: FORCE
	@mkdir -p $(@D)
	@echo '$(LLVM)' | cmp -s - $@ || echo '$(LLVM)' >$@
FORCE:

all: $(B)/mmgate

$(B)/mmgate: $(OBJS)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $(OBJS) $(PKG_LIBS) -lm

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# A unit test names the sources it links in a line "// unit-sources: FILE...", globs allowed
define unit
$(B)/unit/$(1): tests/unit/$(1).c $(addprefix $(B)/,$(patsubst %.c,%.o,$(wildcard $(shell sed -n 's,^// unit-sources:,,p' tests/unit/$(1).c))))
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(shell pkg-config --cflags cmocka) $(SAN) -o $$@ $$(filter %.c %.o,$$^) $$(PKG_LIBS) $$(shell pkg-config --libs cmocka) -lm
endef
$(foreach u,$(notdir $(UNITS)),$(eval $(call unit,$(u))))

units: $(UNITS)

# A fuzz target (tests/fuzz) is linked with all of host/, but for the files of its line "// fuzz-without:", which
# it includes itself, or with those of its line "// fuzz-only:" alone:  make fuzz CC=clang B=build/fuzz FUZZ=1
FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/fuzzers/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJS := $(filter-out $(B)/host/verbs/main.o,$(OBJS))
define fuzzer
$(B)/fuzzers/$(1): tests/fuzz/$(1).c tests/fuzz/common.c $(if $(shell sed -n 's,^// fuzz-only:,,p' tests/fuzz/$(1).c),$(addprefix $(B)/,$(patsubst %.c,%.o,$(shell sed -n 's,^// fuzz-only:,,p' tests/fuzz/$(1).c) $(wildcard host/base/*.c))),$(filter-out $(addprefix $(B)/,$(patsubst %.c,%.o,$(shell sed -n 's,^// fuzz-without:,,p' tests/fuzz/$(1).c))),$(FUZZ_OBJS)))
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) -Itests/fuzz -fsanitize=fuzzer -o $$@ $$(filter %.c %.o,$$^) $$(PKG_LIBS) -lm
endef
$(foreach f,$(notdir $(FUZZERS)),$(eval $(call fuzzer,$(f))))

fuzz: $(FUZZERS)

check: all units
	tests/check

clean:
	rm -rf $(B)

-include $(OBJS:.o=.d)
.PHONY: all units fuzz check clean FORCE
