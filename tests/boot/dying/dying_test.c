// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: ends the kernel that it runs on, in several ways
 * mmgate-guards: what is found out about a kernel that hangs or panics
 * mmgate-machines: default
 * mmgate-needs: debugfs
 * mmgate-timeout: 60
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			fprintf(stderr, "%s: %s\n", path, strerror(errno));
		close(fd);
	}
}

/* The kernel's own crash on demand (drivers/tty/sysrq.c, sysrq_handle_crash()) */
static void do_panic(const struct mmg_case *c)
{
	(void)c;
	put("/proc/sysrq-trigger", "c");
	mmg_fail("it is still alive");
}

/* Nothing but us runs on any CPU: neither PID 1 nor a kernel thread gets its turn */
static void do_starve(const struct mmg_case *c)
{
	struct sched_param rt = { .sched_priority = 99 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), i;

	(void)c;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	for (i = 0; i < cpus; i++) {
		char path[96];

		/* 6.12 gives everybody else 5 % all the same (kernel/sched/deadline.c, fair server) */
		snprintf(path, sizeof(path), "/sys/kernel/debug/sched/fair_server/cpu%ld/runtime", i);
		put(path, "0");
	}
	for (i = 0; i < cpus; i++) {
		cpu_set_t set;

		if (i < cpus - 1 && fork())
			continue;
		CPU_ZERO(&set);
		CPU_SET(i, &set);
		sched_setaffinity(0, sizeof(set), &set);
		sched_setscheduler(0, SCHED_FIFO, &rt);
		for (;;)
			;
	}
}

static const struct mmg_case cases[] = {
	{ .name = "panic", .fn = do_panic },
	{ .name = "starve", .fn = do_starve },
};

static const struct mmg_test test = {
	.name = "mm/dying",
	.cases = cases,
	.nr_cases = sizeof(cases) / sizeof(cases[0]),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
