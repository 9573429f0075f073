// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patches of a series one by one: does each state between base and patched build and pass, so
 * that a bisection can stop there?
 */
#include "gate/gate.h"
#include "run/seen.h"

#include <string.h>

#define MOST_STEPS	12	/* longer series are judged as a whole */

void step_free(gpointer step)
{
	struct step *s = step;

	if (s->overlay)
		g_hash_table_unref(s->overlay);
	g_free(s->title);
	g_free(s->error);
	g_free(s);
}

void steps_take(struct gate *g, GPtrArray *titles, GPtrArray *overlays)
{
	/* the last state is patched itself */
	for (guint i = 0; i + 1 < titles->len && titles->len <= MOST_STEPS; i++) {
		struct step *s = g_new0(struct step, 1);

		s->title = g_strdup(titles->pdata[i]);
		s->overlay = g_hash_table_ref(overlays->pdata[i]);
		s->kernel = -1;
		g_ptr_array_add(g->steps, s);
	}
}

/* Number of the kernel of @kernels with this image, or -1 */
static int same_image(const GPtrArray *kernels, const char *sha256)
{
	for (guint i = 0; i < kernels->len; i++)
		if (!g_strcmp0(((struct kernel *)kernels->pdata[i])->sha256, sha256))
			return i;
	return -1;
}

static bool build_step(const struct gate_options *opt, const struct source *src, struct step *s, guint number,
		       GPtrArray *kernels, GError **err)
{
	g_autofree char *label = g_strdup_printf("%s-patch%u", src->version, number);
	struct build_spec spec = { .src = src, .overlay = s->overlay, .arch = opt->arch,
				   .fragments = opt->config, .label = label };
	g_autoptr(GError) e = NULL;
	struct build_result *b = kernel_build(&spec, &e);
	struct kernel *k;

	if (!b && e->code != MMG_EXIT_BROKEN) {
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	if (!b) {
		s->error = g_strdup(e->message);
		return true;
	}
	s->kernel = same_image(kernels, b->sha256);
	if (s->kernel < 0) {
		k = kernel_from_build(&opt->run.kernel, src, b, label, "patch", err);
		if (k) {
			s->kernel = kernels->len;
			g_ptr_array_add(kernels, k);
		}
	}
	build_result_free(b);
	return s->kernel >= 0;
}

/*
 * In their order, after base: each build then compiles what one patch changes, which is the
 * cheapest way through them.
 */
bool steps_build(const struct gate_options *opt, struct gate *g, const struct source *src, GPtrArray *kernels,
		 GError **err)
{
	for (guint i = 0; i < g->steps->len; i++)
		if (!build_step(opt, src, g->steps->pdata[i], i + 1, kernels, err))
			return false;
	return true;
}

static bool passes(const struct seen *c)
{
	return c && c->t.pass && !c->t.fail && !c->t.broken;
}

/* The first case that passes on base and patched and not on kernel @nr, as a line; NULL where there is none */
static char *worse_between(json_t *run, int nr)
{
	g_autoptr(GHashTable) base = seen_collect(run, 0);
	g_autoptr(GHashTable) patched = seen_collect(run, 1);
	g_autoptr(GHashTable) here = seen_collect(run, nr);
	g_autoptr(GPtrArray) keys = seen_keys(here, here);
	const char *boot = bad_boot(run, nr);

	for (guint i = 0; i < keys->len; i++) {
		const struct seen *c = g_hash_table_lookup(here, keys->pdata[i]);

		if (c->t.fail && passes(g_hash_table_lookup(base, keys->pdata[i])) &&
		    passes(g_hash_table_lookup(patched, keys->pdata[i])))
			return g_strdup_printf("%s on %s fails %u of %u: %s", c->name, c->machine, c->t.fail,
					       c->t.fail + c->t.pass, c->reason ?: "");
	}
	if (boot && !bad_boot(run, 0) && !bad_boot(run, 1))
		return g_strdup(boot);
	return NULL;
}

enum verdict steps_judge(const struct gate *g, json_t *run, json_t *out, enum verdict v)
{
	json_t *list = json_array();
	g_autofree char *first = NULL;

	for (guint i = 0; i < g->steps->len; i++) {
		const struct step *s = g->steps->pdata[i];
		g_autofree char *why = s->error ? g_strdup(s->error) : s->kernel > 1 ? worse_between(run, s->kernel) : NULL;
		const char *state = s->error ? "does not build" : why ? "regressed" : "ok";

		json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:s, s:i}", "number", (int)i + 1, "title",
						      s->title, "state", state, "reason", why ?: "", "kernel",
						      s->kernel));
		if (why && !first)
			first = g_strdup_printf("patch %u of %u alone %s: %s", i + 1, g->steps->len + 1,
						s->error ? "does not build" : "makes something worse", why);
	}
	if (json_array_size(list))
		json_object_set(out, "patches", list);
	json_decref(list);
	if (!first || (v != VERDICT_PASS && v != VERDICT_NOT_REPRODUCED))
		return v;
	json_object_set_new(out, "verdict", json_string(verdict_name(VERDICT_REGRESSED)));
	json_object_set_new(out, "reason", json_string(first));
	return VERDICT_REGRESSED;
}
