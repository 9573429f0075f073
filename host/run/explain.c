// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why a cell of the table of kernels is red: a fix that this kernel has not, an
 * issue that somebody follows, or nothing that is known.
 */
#include "run/explain.h"

#include <string.h>

static void fix_free(gpointer p)
{
	struct fix *f = p;

	g_free(f->commit);
	g_free(f->title);
	g_free(f->since);
	g_strfreev(f->in);
	g_strfreev(f->cases);
	g_free(f);
}

static const char *fault_of(GKeyFile *kf, const struct fix *f)
{
	static const char *const known[] = { "title", "in", "since", "cases", NULL };
	g_auto(GStrv) keys = g_key_file_get_keys(kf, f->commit, NULL, NULL);

	for (char **k = keys; k && *k; k++)
		if (!g_strv_contains(known, *k))
			return "has a key that is not known; known: title, in, since, cases";
	if (strlen(f->commit) < 12 || strspn(f->commit, "0123456789abcdef") != strlen(f->commit))
		return "is not a commit of 12 hex digits or more";
	if (!f->title || !f->in || !*f->in)
		return "needs title= and in=";
	return NULL;
}

GPtrArray *fixes_load(GError **err)
{
	g_autofree char *path = mmg_root_path("configs", "fixes.conf", NULL);
	g_autoptr(GKeyFile) kf = g_key_file_new();
	GPtrArray *list = g_ptr_array_new_with_free_func(fix_free);
	g_auto(GStrv) groups = NULL;
	g_autoptr(GError) e = NULL;

	g_key_file_set_list_separator(kf, ';');
	if (!g_key_file_load_from_file(kf, path, 0, &e)) {
		if (g_error_matches(e, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return list;
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: %s", path, e->message);
		g_ptr_array_unref(list);
		return NULL;
	}
	groups = g_key_file_get_groups(kf, NULL);
	for (char **g = groups; *g; g++) {
		struct fix *f = g_new0(struct fix, 1);
		const char *fault;

		f->commit = g_strdup(*g);
		f->title = g_key_file_get_string(kf, *g, "title", NULL);
		f->since = g_key_file_get_string(kf, *g, "since", NULL);
		f->in = g_key_file_get_string_list(kf, *g, "in", NULL, NULL);
		f->cases = g_key_file_get_string_list(kf, *g, "cases", NULL, NULL);
		g_ptr_array_add(list, f);
		fault = fault_of(kf, f);
		if (!fault)
			continue;
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: [%s] %s", path, *g, fault);
		g_ptr_array_unref(list);
		return NULL;
	}
	return list;
}

/* "6.12" of "6.12.19": is @version of that line? */
static bool same_line(const char *a, const char *b)
{
	g_auto(GStrv) x = g_strsplit(a, ".", 3), y = g_strsplit(b, ".", 3);

	return x[0] && x[1] && y[0] && y[1] && !strcmp(x[0], y[0]) && !strcmp(x[1], y[1]);
}

bool fix_is_missing(const struct fix *f, const char *version)
{
	if (f->since && version_cmp(version, f->since) < 0)
		return false;
	for (char **in = f->in; *in; in++) {
		g_auto(GStrv) parts = g_strsplit(*in, ".", -1);
		bool point = g_strv_length(parts) > 2;

		/* a point release has it for its own line only, a mainline release for all after it */
		if ((!point || same_line(*in, version)) && version_cmp(version, *in) >= 0)
			return false;
	}
	return true;
}

static const struct test *test_of(const GPtrArray *catalog, const char *name)
{
	for (guint i = 0; i < catalog->len; i++) {
		const struct test *t = catalog->pdata[i];
		gsize n = strlen(t->name);

		if (!strncmp(name, t->name, n) && (!name[n] || name[n] == '/'))
			return t;
	}
	return NULL;
}

static bool guards(const struct test *t, const struct fix *f)
{
	for (guint i = 0; i < t->guards->len; i++)
		if (g_str_has_prefix(t->guards->pdata[i], f->commit))
			return true;
	return false;
}

/* A fix that lists its cases is about those; any other is about the tests that guard it */
static bool covers(const struct fix *f, const struct test *t, const char *name)
{
	if (!f->cases)
		return guards(t, f);
	for (char **c = f->cases; *c; c++)
		if (mmg_glob(*c, name))
			return true;
	return false;
}

/* "fixed in 6.12: 1d4832becdc2 title", g_free() it; NULL where no fix that is missing is about it */
static char *fixed_in(const GPtrArray *fixes, const GPtrArray *catalog, const char *name,
		      const char *version)
{
	const struct test *t = test_of(catalog, name);

	for (guint i = 0; t && i < fixes->len; i++) {
		const struct fix *f = fixes->pdata[i];
		g_autofree char *in = NULL;

		if (!covers(f, t, name) || !fix_is_missing(f, version))
			continue;
		in = g_strjoinv(" and ", f->in);
		return g_strdup_printf("fixed in %s: %s %s", in, f->commit, f->title);
	}
	return NULL;
}

/* The reason of one red thing; false where there is none */
static bool explain(json_t *o, char *fixed)
{
	const char *known = obj_str(o, "allowed");
	g_autofree char *text = fixed;

	if (!text && *known)
		text = g_strdup_printf("known issue %s", known);
	json_object_del(o, "explained");
	json_object_del(o, "unexplained");
	if (text)
		json_object_set_new(o, "explained", json_string(text));
	else
		json_object_set_new(o, "unexplained", json_true());
	return text;
}

int explain_run(json_t *run, const GPtrArray *catalog, int *broken, GError **err)
{
	g_autoptr(GPtrArray) fixes = fixes_load(err);
	json_t *kernels = json_object_get(run, "kernels"), *o, *s;
	size_t i, j;
	int n = 0;

	*broken = 0;
	if (!fixes)
		return -1;
	json_array_foreach(json_object_get(run, "cases"), i, o) {
		enum result result = obj_result(o);
		const json_t *k = json_array_get(kernels, obj_int(o, "kernel"));
		bool fail = result == RESULT_FAIL;

		if (!result_bad(result))
			continue;
		/* a broken experiment says nothing of the kernel, so no fix explains it */
		if (explain(o, fail ? fixed_in(fixes, catalog, obj_str(o, "name"), obj_str(k, "version")) :
			    NULL))
			continue;
		n++;
		*broken += !fail;
	}
	json_array_foreach(json_object_get(run, "boots"), i, o)
		json_array_foreach(json_object_get(o, "splats"), j, s)
			n += !explain(s, NULL);
	return n;
}
