// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb gate: does a series do what it says?  Base and patched kernels run
 * the same cases, in turn; what must change and what must not is a file in
 * configs/gates, and so is, for trees that hold the fix already, how to undo it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "source/based.h"
#include "run/seen.h"
#include "verbs/choose.h"
#include "verbs/verbs.h"

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static int num(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* ---- gate files ---- */

struct gate_metric {
	char *cases, *name;
	bool higher;			/* which way is better */
};

/**
 * struct gate - a file of configs/gates
 * @fixes:	globs of cases that fail on base and pass on patched
 * @keeps:	globs of cases that must not get worse
 * @tests:	globs of what is run
 * @undo:	edits that take the fix out of a tree that has it
 * @repeat:	least number of runs
 * @automatic:	no file: tests and machines are chosen by what the series touches
 */
struct gate {
	char *name, *about, *kernels, *arch;
	GPtrArray *fixes, *keeps, *tests, *machines, *metrics, *undo;
	int repeat;
	bool automatic;
};

static void metric_free(gpointer p)
{
	struct gate_metric *m = p;

	g_free(m->cases);
	g_free(m->name);
	g_free(m);
}

static void gate_free(struct gate *g)
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
	g_autofree char *dir = mmg_root_path("configs", "gates", NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *file;

	while (d && (file = g_dir_read_name(d)))
		if (g_str_has_suffix(file, ".conf"))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".conf")));
	if (d)
		g_dir_close(d);
	g_ptr_array_add(names, NULL);
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
	return g;
}

/* A gate without a file: nothing may get worse; its tests are chosen once the series is applied */
static struct gate *gate_automatic(void)
{
	struct gate *g = gate_new("series");

	g->about = g_strdup("what the series touches works as before, or better");
	g->automatic = true;
	g->repeat = 3;
	return g;
}

/* "NAME" of configs/gates, or a file */
static struct gate *gate_load(const char *name, GError **err)
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

/* ---- the two kernels ---- */

/**
 * struct side - base or patched
 * @how:	one line: what was done to get it
 */
struct side {
	GHashTable *overlay;
	char *how;
};

static void side_clear(struct side *s)
{
	if (s->overlay)
		g_hash_table_unref(s->overlay);
	g_free(s->how);
}

static bool sides_from_refs(const struct cli *cli, const struct source *src, struct side *base,
			    struct side *patched, GError **err)
{
	g_autofree char *found = NULL;
	const char *ref = cli->base;

	if (cli->series && !ref) {
		if (!series_base(cli->series, src, &found, &base->how, err))
			return false;
		ref = found;
		if (!cli->quiet)
			fprintf(stderr, "mmgate: base: %s\n", base->how);
	}
	if (ref && !git_overlay(src, ref, base->overlay, err))
		return false;
	if (!base->how)
		base->how = ref ? g_strdup_printf("revision %s", ref) : g_strdup("the work tree as it is");
	if (cli->series) {
		g_autoptr(GPtrArray) titles = NULL;

		g_hash_table_unref(patched->overlay);
		patched->overlay = overlay_copy(base->overlay);
		if (!series_apply(cli->series, src, patched->overlay, &titles, err))
			return false;
		patched->how = g_strdup_printf("base with %u patch%s: %s", titles->len,
					       titles->len == 1 ? "" : "es",
					       (char *)titles->pdata[titles->len - 1]);
		return true;
	}
	if (cli->patched && !git_overlay(src, cli->patched, patched->overlay, err))
		return false;
	patched->how = cli->patched ? g_strdup_printf("revision %s", cli->patched) :
				      g_strdup("the work tree as it is");
	return true;
}

static bool sides_by_undo(const struct gate *g, const struct source *src, struct side *base,
			  struct side *patched, GError **err)
{
	if (!g->undo->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate %s knows no way to undo a fix: give --series, "
			      "--base and --patched, or two --kernel", g->name);
		return false;
	}
	if (g->kernels && !version_in_range(g->kernels, src->version)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate %s undoes its fix in kernels %s, and %s is %s: "
			      "give --series, or two --kernel", g->name, g->kernels, src->name,
			      src->version);
		return false;
	}
	if (!edits_apply(g->undo, src, base->overlay, err)) {
		g_prefix_error(err, "the fix cannot be undone in %s (if it lacks the fix, give "
			       "--series): ", src->name);
		return false;
	}
	base->how = g_strdup("the fix undone by the gate's edits");
	patched->how = g_strdup("the source as it is");
	return true;
}

static void kernel_unref(gpointer k)
{
	kernel_free(k);
}

static struct kernel *build_side(const struct cli *cli, const struct source *src, struct side *s,
				 const char *role, GError **err)
{
	g_autofree char *label = g_strdup_printf("%s-%s", src->version, role);
	struct build_spec spec = { .src = src, .overlay = s->overlay, .arch = cli_arch(cli),
				   .fragments = cli->config, .label = label };
	struct build_result *b = kernel_build(&spec, err);
	const struct kernel_options how = cli_kernel(cli);
	struct kernel *k;

	if (!b) {
		g_prefix_error(err, "the %s kernel: ", role);
		return NULL;
	}
	if (!b->cached)
		status_note("built %s in %.0f s", label, b->seconds);
	k = kernel_from_build(&how, src, b, label, role, err);
	build_result_free(b);
	return k;
}

/* The tests and machines of an automatic gate; what the user names goes before */
static bool choose_tests(const struct cli *cli, struct gate *g, const struct source *src, const struct side *base,
			 const struct side *patched, GError **err)
{
	struct choice *c = choose_for_change(src, base->overlay, patched->overlay,
					     cli->repeat ?: MAX(g->repeat, 1), cli->budget, cli->quiet, err);

	if (!c)
		return false;
	for (guint i = 0; i < c->tests->len; i++) {
		const struct chosen_test *t = c->tests->pdata[i];

		if (!t->kept)
			continue;
		g_ptr_array_add(g->tests, g_strdup(t->glob));
		g_ptr_array_add(g->keeps, g_strdup(t->glob));
	}
	for (guint i = 0; i < c->machines->len; i++)
		g_ptr_array_add(g->machines, g_strdup(c->machines->pdata[i]));
	choice_free(c);
	return true;
}

/* Build base and patched from the source that @cli names; none for a dry run */
static GPtrArray *kernels_from_source(const struct cli *cli, struct gate *g, const char *word,
				      struct side *base, struct side *patched, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new_with_free_func(kernel_unref);
	struct source *src = source_named(cli->tree, word, cli_kernel(cli).offline, err);
	bool ok;

	if (!src && cli->dry_run && source_not_here(cli->tree, word, err))
		return g_steal_pointer(&kernels);
	if (!src)
		return NULL;
	base->overlay = overlay_new();
	patched->overlay = overlay_new();
	ok = cli->base || cli->patched || cli->series ?
	     sides_from_refs(cli, src, base, patched, err) :
	     sides_by_undo(g, src, base, patched, err);
	ok = ok && (!g->automatic || choose_tests(cli, g, src, base, patched, err));
	/* the patched one first: it is most likely there already */
	for (int i = 1; ok && i >= 0 && !cli->dry_run; i--) {
		struct kernel *k = build_side(cli, src, i ? patched : base, i ? "patched" : "base", err);

		ok = k;
		if (k)
			g_ptr_array_insert(kernels, 0, k);
	}
	source_free(src);
	return ok ? g_steal_pointer(&kernels) : NULL;
}

GPtrArray *gate_kernels(const struct cli *cli, const char *name, GError **err)
{
	struct side base = { 0 }, patched = { 0 };
	struct gate *g = gate_load(name, err);
	GPtrArray *kernels = g ? kernels_from_source(cli, g, NULL, &base, &patched, err) : NULL;

	side_clear(&base);
	side_clear(&patched);
	gate_free(g);
	return kernels;
}

static GPtrArray *kernels_prebuilt(const struct cli *cli, struct side *base, struct side *patched,
				   GError **err)
{
	GPtrArray *kernels;

	if (cli->kernels->len != 2) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate compares two kernels: give --kernel twice, base "
			      "first, or none; got %u", cli->kernels->len);
		return NULL;
	}
	if (cli->tree || cli->base || cli->patched || cli->series) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--kernel names kernels that are built already, so "
			      "--tree, --base, --patched and --series mean nothing beside it");
		return NULL;
	}
	kernels = cli_kernels(cli, err);
	if (!kernels)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct kernel *k = kernels->pdata[i];

		g_free(k->role);
		k->role = g_strdup(i ? "patched" : "base");
	}
	base->how = g_strdup(cli->kernels->pdata[0]);
	patched->how = g_strdup(cli->kernels->pdata[1]);
	return kernels;
}

/* ---- judging ---- */

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

static const char *claim_name(enum claim c)
{
	return c == CLAIM_FIXES ? "fixes" : c == CLAIM_KEEPS ? "keeps" : "";
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
			g_auto(GStrv) at = g_strsplit(all[j].name, "@", 2);

			seen = claim_matches(g->fixes->pdata[i], at[0], at[1]);
		}
		if (!seen)
			return g->fixes->pdata[i];
	}
	return NULL;
}

/* Everything the run says, into run["gate"]; the verdict with it */
static enum verdict judge(const struct gate *g, json_t *run, json_t *out)
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
		g_auto(GStrv) at = g_strsplit(keys->pdata[i], "@", 2);
		struct seen *a = seen_get(base, at[0], at[1]), *b = seen_get(patched, at[0], at[1]);
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
			if (mj && !worse && !strcmp(str(mj, "change"), "worse"))
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

static void set_verdict(json_t *run, json_t *out, enum verdict v)
{
	g_autofree char *line = g_strdup_printf("gate %s: %s: %s", str(out, "name"), verdict_name(v),
						str(out, "reason"));

	json_object_set_new(out, "exit", json_integer(verdict_exit(v)));
	json_object_set_new(run, "verdict", json_string(v == VERDICT_PASS ? "pass" :
							verdict_exit(v) == MMG_EXIT_FAIL ? "fail" :
							"broken"));
	json_object_set_new(run, "exit", json_integer(verdict_exit(v)));
	json_object_set_new(run, "reason", json_string(line));
}

/* ---- text ---- */

static char *tally_text(const json_t *t)
{
	int pass = num(t, "pass"), fail = num(t, "fail"), broken = num(t, "broken");
	int skip = num(t, "skip");

	if (broken)
		return g_strdup_printf("broken %d of %d", broken, pass + fail + broken);
	if (fail)
		return g_strdup_printf("fail %d of %d", fail, pass + fail);
	if (pass)
		return g_strdup_printf("pass %d of %d", pass, pass + fail);
	return g_strdup(skip ? "skip" : "-");
}

static void print_case(const json_t *c)
{
	g_autofree char *base = tally_text(json_object_get(c, "base"));
	g_autofree char *patched = tally_text(json_object_get(c, "patched"));
	g_autofree char *name = g_strdup_printf("%s@%s", str(c, "name"), str(c, "machine"));

	printf("  %-52s %-6s %-13s %-13s %s\n", name, str(c, "claim"), base, patched,
	       str(c, "change"));
}

static void print_gate(const json_t *run)
{
	const json_t *g = json_object_get(run, "gate"), *c, *kernels = json_object_get(run, "kernels");
	bool last_row = false;
	size_t i;

	printf("gate %s: %s\n", str(g, "name"), str(g, "about"));
	json_array_foreach(kernels, i, c)
		printf("  %-8s %s: %s, image %.12s\n", i ? "patched" : "base", str(c, "label"),
		       str(json_object_get(g, i ? "patched" : "base"), "how"), str(c, "image_sha256"));
	if (json_is_true(json_object_get(g, "identical")))
		printf("  the two images are identical\n");
	if (json_array_size(json_object_get(g, "cases")))
		printf("\n  %-52s %-6s %-13s %-13s\n", "case@machine", "claim", "base", "patched");
	/* what is claimed or has changed; the rest is a number */
	json_array_foreach(json_object_get(g, "cases"), i, c)
		if (*str(c, "claim") || (strcmp(str(c, "change"), "still passing") &&
					 strcmp(str(c, "change"), "skipped")))
			print_case(c);
		else
			last_row = true;
	if (last_row)
		printf("  (cases that nothing is claimed of and that did not change are in run.json)\n");
	json_array_foreach(json_object_get(g, "cases"), i, c)
		if (!strcmp(str(c, "claim"), "fixes") && num(json_object_get(c, "base"), "fail")) {
			const json_t *b = json_object_get(c, "base"), *p = json_object_get(c, "patched");

			printf("\n  for one, %s on %s\n    base:    %s\n    patched: %s\n"
			       "    failure rates, 95 %% exact: base %.0f to %.0f %%, patched %.0f to "
			       "%.0f %%\n", str(c, "name"), str(c, "machine"), str(c, "base_reason"),
			       str(c, "patched_reason"),
			       100 * json_number_value(json_object_get(b, "fail_rate_low")),
			       100 * json_number_value(json_object_get(b, "fail_rate_high")),
			       100 * json_number_value(json_object_get(p, "fail_rate_low")),
			       100 * json_number_value(json_object_get(p, "fail_rate_high")));
			break;
		}
	json_array_foreach(json_object_get(g, "metrics"), i, c)
		printf("  %s of %s@%s: %.4g -> %.4g, %s (p %.3g, n %d and %d)\n", str(c, "name"),
		       str(c, "case"), str(c, "machine"),
		       json_number_value(json_object_get(c, "base_median")),
		       json_number_value(json_object_get(c, "patched_median")), str(c, "change"),
		       json_number_value(json_object_get(c, "p")), num(c, "base_n"),
		       num(c, "patched_n"));
	printf("\n%s: %s\n", str(g, "verdict"), str(g, "reason"));
}

static int finish(struct cli *cli, json_t *run, const char *dir, GError **err)
{
	bool forms = cli->json || cli->tap;
	bool quiet = cli->quiet;
	int status;

	if (!results_save(run, dir, err))
		return MMG_EXIT_BROKEN;
	status_clear();
	if (!forms && !quiet)
		print_gate(run);
	/* the table of cases above is the text; the common reports write their files */
	if (!forms && !quiet)
		fprintf(stderr, "mmgate: results in %s\n", dir);
	cli->quiet = !forms;
	status = cli_reports(cli, run, dir, err);
	cli->quiet = quiet;
	return status;
}

static json_t *gate_json(const struct gate *g, const struct side *base, const struct side *patched,
			 const GPtrArray *kernels)
{
	const struct kernel *a = kernels->pdata[0], *b = kernels->pdata[1];
	bool identical = a->sha256 && !g_strcmp0(a->sha256, b->sha256);

	return json_pack("{s:s, s:s, s:b, s:f, s:{s:i, s:s}, s:{s:i, s:s}, s:[], s:[], s:i}",
			 "name", g->name, "about", g->about, "identical", identical, "confidence", 0.95,
			 "base", "kernel", 0, "how", base->how, "patched", "kernel", 1, "how",
			 patched->how, "cases", "metrics", "more_runs", 0);
}

/* Nothing to run: the two are one kernel */
static int identical(struct cli *cli, const GPtrArray *kernels, json_t *out, GError **err)
{
	const struct run_options opt = cli_run(cli);
	json_t *run = run_new(&opt, "gate", kernels);
	g_autofree char *dir = results_make_dir(cli->out, err);
	g_autofree char *id = NULL;
	int status = MMG_EXIT_BROKEN;

	if (dir) {
		id = g_path_get_basename(dir);
		json_object_set_new(run, "id", json_string(id));
		json_object_set_new(run, "complete", json_true());
		json_object_set_new(run, "duration_s", json_real(0));
		json_object_set_new(out, "verdict", json_string("not reproduced"));
		json_object_set_new(out, "reason", json_string("base and patched are identical, byte for "
							       "byte: what was changed is not in this "
							       "kernel"));
		set_verdict(run, out, VERDICT_NOT_REPRODUCED);
		json_object_set(run, "gate", out);
		status = finish(cli, run, dir, err);
	}
	json_decref(run);
	return status;
}

/* Files that are not the source's own, as " (mm/vmscan.c changed)" */
static void print_changed(GHashTable *overlay)
{
	g_autoptr(GList) files = overlay ? g_hash_table_get_keys(overlay) : NULL;

	files = g_list_sort(g_steal_pointer(&files), (GCompareFunc)strcmp);
	for (GList *f = files; f; f = f->next)
		printf("%s%s%s", f == files ? " (" : ", ", (char *)f->data,
		       f->next ? "" : " changed)");
	printf("\n");
}

static int dry_run(const struct cli *cli, const struct gate *g, const struct side *base,
		   const struct side *patched)
{
	const GPtrArray *tests = cli->tests->len ? cli->tests : g->tests;
	const GPtrArray *machines = cli->machines->len ? cli->machines : g->machines;

	printf("gate %s: %s\n", g->name, g->about);
	printf("  base     %s", base->how);
	print_changed(base->overlay);
	printf("  patched  %s", patched->how);
	print_changed(patched->overlay);
	for (guint i = 0; i < tests->len; i++)
		printf("  test     %s\n", (char *)tests->pdata[i]);
	for (guint i = 0; i < machines->len; i++)
		printf("  machine  %s\n", (char *)machines->pdata[i]);
	printf("  runs     %d of each, in turn\n", cli->repeat ?: MAX(g->repeat, 1));
	return MMG_EXIT_OK;
}

static int run_gate(struct cli *cli, const struct gate *g, const GPtrArray *kernels, json_t *out,
		    GError **err)
{
	struct suite s = {
		.opt = cli_run(cli), .kernels = (GPtrArray *)kernels, .verb = "gate",
		.tests = cli->tests->len ? cli->tests : g->tests,
		.machines = cli->machines->len ? cli->machines : g->machines,
		.repeat = cli->repeat ?: MAX(g->repeat, 1),
	};
	g_autofree char *dir = NULL;
	int status = MMG_EXIT_BROKEN;
	json_t *run;

	run = suite_run(&s, &dir, err);
	if (!run)
		return MMG_EXIT_BROKEN;
	if (num(run, "exit") != MMG_EXIT_INTERRUPTED) {
		set_verdict(run, out, judge(g, run, out));
	} else {
		json_object_set_new(out, "verdict", json_string("broken"));
		json_object_set_new(out, "reason", json_string("interrupted"));
	}
	json_object_set(run, "gate", out);
	status = finish(cli, run, dir, err);
	json_decref(run);
	return status;
}

int gate_run(struct cli *cli, GError **err)
{
	struct side base = { 0 }, patched = { 0 };
	GPtrArray *kernels = NULL;
	int status = MMG_EXIT_BROKEN;
	const char *source = NULL;
	struct gate *g;

	if ((!cli->args->len && !cli->series && !(cli->base && cli->patched)) || cli->args->len > 2) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate takes a gate's name, and perhaps a source such "
			      "as debian-source:6.12; ./run.sh list gates shows the names; without a name, "
			      "--series FILE or --base REF --patched REF chooses the tests");
		return MMG_EXIT_USAGE;
	}
	g = cli->args->len ? gate_load(cli->args->pdata[0], err) : gate_automatic();
	if (!g)
		return MMG_EXIT_USAGE;
	if (cli->args->len > 1)
		source = cli->args->pdata[1];
	else if (cli->kernels->len == 1 && g_str_has_prefix(cli->kernels->pdata[0], "debian-source:"))
		source = cli->kernels->pdata[0];
	if (g->arch && strcmp(g->arch, cli_arch(cli)))
		mmg_set_error(err, MMG_EXIT_USAGE, "gate %s is for %s", g->name, g->arch);
	else if (cli->kernels->len && !source)
		kernels = kernels_prebuilt(cli, &base, &patched, err);
	else
		kernels = kernels_from_source(cli, g, source, &base, &patched, err);
	if (kernels && cli->dry_run) {
		status = dry_run(cli, g, &base, &patched);
		g_ptr_array_unref(kernels);
	} else if (kernels) {
		json_t *out = gate_json(g, &base, &patched, kernels);

		if (json_is_true(json_object_get(out, "identical")))
			status = identical(cli, kernels, out, err);
		else
			status = run_gate(cli, g, kernels, out, err);
		json_decref(out);
		g_ptr_array_unref(kernels);
	}
	side_clear(&base);
	side_clear(&patched);
	gate_free(g);
	return status;
}

int verb_gate(struct cli *cli, GError **err)
{
	return gate_run(cli, err);
}
