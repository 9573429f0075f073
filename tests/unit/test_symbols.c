// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/kernel/*.c host/debian/*.c host/store/*.c host/base/*.c
/*
 * Functions by their addresses: kallsyms tables in each of the forms that kernels
 * have had, the place of a kernel that KASLR moved, images that are damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "kernel/symbols.h"

#define TEXT	(8 << 20)	/* bytes of code in the image */
#define N	300		/* functions, over the 256 of a marker */
#define SIZE	0x1230		/* of each, spread over the code */

enum form { OLD, OLD_PERCPU, NEW, SELF };

static void put32(GByteArray *a, uint32_t v)
{
	const uint8_t b[] = { v, v >> 8, v >> 16, v >> 24 };

	g_byte_array_append(a, b, sizeof(b));
}

static void align(GByteArray *a, guint to)
{
	static const uint8_t zero;

	while (a->len % to)
		g_byte_array_append(a, &zero, 1);
}

static char *fn(guint i)
{
	/* one of them is longer than a length of one byte can say */
	return i == 7 ? g_strdup_printf("T%0160d_seven", 0) :
	       i ? g_strdup_printf("tfn_%u", i) : g_strdup("T_text");
}

static void put_base(GByteArray *a, uint64_t base)
{
	put32(a, base);
	put32(a, base >> 32);
}

static void put_offsets(GByteArray *a, enum form form)
{
	for (guint i = 0; i < N; i++) {
		/* 10 is an alias of 9 */
		uint32_t off = (i == 10 ? 9 : i) * SIZE;

		put32(a, form == OLD_PERCPU ? (uint32_t)(-1 - (int32_t)off) :
		      form == SELF ? off - a->len : off);
	}
}

static void put_names(GByteArray *a, enum form form)
{
	guint markers[(N + 255) / 256], from;
	uint16_t index[256], at = 0;

	put32(a, N);
	align(a, form == SELF ? 4 : 8);
	from = a->len;
	for (guint i = 0; i < N; i++) {
		g_autofree char *name = fn(i);
		guint len = strlen(name);
		const uint8_t big[] = { (len & 0x7f) | 0x80, len >> 7 }, small = len;

		if (!(i & 255))
			markers[i / 256] = a->len - from;
		g_byte_array_append(a, len > 127 ? big : &small, len > 127 ? 2 : 1);
		g_byte_array_append(a, (const uint8_t *)name, len);
	}
	align(a, form == SELF ? 4 : 8);
	for (guint i = 0; i < G_N_ELEMENTS(markers); i++)
		put32(a, markers[i]);
	align(a, form == SELF ? 4 : 8);
	for (guint i = 0; i < 256; i++) {
		const char one[] = { g_ascii_isgraph(i) ? i : '?', 0 };

		index[i] = at;
		g_byte_array_append(a, (const uint8_t *)one, 2);
		at += 2;
	}
	align(a, form == SELF ? 4 : 8);
	for (guint i = 0; i < 256; i++) {
		const uint8_t b[] = { index[i], index[i] >> 8 };

		g_byte_array_append(a, b, 2);
	}
}

/* A flat image: code drawn at random, then the tables in the order of @form */
static GByteArray *image(enum form form)
{
	GByteArray *a = g_byte_array_new();
	GRand *rand = g_rand_new_with_seed(1);
	uint64_t base = 0;

	while (a->len < TEXT)
		put32(a, g_rand_int(rand) | 1);
	g_rand_free(rand);
	if (form == OLD || form == OLD_PERCPU) {
		put_offsets(a, form);
		align(a, 8);
		put_base(a, base);
	}
	put_names(a, form);
	if (form == NEW || form == SELF) {
		put_offsets(a, form);
		align(a, 8);
		put_base(a, base);
	}
	for (guint i = 0; i < 1024; i++)
		put32(a, 0);
	return a;
}

static struct code_probe probe(const GByteArray *a, uint64_t at, uint64_t moved, guint n)
{
	struct code_probe p = { .addr = at + moved, .n = n };

	memcpy(p.bytes, a->data + at, n);
	return p;
}

static void check_form(enum form form)
{
	GByteArray *a = image(form);
	const uint64_t moved = 0xffff800012340000;
	struct code_probe p[] = { probe(a, 5 * SIZE + 16, moved, 64), probe(a, 200 * SIZE, moved, 64) };
	struct symbols *s = symbols_parse(a, NULL);
	uint64_t off = 0;

	assert_non_null(s);
	/* nothing is said before it is known where the kernel runs */
	assert_null(symbols_name(s, moved + 5 * SIZE, &off));
	/* what is patched at boot does not hide the place */
	memset(p[0].bytes + 8, 0x90, 5);
	assert_true(symbols_place(s, p, 2));
	assert_true(symbols_moved(s) == moved);
	assert_string_equal(symbols_name(s, moved + 5 * SIZE + 0x20, &off), "fn_5");
	assert_int_equal(off, 0x20);
	assert_string_equal(symbols_name(s, moved + 299 * SIZE, &off), "fn_299");
	assert_string_equal(symbols_name(s, moved + 10 * SIZE, &off), "fn_9");
	assert_int_equal(off, SIZE);
	assert_true(g_str_has_suffix(symbols_name(s, moved + 7 * SIZE, &off), "_seven"));
	assert_null(symbols_name(s, 0x401000, &off));
	assert_null(symbols_name(s, moved - 1, &off));
	symbols_free(s);
}

static void forms(void **state)
{
	(void)state;
	check_form(OLD);
	check_form(OLD_PERCPU);
	check_form(NEW);
	check_form(SELF);
}

/* Code that is not the image's, or too little of it, gives no place rather than a wrong one */
static void no_place(void **state)
{
	GByteArray *a = image(NEW);
	struct code_probe other = { .addr = 0x1000, .n = 64 }, few = probe(a, SIZE, 0x10000, 8);
	struct code_probe split[2] = { probe(a, SIZE, 0x10000, 64), probe(a, 2 * SIZE, 0x10000, 64) };
	struct symbols *s = symbols_parse(a, NULL);
	uint64_t off;

	(void)state;
	assert_non_null(s);
	memset(other.bytes, 0xcc, sizeof(other.bytes));
	assert_false(symbols_place(s, &other, 1));
	assert_false(symbols_place(s, &few, 1));
	assert_false(symbols_place(s, NULL, 0));
	assert_null(symbols_name(s, SIZE, &off));
	assert_true(symbols_place(s, split, 2));
	symbols_free(s);
}

/* Cut anywhere, or with any table overwritten: no names or the right ones, and nothing beyond the end is read */
static void damaged(void **state)
{
	g_autoptr(GByteArray) whole = image(SELF);

	(void)state;
	for (guint cut = TEXT; cut < whole->len; cut += 97) {
		GByteArray *a = g_byte_array_append(g_byte_array_new(), whole->data, cut);

		symbols_free(symbols_parse(a, NULL));
	}
	for (guint at = TEXT; at < whole->len; at += 131) {
		GByteArray *a = g_byte_array_append(g_byte_array_new(), whole->data, whole->len);

		memset(a->data + at, 0xff, MIN(16, whole->len - at));
		symbols_free(symbols_parse(a, NULL));
	}
	assert_null(symbols_parse(g_byte_array_new(), NULL));
}

static void from_map(void **state)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "mmgate-map-XXXXXX", NULL);
	const char *const maps[] = { "/nonexistent", path, NULL };
	GString *text = g_string_new(NULL);
	GByteArray *a = image(NEW);
	struct code_probe p = probe(a, 3 * SIZE, 0, 64);
	struct symbols *s;
	uint64_t off;
	int fd = g_mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (guint i = 0; i < N; i++)
		g_string_append_printf(text, "%016x T %s\n", i * SIZE, i ? g_intern_string("mapped") : "_text");
	assert_true(g_file_set_contents(path, text->str, -1, NULL));
	g_byte_array_set_size(a, TEXT);
	s = symbols_parse(a, maps);
	assert_non_null(s);
	assert_true(symbols_place(s, &p, 1));
	assert_string_equal(symbols_name(s, 3 * SIZE, &off), "mapped");
	symbols_free(s);
	/* Debian's System.map of one line that names another package */
	assert_true(g_file_set_contents(path, "ffffffffffffffff B The real System.map is elsewhere\n", -1, NULL));
	a = g_byte_array_new();
	g_byte_array_set_size(a, TEXT);
	memset(a->data, 0, TEXT);
	assert_null(symbols_parse(a, maps));
	unlink(path);
	g_string_free(text, TRUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms), cmocka_unit_test(no_place), cmocka_unit_test(damaged),
		cmocka_unit_test(from_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
