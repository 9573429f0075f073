// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pictures of report.html: eviction order, generations, AUC over runs,
 * protections and fill curves.  What went wrong comes first, and is what is
 * drawn where there is more than a page can hold.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

#define DRAWN_MAX	60	/* pictures of each kind */

enum kind { ORDER, GENS, PROTECTION, FILL, NR_KINDS };

static const char *const suffixes[] = {
	[ORDER] = ".order.tsv", [GENS] = ".gens.tsv", [PROTECTION] = ".protection.tsv",
	[FILL] = ".fill.tsv",
};

struct figure {
	enum kind kind;
	const struct rep_group *group;
	char *name;		/* of the case */
	const struct rep_case *c;	/* its result, or NULL */
	struct tsv *table;
	char *fault;
	char *sentence;
	int plot;
};

/* AUC of a case over its runs, a line for each kernel */
struct runs {
	const struct rep_row *row;
	int plot;
};

struct figures {
	const struct rep *r;
	GPtrArray *all;		/* struct figure *, the bad ones first */
	GPtrArray *runs;
	GHashTable *of_case;	/* struct rep_case * to its number in all, + 1 */
	int seen[NR_KINDS], drawn[NR_KINDS];
	int bench[BENCH_PLOTS];
	struct plots *plots;
	char *why_not;		/* nothing could be drawn */
};

static void figure_free(void *data)
{
	struct figure *f = data;

	g_free(f->name);
	g_free(f->fault);
	g_free(f->sentence);
	tsv_free(f->table);
	g_free(f);
}

static const char control[] = ".control";

/* The case that left an artifact named @name; its negative control has one of its own */
static const struct rep_case *case_of(const struct rep_group *g, const char *name)
{
	gsize len = strlen(name);

	if (g_str_has_suffix(name, control))
		len -= strlen(control);
	for (guint i = 0; i < g->cases->len; i++) {
		const struct rep_case *c = g->cases->pdata[i];

		if (strlen(c->name) == len && !strncmp(c->name, name, len))
			return c;
	}
	return NULL;
}

/* Rank 0 are the bad ones, 1 the good, 2 the controls */
static void collect(struct figures *f, const struct rep_group *g, int rank)
{
	json_t *a;
	size_t i;

	json_array_foreach(g->boot->artifacts, i, a) {
		const char *path = json_string_value(a);

		for (int k = 0; path && k < NR_KINDS; k++) {
			struct figure *fig;
			const struct rep_case *c;
			char *name;

			if (!g_str_has_suffix(path, suffixes[k]))
				continue;
			name = g_strndup(path, strlen(path) - strlen(suffixes[k]));
			c = case_of(g, name);
			if (rank != (g_str_has_suffix(name, control) ? 2 : !(c && result_bad(c->result)))) {
				g_free(name);
				continue;
			}
			fig = g_new0(struct figure, 1);
			fig->kind = k;
			fig->group = g;
			fig->name = name;
			fig->c = c;
			fig->plot = -1;
			g_ptr_array_add(f->all, fig);
			f->seen[k]++;
			if (c && k != GENS && !g_str_has_suffix(name, control))
				g_hash_table_insert(f->of_case, (void *)c,
						    GINT_TO_POINTER(f->all->len));
		}
	}
}

static void collect_runs(struct figures *f)
{
	for (guint i = 0; i < f->r->rows->len && f->runs->len < DRAWN_MAX; i++) {
		struct rep_row *row = f->r->rows->pdata[i];
		bool many = false;

		for (size_t k = 0; k < f->r->nr_kernels; k++)
			many |= row->cells[k].has_auc && row->cells[k].cases->len > 1;
		if (many) {
			struct runs *runs = g_new0(struct runs, 1);

			runs->row = row;
			runs->plot = -1;
			g_ptr_array_add(f->runs, runs);
		}
	}
}

struct figures *figures_new(const struct rep *r)
{
	struct figures *f = g_new0(struct figures, 1);

	f->r = r;
	f->all = g_ptr_array_new_with_free_func(figure_free);
	f->runs = g_ptr_array_new_with_free_func(g_free);
	f->of_case = g_hash_table_new(NULL, NULL);
	for (int rank = 0; rank <= 2; rank++)
		for (guint i = 0; i < r->groups->len; i++)
			if (((struct rep_group *)r->groups->pdata[i])->boot)
				collect(f, r->groups->pdata[i], rank);
	collect_runs(f);
	return f;
}

void figures_free(struct figures *f)
{
	g_ptr_array_unref(f->all);
	g_ptr_array_unref(f->runs);
	g_hash_table_unref(f->of_case);
	plots_free(f->plots);
	g_free(f->why_not);
	g_free(f);
}

bool figures_have_order(const struct figures *f)
{
	return f->seen[ORDER] + f->seen[GENS] + f->runs->len > 0;
}

bool figures_have_zones(const struct figures *f)
{
	return f->seen[PROTECTION] + f->seen[FILL] > 0;
}

int figures_of_case(const struct figures *f, const struct rep_case *c)
{
	return GPOINTER_TO_INT(g_hash_table_lookup(f->of_case, c)) - 1;
}

static char *gens_sentence(const struct tsv *t)
{
	int cp = tsv_column(t, "pass"), n = 0;
	char *last = NULL;

	for (guint i = 0; cp >= 0 && i < t->rows->len; i++) {
		char **row = t->rows->pdata[i];

		n += !last || strcmp(last, row[cp]);
		last = row[cp];
	}
	return g_strdup_printf("Pages in each generation over %d passes of ageing.", n);
}

/* How far a zone fell below its reserve, in words */
static char *fill_sentence(const struct tsv *t)
{
	int cz = tsv_column(t, "zone"), cf = tsv_column(t, "free"), cr = tsv_column(t, "reserve");
	GString *s = g_string_new(NULL);
	GHashTable *least = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *zones = g_ptr_array_new();

	for (guint i = 0; cz >= 0 && cf >= 0 && cr >= 0 && i < t->rows->len; i++) {
		char **row = t->rows->pdata[i], **old = g_hash_table_lookup(least, row[cz]);

		if (!old)
			g_ptr_array_add(zones, row[cz]);
		if (!old || tsv_int(row[cf]) < tsv_int(old[cf]))
			g_hash_table_insert(least, row[cz], row);
	}
	for (guint i = 0; i < zones->len && i < 8; i++) {
		char **row = g_hash_table_lookup(least, zones->pdata[i]);

		g_string_append_printf(s, "%s%s fell to %s free pages (reserve %s)", i ? ", " : "",
				       row[cz], row[cf], row[cr]);
	}
	g_string_append_c(s, '.');
	g_hash_table_unref(least);
	g_ptr_array_unref(zones);
	return g_string_free(s, FALSE);
}

static void prepare_order(struct figures *f, struct figure *fig)
{
	struct order *o = order_read(fig->table, &fig->fault);

	if (!o)
		return;
	fig->plot = plots_order(f->plots, o);
	fig->sentence = order_sentence(o);
	order_free(o);
}

static void prepare(struct figures *f, struct figure *fig)
{
	char *path = g_strconcat(fig->name, suffixes[fig->kind], NULL);

	fig->table = tsv_read(f->r, fig->group->boot, path);
	g_free(path);
	if (!fig->table) {
		fig->fault = g_strdup("the file is not in the results folder");
		return;
	}
	if (fig->kind == ORDER) {
		prepare_order(f, fig);
	} else if (fig->kind == GENS) {
		fig->plot = plots_gens(f->plots, fig->table);
		fig->sentence = gens_sentence(fig->table);
	} else if (fig->kind == FILL) {
		fig->plot = plots_fill(f->plots, fig->table);
		fig->sentence = fill_sentence(fig->table);
	}
	if (fig->kind != PROTECTION && fig->plot < 0 && !fig->fault)
		fig->fault = g_strdup(fig->table->fault ? fig->table->fault :
				      "it has not the columns and numbers of its kind");
}

static void prepare_runs(struct figures *f, struct runs *runs)
{
	GPtrArray *series = g_ptr_array_new_with_free_func(series_free);

	for (size_t k = 0; k < f->r->nr_kernels; k++) {
		const struct rep_cell *cell = &runs->row->cells[k];
		struct series *s = g_new0(struct series, 1);

		s->name = g_strdup(rep_label(f->r, k));
		s->values = g_array_new(FALSE, FALSE, sizeof(double));
		for (guint i = 0; i < cell->cases->len; i++) {
			const struct rep_case *c = cell->cases->pdata[i];
			double d = c->has_auc ? c->auc : NAN;

			g_array_append_val(s->values, d);
		}
		g_ptr_array_add(series, s);
	}
	runs->plot = plots_values(f->plots, series, "AUC", 0, 1.05);
	g_ptr_array_unref(series);
}

bool figures_draw(struct figures *f, GError **err)
{
	GError *why = NULL;

	f->plots = plots_new();
	for (guint i = 0; i < f->all->len; i++) {
		struct figure *fig = f->all->pdata[i];

		if (f->drawn[fig->kind]++ < DRAWN_MAX)
			prepare(f, fig);
	}
	for (guint i = 0; i < f->runs->len; i++)
		prepare_runs(f, f->runs->pdata[i]);
	bench_plots(f->plots, json_object_get(f->r->run, "bench"), f->bench);
	if (plots_run(f->plots, &why))
		return true;
	if (why->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, why);
		return false;
	}
	f->why_not = g_strdup(why->message);
	g_error_free(why);
	return true;
}

static void caption(const struct figures *f, const struct figure *fig, struct html *h)
{
	bool negative = g_str_has_suffix(fig->name, control);
	g_autofree char *name = g_strndup(fig->name, strlen(fig->name) - (negative ? strlen(control) : 0));

	html_open(h, "figcaption", NULL);
	if (fig->c && !negative)
		html_element(h, "span", result_name(fig->c->result), result_name(fig->c->result));
	html_text(h, " ");
	html_element(h, "b", NULL, name);
	html_text(h, " %son %s, machine %s", negative ? "negative control (walk off: must be blind) " : "",
		  rep_label(f->r, fig->group->kernel), fig->group->name);
	if (fig->c && fig->c->has_auc && !negative)
		html_text(h, ", AUC %.3f", fig->c->auc);
	html_close(h);
}

static void picture(const struct figures *f, guint i, struct html *h)
{
	const struct figure *fig = f->all->pdata[i];
	bool drawn;

	html_open(h, "figure", NULL);
	html_attr(h, "id", "f%u", i);
	caption(f, fig, h);
	drawn = fig->plot >= 0 && plots_svg(h, f->plots, fig->plot, fig->sentence);
	if (fig->sentence)
		html_element(h, "p", "alt", fig->sentence);
	if (fig->fault || (!drawn && f->why_not))
		html_elementf(h, "p", "note", "No picture: %s.", fig->fault ? fig->fault : f->why_not);
	html_close(h);
}

static void pictures(const struct figures *f, enum kind kind, struct html *h)
{
	int n = 0;

	for (guint i = 0; i < f->all->len; i++) {
		const struct figure *fig = f->all->pdata[i];

		if (fig->kind == kind && n++ < DRAWN_MAX)
			picture(f, i, h);
	}
	if (n > DRAWN_MAX)
		html_elementf(h, "p", "note",
			      "%d more are not drawn here; their numbers are in the matrix, their data in the artifacts folders.",
			      n - DRAWN_MAX);
}

static void runs_picture(const struct figures *f, const struct runs *runs, struct html *h)
{
	GString *text = g_string_new(NULL);

	for (size_t k = 0; k < f->r->nr_kernels; k++) {
		const struct rep_cell *c = &runs->row->cells[k];

		if (c->has_auc)
			g_string_append_printf(text, "%s%s: AUC %.3f to %.3f in %u runs", text->len ? "; " : "",
					       rep_label(f->r, k), c->auc_min, c->auc_max, c->cases->len);
	}
	html_open(h, "figure", NULL);
	html_open(h, "figcaption", NULL);
	html_element(h, "b", NULL, runs->row->name);
	html_text(h, " AUC of each run, machine %s", runs->row->machine);
	html_close(h);
	plots_svg(h, f->plots, runs->plot, text->str);
	html_elementf(h, "p", "alt", "%s.", text->str);
	html_close(h);
	g_string_free(text, TRUE);
}

void figures_bench(struct figures *f, struct html *h)
{
	for (int i = 0; i < BENCH_PLOTS; i++) {
		g_autofree char *text = NULL;
		bool drawn;

		if (f->bench[i] < 0)
			continue;
		text = bench_plot_sentence(json_object_get(f->r->run, "bench"), i);
		html_open(h, "figure", NULL);
		html_open(h, "figcaption", NULL);
		html_element(h, "b", NULL, bench_plot_title(i));
		html_close(h);
		drawn = plots_svg(h, f->plots, f->bench[i], text);
		html_element(h, "p", "alt", text);
		if (!drawn && f->why_not)
			html_elementf(h, "p", "note", "No picture: %s.", f->why_not);
		html_close(h);
	}
}

void figures_order(struct figures *f, struct html *h)
{
	if (f->seen[ORDER]) {
		html_element(h, "p", NULL, "Each mark is a page: the higher, the later it was evicted. A kernel that sees what the guest touches evicts the cold pages (blue) first and keeps the hot ones (red) for last.");
		pictures(f, ORDER, h);
	}
	if (f->runs->len) {
		html_element(h, "h3", NULL, "AUC over the runs");
		for (guint i = 0; i < f->runs->len; i++)
			runs_picture(f, f->runs->pdata[i], h);
	}
	if (f->seen[GENS]) {
		html_element(h, "h3", NULL, "Generations over time");
		pictures(f, GENS, h);
	}
}

/* The rows of a table of protections; column @ce says what is expected, @cs what was seen */
static void protection_rows(const struct tsv *t, int ce, int cs, struct html *h)
{
	guint wrong = 0;

	for (guint r = 0; r < t->rows->len; r++) {
		char **row = t->rows->pdata[r];

		wrong += strcmp(row[ce], row[cs]) != 0;
	}
	html_elementf(h, "p", "alt", "%u of %u protections are as the formula says.", t->rows->len - wrong,
		      t->rows->len);
	html_details(h, wrong, "Rows");
	html_table(h, NULL, (const char *const *)t->header);
	for (guint r = 0; r < t->rows->len && r < 400; r++) {
		char **row = t->rows->pdata[r];
		bool bad = strcmp(row[ce], row[cs]) != 0;

		html_open(h, "tr", NULL);
		for (int c = 0; row[c]; c++)
			html_element(h, "td", c == cs && bad ? "num fail" : c == cs || c == ce ? "num" : NULL,
				     row[c]);
		html_close(h);
	}
	html_table_end(h);
	html_close(h);
}

static void protection(const struct figures *f, const struct figure *fig, guint i, struct html *h)
{
	const struct tsv *t = fig->table;
	int ce = t ? tsv_column(t, "expected") : -1, cs = t ? tsv_column(t, "seen") : -1;
	const char *fault = fig->fault ?: t ? t->fault : NULL;

	html_open(h, "figure", NULL);
	html_attr(h, "id", "f%u", i);
	caption(f, fig, h);
	if (ce >= 0 && cs >= 0)
		protection_rows(t, ce, cs, h);
	else if (t && !fault)
		fault = "it has no columns expected and seen";
	if (fault)
		html_elementf(h, "p", "note", "Incomplete: %s.", fault);
	html_close(h);
}

void figures_zones(struct figures *f, struct html *h)
{
	int n = 0;

	if (f->seen[PROTECTION]) {
		html_element(h, "h3", NULL, "Protections");
		html_element(h, "p", NULL, "What each zone keeps back from allocations that could use a higher one, in pages.");
	}
	for (guint i = 0; i < f->all->len; i++) {
		const struct figure *fig = f->all->pdata[i];

		if (fig->kind == PROTECTION && n++ < DRAWN_MAX)
			protection(f, fig, i, h);
	}
	if (f->seen[FILL]) {
		html_element(h, "h3", NULL, "Filling memory");
		html_element(h, "p", NULL, "Free pages of each zone while one process takes memory; dashed, the reserve that must stay.");
		pictures(f, FILL, h);
	}
}
