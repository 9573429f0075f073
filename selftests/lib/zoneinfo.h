/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/zoneinfo as a table, and the kernel's formula for what a zone keeps
 * back from allocations that could have been served higher up.
 */
#ifndef MMGATE_ZONEINFO_H
#define MMGATE_ZONEINFO_H

#include <stdbool.h>
#include <stddef.h>

/* MAX_NR_ZONES is at most 6 (DMA, DMA32, Normal, HighMem, Movable, Device) */
#define ZI_MAX_ZONES	8
#define ZI_MAX_STATS	128
#define ZI_NAME_LEN	40

/**
 * struct zi_stat - a counter of a zone or a node, in pages unless its name
 *		    says otherwise
 */
struct zi_stat {
	char name[ZI_NAME_LEN];
	unsigned long value;
};

/**
 * struct zi_zone - one "Node N, zone NAME" paragraph; numbers in pages
 * @node:	node id
 * @index:	position in its node, which is the kernel's enum zone_type
 * @name:	"DMA", "Normal", ...
 * @populated:	has present pages, so the kernel prints its counters
 * @free:	"pages free" (NR_FREE_PAGES; per-CPU lists not included)
 * @boost:	temporary addition to every watermark
 * @min:	watermark; likewise @low, @high, @promo
 * @promo:	0 where the kernel does not print it (before 6.11)
 * @spanned:	first to last page, holes included
 * @present:	spanned less the holes
 * @managed:	present less what boot kept
 * @cma:	in contiguous-allocation areas
 * @protection:	lowmem_reserve[], one column a zone of the node
 * @nr_protection: how many columns
 * @unreclaimable: kswapd gave up on the node (node_unreclaimable)
 * @start_pfn:	first page frame; 0 for an unpopulated zone
 * @nr_cpus:	per-CPU page sets printed
 * @pcp_count:	pages in all per-CPU lists together: not in @free
 * @pcp_high:	sum of the per-CPU limits
 * @pcp_batch:	largest per-CPU batch
 * @threshold:	largest "vm stats threshold": what one CPU may hold back of a
 *		counter
 * @stats:	the other counters of the zone ("nr_...", "numa_...")
 */
struct zi_zone {
	int node;
	int index;
	char name[16];
	bool populated;
	bool unreclaimable;
	unsigned long free, boost, min, low, high, promo;
	unsigned long spanned, present, managed, cma;
	unsigned long protection[ZI_MAX_ZONES];
	int nr_protection;
	unsigned long start_pfn;
	int nr_cpus;
	unsigned long pcp_count, pcp_high, pcp_batch, threshold;
	struct zi_stat stats[ZI_MAX_STATS];
	int nr_stats;
};

/**
 * struct zi_node - the "per-node stats" of a node with populated zones
 */
struct zi_node {
	int node;
	struct zi_stat stats[ZI_MAX_STATS];
	int nr_stats;
};

struct zoneinfo {
	struct zi_zone *zones;
	size_t nr_zones;
	struct zi_node *nodes;
	size_t nr_nodes;
	int zones_per_node;
};

#define ZI_RATIO_PATH	"/proc/sys/vm/lowmem_reserve_ratio"

int zoneinfo_parse(const char *text, struct zoneinfo *zi, char *err, size_t errlen);
int zoneinfo_read(struct zoneinfo *zi, char *err, size_t errlen);
void zoneinfo_free(struct zoneinfo *zi);

const struct zi_zone *zoneinfo_zone(const struct zoneinfo *zi, int node, int index);
const struct zi_zone *zoneinfo_zone_named(const struct zoneinfo *zi, int node, const char *name);
bool zi_zone_stat(const struct zi_zone *z, const char *name, unsigned long *value);
bool zi_node_stat(const struct zoneinfo *zi, int node, const char *name, unsigned long *value);
unsigned long zi_zone_slack(const struct zi_zone *z);

int zi_ratio_parse(const char *text, long *ratio, int max);
int zi_ratio_read(long *ratio, int max);
unsigned long zi_protection(const struct zoneinfo *zi, int node, int i, int j, long ratio);

/**
 * enum zi_movable_rule - how the kernel computes the minimum of ZONE_MOVABLE
 * @ZI_MOVABLE_LOWMEM:	as any low zone, and counted in the total (up to 6.10)
 * @ZI_MOVABLE_CAPPED:	managed / 1024 clamped to 32..128 and left out of the
 *			total (later kernels)
 */
enum zi_movable_rule {
	ZI_MOVABLE_LOWMEM,
	ZI_MOVABLE_CAPPED,
};

struct zi_wmarks {
	unsigned long min, low, high, promo;
};

enum zi_movable_rule zi_movable_rule(const struct zoneinfo *zi);
void zi_watermarks(const struct zoneinfo *zi, const struct zi_zone *z, enum zi_movable_rule rule,
		   unsigned long min_free_kbytes, unsigned long scale_factor,
		   unsigned long page_kb, struct zi_wmarks *out);
unsigned long zi_totalreserve(const struct zoneinfo *zi);

#endif /* MMGATE_ZONEINFO_H */
