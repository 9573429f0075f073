// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel sources: the user's tree, or Debian's linux-source packages, of which
 * the KVM selftest library and the headers it needs are a hundredth.
 */
#include "debian/debian.h"
#include "source/source.h"
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_MAX (6ULL << 30)

/* Folders that the selftests are compiled from, that headers_install reads, and the KTAP parser */
static const char *const needed[] = {
	"include/", "scripts/", "tools/arch/", "tools/build/", "tools/include/", "tools/lib/",
	"tools/scripts/", "tools/testing/kunit/", "tools/testing/selftests/kvm/",
	"tools/testing/selftests/rseq/", "tools/testing/selftests/clone3/",
	"tools/testing/selftests/cgroup/", "tools/testing/selftests/mm/",
	"tools/testing/selftests/vm/", "arch/x86/include/", "arch/arm64/include/",
	"arch/riscv/include/", "arch/s390/include/", "arch/loongarch/include/",
	"arch/x86/entry/syscalls/", "arch/arm64/tools/", "arch/riscv/kernel/syscalls/",
	"arch/s390/kernel/syscalls/", "arch/loongarch/kernel/syscalls/", "usr/include/",
};

/* Debian's tarballs have one folder at the top */
static const char *below_top(const char *path)
{
	const char *p = strchr(path, '/');

	return p ? p + 1 : NULL;
}

static char *want_whole(const char *path, void *data)
{
	const char *p = below_top(path);

	(void)data;
	return p && *p ? g_strdup(p) : NULL;
}

static char *want_parts(const char *path, void *data)
{
	const char *p = below_top(path);
	guint i;

	(void)data;
	if (!p || !*p)
		return NULL;
	for (i = 0; i < G_N_ELEMENTS(needed); i++)
		if (g_str_has_prefix(p, needed[i]))
			return g_strdup(p);
	/* Makefile, Kbuild, COPYING; arch/x86/Makefile; lib.mk, kselftest.h */
	if (!strchr(p, '/') || g_pattern_match_simple("arch/*/Makefile*", p) ||
	    (g_str_has_prefix(p, "tools/testing/selftests/") &&
	     !strchr(p + strlen("tools/testing/selftests/"), '/')))
		return g_strdup(p);
	return NULL;
}

/**
 * struct fetched - a packaged source on its way into the cache
 * @whole:	all of it
 */
struct fetched {
	struct apt *apt;
	const struct apt_pkg *pkg;
	bool whole;
};

/* arch/x86/Makefile.um and the like: folders appear with names as if they were files */
static void drop_empty(const char *dir)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		char *path = g_build_filename(dir, name, NULL);

		rmdir(path);
		g_free(path);
	}
	if (d)
		g_dir_close(d);
}

static bool fill_source(const char *dir, void *data, GError **err)
{
	const struct fetched *s = data;
	char *tmp = g_build_filename(dir, ".download", NULL), *deb = NULL;
	char *what = g_strdup_printf("unpacking %s %s (%s)", s->pkg->name, s->pkg->version,
				     s->whole ? "all of it" : "what the tests need of it");
	struct pkg_unpack how = { .dir = dir, .inner = "usr/src/linux-source-*.tar*",
				  .want = s->whole ? want_whole : want_parts, .max = SOURCE_MAX,
				  .what = what };
	bool ok = mmg_mkdirs(tmp, err);

	if (ok)
		deb = apt_download(s->apt, s->pkg, tmp, err);
	ok = deb && pkg_unpack(deb, &how, err) > 0;
	if (deb && !ok && err && !*err)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s has no kernel source in it", deb);
	mmg_rmtree(tmp);
	if (ok)
		drop_empty(dir);
	g_free(what);
	g_free(deb);
	g_free(tmp);
	return ok;
}

/* "6.12" of "6.12.117-1~deb12u1", g_free() it */
static char *series_of(const char *version)
{
	char **f = g_strsplit(version, ".", 3), *s;
	gsize n;

	if (!f[0] || !f[1]) {
		g_strfreev(f);
		return g_strdup(version);
	}
	n = strspn(f[1], "0123456789");
	s = g_strdup_printf("%s.%.*s", f[0], (int)n, f[1]);
	g_strfreev(f);
	return s;
}

/* An exact package version, as opposed to numbers */
static bool is_exact(const char *version)
{
	return strchr(version, '-');
}

/*
 * Rank of series @have for @want: 2 the same, 1 older (KVM's interface only
 * grows, so an older library works on a newer kernel), 0 newer.
 */
static int series_rank(const char *have, const char *want)
{
	int d = version_cmp(have, want);

	return d ? d < 0 : 2;
}

/* True where series @a serves @want better than @b */
static bool series_better(const char *a, const char *b, const char *want)
{
	int ra = series_rank(a, want), rb = series_rank(b, want);

	if (ra != rb)
		return ra > rb;
	/* The nearest older, or the nearest newer */
	return ra == 1 ? version_cmp(a, b) > 0 : version_cmp(a, b) < 0;
}

/* The folder's last word; the one of parts changes whenever needed[] grows */
static const char *kind_of(bool whole)
{
	return whole ? "whole" : "parts2";
}

static bool is_current(const char *key)
{
	const char *kind = strrchr(key, '-') + 1;

	return !strcmp(kind, kind_of(true)) || !strcmp(kind, kind_of(false));
}

/* Series of a cache key "linux-source-6.12_VERSION-whole", g_free() it */
static char *key_series(const char *key)
{
	const char *p = key + strlen("linux-source-"), *end = strchr(p, '_');

	return g_strndup(p, end - p);
}

static char *key_version(const char *key)
{
	const char *p = strchr(key, '_') + 1;
	char *v = g_strdup(p), *dash = strrchr(v, '-');

	if (dash)
		*dash = '\0';
	return v;
}

/*
 * The folder in the cache that serves best, or NULL.  @exact: only this
 * series; @floor: only where it is better than this series (may be NULL).
 */
static char *best_cached(const char *want, const char *series, bool whole, bool near, char **name)
{
	GPtrArray *keys = cache_list("sources", whole ? "linux-source-*_*-whole" :
				     "linux-source-*_*");
	char *best = NULL, *best_series = NULL, *best_version = NULL, *dir;
	guint i;

	for (i = 0; i < keys->len; i++) {
		char *key = keys->pdata[i], *s = key_series(key), *v = key_version(key);
		bool fits = is_exact(want) ? !strcmp(v, want) : near || !strcmp(s, series);

		if (fits && is_current(key) && (!best || series_better(s, best_series, series) ||
			     (!strcmp(s, best_series) && deb_version_cmp(v, best_version) > 0))) {
			g_free(best_series);
			g_free(best_version);
			best = key;
			best_series = g_strdup(s);
			best_version = g_strdup(v);
		}
		g_free(s);
		g_free(v);
	}
	dir = best ? cache_have("sources", best) : NULL;
	if (dir && name)
		*name = g_strdup_printf("linux-source-%s=%s", best_series, best_version);
	g_free(best_series);
	g_free(best_version);
	g_ptr_array_unref(keys);
	return dir;
}

/* The package of @list that serves best; NULL where none does */
static const struct apt_pkg *best_packaged(const GPtrArray *list, const char *want,
					   const char *series, bool near)
{
	const struct apt_pkg *best = NULL;
	guint i;

	for (i = 0; i < list->len; i++) {
		const struct apt_pkg *p = list->pdata[i];
		const char *s = p->name + strlen("linux-source-");

		if (is_exact(want) ? strcmp(p->version, want) != 0 : !near && strcmp(s, series))
			continue;
		if (!best || series_better(s, best->name + strlen("linux-source-"), series) ||
		    (!strcmp(p->name, best->name) && deb_version_cmp(p->version, best->version) > 0))
			best = p;
	}
	return best;
}

static char *make_source(struct apt *apt, const struct apt_pkg *pkg, bool whole, char **name,
			 GError **err)
{
	struct fetched s = { apt, pkg, whole };
	char *key = g_strdup_printf("%s_%s-%s", pkg->name, pkg->version, kind_of(whole));
	char *dir = cache_make("sources", key, fill_source, &s, err);

	if (dir && name)
		*name = g_strdup_printf("%s=%s", pkg->name, pkg->version);
	g_free(key);
	return dir;
}

/* Ask apt; the folder, or NULL with *@err */
static char *ask_apt(struct apt *apt, const char *want, const char *series, bool whole, char **name,
		     GError **err)
{
	GPtrArray *list = apt_list(apt, "^linux-source-[0-9]+\\.[0-9]+$", err);
	const struct apt_pkg *pkg;
	char *dir = NULL;

	if (!list)
		return NULL;
	/* A whole tree is built from: only the very series will do */
	pkg = best_packaged(list, want, series, !whole);
	if (!pkg) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "Debian %s has no source package for %s: pass a kernel tree with --ksrc or --tree",
			      apt->suite ? apt->suite : "as configured here", want);
	} else {
		if (strcmp(pkg->name + strlen("linux-source-"), series))
			status_note("no source package for %s here: taking the KVM selftest library of %s",
				    series, pkg->name);
		dir = make_source(apt, pkg, whole, name, err);
	}
	g_ptr_array_unref(list);
	return dir;
}

static char *fetch(const char *want, const char *series, const char *suite, bool whole,
		   char **name, GError **err)
{
	struct apt *apt;
	GError *e = NULL;
	char *dir, *arch = apt_host_arch();

	/* The source is the same for all architectures: the host's lists serve */
	apt = apt_open(suite, arch, false, err);
	g_free(arch);
	if (!apt)
		return NULL;
	dir = ask_apt(apt, want, series, whole, name, &e);
	if (!dir && e->code != MMG_EXIT_INTERRUPTED && !apt->config &&
	    !strstr(e->message, "No space left") && apt_refresh(apt, NULL)) {
		g_clear_error(&e);
		dir = ask_apt(apt, want, series, whole, name, &e);
	}
	if (e)
		g_propagate_error(err, e);
	apt_free(apt);
	return dir;
}

/**
 * ksrc_fetch - have a packaged kernel source in the cache
 * @version:	"6.12", "6.12.117", or an exact package version
 * @suite:	other suite than the host's, or NULL
 * @whole:	all of it, to build kernels from; else what the selftests need,
 *		from the nearest series where there is none of this one
 * @name:	gets "package=version", g_free() it; or NULL
 *
 * Path, g_free() it; NULL with *@err: no package, no network, full disk.
 */
char *ksrc_fetch(bool offline, const char *version, const char *suite, bool whole, char **name,
		 GError **err)
{
	char *series = series_of(version), *dir;
	GError *e = NULL;

	dir = best_cached(version, series, whole, false, name);
	if (!dir && !offline) {
		dir = fetch(version, series, suite, whole, name, &e);
		if (!dir && e->code == MMG_EXIT_INTERRUPTED)
			goto out;
	}
	if (!dir && !whole) {
		dir = best_cached(version, series, whole, true, name);
		if (dir) {
			status_note("taking the kernel source in the cache (%s)%s%s",
				    name ? *name : dir, e ? ": " : "", e ? e->message : "");
			g_clear_error(&e);
		}
	}
	if (!dir && !e)
		mmg_set_error(&e, MMG_EXIT_BROKEN,
			      "no kernel source for %s is in the cache and --offline forbids fetching one: run once without it, or pass --ksrc DIR",
			      version);
out:
	if (e)
		g_propagate_error(err, e);
	g_free(series);
	return dir;
}

#define DEFAULT_SOURCE	"debian-source:6.12"

struct source *source_named(const char *tree_dir, const char *word, bool offline, GError **err)
{
	static const char prefix[] = "debian-source:";
	g_autofree char *tree = NULL, *name = NULL;
	g_auto(GStrv) parts = NULL;

	if (tree_dir && word) {
		mmg_set_error(err, MMG_EXIT_USAGE, "both --tree %s and %s were given; one of them",
			      tree_dir, word);
		return NULL;
	}
	if (tree_dir && !g_str_has_prefix(tree_dir, prefix))
		return source_open(tree_dir, NULL, err);
	if (!word)
		word = tree_dir ? tree_dir : DEFAULT_SOURCE;
	if (!g_str_has_prefix(word, prefix))
		return source_open(word, NULL, err);
	parts = g_strsplit(word + strlen(prefix), "@", 2);
	if (!parts[0] || !*parts[0]) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s names no version; write debian-source:6.12", word);
		return NULL;
	}
	tree = ksrc_fetch(offline, parts[0], parts[1], true, &name, err);
	return tree ? source_open(tree, name, err) : NULL;
}

bool source_not_here(const char *tree_dir, const char *word, GError **err)
{
	if (!err || !*err || (*err)->code != MMG_EXIT_BROKEN || tree_dir)
		return false;
	g_clear_error(err);
	printf("source %s: not in the cache, would be fetched\n", word ? word : DEFAULT_SOURCE);
	return true;
}
