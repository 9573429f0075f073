// SPDX-License-Identifier: GPL-2.0-only
/*
 * Temporary folders, and the end of those that killed runs left behind.
 */
#include "base/base.h"
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_PREFIX	"run-"

static char *run_dir;
static int run_lock = -1;

/* Held while run folders come and go, so that none is seen before it is locked */
static int lock_top(const char *top)
{
	g_autofree char *path = g_build_filename(top, ".lock", NULL);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The lock on a folder ends with the process that held it: what can be locked is dead */
static void sweep(const char *top)
{
	GDir *d = g_dir_open(top, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(top, name, NULL);
		int fd;

		if (!g_str_has_prefix(name, RUN_PREFIX))
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (!flock(fd, LOCK_EX | LOCK_NB))
			mmg_rmtree(path);
		close(fd);
	}
	if (d)
		g_dir_close(d);
}

/* The run's own folder in @top, locked; NULL and errno */
static char *open_run(const char *top)
{
	char *path = g_build_filename(top, RUN_PREFIX "XXXXXX", NULL);
	int lock, error;

	if (g_mkdir_with_parents(top, 0700))
		goto failed;
	lock = lock_top(top);
	if (lock < 0)
		goto failed;
	sweep(top);
	if (g_mkdtemp(path)) {
		run_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (run_lock >= 0)
			flock(run_lock, LOCK_EX | LOCK_NB);
		close(lock);
		return path;
	}
	error = errno;
	close(lock);
	errno = error;
failed:
	error = errno;
	g_free(path);
	errno = error;
	return NULL;
}

static bool have_run_dir(GError **err)
{
	g_autofree char *cache = mmg_cache_path("tmp", NULL);
	g_autofree char *other = NULL;
	const char *tmp = g_getenv("TMPDIR");
	int error;

	if (run_dir)
		return true;
	run_dir = open_run(cache);
	if (!run_dir) {
		error = errno;
		other = g_strdup_printf("%s/mmgate-%d", tmp && *tmp == '/' ? tmp : "/tmp", (int)getuid());
		run_dir = open_run(other);
		if (!run_dir) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "no temporary folder can be made in %s (%s) or "
				      "%s (%s)", cache, g_strerror(error), other, g_strerror(errno));
			return false;
		}
	}
	atexit(scratch_end);
	/* what children leave when they are killed goes with it */
	g_setenv("TMPDIR", run_dir, TRUE);
	return true;
}

char *scratch_dir(const char *what, GError **err)
{
	g_autofree char *name = g_strdup_printf("%s-XXXXXX", what);
	char *path;

	if (!have_run_dir(err))
		return NULL;
	path = g_build_filename(run_dir, name, NULL);
	if (g_mkdtemp(path))
		return path;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make a temporary folder in %s: %s", run_dir,
		      g_strerror(errno));
	g_free(path);
	return NULL;
}

void scratch_end(void)
{
	if (!run_dir)
		return;
	mmg_rmtree(run_dir);
	g_clear_pointer(&run_dir, g_free);
	close(run_lock);
	run_lock = -1;
}
