// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/coverage.c host/source/guarded.c host/source/edit.c host/source/nearest.c host/base/*.c
/* gcov's counts put to the functions of the source, added up, written and read; Makefiles that count */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/coverage.h"

static const char source[] =
	"/* first */\n"
	"static bool young(struct page *p)\n"
	"{\n"
	"\tif (p && p->young)\n"
	"\t\treturn true;\n"
	"\tWARN_ON_ONCE(!p);\n"
	"\treturn false;\n"
	"}\n"
	"int walk(struct page *p)\n"
	"{\n"
	"\treturn young(p) + young(p);\n"
	"}\n";

static struct coverage *sample(void)
{
	struct coverage *c = coverage_empty();

	c->source = g_strdup("linux");
	c->version = g_strdup("6.12.1");
	c->arch = g_strdup("x86_64");
	c->sha256 = g_strdup("00");
	g_ptr_array_add(c->functions, coverage_function_new("mm/x.c", "young", source));
	g_ptr_array_add(c->functions, coverage_function_new("mm/x.c", "walk", source));
	g_ptr_array_add(c->functions, coverage_function_new("mm/x.c", "gone", source));
	return c;
}

static struct coverage_line *line(struct coverage *c, guint function, unsigned int nr)
{
	struct coverage_function *f = c->functions->pdata[function];

	for (guint i = 0; i < f->lines->len; i++)
		if (((struct coverage_line *)f->lines->pdata[i])->nr == nr)
			return f->lines->pdata[i];
	fail_msg("no line %u", nr);
	return NULL;
}

static guint64 branch(struct coverage_line *l, guint i)
{
	assert_true(i < l->branches->len);
	return g_array_index(l->branches, guint64, i);
}

/* young() was inlined into walk() twice: once whole, once with its first condition known */
static const char two_copies[] =
	"{\"files\": [{\"file\": \"/b/src/mm/../mm/x.c\", \"lines\": ["
	"{\"line_number\": 4, \"function_name\": \"walk\", \"count\": 3, \"branches\": [{\"count\": 3}, {\"count\": 0}, "
	"{\"count\": 1}, {\"count\": 2}]},"
	"{\"line_number\": 4, \"function_name\": \"other\", \"count\": 5, \"branches\": [{\"count\": 4}, {\"count\": 1}]},"
	"{\"line_number\": 6, \"function_name\": \"walk\", \"count\": 2, \"branches\": [{\"count\": 0}, {\"count\": 2}]},"
	"{\"line_number\": 7, \"function_name\": \"walk\", \"count\": 0, \"branches\": []},"
	"{\"line_number\": 11, \"function_name\": \"walk\", \"count\": 3, \"branches\": []}]},"
	"{\"file\": \"/b/src/fs/mm/y.c\", \"lines\": [{\"line_number\": 5, \"function_name\": \"f\", \"count\": 9}]}]}";

static void test_counts(void **state)
{
	struct coverage *c = sample();
	struct coverage_sum s;
	GError *err = NULL;

	(void)state;
	assert_true(coverage_add_gcov(c, two_copies, strlen(two_copies), &err));
	/* every copy ran the line; only the copy with most ways says which were taken */
	assert_int_equal(line(c, 0, 4)->count, 8);
	assert_int_equal(line(c, 0, 4)->branches->len, 4);
	assert_int_equal(branch(line(c, 0, 4), 1), 0);
	assert_int_equal(branch(line(c, 0, 4), 3), 2);
	assert_int_equal(coverage_missed(line(c, 0, 4)), 1);
	assert_true(line(c, 0, 6)->assertion);
	assert_false(line(c, 0, 5)->code);
	/* counts of a second boot are added, way by way */
	assert_true(coverage_add_gcov(c, two_copies, strlen(two_copies), &err));
	assert_int_equal(branch(line(c, 0, 4), 0), 6);
	assert_int_equal(branch(line(c, 0, 4), 1), 0);
	s = coverage_sum(c, c->functions->pdata[0]);
	assert_int_equal(s.branches, 4);
	assert_int_equal(s.branches_reached, 3);
	assert_int_equal(s.assertions, 2);
	assert_int_equal(((struct coverage_function *)c->functions->pdata[2])->state, COVERAGE_NOT_DEFINED);
	/* neither JSON that is none nor another format is taken for no counts */
	assert_false(coverage_add_gcov(c, "{", 1, &err));
	assert_int_equal(err->code, MMG_EXIT_BROKEN);
	g_clear_error(&err);
	assert_false(coverage_add_gcov(c, "{}", 2, &err));
	g_clear_error(&err);
	coverage_free(c);
}

static void test_file(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "coverage.json", NULL);
	struct coverage *c = sample(), *back;
	GError *err = NULL;
	json_t *j;

	(void)state;
	assert_true(coverage_add_gcov(c, two_copies, strlen(two_copies), &err));
	c->boots = 2;
	j = coverage_json(c);
	json_dump_file(j, path, 0);
	json_decref(j);
	back = coverage_load(path, &err);
	assert_non_null(back);
	assert_int_equal(back->boots, 2);
	assert_int_equal(branch(line(back, 0, 4), 0), 3);
	assert_true(coverage_add_file(back, path, &err));
	assert_int_equal(branch(line(back, 0, 4), 0), 6);
	assert_int_equal(back->boots, 4);
	/* of another image nothing is added */
	g_free(back->sha256);
	back->sha256 = g_strdup("11");
	assert_false(coverage_add_file(back, path, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	assert_int_equal(branch(line(back, 0, 4), 0), 6);
	g_clear_error(&err);
	assert_null(coverage_load("/nonexistent", &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	coverage_free(back);
	coverage_free(c);
	unlink(path);
	rmdir(dir);
}

static void test_reasons(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "unreached.conf", NULL);
	struct coverage *c = sample();
	GError *err = NULL;

	(void)state;
	assert_true(coverage_add_gcov(c, two_copies, strlen(two_copies), &err));
	g_file_set_contents(path, "[a]\nfunction=young\nline=if (p&& p->young)\nreason=no page is NULL\n"
			    "[old]\nfunction=young\nline=if (q)\nreason=gone\n"
			    "[reached]\nfunction=walk\nline=return young(p) + young(p);\nreason=it is\n"
			    "[later]\nfunction=young\nline=x\nreason=y\nkernels=7.0..\n", -1, NULL);
	assert_true(coverage_reasons(c, path, &err));
	assert_string_equal(line(c, 0, 4)->reason, "no page is NULL");
	/* what fits nothing, or what is reached, is said; what is for other kernels is not */
	assert_int_equal(c->stale->len, 2);
	assert_string_equal(c->stale->pdata[0], "old");
	assert_string_equal(c->stale->pdata[1], "reached");
	g_file_set_contents(path, "[a]\nfunction=young\nline=x\n", -1, NULL);
	assert_false(coverage_reasons(c, path, &err));
	assert_int_equal(err->code, MMG_EXIT_USAGE);
	g_clear_error(&err);
	coverage_free(c);
	unlink(path);
	rmdir(dir);
}

static void put(const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL), *parent = g_path_get_dirname(path);

	assert_int_equal(g_mkdir_with_parents(parent, 0755), 0);
	assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void has_line(GHashTable *overlay, const char *path, const char *line)
{
	g_autofree char *text = NULL, *whole = g_strdup_printf("\n%s\n", line);
	GBytes *b = g_hash_table_lookup(overlay, path);

	assert_non_null(b);
	text = g_strndup(g_bytes_get_data(b, NULL), g_bytes_get_size(b));
	if (!strstr(text, whole))
		fail_msg("%s has no line '%s': %s", path, line, text);
}

static void test_makefiles(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	struct source src = { .tree = dir, .name = (char *)"s", .version = (char *)"6.12" };
	g_autoptr(GPtrArray) files = g_ptr_array_new();
	g_autoptr(GHashTable) overlay = overlay_new();
	GError *err = NULL;

	(void)state;
	put(dir, "mm/Makefile", "obj-y := vmscan.o");
	put(dir, "mm/vmscan.c", "");
	put(dir, "arch/x86/kvm/Makefile", "kvm-y := mmu/mmu.o\n");
	put(dir, "arch/x86/kvm/mmu/mmu.c", "");
	put(dir, "virt/kvm/Makefile.kvm", "KVM ?= ../../../virt/kvm\n");
	put(dir, "virt/kvm/kvm_main.c", "");
	g_ptr_array_add(files, (char *)"mm/vmscan.c");
	g_ptr_array_add(files, (char *)"mm/later.c");
	g_ptr_array_add(files, (char *)"arch/x86/kvm/mmu/mmu.c");
	g_ptr_array_add(files, (char *)"virt/kvm/kvm_main.c");
	assert_true(profile_overlay(&src, files, overlay, &err));
	assert_int_equal(g_hash_table_size(overlay), 3);
	has_line(overlay, "mm/Makefile", "GCOV_PROFILE_vmscan.o := y");
	has_line(overlay, "mm/Makefile", "CFLAGS_vmscan.o += -fno-early-inlining");
	has_line(overlay, "arch/x86/kvm/Makefile", "GCOV_PROFILE_mmu/mmu.o := y");
	has_line(overlay, "arch/x86/kvm/Makefile", "GCOV_PROFILE_mmu.o := y");
	has_line(overlay, "virt/kvm/Makefile.kvm", "GCOV_PROFILE_$(KVM)/kvm_main.o := y");
	put(dir, "lone.c", "");
	g_ptr_array_add(files, (char *)"lone.c");
	assert_false(profile_overlay(&src, files, overlay, &err));
	g_clear_error(&err);
	mmg_rmtree(dir);
}

static void run(const char *dir, const char *command)
{
	g_autofree char *whole = g_strdup_printf("cd '%s' && %s", dir, command);

	if (system(whole))
		fail_msg("%s failed", whole);
}

/* A program in the kernel's place: gcc's notes and counts, read by gcov, of two runs */
static void test_gcov(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	g_autofree char *artifacts = g_build_filename(dir, "artifacts", NULL), *none = g_build_filename(dir, "none", NULL);
	struct source src = { .tree = dir, .name = (char *)"s", .version = (char *)"6.12" };
	struct build_result b = { .dir = dir, .sha256 = (char *)"00" };
	g_autofree char *conf = g_build_filename(dir, "g.conf", NULL);
	g_autoptr(GPtrArray) guarded = NULL;
	struct coverage *c;
	GError *err = NULL;

	(void)state;
	put(dir, "mm/x.c", "static volatile int seen;\n"
	    "static inline void young(int a)\n"
	    "{\n"
	    "\tif (a > 2)\n"
	    "\t\tseen++;\n"
	    "}\n"
	    "int main(int argc, char **argv)\n"
	    "{\n"
	    "\t(void)argv;\n"
	    "\tyoung(argc);\n"
	    "\tyoung(argc + 1);\n"
	    "\treturn 0;\n"
	    "}\n"
	    "#ifdef NEVER\n"
	    "int unbuilt(void)\n"
	    "{\n"
	    "\treturn 1;\n"
	    "}\n"
	    "#endif\n");
	put(dir, "g.conf", "[mm/x.c]\nyoung=kvm/a\nmain=kvm/a\nunbuilt=kvm/a\nabsent=kvm/a\n");
	run(dir, "gcc --coverage -O2 -fno-early-inlining -c -o mm/x.o $PWD/mm/x.c && gcc --coverage -o mm/x mm/x.o && "
	    "mkdir -p kept/mm artifacts/gcov/mm none && cp mm/x.gcno kept/mm/ && mm/x && mv mm/x.gcda artifacts/gcov/mm/");
	guarded = guarded_load(conf, "x86_64", &err);
	c = coverage_new(&src, "x86_64", &b, guarded, &err);
	if (!c)
		fail_msg("%s", err->message);
	assert_int_equal(coverage_sum(c, NULL).lines_reached, 0);
	assert_int_equal(((struct coverage_function *)c->functions->pdata[2])->state, COVERAGE_NOT_BUILT);
	assert_int_equal(((struct coverage_function *)c->functions->pdata[3])->state, COVERAGE_NOT_DEFINED);
	assert_true(coverage_add_boot(c, &b, artifacts, &err));
	assert_int_equal(c->boots, 1);
	/* both inlined copies ran; neither took the way of more than 2 */
	assert_int_equal(line(c, 0, 4)->count, 2);
	assert_int_equal(line(c, 0, 4)->branches->len, 2);
	assert_int_equal(coverage_missed(line(c, 0, 4)), 1);
	run(dir, "mm/x 1 2 3 && mv mm/x.gcda artifacts/gcov/mm/");
	assert_true(coverage_add_boot(c, &b, artifacts, &err));
	assert_int_equal(line(c, 0, 4)->count, 4);
	assert_int_equal(coverage_missed(line(c, 0, 4)), 0);
	/* a boot that left nothing is counted as such */
	assert_true(coverage_add_boot(c, &b, none, &err));
	assert_int_equal(c->boots, 2);
	assert_int_equal(c->lost, 1);
	coverage_free(c);
	g_ptr_array_unref(guarded);
	guarded = NULL;
	mmg_rmtree(dir);
}

static void test_guarded(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "g.conf", NULL);
	g_autoptr(GPtrArray) list = NULL, files = NULL;
	g_autoptr(GArray) lines = NULL;
	GError *err = NULL;

	(void)state;
	put(dir, "g.conf", "[mm/x.c]\nyoung=kvm/a/b;mm/c@small\nwalk=kvm/a\n[arch/x86/kvm/m.c]\nf=kvm/a\n"
	    "[arch/arm64/kvm/m.c]\nf=kvm/a\n");
	list = guarded_load(path, "x86_64", &err);
	assert_int_equal(list->len, 3);
	assert_string_equal(((struct guarded *)list->pdata[0])->notice->pdata[1], "mm/c@small");
	assert_string_equal(((struct guarded *)list->pdata[2])->file, "arch/x86/kvm/m.c");
	files = guarded_files(list);
	assert_int_equal(files->len, 2);
	lines = definition_lines(source, "young");
	assert_int_equal(lines->len, 1);
	assert_int_equal(g_array_index(lines, struct definition, 0).first, 2);
	assert_int_equal(g_array_index(lines, struct definition, 0).last, 8);
	put(dir, "g.conf", "[../x.c]\nyoung=kvm/a\n");
	assert_null(guarded_load(path, "x86_64", &err));
	g_clear_error(&err);
	put(dir, "g.conf", "[mm/x.c]\nyoung=\n");
	assert_null(guarded_load(path, "x86_64", &err));
	g_clear_error(&err);
	mmg_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_makefiles),
		cmocka_unit_test(test_gcov),
		cmocka_unit_test(test_guarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
