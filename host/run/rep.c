// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.json seen as a matrix: a line for each case and machine, a column for
 * each kernel.  All reports are made from this and from the files of the
 * results folder alone, so that they can be made again at any time.
 */
#include "run/rep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRING_MAX	32768	/* a splat's text is half of it */
#define DEPTH_MAX	32

const char *rep_reason(const json_t *run)
{
	const char *reason = obj_str(run, "reason"), *verdict = obj_str(run, "verdict");
	gsize n = strlen(verdict);

	return n && g_str_has_prefix(reason, verdict) && g_str_has_prefix(reason + n, ": ") ?
	       reason + n + 2 : reason;
}

const char *rep_label(const struct rep *r, size_t i)
{
	const struct rep_kernel *k = &r->kernels[i];

	return *k->label ? k->label : *k->release ? k->release : *k->spec ? k->spec : "kernel";
}

const struct rep_splat *rep_splat(const struct rep_boot *boot, guint i)
{
	return boot && i < boot->splats->len ? &g_array_index(boot->splats, struct rep_splat, i) : NULL;
}

static void boot_free(void *data)
{
	struct rep_boot *b = data;

	g_array_unref(b->splats);
	g_free(b);
}

static void row_free(void *data)
{
	struct rep_row *row = data;

	g_free(row->test);
	g_free(row->cells);
	g_free(row);
}

static void group_free(void *data)
{
	struct rep_group *g = data;

	g_free(g->name);
	g_ptr_array_unref(g->cases);
	g_free(g);
}

static void verdict_free(void *data)
{
	struct rep_verdict *v = data;

	g_free(v->name);
	g_free(v->reason);
	g_free(v);
}

void rep_free(struct rep *r)
{
	if (!r)
		return;
	for (guint i = 0; i < r->rows->len; i++) {
		struct rep_row *row = r->rows->pdata[i];

		for (size_t k = 0; k < r->nr_kernels; k++)
			g_clear_pointer(&row->cells[k].cases, g_ptr_array_unref);
	}
	g_ptr_array_unref(r->rows);
	g_ptr_array_unref(r->groups);
	g_ptr_array_unref(r->verdicts);
	g_ptr_array_unref(r->cases);
	g_ptr_array_unref(r->boots);
	g_free(r->kernels);
	g_hash_table_unref(r->index);
	g_free(r);
}

/* family/test of a case's name */
static char *test_of(const char *name)
{
	const char *slash = strchr(name, '/');

	slash = slash ? strchr(slash + 1, '/') : NULL;
	return slash ? g_strndup(name, slash - name) : g_strdup(name);
}

char *rep_test_name(const struct rep_case *c)
{
	return test_of(c->name);
}

const char *rep_case_name(const struct rep_case *c)
{
	const char *slash = strchr(c->name, '/');

	slash = slash ? strchr(slash + 1, '/') : NULL;
	return slash && slash[1] ? slash + 1 : c->name;
}

enum result rep_boot_result(const struct rep_boot *boot, char **reason)
{
	const struct rep_splat *s;

	for (guint i = 0; (s = rep_splat(boot, i)); i++) {
		if (*s->allowed)
			continue;
		*reason = g_strdup_printf("%s%s%s", s->title, *s->test ? ", during " : "", s->test);
		return RESULT_FAIL;
	}
	if (boot->state == STATE_GOODBYE && boot->complete) {
		*reason = g_strdup("came up, ran its plan and said goodbye");
		return RESULT_PASS;
	}
	*reason = g_strdup_printf("%s: %s", *boot->word ? boot->word : "no state", boot->reason);
	if (boot->state == STATE_STOPPED)
		return RESULT_SKIP;
	return boot->hello_s > 0 && (boot->state == STATE_PANIC || boot->state == STATE_HANG) ?
	       RESULT_FAIL : RESULT_BROKEN;
}

/* A result that counts only beside another one */
static enum result compared(enum result result, char **reason)
{
	g_autofree char *why = NULL;

	if (!result_bad(result))
		return result;
	why = *reason;
	*reason = g_strdup_printf("judged by comparison: %s: %s", result_name(result), why);
	return RESULT_SKIP;
}

enum result rep_shown(const struct rep *r, const struct rep_case *c, char **reason)
{
	if (*c->allowed && result_bad(c->result)) {
		*reason = g_strdup_printf("known issue %s: %s: %s", c->allowed, result_name(c->result), c->reason);
		return RESULT_SKIP;
	}
	*reason = g_strdup(c->reason);
	return r->compared ? compared(c->result, reason) : c->result;
}

enum result rep_boot_shown(const struct rep *r, const struct rep_boot *boot, char **reason)
{
	enum result result = rep_boot_result(boot, reason);

	return r->compared ? compared(result, reason) : result;
}

static void add_verdict(struct rep *r, char *name, enum result result, char *reason)
{
	struct rep_verdict *v = g_new0(struct rep_verdict, 1);

	v->name = name;
	v->result = result;
	v->reason = reason;
	g_ptr_array_add(r->verdicts, v);
}

static enum result gate_result(const json_t *c)
{
	enum claim claim = obj_claim(c);

	/* a word of a later version says nothing */
	if (word_find(WORDS_CHANGE, obj_str(c, "change")) < 0)
		return RESULT_BROKEN;
	switch (obj_change(c)) {
	case CHANGE_FIXED:
		return RESULT_PASS;
	case CHANGE_STILL_PASSING:		/* a claimed case should have failed on base */
		return claim == CLAIM_FIXES ? RESULT_FAIL : RESULT_PASS;
	case CHANGE_REGRESSED:
		return RESULT_FAIL;
	case CHANGE_STILL_FAILING:
		return claim == CLAIM_FIXES ? RESULT_FAIL : RESULT_SKIP;
	case CHANGE_SKIPPED:
	case CHANGE_ABSENT:
		return claim == CLAIM_NONE ? RESULT_SKIP : RESULT_BROKEN;
	default:
		return RESULT_BROKEN;
	}
}

static void gate_verdicts(struct rep *r, const json_t *gate)
{
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(gate, "cases"), i, c)
		add_verdict(r, g_strdup_printf("gate %s: %s on %s", obj_str(gate, "name"),
					       obj_str(c, "name"), obj_str(c, "machine")),
			    gate_result(c), g_strdup_printf("%s; base: %s; patched: %s",
							  obj_str(c, "change"),
							  obj_str(c, "base_reason"),
							  obj_str(c, "patched_reason")));
	json_array_foreach(json_object_get(gate, "metrics"), i, c)
		if (!strcmp(obj_str(c, "change"), "worse"))
			add_verdict(r, g_strdup_printf("gate %s: %s of %s", obj_str(gate, "name"),
						       obj_str(c, "name"), obj_str(c, "case")),
				    RESULT_FAIL, g_strdup_printf("%g on base, %g patched",
								 obj_num(c, "base_median"),
								 obj_num(c, "patched_median")));
}

static void mutant_verdicts(struct rep *r, const json_t *mutants)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(mutants, "list"), i, m) {
		enum result shown = word_shown(WORDS_FATE, obj_fate(m));

		add_verdict(r, g_strdup_printf("mutant %s", obj_str(m, "name")),
			    shown == RESULT_NONE ? RESULT_SKIP : shown,
			    g_strdup_printf("%s: %s", obj_str(m, "fate"), *obj_str(m, "reason") ?
					    obj_str(m, "reason") : obj_str(m, "survives")));
	}
}

static void all_verdicts(struct rep *r)
{
	json_t *gate = json_object_get(r->run, "gate"), *q;
	json_t *mutants = json_object_get(r->run, "mutants");
	size_t i;

	json_array_foreach(json_object_get(r->run, "requires"), i, q)
		add_verdict(r, g_strdup_printf("required %s", obj_str(q, "glob")),
			    obj_bool(q, "ran") ? RESULT_PASS : RESULT_FAIL,
			    g_strdup(obj_bool(q, "ran") ? "it ran" :
				     "it was required, and was skipped or did not run"));
	r->compared = json_is_object(gate) || json_is_object(mutants);
	gate_verdicts(r, gate);
	mutant_verdicts(r, mutants);
}

bool rep_write(const struct rep *r, const char *name, const GString *text, GError **err)
{
	char *path = g_build_filename(r->dir, name, NULL);
	bool ok = mmg_write_atomic(path, text->str, text->len, err);

	g_free(path);
	return ok;
}

static struct rep_row *row_get(struct rep *r, const char *name, const char *machine)
{
	char *key = g_strdup_printf("%s\n%s", name, machine);
	struct rep_row *row = g_hash_table_lookup(r->index, key);

	if (row) {
		g_free(key);
		return row;
	}
	row = g_new0(struct rep_row, 1);
	row->name = name;
	row->machine = machine;
	row->test = test_of(name);
	row->cells = g_new0(struct rep_cell, MAX(r->nr_kernels, 1));
	for (size_t k = 0; k < r->nr_kernels; k++)
		row->cells[k].cases = g_ptr_array_new();
	g_ptr_array_add(r->rows, row);
	g_hash_table_insert(r->index, key, row);
	return row;
}

static bool bad(GError **err, const char *dir, const char *what, size_t i)
{
	mmg_set_error(err, MMG_EXIT_BROKEN, "reading %s/run.json: %s %zu is not of the form that docs/results.md describes",
		      dir, what, i);
	return false;
}

static bool kernel_of(const struct rep *r, const json_t *o, size_t *kernel)
{
	json_t *k = json_object_get(o, "kernel");

	if (!json_is_integer(k) || json_integer_value(k) < 0 || (size_t)json_integer_value(k) >= r->nr_kernels)
		return false;
	*kernel = json_integer_value(k);
	return true;
}

static void read_kernel(struct rep_kernel *k, const json_t *o)
{
	k->label = obj_str(o, "label");
	k->spec = obj_str(o, "spec");
	k->release = obj_str(o, "release");
	k->arch = obj_str(o, "arch");
	k->sha256 = obj_str(o, "image_sha256");
	k->ksrc = obj_str(o, "ksrc");
	k->role = obj_str(o, "role");
	k->packages = json_object_get(o, "packages");
}

static void count_case(struct rep *r, const struct rep_case *c)
{
	struct rep_cell *cell = &row_get(r, c->name, c->machine)->cells[c->kernel];

	cell->pass += c->result == RESULT_PASS;
	cell->fail += c->result == RESULT_FAIL;
	cell->skip += c->result == RESULT_SKIP;
	cell->broken += c->result == RESULT_BROKEN;
	r->pass += c->result == RESULT_PASS;
	r->fail += c->result == RESULT_FAIL;
	r->skip += c->result == RESULT_SKIP;
	r->broken += c->result == RESULT_BROKEN;
	cell->allowed += result_bad(c->result) && *c->allowed;
	g_ptr_array_add(cell->cases, (void *)c);
	if (!c->has_auc || c->result == RESULT_SKIP)
		return;
	cell->auc_min = cell->has_auc ? fmin(cell->auc_min, c->auc) : c->auc;
	cell->auc_max = cell->has_auc ? fmax(cell->auc_max, c->auc) : c->auc;
	cell->has_auc = true;
}

static bool add_case(struct rep *r, json_t *o)
{
	g_autofree struct rep_case *c = g_new0(struct rep_case, 1);
	json_t *boot = json_object_get(o, "boot"), *auc;

	c->name = obj_str(o, "name");
	c->machine = obj_str(o, "machine");
	c->reason = obj_str(o, "reason");
	c->allowed = obj_str(o, "allowed");
	c->result = obj_result(o);
	c->repeat = obj_int(o, "repeat");
	c->duration_s = obj_num(o, "duration_s");
	c->metrics = json_object_get(o, "metrics");
	c->diag = json_object_get(o, "diag");
	if (!json_is_object(o) || !*c->name || !kernel_of(r, o, &c->kernel) || c->result == RESULT_NONE)
		return false;
	if (json_is_integer(boot) && json_integer_value(boot) >= 0 && json_integer_value(boot) < r->boots->len)
		c->boot = r->boots->pdata[json_integer_value(boot)];
	auc = json_object_get(c->metrics, "auc");
	c->has_auc = json_is_number(auc);
	c->auc = json_number_value(auc);
	count_case(r, c);
	g_ptr_array_add(r->cases, g_steal_pointer(&c));
	return true;
}

static bool add_splat(struct rep *r, struct rep_boot *b, const json_t *o)
{
	struct rep_splat s = {
		.kind = obj_str(o, "kind"), .title = obj_str(o, "title"), .text = obj_str(o, "text"),
		.fingerprint = obj_str(o, "fingerprint"), .test = obj_str(o, "test"),
		.allowed = obj_str(o, "allowed"), .count = obj_int(o, "count"),
	};

	if (!json_is_object(o))
		return false;
	if (*s.allowed)
		r->splats_allowed++;
	else
		r->splats++;
	g_array_append_val(b->splats, s);
	return true;
}

static bool add_boot(struct rep *r, json_t *o)
{
	struct rep_boot *b = g_new0(struct rep_boot, 1);
	json_t *s;
	size_t i;

	b->splats = g_array_new(FALSE, FALSE, sizeof(struct rep_splat));
	b->nr = r->boots->len;
	g_ptr_array_add(r->boots, b);
	if (!json_is_object(o) || !kernel_of(r, o, &b->kernel))
		return false;
	b->machine = obj_str(o, "machine");
	b->dir = obj_str(o, "dir");
	b->word = obj_str(o, "state");
	b->state = obj_state(o);
	b->reason = obj_str(o, "reason");
	b->started = obj_str(o, "started");
	b->append = obj_str(o, "append");
	b->initramfs_sha256 = obj_str(o, "initramfs_sha256");
	b->complete = obj_bool(o, "complete");
	b->repeat = obj_int(o, "repeat");
	b->hello_s = obj_num(o, "hello_s");
	b->duration_s = obj_num(o, "duration_s");
	b->artifacts = json_object_get(o, "artifacts");
	b->qemu = json_object_get(o, "qemu");
	json_array_foreach(json_object_get(o, "splats"), i, s)
		if (!add_splat(r, b, s))
			return false;
	return true;
}

static struct rep_group *group_new(struct rep *r, size_t kernel, const struct rep_boot *boot,
				   const char *machine, json_int_t repeat)
{
	struct rep_group *g = g_new0(struct rep_group, 1);

	if (!*machine)
		machine = "host";
	g->kernel = kernel;
	g->boot = boot;
	g->name = repeat > 0 ? g_strdup_printf("%s.%lld", machine, (long long)repeat) :
			       g_strdup(machine);
	g->cases = g_ptr_array_new();
	g_ptr_array_add(r->groups, g);
	return g;
}

/* The group of a case that names no boot: one for each machine and repeat */
static struct rep_group *group_without_boot(struct rep *r, const struct rep_case *c)
{
	for (guint i = 0; i < r->groups->len; i++) {
		struct rep_group *g = r->groups->pdata[i];
		const struct rep_case *first = g->cases->len ? g->cases->pdata[0] : NULL;

		if (!g->boot && g->kernel == c->kernel && first && !strcmp(first->machine, c->machine) &&
		    first->repeat == c->repeat)
			return g;
	}
	return group_new(r, c->kernel, NULL, c->machine, c->repeat);
}

static int by_kernel(const void *a, const void *b)
{
	const struct rep_group *x = *(void *const *)a, *y = *(void *const *)b;

	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static void group_all(struct rep *r)
{
	for (guint i = 0; i < r->boots->len; i++) {
		const struct rep_boot *b = r->boots->pdata[i];

		group_new(r, b->kernel, b, b->machine, b->repeat);
	}
	for (guint i = 0; i < r->cases->len; i++) {
		const struct rep_case *c = r->cases->pdata[i];
		struct rep_group *g = c->boot ? r->groups->pdata[c->boot->nr] : group_without_boot(r, c);

		g_ptr_array_add(g->cases, (void *)c);
	}
	g_ptr_array_sort(r->groups, by_kernel);	/* stable: order within a kernel stays */
}

/* No string of @v is longer than a report has use for */
static void shorten(json_t *v, int depth)
{
	const char *key;
	json_t *o;
	size_t i;

	if (json_is_string(v) && json_string_length(v) > STRING_MAX) {
		char *cut = mmg_clean(json_string_value(v), -1, STRING_MAX);

		json_string_set(v, cut);
		g_free(cut);
	}
	if (depth > DEPTH_MAX)
		return;
	json_array_foreach(v, i, o)
		shorten(o, depth + 1);
	json_object_foreach(v, key, o)
		shorten(o, depth + 1);
}

json_t *rep_load(const char *dir, GError **err)
{
	char *path = g_build_filename(dir, "run.json", NULL);
	json_error_t why;
	json_t *run = NULL;

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s holds no run.json: name the folder of a run, such as results/latest",
			      dir);
	} else {
		run = json_load_file(path, 0, &why);
		if (!run)
			mmg_set_error(err, MMG_EXIT_BROKEN, "reading %s: line %d: %s", path, why.line,
				      why.text);
	}
	g_free(path);
	return run;
}

struct rep *rep_new(json_t *run, const char *dir, GError **err)
{
	struct rep *r;
	json_t *o;
	size_t i;

	if (!json_is_object(run) || obj_int(run, "schema") != 1) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "reading %s/run.json: it is not of schema 1, the one that mmgate %s reads",
			      dir, MMG_VERSION);
		return NULL;
	}
	shorten(run, 0);
	r = g_new0(struct rep, 1);
	r->run = run;
	r->dir = dir;
	r->nr_kernels = json_array_size(json_object_get(run, "kernels"));
	r->kernels = g_new0(struct rep_kernel, r->nr_kernels + 1);
	r->boots = g_ptr_array_new_with_free_func(boot_free);
	r->cases = g_ptr_array_new_with_free_func(g_free);
	r->rows = g_ptr_array_new_with_free_func(row_free);
	r->groups = g_ptr_array_new_with_free_func(group_free);
	r->verdicts = g_ptr_array_new_with_free_func(verdict_free);
	r->index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_array_foreach(json_object_get(run, "kernels"), i, o) {
		if (!json_is_object(o) && !bad(err, dir, "kernel", i))
			goto fail;
		read_kernel(&r->kernels[i], o);
	}
	json_array_foreach(json_object_get(run, "boots"), i, o)
		if (!add_boot(r, o) && !bad(err, dir, "boot", i))
			goto fail;
	json_array_foreach(json_object_get(run, "cases"), i, o)
		if (!add_case(r, o) && !bad(err, dir, "case", i))
			goto fail;
	group_all(r);
	all_verdicts(r);
	return r;
fail:
	rep_free(r);
	return NULL;
}

enum result rep_cell_result(const struct rep_cell *c)
{
	if (c->fail)
		return RESULT_FAIL;
	if (c->broken)
		return RESULT_BROKEN;
	if (c->pass)
		return RESULT_PASS;
	return c->skip ? RESULT_SKIP : RESULT_NONE;
}

char *rep_cell_text(const struct rep_cell *c)
{
	static const char *const words[] = {
		[RESULT_NONE] = "-", [RESULT_PASS] = "pass", [RESULT_FAIL] = "FAIL",
		[RESULT_BROKEN] = "BROKEN", [RESULT_SKIP] = "skip",
	};
	int n = c->cases->len, hit = c->fail ? c->fail : c->broken ? c->broken :
					 c->pass ? c->pass : c->skip;
	GString *out = g_string_new(words[rep_cell_result(c)]);

	if (c->allowed && c->allowed == c->fail + c->broken)
		g_string_append(out, "(known)");
	if (n > 1)
		g_string_append_printf(out, " %d/%d", hit, n);
	if (c->has_auc && fabs(c->auc_max - c->auc_min) < 0.005)
		g_string_append_printf(out, " %.2f", c->auc_max);
	else if (c->has_auc)
		g_string_append_printf(out, " %.2f-%.2f", c->auc_min, c->auc_max);
	return g_string_free(out, FALSE);
}

const struct rep_case *rep_cell_case(const struct rep_cell *c)
{
	enum result result = rep_cell_result(c);

	for (guint i = 0; i < c->cases->len; i++)
		if (((struct rep_case *)c->cases->pdata[i])->result == result)
			return c->cases->pdata[i];
	return NULL;
}

const char *rep_meaning(const struct rep_case *c)
{
	static const struct {
		const char *glob, *means;
	} meanings[] = {
		{ "kvm/eviction_order/*host*",
		  "Under memory pressure this kernel evicts a process's hot pages as readily as its idle ones." },
		{ "kvm/eviction_order/*",
		  "Under memory pressure this kernel evicts the guest pages a VM is using as readily as idle ones: the VM stalls on swap while cold memory stays." },
		{ "kvm/fairness/*",
		  "Under memory pressure this kernel takes from one side, VM or process, what both should give." },
		{ "kvm/integrity/*",
		  "A guest loses or mixes up memory while the host ages, evicts or moves it: data corruption." },
		{ "kvm/lookaround/*",
		  "Where pages are judged one by one, what a guest uses is not seen: its neighbours go with the cold ones." },
		{ "kvm/kswapd_order/*",
		  "Under memory pressure kswapd evicts the guest pages a VM is using as readily as idle ones: the VM stalls on swap while cold memory stays." },
		{ "kvm/folded_order/*",
		  "Where this kernel runs out of generations it evicts younger pages before older ones." },
		{ "kvm/reclaim_*/*",
		  "Proactive reclaim takes more, less, longer, or from somebody else than was asked." },
		{ "kvm/working_set/*",
		  "The size of a VM's working set, read from its generations, is not what the guest uses: it is sized wrongly." },
		{ "kvm/stats_format/*",
		  "Tools that read this kernel's MGLRU statistics are told something that is not so." },
		{ "kvm/stats/*",
		  "Tools that read this kernel's MGLRU statistics are told something that is not so." },
		{ "kvm/toggle/*",
		  "Switching MGLRU on a live machine can kill processes of a VM that had memory left to reclaim." },
		{ "kvm/*",
		  "MGLRU does not see what a guest touches: a VM's working set is judged by chance." },
		{ "mm/reserve_pressure/*",
		  "A single process can use up the low zone's reserve: drivers that need memory below 4G (or 16M) may find none." },
		{ "mm/lowmem_reserve/*",
		  "Low zones are not protected as lowmem_reserve_ratio asks: user memory can use up what only they can give to drivers." },
		{ "mm/watermark/*",
		  "The kernel starts to reclaim too early or too late, or lets a zone run dry." },
		{ "mm/zoneinfo/*",
		  "The files that tell of this machine's memory contradict each other: what is tuned by them is tuned wrongly." },
		{ "mm/hotplug_zone/*",
		  "After memory came or went, the kernel still works by the reserves and lists of before." },
		{ "mm/kswapd_scan/*",
		  "kswapd burns CPU for nothing, or sleeps while memory is short." },
		{ "mm/node_alloc/*",
		  "Memory comes from another node or zone than policy and distance say: slow, or from what should be kept." },
		{ "mm/memoryless_node/*",
		  "A node without memory is served badly: allocations there fail, stall, or come from the wrong node." },
		{ "mm/*",
		  "The kernel's zones or nodes do not keep the memory in reserve that they promise." },
	};

	if (c->result != RESULT_FAIL)
		return NULL;
	if (c->boot && (c->boot->state == STATE_PANIC || c->boot->state == STATE_HANG))
		return "The kernel dies under this load, and everything on the machine with it.";
	for (gsize i = 0; i < G_N_ELEMENTS(meanings); i++)
		if (g_pattern_match_simple(meanings[i].glob, c->name))
			return meanings[i].means;
	return NULL;
}

/* A path that stays below the folder it starts from */
static bool path_inside(const char *path)
{
	bool ok = *path && *path != '/' && strlen(path) < 4000;
	char **parts = g_strsplit(ok ? path : "", "/", -1);

	for (char **p = parts; *p; p++)
		if (!strcmp(*p, ".."))
			ok = false;
	g_strfreev(parts);
	return ok;
}

char *rep_file(const struct rep *r, const char *path, gsize max, bool tail, gsize *len)
{
	char *full, *buf = NULL;
	struct stat st;
	gsize have = 0;
	int fd;

	if (!path_inside(path))
		return NULL;
	full = g_build_filename(r->dir, path, NULL);
	fd = open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	g_free(full);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		if (tail && (gsize)st.st_size > max)
			lseek(fd, -(off_t)max, SEEK_END);
		buf = g_malloc(max + 1);
		while (have < max) {
			ssize_t n = read(fd, buf + have, max - have);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				break;
			have += n;
		}
		buf = g_realloc(buf, have + 1);
		buf[have] = 0;
		if (len)
			*len = have;
	}
	close(fd);
	return buf;
}
