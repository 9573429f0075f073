// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb watch: each new series of a mailbox is judged once, and the answer is written as a
 * mail.  Nothing is sent.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/html.h"
#include "report/reply.h"
#include "run/queue.h"
#include "source/based.h"
#include "source/commits.h"
#include "source/mailbox.h"
#include "verbs/verbs.h"

#define POLL_SECONDS	60	/* a git mirror is fetched by others, and says nothing */

struct watch {
	struct cli *cli;
	const char *path;
	char *mailbox, *tree, *out;
	struct queue *queue;
	unsigned int broken;
	bool again;		/* not the first turn: what broke before waits for the next start */
};

/* ---- the page ---- */

static void page_row(struct html *h, const struct queued *s)
{
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_local(s->when);
	g_autofree char *time = when ? g_date_time_format(when, "%Y-%m-%d %H:%M") : NULL;

	html_open(h, "tr", NULL);
	html_element(h, "td", NULL, time ?: "");
	html_element(h, "td", NULL, queue_word(s->state));
	html_elementf(h, "td", NULL, "%.500s", s->title ?: "");
	html_elementf(h, "td", NULL, "%.500s", s->from ?: "");
	html_elementf(h, "td", NULL, "%.500s", s->reason ?: "");
	html_open(h, "td", NULL);
	if (s->reply) {
		g_autofree char *name = g_path_get_basename(s->reply);

		html_link(h, "reply", "replies/%s", name);
	}
	html_close(h);
	html_close(h);
}

/* queue.html: what waits, what runs, what was said */
static bool write_page(const struct watch *w, GError **err)
{
	static const char *const heads[] = { "when", "state", "series", "from", "reason", "answer", NULL };
	g_autoptr(GPtrArray) all = queue_all(w->queue, err);
	g_autofree char *path = g_build_filename(w->out, "queue.html", NULL);
	struct html *h;
	GString *out;
	bool ok;

	if (!all)
		return false;
	h = html_new("mmgate: series", NULL);
	html_element(h, "h1", NULL, "Series");
	html_element(h, "p", NULL, w->mailbox);
	html_table(h, NULL, heads);
	for (guint i = 0; i < all->len; i++)
		page_row(h, all->pdata[i]);
	html_table_end(h);
	out = html_finish(h);
	ok = mmg_write_atomic(path, out->str, out->len, err);
	g_string_free(out, TRUE);
	return ok;
}

/* ---- one series ---- */

static char *file_name(const struct mailed *s)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, s->id, -1);

	return g_strndup(sum, 16);
}

/* How somebody else sees it: the series from the list's archive, on a tree of their own */
static char *commands_of(const struct watch *w, const struct mailed *s, const char *base)
{
	g_autofree char *head = base ? NULL : commit_id(w->tree, "HEAD", NULL);
	const char *const fetch[] = { "b4", "am", "-o", "-", s->first->id, NULL };
	const char *const run[] = { "./run.sh", "gate", "--series", "series.mbox", "--tree", "linux",
				    base || head ? "--base" : NULL, base ?: head, NULL };
	g_autofree char *first = reply_command(fetch, "series.mbox"), *second = reply_command(run, NULL);

	return g_strconcat(first, second, NULL);
}

/* @text without the folders of this machine, which mean nothing to others; g_free() it */
static char *without_paths(const struct watch *w, const char *text)
{
	GString *s = g_string_new(text);

	g_string_replace(s, w->out, "results", 0);
	g_string_replace(s, w->tree, "the tree", 0);
	return g_string_free(s, FALSE);
}

static bool write_reply(struct watch *w, const struct mailed *s, struct queued *q, json_t *run,
			const char *base, GError **err)
{
	g_autofree char *name = file_name(s), *file = g_strconcat(name, ".eml", NULL);
	g_autofree char *commands = commands_of(w, s, base);
	g_autofree char *refused = without_paths(w, q->reason);
	struct reply r = { .to = s->first, .run = run, .refused = refused, .tester = w->cli->tester,
			   .commands = commands };

	q->reply = g_build_filename(w->out, "replies", file, NULL);
	return reply_write(&r, q->reply, err);
}

/*
 * The base that the mail names, if the tree has it; else what --base names, else the work tree or
 * the newest tag on which it applies.  NULL for the work tree, and with *@err where it applies nowhere.
 */
static char *base_for(const struct watch *w, const struct mailed *s, const char *mbox, GError **err)
{
	char *id = s->base ? commit_id(w->tree, s->base, NULL) : NULL;
	g_autofree char *how = NULL;
	struct source *src;

	if (s->base && !id)
		status_note("%s: the tree has no commit %s, which the mail names as its base", s->title, s->base);
	if (id || w->cli->base)
		return id ?: g_strdup(w->cli->base);
	src = source_open(w->tree, NULL, err);
	if (src && series_base(mbox, src, &id, &how, err) && id)
		status_note("%s: base: %s", s->title, how);
	source_free(src);
	return id;
}

/* Does the series apply?  What does not is refused, whatever else would go wrong later */
static bool applies(const struct watch *w, const char *mbox, const char *base, GError **err)
{
	struct source *src = source_open(w->tree, NULL, err);
	GHashTable *overlay = overlay_new();
	bool ok = src && (!base || git_overlay(src, base, overlay, err)) &&
		  series_apply(mbox, src, overlay, NULL, err);

	g_hash_table_unref(overlay);
	source_free(src);
	return ok;
}

static enum queue_state state_of(int status, const GError *e)
{
	if (!e)
		return status == MMG_EXIT_BROKEN ? QUEUE_BROKEN : QUEUE_DONE;
	if (e->code == MMG_EXIT_NOTHING)
		return QUEUE_IDLE;
	return e->code == MMG_EXIT_USAGE ? QUEUE_REFUSED : QUEUE_BROKEN;
}

/* False with *@err only where the watch has to end */
static bool judge(struct watch *w, const struct mailed *s, struct queued *q, GError **err)
{
	g_autofree char *name = file_name(s), *dir = g_build_filename(w->out, name, NULL);
	g_autofree char *mbox = g_build_filename(dir, "series.mbox", NULL);
	g_autofree char *results = g_build_filename(dir, "results", NULL);
	g_autofree char *base = NULL;
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	struct cli cli = *w->cli;
	g_autoptr(GError) e = NULL;
	json_t *run = NULL;
	int status;
	bool ok;

	if (!mmg_mkdirs(dir, err) || !mailed_write(s, mbox, err))
		return false;
	/* what a killed watch left of it */
	mmg_rmtree(results);
	cli.args = none;
	base = base_for(w, s, mbox, &e);
	cli.series = mbox;
	cli.base = base;
	cli.out = results;
	cli.quiet = true;
	cli.json = cli.tap = false;
	if (!e && applies(w, mbox, base, &e)) {
		const struct gate_options opt = cli_gate(&cli);

		status = gate_run(&opt, &e);
	} else {
		status = e->code;
		if (status != MMG_EXIT_INTERRUPTED)
			e->code = MMG_EXIT_USAGE;
	}
	if (e && e->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	if (status == MMG_EXIT_INTERRUPTED)
		return mmg_check_interrupt(err), false;
	q->state = state_of(status, e);
	run = rep_load(results, NULL);
	g_free(q->reason);
	if (run)
		q->reason = g_strdup_printf("%s: %s", obj_str(json_object_get(run, "gate"), "verdict"),
					    obj_str(json_object_get(run, "gate"), "reason"));
	else
		q->reason = g_strdup(e ? e->message : "no result");
	w->broken += q->state == QUEUE_BROKEN;
	/* silence is the answer to what is not our business */
	ok = q->state == QUEUE_IDLE || q->state == QUEUE_BROKEN || write_reply(w, s, q, run, base, err);
	json_decref(run);
	return ok;
}

static bool put(struct watch *w, struct queued *q, enum queue_state state, GError **err)
{
	q->state = state;
	q->when = g_get_real_time() / G_USEC_PER_SEC;
	return queue_put(w->queue, q, err) && write_page(w, err);
}

static struct queued *entry_of(struct watch *w, const struct mailed *s)
{
	struct queued *q = queue_get(w->queue, s->id);

	if (q)
		return q;
	q = g_new0(struct queued, 1);
	q->id = g_strdup(s->id);
	q->title = g_strdup(s->title);
	q->from = g_strdup(s->first->from);
	q->reason = g_strdup("");
	return q;
}

static bool is_open(const struct watch *w, const struct queued *q)
{
	return q->state == QUEUE_NEW || q->state == QUEUE_RUNNING || (q->state == QUEUE_BROKEN && !w->again);
}

/* One series of the mailbox: enlisted, passed over, or judged where @now */
static bool handle(struct watch *w, const struct mailed *s, bool now, GError **err)
{
	struct queued *q = entry_of(w, s);
	bool ok = true;

	if (s->newer && is_open(w, q)) {
		g_free(q->reason);
		q->reason = g_strdup("a newer revision came");
		ok = put(w, q, QUEUE_REPLACED, err);
	} else if (is_open(w, q) && !now) {
		ok = put(w, q, QUEUE_NEW, err);
	} else if (is_open(w, q)) {
		status_note("judging \"%s\" by %s", s->title, s->first->from ?: "somebody");
		ok = put(w, q, QUEUE_RUNNING, err) && judge(w, s, q, err) && put(w, q, q->state, err);
		if (ok)
			printf("%s: %s: %s\n", queue_word(q->state), s->title, q->reason);
		fflush(stdout);
	}
	queued_free(q);
	return ok;
}

/* All that is in the mailbox now */
static bool turn(struct watch *w, GError **err)
{
	guint odd = 0;
	g_autoptr(GPtrArray) letters = mailbox_read(w->path, &odd, err);
	g_autoptr(GPtrArray) series = letters ? mailbox_series(letters) : NULL;

	if (!series)
		return false;
	if (odd)
		status_note("%u files of the mailbox are not mails that could be answered", odd);
	for (int now = 0; now < 2; now++)
		for (guint i = 0; i < series->len; i++)
			if (!handle(w, series->pdata[i], now, err))
				return false;
	w->again = true;
	return write_page(w, err);
}

static void on_change(GFileMonitor *m, GFile *f, GFile *o, GFileMonitorEvent e, gpointer data)
{
	(void)m;
	(void)f;
	(void)o;
	(void)e;
	*(bool *)data = true;
}

static gboolean on_timer(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_CONTINUE;
}

/* Wait until something changes in the mailbox */
static bool wait_for_mail(const struct watch *w, GError **err)
{
	static const char *const parts[] = { "new", "cur", "." };
	GFileMonitor *monitors[G_N_ELEMENTS(parts)] = { NULL };
	bool changed = false;
	guint timer = g_timeout_add_seconds(POLL_SECONDS, on_timer, &changed);

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *path = g_build_filename(w->path, parts[i], NULL);
		g_autoptr(GFile) file = g_file_new_for_path(g_file_test(w->path, G_FILE_TEST_IS_DIR) ? path : w->path);

		monitors[i] = g_file_monitor(file, G_FILE_MONITOR_NONE, NULL, NULL);
		if (monitors[i])
			g_signal_connect(monitors[i], "changed", G_CALLBACK(on_change), &changed);
	}
	status_set("waiting for mail");
	while (!changed && !mmg_interrupted())
		g_main_context_iteration(NULL, TRUE);
	status_clear();
	g_source_remove(timer);
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		g_clear_object(&monitors[i]);
	return !mmg_check_interrupt(err);
}

static bool get_ready(struct watch *w, GError **err)
{
	g_autofree char *replies = NULL;

	w->mailbox = realpath(w->path, NULL);
	if (!w->mailbox) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the mailbox %s: no such file or folder", w->path);
		return false;
	}
	w->tree = realpath(w->cli->tree, NULL);
	if (!w->tree) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--tree %s: no such folder", w->cli->tree);
		return false;
	}
	w->out = w->cli->out ? g_strdup(w->cli->out) : mmg_root_path("results", "watch", NULL);
	replies = g_build_filename(w->out, "replies", NULL);
	if (!mmg_mkdirs(replies, err))
		return false;
	w->queue = queue_open(w->mailbox, w->tree, err);
	return w->queue;
}

int verb_watch(struct cli *cli, GError **err)
{
	struct watch w = { .cli = cli };
	int status = MMG_EXIT_BROKEN, lock = -1;

	if (cli->args->len != 1 || !cli->tree) {
		mmg_set_error(err, MMG_EXIT_USAGE, "watch takes a mailbox (a maildir, an mbox, or a git mirror of a "
			      "list) and --tree DIR");
		return MMG_EXIT_USAGE;
	}
	w.path = cli->args->pdata[0];
	if (get_ready(&w, err)) {
		g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, w.mailbox, -1);
		g_autofree char *key = g_strdup_printf("watch-%.16s", sum);

		/* two watches of one mailbox would judge everything twice */
		lock = mmg_lock(key, err);
		while (lock >= 0 && turn(&w, err)) {
			if (cli->once) {
				status = w.broken ? MMG_EXIT_BROKEN : MMG_EXIT_OK;
				break;
			}
			if (!wait_for_mail(&w, err))
				break;
		}
		if (lock >= 0)
			close(lock);
	}
	if (!(err && *err) && w.broken)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%u series could not be judged; the next start tries them again"
			      , w.broken);
	queue_close(w.queue);
	free(w.mailbox);
	free(w.tree);
	g_free(w.out);
	return status;
}
