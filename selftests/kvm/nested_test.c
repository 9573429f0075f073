// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does memory that only a guest's own guest touches age, and leave in order?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-machines: default tdp-mmu-off
 * mmgate-needs: CONFIG_KVM CONFIG_KVM_AMD CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 *
 * The vCPU's own code (L1) makes a nested guest (L2) by SVM, with nested page tables
 * that lie in L1's memory.  KVM runs L2 on shadows of those, which are another MMU than
 * the one that L1 runs on: their accessed bits are found through rmaps.
 *
 *	L2's address 96G + x --(L1's nested page tables)--> L1's 64G + x --> the region
 *	L1's address 96G + x --> no memory: only L2 can have touched the region by it
 *
 * The cases are those of aging and eviction_order, the touches all by L2; in "both"
 * L1 and L2 map each page, and a page is young if either touched it.
 *
 *	series present	what L2 touched moves; AUC 1.00
 *	series absent	nothing moves; AUC 0.50
 *	walk off	AUC 0.50: the control
 *
 * How it could mislead: L2 may not run at all (its exit code is looked at after each
 * run); it may have touched by L1's mapping (96G is no memory to L1); an entry in
 * the TLB hides a touch (L2 loads CR3 before, KVM flushes when it enters L2).
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)

#define BATCH		64
#define AUC_GOOD	0.99
#define L2_MOVE		0x800000000UL	/* 32G: L2's address of the region less L1's */
#define LOW_END		0x100000000UL	/* below: L1's code, stack, page tables */
#define NPT_GPA		0x400000000UL	/* 16G */
#define NPT_SLOT	VM_OTHER_SLOT
#define NPT_LEAF	0x67UL		/* present, writable, user, accessed, dirty */
#define NPT_BIG		0x80UL
#define L2_STACK	512
#define VMMCALL_BYTES	3

/**
 * struct params - a case
 * @backing:	what the memory is made of
 * @npt_2m:	L1 maps the region for L2 by 2M entries
 * @divide:	of the default size
 */
struct params {
	enum backing backing;
	bool npt_2m;
	unsigned int divide;
};

/**
 * struct npt - nested page tables, in memory of ours that is a memslot of L1
 * @table:	the tables, the root first
 * @used:	tables in use
 * @max:	room for so many
 * @levels:	4, or 5 where L1 runs with CR4.LA57
 */
struct npt {
	u64 (*table)[512];
	size_t used;
	size_t max;
	int levels;
};

/* --- the nested guest --------------------------------------------------------- */

static struct vm_job *l2_job;
static u64 l2_stack[L2_STACK] __aligned(16);

static void l2_code(void)
{
	for (;;) {
		guest_work(l2_job);
		vmmcall();
	}
}

/*
 * The job's address says who is to do it.  What L2 left with goes into @bad, which
 * touches do not use.
 */
static void l1_code(struct vm_job *job, struct svm_test_data *svm, u64 npt_root)
{
	struct vmcb *vmcb = svm->vmcb;

	l2_job = job;
	svm_setup(svm, l2_code, &l2_stack[L2_STACK - 1]);
	vmcb->control.misc_ctl |= SVM_MISC_ENABLE_NP;
	vmcb->control.nested_cr3 = npt_root;
	for (;;) {
		if (job->base < VM_MEM_GPA + L2_MOVE) {
			guest_work(job);
		} else {
			run_guest(vmcb, svm->vmcb_gpa);
			job->bad = vmcb->control.exit_code;
			job->first_bad = vmcb->control.exit_info_2;
			vmcb->save.rip += VMMCALL_BYTES;
		}
		GUEST_SYNC(0);
	}
}

/* --- its page tables ------------------------------------------------------------- */

static void npt_create(struct npt *npt, size_t bytes, int levels)
{
	/* for 4K entries of the region, 2M ones of 4G and of the job, and their parents */
	npt->max = bytes / HUGE_SIZE + 2 + 4 + 2 + 8;
	npt->used = 1;
	npt->levels = levels;
	npt->table = mmap(NULL, npt->max * sizeof(*npt->table), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (npt->table == MAP_FAILED)
		mmg_broken("mmap of %zu page tables: %s", npt->max, strerror(errno));
}

/* Map L2's @from to L1's @to by one entry of @level (1: 4K, 2: 2M) */
static void npt_map(struct npt *npt, u64 from, u64 to, int level)
{
	u64 *entry, (*table)[512] = npt->table;
	int at;

	for (at = npt->levels;; at--) {
		entry = &(*table)[from >> (12 + 9 * (at - 1)) & 511];
		if (at == level)
			break;
		if (!*entry) {
			if (npt->used == npt->max)
				mmg_broken("%zu page tables for L2 are not enough", npt->max);
			*entry = (NPT_GPA + npt->used++ * sizeof(*table)) | NPT_LEAF;
		}
		table = &npt->table[((*entry & ~0xfffUL) - NPT_GPA) / sizeof(*table)];
	}
	*entry = to | NPT_LEAF | (level > 1 ? NPT_BIG : 0);
}

/* L2 has L1's memory but the region, where L1 has it, and the region 32G higher */
static void npt_fill(struct npt *npt, const struct scenario *s, bool by_2m)
{
	const struct guest *g = &s->guest;
	size_t bytes = s->r.pages * s->r.page_size, step = by_2m ? HUGE_SIZE : s->r.page_size;
	u64 job = VM_JOB_GPA, a;

	for (a = 0; a < LOW_END; a += HUGE_SIZE)
		npt_map(npt, a, a, 2);
	for (a = job; a < job + sizeof(struct vm_job) + 4 * s->r.pages; a += HUGE_SIZE)
		npt_map(npt, a, a, 2);
	for (a = g->gpa; a < g->gpa + bytes; a += step)
		npt_map(npt, a + L2_MOVE, a, by_2m ? 2 : 1);
}

/* --- setting up ------------------------------------------------------------------------ */

static bool npt_by_2m;

static void prepare(struct scenario *s)
{
	struct guest *g = &s->guest;
	struct kvm_sregs sregs;
	struct npt npt;
	u64 svm;

	vcpu_sregs_get(g->vcpu[0], &sregs);
	npt_create(&npt, s->r.pages * s->r.page_size, sregs.cr4 & (1 << 12) ? 5 : 4);
	npt_fill(&npt, s, npt_by_2m);
	guest_add_slot(g, NPT_SLOT, NPT_GPA, npt.table, npt.max * sizeof(*npt.table), 0);
	guest_map(g, g->gpa + L2_MOVE, s->r.pages * s->r.page_size);
	vcpu_alloc_svm(g->vm, &svm);
	vcpu_args_set(g->vcpu[0], 3, (u64)VM_JOB_GPA, svm, (u64)NPT_GPA);
}

static size_t bytes_of(const struct params *p)
{
	if (p->backing == BACK_THP)
		return 32 * HUGE_SIZE;
	return mmg_opts.mem_bytes / (p->divide ? p->divide : 1);
}

/*
 * Who touches from now on.  An L2 that leaves by anything but its own VMMCALL did not
 * do its job: the first time it says whether nesting works here at all.
 */
static void by_l2(struct scenario *s)
{
	s->guest.gpa = VM_MEM_GPA + L2_MOVE;
}

static void by_l1(struct scenario *s)
{
	s->guest.gpa = VM_MEM_GPA;
}

static void check_l2(const struct scenario *s, const char *when)
{
	const struct vm_job *job = s->guest.job[0];

	if (job->bad != SVM_EXIT_VMMCALL)
		mmg_fail("L2 left with exit code 0x%llx (info 0x%llx) %s",
			 (unsigned long long)job->bad, (unsigned long long)job->first_bad, when);
}

static void require_l2(void)
{
	guest_require();
	if (!kvm_cpu_has(X86_FEATURE_SVM))
		mmg_skip("KVM offers guests no SVM: needs an AMD CPU (or TCG), kvm_amd.nested=1");
	if (!kvm_cpu_has(X86_FEATURE_NPT))
		mmg_skip("KVM offers guests no nested paging: kvm_amd.npt=1");
}

/* A VM with an L2 that works, all of the region faulted in by L2 */
static void set_up(struct scenario *s, const struct params *p, const char *name)
{
	struct scenario_opts o = {
		.name = name, .backing = p->backing, .bytes = bytes_of(p),
		.code = l1_code, .prepare = prepare,
	};

	npt_by_2m = p->npt_2m || p->backing == BACK_THP;
	scenario_create(s, &o);
	by_l2(s);
	mmg_doing("starting L2");
	scenario_touch(s, s->all, 0, false);
	check_l2(s, "at once: nothing was touched yet");
	scenario_populate(s);
	check_l2(s, "while it faulted the region in");
}

static void touch(struct scenario *s, const u32 *list, size_t n)
{
	scenario_touch(s, list, n, false);
	if (s->guest.gpa != VM_MEM_GPA)
		check_l2(s, "while it touched the region");
}

static void age(struct scenario *s)
{
	group_age(&s->group, true);
	group_read(&s->group, false);
}

static bool near(u64 a, u64 b)
{
	return a <= b + BATCH && b <= a + BATCH;
}

static void say_generations(const struct scenario *s, const char *when)
{
	mmg_info("%s: generations -3 to 0 have %llu %llu %llu %llu pages", when,
		 (unsigned long long)group_pages(&s->group, 3, LRU_GEN_ANON),
		 (unsigned long long)group_pages(&s->group, 2, LRU_GEN_ANON),
		 (unsigned long long)group_pages(&s->group, 1, LRU_GEN_ANON),
		 (unsigned long long)group_pages(&s->group, 0, LRU_GEN_ANON));
}

/* --- aging ----------------------------------------------------------------------------- */

/* Evict generation max_seq - 3: of @label, all but 0 are in it and 0 is not */
static void judge_identity(struct scenario *s, const u8 *label)
{
	const struct lru_gen_node *node = s->r.nid < 0 ? &s->group.info.node[0] :
					  lru_gen_node(&s->group.info, s->r.nid);
	size_t gone[2] = { }, n[2] = { }, i;
	int err;

	err = lru_gen_evict(s->group.id, node->nid, lru_gen_max_seq(node) - 3,
			    LRU_GEN_ANON_ONLY, 2 * s->r.pages);
	if (err)
		mmg_broken("evicting the oldest generation: %s", strerror(-err));
	region_read(&s->r);
	for (i = 0; i < s->r.units; i++) {
		n[!!label[i]]++;
		gone[!!label[i]] += !s->r.present[i];
	}
	mmg_metric("touched_evicted", gone[0]);
	mmg_metric("rest_evicted", gone[1]);
	if (gone[0] * 100 > n[0] || gone[1] * 100 < n[1] * 98)
		mmg_fail("wrong pages moved: evicted %zu of %zu touched and %zu of %zu others",
			 gone[0], n[0], gone[1], n[1]);
}

/* After an aging: @want pages are in the generation that was aged */
static void judge_moved(const struct scenario *s, u64 want, const char *who)
{
	u64 moved = group_pages(&s->group, 1, LRU_GEN_ANON);

	mmg_metric("touched", want);
	mmg_metric("moved", moved);
	if (!near(moved, want))
		mmg_fail("%llu pages moved to the generation aged, %s touched %llu of %zu",
			 (unsigned long long)moved, who, (unsigned long long)want, s->r.pages);
}

static void judge_still(struct scenario *s)
{
	u64 moved;

	age(s);
	say_generations(s, "aged again");
	moved = group_pages(&s->group, 1, LRU_GEN_ANON) + group_pages(&s->group, 0, LRU_GEN_ANON);
	mmg_metric("moved_untouched", moved);
	if (moved > BATCH)
		mmg_fail("%llu pages moved although nobody touched any", (unsigned long long)moved);
}

static void aging_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	size_t n;
	u8 *label;
	u32 *t;

	require_l2();
	mglru_require(bytes_of(p));
	set_up(&s, p, "nested");
	age(&s);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed);
	t = list_where(label, s.r.units, 0, &n);
	mmg_doing("touching half by L2 and aging");
	touch(&s, t, n);
	age(&s);
	group_log(&s.group, 1);
	say_generations(&s, "L2 touched half, aged");
	judge_moved(&s, n * s.r.unit, "L2");
	judge_still(&s);
	judge_identity(&s, label);
	mmg_pass("all %zu pages that L2 touched moved, the other %zu stayed and were evicted",
		 n * s.r.unit, s.r.pages - n * s.r.unit);
}

/*
 * Each page has an entry in both MMUs.  A quarter is touched by L1 only, one by L2
 * only, one by both, one by none: whoever looks at one MMU only misses a quarter.
 */
static void both_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	static struct scenario s;
	size_t n, i, touched = 0;
	u8 *label;
	u32 *t;
	int who;

	require_l2();
	mglru_require(bytes_of(p));
	set_up(&s, p, "both");
	by_l1(&s);
	touch(&s, s.all, s.r.units);
	age(&s);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 4, mmg_opts.seed);
	for (who = 0; who < 3; who++) {
		t = list_where(label, s.r.units, who, &n);
		touched += n;
		if (who != 1) {
			by_l1(&s);
			touch(&s, t, n);
		}
		if (who != 0) {
			by_l2(&s);
			touch(&s, t, n);
		}
		free(t);
	}
	age(&s);
	say_generations(&s, "L1 touched a quarter, L2 one, both one; aged");
	judge_moved(&s, touched * s.r.unit, "L1 or L2");
	judge_still(&s);
	for (i = 0; i < s.r.units; i++)
		label[i] = label[i] == 3;
	judge_identity(&s, label);
	mmg_pass("all %zu pages that L1, L2 or both touched moved, the other %zu stayed",
		 touched * s.r.unit, (s.r.units - touched) * s.r.unit);
}

/* --- order ------------------------------------------------------------------------------- */

static void order_run(const struct params *p, bool walk, struct scenario_order *r)
{
	static struct scenario s;
	size_t n;
	u8 *label;
	u32 *hot;
	int round;

	set_up(&s, p, walk ? "order" : "control");
	mglru_set_walk(walk);
	label = calloc(1, s.r.units);
	label_stratified(label, s.all, s.r.units, 2, mmg_opts.seed + walk);
	hot = list_where(label, s.r.units, 0, &n);
	age(&s);
	for (round = 0; round < 2; round++) {
		touch(&s, hot, n);
		age(&s);
	}
	mmg_doing("reclaiming");
	scenario_reclaim(&s, label, r);
	scenario_destroy(&s);
	mglru_set_walk(true);
	free(hot);
	free(label);
}

static void order_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	struct scenario_order order, control;
	char text[160];

	require_l2();
	mglru_require(bytes_of(p));
	order_run(p, true, &order);
	order_run(p, false, &control);
	mmg_metric("auc", order.auc);
	mmg_metric("control_auc", control.auc);
	mmg_metric("hot_evicted", order.hot_gone);
	mmg_metric("cold_evicted", order.cold_gone);
	if (!(control.auc >= 0.4 && control.auc <= 0.6))
		mmg_broken("control: AUC %.3f with the walk off, hot %zu, cold %zu gone: not blind",
			   control.auc, control.hot_gone, control.cold_gone);
	snprintf(text, sizeof(text),
		 "AUC %.3f, hot %zu and cold %zu of %zu each evicted, AUC %.3f with the walk off",
		 order.auc, order.hot_gone, order.cold_gone, order.cold, control.auc);
	if ((order.hot_gone + order.cold_gone) * 2 < order.cold)
		mmg_fail("asked for the cold half: %s", text);
	if (!(order.auc >= AUC_GOOD))
		mmg_fail("%s to L2: %s", order.auc >= 0.4 && order.auc <= 0.6 ? "blind" :
			 "misordered", text);
	mmg_pass("L2's order kept: %s", text);
}

#else /* not x86 */

struct params {
	enum backing backing;
	bool npt_2m;
	unsigned int divide;
};

static void no_l2(const struct mmg_case *c)
{
	(void)c;
	mmg_skip("the nested guest is built on SVM, so on x86 with an AMD CPU (or TCG) only");
}

#define aging_case no_l2
#define both_case no_l2
#define order_case no_l2

#endif

#define CASE(name_, fn_, ...) { .name = name_, .fn = fn_, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("aging-4k", aging_case, .backing = BACK_ANON, .divide = 2),
	CASE("aging-npt-2m", aging_case, .backing = BACK_ANON, .divide = 2, .npt_2m = true),
	CASE("aging-thp", aging_case, .backing = BACK_THP),
	CASE("both-4k", both_case, .backing = BACK_ANON, .divide = 4),
	CASE("both-thp", both_case, .backing = BACK_THP),
	CASE("order-4k", order_case, .backing = BACK_ANON, .divide = 4),
	CASE("order-thp", order_case, .backing = BACK_THP),
};

static const struct mmg_test test = {
	.name = "kvm/nested",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
