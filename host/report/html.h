/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An HTML page, written by libxml2's writer: nothing that is given as text can become markup.
 */
#ifndef MMGATE_HTML_H
#define MMGATE_HTML_H

#include <glib.h>
#include <stdbool.h>

struct html;

/* A page with our style, begun up to its <body>; @style: rules of its own, or NULL */
struct html *html_new(const char *title, const char *style);
/* End what is open; the page (g_string_free() it) and no more of @h */
GString *html_finish(struct html *h);

/* Begin <@tag class="@class">, @class may be NULL; html_close() ends the innermost one */
void html_open(struct html *h, const char *tag, const char *class);
/* An attribute of the element that was just begun */
void html_attr(struct html *h, const char *name, const char *fmt, ...) G_GNUC_PRINTF(3, 4);
void html_close(struct html *h);
/* Text, whatever it holds */
void html_text(struct html *h, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* <@tag class="@class">@text</@tag>; @class may be NULL */
void html_element(struct html *h, const char *tag, const char *class, const char *text);
void html_elementf(struct html *h, const char *tag, const char *class, const char *fmt, ...) G_GNUC_PRINTF(4, 5);
/* A link to @fmt */
void html_link(struct html *h, const char *text, const char *fmt, ...) G_GNUC_PRINTF(3, 4);
/* Begin a table with @heads (NULL-terminated), up to its <tbody>, and end it */
void html_table(struct html *h, const char *class, const char *const *heads);
void html_table_end(struct html *h);
/* Begin <details> with @summary; html_close() ends it */
void html_details(struct html *h, bool open, const char *summary);

/* "fail", "broken", "pass", "skip" or NULL for a word that says good or bad */
const char *html_class(const char *word);

#endif /* MMGATE_HTML_H */
