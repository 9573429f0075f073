/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_EXPLAIN_H
#define MMGATE_EXPLAIN_H

#include "run/run.h"

/**
 * struct fix - a commit that a test guards and the kernels that have it, configs/fixes.conf
 * @commit:	its hash, as mmgate-guards has it
 * @title:	one line
 * @in:		versions that have it: a mainline release, and point releases of stable lines
 * @since:	version from which on kernels have what it mends, or NULL: all of them before it
 * @cases:	globs of what its absence explains, NULL: every case of the tests that guard it
 */
struct fix {
	char *commit, *title, *since;
	char **in, **cases;
};

/* All of them; NULL with *@err */
GPtrArray *fixes_load(GError **err);
/* True where a kernel of @version lacks it */
bool fix_is_missing(const struct fix *f, const char *version);
/*
 * Give each red case of @run (failed or broken) and each splat a reason: "explained" is set to "fixed in
 * 6.12: COMMIT TITLE" or to the known issue that allows it, else "unexplained" to true.  Returns how
 * many are not explained, *@broken of them broken experiments only; -1 with *@err.
 */
int explain_run(json_t *run, const GPtrArray *catalog, int *broken, GError **err);

#endif /* MMGATE_EXPLAIN_H */
