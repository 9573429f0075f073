/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Artifacts read, and pictures of them drawn by gnuplot.
 */
#ifndef MMGATE_PLOT_H
#define MMGATE_PLOT_H

#include "report.h"

/* A table of tab-separated values; @rows: char ** with at least as many cells as the header */
struct tsv {
	char **header;
	GPtrArray *rows;
	char *fault;		/* what is wrong in it, or NULL; the rows before it are there */
};

/* Read artifact @path (below the boot's artifacts folder); NULL where it is absent */
struct tsv *tsv_read(const struct rep *r, const json_t *boot, const char *path);
void tsv_free(struct tsv *t);
/* Number of column @name, or -1 */
int tsv_column(const struct tsv *t, const char *name);
/* A whole number between 0 and 1e15, or -1 */
gint64 tsv_int(const char *s);

#define ORDER_AGES	8

/**
 * struct order - which page left at which step
 * @n:		pages
 * @nsteps:	steps of reclaim; a page that stayed has step nsteps + 1
 * @nages:	touch ages; 0 is the hottest
 * @gone:	of each age, pages gone by the end of each step: [age * (nsteps + 1) + step]
 */
struct order {
	guint n, nsteps, nages;
	guint *page, *age, *step;
	guint total[ORDER_AGES];
	guint *gone;
};

/* NULL with *@fault (g_free() it) where the table does not hold it */
struct order *order_read(const struct tsv *t, char **fault);
void order_free(struct order *o);
/* Chance that a page of the coldest age left before one of the hottest, ties half; NaN where there is none */
double order_auc(const struct order *o);
/* One sentence that says what the picture shows; g_free() it */
char *order_sentence(const struct order *o);

/* Pictures of one report, drawn by one gnuplot */
struct plots;

struct plots *plots_new(void);
/* Each returns the picture's number */
int plots_order(struct plots *p, const struct order *o);
int plots_gens(struct plots *p, const struct tsv *t);		/* -1 where the table is unfit */
int plots_fill(struct plots *p, const struct tsv *t);		/* -1 where the table is unfit */
int plots_values(struct plots *p, GPtrArray *series, const char *ylabel, double ymin, double ymax);
/* Points of plots_curves() under one name; @points: pairs x, y of double */
struct curve {
	char *name;
	GArray *points;
};

void curve_free(void *curve);

enum curve_form { CURVE_STEPS, CURVE_LINES, CURVE_BARS };

/*
 * Curves over a common axis: @logx and @logy where values of many sizes meet (what is
 * not above 0 is left out there)
 */
int plots_curves(struct plots *p, GPtrArray *curves, const char *xlabel, const char *ylabel,
		 enum curve_form form, bool logx, bool logy);
/* Draw them; false with *@err */
bool plots_run(struct plots *p, GError **err);
/* Picture @i as SVG to stand in HTML, with @label as its text alternative; NULL where it was not drawn.  g_free() it */
char *plots_svg(const struct plots *p, int i, const char *label);
/* Symbols that the pictures share, once for a page */
const char *plots_defs(void);
void plots_free(struct plots *p);

/* Values of plots_values() under one name ([A-Za-z0-9_. -]) */
struct series {
	char *name;
	GArray *values;		/* double, NaN for none */
};

void series_free(void *series);
/* The two curves of @o for a text of 72 columns; NULL with *@err.  g_free() it */
char *plot_order_dumb(const struct order *o, GError **err);

#endif /* MMGATE_PLOT_H */
