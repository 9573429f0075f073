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
		const char *r = obj_str(c, "result");
		bool known = *obj_str(c, "explained");
		struct sum *sum = &l->sums[t * l->kernels + k];

		if (k >= l->kernels)
			continue;
		sum->pass += !strcmp(r, "pass");
		sum->skip += !strcmp(r, "skip");
		sum->explained += known;
		sum->fail += !strcmp(r, "fail") && !known;
		sum->broken += !strcmp(r, "broken") && !known;
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

		if (k < 0 || obj_int(c, "kernel") != k || strcmp(key, name) || !strcmp(obj_str(c, "result"), "skip"))
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

		if (names->len >= PLOT_CURVES || !strcmp(obj_str(c, "result"), "skip") ||
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

static void html_kernels(GString *out, const struct layout *l)
{
	const json_t *row;
	size_t i;

	g_string_append(out, "<div class=\"scroll\"><table class=\"wall\"><thead><tr><th>#</th><th>kernel</th><th>version</th><th>seen</th>");
	for (guint t = 0; t < l->tests->len; t++) {
		g_string_append(out, "<th class=\"up\"><span>");
		html_text(out, "%s", (char *)l->tests->pdata[t]);
		g_string_append(out, "</span></th>");
	}
	g_string_append(out, "</tr></thead><tbody>\n");
	json_array_foreach((json_t *)l->rows, i, row) {
		int k = column_of(l, row);

		g_string_append_printf(out, "<tr><td class=\"num\">%zu</td><td title=\"", i + 1);
		html_text(out, "%s, since %s%s%s", obj_str(row, "why"), obj_str(row, "since"),
			  *obj_str(row, "until") ? ", supported until " : "", obj_str(row, "until"));
		g_string_append(out, "\">");
		html_text(out, "%s", obj_str(row, "name"));
		g_string_append(out, "</td><td>");
		html_text(out, "%s", *obj_str(row, "release") ? obj_str(row, "release") : "-");
		g_string_append(out, "</td><td>");
		html_text(out, "%.10s", obj_str(row, "seen"));
		g_string_append(out, "</td>");
		if (k < 0) {
			g_string_append_printf(out, "<td colspan=\"%u\" class=\"%s\">", MAX(l->tests->len, 1),
					       strcmp(obj_str(row, "state"), "same") ? "broken" : "skip");
			html_text(out, "%s: %s", obj_str(row, "state"), obj_str(row, "reason"));
			g_string_append(out, "</td>");
		}
		for (guint t = 0; k >= 0 && t < l->tests->len; t++) {
			const struct sum *s = &l->sums[t * l->kernels + k];
			char c = letter(s);

			g_string_append_printf(out, "<td class=\"res %s\" title=\"%d pass, %d fail, %d broken, %d explained, %d skip\">%s</td>",
					       c == 'F' ? "fail" : c == 'B' ? "broken" : c == '.' ? "pass" : "skip",
					       s->pass, s->fail, s->broken, s->explained, s->skip,
					       c == 'F' ? "FAIL" : c == 'B' ? "broken" : c == 'f' ? "known" :
					       c == '.' ? "ok" : c == 's' ? "skip" : "&#8211;");
		}
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</tbody></table></div>\n");
}

static void red_html(const json_t *o, const char *kernel, const char *what, const char *reason, void *data)
{
	const char *why = obj_str(o, "explained");
	GString *out = data;

	g_string_append(out, "<tr>");
	html_element(out, "td", NULL, kernel);
	html_element(out, "td", NULL, what);
	g_string_append(out, "<td>");
	html_text(out, "%.400s", reason);
	g_string_append(out, "</td>");
	html_element(out, "td", *why ? "skip" : "fail", *why ? why : "UNEXPLAINED");
	g_string_append(out, "</tr>\n");
}

static void html_changes(GString *out, const json_t *m)
{
	const json_t *c;
	size_t i;

	g_string_append(out, "<h2>Changes since ");
	html_text(out, "%s", *obj_str(m, "previous") ? obj_str(m, "previous") : "the first time");
	g_string_append(out, "</h2>\n");
	if (!json_array_size(json_object_get(m, "changes"))) {
		g_string_append(out, "<p class=\"soft\">none</p>\n");
		return;
	}
	g_string_append(out, "<div class=\"scroll\"><table><thead><tr><th>kernel</th><th>what</th><th>was</th><th>is</th></tr></thead><tbody>\n");
	json_array_foreach(json_object_get(m, "changes"), i, c) {
		g_string_append(out, "<tr>");
		html_element(out, "td", NULL, obj_str(c, "kernel"));
		html_element(out, "td", NULL, obj_str(c, "what"));
		html_element(out, "td", html_class(obj_str(c, "from")), *obj_str(c, "from") ? obj_str(c, "from") : "new");
		html_element(out, "td", html_class(obj_str(c, "to")), obj_str(c, "to"));
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</tbody></table></div>\n");
}

static void html_plot(GString *out, const struct plots *p, int nr, const char *title)
{
	g_autofree char *svg = nr < 0 ? NULL : plots_svg(p, nr, title);

	if (!svg)
		return;
	g_string_append(out, "<figure><figcaption>");
	html_text(out, "%s", title);
	g_string_append_printf(out, "</figcaption>%s</figure>\n", svg);
}

bool report_matrix_html(json_t *run, const char *dir, GError **err)
{
	const json_t *m = json_object_get(run, "matrix");
	g_autofree char *path = g_build_filename(dir, "matrix.html", NULL);
	GString *out = g_string_new(NULL);
	struct plots *p = plots_new();
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
	html_begin(out, "mmgate: kernels in use");
	g_string_append(out, "<style>table.wall th.up{height:14rem;vertical-align:bottom;padding:.2rem}"
			"table.wall th.up span{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:400}</style>\n");
	g_string_append(out, plots_defs());
	g_string_append_printf(out, "<header><h1>Kernels in use, %s</h1>\n<div class=\"verdict %s\">",
			       obj_str(m, "arch"), html_class(obj_str(run, "verdict")) ?
			       html_class(obj_str(run, "verdict")) : "broken");
	html_text(out, "%s", obj_str(run, "reason"));
	g_string_append(out, "</div>\n<p class=\"soft\">");
	html_text(out, "%s, %.0f s, %lld boots run, %lld answers from before", obj_str(run, "started"),
		  obj_num(run, "duration_s"), (long long)obj_int(m, "boots_run"),
		  (long long)obj_int(m, "boots_recalled"));
	g_string_append(out, "</p></header>\n");
	html_kernels(out, &l);
	html_changes(out, m);
	g_string_append(out, "<h2>Red cells</h2>\n<div class=\"scroll\"><table><thead><tr><th>kernel</th><th>case</th><th>it said</th><th>reason</th></tr></thead><tbody>\n");
	each_red(run, red_html, out);
	g_string_append(out, "</tbody></table></div>\n<h2>Over the versions</h2>\n");
	html_plot(out, p, auc, "AUC of the ordering experiments over the kernels: 1 is perfect order, 0.5 is blind");
	html_plot(out, p, time, "seconds that the same cases took over the kernels");
	g_string_append(out, "</body>\n</html>\n");
	ok = mmg_write_atomic(path, out->str, out->len, err);
	plots_free(p);
	layout_free(&l);
	g_string_free(out, TRUE);
	return ok;
}
