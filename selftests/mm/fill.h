/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways to use memory up, a little at a time */
#ifndef MMGATE_FILL_H
#define MMGATE_FILL_H

#include <stdbool.h>
#include <stddef.h>

enum fill_kind {
	FILL_ANON,		/* anonymous, base pages */
	FILL_THP,		/* anonymous, huge pages where the kernel gives them */
	FILL_SHMEM,		/* a memfd */
	FILL_FILE,		/* page cache of a sparse file on a real filesystem */
	FILL_BLKDEV,		/* page cache of a block device: aims at Normal */
	FILL_PIPE,		/* full pipes: unmovable, aims at Normal */
	FILL_SPLICE,		/* pipes filled by splice(): the same, by the bulk allocator */
};

/**
 * struct fill - something that grows
 * @kind:	what
 * @max:	how far it can grow, bytes
 * @used:	how far it has, bytes
 * @reads:	bytes read through it (FILL_FILE and FILL_BLKDEV)
 */
struct fill {
	enum fill_kind kind;
	size_t max, used, reads;
	char *at;
	int fd;
	int pipes[512];
	int nr_pipes;
	char path[256];
};

void fill_start(struct fill *f, enum fill_kind kind, size_t max);
size_t fill_more(struct fill *f, size_t bytes);
void fill_stop(struct fill *f);
const char *fill_data_dir(char *dev, size_t size);

unsigned long hog_huge_bytes(void);
size_t hog_start(int node, size_t bytes);
void hog_leave_huge(int node, unsigned int nr);
void hog_give_back(int node, size_t bytes);

#endif /* MMGATE_FILL_H */
