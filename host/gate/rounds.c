// SPDX-License-Identifier: GPL-2.0-only
/*
 * The runs of an automatic gate: everything once, then what has changed again, or all of it while there is time.
 */
#include "gate/gate.h"
#include "run/merge.h"
#include "run/seen.h"

#include <glib/gstdio.h>
#include <string.h>

/* So many changed cases are run again; more than that at once are not the whim of a test */
#define MOST_AGAIN	5

struct rounds {
	const struct suite *s;
	json_t *run;
	const char *dir;
	int done;
};

static bool is_boot(const char *name)
{
	return g_str_has_prefix(name, "boot/");
}

/* Both ran, and not alike; what is broken once stays so */
static bool is_open(const struct tally *a, const struct tally *b)
{
	return a->pass + a->fail && b->pass + b->fail && !a->broken && !b->broken && (a->fail || b->fail) &&
	       (a->pass || b->pass);
}

GPtrArray *rounds_open(json_t *run, bool *boots)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	int n = json_array_size(json_object_get(run, "kernels"));
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	*boots = false;
	for (int nr = 1; nr < n; nr++) {
		g_autoptr(GHashTable) base = seen_collect(run, 0), other = seen_collect(run, nr);
		g_autoptr(GPtrArray) keys = NULL;

		seen_align(base, run, 0, other, run, nr);
		keys = seen_keys(base, other);
		for (guint i = 0; i < keys->len; i++) {
			const struct seen *a = g_hash_table_lookup(base, keys->pdata[i]);
			const struct seen *b = g_hash_table_lookup(other, keys->pdata[i]);

			if (!a || !b || !is_open(&a->t, &b->t))
				continue;
			if (is_boot(a->name))
				*boots = true;
			else if (list->len < MOST_AGAIN && g_hash_table_add(known, g_strdup(keys->pdata[i])))
				g_ptr_array_add(list, g_strdup(keys->pdata[i]));
		}
	}
	return list;
}

static void set_repeat(json_t *list, int repeat)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		json_object_set_new(o, "repeat", json_integer(repeat));
}

/* One more run of @tests on all kernels, into @r; false with *@err */
static bool one_more(struct rounds *r, GPtrArray *tests, GError **err)
{
	g_autofree char *name = g_strdup_printf("again-%d", r->done), *out = g_build_filename(r->dir, name, NULL);
	g_autofree char *dir = NULL, *file = NULL;
	struct suite s = *r->s;
	json_t *part;

	s.tests = tests;
	s.out = out;
	s.opt.seed = (s.opt.seed ?: 1) + r->done;
	part = mmg_mkdirs(out, err) ? suite_run(&s, &dir, err) : NULL;
	if (!part)
		return false;
	set_repeat(json_object_get(part, "boots"), r->done);
	set_repeat(json_object_get(part, "cases"), r->done);
	json_object_set_new(r->run, "duration_s",
			    json_real(obj_num(r->run, "duration_s") + obj_num(part, "duration_s")));
	json_object_set(r->run, "complete", json_object_get(part, "complete"));
	r->done++;
	json_object_set_new(json_object_get(r->run, "options"), "repeat", json_integer(r->done));
	run_merge(r->run, part, name);
	results_judge(r->run);
	json_decref(part);
	/* one answer, one file */
	file = g_build_filename(out, "run.json", NULL);
	g_unlink(file);
	return results_save(r->run, r->dir, err);
}

json_t *rounds_run(const struct suite *suite, int most, double budget, char **dir, GError **err)
{
	gint64 began = g_get_monotonic_time();
	struct suite s = *suite;
	struct rounds r = { .s = &s, .done = 1 };
	double first;

	s.repeat = 1;
	r.run = suite_run(&s, dir, err);
	if (!r.run)
		return NULL;
	r.dir = *dir;
	first = (g_get_monotonic_time() - began) / (double)G_USEC_PER_SEC;
	while (r.done < most && json_is_true(json_object_get(r.run, "complete"))) {
		double spent = (g_get_monotonic_time() - began) / (double)G_USEC_PER_SEC;
		bool boots;
		g_autoptr(GPtrArray) open = rounds_open(r.run, &boots);

		/* a splat belongs to its boot as a whole */
		if (!open->len && !boots && spent + first > budget)
			break;
		if (!one_more(&r, open->len && !boots ? open : suite->tests, err)) {
			json_decref(r.run);
			return NULL;
		}
	}
	return r.run;
}
