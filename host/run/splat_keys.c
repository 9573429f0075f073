// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many words looked for in a line at once, so that the time that a console takes
 * grows with its bytes alone, whatever is in it: the automaton of Aho and Corasick.
 * A row's regular expression is tried only on a line that holds the row's key.
 */
#include <stdbool.h>
#include <string.h>

#include "run/splat_read.h"

struct state {
	guint16 next[256];
	struct keys_hit out;	/* keys that end here */
	bool ends;
	guint16 back;		/* longest proper end of this state's text that is a state as well */
};

struct keys {
	GArray *states;
	guint nr;
};

static struct state *at(const struct keys *k, guint i)
{
	return &g_array_index(k->states, struct state, i);
}

/** keys_new() - an automaton without keys; it is kept for ever, as it is made once */
struct keys *keys_new(void)
{
	struct keys *k = g_new0(struct keys, 1);

	k->states = g_array_new(FALSE, TRUE, sizeof(struct state));
	g_array_set_size(k->states, 1);
	return k;
}

/**
 * keys_add() - one more key
 * @k: before keys_done()
 * @key: not empty
 *
 * Return: its number, from 0 up.
 */
guint keys_add(struct keys *k, const char *key)
{
	guint s = 0;

	g_assert(*key && k->nr < KEYS_WORDS * 64);
	for (; *key; key++) {
		guint next = at(k, s)->next[(guchar)*key];

		if (!next) {
			next = k->states->len;
			g_assert(next < G_MAXUINT16);
			g_array_set_size(k->states, next + 1);
			at(k, s)->next[(guchar)*key] = next;
		}
		s = next;
	}
	at(k, s)->out.bits[k->nr / 64] |= G_GUINT64_CONSTANT(1) << (k->nr % 64);
	at(k, s)->ends = true;
	return k->nr++;
}

/** keys_done() - no further keys: where a text goes on from each state */
void keys_done(struct keys *k)
{
	guint *queue = g_new(guint, k->states->len), head = 0, tail = 0;

	for (guint c = 0; c < 256; c++)
		if (at(k, 0)->next[c])
			queue[tail++] = at(k, 0)->next[c];
	while (head < tail) {
		struct state *s = at(k, queue[head++]);

		for (guint c = 0; c < 256; c++) {
			guint way = at(k, s->back)->next[c];

			if (!s->next[c]) {
				s->next[c] = way;
				continue;
			}
			at(k, s->next[c])->back = way;
			queue[tail++] = s->next[c];
		}
		/* a shorter state is done before a longer one, so its own ends are whole */
		for (guint i = 0; i < KEYS_WORDS; i++)
			s->out.bits[i] |= at(k, s->back)->out.bits[i];
		s->ends |= at(k, s->back)->ends;
	}
	g_free(queue);
}

/**
 * keys_find() - the keys in a line
 * @hit: out: a bit for each
 *
 * Return: whether there is any.
 */
bool keys_find(const struct keys *k, const char *line, struct keys_hit *hit)
{
	const struct state *states = (const struct state *)(void *)k->states->data;
	guint s = 0;
	bool any = false;

	memset(hit, 0, sizeof(*hit));
	for (const guchar *p = (const guchar *)line; *p; p++) {
		s = states[s].next[*p];
		if (G_UNLIKELY(states[s].ends)) {
			any = true;
			for (guint i = 0; i < KEYS_WORDS; i++)
				hit->bits[i] |= states[s].out.bits[i];
		}
	}
	return any;
}
