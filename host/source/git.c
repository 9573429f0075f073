// SPDX-License-Identifier: GPL-2.0-only
/*
 * git on trees that are not trusted.
 */
#include "source/git.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/scratch.h"

/* GIT_DIR -> folder made for it; few trees are asked in one run */
static GHashTable *views;

static bool copy_head(const char *from, const char *to, GError **err)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) e = NULL;
	gsize len;

	if (g_file_get_contents(from, &text, &len, &e))
		return mmg_write_atomic(to, text, len, err);
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the tree's HEAD: %s", e->message);
	return false;
}

/*
 * Links to all of the folder @from in @to but what git would execute or obey.
 * What is in @to already stays: a linked work tree's own HEAD and index go first.
 */
static bool borrow(const char *from, const char *to, GError **err)
{
	static const char *const left_out[] = {
		"config", "config.worktree", "hooks", "commondir", "gitdir", "worktrees",
		"modules", "fsmonitor--daemon", "fsmonitor--daemon.ipc", NULL
	};
	GDir *d = g_dir_open(from, 0, NULL);
	const char *name;
	bool ok = true;

	while (ok && d && (name = g_dir_read_name(d))) {
		g_autofree char *source = g_build_filename(from, name, NULL);
		g_autofree char *link = g_build_filename(to, name, NULL);

		if (g_strv_contains(left_out, name) || g_str_has_suffix(name, ".lock"))
			continue;
		if (!strcmp(name, "HEAD")) {
			/* git takes a link there for an old form of a reference */
			ok = g_file_test(link, G_FILE_TEST_EXISTS) || copy_head(source, link, err);
			continue;
		}
		ok = !symlink(source, link) || errno == EEXIST;
		if (!ok)
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot link %s to %s: %s", link, source,
				      g_strerror(errno));
	}
	if (d)
		g_dir_close(d);
	return ok;
}

static bool write_config(const char *dir, const char *common, const char *format, GError **err)
{
	g_autofree char *path = g_build_filename(dir, "config", NULL);
	g_autofree char *reftable = g_build_filename(common, "reftable", NULL);
	g_autoptr(GString) s = g_string_new("[core]\n\tbare = false\n\texcludesFile = /dev/null\n"
					    "\tattributesFile = /dev/null\n\tfsmonitor = false\n"
					    "\thooksPath = /dev/null\n\tuntrackedCache = false\n");
	bool refs = g_file_test(reftable, G_FILE_TEST_IS_DIR);

	if (refs || strcmp(format, "sha1"))
		g_string_append(s, "\trepositoryFormatVersion = 1\n[extensions]\n");
	if (strcmp(format, "sha1"))
		g_string_append_printf(s, "\tobjectFormat = %s\n", format);
	if (refs)
		g_string_append(s, "\trefStorage = reftable\n");
	return mmg_write_atomic(path, s->str, s->len, err);
}

/* An empty repository for a tree that has none */
static bool fill_empty(const char *dir, GError **err)
{
	static const char head[] = "ref: refs/heads/none\n";
	g_autofree char *path = g_build_filename(dir, "HEAD", NULL);
	g_autofree char *objects = g_build_filename(dir, "objects", NULL);
	g_autofree char *refs = g_build_filename(dir, "refs", NULL);

	return mmg_mkdirs(objects, err) && mmg_mkdirs(refs, err) &&
	       mmg_write_atomic(path, head, -1, err) && write_config(dir, dir, "sha1", err);
}

/* Only a word that git may name an object format by goes into a file that git reads */
static bool is_plain_word(const char *s)
{
	return *s && strspn(s, G_CSET_a_2_z G_CSET_DIGITS) == strlen(s);
}

/* git's own complaint: the lines that say "fatal:" or "error:" and what follows the first */
struct complaint {
	GString *text;
};

static void on_line(const char *line, void *data)
{
	struct complaint *c = data;
	bool opens = g_str_has_prefix(line, "fatal: ") || g_str_has_prefix(line, "error: ");
	g_autofree char *text = g_strstrip(g_strdup(opens ? line + 7 : line));

	if ((!opens && !c->text->len) || !*text || c->text->len > 600)
		return;
	g_string_append_printf(c->text, "%s%s", !c->text->len ? "" : opens ? "; " : " ", text);
}

/* Run it; what went wrong is said as git said it */
static bool run_git(struct mmg_cmd *cmd, GError **err)
{
	struct complaint c = { g_string_new(NULL) };
	g_autoptr(GError) e = NULL;
	bool ok;

	cmd->line = on_line;
	cmd->data = &c;
	ok = mmg_run(cmd, &e);
	if (!ok && c.text->len && e->code != MMG_EXIT_INTERRUPTED)
		mmg_set_error(err, e->code, "%s: git says: %s", cmd->what, c.text->str);
	else if (!ok)
		g_propagate_error(err, g_steal_pointer(&e));
	g_string_free(c.text, TRUE);
	return ok;
}

/*
 * Where the repository of @tree is.  This one call sees the configuration: whose trees the
 * user trusts (safe.directory) stands there, and rev-parse of these executes nothing.
 */
static bool fill_borrowed(const char *tree, const char *dir, GError **err)
{
	const char *argv[] = { "env", "-u", "GIT_CONFIG_GLOBAL", "-u", "GIT_CONFIG_SYSTEM", "-u",
			       "GIT_CONFIG_NOSYSTEM", "git", "-c", "core.fsmonitor=false", "-C", tree,
			       "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
			       "--show-object-format", NULL };
	g_autoptr(GString) out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "looking for the tree's repository", .argv = argv, .out = out };
	g_auto(GStrv) lines = NULL;

	if (!run_git(&cmd, err))
		return false;
	lines = g_strsplit(out->str, "\n", -1);
	if (g_strv_length(lines) < 3 || !is_plain_word(lines[2])) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "git does not say where the repository of %s is", tree);
		return false;
	}
	return write_config(dir, lines[1], lines[2], err) && borrow(lines[0], dir, err) &&
	       borrow(lines[1], dir, err);
}

static const char *view_of(const char *tree, GError **err)
{
	g_autofree char *dot = g_build_filename(tree, ".git", NULL);
	char *dir;
	bool ok;

	if (!views)
		views = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	dir = g_hash_table_lookup(views, tree);
	if (dir)
		return dir;
	dir = scratch_dir("git", err);
	if (!dir)
		return NULL;
	ok = g_file_test(dot, G_FILE_TEST_EXISTS) ? fill_borrowed(tree, dir, err) : fill_empty(dir, err);
	if (ok) {
		g_hash_table_insert(views, g_strdup(tree), dir);
		return dir;
	}
	mmg_rmtree(dir);
	g_free(dir);
	return NULL;
}

char *git_read(const char *tree, const char *what, const char *const *args, gsize *len, GError **err)
{
	const char *view = view_of(tree, err);
	g_autofree char *git_dir = NULL, *work_tree = NULL;
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	GString *out;

	if (!view)
		return NULL;
	git_dir = g_strconcat("--git-dir=", view, NULL);
	work_tree = g_strconcat("--work-tree=", tree, NULL);
	for (const char *const *w = (const char *const []){ "git", "-C", tree, git_dir, work_tree, NULL };
	     *w; w++)
		g_ptr_array_add(argv, (char *)*w);
	for (; *args; args++)
		g_ptr_array_add(argv, (char *)*args);
	g_ptr_array_add(argv, NULL);
	out = g_string_new(NULL);
	{
		struct mmg_cmd cmd = { .what = what, .argv = (const char *const *)argv->pdata,
				       .out = out };

		if (!run_git(&cmd, err)) {
			g_string_free(out, TRUE);
			return NULL;
		}
	}
	if (len)
		*len = out->len;
	return g_string_free(out, FALSE);
}

bool git_batch(const char *tree, const char *what, const char *in, const char *out, GError **err)
{
	const char *view = view_of(tree, err);
	const char *argv[] = { "sh", "-c", "exec git --git-dir=\"$1\" cat-file --batch <\"$2\" >\"$3\"",
			       "sh", view, in, out, NULL };
	struct mmg_cmd cmd = { .what = what, .argv = argv };

	return view && run_git(&cmd, err);
}
