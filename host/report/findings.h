/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went wrong in a run, one by one, for the forms that list nothing else.
 */
#ifndef MMGATE_FINDINGS_H
#define MMGATE_FINDINGS_H

#include "run/rep.h"

enum finding_level { FINDING_NOTICE, FINDING_WARNING, FINDING_ERROR };

/**
 * struct finding - one thing that a reader of the run has to know
 * @level:	an error makes the run red
 * @broken:	the experiment went wrong, not what was tested
 * @check:	who says it: a test (family/test), "boot", "splat", "known issues", the verb
 * @title:	one line: what and where
 * @message:	one line: why
 * @key:	the same for the same finding of another run
 * @path, @line: a place to show it at: of a splat in the kernel's source, else the test's source here
 */
struct finding {
	enum finding_level level;
	bool broken;
	char *check, *title, *message, *key, *path;
	int line;
};

/*
 * All findings of @r (struct finding *), the verdicts' own first: what a known issue allows is none.
 * g_ptr_array_unref() it.
 */
GPtrArray *findings_collect(const struct rep *r);

#endif /* MMGATE_FINDINGS_H */
