/* SPDX-License-Identifier: GPL-2.0-only */
/* NUMA nodes as sysfs shows them, memory policies, and memory blocks */
#ifndef MMGATE_NODE_H
#define MMGATE_NODE_H

#include <stdbool.h>
#include <stddef.h>

/* Nodes and CPUs beyond this are left out: MAX_NUMNODES and more */
#define NODE_SET_MAX	1024
#define NODE_SET_LONGS	(NODE_SET_MAX / (8 * sizeof(unsigned long)))

/* A set of node or CPU numbers, laid out as the policy system calls want it */
struct node_set {
	unsigned long bits[NODE_SET_LONGS];
};

/* Policies of set_mempolicy(2), named apart from a libc's numaif.h */
enum node_policy {
	NODE_DEFAULT = 0,
	NODE_PREFERRED = 1,
	NODE_BIND = 2,
	NODE_INTERLEAVE = 3,
	NODE_LOCAL = 4,
	NODE_PREFERRED_MANY = 5,
};

int node_list_parse(const char *text, struct node_set *set);
int node_list_read(const char *path, struct node_set *set);
int node_state(const char *state, struct node_set *set);
int node_cpus(int node, struct node_set *cpus);

bool node_set_has(const struct node_set *set, int n);
void node_set_add(struct node_set *set, int n);
int node_set_count(const struct node_set *set);
int node_set_next(const struct node_set *set, int after);
struct node_set node_set_of(int n);
const char *node_set_text(const struct node_set *set, char *buf, size_t size);

int node_distances(int node, int *distance, int max);
int node_run_on_cpu(int cpu);
int node_run_on(int node);

int node_set_policy(enum node_policy policy, const struct node_set *nodes);
int node_bind_range(void *at, size_t len, enum node_policy policy, const struct node_set *nodes);
int node_get_policy(int *policy, struct node_set *nodes);
int node_of_pages(void *at, size_t nr_pages, int *nodes);
long node_move_pages(void *at, size_t nr_pages, int node);

/**
 * struct mem_block - a directory memoryN of /sys/devices/system/memory
 * @id:		N
 * @node:	its node, -1 where the kernel does not say
 * @online:	state is "online"
 * @zone:	first of valid_zones: where it is, or would go by default
 * @valid:	the whole of valid_zones
 */
struct mem_block {
	int id;
	int node;
	bool online;
	char zone[16];
	char valid[48];
};

long mem_block_bytes(void);
int mem_blocks(struct mem_block **blocks);
int mem_block_read(int id, struct mem_block *block);
int mem_block_set(int id, const char *state);

#endif /* MMGATE_NODE_H */
