// SPDX-License-Identifier: GPL-2.0-only
/*
 * The catalogue of tests (head.c reads each) and the machine files.
 */
#include "base/arch.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

static gint by_test_name(gconstpointer a, gconstpointer b)
{
	return strcmp((*(const struct test *const *)a)->name, (*(const struct test *const *)b)->name);
}

static bool load_family(GPtrArray *tests, const char *family, GError **err)
{
	char *dir = mmg_root_path("selftests", family, NULL);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *file;
	bool ok = true;

	while (d && ok && (file = g_dir_read_name(d))) {
		char *path, *text = NULL, *name;
		GError *e = NULL;

		if (!g_str_has_suffix(file, "_test.c"))
			continue;
		path = g_build_filename(dir, file, NULL);
		name = g_strdup_printf("%s/%.*s", family, (int)(strlen(file) - strlen("_test.c")), file);
		ok = g_file_get_contents(path, &text, NULL, &e);
		if (ok) {
			g_ptr_array_add(tests, catalog_parse(name, text));
		} else {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the test %s: %s", path,
				      e->message);
			g_error_free(e);
		}
		g_free(text);
		g_free(name);
		g_free(path);
	}
	if (d)
		g_dir_close(d);
	g_free(dir);
	return ok;
}

GPtrArray *catalog_load(GError **err)
{
	GPtrArray *tests = g_ptr_array_new_with_free_func(catalog_test_free);

	if (!load_family(tests, "kvm", err) || !load_family(tests, "mm", err) ||
	    !load_family(tests, "bench", err)) {
		g_ptr_array_unref(tests);
		return NULL;
	}
	g_ptr_array_sort(tests, by_test_name);
	return tests;
}

/* ---- machines ---- */

static char *conf_dir(void)
{
	return mmg_root_path("configs", "machines", NULL);
}

static char *get(GKeyFile *kf, const char *key, const char *otherwise)
{
	char *v = g_key_file_get_string(kf, "machine", key, NULL);

	return v ?: g_strdup(otherwise);
}

static GPtrArray *get_list(GKeyFile *kf, const char *key)
{
	char **v = g_key_file_get_string_list(kf, "machine", key, NULL, NULL);
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	int i;

	for (i = 0; v && v[i]; i++)
		if (*g_strstrip(v[i]))
			g_ptr_array_add(list, g_strdup(v[i]));
	g_strfreev(v);
	return list;
}

/* Every key is known: a misspelt one would change a topology in silence */
static bool check_keys(GKeyFile *kf, const char *path, GHashTable *module_options, GError **err)
{
	static const char *const known[] = {
		"about", "arch", "memory", "memory-args", "cpus", "board", "type", "cpu", "append", "qemu",
		"swap", "disk", "setup", "dimms", "tests", "programs", "boot", NULL
	};
	char **keys = g_key_file_get_keys(kf, "machine", NULL, NULL);
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);
	bool ok = true;
	int i;

	for (i = 0; ok && keys && keys[i]; i++) {
		if (g_str_has_prefix(keys[i], "module.")) {
			g_hash_table_insert(module_options, g_strdup(keys[i] + strlen("module.")),
					    g_key_file_get_string(kf, "machine", keys[i], NULL));
		} else if (!g_strv_contains(known, keys[i])) {
			mmg_set_error(err, MMG_EXIT_USAGE, "machine file %s: no such key '%s'", path,
				      keys[i]);
			ok = false;
		}
	}
	if (ok && !keys) {
		mmg_set_error(err, MMG_EXIT_USAGE, "machine file %s: no [machine] group", path);
		ok = false;
	}
	for (i = 0; ok && groups[i]; i++) {
		if (strcmp(groups[i], "machine")) {
			mmg_set_error(err, MMG_EXIT_USAGE, "machine file %s: no such group [%s]; it has [machine] alone",
				      path, groups[i]);
			ok = false;
		}
	}
	g_strfreev(keys);
	return ok;
}

/* "256M" or "4G": QEMU takes more forms, but the plan of memory on the host reads these */
static bool is_size(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits < 8 && *text != '0' && strlen(text) == digits + 1 &&
	       strchr("GgMm", text[digits]);
}

static bool bad_value(const char *path, const char *key, const char *value, const char *takes,
		      GError **err)
{
	mmg_set_error(err, MMG_EXIT_USAGE, "machine file %s: %s=%s; it takes %s", path, key, value, takes);
	return false;
}

/* What QEMU or the guest would stumble over later, or take for something else in silence */
static bool check_values(const struct machine *m, GKeyFile *kf, const char *path, GError **err)
{
	static const char size[] = "a size such as 256M or 1G";
	const char *colon = strchr(m->swap, ':');
	GError *e = NULL;
	guint i;

	g_key_file_get_integer(kf, "machine", "cpus", &e);
	if (g_key_file_has_key(kf, "machine", "cpus", NULL) && (e || m->cpus < 1 || m->cpus > 64)) {
		char *cpus = g_key_file_get_value(kf, "machine", "cpus", NULL);

		g_clear_error(&e);
		bad_value(path, "cpus", cpus, "a number from 1 to 64", err);
		g_free(cpus);
		return false;
	}
	g_clear_error(&e);
	for (i = 0; i < m->archs->len; i++)
		if (!arch_find(m->archs->pdata[i]) ||
		    strcmp(arch_find(m->archs->pdata[i])->name, m->archs->pdata[i]))
			return bad_value(path, "arch", m->archs->pdata[i], "names that --arch takes", err);
	if (strcmp(m->boot, "image") && strcmp(m->boot, "vmlinux"))
		return bad_value(path, "boot", m->boot, "vmlinux or image", err);
	if (!is_size(m->memory))
		return bad_value(path, "memory", m->memory, size, err);
	if (m->disk && !is_size(m->disk))
		return bad_value(path, "disk", m->disk, size, err);
	for (i = 0; i < m->dimms->len; i++)
		if (!is_size(m->dimms->pdata[i]))
			return bad_value(path, "dimms", m->dimms->pdata[i], "sizes such as 256M;256M", err);
	if (strcmp(m->swap, "none") &&
	    !((g_str_has_prefix(m->swap, "zram:") || g_str_has_prefix(m->swap, "disk:")) &&
	      is_size(colon + 1)))
		return bad_value(path, "swap", m->swap, "none, zram:SIZE or disk:SIZE", err);
	for (i = 0; i < m->setup->len; i++)
		if (*(char *)m->setup->pdata[i] != '/' || !strchr(m->setup->pdata[i], '='))
			return bad_value(path, "setup", m->setup->pdata[i], "/PATH=VALUE;/PATH=VALUE", err);
	return true;
}

/* The name of a machine file elsewhere goes into names of folders and results */
static char *name_of_spec(const char *spec)
{
	char *base = g_path_get_basename(spec);

	if (g_str_has_suffix(base, ".conf"))
		base[strlen(base) - strlen(".conf")] = '\0';
	return g_strcanon(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", '_');
}

struct machine *machine_load(const char *name, GError **err)
{
	char *dir = conf_dir(), *file = g_strconcat(name, ".conf", NULL);
	char *path = strchr(name, '/') ? g_strdup(name) : g_build_filename(dir, file, NULL);
	g_autoptr(GKeyFile) kf = NULL;
	struct machine *m = NULL;

	if (strchr(name, '/') && !g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "no machine file %s", name);
		goto out;
	}
	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "no machine '%s' in configs/machines; ./run.sh list machines shows them",
			      name);
		goto out;
	}
	kf = conf_load(path, err);
	if (!kf)
		goto out;
	m = g_new0(struct machine, 1);
	m->module_options = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	m->spec = g_strdup(name);
	m->name = name_of_spec(name);
	m->about = get(kf, "about", "");
	m->memory = get(kf, "memory", "1G");
	m->memory_args = get(kf, "memory-args", NULL);
	m->board = get(kf, "board", NULL);
	m->type = get(kf, "type", NULL);
	m->cpu = get(kf, "cpu", NULL);
	m->append = get(kf, "append", NULL);
	m->boot = get(kf, "boot", "vmlinux");
	m->swap = get(kf, "swap", "zram:512M");
	m->disk = get(kf, "disk", NULL);
	m->cpus = g_key_file_get_integer(kf, "machine", "cpus", NULL);
	if (!g_key_file_has_key(kf, "machine", "cpus", NULL))
		m->cpus = 1;
	m->archs = get_list(kf, "arch");
	m->qemu = get_list(kf, "qemu");
	m->setup = get_list(kf, "setup");
	m->dimms = get_list(kf, "dimms");
	m->tests = get_list(kf, "tests");
	m->programs = get_list(kf, "programs");
	if (!check_keys(kf, path, m->module_options, err) || !check_values(m, kf, path, err)) {
		machine_free(m);
		m = NULL;
	}
out:
	g_free(path);
	g_free(file);
	g_free(dir);
	return m;
}

static gint by_machine_name(gconstpointer a, gconstpointer b)
{
	return strcmp((*(const struct machine *const *)a)->name,
		      (*(const struct machine *const *)b)->name);
}

GPtrArray *machines_load(GError **err)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(machine_free);
	char *dir = conf_dir();
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *file;

	while (d && (file = g_dir_read_name(d))) {
		struct machine *m;
		char *name;

		if (!g_str_has_suffix(file, ".conf"))
			continue;
		name = g_strndup(file, strlen(file) - strlen(".conf"));
		m = machine_load(name, err);
		g_free(name);
		if (!m) {
			g_ptr_array_unref(list);
			list = NULL;
			break;
		}
		g_ptr_array_add(list, m);
	}
	if (d)
		g_dir_close(d);
	g_free(dir);
	if (list)
		g_ptr_array_sort(list, by_machine_name);
	return list;
}

bool machine_has_arch(const struct machine *m, const char *arch)
{
	guint i;

	for (i = 0; i < m->archs->len; i++)
		if (!strcmp(m->archs->pdata[i], arch))
			return true;
	return !m->archs->len;
}

void machine_free(gpointer machine)
{
	struct machine *m = machine;

	g_free(m->spec);
	g_free(m->name);
	g_free(m->about);
	g_free(m->memory);
	g_free(m->memory_args);
	g_free(m->board);
	g_free(m->type);
	g_free(m->boot);
	g_free(m->cpu);
	g_free(m->append);
	g_free(m->swap);
	g_free(m->disk);
	g_ptr_array_unref(m->archs);
	g_ptr_array_unref(m->qemu);
	g_ptr_array_unref(m->setup);
	g_ptr_array_unref(m->dimms);
	g_ptr_array_unref(m->tests);
	g_ptr_array_unref(m->programs);
	g_hash_table_unref(m->module_options);
	g_free(m);
}
