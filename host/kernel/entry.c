// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernels in use, as data: configs/kernels/NAME.conf.
 */
#include "kernel/entry.h"

#include <ctype.h>
#include <string.h>

void kernel_entry_free(gpointer entry)
{
	struct kernel_entry *e = entry;

	g_free(e->name);
	g_free(e->spec);
	g_free(e->why);
	g_free(e->since);
	g_free(e->until);
	g_strfreev(e->archs);
	g_free(e);
}

struct kernel_entry *kernel_entry_of_spec(const char *spec)
{
	struct kernel_entry *e = g_new0(struct kernel_entry, 1);
	char *base = strchr(spec, '/') ? g_path_get_basename(spec) : g_strdup(spec);

	e->name = g_strcanon(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-", '-');
	e->spec = g_strdup(spec);
	e->why = g_strdup("named on the command line");
	return e;
}

static bool is_month(const char *text)
{
	return strlen(text) == 7 && text[4] == '-' && strspn(text, "0123456789-") == 7;
}

static const char *fault_of(GKeyFile *kf, const struct kernel_entry *e)
{
	static const char *const known[] = { "spec", "why", "since", "until", "arch", NULL };
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);
	g_auto(GStrv) keys = g_key_file_get_keys(kf, "kernel", NULL, NULL);

	for (char **g = groups; *g; g++)
		if (strcmp(*g, "kernel"))
			return "it has a group beside [kernel]";
	for (char **k = keys; k && *k; k++)
		if (!g_strv_contains(known, *k))
			return "it has a key that is not known; known: spec, why, since, until, arch";
	if (!e->spec || !*e->spec || !e->why || !*e->why)
		return "it needs spec= and why= in [kernel]";
	if (!e->since || !is_month(e->since) || (e->until && !is_month(e->until)))
		return "it needs since=YYYY-MM, and until= in the same form where it ends";
	return NULL;
}

static struct kernel_entry *entry_load(const char *path, const char *name, GError **err)
{
	g_autoptr(GKeyFile) kf = g_key_file_new();
	struct kernel_entry *e = g_new0(struct kernel_entry, 1);
	g_autoptr(GError) why = NULL;
	const char *fault;

	e->name = g_strdup(name);
	g_key_file_set_list_separator(kf, ';');
	if (!g_key_file_load_from_file(kf, path, 0, &why)) {
		fault = why->message;
	} else {
		e->spec = g_key_file_get_string(kf, "kernel", "spec", NULL);
		e->why = g_key_file_get_string(kf, "kernel", "why", NULL);
		e->since = g_key_file_get_string(kf, "kernel", "since", NULL);
		e->until = g_key_file_get_string(kf, "kernel", "until", NULL);
		e->archs = g_key_file_get_string_list(kf, "kernel", "arch", NULL, NULL);
		fault = fault_of(kf, e);
	}
	if (!fault)
		return e;
	mmg_set_error(err, MMG_EXIT_USAGE, "%s: %s", path, fault);
	kernel_entry_free(e);
	return NULL;
}

/* The version in "debian:6.12.43@suite"; "9999" for a word that means the newest of something */
static const char *version_of(const struct kernel_entry *e)
{
	const char *p = e->spec + strcspn(e->spec, ":");

	p += *p == ':';
	return isdigit((unsigned char)*p) ? p : "9999";
}

static int by_version(gconstpointer a, gconstpointer b)
{
	const struct kernel_entry *x = *(const struct kernel_entry *const *)a;
	const struct kernel_entry *y = *(const struct kernel_entry *const *)b;
	int d = version_cmp(version_of(x), version_of(y));

	return d ? d : strcmp(x->name, y->name);
}

static bool all_named(const GPtrArray *words, const GPtrArray *names, GError **err)
{
	for (guint i = 0; i < words->len; i++) {
		bool any = false;

		for (guint j = 0; j < names->len && !any; j++)
			any = mmg_glob(words->pdata[i], names->pdata[j]);
		if (any)
			continue;
		mmg_set_error(err, MMG_EXIT_USAGE, "no kernel of configs/kernels fits '%s'; "
			      "./run.sh list kernels shows the names", (char *)words->pdata[i]);
		return false;
	}
	return true;
}

GPtrArray *kernel_entries(const GPtrArray *words, const char *arch, GError **err)
{
	g_autofree char *dir = mmg_root_path("configs", "kernels", NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GPtrArray *list = g_ptr_array_new_with_free_func(kernel_entry_free);
	g_autoptr(GError) why = NULL;
	GDir *d = g_dir_open(dir, 0, &why);
	const char *file;
	bool ok = d;

	if (!d)
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the kernels: %s", why->message);
	while (ok && (file = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, file, NULL);
		g_autofree char *name = g_str_has_suffix(file, ".conf") ?
					g_strndup(file, strlen(file) - 5) : NULL;
		struct kernel_entry *e;

		if (!name)
			continue;
		e = entry_load(path, name, err);
		ok = e;
		if (!e)
			break;
		g_ptr_array_add(names, g_strdup(name));
		if ((words->len && !mmg_glob_any(words, name)) ||
		    (e->archs && *e->archs && !g_strv_contains((const char *const *)e->archs, arch)))
			kernel_entry_free(e);
		else
			g_ptr_array_add(list, e);
	}
	if (d)
		g_dir_close(d);
	if (ok && all_named(words, names, err)) {
		g_ptr_array_sort(list, by_version);
		return list;
	}
	g_ptr_array_unref(list);
	return NULL;
}
