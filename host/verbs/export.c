// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb export: the tests as a branch of a kernel tree, in the places, lists
 * and scripts that its selftests have, one commit for each test.
 *
 * Only git's plumbing is used, with an index of our own: neither the work tree,
 * nor its index, nor any setting of the repository is touched.  The branch is
 * made last, so that an export that fails leaves nothing but loose objects.
 */
#include "base/environment.h"
#include "base/scratch.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SELFTESTS	"tools/testing/selftests/"
#define LIB_DIR		SELFTESTS "mm/mmgate/"
#define BRANCH		"mmgate-selftests"

struct export {
	char *tree, *branch;
	char *tmp;		/* folder with our index and scratch files */
	char *index;		/* "GIT_INDEX_FILE=..." */
	char *base, *head;	/* commit ids */
	char *signoff;		/* "Name <mail>" */
	char *src;		/* our selftests/ */
	GHashTable *files;	/* path -> content, of this commit and those before */
	GPtrArray *touched;	/* paths of this commit */
	GPtrArray *log;		/* subjects */
	bool dry_run;
};

/* ---- git ---- */

static bool git(const struct export *x, GString *out, GError **err, ...) G_GNUC_NULL_TERMINATED;

/* Run git in the tree; @out gets what it prints, without the last line break */
static bool git(const struct export *x, GString *out, GError **err, ...)
{
	GPtrArray *argv = g_ptr_array_new();
	const char *env[] = { x->index, NULL };
	GString *sink = out ? out : g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "making the branch", .env = env, .out = sink };
	const char *w;
	va_list ap;
	bool ok;

	g_ptr_array_add(argv, "git");
	/* the branch is made in the user's name, but nothing that the tree names is run */
	g_ptr_array_add(argv, "-c");
	g_ptr_array_add(argv, "core.hooksPath=/dev/null");
	g_ptr_array_add(argv, "-c");
	g_ptr_array_add(argv, "core.fsmonitor=false");
	g_ptr_array_add(argv, "-c");
	g_ptr_array_add(argv, "commit.gpgSign=false");
	g_ptr_array_add(argv, "-C");
	g_ptr_array_add(argv, x->tree);
	va_start(ap, err);
	while ((w = va_arg(ap, const char *)))
		g_ptr_array_add(argv, (char *)w);
	va_end(ap);
	g_ptr_array_add(argv, NULL);
	cmd.argv = (const char *const *)argv->pdata;
	ok = mmg_run(&cmd, err);
	while (sink->len && sink->str[sink->len - 1] == '\n')
		g_string_truncate(sink, sink->len - 1);
	if (!out)
		g_string_free(sink, TRUE);
	g_ptr_array_unref(argv);
	return ok;
}

static char *git_line(const struct export *x, GError **err, const char *a, const char *b,
		      const char *c, const char *d)
{
	GString *out = g_string_new(NULL);

	if (git(x, out, err, a, b, c, d, NULL))
		return g_string_free(out, FALSE);
	g_string_free(out, TRUE);
	return NULL;
}

/* ---- files of the branch ---- */

/* Content of @path as the branch has it now, or NULL */
static const char *file_get(struct export *x, const char *path)
{
	const char *text = g_hash_table_lookup(x->files, path);
	char *spec;
	GString *out;

	if (text)
		return text;
	spec = g_strdup_printf("%s:%s", x->base, path);
	out = g_string_new(NULL);
	if (git(x, out, NULL, "cat-file", "blob", spec, NULL)) {
		g_string_append_c(out, '\n');
		g_hash_table_insert(x->files, g_strdup(path), g_string_free(out, FALSE));
	} else {
		g_string_free(out, TRUE);
	}
	g_free(spec);
	return g_hash_table_lookup(x->files, path);
}

static void file_set(struct export *x, const char *path, char *text)
{
	g_hash_table_insert(x->files, g_strdup(path), text);
	if (!g_ptr_array_find_with_equal_func(x->touched, path, g_str_equal, NULL))
		g_ptr_array_add(x->touched, g_strdup(path));
}

/* A file of ours to a path where the tree must have none */
static bool file_new(struct export *x, const char *from, const char *path, GError **err)
{
	char *full = g_build_filename(x->src, from, NULL), *text = NULL;
	GError *why = NULL;

	if (file_get(x, path)) {
		mmg_set_error(err, MMG_EXIT_FAIL, "%s has a %s already: take it out first, or export to another tree",
			      x->tree, path);
	} else if (!g_file_get_contents(full, &text, NULL, &why)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "reading %s: %s", full, why->message);
		g_error_free(why);
	} else {
		file_set(x, path, text);
	}
	g_free(full);
	return text != NULL;
}

/*
 * Put @line after the last line that starts with @prefix and is not within a
 * conditional of make; false where there is no such line.
 */
static bool insert_after(struct export *x, const char *path, const char *prefix, const char *line)
{
	const char *text = file_get(x, path), *at = NULL, *p, *eol;
	int depth = 0;

	for (p = text; p && *p; p = eol + 1) {
		eol = strchr(p, '\n');
		if (!eol)
			break;
		if (g_str_has_prefix(p, "ifeq") || g_str_has_prefix(p, "ifneq") ||
		    g_str_has_prefix(p, "ifdef") || g_str_has_prefix(p, "ifndef"))
			depth++;
		else if (g_str_has_prefix(p, "endif"))
			depth--;
		else if (!depth && g_str_has_prefix(p, prefix))
			at = eol + 1;
	}
	if (!at)
		return false;
	file_set(x, path, g_strdup_printf("%.*s%s\n%s", (int)(at - text), text, line, at));
	return true;
}

/* Put @block before the first line that starts with @prefix; at the end where there is none */
static bool insert_before(struct export *x, const char *path, const char *prefix, const char *block)
{
	const char *text = file_get(x, path), *at;
	char *mark = g_strconcat("\n", prefix, NULL);

	if (text) {
		at = strstr(text, mark);
		at = at ? at + 1 : text + strlen(text);
		file_set(x, path, g_strdup_printf("%.*s%s%s", (int)(at - text), text, block, at));
	}
	g_free(mark);
	return text != NULL;
}

static bool no_place(struct export *x, const char *path, const char *what, GError **err)
{
	mmg_set_error(err, MMG_EXIT_BROKEN,
		      "%s of %s has no %s: this tree's selftests are laid out in a way that export does not know (6.12 to 7.2 are known)",
		      path, x->tree, what);
	return false;
}

/* ---- commits ---- */

static bool stage(struct export *x, const char *path, GError **err)
{
	const char *text = g_hash_table_lookup(x->files, path);
	char *scratch = g_build_filename(x->tmp, "blob", NULL), *id = NULL, *entry;
	const char *mode = g_str_has_suffix(path, ".sh") ? "100755" : "100644";
	bool ok = false;

	if (mmg_write_atomic(scratch, text, -1, err))
		id = git_line(x, err, "hash-object", "-w", "--no-filters", scratch);
	if (id) {
		entry = g_strdup_printf("%s,%s,%s", mode, id, path);
		ok = git(x, NULL, err, "update-index", "--add", "--cacheinfo", entry, NULL);
		g_free(entry);
	}
	g_free(id);
	g_free(scratch);
	return ok;
}

/* Text of a message at 72 columns, paragraphs kept */
static void wrap(GString *out, const char *text)
{
	char **words = g_strsplit_set(text, " \n", -1);
	int col = 0;

	for (char **w = words; *w; w++) {
		int n = strlen(*w);

		if (!n)
			continue;
		if (col && col + 1 + n > 72) {
			g_string_append_c(out, '\n');
			col = 0;
		} else if (col) {
			g_string_append_c(out, ' ');
			col++;
		}
		g_string_append(out, *w);
		col += n;
	}
	g_string_append_c(out, '\n');
	g_strfreev(words);
}

static bool commit(struct export *x, const char *subject, const char *body, GError **err)
{
	char *scratch = g_build_filename(x->tmp, "message", NULL), *tree = NULL, *id = NULL;
	GString *m = g_string_new(subject), *out = g_string_new(NULL);
	bool ok = true;

	g_ptr_array_add(x->log, g_strdup(subject));
	g_string_append_printf(m, "\n\n%s\nSigned-off-by: %s\n", body, x->signoff);
	for (guint i = 0; i < x->touched->len && ok; i++)
		ok = stage(x, x->touched->pdata[i], err);
	g_ptr_array_set_size(x->touched, 0);
	if (ok && mmg_write_atomic(scratch, m->str, m->len, err))
		tree = git_line(x, err, "write-tree", NULL, NULL, NULL);
	if (tree && git(x, out, err, "commit-tree", tree, "-p", x->head, "-F", scratch, NULL))
		id = g_strdup(out->str);
	if (id) {
		g_free(x->head);
		x->head = id;
	}
	g_string_free(out, TRUE);
	g_string_free(m, TRUE);
	g_free(tree);
	g_free(scratch);
	return id != NULL;
}

/* ---- what our tests say of themselves ---- */

/* The message of the commit that adds @t */
static char *test_body(const struct test *t)
{
	GString *s = g_string_new(NULL);
	g_autofree char *sentence = g_strconcat(t->about && *t->about ? t->about : "a test", ".", NULL);
	gsize n = strlen(sentence);

	sentence[0] = g_ascii_toupper(sentence[0]);
	if (strchr(".?!", sentence[n - 2]))
		sentence[n - 1] = '\0';
	wrap(s, sentence);
	if (*t->prose) {
		g_string_append_c(s, '\n');
		wrap(s, t->prose);
	}
	for (guint i = 0; i < t->guards->len; i++) {
		const char *guard = t->guards->pdata[i];
		const char *title = guard + strspn(guard, "0123456789abcdef");
		g_autofree char *line = g_strdup_printf("\"%s\"", *title == ' ' ? title + 1 : guard);

		if (!i)
			g_string_append(s, "\nIt guards\n\n");
		wrap(s, line);
	}
	return g_string_free(s, FALSE);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files of a family of ours with this ending, tests or all but tests, sorted */
static GPtrArray *sources(const struct export *x, const char *family, const char *suffix, bool tests)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
	char *dir = g_build_filename(x->src, family, NULL);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d)))
		if (g_str_has_suffix(name, suffix) && *name != '.' &&
		    g_str_has_suffix(name, "_test.c") == tests)
			g_ptr_array_add(all, g_strdup(name));
	if (d)
		g_dir_close(d);
	g_ptr_array_sort(all, by_name);
	g_free(dir);
	return all;
}

static bool copy_all(struct export *x, const char *family, const char *suffix, const char *to,
		     bool (*wanted)(const char *name), GError **err)
{
	GPtrArray *all = sources(x, family, suffix, false);
	bool ok = true;

	for (guint i = 0; i < all->len && ok; i++) {
		char *from = g_build_filename(family, all->pdata[i], NULL);
		char *path = g_strconcat(to, all->pdata[i], NULL);

		if (!wanted || wanted(all->pdata[i]))
			ok = file_new(x, from, path, err);
		g_free(from);
		g_free(path);
	}
	g_ptr_array_unref(all);
	return ok;
}

/* ---- the series ---- */

static bool is_runner(const char *name)
{
	return g_str_has_prefix(name, "runner.") || g_str_has_prefix(name, "journal.") ||
	       g_str_has_prefix(name, "compiler.");
}

static bool is_helper(const char *name)
{
	return !is_runner(name);
}

/* How a test of ours reaches one that the tree has itself */
static bool is_not_of_tree(const char *name)
{
	return strcmp(name, "upstream.h");
}

static bool add_lib(struct export *x, GError **err)
{
	return copy_all(x, "lib", ".c", LIB_DIR, is_runner, err) &&
	       copy_all(x, "lib", ".h", LIB_DIR, is_runner, err) &&
	       commit(x, "selftests/mm: add a runner for tests made of cases",
		      "A test is a table of cases. Each is forked, bounded in time, and run with\n"
		      "the settings it declares saved and put back on every way out, also after\n"
		      "a signal. A case passes, fails, is skipped with a reason, or is broken:\n"
		      "its experiment itself did not work, which is neither a pass nor a fail.\n",
		      err) &&
	       copy_all(x, "lib", ".c", LIB_DIR, is_helper, err) &&
	       copy_all(x, "lib", ".h", LIB_DIR, is_helper, err) &&
	       commit(x, "selftests/mm: add helpers that read MGLRU, memcg, zones and nodes",
		      "What the tests of eviction order and of the zones' reserves share: both\n"
		      "forms of lru_gen in debugfs, memory.reclaim, the residency of a whole\n"
		      "region at once, order statistics with ties, /proc/zoneinfo, vmstat and\n"
		      "the nodes' memory blocks.\n", err);
}

/* Names of the helpers' sources in make's words */
static char *helper_list(struct export *x, const char *family)
{
	GPtrArray *all = sources(x, family, ".c", false);
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < all->len; i++)
		g_string_append_printf(s, " %s", (char *)all->pdata[i]);
	g_ptr_array_unref(all);
	return g_string_free(s, FALSE);
}

#define MM	SELFTESTS "mm/"
#define KVM	SELFTESTS "kvm/"

static bool prepare_mm(struct export *x, GError **err)
{
	static const char category[] = "- zone\n\ttest the memory that zones keep in reserve\n";
	char *helpers = helper_list(x, "mm");
	char *rules = g_strdup_printf(
		"\n# Tests of the zones' reserves, with the helpers that they share with kvm\n"
		"MMGATE_TESTS :=\n\n"
		"ifneq ($(MMGATE_TESTS),)\n"
		"$(MMGATE_TESTS): $(wildcard mmgate/*.c)%s\n"
		"$(MMGATE_TESTS): CFLAGS += -std=gnu11 -Immgate\n"
		"endif\n", helpers);
	bool ok = copy_all(x, "mm", ".c", MM, NULL, err) && copy_all(x, "mm", ".h", MM, NULL, err);

	g_free(helpers);
	ok = ok && (insert_before(x, MM "Makefile", "\377", rules) ||
		    no_place(x, MM, "Makefile", err));
	g_free(rules);
	ok = ok && (insert_before(x, MM "run_vmtests.sh", "\nexample: ", category) ||
		    no_place(x, MM, "run_vmtests.sh", err));
	if (ok && file_get(x, MM "ksft_compaction.sh")) {
		file_set(x, MM "ksft_zone.sh", g_strdup("#!/bin/sh -e\n"
							"# SPDX-License-Identifier: GPL-2.0\n\n"
							"./run_vmtests.sh -t zone\n"));
		ok = insert_after(x, MM "Makefile", "TEST_PROGS += ksft_", "TEST_PROGS += ksft_zone.sh") ||
		     no_place(x, MM "Makefile", "TEST_PROGS += ksft_*.sh", err);
	}
	return ok && commit(x, "selftests/mm: prepare for tests of the zones' reserves",
			    "A category of run_vmtests.sh, the rules to build them, and what they\n"
			    "share.\n", err);
}

static bool prepare_kvm(struct export *x, const char *makefile, GError **err)
{
	char *helpers = helper_list(x, "kvm");
	char *rules = g_strdup_printf(
		"# Tests of the order in which guest memory is evicted, with the helpers that\n"
		"# they share with mm\n"
		"MMGATE_TESTS :=\n\n"
		"MMGATE_C := $(notdir $(wildcard ../mm/mmgate/*.c))%s\n"
		"MMGATE_OBJS := $(patsubst %%.c,$(OUTPUT)/mmgate/%%.o,$(MMGATE_C))\n"
		"MMGATE_DEPS := $(MMGATE_OBJS:.o=.d)\n\n"
		"$(shell mkdir -p $(OUTPUT)/mmgate)\n\n"
		"$(MMGATE_OBJS) $(addsuffix .o,$(MMGATE_TESTS)): CFLAGS += -I../mm/mmgate -I.\n"
		"$(MMGATE_OBJS): $(GEN_HDRS)\n"
		"$(OUTPUT)/mmgate/%%.o: ../mm/mmgate/%%.c\n"
		"\t$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $< -o $@\n"
		"$(OUTPUT)/mmgate/%%.o: %%.c\n"
		"\t$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $< -o $@\n\n"
		"ifneq ($(MMGATE_TESTS),)\n"
		"$(MMGATE_TESTS): $(MMGATE_OBJS)\n"
		"$(MMGATE_TESTS): LIBKVM_OBJS += $(MMGATE_OBJS)\n"
		"endif\n"
		"-include $(MMGATE_DEPS)\n"
		"EXTRA_CLEAN += $(MMGATE_OBJS) $(MMGATE_DEPS)\n\n", helpers);
	bool ok = copy_all(x, "kvm", ".c", KVM, NULL, err) &&
		  copy_all(x, "kvm", ".h", KVM, is_not_of_tree, err);

	ok = ok && (insert_before(x, makefile, "cscope: ", rules) ||
		    no_place(x, KVM, "Makefile", err));
	g_free(helpers);
	g_free(rules);
	return ok && commit(x, "selftests/kvm: prepare for tests of eviction order",
			    "A guest whose memory the test itself maps, touched page by page by its\n"
			    "vCPUs, and the rules to build tests with mm's helpers.\n", err);
}

/* A test of mm: its file, its lines in Makefile, .gitignore and run_vmtests.sh */
static bool list_mm(struct export *x, const char *test, GError **err)
{
	char *gen = g_strconcat("TEST_GEN_FILES += ", test, NULL);
	char *rule = g_strdup_printf("MMGATE_TESTS += $(OUTPUT)/%s", test);
	char *run = g_strdup_printf("CATEGORY=\"zone\" run_test ./%s\n\n", test);
	char *ignore = g_strconcat(test, "\n", NULL);
	bool ok;

	ok = (insert_after(x, MM "Makefile", "TEST_GEN_FILES +=", gen) ||
	      no_place(x, MM "Makefile", "TEST_GEN_FILES", err)) &&
	     (insert_after(x, MM "Makefile", "MMGATE_TESTS ", rule) ||
	      no_place(x, MM "Makefile", "MMGATE_TESTS", err)) &&
	     (insert_before(x, MM "run_vmtests.sh", "echo \"SUMMARY", run) ||
	      no_place(x, MM, "run_vmtests.sh", err)) &&
	     (insert_before(x, MM ".gitignore", "\377", ignore) ||
	      no_place(x, MM, ".gitignore", err));
	g_free(gen);
	g_free(rule);
	g_free(run);
	g_free(ignore);
	return ok;
}

/* A test of kvm, on the architectures that its guests are written for */
static bool list_kvm(struct export *x, const char *makefile, const char *test, GError **err)
{
	static const char *const archs[] = { "x86", "x86_64", "arm64", "aarch64" };
	char *rule = g_strdup_printf("MMGATE_TESTS += $(OUTPUT)/%s", test);
	int lists = 0;
	bool ok;

	for (gsize i = 0; i < G_N_ELEMENTS(archs); i++) {
		char *prefix = g_strdup_printf("TEST_GEN_PROGS_%s +=", archs[i]);
		char *line = g_strdup_printf("%s %s", prefix, test);

		lists += insert_after(x, makefile, prefix, line);
		g_free(prefix);
		g_free(line);
	}
	ok = lists ? insert_after(x, makefile, "MMGATE_TESTS ", rule) :
		     no_place(x, makefile, "TEST_GEN_PROGS_x86", err);
	g_free(rule);
	return ok;
}

/* CONFIG_ words of a list, each once, into a family's config */
static void add_config(const GPtrArray *words, GPtrArray *config)
{
	for (guint i = 0; i < words->len; i++)
		if (g_str_has_prefix(words->pdata[i], "CONFIG_") &&
		    !g_ptr_array_find_with_equal_func(config, words->pdata[i], g_str_equal, NULL))
			g_ptr_array_add(config, g_strdup(words->pdata[i]));
}

/* One test, in a commit of its own; tests that only make sense outside of a kernel tree stay here */
static bool add_test(struct export *x, const char *family, const char *file, const char *makefile,
		     GPtrArray *config, GError **err)
{
	g_autofree char *from = g_build_filename(family, file, NULL);
	g_autofree char *path = g_strdup_printf(SELFTESTS "%s/%s", family, file);
	g_autofree char *name = g_strndup(file, strlen(file) - 2);
	g_autofree char *subject = g_strdup_printf("selftests/%s: add %s", family, name);
	g_autofree char *full = g_build_filename(x->src, from, NULL);
	g_autofree char *text = NULL, *body = NULL;
	struct test *t;
	bool ok = true;

	g_file_get_contents(full, &text, NULL, NULL);
	t = catalog_parse(name, text ? text : "");
	if (!t->stays) {
		body = test_body(t);
		add_config(t->needs, config);
		add_config(t->wants, config);
		ok = file_new(x, from, path, err) &&
		     (makefile ? list_kvm(x, makefile, name, err) : list_mm(x, name, err)) &&
		     commit(x, subject, body, err);
	}
	catalog_test_free(t);
	return ok;
}

static bool add_tests(struct export *x, const char *family, const char *makefile,
		      GPtrArray *config, GError **err)
{
	g_autoptr(GPtrArray) all = sources(x, family, "_test.c", true);
	bool ok = true;

	for (guint i = 0; i < all->len && ok; i++)
		ok = add_test(x, family, all->pdata[i], makefile, config, err);
	return ok;
}

/* What the tests need of the kernel, into the family's config fragment */
static bool commit_config(struct export *x, const char *family, const GPtrArray *config, GError **err)
{
	char *path = g_strdup_printf(SELFTESTS "%s/config", family);
	char *subject = g_strdup_printf("selftests/%s: ask for what the new tests need", family);
	const char *old = file_get(x, path);
	GString *text = g_string_new(old ? old : "");
	bool any = false, ok = true;

	for (guint i = 0; i < config->len; i++) {
		char *line = g_strdup_printf("%s=", (char *)config->pdata[i]);

		if (!strstr(text->str, line)) {
			g_string_append_printf(text, "%sy\n", line);
			any = true;
		}
		g_free(line);
	}
	if (any) {
		file_set(x, path, g_strdup(text->str));
		ok = commit(x, subject, "Without these the tests skip, and say so.\n", err);
	}
	g_string_free(text, TRUE);
	g_free(subject);
	g_free(path);
	return ok;
}

static bool series(struct export *x, GError **err)
{
	const char *makefile = file_get(x, KVM "Makefile.kvm") ? KVM "Makefile.kvm" : KVM "Makefile";
	GPtrArray *mm = g_ptr_array_new_with_free_func(g_free);
	GPtrArray *kvm = g_ptr_array_new_with_free_func(g_free);
	bool ok = add_lib(x, err) && prepare_mm(x, err) && add_tests(x, "mm", NULL, mm, err) &&
		  commit_config(x, "mm", mm, err) && prepare_kvm(x, makefile, err) &&
		  add_tests(x, "kvm", makefile, kvm, err) && commit_config(x, "kvm", kvm, err);

	g_ptr_array_unref(mm);
	g_ptr_array_unref(kvm);
	return ok;
}

/* ---- the verb ---- */

static bool find_tree(struct export *x, GError **err)
{
	GError *why = NULL;
	char *ref, *there, *ident;

	x->base = git_line(x, &why, "rev-parse", "--verify", "HEAD^{commit}", NULL);
	if (!x->base) {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--tree %s is no git repository with a commit: export makes a branch of one (%s)",
			      x->tree, why->message);
		g_error_free(why);
		return false;
	}
	x->head = g_strdup(x->base);
	if (!file_get(x, KVM "lib/kvm_util.c") || !file_get(x, MM "Makefile")) {
		mmg_set_error(err, MMG_EXIT_USAGE, "HEAD of %s is no kernel with kvm and mm selftests", x->tree);
		return false;
	}
	ref = g_strconcat("refs/heads/", x->branch, NULL);
	there = git_line(x, NULL, "rev-parse", "--verify", ref, NULL);
	g_free(ref);
	if (there) {
		g_free(there);
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has a branch %s already: delete it (git branch -D %s), or name another (export --tree %s BRANCH)",
			      x->tree, x->branch, x->branch, x->tree);
		return false;
	}
	ident = git_line(x, &why, "var", "GIT_COMMITTER_IDENT", NULL, NULL);
	if (!ident || !strchr(ident, '>')) {
		mmg_set_error(err, MMG_EXIT_USAGE, "git does not know who signs the commits: git config user.name and user.email (%s)",
			      why ? why->message : "no answer");
		g_clear_error(&why);
		g_free(ident);
		return false;
	}
	strchr(ident, '>')[1] = 0;
	x->signoff = ident;
	return true;
}

static bool make_branch(struct export *x, GError **err)
{
	char *ref = g_strconcat("refs/heads/", x->branch, NULL);
	bool ok = git(x, NULL, err, "check-ref-format", ref, NULL) &&
		  git(x, NULL, err, "read-tree", x->base, NULL) && series(x, err);

	/* an empty old value: the branch must not exist yet, however fast somebody else is */
	if (ok && !x->dry_run)
		ok = git(x, NULL, err, "update-ref", ref, x->head, "", NULL);
	g_free(ref);
	return ok;
}

static void print_log(const struct export *x)
{
	printf("%s %u commits on %.12s of %s:\n", x->dry_run ? "would make" : "made", x->log->len,
	       x->base, x->tree);
	for (guint i = 0; i < x->log->len; i++)
		printf("  %s\n", (char *)x->log->pdata[i]);
	if (!x->dry_run)
		printf("\nnext:\n  git -C %s switch %s\n  make -C %s headers\n"
		       "  make -C %s/tools/testing/selftests TARGETS=\"kvm mm\"\n"
		       "  %s/scripts/checkpatch.pl --git %.12s..%s\n", x->tree, x->branch, x->tree,
		       x->tree, x->tree, x->base, x->branch);
	fflush(stdout);
}

/**
 * verb_export() - lay the tests into a kernel tree as a branch
 * @cli: --tree DIR, a git repository of a kernel; BRANCH as its word
 *	(mmgate-selftests); -n makes the commits, but no branch
 * @err: where it could not be done
 *
 * Return: exit status.
 */
int verb_export(struct cli *cli, GError **err)
{
	struct export x = { .dry_run = cli->dry_run };
	int status = MMG_EXIT_BROKEN;

	if (!cli->tree || cli->args->len > 1) {
		mmg_set_error(err, MMG_EXIT_USAGE, "export --tree DIR [BRANCH]: give the git repository of a kernel");
		return MMG_EXIT_USAGE;
	}
	environment_git_user();
	x.tree = g_canonicalize_filename(cli->tree, NULL);
	x.branch = g_strdup(cli->args->len ? cli->args->pdata[0] : BRANCH);
	x.src = mmg_root_path("selftests", NULL);
	x.tmp = scratch_dir("export", err);
	x.index = g_strdup_printf("GIT_INDEX_FILE=%s/index", x.tmp ? x.tmp : "/nonexistent");
	x.files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	x.touched = g_ptr_array_new_with_free_func(g_free);
	x.log = g_ptr_array_new_with_free_func(g_free);
	status_set("making the branch %s in %s", x.branch, x.tree);
	if (x.tmp && find_tree(&x, err) && make_branch(&x, err)) {
		status_clear();
		if (!cli->quiet)
			print_log(&x);
		fprintf(stderr, "mmgate: %s\n", x.dry_run ? "no branch was made (-n)" : x.branch);
		status = MMG_EXIT_OK;
	}
	if (x.tmp)
		mmg_rmtree(x.tmp);
	g_hash_table_unref(x.files);
	g_ptr_array_unref(x.touched);
	g_ptr_array_unref(x.log);
	g_free(x.tree);
	g_free(x.branch);
	g_free(x.src);
	g_free(x.tmp);
	g_free(x.index);
	g_free(x.base);
	g_free(x.head);
	g_free(x.signoff);
	return status;
}
