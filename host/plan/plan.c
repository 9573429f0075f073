// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a boot does: tests, their cases, modules, command line.
 */
#include "base/arch.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void boot_plan_free(gpointer p)
{
	struct boot_plan *bp = p;

	machine_free(bp->machine);
	g_ptr_array_unref(bp->tests);
	g_free(bp);
}

static void planned_free(gpointer p)
{
	struct planned *pl = p;

	g_ptr_array_unref(pl->cases);
	g_free(pl);
}

static struct boot_plan *boot_of(GPtrArray *plan, const char *machine, GError **err)
{
	struct boot_plan *bp;
	struct machine *m;
	guint i;

	for (i = 0; i < plan->len; i++) {
		bp = plan->pdata[i];
		if (!strcmp(bp->machine->spec, machine))
			return bp;
	}
	m = machine_load(machine, err);
	if (!m)
		return NULL;
	bp = g_new0(struct boot_plan, 1);
	bp->machine = m;
	bp->tests = g_ptr_array_new_with_free_func(planned_free);
	g_ptr_array_add(plan, bp);
	return bp;
}

static bool add_to(GPtrArray *plan, const char *machine, const struct test *t,
		   const GPtrArray *cases, GError **err)
{
	struct boot_plan *bp = boot_of(plan, machine, err);
	struct planned *p;
	guint i;

	if (!bp)
		return false;
	p = g_new0(struct planned, 1);
	p->test = t;
	p->cases = g_ptr_array_new_with_free_func(g_free);
	for (i = 0; cases && i < cases->len; i++)
		g_ptr_array_add(p->cases, g_strdup(cases->pdata[i]));
	g_ptr_array_add(bp->tests, p);
	return true;
}

/* Does @glob take @t, and which of its cases (added to @cases, or *@all)? */
static bool glob_takes(const char *glob, const struct test *t, GPtrArray *cases, bool *all)
{
	const char *slash = strchr(glob, '/');
	char *head;
	bool hit;

	/* workloads are no tests: only those who name the family get them */
	if (g_str_has_prefix(t->name, "bench/") && !g_str_has_prefix(glob, "bench"))
		return false;
	if (mmg_glob(glob, t->name)) {
		*all = true;
		return true;
	}
	slash = slash ? strchr(slash + 1, '/') : NULL;
	if (!slash)
		return false;
	head = g_strndup(glob, slash - glob);
	hit = g_pattern_match_simple(head, t->name);
	g_free(head);
	if (hit)
		g_ptr_array_add(cases, g_strdup(slash + 1));
	return hit;
}

static bool machine_takes(const char *machine, const struct test *t)
{
	struct machine *m;
	bool hit;
	guint i;

	for (i = 0; i < t->machines->len; i++)
		if (!strcmp(t->machines->pdata[i], machine))
			return true;
	m = machine_load(machine, NULL);
	hit = m && mmg_glob_any(m->tests, t->name);
	if (m)
		machine_free(m);
	return hit;
}

static bool plan_quick(GPtrArray *plan, const GPtrArray *catalog, GError **err)
{
	guint i, j;

	for (i = 0; i < catalog->len; i++) {
		const struct test *t = catalog->pdata[i];

		for (j = 0; j < t->quick->len; j++)
			if (!add_to(plan, t->quick->pdata[j], t, t->quick_cases, err))
				return false;
	}
	return true;
}

/* A test that was named goes where it is told; workloads and their machines are made for each other */
static bool fits(const struct test *t, const char *machine, bool named)
{
	bool bench = g_str_has_prefix(t->name, "bench/");

	if (!named && bench)
		return false;
	if (named && !bench && !g_str_has_prefix(machine, "bench-"))
		return true;
	return machine_takes(machine, t);
}

/* Does any of @globs take @t on @machine?  Then its cases are in @cases, or *@all is set. */
static bool globs_take(const GPtrArray *globs, const struct test *t, const char *machine,
		       GPtrArray *cases, bool *all)
{
	bool hit = *all = !globs->len;

	for (guint i = 0; i < globs->len; i++) {
		const char *only;
		g_autofree char *test = mmg_glob_split(globs->pdata[i], &only);

		if (!only || g_pattern_match_simple(only, machine))
			hit |= glob_takes(test, t, cases, all);
	}
	return hit;
}

/* Where @t may run: @machines, or those it asks for and those that a glob names beside it; unref it */
static GPtrArray *machines_of(const struct test *t, const GPtrArray *globs, const GPtrArray *machines)
{
	GPtrArray *where = g_ptr_array_new();
	const GPtrArray *from = machines->len ? machines : t->machines;

	for (guint i = 0; i < from->len; i++)
		g_ptr_array_add(where, from->pdata[i]);
	for (guint i = 0; !machines->len && i < globs->len; i++) {
		const char *only = mmg_glob_machine(globs->pdata[i]);

		if (only && !strpbrk(only, "*?") &&
		    !g_ptr_array_find_with_equal_func(where, only, g_str_equal, NULL))
			g_ptr_array_add(where, (char *)only);
	}
	return where;
}

static bool plan_test(GPtrArray *plan, const struct test *t, const GPtrArray *globs,
		      const GPtrArray *machines, GError **err)
{
	g_autoptr(GPtrArray) where = machines_of(t, globs, machines);
	bool ok = true;

	for (guint i = 0; ok && i < where->len; i++) {
		g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(g_free);
		bool all;

		if (globs_take(globs, t, where->pdata[i], cases, &all) &&
		    fits(t, where->pdata[i], globs->len))
			ok = add_to(plan, where->pdata[i], t, all ? NULL : cases, err);
	}
	return ok;
}

/* A glob with a machine that is not among those asked for would be dropped without a word */
static bool globs_have_machines(const GPtrArray *globs, const GPtrArray *machines, GError **err)
{
	for (guint i = 0; machines->len && i < globs->len; i++) {
		const char *only = mmg_glob_machine(globs->pdata[i]);
		bool found = !only;

		for (guint j = 0; !found && j < machines->len; j++)
			found = g_pattern_match_simple(only, machines->pdata[j]);
		if (!found) {
			mmg_set_error(err, MMG_EXIT_USAGE, "test '%s' is for a machine that is not among those "
				      "asked for; add it, or leave out what follows the '@'",
				      (char *)globs->pdata[i]);
			return false;
		}
	}
	return true;
}

GPtrArray *plan_make(const GPtrArray *catalog, const GPtrArray *globs, const GPtrArray *machines,
		     GError **err)
{
	GPtrArray *plan = g_ptr_array_new_with_free_func(boot_plan_free);
	bool ok = globs_have_machines(globs, machines, err);
	guint i;

	/* a misspelt machine is told before anything else */
	for (i = 0; ok && i < machines->len; i++) {
		struct machine *m = machine_load(machines->pdata[i], err);

		ok = m;
		if (m)
			machine_free(m);
	}
	if (ok && !globs->len && !machines->len)
		ok = plan_quick(plan, catalog, err);
	else
		for (i = 0; ok && i < catalog->len; i++)
			ok = plan_test(plan, catalog->pdata[i], globs, machines, err);
	if (ok && !plan->len) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "no test fits%s%s; ./run.sh list shows tests and the machines they ask for",
			      globs->len ? " --test " : "", globs->len ? (char *)globs->pdata[0] : "");
		ok = false;
	}
	if (ok)
		return plan;
	g_ptr_array_unref(plan);
	return NULL;
}

void plan_shuffle(GPtrArray *plan, uint64_t seed)
{
	guint i, j;

	for (i = 0; i < plan->len; i++) {
		struct boot_plan *bp = plan->pdata[i];
		guint32 parts[] = { seed >> 32, seed, g_str_hash(bp->machine->name) };
		GRand *rand = g_rand_new_with_seed_array(parts, G_N_ELEMENTS(parts));

		for (j = bp->tests->len; j > 1; j--) {
			guint k = g_rand_int_range(rand, 0, j);
			gpointer t = bp->tests->pdata[k];

			bp->tests->pdata[k] = bp->tests->pdata[j - 1];
			bp->tests->pdata[j - 1] = t;
		}
		g_rand_free(rand);
	}
}

int plan_scale(bool tcg)
{
	const char *s = g_getenv("MMGATE_TIMEOUT_SCALE");
	int n = s ? CLAMP(atoi(s), 1, 100) : 1;

	return tcg ? n * 3 : n;
}

int plan_timeout(const struct boot_plan *bp)
{
	int secs = 120;
	guint i;

	for (i = 0; i < bp->tests->len; i++)
		secs += ((struct planned *)bp->tests->pdata[i])->test->timeout + 5;
	return secs;
}

/* ---- initramfs ---- */

static void file_free(gpointer p)
{
	struct initramfs_file *f = p;

	g_free(f->dst);
	g_free(f->src);
	g_free(f->data);
	g_free(f);
}

static void add_file(GPtrArray *files, char *dst, const char *src, char *data, unsigned int mode,
		     bool unpack)
{
	struct initramfs_file *f = g_new0(struct initramfs_file, 1);

	f->dst = dst;
	f->src = g_strdup(src);
	f->data = data;
	f->len = data ? strlen(data) : 0;
	f->mode = mode;
	f->unpack = unpack;
	g_ptr_array_add(files, f);
}

static void want(GPtrArray *names, const char *name)
{
	guint i;

	for (i = 0; i < names->len; i++)
		if (!strcmp(names->pdata[i], name))
			return;
	g_ptr_array_add(names, (char *)name);
}

static void want_kvm(GPtrArray *names, const struct kernel *k, bool kvm_accel)
{
	const struct arch *a = arch_find(k->arch);
	char *info = NULL;
	bool intel;

	/* the table is TCG's; under KVM the guest sees the host's own processor */
	intel = kvm_accel && g_file_get_contents("/proc/cpuinfo", &info, NULL, NULL) &&
		strstr(info, "GenuineIntel");
	for (guint i = 0; a && a->kvm[i]; i++)
		want(names, intel && !strcmp(a->kvm[i], "kvm_amd") ? "kvm_intel" : a->kvm[i]);
	g_free(info);
}

static void want_all(GPtrArray *names, const struct boot_plan *bp, const struct kernel *k,
		     bool kvm_accel)
{
	guint i, j;

	if (g_str_has_prefix(bp->machine->swap, "zram"))
		want(names, "zram");
	if (bp->machine->disk || g_str_has_prefix(bp->machine->swap, "disk"))
		want(names, "virtio_blk");
	if (bp->machine->disk)
		want(names, "ext4");
	for (i = 0; i < bp->tests->len; i++) {
		const struct test *t = ((struct planned *)bp->tests->pdata[i])->test;

		for (j = 0; j < t->modules->len; j++) {
			if (!strcmp(t->modules->pdata[j], "kvm"))
				want_kvm(names, k, kvm_accel);
			else
				want(names, t->modules->pdata[j]);
		}
	}
}

/* Name a module is known by: base name, without endings, '-' as '_'; g_free() it */
static char *module_name(const char *path)
{
	char *base = g_path_get_basename(path), *dot = strstr(base, ".ko");

	if (dot)
		*dot = '\0';
	return g_strdelimit(base, "-", '_');
}

static bool add_modules(GPtrArray *files, GString *plan, const struct boot_plan *bp,
			const struct kernel *k, GPtrArray *names, GPtrArray *missing, GError **err)
{
	GPtrArray *paths;
	guint i;

	g_ptr_array_add(names, NULL);
	paths = modules_resolve(k, (const char *const *)names->pdata, missing, err);
	if (!paths)
		return false;
	for (i = 0; i < paths->len; i++) {
		char *name = module_name(paths->pdata[i]);
		char *dst = g_strdup_printf("lib/modules/%s.ko", name);
		const char *opts = g_hash_table_lookup(bp->machine->module_options, name);
		guint j;
		bool seen = false;

		for (j = 0; j < files->len; j++)
			seen |= !strcmp(((struct initramfs_file *)files->pdata[j])->dst, dst);
		if (!seen) {
			g_string_append_printf(plan, "module /%s%s%s\n", dst, opts ? " " : "", opts ?: "");
			add_file(files, dst, paths->pdata[i], NULL, 0644, true);
		} else {
			g_free(dst);
		}
		g_free(name);
	}
	g_ptr_array_unref(paths);
	return true;
}

/*
 * What a test needs and PID 1 acts on: an option that this kernel is known to lack is a
 * skip with its name, a path has to be there.  Words for file systems stand for their options.
 */
static void add_needs(GString *plan, const struct test *t, const struct kernel *k)
{
	static const char *const stands_for[][2] = {
		{ "debugfs", "CONFIG_DEBUG_FS" }, { "tracefs", "CONFIG_TRACING" },
	};

	for (guint i = 0; i < t->needs->len; i++) {
		const char *word = t->needs->pdata[i];

		if (*word == '/') {
			g_string_append_printf(plan, "path %s %s\n", t->name, word);
			continue;
		}
		for (gsize j = 0; j < G_N_ELEMENTS(stands_for); j++)
			if (!strcmp(word, stands_for[j][0]))
				word = stands_for[j][1];
		if (g_str_has_prefix(word, "CONFIG_") && kernel_config(k, word + strlen("CONFIG_")) == 'n')
			g_string_append_printf(plan, "skip %s the kernel is built without %s, which the test needs\n",
					       t->name, word);
	}
}

static void add_tests(GPtrArray *files, GString *plan, const struct boot_plan *bp, const char *built,
		      const struct kernel *k, int scale)
{
	guint i, j;

	for (i = 0; i < bp->tests->len; i++) {
		const struct planned *p = bp->tests->pdata[i];
		char *dst = g_strdup_printf("tests/%s_test", p->test->name);
		char *file = g_strdup_printf("%s_test", p->test->name);
		char *src = g_build_filename(built, file, NULL);

		add_needs(plan, p->test, k);
		g_string_append_printf(plan, "test %s %d /%s", p->test->name, p->test->timeout * scale,
				       dst);
		for (j = 0; j < p->cases->len; j++)
			g_string_append_printf(plan, " -c %s", (char *)p->cases->pdata[j]);
		g_string_append_c(plan, '\n');
		add_file(files, dst, src, NULL, 0755, false);
		g_free(file);
		g_free(src);
	}
}

static void add_setup(GString *plan, const struct machine *m)
{
	guint i;

	if (g_str_has_prefix(m->swap, "zram:"))
		g_string_append_printf(plan, "swap zram %s\n", m->swap + 5);
	else if (g_str_has_prefix(m->swap, "disk:"))
		g_string_append(plan, "swap disk swap\n");
	if (m->disk)
		g_string_append(plan, "mount data ext4 /mnt/data\n");
	for (i = 0; i < m->setup->len; i++) {
		char **kv = g_strsplit(m->setup->pdata[i], "=", 2);

		if (kv[0] && kv[1])
			g_string_append_printf(plan, "write %s %s\n", g_strstrip(kv[0]), g_strstrip(kv[1]));
		g_strfreev(kv);
	}
}

GPtrArray *plan_files(const struct boot_plan *bp, const struct kernel *k, const char *built,
		      bool kvm_accel, uint64_t seed, uint64_t shuffle, const char *extra,
		      GPtrArray *missing, GError **err)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(file_free);
	GPtrArray *early = g_ptr_array_new(), *late = g_ptr_array_new();
	GString *plan = g_string_new("# what PID 1 does, in order\n");
	char *init = g_build_filename(built, "init", NULL);
	bool ok;

	/* the console a static program needs before devtmpfs is there comes from the kernel's own initramfs */
	add_file(files, g_strdup("init"), init, NULL, 0755, false);
	want(early, "virtio_pci");
	want(early, "virtio_console");
	want_all(late, bp, k, kvm_accel);
	ok = add_modules(files, plan, bp, k, early, NULL, err);
	g_string_append(plan, "ports\n");
	ok = ok && add_modules(files, plan, bp, k, late, missing, err);
	if (ok) {
		add_setup(plan, bp->machine);
		if (seed)
			g_string_append_printf(plan, "env MMGATE_SEED=%" G_GUINT64_FORMAT "\n", seed);
		if (shuffle)
			g_string_append_printf(plan, "env MMGATE_SHUFFLE=%" G_GUINT64_FORMAT "\n", shuffle);
		g_string_append_printf(plan, "env MMGATE_TIMEOUT_SCALE=%d\n", plan_scale(!kvm_accel));
		for (guint i = 0; k->keep && i < k->keep->len; i++)
			g_string_append_printf(plan, "keep %s\n", (char *)k->keep->pdata[i]);
		/* extra lines stand in place of the tests, which then are only there for their modules */
		if (extra)
			g_string_append(plan, extra);
		else
			add_tests(files, plan, bp, built, k, plan_scale(!kvm_accel));
		add_file(files, g_strdup("mmgate/plan"), NULL, g_string_free(plan, FALSE), 0644, false);
	} else {
		g_string_free(plan, TRUE);
		g_ptr_array_unref(files);
		files = NULL;
	}
	g_ptr_array_unref(early);
	g_ptr_array_unref(late);
	g_free(init);
	return files;
}

char *plan_append(const struct boot_plan *bp, const struct kernel *k, bool tcg, int verbose)
{
	bool x86 = !strcmp(k->arch, "x86_64");
	GString *s = g_string_new(NULL);
	GHashTableIter it;
	gpointer name, opts;

	g_string_append(s, arch_find(k->arch)->console);
	/* warnings and worse, where splats are; a dead kernel leaves at once (-no-reboot) */
	g_string_append_printf(s, " loglevel=%d panic=-1 oops=panic random.trust_cpu=on", verbose ? 7 : 5);
	/* limits that suit hardware are too short for an emulated CPU on a busy host */
	if (tcg)
		g_string_append(s, " rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60");
	/* nor does the IO-APIC's timer tick in time there ("timer doesn't work!"); KVM guests skip the check */
	if (tcg && x86)
		g_string_append(s, " no_timer_check");
	/* only a post-mortem presses keys or sends NMIs; where there is a PMU, stray ones exist */
	g_string_append(s, " sysrq_always_enabled");
	if (tcg && x86)
		g_string_append(s, " unknown_nmi_panic");
	if (bp->machine->append)
		g_string_append_printf(s, " %s", bp->machine->append);
	/* the same options for modules that are built in */
	g_hash_table_iter_init(&it, bp->machine->module_options);
	while (g_hash_table_iter_next(&it, &name, &opts)) {
		char **w = g_strsplit(opts, " ", -1);
		int i;

		for (i = 0; w[i]; i++)
			if (*w[i])
				g_string_append_printf(s, " %s.%s", (char *)name, w[i]);
		g_strfreev(w);
	}
	return g_string_free(s, FALSE);
}
