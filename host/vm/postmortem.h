/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM whose kernel hangs or panicked can still be asked, before it is ended.
 */
#ifndef MMGATE_POSTMORTEM_H
#define MMGATE_POSTMORTEM_H

#include "kernel/kernel.h"

struct post_mortem;

/**
 * struct post_mortem_vm - the VM it is about, as its owner gives it
 * @kernel:	to name functions
 * @dir:	the VM's results folder; files go into post-mortem/ below it
 * @paused:	the guest has ended itself (a panic) and QEMU holds it: its registers are there, and it is not woken
 * @nmi:	an NMI makes this kernel say where it is
 * @dump:	also write its memory
 * @memory:	bytes of it, at most
 * @scale:	times are multiplied by it
 * @monitor:	sends a command to QEMU's monitor and takes it over
 * @type:	types into the guest's console
 * @data:	for both
 */
struct post_mortem_vm {
	const struct kernel *kernel;
	const char *dir;
	bool paused, nmi, dump;
	uint64_t memory;
	int scale;
	void (*monitor)(json_t *command, void *data);
	void (*type)(const char *text, void *data);
	void *data;
};

/* Begin; @now as g_get_monotonic_time() has it.  @vm is copied, what it points to has to stay. */
struct post_mortem *post_mortem_begin(const struct post_mortem_vm *vm, gint64 now);
/*
 * An answer of QEMU's monitor.  True where its "id" is one of ours, whether it was waited for or
 * not: strings, so that they are told from the numbers of the guest's own requests.
 */
bool post_mortem_reply(struct post_mortem *pm, const json_t *message, gint64 now);
/* The guest said something on its console */
void post_mortem_said(struct post_mortem *pm, gint64 now);
/* The guest ended itself: nothing that needs it to run is asked any more */
void post_mortem_ended(struct post_mortem *pm);
/* True once there is no more to ask, or the time is up; call it now and then */
bool post_mortem_done(struct post_mortem *pm, gint64 now);
/* True once the guest was stopped or spoken to: until then it may come back as if nothing had been */
bool post_mortem_touched(const struct post_mortem *pm);
/* True once QEMU's monitor answered: else it is not the guest alone that does not */
bool post_mortem_answered(const struct post_mortem *pm);
/*
 * Write the files, from what was answered and from what the console said (@console, @len
 * bytes, NUL-terminated; what came after the first @before of them was said to us).  Returns the member "post_mortem" of a
 * boot (docs/results.schema.json).
 */
json_t *post_mortem_write(struct post_mortem *pm, const char *console, gsize len, gsize before);
/* "CPU 0 is in shrink_node, called by ...", from what post_mortem_write() gave, g_free() it; NULL where nothing is known */
char *post_mortem_where(const json_t *post_mortem);
void post_mortem_free(struct post_mortem *pm);

/*
 * The function that a panic came from, g_free() it: the last oops before it on the console @text, else
 * who called panic() by the stacks in @post_mortem (which may be NULL); NULL where neither tells.
 */
char *post_mortem_panicked_in(const char *text, const json_t *post_mortem);

#endif /* MMGATE_POSTMORTEM_H */
