// SPDX-License-Identifier: GPL-2.0-only
/*
 * The forms in which code review systems take what a run found: GitLab's code quality report, a
 * check run of GitHub, a check of Patchwork.  Each is one file; nothing is sent.
 *
 * MMGATE_URL, where it is set, is the address at which people find the results.
 */
#include "report/findings.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define GITHUB_ANNOTATIONS	50	/* of one request */
#define GITHUB_TITLE		255	/* characters of an annotation's title */
#define TEXT_BYTES		4000
#define PATCHWORK_BYTES		250
#define CONTEXT_BYTES		100
#define FINGERPRINT		32	/* hexadecimal digits */

static json_t *clean(const char *s, gsize max)
{
	g_autofree char *c = mmg_clean(s, -1, max);

	return json_string(c);
}

static bool write_json(const struct rep *r, const char *name, json_t *doc, GError **err)
{
	char *text = doc ? json_dumps(doc, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
	g_autoptr(GString) out = g_string_new(text ?: "");
	bool ok = text;

	if (!text)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: what the run says cannot be written as JSON", name);
	g_string_append_c(out, '\n');
	free(text);
	json_decref(doc);
	return ok && rep_write(r, name, out, err);
}

/* Where the results are to be found, or NULL: only a web address */
static const char *results_url(void)
{
	const char *url = g_getenv("MMGATE_URL");

	if (!url || !(g_str_has_prefix(url, "https://") || g_str_has_prefix(url, "http://")) ||
	    !g_uri_is_valid(url, G_URI_FLAGS_NONE, NULL))
		return NULL;
	return url;
}

/* ---- GitLab ---- */

static const char *severity_of(const struct finding *f)
{
	if (f->level == FINDING_WARNING)
		return "minor";
	return f->broken ? "major" : "critical";
}

static json_t *quality_of(const struct finding *f)
{
	g_autofree char *print = g_compute_checksum_for_string(G_CHECKSUM_SHA256, f->key, -1);
	g_autofree char *text = g_strdup_printf("%s: %s", f->title, f->message);

	print[FINGERPRINT] = '\0';
	return json_pack("{s:o, s:o, s:s, s:s, s:{s:o, s:{s:i}}}", "description", clean(text, TEXT_BYTES),
			 "check_name", clean(f->check, CONTEXT_BYTES), "fingerprint", print, "severity",
			 severity_of(f), "location", "path", clean(f->path, 300), "lines", "begin", f->line);
}

/**
 * report_gitlab() - write codequality.json, GitLab's code quality report
 * @run: run.json
 * @dir: its folder, which the file is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * A finding has the same fingerprint in each run, so that a merge request shows what is new.
 *
 * Return: false with *@err.
 */
bool report_gitlab(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	g_autoptr(GPtrArray) all = r ? findings_collect(r) : NULL;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	json_t *list = json_array();
	bool ok;

	if (!r) {
		json_decref(list);
		return false;
	}
	for (guint i = 0; i < all->len; i++) {
		const struct finding *f = all->pdata[i];

		/* GitLab takes one of a fingerprint */
		if (f->level != FINDING_NOTICE && g_hash_table_add(seen, f->key))
			json_array_append_new(list, quality_of(f));
	}
	ok = write_json(r, "codequality.json", list, err);
	rep_free(r);
	return ok;
}

/* ---- GitHub ---- */

static const char *conclusion_of(const json_t *run)
{
	switch (obj_int(run, "exit")) {
	case MMG_EXIT_OK:
		return "success";
	case MMG_EXIT_INTERRUPTED:
		return "cancelled";
	default:	/* broken, and nothing ran, are not green either: "neutral" and "skipped" would be */
		return "failure";
	}
}

static json_t *annotation_of(const struct finding *f)
{
	static const char *const levels[] = {
		[FINDING_NOTICE] = "notice", [FINDING_WARNING] = "warning", [FINDING_ERROR] = "failure",
	};

	return json_pack("{s:o, s:i, s:i, s:s, s:o, s:o}", "path", clean(f->path, 300), "start_line", f->line,
			 "end_line", f->line, "annotation_level", levels[f->level], "title",
			 clean(f->title, GITHUB_TITLE), "message", clean(f->message, TEXT_BYTES));
}

static void set_time(json_t *o, const char *key, const json_t *run, double after)
{
	g_autoptr(GDateTime) t = g_date_time_new_from_iso8601(obj_str(run, "started"), NULL);
	g_autoptr(GDateTime) end = t && after >= 0 && after < 1e9 ? g_date_time_add_seconds(t, after) : NULL;
	g_autoptr(GDateTime) utc = end ? g_date_time_to_utc(end) : NULL;
	g_autofree char *text = utc ? g_date_time_format(utc, "%Y-%m-%dT%H:%M:%SZ") : NULL;

	if (text)
		json_object_set_new(o, key, json_string(text));
}

static char *summary_of(const struct rep *r, guint errors, guint left)
{
	GString *s = g_string_new(NULL);

	g_string_append_printf(s, "%d passed, %d failed, %d broken, %d skipped; %d splat%s. ", r->pass, r->fail,
			       r->broken, r->skip, r->splats, r->splats == 1 ? "" : "s");
	g_string_append_printf(s, "%u finding%s", errors, errors == 1 ? "" : "s");
	if (left)
		g_string_append_printf(s, "; %u more are in run.json", left);
	g_string_append_c(s, '.');
	return g_string_free(s, FALSE);
}

/**
 * report_github() - write check-run.json, the body of a request that creates a check run
 * @run: run.json
 * @dir: its folder, which the file is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * head_sha is GITHUB_SHA; where that is not set, who sends it has to add it.
 *
 * Return: false with *@err.
 */
bool report_github(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	g_autoptr(GPtrArray) all = r ? findings_collect(r) : NULL;
	const char *sha = g_getenv("GITHUB_SHA"), *url = results_url();
	json_t *notes = json_array(), *doc;
	g_autofree char *name = NULL, *summary = NULL;
	guint errors = 0, left = 0;
	bool ok;

	if (!r) {
		json_decref(notes);
		return false;
	}
	for (guint i = 0; i < all->len; i++) {
		const struct finding *f = all->pdata[i];

		errors += f->level == FINDING_ERROR;
		if (json_array_size(notes) < GITHUB_ANNOTATIONS)
			json_array_append_new(notes, annotation_of(f));
		else
			left++;
	}
	name = g_strdup_printf("mmgate %s", obj_str(run, "verb"));
	summary = summary_of(r, errors, left);
	doc = json_pack("{s:o, s:s, s:s, s:o, s:{s:o, s:s, s:o}}", "name", clean(name, CONTEXT_BYTES), "status",
			"completed", "conclusion", conclusion_of(run), "external_id",
			clean(obj_str(run, "id"), CONTEXT_BYTES), "output", "title",
			clean(obj_str(run, "reason"), GITHUB_TITLE), "summary", summary, "annotations", notes);
	if (sha && strlen(sha) == 40 && strspn(sha, "0123456789abcdef") == 40)
		json_object_set_new(doc, "head_sha", json_string(sha));
	if (url)
		json_object_set_new(doc, "details_url", json_string(url));
	set_time(doc, "started_at", run, 0);
	set_time(doc, "completed_at", run, obj_num(run, "duration_s"));
	ok = write_json(r, "check-run.json", doc, err);
	rep_free(r);
	return ok;
}

/* ---- Patchwork ---- */

static const char *state_of(const json_t *run)
{
	switch (obj_int(run, "exit")) {
	case MMG_EXIT_OK:
		return "success";
	case MMG_EXIT_FAIL:
		return "fail";
	default:	/* the answer could not be had, which says nothing of the patch */
		return "warning";
	}
}

/* "mmgate-gate-lowmem-reserve": Patchwork takes letters, digits, "-" and "_" */
static json_t *context_of(const json_t *run)
{
	const char *gate = obj_str(json_object_get(run, "gate"), "name");
	g_autofree char *all = g_strdup_printf("mmgate-%s%s%s", obj_str(run, "verb"), *gate ? "-" : "", gate);

	g_strcanon(all, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", '_');
	if (strlen(all) > CONTEXT_BYTES)
		all[CONTEXT_BYTES] = '\0';
	return json_string(all);
}

/**
 * report_patchwork() - write patchwork.json, the body of a request that adds a check to a patch
 * @run: run.json
 * @dir: its folder, which the file is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_patchwork(json_t *run, const char *dir, GError **err)
{
	struct rep *r = rep_new(run, dir, err);
	const char *url = results_url();
	json_t *doc;
	bool ok;

	if (!r)
		return false;
	doc = json_pack("{s:s, s:o, s:o}", "state", state_of(run), "context", context_of(run), "description",
			clean(obj_str(run, "reason"), PATCHWORK_BYTES));
	if (url)
		json_object_set_new(doc, "target_url", json_string(url));
	ok = write_json(r, "patchwork.json", doc, err);
	rep_free(r);
	return ok;
}
