// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.html: one file that needs no network and runs no script.
 */
#include "report/report.h"

#include <string.h>

#define FAILURES_MAX	200	/* told in full */
#define OPEN_ROWS	60	/* a matrix of up to so many rows is shown unfolded */
#define CONSOLE_BAD	(64 * 1024)
#define CONSOLE_GOOD	(6 * 1024)
#define CONSOLE_ALL	(3 * 1024 * 1024)
#define LINE_BYTES	2000

struct page {
	struct rep *r;
	struct figures *figures;
	struct html *h;
	GHashTable *failure_ids;	/* struct rep_cell * to its number + 1 */
	gsize console_left[2];		/* bytes of the consoles of bad and of good boots */
};

static const char *verdict_class(const json_t *run)
{
	enum result verdict = obj_verdict(run);

	return result_name(verdict == RESULT_NONE ? RESULT_BROKEN : verdict);
}

static void section(struct page *p, const char *id, const char *title)
{
	html_open(p->h, "section", NULL);
	html_attr(p->h, "id", "%s", id);
	html_element(p->h, "h2", NULL, title);
}

static void count(struct page *p, int n, enum result result)
{
	html_elementf(p->h, "span", result_name(result), "%d %s", n, result_name(result));
}

static void head(struct page *p)
{
	const json_t *run = p->r->run, *host = json_object_get(run, "host");
	g_autofree char *verdict = g_ascii_strup(obj_str(run, "verdict"), -1);
	g_autofree char *time = text_seconds(obj_num(run, "duration_s"));
	const char *why = obj_str(host, "accel_reason");

	html_open(p->h, "header", NULL);
	html_elementf(p->h, "h1", NULL, "mmgate %s %s", obj_str(run, "verb"), obj_str(run, "id"));
	html_open(p->h, "div", NULL);
	html_attr(p->h, "class", "verdict %s", verdict_class(run));
	html_element(p->h, "b", NULL, verdict);
	html_text(p->h, " %s", rep_reason(run));
	html_close(p->h);
	html_elementf(p->h, "p", "soft", "%s, %s, QEMU %s, %s%s%s%s", obj_str(run, "started"), time,
		      obj_str(host, "qemu"), obj_str(host, "accel"), *why ? " (" : "", why, *why ? ")" : "");
	if (!obj_bool(run, "complete"))
		html_element(p->h, "p", "verdict broken", "The run was not completed: what follows is partial.");
	html_open(p->h, "div", "counts");
	count(p, p->r->pass, RESULT_PASS);
	count(p, p->r->fail, RESULT_FAIL);
	count(p, p->r->broken, RESULT_BROKEN);
	count(p, p->r->skip, RESULT_SKIP);
	html_elementf(p->h, "span", NULL, "%d splat%s", p->r->splats, p->r->splats == 1 ? "" : "s");
	if (p->r->compared)
		html_element(p->h, "span", "soft", "on all kernels, also those that must fail");
	html_close(p->h);
	html_close(p->h);
}

/* ---- failures ---- */

static void metrics(struct page *p, const struct rep_case *c)
{
	const char *key;
	json_t *v;
	int n = 0;

	json_object_foreach(c->metrics, key, v) {
		if (!json_is_number(v) || n++ >= 24)
			continue;
		if (n == 1)
			html_open(p->h, "p", NULL);
		html_text(p->h, "%s%.200s %g", n == 1 ? "" : ", ", key, json_number_value(v));
	}
	if (n)
		html_close(p->h);
}

static void diagnostics(struct page *p, const struct rep_case *c)
{
	json_t *v;
	size_t i;

	if (!json_array_size(c->diag))
		return;
	html_details(p->h, false, "What the test said");
	html_open(p->h, "pre", NULL);
	json_array_foreach((json_t *)c->diag, i, v)
		if (i < 100 && json_is_string(v))
			html_text(p->h, "%.2000s\n", json_string_value(v));
	html_close(p->h);
	html_close(p->h);
}

static void failure(struct page *p, const struct rep_row *row, size_t k, int id)
{
	const struct rep_cell *cell = &row->cells[k];
	const struct rep_case *c = rep_cell_case(cell);
	g_autofree char *text = rep_cell_text(cell);
	const char *means = rep_meaning(c);
	int figure = figures_of_case(p->figures, c);

	html_open(p->h, "article", NULL);
	html_attr(p->h, "id", "e%d", id);
	html_open(p->h, "h3", NULL);
	html_element(p->h, "span", result_name(c->result), text);
	html_text(p->h, " %s", row->name);
	html_close(p->h);
	html_elementf(p->h, "p", NULL, "On %s, machine %s: %s", rep_label(p->r, k), row->machine, c->reason);
	if (means) {
		html_open(p->h, "p", NULL);
		html_element(p->h, "b", NULL, "Means:");
		html_text(p->h, " %s", means);
		html_close(p->h);
	}
	metrics(p, c);
	if (*c->allowed)
		html_elementf(p->h, "p", "note", "Allowed by known issue %s.", c->allowed);
	diagnostics(p, c);
	html_open(p->h, "p", NULL);
	if (figure >= 0) {
		html_link(p->h, "picture", "#f%d", figure);
		html_text(p->h, " ");
	}
	if (c->boot)
		html_link(p->h, "console", "#b%zu", c->boot->nr);
	html_close(p->h);
	html_close(p->h);
}

/* A kernel that is there to fail: base of a gate, mutant */
static bool meant_to_fail(const struct page *p, size_t k)
{
	const char *role = p->r->kernels[k].role;

	return p->r->compared && (!strcmp(role, "base") || !strcmp(role, "mutant"));
}

/* Number what failed, so that the matrix can point to it */
static int number_failures(struct page *p)
{
	static const enum result bad[] = { RESULT_FAIL, RESULT_BROKEN };
	int n = 0;

	for (gsize w = 0; w < G_N_ELEMENTS(bad); w++) {
		for (guint i = 0; i < p->r->rows->len; i++) {
			struct rep_row *row = p->r->rows->pdata[i];

			for (size_t k = 0; k < p->r->nr_kernels; k++)
				if (rep_cell_result(&row->cells[k]) == bad[w] &&
				    !meant_to_fail(p, k) && n < FAILURES_MAX)
					g_hash_table_insert(p->failure_ids, &row->cells[k],
							    GINT_TO_POINTER(++n));
		}
	}
	return n;
}

static void failures(struct page *p)
{
	static const enum result bad[] = { RESULT_FAIL, RESULT_BROKEN };
	int all = 0;

	section(p, "failures", "What went wrong");
	for (gsize w = 0; w < G_N_ELEMENTS(bad); w++) {
		for (guint i = 0; i < p->r->rows->len; i++) {
			struct rep_row *row = p->r->rows->pdata[i];

			for (size_t k = 0; k < p->r->nr_kernels; k++) {
				int id = GPOINTER_TO_INT(g_hash_table_lookup(p->failure_ids,
									     &row->cells[k]));

				if (rep_cell_result(&row->cells[k]) != bad[w] ||
				    meant_to_fail(p, k))
					continue;
				all++;
				if (id)
					failure(p, row, k, id);
			}
		}
	}
	if (all > FAILURES_MAX)
		html_elementf(p->h, "p", "note", "%d more are in the matrix.", all - FAILURES_MAX);
	if (!all)
		html_element(p->h, "p", NULL, p->r->compared ?
			     "No case failed or broke on a kernel that must pass." :
			     "No case failed or broke.");
	html_close(p->h);
}

/* ---- the matrix ---- */

static bool row_is_ok(const struct page *p, const struct rep_row *row)
{
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		if (row->cells[k].fail || row->cells[k].broken || row->cells[k].skip)
			return false;
	return true;
}

static void matrix_cell(struct page *p, const struct rep_cell *cell)
{
	enum result result = rep_cell_result(cell);
	g_autofree char *text = rep_cell_text(cell);
	int id = GPOINTER_TO_INT(g_hash_table_lookup(p->failure_ids, cell));
	const struct rep_case *c = rep_cell_case(cell);
	int figure = c ? figures_of_case(p->figures, c) : -1;

	html_open(p->h, "td", NULL);
	html_attr(p->h, "class", "res %s", result_name(result));
	if (result == RESULT_SKIP)
		html_attr(p->h, "title", "%.500s", c->reason);
	if (id)
		html_link(p->h, text, "#e%d", id);
	else if (figure >= 0)
		html_link(p->h, text, "#f%d", figure);
	else
		html_text(p->h, "%s", text);
	html_close(p->h);
}

static void matrix_row(struct page *p, const struct rep_row *row)
{
	const char *name = row->name + strlen(row->test);

	html_open(p->h, "tr", row_is_ok(p, row) ? "ok" : NULL);
	html_element(p->h, "td", NULL, *name == '/' && name[1] ? name + 1 : row->name);
	html_element(p->h, "td", NULL, *row->machine ? row->machine : "host");
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		matrix_cell(p, &row->cells[k]);
	html_close(p->h);
}

static void matrix_test(struct page *p, guint from, guint to)
{
	struct rep_row *first = p->r->rows->pdata[from];
	g_autoptr(GPtrArray) heads = g_ptr_array_new();
	bool ok = true;
	int n = 0;

	for (guint i = from; i < to; i++) {
		struct rep_row *row = p->r->rows->pdata[i];

		ok &= row_is_ok(p, row);
		for (size_t k = 0; k < p->r->nr_kernels; k++)
			n += row->cells[k].fail + row->cells[k].broken;
	}
	html_open(p->h, "details", ok ? "ok" : NULL);
	if (n || p->r->rows->len <= OPEN_ROWS)
		html_attr(p->h, "open", "open");
	html_open(p->h, "summary", NULL);
	html_element(p->h, "b", NULL, first->test);
	html_text(p->h, " %u line%s%s", to - from, to - from == 1 ? "" : "s", n ? ", " : "");
	if (n)
		html_elementf(p->h, "span", result_name(RESULT_FAIL), "%d not good", n);
	html_close(p->h);
	g_ptr_array_add(heads, "case");
	g_ptr_array_add(heads, "machine");
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		g_ptr_array_add(heads, (char *)rep_label(p->r, k));
	g_ptr_array_add(heads, NULL);
	html_table(p->h, NULL, (const char *const *)heads->pdata);
	for (guint i = from; i < to; i++)
		matrix_row(p, p->r->rows->pdata[i]);
	html_table_end(p->h);
	html_close(p->h);
}

static int by_test(const void *a, const void *b)
{
	const struct rep_row *x = *(void *const *)a, *y = *(void *const *)b;

	return strcmp(x->test, y->test);
}

static void matrix(struct page *p)
{
	GPtrArray *rows = p->r->rows;

	section(p, "matrix", "Results");
	html_open(p->h, "input", NULL);
	html_attr(p->h, "type", "checkbox");
	html_attr(p->h, "id", "only");
	html_close(p->h);
	html_open(p->h, "label", NULL);
	html_attr(p->h, "for", "only");
	html_text(p->h, "only what is not a pass");
	html_close(p->h);
	html_open(p->h, "div", "matrix");
	g_ptr_array_sort(rows, by_test);
	for (guint i = 0; i < rows->len;) {
		guint to = i + 1;

		while (to < rows->len && !by_test(&rows->pdata[i], &rows->pdata[to]))
			to++;
		matrix_test(p, i, to);
		i = to;
	}
	html_close(p->h);
	html_close(p->h);
}

/* ---- skips, splats, known issues ---- */

static void skips(struct page *p)
{
	g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) reasons = g_ptr_array_new();
	json_t *q;
	size_t n;

	for (guint i = 0; i < p->r->cases->len; i++) {
		const struct rep_case *c = p->r->cases->pdata[i];
		const char *why = *c->reason ? c->reason : "no reason given";

		if (c->result != RESULT_SKIP)
			continue;
		if (!g_hash_table_contains(index, why))
			g_ptr_array_add(reasons, (char *)why);
		g_hash_table_insert(index, (char *)why, GINT_TO_POINTER(
				    GPOINTER_TO_INT(g_hash_table_lookup(index, why)) + 1));
	}
	section(p, "skips", "Skipped");
	html_open(p->h, "ul", NULL);
	for (guint j = 0; j < reasons->len && j < 100; j++)
		html_elementf(p->h, "li", NULL, "%d: %.2000s",
			      GPOINTER_TO_INT(g_hash_table_lookup(index, reasons->pdata[j])),
			      (char *)reasons->pdata[j]);
	if (!reasons->len)
		html_element(p->h, "li", NULL, "Nothing was skipped.");
	json_array_foreach(json_object_get(p->r->run, "requires"), n, q) {
		if (obj_bool(q, "ran"))
			continue;
		html_open(p->h, "li", NULL);
		html_element(p->h, "span", result_name(RESULT_FAIL), "required, but did not run:");
		html_text(p->h, " %s", obj_str(q, "glob"));
		html_close(p->h);
	}
	html_close(p->h);
	html_close(p->h);
}

static void splat(struct page *p, const struct rep_boot *b, const struct rep_splat *s)
{
	html_open(p->h, "article", NULL);
	html_open(p->h, "h3", NULL);
	html_element(p->h, "span", result_name(*s->allowed ? RESULT_SKIP : RESULT_FAIL), s->kind);
	html_text(p->h, " %.1000s", s->title);
	html_close(p->h);
	html_open(p->h, "p", NULL);
	html_text(p->h, "On %s, machine %s, %s%s; %lld time(s); fingerprint %s.", rep_label(p->r, b->kernel),
		  b->machine, *s->test ? "during " : "outside any test", s->test, (long long)s->count,
		  s->fingerprint);
	if (*s->allowed)
		html_text(p->h, " Allowed: %s.", s->allowed);
	html_text(p->h, " ");
	html_link(p->h, "console", "#b%zu", b->nr);
	html_close(p->h);
	html_details(p->h, false, "Text");
	html_elementf(p->h, "pre", NULL, "%.20000s", s->text);
	html_close(p->h);
	html_close(p->h);
}

static void splats(struct page *p)
{
	section(p, "splats", "Kernel splats");
	if (!(p->r->splats + p->r->splats_allowed))
		html_element(p->h, "p", NULL, "None.");
	for (guint i = 0; i < p->r->boots->len; i++) {
		const struct rep_splat *s;

		for (guint j = 0; (s = rep_splat(p->r->boots->pdata[i], j)); j++)
			splat(p, p->r->boots->pdata[i], s);
	}
	html_close(p->h);
}

static void known(struct page *p)
{
	json_t *list = json_object_get(p->r->run, "known_issues"), *k;
	size_t i;

	if (!json_array_size(list))
		return;
	section(p, "known", "Known issues");
	html_open(p->h, "ul", NULL);
	json_array_foreach(list, i, k) {
		const char *state = obj_str(k, "state");

		html_open(p->h, "li", NULL);
		html_element(p->h, "span", result_name(strcmp(state, "applied") ? RESULT_FAIL : RESULT_SKIP),
			     state);
		html_text(p->h, " %s", obj_str(k, "note"));
		html_close(p->h);
	}
	html_close(p->h);
	html_close(p->h);
}

/* ---- boots and where everything came from ---- */

/* A line of the console is marked where it is in the text of a splat of its boot */
static bool in_splat(const struct rep_boot *boot, const char *line)
{
	char *at = strstr(line, "] ");
	const char *text = g_strstrip(at && *line == '[' ? at + 2 : (char *)line);
	const struct rep_splat *s;

	if (strlen(text) < 8)
		return false;
	for (guint i = 0; (s = rep_splat(boot, i)); i++)
		if (strstr(s->text, text))
			return true;
	return false;
}

static void console_lines(struct page *p, const struct rep_boot *boot, const char *text, gsize len)
{
	const char *end = text + len;

	while (text < end) {
		const char *eol = memchr(text, '\n', end - text);
		gsize n = (eol ? eol : end) - text;
		char *line = mmg_clean(text, n, LINE_BYTES), *copy = g_strdup(line);

		if (in_splat(boot, copy))
			html_element(p->h, "mark", NULL, line);
		else
			html_text(p->h, "%s", line);
		html_text(p->h, "\n");
		g_free(copy);
		g_free(line);
		text += n + 1;
	}
}

static void console(struct page *p, const struct rep_boot *boot, bool good)
{
	gsize max = good ? CONSOLE_GOOD : CONSOLE_BAD, len = 0;
	g_autofree char *path = g_build_filename(boot->dir, "console.log", NULL), *text = NULL;

	max = MIN(max, p->console_left[good]);
	text = max ? rep_file(p->r, path, max, true, &len) : NULL;
	if (text && len) {
		p->console_left[good] -= len;
		html_details(p->h, false, len == max ? "Console, its end" : "Console");
		html_open(p->h, "pre", NULL);
		console_lines(p, boot, text, len);
		html_close(p->h);
		html_close(p->h);
	} else {
		html_elementf(p->h, "p", "note", "Console: %s%s", path, max ? " is empty or not there." : "");
	}
}

static void boot(struct page *p, const struct rep_boot *b)
{
	g_autofree char *reason = NULL, *time = text_seconds(b->duration_s), *hello = text_seconds(b->hello_s);
	enum result result = rep_boot_result(b, &reason);
	json_t *v;
	size_t n;

	html_open(p->h, "article", NULL);
	html_attr(p->h, "id", "b%zu", b->nr);
	html_open(p->h, "h3", NULL);
	html_element(p->h, "span", result_name(result), result_name(result));
	html_text(p->h, " %s, machine %s%s", rep_label(p->r, b->kernel), b->machine, b->repeat ? ", repeated" : "");
	html_close(p->h);
	html_elementf(p->h, "p", NULL, "%s. First word after %s, %s in all.", reason, hello, time);
	console(p, b, result == RESULT_PASS);
	html_details(p->h, false, "How it was started");
	html_open(p->h, "pre", NULL);
	json_array_foreach((json_t *)b->qemu, n, v)
		if (json_is_string(v))
			html_text(p->h, "%s%.1000s", n ? " " : "", json_string_value(v));
	html_text(p->h, "\n\ncommand line: %.2000s\ninitramfs: %s", b->append, b->initramfs_sha256);
	html_close(p->h);
	html_close(p->h);
	html_close(p->h);
}

static void boots(struct page *p)
{
	section(p, "boots", "Boots");
	for (guint i = 0; i < p->r->boots->len; i++)
		boot(p, p->r->boots->pdata[i]);
	html_close(p->h);
}

static void kernel_row(struct page *p, size_t k)
{
	const struct rep_kernel *o = &p->r->kernels[k];
	json_t *v;
	size_t i;

	html_open(p->h, "tr", NULL);
	html_element(p->h, "td", NULL, rep_label(p->r, k));
	html_element(p->h, "td", NULL, o->release);
	html_element(p->h, "td", NULL, o->arch);
	html_element(p->h, "td", NULL, o->spec);
	html_open(p->h, "td", NULL);
	json_array_foreach((json_t *)o->packages, i, v)
		if (json_is_string(v))
			html_text(p->h, "%s%s", i ? " " : "", json_string_value(v));
	html_close(p->h);
	html_element(p->h, "td", NULL, o->ksrc);
	html_element(p->h, "td", NULL, o->sha256);
	html_close(p->h);
}

/* A name of the list of origins; html_close() ends its value */
static void origin(struct page *p, const char *name)
{
	html_element(p->h, "dt", NULL, name);
	html_open(p->h, "dd", NULL);
}

static void origins(struct page *p)
{
	static const char *const heads[] = {
		"kernel", "release", "arch", "asked for as", "packages", "library from", "image SHA-256", NULL
	};
	const json_t *run = p->r->run, *host = json_object_get(run, "host");
	const json_t *boots = json_object_get(run, "boots");
	const json_t *last = json_array_get(boots, json_array_size(boots) - 1);
	json_t *v;
	size_t i;

	section(p, "origins", "Where this comes from");
	html_table(p->h, NULL, heads);
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		kernel_row(p, k);
	html_table_end(p->h);
	html_open(p->h, "dl", NULL);
	origin(p, "command");
	json_array_foreach(json_object_get(run, "command"), i, v)
		if (json_is_string(v))
			html_text(p->h, "%s%.500s", i ? " " : "", json_string_value(v));
	html_close(p->h);
	origin(p, "seed");
	html_text(p->h, "%lld%s", (long long)obj_int(run, "seed"), obj_int(last, "seed") > obj_int(run, "seed") ?
		  ", and one more in each run after the first" : "");
	html_close(p->h);
	origin(p, "host");
	html_text(p->h, "%s, %s, %lld CPUs, %lld MiB", obj_str(host, "kernel"), obj_str(host, "arch"),
		  (long long)obj_int(host, "cpus"), (long long)obj_int(host, "memory_mib"));
	html_close(p->h);
	origin(p, "mmgate");
	html_text(p->h, "%s", obj_str(json_object_get(run, "tool"), "version"));
	html_close(p->h);
	html_close(p->h);
	html_close(p->h);
}

/* ---- what other verbs add ---- */

/* Its series are pictures */
static void html_bench(struct html *h, const json_t *v)
{
	json_t *rest = json_copy((json_t *)v);

	json_object_del(rest, "series");
	html_value(h, rest, 0);
	json_decref(rest);
}

static void html_past(struct html *h, const json_t *v)
{
	json_t *e;
	size_t i;

	html_open(h, "ul", NULL);
	json_array_foreach(v, i, e)
		html_element(h, "li", NULL, obj_str(e, "note"));
	html_close(h);
}

static const struct {
	const char *key, *title, *about;
	void (*show)(struct html *h, const json_t *v);
} extras[] = {
	{ "gate", "Gate",
	  "Base and patched kernel side by side: what the series fixes, and what it breaks.",
	  html_gate },
	{ "mutants", "Mutants",
	  "Kernels broken on purpose: a test that lets one pass would miss that bug.", html_mutants },
	{ "bench", "Benchmark", "Workloads on each kernel.", html_bench },
	{ "past", "Beside the last runs",
	  "What the history says of these cases: at most ten earlier runs of each on the same machine.", html_past },
};

static void extra(struct page *p, gsize i)
{
	json_t *v = json_object_get(p->r->run, extras[i].key);

	if (!v || json_is_null(v))
		return;
	section(p, extras[i].key, extras[i].title);
	html_element(p->h, "p", NULL, extras[i].about);
	if (!strcmp(extras[i].key, "bench"))
		figures_bench(p->figures, p->h);
	extras[i].show(p->h, v);
	html_close(p->h);
}

static void link_to(struct page *p, const char *id, const char *title)
{
	html_link(p->h, title, "#%s", id);
	html_text(p->h, "\n");
}

static void nav(struct page *p)
{
	html_open(p->h, "nav", NULL);
	html_attr(p->h, "aria-label", "Sections");
	for (gsize i = 0; i < G_N_ELEMENTS(extras); i++) {
		json_t *v = json_object_get(p->r->run, extras[i].key);

		if (v && !json_is_null(v))
			link_to(p, extras[i].key, extras[i].title);
	}
	link_to(p, "failures", "What went wrong");
	link_to(p, "matrix", "Results");
	if (figures_have_order(p->figures))
		link_to(p, "order", "Eviction order");
	if (figures_have_zones(p->figures))
		link_to(p, "zones", "Zones");
	link_to(p, "skips", "Skipped");
	link_to(p, "splats", "Splats");
	if (json_array_size(json_object_get(p->r->run, "known_issues")))
		link_to(p, "known", "Known issues");
	link_to(p, "boots", "Boots");
	link_to(p, "origins", "Where this comes from");
	html_close(p->h);
}

static void body(struct page *p)
{
	number_failures(p);
	plots_defs(p->h);
	head(p);
	nav(p);
	html_open(p->h, "main", NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(extras); i++)
		extra(p, i);
	failures(p);
	matrix(p);
	if (figures_have_order(p->figures)) {
		section(p, "order", "Eviction order");
		figures_order(p->figures, p->h);
		html_close(p->h);
	}
	if (figures_have_zones(p->figures)) {
		section(p, "zones", "Zones");
		figures_zones(p->figures, p->h);
		html_close(p->h);
	}
	skips(p);
	splats(p);
	known(p);
	boots(p);
	origins(p);
	html_close(p->h);
}

static bool write_page(struct page *p, GError **err)
{
	g_autofree char *verdict = g_ascii_strup(obj_str(p->r->run, "verdict"), -1);
	g_autofree char *title = g_strdup_printf("mmgate %s: %s", obj_str(p->r->run, "id"), verdict);
	GString *text;
	bool ok;

	p->h = html_new(title, NULL);
	p->failure_ids = g_hash_table_new(NULL, NULL);
	body(p);
	text = html_finish(p->h);
	ok = rep_write(p->r, "report.html", text, err);
	g_hash_table_unref(p->failure_ids);
	g_string_free(text, TRUE);
	return ok;
}

/**
 * report_html() - write report.html
 * @run: run.json
 * @dir: its folder, which report.html is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_html(json_t *run, const char *dir, GError **err)
{
	struct page p = { .r = rep_new(run, dir, err), .console_left = { CONSOLE_ALL, CONSOLE_ALL / 3 } };
	bool ok;

	if (!p.r)
		return false;
	p.figures = figures_new(p.r);
	ok = figures_draw(p.figures, err) && write_page(&p, err);
	figures_free(p.figures);
	rep_free(p.r);
	return ok;
}
