// SPDX-License-Identifier: GPL-2.0-only
/*
 * What went wrong in a run, one by one.
 */
#include "report/findings.h"

#include <stdio.h>
#include <string.h>

#define MAX_LINE	1000000

static void finding_free(gpointer finding)
{
	struct finding *f = finding;

	g_free(f->check);
	g_free(f->title);
	g_free(f->message);
	g_free(f->key);
	g_free(f->path);
	g_free(f);
}

/* The source of test "family/test", as it lies in this repository */
static char *test_path(const char *test)
{
	bool plain = strchr(test, '/') && !strstr(test, "..");

	for (const char *p = test; *p && plain; p++)
		plain = g_ascii_isalnum(*p) || strchr("/_-", *p);
	return plain ? g_strdup_printf("selftests/%s_test.c", test) : g_strdup("run.json");
}

static struct finding *add(GPtrArray *all, enum finding_level level, const char *check, char *title,
			   const char *message, char *key)
{
	struct finding *f = g_new0(struct finding, 1);

	f->level = level;
	f->check = g_strdup(check);
	f->title = title;
	f->message = g_strdup(*message ? message : "no reason was given");
	f->key = key;
	f->path = test_path(check);
	f->line = 1;
	g_ptr_array_add(all, f);
	return f;
}

static void add_cell(GPtrArray *all, const struct rep *r, const struct rep_row *row, size_t k)
{
	const struct rep_cell *cell = &row->cells[k];
	const struct rep_case *c = rep_cell_case(cell);
	struct finding *f;

	if (!c || !result_bad(c->result) || *c->allowed)
		return;
	f = add(all, FINDING_ERROR, row->test,
		g_strdup_printf("%s: %s on %s, %s", result_name(c->result), row->name, rep_label(r, k),
				row->machine), c->reason, g_strdup_printf("%s %s %s", row->name, row->machine, rep_label(r, k)));
	f->broken = c->result == RESULT_BROKEN;
}

/* A boot that went wrong and left no case or splat that says so */
static void add_boot(GPtrArray *all, const struct rep *r, const struct rep_group *g)
{
	g_autofree char *reason = NULL;
	enum result result;
	struct finding *f;

	if (!g->boot || g->boot->splats->len)
		return;
	for (guint i = 0; i < g->cases->len; i++)
		if (result_bad(((const struct rep_case *)g->cases->pdata[i])->result))
			return;
	result = rep_boot_shown(r, g->boot, &reason);
	if (!result_bad(result))
		return;
	f = add(all, FINDING_ERROR, "boot", g_strdup_printf("%s: boot of %s, %s", result_name(result),
							    rep_label(r, g->kernel), g->name),
		reason, g_strdup_printf("boot %s %s", rep_label(r, g->kernel), g->name));
	f->broken = result == RESULT_BROKEN;
}

/* "mm/vmscan.c:3210" in the first line of a splat */
static void place_of_splat(struct finding *f, const char *title)
{
	g_autoptr(GRegex) re = g_regex_new("([A-Za-z0-9_][A-Za-z0-9_./-]{0,200}\\.[chS]):([0-9]{1,6})", 0, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;

	if (g_regex_match(re, title, 0, &m)) {
		g_autofree char *path = g_match_info_fetch(m, 1);
		g_autofree char *line = g_match_info_fetch(m, 2);

		if (!strstr(path, "..")) {
			g_free(f->path);
			f->path = g_steal_pointer(&path);
			f->line = CLAMP(g_ascii_strtoll(line, NULL, 10), 1, MAX_LINE);
		}
	}
}

static void add_splats(GPtrArray *all, const struct rep *r, const struct rep_boot *boot)
{
	const struct rep_splat *s;

	for (guint i = 0; (s = rep_splat(boot, i)); i++) {
		struct finding *f;

		if (*s->allowed)
			continue;
		f = add(all, FINDING_ERROR, "splat", g_strdup("kernel splat"), s->title,
			g_strdup_printf("splat %s %s", *s->fingerprint ? s->fingerprint : s->title,
					rep_label(r, boot->kernel)));
		place_of_splat(f, s->title);
	}
}

/* A line of the verdict: shown at the test whose case it names ("gate NAME: family/test/case on MACHINE") */
static void add_verdict(GPtrArray *all, const struct rep *r, const struct rep_verdict *v)
{
	g_auto(GStrv) words = g_strsplit(v->name, " ", -1);
	struct finding *f;

	f = add(all, FINDING_ERROR, obj_str(r->run, "verb"), g_strdup(v->name), v->reason, g_strdup(v->name));
	f->broken = v->result == RESULT_BROKEN;
	for (char **w = words; *w; w++) {
		g_auto(GStrv) parts = g_strsplit(*w, "/", 3);

		if (g_strv_length(parts) == 3) {
			g_autofree char *test = g_strconcat(parts[0], "/", parts[1], NULL);

			g_free(f->path);
			f->path = test_path(test);
			break;
		}
	}
}

GPtrArray *findings_collect(const struct rep *r)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(finding_free);
	json_t *s;
	size_t n;

	for (guint i = 0; i < r->verdicts->len; i++) {
		const struct rep_verdict *v = r->verdicts->pdata[i];

		if (result_bad(v->result))
			add_verdict(all, r, v);
	}
	for (guint row = 0; row < r->rows->len && !r->compared; row++)
		for (size_t k = 0; k < r->nr_kernels; k++)
			add_cell(all, r, r->rows->pdata[row], k);
	for (guint i = 0; i < r->boots->len; i++)
		add_splats(all, r, r->boots->pdata[i]);
	for (guint i = 0; i < r->groups->len; i++)
		add_boot(all, r, r->groups->pdata[i]);
	json_array_foreach(json_object_get(r->run, "known_issues"), n, s)
		if (strcmp(obj_str(s, "state"), "applied"))
			add(all, FINDING_WARNING, "known issues", g_strdup("known issues"), obj_str(s, "note"),
			    g_strdup_printf("known issue %s", obj_str(s, "id")));
	if (r->skip) {
		g_autofree char *text = g_strdup_printf("%d skipped; see the summary for the reasons", r->skip);

		add(all, FINDING_NOTICE, "skipped", g_strdup("skipped"), text, g_strdup("skipped"));
	}
	return all;
}
