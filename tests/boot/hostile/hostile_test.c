// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what a test must not be able to do to PID 1, and what it may leave behind
 * mmgate-guards: the word of PID 1 against a test that wants to speak in its place
 * mmgate-machines: default
 * mmgate-timeout: 60
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner.h"

static void take_descriptors(const void *arg)
{
	int pidfd = syscall(SYS_pidfd_open, 1, 0), fd;

	(void)arg;
	for (fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			mmg_fail("pidfd_getfd() gave descriptor %d of PID 1", fd);
	mmg_pass("%s", strerror(errno));
}

static void trace(const void *arg)
{
	(void)arg;
	if (!ptrace(PTRACE_SEIZE, 1, 0, 0))
		mmg_fail("PID 1 can be traced");
	mmg_pass("%s", strerror(errno));
}

static void open_things(const void *arg)
{
	static const char * const things[] = {
		"/proc/1/mem", "/proc/1/fd/3", "/proc/1/fd/4", "/proc/1/fd/5", "/proc/1/fd/6", "/proc/1/fd/7",
		"/proc/kcore", "/dev/mem", "/dev/port",
	};
	size_t i;
	int fd;

	(void)arg;
	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		fd = open(things[i], O_RDWR);
		if (fd < 0)
			fd = open(things[i], O_RDONLY);
		if (fd >= 0)
			mmg_fail("%s can be opened", things[i]);
	}
	mmg_pass("none");
}

static void open_ports(const void *arg)
{
	DIR *d = opendir("/dev");
	struct dirent *e;
	int n = 0;

	(void)arg;
	while (d && (e = readdir(d))) {
		char path[300];

		if (strncmp(e->d_name, "vport", 5))
			continue;
		n++;
		snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		if (open(path, O_RDWR) >= 0)
			mmg_fail("%s can be opened", path);
	}
	if (!n)
		mmg_broken("there is no port");
	mmg_pass("%d ports", n);
}

static void end_the_vm(const void *arg)
{
	(void)arg;
	reboot(RB_POWER_OFF);
	mmg_pass("%s", strerror(errno));
}

static void leave_things(const void *arg)
{
	int fd, i;

	(void)arg;
	mkfifo("/run/artifacts/fifo", 0644);
	symlink("/etc/passwd", "/run/artifacts/link");
	mknod("/run/artifacts/console", S_IFCHR | 0644, 5 << 8 | 1);
	fd = open("/run/artifacts/sparse", O_CREAT | O_WRONLY, 0644);
	if (ftruncate(fd, 1LL << 40))
		mmg_broken("no sparse file: %s", strerror(errno));
	for (i = 0; i < 2100; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/run/artifacts/f%d", i);
		close(open(path, O_CREAT | O_WRONLY, 0644));
	}
	mmg_pass("left");
}

/* The next test's program, as one that passes whatever it is */
static void change_program(const void *arg)
{
	char self[300] = "", path[400];
	FILE *f;

	(void)arg;
	readlink("/proc/self/exe", self, sizeof(self) - 1);
	snprintf(path, sizeof(path), "%s/lowmem_reserve_test", dirname(self));
	if (access(path, X_OK))
		mmg_broken("no %s", path);
	unlink(path);
	f = fopen(path, "w");
	if (!f)
		mmg_broken("%s: %s", path, strerror(errno));
	fputs("#!/mmgate/none\n", f);
	fclose(f);
	chmod(path, 0755);
	mmg_pass("changed");
}

static const struct mmg_case cases[] = {
	{ .name = "take-descriptors", .fn = take_descriptors },
	{ .name = "trace", .fn = trace },
	{ .name = "open-things", .fn = open_things },
	{ .name = "open-ports", .fn = open_ports },
	{ .name = "end-the-vm", .fn = end_the_vm },
	{ .name = "leave-things", .fn = leave_things },
	{ .name = "change-program", .fn = change_program },
};

static const struct mmg_test test = {
	.name = "mm/hostile",
	.cases = cases,
	.nr_cases = sizeof(cases) / sizeof(cases[0]),
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
