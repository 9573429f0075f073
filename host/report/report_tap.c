// SPDX-License-Identifier: GPL-2.0-only
/*
 * KTAP of a whole run: kernel, machine, test, case, nested.  Each boot has a
 * test of its own, "boot", that carries splats and deaths.
 *
 * A reader takes a line for a result by its form alone, so nothing that came
 * from outside gets to the start of a line, and '#' in it becomes '_'.
 */
#include "report/report.h"

#include <string.h>

#define REASON_BYTES	1000
#define NAME_BYTES	200
#define DIAG_LINES	50

/* A text that cannot be taken for a directive; g_free() it */
static char *plain(const char *s, gsize max)
{
	char *clean = mmg_clean(s, -1, max);

	return g_strstrip(g_strdelimit(clean, "#\t", '_'));
}

/* A name: never empty, no blanks at its ends; g_free() it */
static char *name_of(const char *s)
{
	char *n = plain(s, NAME_BYTES);

	if (*n)
		return n;
	g_free(n);
	return g_strdup("unnamed");
}

static void indent(GString *out, int depth)
{
	for (int i = 0; i < depth; i++)
		g_string_append(out, "  ");
}

static void open_level(GString *out, int depth, const char *name, guint plan)
{
	indent(out, depth);
	g_string_append(out, "KTAP version 1\n");
	if (name) {
		indent(out, depth);
		g_string_append_printf(out, "# Subtest: %s\n", name);
	}
	indent(out, depth);
	g_string_append_printf(out, "1..%u\n", plan);
}

static void result(GString *out, int depth, guint n, const char *name, enum result outcome,
		   const char *reason)
{
	char *why = plain(reason, REASON_BYTES);
	bool bad = result_bad(outcome);

	indent(out, depth);
	g_string_append_printf(out, "%s %u %s", bad ? "not ok" : "ok", n, name);
	if (outcome == RESULT_SKIP || outcome == RESULT_BROKEN)
		g_string_append_printf(out, " # %s %s", bad ? "ERROR" : "SKIP", why);
	g_string_append_c(out, '\n');
	g_free(why);
}

/*
 * A failure that a known issue allows: "not ok ... # TODO" is how KTAP (Documentation/dev-tools/ktap.rst)
 * writes what is expected to fail.  It does not make the levels above it fail.
 */
static void todo(GString *out, int depth, guint n, const char *name, const char *reason)
{
	g_autofree char *why = plain(reason, REASON_BYTES);

	indent(out, depth);
	g_string_append_printf(out, "not ok %u %s # TODO %s\n", n, name, why);
}

static void diag(GString *out, int depth, const char *what, const char *s)
{
	char *text = plain(s, REASON_BYTES);

	if (*text) {
		indent(out, depth);
		g_string_append_printf(out, "# %s: %s\n", what, text);
	}
	g_free(text);
}

static enum result case_lines(GString *out, int depth, guint n, const struct rep *r,
			      const struct rep_case *c)
{
	char *name = name_of(rep_case_name(c)), *why;
	enum result shown;
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach(c->metrics, key, v) {
		char *text;

		if (!json_is_number(v))
			continue;
		text = g_strdup_printf("%s %g", key, json_number_value(v));
		diag(out, depth, "metric", text);
		g_free(text);
	}
	json_array_foreach(c->diag, i, v)
		if (i < DIAG_LINES && json_is_string(v))
			diag(out, depth, "diag", json_string_value(v));
	diag(out, depth, "reason", c->reason);
	if (*c->allowed)
		diag(out, depth, "known issue", c->allowed);
	shown = rep_shown(r, c, &why);
	/* in a gate or a hunt it is a skip like all that is judged elsewhere */
	if (shown == RESULT_SKIP && c->result != RESULT_SKIP && !r->compared)
		todo(out, depth, n, name, why);
	else
		result(out, depth, n, name, shown, why);
	g_free(why);
	g_free(name);
	return shown;
}

/* The worse of two results: what a level says is that of its worst line */
static enum result worse(enum result a, enum result b)
{
	static const enum result order[] = { RESULT_FAIL, RESULT_BROKEN, RESULT_PASS, RESULT_SKIP };

	for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return RESULT_BROKEN;
}

static void level_result(GString *out, int depth, guint n, const char *name, enum result worst)
{
	result(out, depth, n, name, worst, worst == RESULT_SKIP ? "all were skipped or are known issues" :
	       "see above");
}

static enum result test_level(GString *out, int depth, guint n, const struct rep *r,
			      const char *test, GPtrArray *cases)
{
	enum result worst = RESULT_SKIP;
	char *name = name_of(test);

	open_level(out, depth + 1, name, cases->len);
	for (guint i = 0; i < cases->len; i++)
		worst = worse(worst, case_lines(out, depth + 1, i + 1, r, cases->pdata[i]));
	level_result(out, depth, n, name, worst);
	g_free(name);
	return worst;
}

static enum result boot_line(GString *out, int depth, guint n, const struct rep *r,
			     const struct rep_boot *boot)
{
	char *reason;
	enum result shown = rep_boot_shown(r, boot, &reason);
	const struct rep_splat *s;

	for (guint i = 0; (s = rep_splat(boot, i)); i++) {
		diag(out, depth, *s->allowed ? "allowed splat" : "splat", s->title);
		diag(out, depth, "fingerprint", s->fingerprint);
		diag(out, depth, "during", s->test);
	}
	diag(out, depth, "reason", reason);
	result(out, depth, n, "boot", shown, reason);
	g_free(reason);
	return shown;
}

/* Cases of a boot by test, in the order in which the tests first came */
static GPtrArray *tests_of(const struct rep_group *g, GPtrArray *names)
{
	GHashTable *index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < g->cases->len; i++) {
		char *test = rep_test_name(g->cases->pdata[i]);
		GPtrArray *list = g_hash_table_lookup(index, test);

		if (!list) {
			list = g_ptr_array_new();
			g_ptr_array_add(lists, list);
			g_ptr_array_add(names, g_strdup(test));
			g_hash_table_insert(index, g_strdup(test), list);
		}
		g_ptr_array_add(list, g->cases->pdata[i]);
		g_free(test);
	}
	g_hash_table_unref(index);
	return lists;
}

static enum result machine_level(GString *out, int depth, guint n, const struct rep *r,
				 const struct rep_group *g)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free), *lists = tests_of(g, names);
	char *name = name_of(g->name);
	enum result worst = RESULT_SKIP;
	guint at = 0;

	open_level(out, depth + 1, name, lists->len + (g->boot ? 1 : 0));
	if (g->boot) {
		enum result boot = boot_line(out, depth + 1, ++at, r, g->boot);

		if (boot != RESULT_PASS || !lists->len)
			worst = worse(worst, boot);
	}
	for (guint i = 0; i < lists->len; i++)
		worst = worse(worst, test_level(out, depth + 1, ++at, r, names->pdata[i],
						lists->pdata[i]));
	level_result(out, depth, n, name, worst);
	g_ptr_array_unref(lists);
	g_ptr_array_unref(names);
	g_free(name);
	return worst;
}

static void kernel_level(GString *out, guint n, const struct rep *r, size_t k)
{
	char *name = name_of(rep_label(r, k));
	enum result worst = RESULT_SKIP;
	guint plan = 0, at = 0;

	for (guint i = 0; i < r->groups->len; i++)
		plan += ((struct rep_group *)r->groups->pdata[i])->kernel == k;
	if (!plan) {
		result(out, 0, n, name, RESULT_BROKEN, "nothing ran on it");
		g_free(name);
		return;
	}
	open_level(out, 1, name, plan);
	for (guint i = 0; i < r->groups->len; i++) {
		struct rep_group *g = r->groups->pdata[i];

		if (g->kernel == k)
			worst = worse(worst, machine_level(out, 1, ++at, r, g));
	}
	level_result(out, 0, n, name, worst);
	g_free(name);
}

/**
 * report_tap() - write results.tap
 * @run: run.json
 * @dir: its folder, which results.tap is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_tap(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	GString *out;
	size_t i;
	bool ok;

	if (!r)
		return false;
	out = g_string_new(NULL);
	open_level(out, 0, NULL, r->nr_kernels + r->verdicts->len);
	diag(out, 0, "run", obj_str(run, "id"));
	diag(out, 0, "verdict", obj_str(run, "reason"));
	for (i = 0; i < r->nr_kernels; i++)
		kernel_level(out, i + 1, r, i);
	for (i = 0; i < r->verdicts->len; i++) {
		struct rep_verdict *v = r->verdicts->pdata[i];
		char *name = name_of(v->name);

		diag(out, 0, "reason", v->reason);
		result(out, 0, r->nr_kernels + i + 1, name, v->result, v->reason);
		g_free(name);
	}
	ok = rep_write(r, "results.tap", out, err);
	g_string_free(out, TRUE);
	rep_free(r);
	return ok;
}
