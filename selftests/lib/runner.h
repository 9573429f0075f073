/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The case runner: a test is a table of cases, each forked, bounded in time
 * and run with the settings it declares saved and put back.
 */
#ifndef MMGATE_RUNNER_H
#define MMGATE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "compiler.h"

/**
 * struct mmg_case - one variant of a test, a row of its table
 * @name:	case part of family/test/case, such as "anon-4k"
 * @fn:		runs the case in a child of its own; ends it with one of
 *		mmg_pass(), mmg_fail(), mmg_skip() or mmg_broken().  Returning
 *		without a word is broken.
 * @arg:	parameters, whatever @fn makes of them
 * @timeout_s:	bound in seconds, 0 for the default (60, scaled by
 *		MMGATE_TIMEOUT_SCALE); a case over it is killed: broken, with
 *		what it was doing (see mmg_doing())
 * @destructive: changes or loads the machine in a way a production host would
 *		feel: skipped unless MMGATE_VM is set or --destructive is given
 */
struct mmg_case {
	const char *name;
	void (*fn)(const struct mmg_case *c);
	const void *arg;
	unsigned int timeout_s;
	bool destructive;
};

/**
 * struct mmg_test - one experiment
 * @name:	family/test, such as "kvm/eviction_order"
 * @cases:	its cases
 * @nr_cases:	how many
 * @settings:	files of /proc and /sys whose content is saved before each case
 *		and written back after it, on every way out; NULL-terminated.
 *		One that is absent is passed over.
 * @setup:	optional, runs once in the parent before the cases; may call
 *		mmg_skip_all()
 */
struct mmg_test {
	const char *name;
	const struct mmg_case *cases;
	size_t nr_cases;
	const char *const *settings;
	void (*setup)(void);
};

/**
 * struct mmg_opts - the command line, the same for every test
 * @seed:	--seed N (MMGATE_SEED), labels and orders are drawn from it
 * @mem_bytes:	-m SIZE (32M by default): guest memory of one experiment
 * @destructive: --destructive
 * @verbose:	-v
 */
struct mmg_opts {
	u64 seed;
	size_t mem_bytes;
	bool destructive;
	bool verbose;
};

extern struct mmg_opts mmg_opts;

/* main() of every test: options, plan, cases; returns the kselftest exit code */
int mmg_main(int argc, char **argv, const struct mmg_test *test);

/* How a case ends.  The reason is one line and carries the numbers. */
void mmg_pass(const char *fmt, ...) __printf(1, 2) __noreturn;
void mmg_fail(const char *fmt, ...) __printf(1, 2) __noreturn;
void mmg_skip(const char *fmt, ...) __printf(1, 2) __noreturn;
void mmg_broken(const char *fmt, ...) __printf(1, 2) __noreturn;
/* only in setup(): every case of the test is skipped for this reason */
void mmg_skip_all(const char *fmt, ...) __printf(1, 2) __noreturn;

/* A diagnostic line ("# ...") of the running case */
void mmg_info(const char *fmt, ...) __printf(1, 2);
/* A measured value: "# mmgate-metric: CASE NAME VALUE"; names are [a-z0-9_] */
void mmg_metric(const char *name, double value);
/*
 * Say in the kernel's log that an OOM kill of process @pid is what the case is about, so
 * that the reader of the console does not take it for a fault: one kill, of that process.
 */
void mmg_expect_oom_kill(pid_t pid);
/* What the case is doing, named when it is killed for taking too long */
void mmg_doing(const char *fmt, ...) __printf(1, 2);
/*
 * Open an artifact for writing, or NULL where none are kept: the file
 * $MMGATE_ARTIFACTS/family/test/CASE.KIND, KIND such as "order.tsv".
 */
FILE *mmg_artifact(const char *kind);

/* Save a setting now, put back when the case ends (beyond those declared) */
void mmg_save_setting(const char *path);
/* Write a setting; broken, with what came back, where it is refused */
void mmg_write_setting(const char *path, const char *fmt, ...)
	__printf(2, 3);
/* Same, returning 0 or -errno */
int mmg_try_write(const char *path, const char *fmt, ...)
	__printf(2, 3);
/* Whole small file as a static-lifetime-free string (caller frees), or NULL with errno */
char *mmg_read_file(const char *path, size_t *len);

/*
 * Ask the world outside (host side of the VM) for something, such as
 * "plug dimm0".  Returns 0, or -1 with the reason in @reply; on a booted host
 * the reason is that nobody is there to ask.
 */
int mmg_request(const char *what, char *reply, size_t size);

/* Seeded generator (splitmix64), for labels and orders */
u64 mmg_rand(u64 *state);
/* Fisher-Yates over @n indices */
void mmg_shuffle(u32 *v, size_t n, u64 *state);

/* True where the test runs in mmgate's own VM */
bool mmg_in_vm(void);

#endif /* MMGATE_RUNNER_H */
