// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.html: one file that needs no network and runs no script (its own
 * content policy forbids both, so that nothing that came from a guest can).
 */
#include "report/report.h"

#include <string.h>

#define FAILURES_MAX	200	/* told in full */
#define OPEN_ROWS	60	/* a matrix of up to so many rows is shown unfolded */
#define CONSOLE_BAD	(64 * 1024)
#define CONSOLE_GOOD	(6 * 1024)
#define CONSOLE_ALL	(3 * 1024 * 1024)
#define LINE_BYTES	2000

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c2228;--soft:#5c6670;--line:#d8dde2;"
	"--card:#f6f7f9;--pass:#1a7f4b;--fail:#c02c38;--broken:#8a3fb0;--skip:#8a6100;--link:#1f5fa8;"
	"--mark:#ffe2e2}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#dfe5ea;--soft:#9aa5af;"
	"--line:#343c44;--card:#1d2328;--pass:#5cc98d;--fail:#ff7b84;--broken:#cf95ee;--skip:#e0b04b;"
	"--link:#7fb4f0;--mark:#58202a}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.25rem;margin:2rem 0 .6rem;padding-bottom:"
	".2rem;border-bottom:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4rem 0 .4rem}\n"
	"a{color:var(--link)}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.8rem 0}\n"
	"nav a{padding:.3rem 0}\n"
	".soft,.alt,.note{color:var(--soft)}.alt,.note{font-size:.9rem;margin:.3rem 0}\n"
	".verdict{border-left:.5rem solid var(--soft);background:var(--card);padding:.7rem 1rem;margin:"
	".6rem 0}.verdict.pass{border-color:var(--pass)}.verdict.fail{border-color:var(--fail)}"
	".verdict.broken{border-color:var(--broken)}.verdict.skip{border-color:var(--skip)}\n"
	"span.pass,td.pass,td.pass a{color:var(--pass)}span.fail,td.fail,td.fail a{color:var(--fail);"
	"font-weight:600}span.broken,td.broken,td.broken a{color:var(--broken);font-weight:600}"
	"span.skip,td.skip{color:var(--skip)}td.none{color:var(--soft)}\n"
	".counts{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.5rem 0}\n"
	".scroll{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:.92rem;margin:"
	".4rem 0}th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:"
	"top;overflow-wrap:normal}thead th{background:var(--card)}.num{text-align:right;"
	"font-variant-numeric:tabular-nums}td.res{white-space:nowrap}\n"
	"article,figure{background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
	"padding:.7rem 1rem;margin:.8rem 0}article h3{margin:0 0 .3rem}article p{margin:.35rem 0}figure svg{width:100%;height:"
	"auto;max-width:60rem;display:block;margin:.4rem 0}figcaption{font-size:.95rem}\n"
	"svg.defs{position:absolute;width:0;height:0}\n"
	"details{margin:.3rem 0}summary{cursor:pointer;padding:.25rem 0}\n"
	"pre{background:var(--card);border:1px solid var(--line);padding:.6rem;overflow:auto;max-height:"
	"32rem;font:.8rem/1.4 ui-monospace,monospace;white-space:pre-wrap}\n"
	"mark{background:var(--mark);color:inherit}dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:.1rem 1rem;margin:.3rem 0}dt{color:var(--soft)}dd{margin:0;min-width:0}\n"
	"#only{margin:0 .4rem 0 0}#only:checked~.matrix tr.ok,#only:checked~.matrix details.ok"
	"{display:none}\n"
	"@media(max-width:40rem){body{padding:.6rem;font-size:15px}dl{grid-template-columns:1fr}"
	"dd{margin:0 0 .4rem}article,figure{padding:.5rem .6rem}figure{overflow-x:auto}"
	"figure svg{min-width:38rem}}\n"
	"@media print{details{display:block}pre{max-height:none}}\n";

struct page {
	struct rep *r;
	struct figures *figures;
	GString *out;
	GHashTable *failure_ids;	/* struct rep_cell * to its number + 1 */
	gsize console_left[2];		/* bytes of the consoles of bad and of good boots */
};

static void raw(struct page *p, const char *s)
{
	g_string_append(p->out, s);
}

static const char *verdict_class(const json_t *run)
{
	const char *class = html_class(obj_str(run, "verdict"));

	return class ? class : "broken";
}

void html_begin(GString *out, const char *title)
{
	g_string_append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	       "<meta name=\"referrer\" content=\"no-referrer\">\n"
	       "<link rel=\"icon\" href=\"data:,\">\n<title>");
	html_text(out, "%s", title);
	g_string_append(out, "</title>\n<style>\n");
	g_string_append(out, style);
	g_string_append(out, "</style>\n</head>\n<body>\n");
}

static void head(struct page *p)
{
	const json_t *run = p->r->run;
	char *verdict = g_ascii_strup(obj_str(run, "verdict"), -1);
	char *time = text_seconds(obj_num(run, "duration_s"));
	json_t *host = json_object_get(run, "host");

	g_autofree char *title = g_strdup_printf("mmgate %s: %s", obj_str(run, "id"), verdict);

	html_begin(p->out, title);
	raw(p, plots_defs());
	raw(p, "<header>\n<h1>");
	html_text(p->out, "mmgate %s %s", obj_str(run, "verb"), obj_str(run, "id"));
	g_string_append_printf(p->out, "</h1>\n<div class=\"verdict %s\"><b>", verdict_class(run));
	html_text(p->out, "%s", verdict);
	raw(p, "</b> ");
	html_text(p->out, "%s", rep_reason(run));
	raw(p, "</div>\n<p class=\"soft\">");
	html_text(p->out, "%s, %s, QEMU %s, %s%s%s%s", obj_str(run, "started"), time,
		  obj_str(host, "qemu"), obj_str(host, "accel"),
		  *obj_str(host, "accel_reason") ? " (" : "", obj_str(host, "accel_reason"),
		  *obj_str(host, "accel_reason") ? ")" : "");
	raw(p, "</p>\n");
	if (!obj_bool(run, "complete"))
		raw(p, "<p class=\"verdict broken\">The run was not completed: what follows is partial.</p>\n");
	g_string_append_printf(p->out, "<div class=\"counts\"><span class=\"pass\">%d pass</span><span class=\"fail\">%d fail</span><span class=\"broken\">%d broken</span><span class=\"skip\">%d skip</span><span>%d splat%s</span>%s</div>\n</header>\n",
			       p->r->pass, p->r->fail, p->r->broken, p->r->skip, p->r->splats, p->r->splats == 1 ? "" : "s",
			       p->r->compared ? "<span class=\"soft\">on all kernels, also those that must fail</span>" : "");
	g_free(verdict);
	g_free(time);
}

/* ---- failures ---- */

static void metrics(struct page *p, const json_t *c)
{
	const char *key;
	json_t *v;
	int n = 0;

	json_object_foreach(json_object_get(c, "metrics"), key, v) {
		if (!json_is_number(v) || n++ >= 24)
			continue;
		raw(p, n == 1 ? "<p>" : ", ");
		html_text(p->out, "%.200s %g", key, json_number_value(v));
	}
	if (n)
		raw(p, "</p>\n");
}

static void diagnostics(struct page *p, const json_t *c)
{
	json_t *list = json_object_get(c, "diag"), *v;
	size_t i;

	if (!json_array_size(list))
		return;
	raw(p, "<details><summary>What the test said</summary><pre>");
	json_array_foreach(list, i, v) {
		if (i >= 100 || !json_is_string(v))
			continue;
		html_text(p->out, "%.2000s\n", json_string_value(v));
	}
	raw(p, "</pre></details>\n");
}

static void failure(struct page *p, const struct rep_row *row, size_t k, int id)
{
	const struct rep_cell *cell = &row->cells[k];
	const char *word = rep_cell_word(cell), *means;
	const json_t *c = rep_cell_case(cell);
	char *text = rep_cell_text(cell);
	int figure = figures_of_case(p->figures, c);

	means = rep_meaning(p->r, c);
	g_string_append_printf(p->out, "<article id=\"e%d\">\n<h3>", id);
	html_element(p->out, "span", word, text);
	raw(p, " ");
	html_text(p->out, "%s", row->name);
	raw(p, "</h3>\n<p>");
	html_text(p->out, "On %s, machine %s: %s", rep_label(p->r, k), row->machine,
		  obj_str(c, "reason"));
	raw(p, "</p>\n");
	if (means) {
		raw(p, "<p><b>Means:</b> ");
		html_text(p->out, "%s", means);
		raw(p, "</p>\n");
	}
	metrics(p, c);
	if (*obj_str(c, "allowed")) {
		raw(p, "<p class=\"note\">");
		html_text(p->out, "Allowed by known issue %s.", obj_str(c, "allowed"));
		raw(p, "</p>\n");
	}
	diagnostics(p, c);
	raw(p, "<p>");
	if (figure >= 0)
		g_string_append_printf(p->out, "<a href=\"#f%d\">picture</a> ", figure);
	if (json_is_integer(json_object_get(c, "boot")) &&
	    json_array_get(p->r->boots, obj_int(c, "boot")))
		g_string_append_printf(p->out, "<a href=\"#b%lld\">console</a>",
				       (long long)obj_int(c, "boot"));
	raw(p, "</p>\n</article>\n");
	g_free(text);
}

/* A kernel that is there to fail: base of a gate, mutant */
static bool meant_to_fail(const struct page *p, size_t k)
{
	const char *role = obj_str(json_array_get(p->r->kernels, k), "role");

	return p->r->compared && (!strcmp(role, "base") || !strcmp(role, "mutant"));
}

/* Number what failed, so that the matrix can point to it */
static int number_failures(struct page *p)
{
	static const char *const words[] = { "fail", "broken" };
	int n = 0;

	for (gsize w = 0; w < G_N_ELEMENTS(words); w++) {
		for (guint i = 0; i < p->r->rows->len; i++) {
			struct rep_row *row = p->r->rows->pdata[i];

			for (size_t k = 0; k < p->r->nr_kernels; k++)
				if (!strcmp(rep_cell_word(&row->cells[k]), words[w]) &&
				    !meant_to_fail(p, k) && n < FAILURES_MAX)
					g_hash_table_insert(p->failure_ids, &row->cells[k],
							    GINT_TO_POINTER(++n));
		}
	}
	return n;
}

static void failures(struct page *p)
{
	static const char *const words[] = { "fail", "broken" };
	int all = 0;

	raw(p, "<section id=\"failures\"><h2>What went wrong</h2>\n");
	for (gsize w = 0; w < G_N_ELEMENTS(words); w++) {
		for (guint i = 0; i < p->r->rows->len; i++) {
			struct rep_row *row = p->r->rows->pdata[i];

			for (size_t k = 0; k < p->r->nr_kernels; k++) {
				int id = GPOINTER_TO_INT(g_hash_table_lookup(p->failure_ids,
									     &row->cells[k]));

				if (strcmp(rep_cell_word(&row->cells[k]), words[w]) ||
				    meant_to_fail(p, k))
					continue;
				all++;
				if (id)
					failure(p, row, k, id);
			}
		}
	}
	if (all > FAILURES_MAX)
		g_string_append_printf(p->out, "<p class=\"note\">%d more are in the matrix.</p>\n",
				       all - FAILURES_MAX);
	if (!all)
		raw(p, p->r->compared ? "<p>No case failed or broke on a kernel that must pass.</p>\n" :
		       "<p>No case failed or broke.</p>\n");
	raw(p, "</section>\n");
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
	const char *word = rep_cell_word(cell);
	char *text = rep_cell_text(cell);
	int id = GPOINTER_TO_INT(g_hash_table_lookup(p->failure_ids, cell)), figure = -1;
	const json_t *c = rep_cell_case(cell);

	if (c)
		figure = figures_of_case(p->figures, c);
	g_string_append_printf(p->out, "<td class=\"res %s\"", word);
	if (!strcmp(word, "skip")) {
		raw(p, " title=\"");
		html_text(p->out, "%.500s", obj_str(c, "reason"));
		raw(p, "\"");
	}
	raw(p, ">");
	if (id)
		g_string_append_printf(p->out, "<a href=\"#e%d\">", id);
	else if (figure >= 0)
		g_string_append_printf(p->out, "<a href=\"#f%d\">", figure);
	html_text(p->out, "%s", text);
	raw(p, id || figure >= 0 ? "</a></td>" : "</td>");
	g_free(text);
}

static void matrix_test(struct page *p, guint from, guint to)
{
	struct rep_row *first = p->r->rows->pdata[from];
	bool ok = true, bad = false;
	int n = 0;

	for (guint i = from; i < to; i++) {
		struct rep_row *row = p->r->rows->pdata[i];

		ok &= row_is_ok(p, row);
		for (size_t k = 0; k < p->r->nr_kernels; k++) {
			bad |= row->cells[k].fail || row->cells[k].broken;
			n += row->cells[k].fail + row->cells[k].broken;
		}
	}
	g_string_append_printf(p->out, "<details%s%s><summary><b>", ok ? " class=\"ok\"" : "",
			       bad || p->r->rows->len <= OPEN_ROWS ? " open" : "");
	html_text(p->out, "%s", first->test);
	raw(p, "</b> ");
	html_text(p->out, "%u line%s%s", to - from, to - from == 1 ? "" : "s", n ? ", " : "");
	if (n)
		g_string_append_printf(p->out, "<span class=\"fail\">%d not good</span>", n);
	raw(p, "</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">case</th><th scope=\"col\">machine</th>");
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		html_element(p->out, "th", NULL, rep_label(p->r, k));
	raw(p, "</tr></thead><tbody>\n");
	for (guint i = from; i < to; i++) {
		struct rep_row *row = p->r->rows->pdata[i];
		const char *name = row->name + strlen(row->test);

		g_string_append_printf(p->out, "<tr%s>", row_is_ok(p, row) ? " class=\"ok\"" : "");
		html_element(p->out, "td", NULL, *name == '/' && name[1] ? name + 1 : row->name);
		html_element(p->out, "td", NULL, *row->machine ? row->machine : "host");
		for (size_t k = 0; k < p->r->nr_kernels; k++)
			matrix_cell(p, &row->cells[k]);
		raw(p, "</tr>\n");
	}
	raw(p, "</tbody></table></div></details>\n");
}

static int by_test(const void *a, const void *b)
{
	const struct rep_row *x = *(void *const *)a, *y = *(void *const *)b;

	return strcmp(x->test, y->test);
}

static void matrix(struct page *p)
{
	GPtrArray *rows = p->r->rows;

	raw(p, "<section id=\"matrix\"><h2>Results</h2>\n<input type=\"checkbox\" id=\"only\"><label for=\"only\">only what is not a pass</label>\n<div class=\"matrix\">\n");
	g_ptr_array_sort(rows, by_test);
	for (guint i = 0; i < rows->len;) {
		guint to = i + 1;

		while (to < rows->len && !by_test(&rows->pdata[i], &rows->pdata[to]))
			to++;
		matrix_test(p, i, to);
		i = to;
	}
	raw(p, "</div></section>\n");
}

/* ---- skips, splats, known issues ---- */

static void skips(struct page *p)
{
	GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *reasons = g_ptr_array_new();
	json_t *c, *q;
	size_t i;

	json_array_foreach(p->r->cases, i, c) {
		const char *why = *obj_str(c, "reason") ? obj_str(c, "reason") : "no reason given";

		if (strcmp(obj_str(c, "result"), "skip"))
			continue;
		if (!g_hash_table_contains(index, why))
			g_ptr_array_add(reasons, (char *)why);
		g_hash_table_insert(index, (char *)why, GINT_TO_POINTER(
				    GPOINTER_TO_INT(g_hash_table_lookup(index, why)) + 1));
	}
	raw(p, "<section id=\"skips\"><h2>Skipped</h2>\n<ul>\n");
	for (guint j = 0; j < reasons->len && j < 100; j++) {
		raw(p, "<li>");
		html_text(p->out, "%d: %.2000s",
			  GPOINTER_TO_INT(g_hash_table_lookup(index, reasons->pdata[j])),
			  (char *)reasons->pdata[j]);
		raw(p, "</li>\n");
	}
	if (!reasons->len)
		raw(p, "<li>Nothing was skipped.</li>\n");
	json_array_foreach(json_object_get(p->r->run, "requires"), i, q) {
		if (obj_bool(q, "ran"))
			continue;
		raw(p, "<li><span class=\"fail\">required, but did not run:</span> ");
		html_text(p->out, "%s", obj_str(q, "glob"));
		raw(p, "</li>\n");
	}
	raw(p, "</ul></section>\n");
	g_ptr_array_unref(reasons);
	g_hash_table_unref(index);
}

static void splats(struct page *p)
{
	json_t *b, *s;
	size_t i, j;

	raw(p, "<section id=\"splats\"><h2>Kernel splats</h2>\n");
	if (!(p->r->splats + p->r->splats_allowed))
		raw(p, "<p>None.</p>\n");
	json_array_foreach(p->r->boots, i, b) {
		json_array_foreach(json_object_get(b, "splats"), j, s) {
			const char *allowed = obj_str(s, "allowed");

			raw(p, "<article><h3>");
			html_element(p->out, "span", *allowed ? "skip" : "fail",
				     obj_str(s, "kind"));
			raw(p, " ");
			html_text(p->out, "%.1000s", obj_str(s, "title"));
			raw(p, "</h3>\n<p>");
			html_text(p->out, "On %s, machine %s, %s%s; %lld time(s); fingerprint %s.",
				  rep_label(p->r, obj_int(b, "kernel")), obj_str(b, "machine"),
				  *obj_str(s, "test") ? "during " : "outside any test",
				  obj_str(s, "test"), (long long)obj_int(s, "count"),
				  obj_str(s, "fingerprint"));
			if (*allowed)
				html_text(p->out, " Allowed by known issue %s.", allowed);
			g_string_append_printf(p->out, " <a href=\"#b%zu\">console</a></p>\n<details><summary>Text</summary><pre>",
					       i);
			html_text(p->out, "%.20000s", obj_str(s, "text"));
			raw(p, "</pre></details></article>\n");
		}
	}
	raw(p, "</section>\n");
}

static void known(struct page *p)
{
	json_t *list = json_object_get(p->r->run, "known_issues"), *k;
	size_t i;

	if (!json_array_size(list))
		return;
	raw(p, "<section id=\"known\"><h2>Known issues</h2>\n<ul>\n");
	json_array_foreach(list, i, k) {
		raw(p, "<li>");
		html_element(p->out, "span", strcmp(obj_str(k, "state"), "applied") ? "fail" : "skip",
			     obj_str(k, "state"));
		raw(p, " ");
		html_text(p->out, "%s", obj_str(k, "note"));
		raw(p, "</li>\n");
	}
	raw(p, "</ul></section>\n");
}

/* ---- boots and where everything came from ---- */

/* A line of the console is marked where it is in the text of a splat of its boot */
static bool in_splat(const json_t *boot, const char *line)
{
	char *at = strstr(line, "] ");
	const char *text = g_strstrip(at && *line == '[' ? at + 2 : (char *)line);
	json_t *s;
	size_t i;

	if (strlen(text) < 8)
		return false;
	json_array_foreach(json_object_get(boot, "splats"), i, s)
		if (strstr(obj_str(s, "text"), text))
			return true;
	return false;
}

static void console_lines(struct page *p, const json_t *boot, const char *text, gsize len)
{
	const char *end = text + len;

	while (text < end) {
		const char *eol = memchr(text, '\n', end - text);
		gsize n = (eol ? eol : end) - text;
		char *line = mmg_clean(text, n, LINE_BYTES), *copy = g_strdup(line);

		if (in_splat(boot, copy))
			html_element(p->out, "mark", NULL, line);
		else
			html_text(p->out, "%s", line);
		raw(p, "\n");
		g_free(copy);
		g_free(line);
		text += n + 1;
	}
}

static void console(struct page *p, const json_t *boot, bool good)
{
	gsize max = good ? CONSOLE_GOOD : CONSOLE_BAD, len = 0;
	char *path = g_build_filename(obj_str(boot, "dir"), "console.log", NULL), *text;

	max = MIN(max, p->console_left[good]);
	text = max ? rep_file(p->r, path, max, true, &len) : NULL;
	if (text && len) {
		p->console_left[good] -= len;
		g_string_append_printf(p->out, "<details><summary>Console%s</summary><pre>",
				       len == max ? ", its end" : "");
		console_lines(p, boot, text, len);
		raw(p, "</pre></details>\n");
	} else {
		raw(p, "<p class=\"note\">");
		html_text(p->out, "Console: %s%s", path, max ? " is empty or not there." : "");
		raw(p, "</p>\n");
	}
	g_free(text);
	g_free(path);
}

static void boot(struct page *p, size_t i, const json_t *b)
{
	char *reason, *time = text_seconds(obj_num(b, "duration_s"));
	char *hello = text_seconds(obj_num(b, "hello_s"));
	const char *word = rep_boot_result(b, &reason);
	bool good = !strcmp(word, "pass");
	json_t *q = json_object_get(b, "qemu"), *v;
	size_t n;

	g_string_append_printf(p->out, "<article id=\"b%zu\"><h3>", i);
	html_element(p->out, "span", word, word);
	html_text(p->out, " %s, machine %s%s", rep_label(p->r, obj_int(b, "kernel")),
		  obj_str(b, "machine"), obj_int(b, "repeat") ? ", repeated" : "");
	raw(p, "</h3>\n<p>");
	html_text(p->out, "%s. First word after %s, %s in all.", reason, hello, time);
	raw(p, "</p>\n");
	console(p, b, good);
	raw(p, "<details><summary>How it was started</summary><pre>");
	json_array_foreach(q, n, v)
		if (json_is_string(v))
			html_text(p->out, "%s%.1000s", n ? " " : "", json_string_value(v));
	html_text(p->out, "\n\ncommand line: %.2000s\ninitramfs: %s", obj_str(b, "append"),
		  obj_str(b, "initramfs_sha256"));
	raw(p, "</pre></details></article>\n");
	g_free(reason);
	g_free(time);
	g_free(hello);
}

static void boots(struct page *p)
{
	json_t *b;
	size_t i;

	raw(p, "<section id=\"boots\"><h2>Boots</h2>\n");
	json_array_foreach(p->r->boots, i, b)
		boot(p, i, b);
	raw(p, "</section>\n");
}

static void kernel_row(struct page *p, size_t k)
{
	json_t *o = json_array_get(p->r->kernels, k), *v;
	GString *packages = g_string_new(NULL);
	size_t i;

	json_array_foreach(json_object_get(o, "packages"), i, v)
		if (json_is_string(v))
			g_string_append_printf(packages, "%s%s", i ? " " : "", json_string_value(v));
	raw(p, "<tr>");
	html_element(p->out, "td", NULL, rep_label(p->r, k));
	html_element(p->out, "td", NULL, obj_str(o, "release"));
	html_element(p->out, "td", NULL, obj_str(o, "arch"));
	html_element(p->out, "td", NULL, obj_str(o, "spec"));
	html_element(p->out, "td", NULL, packages->str);
	html_element(p->out, "td", NULL, obj_str(o, "ksrc"));
	html_element(p->out, "td", NULL, obj_str(o, "image_sha256"));
	raw(p, "</tr>\n");
	g_string_free(packages, TRUE);
}

static void origins(struct page *p)
{
	const json_t *run = p->r->run, *host = json_object_get(run, "host");
	const json_t *boots = json_object_get(run, "boots");
	const json_t *last = json_array_get(boots, json_array_size(boots) - 1);
	json_t *v;
	size_t i;

	raw(p, "<section id=\"origins\"><h2>Where this comes from</h2>\n<div class=\"scroll\"><table><thead><tr><th>kernel</th><th>release</th><th>arch</th><th>asked for as</th><th>packages</th><th>library from</th><th>image SHA-256</th></tr></thead><tbody>\n");
	for (size_t k = 0; k < p->r->nr_kernels; k++)
		kernel_row(p, k);
	raw(p, "</tbody></table></div>\n<dl><dt>command</dt><dd>");
	json_array_foreach(json_object_get(run, "command"), i, v)
		if (json_is_string(v))
			html_text(p->out, "%s%.500s", i ? " " : "", json_string_value(v));
	raw(p, "</dd><dt>seed</dt><dd>");
	html_text(p->out, "%lld%s", (long long)obj_int(run, "seed"),
		  obj_int(last, "seed") > obj_int(run, "seed") ?
		  ", and one more in each run after the first" : "");
	raw(p, "</dd><dt>host</dt><dd>");
	html_text(p->out, "%s, %s, %lld CPUs, %lld MiB", obj_str(host, "kernel"), obj_str(host, "arch"),
		  (long long)obj_int(host, "cpus"), (long long)obj_int(host, "memory_mib"));
	raw(p, "</dd><dt>mmgate</dt><dd>");
	html_text(p->out, "%s", obj_str(json_object_get(run, "tool"), "version"));
	raw(p, "</dd></dl></section>\n");
}

/* ---- what other verbs add ---- */

/* Its series are pictures */
static void html_bench(GString *out, const json_t *v)
{
	json_t *rest = json_copy((json_t *)v);

	json_object_del(rest, "series");
	html_value(out, rest, 0);
	json_decref(rest);
}

static void html_past(GString *out, const json_t *v)
{
	json_t *e;
	size_t i;

	g_string_append(out, "<ul>\n");
	json_array_foreach(v, i, e)
		html_element(out, "li", NULL, obj_str(e, "note"));
	g_string_append(out, "</ul>\n");
}

static const struct {
	const char *key, *title, *about;
	void (*show)(GString *out, const json_t *v);
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
	g_string_append_printf(p->out, "<section id=\"%s\"><h2>%s</h2>\n<p>%s</p>\n", extras[i].key,
			       extras[i].title, extras[i].about);
	if (!strcmp(extras[i].key, "bench"))
		figures_bench(p->figures, p->out);
	extras[i].show(p->out, v);
	raw(p, "</section>\n");
}

static void link_to(struct page *p, const char *id, const char *title)
{
	g_string_append_printf(p->out, "<a href=\"#%s\">%s</a>\n", id, title);
}

static void nav(struct page *p)
{
	raw(p, "<nav aria-label=\"Sections\">\n");
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
	raw(p, "</nav>\n<main>\n");
}

static void body(struct page *p)
{
	number_failures(p);
	head(p);
	nav(p);
	for (gsize i = 0; i < G_N_ELEMENTS(extras); i++)
		extra(p, i);
	failures(p);
	matrix(p);
	if (figures_have_order(p->figures)) {
		raw(p, "<section id=\"order\"><h2>Eviction order</h2>\n");
		figures_order(p->figures, p->out);
		raw(p, "</section>\n");
	}
	if (figures_have_zones(p->figures)) {
		raw(p, "<section id=\"zones\"><h2>Zones</h2>\n");
		figures_zones(p->figures, p->out);
		raw(p, "</section>\n");
	}
	skips(p);
	splats(p);
	known(p);
	boots(p);
	origins(p);
	raw(p, "</main>\n</body>\n</html>\n");
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
	ok = figures_draw(p.figures, err);
	if (ok) {
		p.out = g_string_new(NULL);
		p.failure_ids = g_hash_table_new(NULL, NULL);
		body(&p);
		ok = rep_write(p.r, "report.html", p.out, err);
		g_hash_table_unref(p.failure_ids);
		g_string_free(p.out, TRUE);
	}
	figures_free(p.figures);
	rep_free(p.r);
	return ok;
}
