// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb build: a kernel from a tree or packaged source.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

static int dry_run(const struct build_spec *spec)
{
	g_autoptr(GList) files = g_list_sort(g_hash_table_get_keys(spec->overlay),
					     (GCompareFunc)strcmp);

	printf("source %s (%s) for %s\n", spec->src->name, spec->src->tree, spec->arch);
	for (guint i = 0; i < spec->fragments->len; i++)
		printf("fragment %s\n", (char *)spec->fragments->pdata[i]);
	for (GList *f = files; f; f = f->next)
		printf("changed %s\n", (char *)f->data);
	return MMG_EXIT_OK;
}

int verb_build(struct cli *cli, GError **err)
{
	const char *word = cli->args->len ? cli->args->pdata[0] : NULL;
	struct build_spec spec = { .arch = cli_arch(cli), .fragments = cli->config, .jobs = cli->jobs };
	g_autoptr(GHashTable) overlay = overlay_new();
	struct build_result *r = NULL;
	struct source *src;
	bool dry = false;

	if (cli->args->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "build takes one source, --tree DIR or "
			      "debian-source:VERSION; got %u words", cli->args->len);
		return MMG_EXIT_USAGE;
	}
	if (cli->out && g_file_test(cli->out, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--out %s exists: name a folder that does not exist yet",
			      cli->out);
		return MMG_EXIT_USAGE;
	}
	src = source_named(cli->tree, word, cli_kernel(cli).offline, err);
	if (!src && cli->dry_run && source_not_here(cli->tree, word, err))
		return MMG_EXIT_OK;
	if (src && (!cli->series || series_apply(cli->series, src, overlay, NULL, err))) {
		g_autofree char *label = g_strdup_printf("%s %s", src->version, spec.arch);

		spec.src = src;
		spec.overlay = overlay;
		spec.label = label;
		dry = cli->dry_run && dry_run(&spec) == MMG_EXIT_OK;
		r = dry ? NULL : kernel_build(&spec, err);
	}
	source_free(src);
	if (dry)
		return MMG_EXIT_OK;
	if (!r)
		return (*err)->code;
	if (cli->out && !build_result_copy(r, cli->out, err)) {
		build_result_free(r);
		return MMG_EXIT_BROKEN;
	}
	status_clear();
	status_note(r->cached ? "there already" : "built in %.0f s", r->seconds);
	if (cli->json) {
		g_autofree char *meta = g_build_filename(r->dir, "build.json", NULL);
		json_t *j = json_load_file(meta, 0, NULL);

		json_object_set_new(j, "image", json_string(r->image));
		json_object_set_new(j, "cached", json_boolean(r->cached));
		json_dumpf(j, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(j);
	} else {
		g_autofree char *base = g_path_get_basename(r->image);
		g_autofree char *image = cli->out ? g_build_filename(cli->out, base, NULL) : g_strdup(r->image);

		printf("%s\n", image);
	}
	build_result_free(r);
	return MMG_EXIT_OK;
}
