// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of all runs: what each case said on which kernel, so that a
 * result that flips without a kernel change is seen for what it is.
 *
 * One SQLite file in the cache, in WAL mode: several runs can write at once,
 * each in one transaction.  A kernel is told by the SHA-256 of its image.
 */
#include "run/rep.h"
#include "run/run.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA		2	/* 2: figures of workloads */
#define WAIT_MS		15000	/* for other runs that write */

static const char schema_sql[] =
	"CREATE TABLE IF NOT EXISTS run ("
	" id INTEGER PRIMARY KEY, name TEXT NOT NULL, started TEXT NOT NULL, verb TEXT, verdict TEXT,"
	" accel TEXT, seed INTEGER, UNIQUE (name, started));"
	"CREATE TABLE IF NOT EXISTS result ("
	" run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, name TEXT NOT NULL,"
	" machine TEXT NOT NULL, kernel TEXT NOT NULL, label TEXT NOT NULL, arch TEXT NOT NULL,"
	" repeat INTEGER NOT NULL, result TEXT NOT NULL, duration REAL, auc REAL, reason TEXT,"
	" allowed TEXT);"
	"CREATE TABLE IF NOT EXISTS figure ("
	" run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, name TEXT NOT NULL,"
	" machine TEXT NOT NULL, kernel TEXT NOT NULL, label TEXT NOT NULL, repeat INTEGER NOT NULL,"
	" metric TEXT NOT NULL, value REAL NOT NULL);"
	"CREATE INDEX IF NOT EXISTS result_name ON result (name, machine, kernel);"
	"CREATE INDEX IF NOT EXISTS result_run ON result (run);";

static bool sql_fault(sqlite3 *db, GError **err, const char *what)
{
	char *path = mmg_cache_path("history.sqlite", NULL);

	mmg_set_error(err, MMG_EXIT_BROKEN, "%s in %s: %s", what, path,
		      db ? sqlite3_errmsg(db) : "out of memory");
	if (mmg_interrupted() && err) {
		g_clear_error(err);
		mmg_check_interrupt(err);
	}
	g_free(path);
	return false;
}

static int user_version(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int v = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		v = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return v;
}

/* Tables where there are none yet; two runs may be first at once */
static bool make_schema(sqlite3 *db, GError **err)
{
	char *sql = g_strdup_printf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", schema_sql,
				    SCHEMA);
	bool ok = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	g_free(sql);
	if (!ok) {
		sql_fault(db, err, "making the history");
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	return ok;
}

/* Wait a moment for another run; signals are heard, and there is an end to it */
static int wait_turn(void *data, int tries)
{
	const gint64 *until = data;

	(void)tries;
	g_main_context_iteration(NULL, FALSE);
	if (mmg_interrupted() || g_get_monotonic_time() > *until)
		return 0;
	g_usleep(50000);
	return 1;
}

/* Switching to WAL does not wait for others by itself */
static bool use_wal(sqlite3 *db, gint64 *until)
{
	int rc;

	do {
		rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	} while ((rc == SQLITE_BUSY || rc == SQLITE_LOCKED) && wait_turn(until, 0));
	return rc == SQLITE_OK;
}

static bool prepare_db(sqlite3 *db, bool writable, GError **err)
{
	static gint64 until;
	int version;

	until = g_get_monotonic_time() + WAIT_MS * 1000LL;
	sqlite3_busy_handler(db, wait_turn, &until);
	if (writable && !use_wal(db, &until))
		return sql_fault(db, err, "opening the history");
	version = user_version(db);
	if (version < 0)
		return sql_fault(db, err, "opening the history");
	if (version > SCHEMA) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "%s is of schema %d, written by a newer mmgate; this one knows %d: use the newer, or --no-history",
			      sqlite3_db_filename(db, "main"), version, SCHEMA);
		return false;
	}
	return version == SCHEMA || !writable || make_schema(db, err);
}

struct sqlite3 *history_open(bool reads, GError **err)
{
	char *path = mmg_cache_path("history.sqlite", NULL);
	sqlite3 *db = NULL;
	bool writable = true;

	if (reads && !g_file_test(path, G_FILE_TEST_EXISTS)) {
		/* nothing was kept yet: an empty one, which leaves no file */
		g_free(path);
		path = g_strdup(":memory:");
	} else if (reads && (access(mmg_cache(), W_OK) || access(path, W_OK))) {
		/* what cannot be written to is read as it is; WAL would want a file beside it */
		g_autofree char *name = g_uri_escape_string(path, "/", FALSE);

		g_free(path);
		path = g_strdup_printf("file:%s?mode=ro&immutable=1", name);
		writable = false;
	} else if (!reads && !mmg_mkdirs(mmg_cache(), err)) {
		g_free(path);
		return NULL;
	}
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_URI | (writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE :
							  SQLITE_OPEN_READONLY), NULL) != SQLITE_OK) {
		sql_fault(db, err, "opening the history");
		sqlite3_close(db);
		db = NULL;
	} else if (!prepare_db(db, writable, err)) {
		sqlite3_close(db);
		db = NULL;
	}
	g_free(path);
	return db;
}

/* The identity of a kernel: its image, else what it calls itself */
static const char *kernel_key(const struct rep_kernel *k)
{
	return *k->sha256 ? k->sha256 : k->release;
}

static void bind(sqlite3_stmt *s, int i, const char *text)
{
	char *clean = mmg_clean(text, -1, 1000);

	sqlite3_bind_text(s, i, clean, -1, SQLITE_TRANSIENT);
	g_free(clean);
}

static bool insert_run(sqlite3 *db, const json_t *run, sqlite3_int64 *id)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db,
		"INSERT OR IGNORE INTO run (name, started, verb, verdict, accel, seed) VALUES (?,?,?,?,?,?)",
		-1, &s, NULL) == SQLITE_OK;

	if (ok) {
		bind(s, 1, obj_str(run, "id"));
		bind(s, 2, obj_str(run, "started"));
		bind(s, 3, obj_str(run, "verb"));
		bind(s, 4, obj_str(run, "verdict"));
		bind(s, 5, obj_str(json_object_get(run, "host"), "accel"));
		sqlite3_bind_int64(s, 6, obj_int(run, "seed"));
		ok = sqlite3_step(s) == SQLITE_DONE;
		*id = ok && sqlite3_changes(db) ? sqlite3_last_insert_rowid(db) : 0;
	}
	sqlite3_finalize(s);
	return ok;
}

static bool insert_results(sqlite3 *db, const struct rep *r, sqlite3_int64 run)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db,
		"INSERT INTO result VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", -1, &s, NULL) == SQLITE_OK;

	for (guint i = 0; ok && i < r->cases->len; i++) {
		const struct rep_case *c = r->cases->pdata[i];
		const struct rep_kernel *k = &r->kernels[c->kernel];

		sqlite3_bind_int64(s, 1, run);
		bind(s, 2, c->name);
		bind(s, 3, c->machine);
		bind(s, 4, kernel_key(k));
		bind(s, 5, rep_label(r, c->kernel));
		bind(s, 6, k->arch);
		sqlite3_bind_int64(s, 7, c->repeat);
		bind(s, 8, result_name(c->result));
		sqlite3_bind_double(s, 9, c->duration_s);
		if (c->has_auc)
			sqlite3_bind_double(s, 10, c->auc);
		else
			sqlite3_bind_null(s, 10);
		bind(s, 11, c->reason);
		bind(s, 12, c->allowed);
		ok = sqlite3_step(s) == SQLITE_DONE;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return ok;
}

/* The figures of the workloads; what the other tests measure is in their artifacts */
static bool insert_figures(sqlite3 *db, const struct rep *r, sqlite3_int64 run)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db, "INSERT INTO figure VALUES (?,?,?,?,?,?,?,?)", -1, &s, NULL) == SQLITE_OK;
	const char *metric;
	json_t *v;

	for (guint i = 0; i < r->cases->len; i++) {
		const struct rep_case *c = r->cases->pdata[i];

		if (!g_str_has_prefix(c->name, "bench/"))
			continue;
		json_object_foreach(c->metrics, metric, v) {
			if (!ok || !json_is_number(v))
				continue;
			sqlite3_bind_int64(s, 1, run);
			bind(s, 2, c->name);
			bind(s, 3, c->machine);
			bind(s, 4, kernel_key(&r->kernels[c->kernel]));
			bind(s, 5, rep_label(r, c->kernel));
			sqlite3_bind_int64(s, 6, c->repeat);
			bind(s, 7, metric);
			sqlite3_bind_double(s, 8, json_number_value(v));
			ok = sqlite3_step(s) == SQLITE_DONE;
			sqlite3_reset(s);
		}
	}
	sqlite3_finalize(s);
	return ok;
}

/**
 * history_add() - keep a run
 * @run: run.json; one that is there already is not added again
 * @err: where it could not be kept, which is no failure of the run
 *
 * Return: false with *@err.
 */
bool history_add(json_t *run, GError **err)
{
	struct rep *r = rep_new(run, "the run", err);
	sqlite3 *db = r ? history_open(false, err) : NULL;
	sqlite3_int64 id = 0;
	bool ok = false;

	if (db) {
		ok = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
		     insert_run(db, run, &id) && (!id || (insert_results(db, r, id) && insert_figures(db, r, id))) &&
		     sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
		if (!ok)
			sql_fault(db, err, "adding the run");
		sqlite3_close(db);
	}
	rep_free(r);
	return ok;
}

double history_seconds(const char *glob)
{
	static const char sql[] =
		"WITH last AS (SELECT SUM (duration) AS s FROM result"
		" WHERE name GLOB ?1 OR name GLOB ?1 || '/*'"
		" GROUP BY run, kernel, repeat, machine ORDER BY run DESC LIMIT 50)"
		" SELECT s FROM last ORDER BY s LIMIT 1 OFFSET (SELECT COUNT (*) FROM last) / 2";
	g_autofree char *path = mmg_cache_path("history.sqlite", NULL);
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	double seconds = -1;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, glob, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
	    sqlite3_column_type(s, 0) != SQLITE_NULL)
		seconds = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return seconds;
}

void history_record_free(void *data)
{
	struct history_record *r = data;

	g_free(r->name);
	g_free(r->machine);
	g_free(r->kernel);
	g_free(r->label);
	g_array_unref(r->seconds);
	g_string_free(r->trail, TRUE);
	g_free(r);
}

/* A skip neither flips nor keeps; broken and fail are both "did not pass" */
static void record_add(struct history_record *r, enum result result, double seconds)
{
	static const char letters[] = {
		[RESULT_NONE] = 's', [RESULT_PASS] = '.', [RESULT_FAIL] = 'F', [RESULT_BROKEN] = 'B',
		[RESULT_SKIP] = 's',
	};
	char now = result == RESULT_PASS ? 'p' : 'f';

	g_string_append_c(r->trail, letters[result]);
	if (result == RESULT_SKIP) {
		r->skip++;
		return;
	}
	r->pass += result == RESULT_PASS;
	r->fail += result == RESULT_FAIL;
	r->broken += result == RESULT_BROKEN;
	r->flips += r->last && r->last != now;
	r->last = now;
	g_array_append_val(r->seconds, seconds);
}

static const char *text_at(sqlite3_stmt *s, int i)
{
	const unsigned char *t = sqlite3_column_text(s, i);

	return t ? (const char *)t : "";
}

static bool selected(const GPtrArray *tests, const GPtrArray *kernels, const char *name,
		     const char *label, const char *key)
{
	bool kernel = !kernels->len;

	if (tests->len && !mmg_glob_any(tests, name))
		return false;
	for (guint i = 0; i < kernels->len && !kernel; i++)
		kernel = g_pattern_match_simple(kernels->pdata[i], label) ||
			 g_str_has_prefix(key, kernels->pdata[i]);
	return kernel;
}

static GPtrArray *read_records(sqlite3 *db, const GPtrArray *tests, const GPtrArray *kernels,
			       GError **err)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(history_record_free);
	sqlite3_stmt *s = NULL;
	struct history_record *r = NULL;
	int rc = sqlite3_prepare_v2(db,
		"SELECT t.name, t.machine, t.kernel, t.label, t.result, t.duration"
		" FROM result t JOIN run ON run.id = t.run"
		" ORDER BY t.name, t.machine, t.kernel, run.started, run.id, t.repeat", -1, &s, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		if (!selected(tests, kernels, text_at(s, 0), text_at(s, 3), text_at(s, 2)))
			continue;
		if (!r || strcmp(r->name, text_at(s, 0)) || strcmp(r->machine, text_at(s, 1)) ||
		    strcmp(r->kernel, text_at(s, 2))) {
			r = g_new0(struct history_record, 1);
			r->name = g_strdup(text_at(s, 0));
			r->machine = g_strdup(text_at(s, 1));
			r->kernel = g_strdup(text_at(s, 2));
			r->label = g_strdup(text_at(s, 3));
			r->seconds = g_array_new(FALSE, FALSE, sizeof(double));
			r->trail = g_string_new(NULL);
			g_ptr_array_add(all, r);
		}
		record_add(r, result_find(text_at(s, 4)), sqlite3_column_double(s, 5));
	}
	if (rc != SQLITE_DONE) {
		sql_fault(db, err, "reading the history");
		g_clear_pointer(&all, g_ptr_array_unref);
	}
	sqlite3_finalize(s);
	return all;
}

GPtrArray *history_read(const GPtrArray *tests, const GPtrArray *kernels, GError **err)
{
	sqlite3 *db = history_open(true, err);
	GPtrArray *all = db ? read_records(db, tests, kernels, err) : NULL;

	if (db)
		sqlite3_close(db);
	return all;
}
