// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb bench: workloads run on kernels in turn, their figures as medians
 * and ratios with bounds.  What is measured lies in selftests/bench.
 */
#include "verbs/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void column_free(gpointer p)
{
	struct bench_column *c = p;

	g_free(c->title);
	g_free(c);
}

static const char *label(const json_t *run, size_t kernel)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(run, "kernels"), kernel),
						 "label"));
}

/* ---- table and ratios ---- */

static void print_number(double v)
{
	if (isnan(v))
		printf("  %14s", "-");
	else
		printf("  %14.*f", fabs(v) < 100 ? 2 : 0, v);
}

static void table(const struct bench *b, const json_t *run, const GPtrArray *columns, json_t *out)
{
	printf("\n%s: %s\n\n  %-34s", b->name, b->about, "median of the runs");
	for (guint i = 0; i < columns->len; i++)
		printf("  %14.14s", ((struct bench_column *)columns->pdata[i])->title);
	printf("%s\n", columns->len > 1 ? "  first / second [95 % bounds]" : "");
	for (const struct bench_figure *f = b->figures; f->metric; f++) {
		json_t *row = json_pack("{s:s, s:s, s:[]}", "name", f->metric, "title", f->title, "values");

		printf("  %-34s", f->title);
		for (guint i = 0; i < columns->len; i++) {
			double m = bench_column_median(run, columns->pdata[i], f->metric);

			print_number(m);
			json_array_append_new(json_object_get(row, "values"),
					      isnan(m) ? json_null() : json_real(m));
		}
		if (f->ratio && columns->len > 1) {
			struct bench_ratio r = bench_column_ratio(run, columns->pdata[0],
								  columns->pdata[1], f->metric);

			if (!isnan(r.value))
				printf("  %.2f [%.2f, %.2f]", r.value, r.lo, r.hi);
			bench_add_ratio(out, f->metric, f->title, &r);
		}
		printf("\n");
		json_array_append_new(json_object_get(out, "figures"), row);
	}
}

/* The first figure of each run, a series a column */
static void add_series(const struct bench *b, const json_t *run, const GPtrArray *columns, json_t *out)
{
	for (guint i = 0; i < columns->len; i++) {
		const struct bench_column *c = columns->pdata[i];
		GArray *v = bench_values(run, c->name, c->kernel, b->figures[0].metric);
		json_t *points = json_array();

		for (guint n = 0; n < v->len; n++)
			json_array_append_new(points, json_pack("[i, f]", n + 1,
								g_array_index(v, double, n)));
		bench_add_series(out, "runs", c->title, "run", b->figures[0].title, points);
		g_array_unref(v);
	}
}

/* ---- randread ---- */

static const char *const randread_tests[] = {
	"bench/randread/classic", "bench/randread/classic-no-reserve", NULL
};

static const char *const randread_machines[] = { "bench-randread-fio", NULL };

static const struct bench_figure randread_figures[] = {
	{ "kswapd_scan_per_mib", "pages kswapd scans for a MiB read", true },
	{ "scan_per_mib", "the same with direct reclaim", true },
	{ "pgscan_kswapd", "pgscan_kswapd", false },
	{ "pgscan_direct", "pgscan_direct", false },
	{ "pgsteal_kswapd", "pgsteal_kswapd", false },
	{ "pgskip_normal", "pgskip_normal", false },
	{ "pageoutrun", "kswapd runs (pageoutrun)", false },
	{ "allocstall_dma32", "allocstall_dma32", false },
	{ "kswapd_cpu_s", "kswapd's processor seconds", true },
	{ "mib_per_s", "MiB read a second", true },
	{ "fio_reads_per_s", "fio's reads of 64 KiB a second", true },
	{ "read_mib", "MiB read", false },
	{ }
};

/* Of two kernels the first is taken for the one with the bug; one kernel is compared with itself bared */
static void randread_columns(const json_t *run, GPtrArray *columns)
{
	if (json_array_size(json_object_get(run, "kernels")) > 1) {
		bench_add_column(columns, g_strdup(label(run, 0)), randread_tests[0], 0);
		bench_add_column(columns, g_strdup(label(run, 1)), randread_tests[0], 1);
		return;
	}
	bench_add_column(columns, g_strdup("no reserve"), randread_tests[1], 0);
	bench_add_column(columns, g_strdup("reserve kept"), randread_tests[0], 0);
}

/* ---- residency ---- */

static const char *const residency_tests[] = { "bench/residency", NULL };

static const struct bench_figure residency_figures[] = {
	{ "scan_ns_per_page", "ns a page, PAGEMAP_SCAN", true },
	{ "pagemap_ns_per_page", "ns a page, pagemap in bulk", true },
	{ "pread_ns_per_page", "ns a page, a pread() each", false },
	{ "speedup", "times faster in bulk", false },
	{ }
};

static void residency_columns(const json_t *run, GPtrArray *columns)
{
	(void)run;
	bench_add_column(columns, g_strdup("1 GiB"), "bench/residency/1g", -1);
	bench_add_column(columns, g_strdup("64 MiB"), "bench/residency/64m", -1);
}

/* ---- boot ---- */

static const char *const boot_tests[] = {
	"bench/nothing", "kvm/eviction_order/anon-4k", "mm/lowmem_reserve/formula", NULL
};

static const char *const boot_machines[] = { "bench-bare", "default", NULL };

static const struct bench_figure boot_figures[] = {
	{ }
};

static void boot_columns(const json_t *run, GPtrArray *columns)
{
	(void)run;
	(void)columns;
}

static double num(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static bool boot_on(const json_t *boot, const char *machine)
{
	return !g_strcmp0(json_string_value(json_object_get(boot, "machine")), machine) &&
	       json_is_true(json_object_get(boot, "complete"));
}

/* Median over the boots on @machine of @part */
static double boot_median(const json_t *run, const char *machine, double (*part)(const json_t *boot),
			  guint *n)
{
	GArray *v = g_array_new(FALSE, FALSE, sizeof(double));
	json_t *b;
	size_t i;
	double m;

	json_array_foreach(json_object_get(run, "boots"), i, b) {
		if (boot_on(b, machine)) {
			double x = part(b);

			g_array_append_val(v, x);
		}
	}
	m = bench_median((double *)v->data, v->len);
	if (n)
		*n = v->len;
	g_array_unref(v);
	return m;
}

static double part_qemu(const json_t *b)
{
	return num(b, "qemu_s");
}

static double part_firmware(const json_t *b)
{
	return num(b, "firmware_s");
}

static double part_kernel(const json_t *b)
{
	return num(b, "kernel_s");
}

/* From its first moment to "ready": to hello, and what it sets up */
static double part_init(const json_t *b)
{
	return num(b, "ready_s") - num(b, "qemu_s") - num(b, "firmware_s") - num(b, "kernel_s");
}

/* Seconds inside the test @name, or all tests: from each "start" to its "end" */
static double seconds_in(const json_t *b, const char *name)
{
	double start = 0, sum = 0;
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(b, "events"), i, e) {
		const char *what = json_string_value(json_object_get(e, "what"));

		if (name && g_strcmp0(json_string_value(json_object_get(e, "name")), name))
			continue;
		if (!g_strcmp0(what, "start")) {
			start = num(e, "at_s");
		} else if (!g_strcmp0(what, "end") && start > 0) {
			sum += num(e, "at_s") - start;
			start = 0;
		}
	}
	return sum;
}

static double part_nothing(const json_t *b)
{
	return seconds_in(b, "bench/nothing");
}

static double part_order(const json_t *b)
{
	return seconds_in(b, "kvm/eviction_order");
}

static double part_formula(const json_t *b)
{
	return seconds_in(b, "mm/lowmem_reserve");
}

static double part_between(const json_t *b)
{
	return num(b, "goodbye_s") - num(b, "ready_s") - seconds_in(b, NULL);
}

static double part_off(const json_t *b)
{
	return num(b, "duration_s") - num(b, "goodbye_s");
}

static double part_all(const json_t *b)
{
	return num(b, "duration_s");
}

/* What the host program took beside the VMs, a boot: planning, packing, results */
static double host_seconds(const json_t *run)
{
	double vms = 0;
	json_t *b;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, b)
		vms += num(b, "duration_s");
	return (num(run, "duration_s") - vms) / MAX(json_array_size(json_object_get(run, "boots")), 1);
}

static void boot_figure(json_t *out, const char *name, const char *title, double bare, double full)
{
	printf("  %-40s  %10.2f  %10.2f\n", title, bare, full);
	if (!isnan(bare) && !isnan(full))
		json_array_append_new(json_object_get(out, "figures"),
				      json_pack("{s:s, s:s, s:[f,f]}", "name", name, "title", title,
						"values", bare, full));
}

/* anon-4k's question and its negative control, each with a VM of its own, and formula */
#define BOOT_EXPERIMENTS	3

static void boot_show(const json_t *run, json_t *out)
{
	static const struct bench_column anon_4k = { .name = "kvm/eviction_order/anon-4k", .kernel = -1 };
	static const struct {
		const char *name, *title;
		double (*part)(const json_t *boot);
	} parts[] = {
		{ "qemu_s", "QEMU, until it starts the machine", part_qemu },
		{ "firmware_s", "firmware, image unpacked", part_firmware },
		{ "kernel_s", "kernel, to PID 1", part_kernel },
		{ "init_s", "PID 1: modules, mounts, swap", part_init },
		{ "nothing_s", "bench/nothing", part_nothing },
		{ "eviction_order_s", "kvm/eviction_order/anon-4k", part_order },
		{ "lowmem_reserve_s", "mm/lowmem_reserve/formula", part_formula },
		{ "between_s", "between tests: results, artifacts", part_between },
		{ "off_s", "power-off, from goodbye to QEMU gone", part_off },
		{ "all_s", "all", part_all },
	};
	double bare = 0, full = 0, host = host_seconds(run);
	guint n;

	printf("\n  %-40s  %10s  %10s\n", "seconds, median of the boots", "bare", "with tests");
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
		bare = boot_median(run, boot_machines[0], parts[i].part, NULL);
		full = boot_median(run, boot_machines[1], parts[i].part, &n);
		boot_figure(out, parts[i].name, parts[i].title, bare, full);
		if (parts[i].part == part_order)
			boot_figure(out, "control_s", "  of this, its negative control", 0,
				    bench_column_median(run, &anon_4k, "control_s"));
	}
	boot_figure(out, "host_s", "host, beside the VM", host, host);
	if (isnan(bare) || isnan(full))
		return;
	printf("  with tests / bare: %.2f; %.2f s more for each of %d experiments (%u boots each)\n",
	       full / bare, (full - bare) / BOOT_EXPERIMENTS, BOOT_EXPERIMENTS, n);
	json_array_append_new(json_object_get(out, "ratios"),
			      json_pack("{s:s, s:s, s:f}", "name", "boot_over_bare", "title",
					"with tests / bare", "value", full / bare));
	json_array_append_new(json_object_get(out, "figures"),
			      json_pack("{s:s, s:s, s:[f,f]}", "name", "experiment_s", "title",
					"more for each experiment", "values", 0.0,
					(full - bare) / BOOT_EXPERIMENTS));
}

/* ---- the verb ---- */

static const struct bench benches[] = {
	{ "randread", "random reads beside a device that needs DMA32, with and without the reserve",
	  randread_tests, randread_machines, 5, randread_columns, randread_figures, NULL, NULL },
	{ "residency", "which pages are in memory, asked in bulk and page by page", residency_tests, NULL,
	  3, residency_columns, residency_figures, NULL, NULL },
	{ "boot", "where the time of a run goes", boot_tests, boot_machines, 3, boot_columns,
	  boot_figures, boot_show, NULL },
};

static const struct bench *const all_benches[] = {
	&benches[0], &bench_tabs, &bench_ageing, &benches[1], &benches[2],
};

static const struct bench *find(const char *name, GError **err)
{
	GString *names = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(all_benches); i++) {
		const struct bench *b = all_benches[i];

		if (!g_strcmp0(b->name, name)) {
			g_string_free(names, TRUE);
			return b;
		}
		g_string_append_printf(names, "%s%s (%s)", i ? ", " : "", b->name, b->about);
	}
	mmg_set_error(err, MMG_EXIT_USAGE, "no benchmark %s; there are: %s", name, names->str);
	g_string_free(names, TRUE);
	return NULL;
}

static GPtrArray *list_of(const char *const *words)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (; words && *words; words++)
		g_ptr_array_add(list, g_strdup(*words));
	return list;
}

static json_t *summary(const struct bench *b, const json_t *run)
{
	GPtrArray *columns = g_ptr_array_new_with_free_func(column_free);
	json_t *out = json_pack("{s:s, s:s, s:[], s:[], s:[], s:[]}", "name", b->name, "about", b->about,
				"columns", "figures", "ratios", "series");

	b->columns(run, columns);
	for (guint i = 0; i < columns->len; i++)
		json_array_append_new(json_object_get(out, "columns"),
				      json_string(((struct bench_column *)columns->pdata[i])->title));
	if (b->figures->metric) {
		table(b, run, columns, out);
		add_series(b, run, columns, out);
	}
	if (b->show)
		b->show(run, out);
	printf("\n");
	g_ptr_array_unref(columns);
	return out;
}

static int finish(struct cli *cli, const struct bench *b, json_t *run, const char *dir, GError **err)
{
	json_object_set_new(run, "bench", summary(b, run));
	if (!results_save(run, dir, err))
		return MMG_EXIT_BROKEN;
	return cli_reports(cli, run, dir, err);
}

static void print_list(const char *what, const GPtrArray *list)
{
	for (guint i = 0; i < list->len; i++)
		printf("  %-8s %s\n", what, (char *)list->pdata[i]);
}

static int bench_dry_run(const struct cli *cli, const struct bench *b)
{
	GPtrArray *tests = list_of(b->tests), *machines = list_of(b->machines);

	printf("bench %s: %s\n", b->name, b->about);
	if (cli->kernels->len)
		print_list("kernel", cli->kernels);
	else if (b->gate)
		printf("  kernels  base and patched of gate %s, built where they are not in the cache\n", b->gate);
	else
		printf("  kernel   %s\n", DEFAULT_KERNEL);
	print_list("test", tests);
	print_list("machine", cli->machines->len ? cli->machines : machines);
	printf("  runs     %d of each, in turn\n", cli->repeat ?: b->repeat);
	g_ptr_array_unref(tests);
	g_ptr_array_unref(machines);
	return MMG_EXIT_OK;
}

/* The kernels named, or those of its gate, or the default one */
int verb_bench(struct cli *cli, GError **err)
{
	const struct gate_options opt = cli_gate(cli);
	const struct bench *b;
	GPtrArray *kernels, *tests, *machines;
	int status = MMG_EXIT_BROKEN;
	char *dir = NULL;
	json_t *run = NULL;

	if (cli->args->len != 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "bench takes one name: randread, "
			      "tab-latency, ageing, residency or boot");
		return MMG_EXIT_USAGE;
	}
	b = find(cli->args->pdata[0], err);
	if (!b)
		return MMG_EXIT_USAGE;
	if (cli->dry_run)
		return bench_dry_run(cli, b);
	kernels = b->gate && !cli->kernels->len ? gate_kernels(&opt, b->gate, err) : cli_kernels(cli, err);
	if (!kernels)
		return MMG_EXIT_BROKEN;
	tests = list_of(b->tests);
	/* the bug itself is in the first of two kernels: nothing need be bared */
	if (!strcmp(b->name, "randread") && kernels->len > 1)
		g_ptr_array_set_size(tests, 1);
	machines = list_of(b->machines);
	if (cli->machines->len) {
		g_ptr_array_set_size(machines, 0);
		for (guint i = 0; i < cli->machines->len; i++)
			g_ptr_array_add(machines, g_strdup(cli->machines->pdata[i]));
	}
	cli->jobs = 1;		/* two VMs at once would measure each other */
	{
		struct suite s = {
			.opt = cli_run(cli), .kernels = kernels, .tests = tests, .machines = machines,
			.repeat = cli->repeat ?: b->repeat, .one_seed = true, .verb = "bench",
		};

		run = suite_run(&s, &dir, err);
	}
	if (run)
		status = finish(cli, b, run, dir, err);
	json_decref(run);
	g_free(dir);
	g_ptr_array_unref(tests);
	g_ptr_array_unref(machines);
	g_ptr_array_unref(kernels);
	return status;
}
