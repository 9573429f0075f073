/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the verb mutants: what became of each one, how that is kept and how it is told.
 */
#ifndef MMGATE_MUTANTS_H
#define MMGATE_MUTANTS_H

#include "verbs/verbs.h"

/**
 * struct mutant - one edit script and what became of it
 * @kills:	test name -> "F" (failed), "P" (panic, hang), "S" (splat) or "B" (broken)
 * @shown:	names of the tests that said something of it
 * @first:	"case on machine: reason" of the first kill, or why it is broken
 * @judged:	when, where that was in an earlier hunt
 * @stopped:	its hunt ended at the first kill: tests that came later were not shown it
 */
struct mutant {
	struct edit_script *script;
	GHashTable *overlay, *kills, *shown;
	enum fate fate;
	char *file, *first, *sha256, *judged;
	bool stopped;
	double build_s, test_s;
	unsigned int cases;
};

struct hunt {
	struct cli *cli;
	struct source *src;
	GPtrArray *mutants;		/* struct mutant * */
	json_t *base_run;
	GHashTable *base;		/* seen_collect() of it */
	struct kernel *good;
	struct judged_keys *keys;
	char *dir;
	bool stop;			/* a mutant's hunt ends at its first kill */
	GPid ahead;			/* builds the next mutant, 0: nobody does */
	gint64 began;
};

/* ---- mutants_judge.c ---- */

/* "kvm/aging/anon-4k" -> "kvm/aging"; g_free() it */
char *mutant_test_of(const char *name);
/* @word (a constant: F, P, S or B) of @test, unless a stronger one is there */
void mutant_add_kill(struct mutant *m, const char *test, const char *word);
/* The reason of a boot of @run that ended before PID 1 came, NULL where there is none */
const char *mutant_no_boot(json_t *run);
/*
 * The reason of a boot of @run on @machine (any where NULL) whose VM was lost: QEMU could not be started or
 * died, a disk was full.  That says nothing of the kernel.  NULL where there is none.
 */
const char *mutant_lost(json_t *run, const char *machine);
/* What @run says of @m, beside @base_run of the good kernel: sets its fate, kills and first reason */
void mutant_judge(struct mutant *m, json_t *base_run, json_t *run);
/* Killed by nothing better than a broken experiment: no test said what is wrong */
bool mutant_only_broken(const struct mutant *m);

/* ---- mutants_memo.c ---- */

/* @m as run.json has it; json_decref() it */
json_t *mutant_json(const struct mutant *m);
/* Take over what an earlier run found out about the same image, tests and machines; false where nothing */
bool mutant_recall(struct mutant *m, const char *key);
/* Keep what later runs may take over: an answer, not a failure to get one */
void mutant_keep(const struct mutant *m, const char *key);

/* ---- mutants_answer.c ---- */

unsigned int mutants_count(const struct hunt *h, enum fate f);
/* Must it fit this kernel, by --strict or --require? */
bool mutant_must_fit(const struct hunt *h, const struct mutant *m);
/* run["mutants"]; json_decref() it */
json_t *mutants_json(const struct hunt *h);
/* Set the verdict of @run; exit status */
int mutants_verdict(const struct hunt *h, json_t *run);

/* ---- mutants_print.c ---- */

/* run["mutants"] for people, on stdout */
void mutants_print(const json_t *out);

#endif /* MMGATE_MUTANTS_H */
