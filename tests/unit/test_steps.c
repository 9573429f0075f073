// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/gate/steps.c host/run/seen.c host/run/verdict.c host/run/bench_stat.c host/source/edit.c host/source/nearest.c host/base/*.c
/* The patches of a series one by one: what counts against the series, and what does not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate/gate.h"

static const char *fails_with;		/* the build of a state whose overlay has the file "bad" */

struct build_result *kernel_build(const struct build_spec *spec, GError **err)
{
	struct build_result *b;

	if (g_hash_table_contains(spec->overlay, "bad")) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s", fails_with);
		return NULL;
	}
	b = g_new0(struct build_result, 1);
	b->sha256 = overlay_hash(spec->overlay);
	return b;
}

void build_result_free(struct build_result *r)
{
	g_free(r->sha256);
	g_free(r);
}

struct kernel *kernel_from_build(const struct kernel_options *how, const struct source *src,
				 const struct build_result *b, const char *label, const char *role, GError **err)
{
	struct kernel *k = g_new0(struct kernel, 1);

	(void)how;
	(void)src;
	(void)role;
	(void)err;
	k->sha256 = g_strdup(b->sha256);
	k->label = g_strdup(label);
	return k;
}

static void free_kernel(gpointer kernel)
{
	struct kernel *k = kernel;

	g_free(k->sha256);
	g_free(k->label);
	g_free(k);
}

static GHashTable *state(const char *path, const char *text)
{
	GHashTable *o = overlay_new();

	overlay_set(o, path, g_bytes_new(text, strlen(text)));
	return o;
}

/* A gate whose series has the states @a, @b and a last one */
static struct gate *gate_of(GHashTable *a, GHashTable *b)
{
	g_autoptr(GPtrArray) titles = g_ptr_array_new(), overlays = g_ptr_array_new();
	struct gate *g = g_new0(struct gate, 1);

	g->steps = g_ptr_array_new_with_free_func(step_free);
	g_ptr_array_add(titles, (char *)"one");
	g_ptr_array_add(titles, (char *)"two");
	g_ptr_array_add(titles, (char *)"three");
	g_ptr_array_add(overlays, a);
	g_ptr_array_add(overlays, b);
	g_ptr_array_add(overlays, b);
	steps_take(g, titles, overlays);
	g_hash_table_unref(a);
	g_hash_table_unref(b);
	return g;
}

static void drop(struct gate *g)
{
	g_ptr_array_unref(g->steps);
	g_free(g);
}

static GPtrArray *two_kernels(const char *base, const char *patched)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(free_kernel);
	const char *const sums[] = { base, patched };

	for (int i = 0; i < 2; i++) {
		struct kernel *k = g_new0(struct kernel, 1);

		k->sha256 = g_strdup(sums[i]);
		g_ptr_array_add(all, k);
	}
	return all;
}

/* A run in which case kvm/t/c did as @results says on the kernels, one letter each: p, f, b, "-" for not run */
static json_t *run_of(const char *results)
{
	json_t *cases = json_array(), *boots = json_array(), *kernels = json_array();

	for (int k = 0; results[k]; k++) {
		json_array_append_new(kernels, json_pack("{s:s}", "label", "k"));
		json_array_append_new(boots, json_pack("{s:i, s:s, s:i, s:s, s:s, s:b, s:f, s:[]}", "kernel", k, "machine",
						       "default", "repeat", 0, "state", "goodbye", "reason", "",
						       "complete", 1, "hello_s", 1.0, "splats"));
		if (results[k] == '-')
			continue;
		json_array_append_new(cases, json_pack("{s:s, s:i, s:i, s:s, s:i, s:s, s:s, s:f, s:{}}", "name",
			"kvm/t/c", "kernel", k, "boot", k, "machine", "default", "repeat", 0, "result",
			results[k] == 'p' ? "pass" : results[k] == 'f' ? "fail" : "broken", "reason", "because",
			"duration_s", 1.0, "metrics"));
	}
	return json_pack("{s:o, s:o, s:o}", "cases", cases, "boots", boots, "kernels", kernels);
}

static void only_what_is_better_on_both_sides(void **unused)
{
	static const struct {
		const char *results;
		enum verdict before, after;
	} rows[] = {
		{ "pppp", VERDICT_PASS, VERDICT_PASS },
		{ "ppfp", VERDICT_PASS, VERDICT_REGRESSED },
		{ "pppf", VERDICT_PASS, VERDICT_REGRESSED },
		/* the series mends it: a state in the middle may fail */
		{ "fpff", VERDICT_PASS, VERDICT_PASS },
		{ "fpfp", VERDICT_PASS, VERDICT_PASS },
		{ "ppf-", VERDICT_NOT_REPRODUCED, VERDICT_REGRESSED },
		/* worse is known already, or nothing is */
		{ "pfff", VERDICT_REGRESSED, VERDICT_REGRESSED },
		{ "ppfp", VERDICT_BROKEN, VERDICT_BROKEN },
		{ "ppfp", VERDICT_INCONCLUSIVE, VERDICT_INCONCLUSIVE },
	};

	(void)unused;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct gate *g = gate_of(state("mm/a.c", "1"), state("mm/a.c", "2"));
		g_autoptr(GPtrArray) kernels = two_kernels("base", "patched");
		const struct gate_options opt = { .arch = "x86_64" };
		const struct source src = { .version = (char *)"6.12" };
		json_t *run = run_of(rows[i].results), *out = json_object();

		assert_int_equal(g->steps->len, 2);
		assert_true(steps_build(&opt, g, &src, kernels, NULL));
		assert_int_equal(kernels->len, 4);
		assert_string_equal(((struct kernel *)kernels->pdata[2])->label, "6.12-patch1");
		assert_int_equal(steps_judge(g, run, out, rows[i].before), rows[i].after);
		assert_int_equal(json_array_size(json_object_get(out, "patches")), 2);
		json_decref(run);
		json_decref(out);
		drop(g);
	}
}

static void one_does_not_build(void **unused)
{
	struct gate *g = gate_of(state("bad", "1"), state("mm/a.c", "2"));
	g_autoptr(GPtrArray) kernels = two_kernels("base", "patched");
	const struct gate_options opt = { .arch = "x86_64" };
	const struct source src = { .version = (char *)"6.12" };
	json_t *run = run_of("ppp"), *out = json_object();

	(void)unused;
	fails_with = "mm/a.c:1:1: error: no";
	assert_true(steps_build(&opt, g, &src, kernels, NULL));
	assert_int_equal(kernels->len, 3);
	assert_int_equal(steps_judge(g, run, out, VERDICT_PASS), VERDICT_REGRESSED);
	assert_string_equal(obj_str(out, "reason"),
			    "patch 1 of 3 alone does not build: mm/a.c:1:1: error: no");
	json_decref(run);
	json_decref(out);
	drop(g);
}

/* A state with the image of base, of patched or of another state is not run again */
static void same_images(void **unused)
{
	g_autoptr(GHashTable) one = state("mm/a.c", "1");
	g_autofree char *sum = overlay_hash(one);
	struct gate *g = gate_of(state("mm/a.c", "1"), state("mm/a.c", "1"));
	g_autoptr(GPtrArray) kernels = two_kernels("base", sum);
	const struct gate_options opt = { .arch = "x86_64" };
	const struct source src = { .version = (char *)"6.12" };
	json_t *run = run_of("pp"), *out = json_object();

	(void)unused;
	assert_true(steps_build(&opt, g, &src, kernels, NULL));
	assert_int_equal(kernels->len, 2);
	assert_int_equal(steps_judge(g, run, out, VERDICT_PASS), VERDICT_PASS);
	json_decref(run);
	json_decref(out);
	drop(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_better_on_both_sides), cmocka_unit_test(one_does_not_build),
		cmocka_unit_test(same_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
