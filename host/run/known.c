// SPDX-License-Identifier: GPL-2.0-only
/*
 * Known issues: failures and splats that somebody owns, and that a run may
 * therefore show until a date.
 *
 * An entry is a group of a GKeyFile in configs/known-issues; its name is its id.
 * It says what it matches (kind, pattern, scope), who looks after it (owner,
 * link) and until when (expires).  An entry that lacks one of these, that has
 * expired, or whose pattern would match anything is not applied, and is named
 * in run["known_issues"]; so is one that applied to the run's scope and no
 * longer matched anything.
 */
#include "run/run.h"

#include <string.h>

struct entry {
	char *id, *file;
	char *kind, *pattern, *owner, *link, *expires;
	char **results;			/* "fail" where not said */
	char *kernels;			/* FROM..TO, or NULL */
	char **archs, **machines;
	GPatternSpec *spec;
	guint matched;			/* results and splats */
	bool in_scope;			/* something of its scope has run */
	char *places;			/* two of one kernel that a fingerprint fits: two bugs */
};

static void entry_free(void *data)
{
	struct entry *e = data;

	g_free(e->id);
	g_free(e->file);
	g_free(e->kind);
	g_free(e->pattern);
	g_free(e->owner);
	g_free(e->link);
	g_free(e->expires);
	g_strfreev(e->results);
	g_free(e->kernels);
	g_strfreev(e->archs);
	g_strfreev(e->machines);
	g_free(e->places);
	g_clear_pointer(&e->spec, g_pattern_spec_free);
	g_free(e);
}

static void note(json_t *run, const struct entry *e, const char *state, const char *fmt, ...)
	G_GNUC_PRINTF(4, 5);

static void note(json_t *run, const struct entry *e, const char *state, const char *fmt, ...)
{
	va_list ap;
	char *text, *clean;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	clean = mmg_clean(text, -1, 500);
	json_array_append_new(json_object_get(run, "known_issues"),
			      json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:i, s:s}",
					"id", e->id, "file", e->file, "state", state,
					"owner", e->owner, "link", e->link, "expires", e->expires,
					"matched", e->matched, "note", clean));
	g_free(clean);
	g_free(text);
}

/* Letters and digits of @pattern that are to be met as they stand, from @from on */
static guint literals(const char *pattern, const char *from)
{
	guint n = 0;

	if (from && g_str_has_prefix(pattern, from))
		pattern += strlen(from);
	for (; *pattern; pattern++)
		if (g_ascii_isalnum(*pattern))
			n++;
	return n;
}

/* Why @e must not be applied because of its pattern, or NULL */
static const char *pattern_fault(const struct entry *e)
{
	static const char *const kinds[] = { "WARNING:", "BUG:", "INFO:", "Oops", "UBSAN:" };
	char **part;
	const char *why = NULL;

	if (!strcmp(e->kind, "test")) {
		part = g_strsplit(e->pattern, "/", -1);
		if (g_strv_length(part) < 2 || literals(part[0], NULL) < 2 ||
		    literals(part[1], NULL) < 3)
			why = "its pattern must name a test (family/test, or family/test/case)";
		g_strfreev(part);
		return why;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (literals(e->pattern, kinds[i]) < 8)
			why = "its pattern matches too much: name the function or the words of the splat";
	return why;
}

static const char *entry_fault(const struct entry *e)
{
	GDate date;

	if (!e->kind || (strcmp(e->kind, "test") && strcmp(e->kind, "splat")))
		return "kind must be test or splat";
	if (!e->pattern || !*e->pattern)
		return "it has no pattern";
	if (!e->owner || !*e->owner)
		return "it has no owner";
	if (!e->link || !strstr(e->link, "://"))
		return "it has no link to where the issue is followed";
	if (!e->expires)
		return "it has no expires=YYYY-MM-DD";
	g_date_clear(&date, 1);
	if (strlen(e->expires) == 10)
		g_date_set_parse(&date, e->expires);
	if (!g_date_valid(&date))
		return "expires is no date of the form YYYY-MM-DD";
	for (char **r = e->results; r && *r; r++)
		if (!result_bad(result_find(*r)))
			return "results may list fail and broken only";
	if (e->kernels && !version_range_valid(e->kernels))
		return "kernels is no range: write FROM..TO, such as 6.1..6.12 (6.1 and later, before 6.12)";
	return pattern_fault(e);
}

static char *key_get(GKeyFile *kf, const char *group, const char *key)
{
	char *v = g_key_file_get_string(kf, group, key, NULL);

	return v ? g_strstrip(v) : NULL;
}

static char **key_words(GKeyFile *kf, const char *group, const char *key)
{
	char *v = key_get(kf, group, key);
	char **words = v ? g_strsplit_set(v, " ;,", -1) : NULL;

	g_free(v);
	return words;
}

static bool key_known(const char *key)
{
	static const char *const keys[] = {
		"kind", "pattern", "results", "kernels", "arch", "machine", "owner", "link",
		"expires", "reason", NULL
	};

	return g_strv_contains(keys, key);
}

static void load_group(json_t *run, GPtrArray *entries, GKeyFile *kf, const char *file,
		       const char *group)
{
	struct entry *e = g_new0(struct entry, 1);
	char **keys = g_key_file_get_keys(kf, group, NULL, NULL);
	const char *fault = NULL;
	char *unknown = NULL;

	e->id = mmg_clean(group, -1, 100);
	e->file = mmg_clean(file, -1, 200);
	e->kind = key_get(kf, group, "kind");
	e->pattern = key_get(kf, group, "pattern");
	e->owner = key_get(kf, group, "owner");
	e->link = key_get(kf, group, "link");
	e->expires = key_get(kf, group, "expires");
	e->results = key_words(kf, group, "results");
	e->kernels = key_get(kf, group, "kernels");
	e->archs = key_words(kf, group, "arch");
	e->machines = key_words(kf, group, "machine");

	for (char **k = keys; k && *k && !unknown; k++)
		if (!key_known(*k))
			unknown = g_strdup_printf("unknown key \"%s\"", *k);
	fault = unknown ? unknown : entry_fault(e);
	if (fault) {
		note(run, e, "refused", "known issue %s in %s is not applied: %s", e->id, e->file,
		     fault);
		entry_free(e);
	} else {
		if (!strcmp(e->kind, "splat"))
			e->spec = g_pattern_spec_new(e->pattern);
		g_ptr_array_add(entries, e);
	}
	g_free(unknown);
	g_strfreev(keys);
}

static void load_file(json_t *run, GPtrArray *entries, const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL);
	GError *err = NULL;
	GKeyFile *kf = conf_load(path, &err);

	if (kf) {
		char **groups = g_key_file_get_groups(kf, NULL);

		for (char **g = groups; *g; g++)
			load_group(run, entries, kf, name, *g);
		g_strfreev(groups);
	} else {
		struct entry e = { .id = (char *)name, .file = (char *)name };

		note(run, &e, "refused", "known issues of %s are not applied: %s", name,
		     err->message);
		g_error_free(err);
	}
	g_clear_pointer(&kf, g_key_file_free);
	g_free(path);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool load(json_t *run, GPtrArray *entries, const char *dir, GError **err)
{
	GError *why = NULL;
	GDir *d = g_dir_open(dir, 0, &why);
	GPtrArray *names;
	const char *name;

	if (!d) {
		bool absent = g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT);

		if (!absent)
			mmg_set_error(err, MMG_EXIT_BROKEN, "reading known issues in %s: %s", dir,
				      why->message);
		g_error_free(why);
		return absent;
	}
	names = g_ptr_array_new_with_free_func(g_free);
	while ((name = g_dir_read_name(d)))
		if (g_str_has_suffix(name, ".conf") && *name != '.')
			g_ptr_array_add(names, g_strdup(name));
	g_dir_close(d);
	g_ptr_array_sort(names, by_name);
	for (guint i = 0; i < names->len; i++)
		load_file(run, entries, dir, g_ptr_array_index(names, i));
	g_ptr_array_unref(names);
	return true;
}

static bool word_in(char **words, const char *word)
{
	bool any = false;

	for (char **w = words; w && *w; w++) {
		if (!**w)
			continue;
		any = true;
		if (g_pattern_match_simple(*w, word))
			return true;
	}
	return !any;
}

static bool scope_fits(struct entry *e, json_t *run, json_t *kernel, const char *machine)
{
	const char *arch = obj_str(kernel, "arch");

	if (!*arch)
		arch = obj_str(json_object_get(run, "host"), "arch");
	return version_in_range(e->kernels, obj_str(kernel, "version")) && word_in(e->archs, arch) &&
	       word_in(e->machines, machine);
}

static json_t *kernel_of(json_t *run, json_t *o)
{
	json_int_t i = json_integer_value(json_object_get(o, "kernel"));

	return i < 0 ? NULL : json_array_get(json_object_get(run, "kernels"), i);
}

static void apply_tests(struct entry *e, json_t *run)
{
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		enum result result = obj_result(c);

		if (!mmg_glob(e->pattern, obj_str(c, "name")) ||
		    !scope_fits(e, run, kernel_of(run, c), obj_str(c, "machine")))
			continue;
		if (result != RESULT_SKIP)
			e->in_scope = true;
		if (e->results ? !result_bad(result) || !word_in(e->results, result_name(result))
			       : result != RESULT_FAIL)
			continue;
		json_object_set_new(c, "allowed", json_string(e->id));
		e->matched++;
	}
}

/*
 * A fingerprint has no line numbers, since those differ from build to build; two
 * WARN_ON()s of one function share one.  Within one kernel their places tell them
 * apart: "places" is then set to both, and the entry must allow neither.
 */
static void find_places(struct entry *e, json_t *run)
{
	json_t *b, *s, *seen = json_object();
	size_t i, j;

	json_array_foreach(json_object_get(run, "boots"), i, b) {
		char *kernel = g_strdup_printf("%lld", (long long)json_integer_value(json_object_get(b, "kernel")));

		json_array_foreach(json_object_get(b, "splats"), j, s) {
			const char *site = obj_str(s, "site"), *first = obj_str(seen, kernel);

			if (strcmp(e->pattern, obj_str(s, "fingerprint")) || !*site)
				continue;
			if (!*first)
				json_object_set_new(seen, kernel, json_string(site));
			else if (strcmp(first, site) && !e->places)
				e->places = g_strdup_printf("%s and %s", first, site);
		}
		g_free(kernel);
	}
	json_decref(seen);
}

static void apply_splats(struct entry *e, json_t *run)
{
	json_t *b, *s;
	size_t i, j;

	find_places(e, run);
	if (e->places)
		return;

	json_array_foreach(json_object_get(run, "boots"), i, b) {
		if (!scope_fits(e, run, kernel_of(run, b), obj_str(b, "machine")))
			continue;
		e->in_scope = true;
		json_array_foreach(json_object_get(b, "splats"), j, s) {
			if (!g_pattern_spec_match_string(e->spec, obj_str(s, "title")) &&
			    strcmp(e->pattern, obj_str(s, "fingerprint")))
				continue;
			json_object_set_new(s, "allowed", json_string(e->id));
			e->matched++;
		}
	}
}

/* The day of the run, so that judging it again later says the same */
static char *day_of(json_t *run)
{
	const char *started = obj_str(run, "started");
	GDateTime *now;
	char *day;

	if (strlen(started) >= 10 && g_ascii_isdigit(*started))
		return g_strndup(started, 10);
	now = g_date_time_new_now_utc();
	day = g_date_time_format(now, "%Y-%m-%d");
	g_date_time_unref(now);
	return day;
}

/**
 * known_apply() - allow what an entry of configs/known-issues stands for
 * @run: run.json; results and splats that an entry fits get "allowed", and
 *	run["known_issues"] says what became of each entry
 * @err: where the folder could not be read
 *
 * A wrong entry is no error of the run: it is reported and allows nothing.
 *
 * Return: false with *@err.
 */
bool known_apply(json_t *run, GError **err)
{
	char *dir = mmg_root_path("configs", "known-issues", NULL);
	GPtrArray *entries = g_ptr_array_new_with_free_func(entry_free);
	char *day = day_of(run);
	bool ok;

	json_object_set_new(run, "known_issues", json_array());
	ok = load(run, entries, dir, err);
	for (guint i = 0; ok && i < entries->len; i++) {
		struct entry *e = g_ptr_array_index(entries, i);

		if (strcmp(e->expires, day) < 0) {
			note(run, e, "expired",
			     "known issue %s expired on %s and is not applied: %s is to renew or remove it (%s)",
			     e->id, e->expires, e->owner, e->link);
			continue;
		}
		if (!strcmp(e->kind, "test"))
			apply_tests(e, run);
		else
			apply_splats(e, run);
		if (e->places)
			note(run, e, "refused",
			     "known issue %s is not applied: its fingerprint fits two places of one kernel, %s; name one by its title (%s)",
			     e->id, e->places, e->link);
		else if (e->matched)
			note(run, e, "applied", "known issue %s allowed %u (until %s, %s, %s)",
			     e->id, e->matched, e->expires, e->owner, e->link);
		else if (e->in_scope)
			note(run, e, "unmatched",
			     "known issue %s matched nothing in this run: remove it if the bug is fixed (%s)",
			     e->id, e->link);
	}
	g_ptr_array_unref(entries);
	g_free(day);
	g_free(dir);
	return ok;
}
