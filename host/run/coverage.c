// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests reach of the guarded functions.
 *
 * The kernel counts (CONFIG_GCOV_KERNEL), PID 1 sends its .gcda files, gcov makes JSON of them
 * and gcc's notes.  gcov attributes a line to the function that the compiler put it into; what
 * is asked here is the function that the source has it in, so lines are taken by number.
 * Documentation/dev-tools/gcov.rst; gcov(1) for the JSON.
 */
#include "run/coverage.h"

#include "base/arch.h"
#include "base/scratch.h"

#include <gio/gio.h>
#include <string.h>

static const char *const state_names[] = {
	[COVERAGE_COUNTED] = "counted", [COVERAGE_NOT_BUILT] = "not built",
	[COVERAGE_NOT_DEFINED] = "not defined",
};

const char *coverage_state_name(enum coverage_state s)
{
	return state_names[s];
}

static void line_free(gpointer p)
{
	struct coverage_line *l = p;

	g_array_unref(l->branches);
	g_free(l->text);
	g_free(l->reason);
	g_free(l);
}

static void function_free(gpointer p)
{
	struct coverage_function *f = p;

	g_free(f->file);
	g_free(f->name);
	g_ptr_array_unref(f->lines);
	g_free(f);
}

void coverage_free(struct coverage *c)
{
	if (!c)
		return;
	g_free(c->source);
	g_free(c->version);
	g_free(c->arch);
	g_free(c->sha256);
	g_ptr_array_unref(c->functions);
	g_ptr_array_unref(c->stale);
	g_free(c);
}

struct coverage *coverage_empty(void)
{
	struct coverage *c = g_new0(struct coverage, 1);

	c->functions = g_ptr_array_new_with_free_func(function_free);
	c->stale = g_ptr_array_new_with_free_func(g_free);
	return c;
}

/* "mm/vmscan.c" -> "mm/vmscan.gcno" */
static char *with_ending(const char *file, const char *ending)
{
	g_autofree char *stem = g_strndup(file, strlen(file) - 2);

	return g_strconcat(stem, ending, NULL);
}

GPtrArray *coverage_kept(const GPtrArray *files, const char *objects)
{
	GPtrArray *kept = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < files->len; i++) {
		g_autofree char *data = with_ending(files->pdata[i], ".gcda");

		g_ptr_array_add(kept, g_strdup_printf(COVERAGE_FOLDER "/%s /sys/kernel/debug/gcov%s/%s", data,
						      objects, data));
	}
	return kept;
}

GPtrArray *coverage_notes(const GPtrArray *files)
{
	GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < files->len; i++)
		g_ptr_array_add(notes, with_ending(files->pdata[i], ".gcno"));
	return notes;
}

/* ---- lines ---- */

static bool is_assertion(const char *text)
{
	static const char *const words[] = {
		"WARN_ON", "BUG_ON", "VM_WARN", "VM_BUG", "WARN(", "WARN_ONCE", "MMU_WARN", "KVM_BUG", "lockdep_assert",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static struct coverage_line *line_new(unsigned int nr, const char *text)
{
	struct coverage_line *l = g_new0(struct coverage_line, 1);

	l->nr = nr;
	l->text = g_strstrip(mmg_clean(text, -1, 500));
	l->assertion = is_assertion(l->text);
	l->branches = g_array_new(FALSE, TRUE, sizeof(guint64));
	return l;
}

/* Every line of its definitions; those that have no code are dropped later */
struct coverage_function *coverage_function_new(const char *file, const char *name, const char *text)
{
	struct coverage_function *f = g_new0(struct coverage_function, 1);
	g_autoptr(GArray) where = definition_lines(text, name);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	unsigned int nr_lines = g_strv_length(lines);

	f->file = g_strdup(file);
	f->name = g_strdup(name);
	f->lines = g_ptr_array_new_with_free_func(line_free);
	f->state = where->len ? COVERAGE_NOT_BUILT : COVERAGE_NOT_DEFINED;
	for (guint i = 0; i < where->len; i++) {
		const struct definition *d = &g_array_index(where, struct definition, i);

		for (unsigned int nr = d->first; nr <= d->last && nr <= nr_lines; nr++)
			g_ptr_array_add(f->lines, line_new(nr, lines[nr - 1]));
	}
	return f;
}

static void add_counts(struct coverage_line *l, guint64 count, const GArray *branches)
{
	l->code = true;
	l->count += count;
	if (branches->len > l->branches->len)
		g_array_set_size(l->branches, branches->len);
	for (guint i = 0; i < branches->len; i++)
		g_array_index(l->branches, guint64, i) += g_array_index(branches, guint64, i);
}

/* What one document of gcov says of one line: its copies put together */
struct merged {
	guint64 count;
	GArray *branches;
};

static void merged_free(gpointer p)
{
	struct merged *m = p;

	g_array_unref(m->branches);
	g_free(m);
}

static guint64 count_of(const json_t *o)
{
	json_int_t n = json_integer_value(json_object_get(o, "count"));

	return n > 0 ? n : 0;
}

static void merge_copy(GHashTable *lines, const json_t *line)
{
	gpointer key = GUINT_TO_POINTER((guint)json_integer_value(json_object_get(line, "line_number")));
	const json_t *list = json_object_get(line, "branches"), *b;
	struct merged *m = g_hash_table_lookup(lines, key);
	size_t n = json_array_size(list), i;

	if (!m) {
		m = g_new0(struct merged, 1);
		m->branches = g_array_new(FALSE, TRUE, sizeof(guint64));
		g_hash_table_insert(lines, key, m);
	}
	m->count += count_of(line);
	if (n < m->branches->len)
		return;
	if (n > m->branches->len) {
		g_array_set_size(m->branches, 0);
		g_array_set_size(m->branches, n);
	}
	json_array_foreach(list, i, b)
		g_array_index(m->branches, guint64, i) += count_of(b);
}

/* Is @path, as the compiler was given it, the source's @file? */
static bool same_file(const char *path, const char *file)
{
	g_autofree char *whole = g_canonicalize_filename(path, "/");
	g_autofree char *end = g_strconcat("/", file, NULL);

	return g_str_has_suffix(whole, end);
}

static void add_file(struct coverage *c, const json_t *file)
{
	g_autoptr(GHashTable) lines = g_hash_table_new_full(NULL, NULL, NULL, merged_free);
	const char *path = json_string_value(json_object_get(file, "file"));
	const json_t *line;
	size_t i;

	json_array_foreach(json_object_get(file, "lines"), i, line)
		merge_copy(lines, line);
	for (guint n = 0; path && n < c->functions->len; n++) {
		struct coverage_function *f = c->functions->pdata[n];

		if (!same_file(path, f->file))
			continue;
		for (guint l = 0; l < f->lines->len; l++) {
			struct coverage_line *to = f->lines->pdata[l];
			const struct merged *m = g_hash_table_lookup(lines, GUINT_TO_POINTER(to->nr));

			if (m)
				add_counts(to, m->count, m->branches);
		}
	}
}

bool coverage_add_gcov(struct coverage *c, const char *text, gsize len, GError **err)
{
	json_error_t e;
	json_t *j = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, &e), *file;
	size_t i;

	if (!json_is_array(json_object_get(j, "files"))) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "gcov gave no list of files: %s", j ? "another format?" : e.text);
		json_decref(j);
		return false;
	}
	json_array_foreach(json_object_get(j, "files"), i, file)
		add_file(c, file);
	json_decref(j);
	return true;
}

/* ---- gcov ---- */

static char *gcov_program(const char *arch)
{
	const struct arch *a = arch_find(arch);

	return g_strconcat(a ? arch_cross(a) : "", "gcov", NULL);
}

static bool copy_into(const char *from, const char *dir, const char *name, GError **err)
{
	g_autofree char *to = g_build_filename(dir, name, NULL), *parent = g_path_get_dirname(to);
	g_autoptr(GFile) a = g_file_new_for_path(from);
	g_autoptr(GFile) b = g_file_new_for_path(to);
	g_autoptr(GError) e = NULL;

	if (!mmg_mkdirs(parent, err))
		return false;
	if (g_file_copy(a, b, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, &e))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot copy %s: %s", from, e->message);
	return false;
}

/* Have gcov read @file's notes in @dir, with its counts where they are beside them */
static bool run_gcov(struct coverage *c, const char *dir, const char *file, GError **err)
{
	g_autofree char *notes = with_ending(file, ".gcno"), *program = gcov_program(c->arch);
	g_autofree char *path = g_find_program_in_path(program);
	const char *argv[] = { program, "--json-format", "--stdout", "--branch-probabilities", notes, NULL };
	const char *env[] = { "LC_ALL=C", NULL };
	g_autoptr(GString) out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "reading counts with gcov", .argv = argv, .cwd = dir, .env = env, .out = out };

	if (!path) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "coverage needs %s, which comes with gcc", program);
		return false;
	}
	return mmg_run(&cmd, err) && coverage_add_gcov(c, out->str, out->len, err);
}

/* All guarded files, with the counts in @artifacts, or NULL: none.  *@read gets how many had some */
static bool add_all(struct coverage *c, const struct build_result *b, const char *artifacts,
		    unsigned int *read, GError **err)
{
	g_autofree char *dir = scratch_dir("gcov", err);
	g_autoptr(GHashTable) done = g_hash_table_new(g_str_hash, g_str_equal);
	bool ok = dir;

	for (guint i = 0; ok && i < c->functions->len; i++) {
		const char *file = ((struct coverage_function *)c->functions->pdata[i])->file;
		g_autofree char *notes = with_ending(file, ".gcno"), *data = with_ending(file, ".gcda");
		g_autofree char *from = g_build_filename(b->dir, "kept", notes, NULL);
		g_autofree char *counts = artifacts ? g_build_filename(artifacts, COVERAGE_FOLDER, data, NULL) : NULL;

		if (!g_hash_table_add(done, (char *)file) || !g_file_test(from, G_FILE_TEST_IS_REGULAR))
			continue;
		if (counts && !g_file_test(counts, G_FILE_TEST_IS_REGULAR))
			continue;
		++*read;
		ok = copy_into(from, dir, notes, err) && (!counts || copy_into(counts, dir, data, err)) &&
		     run_gcov(c, dir, file, err);
	}
	if (dir)
		mmg_rmtree(dir);
	return ok;
}

/* A line without code is none; a function without one was not built */
static void drop_codeless(struct coverage *c)
{
	for (guint i = 0; i < c->functions->len; i++) {
		struct coverage_function *f = c->functions->pdata[i];

		for (guint l = f->lines->len; l-- > 0; )
			if (!((struct coverage_line *)f->lines->pdata[l])->code)
				g_ptr_array_remove_index(f->lines, l);
		if (f->lines->len)
			f->state = COVERAGE_COUNTED;
	}
}

struct coverage *coverage_new(const struct source *src, const char *arch, const struct build_result *b,
			      const GPtrArray *guarded, GError **err)
{
	struct coverage *c = coverage_empty();
	unsigned int read = 0;

	c->source = g_strdup(src->name);
	c->version = g_strdup(src->version);
	c->arch = g_strdup(arch);
	c->sha256 = g_strdup(b->sha256);
	for (guint i = 0; i < guarded->len; i++) {
		const struct guarded *g = guarded->pdata[i];
		g_autoptr(GBytes) bytes = source_read(src, NULL, g->file, NULL);
		/* a file that this source does not have defines nothing */
		g_autofree char *text = bytes ? g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)) :
						g_strdup("");

		g_ptr_array_add(c->functions, coverage_function_new(g->file, g->name, text));
	}
	if (add_all(c, b, NULL, &read, err)) {
		drop_codeless(c);
		if (read)
			return c;
		mmg_set_error(err, MMG_EXIT_BROKEN, "the kernel was built without gcc's notes (.gcno) of any guarded "
			      "file: it cannot be counted");
	}
	coverage_free(c);
	return NULL;
}

bool coverage_add_boot(struct coverage *c, const struct build_result *b, const char *artifacts, GError **err)
{
	unsigned int read = 0;

	if (!add_all(c, b, artifacts, &read, err))
		return false;
	if (read)
		c->boots++;
	else
		c->lost++;
	return true;
}

struct coverage_sum coverage_sum(const struct coverage *c, const struct coverage_function *one)
{
	struct coverage_sum s = { 0 };

	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];

		if (one && f != one)
			continue;
		for (guint n = 0; n < f->lines->len; n++) {
			const struct coverage_line *l = f->lines->pdata[n];

			s.lines++;
			s.lines_reached += l->count > 0;
			if (l->assertion) {
				s.assertions += l->branches->len;
				continue;
			}
			s.branches += l->branches->len;
			s.branches_reached += l->branches->len - coverage_missed(l);
		}
	}
	return s;
}

unsigned int coverage_missed(const struct coverage_line *l)
{
	unsigned int n = 0;

	for (guint i = 0; i < l->branches->len; i++)
		n += !g_array_index(l->branches, guint64, i);
	return n;
}

/* ---- reasons ---- */

/* Equal but for white space */
static bool same_text(const char *a, const char *b)
{
	for (;;) {
		while (g_ascii_isspace(*a))
			a++;
		while (g_ascii_isspace(*b))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

/* Put @reason to the lines of @function that read @text; how many of them are not all reached */
static unsigned int give_reason(struct coverage *c, const char *function, const char *text, const char *reason)
{
	unsigned int n = 0;

	for (guint i = 0; i < c->functions->len; i++) {
		struct coverage_function *f = c->functions->pdata[i];

		for (guint l = 0; !strcmp(f->name, function) && l < f->lines->len; l++) {
			struct coverage_line *line = f->lines->pdata[l];

			if (!same_text(line->text, text) || (line->count && !coverage_missed(line)))
				continue;
			g_free(line->reason);
			line->reason = g_strdup(reason);
			n++;
		}
	}
	return n;
}

bool coverage_reasons(struct coverage *c, const char *path, GError **err)
{
	static const char *const keys[] = { "function", "line", "reason", "kernels", NULL };
	g_autofree char *own = path ? g_strdup(path) : mmg_root_path("configs", "unreached.conf", NULL);
	g_autoptr(GKeyFile) kf = conf_load(own, err);
	g_auto(GStrv) groups = kf ? g_key_file_get_groups(kf, NULL) : NULL;

	for (char **g = groups; g && *g; g++) {
		g_autofree char *function = g_key_file_get_string(kf, *g, "function", NULL);
		g_autofree char *line = g_key_file_get_string(kf, *g, "line", NULL);
		g_autofree char *reason = g_key_file_get_string(kf, *g, "reason", NULL);
		g_autofree char *range = g_key_file_get_string(kf, *g, "kernels", NULL);

		if (!conf_keys_known(kf, own, *g, keys, err))
			return false;
		if (!function || !line || !reason || (range && !version_range_valid(range))) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] needs function=, line= and reason= (kernels= is a "
				      "range, FROM..TO)", own, *g);
			return false;
		}
		if (version_in_range(range, c->version) && !give_reason(c, function, line, reason))
			g_ptr_array_add(c->stale, g_strdup(*g));
	}
	return kf;
}

/* ---- coverage.json ---- */

static json_t *sum_json(const struct coverage_sum *s)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "lines", s->lines, "lines_reached", s->lines_reached,
			 "branches", s->branches, "branches_reached", s->branches_reached,
			 "assertion_branches", s->assertions);
}

static json_t *line_json(const struct coverage_line *l)
{
	json_t *branches = json_array();

	for (guint i = 0; i < l->branches->len; i++)
		json_array_append_new(branches, json_integer(g_array_index(l->branches, guint64, i)));
	return json_pack("{s:i, s:s, s:I, s:o, s:b, s:s}", "line", l->nr, "text", l->text, "count",
			 (json_int_t)l->count, "branches", branches, "assertion", l->assertion,
			 "reason", l->reason ? l->reason : "");
}

json_t *coverage_json(const struct coverage *c)
{
	const struct coverage_sum all = coverage_sum(c, NULL);
	json_t *functions = json_array(), *stale = json_array();

	for (guint i = 0; i < c->functions->len; i++) {
		const struct coverage_function *f = c->functions->pdata[i];
		const struct coverage_sum s = coverage_sum(c, f);
		json_t *lines = json_array();

		for (guint l = 0; l < f->lines->len; l++)
			json_array_append_new(lines, line_json(f->lines->pdata[l]));
		json_array_append_new(functions, json_pack("{s:s, s:s, s:s, s:o, s:o}", "file", f->file, "name",
							   f->name, "state", state_names[f->state], "sum",
							   sum_json(&s), "lines", lines));
	}
	for (guint i = 0; i < c->stale->len; i++)
		json_array_append_new(stale, json_string(c->stale->pdata[i]));
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:o}", "format", 1, "source", c->source,
			 "version", c->version, "arch", c->arch, "image_sha256", c->sha256, "boots", c->boots,
			 "boots_lost", c->lost, "sum", sum_json(&all), "stale_reasons", stale,
			 "functions", functions);
}

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static struct coverage_function *function_load(const json_t *o)
{
	struct coverage_function *f = g_new0(struct coverage_function, 1);
	const json_t *line, *b;
	size_t i, j;

	f->file = g_strdup(str(o, "file"));
	f->name = g_strdup(str(o, "name"));
	f->lines = g_ptr_array_new_with_free_func(line_free);
	f->state = COVERAGE_NOT_BUILT;
	for (size_t s = 0; s < G_N_ELEMENTS(state_names); s++)
		if (!strcmp(state_names[s], str(o, "state")))
			f->state = s;
	json_array_foreach(json_object_get(o, "lines"), i, line) {
		struct coverage_line *l = line_new(json_integer_value(json_object_get(line, "line")),
						   str(line, "text"));

		l->code = true;
		l->count = count_of(line);
		json_array_foreach(json_object_get(line, "branches"), j, b) {
			guint64 n = MAX(json_integer_value(b), 0);

			g_array_append_val(l->branches, n);
		}
		g_ptr_array_add(f->lines, l);
	}
	return f;
}

struct coverage *coverage_load(const char *path, GError **err)
{
	json_error_t e;
	json_t *j = json_load_file(path, 0, &e), *o;
	struct coverage *c;
	size_t i;

	if (json_integer_value(json_object_get(j, "format")) != 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not what coverage writes: %s", path,
			      j ? "it has no format 1" : e.text);
		json_decref(j);
		return NULL;
	}
	c = coverage_empty();
	c->source = g_strdup(str(j, "source"));
	c->version = g_strdup(str(j, "version"));
	c->arch = g_strdup(str(j, "arch"));
	c->sha256 = g_strdup(str(j, "image_sha256"));
	c->boots = MAX(json_integer_value(json_object_get(j, "boots")), 0);
	c->lost = MAX(json_integer_value(json_object_get(j, "boots_lost")), 0);
	json_array_foreach(json_object_get(j, "functions"), i, o)
		g_ptr_array_add(c->functions, function_load(o));
	json_decref(j);
	return c;
}

/* Add the lines of @from to those of the same number in @to */
static void add_function(struct coverage_function *to, const struct coverage_function *from)
{
	for (guint i = 0; i < from->lines->len; i++) {
		const struct coverage_line *f = from->lines->pdata[i];

		for (guint j = 0; j < to->lines->len; j++) {
			struct coverage_line *t = to->lines->pdata[j];

			if (t->nr == f->nr)
				add_counts(t, f->count, f->branches);
		}
	}
}

bool coverage_add_file(struct coverage *c, const char *path, GError **err)
{
	struct coverage *more = coverage_load(path, err);

	if (!more)
		return false;
	if (strcmp(more->sha256, c->sha256)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has the counts of another kernel image (%s %s): only counts of "
			      "one image can be added up", path, more->source, more->arch);
		coverage_free(more);
		return false;
	}
	for (guint i = 0; i < more->functions->len; i++) {
		const struct coverage_function *f = more->functions->pdata[i];

		for (guint j = 0; j < c->functions->len; j++) {
			struct coverage_function *to = c->functions->pdata[j];

			if (!strcmp(to->name, f->name) && !strcmp(to->file, f->file))
				add_function(to, f);
		}
	}
	c->boots += more->boots;
	c->lost += more->lost;
	coverage_free(more);
	return true;
}
