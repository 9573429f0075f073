/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_GENERATED_H
#define MMGATE_GENERATED_H

#include "build/build.h"

/**
 * struct generated - which mutants are to be made by rule
 * @arch:	of the kernel
 * @function:	glob of the functions, or NULL for all that are guarded
 * @coverage:	coverage.json of the same source: what it does not reach comes last; or NULL
 * @config:	more fragments of the kernel's configuration (char *)
 * @count:	how many, 0: 30
 * @seed:	of the draw, 0: 1
 * @dry_run:	build nothing: the objects must be there
 */
struct generated {
	const char *arch, *function, *coverage;
	GPtrArray *config;
	unsigned int count;
	uint64_t seed;
	bool dry_run;
};

/*
 * Make mutants of @src as edit scripts in a folder of the cache.  Builds the good kernel where its
 * objects are not there, which tell how its files are compiled.  Paths (char *) in the order in
 * which they are to be tried; NULL with *@err.
 */
GPtrArray *generated_files(const struct generated *how, const struct source *src, GError **err);

#endif /* MMGATE_GENERATED_H */
