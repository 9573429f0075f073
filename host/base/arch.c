// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between architectures, for the whole host program.
 */
#include "base/arch.h"

#include <elf.h>
#include <glib.h>
#include <string.h>
#include <sys/utsname.h>

#ifndef EM_RISCV
#define EM_RISCV 243
#endif
#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

static const struct arch archs[] = {
	{
		.name = "x86_64", .aliases = { "amd64", "x86" },
		.deb = "amd64", .flavour = "amd64", .kbuild = "x86_64", .elf = EM_X86_64,
		.qemu = "qemu-system-x86_64", .machine = "q35",
		/* TCG emulates AMD's SVM with nested paging, and no VMX */
		.cpu = "max,svm=on",
		/*
		 * With one host thread a vCPU, TCG crashes kernels that patch their text while
		 * another CPU runs it (int3 oops early in boot, seen with QEMU 7.2 and Linux 6.12).
		 */
		.tcg = ",thread=single",
		.console = "console=ttyS0 earlyprintk=ttyS0",
		.kvm = { "kvm", "kvm_amd" },
		.images = { "arch/x86/boot/bzImage" },
		.cross = { "x86_64-linux-gnu-", "x86_64-suse-linux-" },
		.package = "gcc-x86-64-linux-gnu",
	},
	{
		.name = "arm64", .aliases = { "aarch64" },
		.deb = "arm64", .flavour = "arm64", .kbuild = "arm64", .elf = EM_AARCH64,
		.qemu = "qemu-system-aarch64", .machine = "virt,virtualization=on,gic-version=3",
		/* sets accessed flags in hardware, and spends no time on signing pointers as max does */
		.cpu = "cortex-a76", .tcg = ",thread=multi",
		.console = "console=ttyAMA0 earlycon",
		.kvm = { "kvm" },
		.images = { "arch/arm64/boot/Image", "arch/arm64/boot/Image.gz",
			    "arch/arm64/boot/vmlinuz.efi" },
		.cross = { "aarch64-linux-gnu-", "aarch64-suse-linux-" },
		.package = "gcc-aarch64-linux-gnu",
	},
	{
		.name = "riscv64", .aliases = { "riscv" },
		.deb = "riscv64", .flavour = "riscv64", .suite = "trixie", .kbuild = "riscv",
		.elf = EM_RISCV,
		.qemu = "qemu-system-riscv64", .machine = "virt",
		.cpu = "rv64,h=true", .tcg = ",thread=multi",
		.console = "console=ttyS0 earlycon",
		.kvm = { "kvm" },
		.images = { "arch/riscv/boot/Image", "arch/riscv/boot/Image.gz" },
		.cross = { "riscv64-linux-gnu-", "riscv64-suse-linux-" },
		.package = "gcc-riscv64-linux-gnu",
	},
	{
		.name = "ppc64el", .aliases = { "ppc64le", "powerpc64le", "powerpc" },
		.deb = "ppc64el", .flavour = "powerpc64le", .suite = "bookworm-backports",
		.kbuild = "powerpc", .elf = EM_PPC64, .vmlinux = true,
		.qemu = "qemu-system-ppc64", .machine = "pseries,cap-nested-hv=on",
		.cpu = "power9", .tcg = ",thread=multi",
		.console = "console=hvc0",
		.kvm = { "kvm_hv" },
		.images = { "vmlinux" },
		.cross = { "powerpc64le-linux-gnu-" },
		.package = "gcc-powerpc64le-linux-gnu",
	},
	{
		.name = "s390x", .aliases = { "s390" },
		.deb = "s390x", .flavour = "s390x", .suite = "bookworm-backports", .kbuild = "s390",
		.elf = EM_S390,
		.why_not = "QEMU emulates no SIE, so no guest of it has /dev/kvm: it takes an s390x machine (or an LPAR or z/VM guest with SIE) and --kernel host there",
		.cross = { "s390x-linux-gnu-", "s390x-suse-linux-" },
		.package = "gcc-s390x-linux-gnu",
	},
	{
		.name = "loong64", .aliases = { "loongarch64", "loongarch" },
		.deb = "loong64", .flavour = "loong64", .suite = "unstable", .kbuild = "loongarch",
		.elf = EM_LOONGARCH,
		.why_not = "QEMU emulates no LVZ, so no guest of it has /dev/kvm: it takes a 3A5000 or later and --kernel host there",
		.cross = { "loongarch64-linux-gnu-" },
		.package = "gcc-loongarch64-linux-gnu",
	},
};

const struct arch *arch_all(unsigned int *n)
{
	*n = G_N_ELEMENTS(archs);
	return archs;
}

const struct arch *arch_find(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(archs); i++)
		if (!strcmp(archs[i].name, name) || g_strv_contains(archs[i].aliases, name))
			return &archs[i];
	return NULL;
}

const struct arch *arch_of_elf(uint16_t machine)
{
	for (size_t i = 0; i < G_N_ELEMENTS(archs); i++)
		if (archs[i].elf == machine)
			return &archs[i];
	return NULL;
}

const struct arch *arch_host(void)
{
	static struct utsname u;
	static struct arch unknown;
	const struct arch *a;

	if (!u.machine[0])
		uname(&u);
	a = arch_find(u.machine);
	if (a)
		return a;
	unknown.name = u.machine;
	unknown.why_not = "nothing is known of it";
	return &unknown;
}

const char *arch_cross(const struct arch *a)
{
	const char *env = g_getenv("MMGATE_CROSS_COMPILE");

	if (a == arch_host())
		return "";
	if (env && *env)
		return env;
	for (size_t i = 0; a->cross[i]; i++) {
		g_autofree char *gcc = g_strconcat(a->cross[i], "gcc", NULL);
		g_autofree char *path = g_find_program_in_path(gcc);

		if (path)
			return a->cross[i];
	}
	return a->cross[0] ?: "";
}
