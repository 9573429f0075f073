// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of ours no longer fits a kernel's source: edits, texts that the tests
 * read, options of our configurations.  Nothing is built or booted.
 */
#include "source/drift.h"

#include <fts.h>
#include <string.h>

void finding_free(gpointer finding)
{
	struct finding *f = finding;

	g_free(f->name);
	g_free(f->where);
	g_free(f->what);
	g_free(f);
}

void finding_add(GPtrArray *list, const char *kind, const char *name, char *where, char *what)
{
	struct finding *f = g_new0(struct finding, 1);

	f->kind = kind;
	f->name = g_strdup(name);
	f->where = where;
	f->what = what;
	g_ptr_array_add(list, f);
}

/* Try @edits; what does not fit is a finding */
static void try_edits(const struct source *src, GPtrArray *edits, const char *kind, const char *name,
		      const char *where, GPtrArray *list, unsigned int *fit)
{
	g_autoptr(GHashTable) overlay = overlay_new();
	g_autoptr(GError) e = NULL;

	if (edits_apply(edits, src, overlay, &e))
		++*fit;
	else
		finding_add(list, kind, name, g_strdup(where), g_strdup(e->message));
}

static bool one_mutant(const struct source *src, const char *arch, const char *path, const char *where,
		       GPtrArray *list, unsigned int *fit, GError **err)
{
	struct edit_script *s = edit_script_load(path, err);

	if (s && edit_script_fits(s, src->version, arch))
		try_edits(src, s->edits, "mutant", s->name, where, list, fit);
	edit_script_free(s);
	return s;
}

static bool one_gate(const struct source *src, const char *path, const char *where, GPtrArray *list,
		     unsigned int *fit, GError **err)
{
	g_autoptr(GKeyFile) kf = g_key_file_new();
	g_autoptr(GPtrArray) edits = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	g_autofree char *base = g_path_get_basename(path), *range = NULL;
	g_autoptr(GError) e = NULL;

	if (!g_key_file_load_from_file(kf, path, 0, &e)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, e->message);
		return false;
	}
	if (!edit_read_groups(kf, path, edits, err))
		return false;
	range = g_key_file_get_string(kf, "gate", "kernels", NULL);
	base[strlen(base) - 5] = '\0';
	if (edits->len && version_in_range(range, src->version))
		try_edits(src, edits, "gate", base, where, list, fit);
	return true;
}

/* The group of configs/drift.conf as an edit that replaces a text by something else */
static struct edit *read_group(GKeyFile *kf, const char *path, const char *group, GError **err)
{
	static const char *const known[] = { "file", "function", "find", "step", "kernels", "tests", NULL };
	struct edit *e;

	if (!conf_keys_known(kf, path, group, known, err))
		return NULL;
	e = g_new0(struct edit, 1);
	e->where = g_strdup(group + strlen("read "));
	e->file = g_key_file_get_string(kf, group, "file", NULL);
	e->function = g_key_file_get_string(kf, group, "function", NULL);
	e->find = g_key_file_get_string(kf, group, "find", NULL);
	e->kernels = g_key_file_get_string(kf, group, "kernels", NULL);
	e->step = g_key_file_get_string(kf, group, "step", NULL);
	e->replace = g_strdup("?");
	if (e->file && e->find && path_is_inside(e->file) && (!e->kernels || version_range_valid(e->kernels)))
		return e;
	mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] needs file= and find=, and a right kernels=", path, group);
	edit_free(e);
	return NULL;
}

/* The groups of one step are tried together, each other one by itself */
static bool texts(const struct source *src, GPtrArray *list, unsigned int *fit, GError **err)
{
	g_autofree char *path = mmg_root_path("configs", "drift.conf", NULL);
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	g_autoptr(GKeyFile) kf = g_key_file_new();
	g_auto(GStrv) groups = NULL;
	g_autoptr(GError) e = NULL;

	if (!g_key_file_load_from_file(kf, path, 0, &e)) {
		if (g_error_matches(e, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: %s", path, e->message);
		return false;
	}
	groups = g_key_file_get_groups(kf, NULL);
	for (char **g = groups; *g; g++) {
		struct edit *edit;

		if (g_str_has_prefix(*g, "gone "))
			continue;
		if (!g_str_has_prefix(*g, "read ")) {
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "%s has an unknown group [%s]; known: read NAME, gone OPTION",
				      path, *g);
			return false;
		}
		edit = read_group(kf, path, *g, err);
		if (!edit)
			return false;
		g_ptr_array_add(all, edit);
	}
	for (guint i = 0; i < all->len; i++) {
		const struct edit *first = all->pdata[i];
		g_autoptr(GPtrArray) step = g_ptr_array_new();
		g_autofree char *group = g_strdup_printf("read %s", first->where), *tests = NULL, *where = NULL;
		bool done = false;

		for (guint j = 0; j < all->len; j++) {
			const struct edit *other = all->pdata[j];
			bool same = other == first || (first->step && !g_strcmp0(first->step, other->step));

			done |= same && j < i;
			if (same && version_in_range(other->kernels, src->version))
				g_ptr_array_add(step, all->pdata[j]);
		}
		if (done || !step->len)
			continue;
		tests = g_key_file_get_string(kf, group, "tests", NULL);
		where = g_strdup_printf("configs/drift.conf, and the tests %s", tests ? tests : "that read it");
		try_edits(src, step, "text", first->where, where, list, fit);
	}
	return true;
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool drift_edits(const struct source *src, const char *arch, GPtrArray *list, unsigned int *fit, GError **err)
{
	static const char *const kinds[] = { "mutants", "gates" };
	bool ok = true;

	for (size_t i = 0; ok && i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *dir = mmg_root_path("configs", kinds[i], NULL);
		g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
		GDir *d = g_dir_open(dir, 0, NULL);
		const char *file;

		while (d && (file = g_dir_read_name(d)))
			if (g_str_has_suffix(file, ".conf"))
				g_ptr_array_add(names, g_strdup(file));
		if (d)
			g_dir_close(d);
		g_ptr_array_sort(names, by_text);
		for (guint n = 0; ok && n < names->len; n++) {
			g_autofree char *path = g_build_filename(dir, names->pdata[n], NULL);
			g_autofree char *where = g_strdup_printf("configs/%s/%s", kinds[i], (char *)names->pdata[n]);

			ok = i ? one_gate(src, path, where, list, fit, err) :
				 one_mutant(src, arch, path, where, list, fit, err);
		}
	}
	return ok && texts(src, list, fit, err);
}

/* ---- options ---- */

static void options_of(const char *path, GHashTable *names)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		/* those of a choice are indented */
		const char *word = line + strspn(line, " \t");
		const char *p = g_str_has_prefix(word, "config") ? word + 6 :
				g_str_has_prefix(word, "menuconfig") ? word + 10 : NULL;

		if (!p || (*p != ' ' && *p != '\t'))
			continue;
		p += strspn(p, " \t");
		g_hash_table_add(names, g_strndup(p, strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")));
	}
}

bool drift_known_gone(const char *option, const char *version)
{
	g_autofree char *path = mmg_root_path("configs", "drift.conf", NULL);
	g_autofree char *group = g_strconcat("gone ", option, NULL), *range = NULL;
	g_autoptr(GKeyFile) kf = g_key_file_new();

	if (!g_key_file_load_from_file(kf, path, 0, NULL) || !g_key_file_has_group(kf, group))
		return false;
	range = g_key_file_get_string(kf, group, "kernels", NULL);
	return version_in_range(range, version);
}

GHashTable *drift_options(const struct source *src)
{
	static const char *const skip[] = { ".git", "Documentation", "include", "samples", "LICENSES" };
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	char *roots[] = { src->tree, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	FTSENT *e;

	while (fts && (e = fts_read(fts))) {
		bool out = false;

		for (size_t i = 0; e->fts_level == 1 && i < G_N_ELEMENTS(skip); i++)
			out |= !strcmp(e->fts_name, skip[i]);
		if (out)
			fts_set(fts, e, FTS_SKIP);
		else if (e->fts_info != FTS_D && e->fts_info != FTS_DP && g_str_has_prefix(e->fts_name, "Kconfig"))
			options_of(e->fts_path, names);
	}
	if (fts)
		fts_close(fts);
	return names;
}

GHashTable *drift_wanted(const char *arch, GError **err)
{
	const char *files[] = { "base", "kvm", "zones", arch, "debug" };
	GHashTable *wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *name = g_strconcat(files[i], ".config", NULL);
		g_autofree char *path = mmg_root_path("configs", "kernel", name, NULL), *text = NULL;
		g_auto(GStrv) lines = NULL;
		g_autoptr(GError) e = NULL;

		if (!g_file_get_contents(path, &text, NULL, &e)) {
			/* an architecture without a fragment of its own */
			if (i == 3 && g_error_matches(e, G_FILE_ERROR, G_FILE_ERROR_NOENT))
				continue;
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, e->message);
			g_hash_table_unref(wanted);
			return NULL;
		}
		lines = g_strsplit(text, "\n", -1);
		for (char **l = lines; *l; l++) {
			const char *eq = strchr(*l, '=');

			if (g_str_has_prefix(*l, "CONFIG_") && eq && strcmp(eq, "=n"))
				g_hash_table_replace(wanted, g_strndup(*l + 7, eq - *l - 7),
						     g_strdup_printf("configs/kernel/%s", name));
		}
	}
	return wanted;
}
