// SPDX-License-Identifier: GPL-2.0-only
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "region.h"
#include "runner.h"

struct message {
	int cmd;
	u64 arg;
};

static void worker_loop(int in, int out, worker_fn fn, void *state)
{
	struct message m;
	u64 ret;

	while (read(in, &m, sizeof(m)) == sizeof(m)) {
		ret = fn(state, m.cmd, m.arg);
		if (write(out, &ret, sizeof(ret)) != sizeof(ret))
			break;
	}
	_exit(0);
}

void worker_start(struct worker *w, worker_fn fn, void *state)
{
	int to[2], from[2];

	flush_own_tlb();
	region_node();
	if (pipe(to) || pipe(from))
		mmg_broken("pipe: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (w->pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		worker_loop(to[0], from[1], fn, state);
	}
	close(to[0]);
	close(from[1]);
	w->to = to[1];
	w->from = from[0];
}

void worker_send(struct worker *w, int cmd, u64 arg)
{
	struct message m = { .cmd = cmd, .arg = arg };

	if (write(w->to, &m, sizeof(m)) != sizeof(m))
		mmg_broken("the helper process is gone");
}

u64 worker_wait(struct worker *w)
{
	u64 ret;

	/* it has told why, if it could: the first word counts */
	if (read(w->from, &ret, sizeof(ret)) != sizeof(ret))
		mmg_broken("the helper process died");
	return ret;
}

u64 worker_call(struct worker *w, int cmd, u64 arg)
{
	worker_send(w, cmd, arg);
	return worker_wait(w);
}

void worker_forget(struct worker *w)
{
	close(w->to);
	close(w->from);
	memset(w, 0, sizeof(*w));
}

void worker_stop(struct worker *w)
{
	pid_t pid = w->pid;

	/* it ends when there is nothing more to read */
	worker_forget(w);
	waitpid(pid, NULL, 0);
}
