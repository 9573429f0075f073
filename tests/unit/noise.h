/* SPDX-License-Identifier: GPL-2.0-only */
/* Made-up measurements: the same in each run of a test */
#ifndef NOISE_H
#define NOISE_H

#include <math.h>
#include <stdint.h>

static uint64_t noise_state = 88172645463325252ULL;

/* Uniform in (0, 1): xorshift64, Marsaglia 2003 */
static inline double noise_uniform(void)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return ((noise_state >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal, by Box and Muller */
static inline double noise_normal(void)
{
	return sqrt(-2 * log(noise_uniform())) * cos(2 * M_PI * noise_uniform());
}

/* What timings look like on a busy host: skewed, now and then far off */
static inline double noise_skewed(void)
{
	return exp(0.5 * noise_normal());
}

#endif /* NOISE_H */
