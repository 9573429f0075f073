// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading KTAP as it comes from PID 1: an outer plan of tests, each with its
 * cases as a subtest, and mmgate's own diagnostics (reason, metric, time).
 */
#include "vm/vm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 8192
#define MAX_CASES 5000
#define MAX_DIAG 200
#define MAX_METRICS 200
#define MAX_PENDING 500
#define REASON_BYTES 2000
#define SAID_BYTES 4000

struct ktap *ktap_new(void)
{
	struct ktap *k = g_new0(struct ktap, 1);

	k->cases = json_array();
	k->planned = -1;
	k->line = g_string_new(NULL);
	k->said = g_string_new(NULL);
	k->pending = json_object();
	k->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	k->sub_planned = -1;
	return k;
}

void ktap_free(struct ktap *k)
{
	json_decref(k->cases);
	json_decref(k->pending);
	g_hash_table_unref(k->names);
	g_string_free(k->line, TRUE);
	g_string_free(k->said, TRUE);
	g_free(k->test);
	g_free(k->running);
	g_free(k->sub_skip);
	g_free(k->ending);
	g_free(k);
}

/* What has been said of case @name so far */
static json_t *pending(struct ktap *k, const char *name)
{
	json_t *p = json_object_get(k->pending, name);

	if (!p && json_object_size(k->pending) < MAX_PENDING) {
		p = json_pack("{s:[], s:{}}", "diag", "metrics");
		json_object_set_new(k->pending, name, p);
	}
	return p;
}

static void add_result(struct ktap *k, const char *name, enum result result, const char *reason)
{
	json_t *p = pending(k, name), *c;
	const char *why;
	char *full;

	if (++k->nr_cases >= MAX_CASES) {
		/* the last one that is kept says so, lest a failure beyond it goes unseen */
		if (k->nr_cases > MAX_CASES)
			return;
		name = "";
		result = RESULT_BROKEN;
		reason = "the VM gave more results than are read";
		p = NULL;
	}
	if (result != RESULT_PASS && result != RESULT_SKIP)
		k->sub_bad++;
	why = reason;
	p = p ? json_incref(p) : json_pack("{s:[], s:{}}", "diag", "metrics");
	if (json_object_get(p, "reason") && (!why || !*why))
		why = json_string_value(json_object_get(p, "reason"));
	full = *name ? g_strdup_printf("%s/%s", k->test ?: "(none)", name) : g_strdup(k->test ?: "(none)");
	c = json_pack("{s:s, s:s, s:s, s:f, s:O, s:O}", "name", full, "result", result_name(result), "reason",
		      why && *why ? why : "no reason given", "duration_s",
		      json_number_value(json_object_get(p, "time")), "metrics",
		      json_object_get(p, "metrics"), "diag", json_object_get(p, "diag"));
	g_free(full);
	json_object_del(k->pending, name);
	json_decref(p);
	json_array_append_new(k->cases, c);
	if (k->on_case)
		k->on_case(k, c);
}

static void diag_metric(struct ktap *k, char *rest)
{
	char **w = g_strsplit(rest, " ", 4);
	json_t *p, *m;
	double v;

	if (w[0] && w[1] && w[2] && *w[1]) {
		p = pending(k, w[0]);
		m = p ? json_object_get(p, "metrics") : NULL;
		v = g_ascii_strtod(w[2], NULL);
		if (m && json_object_size(m) < MAX_METRICS && isfinite(v))
			json_object_set_new(m, w[1], json_real(v));
	}
	g_strfreev(w);
}

static void diag_value(struct ktap *k, char *rest, const char *key)
{
	char *value = strchr(rest, ' ');
	json_t *p;

	if (!value)
		return;
	*value++ = '\0';
	p = pending(k, rest);
	if (!p)
		return;
	if (!strcmp(key, "time")) {
		double v = g_ascii_strtod(value, NULL);

		json_object_set_new(p, key, json_real(isfinite(v) && v >= 0 ? v : 0));
	} else {
		value[MIN(strlen(value), REASON_BYTES)] = '\0';
		json_object_set_new(p, key, json_string(value) ?: json_string("(not text)"));
	}
}

static void diag_free(struct ktap *k, const char *text)
{
	const char *colon = strstr(text, ": ");
	char *name = colon ? g_strndup(text, colon - text) : NULL;
	const char *what = k->running;
	json_t *p;

	if (g_str_has_prefix(text, "stderr: ") && k->said->len < SAID_BYTES)
		g_string_append_printf(k->said, "%s\n", text + strlen("stderr: "));
	if (name && !strpbrk(name, " \t") && json_object_get(k->pending, name)) {
		what = name;
		text = colon + 2;
	} else if (name && k->running && !strcmp(name, k->running)) {
		text = colon + 2;
	}
	p = what ? pending(k, what) : NULL;
	if (p && json_array_size(json_object_get(p, "diag")) < MAX_DIAG)
		json_array_append_new(json_object_get(p, "diag"), json_string(text));
	g_free(name);
}

static void diagnostic(struct ktap *k, char *text)
{
	char *rest = strstr(text, ": ");

	rest = rest ? rest + 2 : text + strlen(text);
	if (g_str_has_prefix(text, "mmgate-metric: ")) {
		diag_metric(k, rest);
	} else if (g_str_has_prefix(text, "mmgate-reason: ")) {
		diag_value(k, rest, "reason");
	} else if (g_str_has_prefix(text, "mmgate-time: ")) {
		diag_value(k, rest, "time");
	} else if (g_str_has_prefix(text, "mmgate-case: ")) {
		g_free(k->running);
		k->running = g_strdup(rest);
		pending(k, rest);
	} else if (g_str_has_prefix(text, "mmgate: ")) {
		g_free(k->ending);
		k->ending = g_strdup(rest);
	} else {
		diag_free(k, text);
	}
}

/* "N NAME # DIRECTIVE reason" -> parts, in place; the number is not trusted with anything */
static void split_result(char *rest, char **name, char **directive, char **reason)
{
	char *hash;

	*directive = *reason = rest + strlen(rest);
	while (g_ascii_isdigit(*rest))
		rest++;
	while (*rest == ' ')
		rest++;
	if (g_str_has_prefix(rest, "- "))
		rest += 2;
	*name = rest;
	hash = strstr(rest, "# ");
	if (!hash)
		return;
	*directive = hash + 2;
	*hash = '\0';
	g_strchomp(*name);
	hash = strchr(*directive, ' ');
	if (hash) {
		*hash = '\0';
		*reason = hash + 1;
	}
}

static void case_result(struct ktap *k, bool ok, char *rest)
{
	char *name, *directive, *reason;

	split_result(rest, &name, &directive, &reason);
	if (!*name)
		name = (char *)"(unnamed)";
	if (k->sub_seen++ > MAX_CASES)
		return;
	if (!g_hash_table_add(k->names, g_strdup(name)))
		add_result(k, name, RESULT_BROKEN, "the test gave a result under this name twice");
	else if (!g_ascii_strcasecmp(directive, "SKIP"))
		add_result(k, name, RESULT_SKIP, reason);
	else if (!strcmp(directive, "BROKEN") || !g_ascii_strcasecmp(directive, "ERROR"))
		add_result(k, name, RESULT_BROKEN, reason);
	else
		add_result(k, name, ok ? RESULT_PASS : RESULT_FAIL, NULL);
	g_clear_pointer(&k->running, g_free);
}

static void test_begin(struct ktap *k, const char *name)
{
	g_free(k->test);
	k->test = g_strdup(name);
	g_clear_pointer(&k->running, g_free);
	g_clear_pointer(&k->sub_skip, g_free);
	g_clear_pointer(&k->ending, g_free);
	g_hash_table_remove_all(k->names);
	json_object_clear(k->pending);
	g_string_truncate(k->said, 0);
	k->sub_planned = -1;
	k->sub_seen = k->sub_bad = 0;
	k->replanned = false;
}

/*
 * A test that ended with results missing: its word is not complete.  Nor is it
 * where all its results are good and it ended badly: what went wrong after them
 * (settings put back, a crash) had no case to be told by.
 */
static void test_end(struct ktap *k, bool ok, char *rest)
{
	char *name, *directive, *reason, *why;
	bool skipped;

	split_result(rest, &name, &directive, &reason);
	if (!k->test)
		return;
	skipped = !g_ascii_strcasecmp(directive, "SKIP");
	if (k->sub_planned == 0 && k->sub_skip && skipped) {
		add_result(k, "", RESULT_SKIP, k->sub_skip);
	} else if (k->sub_planned < 0 || k->sub_seen != k->sub_planned || !k->sub_seen) {
		why = g_strdup_printf("%d of %d results came%s%s%s%s", k->sub_seen,
				      MAX(k->sub_planned, 0), *reason ? ": " : "", reason,
				      k->said->len ? "; it said: " : "", k->said->str);
		add_result(k, k->running ?: "", RESULT_BROKEN, why);
		g_free(why);
	} else if (k->replanned) {
		add_result(k, "", RESULT_BROKEN, "it announced its results more than once");
	} else if (strcmp(name, k->test)) {
		why = g_strdup_printf("it ended under another name, '%s'", name);
		add_result(k, "", RESULT_BROKEN, why);
		g_free(why);
	} else if (!ok && !k->sub_bad) {
		why = g_strdup_printf("none of its results is bad, but it ended badly: %s",
				      *reason ? reason : k->ending ?: "it was not said how");
		add_result(k, "", RESULT_BROKEN, why);
		g_free(why);
	}
	k->ended++;
	g_clear_pointer(&k->test, g_free);
	g_clear_pointer(&k->running, g_free);
}

static void outer_line(struct ktap *k, char *line)
{
	if (g_str_has_prefix(line, "1..") && k->planned < 0)
		k->planned = CLAMP(atoi(line + 3), 0, MAX_CASES);
	else if (g_str_has_prefix(line, "ok "))
		test_end(k, true, line + 3);
	else if (g_str_has_prefix(line, "not ok "))
		test_end(k, false, line + 7);
}

static void inner_line(struct ktap *k, char *line)
{
	char *skip;

	if (g_str_has_prefix(line, "# Subtest: ")) {
		/* only PID 1 says this, before the test has said anything */
		if (!k->test)
			test_begin(k, line + strlen("# Subtest: "));
	} else if (!k->test) {
		return;
	} else if (g_str_has_prefix(line, "# ")) {
		diagnostic(k, line + 2);
	} else if (g_str_has_prefix(line, "1..")) {
		/* a second plan cannot take back what the first one announced */
		k->replanned |= k->sub_planned >= 0;
		k->sub_planned = CLAMP(atoi(line + 3), 0, MAX_CASES);
		skip = strstr(line, "# SKIP ");
		if (skip && !k->sub_skip)
			k->sub_skip = g_strdup(skip + strlen("# SKIP "));
	} else if (g_str_has_prefix(line, "ok ")) {
		case_result(k, true, line + 3);
	} else if (g_str_has_prefix(line, "not ok ")) {
		case_result(k, false, line + 7);
	}
}

static void take_line(struct ktap *k)
{
	char *clean = mmg_clean(k->line->str, k->line->len, LINE_BYTES);

	if (g_str_has_prefix(clean, "  "))
		inner_line(k, clean + 2);
	else
		outer_line(k, clean);
	g_free(clean);
	g_string_truncate(k->line, 0);
}

void ktap_feed(struct ktap *k, const char *buf, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (buf[i] == '\n')
			take_line(k);
		else if (k->line->len < LINE_BYTES)
			g_string_append_c(k->line, buf[i]);
	}
}

void ktap_cut(struct ktap *k, enum result result, const char *reason)
{
	char *clean = mmg_clean(reason, -1, REASON_BYTES);

	if (k->line->len)
		take_line(k);
	if (k->test) {
		add_result(k, k->running ?: "", result, clean);
		g_clear_pointer(&k->test, g_free);
		g_clear_pointer(&k->running, g_free);
	}
	g_free(clean);
}
