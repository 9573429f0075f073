// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/taint.c host/run/provoked.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "run/run.h"
#include "sign.h"

static size_t splats_of(const char *splats, const char *taints, const char *title)
{
	json_t *s = json_loads(splats, 0, NULL), *t = json_loads(taints, 0, NULL);
	size_t n;

	assert_non_null(s);
	assert_non_null(t);
	taint_splats(s, t);
	n = json_array_size(s);
	if (title)
		assert_non_null(strstr(json_string_value(json_object_get(json_array_get(s, n - 1), "title")), title));
	json_decref(s);
	json_decref(t);
	return n;
}

static const char *allowed_of(const char *splats, json_t **keep)
{
	GPtrArray *kinds = g_ptr_array_new(), *tests = g_ptr_array_new();
	struct test t = { .name = "mm/a", .provokes = kinds };
	struct planned p = { .test = &t };

	g_ptr_array_add(kinds, "allocation failure");
	g_ptr_array_add(tests, &p);
	*keep = json_loads(splats, 0, NULL);
	provoked_splats(*keep, tests);
	g_ptr_array_unref(kinds);
	g_ptr_array_unref(tests);
	return json_string_value(json_object_get(json_array_get(*keep, 0), "allowed"));
}

static void provoked(void **state)
{
	json_t *s;

	(void)state;
	assert_string_equal(allowed_of("[{\"kind\": \"allocation failure\", \"test\": \"mm/a\"}]", &s), "provoked by mm/a");
	json_decref(s);
	/* another kind, another test's, outside of any */
	assert_null(allowed_of("[{\"kind\": \"BUG\", \"test\": \"mm/a\"}]", &s));
	json_decref(s);
	assert_null(allowed_of("[{\"kind\": \"allocation failure\", \"test\": \"mm/b\"}]", &s));
	json_decref(s);
	assert_null(allowed_of("[{\"kind\": \"allocation failure\", \"test\": null}]", &s));
	json_decref(s);
}

static void told(void **state)
{
	(void)state;
	/* a warning (bit 9) that no splat explains */
	assert_int_equal(splats_of("[]", "[{\"test\": \"mm/a\", \"before\": 0, \"after\": 512}]", "(W)"), 1);
	assert_int_equal(splats_of("[{\"test\": \"mm/a\"}]", "[{\"test\": \"mm/a\", \"before\": 0, \"after\": 512}]", NULL), 1);
	assert_int_equal(splats_of("[{\"test\": \"mm/b\"}]", "[{\"test\": \"mm/a\", \"before\": 0, \"after\": 512}]", "(W)"), 2);
	/* it was there before the test */
	assert_int_equal(splats_of("[]", "[{\"test\": \"mm/a\", \"before\": 512, \"after\": 512}]", NULL), 0);
	assert_int_equal(splats_of("[]", "[{\"test\": \"mm/a\", \"before\": 512, \"after\": 640}]", "(D)"), 1);
	/* a module that is not the kernel's own: told apart, no fault */
	assert_int_equal(splats_of("[]", "[{\"test\": \"mm/a\", \"before\": 0, \"after\": 12288}]", NULL), 0);
	/* since the boot */
	assert_int_equal(splats_of("[]", "[{\"test\": \"-\", \"before\": 0, \"after\": 512}]", "since its boot"), 1);
	assert_int_equal(splats_of("[{\"test\": null}]", "[{\"test\": \"-\", \"before\": 0, \"after\": 512}]", NULL), 1);
}

/* The example of the paper's appendix: key 00..0f, 15 bytes 00..0e */
static void signature(void **state)
{
	uint8_t key[SIGN_KEY_BYTES], text[15];
	struct sign s;

	(void)state;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i;
	sign_begin(&s, key);
	sign_add(&s, text, 7);
	sign_add(&s, text + 7, 8);
	assert_true(sign_tag(&s) == 0xa129ca6149be45e5ULL);
	assert_true(sign_tag(&s) == 0xa129ca6149be45e5ULL);
	assert_true(sign_line(key, 0, "beat", 4) != sign_line(key, 1, "beat", 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told),
		cmocka_unit_test(provoked),
		cmocka_unit_test(signature),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
