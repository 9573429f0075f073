// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two kernels of a gate: base and patched, built from one source or named.
 */
#include "gate/choose.h"
#include "gate/gate.h"
#include "source/based.h"

#include <stdio.h>

#define DEFAULT_MINUTES	2	/* of tests; building takes another */

void side_clear(struct side *s)
{
	if (s->overlay)
		g_hash_table_unref(s->overlay);
	g_free(s->how);
}

static bool sides_from_refs(const struct gate_options *opt, struct gate *g, const struct source *src,
			    struct side *base, struct side *patched, GError **err)
{
	g_autofree char *found = NULL;
	const char *ref = opt->base;

	if (opt->series && !ref) {
		if (!series_base(opt->series, src, &found, &base->how, err))
			return false;
		ref = found;
		if (!opt->forms.quiet)
			fprintf(stderr, "mmgate: base: %s\n", base->how);
	}
	if (ref && !git_overlay(src, ref, base->overlay, err))
		return false;
	if (!base->how)
		base->how = ref ? g_strdup_printf("revision %s", ref) : g_strdup("the work tree as it is");
	if (opt->series) {
		g_autoptr(GPtrArray) titles = NULL, steps = NULL;

		g_hash_table_unref(patched->overlay);
		patched->overlay = overlay_copy(base->overlay);
		if (!series_apply_steps(opt->series, src, patched->overlay, &titles, &steps, err))
			return false;
		if (g->automatic)
			steps_take(g, titles, steps);
		patched->how = g_strdup_printf("base with %u patch%s: %s", titles->len,
					       titles->len == 1 ? "" : "es",
					       (char *)titles->pdata[titles->len - 1]);
		return true;
	}
	if (opt->patched && !git_overlay(src, opt->patched, patched->overlay, err))
		return false;
	patched->how = opt->patched ? g_strdup_printf("revision %s", opt->patched) :
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

static bool sides_by_edits(const struct gate_options *opt, const struct source *src, struct side *base,
			   struct side *patched, GError **err)
{
	struct side *edited = opt->edits_undo ? base : patched;

	base->how = g_strdup(opt->edits_undo ? "the source without the series" : "the source as it is");
	patched->how = g_strdup(opt->edits_undo ? "the source as it is" : "the source with the fault of the series");
	return edits_apply(opt->edits, src, edited->overlay, err);
}

static void kernel_unref(gpointer k)
{
	kernel_free(k);
}

static struct kernel *build_side(const struct gate_options *opt, const struct source *src,
				 struct side *s, const char *role, GError **err)
{
	g_autofree char *label = g_strdup_printf("%s-%s", src->version, role);
	struct build_spec spec = { .src = src, .overlay = s->overlay, .arch = opt->arch,
				   .fragments = opt->config, .label = label };
	struct build_result *b = kernel_build(&spec, err);
	struct kernel *k;

	if (!b) {
		g_prefix_error(err, "the %s kernel: ", role);
		return NULL;
	}
	if (!b->cached)
		status_note("built %s in %.0f s", label, b->seconds);
	k = kernel_from_build(&opt->run.kernel, src, b, label, role, err);
	build_result_free(b);
	return k;
}

/* The tests and machines of an automatic gate; what the user names goes before */
static bool choose_tests(const struct gate_options *opt, struct gate *g, const struct source *src,
			 const struct side *base, const struct side *patched, GError **err)
{
	int kernels = 2 + g->steps->len, jobs = opt->run.jobs ?: (int)g_get_num_processors();
	/* the VMs of one round run beside each other */
	double runs = MAX(opt->repeat, 1) * (double)kernels / MIN(kernels, jobs);
	struct choice *c;

	g->budget_s = 60.0 * (opt->budget ?: DEFAULT_MINUTES);
	c = choose_for_change(src, base->overlay, patched->overlay, runs, g->budget_s, opt->forms.quiet, err);
	if (!c)
		return false;
	for (guint i = 0; i < c->tests->len; i++) {
		const struct chosen_test *t = c->tests->pdata[i];
		const char *machine;
		g_autofree char *glob = mmg_glob_split(t->glob, &machine);

		if (!t->kept)
			continue;
		/* --machine has the last word */
		g_ptr_array_add(g->tests, g_strdup(opt->run.machines->len ? glob : t->glob));
		g_ptr_array_add(g->keeps, g_strdup(opt->run.machines->len ? glob : t->glob));
		if (machine && !g_ptr_array_find_with_equal_func(g->machines, machine, g_str_equal, NULL))
			g_ptr_array_add(g->machines, g_strdup(machine));
	}
	choice_free(c);
	return true;
}

GPtrArray *gate_kernels_built(const struct gate_options *opt, struct gate *g, const char *word,
			      struct side *base, struct side *patched, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new_with_free_func(kernel_unref);
	struct source *src = source_named(opt->tree, word, opt->run.kernel.offline, err);
	bool ok;

	if (!src && opt->dry_run && source_not_here(opt->tree, word, err))
		return g_steal_pointer(&kernels);
	if (!src)
		return NULL;
	base->overlay = overlay_new();
	patched->overlay = overlay_new();
	ok = opt->edits ? sides_by_edits(opt, src, base, patched, err) :
	     opt->base || opt->patched || opt->series ?
	     sides_from_refs(opt, g, src, base, patched, err) :
	     sides_by_undo(g, src, base, patched, err);
	ok = ok && (!g->automatic || choose_tests(opt, g, src, base, patched, err));
	/* the patched one first: it is most likely there already */
	for (int i = 1; ok && i >= 0 && !opt->dry_run; i--) {
		struct kernel *k = build_side(opt, src, i ? patched : base, i ? "patched" : "base", err);

		ok = k;
		if (k)
			g_ptr_array_insert(kernels, 0, k);
	}
	ok = ok && (opt->dry_run || steps_build(opt, g, src, kernels, err));
	source_free(src);
	return ok ? g_steal_pointer(&kernels) : NULL;
}

GPtrArray *gate_kernels(const struct gate_options *opt, const char *name, GError **err)
{
	struct side base = { 0 }, patched = { 0 };
	struct gate *g = gate_load(name, err);
	GPtrArray *kernels = g ? gate_kernels_built(opt, g, NULL, &base, &patched, err) : NULL;

	side_clear(&base);
	side_clear(&patched);
	gate_free(g);
	return kernels;
}

GPtrArray *gate_kernels_named(const struct gate_options *opt, struct side *base, struct side *patched,
			      GError **err)
{
	GPtrArray *kernels;

	if (opt->kernels->len != 2) {
		mmg_set_error(err, MMG_EXIT_USAGE, "gate compares two kernels: give --kernel twice, base "
			      "first, or none; got %u", opt->kernels->len);
		return NULL;
	}
	if (opt->tree || opt->base || opt->patched || opt->series) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--kernel names kernels that are built already, so "
			      "--tree, --base, --patched and --series mean nothing beside it");
		return NULL;
	}
	kernels = kernels_resolve(&opt->run.kernel, opt->kernels, err);
	if (!kernels)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct kernel *k = kernels->pdata[i];

		g_free(k->role);
		k->role = g_strdup(i ? "patched" : "base");
	}
	base->how = g_strdup(opt->kernels->pdata[0]);
	patched->how = g_strdup(opt->kernels->pdata[1]);
	return kernels;
}
