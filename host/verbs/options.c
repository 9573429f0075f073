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
		.verbose = cli->verbose, .destructive = cli->destructive, .kernel = cli_kernel(cli),
	};
}

const char *cli_arch(const struct cli *cli)
{
	return cli->arch ? cli->arch : arch_host()->name;
}
