// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of kernels: as text, and as one page for a wall.
 */
#include "report/report_matrix.h"

#include <math.h>
#include <string.h>

#define PLOT_CURVES 6

/* What a test did on a machine and a kernel: its worst word decides the letter */
struct sum {
	int pass, fail, explained, broken, skip, splats;
};

/**
 * struct layout - the table
 * @tests:	"family/test on machine", in the order in which they came
 * @index:	its key -> number + 1
 * @sums:	[test * kernels + kernel]
 */
struct layout {
	const json_t *run, *rows;
	GPtrArray *tests;
	GHashTable *index;
	struct sum *sums;
	size_t kernels;
};

/* "kvm/aging on default" of a case; a splat and the like stand under their own name.  g_free() it */
static char *test_key(const json_t *c)
{
	g_auto(GStrv) part = g_strsplit(obj_str(c, "name"), "/", 3);

	return g_strdup_printf("%s%s%s on %s", part[0] ? part[0] : "", part[0] && part[1] ? "/" : "",
			       part[0] && part[1] ? part[1] : "", obj_str(c, "machine"));
}

static void lay_out(struct layout *l, const json_t *run)
{
	const json_t *c;
	size_t i;

	l->run = run;
	l->rows = json_object_get(json_object_get(run, "matrix"), "kernels");
	l->kernels = json_array_size(json_object_get(run, "kernels"));
	l->tests = g_ptr_array_new_with_free_func(g_free);
	l->index = g_hash_table_new(g_str_hash, g_str_equal);
	json_array_foreach(json_object_get(run, "cases"), i, c) {
		char *key = test_key(c);

		if (g_hash_table_contains(l->index, key)) {
			g_free(key);
			continue;
		}
		g_ptr_array_add(l->tests, key);
		g_hash_table_insert(l->index, key, GUINT_TO_POINTER(l->tests->len));
	}
	l->sums = g_new0(struct sum, (l->tests->len + 1) * (l->kernels + 1));
	json_array_foreach(json_object_get(run, "cases"), i, c) {
		g_autofree char *key = test_key(c);
		size_t t = GPOINTER_TO_UINT(g_hash_table_lookup(l->index, key)) - 1, k = obj_int(c, "kernel");
		enum result r = obj_result(c);
		bool known = *obj_str(c, "explained");
		struct sum *sum = &l->sums[t * l->kernels + k];

		if (k >= l->kernels)
			continue;
		sum->pass += r == RESULT_PASS;
		sum->skip += r == RESULT_SKIP;
		sum->explained += known;
		sum->fail += r == RESULT_FAIL && !known;
		sum->broken += r == RESULT_BROKEN && !known;
	}
}

static void layout_free(struct layout *l)
{
	g_ptr_array_unref(l->tests);
	g_hash_table_unref(l->index);
	g_free(l->sums);
}

static char letter(const struct sum *s)
{
	return s->fail ? 'F' : s->broken ? 'B' : s->explained ? 'f' : s->pass ? '.' : s->skip ? 's' : '-';
}

/* The column of the kernel that @row is about, -1 where it has none */
static int column_of(const struct layout *l, const json_t *row)
{
	const json_t *k;
	size_t i;

	if (!*obj_str(row, "label"))
		return -1;
	json_array_foreach(json_object_get(l->run, "kernels"), i, k)
		if (!strcmp(obj_str(k, "label"), obj_str(row, "label")))
			return i;
	return -1;
}

static char mark(size_t i)
{
	return i < 26 ? 'a' + i : i < 52 ? 'A' + i - 26 : '*';
}

static const char *label_of(const json_t *run, const json_t *o)
{
	return obj_str(json_array_get(json_object_get(run, "kernels"), obj_int(o, "kernel")), "label");
}

/* Call @fn for each red case and each splat that counts */
static void each_red(const json_t *run, void (*fn)(const json_t *o, const char *kernel, const char *what,
						   const char *reason, void *data), void *data)
{
	const json_t *c, *b, *s;
	size_t i, j;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		g_autofree char *what = g_strdup_printf("%s on %s", obj_str(c, "name"), obj_str(c, "machine"));

		if (*obj_str(c, "explained") || obj_bool(c, "unexplained"))
			fn(c, label_of(run, c), what, obj_str(c, "reason"), data);
	}
	json_array_foreach(json_object_get(run, "boots"), i, b) {
		json_array_foreach(json_object_get(b, "splats"), j, s) {
			g_autofree char *what = g_strdup_printf("splat on %s", obj_str(b, "machine"));

			fn(s, label_of(run, b), what, obj_str(s, "title"), data);
		}
	}
}

static void red_text(const json_t *o, const char *kernel, const char *what, const char *reason, void *data)
{
	const char *why = obj_str(o, "explained");

	fprintf(data, "  %s: %s\n      %.300s\n      %s\n", kernel, what, reason, *why ? why : "UNEXPLAINED");
}

void report_matrix_text(const json_t *run, FILE *to)
{
	const json_t *m = json_object_get(run, "matrix"), *row, *c;
	struct layout l;
	size_t i;

	lay_out(&l, run);
	fprintf(to, "kernels in use, %s\n\n", obj_str(m, "arch"));
	json_array_foreach((json_t *)l.rows, i, row)
		fprintf(to, "  %c %-24s %-16s %-12s %s%s%s\n", mark(i), obj_str(row, "name"),
			*obj_str(row, "label") ? obj_str(row, "label") : "-", obj_str(row, "state"),
			obj_str(row, "reason"), *obj_str(row, "seen") ? " seen " : "", obj_str(row, "seen"));
	fprintf(to, "\n  %-44s", ". pass  F fail  B broken  f explained");
	for (i = 0; i < json_array_size(l.rows); i++)
		fprintf(to, " %c", mark(i));
	fprintf(to, "\n  %s\n", "s all skipped  - did not run");
	for (guint t = 0; t < l.tests->len; t++) {
		fprintf(to, "  %-44s", (char *)l.tests->pdata[t]);
		json_array_foreach((json_t *)l.rows, i, row) {
			int k = column_of(&l, row);

			fprintf(to, " %c", k < 0 ? ' ' : letter(&l.sums[t * l.kernels + k]));
		}
		fputc('\n', to);
	}
	fprintf(to, "\nred cells:\n");
	each_red(run, red_text, to);
	if (json_array_size(json_object_get(m, "changes"))) {
		fprintf(to, "\nchanges since %s:\n", *obj_str(m, "previous") ? obj_str(m, "previous") : "the first time");
		json_array_foreach(json_object_get(m, "changes"), i, c)
			fprintf(to, "  %s: %s: %s -> %s\n", obj_str(c, "kernel"), obj_str(c, "what"),
				*obj_str(c, "from") ? obj_str(c, "from") : "new", obj_str(c, "to"));
	}
	fprintf(to, "\n%lld boots run, %lld answers from before, %.0f s\n", (long long)obj_int(m, "boots_run"),
		(long long)obj_int(m, "boots_recalled"), obj_num(run, "duration_s"));
	layout_free(&l);
}

/* ---- the page ---- */

/* Value of @metric (NULL: the duration) of case @name on the kernel of @row, the mean of its runs; NaN: none */
static double value_of(const struct layout *l, const json_t *row, const char *name, const char *metric)
{
	const json_t *c, *v;
	double sum = 0;
	int k = column_of(l, row), n = 0;
	size_t i;

	json_array_foreach(json_object_get(l->run, "cases"), i, c) {
		g_autofree char *key = g_strdup_printf("%s %s", obj_str(c, "name"), obj_str(c, "machine"));

		if (k < 0 || obj_int(c, "kernel") != k || strcmp(key, name) || obj_result(c) == RESULT_SKIP)
			continue;
		v = metric ? json_object_get(json_object_get(c, "metrics"), metric) :
			     json_object_get(c, "duration_s");
		if (json_is_number(v)) {
			sum += json_number_value(v);
			n++;
		}
	}
	return n ? sum / n : NAN;
}

/* Cases with @metric, the most often seen first: "name machine"; NULL as @metric: those that take longest */
static GPtrArray *cases_with(const struct layout *l, const char *metric)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(l->run, "cases"), i, c) {
		char *key = g_strdup_printf("%s %s", obj_str(c, "name"), obj_str(c, "machine"));

		if (names->len >= PLOT_CURVES || obj_result(c) == RESULT_SKIP ||
		    !json_object_get(json_object_get(c, "metrics"), metric ? metric : "auc") ||
		    g_ptr_array_find_with_equal_func(names, key, g_str_equal, NULL))
			g_free(key);
		else
			g_ptr_array_add(names, key);
	}
	return names;
}

static int plot_over(struct plots *p, const struct layout *l, const char *metric, const char *ylabel)
{
	g_autoptr(GPtrArray) names = cases_with(l, metric);
	g_autoptr(GPtrArray) curves = g_ptr_array_new_with_free_func(curve_free);
	const json_t *row;
	size_t i;

	for (guint n = 0; n < names->len; n++) {
		struct curve *curve = g_new0(struct curve, 1);

		curve->name = g_strdup(names->pdata[n]);
		curve->points = g_array_new(FALSE, FALSE, sizeof(double));
		json_array_foreach((json_t *)l->rows, i, row) {
			double x = i + 1, y = value_of(l, row, names->pdata[n], metric);

			if (!isfinite(y))
				continue;
			g_array_append_val(curve->points, x);
			g_array_append_val(curve->points, y);
		}
		if (curve->points->len)
			g_ptr_array_add(curves, curve);
		else
			curve_free(curve);
	}
	return curves->len ? plots_curves(p, curves, "kernel, by its number in the table", ylabel, CURVE_LINES,
					  false, false) : -1;
}

/* What a letter of the table is shown as */
static const struct shown {
	char letter;
	enum result result;
	const char *word;
} shown[] = {
	{ 'F', RESULT_FAIL, "FAIL" }, { 'B', RESULT_BROKEN, "broken" }, { 'f', RESULT_SKIP, "known" },
	{ '.', RESULT_PASS, "ok" }, { 's', RESULT_SKIP, "skip" },
};

static void html_sum(struct html *h, const struct sum *s)
{
	const struct shown *as = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(shown) && !as; i++)
		if (shown[i].letter == letter(s))
			as = &shown[i];
	html_open(h, "td", NULL);
	html_attr(h, "class", "res %s", result_name(as ? as->result : RESULT_SKIP));
	html_attr(h, "title", "%d pass, %d fail, %d broken, %d explained, %d skip", s->pass, s->fail, s->broken,
		  s->explained, s->skip);
	html_text(h, "%s", as ? as->word : "\xe2\x80\x93");
	html_close(h);
}

static void html_kernel(struct html *h, const struct layout *l, size_t nr, const json_t *row)
{
	int k = column_of(l, row);

	html_open(h, "tr", NULL);
	html_elementf(h, "td", "num", "%zu", nr);
	html_open(h, "td", NULL);
	html_attr(h, "title", "%s, since %s%s%s", obj_str(row, "why"), obj_str(row, "since"),
		  *obj_str(row, "until") ? ", supported until " : "", obj_str(row, "until"));
	html_text(h, "%s", obj_str(row, "name"));
	html_close(h);
	html_element(h, "td", NULL, *obj_str(row, "release") ? obj_str(row, "release") : "-");
	html_elementf(h, "td", NULL, "%.10s", obj_str(row, "seen"));
	if (k < 0) {
		html_open(h, "td", result_name(strcmp(obj_str(row, "state"), "same") ? RESULT_BROKEN :
					       RESULT_SKIP));
		html_attr(h, "colspan", "%u", MAX(l->tests->len, 1));
		html_text(h, "%s: %s", obj_str(row, "state"), obj_str(row, "reason"));
		html_close(h);
	}
	for (guint t = 0; k >= 0 && t < l->tests->len; t++)
		html_sum(h, &l->sums[t * l->kernels + k]);
	html_close(h);
}

static void html_kernels(struct html *h, const struct layout *l)
{
	static const char *const heads[] = { "#", "kernel", "version", "seen" };
	const json_t *row;
	size_t i;

	html_open(h, "div", "scroll");
	html_open(h, "table", "wall");
	html_open(h, "thead", NULL);
	html_open(h, "tr", NULL);
	for (i = 0; i < G_N_ELEMENTS(heads); i++)
		html_element(h, "th", NULL, heads[i]);
	for (guint t = 0; t < l->tests->len; t++) {
		html_open(h, "th", "up");
		html_element(h, "span", NULL, l->tests->pdata[t]);
		html_close(h);
	}
	html_close(h);
	html_close(h);
	html_open(h, "tbody", NULL);
	json_array_foreach((json_t *)l->rows, i, row)
		html_kernel(h, l, i + 1, row);
	html_table_end(h);
}

static void red_html(const json_t *o, const char *kernel, const char *what, const char *reason, void *data)
{
	const char *why = obj_str(o, "explained");
	struct html *h = data;

	html_open(h, "tr", NULL);
	html_element(h, "td", NULL, kernel);
	html_element(h, "td", NULL, what);
	html_elementf(h, "td", NULL, "%.400s", reason);
	html_element(h, "td", result_name(*why ? RESULT_SKIP : RESULT_FAIL), *why ? why : "UNEXPLAINED");
	html_close(h);
}

static void html_changes(struct html *h, const json_t *m)
{
	static const char *const heads[] = { "kernel", "what", "was", "is", NULL };
	const json_t *c;
	size_t i;

	html_elementf(h, "h2", NULL, "Changes since %s",
		      *obj_str(m, "previous") ? obj_str(m, "previous") : "the first time");
	if (!json_array_size(json_object_get(m, "changes"))) {
		html_element(h, "p", "soft", "none");
		return;
	}
	html_table(h, NULL, heads);
	json_array_foreach(json_object_get(m, "changes"), i, c) {
		const char *from = obj_str(c, "from"), *to = obj_str(c, "to");

		html_open(h, "tr", NULL);
		html_element(h, "td", NULL, obj_str(c, "kernel"));
		html_element(h, "td", NULL, obj_str(c, "what"));
		html_element(h, "td", html_class(from), *from ? from : "new");
		html_element(h, "td", html_class(to), to);
		html_close(h);
	}
	html_table_end(h);
}

static void html_plot(struct html *h, const struct plots *p, int nr, const char *title)
{
	if (nr < 0)
		return;
	html_open(h, "figure", NULL);
	html_element(h, "figcaption", NULL, title);
	plots_svg(h, p, nr, title);
	html_close(h);
}

static void html_head(struct html *h, const json_t *run)
{
	const json_t *m = json_object_get(run, "matrix");
	enum result verdict = obj_verdict(run);

	html_open(h, "header", NULL);
	html_elementf(h, "h1", NULL, "Kernels in use, %s", obj_str(m, "arch"));
	html_open(h, "div", NULL);
	html_attr(h, "class", "verdict %s", result_name(verdict == RESULT_NONE ? RESULT_BROKEN : verdict));
	html_text(h, "%s", obj_str(run, "reason"));
	html_close(h);
	html_elementf(h, "p", "soft", "%s, %.0f s, %lld boots run, %lld answers from before",
		      obj_str(run, "started"), obj_num(run, "duration_s"), (long long)obj_int(m, "boots_run"),
		      (long long)obj_int(m, "boots_recalled"));
	html_close(h);
}

bool report_matrix_html(json_t *run, const char *dir, GError **err)
{
	static const char *const heads[] = { "kernel", "case", "it said", "reason", NULL };
	g_autofree char *path = g_build_filename(dir, "matrix.html", NULL);
	struct plots *p = plots_new();
	struct html *h;
	GString *out;
	struct layout l;
	GError *e = NULL;
	int auc, time;
	bool ok;

	lay_out(&l, run);
	auc = plot_over(p, &l, "auc", "AUC");
	time = plot_over(p, &l, NULL, "seconds");
	/* a page without pictures is better than none */
	if ((auc >= 0 || time >= 0) && !plots_run(p, &e)) {
		auc = time = -1;
		status_note("no pictures: %s", e->message);
		g_clear_error(&e);
	}
	h = html_new("mmgate: kernels in use",
		     "table.wall th.up{height:14rem;vertical-align:bottom;padding:.2rem}"
		     "table.wall th.up span{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:400}");
	plots_defs(h);
	html_head(h, run);
	html_kernels(h, &l);
	html_changes(h, json_object_get(run, "matrix"));
	html_element(h, "h2", NULL, "Red cells");
	html_table(h, NULL, heads);
	each_red(run, red_html, h);
	html_table_end(h);
	html_element(h, "h2", NULL, "Over the versions");
	html_plot(h, p, auc, "AUC of the ordering experiments over the kernels: 1 is perfect order, 0.5 is blind");
	html_plot(h, p, time, "seconds that the same cases took over the kernels");
	out = html_finish(h);
	ok = mmg_write_atomic(path, out->str, out->len, err);
	plots_free(p);
	layout_free(&l);
	g_string_free(out, TRUE);
	return ok;
}
