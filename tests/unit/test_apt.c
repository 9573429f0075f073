// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/debian/apt.c host/debian/newest.c host/base/*.c
/*
 * Which of Debian's packages make the kernel asked for; and a private apt
 * state, with programs in PATH that stand for apt's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "debian/debian.h"

static char *top, *bin;

/* A program in PATH */
static void program(const char *name, const char *script)
{
	char *path = g_build_filename(bin, name, NULL), *text = g_strconcat("#!/bin/sh\n", script, NULL);

	assert_true(g_file_set_contents_full(path, text, -1, 0, 0755, NULL));
	g_free(text);
	g_free(path);
}

static int setup(void **state)
{
	char *cache, *path;

	(void)state;
	top = g_dir_make_tmp("mmgate apt-XXXXXX", NULL);
	bin = g_build_filename(top, "bin", NULL);
	g_mkdir(bin, 0755);
	cache = g_build_filename(top, "cache", NULL);
	g_setenv("XDG_CACHE_HOME", cache, TRUE);
	g_setenv("TOP", top, TRUE);
	path = g_strconcat(bin, ":", g_getenv("PATH"), NULL);
	g_setenv("PATH", path, TRUE);
	g_free(path);
	g_free(cache);
	program("dpkg", "echo amd64\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	g_free(bin);
	return 0;
}

static void test_version_order(void **state)
{
	/* Ascending */
	static const char *const v[] = {
		"1.0~rc1-1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0a-1", "1.0+x-1", "1.2-1", "1.10-1",
		"6.1.170-3", "6.1.172-1", "6.12.9-1~bpo12+1", "6.12.107-1~deb12u1",
		"6.12.117-1~deb12u1", "6.12.117-1", "7.2~rc1-1~exp1", "7.2.13-1", "1:0.1-1",
	};
	guint i, j;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(v); i++)
		for (j = 0; j < G_N_ELEMENTS(v); j++) {
			int d = deb_version_cmp(v[i], v[j]);

			if ((d > 0) != (i > j) || (d < 0) != (i < j))
				fail_msg("%s against %s gives %d", v[i], v[j], d);
		}
	assert_int_equal(deb_version_cmp("1.0-1", "1.00-1"), 0);
}

static void test_fits(void **state)
{
	(void)state;
	assert_true(apt_version_fits("6.12.117-1~deb12u1", "6.12"));
	assert_true(apt_version_fits("6.12.117-1~deb12u1", "6.12.117"));
	assert_true(apt_version_fits("6.12.117-1~deb12u1", "6.12.117-1~deb12u1"));
	assert_true(apt_version_fits("6.12~rc3-1", "6.12"));
	assert_false(apt_version_fits("6.12.117-1~deb12u1", "6.1"));
	assert_false(apt_version_fits("6.12.117-1~deb12u1", "6.12.11"));
	assert_false(apt_version_fits("6.12.117-1~deb12u1", "6.12.117-1~deb12u"));
	assert_false(apt_version_fits("6.12", "6.12.1"));
}

static void add(GPtrArray *list, const char *name, const char *version, guint64 size)
{
	struct apt_pkg *p = g_new0(struct apt_pkg, 1);

	p->name = (char *)name;
	p->version = (char *)version;
	p->size = size;
	g_ptr_array_add(list, p);
}

/* The newest of all by what it is: a candidate is no release, and one without its modules is none at all */
static void test_newest(void **state)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	char *v;

	(void)state;
	add(list, "linux-image-6.12.117+deb12-amd64", "6.12.117-1~deb12u1", 80 << 20);
	add(list, "linux-image-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", 2000);
	add(list, "linux-image-7.3~rc7-amd64", "7.3~rc7-1~exp1", 80 << 20);
	v = debian_newest_of(list, false, "amd64");
	assert_string_equal(v, "6.12.117-1~deb12u1");
	g_free(v);
	v = debian_newest_of(list, true, "amd64");
	assert_string_equal(v, "7.3~rc7-1~exp1");
	g_free(v);
	add(list, "linux-binary-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", 20 << 20);
	add(list, "linux-modules-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", 20 << 20);
	v = debian_newest_of(list, false, "amd64");
	assert_string_equal(v, "7.3.4-1~bpo13+1");
	g_free(v);
	assert_true(debian_is_moving("latest") && debian_is_moving("rc"));
	assert_false(debian_is_moving("7.3"));
	g_ptr_array_unref(list);
}

/* What is chosen for @want: "version package package...", or "none" */
static void assert_chosen(const GPtrArray *list, const char *want, const char *arch,
			  const char *expect)
{
	struct apt_image *img = apt_choose(list, want, arch);
	GString *s = g_string_new(img ? img->version : "none");
	guint i;

	for (i = 0; img && i < img->packages->len; i++)
		g_string_append_printf(s, " %s", ((struct apt_pkg *)img->packages->pdata[i])->name);
	assert_string_equal(s->str, expect);
	g_string_free(s, TRUE);
	apt_image_free(img);
}

static void test_choose(void **state)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	(void)state;
	add(list, "linux-image-6.12-amd64", "6.12.117-1", 1000);
	add(list, "linux-image-6.12.107-amd64", "6.12.107-1", 100 << 20);
	add(list, "linux-image-6.12.117+deb12-amd64", "6.12.117-1", 100 << 20);
	add(list, "linux-image-6.12.117+deb12-amd64", "6.12.117-1~old", 100 << 20);
	add(list, "linux-image-6.12.118+deb12-cloud-amd64", "6.12.118-1", 100 << 20);
	add(list, "linux-image-6.12.118+deb12-rt-amd64", "6.12.118-1", 100 << 20);
	add(list, "linux-image-6.12.118+deb12-amd64-unsigned", "6.12.118-1", 100 << 20);
	add(list, "linux-image-6.12.118+deb12-amd64-dbg", "6.12.118-1", 900 << 20);
	add(list, "linux-image-6.12.119+deb12-arm64", "6.12.119-1", 100 << 20);
	add(list, "linux-image-6.12.120+deb12-arm64-16k", "6.12.120-1", 100 << 20);
	add(list, "linux-image-6.1.0-9-amd64", "6.1.90-1", 70 << 20);
	add(list, "linux-image-6.1.0-52-amd64", "6.1.180-1", 70 << 20);
	add(list, "linux-image-7.2.13+deb14-amd64", "7.2.13-1", 1500);
	add(list, "linux-binary-7.2.13+deb14-amd64", "7.2.13-1", 14 << 20);
	add(list, "linux-modules-7.2.13+deb14-amd64", "7.2.13-1", 110 << 20);
	add(list, "linux-modules-7.2.13+deb14-amd64", "7.2.12-1", 110 << 20);
	add(list, "linux-base-7.2.13+deb14-amd64", "7.2.13-1", 400000);
	add(list, "linux-image-7.3.1+deb14-amd64", "7.3.1-1", 1500);
	add(list, "linux-binary-7.3.1+deb14-amd64", "7.3.1-1", 14 << 20);
	assert_chosen(list, "6.12", "amd64", "6.12.117-1 linux-image-6.12.117+deb12-amd64");
	assert_chosen(list, "6.12.107", "amd64", "6.12.107-1 linux-image-6.12.107-amd64");
	assert_chosen(list, "6.12.117-1~old", "amd64",
		      "6.12.117-1~old linux-image-6.12.117+deb12-amd64");
	assert_chosen(list, "6.12.107-amd64", "amd64", "6.12.107-1 linux-image-6.12.107-amd64");
	assert_chosen(list, "6.1", "amd64", "6.1.180-1 linux-image-6.1.0-52-amd64");
	assert_chosen(list, "6.1.0-9", "amd64", "6.1.90-1 linux-image-6.1.0-9-amd64");
	assert_chosen(list, "6.12", "arm64", "6.12.119-1 linux-image-6.12.119+deb12-arm64");
	assert_chosen(list, "7.2", "amd64",
		      "7.2.13-1 linux-binary-7.2.13+deb14-amd64 linux-modules-7.2.13+deb14-amd64 linux-base-7.2.13+deb14-amd64");
	/* No modules package: no kernel to be had */
	assert_chosen(list, "7.3", "amd64", "none");
	assert_chosen(list, "6.13", "amd64", "none");
	assert_chosen(list, "6.12.118", "amd64", "none");
	g_ptr_array_unref(list);
}

static const char stanza[] =
	"MetaKey: main/binary-amd64/Packages\nComponent: main\nCreated-By: Packages\n"
	"Release: bookworm\nOrigin: Debian\nLabel: Debian\nRepo-URI: http://mirror.test/debian/\n"
	"Sourcesentry: %s/debian.sources:1\n\n"
	"MetaKey: main/binary-amd64/Packages\nComponent: main\nCreated-By: Packages\n"
	"Release: bookworm-security\nOrigin: Debian\nLabel: Debian-Security\n"
	"Repo-URI: http://mirror.test/debian-security/\nSourcesentry: %s/one.list:2\n\n"
	"MetaKey: main/binary-amd64/Packages\nComponent: main\nCreated-By: Packages\n"
	"Release: other\nOrigin: Elsewhere\nLabel: Elsewhere\nRepo-URI: http://else.test/x/\n"
	"Sourcesentry: %s/one.list:1\n";

static void write_sources(void)
{
	char *targets = g_build_filename(top, "targets", NULL);
	char *deb822 = g_build_filename(top, "debian.sources", NULL);
	char *list = g_build_filename(top, "one.list", NULL);
	char *text = g_strdup_printf(stanza, top, top, top);

	g_file_set_contents(targets, text, -1, NULL);
	g_file_set_contents(deb822, "Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\n"
			    "Components: main\nSigned-By:\n -----BEGIN\n .\n key\n -----END\n\n"
			    "Types: deb\nURIs: http://else.test\n", -1, NULL);
	g_file_set_contents(list, "deb http://else.test/x other main\n"
			    "deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian-security bookworm-security main\n",
			    -1, NULL);
	g_free(text);
	g_free(list);
	g_free(deb822);
	g_free(targets);
}

static char *read_private(const char *name)
{
	char *path = mmg_cache_path("apt", name, "mmgate.sources", NULL), *text = NULL;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_free(path);
	return text;
}

/* Mirror and trust are the host's, suite and architecture are ours */
static void test_private(void **state)
{
	struct apt *a;
	char *text, *conf;

	(void)state;
	write_sources();
	program("apt-get", "echo \"$*\" >>\"$TOP/calls\"\n"
		"case $* in indextargets) cat \"$TOP/targets\" ;; esac\n");
	a = apt_open("unstable", "amd64", false, NULL);
	assert_non_null(a);
	text = read_private("unstable_amd64");
	assert_string_equal(text, "Types: deb\nURIs: http://mirror.test/debian/\nSuites: unstable\n"
			    "Components: main\nSigned-By:\n -----BEGIN\n .\n key\n -----END\n\n");
	g_free(text);
	assert_true(g_file_get_contents(a->config, &conf, NULL, NULL));
	assert_non_null(strstr(conf, "APT::Architecture \"amd64\""));
	g_free(conf);
	apt_free(a);
	/* Another architecture of what the host has configured: all its Debian archives */
	a = apt_open(NULL, "arm64", false, NULL);
	assert_non_null(a);
	text = read_private("host_arm64");
	assert_non_null(strstr(text, "Suites: bookworm\n"));
	assert_non_null(strstr(text, "Suites: bookworm-security\nComponents: main\nSigned-By: /k.gpg\n"));
	assert_null(strstr(text, "else.test"));
	g_free(text);
	apt_free(a);
	/* A security suite is at the security archive */
	a = apt_open("trixie-security", "amd64", false, NULL);
	text = read_private("trixie-security_amd64");
	assert_non_null(strstr(text, "URIs: http://mirror.test/debian-security/\nSuites: trixie-security\n"));
	g_free(text);
	apt_free(a);
	/* The host's own view needs nothing of that */
	a = apt_open(NULL, "amd64", true, NULL);
	assert_null(a->config);
	apt_free(a);
}

/* Lists that are there serve offline and when the network is gone; absent ones are an error */
static void test_network_gone(void **state)
{
	GError *e = NULL;
	struct apt *a;
	char *stamp;

	(void)state;
	write_sources();
	program("apt-get", "case $* in indextargets) cat \"$TOP/targets\" ;;\n"
		"*update*) echo 'E: cannot resolve'; exit 100 ;; esac\n");
	a = apt_open("experimental", "amd64", false, &e);
	assert_null(a);
	assert_int_equal(e->code, MMG_EXIT_BROKEN);
	assert_non_null(strstr(e->message, "cannot resolve"));
	assert_non_null(strstr(e->message, "--kernel FILE.deb"));
	g_clear_error(&e);
	a = apt_open("experimental", "amd64", true, &e);
	assert_null(a);
	assert_non_null(strstr(e->message, "--offline"));
	g_clear_error(&e);
	/* As if fetched two days ago */
	stamp = mmg_cache_path("apt", "experimental_amd64", "updated", NULL);
	g_file_set_contents(stamp, "", 0, NULL);
	struct timespec old[2] = { { .tv_sec = time(NULL) - 2 * 86400 }, { .tv_sec = time(NULL) - 2 * 86400 } };
	utimensat(-100, stamp, old, 0);
	a = apt_open("experimental", "amd64", false, NULL);
	assert_non_null(a);
	apt_free(a);
	a = apt_open("experimental", "amd64", true, NULL);
	assert_non_null(a);
	apt_free(a);
	g_free(stamp);
}

static void test_list_and_download(void **state)
{
	struct apt_pkg p = { .name = "linux-image-6.12.1-amd64", .version = "6.12.1-1", .size = 1 << 20 };
	GError *e = NULL;
	GPtrArray *list;
	struct apt *a;
	char *deb;

	(void)state;
	program("apt-cache",
		"case $1 in pkgnames) printf 'linux-image-6.12.1-amd64\\nlinux-image-6.12.1-amd64-dbg\\nlinux-libc-dev\\n' ;;\n"
		"show) shift; echo \"$*\" >\"$TOP/shown\"; printf 'Package: linux-image-6.12.1-amd64\\nVersion: 6.12.1-1\\n"
		"Architecture: amd64\\nDepends: kmod, linux-base (>= 4.3~)\\nSize: 123\\n\\nPackage: linux-image-6.12.1-amd64\\nVersion: 6.12.0-1\\nStatus: installed\\n' ;; esac\n");
	program("apt-get", "case $* in *download*) [ ! -e \"$TOP/gone\" ] || { echo 'E: 404  Not Found'; exit 100; }\n"
		"echo dlstatus:1:50.0:half; echo x >linux-image-6.12.1-amd64_6.12.1-1_amd64.deb ;; esac\n");
	a = apt_open(NULL, "amd64", false, NULL);
	list = apt_list(a, "^linux-image-[0-9.]+-amd64$", NULL);
	assert_non_null(list);
	/* The second has no file: only dpkg knows it */
	assert_int_equal(list->len, 1);
	assert_int_equal(((struct apt_pkg *)list->pdata[0])->size, 123);
	assert_string_equal(((struct apt_pkg *)list->pdata[0])->depends, "kmod, linux-base (>= 4.3~)");
	g_ptr_array_unref(list);
	deb = apt_download(a, &p, top, NULL);
	assert_non_null(deb);
	assert_true(g_str_has_suffix(deb, "linux-image-6.12.1-amd64_6.12.1-1_amd64.deb"));
	g_free(deb);
	g_file_set_contents(deb = g_build_filename(top, "gone", NULL), "", 0, NULL);
	g_free(deb);
	assert_null(apt_download(a, &p, top, &e));
	assert_non_null(strstr(e->message, "404"));
	g_clear_error(&e);
	a->offline = true;
	assert_null(apt_download(a, &p, top, &e));
	assert_non_null(strstr(e->message, "--offline"));
	g_clear_error(&e);
	apt_free(a);
}

static void test_bad_suite(void **state)
{
	static const char *const bad[] = { "", "../x", "a b", "A", "x;y", "-x", "/etc" };
	guint i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(bad); i++) {
		GError *e = NULL;

		assert_null(apt_open(bad[i], "amd64", false, &e));
		assert_int_equal(e->code, MMG_EXIT_USAGE);
		g_error_free(e);
	}
}

static void test_no_sources(void **state)
{
	GError *e = NULL;

	(void)state;
	program("apt-get", "exit 0\n");
	assert_null(apt_open("sid", "amd64", false, &e));
	assert_int_equal(e->code, MMG_EXIT_BROKEN);
	assert_non_null(strstr(e->message, "no Debian source"));
	g_error_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_order),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_network_gone),
		cmocka_unit_test(test_list_and_download),
		cmocka_unit_test(test_bad_suite),
		cmocka_unit_test(test_no_sources),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
