// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal.h"
#include "runner.h"
#include "trace.h"

#define TRACEFS		"/sys/kernel/tracing"

static char dir[128];

static int put(const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return mmg_try_write(path, "%s", text);
}

/* Opening it with O_TRUNC empties the buffer */
static void clear(void)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/trace", dir);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

bool trace_has(const char *event)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), TRACEFS "/events/%s/enable", event);
	return !access(path, W_OK);
}

int trace_start(const char *event, size_t kib)
{
	char text[256];
	int err;

	if (!dir[0]) {
		snprintf(dir, sizeof(dir), TRACEFS "/instances/mmgate.%d", getpid());
		err = mmg_journal_remove_dir(dir);
		if (err || (mkdir(dir, 0700) && errno != EEXIST)) {
			err = err ? err : -errno;
			dir[0] = 0;
			return err;
		}
	}
	snprintf(text, sizeof(text), "%zu", kib);
	put("buffer_size_kb", text);
	clear();
	snprintf(text, sizeof(text), "events/%s/enable", event);
	err = put(text, "1");
	return err ? err : put("tracing_on", "1");
}

char *trace_stop(void)
{
	char path[PATH_MAX], *text;

	put("tracing_on", "0");
	put("events/enable", "0");
	snprintf(path, sizeof(path), "%s/trace", dir);
	text = mmg_read_file(path, NULL);
	return text;
}

long trace_lost(void)
{
	char path[PATH_MAX], *text, *p;
	long sum = 0;
	int cpu;

	for (cpu = 0; cpu < 4096; cpu++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", dir, cpu);
		text = mmg_read_file(path, NULL);
		if (!text)
			break;
		p = strstr(text, "overrun: ");
		sum += p ? strtol(p + 9, NULL, 10) : 0;
		free(text);
	}
	return cpu ? sum : -1;
}
