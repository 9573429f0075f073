/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_TOUCHED_H
#define MMGATE_TOUCHED_H

#include "source/source.h"

/**
 * struct touched - one definition that a change touches
 * @file:	path in the source tree
 * @function:	its name; NULL for text outside any function (a macro, a structure, a comment)
 */
struct touched {
	char *file, *function;
};

/*
 * What differs between two sides of @file, appended to @into as struct touched *.
 * A side that is NULL has no such file.
 */
void touched_in_text(const char *file, GBytes *before, GBytes *after, GPtrArray *into);
/*
 * What the change from overlay @from (may be NULL) to overlay @to touches in @src, as
 * struct touched *, sorted by file and name
 */
GPtrArray *touched_by(const struct source *src, GHashTable *from, GHashTable *to);
void touched_free(gpointer touched);

#endif /* MMGATE_TOUCHED_H */
