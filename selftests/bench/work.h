/* SPDX-License-Identifier: GPL-2.0-only */
/* What the workloads share: clocks, counters, processor time of kernel threads */
#ifndef MMGATE_BENCH_WORK_H
#define MMGATE_BENCH_WORK_H

#include <stddef.h>

#include "compiler.h"
#include "vmstat.h"

#define MIB	0x100000ul

/* Seconds on CLOCK_MONOTONIC */
double work_now(void);

/*
 * Processor time in seconds of all threads whose name starts with @name ("kswapd"),
 * from /proc/PID/stat, in steps of a clock tick.
 */
double work_cpu_of(const char *name);

/* A snapshot of /proc/vmstat; broken where it cannot be read */
void work_vmstat(struct vmstat *v);

/* Report the growth of @counter between two snapshots as the metric of its name, return it */
double work_count(const struct vmstat *a, const struct vmstat *b, const char *counter);

/* Sort @n values, then the value that a share @q (0 to 1) of them does not exceed */
void work_sort(double *v, size_t n);
double work_quantile(const double *sorted, size_t n, double q);

/* DAMON as 7.2 runs it by default clears accessed bits behind the experiment's back: stop it */
void work_stop_damon(void);

#endif /* MMGATE_BENCH_WORK_H */
