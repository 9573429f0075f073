// SPDX-License-Identifier: GPL-2.0-only
/*
 * Edit scripts: small replacements in kernel functions, as data.  An edit names
 * a file, a function and a text that must be found there exactly once, so that
 * it either does what it says or is refused; it never lands somewhere else.
 */
#include <string.h>

#include "source/source.h"
#include "source/nearest.h"

bool path_is_inside(const char *path)
{
	g_auto(GStrv) parts = NULL;

	if (!path || !*path || g_path_is_absolute(path) || strchr(path, '\\') ||
	    strchr(path, '\n'))
		return false;
	parts = g_strsplit(path, "/", -1);
	for (char **p = parts; *p; p++)
		if (!**p || !strcmp(*p, ".") || !strcmp(*p, "..") || !strcmp(*p, ".git"))
			return false;
	return true;
}

/* ---- sources and overlays ---- */

/* A "NAME = value" line of a kernel's top Makefile; g_free() it, NULL where it is not there */
static char *makefile_value(const char *text, const char *name)
{
	g_autofree char *re = g_strdup_printf("^%s = *([0-9]+)", name);
	g_autoptr(GRegex) regex = g_regex_new(re, G_REGEX_MULTILINE, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;

	return g_regex_match(regex, text, 0, &m) ? g_match_info_fetch(m, 1) : NULL;
}

struct source *source_open(const char *tree, const char *name, GError **err)
{
	g_autofree char *makefile = g_build_filename(tree, "Makefile", NULL);
	g_autofree char *kconfig = g_build_filename(tree, "mm", "Kconfig", NULL);
	g_autofree char *text = NULL, *major = NULL, *minor = NULL, *sub = NULL;
	struct source *src;

	if (g_file_get_contents(makefile, &text, NULL, NULL) && g_utf8_validate(text, -1, NULL)) {
		major = makefile_value(text, "VERSION");
		minor = makefile_value(text, "PATCHLEVEL");
		sub = makefile_value(text, "SUBLEVEL");
	}
	if (!major || !minor || !g_file_test(kconfig, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is no kernel source tree: its Makefile has no "
			      "VERSION and PATCHLEVEL, or there is no mm/Kconfig; give the top of one",
			      tree);
		return NULL;
	}
	src = g_new0(struct source, 1);
	src->tree = g_canonicalize_filename(tree, NULL);
	src->name = g_strdup(name ? name : src->tree);
	src->version = sub && strcmp(sub, "0") ?
		g_strdup_printf("%s.%s.%s", major, minor, sub) :
		g_strdup_printf("%s.%s", major, minor);
	return src;
}

void source_free(struct source *src)
{
	if (!src)
		return;
	g_free(src->tree);
	g_free(src->name);
	g_free(src->version);
	g_free(src);
}

static void bytes_unref0(gpointer p)
{
	if (p)
		g_bytes_unref(p);
}

GHashTable *overlay_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, bytes_unref0);
}

void overlay_set(GHashTable *overlay, const char *path, GBytes *bytes)
{
	g_hash_table_replace(overlay, g_strdup(path), bytes);
}

GHashTable *overlay_copy(GHashTable *overlay)
{
	GHashTable *copy = overlay_new();
	GHashTableIter it;
	gpointer k, v;

	if (!overlay)
		return copy;
	g_hash_table_iter_init(&it, overlay);
	while (g_hash_table_iter_next(&it, &k, &v))
		overlay_set(copy, k, v ? g_bytes_ref(v) : NULL);
	return copy;
}

char *overlay_hash(GHashTable *overlay)
{
	g_autoptr(GChecksum) sum = NULL;
	g_autoptr(GList) keys = NULL;

	if (!overlay || !g_hash_table_size(overlay))
		return g_strdup("");
	sum = g_checksum_new(G_CHECKSUM_SHA256);
	keys = g_list_sort(g_hash_table_get_keys(overlay), (GCompareFunc)strcmp);
	for (GList *k = keys; k; k = k->next) {
		GBytes *b = g_hash_table_lookup(overlay, k->data);
		g_autofree char *head = g_strdup_printf("%s %ld\n", (char *)k->data,
							b ? (long)g_bytes_get_size(b) : -1L);

		g_checksum_update(sum, (const guchar *)head, -1);
		if (b)
			g_checksum_update(sum, g_bytes_get_data(b, NULL), g_bytes_get_size(b));
	}
	return g_strdup(g_checksum_get_string(sum));
}

GBytes *source_read(const struct source *src, GHashTable *overlay, const char *path, GError **err)
{
	g_autofree char *full = g_build_filename(src->tree, path, NULL);
	g_autoptr(GError) e = NULL;
	gpointer v;
	char *text;
	gsize len;

	if (overlay && g_hash_table_lookup_extended(overlay, path, NULL, &v)) {
		if (v)
			return g_bytes_ref(v);
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s was deleted from %s", path, src->name);
		return NULL;
	}
	if (!g_file_get_contents(full, &text, &len, &e)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s has no %s: %s", src->name, path, e->message);
		return NULL;
	}
	return g_bytes_new_take(text, len);
}

/* ---- reading edit scripts ---- */

static const char *const edit_keys[] = {
	"file", "function", "find", "replace", "kernels", "step", NULL
};

static const char *const script_keys[] = {
	"about", "room", "kernels", "arch", "notice", "survives", NULL
};

bool conf_keys_known(GKeyFile *kf, const char *path, const char *group, const char *const *known,
		     GError **err)
{
	g_auto(GStrv) keys = g_key_file_get_keys(kf, group, NULL, NULL);

	for (char **k = keys; k && *k; k++) {
		if (!g_strv_contains(known, *k)) {
			g_autofree char *all = g_strjoinv(", ", (char **)known);

			mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] has an unknown key %s; known: %s",
				      path, group, *k, all);
			return false;
		}
	}
	return true;
}

static bool check_range(const char *range, const char *where, GError **err)
{
	if (!range || version_range_valid(range))
		return true;
	mmg_set_error(err, MMG_EXIT_USAGE, "%s: kernels=%s is no range; write FROM..TO, such as "
		      "6.12..6.13 (from 6.12, before 6.13) or 6.1..", where, range);
	return false;
}

static bool is_name(const char *s)
{
	if (!*s || g_ascii_isdigit(*s))
		return false;
	for (; *s; s++)
		if (!g_ascii_isalnum(*s) && *s != '_')
			return false;
	return true;
}

static struct edit *edit_read(GKeyFile *kf, const char *path, const char *group, GError **err)
{
	struct edit *e;

	if (!conf_keys_known(kf, path, group, edit_keys, err))
		return NULL;
	e = g_new0(struct edit, 1);
	e->where = g_strdup_printf("%s [%s]", path, group);
	e->file = g_key_file_get_string(kf, group, "file", NULL);
	e->function = g_key_file_get_string(kf, group, "function", NULL);
	e->find = g_key_file_get_string(kf, group, "find", NULL);
	e->replace = g_key_file_get_string(kf, group, "replace", NULL);
	e->kernels = g_key_file_get_string(kf, group, "kernels", NULL);
	e->step = g_key_file_get_string(kf, group, "step", NULL);
	if (!e->file || !e->find || !e->replace || !*g_strstrip(e->find)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s needs file=, find= and replace=", e->where);
	} else if (!path_is_inside(e->file)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: file=%s leaves the source tree", e->where,
			      e->file);
	} else if (e->function && !is_name(e->function)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: function=%s is not the name of a function", e->where,
			      e->function);
	} else if (!strcmp(e->find, e->replace)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s replaces a text by itself", e->where);
	} else if (check_range(e->kernels, e->where, err)) {
		return e;
	}
	edit_free(e);
	return NULL;
}

bool edit_read_groups(GKeyFile *kf, const char *path, GPtrArray *edits, GError **err)
{
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);

	for (char **g = groups; *g; g++) {
		struct edit *e;

		if (strcmp(*g, "edit") && !g_str_has_prefix(*g, "edit "))
			continue;
		e = edit_read(kf, path, *g, err);
		if (!e)
			return false;
		g_ptr_array_add(edits, e);
	}
	return true;
}

static bool script_read(GKeyFile *kf, const char *path, struct edit_script *s, GError **err)
{
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);
	g_auto(GStrv) notice = NULL;

	for (char **g = groups; *g; g++) {
		if (strcmp(*g, "mutant") && strcmp(*g, "edit") && !g_str_has_prefix(*g, "edit ")) {
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "%s has an unknown group [%s]; known: mutant, edit NAME",
				      path, *g);
			return false;
		}
	}
	if (!conf_keys_known(kf, path, "mutant", script_keys, err))
		return false;
	s->about = g_key_file_get_string(kf, "mutant", "about", NULL);
	s->room = g_key_file_get_string(kf, "mutant", "room", NULL);
	s->kernels = g_key_file_get_string(kf, "mutant", "kernels", NULL);
	s->arch = g_key_file_get_string(kf, "mutant", "arch", NULL);
	s->survives = g_key_file_get_string(kf, "mutant", "survives", NULL);
	notice = g_key_file_get_string_list(kf, "mutant", "notice", NULL, NULL);
	for (char **n = notice; n && *n; n++)
		g_ptr_array_add(s->notice, g_strdup(*n));
	if (!s->about || !s->room || (!s->notice->len && !s->survives)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s needs about=, room= and notice= (or survives=) "
			      "in [mutant]", path);
		return false;
	}
	if (!check_range(s->kernels, path, err) || !edit_read_groups(kf, path, s->edits, err))
		return false;
	if (!s->edits->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has no [edit] group", path);
		return false;
	}
	return true;
}

struct edit_script *edit_script_load(const char *file, GError **err)
{
	g_autoptr(GKeyFile) kf = conf_load(file, err);
	g_autofree char *base = g_path_get_basename(file);
	struct edit_script *s;

	if (!kf)
		return NULL;
	s = g_new0(struct edit_script, 1);
	s->name = g_str_has_suffix(base, ".conf") ? g_strndup(base, strlen(base) - 5) :
						    g_strdup(base);
	s->notice = g_ptr_array_new_with_free_func(g_free);
	s->edits = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	if (script_read(kf, file, s, err))
		return s;
	edit_script_free(s);
	return NULL;
}

void edit_free(struct edit *e)
{
	if (!e)
		return;
	g_free(e->file);
	g_free(e->function);
	g_free(e->find);
	g_free(e->replace);
	g_free(e->kernels);
	g_free(e->step);
	g_free(e->where);
	g_free(e);
}

void edit_script_free(struct edit_script *s)
{
	if (!s)
		return;
	g_free(s->name);
	g_free(s->about);
	g_free(s->room);
	g_free(s->kernels);
	g_free(s->arch);
	g_free(s->survives);
	g_ptr_array_unref(s->notice);
	g_ptr_array_unref(s->edits);
	g_free(s);
}

bool edit_script_fits(const struct edit_script *s, const char *version, const char *arch)
{
	if (!version_in_range(s->kernels, version) || (s->arch && strcmp(s->arch, arch)))
		return false;
	for (guint i = 0; i < s->edits->len; i++)
		if (version_in_range(((struct edit *)s->edits->pdata[i])->kernels, version))
			return true;
	return false;
}

/* ---- applying ---- */

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || c == '_';
}

/* First character after the bracket that closes the one at @p, or NULL */
static const char *skip_brackets(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		if (*p == '(')
			depth++;
		else if (*p == ')' && --depth == 0)
			return p + 1;
	}
	return NULL;
}

bool edit_definition(const char *text, const char *name, const char *from, const char **start,
		     const char **end)
{
	size_t len = strlen(name);

	for (const char *p = from; (p = strstr(p, name)); p += len) {
		const char *line = p, *q;

		if ((p > text && is_word(p[-1])) || is_word(p[len]))
			continue;
		while (line > text && line[-1] != '\n')
			line--;
		if (!g_ascii_isalpha(*line) && *line != '_')
			continue;
		q = p + len;
		while (*q == ' ' || *q == '\t')
			q++;
		if (*q != '(')
			continue;
		q = skip_brackets(q);
		while (q && *q && *q != '{' && *q != ';' && *q != '=')
			q++;
		if (!q || *q != '{')
			continue;
		*start = line;
		q = strstr(q, "\n}");
		*end = q ? q + 2 : text + strlen(text);
		return true;
	}
	return false;
}

/* Length of the text at @t (before @end) that @find matches, 0 for none; white space is elastic */
static size_t match_at(const char *t, const char *end, const char *find)
{
	const char *p = t;

	while (*find) {
		if (g_ascii_isspace(*find)) {
			if (p >= end || !g_ascii_isspace(*p))
				return 0;
			while (p < end && g_ascii_isspace(*p))
				p++;
			while (g_ascii_isspace(*find))
				find++;
		} else if (p >= end || *p++ != *find++) {
			return 0;
		}
	}
	return p - t;
}

/* Matches of @find in [@start, @end); the first one's place in *@at and *@len */
static int count_matches(const char *start, const char *end, const char *find,
			 const char **at, size_t *len)
{
	int n = 0;

	*at = NULL;
	*len = 0;
	for (const char *p = start; p < end; p++) {
		size_t l = match_at(p, end, find);

		if (!l)
			continue;
		if (!n++) {
			*at = p;
			*len = l;
		}
	}
	return n;
}

/* Say why @e does not fit @text, and where it would nearly */
static void does_not_fit(const struct edit *e, const char *text, int defs, int n, GError **err)
{
	const char *start = text, *end = text + strlen(text), *at;
	g_autofree char *near = NULL;
	size_t len;

	if (e->function && !defs) {
		n = count_matches(text, end, e->find, &at, &len);
		near = nearest_function(text, e->function, n == 1 ? at : NULL);
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: %s defines no function %s; the edit does not fit "
			      "this kernel%s%s", e->where, e->file, e->function, near ? "; " : "",
			      near ? near : "");
		return;
	}
	if (e->function)
		edit_definition(text, e->function, text, &start, &end);
	if (!n)
		near = nearest_line(text, start, end, e->find);
	mmg_set_error(err, MMG_EXIT_BROKEN, "%s: '%s' is found %s in %s of %s; it must be there "
		      "exactly once%s%s", e->where, e->find, n ? "more than once" : "nowhere",
		      e->function ? e->function : "the text", e->file, near ? "; the nearest is " : "",
		      near ? near : "");
}

char *edit_apply_text(const struct edit *e, const char *text, GError **err)
{
	const char *start, *end, *at = NULL, *a = NULL;
	size_t len = 0, l = 0;
	int n = 0, defs = 0;
	GString *out;

	if (e->function) {
		for (const char *from = text;
		     edit_definition(text, e->function, from, &start, &end); from = end) {
			int m = count_matches(start, end, e->find, &a, &l);

			if (m && !n) {
				at = a;
				len = l;
			}
			n += m;
			defs++;
		}
	} else {
		n = count_matches(text, text + strlen(text), e->find, &at, &len);
	}
	if (n != 1) {
		does_not_fit(e, text, defs, n, err);
		return NULL;
	}
	out = g_string_new_len(text, at - text);
	g_string_append(out, e->replace);
	g_string_append(out, at + len);
	return g_string_free(out, FALSE);
}

static bool edit_apply(const struct edit *e, const struct source *src, GHashTable *overlay, GError **err)
{
	g_autofree char *text = NULL;
	g_autoptr(GBytes) old = source_read(src, overlay, e->file, err);
	char *new;

	if (!old)
		return g_prefix_error(err, "%s: ", e->where), false;
	text = g_strndup(g_bytes_get_data(old, NULL), g_bytes_get_size(old));
	new = edit_apply_text(e, text, err);
	if (new)
		overlay_set(overlay, e->file, g_bytes_new_take(new, strlen(new)));
	return new;
}

/* Is @e one of an earlier edit's step? */
static bool step_is_done(GPtrArray *edits, guint i)
{
	const struct edit *e = edits->pdata[i];

	for (guint j = 0; e->step && j < i; j++)
		if (!g_strcmp0(((struct edit *)edits->pdata[j])->step, e->step))
			return true;
	return false;
}

bool edits_apply(GPtrArray *edits, const struct source *src, GHashTable *overlay, GError **err)
{
	bool any = false;

	for (guint i = 0; i < edits->len; i++) {
		const struct edit *e = edits->pdata[i];
		g_autoptr(GError) why = NULL;
		bool tried = false, fits = false;

		if (step_is_done(edits, i))
			continue;
		for (guint j = i; j < edits->len && !fits; j++) {
			const struct edit *other = edits->pdata[j];

			if (!version_in_range(other->kernels, src->version) ||
			    (j > i && (!e->step || g_strcmp0(other->step, e->step))))
				continue;
			g_clear_error(&why);
			tried = true;
			fits = edit_apply(other, src, overlay, &why);
		}
		if (tried && !fits) {
			g_propagate_error(err, g_steal_pointer(&why));
			return false;
		}
		any |= fits;
	}
	if (!any)
		mmg_set_error(err, MMG_EXIT_USAGE, "no edit is for kernel %s", src->version);
	return any;
}
