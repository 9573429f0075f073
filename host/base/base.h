/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every room stands on: errors, paths, locks, commands, signals, text, the status line.
 * Every function that can fail takes a GError ** whose code is the exit status that the
 * failure deserves.
 */
#ifndef MMGATE_BASE_H
#define MMGATE_BASE_H

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
/* The word of @known (NULL-terminated) that @word was probably meant to be, or NULL */
const char *mmg_nearest(const char *word, const char *const *known);
/* " (did you mean 'X'?)", or "" where nothing is near; g_free() it */
char *mmg_did_you_mean(const char *word, const char *const *known);
/*
 * Read a key file; lists in it are separated by ';'.  A group or key that is there twice, and what is not a
 * regular file, is an error.  g_key_file_unref() it; NULL with *@err (usage).
 */
GKeyFile *conf_load(const char *path, GError **err);
/* Value of @option ("CONFIG_NUMA") in the text of a .config: "y", "m", "16", "n" where it is not set; g_free() it */
char *kconfig_value(const char *config, const char *option);
/* Valid UTF-8 without control characters (tab kept), at most @max bytes, g_free() it */
char *mmg_clean(const char *s, gssize len, gsize max);
/* True where @glob matches the whole of @name or a leading part of it that ends at a '/' */
bool mmg_glob(const char *glob, const char *name);
bool mmg_glob_any(const GPtrArray *globs, const char *name);
/* The test part of "GLOB@MACHINE", g_free() it; *@machine: what follows the '@', NULL where there is none */
char *mmg_glob_split(const char *glob, const char **machine);
/* The machine part alone, in @glob; NULL where there is none */
const char *mmg_glob_machine(const char *glob);

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
/* @be_quiet: say nothing but errors; @say_debug: also what status_debug() is given */
void status_init(bool be_quiet, bool say_debug);
/* The live line; plain lines where stderr is no terminal */
void status_set(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Second half of the live line (progress), never printed on plain output */
void status_progress(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* A line that stays */
void status_note(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Only with -v */
void status_debug(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void status_clear(void);

/* ---- version.c ---- */

/*
 * Compare kernel versions ("6.12.19" against "6.1") by their numbers, what is missing
 * counts as 0: <0, 0, >0
 */
int version_cmp(const char *a, const char *b);
/* True where @version lies in @range: "FROM..TO" is FROM and later, before TO; either may be empty */
bool version_in_range(const char *range, const char *version);
/* True where "FROM..TO" is well-formed */
bool version_range_valid(const char *range);
/* Compare versions of Debian packages: <0, 0, >0 */
int deb_version_cmp(const char *a, const char *b);

/* ---- json.c ---- */

/* Members of an object: "" or 0 where absent or of another type */
const char *obj_str(const json_t *o, const char *key);
double obj_num(const json_t *o, const char *key);
json_int_t obj_int(const json_t *o, const char *key);
bool obj_bool(const json_t *o, const char *key);

/* ---- text.c ---- */

/* The value of "Field: value" in a stanza such as a control file's, g_free() it; NULL where it has none */
char *text_field(const char *stanza, const char *field);
/* Columns that @s takes on a terminal */
int text_width(const char *s);
/* Append @s and pad it with blanks to @width columns */
void text_pad(GString *out, const char *s, int width);
/* Append @s broken into lines of @width columns, each after @indent blanks; no line break at the end */
void text_wrap(GString *out, const char *s, int indent, int width);
/* Only printable ASCII, others as '?'; g_free() it */
char *text_ascii(const char *s);
/* @s without what no report shows as it is: controls, marks that turn the direction of text; lines kept.  g_free() it */
char *text_harmless(const char *s);
/* "1.2 s", "3 min 20 s"; g_free() it */
char *text_seconds(double s);

#endif /* MMGATE_BASE_H */
