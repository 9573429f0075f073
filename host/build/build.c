// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernels from sources.
 *
 * A source tree is never written to, not even its link counts: the build sees
 * a folder of symbolic links to it (src/ in the cache), in which changed files are
 * replaced by real ones.  What kbuild would refuse an unclean tree for (its
 * .config, objects and generated headers) is simply not linked.  Objects live
 * beside it, one folder a configuration, and stay there, so that a variant
 * compiles what it changes and links.  Every file that changes, or changes
 * back, gets a new modification time: make never takes a stale object for a good one.
 *
 * Finished kernels are kept by what they were made of: source, changes,
 * configuration and compiler.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <gio/gio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arch.h"
#include "build/build.h"
#include "source/git.h"

/* Part of every key: a change in how kernels are built makes old ones strangers */
#define BUILD_FORMAT	"1"
/* Objects of a cold build of configs/kernel, only for the progress shown */
#define USUAL_STEPS	1500

/* ---- what is in the tree ---- */

static char *run_out(const char *what, const char *const *argv, GError **err)
{
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = what, .argv = argv, .out = out };

	if (mmg_run(&cmd, err))
		return g_string_free(out, FALSE);
	g_string_free(out, TRUE);
	return NULL;
}

static bool exists(const char *dir, const char *name)
{
	g_autofree char *p = g_build_filename(dir, name, NULL);

	return g_file_test(p, G_FILE_TEST_EXISTS);
}

/* What kbuild calls unclean: it was configured or built in place */
static bool tree_unclean(const char *tree)
{
	g_autofree char *arch = g_build_filename(tree, "arch", NULL);
	GDir *d;
	const char *n;
	bool found = exists(tree, ".config") || exists(tree, "include/config");

	d = g_dir_open(arch, 0, NULL);
	while (!found && d && (n = g_dir_read_name(d))) {
		g_autofree char *gen = g_build_filename(n, "include", "generated", NULL);

		found = exists(arch, gen);
	}
	if (d)
		g_dir_close(d);
	return found;
}

/* What a build in place leaves at the top of a tree; below it the tree's own .gitignore files tell */
static bool is_leftover(const char *path)
{
	static const char *const made[] = {
		".*", "vmlinux*", "System.map", "Module.symvers", "modules.*", "*.o", "*.a"
	};

	for (size_t i = 0; !strchr(path, '/') && i < G_N_ELEMENTS(made); i++)
		if (g_pattern_match_simple(made[i], path))
			return true;
	return false;
}

/*
 * The files of @tree that are source, by path, each with "size mtime" as value.
 * Git knows which they are where the tree is a work tree or was built in.
 */
static GHashTable *list_with_git(const char *tree, GError **err)
{
	/* a distribution's tree may ignore all of its top level, where it keeps its packaging */
	const char *const plain[] = { "ls-files", "-z", "-co", "--exclude-standard", "-x", "!/*", NULL };
	const char *const lent[] = { "ls-files", "-z", "-o", "--exclude-standard", "-x", "!/*", NULL };
	gsize len = 0;
	g_autofree char *list = git_read(tree, "listing the source tree",
					 exists(tree, ".git") ? plain : lent, &len, err);
	GHashTable *files;

	if (!list)
		return NULL;
	files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (const char *p = list; p < list + len; p += strlen(p) + 1) {
		g_autofree char *full = g_build_filename(tree, p, NULL);
		struct stat st;

		if (!*p || is_leftover(p) || lstat(full, &st) || S_ISDIR(st.st_mode))
			continue;
		g_hash_table_replace(files, g_strdup(p),
				     g_strdup_printf("%lld %lld.%09ld", (long long)st.st_size,
						     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec));
	}
	return files;
}

static GHashTable *list_plain(const char *tree, GError **err)
{
	char *roots[] = { (char *)tree, NULL };
	size_t skip = strlen(tree) + 1;
	GHashTable *files;
	FTSENT *e;
	FTS *fts;

	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot walk %s: %s", tree, g_strerror(errno));
		return NULL;
	}
	files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	while ((e = fts_read(fts))) {
		if (e->fts_info == FTS_D && e->fts_level == 1 && !strcmp(e->fts_name, ".git"))
			fts_set(fts, e, FTS_SKIP);
		if (e->fts_info != FTS_F && e->fts_info != FTS_SL && e->fts_info != FTS_SLNONE)
			continue;
		g_hash_table_replace(files, g_strdup(e->fts_path + skip),
				     g_strdup_printf("%lld %lld.%09ld",
						     (long long)e->fts_statp->st_size,
						     (long long)e->fts_statp->st_mtim.tv_sec,
						     e->fts_statp->st_mtim.tv_nsec));
	}
	fts_close(fts);
	return files;
}

static GHashTable *list_source(const char *tree, GError **err)
{
	return exists(tree, ".git") || tree_unclean(tree) ? list_with_git(tree, err) :
							    list_plain(tree, err);
}

static char *files_to_text(GHashTable *files)
{
	g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(files), (GCompareFunc)strcmp);
	GString *s = g_string_new(NULL);

	for (GList *k = keys; k; k = k->next)
		g_string_append_printf(s, "%s\t%s\n", (char *)g_hash_table_lookup(files, k->data),
				       (char *)k->data);
	return g_string_free(s, FALSE);
}

static GHashTable *files_from_text(const char *text)
{
	GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **l = lines; *l; l++) {
		char *tab = strchr(*l, '\t');

		if (tab)
			g_hash_table_replace(files, g_strdup(tab + 1), g_strndup(*l, tab - *l));
	}
	return files;
}

/*
 * What the source is, for keys: the tree object of a clean git work tree (the
 * same commit is the same kernel wherever it lies), else names, sizes and times.
 */
static char *source_key(const struct source *src, const char *listing)
{
	const char *const status[] = { "status", "--porcelain", NULL };
	const char *const tree[] = { "rev-parse", "HEAD^{tree}", NULL };
	g_autofree char *s = NULL;

	if (exists(src->tree, ".git")) {
		s = git_read(src->tree, "asking git about the tree", status, NULL, NULL);
		if (s && !*s) {
			char *t = git_read(src->tree, "asking git about the tree", tree, NULL, NULL);

			if (t)
				return g_strstrip(t);
		}
	}
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, listing, -1);
}

/* ---- the work folder: links to the source, with changes ---- */

/**
 * struct work - where kernels of one source tree are built
 * @dir:	folder in the cache
 * @src:	@dir/src, the links
 * @files:	what the source has
 * @key:	see source_key()
 * @lock:	held while it is used
 */
struct work {
	char *dir, *src, *key;
	GHashTable *files;
	int lock;
};

static void work_close(struct work *w)
{
	if (!w)
		return;
	if (w->lock >= 0)
		close(w->lock);
	if (w->files)
		g_hash_table_unref(w->files);
	g_free(w->dir);
	g_free(w->src);
	g_free(w->key);
	g_free(w);
}

static bool link_file(const struct work *w, const struct source *src, const char *path, GError **err)
{
	g_autofree char *from = g_build_filename(src->tree, path, NULL);
	g_autofree char *to = g_build_filename(w->src, path, NULL);
	g_autofree char *dir = NULL;

	if (!symlink(from, to))
		return true;
	if (errno == ENOENT) {
		dir = g_path_get_dirname(to);
		if (!mmg_mkdirs(dir, err))
			return false;
		if (!symlink(from, to))
			return true;
	}
	if (errno == EEXIST)
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot link %s into the cache at %s: %s", from, to,
		      g_strerror(errno));
	return false;
}

/* Files of the work folder that are real: name -> "", from and to its "changed" file */
static GHashTable *changed_load(const struct work *w)
{
	GHashTable *set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *path = g_build_filename(w->dir, "changed", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL)) {
		lines = g_strsplit(text, "\n", -1);
		for (char **l = lines; *l; l++)
			if (**l)
				g_hash_table_add(set, g_strdup(*l));
	}
	return set;
}

static bool changed_save(const struct work *w, GHashTable *set, GError **err)
{
	g_autofree char *path = g_build_filename(w->dir, "changed", NULL);
	g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(set), (GCompareFunc)strcmp);
	g_autoptr(GString) s = g_string_new(NULL);

	for (GList *k = keys; k; k = k->next)
		g_string_append_printf(s, "%s\n", (char *)k->data);
	return mmg_write_atomic(path, s->str, s->len, err);
}

/* Bring the links up to date with the source; files that changed since become real ones */
static bool work_refresh(struct work *w, const struct source *src, const char *listing,
			 GHashTable *changed, GError **err)
{
	g_autofree char *list = g_build_filename(w->dir, "files", NULL);
	g_autofree char *old_text = NULL;
	g_autoptr(GHashTable) old = NULL;
	GHashTableIter it;
	gpointer k, v;

	if (g_file_get_contents(list, &old_text, NULL, NULL) && !strcmp(old_text, listing))
		return true;
	status_set("linking the source tree into the cache");
	old = files_from_text(old_text ? old_text : "");
	g_hash_table_iter_init(&it, w->files);
	while (g_hash_table_iter_next(&it, &k, &v)) {
		const char *was = g_hash_table_lookup(old, k);

		if (mmg_check_interrupt(err) || (!was && !link_file(w, src, k, err)))
			return false;
		if (was && strcmp(was, v))
			g_hash_table_add(changed, g_strdup(k));
	}
	g_hash_table_iter_init(&it, old);
	while (g_hash_table_iter_next(&it, &k, &v)) {
		g_autofree char *gone = g_build_filename(w->src, k, NULL);

		if (!g_hash_table_contains(w->files, k) && !g_hash_table_contains(changed, k))
			unlink(gone);
	}
	/* the list of real files first: one too many there does no harm */
	return changed_save(w, changed, err) && mmg_write_atomic(list, listing, -1, err);
}

/* Make @path hold @want (NULL: not be there), with a new time unless it does so already */
static bool put_file(const struct work *w, const struct source *src, const char *path,
		     GBytes *want, GError **err)
{
	g_autofree char *full = g_build_filename(w->src, path, NULL);
	g_autofree char *origin = g_build_filename(src->tree, path, NULL);
	g_autofree char *have = NULL, *dir = NULL;
	struct stat st, ost;
	gsize len;
	bool is_file = !lstat(full, &st) && S_ISREG(st.st_mode);

	if (!want) {
		if (unlink(full) && errno != ENOENT) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot remove %s: %s", full,
				      g_strerror(errno));
			return false;
		}
		return true;
	}
	if (is_file && g_file_get_contents(full, &have, &len, NULL) &&
	    len == g_bytes_get_size(want) && !memcmp(have, g_bytes_get_data(want, NULL), len))
		return true;
	dir = g_path_get_dirname(full);
	if (!mmg_mkdirs(dir, err))
		return false;
	/* a new file beside it and a rename: the link's target is never opened for writing */
	if (!mmg_write_atomic(full, g_bytes_get_data(want, NULL), g_bytes_get_size(want), err))
		return false;
	/* a patch may have made a script executable: what starts with "#!" is, as in a tree of git */
	if (g_bytes_get_size(want) > 2 && !memcmp(g_bytes_get_data(want, NULL), "#!", 2))
		chmod(full, 0755);
	else if (!stat(origin, &ost))
		chmod(full, ost.st_mode & 0777);
	return true;
}

/* Make the work folder show @src with @overlay */
static bool work_overlay(struct work *w, const struct source *src, GHashTable *overlay,
			 GHashTable *changed, GError **err)
{
	GHashTableIter it;
	gpointer k, v;

	if (overlay) {
		g_hash_table_iter_init(&it, overlay);
		while (g_hash_table_iter_next(&it, &k, &v)) {
			if (!path_is_inside(k)) {
				mmg_set_error(err, MMG_EXIT_USAGE, "%s leaves the source tree",
					      (char *)k);
				return false;
			}
			g_hash_table_add(changed, g_strdup(k));
		}
	}
	if (!changed_save(w, changed, err))
		return false;
	g_hash_table_iter_init(&it, changed);
	while (g_hash_table_iter_next(&it, &k, NULL)) {
		g_autoptr(GBytes) want = NULL;

		if (overlay && g_hash_table_lookup_extended(overlay, k, NULL, &v)) {
			if (v)
				want = g_bytes_ref(v);
		} else if (g_hash_table_contains(w->files, k)) {
			want = source_read(src, NULL, k, err);
			if (!want)
				return false;
		}
		if (!put_file(w, src, k, want, err))
			return false;
	}
	return true;
}

static struct work *work_open(const struct source *src)
{
	g_autofree char *real = realpath(src->tree, NULL);
	g_autofree char *hash = NULL;
	struct work *w = g_new0(struct work, 1);

	hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, real ? real : src->tree, -1);
	hash[12] = '\0';
	w->dir = mmg_cache_path("build", hash, NULL);
	w->src = g_build_filename(w->dir, "src", NULL);
	w->lock = -1;
	return w;
}

/* From here on nobody else builds there */
static bool work_lock(struct work *w, GError **err)
{
	g_autofree char *hash = g_path_get_basename(w->dir);
	g_autofree char *lock = g_strdup_printf("build-%s", hash);

	/* the kernel's Makefile refuses spaces and colons itself; the others would be taken for syntax */
	if (strpbrk(w->dir, " \t\n:#%$'\"`\\;&|<>()*?[]{}")) {
		mmg_set_error(err, MMG_EXIT_USAGE, "kernels are built in the cache, and make cannot work in "
			      "%s: set XDG_CACHE_HOME to a folder with a plain name", w->dir);
		return false;
	}
	w->lock = mmg_lock(lock, err);
	return w->lock >= 0 && mmg_mkdirs(w->src, err);
}

/* ---- configuration ---- */

static const char *kbuild_arch(const char *arch)
{
	const struct arch *a = arch_find(arch);

	return a ? a->kbuild : arch;
}

/* "" for a native build, else the prefix of the cross tools */
static const char *cross_prefix(const char *arch)
{
	const struct arch *a = arch_find(arch);

	return a ? arch_cross(a) : "";
}

/* A fragment: a name in configs/kernel, or a file */
static char *fragment_path(const char *name)
{
	g_autofree char *file = g_strconcat(name, ".config", NULL);
	char *path = mmg_root_path("configs", "kernel", file, NULL);

	if (!strchr(name, '/') && g_file_test(path, G_FILE_TEST_EXISTS))
		return path;
	g_free(path);
	return g_strdup(name);
}

static bool append_fragment(GString *s, const char *name, GError **err)
{
	g_autofree char *path = fragment_path(name);
	g_autofree char *text = NULL;
	g_autoptr(GError) e = NULL;

	if (!g_file_get_contents(path, &text, NULL, &e)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "no kernel fragment %s: %s; see configs/kernel",
			      name, e->message);
		return false;
	}
	g_string_append(s, text);
	g_string_append_c(s, '\n');
	return true;
}

static char *config_text(const struct build_spec *spec, GError **err)
{
	const char *names[] = { "base", "kvm", "zones", spec->arch, spec->debug ? "debug" : NULL };
	GString *s = g_string_new(NULL);
	bool ok = true;

	for (size_t i = 0; ok && i < G_N_ELEMENTS(names); i++)
		ok = !names[i] || append_fragment(s, names[i], err);
	for (guint i = 0; ok && spec->fragments && i < spec->fragments->len; i++)
		ok = append_fragment(s, spec->fragments->pdata[i], err);
	return g_string_free(s, !ok);
}

/* Name and wanted value of a fragment line, false where it sets nothing */
static bool fragment_line(const char *line, char **option, char **value)
{
	const char *eq = strchr(line, '=');

	if (g_str_has_prefix(line, "CONFIG_") && eq) {
		*option = g_strndup(line, eq - line);
		*value = g_strchomp(g_strdup(eq + 1));
		return true;
	}
	if (g_str_has_prefix(line, "# CONFIG_") && g_str_has_suffix(line, " is not set")) {
		*option = g_strndup(line + 2, strlen(line) - 2 - strlen(" is not set"));
		*value = g_strdup("n");
		return true;
	}
	return false;
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the options of @want that came out otherwise in @config */
static GPtrArray *config_lost(const char *want, const char *config)
{
	g_auto(GStrv) lines = g_strsplit(want, "\n", -1);
	g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	GPtrArray *lost = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter it;
	gpointer k, v;
	char *option, *value;

	/* a later fragment overrules an earlier one */
	for (char **l = lines; *l; l++)
		if (fragment_line(*l, &option, &value))
			g_hash_table_replace(wanted, option, value);
	g_hash_table_iter_init(&it, wanted);
	while (g_hash_table_iter_next(&it, &k, &v)) {
		g_autofree char *got = kconfig_value(config, k);

		if (strcmp(got, v))
			g_ptr_array_add(lost, g_strdup_printf("%s=%s (came out as %s)", (char *)k,
							      (char *)v, got));
	}
	g_ptr_array_sort(lost, by_text);
	return lost;
}

/* ---- make ---- */

struct progress {
	const char *label;
	char *error;			/* first line that looks like one */
	unsigned int steps;
	unsigned int total;
};

static void on_make_line(const char *line, void *data)
{
	struct progress *p = data;
	const char *word;

	if (!p->error && (strstr(line, " error: ") || strstr(line, "undefined reference") ||
			  strstr(line, "ERROR:") || strstr(line, "No rule to make target")))
		p->error = mmg_clean(line, -1, 300);
	/* "  CC      mm/vmscan.o" */
	if (line[0] != ' ' || line[1] != ' ' || !g_ascii_isupper(line[2]))
		return;
	p->steps++;
	word = strrchr(line, ' ');
	status_progress("%u%s  %s", p->steps, p->total ? " steps" : "", word ? word + 1 : "");
}

static char *compiler_version(const char *arch, GError **err)
{
	g_autofree char *cc = g_strconcat(cross_prefix(arch), "gcc", NULL);
	const char *argv[] = { cc, "--version", NULL };
	g_autofree char *path = g_find_program_in_path(cc);
	char *out;

	if (!path) {
		const struct arch *a = arch_find(arch);

		mmg_set_error(err, MMG_EXIT_BROKEN, "building a kernel for %s needs %s; install %s", arch,
			      cc, *cross_prefix(arch) && a ? a->package : "gcc");
		return NULL;
	}
	out = run_out("asking the compiler's version", argv, err);
	if (out)
		out[strcspn(out, "\n")] = '\0';
	return out;
}

/* Programs that kbuild needs for these configurations, and the Debian package of each */
static bool have_tools(GError **err)
{
	static const char *const tools[][2] = {
		{ "make", "make" }, { "flex", "flex" }, { "bison", "bison" }, { "bc", "bc" },
		{ "perl", "perl" }, { "ld", "binutils" }, { "git", "git" },
	};
	g_autoptr(GString) missing = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(tools); i++) {
		g_autofree char *p = g_find_program_in_path(tools[i][0]);

		if (!p)
			g_string_append_printf(missing, " %s", tools[i][1]);
	}
	if (!g_file_test("/usr/include/libelf.h", G_FILE_TEST_EXISTS) &&
	    !g_file_test("/usr/include/gelf.h", G_FILE_TEST_EXISTS))
		g_string_append(missing, " libelf-dev");
	if (!missing->len)
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "building a kernel needs tools that are not here; "
		      "install (Debian's names):%s", missing->str);
	return false;
}

static bool make(const struct work *w, const char *obj, const struct build_spec *spec, const char *what,
		 struct progress *p, const char *const *targets, GError **err)
{
	const char *arch = spec->arch;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *log = g_build_filename(obj, "build.log", NULL);
	g_autofree char *ccache = g_find_program_in_path("ccache");
	/* the compiler cache is to know a file again under another cache folder or tree */
	g_autofree char *basedir = g_strdup_printf("CCACHE_BASEDIR=%s", w->dir);
	const char *env[] = { basedir, "CCACHE_NOHASHDIR=1", "KBUILD_BUILD_TIMESTAMP=@1", "KBUILD_BUILD_USER=mmgate",
			      "KBUILD_BUILD_HOST=mmgate", "KBUILD_BUILD_VERSION=1", "LC_ALL=C",
			      "MAKEFLAGS=", NULL };
	g_autoptr(GError) e = NULL;

	g_ptr_array_add(argv, g_strdup("make"));
	g_ptr_array_add(argv, g_strdup("-C"));
	g_ptr_array_add(argv, g_strdup(w->src));
	g_ptr_array_add(argv, g_strdup_printf("O=%s", obj));
	g_ptr_array_add(argv, g_strdup_printf("ARCH=%s", kbuild_arch(arch)));
	g_ptr_array_add(argv, g_strdup_printf("CROSS_COMPILE=%s", cross_prefix(arch)));
	g_ptr_array_add(argv, g_strdup_printf("CC=%s%sgcc", ccache ? "ccache " : "",
					      cross_prefix(arch)));
	g_ptr_array_add(argv, g_strdup("LOCALVERSION="));
	g_ptr_array_add(argv, g_strdup_printf("-j%u", spec->jobs ?: g_get_num_processors()));
	for (; *targets; targets++)
		g_ptr_array_add(argv, g_strdup(*targets));
	g_ptr_array_add(argv, NULL);
	{
		struct mmg_cmd cmd = { .what = what, .argv = (const char *const *)argv->pdata,
				       .env = env, .log = log, .line = on_make_line, .data = p };

		unlink(log);
		if (mmg_run(&cmd, &e))
			return true;
	}
	if (g_error_matches(e, MMG_ERROR, MMG_EXIT_INTERRUPTED) || !p->error)
		g_propagate_error(err, g_steal_pointer(&e));
	else
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: %s; the whole log is %s", what, p->error, log);
	return false;
}

/*
 * What @obj was configured for: source, options, compiler, and the .config that came of it.  Kbuild asks
 * the compiler again in each build (scripts/Kconfig.include), so one that was away for a moment leaves
 * another .config behind, which no later build would mend.  NULL where there is no .config.
 */
static char *configured_as(const char *dot, const char *made_of)
{
	g_autofree char *text = NULL, *sum = NULL;
	gsize len;

	if (!g_file_get_contents(dot, &text, &len, NULL))
		return NULL;
	sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, len);
	return g_strconcat(made_of, "\n", sum, NULL);
}

/* Configure @obj by @want unless it is so already; says what did not survive */
static bool configure(const struct work *w, const char *obj, const struct build_spec *spec,
		      const char *want, const char *compiler, GError **err)
{
	g_autofree char *stamp = g_build_filename(obj, "mmgate.stamp", NULL);
	g_autofree char *all = g_build_filename(obj, "mmgate.config", NULL);
	g_autofree char *dot = g_build_filename(obj, ".config", NULL);
	g_autofree char *var = g_strdup_printf("KCONFIG_ALLCONFIG=%s", all);
	g_autofree char *made_of = NULL, *now = NULL, *was = NULL, *config = NULL, *kconf = NULL;
	g_autoptr(GHashTable) kconfigs = overlay_new();
	const char *targets[] = { var, "allnoconfig", NULL };
	struct progress p = { .label = spec->label };
	g_autoptr(GPtrArray) lost = NULL;
	GHashTableIter it;
	gpointer k, v;

	if (spec->overlay) {
		g_hash_table_iter_init(&it, spec->overlay);
		while (g_hash_table_iter_next(&it, &k, &v))
			if (strstr(k, "Kconfig"))
				overlay_set(kconfigs, k, v ? g_bytes_ref(v) : NULL);
	}
	kconf = overlay_hash(kconfigs);
	made_of = g_strjoin("\n", w->key, kconf, compiler, want, NULL);
	now = configured_as(dot, made_of);
	if (now && g_file_get_contents(stamp, &was, NULL, NULL) && !strcmp(was, now))
		return true;
	g_clear_pointer(&now, g_free);
	status_set("configuring %s", spec->label);
	unlink(stamp);
	if (!mmg_write_atomic(all, want, -1, err) ||
	    !make(w, obj, spec, "configuring the kernel", &p, targets, err)) {
		g_free(p.error);
		return false;
	}
	g_free(p.error);
	now = configured_as(dot, made_of);
	if (!now || !g_file_get_contents(dot, &config, NULL, NULL)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "configuring the kernel left no %s", dot);
		return false;
	}
	lost = config_lost(want, config);
	for (guint i = 0; i < lost->len; i++)
		status_note("note: %s: option did not survive: %s", spec->src->version,
			    (char *)lost->pdata[i]);
	return mmg_write_atomic(stamp, now, -1, err);
}

/* ---- finished kernels ---- */

static const char *image_name(const char *arch)
{
	return !strcmp(arch, "x86_64") ? "vmlinux" : "Image";
}

void build_result_free(struct build_result *r)
{
	if (!r)
		return;
	g_free(r->dir);
	g_free(r->image);
	g_free(r->config);
	g_free(r->sha256);
	g_free(r->objects);
	g_free(r);
}

/* The finished kernel in @dir, NULL where there is none */
static struct build_result *result_load(const char *dir, const char *arch)
{
	g_autofree char *path = g_build_filename(dir, "build.json", NULL);
	struct build_result *r;
	json_t *j = json_load_file(path, 0, NULL);
	const char *sum = json_string_value(json_object_get(j, "sha256"));

	if (!sum || !exists(dir, image_name(arch))) {
		json_decref(j);
		return NULL;
	}
	r = g_new0(struct build_result, 1);
	r->dir = g_strdup(dir);
	r->image = g_build_filename(dir, image_name(arch), NULL);
	r->config = g_build_filename(dir, "config", NULL);
	r->sha256 = g_strdup(sum);
	r->objects = g_strdup(json_string_value(json_object_get(j, "objects")));
	r->cached = true;
	json_decref(j);
	return r;
}

static bool copy_file(const char *from, const char *to, GError **err)
{
	g_autoptr(GFile) a = g_file_new_for_path(from);
	g_autoptr(GFile) b = g_file_new_for_path(to);
	g_autoptr(GError) e = NULL;

	if (g_file_copy(a, b, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, &e))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot copy %s to %s: %s", from, to, e->message);
	return false;
}

/* Copy what @spec keeps of @obj to @dir/kept; what the build did not make is passed over */
static bool keep_files(const struct build_spec *spec, const char *obj, const char *dir, GError **err)
{
	bool ok = true;

	for (guint i = 0; ok && spec->keep && i < spec->keep->len; i++) {
		g_autofree char *from = g_build_filename(obj, spec->keep->pdata[i], NULL);
		g_autofree char *to = g_build_filename(dir, "kept", spec->keep->pdata[i], NULL);
		g_autofree char *parent = g_path_get_dirname(to);

		if (g_file_test(from, G_FILE_TEST_IS_REGULAR))
			ok = mmg_mkdirs(parent, err) && copy_file(from, to, err);
	}
	return ok;
}

/* Put image, config and build.json into @dir, whole or not at all */
static struct build_result *result_store(const struct build_spec *spec, const char *obj,
					 const char *dir, const char *compiler, double seconds,
					 GError **err)
{
	g_autofree char *tmp = g_strdup_printf("%s.%d", dir, (int)getpid());
	g_autofree char *built = NULL, *dot = g_build_filename(obj, ".config", NULL);
	g_autofree char *image = g_build_filename(tmp, image_name(spec->arch), NULL);
	g_autofree char *config = g_build_filename(tmp, "config", NULL);
	g_autofree char *meta = g_build_filename(tmp, "build.json", NULL);
	g_autofree char *rel_path = g_build_filename(obj, "include/config/kernel.release", NULL);
	g_autofree char *release = NULL, *sum = NULL, *changes = overlay_hash(spec->overlay);
	g_autofree char *strip = g_strconcat(cross_prefix(spec->arch), "strip", NULL);
	struct build_result *r = NULL;
	json_t *j;

	if (!strcmp(spec->arch, "x86_64"))
		built = g_build_filename(obj, "vmlinux", NULL);
	else
		built = g_build_filename(obj, "arch", spec->arch, "boot", "Image", NULL);
	if (!mmg_mkdirs(tmp, err))
		return NULL;
	if (!strcmp(spec->arch, "x86_64")) {
		/* its symbol table is in the image a second time, for the kernel itself */
		const char *argv[] = { strip, "-s", "-o", image, built, NULL };
		struct mmg_cmd cmd = { .what = "stripping vmlinux", .argv = argv };

		if (!mmg_run(&cmd, err))
			goto out;
	} else if (!copy_file(built, image, err)) {
		goto out;
	}
	if (!copy_file(dot, config, err) || !keep_files(spec, obj, tmp, err))
		goto out;
	if (g_file_get_contents(rel_path, &release, NULL, NULL))
		g_strchomp(release);
	sum = mmg_sha256_file(image, err);
	if (!sum)
		goto out;
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:s}", "source", spec->src->name,
		      "version", spec->src->version, "release", release ? release : "",
		      "arch", spec->arch, "changes", changes, "compiler", compiler,
		      "seconds", seconds, "sha256", sum, "objects", obj);
	if (json_dump_file(j, meta, JSON_INDENT(2))) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s", meta);
		json_decref(j);
		goto out;
	}
	json_decref(j);
	mmg_rmtree(dir);
	if (rename(tmp, dir)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot keep the kernel as %s: %s", dir,
			      g_strerror(errno));
		goto out;
	}
	r = result_load(dir, spec->arch);
	if (r) {
		r->cached = false;
		r->seconds = seconds;
	}
out:
	if (!r)
		mmg_rmtree(tmp);
	return r;
}

/* Objects are kept by architecture and names of fragments: kbuild knows what a changed option costs */
static char *objects_name(const struct build_spec *spec)
{
	GString *s = g_string_new(spec->arch);

	if (spec->debug)
		g_string_append(s, "-debug");
	for (guint i = 0; spec->fragments && i < spec->fragments->len; i++) {
		g_autofree char *base = g_path_get_basename(spec->fragments->pdata[i]);

		g_string_append_printf(s, "-%s", base);
	}
	return g_string_free(s, FALSE);
}

static struct build_result *build_in(struct work *w, const struct build_spec *spec, const char *want,
				     const char *compiler, const char *dir, GError **err)
{
	static const char *const x86[] = { "vmlinux", NULL };
	static const char *const arm[] = { "Image", NULL };
	g_autofree char *obj = NULL, *name = objects_name(spec), *what = NULL;
	struct progress p = { .label = spec->label, .total = USUAL_STEPS };
	gint64 start = g_get_monotonic_time();
	bool ok;

	obj = g_build_filename(w->dir, name, NULL);
	if (!mmg_mkdirs(obj, err) || !configure(w, obj, spec, want, compiler, err))
		return NULL;
	status_set("building %s", spec->label);
	what = g_strdup_printf("building %s", spec->label);
	ok = make(w, obj, spec, what, &p, !strcmp(spec->arch, "x86_64") ? x86 : arm, err);
	g_free(p.error);
	if (!ok)
		return NULL;
	return result_store(spec, obj, dir, compiler,
			    (g_get_monotonic_time() - start) / 1e6, err);
}

static char *result_dir(const struct work *w, const struct build_spec *spec, const char *want,
			const char *compiler)
{
	g_autofree char *changes = overlay_hash(spec->overlay);
	g_autofree char *all = g_strjoin("\n", BUILD_FORMAT, w->key, changes, spec->arch, compiler,
					 want, NULL);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, all, -1);

	hash[20] = '\0';
	return mmg_cache_path("kernels", hash, NULL);
}

char *kernel_objects(const struct build_spec *spec)
{
	g_autofree char *name = objects_name(spec);
	struct work *w = work_open(spec->src);
	char *path = g_build_filename(w->dir, name, NULL);

	work_close(w);
	return path;
}

/* Is all of @r there that @spec wants? */
static bool result_serves(const struct build_spec *spec, const struct build_result *r)
{
	g_autofree char *obj = spec->with_objects ? kernel_objects(spec) : NULL;

	return r && (!obj || exists(obj, "include/generated/autoconf.h"));
}

struct build_result *kernel_build(const struct build_spec *spec, GError **err)
{
	g_autofree char *want = config_text(spec, err);
	g_autofree char *compiler = NULL, *listing = NULL, *dir = NULL;
	g_autoptr(GHashTable) changed = NULL;
	struct build_result *r = NULL;
	struct work *w;

	if (!want)
		return NULL;
	compiler = compiler_version(spec->arch, err);
	if (!compiler)
		return NULL;
	w = work_open(spec->src);
	w->files = list_source(spec->src->tree, err);
	if (!w->files)
		goto out;
	listing = files_to_text(w->files);
	w->key = source_key(spec->src, listing);
	dir = result_dir(w, spec, want, compiler);
	/* what is finished needs no turn; whoever held the lock may have built this one */
	r = result_load(dir, spec->arch);
	if (result_serves(spec, r))
		goto out;
	g_clear_pointer(&r, build_result_free);
	if (!have_tools(err) || !work_lock(w, err))
		goto out;
	r = result_load(dir, spec->arch);
	if (result_serves(spec, r))
		goto out;
	g_clear_pointer(&r, build_result_free);
	changed = changed_load(w);
	if (work_refresh(w, spec->src, listing, changed, err) &&
	    work_overlay(w, spec->src, spec->overlay, changed, err))
		r = build_in(w, spec, want, compiler, dir, err);
out:
	work_close(w);
	return r;
}

bool build_result_copy(const struct build_result *r, const char *to, GError **err)
{
	const char *const names[] = { r->image, r->config, "build.json" };
	bool ok = true;

	if (!mmg_mkdirs(to, err))
		return false;
	for (size_t i = 0; ok && i < G_N_ELEMENTS(names); i++) {
		g_autofree char *base = g_path_get_basename(names[i]);
		g_autofree char *from = g_build_filename(r->dir, base, NULL);
		g_autofree char *copy = g_build_filename(to, base, NULL);

		ok = copy_file(from, copy, err);
	}
	return ok;
}
