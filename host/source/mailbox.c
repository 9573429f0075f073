// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mailbox and the patch series in it.
 */
#include "source/mailbox.h"

#include <gio/gio.h>
#include <gmime/gmime.h>
#include <string.h>
#include <sys/stat.h>

#include "source/git.h"
#include "source/patch.h"

#define MAX_MAIL	(64 << 20)
#define MAX_MAILS	100000

void letter_free(gpointer letter)
{
	struct letter *l = letter;

	g_free(l->id);
	g_free(l->root);
	g_free(l->from);
	g_free(l->address);
	g_free(l->to);
	g_free(l->cc);
	g_free(l->subject);
	g_free(l->title);
	g_free(l->references);
	g_free(l->base);
	g_bytes_unref(l->raw);
	g_free(l);
}

void mailed_free(gpointer mailed)
{
	struct mailed *s = mailed;

	g_free(s->id);
	g_free(s->title);
	g_free(s->base);
	g_ptr_array_unref(s->letters);
	g_free(s);
}

/* ---- one mail ---- */

static char *addresses(InternetAddressList *list)
{
	return list && internet_address_list_length(list) ? internet_address_list_to_string(list, NULL, FALSE) :
							     NULL;
}

/* The decoded text of all text parts, in one */
static void collect_text(GMimeObject *parent, GMimeObject *part, gpointer data)
{
	GString *text = data;
	g_autofree char *t = NULL;

	(void)parent;
	if (!GMIME_IS_TEXT_PART(part))
		return;
	t = g_mime_text_part_get_text(GMIME_TEXT_PART(part));
	if (t)
		g_string_append(text, t);
}

static char *base_of(const char *text)
{
	g_autoptr(GRegex) re = g_regex_new("^base-commit: ([0-9a-f]{40})\\s*$", G_REGEX_MULTILINE, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;

	return g_utf8_validate(text, -1, NULL) && g_regex_match(re, text, 0, &m) ? g_match_info_fetch(m, 1) : NULL;
}

static void read_threading(struct letter *l, GMimeMessage *message)
{
	const char *refs = g_mime_object_get_header(GMIME_OBJECT(message), "References");
	const char *reply = g_mime_object_get_header(GMIME_OBJECT(message), "In-Reply-To");
	GMimeReferences *list = refs || reply ? g_mime_references_parse(NULL, refs ?: reply) : NULL;
	GString *all = g_string_new(NULL);

	for (int i = 0; list && i < g_mime_references_length(list); i++) {
		g_autofree char *id = mmg_clean(g_mime_references_get_message_id(list, i), -1, 500);

		if (!l->root && *id)
			l->root = g_strdup(id);
		g_string_append_printf(all, "<%s> ", id);
	}
	if (list)
		g_mime_references_free(list);
	g_string_append_printf(all, "<%s>", l->id);
	l->references = g_string_free(all, FALSE);
	if (!l->root)
		l->root = g_strdup(l->id);
}

static void read_subject(struct letter *l, bool has_change)
{
	struct mail m = { 0 };

	mail_read_subject(&m, l->subject);
	l->title = g_strdup(m.title);
	l->revision = m.revision;
	l->cover = m.tagged && !m.reply && m.number == 0;
	l->patch = m.tagged && !m.reply && m.number != 0 && has_change;
	g_free(m.subject);
	g_free(m.title);
}

static bool has_change(const char *text)
{
	g_autoptr(GError) e = NULL;
	g_autoptr(GPtrArray) changes = patch_changes(text, strlen(text), &e);

	/* what cannot be applied is refused later, with its reason */
	return e || (changes && changes->len);
}

/* NULL where the bytes are no mail that could be answered */
static struct letter *letter_new(GBytes *raw)
{
	g_autoptr(GString) text = g_string_new(NULL);
	GMimeStream *stream = g_mime_stream_mem_new_with_buffer(g_bytes_get_data(raw, NULL),
								 g_bytes_get_size(raw));
	GMimeParser *parser = g_mime_parser_new_with_stream(stream);
	GMimeMessage *message;
	InternetAddressList *from;
	struct letter *l = NULL;
	const char *id;
	GDateTime *date;

	message = g_mime_parser_construct_message(parser, NULL);
	id = message ? g_mime_message_get_message_id(message) : NULL;
	if (id && *id) {
		l = g_new0(struct letter, 1);
		l->id = mmg_clean(id, -1, 500);
		l->raw = g_bytes_ref(raw);
		from = g_mime_message_get_from(message);
		l->from = addresses(from);
		if (from && internet_address_list_length(from) &&
		    INTERNET_ADDRESS_IS_MAILBOX(internet_address_list_get_address(from, 0)))
			l->address = g_ascii_strdown(internet_address_mailbox_get_addr(
				INTERNET_ADDRESS_MAILBOX(internet_address_list_get_address(from, 0))) ?: "", -1);
		l->to = addresses(g_mime_message_get_to(message));
		l->cc = addresses(g_mime_message_get_cc(message));
		l->subject = mmg_clean(g_mime_message_get_subject(message) ?: "", -1, 500);
		date = g_mime_message_get_date(message);
		l->date = date ? g_date_time_to_unix(date) : 0;
		g_mime_message_foreach(message, collect_text, text);
		l->base = base_of(text->str);
		read_threading(l, message);
		read_subject(l, has_change(text->str));
	}
	if (message)
		g_object_unref(message);
	g_object_unref(parser);
	g_object_unref(stream);
	return l;
}

static bool take(GPtrArray *letters, GHashTable *seen, guint *odd, GBytes *raw, GError **err)
{
	struct letter *l = letter_new(raw);

	if (letters->len >= MAX_MAILS) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the mailbox holds more than %d mails", MAX_MAILS);
		if (l)
			letter_free(l);
		return false;
	}
	if (!l)
		++*odd;
	else if (g_hash_table_add(seen, l->id))
		g_ptr_array_add(letters, l);
	else
		letter_free(l);		/* the same mail by two lists */
	return true;
}

/* ---- where mails stand ---- */

/* GMime splits an mbox, and takes a lone mail for one of one */
static bool take_file(GPtrArray *letters, GHashTable *seen, guint *odd, const char *path, GError **err)
{
	g_autoptr(GMappedFile) map = NULL;
	g_autoptr(GError) e = NULL;
	const char *p, *end, *next;
	struct stat st;
	bool ok = true;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_MAIL) {
		++*odd;
		return true;
	}
	map = g_mapped_file_new(path, FALSE, &e);
	if (!map) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the mail %s: %s", path, e->message);
		return false;
	}
	p = g_mapped_file_get_contents(map);
	/* an empty file is mapped nowhere */
	end = p ? p + g_mapped_file_get_length(map) : NULL;
	while (ok && p && p < end) {
		g_autoptr(GBytes) raw = NULL;

		/* the next line "From " after an empty one begins another mail */
		for (next = p; (next = g_strstr_len(next, end - next, "\n\nFrom ")); next += 2)
			if (memchr(next + 7, ':', MIN(end - next - 7, 120)))
				break;
		next = next ? next + 2 : end;
		if (next - p > 5 && !memcmp(p, "From ", 5)) {
			const char *nl = memchr(p, '\n', next - p);

			p = nl ? nl + 1 : next;
		}
		raw = g_bytes_new(p, next - p);
		ok = take(letters, seen, odd, raw, err);
		p = next;
	}
	return ok;
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool take_folder(GPtrArray *letters, GHashTable *seen, guint *odd, const char *dir, GError **err)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) e = NULL;
	GDir *d = g_dir_open(dir, 0, &e);
	const char *name;
	bool ok = true;

	if (!d) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the mailbox %s: %s", dir, e->message);
		return false;
	}
	while ((name = g_dir_read_name(d)))
		if (name[0] != '.')
			g_ptr_array_add(names, g_build_filename(dir, name, NULL));
	g_dir_close(d);
	g_ptr_array_sort(names, by_text);
	for (guint i = 0; ok && i < names->len; i++)
		ok = take_file(letters, seen, odd, names->pdata[i], err);
	return ok;
}

/* A commit of a public-inbox repository has its mail as the file "m" */
static bool take_git(GPtrArray *letters, GHashTable *seen, guint *odd, const char *repo, GError **err)
{
	const char *list[] = { "log", "--reverse", "--format=%H", "HEAD", NULL };
	g_autofree char *out = git_read(repo, "listing the mails of the mirror", list, NULL, err);
	g_auto(GStrv) commits = out ? g_strsplit(out, "\n", -1) : NULL;
	bool ok = out;

	for (char **c = commits; ok && c && *c && **c; c++) {
		g_autofree char *spec = g_strconcat(*c, ":m", NULL);
		const char *show[] = { "cat-file", "blob", spec, NULL };
		gsize len;
		char *mail = git_read(repo, "reading a mail of the mirror", show, &len, NULL);
		g_autoptr(GBytes) raw = NULL;

		/* a deleted mail is a commit without "m" */
		if (!mail)
			continue;
		raw = g_bytes_new_take(mail, len);
		ok = len <= MAX_MAIL && take(letters, seen, odd, raw, err);
	}
	return ok;
}

static bool is_repository(const char *path)
{
	g_autofree char *head = g_build_filename(path, "HEAD", NULL);
	g_autofree char *objects = g_build_filename(path, "objects", NULL);
	g_autofree char *dot = g_build_filename(path, ".git", NULL);

	return g_file_test(dot, G_FILE_TEST_EXISTS) ||
	       (g_file_test(head, G_FILE_TEST_EXISTS) && g_file_test(objects, G_FILE_TEST_IS_DIR));
}

GPtrArray *mailbox_read(const char *path, guint *odd, GError **err)
{
	g_autoptr(GPtrArray) letters = g_ptr_array_new_with_free_func(letter_free);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *cur = g_build_filename(path, "cur", NULL);
	g_autofree char *new = g_build_filename(path, "new", NULL);
	g_autofree char *epochs = g_build_filename(path, "git", NULL);
	bool ok;

	g_mime_init();
	*odd = 0;
	if (g_file_test(cur, G_FILE_TEST_IS_DIR) || g_file_test(new, G_FILE_TEST_IS_DIR)) {
		ok = (!g_file_test(cur, G_FILE_TEST_IS_DIR) || take_folder(letters, seen, odd, cur, err)) &&
		     (!g_file_test(new, G_FILE_TEST_IS_DIR) || take_folder(letters, seen, odd, new, err));
	} else if (is_repository(path)) {
		ok = take_git(letters, seen, odd, path, err);
	} else if (g_file_test(epochs, G_FILE_TEST_IS_DIR)) {
		ok = true;
		for (int i = 0; ok && i < 1000; i++) {
			g_autofree char *name = g_strdup_printf("%d.git", i);
			g_autofree char *repo = g_build_filename(epochs, name, NULL);

			if (is_repository(repo))
				ok = take_git(letters, seen, odd, repo, err);
		}
	} else if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
		ok = take_folder(letters, seen, odd, path, err);
	} else if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		ok = take_file(letters, seen, odd, path, err);
	} else {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a maildir, an mbox, a folder of mails or a git "
			      "mirror of a list", path);
		ok = false;
	}
	return ok ? g_steal_pointer(&letters) : NULL;
}

/* ---- series ---- */

static int by_date(gconstpointer a, gconstpointer b)
{
	const struct letter *x = *(struct letter *const *)a, *y = *(struct letter *const *)b;

	return x->date != y->date ? (x->date < y->date ? -1 : 1) : strcmp(x->id, y->id);
}

static struct mailed *mailed_new(const char *root, GPtrArray *thread)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	struct mailed *s = g_new0(struct mailed, 1);

	s->letters = g_ptr_array_new();
	g_ptr_array_sort(thread, by_date);
	for (guint i = 0; i < thread->len; i++) {
		const struct letter *l = thread->pdata[i];

		if (l->patch) {
			g_ptr_array_add(s->letters, (gpointer)l);
			g_checksum_update(sum, (const guchar *)l->id, strlen(l->id) + 1);
		}
		if (l->patch || l->cover)
			s->revision = MAX(s->revision, l->revision);
	}
	for (guint i = 0; i < thread->len; i++) {
		const struct letter *l = thread->pdata[i];

		if ((l->patch || l->cover) && l->revision == s->revision && (!s->first || (l->cover && !s->first->cover)))
			s->first = l;
		if ((l->patch || l->cover) && l->base) {
			g_free(s->base);
			s->base = g_strdup(l->base);
		}
	}
	s->id = g_strdup_printf("%s#%.12s", root, g_checksum_get_string(sum));
	s->title = g_strdup(s->first ? s->first->title : "");
	return s;
}

static int by_first_date(gconstpointer a, gconstpointer b)
{
	return by_date(&(*(struct mailed *const *)a)->first, &(*(struct mailed *const *)b)->first);
}

/* A later revision in a thread of its own has the same author and title */
static void mark_replaced(GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		struct mailed *a = all->pdata[i];

		for (guint j = 0; j < all->len; j++) {
			const struct mailed *b = all->pdata[j];

			if (a != b && !g_ascii_strcasecmp(a->title, b->title) &&
			    !g_strcmp0(a->first->address, b->first->address) &&
			    (b->revision > a->revision || (b->revision == a->revision &&
							   by_date(&b->first, &a->first) > 0)))
				a->newer = b->id;
		}
	}
}

GPtrArray *mailbox_series(const GPtrArray *letters)
{
	g_autoptr(GHashTable) threads = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
							       (GDestroyNotify)g_ptr_array_unref);
	GPtrArray *all = g_ptr_array_new_with_free_func(mailed_free);
	GHashTableIter it;
	gpointer k, v;

	for (guint i = 0; i < letters->len; i++) {
		struct letter *l = letters->pdata[i];
		GPtrArray *thread = g_hash_table_lookup(threads, l->root);

		if (!thread) {
			thread = g_ptr_array_new();
			g_hash_table_insert(threads, l->root, thread);
		}
		g_ptr_array_add(thread, l);
	}
	g_hash_table_iter_init(&it, threads);
	while (g_hash_table_iter_next(&it, &k, &v)) {
		struct mailed *s = mailed_new(k, v);

		if (s->letters->len)
			g_ptr_array_add(all, s);
		else
			mailed_free(s);
	}
	g_ptr_array_sort(all, by_first_date);
	mark_replaced(all);
	return all;
}

bool mailed_write(const struct mailed *s, const char *path, GError **err)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < s->letters->len; i++) {
		const struct letter *l = s->letters->pdata[i];
		gsize len;
		const char *raw = g_bytes_get_data(l->raw, &len);

		g_string_append(text, "From mmgate@localhost Thu Jan  1 00:00:00 1970\n");
		for (const char *p = raw, *end = raw + len; p < end;) {
			const char *nl = memchr(p, '\n', end - p);
			const char *next = nl ? nl + 1 : end;

			if (next - p >= 5 && !memcmp(p, "From ", 5))
				g_string_append_c(text, '>');
			g_string_append_len(text, p, next - p);
			p = next;
		}
		g_string_append(text, "\n\n");
	}
	return mmg_write_atomic(path, text->str, text->len, err);
}
