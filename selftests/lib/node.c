// SPDX-License-Identifier: GPL-2.0-only
/*
 * NUMA nodes, memory policies and memory blocks, by sysfs and plain system
 * calls: no libnuma is asked for on the kernel under test.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node.h"

#ifndef MPOL_MF_MOVE
#define MPOL_MF_MOVE	2		/* include/uapi/linux/mempolicy.h */
#endif

#define NODE_DIR	"/sys/devices/system/node"
#define MEMORY_DIR	"/sys/devices/system/memory"
#define LONG_BITS	(8 * (int)sizeof(unsigned long))

/* First line of a small file; its length or a negative errno */
static int read_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return strlen(buf);
}

/**
 * node_list_parse() - a list such as "0-1,3"; an empty one is the empty set
 * @text:	list, a newline may end it
 * @set:	filled
 *
 * Return: 0, -EINVAL for anything else, -ERANGE beyond NODE_SET_MAX.
 */
int node_list_parse(const char *text, struct node_set *set)
{
	memset(set, 0, sizeof(*set));
	while (*text == ' ')
		text++;
	if (!*text || *text == '\n')
		return 0;
	for (;;) {
		unsigned long from, to;
		char *stop;

		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		from = strtoul(text, &stop, 10);
		to = from;
		if (*stop == '-') {
			text = stop + 1;
			if (!isdigit((unsigned char)*text))
				return -EINVAL;
			to = strtoul(text, &stop, 10);
		}
		if (to < from)
			return -EINVAL;
		if (to >= NODE_SET_MAX)
			return -ERANGE;
		for (; from <= to; from++)
			node_set_add(set, from);
		text = stop;
		if (!*text || *text == '\n')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

/**
 * node_list_read() - a file that holds such a list
 * @path:	file
 * @set:	filled
 *
 * Return: 0 or a negative errno.
 */
int node_list_read(const char *path, struct node_set *set)
{
	char buf[1024];
	int n = read_line(path, buf, sizeof(buf));

	memset(set, 0, sizeof(*set));
	return n < 0 ? n : node_list_parse(buf, set);
}

/**
 * node_state() - the nodes in a state
 * @state:	"online", "possible", "has_memory", "has_normal_memory", "has_cpu"
 * @set:	filled; node 0 alone where the kernel has no node directory, but
 *		for states that it does not know
 *
 * Return: 0 or a negative errno.
 */
int node_state(const char *state, struct node_set *set)
{
	char path[96];

	if (access(NODE_DIR, F_OK)) {
		*set = node_set_of(0);
		return 0;
	}
	snprintf(path, sizeof(path), NODE_DIR "/%s", state);
	return node_list_read(path, set);
}

/**
 * node_cpus() - the CPUs of a node
 * @node:	node id
 * @cpus:	filled
 *
 * Return: 0 or a negative errno, -ENOENT for an offline node.
 */
int node_cpus(int node, struct node_set *cpus)
{
	char path[96];

	snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", node);
	return node_list_read(path, cpus);
}

/**
 * node_set_has() - whether a number is in a set
 * @set:	set
 * @n:		number
 */
bool node_set_has(const struct node_set *set, int n)
{
	if (n < 0 || n >= NODE_SET_MAX)
		return false;
	return set->bits[n / LONG_BITS] >> (n % LONG_BITS) & 1;
}

/**
 * node_set_add() - put a number into a set
 * @set:	set
 * @n:		number, passed over where it is out of range
 */
void node_set_add(struct node_set *set, int n)
{
	if (n >= 0 && n < NODE_SET_MAX)
		set->bits[n / LONG_BITS] |= 1UL << (n % LONG_BITS);
}

/**
 * node_set_count() - how many numbers a set holds
 * @set:	set
 */
int node_set_count(const struct node_set *set)
{
	int i, n = 0;

	for (i = 0; i < NODE_SET_MAX; i++)
		n += node_set_has(set, i);
	return n;
}

/**
 * node_set_next() - walk over a set
 * @set:	set
 * @after:	the number before, -1 to begin
 *
 * Return: the next number, -1 at the end.
 */
int node_set_next(const struct node_set *set, int after)
{
	int i;

	for (i = after + 1; i < NODE_SET_MAX; i++)
		if (node_set_has(set, i))
			return i;
	return -1;
}

/**
 * node_set_of() - the set of one number
 * @n:	number
 */
struct node_set node_set_of(int n)
{
	struct node_set set = { { 0 } };

	node_set_add(&set, n);
	return set;
}

/**
 * node_set_text() - a set as the kernel would list it
 * @set:	set
 * @buf:	where to
 * @size:	its size; a longer list is cut
 *
 * Return: @buf, "none" for the empty set.
 */
const char *node_set_text(const struct node_set *set, char *buf, size_t size)
{
	size_t used = 0;
	int n = node_set_next(set, -1);

	snprintf(buf, size, "none");
	while (n >= 0 && used < size) {
		int last = n;

		while (node_set_has(set, last + 1))
			last++;
		if (last > n)
			used += snprintf(buf + used, size - used, "%s%d-%d", used ? "," : "", n,
					 last);
		else
			used += snprintf(buf + used, size - used, "%s%d", used ? "," : "", n);
		n = node_set_next(set, last);
	}
	return buf;
}

/**
 * node_distances() - the distances from a node to the online nodes
 * @node:	node id
 * @distance:	filled, by node id; 0 for nodes that are not online
 * @max:	room in @distance
 *
 * Return: 0 or a negative errno, -ERANGE for node ids beyond @max.
 */
int node_distances(int node, int *distance, int max)
{
	struct node_set online;
	char path[96], buf[4096], *at = buf;
	int n, ret = node_state("online", &online);

	memset(distance, 0, sizeof(*distance) * max);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), NODE_DIR "/node%d/distance", node);
	ret = read_line(path, buf, sizeof(buf));
	if (ret < 0)
		return ret;
	for (n = node_set_next(&online, -1); n >= 0; n = node_set_next(&online, n)) {
		if (n >= max)
			return -ERANGE;
		distance[n] = strtol(at, &at, 10);
	}
	return 0;
}

/**
 * node_run_on_cpu() - run the caller on one CPU only
 * @cpu:	CPU
 *
 * Return: 0 or a negative errno.
 */
int node_run_on_cpu(int cpu)
{
	struct node_set one = node_set_of(cpu);

	return syscall(SYS_sched_setaffinity, 0, sizeof(one), one.bits) < 0 ? -errno : 0;
}

/**
 * node_run_on() - run the caller on the CPUs of a node
 * @node:	node id
 *
 * Return: 0 or a negative errno, -ENODEV for a node without CPUs.
 */
int node_run_on(int node)
{
	struct node_set cpus;
	int ret = node_cpus(node, &cpus);

	if (ret)
		return ret;
	if (!node_set_count(&cpus))
		return -ENODEV;
	return syscall(SYS_sched_setaffinity, 0, sizeof(cpus), cpus.bits) < 0 ? -errno : 0;
}

/**
 * node_set_policy() - set_mempolicy(2)
 * @policy:	policy
 * @nodes:	its nodes, NULL for none
 *
 * Return: 0 or a negative errno.
 */
int node_set_policy(enum node_policy policy, const struct node_set *nodes)
{
	return syscall(SYS_set_mempolicy, policy, nodes ? nodes->bits : NULL,
		       nodes ? NODE_SET_MAX : 0) < 0 ? -errno : 0;
}

/**
 * node_bind_range() - mbind(2), for pages not faulted in yet
 * @at:		first byte, page aligned
 * @len:	bytes
 * @policy:	policy
 * @nodes:	its nodes, NULL for none
 *
 * Return: 0 or a negative errno.
 */
int node_bind_range(void *at, size_t len, enum node_policy policy, const struct node_set *nodes)
{
	return syscall(SYS_mbind, at, len, policy, nodes ? nodes->bits : NULL,
		       nodes ? NODE_SET_MAX : 0, 0) < 0 ? -errno : 0;
}

/**
 * node_get_policy() - the caller's policy
 * @policy:	filled
 * @nodes:	filled
 *
 * Return: 0 or a negative errno.
 */
int node_get_policy(int *policy, struct node_set *nodes)
{
	memset(nodes, 0, sizeof(*nodes));
	return syscall(SYS_get_mempolicy, policy, nodes->bits, NODE_SET_MAX, NULL, 0) < 0 ?
	       -errno : 0;
}

/**
 * node_of_pages() - where pages of the caller are
 * @at:		first page
 * @nr_pages:	how many
 * @nodes:	filled: node id, or a negative errno for a page that is not there
 *
 * Return: 0 or a negative errno.
 */
int node_of_pages(void *at, size_t nr_pages, int *nodes)
{
	long page = sysconf(_SC_PAGESIZE);
	void **pages = calloc(nr_pages, sizeof(*pages));
	size_t i;
	long ret;

	if (!pages)
		return -ENOMEM;
	for (i = 0; i < nr_pages; i++)
		pages[i] = (char *)at + i * page;
	ret = syscall(SYS_move_pages, 0, nr_pages, pages, NULL, nodes, 0);
	if (ret < 0)
		ret = -errno;
	free(pages);
	return ret < 0 ? ret : 0;
}

/**
 * node_move_pages() - move pages of the caller to a node
 * @at:		first page
 * @nr_pages:	how many
 * @node:	where to
 *
 * Return: how many are there now by the kernel's word, or a negative errno.
 */
long node_move_pages(void *at, size_t nr_pages, int node)
{
	long page = sysconf(_SC_PAGESIZE);
	void **pages = calloc(nr_pages, sizeof(*pages));
	int *nodes = calloc(nr_pages, sizeof(*nodes));
	int *status = calloc(nr_pages, sizeof(*status));
	long ret = -ENOMEM, said = 0;
	size_t i;

	if (pages && nodes && status) {
		for (i = 0; i < nr_pages; i++) {
			pages[i] = (char *)at + i * page;
			nodes[i] = node;
			status[i] = -1;
		}
		/* what it does not get to has no status */
		ret = syscall(SYS_move_pages, 0, nr_pages, pages, nodes, status, MPOL_MF_MOVE);
		if (ret < 0 && errno != ENOMEM)
			ret = -errno;
		else
			ret = 0;
		for (i = 0; !ret && i < nr_pages; i++)
			said += status[i] == node;
	}
	free(pages);
	free(nodes);
	free(status);
	return ret ?: said;
}

/**
 * mem_block_bytes() - size of a memory block
 *
 * Return: bytes, -ENOENT where the kernel has no memory hot-plug.
 */
long mem_block_bytes(void)
{
	char buf[32];
	int n = read_line(MEMORY_DIR "/block_size_bytes", buf, sizeof(buf));

	return n < 0 ? n : (long)strtoul(buf, NULL, 16);
}

/* nodeN links inside the block's directory say whose it is */
static int block_node(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int node = -1;

	while (d && (e = readdir(d))) {
		char extra;
		int n;

		if (sscanf(e->d_name, "node%d%c", &n, &extra) == 1)
			node = n;
	}
	if (d)
		closedir(d);
	return node;
}

/**
 * mem_block_read() - state of a memory block
 * @id:		N of memoryN
 * @block:	filled
 *
 * Return: 0 or a negative errno, -ENOENT where there is no such block.
 */
int mem_block_read(int id, struct mem_block *block)
{
	char dir[96], path[128], buf[64];
	int n;

	memset(block, 0, sizeof(*block));
	block->id = id;
	snprintf(dir, sizeof(dir), MEMORY_DIR "/memory%d", id);
	snprintf(path, sizeof(path), "%s/state", dir);
	n = read_line(path, buf, sizeof(buf));
	if (n < 0)
		return n;
	block->online = !strcmp(buf, "online");
	block->node = block_node(dir);
	/*
	 * A block that is just coming has no node yet, and asking for its zones then goes
	 * through NODE_DATA(NUMA_NO_NODE): valid_zones_show() of 6.12 died of that here.
	 */
	if (block->node < 0 && !block->online && !access(NODE_DIR, F_OK))
		return 0;
	snprintf(path, sizeof(path), "%s/valid_zones", dir);
	if (read_line(path, block->valid, sizeof(block->valid)) > 0) {
		n = strcspn(block->valid, " ");
		if (n < (int)sizeof(block->zone)) {
			memcpy(block->zone, block->valid, n);
			block->zone[n] = 0;
		}
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return ((const struct mem_block *)a)->id - ((const struct mem_block *)b)->id;
}

/**
 * mem_blocks() - all memory blocks, in order of their numbers
 * @blocks:	an array for the caller to free
 *
 * Return: how many, or a negative errno.
 */
int mem_blocks(struct mem_block **blocks)
{
	DIR *d = opendir(MEMORY_DIR);
	struct dirent *e;
	int nr = 0;

	*blocks = NULL;
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		struct mem_block *more;
		char extra;
		int id;

		if (sscanf(e->d_name, "memory%d%c", &id, &extra) != 1)
			continue;
		more = reallocarray(*blocks, nr + 1, sizeof(**blocks));
		if (!more)
			break;
		*blocks = more;
		if (!mem_block_read(id, &more[nr]))
			nr++;
	}
	closedir(d);
	if (nr)
		qsort(*blocks, nr, sizeof(**blocks), by_id);
	return nr;
}

/**
 * mem_block_set() - change the state of a memory block
 * @id:		N of memoryN
 * @state:	"offline", "online", "online_kernel", "online_movable"
 *
 * Return: 0 or a negative errno (-EBUSY: pages that cannot move; -EINVAL: not
 * into that zone).
 */
int mem_block_set(int id, const char *state)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), MEMORY_DIR "/memory%d/state", id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, state, strlen(state));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : 0;
}
