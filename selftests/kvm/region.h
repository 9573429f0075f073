/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A region of memory of this process: the test decides its backing, its place and its
 * node.  It may be a guest's memory as well (guest.h).
 */
#ifndef MMGATE_REGION_H
#define MMGATE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "compiler.h"

/* From 5.4 and 6.1 on: older headers do not have them (asm-generic/mman-common.h) */
#ifndef MADV_COLD
#define MADV_COLD	20
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* Memory that one PMD entry maps */
#ifdef __x86_64__
#define HUGE_SIZE	(2UL << 20)
#else
#define HUGE_SIZE	region_huge_size()
#endif

size_t region_huge_size(void);

/* What a region of memory is made of */
enum backing {
	BACK_ANON,	/* private anonymous, base pages only */
	BACK_THP,	/* private anonymous, huge pages asked for */
	BACK_SHMEM,	/* shared anonymous, base pages */
	BACK_FILE,	/* a shared mapping of a file on the data disk */
	BACK_HUGETLB,	/* private hugetlb */
};

/**
 * struct region - memory of an experiment
 * @mem:	where it is mapped in this process
 * @pages:	its size in base pages
 * @page_size:	size of a base page
 * @unit:	base pages that are mapped, aged and evicted together: 1, or those of a
 *		huge page
 * @units:	@pages / @unit
 * @backing:	what it is made of
 * @present:	result of region_read(), a byte for each unit
 * @fd:		file of BACK_FILE, else -1
 * @nid:	node that it is bound to on a machine with several, else -1
 */
struct region {
	char *mem;
	size_t pages;
	size_t page_size;
	size_t unit;
	size_t units;
	enum backing backing;
	u8 *present;
	int fd;
	int nid;
	u8 *scratch;
};

/*
 * Map a region of @bytes, not yet touched.  @offset_pages shifts its start from the
 * 2M boundary.  Skips where the backing cannot be had.
 */
void region_create(struct region *r, enum backing kind, size_t bytes, size_t offset_pages);
void region_destroy(struct region *r);

/* The node with the most free memory, -1 on a machine with only one */
int region_node(void);
/* Bind a mapping to a node; broken where that is refused */
void region_bind(void *mem, size_t bytes, int nid);

/* Fill r->present for all units (a unit is present if its first page is); returns how many */
size_t region_read(struct region *r);

/* Broken unless all units are in memory and, for BACK_THP, mapped by huge entries */
void region_check_resident(struct region *r);

/*
 * Touch the units of @list through this process's own page tables, by a read or a
 * write of one byte each.  The TLB is flushed first: an entry that is still in it
 * would be used without setting the accessed bit again.
 */
void region_touch(struct region *r, const u32 *list, size_t n, bool write);

/*
 * The guest's pattern (see guest_pattern()) by this process's own page tables: write it,
 * or count the words that differ, @first_bad being the unit of the first of them.
 */
void region_fill(struct region *r, const u32 *list, size_t n, u64 key);
u64 region_check(const struct region *r, const u32 *list, size_t n, u64 key, u64 *first_bad);

/* Flush this process's TLB: an entry that is still in it hides the next touch */
void flush_own_tlb(void);

/* One access of a word, not optimized away; for guest code, too */
#define TOUCH_READ(p)		((void)__atomic_load_n((u64 *)(p), __ATOMIC_RELAXED))
#define TOUCH_WRITE(p, v)	__atomic_store_n((u64 *)(p), (v), __ATOMIC_RELAXED)

/* Word @word of unit @unit in the pattern of @key */
static inline u64 region_pattern(u64 key, u64 unit, u64 word)
{
	return (key + unit * 0x9e3779b97f4a7c15ULL) ^ (word * 0xbf58476d1ce4e5b9ULL);
}

#endif /* MMGATE_REGION_H */
