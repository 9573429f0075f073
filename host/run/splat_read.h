/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_SPLAT_READ_H
#define MMGATE_SPLAT_READ_H

#include <glib.h>

/* How a console's bytes become lines whose words are looked up: for host/run/splat.c alone */

#define KEYS_WORDS	5	/* of 64 bits: as many keys can be told apart */

/** struct keys_hit - which keys a line holds, a bit each, in the order of keys_add() */
struct keys_hit {
	guint64 bits[KEYS_WORDS];
};

struct keys;

struct keys *keys_new(void);
guint keys_add(struct keys *k, const char *key);
void keys_done(struct keys *k);
bool keys_find(const struct keys *k, const char *line, struct keys_hit *hit);

static inline bool keys_has(const struct keys_hit *hit, guint nr)
{
	return hit->bits[nr / 64] >> (nr % 64) & 1;
}

/**
 * struct stamped - a line and what stood before it
 * @line:	without its stamps
 * @caller:	CPU or task that printed it, "" where that is not told
 * @stamped:	it had the kernel's time
 */
struct stamped {
	const char *line;
	char caller[16];
	bool stamped;
};

void stamp_cut(const char *line, struct stamped *out);
gsize stamp_len(const char *p);
void line_clean(const char *p, gsize len, GString *out);

#endif /* MMGATE_SPLAT_READ_H */
