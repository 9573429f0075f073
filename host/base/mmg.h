/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host program's files share.  Every function that can fail takes a
 * GError ** whose code is the exit status that the failure deserves.
 */
#ifndef MMGATE_HOST_H
#define MMGATE_HOST_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define MMG_VERSION "0.1"

/* The exit status, the same for every verb but bisect */
enum mmg_exit {
	MMG_EXIT_OK = 0,		/* all asked for holds */
	MMG_EXIT_FAIL = 1,		/* a test failed or a gate says no */
	MMG_EXIT_USAGE = 2,
	MMG_EXIT_BROKEN = 3,		/* the answer could not be had */
	MMG_EXIT_NOTHING = 4,		/* nothing ran */
	MMG_EXIT_INTERRUPTED = 130,
};

#define MMG_ERROR (mmg_error_quark())
GQuark mmg_error_quark(void);

/* Set *@err with exit status @status; the text is one line: what was tried, on
 * what, what came back, what to do.
 */
void mmg_set_error(GError **err, enum mmg_exit status, const char *fmt, ...)
	G_GNUC_PRINTF(3, 4);

/**
 * struct cli - the command line, options shared by all verbs
 *
 * Lists are GPtrArray of char *, empty rather than NULL; strings are NULL
 * where the option was not given.
 */
struct cli {
	const char *verb;
	GPtrArray *args;		/* words that are no options, after the verb */
	GPtrArray *command;		/* the whole command line as typed */

	GPtrArray *kernels;		/* --kernel */
	char *modules;			/* --modules */
	char *ksrc;			/* --ksrc */
	char *arch;			/* --arch */
	GPtrArray *machines;		/* --machine */
	GPtrArray *tests;		/* --test */
	GPtrArray *require;		/* --require */
	char *accel;			/* --accel: auto, kvm, tcg */
	int repeat;			/* --repeat, 1 by default */
	int jobs;			/* --jobs, 0: as many as fit */
	int timeout;			/* --timeout, 0: by the plan */
	char *out;			/* --out */
	uint64_t seed;			/* --seed, 0: the default */
	bool json, junit, tap, html, kcidb;
	bool strict;			/* what does not fit is an error: mutants, drift */
	bool offline, dry_run, yes, quiet, no_history, destructive;
	int verbose;

	char *tree;			/* --tree: gate, build, bisect, export */
	char *base, *patched, *series;	/* gate */
	GPtrArray *config;		/* --config FRAGMENT: build */
	bool flaky;			/* history --flaky */
	bool empty_cache;		/* doctor --empty-cache */
};

/* Verbs; each returns the exit status and has set *@err when it is not 0 and
 * no run.json carries the reason.
 */
int verb_run(struct cli *cli, GError **err);
int verb_gate(struct cli *cli, GError **err);
int verb_mutants(struct cli *cli, GError **err);
int verb_bench(struct cli *cli, GError **err);
int verb_bisect(struct cli *cli, GError **err);
int verb_report(struct cli *cli, GError **err);
int verb_shell(struct cli *cli, GError **err);
int verb_list(struct cli *cli, GError **err);
int verb_doctor(struct cli *cli, GError **err);
int verb_build(struct cli *cli, GError **err);
int verb_history(struct cli *cli, GError **err);
int verb_export(struct cli *cli, GError **err);
int verb_restore(struct cli *cli, GError **err);

/* ---- util.c ---- */

/* The checkout (parent of build/), and the cache ($XDG_CACHE_HOME or ~/.cache, then mmgate) */
const char *mmg_root(void);
const char *mmg_cache(void);
/* Path below the root or the cache, g_free() it */
char *mmg_root_path(const char *first, ...) G_GNUC_NULL_TERMINATED;
char *mmg_cache_path(const char *first, ...) G_GNUC_NULL_TERMINATED;
/* mkdir -p; false with *@err */
bool mmg_mkdirs(const char *path, GError **err);
/* Remove a tree, never following links; silent where it is absent */
void mmg_rmtree(const char *path);
/* SHA-256 of a file, hex, g_free() it; NULL with *@err */
char *mmg_sha256_file(const char *path, GError **err);
/* Write a file whole or not at all (temporary file, rename); false with *@err */
bool mmg_write_atomic(const char *path, const char *data, gssize len, GError **err);
/* Take the lock named @key of the cache, waiting and saying so; fd to close, -1 with *@err */
int mmg_lock(const char *key, GError **err);
/* Valid UTF-8 without control characters (tab kept), at most @max bytes, g_free() it */
char *mmg_clean(const char *s, gssize len, gsize max);
/* True where @glob matches the whole of @name or a leading part of it that ends at a '/' */
bool mmg_glob(const char *glob, const char *name);
bool mmg_glob_any(const GPtrArray *globs, const char *name);

/**
 * struct mmg_cmd - a child process to run to its end
 * @what:	for the status line and errors, such as "building the KVM library"
 * @argv:	NULL-terminated
 * @cwd:	or NULL
 * @env:	NULL-terminated "NAME=value" added to the environment, or NULL
 * @log:	file that stdout and stderr are appended to, or NULL
 * @out:	where stdout goes instead, at most 64 MiB, or NULL
 * @line:	called with each line of output, for progress, or NULL
 * @data:	for @line
 * @expect:	exit status beside 0 that is no error is put here, or NULL
 */
struct mmg_cmd {
	const char *what;
	const char *const *argv;
	const char *cwd;
	const char *const *env;
	const char *log;
	GString *out;
	void (*line)(const char *line, void *data);
	void *data;
	int *expect;
};

/*
 * Run a command in a process group of its own while the main context turns
 * (so Ctrl-C ends it).  False with *@err naming the command, its exit status
 * and the last line it printed, or MMG_EXIT_INTERRUPTED.
 */
bool mmg_run(const struct mmg_cmd *cmd, GError **err);

/* True once SIGINT, SIGTERM or SIGHUP came; loops turn the main context and look here */
bool mmg_interrupted(void);
/* Set *@err to interrupted and return true where mmg_interrupted() */
bool mmg_check_interrupt(GError **err);

/* ---- status.c: what the program is doing, on stderr ---- */
void status_init(const struct cli *cli);
/* The live line; plain lines where stderr is no terminal */
void status_set(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Second half of the live line (progress), never printed on plain output */
void status_progress(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* A line that stays */
void status_note(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Only with -v */
void status_debug(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void status_clear(void);

/* ---- kernel.c ---- */

/**
 * struct kernel - a kernel to test, ready to boot
 * @spec:	as the user wrote it
 * @label:	column heading, short and unique among the run's kernels
 * @release:	uname -r
 * @version:	leading numbers of @release, "6.12.117"
 * @arch:	"x86_64", "arm64"
 * @image:	bootable file (bzImage, Image, or ELF vmlinux with PVH)
 * @modules:	DIR holding modules.dep and kernel/ (…/lib/modules/RELEASE), or
 *		NULL where there are none
 * @config:	file with CONFIG_ lines, or NULL where unknown
 * @ksrc:	source tree for the KVM selftest library
 * @ksrc_name:	how @ksrc is named in results ("linux-source-6.12=6.12.117-1~deb12u1" or a path)
 * @packages:	"name=version" of what it came from
 * @sha256:	of @image
 * @host:	the running kernel, no VM
 */
struct kernel {
	char *spec, *label, *release, *version, *arch;
	char *image, *modules, *config;
	char *ksrc, *ksrc_name;
	GPtrArray *packages;
	char *sha256;
	char *role;			/* NULL, "base", "patched", "mutant" */
	bool host;
};

/* Resolve --kernel @spec with the options of @cli; NULL with *@err */
struct kernel *kernel_resolve(const struct cli *cli, const char *spec, GError **err);
/* Fill ksrc where it is not set yet: --ksrc, build tree's source, or the packaged one (fetched) */
bool kernel_find_ksrc(const struct cli *cli, struct kernel *k, GError **err);
/* Packaged source by version ("6.12") and suite (or NULL), unpacked once into the cache, whole tree
 * where @whole, else only what the selftests need; path, g_free() it; @name gets "package=version"
 */
char *ksrc_fetch(const struct cli *cli, const char *version, const char *suite, bool whole,
		 char **name, GError **err);
/* 'y', 'm', or 'n' for CONFIG_@name; 0 where the config is unknown */
char kernel_config(const struct kernel *k, const char *name);
/* Compare versions ("6.12.19" against "6.1") by number: <0, 0, >0 */
int kernel_version_cmp(const char *a, const char *b);
void kernel_free(struct kernel *k);

/* ---- modules.c ---- */
/*
 * Resolve @names (NULL-terminated) and what they need, in load order.  Names
 * that are built in or unknown are left out (the latter listed in @missing,
 * which may be NULL).  Returns a GPtrArray of file paths; NULL with *@err.
 */
GPtrArray *modules_resolve(const struct kernel *k, const char *const *names,
			   GPtrArray *missing, GError **err);

/* ---- initramfs.c ---- */
struct initramfs_file {
	char *dst;			/* "bin/init", no leading slash */
	char *src;			/* file to take, or NULL */
	char *data;			/* content where src is NULL; "" and mode S_IFDIR: a folder */
	gsize len;
	unsigned int mode;		/* permission bits, with S_IFDIR for folders */
	bool unpack;			/* .ko.xz/.zst/.gz: put in uncompressed under a .ko name */
};
/* Pack newc to @path; parents are made; sizes bounded; reproducible (no times).  @sha256: g_free() it */
bool initramfs_pack(const GPtrArray *files, const char *path, char **sha256, GError **err);

/* ---- selftests.c ---- */
/*
 * Build the tests for @k (its arch, its ksrc) in the cache, keyed by the
 * content of selftests/ and guest/, the source and the compiler.  Returns the folder with
 * kvm/<test>_test, mm/<test>_test, bench/..., and init; g_free() it; NULL with *@err.
 */
char *selftests_build(const struct cli *cli, const struct kernel *k, GError **err);

/* ---- suite.c: run tests on kernels, the heart of run, gate, mutants and bisect ---- */

#define DEFAULT_KERNEL "debian:6.12"	/* where no --kernel is given */

/**
 * struct suite - what to run
 * @kernels:	struct kernel *
 * @tests:	globs, empty for all that fit
 * @machines:	names, empty for those the tests ask for
 * @repeat:	runs; kernels alternate within each
 * @one_seed:	the same seed in every run; else each draws from the one after
 * @quiet:	no text on stdout
 * @on_case:	called with each case result object as it comes, or NULL; return
 *		false to end the boot there (mutants: killed already)
 */
struct suite {
	const struct cli *cli;
	GPtrArray *kernels;
	GPtrArray *tests;
	GPtrArray *machines;
	int repeat;
	bool one_seed;
	const char *verb;
	const char *out;		/* results folder, made already, or NULL: made by the rules */
	bool (*on_case)(json_t *result, void *data);
	void *data;
};

/*
 * Run it.  Returns run.json (json_decref() it), also written to its folder
 * (*@dir, g_free() it), with verdict, exit and reason filled in; NULL with *@err
 * where not even that could be had.
 */
json_t *suite_run(const struct suite *s, char **dir, GError **err);

/* Make the results folder (--out, or results/<date>-<n>) and point latest at it; g_free() it */
char *results_make_dir(const struct cli *cli, GError **err);
/* Judge the cases, boots, splats and requires in @run: sets verdict, exit and reason; returns the exit status */
int results_judge(json_t *run);
/* Write @run to @dir/run.json */
bool results_save(json_t *run, const char *dir, GError **err);

/* ---- reports: each takes run.json and its folder ---- */
bool report_text(json_t *run, const char *dir, FILE *to, bool colour, GError **err);
bool report_summary(json_t *run, const char *dir, GError **err);	/* summary.txt */
bool report_tap(json_t *run, const char *dir, GError **err);		/* results.tap */
bool report_junit(json_t *run, const char *dir, GError **err);		/* junit.xml */
bool report_html(json_t *run, const char *dir, GError **err);		/* report.html */
bool report_kcidb(json_t *run, const char *dir, GError **err);		/* kcidb.json */
/* GitHub annotations on stdout where that is the host */
void report_annotations(json_t *run);

/* ---- splat.c, known.c, history.c ---- */
/*
 * Find splats in a console: array as in boots[].splats.  Lines of the form
 * "mmgate: start TEST" written to the kernel log by PID 1 tie them to tests.
 */
json_t *splat_scan(const char *console, gsize len);
/* Set "allowed" in splats and results where an entry of configs/known-issues fits; notes go to run["known_issues"] */
bool known_apply(json_t *run, GError **err);
/* Put the run into the history database; false with *@err (a warning for the caller, no failure) */
bool history_add(json_t *run, GError **err);

#endif /* MMGATE_HOST_H */
