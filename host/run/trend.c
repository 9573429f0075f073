// SPDX-License-Identifier: GPL-2.0-only
/*
 * A measured value over time, and where it changed.
 */
#include "run/trend.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "run/run.h"

#define SIDE	3	/* values on each side of a change, at least */
#define ALPHA	0.05
#define MAX_POINTS	400	/* of one trend: the newest */

static void point_free(gpointer point)
{
	struct trend_point *p = point;

	g_free(p->started);
	g_free(p->label);
	g_free(p->kernel);
	g_free(p);
}

void trend_free(gpointer trend)
{
	struct trend *t = trend;

	g_free(t->name);
	g_free(t->machine);
	g_free(t->metric);
	g_ptr_array_unref(t->points);
	g_free(t);
}

static const char *column(sqlite3_stmt *s, int i)
{
	const unsigned char *t = sqlite3_column_text(s, i);

	return t ? (const char *)t : "";
}

static bool wanted(const GPtrArray *globs, const char *metric, sqlite3_stmt *s)
{
	return (!globs->len || mmg_glob_any(globs, column(s, 0))) && (!metric || !strcmp(metric, column(s, 2)));
}

static struct trend *same_trend(GPtrArray *all, sqlite3_stmt *s)
{
	struct trend *t = all->len ? all->pdata[all->len - 1] : NULL;

	if (t && !strcmp(t->name, column(s, 0)) && !strcmp(t->machine, column(s, 1)) &&
	    !strcmp(t->metric, column(s, 2)))
		return t;
	t = g_new0(struct trend, 1);
	t->name = g_strdup(column(s, 0));
	t->machine = g_strdup(column(s, 1));
	t->metric = g_strdup(column(s, 2));
	t->points = g_ptr_array_new_with_free_func(point_free);
	g_ptr_array_add(all, t);
	return t;
}

static void add_point(struct trend *t, sqlite3_stmt *s)
{
	struct trend_point *p = g_new0(struct trend_point, 1);

	p->started = g_strdup(column(s, 3));
	p->label = g_strdup(column(s, 4));
	p->kernel = g_strdup(column(s, 5));
	p->value = sqlite3_column_double(s, 6);
	g_ptr_array_add(t->points, p);
	if (t->points->len > MAX_POINTS)
		g_ptr_array_remove_index(t->points, 0);
}

GPtrArray *trend_read(const GPtrArray *globs, const char *metric, GError **err)
{
	static const char sql[] =
		"SELECT r.name, r.machine, m.metric, run.started, r.label, r.kernel,"
		" CASE m.metric WHEN 'auc' THEN r.auc ELSE r.duration END AS value, run.id AS id, r.repeat AS n"
		" FROM result r JOIN run ON run.id = r.run"
		" JOIN (SELECT 'auc' AS metric UNION SELECT 'duration_s') m"
		" WHERE r.result = 'pass' AND run.verb IS NOT 'mutants' AND value IS NOT NULL"
		" UNION ALL SELECT f.name, f.machine, f.metric, run.started, f.label, f.kernel, f.value, run.id, f.repeat"
		" FROM figure f JOIN run ON run.id = f.run WHERE run.verb IS NOT 'mutants'"
		" ORDER BY 1, 2, 3, 4, id, n";
	GPtrArray *all = g_ptr_array_new_with_free_func(trend_free);
	struct sqlite3 *db = history_open(true, err);
	sqlite3_stmt *s = NULL;
	int rc;

	if (!db) {
		g_ptr_array_unref(all);
		return NULL;
	}
	rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW && wanted(globs, metric, s))
			add_point(same_trend(all, s), s);
	}
	if (rc != SQLITE_DONE) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "reading the history: %s", sqlite3_errmsg(db));
		g_clear_pointer(&all, g_ptr_array_unref);
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	return all;
}

bool trend_split(const double *v, guint n, guint side, double alpha, struct trend_change *c)
{
	guint tried = n >= 2 * side ? n - 2 * side + 1 : 0;
	double best = 2;

	for (guint i = side; tried && i <= n - side; i++) {
		double p = rank_test(v, i, v + i, n - i, NULL);

		if (p < best) {
			best = p;
			c->at = i;
		}
	}
	if (best * tried >= alpha || !tried)
		return false;
	c->p = best * tried;
	c->before = bench_median(v, c->at);
	c->after = bench_median(v + c->at, n - c->at);
	return true;
}

static void split_range(const double *v, guint from, guint to, GArray *into)
{
	struct trend_change c;

	if (!trend_split(v + from, to - from, SIDE, ALPHA, &c))
		return;
	c.at += from;
	split_range(v, from, c.at, into);
	g_array_append_val(into, c);
	split_range(v, c.at, to, into);
}

GArray *trend_changes(const struct trend *t)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct trend_change));
	g_autofree double *v = g_new(double, t->points->len + 1);

	for (guint i = 0; i < t->points->len; i++)
		v[i] = ((const struct trend_point *)t->points->pdata[i])->value;
	split_range(v, 0, t->points->len, changes);
	return changes;
}
