// SPDX-License-Identifier: GPL-2.0-only
/*
 * What --kernel SPEC means: an image file, a build tree, package files, a
 * Debian version, the running kernel.  All end as a struct kernel.
 */
#include "base/arch.h"
#include "debian/debian.h"
#include "kernel/kernel.h"
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A distribution's modules take some 100 MB packed; debug builds some GB */
#define UNPACK_MAX (8ULL << 30)
#define META "mmgate.ini"

/* ---- small things ---- */

static bool is_file(const char *path)
{
	return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static bool is_dir(const char *path)
{
	return g_file_test(path, G_FILE_TEST_IS_DIR);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* DIR/REL where that is a file, g_free() it; or NULL */
static char *file_in(const char *dir, const char *rel)
{
	char *path = g_build_filename(dir, rel, NULL);

	if (is_file(path))
		return path;
	g_free(path);
	return NULL;
}

/* The numbers that @text starts with, g_free() it */
static char *leading_numbers(const char *text)
{
	gsize n = 0;

	while (isdigit((unsigned char)text[n]) ||
	       (text[n] == '.' && n && isdigit((unsigned char)text[n + 1])))
		n++;
	return g_strndup(text, n);
}

/* uname -m in the words that --arch has */
const char *kernel_host_arch(void)
{
	return arch_host()->name;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	g_free(k->spec);
	g_free(k->label);
	g_free(k->release);
	g_free(k->version);
	g_free(k->arch);
	g_free(k->image);
	g_free(k->modules);
	g_free(k->config);
	g_free(k->ksrc);
	g_free(k->ksrc_name);
	g_ptr_array_unref(k->packages);
	g_free(k->sha256);
	g_free(k->vmlinux);
	g_free(k->vmlinux_sha256);
	g_free(k->role);
	g_free(k->suite);
	if (k->keep)
		g_ptr_array_unref(k->keep);
	g_free(k);
}

static struct kernel *kernel_new(const char *spec)
{
	struct kernel *k = g_new0(struct kernel, 1);

	k->spec = g_strdup(spec);
	k->packages = g_ptr_array_new_with_free_func(g_free);
	return k;
}

char kernel_config(const struct kernel *k, const char *name)
{
	g_autofree char *text = NULL, *option = g_strconcat("CONFIG_", name, NULL), *value = NULL;

	if (!k->config || !g_file_get_contents(k->config, &text, NULL, NULL))
		return 0;
	value = kconfig_value(text, option);
	/* numbers and strings count as set */
	return !strcmp(value, "n") ? 'n' : *value == 'm' ? 'm' : 'y';
}

/* ---- finding the parts ---- */

/* Add the files of @dir whose name matches @glob, in the order of their names */
static void add_matching(GPtrArray *files, const char *dir, const char *glob)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	guint from = files->len;
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		char *path = g_build_filename(dir, name, NULL);

		if (g_pattern_match_simple(glob, name) && is_file(path))
			g_ptr_array_add(files, path);
		else
			g_free(path);
	}
	if (d)
		g_dir_close(d);
	if (files->len > from)
		qsort(files->pdata + from, files->len - from, sizeof(void *), by_text);
}

/* Where an unpacked package or an installed root may have its images */
static GPtrArray *image_files(const char *root)
{
	static const char *const in_boot[] = { "vmlinuz*", "Image*", "vmlinux-*" };
	static const char *const trees[] = { "lib/modules", "usr/lib/modules" };
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	char *dir = g_build_filename(root, "boot", NULL);
	const char *rel;
	guint i;

	for (i = 0; i < G_N_ELEMENTS(in_boot); i++)
		add_matching(files, dir, in_boot[i]);
	g_free(dir);
	for (i = 0; i < G_N_ELEMENTS(trees); i++) {
		char *path = g_build_filename(root, trees[i], NULL);
		GDir *d = g_dir_open(path, 0, NULL);

		while (d && (rel = g_dir_read_name(d))) {
			char *sub = g_build_filename(path, rel, NULL);

			add_matching(files, sub, "vmlinuz");
			add_matching(files, sub, "Image");
			g_free(sub);
		}
		if (d)
			g_dir_close(d);
		g_free(path);
	}
	return files;
}

/*
 * The image in an unpacked package or an installed root: boot/vmlinuz-REL, or
 * (usr/)lib/modules/REL/vmlinuz.  @count: how many releases there are; one may
 * be there twice.
 */
static char *image_in_root(const char *root, unsigned int *count)
{
	GHashTable *releases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *files = image_files(root);
	char *found = files->len ? g_strdup(files->pdata[0]) : NULL;
	guint i;

	for (i = 0; i < files->len && files->len > 1; i++) {
		struct image *img = image_open(files->pdata[i], NULL);

		if (img)
			g_hash_table_add(releases, g_strdup(img->release ? img->release :
							    files->pdata[i]));
		image_free(img);
	}
	*count = files->len > 1 ? MAX(g_hash_table_size(releases), 1) : files->len;
	g_hash_table_unref(releases);
	g_ptr_array_unref(files);
	return found;
}

/* The modules folder of @release below @root, g_free() it; or NULL */
static char *modules_in_root(const char *root, const char *release)
{
	static const char *const trees[] = { "lib/modules", "usr/lib/modules" };
	guint i;

	for (i = 0; i < G_N_ELEMENTS(trees); i++) {
		char *path = g_build_filename(root, trees[i], release, NULL);
		char *kernel = g_build_filename(path, "kernel", NULL);
		bool there = is_dir(kernel);

		g_free(kernel);
		if (there)
			return path;
		g_free(path);
	}
	return NULL;
}

/* The configuration that belongs to @release below @root, g_free() it; or NULL */
static char *config_in_root(const char *root, const char *release)
{
	static const char *const forms[] = { "boot/config-%s", "lib/modules/%s/config",
					     "usr/lib/modules/%s/config" };
	char *path = NULL, *rel;
	guint i;

	for (i = 0; i < G_N_ELEMENTS(forms) && !path; i++) {
		rel = g_strdup_printf(forms[i], release);
		path = file_in(root, rel);
		g_free(rel);
	}
	return path;
}

/* A root that may hold what belongs to @image: "/" for /boot/vmlinuz-X, the folder above lib/modules */
static char *root_beside(const char *image, unsigned int up)
{
	char *dir = realpath(image, NULL), *p = g_strdup(dir);

	free(dir);
	while (up--) {
		char *parent = g_path_get_dirname(p);

		g_free(p);
		p = parent;
	}
	return p;
}

/* ---- the image ---- */

static bool check_arch(const struct kernel_options *how, const struct kernel *k, const char *what,
		       GError **err)
{
	if (!how->arch || !strcmp(how->arch, k->arch))
		return true;
	mmg_set_error(err, MMG_EXIT_USAGE, "%s is a kernel for %s, but --arch asks for %s", what,
		      k->arch, how->arch);
	return false;
}

/* Distribution's own version text in the banner beats a frozen uname ("6.1.0-52" is 6.1.180) */
static char *true_version(const char *release, const char *banner)
{
	const char *deb = banner ? strstr(banner, " Debian ") : NULL;
	char *v = deb ? leading_numbers(deb + strlen(" Debian ")) : NULL;

	if (v && *v)
		return v;
	g_free(v);
	return leading_numbers(release);
}

/* Put the bootable form of a compressed image into the cache */
static bool fill_image(const char *dir, void *data, GError **err)
{
	char *to = g_build_filename(dir, "Image", NULL);
	bool ok = image_unpack(data, to, err);

	g_free(to);
	return ok;
}

static bool fill_config(const char *dir, void *data, GError **err)
{
	GByteArray *text = image_config(data);
	char *to = g_build_filename(dir, "config", NULL);
	bool ok = mmg_write_atomic(to, text ? (char *)text->data : "", text ? text->len : 0, err);

	if (text)
		g_byte_array_unref(text);
	g_free(to);
	return ok;
}

/* Put the ELF file in a bzImage into the cache; empty where PVH cannot enter it, so that this is asked once */
static bool fill_vmlinux(const char *dir, void *data, GError **err)
{
	g_autofree char *to = g_build_filename(dir, "vmlinux", NULL);
	GByteArray *elf = image_kernel(data, NULL);
	struct image *img;
	bool ok;

	ok = mmg_write_atomic(to, elf ? (char *)elf->data : "", elf ? elf->len : 0, err);
	if (elf)
		g_byte_array_unref(elf);
	img = ok ? image_open(to, NULL) : NULL;
	if (ok && (!img || !img->pvh || strcmp(img->arch, "x86_64")))
		ok = mmg_write_atomic(to, "", 0, err);
	image_free(img);
	return ok;
}

/* Boot the vmlinux of @k's bzImage, where it can be entered: one in the cache, or one put there now by @make */
static void take_vmlinux(struct kernel *k, bool make)
{
	g_autofree char *key = g_strconcat("vmlinux-", k->sha256, NULL), *path = NULL, *dir = NULL;
	struct stat st;

	dir = make ? cache_make("images", key, fill_vmlinux, k->image, NULL) : cache_have("images", key);
	path = dir ? file_in(dir, "vmlinux") : NULL;
	if (!path || stat(path, &st) || !st.st_size)
		return;
	k->vmlinux_sha256 = cache_sha256(path, NULL);
	if (k->vmlinux_sha256)
		k->vmlinux = g_steal_pointer(&path);
}

void kernel_unpack(struct kernel *k)
{
	if (k->bzimage && !k->vmlinux)
		take_vmlinux(k, true);
	k->bzimage = false;
}

/* The configuration built into the image, kept in the cache; NULL where it has none */
static char *built_in_config(const struct kernel *k)
{
	char *dir = cache_make("configs", k->sha256, fill_config, k->image, NULL), *path = NULL;
	struct stat st;

	if (dir)
		path = file_in(dir, "config");
	g_free(dir);
	if (path && !stat(path, &st) && st.st_size)
		return path;
	g_free(path);
	return NULL;
}

/*
 * Read @path and set what the image says: arch, release, version, and image
 * itself, in a form that boots.
 */
static bool take_image(const struct kernel_options *how, struct kernel *k, const char *path, GError **err)
{
	struct image *img = image_open(path, err);
	const struct arch *row;
	char *sha, *dir;
	bool ok = false;

	if (!img)
		return false;
	k->arch = g_strdup(img->arch);
	if (!check_arch(how, k, path, err))
		goto out;
	if (!img->release) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s does not say which release of the kernel it is", path);
		goto out;
	}
	row = arch_find(k->arch);
	if (!strcmp(img->kind, "vmlinux") && !img->pvh && !(row && row->vmlinux)) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s cannot be booted as it is: %s", path,
			      !strcmp(k->arch, "x86_64") ?
			      "it has no PVH entry (CONFIG_PVH=y); give arch/x86/boot/bzImage" :
			      "give the boot image (arch/.../boot/Image)");
		goto out;
	}
	k->release = g_strdup(img->release);
	k->version = true_version(img->release, img->banner);
	k->image = realpath(path, NULL);
	if (img->compressed) {
		sha = cache_sha256(path, err);
		dir = sha ? cache_make("images", sha, fill_image, (void *)path, err) : NULL;
		if (dir) {
			free(k->image);
			k->image = g_build_filename(dir, "Image", NULL);
		}
		g_free(dir);
		g_free(sha);
		if (!dir)
			goto out;
	}
	k->sha256 = cache_sha256(k->image, err);
	ok = k->sha256;
	k->bzimage = ok && !strcmp(img->kind, "bzImage") && !strcmp(k->arch, "x86_64");
out:
	image_free(img);
	return ok;
}

/* ---- --modules, or beside the image ---- */

/* DIR as the user means it: a modules folder itself, lib/modules, or a root with one */
static char *given_modules(const struct kernel_options *how, const char *release, GError **err)
{
	char *kernel = g_build_filename(how->modules, "kernel", NULL);
	char *sub = g_build_filename(how->modules, release, "kernel", NULL);
	char *path = NULL;

	if (!is_dir(how->modules))
		mmg_set_error(err, MMG_EXIT_USAGE, "--modules %s: there is no such folder",
			      how->modules);
	else if (is_dir(sub))
		path = g_build_filename(how->modules, release, NULL);
	else if (is_dir(kernel))
		path = g_strdup(how->modules);
	else
		path = modules_in_root(how->modules, release);
	if (!path && is_dir(how->modules))
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--modules %s: neither it nor its lib/modules/%s holds a folder 'kernel' of modules",
			      how->modules, release);
	g_free(sub);
	g_free(kernel);
	return path;
}

static bool find_modules(const struct kernel_options *how, struct kernel *k, const char *near, GError **err)
{
	char *dir = NULL, *base;

	if (how->modules) {
		dir = given_modules(how, k->release, err);
		if (!dir)
			return false;
		base = realpath(dir, NULL);
		/* Modules of another release do not load; a folder may be named freely, though */
		if (base && isdigit((unsigned char)g_strrstr(base, "/")[1]) &&
		    strcmp(g_strrstr(base, "/") + 1, k->release)) {
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "--modules %s is for another kernel than %s, whose release is %s",
				      how->modules, k->spec, k->release);
			g_free(dir);
			free(base);
			return false;
		}
		free(base);
	} else if (near) {
		unsigned int up;

		/* boot/vmlinuz, lib/modules/REL/vmlinuz, usr/lib/modules/REL/vmlinuz */
		for (up = 1; up <= 5 && !dir; up++) {
			char *root = root_beside(near, up);

			dir = modules_in_root(root, k->release);
			if (!k->config)
				k->config = config_in_root(root, k->release);
			g_free(root);
		}
	}
	if (!dir)
		return true;
	k->modules = modules_indexed(dir, k->release, err);
	g_free(dir);
	return k->modules;
}

/* ---- an image file ---- */

static bool resolve_image(const struct kernel_options *how, struct kernel *k, const char *path, GError **err)
{
	char *dir, *beside, *name;

	if (!take_image(how, k, path, err) || !find_modules(how, k, path, err))
		return false;
	dir = g_path_get_dirname(path);
	name = g_strdup_printf("config-%s", k->release);
	beside = file_in(dir, name);
	if (!k->config)
		k->config = beside;
	else
		g_free(beside);
	if (!k->config)
		k->config = file_in(dir, ".config");
	if (!k->config && k->modules)
		k->config = file_in(k->modules, "config");
	g_free(name);
	g_free(dir);
	return true;
}

/* ---- a build tree ---- */

/**
 * struct tree_modules - the modules of a build tree, for a folder of links
 * @dir:	the tree
 */
struct tree_modules {
	const char *dir, *release;
};

static bool link_module(const char *tree, const char *base, const char *ko, GError **err)
{
	char *from = g_build_filename(tree, ko, NULL);
	char *at = g_build_filename(base, "kernel", ko, NULL), *dir = g_path_get_dirname(at);
	bool ok = true;

	if (pkg_name_is_safe(ko) && is_file(from)) {
		ok = mmg_mkdirs(dir, err);
		if (ok && symlink(from, at)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot link %s: %s", at,
				      g_strerror(errno));
			ok = false;
		}
	}
	g_free(dir);
	g_free(at);
	g_free(from);
	return ok;
}

/* modules.order names what was built ("mm/x.ko", or "mm/x.o" since 6.5) */
static bool fill_tree_modules(const char *to, void *data, GError **err)
{
	static const char *const lists[] = { "modules.builtin", "modules.builtin.modinfo" };
	const struct tree_modules *t = data;
	char *base = g_build_filename(to, "lib", "modules", t->release, NULL), *text = NULL;
	char *order = g_build_filename(t->dir, "modules.order", NULL), **lines = NULL;
	bool ok = mmg_mkdirs(base, err);
	guint i;

	if (ok && g_file_get_contents(order, &text, NULL, NULL))
		lines = g_strsplit(text, "\n", -1);
	for (i = 0; ok && lines && lines[i]; i++) {
		gsize n = strlen(lines[i]);
		char *ko;

		if (n < 3)
			continue;
		ko = g_str_has_suffix(lines[i], ".ko") ? g_strdup(lines[i]) :
		     g_strdup_printf("%.*s.ko", (int)(n - 2), lines[i]);
		ok = link_module(t->dir, base, ko, err);
		g_free(ko);
	}
	for (i = 0; ok && i < G_N_ELEMENTS(lists); i++) {
		char *from = file_in(t->dir, lists[i]), *at = g_build_filename(base, lists[i], NULL);

		if (from && symlink(from, at)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot link %s: %s", at,
				      g_strerror(errno));
			ok = false;
		}
		g_free(at);
		g_free(from);
	}
	g_strfreev(lines);
	g_free(text);
	g_free(order);
	g_free(base);
	return ok && modules_depmod(to, t->release, err);
}

/* Folder of links to the tree's modules; NULL without *@err where it has none */
static char *tree_modules(const char *dir, const char *release, GError **err)
{
	struct tree_modules t = { dir, release };
	char *order = file_in(dir, "modules.order"), *text, *sum, *key, *made, *path = NULL;
	char *builtin = file_in(dir, "modules.builtin");
	struct stat st = { 0 }, sb = { 0 };

	if (order && !stat(order, &st) && (!builtin || !stat(builtin, &sb))) {
		text = g_strdup_printf("%s %lld.%ld %lld.%ld", dir, (long long)st.st_mtim.tv_sec,
				       st.st_mtim.tv_nsec, (long long)sb.st_mtim.tv_sec,
				       sb.st_mtim.tv_nsec);
		sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
		key = g_strdup_printf("tree-%s-%.16s", release, sum);
		made = cache_make("modules", key, fill_tree_modules, &t, err);
		if (made)
			path = g_build_filename(made, "lib", "modules", release, NULL);
		g_free(made);
		g_free(key);
		g_free(sum);
		g_free(text);
	}
	g_free(builtin);
	g_free(order);
	return path;
}

/* The image of a build tree: vmlinux where the machine can boot it (half the time), else the other */
static char *tree_image(const char *dir)
{
	char *vmlinux = file_in(dir, "vmlinux"), *found = NULL;
	struct image *img = vmlinux ? image_open(vmlinux, NULL) : NULL;
	const struct arch *a;
	unsigned int n;

	if (img && img->pvh && !strcmp(img->arch, "x86_64"))
		found = g_strdup(vmlinux);
	a = arch_all(&n);
	for (unsigned int i = 0; i < n; i++) {
		/* every tree has a vmlinux: only that of its own architecture boots so */
		if (a[i].vmlinux && (!img || !img->pvh || strcmp(img->arch, a[i].name)))
			continue;
		for (unsigned int j = 0; a[i].images[j] && !found; j++)
			found = file_in(dir, a[i].images[j]);
	}
	image_free(img);
	g_free(vmlinux);
	return found;
}

/* The source that a build tree was made from: its link, or itself */
static char *tree_source(const char *dir)
{
	char *link = g_build_filename(dir, "source", NULL), *real = realpath(link, NULL);
	char *lib = g_build_filename(real ? real : dir, "tools/testing/selftests/kvm/lib", NULL);
	char *src = is_dir(lib) ? g_strdup(real ? real : dir) : NULL;

	g_free(lib);
	free(real);
	g_free(link);
	return src;
}

static bool resolve_tree(const struct kernel_options *how, struct kernel *k, const char *dir, GError **err)
{
	char *image = tree_image(dir);
	GError *e = NULL;
	bool ok;

	if (!image) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s is a kernel tree without a built kernel (neither arch/*/boot/bzImage or Image, nor a vmlinux with CONFIG_PVH): run make there, or ./run.sh build --tree %s",
			      dir, dir);
		return false;
	}
	ok = take_image(how, k, image, err);
	g_free(image);
	if (!ok)
		return false;
	k->config = file_in(dir, ".config");
	k->ksrc = tree_source(dir);
	k->ksrc_name = g_strdup(k->ksrc);
	if (how->modules)
		return find_modules(how, k, NULL, err);
	k->modules = tree_modules(dir, k->release, &e);
	if (!e)
		return true;
	g_propagate_error(err, e);
	return false;
}

/* ---- packages ---- */

static const char *const unneeded[] = {
	"kernel/sound/", "kernel/drivers/gpu/", "kernel/drivers/media/", "kernel/drivers/infiniband/",
	"kernel/drivers/iio/", "kernel/drivers/staging/", "kernel/drivers/comedi/",
	"kernel/drivers/net/wireless/", "kernel/drivers/net/ethernet/",
};

/*
 * What a kernel package holds that a test VM can use: image, configuration and
 * modules, less the drivers of hardware that no VM has (half of the bytes).
 */
static char *want_kernel(const char *path, void *data)
{
	const char *p = path, *in;
	guint i;

	(void)data;
	if (g_str_has_prefix(p, "usr/"))
		p += 4;
	if (g_str_has_prefix(p, "boot/"))
		return g_str_has_prefix(p, "boot/vmlinu") || g_str_has_prefix(p, "boot/config-") ||
		       g_str_has_prefix(p, "boot/Image") ? g_strdup(p) : NULL;
	if (!g_str_has_prefix(p, "lib/modules/"))
		return NULL;
	in = strchr(p + strlen("lib/modules/"), '/');
	if (!in)
		return NULL;
	in++;
	for (i = 0; i < G_N_ELEMENTS(unneeded); i++)
		if (g_str_has_prefix(in, unneeded[i]))
			return NULL;
	if (!strcmp(in, "build") || !strcmp(in, "source") || g_str_has_prefix(in, "vdso") ||
	    g_str_has_prefix(in, "System.map") || g_str_has_prefix(in, "symvers") ||
	    g_str_has_suffix(in, ".debug"))
		return NULL;
	return g_strdup(p);
}

static bool unpack_kernel(const char *deb, const char *dir, const char *name, GError **err)
{
	char *what = g_strdup_printf("unpacking %s", name);
	struct pkg_unpack how = { .dir = dir, .want = want_kernel, .max = UNPACK_MAX, .what = what };
	int n = pkg_unpack(deb, &how, err);

	g_free(what);
	return n >= 0;
}

/*
 * Make @dir, into which packages were unpacked, a kernel: find image and
 * modules, index them, write down what it is.
 */
static bool settle(const char *dir, const char *named, const GPtrArray *packages, GError **err)
{
	unsigned int count = 0;
	char *image = image_in_root(dir, &count), *modules, *meta, *text;
	struct image *img;
	GKeyFile *kf;
	bool ok = false;

	if (count != 1) {
		if (count)
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "%s hold %u kernels: give the packages of one (--kernel may be repeated)",
				      named, count);
		else
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "%s: no kernel image in it: give the package that has boot/vmlinuz or lib/modules/*/vmlinuz, beside this one (linux-image, linux-binary, kernel-core, kernel-default)",
				      named);
		g_free(image);
		return false;
	}
	img = image_open(image, err);
	if (!img || !img->release) {
		if (img)
			mmg_set_error(err, MMG_EXIT_USAGE,
				      "%s: its kernel does not say which release it is", named);
		goto out;
	}
	modules = modules_in_root(dir, img->release);
	if (modules && !modules_depmod(dir, img->release, err)) {
		g_free(modules);
		goto out;
	}
	kf = g_key_file_new();
	g_key_file_set_string(kf, "kernel", "image", image + strlen(dir) + 1);
	g_key_file_set_string(kf, "kernel", "release", img->release);
	g_key_file_set_string_list(kf, "kernel", "packages", (const char *const *)packages->pdata,
				   packages->len);
	text = g_key_file_to_data(kf, NULL, NULL);
	meta = g_build_filename(dir, META, NULL);
	ok = mmg_write_atomic(meta, text, -1, err);
	g_free(meta);
	g_free(text);
	g_key_file_unref(kf);
	g_free(modules);
out:
	image_free(img);
	g_free(image);
	return ok;
}

/* Set @k from a folder of the cache that settle() made */
static bool load_settled(const struct kernel_options *how, struct kernel *k, const char *dir, GError **err)
{
	char *meta = g_build_filename(dir, META, NULL), *image = NULL, *rel, **packages;
	GKeyFile *kf = g_key_file_new();
	GError *e = NULL;
	bool ok = false;
	int i;

	if (g_key_file_load_from_file(kf, meta, 0, NULL) &&
	    (rel = g_key_file_get_string(kf, "kernel", "image", NULL))) {
		image = g_build_filename(dir, rel, NULL);
		g_free(rel);
	}
	if (!image || !is_file(image)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the cache is damaged at %s: remove that folder",
			      dir);
		goto out;
	}
	packages = g_key_file_get_string_list(kf, "kernel", "packages", NULL, NULL);
	for (i = 0; packages && packages[i]; i++)
		g_ptr_array_add(k->packages, g_strdup(packages[i]));
	g_strfreev(packages);
	if (!take_image(how, k, image, &e)) {
		/* it was a kernel when it came into the cache */
		if (e->code == MMG_EXIT_USAGE && !how->arch)
			mmg_set_error(err, MMG_EXIT_BROKEN, "the cache is damaged at %s: remove that folder (%s)",
				      dir, e->message);
		else
			g_propagate_error(err, g_error_copy(e));
		g_error_free(e);
		goto out;
	}
	k->config = config_in_root(dir, k->release);
	if (how->modules)
		ok = find_modules(how, k, NULL, err);
	else
		ok = true;
	if (ok && !k->modules)
		k->modules = modules_in_root(dir, k->release);
	if (ok && !k->modules)
		status_note("the packages of %s hold no modules: only what is built in will be there",
			    k->release);
out:
	g_key_file_unref(kf);
	g_free(image);
	g_free(meta);
	return ok;
}

/**
 * struct files - package files that make one kernel
 * @paths:	of them
 * @spec:	as the user wrote them
 */
struct files {
	GPtrArray *paths;
	const char *spec;
};

static bool fill_files(const char *dir, void *data, GError **err)
{
	const struct files *f = data;
	GPtrArray *packages = g_ptr_array_new_with_free_func(g_free);
	GError *e = NULL;
	bool ok = true;
	guint i;

	for (i = 0; i < f->paths->len && ok; i++) {
		struct pkg *p = pkg_open(f->paths->pdata[i], &e);

		ok = p && unpack_kernel(f->paths->pdata[i], dir, p->name, &e);
		if (ok && p->version)
			g_ptr_array_add(packages, g_strdup_printf("%s=%s", p->name, p->version));
		else if (ok)
			g_ptr_array_add(packages, g_strdup(p->name));
		pkg_free(p);
	}
	ok = ok && settle(dir, f->spec, packages, &e);
	g_ptr_array_unref(packages);
	if (e) {
		/* the folder is gone when the message is read: the user's files are named instead */
		g_autoptr(GString) text = g_string_new(e->message);
		g_autofree char *inside = g_strconcat(dir, "/", NULL), *named = g_strconcat(f->spec, ": ", NULL);

		g_string_replace(text, inside, named, 0);
		mmg_set_error(err, e->code, "%s", text->str);
		g_error_free(e);
	}
	return ok;
}

static bool resolve_files(const struct kernel_options *how, struct kernel *k, GPtrArray *paths, GError **err)
{
	struct files f = { paths, k->spec };
	GPtrArray *sums = g_ptr_array_new_with_free_func(g_free);
	char *joined, *sum, *key, *dir = NULL;
	bool ok = true;
	guint i;

	for (i = 0; i < paths->len && ok; i++) {
		char *sha = cache_sha256(paths->pdata[i], err);

		ok = sha;
		if (sha)
			g_ptr_array_add(sums, sha);
	}
	if (ok) {
		/* The order of the words does not matter */
		g_ptr_array_sort(sums, by_text);
		g_ptr_array_add(sums, NULL);
		joined = g_strjoinv(" ", (char **)sums->pdata);
		sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, joined, -1);
		key = g_strdup_printf("files-%.32s", sum);
		dir = cache_make("kernels", key, fill_files, &f, err);
		g_free(key);
		g_free(sum);
		g_free(joined);
	}
	ok = dir && load_settled(how, k, dir, err);
	g_free(dir);
	g_ptr_array_unref(sums);
	return ok;
}

/* ---- Debian ---- */

/**
 * struct debian - one debian: spec on its way
 * @want:	version asked for
 * @flavour:	last words of the packages' names
 * @chosen:	packages of it
 * @blank:	apt's lists name no kernel at all
 */
struct debian {
	struct apt *apt;
	const char *want, *flavour;
	struct apt_image *chosen;
	bool blank;
};

static bool fetch_one(struct debian *d, const struct apt_pkg *p, const char *dir, GError **err)
{
	char *tmp = g_build_filename(dir, ".download", NULL), *deb = NULL;
	bool ok = mmg_mkdirs(tmp, err);

	if (ok)
		deb = apt_download(d->apt, p, tmp, err);
	ok = deb && unpack_kernel(deb, dir, p->name, err);
	/* nobody asked for this very file by name */
	if (!ok && err && *err && (*err)->code == MMG_EXIT_USAGE)
		(*err)->code = MMG_EXIT_BROKEN;
	g_free(deb);
	mmg_rmtree(tmp);
	g_free(tmp);
	return ok;
}

static bool fill_debian(const char *dir, void *data, GError **err)
{
	struct debian *d = data;
	GPtrArray *packages = g_ptr_array_new_with_free_func(g_free);
	char *named;
	bool ok = true;
	guint i;

	for (i = 0; i < d->chosen->packages->len && ok; i++) {
		const struct apt_pkg *p = d->chosen->packages->pdata[i];

		ok = fetch_one(d, p, dir, err);
		g_ptr_array_add(packages, g_strdup_printf("%s=%s", p->name, p->version));
	}
	named = g_strdup_printf("the packages of %s", d->chosen->release);
	ok = ok && settle(dir, named, packages, err);
	g_free(named);
	g_ptr_array_unref(packages);
	return ok;
}

static void no_such_version(const struct debian *d, const GPtrArray *list, GError **err)
{
	GPtrArray *have = g_ptr_array_new_with_free_func(g_free);
	GHashTable *seen = g_hash_table_new(g_str_hash, g_str_equal);
	char *text;
	guint i;

	for (i = 0; i < list->len; i++) {
		const struct apt_pkg *p = list->pdata[i];
		struct apt_image *img;

		if (!g_str_has_prefix(p->name, "linux-image-") ||
		    g_hash_table_contains(seen, p->version))
			continue;
		img = apt_choose(list, p->version, d->flavour);
		if (img) {
			g_hash_table_add(seen, p->version);
			g_ptr_array_add(have, g_strdup(p->version));
		}
		apt_image_free(img);
	}
	g_ptr_array_sort(have, by_text);
	g_ptr_array_add(have, NULL);
	text = g_strjoinv(" ", (char **)have->pdata);
	mmg_set_error(err, MMG_EXIT_USAGE,
		      "Debian %s has no kernel %s for %s; it has: %s. Another suite: debian:%s@unstable; older ones: their packages as files",
		      d->apt->suite ? d->apt->suite : "as configured here", d->want, d->flavour,
		      *text ? text : "none", d->want);
	g_free(text);
	g_hash_table_unref(seen);
	g_ptr_array_unref(have);
}

/* Choose and have it in the cache; the folder, or NULL with *@err */
static char *choose_and_make(struct debian *d, GError **err)
{
	char *pattern = g_strdup_printf(KERNEL_PACKAGES, d->flavour), *key, *dir = NULL;
	GPtrArray *list = apt_list(d->apt, pattern, err);

	g_free(pattern);
	if (!list)
		return NULL;
	d->blank = !list->len;
	d->chosen = apt_choose(list, d->want, d->flavour);
	if (d->chosen) {
		key = g_strdup_printf("debian-%s_%s", d->chosen->release, d->chosen->version);
		dir = cache_make("kernels", key, fill_debian, d, err);
		g_free(key);
	} else {
		no_such_version(d, list, err);
	}
	apt_image_free(d->chosen);
	g_ptr_array_unref(list);
	return dir;
}

/* The newest kernel in the cache that fits, for when there is no network */
static char *newest_cached(const char *want, const char *flavour)
{
	char *glob = g_strdup_printf("debian-[0-9]*-%s_*", flavour), *best = NULL, *dir;
	GPtrArray *names = cache_list("kernels", glob);
	guint i;

	for (i = 0; i < names->len; i++) {
		const char *name = (char *)names->pdata[i] + strlen("debian-");
		const char *version = strchr(name, '_') + 1;

		if ((apt_version_fits(version, want) || apt_version_fits(name, want)) &&
		    (!best || deb_version_cmp(version, strchr(best, '_') + 1) > 0))
			best = names->pdata[i];
	}
	dir = best ? cache_have("kernels", best) : NULL;
	g_ptr_array_unref(names);
	g_free(glob);
	return dir;
}

/* What a spec meant when apt's lists were last as they are now */
static char *memo_path(const char *spec, const char *arch)
{
	char *text = g_strdup_printf("%s %s", spec, arch), *sum, *path;

	sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	path = mmg_cache_path("resolved", sum, NULL);
	g_free(sum);
	g_free(text);
	return path;
}

/* @stamp: NULL where any will do, for when apt cannot be asked */
static char *memo_get(const char *path, const char *stamp)
{
	char *text = NULL, *dir = NULL, *nl;

	if (g_file_get_contents(path, &text, NULL, NULL) && (nl = strchr(text, '\n'))) {
		*nl = '\0';
		if (!stamp || !strcmp(text, stamp))
			dir = cache_have("kernels", nl + 1);
	}
	g_free(text);
	return dir;
}

static void memo_put(const char *path, const char *stamp, const char *dir)
{
	char *key = g_path_get_basename(dir), *text = g_strdup_printf("%s\n%s", stamp, key);
	char *folder = g_path_get_dirname(path);

	if (mmg_mkdirs(folder, NULL))
		mmg_write_atomic(path, text, -1, NULL);
	g_free(folder);
	g_free(text);
	g_free(key);
}

/*
 * The host's lists are absent, or name what is gone from the mirror: once more
 * with fresh ones.  *@e is the error of the first try, and is replaced.
 */
static char *choose_again(struct debian *d, GError **e)
{
	GError *refresh = NULL;

	status_debug("%s", (*e)->message);
	if (apt_refresh(d->apt, &refresh)) {
		g_clear_error(e);
		return choose_and_make(d, e);
	}
	/* Why there is nothing to choose from says more than that there is nothing */
	if (d->blank || refresh->code == MMG_EXIT_INTERRUPTED) {
		g_clear_error(e);
		*e = refresh;
	} else {
		g_error_free(refresh);
	}
	return NULL;
}

/**
 * struct wanted - what a spec asks Debian for
 * @spec:	as typed
 * @version:	"6.12" or an exact one
 * @suite:	that it names, or NULL
 * @flavour:	last words of the package's name, "amd64" or "arm64-16k"
 */
struct wanted {
	const char *spec, *version, *suite;
	const struct arch *arch;
	char *flavour;
};

/* Where to look for it: where the host's own suite may have none of the architecture, in one that has */
static const char *suite_of(const struct wanted *w)
{
	return w->suite || w->arch == arch_host() ? w->suite : w->arch->suite;
}

/* Ask apt, with fresh lists where the host's own do not serve; the folder, or NULL with *@err */
static char *ask_apt(const struct wanted *w, GError **err)
{
	struct debian d = { .want = w->version, .flavour = w->flavour,
			    .apt = apt_open(suite_of(w), w->arch->deb, false, err) };
	char *memo, *stamp, *dir;
	GError *e = NULL;

	if (!d.apt)
		return NULL;
	memo = memo_path(w->spec, w->arch->name);
	stamp = apt_stamp(d.apt);
	dir = memo_get(memo, stamp);
	if (!dir) {
		dir = choose_and_make(&d, &e);
		if (!dir && e->code != MMG_EXIT_INTERRUPTED && !d.apt->config &&
		    !strstr(e->message, "No space left"))
			dir = choose_again(&d, &e);
		if (dir)
			memo_put(memo, stamp, dir);
	}
	if (e)
		g_propagate_error(err, e);
	g_free(stamp);
	g_free(memo);
	apt_free(d.apt);
	return dir;
}

/* What is in the cache for when apt cannot be asked: what the spec meant last, else what fits it */
static char *from_cache(const struct wanted *w)
{
	char *memo = memo_path(w->spec, w->arch->name), *dir = memo_get(memo, NULL);

	g_free(memo);
	/* a short version is another kernel in each suite, and the cache does not know whose it is */
	if (!dir && (!w->suite || strchr(w->version, '-')))
		dir = newest_cached(w->version, w->flavour);
	return dir;
}

static char *debian_dir(const struct kernel_options *how, const struct wanted *w, GError **err)
{
	GError *e = NULL;
	char *dir;

	if (how->offline) {
		dir = from_cache(w);
		if (!dir)
			mmg_set_error(err, MMG_EXIT_BROKEN,
				      "%s is not in the cache and --offline forbids fetching it: run once without it, or pass a kernel's file",
				      w->spec);
		return dir;
	}
	dir = ask_apt(w, &e);
	if (dir || e->code == MMG_EXIT_INTERRUPTED || e->code == MMG_EXIT_USAGE) {
		if (e)
			g_propagate_error(err, e);
		return dir;
	}
	dir = from_cache(w);
	if (dir) {
		status_note("using the kernel in the cache: %s", e->message);
		g_error_free(e);
	} else {
		g_propagate_error(err, e);
	}
	return dir;
}

/*
 * "16k" is the end of a package's name ("arm64-16k"), "cloud" and "rt" stand before the
 * architecture ("cloud-amd64"); g_free() it
 */
static char *flavour_name(const struct arch *a, const char *word)
{
	if (!word)
		return g_strdup(a->flavour);
	if (isdigit((unsigned char)*word))
		return g_strdup_printf("%s-%s", a->flavour, word);
	return g_strdup_printf("%s-%s", word, a->flavour);
}

static bool resolve_debian(const struct kernel_options *how, struct kernel *k, GError **err)
{
	const char *name = how->arch ? how->arch : kernel_host_arch();
	char **f = g_strsplit(k->spec + strlen("debian:"), "@", 2), *dir, *flavour = NULL;
	struct wanted w = { .spec = k->spec, .arch = arch_find(name) };
	char *newest = NULL;
	bool ok = false;

	if (f[0]) {
		w.version = f[0];
		w.suite = f[1];
		flavour = strchr(f[0], '/');
		if (flavour)
			*flavour++ = '\0';
	}
	if (w.version && debian_is_moving(w.version) && !w.suite && !flavour && w.arch) {
		w.flavour = flavour_name(w.arch, NULL);
		if (!how->offline)
			newest = debian_newest(w.version, w.arch->deb, w.flavour, &w.suite, err);
		if (newest)
			w.version = newest;
		if (newest || how->offline) {
			k->suite = g_strdup(w.suite);
			dir = debian_dir(how, &w, err);
			ok = dir && load_settled(how, k, dir, err);
			g_free(dir);
		}
		g_free(w.flavour);
	} else if (!w.version || !isdigit((unsigned char)*w.version) ||
	    strspn(w.version, "abcdefghijklmnopqrstuvwxyz0123456789.+~-_") != strlen(w.version) ||
	    (flavour && (!*flavour || strspn(flavour, "abcdefghijklmnopqrstuvwxyz0123456789") !=
			 strlen(flavour)))) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--kernel %s: give a version, such as debian:6.12 or debian:6.12.117-1~deb12u1, or latest, stable or rc; after a version a / and a flavour (16k, cloud), and an @ and another suite",
			      k->spec);
	} else if (!w.arch) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--kernel %s: no Debian kernel is known for the architecture %s", k->spec,
			      name);
	} else {
		w.flavour = flavour_name(w.arch, flavour);
		dir = debian_dir(how, &w, err);
		ok = dir && load_settled(how, k, dir, err);
		g_free(dir);
		g_free(w.flavour);
	}
	g_free(newest);
	g_strfreev(f);
	return ok;
}

/* ---- the host ---- */

static bool fill_proc_config(const char *dir, void *data, GError **err)
{
	char *to = g_build_filename(dir, "config", NULL);
	GByteArray *packed = g_byte_array_new(), *text;
	char buf[65536];
	FILE *f = fopen(data, "re");
	bool ok = false;
	size_t n;

	/* proc files have no size */
	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		g_byte_array_append(packed, (guint8 *)buf, n);
	if (f)
		fclose(f);
	text = pkg_decompress_mem(packed->data, packed->len, 16 << 20, data, err);
	if (text) {
		ok = mmg_write_atomic(to, (char *)text->data, text->len, err);
		g_byte_array_unref(text);
	}
	g_byte_array_unref(packed);
	g_free(to);
	return ok;
}

static bool resolve_host(const struct kernel_options *how, struct kernel *k, GError **err)
{
	struct utsname u;
	char *sum, *text, *dir;

	uname(&u);
	k->host = true;
	k->release = g_strdup(u.release);
	k->arch = g_strdup(kernel_host_arch());
	k->version = true_version(u.release, u.version);
	if (!check_arch(how, k, "the running kernel", err))
		return false;
	k->modules = modules_in_root("/", k->release);
	k->config = config_in_root("/", k->release);
	if (!k->config && is_file("/proc/config.gz")) {
		text = g_strconcat(u.release, " ", u.version, NULL);
		sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
		dir = cache_make("configs", sum, fill_proc_config, "/proc/config.gz", NULL);
		if (dir)
			k->config = file_in(dir, "config");
		g_free(dir);
		g_free(sum);
		g_free(text);
	}
	return true;
}

/* ---- the spec ---- */

/* Split "A.deb,B.deb" or "A.deb B.deb"; a path that exists stays whole */
static GPtrArray *split_spec(const char *spec)
{
	GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
	char **parts;
	int i, j;

	if (g_file_test(spec, G_FILE_TEST_EXISTS)) {
		g_ptr_array_add(words, g_strdup(spec));
		return words;
	}
	parts = g_strsplit(spec, ",", -1);
	for (i = 0; parts[i]; i++) {
		char **sub = NULL;

		g_strstrip(parts[i]);
		if (!*parts[i])
			continue;
		if (!g_file_test(parts[i], G_FILE_TEST_EXISTS) &&
		    g_shell_parse_argv(parts[i], NULL, &sub, NULL)) {
			for (j = 0; sub[j]; j++)
				g_ptr_array_add(words, g_strdup(sub[j]));
			g_strfreev(sub);
		} else {
			g_ptr_array_add(words, g_strdup(parts[i]));
		}
	}
	g_strfreev(parts);
	return words;
}

static bool resolve_dir(const struct kernel_options *how, struct kernel *k, const char *path, GError **err)
{
	char *dir = realpath(path, NULL), *image, *kconfig;
	unsigned int count = 0;
	bool ok = false;

	if (!dir) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the folder %s: %s", path,
			      g_strerror(errno));
		return false;
	}
	image = image_in_root(dir, &count);
	kconfig = file_in(dir, "Kconfig");
	if (!kconfig)
		kconfig = file_in(dir, ".config");
	if (kconfig) {
		ok = resolve_tree(how, k, dir, err);
	} else if (count == 1) {
		ok = resolve_image(how, k, image, err);
	} else if (count > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s holds %u kernels: give the image file of one",
			      path, count);
	} else {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s is neither a kernel tree nor a folder with boot/vmlinuz-* or lib/modules/*/vmlinuz in it",
			      path);
	}
	g_free(kconfig);
	g_free(image);
	free(dir);
	return ok;
}

static bool no_such_kernel(const char *path, GError **err)
{
	mmg_set_error(err, MMG_EXIT_USAGE,
		      "--kernel %s: %s; a kernel is an image file, a build tree, .deb or .rpm files, debian:VERSION or host",
		      path, errno ? g_strerror(errno) : "there is no such file");
	return false;
}

static bool resolve_paths(const struct kernel_options *how, struct kernel *k, GError **err)
{
	GPtrArray *words = split_spec(k->spec);
	bool ok = words->len, archives = true;
	guint i;

	errno = 0;
	if (!ok)
		no_such_kernel(k->spec, err);
	for (i = 0; ok && i < words->len; i++) {
		if (access(words->pdata[i], R_OK))
			ok = no_such_kernel(words->pdata[i], err);
		else
			archives = archives && !is_dir(words->pdata[i]) &&
				   pkg_is_archive(words->pdata[i]);
	}
	if (ok && archives) {
		ok = resolve_files(how, k, words, err);
	} else if (ok && words->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--kernel %s: several words must all be packages of one kernel (.deb, .rpm); repeat --kernel for several kernels",
			      k->spec);
		ok = false;
	} else if (ok && is_dir(words->pdata[0])) {
		ok = resolve_dir(how, k, words->pdata[0], err);
	} else if (ok) {
		ok = resolve_image(how, k, words->pdata[0], err);
	}
	g_ptr_array_unref(words);
	return ok;
}

/* A column heading that no other kernel of this run has: the version, the release, or one with a number */
static char *unique_label(const struct kernel *k)
{
	static GHashTable *taken;
	char *label = NULL;
	int i;

	if (!taken)
		taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (i = 1; !label; i++) {
		if (i == 1)
			label = g_strdup(k->host ? "host" : k->version);
		else if (i == 2)
			label = g_strdup(k->release);
		else
			label = g_strdup_printf("%s-%d", k->release, i - 1);
		g_strdelimit(label, "/ ", '_');
		if (!g_hash_table_contains(taken, label))
			break;
		g_clear_pointer(&label, g_free);
	}
	g_hash_table_add(taken, g_strdup(label));
	return label;
}

/**
 * kernel_resolve - make a kernel of what the user wrote
 *
 * NULL with *@err: usage where the spec is wrong (no such file, no kernel,
 * another architecture), broken where it could not be had.
 */
struct kernel *kernel_resolve(const struct kernel_options *how, const char *spec, GError **err)
{
	struct kernel *k = kernel_new(spec);
	bool ok;

	if (!strcmp(spec, "host"))
		ok = resolve_host(how, k, err);
	else if (g_str_has_prefix(spec, "debian:"))
		ok = resolve_debian(how, k, err);
	else
		ok = resolve_paths(how, k, err);
	if (!ok) {
		kernel_free(k);
		return NULL;
	}
	if (!k->config && k->image)
		k->config = built_in_config(k);
	if (k->bzimage)
		take_vmlinux(k, false);
	k->label = unique_label(k);
	status_debug("%s is %s (%s), image %s, modules %s", spec, k->release, k->arch,
		     k->image ? k->image : "-", k->modules ? k->modules : "none");
	return k;
}
