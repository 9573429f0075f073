/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The architectures whose kernels can be tested: the one table of their names in
 * Debian, the kernel and QEMU, and of how each is booted.
 */
#ifndef MMGATE_ARCH_H
#define MMGATE_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct arch - one architecture
 * @name:	as --arch, run.json and the file names of configs have it
 * @aliases:	further words that mean it (uname -m, Debian's, the kernel's), NULL-terminated
 * @deb:	Debian's word
 * @flavour:	last word of Debian's plain kernels, "linux-image-6.12.117-FLAVOUR"
 * @suite:	Debian suite to take kernels from where none is named and the host's own may have
 *		none of this architecture, or NULL
 * @kbuild:	ARCH= of the kernel's build
 * @elf:	e_machine of its ELF files
 * @vmlinux:	its kernel boots as a plain ELF vmlinux
 * @qemu:	QEMU's program, "qemu-system-riscv64"; NULL where no VM of it can have KVM under
 *		emulation, @why_not then says why and what hardware it needs
 * @machine:	QEMU's machine type with what KVM in the guest needs
 * @cpu:	CPU under TCG; that of KVM is always "host"
 * @tcg:	options of the TCG accelerator, with its comma
 * @console:	"console=" and early words of the command line
 * @kvm:	modules that make /dev/kvm under TCG, NULL-terminated
 * @images:	boot images in a build tree, in the order of their preference, NULL-terminated
 * @cross:	prefixes of the compiler for it on another host, NULL-terminated
 * @package:	Debian's package of the compiler
 */
struct arch {
	const char *name;
	const char *aliases[5];
	const char *deb, *flavour, *suite, *kbuild;
	uint16_t elf;
	bool vmlinux;
	const char *qemu, *why_not, *machine, *cpu, *tcg, *console;
	const char *kvm[4];
	const char *images[5];
	const char *cross[3];
	const char *package;
};

/* The row of @name, which may be an alias; NULL for one that is not known */
const struct arch *arch_find(const char *name);
/* The row of the running machine; one of its own name and nothing else where it is not known */
const struct arch *arch_host(void);
/* All rows, in the order in which --arch all takes them; *@n gets how many */
const struct arch *arch_all(unsigned int *n);
/* By e_machine of an ELF file; NULL where it is not known */
const struct arch *arch_of_elf(uint16_t machine);
/*
 * Prefix of the compiler for @a: MMGATE_CROSS_COMPILE, "" on its own machine, else the
 * first of the distributions' names that is in PATH, or the first at all.  Never NULL.
 */
const char *arch_cross(const struct arch *a);

#endif /* MMGATE_ARCH_H */
