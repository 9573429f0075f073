// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that do not build on some kernel's library.  One of them costs its own
 * result and no other test's: make goes on without it (-k), and what it said of
 * each target that failed is kept beside the programs.
 */
#include "build/unbuilt.h"

#include <stdlib.h>
#include <string.h>

#define NOTE "unbuilt.json"

struct unbuilt *unbuilt_new(void)
{
	struct unbuilt *u = g_new0(struct unbuilt, 1);

	u->failed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return u;
}

void unbuilt_free(struct unbuilt *u)
{
	if (!u)
		return;
	g_hash_table_unref(u->failed);
	g_free(u->said);
	g_free(u);
}

/* @line as results show it, g_free() it */
static char *one_line(const char *line)
{
	char *clean = mmg_clean(line, -1, 300);

	return g_strstrip(clean);
}

/* T of "make[1]: *** [lib.mk:84: T] Error 1", g_free() it; or NULL */
static char *failed_target(const char *line)
{
	const char *open = strstr(line, "*** ["), *close, *space;

	close = open ? strrchr(open, ']') : NULL;
	if (!close)
		return NULL;
	open += strlen("*** [");
	/* GNU make before 4 names no place */
	for (space = close; space > open && space[-1] != ' '; space--)
		;
	return g_strndup(space, close - space);
}

/* "/out/kvm/nested_test.o" -> "kvm/nested", "/out/kvm/.lib/x.o" and "kvm" -> "kvm"; g_free() it */
static char *name_of(const char *out, const char *target)
{
	const char *p = g_str_has_prefix(target, out) ? target + strlen(out) : target, *end;

	while (*p == '/')
		p++;
	end = g_strrstr(p, "_test");
	if (end && (!end[5] || end[5] == '.') && !strstr(p, "/."))
		return g_strndup(p, end - p);
	return g_strndup(p, strcspn(p, "/"));
}

void unbuilt_line(struct unbuilt *u, const char *out, const char *line)
{
	char *target = failed_target(line), *name;

	if (!target) {
		if (!u->said && (strstr(line, "error:") || strstr(line, "undefined reference") ||
				 strstr(line, "*** ")))
			u->said = one_line(line);
		return;
	}
	name = name_of(out, target);
	if (g_hash_table_contains(u->failed, name))
		g_free(name);
	else
		g_hash_table_insert(u->failed, name, u->said ? g_strdup(u->said) : one_line(line));
	g_clear_pointer(&u->said, g_free);
	g_free(target);
}

const char *unbuilt_why(const struct unbuilt *u, const char *test)
{
	char *family = g_strndup(test, strcspn(test, "/"));
	const char *why = g_hash_table_lookup(u->failed, test);

	if (!why)
		why = g_hash_table_lookup(u->failed, family);
	g_free(family);
	return why;
}

bool unbuilt_is_diagnosis(const char *line)
{
	static const char *const host[] = { "No space left", "internal compiler error", "Killed",
					    "Cannot allocate memory", "Permission denied",
					    "Input/output error", "cannot execute", "signal terminated" };

	for (gsize i = 0; i < G_N_ELEMENTS(host); i++)
		if (strstr(line, host[i]))
			return false;
	/* a Makefile's own $(error) is about the source as well */
	return strstr(line, "error:") || strstr(line, "undefined reference") ||
	       strstr(line, "No rule to make target") ||
	       (strstr(line, "*** ") && !strstr(line, "*** ["));
}

bool unbuilt_save(const char *dir, json_t *tests, GError **err)
{
	char *path = g_build_filename(dir, NOTE, NULL);
	char *text = json_dumps(tests, JSON_INDENT(1) | JSON_SORT_KEYS);
	bool ok = text && mmg_write_atomic(path, text, -1, err);

	free(text);
	g_free(path);
	return ok;
}

json_t *unbuilt_load(const char *dir)
{
	char *path = g_build_filename(dir, NOTE, NULL);
	json_t *tests = json_load_file(path, 0, NULL);

	g_free(path);
	if (json_is_object(tests))
		return tests;
	json_decref(tests);
	return json_object();
}
