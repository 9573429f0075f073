// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths, folders and files.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *mmg_root(void)
{
	static char *root;
	char buf[4096];
	ssize_t n;

	if (root)
		return root;
	if (g_getenv("MMGATE_ROOT")) {
		root = g_strdup(g_getenv("MMGATE_ROOT"));
		return root;
	}
	n = readlink("/proc/self/exe", buf, sizeof(buf) - 1);
	if (n < 0)
		g_error("readlink /proc/self/exe: %s", g_strerror(errno));
	buf[n] = '\0';
	/* ROOT/build/mmgate, or ROOT/build/unit/test_x */
	root = g_path_get_dirname(buf);
	while (strlen(root) > 1) {
		char *marker = g_build_filename(root, "configs", "machines", NULL);
		bool here = g_file_test(marker, G_FILE_TEST_IS_DIR);
		char *up;

		g_free(marker);
		if (here)
			return root;
		up = g_path_get_dirname(root);
		g_free(root);
		root = up;
	}
	return root;
}

const char *mmg_cache(void)
{
	static char *cache;
	const char *base = g_get_user_cache_dir();

	if (cache)
		return cache;
	if (g_path_is_absolute(base)) {
		cache = g_build_filename(base, "mmgate", NULL);
	} else {
		/* an empty HOME or a relative XDG_CACHE_HOME: not a cache a folder */
		struct passwd *pw = getpwuid(getuid());

		cache = g_build_filename(pw ? pw->pw_dir : g_get_tmp_dir(), ".cache", "mmgate", NULL);
	}
	return cache;
}

static char *path_below(const char *top, const char *first, va_list ap)
{
	GPtrArray *words = g_ptr_array_new();
	const char *w;
	char *path;

	g_ptr_array_add(words, (char *)top);
	for (w = first; w; w = va_arg(ap, const char *))
		g_ptr_array_add(words, (char *)w);
	g_ptr_array_add(words, NULL);
	path = g_build_filenamev((char **)words->pdata);
	g_ptr_array_free(words, TRUE);
	return path;
}

char *mmg_root_path(const char *first, ...)
{
	va_list ap;
	char *path;

	va_start(ap, first);
	path = path_below(mmg_root(), first, ap);
	va_end(ap);
	return path;
}

char *mmg_cache_path(const char *first, ...)
{
	va_list ap;
	char *path;

	va_start(ap, first);
	path = path_below(mmg_cache(), first, ap);
	va_end(ap);
	return path;
}

bool mmg_mkdirs(const char *path, GError **err)
{
	if (!g_mkdir_with_parents(path, 0755))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make the folder %s: %s", path,
		      g_strerror(errno));
	return false;
}

static int rm_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

void mmg_rmtree(const char *path)
{
	nftw(path, rm_one, 32, FTW_DEPTH | FTW_PHYS);
}

char *mmg_sha256_file(const char *path, GError **err)
{
	GChecksum *sum;
	char *hex, *buf;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, g_strerror(errno));
		return NULL;
	}
	sum = g_checksum_new(G_CHECKSUM_SHA256);
	buf = g_malloc(1 << 20);
	while ((n = read(fd, buf, 1 << 20)) > 0)
		g_checksum_update(sum, (guchar *)buf, n);
	if (n < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, g_strerror(errno));
		hex = NULL;
	} else {
		hex = g_strdup(g_checksum_get_string(sum));
	}
	g_free(buf);
	g_checksum_free(sum);
	close(fd);
	return hex;
}

bool mmg_write_atomic(const char *path, const char *data, gssize len, GError **err)
{
	GError *e = NULL;

	if (g_file_set_contents_full(path, data, len, G_FILE_SET_CONTENTS_CONSISTENT, 0644, &e))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s: %s", path, e->message);
	g_error_free(e);
	return false;
}
