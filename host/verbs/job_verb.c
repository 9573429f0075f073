// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb job: run job folders, each to its folder "result".
 */
#include "run/job.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An earlier result of this very job: its exit status; -1 where there is none */
static int result_before(const struct job *job, const char *to)
{
	json_t *run = job_result(to, job->json, obj_str(job->json, "campaign"), NULL);
	int status = run ? (int)obj_int(run, "exit") : -1;

	json_decref(run);
	return status >= 0 && status <= 4 ? status : -1;
}

/*
 * The results go to a folder of another name first: what is called "result" is whole.  Where another process was
 * faster, its result stays.
 */
static bool move_into_place(const char *part, const char *to, GError **err)
{
	if (!rename(part, to))
		return true;
	if ((errno == ENOTEMPTY || errno == EEXIST) && g_file_test(to, G_FILE_TEST_IS_DIR)) {
		mmg_rmtree(part);
		return true;
	}
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot name the results %s: %s", to, g_strerror(errno));
	return false;
}

/* LAVA finds these lines in what the device says.  Names come from the guest: nothing but plain letters is passed on */
static void say_to_lava(const json_t *run)
{
	static const char *const words[] = { [RESULT_NONE] = "unknown", [RESULT_PASS] = "pass", [RESULT_FAIL] = "fail",
					     [RESULT_BROKEN] = "unknown", [RESULT_SKIP] = "skip" };
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, c) {
		g_autofree char *name = g_strndup(obj_str(c, "name"), 200);

		g_strcanon(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", '.');
		/* a known issue is not what is wrong here */
		printf("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=%s>\n", name,
		       *obj_str(c, "allowed") ? "skip" : words[obj_result(c)]);
	}
	fflush(stdout);
}

static int run_one(struct cli *cli, struct job *job, const char *to, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new();
	g_autofree char *part = g_strdup_printf("%s.part-%s-%d", to, g_get_host_name(), (int)getpid()), *dir = NULL;
	struct suite s = { .opt = cli_run(cli), .kernels = kernels, .plan = job->plan, .repeat = job->repeats,
			   .one_seed = job->one_seed, .verb = job->verb, .out = part, .job = job };
	struct report_forms forms = cli_forms(cli);
	json_t *run, *kernel = json_object_get(job->json, "kernel");
	int status;

	g_ptr_array_add(kernels, job->kernel);
	s.opt.command = job->command;
	s.opt.require = job->require;
	s.opt.tests = job->asked_tests;
	s.opt.machines = job->asked_machines;
	s.machines = job->asked_machines;
	s.opt.seed = job->seed;
	s.opt.shuffle = job->shuffle;
	s.opt.repeat = job->repeats;
	if (!mmg_mkdirs(part, err))
		return MMG_EXIT_BROKEN;
	run = suite_run(&s, &dir, err);
	if (!run || mmg_interrupted()) {
		/* half a result would be taken for a whole one */
		mmg_rmtree(part);
		json_decref(run);
		if (err && !*err)
			mmg_check_interrupt(err);
		return err && *err ? (*err)->code : MMG_EXIT_BROKEN;
	}
	json_object_set_new(run, "kernels", json_pack("[O]", kernel));
	json_object_set_new(run, "id", json_string(obj_str(job->json, "id")));
	json_object_set_new(run, "job", json_pack("{s:s, s:i, s:s}", "campaign", obj_str(job->json, "campaign"), "nr",
						  job->nr, "id", obj_str(job->json, "id")));
	forms.no_history = true;
	if (cli->lava)
		say_to_lava(run);
	status = results_save(run, part, err) && move_into_place(part, to, err) ? reports_make(&forms, run, to, err) :
										    MMG_EXIT_BROKEN;
	json_decref(run);
	return status;
}

static int one(struct cli *cli, const char *dir, GError **err)
{
	struct job *job = job_open(dir, err);
	g_autofree char *to = NULL;
	int status;

	if (!job)
		return (*err)->code;
	to = cli->out ? g_canonicalize_filename(cli->out, NULL) : g_build_filename(job->dir, "result", NULL);
	status = result_before(job, to);
	if (status >= 0) {
		status_note("%s has its result already", job->dir);
	} else if (g_file_test(to, G_FILE_TEST_EXISTS)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s exists and is not the result of this job: remove it, or name another "
			      "folder with --out", to);
		status = MMG_EXIT_USAGE;
	} else {
		status = run_one(cli, job, to, err);
	}
	job_free(job);
	return status;
}

/* Of several jobs a fail counts before what had no answer, and that before nothing */
static int worse(int a, int b)
{
	static const int order[] = { MMG_EXIT_INTERRUPTED, MMG_EXIT_FAIL, MMG_EXIT_USAGE, MMG_EXIT_BROKEN, MMG_EXIT_OK,
				     MMG_EXIT_NOTHING };

	for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return MMG_EXIT_BROKEN;
}

int verb_job(struct cli *cli, GError **err)
{
	int status = MMG_EXIT_NOTHING;

	if (!cli->args->len || (cli->out && cli->args->len > 1)) {
		mmg_set_error(err, MMG_EXIT_USAGE, cli->args->len ? "--out is for one job at a time" :
			      "job takes the folders to run, such as DIR/00001 of what ./run.sh jobs wrote");
		return MMG_EXIT_USAGE;
	}
	for (guint i = 0; i < cli->args->len; i++) {
		g_autoptr(GError) e = NULL;
		int this = one(cli, cli->args->pdata[i], &e);

		status = worse(status, this);
		if (!e)
			continue;
		if (cli->args->len == 1 || e->code == MMG_EXIT_INTERRUPTED) {
			g_propagate_error(err, g_steal_pointer(&e));
			return this;
		}
		fprintf(stderr, "mmgate: %s\n", e->message);
	}
	return status;
}
