// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"
#include "work.h"

#define DAMON_STAT	"/sys/module/damon_stat/parameters/enabled"

double work_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Fields 14 and 15 of the line, counted from behind the name, which may hold blanks */
static double stat_seconds(const char *line, const char *name)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	unsigned long user, system;

	if (!open || !close || strncmp(open + 1, name, strlen(name)))
		return 0;
	if (sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		return 0;
	return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

double work_cpu_of(const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	double sum = 0;

	while (proc && (e = readdir(proc))) {
		char path[300], *line;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		line = mmg_read_file(path, NULL);
		if (line)
			sum += stat_seconds(line, name);
		free(line);
	}
	if (proc)
		closedir(proc);
	return sum;
}

void work_vmstat(struct vmstat *v)
{
	if (vmstat_read("/proc/vmstat", v))
		mmg_broken("/proc/vmstat cannot be read");
}

double work_count(const struct vmstat *a, const struct vmstat *b, const char *counter)
{
	double grown;

	if (!vmstat_has(a, counter))
		return 0;
	grown = vmstat_delta(a, b, counter);
	mmg_metric(counter, grown);
	return grown;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void work_sort(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
}

double work_quantile(const double *sorted, size_t n, double q)
{
	size_t i = n * q;

	return n ? sorted[i < n ? i : n - 1] : 0;
}

void work_stop_damon(void)
{
	if (access(DAMON_STAT, W_OK))
		return;
	mmg_save_setting(DAMON_STAT);
	mmg_try_write(DAMON_STAT, "N");
}
