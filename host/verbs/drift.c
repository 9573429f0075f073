// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb drift: what of ours no longer fits the newest source of each line, said
 * in seconds and without a VM, with the file that is to be mended.
 */
#include "build/unbuilt.h"
#include "kernel/entry.h"
#include "source/drift.h"
#include "verbs/verbs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct line - one source that is looked at
 * @parts:	tree for the KVM selftest library
 * @options:	that it defines
 */
struct line {
	struct source *src;
	char *parts;
	GHashTable *options;
	GPtrArray *found;
	unsigned int fit;
};

static void line_free(gpointer p)
{
	struct line *l = p;

	source_free(l->src);
	g_free(l->parts);
	if (l->options)
		g_hash_table_unref(l->options);
	g_ptr_array_unref(l->found);
	g_free(l);
}

static struct line *line_new(struct source *src, char *parts)
{
	struct line *l = g_new0(struct line, 1);

	l->src = src;
	l->parts = parts;
	l->found = g_ptr_array_new_with_free_func(finding_free);
	return l;
}

/* The packaged source of one kernel in use, NULL where its line has none; false in *@ok ends it all */
static struct line *packaged(const struct cli *cli, const struct kernel_entry *e, bool *ok, GError **err)
{
	g_auto(GStrv) f = g_strsplit(e->spec + strlen("debian:"), "@", 2);
	g_autofree char *name = NULL, *tree = NULL;
	g_autoptr(GError) why = NULL;
	char *parts;

	tree = ksrc_fetch(cli_kernel(cli).offline, f[0], f[1], true, &name, &why);
	if (mmg_check_interrupt(err)) {
		*ok = false;
		return NULL;
	}
	parts = tree ? ksrc_fetch(cli_kernel(cli).offline, f[0], f[1], false, NULL, NULL) : NULL;
	if (!parts) {
		status_debug("%s: no source: %s", e->name, why ? why->message : "not in the cache");
		return NULL;
	}
	return line_new(source_open(tree, name, err), parts);
}

static bool have_line(const GPtrArray *lines, const char *tree)
{
	for (guint i = 0; i < lines->len; i++)
		if (!strcmp(((struct line *)lines->pdata[i])->src->tree, tree))
			return true;
	return false;
}

/* --tree, or the packaged source of each line of configs/kernels that there is one of */
static GPtrArray *choose_lines(const struct cli *cli, const char *arch, GError **err)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(line_free);
	g_autoptr(GPtrArray) entries = NULL;
	bool ok = true;

	if (cli->tree) {
		struct source *src = source_named(cli->tree, NULL, cli_kernel(cli).offline, err);

		if (src)
			g_ptr_array_add(lines, line_new(src, g_strdup(src->tree)));
		ok = src;
	} else {
		entries = kernel_entries(cli->args, arch, err);
		ok = entries;
	}
	for (guint i = 0; ok && entries && i < entries->len; i++) {
		const struct kernel_entry *e = entries->pdata[i];
		struct line *l;

		if (!g_str_has_prefix(e->spec, "debian:") || !isdigit((unsigned char)e->spec[7]))
			continue;
		status_set("source of %s", e->name);
		l = packaged(cli, e, &ok, err);
		if (l && (!l->src || have_line(lines, l->src->tree))) {
			line_free(l);
			continue;
		}
		if (l)
			g_ptr_array_add(lines, l);
	}
	if (ok && !lines->len) {
		mmg_set_error(err, MMG_EXIT_NOTHING, "no source of these kernels can be had%s: give --tree DIR",
			      cli->offline ? " offline" : "");
		ok = false;
	}
	if (ok)
		return lines;
	g_ptr_array_unref(lines);
	return NULL;
}

/* Does each test compile on this source's library? */
static bool try_tests(struct line *l, const char *arch, GError **err)
{
	struct kernel k = { .arch = (char *)arch, .ksrc = l->parts, .ksrc_name = l->src->name };
	g_autoptr(GError) e = NULL;
	g_autofree char *built = selftests_build(&k, &e);
	json_t *unbuilt, *why;
	const char *name;

	if (mmg_check_interrupt(err))
		return false;
	if (!built) {
		finding_add(l->found, "test", "all tests", g_strdup("selftests/"), g_strdup(e->message));
		return true;
	}
	unbuilt = unbuilt_load(built);
	json_object_foreach(unbuilt, name, why)
		finding_add(l->found, "test", name, g_strdup_printf("selftests/%s_test.c", name),
			    g_strdup(json_string_value(why)));
	json_decref(unbuilt);
	return true;
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Options of ours that this source does not define.  One that a newer source has came later: that is
 * no drift.
 */
static bool try_options(const GPtrArray *lines, struct line *l, const char *arch, GError **err)
{
	g_autoptr(GHashTable) wanted = drift_wanted(arch, err);
	g_autoptr(GPtrArray) lost = g_ptr_array_new();
	GHashTableIter it;
	gpointer option, file;

	if (!wanted)
		return false;
	g_hash_table_iter_init(&it, wanted);
	while (g_hash_table_iter_next(&it, &option, &file)) {
		bool later = false;

		if (g_hash_table_contains(l->options, option) || drift_known_gone(option, l->src->version))
			continue;
		for (guint i = 0; i < lines->len; i++) {
			const struct line *other = lines->pdata[i];

			later |= version_cmp(other->src->version, l->src->version) > 0 &&
				 g_hash_table_contains(other->options, option);
		}
		if (!later)
			g_ptr_array_add(lost, option);
	}
	g_ptr_array_sort(lost, by_text);
	for (guint i = 0; i < lost->len; i++)
		finding_add(l->found, "option", lost->pdata[i],
			    g_strdup(g_hash_table_lookup(wanted, lost->pdata[i])),
			    g_strdup_printf("no Kconfig file of %s defines CONFIG_%s", l->src->version,
					    (char *)lost->pdata[i]));
	return true;
}

static json_t *line_json(const struct line *l)
{
	json_t *list = json_array();

	for (guint i = 0; i < l->found->len; i++) {
		const struct finding *f = l->found->pdata[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "kind", f->kind, "name", f->name,
						      "where", f->where, "what", f->what));
	}
	return json_pack("{s:s, s:s, s:i, s:o}", "source", l->src->name, "version", l->src->version, "fit", l->fit,
			 "findings", list);
}

static void print_line(const struct line *l)
{
	printf("%s: %u edits and texts fit", l->src->name, l->fit);
	printf(l->found->len ? ", %u things to mend\n" : "\n", l->found->len);
	for (guint i = 0; i < l->found->len; i++) {
		const struct finding *f = l->found->pdata[i];

		printf("  %s %s\n      %s\n      mend %s\n", f->kind, f->name, f->what, f->where);
	}
}

int verb_drift(struct cli *cli, GError **err)
{
	const char *arch = cli_arch(cli);
	g_autoptr(GPtrArray) lines = NULL;
	json_t *out = json_array();
	unsigned int found = 0;
	bool ok;

	if (cli->tree && cli->args->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "drift takes names of kernels or --tree DIR, not both");
		return MMG_EXIT_USAGE;
	}
	lines = choose_lines(cli, arch, err);
	for (guint i = 0; lines && i < lines->len; i++)
		((struct line *)lines->pdata[i])->options = drift_options(((struct line *)lines->pdata[i])->src);
	ok = lines;
	for (guint i = 0; ok && i < lines->len; i++) {
		struct line *l = lines->pdata[i];

		status_set("looking at %s", l->src->name);
		ok = drift_edits(l->src, arch, l->found, &l->fit, err) && try_options(lines, l, arch, err) &&
		     try_tests(l, arch, err);
		if (!ok)
			break;
		found += l->found->len;
		status_clear();
		if (cli->json)
			json_array_append_new(out, line_json(l));
		else if (!cli->quiet)
			print_line(l);
	}
	if (ok && cli->json) {
		json_dumpf(out, stdout, JSON_INDENT(1));
		putchar('\n');
	}
	json_decref(out);
	if (!ok)
		return (*err)->code;
	status_note(found ? "drift: %u things to mend" : "drift: all fits", found);
	return found && cli->strict ? MMG_EXIT_FAIL : MMG_EXIT_OK;
}
