// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which functions a change touches.  Both sides of each changed file are cut
 * into top-level definitions; one whose text differs, or that only one side
 * has, is touched.  What stands between definitions is the file's own text.
 */
#include <string.h>

#include "source/source.h"
#include "source/touched.h"

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || c == '_';
}

/* The line that starts at @p is the first of a definition: a word in column 0 that is not a label */
static bool starts_definition(const char *p, const char *end)
{
	const char *q = p;

	if (p >= end || (!g_ascii_isalpha(*p) && *p != '_'))
		return false;
	while (q < end && is_word(*q))
		q++;
	/* "out:" at the left margin, but not "case" or a bit-field */
	return q >= end || *q != ':';
}

/*
 * The name in a signature.  SYSCALL_DEFINE3(name, ...) and its like are named
 * by the macro's first argument, so that two of them are two functions.
 */
static char *signature_name(const char *start, const char *end)
{
	const char *open = memchr(start, '(', end - start), *p, *q;
	bool upper = true;

	if (!open)
		return NULL;
	for (q = open; q > start && g_ascii_isspace(q[-1]); q--)
		;
	for (p = q; p > start && is_word(p[-1]); p--)
		upper &= !g_ascii_islower(p[-1]);
	if (p == q)
		return NULL;
	if (upper && q - p > 3) {
		for (p = open + 1; p < end && g_ascii_isspace(*p); p++)
			;
		for (q = p; q < end && is_word(*q); q++)
			;
		if (p == q)
			return NULL;
	}
	return g_strndup(p, q - p);
}

/*
 * Cut @text into definitions: name -> text (a name that is defined twice, under
 * #ifdef say, has both texts in a row).  What is left over is returned.
 *
 * Kernel style opens a function's body with a '{' in column 0 and closes it with a '}' there.
 */
static char *cut_definitions(const char *text, gsize len, GHashTable *into)
{
	const char *end = text + len, *done = text, *sig = NULL;
	GString *rest = g_string_new(NULL);

	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', end - p), *next = nl ? nl + 1 : end;

		if (*p == '{' && sig) {
			g_autofree char *name = signature_name(sig, p);
			const char *close = g_strstr_len(p, end - p, "\n}");

			if (name && close) {
				const char *old = g_hash_table_lookup(into, name);
				g_autofree char *body = g_strndup(sig, close + 2 - sig);

				g_string_append_len(rest, done, sig - done);
				g_hash_table_insert(into, g_strdup(name),
						    g_strconcat(old ? old : "", body, NULL));
				done = close + 2;
				next = done;
				nl = memchr(next, '\n', end - next);
				next = nl ? nl + 1 : end;
			}
			sig = NULL;
		} else if (starts_definition(p, next)) {
			/* a parameter list may go on over indented lines */
			sig = p;
		} else if (*p == '}' || *p == '#') {
			sig = NULL;
		}
		p = next;
	}
	g_string_append_len(rest, done, end - done);
	return g_string_free(rest, FALSE);
}

static void add(GPtrArray *list, const char *file, const char *function)
{
	struct touched *t = g_new0(struct touched, 1);

	t->file = g_strdup(file);
	t->function = g_strdup(function);
	g_ptr_array_add(list, t);
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void touched_in_text(const char *file, GBytes *before, GBytes *after, GPtrArray *into)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	GBytes *sides[] = { before, after };
	GHashTable *defs[2];
	char *rest[2];
	GHashTableIter it;
	gpointer k;

	for (int i = 0; i < 2; i++) {
		gsize len = 0;
		const char *text = sides[i] ? g_bytes_get_data(sides[i], &len) : NULL;

		defs[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
		rest[i] = cut_definitions(text ? text : "", len, defs[i]);
		g_hash_table_iter_init(&it, defs[i]);
		while (g_hash_table_iter_next(&it, &k, NULL))
			if (g_hash_table_add(names, k))
				g_ptr_array_add(sorted, k);
	}
	g_ptr_array_sort(sorted, by_name);
	for (guint i = 0; i < sorted->len; i++)
		if (g_strcmp0(g_hash_table_lookup(defs[0], sorted->pdata[i]),
			      g_hash_table_lookup(defs[1], sorted->pdata[i])))
			add(into, file, sorted->pdata[i]);
	if (strcmp(rest[0], rest[1]))
		add(into, file, NULL);
	for (int i = 0; i < 2; i++) {
		g_free(rest[i]);
		g_hash_table_unref(defs[i]);
	}
}

void touched_free(gpointer touched)
{
	struct touched *t = touched;

	g_free(t->file);
	g_free(t->function);
	g_free(t);
}

GPtrArray *touched_by(const struct source *src, GHashTable *from, GHashTable *to)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(touched_free);
	g_autoptr(GPtrArray) files = g_ptr_array_new();
	GHashTable *sides[] = { from, to };

	/* what only the first side changes is a difference as well: the fix that base lacks, say */
	for (int i = 0; i < 2; i++) {
		GHashTableIter it;
		gpointer k;

		if (!sides[i])
			continue;
		g_hash_table_iter_init(&it, sides[i]);
		while (g_hash_table_iter_next(&it, &k, NULL))
			if (!i || !from || !g_hash_table_contains(from, k))
				g_ptr_array_add(files, k);
	}
	g_ptr_array_sort(files, by_name);
	for (guint i = 0; i < files->len; i++) {
		const char *file = files->pdata[i];
		g_autoptr(GBytes) before = source_read(src, from, file, NULL);
		g_autoptr(GBytes) after = source_read(src, to, file, NULL);

		touched_in_text(file, before, after, list);
	}
	return list;
}
