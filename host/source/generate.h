/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutants made by rule: small faults at the places that the parser finds.
 */
#ifndef MMGATE_GENERATE_H
#define MMGATE_GENERATE_H

#include "source/cparse.h"
#include "source/guarded.h"

/**
 * struct mutation - one fault
 * @name:	FUNCTION.OPERATOR.HASH: of what is changed to what, so it is the same wherever the text is
 * @operator:	"negate", "drop", "swap", "bits", "off-by-one", "return", "arguments"
 * @line:	of the change, from 1
 * @find, @replace: as in struct edit, unique in the function
 * @about:	one line
 */
struct mutation {
	char *name, *file, *function, *about, *find, *replace;
	const char *operator;
	unsigned int line;
	const struct guarded *guarded;
};

void mutation_free(gpointer mutation);

/*
 * All mutants of @g in @text, of which @f is the parse, in the order of the text, no two with the
 * same result: struct mutation *.  Empty where the function is not there.
 */
GPtrArray *generate_function(const struct c_file *f, const char *text, const struct guarded *g);

/**
 * struct generate - what to make
 * @guarded:	functions
 * @flags:	the compiler's for one file (g_strfreev() them), NULL with *@err
 * @reached:	does a test run this line?  NULL: nothing is known
 * @function:	only those that this glob fits, or NULL
 * @count:	how many at most
 * @seed:	of the choice
 */
struct generate {
	const struct source *src;
	const GPtrArray *guarded;
	char **(*flags)(const char *file, void *data, GError **err);
	bool (*reached)(const char *file, const char *function, unsigned int line, void *data);
	void *data;
	const char *function;
	unsigned int count;
	uint64_t seed;
};

/*
 * Draw @count mutants: functions in turn, each one's mutants in an order drawn from the seed, those
 * at lines that are reached first.  *@all gets how many there are.  NULL with *@err.
 */
GPtrArray *generate_mutants(const struct generate *g, unsigned int *all, GError **err);

/*
 * Write @mutants into the new folder @dir as NAME.conf, edit scripts as in configs/mutants, each with its
 * functions' cases; those that @equivalent (a file, NULL: configs/equivalent.conf) explains get the
 * reason.  False with *@err.
 */
bool generate_write(const GPtrArray *mutants, const char *dir, const char *equivalent, GError **err);

#endif /* MMGATE_GENERATE_H */
