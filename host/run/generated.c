// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mutants of `mutants --generate`: which, and where their edit scripts lie.
 */
#include "run/generated.h"

#include <string.h>

#include "run/coverage.h"
#include "source/generate.h"

#define DEFAULT_COUNT	30

struct maker {
	const struct source *src;
	char *objects;
	struct coverage *coverage;	/* or NULL */
};

static char **flags_of(const char *file, void *data, GError **err)
{
	const struct maker *m = data;

	return compile_flags(m->objects, m->src, file, err);
}

/* A line without code of its own (a condition's second line, say) counts as the nearest one before it */
static bool is_reached(const char *file, const char *function, unsigned int line, void *data)
{
	const struct maker *m = data;
	bool reached = false;

	for (guint i = 0; i < m->coverage->functions->len; i++) {
		const struct coverage_function *f = m->coverage->functions->pdata[i];

		if (strcmp(f->name, function) || strcmp(f->file, file))
			continue;
		for (guint l = 0; l < f->lines->len; l++) {
			const struct coverage_line *cl = f->lines->pdata[l];

			if (cl->nr <= line)
				reached = cl->count;
		}
	}
	return reached;
}

/* coverage.json of the same source: its line numbers are those of no other */
static bool load_coverage(struct maker *m, const char *path, GError **err)
{
	if (!path)
		return true;
	m->coverage = coverage_load(path, err);
	if (m->coverage && strcmp(m->coverage->version, m->src->version)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--coverage %s is of kernel %s, not of %s", path, m->coverage->version,
			      m->src->version);
		return false;
	}
	return m->coverage;
}

static bool have_objects(const struct generated *how, struct maker *m, GError **err)
{
	struct build_spec spec = { .src = m->src, .arch = how->arch, .fragments = how->config, .label = "good",
				   .with_objects = true };
	struct build_result *b;

	m->objects = kernel_objects(&spec);
	/* compile_flags() says what is missing */
	if (how->dry_run)
		return true;
	b = kernel_build(&spec, err);
	build_result_free(b);
	return b;
}

/* The folder of these mutants: what is made again the same way lies in the same one */
static char *folder_of(const GPtrArray *mutants)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *hash = NULL;

	for (guint i = 0; i < mutants->len; i++)
		g_checksum_update(sum, (const guchar *)((struct mutation *)mutants->pdata[i])->name, -1);
	hash = g_strndup(g_checksum_get_string(sum), 12);
	return mmg_cache_path("mutants", "generated", hash, NULL);
}

GPtrArray *generated_files(const struct generated *how, const struct source *src, GError **err)
{
	struct maker m = { .src = src };
	struct generate g = { .src = src, .flags = flags_of, .data = &m, .function = how->function,
			      .count = how->count ?: DEFAULT_COUNT, .seed = how->seed ?: 1 };
	g_autoptr(GPtrArray) guarded = guarded_load(NULL, how->arch, err), made = NULL;
	g_autofree char *dir = NULL;
	GPtrArray *files = NULL;
	unsigned int all;

	g.guarded = guarded;
	if (guarded && load_coverage(&m, how->coverage, err) && have_objects(how, &m, err)) {
		if (m.coverage)
			g.reached = is_reached;
		made = generate_mutants(&g, &all, err);
	}
	dir = made ? folder_of(made) : NULL;
	if (made && generate_write(made, dir, NULL, err)) {
		status_note("%u of %u possible mutants, in %s", made->len, all, dir);
		files = g_ptr_array_new_with_free_func(g_free);
		for (guint i = 0; i < made->len; i++) {
			g_autofree char *name = g_strconcat(((struct mutation *)made->pdata[i])->name, ".conf", NULL);

			g_ptr_array_add(files, g_build_filename(dir, name, NULL));
		}
	}
	coverage_free(m.coverage);
	g_free(m.objects);
	return files;
}
