/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What --kernel means: a kernel to boot, its image, modules and configuration.
 */
#ifndef MMGATE_KERNEL_H
#define MMGATE_KERNEL_H

#include "base/base.h"

/**
 * struct kernel_options - what the command line says about every kernel of a run
 * @arch:	the architecture asked for, or NULL: the host's
 * @modules:	folder of modules for an image file, or NULL
 * @ksrc:	kernel source for the KVM selftest library, or NULL: the one that fits
 * @offline:	what is in the cache, no network
 */
struct kernel_options {
	const char *arch, *modules, *ksrc;
	bool offline;
};

/* ---- kernel.c ---- */

/**
 * struct kernel - a kernel to test, ready to boot
 * @spec:	as the user wrote it
 * @label:	column heading, short and unique among the run's kernels
 * @release:	uname -r
 * @version:	leading numbers of @release, "6.12.117"
 * @arch:	"x86_64", "arm64"
 * @image:	bootable file (bzImage, Image, or ELF vmlinux with PVH)
 * @modules:	DIR holding modules.dep and kernel/ (…/lib/modules/RELEASE), or
 *		NULL where there are none
 * @config:	file with CONFIG_ lines, or NULL where unknown
 * @ksrc:	source tree for the KVM selftest library
 * @ksrc_name:	how @ksrc is named in results ("linux-source-6.12=6.12.117-1~deb12u1" or a path)
 * @packages:	"name=version" of what it came from
 * @sha256:	of @image
 * @bzimage:	@image is a bzImage for x86_64, and nobody has looked yet at the vmlinux in it
 * @vmlinux:	the ELF file in a bzImage @image, where it has a PVH entry: nothing to unpack at
 *		boot, half a second to a second sooner; else NULL
 * @vmlinux_sha256: of @vmlinux
 * @host:	the running kernel, no VM
 */
struct kernel {
	char *spec, *label, *release, *version, *arch;
	char *image, *modules, *config;
	char *ksrc, *ksrc_name;
	GPtrArray *packages;
	char *sha256, *vmlinux, *vmlinux_sha256;
	char *role;			/* NULL, "base", "patched", "mutant" */
	char *suite;			/* Debian suite that debian:latest, stable or rc led to, or NULL */
	GPtrArray *keep;		/* "NAME PATH": files of the guest taken as artifacts at its end, or NULL */
	bool host, bzimage;
};

/* Resolve --kernel @spec; NULL with *@err */
struct kernel *kernel_resolve(const struct kernel_options *how, const char *spec, GError **err);
/* Put the vmlinux of @k's bzImage into the cache and set @vmlinux; without effect where it cannot be entered */
void kernel_unpack(struct kernel *k);
/* 'y', 'm', or 'n' for CONFIG_@name; 0 where the config is unknown */
char kernel_config(const struct kernel *k, const char *name);
void kernel_free(struct kernel *k);

/* ---- modules.c ---- */
/*
 * Resolve @names (NULL-terminated) and what they need, in load order.  Names
 * that are built in or unknown are left out (the latter listed in @missing,
 * which may be NULL).  Returns a GPtrArray of file paths; NULL with *@err.
 */
GPtrArray *modules_resolve(const struct kernel *k, const char *const *names,
			   GPtrArray *missing, GError **err);

/* ---- image.c: what a kernel image says about itself ---- */

/**
 * struct image - read from the first bytes of a file
 * @arch:	"x86_64", "arm64", "i386", ...
 * @release:	uname -r, or NULL where it does not tell
 * @banner:	text after the release in "Linux version", or NULL
 * @kind:	"bzImage", "Image", "vmlinux", "zboot"
 * @compressed:	the machine cannot boot it as it is: unpack it first
 * @pvh:	an x86 ELF with a PVH entry
 * @missing:	bytes that a bzImage's setup header announces and the file has not
 */
struct image {
	char *arch, *release, *banner;
	const char *kind;
	bool compressed, pvh;
	guint64 missing;
};

/* NULL with *@err where @path is no kernel */
struct image *image_open(const char *path, GError **err);
void image_free(struct image *i);
/* The .config built into an image (CONFIG_IKCONFIG); NULL where there is none */
GByteArray *image_config(const char *path);
/* Write the bootable form of a compressed image to @to */
bool image_unpack(const char *path, const char *to, GError **err);
/* The ELF file in a bzImage, the Image in a compressed one, else the file itself; NULL with *@err */
GByteArray *image_kernel(const char *path, GError **err);

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

#endif /* MMGATE_KERNEL_H */
