/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel sources as data: edits, series, builds, and the verdicts on what they
 * do.  A change to a source tree is an overlay, a table of path -> content,
 * whether it came from an edit script, a patch series or a git revision.
 */
#ifndef MMGATE_GATE_H
#define MMGATE_GATE_H

#include "mmg.h"

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

/* True where @version lies in @range: "FROM..TO" is FROM and later, before TO; either may be empty */
bool version_in_range(const char *range, const char *version);
/* True where "FROM..TO" is well-formed */
bool version_range_valid(const char *range);
/* True where at least one edit is for @version (and the script is) */
bool edit_script_fits(const struct edit_script *s, const char *version, const char *arch);

/* @text with @e applied, g_free() it; NULL with *@err where it fits nowhere or more than once */
char *edit_apply_text(const struct edit *e, const char *text, GError **err);
/*
 * Apply those of @edits that are for the version of @src, on top of @overlay: of each step the first
 * that fits.  False with *@err (the last one's of the step) where none does.
 */
bool edits_apply(GPtrArray *edits, const struct source *src, GHashTable *overlay, GError **err);

/* ---- series.c: patches as data ---- */

/* Paths a unified diff touches (char *, unique); NULL with *@err where one leaves the tree */
GPtrArray *patch_paths(const char *patch, gsize len, GError **err);
/*
 * Apply @series (mbox, patch file, a folder of patches in name order or by
 * its "series" file, or an edit file as in configs/mutants, NAME.conf) on top of @overlay over @src.  Nothing in it is executed.
 * *@titles gets the patches' subjects (may be NULL).
 */
bool series_apply(const char *series, const struct source *src, GHashTable *overlay,
		  GPtrArray **titles, GError **err);
/* Difference between the work tree @src->tree (a git work tree) and @ref, into @overlay */
bool git_overlay(const struct source *src, const char *ref, GHashTable *overlay, GError **err);

/* ---- build.c: kernels from sources ---- */

/**
 * struct build_spec - a kernel to build
 * @src:	source
 * @overlay:	changes to it, or NULL
 * @arch:	"x86_64", "arm64"
 * @debug:	with the debug fragment
 * @fragments:	more fragment files (char *), or NULL
 * @label:	for the status line
 */
struct build_spec {
	const struct source *src;
	GHashTable *overlay;
	const char *arch;
	bool debug;
	GPtrArray *fragments;
	const char *label;
};

/**
 * struct build_result - a built kernel
 * @dir:	folder in the cache with the image, config and build.json
 * @image:	bootable file
 * @config:	its .config
 * @sha256:	of the image
 * @seconds:	what the build took, 0 where it was there already
 * @cached:	it was there already
 */
struct build_result {
	char *dir, *image, *config, *sha256;
	double seconds;
	bool cached;
};

/*
 * Build it, or find it in the cache.  A compile error ends with exit status
 * broken and the first error line of the compiler.
 */
struct build_result *kernel_build(const struct build_spec *spec, GError **err);
void build_result_free(struct build_result *r);

/*
 * The source that @cli names: --tree DIR, or a word "debian-source:VERSION" in
 * @word, or the default (debian-source:6.12); NULL with *@err.
 */
struct source *source_from_cli(const struct cli *cli, const char *word, GError **err);
/* A built kernel as the suite wants it; @label is its column heading */
struct kernel *kernel_from_build(const struct cli *cli, const struct source *src,
				 const struct build_result *b, const char *label, const char *role,
				 GError **err);
/* The architecture asked for, or the host's, as a static string */
const char *cli_arch(const struct cli *cli);

/* ---- verdict.c: numbers and words ---- */

/* Exact (Clopper-Pearson) two-sided bounds of a rate: @k of @n, confidence 1 - @alpha */
void clopper_pearson(unsigned int k, unsigned int n, double alpha, double *low, double *high);
/*
 * Mann-Whitney rank test of two samples, ties counted: two-sided p; exact
 * where there are few values, else by the normal approximation.  *@effect gets the chance that a
 * value of @b is larger than one of @a (ties half), may be NULL.
 */
double rank_test(const double *a, unsigned int na, const double *b, unsigned int nb,
		 double *effect);

/* What a case did in all runs of one kernel */
struct tally {
	unsigned int pass, fail, skip, broken;
};

/* How a case went from base to patched */
enum change {
	CHANGE_FIXED, CHANGE_REGRESSED, CHANGE_STILL_FAILING, CHANGE_STILL_PASSING,
	CHANGE_FLAKY, CHANGE_BROKEN, CHANGE_SKIPPED, CHANGE_ABSENT,
};

const char *change_name(enum change c);
enum change change_of(const struct tally *base, const struct tally *patched);

enum verdict {
	VERDICT_PASS, VERDICT_NOT_REPRODUCED, VERDICT_NOT_FIXED, VERDICT_REGRESSED,
	VERDICT_INCONCLUSIVE, VERDICT_BROKEN,
};

const char *verdict_name(enum verdict v);
int verdict_exit(enum verdict v);

/* What a gate asks of a case */
enum claim { CLAIM_FIXES, CLAIM_KEEPS, CLAIM_NONE };

/**
 * struct judged - one case of a gate, judged
 * @name:	family/test/case@machine
 * @claim:	what the gate asks of it
 */
struct judged {
	const char *name;
	enum claim claim;
	struct tally base, patched;
	enum change change;
};

/*
 * The verdict on all cases; @why gets one line, g_free() it.  @more gets how many
 * more runs an inconclusive one needs (0: more runs will not help).
 */
enum verdict verdict_of(const struct judged *cases, unsigned int n, char **why, unsigned int *more);

/* ---- judged.c: what was found out before ---- */

struct judged_keys;

/*
 * Names for what is known of mutants: each holds all that an answer depends on,
 * the images, the programs that run in the VM (those of @good's selftests), the machines'
 * files, seed and accelerator.  NULL with *@err.
 */
struct judged_keys *judged_keys_new(const struct cli *cli, const struct kernel *good, GError **err);
void judged_keys_free(struct judged_keys *keys);
/*
 * The name of "@tests on @machines, on the image @sha256"; @how: more words that count.
 * NULL where it cannot be had (no such test, say); g_free() it.
 */
char *judged_key(const struct judged_keys *keys, const char *sha256, const GPtrArray *tests,
		 const GPtrArray *machines, const char *how);
/* What was kept under @key in the cache (mutants/judged), NULL where nothing was */
json_t *judged_load(const char *key);
/* Keep @what under @key, with the time as "judged"; trouble is only said */
void judged_save(const char *key, json_t *what);

/* ---- gate.c: what a run says about each case ---- */

/* The base and the patched kernel of gate @name, built or from the cache; NULL with *@err */
GPtrArray *gate_kernels(const struct cli *cli, const char *name, GError **err);

/**
 * struct seen - what one case did in all runs of one kernel
 * @name:	family/test/case, or boot/splat and boot/between_tests
 * @machine:	where
 * @t:		counts
 * @reason:	of its worst result
 * @metrics:	name -> GArray of double
 */
struct seen {
	char *name, *machine, *reason;
	struct tally t;
	GHashTable *metrics;
};

/* "name@machine" -> struct seen *, for kernel @nr of @run */
GHashTable *seen_collect(json_t *run, int nr);
/*
 * Make the two speak of the same cases: a test that never came to its cases (a
 * dead VM) stands for each of them, and a boot without trouble passes what the
 * other's boots failed at.
 */
void seen_align(GHashTable *a, json_t *run_a, int nr_a, GHashTable *b, json_t *run_b, int nr_b);
/* Keys of both, sorted; char * borrowed from the tables */
GPtrArray *seen_keys(GHashTable *a, GHashTable *b);
/* True where @glob ("GLOB" or "GLOB@MACHINE") names that case */
bool claim_matches(const char *glob, const char *name, const char *machine);
/* The first boot of kernel @nr that did not end well: its reason, NULL where all did */
const char *bad_boot(json_t *run, int nr);

#endif /* MMGATE_GATE_H */
