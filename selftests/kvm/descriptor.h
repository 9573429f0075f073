/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that are read and written through a descriptor: no page table says so, but
 * folio_mark_accessed() counts it, and tiers are made of that
 */
#ifndef MMGATE_DESCRIPTOR_H
#define MMGATE_DESCRIPTOR_H

#include "region.h"

/* A region that is a memfd, mapped only for region_read() to look at it */
void descriptor_memfd(struct region *r, size_t bytes);

/* Read a byte of each page @times times, or only of those with @label[i] == @which */
void descriptor_read(const struct region *r, const u8 *label, int which, int times);

/* Write a word of each page */
void descriptor_write(const struct region *r);

#endif /* MMGATE_DESCRIPTOR_H */
