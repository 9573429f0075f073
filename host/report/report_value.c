// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a verb adds to run.json (gate, mutants, bench), laid out by its form, so
 * that a new member shows up in the report without a change here.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

#define DEPTH_MAX	8
#define COLUMNS_MAX	16

/* Keys of the objects of a list, in the order in which they first come */
static GPtrArray *columns_of(const json_t *list)
{
	GPtrArray *cols = g_ptr_array_new();
	const char *key;
	json_t *o, *v;
	size_t i;

	json_array_foreach((json_t *)list, i, o) {
		json_object_foreach(o, key, v) {
			(void)v;
			if (cols->len < COLUMNS_MAX &&
			    !g_ptr_array_find_with_equal_func(cols, key, g_str_equal, NULL))
				g_ptr_array_add(cols, (char *)key);
		}
	}
	return cols;
}

static bool all_objects(const json_t *list)
{
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)list, i, o)
		if (!json_is_object(o))
			return false;
	return json_array_size(list) > 0;
}

static void label(GString *out, const char *key)
{
	char *s = g_strdelimit(g_strdup(key), "_", ' ');

	html_text(out, "%s", s);
	g_free(s);
}

static void scalar(GString *out, const json_t *v)
{
	if (json_is_string(v)) {
		const char *class = html_class(json_string_value(v));

		if (class)
			html_element(out, "span", class, json_string_value(v));
		else
			html_text(out, "%s", json_string_value(v));
	} else if (json_is_integer(v)) {
		html_text(out, "%lld", (long long)json_integer_value(v));
	} else if (json_is_real(v)) {
		html_text(out, "%.4g", json_real_value(v));
	} else if (json_is_boolean(v)) {
		html_text(out, "%s", json_is_true(v) ? "yes" : "no");
	} else {
		g_string_append(out, "&#8211;");
	}
}

static void table(GString *out, const json_t *list, int depth)
{
	GPtrArray *cols = columns_of(list);
	json_t *o;
	size_t i;

	g_string_append(out, "<div class=\"scroll\"><table><thead><tr>");
	for (guint c = 0; c < cols->len; c++) {
		g_string_append(out, "<th scope=\"col\">");
		label(out, cols->pdata[c]);
		g_string_append(out, "</th>");
	}
	g_string_append(out, "</tr></thead><tbody>\n");
	json_array_foreach((json_t *)list, i, o) {
		g_string_append(out, "<tr>");
		for (guint c = 0; c < cols->len; c++) {
			const json_t *v = json_object_get(o, cols->pdata[c]);
			bool number = json_is_number(v);

			g_string_append(out, number ? "<td class=\"num\">" : "<td>");
			if (v)
				html_value(out, v, depth + 1);
			g_string_append(out, "</td>");
		}
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</tbody></table></div>\n");
	g_ptr_array_unref(cols);
}

static void list(GString *out, const json_t *v, int depth)
{
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)v, i, o) {
		if (i)
			g_string_append(out, json_is_object(o) || json_is_array(o) ? "<br>" : ", ");
		html_value(out, o, depth + 1);
	}
}

static void object(GString *out, const json_t *v, int depth)
{
	const char *key;
	json_t *o;

	g_string_append(out, "<dl>");
	json_object_foreach((json_t *)v, key, o) {
		g_string_append(out, "<dt>");
		label(out, key);
		g_string_append(out, "</dt><dd>");
		html_value(out, o, depth + 1);
		g_string_append(out, "</dd>\n");
	}
	g_string_append(out, "</dl>");
}

void html_value(GString *out, const json_t *v, int depth)
{
	if (depth > DEPTH_MAX)
		g_string_append(out, "&#8230;");
	else if (json_is_object(v))
		object(out, v, depth);
	else if (json_is_array(v) && all_objects(v))
		table(out, v, depth);
	else if (json_is_array(v))
		list(out, v, depth);
	else
		scalar(out, v);
}
