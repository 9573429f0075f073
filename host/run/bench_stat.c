// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmarks: medians, ratios and how far to trust them.
 */
#include "run/run.h"

#include <math.h>
#include <string.h>

#define DRAWS	2000

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @v */
static double median_of(double *v, guint n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double bench_median(const double *v, guint n)
{
	double *copy = g_memdup2(v, n * sizeof(*v)), m = median_of(copy, n);

	g_free(copy);
	return m;
}

/* splitmix64 */
static guint64 next_random(guint64 *state)
{
	guint64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double median_redrawn(const double *v, guint n, double *room, guint64 *state)
{
	for (guint i = 0; i < n; i++)
		room[i] = v[next_random(state) % n];
	return median_of(room, n);
}

struct bench_ratio bench_ratio(const double *num, guint nn, const double *den, guint nd)
{
	struct bench_ratio r = { .value = NAN, .lo = NAN, .hi = NAN };
	double *draws, *room;
	guint64 state = 1;
	guint kept = 0;

	if (!nn || !nd)
		return r;
	draws = g_new(double, DRAWS);
	room = g_new(double, MAX(nn, nd));
	for (int i = 0; i < DRAWS; i++) {
		double a = median_redrawn(num, nn, room, &state);
		double b = median_redrawn(den, nd, room, &state);

		if (b > 0)
			draws[kept++] = a / b;
	}
	if (kept == DRAWS && bench_median(den, nd) > 0) {
		qsort(draws, kept, sizeof(*draws), by_value);
		r.value = bench_median(num, nn) / bench_median(den, nd);
		r.lo = draws[kept / 40];
		r.hi = draws[kept - 1 - kept / 40];
	}
	g_free(draws);
	g_free(room);
	return r;
}

GArray *bench_values(const json_t *run, const char *name, int kernel, const char *metric)
{
	GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		json_t *m = json_object_get(json_object_get(c, "metrics"), metric);
		const char *n = json_string_value(json_object_get(c, "name"));
		double v = json_number_value(m);

		if (g_strcmp0(n, name) || obj_result(c) != RESULT_PASS || !json_is_number(m))
			continue;
		if (kernel < 0 || json_integer_value(json_object_get(c, "kernel")) == kernel)
			g_array_append_val(values, v);
	}
	return values;
}
