// SPDX-License-Identifier: GPL-2.0-only
/*
 * Things made once and kept: each is a folder that appears whole, under the
 * name of its content, or not at all.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * What is in an entry is recorded, and compared before it is used: after a power loss a file
 * may be there by name, and empty or cut short.  Of small things every byte is compared.
 * Kernels, modules and sources are too large for that each time: of their many files the
 * lengths, and of a kernel's own few the bytes.
 */
static bool is_small(const char *kind)
{
	return !strcmp(kind, "selftests") || !strcmp(kind, "images") || !strcmp(kind, "configs");
}

static bool is_recorded(const char *kind)
{
	return is_small(kind) || !strcmp(kind, "kernels") || !strcmp(kind, "modules") || !strcmp(kind, "sources");
}

static char *manifest_path(const char *kind, const char *key)
{
	char *name = g_strconcat(kind, "-", key, NULL), *path = mmg_cache_path("manifests", name, NULL);

	g_free(name);
	return path;
}

static GPtrArray *found_files;
static int below;

static int find_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)ftw;
	if (flag == FTW_F && S_ISREG(st->st_mode))
		g_ptr_array_add(found_files, g_strdup(path + below));
	return 0;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A file of an entry of a large kind whose length alone is recorded */
static bool by_length(const char *kind, const char *file)
{
	return !is_small(kind) && (strcmp(kind, "kernels") || strstr(file, "lib/modules/"));
}

/*
 * "SHA-256 PATH" or "length:BYTES PATH" of each file below @dir, in order; @memo: by hashes
 * that are remembered.  g_free() it
 */
static char *manifest(const char *kind, const char *dir, bool memo)
{
	GString *text = g_string_new(NULL);
	guint i;

	found_files = g_ptr_array_new_with_free_func(g_free);
	below = strlen(dir) + 1;
	nftw(dir, find_one, 32, FTW_PHYS);
	g_ptr_array_sort(found_files, by_name);
	for (i = 0; i < found_files->len; i++) {
		char *path = g_build_filename(dir, found_files->pdata[i], NULL);
		char *hex;
		struct stat st;

		if (!by_length(kind, found_files->pdata[i]))
			hex = memo ? cache_sha256(path, NULL) : mmg_sha256_file(path, NULL);
		else
			hex = stat(path, &st) ? NULL : g_strdup_printf("length:%lld", (long long)st.st_size);
		g_string_append_printf(text, "%s %s\n", hex ? hex : "-", (char *)found_files->pdata[i]);
		g_free(hex);
		g_free(path);
	}
	g_ptr_array_unref(found_files);
	return g_string_free(text, FALSE);
}

/* Each file of a record is there as it says */
static bool has_all(const char *dir, char *record)
{
	bool ok = true;

	for (char *line = record, *next; ok && *line; line = next) {
		char *file = strchr(line, ' '), *path;
		struct stat st;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!file || file > next)
			return false;
		*file++ = '\0';
		path = g_build_filename(dir, file, NULL);
		if (g_str_has_prefix(line, "length:")) {
			ok = !stat(path, &st) && st.st_size == g_ascii_strtoll(line + strlen("length:"), NULL, 10);
		} else {
			char *hex = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? cache_sha256(path, NULL) : NULL;

			ok = hex && !strcmp(hex, line);
			g_free(hex);
		}
		g_free(path);
	}
	return ok;
}

enum whole { WHOLE, DAMAGED, UNRECORDED };

static enum whole is_whole(const char *kind, const char *key, const char *path)
{
	char *file, *want = NULL, *have;
	enum whole ret = WHOLE;

	if (!is_recorded(kind))
		return WHOLE;
	file = manifest_path(kind, key);
	if (!g_file_get_contents(file, &want, NULL, NULL)) {
		/* made by a version that recorded small things alone: too much to make again */
		ret = is_small(kind) ? UNRECORDED : WHOLE;
	} else {
		/* files that others have added to a large entry since do not matter */
		if (!is_small(kind)) {
			ret = has_all(path, want) ? WHOLE : DAMAGED;
		} else {
			have = manifest(kind, path, true);
			if (strcmp(have, want))
				ret = DAMAGED;
			g_free(have);
		}
	}
	g_free(want);
	g_free(file);
	return ret;
}

/* What was written in @dir is on the disk before it gets its name */
static bool settle(const char *kind, const char *key, const char *dir, GError **err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && !syncfs(fd);
	char *file, *text, *parent;

	if (!ok)
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s to the disk: %s", dir, g_strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!ok || !is_recorded(kind))
		return ok;
	file = manifest_path(kind, key);
	parent = g_path_get_dirname(file);
	text = manifest(kind, dir, false);
	ok = mmg_mkdirs(parent, err) && mmg_write_atomic(file, text, -1, err);
	g_free(text);
	g_free(parent);
	g_free(file);
	return ok;
}

/* Fill KEY.part and name it KEY; the lock is held */
static bool make_locked(const char *kind, const char *key, const char *path,
			bool (*fill)(const char *, void *, GError **), void *data, GError **err)
{
	char *part = g_strconcat(path, ".part", NULL);
	bool ok;

	/* Left by a run that was killed */
	mmg_rmtree(part);
	ok = mmg_mkdirs(part, err) && fill(part, data, err) && settle(kind, key, part, err);
	if (ok && rename(part, path)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot name %s: %s", path, g_strerror(errno));
		ok = false;
	}
	if (!ok)
		mmg_rmtree(part);
	g_free(part);
	return ok;
}

static char *path_of(const char *kind, const char *key)
{
	char *path = mmg_cache_path(kind, key, NULL);

	if (g_file_test(path, G_FILE_TEST_IS_DIR))
		return path;
	g_free(path);
	return NULL;
}

char *cache_have(const char *kind, const char *key)
{
	char *path = path_of(kind, key);

	if (path && is_whole(kind, key, path) == DAMAGED) {
		status_note("%s in the cache is damaged", path);
		g_clear_pointer(&path, g_free);
	}
	return path;
}

char *cache_make(const char *kind, const char *key,
		 bool (*fill)(const char *dir, void *data, GError **err), void *data,
		 GError **err)
{
	char *path = path_of(kind, key), *lock;
	GError *e = NULL;
	bool ok;
	int fd;

	if (path && is_whole(kind, key, path) == WHOLE)
		return path;
	lock = g_strdup_printf("%s-%s", kind, key);
	fd = mmg_lock(lock, &e);
	g_free(lock);
	if (fd < 0) {
		/* a cache that cannot be written, filled by a version that kept no record */
		if (path && is_whole(kind, key, path) == UNRECORDED) {
			g_error_free(e);
			return path;
		}
		g_propagate_error(err, e);
		g_free(path);
		return NULL;
	}
	g_free(path);
	path = mmg_cache_path(kind, key, NULL);
	/* The other run may have made it while this one waited */
	ok = g_file_test(path, G_FILE_TEST_IS_DIR);
	if (ok && is_whole(kind, key, path) != WHOLE) {
		if (is_whole(kind, key, path) == DAMAGED)
			status_note("%s in the cache is damaged: made anew", path);
		mmg_rmtree(path);
		ok = false;
	}
	ok = ok || make_locked(kind, key, path, fill, data, err);
	close(fd);
	if (ok)
		return path;
	g_free(path);
	return NULL;
}

char *cache_sha256(const char *path, GError **err)
{
	char *real = realpath(path, NULL), *name, *memo, *stamp = NULL, *old = NULL, *hex = NULL;
	struct stat st;

	if (!real || stat(real, &st)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, g_strerror(errno));
		free(real);
		return NULL;
	}
	name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, real, -1);
	memo = mmg_cache_path("hashes", name, NULL);
	stamp = g_strdup_printf("%llu %llu %lld %lld.%09ld %lld.%09ld ",
				(unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
				(long long)st.st_size, (long long)st.st_mtim.tv_sec,
				st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
				st.st_ctim.tv_nsec);
	if (g_file_get_contents(memo, &old, NULL, NULL) && g_str_has_prefix(old, stamp) &&
	    strlen(old) == strlen(stamp) + 64) {
		hex = g_strdup(old + strlen(stamp));
	} else {
		hex = mmg_sha256_file(path, err);
		/* A file that changed within the clock's grain could change again unseen */
		if (hex && time(NULL) - st.st_ctim.tv_sec > 2) {
			char *dir = g_path_get_dirname(memo), *text = g_strconcat(stamp, hex, NULL);

			if (mmg_mkdirs(dir, NULL))
				mmg_write_atomic(memo, text, -1, NULL);
			g_free(text);
			g_free(dir);
		}
	}
	g_free(old);
	g_free(stamp);
	g_free(memo);
	g_free(name);
	free(real);
	return hex;
}

GPtrArray *cache_list(const char *kind, const char *glob)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	char *path = mmg_cache_path(kind, NULL);
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		if (g_pattern_match_simple(glob, name) && !g_str_has_suffix(name, ".part"))
			g_ptr_array_add(names, g_strdup(name));
	if (dir)
		g_dir_close(dir);
	g_free(path);
	return names;
}

static uint64_t size_sum;

static int size_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	if (flag != FTW_NS)
		size_sum += (uint64_t)st->st_blocks * 512;
	return 0;
}

uint64_t cache_size(const char *path)
{
	size_sum = 0;
	nftw(path, size_one, 32, FTW_PHYS);
	return size_sum;
}
