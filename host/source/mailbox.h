/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mailbox and the patch series in it.  Mails are parsed by GMime; nothing in them is executed,
 * and nothing is ever sent.
 */
#ifndef MMGATE_MAILBOX_H
#define MMGATE_MAILBOX_H

#include "base/base.h"

/**
 * struct letter - one mail
 * @id:		Message-ID without brackets
 * @root:	Message-ID of the mail that began the thread
 * @from:	author, decoded: "Name <address>"
 * @address:	the author's address alone, lower case
 * @to, @cc:	as lists of addresses, or NULL
 * @subject:	decoded
 * @title:	the subject without "Re:" and what stands in brackets
 * @references: of a reply to this mail: its own references and itself, "<id> <id>"
 * @base:	the "base-commit:" it names, or NULL
 * @revision:	3 of "[PATCH v3 2/5]"; 1 where it says none
 * @patch:	it carries a change and is sent as a patch
 * @cover:	number 0 of a series
 * @date:	seconds since 1970
 * @raw:	the mail as it came
 */
struct letter {
	char *id, *root, *from, *address, *to, *cc, *subject, *title, *references, *base;
	int revision;
	bool patch, cover;
	gint64 date;
	GBytes *raw;
};

/**
 * struct mailed - a series as it came by mail: a thread
 * @id:		of this state of it: the thread and the patches in it; changes when a patch arrives
 * @title:	of the cover letter, or of the first patch
 * @revision:	the greatest in it
 * @first:	the cover letter, or the first patch of the newest revision: what is answered
 * @letters:	those that carry a patch, in the order of the dates (borrowed)
 * @newer:	id of the series that replaces this one, or NULL
 */
struct mailed {
	char *id, *title, *base;
	int revision;
	const struct letter *first;
	GPtrArray *letters;
	const char *newer;
};

/*
 * All mails of @path: a maildir, an mbox file (perhaps .gz), a folder of mails, or a git repository
 * with a mail a commit, as public-inbox makes them (bare, or a folder of epochs "git/N.git").
 * struct letter *; a mail without a Message-ID is left out and counted in *@odd.  At most 64 MiB
 * a mail, 100,000 mails.  NULL with *@err where it cannot be read.
 */
GPtrArray *mailbox_read(const char *path, guint *odd, GError **err);
/* The series among @letters, oldest first (struct mailed *); threads without a patch are none */
GPtrArray *mailbox_series(const GPtrArray *letters);
/* Write the patches of @s as an mbox to @path */
bool mailed_write(const struct mailed *s, const char *path, GError **err);

void letter_free(gpointer letter);
void mailed_free(gpointer mailed);

#endif /* MMGATE_MAILBOX_H */
