// SPDX-License-Identifier: GPL-2.0-only
/*
 * What somebody probably meant.
 */
#include "base/base.h"

#include <string.h>

/* Edits that turn @a into @b: letters put in, left out, changed, or swapped with the next */
static unsigned int distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), w = nb + 1;
	g_autofree unsigned int *d = g_new(unsigned int, (na + 1) * w);

	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			unsigned int *c = &d[i * w + j], best;

			if (!i || !j) {
				*c = i + j;
				continue;
			}
			best = d[(i - 1) * w + j - 1] + (a[i - 1] != b[j - 1]);
			best = MIN(best, d[(i - 1) * w + j] + 1);
			best = MIN(best, d[i * w + j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, d[(i - 2) * w + j - 2] + 1);
			*c = best;
		}
	}
	return d[na * w + nb];
}

const char *mmg_nearest(const char *word, const char *const *known)
{
	const char *best = NULL;
	unsigned int least = 0;
	size_t len = strlen(word);

	if (len > 100)
		return NULL;
	for (; *known; known++) {
		/* the beginning of one is as good as a slip of the finger */
		unsigned int n = len > 1 && g_str_has_prefix(*known, word) ? 1 : distance(word, *known);

		if (n <= 1 + len / 3 && n < MAX(len, 2) && (!best || n < least)) {
			best = *known;
			least = n;
		}
	}
	return best;
}

char *mmg_did_you_mean(const char *word, const char *const *known)
{
	const char *near = mmg_nearest(word, known);

	return near ? g_strdup_printf(" (did you mean '%s'?)", near) : g_strdup("");
}
