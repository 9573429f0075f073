// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb coverage: build the kernel so that it counts what runs of the guarded files, run the
 * tests, and say what of the guarded functions they reach.
 */
#include <stdio.h>
#include <string.h>

#include "report/report_coverage.h"
#include "source/guarded.h"
#include "verbs/verbs.h"

/**
 * struct job - one answer
 * @from:	coverage.json of earlier runs whose counts are added (char *)
 */
struct job {
	struct cli *cli;
	struct source *src;
	GPtrArray *guarded, *files, *from;
	struct build_result *build;
	struct coverage *coverage;
};

/* Words are a source, or folders of earlier answers */
static const char *take_words(struct job *job, GError **err)
{
	const char *source = NULL;

	for (guint i = 0; i < job->cli->args->len; i++) {
		const char *word = job->cli->args->pdata[i];
		g_autofree char *path = g_build_filename(word, "coverage.json", NULL);

		if (g_str_has_prefix(word, "debian-source:") && !source) {
			source = word;
		} else if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
			g_ptr_array_add(job->from, g_steal_pointer(&path));
		} else {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s has no coverage.json of an earlier run, and is not the one "
				      "debian-source:VERSION", word);
			break;
		}
	}
	return source;
}

static bool build(struct job *job, GError **err)
{
	g_autoptr(GPtrArray) fragments = g_ptr_array_new(), notes = coverage_notes(job->files);
	g_autoptr(GHashTable) overlay = overlay_new();
	struct build_spec spec = { .src = job->src, .overlay = overlay, .arch = cli_arch(job->cli), .label = "coverage",
				   .fragments = fragments, .jobs = job->cli->jobs, .keep = notes };

	for (guint i = 0; i < job->cli->config->len; i++)
		g_ptr_array_add(fragments, job->cli->config->pdata[i]);
	g_ptr_array_add(fragments, (char *)"coverage");
	if (!profile_overlay(job->src, job->files, overlay, err))
		return false;
	job->build = kernel_build(&spec, err);
	if (job->build && !job->build->objects) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s does not say where it was built: remove it", job->build->dir);
		return false;
	}
	return job->build;
}

static bool add_boots(struct job *job, json_t *run, const char *dir, GError **err)
{
	json_t *boot;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, boot) {
		const char *sub = json_string_value(json_object_get(boot, "dir"));
		g_autofree char *artifacts = g_build_filename(dir, sub && *sub ? sub : "-", "artifacts", NULL);

		status_set("reading the counts of boot %zu", i + 1);
		if (!coverage_add_boot(job->coverage, job->build, artifacts, err))
			return false;
	}
	return true;
}

/* Both families where no test is named */
static json_t *run_tests(struct job *job, char **dir, GError **err)
{
	const struct kernel_options how = cli_kernel(job->cli);
	g_autoptr(GPtrArray) kernels = g_ptr_array_new(), families = g_ptr_array_new();
	struct suite s = { .opt = cli_run(job->cli), .kernels = kernels, .tests = job->cli->tests,
			   .machines = job->cli->machines, .repeat = MAX(job->cli->repeat, 1), .verb = "coverage" };
	struct kernel *k = kernel_from_build(&how, job->src, job->build, job->src->version, NULL, err);
	json_t *run;

	if (!k)
		return NULL;
	k->keep = coverage_kept(job->files, job->build->objects);
	g_ptr_array_add(kernels, k);
	g_ptr_array_add(families, (char *)"kvm");
	g_ptr_array_add(families, (char *)"mm");
	if (!s.tests->len)
		s.tests = families;
	run = suite_run(&s, dir, err);
	kernel_free(k);
	return run;
}

/* Write it, print it; @status: of the tests */
static int answer(struct job *job, const char *dir, int status, GError **err)
{
	const struct coverage_sum all = coverage_sum(job->coverage, NULL);

	if (!coverage_reasons(job->coverage, NULL, err) || !report_coverage(job->coverage, dir, err))
		return MMG_EXIT_BROKEN;
	status_clear();
	if (job->cli->json) {
		json_t *j = coverage_json(job->coverage);

		json_dumpf(j, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(j);
	} else if (!job->cli->quiet) {
		report_coverage_text(job->coverage, stdout);
	}
	fflush(stdout);
	if (!job->cli->quiet)
		fprintf(stderr, "mmgate: results in %s, the page is coverage.html\n", dir);
	fprintf(stderr, "mmgate: %u of %u lines and %u of %u branches of the guarded functions are reached\n",
		all.lines_reached, all.lines, all.branches_reached, all.branches);
	return status;
}

/* Only add up what earlier runs found */
static int add_up(struct job *job, GError **err)
{
	g_autofree char *dir = NULL;

	job->coverage = coverage_load(job->from->pdata[0], err);
	for (guint i = 1; job->coverage && i < job->from->len; i++)
		if (!coverage_add_file(job->coverage, job->from->pdata[i], err))
			return (*err)->code;
	dir = job->coverage ? results_make_dir(job->cli->out, err) : NULL;
	return dir ? answer(job, dir, MMG_EXIT_OK, err) : (*err)->code;
}

static int count(struct job *job, GError **err)
{
	bool json = job->cli->json, quiet = job->cli->quiet;
	g_autofree char *dir = NULL;
	int status = MMG_EXIT_BROKEN;
	json_t *run;

	if (!build(job, err))
		return (*err)->code;
	job->coverage = coverage_new(job->src, cli_arch(job->cli), job->build, job->guarded, err);
	for (guint i = 0; job->coverage && i < job->from->len; i++)
		if (!coverage_add_file(job->coverage, job->from->pdata[i], err))
			return (*err)->code;
	run = job->coverage ? run_tests(job, &dir, err) : NULL;
	if (!run)
		return (*err)->code;
	if (add_boots(job, run, dir, err)) {
		/* the tests' own text is in summary.txt; here the table is the answer */
		job->cli->json = false;
		job->cli->quiet = true;
		status = cli_reports(job->cli, run, dir, err);
		job->cli->json = json;
		job->cli->quiet = quiet;
		if (!*err)
			status = answer(job, dir, status, err);
	}
	json_decref(run);
	return *err ? (*err)->code : status;
}

/* What would be built, counted and run; nothing is */
static int dry_run(const struct job *job)
{
	printf("source %s (%s) for %s\n", job->src->name, job->src->tree, cli_arch(job->cli));
	for (guint i = 0; i < job->files->len; i++)
		printf("counted file %s\n", (char *)job->files->pdata[i]);
	for (guint i = 0; i < job->guarded->len; i++)
		printf("function %s\n", ((struct guarded *)job->guarded->pdata[i])->name);
	for (guint i = 0; i < job->cli->tests->len; i++)
		printf("test %s\n", (char *)job->cli->tests->pdata[i]);
	if (!job->cli->tests->len)
		printf("test kvm\ntest mm\n");
	for (guint i = 0; i < job->cli->machines->len; i++)
		printf("machine %s\n", (char *)job->cli->machines->pdata[i]);
	return MMG_EXIT_OK;
}

static bool usage_ok(const struct cli *cli, GError **err)
{
	if (cli->kernels->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "coverage builds its kernel: give --tree DIR or debian-source:VERSION, "
			      "not --kernel");
	else if (cli->out && g_file_test(cli->out, G_FILE_TEST_EXISTS))
		mmg_set_error(err, MMG_EXIT_USAGE, "--out %s exists: name a folder that does not exist yet", cli->out);
	else
		return names_known("--test", cli->tests, cli->machines, err);
	return false;
}

int verb_coverage(struct cli *cli, GError **err)
{
	struct job job = { .cli = cli, .from = g_ptr_array_new_with_free_func(g_free) };
	const char *word = usage_ok(cli, err) ? take_words(&job, err) : NULL;
	bool only_add = job.from->len && !word && !cli->tree && !cli->tests->len && !cli->machines->len;
	int status = MMG_EXIT_BROKEN;

	if (!*err && only_add) {
		status = add_up(&job, err);
	} else if (!*err) {
		job.guarded = guarded_load(NULL, cli_arch(cli), err);
		job.src = job.guarded ? source_named(cli->tree, word, cli_kernel(cli).offline, err) : NULL;
		if (job.src) {
			job.files = guarded_files(job.guarded);
			status = cli->dry_run ? dry_run(&job) : count(&job, err);
		} else if (job.guarded && cli->dry_run && source_not_here(cli->tree, word, err)) {
			status = MMG_EXIT_OK;
		}
	}
	if (*err)
		status = (*err)->code;
	coverage_free(job.coverage);
	build_result_free(job.build);
	source_free(job.src);
	if (job.files)
		g_ptr_array_unref(job.files);
	if (job.guarded)
		g_ptr_array_unref(job.guarded);
	g_ptr_array_unref(job.from);
	return status;
}
