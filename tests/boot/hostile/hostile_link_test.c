// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: a test that puts a link where artifacts belong
 * mmgate-guards: PID 1 against what a test leaves behind
 * mmgate-machines: default
 * mmgate-timeout: 60
 */
#include <stdio.h>
#include <unistd.h>

#include "runner.h"

static void link_away(const void *arg)
{
	(void)arg;
	rename("/run/artifacts", "/run/artifacts-were-here");
	if (symlink("/proc", "/run/artifacts"))
		mmg_broken("no link");
	mmg_pass("linked");
}

static const struct mmg_case cases[] = {
	{ .name = "link", .fn = link_away },
};

static const struct mmg_test test = {
	.name = "mm/hostile_link",
	.cases = cases,
	.nr_cases = 1,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
