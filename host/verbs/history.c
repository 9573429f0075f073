// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb history: a test's record over runs and kernels.
 */
#include "verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAIL		20	/* results shown of each line */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(GArray *v)
{
	if (!v->len)
		return 0;
	g_array_sort(v, by_value);
	return (g_array_index(v, double, v->len / 2) + g_array_index(v, double, (v->len - 1) / 2)) / 2;
}

static double flake_rate(const struct history_record *r)
{
	int bad = r->fail + r->broken, n = r->pass + bad;

	return n ? (double)MIN(r->pass, bad) / n : 0;
}

static const char *trail_of(const struct history_record *r)
{
	return r->trail->str + (r->trail->len > TRAIL ? r->trail->len - TRAIL : 0);
}

static void print_text(GPtrArray *all)
{
	int wn = 6, wm = 9, wl = 8;
	GString *out = g_string_new(NULL);

	for (guint i = 0; i < all->len; i++) {
		struct history_record *r = all->pdata[i];

		wn = MAX(wn, text_width(r->name) + 2);
		wm = MAX(wm, text_width(r->machine) + 2);
		wl = MAX(wl, text_width(r->label) + 2);
	}
	text_pad(out, "test", wn);
	text_pad(out, "machine", wm);
	text_pad(out, "kernel", wl);
	g_string_append(out, " pass fail broken skip  flips  flake  median  last (. pass F fail B broken s skip)\n");
	for (guint i = 0; i < all->len; i++) {
		struct history_record *r = all->pdata[i];

		text_pad(out, r->name, wn);
		text_pad(out, r->machine, wm);
		text_pad(out, r->label, wl);
		g_string_append_printf(out, "%5d%5d%7d%5d%7d%6.1f%%%7.1fs  %s%s\n", r->pass, r->fail,
				       r->broken, r->skip, r->flips, 100 * flake_rate(r),
				       median(r->seconds), trail_of(r), r->flips ? "  FLAKY" : "");
	}
	fputs(out->str, stdout);
	g_string_free(out, TRUE);
}

static void print_json(GPtrArray *all)
{
	json_t *list = json_array();
	char *text;

	for (guint i = 0; i < all->len; i++) {
		struct history_record *r = all->pdata[i];

		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:b, s:s}",
			"name", r->name, "machine", r->machine, "kernel", r->kernel, "label", r->label,
			"pass", r->pass, "fail", r->fail, "broken", r->broken, "skip", r->skip,
			"flips", r->flips, "flake_rate", flake_rate(r), "median_s", median(r->seconds),
			"flaky", r->flips > 0, "last", trail_of(r)));
	}
	text = json_dumps(list, JSON_INDENT(1));
	printf("%s\n", text ? text : "[]");
	free(text);
	json_decref(list);
}

static void keep_flaky(GPtrArray *all)
{
	for (guint i = 0; i < all->len;) {
		if (!((struct history_record *)all->pdata[i])->flips)
			g_ptr_array_remove_index(all, i);
		else
			i++;
	}
}

static int count_flaky(GPtrArray *all)
{
	int n = 0;

	for (guint i = 0; i < all->len; i++)
		n += ((struct history_record *)all->pdata[i])->flips > 0;
	return n;
}

/**
 * verb_history() - show the record of tests over runs and kernels
 * @cli: --test, --kernel (a label, or the start of an image's SHA-256), --flaky, --json
 * @err: where the record could not be read
 *
 * Return: exit status: 0, 1 with --flaky where something is flaky, 4 where the
 * history holds nothing that was asked for.
 */
int verb_history(struct cli *cli, GError **err)
{
	GPtrArray *all = history_read(cli->tests, cli->kernels, err);
	int flaky, lines, status = MMG_EXIT_OK;

	if (!all)
		return (*err)->code;
	lines = all->len;
	flaky = count_flaky(all);
	if (cli->flaky)
		keep_flaky(all);
	if (cli->json)
		print_json(all);
	else if (all->len)
		print_text(all);
	fflush(stdout);
	if (!lines) {
		status = MMG_EXIT_NOTHING;
		fprintf(stderr, "mmgate: the history holds no result that was asked for\n");
	} else {
		status = cli->flaky && flaky ? MMG_EXIT_FAIL : MMG_EXIT_OK;
		fprintf(stderr, "mmgate: %d record%s, %d flaky (flipped without a kernel change)\n",
			lines, lines == 1 ? "" : "s", flaky);
	}
	g_ptr_array_unref(all);
	return status;
}
