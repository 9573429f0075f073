// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pages of report.html for what is judged by comparison: a gate's base and
 * patched kernel, and the kernels that a hunt for mutants broke on purpose.
 */
#include "report/report.h"

#include <string.h>

#define TESTS_MAX	40	/* columns of the mutation matrix */

static void td(GString *out, const char *class, const char *text)
{
	html_element(out, "td", class, text);
}

/* "fail 2 of 3 (failure rate 9 to 99 %)" */
static void tally(GString *out, const json_t *t)
{
	int pass = obj_int(t, "pass"), fail = obj_int(t, "fail"), broken = obj_int(t, "broken");
	int n = pass + fail + broken;
	const char *class = fail ? "fail" : broken ? "broken" : pass ? "pass" : "skip";

	g_string_append_printf(out, "<td class=\"res %s\"", class);
	g_string_append_printf(out, " title=\"failure rate %.0f to %.0f %%, 95 %% exact\">",
			       100 * obj_num(t, "fail_rate_low"), 100 * obj_num(t, "fail_rate_high"));
	if (n)
		g_string_append_printf(out, "%s %d of %d", class, fail ? fail : broken ? broken : pass, n);
	else
		g_string_append(out, obj_int(t, "skip") ? "skip" : "&#8211;");
	g_string_append(out, "</td>");
}

/* What is claimed, or has changed, before the rest */
static bool tells(const json_t *c)
{
	const char *change = obj_str(c, "change");

	return *obj_str(c, "claim") || (strcmp(change, "still passing") && strcmp(change, "skipped"));
}

static void gate_rows(GString *out, const json_t *cases, bool telling)
{
	json_t *c;
	size_t i;

	json_array_foreach((json_t *)cases, i, c) {
		const char *change = obj_str(c, "change"), *claim = obj_str(c, "claim");
		const char *class = html_class(change);

		if (tells(c) != telling)
			continue;
		/* what was broken before and is no claim of the series is not its fault */
		if (!*claim && !strcmp(change, "still failing"))
			class = "skip";
		if (!strcmp(claim, "fixes") && !strcmp(change, "still passing"))
			class = "fail";
		g_string_append(out, "<tr>");
		td(out, NULL, obj_str(c, "name"));
		td(out, NULL, obj_str(c, "machine"));
		td(out, NULL, claim);
		tally(out, json_object_get(c, "base"));
		tally(out, json_object_get(c, "patched"));
		td(out, class, change);
		g_string_append(out, "<td>");
		html_text(out, "%.400s", obj_str(c, "base_reason"));
		g_string_append(out, "</td><td>");
		html_text(out, "%.400s", obj_str(c, "patched_reason"));
		g_string_append(out, "</td></tr>\n");
	}
}

static void gate_table(GString *out, const json_t *cases, bool telling)
{
	g_string_append(out, "<div class=\"scroll\"><table><thead><tr><th>case</th><th>machine</th><th>claim</th><th>base</th><th>patched</th><th>change</th><th>base said</th><th>patched said</th></tr></thead><tbody>\n");
	gate_rows(out, cases, telling);
	g_string_append(out, "</tbody></table></div>\n");
}

static void gate_metrics(GString *out, const json_t *metrics)
{
	json_t *m;
	size_t i;

	if (!json_array_size(metrics))
		return;
	g_string_append(out, "<h3>Measured values</h3>\n<div class=\"scroll\"><table><thead><tr><th>value</th><th>case</th><th>machine</th><th>base, median</th><th>patched, median</th><th>runs</th><th>p</th><th>change</th></tr></thead><tbody>\n");
	json_array_foreach((json_t *)metrics, i, m) {
		g_string_append(out, "<tr>");
		td(out, NULL, obj_str(m, "name"));
		td(out, NULL, obj_str(m, "case"));
		td(out, NULL, obj_str(m, "machine"));
		g_string_append_printf(out, "<td class=\"num\">%.4g</td><td class=\"num\">%.4g</td>",
				       obj_num(m, "base_median"), obj_num(m, "patched_median"));
		g_string_append_printf(out, "<td class=\"num\">%lld, %lld</td><td class=\"num\">%.3g</td>",
				       (long long)obj_int(m, "base_n"),
				       (long long)obj_int(m, "patched_n"), obj_num(m, "p"));
		td(out, html_class(obj_str(m, "change")), obj_str(m, "change"));
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</tbody></table></div>\n");
}

void html_gate(GString *out, const json_t *gate)
{
	const char *verdict = obj_str(gate, "verdict");
	const json_t *cases = json_object_get(gate, "cases");

	g_string_append(out, "<p><b>");
	html_text(out, "%s", obj_str(gate, "name"));
	g_string_append(out, "</b>: ");
	html_text(out, "%s", obj_str(gate, "about"));
	g_string_append(out, "</p>\n<p>");
	html_element(out, "span", html_class(verdict), verdict);
	g_string_append(out, " ");
	html_text(out, "%s", obj_str(gate, "reason"));
	g_string_append(out, "</p>\n<dl><dt>base</dt><dd>");
	html_text(out, "%s", obj_str(json_object_get(gate, "base"), "how"));
	g_string_append(out, "</dd><dt>patched</dt><dd>");
	html_text(out, "%s", obj_str(json_object_get(gate, "patched"), "how"));
	g_string_append(out, "</dd></dl>\n");
	if (obj_bool(gate, "identical"))
		g_string_append(out, "<p class=\"verdict broken\">The two images are identical, byte for byte.</p>\n");
	if (obj_int(gate, "more_runs"))
		g_string_append_printf(out, "<p class=\"note\">%lld more runs would settle it, if the rates stay as they are.</p>\n",
				       (long long)obj_int(gate, "more_runs"));
	gate_table(out, cases, true);
	gate_metrics(out, json_object_get(gate, "metrics"));
	g_string_append(out, "<details><summary>What nothing is claimed of and what did not change</summary>");
	gate_table(out, cases, false);
	g_string_append(out, "</details>\n");
}

/* Names of the tests that killed something, in the order of the object */
static GPtrArray *tests_of(const json_t *mutants)
{
	GPtrArray *tests = g_ptr_array_new();
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(mutants, "tests"), key, v) {
		(void)v;
		if (tests->len < TESTS_MAX)
			g_ptr_array_add(tests, (char *)key);
	}
	return tests;
}

static bool was_shown(const json_t *mutant, const char *test)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(mutant, "shown"), i, v)
		if (json_is_string(v) && !strcmp(json_string_value(v), test))
			return true;
	return false;
}

static void kill_cell(GString *out, const json_t *mutant, const char *test)
{
	static const char *const words[][3] = {
		{ "F", "fail", "pass" }, { "P", "panic", "pass" }, { "S", "splat", "pass" },
		{ "B", "broken", "broken" },
	};
	const char *kill = obj_str(json_object_get(mutant, "kills"), test);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!strcmp(kill, words[i][0])) {
			td(out, words[i][2], words[i][1]);
			return;
		}
	}
	/* empty: that test was not shown this mutant */
	td(out, NULL, was_shown(mutant, test) ? "passes" : "");
}

static void mutant_row(GString *out, const json_t *m, const GPtrArray *tests)
{
	const char *fate = obj_str(m, "fate"), *why = obj_str(m, "reason");

	g_string_append(out, "<tr><td><details><summary>");
	html_text(out, "%s", obj_str(m, "name"));
	g_string_append(out, "</summary>");
	html_text(out, "%s. %s", obj_str(m, "about"), *why ? why : obj_str(m, "survives"));
	g_string_append(out, "</details></td>");
	td(out, NULL, obj_str(m, "room"));
	td(out, html_class(fate), fate);
	for (guint i = 0; i < tests->len; i++)
		kill_cell(out, m, tests->pdata[i]);
	g_string_append(out, "</tr>\n");
}

void html_mutants(GString *out, const json_t *mutants)
{
	GPtrArray *tests = tests_of(mutants);
	const char *key;
	json_t *v, *m;
	size_t i;

	g_string_append(out, "<p>");
	html_text(out, "%s %s, %s: score %.1f %% of %lld mutants.", obj_str(mutants, "source"),
		  obj_str(mutants, "version"), obj_str(mutants, "arch"),
		  100 * obj_num(mutants, "score"), (long long)obj_int(mutants, "total"));
	g_string_append(out, "</p>\n<div class=\"counts\">");
	json_object_foreach(json_object_get(mutants, "fates"), key, v) {
		char *s = g_strdup_printf("%lld %s", (long long)json_integer_value(v), key);

		html_element(out, "span", html_class(key), s);
		g_free(s);
	}
	g_string_append(out, "</div>\n<div class=\"scroll\"><table><thead><tr><th>mutant</th><th>room</th><th>fate</th>");
	for (guint t = 0; t < tests->len; t++)
		html_element(out, "th", NULL, tests->pdata[t]);
	g_string_append(out, "</tr></thead><tbody>\n");
	/* what got away is what matters */
	json_array_foreach(json_object_get(mutants, "list"), i, m)
		if (strcmp(obj_str(m, "fate"), "killed"))
			mutant_row(out, m, tests);
	json_array_foreach(json_object_get(mutants, "list"), i, m)
		if (!strcmp(obj_str(m, "fate"), "killed"))
			mutant_row(out, m, tests);
	g_string_append(out, "</tbody></table></div>\n");
	g_ptr_array_unref(tests);
}
