// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which series of a mailbox were judged.
 */
#include "run/queue.h"

#include <sqlite3.h>

#define WAIT_MS	15000	/* for other runs that write */

static const char *const words[] = {
	[QUEUE_NEW] = "waiting", [QUEUE_RUNNING] = "running", [QUEUE_DONE] = "judged",
	[QUEUE_REFUSED] = "refused", [QUEUE_IDLE] = "nothing guarded", [QUEUE_REPLACED] = "replaced",
	[QUEUE_BROKEN] = "broken",
};

struct queue {
	sqlite3 *db;
	char *mailbox, *tree;
};

const char *queue_word(enum queue_state s)
{
	return words[s];
}

void queued_free(gpointer queued)
{
	struct queued *s = queued;

	g_free(s->id);
	g_free(s->title);
	g_free(s->from);
	g_free(s->reason);
	g_free(s->reply);
	g_free(s);
}

static bool fault(struct queue *q, const char *what, GError **err)
{
	g_autofree char *path = mmg_cache_path("history.sqlite", NULL);

	mmg_set_error(err, MMG_EXIT_BROKEN, "%s in %s: %s", what, path,
		      q->db ? sqlite3_errmsg(q->db) : "out of memory");
	return false;
}

struct queue *queue_open(const char *mailbox, const char *tree, GError **err)
{
	static const char sql[] =
		"CREATE TABLE IF NOT EXISTS series (mailbox TEXT NOT NULL, tree TEXT NOT NULL, id TEXT NOT NULL,"
		" title TEXT, sender TEXT, state TEXT NOT NULL, reason TEXT, reply TEXT, changed INTEGER,"
		" PRIMARY KEY (mailbox, tree, id))";
	g_autofree char *path = mmg_cache_path("history.sqlite", NULL);
	struct queue *q = g_new0(struct queue, 1);
	bool ok;

	q->mailbox = g_strdup(mailbox);
	q->tree = g_strdup(tree);
	ok = mmg_mkdirs(mmg_cache(), err);
	if (ok && (sqlite3_open(path, &q->db) != SQLITE_OK || sqlite3_busy_timeout(q->db, WAIT_MS) != SQLITE_OK ||
		   sqlite3_exec(q->db, sql, NULL, NULL, NULL) != SQLITE_OK))
		ok = fault(q, "opening the queue of series", err);
	if (ok)
		return q;
	queue_close(q);
	return NULL;
}

void queue_close(struct queue *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	g_free(q->mailbox);
	g_free(q->tree);
	g_free(q);
}

static char *column(sqlite3_stmt *s, int i)
{
	return g_strdup((const char *)sqlite3_column_text(s, i));
}

static struct queued *row(sqlite3_stmt *s)
{
	struct queued *r = g_new0(struct queued, 1);
	g_autofree char *state = column(s, 3);

	r->id = column(s, 0);
	r->title = column(s, 1);
	r->from = column(s, 2);
	r->reason = column(s, 4);
	r->reply = column(s, 5);
	r->when = sqlite3_column_int64(s, 6);
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (!g_strcmp0(state, words[i]))
			r->state = i;
	return r;
}

#define COLUMNS "SELECT id, title, sender, state, reason, reply, changed FROM series WHERE mailbox = ?1 AND tree = ?2"

static sqlite3_stmt *prepare(struct queue *q, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(q->db, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(s, 1, q->mailbox, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, q->tree, -1, SQLITE_STATIC);
	return s;
}

struct queued *queue_get(struct queue *q, const char *id)
{
	sqlite3_stmt *s = prepare(q, COLUMNS " AND id = ?3");
	struct queued *r = NULL;

	if (s && sqlite3_bind_text(s, 3, id, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		r = row(s);
	sqlite3_finalize(s);
	return r;
}

bool queue_put(struct queue *q, const struct queued *r, GError **err)
{
	sqlite3_stmt *s = prepare(q, "INSERT OR REPLACE INTO series (mailbox, tree, id, title, sender, state,"
				  " reason, reply, changed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
	bool ok;

	ok = s && sqlite3_bind_text(s, 3, r->id, -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_text(s, 4, r->title, -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_text(s, 5, r->from, -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_text(s, 6, words[r->state], -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_text(s, 7, r->reason, -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_text(s, 8, r->reply, -1, SQLITE_STATIC) == SQLITE_OK &&
	     sqlite3_bind_int64(s, 9, r->when) == SQLITE_OK && sqlite3_step(s) == SQLITE_DONE;
	if (!ok)
		fault(q, "keeping the state of a series", err);
	sqlite3_finalize(s);
	return ok;
}

GPtrArray *queue_all(struct queue *q, GError **err)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(queued_free);
	sqlite3_stmt *s = prepare(q, COLUMNS " ORDER BY changed DESC, id");
	int rc = SQLITE_ERROR;

	while (s && (rc = sqlite3_step(s)) == SQLITE_ROW)
		g_ptr_array_add(all, row(s));
	sqlite3_finalize(s);
	if (rc == SQLITE_DONE)
		return all;
	fault(q, "reading the queue of series", err);
	g_ptr_array_unref(all);
	return NULL;
}
