// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks between runs that share the cache.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int mmg_lock(const char *key, GError **err)
{
	char *dir = mmg_cache_path("locks", NULL), *path = g_build_filename(dir, key, NULL);
	bool said = false;
	int fd = -1;

	if (!mmg_mkdirs(dir, err))
		goto out;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot open the lock %s: %s", path,
			      g_strerror(errno));
		goto out;
	}
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot lock %s: %s", path,
				      g_strerror(errno));
			close(fd);
			fd = -1;
			break;
		}
		if (!said)
			status_note("waiting for another run that holds %s", path);
		said = true;
		if (mmg_check_interrupt(err)) {
			close(fd);
			fd = -1;
			break;
		}
		/* flock has no event to wait for without blocking signals' handling */
		g_usleep(100000);
		g_main_context_iteration(NULL, FALSE);
	}
out:
	g_free(path);
	g_free(dir);
	return fd;
}
