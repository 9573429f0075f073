// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb trend: a measured value over the runs that the history holds, and where it changed.
 */
#include "run/trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

static const struct trend_point *point(const struct trend *t, guint i)
{
	return t->points->pdata[i];
}

static double median_of(const struct trend *t)
{
	g_autofree double *v = g_new(double, t->points->len);

	for (guint i = 0; i < t->points->len; i++)
		v[i] = point(t, i)->value;
	return bench_median(v, t->points->len);
}

static char *change_text(const struct trend *t, const struct trend_change *c)
{
	const struct trend_point *a = point(t, c->at - 1), *b = point(t, c->at);

	return g_strdup_printf("%.4g -> %.4g (p %.2g) at %s, from kernel %s to %s", c->before, c->after, c->p,
			       b->started, a->label, b->label);
}

static void print_text(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		const struct trend *t = all->pdata[i];
		g_autoptr(GArray) changes = trend_changes(t);
		const struct trend_point *last = point(t, t->points->len - 1);

		printf("%s on %s, %s: median %.4g of %u, last %.4g (%s, %s)\n", t->name, t->machine, t->metric,
		       median_of(t), t->points->len, last->value, last->label, last->started);
		for (guint k = 0; k < changes->len; k++) {
			g_autofree char *text = change_text(t, &g_array_index(changes, struct trend_change, k));

			printf("    changed: %s\n", text);
		}
	}
}

static void print_json(const GPtrArray *all)
{
	json_t *list = json_array();
	char *text;

	for (guint i = 0; i < all->len; i++) {
		const struct trend *t = all->pdata[i];
		g_autoptr(GArray) changes = trend_changes(t);
		json_t *points = json_array(), *marks = json_array();

		for (guint n = 0; n < t->points->len; n++)
			json_array_append_new(points, json_pack("{s:s, s:s, s:f}", "started", point(t, n)->started,
								"label", point(t, n)->label, "value",
								point(t, n)->value));
		for (guint k = 0; k < changes->len; k++) {
			const struct trend_change *c = &g_array_index(changes, struct trend_change, k);

			json_array_append_new(marks, json_pack("{s:i, s:f, s:f, s:f}", "at", (int)c->at, "before",
							       c->before, "after", c->after, "p", c->p));
		}
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", t->name, "machine",
						      t->machine, "metric", t->metric, "points", points,
						      "changes", marks));
	}
	text = json_dumps(list, JSON_INDENT(1));
	printf("%s\n", text ?: "[]");
	free(text);
	json_decref(list);
}

/* One picture of @t, its kernels as the lines */
static int draw(struct plots *plots, const struct trend *t)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(series_free);
	int i;

	for (guint n = 0; n < t->points->len; n++) {
		struct series *s = NULL;

		for (guint k = 0; k < lines->len && !s; k++)
			if (!strcmp(((struct series *)lines->pdata[k])->name, point(t, n)->label))
				s = lines->pdata[k];
		if (!s) {
			s = g_new0(struct series, 1);
			s->name = g_strdup(point(t, n)->label);
			s->values = g_array_new(FALSE, FALSE, sizeof(double));
			g_ptr_array_add(lines, s);
		}
		/* each run has its own place: others have none there */
		while (s->values->len < n) {
			double none = NAN;

			g_array_append_val(s->values, none);
		}
		g_array_append_val(s->values, point(t, n)->value);
	}
	i = plots_values(plots, lines, t->metric, NAN, NAN);
	return i;
}

static void write_body(struct html *h, const GPtrArray *all, const struct plots *plots, const int *pictures)
{
	html_element(h, "h1", NULL, "Trends");
	plots_defs(h);
	for (guint i = 0; i < all->len; i++) {
		const struct trend *t = all->pdata[i];
		g_autoptr(GArray) changes = trend_changes(t);
		g_autofree char *head = g_strdup_printf("%s on %s: %s", t->name, t->machine, t->metric);

		html_element(h, "h2", NULL, head);
		for (guint k = 0; k < changes->len; k++) {
			g_autofree char *text = change_text(t, &g_array_index(changes, struct trend_change, k));

			html_element(h, "p", NULL, text);
		}
		plots_svg(h, plots, pictures[i], head);
	}
}

static bool write_page(const GPtrArray *all, const char *path, GError **err)
{
	struct plots *plots = plots_new();
	g_autofree int *pictures = g_new0(int, all->len + 1);
	bool ok;

	for (guint i = 0; i < all->len; i++)
		pictures[i] = draw(plots, all->pdata[i]);
	ok = plots_run(plots, err);
	if (ok) {
		struct html *h = html_new("mmgate: trends", "svg{max-width:100%}");
		GString *out;

		write_body(h, all, plots, pictures);
		out = html_finish(h);
		ok = mmg_write_atomic(path, out->str, out->len, err);
		g_string_free(out, TRUE);
	}
	plots_free(plots);
	return ok;
}

/* AUC and durations of every case would be a book: without a word, what changed */
static void keep_changed(GPtrArray *all)
{
	for (guint i = all->len; i; i--) {
		g_autoptr(GArray) changes = trend_changes(all->pdata[i - 1]);

		if (!changes->len)
			g_ptr_array_remove_index(all, i - 1);
	}
}

/**
 * verb_trend() - values over time
 * @cli: words are globs of cases (all, and only what changed, where there is none); --metric, --json, --html
 * @err: where the history could not be read
 *
 * Return: exit status; 4 where the history holds nothing that was asked for.
 */
int verb_trend(struct cli *cli, GError **err)
{
	g_autoptr(GPtrArray) all = trend_read(cli->args, cli->metric, err);
	int status = MMG_EXIT_OK;

	if (!all)
		return MMG_EXIT_BROKEN;
	if (!all->len) {
		mmg_set_error(err, MMG_EXIT_NOTHING, "the history holds no value that was asked for");
		return MMG_EXIT_NOTHING;
	}
	if (!cli->args->len)
		keep_changed(all);
	if (cli->json)
		print_json(all);
	else
		print_text(all);
	if (cli->html) {
		const char *path = cli->out ?: "trend.html";

		if (!write_page(all, path, err))
			status = MMG_EXIT_BROKEN;
		else
			fprintf(stderr, "mmgate: the page is %s\n", path);
	}
	if (!all->len)
		fprintf(stderr, "mmgate: nothing changed\n");
	return status;
}
