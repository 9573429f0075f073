// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions that the tests guard, where a source defines them, and how a kernel is made to
 * count what runs of their files.
 */
#include <string.h>

#include "base/arch.h"
#include "source/guarded.h"

static void guarded_free(gpointer p)
{
	struct guarded *g = p;

	g_free(g->file);
	g_free(g->name);
	g_ptr_array_unref(g->notice);
	g_free(g);
}

/* Is @file of another architecture than @arch? */
static bool of_other_arch(const char *file, const char *arch)
{
	const struct arch *a = arch_find(arch);
	g_autofree char *own = g_strdup_printf("arch/%s/", !strcmp(arch, "x86_64") ? "x86" :
					       a ? a->kbuild : arch);

	return g_str_has_prefix(file, "arch/") && !g_str_has_prefix(file, own);
}

static bool load_file(GKeyFile *kf, const char *path, const char *file, GPtrArray *list, GError **err)
{
	g_auto(GStrv) names = g_key_file_get_keys(kf, file, NULL, NULL);

	if (!path_is_inside(file) || !g_str_has_suffix(file, ".c")) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s] is not the path of a .c file in a source tree",
			      path, file);
		return false;
	}
	for (char **n = names; n && *n; n++) {
		g_auto(GStrv) notice = g_key_file_get_string_list(kf, file, *n, NULL, NULL);
		struct guarded *g = g_new0(struct guarded, 1);

		g->file = g_strdup(file);
		g->name = g_strdup(*n);
		g->notice = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(list, g);
		for (char **w = notice; w && *w; w++)
			g_ptr_array_add(g->notice, g_strdup(*w));
		if (!g->notice->len) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s [%s]: %s= names no case", path, file, *n);
			return false;
		}
	}
	return true;
}

GPtrArray *guarded_load(const char *path, const char *arch, GError **err)
{
	g_autofree char *own = path ? g_strdup(path) : mmg_root_path("configs", "guarded.conf", NULL);
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(guarded_free);
	g_autoptr(GKeyFile) kf = conf_load(own, err);
	g_auto(GStrv) files = kf ? g_key_file_get_groups(kf, NULL) : NULL;

	for (char **f = files; f && *f; f++)
		if (!of_other_arch(*f, arch) && !load_file(kf, own, *f, list, err))
			return NULL;
	if (kf && !list->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has no function for %s", own, arch);
	return list->len ? g_steal_pointer(&list) : NULL;
}

GPtrArray *guarded_files(const GPtrArray *functions)
{
	GPtrArray *files = g_ptr_array_new();

	for (guint i = 0; i < functions->len; i++) {
		char *file = ((const struct guarded *)functions->pdata[i])->file;

		if (!g_ptr_array_find_with_equal_func(files, file, g_str_equal, NULL))
			g_ptr_array_add(files, file);
	}
	return files;
}

static unsigned int line_of(const char *text, const char *at)
{
	unsigned int n = 1;

	for (; text < at; text++)
		n += *text == '\n';
	return n;
}

GArray *definition_lines(const char *text, const char *name)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct definition));
	const char *start, *end;

	for (const char *from = text; edit_definition(text, name, from, &start, &end); from = end) {
		struct definition d = { line_of(text, start), line_of(text, end) };

		/* @end is behind the closing bracket: in its line, unless the text ends there */
		g_array_append_val(all, d);
	}
	return all;
}

/* ---- counting ---- */

static bool is_there(const struct source *src, const char *path)
{
	g_autofree char *full = g_build_filename(src->tree, path, NULL);

	return g_file_test(full, G_FILE_TEST_IS_REGULAR);
}

/*
 * The Makefile that builds @file; *@stem gets the object's name as kbuild knows it there, without
 * ".o".  virt/kvm has a part of a Makefile that each architecture includes, which calls the folder $(KVM).
 */
static char *makefile_of(const struct source *src, const char *file, char **stem)
{
	g_autofree char *dir = g_path_get_dirname(file), *base = g_path_get_basename(file);
	g_autofree char *part = g_build_filename(dir, "Makefile.kvm", NULL);

	base[strlen(base) - 2] = '\0';
	if (is_there(src, part)) {
		*stem = g_strdup_printf("$(KVM)/%s", base);
		return g_steal_pointer(&part);
	}
	while (strcmp(dir, ".")) {
		g_autofree char *makefile = g_build_filename(dir, "Makefile", NULL), *up = NULL;

		if (is_there(src, makefile)) {
			*stem = g_strndup(file + strlen(dir) + 1, strlen(file) - strlen(dir) - 3);
			return g_steal_pointer(&makefile);
		}
		up = g_path_get_dirname(dir);
		g_free(dir);
		dir = g_steal_pointer(&up);
	}
	return NULL;
}

/*
 * gcc inlines small functions before it puts the counters in, and then takes a branch of one for a branch
 * of the line that calls it; without that first round it inlines them later, with their counters.
 */
static void count_object(GString *makefile, const char *stem)
{
	g_string_append_printf(makefile, "\nGCOV_PROFILE_%s.o := y\nCFLAGS_%s.o += -fno-early-inlining\n", stem, stem);
}

bool profile_overlay(const struct source *src, const GPtrArray *files, GHashTable *overlay, GError **err)
{
	for (guint i = 0; i < files->len; i++) {
		const char *file = files->pdata[i];
		g_autofree char *stem = NULL, *makefile = NULL, *base = g_path_get_basename(file);
		g_autoptr(GBytes) old = NULL;
		GString *text;

		if (!is_there(src, file))
			continue;
		makefile = makefile_of(src, file, &stem);
		if (!makefile) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "no folder above %s of %s has a Makefile", file, src->name);
			return false;
		}
		old = source_read(src, overlay, makefile, err);
		if (!old)
			return false;
		base[strlen(base) - 2] = '\0';
		text = g_string_new_len(g_bytes_get_data(old, NULL), g_bytes_get_size(old));
		/* scripts/Makefile.lib: by the name in the folder since 6.10, by the bare name before */
		count_object(text, stem);
		if (strcmp(base, stem))
			count_object(text, base);
		overlay_set(overlay, makefile, g_string_free_to_bytes(text));
	}
	return true;
}
