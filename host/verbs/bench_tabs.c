// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench tab-latency: tabs opened beside a VM that idles, on a kernel without
 * the series that makes MGLRU ask the VM, on one with it, and with the classic LRU.
 */
#include "verbs/bench.h"

#include <math.h>
#include <stdio.h>

#define MGLRU	"bench/tab_latency/mglru"
#define CLASSIC	"bench/tab_latency/classic"

static const char *const tests[] = { MGLRU, CLASSIC, NULL };

/* Counters first: they do not depend on how fast this host emulates */
static const struct bench_figure figures[] = {
	{ "refaults_per_open", "tab pages refaulted an opening", true },
	{ "evicted_tabs", "pages evicted from tabs", true },
	{ "evicted_vm", "pages evicted from the VM", true },
	{ "vm_kept_pct", "% of the idle VM still in memory", false },
	{ "pswpin", "pswpin", true },
	{ "pgscan", "pgscan", true },
	{ "pgsteal", "pgsteal", false },
	{ "reopenings", "openings of a tab opened before", false },
	{ "ms_p50", "ms to open it, p50", false },
	{ "ms_mean", "mean", true },
	{ "ms_p95", "p95", true },
	{ "ms_p99", "p99", true },
	{ "ms_max", "max", false },
	{ }
};

/* What the report that started the series gives, in ms */
static const struct {
	const char *metric, *name;
	double without, with;
} chromeos[] = {
	{ "ms_mean", "mean", 2559, 1119 },
	{ "ms_p50", "p50", 1311, 926 },
	{ "ms_p95", "p95", 7399, 2470 },
	{ "ms_p99", "p99", 12060, 4211 },
};

static bool two_kernels(const json_t *run)
{
	return json_array_size(json_object_get(run, "kernels")) > 1;
}

static void columns(const json_t *run, GPtrArray *to)
{
	int last = two_kernels(run);

	if (last)
		bench_add_column(to, g_strdup("without series"), MGLRU, 0);
	bench_add_column(to, g_strdup(last ? "with series" : "MGLRU"), MGLRU, last);
	bench_add_column(to, g_strdup("classic LRU"), CLASSIC, last);
}

/* How far the refaults of runs with the same seed lie apart: (most - least) / median, in % */
static void spread(const json_t *run, const struct bench_column *c, json_t *out)
{
	GArray *v = bench_values(run, c->name, c->kernel, figures[0].metric);
	double lo = INFINITY, hi = 0, m = bench_median((double *)v->data, v->len);

	for (guint i = 0; i < v->len; i++) {
		lo = MIN(lo, g_array_index(v, double, i));
		hi = MAX(hi, g_array_index(v, double, i));
	}
	if (v->len && m > 0) {
		printf("  %-34s  %14.1f %% in %u runs of the same seed\n", c->title, 100 * (hi - lo) / m,
		       v->len);
		json_array_append_new(json_object_get(out, "spread"),
				      json_pack("{s:s, s:s, s:f, s:i}", "title", c->title, "metric",
						figures[0].metric, "pct", 100 * (hi - lo) / m, "runs",
						(int)v->len));
	}
	g_array_unref(v);
}

/* Share of openings that took at most so long, medians over the runs */
static void cdf(const json_t *run, const struct bench_column *c, json_t *out)
{
	json_t *points = json_array();

	for (int p = 5; p <= 100; p += p < 95 ? 5 : 1) {
		g_autofree char *metric = p < 100 ? g_strdup_printf("ms_p%02d", p) : g_strdup("ms_max");
		double ms = bench_column_median(run, c, metric);

		if (!isnan(ms))
			json_array_append_new(points, json_pack("[f, f]", ms, (double)p));
	}
	bench_add_series(out, "cdf", c->title, "ms to open a tab", "percent of openings", points);
}

static void show(const json_t *run, json_t *out)
{
	GPtrArray *c = g_ptr_array_new();

	columns(run, c);
	json_object_set_new(out, "spread", json_array());
	printf("\n  spread of tab refaults, (most - least) / median\n");
	for (guint i = 0; i < c->len; i++) {
		spread(run, c->pdata[i], out);
		cdf(run, c->pdata[i], out);
	}
	if (two_kernels(run)) {
		printf("\n  ms to open a tab, without / with  %14s  %14s\n", "here", "ChromeOS");
		for (gsize i = 0; i < G_N_ELEMENTS(chromeos); i++) {
			struct bench_ratio r = bench_column_ratio(run, c->pdata[0], c->pdata[1],
								  chromeos[i].metric);

			printf("  %-34s", chromeos[i].name);
			if (isnan(r.value))
				printf("%14s", "-");
			else
				printf("%14.2f", r.value);
			printf("  %14.2f\n", chromeos[i].without / chromeos[i].with);
		}
	} else {
		printf("\n  One kernel shows MGLRU beside the classic LRU; what the series does takes two:\n"
		       "  --kernel WITHOUT --kernel WITH, or none (gate mglru-secondary-mmu's are used).\n");
	}
	for (guint i = 0; i < c->len; i++) {
		struct bench_column *column = c->pdata[i];

		g_free(column->title);
		g_free(column);
	}
	g_ptr_array_unref(c);
}

const struct bench bench_tabs = {
	.name = "tab-latency",
	.about = "tabs opened beside a VM that idles, under a memory limit",
	.tests = tests,
	.repeat = 5,
	.columns = columns,
	.figures = figures,
	.show = show,
	.gate = "mglru-secondary-mmu",
};
