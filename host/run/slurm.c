// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs as elements of Slurm's job arrays.  The folder of jobs is on a file system that the nodes
 * share, as Slurm asks for anyway; sbatch's own variables (SBATCH_PARTITION, SBATCH_ACCOUNT and so
 * on) choose the rest.
 */
#include "run/fleet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_MAX	1000		/* Slurm's MaxArraySize is 1001 where nobody set it */
#define POLL_MS		2000
#define SILENT_POLLS	300		/* without an answer of the controller: ten minutes */
#define GONE_POLLS	3		/* a shared file system may show a result late */

struct slurm {
	const struct fleet *f;
	const char *dir;
	GPtrArray *jobs;
	GPtrArray *arrays;		/* ids, char *: of this run */
	GArray *gone;			/* by job: polls since it left the queue */
	int silent;
};

static char *ids_path(const struct slurm *s)
{
	return g_build_filename(s->dir, "slurm.ids", NULL);
}

static void cancel(const char *id)
{
	const char *argv[] = { "scancel", "-Q", "--", id, NULL };
	int status;
	struct mmg_cmd cmd = { .what = "taking back an array", .argv = argv, .expect = &status };

	mmg_run(&cmd, NULL);
}

/* What a run that was killed left in the queue would be done twice */
static void cancel_old(const struct slurm *s)
{
	g_autofree char *path = ids_path(s), *text = NULL;
	g_auto(GStrv) ids = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	ids = g_strsplit(text, "\n", -1);
	for (char **id = ids; *id; id++)
		if (**id && strspn(*id, "0123456789") == strlen(*id))
			cancel(*id);
	unlink(path);
}

static void *begin(const struct fleet *f, const char *dir, const char *campaign, GPtrArray *jobs, GError **err)
{
	static const char *const needed[] = { "sbatch", "squeue", "scancel" };
	struct slurm *s;

	(void)campaign;
	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++) {
		g_autofree char *path = g_find_program_in_path(needed[i]);

		if (!path) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "--slurm: no %s in PATH; Debian has it in slurm-client",
				      needed[i]);
			return NULL;
		}
	}
	s = g_new0(struct slurm, 1);
	s->f = f;
	s->dir = dir;
	s->jobs = jobs;
	s->arrays = g_ptr_array_new_with_free_func(g_free);
	s->gone = g_array_sized_new(FALSE, TRUE, sizeof(int), jobs->len);
	g_array_set_size(s->gone, jobs->len);
	cancel_old(s);
	return s;
}

/* An array's elements read their job from a list; what they say is kept beside it */
static char *array_script(const struct slurm *s, const char *list)
{
	g_autofree char *dir = g_shell_quote(s->dir), *file = g_shell_quote(list);

	return g_strdup_printf("#!/bin/sh\nid=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" %s) || exit 3\n"
			       "exec %s/runner/mmgate job -q %s/\"$id\"\n", file, dir, dir);
}

static bool remember(const struct slurm *s, GError **err)
{
	g_autofree char *path = ids_path(s);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < s->arrays->len; i++)
		g_string_append_printf(text, "%s\n", (char *)s->arrays->pdata[i]);
	return mmg_write_atomic(path, text->str, text->len, err);
}

/* Submit @n jobs from number @from of @ready as one array */
static bool submit(struct slurm *s, const GPtrArray *ready, guint from, guint n, GError **err)
{
	g_autofree char *base = g_strdup_printf("array-%u", s->arrays->len + 1);
	g_autofree char *list = g_strdup_printf("%s/%s.list", s->dir, base);
	g_autofree char *file = g_strdup_printf("%s/%s.sh", s->dir, base), *script = array_script(s, list);
	g_autofree char *output = g_strdup_printf("--output=%s/slurm-%%A-%%a.log", s->dir);
	g_autofree char *array = s->f->at_once ? g_strdup_printf("--array=1-%u%%%d", n, s->f->at_once) :
						 g_strdup_printf("--array=1-%u", n);
	g_autofree char *mem = NULL, *limit = NULL;
	g_autoptr(GString) ids = g_string_new(NULL), out = g_string_new(NULL);
	const char *argv[] = { "sbatch", "--parsable", "--job-name=mmgate", "--requeue", array, output, NULL, NULL,
			       file, NULL };
	struct mmg_cmd cmd = { .what = "submitting an array to Slurm", .argv = argv, .out = out };
	long long mib = 0;
	int secs = 0;

	for (guint i = from; i < from + n; i++) {
		const struct fleet_job *j = ready->pdata[i];

		g_string_append_printf(ids, "%s\n", j->id);
		mib = MAX(mib, j->mib);
		secs = MAX(secs, j->timeout);
	}
	argv[6] = mem = g_strdup_printf("--mem=%lldM", mib);
	/* some minutes to start and to write; Slurm's unit is a minute */
	argv[7] = limit = g_strdup_printf("--time=%d", secs / 60 + 6);
	if (!mmg_write_atomic(list, ids->str, ids->len, err) || !mmg_write_atomic(file, script, -1, err) ||
	    !mmg_run(&cmd, err))
		return false;
	/* ID, or ID;CLUSTER */
	g_string_truncate(out, strspn(out->str, "0123456789"));
	if (!out->len) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "sbatch gave no number for %s", file);
		return false;
	}
	g_ptr_array_add(s->arrays, g_strdup(out->str));
	for (guint i = from; i < from + n; i++) {
		struct fleet_job *j = ready->pdata[i];

		j->out = true;
		j->tries++;
		g_clear_pointer(&j->why, g_free);
		/* array and element in one number */
		j->where = (s->arrays->len - 1) * (ARRAY_MAX + 1) + i - from + 1;
	}
	return remember(s, err);
}

static bool give(void *state, GError **err)
{
	struct slurm *s = state;
	g_autoptr(GPtrArray) ready = g_ptr_array_new();
	bool ok = true;

	for (guint i = 0; i < s->jobs->len; i++) {
		struct fleet_job *j = s->jobs->pdata[i];

		if (!j->done && !j->out && j->tries < FLEET_TRIES) {
			g_ptr_array_add(ready, j);
			g_array_index(s->gone, int, i) = 0;
		}
	}
	for (guint i = 0; ok && i < ready->len; i += ARRAY_MAX)
		ok = submit(s, ready, i, MIN(ARRAY_MAX, ready->len - i), err);
	return ok;
}

/* What is still in the queue, "ARRAY_ELEMENT" -> state; NULL where the controller gave no answer */
static GHashTable *queue(const struct slurm *s)
{
	GHashTable *in = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	bool ok = true;

	/* one at a time: squeue refuses a list with a number that it has forgotten */
	for (guint i = 0; ok && i < s->arrays->len; i++) {
		const char *argv[] = { "squeue", "-h", "-r", "-o", "%F_%K %T", "-j", s->arrays->pdata[i], NULL };
		g_autoptr(GString) out = g_string_new(NULL);
		g_autoptr(GError) why = NULL;
		struct mmg_cmd cmd = { .what = "asking Slurm for its queue", .argv = argv, .out = out };
		g_auto(GStrv) lines = NULL;

		/* a number that it has forgotten is one whose jobs have all left */
		ok = mmg_run(&cmd, &why) || strstr(why->message, "Invalid job id");
		lines = g_strsplit(out->str, "\n", -1);
		for (char **l = lines; ok && *l; l++) {
			char *blank = strchr(*l, ' ');

			if (blank)
				g_hash_table_insert(in, g_strndup(*l, blank - *l), g_strdup(blank + 1));
		}
	}
	if (ok)
		return in;
	g_hash_table_unref(in);
	return NULL;
}

static bool poll_queue(void *state, GError **err)
{
	struct slurm *s = state;
	g_autoptr(GHashTable) in = NULL;

	fleet_wait(POLL_MS);
	if (mmg_interrupted())
		return true;
	in = queue(s);
	if (!in && ++s->silent > SILENT_POLLS) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "Slurm's controller has not answered for ten minutes; "
			      "--resume goes on with what is there");
		return false;
	}
	if (in)
		s->silent = 0;
	for (guint i = 0; i < s->jobs->len; i++) {
		struct fleet_job *j = s->jobs->pdata[i];
		g_autofree char *key = NULL;
		const char *array;

		if (!j->out)
			continue;
		array = s->arrays->pdata[j->where / (ARRAY_MAX + 1)];
		if (fleet_has_result(s->dir, j)) {
			j->done = true;
			j->out = false;
			continue;
		}
		key = g_strdup_printf("%s_%d", array, j->where % (ARRAY_MAX + 1));
		if (!in || g_hash_table_contains(in, key) || ++g_array_index(s->gone, int, i) < GONE_POLLS)
			continue;
		j->out = false;
		g_free(j->why);
		j->why = g_strdup_printf("element %s left Slurm's queue without a result", key);
	}
	return true;
}

static void end(void *state)
{
	struct slurm *s = state;
	bool any = false;

	for (guint i = 0; i < s->jobs->len; i++)
		any |= ((struct fleet_job *)s->jobs->pdata[i])->out;
	/* after a signal mmg_run() runs nothing: what is left is in slurm.ids, for --resume */
	for (guint i = 0; any && i < s->arrays->len; i++) {
		char *argv[] = { (char *)"scancel", (char *)"-Q", s->arrays->pdata[i], NULL };

		g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
			     G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	}
	g_ptr_array_unref(s->arrays);
	g_array_unref(s->gone);
	g_free(s);
}

const struct fleet_ops slurm_ops = { .begin = begin, .give = give, .poll = poll_queue, .end = end };
