// SPDX-License-Identifier: GPL-2.0-only
/*
 * Columns of a benchmark: medians, ratios and series of one case on one kernel.
 */
#include "verbs/bench.h"

#include <math.h>

void bench_add_column(GPtrArray *columns, char *title, const char *name, int kernel)
{
	struct bench_column *c = g_new0(struct bench_column, 1);

	c->title = title;
	c->name = name;
	c->kernel = kernel;
	g_ptr_array_add(columns, c);
}

double bench_column_median(const json_t *run, const struct bench_column *c, const char *metric)
{
	GArray *v = bench_values(run, c->name, c->kernel, metric);
	double m = bench_median((double *)v->data, v->len);

	g_array_unref(v);
	return m;
}

struct bench_ratio bench_column_ratio(const json_t *run, const struct bench_column *num,
				      const struct bench_column *den, const char *metric)
{
	GArray *a = bench_values(run, num->name, num->kernel, metric);
	GArray *b = bench_values(run, den->name, den->kernel, metric);
	struct bench_ratio r = bench_ratio((double *)a->data, a->len, (double *)b->data, b->len);

	g_array_unref(a);
	g_array_unref(b);
	return r;
}

void bench_add_ratio(json_t *out, const char *name, const char *title, const struct bench_ratio *r)
{
	/* JSON has no NaN */
	if (!isnan(r->value))
		json_array_append_new(json_object_get(out, "ratios"),
				      json_pack("{s:s, s:s, s:f, s:f, s:f}", "name", name, "title",
						title, "value", r->value, "lo", r->lo, "hi", r->hi));
}

void bench_add_series(json_t *out, const char *kind, const char *title, const char *x, const char *y,
		      json_t *points)
{
	json_array_append_new(json_object_get(out, "series"),
			      json_pack("{s:s, s:s, s:s, s:s, s:o}", "kind", kind, "title", title, "x", x,
					"y", y, "points", points));
}
