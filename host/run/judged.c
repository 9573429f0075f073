// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was found out about mutants before.  An answer holds for the very same
 * images, test programs and machines, so its name is made of all of these: a hunt that
 * was interrupted, or is done in pieces, goes on where it was.
 */
#include <string.h>

#include "run/run.h"

/* Part of every name: a change in how mutants are judged makes old answers strangers */
#define JUDGED_FORMAT "1"

/**
 * struct judged_keys - what all answers of one hunt have in common
 * @built:	folder of the test programs
 * @sums:	path -> SHA-256 of the file
 * @common:	seed, accelerator, repeats, PID 1
 */
struct judged_keys {
	GPtrArray *catalog;
	char *built, *common;
	GHashTable *sums;
};

static const char *sum_of(const struct judged_keys *keys, const char *path)
{
	const char *known = g_hash_table_lookup(keys->sums, path);
	char *sum;

	if (known)
		return known;
	sum = mmg_sha256_file(path, NULL);
	if (!sum)
		return NULL;
	g_hash_table_insert(keys->sums, g_strdup(path), sum);
	return sum;
}

struct judged_keys *judged_keys_new(const struct run_options *opt, const struct kernel *good, GError **err)
{
	struct judged_keys *keys = g_new0(struct judged_keys, 1);
	g_autofree char *init = NULL;
	const char *sum;

	keys->sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	keys->catalog = catalog_load(err);
	keys->built = keys->catalog ? selftests_build(good, err) : NULL;
	if (!keys->built) {
		judged_keys_free(keys);
		return NULL;
	}
	init = g_build_filename(keys->built, "init", NULL);
	sum = sum_of(keys, init);
	keys->common = g_strdup_printf(JUDGED_FORMAT " %s %s %s %" G_GUINT64_FORMAT " %d %s",
				       MMG_VERSION, sum ? sum : "", opt->accel ? opt->accel : "auto",
				       opt->seed, MAX(opt->repeat, 1),
				       good->sha256 ? good->sha256 : "");
	return keys;
}

void judged_keys_free(struct judged_keys *keys)
{
	if (!keys)
		return;
	if (keys->catalog)
		g_ptr_array_unref(keys->catalog);
	g_hash_table_unref(keys->sums);
	g_free(keys->built);
	g_free(keys->common);
	g_free(keys);
}

/* Everything one boot depends on but its kernel; false where a file is missing */
static bool add_boot(const struct judged_keys *keys, GString *s, const struct boot_plan *bp)
{
	g_autofree char *conf = g_strconcat(bp->machine->name, ".conf", NULL);
	g_autofree char *path = mmg_root_path("configs", "machines", conf, NULL);
	const char *sum = sum_of(keys, path);

	if (!sum)
		return false;
	g_string_append_printf(s, "machine %s %s\n", bp->machine->name, sum);
	for (guint i = 0; i < bp->tests->len; i++) {
		const struct planned *p = bp->tests->pdata[i];
		g_autofree char *file = g_strconcat(p->test->name, "_test", NULL);
		g_autofree char *prog = g_build_filename(keys->built, file, NULL);

		/* one that does not build for this kernel has its answer as well */
		sum = sum_of(keys, prog);
		g_string_append_printf(s, "test %s %s %d", p->test->name, sum ? sum : "unbuilt",
				       p->test->timeout);
		for (guint j = 0; j < p->cases->len; j++)
			g_string_append_printf(s, " %s", (char *)p->cases->pdata[j]);
		for (guint j = 0; j < p->test->modules->len; j++)
			g_string_append_printf(s, " +%s", (char *)p->test->modules->pdata[j]);
		g_string_append_c(s, '\n');
	}
	return true;
}

char *judged_key(const struct judged_keys *keys, const char *sha256, const GPtrArray *tests,
		 const GPtrArray *machines, const char *how)
{
	g_autoptr(GPtrArray) plan = plan_make(keys->catalog, tests, machines, NULL);
	g_autoptr(GString) s = g_string_new(keys->common);

	if (!plan || !sha256)
		return NULL;
	g_string_append_printf(s, "\n%s\n%s\n", sha256, how);
	for (guint i = 0; i < plan->len; i++)
		if (!add_boot(keys, s, plan->pdata[i]))
			return NULL;
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, s->str, s->len);
}

char *judged_boot_key(const struct judged_keys *keys, const char *sha256, const struct boot_plan *bp,
		      const char *how)
{
	g_autoptr(GString) s = g_string_new(keys->common);

	g_string_append_printf(s, "\n%s\n%s\n", sha256, how);
	if (!sha256 || !add_boot(keys, s, bp))
		return NULL;
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, s->str, s->len);
}

static char *judged_path(const char *key)
{
	g_autofree char *file = g_strconcat(key, ".json", NULL);

	return mmg_cache_path("mutants", "judged", file, NULL);
}

json_t *judged_load(const char *key)
{
	g_autofree char *path = key ? judged_path(key) : NULL;
	json_t *j = path ? json_load_file(path, 0, NULL) : NULL;

	if (j && !json_is_string(json_object_get(j, "judged"))) {
		json_decref(j);
		j = NULL;
	}
	return j;
}

void judged_save(const char *key, json_t *what)
{
	g_autofree char *path = key ? judged_path(key) : NULL;
	g_autofree char *dir = path ? g_path_get_dirname(path) : NULL;
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *when = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
	g_autoptr(GError) e = NULL;
	char *text;

	if (!path)
		return;
	json_object_set_new(what, "judged", json_string(when));
	text = json_dumps(what, JSON_INDENT(1) | JSON_SORT_KEYS);
	if (!text || !mmg_mkdirs(dir, &e) || !mmg_write_atomic(path, text, -1, &e))
		status_note("not remembered: %s", e ? e->message : "no memory");
	free(text);
}
