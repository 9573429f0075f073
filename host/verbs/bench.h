/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_BENCH_H
#define MMGATE_BENCH_H

#include "verbs/verbs.h"


/* A column of the table: a case on a kernel */
struct bench_column {
	char *title;
	const char *name;
	int kernel;
};

/* Take over @title; @name stays the caller's */
void bench_add_column(GPtrArray *columns, char *title, const char *name, int kernel);

/* A line of the table, and whether its ratio is the benchmark's answer */
struct bench_figure {
	const char *metric, *title;
	bool ratio;
};

/**
 * struct bench - a benchmark
 * @tests:	globs of what is run, NULL-terminated
 * @machines:	where, NULL-terminated, or NULL for where the tests want to
 * @repeat:	runs where --repeat does not say
 * @columns:	fills the columns for a run of so many kernels, first what is divided by the rest
 * @figures:	the lines, ending with a NULL metric
 * @show:	prints and adds what is more, or NULL
 * @gate:	the gate whose base and patched kernels are used where none is named, or NULL
 */
struct bench {
	const char *name, *about;
	const char *const *tests, *const *machines;
	int repeat;
	void (*columns)(const json_t *run, GPtrArray *columns);
	const struct bench_figure *figures;
	void (*show)(const json_t *run, json_t *out);
	const char *gate;
};

/* Median of the values of @metric in a column; NaN where there are none */
double bench_column_median(const json_t *run, const struct bench_column *c, const char *metric);
/* Of two columns, the median of one over that of the other */
struct bench_ratio bench_column_ratio(const json_t *run, const struct bench_column *num,
				      const struct bench_column *den, const char *metric);
/* Add a ratio to what the benchmark says; one that cannot be had (NaN) is left out */
void bench_add_ratio(json_t *out, const char *name, const char *title, const struct bench_ratio *r);
/* Add a curve; @kind says what it is ("cdf", "cost"); the points come as [x, y] in @points, which is taken over */
void bench_add_series(json_t *out, const char *kind, const char *title, const char *x, const char *y,
		      json_t *points);

extern const struct bench bench_tabs, bench_ageing;

#endif /* MMGATE_BENCH_H */
