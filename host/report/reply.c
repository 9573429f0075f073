// SPDX-License-Identifier: GPL-2.0-only
/*
 * The answer to a series as a mail that a maintainer can send as it is.
 */
#include "report/reply.h"

#include <gmime/gmime.h>
#include <string.h>

#include "run/run.h"

#define WIDTH	72
#define MOST_ROWS	30
/* what a shell takes as it is */
#define WORD_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
#define PIECE		16	/* bytes of a long word on one line */
#define TALLY_MAX	20	/* "broken 10000/10000" */

static void para(GString *s, const char *text, int indent)
{
	g_autofree char *plain = text_ascii(text);

	text_wrap(s, plain, indent, WIDTH);
	g_string_append_c(s, '\n');
}

/* "3/3" failed, as a word: what a table has room for */
static char *tally_word(const json_t *t)
{
	int pass = obj_int(t, "pass"), fail = obj_int(t, "fail"), broken = obj_int(t, "broken");

	if (broken)
		return g_strdup_printf("broken %d/%d", broken, pass + fail + broken);
	if (fail)
		return g_strdup_printf("FAIL %d/%d", fail, pass + fail);
	if (pass)
		return g_strdup_printf("pass %d/%d", pass, pass);
	return g_strdup(obj_int(t, "skip") ? "skip" : "-");
}

/* A name that is longer than its column, on lines of its own */
static void add_long(GString *s, const char *name)
{
	for (const char *p = name; *p; p += MIN(strlen(p), WIDTH - 2))
		g_string_append_printf(s, "  %.*s\n", WIDTH - 2, p);
}

/* @tally: width of a column of results; the name has the rest of the line */
static void add_row(GString *s, int tally, const char *name, const char *base, const char *patched)
{
	g_string_append_printf(s, "  %-*s %-*.*s %.*s\n", WIDTH - 4 - 2 * tally, name, tally, tally, base, tally, patched);
}

static bool is_quiet(const json_t *c)
{
	enum change change = obj_change(c);

	return change == CHANGE_STILL_PASSING || change == CHANGE_SKIPPED;
}

/* The longest result of those that the table shows */
static int tally_width(const json_t *gate)
{
	size_t width = strlen("patched"), i;
	const json_t *c;

	json_array_foreach(json_object_get(gate, "cases"), i, c) {
		g_autofree char *base = tally_word(json_object_get(c, "base"));
		g_autofree char *patched = tally_word(json_object_get(c, "patched"));

		if (!is_quiet(c))
			width = MAX(width, MAX(strlen(base), strlen(patched)));
	}
	return MIN(width, TALLY_MAX);
}

static void add_table(GString *s, const json_t *gate)
{
	int rows = 0, passing = 0, tally = tally_width(gate);
	const json_t *c;
	size_t i;

	add_row(s, tally, "case@machine", "base", "patched");
	json_array_foreach(json_object_get(gate, "cases"), i, c) {
		g_autofree char *base = tally_word(json_object_get(c, "base"));
		g_autofree char *patched = tally_word(json_object_get(c, "patched"));
		g_autofree char *both = g_strdup_printf("%s@%s", obj_str(c, "name"), obj_str(c, "machine"));
		g_autofree char *name = text_ascii(both);

		if (is_quiet(c)) {
			passing += obj_change(c) == CHANGE_STILL_PASSING;
			continue;
		}
		if (rows++ >= MOST_ROWS)
			continue;
		if ((int)strlen(name) > WIDTH - 4 - 2 * tally) {
			add_long(s, name);
			add_row(s, tally, "", base, patched);
		} else {
			add_row(s, tally, name, base, patched);
		}
	}
	if (rows > MOST_ROWS)
		g_string_append_printf(s, "  and %d more that changed\n", rows - MOST_ROWS);
	if (passing)
		g_string_append_printf(s, "  %d case%s on both\n", passing, passing == 1 ? " passes" : "s pass");
}

/* The numbers behind the first case of each kind of change */
static void add_numbers(GString *s, const json_t *gate)
{
	const json_t *c;
	size_t i;
	int n = 0;

	json_array_foreach(json_object_get(gate, "cases"), i, c) {
		const json_t *b = json_object_get(c, "base"), *p = json_object_get(c, "patched");
		g_autofree char *line = NULL, *rates = NULL;

		if (is_quiet(c) || n++ >= 3)
			continue;
		line = g_strdup_printf("%s on %s: base: %s; patched: %s", obj_str(c, "name"), obj_str(c, "machine"),
				       obj_str(c, "base_reason"), obj_str(c, "patched_reason"));
		para(s, line, 2);
		rates = g_strdup_printf("failure rates, 95 %% exact: base %.0f to %.0f %%, patched %.0f to %.0f %%",
					100 * obj_num(b, "fail_rate_low"), 100 * obj_num(b, "fail_rate_high"),
					100 * obj_num(p, "fail_rate_low"), 100 * obj_num(p, "fail_rate_high"));
		para(s, rates, 4);
	}
}

static void add_past(GString *s, const json_t *run)
{
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(run, "past"), i, e) {
		if (!i)
			g_string_append(s, "\nBeside the last runs without this series:\n");
		if (i < MOST_ROWS)
			para(s, obj_str(e, "note"), 2);
	}
}

static void add_environment(GString *s, const json_t *run)
{
	const json_t *k, *host = json_object_get(run, "host");
	g_autofree char *line = NULL;
	size_t i;

	json_array_foreach(json_object_get(run, "kernels"), i, k) {
		g_autofree char *kernel = g_strdup_printf("%s: %s, %s, image %.12s", i ? "patched" : "base",
							  obj_str(k, "release"), obj_str(k, "arch"),
							  obj_str(k, "image_sha256"));

		para(s, kernel, 2);
	}
	line = g_strdup_printf("VMs by QEMU, accelerator %s, on %s (%s, %d CPUs); mmgate %s, seed %lld",
			       obj_str(host, "accel"), obj_str(host, "kernel"), obj_str(host, "arch"),
			       (int)obj_int(host, "cpus"), MMG_VERSION, (long long)obj_int(run, "seed"));
	para(s, line, 2);
}

/* Every case that failed without the series passes with it, and at least one did */
static bool all_fixed(const json_t *gate)
{
	const json_t *c;
	bool fixed = false;
	size_t i;

	if (word_find(WORDS_VERDICT, obj_str(gate, "verdict")) != VERDICT_PASS)
		return false;
	json_array_foreach(json_object_get(gate, "cases"), i, c) {
		if (obj_change(c) == CHANGE_STILL_FAILING)
			return false;
		fixed |= obj_change(c) == CHANGE_FIXED;
	}
	return fixed;
}

char *reply_body(const struct reply *r)
{
	const json_t *gate = json_object_get(r->run, "gate");
	GString *s = g_string_new(NULL);
	g_autofree char *verdict = NULL;

	if (!gate) {
		verdict = g_strdup_printf("mmgate could not judge this series: %s",
					  r->refused ?: "the reason was not kept");
		para(s, verdict, 0);
		return g_string_free(s, FALSE);
	}
	verdict = g_strdup_printf("mmgate: %s: %s", obj_str(gate, "verdict"), obj_str(gate, "reason"));
	para(s, verdict, 0);
	if (json_array_size(json_object_get(gate, "cases"))) {
		g_string_append_c(s, '\n');
		add_table(s, gate);
		g_string_append_c(s, '\n');
		add_numbers(s, gate);
	}
	add_past(s, r->run);
	g_string_append(s, "\nEnvironment:\n");
	add_environment(s, r->run);
	if (r->commands)
		g_string_append_printf(s, "\nTo see it again:\n%s", r->commands);
	if (r->tester && all_fixed(gate))
		g_string_append_printf(s, "\nTested-by: %s\n", r->tester);
	return g_string_free(s, FALSE);
}

static void add_addresses(GMimeMessage *m, GMimeAddressType type, const char *text)
{
	InternetAddressList *list = text ? internet_address_list_parse(NULL, text) : NULL;

	if (!list)
		return;
	internet_address_list_append(g_mime_message_get_addresses(m, type), list);
	g_object_unref(list);
}

/* As a shell takes it */
static char *shell_word(const char *text)
{
	return *text && strspn(text, WORD_CHARS) == strlen(text) ? g_strdup(text) : g_shell_quote(text);
}

/* A word that no line holds, in pieces that the shell puts together again: a quote grows fourfold */
static void add_pieces(GString *s, const char *text)
{
	for (const char *p = text; *p; p += MIN(strlen(p), PIECE)) {
		g_autofree char *part = g_strndup(p, PIECE), *word = shell_word(part);

		g_string_append_printf(s, "\\\n%s", word);
	}
}

char *reply_command(const char *const *words, const char *into)
{
	GString *s = g_string_new(" ");
	gsize at = 1;

	for (; *words; words++) {
		g_autofree char *ascii = text_ascii(*words), *word = shell_word(ascii);
		gsize len = strlen(word);

		if (at + 1 + len > WIDTH - 2 && at > 4) {
			g_string_append(s, " \\\n   ");
			at = 3;
		}
		g_string_append_c(s, ' ');
		if (at + 1 + len <= WIDTH - 2)
			g_string_append(s, word);
		else
			add_pieces(s, ascii);
		at = at + 1 + len <= WIDTH - 2 ? at + 1 + len : WIDTH;
	}
	if (into)
		g_string_append_printf(s, "%s >%s", at + 3 + strlen(into) > WIDTH - 2 ? " \\\n   " : "", into);
	g_string_append_c(s, '\n');
	return g_string_free(s, FALSE);
}

char *reply_again(const GPtrArray *command)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();

	for (guint i = 0; i < command->len; i++) {
		const char *word = command->pdata[i];

		if (!strcmp(word, "--out")) {
			i++;
		} else if (!strcmp(word, "--tree")) {
			g_ptr_array_add(words, (char *)"--tree");
			g_ptr_array_add(words, (char *)"linux");
			i++;
		} else if (g_str_has_prefix(word, "--tree=")) {
			g_ptr_array_add(words, (char *)"--tree=linux");
		} else if (!g_str_has_prefix(word, "--out=")) {
			g_ptr_array_add(words, (char *)word);
		}
	}
	g_ptr_array_add(words, NULL);
	return reply_command((const char *const *)words->pdata, NULL);
}

char *reply_reason(const char *reason, const char *tree, const char *results)
{
	GString *s = g_string_new(reason);
	const char *log = strstr(s->str, "; the whole log is ");

	if (log)
		g_string_truncate(s, log - s->str);
	if (*tree)
		g_string_replace(s, tree, "the tree", 0);
	if (*results)
		g_string_replace(s, results, "results", 0);
	return g_string_free(s, FALSE);
}

bool reply_write(const struct reply *r, const char *path, GError **err)
{
	g_autofree char *body = reply_body(r), *subject = NULL, *text = NULL, *parent = NULL;
	GMimeMessage *m;
	GMimePart *part;
	GDateTime *now = g_date_time_new_now_local();
	bool ok;

	g_mime_init();
	m = g_mime_message_new(TRUE);
	part = GMIME_PART(g_mime_text_part_new_with_subtype("plain"));
	subject = g_str_has_prefix(r->to->subject, "Re:") ? g_strdup(r->to->subject) :
							     g_strconcat("Re: ", r->to->subject, NULL);
	g_mime_message_set_subject(m, subject, "utf-8");
	g_mime_message_set_date(m, now);
	add_addresses(m, GMIME_ADDRESS_TYPE_FROM, r->tester);
	add_addresses(m, GMIME_ADDRESS_TYPE_TO, r->to->from);
	add_addresses(m, GMIME_ADDRESS_TYPE_CC, r->to->to);
	add_addresses(m, GMIME_ADDRESS_TYPE_CC, r->to->cc);
	parent = g_strdup_printf("<%s>", r->to->id);
	g_mime_object_set_header(GMIME_OBJECT(m), "In-Reply-To", parent, NULL);
	g_mime_object_set_header(GMIME_OBJECT(m), "References", r->to->references, NULL);
	g_mime_text_part_set_charset(GMIME_TEXT_PART(part), "utf-8");
	g_mime_text_part_set_text(GMIME_TEXT_PART(part), body);
	/* only a tester's name can be anything but ASCII */
	g_mime_part_set_content_encoding(part, g_str_is_ascii(body) ? GMIME_CONTENT_ENCODING_7BIT :
						GMIME_CONTENT_ENCODING_8BIT);
	g_mime_message_set_mime_part(m, GMIME_OBJECT(part));
	text = g_mime_object_to_string(GMIME_OBJECT(m), NULL);
	ok = mmg_write_atomic(path, text, -1, err);
	g_object_unref(part);
	g_object_unref(m);
	g_date_time_unref(now);
	return ok;
}
