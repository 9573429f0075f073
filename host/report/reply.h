/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_REPLY_H
#define MMGATE_REPLY_H

#include "source/mailbox.h"

/**
 * struct reply - what is answered to a series
 * @to:		the mail that is answered
 * @run:	run.json of its gate, or NULL where it was not judged
 * @refused:	why it was not, or NULL
 * @tester:	"Name <address>" for Tested-by and From, or NULL: neither is written
 * @commands:	how to see it again, one command a line
 */
struct reply {
	const struct letter *to;
	json_t *run;
	const char *refused, *tester, *commands;
};

/*
 * The body of the reply: at most 72 columns, the verdict in the first three lines, base and
 * patched in one table, bounds, environment, commands.  "Tested-by:" only where every case
 * that failed on base is fixed and none is worse.  g_free() it.
 */
char *reply_body(const struct reply *r);
/*
 * A command as lines of at most 72 columns that a shell takes as one: @words, each quoted where it
 * has to be, and a file @into for what it prints (a plain name, or NULL).  g_free() it.
 */
char *reply_command(const char *const *words, const char *into);
/* @command as somebody else types it, by reply_command(): the tree is called linux, and --out is left out */
char *reply_again(const GPtrArray *command);
/* @reason without folders of this host: where the whole log is, @tree and @results.  g_free() it. */
char *reply_reason(const char *reason, const char *tree, const char *results);
/* Write the whole mail to @path: RFC 5322 with In-Reply-To and References; nothing is sent */
bool reply_write(const struct reply *r, const char *path, GError **err);

#endif /* MMGATE_REPLY_H */
