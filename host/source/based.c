// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a patch series is based on: the mail's word, the work tree, or a tag.
 */
#include "source/based.h"

#include <string.h>

#include "source/git.h"

#define MOST_TAGS	30		/* newest first; each costs a comparison with the work tree */
#define MAX_TEXT	(16 << 20)	/* bytes of a mailbox that are searched for a base */

/* What the mails say of their base: the commit, and how many patches come between */
struct said {
	char *commit;
	unsigned int prerequisites;
};

static void read_said(const char *path, struct said *said)
{
	g_autoptr(GMappedFile) file = NULL;
	const char *p, *end;

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
		return;
	file = g_mapped_file_new(path, FALSE, NULL);
	p = file ? g_mapped_file_get_contents(file) : NULL;
	if (!p)
		return;
	end = p + MIN(g_mapped_file_get_length(file), MAX_TEXT);
	while (p < end) {
		const char *nl = memchr(p, '\n', end - p) ?: end;
		g_autofree char *line = g_strchomp(g_strndup(p, MIN(nl - p, 80)));
		const char *id = line + strlen("base-commit: ");

		/* of a thread with several revisions the last word counts, as its newest patches do */
		if (g_str_has_prefix(line, "base-commit: ") && strlen(id) >= 40 &&
		    strspn(id, "0123456789abcdef") == strlen(id)) {
			g_free(said->commit);
			said->commit = g_strdup(id);
			said->prerequisites = 0;
		}
		said->prerequisites += g_str_has_prefix(line, "prerequisite-patch-id: ");
		p = nl + 1;
	}
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_all(const char *series, struct said *said)
{
	GDir *d = g_file_test(series, G_FILE_TEST_IS_DIR) ? g_dir_open(series, 0, NULL) : NULL;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const char *name;

	if (!d) {
		read_said(series, said);
		return;
	}
	while ((name = g_dir_read_name(d)))
		g_ptr_array_add(names, g_build_filename(series, name, NULL));
	g_dir_close(d);
	g_ptr_array_sort(names, by_name);
	for (guint i = 0; i < names->len; i++)
		read_said(names->pdata[i], said);
}

static bool applies_to(const char *series, const struct source *src, const char *ref, GError **err)
{
	GHashTable *overlay = overlay_new();
	bool ok = (!ref || git_overlay(src, ref, overlay, err)) &&
		  series_apply(series, src, overlay, NULL, err);

	g_hash_table_unref(overlay);
	return ok;
}

static bool has_commit(const struct source *src, const char *id)
{
	g_autofree char *spec = g_strdup_printf("%s^{commit}", id);
	const char *args[] = { "cat-file", "-e", spec, NULL };
	g_autofree char *out = git_read(src->tree, "looking a base up", args, NULL, NULL);

	return out;
}

/* The newest tag on which @series applies; NULL where there is none, with *@err only if interrupted */
static char *newest_tag(const char *series, const struct source *src, GError **err)
{
	g_autofree char *count = g_strdup_printf("--count=%d", MOST_TAGS);
	const char *args[] = { "for-each-ref", "--sort=-creatordate", count, "--format=%(refname)",
			       "refs/tags", NULL };
	g_autofree char *out = git_read(src->tree, "listing tags", args, NULL, NULL);
	g_auto(GStrv) tags = out ? g_strsplit(out, "\n", -1) : NULL;

	for (char **t = tags; t && *t; t++) {
		g_autoptr(GError) e = NULL;

		if (!**t)
			continue;
		if (applies_to(series, src, *t, &e))
			return g_strdup(*t + strlen("refs/tags/"));
		if (e->code == MMG_EXIT_INTERRUPTED) {
			g_propagate_error(err, g_steal_pointer(&e));
			return NULL;
		}
	}
	return NULL;
}

bool series_base(const char *series, const struct source *src, char **ref, char **how, GError **err)
{
	g_autofree char *git = g_build_filename(src->tree, ".git", NULL), *missing = NULL;
	g_autoptr(GError) e = NULL, stop = NULL;
	struct said said = { 0 };

	*ref = NULL;
	*how = NULL;
	if (g_file_test(git, G_FILE_TEST_EXISTS) && !g_str_has_suffix(series, ".conf"))
		read_all(series, &said);
	if (said.commit && has_commit(src, said.commit)) {
		*how = g_strdup_printf("revision %.12s, the base-commit of the mail", said.commit);
		if (said.prerequisites) {
			g_autofree char *plain = g_steal_pointer(how);

			*how = g_strdup_printf("%s; %u prerequisite patch%s not applied", plain,
					       said.prerequisites, said.prerequisites == 1 ?
					       " that the mail names is" : "es that the mail names are");
		}
		*ref = said.commit;
		if (!said.prerequisites || applies_to(series, src, *ref, NULL))
			return true;
		/* it stands on patches that the base lacks: another revision may hold them */
		missing = g_strdup_printf("; it does not apply to the mail's base-commit %.12s without the "
					  "prerequisites", *ref);
		g_clear_pointer(ref, g_free);
		g_clear_pointer(how, g_free);
	} else if (said.commit) {
		missing = g_strdup_printf("; the tree has no commit %.12s, which the mail names as its base",
					  said.commit);
		g_free(said.commit);
	}
	if (applies_to(series, src, NULL, &e)) {
		*how = g_strdup_printf("the work tree as it is%s", missing ?: "");
		return true;
	}
	if (e->code != MMG_EXIT_INTERRUPTED && g_file_test(git, G_FILE_TEST_EXISTS))
		*ref = newest_tag(series, src, &stop);
	if (*ref) {
		*how = g_strdup_printf("tag %s, the newest on which it applies%s", *ref, missing ?: "");
		return true;
	}
	g_propagate_error(err, stop ? g_steal_pointer(&stop) : g_steal_pointer(&e));
	return false;
}
