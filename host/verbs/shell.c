// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb shell: the tests' VM with the host's own files (read-only below,
 * what is written stays in the guest) and a shell on its console.
 */
#include "base/arch.h"
#include "base/scratch.h"
#include "verbs/verbs.h"

#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool ended;

static void on_ended(struct vm *vm, void *data)
{
	(void)vm;
	(void)data;
	ended = true;
}

/*
 * One word is a command line for the shell; several are a program and its arguments,
 * and stay the words they are.  A plan has a line for each thing, hence the escapes.
 */
static void add_command(GString *plan, const GPtrArray *args)
{
	GString *s = g_string_new(args->pdata[0]);
	guint i;

	if (args->len > 1)
		g_string_truncate(s, 0);
	for (i = 0; args->len > 1 && i < args->len; i++) {
		char *quoted = g_shell_quote(args->pdata[i]);

		g_string_append_printf(s, "%s%s", i ? " " : "", quoted);
		g_free(quoted);
	}
	g_string_replace(s, "\\", "\\\\", 0);
	g_string_replace(s, "\n", "\\n", 0);
	g_string_append_printf(plan, "command %s\n", s->str);
	g_string_free(s, TRUE);
}

/* What the shell's boot adds to the plan of its machine */
static char *shell_plan(const struct cli *cli, const struct kernel *k, const char *built)
{
	char *cwd = g_get_current_dir();
	GString *s = g_string_new("hostroot host /newroot\nenv TERM=linux\n");
	char *note = g_build_filename(built, "objects", NULL), *objects = NULL;

	g_file_get_contents(note, &objects, NULL, NULL);
	g_string_append_printf(s, "env KSRC=%s\nenv OUTPUT=%s\nshell %s\n", k->ksrc, objects ?: built, cwd);
	g_free(objects);
	g_free(note);
	if (cli->args->len)
		add_command(s, cli->args);
	g_free(cwd);
	return g_string_free(s, FALSE);
}

static void shell_test_free(gpointer planned)
{
	struct planned *p = planned;

	catalog_test_free((struct test *)p->test);
	g_ptr_array_unref(p->cases);
	g_free(p);
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
	if (!bp->machine) {
		g_free(bp);
		return NULL;
	}
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
	bp->tests = g_ptr_array_new_with_free_func(shell_test_free);
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
	if (vm->state != STATE_GOODBYE) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the VM ended as %s: %s", state_name(vm->state), vm->reason);
		return MMG_EXIT_BROKEN;
	}
	return vm->shell_status;
}

/* The ELF file with symbols that @k was made with, g_free() it; NULL where it is not here */
static char *find_vmlinux(const struct kernel *k)
{
	g_autofree char *dir = g_path_get_dirname(k->image), *name = g_strconcat("vmlinux-", k->release, NULL);
	/* a build tree's from its boot image, and what a package of debug symbols installs */
	char *const paths[] = {
		g_build_filename(dir, "vmlinux", NULL),
		g_build_filename(dir, "..", "..", "..", "vmlinux", NULL),
		g_build_filename("/usr/lib/debug/boot", name, NULL),
		g_build_filename("/usr/lib/debug/lib/modules", k->release, "vmlinux", NULL),
	};
	char *found = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
		if (!found && g_file_test(paths[i], G_FILE_TEST_IS_REGULAR))
			found = g_canonicalize_filename(paths[i], NULL);
		g_free(paths[i]);
	}
	return found;
}

/* How somebody gets at the VM with gdb, in another terminal */
static void say_gdb(const struct vm *vm)
{
	g_autofree char *vmlinux = find_vmlinux(vm->kernel), *quoted = vmlinux ? g_shell_quote(vmlinux) : NULL;
	const char *arch = arch_host() == arch_find(vm->kernel->arch) ? "gdb" : "gdb-multiarch";

	status_note("in another terminal: %s %s%s-ex 'target remote %s'%s", arch, quoted ?: "", quoted ? " " : "",
		    vm->gdb, vm->halt ? "; the kernel waits for its 'continue'" : "");
	if (!vmlinux)
		status_note("no vmlinux with symbols of %s is here: Debian's are in the package linux-image-%s-dbg",
			    vm->kernel->label, vm->kernel->release);
}

/* The socket for gdb, g_free() it; NULL with *@err where its name is too long for one */
static char *gdb_socket(const char *dir, GError **err)
{
	char *path = g_build_filename(dir, "gdb", NULL);

	if (strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path))
		return path;
	mmg_set_error(err, MMG_EXIT_USAGE, "--gdb: %s is too long for a socket; set XDG_CACHE_HOME to a shorter path",
		      path);
	g_free(path);
	return NULL;
}

/* Boot @k as @bp says, with a shell; its exit status, or ours with *@err */
static int boot_shell(struct cli *cli, const struct kernel *k, struct boot_plan *bp, const char *built,
		      const char *dir, GError **err)
{
	struct vm *vm = g_new0(struct vm, 1);
	struct accel *accel = accel_choose(cli->accel, k->arch, err);
	char *extra = shell_plan(cli, k, built);
	int status = MMG_EXIT_BROKEN;
	g_autofree char *gdb = cli->gdb ? gdb_socket(dir, err) : NULL;
	GPtrArray *files = NULL;

	vm->gdb = gdb;
	vm->halt = cli->halt;
	vm->kernel = k;
	vm->machine = bp->machine;
	vm->dir = g_strdup(dir);
	vm->interactive = true;
	vm->ended = on_ended;
	vm->accel = accel;
	vm->initramfs = g_build_filename(dir, "initramfs.cpio", NULL);
	if (accel && (gdb || !cli->gdb)) {
		vm->append = plan_append(bp, k, !strcmp(accel->name, "tcg"), cli->verbose > 1);
		if (gdb) {
			/* where vmlinux says that it is */
			char *more = g_strconcat(vm->append, " nokaslr", NULL);

			g_free(vm->append);
			vm->append = more;
		}
		files = plan_files(bp, k, built, !strcmp(accel->name, "kvm"), cli->seed, cli->shuffle, extra, NULL, err);
	}
	if (files && initramfs_pack(files, vm->initramfs, NULL, err) && vm_command(vm, err)) {
		status_set("booting %s on %s (%s: %s); the tests are in %s, the source in %s; leave with exit",
			   k->label, bp->machine->name, accel->name, accel->reason, built, k->ksrc);
		status_clear();
		if (gdb)
			say_gdb(vm);
		status = cli->dry_run ? MMG_EXIT_OK : turn(vm, err);
	}
	if (files)
		g_ptr_array_unref(files);
	g_free(extra);
	vm_free(vm);
	accel_free(accel);
	return status;
}

int verb_shell(struct cli *cli, GError **err)
{
	GPtrArray *kernels = cli_kernels(cli, err), *catalog = NULL;
	const struct kernel_options how = cli_kernel(cli);
	struct boot_plan *bp = NULL;
	int status = MMG_EXIT_BROKEN;
	char *built = NULL, *dir = NULL;
	struct kernel *k;

	if (!kernels)
		return status;
	k = kernels->pdata[0];
	if (k->host || kernels->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "shell boots one kernel in a VM");
		goto out;
	}
	if (cli->halt && !cli->gdb) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--halt needs --gdb: nobody else could wake the kernel");
		goto out;
	}
	catalog = catalog_load(err);
	bp = catalog ? shell_boot(cli, catalog, err) : NULL;
	if (bp && kernel_find_ksrc(&how, k, err))
		built = selftests_build(k, err);
	if (!built)
		goto out;
	kernel_unpack(k);
	dir = scratch_dir("shell", err);
	if (dir)
		status = boot_shell(cli, k, bp, built, dir, err);
out:
	if (dir)
		mmg_rmtree(dir);
	if (bp)
		boot_plan_free(bp);
	if (catalog)
		g_ptr_array_unref(catalog);
	g_free(built);
	g_free(dir);
	g_ptr_array_unref(kernels);
	return status;
}
