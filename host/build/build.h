/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels from sources, and the selftests for a kernel.
 */
#ifndef MMGATE_BUILD_H
#define MMGATE_BUILD_H

#include "kernel/kernel.h"
#include "source/source.h"

/* ---- build.c: kernels from sources ---- */

/**
 * struct build_spec - a kernel to build
 * @src:	source
 * @overlay:	changes to it, or NULL
 * @arch:	"x86_64", "arm64"
 * @debug:	with the debug fragment
 * @fragments:	more fragment files (char *), or NULL
 * @label:	for the status line
 * @jobs:	compilers at once, 0: as many as there are processors
 * @keep:	files of the object folder (char *, paths in it) kept with the kernel below kept/,
 *		those that the build makes; or NULL
 * @with_objects: it is built also where only its image is in the cache: kernel_objects() is to be there
 */
struct build_spec {
	const struct source *src;
	GHashTable *overlay;
	const char *arch;
	bool debug;
	GPtrArray *fragments;
	const char *label;
	unsigned int jobs;
	const GPtrArray *keep;
	bool with_objects;
};

/**
 * struct build_result - a built kernel
 * @dir:	folder in the cache with the image, config and build.json
 * @image:	bootable file
 * @config:	its .config
 * @sha256:	of the image
 * @objects:	the object folder that it was built in, NULL where it was built by an mmgate that did not say
 * @seconds:	what the build took, 0 where it was there already
 * @cached:	it was there already
 */
struct build_result {
	char *dir, *image, *config, *sha256, *objects;
	double seconds;
	bool cached;
};

/*
 * Build it, or find it in the cache.  A compile error ends with exit status
 * broken and the first error line of the compiler.
 */
struct build_result *kernel_build(const struct build_spec *spec, GError **err);
/* The object folder of @spec: there once it was built from this path of the source; g_free() it */
char *kernel_objects(const struct build_spec *spec);
void build_result_free(struct build_result *r);
/* The image with its config and build.json, as a new folder @to; false with *@err */
bool build_result_copy(const struct build_result *r, const char *to, GError **err);

/* A built kernel as the suite wants it; @label is its column heading */
struct kernel *kernel_from_build(const struct kernel_options *how, const struct source *src,
				 const struct build_result *b, const char *label, const char *role,
				 GError **err);

/* ---- flags.c ---- */

/*
 * What of the compiler's command line for @file says how its text is to be read (folders of headers,
 * macros, the language), by what kbuild left in the folder @objects, with the headers of @src itself:
 * for another parser than gcc.  NULL-terminated, g_strfreev() it; NULL with *@err.
 */
char **compile_flags(const char *objects, const struct source *src, const char *file, GError **err);

/* ---- selftests.c ---- */

/* Fill ksrc where it is not set yet: --ksrc, build tree's source, or the packaged one (fetched) */
bool kernel_find_ksrc(const struct kernel_options *how, struct kernel *k, GError **err);
/*
 * Build the tests for @k (its arch, its ksrc) in the cache, keyed by the
 * content of selftests/ and guest/, the source and the compiler.  Returns the folder with
 * kvm/<test>_test, mm/<test>_test, bench/..., and init; g_free() it; NULL with *@err.
 */
char *selftests_build(const struct kernel *k, GError **err);

#endif /* MMGATE_BUILD_H */
