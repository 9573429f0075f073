// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "journal.h"
#include "lru_gen.h"
#include "memcg.h"
#include "runner.h"

#define CGROUP2_MAGIC	0x63677270

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *p = text;

	while ((p = strstr(p, word))) {
		if ((p == text || p[-1] == ' ') && (!p[len] || isspace((unsigned char)p[len])))
			return true;
		p += len;
	}
	return false;
}

/* A file of the root lists the memory controller */
static bool lists_memory(const char *path)
{
	char *text = mmg_read_file(path, NULL);
	bool on = text && has_word(text, "memory");

	free(text);
	return on;
}

void memcg_require(void)
{
	struct statfs fs;

	if (statfs(MEMCG_ROOT, &fs) || fs.f_type != CGROUP2_MAGIC)
		mmg_skip("no cgroup2 on %s: boot with systemd.unified_cgroup_hierarchy=1",
			 MEMCG_ROOT);
	if (!lists_memory(MEMCG_ROOT "/cgroup.controllers"))
		mmg_skip("cgroup2 has no memory controller (CONFIG_MEMCG, cgroup_disable=)");
	if (!lists_memory(MEMCG_ROOT "/cgroup.subtree_control"))
		mmg_skip("memory controller off: echo +memory > %s/cgroup.subtree_control",
			 MEMCG_ROOT);
	if (access(MEMCG_ROOT, W_OK))
		mmg_skip("%s: %s: run as root", MEMCG_ROOT, strerror(errno));
}

bool memcg_there(void)
{
	return lists_memory(MEMCG_ROOT "/cgroup.subtree_control") && !access(MEMCG_ROOT, W_OK);
}

void memcg_home(struct memcg *cg)
{
	char *text = mmg_read_file("/proc/self/cgroup", NULL);
	char *line = text ? strstr(text, "0::/") : NULL;

	if (!line)
		mmg_broken("/proc/self/cgroup has no line of cgroup2");
	snprintf(cg->dir, sizeof(cg->dir), "%s%.*s", MEMCG_ROOT, (int)strcspn(line + 3, "\n"),
		 line + 3);
	cg->path = cg->dir + strlen(MEMCG_ROOT);
	free(text);
}

void memcg_create(struct memcg *cg, const struct memcg *parent, const char *name)
{
	int err;

	if (parent)
		snprintf(cg->dir, sizeof(cg->dir), "%.200s/%.50s", parent->dir, name);
	else
		snprintf(cg->dir, sizeof(cg->dir), "%s/mmgate.%d.%.50s", MEMCG_ROOT, getpid(),
			 name);
	cg->path = cg->dir + strlen(MEMCG_ROOT);
	if (parent) {
		err = memcg_write(parent, "cgroup.subtree_control", "+memory");
		if (err)
			mmg_broken("passing the memory controller down in %s: %s", parent->dir,
				   strerror(-err));
	}
	err = mmg_journal_remove_dir(cg->dir);
	if (err)
		mmg_broken("journal %s: %s", mmg_journal_path(), strerror(-err));
	if (mkdir(cg->dir, 0755))
		mmg_broken("mkdir %s: %s", cg->dir, strerror(errno));
	if (!memcg_has(cg, "memory.current"))
		mmg_broken("%s has no memory.current", cg->dir);
}

void memcg_enter(const struct memcg *cg, pid_t pid)
{
	int err = memcg_write(cg, "cgroup.procs", "%d", pid);

	if (err)
		mmg_broken("moving process %d into %s: %s", pid, cg->dir, strerror(-err));
}

static void file_of(const struct memcg *cg, const char *file, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", cg->dir, file);
}

bool memcg_has(const struct memcg *cg, const char *file)
{
	char path[PATH_MAX];

	file_of(cg, file, path);
	return !access(path, F_OK);
}

static char *read_or_broken(const struct memcg *cg, const char *file)
{
	char path[PATH_MAX], *text;

	file_of(cg, file, path);
	text = mmg_read_file(path, NULL);
	if (!text)
		mmg_broken("reading %s: %s", path, strerror(errno));
	return text;
}

u64 memcg_read(const struct memcg *cg, const char *file)
{
	char *text = read_or_broken(cg, file), *end;
	u64 v;

	if (!strncmp(text, "max", 3)) {
		free(text);
		return ~0ULL;
	}
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || (*end && *end != '\n'))
		mmg_broken("%s/%s: not a number: \"%s\"", cg->dir, file, text);
	free(text);
	return v;
}

long long memcg_key_maybe(const struct memcg *cg, const char *file, const char *key)
{
	char *text = read_or_broken(cg, file), *line, *save = NULL;
	size_t len = strlen(key);
	long long v = -1;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, key, len) && line[len] == ' ')
			v = strtoll(line + len + 1, NULL, 10);
	}
	free(text);
	return v;
}

u64 memcg_key(const struct memcg *cg, const char *file, const char *key)
{
	long long v = memcg_key_maybe(cg, file, key);

	if (v < 0)
		mmg_broken("%s/%s has no \"%s\"", cg->dir, file, key);
	return v;
}

int memcg_write(const struct memcg *cg, const char *file, const char *fmt, ...)
{
	char path[PATH_MAX], text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	file_of(cg, file, path);
	return mmg_try_write(path, "%s", text);
}

int memcg_reclaim(const struct memcg *cg, u64 bytes, const char *swappiness)
{
	if (swappiness)
		return memcg_write(cg, "memory.reclaim", "%llu swappiness=%s",
				   (unsigned long long)bytes, swappiness);
	return memcg_write(cg, "memory.reclaim", "%llu", (unsigned long long)bytes);
}

u64 memcg_lru_gen_id(const struct memcg *cg)
{
	static struct lru_gen_memcg info;

	lru_gen_read(false, cg->path, &info);
	return info.id;
}

/* Without CONFIG_NUMA: visit each CPU, madvise(MADV_COLD) drains the one it runs on */
static void drain_cpu_by_cpu(void)
{
	long page = sysconf(_SC_PAGESIZE), cpu, n = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t before, one;
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sched_getaffinity(0, sizeof(before), &before);
	for (cpu = 0; cpu < n && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			madvise(p, page, MADV_COLD);
	}
	sched_setaffinity(0, sizeof(before), &before);
	munmap(p, page);
}

/*
 * migrate_pages() of ourselves from a node to the same node moves nothing, but
 * calls lru_cache_disable(), that is lru_add_drain_all(), first: see
 * do_migrate_pages() in mm/mempolicy.c.
 */
void memcg_drain_lru(void)
{
	unsigned long node0 = 1;

	if (syscall(SYS_migrate_pages, 0, 8 * sizeof(node0), &node0, &node0) < 0)
		drain_cpu_by_cpu();
}
