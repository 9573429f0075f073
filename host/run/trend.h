/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A measured value over time, and where it changed.
 */
#ifndef MMGATE_TREND_H
#define MMGATE_TREND_H

#include "base/base.h"

/**
 * struct trend_point - the value of one run
 * @started:	of the run, as in run.json
 * @label:	of the kernel
 * @kernel:	SHA-256 of its image
 */
struct trend_point {
	char *started, *label, *kernel;
	double value;
};

/**
 * struct trend - one value of one case on one machine, oldest first
 * @metric:	"auc", "duration_s", or a figure of a workload
 * @points:	struct trend_point *
 */
struct trend {
	char *name, *machine, *metric;
	GPtrArray *points;
};

/**
 * struct trend_change - where a value changed
 * @at:		number of the first point after it
 * @before, @after: medians of both sides
 * @p:		chance of such a split where nothing changed, corrected for all splits that were tried
 */
struct trend_change {
	guint at;
	double before, after, p;
};

void trend_free(gpointer trend);

/*
 * All values that the history holds of cases that one of @globs fits (empty: all), of @metric (NULL:
 * each).  Runs of the mutants are left out: they are broken on purpose.  struct trend *; NULL with *@err.
 */
GPtrArray *trend_read(const GPtrArray *globs, const char *metric, GError **err);

/*
 * Where the @n values of @v changed: the split that the rank test (Mann-Whitney) finds most
 * unlikely, by Bonferroni over all splits with at least @side values on each side.  False where none is below
 * @alpha, or there are too few values.
 */
bool trend_split(const double *v, guint n, guint side, double alpha, struct trend_change *c);
/* All changes, by splitting both sides again (struct trend_change, in order); g_array_unref() it */
GArray *trend_changes(const struct trend *t);

#endif /* MMGATE_TREND_H */
