/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The forms of a report, and the pictures in it.
 */
#ifndef MMGATE_REPORT_H
#define MMGATE_REPORT_H

#include "report/html.h"
#include "run/rep.h"
#include "run/run.h"

/* ---- reports: each takes run.json and its folder ---- */
bool report_text(json_t *run, const char *dir, FILE *to, bool colour, GError **err);
bool report_summary(json_t *run, const char *dir, GError **err);	/* summary.txt */
bool report_tap(json_t *run, const char *dir, GError **err);		/* results.tap */
bool report_junit(json_t *run, const char *dir, GError **err);		/* junit.xml */
bool report_html(json_t *run, const char *dir, GError **err);		/* report.html */
bool report_kcidb(json_t *run, const char *dir, GError **err);		/* kcidb.json */
bool report_gitlab(json_t *run, const char *dir, GError **err);		/* codequality.json */
bool report_github(json_t *run, const char *dir, GError **err);		/* check-run.json */
bool report_patchwork(json_t *run, const char *dir, GError **err);	/* patchwork.json */

/* ---- reports.c ---- */

/**
 * struct report_forms - the forms that were asked for
 * @json, @tap:	alone, printed in place of the text
 * @quiet:	only the last line
 * @no_history:	the run is not put into the history
 */
struct report_forms {
	bool json, junit, tap, html, kcidb, gitlab, github, patchwork, quiet, no_history;
};

/*
 * Write @run into the history and the forms that were asked for into @dir, print the text and the
 * last line; exit status of the run, or 3 with *@err
 */
int reports_make(const struct report_forms *forms, json_t *run, const char *dir, GError **err);

/* ---- annotations.c ---- */

/* Tell GitHub on stderr what went wrong; silent anywhere else */
void report_annotations(json_t *run);

/* ---- artifact.c ---- */

/* A table of tab-separated values; @rows: char ** with at least as many cells as the header */
struct tsv {
	char **header;
	GPtrArray *rows;
	char *fault;		/* what is wrong in it, or NULL; the rows before it are there */
};

/* Read artifact @path (below the boot's artifacts folder); NULL where it is absent */
struct tsv *tsv_read(const struct rep *r, const struct rep_boot *boot, const char *path);
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

/* ---- plot.c ---- */

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
/* Write picture @i, with @label as its text alternative; false where it was not drawn */
bool plots_svg(struct html *h, const struct plots *p, int i, const char *label);
/* Symbols that the pictures share, once for a page */
void plots_defs(struct html *h);
void plots_free(struct plots *p);

/* Values of plots_values() under one name ([A-Za-z0-9_. -]) */
struct series {
	char *name;
	GArray *values;		/* double, NaN for none */
};

void series_free(void *series);
/* The two curves of @o for a text of 72 columns; NULL with *@err.  g_free() it */
char *plot_order_dumb(const struct order *o, GError **err);

/* ---- report_figures.c ---- */

/* The pictures of a run: found first, drawn at once, then shown */
struct figures;

struct figures *figures_new(const struct rep *r);
/* Draw them; where that cannot be done the sections say why.  False only where interrupted */
bool figures_draw(struct figures *f, GError **err);
/* Sections; nothing where there is nothing to show */
void figures_order(struct figures *f, struct html *h);
void figures_zones(struct figures *f, struct html *h);
/* Whether there is something for the section */
bool figures_have_order(const struct figures *f);
bool figures_have_zones(const struct figures *f);
/* Number of the picture of case @c, or -1; it stands at id "f<number>" */
int figures_of_case(const struct figures *f, const struct rep_case *c);
void figures_free(struct figures *f);

/* Pictures of run["bench"], where it has series */
void figures_bench(struct figures *f, struct html *h);

/* ---- report_bench.c ---- */

#define BENCH_PLOTS	3

/* Its series as pictures, one a kind: numbers of them, or -1 */
void bench_plots(struct plots *p, const json_t *bench, int plot[BENCH_PLOTS]);
/* What picture @i of @bench shows: a title, and its text alternative (g_free() it) */
const char *bench_plot_title(int i);
char *bench_plot_sentence(const json_t *bench, int i);

/* ---- report_value.c ---- */

/* A JSON value laid out for people: objects as lists, lists of objects as tables */
void html_value(struct html *h, const json_t *value, int depth);

/* ---- report_compare.c ---- */

/* run["gate"] and run["mutants"] */
void html_gate(struct html *h, const json_t *gate);
void html_mutants(struct html *h, const json_t *mutants);

#endif /* MMGATE_REPORT_H */
