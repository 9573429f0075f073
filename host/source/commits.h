/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commits of a kernel tree, asked of git and never checked out.
 */
#ifndef MMGATE_COMMITS_H
#define MMGATE_COMMITS_H

#include "base/base.h"

/* The full id of the commit that @ref names in @tree, g_free() it; NULL with *@err */
char *commit_id(const char *tree, const char *ref, GError **err);
/* Is @a an ancestor of @b (or the same)?  False with *@err where git could not say */
bool commit_is_ancestor(const char *tree, const char *a, const char *b, GError **err);
/* "id subject", cut to @id_len digits of the id, g_free() it; just the id where git does not know it */
char *commit_title(const char *tree, const char *id, int id_len);
/* The values of the "Fixes:" trailers of @id, as char *; empty where there are none */
GPtrArray *commit_fixes(const char *tree, const char *id);
/* The author of @id as "Name <address>", g_free() it; NULL where git does not say */
char *commit_author(const char *tree, const char *id);
/*
 * The commits that could have brought a fault: reachable from @bad, and from none of @good
 * (char *).  Those that halve the rest best come first, as git rev-list --bisect-all orders
 * them.  @bad is one of them.  At most a million; NULL with *@err.
 */
GPtrArray *commits_to_judge(const char *tree, const char *bad, const GPtrArray *good, GError **err);

#endif /* MMGATE_COMMITS_H */
