/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Temporary folders.  All of a run lie in one folder of the cache, which the
 * run keeps locked while it lives: the next run removes those of dead ones,
 * whatever they died of.
 */
#ifndef MMGATE_SCRATCH_H
#define MMGATE_SCRATCH_H

#include <glib.h>

/*
 * A new, empty folder; @what is part of its name.  Remove it with mmg_rmtree()
 * when it has served; g_free() the path.  NULL with *@err (broken).  Where the cache
 * cannot be written to, it is made in TMPDIR or /tmp.
 */
char *scratch_dir(const char *what, GError **err);

/* Remove what is left of this run */
void scratch_end(void);

#endif /* MMGATE_SCRATCH_H */
