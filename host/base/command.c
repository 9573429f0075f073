// SPDX-License-Identifier: GPL-2.0-only
/*
 * Child processes run to their end.
 */
#include "base/base.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_MAX (64 * 1024 * 1024)
#define LINE_MAX_BYTES 8192

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
	signal(SIGXFSZ, SIG_DFL);
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
