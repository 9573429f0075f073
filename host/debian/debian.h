/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Debian's archive: sources, package lists, the choice of a package.
 */
#ifndef MMGATE_DEBIAN_H
#define MMGATE_DEBIAN_H

#include "base/base.h"

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

/* Only the flavour asked for; debug and unsigned packages have one more word in their names */
#define KERNEL_PACKAGES "^linux-(image|binary|modules|base)-[0-9][0-9a-z.+~]*(-[0-9]+)?-%s$"

/* ---- newest.c ---- */

/* True for latest, stable and rc */
bool debian_is_moving(const char *word);
/*
 * The exact version that @word (latest, stable, rc) means today for Debian's @arch and @flavour; g_free() it,
 * NULL with *@err.  *@suite gets where it is.  Lists are fetched where they must be.
 */
char *debian_newest(const char *word, const char *arch, const char *flavour, const char **suite,
		    GError **err);
/* The newest version in @list (of apt_list()) that has all of its packages, @rc: a candidate; NULL: none */
char *debian_newest_of(const GPtrArray *list, bool rc, const char *flavour);

#endif /* MMGATE_DEBIAN_H */
