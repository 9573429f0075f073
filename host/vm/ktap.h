/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_KTAP_H
#define MMGATE_KTAP_H

#include "mmg.h"

/**
 * struct ktap - reader of a VM's KTAP stream
 * @cases:	json array of case results: name, result, reason, duration_s,
 *		metrics, diag
 * @test:	test that runs now, or NULL
 * @running:	its case that runs now, or NULL
 * @planned:	tests the outer plan announces, -1 before it came
 * @ended:	tests that ended
 * @on_case:	called with each result as it comes, or NULL
 *
 * The stream is the untrusted guest's: lines, cases, metrics and diagnostics
 * are bounded, text is made valid UTF-8 without control characters.
 */
struct ktap {
	json_t *cases;
	char *test, *running;
	int planned, ended;
	void (*on_case)(struct ktap *k, json_t *result);
	void *data;

	/* private */
	GString *line;
	size_t nr_cases;
	int sub_planned, sub_seen, sub_bad;
	char *sub_skip;
	bool replanned;
	char *ending;			/* PID 1's word on how this test ended */
	json_t *pending;		/* case name -> what was said of it before its result */
	GHashTable *names;		/* results of this test, to refuse a name given twice */
	GString *said;			/* stderr of this test, for a result that never came */
};

struct ktap *ktap_new(void);
void ktap_feed(struct ktap *k, const char *buf, size_t n);
/*
 * The stream ended early: give the case (or test) that ran the result @result
 * ("fail", "broken") for @reason.
 */
void ktap_cut(struct ktap *k, const char *result, const char *reason);
void ktap_free(struct ktap *k);

#endif /* MMGATE_KTAP_H */
