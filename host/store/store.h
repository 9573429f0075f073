/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache, and packages and other archives opened without their tools.
 */
#ifndef MMGATE_STORE_H
#define MMGATE_STORE_H

#include "base/base.h"

/* ---- pkg.c: packages and other archives, opened without their tools ---- */

/**
 * struct pkg - what a package says about itself
 * @name:	"linux-image-6.12.117+deb12-amd64"; the file's name where it says nothing.
 *		An RPM is known by its file's name alone
 * @version:	"6.12.117-1~deb12u1", or NULL
 * @arch:	in the package format's words ("amd64", "aarch64"), or NULL
 */
struct pkg {
	char *name, *version, *arch;
};

/**
 * struct pkg_unpack - how to unpack an archive
 * @dir:	existing folder to unpack into
 * @inner:	glob of a member that is an archive itself and whose members are
 *		meant (linux-source's tarball), or NULL
 * @want:	returns where a member goes, below @dir (g_free() it), or NULL to
 *		leave it; @path has neither a leading "./" nor a "/"
 * @data:	for @want
 * @max:	bytes to unpack at most
 * @what:	for the status line
 */
struct pkg_unpack {
	const char *dir;
	const char *inner;
	char *(*want)(const char *path, void *data);
	void *data;
	uint64_t max;
	const char *what;
};

/* True where @path looks like a package or archive that pkg_unpack() opens (by content) */
bool pkg_is_archive(const char *path);
/* Name, version, architecture of a .deb or .rpm; NULL with *@err */
struct pkg *pkg_open(const char *path, GError **err);
void pkg_free(struct pkg *p);
/* Unpack; how many files were, or -1 with *@err.  Members that lead out of the folder are an error. */
int pkg_unpack(const char *path, const struct pkg_unpack *how, GError **err);
/* False where @name has an empty, "." or ".." component */
bool pkg_name_is_safe(const char *name);
/* A file's bytes, at most @max; NULL with *@err */
GByteArray *pkg_read(const char *path, uint64_t max, GError **err);
/* The same of a .gz/.xz/.zst/... file, decompressed (a plain file is taken as it is) */
GByteArray *pkg_decompress(const char *path, uint64_t max, GError **err);
/* The same of bytes in memory; @what names them in errors; NULL where they are not compressed */
GByteArray *pkg_decompress_mem(const void *data, gsize len, uint64_t max, const char *what,
			       GError **err);

/* ---- cache.c: things made once, whole, under a lock ---- */

/**
 * cache_make - have a folder in the cache, made once
 * @kind:	"kernels", "sources", "modules", "selftests"
 * @key:	name of the folder
 * @fill:	makes the content in a fresh folder @dir; false with *@err
 * @data:	for @fill
 *
 * Two runs at once: one fills, the other waits.  An interrupted or failed
 * @fill leaves nothing.  Returns the path, g_free() it; NULL with *@err.
 */
char *cache_make(const char *kind, const char *key,
		 bool (*fill)(const char *dir, void *data, GError **err), void *data,
		 GError **err);
/* Path of a folder of the cache that is there already and whole, g_free() it; or NULL */
char *cache_have(const char *kind, const char *key);
/* SHA-256 of a file, remembered by its size and times; NULL with *@err */
char *cache_sha256(const char *path, GError **err);
/* Names of the folders of @kind that match @glob; g_ptr_array_unref() it */
GPtrArray *cache_list(const char *kind, const char *glob);
/* Bytes on disk below @path */
uint64_t cache_size(const char *path);

#endif /* MMGATE_STORE_H */
