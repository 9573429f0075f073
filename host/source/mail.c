// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mails that carry patches: git decodes them (git mailinfo knows quoted-printable,
 * base64, format=flowed and what mailers did to them over the years); which of a
 * thread count is decided here, by the rules of b4.
 */
#include <ctype.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/source.h"
#include "source/patch.h"
#include "base/scratch.h"

/* More than any series of patches is */
#define MAX_PATCH	(64 << 20)
#define MAX_MAILS	5000
#define MAX_NUMBER	10000

void mail_free(gpointer mail)
{
	struct mail *m = mail;

	g_free(m->name);
	g_free(m->subject);
	g_free(m->title);
	g_free(m->body);
	if (m->changes)
		g_ptr_array_unref(m->changes);
	g_clear_error(&m->error);
	g_free(m);
}

/* ---- the file ---- */

/* What the compressed file @path holds, at most MAX_PATCH; NULL with *@err */
static GString *inflate(const char *path, GError **err)
{
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GZlibDecompressor) z = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
	g_autoptr(GFileInputStream) raw = g_file_read(file, NULL, err);
	g_autoptr(GInputStream) in = NULL;
	g_autofree char *buf = g_malloc(1 << 16);
	GString *text = g_string_new(NULL);
	gssize n = 0;

	if (!raw) {
		g_string_free(text, TRUE);
		return NULL;
	}
	in = g_converter_input_stream_new(G_INPUT_STREAM(raw), G_CONVERTER(z));
	while (text->len <= MAX_PATCH && (n = g_input_stream_read(in, buf, 1 << 16, NULL, err)) > 0)
		g_string_append_len(text, buf, n);
	if (n >= 0)
		return text;
	g_string_free(text, TRUE);
	return NULL;
}

static GString *file_text(const char *path, GError **err)
{
	GString *text = NULL;
	GError *e = NULL;
	struct stat st;
	char *data;
	gsize len;

	if (stat(path, &st)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the series %s: %s", path, g_strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the series %s is not a regular file or a folder", path);
		return NULL;
	}
	if (st.st_size <= MAX_PATCH && g_file_get_contents(path, &data, &len, &e)) {
		if (len > 2 && !memcmp(data, "\037\213", 2)) {
			text = inflate(path, &e);
		} else {
			text = g_string_sized_new(len + 1);
			g_string_append_len(text, data, len);
		}
		g_free(data);
	}
	if (e) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the series %s: %s", path, e->message);
		g_error_free(e);
		return NULL;
	}
	if (!text || text->len > MAX_PATCH) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is larger than %d MiB: too large for a patch series",
			      path, MAX_PATCH >> 20);
		if (text)
			g_string_free(text, TRUE);
		return NULL;
	}
	return text;
}

/* Lines that end in CR LF, all of them: the way the text came, not the text */
static void drop_crs(GString *text)
{
	gsize to = 0;

	for (const char *p = text->str; (p = strchr(p, '\n')); p++)
		if (p == text->str || p[-1] != '\r')
			return;
	for (gsize i = 0; i < text->len; i++)
		if (text->str[i] != '\r' || text->str[i + 1] != '\n')
			text->str[to++] = text->str[i];
	g_string_truncate(text, to);
}

/* "From <hash or address> <date>", as git format-patch, lore and mail programs write it */
static bool is_from_line(const char *line, const char *end)
{
	g_autofree char *text = NULL;

	if (!g_str_has_prefix(line, "From "))
		return false;
	text = g_strndup(line, end - line);
	return g_regex_match_simple("^From \\S+ .*[0-9]{2}:[0-9]{2}", text, 0, 0);
}

/* Split an mbox (or a file with one mail, or a bare diff) into its messages, GString * */
static GPtrArray *split_mbox(const GString *text)
{
	GPtrArray *parts = g_ptr_array_new();
	const char *start = text->str, *end = text->str + text->len;

	for (const char *p = start; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		const char *next = nl ? nl + 1 : end;

		if (p > start && is_from_line(p, next)) {
			g_ptr_array_add(parts, g_string_new_len(start, p - start));
			start = p;
		}
		p = next;
	}
	g_ptr_array_add(parts, g_string_new_len(start, end - start));
	return parts;
}

/* ---- one mail ---- */

/* True where all lines up to the first empty one are headers, and a subject or sender is among them */
static bool is_mail(const char *text)
{
	bool known = false;
	const char *p = text;

	if (g_str_has_prefix(p, "From ") && strchr(p, '\n'))
		p = strchr(p, '\n') + 1;
	for (; *p && *p != '\n'; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t name = strspn(p, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_");

		if ((*p == ' ' || *p == '\t') && p > text)
			continue;
		if (!name || p[name] != ':')
			return false;
		known |= !g_ascii_strncasecmp(p, "Subject:", 8) || !g_ascii_strncasecmp(p, "From:", 5);
	}
	return known;
}

static const char *skip_reply(const char *s)
{
	static const char *const words[] = { "Re", "Fwd", "Fw", "Aw", "Sv", "Antw", "Wg" };

	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		size_t n = strlen(words[i]);

		if (g_ascii_strncasecmp(s, words[i], n))
			continue;
		if (s[n] == ':')
			return s + n + 1;
		/* "Re[2]:" */
		if (s[n] == '[' && g_ascii_isdigit(s[n + 1]) && strstr(s + n, "]:"))
			return strstr(s + n, "]:") + 2;
	}
	return NULL;
}

/* A word of what stands in brackets: "PATCH", "v3", "2/5" */
static void read_tag(struct mail *m, const char *word)
{
	char *end;
	long a, b;

	if (strcasestr(word, "PATCH")) {
		const char *v = strcasestr(word, "PATCH") + strlen("PATCH");

		m->tagged = true;
		/* "PATCHv3", and "PATCH/RFC" */
		word = *v == '-' || *v == ',' ? v + 1 : v;
	}
	if ((word[0] == 'v' || word[0] == 'V') && g_ascii_isdigit(word[1])) {
		a = strtol(word + 1, &end, 10);
		if (!*end && a < MAX_NUMBER)
			m->revision = a;
	} else if (g_ascii_isdigit(word[0])) {
		a = strtol(word, &end, 10);
		if (*end != '/' || !g_ascii_isdigit(end[1]))
			return;
		b = strtol(end + 1, &end, 10);
		if (!*end && a < MAX_NUMBER && b < MAX_NUMBER) {
			m->number = a;
			m->total = b;
		}
	}
}

void mail_read_subject(struct mail *m, const char *subject)
{
	const char *p = subject, *next;

	m->subject = mmg_clean(subject, -1, 300);
	m->revision = 1;
	m->number = m->total = -1;
	for (;;) {
		p += strspn(p, " \t");
		next = skip_reply(p);
		if (next) {
			m->reply = true;
			p = next;
		} else if (*p == '[' && strchr(p, ']')) {
			g_autofree char *tags = g_strndup(p + 1, strchr(p, ']') - p - 1);
			g_auto(GStrv) words = g_strsplit_set(tags, " \t,", -1);

			for (char **w = words; *w; w++)
				read_tag(m, *w);
			p = strchr(p, ']') + 1;
		} else {
			break;
		}
	}
	m->title = mmg_clean(p, -1, 300);
	g_strstrip(m->title);
}

/* Decode @raw, by git; the subject in *@subject.  The body from where the patch begins, NULL with *@err */
static GString *decode(const GString *raw, char **subject, GError **err)
{
	g_autofree char *dir = scratch_dir("mail", err);
	g_autofree char *in = NULL, *msg = NULL, *patch = NULL, *text = NULL;
	GString *body = NULL;
	gsize len;

	if (!dir)
		return NULL;
	in = g_build_filename(dir, "mail", NULL);
	msg = g_build_filename(dir, "msg", NULL);
	patch = g_build_filename(dir, "patch", NULL);
	if (mmg_write_atomic(in, raw->str, raw->len, err)) {
		const char *argv[] = { "sh", "-c", "exec git mailinfo -k --encoding=UTF-8 \"$1\" \"$2\" <\"$3\"",
				       "sh", msg, patch, in, NULL };
		/* in no repository */
		const char *env[] = { "GIT_DIR=/dev/null", NULL };
		g_autoptr(GString) out = g_string_new(NULL);
		struct mmg_cmd cmd = { .what = "decoding a mail", .argv = argv, .env = env, .out = out,
				       .cwd = dir };
		const char *line;

		if (mmg_run(&cmd, err)) {
			line = strstr(out->str, "Subject: ");
			if (line)
				*subject = g_strndup(line + strlen("Subject: "),
						     strcspn(line + strlen("Subject: "), "\n"));
			body = g_string_new(NULL);
			if (g_file_get_contents(patch, &text, &len, NULL))
				g_string_append_len(body, text, len);
		}
	}
	mmg_rmtree(dir);
	return body;
}

static struct mail *mail_new(const GString *raw, const char *show, guint nr, bool single, GError **err)
{
	struct mail *m = g_new0(struct mail, 1);
	g_autofree char *subject = NULL;
	GString *body;

	m->revision = 1;
	m->number = m->total = -1;
	if (is_mail(raw->str)) {
		body = decode(raw, &subject, err);
		if (!body) {
			mail_free(m);
			return NULL;
		}
		mail_read_subject(m, subject ? subject : "");
	} else {
		body = g_string_new_len(raw->str, raw->len);
	}
	drop_crs(body);
	m->body = g_string_free(body, FALSE);
	if (m->subject && *m->subject)
		m->name = g_strdup_printf("%s (%s)", show, m->subject);
	else
		m->name = single ? g_strdup(show) : g_strdup_printf("%s, patch %u", show, nr);
	m->changes = patch_changes(m->body, strlen(m->body), &m->error);
	return m;
}

bool mails_read(const char *file, const char *show, GPtrArray *mails, GError **err)
{
	g_autoptr(GPtrArray) parts = NULL;
	GString *text = file_text(file, err);
	bool ok = true;

	if (!text)
		return false;
	drop_crs(text);
	parts = split_mbox(text);
	g_string_free(text, TRUE);
	if (parts->len + mails->len > MAX_MAILS) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s holds %u mails: too many for a patch series", show,
			      parts->len);
		ok = false;
	}
	for (guint i = 0; i < parts->len; i++) {
		GString *part = parts->pdata[i];
		struct mail *m = ok ? mail_new(part, show, i + 1, parts->len == 1, err) : NULL;

		ok = m;
		if (m)
			g_ptr_array_add(mails, m);
		g_string_free(part, TRUE);
	}
	return ok;
}

/* ---- which of them count ---- */

static bool has_patch(const struct mail *m)
{
	return m->error || m->changes->len;
}

/* Patches, in the order of the file: no replies, no cover letters, nothing that comes twice */
static GPtrArray *candidates(const GPtrArray *mails, GError **err)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	bool tagged = false;

	for (guint i = 0; i < mails->len; i++) {
		const struct mail *m = mails->pdata[i];

		tagged |= m->tagged && !m->reply && has_patch(m);
	}
	for (guint i = 0; i < mails->len; i++) {
		struct mail *m = mails->pdata[i];
		bool twice = false;

		if (!has_patch(m) || m->number == 0)
			continue;
		if (m->reply || (tagged && m->subject && !m->tagged)) {
			status_note("left out of the series, as it is not sent as a patch: %s", m->name);
			continue;
		}
		for (guint j = 0; j < list->len && m->subject; j++) {
			const struct mail *o = list->pdata[j];

			if (!o->subject || strcmp(o->title, m->title) || o->revision != m->revision ||
			    o->number != m->number || o->total != m->total)
				continue;
			if (strcmp(o->body, m->body)) {
				mmg_set_error(err, MMG_EXIT_USAGE, "%s and %s both are patch %d of revision %d, "
					      "and they differ: leave one out", o->name, m->name,
					      MAX(m->number, 1), m->revision);
				return NULL;
			}
			twice = true;
		}
		if (!twice)
			g_ptr_array_add(list, m);
	}
	return g_steal_pointer(&list);
}

/* Patches without a number: of each title the newest */
static GPtrArray *select_loose(const GPtrArray *list, GError **err)
{
	g_autoptr(GPtrArray) out = g_ptr_array_new();
	const struct mail *newest = list->pdata[0];

	for (guint i = 1; i < list->len; i++)
		if (((struct mail *)list->pdata[i])->revision > newest->revision)
			newest = list->pdata[i];
	for (guint i = 0; i < list->len; i++) {
		struct mail *m = list->pdata[i];
		bool renewed = m->revision == newest->revision;

		if (renewed)
			g_ptr_array_add(out, m);
		for (guint j = 0; !renewed && j < list->len; j++) {
			const struct mail *o = list->pdata[j];

			renewed = m->title && o->title && !strcmp(o->title, m->title) &&
				  o->revision == newest->revision;
		}
		if (!renewed) {
			mmg_set_error(err, MMG_EXIT_USAGE, "is %s an older form of %s, or a patch of its own? "
				      "Leave one of the two out", m->name, newest->name);
			return NULL;
		}
	}
	return g_steal_pointer(&out);
}

/* Numbered patches: each place by its newest revision, older ones only where they are as many */
static GPtrArray *select_numbered(const GPtrArray *list, GError **err)
{
	g_autoptr(GPtrArray) out = g_ptr_array_new();
	g_autoptr(GString) missing = g_string_new(NULL);
	const struct mail *newest = NULL;

	for (guint i = 0; i < list->len; i++) {
		struct mail *m = list->pdata[i];

		if (!newest || m->revision > newest->revision)
			newest = m;
	}
	for (guint i = 0; i < list->len; i++) {
		const struct mail *m = list->pdata[i];

		if (m->revision == newest->revision && m->total != newest->total) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s and %s are of two series: give one file for each",
				      newest->name, m->name);
			return NULL;
		}
	}
	for (int n = 1; n <= newest->total; n++) {
		struct mail *best = NULL;

		for (guint i = 0; i < list->len; i++) {
			struct mail *m = list->pdata[i];

			if (m->number != n || m->total != newest->total)
				continue;
			if (best && m->revision == best->revision) {
				mmg_set_error(err, MMG_EXIT_USAGE, "%s and %s both are patch %d of %d: give one "
					      "series", best->name, m->name, n, m->total);
				return NULL;
			}
			if (!best || m->revision > best->revision)
				best = m;
		}
		if (!best) {
			if (missing->len < 100)
				g_string_append_printf(missing, "%s%d/%d", missing->len ? ", " : "", n,
						       newest->total);
			continue;
		}
		if (best->revision != newest->revision)
			status_note("patch %d of %d is taken from revision %d, as revision %d has none: %s", n,
				    newest->total, best->revision, newest->revision, best->name);
		g_ptr_array_add(out, best);
	}
	if (missing->len && list->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is there, but not %s of revision %d: the series is not "
			      "whole (to take single patches name them in a file 'series' of their folder)",
			      newest->name, missing->str, newest->revision);
		return NULL;
	}
	if (missing->len)
		status_note("one patch of %d is taken alone: %s", newest->total, newest->name);
	return g_steal_pointer(&out);
}

GPtrArray *mails_select(const GPtrArray *mails, GError **err)
{
	g_autoptr(GPtrArray) list = candidates(mails, err);
	const struct mail *numbered = NULL, *loose = NULL;

	if (!list || !list->len)
		return g_steal_pointer(&list);
	for (guint i = 0; i < list->len; i++) {
		const struct mail *m = list->pdata[i];

		if (m->number > 0 && !numbered)
			numbered = m;
		else if (m->number < 0 && !loose)
			loose = m;
	}
	if (numbered && loose) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has a number and %s has none: is the latter part of the "
			      "series? Leave one out", numbered->name, loose->name);
		return NULL;
	}
	return numbered ? select_numbered(list, err) : select_loose(list, err);
}
