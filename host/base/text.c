// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text laid out for people, and made harmless on the way.
 */
#include "base/base.h"

#include <string.h>

char *mmg_clean(const char *s, gssize len, gsize max)
{
	gsize n = len < 0 ? strlen(s) : (gsize)len;
	char *valid, *p;
	GString *out;

	if (n > max)
		n = max;
	valid = g_utf8_make_valid(s, n);
	out = g_string_sized_new(n);
	for (p = valid; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		if (c == '\t')
			g_string_append_c(out, '\t');
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff ||
			 c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
			 (c >= 0x2066 && c <= 0x2069))
			g_string_append_c(out, ' ');
		else
			g_string_append_unichar(out, c);
	}
	g_free(valid);
	return g_string_free(out, FALSE);
}

/**
 * text_width() - columns that a string takes on a terminal
 * @s: UTF-8 without control characters
 */
int text_width(const char *s)
{
	int n = 0;

	for (; *s; s = g_utf8_next_char(s)) {
		gunichar c = g_utf8_get_char(s);

		if (!g_unichar_iszerowidth(c))
			n += g_unichar_iswide(c) ? 2 : 1;
	}
	return n;
}

/**
 * text_pad() - append a string, then blanks
 * @out: where to
 * @s: UTF-8 without control characters
 * @width: columns to fill; a longer string is not cut
 */
void text_pad(GString *out, const char *s, int width)
{
	int n = width - text_width(s);

	g_string_append(out, s);
	while (n-- > 0)
		g_string_append_c(out, ' ');
}

/* Bytes of @s that fit into @room columns, at least one character */
static gsize fitting(const char *s, int room)
{
	const char *p = s;
	int n = 0;

	while (*p) {
		gunichar c = g_utf8_get_char(p);

		n += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
		if (n > room && p > s)
			break;
		p = g_utf8_next_char(p);
	}
	return p - s;
}

/**
 * text_wrap() - append a paragraph
 * @out: where to
 * @s: valid UTF-8, one line
 * @indent: blanks before each line
 * @width: columns of a line with its indent
 *
 * Breaks at blanks; a word longer than a line is cut.
 */
void text_wrap(GString *out, const char *s, int indent, int width)
{
	int room = MAX(width - indent, 16);
	bool first = true;

	while (*s == ' ')
		s++;
	do {
		gsize n = fitting(s, room), cut = n;

		if (s[n]) {
			while (cut > 0 && s[cut] != ' ')
				cut--;
			if (!cut)
				cut = n;
		}
		if (!first)
			g_string_append_c(out, '\n');
		for (int i = 0; i < indent; i++)
			g_string_append_c(out, ' ');
		g_string_append_len(out, s, cut);
		s += cut;
		while (*s == ' ')
			s++;
		first = false;
	} while (*s);
}

/**
 * text_ascii() - keep only what every mail reader shows alike
 * @s: any bytes
 *
 * Return: printable ASCII, '?' for each other character; g_free() it.
 */
char *text_ascii(const char *s)
{
	GString *out = g_string_new(NULL);
	char *valid = g_utf8_make_valid(s, -1);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		g_string_append_c(out, c >= 0x20 && c < 0x7f ? (char)c : c == '\t' ? ' ' : '?');
	}
	g_free(valid);
	return g_string_free(out, FALSE);
}

/* What no report shows as it is: controls, and marks that turn the direction of text */
static bool harmful(gunichar c)
{
	return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0) ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
	       c == 0x200f || c == 0xfeff || (c & 0xfffe) == 0xfffe || (c >= 0xd800 && c < 0xe000);
}

/**
 * text_harmless() - what a report may show of a text, lines kept
 * @s: any bytes
 *
 * Return: valid UTF-8 that XML can carry, U+FFFD for each other character; g_free() it.
 */
char *text_harmless(const char *s)
{
	g_autofree char *valid = g_utf8_make_valid(s, -1);
	GString *out = g_string_new(NULL);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		g_string_append_unichar(out, harmful(c) ? 0xfffd : c);
	}
	return g_string_free(out, FALSE);
}

/**
 * text_field() - a field of a control file or of another stanza of "Field: value" lines
 * @stanza: its text
 * @field: without the colon, in any case
 *
 * Return: the value without blanks around it, g_free() it; NULL where there is no such line.
 */
char *text_field(const char *stanza, const char *field)
{
	gsize n = strlen(field);
	const char *line = stanza;

	while (line && *line) {
		const char *end = strchr(line, '\n');

		if (!g_ascii_strncasecmp(line, field, n) && line[n] == ':')
			return g_strstrip(end ? g_strndup(line + n + 1, end - line - n - 1) :
					  g_strdup(line + n + 1));
		line = end ? end + 1 : NULL;
	}
	return NULL;
}

/**
 * text_seconds() - a duration for people
 * @s: seconds
 *
 * Return: such as "1.2 s" or "3 min 20 s"; g_free() it.
 */
char *text_seconds(double s)
{
	if (!(s >= 0) || s > 1e9)
		s = 0;
	if (s < 99.95)
		return g_strdup_printf("%.1f s", s);
	if (s < 5999.5)
		return g_strdup_printf("%d min %d s", (int)(s + 0.5) / 60, (int)(s + 0.5) % 60);
	return g_strdup_printf("%d h %d min", (int)(s / 3600), (int)(s / 60) % 60);
}
