/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_ENTRY_H
#define MMGATE_ENTRY_H

#include "kernel/kernel.h"

/**
 * struct kernel_entry - a kernel in use, configs/kernels/NAME.conf
 * @name:	of its file
 * @spec:	what --kernel takes
 * @why:	why it is in the table
 * @since:	YYYY-MM from which on it is used
 * @until:	YYYY-MM until which its maintainers support it, or NULL
 * @archs:	for which architectures there is one; empty: all
 */
struct kernel_entry {
	char *name, *spec, *why, *since, *until;
	char **archs;
};

/*
 * The kernels that fit one of @words (globs; empty: all) and have @arch, by version; NULL with
 * *@err: a wrong file, or a word that fits none.
 */
GPtrArray *kernel_entries(const GPtrArray *words, const char *arch, GError **err);
/* An entry for a --kernel of the command line, which no file is about */
struct kernel_entry *kernel_entry_of_spec(const char *spec);
void kernel_entry_free(gpointer entry);

#endif /* MMGATE_ENTRY_H */
