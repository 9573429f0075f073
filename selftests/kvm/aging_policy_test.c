// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does aging heed swappiness, and does it look where eviction found young pages?
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-guards: 018ee47f1489 mm: multi-gen LRU: exploit locality in rmap
 * mmgate-machines: default data-disk
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 *	swappiness-N	half of a guest's anonymous memory is touched, and aged once by a
 *			command with that swappiness: with 0 none of it moves, else all that
 *			was touched and nothing else
 *	file-N		the same of a file's pages: they move with 0, not with max
 *	refused		values beyond the range and a generation to come
 *	feedback	two page tables are young, eviction looks at a few pages of one of them:
 *			aging without force finds the rest of that table, and not the other one
 *
 * How feedback works: lru_gen_look_around() notes a page table in the Bloom filter of the
 * next walk where it finds many young neighbours (suitable_to_scan() in mm/vmscan.c).  The
 * few pages are the oldest of the group, followed by a table that nobody touched: reclaim
 * of a batch looks at the first ones and takes of the others.
 *
 * How it could mislead: reclaim that ages by itself walks, and needs no feedback (max_seq is
 * compared); look-around promotes its own neighbours (64, far fewer than the table has).
 */
#include "aging_step.h"
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH	64

struct params {
	enum backing backing;
	bool host;
	const char *value;
	bool moves;
};

static size_t per_table(const struct scenario *s)
{
	return HUGE_SIZE / s->r.page_size;
}

static void set_up(struct scenario *s, const struct params *p, const char *name, size_t bytes)
{
	struct scenario_opts o = {
		.name = name, .backing = p->backing, .host = p->host, .bytes = bytes,
	};

	if (!p->host)
		guest_require();
	mglru_require(bytes);
	scenario_create(s, &o);
	/* readahead makes large folios of a file, up to what a huge entry maps */
	if (p->backing == BACK_FILE && posix_fadvise(s->r.fd, 0, 0, POSIX_FADV_RANDOM))
		mmg_broken("posix_fadvise: %s", strerror(errno));
}

/* "+" by hand: swappiness as text.  Returns 0 or -errno. */
static int age_with(struct scenario *s, const char *value, bool force, long long seq_off)
{
	const struct lru_gen_node *node;
	char text[128];
	unsigned int i;
	int err = 0;

	group_read(&s->group, false);
	for (i = 0; i < s->group.info.nr_nodes && !err; i++) {
		node = &s->group.info.node[i];
		snprintf(text, sizeof(text), "+ %llu %d %llu %s %d",
			 (unsigned long long)s->group.id, node->nid,
			 (unsigned long long)lru_gen_max_seq(node) + seq_off, value, force);
		err = lru_gen_command(text);
	}
	return err;
}

static u64 max_seq(struct scenario *s)
{
	group_read(&s->group, false);
	return lru_gen_max_seq(s->r.nid < 0 ? &s->group.info.node[0] :
			       lru_gen_node(&s->group.info, s->r.nid));
}

static bool near(u64 a, u64 b)
{
	u64 slack = b / 32 + BATCH / 2;

	return a <= b + slack && b <= a + slack;
}

/* --- swappiness ------------------------------------------------------------------- */

static void swappiness_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	int type, err;
	size_t n = 0, i;
	u64 seq, moved, listed;
	u32 *list;

	set_up(&s, p, "aged", mmg_opts.mem_bytes / 4);
	type = scenario_type(&s);
	scenario_populate(&s);
	group_age(&s.group, true);
	list = malloc(s.r.units * sizeof(*list));
	for (i = 0; i < s.r.units; i += 2)
		list[n++] = i;
	scenario_touch(&s, list, n, false);
	seq = max_seq(&s);
	mmg_doing("aging with swappiness %s", p->value);
	err = age_with(&s, p->value, true, 0);
	if (err == -EINVAL && !strcmp(p->value, "max"))
		mmg_skip("aging takes no swappiness \"max\" (6.15)");
	if (err)
		mmg_fail("aging with swappiness %s: %s", p->value, strerror(-err));
	if (max_seq(&s) != seq + 1)
		mmg_fail("aging with swappiness %s left max_seq at %llu, it was %llu", p->value,
			 (unsigned long long)max_seq(&s), (unsigned long long)seq);
	moved = group_pages(&s.group, 1, type);
	listed = group_total(&s.group, type);
	mmg_metric("touched", n);
	mmg_metric("moved", moved);
	if (listed + BATCH < s.r.pages)
		mmg_fail("%llu of %zu pages are in generations after aging with swappiness %s",
			 (unsigned long long)listed, s.r.pages, p->value);
	if (!near(moved, p->moves ? n : 0))
		mmg_fail("swappiness %s: %llu pages moved, %zu touched, %s must move", p->value,
			 (unsigned long long)moved, n, p->moves ? "all of them" : "none");
	mmg_pass("swappiness %s: %llu of %zu touched pages moved", p->value,
		 (unsigned long long)moved, n);
}

static void refused_case(const struct mmg_case *c)
{
	static const struct params p = { .host = true };
	static const struct {
		const char *swappiness;
		long long seq_off;
	} rows[] = { { "202", 0 }, { "1000", 0 }, { "200", 1 } };
	static struct scenario s;
	u64 seq;
	size_t i;
	int err;

	(void)c;
	set_up(&s, &p, "refused", mmg_opts.mem_bytes / 16);
	scenario_populate(&s);
	seq = max_seq(&s);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		err = age_with(&s, rows[i].swappiness, true, rows[i].seq_off);
		if (err != -EINVAL)
			mmg_fail("aging of max_seq + %lld with swappiness %s: %s, must be EINVAL",
				 rows[i].seq_off, rows[i].swappiness, err ? strerror(-err) : "0");
		if (max_seq(&s) != seq)
			mmg_fail("a refused command moved max_seq from %llu to %llu",
				 (unsigned long long)seq, (unsigned long long)max_seq(&s));
	}
	mmg_pass("swappiness beyond the range and a generation to come are refused");
}

/* --- the Bloom filter --------------------------------------------------------------- */

static void swap_units(u32 *list, size_t a, size_t b, size_t n)
{
	u32 tmp;

	for (; n--; a++, b++) {
		tmp = list[a];
		list[a] = list[b];
		list[b] = tmp;
	}
}

/* Pages that aging without force moved, touched being two whole tables */
static u64 feedback(const struct params *p, bool look)
{
	static struct scenario s;
	size_t table, i, n = 0;
	u64 seq, moved;
	u32 *list;
	int err;

	set_up(&s, p, look ? "looked-at" : "control", 8 * HUGE_SIZE);
	table = per_table(&s);
	/* first 128 pages of table 0, then table 1, the rest of table 0, and all others */
	swap_units(s.all, 2 * BATCH, table, table - 2 * BATCH);
	list = malloc(2 * table * sizeof(*list));
	for (i = 0; i < table; i++) {
		list[n++] = i;
		list[n++] = 4 * table + i;
	}
	scenario_populate(&s);
	/* twice, so that the walk's own notes are of a walk that found nothing young */
	group_age(&s.group, true);
	group_age(&s.group, true);
	/* the oldest generations are empty: taking a few pages, none young, drops them */
	seq = max_seq(&s);
	memcg_reclaim(&s.group.cg, BATCH / 2 * s.r.page_size, NULL);
	/* from 6.14 on that may have aged, without a walk that clears the filter: two that do */
	for (i = 0; max_seq(&s) != seq && i < 2; i++)
		group_age(&s.group, true);
	seq = max_seq(&s);
	scenario_touch(&s, list, n, false);
	if (look)
		memcg_reclaim(&s.group.cg, BATCH / 2 * s.r.page_size, NULL);
	if (max_seq(&s) != seq)
		mmg_broken("reclaim of %d pages aged by itself: max_seq %llu, it was %llu",
			   BATCH / 2, (unsigned long long)max_seq(&s), (unsigned long long)seq);
	if (look && region_read(&s.r) == s.r.units)
		mmg_broken("nothing was evicted");
	aging_run_again();
	mmg_doing("aging without force");
	err = age_with(&s, "200", false, 0);
	if (max_seq(&s) != seq + 1)
		mmg_broken("aging without force left max_seq at %llu: %s",
			   (unsigned long long)max_seq(&s), err ? strerror(-err) : "0");
	moved = group_pages(&s.group, 1, LRU_GEN_ANON);
	scenario_destroy(&s);
	free(list);
	return moved;
}

static void feedback_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	size_t table = HUGE_SIZE / sysconf(_SC_PAGESIZE);
	u64 moved, control;

	moved = feedback(p, true);
	control = feedback(p, false);
	mmg_metric("table", table);
	mmg_metric("moved", moved);
	mmg_metric("control_moved", control);
	/* those that were evicted before, and came back */
	if (control > 2 * BATCH)
		mmg_fail("without force %llu pages moved although eviction had looked nowhere",
			 (unsigned long long)control);
	if (moved < table - table / 8)
		mmg_fail("eviction looked at a table of %zu, aging without force moved %llu",
			 table, (unsigned long long)moved);
	if (moved > table + table / 4)
		mmg_fail("aging without force moved %llu pages, one table of %zu was noted",
			 (unsigned long long)moved, table);
	mmg_pass("moved %llu pages of the table of %zu that eviction had looked at, else %llu",
		 (unsigned long long)moved, table, (unsigned long long)control);
}

#define SWAPPINESS(name_, value_, moves_, ...) { .name = name_, .fn = swappiness_case, \
	.arg = &(const struct params){ .value = value_, .moves = moves_, __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	SWAPPINESS("swappiness-0", "0", false),
	SWAPPINESS("swappiness-1", "1", true),
	SWAPPINESS("swappiness-60", "60", true),
	SWAPPINESS("swappiness-200", "200", true),
	SWAPPINESS("swappiness-max", "max", true),
	SWAPPINESS("host-swappiness-0", "0", false, .host = true),
	SWAPPINESS("shmem-swappiness-0", "0", false, .backing = BACK_SHMEM),
	SWAPPINESS("file-swappiness-0", "0", true, .backing = BACK_FILE),
	SWAPPINESS("file-swappiness-200", "200", true, .backing = BACK_FILE),
	SWAPPINESS("file-swappiness-max", "max", false, .backing = BACK_FILE),
	{ .name = "refused", .fn = refused_case },
	{ .name = "feedback", .fn = feedback_case, .arg = &(const struct params){ } },
	{ .name = "host-feedback", .fn = feedback_case,
	  .arg = &(const struct params){ .host = true } },
};

static const struct mmg_test test = {
	.name = "kvm/aging_policy",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
