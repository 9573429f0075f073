// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGINT, SIGTERM and SIGHUP: noticed here, acted upon by whoever waits.
 */
#include "base/base.h"

#include <glib-unix.h>
#include <signal.h>

static volatile sig_atomic_t got_signal;

static gboolean on_signal(gpointer data)
{
	got_signal = GPOINTER_TO_INT(data);
	return G_SOURCE_CONTINUE;
}

/* What nohup or a shell's background job told this program to ignore stays ignored */
static void watch(int sig)
{
	struct sigaction old;

	if (sigaction(sig, NULL, &old) || old.sa_handler != SIG_IGN)
		g_unix_signal_add(sig, on_signal, GINT_TO_POINTER(sig));
}

static void watch_signals(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	watch(SIGINT);
	watch(SIGTERM);
	watch(SIGHUP);
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
