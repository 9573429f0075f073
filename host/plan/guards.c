// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who guards which part of the kernel, and what a change calls for.
 */
#include "plan/guards.h"

#include <string.h>

#include "source/source.h"

#define BY_FUNCTION	10
#define BY_FILE		1

static void guard_free(gpointer guard)
{
	struct guard *g = guard;

	g_free(g->by);
	g_free(g->gate);
	g_free(g->file);
	g_free(g->function);
	g_ptr_array_unref(g->tests);
	g_ptr_array_unref(g->machines);
	g_free(g);
}

static void add_list(GKeyFile *kf, const char *group, const char *key, GPtrArray *to)
{
	g_auto(GStrv) list = g_key_file_get_string_list(kf, group, key, NULL, NULL);

	for (char **l = list; l && *l; l++)
		if (*g_strstrip(*l))
			g_ptr_array_add(to, g_strdup(*l));
}

static struct guard *guard_new(const char *kind, const char *name, const char *file,
			       const char *function)
{
	struct guard *g = g_new0(struct guard, 1);

	g->by = g_strdup_printf("%s %s", kind, name);
	g->gate = g_strdup(strcmp(kind, "gate") ? NULL : name);
	g->file = g_strdup(file);
	g->function = g_strdup(function && *function ? function : NULL);
	g->tests = g_ptr_array_new_with_free_func(g_free);
	g->machines = g_ptr_array_new_with_free_func(g_free);
	return g;
}

static bool same(const char *a, const char *b)
{
	return !g_strcmp0(a, b);
}

/* Two edits of one function, for two versions, are one guard */
static bool has(const GPtrArray *guards, const struct guard *g)
{
	for (guint i = guards->len; i; i--) {
		const struct guard *o = guards->pdata[i - 1];

		if (!same(o->by, g->by))
			return false;
		if (same(o->file, g->file) && same(o->function, g->function))
			return true;
	}
	return false;
}

static void add_guard(GPtrArray *guards, struct guard *g)
{
	if (has(guards, g))
		guard_free(g);
	else
		g_ptr_array_add(guards, g);
}

/* What the cases are called stands in [gate] tests= and in [mutant] notice= */
static void add_edits(GPtrArray *guards, GKeyFile *kf, const char *kind, const char *name)
{
	const char *key = strcmp(kind, "gate") ? "notice" : "tests";
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);
	g_autoptr(GPtrArray) more = g_ptr_array_new_with_free_func(g_free);

	for (char **n = groups; *n; n++) {
		g_autofree char *file = NULL, *function = NULL;
		struct guard *g;

		if (strcmp(*n, "edit") && !g_str_has_prefix(*n, "edit "))
			continue;
		file = g_key_file_get_string(kf, *n, "file", NULL);
		function = g_key_file_get_string(kf, *n, "function", NULL);
		if (!file)
			continue;
		g = guard_new(kind, name, file, function);
		add_list(kf, kind, key, g->tests);
		add_list(kf, kind, "machines", g->machines);
		add_guard(guards, g);
	}
	/* guards=FILE or FILE:FUNCTION, for places that no edit names */
	add_list(kf, kind, "guards", more);
	for (guint i = 0; i < more->len; i++) {
		g_auto(GStrv) parts = g_strsplit(more->pdata[i], ":", 2);
		struct guard *g = guard_new(kind, name, parts[0], parts[1]);

		add_list(kf, kind, key, g->tests);
		add_list(kf, kind, "machines", g->machines);
		add_guard(guards, g);
	}
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool load_folder(GPtrArray *guards, const char *folder, const char *kind, GError **err)
{
	g_autofree char *dir = mmg_root_path("configs", folder, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d)))
		if (g_str_has_suffix(name, ".conf"))
			g_ptr_array_add(names, g_strdup(name));
	if (d)
		g_dir_close(d);
	g_ptr_array_sort(names, by_text);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *path = g_build_filename(dir, names->pdata[i], NULL);
		g_autofree char *stem = g_strndup(names->pdata[i], strlen(names->pdata[i]) - 5);
		g_autoptr(GKeyFile) kf = g_key_file_new();
		g_autoptr(GError) e = NULL;

		if (!g_key_file_load_from_file(kf, path, G_KEY_FILE_NONE, &e)) {
			mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, e->message);
			return false;
		}
		add_edits(guards, kf, kind, stem);
	}
	return true;
}

GPtrArray *guards_load(GError **err)
{
	GPtrArray *guards = g_ptr_array_new_with_free_func(guard_free);

	if (load_folder(guards, "gates", "gate", err) && load_folder(guards, "mutants", "mutant", err))
		return guards;
	g_ptr_array_unref(guards);
	return NULL;
}

/* ---- choosing ---- */

#define NOT_SHARED	G_MAXUINT

/* That a test looks at what guard number @guard guards: NOT_SHARED where no other test can do so in its place */
struct cover {
	unsigned int guard, weight;
};

/* What is known of one glob, with its machine or without, while the places are gone through */
struct vote {
	unsigned int weight, mutants;
	GPtrArray *gates, *places;	/* char * */
	GArray *covers;				/* struct cover */
};

static void vote_free(gpointer vote)
{
	struct vote *v = vote;

	g_ptr_array_unref(v->gates);
	g_ptr_array_unref(v->places);
	g_array_unref(v->covers);
	g_free(v);
}

static void add_once(GPtrArray *list, const char *text)
{
	if (!g_ptr_array_find_with_equal_func(list, text, g_str_equal, NULL))
		g_ptr_array_add(list, g_strdup(text));
}

/* Number of the first guard by the same mutant: an edit for another version guards no more */
static unsigned int number_of(const GPtrArray *guards, guint i)
{
	while (i && same(((struct guard *)guards->pdata[i - 1])->by, ((struct guard *)guards->pdata[i])->by))
		i--;
	return i;
}

static void cast(GHashTable *votes, const GPtrArray *guards, guint nr, const char *glob, unsigned int weight,
		 const char *place)
{
	const struct guard *g = guards->pdata[nr];
	/* each test of a gate is part of its claim; of those that notice a mutant one does */
	const struct cover cover = { g->gate ? NOT_SHARED : number_of(guards, nr), weight };
	struct vote *v = g_hash_table_lookup(votes, glob);

	if (!v) {
		v = g_new0(struct vote, 1);
		v->gates = g_ptr_array_new_with_free_func(g_free);
		v->places = g_ptr_array_new_with_free_func(g_free);
		v->covers = g_array_new(FALSE, FALSE, sizeof(struct cover));
		g_hash_table_insert(votes, g_strdup(glob), v);
	}
	v->weight += weight;
	g_array_append_val(v->covers, cover);
	if (g->gate)
		add_once(v->gates, g->gate);
	else
		v->mutants++;
	add_once(v->places, place);
}

/* What a gate claims is claimed of each of its machines, where it names none: "GLOB@MACHINE" */
static void cast_claims(GHashTable *votes, const GPtrArray *guards, guint nr, unsigned int weight, const char *place,
			bool named)
{
	const struct guard *g = guards->pdata[nr];

	for (guint t = 0; t < g->tests->len; t++) {
		const char *glob = g->tests->pdata[t];

		if (!named || !g->gate || !g->machines->len || mmg_glob_machine(glob)) {
			cast(votes, guards, nr, glob, weight, place);
			continue;
		}
		for (guint m = 0; m < g->machines->len; m++) {
			g_autofree char *at = g_strdup_printf("%s@%s", glob, (char *)g->machines->pdata[m]);

			cast(votes, guards, nr, at, weight, place);
		}
	}
}

static char *place_text(const struct place *p)
{
	return p->function ? g_strdup_printf("%s() of %s", p->function, p->file) : g_strdup(p->file);
}

static bool is_named(const GPtrArray *guards, const struct place *p)
{
	for (guint i = 0; i < guards->len; i++) {
		const struct guard *g = guards->pdata[i];

		if (p->function && same(g->file, p->file) && same(g->function, p->function))
			return true;
	}
	return false;
}

static void judge_place(struct choice *c, GHashTable *votes, const GPtrArray *guards,
			const struct place *p)
{
	bool named = is_named(guards, p);
	g_autofree char *text = place_text(p);

	for (guint i = 0; i < guards->len; i++) {
		const struct guard *g = guards->pdata[i];

		if (!same(g->file, p->file) || (named && !same(g->function, p->function)))
			continue;
		cast_claims(votes, guards, i, named ? BY_FUNCTION : BY_FILE, text, named);
		add_once(c->places, text);
		/* a gate speaks for its functions, not for whatever else stands in their file */
		if (g->gate && named)
			add_once(c->gates, g->gate);
	}
}

static char *vote_reason(const struct vote *v)
{
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < v->places->len && i < 3; i++)
		g_string_append_printf(s, "%s%s", i ? ", " : "", (char *)v->places->pdata[i]);
	if (v->places->len > 3)
		g_string_append_printf(s, " and %u more", v->places->len - 3);
	g_string_append(s, ": ");
	for (guint i = 0; i < v->gates->len; i++)
		g_string_append_printf(s, "%sgate %s", i ? ", " : "", (char *)v->gates->pdata[i]);
	if (v->mutants)
		g_string_append_printf(s, "%s%u mutant%s", v->gates->len ? ", " : "", v->mutants,
				       v->mutants == 1 ? "" : "s");
	return g_string_free(s, FALSE);
}

static void chosen_free(gpointer test)
{
	struct chosen_test *t = test;

	g_free(t->glob);
	g_free(t->why);
	g_free(t);
}

static int by_weight(gconstpointer a, gconstpointer b)
{
	const struct chosen_test *x = *(struct chosen_test *const *)a, *y = *(struct chosen_test *const *)b;

	return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1) : strcmp(x->glob, y->glob);
}

static bool is_covered(const GHashTable *covered, const struct cover *c)
{
	return c->guard != NOT_SHARED && g_hash_table_contains((GHashTable *)covered, GUINT_TO_POINTER(c->guard));
}

/* What a test with @v looks at that none of those before it does */
static unsigned int gain_of(const struct vote *v, const GHashTable *covered)
{
	unsigned int gain = 0;

	for (guint i = 0; i < v->covers->len; i++) {
		const struct cover *c = &g_array_index(v->covers, struct cover, i);

		gain += is_covered(covered, c) ? 0 : c->weight;
	}
	return gain;
}

/*
 * Put @tests, sorted by weight, into the order in which a budget takes them: each next one is that which looks
 * at most of what no test before it looks at.  Once all is looked at, it begins anew.
 */
static void order_by_gain(GPtrArray *tests, GHashTable *votes)
{
	g_autoptr(GHashTable) covered = g_hash_table_new(NULL, NULL);

	for (guint at = 0; at < tests->len; at++) {
		unsigned int most = 0;
		guint best = at;
		const struct vote *v;
		gpointer t;

		for (guint i = at; i < tests->len; i++) {
			unsigned int gain = gain_of(g_hash_table_lookup(votes, ((struct chosen_test *)tests->pdata[i])->glob),
						    covered);

			if (gain > most) {
				most = gain;
				best = i;
			}
		}
		if (!most && g_hash_table_size(covered)) {
			g_hash_table_remove_all(covered);
			at--;
			continue;
		}
		t = g_ptr_array_steal_index(tests, best);
		g_ptr_array_insert(tests, at, t);
		v = g_hash_table_lookup(votes, ((struct chosen_test *)t)->glob);
		for (guint i = 0; i < v->covers->len; i++) {
			const struct cover *c = &g_array_index(v->covers, struct cover, i);

			if (c->guard != NOT_SHARED)
				g_hash_table_add(covered, GUINT_TO_POINTER(c->guard));
		}
	}
}

struct choice *choice_make(const GPtrArray *guards, const struct place *places, guint n)
{
	g_autoptr(GHashTable) votes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, vote_free);
	struct choice *c = g_new0(struct choice, 1);
	GHashTableIter it;
	gpointer k, v;

	c->gates = g_ptr_array_new_with_free_func(g_free);
	c->places = g_ptr_array_new_with_free_func(g_free);
	c->tests = g_ptr_array_new_with_free_func(chosen_free);
	for (guint i = 0; i < n; i++)
		judge_place(c, votes, guards, &places[i]);
	g_hash_table_iter_init(&it, votes);
	while (g_hash_table_iter_next(&it, &k, &v)) {
		struct chosen_test *t = g_new0(struct chosen_test, 1);

		t->glob = g_strdup(k);
		t->weight = ((struct vote *)v)->weight;
		t->why = vote_reason(v);
		t->kept = true;
		g_ptr_array_add(c->tests, t);
	}
	g_ptr_array_sort(c->tests, by_weight);
	order_by_gain(c->tests, votes);
	return c;
}

/* The cases of @b are among those of @a, on the same machine */
static bool holds(const char *a, const char *b)
{
	const char *on_a, *on_b;
	g_autofree char *x = mmg_glob_split(a, &on_a), *y = mmg_glob_split(b, &on_b);
	size_t len = strlen(x);

	return same(on_a, on_b) &&
	       ((!strncmp(x, y, len) && (!y[len] || y[len] == '/')) || g_pattern_match_simple(x, y));
}

/* A test that runs anyway costs nothing more */
static bool is_held(const struct choice *c, guint nr)
{
	const struct chosen_test *t = c->tests->pdata[nr];

	for (guint i = 0; i < nr; i++) {
		const struct chosen_test *o = c->tests->pdata[i];

		if (o->kept && holds(o->glob, t->glob))
			return true;
	}
	return false;
}

void choice_bound(struct choice *c, double budget, double (*seconds)(const char *glob, void *data),
		  void *data)
{
	double sum = 0;

	for (guint i = 0; i < c->tests->len; i++) {
		struct chosen_test *t = c->tests->pdata[i];

		t->seconds = is_held(c, i) ? 0 : seconds(t->glob, data);
		t->kept = !i || budget <= 0 || sum + t->seconds <= budget;
		if (t->kept)
			sum += t->seconds;
	}
}

void choice_free(struct choice *c)
{
	if (!c)
		return;
	g_ptr_array_unref(c->gates);
	g_ptr_array_unref(c->tests);
	g_ptr_array_unref(c->places);
	g_free(c);
}
