// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb run: resolve the kernels, run the suite, write the reports.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One boot of @k as it would be, QEMU's command line last */
static bool show_boot(const struct cli *cli, const struct boot_plan *bp, const struct kernel *k,
		      GError **err)
{
	struct vm *vm;
	guint i;

	if (k && !cli->machines->len && !machine_has_arch(bp->machine, k->arch))
		return true;
	printf("  machine %s: %s\n", bp->machine->name, bp->machine->about);
	for (i = 0; i < bp->tests->len; i++)
		printf("    test %s\n", ((struct planned *)bp->tests->pdata[i])->test->name);
	if (!k || k->host)
		return true;
	vm = g_new0(struct vm, 1);
	vm->kernel = k;
	vm->machine = bp->machine;
	vm->accel = accel_choose(cli->accel, k->arch, err);
	if (vm->accel) {
		vm->initramfs = g_strdup("INITRAMFS");
		vm->append = plan_append(bp, k, !strcmp(vm->accel->name, "tcg"), 0);
		vm_dry_command(vm);
		for (i = 0; i < vm->argv->len; i++) {
			const char *word = vm->argv->pdata[i];
			char *quoted = strpbrk(word, " ;,*") ? g_shell_quote(word) : g_strdup(word);

			printf("%s%s", i ? " " : "    ", quoted);
			g_free(quoted);
		}
		putchar('\n');
		accel_free((struct accel *)vm->accel);
	}
	i = !!vm->argv;
	vm_free(vm);
	return i;
}

static bool show_kernel(const struct cli *cli, const GPtrArray *plan, const char *spec, bool asked_offline,
			GError **err)
{
	GError *e = NULL;
	const struct kernel_options how = cli_kernel(cli);
	struct kernel *k = kernel_resolve(&how, spec, &e);
	bool ok = true;
	guint m;

	if (!k && e->code == MMG_EXIT_USAGE) {
		g_propagate_error(err, e);
		return false;
	}
	g_clear_error(&e);
	if (k)
		printf("kernel %s: %s (%s), image %s\n", spec, k->release, k->arch, k->image ?: "-");
	else
		printf("kernel %s: %s\n", spec, asked_offline ? "not in the cache, and --offline asks for no network" :
		       "would be fetched and opened");
	if (k && kernel_find_ksrc(&how, k, NULL))
		printf("source %s\n", k->ksrc);
	for (m = 0; ok && m < plan->len; m++)
		ok = show_boot(cli, plan->pdata[m], k, err);
	if (k)
		kernel_free(k);
	return ok;
}

static int dry_run(struct cli *cli, GError **err)
{
	GPtrArray *catalog = catalog_load(err), *plan = NULL;
	int status = MMG_EXIT_OK;
	bool offline = cli->offline;
	guint i;

	if (catalog)
		plan = plan_make(catalog, cli->tests, cli->machines, err);
	if (!plan)
		status = MMG_EXIT_USAGE;
	cli->offline = true;
	for (i = 0; plan && !status && i < MAX(cli->kernels->len, 1); i++)
		if (!show_kernel(cli, plan, cli->kernels->len ? cli->kernels->pdata[i] : DEFAULT_KERNEL,
				 offline, err))
			status = MMG_EXIT_BROKEN;
	if (plan)
		g_ptr_array_unref(plan);
	if (catalog)
		g_ptr_array_unref(catalog);
	return status;
}

/* Said now rather than after minutes of fetching and building */
static bool out_can_be(const char *out, GError **err)
{
	char *at = g_canonicalize_filename(out, NULL), *up;
	bool ok;

	while (strlen(at) > 1 && !g_file_test(at, G_FILE_TEST_EXISTS)) {
		up = g_path_get_dirname(at);
		g_free(at);
		at = up;
	}
	ok = g_file_test(at, G_FILE_TEST_IS_DIR) && !access(at, W_OK | X_OK);
	if (!ok)
		mmg_set_error(err, MMG_EXIT_BROKEN, "--out %s cannot be made: %s is no folder that can be written to",
			      out, at);
	g_free(at);
	return ok;
}

/* What the command line gets wrong is said before anything is fetched or built */
static bool check_usage(const struct cli *cli, GError **err)
{
	GPtrArray *catalog = catalog_load(err), *plan = NULL;

	if (catalog)
		plan = plan_make(catalog, cli->tests, cli->machines, err);
	if (plan)
		g_ptr_array_unref(plan);
	if (catalog)
		g_ptr_array_unref(catalog);
	if (plan && cli->out && !cli->resume && g_file_test(cli->out, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--out %s exists: name a folder that does not exist yet",
			      cli->out);
		return false;
	}
	return plan && (!cli->out || out_can_be(cli->out, err));
}

int verb_run(struct cli *cli, GError **err)
{
	struct suite s = { .opt = cli_run(cli), .tests = cli->tests, .machines = cli->machines,
			   .repeat = MAX(cli->repeat, 1), .verb = "run" };
	char *dir = NULL;
	int status = MMG_EXIT_BROKEN;
	json_t *run;

	if (!check_usage(cli, err))
		return MMG_EXIT_USAGE;
	if (cli->dry_run)
		return dry_run(cli, err);
	s.kernels = cli_kernels(cli, err);
	if (!s.kernels)
		return MMG_EXIT_BROKEN;
	run = suite_run(&s, &dir, err);
	if (run)
		status = cli_reports(cli, run, dir, err);
	json_decref(run);
	g_free(dir);
	g_ptr_array_unref(s.kernels);
	return status;
}
