// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patch series as data: mbox files, patch files and folders of patches become
 * an overlay.  They are applied to copies of the files they touch, in a
 * scratch folder; nothing in them is executed, and a path that leaves the tree
 * is refused before anything is applied.
 */
#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scratch.h"
#include "source/patch.h"
#include "source/source.h"

/**
 * struct laid - one patch at work
 * @dir:	scratch folder with copies of the files it touches
 * @files:	what was put there, by path
 */
struct laid {
	const struct source *src;
	GHashTable *overlay, *files;
	char *dir;
};

/* ---- reading a series ---- */

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files of a patch folder, in the order of its "series" file or by name */
static GPtrArray *folder_patches(const char *dir, bool *ordered, GError **err)
{
	g_autofree char *order = g_build_filename(dir, "series", NULL);
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *text = NULL;
	g_autoptr(GError) e = NULL;
	const char *name;
	GDir *d;

	if (g_file_get_contents(order, &text, NULL, NULL)) {
		g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

		for (char **l = lines; *l; l++) {
			(*l)[strcspn(*l, "#")] = '\0';
			g_strstrip(*l);
			(*l)[strcspn(*l, " \t")] = '\0';
			if (!**l)
				continue;
			if (!path_is_inside(*l)) {
				mmg_set_error(err, MMG_EXIT_USAGE, "%s names '%s', which leaves the "
					      "folder", order, *l);
				return NULL;
			}
			g_ptr_array_add(files, g_build_filename(dir, *l, NULL));
		}
		*ordered = true;
		return g_steal_pointer(&files);
	}
	d = g_dir_open(dir, 0, &e);
	if (!d) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the series %s: %s", dir, e->message);
		return NULL;
	}
	while ((name = g_dir_read_name(d))) {
		if (name[0] == '.')
			continue;
		if (g_str_has_suffix(name, ".patch") || g_str_has_suffix(name, ".diff") ||
		    g_str_has_suffix(name, ".eml") || g_str_has_suffix(name, ".mbox") ||
		    g_str_has_suffix(name, ".mbx") || g_str_has_suffix(name, ".gz"))
			g_ptr_array_add(files, g_build_filename(dir, name, NULL));
	}
	g_dir_close(d);
	g_ptr_array_sort(files, by_name);
	if (!files->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the folder %s holds no patches (*.patch, *.diff, "
			      "*.eml, *.mbox, *.gz)", dir);
		return NULL;
	}
	return g_steal_pointer(&files);
}

/* True where @path is a file or a folder of the source with what came before of the series */
static bool path_exists(const char *path, void *data)
{
	struct laid *l = data;
	g_autofree char *full = g_build_filename(l->src->tree, path, NULL);
	gpointer v;

	if (g_hash_table_lookup_extended(l->overlay, path, NULL, &v))
		return v;
	return path_is_inside(path) && g_file_test(full, G_FILE_TEST_EXISTS);
}

/* Whether the source's file is executable; what starts with "#!" is, where a patch made it */
static bool is_executable(const struct laid *l, const char *path, GBytes *content)
{
	g_autofree char *origin = g_build_filename(l->src->tree, path, NULL);
	struct stat st;

	if (!stat(origin, &st))
		return st.st_mode & 0100;
	return g_bytes_get_size(content) > 2 && !memcmp(g_bytes_get_data(content, NULL), "#!", 2);
}

/* Copies of the files that a patch touches, into the scratch folder */
static bool lay_out(struct laid *l, GPtrArray *paths, GError **err)
{
	for (guint i = 0; i < paths->len; i++) {
		const char *path = paths->pdata[i];
		g_autofree char *to = g_build_filename(l->dir, path, NULL);
		g_autofree char *parent = g_path_get_dirname(to);
		GBytes *content = source_read(l->src, l->overlay, path, NULL);

		if (!mmg_mkdirs(parent, err))
			return false;
		if (!content)
			continue;
		g_hash_table_insert(l->files, g_strdup(path), content);
		if (!mmg_write_atomic(to, g_bytes_get_data(content, NULL), g_bytes_get_size(content), err))
			return false;
		chmod(to, is_executable(l, path, content) ? 0755 : 0644);
	}
	return true;
}

/* One file of the scratch folder as it is now, into the overlay where it changed */
static bool take_file(struct laid *l, const char *full, const struct stat *st, GError **err)
{
	const char *path = full + strlen(l->dir) + 1;
	GBytes *before = g_hash_table_lookup(l->files, path);
	char *text;
	gsize len;

	if (!S_ISREG(st->st_mode) || !g_file_get_contents(full, &text, &len, NULL)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the series leaves %s as something that is not a regular "
			      "file", path);
		return false;
	}
	if (before && len == g_bytes_get_size(before) &&
	    !memcmp(text, g_bytes_get_data(before, NULL), len) &&
	    is_executable(l, path, before) == !!(st->st_mode & 0100))
		g_free(text);
	else
		overlay_set(l->overlay, path, g_bytes_new_take(text, len));
	g_hash_table_remove(l->files, path);
	return true;
}

/* What became of the files: all that is in the folder now, and what is no more */
static bool take_back(struct laid *l, GError **err)
{
	char *roots[] = { l->dir, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	GHashTableIter it;
	bool ok = fts;
	gpointer k;
	FTSENT *e;

	while (ok && (e = fts_read(fts)))
		if (e->fts_info != FTS_D && e->fts_info != FTS_DP)
			ok = take_file(l, e->fts_path, e->fts_statp, err);
	if (fts)
		fts_close(fts);
	else
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", l->dir, g_strerror(errno));
	g_hash_table_iter_init(&it, l->files);
	while (ok && g_hash_table_iter_next(&it, &k, NULL))
		overlay_set(l->overlay, k, NULL);
	return ok;
}

/* The lines of git apply's and git am's output that say what did not fit, in one line */
static char *failing_hunk(const char *output)
{
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
	GString *s = g_string_new(NULL);

	for (char **l = lines; *l; l++) {
		const char *t = *l;

		if (!g_str_has_prefix(t, "error: ") && !g_str_has_prefix(t, "fatal: "))
			continue;
		t += 7;
		/* the text that follows it is not repeated here */
		if (!strcmp(t, "while searching for:"))
			continue;
		if (s->len > 300)
			break;
		g_string_append_printf(s, "%s%s", s->len ? "; " : "", t);
	}
	return g_string_free(s, FALSE);
}

/* The first line of the hunk that starts at @line of @file, from the patch text */
static char *hunk_header(const char *patch, const char *where)
{
	g_autoptr(GRegex) re = g_regex_new("patch failed: (.+):([0-9]+)", 0, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;
	g_autofree char *file = NULL, *line = NULL, *start = NULL;
	const char *p;

	if (!g_regex_match(re, where, 0, &m))
		return NULL;
	file = g_match_info_fetch(m, 1);
	line = g_match_info_fetch(m, 2);
	start = g_strdup_printf("+++ b/%s", file);
	p = strstr(patch, start);
	if (!p)
		return NULL;
	g_free(start);
	start = g_strdup_printf("\n@@ -%s", line);
	p = strstr(p, start);
	return p ? g_strndup(p + 1, strcspn(p + 1, "\n")) : NULL;
}

/* Why git apply refused @m, in its words */
static void say_misfit(const struct laid *l, const struct mail *m, const char *log, const GError *e,
		       GError **err)
{
	g_autofree char *output = NULL, *why = NULL, *hunk = NULL;

	if (g_file_get_contents(log, &output, NULL, NULL)) {
		why = failing_hunk(output);
		hunk = hunk_header(m->body, output);
	}
	mmg_set_error(err, MMG_EXIT_BROKEN, "%s does not apply to %s: %s%s%s", m->name, l->src->name,
		      why && *why ? why : e->message, hunk ? "; failing hunk: " : "", hunk ? hunk : "");
}

/* Apply the patch of @m in the scratch folder @l->dir */
static bool git_apply(struct laid *l, const struct mail *m, int strip, GError **err)
{
	g_autofree char *file = g_strconcat(l->dir, ".patch", NULL);
	g_autofree char *log = g_strconcat(l->dir, ".log", NULL);
	/* in no repository git apply is a strict patch(1) */
	const char *argv[] = { "git", "apply", strip ? "-p1" : "-p0", "--whitespace=nowarn", "--verbose",
			       file, NULL };
	const char *env[] = { "GIT_DIR=/dev/null", NULL };
	struct mmg_cmd cmd = { .what = "applying the series", .argv = argv, .cwd = l->dir, .env = env,
			       .log = log };
	g_autoptr(GError) e = NULL;
	bool ok = false;

	if (mmg_write_atomic(file, m->body, -1, err)) {
		ok = mmg_run(&cmd, &e);
		if (g_error_matches(e, MMG_ERROR, MMG_EXIT_INTERRUPTED))
			g_propagate_error(err, g_steal_pointer(&e));
		else if (!ok)
			say_misfit(l, m, log, e, err);
	}
	unlink(file);
	unlink(log);
	return ok;
}

/* Apply one patch in a scratch folder and take the result over */
static bool apply_one(const struct mail *m, const struct source *src, GHashTable *overlay, GError **err)
{
	struct laid l = { .src = src, .overlay = overlay };
	g_autoptr(GPtrArray) paths = NULL;
	bool ok = false;
	int strip;

	if (m->error) {
		mmg_set_error(err, m->error->code, "%s: %s", m->name, m->error->message);
		return false;
	}
	strip = patch_strip(m->changes, path_exists, &l);
	paths = patch_paths(m->changes, strip, err);
	if (!paths) {
		g_prefix_error(err, "%s: ", m->name);
		return false;
	}
	l.dir = scratch_dir("series", err);
	if (!l.dir)
		return false;
	l.files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
	ok = lay_out(&l, paths, err) && git_apply(&l, m, strip, err) && take_back(&l, err);
	g_hash_table_unref(l.files);
	mmg_rmtree(l.dir);
	g_free(l.dir);
	return ok;
}

/* An edit file, as those of configs/mutants, in place of patches */
static bool script_apply(const char *file, const struct source *src, GHashTable *overlay,
			 GPtrArray **titles, GError **err)
{
	struct edit_script *s = edit_script_load(file, err);
	bool ok = s && edits_apply(s->edits, src, overlay, err);

	if (ok && titles) {
		*titles = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(*titles, g_strdup(s->about));
	}
	edit_script_free(s);
	return ok;
}

bool series_apply(const char *series, const struct source *src, GHashTable *overlay,
		  GPtrArray **titles, GError **err)
{
	return series_apply_steps(series, src, overlay, titles, NULL, err);
}

bool series_apply_steps(const char *series, const struct source *src, GHashTable *overlay, GPtrArray **titles,
			GPtrArray **steps, GError **err)
{
	g_autoptr(GPtrArray) states = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
	g_autoptr(GPtrArray) files = NULL, selected = NULL;
	g_autoptr(GPtrArray) mails = g_ptr_array_new_with_free_func(mail_free);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	bool ordered = false;

	if (g_str_has_suffix(series, ".conf")) {
		if (!script_apply(series, src, overlay, titles, err))
			return false;
		g_ptr_array_add(states, overlay_copy(overlay));
		if (steps)
			*steps = g_steal_pointer(&states);
		return true;
	}
	if (g_file_test(series, G_FILE_TEST_IS_DIR)) {
		files = folder_patches(series, &ordered, err);
		if (!files)
			return false;
	} else {
		files = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(files, g_strdup(series));
	}
	for (guint i = 0; i < files->len; i++) {
		g_autofree char *base = g_path_get_basename(files->pdata[i]);

		if (!mails_read(files->pdata[i], base, mails, err))
			return false;
	}
	/* whoever wrote a list means what stands in it */
	selected = ordered ? g_ptr_array_ref(mails) : mails_select(mails, err);
	for (guint i = 0; selected && i < selected->len; i++) {
		const struct mail *m = selected->pdata[i];

		if (!m->error && (!m->changes->len || m->number == 0))
			continue;
		if (!apply_one(m, src, overlay, err))
			return false;
		if (steps)
			g_ptr_array_add(states, overlay_copy(overlay));
		g_ptr_array_add(names, g_strdup(m->subject && *m->subject ? m->subject : m->name));
	}
	if (selected && !names->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "%s holds no patch: no file is changed in it", series);
	if (!selected || !names->len)
		return false;
	if (titles)
		*titles = g_steal_pointer(&names);
	if (steps)
		*steps = g_steal_pointer(&states);
	return true;
}
