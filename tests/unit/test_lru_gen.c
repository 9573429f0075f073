// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: selftests/lib/lru_gen.c
/* MGLRU's debugfs files: what 6.1, 6.12 and 7.2 print, and what is malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lru_gen.h"

static char *fixture(const char *version, const char *name)
{
	static char text[65536];
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/fixtures/%s/%s", getenv("MMGATE_ROOT") ?: ".", version, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void parse(const char *version, const char *name, struct lru_gen_memcg *m)
{
	struct lru_gen_error e = { };

	if (lru_gen_parse(fixture(version, name), "/a", 0, m, &e))
		fail_msg("%s/%s: line %u: %s", version, name, e.line, e.what);
	assert_true(m->id > 0);
	assert_int_equal(m->nr_nodes, 1);
	assert_int_equal(m->node[0].nr_gens, 4);
	assert_int_equal(lru_gen_min_seq(&m->node[0]), 0);
	assert_int_equal(lru_gen_max_seq(&m->node[0]), 3);
}

static void real_kernels(void **state)
{
	static const char * const versions[] = { "6.1", "6.12", "7.2" };
	struct lru_gen_memcg s, f;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		parse(versions[i], "lru_gen", &s);
		parse(versions[i], "lru_gen_full", &f);
		assert_false(s.full);
		assert_true(f.full);
		assert_int_equal(s.id, f.id);
		assert_int_equal(f.node[0].gen[3].nr_tiers, 4);
		/* the series dropped two of the six counters */
		assert_int_equal(f.node[0].gen[3].nr_stats, i ? 4 : 6);
		assert_string_equal(f.node[0].gen[3].stat_mark, i ? "TYFA" : "LOYNFA");
		assert_true(lru_gen_counter(&f.node[0], WALK_YOUNG) >= 0);
		assert_true((lru_gen_counter(&f.node[0], WALK_OLD) < 0) == !!i);
	}
}

static void not_listed(void **state)
{
	struct lru_gen_error e = { };
	struct lru_gen_memcg m;

	(void)state;
	assert_int_equal(lru_gen_parse(fixture("6.12", "lru_gen"), "/b", 0, &m, &e), -ENOENT);
}

static void malformed(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
	} bad[] = {
		{ "memcg     1 /a\n node     0\n          0      x\n", 3 },
		{ "memcg     1 /a\n node     0\n          0      1    2\n", 3 },
		{ "memcg     q /a\n", 1 },
		{ " node     0\n", 1 },
		{ "memcg     1 /a\n          0    1    2    3\n", 2 },
		{ "memcg     1 /a\n node     0\n          0      1    2    3 4 5\n", 3 },
		{ "memcg     1 /a\n node     0\n          0      1    99999999999999999999999    3\n", 3 },
	};
	struct lru_gen_memcg m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct lru_gen_error e = { };
		int ret = lru_gen_parse(bad[i].text, "/a", 0, &m, &e);

		if (ret != -EINVAL || e.line != bad[i].line || !*e.what)
			fail_msg("text %zu: %d, line %u: %s", i, ret, e.line, e.what);
	}
}

/* Whatever the text: no crash, and an error or a result */
static void cut_and_changed(void **state)
{
	char *text = strdup(fixture("6.12", "lru_gen_full"));
	size_t n = strlen(text), i;
	struct lru_gen_error e;
	struct lru_gen_memcg m;

	(void)state;
	srand(3);
	for (i = 0; i < 20000; i++) {
		char *copy = strdup(text);

		copy[rand() % n] = rand() % 256;
		if (i % 3)
			copy[rand() % n] = '\0';
		lru_gen_parse(copy, "/a", 0, &m, &e);
		free(copy);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_kernels),
		cmocka_unit_test(not_listed),
		cmocka_unit_test(malformed),
		cmocka_unit_test(cut_and_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
