/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_REPORT_MATRIX_H
#define MMGATE_REPORT_MATRIX_H

#include "report/report.h"

/* The table kernel x test of run["matrix"], its red cells with their reasons, and what changed */
void report_matrix_text(const json_t *run, FILE *to);
/* The same as one page, with plots over the versions: matrix.html of @dir; false with *@err */
bool report_matrix_html(json_t *run, const char *dir, GError **err);
/*
 * Write the forms of a table that were asked for and print the text, or run.json in its place; exit
 * status of the run, or 3 with *@err
 */
int matrix_reports(const struct report_forms *forms, json_t *run, const char *dir, GError **err);

#endif /* MMGATE_REPORT_MATRIX_H */
