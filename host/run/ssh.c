// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs on hosts that ssh reaches: the folder goes there by rsync, runs with the program that was
 * brought along, and its result comes back.  MMGATE_SSH is the command in place of "ssh".
 */
#include "run/fleet.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST_MIB	1024		/* that a host keeps for itself */
#define HOST_FAILS	3		/* in a row, and it is left alone */
#define POLL_MS		200
#define OPTIONS		"-o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"

/* $1: ssh and its options; $2: host; $3: folder there; $4: job's folder here; $5: its id.  Left when stdin ends */
static const char script[] =
	"set -e\n"
	"rsync -a --delete -e \"$1\" --exclude='/result*' \"$4/\" \"$2:$3/$5/\"\n"
	"$1 \"$2\" \"cd '$3' && exec 3<&0 && { runner/mmgate job -q $5 </dev/null >$5.log 2>&1 & p=\\$!; \"\\\n"
	"\"( cat <&3; kill \\$p ) >/dev/null 2>&1 & wait \\$p; s=\\$?; \"\\\n"
	"\"[ -e $5/result/run.json ] || { tail -n 1 $5.log >&2; exit \\$s; }; }\"\n"
	"rm -rf \"$4/result.in\"\n"
	"rsync -rt --max-size=512m -e \"$1\" \"$2:$3/$5/result/\" \"$4/result.in/\"\n"
	"mv \"$4/result.in\" \"$4/result\"\n"
	"$1 -n \"$2\" \"rm -rf '$3/$5' '$3/$5.log'\" || true\n";

struct host {
	char *name, *ssh, *dir;		/* [USER@]HOST; the command with its options; folder there */
	int cpus, running, fails;
	long long mib;
	bool gone;
};

struct child {
	struct ssh *s;
	guint job, host;
	GPid pid;
	int in, err;			/* its stdin, which we keep open; its stderr */
	GString *said;
	bool ended;
	int status;
};

struct ssh {
	const struct fleet *f;
	const char *dir;
	GPtrArray *jobs;
	GPtrArray *hosts, *children;
};

/* "ssh://[USER@]HOST[:PORT][/DIR]" taken apart; false for anything else.  The strings: g_free() */
static bool take_apart(const char *url, char **name, int *port, char **dir)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *at = url + strlen("ssh://"), *slash, *end;
	g_autofree char *host = NULL;
	char *colon, *rest = NULL;

	if (!g_str_has_prefix(url, "ssh://"))
		return false;
	slash = strchr(at, '/');
	end = slash ? slash : at + strlen(at);
	host = g_strndup(at, end - at);
	colon = strrchr(host, ':');
	*port = 0;
	if (colon) {
		*port = strtol(colon + 1, &rest, 10);
		if (!g_ascii_isdigit(colon[1]) || *rest || *port < 1 || *port > 65535)
			return false;
		*colon = '\0';
	}
	if (!*host || *host == '-' || strspn(host, plain) + strspn(strchr(host, '@') ?: "", "@") +
	    (strchr(host, '@') ? strspn(strchr(host, '@') + 1, plain) : 0) != strlen(host))
		return false;
	if (slash && (strspn(slash + 1, "/") || strstr(slash, "..")))
		return false;
	for (const char *c = slash; c && *c; c++)
		if (*c != '/' && !strchr(plain, *c))
			return false;
	*name = g_steal_pointer(&host);
	*dir = slash && slash[1] ? g_strdup(slash) : g_strdup(".cache/mmgate/jobs");
	return true;
}

bool fleet_hosts_valid(const GPtrArray *hosts, GError **err)
{
	for (guint i = 0; i < hosts->len; i++) {
		g_autofree char *name = NULL, *dir = NULL;
		int port;

		if (take_apart(hosts->pdata[i], &name, &port, &dir))
			continue;
		mmg_set_error(err, MMG_EXIT_USAGE, "--on %s: write ssh://[USER@]HOST[:PORT][/DIR]",
			      (char *)hosts->pdata[i]);
		return false;
	}
	return true;
}

static void host_free(gpointer p)
{
	struct host *h = p;

	g_free(h->name);
	g_free(h->ssh);
	g_free(h->dir);
	g_free(h);
}

/* Run the words after @h's ssh command there; what they print to @out */
static bool there(const struct host *h, const char *words, GString *out, GError **err)
{
	const char *argv[] = { "sh", "-c", "exec $1 -n \"$2\" \"$3\"", "sh", h->ssh, h->name, words, NULL };
	struct mmg_cmd cmd = { .what = h->name, .argv = argv, .out = out };

	return mmg_run(&cmd, err);
}

/* Is it there, what has it, and this program to it */
static bool greet(struct host *h, const char *runner, GError **err)
{
	g_autofree char *words = g_strdup_printf("mkdir -p '%s' && nproc && sed -n 's/^MemAvailable: *//p' /proc/meminfo",
						 h->dir);
	g_autofree char *to = g_strdup_printf("%s:%s/runner/", h->name, h->dir);
	g_autofree char *from = g_strdup_printf("%s/", runner);
	const char *argv[] = { "rsync", "-a", "--delete", "-e", h->ssh, from, to, NULL };
	struct mmg_cmd cmd = { .what = "bringing the program to a host", .argv = argv };
	g_autoptr(GString) out = g_string_new(NULL);
	long long kib;

	if (!there(h, words, out, err))
		return false;
	if (sscanf(out->str, "%d %lld", &h->cpus, &kib) != 2 || h->cpus < 1) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s does not say how many CPUs and how much memory it has", h->name);
		return false;
	}
	h->cpus = MIN(h->cpus, 4096);
	h->mib = kib / 1024;
	return mmg_run(&cmd, err);
}

static struct host *host_new(const char *url, const char *campaign)
{
	const char *ssh = g_getenv("MMGATE_SSH") ?: "ssh";
	struct host *h = g_new0(struct host, 1);
	g_autofree char *base = NULL;
	int port = 0;

	if (!take_apart(url, &h->name, &port, &base)) {
		g_free(h);
		return NULL;
	}
	h->ssh = port ? g_strdup_printf("%s " OPTIONS " -p %d", ssh, port) : g_strdup_printf("%s " OPTIONS, ssh);
	h->dir = g_strdup_printf("%s/%s", base, campaign);
	return h;
}

static void *begin(const struct fleet *f, const char *dir, const char *campaign, GPtrArray *jobs, GError **err)
{
	struct ssh *s = g_new0(struct ssh, 1);
	g_autofree char *runner = g_build_filename(dir, "runner", NULL);
	GError *why = NULL;

	s->f = f;
	s->dir = dir;
	s->jobs = jobs;
	s->hosts = g_ptr_array_new_with_free_func(host_free);
	s->children = g_ptr_array_new();
	for (guint i = 0; i < f->hosts->len && !mmg_interrupted(); i++) {
		struct host *h = host_new(f->hosts->pdata[i], campaign);

		g_clear_error(&why);
		if (h && greet(h, runner, &why)) {
			g_ptr_array_add(s->hosts, h);
		} else if (h) {
			status_note("%s is left out: %s", h->name, why->message);
			host_free(h);
		}
	}
	if (s->hosts->len) {
		g_clear_error(&why);
		return s;
	}
	g_propagate_error(err, why);
	if (err && !*err)
		mmg_check_interrupt(err);
	g_ptr_array_unref(s->hosts);
	g_ptr_array_unref(s->children);
	g_free(s);
	return NULL;
}

static bool room(const struct ssh *s, const struct host *h, const struct fleet_job *j)
{
	long long used = 0;

	if (h->gone || h->running >= (s->f->at_once ? s->f->at_once : h->cpus))
		return false;
	for (guint i = 0; i < s->children->len; i++) {
		const struct child *c = s->children->pdata[i];

		if (s->hosts->pdata[c->host] == h)
			used += ((struct fleet_job *)s->jobs->pdata[c->job])->mib;
	}
	return !h->running || s->f->at_once || used + j->mib + HOST_MIB < h->mib;
}

static void setup(gpointer data)
{
	(void)data;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

static void on_child(GPid pid, gint status, gpointer data)
{
	struct child *c = data;

	g_spawn_close_pid(pid);
	c->ended = true;
	c->status = status;
}

static bool send_out(struct ssh *s, guint job, guint host, GError **err)
{
	struct fleet_job *j = s->jobs->pdata[job];
	struct host *h = s->hosts->pdata[host];
	g_autofree char *folder = g_build_filename(s->dir, j->id, NULL);
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, (char *)"sh", h->ssh, h->name, h->dir, folder, j->id,
			 NULL };
	struct child *c = g_new0(struct child, 1);
	GError *e = NULL;

	if (!g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD |
				      G_SPAWN_STDOUT_TO_DEV_NULL, setup, NULL, &c->pid, &c->in, NULL, &c->err, &e)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot start a shell: %s", e->message);
		g_error_free(e);
		g_free(c);
		return false;
	}
	c->s = s;
	c->job = job;
	c->host = host;
	c->said = g_string_new(NULL);
	g_unix_set_fd_nonblocking(c->err, TRUE, NULL);
	g_child_watch_add(c->pid, on_child, c);
	g_ptr_array_add(s->children, c);
	h->running++;
	j->out = true;
	j->tries++;
	j->where = host;
	g_clear_pointer(&j->why, g_free);
	return true;
}

/* Without a host nothing will come back any more */
static void give_up(struct ssh *s)
{
	for (guint i = 0; i < s->jobs->len; i++) {
		struct fleet_job *j = s->jobs->pdata[i];

		if (j->done || j->out)
			continue;
		j->tries = MAX(j->tries, FLEET_TRIES);
		if (!j->why)
			j->why = g_strdup("no host is left that answers");
	}
}

static bool give(void *state, GError **err)
{
	struct ssh *s = state;
	guint alive = 0;

	for (guint h = 0; h < s->hosts->len; h++)
		alive += !((struct host *)s->hosts->pdata[h])->gone;
	if (!alive)
		give_up(s);
	for (guint i = 0; i < s->jobs->len; i++) {
		struct fleet_job *j = s->jobs->pdata[i];

		for (guint h = 0; h < s->hosts->len && !j->done && !j->out && j->tries < FLEET_TRIES; h++)
			if (room(s, s->hosts->pdata[h], j) && !send_out(s, i, h, err))
				return false;
	}
	return true;
}

static void hear(struct child *c)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(c->err, buf, sizeof(buf))) > 0)
		if (c->said->len < 16384)
			g_string_append_len(c->said, buf, n);
}

static void came_back(struct ssh *s, struct child *c)
{
	struct fleet_job *j = s->jobs->pdata[c->job];
	struct host *h = s->hosts->pdata[c->host];
	g_auto(GStrv) lines = NULL;
	guint n;

	hear(c);
	h->running--;
	j->out = false;
	j->done = fleet_has_result(s->dir, j);
	if (j->done) {
		h->fails = 0;
	} else {
		g_strchomp(c->said->str);
		lines = g_strsplit(c->said->str, "\n", -1);
		n = g_strv_length(lines);
		g_free(j->why);
		j->why = g_strdup_printf("%s: %s", h->name, n && *lines[n - 1] ? lines[n - 1] : "it ended without a result");
		if (++h->fails >= HOST_FAILS) {
			h->gone = true;
			status_note("%s is left alone after %d failures in a row", h->name, HOST_FAILS);
		}
	}
}

static void child_free(struct child *c)
{
	close(c->in);
	close(c->err);
	g_string_free(c->said, TRUE);
	g_free(c);
}

static bool poll_children(void *state, GError **err)
{
	struct ssh *s = state;

	(void)err;
	fleet_wait(POLL_MS);
	for (guint i = s->children->len; i > 0; i--) {
		struct child *c = s->children->pdata[i - 1];

		hear(c);
		if (!c->ended)
			continue;
		came_back(s, c);
		g_ptr_array_remove_index(s->children, i - 1);
		child_free(c);
	}
	return true;
}

static void end(void *state)
{
	struct ssh *s = state;

	/* their stdin ends with them: what runs there is told to end */
	for (guint i = 0; i < s->children->len; i++)
		kill(-((struct child *)s->children->pdata[i])->pid, SIGTERM);
	for (guint i = 0; i < s->children->len; i++) {
		struct child *c = s->children->pdata[i];

		while (!c->ended)
			g_main_context_iteration(NULL, TRUE);
		child_free(c);
	}
	for (guint i = 0; i < s->hosts->len && !s->children->len && !mmg_interrupted(); i++) {
		const struct host *h = s->hosts->pdata[i];
		g_autofree char *words = g_strdup_printf("rm -rf '%s'", h->dir);

		if (!h->gone)
			there(h, words, NULL, NULL);
	}
	g_ptr_array_unref(s->children);
	g_ptr_array_unref(s->hosts);
	g_free(s);
}

const struct fleet_ops ssh_ops = { .begin = begin, .give = give, .poll = poll_children, .end = end };
