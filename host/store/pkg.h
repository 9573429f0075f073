/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files about kernels, packages and sources share among themselves.
 */
#ifndef MMGATE_PKG_H
#define MMGATE_PKG_H

#include "mmg.h"

/* ---- pkg.c: packages and other archives, opened without their tools ---- */

/**
 * struct pkg - what a package says about itself
 * @name:	"linux-image-6.12.117+deb12-amd64"; the file's name where it says nothing
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
/* Path of a folder of the cache that is there already, g_free() it; or NULL */
char *cache_have(const char *kind, const char *key);
/* SHA-256 of a file, remembered by its size and times; NULL with *@err */
char *cache_sha256(const char *path, GError **err);
/* Names of the folders of @kind that match @glob; g_ptr_array_unref() it */
GPtrArray *cache_list(const char *kind, const char *glob);
/* Bytes on disk below @path */
uint64_t cache_size(const char *path);

/* ---- apt.c: Debian's archive, as an ordinary user ---- */

/**
 * struct apt_pkg - a version of a package that can be had
 * @depends:	as in the control file, or ""
 * @size:	of the .deb, bytes
 */
struct apt_pkg {
	char *name, *version, *arch, *depends;
	uint64_t size;
};

/**
 * struct apt - a view of Debian's archive
 * @suite:	other suite than the host's, or NULL
 * @arch:	"amd64", "arm64"
 * @config:	apt configuration file of the private state, or NULL: the host's own
 */
struct apt {
	char *suite, *arch, *config;
	bool offline;
};

/* The host's architecture in Debian's word, g_free() it */
char *apt_host_arch(void);
/* Open a view; lists are fetched where they must be.  NULL with *@err */
struct apt *apt_open(const char *suite, const char *arch, bool offline, GError **err);
void apt_free(struct apt *a);
/* Fetch the lists anew, into a private state; false with *@err */
bool apt_refresh(struct apt *a, GError **err);
/* Versions of the linux-* packages whose name matches regexp @pattern; GPtrArray of struct apt_pkg * */
GPtrArray *apt_list(struct apt *a, const char *pattern, GError **err);
/* Download @name=@version into @dir; path of the .deb, g_free() it; NULL with *@err */
char *apt_download(struct apt *a, const struct apt_pkg *p, const char *dir, GError **err);
/* A word that changes whenever the answers of apt_list() may; g_free() it */
char *apt_stamp(struct apt *a);
/* Compare Debian versions: <0, 0, >0 */
int deb_version_cmp(const char *a, const char *b);

/**
 * struct apt_image - the packages that make one kernel
 * @version:	of all of them
 * @release:	"6.12.117+deb12-amd64"
 * @packages:	struct apt_pkg *, unowned
 */
struct apt_image {
	char *version, *release;
	GPtrArray *packages;
};

/*
 * Choose among @list (of apt_list(), prefix "linux-") the newest kernel that fits @want
 * ("6.12", "6.12.117-1~deb12u1") and whose name ends in @flavour ("amd64", "arm64-16k");
 * NULL where there is none.
 */
struct apt_image *apt_choose(const GPtrArray *list, const char *want, const char *flavour);
void apt_image_free(struct apt_image *i);
/* True where package version or release @have is what @want asks for */
bool apt_version_fits(const char *have, const char *want);

/* ---- image.c: what a kernel image says about itself ---- */

/**
 * struct image - read from the first bytes of a file
 * @arch:	"x86_64", "arm64", "i386", ...
 * @release:	uname -r, or NULL where it does not tell
 * @banner:	text after the release in "Linux version", or NULL
 * @kind:	"bzImage", "Image", "vmlinux", "zboot"
 * @compressed:	the machine cannot boot it as it is: unpack it first
 * @pvh:	an x86 ELF with a PVH entry
 */
struct image {
	char *arch, *release, *banner;
	const char *kind;
	bool compressed, pvh;
};

/* NULL with *@err where @path is no kernel */
struct image *image_open(const char *path, GError **err);
void image_free(struct image *i);
/* The .config built into an image (CONFIG_IKCONFIG); NULL where there is none */
GByteArray *image_config(const char *path);
/* Write the bootable form of a compressed image to @to */
bool image_unpack(const char *path, const char *to, GError **err);

/* ---- kernel.c ---- */
/* The host's architecture as --arch has it */
const char *kernel_host_arch(void);

/* ---- modules.c ---- */
/*
 * A folder with an index (modules.dep.bin) for the modules in @dir, which is
 * @dir itself where it has one, else one in the cache that links to it.
 */
char *modules_indexed(const char *dir, const char *release, GError **err);
/* Run depmod over @root/lib/modules/@release */
bool modules_depmod(const char *root, const char *release, GError **err);

#endif /* MMGATE_PKG_H */
