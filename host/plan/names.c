// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of tests and machines in configuration files and on the command line: whether
 * they name anything, and what was probably meant.
 */
#include "plan/plan.h"

#include <string.h>

/* The first two parts of a name, "kvm/eviction_order" of "kvm/eviction_order/anon-4k"; g_free() it */
static char *test_part(const char *name)
{
	const char *slash = strchr(name, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;

	return second ? g_strndup(name, second - name) : g_strdup(name);
}

/* True where @glob may name @test or one of its cases, which no file lists */
static bool may_name(const char *glob, const char *test)
{
	g_autofree char *lead = test_part(glob);

	/* a '*' also spans slashes: "*hugetlb*" is about cases */
	return mmg_glob(glob, test) || g_pattern_match_simple(lead, test) ||
	       (strpbrk(glob, "*?") && !strchr(glob, '/'));
}

static bool unknown(const char *where, const char *what, const char *name, const GPtrArray *known,
		    GError **err)
{
	g_autofree char *meant = mmg_did_you_mean(name, (const char *const *)known->pdata);

	mmg_set_error(err, MMG_EXIT_USAGE, "%s: no %s '%s'%s; ./run.sh list %ss shows what there is", where,
		      what, name, meant, what);
	return false;
}

/* Names of all tests, NULL-terminated; read once */
static const GPtrArray *test_names(GError **err)
{
	static GPtrArray *names;
	g_autoptr(GPtrArray) tests = NULL;

	if (names)
		return names;
	tests = catalog_load(err);
	if (!tests)
		return NULL;
	names = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < tests->len; i++)
		g_ptr_array_add(names, g_strdup(((struct test *)tests->pdata[i])->name));
	g_ptr_array_add(names, NULL);
	return names;
}

static gint by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *conf_names(const char *folder)
{
	g_autofree char *dir = mmg_root_path("configs", folder, NULL);
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *file;

	while (d && (file = g_dir_read_name(d)))
		if (g_str_has_suffix(file, ".conf"))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".conf")));
	if (d)
		g_dir_close(d);
	g_ptr_array_sort(names, by_text);
	g_ptr_array_add(names, NULL);
	return names;
}

GPtrArray *machine_names(void)
{
	return conf_names("machines");
}

static bool any_matches(const char *glob, const GPtrArray *names, bool (*match)(const char *, const char *))
{
	for (guint i = 0; i + 1 < names->len; i++)
		if (match(glob, names->pdata[i]))
			return true;
	return false;
}

static bool machine_matches(const char *glob, const char *name)
{
	return g_pattern_match_simple(glob, name);
}

bool names_known(const char *where, const GPtrArray *tests, const GPtrArray *machines, GError **err)
{
	const GPtrArray *known = test_names(err);
	g_autoptr(GPtrArray) boards = machine_names();

	if (!known)
		return false;
	for (guint i = 0; tests && i < tests->len; i++) {
		const char *machine;
		g_autofree char *test = mmg_glob_split(tests->pdata[i], &machine);

		/* boot/splat and its like are no test's */
		if (!g_str_has_prefix(test, "boot/") && !any_matches(test, known, may_name)) {
			g_autofree char *lead = test_part(test);

			return unknown(where, "test", lead, known, err);
		}
		if (machine && !any_matches(machine, boards, machine_matches))
			return unknown(where, "machine", machine, boards, err);
	}
	for (guint i = 0; machines && i < machines->len; i++)
		/* a path is a machine file elsewhere: machine_load() says what is wrong with it */
		if (!strchr(machines->pdata[i], '/') &&
		    !any_matches(machines->pdata[i], boards, machine_matches))
			return unknown(where, "machine", machines->pdata[i], boards, err);
	return true;
}

bool machines_expand(GPtrArray *machines, GError **err)
{
	g_autoptr(GPtrArray) known = machine_names();
	g_autoptr(GPtrArray) out = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < machines->len; i++) {
		const char *glob = machines->pdata[i];
		guint before = out->len;

		if (strchr(glob, '/')) {
			g_ptr_array_add(out, g_strdup(glob));
			continue;
		}
		for (guint j = 0; j + 1 < known->len; j++)
			if (g_pattern_match_simple(glob, known->pdata[j]) &&
			    !g_ptr_array_find_with_equal_func(out, known->pdata[j], g_str_equal, NULL))
				g_ptr_array_add(out, g_strdup(known->pdata[j]));
		if (out->len == before && !any_matches(glob, known, machine_matches))
			return unknown("--machine", "machine", glob, known, err);
	}
	g_ptr_array_set_size(machines, 0);
	for (guint i = 0; i < out->len; i++)
		g_ptr_array_add(machines, g_strdup(out->pdata[i]));
	return true;
}
