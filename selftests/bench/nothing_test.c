// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: workload: none; the bare boot that others are compared with
 * mmgate-machines: bench-bare
 * mmgate-timeout: 10
 */
#include "runner.h"

static void nothing(const struct mmg_case *c)
{
	(void)c;
	mmg_pass("booted");
}

static const struct mmg_case cases[] = {
	{ "bare", nothing, NULL, 5, false },
};

static const struct mmg_test test = {
	.name = "bench/nothing",
	.cases = cases,
	.nr_cases = 1,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
