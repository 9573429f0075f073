/* SPDX-License-Identifier: GPL-2.0-only */
/* What the zone and node tests share */
#ifndef MMGATE_MM_UTIL_H
#define MMGATE_MM_UTIL_H

#include <stdbool.h>
#include <stddef.h>

#include "node.h"
#include "rules.h"
#include "runner.h"
#include "vmstat.h"
#include "zoneinfo.h"

#define MIB		(1024UL * 1024)
#define MM_BOOT_DIR	"/run/mmgate/boot/"	/* kept by PID 1 of the test VM */
#define MAX_NODES	64

/* How the rows of a kernel differ from the formula */
struct mm_rows {
	unsigned int rows, cells, wrong, decreasing;
	char first[160];	/* the first difference, in words */
};

void mm_zoneinfo(struct zoneinfo *zi);
int mm_ratio(long *ratio);
int mm_fresh_ratio(long *ratio);
void mm_write_ratios(const long *ratio, int n);
void mm_write_ratio(long value);
bool mm_ratio_checked(void);
bool mm_rule(enum mmg_rule rule);
void mm_refresh(void);
long mm_freed_late(void);
void mm_usual_reclaim(void);
bool mm_node_has_room(int node, unsigned long pages);
void mm_shrink_slabs(void);
void mm_vmstat(struct vmstat *v);
void mm_need_counters(const char *const *names);
void mm_need_events(void);
void mm_need_numa_stat(void);
void mm_compare_rows(const struct zoneinfo *zi, const long *ratio, struct mm_rows *rows);
void mm_protection_artifact(const struct zoneinfo *zi, const long *ratio);
void mm_info_rows(const struct zoneinfo *zi);
unsigned int mm_compare_marks(const struct zoneinfo *zi, unsigned long min_free,
			      unsigned long scale, unsigned long off_by, char *first, size_t size);
void mm_kswapd_nodes(struct node_set *nodes);
char *mm_map(size_t bytes);
void mm_touch(char *at, size_t bytes, long *count);
unsigned long mm_number(const char *path);
unsigned long mm_page_size(void);

#endif /* MMGATE_MM_UTIL_H */
