// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words for results, states and verdicts.
 */
#include "base/words.h"

#include <string.h>

#define WORDS_MAX	10	/* values of the largest enum */

static const struct {
	const char *word;
	enum result shown;
} table[NR_WORDS][WORDS_MAX] = {
	[WORDS_RESULT] = {
		[RESULT_NONE] = { "none", RESULT_NONE },
		[RESULT_PASS] = { "pass", RESULT_PASS },
		[RESULT_FAIL] = { "fail", RESULT_FAIL },
		[RESULT_BROKEN] = { "broken", RESULT_BROKEN },
		[RESULT_SKIP] = { "skip", RESULT_SKIP },
	},
	[WORDS_STATE] = {
		[STATE_NONE] = { "none", RESULT_NONE },
		[STATE_GOODBYE] = { "goodbye", RESULT_NONE },
		[STATE_PANIC] = { "panic", RESULT_NONE },
		[STATE_HANG] = { "hang", RESULT_NONE },
		[STATE_NO_BOOT] = { "no-boot", RESULT_NONE },
		[STATE_LOST] = { "lost", RESULT_NONE },
		[STATE_TIMEOUT] = { "timeout", RESULT_NONE },
		[STATE_INTERRUPTED] = { "interrupted", RESULT_NONE },
		[STATE_STOPPED] = { "stopped", RESULT_NONE },
		[STATE_REFUSED] = { "refused", RESULT_NONE },
	},
	[WORDS_CHANGE] = {
		[CHANGE_FIXED] = { "fixed", RESULT_PASS },
		[CHANGE_REGRESSED] = { "regressed", RESULT_FAIL },
		[CHANGE_STILL_FAILING] = { "still failing", RESULT_FAIL },
		[CHANGE_STILL_PASSING] = { "still passing", RESULT_PASS },
		[CHANGE_FLAKY] = { "flaky", RESULT_BROKEN },
		[CHANGE_BROKEN] = { "broken", RESULT_BROKEN },
		[CHANGE_SKIPPED] = { "skipped", RESULT_SKIP },
		[CHANGE_ABSENT] = { "absent", RESULT_NONE },
	},
	[WORDS_VERDICT] = {
		[VERDICT_PASS] = { "pass", RESULT_PASS },
		[VERDICT_NOT_REPRODUCED] = { "not reproduced", RESULT_FAIL },
		[VERDICT_NOT_FIXED] = { "not fixed", RESULT_FAIL },
		[VERDICT_REGRESSED] = { "regressed", RESULT_FAIL },
		[VERDICT_INCONCLUSIVE] = { "inconclusive", RESULT_BROKEN },
		[VERDICT_BROKEN] = { "broken", RESULT_BROKEN },
	},
	[WORDS_CLAIM] = {
		[CLAIM_FIXES] = { "fixes", RESULT_NONE },
		[CLAIM_KEEPS] = { "keeps", RESULT_NONE },
		[CLAIM_NONE] = { "", RESULT_NONE },
	},
	[WORDS_FATE] = {
		[FATE_KILLED] = { "killed", RESULT_PASS },
		[FATE_SURVIVED] = { "survived", RESULT_FAIL },
		[FATE_EXPLAINED] = { "explained", RESULT_SKIP },
		[FATE_IDENTICAL] = { "identical", RESULT_SKIP },
		[FATE_BROKEN] = { "broken", RESULT_BROKEN },
		[FATE_UNFIT] = { "does not fit", RESULT_NONE },
		[FATE_UNBUILT] = { "does not build", RESULT_NONE },
		[FATE_UNSEEN] = { "not tested", RESULT_NONE },
	},
};

const char *word_of(enum word_kind kind, int value)
{
	return table[kind][value].word;
}

int word_find(enum word_kind kind, const char *word)
{
	for (int i = 0; i < WORDS_MAX && table[kind][i].word; i++)
		if (!strcmp(word, table[kind][i].word))
			return i;
	return -1;
}

enum result word_shown(enum word_kind kind, int value)
{
	return table[kind][value].shown;
}

static int find_or(enum word_kind kind, const char *word, int otherwise)
{
	int value = word_find(kind, word);

	return value < 0 ? otherwise : value;
}

enum result result_find(const char *word)
{
	return find_or(WORDS_RESULT, word, RESULT_NONE);
}

enum result exit_result(int status)
{
	switch (status) {
	case MMG_EXIT_OK:
		return RESULT_PASS;
	case MMG_EXIT_FAIL:
		return RESULT_FAIL;
	case MMG_EXIT_NOTHING:
		return RESULT_SKIP;
	default:
		return RESULT_BROKEN;
	}
}

enum result obj_result(const json_t *c)
{
	return result_find(obj_str(c, "result"));
}

enum result obj_verdict(const json_t *run)
{
	return result_find(obj_str(run, "verdict"));
}

enum vm_state obj_state(const json_t *boot)
{
	return find_or(WORDS_STATE, obj_str(boot, "state"), STATE_NONE);
}

enum change obj_change(const json_t *c)
{
	return find_or(WORDS_CHANGE, obj_str(c, "change"), CHANGE_ABSENT);
}

enum claim obj_claim(const json_t *c)
{
	return find_or(WORDS_CLAIM, obj_str(c, "claim"), CLAIM_NONE);
}

bool change_is_quiet(const json_t *c)
{
	enum change change = obj_change(c);

	return !*obj_str(c, "claim") && (change == CHANGE_STILL_PASSING || change == CHANGE_SKIPPED);
}

enum fate obj_fate(const json_t *m)
{
	return find_or(WORDS_FATE, obj_str(m, "fate"), FATE_UNSEEN);
}
