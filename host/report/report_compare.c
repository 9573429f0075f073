// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pages of report.html for what is judged by comparison: a gate's base and
 * patched kernel, and the kernels that a hunt for mutants broke on purpose.
 */
#include "report/report.h"

#include <string.h>

#define TESTS_MAX	40	/* columns of the mutation matrix */

static void td(struct html *h, const char *class, const char *text)
{
	html_element(h, "td", class, text);
}

/* "fail 2 of 3 (failure rate 9 to 99 %)" */
static void tally(struct html *h, const json_t *t)
{
	int pass = obj_int(t, "pass"), fail = obj_int(t, "fail"), broken = obj_int(t, "broken");
	int n = pass + fail + broken;
	const char *word = result_name(fail ? RESULT_FAIL : broken ? RESULT_BROKEN : pass ? RESULT_PASS :
				       RESULT_SKIP);

	html_open(h, "td", NULL);
	html_attr(h, "class", "res %s", word);
	html_attr(h, "title", "failure rate %.0f to %.0f %%, 95 %% exact", 100 * obj_num(t, "fail_rate_low"),
		  100 * obj_num(t, "fail_rate_high"));
	if (n)
		html_text(h, "%s %d of %d", word, fail ? fail : broken ? broken : pass, n);
	else
		html_text(h, "%s", obj_int(t, "skip") ? word : "\xe2\x80\x93");
	html_close(h);
}

static void gate_rows(struct html *h, const json_t *cases, bool telling)
{
	json_t *c;
	size_t i;

	json_array_foreach((json_t *)cases, i, c) {
		const char *word = obj_str(c, "change"), *class = html_class(word);
		enum change change = obj_change(c);
		enum claim claim = obj_claim(c);

		if (change_is_quiet(c) == telling)
			continue;
		/* what was broken before and is no claim of the series is not its fault */
		if (claim == CLAIM_NONE && change == CHANGE_STILL_FAILING)
			class = result_name(RESULT_SKIP);
		if (claim == CLAIM_FIXES && change == CHANGE_STILL_PASSING)
			class = result_name(RESULT_FAIL);
		html_open(h, "tr", NULL);
		td(h, NULL, obj_str(c, "name"));
		td(h, NULL, obj_str(c, "machine"));
		td(h, NULL, obj_str(c, "claim"));
		tally(h, json_object_get(c, "base"));
		tally(h, json_object_get(c, "patched"));
		td(h, class, word);
		html_elementf(h, "td", NULL, "%.400s", obj_str(c, "base_reason"));
		html_elementf(h, "td", NULL, "%.400s", obj_str(c, "patched_reason"));
		html_close(h);
	}
}

static void gate_table(struct html *h, const json_t *cases, bool telling)
{
	static const char *const heads[] = {
		"case", "machine", "claim", "base", "patched", "change", "base said", "patched said", NULL
	};

	html_table(h, NULL, heads);
	gate_rows(h, cases, telling);
	html_table_end(h);
}

static void gate_metrics(struct html *h, const json_t *metrics)
{
	static const char *const heads[] = {
		"value", "case", "machine", "base, median", "patched, median", "runs", "p", "change", NULL
	};
	json_t *m;
	size_t i;

	if (!json_array_size(metrics))
		return;
	html_element(h, "h3", NULL, "Measured values");
	html_table(h, NULL, heads);
	json_array_foreach((json_t *)metrics, i, m) {
		html_open(h, "tr", NULL);
		td(h, NULL, obj_str(m, "name"));
		td(h, NULL, obj_str(m, "case"));
		td(h, NULL, obj_str(m, "machine"));
		html_elementf(h, "td", "num", "%.4g", obj_num(m, "base_median"));
		html_elementf(h, "td", "num", "%.4g", obj_num(m, "patched_median"));
		html_elementf(h, "td", "num", "%lld, %lld", (long long)obj_int(m, "base_n"),
			      (long long)obj_int(m, "patched_n"));
		html_elementf(h, "td", "num", "%.3g", obj_num(m, "p"));
		td(h, html_class(obj_str(m, "change")), obj_str(m, "change"));
		html_close(h);
	}
	html_table_end(h);
}

static void gate_side(struct html *h, const char *name, const json_t *gate)
{
	html_element(h, "dt", NULL, name);
	html_element(h, "dd", NULL, obj_str(json_object_get(gate, name), "how"));
}

void html_gate(struct html *h, const json_t *gate)
{
	const char *verdict = obj_str(gate, "verdict");
	const json_t *cases = json_object_get(gate, "cases");

	html_open(h, "p", NULL);
	html_element(h, "b", NULL, obj_str(gate, "name"));
	html_text(h, ": %s", obj_str(gate, "about"));
	html_close(h);
	html_open(h, "p", NULL);
	html_element(h, "span", html_class(verdict), verdict);
	html_text(h, " %s", obj_str(gate, "reason"));
	html_close(h);
	html_open(h, "dl", NULL);
	gate_side(h, "base", gate);
	gate_side(h, "patched", gate);
	html_close(h);
	if (obj_bool(gate, "identical"))
		html_element(h, "p", "verdict broken", "The two images are identical, byte for byte.");
	if (obj_int(gate, "more_runs"))
		html_elementf(h, "p", "note", "%lld more runs would settle it, if the rates stay as they are.",
			      (long long)obj_int(gate, "more_runs"));
	gate_table(h, cases, true);
	gate_metrics(h, json_object_get(gate, "metrics"));
	html_details(h, false, "What nothing is claimed of and what did not change");
	gate_table(h, cases, false);
	html_close(h);
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

static void kill_cell(struct html *h, const json_t *mutant, const char *test)
{
	static const struct {
		const char *letter, *word;
		enum result shown;
	} words[] = {
		{ "F", "fail", RESULT_PASS }, { "P", "panic", RESULT_PASS }, { "S", "splat", RESULT_PASS },
		{ "B", "broken", RESULT_BROKEN },
	};
	const char *kill = obj_str(json_object_get(mutant, "kills"), test);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!strcmp(kill, words[i].letter)) {
			td(h, result_name(words[i].shown), words[i].word);
			return;
		}
	}
	/* empty: that test was not shown this mutant */
	td(h, NULL, was_shown(mutant, test) ? "passes" : "");
}

static void mutant_row(struct html *h, const json_t *m, const GPtrArray *tests)
{
	const char *fate = obj_str(m, "fate"), *why = obj_str(m, "reason");

	html_open(h, "tr", NULL);
	html_open(h, "td", NULL);
	html_details(h, false, obj_str(m, "name"));
	html_text(h, "%s. %s", obj_str(m, "about"), *why ? why : obj_str(m, "survives"));
	html_close(h);
	html_close(h);
	td(h, NULL, obj_str(m, "room"));
	td(h, html_class(fate), fate);
	for (guint i = 0; i < tests->len; i++)
		kill_cell(h, m, tests->pdata[i]);
	html_close(h);
}

void html_mutants(struct html *h, const json_t *mutants)
{
	g_autoptr(GPtrArray) tests = tests_of(mutants), heads = g_ptr_array_new();
	const char *key;
	json_t *v, *m;
	size_t i;

	html_elementf(h, "p", NULL, "%s %s, %s: score %.1f %% of %lld mutants.", obj_str(mutants, "source"),
		      obj_str(mutants, "version"), obj_str(mutants, "arch"), 100 * obj_num(mutants, "score"),
		      (long long)obj_int(mutants, "total"));
	html_open(h, "div", "counts");
	json_object_foreach(json_object_get(mutants, "fates"), key, v)
		html_elementf(h, "span", html_class(key), "%lld %s", (long long)json_integer_value(v), key);
	html_close(h);
	g_ptr_array_add(heads, "mutant");
	g_ptr_array_add(heads, "room");
	g_ptr_array_add(heads, "fate");
	for (guint t = 0; t < tests->len; t++)
		g_ptr_array_add(heads, tests->pdata[t]);
	g_ptr_array_add(heads, NULL);
	html_table(h, NULL, (const char *const *)heads->pdata);
	/* what got away is what matters */
	json_array_foreach(json_object_get(mutants, "list"), i, m)
		if (obj_fate(m) != FATE_KILLED)
			mutant_row(h, m, tests);
	json_array_foreach(json_object_get(mutants, "list"), i, m)
		if (obj_fate(m) == FATE_KILLED)
			mutant_row(h, m, tests);
	html_table_end(h);
}
