// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: workload: one pass of ageing over a VM's memory, by its size
 * mmgate-guards: MGLRU asks the secondary MMU (v6.12): mm/vmscan.c, mm/rmap.c, mm/memcontrol.c
 * mmgate-machines: bench-ageing
 * mmgate-needs: CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_KVM CONFIG_TRANSPARENT_HUGEPAGE debugfs tracefs
 * mmgate-modules: kvm
 * mmgate-timeout: 900
 *
 * A benchmark: it measures and never fails.  It is the price of the series that
 * makes the page-table walk ask KVM which pages are young: a call of KVM for each
 * mapped page (or huge page).  The vCPU touches all of its memory, then lru_gen is
 * told to age the VM's memcg once, with the walk forced; the fastest of some passes counts.
 * One more pass is traced, to count the calls; tracing would cost time itself.
 */
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "lru_gen.h"
#include "memcg.h"
#include "residency.h"
#include "runner.h"
#include "trace.h"
#include "work.h"

#define PAGE	4096ul
#define HUGE	(2 * MIB)
#define PASSES	3
#define EVENT	"kvm/kvm_age_hva"

struct param {
	unsigned int mib;
	bool thp;
};

/* Age the memcg once; seconds that it took */
static double age_once(const struct memcg *cg, u64 id)
{
	static struct lru_gen_memcg lru;
	double start;
	int err;

	lru_gen_read(false, cg->path, &lru);
	start = work_now();
	err = lru_gen_age(id, 0, lru_gen_max_seq(&lru.node[0]), 200, true);
	if (err)
		mmg_broken("ageing %s: %s", cg->path, strerror(-err));
	return work_now() - start;
}

/* Events of one pass: those that are there and those that the buffer had no room for */
static double count_calls(const struct memcg *cg, u64 id)
{
	double n = 0;
	char *text, *line;
	long lost;

	if (!trace_has(EVENT) || trace_start(EVENT, 512))
		return -1;
	age_once(cg, id);
	lost = trace_lost();
	text = trace_stop();
	for (line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		n += *line != '#';
	free(text);
	return lost < 0 ? -1 : n + lost;
}

static void measure(const struct mmg_case *c)
{
	const struct param *p = c->arg;
	size_t bytes = p->mib * MIB, step = p->thp ? HUGE : PAGE, n = bytes / step;
	double best = 0, calls;
	struct memcg cg;
	struct guest g;
	u64 id;
	int i;

	memcg_require();
	work_stop_damon();
	mmg_write_setting(LRU_GEN_ENABLED, "7");
	memcg_create(&cg, NULL, "vm");
	memcg_enter(&cg, 0);
	mmg_doing("touching %u MiB by the vCPU", p->mib);
	guest_create(&g, bytes, p->thp);
	guest_touch(&g, 0, step, n, true);
	if (p->thp && residency_huge_bytes(g.mem) < bytes)
		mmg_skip("%zu of %zu bytes are in huge pages: memory is fragmented",
			 residency_huge_bytes(g.mem), bytes);
	memcg_drain_lru();
	id = memcg_lru_gen_id(&cg);
	for (i = 0; i < PASSES; i++) {
		double s;

		mmg_doing("pass %d of ageing", i + 1);
		s = age_once(&cg, id);
		best = i && best < s ? best : s;
		guest_touch(&g, 0, step, n, true);
	}
	calls = count_calls(&cg, id);
	mmg_metric("mib", p->mib);
	mmg_metric("entries", n);
	mmg_metric("pass_ms", best * 1e3);
	mmg_metric("ns_per_entry", best * 1e9 / n);
	if (calls >= 0)
		mmg_metric("notifier_calls", calls);
	guest_destroy(&g);
	mmg_pass("%.3f ms a pass over %u MiB, %.0f calls of KVM", best * 1e3, p->mib, calls);
}

static const struct param small[] = {
	{ 32, false }, { 128, false }, { 512, false }, { 2048, false },
};

static const struct param huge[] = {
	{ 32, true }, { 128, true }, { 512, true }, { 2048, true },
};

static const struct mmg_case cases[] = {
	{ "4k-32", measure, &small[0], 60, true },
	{ "4k-128", measure, &small[1], 60, true },
	{ "4k-512", measure, &small[2], 120, true },
	{ "4k-2048", measure, &small[3], 300, true },
	{ "thp-32", measure, &huge[0], 60, true },
	{ "thp-128", measure, &huge[1], 60, true },
	{ "thp-512", measure, &huge[2], 60, true },
	{ "thp-2048", measure, &huge[3], 120, true },
};

static const char *const settings[] = { LRU_GEN_ENABLED, NULL };

static const struct mmg_test test = {
	.name = "bench/ageing",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
