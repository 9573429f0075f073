// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an edit that does not fit would have gone: the nearest line, or the
 * function that has another name now.
 */
#include "source/nearest.h"

#include <glib.h>
#include <string.h>

/* Less than this is not a likeness */
#define ALIKE 0.35
#define ALIKE_NAME 0.5

/* @s without white space; g_free() it */
static char *squeeze(const char *s, size_t n)
{
	char *out = g_malloc(n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		if (!g_ascii_isspace(s[i]))
			out[len++] = s[i];
	out[len] = '\0';
	return out;
}

double text_likeness(const char *a, size_t na, const char *b, size_t nb)
{
	g_autofree char *x = squeeze(a, na), *y = squeeze(b, nb);
	size_t lx = strlen(x), ly = strlen(y), common = 0;
	g_autofree guint16 *pairs = NULL;

	if (lx < 2 || ly < 2)
		return !strcmp(x, y) && lx;
	pairs = g_new0(guint16, 65536);
	for (size_t i = 0; i + 1 < lx; i++)
		pairs[(guchar)x[i] << 8 | (guchar)x[i + 1]]++;
	for (size_t i = 0; i + 1 < ly; i++) {
		guint16 *p = &pairs[(guchar)y[i] << 8 | (guchar)y[i + 1]];

		if (*p) {
			--*p;
			common++;
		}
	}
	return 2.0 * common / (lx - 1 + ly - 1);
}

static unsigned int line_number(const char *text, const char *at)
{
	unsigned int n = 1;

	for (const char *p = text; p < at; p++)
		n += *p == '\n';
	return n;
}

/* The line at @p without its indentation, for a message; g_free() it */
static char *shown(const char *p, const char *end)
{
	char *s = g_strndup(p, MIN((size_t)(end - p), 160));

	return g_strstrip(s);
}

char *nearest_line(const char *text, const char *start, const char *end, const char *find)
{
	/* white space in find= may stand for line ends: its first statement is looked for as well */
	size_t whole = strlen(find), first = strcspn(find, ";{\n");
	const char *best = NULL, *best_end = NULL;
	g_autofree char *code = NULL;
	double most = ALIKE;

	for (const char *p = start; p < end;) {
		const char *nl = memchr(p, '\n', end - p), *e = nl ? nl : end;
		double like = MAX(text_likeness(p, e - p, find, whole),
				  text_likeness(p, e - p, find, first));

		if (like > most) {
			most = like;
			best = p;
			best_end = e;
		}
		p = e + 1;
	}
	if (!best)
		return NULL;
	code = shown(best, best_end);
	return g_strdup_printf("line %u: '%s'", line_number(text, best), code);
}

/* The name that a definition starting at @line has, g_free() it; NULL where it is no definition */
static char *defined_name(const char *line)
{
	const char *open = line, *end, *body;

	if (!g_ascii_isalpha(*line) && *line != '_')
		return NULL;
	while (*open && *open != '(' && *open != '\n' && *open != ';' && *open != '=')
		open++;
	if (*open != '(')
		return NULL;
	for (body = open; *body && *body != ';' && *body != '{'; body++)
		;
	if (*body != '{')
		return NULL;
	for (end = open; end > line && g_ascii_isspace(end[-1]); end--)
		;
	for (open = end; open > line && (g_ascii_isalnum(open[-1]) || open[-1] == '_'); open--)
		;
	return end > open ? g_strndup(open, end - open) : NULL;
}

char *nearest_function(const char *text, const char *name, const char *at)
{
	g_autofree char *best = NULL;
	const char *best_at = NULL;
	double most = ALIKE_NAME;

	for (const char *line = text; line && *line; line = strchr(line, '\n') ?
	     strchr(line, '\n') + 1 : NULL) {
		char *n = defined_name(line);
		double like;

		if (!n)
			continue;
		if (at && line > at) {
			g_free(n);
			break;
		}
		like = at ? 1 : text_likeness(n, strlen(n), name, strlen(name));
		if (at || like > most) {
			g_free(best);
			best = n;
			best_at = line;
			most = like;
		} else {
			g_free(n);
		}
	}
	if (!best)
		return NULL;
	if (at)
		return g_strdup_printf("the text is in %s now, line %u", best, line_number(text, at));
	return g_strdup_printf("the nearest name is %s, line %u", best, line_number(text, best_at));
}
