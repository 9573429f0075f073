/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), a keyed
 * checksum of a stream: PID 1 of a test VM signs with it what it says, and the host program
 * verifies it, so that a test which gets hold of PID 1's ports cannot speak in its place.
 */
#ifndef MMGATE_SIGN_H
#define MMGATE_SIGN_H

#include <stddef.h>

#define SIGN_KEY_BYTES 16

struct sign {
	unsigned long long v[4];
	unsigned long long word;		/* bytes of the block that is not whole yet */
	unsigned long long bytes;		/* in all */
};

static inline unsigned long long sign_rotate(unsigned long long x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void sign_round(unsigned long long v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = sign_rotate(v[1], 13) ^ v[0];
	v[3] = sign_rotate(v[3], 16) ^ v[2];
	v[0] = sign_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = sign_rotate(v[1], 17) ^ v[2];
	v[3] = sign_rotate(v[3], 21) ^ v[0];
	v[2] = sign_rotate(v[2], 32);
}

static inline void sign_block(unsigned long long v[4], unsigned long long m)
{
	v[3] ^= m;
	sign_round(v);
	sign_round(v);
	v[0] ^= m;
}

static inline void sign_begin(struct sign *s, const unsigned char key[SIGN_KEY_BYTES])
{
	unsigned long long k[2] = { 0, 0 };
	int i;

	for (i = 0; i < SIGN_KEY_BYTES; i++)
		k[i / 8] |= (unsigned long long)key[i] << 8 * (i % 8);
	s->v[0] = k[0] ^ 0x736f6d6570736575ULL;
	s->v[1] = k[1] ^ 0x646f72616e646f6dULL;
	s->v[2] = k[0] ^ 0x6c7967656e657261ULL;
	s->v[3] = k[1] ^ 0x7465646279746573ULL;
	s->word = 0;
	s->bytes = 0;
}

static inline void sign_add(struct sign *s, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (; len--; p++) {
		s->word |= (unsigned long long)*p << 8 * (s->bytes % 8);
		if (++s->bytes % 8 == 0) {
			sign_block(s->v, s->word);
			s->word = 0;
		}
	}
}

/* The tag of all that was added; more can be added after it */
static inline unsigned long long sign_tag(const struct sign *s)
{
	unsigned long long v[4] = { s->v[0], s->v[1], s->v[2], s->v[3] };
	int i;

	sign_block(v, s->word | (s->bytes & 0xff) << 56);
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sign_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The tag of one line, the @nr-th, so that none can be said again or left out */
static inline unsigned long long sign_line(const unsigned char key[SIGN_KEY_BYTES],
					   unsigned long long nr, const char *line,
					   size_t len)
{
	struct sign s;
	unsigned char n[8];
	int i;

	for (i = 0; i < 8; i++)
		n[i] = nr >> 8 * i;
	sign_begin(&s, key);
	sign_add(&s, n, sizeof(n));
	sign_add(&s, line, len);
	return sign_tag(&s);
}

#endif /* MMGATE_SIGN_H */
