// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the runs of both kernels say about what a gate claims.
 */
#include "gate/gate.h"
#include "run/seen.h"

#include <string.h>

static enum claim claim_of(const struct gate *g, const char *name, const char *machine)
{
	for (guint i = 0; i < g->fixes->len; i++)
		if (claim_matches(g->fixes->pdata[i], name, machine))
			return CLAIM_FIXES;
	for (guint i = 0; i < g->keeps->len; i++)
		if (claim_matches(g->keeps->pdata[i], name, machine))
			return CLAIM_KEEPS;
	return CLAIM_NONE;
}

static json_t *tally_json(const struct tally *t)
{
	double lo, hi;

	clopper_pearson(t->fail, t->pass + t->fail, 0.05, &lo, &hi);
	return json_pack("{s:i, s:i, s:i, s:i, s:f, s:f}", "pass", t->pass, "fail", t->fail,
			 "skip", t->skip, "broken", t->broken, "fail_rate_low", lo,
			 "fail_rate_high", hi);
}

static double median(const GArray *a)
{
	g_autofree double *v = g_memdup2(a->data, a->len * sizeof(double));

	for (guint i = 1; i < a->len; i++)
		for (guint j = i; j && v[j] < v[j - 1]; j--) {
			double t = v[j];

			v[j] = v[j - 1];
			v[j - 1] = t;
		}
	return a->len % 2 ? v[a->len / 2] : (v[a->len / 2 - 1] + v[a->len / 2]) / 2;
}

/* True where even two samples without overlap would leave the rank test undecided */
static bool too_few(unsigned int na, unsigned int nb)
{
	double arrangements = 1;

	for (unsigned int i = 1; i <= na; i++)
		arrangements *= (double)(nb + i) / i;
	return 2 / arrangements >= 0.05;
}

/* A measured value of one case on both kernels; "worse" only where the rank test says so */
static json_t *metric_json(const struct gate_metric *m, const struct seen *a, const struct seen *b)
{
	GArray *va = g_hash_table_lookup(a->metrics, m->name);
	GArray *vb = g_hash_table_lookup(b->metrics, m->name);
	double p, effect, ma, mb;
	const char *word;

	if (!va || !vb)
		return NULL;
	p = rank_test((double *)(void *)va->data, va->len, (double *)(void *)vb->data, vb->len,
		      &effect);
	ma = median(va);
	mb = median(vb);
	if (p < 0.05)
		word = (effect > 0.5) == m->higher ? "better" : "worse";
	else if (ma == mb)
		word = "alike";
	else
		word = too_few(va->len, vb->len) ? "too few runs to judge" : "not told apart";
	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:f, s:f, s:s}", "case", a->name,
			 "machine", a->machine, "name", m->name, "better",
			 m->higher ? "higher" : "lower", "base_median", ma, "patched_median", mb,
			 "base_n", va->len, "patched_n", vb->len, "p", p, "effect", effect,
			 "change", word);
}

/* A case that the gate claims to be fixed and that no boot of either kernel knows; NULL where there is none */
static const char *claim_unseen(const struct gate *g, const struct judged *all, unsigned int n)
{
	for (guint i = 0; i < g->fixes->len; i++) {
		bool seen = false;

		for (unsigned int j = 0; j < n && !seen; j++) {
			const char *machine;
			g_autofree char *name = mmg_glob_split(all[j].name, &machine);

			seen = claim_matches(g->fixes->pdata[i], name, machine);
		}
		if (!seen)
			return g->fixes->pdata[i];
	}
	return NULL;
}

enum verdict gate_judge(const struct gate *g, json_t *run, json_t *out)
{
	g_autoptr(GHashTable) base = seen_collect(run, 0);
	g_autoptr(GHashTable) patched = seen_collect(run, 1);
	json_t *cases = json_array(), *metrics = json_array();
	g_autoptr(GPtrArray) keys = NULL;
	g_autofree struct judged *all = NULL;
	g_autofree char *why = NULL;
	const char *boot = NULL, *worse = NULL, *unseen;
	unsigned int n = 0, more;
	enum verdict v;

	seen_align(base, run, 0, patched, run, 1);
	keys = seen_keys(base, patched);
	all = g_new0(struct judged, keys->len + 1);
	for (guint i = 0; i < keys->len; i++) {
		const char *machine;
		g_autofree char *name = mmg_glob_split(keys->pdata[i], &machine);
		struct seen *a = seen_get(base, name, machine), *b = seen_get(patched, name, machine);
		struct judged *j = &all[n++];

		j->name = keys->pdata[i];
		j->claim = claim_of(g, a->name, a->machine);
		j->base = a->t;
		j->patched = b->t;
		j->change = change_of(&a->t, &b->t);
		json_array_append_new(cases,
			json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:s}", "name", a->name,
				  "machine", a->machine, "claim", claim_name(j->claim), "change",
				  change_name(j->change), "base", tally_json(&a->t), "patched",
				  tally_json(&b->t), "base_reason", a->reason ? a->reason : "",
				  "patched_reason", b->reason ? b->reason : ""));
		for (guint m = 0; m < g->metrics->len; m++) {
			struct gate_metric *gm = g->metrics->pdata[m];
			json_t *mj = claim_matches(gm->cases, a->name, a->machine) ?
				     metric_json(gm, a, b) : NULL;

			if (mj)
				json_array_append_new(metrics, mj);
			if (mj && !worse && !strcmp(obj_str(mj, "change"), "worse"))
				worse = g_strdup_printf("%s of %s on %s", gm->name, a->name, a->machine);
		}
	}
	v = verdict_of(all, n, &why, &more);
	unseen = claim_unseen(g, all, n);
	if (unseen && v != VERDICT_REGRESSED && v != VERDICT_BROKEN) {
		g_free(why);
		why = g_strdup_printf("%s is claimed to be fixed, and no such case ran", unseen);
		v = VERDICT_BROKEN;
	}
	if (worse && v == VERDICT_PASS) {
		g_free(why);
		why = g_strdup_printf("%s got worse (rank test, 95 %%)", worse);
		v = VERDICT_REGRESSED;
	}
	g_free((char *)worse);
	if (v == VERDICT_BROKEN) {
		boot = bad_boot(run, 1);
		if (!boot)
			boot = bad_boot(run, 0);
	}
	json_object_set_new(out, "cases", cases);
	json_object_set_new(out, "metrics", metrics);
	json_object_set_new(out, "more_runs", json_integer(more));
	json_object_set_new(out, "verdict", json_string(verdict_name(v)));
	if (boot && *boot) {
		char *both = g_strdup_printf("%s (%s)", boot, why);

		g_free(why);
		why = both;
	}
	json_object_set_new(out, "reason", json_string(why));
	return v;
}

void gate_set_verdict(json_t *run, json_t *out, enum verdict v)
{
	g_autofree char *line = g_strdup_printf("gate %s: %s: %s", obj_str(out, "name"), verdict_name(v),
						obj_str(out, "reason"));

	json_object_set_new(out, "exit", json_integer(verdict_exit(v)));
	json_object_set_new(run, "verdict", json_string(result_name(exit_result(verdict_exit(v)))));
	json_object_set_new(run, "exit", json_integer(verdict_exit(v)));
	json_object_set_new(run, "reason", json_string(line));
}
