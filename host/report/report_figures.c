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
	const json_t *c;	/* its result, or NULL */
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
	GHashTable *of_case;	/* json_t * to its number in all, + 1 */
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
static const json_t *case_of(const struct rep_group *g, const char *name)
{
	gsize len = strlen(name);

	if (g_str_has_suffix(name, control))
		len -= strlen(control);
	for (guint i = 0; i < g->cases->len; i++) {
		const char *s = obj_str(g->cases->pdata[i], "name");

		if (strlen(s) == len && !strncmp(s, name, len))
			return g->cases->pdata[i];
	}
	return NULL;
}

static bool is_bad(const json_t *c)
{
	return c && (!strcmp(obj_str(c, "result"), "fail") || !strcmp(obj_str(c, "result"), "broken"));
}

/* Rank 0 are the bad ones, 1 the good, 2 the controls */
static void collect(struct figures *f, const struct rep_group *g, int rank)
{
	json_t *a;
	size_t i;

	json_array_foreach(json_object_get(g->boot, "artifacts"), i, a) {
		const char *path = json_string_value(a);

		for (int k = 0; path && k < NR_KINDS; k++) {
			struct figure *fig;
			const json_t *c;
			char *name;

			if (!g_str_has_suffix(path, suffixes[k]))
				continue;
			name = g_strndup(path, strlen(path) - strlen(suffixes[k]));
			c = case_of(g, name);
			if (rank != (g_str_has_suffix(name, control) ? 2 : !is_bad(c))) {
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

int figures_of_case(const struct figures *f, const json_t *c)
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
			json_t *v = json_object_get(json_object_get(cell->cases->pdata[i], "metrics"),
						    "auc");
			double d = json_is_number(v) ? json_number_value(v) : NAN;

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

static void caption(const struct figures *f, const struct figure *fig, GString *out)
{
	bool negative = g_str_has_suffix(fig->name, control);
	const char *word = fig->c && !negative ? obj_str(fig->c, "result") : "";
	json_t *auc = json_object_get(json_object_get(fig->c, "metrics"), "auc");

	g_string_append(out, "<figcaption>");
	if (*word)
		html_element(out, "span", html_class(word), word);
	g_string_append(out, " <b>");
	html_text(out, "%.*s", (int)(strlen(fig->name) - (negative ? strlen(control) : 0)),
		  fig->name);
	g_string_append(out, "</b> ");
	html_text(out, "%son %s, machine %s", negative ? "negative control (walk off: must be blind) " : "", rep_label(f->r, fig->group->kernel), fig->group->name);
	if (json_is_number(auc) && !negative)
		html_text(out, ", AUC %.3f", json_number_value(auc));
	g_string_append(out, "</figcaption>\n");
}

static void picture(const struct figures *f, guint i, GString *out)
{
	const struct figure *fig = f->all->pdata[i];
	char *svg;

	g_string_append_printf(out, "<figure id=\"f%u\">\n", i);
	caption(f, fig, out);
	svg = fig->plot >= 0 ? plots_svg(f->plots, fig->plot, fig->sentence) : NULL;
	if (svg)
		g_string_append(out, svg);
	if (fig->sentence) {
		g_string_append(out, "<p class=\"alt\">");
		html_text(out, "%s", fig->sentence);
		g_string_append(out, "</p>\n");
	}
	if (fig->fault || (!svg && f->why_not)) {
		g_string_append(out, "<p class=\"note\">");
		html_text(out, "No picture: %s.", fig->fault ? fig->fault : f->why_not);
		g_string_append(out, "</p>\n");
	}
	g_string_append(out, "</figure>\n");
	g_free(svg);
}

static void pictures(const struct figures *f, enum kind kind, GString *out)
{
	int n = 0;

	for (guint i = 0; i < f->all->len; i++) {
		const struct figure *fig = f->all->pdata[i];

		if (fig->kind == kind && n++ < DRAWN_MAX)
			picture(f, i, out);
	}
	if (n > DRAWN_MAX) {
		g_string_append(out, "<p class=\"note\">");
		html_text(out, "%d more are not drawn here; their numbers are in the matrix, their data in the artifacts folders.",
			  n - DRAWN_MAX);
		g_string_append(out, "</p>\n");
	}
}

static void runs_pictures(const struct figures *f, GString *out)
{
	for (guint i = 0; i < f->runs->len; i++) {
		const struct runs *runs = f->runs->pdata[i];
		GString *text = g_string_new(NULL);
		char *svg;

		for (size_t k = 0; k < f->r->nr_kernels; k++) {
			const struct rep_cell *c = &runs->row->cells[k];

			if (c->has_auc)
				g_string_append_printf(text, "%s%s: AUC %.3f to %.3f in %u runs",
						       text->len ? "; " : "", rep_label(f->r, k),
						       c->auc_min, c->auc_max, c->cases->len);
		}
		g_string_append(out, "<figure>\n<figcaption><b>");
		html_text(out, "%s", runs->row->name);
		g_string_append(out, "</b> ");
		html_text(out, "AUC of each run, machine %s", runs->row->machine);
		g_string_append(out, "</figcaption>\n");
		svg = plots_svg(f->plots, runs->plot, text->str);
		g_string_append(out, svg ? svg : "");
		g_string_append(out, "<p class=\"alt\">");
		html_text(out, "%s.", text->str);
		g_string_append(out, "</p></figure>\n");
		g_free(svg);
		g_string_free(text, TRUE);
	}
}

void figures_bench(struct figures *f, GString *out)
{
	for (int i = 0; i < BENCH_PLOTS; i++) {
		char *text, *svg;

		if (f->bench[i] < 0)
			continue;
		text = bench_plot_sentence(json_object_get(f->r->run, "bench"), i);
		svg = plots_svg(f->plots, f->bench[i], text);
		g_string_append(out, "<figure>\n<figcaption><b>");
		html_text(out, "%s", bench_plot_title(i));
		g_string_append(out, "</b></figcaption>\n");
		if (svg)
			g_string_append(out, svg);
		g_string_append(out, "<p class=\"alt\">");
		html_text(out, "%s", text);
		g_string_append(out, "</p>\n");
		if (!svg && f->why_not) {
			g_string_append(out, "<p class=\"note\">");
			html_text(out, "No picture: %s.", f->why_not);
			g_string_append(out, "</p>\n");
		}
		g_string_append(out, "</figure>\n");
		g_free(svg);
		g_free(text);
	}
}

void figures_order(struct figures *f, GString *out)
{
	if (f->seen[ORDER]) {
		g_string_append(out, "<p>Each mark is a page: the higher, the later it was evicted. A kernel that sees what the guest touches evicts the cold pages (blue) first and keeps the hot ones (red) for last.</p>\n");
		pictures(f, ORDER, out);
	}
	if (f->runs->len) {
		g_string_append(out, "<h3>AUC over the runs</h3>\n");
		runs_pictures(f, out);
	}
	if (f->seen[GENS]) {
		g_string_append(out, "<h3>Generations over time</h3>\n");
		pictures(f, GENS, out);
	}
}

static void protection(const struct figures *f, const struct figure *fig, guint i, GString *out)
{
	const struct tsv *t = fig->table;
	int ce = t ? tsv_column(t, "expected") : -1, cs = t ? tsv_column(t, "seen") : -1;
	guint wrong = 0;

	g_string_append_printf(out, "<figure id=\"f%u\">\n", i);
	caption(f, fig, out);
	for (guint r = 0; ce >= 0 && cs >= 0 && r < t->rows->len; r++) {
		char **row = t->rows->pdata[r];

		wrong += strcmp(row[ce], row[cs]) != 0;
	}
	if (t && ce >= 0 && cs >= 0) {
		g_string_append_printf(out, "<p class=\"alt\">%u of %u protections are as the formula says.</p>\n<details%s><summary>Rows</summary><div class=\"scroll\"><table><thead><tr>",
				       t->rows->len - wrong, t->rows->len, wrong ? " open" : "");
		for (char **h = t->header; *h; h++)
			html_element(out, "th", NULL, *h);
		g_string_append(out, "</tr></thead><tbody>\n");
	}
	for (guint r = 0; ce >= 0 && cs >= 0 && r < t->rows->len && r < 400; r++) {
		char **row = t->rows->pdata[r];
		bool bad = strcmp(row[ce], row[cs]) != 0;

		g_string_append(out, "<tr>");
		for (int c = 0; row[c]; c++)
			html_element(out, "td", c == cs && bad ? "num fail" : c == cs || c == ce ?
				     "num" : NULL, row[c]);
		g_string_append(out, "</tr>\n");
	}
	if (t && ce >= 0 && cs >= 0)
		g_string_append(out, "</tbody></table></div></details>\n");
	if (fig->fault || (t && t->fault) || (t && (ce < 0 || cs < 0))) {
		g_string_append(out, "<p class=\"note\">");
		html_text(out, "Incomplete: %s.", fig->fault ? fig->fault : t->fault ? t->fault :
			  "it has no columns expected and seen");
		g_string_append(out, "</p>\n");
	}
	g_string_append(out, "</figure>\n");
}

void figures_zones(struct figures *f, GString *out)
{
	int n = 0;

	if (f->seen[PROTECTION])
		g_string_append(out, "<h3>Protections</h3>\n<p>What each zone keeps back from allocations that could use a higher one, in pages.</p>\n");
	for (guint i = 0; i < f->all->len; i++) {
		const struct figure *fig = f->all->pdata[i];

		if (fig->kind == PROTECTION && n++ < DRAWN_MAX)
			protection(f, fig, i, out);
	}
	if (f->seen[FILL]) {
		g_string_append(out, "<h3>Filling memory</h3>\n<p>Free pages of each zone while one process takes memory; dashed, the reserve that must stay.</p>\n");
		pictures(f, FILL, out);
	}
}
