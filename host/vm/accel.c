// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which accelerator guests run under, and why: the tests need KVM inside the
 * guest, so KVM on the host is of use only with nested virtualization.
 */
#include "base/arch.h"
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* NULL where KVM can carry a guest that has KVM itself, else the reason why not; g_free() it */
static char *why_not_kvm(const char *arch)
{
	static const char *const params[] = {
		"/sys/module/kvm_intel/parameters/nested", "/sys/module/kvm_amd/parameters/nested",
	};
	size_t i;
	int fd;

	if (strcmp(arch, arch_host()->name))
		return g_strdup_printf("the guest is %s, the host %s", arch, arch_host()->name);
	fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return g_strdup_printf("/dev/kvm: %s%s", g_strerror(errno), errno == EACCES ?
				       " (join the group that owns it)" : "");
	close(fd);
	if (strcmp(arch, "x86_64"))
		return g_strdup("nested virtualization is not known to work on this architecture");
	for (i = 0; i < G_N_ELEMENTS(params); i++) {
		char *v = NULL;
		bool on = g_file_get_contents(params[i], &v, NULL, NULL) &&
			  (v[0] == 'Y' || v[0] == '1');

		g_free(v);
		if (on)
			return NULL;
	}
	return g_strdup("nested virtualization is off (load kvm_intel or kvm_amd with nested=1)");
}

static char *qemu_version(const char *qemu, GError **err)
{
	const char *const argv[] = { qemu, "--version", NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "asking QEMU its version", .argv = argv, .out = out };
	char *version = NULL, *at;

	if (mmg_run(&cmd, err)) {
		at = strstr(out->str, "version ");
		version = at ? g_strndup(at + 8, strspn(at + 8, "0123456789.")) : g_strdup("unknown");
	}
	g_string_free(out, TRUE);
	return version;
}

struct accel *accel_choose(const char *want, const char *arch, GError **err)
{
	const struct arch *row = arch_find(arch);
	struct accel *a;
	char *why, *path;

	want = want ?: "auto";
	if (!row || !row->qemu) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "no VM for kernels of %s: %s", arch,
			      row ? row->why_not : "nothing is known of it");
		return NULL;
	}
	a = g_new0(struct accel, 1);
	a->qemu = g_strdup(row->qemu);
	path = g_find_program_in_path(a->qemu);
	if (!path) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "QEMU for %s: no %s in PATH; ./run.sh doctor names its package, ./run.sh -y installs it",
			      arch, a->qemu);
		accel_free(a);
		return NULL;
	}
	g_free(path);
	a->version = qemu_version(a->qemu, err);
	if (!a->version) {
		accel_free(a);
		return NULL;
	}
	why = why_not_kvm(arch);
	if (!strcmp(want, "kvm") && why) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "--accel kvm: %s; leave it out to run under TCG", why);
		g_free(why);
		accel_free(a);
		return NULL;
	}
	if (!strcmp(want, "tcg") || why) {
		a->name = g_strdup("tcg");
		a->reason = strcmp(want, "tcg") ? why : g_strdup("asked for");
		if (a->reason != why)
			g_free(why);
	} else {
		a->name = g_strdup("kvm");
		a->reason = g_strdup("/dev/kvm works and nested virtualization is on");
	}
	return a;
}

void accel_free(struct accel *a)
{
	if (!a)
		return;
	g_free(a->qemu);
	g_free(a->version);
	g_free(a->name);
	g_free(a->reason);
	g_free(a);
}
