// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run beside what the history holds: was it so before?
 */
#include "run/past.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "run/run.h"
#include "run/seen.h"

#define LEAST_VALUES	5
#define LEAST_RUNS	3	/* fewer are no habit */
#define SPREADS		6
#define SCALE		1.4826	/* median absolute deviation to standard deviation, of normal values */
#define SLOWER		0.2	/* of the median: less is the host */
#define SLOWER_S	1.0
#define LOWER_AUC	0.02
#define MOST_NOTES	50

/**
 * struct before - one case on one machine in the last runs, newest first
 * @bad, @good:	runs in which it failed or was broken; in which it only passed
 * @seconds, @auc: of the runs in which it passed: the medians
 */
struct before {
	unsigned int bad, good;
	GArray *seconds, *auc;
};

bool past_worse(const double *old, guint n, double now, double least, bool higher)
{
	g_autofree double *away = g_new(double, n + 1);
	double middle, spread;

	if (n < LEAST_VALUES || !isfinite(now))
		return false;
	for (guint i = 0; i < n; i++)
		if (higher ? now <= old[i] : now >= old[i])
			return false;
	middle = bench_median(old, n);
	for (guint i = 0; i < n; i++)
		away[i] = fabs(old[i] - middle);
	spread = SCALE * bench_median(away, n);
	return fabs(now - middle) > MAX(least, SPREADS * spread);
}

/* The median of what one run measured, for @into; the values are forgotten */
static void close_values(GArray *values, GArray *into)
{
	double m;

	if (!values->len)
		return;
	m = bench_median((double *)(void *)values->data, values->len);
	g_array_append_val(into, m);
	g_array_set_size(values, 0);
}

static void close_run(struct before *b, unsigned int pass, unsigned int bad, GArray *seconds, GArray *auc)
{
	b->bad += bad > 0;
	b->good += pass && !bad;
	close_values(seconds, b->seconds);
	close_values(auc, b->auc);
}

/* Rows of one case, run by run, newest first */
static int read_rows(sqlite3_stmt *s, struct before *b)
{
	g_autoptr(GArray) seconds = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GArray) auc = g_array_new(FALSE, FALSE, sizeof(double));
	unsigned int runs = 0, pass = 0, bad = 0;
	sqlite3_int64 last = -1;
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		enum result r = result_find((const char *)sqlite3_column_text(s, 1) ?: "");

		if (r == RESULT_SKIP || r == RESULT_NONE)
			continue;
		if (sqlite3_column_int64(s, 0) != last) {
			close_run(b, pass, bad, seconds, auc);
			pass = 0;
			bad = 0;
			last = sqlite3_column_int64(s, 0);
			if (runs++ == PAST_RUNS)
				return SQLITE_DONE;
		}
		pass += r == RESULT_PASS;
		bad += result_bad(r);
		if (r == RESULT_PASS) {
			double v = sqlite3_column_double(s, 2);

			g_array_append_val(seconds, v);
			v = sqlite3_column_double(s, 3);
			if (sqlite3_column_type(s, 3) != SQLITE_NULL)
				g_array_append_val(auc, v);
		}
	}
	close_run(b, pass, bad, seconds, auc);
	return rc;
}

static bool before_read(sqlite3 *db, const struct seen *c, const char *arch, const char *started,
			struct before *b, GError **err)
{
	static const char sql[] =
		"SELECT run.id, r.result, r.duration, r.auc FROM result r JOIN run ON run.id = r.run"
		" WHERE r.name = ?1 AND r.machine = ?2 AND r.arch = ?3 AND run.started < ?4"
		" AND run.verb NOT IN ('mutants', 'bisect') AND NOT (run.verb = 'gate' AND r.label LIKE '%-patch%')"
		" ORDER BY run.started DESC, run.id DESC LIMIT 1000";
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(s, 1, c->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, c->machine, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, arch, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 4, started, -1, SQLITE_STATIC);
		rc = read_rows(s, b);
	}
	sqlite3_finalize(s);
	if (rc != SQLITE_DONE)
		mmg_set_error(err, MMG_EXIT_BROKEN, "reading the history: %s", sqlite3_errmsg(db));
	return rc == SQLITE_DONE;
}

static double values_median(const GHashTable *metrics, const char *name)
{
	const GArray *v = g_hash_table_lookup((GHashTable *)metrics, name);

	return v && v->len ? bench_median((const double *)(const void *)v->data, v->len) : NAN;
}

/* Seconds of the passes of each case of kernel @nr: key -> median */
static GHashTable *durations_of(json_t *run, int nr)
{
	GHashTable *lists = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		g_autofree char *key = g_strdup_printf("%s@%s", obj_str(c, "name"), obj_str(c, "machine"));
		double s = obj_num(c, "duration_s");
		GArray *list;

		if (obj_int(c, "kernel") != nr || obj_result(c) != RESULT_PASS)
			continue;
		list = g_hash_table_lookup(lists, key);
		if (!list) {
			list = g_array_new(FALSE, FALSE, sizeof(double));
			g_hash_table_insert(lists, g_strdup(key), list);
		}
		g_array_append_val(list, s);
	}
	return lists;
}

/* Is @now worse than before; and, of a gate, than on @base (NAN: there is none)? */
static void note_value(json_t *notes, const struct seen *c, const GArray *old, const char *metric, double now,
		       double base, double least, bool higher)
{
	const double *v = (const double *)(const void *)old->data;
	g_autofree char *text = NULL;
	double middle;

	if (!old->len || json_array_size(notes) >= MOST_NOTES)
		return;
	middle = bench_median(v, old->len);
	if (!strcmp(metric, "duration_s"))
		least = MAX(SLOWER_S, SLOWER * middle);
	if (!past_worse(v, old->len, now, least, higher))
		return;
	/* the host, or main, is what changed */
	if (isfinite(base) && past_worse(v, old->len, base, least, higher))
		return;
	text = g_strdup_printf("%s@%s: %s %.3g, in the last %u runs %.3g", c->name, c->machine,
			       !strcmp(metric, "duration_s") ? "seconds" : metric, now, old->len, middle);
	json_array_append_new(notes, json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:f, s:s}", "name", c->name,
					       "machine", c->machine, "kind", "worse", "metric", metric, "runs",
					       (int)old->len, "before", middle, "now", now, "note", text));
}

static void note_case(json_t *notes, const struct seen *c, const struct before *b)
{
	g_autofree char *text = NULL;

	if (!(c->t.fail || c->t.broken) || !b->bad || b->bad + b->good < LEAST_RUNS || json_array_size(notes) >= MOST_NOTES)
		return;
	text = g_strdup_printf("%s@%s: failed in %u of the last %u runs as well", c->name, c->machine, b->bad,
			       b->bad + b->good);
	json_array_append_new(notes, json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "name", c->name, "machine",
					       c->machine, "kind", b->good ? "flaky before" : "failed before",
					       "runs", (int)(b->bad + b->good), "bad", (int)b->bad, "note",
					       text));
}

static bool note_kernel(sqlite3 *db, json_t *run, int nr, bool gate, json_t *notes, GError **err)
{
	const json_t *kernel = json_array_get(json_object_get(run, "kernels"), nr);
	g_autoptr(GHashTable) all = seen_collect(run, nr);
	g_autoptr(GHashTable) base = seen_collect(run, 0);
	g_autoptr(GHashTable) times = durations_of(run, nr);
	g_autoptr(GHashTable) base_times = durations_of(run, 0);
	g_autoptr(GPtrArray) keys = seen_keys(all, all);
	bool ok = true;

	for (guint i = 0; i < keys->len && ok; i++) {
		const struct seen *c = g_hash_table_lookup(all, keys->pdata[i]);
		const struct seen *on_base = gate ? g_hash_table_lookup(base, keys->pdata[i]) : NULL;
		struct before b = { .seconds = g_array_new(FALSE, FALSE, sizeof(double)),
				    .auc = g_array_new(FALSE, FALSE, sizeof(double)) };

		ok = before_read(db, c, obj_str(kernel, "arch"), obj_str(run, "started"), &b, err);
		if (ok) {
			note_case(notes, c, &b);
			note_value(notes, c, b.seconds, "duration_s", values_median(times, keys->pdata[i]),
				   gate ? values_median(base_times, keys->pdata[i]) : NAN, 0, true);
			note_value(notes, c, b.auc, "auc", values_median(c->metrics, "auc"),
				   on_base ? values_median(on_base->metrics, "auc") : NAN, LOWER_AUC, false);
		}
		g_array_unref(b.seconds);
		g_array_unref(b.auc);
	}
	return ok;
}

bool past_add(json_t *run, GError **err)
{
	size_t n = json_array_size(json_object_get(run, "kernels"));
	bool gate = json_object_get(run, "gate");
	struct sqlite3 *db = history_open(true, err);
	json_t *notes = json_array();
	bool ok = db;

	for (size_t k = gate ? 1 : 0; k < (gate ? MIN(n, 2) : n) && ok; k++)
		ok = note_kernel(db, run, k, gate, notes, err);
	if (db)
		sqlite3_close(db);
	if (ok && json_array_size(notes))
		json_object_set(run, "past", notes);
	json_decref(notes);
	return ok;
}
