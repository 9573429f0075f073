/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * git on a tree that may be hostile: what the tree's and the user's
 * configuration say is never read, so nothing of it is executed.
 */
#ifndef MMGATE_GIT_H
#define MMGATE_GIT_H

#include <glib.h>
#include <stdbool.h>

/*
 * Run git with @args (NULL-terminated) on the work tree @tree; what it prints, g_free() it, its
 * length in *@len (may be NULL).  NULL with *@err, in git's own words.  @what is for messages.
 *
 * git works on a folder of its own that borrows the repository's objects,
 * references and index, but not its configuration and hooks: no fsmonitor,
 * filter, textconv, hook or remote helper of the tree is run.  A @tree without a
 * repository is taken as a work tree of which nothing is committed.
 */
char *git_read(const char *tree, const char *what, const char *const *args, gsize *len,
	       GError **err);

/* git cat-file --batch: the objects named in the file @in, into the file @out; false with *@err */
bool git_batch(const char *tree, const char *what, const char *in, const char *out, GError **err);

#endif /* MMGATE_GIT_H */
