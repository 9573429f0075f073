// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests reach of the guarded functions: as text, as JSON, as a page.
 */
#include "report/report_coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "12 of 14" with its percentage, "-" where there is nothing to reach; g_free() it */
static char *share(unsigned int n, unsigned int of)
{
	return of ? g_strdup_printf("%u/%u %3u %%", n, of, 100 * n / of) : g_strdup("-");
}

static bool is_missed(const struct coverage_line *l)
{
	return !l->assertion && (!l->count || coverage_missed(l));
}

/* What of @l is not reached, in words; g_free() it */
static char *missed_text(const struct coverage_line *l)
{
	unsigned int missed = coverage_missed(l);
	GString *s;

	if (!l->count)
		return g_strdup("never runs");
	if (missed == l->branches->len)
		return g_strdup("no way out of it is taken");
	s = g_string_new(missed > 1 ? "ways never taken:" : "way never taken:");
	for (guint i = 0; i < l->branches->len; i++)
		if (!g_array_index(l->branches, guint64, i))
			g_string_append_printf(s, " %u", i + 1);
	g_string_append_printf(s, " of %u", l->branches->len);
	return g_string_free(s, FALSE);
}

static void text_table(const struct coverage *c, FILE *to)
{
	const struct coverage_sum all = coverage_sum(c, NULL);
	const char *file = "";

	fprintf(to, "%-40s %16s %16s\n", "function", "lines", "branches");
	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];
		const struct coverage_sum s = coverage_sum(c, f);
		g_autofree char *lines = share(s.lines_reached, s.lines);
		g_autofree char *branches = share(s.branches_reached, s.branches);

		if (f->state != COVERAGE_COUNTED)
			continue;
		if (strcmp(file, f->file))
			fprintf(to, "%s\n", f->file);
		file = f->file;
		fprintf(to, "  %-38s %16s %16s\n", f->name, lines, branches);
	}
	g_autofree char *lines = share(all.lines_reached, all.lines);
	g_autofree char *branches = share(all.branches_reached, all.branches);

	fprintf(to, "%-40s %16s %16s\n", "all", lines, branches);
	if (all.assertions)
		fprintf(to, "%u branches of assertions, which a good kernel never takes, are not counted\n", all.assertions);
}

/* Names of the functions in @state, a line of them */
static void text_state(const struct coverage *c, enum coverage_state state, const char *head, FILE *to)
{
	bool any = false;

	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];

		if (f->state != state)
			continue;
		fprintf(to, "%s%s", any ? ", " : head, f->name);
		any = true;
	}
	if (any)
		fputc('\n', to);
}

void report_coverage_text(const struct coverage *c, FILE *to)
{
	unsigned int open = 0;

	fprintf(to, "coverage of %s (%s), %u boot%s\n\n", c->source, c->arch, c->boots, c->boots == 1 ? "" : "s");
	text_table(c, to);
	text_state(c, COVERAGE_NOT_DEFINED, "not defined by this kernel: ", to);
	text_state(c, COVERAGE_NOT_BUILT, "without code in this configuration, or inlined away: ", to);
	fprintf(to, "\nnot reached:\n");
	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];
		bool named = false;

		for (guint n = 0; n < f->lines->len; n++) {
			const struct coverage_line *l = f->lines->pdata[n];
			g_autofree char *missed = is_missed(l) ? missed_text(l) : NULL;

			if (!missed)
				continue;
			if (!named)
				fprintf(to, "  %s (%s)\n", f->name, f->file);
			named = true;
			fprintf(to, "    %u: %s\n        %s%s%s\n", l->nr, l->text, missed, l->reason ? "; " : "",
				l->reason ? l->reason : "");
			open += !l->reason;
		}
	}
	if (open)
		fprintf(to, "%u line%s without a reason in configs/unreached.conf\n", open, open == 1 ? "" : "s");
	for (guint i = 0; i < c->stale->len; i++)
		fprintf(to, "configs/unreached.conf [%s] fits no line that is not reached\n", (char *)c->stale->pdata[i]);
	if (c->lost)
		fprintf(to, "%u boot%s ended without sending counts: what only they reached is missing here\n", c->lost,
			c->lost == 1 ? "" : "s");
}

/* ---- the page ---- */

static void table_row(struct html *h, const struct coverage *c, guint i)
{
	const struct coverage_function *f = c->functions->pdata[i];
	const struct coverage_sum s = coverage_sum(c, f);
	g_autofree char *lines = share(s.lines_reached, s.lines);
	g_autofree char *branches = share(s.branches_reached, s.branches);

	html_open(h, "tr", NULL);
	if (f->state == COVERAGE_COUNTED) {
		html_open(h, "td", NULL);
		html_link(h, f->name, "#f%u", i);
		html_close(h);
		html_element(h, "td", NULL, f->file);
		html_element(h, "td", s.lines_reached < s.lines ? "num skip" : "num pass", lines);
		html_element(h, "td", s.branches_reached < s.branches ? "num skip" : "num pass", branches);
	} else {
		html_element(h, "td", NULL, f->name);
		html_element(h, "td", NULL, f->file);
		html_element(h, "td", "none", coverage_state_name(f->state));
		html_element(h, "td", "none", "");
	}
	html_close(h);
}

static void source_line(struct html *h, const struct coverage_line *l)
{
	const char *class = l->assertion ? "a" : !l->count ? "n" : coverage_missed(l) ? "p" : "y";
	g_autofree char *missed = is_missed(l) ? missed_text(l) : NULL;

	html_open(h, "tr", class);
	html_elementf(h, "td", "num", "%u", l->nr);
	html_elementf(h, "td", "num", "%" G_GUINT64_FORMAT, l->count);
	if (l->branches->len)
		html_elementf(h, "td", "num", "%u/%u", l->branches->len - coverage_missed(l), l->branches->len);
	else
		html_element(h, "td", "num", "");
	html_open(h, "td", NULL);
	html_element(h, "code", NULL, l->text);
	if (missed)
		html_elementf(h, "p", "alt", "%s%s%s", missed, l->reason ? "; " : "", l->reason ? l->reason : "");
	html_close(h);
	html_close(h);
}

static GString *page(const struct coverage *c)
{
	static const char *const heads[] = { "function", "file", "lines", "branches", NULL };
	static const char *const columns[] = { "line", "count", "ways taken", "source", NULL };
	const struct coverage_sum all = coverage_sum(c, NULL);
	g_autofree char *lines = share(all.lines_reached, all.lines);
	g_autofree char *branches = share(all.branches_reached, all.branches);
	struct html *h = html_new("mmgate: what the tests reach",
				  "table.source td{border-width:0 1px}tr.n td{background:var(--mark)}"
				  "tr.p td{background:color-mix(in srgb,var(--skip) 22%,transparent)}"
				  "tr.a td{color:var(--soft)}");

	html_open(h, "header", NULL);
	html_element(h, "h1", NULL, "What the tests reach of the guarded functions");
	html_elementf(h, "p", "soft", "%s, %s, %u boots, image %.12s: lines %s, branches %s", c->source, c->arch, c->boots,
		      c->sha256, lines, branches);
	html_element(h, "p", "soft", "Red: never runs. Yellow: runs, but some way out of the line is never taken. Grey: an "
		     "assertion, whose branches are not counted.");
	html_close(h);
	html_table(h, NULL, heads);
	for (guint i = 0; i < c->functions->len; i++)
		table_row(h, c, i);
	html_table_end(h);
	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];

		if (f->state != COVERAGE_COUNTED)
			continue;
		html_open(h, "h2", NULL);
		html_attr(h, "id", "f%u", i);
		html_text(h, "%s (%s)", f->name, f->file);
		html_close(h);
		html_table(h, "source", columns);
		for (guint n = 0; n < f->lines->len; n++)
			source_line(h, f->lines->pdata[n]);
		html_table_end(h);
	}
	return html_finish(h);
}

bool report_coverage(const struct coverage *c, const char *dir, GError **err)
{
	g_autofree char *json = g_build_filename(dir, "coverage.json", NULL);
	g_autofree char *html = g_build_filename(dir, "coverage.html", NULL);
	g_autofree char *txt = g_build_filename(dir, "coverage.txt", NULL);
	g_autoptr(GString) out = page(c);
	json_t *j = coverage_json(c);
	char *text = json_dumps(j, JSON_INDENT(1));
	FILE *f = fopen(txt, "we");
	bool ok = f;

	if (f) {
		report_coverage_text(c, f);
		ok = !ferror(f);
		ok &= !fclose(f);
	}
	if (!ok)
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s: %s", txt, g_strerror(errno));
	ok = ok && mmg_write_atomic(json, text, -1, err) && mmg_write_atomic(html, out->str, out->len, err);
	json_decref(j);
	free(text);
	return ok;
}
