// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/known.c host/run/splat*.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <glib/gstdio.h>
#include <string.h>

#include "run/run.h"

static char *root, *folder;

static int setup(void **state)
{
	(void)state;
	root = g_dir_make_tmp("mmgate-known-XXXXXX", NULL);
	folder = g_build_filename(root, "configs", "known-issues", NULL);
	g_mkdir_with_parents(folder, 0755);
	g_setenv("MMGATE_ROOT", root, TRUE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(root);
	g_free(root);
	g_free(folder);
	return 0;
}

/* The run that entries are tried on: a failed and a passed case on 6.1, a splat on 6.12 */
static json_t *new_run(const char *conf)
{
	char *path = g_build_filename(folder, "a.conf", NULL);
	json_t *run;

	assert_true(g_file_set_contents(path, conf, -1, NULL));
	g_free(path);
	run = json_pack("{s:s, s:[{s:s,s:s},{s:s,s:s}],"
			"s:[{s:s,s:i,s:s,s:s},{s:s,s:i,s:s,s:s},{s:s,s:i,s:s,s:s}],"
			"s:[{s:i,s:s,s:[{s:s,s:s,s:n}]}]}",
			"started", "2026-11-30T10:00:00Z",
			"kernels", "version", "6.1.170", "arch", "x86_64",
			"version", "6.12.117", "arch", "x86_64",
			"cases",
			"name", "kvm/eviction_order/anon-4k", "kernel", 0, "machine", "default",
			"result", "fail",
			"name", "kvm/eviction_order/shmem", "kernel", 1, "machine", "default",
			"result", "pass",
			"name", "kvm/stats/full", "kernel", 1, "machine", "numa-fake2",
			"result", "broken",
			"boots", "kernel", 1, "machine", "default", "splats",
			"title", "WARNING: at mm/vmscan.c:3210 walk_mm", "fingerprint",
			"0123456789abcdef", "allowed");
	assert_non_null(run);
	assert_true(known_apply(run, NULL));
	return run;
}

static const char *allowed(json_t *run, size_t i)
{
	json_t *c = json_array_get(json_object_get(run, "cases"), i);
	const char *s = json_string_value(json_object_get(c, "allowed"));

	return s ? s : "";
}

static const char *splat_allowed(json_t *run)
{
	json_t *b = json_array_get(json_object_get(run, "boots"), 0);
	json_t *s = json_array_get(json_object_get(b, "splats"), 0);
	const char *a = json_string_value(json_object_get(s, "allowed"));

	return a ? a : "";
}

static const char *noted(json_t *run, const char *key)
{
	json_t *k = json_array_get(json_object_get(run, "known_issues"), 0);
	const char *s = json_string_value(json_object_get(k, key));

	return s ? s : "";
}

#define OWNED "owner=A. Person\nlink=https://example.org/1\n"
#define ENTRY(kind, pattern, more) \
	"[e1]\nkind=" kind "\npattern=" pattern "\n" OWNED more

static void applies(void **state)
{
	json_t *run = new_run(ENTRY("test", "kvm/eviction_order/anon-4k", "expires=2026-12-31\n"));

	(void)state;
	assert_string_equal(allowed(run, 0), "e1");
	assert_string_equal(allowed(run, 1), "");
	assert_string_equal(noted(run, "state"), "applied");
	json_decref(run);
	/* a whole test, and a glob; what passed is never touched */
	run = new_run(ENTRY("test", "kvm/eviction_order", "expires=2026-11-30\n"));
	assert_string_equal(allowed(run, 0), "e1");
	assert_string_equal(allowed(run, 1), "");
	json_decref(run);
	run = new_run(ENTRY("splat", "WARNING: at mm/vmscan.c:* walk_mm", "expires=2026-12-31\n"));
	assert_string_equal(splat_allowed(run), "e1");
	json_decref(run);
	run = new_run(ENTRY("splat", "0123456789abcdef", "expires=2026-12-31\n"));
	assert_string_equal(splat_allowed(run), "e1");
	json_decref(run);
}

/* A fingerprint that fits two places of one kernel hides neither; two kernels have a place each */
static void one_bug_an_entry(void **state)
{
	static const struct {
		const char *a, *b;
		int kernel_b;
		const char *allowed;
	} all[] = {
		{ "mm/vmscan.c:1", "mm/vmscan.c:1", 0, "e1" },
		{ "mm/vmscan.c:1", "mm/vmscan.c:9", 0, "" },
		{ "walk_mm+0x1/0x9", "walk_mm+0x5/0x9", 0, "" },
		{ "mm/vmscan.c:1", "mm/vmscan.c:9", 1, "e1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *run = json_pack("{s:s, s:[{s:s},{s:s}], s:[], s:[{s:i,s:s,s:[{s:s,s:s,s:s}]},{s:i,s:s,s:[{s:s,s:s,s:s}]}]}",
					"started", "2026-11-30T10:00:00Z", "kernels", "version", "6.1.170", "version", "6.12.117",
					"cases", "boots",
					"kernel", 0, "machine", "default", "splats",
					"title", "WARNING: at a", "fingerprint", "0123456789abcdef", "site", all[i].a,
					"kernel", all[i].kernel_b, "machine", "default", "splats",
					"title", "WARNING: at a", "fingerprint", "0123456789abcdef", "site", all[i].b);
		char *path = g_build_filename(folder, "a.conf", NULL);

		assert_non_null(run);
		assert_true(g_file_set_contents(path, ENTRY("splat", "0123456789abcdef", "expires=2026-12-31\n"), -1, NULL));
		g_free(path);
		assert_true(known_apply(run, NULL));
		assert_string_equal(splat_allowed(run), all[i].allowed);
		assert_string_equal(noted(run, "state"), *all[i].allowed ? "applied" : "refused");
		json_decref(run);
	}
}

static void scope(void **state)
{
	static const struct {
		const char *more;
		bool fits;
	} all[] = {
		{ "kernels=6.1..6.12\n", true },
		{ "kernels=6.1..6.2\n", true },
		{ "kernels=6.1.171..\n", false },
		{ "kernels=6.2..\n", false },
		{ "kernels=..6.10\n", true },
		{ "arch=arm64\n", false },
		{ "arch=arm64;x86_64\n", true },
		{ "machine=default\n", true },
		{ "machine=numa-*\n", false },
		{ "results=broken\n", false },
		{ "results=broken;fail\n", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *conf = g_strconcat(ENTRY("test", "kvm/eviction_order/*",
					       "expires=2026-12-31\n"), all[i].more, NULL);
		json_t *run = new_run(conf);

		assert_string_equal(allowed(run, 0), all[i].fits ? "e1" : "");
		json_decref(run);
		g_free(conf);
	}
}

/* Splats as they are read: each entry by fingerprint allows the bug that it was written for, and none of the others */
static void one_bug_of_many(void **state)
{
	static const char *const reporters[] = {
		"refcount_warn_saturate", "debug_print_object", "__fortify_panic", "usercopy_abort", "memcpy", "kobject_put",
		"__list_add_valid_or_report", "__ubsan_handle_out_of_bounds", "__warn", "kfree", "mas_walk", "page_counter_cancel", "folio_unlock",
	};
	static const char *const callers[] = { "walk_mm", "run_aging", "shrink_one" };
	GString *console = g_string_new("[    1.000000] Linux\n");
	json_t *splats, *s;
	size_t i, j;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(reporters); i++)
		for (j = 0; j < G_N_ELEMENTS(callers); j++)
			g_string_append_printf(console, "[    2.000000] WARNING: CPU: 0 PID: 1 at lib/x.c:%zu %s+0x1/0x2\n"
					       "[    2.000000] RIP: 0010:%s+0x1/0x2\n[    2.000000] Call Trace:\n[    2.000000]  ? %s+0x1/0x2\n"
					       "[    2.000000]  %s+0x1/0x2\n[    2.000000] ---[ end trace 0000000000000000 ]---\n",
					       i + 1, reporters[i], reporters[i], reporters[i], callers[j]);
	/* each reporter and each caller is a bug of its own */
	splats = splat_scan(console->str, console->len);
	assert_int_equal(json_array_size(splats), G_N_ELEMENTS(reporters) * G_N_ELEMENTS(callers));
	json_array_foreach(splats, i, s) {
		const char *fp = json_string_value(json_object_get(s, "fingerprint"));
		char *conf = g_strdup_printf("[e1]\nkind=splat\npattern=%s\n" OWNED "expires=2026-12-31\n", fp);
		char *path = g_build_filename(folder, "a.conf", NULL);
		json_t *run = json_pack("{s:s, s:[{s:s}], s:[], s:[{s:i,s:s,s:O}]}", "started", "2026-11-30T10:00:00Z", "kernels",
					"version", "6.12.117", "cases", "boots", "kernel", 0, "machine", "default", "splats", splats);
		json_t *o;
		int hidden = 0;

		assert_non_null(run);
		json_array_foreach(splats, j, o)
			json_object_set_new(o, "allowed", json_null());
		assert_true(g_file_set_contents(path, conf, -1, NULL));
		assert_true(known_apply(run, NULL));
		json_array_foreach(splats, j, o) {
			if (!json_is_string(json_object_get(o, "allowed")))
				continue;
			hidden++;
			if (strcmp(json_string_value(json_object_get(o, "fingerprint")), fp))
				fail_msg("%s hides %s", fp, json_string_value(json_object_get(o, "title")));
		}
		if (hidden != 1)
			fail_msg("%s of %s hides %d", fp, json_string_value(json_object_get(s, "title")), hidden);
		json_decref(run);
		g_free(path);
		g_free(conf);
	}
	json_decref(splats);
	g_string_free(console, TRUE);
}

static void expires(void **state)
{
	json_t *run = new_run(ENTRY("test", "kvm/eviction_order/anon-4k", "expires=2026-11-29\n"));

	(void)state;
	assert_string_equal(allowed(run, 0), "");
	assert_string_equal(noted(run, "state"), "expired");
	assert_non_null(strstr(noted(run, "note"), "A. Person"));
	json_decref(run);
}

static void unmatched_is_reported(void **state)
{
	json_t *run = new_run(ENTRY("test", "kvm/eviction_order/shmem", "expires=2026-12-31\n"));

	(void)state;
	assert_string_equal(noted(run, "state"), "unmatched");
	json_decref(run);
	/* out of scope: nothing is known about it, nothing is said */
	run = new_run(ENTRY("test", "kvm/eviction_order/shmem",
			    "expires=2026-12-31\nkernels=7.0..\n"));
	assert_int_equal(json_array_size(json_object_get(run, "known_issues")), 0);
	json_decref(run);
}

static void refused(void **state)
{
	static const char *const all[] = {
		ENTRY("test", "*", "expires=2026-12-31\n"),
		ENTRY("test", "*/*", "expires=2026-12-31\n"),
		ENTRY("test", "kvm/*", "expires=2026-12-31\n"),
		ENTRY("test", "kvm", "expires=2026-12-31\n"),
		ENTRY("test", "?*/?*", "expires=2026-12-31\n"),
		ENTRY("test", "", "expires=2026-12-31\n"),
		ENTRY("splat", "*", "expires=2026-12-31\n"),
		ENTRY("splat", "WARNING: *", "expires=2026-12-31\n"),
		ENTRY("splat", "*a*", "expires=2026-12-31\n"),
		ENTRY("all", "kvm/eviction_order/*", "expires=2026-12-31\n"),
		ENTRY("test", "kvm/eviction_order/*", ""),
		ENTRY("test", "kvm/eviction_order/*", "expires=never\n"),
		ENTRY("test", "kvm/eviction_order/*", "expires=2026-13-45\n"),
		ENTRY("test", "kvm/eviction_order/*", "expires=2026-12-31\nresults=pass\n"),
		ENTRY("test", "kvm/eviction_order/*", "expires=2026-12-31\nkernels=6.1\n"),
		ENTRY("test", "kvm/eviction_order/*", "expires=2026-12-31\nkernels=>=6.1\n"),
		ENTRY("test", "kvm/eviction_order/*", "expires=2026-12-31\nmachines=default\n"),
		"[e1]\nkind=test\npattern=kvm/eviction_order/*\nowner=A\nexpires=2026-12-31\n",
		"[e1]\nkind=test\npattern=kvm/eviction_order/*\nlink=https://x.org\nexpires=2026-12-31\n",
		"no key file at all \xff\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *run = new_run(all[i]);

		assert_string_equal(noted(run, "state"), "refused");
		assert_string_equal(allowed(run, 0), "");
		assert_string_equal(splat_allowed(run), "");
		json_decref(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applies),
		cmocka_unit_test(one_bug_an_entry),
		cmocka_unit_test(one_bug_of_many),
		cmocka_unit_test(scope),
		cmocka_unit_test(expires),
		cmocka_unit_test(unmatched_is_reported),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
