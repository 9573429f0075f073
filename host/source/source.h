/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel sources as data: trees, edits and series.  A change to a source tree is an overlay, a
 * table of path -> content, whether it came from an edit script, a patch series or a git revision.
 */
#ifndef MMGATE_SOURCE_H
#define MMGATE_SOURCE_H

#include "base/base.h"

/* ---- edit.c: sources, overlays, edit scripts ---- */

/**
 * struct source - a kernel source tree that is read and never written
 * @tree:	the folder
 * @name:	how it is called in results ("linux-source-6.12=6.12.117-1" or the path)
 * @version:	"6.12.117", from its Makefile
 */
struct source {
	char *tree, *name, *version;
};

/* Open @tree: checks that it is a kernel source and reads its version; NULL with *@err */
struct source *source_open(const char *tree, const char *name, GError **err);
void source_free(struct source *src);

/*
 * An overlay: path (char *) -> GBytes *, or NULL where the file is deleted.
 * @overlay_new: empty.  @overlay_copy: the same content.  @overlay_hash: hex
 * SHA-256 over paths and contents, "" for an empty one; g_free() it.
 */
GHashTable *overlay_new(void);
GHashTable *overlay_copy(GHashTable *overlay);
char *overlay_hash(GHashTable *overlay);
/* Take over @bytes (may be NULL: deleted) */
void overlay_set(GHashTable *overlay, const char *path, GBytes *bytes);
/* Content of @path with @overlay (may be NULL) over @src; NULL with *@err.  g_bytes_unref() it */
GBytes *source_read(const struct source *src, GHashTable *overlay, const char *path, GError **err);
/* True where @path stays inside a tree: relative, no "..", no empty part */
bool path_is_inside(const char *path);

/**
 * struct edit - one replacement
 * @file:	path in the source tree
 * @function:	the definition it must lie in, or NULL for anywhere in the file
 * @find:	text that must be there exactly once; any white space matches any other
 * @replace:	what is put in its place
 * @kernels:	range of kernel versions it is for, or NULL for all
 * @step:	edits of one step are alternatives, of which the first that fits is made; or NULL
 * @where:	"file.conf [edit name]", for errors
 */
struct edit {
	char *file, *function, *find, *replace, *kernels, *step, *where;
};

/**
 * struct edit_script - a file of configs/mutants, or the undo part of a gate
 * @name:	file name without .conf
 * @about:	one line
 * @room:	what part of the kernel it breaks ("walk", "rmap", "zones", ...)
 * @kernels:	range of versions, or NULL
 * @arch:	only for this architecture, or NULL
 * @notice:	globs of the cases that should notice
 * @survives:	why nothing can notice ("equivalent: ...", "out of reach: ..."), or NULL
 * @edits:	struct edit *
 */
struct edit_script {
	char *name, *about, *room, *kernels, *arch, *survives;
	GPtrArray *notice;
	GPtrArray *edits;
};

/*
 * Every key of @group in @path must be in @known, NULL-terminated: a misspelt one would
 * silently change what is meant; false with *@err
 */
bool conf_keys_known(GKeyFile *kf, const char *path, const char *group, const char *const *known,
		     GError **err);
/* Read configs/mutants/@file; unknown keys and groups are errors; NULL with *@err */
struct edit_script *edit_script_load(const char *file, GError **err);
/* Read the groups "edit ..." of @kf into @edits; @path for errors */
bool edit_read_groups(GKeyFile *kf, const char *path, GPtrArray *edits, GError **err);
void edit_free(struct edit *e);
void edit_script_free(struct edit_script *s);

/* True where at least one edit is for @version (and the script is) */
bool edit_script_fits(const struct edit_script *s, const char *version, const char *arch);

/*
 * The next definition of the function @name in @text at or after @from: the name stands in a line
 * that begins in column 0, arguments follow, and a '{' before any ';'.  Kernel style closes a function
 * with a '}' in column 0.  [*@start, *@end) gets its text; false where there is none.
 */
bool edit_definition(const char *text, const char *name, const char *from, const char **start,
		     const char **end);
/* @text with @e applied, g_free() it; NULL with *@err where it fits nowhere or more than once */
char *edit_apply_text(const struct edit *e, const char *text, GError **err);
/*
 * Apply those of @edits that are for the version of @src, on top of @overlay: of each step the first
 * that fits.  False with *@err (the last one's of the step) where none does.
 */
bool edits_apply(GPtrArray *edits, const struct source *src, GHashTable *overlay, GError **err);

/* ---- series.c: patches as data ---- */

/*
 * Apply @series (mbox, perhaps of a whole thread and gzipped, patch file, a folder of patches in name order or by
 * its "series" file, or an edit file as in configs/mutants, NAME.conf) on top of @overlay over @src.  Nothing in it is executed.
 * *@titles gets the patches' subjects (may be NULL).
 */
bool series_apply(const char *series, const struct source *src, GHashTable *overlay,
		  GPtrArray **titles, GError **err);
/* The same, and into *@steps the state after each patch (an overlay each, as many as titles) */
bool series_apply_steps(const char *series, const struct source *src, GHashTable *overlay, GPtrArray **titles,
			GPtrArray **steps, GError **err);
/* Difference between the work tree @src->tree (a git work tree) and @ref, into @overlay */
bool git_overlay(const struct source *src, const char *ref, GHashTable *overlay, GError **err);

/* ---- ksrc.c ---- */

/* Packaged source by version ("6.12") and suite (or NULL), unpacked once into the cache, whole tree
 * where @whole, else only what the selftests need; path, g_free() it; @name gets "package=version"
 */
char *ksrc_fetch(bool offline, const char *version, const char *suite, bool whole, char **name,
		 GError **err);

/*
 * The source that --tree @tree_dir (or NULL) or the word @word (or NULL) names: a folder,
 * "debian-source:VERSION[@SUITE]", by default debian-source:6.12.  NULL with *@err.
 */
struct source *source_named(const char *tree_dir, const char *word, bool offline, GError **err);
/*
 * For a dry run that got no source: where that is only because it would have to be fetched, say so,
 * clear *@err and return true
 */
bool source_not_here(const char *tree_dir, const char *word, GError **err);

#endif /* MMGATE_SOURCE_H */
