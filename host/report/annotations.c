// SPDX-License-Identifier: GPL-2.0-only
/*
 * What went wrong, for GitHub.
 */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define ANNOTATIONS_MAX	10	/* GitHub shows no more of a step */

/* In the value of a command of GitHub's, and in its properties */
static void github_text(GString *out, const char *s, bool property)
{
	char *clean = mmg_clean(s, -1, 1000);

	for (const char *p = clean; *p; p++) {
		if (*p == '%' || (property && (*p == ':' || *p == ',')))
			g_string_append_printf(out, "%%%02X", (unsigned char)*p);
		else
			g_string_append_c(out, *p);
	}
	g_free(clean);
}

static void annotate(const char *level, const char *title, const char *message)
{
	GString *s = g_string_new("::");

	g_string_append_printf(s, "%s title=", level);
	github_text(s, title, true);
	g_string_append(s, "::");
	github_text(s, message, false);
	fprintf(stderr, "%s\n", s->str);
	g_string_free(s, TRUE);
}

static void annotate_row(const struct rep *r, const struct rep_row *row, size_t k, int *left)
{
	const struct rep_cell *cell = &row->cells[k];
	const char *word = rep_cell_word(cell);
	json_t *c = rep_cell_case(cell);
	char *title;

	if ((strcmp(word, "fail") && strcmp(word, "broken")) || *obj_str(c, "allowed") ||
	    (*left)-- <= 0)
		return;
	title = g_strdup_printf("%s: %s on %s, %s", word, row->name, rep_label(r, k), row->machine);
	annotate("error", title, obj_str(c, "reason"));
	g_free(title);
}

/**
 * report_annotations() - tell GitHub what went wrong, so that it shows it beside the run
 * @run: run.json
 *
 * On stderr, where GitHub reads it as well, so that what is printed can be piped.
 * Silent anywhere else.
 */
void report_annotations(json_t *run)
{
	struct rep *r;
	int left = ANNOTATIONS_MAX;
	json_t *b, *s;
	size_t i, j;

	if (g_strcmp0(g_getenv("GITHUB_ACTIONS"), "true"))
		return;
	r = rep_new(run, ".", NULL);
	if (!r)
		return;
	for (guint i = 0; i < r->verdicts->len; i++) {
		struct rep_verdict *v = r->verdicts->pdata[i];

		if ((!strcmp(v->word, "fail") || !strcmp(v->word, "broken")) && left-- > 0)
			annotate("error", v->name, v->reason);
	}
	for (guint row = 0; row < r->rows->len && !r->compared; row++)
		for (size_t k = 0; k < r->nr_kernels; k++)
			annotate_row(r, r->rows->pdata[row], k, &left);
	json_array_foreach(r->boots, i, b)
		json_array_foreach(json_object_get(b, "splats"), j, s)
			if (!*obj_str(s, "allowed") && left-- > 0)
				annotate("error", "kernel splat", obj_str(s, "title"));
	json_array_foreach(json_object_get(run, "known_issues"), i, s)
		if (strcmp(obj_str(s, "state"), "applied"))
			annotate("warning", "known issues", obj_str(s, "note"));
	if (r->skip) {
		char *text = g_strdup_printf("%d skipped; see the summary for the reasons", r->skip);

		annotate("notice", "skipped", text);
		g_free(text);
	}
	rep_free(r);
}
