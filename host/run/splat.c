// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splats: what a kernel says on its console when something in it went wrong.
 *
 * A console is read line by line.  A line that opens a splat (splat_kinds.c)
 * starts one; what follows belongs to it until its trace ends.  Below that net
 * is another: a trace, a "cut here" or an "end trace" that no known line opened
 * is a splat of kind "unknown".  Lines of several CPUs are told apart by their
 * caller ids, where the kernel prints them.  Splats of one console with the same
 * fingerprint are one entry with a count.  The fingerprint is made of kind and
 * function names only: addresses, offsets, line numbers, CPUs and process ids
 * differ from boot to boot and build to build.  A WARN()'s own words, without what
 * has a digit in it, tell it apart from another of the same function.  Where only
 * the place does (two WARN_ON()s of one function), the splats are two entries with
 * one fingerprint, and a known issue that names it applies to neither (known.c).
 */
#include "run/splat.h"

#include <stdlib.h>
#include <string.h>

#include "run/splat_read.h"

#define LINE_MAX_BYTES	1024	/* of a line; a longer one is read in pieces */
#define LINE_MAX_PIECES	64
#define TEXT_MAX_LINES	120	/* of a splat */
#define TEXT_MAX_BYTES	16384
#define SPLATS_MAX	64	/* distinct ones of a console */
#define CLOSED_MAX	20000	/* in all; what comes after so many is not read */
#define OPEN_MAX	8	/* at once, on as many CPUs */
#define NR_FRAMES	3	/* in a fingerprint */
#define QUIET_LINES	3	/* lines without trace content that end a splat */
#define PANIC_LINES	25	/* a panic within so many lines of a splat belongs to it */
#define MESSAGE_LINES	6	/* from a WARN()'s words to the line that names its place */
#define CUT_LINES	25	/* a splat opens within so many lines of its "cut here" */
#define AFTER_LINES	50	/* a trace within so many lines of a splat's end is still of it */
#define DUMP_LINES	60	/* a trace within so many lines of the word that announces it */

struct splat {
	const char *kind;
	char *title;
	char *tag;		/* what tells two of a kind apart but for their functions */
	char *function;		/* where it happened, or NULL */
	char *caller;		/* the CPU or task that printed it, "" where that is not told */
	char *site;		/* place in this very build, or NULL */
	char *test;
	GPtrArray *frames;	/* of the first trace */
	GPtrArray *locks;	/* lockdep's: the first two classes that it names, or NULL */
	GString *text;
	guint lines, quiet;
	bool trace;		/* in a "Call Trace:" now */
	bool traced;		/* one was seen whole */
	bool single;
	bool message;		/* only a WARN()'s words so far */
	bool gap;		/* the line before was no part of the trace that goes on */
	bool stamped;		/* its first line had the kernel's time */
};

/* Compiled once, for all consoles */
struct forms {
	GRegex *frame, *reg, *at, *in, *numbers, *dump, *place;
	GRegex **kinds, **innocents;
	struct keys *keys;
	char **kind_starts;
	guint *kind_keys, *innocent_keys, frame_key;
	struct keys_hit for_kinds, for_dump;
};

struct scan {
	const struct forms *re;
	char *test;		/* running now */
	char *victim;		/* of the OOM kill that this test announced, in the kernel's words */
	char *note;		/* line after "cut here", which is a WARN()'s message */
	char *cut_caller;
	bool cut_stamped;
	guint cut;		/* lines since "cut here", 0 for none */
	struct splat *open[OPEN_MAX];
	guint since;		/* lines since the last splat was closed */
	guint dumping;		/* lines for which a trace is announced */
	guint expected;		/* lines for which a trace is no fault's */
	bool asked;		/* sysrq: each trace of this test may be asked for */
	bool stamped;		/* this console has stamps, seen so far */
	json_t *last;		/* the splat that was closed last, of this test */
	json_t *out;
	guint closed;
	struct keys_hit hit;	/* words in the line that is read now */
	GString *line;
};

/*
 * What a line starts with that @pattern matches, where that is plain text: most
 * lines need no more than this look.  "" where it is not told; g_free() it.
 */
static char *literal_start(const char *pattern)
{
	gsize n;
	int depth = 0;

	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			continue;
		}
		depth += (*p == '(') - (*p == ')');
		if (*p == '|' && !depth)
			return g_strdup("");
	}
	if (*pattern != '^')
		return g_strdup("");
	pattern++;
	n = strcspn(pattern, "\\[](){}.*+?|$^");
	if (n && pattern[n] && strchr("?*{", pattern[n]))
		n--;
	return g_strndup(pattern, n);
}

static GRegex *regex_new(const char *pattern)
{
	GError *err = NULL;
	GRegex *re = g_regex_new(pattern, G_REGEX_OPTIMIZE, 0, &err);

	if (!re)
		g_error("%s: %s", pattern, err->message);
	return re;
}

/* What the compiler adds to a function's name is cut off, in place */
static char *plain_name(char *fn)
{
	static const char *const marks[] = {
		".isra.", ".constprop.", ".part.", ".cold", ".llvm.", ".lto_priv.", ".localalias",
		".__uniq.", ".cfi", ".argprom", ".argelim", ".retelim", ".specialized.", ".warm", ".kcov",
	};

	for (gsize i = 0; fn && i < G_N_ELEMENTS(marks); i++) {
		char *cut = strstr(fn, marks[i]);

		if (cut)
			*cut = 0;
	}
	return fn;
}

/* First group of @re in @line that holds a name, or NULL */
static char *function_in(GRegex *re, const char *line)
{
	GMatchInfo *m;
	char *fn = NULL;

	if (g_regex_match(re, line, 0, &m)) {
		for (int i = 1; i < g_match_info_get_match_count(m); i++) {
			g_free(fn);
			fn = g_match_info_fetch(m, i);
			if (fn && *fn)
				break;
		}
	}
	g_match_info_free(m);
	if (fn && !*fn)
		g_clear_pointer(&fn, g_free);
	return plain_name(fn);
}

/* Title: the opening line without what differs from boot to boot */
static char *title_of(struct scan *s, const char *line)
{
	char *t = g_regex_replace(s->re->numbers, line, -1, 0, "", 0, NULL);

	if (!t)
		t = g_strdup(line);
	return g_strstrip(t);
}

/* Up to @max words of @text, none with a digit in it */
static char *words(const char *text, int max)
{
	char **w = g_strsplit(text, " ", max + 1);
	GString *out = g_string_new(NULL);

	for (int i = 0; i < max && w[i] && !strpbrk(w[i], "0123456789"); i++)
		g_string_append_printf(out, "%s ", w[i]);
	g_strfreev(w);
	return g_string_free(out, FALSE);
}

/*
 * What a WARN() says, without what may differ from boot to boot: words of letters
 * alone, up to twelve.
 */
static char *message_words(const char *text)
{
	char **w = g_strsplit_set(text, " \t", 40);
	GString *out = g_string_new(NULL);

	for (int i = 0, n = 0; w[i] && n < 12; i++) {
		if (!*w[i] || strpbrk(w[i], "0123456789/'\"") || strlen(w[i]) > 40)
			continue;
		g_string_append_printf(out, "%s ", w[i]);
		n++;
	}
	g_strfreev(w);
	return g_string_free(out, FALSE);
}

/* "data-race in A / B": the two functions, in the order of their names */
static char *race_of(const char *line)
{
	const char *at = strstr(line, " in ");
	char **w = g_strsplit(at ? at + 4 : "", " / ", 2), *tag;

	for (int i = 0; w[i]; i++) {
		w[i][strcspn(w[i], "+ ")] = 0;
		plain_name(w[i]);
	}
	if (w[0] && w[1] && strcmp(w[0], w[1]) > 0)
		tag = g_strdup_printf("%s/%s", w[1], w[0]);
	else
		tag = g_strdup_printf("%s/%s", w[0] ?: "", w[0] && w[1] ? w[1] : "");
	g_strfreev(w);
	return tag;
}

/*
 * What tells splats apart that end in the same functions: which of lockdep's
 * complaints, which BUG, which of a sanitizer's.  6.4 put "slab-" before
 * KASAN's "use-after-free" (mm/kasan/report_generic.c).
 */
static char *tag_of(const struct splat_kind *k, const char *line, const char *matched)
{
	const char *at;

	if (!k)
		return NULL;
	if (!strcmp(k->kind, "KCSAN"))
		return race_of(line);
	if (!strcmp(k->kind, "lockdep"))
		return g_strdup(matched);
	if (!strcmp(k->kind, "SLUB")) {
		/* after the cache's name, which may be one of several drawn at random at boot */
		at = strstr(line, "): ");
		at = at ? at + 3 : "";
		at += g_str_has_prefix(at, "Left ") ? 5 : g_str_has_prefix(at, "Right ") ? 6 : 0;
		return words(at, 2);
	}
	if (!strcmp(k->kind, "BUG") && !(k->flags & SPLAT_OF_FAULT)) {
		at = strstr(line, "BUG: ");
		return at ? words(at + 5, 4) : NULL;
	}
	if (!strcmp(k->kind, "KASAN") || !strcmp(k->kind, "KFENCE") || !strcmp(k->kind, "KMSAN") ||
	    !strcmp(k->kind, "UBSAN")) {
		at = strstr(line, k->key);
		at = at ? at + strlen(k->key) : line;
		if (g_str_has_prefix(at, "slab-"))
			at += 5;
		return words(at, 1);
	}
	return NULL;
}

/* Where exactly: "mm/vmscan.c:3210" or "walk_mm+0x1a/0x3b0", or NULL */
static char *site_of(struct scan *s, const struct splat_kind *k, const char *line)
{
	char *site = NULL;
	GMatchInfo *m;

	if (strcmp(k->kind, "WARNING") && strcmp(k->kind, "UBSAN") && !strstr(line, "ernel BUG at "))
		return NULL;
	if (g_regex_match(s->re->place, line, 0, &m))
		site = g_match_info_fetch(m, 0);
	g_match_info_free(m);
	return site;
}

static void hash(GChecksum *sum, const char *text)
{
	g_checksum_update(sum, (const guchar *)"|", 1);
	g_checksum_update(sum, (const guchar *)text, -1);
}

/* Bytes of an address or another number of eight hexadecimal digits or more that a word begins with, or 0 */
static gsize address_len(const char *title, const char *p)
{
	gsize prefix = g_str_has_prefix(p, "0x") ? 2 : 0, n = prefix;

	if (p > title && g_ascii_isalnum(p[-1]))
		return 0;
	while (g_ascii_isxdigit(p[n]))
		n++;
	if (n - prefix < 8 || g_ascii_isalnum(p[n]) || p[n] == '_')
		return 0;
	return n;
}

/* A title's words; of its digits only those of a place in the source count, where that is all that two have to differ in */
static void hash_title(GChecksum *sum, const char *title)
{
	bool place = strstr(title, ".c:") || strstr(title, ".h:") || strstr(title, ".S:");

	for (const char *p = title; *p; p++) {
		gsize n = address_len(title, p);

		if (n)
			p += n - 1;
		else if (place || !g_ascii_isdigit(*p))
			g_checksum_update(sum, (const guchar *)p, 1);
	}
}

/*
 * The name of a system call without the layers of wrappers that a compiler inlines or not: "sys_madvise" of
 * __x64_sys_madvise, __se_sys_madvise and __do_sys_madvise.
 */
static const char *without_wrapper(const char *fn)
{
	static const char *const layers[] = {
		"__x64_", "__ia32_", "__arm64_", "__riscv_", "__s390x_", "__s390_", "__powerpc_", "__se_", "__do_", "__loongarch_",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(layers); i++) {
		gsize n = strlen(layers[i]);

		if (!strncmp(fn, layers[i], n) && (g_str_has_prefix(fn + n, "sys_") || g_str_has_prefix(fn + n, "compat_sys_")))
			return fn + n;
	}
	return fn;
}

static bool is_fault(const char *kind)
{
	return !strcmp(kind, "BUG") || !strcmp(kind, "Oops");
}

static char *fingerprint(const struct splat *sp)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
	const char *last = NULL;
	guint used = 0;
	char *hex;

	g_checksum_update(sum, (const guchar *)sp->kind, -1);
	if (sp->tag && *sp->tag) {
		hash(sum, sp->tag);
		used += !strcmp(sp->kind, "KCSAN");
	}
	if (sp->function && !splat_reporter(sp->function)) {
		hash(sum, sp->function);
		used = NR_FRAMES;
	} else if (sp->function && (!sp->tag || !*sp->tag) && (is_fault(sp->kind) || !strcmp(sp->kind, "WARNING"))) {
		/* two checks that one caller fails, where neither says a word */
		hash(sum, splat_family(sp->function) ?: sp->function);
	}
	for (guint i = 0; i < sp->frames->len && used < NR_FRAMES; i++) {
		const char *fn = without_wrapper(g_ptr_array_index(sp->frames, i));

		if (splat_reporter(fn) || splat_ending(fn) || (last && !strcmp(fn, last)))
			continue;
		hash(sum, fn);
		last = fn;
		used++;
	}
	for (guint i = 0; sp->locks && i < sp->locks->len; i++)
		hash(sum, g_ptr_array_index(sp->locks, i));
	/* Nothing to tell it by but its words */
	if (!used) {
		hash_title(sum, sp->title);
		/* only reporters were seen: better one entry a reporter than one for all */
		if (sp->function)
			hash(sum, sp->function);
	}
	hex = g_strndup(g_checksum_get_string(sum), 16);
	g_checksum_free(sum);
	return hex;
}

static void splat_free(struct splat *sp)
{
	g_free(sp->title);
	g_free(sp->tag);
	g_free(sp->function);
	g_free(sp->caller);
	g_free(sp->site);
	g_free(sp->test);
	g_ptr_array_unref(sp->frames);
	g_clear_pointer(&sp->locks, g_ptr_array_unref);
	g_string_free(sp->text, TRUE);
	g_free(sp);
}

static json_t *splat_json(const char *kind, const char *title, const char *fp, const char *site, const char *test,
			  const char *text)
{
	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:i, s:s, s:n}", "kind", kind, "title", title,
			 "fingerprint", fp, "site", site, "test", test, "count", 1, "text", text, "allowed");
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key)) ?: "";
}

static void splat_close(struct scan *s, int slot)
{
	struct splat *sp = s->open[slot];
	char *fp;
	json_t *o, *found = NULL;
	size_t i;

	if (!sp)
		return;
	s->open[slot] = NULL;
	s->since = 0;
	fp = fingerprint(sp);
	json_array_foreach(s->out, i, o) {
		const char *site = text_of(o, "site");

		if (!strcmp(text_of(o, "fingerprint"), fp) && (!*site || !sp->site || !strcmp(site, sp->site))) {
			found = o;
			break;
		}
	}
	if (found) {
		json_t *count = json_object_get(found, "count");

		json_integer_set(count, json_integer_value(count) + 1);
	} else if (json_array_size(s->out) < SPLATS_MAX) {
		found = splat_json(sp->kind, sp->title, fp, sp->site, sp->test, sp->text->str);
		if (found)
			json_array_append_new(s->out, found);
	} else if (json_array_size(s->out) == SPLATS_MAX) {
		/* what is not kept cannot be allowed either */
		found = splat_json("unknown", "more distinct splats than are kept", "ffffffffffffffff", NULL, sp->test,
				   sp->text->str);
		if (found)
			json_array_append_new(s->out, found);
	}
	s->last = found;
	s->closed++;
	g_free(fp);
	splat_free(sp);
}

static void close_all(struct scan *s)
{
	for (int i = 0; i < OPEN_MAX; i++)
		splat_close(s, i);
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

/* The open splat that a line of @caller belongs to, or -1 */
static int slot_of(const struct scan *s, const char *caller)
{
	int any = -1;

	for (int i = 0; i < OPEN_MAX; i++) {
		if (!s->open[i])
			continue;
		if (!strcmp(s->open[i]->caller, caller))
			return i;
		if (!*caller || !*s->open[i]->caller)
			any = i;
	}
	return any;
}

static struct splat *splat_open(struct scan *s, const char *kind, const char *line, const char *caller)
{
	struct splat *sp = g_new0(struct splat, 1);
	int slot = slot_of(s, caller);

	for (int i = 0; slot < 0 && i < OPEN_MAX; i++)
		if (!s->open[i])
			slot = i;
	slot = MAX(slot, 0);
	splat_close(s, slot);
	sp->kind = kind;
	sp->title = title_of(s, line);
	sp->test = g_strdup(s->test);
	sp->caller = g_strdup(caller);
	sp->frames = g_ptr_array_new_with_free_func(g_free);
	sp->text = g_string_new(NULL);
	if (s->note)
		splat_line(sp, s->note);
	splat_line(sp, line);
	s->open[slot] = sp;
	s->cut = 0;
	g_clear_pointer(&s->note, g_free);
	return sp;
}

static bool trace_start(const char *line)
{
	line += strspn(line, " ");
	/* 32-bit ARM prints no line before its frames */
	if (*line == '[' ? strstr(line, "(unwind_backtrace") != NULL : g_str_has_prefix(line, "unwind_backtrace from "))
		return true;
	return !g_ascii_strncasecmp(line, "Call Trace:", 11) || g_str_has_prefix(line, "Backtrace:") ||
	       !strncmp(line, "backtrace:", 10) || !strncmp(line, "backtrace (crc ", 15);
}

static bool trace_end(const char *line)
{
	return g_str_has_prefix(line, "---[ end trace") || g_str_has_prefix(line, "---[ end Kernel panic");
}

/* "RSP: 0018:", "R10: 00", "CR2: 00", "Code: 4d 85": what stands within a trace where a trap interrupted it */
static bool is_registers(const char *line)
{
	static const char *const names[] = {
		"RIP:", "RSP:", "RAX:", "RDX:", "RBP:", "R10:", "R13:", "FS: ", "CS: ", "CR2:", "DR0:", "DR3:", "Code:",
		"EIP:", "EAX:", "ESI:", "DS: ", "PKRU:",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_str_has_prefix(line, names[i]))
			return true;
	return false;
}

/* A line that may hold the place of a fault: see forms.reg */
static bool may_be_register(const char *line)
{
	return *line && strchr("REIepPNK", *line);
}

/* Kinds whose place is the register's; others print what was interrupted, too */
static bool at_register(const struct splat *sp)
{
	static const char *const not[] = {
		"lockdep", "hung task", "memory leak", "KCSAN", "allocation failure", "OOM kill",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(not); i++)
		if (!strcmp(sp->kind, not[i]))
			return false;
	return !sp->frames->len && !sp->traced;
}

/*
 * "(&mm->mmap_lock/1){++++}-{3:3}": lockdep's print_lock_name(), without the number of a lock's copy ("#2").
 * Two deadlocks at the same place differ in the locks that they are about.
 */
static void lock_named(struct splat *sp, const char *line)
{
	const char *to = strstr(line, "){"), *from = line;
	char *name;

	if (!to || strcmp(sp->kind, "lockdep") || sp->trace || sp->traced || (sp->locks && sp->locks->len >= 2))
		return;
	from = strstr(line, " (");
	from = from && from < to ? from + 2 : *line == '(' ? line + 1 : NULL;
	if (!from)
		return;
	if (!sp->locks)
		sp->locks = g_ptr_array_new_with_free_func(g_free);
	name = g_strndup(from, to - from);
	name[strcspn(name, "#")] = '\0';
	g_ptr_array_add(sp->locks, name);
}

/*
 * One line that another CPU, a driver or a program put between two frames does
 * not end a trace; what heads another part of a report does.
 */
static bool between_frames(const struct splat *sp, const char *line, bool foreign)
{
	if (foreign)
		return true;
	return *line && !sp->gap && !g_str_has_suffix(line, ":") &&
	       !g_str_has_prefix(line, "Code: ") && !g_str_has_prefix(line, "Modules linked in:");
}

/* A line within an open splat: true where it is still part of it.  A foreign one was not printed by its printer. */
static bool splat_more(struct scan *s, struct splat *sp, const char *line, bool foreign)
{
	char *fn;

	splat_line(sp, line);
	line += strspn(line, " \t");
	if (trace_end(line))
		return false;
	if (trace_start(line) || !g_ascii_strncasecmp(line, "stack backtrace:", 16)) {
		sp->trace = !sp->traced;
		sp->quiet = 0;
		return true;
	}
	fn = may_be_register(line) ? function_in(s->re->reg, line) : NULL;
	if (fn) {
		if (!sp->function && at_register(sp))
			sp->function = fn;
		else
			g_free(fn);
		sp->quiet = 0;
		return true;
	}
	fn = keys_has(&s->hit, s->re->frame_key) ? function_in(s->re->frame, line) : NULL;
	if (fn) {
		if (sp->trace && sp->frames->len < 32)
			g_ptr_array_add(sp->frames, fn);
		else
			g_free(fn);
		sp->quiet = 0;
		sp->gap = false;
		return true;
	}
	if (strstr(line, "TASK>") || strstr(line, "IRQ>") || strstr(line, "NMI>") || strstr(line, " ? ") || g_str_has_prefix(line, "? ") ||
	    strstr(line, "[inline]") || (sp->trace && is_registers(line)))
		return true;
	lock_named(sp, line);
	if (sp->trace && between_frames(sp, line, foreign)) {
		sp->gap |= !foreign;
		return true;
	}
	if (sp->trace) {
		sp->trace = false;
		sp->traced = sp->frames->len > 0;
		sp->quiet = 0;
	}
	/* one-line reports end at once, a trace's register dump goes on for a while */
	if (sp->single)
		return false;
	return ++sp->quiet < (sp->traced ? QUIET_LINES * 8 : QUIET_LINES * 16);
}

/* A "cut here" that no known line followed */
static void cut_unknown(struct scan *s)
{
	if (s->cut) {
		char *title = g_strdup_printf("a cut here without a known splat%s%s", s->note ? ": " : "",
					      s->note ?: "");
		char *caller = g_steal_pointer(&s->cut_caller);

		s->cut = 0;
		splat_open(s, "unknown", title, caller ?: "");
		g_free(caller);
		g_free(title);
	}
}

/*
 * A test that is about an OOM kill says so first, by the process's number (see
 * mmg_expect_oom_kill()).  One kill of that process is no splat, any other one is.
 */
static bool announced(struct scan *s, const char *line)
{
	static const char words[] = "mmgate: expect OOM kill of process ";

	if (s->test && g_str_has_prefix(line, words)) {
		g_free(s->victim);
		s->victim = g_strdup_printf("ut of memory: Killed process %u ", (unsigned int)
					    strtoul(line + strlen(words), NULL, 10));
		return true;
	}
	if (!s->victim || !strstr(line, s->victim))
		return false;
	g_clear_pointer(&s->victim, g_free);
	return true;
}

static bool marker(struct scan *s, const char *line)
{
	static const char start[] = "mmgate: start ", end[] = "mmgate: end ";

	if (!g_str_has_prefix(line, start) && !g_str_has_prefix(line, end))
		return false;
	cut_unknown(s);
	close_all(s);
	s->last = NULL;
	s->asked = false;
	s->expected = s->dumping = 0;
	g_clear_pointer(&s->victim, g_free);
	g_clear_pointer(&s->test, g_free);
	if (g_str_has_prefix(line, start))
		s->test = g_strndup(line + strlen(start), strcspn(line + strlen(start), " \t"));
	return true;
}

static const struct splat_innocent *innocent_of(struct scan *s, const char *line)
{
	for (gsize i = 0; i < splat_nr_innocents; i++)
		if (keys_has(&s->hit, s->re->innocent_keys[i]) && g_regex_match(s->re->innocents[i], line, 0, NULL))
			return &splat_innocents[i];
	return NULL;
}

static const struct splat_kind *kind_of(struct scan *s, const char *line, bool stamped, char **matched)
{
	for (gsize i = 0; i < splat_nr_kinds; i++) {
		const struct splat_kind *k = &splat_kinds[i];
		GMatchInfo *m;
		bool hit;

		if ((k->flags & SPLAT_STAMPED) && s->stamped && !stamped)
			continue;
		if ((k->flags & SPLAT_NOT_FIRST) && !s->stamped)
			continue;
		if (!keys_has(&s->hit, s->re->kind_keys[i]))
			continue;
		if (!g_str_has_prefix(line, s->re->kind_starts[i]))
			continue;
		hit = g_regex_match(s->re->kinds[i], line, 0, &m);
		if (hit)
			*matched = g_match_info_fetch(m, 0);
		g_match_info_free(m);
		if (hit)
			return k;
	}
	return NULL;
}

/* One more line of a report that has begun, not a report of its own */
static bool joins(const struct splat *sp, const struct splat_kind *k)
{
	if (k->flags & SPLAT_END)
		return true;
	if (!(k->flags & (SPLAT_OF_FAULT | SPLAT_MESSAGE)) || sp->single)
		return false;
	if (k->flags & SPLAT_MESSAGE)
		return (!strcmp(sp->kind, "WARNING") || is_fault(sp->kind)) && !sp->traced && !sp->frames->len;
	if (is_fault(k->kind) || !strcmp(k->kind, "KASAN"))
		return is_fault(sp->kind) && !sp->traced && !sp->frames->len;
	if (!strcmp(k->kind, "memory leak"))
		return (!strcmp(sp->kind, k->kind) || !strcmp(sp->kind, "kmemleak")) && !sp->trace && !sp->traced;
	return !strcmp(sp->kind, k->kind);
}

/* The line that names the place of what an open splat is about */
static bool names_place(const struct splat *sp, const struct splat_kind *k)
{
	return sp->message && sp->lines <= MESSAGE_LINES && !sp->frames->len && !(k->flags & (SPLAT_MESSAGE | SPLAT_END)) &&
	       (!strcmp(k->kind, "WARNING") || is_fault(k->kind));
}

/* A line that a row knows: opens a splat, unless it is one more of an open or ended one */
static bool known_line(struct scan *s, const char *line, const char *caller, bool stamped)
{
	char *matched = NULL;
	const struct splat_kind *k = kind_of(s, line, stamped, &matched);
	int slot = slot_of(s, caller);
	struct splat *sp;
	char *note;

	if (!k)
		return false;
	/* the line after a "cut here" is no more than the words of what follows */
	if ((k->flags & SPLAT_MESSAGE) && s->cut) {
		g_free(matched);
		return false;
	}
	if (slot >= 0 && names_place(s->open[slot], k)) {
		sp = s->open[slot];
		splat_line(sp, line);
		sp->message = false;
		s->cut = 0;
		g_clear_pointer(&s->note, g_free);
		sp->kind = k->kind;
		g_free(sp->title);
		sp->title = title_of(s, line);
		goto place;
	}
	if (slot >= 0 && joins(s->open[slot], k)) {
		g_free(matched);
		return false;
	}
	if (slot < 0 && s->last && (k->flags & SPLAT_END) && s->since < PANIC_LINES) {
		g_free(matched);
		return true;
	}
	note = g_strdup(s->note);
	sp = splat_open(s, k->kind, line, caller);
	sp->stamped = stamped;
	sp->single = k->flags & SPLAT_SINGLE;
	sp->message = k->flags & SPLAT_MESSAGE;
	if (sp->message)
		sp->tag = message_words(line);
	else if (note && !strcmp(k->kind, "WARNING"))
		sp->tag = message_words(note);
	else
		sp->tag = tag_of(k, line, matched);
	g_free(note);
place:
	g_free(sp->site);
	sp->site = sp->message ? NULL : site_of(s, k, line);
	g_clear_pointer(&sp->function, g_free);
	if (strcmp(k->kind, "KCSAN")) {
		sp->function = function_in(s->re->at, line);
		if (!sp->function)
			sp->function = function_in(s->re->in, line);
	}
	g_free(matched);
	return true;
}

/* A trace that nothing known opened */
static void net(struct scan *s, const char *line, const char *caller)
{
	/* what stands around a trace, where its first line was lost */
	bool around = g_str_has_prefix(line, "Modules linked in:") || g_str_has_prefix(line, "RIP: 0010:");
	bool start = around || (trace_start(line) && strncmp(line, "backtrace", 9)), end = trace_end(line);
	bool open = false;

	if (!start && !end)
		return;
	for (int i = 0; i < OPEN_MAX; i++)
		open |= s->open[i] != NULL;
	if (s->asked && start)
		return;
	if (s->expected && start) {
		s->expected = around ? s->expected : 0;
		return;
	}
	if ((s->last || open) && (s->dumping || (s->last && s->since < AFTER_LINES) || end)) {
		s->since = 0;
		return;
	}
	cut_unknown(s);
	if (slot_of(s, caller) < 0) {
		struct splat *sp = splat_open(s, "unknown", start ? "a trace without a known splat" :
					      "the end of a trace without a known splat", caller);

		splat_line(sp, line);
		sp->trace = start && !around;
		sp->single = end;
	}
}

static bool any_of(const struct keys_hit *hit, const struct keys_hit *of)
{
	for (guint i = 0; i < KEYS_WORDS; i++)
		if (hit->bits[i] & of->bits[i])
			return true;
	return false;
}

/* Nothing in it, but it is one line more */
static void blank_line(struct scan *s, const char *text, const char *caller)
{
	int slot = slot_of(s, caller);

	s->dumping -= s->dumping > 0;
	s->expected -= s->expected > 0;
	if (slot < 0) {
		s->since += s->since < G_MAXUINT;
		return;
	}
	memset(&s->hit, 0, sizeof(s->hit));
	if (!splat_more(s, s->open[slot], text, false))
		splat_close(s, slot);
}

/*
 * A line that is none of a splat's, though it stands within it: a program's among stamped ones, systemd's or
 * audit's, or the kernel's own word that it dropped some.
 */
static bool is_foreign(bool splat_stamped, const char *line, bool innocent, bool stamped)
{
	return innocent || (splat_stamped && !stamped) || strstr(line, "printk messages dropped");
}

static void scan_line(struct scan *s, const char *text, const char *caller, bool stamped)
{
	const char *line = text + strspn(text, " \t");
	const struct splat_innocent *none;
	bool suspect;
	int slot;

	if (!*line) {
		blank_line(s, text, caller);
		return;
	}
	keys_find(s->re->keys, line, &s->hit);
	if (marker(s, line) || announced(s, line))
		return;
	if (strstr(line, "-[ cut here ]-") || g_str_has_prefix(line, "8<--- cut here ---")) {
		slot = slot_of(s, caller);
		cut_unknown(s);
		if (slot >= 0 && !(s->open[slot]->message && s->open[slot]->lines <= MESSAGE_LINES))
			splat_close(s, slot);
		s->cut = 1;
		g_free(s->cut_caller);
		s->cut_caller = g_strdup(caller);
		s->cut_stamped = stamped;
		return;
	}
	s->dumping -= s->dumping > 0;
	s->expected -= s->expected > 0;
	suspect = any_of(&s->hit, &s->re->for_kinds);
	none = suspect || s->cut || slot_of(s, caller) >= 0 ? innocent_of(s, line) : NULL;
	if (none && none->trace) {
		s->asked |= g_str_has_prefix(line, "sysrq: ");
		s->expected = DUMP_LINES;
	}
	if (suspect && !none && known_line(s, line, caller, stamped)) {
		g_clear_pointer(&s->cut_caller, g_free);
		return;
	}
	if (any_of(&s->hit, &s->re->for_dump) && g_regex_match(s->re->dump, line, 0, NULL))
		s->dumping = DUMP_LINES;
	slot = slot_of(s, caller);
	if (slot >= 0) {
		if (!splat_more(s, s->open[slot], text, is_foreign(s->open[slot]->stamped, line, none, stamped)))
			splat_close(s, slot);
		return;
	}
	s->since++;
	net(s, line, caller);
	if (!s->cut || (*caller && s->cut_caller && *s->cut_caller && strcmp(caller, s->cut_caller)))
		return;
	if (s->cut++ == 1 && is_foreign(s->cut_stamped, line, none, stamped))
		s->cut = 1;
	else if (s->cut == 2)
		s->note = g_strdup(line);
	else if (s->cut > CUT_LINES)
		cut_unknown(s);
}

/* Stamps, levels and caller ids before a line are taken off, whoever put them there */
static void scan_stamped(struct scan *s, const char *line)
{
	struct stamped st;

	stamp_cut(line, &st);
	s->stamped |= st.stamped;
	scan_line(s, st.line, st.caller, st.stamped);
}

/* Two CPUs' lines, or a program's and the kernel's, may have run into one: cut before each stamp */
static void scan_text(struct scan *s, char *line)
{
	char *from = line, *at = *line ? strchr(line + 1, '[') : NULL;

	for (; at; at = strchr(at + 1, '[')) {
		struct stamped st;
		bool prefix;

		if (!stamp_len(at))
			continue;
		*at = '\0';
		/* a logger's stamp before the kernel's is no line of its own */
		stamp_cut(from, &st);
		prefix = from == line && !st.line[strspn(st.line, " \t")];
		if (!prefix)
			scan_stamped(s, from);
		*at = '[';
		from = prefix ? from : at;
	}
	scan_stamped(s, from);
}

static const struct forms *forms(void)
{
	static struct forms f;

	static const char *const dumps[] = {
		"NMI", "task:", "state:", "Showing ", "tack dump", "pool ", "Workqueue: ",
	};
	guint nr;

	if (f.frame)
		return &f;
	f.frame = regex_new("^ *(?:\\(?\\[<?[0-9a-f]+>?\\] *){0,2}\\(?([A-Za-z_][\\w.]*)\\+0x[0-9a-f]+");
	f.reg = regex_new("^(?:RIP: [0-9a-f]+:|E?IP:(?: is at)? ?(?:[0-9a-f]+:)?|e?pc *: +(?:[0-9a-f]{8,16} +)?|PC is at |NIP |"
			   "Krnl PSW : [0-9a-f]+ [0-9a-f]+ )(?:\\[<?[0-9a-f]+>?\\] *){0,2} *\\(?([A-Za-z_][\\w.]*)\\+0x");
	f.at = regex_new("(?: at|@) (?:\\S+:\\d+ )?(?:at )?([A-Za-z_][\\w.]*)(?:\\+0x|\\(\\))|"
			  "^\\S.*ENDBR: ([A-Za-z_][\\w.]*)\\+0x");
	f.in = regex_new(" in:? ([A-Za-z_][\\w.]*)(?:\\+0x| / |$)");
	f.numbers = regex_new("(?: CPU: \\d+)?(?: UID: \\d+)? PID: \\d+(?: Comm: .*)?|"
			       ", CPU#\\d+:.*$|\\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?");
	f.dump = regex_new("NMI backtrace for cpu|^task:|\\bstate:[A-Z]\\b|Sending NMI|^Showing |"
			    "kthread stack dump|^(?:rcu: )?Stack dump where|^pool \\d+:|^Workqueue: ");
	f.place = regex_new("[\\w./-]+\\.[chS]:\\d+(?::\\d+)?|[A-Za-z_][\\w.]*\\+0x[0-9a-f]+/0x[0-9a-f]+");
	f.keys = keys_new();
	f.frame_key = keys_add(f.keys, "+0x");
	for (gsize i = 0; i < G_N_ELEMENTS(dumps); i++) {
		nr = keys_add(f.keys, dumps[i]);
		f.for_dump.bits[nr / 64] |= G_GUINT64_CONSTANT(1) << (nr % 64);
	}
	f.kind_starts = g_new0(char *, splat_nr_kinds);
	f.kind_keys = g_new0(guint, splat_nr_kinds);
	f.kinds = g_new0(GRegex *, splat_nr_kinds);
	for (gsize i = 0; i < splat_nr_kinds; i++) {
		f.kinds[i] = regex_new(splat_kinds[i].regex);
		f.kind_starts[i] = literal_start(splat_kinds[i].regex);
		nr = f.kind_keys[i] = keys_add(f.keys, splat_kinds[i].key);
		f.for_kinds.bits[nr / 64] |= G_GUINT64_CONSTANT(1) << (nr % 64);
	}
	f.innocents = g_new0(GRegex *, splat_nr_innocents);
	f.innocent_keys = g_new0(guint, splat_nr_innocents);
	for (gsize i = 0; i < splat_nr_innocents; i++) {
		f.innocents[i] = regex_new(splat_innocents[i].regex);
		nr = f.innocent_keys[i] = keys_add(f.keys, splat_innocents[i].key);
		if (splat_innocents[i].trace)
			f.for_kinds.bits[nr / 64] |= G_GUINT64_CONSTANT(1) << (nr % 64);
	}
	keys_done(f.keys);
	return &f;
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
	struct scan s = { .out = json_array(), .re = forms(), .line = g_string_sized_new(LINE_MAX_BYTES) };
	const char *p = console, *stop = console + len;

	while (p < stop && s.closed < CLOSED_MAX) {
		const char *eol = p;
		int pieces = 0;

		while (eol < stop && *eol != '\n' && *eol != '\r')
			eol++;
		do {
			gsize n = MIN(eol - p, LINE_MAX_BYTES);

			line_clean(p, n, s.line);
			scan_text(&s, s.line->str);
			p += n;
		} while (p < eol && ++pieces < LINE_MAX_PIECES);
		/* of "\r\n" the second opens no empty line */
		p = eol + 1;
		if (eol + 1 < stop && *eol == '\r' && eol[1] == '\n')
			p++;
	}
	cut_unknown(&s);
	close_all(&s);
	if (p < stop) {
		json_array_append_new(s.out, splat_json("unknown", "more splats than are read", "ffffffffffffffff", NULL,
							s.test, "The rest of the console was not read."));
	}
	g_string_free(s.line, TRUE);
	g_free(s.test);
	g_free(s.victim);
	g_free(s.note);
	g_free(s.cut_caller);
	return s.out;
}
