// SPDX-License-Identifier: GPL-2.0-only
/*
 * What went wrong, for GitHub.
 */
#include "report/findings.h"
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

/**
 * report_annotations() - tell GitHub what went wrong, so that it shows it beside the run
 * @run: run.json
 *
 * On stderr, where GitHub reads it as well, so that what is printed can be piped.
 * Silent anywhere else.
 */
void report_annotations(json_t *run)
{
	static const char *const words[] = {
		[FINDING_NOTICE] = "notice", [FINDING_WARNING] = "warning", [FINDING_ERROR] = "error",
	};
	g_autoptr(GPtrArray) all = NULL;
	int left = ANNOTATIONS_MAX;
	struct rep *r;

	if (g_strcmp0(g_getenv("GITHUB_ACTIONS"), "true"))
		return;
	r = rep_new(run, ".", NULL);
	if (!r)
		return;
	all = findings_collect(r);
	for (guint i = 0; i < all->len; i++) {
		const struct finding *f = all->pdata[i];

		if (f->level != FINDING_ERROR || left-- > 0)
			annotate(words[f->level], f->title, f->message);
	}
	rep_free(r);
}
