// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all kinds of fleets use.
 */
#include "run/fleet.h"

static gboolean on_time(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

void fleet_wait(int ms)
{
	bool over = false;
	guint id = g_timeout_add(ms, on_time, &over);

	while (!over && !mmg_interrupted())
		g_main_context_iteration(NULL, TRUE);
	if (!over)
		g_source_remove(id);
}

bool fleet_has_result(const char *dir, const struct fleet_job *job)
{
	g_autofree char *path = g_build_filename(dir, job->id, "result", "run.json", NULL);

	return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

void fleet_job_free(gpointer p)
{
	struct fleet_job *job = p;

	g_free(job->id);
	g_free(job->why);
	g_free(job);
}
