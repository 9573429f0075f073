/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exact text of MGLRU's debugfs files, down to the column.  lru_gen_parse() takes
 * what it can understand; this says whether the text is what the kernel documents.
 * Kernel source of the formats: lru_gen_seq_show() and lru_gen_seq_show_full() in
 * mm/vmscan.c.
 */
#ifndef MMGATE_LRU_GEN_FORMAT_H
#define MMGATE_LRU_GEN_FORMAT_H

#include "lru_gen.h"

/**
 * struct lru_gen_format - what a well-formed text has
 * @memcgs:	groups listed
 * @nodes:	nodes of all groups
 * @gens:	generation rows
 * @tiers:	tier rows, 0 in the short form
 * @columns:	walk counters in a row: 4, 6 before the companion patch, 0 where none
 * @walk:	their letters in the row that has any, such as "TYFA"
 * @tier:	letters of the youngest generation's tier rows: "RTx", "RT " before it
 */
struct lru_gen_format {
	unsigned int memcgs;
	unsigned int nodes;
	unsigned int gens;
	unsigned int tiers;
	unsigned int columns;
	char walk[LRU_GEN_MAX_STATS + 1];
	char tier[4];
};

/*
 * Check @text against the short form of lru_gen or (@full) the long form of
 * lru_gen_full.  Both sets of columns, before and after the companion patch, are taken,
 * but not a mixture.  Returns 0, or -EINVAL with @err filled in.
 */
int lru_gen_check_format(const char *text, bool full, struct lru_gen_format *f,
			 struct lru_gen_error *err);

#endif /* MMGATE_LRU_GEN_FORMAT_H */
