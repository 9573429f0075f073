// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a file of a built kernel is to be read by another parser than the compiler that built it.
 * kbuild leaves the command of each object beside it (scripts/Kbuild.include: cmd_and_savecmd).
 */
#include "build/build.h"

#include <string.h>

/* The compiler's words in @text, the content of an object's .cmd file; NULL where it is none */
static char **command_words(const char *text)
{
	const char *start = strstr(text, " := ");
	const char *end = start ? strstr(start, " -c -o ") : NULL;
	g_autofree char *line = end ? g_strndup(start + 4, end - start - 4) : NULL;
	g_autoptr(GString) plain = line ? g_string_new(line) : NULL;
	char **words = NULL;

	if (!plain)
		return NULL;
	/* make's own quoting */
	g_string_replace(plain, "$$", "$", 0);
	g_string_replace(plain, "$(pound)", "#", 0);
	g_string_replace(plain, "\\#", "#", 0);
	return g_shell_parse_argv(plain->str, NULL, &words, NULL) ? words : NULL;
}

/* @word with the build's view of the source, @links, in place of which @tree stands; g_free() it */
static char *of_tree(const char *word, const char *links, const char *tree)
{
	GString *s = g_string_new(word);

	g_string_replace(s, links, tree, 0);
	return g_string_free(s, FALSE);
}

static bool is_kept(const char *word)
{
	static const char *const starts[] = { "-I", "-D", "-U", "-std=", "-fshort-wchar", "-funsigned-char", "-nostdinc" };

	for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
		if (g_str_has_prefix(word, starts[i]))
			return true;
	return false;
}

char **compile_flags(const char *objects, const struct source *src, const char *file, GError **err)
{
	g_autofree char *dir = g_path_get_dirname(file), *base = g_path_get_basename(file);
	g_autofree char *name = g_strdup_printf(".%.*s.o.cmd", (int)strlen(base) - 2, base);
	g_autofree char *path = g_build_filename(objects, dir, name, NULL), *text = NULL;
	g_autofree char *work = g_path_get_dirname(objects), *links = g_build_filename(work, "src", NULL);
	g_auto(GStrv) words = NULL;
	GPtrArray *flags;

	if (g_file_get_contents(path, &text, NULL, NULL))
		words = command_words(text);
	if (!words) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "how %s is compiled is not known: %s %s; build the kernel first, with "
			      "./run.sh build", file, path, text ? "holds no command" : "is not there");
		return NULL;
	}
	flags = g_ptr_array_new();
	g_ptr_array_add(flags, g_strconcat("-working-directory=", objects, NULL));
	for (char **w = words; *w; w++) {
		if (is_kept(*w)) {
			g_ptr_array_add(flags, of_tree(*w, links, src->tree));
		} else if ((!strcmp(*w, "-include") || !strcmp(*w, "-isystem")) && w[1]) {
			g_ptr_array_add(flags, g_strdup(*w++));
			g_ptr_array_add(flags, of_tree(*w, links, src->tree));
		}
	}
	g_ptr_array_add(flags, NULL);
	return (char **)g_ptr_array_free(flags, FALSE);
}
