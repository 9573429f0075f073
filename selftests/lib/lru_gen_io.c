// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's side of lru_gen.h: the files and the commands.  Apart from the
 * parser, which the suite's own tests link on any host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lru_gen.h"
#include "runner.h"

#define READ_TRIES	10	/* of a list that changes meanwhile */

static void no_file(const char *path)
{
	int err = errno;

	if (err == ENOENT && lru_gen_enabled() == -ENOENT)
		mmg_skip("this kernel has no multi-gen LRU (CONFIG_LRU_GEN)");
	if (err == ENOENT && access("/sys/kernel/debug/tracing", F_OK) &&
	    access("/sys/kernel/debug/bdi", F_OK))
		mmg_skip("debugfs is not mounted: mount -t debugfs none /sys/kernel/debug");
	if (err == EPERM)
		mmg_skip("%s is shut (%s): lockdown? see /sys/kernel/security/lockdown", path,
			 strerror(err));
	if (err == EACCES)
		mmg_skip("%s: %s: run as root", path, strerror(err));
	mmg_skip("%s: %s: needs CONFIG_DEBUG_FS and CONFIG_LRU_GEN", path, strerror(err));
}

void lru_gen_read(bool full, const char *path, struct lru_gen_memcg *memcg)
{
	const char *file = full ? LRU_GEN_DIR "lru_gen_full" : LRU_GEN_DIR "lru_gen";
	struct lru_gen_error err;
	int ret = -ENOENT, tries;
	char *text;

	/*
	 * The file is made page by page, each from a count of groups: where one goes away
	 * in between, the one that moves up to its place is left out.
	 */
	for (tries = 0; ret == -ENOENT && tries < READ_TRIES; tries++) {
		text = mmg_read_file(file, NULL);
		if (!text)
			no_file(file);
		ret = lru_gen_parse(text, path, 0, memcg, &err);
		free(text);
	}
	if (ret == -ENOENT)
		mmg_broken("%s does not list the memcg %s", file, path);
	if (ret)
		mmg_broken("%s line %u: %s", file, err.line, err.what);
}

int lru_gen_command(const char *text)
{
	int fd = open(LRU_GEN_DIR "lru_gen", O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int ret = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		ret = -errno;
	else if (n != (ssize_t)strlen(text))
		mmg_fail("lru_gen took %zd bytes of \"%s\", must be all or none", n, text);
	close(fd);
	return ret;
}

int lru_gen_age(u64 id, int nid, u64 seq, int swappiness, bool force)
{
	char text[128];

	snprintf(text, sizeof(text), "+ %llu %d %llu %d %d\n", (unsigned long long)id, nid,
		 (unsigned long long)seq, swappiness, force);
	return lru_gen_command(text);
}

int lru_gen_evict(u64 id, int nid, u64 seq, int swappiness, u64 nr)
{
	char text[128];
	int ret;

	snprintf(text, sizeof(text), "- %llu %d %llu %d %llu\n", (unsigned long long)id, nid,
		 (unsigned long long)seq, swappiness, (unsigned long long)nr);
	ret = lru_gen_command(text);
	/* before 6.15 the most that can be said is 200 */
	if (ret == -EINVAL && swappiness == LRU_GEN_ANON_ONLY)
		return lru_gen_evict(id, nid, seq, 200, nr);
	return ret;
}

int lru_gen_enabled(void)
{
	char *text = mmg_read_file(LRU_GEN_ENABLED, NULL);
	int bits;

	if (!text)
		return -errno;
	bits = strtol(text, NULL, 0);
	free(text);
	return bits;
}
