// SPDX-License-Identifier: GPL-2.0-only
/*
 * summary.txt: the run in a form that can be put into a cover letter, 72
 * columns of plain ASCII, with the eviction order drawn in characters.
 */
#include "report/report.h"

#include <string.h>

#define WIDTH		72
#define FAILURES_MAX	12
#define REASON_MAX	300

static void para(GString *out, int indent, const char *s)
{
	char *ascii = text_ascii(s), *cut = g_strndup(ascii, REASON_MAX);

	text_wrap(out, cut, indent, WIDTH);
	g_string_append_c(out, '\n');
	g_free(cut);
	g_free(ascii);
}

static void G_GNUC_PRINTF(3, 4) paraf(GString *out, int indent, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	para(out, indent, s);
	g_free(s);
}

static void head(GString *out, const struct rep *r)
{
	const json_t *run = r->run, *host = json_object_get(run, "host");
	char *verdict = g_ascii_strup(obj_str(run, "verdict"), -1);

	paraf(out, 0, "mmgate %s %s %s: %s", obj_str(json_object_get(run, "tool"), "version"),
	      obj_str(run, "verb"), obj_str(run, "id"), verdict);
	if (*obj_str(run, "reason"))
		para(out, 0, rep_reason(run));
	if (!obj_bool(run, "complete"))
		para(out, 0, "The run was not completed: this is partial.");
	g_string_append_c(out, '\n');
	for (size_t k = 0; k < r->nr_kernels; k++) {
		const struct rep_kernel *o = &r->kernels[k];

		paraf(out, 2, "[%zu] %s, %s, %s%s%s", k + 1, rep_label(r, k), o->release, o->arch,
		      *o->role ? ", " : "", o->role);
	}
	paraf(out, 2, "QEMU %s, %s", obj_str(host, "qemu"), obj_str(host, "accel"));
	g_free(verdict);
}

struct sum {
	const char *test, *machine;
	struct {
		int pass, fail, broken, skip;
	} *of;
};

static void sum_free(void *data)
{
	g_free(((struct sum *)data)->of);
	g_free(data);
}

static GPtrArray *sums(const struct rep *r)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(sum_free);

	for (guint i = 0; i < r->rows->len; i++) {
		struct rep_row *row = r->rows->pdata[i];
		struct sum *s = NULL;

		for (guint j = 0; j < all->len && !s; j++) {
			struct sum *old = all->pdata[j];

			if (!strcmp(old->test, row->test) && !strcmp(old->machine, row->machine))
				s = old;
		}
		if (!s) {
			s = g_new0(struct sum, 1);
			s->test = row->test;
			s->machine = row->machine;
			s->of = g_malloc0_n(MAX(r->nr_kernels, 1), sizeof(*s->of));
			g_ptr_array_add(all, s);
		}
		for (size_t k = 0; k < r->nr_kernels; k++) {
			s->of[k].pass += row->cells[k].pass;
			s->of[k].fail += row->cells[k].fail;
			s->of[k].broken += row->cells[k].broken;
			s->of[k].skip += row->cells[k].skip;
		}
	}
	return all;
}

static void add(GString *s, int n, const char *what)
{
	if (n)
		g_string_append_printf(s, "%s%d %s", s->len ? ", " : "", n, what);
}

/* A test on a machine: a line for all kernels where they fit, else one for each */
static void sum_lines(GString *out, const struct rep *r, const struct sum *s)
{
	paraf(out, 2, "%s on %s", s->test, *s->machine ? s->machine : "host");
	for (size_t k = 0; k < r->nr_kernels; k++) {
		GString *t = g_string_new(NULL);

		add(t, s->of[k].fail, "FAIL");
		add(t, s->of[k].broken, "BROKEN");
		add(t, s->of[k].pass, "pass");
		add(t, s->of[k].skip, "skip");
		if (t->len)
			paraf(out, 6, "[%zu] %s", k + 1, t->str);
		g_string_free(t, TRUE);
	}
}

static void results(GString *out, const struct rep *r)
{
	GPtrArray *all = sums(r);

	if (all->len)
		g_string_append(out, "\nResults\n");
	for (guint i = 0; i < all->len; i++)
		sum_lines(out, r, all->pdata[i]);
	g_ptr_array_unref(all);
}

static void failures(GString *out, const struct rep *r)
{
	int n = 0;

	for (guint i = 0; i < r->rows->len; i++) {
		struct rep_row *row = r->rows->pdata[i];

		for (size_t k = 0; k < r->nr_kernels; k++) {
			if (!result_bad(rep_cell_result(&row->cells[k])))
				continue;
			if (!n++)
				g_string_append(out, "\nWhat went wrong\n");
			if (n > FAILURES_MAX)
				continue;
			paraf(out, 2, "%s on [%zu], %s:", row->name, k + 1, row->machine);
			para(out, 6, rep_cell_case(&row->cells[k])->reason);
		}
	}
	if (n > FAILURES_MAX)
		paraf(out, 2, "and %d more", n - FAILURES_MAX);
}

static void splats(GString *out, const struct rep *r)
{
	int n = 0;

	for (guint i = 0; i < r->boots->len; i++) {
		const struct rep_boot *b = r->boots->pdata[i];
		const struct rep_splat *s;

		for (guint j = 0; (s = rep_splat(b, j)); j++) {
			if (n++ >= FAILURES_MAX)
				continue;
			if (n == 1)
				g_string_append(out, "\nSplats\n");
			paraf(out, 2, "%s on [%zu], %s%s%s", s->title, b->kernel + 1, b->machine,
			      *s->allowed ? ", allowed by " : "", s->allowed);
		}
	}
	if (n > FAILURES_MAX)
		paraf(out, 2, "and %d more", n - FAILURES_MAX);
}

/* The order of the case in @cell, drawn; false where it kept none */
static bool draw(GString *out, const struct rep *r, const struct rep_row *row, size_t k,
		 GError **err)
{
	const struct rep_case *c = rep_cell_case(&row->cells[k]);
	char *path = g_strdup_printf("%s.order.tsv", row->name), *fault = NULL, *plot, **lines;
	struct tsv *t = tsv_read(r, c->boot, path);
	struct order *o = t ? order_read(t, &fault) : NULL;

	g_free(path);
	g_free(fault);
	tsv_free(t);
	if (!o)
		return false;
	plot = plot_order_dumb(o, err);
	if (plot) {
		char *sentence = order_sentence(o);

		g_string_append_c(out, '\n');
		paraf(out, 0, "%s on [%zu], %s:", row->name, k + 1, result_name(c->result));
		para(out, 0, sentence);
		lines = g_strsplit(plot, "\n", -1);
		for (char **l = lines; *l; l++) {
			g_strdelimit(*l, "\f", ' ');
			g_strchomp(*l);
			if (**l)
				g_string_append_printf(out, "%s\n", *l);
		}
		g_strfreev(lines);
		g_free(sentence);
		g_free(plot);
	}
	order_free(o);
	return true;
}

/* One picture of a failure and one of the same case where it passes; else one of any */
static bool plots(GString *out, const struct rep *r, GError **err)
{
	static const enum result wanted[] = { RESULT_FAIL, RESULT_PASS };
	const struct rep_row *drawn = NULL;
	GError *why = NULL;

	for (gsize w = 0; w < G_N_ELEMENTS(wanted); w++) {
		bool done = false;

		for (guint i = 0; i < r->rows->len && !done; i++) {
			struct rep_row *row = r->rows->pdata[i];

			if (drawn && row != drawn)
				continue;
			for (size_t k = 0; k < r->nr_kernels && !done; k++)
				done = rep_cell_result(&row->cells[k]) == wanted[w] &&
				       draw(out, r, row, k, &why);
			if (done)
				drawn = row;
		}
	}
	if (why && why->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, why);
		return false;
	}
	if (why)
		paraf(out, 0, "(no plot: %s)", why->message);
	g_clear_error(&why);
	return true;
}

/**
 * report_summary() - write summary.txt
 * @run: run.json
 * @dir: its folder, which summary.txt is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_summary(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	GString *out;
	bool ok;

	if (!r)
		return false;
	out = g_string_new(NULL);
	head(out, r);
	results(out, r);
	failures(out, r);
	splats(out, r);
	ok = plots(out, r, err);
	g_string_append_printf(out, "\n%d pass, %d fail, %d broken, %d skip\n", r->pass, r->fail,
			       r->broken, r->skip);
	ok = ok && rep_write(r, "summary.txt", out, err);
	g_string_free(out, TRUE);
	rep_free(r);
	return ok;
}
