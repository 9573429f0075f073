// SPDX-License-Identifier: GPL-2.0-only
/*
 * The report for a terminal: what failed, with its numbers and what that
 * means; then the matrix; what was skipped and why; splats; and the counts.
 */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MAX	120
#define WIDTH_PLAIN	100
#define ROWS_FOLDED	36	/* a matrix longer than this shows whole tests where all is well */
#define FAILURES_MAX	20	/* told in full */
#define REASON_MAX	600	/* bytes of a reason */

enum paint { PLAIN, RED, GREEN, YELLOW, MAGENTA, DIM, BOLD };

struct text {
	struct rep *r;
	GString *out;
	bool colour;
	int width;
	const char *said;	/* the last meaning */
};

static void paint(struct text *t, enum paint p)
{
	static const char *const codes[] = {
		"\033[0m", "\033[1;31m", "\033[32m", "\033[33m", "\033[1;35m", "\033[2m", "\033[1m",
	};

	if (t->colour)
		g_string_append(t->out, codes[p]);
}

static enum paint paint_of(enum result result)
{
	static const enum paint colours[] = {
		[RESULT_NONE] = DIM, [RESULT_PASS] = GREEN, [RESULT_FAIL] = RED,
		[RESULT_BROKEN] = MAGENTA, [RESULT_SKIP] = YELLOW,
	};

	return colours[result];
}

static void heading(struct text *t, const char *s)
{
	g_string_append_c(t->out, '\n');
	paint(t, BOLD);
	g_string_append(t->out, s);
	paint(t, PLAIN);
	g_string_append_c(t->out, '\n');
}

static void para(struct text *t, int indent, const char *s)
{
	char *clean = mmg_clean(s, -1, REASON_MAX);

	g_strdelimit(clean, "\t", ' ');
	text_wrap(t->out, clean, indent, t->width);
	g_string_append_c(t->out, '\n');
	g_free(clean);
}

static void G_GNUC_PRINTF(3, 4) paraf(struct text *t, int indent, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	para(t, indent, s);
	g_free(s);
}

static void head(struct text *t)
{
	json_t *run = t->r->run, *host = json_object_get(run, "host");
	const char *why = obj_str(host, "accel_reason");

	paraf(t, 0, "mmgate %s %s, run %s: QEMU %s, %s%s%s%s", obj_str(json_object_get(run, "tool"),
	      "version"), obj_str(run, "verb"), obj_str(run, "id"), obj_str(host, "qemu"),
	      obj_str(host, "accel"), *why ? " (" : "", why, *why ? ")" : "");
	if (!json_is_true(json_object_get(run, "complete")))
		para(t, 0, "The run was not completed: what follows is partial.");
}

/* Said once for neighbours that mean the same */
static void meaning(struct text *t, const struct rep_case *c)
{
	const char *means = rep_meaning(c);

	if (means && means != t->said)
		paraf(t, 6, "means: %s", means);
	t->said = means;
}

static void failure(struct text *t, const struct rep_row *row, size_t k)
{
	const struct rep_cell *cell = &row->cells[k];
	const struct rep_case *c = rep_cell_case(cell);
	char *name = mmg_clean(row->name, -1, 200), *text = rep_cell_text(cell);
	char *place = g_strdup_printf("on %s, machine %s", rep_label(t->r, k),
				      *row->machine ? row->machine : "host");
	char *where = mmg_clean(place, -1, 120);

	g_string_append(t->out, "  ");
	paint(t, paint_of(c->result));
	g_string_append(t->out, text);
	paint(t, PLAIN);
	g_string_append_c(t->out, ' ');
	paint(t, BOLD);
	g_string_append(t->out, name);
	paint(t, PLAIN);
	if (4 + text_width(text) + text_width(name) + text_width(where) > t->width)
		g_string_append(t->out, "\n     ");
	g_string_append_printf(t->out, " %s\n", where);
	if (*c->reason)
		para(t, 6, c->reason);
	meaning(t, c);
	if (*c->allowed)
		paraf(t, 6, "known issue: %s", c->allowed);
	g_free(where);
	g_free(place);
	g_free(name);
	g_free(text);
}

static void failures(struct text *t, enum result result, const char *title)
{
	int n = 0;

	for (guint i = 0; i < t->r->rows->len; i++) {
		struct rep_row *row = t->r->rows->pdata[i];

		for (size_t k = 0; k < t->r->nr_kernels; k++) {
			if (rep_cell_result(&row->cells[k]) != result)
				continue;
			if (!n++)
				heading(t, title);
			if (n <= FAILURES_MAX)
				failure(t, row, k);
		}
	}
	if (n > FAILURES_MAX)
		paraf(t, 2, "and %d more, see the table", n - FAILURES_MAX);
}

static void dead_boots(struct text *t)
{
	int n = 0;

	for (guint i = 0; i < t->r->boots->len; i++) {
		const struct rep_boot *b = t->r->boots->pdata[i];

		if (b->state == STATE_STOPPED || (b->state == STATE_GOODBYE && b->complete))
			continue;
		if (!n++)
			heading(t, "Boots that did not end well");
		if (n <= FAILURES_MAX)
			paraf(t, 2, "%s on %s, machine %s: %s (console: %s/%s/console.log)", b->word,
			      rep_label(t->r, b->kernel), b->machine, b->reason, t->r->dir, b->dir);
	}
	if (n > FAILURES_MAX)
		paraf(t, 2, "and %d more", n - FAILURES_MAX);
}

/* A line of the table: cells added up where it stands for a whole test */
struct line {
	char *name;
	char *machine;
	struct rep_row *row;	/* or NULL */
	char **texts;
	enum result *results;
};

static void line_free(void *data)
{
	struct line *l = data;

	g_free(l->name);
	g_free(l->machine);
	g_strfreev(l->texts);
	g_free(l->results);
	g_free(l);
}

static struct line *line_new(struct text *t, const struct rep_row *row, char *name)
{
	struct line *l = g_new0(struct line, 1);

	l->name = name;
	l->machine = mmg_clean(*row->machine ? row->machine : "host", -1, 40);
	l->texts = g_new0(char *, t->r->nr_kernels + 1);
	l->results = g_new0(enum result, t->r->nr_kernels + 1);
	return l;
}

static struct line *line_of_row(struct text *t, const struct rep_row *row)
{
	struct line *l = line_new(t, row, mmg_clean(row->name, -1, 200));

	for (size_t k = 0; k < t->r->nr_kernels; k++) {
		l->texts[k] = rep_cell_text(&row->cells[k]);
		l->results[k] = rep_cell_result(&row->cells[k]);
	}
	return l;
}

/* Do all cells of @row say the same as those of @first, and nothing bad? */
static bool same_and_well(struct text *t, const struct rep_row *row, const struct rep_row *first)
{
	if (strcmp(row->test, first->test) || strcmp(row->machine, first->machine))
		return false;
	for (size_t k = 0; k < t->r->nr_kernels; k++) {
		enum result result = rep_cell_result(&row->cells[k]);

		if (result_bad(result) || result != rep_cell_result(&first->cells[k]))
			return false;
	}
	return true;
}

static struct line *line_of_test(struct text *t, guint from, guint to)
{
	struct rep_row *first = t->r->rows->pdata[from];
	char *test = mmg_clean(first->test, -1, 200);
	struct line *l = line_new(t, first, g_strdup_printf("%s (%u cases)", test, to - from));

	g_free(test);
	for (size_t k = 0; k < t->r->nr_kernels; k++) {
		struct rep_cell sum = { .cases = first->cells[k].cases };

		for (guint i = from; i < to; i++) {
			struct rep_cell *c = &((struct rep_row *)t->r->rows->pdata[i])->cells[k];

			if (c->has_auc && (!sum.has_auc || c->auc_min < sum.auc_min))
				sum.auc_min = c->auc_min;
			sum.has_auc |= c->has_auc;
		}
		l->results[k] = rep_cell_result(&first->cells[k]);
		l->texts[k] = sum.has_auc ?
			      g_strdup_printf("%s >=%.2f", result_name(l->results[k]), sum.auc_min) :
			      g_strdup(l->results[k] == RESULT_NONE ? "-" : result_name(l->results[k]));
	}
	return l;
}

static GPtrArray *table_lines(struct text *t)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(line_free), *rows = t->r->rows;
	bool fold = rows->len > ROWS_FOLDED;

	for (guint i = 0; i < rows->len;) {
		guint to = i + 1;

		while (fold && to < rows->len && same_and_well(t, rows->pdata[to], rows->pdata[i]) &&
		       same_and_well(t, rows->pdata[i], rows->pdata[i]))
			to++;
		g_ptr_array_add(lines, to - i > 2 ? line_of_test(t, i, to) :
						    line_of_row(t, rows->pdata[i]));
		i = to - i > 2 ? to : i + 1;
	}
	return lines;
}

static void table_part(struct text *t, GPtrArray *lines, size_t from, size_t to, int wn, int wm,
		       const int *wk)
{
	g_string_append(t->out, "  ");
	paint(t, DIM);
	text_pad(t->out, "test", wn);
	text_pad(t->out, "machine", wm);
	paint(t, PLAIN);
	for (size_t k = from; k < to; k++) {
		char *label = mmg_clean(rep_label(t->r, k), -1, 40);

		paint(t, BOLD);
		text_pad(t->out, label, k + 1 < to ? wk[k] : 0);
		paint(t, PLAIN);
		g_free(label);
	}
	g_string_append_c(t->out, '\n');
	for (guint i = 0; i < lines->len; i++) {
		struct line *l = lines->pdata[i];

		g_string_append(t->out, "  ");
		text_pad(t->out, l->name, wn);
		text_pad(t->out, l->machine, wm);
		for (size_t k = from; k < to; k++) {
			paint(t, paint_of(l->results[k]));
			text_pad(t->out, l->texts[k], k + 1 < to ? wk[k] : 0);
			paint(t, PLAIN);
		}
		g_string_append_c(t->out, '\n');
	}
}

static void table(struct text *t)
{
	GPtrArray *lines = table_lines(t);
	int wn = 6, wm = 9, *wk = g_new0(int, t->r->nr_kernels + 1);
	size_t k = 0;

	for (guint i = 0; i < lines->len; i++) {
		struct line *l = lines->pdata[i];

		wn = MAX(wn, text_width(l->name) + 2);
		wm = MAX(wm, text_width(l->machine) + 2);
		for (size_t j = 0; j < t->r->nr_kernels; j++)
			wk[j] = MAX(wk[j], text_width(l->texts[j]) + 2);
	}
	if (lines->len)
		heading(t, "Results");
	while (lines->len && k < t->r->nr_kernels) {
		size_t from = k;
		int used = 2 + wn + wm;

		do {
			char *label = mmg_clean(rep_label(t->r, k), -1, 40);

			wk[k] = MAX(wk[k], text_width(label) + 2);
			g_free(label);
			used += wk[k++];
		} while (k < t->r->nr_kernels && used + wk[k] <= t->width);
		if (from)
			g_string_append_c(t->out, '\n');
		table_part(t, lines, from, k, wn, wm, wk);
	}
	g_ptr_array_unref(lines);
	g_free(wk);
}

struct reason {
	const char *text;
	int n;
	const char *example;
	bool many;		/* more than one name */
};

static int by_count(const void *a, const void *b)
{
	const struct reason *x = *(void *const *)a, *y = *(void *const *)b;

	return x->n != y->n ? y->n - x->n : strcmp(x->text, y->text);
}

static void skips(struct text *t)
{
	GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *reasons = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < t->r->cases->len; i++) {
		const struct rep_case *c = t->r->cases->pdata[i];
		const char *why = c->reason;
		struct reason *re;

		if (c->result != RESULT_SKIP)
			continue;
		if (!*why)
			why = "no reason given";
		re = g_hash_table_lookup(index, why);
		if (!re) {
			re = g_new0(struct reason, 1);
			re->text = why;
			re->example = c->name;
			g_hash_table_insert(index, (char *)why, re);
			g_ptr_array_add(reasons, re);
		}
		re->n++;
		re->many |= strcmp(re->example, c->name) != 0;
	}
	g_ptr_array_sort(reasons, by_count);
	if (reasons->len) {
		char *title = g_strdup_printf("Skipped: %d", t->r->skip);

		heading(t, title);
		g_free(title);
	}
	for (guint j = 0; j < reasons->len && j < FAILURES_MAX; j++) {
		struct reason *re = reasons->pdata[j];

		paraf(t, 2, "%d x %s (%s%s)", re->n, re->text, re->example,
		      re->many ? " and others" : "");
	}
	g_ptr_array_unref(reasons);
	g_hash_table_unref(index);
}

static void splats(struct text *t)
{
	int n = 0;

	for (guint i = 0; i < t->r->boots->len; i++) {
		const struct rep_boot *b = t->r->boots->pdata[i];
		const struct rep_splat *s;

		for (guint j = 0; (s = rep_splat(b, j)); j++) {
			if (!n++)
				heading(t, "Splats");
			if (n > FAILURES_MAX)
				continue;
			g_string_append(t->out, "  ");
			paint(t, *s->allowed ? YELLOW : RED);
			g_string_append(t->out, *s->allowed ? "allowed " : "SPLAT ");
			paint(t, PLAIN);
			paraf(t, 0, "%s", s->title);
			paraf(t, 6, "%s%s on %s, machine %s, %lld time(s), fingerprint %s%s%s",
			      *s->test ? "during " : "outside any test", s->test,
			      rep_label(t->r, b->kernel), b->machine, (long long)s->count,
			      s->fingerprint, *s->allowed ? ", " : "", s->allowed);
		}
	}
	if (n > FAILURES_MAX)
		paraf(t, 2, "and %d more", n - FAILURES_MAX);
}

static void requires(struct text *t)
{
	json_t *q;
	size_t i;
	int n = 0;

	json_array_foreach(json_object_get(t->r->run, "requires"), i, q) {
		if (obj_bool(q, "ran"))
			continue;
		if (!n++)
			heading(t, "Required, but did not run");
		para(t, 2, obj_str(q, "glob"));
	}
}

static void known(struct text *t)
{
	json_t *k;
	size_t i;
	int n = 0;

	json_array_foreach(json_object_get(t->r->run, "known_issues"), i, k) {
		if (!n++)
			heading(t, "Known issues");
		para(t, 2, obj_str(k, "note"));
	}
}

static void past(struct text *t)
{
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(t->r->run, "past"), i, e) {
		if (!i)
			heading(t, "Beside the last runs");
		para(t, 2, obj_str(e, "note"));
	}
}

static void counts(struct text *t)
{
	char *time = text_seconds(obj_num(t->r->run, "duration_s"));

	g_string_append_c(t->out, '\n');
	paraf(t, 0, "%d pass, %d fail, %d broken, %d skip%s in %s; everything is in %s", t->r->pass,
	      t->r->fail, t->r->broken, t->r->skip,
	      t->r->splats == 1 ? ", 1 splat" : t->r->splats ? ", splats" : "", time, t->r->dir);
	g_free(time);
}

static int width_of(FILE *to)
{
	struct winsize ws;
	int n = WIDTH_PLAIN;

	if (!ioctl(fileno(to), TIOCGWINSZ, &ws) && ws.ws_col)
		n = ws.ws_col;
	return CLAMP(n, 60, WIDTH_MAX);
}

/**
 * report_text() - print the report that people read first
 * @run: run.json
 * @dir: its folder
 * @to: where to print
 * @colour: with colours
 * @err: where @run is malformed or @to cannot be written
 *
 * Return: false with *@err.
 */
bool report_text(json_t *run, const char *dir, FILE *to, bool colour, GError **err)
{
	struct text t = { .colour = colour, .width = width_of(to) };
	char *token = NULL;
	bool ok;

	t.r = rep_new(run, dir, err);
	if (!t.r)
		return false;
	t.out = g_string_new(NULL);
	/* GitHub takes orders from any line, also from those that quote the guest */
	if (!g_strcmp0(g_getenv("GITHUB_ACTIONS"), "true")) {
		token = g_uuid_string_random();
		g_string_append_printf(t.out, "::stop-commands::%s\n", token);
	}
	head(&t);
	failures(&t, RESULT_FAIL, "Failures");
	failures(&t, RESULT_BROKEN, "Broken experiments");
	dead_boots(&t);
	table(&t);
	skips(&t);
	splats(&t);
	requires(&t);
	known(&t);
	past(&t);
	counts(&t);
	if (token)
		g_string_append_printf(t.out, "::%s::\n", token);
	g_free(token);
	ok = fwrite(t.out->str, 1, t.out->len, to) == t.out->len && !fflush(to);
	if (!ok)
		mmg_set_error(err, MMG_EXIT_BROKEN, "printing the report: %s", g_strerror(errno));
	g_string_free(t.out, TRUE);
	rep_free(t.r);
	return ok;
}
