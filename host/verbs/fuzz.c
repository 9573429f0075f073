// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb fuzz: random machine files, the zone tests on each of them in an order of its own.
 * On a kernel known to be good anything but a pass or a skip with a reason is a finding:
 * a bound of ours that only fits the machines it was made on, or a defect.
 */
#include "run/run.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_COUNT	10
#define MAX_COUNT	1000
#define NODE_MIB	80	/* what a node needs to be worth having */
#define BOOT_MIB	112	/* what the kernel and the initramfs need below 4G */
#define CUT_MIB		160	/* what they need in all */

/* One machine while it is drawn */
struct draw {
	GRand *rand;
	GString *text, *append, *setup, *about;
	int memory;		/* MiB */
	int below_4g;		/* MiB, 0: as the board has it */
};

static int between(struct draw *d, int least, int most)
{
	return g_rand_int_range(d->rand, least, most + 1);
}

static bool chance(struct draw *d, int percent)
{
	return between(d, 0, 99) < percent;
}

static void add(struct draw *d, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void add(struct draw *d, const char *fmt, ...)
{
	va_list ap;

	if (d->append->len)
		g_string_append_c(d->append, ' ');
	va_start(ap, fmt);
	g_string_append_vprintf(d->append, fmt, ap);
	va_end(ap);
}

static void setting(struct draw *d, const char *path, const char *value)
{
	g_string_append_printf(d->setup, "%s%s=%s", d->setup->len ? ";" : "", path, value);
}

static void draw_memory(struct draw *d)
{
	static const int sizes[] = { 128, 160, 192, 256, 320, 384, 512, 512, 640, 768, 768, 1024, 1024,
				     1536, 2048, 3072, 4096 };

	d->memory = sizes[between(d, 0, G_N_ELEMENTS(sizes) - 1)];
	g_string_append_printf(d->text, "memory=%dM\n", d->memory);
	g_string_append_printf(d->about, "%dM", d->memory);
	if (d->memory > BOOT_MIB + 32 && chance(d, 50)) {
		d->below_4g = between(d, BOOT_MIB, MIN(d->memory - 16, 1024)) / 16 * 16;
		g_string_append_printf(d->text, "board=max-ram-below-4g=%dM\n", d->below_4g);
		g_string_append_printf(d->about, ", %dM below 4G", d->below_4g);
	}
}

/*
 * Nodes of QEMU's making: some with memory of their own, some with a CPU only, which may
 * come first; now and then with distances.  Returns how many have memory.
 */
static int draw_real_nodes(struct draw *d, int cpus, bool fake)
{
	int with = between(d, 1, MIN(6, d->memory / NODE_MIB)), without = between(d, 0, 2);
	int left = d->memory, all, n, cpu = 0, empty_first;
	bool distances;
	GString *q = g_string_new(NULL);

	if (with + without < 2)
		without = 1;
	all = with + without;
	empty_first = chance(d, 20) ? without : 0;
	for (n = 0; n < all; n++) {
		int nr = n < empty_first ? -1 : n - empty_first, rest, size;

		g_string_append_printf(q, "%s", n ? ";" : "");
		if (nr < 0 || nr >= with) {
			g_string_append_printf(q, "-numa;node,nodeid=%d", n);
		} else {
			rest = (with - nr - 1) * NODE_MIB;
			size = nr == with - 1 ? left : chance(d, 50) ? left / (with - nr) / 16 * 16 :
			       between(d, NODE_MIB, left - rest) / 16 * 16;
			/* the first of them has to hold the kernel */
			if (!nr && size < BOOT_MIB && left - BOOT_MIB >= rest)
				size = BOOT_MIB;
			left -= size;
			g_string_append_printf(q, "-object;memory-backend-ram,id=m%d,size=%dM;-numa;node,nodeid=%d,memdev=m%d",
					       n, size, n, n);
		}
		if (cpu < cpus && (nr < 0 || nr >= with || chance(d, 70)))
			g_string_append_printf(q, ",cpus=%d", cpu++);
	}
	/* whoever is left over goes to node 0 */
	for (; cpu < cpus; cpu++)
		g_string_append_printf(q, ";-numa;cpu,node-id=0,socket-id=%d,core-id=0,thread-id=0", cpu);
	/* beside a node without memory numa=fake needs them: docs/findings/numa-fake-memoryless-panic.md */
	distances = chance(d, 40) || (fake && without);
	for (n = 0; distances && n < all; n++)
		for (int to = n + 1; to < all; to++)
			g_string_append_printf(q, ";-numa;dist,src=%d,dst=%d,val=%d", n, to, between(d, 11, 80));
	g_string_append_printf(d->text, "qemu=%s\n", q->str);
	g_string_append_printf(d->about, ", %d nodes with memory and %d without%s", with, without,
			       empty_first ? ", which come first" : "");
	g_string_free(q, TRUE);
	return with;
}

static void draw_fake_nodes(struct draw *d, int real)
{
	int most = MIN(8, d->memory / NODE_MIB / MAX(real, 1));

	if (most < 2)
		return;
	if (chance(d, 30)) {
		int size = between(d, NODE_MIB, d->memory / 2) / 32 * 32;

		if (d->memory / size > 8)
			return;
		add(d, "numa=fake=%dM", size);
		g_string_append_printf(d->about, ", fake nodes of %dM", size);
	} else {
		int n = between(d, 2, most);
		bool each = chance(d, 30);

		add(d, "numa=fake=%d%s", n, each ? "U" : "");
		g_string_append_printf(d->about, ", %d fake nodes%s", n, each && real ? " of each" : "");
	}
}

/* How much of memory is ZONE_MOVABLE, or cut off */
static void draw_zones(struct draw *d)
{
	int kind = between(d, 0, 9);

	if (kind == 0)
		add(d, "movablecore=%dM", between(d, 32, d->memory / 2));
	else if (kind == 1)
		add(d, "movablecore=%d%%", between(d, 5, 60));
	else if (kind == 2)
		add(d, "kernelcore=%dM", between(d, BOOT_MIB, MAX(d->memory * 3 / 4, BOOT_MIB)));
	else if (kind == 3)
		add(d, "kernelcore=%d%%", between(d, 40, 95));
	else if (kind == 4 && chance(d, 30))
		add(d, "kernelcore=mirror");
	/* a zone of a handful of pages: the end of memory lies just above 4G */
	if (d->below_4g >= CUT_MIB && chance(d, 25)) {
		int above = between(d, 1, 20);

		add(d, "mem=%dM", 4096 + above);
		d->memory = d->below_4g + above;
	} else if (!d->below_4g && d->memory >= 256 && chance(d, 15)) {
		d->memory = between(d, MAX(d->memory * 6 / 10, 192), d->memory);
		add(d, "mem=%dM", d->memory);
	}
	if (chance(d, 10))
		add(d, "memmap=%dM$1M", between(d, 8, 15));
	if (chance(d, 50))
		add(d, "init_on_alloc=0");
	if (chance(d, 15))
		add(d, "transparent_hugepage=%s", chance(d, 50) ? "never" : "always");
}

/* Kernel parameters that people boot with, none of which may change an answer */
static void draw_parameters(struct draw *d)
{
	/* memory that they keep to themselves: a small machine would not boot with it */
	static const char *const takes[] = { "hugepages=8", "cma=16M", "crashkernel=32M", "page_owner=on" };
	static const char *const odd[] = {
		"init_on_free=1", "page_poison=1", "slub_debug=F", "slab_nomerge", "page_alloc.shuffle=1", "nokaslr",
		"cgroup.memory=nokmem", "cgroup.memory=nosocket", "psi=0", "mitigations=off", "threadirqs",
		"preempt=full", "zswap.enabled=1", "transparent_hugepage_shmem=always", "movable_node",
		"memhp_default_state=online_movable", "memhp_default_state=online", "numa_balancing=enable",
		"possible_cpus=16", "norandmaps", "highres=off",
		"swiotlb=2048", "no5lvl", "percpu_alloc=page", "hugetlb_free_vmemmap=on", "cgroup_disable=memory",
		"maxcpus=1", "swapaccount=0", "default_hugepagesz=1G",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(odd); i++)
		if (chance(d, 5))
			add(d, "%s", odd[i]);
	for (gsize i = 0; d->memory >= 512 && i < G_N_ELEMENTS(takes); i++)
		if (chance(d, 8))
			add(d, "%s", takes[i]);
}

static void draw_settings(struct draw *d)
{
	static const struct {
		const char *path;
		const char *values[6];
	} odd[] = {
		{ "/proc/sys/vm/lowmem_reserve_ratio", { "256 32 8", "1 1 1", "0 0 0", "32 32 32", "1000 7 3" } },
		{ "/proc/sys/vm/min_free_kbytes", { "512", "1024", "3000", "8192", "16384" } },
		{ "/proc/sys/vm/watermark_scale_factor", { "1", "10", "50", "200" } },
		{ "/proc/sys/vm/watermark_boost_factor", { "0", "15000", "30000" } },
		{ "/proc/sys/vm/percpu_pagelist_high_fraction", { "8", "64", "1000" } },
		{ "/proc/sys/vm/swappiness", { "0", "1", "100", "200" } },
		{ "/proc/sys/vm/overcommit_memory", { "0", "1" } },
		{ "/proc/sys/vm/dirty_ratio", { "5", "80" } },
		{ "/proc/sys/vm/page-cluster", { "0", "3", "6" } },
		{ "/proc/sys/vm/compaction_proactiveness", { "0", "20", "100" } },
		{ "/proc/sys/vm/vfs_cache_pressure", { "1", "50", "1000" } },
		{ "/proc/sys/vm/zone_reclaim_mode", { "1", "7" } },
		{ "/proc/sys/vm/stat_interval", { "10", "120" } },
		{ "/proc/sys/vm/numa_stat", { "0" } },
		{ "/proc/sys/vm/extfrag_threshold", { "0", "1000" } },
		{ "/proc/sys/vm/nr_hugepages", { "4" } },
		{ "/proc/sys/vm/nr_overcommit_hugepages", { "8" } },
		{ "/proc/sys/vm/laptop_mode", { "5" } },
		{ "/proc/sys/vm/user_reserve_kbytes", { "0", "32768" } },
		{ "/proc/sys/vm/oom_kill_allocating_task", { "1" } },
		{ "/sys/kernel/mm/transparent_hugepage/enabled", { "never", "madvise", "always" } },
		{ "/sys/kernel/mm/transparent_hugepage/defrag", { "never", "always", "defer" } },
		{ "/sys/kernel/mm/transparent_hugepage/shmem_enabled", { "always", "within_size" } },
		{ "/sys/kernel/mm/ksm/run", { "1" } },
		{ "/sys/kernel/mm/lru_gen/enabled", { "0", "1", "7" } },
		{ "/sys/kernel/mm/lru_gen/min_ttl_ms", { "0", "200" } },
		{ "/sys/kernel/mm/swap/vma_ra_enabled", { "false" } },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(odd); i++) {
		int n = 0;

		while (n < (int)G_N_ELEMENTS(odd[i].values) && odd[i].values[n])
			n++;
		if (chance(d, 15))
			setting(d, odd[i].path, odd[i].values[between(d, 0, n - 1)]);
	}
}

static void draw_disks(struct draw *d)
{
	int kind = between(d, 0, 3), size = MIN(512, MAX(64, d->memory));

	if (kind == 0)
		g_string_append(d->text, "swap=none\n");
	else if (kind == 1)
		g_string_append_printf(d->text, "swap=disk:%dM\n", size);
	else
		g_string_append_printf(d->text, "swap=zram:%dM\n", size);
	g_string_append_printf(d->about, ", swap %s", kind == 0 ? "none" : kind == 1 ? "on a disk" : "in zram");
	if (chance(d, 60))
		g_string_append_printf(d->text, "disk=%dM\n", between(d, 4, 16) * 16);
}

/* The text of machine @nr of @seed: the same numbers give the same machine */
char *fuzz_machine(uint64_t seed, int nr)
{
	guint32 parts[] = { seed >> 32, seed, nr };
	struct draw d = { .rand = g_rand_new_with_seed_array(parts, G_N_ELEMENTS(parts)) };
	static const int counts[] = { 1, 1, 2, 2, 2, 3, 4, 8 };
	int cpus, real;
	bool fake;
	char *text;

	d.text = g_string_new(NULL);
	d.append = g_string_new(NULL);
	d.setup = g_string_new(NULL);
	d.about = g_string_new(NULL);
	draw_memory(&d);
	cpus = counts[between(&d, 0, G_N_ELEMENTS(counts) - 1)];
	g_string_append_printf(d.text, "cpus=%d\n", cpus);
	g_string_append_printf(d.about, ", %d CPUs", cpus);
	real = d.memory >= 2 * NODE_MIB + BOOT_MIB && chance(&d, 35);
	fake = chance(&d, real ? 25 : 50);
	if (real)
		real = draw_real_nodes(&d, cpus, fake);
	if (fake)
		draw_fake_nodes(&d, real);
	draw_zones(&d);
	draw_parameters(&d);
	draw_settings(&d);
	draw_disks(&d);
	if (chance(&d, 20))
		g_string_append(d.text, "dimms=128M;128M;128M;128M\nmemory-args=slots=4,maxmem=8G\n");
	text = g_strdup_printf("# SPDX-License-Identifier: GPL-2.0-only\n[machine]\nabout=%s\narch=x86_64\n%s%s%s%s%s%s%s",
			       d.about->str, d.text->str, d.append->len ? "append=" : "", d.append->str,
			       d.append->len ? "\n" : "", d.setup->len ? "setup=" : "", d.setup->str,
			       d.setup->len ? "\n" : "");
	g_string_free(d.text, TRUE);
	g_string_free(d.append, TRUE);
	g_string_free(d.setup, TRUE);
	g_string_free(d.about, TRUE);
	g_rand_free(d.rand);
	return text;
}

/* Write the machine files below @dir, and their paths into @machines */
static bool write_machines(const char *dir, uint64_t seed, int count, GPtrArray *machines, GError **err)
{
	char *folder = g_build_filename(dir, "machines", NULL);
	bool ok = mmg_mkdirs(folder, err);

	for (int i = 0; ok && i < count; i++) {
		char *path = g_strdup_printf("%s/fuzz-%" G_GUINT64_FORMAT "-%d.conf", folder, seed, i);
		char *text = fuzz_machine(seed, i);
		GError *e = NULL;

		ok = g_file_set_contents(path, text, -1, &e);
		if (!ok) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s: %s", path, e->message);
			g_error_free(e);
		}
		g_ptr_array_add(machines, path);
		g_free(text);
	}
	g_free(folder);
	return ok;
}

static bool is_finding(const json_t *c)
{
	const char *reason = json_string_value(json_object_get(c, "reason"));

	if (obj_result(c) == RESULT_SKIP)
		return !reason || !*reason || !strcmp(reason, "no reason given");
	return obj_result(c) != RESULT_PASS;
}

/* Each finding with what repeats it */
static int print_findings(const struct cli *cli, const json_t *run, const char *dir)
{
	const json_t *c, *kernels = json_object_get(run, "kernels");
	int n = 0;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		const json_t *k = json_array_get(kernels, json_integer_value(json_object_get(c, "kernel")));
		const char *machine = json_string_value(json_object_get(c, "machine"));

		if (!is_finding(c))
			continue;
		printf("\nfinding %d: %s %s on %s: %s\n", ++n, json_string_value(json_object_get(c, "name")),
		       json_string_value(json_object_get(c, "result")),
		       json_string_value(json_object_get(k, "label")),
		       json_string_value(json_object_get(c, "reason")));
		printf("    ./run.sh --kernel %s --machine %s/machines/%s.conf --shuffle %" G_GUINT64_FORMAT,
		       json_string_value(json_object_get(k, "spec")), dir, machine, cli->shuffle);
		for (guint t = 0; t < cli->tests->len; t++)
			printf(" --test '%s'", (char *)cli->tests->pdata[t]);
		putchar('\n');
	}
	printf("\n%d machines, %zu results, %d findings\n", cli->count, i, n);
	return n;
}

static bool check_words(struct cli *cli, GError **err)
{
	if (cli->args->len != 1 || strcmp(cli->args->pdata[0], "machines")) {
		mmg_set_error(err, MMG_EXIT_USAGE, "fuzz takes one word: fuzz machines");
		return false;
	}
	if (cli->machines->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "fuzz draws its machines itself: leave out --machine");
		return false;
	}
	if (cli->count > MAX_COUNT) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--count takes at most %d, not %d", MAX_COUNT, cli->count);
		return false;
	}
	cli->count = cli->count ?: DEFAULT_COUNT;
	cli->seed = cli->seed ?: 1;
	cli->shuffle = cli->shuffle ?: cli->seed;
	if (!cli->tests->len)
		g_ptr_array_add(cli->tests, g_strdup("mm/*"));
	return true;
}

static void print_machines(const struct cli *cli)
{
	for (int i = 0; i < cli->count; i++) {
		char *text = fuzz_machine(cli->seed, i);

		printf("%s\n", text);
		g_free(text);
	}
}

int verb_fuzz(struct cli *cli, GError **err)
{
	struct suite s = { .opt = cli_run(cli), .tests = cli->tests, .machines = cli->machines, .repeat = 1,
			   .verb = "fuzz", .one_seed = true };
	char *dir = NULL, *used = NULL;
	int status = MMG_EXIT_BROKEN;
	json_t *run;

	if (!check_words(cli, err))
		return MMG_EXIT_USAGE;
	if (cli->dry_run) {
		print_machines(cli);
		return MMG_EXIT_OK;
	}
	s.kernels = cli_kernels(cli, err);
	if (!s.kernels)
		return MMG_EXIT_BROKEN;
	dir = results_make_dir(cli->out, err);
	s.out = dir;
	if (dir && write_machines(dir, cli->seed, cli->count, cli->machines, err)) {
		run = suite_run(&s, &used, err);
		if (run)
			status = cli_reports(cli, run, dir, err);
		if (run && print_findings(cli, run, dir) && !status)
			status = MMG_EXIT_FAIL;
		json_decref(run);
	}
	g_free(used);
	g_free(dir);
	g_ptr_array_unref(s.kernels);
	return status;
}
