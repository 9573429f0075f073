/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_NEAREST_H
#define MMGATE_NEAREST_H

#include <stddef.h>

/*
 * The line of [@start, @end), which lies in @text, that is most like @find, as
 * "line 12: 'code'", or NULL where none is at all like it; g_free() it
 */
char *nearest_line(const char *text, const char *start, const char *end, const char *find);
/*
 * Where a function @name went that @text does not define: "'code' is in FUNCTION now, line 12" where @at (a
 * place in @text, or NULL) is given, else the name most like it that is defined there, or NULL; g_free() it
 */
char *nearest_function(const char *text, const char *name, const char *at);
/* How alike two texts are, white space aside: 0 to 1 (Dice's coefficient of their pairs of characters) */
double text_likeness(const char *a, size_t na, const char *b, size_t nb);

#endif /* MMGATE_NEAREST_H */
