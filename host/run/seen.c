// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a run says about each case, over all runs of a kernel.
 */
#include "run/seen.h"

#include <string.h>

static void seen_free(gpointer p)
{
	struct seen *s = p;

	g_free(s->name);
	g_free(s->machine);
	g_free(s->reason);
	g_hash_table_unref(s->metrics);
	g_free(s);
}

struct seen *seen_get(GHashTable *all, const char *name, const char *machine)
{
	g_autofree char *key = g_strdup_printf("%s@%s", name, machine);
	struct seen *s = g_hash_table_lookup(all, key);

	if (s)
		return s;
	s = g_new0(struct seen, 1);
	s->name = g_strdup(name);
	s->machine = g_strdup(machine);
	s->metrics = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					   (GDestroyNotify)g_array_unref);
	g_hash_table_insert(all, g_steal_pointer(&key), s);
	return s;
}

/* The reason that is kept is that of the worst result */
static int badness(enum result result)
{
	static const int order[] = { [RESULT_SKIP] = 1, [RESULT_BROKEN] = 2, [RESULT_FAIL] = 3 };

	return result < G_N_ELEMENTS(order) ? order[result] : 0;
}

static void seen_add(struct seen *s, enum result result, const char *reason)
{
	enum result worst = s->t.fail ? RESULT_FAIL : s->t.broken ? RESULT_BROKEN :
			    s->t.skip ? RESULT_SKIP : RESULT_NONE;

	if (!s->reason || badness(result) > badness(worst)) {
		g_free(s->reason);
		s->reason = g_strdup(reason);
	}
	tally_add(&s->t, result);
}

static void add_metrics(struct seen *s, const json_t *metrics)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)metrics, name, v) {
		GArray *a = g_hash_table_lookup(s->metrics, name);
		double d = json_number_value(v);

		if (!a) {
			a = g_array_new(FALSE, FALSE, sizeof(double));
			g_hash_table_insert(s->metrics, g_strdup(name), a);
		}
		g_array_append_val(a, d);
	}
}

/* A splat that no known issue allows is a failure of its machine, whatever the cases say */
static void add_boot(GHashTable *all, const json_t *boot)
{
	struct seen *s = seen_get(all, "boot/splat", obj_str(boot, "machine"));
	const char *title = NULL;
	json_t *splat;
	size_t i;

	/* before PID 1 came it is no test's business: the cases of that boot are broken */
	if (obj_state(boot) == STATE_NO_BOOT)
		return;
	json_array_foreach(json_object_get(boot, "splats"), i, splat)
		if (!title && !json_is_string(json_object_get(splat, "allowed")))
			title = obj_str(splat, "title");
	if (title)
		seen_add(s, RESULT_FAIL, title);
	else if (obj_state(boot) == STATE_GOODBYE || obj_state(boot) == STATE_STOPPED)
		seen_add(s, RESULT_PASS, "no splat");
}

GHashTable *seen_collect(json_t *run, int nr)
{
	GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, seen_free);
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, o) {
		struct seen *s;

		if (obj_int(o, "kernel") != nr)
			continue;
		s = seen_get(all, obj_str(o, "name"), obj_str(o, "machine"));
		seen_add(s, obj_result(o), obj_str(o, "reason"));
		add_metrics(s, json_object_get(o, "metrics"));
	}
	json_array_foreach(json_object_get(run, "boots"), i, o)
		if (obj_int(o, "kernel") == nr)
			add_boot(all, o);
	return all;
}

/* "kvm/aging" is a test, "kvm/aging/anon-4k" one of its cases */
static bool is_test_name(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && !strchr(slash + 1, '/') && !g_str_has_prefix(name, "boot/");
}

static unsigned int good_boots(json_t *run, int nr, const char *machine)
{
	unsigned int n = 0;
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, o)
		n += obj_int(o, "kernel") == nr && !strcmp(obj_str(o, "machine"), machine) &&
		     obj_state(o) == STATE_GOODBYE;
	return n;
}

static void align_one(GHashTable *a, GHashTable *b, json_t *run_b, int nr_b)
{
	g_autoptr(GList) list = g_hash_table_get_values(a);
	g_autoptr(GList) others = g_hash_table_get_values(b);
	g_autoptr(GPtrArray) used = g_ptr_array_new_with_free_func(g_free);

	for (GList *l = list; l; l = l->next) {
		struct seen *s = l->data, *o;
		g_autofree char *prefix = g_strconcat(s->name, "/", NULL);
		bool found = false;

		if (g_str_has_prefix(s->name, "boot/")) {
			o = seen_get(b, s->name, s->machine);
			if (!o->t.pass && !o->t.fail)
				o->t.pass = good_boots(run_b, nr_b, s->machine);
			continue;
		}
		if (!is_test_name(s->name))
			continue;
		for (GList *m = others; m; m = m->next) {
			struct seen *case_b = m->data, *case_a;

			if (strcmp(case_b->machine, s->machine) ||
			    !g_str_has_prefix(case_b->name, prefix))
				continue;
			case_a = seen_get(a, case_b->name, case_b->machine);
			case_a->t.pass += s->t.pass;
			case_a->t.fail += s->t.fail;
			case_a->t.skip += s->t.skip;
			case_a->t.broken += s->t.broken;
			if (!case_a->reason)
				case_a->reason = g_strdup(s->reason);
			found = true;
		}
		if (found)
			g_ptr_array_add(used, g_strdup_printf("%s@%s", s->name, s->machine));
	}
	for (guint i = 0; i < used->len; i++)
		g_hash_table_remove(a, used->pdata[i]);
}

void seen_align(GHashTable *a, json_t *run_a, int nr_a, GHashTable *b, json_t *run_b, int nr_b)
{
	align_one(a, b, run_b, nr_b);
	align_one(b, a, run_a, nr_a);
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *seen_keys(GHashTable *a, GHashTable *b)
{
	g_autoptr(GHashTable) both = g_hash_table_new(g_str_hash, g_str_equal);
	GHashTable *from[] = { a, b };
	GPtrArray *keys = g_ptr_array_new();
	GHashTableIter it;
	gpointer k;

	for (int i = 0; i < 2; i++) {
		g_hash_table_iter_init(&it, from[i]);
		while (g_hash_table_iter_next(&it, &k, NULL))
			if (g_hash_table_add(both, k))
				g_ptr_array_add(keys, k);
	}
	g_ptr_array_sort(keys, by_text);
	return keys;
}

bool claim_matches(const char *glob, const char *name, const char *machine)
{
	const char *only;
	g_autofree char *test = mmg_glob_split(glob, &only);

	return mmg_glob(test, name) && (!only || mmg_glob(only, machine));
}

const char *bad_boot(json_t *run, int nr)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, o)
		if (obj_int(o, "kernel") == nr && obj_state(o) != STATE_GOODBYE)
			return obj_str(o, "reason");
	return NULL;
}
