// SPDX-License-Identifier: GPL-2.0-only
/*
 * Builds what runs inside the VM: the selftests on the kernel's KVM selftest
 * library, and PID 1.  Objects stay in the cache, so that a changed test costs
 * one compilation; results are kept under the hash of all that went into them.
 */
#include "base/arch.h"
#include "build/unbuilt.h"
#include "build/build.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Results that no run has used for so long go */
#define UNUSED_MAX (7 * 24 * 3600)

/**
 * struct building - one selftests_build()
 * @cross:	prefix of the compiler, or ""
 * @out:	folder that make fills, free of spaces
 * @src:	kernel source, free of spaces
 * @real_out:	the same folder under its own name
 * @links:	folder of links for names with spaces, or NULL
 * @complaint:	first line of make's output that names an error
 * @unbuilt:	what make said of each target, in the second try that goes on
 */
struct building {
	const struct kernel *k;
	const char *cross;
	char *out, *src, *real_out, *links;
	char *complaint;
	struct unbuilt *unbuilt;
};

/* ---- what goes into the hash ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All plain files below @dir, sorted */
static void list_files(const char *dir, GPtrArray *files)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		char *path = g_build_filename(dir, name, NULL);

		if (*name == '.')
			g_free(path);
		else if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
			list_files(path, files);
			g_free(path);
		} else {
			g_ptr_array_add(files, path);
		}
	}
	if (d)
		g_dir_close(d);
}

static void hash_text(GChecksum *sum, const char *text)
{
	/* With its end, so that two texts never run into one */
	g_checksum_update(sum, (const guchar *)text, strlen(text) + 1);
}

/* Names and content of the files below @dir */
static bool hash_content(GChecksum *sum, const char *dir, GError **err)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	bool ok = true;
	guint i;

	list_files(dir, files);
	g_ptr_array_sort(files, by_text);
	for (i = 0; i < files->len && ok; i++) {
		GByteArray *bytes = pkg_read(files->pdata[i], 64 << 20, err);

		ok = bytes;
		if (!ok)
			break;
		hash_text(sum, (char *)files->pdata[i] + strlen(dir));
		g_checksum_update(sum, bytes->data, bytes->len);
		g_byte_array_unref(bytes);
	}
	g_ptr_array_unref(files);
	return ok;
}

/* A tree of the user's can change under its name: sizes and times of what is compiled */
static void hash_tree(GChecksum *sum, const char *ksrc)
{
	static const char *const parts[] = { "tools/testing/selftests/kvm", "include/uapi",
					     "tools/include", "tools/arch", "Makefile" };
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	guint i;

	for (i = 0; i < G_N_ELEMENTS(parts); i++) {
		char *path = g_build_filename(ksrc, parts[i], NULL);

		if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
			list_files(path, files);
			g_free(path);
		} else {
			g_ptr_array_add(files, path);
		}
	}
	g_ptr_array_sort(files, by_text);
	for (i = 0; i < files->len; i++) {
		struct stat st;
		char *text;

		if (stat(files->pdata[i], &st))
			continue;
		text = g_strdup_printf("%s %lld %lld.%ld", (char *)files->pdata[i],
				       (long long)st.st_size, (long long)st.st_mtim.tv_sec,
				       st.st_mtim.tv_nsec);
		hash_text(sum, text);
		g_free(text);
	}
	g_ptr_array_unref(files);
}

/* ---- the compiler ---- */

static bool find_compiler(struct building *b, char **version, GError **err)
{
	const char *env = g_getenv("CC");
	const struct arch *a;
	char *cc, *path, **words = NULL;
	GString *out;
	bool ok;

	a = arch_find(b->k->arch);
	if (!a) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "no compiler is known for kernels of %s",
			      b->k->arch);
		return false;
	}
	b->cross = arch_cross(a);
	cc = !*b->cross && env && *env ? g_strdup(env) : g_strconcat(b->cross, "gcc", NULL);
	/* CC may be "ccache gcc" */
	path = g_shell_parse_argv(cc, NULL, &words, NULL) ? g_find_program_in_path(words[0]) : NULL;
	if (!path) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "the tests for %s need the compiler %s, which is not there: './run.sh doctor' names the package",
			      b->k->arch, cc);
		g_strfreev(words);
		g_free(cc);
		return false;
	}
	g_free(path);
	path = g_strconcat(cc, " --version", NULL);
	const char *const argv[] = { "/bin/sh", "-c", path, NULL };
	struct mmg_cmd cmd = { .what = "asking the compiler for its version", .argv = argv };

	out = g_string_new(NULL);
	cmd.out = out;
	ok = mmg_run(&cmd, err);
	*version = g_strdup_printf("%s %s", cc, out->str);
	g_string_free(out, TRUE);
	g_strfreev(words);
	g_free(path);
	g_free(cc);
	return ok;
}

/* ---- make ---- */

static void on_make_line(const char *line, void *data)
{
	struct building *b = data;
	char *show;

	if (!b->complaint && (strstr(line, "error:") || strstr(line, "cannot find") ||
			      strstr(line, "***")))
		b->complaint = g_strdup(line);
	if (b->unbuilt)
		unbuilt_line(b->unbuilt, b->out, line);
	show = g_strstrip(g_strdup(line));
	status_progress("%.60s", show);
	g_free(show);
}

static bool make(struct building *b, const char *folder, const char *log, GError **err)
{
	char *dir = mmg_root_path(folder, NULL), *src = g_strconcat("KSRC=", b->src, NULL);
	char *out = g_strconcat("OUTPUT=", b->out, NULL), *arch, *cross, *jobs;
	GError *e = NULL;
	bool ok;

	arch = g_strconcat("ARCH=", b->k->arch, NULL);
	cross = g_strconcat("CROSS_COMPILE=", b->cross, NULL);
	jobs = g_strdup_printf("-j%u", g_get_num_processors());
	/* -k: go on without what fails, with the output of each target in one piece */
	const char *const argv[] = { "make", "-C", dir, jobs, src, out, arch, cross, "all",
				     b->unbuilt ? "-kOtarget" : NULL, NULL };
	const char *const env[] = { "MAKEFLAGS=", "LC_ALL=C", NULL };
	const struct mmg_cmd cmd = { .what = "building the selftests", .argv = argv, .env = env,
				     .log = log, .line = on_make_line, .data = b };

	ok = mmg_run(&cmd, &e);
	if (!ok && e->code != MMG_EXIT_INTERRUPTED && b->complaint)
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot build %s on %s: %s; all of it is in %s",
			      folder, b->k->ksrc_name, b->complaint, log);
	else if (!ok)
		g_propagate_error(err, g_error_copy(e));
	g_clear_error(&e);
	g_free(jobs);
	g_free(cross);
	g_free(arch);
	g_free(out);
	g_free(src);
	g_free(dir);
	return ok;
}

/* make knows no names with spaces: go through links where there are any */
static bool avoid_spaces(struct building *b, GError **err)
{
	b->out = g_strdup(b->real_out);
	b->src = g_strdup(b->k->ksrc ? b->k->ksrc : "");
	if (!strpbrk(b->out, " \t") && !strpbrk(b->src, " \t"))
		return true;
	b->links = g_strdup("/tmp/mmgate-XXXXXX");
	if (!mkdtemp(b->links)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make a folder in /tmp: %s",
			      g_strerror(errno));
		g_clear_pointer(&b->links, g_free);
		return false;
	}
	g_free(b->out);
	g_free(b->src);
	b->out = g_build_filename(b->links, "out", NULL);
	b->src = g_build_filename(b->links, "src", NULL);
	if (symlink(b->real_out, b->out) || (b->k->ksrc && symlink(b->k->ksrc, b->src))) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make a link in %s: %s", b->links,
			      g_strerror(errno));
		return false;
	}
	return true;
}

static bool is_program(const char *path)
{
	struct stat st;
	char magic[4];
	bool elf;
	FILE *f;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return false;
	f = fopen(path, "re");
	elf = f && fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4);
	if (f)
		fclose(f);
	return elf;
}

/* Programs of the families in @b->real_out: all are removed, or only counted */
static int count_programs(const struct building *b, bool remove)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	int n = 0;
	guint i;

	list_files(b->real_out, files);
	for (i = 0; i < files->len; i++) {
		const char *rel = (char *)files->pdata[i] + strlen(b->real_out) + 1;

		if (!strchr(rel, '/') || !is_program(files->pdata[i]))
			continue;
		n++;
		if (remove)
			unlink(files->pdata[i]);
	}
	g_ptr_array_unref(files);
	return n;
}

/*
 * The tests that have a source and no program, with the reasons.  NULL where one
 * failed for something that is not in the source: that may go well next time.
 */
static json_t *list_unbuilt(const struct building *b)
{
	char *top = mmg_root_path("selftests", NULL);
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	json_t *tests = json_object();
	guint i;

	list_files(top, files);
	for (i = 0; tests && i < files->len; i++) {
		const char *rel = (char *)files->pdata[i] + strlen(top) + 1, *why;
		char *name, *prog;

		if (!g_str_has_suffix(rel, "_test.c") || !strchr(rel, '/'))
			continue;
		name = g_strndup(rel, strlen(rel) - strlen("_test.c"));
		prog = g_strdup_printf("%s/%s_test", b->real_out, name);
		why = unbuilt_why(b->unbuilt, name);
		if (!is_program(prog) && why && unbuilt_is_diagnosis(why))
			json_object_set_new(tests, name, json_string(why));
		else if (!is_program(prog))
			g_clear_pointer(&tests, json_decref);
		g_free(prog);
		g_free(name);
	}
	g_ptr_array_unref(files);
	g_free(top);
	return tests;
}

/*
 * make failed: once more, going on without what fails.  Programs from before are
 * removed, since one whose objects fail would stay as it was.  True where some test was
 * built and each other one is accounted for; their reasons are in @to.  @e is the error of the first try.
 */
static bool make_the_rest(struct building *b, const char *log, const char *to, GError *e)
{
	json_t *tests = NULL;
	bool ok;

	count_programs(b, true);
	b->unbuilt = unbuilt_new();
	ok = make(b, "selftests", log, NULL);
	if (!ok && !mmg_interrupted() && count_programs(b, false))
		tests = list_unbuilt(b);
	if (tests && json_object_size(tests)) {
		const char *name;
		json_t *why;

		json_object_foreach(tests, name, why)
			status_note("%s does not build on %s: %s", name, b->k->ksrc_name,
				    json_string_value(why));
		ok = unbuilt_save(to, tests, NULL);
	}
	json_decref(tests);
	if (!ok)
		status_debug("%s", e->message);
	return ok;
}

static bool run_makes(struct building *b, const char *to, GError **err)
{
	char *log = g_build_filename(b->real_out, "build.log", NULL);
	GError *e = NULL;
	bool ok;

	status_set("building the tests for %s (%s)", b->k->arch,
		   b->k->ksrc_name ? b->k->ksrc_name : "no kernel source");
	unlink(log);
	ok = avoid_spaces(b, err) && make(b, "guest", log, err);
	if (ok && !make(b, "selftests", log, &e)) {
		ok = e->code == MMG_EXIT_BROKEN && make_the_rest(b, log, to, e);
		if (ok)
			g_clear_error(&e);
		else
			g_propagate_error(err, e);
	}
	if (b->links)
		mmg_rmtree(b->links);
	g_free(log);
	return ok;
}

/* ---- the result ---- */

/* The program without its debug information: three quarters less to load into each VM */
static bool take_program(const struct building *b, const char *from, const char *to, GError **err)
{
	char *dir = g_path_get_dirname(to), *strip = g_strconcat(b->cross, "strip", NULL), *data;
	const char *const argv[] = { strip, "-g", "-o", to, from, NULL };
	const struct mmg_cmd cmd = { .what = "stripping a test", .argv = argv };
	bool ok = mmg_mkdirs(dir, err);
	gsize len;

	if (ok && !mmg_run(&cmd, NULL)) {
		ok = !mmg_check_interrupt(err) && g_file_get_contents(from, &data, &len, NULL);
		if (ok) {
			ok = mmg_write_atomic(to, data, len, err) && !chmod(to, 0755);
			g_free(data);
		}
	}
	g_free(strip);
	g_free(dir);
	return ok;
}

static bool take_programs(const struct building *b, const char *to, GError **err)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	bool ok = true;
	guint i;

	list_files(b->real_out, files);
	for (i = 0; i < files->len && ok; i++) {
		const char *from = files->pdata[i], *rel = from + strlen(b->real_out) + 1;
		char *path = g_build_filename(to, rel, NULL);

		if (is_program(from))
			ok = take_program(b, from, path, err);
		g_free(path);
	}
	g_ptr_array_unref(files);
	return ok;
}

static bool fill_selftests(const char *dir, void *data, GError **err)
{
	struct building *b = data;
	char *lock_name = g_path_get_basename(b->real_out), *lock;
	bool ok;
	int fd;

	lock = g_strconcat("objects-", lock_name, NULL);
	g_free(lock_name);
	fd = mmg_lock(lock, err);
	g_free(lock);
	if (fd < 0)
		return false;
	ok = mmg_mkdirs(b->real_out, err) && run_makes(b, dir, err) && take_programs(b, dir, err);
	if (ok) {
		char *note = g_build_filename(dir, "objects", NULL);

		/* for the shell, whose make has nothing to do where it finds these */
		ok = mmg_write_atomic(note, b->real_out, -1, err);
		g_free(note);
	}
	close(fd);
	return ok;
}

static void drop_unused(const char *kind, const char *keep)
{
	GPtrArray *keys = cache_list(kind, "*");
	guint i;

	for (i = 0; i < keys->len; i++) {
		char *path = mmg_cache_path(kind, keys->pdata[i], NULL);
		struct stat st;

		if (strcmp(path, keep) && !stat(path, &st) &&
		    time(NULL) - st.st_mtime > UNUSED_MAX)
			mmg_rmtree(path);
		g_free(path);
	}
	g_ptr_array_unref(keys);
}

/* Names of the folder of objects and of the folder of results */
static bool make_keys(struct building *b, char **key, GError **err)
{
	char *version = NULL, *guest = mmg_root_path("guest", NULL);
	char *tests = mmg_root_path("selftests", NULL), *base, *text, *objects;
	const char *ksrc = b->k->ksrc ? b->k->ksrc : "";
	GChecksum *sum;
	bool ok = find_compiler(b, &version, err);

	if (ok) {
		sum = g_checksum_new(G_CHECKSUM_SHA256);
		hash_text(sum, MMG_VERSION);
		hash_text(sum, b->k->arch);
		hash_text(sum, version);
		hash_text(sum, g_getenv("CFLAGS") ? g_getenv("CFLAGS") : "");
		hash_text(sum, g_getenv("USERCFLAGS") ? g_getenv("USERCFLAGS") : "");
		hash_text(sum, ksrc);
		if (*ksrc && !g_str_has_prefix(ksrc, mmg_cache()))
			hash_tree(sum, ksrc);
		ok = hash_content(sum, guest, err) && hash_content(sum, tests, err);
		base = *ksrc ? g_path_get_basename(ksrc) : g_strdup("none");
		g_strcanon(base, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._+~-", '_');
		*key = g_strdup_printf("%s-%.40s-%.16s", b->k->arch, base,
				       g_checksum_get_string(sum));
		g_checksum_free(sum);
		/* Objects are of one checkout, one source, one compiler */
		text = g_strdup_printf("%s\n%s\n%s\n%s", mmg_root(), ksrc, b->k->arch, version);
		objects = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
		objects[16] = '\0';
		b->real_out = mmg_cache_path("objects", objects, NULL);
		g_free(objects);
		g_free(text);
		g_free(base);
	}
	g_free(version);
	g_free(tests);
	g_free(guest);
	return ok;
}

/**
 * selftests_build - have the tests and PID 1 for a kernel
 * @k:		its arch and ksrc count
 *
 * Returns the folder with kvm/<test>_test, mm/<test>_test, ... and init,
 * g_free() it; NULL with *@err (broken: the first thing the compiler said) where PID 1 or all
 * of the tests do not build.  Tests that do not build while others do: unbuilt_load().
 */
char *selftests_build(const struct kernel *k, GError **err)
{
	struct building b = { .k = k };
	char *key = NULL, *dir = NULL;

	if (make_keys(&b, &key, err)) {
		dir = cache_make("selftests", key, fill_selftests, &b, err);
		if (dir) {
			/* Mark them used */
			utimensat(AT_FDCWD, dir, NULL, 0);
			utimensat(AT_FDCWD, b.real_out, NULL, 0);
			drop_unused("selftests", dir);
			drop_unused("objects", b.real_out);
		}
	}
	g_free(key);
	g_free(b.out);
	g_free(b.src);
	g_free(b.real_out);
	g_free(b.links);
	g_free(b.complaint);
	unbuilt_free(b.unbuilt);
	return dir;
}
