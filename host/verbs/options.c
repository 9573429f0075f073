// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the command line says, as the rooms below take it.
 */
#include "base/arch.h"
#include "verbs/verbs.h"

struct kernel_options cli_kernel(const struct cli *cli)
{
	return (struct kernel_options){ .arch = cli->arch, .modules = cli->modules,
					.ksrc = cli->ksrc, .offline = cli->offline || cli->dry_run };
}

struct run_options cli_run(const struct cli *cli)
{
	return (struct run_options){
		.command = cli->command, .require = cli->require, .tests = cli->tests,
		.machines = cli->machines, .accel = cli->accel, .out = cli->out, .seed = cli->seed, .shuffle = cli->shuffle,
		.repeat = MAX(cli->repeat, 1), .jobs = cli->jobs, .timeout = cli->timeout,
		.verbose = cli->verbose, .destructive = cli->destructive, .dump = cli->dump,
		.fleet = cli->slurm || cli->on->len ? &cli->fleet : NULL, .kernel = cli_kernel(cli),
	};
}

const char *cli_arch(const struct cli *cli)
{
	return cli->arch ? cli->arch : arch_host()->name;
}

struct report_forms cli_forms(const struct cli *cli)
{
	return (struct report_forms){
		.json = cli->json, .junit = cli->junit, .tap = cli->tap, .html = cli->html,
		.kcidb = cli->kcidb, .gitlab = cli->gitlab, .github = cli->github,
		.patchwork = cli->patchwork, .quiet = cli->quiet, .no_history = cli->no_history,
	};
}

struct gate_options cli_gate(const struct cli *cli)
{
	return (struct gate_options){
		.run = cli_run(cli), .forms = cli_forms(cli), .words = cli->args, .kernels = cli->kernels,
		.config = cli->config, .arch = cli_arch(cli), .tree = cli->tree, .base = cli->base,
		.patched = cli->patched, .series = cli->series, .repeat = cli->repeat,
		.budget = cli->budget, .dry_run = cli->dry_run,
	};
}

GPtrArray *cli_kernels(const struct cli *cli, GError **err)
{
	const struct kernel_options how = cli_kernel(cli);

	return kernels_resolve(&how, cli->kernels, err);
}

int cli_reports(const struct cli *cli, json_t *run, const char *dir, GError **err)
{
	const struct report_forms forms = cli_forms(cli);

	return reports_make(&forms, run, dir, err);
}
