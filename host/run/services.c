// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs in the words of services: GitLab, GitHub, Jenkins, LAVA.  All but Jenkins's are JSON, which
 * is YAML too, so that no name needs a rule of quoting.
 */
#include "run/services.h"

#include <stdlib.h>
#include <string.h>

/* GitLab takes 200 jobs of a matrix (parallel:matrix), GitHub 256 of a job */
#define GITLAB_MATRIX	200
#define GITHUB_MATRIX	256
#define QEMU		"apt-get update -q && apt-get install -y -q --no-install-recommends qemu-system-x86 e2fsprogs"

static bool save(const char *dir, const char *name, json_t *j, GError **err)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	char *text = json_dumps(j, JSON_INDENT(1));
	g_autofree char *whole = g_strconcat("# SPDX-License-Identifier: GPL-2.0-only\n"
					     "# Written by ./run.sh jobs: JSON, which is YAML too.\n", text, "\n", NULL);
	bool ok = mmg_write_atomic(path, whole, -1, err);

	free(text);
	json_decref(j);
	return ok;
}

/* The ids of jobs number @from to before @to */
static json_t *ids(const json_t *jobs, size_t from, size_t to)
{
	json_t *list = json_array();

	for (size_t i = from; i < to && i < json_array_size(jobs); i++)
		json_array_append(list, json_object_get(json_array_get(jobs, i), "id"));
	return list;
}

/* merge makes a table of kernels with the checkout's files; anything else it can do alone */
static char *merge_words(const json_t *all, const char *path)
{
	if (json_object_get(json_object_get(all, "run"), "matrix"))
		return g_strdup_printf("./run.sh -y merge %s --no-history --junit --html --out mmgate-results", path);
	return g_strdup_printf("%s/runner/mmgate merge %s --no-history --junit --html --out mmgate-results", path, path);
}

/* A child pipeline: the parent's job "jobs" wrote the folder and has it as its artifact */
static bool gitlab(const json_t *all, const char *dir, const char *path, GError **err)
{
	const json_t *jobs = json_object_get(all, "jobs");
	g_autofree char *merge = merge_words(all, path);
	g_autofree char *words = g_strdup_printf("%s/runner/mmgate job %s/$JOB", path, path);
	g_autofree char *result = g_strdup_printf("%s/$JOB/result", path);
	json_t *parent = json_pack("{s:s, s:s}", "pipeline", "$PARENT_PIPELINE_ID", "job", "jobs");
	json_t *needs = json_pack("[O]", parent), *ci;
	size_t n = json_array_size(jobs);

	ci = json_pack("{s:[s, s], s:{s:s}}", "stages", "run", "merge", "default", "image", "debian:12");
	for (size_t i = 0; i < n; i += GITLAB_MATRIX) {
		g_autofree char *name = g_strdup_printf("run-%zu", i / GITLAB_MATRIX + 1);

		/* a verdict of 3 or 4 is an answer that could not be had: a warning, and merge says so */
		json_object_set_new(ci, name, json_pack("{s:s, s:[O], s:{s:[{s:o}]}, s:[s, s], s:{s:s, s:[s]}, s:{s:[i, i]}, "
							"s:{s:i, s:[s, s]}}", "stage", "run", "needs", parent,
							"parallel", "matrix", "JOB", ids(jobs, i, i + GITLAB_MATRIX),
							"script", QEMU, words, "artifacts", "when", "always", "paths",
							result, "allow_failure", "exit_codes", 3, 4, "retry", "max", 2,
							"when", "runner_system_failure", "stuck_or_timeout_failure"));
		json_array_append_new(needs, json_pack("{s:s}", "job", name));
	}
	json_object_set_new(ci, "merge", json_pack("{s:s, s:s, s:o, s:[s], s:{s:s, s:[s], s:{s:s}}}", "stage", "merge", "when",
						   "always", "needs", needs, "script", merge, "artifacts", "when",
						   "always", "paths", "mmgate-results", "reports", "junit",
						   "mmgate-results/junit.xml"));
	json_decref(parent);
	return save(dir, "gitlab-ci.yml", ci, err);
}

static json_t *step_run(const char *words)
{
	return json_pack("{s:s}", "run", words);
}

static json_t *step_take(const char *pattern, const char *to, bool all)
{
	json_t *with = json_pack("{s:s, s:s}", all ? "pattern" : "name", pattern, "path", to);

	if (all)
		json_object_set_new(with, "merge-multiple", json_true());
	return json_pack("{s:s, s:o}", "uses", "actions/download-artifact@v4", "with", with);
}

static json_t *step_keep(const char *name, const char *path)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}}", "if", "always()", "uses", "actions/upload-artifact@v4", "with", "name",
			 name, "path", path);
}

/* Artifacts lose the bits that make a program one, and links become copies: the folder travels as a tar */
static bool github(const json_t *all, const char *dir, const char *path, const GPtrArray *args, GError **err)
{
	const json_t *jobs = json_object_get(all, "jobs");
	g_autofree char *merge = merge_words(all, path);
	const char *unpack = "tar -xf mmgate-jobs.tar";
	g_autofree char *pack = g_strdup_printf("tar -cf mmgate-jobs.tar %s", path);
	g_autofree char *run = g_strdup_printf("%s/runner/mmgate job %s/${{ matrix.job }}", path, path);
	g_autofree char *keep = g_strdup_printf("tar -cf result-${{ matrix.job }}.tar %s/${{ matrix.job }}/result", path);
	g_autoptr(GString) words = g_string_new("./run.sh -y jobs");
	json_t *needs = json_pack("[s]", "jobs"), *list = json_object(), *o;
	json_t *checkout = json_pack("{s:s}", "uses", "actions/checkout@v4");
	size_t n = json_array_size(jobs);

	for (guint i = 0; i < args->len; i++) {
		g_autofree char *q = g_shell_quote(args->pdata[i]);

		g_string_append_printf(words, " %s", q);
	}
	g_string_append_printf(words, " --out %s", path);
	json_object_set_new(list, "jobs", json_pack("{s:s, s:[O, o, o, o]}", "runs-on", "ubuntu-24.04", "steps", checkout,
						    step_run(words->str), step_run(pack),
						    step_keep("mmgate-jobs", "mmgate-jobs.tar")));
	for (size_t i = 0; i < n; i += GITHUB_MATRIX) {
		g_autofree char *name = g_strdup_printf("run-%zu", i / GITHUB_MATRIX + 1);

		o = json_pack("{s:s, s:s, s:{s:b, s:{s:o}}, s:[o, o, o, o, o, o]}", "runs-on", "ubuntu-24.04", "needs", "jobs",
			      "strategy", "fail-fast", 0, "matrix", "job", ids(jobs, i, i + GITHUB_MATRIX), "steps",
			      step_take("mmgate-jobs", ".", false), step_run(unpack), step_run("sudo sh -c '" QEMU "'"),
			      step_run(run), json_pack("{s:s, s:s}", "if", "always()", "run", keep),
			      step_keep("result-${{ matrix.job }}", "result-${{ matrix.job }}.tar"));
		json_object_set_new(list, name, o);
		json_array_append_new(needs, json_string(name));
	}
	json_object_set_new(list, "merge", json_pack("{s:s, s:s, s:o, s:[O, o, o, o, o, o, o]}", "if", "always()", "runs-on",
						     "ubuntu-24.04", "needs", needs, "steps", checkout,
						     step_take("mmgate-jobs", ".", false), step_run(unpack),
						     step_take("result-*", "results", true),
						     step_run("for f in results/*.tar; do [ ! -e \"$f\" ] || tar -xf \"$f\"; done"),
						     step_run(merge), step_keep("mmgate-results", "mmgate-results")));
	json_decref(checkout);
	return save(dir, "github.yml", json_pack("{s:s, s:{s:{}}, s:o}", "name", "mmgate", "on", "workflow_dispatch", "jobs",
						 list), err);
}

/* Ids are digits and @path is plain: nothing here needs Groovy's quoting, or the shell's */
static bool jenkins(const json_t *all, const char *dir, const char *path, GError **err)
{
	const json_t *jobs = json_object_get(all, "jobs");
	g_autofree char *file = g_build_filename(dir, "Jenkinsfile", NULL), *merge = merge_words(all, path);
	g_autoptr(GString) s = g_string_new(NULL);
	size_t n = json_array_size(jobs);

	g_string_append(s, "// SPDX-License-Identifier: GPL-2.0-only\n// Written by ./run.sh jobs; the workspace holds the folder of jobs.\n"
			"pipeline {\n  agent any\n  stages {\n    stage('run') {\n      matrix {\n        axes {\n"
			"          axis {\n            name 'JOB'\n            values ");
	for (size_t i = 0; i < n; i++)
		g_string_append_printf(s, "%s'%s'", i ? ", " : "", obj_str(json_array_get(jobs, i), "id"));
	g_string_append_printf(s, "\n          }\n        }\n        stages {\n          stage('job') {\n            steps {\n"
			       "              catchError(buildResult: 'SUCCESS', stageResult: 'FAILURE') {\n"
			       "                sh '%s/runner/mmgate job %s/$JOB'\n              }\n            }\n          }\n"
			       "        }\n      }\n    }\n    stage('merge') {\n      steps {\n        sh '%s'\n      }\n    }\n  }\n"
			       "  post {\n    always {\n      junit 'mmgate-results/junit.xml'\n"
			       "      archiveArtifacts 'mmgate-results/**'\n    }\n  }\n}\n", path, path, merge);
	return mmg_write_atomic(file, s->str, s->len, err);
}

/* A LAVA job for a device that is a host with QEMU, reached by ssh, which sees the folder under @path */
static json_t *lava_job(const json_t *job, const char *path)
{
	const char *id = obj_str(job, "id");
	int secs = obj_int(job, "timeout");
	g_autofree char *name = g_strdup_printf("mmgate %s on %s", id, obj_str(job, "machine"));
	g_autofree char *short_name = g_strdup_printf("mmgate-%s", id);
	/* the exit status last: it is the verdict, and is there where no test gave a result */
	g_autofree char *words = g_strdup_printf("%s/runner/mmgate job -q --lava %s/%s; status=$?; [ $status = 0 ] && r=pass "
						 "|| r=fail; [ $status -lt 3 ] || r=unknown; lava-test-case verdict "
						 "--result $r", path, path, id);
	json_t *definition, *actions = json_array();

	json_array_append_new(actions, json_pack("{s:{s:s, s:s, s:{s:i}}}", "deploy", "to", "ssh", "os", "debian", "timeout",
						 "minutes", 5));
	json_array_append_new(actions, json_pack("{s:{s:s, s:s, s:[s, s], s:{s:i}}}", "boot", "method", "ssh", "connection",
						 "ssh", "prompts", "# ", "\\$ ", "timeout", "minutes", 5));
	definition = json_pack("{s:s, s:s, s:s, s:s, s:{s:{s:s, s:s, s:s}, s:{s:[s]}}}", "from", "inline", "name", short_name,
			       "path", "inline/mmgate.yaml", "lava-signal", "stdout", "repository", "metadata", "format",
			       "Lava-Test Test Definition 1.0", "name", short_name, "description",
			       "reclaim and zone reserves under QEMU", "run", "steps", words);
	json_array_append_new(actions, json_pack("{s:{s:{s:i}, s:[o]}}", "test", "timeout", "seconds", secs + 300,
						 "definitions", definition));
	return json_pack("{s:s, s:s, s:s, s:s, s:{s:{s:i}, s:{s:i}, s:{s:i}}, s:o}", "job_name", name, "device_type", "ssh",
			 "visibility", "public", "priority", "medium", "timeouts", "job", "seconds", secs + 1200, "action",
			 "seconds", secs + 600, "connection", "minutes", 2, "actions", actions);
}

static bool lava(const json_t *all, const char *dir, const char *path, GError **err)
{
	json_t *job;
	size_t i;

	json_array_foreach(json_object_get(all, "jobs"), i, job) {
		g_autofree char *folder = g_build_filename(dir, obj_str(job, "id"), NULL);

		if (!save(folder, "lava.yaml", lava_job(job, path), err))
			return false;
	}
	return true;
}

bool services_known(const GPtrArray *names, GError **err)
{
	static const char *const known[] = { "gitlab", "github", "jenkins", "lava", NULL };

	for (guint i = 0; i < names->len; i++)
		if (!g_strv_contains(known, names->pdata[i])) {
			mmg_set_error(err, MMG_EXIT_USAGE, "--for %s: it is one of gitlab, github, jenkins, lava",
				      (char *)names->pdata[i]);
			return false;
		}
	return true;
}

bool services_write(const char *name, const json_t *all, const char *dir, const char *path, const GPtrArray *args,
		    GError **err)
{
	if (strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/") != strlen(path)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--for %s: a folder named %s would need quoting in the service's file: "
			      "letters, digits and ._+-/ only", name, path);
		return false;
	}
	if (!strcmp(name, "gitlab"))
		return gitlab(all, dir, path, err);
	if (!strcmp(name, "github"))
		return github(all, dir, path, args, err);
	return !strcmp(name, "jenkins") ? jenkins(all, dir, path, err) : lava(all, dir, path, err);
}
