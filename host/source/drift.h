/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_DRIFT_H
#define MMGATE_DRIFT_H

#include "source/source.h"

/**
 * struct finding - one thing of ours that a source does not have as we know it
 * @kind:	"mutant", "gate", "option", "text" or "test"
 * @name:	of the mutant, gate, option, entry of configs/drift.conf, or test
 * @where:	file of ours that is to be mended
 * @what:	what does not fit: file, function and the nearest line; or the compiler's line
 */
struct finding {
	const char *kind;
	char *name, *where, *what;
};

void finding_free(gpointer finding);
/* Take over @where and @what */
void finding_add(GPtrArray *list, const char *kind, const char *name, char *where, char *what);
/*
 * Do the edits of configs/mutants and configs/gates and the texts of configs/drift.conf fit @src for @arch?  Adds
 * to @list; *@fit gets how many do.  False with *@err for a wrong file of ours.
 */
bool drift_edits(const struct source *src, const char *arch, GPtrArray *list, unsigned int *fit, GError **err);
/* Options that Kconfig files of @src define: a set of names without CONFIG_; g_hash_table_unref() it */
GHashTable *drift_options(const struct source *src);
/* True where configs/drift.conf knows that @option is gone from kernels of @version, [gone OPTION] */
bool drift_known_gone(const char *option, const char *version);
/* Options that configs/kernel sets for @arch, option -> file name; NULL with *@err */
GHashTable *drift_wanted(const char *arch, GError **err);

#endif /* MMGATE_DRIFT_H */
