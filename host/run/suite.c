// SPDX-License-Identifier: GPL-2.0-only
/*
 * The suite: every planned boot on every kernel, some at once, their results
 * put into one run.json.
 */
#include "build/unbuilt.h"
#include "run/fleet.h"
#include "run/job.h"

#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Memory that a VM needs beside its own, and that the host keeps */
#define VM_EXTRA_MIB 300
#define HOST_MIB 1024

struct boot {
	struct suite_run *run;
	int kernel, repeat;
	const struct boot_plan *plan;	/* the tests that were built for this kernel */
	const struct boot_plan *whole;	/* and all that were asked for */
	struct vm *vm;
	char *dir, *sub, *initramfs_sha;
	int index;			/* of its object in run["boots"], -1 before */
	bool done;
};

struct suite_run {
	const struct suite *s;
	json_t *json;
	char *dir;
	GPtrArray *plan;		/* struct boot_plan * */
	GPtrArray *built;		/* by kernel: folder of the built selftests */
	GPtrArray *unbuilt;		/* by kernel: test -> why it does not build */
	GPtrArray *parts;		/* plans without these */
	GPtrArray *accels;		/* by kernel */
	GPtrArray *boots;
	guint next;
	int alive, finished, tests_total, tests_done;
	bool stopped;			/* on_case had enough */
	gint64 began, saved;
	GError *err;
};

#define SAVE_EACH	50		/* VMs after each of which all is saved */
#define SAVE_US		(10 * G_USEC_PER_SEC)

static char *iso_now(void)
{
	GDateTime *now = g_date_time_new_now_utc();
	char *text = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");

	g_date_time_unref(now);
	return text;
}

static long long meminfo_mib(const char *field)
{
	char *text = NULL, *at;
	long long kib = 0;

	if (g_file_get_contents("/proc/meminfo", &text, NULL, NULL)) {
		at = strstr(text, field);
		if (at)
			kib = g_ascii_strtoll(at + strlen(field), NULL, 10);
	}
	g_free(text);
	return kib / 1024;
}

static json_t *strings(const GPtrArray *list)
{
	json_t *a = json_array();
	guint i;

	for (i = 0; i < list->len; i++) {
		char *clean = mmg_clean(list->pdata[i], -1, 4096);

		json_array_append_new(a, json_string(clean));
		g_free(clean);
	}
	return a;
}

static void set_str(json_t *o, const char *key, const char *value)
{
	json_object_set_new(o, key, value ? json_string(value) : json_null());
}

json_t *run_kernel_json(const struct kernel *k)
{
	json_t *o = json_object();

	set_str(o, "spec", k->spec);
	set_str(o, "label", k->label);
	set_str(o, "release", k->release);
	set_str(o, "version", k->version);
	set_str(o, "arch", k->arch);
	set_str(o, "image", k->image);
	set_str(o, "image_sha256", k->sha256);
	set_str(o, "ksrc", k->ksrc_name);
	set_str(o, "role", k->role);
	json_object_set_new(o, "packages", k->packages ? strings(k->packages) : json_array());
	return o;
}

json_t *run_new(const struct run_options *opt, const char *verb, const GPtrArray *kernels)
{
	json_t *run = json_object(), *list = json_array(), *requires = json_array();
	struct utsname uts;
	char *now = iso_now();
	guint i;

	uname(&uts);
	json_object_set_new(run, "schema", json_integer(1));
	json_object_set_new(run, "tool", json_pack("{s:s, s:s}", "name", "mmgate", "version", MMG_VERSION));
	set_str(run, "verb", verb);
	set_str(run, "started", now);
	json_object_set_new(run, "complete", json_false());
	json_object_set_new(run, "command", strings(opt->command));
	json_object_set_new(run, "host", json_pack("{s:s, s:s, s:i, s:I}", "kernel", uts.release, "arch",
						   uts.machine, "cpus", (int)g_get_num_processors(),
						   "memory_mib", (json_int_t)meminfo_mib("MemTotal:")));
	json_object_set_new(run, "seed", json_integer(opt->seed ?: 1));
	json_object_set_new(run, "options", json_pack("{s:i, s:o, s:o, s:o}", "repeat",
						      MAX(opt->repeat, 1),
						      "require", strings(opt->require), "tests",
						      strings(opt->tests), "machines",
						      strings(opt->machines)));
	for (i = 0; i < kernels->len; i++)
		json_array_append_new(list, run_kernel_json(kernels->pdata[i]));
	json_object_set_new(run, "kernels", list);
	json_object_set_new(run, "boots", json_array());
	json_object_set_new(run, "cases", json_array());
	for (i = 0; i < opt->require->len; i++)
		json_array_append_new(requires, json_pack("{s:s}", "glob", opt->require->pdata[i]));
	json_object_set_new(run, "requires", requires);
	g_free(now);
	return run;
}

void run_set_accel(json_t *run, const struct accel *a)
{
	json_t *h = json_object_get(run, "host");

	if (json_object_get(h, "accel"))
		return;
	set_str(h, "qemu", a->version);
	set_str(h, "accel", a->name);
	set_str(h, "accel_reason", a->reason);
}

static void place_case(json_t *c, int kernel, int boot, const char *machine, int repeat)
{
	json_object_set_new(c, "kernel", json_integer(kernel));
	json_object_set_new(c, "boot", json_integer(boot));
	json_object_set_new(c, "machine", json_string(machine));
	json_object_set_new(c, "repeat", json_integer(repeat));
}

/* Every planned test of a boot that has no result gets this one */
static void rest_of_boot(struct boot *b, int index, enum result result, const char *reason)
{
	json_t *run = b->run->json, *c;
	guint i;
	size_t j;

	for (i = 0; i < b->plan->tests->len; i++) {
		const char *name = ((struct planned *)b->plan->tests->pdata[i])->test->name;
		bool seen = false;

		json_array_foreach(json_object_get(run, "cases"), j, c)
			seen |= json_integer_value(json_object_get(c, "boot")) == index &&
				mmg_glob(name, json_string_value(json_object_get(c, "name")));
		if (!seen)
			run_add_case(run, name, b->kernel, index, b->plan->machine->name, b->repeat, result,
				     reason);
	}
}

static void part_free(gpointer p)
{
	struct boot_plan *part = p;

	g_ptr_array_unref(part->tests);
	g_free(part);
}

/* @plan without the tests that do not build for kernel @nr; itself where all do */
static const struct boot_plan *built_part(struct suite_run *r, const struct boot_plan *plan, int nr)
{
	const json_t *unbuilt = r->unbuilt->pdata[nr];
	struct boot_plan *part;
	guint i;

	if (!json_object_size(unbuilt))
		return plan;
	part = g_new0(struct boot_plan, 1);
	part->machine = plan->machine;
	part->tests = g_ptr_array_new();
	for (i = 0; i < plan->tests->len; i++)
		if (!json_object_get(unbuilt, ((struct planned *)plan->tests->pdata[i])->test->name))
			g_ptr_array_add(part->tests, plan->tests->pdata[i]);
	g_ptr_array_add(r->parts, part);
	return part;
}

/* A test that does not build is broken by itself, with the compiler's line */
static void add_unbuilt(struct suite_run *r, const struct boot_plan *plan, int nr, int boot,
			const char *machine, int repeat)
{
	const struct kernel *k = r->s->kernels->pdata[nr];
	guint i;

	for (i = 0; i < plan->tests->len; i++) {
		const char *name = ((struct planned *)plan->tests->pdata[i])->test->name;
		const char *line = json_string_value(json_object_get(r->unbuilt->pdata[nr], name));
		char *why;

		if (!line)
			continue;
		why = g_strdup_printf("it does not build on %s: %s", k->ksrc_name ?: k->label, line);
		run_add_case(r->json, name, nr, boot, machine, repeat, RESULT_BROKEN, why);
		g_free(why);
	}
}

/* The command line as run @repeat sees it, with a seed of its own; --repeat would else only show one draw */
static struct run_options opt_of_run(const struct suite *s, int repeat)
{
	struct run_options opt = s->opt;

	opt.seed = (opt.seed ?: 1) + (s->one_seed ? 0 : repeat);
	return opt;
}

static json_t *boot_json(struct boot *b)
{
	const struct vm *vm = b->vm;
	char *now = iso_now();
	json_t *o;

	o = json_pack("{s:i, s:s, s:i, s:s, s:s, s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:o, s:O}",
		      "kernel", b->kernel, "machine", b->plan->machine->name, "repeat", b->repeat, "dir",
		      b->sub, "state", state_name(vm->state), "reason", vm->reason, "complete",
		      vm->state == STATE_GOODBYE, "ended", now, "duration_s", vm->duration_s,
		      "hello_s", vm->hello_s, "ready_s", vm->ready_s, "goodbye_s", vm->goodbye_s,
		      "artifacts", strings(vm->artifacts), "events", vm->events);
	if (vm->kernel_s > 0) {
		json_object_set_new(o, "qemu_s", json_real(vm->qemu_s));
		json_object_set_new(o, "firmware_s", json_real(vm->firmware_s));
		json_object_set_new(o, "kernel_s", json_real(vm->kernel_s));
	}
	json_object_set_new(o, "seed", json_integer(opt_of_run(b->run->s, b->repeat).seed));
	set_str(o, "initramfs_sha256", b->initramfs_sha);
	set_str(o, "append", vm->append);
	json_object_set_new(o, "qemu", strings(vm->argv));
	json_object_set_new(o, "splats", splat_scan(vm->console, vm->console_len));
	taint_splats(json_object_get(o, "splats"), vm->taints);
	provoked_splats(json_object_get(o, "splats"), b->plan->tests);
	json_object_set(o, "taints", vm->taints);
	if (vm->post_mortem)
		json_object_set(o, "post_mortem", vm->post_mortem);
	if (vm->trouble->len) {
		char **lines = g_strsplit(g_strchomp(vm->trouble->str), "\n", -1);
		json_t *list = json_array();
		int i;

		for (i = 0; lines[i]; i++)
			json_array_append_new(list, json_string(lines[i]));
		json_object_set_new(o, "trouble", list);
		g_strfreev(lines);
	}
	g_free(now);
	return o;
}

static void show_status(struct suite_run *r)
{
	GString *s = g_string_new(NULL);
	guint i;

	for (i = 0; i < r->boots->len; i++) {
		struct boot *b = r->boots->pdata[i];
		const struct kernel *k = r->s->kernels->pdata[b->kernel];

		if (!b->vm || b->done)
			continue;
		g_string_append_printf(s, "%s%s on %s%s%s", s->len ? "; " : "", k->label,
				       b->plan->machine->name, b->vm->ktap && b->vm->ktap->test ? ": " : "",
				       b->vm->ktap && b->vm->ktap->test ? b->vm->ktap->test : "");
	}
	status_progress("%d of %d tests done; %s", r->tests_done, r->tests_total, s->str);
	g_string_free(s, TRUE);
}

/* A hang or panic is the kernel's failure; what else cut the VM short breaks the experiment */
static enum result result_of(const struct vm *vm)
{
	return vm->state == STATE_PANIC || vm->state == STATE_HANG ? RESULT_FAIL : RESULT_BROKEN;
}

static bool in_plan(const struct boot_plan *plan, const char *name)
{
	guint i;

	for (i = 0; i < plan->tests->len; i++)
		if (mmg_glob(((struct planned *)plan->tests->pdata[i])->test->name, name))
			return true;
	return false;
}

/* A goodbye is not the end of the plan: what the guest said must be what it was asked for */
static void check_plan(struct boot *b, int index)
{
	struct ktap *k = b->vm->ktap;
	int asked = b->plan->tests->len;
	json_t *c;
	size_t i;

	ktap_cut(k, RESULT_BROKEN, "the VM said goodbye while this test ran");
	json_array_foreach(k->cases, i, c) {
		if (in_plan(b->plan, json_string_value(json_object_get(c, "name"))))
			continue;
		json_object_set_new(c, "result", json_string(result_name(RESULT_BROKEN)));
		json_object_set_new(c, "reason", json_string("a result of a test that was not asked for"));
	}
	if (k->planned != asked || k->ended != asked) {
		char *why = g_strdup_printf("%d tests were asked for, the VM announced %d, and %d ended", asked,
					    MAX(k->planned, 0), k->ended);

		run_add_case(b->run->json, "boot/plan", b->kernel, index, b->plan->machine->name, b->repeat,
			     RESULT_BROKEN, why);
		g_free(why);
	}
}

static void take_results(struct boot *b)
{
	struct suite_run *r = b->run;
	struct vm *vm = b->vm;
	json_t *boots = json_object_get(r->json, "boots"), *c;
	int index = b->index = json_array_size(boots);
	bool whole = vm->state == STATE_GOODBYE, wanted = vm->state == STATE_STOPPED;
	size_t i;

	json_array_append_new(boots, boot_json(b));
	if (!whole && !wanted && vm->state != STATE_INTERRUPTED) {
		bool between = !vm->ktap->test, all = vm->ktap->ended >= (int)b->plan->tests->len;

		ktap_cut(vm->ktap, result_of(vm), vm->reason);
		/* results count only with a goodbye: where no test is left to blame, the boot is */
		if (between && (all || result_of(vm) == RESULT_FAIL))
			run_add_case(r->json, all ? "boot/goodbye" : "boot/between_tests", b->kernel, index,
				     b->plan->machine->name, b->repeat, result_of(vm), vm->reason);
	}
	if (whole)
		check_plan(b, index);
	json_array_foreach(vm->ktap->cases, i, c) {
		place_case(c, b->kernel, index, b->plan->machine->name, b->repeat);
		json_array_append(json_object_get(r->json, "cases"), c);
	}
	add_unbuilt(r, b->whole, b->kernel, index, b->plan->machine->name, b->repeat);
	if (!wanted && vm->state != STATE_INTERRUPTED) {
		char *why = g_strdup_printf("not run: %s", whole ? "the VM's plan did not name it" : vm->reason);

		rest_of_boot(b, index, RESULT_BROKEN, why);
		g_free(why);
	}
}

static void set_duration(struct suite_run *r)
{
	json_object_set_new(r->json, "duration_s",
			    json_real((g_get_monotonic_time() - r->began) / 1e6));
}

/* What there is so far, so that a run which is killed outright has not been for nothing */
static bool save_so_far(struct suite_run *r, GError **err)
{
	gint64 now = g_get_monotonic_time();

	/* a long run is written whole each time: not for every VM of thousands */
	if (r->finished > SAVE_EACH && now - r->saved < SAVE_US)
		return true;
	r->saved = now;
	set_duration(r);
	results_judge(r->json);
	return results_save(r->json, r->dir, err);
}

static void on_vm_ended(struct vm *vm, void *data)
{
	struct boot *b = data;
	struct suite_run *r = b->run;

	take_results(b);
	b->done = true;
	r->alive--;
	r->finished++;
	r->tests_done += b->plan->tests->len;
	if (strstr(vm->trouble->str, "artifact"))
		status_note("%s on %s: artifacts are missing, see \"trouble\" in run.json",
			    ((struct kernel *)r->s->kernels->pdata[b->kernel])->label, b->plan->machine->name);
	if (vm->state != STATE_GOODBYE && vm->state != STATE_STOPPED)
		status_note("%s on %s: %s: %s", ((struct kernel *)r->s->kernels->pdata[b->kernel])->label,
			    b->plan->machine->name, state_name(vm->state), vm->reason);
	save_so_far(r, NULL);
}

static void on_case(struct ktap *k, json_t *result)
{
	struct boot *b = k->data;
	struct suite_run *r = b->run;
	const char *word = json_string_value(json_object_get(result, "result"));

	status_debug("%s %s %s: %s", ((struct kernel *)r->s->kernels->pdata[b->kernel])->label,
		     json_string_value(json_object_get(result, "name")), word,
		     json_string_value(json_object_get(result, "reason")));
	if (r->s->on_case && !r->stopped) {
		place_case(result, b->kernel, -1, b->plan->machine->name, b->repeat);
		if (!r->s->on_case(result, r->s->data)) {
			r->stopped = true;
			vm_stop(b->vm, STATE_STOPPED, "enough was seen");
		}
	}
	show_status(r);
}

static char *safe_name(const char *label)
{
	char *s = g_strdup(label);

	g_strcanon(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-", '_');
	if (*s == '.')
		*s = '_';
	return s;
}

static bool make_initramfs(struct boot *b, GError **err)
{
	struct suite_run *r = b->run;
	const struct run_options opt = opt_of_run(r->s, b->repeat);
	const struct kernel *k = r->s->kernels->pdata[b->kernel];
	const struct accel *a = r->accels->pdata[b->kernel];
	GPtrArray *missing, *files;
	bool ok = false;
	guint i;

	if (r->s->job) {
		b->vm->initramfs = g_strdup(r->s->job->initramfs);
		b->initramfs_sha = g_strdup(r->s->job->initramfs_sha256);
		return true;
	}
	missing = g_ptr_array_new_with_free_func(g_free);
	files = plan_files(b->plan, k, r->built->pdata[b->kernel], !strcmp(a->name, "kvm"), opt.seed, opt.shuffle,
			   NULL, missing, err);
	for (i = 0; i < missing->len; i++)
		status_debug("%s has no module %s", k->label, (char *)missing->pdata[i]);
	if (files) {
		b->vm->initramfs = g_build_filename(b->dir, "initramfs.cpio", NULL);
		ok = initramfs_pack(files, b->vm->initramfs, &b->initramfs_sha, err);
		g_ptr_array_unref(files);
	}
	g_ptr_array_unref(missing);
	return ok;
}

/* Where below the results folder the files of a boot go; g_free() it */
static char *place_of(const struct boot *b)
{
	const struct suite *s = b->run->s;
	g_autofree char *label = safe_name(((struct kernel *)s->kernels->pdata[b->kernel])->label);

	if (s->repeat > 1)
		return g_strdup_printf("%s/%s.%d", label, b->plan->machine->name, b->repeat);
	return g_strdup_printf("%s/%s", label, b->plan->machine->name);
}

/* The VM of @b, all but its files, which go to @dir */
static void make_vm(struct boot *b, const char *dir)
{
	struct suite_run *r = b->run;
	const struct job *job = r->s->job;
	struct kernel *k = r->s->kernels->pdata[b->kernel];
	const struct accel *a = r->accels->pdata[b->kernel];
	bool tcg = !strcmp(a->name, "tcg");
	struct vm *vm = g_new0(struct vm, 1);

	kernel_unpack(k);
	b->vm = vm;
	b->dir = g_strdup(dir);
	vm->kernel = k;
	vm->machine = b->plan->machine;
	vm->accel = a;
	vm->dir = g_strdup(b->dir);
	vm->timeout = job ? job->timeout : r->s->opt.timeout ?: plan_timeout(b->plan) * plan_scale(tcg);
	vm->append = job ? g_strdup(job->append) : plan_append(b->plan, k, tcg, r->s->opt.verbose > 1);
	vm->staged = job ? job->staged : NULL;
	vm->dump = r->s->opt.dump;
	vm->ended = on_vm_ended;
	vm->data = b;
}

static bool start(struct boot *b, GError **err)
{
	g_autofree char *dir = NULL;

	b->sub = place_of(b);
	dir = g_build_filename(b->run->dir, b->sub, NULL);
	make_vm(b, dir);
	if (!mmg_mkdirs(dir, err) || !make_initramfs(b, err) || !vm_command(b->vm, err) || !vm_start(b->vm, err))
		return false;
	b->vm->ktap->on_case = on_case;
	b->vm->ktap->data = b;
	b->run->alive++;
	return true;
}

static bool boot_refused(struct boot *b, enum result result, const char *reason)
{
	json_t *boots = json_object_get(b->run->json, "boots");
	int index = b->index = json_array_size(boots);

	json_array_append_new(boots, json_pack("{s:i, s:s, s:i, s:s, s:s, s:s, s:b, s:f, s:[], s:[]}",
					       "kernel", b->kernel, "machine", b->plan->machine->name,
					       "repeat", b->repeat, "dir", "", "state", state_name(STATE_REFUSED),
					       "reason", reason, "complete", 0, "duration_s", 0.0,
					       "splats", "artifacts"));
	add_unbuilt(b->run, b->whole, b->kernel, index, b->plan->machine->name, b->repeat);
	rest_of_boot(b, index, result, reason);
	b->done = true;
	b->run->finished++;
	b->run->tests_done += b->plan->tests->len;
	return true;
}

/* Why a boot needs no VM for its *@result, g_free() it; NULL where it needs one */
static char *why_no_boot(const struct boot *b, enum result *result)
{
	static const char *const musts[] = { "VIRTIO_CONSOLE", "VIRTIO_PCI", "BLK_DEV_INITRD", "TTY" };
	const struct kernel *k = b->run->s->kernels->pdata[b->kernel];
	const struct job *job = b->run->s->job;
	size_t i;

	*result = RESULT_BROKEN;
	if (job && job->refused) {
		*result = job->refused;
		return g_strdup(job->refused_why);
	}
	if (!b->plan->tests->len)
		return g_strdup("no test of this boot builds for this kernel");
	if (!machine_has_arch(b->plan->machine, k->arch)) {
		*result = RESULT_SKIP;
		return g_strdup_printf("machine %s cannot exist on %s", b->plan->machine->name, k->arch);
	}
	for (i = 0; i < G_N_ELEMENTS(musts); i++)
		if (kernel_config(k, musts[i]) == 'n')
			return g_strdup_printf("the kernel is built without CONFIG_%s, which the VM needs", musts[i]);
	return NULL;
}

/* What can be said of a boot without booting: true where that was all */
static bool said_without_boot(struct boot *b)
{
	enum result result;
	g_autofree char *why = why_no_boot(b, &result);

	return why && boot_refused(b, result, why);
}

static long long boot_mib(const struct boot *b)
{
	char *end;
	long long v = g_ascii_strtoll(b->plan->machine->memory, &end, 10);

	return (*end == 'G' ? v * 1024 : v) + VM_EXTRA_MIB;
}

static bool room_for(const struct suite_run *r, const struct boot *b)
{
	int jobs = r->s->opt.jobs ?: (int)g_get_num_processors();

	if (!r->alive)
		return true;
	if (r->alive >= jobs)
		return false;
	return r->s->opt.jobs || meminfo_mib("MemAvailable:") > boot_mib(b) + HOST_MIB;
}

static void start_some(struct suite_run *r)
{
	while (r->next < r->boots->len && !r->stopped && !mmg_interrupted() && !r->err) {
		struct boot *b = r->boots->pdata[r->next];
		GError *err = NULL;

		if (!room_for(r, b))
			return;
		r->next++;
		if (said_without_boot(b))
			continue;
		if (start(b, &err))
			continue;
		if (err->code == MMG_EXIT_USAGE || err->code == MMG_EXIT_INTERRUPTED) {
			r->err = err;
			return;
		}
		boot_refused(b, RESULT_BROKEN, err->message);
		g_error_free(err);
	}
}

/* The tests of all machines on the host's own: once each, and without those that do not build */
static bool host_boot(struct suite_run *r, const struct run_options *opt, int nr, int repeat, GError **err)
{
	GPtrArray *parts = g_ptr_array_new();
	GHashTable *seen = g_hash_table_new(g_str_hash, g_str_equal);
	struct boot_plan all = { .tests = g_ptr_array_new() };
	bool ok;
	guint m, t;

	for (m = 0; m < r->plan->len; m++) {
		const struct boot_plan *plan = r->plan->pdata[m];

		g_ptr_array_add(parts, (void *)built_part(r, plan, nr));
		for (t = 0; t < plan->tests->len; t++)
			if (g_hash_table_add(seen, ((struct planned *)plan->tests->pdata[t])->test->name))
				g_ptr_array_add(all.tests, plan->tests->pdata[t]);
	}
	ok = host_run(r->json, opt, nr, parts, r->built->pdata[nr], r->dir, repeat, err);
	add_unbuilt(r, &all, nr, json_array_size(json_object_get(r->json, "boots")) - 1, "host", repeat);
	g_ptr_array_unref(all.tests);
	g_hash_table_unref(seen);
	g_ptr_array_unref(parts);
	return ok;
}

static bool host_boots(struct suite_run *r, GError **err)
{
	int i, n;

	for (n = 0; n < r->s->repeat; n++) {
		const struct run_options opt = opt_of_run(r->s, n);

		for (i = 0; i < (int)r->s->kernels->len; i++)
			if (((struct kernel *)r->s->kernels->pdata[i])->host && !host_boot(r, &opt, i, n, err))
				return false;
	}
	return true;
}

/* Nobody asked for that machine by name, and it is another architecture's */
static bool machine_of_others(const struct suite_run *r, const struct machine *m, const struct kernel *k)
{
	return !r->s->machines->len && !machine_has_arch(m, k->arch);
}

static void make_boots(struct suite_run *r)
{
	int n, i;
	guint m;

	/* kernels alternate, so that the host's own drift falls on all alike */
	for (n = 0; n < r->s->repeat; n++) {
		if (r->s->job && n != r->s->job->repeat)
			continue;
		for (m = 0; m < r->plan->len; m++) {
			for (i = 0; i < (int)r->s->kernels->len; i++) {
				const struct kernel *k = r->s->kernels->pdata[i];
				struct boot *b;

				if (k->host ||
				    machine_of_others(r, ((struct boot_plan *)r->plan->pdata[m])->machine, k))
					continue;
				b = g_new0(struct boot, 1);
				b->run = r;
				b->kernel = i;
				b->repeat = n;
				b->index = -1;
				b->whole = r->plan->pdata[m];
				b->plan = built_part(r, b->whole, i);
				r->tests_total += b->plan->tests->len;
				g_ptr_array_add(r->boots, b);
			}
		}
	}
}

static void drop_initramfs(struct boot *b)
{
	if (b->vm && b->vm->initramfs && !b->run->s->job)
		unlink(b->vm->initramfs);
}

static void run_boots(struct suite_run *r)
{
	status_set("testing %u kernel%s, %u boot%s", r->s->kernels->len, r->s->kernels->len == 1 ? "" : "s",
		   r->boots->len, r->boots->len == 1 ? "" : "s");
	for (;;) {
		guint i;

		start_some(r);
		if (!r->alive)
			break;
		if (r->stopped || r->err || mmg_interrupted())
			for (i = 0; i < r->boots->len; i++) {
				struct boot *b = r->boots->pdata[i];

				if (b->vm && b->vm->p && !b->done)
					vm_stop(b->vm, mmg_interrupted() ? STATE_INTERRUPTED : STATE_STOPPED,
						"ended early");
			}
		g_main_context_iteration(NULL, TRUE);
		show_status(r);
		for (i = 0; i < r->boots->len; i++) {
			struct boot *b = r->boots->pdata[i];

			if (b->done && b->vm && b->vm->p) {
				drop_initramfs(b);
				vm_free(b->vm);
				b->vm = NULL;
			}
		}
	}
	status_clear();
}

static void boot_free(gpointer p)
{
	struct boot *b = p;

	if (b->vm) {
		drop_initramfs(b);
		vm_free(b->vm);
	}
	g_free(b->dir);
	g_free(b->sub);
	g_free(b->initramfs_sha);
	g_free(b);
}

static void json_unref(gpointer j)
{
	json_decref(j);
}

static void accel_unref(gpointer a)
{
	accel_free(a);
}

/* How VMs of @arch will run: here, or where jobs are taken to, which only the command line can say */
static struct accel *accel_of(const struct suite *s, const char *arch, GError **err)
{
	bool kvm = s->opt.fleet && s->opt.accel && !strcmp(s->opt.accel, "kvm");
	struct accel *a = accel_choose(s->job ? s->job->accel : s->opt.fleet ? "tcg" : s->opt.accel, arch, err);

	if (a && kvm) {
		g_free(a->name);
		a->name = g_strdup("kvm");
	}
	return a;
}

static bool get_ready(struct suite_run *r, GError **err)
{
	const struct job *job = r->s->job;
	guint i;

	if (job) {
		struct accel *a = accel_of(r->s, job->kernel->arch, err);

		g_ptr_array_add(r->accels, a);
		g_ptr_array_add(r->built, NULL);
		g_ptr_array_add(r->unbuilt, json_incref(json_object_get(job->json, "unbuilt")));
		return a;
	}
	for (i = 0; i < r->s->kernels->len; i++) {
		struct kernel *k = r->s->kernels->pdata[i];
		struct accel *a = NULL;
		char *built;

		if (k->host && r->s->opt.fleet) {
			mmg_set_error(err, MMG_EXIT_USAGE, "--kernel host is this host's own kernel: it cannot be tested elsewhere");
			return false;
		}
		if (!k->host) {
			a = accel_of(r->s, k->arch, err);
			if (!a)
				return false;
			if (!i && strcmp(a->name, "kvm") && !r->s->opt.fleet)
				status_note("running under TCG, not KVM: %s", a->reason);
		}
		g_ptr_array_add(r->accels, a);
		if (!kernel_find_ksrc(&r->s->opt.kernel, k, err))
			return false;
		status_set("building the tests for %s", k->label);
		built = selftests_build(k, err);
		if (!built)
			return false;
		g_ptr_array_add(r->built, built);
		g_ptr_array_add(r->unbuilt, unbuilt_load(built));
	}
	return true;
}

/* ---- boots that run elsewhere, each as a job ---- */

/* The words of QEMU's command line, its files by their names in the job's folder */
static void show_command(struct vm *vm)
{
	static const char *const files[][2] = { { "-kernel", "image" }, { "-initrd", "initramfs.cpio" } };

	vm_dry_command(vm);
	for (guint i = 0; i + 1 < vm->argv->len; i++)
		for (size_t f = 0; f < G_N_ELEMENTS(files); f++)
			if (!strcmp(vm->argv->pdata[i], files[f][0])) {
				g_free(vm->argv->pdata[i + 1]);
				vm->argv->pdata[i + 1] = g_strdup(files[f][1]);
			}
}

/* Make job number @nr of @b below @jobs: its job.json to be, or NULL with *@err */
static json_t *make_job(struct boot *b, int nr, const char *jobs, GError **err)
{
	struct suite_run *r = b->run;
	const struct kernel *k = r->s->kernels->pdata[b->kernel];
	g_autofree char *id = job_id(nr), *dir = g_build_filename(jobs, id, NULL);
	g_autofree char *images = g_build_filename(jobs, "images", NULL), *sub = place_of(b), *why = NULL, *staged = NULL;
	struct job_parts p = { .dir = dir, .images = images, .sub = sub, .kernel = k, .plan = b->whole,
			       .accel = r->accels->pdata[b->kernel], .unbuilt = r->unbuilt->pdata[b->kernel],
			       .run = r->json, .nr = nr, .kernel_nr = b->kernel, .repeat = b->repeat,
			       .repeats = r->s->repeat, .seed = r->s->opt.seed ?: 1, .shuffle = r->s->opt.shuffle,
			       .one_seed = r->s->one_seed };
	g_autoptr(GError) e = NULL;
	json_t *job;

	if (!mmg_mkdirs(dir, err))
		return NULL;
	make_vm(b, dir);
	why = why_no_boot(b, &p.refused);
	if (!why && make_initramfs(b, &e)) {
		staged = programs_stage(dir, b->plan->machine->programs, k->arch);
		show_command(b->vm);
		p.refused = RESULT_NONE;
	} else if (!why && (e->code == MMG_EXIT_USAGE || e->code == MMG_EXIT_INTERRUPTED)) {
		g_propagate_error(err, g_steal_pointer(&e));
		return NULL;
	}
	p.refused_why = why ? why : e ? e->message : NULL;
	p.append = b->vm->append;
	p.timeout = b->vm->timeout;
	p.qemu = b->vm->argv;
	p.initramfs_sha256 = b->initramfs_sha;
	job = job_make(&p, err);
	/* the initramfs stays: it is the job's */
	g_clear_pointer(&b->vm->initramfs, g_free);
	vm_free(b->vm);
	b->vm = NULL;
	return job;
}

/* All boots as jobs below @dir; the campaign's name, or NULL with *@err */
static char *make_jobs(struct suite_run *r, const char *dir, GError **err)
{
	g_autofree char *runner = g_build_filename(dir, "runner", NULL);
	json_t *jobs = json_array(), *job;
	char *campaign = NULL;

	if (r->boots->len > JOBS_MAX) {
		mmg_set_error(err, MMG_EXIT_USAGE, "that would be %u jobs; %d at a time are enough", r->boots->len,
			      JOBS_MAX);
		goto out;
	}
	status_set("writing %u job%s to %s", r->boots->len, r->boots->len == 1 ? "" : "s", dir);
	for (guint i = 0; i < r->boots->len; i++) {
		if (mmg_check_interrupt(err))
			goto out;
		job = make_job(r->boots->pdata[i], i + 1, dir, err);
		if (!job)
			goto out;
		json_array_append_new(jobs, job);
		status_progress("%u", i + 1);
	}
	if (runner_stage(runner, err))
		campaign = jobs_write(dir, jobs, r->json, err);
out:
	json_decref(jobs);
	return campaign;
}

struct away {
	struct suite_run *r;
	const char *dir, *campaign;
	json_t *jobs;			/* of jobs.json */
	int lost;
};

static void take_job(guint nr, const char *why, void *data)
{
	struct away *a = data;
	struct suite_run *r = a->r;
	struct boot *b = r->boots->pdata[nr];
	json_t *entry = json_array_get(a->jobs, nr), *result = NULL, *c;
	g_autofree char *dir = g_build_filename(a->dir, obj_str(entry, "id"), "result", NULL);
	g_autoptr(GError) err = NULL;
	size_t i;

	if (!why)
		result = job_result(dir, entry, a->campaign, &err);
	if (result) {
		if (!json_object_get(json_object_get(r->json, "host"), "accel"))
			json_object_set(r->json, "host", json_object_get(result, "host"));
		b->index = job_take(r->json, entry, result, dir, r->dir, &err);
	}
	if (b->index < 0) {
		status_note("job %s has no result: %s", obj_str(entry, "id"), why ? why : err->message);
		b->index = job_lost(r->json, entry, why ? why : err->message);
		a->lost++;
	}
	b->done = true;
	r->finished++;
	r->tests_done += b->plan->tests->len;
	json_array_foreach(json_object_get(r->json, "cases"), i, c)
		if (!r->stopped && r->s->on_case && obj_int(c, "boot") == b->index)
			r->stopped = !r->s->on_case(c, r->s->data);
	save_so_far(r, NULL);
	json_decref(result);
}

static bool had_enough(void *data)
{
	return ((struct away *)data)->r->stopped;
}

static bool run_away(struct suite_run *r, GError **err)
{
	const struct fleet *f = r->s->opt.fleet;
	g_autofree char *dir = f->write_only ? g_strdup(r->dir) : g_build_filename(r->dir, "jobs", NULL);
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(fleet_job_free);
	g_autofree char *campaign = r->boots->len ? make_jobs(r, dir, err) : g_strdup("");
	struct away a = { .r = r, .dir = dir, .campaign = campaign };
	json_t *all = NULL;
	bool ok;

	if (!campaign || f->write_only || !r->boots->len)
		return campaign;
	all = jobs_load(dir, err);
	ok = all;
	a.jobs = json_object_get(all, "jobs");
	for (guint i = 0; ok && i < r->boots->len; i++) {
		const json_t *entry = json_array_get(a.jobs, i);
		g_autofree char *folder = g_build_filename(dir, obj_str(entry, "id"), "result", NULL);
		struct fleet_job *j = g_new0(struct fleet_job, 1);
		json_t *have = job_result(folder, entry, campaign, NULL);

		j->id = g_strdup(obj_str(entry, "id"));
		j->timeout = obj_int(entry, "timeout");
		j->mib = boot_mib(r->boots->pdata[i]);
		j->done = have;
		/* of a run that went before, and of other jobs */
		if (!have)
			mmg_rmtree(folder);
		json_decref(have);
		g_ptr_array_add(list, j);
	}
	status_set("testing %u kernel%s, %u boot%s", r->s->kernels->len, r->s->kernels->len == 1 ? "" : "s",
		   r->boots->len, r->boots->len == 1 ? "" : "s");
	ok = ok && fleet_run(f, dir, campaign, list, take_job, had_enough, &a, err);
	json_decref(all);
	/* what is lost can be had again with --resume */
	if (ok && r->finished == (int)r->boots->len && !a.lost && !mmg_interrupted())
		mmg_rmtree(dir);
	return ok;
}

/* ---- the end ---- */

/*
 * Boots and their cases in the order of the plan, not in that in which they came to their end: the same
 * work gives the same table, wherever it was done.
 */
static void order_results(struct suite_run *r)
{
	json_t *boots = json_object_get(r->json, "boots"), *cases = json_object_get(r->json, "cases"), *c;
	json_t *to = json_array(), *sorted = json_array(), **of_boot;
	size_t n = json_array_size(boots), i, nr = 0;
	g_autofree size_t *order = g_new0(size_t, n + 1);
	g_autofree bool *planned = g_new0(bool, n + 1);

	for (guint b = 0; b < r->boots->len; b++)
		if (((struct boot *)r->boots->pdata[b])->index >= 0)
			planned[((struct boot *)r->boots->pdata[b])->index] = true;
	/* those of the host itself stay first */
	for (i = 0; i < n; i++)
		if (!planned[i])
			order[nr++] = i;
	for (guint b = 0; b < r->boots->len; b++)
		if (((struct boot *)r->boots->pdata[b])->index >= 0)
			order[nr++] = ((struct boot *)r->boots->pdata[b])->index;
	of_boot = g_new0(json_t *, n + 1);
	for (i = 0; i < n; i++)
		of_boot[i] = json_array();
	json_array_foreach(cases, i, c) {
		json_int_t index = obj_int(c, "boot");

		json_array_append(index >= 0 && index < (json_int_t)n ? of_boot[index] : sorted, c);
	}
	for (size_t place = 0; place < nr; place++) {
		json_array_append(to, json_array_get(boots, order[place]));
		json_array_foreach(of_boot[order[place]], i, c)
			json_object_set_new(c, "boot", json_integer(place));
		json_array_extend(sorted, of_boot[order[place]]);
	}
	for (i = 0; i < n; i++)
		json_decref(of_boot[i]);
	g_free(of_boot);
	json_object_set_new(r->json, "boots", to);
	json_object_set_new(r->json, "cases", sorted);
}

/* Where the run ended: judged, saved, listed in the history */
static json_t *wrap_up(struct suite_run *r, GError **err)
{
	bool all = r->finished == (int)r->boots->len && !mmg_interrupted();

	order_results(r);
	json_object_set_new(r->json, "complete", json_boolean(all || r->stopped));
	set_duration(r);
	if (!known_apply(r->json, err))
		return NULL;
	results_judge(r->json);
	return results_save(r->json, r->dir, err) ? json_incref(r->json) : NULL;
}

json_t *suite_run(const struct suite *s, char **dir, GError **err)
{
	struct suite_run r = { .s = s, .began = g_get_monotonic_time() };
	GPtrArray *catalog = s->plan ? NULL : catalog_load(err);
	json_t *run = NULL;
	char *base;
	bool ok;

	*dir = NULL;
	r.boots = g_ptr_array_new_with_free_func(boot_free);
	r.built = g_ptr_array_new_with_free_func(g_free);
	r.unbuilt = g_ptr_array_new_with_free_func(json_unref);
	r.parts = g_ptr_array_new_with_free_func(part_free);
	r.accels = g_ptr_array_new_with_free_func(accel_unref);
	if (!catalog && !s->plan)
		goto out;
	r.plan = s->plan ? g_ptr_array_ref(s->plan) : plan_make(catalog, s->tests, s->machines, err);
	if (r.plan && s->opt.shuffle)
		plan_shuffle(r.plan, s->opt.shuffle);
	if (!r.plan || !get_ready(&r, err))
		goto out;
	r.dir = s->out ? g_strdup(s->out) : results_dir_of(&s->opt, err);
	if (!r.dir)
		goto out;
	r.json = run_new(&s->opt, s->verb, s->kernels);
	json_object_set_new(json_object_get(r.json, "options"), "repeat", json_integer(s->repeat));
	for (guint i = 0; i < r.accels->len && !s->opt.fleet; i++)
		if (r.accels->pdata[i])
			run_set_accel(r.json, r.accels->pdata[i]);
	base = g_path_get_basename(r.dir);
	set_str(r.json, "id", base);
	g_free(base);
	make_boots(&r);
	if (!(s->opt.fleet && s->opt.fleet->write_only) && !save_so_far(&r, err))
		goto out;
	if (!host_boots(&r, err))
		goto out;
	ok = true;
	if (s->opt.fleet)
		ok = run_away(&r, err);
	else
		run_boots(&r);
	if (r.err)
		g_propagate_error(err, r.err);
	if (!ok || r.err)
		goto out;
	run = s->opt.fleet && s->opt.fleet->write_only ? json_incref(r.json) : wrap_up(&r, err);
	if (run)
		*dir = g_strdup(r.dir);
out:
	json_decref(r.json);
	g_ptr_array_unref(r.boots);
	g_ptr_array_unref(r.built);
	g_ptr_array_unref(r.unbuilt);
	g_ptr_array_unref(r.parts);
	g_ptr_array_unref(r.accels);
	if (r.plan)
		g_ptr_array_unref(r.plan);
	if (catalog)
		g_ptr_array_unref(catalog);
	g_free(r.dir);
	return run;
}
