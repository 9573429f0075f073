// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb list: tests, machines, gates and mutants, read from where they stand.
 */
#include "verbs/verbs.h"
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *strings(const GPtrArray *list)
{
	json_t *a = json_array();
	guint i;

	for (i = 0; i < list->len; i++)
		json_array_append_new(a, json_string(list->pdata[i]));
	return a;
}

static json_t *list_tests(GError **err)
{
	GPtrArray *tests = catalog_load(err);
	json_t *a = tests ? json_array() : NULL;
	guint i;

	for (i = 0; tests && i < tests->len; i++) {
		const struct test *t = tests->pdata[i];

		json_array_append_new(a, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", t->name, "about",
						   t->about ?: "", "guards", strings(t->guards), "machines",
						   strings(t->machines), "needs", strings(t->needs),
						   "wants", strings(t->wants)));
	}
	if (tests)
		g_ptr_array_unref(tests);
	return a;
}

static json_t *list_machines(GError **err)
{
	GPtrArray *machines = machines_load(err);
	json_t *a = machines ? json_array() : NULL;
	guint i;

	for (i = 0; machines && i < machines->len; i++) {
		const struct machine *m = machines->pdata[i];

		json_array_append_new(a, json_pack("{s:s, s:s}", "name", m->name, "about", m->about));
	}
	if (machines)
		g_ptr_array_unref(machines);
	return a;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files of configs/@kind: the group of the same name in the singular has "about" */
static json_t *list_confs(const char *kind, GError **err)
{
	char *dir = mmg_root_path("configs", kind, NULL), *group = g_strndup(kind, strlen(kind) - 1);
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	GDir *d = g_dir_open(dir, 0, NULL);
	json_t *a = json_array();
	const char *file;
	guint i;

	while (d && (file = g_dir_read_name(d)))
		if (g_str_has_suffix(file, ".conf"))
			g_ptr_array_add(names, g_strdup(file));
	g_ptr_array_sort(names, by_name);
	for (i = 0; i < names->len && a; i++) {
		char *path = g_build_filename(dir, names->pdata[i], NULL), *about;
		g_autoptr(GKeyFile) kf = conf_load(path, err);

		if (kf) {
			about = g_key_file_get_string(kf, group, "about", NULL);
			if (!about)
				about = g_key_file_get_string(kf, group, "why", NULL);
			*strstr(names->pdata[i], ".conf") = '\0';
			json_array_append_new(a, json_pack("{s:s, s:s}", "name", names->pdata[i], "about",
							   about ?: ""));
			g_free(about);
		} else {
			json_decref(a);
			a = NULL;
		}
		g_free(path);
	}
	if (d)
		g_dir_close(d);
	g_ptr_array_unref(names);
	g_free(group);
	g_free(dir);
	return a;
}

/* What holds since which kernel: selftests/lib/rules.def, the table that the tests use */
static json_t *list_rules(void)
{
	json_t *a = json_array();

	for (int i = 0; i < NR_RULES; i++) {
		const struct mmg_rule_row *r = &mmg_rules[i];
		char *about = g_strdup_printf("since %s: %s; before: %s", r->since, r->holds, r->before);

		json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", r->name, "about",
						   about, "since", r->since, "holds", r->holds, "before",
						   r->before, "source", r->source, "probe", r->probe));
		g_free(about);
	}
	return a;
}

static void print_words(const char *head, const json_t *list, const char *sep)
{
	const json_t *w;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("        %s ", head);
	json_array_foreach(list, i, w)
		printf("%s%s", i ? sep : "", json_string_value(w));
	putchar('\n');
}

static void print_list(const char *kind, const json_t *list)
{
	const json_t *o;
	size_t i;

	printf("%s:\n", kind);
	json_array_foreach(list, i, o) {
		printf("    %-28s %s\n", json_string_value(json_object_get(o, "name")),
		       json_string_value(json_object_get(o, "about")));
		if (json_object_get(o, "source"))
			printf("        read from: %s\n        found out by: %s\n",
			       json_string_value(json_object_get(o, "source")),
			       json_string_value(json_object_get(o, "probe")));
		print_words("guards:", json_object_get(o, "guards"), "; ");
		print_words("machines:", json_object_get(o, "machines"), " ");
	}
}

int verb_list(struct cli *cli, GError **err)
{
	static const char *const kinds[] = { "tests", "machines", "gates", "mutants", "kernels", "rules" };
	const char *only = cli->args->len ? cli->args->pdata[0] : NULL;
	json_t *all = json_object(), *one;
	bool hit = false;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (only && strcmp(only, kinds[i]))
			continue;
		hit = true;
		one = i == 0 ? list_tests(err) : i == 1 ? list_machines(err) :
		      i == 5 ? list_rules() : list_confs(kinds[i], err);
		if (!one)
			return (*err)->code;
		if (!cli->json)
			print_list(kinds[i], one);
		json_object_set_new(all, kinds[i], one);
	}
	if (!hit) {
		static const char *const words[] = { "tests", "machines", "gates", "mutants", "kernels", "rules", NULL };
		g_autofree char *meant = mmg_did_you_mean(only, words);

		mmg_set_error(err, MMG_EXIT_USAGE, "list '%s'%s: it is tests, machines, gates, mutants, kernels or rules", only,
			      meant);
		return MMG_EXIT_USAGE;
	}
	if (cli->json) {
		char *text = json_dumps(all, JSON_INDENT(1));

		puts(text);
		free(text);
	}
	json_decref(all);
	return MMG_EXIT_OK;
}
