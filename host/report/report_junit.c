// SPDX-License-Identifier: GPL-2.0-only
/*
 * JUnit XML: a suite for each boot of a kernel, a case for each case, and one
 * named "boot" that carries splats and deaths.  Attributes and order of the
 * elements are those that both the Ant and the Jenkins schema take.
 */
#include "report/report.h"

#include <libxml/xmlwriter.h>
#include <math.h>
#include <string.h>

#define TAIL_BYTES	8192
#define TEXT_BYTES	16384
#define NAME_BYTES	300

struct junit {
	const struct rep *r;
	xmlTextWriterPtr w;
	bool bad;		/* the writer refused something */
};

struct counts {
	int tests, failures, errors, skipped;
	double time;
};

/* What XML 1.0 can carry, lines kept; g_free() it */
static char *xml_text(const char *s, gsize len, gsize max)
{
	char *valid = g_utf8_make_valid(s, MIN(len, max));
	GString *out = g_string_new(NULL);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		if (c == '\r')
			continue;
		if (c == '\n' || c == '\t' ||
		    (c >= 0x20 && !(c >= 0x7f && c < 0xa0) && (c & 0xfffe) != 0xfffe &&
		     !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069)))
			g_string_append_unichar(out, c);
		else
			g_string_append_c(out, '?');
	}
	g_free(valid);
	return g_string_free(out, FALSE);
}

static void start(struct junit *j, const char *element)
{
	j->bad |= xmlTextWriterStartElement(j->w, BAD_CAST element) < 0;
}

static void end(struct junit *j)
{
	j->bad |= xmlTextWriterEndElement(j->w) < 0;
}

/* Attribute of one line; @fallback where nothing is left of it */
static void attr(struct junit *j, const char *name, const char *value, const char *fallback)
{
	char *line = g_strstrip(mmg_clean(value, -1, TEXT_BYTES));

	g_strdelimit(line, "\t", ' ');
	j->bad |= xmlTextWriterWriteAttribute(j->w, BAD_CAST name,
					      BAD_CAST(*line ? line : fallback)) < 0;
	g_free(line);
}

static void attr_int(struct junit *j, const char *name, int v)
{
	char buf[32];

	g_snprintf(buf, sizeof(buf), "%d", v);
	attr(j, name, buf, "0");
}

static void attr_time(struct junit *j, double v)
{
	char buf[G_ASCII_DTOSTR_BUF_SIZE];

	if (!isfinite(v) || v < 0 || v > 1e9)
		v = 0;
	attr(j, "time", g_ascii_formatd(buf, sizeof(buf), "%.3f", v), "0");
}

static void text(struct junit *j, const char *s, gsize len, gsize max)
{
	char *t = xml_text(s, len, max);

	j->bad |= xmlTextWriterWriteString(j->w, BAD_CAST t) < 0;
	g_free(t);
}

static void count(struct counts *n, enum result result)
{
	n->tests++;
	n->failures += result == RESULT_FAIL;
	n->errors += result == RESULT_BROKEN;
	n->skipped += result == RESULT_SKIP;
}

static struct counts count_group(const struct rep *r, const struct rep_group *g)
{
	struct counts n = { 0 };
	char *reason;

	for (guint i = 0; i < g->cases->len; i++) {
		const struct rep_case *c = g->cases->pdata[i];

		count(&n, rep_shown(r, c, &reason));
		g_free(reason);
		n.time += MAX(c->duration_s, 0);
	}
	if (g->boot) {
		count(&n, rep_boot_shown(r, g->boot, &reason));
		g_free(reason);
		n.time = g->boot->duration_s;
	}
	return n;
}

static void property(struct junit *j, const char *name, const char *value)
{
	if (!*value)
		return;
	start(j, "property");
	attr(j, "name", name, "name");
	attr(j, "value", value, "");
	end(j);
}

static void properties(struct junit *j, const struct rep_group *g)
{
	const struct rep_kernel *k = &j->r->kernels[g->kernel];
	json_t *host = json_object_get(j->r->run, "host");

	start(j, "properties");
	property(j, "run", obj_str(j->r->run, "id"));
	property(j, "kernel", k->release);
	property(j, "arch", k->arch);
	property(j, "image_sha256", k->sha256);
	property(j, "ksrc", k->ksrc);
	property(j, "machine", g->name);
	property(j, "accelerator", obj_str(host, "accel"));
	property(j, "qemu", obj_str(host, "qemu"));
	property(j, "append", g->boot ? g->boot->append : "");
	property(j, "state", g->boot ? g->boot->word : "");
	end(j);
}

static GString *case_text(const struct rep_case *c)
{
	GString *s = g_string_new(c->reason);
	const char *key;
	json_t *v;
	size_t i;

	g_string_append_c(s, '\n');
	json_object_foreach(c->metrics, key, v)
		if (json_is_number(v))
			g_string_append_printf(s, "%s=%g\n", key, json_number_value(v));
	json_array_foreach(c->diag, i, v)
		if (json_is_string(v) && s->len < TEXT_BYTES)
			g_string_append_printf(s, "%s\n", json_string_value(v));
	return s;
}

static void outcome(struct junit *j, enum result result, const char *reason, const char *body)
{
	if (result == RESULT_PASS)
		return;
	if (result == RESULT_SKIP) {
		start(j, "skipped");
		attr(j, "message", reason, "no reason given");
		end(j);
		return;
	}
	start(j, result == RESULT_FAIL ? "failure" : "error");
	attr(j, "message", reason, "no reason given");
	attr(j, "type", result_name(result), "");
	text(j, body, strlen(body), TEXT_BYTES);
	end(j);
}

static void testcase_start(struct junit *j, const struct rep_group *g, const char *test,
			   const char *name, double time)
{
	char *label = g_strdelimit(g_strdup(rep_label(j->r, g->kernel)), ".", '_');
	char *dots = g_strdelimit(g_strdup(test), "/", '.');
	char *class = g_strdup_printf("%s.%s%s%s", label, g->name, *dots ? "." : "", dots);
	char *cut = g_strndup(name, NAME_BYTES);

	start(j, "testcase");
	attr(j, "classname", class, "mmgate");
	attr(j, "name", cut, "unnamed");
	attr_time(j, time);
	g_free(cut);
	g_free(class);
	g_free(dots);
	g_free(label);
}

static void case_element(struct junit *j, const struct rep_group *g, const struct rep_case *c)
{
	char *test = rep_test_name(c), *reason;
	GString *body = case_text(c);
	enum result shown;

	testcase_start(j, g, test, rep_case_name(c), c->duration_s);
	shown = rep_shown(j->r, c, &reason);
	outcome(j, shown, reason, body->str);
	end(j);
	g_string_free(body, TRUE);
	g_free(reason);
	g_free(test);
}

static void boot_element(struct junit *j, const struct rep_group *g)
{
	GString *body = g_string_new(NULL);
	char *reason;
	enum result shown = rep_boot_shown(j->r, g->boot, &reason);
	const struct rep_splat *s;

	for (guint i = 0; (s = rep_splat(g->boot, i)); i++)
		g_string_append_printf(body, "%sfingerprint %s, during %s, %lld time(s)\n%s\n\n",
				       *s->allowed ? "allowed: " : "", s->fingerprint,
				       s->test, (long long)s->count, s->text);
	testcase_start(j, g, "", "boot", g->boot->hello_s);
	outcome(j, shown, reason, body->str);
	end(j);
	g_string_free(body, TRUE);
	g_free(reason);
}

/* Time of day without its zone, as the schema wants it */
static char *stamp(const char *s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	gsize i;

	for (i = 0; form[i]; i++)
		if (form[i] == 'd' ? !g_ascii_isdigit(s[i]) : s[i] != form[i])
			return g_strdup("1970-01-01T00:00:00");
	return g_strndup(s, i);
}

static void console(struct junit *j, const struct rep_group *g)
{
	char *path, *tail = NULL;
	gsize len = 0;

	start(j, "system-out");
	if (g->boot) {
		path = g_build_filename(g->boot->dir, "console.log", NULL);
		tail = rep_file(j->r, path, TAIL_BYTES, true, &len);
		g_free(path);
	}
	if (tail)
		text(j, tail, len, TAIL_BYTES);
	g_free(tail);
	end(j);
	start(j, "system-err");
	end(j);
}

static void suite_attrs(struct junit *j, const char *name, const char *package, int id,
			const char *started, const struct counts *n)
{
	char *when = stamp(started);

	attr(j, "name", name, "suite");
	attr(j, "package", package, "mmgate");
	attr_int(j, "id", id);
	attr(j, "timestamp", when, "");
	attr(j, "hostname", "localhost", "");
	attr_int(j, "tests", n->tests);
	attr_int(j, "failures", n->failures);
	attr_int(j, "errors", n->errors);
	attr_int(j, "skipped", n->skipped);
	attr_time(j, n->time);
	g_free(when);
}

static void suite(struct junit *j, const struct rep_group *g, int id)
{
	struct counts n = count_group(j->r, g);
	const char *label = rep_label(j->r, g->kernel), *started = g->boot ? g->boot->started : "";
	char *name = g_strdup_printf("%s %s", label, g->name);

	start(j, "testsuite");
	suite_attrs(j, name, label, id, *started ? started : obj_str(j->r->run, "started"), &n);
	properties(j, g);
	if (g->boot)
		boot_element(j, g);
	for (guint i = 0; i < g->cases->len; i++)
		case_element(j, g, g->cases->pdata[i]);
	console(j, g);
	end(j);
	g_free(name);
}

/* The run's own lines: required tests, cases of a gate, mutants */
static void verdicts(struct junit *j, int id)
{
	GPtrArray *all = j->r->verdicts;
	struct counts n = { 0 };

	if (!all->len)
		return;
	for (guint i = 0; i < all->len; i++)
		count(&n, ((struct rep_verdict *)all->pdata[i])->result);
	start(j, "testsuite");
	suite_attrs(j, "verdict", "verdict", id, obj_str(j->r->run, "started"), &n);
	start(j, "properties");
	end(j);
	for (guint i = 0; i < all->len; i++) {
		struct rep_verdict *v = all->pdata[i];
		char *cut = g_strndup(v->name, NAME_BYTES);

		start(j, "testcase");
		attr(j, "classname", "verdict", "");
		attr(j, "name", cut, "unnamed");
		attr_time(j, 0);
		outcome(j, v->result, v->reason, v->reason);
		end(j);
		g_free(cut);
	}
	start(j, "system-out");
	end(j);
	start(j, "system-err");
	end(j);
	end(j);
}

/**
 * report_junit() - write junit.xml
 * @run: run.json
 * @dir: its folder, which junit.xml is written to
 * @err: where @run is malformed or the file cannot be written
 *
 * Return: false with *@err.
 */
bool report_junit(json_t *run, const char *dir, GError **err)
{
	struct junit j = { .r = rep_new(run, dir, err) };
	xmlBufferPtr buf;
	GString *out;
	guint i;
	bool ok = false;

	if (!j.r)
		return false;
	buf = xmlBufferCreate();
	j.w = buf ? xmlNewTextWriterMemory(buf, 0) : NULL;
	if (!j.w)
		g_error("out of memory");
	xmlTextWriterSetIndent(j.w, 1);
	j.bad |= xmlTextWriterStartDocument(j.w, NULL, "UTF-8", NULL) < 0;
	start(&j, "testsuites");
	for (i = 0; i < j.r->groups->len; i++)
		suite(&j, j.r->groups->pdata[i], i);
	verdicts(&j, i);
	end(&j);
	j.bad |= xmlTextWriterEndDocument(j.w) < 0;
	xmlFreeTextWriter(j.w);
	if (j.bad) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "writing %s/junit.xml: the XML writer refused a text",
			      dir);
	} else {
		out = g_string_new_len((const char *)xmlBufferContent(buf), xmlBufferLength(buf));
		ok = rep_write(j.r, "junit.xml", out, err);
		g_string_free(out, TRUE);
	}
	xmlBufferFree(buf);
	rep_free((struct rep *)j.r);
	return ok;
}
