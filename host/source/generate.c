// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutants made by rule.  Each is one edit script, as a person would write it into configs/mutants: the
 * text to be found is as many lines as make it unique in its function.
 */
#include "source/generate.h"

#include <errno.h>
#include <string.h>

/* Lines around a change that are tried to make its text unique */
#define CONTEXT_LINES	12

void mutation_free(gpointer p)
{
	struct mutation *m = p;

	g_free(m->name);
	g_free(m->file);
	g_free(m->function);
	g_free(m->about);
	g_free(m->find);
	g_free(m->replace);
	g_free(m);
}

/**
 * struct maker - one function's mutants in the making
 * @results:	whole texts that are made already, by hash
 */
struct maker {
	const char *text;
	const struct guarded *g;
	GPtrArray *list;
	GHashTable *results;
};

static char *span_text(const char *text, struct c_span s)
{
	return g_strndup(text + s.begin, s.end - s.begin);
}

/* The text on one line, cut to @max bytes; g_free() it */
static char *flat(const char *text, gsize max)
{
	GString *s = g_string_new(NULL);

	for (; *text; text++) {
		if (!g_ascii_isspace(*text))
			g_string_append_c(s, *text);
		else if (s->len && s->str[s->len - 1] != ' ')
			g_string_append_c(s, ' ');
	}
	g_strchomp(s->str);
	s->len = strlen(s->str);
	if (s->len > max) {
		g_string_truncate(s, max);
		g_string_append(s, "...");
	}
	return g_string_free(s, FALSE);
}

static unsigned int line_at(const char *text, unsigned int at)
{
	unsigned int n = 1;

	for (unsigned int i = 0; i < at; i++)
		n += text[i] == '\n';
	return n;
}

/* Start of the line @lines before the one that @at is in, behind its white space */
static unsigned int context_begin(const char *text, unsigned int at, int lines)
{
	while (at && (text[at - 1] != '\n' || lines--))
		at--;
	while (g_ascii_isspace(text[at]))
		at++;
	return at;
}

static unsigned int context_end(const char *text, unsigned int at, int lines)
{
	while (text[at] && (text[at] != '\n' || lines--))
		at++;
	while (at && g_ascii_isspace(text[at - 1]))
		at--;
	return at;
}

/* The edit of @m at [@begin, @end) with @lines more around it; true where it does just what @whole says */
static bool try_context(const struct maker *k, struct mutation *m, const struct c_span *at, const char *with,
			const char *whole, int lines)
{
	unsigned int begin = context_begin(k->text, at->begin, (lines + 1) / 2);
	unsigned int end = context_end(k->text, at->end, lines / 2);
	g_autofree char *head = NULL, *tail = NULL, *got = NULL;
	struct edit e = { .file = k->g->file, .function = k->g->name, .where = (char *)"generated" };
	g_autoptr(GError) err = NULL;

	if (begin > at->begin || end < at->end)
		return false;
	head = g_strndup(k->text + begin, at->begin - begin);
	tail = g_strndup(k->text + at->end, end - at->end);
	g_free(m->find);
	g_free(m->replace);
	m->find = g_strndup(k->text + begin, end - begin);
	m->replace = g_strconcat(head, with, tail, NULL);
	e.find = m->find;
	e.replace = m->replace;
	got = edit_apply_text(&e, k->text, &err);
	return got && !strcmp(got, whole);
}

/* Replace [@at) by @with, unless another mutant did the same already */
static void make(struct maker *k, const char *operator, struct c_span at, const char *with, const char *say)
{
	g_autofree char *head = g_strndup(k->text, at.begin);
	g_autofree char *whole = g_strconcat(head, with, k->text + at.end, NULL);
	g_autofree char *was = span_text(k->text, at), *hash = NULL, *key = NULL;
	g_autofree char *old = flat(was, 70), *new = flat(with, 70);
	struct mutation *m;
	bool fits = false;

	key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, whole, -1);
	if (!strcmp(was, with) || g_hash_table_contains(k->results, key))
		return;
	m = g_new0(struct mutation, 1);
	m->operator = operator;
	m->guarded = k->g;
	m->file = g_strdup(k->g->file);
	m->function = g_strdup(k->g->name);
	m->line = line_at(k->text, at.begin);
	for (int lines = 0; !fits && lines <= 2 * CONTEXT_LINES; lines++)
		fits = try_context(k, m, &at, with, whole, lines);
	if (!fits) {
		mutation_free(m);
		return;
	}
	{
		g_autofree char *find = flat(m->find, G_MAXSIZE), *replace = flat(m->replace, G_MAXSIZE);
		g_autofree char *what = g_strjoin("\n", k->g->file, k->g->name, operator, find, replace, NULL);

		hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, what, -1);
	}
	m->name = g_strdup_printf("%s.%s.%.8s", k->g->name, operator, hash);
	m->about = *with && strcmp(with, ";") ?
		g_strdup_printf("%s in line %u of %s: '%s' becomes '%s'", say, m->line, k->g->file, old, new) :
		g_strdup_printf("%s in line %u of %s: '%s'", say, m->line, k->g->file, old);
	g_hash_table_add(k->results, g_steal_pointer(&key));
	g_ptr_array_add(k->list, m);
}

/* ---- operators ---- */

static const char *swapped(const char *op, const char **operator)
{
	static const char *const pairs[][3] = {
		{ "<", "<=", "swap" }, { ">", ">=", "swap" }, { "==", "!=", "swap" }, { "&&", "||", "swap" },
		{ "&", "|", "bits" }, { "&=", "|=", "bits" }, { "<<", ">>", "bits" }, { "<<=", ">>=", "bits" },
		{ "^", "|", "bits" }, { "^=", "|=", "bits" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
		*operator = pairs[i][2];
		if (!strcmp(op, pairs[i][0]))
			return pairs[i][1];
		if (!strcmp(op, pairs[i][1]))
			return pairs[i][0];
	}
	return NULL;
}

static void make_negated(struct maker *k, const struct c_site *s, const GArray *sites)
{
	g_autofree char *was = span_text(k->text, s->span), *with = g_strdup_printf("!(%s)", was);

	/* a lone == or != is swapped elsewhere, which is the same */
	for (guint i = 0; i < sites->len; i++) {
		const struct c_site *b = &g_array_index(sites, struct c_site, i);

		if (b->kind == C_BINARY && b->span.begin == s->span.begin && b->span.end == s->span.end &&
		    (!strcmp(b->op, "==") || !strcmp(b->op, "!=")))
			return;
	}
	make(k, "negate", s->span, with, "condition negated");
}

/* What only watches: nobody is to notice that it is gone */
static bool only_watches(const char *text)
{
	static const char *const starts[] = {
		"VM_WARN", "VM_BUG", "WARN", "BUG", "BUILD_BUG", "lockdep_", "trace_", "KVM_MMU_WARN", "KVM_BUG",
		"might_", "cond_resched", "data_race", "static_assert", "VM_STAT_", "pr_", "fallthrough",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
		if (g_str_has_prefix(text, starts[i]))
			return true;
	return false;
}

static void make_dropped(struct maker *k, const struct c_site *s)
{
	struct c_span whole = s->span;

	if (only_watches(k->text + whole.begin))
		return;
	while (k->text[whole.end] && k->text[whole.end] != ';')
		whole.end++;
	whole.end++;
	make(k, "drop", whole, ";", "statement dropped");
}

static void make_swapped(struct maker *k, const struct c_site *s)
{
	struct c_span op = { s->first.end, s->second.begin };
	const char *operator, *with = swapped(s->op, &operator);

	if (!with)
		return;
	while (g_ascii_isspace(k->text[op.begin]))
		op.begin++;
	op.end = op.begin + strlen(s->op);
	make(k, operator, op, with, !strcmp(operator, "bits") ? "bit operator swapped" : "operator swapped");
}

static void make_off_by_one(struct maker *k, const struct c_site *s)
{
	g_autofree char *was = span_text(k->text, s->span);
	g_autofree char *with = g_strdup_printf("(%s + 1)", was), *sum = NULL;
	unsigned long long n;
	char *end;

	errno = 0;
	n = g_ascii_strtoull(was, &end, 0);

	if (!*end && !errno && n < G_MAXUINT64)
		sum = g_strdup_printf(g_str_has_prefix(was, "0x") ? "0x%llx" : "%llu", n + 1);
	make(k, "off-by-one", s->span, sum ? sum : with, "number off by one");
}

static void make_returned(struct maker *k, const struct c_site *s)
{
	if (s->type == 'p') {
		make(k, "return", s->span, "NULL", "NULL returned");
		return;
	}
	make(k, "return", s->span, s->type == 'b' ? "false" : "0", "constant returned");
	make(k, "return", s->span, s->type == 'b' ? "true" : "1", "constant returned");
}

static void make_exchanged(struct maker *k, const struct c_site *s)
{
	struct c_span all = { s->first.begin, s->second.end }, between = { s->first.end, s->second.begin };
	g_autofree char *a = span_text(k->text, s->first), *b = span_text(k->text, s->second);
	g_autofree char *mid = span_text(k->text, between), *with = g_strconcat(b, mid, a, NULL);

	make(k, "arguments", all, with, "arguments exchanged");
}

GPtrArray *generate_function(const struct c_file *f, const char *text, const struct guarded *g)
{
	struct maker k = { .text = text, .g = g, .list = g_ptr_array_new_with_free_func(mutation_free),
			   .results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
	g_autoptr(GArray) sites = c_file_sites(f, g->name);

	for (guint i = 0; i < sites->len; i++) {
		const struct c_site *s = &g_array_index(sites, struct c_site, i);

		switch (s->kind) {
		case C_CONDITION:
			make_negated(&k, s, sites);
			break;
		case C_STATEMENT:
			make_dropped(&k, s);
			break;
		case C_BINARY:
			make_swapped(&k, s);
			break;
		case C_NUMBER:
			make_off_by_one(&k, s);
			break;
		case C_RETURN:
			make_returned(&k, s);
			break;
		case C_ARGUMENTS:
			make_exchanged(&k, s);
			break;
		}
	}
	g_hash_table_unref(k.results);
	return k.list;
}

/* ---- which ---- */

/**
 * struct drawn - a mutant in the order of the draw
 */
struct drawn {
	struct mutation *m;
	guint32 lot;
	bool reached;
};

static int by_lot(gconstpointer a, gconstpointer b)
{
	const struct drawn *x = a, *y = b;

	if (x->reached != y->reached)
		return x->reached ? -1 : 1;
	return x->lot < y->lot ? -1 : x->lot > y->lot;
}

/* Mutants of one function in the order in which they are drawn */
static GPtrArray *draw(const struct generate *g, GPtrArray *made, GRand *rand)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct drawn));
	GPtrArray *order = g_ptr_array_new_with_free_func(mutation_free);

	for (guint i = 0; i < made->len; i++) {
		struct mutation *m = made->pdata[i];
		struct drawn d = { m, g_rand_int(rand), !g->reached || g->reached(m->file, m->function, m->line, g->data) };

		g_array_append_val(all, d);
	}
	g_array_sort(all, by_lot);
	for (guint i = 0; i < all->len; i++)
		g_ptr_array_add(order, g_array_index(all, struct drawn, i).m);
	g_ptr_array_set_free_func(made, NULL);
	return order;
}

/* The mutants of each function of @file into @by_function (GPtrArray *) */
static bool add_file(const struct generate *g, const char *file, GRand *rand, GPtrArray *by_function,
		     unsigned int *all, GError **err)
{
	g_autoptr(GBytes) bytes = source_read(g->src, NULL, file, NULL);
	g_autofree char *path = g_build_filename(g->src->tree, file, NULL), *text = NULL;
	g_auto(GStrv) flags = NULL;
	struct c_file *f;

	if (!bytes)
		return true;
	flags = g->flags(file, g->data, err);
	if (!flags)
		return false;
	text = g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
	status_set("parsing %s", file);
	f = c_file_parse(path, text, (const char *const *)flags, err);
	if (!f)
		return false;
	for (guint i = 0; i < g->guarded->len; i++) {
		const struct guarded *one = g->guarded->pdata[i];
		GPtrArray *made;

		if (strcmp(one->file, file) || (g->function && !mmg_glob(g->function, one->name)))
			continue;
		made = generate_function(f, text, one);
		*all += made->len;
		g_ptr_array_add(by_function, draw(g, made, rand));
		g_ptr_array_unref(made);
	}
	c_file_free(f);
	return !mmg_check_interrupt(err);
}

GPtrArray *generate_mutants(const struct generate *g, unsigned int *all, GError **err)
{
	g_autoptr(GPtrArray) by_function = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GPtrArray) files = guarded_files(g->guarded);
	GRand *rand = g_rand_new_with_seed(g->seed);
	GPtrArray *list = g_ptr_array_new_with_free_func(mutation_free);
	bool ok = true, any = true;

	*all = 0;
	for (guint i = 0; ok && i < files->len; i++)
		ok = add_file(g, files->pdata[i], rand, by_function, all, err);
	g_rand_free(rand);
	/* functions in turn, so that a small number is spread over all of them; those not reached come last */
	for (int reached = 1; ok && reached >= 0; reached--) {
		any = true;
		while (any && list->len < g->count) {
			any = false;
			for (guint i = 0; i < by_function->len && list->len < g->count; i++) {
				GPtrArray *left = by_function->pdata[i];
				struct mutation *m = left->len ? left->pdata[0] : NULL;

				if (!m || (reached && g->reached && !g->reached(m->file, m->function, m->line, g->data)))
					continue;
				g_ptr_array_add(list, g_ptr_array_steal_index(left, 0));
				any = true;
			}
		}
	}
	if (ok && list->len)
		return list;
	if (ok)
		mmg_set_error(err, MMG_EXIT_USAGE, "no guarded function %s has a place for a mutant in %s",
			      g->function ? g->function : "", g->src->name);
	g_ptr_array_unref(list);
	return NULL;
}

/* ---- as files ---- */

static bool write_one(const struct mutation *m, const char *dir, GKeyFile *known, GError **err)
{
	g_autoptr(GKeyFile) kf = g_key_file_new();
	g_autofree char *name = g_strconcat(m->name, ".conf", NULL), *path = g_build_filename(dir, name, NULL);
	g_autofree char *why = known ? g_key_file_get_string(known, m->name, "reason", NULL) : NULL, *text = NULL;

	g_key_file_set_string(kf, "mutant", "about", m->about);
	g_key_file_set_string(kf, "mutant", "room", "generated");
	g_key_file_set_string_list(kf, "mutant", "notice", (const char *const *)m->guarded->notice->pdata,
				   m->guarded->notice->len);
	if (why)
		g_key_file_set_string(kf, "mutant", "survives", why);
	g_key_file_set_string(kf, "edit 1", "file", m->file);
	g_key_file_set_string(kf, "edit 1", "function", m->function);
	g_key_file_set_string(kf, "edit 1", "find", m->find);
	g_key_file_set_string(kf, "edit 1", "replace", m->replace);
	text = g_key_file_to_data(kf, NULL, NULL);
	return mmg_write_atomic(path, text, -1, err);
}

bool generate_write(const GPtrArray *mutants, const char *dir, const char *equivalent, GError **err)
{
	static const char *const keys[] = { "change", "reason", NULL };
	g_autofree char *own = equivalent ? g_strdup(equivalent) : mmg_root_path("configs", "equivalent.conf", NULL);
	g_autoptr(GKeyFile) known = conf_load(own, err);
	g_auto(GStrv) groups = known ? g_key_file_get_groups(known, NULL) : NULL;

	if (!known || !mmg_mkdirs(dir, err))
		return false;
	for (char **g = groups; *g; g++) {
		if (!conf_keys_known(known, own, *g, keys, err))
			return false;
		if (!g_key_file_has_key(known, *g, "reason", NULL)) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] needs reason=", own, *g);
			return false;
		}
	}
	for (guint i = 0; i < mutants->len; i++)
		if (!write_one(mutants->pdata[i], dir, known, err))
			return false;
	return true;
}
