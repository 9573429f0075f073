/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_BENCH_H
#define MMGATE_BENCH_H

#include "mmg.h"

/* Median of @n values, which are left as they are; NaN where there are none */
double bench_median(const double *v, guint n);

/**
 * struct bench_ratio - median of one sample over that of another
 * @value:	the ratio; NaN where the divisor is 0 or a sample is empty
 * @lo, @hi:	95 % bounds of it by bootstrap (both samples drawn anew with
 *		replacement, 2000 times, from a fixed seed: the same values give the same bounds)
 */
struct bench_ratio {
	double value, lo, hi;
};

struct bench_ratio bench_ratio(const double *num, guint nn, const double *den, guint nd);

/*
 * Values of @metric in the cases of @run named @name, in the order of the
 * runs, for kernel @kernel (-1: any).  Only cases that passed.  g_array_unref() it.
 */
GArray *bench_values(const json_t *run, const char *name, int kernel, const char *metric);

#endif /* MMGATE_BENCH_H */
