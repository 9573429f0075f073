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
