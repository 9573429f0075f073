/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions that the tests guard: configs/guarded.conf.
 */
#ifndef MMGATE_GUARDED_H
#define MMGATE_GUARDED_H

#include "source/source.h"

/**
 * struct guarded - a guarded function
 * @file:	path in the source tree
 * @name:	of the function
 * @notice:	globs ("GLOB" or "GLOB@MACHINE") of the cases that should notice a fault in it, best first
 */
struct guarded {
	char *file, *name;
	GPtrArray *notice;
};

/*
 * Those of @path (NULL: configs/guarded.conf) that are for @arch, in the order in which they stand
 * there: struct guarded *.  A file below arch/ is for that architecture only.  NULL with *@err.
 */
GPtrArray *guarded_load(const char *path, const char *arch, GError **err);
/* The files of @functions, each once (char *, borrowed); g_ptr_array_unref() it */
GPtrArray *guarded_files(const GPtrArray *functions);

/**
 * struct definition - lines of a function's definition, counted from 1, both included
 */
struct definition {
	unsigned int first, last;
};

/* All definitions of @name in @text (an #ifdef may give two): struct definition; g_array_unref() it */
GArray *definition_lines(const char *text, const char *name);

/*
 * Put into @overlay the Makefiles of @src with the lines that make kbuild count what runs of @files
 * (Documentation/dev-tools/gcov.rst: GCOV_PROFILE_file.o).  A file that @src does not have is passed
 * over.  False with *@err where a Makefile cannot be found.
 */
bool profile_overlay(const struct source *src, const GPtrArray *files, GHashTable *overlay, GError **err);

#endif /* MMGATE_GUARDED_H */
