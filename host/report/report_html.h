/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files that make report.html share.
 */
#ifndef MMGATE_REPORT_HTML_H
#define MMGATE_REPORT_HTML_H

#include "plot.h"

/* Append @fmt with everything that it formats made harmless for HTML; no markup in @fmt */
void html_text(GString *out, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* A cell or other element: <@tag class="@class">text</@tag>; @class may be NULL */
void html_element(GString *out, const char *tag, const char *class, const char *text);
/* "fail", "broken", "pass", "skip" or NULL for a word that says good or bad */
const char *html_class(const char *word);

/* ---- report_figures.c ---- */

/* The pictures of a run: found first, drawn at once, then shown */
struct figures;

struct figures *figures_new(const struct rep *r);
/* Draw them; where that cannot be done the sections say why.  False only where interrupted */
bool figures_draw(struct figures *f, GError **err);
/* Sections; nothing where there is nothing to show */
void figures_order(struct figures *f, GString *out);
void figures_zones(struct figures *f, GString *out);
/* Whether there is something for the section */
bool figures_have_order(const struct figures *f);
bool figures_have_zones(const struct figures *f);
/* Number of the picture of case @c, or -1; it stands at id "f<number>" */
int figures_of_case(const struct figures *f, const json_t *c);
void figures_free(struct figures *f);

/* Pictures of run["bench"], where it has series */
void figures_bench(struct figures *f, GString *out);

/* ---- report_bench.c ---- */

#define BENCH_PLOTS	3

/* Its series as pictures, one a kind: numbers of them, or -1 */
void bench_plots(struct plots *p, const json_t *bench, int plot[BENCH_PLOTS]);
/* What picture @i of @bench shows: a title, and its text alternative (g_free() it) */
const char *bench_plot_title(int i);
char *bench_plot_sentence(const json_t *bench, int i);

/* ---- report_value.c ---- */

/* A JSON value laid out for people: objects as lists, lists of objects as tables */
void html_value(GString *out, const json_t *value, int depth);

/* ---- report_compare.c ---- */

/* run["gate"] and run["mutants"] */
void html_gate(GString *out, const json_t *gate);
void html_mutants(GString *out, const json_t *mutants);

#endif /* MMGATE_REPORT_HTML_H */
