// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb shell: the tests' VM with the host's own files (read-only below,
 * what is written stays in the guest) and a shell on its console.
 */
#include "suite.h"

#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ended;

static void on_ended(struct vm *vm, void *data)
{
	(void)vm;
	(void)data;
	ended = true;
}

/* What the shell's boot adds to the plan of its machine */
static char *shell_plan(const struct cli *cli, const struct kernel *k, const char *built)
{
	char *cwd = g_get_current_dir();
	GString *s = g_string_new("hostroot host /newroot\nenv TERM=linux\n");
	char *note = g_build_filename(built, "objects", NULL), *objects = NULL;
	guint i;

	g_file_get_contents(note, &objects, NULL, NULL);
	g_string_append_printf(s, "env KSRC=%s\nenv OUTPUT=%s\nshell %s", k->ksrc, objects ?: built, cwd);
	g_free(objects);
	g_free(note);
	for (i = 0; i < cli->args->len; i++)
		g_string_append_printf(s, " %s", (char *)cli->args->pdata[i]);
	g_string_append_c(s, '\n');
	g_free(cwd);
	return g_string_free(s, FALSE);
}

/* The machine, with modules for the host's files beside those of all tests */
static struct boot_plan *shell_boot(const struct cli *cli, GPtrArray *catalog, GError **err)
{
	static const char *const more[] = { "9p", "9pnet_virtio", "overlay" };
	const char *name = cli->machines->len ? cli->machines->pdata[0] : "default";
	struct boot_plan *bp = g_new0(struct boot_plan, 1);
	struct planned *p;
	struct test *t;
	guint i, j;

	bp->machine = machine_load(name, err);
	if (!bp->machine)
		return NULL;
	t = catalog_parse("shell", "");
	for (i = 0; i < catalog->len; i++) {
		const struct test *other = catalog->pdata[i];

		for (j = 0; j < other->modules->len; j++)
			g_ptr_array_add(t->modules, g_strdup(other->modules->pdata[j]));
	}
	for (i = 0; i < G_N_ELEMENTS(more); i++)
		g_ptr_array_add(t->modules, g_strdup(more[i]));
	p = g_new0(struct planned, 1);
	p->test = t;
	p->cases = g_ptr_array_new();
	bp->tests = g_ptr_array_new();
	g_ptr_array_add(bp->tests, p);
	return bp;
}

static int turn(struct vm *vm, GError **err)
{
	if (!vm_start(vm, err))
		return MMG_EXIT_BROKEN;
	while (!ended)
		g_main_context_iteration(NULL, TRUE);
	if (mmg_check_interrupt(err))
		return MMG_EXIT_INTERRUPTED;
	if (vm->trouble->len)
		fprintf(stderr, "mmgate: PID 1 had trouble: %s", vm->trouble->str);
	if (strcmp(vm->state, "goodbye")) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the VM ended as %s: %s", vm->state, vm->reason);
		return MMG_EXIT_BROKEN;
	}
	return vm->shell_status;
}

int verb_shell(struct cli *cli, GError **err)
{
	GPtrArray *kernels = run_kernels(cli, err), *catalog, *files;
	int status = MMG_EXIT_BROKEN;
	struct vm *vm = NULL;
	struct boot_plan *bp;
	struct kernel *k;
	char *built, *extra, *dir;

	if (!kernels)
		return status;
	k = kernels->pdata[0];
	if (k->host || kernels->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "shell boots one kernel in a VM");
		return MMG_EXIT_USAGE;
	}
	catalog = catalog_load(err);
	bp = catalog ? shell_boot(cli, catalog, err) : NULL;
	if (!bp || !kernel_find_ksrc(cli, k, err))
		return status;
	built = selftests_build(cli, k, err);
	dir = g_dir_make_tmp("mmgate-shell-XXXXXX", err);
	if (!built || !dir)
		return status;
	vm = g_new0(struct vm, 1);
	vm->kernel = k;
	vm->machine = bp->machine;
	vm->dir = dir;
	vm->interactive = true;
	vm->ended = on_ended;
	vm->accel = accel_choose(cli, k->arch, err);
	if (!vm->accel)
		goto out;
	vm->append = plan_append(bp, k, !strcmp(vm->accel->name, "tcg"), cli->verbose > 1);
	vm->initramfs = g_build_filename(dir, "initramfs.cpio", NULL);
	extra = shell_plan(cli, k, built);
	files = plan_files(bp, k, built, !strcmp(vm->accel->name, "kvm"), cli, extra, NULL, err);
	g_free(extra);
	if (!files || !initramfs_pack(files, vm->initramfs, NULL, err) || !vm_command(vm, err))
		goto out;
	status_set("booting %s on %s (%s: %s); the tests are in %s, the source in %s; leave with exit",
		   k->label, bp->machine->name, vm->accel->name, vm->accel->reason, built, k->ksrc);
	status_clear();
	if (cli->dry_run) {
		status = MMG_EXIT_OK;
		goto out;
	}
	status = turn(vm, err);
out:
	mmg_rmtree(dir);
	vm_free(vm);
	g_ptr_array_unref(kernels);
	return status;
}
