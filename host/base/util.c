// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors, paths, locks and child processes.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib-unix.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_MAX (64 * 1024 * 1024)
#define LINE_MAX_BYTES 8192

GQuark mmg_error_quark(void)
{
	return g_quark_from_static_string("mmgate");
}

void mmg_set_error(GError **err, enum mmg_exit status, const char *fmt, ...)
{
	va_list ap;
	char *text, *clean;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	clean = mmg_clean(text, -1, 4000);
	g_set_error_literal(err, MMG_ERROR, status, clean);
	g_free(clean);
	g_free(text);
}

const char *mmg_root(void)
{
	static char *root;
	char buf[4096];
	ssize_t n;

	if (root)
		return root;
	if (g_getenv("MMGATE_ROOT")) {
		root = g_strdup(g_getenv("MMGATE_ROOT"));
		return root;
	}
	n = readlink("/proc/self/exe", buf, sizeof(buf) - 1);
	if (n < 0)
		g_error("readlink /proc/self/exe: %s", g_strerror(errno));
	buf[n] = '\0';
	/* ROOT/build/mmgate, or ROOT/build/unit/test_x */
	root = g_path_get_dirname(buf);
	while (strlen(root) > 1) {
		char *marker = g_build_filename(root, "configs", "machines", NULL);
		bool here = g_file_test(marker, G_FILE_TEST_IS_DIR);
		char *up;

		g_free(marker);
		if (here)
			return root;
		up = g_path_get_dirname(root);
		g_free(root);
		root = up;
	}
	return root;
}

const char *mmg_cache(void)
{
	static char *cache;
	const char *base = g_get_user_cache_dir();

	if (cache)
		return cache;
	if (g_path_is_absolute(base)) {
		cache = g_build_filename(base, "mmgate", NULL);
	} else {
		/* an empty HOME or a relative XDG_CACHE_HOME: not a cache a folder */
		struct passwd *pw = getpwuid(getuid());

		cache = g_build_filename(pw ? pw->pw_dir : g_get_tmp_dir(), ".cache", "mmgate", NULL);
	}
	return cache;
}

static char *path_below(const char *top, const char *first, va_list ap)
{
	GPtrArray *words = g_ptr_array_new();
	const char *w;
	char *path;

	g_ptr_array_add(words, (char *)top);
	for (w = first; w; w = va_arg(ap, const char *))
		g_ptr_array_add(words, (char *)w);
	g_ptr_array_add(words, NULL);
	path = g_build_filenamev((char **)words->pdata);
	g_ptr_array_free(words, TRUE);
	return path;
}

char *mmg_root_path(const char *first, ...)
{
	va_list ap;
	char *path;

	va_start(ap, first);
	path = path_below(mmg_root(), first, ap);
	va_end(ap);
	return path;
}

char *mmg_cache_path(const char *first, ...)
{
	va_list ap;
	char *path;

	va_start(ap, first);
	path = path_below(mmg_cache(), first, ap);
	va_end(ap);
	return path;
}

bool mmg_mkdirs(const char *path, GError **err)
{
	if (!g_mkdir_with_parents(path, 0755))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make the folder %s: %s", path,
		      g_strerror(errno));
	return false;
}

static int rm_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

void mmg_rmtree(const char *path)
{
	nftw(path, rm_one, 32, FTW_DEPTH | FTW_PHYS);
}

char *mmg_sha256_file(const char *path, GError **err)
{
	GChecksum *sum;
	char *hex, *buf;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, g_strerror(errno));
		return NULL;
	}
	sum = g_checksum_new(G_CHECKSUM_SHA256);
	buf = g_malloc(1 << 20);
	while ((n = read(fd, buf, 1 << 20)) > 0)
		g_checksum_update(sum, (guchar *)buf, n);
	if (n < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, g_strerror(errno));
		hex = NULL;
	} else {
		hex = g_strdup(g_checksum_get_string(sum));
	}
	g_free(buf);
	g_checksum_free(sum);
	close(fd);
	return hex;
}

bool mmg_write_atomic(const char *path, const char *data, gssize len, GError **err)
{
	GError *e = NULL;

	if (g_file_set_contents_full(path, data, len, G_FILE_SET_CONTENTS_CONSISTENT, 0644, &e))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write %s: %s", path, e->message);
	g_error_free(e);
	return false;
}

int mmg_lock(const char *key, GError **err)
{
	char *dir = mmg_cache_path("locks", NULL), *path = g_build_filename(dir, key, NULL);
	bool said = false;
	int fd = -1;

	if (!mmg_mkdirs(dir, err))
		goto out;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot open the lock %s: %s", path,
			      g_strerror(errno));
		goto out;
	}
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot lock %s: %s", path,
				      g_strerror(errno));
			close(fd);
			fd = -1;
			break;
		}
		if (!said)
			status_note("waiting for another run that holds %s", path);
		said = true;
		if (mmg_check_interrupt(err)) {
			close(fd);
			fd = -1;
			break;
		}
		/* flock has no event to wait for without blocking signals' handling */
		g_usleep(100000);
		g_main_context_iteration(NULL, FALSE);
	}
out:
	g_free(path);
	g_free(dir);
	return fd;
}

char *mmg_clean(const char *s, gssize len, gsize max)
{
	gsize n = len < 0 ? strlen(s) : (gsize)len;
	char *valid, *p;
	GString *out;

	if (n > max)
		n = max;
	valid = g_utf8_make_valid(s, n);
	out = g_string_sized_new(n);
	for (p = valid; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		if (c == '\t')
			g_string_append_c(out, '\t');
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff ||
			 c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
			 (c >= 0x2066 && c <= 0x2069))
			g_string_append_c(out, ' ');
		else
			g_string_append_unichar(out, c);
	}
	g_free(valid);
	return g_string_free(out, FALSE);
}

bool mmg_glob(const char *glob, const char *name)
{
	GPatternSpec *p = g_pattern_spec_new(glob);
	char *lead = g_strdup(name), *slash;
	bool hit = g_pattern_spec_match_string(p, name);

	while (!hit && (slash = strrchr(lead, '/'))) {
		*slash = '\0';
		hit = g_pattern_spec_match_string(p, lead);
	}
	g_free(lead);
	g_pattern_spec_free(p);
	return hit;
}

bool mmg_glob_any(const GPtrArray *globs, const char *name)
{
	guint i;

	for (i = 0; i < globs->len; i++)
		if (mmg_glob(globs->pdata[i], name))
			return true;
	return false;
}

/* ---- interrupts ---- */

static volatile sig_atomic_t got_signal;

static gboolean on_signal(gpointer data)
{
	got_signal = GPOINTER_TO_INT(data);
	return G_SOURCE_CONTINUE;
}

static void watch_signals(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	g_unix_signal_add(SIGINT, on_signal, GINT_TO_POINTER(SIGINT));
	g_unix_signal_add(SIGTERM, on_signal, GINT_TO_POINTER(SIGTERM));
	g_unix_signal_add(SIGHUP, on_signal, GINT_TO_POINTER(SIGHUP));
	signal(SIGPIPE, SIG_IGN);
}

bool mmg_interrupted(void)
{
	watch_signals();
	return got_signal;
}

bool mmg_check_interrupt(GError **err)
{
	if (!mmg_interrupted())
		return false;
	mmg_set_error(err, MMG_EXIT_INTERRUPTED, "interrupted by signal %d", (int)got_signal);
	return true;
}

/* ---- commands ---- */

struct running {
	const struct mmg_cmd *cmd;
	GString *partial;		/* unfinished line */
	char *last;			/* last line printed that says something */
	FILE *log;
	int open;			/* pipes still open */
	bool exited;
	int status;
};

static void take_line(struct running *r)
{
	if (r->partial->len) {
		if (r->cmd->line)
			r->cmd->line(r->partial->str, r->cmd->data);
		g_free(r->last);
		r->last = g_strdup(r->partial->str);
	}
	g_string_truncate(r->partial, 0);
}

static void take_text(struct running *r, const char *buf, gsize n)
{
	gsize i;

	for (i = 0; i < n; i++) {
		if (buf[i] == '\n' || buf[i] == '\r')
			take_line(r);
		else if (r->partial->len < LINE_MAX_BYTES && buf[i])
			g_string_append_c(r->partial, buf[i]);
	}
}

static gboolean on_output(gint fd, GIOCondition cond, gpointer data)
{
	struct running *r = data;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)cond;
	if (n > 0) {
		if (r->log)
			fwrite(buf, 1, n, r->log);
		take_text(r, buf, n);
		return G_SOURCE_CONTINUE;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	r->open--;
	return G_SOURCE_REMOVE;
}

static gboolean on_stdout(gint fd, GIOCondition cond, gpointer data)
{
	struct running *r = data;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)cond;
	if (n > 0) {
		if (r->cmd->out->len + n <= OUT_MAX)
			g_string_append_len(r->cmd->out, buf, n);
		return G_SOURCE_CONTINUE;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	r->open--;
	return G_SOURCE_REMOVE;
}

static void on_exit_child(GPid pid, gint status, gpointer data)
{
	struct running *r = data;

	(void)pid;
	r->exited = true;
	r->status = status;
}

static void child_setup(gpointer data)
{
	(void)data;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

/* A shell-like rendering of argv for messages */
static char *command_text(const char *const *argv)
{
	GString *s = g_string_new(NULL);
	int i;

	for (i = 0; argv[i]; i++)
		g_string_append_printf(s, "%s%s", i ? " " : "", argv[i]);
	if (s->len > 300) {
		g_string_truncate(s, 297);
		g_string_append(s, "...");
	}
	return g_string_free(s, FALSE);
}

bool mmg_run(const struct mmg_cmd *cmd, GError **err)
{
	struct running r = { .cmd = cmd };
	char **env = g_get_environ();
	int out_fd = -1, err_fd = -1, i;
	GError *e = NULL;
	bool ok = false;
	char *text;
	GPid pid;

	if (mmg_check_interrupt(err))
		return false;
	for (i = 0; cmd->env && cmd->env[i]; i++) {
		char **kv = g_strsplit(cmd->env[i], "=", 2);

		env = g_environ_setenv(env, kv[0], kv[1] ? kv[1] : "", TRUE);
		g_strfreev(kv);
	}
	if (!g_spawn_async_with_pipes(cmd->cwd, (char **)cmd->argv, env,
				      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, child_setup,
				      NULL, &pid, NULL, &out_fd, &err_fd, &e)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: cannot start %s: %s", cmd->what,
			      cmd->argv[0], e->message);
		g_error_free(e);
		g_strfreev(env);
		return false;
	}
	if (cmd->log)
		r.log = fopen(cmd->log, "ae");
	r.partial = g_string_new(NULL);
	r.open = 2;
	g_unix_set_fd_nonblocking(out_fd, TRUE, NULL);
	g_unix_set_fd_nonblocking(err_fd, TRUE, NULL);
	g_unix_fd_add(out_fd, G_IO_IN | G_IO_HUP, cmd->out ? on_stdout : on_output, &r);
	g_unix_fd_add(err_fd, G_IO_IN | G_IO_HUP, on_output, &r);
	g_child_watch_add(pid, on_exit_child, &r);
	while (!r.exited || r.open) {
		g_main_context_iteration(NULL, TRUE);
		if (mmg_interrupted() && !r.exited)
			kill(-pid, SIGTERM);
	}
	take_line(&r);
	text = command_text(cmd->argv);
	if (cmd->expect && WIFEXITED(r.status)) {
		*cmd->expect = WEXITSTATUS(r.status);
		ok = true;
	} else if (mmg_interrupted()) {
		mmg_check_interrupt(err);
	} else if (WIFSIGNALED(r.status)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: '%s' was ended by signal %d%s%s",
			      cmd->what, text, WTERMSIG(r.status), r.last ? "; it last said: " : "",
			      r.last ? r.last : "");
	} else if (WEXITSTATUS(r.status)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: '%s' exited with %d%s%s%s%s", cmd->what,
			      text, WEXITSTATUS(r.status), r.last ? "; it last said: " : "",
			      r.last ? r.last : "", cmd->log ? "; all of it is in " : "",
			      cmd->log ? cmd->log : "");
	} else {
		ok = true;
	}
	if (r.log)
		fclose(r.log);
	g_free(text);
	g_free(r.last);
	g_string_free(r.partial, TRUE);
	g_strfreev(env);
	g_spawn_close_pid(pid);
	close(out_fd);
	close(err_fd);
	return ok;
}
