// SPDX-License-Identifier: GPL-2.0-only
/*
 * Job folders: written, read, and their results taken over.
 */
#include "run/job.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB_JSON_MAX	(4 << 20)
#define JOBS_JSON_MAX	(256 << 20)
#define RESULT_JSON_MAX	(64 << 20)
#define IMAGE_MAX	(1LL << 30)
#define TESTS_MAX	1000
#define TREE_FILES	5000
#define TREE_BYTES	(1LL << 30)
#define TIMEOUT_MAX	1000000

char *job_id(int nr)
{
	return g_strdup_printf("%05d", nr);
}

/* Letters, digits and a few marks, no step upwards, and not too long */
static bool plain_word(const char *s, bool slashes)
{
	return *s && *s != '/' && *s != '.' && *s != '-' && !strstr(s, "..") && strlen(s) <= 200 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-/") == strlen(s) &&
	       (slashes || !strchr(s, '/'));
}

/* A regular file of at most @max bytes, as JSON; NULL with *@err */
static json_t *load_bounded(const char *path, long long max, GError **err)
{
	struct stat st;
	json_error_t why;
	json_t *j;

	if (lstat(path, &st) || !S_ISREG(st.st_mode)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s: %s", path,
			      errno == ENOENT || errno == ENOTDIR ? "there is no such file" : "it is not a regular file");
		return NULL;
	}
	if (st.st_size > max) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s is larger than %lld bytes", path, max);
		return NULL;
	}
	j = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(j)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "reading %s: line %d: %s", path, j ? 1 : why.line,
			      j ? "it is not an object" : why.text);
		json_decref(j);
		return NULL;
	}
	return j;
}

static bool save(const json_t *j, const char *path, GError **err)
{
	char *text = json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS);
	g_autofree char *line = text ? g_strconcat(text, "\n", NULL) : NULL;
	bool ok = line && mmg_write_atomic(path, line, -1, err);

	if (!text)
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make JSON for %s", path);
	free(text);
	return ok;
}

/* ---- trees ---- */

static struct {
	const char *bad;
	int files;
	long long bytes;
} walk;

static int walk_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	if (flag == FTW_D)
		return 0;
	if (flag != FTW_F || !S_ISREG(st->st_mode))
		walk.bad = "it holds something that is neither a file nor a folder";
	else if (++walk.files > TREE_FILES)
		walk.bad = "it holds too many files";
	else if ((walk.bytes += st->st_size) > TREE_BYTES)
		walk.bad = "its files are too large";
	return !!walk.bad;
}

bool job_tree_is_plain(const char *dir, GError **err)
{
	memset(&walk, 0, sizeof(walk));
	if (nftw(dir, walk_one, 32, FTW_PHYS) < 0)
		walk.bad = g_strerror(errno);
	if (walk.bad)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s is not taken: %s", dir, walk.bad);
	return !walk.bad;
}

bool job_copy_tree(const char *from, const char *to, GError **err)
{
	g_autofree char *parent = g_path_get_dirname(to);
	const char *links[] = { "cp", "-al", "--", from, to, NULL };
	const char *copies[] = { "cp", "-a", "--", from, to, NULL };
	struct mmg_cmd cmd = { .what = "taking the files of a run over", .argv = links };

	if (!mmg_mkdirs(parent, err))
		return false;
	if (mmg_run(&cmd, NULL))
		return true;
	mmg_rmtree(to);
	cmd.argv = copies;
	return mmg_run(&cmd, err);
}

/* ---- writing ---- */

static bool put_file(const char *from, const char *to, GError **err)
{
	const char *argv[] = { "cp", "-L", "--reflink=auto", "--", from, to, NULL };
	struct mmg_cmd cmd = { .what = "copying into a job folder", .argv = argv };

	return mmg_run(&cmd, err);
}

/* Images are large and shared: each lies once in @images, the jobs hold links to it */
static bool put_image(const struct job_parts *p, GError **err)
{
	const char *sha256, *image = vm_image(p->kernel, p->plan->machine, &sha256);
	g_autofree char *once = g_build_filename(p->images, sha256, NULL);
	g_autofree char *here = g_build_filename(p->dir, "image", NULL);

	if (!mmg_mkdirs(p->images, err))
		return false;
	if (access(once, F_OK) && !put_file(image, once, err))
		return false;
	unlink(here);
	return !link(once, here) || put_file(once, here, err);
}

static bool put_machine(const struct job_parts *p, GError **err)
{
	const struct machine *m = p->plan->machine;
	g_autofree char *file = g_strconcat(m->name, ".conf", NULL);
	g_autofree char *from = strchr(m->spec, '/') ? g_strdup(m->spec) :
						       mmg_root_path("configs", "machines", file, NULL);
	g_autofree char *to = g_build_filename(p->dir, file, NULL);

	return put_file(from, to, err);
}

static json_t *words_of(const GPtrArray *list)
{
	json_t *a = json_array();

	for (guint i = 0; list && i < list->len; i++) {
		g_autofree char *clean = mmg_clean(list->pdata[i], -1, 8192);

		json_array_append_new(a, json_string(clean));
	}
	return a;
}

static json_t *tests_of(const struct boot_plan *plan)
{
	json_t *a = json_array();

	for (guint i = 0; i < plan->tests->len; i++)
		json_array_append_new(a, json_string(((struct planned *)plan->tests->pdata[i])->test->name));
	return a;
}

json_t *job_make(const struct job_parts *p, GError **err)
{
	static const char *const taken[] = { "verb", "options", "requires", "seed" };
	json_t *run = json_object(), *kernel = json_array_get(json_object_get(p->run, "kernels"), p->kernel_nr), *job;
	g_autofree char *id = job_id(p->nr), *sum = NULL;
	g_autofree char *machine = g_strconcat(p->plan->machine->name, ".conf", NULL);
	g_autofree char *conf = g_build_filename(p->dir, machine, NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(taken); i++)
		json_object_set(run, taken[i], json_object_get(p->run, taken[i]));
	if (!put_machine(p, err) || !(sum = mmg_sha256_file(conf, err)) || (!p->refused && !put_image(p, err))) {
		json_decref(run);
		return NULL;
	}
	job = json_pack("{s:i, s:i, s:s, s:i, s:O, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:b, s:o, s:O, s:s, s:o, s:o}",
			"schema", 1, "nr", p->nr, "id", id, "kernel_nr", p->kernel_nr, "kernel", kernel,
			"machine", p->plan->machine->name, "machine_sha256", sum, "sub", p->sub, "repeat", p->repeat,
			"repeats", p->repeats, "timeout", p->timeout, "seed", (json_int_t)p->seed, "shuffle",
			(json_int_t)p->shuffle, "one_seed", p->one_seed, "tests", tests_of(p->plan), "unbuilt",
			(json_t *)p->unbuilt, "accel", p->accel->name, "qemu", words_of(p->qemu), "run", run);
	if (p->refused) {
		json_object_set_new(job, "refused", json_string(result_name(p->refused)));
		json_object_set_new(job, "refused_why", json_string(p->refused_why));
	} else {
		const char *sha256;

		vm_image(p->kernel, p->plan->machine, &sha256);
		json_object_set_new(job, "boots_sha256", json_string(sha256));
		json_object_set_new(job, "append", json_string(p->append));
		json_object_set_new(job, "initramfs_sha256", json_string(p->initramfs_sha256));
	}
	return job;
}

/* What jobs.json says of a job: enough to place its result, and to name what is lost with it */
static json_t *entry_of(const json_t *job)
{
	static const char *const taken[] = { "nr", "id", "kernel_nr", "machine", "sub", "repeat", "seed", "tests",
					     "timeout" };
	json_t *entry = json_object();

	for (size_t i = 0; i < G_N_ELEMENTS(taken); i++)
		json_object_set(entry, taken[i], json_object_get(job, taken[i]));
	json_object_set(entry, "image_sha256", json_object_get(json_object_get(job, "kernel"), "image_sha256"));
	return entry;
}

char *jobs_write(const char *dir, json_t *jobs, const json_t *run, GError **err)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	json_t *list = json_array(), *all, *job;
	g_autofree char *path = g_build_filename(dir, "jobs.json", NULL);
	bool ok = true;
	char *campaign;
	size_t i;

	json_array_foreach(jobs, i, job) {
		char *text = json_dumps(job, JSON_COMPACT | JSON_SORT_KEYS);

		g_checksum_update(sum, (const guchar *)text, strlen(text) + 1);
		free(text);
	}
	campaign = g_strndup(g_checksum_get_string(sum), 32);
	json_array_foreach(jobs, i, job) {
		g_autofree char *file = g_build_filename(dir, obj_str(job, "id"), "job.json", NULL);

		json_object_set_new(job, "campaign", json_string(campaign));
		json_object_set_new(job, "of", json_integer(json_array_size(jobs)));
		json_array_append_new(list, entry_of(job));
		ok = ok && save(job, file, err);
	}
	all = json_pack("{s:i, s:s, s:O, s:o}", "schema", 1, "campaign", campaign, "run", (json_t *)run, "jobs", list);
	ok = ok && save(all, path, err);
	json_decref(all);
	if (ok)
		return campaign;
	g_free(campaign);
	return NULL;
}

/* ---- reading ---- */

static bool number_in(const json_t *o, const char *key, json_int_t min, json_int_t max)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) >= min && json_integer_value(v) <= max;
}

static bool hex_sum(const char *s)
{
	return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static bool names_are_plain(const json_t *tests)
{
	json_t *v;
	size_t i;

	if (!json_is_array(tests) || json_array_size(tests) > TESTS_MAX)
		return false;
	json_array_foreach((json_t *)tests, i, v)
		if (!json_is_string(v) || !plain_word(json_string_value(v), true))
			return false;
	return true;
}

/* What an entry of jobs.json and a job.json have in common */
static const char *bad_entry(const json_t *e)
{
	g_autofree char *id = NULL;

	if (!number_in(e, "nr", 1, JOBS_MAX))
		return "nr";
	id = job_id(obj_int(e, "nr"));
	if (strcmp(obj_str(e, "id"), id))
		return "id";
	if (!number_in(e, "kernel_nr", 0, JOBS_MAX))
		return "kernel_nr";
	if (!number_in(e, "repeat", 0, 10000))
		return "repeat";
	if (!number_in(e, "seed", 0, INT64_MAX))
		return "seed";
	if (!number_in(e, "timeout", 1, TIMEOUT_MAX))
		return "timeout";
	if (!plain_word(obj_str(e, "machine"), false))
		return "machine";
	if (!plain_word(obj_str(e, "sub"), true))
		return "sub";
	return names_are_plain(json_object_get(e, "tests")) ? NULL : "tests";
}

static const char *bad_job(const json_t *j)
{
	const json_t *kernel = json_object_get(j, "kernel"), *run = json_object_get(j, "run");
	const char *bad = bad_entry(j);

	if (bad)
		return bad;
	if (obj_int(j, "schema") != 1)
		return "schema";
	if (strlen(obj_str(j, "campaign")) != 32)
		return "campaign";
	if (!number_in(j, "repeats", 1, 10000) || obj_int(j, "repeat") >= obj_int(j, "repeats"))
		return "repeats";
	if (!number_in(j, "shuffle", 0, INT64_MAX))
		return "shuffle";
	if (strcmp(obj_str(j, "accel"), "tcg") && strcmp(obj_str(j, "accel"), "kvm"))
		return "accel";
	if (!json_is_object(json_object_get(j, "unbuilt")))
		return "unbuilt";
	if (!json_is_object(kernel) || !*obj_str(kernel, "label") || !plain_word(obj_str(kernel, "arch"), false) ||
	    !hex_sum(obj_str(kernel, "image_sha256")))
		return "kernel";
	if (!json_is_object(run) || !plain_word(obj_str(run, "verb"), false) ||
	    !json_is_object(json_object_get(run, "options")))
		return "run";
	if (!hex_sum(obj_str(j, "machine_sha256")))
		return "machine_sha256";
	if (json_object_get(j, "refused"))
		return result_find(obj_str(j, "refused")) != RESULT_NONE ? NULL : "refused";
	if (strlen(obj_str(j, "append")) > 4000 || !*obj_str(j, "append"))
		return "append";
	if (!hex_sum(obj_str(j, "boots_sha256")))
		return "boots_sha256";
	return hex_sum(obj_str(j, "initramfs_sha256")) ? NULL : "initramfs_sha256";
}

/* File @name of the job is regular, bounded, and has the hash @want; its path, or NULL with *@err */
static char *checked_file(const char *dir, const char *name, const char *want, GError **err)
{
	char *path = g_build_filename(dir, name, NULL);
	g_autofree char *sum = NULL;
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_size > IMAGE_MAX)
		mmg_set_error(err, MMG_EXIT_BROKEN, "the job %s is damaged: %s is not there, not a regular file, or too large",
			      dir, name);
	else if ((sum = mmg_sha256_file(path, err)) && strcmp(sum, want))
		mmg_set_error(err, MMG_EXIT_BROKEN, "the job %s is damaged: %s is not the file that job.json names",
			      dir, name);
	else if (sum)
		return path;
	g_free(path);
	return NULL;
}

static struct kernel *kernel_of(const json_t *j)
{
	struct kernel *k = g_new0(struct kernel, 1);

	k->spec = g_strdup(obj_str(j, "spec"));
	k->label = g_strdup(obj_str(j, "label"));
	k->release = g_strdup(obj_str(j, "release"));
	k->version = g_strdup(obj_str(j, "version"));
	k->arch = g_strdup(obj_str(j, "arch"));
	k->sha256 = g_strdup(obj_str(j, "image_sha256"));
	k->packages = g_ptr_array_new_with_free_func(g_free);
	return k;
}

static GPtrArray *list_of(const json_t *a)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)a, i, v)
		if (json_is_string(v))
			g_ptr_array_add(list, g_strdup(json_string_value(v)));
	return list;
}

static void planned_free(gpointer p)
{
	struct planned *pl = p;

	g_ptr_array_unref(pl->cases);
	g_free(pl);
}

/* The plan of one machine; of the tests only the names are known, and needed */
static void make_plan(struct job *job, struct machine *m)
{
	struct boot_plan *bp = g_new0(struct boot_plan, 1);
	json_t *v;
	size_t i;

	bp->machine = m;
	bp->tests = g_ptr_array_new_with_free_func(planned_free);
	json_array_foreach(json_object_get(job->json, "tests"), i, v) {
		struct test *t = catalog_parse(json_string_value(v), "");
		struct planned *p = g_new0(struct planned, 1);

		g_ptr_array_add(job->tests, t);
		p->test = t;
		p->cases = g_ptr_array_new();
		g_ptr_array_add(bp->tests, p);
	}
	g_ptr_array_add(job->plan, bp);
}

static void take_words(struct job *job)
{
	const json_t *run = json_object_get(job->json, "run"), *options = json_object_get(run, "options");

	job->nr = obj_int(job->json, "nr");
	job->repeat = obj_int(job->json, "repeat");
	job->repeats = obj_int(job->json, "repeats");
	job->timeout = obj_int(job->json, "timeout");
	job->seed = obj_int(job->json, "seed");
	job->shuffle = obj_int(job->json, "shuffle");
	job->one_seed = obj_bool(job->json, "one_seed");
	job->accel = obj_str(job->json, "accel");
	job->append = obj_str(job->json, "append");
	job->sub = obj_str(job->json, "sub");
	job->initramfs_sha256 = obj_str(job->json, "initramfs_sha256");
	job->verb = obj_str(run, "verb");
	job->refused = result_find(obj_str(job->json, "refused"));
	job->refused_why = obj_str(job->json, "refused_why");
	job->command = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(job->command, g_strdup("mmgate"));
	g_ptr_array_add(job->command, g_strdup("job"));
	g_ptr_array_add(job->command, g_strdup(obj_str(job->json, "id")));
	job->require = list_of(json_object_get(options, "require"));
	job->asked_tests = list_of(json_object_get(options, "tests"));
	job->asked_machines = list_of(json_object_get(options, "machines"));
}

static bool open_files(struct job *job, GError **err)
{
	g_autofree char *name = g_strconcat(obj_str(job->json, "machine"), ".conf", NULL);
	g_autofree char *conf = checked_file(job->dir, name, obj_str(job->json, "machine_sha256"), err);
	g_autofree char *disk = g_build_filename(job->dir, "disk", NULL);
	struct machine *m = conf ? machine_load(conf, err) : NULL;

	if (!m)
		return false;
	make_plan(job, m);
	if (job->refused)
		return true;
	job->kernel->image = checked_file(job->dir, "image", obj_str(job->json, "boots_sha256"), err);
	job->initramfs = job->kernel->image ? checked_file(job->dir, "initramfs.cpio", job->initramfs_sha256, err) : NULL;
	if (!job->initramfs)
		return false;
	if (m->programs->len && g_file_test(disk, G_FILE_TEST_IS_DIR)) {
		if (!job_tree_is_plain(disk, err))
			return false;
		job->staged = g_steal_pointer(&disk);
	}
	return true;
}

struct job *job_open(const char *dir, GError **err)
{
	struct job *job = g_new0(struct job, 1);
	g_autofree char *path = NULL;
	const char *bad = NULL;

	job->dir = g_canonicalize_filename(dir, NULL);
	job->plan = g_ptr_array_new_with_free_func(boot_plan_free);
	job->tests = g_ptr_array_new_with_free_func(catalog_test_free);
	path = g_build_filename(job->dir, "job.json", NULL);
	job->json = load_bounded(path, JOB_JSON_MAX, err);
	if (!job->json)
		goto bad;
	bad = bad_job(job->json);
	if (bad) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s is not a job of this program: its \"%s\" is not what it should be",
			      path, bad);
		goto bad;
	}
	job->kernel = kernel_of(json_object_get(job->json, "kernel"));
	take_words(job);
	if (open_files(job, err))
		return job;
bad:
	job_free(job);
	return NULL;
}

void job_free(struct job *job)
{
	GPtrArray **lists[] = { &job->command, &job->require, &job->asked_tests, &job->asked_machines };

	g_ptr_array_unref(job->plan);
	g_ptr_array_unref(job->tests);
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
		g_clear_pointer(lists[i], g_ptr_array_unref);
	kernel_free(job->kernel);
	json_decref(job->json);
	g_free(job->dir);
	g_free(job->initramfs);
	g_free(job->staged);
	g_free(job);
}

json_t *jobs_load(const char *dir, GError **err)
{
	g_autofree char *path = g_build_filename(dir, "jobs.json", NULL);
	json_t *all = load_bounded(path, JOBS_JSON_MAX, err), *list, *e;
	const char *bad = NULL;
	size_t i, kernels;

	if (!all)
		return NULL;
	list = json_object_get(all, "jobs");
	kernels = json_array_size(json_object_get(json_object_get(all, "run"), "kernels"));
	if (obj_int(all, "schema") != 1)
		bad = "schema";
	else if (strlen(obj_str(all, "campaign")) != 32)
		bad = "campaign";
	else if (!json_is_object(json_object_get(all, "run")) || !kernels)
		bad = "run";
	else if (!json_is_array(list) || !json_array_size(list) || json_array_size(list) > JOBS_MAX)
		bad = "jobs";
	json_array_foreach(bad ? NULL : list, i, e) {
		bad = bad_entry(e);
		if (!bad && (obj_int(e, "nr") != (json_int_t)i + 1 || obj_int(e, "kernel_nr") >= (json_int_t)kernels))
			bad = "nr";
		if (bad)
			break;
	}
	if (!bad)
		return all;
	mmg_set_error(err, MMG_EXIT_BROKEN, "%s is damaged: its \"%s\" is not what it should be", path, bad);
	json_decref(all);
	return NULL;
}

/* ---- results ---- */

static bool case_is_sound(const json_t *c)
{
	return json_is_object(c) && *obj_str(c, "name") && strlen(obj_str(c, "name")) <= 500 &&
	       obj_result(c) != RESULT_NONE && json_is_string(json_object_get(c, "reason")) &&
	       json_is_object(json_object_get(c, "metrics")) && json_is_array(json_object_get(c, "diag")) &&
	       json_is_number(json_object_get(c, "duration_s"));
}

static const char *bad_result(const json_t *run, const json_t *entry, const char *campaign)
{
	const json_t *job = json_object_get(run, "job"), *boots = json_object_get(run, "boots");
	const json_t *cases = json_object_get(run, "cases"), *boot = json_array_get(boots, 0);
	const char *sub = obj_str(boot, "dir");
	json_t *c;
	size_t i;

	if (obj_int(run, "schema") != 1)
		return "it is not of schema 1";
	if (strcmp(obj_str(job, "campaign"), campaign))
		return "it is of other jobs";
	if (obj_int(job, "nr") != obj_int(entry, "nr"))
		return "it is of another job";
	if (json_array_size(boots) != 1 || !json_is_object(boot) || !json_is_array(json_object_get(boot, "splats")) ||
	    !json_is_array(json_object_get(boot, "artifacts")) || obj_state(boot) == STATE_NONE)
		return "it does not have its one boot";
	if (strcmp(obj_str(boot, "machine"), obj_str(entry, "machine")) ||
	    obj_int(boot, "repeat") != obj_int(entry, "repeat") || (*sub && strcmp(sub, obj_str(entry, "sub"))))
		return "its boot is not the one of the job";
	if (!json_is_array(cases))
		return "it has no list of cases";
	json_array_foreach((json_t *)cases, i, c)
		if (!case_is_sound(c))
			return "a case in it is not sound";
	return NULL;
}

int job_number(const char *dir, GError **err)
{
	g_autofree char *path = g_build_filename(dir, "run.json", NULL);
	json_t *run = load_bounded(path, RESULT_JSON_MAX, err);
	const json_t *job = json_object_get(run, "job");
	int nr = number_in(job, "nr", 1, JOBS_MAX) ? obj_int(job, "nr") : 0;

	if (run && !nr)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s is not the result of a job", path);
	json_decref(run);
	return nr;
}

json_t *job_result(const char *dir, const json_t *entry, const char *campaign, GError **err)
{
	g_autofree char *path = g_build_filename(dir, "run.json", NULL);
	json_t *run = load_bounded(path, RESULT_JSON_MAX, err);
	const char *bad = run ? bad_result(run, entry, campaign) : NULL;

	if (run && !bad && job_tree_is_plain(dir, err))
		return run;
	if (bad)
		mmg_set_error(err, MMG_EXIT_BROKEN, "the result %s is not taken: %s", dir, bad);
	json_decref(run);
	return NULL;
}

int job_take(json_t *run, const json_t *entry, json_t *result, const char *dir, const char *out, GError **err)
{
	json_t *boots = json_object_get(run, "boots"), *boot = json_array_get(json_object_get(result, "boots"), 0), *c;
	json_int_t kernel = obj_int(entry, "kernel_nr");
	const char *sub = obj_str(boot, "dir");
	int index = json_array_size(boots);
	size_t i;

	if (*sub) {
		g_autofree char *from = g_build_filename(dir, sub, NULL), *to = g_build_filename(out, sub, NULL);

		mmg_rmtree(to);
		if (!g_file_test(from, G_FILE_TEST_IS_DIR))
			json_object_set_new(boot, "dir", json_string(""));
		else if (!job_copy_tree(from, to, err))
			return -1;
	}
	json_object_set_new(boot, "kernel", json_integer(kernel));
	json_array_append(boots, boot);
	json_array_foreach(json_object_get(result, "cases"), i, c) {
		json_object_set_new(c, "kernel", json_integer(kernel));
		json_object_set_new(c, "boot", json_integer(index));
		json_object_set(c, "machine", json_object_get(entry, "machine"));
		json_object_set(c, "repeat", json_object_get(entry, "repeat"));
		json_object_del(c, "allowed");
		json_array_append(json_object_get(run, "cases"), c);
	}
	return index;
}

int job_lost(json_t *run, const json_t *entry, const char *why)
{
	json_t *boots = json_object_get(run, "boots"), *v;
	const char *machine = obj_str(entry, "machine");
	int kernel = obj_int(entry, "kernel_nr"), repeat = obj_int(entry, "repeat"), index = json_array_size(boots);
	g_autofree char *clean = mmg_clean(why, -1, 600);
	g_autofree char *text = g_strdup_printf("job %s has no result: %s", obj_str(entry, "id"), clean);
	size_t i;

	json_array_append_new(boots, json_pack("{s:i, s:s, s:i, s:I, s:s, s:s, s:s, s:b, s:f, s:[], s:[]}", "kernel",
					       kernel, "machine", machine, "repeat", repeat, "seed",
					       obj_int(entry, "seed"), "dir", "", "state", state_name(STATE_LOST), "reason", text,
					       "complete", 0, "duration_s", 0.0, "splats", "artifacts"));
	json_array_foreach(json_object_get(entry, "tests"), i, v)
		run_add_case(run, json_string_value(v), kernel, index, machine, repeat, RESULT_BROKEN, text);
	return index;
}
