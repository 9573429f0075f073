/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What there is to run, tests and machines, and what one boot does.
 */
#ifndef MMGATE_PLAN_H
#define MMGATE_PLAN_H

#include "kernel/kernel.h"

/**
 * struct test - what a test says of itself, read from its head comment
 * @name:	family/test
 * @about:	mmgate-about, one line
 * @guards:	mmgate-guards, commits
 * @needs:	mmgate-needs, words such as CONFIG_LRU_GEN: without one the test is skipped
 * @wants:	mmgate-wants, the same for some of its cases, which see for themselves
 * @machines:	mmgate-machines, "default" where the test names none
 * @quick:	mmgate-quick, the machines of the main job
 * @quick_cases: mmgate-quick-cases, case globs of the main job; empty for all
 * @modules:	mmgate-modules
 * @provokes:	mmgate-provokes, kinds of reports that the kernel may print while it runs
 * @timeout:	mmgate-timeout, seconds
 * @stays:	has an mmgate-export: it is left out of what is exported to a kernel tree
 * @prose:	the first paragraph behind the tags, in one line; "" where there is none
 */
struct test {
	char *name, *about, *prose;
	GPtrArray *guards, *needs, *wants, *machines, *quick, *quick_cases, *modules, *provokes;
	int timeout;
	bool stays;
};

/* All tests below selftests/, sorted by name; NULL with *@err */
GPtrArray *catalog_load(GError **err);
/* What the comments at the beginning of one source say, up to its first code; @name as above */
struct test *catalog_parse(const char *name, const char *source);
void catalog_test_free(gpointer test);

/**
 * struct machine - a boot topology, configs/machines/NAME.conf
 * @spec:	what it was asked for by: its name, or the path of a file elsewhere
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
	char *spec, *name, *about, *memory, *memory_args, *board, *type, *cpu, *append, *swap, *disk;
	char *boot;		/* "image": by the image's own start; "vmlinux": by that in it, where it can be entered */
	int cpus;
	GPtrArray *archs, *qemu, *setup, *dimms, *tests, *programs;
	GHashTable *module_options;
};

/* @spec: a name, or a path (it has a '/') of such a file elsewhere; NULL with *@err */
struct machine *machine_load(const char *spec, GError **err);
/* All of them, sorted by name */
GPtrArray *machines_load(GError **err);
void machine_free(gpointer machine);
/* Names of configs/machines, sorted and NULL-terminated (char *) */
GPtrArray *machine_names(void);
/* Names of the .conf files of configs/@folder, in order, with a NULL behind them; g_ptr_array_unref() it */
GPtrArray *conf_names(const char *folder);
/*
 * Put the machines that the globs in @machines name in their place, each once; false with *@err (usage)
 * where one names none
 */
bool machines_expand(GPtrArray *machines, GError **err);
/*
 * True where each of @tests ("GLOB" or "GLOB@MACHINE", may be NULL) names a test and each of @machines
 * (globs, may be NULL) a machine; else false with *@err (usage), which begins with @where
 */
bool names_known(const char *where, const GPtrArray *tests, const GPtrArray *machines, GError **err);
bool machine_has_arch(const struct machine *m, const char *arch);

/* A test to run on a machine; @cases: case globs, empty for all */
struct planned {
	const struct test *test;
	GPtrArray *cases;
};

/* One boot's work; @tests: struct planned * */
struct boot_plan {
	struct machine *machine;
	GPtrArray *tests;
};

/*
 * Which tests of @catalog run on which machines.  Without @globs and @machines it is
 * the main job (mmgate-quick).  A glob's third part names cases; "@MACHINE" (a glob, too) after it
 * narrows it to machines.  NULL with *@err where nothing fits.
 */
GPtrArray *plan_make(const GPtrArray *catalog, const GPtrArray *globs, const GPtrArray *machines,
		     GError **err);
/* Put the tests of each boot into an order drawn from @seed and the machine's name */
void plan_shuffle(GPtrArray *plan, uint64_t seed);
void boot_plan_free(gpointer boot_plan);
/* What time limits are multiplied by: 3 under TCG, times MMGATE_TIMEOUT_SCALE */
int plan_scale(bool tcg);
/* Seconds for one boot with all of its tests */
int plan_timeout(const struct boot_plan *bp);

struct initramfs_file {
	char *dst;			/* "bin/init", no leading slash */
	char *src;			/* file to take, or NULL */
	char *data;			/* content where src is NULL; "" and mode S_IFDIR: a folder */
	gsize len;
	unsigned int mode;		/* permission bits, with S_IFDIR for folders */
	bool unpack;			/* .ko.xz/.zst/.gz: put in uncompressed under a .ko name */
};

/*
 * The initramfs of a boot: PID 1, the plan, the tests from @built, modules.
 * @missing gets module names the kernel does not have.  NULL with *@err.
 */
GPtrArray *plan_files(const struct boot_plan *bp, const struct kernel *k, const char *built,
		      bool kvm_accel, uint64_t seed, uint64_t shuffle, const char *extra,
		      GPtrArray *missing, GError **err);
/* The kernel command line of a boot; g_free() it */
char *plan_append(const struct boot_plan *bp, const struct kernel *k, bool tcg, int verbose);

#endif /* MMGATE_PLAN_H */
