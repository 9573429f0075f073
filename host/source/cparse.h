/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * C as libclang reads it: the places in a function where a small fault can be made.
 */
#ifndef MMGATE_CPARSE_H
#define MMGATE_CPARSE_H

#include "base/base.h"

enum c_site_kind {
	C_CONDITION,		/* the whole condition of an if, a loop or ?: */
	C_STATEMENT,		/* an expression, break, continue or goto that is a statement, without its ';' */
	C_BINARY,		/* a binary operator, compound assignments too */
	C_NUMBER,		/* an integer literal */
	C_RETURN,		/* the value of a return */
	C_ARGUMENTS,		/* two arguments of one call that have one type */
};

/* A piece of the text, in bytes: [begin, end) */
struct c_span {
	unsigned int begin, end;
};

/**
 * struct c_site - one place
 * @span:	all of it
 * @first, @second: the operands of C_BINARY, the arguments of C_ARGUMENTS
 * @op:		of C_BINARY: the operator as it is written
 * @type:	of C_RETURN: 'b' bool, 'i' another integer, 'p' pointer, else 0
 */
struct c_site {
	enum c_site_kind kind;
	struct c_span span, first, second;
	char op[4], type;
};

struct c_file;

/* Is libclang there?  False with *@err (broken) that says what to install */
bool c_parser_here(GError **err);
/*
 * Parse @text as the file @path with the compiler's @flags (NULL-terminated); what the compiler takes for
 * an error is passed over.  NULL with *@err where nothing could be parsed.
 */
struct c_file *c_file_parse(const char *path, const char *text, const char *const *flags, GError **err);
/*
 * Sites in all definitions of @function, in the order of the text, each once: struct c_site.  What
 * stands in the body of a macro is none.  Empty where it is not defined.  g_array_unref() it.
 */
GArray *c_file_sites(const struct c_file *f, const char *function);
void c_file_free(struct c_file *f);

#endif /* MMGATE_CPARSE_H */
