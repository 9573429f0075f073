// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a run of mutants prints: which test notices which, and what nothing notices.
 */
#include <stdio.h>
#include <string.h>

#include "verbs/mutants.h"

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *matrix_columns(const json_t *tests)
{
	GPtrArray *cols = g_ptr_array_new();
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)tests, name, v)
		g_ptr_array_add(cols, (char *)name);
	g_ptr_array_sort(cols, by_text);
	return cols;
}

static bool has_word(const json_t *list, const char *word)
{
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)list, i, v)
		if (!strcmp(json_string_value(v), word))
			return true;
	return false;
}

/* The sign of a column: a to z, then A to Z, then numbers from 53 on */
static char *column_sign(guint c)
{
	if (c < 26)
		return g_strdup_printf("%c", 'a' + c);
	return c < 52 ? g_strdup_printf("%c", 'A' + c - 26) : g_strdup_printf("%u", c + 1);
}

static void print_matrix(const json_t *list, const GPtrArray *cols)
{
	int width = cols->len <= 52 ? 1 : cols->len < 100 ? 2 : 3;
	const json_t *m;
	size_t i;

	for (guint c = 0; c < cols->len; c++) {
		g_autofree char *sign = column_sign(c);

		printf("  %*s  %s\n", width, sign, (char *)cols->pdata[c]);
	}
	printf("\n  %-34s ", "F fail  P panic or hang  S splat");
	for (guint c = 0; c < cols->len; c++) {
		g_autofree char *sign = column_sign(c);

		printf(" %*s", width, sign);
	}
	printf("\n  %-34s ", "B broken  . passes  - not shown it");
	printf("\n");
	json_array_foreach(list, i, m) {
		const json_t *kills = json_object_get(m, "kills"), *shown = json_object_get(m, "shown");

		printf("  %-34s ", obj_str(m, "name"));
		for (guint c = 0; c < cols->len; c++) {
			const char *k = obj_str(kills, cols->pdata[c]);

			printf(" %*s", width, *k ? k : has_word(shown, cols->pdata[c]) ? "." : "-");
		}
		printf("  %s%s%s%s\n", obj_str(m, "fate"), obj_fate(m) == FATE_KILLED &&
		       !json_is_true(json_object_get(m, "noticed_as_expected")) ?
		       ", by other tests than its file names" : "",
		       *obj_str(m, "judged") ? ", seen " : "", obj_str(m, "judged"));
	}
}

static void print_only(const json_t *tests, const GPtrArray *cols)
{
	const json_t *m;
	size_t j;

	printf("\nkilled by one test only, of tests that ran to their end:\n");
	for (guint c = 0; c < cols->len; c++) {
		const json_t *only = json_object_get(json_object_get(tests, cols->pdata[c]), "only");

		if (!json_array_size(only))
			continue;
		printf("  %s:", (char *)cols->pdata[c]);
		json_array_foreach(only, j, m)
			printf(" %s", json_string_value(m));
		printf("\n");
	}
}

void mutants_print(const json_t *out)
{
	const json_t *list = json_object_get(out, "list"), *tests = json_object_get(out, "tests"), *m;
	g_autoptr(GPtrArray) cols = matrix_columns(tests);
	json_int_t before = json_integer_value(json_object_get(out, "judged_before"));
	size_t i;

	printf("mutants of %s\n\n", obj_str(out, "source"));
	print_matrix(list, cols);
	print_only(tests, cols);
	json_array_foreach(list, i, m) {
		if (obj_fate(m) == FATE_KILLED)
			continue;
		printf("\n%s: %s\n  %s\n", obj_str(m, "fate"), obj_str(m, "name"), obj_str(m, "about"));
		if (*obj_str(m, "survives"))
			printf("  %s\n", obj_str(m, "survives"));
		else if (*obj_str(m, "reason"))
			printf("  %s\n", obj_str(m, "reason"));
		else
			printf("  open: nothing noticed it\n");
	}
	if (before)
		printf("\n%lld judged in earlier runs, with the same image, test programs and machines; "
		       "to judge them anew remove\n%s/mutants/judged\n", (long long)before, mmg_cache());
	printf("\nscore: %.0f %% in %.0f min\n", 100 * json_number_value(json_object_get(out, "score")),
	       json_number_value(json_object_get(out, "duration_s")) / 60);
}
