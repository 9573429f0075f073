// SPDX-License-Identifier: GPL-2.0-only
/*
 * All mutants of a run: counted, as run.json has them, and the verdict.
 */
#include "verbs/mutants.h"

/*
 * test -> { kills: [...], only: [...] }: "only" are mutants that no other test
 * kills of those that were shown it; one that was killed and put away says nothing of that.
 */
static json_t *tests_json(const struct hunt *h)
{
	json_t *tests = json_object();

	for (guint i = 0; i < h->mutants->len; i++) {
		const struct mutant *m = h->mutants->pdata[i];
		GHashTableIter it;
		gpointer t;

		g_hash_table_iter_init(&it, m->kills);
		while (g_hash_table_iter_next(&it, &t, NULL)) {
			json_t *o = json_object_get(tests, t);

			if (!o) {
				o = json_pack("{s:[], s:[]}", "kills", "only");
				json_object_set_new(tests, t, o);
			}
			json_array_append_new(json_object_get(o, "kills"),
					      json_string(m->script->name));
			if (g_hash_table_size(m->kills) == 1 && !m->stopped)
				json_array_append_new(json_object_get(o, "only"),
						      json_string(m->script->name));
		}
	}
	return tests;
}

unsigned int mutants_count(const struct hunt *h, enum fate f)
{
	unsigned int n = 0;

	for (guint i = 0; i < h->mutants->len; i++)
		n += ((struct mutant *)h->mutants->pdata[i])->fate == f;
	return n;
}

static unsigned int count_broken_only(const struct hunt *h)
{
	unsigned int n = 0;

	for (guint i = 0; i < h->mutants->len; i++)
		n += mutant_only_broken(h->mutants->pdata[i]);
	return n;
}

static unsigned int count_judged(const struct hunt *h)
{
	unsigned int n = 0;

	for (guint i = 0; i < h->mutants->len; i++)
		n += ((struct mutant *)h->mutants->pdata[i])->judged != NULL;
	return n;
}

json_t *mutants_json(const struct hunt *h)
{
	json_t *list = json_array(), *fates = json_object();
	unsigned int killed = mutants_count(h, FATE_KILLED), explained = mutants_count(h, FATE_EXPLAINED);
	unsigned int judged = killed + explained + mutants_count(h, FATE_SURVIVED);

	for (guint i = 0; i < h->mutants->len; i++)
		json_array_append_new(list, mutant_json(h->mutants->pdata[i]));
	for (int f = 0; f <= FATE_UNSEEN; f++)
		json_object_set_new(fates, fate_name(f), json_integer(mutants_count(h, f)));
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:b, s:f, s:o, s:f, s:i, s:o, s:o}",
			 "source", h->src->name,
			 "version", h->src->version, "arch", cli_arch(h->cli), "total",
			 h->mutants->len, "judged_before", count_judged(h), "stop_at_first_kill", h->stop,
			 "duration_s", (g_get_monotonic_time() - h->began) / 1e6, "fates", fates, "score",
			 judged > explained ? (double)killed / (judged - explained) : 0.0,
			 "broken_only", count_broken_only(h), "list", list, "tests", tests_json(h));
}

bool mutant_must_fit(const struct hunt *h, const struct mutant *m)
{
	return h->cli->strict || mmg_glob_any(h->cli->require, m->script->name);
}

int mutants_verdict(const struct hunt *h, json_t *run)
{
	unsigned int killed = mutants_count(h, FATE_KILLED), survived = mutants_count(h, FATE_SURVIVED);
	unsigned int explained = mutants_count(h, FATE_EXPLAINED), broken_only = count_broken_only(h);
	unsigned int lost = mutants_count(h, FATE_BROKEN) + mutants_count(h, FATE_UNSEEN) +
			    (h->cli->generate ? 0 : mutants_count(h, FATE_IDENTICAL));
	unsigned int unfit = mutants_count(h, FATE_UNFIT), wanted = 0;
	unsigned int unbuilt = mutants_count(h, FATE_UNBUILT);
	unsigned int equal = h->cli->generate ? mutants_count(h, FATE_IDENTICAL) : 0;
	g_autoptr(GString) s = g_string_new(NULL);
	int status;

	for (guint i = 0; i < h->mutants->len; i++) {
		const struct mutant *m = h->mutants->pdata[i];

		wanted += m->fate == FATE_UNFIT && mutant_must_fit(h, m);
	}
	status = survived ? MMG_EXIT_FAIL : lost || wanted ? MMG_EXIT_BROKEN : MMG_EXIT_OK;
	g_string_printf(s, "%u of %u mutants killed", killed, h->mutants->len - unfit - unbuilt - equal);
	if (broken_only)
		g_string_append_printf(s, " (%u by a broken experiment only)", broken_only);
	if (explained)
		g_string_append_printf(s, ", %u survive as explained", explained);
	if (survived)
		g_string_append_printf(s, ", %u survived", survived);
	if (lost)
		g_string_append_printf(s, ", %u could not be judged", lost);
	if (unbuilt)
		g_string_append_printf(s, ", %u more do%s not build", unbuilt, unbuilt == 1 ? "es" : "");
	if (equal)
		g_string_append_printf(s, ", %u more make%s no new image", equal, equal == 1 ? "s" : "");
	if (unfit)
		g_string_append_printf(s, ", %u more do%s not fit %s", unfit, unfit == 1 ? "es" : "",
				       h->src->version);
	if (wanted)
		g_string_append_printf(s, " (%u of them must, by --%s)", wanted,
				       h->cli->strict ? "strict" : "require");
	json_object_set_new(run, "verdict", json_string(result_name(exit_result(status))));
	json_object_set_new(run, "exit", json_integer(status));
	json_object_set_new(run, "reason", json_string(s->str));
	return status;
}
