# SPDX-License-Identifier: GPL-2.0-only
# Builds build/mmgate and the suite's unit tests; the selftests have their own Makefile.
B ?= build
PKGS := glib-2.0 gio-unix-2.0 libarchive libkmod jansson sqlite3 libxml-2.0 gmime-3.0
CFLAGS ?= -O2 -g
# The vendor of a package may want -Werror off: make WERROR=
WERROR ?=
comma := ,
SAN := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE= -Wall -Wextra -Wformat=2 -Wno-format-nonliteral $(WERROR) $(SAN) \
	$(PKG_CFLAGS) -Ihost -Iselftests/lib -Iguest -MMD -MP $(CFLAGS)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS := $(shell pkg-config --libs $(PKGS))
# the journal of changed settings and the table of rules are the selftests' own
OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard host/*/*.c) selftests/lib/journal.c selftests/lib/rules.c)
UNITS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))

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

check: all units
	tests/check

clean:
	rm -rf $(B)

-include $(OBJS:.o=.d)
.PHONY: all units check clean
