/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_MATRIX_H
#define MMGATE_MATRIX_H

#include "run/run.h"

/* Give each red cell of @run its reason, and the run its verdict; the exit status, with *@err where it cannot be had */
int matrix_judge(json_t *run, GError **err);

#endif /* MMGATE_MATRIX_H */
