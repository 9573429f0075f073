/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a patch series is based on.
 */
#ifndef MMGATE_BASED_H
#define MMGATE_BASED_H

#include "source/source.h"

/*
 * The revision of @src on which the patches in the file or folder @series stand, into *@ref: the
 * "base-commit:" that the mail names (as git format-patch --base writes it) where the tree has it,
 * else NULL, the work tree, where they apply to it, else the newest tag on which they apply.  *@how
 * says in one line which it is and why.  g_free() both.  False with *@err where they apply to
 * none of these, in the words of the work tree's misfit.
 */
bool series_base(const char *series, const struct source *src, char **ref, char **how, GError **err);

#endif /* MMGATE_BASED_H */
