/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which pages of a region are in memory: read for the whole region at once,
 * never page by page.
 */
#ifndef MMGATE_RESIDENCY_H
#define MMGATE_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/* How absence shows */
enum residency_kind {
	/*
	 * Private anonymous memory: the page-table entry is no longer present
	 * (mincore would say "in memory" for a page in the swap cache).
	 */
	RESIDENCY_ANON,
	/*
	 * Shared memory and files: the entry is gone AND mincore says absent (an
	 * evicted shmem page leaves an empty entry, as an untouched one does).
	 */
	RESIDENCY_SHARED,
};

/*
 * Fill @present[i] with 1 or 0 for each of the @pages base pages from @addr in
 * the calling process.  PAGEMAP_SCAN (6.7 on) where the kernel has it, else
 * bulk reads of pagemap.  Returns the number of present ones; does not return where the kernel
 * refuses (broken, with what was tried).
 */
size_t residency_read(const void *addr, size_t pages, enum residency_kind kind, u8 *present);

/* The two ways by themselves, for the benchmark; 0 or -errno */
int residency_scan(const void *addr, size_t pages, u8 *present);
int residency_pagemap(const void *addr, size_t pages, u8 *present);

/*
 * Bytes of the mapping at @addr that are mapped by huge entries: AnonHugePages,
 * ShmemPmdMapped and FilePmdMapped of smaps.  The mapping must be one of its own.
 */
size_t residency_huge_bytes(const void *addr);

/*
 * Count how many of the @pages base pages lie on node @nid (move_pages() as a
 * question), looking at every @stride-th.  -errno where it cannot be asked (no CONFIG_NUMA).
 */
long residency_on_node(void *addr, size_t pages, size_t stride, int nid);

/* Swap, and what would make the experiments say something else */
u64 swap_free_bytes(void);
/*
 * Skip, with what to do, where less than @bytes of swap is free, where zswap keeps
 * evicted pages in memory, or where demotion moves them to another tier.
 */
void swap_require(u64 bytes);
/* Is a swap device in use that writes in the background, so not zram? */
bool swap_writes_later(void);

#endif /* MMGATE_RESIDENCY_H */
