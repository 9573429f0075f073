/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Patches as text, and the mails that carry them.  Nothing here is executed.
 */
#ifndef MMGATE_PATCH_H
#define MMGATE_PATCH_H

#include <glib.h>
#include <stdbool.h>

/* ---- patch.c: which files a patch changes ---- */

/**
 * struct patched - one file of a patch
 * @old:	its name before, as written, NULL where the patch makes it
 * @new:	its name after, as written, NULL where the patch deletes it
 * @plain:	the names stand there without the leading folder ("rename from")
 */
struct patched {
	char *old, *new;
	bool plain;
};

/*
 * The files that the unified diff @patch changes, as git apply finds them: text before and
 * between the diffs is passed over, whatever it looks like.  struct patched *, none where
 * there is no diff.  NULL with *@err (broken): binary content, a link, a submodule.
 */
GPtrArray *patch_changes(const char *patch, gsize len, GError **err);

/*
 * How many leading folders the names of @changes have that the tree has not: 1 as git
 * writes it, 0 with diff.noprefix.  @exists tells of a path in the tree.
 */
int patch_strip(const GPtrArray *changes, bool (*exists)(const char *path, void *data), void *data);

/*
 * Paths in the tree that @changes touch, each once (char *); NULL with *@err (broken)
 * where one leaves the tree.
 */
GPtrArray *patch_paths(const GPtrArray *changes, int strip, GError **err);

/* ---- mail.c: mails and which of them count ---- */

/**
 * struct mail - a mail, or a bare diff
 * @name:	for messages: "file (subject)" or "file, patch 2"
 * @subject:	decoded, on one line; NULL for a bare diff
 * @title:	the subject without "Re:" and what stands in brackets
 * @body:	from where the patch begins, decoded
 * @revision:	3 of "[PATCH v3 2/5]", 1 where it says none
 * @number, @total: 2 and 5, -1 where it says none
 * @reply:	"Re:" or the like
 * @tagged:	"PATCH" stands in the brackets
 * @changes:	of @body; NULL where @error says why it cannot be applied
 */
struct mail {
	char *name, *subject, *title, *body;
	int revision, number, total;
	bool reply, tagged;
	GPtrArray *changes;
	GError *error;
};

void mail_free(gpointer mail);

/* What the subject says, into @m */
void mail_read_subject(struct mail *m, const char *subject);

/*
 * The mails of @file (mbox, one mail, or a bare diff; perhaps compressed with gzip), appended to
 * @mails; @show names it in messages.  False with *@err.
 */
bool mails_read(const char *file, const char *show, GPtrArray *mails, GError **err);

/*
 * Those of @mails that make up the newest form of the series, in order (struct mail *,
 * borrowed): of each patch the newest revision; cover letters, replies and mails that come
 * twice are left out.  A patch that is missing, or two that could both be meant, are
 * refused, with the names of both: NULL with *@err (usage).
 */
GPtrArray *mails_select(const GPtrArray *mails, GError **err);

#endif /* MMGATE_PATCH_H */
