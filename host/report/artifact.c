// SPDX-License-Identifier: GPL-2.0-only
/*
 * Artifacts of the tests, read with suspicion: they come out of the guest.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

#define FILE_MAX	(8 * 1024 * 1024)
#define ROWS_MAX	100000
#define STEPS_MAX	10000

gint64 tsv_int(const char *s)
{
	gint64 v = 0;

	if (!*s || strlen(s) > 15)
		return -1;
	for (; *s; s++) {
		if (!g_ascii_isdigit(*s))
			return -1;
		v = v * 10 + (*s - '0');
	}
	return v;
}

int tsv_column(const struct tsv *t, const char *name)
{
	for (int i = 0; t->header && t->header[i]; i++)
		if (!strcmp(t->header[i], name))
			return i;
	return -1;
}

struct tsv *tsv_read(const struct rep *r, const struct rep_boot *boot, const char *path)
{
	char *full = g_build_filename(boot ? boot->dir : "", "artifacts", path, NULL);
	gsize len = 0;
	char *text = rep_file(r, full, FILE_MAX, false, &len);
	struct tsv *t = NULL;
	char *line, *next;
	guint cols, nr = 1;

	g_free(full);
	if (!text)
		return NULL;
	t = g_new0(struct tsv, 1);
	t->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	if (len == FILE_MAX)
		t->fault = g_strdup("the file is larger than a report takes");
	else if (memchr(text, 0, len))
		t->fault = g_strdup("there is a zero byte in it");
	line = text;
	next = strchr(line, '\n');
	if (next)
		*next++ = 0;
	t->header = g_strsplit(line, "\t", 32);
	cols = g_strv_length(t->header);
	for (line = next; line && *line && !t->fault; line = next) {
		char **cells;

		nr++;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		cells = g_strsplit(line, "\t", 33);
		if (g_strv_length(cells) != cols || t->rows->len >= ROWS_MAX) {
			t->fault = g_strdup_printf("line %u: %s", nr, t->rows->len >= ROWS_MAX ?
						   "too many lines" :
						   "it has not as many cells as the header");
			g_strfreev(cells);
			break;
		}
		g_ptr_array_add(t->rows, cells);
	}
	g_free(text);
	return t;
}

void tsv_free(struct tsv *t)
{
	if (!t)
		return;
	g_strfreev(t->header);
	g_ptr_array_unref(t->rows);
	g_free(t->fault);
	g_free(t);
}

static bool order_row(struct order *o, guint i, char **cells, const int *col)
{
	gint64 page = tsv_int(cells[col[0]]), age = tsv_int(cells[col[1]]);
	gint64 step = tsv_int(cells[col[2]]), nsteps = tsv_int(cells[col[3]]);

	if (page < 0 || page > G_MAXINT || age < 0 || age >= ORDER_AGES || nsteps < 1 ||
	    nsteps > STEPS_MAX || (i && nsteps != o->nsteps) || step < 1 || step > nsteps + 1)
		return false;
	o->page[i] = page;
	o->age[i] = age;
	o->step[i] = step;
	o->nsteps = nsteps;
	o->nages = MAX(o->nages, age + 1);
	o->total[age]++;
	return true;
}

struct order *order_read(const struct tsv *t, char **fault)
{
	static const char *const names[] = { "page", "age", "step", "nsteps" };
	struct order *o;
	int col[4];

	*fault = NULL;
	for (int i = 0; i < 4; i++) {
		col[i] = tsv_column(t, names[i]);
		if (col[i] < 0) {
			*fault = g_strdup_printf("it has no column \"%s\"", names[i]);
			return NULL;
		}
	}
	if (t->fault || !t->rows->len) {
		*fault = g_strdup(t->fault ? t->fault : "it has no rows");
		return NULL;
	}
	o = g_new0(struct order, 1);
	o->page = g_new(guint, t->rows->len);
	o->age = g_new(guint, t->rows->len);
	o->step = g_new(guint, t->rows->len);
	for (; o->n < t->rows->len; o->n++) {
		if (!order_row(o, o->n, t->rows->pdata[o->n], col)) {
			*fault = g_strdup_printf("line %u is no page, age, step and nsteps",
						 o->n + 2);
			order_free(o);
			return NULL;
		}
	}
	o->gone = g_new0(guint, o->nages * (o->nsteps + 1));
	for (guint i = 0; i < o->n; i++)
		if (o->step[i] <= o->nsteps)
			o->gone[o->age[i] * (o->nsteps + 1) + o->step[i]]++;
	for (guint a = 0; a < o->nages; a++)
		for (guint s = 1; s <= o->nsteps; s++)
			o->gone[a * (o->nsteps + 1) + s] += o->gone[a * (o->nsteps + 1) + s - 1];
	return o;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	g_free(o->page);
	g_free(o->age);
	g_free(o->step);
	g_free(o->gone);
	g_free(o);
}

double order_auc(const struct order *o)
{
	guint w = o->nsteps + 1, cold = o->nages - 1;
	const guint *h = o->gone, *c = o->gone + cold * w;
	double sum = 0;

	if (!cold || !o->total[0] || !o->total[cold])
		return NAN;
	for (guint s = 1; s <= o->nsteps + 1; s++) {
		double hot_here = (s > o->nsteps ? o->total[0] : h[s]) - h[s - 1];
		double cold_here = (s > o->nsteps ? o->total[cold] : c[s]) - c[s - 1];

		sum += hot_here * (c[s - 1] + cold_here / 2);
	}
	return sum / ((double)o->total[0] * o->total[cold]);
}

char *order_sentence(const struct order *o)
{
	guint w = o->nsteps + 1, cold = o->nages - 1, half = (o->nsteps + 1) / 2;

	if (!cold)
		return g_strdup_printf("%u pages of one age; %u left in %u steps of reclaim.", o->n,
				       o->gone[o->nsteps], o->nsteps);
	return g_strdup_printf("Of %u hot pages %u had left after step %u of %u and %u at the end; of %u cold pages %u and %u. AUC %.3f (1 perfect, 0.5 blind).",
			       o->total[0], o->gone[half], half, o->nsteps, o->gone[o->nsteps],
			       o->total[cold], o->gone[cold * w + half], o->gone[cold * w + o->nsteps],
			       order_auc(o));
}
