/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Results, states and verdicts, and the words that stand for them in run.json, KTAP and reports.
 * All words are in one table, words.c; nothing else compares or writes them as text.
 */
#ifndef MMGATE_WORDS_H
#define MMGATE_WORDS_H

#include "base/base.h"

/* What a case came to, on one kernel and machine */
enum result {
	RESULT_NONE,			/* it did not run: no case has this */
	RESULT_PASS, RESULT_FAIL,
	RESULT_BROKEN,			/* the experiment did not work: nothing is said of the kernel */
	RESULT_SKIP,
};

/* How a VM ended; docs/how-it-works.md, "When is a VM believed?" */
enum vm_state {
	STATE_NONE,			/* it runs, or has not been started */
	STATE_GOODBYE, STATE_PANIC, STATE_HANG, STATE_NO_BOOT, STATE_LOST, STATE_TIMEOUT, STATE_INTERRUPTED,
	STATE_STOPPED,			/* on purpose, since enough was seen */
	STATE_REFUSED,			/* never started: this kernel or this QEMU cannot be such a machine */
};

/* How a case went from base to patched */
enum change {
	CHANGE_FIXED, CHANGE_REGRESSED, CHANGE_STILL_FAILING, CHANGE_STILL_PASSING,
	CHANGE_FLAKY, CHANGE_BROKEN, CHANGE_SKIPPED, CHANGE_ABSENT,
};

/* What a gate says of a series */
enum verdict {
	VERDICT_PASS, VERDICT_NOT_REPRODUCED, VERDICT_NOT_FIXED, VERDICT_REGRESSED,
	VERDICT_INCONCLUSIVE, VERDICT_BROKEN,
};

/* What a gate asks of a case */
enum claim { CLAIM_FIXES, CLAIM_KEEPS, CLAIM_NONE };

/* What became of one mutant */
enum fate {
	FATE_KILLED, FATE_SURVIVED, FATE_EXPLAINED, FATE_IDENTICAL, FATE_BROKEN, FATE_UNFIT, FATE_UNBUILT, FATE_UNSEEN,
};

enum word_kind { WORDS_RESULT, WORDS_STATE, WORDS_CHANGE, WORDS_VERDICT, WORDS_CLAIM, WORDS_FATE, NR_WORDS };

/* The word of @value of the enum @kind */
const char *word_of(enum word_kind kind, int value);
/* The value of @kind that @word stands for, -1 where it is none of them */
int word_find(enum word_kind kind, const char *word);
/* How @value of @kind is shown beside results: green as a pass, red as a fail; RESULT_NONE: neither */
enum result word_shown(enum word_kind kind, int value);

static inline const char *result_name(enum result r)
{
	return word_of(WORDS_RESULT, r);
}

static inline const char *state_name(enum vm_state s)
{
	return word_of(WORDS_STATE, s);
}

static inline const char *change_name(enum change c)
{
	return word_of(WORDS_CHANGE, c);
}

static inline const char *verdict_name(enum verdict v)
{
	return word_of(WORDS_VERDICT, v);
}

static inline const char *claim_name(enum claim c)
{
	return word_of(WORDS_CLAIM, c);
}

static inline const char *fate_name(enum fate f)
{
	return word_of(WORDS_FATE, f);
}

/* The result that @word names; RESULT_NONE where it is none */
enum result result_find(const char *word);
/* What a run with this exit status came to */
enum result exit_result(int status);
/* "result" of a case, and "verdict" of a run, as run.json has them; RESULT_NONE where it says nothing known */
enum result obj_result(const json_t *c);
enum result obj_verdict(const json_t *run);
/* "state" of a boot; STATE_NONE where it says nothing known */
enum vm_state obj_state(const json_t *boot);
/* "change" and "claim" of a gate's case; CHANGE_ABSENT and CLAIM_NONE where they say nothing known */
enum change obj_change(const json_t *c);
enum claim obj_claim(const json_t *c);
/* Neither claimed nor changed: a case that a table of a gate leaves out */
bool change_is_quiet(const json_t *c);
/* "fate" of a mutant; FATE_UNSEEN where it says nothing known */
enum fate obj_fate(const json_t *m);

/* A fail or a broken one: what makes a run red, unless a known issue allows it */
static inline bool result_bad(enum result r)
{
	return r == RESULT_FAIL || r == RESULT_BROKEN;
}

#endif /* MMGATE_WORDS_H */
