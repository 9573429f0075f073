/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_SUITE_H
#define MMGATE_SUITE_H

#include "plan.h"
#include "vm.h"

/* The kernels of --kernel (or the default one), labels made unique; NULL with *@err */
GPtrArray *run_kernels(const struct cli *cli, GError **err);
/* Write the reports that were asked for, the history, the text and the last line; exit status */
int run_reports(const struct cli *cli, json_t *run, const char *dir, GError **err);

/* A run.json to be filled: tool, host, command, kernels and empty lists */
json_t *run_new(const struct cli *cli, const char *verb, const GPtrArray *kernels);
/* Which accelerator its VMs used (the first one's word) */
void run_set_accel(json_t *run, const struct accel *a);
/* Add a case result that no VM gave */
void run_add_case(json_t *run, const char *name, int kernel, int boot, const char *machine,
		  int repeat, const char *result, const char *reason);

/*
 * Run the tests of @plan on the host itself as kernel @nr of @run, results below @dir.
 * False with *@err where that was not possible.
 */
bool host_run(json_t *run, const struct cli *cli, int nr, const GPtrArray *plan, const char *built,
	      const char *dir, int repeat, GError **err);

#endif /* MMGATE_SUITE_H */
