/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MGLRU's debugfs files: lru_gen (short form) and lru_gen_full (with tiers and
 * walk counters).  Kernel source of the formats: lru_gen_seq_show() and
 * lru_gen_seq_show_full() in mm/vmscan.c.
 */
#ifndef MMGATE_LRU_GEN_H
#define MMGATE_LRU_GEN_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

#define LRU_GEN_DIR		"/sys/kernel/debug/"
#define LRU_GEN_ENABLED		"/sys/kernel/mm/lru_gen/enabled"
#define LRU_GEN_MIN_TTL		"/sys/kernel/mm/lru_gen/min_ttl_ms"

/* bits of lru_gen/enabled: LRU_GEN_CORE, LRU_GEN_MM_WALK, LRU_GEN_NONLEAF_YOUNG */
#define LRU_GEN_CORE_BIT	0x1
#define LRU_GEN_WALK_BIT	0x2
#define LRU_GEN_NONLEAF_BIT	0x4

#define LRU_GEN_MAX_GENS	4
#define LRU_GEN_MAX_TIERS	4
#define LRU_GEN_MAX_STATS	6
#define LRU_GEN_MAX_NODES	16

enum { LRU_GEN_ANON, LRU_GEN_FILE };

/* Walk counters, by name whatever the form of the row */
enum lru_gen_counter {
	WALK_TOTAL,	/* T, L: leaf entries looked at */
	WALK_OLD,	/* O: old ones, only before the series */
	WALK_YOUNG,	/* Y: young ones */
	WALK_NONLEAF,	/* N: non-leaf entries, only before the series */
	WALK_FOUND,	/* F: found in the Bloom filter */
	WALK_ADDED,	/* A: added to it */
	WALK_COUNTERS
};

/**
 * struct lru_gen_tier - a tier row of one generation, [anon, file]
 * @n:		the three numbers: refaulted, evicted, protected (r e p), or
 *		their averages (R T x) in the youngest generation
 * @mark:	the letters after them
 */
struct lru_gen_tier {
	u64 n[2][3];
	char mark[2][4];
};

/**
 * struct lru_gen_gen - one generation
 * @seq:	its sequence number
 * @age_ms:	age in milliseconds
 * @pages:	pages of [anon, file]
 * @stale:	marked 'x': older than min_seq of that type
 * @nr_tiers:	tier rows, 0 in the short form
 * @tier:	the rows
 * @nr_stats:	walk counters in the row after them: 6 (before the series), 4, or
 *		0 in the short form and where the kernel has no page-table walk
 * @stat:	the counters in the order of the row
 * @stat_mark:	their letters, such as "TYFA" or "      "
 */
struct lru_gen_gen {
	u64 seq;
	u64 age_ms;
	u64 pages[2];
	bool stale[2];
	unsigned int nr_tiers;
	struct lru_gen_tier tier[LRU_GEN_MAX_TIERS];
	unsigned int nr_stats;
	u64 stat[LRU_GEN_MAX_STATS];
	char stat_mark[LRU_GEN_MAX_STATS + 1];
};

/* A node of a memcg; generations from the oldest to the youngest (max_seq) */
struct lru_gen_node {
	int nid;
	unsigned int nr_gens;
	struct lru_gen_gen gen[LRU_GEN_MAX_GENS];
};

/**
 * struct lru_gen_memcg - a memcg of the file
 * @id:		the number that commands name it by (64 bits from 6.18 on)
 * @full:	long form
 * @nr_nodes:	nodes
 * @node:	what is printed of each
 */
struct lru_gen_memcg {
	u64 id;
	bool full;
	unsigned int nr_nodes;
	struct lru_gen_node node[LRU_GEN_MAX_NODES];
};

/* Where and why a text could not be parsed */
struct lru_gen_error {
	unsigned int line;
	char what[160];
};

/*
 * Find the memcg of @path ("/" for the root; or, where @path is NULL, the one
 * of @id) in @text, the content of either file, and parse it into @memcg.
 * Both forms are taken, whichever file they came from.
 * Returns 0, -ENOENT where it is not listed, -EINVAL with @err filled in
 * where any line of the text does not fit the format.
 */
int lru_gen_parse(const char *text, const char *path, u64 id, struct lru_gen_memcg *memcg,
		  struct lru_gen_error *err);

/*
 * Read one of the files (short or @full) and parse the memcg of cgroup @path.
 * Does not return on error: skip where the kernel has no such file or debugfs is
 * shut, broken, naming the line, where it cannot be parsed.
 */
void lru_gen_read(bool full, const char *path, struct lru_gen_memcg *memcg);

/* The node @nid of @memcg, or NULL */
const struct lru_gen_node *lru_gen_node(const struct lru_gen_memcg *memcg, int nid);
/* Its youngest and oldest generation's numbers */
u64 lru_gen_max_seq(const struct lru_gen_node *node);
u64 lru_gen_min_seq(const struct lru_gen_node *node);
/* Pages of @type in generation @seq, 0 where it is not there (or is stale) */
u64 lru_gen_pages(const struct lru_gen_node *node, u64 seq, int type);
/* Walk counter (cumulative where LRU_GEN_STATS=n); -1 where it is not shown */
long long lru_gen_counter(const struct lru_gen_node *node, enum lru_gen_counter which);

/*
 * "+ ID NODE SEQ SWAPPINESS FORCE": age @nid of the memcg.  @seq is the
 * current max_seq, @swappiness 0 leaves anonymous memory alone, without @force the
 * Bloom filter decides where to look.  Returns 0 or -errno: -EINVAL (no such memcg,
 * node or generation), -ERANGE (up to 6.12: four generations are there already and
 * not @force), -EEXIST (from 6.14 on: nothing was done).
 */
int lru_gen_age(u64 id, int nid, u64 seq, int swappiness, bool force);

/*
 * "- ID NODE SEQ SWAPPINESS NR": evict up to @nr pages from generations up to
 * @seq, which must be at most max_seq - 2.  Returns 0 or -errno.  The kernel goes on
 * until no type that it may take has a generation up to @seq (evictable_min_seq() of
 * mm/vmscan.c from 6.15 on): some old page cache in the group would have it take anonymous
 * generations beyond @seq, unless it is told LRU_GEN_ANON_ONLY, "max" there.
 */
#define LRU_GEN_ANON_ONLY	201
int lru_gen_evict(u64 id, int nid, u64 seq, int swappiness, u64 nr);

/* Any text as a command.  Returns 0 or -errno; the case fails where a part of it is taken. */
int lru_gen_command(const char *text);

/* Bits of lru_gen/enabled, or -errno (-ENOENT: a kernel without MGLRU) */
int lru_gen_enabled(void);

#endif /* MMGATE_LRU_GEN_H */
