// SPDX-License-Identifier: GPL-2.0-only
/*
 * The journal of changed settings, one line an entry:
 *
 *	path<TAB>content to write back, with \n, \t, \\ escaped
 *	path/<TAB>		a cgroup of ours, to be emptied and removed
 *
 * Restoring uses only system calls and static memory, so that it can run in a
 * handler of SIGSEGV.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"

#define JOURNAL_MAX	(256 * 1024)
#define VALUE_MAX	4096

static int journal_fd = -1;
static char journal_path[PATH_MAX];
static char *journal_buf;	/* got before it is needed: restoring must not allocate */

static void pick_path(void)
{
	const char *env = getenv("MMGATE_JOURNAL");
	const char *dir = access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";

	if (env && *env)
		snprintf(journal_path, sizeof(journal_path), "%s", env);
	else
		snprintf(journal_path, sizeof(journal_path), "%s/mmgate-journal.%u", dir,
			 (unsigned int)geteuid());
}

const char *mmg_journal_path(void)
{
	if (!*journal_path)
		pick_path();
	return journal_path;
}

/* The directory is open to all: take only a plain file that is ours alone */
static int open_ours(void)
{
	struct stat st;
	int fd = open(journal_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int mmg_journal_open(unsigned int wait_s)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	unsigned int tries = wait_s * 10 + 1;

	if (!journal_buf)
		journal_buf = malloc(JOURNAL_MAX);
	if (!journal_buf)
		return -ENOMEM;
	pick_path();
	while (tries--) {
		struct stat here, there;
		int fd = open_ours();

		if (fd < 0)
			return fd;
		/* the one before may have unlinked it between our open and lock */
		if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &here) &&
		    !stat(journal_path, &there) && here.st_ino == there.st_ino) {
			journal_fd = fd;
			return 0;
		}
		close(fd);
		if (tries)
			nanosleep(&nap, NULL);
	}
	return -EBUSY;
}

off_t mmg_journal_mark(void)
{
	return journal_fd < 0 ? 0 : lseek(journal_fd, 0, SEEK_END);
}

static int append(const char *line, size_t len)
{
	if (journal_fd < 0)
		return -EBADF;
	if (lseek(journal_fd, 0, SEEK_END) + (off_t)len >= JOURNAL_MAX)
		return -EFBIG;
	if (write(journal_fd, line, len) != (ssize_t)len)
		return errno ? -errno : -EIO;
	fdatasync(journal_fd);
	return 0;
}

static size_t escape(char *out, const char *in, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		switch (in[i]) {
		case '\n':
			out[n++] = '\\';
			out[n++] = 'n';
			break;
		case '\t':
			out[n++] = '\\';
			out[n++] = 't';
			break;
		case '\\':
			out[n++] = '\\';
			out[n++] = '\\';
			break;
		default:
			out[n++] = in[i];
		}
	}
	return n;
}

/* "always [madvise] never": what is written is the word in brackets */
static void chosen_word(char *value, ssize_t *len)
{
	char *open_b = memchr(value, '[', *len);
	char *close_b = memchr(value, ']', *len);

	if (!open_b || !close_b || close_b < open_b || memchr(value, '\n', close_b - value))
		return;
	*len = close_b - open_b - 1;
	memmove(value, open_b + 1, *len);
}

int mmg_journal_save(const char *path)
{
	char value[VALUE_MAX], line[PATH_MAX + 2 * VALUE_MAX + 2];
	ssize_t len;
	size_t n;
	int fd;

	if (strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	len = read(fd, value, sizeof(value));
	n = len < 0 ? errno : 0;
	close(fd);
	if (len < 0)
		return -(int)n;
	while (len && value[len - 1] == '\n')
		len--;
	chosen_word(value, &len);
	n = snprintf(line, PATH_MAX, "%s\t", path);
	n += escape(line + n, value, len);
	line[n++] = '\n';
	return append(line, n);
}

static bool under(const char *path, const char *top)
{
	return !strncmp(path, top, strlen(top)) && !strstr(path, "/../");
}

static bool removable(const char *path)
{
	return under(path, "/sys/fs/cgroup/") || under(path, "/sys/kernel/tracing/instances/");
}

int mmg_journal_remove_dir(const char *path)
{
	char line[PATH_MAX + 4];
	int n;

	if (!removable(path))
		return -EINVAL;
	n = snprintf(line, sizeof(line), "%s/\t\n", path);
	return append(line, n);
}

static size_t unescape(char *s)
{
	char *in = s, *out = s;

	while (*in) {
		if (*in == '\\' && in[1]) {
			in++;
			*out++ = *in == 'n' ? '\n' : *in == 't' ? '\t' : *in;
			in++;
		} else {
			*out++ = *in++;
		}
	}
	*out = 0;
	return out - s;
}

/* A cgroup that still has processes refuses rmdir: kill them, wait a little */
static int remove_dir(char *path)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	size_t len = strlen(path);
	char kill_file[PATH_MAX];
	int fd, tries;

	path[len - 1] = 0;
	if (!rmdir(path) || errno == ENOENT)
		return 0;
	if (len + 12 > sizeof(kill_file))
		return -ENAMETOOLONG;
	memcpy(kill_file, path, len - 1);
	memcpy(kill_file + len - 1, "/cgroup.kill", 13);
	fd = open(kill_file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "1", 1) < 0)
			errno = 0;
		close(fd);
	}
	for (tries = 0; tries < 1000; tries++) {
		if (!rmdir(path) || errno == ENOENT)
			return 0;
		nanosleep(&nap, NULL);
	}
	return -errno;
}

static bool same_content(const char *path, const char *value, size_t len)
{
	char now[VALUE_MAX];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, now, sizeof(now));
	close(fd);
	while (n > 0 && now[n - 1] == '\n')
		n--;
	if (n > 0)
		chosen_word(now, &n);
	return n == (ssize_t)len && !memcmp(now, value, len);
}

static int put_back(char *line)
{
	char *value = strchr(line, '\t');
	size_t len, path_len;
	int fd, err = 0;

	if (!value)
		return -EINVAL;
	*value++ = 0;
	path_len = strlen(line);
	if (path_len && line[path_len - 1] == '/')
		return removable(line) ? remove_dir(line) : -EINVAL;
	if (!under(line, "/proc/") && !under(line, "/sys/"))
		return -EINVAL;
	len = unescape(value);
	/* writing lru_gen/enabled or a sysctl has side effects: only where it differs */
	if (same_content(line, value, len))
		return 0;
	fd = open(line, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (write(fd, value, len) != (ssize_t)len)
		err = -errno;
	close(fd);
	return err;
}

int mmg_journal_restore(off_t mark)
{
	ssize_t len;
	int failed = 0;
	char *end;

	if (journal_fd < 0)
		return 0;
	len = pread(journal_fd, journal_buf, JOURNAL_MAX - 1, mark);
	if (len <= 0)
		return 0;
	/* a line without its newline was torn by a power loss: nothing was changed yet */
	while (len && journal_buf[len - 1] != '\n')
		len--;
	journal_buf[len] = 0;
	end = journal_buf + len;
	while (end > journal_buf) {
		char *line;

		*--end = 0;
		line = memrchr(journal_buf, '\n', end - journal_buf);
		line = line ? line + 1 : journal_buf;
		if (*line && put_back(line))
			failed++;
		end = line;
	}
	if (ftruncate(journal_fd, mark))
		failed++;
	return failed;
}

void mmg_journal_close(void)
{
	if (journal_fd < 0)
		return;
	mmg_journal_restore(0);
	unlink(journal_path);
	close(journal_fd);
	journal_fd = -1;
}
