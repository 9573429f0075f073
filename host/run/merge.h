/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_MERGE_H
#define MMGATE_MERGE_H

#include "run/run.h"

/*
 * Take kernels, boots and cases of @part over into @run; @part is changed.  A kernel with the same image and
 * label is the same column; one with the same label and another image gets a label of its own.
 * @prefix: what comes before the folders of its boots, "" for nothing.
 */
void run_merge(json_t *run, json_t *part, const char *prefix);

#endif /* MMGATE_MERGE_H */
