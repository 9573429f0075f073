/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest for the experiments: one region of memory that we map ourselves (so
 * that the test decides its backing, place and memslots), touched only by vCPUs
 * that work off lists of page numbers.
 *
 * This is also the one place that knows how the KVM selftest library differs
 * between 6.1 and 7.2.
 */
#ifndef MMGATE_VM_H
#define MMGATE_VM_H

#include "kvm_util.h"
#include "processor.h"
#include "ucall_common.h"

#include "lru_gen.h"
#include "memcg.h"
#include "residency.h"
#include "runner.h"

#define VM_MAX_VCPUS	4
#define VM_OTHER_SLOT	200
/* Where a guest has them: the job of vCPU 0, and the region (less its offset) */
#define VM_JOB_GPA	0x100000000UL	/* 4G: a vCPU's job each 2G */
#define VM_MEM_GPA	0x1000000000UL	/* 64G */
#define HUGE_SIZE	(2UL << 20)
#define ORDER_K_MAX	16

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

enum vm_op { OP_READ, OP_WRITE, OP_FILL, OP_CHECK };

/* What a vCPU is asked to do, in memory that it shares with us */
struct vm_job {
	u64 op;
	u64 base;	/* guest address of the region */
	u64 stride;	/* bytes of a unit */
	u64 n;		/* length of list */
	u64 value;	/* OP_FILL, OP_CHECK: the pattern's key */
	u64 bad;	/* OP_CHECK: words that differ */
	u64 first_bad;	/* the unit of the first of them */
	u32 list[];
};

/**
 * struct guest - a VM whose memory is a region
 * @vm:		the library's
 * @vcpu:	its vCPUs
 * @nr_vcpus:	how many
 * @r:		the region
 * @gpa:	guest physical (and virtual) address of the region
 * @job:	what each vCPU is to do
 * @ran:	a vCPU came to its sync: what goes wrong from now on is the kernel's
 */
struct guest {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[VM_MAX_VCPUS];
	int nr_vcpus;
	struct region *r;
	u64 gpa;
	struct vm_job *job[VM_MAX_VCPUS];
	u32 slot_flags;
	int nr_slots;
	bool ran;
};

/* Skip, with what to do, unless /dev/kvm can be used by the library that we were built with */
void guest_require(void);

/*
 * Create the VM for memory of up to @bytes.  Call it before the process enters
 * the experiment's memcg: what the library allocates is then charged elsewhere.
 * The vCPUs run @code, with their job as argument, or the usual loop where it is NULL.
 */
void guest_create(struct guest *g, int nr_vcpus, size_t bytes, void *code);

/*
 * Make @r the guest's memory, as @nr_slots memslots of about the same size (at
 * page granularity: their borders lie inside PMD ranges where @nr_slots > 1).
 */
void guest_set_memory(struct guest *g, struct region *r, int nr_slots, u32 flags);

/* Let vCPU @v touch the units of @list in that order */
void guest_touch(struct guest *g, int v, const u32 *list, size_t n, bool write);
/* Let all vCPUs at once touch a share of the list each */
void guest_touch_all(struct guest *g, const u32 *list, size_t n, bool write);
/* Let vCPU @v write (OP_FILL) or check (OP_CHECK) a pattern that depends on @key */
u64 guest_pattern(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 key);
/*
 * Fetch and clear the dirty log of a region with one memslot that was set up with
 * KVM_MEM_LOG_DIRTY_PAGES: a byte for each base page.  Returns how many are dirty.
 */
size_t guest_dirty_log(struct guest *g, u8 *dirty);
/* Lower level: set up a job, run it in the calling thread */
void guest_job(struct guest *g, int v, enum vm_op op, const u32 *list, size_t n, u64 value);
void guest_run(struct guest *g, int v);

/* For guest code: do what the job says, starting with an empty TLB */
void guest_work(struct vm_job *job);
/* A memslot of our own, numbers from VM_OTHER_SLOT on */
void guest_add_slot(struct guest *g, u32 slot, u64 gpa, void *hva, size_t bytes, u32 flags);
/* Map a range in the guest's page tables, one to one, by 2M entries where they can be had */
void guest_map(struct guest *g, u64 gpa, size_t bytes);

void guest_destroy(struct guest *g);

/**
 * struct lab - the memcg of an experiment and its generations
 * @cg:		the group
 * @id:		its number in lru_gen
 * @info:	what lab_read() read last
 */
struct lab {
	struct memcg cg;
	u64 id;
	struct lru_gen_memcg info;
};

/* Settings that each ordering experiment declares in its struct mmg_test */
extern const char *const lab_settings[];

/*
 * What every experiment needs: cgroup2 with memory.reclaim, MGLRU, its debugfs
 * file, @swap bytes of swap.  Then bring the settings of lab_settings to where the
 * experiment is armed: MGLRU on with walks (skip where the CPU has no accessed
 * bit), no NUMA balancing, KSM, khugepaged or swap readahead, min_ttl 0.
 */
void lab_require(u64 swap);

/* Turn the page-table walk of MGLRU on or off (lru_gen/enabled 0x2) */
void lab_set_walk(bool on);

/* Create the group; the calling process stays outside until lab_enter() */
void lab_create(struct lab *lab, const struct memcg *parent, const char *name);
void lab_enter(struct lab *lab);

/* Read the generations (long form where @full) */
void lab_read(struct lab *lab, bool full);

/*
 * Age every node that has memory of the group, the regions' own first, at its current
 * max_seq, with swappiness 200.  Broken, with what came back, where the command fails.
 */
void lab_age(struct lab *lab, bool force);

/* Leave the group and remove it */
void lab_destroy(struct lab *lab);

/* Same for one node only.  Returns 0 or -errno. */
int lab_age_node(struct lab *lab, int nid, bool force);

/* Anonymous (or file) pages of the group in generation max_seq - @back, all nodes */
u64 lab_pages(const struct lab *lab, unsigned int back, int type);
/* Pages of all generations */
u64 lab_total(const struct lab *lab, int type);
/* Walk counter summed over nodes, -1 where the kernel does not show it */
long long lab_counter(const struct lab *lab, enum lru_gen_counter which);
/* Append the generations to the artifact gens.tsv as pass @pass */
void lab_log(const struct lab *lab, int pass);

/**
 * struct stage - a group, a region in it, and who touches it: the usual scene
 * @lab:	the group
 * @guest:	the VM, unless @host
 * @r:		the region
 * @host:	touched through this process's own page tables
 * @all:	list of all units, in the order of their faults
 */
struct stage {
	struct lab lab;
	struct guest guest;
	struct region r;
	bool host;
	u32 *all;
};

/**
 * struct stage_opts - how to set the scene; zeroes are the usual choice
 * @name:	name of the group
 * @parent:	its parent, NULL for the root
 * @backing:	what the memory is made of
 * @host:	no VM
 * @bytes:	size of the region (default mmg_opts.mem_bytes)
 * @vcpus:	vCPUs (default 1)
 * @slots:	memslots (default 1)
 * @offset:	base pages from a 2M boundary to the region's start
 * @fault_seed:	shuffles the fault order where not 0
 * @code:	what the vCPUs run, NULL for the usual loop
 * @prepare:	called once the VM has its memory, before this process enters the group
 */
struct stage_opts {
	const char *name;
	const struct memcg *parent;
	enum backing backing;
	bool host;
	size_t bytes;
	int vcpus;
	int slots;
	size_t offset;
	u64 fault_seed;
	void *code;
	void (*prepare)(struct stage *s);
};

/* VM, region and group, with this process in it; nothing is touched yet */
void stage_create(struct stage *s, const struct stage_opts *o);
/* Touch units by whoever touches here */
void stage_touch(struct stage *s, const u32 *list, size_t n, bool write);
/*
 * Touch all units by a write, and check what every judgement builds on: all are in
 * memory, by pages of the size asked for, and on the lists of the group.
 */
void stage_populate(struct stage *s);
void stage_destroy(struct stage *s);
/**
 * struct stage_order - who left first of the hot (label 0) and the cold (label 1)
 * @auc:	see order_auc()
 */
struct stage_order {
	double auc;
	size_t hot, cold;
	size_t hot_gone, cold_gone;
};

/* memory.reclaim of as many units as are cold by @label, in 16 steps */
void stage_reclaim(struct stage *s, const u8 *label, struct stage_order *r);

/* Type of the region's pages in lru_gen: LRU_GEN_FILE for files, else LRU_GEN_ANON */
int stage_type(const struct stage *s);

/*
 * A helper process, for what has to be another mm or another group: it forks, and
 * calls @fn with each command that worker_call() sends, returning what that returns.
 * Its death is the end of the case.
 */
typedef u64 (*worker_fn)(void *state, int cmd, u64 arg);

struct worker {
	pid_t pid;
	int to;
	int from;
};

void worker_start(struct worker *w, worker_fn fn, void *state);
u64 worker_call(struct worker *w, int cmd, u64 arg);
/* The two halves of a call, to let helpers work at the same time */
void worker_send(struct worker *w, int cmd, u64 arg);
u64 worker_wait(struct worker *w);

/* Lists: all units in order, shuffled by @seed where that is not 0 */
u32 *list_all(size_t n, u64 seed);
/* Those units i of n with @label[i] == @which; *count of them */
u32 *list_where(const u8 *label, size_t n, u8 which, size_t *count);
/*
 * Labels 0..@k-1 at random, but equally many of each in every run of @k
 * consecutive entries of @order: labels are independent of the order of faults,
 * and a kernel that evicts by that order comes out at 0.5 even for few units.
 */
void label_stratified(u8 *label, const u32 *order, size_t n, unsigned int k, u64 seed);

#endif /* MMGATE_VM_H */
