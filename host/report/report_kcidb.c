// SPDX-License-Identifier: GPL-2.0-only
/*
 * KCIDB: the form in which KernelCI takes results from other CI systems,
 * version 5.0 of its schema.  A kernel is a checkout and a build, each case of
 * each boot a test, and so is the boot itself.  A known issue and a splat are issues;
 * where they were seen is an incident.
 *
 * The origin is MMGATE_KCIDB_ORIGIN, as KernelCI gave it to the submitter, or
 * "mmgate".  Sent with `kcidb-submit < kcidb.json`.
 */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCERPT_BYTES	8000	/* the schema allows 16384 characters */

static const char *origin(void)
{
	const char *o = g_getenv("MMGATE_KCIDB_ORIGIN");

	if (!o || !*o || strspn(o, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(o))
		return "mmgate";
	return o;
}

static json_t *clean(const char *s, gsize max)
{
	char *c = mmg_clean(s, -1, max);
	json_t *v = json_string(c);

	g_free(c);
	return v;
}

/* Several lines, each cleaned */
static json_t *clean_lines(const char *s, gsize max)
{
	char *cut = g_strndup(s, MIN(strlen(s), max)), **lines = g_strsplit(cut, "\n", -1);
	GString *out = g_string_new(NULL);
	json_t *v;

	for (char **l = lines; *l; l++) {
		char *c = mmg_clean(*l, -1, max);

		g_string_append_printf(out, "%s%s", l > lines ? "\n" : "", c);
		g_free(c);
	}
	v = json_string(out->str);
	g_string_free(out, TRUE);
	g_strfreev(lines);
	g_free(cut);
	return v;
}

static char *id_of(const char *rest)
{
	char *c = mmg_clean(rest, -1, 300), *id = g_strdup_printf("%s:%s", origin(), c);

	g_free(c);
	return id;
}

static char *kernel_id(const struct rep *r, size_t k)
{
	const struct rep_kernel *o = &r->kernels[k];
	char *rest = g_strdup_printf("%s-%s", o->release, *o->sha256 ? o->sha256 : o->spec);
	char *id = id_of(rest);

	g_free(rest);
	return id;
}

/* Only what the schema's pattern for the architecture takes */
static json_t *arch_of(const struct rep_kernel *kernel)
{
	const char *a = kernel->arch;

	if (strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(a))
		a = "";
	return json_string(a);
}

static void add_kernel(const struct rep *r, size_t k, json_t *checkouts, json_t *builds)
{
	const struct rep_kernel *o = &r->kernels[k];
	json_t *misc = json_object();
	char *id = kernel_id(r, k);

	json_array_append_new(checkouts, json_pack("{s:s, s:s, s:b, s:o}", "id", id, "origin",
						   origin(), "valid", 1, "comment",
						   clean(o->release, 200)));
	json_object_set_new(misc, "spec", clean(o->spec, 300));
	json_object_set_new(misc, "image_sha256", clean(o->sha256, 64));
	json_object_set_new(misc, "ksrc", clean(o->ksrc, 300));
	json_object_set_new(misc, "role", clean(o->role, 20));
	json_array_append_new(builds, json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "id", id,
						"checkout_id", id, "origin", origin(),
						"architecture", arch_of(o), "status", "PASS",
						"comment", clean(rep_label(r, k), 100), "misc",
						misc));
	g_free(id);
}

static const char *status_of(enum result result)
{
	static const char *const words[] = {
		[RESULT_NONE] = "ERROR", [RESULT_PASS] = "PASS", [RESULT_FAIL] = "FAIL",
		[RESULT_BROKEN] = "ERROR", [RESULT_SKIP] = "SKIP",
	};

	return words[result];
}

/* kvm/eviction_order/anon-4k as kvm.eviction_order.anon-4k, below mmgate. */
static json_t *path_of(const char *name)
{
	GString *s = g_string_new("mmgate.");
	json_t *v;

	for (const char *p = name; *p && s->len < 300; p++) {
		bool dot = *p == '/' && s->str[s->len - 1] != '.';

		g_string_append_c(s, dot ? '.' : g_ascii_isalnum(*p) || strchr("_-", *p) ? *p : '_');
	}
	if (s->str[s->len - 1] == '.')
		g_string_append_c(s, '_');
	v = json_string(s->str);
	g_string_free(s, TRUE);
	return v;
}

static json_t *environment(const struct rep *r, const struct rep_group *g)
{
	json_t *host = json_object_get(r->run, "host"), *misc = json_object();
	char *text = g_strdup_printf("machine %s, QEMU %s, %s", g->name, obj_str(host, "qemu"),
				     obj_str(host, "accel"));
	json_t *env;

	json_object_set_new(misc, "machine", clean(g->name, 100));
	json_object_set_new(misc, "append", clean(g->boot ? g->boot->append : "", 1000));
	env = json_pack("{s:o, s:o}", "comment", clean(text, 300), "misc", misc);
	g_free(text);
	return env;
}

/* A time of the form that the schema wants, or NULL */
static json_t *time_of(const char *s)
{
	GDateTime *t = g_date_time_new_from_iso8601(s, NULL);
	char *text;
	json_t *v;

	if (!t)
		return NULL;
	text = g_date_time_format(t, "%Y-%m-%dT%H:%M:%S+00:00");
	v = json_string(text);
	g_free(text);
	g_date_time_unref(t);
	return v;
}

static json_t *test_new(const struct rep *r, const struct rep_group *g, const char *name,
			enum result result, const char *reason, double seconds)
{
	char *build = kernel_id(r, g->kernel);
	char *rest = g_strdup_printf("%s-%zu-%s-%s", obj_str(r->run, "id"), g->kernel, g->name, name);
	char *id = id_of(rest);
	const char *started = g->boot ? g->boot->started : "";
	json_t *when = time_of(*started ? started : obj_str(r->run, "started"));
	json_t *t = json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "id", id, "build_id", build,
			      "origin", origin(), "path", path_of(name), "status", status_of(result),
			      "comment", clean(reason, 500), "environment", environment(r, g));

	if (when)
		json_object_set_new(t, "start_time", when);
	if (seconds >= 0 && seconds < 1e9)
		json_object_set_new(t, "duration", json_real(seconds));
	g_free(build);
	g_free(rest);
	g_free(id);
	return t;
}

static void add_case(const struct rep *r, const struct rep_group *g, const struct rep_case *c,
		     json_t *tests)
{
	json_t *t = test_new(r, g, c->name, c->result, c->reason, c->duration_s), *misc = json_object();
	const char *key;
	json_t *v;

	if (c->has_auc && c->result != RESULT_SKIP)
		json_object_set_new(t, "number", json_pack("{s:f}", "value", c->auc));
	json_object_foreach(c->metrics, key, v) {
		char *k = mmg_clean(key, -1, 60);

		if (json_is_number(v))
			json_object_set(misc, k, v);
		g_free(k);
	}
	json_object_set_new(t, "misc", json_pack("{s:o}", "metrics", misc));
	if (*c->allowed || r->compared)
		json_object_set_new(t, "waived", json_true());
	json_array_append_new(tests, t);
}

static void add_boot(const struct rep *r, const struct rep_group *g, json_t *tests)
{
	GString *text = g_string_new(NULL);
	char *reason;
	enum result result = rep_boot_result(g->boot, &reason);
	json_t *t = test_new(r, g, "boot", result, reason, g->boot->duration_s);
	const struct rep_splat *s;

	if (result == RESULT_BROKEN)	/* the harness, not the test, is what went wrong */
		json_object_set_new(t, "status", json_string("MISS"));
	for (guint i = 0; (s = rep_splat(g->boot, i)); i++)
		g_string_append_printf(text, "%s\n", s->text);
	if (text->len)
		json_object_set_new(t, "log_excerpt", clean_lines(text->str, EXCERPT_BYTES));
	json_array_append_new(tests, t);
	g_string_free(text, TRUE);
	g_free(reason);
}

/* ---- issues and incidents ---- */

static char *issue_id(const char *kind, const char *name)
{
	g_autofree char *rest = g_strdup_printf("%s-%s", kind, name);

	return id_of(rest);
}

/* An entry that is renewed is a later version of the issue: the day on which it expires, as a number */
static json_int_t issue_version(const json_t *known)
{
	int y, m, d;

	return sscanf(obj_str(known, "expires"), "%4d-%2d-%2d", &y, &m, &d) == 3 && y > 0 && m > 0 && d > 0 ?
	       y * 10000 + m * 100 + d : 0;
}

static const json_t *known_issue(const struct rep *r, const char *id)
{
	const json_t *s;
	size_t i;

	json_array_foreach(json_object_get(r->run, "known_issues"), i, s)
		if (!strcmp(obj_str(s, "id"), id))
			return s;
	return NULL;
}

static void add_issue(json_t *issues, const char *id, json_int_t version, const char *subject, const char *url)
{
	json_t *o, *old;
	size_t i;

	json_array_foreach(issues, i, old)
		if (!strcmp(obj_str(old, "id"), id))
			return;
	o = json_pack("{s:s, s:I, s:s, s:o, s:o, s:{s:b, s:b, s:b}}", "id", id, "version", version, "origin",
		      origin(), "report_subject", clean(subject, 300), "comment", clean(subject, 500), "culprit",
		      "code", 1, "tool", 0, "harness", 0);
	if (g_str_has_prefix(url, "https://") || g_str_has_prefix(url, "http://"))
		json_object_set_new(o, "report_url", clean(url, 500));
	json_array_append_new(issues, o);
}

static void add_incident(json_t *incidents, const char *issue, json_int_t version, const json_t *test,
			 const char *comment)
{
	g_autofree char *both = g_strdup_printf("%s\n%s", issue, obj_str(test, "id"));
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, both, -1);
	g_autofree char *id = id_of(sum);

	json_array_append_new(incidents, json_pack("{s:s, s:s, s:s, s:I, s:s, s:b, s:o}", "id", id, "origin",
						   origin(), "issue_id", issue, "issue_version", version,
						   "test_id", obj_str(test, "id"), "present", 1, "comment",
						   clean(comment, 500)));
}

/* Known issue @name was seen in @test */
static void add_known(const struct rep *r, const char *name, const json_t *test, const char *comment,
		      json_t *issues, json_t *incidents)
{
	const json_t *known = known_issue(r, name);
	g_autofree char *id = issue_id("known", name);
	json_int_t version = issue_version(known);

	add_issue(issues, id, version, name, obj_str(known, "link"));
	add_incident(incidents, id, version, test, comment);
}

/* The splats of @boot, which is reported as @test */
static void add_splats(const struct rep *r, const struct rep_boot *boot, const json_t *test, json_t *issues, json_t *incidents)
{
	const struct rep_splat *s;

	for (guint i = 0; (s = rep_splat(boot, i)); i++) {
		g_autofree char *id = issue_id("splat", *s->fingerprint ? s->fingerprint : s->title);

		if (*s->allowed) {
			/* what a test provokes itself is nobody's issue */
			if (known_issue(r, s->allowed))
				add_known(r, s->allowed, test, s->title, issues, incidents);
			continue;
		}
		add_issue(issues, id, 0, s->title, "");
		add_incident(incidents, id, 0, test, s->title);
	}
}

static const json_t *last_of(const json_t *list)
{
	return json_array_get(list, json_array_size(list) - 1);
}

/**
 * report_kcidb() - write kcidb.json
 * @run: run.json
 * @dir: its folder, which kcidb.json is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_kcidb(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	json_t *checkouts, *builds, *tests, *issues, *incidents, *all;
	GString *out;
	char *text;
	bool ok;

	if (!r)
		return false;
	checkouts = json_array();
	builds = json_array();
	tests = json_array();
	issues = json_array();
	incidents = json_array();
	for (size_t k = 0; k < r->nr_kernels; k++)
		add_kernel(r, k, checkouts, builds);
	for (guint i = 0; i < r->groups->len; i++) {
		struct rep_group *g = r->groups->pdata[i];

		if (g->boot) {
			add_boot(r, g, tests);
			add_splats(r, g->boot, last_of(tests), issues, incidents);
		}
		for (guint c = 0; c < g->cases->len; c++) {
			const struct rep_case *o = g->cases->pdata[c];

			add_case(r, g, o, tests);
			if (*o->allowed)
				add_known(r, o->allowed, last_of(tests), o->reason, issues, incidents);
		}
	}
	all = json_pack("{s:{s:i, s:i}, s:o, s:o, s:o, s:o, s:o}", "version", "major", 5, "minor", 0,
			"checkouts", checkouts, "builds", builds, "tests", tests, "issues", issues,
			"incidents", incidents);
	text = json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(all);
	out = g_string_new(text);
	g_string_append_c(out, '\n');
	free(text);
	ok = rep_write(r, "kcidb.json", out, err);
	g_string_free(out, TRUE);
	rep_free(r);
	return ok;
}
