// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/rep.c host/report/report_text.c host/report/report_tap.c host/report/report_junit.c host/report/report_kcidb.c host/report/report_summary.c host/report/html.c host/report/report_html.c host/report/report_figures.c host/report/report_bench.c host/report/report_value.c host/report/report_compare.c host/report/artifact.c host/report/plot.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <glib/gstdio.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"

static char *tmp;

static int setup(void **state)
{
	(void)state;
	tmp = g_dir_make_tmp("mmgate-report-XXXXXX", NULL);
	return tmp ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(tmp);
	g_free(tmp);
	return 0;
}

/* A copy of a fixture that can be written to; g_free() it */
static char *fixture(const char *name)
{
	char *from = mmg_root_path("tests", "fixtures", "runs", name, NULL);
	char *to = g_build_filename(tmp, name, NULL);
	const char *argv[] = { "cp", "-r", from, tmp, NULL };
	struct mmg_cmd cmd = { .what = "copying a fixture", .argv = argv };

	mmg_rmtree(to);
	assert_true(mmg_run(&cmd, NULL));
	g_free(from);
	return to;
}

static char *text_of(json_t *run, const char *dir, bool colour)
{
	char *buf = NULL;
	size_t len;
	FILE *f = open_memstream(&buf, &len);

	assert_true(report_text(run, dir, f, colour, NULL));
	fclose(f);
	return buf;
}

static char *read_form(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL), *text = NULL;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_free(path);
	return text;
}

static void make_all(json_t *run, const char *dir)
{
	GError *err = NULL;

	assert_true(report_tap(run, dir, &err));
	assert_true(report_junit(run, dir, &err));
	assert_true(report_kcidb(run, dir, &err));
	assert_true(report_summary(run, dir, &err));
	assert_true(report_html(run, dir, &err));
	assert_null(err);
}

static int lines_longer_than(const char *text, int width)
{
	char **lines = g_strsplit(text, "\n", -1);
	int n = 0;

	for (char **l = lines; *l; l++)
		n += text_width(*l) > width;
	g_strfreev(lines);
	return n;
}

static void text_says_what_failed_first(void **state)
{
	char *dir = fixture("two-kernels");
	json_t *run = rep_load(dir, NULL);
	char *s = text_of(run, dir, false), *c = text_of(run, dir, true);

	(void)state;
	assert_non_null(strstr(s, "FAIL 0.50"));
	assert_true(strstr(s, "Failures") < strstr(s, "Results"));
	assert_non_null(strstr(s, "evicted hot 927, cold 926"));
	assert_non_null(strstr(s, "means: Under memory pressure"));
	assert_non_null(strstr(s, "6.1.170    6.12.117"));
	assert_non_null(strstr(s, "2 x no huge pages"));
	assert_non_null(strstr(s, "11 pass, 3 fail, 0 broken, 2 skip"));
	assert_null(strchr(s, '\033'));
	assert_non_null(strchr(c, '\033'));
	assert_int_equal(lines_longer_than(s, 100), 0);
	json_decref(run);
	free(s);
	free(c);
	g_free(dir);
}

static void text_shows_trouble(void **state)
{
	char *dir = fixture("trouble");
	json_t *run = rep_load(dir, NULL);
	char *s = text_of(run, dir, false);

	(void)state;
	assert_non_null(strstr(s, "not completed"));
	assert_non_null(strstr(s, "BROKEN 0.97"));
	assert_non_null(strstr(s, "FAIL(known)"));
	assert_non_null(strstr(s, "panic on 6.12.117"));
	assert_non_null(strstr(s, "SPLAT WARNING: at mm/vmscan.c:3210 walk_mm"));
	assert_non_null(strstr(s, "0123456789abcdef"));
	assert_non_null(strstr(s, "mm/hotplug"));
	assert_non_null(strstr(s, "expired on 2026-01-31"));
	json_decref(run);
	free(s);
	g_free(dir);
}

static int xpath_count(xmlDocPtr doc, const char *what)
{
	xmlXPathContextPtr ctx = xmlXPathNewContext(doc);
	xmlXPathObjectPtr o = xmlXPathEvalExpression(BAD_CAST what, ctx);
	int n = o && o->nodesetval ? o->nodesetval->nodeNr : 0;

	xmlXPathFreeObject(o);
	xmlXPathFreeContext(ctx);
	return n;
}

static int tap_count(const char *tap, const char *pattern)
{
	GRegex *re = g_regex_new(pattern, G_REGEX_MULTILINE, 0, NULL);
	GMatchInfo *m;
	int n = 0;

	for (g_regex_match(re, tap, 0, &m); g_match_info_matches(m); g_match_info_next(m, NULL))
		n++;
	g_match_info_free(m);
	g_regex_unref(re);
	return n;
}

/* KTAP, JUnit and KCIDB tell the same story: cases, plus one for each boot */
static void forms_agree(void **state)
{
	static const struct {
		const char *name;
		int tests, fail, broken, skip, required;
	} all[] = {
		{ "two-kernels", 20, 3, 0, 2, 0 },
		{ "trouble", 7, 4, 1, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		char *dir = fixture(all[i].name);
		json_t *run = rep_load(dir, NULL), *kcidb;
		char *tap, *junit, *json;
		xmlDocPtr doc;

		make_all(run, dir);
		tap = read_form(dir, "results.tap");
		junit = read_form(dir, "junit.xml");
		json = read_form(dir, "kcidb.json");
		doc = xmlReadMemory(junit, strlen(junit), "junit.xml", NULL, XML_PARSE_NONET);
		assert_non_null(doc);
		assert_int_equal(xpath_count(doc, "//testcase"), all[i].tests);
		assert_int_equal(xpath_count(doc, "//failure"), all[i].fail);
		assert_int_equal(xpath_count(doc, "//error"), all[i].broken);
		assert_int_equal(xpath_count(doc, "//skipped"), all[i].skip);
		/* boots and cases are leaves; every other line closes a level */
		assert_int_equal(tap_count(tap, "^      (ok|not ok) \\d+ .") +
				 tap_count(tap, "^    (ok|not ok) \\d+ boot") +
				 all[i].required, all[i].tests);
		kcidb = json_loads(json, 0, NULL);
		assert_non_null(kcidb);
		assert_int_equal(json_array_size(json_object_get(kcidb, "tests")) + all[i].required,
				 all[i].tests);
		json_decref(kcidb);
		xmlFreeDoc(doc);
		g_free(tap);
		g_free(junit);
		g_free(json);
		json_decref(run);
		g_free(dir);
	}
}

static void tap_plans_hold(void **state)
{
	char *dir = fixture("trouble"), *tap, **lines;
	json_t *run = rep_load(dir, NULL);
	int plan[8] = { 0 }, seen[8] = { 0 };

	(void)state;
	make_all(run, dir);
	tap = read_form(dir, "results.tap");
	lines = g_strsplit(tap, "\n", -1);
	for (char **l = lines; *l; l++) {
		const char *p = *l + strspn(*l, " ");
		int depth = (p - *l) / 2, n;

		assert_true(depth < 8);
		if (sscanf(p, "1..%d", &n) == 1) {
			assert_int_equal(seen[depth], plan[depth]);
			plan[depth] = n;
			seen[depth] = 0;
		} else if (g_str_has_prefix(p, "ok ") || g_str_has_prefix(p, "not ok ")) {
			assert_int_equal(sscanf(strstr(p, "ok ") + 3, "%d", &n), 1);
			assert_int_equal(n, ++seen[depth]);
		} else if (*p) {
			assert_true(*p == '#' || !strcmp(p, "KTAP version 1"));
		}
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(seen[i], plan[i]);
	assert_non_null(strstr(tap, "not ok 1 anon-4k # ERROR the negative control"));
	assert_non_null(strstr(tap, "not ok 1 full # TODO known issue stats-columns"));
	g_strfreev(lines);
	g_free(tap);
	json_decref(run);
	g_free(dir);
}

static void same_bytes_again(void **state)
{
	static const char *const forms[] = {
		"results.tap", "junit.xml", "kcidb.json", "summary.txt", "report.html",
	};
	char *dir = fixture("two-kernels"), *first[G_N_ELEMENTS(forms)];
	json_t *run = rep_load(dir, NULL);

	(void)state;
	make_all(run, dir);
	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
		first[i] = read_form(dir, forms[i]);
	json_decref(run);
	g_usleep(1100000);	/* a time of day in it would show */
	run = rep_load(dir, NULL);
	make_all(run, dir);
	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
		char *again = read_form(dir, forms[i]);

		assert_string_equal(first[i], again);
		g_free(again);
		g_free(first[i]);
	}
	json_decref(run);
	g_free(dir);
}

static void summary_fits_a_mail(void **state)
{
	static const char *const names[] = { "two-kernels", "trouble", "hostile" };

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		char *dir = fixture(names[i]), *s;
		json_t *run = rep_load(dir, NULL);

		make_all(run, dir);
		s = read_form(dir, "summary.txt");
		assert_int_equal(lines_longer_than(s, 72), 0);
		for (const char *p = s; *p; p++)
			assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
		if (!i) {
			assert_non_null(strstr(s, "AUC 0.4"));
			assert_non_null(strstr(s, "step of reclaim"));
		}
		g_free(s);
		json_decref(run);
		g_free(dir);
	}
}

static bool safe_utf8(const char *s)
{
	if (!g_utf8_validate(s, -1, NULL))
		return false;
	for (; *s; s = g_utf8_next_char(s)) {
		gunichar c = g_utf8_get_char(s);

		if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
		    (c >= 0x202a && c <= 0x202e))
			return false;
	}
	return true;
}

/* Every tag of the page is one of ours */
static void only_our_tags(const char *html)
{
	static const char *const ours[] = {
		"!DOCTYPE", "html", "head", "meta", "link", "title", "style", "body", "svg", "defs",
		"circle", "header", "h1", "h2", "h3", "div", "b", "p", "span", "nav", "a", "main",
		"section", "article", "details", "summary", "pre", "table", "thead", "tbody", "tr",
		"th", "td", "input", "label", "figure", "figcaption", "g", "path", "text", "use",
		"polygon", "ul", "li", "dl", "dt", "dd", "br", "mark", NULL
	};
	const char *p = html;

	while ((p = strchr(p, '<'))) {
		const char *name = p + 1 + (p[1] == '/');
		char *tag = g_strndup(name, strspn(name, "!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz123"));

		if (!g_strv_contains(ours, tag))
			fail_msg("tag <%s> in the page: %.60s", tag, p);
		g_free(tag);
		p++;
	}
}

static void check_harmless(json_t *run, const char *dir)
{
	char *html, *tap, *junit, *json, *s = text_of(run, dir, false);
	xmlDocPtr doc;
	json_t *kcidb;

	make_all(run, dir);
	html = read_form(dir, "report.html");
	tap = read_form(dir, "results.tap");
	junit = read_form(dir, "junit.xml");
	json = read_form(dir, "kcidb.json");
	assert_true(safe_utf8(s));
	assert_true(safe_utf8(html));
	assert_true(safe_utf8(tap));
	assert_true(safe_utf8(junit));
	only_our_tags(html);
	assert_null(strstr(html, "root:x:0"));	/* of a file outside the folder */
	/* written by a writer: no text of the run can open or close an element */
	doc = xmlReadMemory(html, strlen(html), "report.html", NULL, XML_PARSE_NONET | XML_PARSE_HUGE);
	assert_non_null(doc);
	xmlFreeDoc(doc);
	doc = xmlReadMemory(junit, strlen(junit), "junit.xml", NULL, XML_PARSE_NONET);
	assert_non_null(doc);
	assert_int_equal(xpath_count(doc, "//script"), 0);
	xmlFreeDoc(doc);
	kcidb = json_loads(json, 0, NULL);
	assert_non_null(kcidb);
	json_decref(kcidb);
	/* no line of the guest's own making */
	assert_int_equal(tap_count(tap, "^\\s*ok 5 forged"), 0);
	assert_int_equal(tap_count(tap, "^ *+(?!ok |not ok |# |KTAP version 1$|1\\.\\.\\d+$)."), 0);
	assert_false(g_file_test("/tmp/pwned", G_FILE_TEST_EXISTS));
	free(s);
	g_free(html);
	g_free(tap);
	g_free(junit);
	g_free(json);
}

static void hostile_text_is_harmless(void **state)
{
	char *dir = fixture("hostile"), *console = g_build_filename(dir, "k/default/console.log", NULL);
	json_t *run = rep_load(dir, NULL);

	(void)state;
	check_harmless(run, dir);
	/* megabytes of one line in the console */
	FILE *f = fopen(console, "w");

	for (int i = 0; i < 5 * 1024 * 1024; i++)
		fputc("<&\"'\033\xff\0]"[i % 8], f);
	fclose(f);
	check_harmless(run, dir);
	json_decref(run);
	g_free(console);
	g_free(dir);
}

/* Every string of a good run replaced by a nasty one, in turn */
static void nasty(json_t *v, const char *with)
{
	const char *key;
	json_t *o;
	size_t i;

	json_array_foreach(v, i, o) {
		if (json_is_string(o))
			json_array_set_new(v, i, json_string(with));
		else
			nasty(o, with);
	}
	json_object_foreach(v, key, o) {
		if (json_is_string(o) && strcmp(key, "result"))
			json_object_set_new(v, key, json_string(with));
		else
			nasty(o, with);
	}
}

static void nasty_everywhere(void **state)
{
	GString *big = g_string_new(NULL);
	const char *with[] = {
		"<script>alert(1)</script>", "]]>&amp;<!--", "' onload='x' \" onload=\"x", "../../etc",
		"\n\nok 5 forged\n", "a\033]0;x\007b", "\xe2\x80\xae" "evil", "%s%n%99999999d", "", " ",
		"#", "/", "//", "javascript:alert(1)", NULL,
	};

	(void)state;
	for (int i = 0; i < 2 * 1024 * 1024; i++)
		g_string_append_c(big, "<a& \"'#/%"[i % 9]);
	with[G_N_ELEMENTS(with) - 1] = big->str;
	for (size_t i = 0; i < G_N_ELEMENTS(with); i++) {
		char *dir = fixture("trouble");
		json_t *run = rep_load(dir, NULL);

		nasty(run, with[i]);
		if (!*with[i]) {	/* a case has a name, or the file is refused */
			assert_false(report_tap(run, dir, NULL));
		} else {
			check_harmless(run, dir);
		}
		json_decref(run);
		g_free(dir);
	}
	g_string_free(big, TRUE);
}

static void malformed_is_refused(void **state)
{
	static const char *const all[] = {
		"[]", "{}", "{\"schema\":2}", "{\"schema\":1,\"kernels\":[1]}",
		"{\"schema\":1,\"kernels\":[{}],\"cases\":[{}]}",
		"{\"schema\":1,\"kernels\":[{}],\"cases\":[{\"name\":\"a/b/c\",\"kernel\":1,\"result\":\"pass\"}]}",
		"{\"schema\":1,\"kernels\":[{}],\"cases\":[{\"name\":\"a/b/c\",\"kernel\":-1,\"result\":\"pass\"}]}",
		"{\"schema\":1,\"kernels\":[{}],\"cases\":[{\"name\":\"a/b/c\",\"kernel\":0,\"result\":\"fine\"}]}",
		"{\"schema\":1,\"kernels\":[{}],\"boots\":[{\"kernel\":7}]}",
		"{\"schema\":1,\"kernels\":[{}],\"boots\":[{\"kernel\":0,\"splats\":[3]}]}",
	};
	json_t *run;

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		GError *err = NULL;

		run = json_loads(all[i], 0, NULL);
		assert_non_null(run);
		assert_false(report_tap(run, tmp, &err));
		assert_non_null(err);
		assert_int_equal(err->code, MMG_EXIT_BROKEN);
		assert_null(strchr(err->message, '\n'));
		g_error_free(err);
		json_decref(run);
	}
	/* little, but well-formed: all forms can be made */
	run = json_loads("{\"schema\":1}", 0, NULL);
	make_all(run, tmp);
	json_decref(run);
	run = json_loads("{\"schema\":1,\"kernels\":[{}],\"cases\":[{\"name\":\"a\",\"kernel\":0,\"result\":\"pass\",\"metrics\":7,\"diag\":{},\"boot\":99}],\"boots\":{}}",
			 0, NULL);
	make_all(run, tmp);
	json_decref(run);
}

static void files_stay_inside(void **state)
{
	char *dir = fixture("two-kernels"), *link = g_build_filename(dir, "link", NULL);
	json_t *run = rep_load(dir, NULL);
	struct rep *r = rep_new(run, dir, NULL);
	char *s = rep_file(r, "6.1.170/default/console.log", 100, true, NULL);

	(void)state;
	assert_non_null(s);
	assert_true(strlen(s) <= 100);
	g_free(s);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_null(rep_file(r, "link", 100, false, NULL));
	assert_null(rep_file(r, "/etc/passwd", 100, false, NULL));
	assert_null(rep_file(r, "../../etc/passwd", 100, false, NULL));
	assert_null(rep_file(r, "6.1.170/../../../etc/passwd", 100, false, NULL));
	assert_null(rep_file(r, "6.1.170", 100, false, NULL));
	assert_null(rep_file(r, "", 100, false, NULL));
	rep_free(r);
	json_decref(run);
	g_free(link);
	g_free(dir);
}

static double auc_of(const char *rows)
{
	struct tsv t = { .rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev) };
	char **lines = g_strsplit(rows, "\n", -1), *fault;
	struct order *o;
	double v;

	t.header = g_strsplit("page\tage\tstep\tnsteps", "\t", -1);
	for (char **l = lines; *l; l++)
		g_ptr_array_add(t.rows, g_strsplit(*l, "\t", -1));
	o = order_read(&t, &fault);
	if (!o) {
		assert_non_null(fault);
		g_free(fault);
	}
	v = o ? order_auc(o) : -1;
	order_free(o);
	g_strfreev(lines);
	g_strfreev(t.header);
	g_ptr_array_unref(t.rows);
	return v;
}

static void auc(void **state)
{
	(void)state;
	assert_true(auc_of("0\t0\t3\t2\n1\t0\t3\t2\n2\t1\t1\t2\n3\t1\t2\t2") == 1.0);
	assert_true(auc_of("0\t0\t1\t2\n1\t0\t1\t2\n2\t1\t3\t2\n3\t1\t2\t2") == 0.0);
	assert_true(auc_of("0\t0\t1\t2\n1\t1\t1\t2") == 0.5);
	assert_true(auc_of("0\t0\t3\t2\n1\t1\t3\t2") == 0.5);
	assert_true(auc_of("0\t0\t2\t2\n1\t1\t1\t2\n2\t1\t2\t2\n3\t0\t3\t2") == 0.875);
	assert_true(isnan(auc_of("0\t0\t1\t2")));
	/* not what the tests write */
	assert_true(auc_of("0\t0\t4\t2") == -1);
	assert_true(auc_of("0\t0\t0\t2") == -1);
	assert_true(auc_of("0\t9\t1\t2") == -1);
	assert_true(auc_of("-1\t0\t1\t2") == -1);
	assert_true(auc_of("x\t0\t1\t2") == -1);
	assert_true(auc_of("0\t0\t1\t99999999") == -1);
}

/* 1,000 cases on three kernels: every form is made, and the page stays small */
static void a_thousand_cases(void **state)
{
	json_t *run = json_pack("{s:i, s:s, s:s, s:b, s:[{s:s},{s:s},{s:s}], s:[]}", "schema", 1, "id",
				"big", "verdict", "fail", "complete", 1, "kernels", "label", "6.1",
				"label", "6.12", "label", "7.2", "cases");
	json_t *cases = json_object_get(run, "cases");
	gint64 start = g_get_monotonic_time();
	char *html, *s;

	(void)state;
	for (int i = 0; i < 1000; i++)
		for (int k = 0; k < 3; k++)
			json_array_append_new(cases, json_pack(
				"{s:o, s:i, s:s, s:s, s:s, s:f, s:{s:f}}", "name",
				json_sprintf("kvm/test_%d/case-%d", i / 40, i), "kernel", k, "machine",
				"default", "result", i % 100 == 7 && !k ? "fail" : "pass", "reason",
				"AUC 0.50: hot 927 and cold 926 of 2048 evicted", "duration_s", 0.5,
				"metrics", "auc", 0.5));
	make_all(run, tmp);
	html = read_form(tmp, "report.html");
	s = text_of(run, tmp, false);
	assert_true(strlen(html) < 2 * 1024 * 1024);
	assert_true(g_get_monotonic_time() - start < 20 * G_USEC_PER_SEC);
	assert_int_equal(lines_longer_than(s, 100), 0);
	g_free(html);
	free(s);
	json_decref(run);
}

static void words(void **state)
{
	char *s;
	GString *w = g_string_new(NULL);

	(void)state;
	s = text_ascii("a\xc3\xa9\xff\tb\n");
	assert_string_equal(s, "a?? b?");
	g_free(s);
	text_wrap(w, "one two three four five six seven eight", 2, 20);
	assert_string_equal(w->str, "  one two three four\n  five six seven\n  eight");
	g_string_truncate(w, 0);
	text_wrap(w, "abcdefghijklmnopqrstuvwxyz", 0, 20);
	assert_string_equal(w->str, "abcdefghijklmnopqrst\nuvwxyz");
	g_string_truncate(w, 0);
	text_wrap(w, "", 2, 20);
	assert_string_equal(w->str, "  ");
	g_string_truncate(w, 0);
	g_string_free(w, TRUE);
	s = text_harmless("<a>\n\033\xe2\x80\xae\xff");
	assert_string_equal(s, "<a>\n\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	g_free(s);
	s = text_seconds(1.25);
	assert_string_equal(s, "1.2 s");
	g_free(s);
	s = text_seconds(200);
	assert_string_equal(s, "3 min 20 s");
	g_free(s);
	s = text_seconds(NAN);
	assert_string_equal(s, "0.0 s");
	g_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(text_says_what_failed_first),
		cmocka_unit_test(text_shows_trouble),
		cmocka_unit_test(forms_agree),
		cmocka_unit_test(tap_plans_hold),
		cmocka_unit_test(same_bytes_again),
		cmocka_unit_test(summary_fits_a_mail),
		cmocka_unit_test(hostile_text_is_harmless),
		cmocka_unit_test(nasty_everywhere),
		cmocka_unit_test(malformed_is_refused),
		cmocka_unit_test(files_stay_inside),
		cmocka_unit_test(auc),
		cmocka_unit_test(a_thousand_cases),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
