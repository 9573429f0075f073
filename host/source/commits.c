// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits of a kernel tree, asked of git and never checked out.
 */
#include "source/commits.h"

#include <string.h>

#include "source/git.h"

#define MAX_COMMITS	1000000

char *commit_id(const char *tree, const char *ref, GError **err)
{
	g_autofree char *spec = g_strdup_printf("%s^{commit}", ref);
	const char *args[] = { "rev-parse", "--verify", "-q", "--end-of-options", spec, NULL };
	g_autofree char *out = NULL;

	out = git_read(tree, "looking a revision up", args, NULL, NULL);
	if (!out || !*g_strstrip(out)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has no revision '%s'; name a commit, a tag or a branch",
			      tree, ref);
		return NULL;
	}
	return g_steal_pointer(&out);
}

bool commit_is_ancestor(const char *tree, const char *a, const char *b, GError **err)
{
	const char *args[] = { "merge-base", a, b, NULL };
	g_autofree char *out = git_read(tree, "comparing two revisions", args, NULL, err);

	return out && !strcmp(g_strstrip(out), a);
}

char *commit_title(const char *tree, const char *id, int id_len)
{
	const char *args[] = { "log", "-1", "--no-show-signature", "--format=%s", id, NULL };
	g_autofree char *out = git_read(tree, "reading a commit", args, NULL, NULL);
	g_autofree char *subject = out ? mmg_clean(g_strstrip(out), -1, 200) : NULL;

	return g_strdup_printf("%.*s%s%s", id_len, id, subject ? " " : "", subject ?: "");
}

char *commit_author(const char *tree, const char *id)
{
	const char *args[] = { "log", "-1", "--no-show-signature", "--no-use-mailmap", "--format=%an <%ae>",
			       id, NULL };
	g_autofree char *out = git_read(tree, "reading a commit", args, NULL, NULL);

	return out ? mmg_clean(g_strstrip(out), -1, 200) : NULL;
}

GPtrArray *commit_fixes(const char *tree, const char *id)
{
	const char *args[] = { "log", "-1", "--no-show-signature",
			       "--format=%(trailers:key=Fixes,valueonly,unfold)", id, NULL };
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *out = git_read(tree, "reading a commit", args, NULL, NULL);
	g_auto(GStrv) lines = out ? g_strsplit(out, "\n", -1) : NULL;

	for (char **l = lines; l && *l; l++)
		if (*g_strstrip(*l))
			g_ptr_array_add(list, mmg_clean(*l, -1, 200));
	return list;
}

GPtrArray *commits_to_judge(const char *tree, const char *bad, const GPtrArray *good, GError **err)
{
	g_autoptr(GPtrArray) args = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *out = NULL;
	g_auto(GStrv) lines = NULL;

	g_ptr_array_add(args, g_strdup("rev-list"));
	g_ptr_array_add(args, g_strdup("--bisect-all"));
	g_ptr_array_add(args, g_strdup(bad));
	for (guint i = 0; i < good->len; i++)
		g_ptr_array_add(args, g_strconcat("^", good->pdata[i], NULL));
	g_ptr_array_add(args, g_strdup("--"));
	g_ptr_array_add(args, NULL);
	out = git_read(tree, "listing the commits to judge", (const char *const *)args->pdata, NULL, err);
	if (!out)
		return NULL;
	lines = g_strsplit(out, "\n", -1);
	for (char **l = lines; *l; l++) {
		/* "ID (decoration, dist=N)" */
		(*l)[strcspn(*l, " ")] = '\0';
		if (!**l)
			continue;
		if (list->len == MAX_COMMITS) {
			mmg_set_error(err, MMG_EXIT_USAGE, "more than %d commits lie between good and bad; "
				      "name ends that are closer", MAX_COMMITS);
			return NULL;
		}
		g_ptr_array_add(list, g_strdup(*l));
	}
	return g_steal_pointer(&list);
}
