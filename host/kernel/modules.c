// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which module files a VM needs, in load order, by libkmod on the tested
 * kernel's own modules; the host's modprobe configuration has no say.
 */
#include "kernel/kernel.h"
#include "store/store.h"

#include <errno.h>
#include <libkmod.h>
#include <string.h>
#include <syslog.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * struct resolver - the state of one modules_resolve()
 * @paths:	result
 * @seen:	names of modules visited
 */
struct resolver {
	GPtrArray *paths;
	GHashTable *seen;
};

static void visit(struct resolver *r, struct kmod_module *mod);

static void visit_list(struct resolver *r, struct kmod_list *list)
{
	struct kmod_list *i;

	kmod_list_foreach(i, list) {
		struct kmod_module *mod = kmod_module_get_module(i);

		visit(r, mod);
		kmod_module_unref(mod);
	}
	kmod_module_unref_list(list);
}

/* What @mod wants before it, what it depends on, itself, what it wants after it */
static void visit(struct resolver *r, struct kmod_module *mod)
{
	struct kmod_list *pre = NULL, *post = NULL;
	const char *path;

	if (!g_hash_table_add(r->seen, g_strdup(kmod_module_get_name(mod))))
		return;
	kmod_module_get_softdeps(mod, &pre, &post);
	visit_list(r, pre);
	visit_list(r, kmod_module_get_dependencies(mod));
	/* Built-in ones have no path */
	path = kmod_module_get_path(mod);
	if (path)
		g_ptr_array_add(r->paths, g_strdup(path));
	visit_list(r, post);
}

static bool resolve_name(struct resolver *r, struct kmod_ctx *ctx, const char *name)
{
	struct kmod_list *list = NULL;
	bool found;

	if (kmod_module_new_from_lookup(ctx, name, &list) < 0)
		return false;
	found = list;
	visit_list(r, list);
	return found;
}

/* True where the folder's index tells what is built in (a part of a split package may not) */
static bool builtin_known(const struct kernel *k)
{
	char *index;
	struct stat st;
	bool known;

	if (!k->modules)
		return false;
	index = g_build_filename(k->modules, "modules.builtin.bin", NULL);
	known = !stat(index, &st) && st.st_size;
	g_free(index);
	return known;
}

/**
 * modules_resolve - module files to load, in order
 * @k:		the kernel; one without a modules folder has only what is built in
 * @names:	modules or aliases
 * @missing:	gets (char *) those that are neither built in nor there, or NULL;
 *		none where the kernel's files do not tell what is built in
 *
 * GPtrArray of char * paths, g_ptr_array_unref() it; NULL with *@err where the
 * folder's index cannot be read.
 */
GPtrArray *modules_resolve(const struct kernel *k, const char *const *names, GPtrArray *missing,
			   GError **err)
{
	/* No configuration: the host's blacklists and options are not the VM's */
	static const char *const no_config[] = { NULL };
	struct resolver r = { 0 };
	struct kmod_ctx *ctx = NULL;
	bool known = builtin_known(k);
	int i;

	r.paths = g_ptr_array_new_with_free_func(g_free);
	r.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (k->modules) {
		char *index = g_build_filename(k->modules, "modules.dep.bin", NULL);
		bool there = !access(index, R_OK);

		g_free(index);
		ctx = there ? kmod_new(k->modules, no_config) : NULL;
		if (ctx)	/* its own lines on stderr: what is wrong we say ourselves, once */
			kmod_set_log_priority(ctx, LOG_EMERG);
		/* Maps the indexes; one that is empty (no modules.builtin) makes it fail, not the look-ups */
		if (ctx)
			kmod_load_resources(ctx);
		if (!ctx) {
			mmg_set_error(err, MMG_EXIT_BROKEN,
				      "cannot read the module index in %s: run depmod there, or pass other --modules",
				      k->modules);
			g_clear_pointer(&r.paths, g_ptr_array_unref);
			goto out;
		}
	}
	for (i = 0; names[i]; i++)
		if ((!ctx || !resolve_name(&r, ctx, names[i])) && missing && known)
			g_ptr_array_add(missing, g_strdup(names[i]));
out:
	if (ctx)
		kmod_unref(ctx);
	g_hash_table_unref(r.seen);
	return r.paths;
}

/* ---- the index ---- */

bool modules_depmod(const char *root, const char *release, GError **err)
{
	static const char *const places[] = { "/usr/sbin/depmod", "/sbin/depmod", "/usr/bin/depmod" };
	const char *depmod = NULL;
	guint i;

	for (i = 0; i < G_N_ELEMENTS(places) && !depmod; i++)
		if (!access(places[i], X_OK))
			depmod = places[i];
	if (!depmod) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "the modules of %s have no index and this host has no depmod to make one: install the package kmod",
			      release);
		return false;
	}
	const char *const argv[] = { depmod, "-b", root, release, NULL };
	const struct mmg_cmd cmd = { .what = "indexing modules", .argv = argv };

	status_set("indexing the modules of %s", release);
	return mmg_run(&cmd, err);
}

/**
 * struct link_dir - a modules folder to make an index for elsewhere
 * @dir:	the folder, maybe read-only
 */
struct link_dir {
	const char *dir, *release;
};

/* Link all of the folder but its (absent or stale) index into a fresh one */
static bool fill_links(const char *to, void *data, GError **err)
{
	const struct link_dir *l = data;
	char *base = g_build_filename(to, "lib", "modules", l->release, NULL);
	GDir *dir = g_dir_open(l->dir, 0, NULL);
	const char *name;
	bool ok = mmg_mkdirs(base, err);

	while (ok && dir && (name = g_dir_read_name(dir))) {
		char *from = g_build_filename(l->dir, name, NULL);
		char *at = g_build_filename(base, name, NULL);

		/* build and source lead to a kernel tree */
		if (!g_str_has_suffix(name, ".bin") && strcmp(name, "build") &&
		    strcmp(name, "source") && !g_str_has_prefix(name, "modules.dep") &&
		    !g_str_has_prefix(name, "modules.alias") &&
		    !g_str_has_prefix(name, "modules.symbols") &&
		    !g_str_has_prefix(name, "modules.softdep") &&
		    !g_str_has_prefix(name, "modules.devname") && symlink(from, at)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot link %s: %s", at,
				      g_strerror(errno));
			ok = false;
		}
		g_free(at);
		g_free(from);
	}
	if (dir)
		g_dir_close(dir);
	g_free(base);
	return ok && modules_depmod(to, l->release, err);
}

/* Changes when modules are installed anew */
static char *links_key(const char *dir, const char *release)
{
	char *order = g_build_filename(dir, "modules.order", NULL), *text, *sum, *key;
	struct stat a = { 0 }, b = { 0 };

	if (stat(dir, &a) || stat(order, &b))
		b.st_size = -1;
	text = g_strdup_printf("%s %lld.%ld %lld.%ld %lld", dir, (long long)a.st_mtim.tv_sec,
			       a.st_mtim.tv_nsec, (long long)b.st_mtim.tv_sec, b.st_mtim.tv_nsec,
			       (long long)b.st_size);
	sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	key = g_strdup_printf("%s-%.16s", release, sum);
	g_free(sum);
	g_free(text);
	g_free(order);
	return key;
}

char *modules_indexed(const char *dir, const char *release, GError **err)
{
	struct link_dir l = { .release = release };
	char *index = g_build_filename(dir, "modules.dep.bin", NULL), *real, *key, *made, *path;
	bool have = !access(index, R_OK);

	g_free(index);
	real = realpath(dir, NULL);
	if (!real) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the modules in %s: %s", dir,
			      g_strerror(errno));
		return NULL;
	}
	if (have) {
		path = g_strdup(real);
		free(real);
		return path;
	}
	l.dir = real;
	key = links_key(real, release);
	made = cache_make("modules", key, fill_links, &l, err);
	path = made ? g_build_filename(made, "lib", "modules", release, NULL) : NULL;
	g_free(made);
	g_free(key);
	free(real);
	return path;
}
