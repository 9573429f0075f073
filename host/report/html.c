// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text and elements of HTML, made harmless.
 */
#include "report/report.h"

#include <string.h>

void html_text(GString *out, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	text_escape(out, s);
	g_free(s);
}

void html_element(GString *out, const char *tag, const char *class, const char *text)
{
	g_string_append_printf(out, "<%s", tag);
	if (class)
		g_string_append_printf(out, " class=\"%s\"", class);
	g_string_append_c(out, '>');
	text_escape(out, text);
	g_string_append_printf(out, "</%s>", tag);
}

const char *html_class(const char *word)
{
	static const struct {
		const char *word, *class;
	} classes[] = {
		{ "pass", "pass" }, { "fail", "fail" }, { "broken", "broken" }, { "skip", "skip" },
		{ "fixed", "pass" }, { "still passing", "pass" }, { "regressed", "fail" },
		{ "still failing", "fail" }, { "not fixed", "fail" }, { "flaky", "broken" },
		{ "not reproduced", "fail" }, { "inconclusive", "broken" }, { "killed", "pass" },
		{ "caught", "pass" }, { "survived", "fail" }, { "explained", "skip" },
		{ "identical", "skip" }, { "worse", "fail" }, { "better", "pass" },
		{ "skipped", "skip" }, { "build error", "broken" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
		if (!strcmp(word, classes[i].word))
			return classes[i].class;
	return NULL;
}
