// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splats: what a kernel says on its console when something in it went wrong.
 *
 * A console is read line by line.  A line that opens a splat (WARNING, BUG,
 * Oops, a sanitizer's report, lockdep, a stall, a hung task, an OOM kill, a
 * leak) starts one; what follows belongs to it until its trace ends.  Splats of
 * one console with the same fingerprint are one entry with a count.  The
 * fingerprint is made of kind and function names only: addresses, offsets, line
 * numbers, CPUs and process ids differ from boot to boot and build to build.
 */
#include "run/run.h"

#include <string.h>

#define LINE_MAX_BYTES	1024	/* of a line, the rest is cut */
#define TEXT_MAX_LINES	120	/* of a splat */
#define TEXT_MAX_BYTES	16384
#define SPLATS_MAX	64	/* distinct ones of a console */
#define NR_FRAMES	3	/* in a fingerprint */
#define QUIET_LINES	3	/* lines without trace content that end a splat */
#define PANIC_LINES	25	/* a panic within so many lines of a splat belongs to it */

/**
 * struct opener - a form of line that opens a splat
 * @regex:	on the line without its time stamp
 * @kind:	what it is called
 * @joins:	inside an open splat it is one more line of that splat
 */
static const struct opener {
	const char *regex;
	const char *kind;
	bool joins;
} openers[] = {
	{ "^BUG: KASAN: ", "KASAN", false },
	{ "^BUG: KFENCE: ", "KFENCE", false },
	{ "^BUG: KCSAN: ", "KCSAN", false },
	{ "^BUG: KMSAN: ", "KMSAN", false },
	{ "^UBSAN: ", "UBSAN", false },
	{ "^(watchdog: )?BUG: soft lockup", "soft lockup", false },
	{ "^(NMI watchdog: |watchdog: )?Watchdog detected hard LOCKUP", "hard lockup", false },
	{ "^BUG: workqueue lockup", "stall", false },
	{ "^WARNING: (possible |suspicious |inconsistent |bad unlock|lock held|Nested lock|held lock)",
	  "lockdep", false },
	{ "^(INFO: trying to register non-static key|INFO: possible )", "lockdep", false },
	{ "^\\[ BUG: ", "lockdep", false },
	{ "^WARNING: (CPU: \\d|.* at \\S+\\+0x)", "WARNING", false },
	{ "^kernel BUG at ", "BUG", true },
	{ "^BUG: ", "BUG", true },
	{ "^(rcu: )?INFO: rcu\\S* (self-)?detected (expedited )?stall", "RCU stall", false },
	{ "^INFO: task .* blocked (on|for|in) ", "hung task", false },
	{ "^(Out of memory|Memory cgroup out of memory): Kill", "OOM kill", false },
	{ "^kmemleak: \\d+ new suspected memory leak", "memory leak", false },
	{ "^Unable to handle kernel ", "Oops", true },
	{ "^(Internal error: )?Oops", "Oops", true },
	{ "^Internal error: ", "Oops", true },
	{ "^(general protection fault|divide error|invalid opcode|stack segment|int3|"
	  "double fault|traps: PANIC: double fault|PANIC: double fault)\\b.*", "Oops", true },
	{ "^Unexpected kernel BRK exception|^Insufficient stack space", "Oops", true },
	{ "^Kernel panic - not syncing", "panic", true },
};

/* Functions that only report: the one that matters is their caller */
static const char *const reporters[] = {
	"dump_stack", "dump_stack_lvl", "__dump_stack", "show_stack", "dump_backtrace",
	"print_report", "print_address_description", "kasan_report", "__asan_*",
	"kasan_check_range", "kcsan_*", "__kcsan_*", "ubsan_*", "__ubsan_*", "handle_overflow",
	"__warn", "__warn_printk", "report_bug", "handle_bug", "exc_invalid_op",
	"asm_exc_invalid_op", "warn_slowpath_*", "bug_handler", "call_break_hook", "brk_handler",
	"die", "__die*", "oops_end", "panic", "vpanic", "page_fault_oops", "exc_page_fault",
	"asm_exc_page_fault", "refcount_warn_saturate", "__list_add_valid*",
	"__list_del_entry_valid*", "lockdep_rcu_suspicious", "print_circular_bug*",
	"check_noncircular", "check_prev_add", "__lock_acquire", "lock_acquire*", "validate_chain",
	"_raw_spin_lock*", "mark_lock*", "print_usage_bug*", "__might_resched", "__might_sleep",
	"dump_header", "oom_kill_process", "out_of_memory", "__schedule", "schedule",
	"schedule_timeout", "__schedule_bug", "watchdog_*", "bad_page", "print_bad_pte",
};

struct splat {
	const char *kind;
	char *title;
	char *function;		/* where it happened, or NULL */
	char *test;
	GPtrArray *frames;	/* of the first trace */
	GString *text;
	guint lines, quiet;
	bool trace;		/* in a "Call Trace:" now */
	bool traced;		/* one was seen whole */
};

struct scan {
	GRegex *stamp, *frame, *rip, *at, *in, *numbers;
	GRegex *openers[G_N_ELEMENTS(openers)];
	GRegex *any;		/* all openers in one: a flooded console is long */
	char *test;		/* running now */
	char *note;		/* line after "cut here", which is a WARN()'s message */
	int cut;		/* lines since "cut here", 0 for none */
	struct splat *open;
	guint since;		/* lines since the last splat was closed */
	json_t *last;		/* that one */
	json_t *out;
};

static GRegex *regex_new(const char *pattern)
{
	GError *err = NULL;
	GRegex *re = g_regex_new(pattern, G_REGEX_OPTIMIZE, 0, &err);

	if (!re)
		g_error("%s: %s", pattern, err->message);
	return re;
}

static bool is_reporter(const char *fn)
{
	for (gsize i = 0; i < G_N_ELEMENTS(reporters); i++)
		if (g_pattern_match_simple(reporters[i], fn))
			return true;
	return false;
}

/* First group of @re in @line, or NULL; what the compiler adds to names is cut off */
static char *function_in(GRegex *re, const char *line)
{
	static const char *const marks[] = {
		".isra.", ".constprop.", ".part.", ".cold", ".llvm.", ".lto_priv.",
	};
	GMatchInfo *m;
	char *fn = NULL;

	if (g_regex_match(re, line, 0, &m))
		fn = g_match_info_fetch(m, 1);
	g_match_info_free(m);
	for (gsize i = 0; fn && i < G_N_ELEMENTS(marks); i++) {
		char *cut = strstr(fn, marks[i]);

		if (cut)
			*cut = 0;
	}
	return fn;
}

/* Title: the opening line without what differs from boot to boot */
static char *title_of(struct scan *s, const char *line)
{
	char *t = g_regex_replace(s->numbers, line, -1, 0, "", 0, NULL);

	if (!t)
		t = g_strdup(line);
	return g_strstrip(t);
}

static char *fingerprint(const struct splat *sp)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
	guint used = 0;
	char *hex;

	g_checksum_update(sum, (const guchar *)sp->kind, -1);
	if (sp->function && !is_reporter(sp->function)) {
		g_checksum_update(sum, (const guchar *)"|", 1);
		g_checksum_update(sum, (const guchar *)sp->function, -1);
		used = NR_FRAMES;
	}
	for (guint i = 0; i < sp->frames->len && used < NR_FRAMES; i++) {
		const char *fn = g_ptr_array_index(sp->frames, i);

		if (is_reporter(fn))
			continue;
		g_checksum_update(sum, (const guchar *)"|", 1);
		g_checksum_update(sum, (const guchar *)fn, -1);
		used++;
	}
	/* nothing to tell it by but its words; the digits in them do not count */
	if (!used) {
		for (const char *p = sp->title; *p; p++)
			if (!g_ascii_isdigit(*p))
				g_checksum_update(sum, (const guchar *)p, 1);
	}
	hex = g_strndup(g_checksum_get_string(sum), 16);
	g_checksum_free(sum);
	return hex;
}

static void splat_free(struct splat *sp)
{
	g_free(sp->title);
	g_free(sp->function);
	g_free(sp->test);
	g_ptr_array_unref(sp->frames);
	g_string_free(sp->text, TRUE);
	g_free(sp);
}

static void splat_close(struct scan *s)
{
	struct splat *sp = s->open;
	char *fp;
	json_t *o, *found = NULL;
	size_t i;

	if (!sp)
		return;
	s->open = NULL;
	s->since = 0;
	fp = fingerprint(sp);
	json_array_foreach(s->out, i, o) {
		if (!strcmp(json_string_value(json_object_get(o, "fingerprint")), fp)) {
			found = o;
			break;
		}
	}
	if (found) {
		json_t *count = json_object_get(found, "count");

		json_integer_set(count, json_integer_value(count) + 1);
	} else if (json_array_size(s->out) < SPLATS_MAX) {
		found = json_pack("{s:s, s:s, s:s, s:s?, s:i, s:s, s:n}",
				  "kind", sp->kind, "title", sp->title, "fingerprint", fp,
				  "test", sp->test, "count", 1, "text", sp->text->str, "allowed");
		if (found)
			json_array_append_new(s->out, found);
	}
	s->last = found;
	g_free(fp);
	splat_free(sp);
}

static void splat_line(struct splat *sp, const char *line)
{
	if (sp->lines >= TEXT_MAX_LINES || sp->text->len + strlen(line) > TEXT_MAX_BYTES)
		return;
	if (sp->text->len)
		g_string_append_c(sp->text, '\n');
	g_string_append(sp->text, line);
	sp->lines++;
}

static void splat_open(struct scan *s, const char *kind, const char *line)
{
	struct splat *sp = g_new0(struct splat, 1);

	splat_close(s);
	sp->kind = kind;
	sp->title = title_of(s, line);
	sp->test = g_strdup(s->test);
	sp->frames = g_ptr_array_new_with_free_func(g_free);
	sp->text = g_string_new(NULL);
	sp->function = function_in(s->at, line);
	if (!sp->function)
		sp->function = function_in(s->in, line);
	if (s->note)
		splat_line(sp, s->note);
	splat_line(sp, line);
	s->open = sp;
}

/* A line within an open splat: true where it is still part of it */
static bool splat_more(struct scan *s, const char *line)
{
	struct splat *sp = s->open;
	char *fn;

	if (g_str_has_prefix(line, "---[ end trace") ||
	    g_str_has_prefix(line, "---[ end Kernel panic")) {
		splat_line(sp, line);
		return false;
	}
	splat_line(sp, line);
	if (!g_ascii_strncasecmp(line, "Call Trace:", 11) ||
	    !g_ascii_strncasecmp(line, "stack backtrace:", 16)) {
		sp->trace = !sp->traced;
		sp->quiet = 0;
		return true;
	}
	fn = function_in(s->rip, line);
	if (fn) {
		if (!sp->function)
			sp->function = fn;
		else
			g_free(fn);
		sp->quiet = 0;
		return true;
	}
	fn = function_in(s->frame, line);
	if (fn) {
		if (sp->trace && sp->frames->len < 32)
			g_ptr_array_add(sp->frames, fn);
		else
			g_free(fn);
		sp->quiet = 0;
		return true;
	}
	if (strstr(line, "<TASK>") || strstr(line, "<IRQ>") || strstr(line, " ? "))
		return true;
	if (sp->trace) {
		sp->trace = false;
		sp->traced = sp->frames->len > 0;
		sp->quiet = 0;
	}
	/* one-line reports end at once, a trace's register dump goes on for a while */
	if (!strcmp(sp->kind, "OOM kill") || !strcmp(sp->kind, "memory leak"))
		return false;
	return ++sp->quiet < (sp->traced ? QUIET_LINES * 8 : QUIET_LINES * 16);
}

static void scan_line(struct scan *s, const char *line)
{
	static const char start[] = "mmgate: start ", end[] = "mmgate: end ";

	if (g_str_has_prefix(line, start) || g_str_has_prefix(line, end)) {
		splat_close(s);
		s->last = NULL;
		g_free(s->test);
		s->test = NULL;
		if (g_str_has_prefix(line, start))
			s->test = g_strndup(line + strlen(start),
					    strcspn(line + strlen(start), " \t"));
		return;
	}
	if (g_str_has_prefix(line, "------------[ cut here ]")) {
		splat_close(s);
		s->cut = 1;
		return;
	}
	for (gsize i = g_regex_match(s->any, line, 0, NULL) ? 0 : G_N_ELEMENTS(openers);
	     i < G_N_ELEMENTS(openers); i++) {
		if (!g_regex_match(s->openers[i], line, 0, NULL))
			continue;
		if (s->open && openers[i].joins)
			break;
		if (!s->open && s->last && !strcmp(openers[i].kind, "panic") &&
		    s->since < PANIC_LINES)
			return;
		splat_open(s, openers[i].kind, line);
		s->cut = 0;
		g_clear_pointer(&s->note, g_free);
		return;
	}
	if (s->open) {
		if (!splat_more(s, line))
			splat_close(s);
		return;
	}
	s->since++;
	if (s->cut && s->cut++ == 1 && *line)
		s->note = g_strdup(line);
	else if (s->cut > 8) {
		s->cut = 0;
		g_clear_pointer(&s->note, g_free);
	}
}

/**
 * splat_scan() - find splats in a console
 * @console: the bytes as they came, of any content
 * @len: how many
 *
 * Return: a new JSON array of the form of boots[].splats, empty for none.
 */
json_t *splat_scan(const char *console, gsize len)
{
	struct scan s = { .out = json_array() };
	const char *p = console, *stop = console + len;
	GString *any;

	s.stamp = regex_new("^(<\\d+>)?(\\[ *\\d+\\.\\d+\\](\\[ *[TC]\\d+\\])? )?");
	s.frame = regex_new("^ *(?:\\[<[0-9a-f]+>\\] )?([A-Za-z_][\\w.]*)\\+0x[0-9a-f]+/0x[0-9a-f]+");
	s.rip = regex_new("^(?:RIP: \\S+?:|pc : )([A-Za-z_][\\w.]*)\\+0x");
	s.at = regex_new(" at (?:\\S+:\\d+ )?([A-Za-z_][\\w.]*)\\+0x");
	s.in = regex_new(" in ([A-Za-z_][\\w.]*)(?:\\+0x| / |$)");
	s.numbers = regex_new("(?: CPU: \\d+)?(?: UID: \\d+)? PID: \\d+(?: Comm: .*)?|"
			      ", CPU#\\d+:.*$|\\+0x[0-9a-f]+/0x[0-9a-f]+");
	any = g_string_new(NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(openers); i++) {
		s.openers[i] = regex_new(openers[i].regex);
		g_string_append_printf(any, "%s(?:%s)", i ? "|" : "", openers[i].regex);
	}
	s.any = regex_new(any->str);
	g_string_free(any, TRUE);

	while (p < stop) {
		const char *eol = memchr(p, '\n', stop - p);
		gsize n = (eol ? eol : stop) - p;
		char *line;
		GMatchInfo *m;
		int skip = 0;

		if (n && p[n - 1] == '\r')
			n--;
		line = mmg_clean(p, n, LINE_MAX_BYTES);
		if (g_regex_match(s.stamp, line, 0, &m))
			g_match_info_fetch_pos(m, 0, NULL, &skip);
		g_match_info_free(m);
		scan_line(&s, line + MAX(skip, 0));
		g_free(line);
		if (!eol)
			break;
		p = eol + 1;
	}
	splat_close(&s);

	g_regex_unref(s.stamp);
	g_regex_unref(s.frame);
	g_regex_unref(s.rip);
	g_regex_unref(s.at);
	g_regex_unref(s.in);
	g_regex_unref(s.numbers);
	g_regex_unref(s.any);
	for (gsize i = 0; i < G_N_ELEMENTS(openers); i++)
		g_regex_unref(s.openers[i]);
	g_free(s.test);
	g_free(s.note);
	return s.out;
}
