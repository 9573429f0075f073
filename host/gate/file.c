// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gate files: what must change and what must not, and how to undo a fix.
 */
#include "base/arch.h"
#include "gate/gate.h"
#include "run/run.h"

#include <string.h>

static void metric_free(gpointer p)
{
	struct gate_metric *m = p;

	g_free(m->cases);
	g_free(m->name);
	g_free(m);
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	g_free(g->name);
	g_free(g->about);
	g_free(g->kernels);
	g_free(g->arch);
	g_ptr_array_unref(g->fixes);
	g_ptr_array_unref(g->keeps);
	g_ptr_array_unref(g->tests);
	g_ptr_array_unref(g->machines);
	g_ptr_array_unref(g->metrics);
	g_ptr_array_unref(g->undo);
	g_ptr_array_unref(g->steps);
	g_free(g);
}

static void read_list(GKeyFile *kf, const char *group, const char *key, GPtrArray *to)
{
	g_auto(GStrv) list = g_key_file_get_string_list(kf, group, key, NULL, NULL);

	for (char **l = list; l && *l; l++)
		if (*g_strstrip(*l))
			g_ptr_array_add(to, g_strdup(*l));
}

static bool read_metric(GKeyFile *kf, const char *path, const char *group, struct gate *g,
			GError **err)
{
	static const char *const known[] = { "cases", "better", NULL };
	g_autofree char *better = g_key_file_get_string(kf, group, "better", NULL);
	struct gate_metric *m;

	if (!conf_keys_known(kf, path, group, known, err))
		return false;
	m = g_new0(struct gate_metric, 1);
	g_ptr_array_add(g->metrics, m);
	m->name = g_strdup(group + strlen("metric "));
	m->cases = g_key_file_get_string(kf, group, "cases", NULL);
	m->higher = !g_strcmp0(better, "higher");
	if (m->cases && (m->higher || !g_strcmp0(better, "lower")))
		return true;
	mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] needs cases= and better=higher or lower", path,
		      group);
	return false;
}

static bool metrics_known(const struct gate *g, const char *path, GError **err)
{
	g_autoptr(GPtrArray) cases = g_ptr_array_new();

	for (guint i = 0; i < g->metrics->len; i++)
		g_ptr_array_add(cases, ((struct gate_metric *)g->metrics->pdata[i])->cases);
	return names_known(path, cases, NULL, err);
}

static bool gate_read(GKeyFile *kf, const char *path, struct gate *g, GError **err)
{
	static const char *const known[] = {
		"about", "kernels", "arch", "fixes", "keeps", "tests", "machines", "repeat", NULL
	};
	g_auto(GStrv) groups = g_key_file_get_groups(kf, NULL);

	if (!conf_keys_known(kf, path, "gate", known, err))
		return false;
	for (char **n = groups; *n; n++) {
		if (g_str_has_prefix(*n, "metric ")) {
			if (!read_metric(kf, path, *n, g, err))
				return false;
		} else if (strcmp(*n, "gate") && strcmp(*n, "edit") &&
			   !g_str_has_prefix(*n, "edit ")) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s has an unknown group [%s]; known: gate, "
				      "metric NAME, edit NAME", path, *n);
			return false;
		}
	}
	g->about = g_key_file_get_string(kf, "gate", "about", NULL);
	g->kernels = g_key_file_get_string(kf, "gate", "kernels", NULL);
	g->arch = g_key_file_get_string(kf, "gate", "arch", NULL);
	g->repeat = g_key_file_get_integer(kf, "gate", "repeat", NULL);
	read_list(kf, "gate", "fixes", g->fixes);
	read_list(kf, "gate", "keeps", g->keeps);
	read_list(kf, "gate", "tests", g->tests);
	read_list(kf, "gate", "machines", g->machines);
	if (!g->about || !g->fixes->len || !g->tests->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s needs about=, fixes= and tests= in [gate]", path);
		return false;
	}
	if (g->kernels && !version_range_valid(g->kernels)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: kernels=%s is no range; write FROM..TO", path,
			      g->kernels);
		return false;
	}
	if (g_key_file_has_key(kf, "gate", "repeat", NULL) && (g->repeat < 1 || g->repeat > MAX_REPEAT)) {
		g_autofree char *value = g_key_file_get_value(kf, "gate", "repeat", NULL);

		mmg_set_error(err, MMG_EXIT_USAGE, "%s: repeat=%s; it takes a number from 1 to %d", path, value,
			      MAX_REPEAT);
		return false;
	}
	if (g->arch && !arch_find(g->arch)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: arch=%s is not known", path, g->arch);
		return false;
	}
	return names_known(path, g->tests, g->machines, err) && names_known(path, g->fixes, NULL, err) &&
	       names_known(path, g->keeps, NULL, err) && metrics_known(g, path, err) &&
	       edit_read_groups(kf, path, g->undo, err);
}

/* The gate that was probably meant, as mmg_did_you_mean() says it */
static char *gate_meant(const char *name)
{
	g_autoptr(GPtrArray) names = conf_names("gates");

	return mmg_did_you_mean(name, (const char *const *)names->pdata);
}

static struct gate *gate_new(const char *name)
{
	struct gate *g = g_new0(struct gate, 1);

	g->name = g_path_get_basename(name);
	g->fixes = g_ptr_array_new_with_free_func(g_free);
	g->keeps = g_ptr_array_new_with_free_func(g_free);
	g->tests = g_ptr_array_new_with_free_func(g_free);
	g->machines = g_ptr_array_new_with_free_func(g_free);
	g->metrics = g_ptr_array_new_with_free_func(metric_free);
	g->undo = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	g->steps = g_ptr_array_new_with_free_func(step_free);
	return g;
}

struct gate *gate_automatic(void)
{
	struct gate *g = gate_new("series");

	g->about = g_strdup("what the series touches works as before, or better");
	g->automatic = true;
	g->repeat = 3;
	return g;
}

struct gate *gate_load(const char *name, GError **err)
{
	g_autoptr(GKeyFile) kf = NULL;
	g_autofree char *file = g_strconcat(name, ".conf", NULL);
	g_autofree char *path = strchr(name, '/') || g_str_has_suffix(name, ".conf") ? g_strdup(name) :
				mmg_root_path("configs", "gates", file, NULL);
	struct gate *g;

	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_autofree char *meant = gate_meant(name);

		mmg_set_error(err, MMG_EXIT_USAGE, "no gate '%s'%s; ./run.sh list gates shows what there is",
			      name, meant);
		return NULL;
	}
	kf = conf_load(path, err);
	if (!kf)
		return NULL;
	g = gate_new(name);
	if (g_str_has_suffix(g->name, ".conf"))
		g->name[strlen(g->name) - 5] = '\0';
	if (gate_read(kf, path, g, err))
		return g;
	gate_free(g);
	return NULL;
}
