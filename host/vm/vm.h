/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_VM_H
#define MMGATE_VM_H

#include "catalog.h"
#include "ktap.h"

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

/* Choose for guests of @arch by --accel; NULL with *@err where QEMU or what was asked for is not there */
struct accel *accel_choose(const struct cli *cli, const char *arch, GError **err);
void accel_free(struct accel *a);

/**
 * struct vm - one boot
 * @state:	NULL while it runs, then goodbye, panic, hang, no-boot, lost,
 *		timeout, interrupted or stopped (by @on_case)
 * @reason:	one line on @state
 * @cases:	results, as they came
 * @ended:	called once, when @state is set and everything is on disk
 */
struct vm {
	const struct kernel *kernel;
	const struct machine *machine;
	const struct accel *accel;
	char *dir, *initramfs, *append;
	int timeout;
	bool interactive;
	bool (*on_case)(json_t *result, void *data);
	void (*ended)(struct vm *vm, void *data);
	void *data;

	const char *state;
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

	struct vm_private *p;
};

/* Fill argv for @vm; false with *@err (a machine that this QEMU cannot be) */
bool vm_command(struct vm *vm, GError **err);
/* The same without making its disks, to be shown */
void vm_dry_command(struct vm *vm);
/* Start it; results come while the main context turns.  False with *@err where QEMU did not start */
bool vm_start(struct vm *vm, GError **err);
/* End it now, as @state for @reason; ended() is called when it is gone */
void vm_stop(struct vm *vm, const char *state, const char *reason);
void vm_free(struct vm *vm);

/* ---- programs.c ---- */

/*
 * Below @dir, a folder that holds programs/NAME of each of the host's programs @names that is there,
 * with the libraries it is linked with, for a data disk; g_free() the path.  NULL where there is
 * none: no such program (which is said in one line), another architecture, no names.
 */
char *programs_stage(const char *dir, const GPtrArray *names, const char *arch);

#endif /* MMGATE_VM_H */
