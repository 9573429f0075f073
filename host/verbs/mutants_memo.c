// SPDX-License-Identifier: GPL-2.0-only
/*
 * One mutant as run.json has it, and what is kept of it for later runs (run/judged.c).
 */
#include <string.h>

#include "verbs/mutants.h"

static bool names_test(const struct mutant *m, const char *test)
{
	for (guint i = 0; i < m->script->notice->len; i++) {
		const char *machine;
		g_autofree char *glob = mmg_glob_split(m->script->notice->pdata[i], &machine);
		g_autofree char *t = mutant_test_of(glob);

		if (mmg_glob(t, test))
			return true;
	}
	return false;
}

json_t *mutant_json(const struct mutant *m)
{
	json_t *kills = json_object(), *notice = json_array(), *shown = json_array();
	g_autoptr(GList) saw = g_list_sort(g_hash_table_get_keys(m->shown), (GCompareFunc)strcmp);
	g_autoptr(GList) tests = g_list_sort(g_hash_table_get_keys(m->kills), (GCompareFunc)strcmp);
	bool expected = false;

	for (GList *t = tests; t; t = t->next) {
		json_object_set_new(kills, t->data, json_string(g_hash_table_lookup(m->kills, t->data)));
		expected |= names_test(m, t->data);
	}
	for (GList *t = saw; t; t = t->next)
		json_array_append_new(shown, json_string(t->data));
	for (guint i = 0; i < m->script->notice->len; i++)
		json_array_append_new(notice, json_string(m->script->notice->pdata[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:b, s:s, s:f, s:f, s:i, s:s}",
			 "name", m->script->name, "about", m->script->about, "room", m->script->room,
			 "fate", fate_name(m->fate), "reason", m->first ? m->first : "",
			 "survives", m->script->survives ? m->script->survives : "",
			 "noticed_as_expected", expected, "kills", kills, "notice", notice,
			 "shown", shown, "stopped", m->stopped, "judged", m->judged ? m->judged : "",
			 "build_s", m->build_s, "test_s", m->test_s, "cases", m->cases,
			 "image_sha256", m->sha256 ? m->sha256 : "");
}

/* The words of mutant_add_kill() are constants */
static const char *kill_word(const char *word)
{
	static const char *const words[] = { "F", "P", "S", "B" };

	for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
		if (!strcmp(words[i], word))
			return words[i];
	return NULL;
}

bool mutant_recall(struct mutant *m, const char *key)
{
	json_t *j = judged_load(key), *v;
	const char *test;
	size_t i;

	if (!j)
		return false;
	json_object_foreach(json_object_get(j, "kills"), test, v)
		if (json_is_string(v) && kill_word(json_string_value(v)))
			mutant_add_kill(m, test, kill_word(json_string_value(v)));
	json_array_foreach(json_object_get(j, "shown"), i, v)
		g_hash_table_add(m->shown, g_strdup(json_string_value(v)));
	m->first = *obj_str(j, "reason") ? g_strdup(obj_str(j, "reason")) : NULL;
	m->judged = g_strdup(obj_str(j, "judged"));
	m->stopped = json_is_true(json_object_get(j, "stopped"));
	m->cases = json_integer_value(json_object_get(j, "cases"));
	m->test_s = json_number_value(json_object_get(j, "test_s"));
	m->fate = g_hash_table_size(m->kills) ? FATE_KILLED :
		  m->script->survives ? FATE_EXPLAINED : FATE_SURVIVED;
	json_decref(j);
	return true;
}

void mutant_keep(const struct mutant *m, const char *key)
{
	bool boots = !g_hash_table_contains(m->kills, "boot");
	json_t *j;

	if ((m->fate != FATE_KILLED && m->fate != FATE_SURVIVED && m->fate != FATE_EXPLAINED) ||
	    mutant_only_broken(m) || (boots && !m->cases))
		return;
	j = mutant_json(m);
	judged_save(key, j);
	json_decref(j);
}
