// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb matrix: every kernel in use, one table.  What was found out of a kernel
 * is kept under the hash of its image, of the programs that ran on it, of the machine
 * and the seed, one answer a boot; only what is new runs.
 */
#include "base/arch.h"
#include "kernel/entry.h"
#include "report/report_matrix.h"
#include "run/matrix.h"
#include "run/merge.h"
#include "source/source.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * struct table - one matrix
 * @entries:	struct kernel_entry *, those of this shard
 * @run:	run.json of all of them
 * @list:	run["matrix"]["kernels"]
 * @images:	image and modules seen -> name of the entry
 * @ran, @recalled: boots
 */
struct table {
	struct cli *cli;
	GPtrArray *entries, *catalog;
	json_t *run, *list;
	GHashTable *images;
	char *dir, *arch;
	int ran, recalled, absent;
	gint64 began;
};

/* Which of "--shard I/N" (both from 1) entry @nr of the list belongs to; false for bad words */
static bool parse_shard(const char *text, unsigned int *i, unsigned int *n)
{
	char *end;

	*i = *n = 1;
	if (!text)
		return true;
	*i = strtoul(text, &end, 10);
	if (end == text || *end != '/' || !g_ascii_isdigit(end[1]))
		return false;
	*n = strtoul(end + 1, &end, 10);
	return !*end && *i >= 1 && *i <= *n && *n <= 100000;
}

static bool choose(struct table *t, GError **err)
{
	g_autoptr(GPtrArray) all = NULL;
	unsigned int shard, shards;

	if (!parse_shard(t->cli->shard, &shard, &shards)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--shard %s: write I/N, such as 2/8 for the second of eight",
			      t->cli->shard);
		return false;
	}
	/* kernels of the command line alone are those asked for; names of configs/kernels may be given beside them */
	all = t->cli->kernels->len && !t->cli->args->len ? g_ptr_array_new_with_free_func(kernel_entry_free) :
							    kernel_entries(t->cli->args, t->arch, err);
	if (!all)
		return false;
	for (guint i = 0; i < t->cli->kernels->len; i++)
		g_ptr_array_add(all, kernel_entry_of_spec(t->cli->kernels->pdata[i]));
	t->entries = g_ptr_array_new_with_free_func(kernel_entry_free);
	for (guint i = 0; i < all->len; i++) {
		if (i % shards != shard - 1)
			continue;
		g_ptr_array_add(t->entries, all->pdata[i]);
		all->pdata[i] = NULL;
	}
	/* what was not taken over is freed with its list */
	for (guint i = all->len; i > 0; i--)
		if (!all->pdata[i - 1])
			g_ptr_array_steal_index(all, i - 1);
	if (!t->entries->len)
		mmg_set_error(err, MMG_EXIT_NOTHING, "no kernel of the list is in shard %s",
			      t->cli->shard ? t->cli->shard : "1/1");
	return t->entries->len;
}

/* ---- answers ---- */

static char *answer_path(const struct kernel_entry *e, const char *machine, const char *key)
{
	g_autofree char *file = g_strdup_printf("%s.%s.%.20s.json", e->name, machine, key);

	return mmg_cache_path("matrix", file, NULL);
}

static json_t *answer_load(const struct kernel_entry *e, const char *machine, const char *key)
{
	g_autofree char *path = key ? answer_path(e, machine, key) : NULL;
	json_t *j = path ? json_load_file(path, 0, NULL) : NULL;

	if (j && !strcmp(obj_str(j, "key"), key) && json_is_array(json_object_get(j, "cases")) &&
	    json_is_array(json_object_get(j, "boots")))
		return j;
	json_decref(j);
	return NULL;
}

/* What a later run may take over: a boot that went to its end without a splat, and no experiment that did not work */
static bool worth_keeping(json_t *boots, json_t *cases)
{
	json_t *o;
	size_t i;

	json_array_foreach(boots, i, o) {
		enum vm_state state = obj_state(o);

		/* a splat that comes once in many boots would stay for good */
		if ((state != STATE_GOODBYE && state != STATE_PANIC && state != STATE_HANG) ||
		    json_array_size(json_object_get(o, "splats")))
			return false;
	}
	json_array_foreach(cases, i, o)
		if (obj_result(o) == RESULT_BROKEN && !strstr(obj_str(o, "reason"), "does not build on "))
			return false;
	return json_array_size(boots);
}

/* The part of @run that is of @machine, as a run of one kernel; json_decref() it */
static json_t *part_of(json_t *run, const char *machine)
{
	json_t *boots = json_array(), *cases = json_array(), *o, *copy;
	g_autofree int *place = NULL;
	size_t i, n = json_array_size(json_object_get(run, "boots"));

	place = g_new0(int, n + 1);
	json_array_foreach(json_object_get(run, "boots"), i, o) {
		if (strcmp(obj_str(o, "machine"), machine))
			continue;
		place[i] = json_array_size(boots);
		json_array_append_new(boots, json_deep_copy(o));
	}
	json_array_foreach(json_object_get(run, "cases"), i, o) {
		json_int_t boot = obj_int(o, "boot");

		if (strcmp(obj_str(o, "machine"), machine))
			continue;
		copy = json_deep_copy(o);
		json_object_set_new(copy, "boot", json_integer(boot >= 0 && boot < (json_int_t)n ? place[boot] : -1));
		json_array_append_new(cases, copy);
	}
	return json_pack("{s:o, s:o}", "boots", boots, "cases", cases);
}

static void answer_save(const struct kernel_entry *e, const char *machine, const char *key, json_t *run)
{
	g_autofree char *path = key ? answer_path(e, machine, key) : NULL, *dir = NULL, *when = NULL;
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autoptr(GError) err = NULL;
	json_t *part = part_of(run, machine);
	char *text;

	if (path && worth_keeping(json_object_get(part, "boots"), json_object_get(part, "cases"))) {
		when = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
		json_object_set_new(part, "key", json_string(key));
		json_object_set_new(part, "seen", json_string(when));
		json_object_set_new(part, "kernel", json_incref(json_array_get(json_object_get(run, "kernels"), 0)));
		text = json_dumps(part, JSON_INDENT(1));
		dir = g_path_get_dirname(path);
		if (!text || !mmg_mkdirs(dir, &err) || !mmg_write_atomic(path, text, -1, &err))
			status_note("not remembered: %s", err ? err->message : "no memory");
		free(text);
	}
	json_decref(part);
}

/* ---- one kernel ---- */

static char *now_text(void)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();

	return g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
}

static void set_state(json_t *row, const char *state, const char *reason)
{
	g_autofree char *clean = mmg_clean(reason, -1, 600);

	json_object_set_new(row, "state", json_string(state));
	json_object_set_new(row, "reason", json_string(clean));
}

/* Take over an answer: its files are of another results folder */
static void take_answer(struct table *t, json_t *row, struct kernel *k, json_t *answer)
{
	const char *seen = obj_str(row, "seen"), *this = obj_str(answer, "seen");
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(answer, "boots"), i, o) {
		json_object_set_new(o, "dir", json_string(""));
		json_object_set_new(o, "seen", json_string(this));
	}
	/* a row was seen when its oldest answer was */
	if (!*seen || strcmp(this, seen) < 0)
		json_object_set_new(row, "seen", json_string(this));
	json_object_set_new(answer, "kernels", json_pack("[o]", run_kernel_json(k)));
	run_merge(t->run, answer, "");
	t->recalled++;
}

/* Run the boots of @plan on @k, keep and take over what came of them; false only for an interrupt */
static bool run_missing(struct table *t, const struct kernel_entry *e, json_t *row, struct kernel *k,
			GPtrArray *plan, GPtrArray *keys, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new(), none = g_ptr_array_new();
	g_autofree char *out = g_build_filename(t->dir, e->name, NULL), *dir = NULL, *now = NULL;
	struct suite s = { .opt = cli_run(t->cli), .kernels = kernels, .tests = none, .machines = none, .plan = plan,
			   .repeat = MAX(t->cli->repeat, 1), .verb = "matrix", .out = out };
	g_autoptr(GError) why = NULL;
	json_t *part;

	g_ptr_array_add(kernels, k);
	part = mmg_mkdirs(out, &why) ? suite_run(&s, &dir, &why) : NULL;
	if (mmg_check_interrupt(err)) {
		json_decref(part);
		return false;
	}
	if (!part) {
		set_state(row, "not tested", why ? why->message : "no results");
		t->absent++;
		return true;
	}
	for (guint i = 0; i < plan->len; i++)
		answer_save(e, ((struct boot_plan *)plan->pdata[i])->machine->name, keys->pdata[i], part);
	if (!*obj_str(row, "seen")) {
		now = now_text();
		json_object_set_new(row, "seen", json_string(now));
	}
	if (json_object_get(json_object_get(part, "host"), "qemu"))
		json_object_set(t->run, "host", json_object_get(part, "host"));
	run_merge(t->run, part, e->name);
	t->ran += plan->len;
	json_decref(part);
	return true;
}

/* What of a boot's answer depends on the host */
static char *host_words(const struct table *t, const struct kernel *k, GError **err)
{
	struct accel *a = accel_choose(t->cli->accel, k->arch, err);
	char *text = a ? g_strdup_printf("matrix %s %s %s", a->qemu, a->version, a->name) : NULL;
	g_autofree char *index = k->modules ? g_build_filename(k->modules, "modules.dep", NULL) : NULL;
	g_autofree char *sum = index ? mmg_sha256_file(index, NULL) : NULL, *more = NULL;

	if (a && !json_object_get(json_object_get(t->run, "host"), "accel"))
		run_set_accel(t->run, a);
	accel_free(a);
	if (!text)
		return NULL;
	more = text;
	return g_strdup_printf("%s %s", more, sum ? sum : "-");
}

static bool test_kernel(struct table *t, const struct kernel_entry *e, json_t *row, struct kernel *k,
			GError **err)
{
	g_autoptr(GError) why = NULL;
	g_autofree char *host = NULL;
	g_autoptr(GPtrArray) plan = plan_make(t->catalog, t->cli->tests, t->cli->machines, &why);
	g_autoptr(GPtrArray) missing = g_ptr_array_new(), keys = g_ptr_array_new_with_free_func(g_free);
	const struct run_options opt = cli_run(t->cli);
	struct judged_keys *jk = NULL;
	bool ok = true;

	if (plan && kernel_find_ksrc(&opt.kernel, k, &why) && (host = host_words(t, k, &why)))
		jk = judged_keys_new(&opt, k, &why);
	if (!jk) {
		if (mmg_check_interrupt(err))
			return false;
		set_state(row, "not tested", why->message);
		t->absent++;
		return true;
	}
	for (guint i = 0; i < plan->len; i++) {
		struct boot_plan *bp = plan->pdata[i];
		char *key = judged_boot_key(jk, k->sha256, bp, host);
		json_t *answer = answer_load(e, bp->machine->name, key);

		if (answer) {
			take_answer(t, row, k, answer);
			json_decref(answer);
			g_free(key);
		} else {
			g_ptr_array_add(missing, bp);
			g_ptr_array_add(keys, key);
		}
	}
	judged_keys_free(jk);
	set_state(row, missing->len == plan->len ? "tested" : missing->len ? "partly tested" : "seen before", "");
	if (missing->len)
		ok = run_missing(t, e, row, k, missing, keys, err);
	return ok;
}

static bool do_entry(struct table *t, guint nr, GError **err)
{
	const struct kernel_entry *e = t->entries->pdata[nr];
	gint64 start = g_get_monotonic_time();
	json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", e->name, "spec", e->spec, "why",
				e->why, "since", e->since ? e->since : "", "until",
				e->until ? e->until : "", "seen", "", "label", "");
	const struct kernel_options how = cli_kernel(t->cli);
	g_autoptr(GError) why = NULL;
	struct kernel *k;
	bool ok = true;

	json_array_append_new(t->list, row);
	status_note("kernel %u of %u: %s (%s)", nr + 1, t->entries->len, e->name, e->spec);
	k = kernel_resolve(&how, e->spec, &why);
	if (!k) {
		set_state(row, "not had", why->message);
		t->absent++;
		return !mmg_check_interrupt(err);
	}
	json_object_set_new(row, "release", json_string(k->release));
	json_object_set_new(row, "version", json_string(k->version));
	if (k->host) {
		set_state(row, "not tested", "the running kernel is no cell of the table: ./run.sh --kernel host");
	} else {
		g_autofree char *same = g_strdup_printf("%s %s", k->sha256, k->modules ? k->modules : "");
		const char *first = g_hash_table_lookup(t->images, same);

		if (first) {
			g_autofree char *text = g_strdup_printf("the same kernel as %s", first);

			set_state(row, "same", text);
		} else {
			g_hash_table_insert(t->images, g_steal_pointer(&same), e->name);
			json_object_set_new(row, "label", json_string(k->label));
			ok = test_kernel(t, e, row, k, err);
		}
	}
	json_object_set_new(row, "seconds", json_real((g_get_monotonic_time() - start) / 1e6));
	kernel_free(k);
	return ok;
}

/* ---- changes since the last time ---- */

/* "entry name@machine" -> result and version, for the entries of this table */
static json_t *results_of(const json_t *run)
{
	const json_t *kernels = json_object_get(json_object_get(run, "matrix"), "kernels"), *row, *c;
	json_t *all = json_object();
	size_t i, j;

	json_array_foreach((json_t *)kernels, i, row) {
		json_t *cells = json_object();

		json_array_foreach(json_object_get(run, "cases"), j, c) {
			const json_t *k = json_array_get(json_object_get(run, "kernels"), obj_int(c, "kernel"));
			g_autofree char *key = NULL;

			if (strcmp(obj_str(k, "label"), obj_str(row, "label")))
				continue;
			key = g_strdup_printf("%s on %s", obj_str(c, "name"), obj_str(c, "machine"));
			/* of several runs the worst counts */
			if (!json_object_get(cells, key) || obj_result(c) == RESULT_FAIL)
				json_object_set_new(cells, key, json_string(obj_str(c, "result")));
		}
		json_object_set_new(all, obj_str(row, "name"), json_pack("{s:s, s:o}", "release",
				    obj_str(row, "release"), "cells", cells));
	}
	return all;
}

static void add_change(json_t *list, const char *kernel, const char *what, const char *from, const char *to)
{
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "kernel", kernel, "what", what, "from",
					      from, "to", to));
}

static void compare_entry(json_t *list, const char *name, json_t *now, json_t *was)
{
	const char *key;
	json_t *v;

	if (!was) {
		add_change(list, name, "kernel", "", obj_str(now, "release"));
		return;
	}
	if (strcmp(obj_str(now, "release"), obj_str(was, "release")))
		add_change(list, name, "kernel", obj_str(was, "release"), obj_str(now, "release"));
	json_object_foreach(json_object_get(now, "cells"), key, v) {
		const char *before = obj_str(json_object_get(was, "cells"), key);

		if (*before && strcmp(before, json_string_value(v)))
			add_change(list, name, key, before, json_string_value(v));
	}
}

/* Set run["matrix"]["changes"] against what was kept last time, and keep this */
static void note_changes(struct table *t)
{
	g_autofree char *file = g_strdup_printf("last-%s.json", t->arch);
	g_autofree char *path = mmg_cache_path("matrix", file, NULL), *dir = g_path_get_dirname(path);
	json_t *last = json_load_file(path, 0, NULL), *now = results_of(t->run), *list = json_array(), *v;
	json_t *m = json_object_get(t->run, "matrix"), *kept;
	g_autofree char *when = now_text();
	const char *name;
	char *text;

	json_object_foreach(now, name, v)
		if (last && *obj_str(v, "release"))
			compare_entry(list, name, v, json_object_get(json_object_get(last, "kernels"), name));
	json_object_set_new(m, "changes", list);
	json_object_set_new(m, "previous", json_string(obj_str(last, "when")));
	/* a table of some kernels changes nothing for the others */
	kept = json_is_object(json_object_get(last, "kernels")) ?
	       json_incref(json_object_get(last, "kernels")) : json_object();
	json_object_foreach(now, name, v)
		if (*obj_str(v, "release"))
			json_object_set(kept, name, v);
	json_decref(last);
	last = json_pack("{s:s, s:o}", "when", when, "kernels", kept);
	text = json_dumps(last, JSON_INDENT(1) | JSON_SORT_KEYS);
	if (text && mmg_mkdirs(dir, NULL))
		mmg_write_atomic(path, text, -1, NULL);
	free(text);
	json_decref(last);
	json_decref(now);
}

/* ---- the answer ---- */

static int answer(struct table *t, bool whole, GError **err)
{
	const struct report_forms forms = cli_forms(t->cli);
	GError *e = NULL;
	int status;

	json_object_set_new(t->run, "complete", json_boolean(whole));
	json_object_set_new(t->run, "duration_s", json_real((g_get_monotonic_time() - t->began) / 1e6));
	json_object_set_new(json_object_get(t->run, "matrix"), "boots_run", json_integer(t->ran));
	json_object_set_new(json_object_get(t->run, "matrix"), "boots_recalled", json_integer(t->recalled));
	if (!known_apply(t->run, err))
		return MMG_EXIT_BROKEN;
	status = matrix_judge(t->run, err);
	if (err && *err)
		return status;
	if (whole)
		note_changes(t);
	if (!results_save(t->run, t->dir, err) || !report_matrix_html(t->run, t->dir, err))
		return MMG_EXIT_BROKEN;
	if (!t->cli->no_history && !history_add(t->run, &e)) {
		status_note("not in the history: %s", e->message);
		g_clear_error(&e);
	}
	status_clear();
	return matrix_reports(&forms, t->run, t->dir, err);
}

static int dry_run(const struct table *t)
{
	for (guint i = 0; i < t->entries->len; i++) {
		const struct kernel_entry *e = t->entries->pdata[i];

		printf("%-26s %-36s %s\n", e->name, e->spec, e->why);
	}
	return MMG_EXIT_OK;
}

int verb_matrix(struct cli *cli, GError **err)
{
	struct table t = { .cli = cli, .began = g_get_monotonic_time() };
	g_autoptr(GPtrArray) none = g_ptr_array_new(), plan = NULL;
	const struct run_options opt = cli_run(cli);
	int status = MMG_EXIT_USAGE;
	bool whole = true;

	t.arch = g_strdup(cli_arch(cli));
	t.catalog = catalog_load(err);
	/* a wrong word is said before anything is fetched */
	plan = t.catalog ? plan_make(t.catalog, cli->tests, cli->machines, err) : NULL;
	if (!plan || !choose(&t, err)) {
		if (err && *err)
			status = (*err)->code;
	} else if (cli->dry_run) {
		status = dry_run(&t);
	} else if ((t.dir = results_dir_of(&opt, err))) {
		g_autofree char *id = g_path_get_basename(t.dir);

		t.images = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		t.run = run_new(&opt, "matrix", none);
		t.list = json_array();
		json_object_set_new(t.run, "id", json_string(id));
		json_object_set_new(t.run, "matrix", json_pack("{s:o, s:s}", "kernels", t.list, "arch", t.arch));
		for (guint i = 0; i < t.entries->len && whole; i++) {
			whole = do_entry(&t, i, err);
			results_save(t.run, t.dir, NULL);
		}
		if (!whole)
			g_clear_error(err);
		status = answer(&t, whole, err);
		json_decref(t.run);
		g_hash_table_unref(t.images);
	} else {
		status = (*err)->code;
	}
	if (t.entries)
		g_ptr_array_unref(t.entries);
	if (t.catalog)
		g_ptr_array_unref(t.catalog);
	g_free(t.dir);
	g_free(t.arch);
	return status;
}
