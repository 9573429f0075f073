// SPDX-License-Identifier: GPL-2.0-only
/* Shapes that somebody makes while the guest runs: VMMs that migrate it, ksmd, a collapse */
#include "shape.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "khugepaged.h"
#include "residency.h"
#include "uffd.h"

#define MERGED		4	/* pages that KSM makes one of */

static struct uffd uffd;
static u8 *logged;

/* --- the dirty log ------------------------------------------------------------------------ */

static void attach_log(struct scenario *s)
{
	shape_one_slot(s, KVM_MEM_LOG_DIRTY_PAGES);
	logged = calloc(1, s->r.pages);
	if (!logged)
		mmg_broken("no memory for a log of %zu pages", s->r.pages);
}

/* What the fault-in wrote is not of interest */
static void start_log(struct scenario *s)
{
	if (!s->host)
		guest_dirty_log(&s->guest, logged);
}

/*
 * The log of the pages that were just written, fetched before they are aged: KVM protects
 * their entries against writes again, and must leave the accessed bits in them.
 */
static void fetch_log(struct scenario *s, const u32 *pages, size_t n)
{
	size_t dirty = guest_dirty_log(&s->guest, logged), i;

	for (i = 0; i < n; i++) {
		if (!logged[pages[i]])
			mmg_fail("%s: page %u was written and is not in the dirty log of %zu",
				 s->shape->about, pages[i], dirty);
	}
	if (dirty != n)
		mmg_fail("%s: the dirty log names %zu pages, %zu were written", s->shape->about,
			 dirty, n);
}

static void drop_log(struct scenario *s)
{
	(void)s;
	free(logged);
	logged = NULL;
}

/* --- userfaultfd --------------------------------------------------------------------------- */

static void fill_page(u64 *words, size_t page)
{
	words[0] = page;
}

/* Memory that is placed page by page as it is touched: post-copy */
static void map_missing(struct scenario *s)
{
	uffd_open(&uffd, s->r.mem, s->r.pages * s->r.page_size);
	uffd_serve_missing(&uffd, fill_page);
}

static void check_missing(struct scenario *s)
{
	if (uffd.missing < s->r.pages)
		mmg_broken("%zu of %zu pages were placed by the userfaultfd", uffd.missing,
			   s->r.pages);
}

/* A live snapshot: all of it is protected against writes, and only read from now on */
static void protect_all(struct scenario *s)
{
	uffd_open(&uffd, s->r.mem, s->r.pages * s->r.page_size);
	uffd_serve_writes(&uffd);
	uffd_protect(&uffd);
	shape_map_again(s);
}

/* A VMM that looks by itself which pages the guest works on */
static void watch_accesses(struct scenario *s)
{
	logged = calloc(1, s->r.pages);
	if (!logged)
		mmg_broken("no memory for marks of %zu pages", s->r.pages);
	uffd_open_accesses(&uffd, s->r.mem, s->r.pages * s->r.page_size);
	uffd_serve_accesses(&uffd, logged);
}

static void protect_accesses(struct scenario *s)
{
	memset(logged, 0, s->r.pages);
	uffd.accessed = 0;
	uffd_protect_accesses(&uffd);
}

static void check_accesses(struct scenario *s, const u32 *pages, size_t n)
{
	size_t i, all = 0, found = 0;

	for (i = 0; i < s->r.pages; i++)
		all += logged[i];
	for (i = 0; i < n; i++)
		found += logged[pages[i]];
	if (found != n || all != n)
		mmg_fail("%s: %zu of %zu pages that were touched were seen, %zu others",
			 s->shape->about, found, n, all - found);
}

static void close_accesses(struct scenario *s)
{
	(void)s;
	uffd_close(&uffd);
	free(logged);
	logged = NULL;
}

static void close_uffd(struct scenario *s)
{
	(void)s;
	uffd_close(&uffd);
}

/* --- advice ---------------------------------------------------------------------------------- */

/*
 * All of it goes to the oldest generation, but for what is touched from now on.  Once: from
 * 6.14 on a page is promoted when it is found young for the second time, and the advice
 * forgets the first (lru_gen_clear_refs()).
 */
static void advise_cold(struct scenario *s)
{
	if (madvise(s->r.mem, s->r.pages * s->r.page_size, MADV_COLD))
		mmg_broken("MADV_COLD: %s", strerror(errno));
	memcg_drain_lru();
}

/* --- collapsed and merged ------------------------------------------------------------------ */

static void fit_collapse(const struct shape *shape)
{
	(void)shape;
	khugepaged_require();
}

static void map_units_of_huge(struct scenario *s)
{
	struct region *r = &s->r;

	r->unit = HUGE_SIZE / r->page_size;
	r->units = r->pages / r->unit;
}

static void collapse_all(struct scenario *s)
{
	size_t bytes = s->r.pages * s->r.page_size, huge, i;

	if (madvise(s->r.mem, bytes, MADV_HUGEPAGE))
		mmg_broken("MADV_HUGEPAGE: %s", strerror(errno));
	/* labels are balanced along the order in which pages came to the lists */
	for (i = 0; i < s->r.units; i++) {
		if (madvise(s->r.mem + s->all[i] * HUGE_SIZE, HUGE_SIZE, MADV_COLLAPSE))
			mmg_skip("MADV_COLLAPSE (from 6.1 on): %s", strerror(errno));
	}
	huge = residency_huge_bytes(s->r.mem);
	if (huge != bytes)
		mmg_broken("%zu of %zu MiB are mapped by huge pages after MADV_COLLAPSE",
			   huge >> 20, bytes >> 20);
	shape_map_again(s);
	memcg_drain_lru();
}

static void fit_ksm(const struct shape *shape)
{
	(void)shape;
	ksm_require();
}

static void map_units_of_merged(struct scenario *s)
{
	s->r.unit = MERGED;
	s->r.units = s->r.pages / MERGED;
	if (madvise(s->r.mem, s->r.pages * s->r.page_size, MADV_MERGEABLE))
		mmg_skip("MADV_MERGEABLE: %s", strerror(errno));
}

/* Each unit is one page from now on, mapped so many times */
static void merge_all(struct scenario *s)
{
	size_t bytes = s->r.page_size, i, k;

	for (i = 0; i < s->r.units; i++) {
		char *first = s->r.mem + i * MERGED * bytes;

		for (k = 1; k < MERGED; k++)
			memcpy(first + k * bytes, first, bytes);
	}
	ksm_merge(s->r.mem, s->r.pages, MERGED);
	shape_map_again(s);
	memcg_drain_lru();
}

/* --- more than a walk takes in one go ------------------------------------------------------- */

/* Half of those below the border are more than MAX_LRU_BATCH, after which a walk pauses */
static void map_batch_edge(struct scenario *s)
{
	shape_move_to_edge(s, s->r.pages / 4 * 3);
}

/*
 * A walk takes huge pages in batches of MIN_LRU_BATCH and two: more than a batch of them,
 * and those that are left over are the last below the border.
 */
static void map_huge_row(struct scenario *s)
{
	shape_move_to_edge(s, s->r.pages);
}

const struct shape live_shapes[] = {
	{ .name = "logged", .about = "the dirty log fetched between touches and aging",
	  .backing = BACK_ANON, .guest_only = true, .write = true, .attach = attach_log,
	  .populated = start_log, .touched = fetch_log, .detach = drop_log },
	{ .name = "logged-thp", .about = "the dirty log of huge pages fetched before aging",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .write = true,
	  .attach = attach_log, .populated = start_log, .touched = fetch_log,
	  .detach = drop_log },
	{ .name = "uffd-missing", .about = "pages placed by a userfaultfd", .backing = BACK_ANON,
	  .map = map_missing, .populated = check_missing, .detach = close_uffd },
	{ .name = "uffd-wp", .about = "pages protected by a userfaultfd", .backing = BACK_ANON,
	  .populated = protect_all, .detach = close_uffd },
	{ .name = "uffd-wp-thp", .about = "huge pages protected by a userfaultfd",
	  .backing = BACK_THP, .huge = true, .populated = protect_all, .detach = close_uffd },
	{ .name = "uffd-rwp", .about = "accesses watched by a userfaultfd", .backing = BACK_ANON,
	  .guest_only = true, .populated = watch_accesses, .round = protect_accesses,
	  .touched = check_accesses, .detach = close_accesses },
	{ .name = "cold", .about = "all advised MADV_COLD", .backing = BACK_ANON,
	  .guest_only = true, .populated = advise_cold },
	{ .name = "cold-thp", .about = "huge pages advised MADV_COLD",
	  .backing = BACK_THP, .huge = true, .guest_only = true, .populated = advise_cold },
	{ .name = "collapsed", .about = "base pages collapsed", .backing = BACK_ANON,
	  .huge = true, .fit = fit_collapse, .map = map_units_of_huge,
	  .populated = collapse_all },
	{ .name = "merged", .about = "four pages merged to one by KSM", .backing = BACK_ANON,
	  .mib = 32, .held = 1, .fit = fit_ksm, .map = map_units_of_merged,
	  .populated = merge_all },
	{ .name = "batch-edge", .about = "more than a walk's batch below a border of 1 GiB",
	  .backing = BACK_ANON, .mib = 64, .map = map_batch_edge },
	{ .name = "huge-row", .about = "huge pages in a row up to a border of 1 GiB",
	  .backing = BACK_THP, .mib = 2 * 72, .map = map_huge_row },
};

const size_t nr_live_shapes = ARRAY_SIZE(live_shapes);
