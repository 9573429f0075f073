// SPDX-License-Identifier: GPL-2.0-only
/*
 * A gate from its files to its results: base and patched kernels run the same cases, in turn.
 */
#include "gate/gate.h"
#include "run/past.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static int num(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

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
		if (i < 2)
			printf("  %-8s %s: %s, image %.12s\n", i ? "patched" : "base", str(c, "label"),
			       str(json_object_get(g, i ? "patched" : "base"), "how"), str(c, "image_sha256"));
	json_array_foreach(json_object_get(g, "patches"), i, c)
		printf("  patch %-2d %s: %s\n", num(c, "number"), str(c, "title"),
		       *str(c, "reason") ? str(c, "reason") : "builds, nothing is worse");
	if (json_is_true(json_object_get(g, "identical")))
		printf("  the two images are identical\n");
	if (json_array_size(json_object_get(g, "cases")))
		printf("\n  %-52s %-6s %-13s %-13s\n", "case@machine", "claim", "base", "patched");
	/* what is claimed or has changed; the rest is a number */
	json_array_foreach(json_object_get(g, "cases"), i, c)
		if (!change_is_quiet(c))
			print_case(c);
		else
			last_row = true;
	if (last_row)
		printf("  (cases that nothing is claimed of and that did not change are in run.json)\n");
	json_array_foreach(json_object_get(g, "cases"), i, c)
		if (obj_claim(c) == CLAIM_FIXES && num(json_object_get(c, "base"), "fail")) {
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
	json_array_foreach(json_object_get(run, "past"), i, c)
		printf("%s  %s\n", i ? "" : "\n  beside the last runs without it:\n", str(c, "note"));
	printf("\n  time: %.0f s for the source and the builds, %.0f s for the tests\n", obj_num(g, "build_s"),
	       obj_num(run, "duration_s"));
	printf("\n%s: %s\n", str(g, "verdict"), str(g, "reason"));
}

static int finish(const struct gate_options *opt, json_t *run, const char *dir, GError **err)
{
	struct report_forms forms = opt->forms;
	bool text = !forms.json && !forms.tap;

	past_add(run, NULL);
	if (!results_save(run, dir, err))
		return MMG_EXIT_BROKEN;
	status_clear();
	if (text && !forms.quiet) {
		print_gate(run);
		fprintf(stderr, "mmgate: results in %s\n", dir);
	}
	/* the table of cases above is the text; the common reports write their files */
	forms.quiet = text;
	return reports_make(&forms, run, dir, err);
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
static int identical(const struct gate_options *opt, const struct gate *g, const GPtrArray *kernels, json_t *out,
		     GError **err)
{
	json_t *run = run_new(&opt->run, "gate", kernels);
	g_autofree char *dir = results_make_dir(opt->run.out, err);
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
		gate_set_verdict(run, out, steps_judge(g, run, out, VERDICT_NOT_REPRODUCED));
		json_object_set(run, "gate", out);
		status = finish(opt, run, dir, err);
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

static int dry_run(const struct gate_options *opt, const struct gate *g, const struct side *base,
		   const struct side *patched)
{
	const GPtrArray *tests = opt->run.tests->len ? opt->run.tests : g->tests;
	const GPtrArray *machines = opt->run.machines->len ? opt->run.machines : g->machines;

	printf("gate %s: %s\n", g->name, g->about);
	printf("  base     %s", base->how);
	print_changed(base->overlay);
	printf("  patched  %s", patched->how);
	print_changed(patched->overlay);
	for (guint i = 0; i < g->steps->len; i++)
		printf("  patch %-2u %s, alone\n", i + 1, ((struct step *)g->steps->pdata[i])->title);
	for (guint i = 0; i < tests->len; i++)
		printf("  test     %s\n", (char *)tests->pdata[i]);
	for (guint i = 0; i < machines->len; i++)
		printf("  machine  %s\n", (char *)machines->pdata[i]);
	if (g->automatic && !opt->repeat)
		printf("  runs     one of each, and up to %d in all: of what differs, or of all while %.0f s last\n",
		       g->repeat, g->budget_s);
	else
		printf("  runs     %d of each, in turn\n", opt->repeat ?: MAX(g->repeat, 1));
	return MMG_EXIT_OK;
}

static int run_gate(const struct gate_options *opt, const struct gate *g, const GPtrArray *kernels, json_t *out,
		    GError **err)
{
	struct suite s = {
		.opt = opt->run, .kernels = (GPtrArray *)kernels, .verb = "gate",
		.tests = (GPtrArray *)(opt->run.tests->len ? opt->run.tests : g->tests),
		.machines = (GPtrArray *)(opt->run.machines->len ? opt->run.machines : g->machines),
		.repeat = opt->repeat ?: MAX(g->repeat, 1),
	};
	g_autofree char *dir = NULL;
	int status = MMG_EXIT_BROKEN;
	json_t *run;

	if (g->automatic && !opt->repeat && !opt->run.fleet)
		run = rounds_run(&s, s.repeat, g->budget_s, &dir, err);
	else
		run = suite_run(&s, &dir, err);
	if (!run)
		return MMG_EXIT_BROKEN;
	if (num(run, "exit") != MMG_EXIT_INTERRUPTED) {
		gate_set_verdict(run, out, steps_judge(g, run, out, gate_judge(g, run, out)));
	} else {
		json_object_set_new(out, "verdict", json_string(verdict_name(VERDICT_BROKEN)));
		json_object_set_new(out, "reason", json_string("interrupted"));
	}
	json_object_set(run, "gate", out);
	status = finish(opt, run, dir, err);
	json_decref(run);
	return status;
}

int gate_run(const struct gate_options *opt, GError **err)
{
	struct side base = { 0 }, patched = { 0 };
	gint64 began = g_get_monotonic_time();
	GPtrArray *kernels = NULL;
	int status = MMG_EXIT_BROKEN;
	const char *source = NULL;
	struct gate *g;

	if ((!opt->words->len && !opt->series && !opt->edits && !(opt->base && opt->patched)) || opt->words->len > 2) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate takes a gate's name, and perhaps a source such "
			      "as debian-source:6.12; ./run.sh list gates shows the names; without a name, "
			      "--series FILE or --base REF --patched REF chooses the tests");
		return MMG_EXIT_USAGE;
	}
	g = opt->words->len ? gate_load(opt->words->pdata[0], err) : gate_automatic();
	if (!g)
		return MMG_EXIT_USAGE;
	if (opt->words->len > 1)
		source = opt->words->pdata[1];
	else if (opt->kernels->len == 1 && g_str_has_prefix(opt->kernels->pdata[0], "debian-source:"))
		source = opt->kernels->pdata[0];
	if (g->arch && strcmp(g->arch, opt->arch))
		mmg_set_error(err, MMG_EXIT_USAGE, "gate %s is for %s", g->name, g->arch);
	else if (opt->kernels->len && !source)
		kernels = gate_kernels_named(opt, &base, &patched, err);
	else
		kernels = gate_kernels_built(opt, g, source, &base, &patched, err);
	if (kernels && opt->dry_run) {
		status = dry_run(opt, g, &base, &patched);
		g_ptr_array_unref(kernels);
	} else if (kernels) {
		json_t *out = gate_json(g, &base, &patched, kernels);

		json_object_set_new(out, "build_s", json_real((g_get_monotonic_time() - began) / (double)G_USEC_PER_SEC));
		if (json_is_true(json_object_get(out, "identical")))
			status = identical(opt, g, kernels, out, err);
		else
			status = run_gate(opt, g, kernels, out, err);
		json_decref(out);
		g_ptr_array_unref(kernels);
	}
	side_clear(&base);
	side_clear(&patched);
	gate_free(g);
	return status;
}
