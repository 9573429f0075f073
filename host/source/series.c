// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patch series as data: mbox files, patch files and folders of patches become
 * an overlay.  They are applied to copies of the files they touch, in a
 * scratch folder; nothing in them is executed, and a path that leaves the tree
 * is refused before anything is applied.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/source.h"

/* More than any series of patches is */
#define MAX_PATCH	(64 << 20)

/* ---- what a patch touches ---- */

/* A path as git and diff write it: perhaps quoted, a time after a tab; g_free() it, NULL for /dev/null */
static char *header_path(const char *s, size_t len)
{
	g_autofree char *raw = g_strndup(s, len);
	char *tab = strchr(raw, '\t');
	const char *slash;

	if (tab)
		*tab = '\0';
	g_strchomp(raw);
	if (raw[0] == '"') {
		char *end = strrchr(raw + 1, '"');
		char *plain;

		if (!end)
			return g_strdup("..");
		*end = '\0';
		plain = g_strcompress(raw + 1);
		g_free(raw);
		raw = plain;
	}
	if (!strcmp(raw, "/dev/null"))
		return NULL;
	/* what patch -p1 takes off; a path with nothing to take off is not one of ours */
	slash = strchr(raw, '/');
	return g_strdup(slash && raw[0] != '/' ? slash + 1 : raw[0] == '/' ? raw : "..");
}

static bool add_path(GPtrArray *paths, GHashTable *seen, char *path, GError **err)
{
	g_autofree char *p = path;

	if (!p)
		return true;
	if (!path_is_inside(p)) {
		g_autofree char *shown = mmg_clean(p, -1, 200);

		mmg_set_error(err, MMG_EXIT_BROKEN, "the patch touches '%s', which is not a path inside "
			      "the source tree (with one leading folder, as git writes it)", shown);
		return false;
	}
	if (g_hash_table_add(seen, g_strdup(p)))
		g_ptr_array_add(paths, g_steal_pointer(&p));
	return true;
}

/* The numbers of "@@ -a,b +c,d @@": how many lines of each side follow */
static bool hunk_counts(const char *line, unsigned long *old, unsigned long *new)
{
	unsigned long n[2] = { 1, 1 };
	const char *p = line;
	char *end;

	if (strncmp(line, "@@ -", 4))
		return false;
	p += 4;
	for (int i = 0; i < 2; i++) {
		strtoul(p, &end, 10);
		if (end == p)
			return false;
		if (*end == ',')
			n[i] = strtoul(end + 1, &end, 10);
		p = end;
		if (i == 0) {
			if (p[0] != ' ' || p[1] != '+')
				return false;
			p += 2;
		}
	}
	*old = n[0];
	*new = n[1];
	return !strncmp(p, " @@", 3);
}

GPtrArray *patch_paths(const char *patch, gsize len, GError **err)
{
	static const char *const headers[] = {
		"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "
	};
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char *end = patch + len;
	unsigned long old = 0, new = 0;

	for (const char *p = patch, *nl; p < end; p = nl + 1) {
		g_autofree char *line = NULL;

		nl = memchr(p, '\n', end - p);
		if (!nl)
			nl = end;
		line = g_strndup(p, nl - p);
		/* inside a hunk every line is content, whatever it looks like */
		if (old || new) {
			if ((line[0] == ' ' || line[0] == '-' || !line[0]) && old)
				old--;
			if ((line[0] == ' ' || line[0] == '+' || !line[0]) && new)
				new--;
			continue;
		}
		if (hunk_counts(line, &old, &new))
			continue;
		if (!strcmp(line, "GIT binary patch") || g_str_has_prefix(line, "Binary files ")) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "the patch has binary changes (%s); "
				      "only text is applied", line);
			return NULL;
		}
		if (g_str_has_prefix(line, "new file mode 120000") ||
		    g_str_has_prefix(line, "new mode 120000") ||
		    g_str_has_prefix(line, "new file mode 160000")) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "the patch makes a symbolic link or a "
				      "submodule; only files are applied");
			return NULL;
		}
		for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
			size_t h = strlen(headers[i]);
			g_autofree char *with_prefix = NULL;

			if (strncmp(line, headers[i], h))
				continue;
			/* a signature's "-- " or a rule of dashes is no header */
			if (i < 2 && !strchr(line + h, '/'))
				continue;
			if (i >= 2)
				with_prefix = g_strconcat("a/", line + h, NULL);
			if (!add_path(paths, seen, with_prefix ?
				      header_path(with_prefix, strlen(with_prefix)) :
				      header_path(line + h, strlen(line + h)), err))
				return NULL;
		}
	}
	return g_steal_pointer(&paths);
}

/* ---- reading a series ---- */

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files of a patch folder, in the order of its "series" file or by name */
static GPtrArray *folder_patches(const char *dir, GError **err)
{
	g_autofree char *order = g_build_filename(dir, "series", NULL);
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *text = NULL;
	g_autoptr(GError) e = NULL;
	const char *name;
	GDir *d;

	if (g_file_get_contents(order, &text, NULL, NULL)) {
		g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

		for (char **l = lines; *l; l++) {
			(*l)[strcspn(*l, "#")] = '\0';
			g_strstrip(*l);
			(*l)[strcspn(*l, " \t")] = '\0';
			if (!**l)
				continue;
			if (!path_is_inside(*l)) {
				mmg_set_error(err, MMG_EXIT_BROKEN, "%s names '%s', which leaves the "
					      "folder", order, *l);
				return NULL;
			}
			g_ptr_array_add(files, g_build_filename(dir, *l, NULL));
		}
		return g_steal_pointer(&files);
	}
	d = g_dir_open(dir, 0, &e);
	if (!d) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the series %s: %s", dir, e->message);
		return NULL;
	}
	while ((name = g_dir_read_name(d))) {
		/* 0000-cover-letter carries no change */
		if (g_str_has_prefix(name, "0000-") || name[0] == '.')
			continue;
		if (g_str_has_suffix(name, ".patch") || g_str_has_suffix(name, ".diff") ||
		    g_str_has_suffix(name, ".eml") || g_str_has_suffix(name, ".mbox") ||
		    g_str_has_suffix(name, ".mbx"))
			g_ptr_array_add(files, g_build_filename(dir, name, NULL));
	}
	g_dir_close(d);
	g_ptr_array_sort(files, by_name);
	if (!files->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the folder %s holds no patches (*.patch, *.diff, "
			      "*.eml, *.mbox)", dir);
		return NULL;
	}
	return g_steal_pointer(&files);
}

/* A scratch folder with copies of the files that @patch touches; NULL with *@err */
static bool lay_out(const char *dir, GPtrArray *paths, const struct source *src,
		    GHashTable *overlay, GError **err)
{
	for (guint i = 0; i < paths->len; i++) {
		const char *path = paths->pdata[i];
		g_autofree char *to = g_build_filename(dir, path, NULL);
		g_autofree char *parent = g_path_get_dirname(to);
		g_autoptr(GBytes) content = source_read(src, overlay, path, NULL);
		g_autofree char *origin = g_build_filename(src->tree, path, NULL);
		struct stat st;

		if (!mmg_mkdirs(parent, err))
			return false;
		if (content && !mmg_write_atomic(to, g_bytes_get_data(content, NULL),
						 g_bytes_get_size(content), err))
			return false;
		if (content && !stat(origin, &st))
			chmod(to, st.st_mode & 0777);
	}
	return true;
}

/* What became of the files, into the overlay */
static bool take_back(const char *dir, GPtrArray *paths, const struct source *src,
		      GHashTable *overlay, GError **err)
{
	for (guint i = 0; i < paths->len; i++) {
		const char *path = paths->pdata[i];
		g_autofree char *from = g_build_filename(dir, path, NULL);
		g_autoptr(GBytes) before = source_read(src, overlay, path, NULL);
		struct stat st;
		char *text;
		gsize len;

		if (lstat(from, &st)) {
			if (before)
				overlay_set(overlay, path, NULL);
			continue;
		}
		if (!S_ISREG(st.st_mode) || !g_file_get_contents(from, &text, &len, NULL)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "the series leaves %s as something that is "
				      "not a plain file", path);
			return false;
		}
		if (before && len == g_bytes_get_size(before) &&
		    !memcmp(text, g_bytes_get_data(before, NULL), len)) {
			g_free(text);
			continue;
		}
		overlay_set(overlay, path, g_bytes_new_take(text, len));
	}
	return true;
}

/* The lines of git apply's and git am's output that say what did not fit, in one line */
static char *failing_hunk(const char *output)
{
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
	GString *s = g_string_new(NULL);

	for (char **l = lines; *l; l++) {
		const char *t = *l;

		if (!g_str_has_prefix(t, "error: ") && !g_str_has_prefix(t, "fatal: "))
			continue;
		t += 7;
		/* the text that follows it is not repeated here */
		if (!strcmp(t, "while searching for:"))
			continue;
		if (s->len > 300)
			break;
		g_string_append_printf(s, "%s%s", s->len ? "; " : "", t);
	}
	return g_string_free(s, FALSE);
}

/* The first line of the hunk that starts at @line of @file, from the patch text */
static char *hunk_header(const char *patch, const char *where)
{
	g_autoptr(GRegex) re = g_regex_new("patch failed: (.+):([0-9]+)", 0, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;
	g_autofree char *file = NULL, *line = NULL, *start = NULL;
	const char *p;

	if (!g_regex_match(re, where, 0, &m))
		return NULL;
	file = g_match_info_fetch(m, 1);
	line = g_match_info_fetch(m, 2);
	start = g_strdup_printf("+++ b/%s", file);
	p = strstr(patch, start);
	if (!p)
		return NULL;
	g_free(start);
	start = g_strdup_printf("\n@@ -%s", line);
	p = strstr(p, start);
	return p ? g_strndup(p + 1, strcspn(p + 1, "\n")) : NULL;
}

/* Split an mbox (or a file with one mail, or a bare diff) into its messages */
static GPtrArray *split_mbox(const char *text, gsize len)
{
	GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
	const char *start = text, *end = text + len;

	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		const char *next = nl ? nl + 1 : end;

		/* "From <hash or address> <date>", as git format-patch and b4 write it */
		if (p > start && g_str_has_prefix(p, "From ") && p[-1] == '\n') {
			g_autofree char *line = g_strndup(p, next - p);

			if (g_regex_match_simple("^From \\S+ .*[0-9]{2}:[0-9]{2}", line, 0, 0)) {
				g_ptr_array_add(parts, g_strndup(start, p - start));
				start = p;
			}
		}
		p = next;
	}
	g_ptr_array_add(parts, g_strndup(start, end - start));
	return parts;
}

/* The subject of a mail (folded lines joined), or NULL; g_free() it */
static char *subject_of(const char *mail)
{
	g_autoptr(GRegex) re = g_regex_new("^Subject: *(.*(?:\\n[ \\t]+.*)*)",
					   G_REGEX_MULTILINE, 0, NULL);
	g_autoptr(GMatchInfo) m = NULL;
	g_autofree char *raw = NULL;
	g_auto(GStrv) parts = NULL;
	g_autofree char *joined = NULL;

	if (!g_utf8_validate(mail, -1, NULL) || !g_regex_match(re, mail, 0, &m))
		return NULL;
	raw = g_match_info_fetch(m, 1);
	parts = g_strsplit(raw, "\n", -1);
	for (char **p = parts; *p; p++)
		g_strstrip(*p);
	joined = g_strjoinv(" ", parts);
	return mmg_clean(joined, -1, 200);
}

/* The body of a mail decoded where it is base64 or quoted-printable, by git itself; g_free() it */
static char *mail_body(const char *mail, GError **err)
{
	g_autofree char *dir = NULL, *in = NULL, *msg = NULL, *patch = NULL;
	char *text = NULL;

	if (!strstr(mail, "Content-Transfer-Encoding: base64") &&
	    !strstr(mail, "Content-Transfer-Encoding: quoted-printable"))
		return g_strdup(mail);
	dir = g_dir_make_tmp("mmgate-mail-XXXXXX", NULL);
	in = g_build_filename(dir, "mail", NULL);
	msg = g_build_filename(dir, "msg", NULL);
	patch = g_build_filename(dir, "patch", NULL);
	if (mmg_write_atomic(in, mail, -1, err)) {
		const char *argv[] = { "sh", "-c", "exec git mailinfo \"$1\" \"$2\" < \"$3\"",
				       "sh", msg, patch, in, NULL };
		GString *out = g_string_new(NULL);
		struct mmg_cmd cmd = { .what = "decoding a mail", .argv = argv, .out = out };

		if (mmg_run(&cmd, err))
			g_file_get_contents(patch, &text, NULL, NULL);
		g_string_free(out, TRUE);
	}
	mmg_rmtree(dir);
	return text;
}

/* Apply one patch in a scratch folder and take the result over */
static bool apply_one(const char *name, const char *mail, const struct source *src,
		      GHashTable *overlay, bool *changed, GError **err)
{
	g_autofree char *body = mail_body(mail, err);
	g_autoptr(GPtrArray) paths = NULL;
	g_autofree char *dir = NULL, *file = NULL, *log = NULL, *output = NULL;
	g_autoptr(GError) e = NULL;
	bool ok = false;

	if (!body)
		return false;
	paths = patch_paths(body, strlen(body), err);
	if (!paths) {
		g_prefix_error(err, "%s: ", name);
		return false;
	}
	if (!paths->len)
		return true;
	*changed = true;
	dir = g_dir_make_tmp("mmgate-series-XXXXXX", &e);
	if (!dir) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make a scratch folder: %s", e->message);
		return false;
	}
	file = g_strconcat(dir, ".patch", NULL);
	log = g_strconcat(dir, ".log", NULL);
	if (lay_out(dir, paths, src, overlay, err) && mmg_write_atomic(file, body, -1, err)) {
		/* outside any repository git apply is a plain, strict patch; the ceiling keeps it so */
		g_autofree char *ceiling = g_strdup_printf("GIT_CEILING_DIRECTORIES=%s",
							   g_get_tmp_dir());
		const char *argv[] = { "git", "-c", "core.fsmonitor=false", "apply", "-p1",
				       "--whitespace=nowarn", "--verbose", file, NULL };
		const char *env[] = { ceiling, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", NULL };
		struct mmg_cmd cmd = { .what = "applying the series", .argv = argv, .cwd = dir,
				       .env = env, .log = log };

		if (mmg_run(&cmd, &e)) {
			ok = take_back(dir, paths, src, overlay, err);
		} else if (g_error_matches(e, MMG_ERROR, MMG_EXIT_INTERRUPTED)) {
			g_propagate_error(err, g_steal_pointer(&e));
		} else {
			g_autofree char *why = NULL, *hunk = NULL;

			if (g_file_get_contents(log, &output, NULL, NULL)) {
				why = failing_hunk(output);
				hunk = hunk_header(body, output);
			}
			mmg_set_error(err, MMG_EXIT_BROKEN, "%s does not apply to %s: %s%s%s", name,
				      src->name, why && *why ? why : e->message,
				      hunk ? "; failing hunk: " : "", hunk ? hunk : "");
		}
	}
	unlink(file);
	unlink(log);
	mmg_rmtree(dir);
	return ok;
}

static bool apply_file(const char *path, const struct source *src, GHashTable *overlay,
		       GPtrArray *titles, bool *changed, GError **err)
{
	g_autofree char *text = NULL, *base = g_path_get_basename(path);
	g_autoptr(GPtrArray) mails = NULL;
	g_autoptr(GError) e = NULL;
	struct stat st;
	gsize len;

	if (!stat(path, &st) && st.st_size > MAX_PATCH) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is %lld MiB: too large for a patch series",
			      path, (long long)st.st_size >> 20);
		return false;
	}
	if (!g_file_get_contents(path, &text, &len, &e)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the series: %s", e->message);
		return false;
	}
	mails = split_mbox(text, len);
	for (guint i = 0; i < mails->len; i++) {
		g_autofree char *title = subject_of(mails->pdata[i]);
		g_autofree char *name = NULL;
		bool touched = false;

		if (title)
			name = g_strdup_printf("%s (%s)", base, title);
		else if (mails->len > 1)
			name = g_strdup_printf("%s, patch %u", base, i + 1);
		if (!apply_one(name ? name : base, mails->pdata[i], src, overlay, &touched, err))
			return false;
		if (touched && titles)
			g_ptr_array_add(titles, g_strdup(title ? title : base));
		*changed |= touched;
	}
	return true;
}

/* An edit file, as those of configs/mutants, in place of patches */
static bool script_apply(const char *file, const struct source *src, GHashTable *overlay,
			 GPtrArray **titles, GError **err)
{
	struct edit_script *s = edit_script_load(file, err);
	bool ok = s && edits_apply(s->edits, src, overlay, err);

	if (ok && titles) {
		*titles = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(*titles, g_strdup(s->about));
	}
	edit_script_free(s);
	return ok;
}

bool series_apply(const char *series, const struct source *src, GHashTable *overlay,
		  GPtrArray **titles, GError **err)
{
	g_autoptr(GPtrArray) files = NULL;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	bool changed = false;

	if (g_str_has_suffix(series, ".conf"))
		return script_apply(series, src, overlay, titles, err);
	if (g_file_test(series, G_FILE_TEST_IS_DIR)) {
		files = folder_patches(series, err);
		if (!files)
			return false;
	} else {
		files = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(files, g_strdup(series));
	}
	for (guint i = 0; i < files->len; i++)
		if (!apply_file(files->pdata[i], src, overlay, names, &changed, err))
			return false;
	if (!changed) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s holds no patch: no file is changed in it", series);
		return false;
	}
	if (titles)
		*titles = g_steal_pointer(&names);
	return true;
}

/* ---- git revisions ---- */

static char *git_out(const struct source *src, const char *what, const char *const *args,
		     gsize *len, GError **err)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	GString *out = g_string_new(NULL);

	g_ptr_array_add(argv, (char *)"git");
	g_ptr_array_add(argv, (char *)"--no-optional-locks");
	g_ptr_array_add(argv, (char *)"-C");
	g_ptr_array_add(argv, src->tree);
	for (; *args; args++)
		g_ptr_array_add(argv, (char *)*args);
	g_ptr_array_add(argv, NULL);
	{
		struct mmg_cmd cmd = { .what = what, .argv = (const char *const *)argv->pdata,
				       .out = out };

		if (!mmg_run(&cmd, err)) {
			g_string_free(out, TRUE);
			return NULL;
		}
	}
	if (len)
		*len = out->len;
	return g_string_free(out, FALSE);
}

/*
 * Parse what cat-file --batch wrote for the paths in @names (each ends with
 * '\0'): "ID blob SIZE", the content, a line feed; or "... missing".
 */
static bool parse_batch(const char *batch, gsize size, const char *names, gsize len,
			GHashTable *overlay, GError **err)
{
	const char *p = batch, *end = batch + size;

	for (const char *n = names; n < names + len; n += strlen(n) + 1) {
		const char *nl = memchr(p, '\n', end - p);
		g_autofree char *head = nl ? g_strndup(p, nl - p) : NULL;
		const char *blob = head ? strstr(head, " blob ") : NULL;
		gsize bytes;

		if (!head || (!blob && !g_str_has_suffix(head, " missing"))) {
			/* a submodule, say */
			mmg_set_error(err, MMG_EXIT_BROKEN, "git gave no content for %s: %s", n,
				      head ? head : "nothing");
			return false;
		}
		p = nl + 1;
		if (!blob) {
			overlay_set(overlay, n, NULL);
			continue;
		}
		bytes = g_ascii_strtoull(blob + 6, NULL, 10);
		if (bytes >= (gsize)(end - p)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "git's answer for %s is cut short", n);
			return false;
		}
		overlay_set(overlay, n, g_bytes_new(p, bytes));
		p += bytes + 1;
	}
	return true;
}

/* The contents of the files @names in @commit, into the overlay, by one git */
static bool blobs_to_overlay(const struct source *src, const char *commit, const char *names,
			     gsize len, GHashTable *overlay, GError **err)
{
	g_autofree char *dir = g_dir_make_tmp("mmgate-git-XXXXXX", NULL);
	g_autofree char *in = g_build_filename(dir, "in", NULL);
	g_autofree char *out = g_build_filename(dir, "out", NULL);
	g_autoptr(GString) list = g_string_new(NULL);
	g_autofree char *batch = NULL;
	bool ok = false;
	gsize size;

	for (const char *n = names; n < names + len; n += strlen(n) + 1) {
		if (!path_is_inside(n)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "revision %s has the path %s", commit, n);
			goto out;
		}
		g_string_append_printf(list, "%s:%s\n", commit, n);
	}
	if (mmg_write_atomic(in, list->str, list->len, err)) {
		const char *argv[] = { "sh", "-c", "exec git -C \"$1\" cat-file --batch <\"$2\" >\"$3\"",
				       "sh", src->tree, in, out, NULL };
		struct mmg_cmd cmd = { .what = "reading the revision's files", .argv = argv };

		if (mmg_run(&cmd, err) && g_file_get_contents(out, &batch, &size, err))
			ok = parse_batch(batch, size, names, len, overlay, err);
	}
out:
	mmg_rmtree(dir);
	return ok;
}

bool git_overlay(const struct source *src, const char *ref, GHashTable *overlay, GError **err)
{
	g_autofree char *git = g_build_filename(src->tree, ".git", NULL);
	g_autofree char *commit = NULL, *names = NULL, *spec = NULL;
	gsize len = 0;

	if (!g_file_test(git, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is no git work tree, so %s means nothing in it; "
			      "give --series, or a tree with .git", src->name, ref);
		return false;
	}
	if (ref[0] == '-') {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is no revision", ref);
		return false;
	}
	spec = g_strdup_printf("%s^{commit}", ref);
	{
		const char *args[] = { "rev-parse", "--verify", "-q", spec, NULL };

		commit = git_out(src, "looking the revision up", args, NULL, NULL);
	}
	if (!commit || !*g_strstrip(commit)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has no revision %s", src->name, ref);
		return false;
	}
	{
		const char *args[] = { "diff", "--no-ext-diff", "--no-textconv", "--no-renames",
				       "--name-only", "-z", commit, "--", NULL };

		names = git_out(src, "comparing the work tree with the revision", args, &len, err);
	}
	if (!names)
		return false;
	return blobs_to_overlay(src, commit, names, len, overlay, err);
}
