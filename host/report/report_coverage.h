/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_REPORT_COVERAGE_H
#define MMGATE_REPORT_COVERAGE_H

#include "report/report.h"
#include "run/coverage.h"

/* The table of functions, and what is not reached, with its reasons */
void report_coverage_text(const struct coverage *c, FILE *to);
/*
 * coverage.txt, coverage.json and coverage.html (the sources coloured) of the folder @dir, which is
 * there; false with *@err
 */
bool report_coverage(const struct coverage *c, const char *dir, GError **err);

#endif /* MMGATE_REPORT_COVERAGE_H */
