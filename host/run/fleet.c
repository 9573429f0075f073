// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs given out until each has a result, or was lost too often.
 */
#include "run/fleet.h"

struct turn {
	GPtrArray *jobs;
	GArray *told;			/* bool, by job: its end was told */
	void (*ended)(guint nr, const char *why, void *data);
	void *data;
	guint left;
};

static void tell(struct turn *t, guint nr)
{
	struct fleet_job *j = t->jobs->pdata[nr];
	g_autofree char *why = NULL;

	if (!j->done)
		why = g_strdup_printf("%s (given out %d times)", j->why ? j->why : "nothing came back", j->tries);
	g_array_index(t->told, bool, nr) = true;
	t->left--;
	t->ended(nr, why, t->data);
}

/* Tell of those that have ended; one that left nothing is given out again */
static void look(struct turn *t, bool (*enough)(void *data))
{
	for (guint i = 0; i < t->jobs->len && !enough(t->data); i++) {
		struct fleet_job *j = t->jobs->pdata[i];

		if (g_array_index(t->told, bool, i) || j->out)
			continue;
		if (j->done || j->tries >= FLEET_TRIES)
			tell(t, i);
		else if (j->why)
			status_note("job %s is given out again: %s", j->id, j->why);
	}
}

bool fleet_run(const struct fleet *f, const char *dir, const char *campaign, GPtrArray *jobs,
	       void (*ended)(guint nr, const char *why, void *data), bool (*enough)(void *data), void *data,
	       GError **err)
{
	const struct fleet_ops *ops = f->slurm ? &slurm_ops : &ssh_ops;
	struct turn t = { .jobs = jobs, .ended = ended, .data = data, .left = jobs->len };
	bool ok = true;
	void *state;

	t.told = g_array_sized_new(FALSE, TRUE, sizeof(bool), jobs->len);
	g_array_set_size(t.told, jobs->len);
	look(&t, enough);
	state = t.left && !enough(data) ? ops->begin(f, dir, campaign, jobs, err) : NULL;
	if (t.left && !enough(data) && !state)
		ok = false;
	while (ok && t.left && !enough(data) && !mmg_interrupted()) {
		ok = ops->give(state, err) && ops->poll(state, err);
		look(&t, enough);
		status_progress("%u of %u jobs done", jobs->len - t.left, jobs->len);
	}
	if (state)
		ops->end(state);
	g_array_unref(t.told);
	return ok;
}
