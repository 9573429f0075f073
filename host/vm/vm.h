/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtual machine: its accelerator, command line, life, disks and channels.
 */
#ifndef MMGATE_VM_H
#define MMGATE_VM_H

#include "base/words.h"
#include "kernel/kernel.h"
#include "plan/plan.h"

/* ---- ktap.c ---- */

/**
 * struct ktap - reader of a VM's KTAP stream
 * @cases:	json array of case results: name, result, reason, duration_s,
 *		metrics, diag
 * @test:	test that runs now, or NULL
 * @running:	its case that runs now, or NULL
 * @planned:	tests the outer plan announces, -1 before it came
 * @ended:	tests that ended
 * @on_case:	called with each result as it comes, or NULL
 *
 * The stream is the untrusted guest's: lines, cases, metrics and diagnostics
 * are bounded, text is made valid UTF-8 without control characters.
 */
struct ktap {
	json_t *cases;
	char *test, *running;
	int planned, ended;
	void (*on_case)(struct ktap *k, json_t *result);
	void *data;

	/* private */
	GString *line;
	size_t nr_cases;
	int sub_planned, sub_seen, sub_bad;
	char *sub_skip;
	bool replanned;
	char *ending;			/* PID 1's word on how this test ended */
	json_t *pending;		/* case name -> what was said of it before its result */
	GHashTable *names;		/* results of this test, to refuse a name given twice */
	GString *said;			/* stderr of this test, for a result that never came */
};

struct ktap *ktap_new(void);
void ktap_feed(struct ktap *k, const char *buf, size_t n);
/*
 * The stream ended early: give the case (or test) that ran the result @result for @reason.
 */
void ktap_cut(struct ktap *k, enum result result, const char *reason);
void ktap_free(struct ktap *k);

/* ---- accel.c, vm.c ---- */

/**
 * struct accel - how guests run, and why
 * @qemu:	program, "qemu-system-x86_64"
 * @version:	its version, "7.2.22"
 * @name:	"kvm" or "tcg"
 * @reason:	one line
 */
struct accel {
	char *qemu, *version, *name, *reason;
};

/* Choose for guests of @arch; @want: "kvm", "tcg", or "auto" (NULL); NULL with *@err where QEMU or what was asked for is not there */
struct accel *accel_choose(const char *want, const char *arch, GError **err);
void accel_free(struct accel *a);

/**
 * struct vm - one boot
 * @state:	STATE_NONE while it runs
 * @reason:	one line on @state
 * @cases:	results, as they came
 * @gdb:	unix socket on which gdb is let in (interactive only), or NULL
 * @halt:	with @gdb: stand still until gdb says go on
 * @dump:	write the guest's memory where it hangs or panics
 * @post_mortem: what could be learnt of a hang or a panic (docs/results.schema.json), or NULL
 * @ended:	called once, when @state is set and everything is on disk
 */
struct vm {
	const struct kernel *kernel;
	const struct machine *machine;
	const struct accel *accel;
	char *dir, *initramfs, *append;
	const char *staged;		/* what programs_stage() gave elsewhere, or NULL: done here */
	int timeout;
	bool interactive, dump, halt;
	const char *gdb;
	bool (*on_case)(json_t *result, void *data);
	void (*ended)(struct vm *vm, void *data);
	void *data;

	enum vm_state state;
	int shell_status;		/* of an interactive VM's shell */
	char *reason;
	struct ktap *ktap;
	double hello_s, ready_s, goodbye_s, duration_s;
	/* until QEMU's monitor spoke; from there to the kernel's first moment; from there to PID 1 */
	double qemu_s, firmware_s, kernel_s;
	GPtrArray *argv;		/* the QEMU command line */
	GPtrArray *artifacts;
	char *console;			/* its whole text, bounded */
	gsize console_len;
	GString *trouble;		/* what PID 1 could not do, a line each */
	json_t *events;			/* name and seconds: start, end of each test */
	json_t *post_mortem;
	json_t *taints;			/* test ("-" for the boot), flags before and after it */

	struct vm_private *p;
};

/*
 * The file that @m boots of @k: the vmlinux in a bzImage where that can be entered (PVH) and @m brings no
 * firmware of its own, else the image.  @sha256, where given, gets its hash (owned by @k).
 */
const char *vm_image(const struct kernel *k, const struct machine *m, const char **sha256);
/* Fill argv for @vm; false with *@err (a machine that this QEMU cannot be) */
bool vm_command(struct vm *vm, GError **err);
/* The same without making its disks, to be shown */
void vm_dry_command(struct vm *vm);
/* Start it; results come while the main context turns.  False with *@err where QEMU did not start */
bool vm_start(struct vm *vm, GError **err);
/* End it now, as @state for @reason; ended() is called when it is gone */
void vm_stop(struct vm *vm, enum vm_state state, const char *reason);
void vm_free(struct vm *vm);

/* ---- initramfs.c ---- */

/* Pack newc to @path; parents are made; sizes bounded; reproducible (no times).  @sha256: g_free() it */
bool initramfs_pack(const GPtrArray *files, const char *path, char **sha256, GError **err);

/* ---- programs.c ---- */

/*
 * Below @dir, a folder that holds programs/NAME of each of the host's programs @names that is there,
 * with the libraries it is linked with, for a data disk; g_free() the path.  NULL where there is
 * none: no such program (which is said in one line), another architecture, no names.
 */
char *programs_stage(const char *dir, const GPtrArray *names, const char *arch);

#endif /* MMGATE_VM_H */
