// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which files a patch changes.  The rules are those of git apply (apply.c of git:
 * find_header, git_header_name, parse_git_diff_header): a line counts as a header
 * only where git would take it for one.
 */
#include <stdlib.h>
#include <string.h>

#include "source/source.h"
#include "source/patch.h"

static void change_free(gpointer p)
{
	struct patched *c = p;

	g_free(c->old);
	g_free(c->new);
	g_free(c);
}

/* ---- lines ---- */

struct reader {
	const char *p, *end;
};

/* The next line, g_free() it; NULL at the end */
static char *next_line(struct reader *r)
{
	const char *nl, *start = r->p;

	if (start >= r->end)
		return NULL;
	nl = memchr(start, '\n', r->end - start);
	r->p = nl ? nl + 1 : r->end;
	return g_strndup(start, (nl ? nl : r->end) - start);
}

static bool next_starts(const struct reader *r, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(r->end - r->p) >= n && !memcmp(r->p, with, n);
}

/* The numbers of "@@ -a,b +c,d @@": how many lines of each side follow */
static bool hunk_counts(const char *line, unsigned long *old, unsigned long *new)
{
	unsigned long n[2] = { 1, 1 };
	const char *p = line;
	char *end;

	if (strncmp(line, "@@ -", 4))
		return false;
	p += 4;
	for (int i = 0; i < 2; i++) {
		if (!g_ascii_isdigit(*p))
			return false;
		strtoul(p, &end, 10);
		if (*end == ',' && g_ascii_isdigit(end[1]))
			n[i] = strtoul(end + 1, &end, 10);
		p = end;
		if (i == 0) {
			if (p[0] != ' ' || p[1] != '+')
				return false;
			p += 2;
		}
	}
	*old = n[0];
	*new = n[1];
	return !strncmp(p, " @@", 3);
}

/* Inside a hunk every line is content, whatever it looks like */
static void skip_hunk(struct reader *r, unsigned long old, unsigned long new)
{
	while (old || new) {
		g_autofree char *line = next_line(r);

		if (!line)
			return;
		if ((line[0] == ' ' || line[0] == '-' || !line[0]) && old)
			old--;
		if ((line[0] == ' ' || line[0] == '+' || !line[0]) && new)
			new--;
	}
}

/* ---- names ---- */

/* A name as git and diff write it: perhaps quoted, a time after a tab; NULL for /dev/null */
static char *file_name(const char *s)
{
	g_autofree char *raw = g_strdup(s);

	if (raw[0] == '"') {
		char *end = strrchr(raw + 1, '"');

		if (!end)
			return g_strdup("..");
		*end = '\0';
		return g_strcompress(raw + 1);
	}
	raw[strcspn(raw, "\t")] = '\0';
	g_strchomp(raw);
	return strcmp(raw, "/dev/null") ? g_steal_pointer(&raw) : NULL;
}

static const char *after_slash(const char *s)
{
	const char *slash = strchr(s, '/');

	return slash ? slash + 1 : NULL;
}

/* The two names of "diff --git OLD NEW"; they are the same but for the leading folder, or unknown */
static void git_names(const char *rest, char **old, char **new)
{
	if (rest[0] == '"') {
		const char *p = rest + 1;

		while (*p && *p != '"')
			p += *p == '\\' && p[1] ? 2 : 1;
		if (*p == '"' && p[1] == ' ') {
			g_autofree char *left = g_strndup(rest, p + 1 - rest);

			*old = file_name(left);
			*new = file_name(p + 2);
		}
		return;
	}
	for (const char *p = strchr(rest, ' '); p; p = strchr(p + 1, ' ')) {
		g_autofree char *left = g_strndup(rest, p - rest);
		const char *a = after_slash(left), *b = after_slash(p + 1);

		if (strcmp(left, p + 1) && (!a || !b || strcmp(a, b)))
			continue;
		*old = file_name(left);
		*new = file_name(p + 1);
		return;
	}
}

/* ---- headers ---- */

static bool special_mode(const char *line)
{
	static const char *const heads[] = { "new file mode ", "new mode ", "old mode ", "deleted file mode " };

	for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
		if (g_str_has_prefix(line, heads[i]))
			return g_str_has_prefix(line + strlen(heads[i]), "120000") ||
			       g_str_has_prefix(line + strlen(heads[i]), "160000");
	return false;
}

static bool refuse(GError **err, const char *name, const char *what)
{
	g_autofree char *shown = mmg_clean(name ? name : "a file", -1, 200);

	mmg_set_error(err, MMG_EXIT_USAGE, "the patch changes %s, which is %s; only the text of "
		      "regular files is applied", shown, what);
	return false;
}

/* A header line after "diff --git": true where it was one; sets names in @c */
static bool git_header_line(const char *line, struct patched *c, bool *names, bool *made, bool *gone)
{
	static const char *const others[] = {
		"old mode ", "new mode ", "similarity index ", "dissimilarity index ", "index ",
		NULL
	};
	static const char *const from[] = { "rename from ", "copy from ", "rename old ", NULL };
	static const char *const to[] = { "rename to ", "copy to ", "rename new ", NULL };

	for (int i = 0; from[i]; i++) {
		bool old = g_str_has_prefix(line, from[i]), new = g_str_has_prefix(line, to[i]);
		char **name = old ? &c->old : &c->new;

		if (!old && !new)
			continue;
		g_free(*name);
		*name = file_name(line + strlen(old ? from[i] : to[i]));
		c->plain = *names = true;
		return true;
	}
	if (g_str_has_prefix(line, "new file mode "))
		return *made = true;
	if (g_str_has_prefix(line, "deleted file mode "))
		return *gone = true;
	for (int i = 0; others[i]; i++)
		if (g_str_has_prefix(line, others[i]))
			return true;
	return false;
}

/* "--- OLD" and the "+++ NEW" that follows */
static void plain_header(struct reader *r, const char *line, struct patched *c)
{
	g_autofree char *next = next_line(r);

	g_free(c->old);
	g_free(c->new);
	c->old = file_name(line + 4);
	c->new = file_name(next + 4);
}

/* The block that "diff --git @rest" begins, up to its first hunk; false with *@err */
static bool git_block(struct reader *r, const char *rest, GPtrArray *changes, GError **err)
{
	struct patched *c = g_new0(struct patched, 1);
	bool names = false, made = false, gone = false, ok = true;
	struct reader before;

	g_ptr_array_add(changes, c);
	git_names(rest, &c->old, &c->new);
	for (;;) {
		g_autofree char *line = NULL;

		before = *r;
		line = next_line(r);
		if (!line)
			break;
		if (special_mode(line)) {
			ok = refuse(err, c->new ? c->new : c->old, "a symbolic link or a submodule");
			break;
		}
		if (git_header_line(line, c, &names, &made, &gone))
			continue;
		if (!strcmp(line, "GIT binary patch") || (g_str_has_prefix(line, "Binary files ") &&
							  g_str_has_suffix(line, " differ"))) {
			ok = refuse(err, c->new ? c->new : c->old, "binary");
			break;
		}
		if (g_str_has_prefix(line, "--- ") && next_starts(r, "+++ ")) {
			if (c->plain) {
				g_free(next_line(r));
			} else {
				plain_header(r, line, c);
			}
			return true;
		}
		*r = before;
		break;
	}
	if (made && !names)
		g_clear_pointer(&c->old, g_free);
	if (gone && !names)
		g_clear_pointer(&c->new, g_free);
	/* a line that looks like a header in somebody's text */
	if (ok && !c->old && !c->new)
		g_ptr_array_remove_index(changes, changes->len - 1);
	return ok;
}

GPtrArray *patch_changes(const char *patch, gsize len, GError **err)
{
	g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(change_free);
	struct reader r = { patch, patch + len };
	char *line;

	for (; (line = next_line(&r)); g_free(line)) {
		unsigned long old, new;
		bool ok = true;

		if (g_str_has_prefix(line, "diff --git ")) {
			ok = git_block(&r, line + strlen("diff --git "), changes, err);
		} else if (g_str_has_prefix(line, "--- ") && next_starts(&r, "+++ ")) {
			struct reader here = r;
			struct patched *c = g_new0(struct patched, 1);

			plain_header(&r, line, c);
			if (next_starts(&r, "@@ -")) {
				g_ptr_array_add(changes, c);
			} else {
				change_free(c);
				r = here;
			}
		} else if (hunk_counts(line, &old, &new) && changes->len) {
			skip_hunk(&r, old, new);
		} else if (changes->len && g_str_has_prefix(line, "Binary files ") &&
			   g_str_has_suffix(line, " differ")) {
			/* diff -r; before the first file it is somebody's text */
			g_autofree char *name = g_strndup(line + strlen("Binary files "),
							  strcspn(line + strlen("Binary files "), " "));

			ok = refuse(err, name, "binary");
		}
		if (!ok) {
			g_free(line);
			return NULL;
		}
	}
	return g_steal_pointer(&changes);
}

/* ---- where they lie ---- */

/* @name without @strip leading folders; NULL where it has not so many */
static const char *stripped(const char *name, int strip)
{
	for (; name && strip; strip--)
		name = after_slash(name);
	return name;
}

static bool fits(const struct patched *c, int strip, bool (*exists)(const char *path, void *data),
		 void *data)
{
	const char *old = c->old ? stripped(c->old, strip) : NULL;
	const char *new = c->new ? stripped(c->new, strip) : NULL;
	g_autofree char *dir = NULL;

	if ((old && exists(old, data)) || (new && exists(new, data)))
		return true;
	if (c->old || !new)
		return false;
	dir = g_path_get_dirname(new);
	return exists(dir, data);
}

int patch_strip(const GPtrArray *changes, bool (*exists)(const char *path, void *data), void *data)
{
	unsigned int with[2] = { 0 };

	for (guint i = 0; i < changes->len; i++)
		for (int strip = 0; strip < 2; strip++) {
			const struct patched *c = changes->pdata[i];

			with[strip] += !c->plain && fits(c, strip, exists, data);
		}
	return with[0] <= with[1];
}

static bool add_path(GPtrArray *paths, GHashTable *seen, const char *name, int strip, GError **err)
{
	const char *path = stripped(name, strip);

	if (!path || *name == '/' || !path_is_inside(path)) {
		g_autofree char *shown = mmg_clean(name, -1, 200);

		mmg_set_error(err, MMG_EXIT_USAGE, "the patch touches '%s', which is not a path inside "
			      "the source tree (with one leading folder, as git writes it)", shown);
		return false;
	}
	if (g_hash_table_add(seen, g_strdup(path)))
		g_ptr_array_add(paths, g_strdup(path));
	return true;
}

GPtrArray *patch_paths(const GPtrArray *changes, int strip, GError **err)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < changes->len; i++) {
		const struct patched *c = changes->pdata[i];
		int n = c->plain ? 0 : strip;

		if ((c->old && !add_path(paths, seen, c->old, n, err)) ||
		    (c->new && !add_path(paths, seen, c->new, n, err)))
			return NULL;
	}
	return g_steal_pointer(&paths);
}
