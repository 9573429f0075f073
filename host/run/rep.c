// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.json seen as a matrix: a line for each case and machine, a column for
 * each kernel.  All reports are made from this and from the files of the
 * results folder alone, so that they can be made again at any time.
 */
#include "run/run.h"

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
	json_t *k = json_array_get(r->kernels, i);
	const char *s = obj_str(k, "label");

	if (!*s)
		s = obj_str(k, "release");
	if (!*s)
		s = obj_str(k, "spec");
	return *s ? s : "kernel";
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

char *rep_test_name(const json_t *c)
{
	return test_of(obj_str(c, "name"));
}

const char *rep_case_name(const json_t *c)
{
	const char *name = obj_str(c, "name"), *slash = strchr(name, '/');

	slash = slash ? strchr(slash + 1, '/') : NULL;
	return slash && slash[1] ? slash + 1 : name;
}

const char *rep_boot_result(const json_t *boot, char **reason)
{
	const char *state = obj_str(boot, "state"), *why = obj_str(boot, "reason");
	bool hello = obj_num(boot, "hello_s") > 0;
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(boot, "splats"), i, s) {
		if (*obj_str(s, "allowed"))
			continue;
		*reason = g_strdup_printf("%s%s%s", obj_str(s, "title"),
					  *obj_str(s, "test") ? ", during " : "",
					  obj_str(s, "test"));
		return "fail";
	}
	if (!strcmp(state, "goodbye") && obj_bool(boot, "complete")) {
		*reason = g_strdup("came up, ran its plan and said goodbye");
		return "pass";
	}
	*reason = g_strdup_printf("%s: %s", *state ? state : "no state", why);
	if (!strcmp(state, "stopped"))	/* on purpose, since enough was seen */
		return "skip";
	return hello && (!strcmp(state, "panic") || !strcmp(state, "hang")) ? "fail" : "broken";
}

/* A result that counts only beside another one */
static const char *compared(const char *word, char **reason)
{
	char *why = *reason;

	if (!strcmp(word, "pass") || !strcmp(word, "skip"))
		return word;
	*reason = g_strdup_printf("judged by comparison: %s: %s", word, why);
	g_free(why);
	return "skip";
}

const char *rep_shown(const struct rep *r, const json_t *c, char **reason)
{
	const char *word = obj_str(c, "result"), *allowed = obj_str(c, "allowed");

	if (*allowed && (!strcmp(word, "fail") || !strcmp(word, "broken"))) {
		*reason = g_strdup_printf("known issue %s: %s: %s", allowed, word,
					  obj_str(c, "reason"));
		return "skip";
	}
	*reason = g_strdup(obj_str(c, "reason"));
	return r->compared ? compared(word, reason) : word;
}

const char *rep_boot_shown(const struct rep *r, const json_t *boot, char **reason)
{
	const char *word = rep_boot_result(boot, reason);

	return r->compared ? compared(word, reason) : word;
}

static void add_verdict(struct rep *r, char *name, const char *word, char *reason)
{
	struct rep_verdict *v = g_new0(struct rep_verdict, 1);

	v->name = name;
	v->word = word;
	v->reason = reason;
	g_ptr_array_add(r->verdicts, v);
}

static const char *gate_word(const json_t *c)
{
	const char *change = obj_str(c, "change");
	bool fixes = !strcmp(obj_str(c, "claim"), "fixes");

	if (!strcmp(change, "fixed"))
		return "pass";
	if (!strcmp(change, "still passing"))	/* a claimed case should have failed on base */
		return fixes ? "fail" : "pass";
	if (!strcmp(change, "regressed"))
		return "fail";
	if (!strcmp(change, "still failing"))
		return fixes ? "fail" : "skip";
	if (!strcmp(change, "skipped") || !strcmp(change, "absent"))
		return *obj_str(c, "claim") ? "broken" : "skip";
	return "broken";
}

static void gate_verdicts(struct rep *r, const json_t *gate)
{
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(gate, "cases"), i, c)
		add_verdict(r, g_strdup_printf("gate %s: %s on %s", obj_str(gate, "name"),
					       obj_str(c, "name"), obj_str(c, "machine")),
			    gate_word(c), g_strdup_printf("%s; base: %s; patched: %s",
							  obj_str(c, "change"),
							  obj_str(c, "base_reason"),
							  obj_str(c, "patched_reason")));
	json_array_foreach(json_object_get(gate, "metrics"), i, c)
		if (!strcmp(obj_str(c, "change"), "worse"))
			add_verdict(r, g_strdup_printf("gate %s: %s of %s", obj_str(gate, "name"),
						       obj_str(c, "name"), obj_str(c, "case")),
				    "fail", g_strdup_printf("%g on base, %g patched",
							    obj_num(c, "base_median"),
							    obj_num(c, "patched_median")));
}

static void mutant_verdicts(struct rep *r, const json_t *mutants)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(mutants, "list"), i, m) {
		const char *fate = obj_str(m, "fate");

		add_verdict(r, g_strdup_printf("mutant %s", obj_str(m, "name")),
			    !strcmp(fate, "killed") ? "pass" : !strcmp(fate, "survived") ? "fail" :
			    !strcmp(fate, "broken") ? "broken" : "skip",
			    g_strdup_printf("%s: %s", fate, *obj_str(m, "reason") ?
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
			    obj_bool(q, "ran") ? "pass" : "fail",
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

static bool kernel_index_ok(const struct rep *r, const json_t *o)
{
	json_t *k = json_object_get(o, "kernel");

	return json_is_integer(k) && json_integer_value(k) >= 0 &&
	       (size_t)json_integer_value(k) < r->nr_kernels;
}

static bool add_case(struct rep *r, json_t *c)
{
	const char *result = obj_str(c, "result");
	struct rep_cell *cell;
	json_t *auc;

	if (!json_is_object(c) || !*obj_str(c, "name") || !kernel_index_ok(r, c))
		return false;
	cell = &row_get(r, obj_str(c, "name"), obj_str(c, "machine"))->cells[obj_int(c, "kernel")];
	if (!strcmp(result, "pass")) {
		cell->pass++;
		r->pass++;
	} else if (!strcmp(result, "fail")) {
		cell->fail++;
		r->fail++;
	} else if (!strcmp(result, "skip")) {
		cell->skip++;
		r->skip++;
	} else if (!strcmp(result, "broken")) {
		cell->broken++;
		r->broken++;
	} else {
		return false;
	}
	if ((!strcmp(result, "fail") || !strcmp(result, "broken")) && *obj_str(c, "allowed"))
		cell->allowed++;
	g_ptr_array_add(cell->cases, c);
	auc = json_object_get(json_object_get(c, "metrics"), "auc");
	if (json_is_number(auc) && strcmp(result, "skip")) {
		double v = json_number_value(auc);

		cell->auc_min = cell->has_auc ? fmin(cell->auc_min, v) : v;
		cell->auc_max = cell->has_auc ? fmax(cell->auc_max, v) : v;
		cell->has_auc = true;
	}
	return true;
}

static bool add_boot(struct rep *r, json_t *b)
{
	json_t *s;
	size_t i;

	if (!json_is_object(b) || !kernel_index_ok(r, b))
		return false;
	json_array_foreach(json_object_get(b, "splats"), i, s) {
		if (!json_is_object(s))
			return false;
		if (*obj_str(s, "allowed"))
			r->splats_allowed++;
		else
			r->splats++;
	}
	return true;
}

static struct rep_group *group_new(struct rep *r, size_t kernel, json_t *boot, const char *machine,
				   json_int_t repeat)
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
static struct rep_group *group_without_boot(struct rep *r, const json_t *c)
{
	struct rep_group *g, *found = NULL;
	size_t before = r->groups->len;

	for (size_t i = 0; i < before && !found; i++) {
		json_t *first;

		g = r->groups->pdata[i];
		if (g->boot || g->kernel != (size_t)obj_int(c, "kernel") || !g->cases->len)
			continue;
		first = g->cases->pdata[0];
		if (!strcmp(obj_str(first, "machine"), obj_str(c, "machine")) &&
		    obj_int(first, "repeat") == obj_int(c, "repeat"))
			found = g;
	}
	return found ? found : group_new(r, obj_int(c, "kernel"), NULL, obj_str(c, "machine"),
					 obj_int(c, "repeat"));
}

static int by_kernel(const void *a, const void *b)
{
	const struct rep_group *x = *(void *const *)a, *y = *(void *const *)b;

	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static void group_all(struct rep *r)
{
	struct rep_group **of_boot = g_new0(struct rep_group *, json_array_size(r->boots) + 1);
	json_t *o, *k;
	size_t i;

	json_array_foreach(r->boots, i, o)
		of_boot[i] = group_new(r, obj_int(o, "kernel"), o, obj_str(o, "machine"),
				       obj_int(o, "repeat"));
	json_array_foreach(r->cases, i, o) {
		struct rep_group *g;

		k = json_object_get(o, "boot");
		if (json_is_integer(k) && json_integer_value(k) >= 0 &&
		    (size_t)json_integer_value(k) < json_array_size(r->boots))
			g = of_boot[json_integer_value(k)];
		else
			g = group_without_boot(r, o);
		g_ptr_array_add(g->cases, o);
	}
	g_free(of_boot);
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
	r->kernels = json_object_get(run, "kernels");
	r->boots = json_object_get(run, "boots");
	r->cases = json_object_get(run, "cases");
	r->nr_kernels = json_array_size(r->kernels);
	r->rows = g_ptr_array_new_with_free_func(row_free);
	r->groups = g_ptr_array_new_with_free_func(group_free);
	r->verdicts = g_ptr_array_new_with_free_func(verdict_free);
	r->index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_array_foreach(r->kernels, i, o)
		if (!json_is_object(o) && !bad(err, dir, "kernel", i))
			goto fail;
	json_array_foreach(r->boots, i, o)
		if (!add_boot(r, o) && !bad(err, dir, "boot", i))
			goto fail;
	json_array_foreach(r->cases, i, o)
		if (!add_case(r, o) && !bad(err, dir, "case", i))
			goto fail;
	group_all(r);
	all_verdicts(r);
	return r;
fail:
	rep_free(r);
	return NULL;
}

const char *rep_cell_word(const struct rep_cell *c)
{
	if (c->fail)
		return "fail";
	if (c->broken)
		return "broken";
	if (c->pass)
		return "pass";
	return c->skip ? "skip" : "none";
}

char *rep_cell_text(const struct rep_cell *c)
{
	const char *word = rep_cell_word(c);
	int n = c->cases->len, hit = c->fail ? c->fail : c->broken ? c->broken :
					 c->pass ? c->pass : c->skip;
	GString *out = g_string_new(!strcmp(word, "fail") ? "FAIL" :
				    !strcmp(word, "broken") ? "BROKEN" :
				    !strcmp(word, "none") ? "-" : word);

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

json_t *rep_cell_case(const struct rep_cell *c)
{
	const char *word = rep_cell_word(c);

	for (guint i = 0; i < c->cases->len; i++)
		if (!strcmp(obj_str(c->cases->pdata[i], "result"), word))
			return c->cases->pdata[i];
	return NULL;
}

const char *rep_meaning(const struct rep *r, const json_t *c)
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

	const char *name = obj_str(c, "name");
	const char *state = obj_str(json_array_get(r->boots, obj_int(c, "boot")), "state");

	if (strcmp(obj_str(c, "result"), "fail"))
		return NULL;
	if (!strcmp(state, "panic") || !strcmp(state, "hang"))
		return "The kernel dies under this load, and everything on the machine with it.";
	for (gsize i = 0; i < G_N_ELEMENTS(meanings); i++)
		if (g_pattern_match_simple(meanings[i].glob, name))
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
