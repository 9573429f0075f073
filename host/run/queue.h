/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which series of a mailbox were judged, kept in the history database: a watch that was
 * killed goes on where it was, and judges nothing twice.
 */
#ifndef MMGATE_QUEUE_H
#define MMGATE_QUEUE_H

#include "base/base.h"

/* What became of a series; the words are in queue_word() */
enum queue_state {
	QUEUE_NEW,		/* waits for its turn */
	QUEUE_RUNNING,		/* its gate runs, or did when this program died */
	QUEUE_DONE,		/* judged: the verdict is in @reason */
	QUEUE_REFUSED,		/* cannot be judged as it is: does not apply, a patch is missing */
	QUEUE_IDLE,		/* touches nothing that is guarded */
	QUEUE_REPLACED,		/* a newer revision came */
	QUEUE_BROKEN,		/* the answer could not be had; tried again on the next start */
};

const char *queue_word(enum queue_state s);

/**
 * struct queued - a series and what became of it
 * @id:		as mailbox_series() has it
 * @reason:	one line, or ""
 * @reply:	file of the answer, or NULL
 * @when:	last change, seconds since 1970
 */
struct queued {
	char *id, *title, *from, *reason, *reply;
	enum queue_state state;
	gint64 when;
};

void queued_free(gpointer queued);

struct queue;

/* Open the queue of @mailbox (an absolute path) for trees at @tree; NULL with *@err */
struct queue *queue_open(const char *mailbox, const char *tree, GError **err);
void queue_close(struct queue *q);
/* What is known of @id, or NULL */
struct queued *queue_get(struct queue *q, const char *id);
/* Keep it, at once and whole; false with *@err */
bool queue_put(struct queue *q, const struct queued *s, GError **err);
/* All of them, newest first (struct queued *); NULL with *@err */
GPtrArray *queue_all(struct queue *q, GError **err);

#endif /* MMGATE_QUEUE_H */
