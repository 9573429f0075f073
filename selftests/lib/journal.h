/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal of changed settings: what a test is about to change is written
 * down first, so that whoever comes next, even after a SIGKILL, can put it back.
 */
#ifndef MMGATE_JOURNAL_H
#define MMGATE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Open (and create) the journal and lock it; a second test of the same user
 * waits until @wait_s is over.  The file is $MMGATE_JOURNAL, else
 * /var/tmp/mmgate-journal.UID, else the same name in /tmp.
 * Returns 0, or -errno: -EBUSY where another test holds it, -EPERM where the
 * file is not ours (not a plain file of this user, or linked elsewhere).
 */
int mmg_journal_open(unsigned int wait_s);

/* Path of the journal, for messages */
const char *mmg_journal_path(void);

/*
 * Write down the current content of @path, as it has to be written to put it
 * back ("always [madvise] never" becomes "madvise").  Only files of /proc and
 * /sys are taken.  Returns 0 (also where @path does not exist), or -errno.
 */
int mmg_journal_save(const char *path);

/*
 * Write down that the directory @path (a cgroup or a trace instance) is ours and
 * has to go: on restore the processes of the cgroup are killed and it is removed.
 * Returns 0 or -errno.
 */
int mmg_journal_remove_dir(const char *path);

/* Current end of the journal, a mark for mmg_journal_restore() */
off_t mmg_journal_mark(void);

/*
 * Put back everything written down since @mark, newest first, and forget it.
 * Safe in a signal handler.  Returns how many entries could not be put back.
 */
int mmg_journal_restore(off_t mark);

/* Restore all, unlock and unlink the journal.  Safe in a signal handler. */
void mmg_journal_close(void);

#endif /* MMGATE_JOURNAL_H */
