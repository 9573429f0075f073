// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench ageing: what one pass of ageing over a VM's memory costs, by its size,
 * on a kernel that does not ask KVM for young pages and on one that does.
 */
#include "verbs/bench.h"

#include <math.h>
#include <stdio.h>

static const char *const tests[] = { "bench/ageing", NULL };
static const char *const pages[] = { "4k", "thp" };
static const unsigned int sizes[] = { 32, 128, 512, 2048 };
static const struct bench_figure figures[] = { { } };

static void columns(const json_t *run, GPtrArray *to)
{
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(run, "kernels"), i, k)
		bench_add_column(to, g_strdup(json_string_value(json_object_get(k, "label"))), NULL, i);
}

static double median_of(const json_t *run, int kernel, const char *page, unsigned int mib,
			const char *metric)
{
	g_autofree char *name = g_strdup_printf("bench/ageing/%s-%u", page, mib);
	struct bench_column c = { .name = name, .kernel = kernel };

	return bench_column_median(run, &c, metric);
}

/* Least squares: what one more entry costs, in ns; NaN from fewer than two sizes */
static double slope(const json_t *run, int kernel, const char *page)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
		double x = median_of(run, kernel, page, sizes[i], "entries");
		double y = median_of(run, kernel, page, sizes[i], "pass_ms") * 1e6;

		if (isnan(x) || isnan(y))
			continue;
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	return n < 2 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void cell(double v, json_t *values)
{
	if (isnan(v))
		printf("  %12s", "-");
	else
		printf("  %12.*f", fabs(v) < 100 ? 3 : 0, v);
	json_array_append_new(values, isnan(v) ? json_null() : json_real(v));
}

static void row(const json_t *run, json_t *out, const GPtrArray *c, const char *page, unsigned int mib,
		const char *metric)
{
	g_autofree char *name = g_strdup_printf("%s-%u.%s", page, mib, metric);
	g_autofree char *title = g_strdup_printf("%s, %u MiB, %s", page, mib, metric);
	json_t *values = json_array();

	for (guint k = 0; k < c->len; k++)
		cell(median_of(run, k, page, mib, metric), values);
	json_array_append_new(json_object_get(out, "figures"),
			      json_pack("{s:s, s:s, s:o}", "name", name, "title", title, "values", values));
}

static void curves(const json_t *run, json_t *out, const GPtrArray *c, const char *page)
{
	for (guint k = 0; k < c->len; k++) {
		const struct bench_column *column = c->pdata[k];
		g_autofree char *title = g_strdup_printf("%s %s", column->title, page);
		json_t *points = json_array();

		for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
			double ms = median_of(run, k, page, sizes[i], "pass_ms");

			if (!isnan(ms))
				json_array_append_new(points, json_pack("[f, f]", (double)sizes[i], ms));
		}
		bench_add_series(out, "cost", title, "guest MiB", "ms a pass", points);
	}
}

static void show(const json_t *run, json_t *out)
{
	GPtrArray *c = g_ptr_array_new();

	columns(run, c);
	printf("\nageing: %s\n\n  %-12s", bench_ageing.about, "");
	for (int what = 0; what < 2; what++)
		for (guint k = 0; k < c->len; k++)
			printf("  %12.12s", ((struct bench_column *)c->pdata[k])->title);
	printf("\n  %-12s  %*s  %*s\n", "guest", 14 * (int)c->len - 2, "ms a pass", 14 * (int)c->len - 2,
	       "calls of KVM");
	for (gsize p = 0; p < G_N_ELEMENTS(pages); p++) {
		g_autofree char *name = g_strdup_printf("%s.ns_per_entry", pages[p]);
		json_t *values = json_array();

		for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
			printf("  %-4s %4u MiB", pages[p], sizes[i]);
			row(run, out, c, pages[p], sizes[i], "pass_ms");
			row(run, out, c, pages[p], sizes[i], "notifier_calls");
			printf("\n");
		}
		printf("  %-13s", "ns an entry");
		for (guint k = 0; k < c->len; k++)
			cell(slope(run, k, pages[p]), values);
		printf("  more for each %s\n", p ? "2 MiB" : "page");
		json_array_append_new(json_object_get(out, "figures"),
				      json_pack("{s:s, s:s, s:o}", "name", name, "title",
						"ns for one more entry", "values", values));
		curves(run, out, c, pages[p]);
	}
	for (guint k = 0; k < c->len; k++) {
		g_free(((struct bench_column *)c->pdata[k])->title);
		g_free(c->pdata[k]);
	}
	g_ptr_array_unref(c);
}

const struct bench bench_ageing = {
	.name = "ageing",
	.about = "one pass of ageing over a VM's memory, by its size",
	.tests = tests,
	.repeat = 1,
	.columns = columns,
	.figures = figures,
	.show = show,
	.gate = "mglru-secondary-mmu",
};
