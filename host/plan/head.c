// SPDX-License-Identifier: GPL-2.0-only
/*
 * The head comment of a test: its tags and its first paragraph.
 */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MAX 16384			/* bytes of a source that are looked at */
#define DEFAULT_TIMEOUT 120

static GPtrArray *list_new(void)
{
	return g_ptr_array_new_with_free_func(g_free);
}

static void add_words(GPtrArray *list, const char *text)
{
	g_auto(GStrv) words = g_strsplit_set(text, " \t,", -1);

	for (int i = 0; words[i]; i++)
		if (*words[i])
			g_ptr_array_add(list, g_strdup(words[i]));
}

static void set_tag(struct test *t, const char *tag, const char *value)
{
	if (!strcmp(tag, "about")) {
		g_free(t->about);
		t->about = g_strdup(value);
	} else if (!strcmp(tag, "guards")) {
		g_ptr_array_add(t->guards, g_strdup(value));
	} else if (!strcmp(tag, "needs")) {
		add_words(t->needs, value);
	} else if (!strcmp(tag, "wants")) {
		add_words(t->wants, value);
	} else if (!strcmp(tag, "machines")) {
		add_words(t->machines, value);
	} else if (!strcmp(tag, "quick")) {
		add_words(t->quick, value);
	} else if (!strcmp(tag, "quick-cases")) {
		add_words(t->quick_cases, value);
	} else if (!strcmp(tag, "modules")) {
		add_words(t->modules, value);
	} else if (!strcmp(tag, "provokes")) {
		g_ptr_array_add(t->provokes, g_strdup(value));
	} else if (!strcmp(tag, "export")) {
		t->stays = true;
	} else if (!strcmp(tag, "timeout")) {
		t->timeout = CLAMP(atoi(value), 1, 3600);
	}
}

/* "mmgate-TAG: VALUE", at the beginning of a comment's line */
static void read_tag(struct test *t, const char *line)
{
	g_auto(GStrv) parts = NULL;

	if (!g_str_has_prefix(line, "mmgate-"))
		return;
	parts = g_strsplit(line + strlen("mmgate-"), ":", 2);
	if (parts[0] && parts[1])
		set_tag(t, parts[0], g_strstrip(parts[1]));
}

/*
 * The text of the next line of the comments that @at begins with: *@at goes on behind it, *@inside says
 * whether a comment is still open.  NULL where the comments end; g_free() it.
 */
static char *next_line(const char **at, bool *inside)
{
	gsize n = strcspn(*at, "\n");
	g_autofree char *line = g_strstrip(g_strndup(*at, n));
	char *text = line, *end;

	if (!**at)
		return NULL;
	if (!*inside && *text && !g_str_has_prefix(text, "/*") && !g_str_has_prefix(text, "//"))
		return NULL;
	*inside |= g_str_has_prefix(text, "/*");
	end = *inside ? strstr(text, "*/") : NULL;
	if (end) {
		*end = '\0';
		*inside = false;
	}
	*at += n + ((*at)[n] == '\n');
	return g_strstrip(g_strdup(text + strspn(text, "*/")));
}

struct test *catalog_parse(const char *name, const char *source)
{
	g_autofree char *head = g_strndup(source, HEAD_MAX);
	struct test *t = g_new0(struct test, 1);
	GString *prose = g_string_new(NULL);
	enum { BEFORE, WITHIN, AFTER } paragraph = BEFORE;
	const char *at = head;
	bool inside = false;
	char *line;

	t->name = g_strdup(name);
	t->guards = list_new();
	t->needs = list_new();
	t->wants = list_new();
	t->machines = list_new();
	t->quick = list_new();
	t->quick_cases = list_new();
	t->modules = list_new();
	t->provokes = list_new();
	t->timeout = DEFAULT_TIMEOUT;
	while ((line = next_line(&at, &inside))) {
		read_tag(t, line);
		/* the first paragraph follows the tags, behind an empty line of the comment */
		if (*line && paragraph == WITHIN)
			g_string_append_printf(prose, "%s%s", prose->len ? " " : "", line);
		else if (!*line && inside && (t->about || paragraph == WITHIN))
			paragraph = paragraph == BEFORE ? WITHIN : prose->len ? AFTER : WITHIN;
		g_free(line);
	}
	t->prose = g_string_free(prose, FALSE);
	if (!t->machines->len)
		g_ptr_array_add(t->machines, g_strdup("default"));
	return t;
}

void catalog_test_free(gpointer test)
{
	struct test *t = test;

	g_free(t->name);
	g_free(t->about);
	g_free(t->prose);
	g_ptr_array_unref(t->guards);
	g_ptr_array_unref(t->needs);
	g_ptr_array_unref(t->wants);
	g_ptr_array_unref(t->machines);
	g_ptr_array_unref(t->quick);
	g_ptr_array_unref(t->quick_cases);
	g_ptr_array_unref(t->modules);
	g_ptr_array_unref(t->provokes);
	g_free(t);
}
