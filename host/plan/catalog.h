/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_CATALOG_H
#define MMGATE_CATALOG_H

#include "mmg.h"

/**
 * struct test - what a test says of itself, read from its head comment
 * @name:	family/test
 * @about:	mmgate-about, one line
 * @guards:	mmgate-guards, commits
 * @needs:	mmgate-needs, words such as CONFIG_LRU_GEN
 * @machines:	mmgate-machines, "default" where the test names none
 * @quick:	mmgate-quick, the machines of the main job
 * @quick_cases: mmgate-quick-cases, case globs of the main job; empty for all
 * @modules:	mmgate-modules
 * @timeout:	mmgate-timeout, seconds
 */
struct test {
	char *name, *about;
	GPtrArray *guards, *needs, *machines, *quick, *quick_cases, *modules;
	int timeout;
};

/* All tests below selftests/, sorted by name; NULL with *@err */
GPtrArray *catalog_load(GError **err);
/* The tags of one source text; @name as above */
struct test *catalog_parse(const char *name, const char *text);
void catalog_test_free(gpointer test);

/**
 * struct machine - a boot topology, configs/machines/NAME.conf
 * @type:	QEMU's machine type, NULL for the architecture's usual one
 * @cpu:	QEMU's CPU, NULL for the architecture's usual one
 * @archs:	empty: any
 * @setup:	"PATH=VALUE" written before the tests
 * @module_options: module name to options
 * @dimms:	sizes of the DIMMs that can be plugged
 * @tests:	globs of tests that may run there though they do not name it
 * @programs:	of the host, put on the data disk with their libraries where the host has them
 */
struct machine {
	char *name, *about, *memory, *memory_args, *board, *type, *cpu, *append, *swap, *disk;
	int cpus;
	GPtrArray *archs, *qemu, *setup, *dimms, *tests, *programs;
	GHashTable *module_options;
};

struct machine *machine_load(const char *name, GError **err);
/* All of them, sorted by name */
GPtrArray *machines_load(GError **err);
void machine_free(gpointer machine);
bool machine_has_arch(const struct machine *m, const char *arch);

#endif /* MMGATE_CATALOG_H */
