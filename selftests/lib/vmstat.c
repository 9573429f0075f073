// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of the kernel in "name value" lines.  One parser serves /proc/vmstat,
 * /proc/meminfo and the files of a node: words before the last name
 * ("Node 0 MemFree:") and a unit after the number ("kB") are dropped.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vmstat.h"

static bool is_number(const char *word)
{
	size_t n = strspn(word, "0123456789");

	return n && !word[n];
}

/* "Node 0 MemFree:   12 kB" -> MemFree, 12; false for a line without both */
static bool parse_line(char *line, struct vmstat_item *item)
{
	char *word[8], *save = NULL, *w;
	int n = 0, at;
	size_t len;

	for (w = strtok_r(line, " \t", &save); w && n < 8; w = strtok_r(NULL, " \t", &save))
		word[n++] = w;
	if (w || n < 2)
		return false;
	at = n - 1;
	if (!is_number(word[at]) && !strcmp(word[at], "kB"))
		at--;
	if (at < 1 || !is_number(word[at]))
		return false;
	len = strlen(word[at - 1]);
	if (len && word[at - 1][len - 1] == ':')
		word[at - 1][--len] = 0;
	if (!len || len >= sizeof(item->name))
		return false;
	memcpy(item->name, word[at - 1], len + 1);
	errno = 0;
	item->value = strtoul(word[at], NULL, 10);
	return !errno;
}

/**
 * vmstat_parse() - take the counters out of a text
 * @text:	the whole file
 * @v:		filled
 *
 * Return: 0; -EINVAL for a line that is not a counter; -ENOSPC for more
 * counters than a snapshot holds.
 */
int vmstat_parse(const char *text, struct vmstat *v)
{
	v->nr = 0;
	while (*text) {
		size_t len = strcspn(text, "\n");
		char line[160];

		if (len >= sizeof(line))
			return -EINVAL;
		memcpy(line, text, len);
		line[len] = 0;
		text += len;
		if (*text)
			text++;
		if (!len)
			continue;
		if (v->nr == VMSTAT_MAX)
			return -ENOSPC;
		if (!parse_line(line, &v->items[v->nr]))
			return -EINVAL;
		v->nr++;
	}
	return 0;
}

/**
 * vmstat_read() - snapshot of a file of counters
 * @path:	"/proc/vmstat", "/proc/meminfo", ".../node0/numastat", ...
 * @v:		filled
 *
 * /proc/vmstat stays open, see zoneinfo_read().
 *
 * Return: 0 or a negative errno.
 */
int vmstat_read(const char *path, struct vmstat *v)
{
	static char buf[65536];
	static int vmstat_fd = -1;
	bool keep = !strcmp(path, "/proc/vmstat");
	size_t size = 0;
	ssize_t got;
	int fd = keep ? vmstat_fd : -1;

	v->nr = 0;
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (keep)
		vmstat_fd = fd;
	while ((got = pread(fd, buf + size, sizeof(buf) - 1 - size, size)) > 0)
		size += got;
	got = got < 0 ? -errno : 0;
	if (!keep)
		close(fd);
	if (got < 0)
		return got;
	buf[size] = 0;
	return vmstat_parse(buf, v);
}

static const struct vmstat_item *find(const struct vmstat *v, const char *name)
{
	int i;

	for (i = 0; i < v->nr; i++)
		if (!strcmp(v->items[i].name, name))
			return &v->items[i];
	return NULL;
}

/**
 * vmstat_has() - whether the kernel has a counter
 * @v:		snapshot
 * @name:	counter
 */
bool vmstat_has(const struct vmstat *v, const char *name)
{
	return find(v, name);
}

/**
 * vmstat_has_prefix() - whether the kernel has counters of a kind
 * @v:		snapshot
 * @prefix:	a counter's whole name, or its beginning where that ends in '_'
 */
bool vmstat_has_prefix(const struct vmstat *v, const char *prefix)
{
	size_t len = strlen(prefix);
	int i;

	if (!len || prefix[len - 1] != '_')
		return vmstat_has(v, prefix);
	for (i = 0; i < v->nr; i++)
		if (!strncmp(v->items[i].name, prefix, len))
			return true;
	return false;
}

/**
 * vmstat_option() - the kernel option that a counter of /proc/vmstat depends on
 * @name:	counter, or the beginning of one
 *
 * include/linux/vm_event_item.h and vmstat_text[] in mm/vmstat.c.
 *
 * Return: its name.
 */
const char *vmstat_option(const char *name)
{
	static const struct {
		const char *prefix, *option;
	} table[] = {
		{ "thp_", "CONFIG_TRANSPARENT_HUGEPAGE and CONFIG_VM_EVENT_COUNTERS" },
		{ "compact_", "CONFIG_COMPACTION and CONFIG_VM_EVENT_COUNTERS" },
		{ "numa_", "CONFIG_NUMA" },
		{ "pswp", "CONFIG_SWAP and CONFIG_VM_EVENT_COUNTERS" },
		{ "swap_ra", "CONFIG_SWAP and CONFIG_VM_EVENT_COUNTERS" },
		{ "zswp", "CONFIG_ZSWAP and CONFIG_VM_EVENT_COUNTERS" },
		{ "balloon_", "CONFIG_MEMORY_BALLOON and CONFIG_VM_EVENT_COUNTERS" },
		{ "htlb_", "CONFIG_HUGETLB_PAGE and CONFIG_VM_EVENT_COUNTERS" },
		{ "nr_", "a counter of its own" },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strncmp(name, table[i].prefix, strlen(table[i].prefix)))
			return table[i].option;
	return "CONFIG_VM_EVENT_COUNTERS";
}

/**
 * vmstat_get() - a counter
 * @v:		snapshot
 * @name:	counter
 *
 * Return: its value; 0 where there is none, see vmstat_has().
 */
unsigned long vmstat_get(const struct vmstat *v, const char *name)
{
	const struct vmstat_item *item = find(v, name);

	return item ? item->value : 0;
}

/**
 * vmstat_sum() - all counters whose names begin alike
 * @v:		snapshot
 * @prefix:	"pgsteal_" would also count pgsteal_anon beside pgsteal_kswapd
 *
 * Return: their sum.
 */
unsigned long vmstat_sum(const struct vmstat *v, const char *prefix)
{
	size_t len = strlen(prefix);
	unsigned long sum = 0;
	int i;

	for (i = 0; i < v->nr; i++)
		if (!strncmp(v->items[i].name, prefix, len))
			sum += v->items[i].value;
	return sum;
}

/**
 * vmstat_delta() - how far a counter went
 * @a:		earlier snapshot
 * @b:		later snapshot
 * @name:	counter
 *
 * Return: the difference, 0 where there is no such counter.
 */
long vmstat_delta(const struct vmstat *a, const struct vmstat *b, const char *name)
{
	return (long)(vmstat_get(b, name) - vmstat_get(a, name));
}

/**
 * vmstat_now() - one counter of /proc/vmstat
 * @name:	counter
 *
 * Return: its value, 0 where there is none.
 */
unsigned long vmstat_now(const char *name)
{
	static struct vmstat v;

	return vmstat_read("/proc/vmstat", &v) ? 0 : vmstat_get(&v, name);
}

/**
 * vmstat_alloc() - pages ever allocated from zones of a name
 * @v:		snapshot of /proc/vmstat
 * @zone:	"DMA32"; the counter is pgalloc_dma32, summed over the nodes
 *
 * Return: pages.
 */
unsigned long vmstat_alloc(const struct vmstat *v, const char *zone)
{
	char name[40];
	int n = snprintf(name, sizeof(name), "pgalloc_");

	while (*zone && n < (int)sizeof(name) - 1)
		name[n++] = tolower((unsigned char)*zone++);
	name[n] = 0;
	return vmstat_get(v, name);
}
