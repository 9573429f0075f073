// SPDX-License-Identifier: GPL-2.0-only
/*
 * A git revision as an overlay over the work tree.
 */
#include <string.h>
#include <unistd.h>

#include "source/source.h"
#include "source/git.h"
#include "base/scratch.h"

/**
 * struct blob - a file that the revision has otherwise
 * @id:		its object
 */
struct blob {
	char *path, *id;
};

static void blob_free(gpointer p)
{
	struct blob *b = p;

	g_free(b->path);
	g_free(b->id);
	g_free(b);
}

/*
 * Parse "git diff --raw -z": ":100644 100644 ID ID M", NUL, the path, NUL.  What the revision
 * has not is deleted in @overlay, the rest goes to @blobs.
 */
static bool parse_raw(const char *raw, gsize len, const char *ref, GHashTable *overlay,
		      GPtrArray *blobs, GError **err)
{
	const char *end = raw + len;

	for (const char *p = raw; p < end;) {
		const char *path = p + strlen(p) + 1;
		g_auto(GStrv) words = g_strsplit(p, " ", -1);
		struct blob *b;

		if (path >= end || g_strv_length(words) < 5 || !path_is_inside(path)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "git's list of what %s has otherwise is not "
				      "understood at '%s'", ref, p);
			return false;
		}
		p = path + strlen(path) + 1;
		if (!strcmp(words[0], ":000000")) {
			overlay_set(overlay, path, NULL);
		} else if (!g_str_has_prefix(words[0], ":100")) {
			status_note("%s is a link or a submodule in %s: it stays as the work tree has it", path,
				    ref);
		} else {
			b = g_new0(struct blob, 1);
			b->path = g_strdup(path);
			b->id = g_strdup(words[2]);
			g_ptr_array_add(blobs, b);
		}
	}
	return true;
}

/* Parse what cat-file --batch wrote for @blobs: "ID blob SIZE", the content, a line feed */
static bool parse_batch(const char *batch, gsize size, const GPtrArray *blobs, GHashTable *overlay,
			GError **err)
{
	const char *p = batch, *end = batch + size;

	for (guint i = 0; i < blobs->len; i++) {
		const struct blob *b = blobs->pdata[i];
		const char *nl = memchr(p, '\n', end - p);
		g_autofree char *head = nl ? g_strndup(p, nl - p) : g_strdup("nothing");
		const char *blob = strstr(head, " blob ");
		gsize bytes;

		if (!nl || !blob) {
			mmg_set_error(err, MMG_EXIT_USAGE, "git gave no content for %s: %s (in a partial or "
				      "shallow clone, fetch what is missing first)", b->path, head);
			return false;
		}
		p = nl + 1;
		bytes = g_ascii_strtoull(blob + strlen(" blob "), NULL, 10);
		if (bytes >= (gsize)(end - p)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "git's answer for %s is cut short", b->path);
			return false;
		}
		overlay_set(overlay, b->path, g_bytes_new(p, bytes));
		p += bytes + 1;
	}
	return true;
}

/* The contents of @blobs, into the overlay, by one git */
static bool blobs_to_overlay(const struct source *src, const GPtrArray *blobs, GHashTable *overlay,
			     GError **err)
{
	g_autofree char *dir = scratch_dir("blobs", err);
	g_autofree char *in = NULL, *out = NULL, *batch = NULL;
	g_autoptr(GString) list = g_string_new(NULL);
	bool ok = false;
	gsize size;

	if (!dir)
		return false;
	in = g_build_filename(dir, "in", NULL);
	out = g_build_filename(dir, "out", NULL);
	for (guint i = 0; i < blobs->len; i++)
		g_string_append_printf(list, "%s\n", ((struct blob *)blobs->pdata[i])->id);
	if (mmg_write_atomic(in, list->str, list->len, err) &&
	    git_batch(src->tree, "reading the revision's files", in, out, err) &&
	    g_file_get_contents(out, &batch, &size, err))
		ok = parse_batch(batch, size, blobs, overlay, err);
	mmg_rmtree(dir);
	return ok;
}

static char *commit_of(const struct source *src, const char *ref, GError **err)
{
	g_autofree char *spec = g_strdup_printf("%s^{commit}", ref);
	const char *args[] = { "rev-parse", "--verify", spec, NULL };
	char *commit = git_read(src->tree, "looking the revision up", args, NULL, err);

	return commit ? g_strstrip(commit) : NULL;
}

bool git_overlay(const struct source *src, const char *ref, GHashTable *overlay, GError **err)
{
	g_autofree char *git = g_build_filename(src->tree, ".git", NULL);
	g_autoptr(GPtrArray) blobs = g_ptr_array_new_with_free_func(blob_free);
	g_autofree char *commit = NULL, *raw = NULL;
	g_autoptr(GError) e = NULL;
	gsize len = 0;

	if (!g_file_test(git, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a git work tree, so it has no revision %s; "
			      "give --series, or a tree with .git", src->name, ref);
		return false;
	}
	if (ref[0] == '-') {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a revision", ref);
		return false;
	}
	commit = commit_of(src, ref, &e);
	if (!commit) {
		mmg_set_error(err, e->code == MMG_EXIT_INTERRUPTED ? e->code : MMG_EXIT_USAGE,
			      "%s has no revision %s: %s", src->name, ref, e->message);
		return false;
	}
	{
		const char *args[] = { "diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--raw",
				       "--no-abbrev", "-z", commit, "--", NULL };

		raw = git_read(src->tree, "comparing the work tree with the revision", args, &len, err);
	}
	return raw && parse_raw(raw, len, ref, overlay, blobs, err) &&
	       blobs_to_overlay(src, blobs, overlay, err);
}
