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

static void scalar(struct html *h, const json_t *v)
{
	if (json_is_string(v)) {
		const char *class = html_class(json_string_value(v));

		if (class)
			html_element(h, "span", class, json_string_value(v));
		else
			html_text(h, "%s", json_string_value(v));
	} else if (json_is_integer(v)) {
		html_text(h, "%lld", (long long)json_integer_value(v));
	} else if (json_is_real(v)) {
		html_text(h, "%.4g", json_real_value(v));
	} else if (json_is_boolean(v)) {
		html_text(h, "%s", json_is_true(v) ? "yes" : "no");
	} else {
		html_text(h, "\xe2\x80\x93");
	}
}

static void table(struct html *h, const json_t *list, int depth)
{
	g_autoptr(GPtrArray) cols = columns_of(list), heads = g_ptr_array_new_with_free_func(g_free);
	json_t *o;
	size_t i;

	for (guint c = 0; c < cols->len; c++)
		g_ptr_array_add(heads, g_strdelimit(g_strdup(cols->pdata[c]), "_", ' '));
	g_ptr_array_add(heads, NULL);
	html_table(h, NULL, (const char *const *)heads->pdata);
	json_array_foreach((json_t *)list, i, o) {
		html_open(h, "tr", NULL);
		for (guint c = 0; c < cols->len; c++) {
			const json_t *v = json_object_get(o, cols->pdata[c]);

			html_open(h, "td", json_is_number(v) ? "num" : NULL);
			if (v)
				html_value(h, v, depth + 1);
			html_close(h);
		}
		html_close(h);
	}
	html_table_end(h);
}

static void list(struct html *h, const json_t *v, int depth)
{
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)v, i, o) {
		if (i && (json_is_object(o) || json_is_array(o))) {
			html_open(h, "br", NULL);
			html_close(h);
		} else if (i) {
			html_text(h, ", ");
		}
		html_value(h, o, depth + 1);
	}
}

static void object(struct html *h, const json_t *v, int depth)
{
	const char *key;
	json_t *o;

	html_open(h, "dl", NULL);
	json_object_foreach((json_t *)v, key, o) {
		g_autofree char *name = g_strdelimit(g_strdup(key), "_", ' ');

		html_element(h, "dt", NULL, name);
		html_open(h, "dd", NULL);
		html_value(h, o, depth + 1);
		html_close(h);
	}
	html_close(h);
}

void html_value(struct html *h, const json_t *v, int depth)
{
	if (depth > DEPTH_MAX)
		html_text(h, "\xe2\x80\xa6");
	else if (json_is_object(v))
		object(h, v, depth);
	else if (json_is_array(v) && all_objects(v))
		table(h, v, depth);
	else if (json_is_array(v))
		list(h, v, depth);
	else
		scalar(h, v);
}
