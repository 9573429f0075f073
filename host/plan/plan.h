/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_PLAN_H
#define MMGATE_PLAN_H

#include "catalog.h"

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
 * the main job (mmgate-quick).  A glob's third part names cases.  NULL with
 * *@err where nothing fits.
 */
GPtrArray *plan_make(const GPtrArray *catalog, const GPtrArray *globs, const GPtrArray *machines,
		     GError **err);
void boot_plan_free(gpointer boot_plan);
/* What time limits are multiplied by: 3 under TCG, times MMGATE_TIMEOUT_SCALE */
int plan_scale(bool tcg);
/* Seconds for one boot with all of its tests */
int plan_timeout(const struct boot_plan *bp);

/*
 * The initramfs of a boot: PID 1, the plan, the tests from @built, modules.
 * @missing gets module names the kernel does not have.  NULL with *@err.
 */
GPtrArray *plan_files(const struct boot_plan *bp, const struct kernel *k, const char *built,
		      bool kvm_accel, const struct cli *cli, const char *extra, GPtrArray *missing,
		      GError **err);
/* The kernel command line of a boot; g_free() it */
char *plan_append(const struct boot_plan *bp, const struct kernel *k, bool tcg, int verbose);

#endif /* MMGATE_PLAN_H */
