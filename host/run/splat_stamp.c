// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stands before a kernel's words on a console: the kernel's own time, level
 * and caller (kernel/printk/printk.c: info_print_prefix(), msg_print_ext_header()),
 * those that vendors add, and the stamps of whoever logged it: syslog, journald,
 * dmesg -T and -x, logcat, netconsole, terminal programs.
 */
#include <stdbool.h>
#include <string.h>

#include "run/splat_read.h"

static gsize digits(const char *p)
{
	gsize n = 0;

	while (g_ascii_isdigit(p[n]))
		n++;
	return n;
}

/**
 * stamp_len() - length of the kernel's stamp that begins at @p
 *
 * "[ssss.uuuuuu]", of as many digits as the kernel prints, some vendors' CPU
 * number within it.
 *
 * Return: 0 where none does.
 */
gsize stamp_len(const char *p)
{
	gsize i = 1, n;

	if (*p != '[')
		return 0;
	while (p[i] == ' ' && i <= 4)
		i++;
	n = digits(p + i);
	if (!n || n > 7 || p[i + n] != '.' || digits(p + i + n + 1) != 6)
		return 0;
	i += n + 7;
	if (p[i] == '@' || p[i] == ',')
		i += 1 + digits(p + i + 1);
	return p[i] == ']' ? i + 1 : 0;
}

/* "[  T123]", "[    C0]": who printed it.  Length, 0 for none. */
static gsize caller_len(const char *p, char *caller, gsize size)
{
	gsize i = 1, n;

	if (*p != '[')
		return 0;
	while (p[i] == ' ')
		i++;
	if (p[i] != 'T' && p[i] != 'C')
		return 0;
	n = digits(p + i + 1);
	if (!n || n > 10 || p[i + 1 + n] != ']')
		return 0;
	g_snprintf(caller, size, "%.*s", (int)n + 1, p + i);
	return i + n + 2;
}

/* What a prefix of another form than the kernel's own may start with */
static bool may_go_on(const char *p)
{
	return *p == '[' || *p == '<' || *p == '(' || *p == '.' || *p == '-' || g_ascii_isdigit(*p) ||
	       (*p == 'c' && g_ascii_isdigit(p[1])) || (*p == 'k' && p[1] == 'e' && p[2] == 'r' && p[3] == 'n') ||
	       (g_ascii_isupper(*p) && (p[1] == '[' || (g_ascii_islower(p[1]) && g_ascii_islower(p[2]) && p[3] == ' '))) ||
	       ((guchar)*p >= 0x80 && strstr(p, "kernel:"));
}

/**
 * stamp_cut() - take stamps, levels and caller ids off a line
 * @line: without control characters
 * @out: points into @line
 */
void stamp_cut(const char *line, struct stamped *out)
{
	static GRegex *forms;
	const char *p = line;
	GMatchInfo *m;
	gsize n;
	int skip = 0;

	if (!forms)
		forms = g_regex_new("^(?:[ \\t]*(?:<\\d{1,3}>|(?<stamp>\\[ *\\d+\\.\\d*(?:[@,]\\d+)?\\]|^\\d+\\.\\d{6}\\]|\\[ *\\d{4,}\\](?=\\[))|"
				    "\\[ *(?<caller>[TCP]\\d+)[^][]{0,40}\\]|\\[pid:\\d+,cpu\\d+,[^][]{0,40}\\]|"
				    /* dmesg -T and --reltime, terminal programs */
				    "\\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\\d+ [\\d:.]+ \\d{4}\\]|"
				    "\\[[A-Z][a-z]{2} ?\\d+ [\\d:.]+\\]|\\[ *\\+ *\\d+\\.\\d+\\]|"
				    "\\[\\d{4}-\\d\\d-\\d\\d[T ][\\d:.,]+(?:Z|[+-]\\d\\d:?\\d\\d)?\\]|\\[\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?\\]|"
				    /* syslog in both its forms, journald, OpenWrt */
				    "\\d{4}-\\d\\d-\\d\\d[T ][\\d:.,]+(?:Z|[+-]\\d\\d:?\\d\\d)?(?: (?:\\S+ ){0,2}(?=kernel(?:\\[\\d+\\])?:))?|"
				    "[^\\s\\d[<(]\\S{0,9} +\\d+ [\\d:.]+ (?:\\S+ )?(?=kernel(?:\\[\\d+\\])?:)|"
				    "[A-Z][a-z]{2} [A-Z][a-z]{2} +\\d+ [\\d:.]+ \\d{4} (?:\\S+ ){0,2}(?=kernel:)|"
				    "\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?:? (?= *\\[)|"
				    /* logcat -b kernel; dmesg -x; /dev/kmsg and netconsole */
				    "\\d\\d-\\d\\d [\\d:.]+ +\\d+ +\\d+ [VDIWEF] [^:]{0,30}:|(?:kern\\.[a-z]+ +)?kernel(?:\\[\\d+\\])?:|"
				    "kern +: ?[a-z]+ *: ?|\\d{1,3},\\d+,\\d+,[-c+](?:,[^;]{0,80})?;|"
				    /* vendors: CPU, process and whether interrupts are off */
				    "[.-]?\\(\\d+\\)(?=\\[)|[A-Z]?\\[ *\\d+: *[^][]{0,40}\\]|c\\d{1,3} +\\d+ |\\[c\\d{1,3}\\]|\\(d\\d+\\)(?= ?\\[))"
				    ")+ ?", G_REGEX_OPTIMIZE, 0, NULL);
	out->stamped = false;
	*out->caller = '\0';
	p += strspn(p, " ");
	n = stamp_len(p);
	if (n) {
		const char *q = p + n;

		q += caller_len(q, out->caller, sizeof(out->caller));
		out->stamped = true;
		p = q + (*q == ' ');
		if (!may_go_on(p + strspn(p, " "))) {
			out->line = p;
			return;
		}
	} else if (!may_go_on(p)) {
		out->line = line;
		return;
	}
	/* any other form, from the line's start again */
	g_regex_match(forms, line, 0, &m);
	if (g_match_info_matches(m)) {
		char *caller = g_match_info_fetch_named(m, "caller"), *stamp = g_match_info_fetch_named(m, "stamp");

		g_match_info_fetch_pos(m, 0, NULL, &skip);
		if (caller && *caller)
			g_strlcpy(out->caller, caller, sizeof(out->caller));
		out->stamped |= stamp && *stamp;
		g_free(caller);
		g_free(stamp);
	}
	g_match_info_free(m);
	out->line = line + MAX(skip, 0);
}

/*
 * A character of more than one byte, as mmg_clean() takes it: those that change
 * the direction of a text or control a terminal are blanks.  Return: its bytes.
 */
static gsize wide(const char *p, gsize len, GString *out)
{
	gunichar c = g_utf8_get_char_validated(p, len);

	if (c == (gunichar)-1 || c == (gunichar)-2) {
		g_string_append(out, "\357\277\275");
		return 1;
	}
	if (c < 0xa0 || c == 0xfffe || c == 0xffff || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		g_string_append_c(out, ' ');
	else
		g_string_append_len(out, p, g_unichar_to_utf8(c, NULL));
	return g_unichar_to_utf8(c, NULL);
}

/**
 * line_clean() - one line of a console as text
 * @p: bytes of any content
 * @len: how many
 * @out: set to the text: terminal colours are gone, control characters are blanks,
 *	what is not UTF-8 is marked
 */
void line_clean(const char *p, gsize len, GString *out)
{
	g_string_truncate(out, 0);
	for (gsize i = 0; i < len; i++) {
		guchar c = p[i];

		if (c >= 0x80) {
			i += wide(p + i, len - i, out) - 1;
			continue;
		}
		if (c == 033 && i + 1 < len && p[i + 1] == '[') {
			gsize j = i + 2;

			/* parameters, then one letter: ECMA-48, 5.4 */
			while (j < len && j < i + 32 && ((guchar)p[j] >= 0x20 && (guchar)p[j] < 0x40))
				j++;
			if (j < len && (guchar)p[j] >= 0x40 && (guchar)p[j] < 0x7f) {
				i = j;
				continue;
			}
		}
		g_string_append_c(out, c >= 0x20 || c == '\t' ? (c == 0x7f ? ' ' : c) : ' ');
	}
}
