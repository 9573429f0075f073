/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request to memory.reclaim: asked with a bound on time, and what it took as every
 * counter of the kernel says.
 */
#ifndef MMGATE_RECLAIM_REQUEST_H
#define MMGATE_RECLAIM_REQUEST_H

#include "scenario.h"

#define BATCH			64	/* MIN_LRU_BATCH, MEMCG_CHARGE_BATCH */
/* Swapping on a busy host without KVM hardware: far beyond the second it takes else */
#define RECLAIM_TIMEOUT_S	120

/**
 * struct taken - what one request did, in base pages
 * @asked:	pages asked for
 * @freed:	memory.current fell by
 * @swapped:	memory.swap.current grew by
 * @stolen:	pgsteal of memory.stat grew by
 * @written:	pswpout (with swpout_zero) of /proc/vmstat grew by
 * @gone:	pages of the region that are absent now and were not before
 * @err:	0 or -errno of the write
 * @s:		seconds
 */
struct taken {
	u64 asked;
	u64 freed;
	u64 swapped;
	u64 stolen;
	u64 written;
	u64 gone;
	int err;
	double s;
};

/* The memory of a case: what it is made of, and whether the host touches it itself */
struct cold_params {
	enum backing backing;
	bool host;
};

double reclaim_seconds(void);
/* Size of a base page */
size_t reclaim_page(void);

/*
 * memory.reclaim of @bytes; @took is how long it took in seconds.  One that does not come
 * back is the kernel's failure, not a broken case.  Returns 0 or -errno of the write.
 */
int bounded_reclaim(const struct memcg *cg, u64 bytes, const char *swappiness, double *took);

/* Reclaim @asked pages of the scenario's group and see what every counter says */
void take(struct scenario *s, u64 asked, const char *swappiness, struct taken *t);

/* Do @a and @b differ by no more than @slack? */
bool within(u64 a, u64 b, u64 slack);

/* Charges, in pages, that memory.current and memory.stat may not show yet */
u64 lag(void);

/* Fails where the counters do not agree with the residency of the memory, which cannot lag */
void judge_counters(const struct taken *t);

/* Fails where the return value does not agree with the residency, both ways */
void judge_errno(const struct taken *t);

/* Usual size of a case's memory */
size_t cold_bytes(const struct cold_params *p);

/* Age all of the group, forced */
void reclaim_age(struct scenario *s);

/* All in memory, aged twice without touches: everything is cold */
void set_up_cold(struct scenario *s, const struct cold_params *p, size_t bytes);

#endif /* MMGATE_RECLAIM_REQUEST_H */
