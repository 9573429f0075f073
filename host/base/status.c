// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the program is doing, on stderr: a live line on a terminal, plain lines
 * elsewhere.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool live, quiet, verbose, drawn;
static gint64 started;
static char *now_doing, *progress;
static guint ticker;

static int width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 20)
		return 80;
	return w.ws_col;
}

void status_clear(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = false;
}

static void draw(void)
{
	int secs = (g_get_monotonic_time() - started) / G_USEC_PER_SEC;
	char *line, *cut;

	if (!live || quiet || !now_doing)
		return;
	line = g_strdup_printf("[%d:%02d] %s%s%s", secs / 60, secs % 60, now_doing,
			       progress ? "  " : "", progress ? progress : "");
	cut = g_utf8_substring(line, 0, MIN(g_utf8_strlen(line, -1), width() - 1));
	fprintf(stderr, "\r\033[K%s", cut);
	fflush(stderr);
	drawn = true;
	g_free(cut);
	g_free(line);
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	draw();
	return G_SOURCE_CONTINUE;
}

void status_init(bool be_quiet, bool say_debug)
{
	const char *term = g_getenv("TERM");

	started = g_get_monotonic_time();
	quiet = be_quiet;
	verbose = say_debug;
	live = isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
	if (live && !quiet && !ticker)
		ticker = g_timeout_add(500, on_tick, NULL);
}

static char *vtext(const char *fmt, va_list ap)
{
	char *raw = g_strdup_vprintf(fmt, ap), *clean = mmg_clean(raw, -1, 2000);

	g_free(raw);
	return clean;
}

void status_set(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vtext(fmt, ap);
	va_end(ap);
	g_clear_pointer(&progress, g_free);
	if (!live && !quiet && g_strcmp0(text, now_doing))
		fprintf(stderr, "mmgate: %s\n", text);
	g_free(now_doing);
	now_doing = text;
	draw();
}

void status_progress(const char *fmt, ...)
{
	static gint64 last;
	gint64 now = g_get_monotonic_time();
	va_list ap;

	if (!live || quiet)
		return;
	va_start(ap, fmt);
	g_free(progress);
	progress = vtext(fmt, ap);
	va_end(ap);
	if (now - last > 100000) {
		last = now;
		draw();
	}
}

static void note(const char *fmt, va_list ap)
{
	char *text = vtext(fmt, ap);

	status_clear();
	fprintf(stderr, "mmgate: %s\n", text);
	g_free(text);
	draw();
}

void status_note(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	note(fmt, ap);
	va_end(ap);
}

void status_debug(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	note(fmt, ap);
	va_end(ap);
}
