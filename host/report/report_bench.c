// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a benchmark adds to report.html as pictures: its series, one picture a kind.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

#define CURVES_MAX	6

static const struct {
	const char *kind, *title;
	enum curve_form form;
	bool logx, logy;
} kinds[BENCH_PLOTS] = {
	{ "cdf", "Share of openings that took at most so long", CURVE_STEPS, true, false },
	{ "cost", "Cost by size", CURVE_LINES, true, true },
	{ "runs", "Each run", CURVE_BARS, false, true },
};

/* The points of a series; NULL where it is not one of kind @i, or has fewer than one */
static struct curve *curve_of(const json_t *series, int i)
{
	const char *kind = json_string_value(json_object_get(series, "kind"));
	const char *title = json_string_value(json_object_get(series, "title"));
	struct curve *c;
	json_t *p;
	size_t n;

	if (g_strcmp0(kind, kinds[i].kind) || !title)
		return NULL;
	c = g_new0(struct curve, 1);
	c->name = g_strdup(title);
	c->points = g_array_new(FALSE, FALSE, sizeof(double));
	json_array_foreach(json_object_get(series, "points"), n, p) {
		double x = json_number_value(json_array_get(p, 0));
		double y = json_number_value(json_array_get(p, 1));

		g_array_append_val(c->points, x);
		g_array_append_val(c->points, y);
	}
	if (c->points->len)
		return c;
	curve_free(c);
	return NULL;
}

static GPtrArray *curves_of(const json_t *bench, int i, const json_t **first)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(curve_free);
	json_t *s;
	size_t n;

	json_array_foreach(json_object_get(bench, "series"), n, s) {
		struct curve *c = all->len < CURVES_MAX ? curve_of(s, i) : NULL;

		if (!c)
			continue;
		if (!all->len && first)
			*first = s;
		g_ptr_array_add(all, c);
	}
	return all;
}

/* Bars and curves of values of one size need no logarithm */
static bool sizes_differ(const GPtrArray *curves)
{
	double lo = INFINITY, hi = 0;

	for (guint k = 0; k < curves->len; k++) {
		const struct curve *c = curves->pdata[k];

		for (guint i = 1; i < c->points->len; i += 2) {
			double y = g_array_index(c->points, double, i);

			if (!(y > 0))
				return false;
			lo = MIN(lo, y);
			hi = MAX(hi, y);
		}
	}
	return hi > 10 * lo;
}

void bench_plots(struct plots *p, const json_t *bench, int plot[BENCH_PLOTS])
{
	for (int i = 0; i < BENCH_PLOTS; i++) {
		const json_t *first = NULL;
		GPtrArray *curves = curves_of(bench, i, &first);
		const char *x = json_string_value(json_object_get(first, "x"));
		const char *y = json_string_value(json_object_get(first, "y"));

		plot[i] = -1;
		if (curves->len)
			plot[i] = plots_curves(p, curves, x ?: "", y ?: "", kinds[i].form, kinds[i].logx,
					       kinds[i].logy && sizes_differ(curves));
		g_ptr_array_unref(curves);
	}
}

const char *bench_plot_title(int i)
{
	return kinds[i].title;
}

/* The largest x of @c with a y of at most @y */
static double at_most(const struct curve *c, double y)
{
	double x = 0;

	for (guint i = 0; i + 1 < c->points->len; i += 2)
		if (g_array_index(c->points, double, i + 1) <= y)
			x = g_array_index(c->points, double, i);
	return x;
}

char *bench_plot_sentence(const json_t *bench, int i)
{
	GString *s = g_string_new(NULL);
	const json_t *first = NULL;
	GPtrArray *curves = curves_of(bench, i, &first);
	const char *y = json_string_value(json_object_get(first, "y"));

	if (strcmp(kinds[i].kind, "cdf"))
		g_string_append_printf(s, "%s: ", y ?: "values");
	for (guint k = 0; k < curves->len; k++) {
		const struct curve *c = curves->pdata[k];
		guint last = c->points->len - 2;

		if (k)
			g_string_append(s, "; ");
		if (!strcmp(kinds[i].kind, "cdf")) {
			g_string_append_printf(s, "%s: half took at most %.3g ms, 95 %% at most %.3g ms",
					       c->name, at_most(c, 50), at_most(c, 95));
			continue;
		}
		g_string_append_printf(s, "%s", c->name);
		if (!strcmp(kinds[i].kind, "cost")) {
			g_string_append_printf(s, " %.3g at %.4g, %.3g at %.4g",
					       g_array_index(c->points, double, 1),
					       g_array_index(c->points, double, 0),
					       g_array_index(c->points, double, last + 1),
					       g_array_index(c->points, double, last));
			continue;
		}
		for (guint n = 1; n < c->points->len; n += 2)
			g_string_append_printf(s, "%s %.4g", n > 1 ? "," : "",
					       g_array_index(c->points, double, n));
	}
	g_string_append_c(s, '.');
	g_ptr_array_unref(curves);
	return g_string_free(s, FALSE);
}
