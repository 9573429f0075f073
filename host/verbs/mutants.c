// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb mutants: break the kernel on purpose, one small edit at a time, and
 * see which tests notice.  A test's pass is worth what it would have caught.
 *
 * While one mutant is tested the next one is built.  What was found out is kept (judged.c).
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run/generated.h"
#include "run/seen.h"
#include "source/cparse.h"
#include "verbs/mutants.h"

static void mutant_free(gpointer p)
{
	struct mutant *m = p;

	edit_script_free(m->script);
	if (m->overlay)
		g_hash_table_unref(m->overlay);
	g_hash_table_unref(m->kills);
	g_hash_table_unref(m->shown);
	g_free(m->file);
	g_free(m->first);
	g_free(m->judged);
	g_free(m->sha256);
	g_free(m);
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of configs/mutants/NAME.conf that fit one of the words, sorted */
static GPtrArray *mutant_files(const GPtrArray *words, GError **err)
{
	g_autofree char *dir = mmg_root_path("configs", "mutants", NULL);
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) e = NULL;
	GDir *d = g_dir_open(dir, 0, &e);
	const char *name;

	if (!d) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the mutants: %s", e->message);
		return NULL;
	}
	while ((name = g_dir_read_name(d))) {
		g_autofree char *stem = g_str_has_suffix(name, ".conf") ?
					g_strndup(name, strlen(name) - 5) : NULL;

		if (stem && (!words->len || mmg_glob_any(words, stem)))
			g_ptr_array_add(files, g_build_filename(dir, name, NULL));
	}
	g_dir_close(d);
	g_ptr_array_sort(files, by_text);
	for (guint i = 0; i < words->len; i++) {
		bool any = false;

		for (guint j = 0; j < files->len && !any; j++) {
			g_autofree char *base = g_path_get_basename(files->pdata[j]);

			base[strlen(base) - 5] = '\0';
			any = mmg_glob(words->pdata[i], base);
		}
		if (!any) {
			mmg_set_error(err, MMG_EXIT_USAGE, "no mutant fits '%s'; ./run.sh list mutants "
				      "shows the names", (char *)words->pdata[i]);
			return NULL;
		}
	}
	return g_steal_pointer(&files);
}

/*
 * Load all that are for this kernel and make each one's edits.  One that does not
 * fit is listed as such, with the place, and the others go on without it.
 */
static bool load_mutants(struct hunt *h, const GPtrArray *files, GError **err)
{
	unsigned int other = 0;

	h->mutants = g_ptr_array_new_with_free_func(mutant_free);
	for (guint i = 0; i < files->len; i++) {
		struct edit_script *s = edit_script_load(files->pdata[i], err);
		g_autoptr(GError) e = NULL;
		struct mutant *m;

		if (!s || !names_known(files->pdata[i], s->notice, NULL, err)) {
			edit_script_free(s);
			return false;
		}
		if (!edit_script_fits(s, h->src->version, cli_arch(h->cli))) {
			edit_script_free(s);
			other++;
			continue;
		}
		m = g_new0(struct mutant, 1);
		m->script = s;
		m->file = g_strdup(files->pdata[i]);
		m->fate = FATE_UNSEEN;
		m->shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		m->kills = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		m->overlay = overlay_new();
		g_ptr_array_add(h->mutants, m);
		if (edits_apply(s->edits, h->src, m->overlay, &e))
			continue;
		status_note("does not fit: %s", e->message);
		m->fate = FATE_UNFIT;
		m->first = g_strdup(e->message);
	}
	if (other)
		status_note("%u mutants are for other kernels than %s (%s)", other, h->src->version,
			    cli_arch(h->cli));
	if (!h->mutants->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "no mutant is for kernel %s", h->src->version);
	return h->mutants->len;
}

/* A name of --require that is no mutant's for this kernel is a mistake, said before anything is built */
static bool check_required(const struct hunt *h, GError **err)
{
	for (guint r = 0; r < h->cli->require->len; r++) {
		bool any = false;

		for (guint i = 0; i < h->mutants->len && !any; i++)
			any = mmg_glob(h->cli->require->pdata[r],
				       ((struct mutant *)h->mutants->pdata[i])->script->name);
		if (any)
			continue;
		mmg_set_error(err, MMG_EXIT_USAGE, "--require %s: no mutant of this name is for kernel %s",
			      (char *)h->cli->require->pdata[r], h->src->version);
		return false;
	}
	return true;
}

static void add_unique(GPtrArray *to, const char *word)
{
	if (!g_ptr_array_find_with_equal_func(to, word, g_str_equal, NULL))
		g_ptr_array_add(to, g_strdup(word));
}

/* Test globs for one mutant: those of the command line, else what its file says should notice */
static GPtrArray *tests_for(const struct hunt *h, const struct mutant *m)
{
	GPtrArray *tests = g_ptr_array_new_with_free_func(g_free);
	GPtrArray *from = h->cli->tests->len ? h->cli->tests : m->script->notice;

	for (guint i = 0; i < from->len; i++) {
		const char *machine;
		g_autofree char *test = mmg_glob_split(from->pdata[i], &machine);

		add_unique(tests, test);
	}
	return tests;
}

/*
 * Machines for one mutant: those of the command line, else those its file names
 * after an '@' (default where it names none).  With --test alone: all that the tests ask for.
 */
static GPtrArray *machines_for(const struct hunt *h, const struct mutant *m)
{
	GPtrArray *machines = g_ptr_array_new_with_free_func(g_free);
	const GPtrArray *notice = m->script->notice;

	for (guint i = 0; i < h->cli->machines->len; i++)
		add_unique(machines, h->cli->machines->pdata[i]);
	if (machines->len || h->cli->tests->len)
		return machines;
	for (guint i = 0; i < notice->len; i++) {
		const char *machine = mmg_glob_machine(notice->pdata[i]);

		add_unique(machines, machine ? machine : "default");
	}
	return machines;
}

/* ---- building, and building ahead ---- */

static double build_seconds(const struct build_result *b)
{
	g_autofree char *meta = g_build_filename(b->dir, "build.json", NULL);
	json_t *j = json_load_file(meta, 0, NULL);
	double s = json_number_value(json_object_get(j, "seconds"));

	json_decref(j);
	return s;
}

static struct kernel *build(const struct hunt *h, GHashTable *overlay, const char *label,
			    const char *role, double *seconds, GError **err)
{
	struct build_spec spec = { .src = h->src, .overlay = overlay, .arch = cli_arch(h->cli),
				   .fragments = h->cli->config, .label = label };
	struct build_result *b = kernel_build(&spec, err);
	const struct kernel_options how = cli_kernel(h->cli);
	struct kernel *k = b ? kernel_from_build(&how, h->src, b, label, role, err) : NULL;

	/* also where it was built ahead, or in an earlier hunt */
	if (b && seconds)
		*seconds = build_seconds(b);
	build_result_free(b);
	return k;
}

static void ahead_setup(gpointer data)
{
	(void)data;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void on_ahead_end(GPid pid, int status, gpointer data)
{
	struct hunt *h = data;

	(void)status;
	g_spawn_close_pid(pid);
	h->ahead = 0;
}

/*
 * Build mutant @i in a process of its own, by the verb build; kernel_build()
 * finds the kernel in the cache then, or says what is wrong.
 */
static void build_ahead(struct hunt *h, guint i)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	const struct mutant *m = NULL;
	const char *file;

	while (i < h->mutants->len && ((struct mutant *)h->mutants->pdata[i])->fate == FATE_UNFIT)
		i++;
	if (i < h->mutants->len)
		m = h->mutants->pdata[i];
	file = m ? m->file : NULL;
	/* this program, also where a newer one has taken its place on disk */
	const char *words[] = { "/proc/self/exe", "build", "-q", "--offline", "--arch", cli_arch(h->cli), "--tree",
				h->src->tree, "--series", file };

	if (!m)
		return;
	for (size_t w = 0; w < G_N_ELEMENTS(words); w++)
		g_ptr_array_add(argv, (char *)words[w]);
	for (guint c = 0; c < h->cli->config->len; c++) {
		g_ptr_array_add(argv, (char *)"--config");
		g_ptr_array_add(argv, h->cli->config->pdata[c]);
	}
	g_ptr_array_add(argv, NULL);
	/* without it all goes on, one after the other */
	if (g_spawn_async(NULL, (char **)argv->pdata, NULL,
			  G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL |
			  G_SPAWN_STDERR_TO_DEV_NULL, ahead_setup, NULL, &h->ahead, NULL))
		g_child_watch_add(h->ahead, on_ahead_end, h);
	else
		h->ahead = 0;
}

/* Wait for the build ahead, or end it where @now or after an interrupt */
static void ahead_wait(struct hunt *h, bool now)
{
	while (h->ahead) {
		if (now || mmg_interrupted())
			kill(h->ahead, SIGTERM);
		g_main_context_iteration(NULL, TRUE);
	}
}

/* ---- testing ---- */

/* Go on with a mutant until a case fails that passes on the good kernel */
static bool want_more(json_t *result, void *data)
{
	const struct hunt *h = data;
	g_autofree char *key = g_strdup_printf("%s@%s", obj_str(result, "name"), obj_str(result, "machine"));
	const struct seen *b = g_hash_table_lookup(h->base, key);

	return obj_result(result) != RESULT_FAIL || !b || !b->t.pass || b->t.fail ||
	       b->t.broken;
}

/* Run @tests on @k; results go to folder @name below the hunt's */
static json_t *run_on(struct hunt *h, struct kernel *k, const char *name, GPtrArray *tests,
		      GPtrArray *machines, GError **err)
{
	g_autoptr(GPtrArray) kernels = g_ptr_array_new();
	g_autofree char *out = g_build_filename(h->dir, name, NULL);
	g_autofree char *dir = NULL;
	struct suite s = { .opt = cli_run(h->cli), .kernels = kernels, .tests = tests, .machines = machines,
			   .repeat = MAX(h->cli->repeat, 1), .verb = "mutants", .out = out };

	if (h->stop && h->base) {
		s.on_case = want_more;
		s.data = h;
	}
	g_ptr_array_add(kernels, k);
	if (!mmg_mkdirs(out, err))
		return NULL;
	return suite_run(&s, &dir, err);
}

/* Run the tests of one, and again where the VM did not come up: that may be the host's fault */
static json_t *test_mutant(struct hunt *h, const struct mutant *m, struct kernel *k,
			   GPtrArray *tests, GPtrArray *machines, GError **err)
{
	json_t *run = run_on(h, k, m->script->name, tests, machines, err);

	for (int again = 1; run && (mutant_no_boot(run) || mutant_lost(run, NULL)) && again <= 2 && !mmg_interrupted(); again++) {
		g_autofree char *name = g_strdup_printf("%s.%d", m->script->name, again);

		json_decref(run);
		run = run_on(h, k, name, tests, machines, err);
	}
	return run;
}

/* Two rules may make one kernel: the second is judged no more, and counts for nothing */
static bool same_image(const struct hunt *h, struct mutant *m)
{
	for (guint i = 0; i < h->mutants->len; i++) {
		const struct mutant *other = h->mutants->pdata[i];

		if (other == m)
			break;
		if (g_strcmp0(other->sha256, m->sha256))
			continue;
		m->fate = FATE_IDENTICAL;
		m->first = g_strdup_printf("the image is that of %s", other->script->name);
		return true;
	}
	return false;
}

/* Judge the built mutant @k */
static void try_kernel(struct hunt *h, struct mutant *m, struct kernel *k, GError **err)
{
	g_autoptr(GPtrArray) tests = tests_for(h, m);
	g_autoptr(GPtrArray) machines = machines_for(h, m);
	g_autofree char *whole = judged_key(h->keys, k->sha256, tests, machines, "all");
	g_autofree char *part = h->stop ? judged_key(h->keys, k->sha256, tests, machines, "stop") :
					  NULL;
	gint64 start = g_get_monotonic_time();
	json_t *run;

	m->sha256 = g_strdup(k->sha256);
	if (h->good->sha256 && !g_strcmp0(k->sha256, h->good->sha256)) {
		m->fate = FATE_IDENTICAL;
		m->first = g_strdup("the image is the good kernel's, byte for byte: the edit is not in it");
		return;
	}
	if (h->cli->generate && same_image(h, m))
		return;
	if (!tests->len) {
		m->fate = m->script->survives ? FATE_EXPLAINED : FATE_BROKEN;
		m->first = m->script->survives ? NULL : g_strdup("no test is named for it");
		return;
	}
	if (mutant_recall(m, whole) || mutant_recall(m, part))
		return;
	run = test_mutant(h, m, k, tests, machines, err);
	if (!run)
		return;
	m->test_s = (g_get_monotonic_time() - start) / 1e6;
	if (json_integer_value(json_object_get(run, "exit")) != MMG_EXIT_INTERRUPTED &&
	    !mmg_interrupted()) {
		mutant_judge(m, h->base_run, run);
		mutant_keep(m, m->stopped ? part : whole);
	}
	json_decref(run);
}

/* Build and test mutant @i; only an interrupt ends the hunt */
static bool try_mutant(struct hunt *h, guint i, GError **err)
{
	struct mutant *m = h->mutants->pdata[i];
	g_autoptr(GError) e = NULL;
	struct kernel *k;

	if (m->fate == FATE_UNFIT)
		return true;
	status_set("building %s", m->script->name);
	ahead_wait(h, false);
	k = mmg_check_interrupt(&e) ? NULL :
	    build(h, m->overlay, m->script->name, "mutant", &m->build_s, &e);
	if (k) {
		build_ahead(h, i + 1);
		try_kernel(h, m, k, &e);
		kernel_free(k);
	}
	if (e && e->code == MMG_EXIT_INTERRUPTED) {
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	if (e) {
		/* a rule does not know what the compiler takes */
		m->fate = h->cli->generate && !k ? FATE_UNBUILT : FATE_BROKEN;
		m->first = g_strdup(e->message);
	}
	return !mmg_check_interrupt(err);
}

/* ---- the answer ---- */

/* For later reports: which mutants a passing test kills */
static void remember(const struct hunt *h, const json_t *out, GError **err)
{
	g_autofree char *name = g_strdup_printf("%s-%s.json", h->src->version, cli_arch(h->cli));
	g_autofree char *dir = mmg_cache_path("mutants", NULL);
	g_autofree char *path = g_build_filename(dir, name, NULL);
	char *text = json_dumps(out, JSON_INDENT(1) | JSON_SORT_KEYS);

	if (text && mmg_mkdirs(dir, err))
		mmg_write_atomic(path, text, -1, err);
	free(text);
}

static int answer(struct hunt *h, GError **err)
{
	json_t *run = h->base_run, *out = mutants_json(h);
	bool forms = h->cli->json || h->cli->tap, quiet = h->cli->quiet;
	g_autoptr(GError) e = NULL;
	g_autofree char *id = g_path_get_basename(h->dir);
	int status;

	results_judge(run);
	status = mutants_verdict(h, run);
	json_object_set_new(run, "complete", json_true());
	json_object_set(run, "duration_s", json_object_get(out, "duration_s"));
	json_object_set_new(run, "mutants", out);
	json_object_set_new(run, "id", json_string(id));
	if (!h->cli->generate && !h->cli->args->len && !h->cli->tests->len)
		remember(h, out, &e);
	if (e)
		status_note("not remembered: %s", e->message);
	if (!results_save(run, h->dir, err))
		return MMG_EXIT_BROKEN;
	status_clear();
	if (!forms && !quiet) {
		mutants_print(out);
		fprintf(stderr, "mmgate: results in %s\n", h->dir);
	}
	h->cli->quiet = !forms;
	cli_reports(h->cli, run, h->dir, err);
	h->cli->quiet = quiet;
	return *err ? (*err)->code : status;
}

/* Is there such a case among the first @nr? */
static bool has_case(json_t *run, size_t nr, const char *name, const char *machine)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, o)
		if (i < nr && !strcmp(obj_str(o, "name"), name) && !strcmp(obj_str(o, "machine"), machine))
			return true;
	return false;
}

/* Take the cases and boots of @part over into @run; @new: of another time, where there are none yet */
static void merge(json_t *run, json_t *part, bool new)
{
	json_t *boots = json_object_get(run, "boots"), *o;
	size_t first = json_array_size(boots), had = json_array_size(json_object_get(run, "cases")), i;

	json_array_foreach(json_object_get(part, "cases"), i, o) {
		json_int_t boot = json_integer_value(json_object_get(o, "boot"));

		/* a case that was run several times is taken over as often */
		if (new && has_case(run, had, obj_str(o, "name"), obj_str(o, "machine")))
			continue;

		json_object_set_new(o, "boot", json_integer(boot + first));
		json_array_append(json_object_get(run, "cases"), o);
	}
	json_array_extend(boots, json_object_get(part, "boots"));
}

/* machine ("" for whatever the tests ask for) -> test globs that some mutant needs there */
static GHashTable *base_needs(const struct hunt *h)
{
	GHashTable *needs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						  (GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < h->mutants->len; i++) {
		g_autoptr(GPtrArray) tests = tests_for(h, h->mutants->pdata[i]);
		g_autoptr(GPtrArray) machines = machines_for(h, h->mutants->pdata[i]);

		if (((struct mutant *)h->mutants->pdata[i])->fate == FATE_UNFIT)
			continue;
		for (guint j = 0; j < MAX(machines->len, 1) && tests->len; j++) {
			const char *machine = machines->len ? machines->pdata[j] : "";
			GPtrArray *list = g_hash_table_lookup(needs, machine);

			if (!list) {
				list = g_ptr_array_new_with_free_func(g_free);
				g_hash_table_insert(needs, g_strdup(machine), list);
			}
			for (guint t = 0; t < tests->len; t++)
				add_unique(list, tests->pdata[t]);
		}
	}
	return needs;
}

/* The good kernel's name for one test glob on one machine ("" for those it asks for) */
static char *base_key(const struct hunt *h, const char *machine, const char *test)
{
	g_autoptr(GPtrArray) tests = g_ptr_array_new(), machines = g_ptr_array_new();

	g_ptr_array_add(tests, (char *)test);
	if (*machine)
		g_ptr_array_add(machines, (char *)machine);
	return judged_key(h->keys, h->good->sha256, tests, machines, "good");
}

/* Take over what is known of the good kernel; what is left of @tests is to be run */
static GPtrArray *base_recall(struct hunt *h, const char *machine, const GPtrArray *tests)
{
	GPtrArray *left = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < tests->len; i++) {
		g_autofree char *key = base_key(h, machine, tests->pdata[i]);
		json_t *known = judged_load(key), *o;
		size_t j;

		if (!known) {
			add_unique(left, tests->pdata[i]);
			continue;
		}
		/* its files are in another folder of results, if they are still there */
		json_array_foreach(json_object_get(known, "boots"), j, o)
			json_object_set_new(o, "dir", json_string(""));
		merge(h->base_run, known, true);
		json_decref(known);
	}
	return left;
}

/* Keep what passed, test by test: a good kernel that fails is tried again next time */
static void base_keep(const struct hunt *h, const char *machine, const char *test, json_t *part)
{
	g_autofree char *key = base_key(h, machine, test);
	json_t *cases = json_array(), *known, *o;
	bool good = true;
	size_t i;

	json_array_foreach(json_object_get(part, "boots"), i, o)
		good &= obj_state(o) == STATE_GOODBYE &&
			!json_array_size(json_object_get(o, "splats"));
	json_array_foreach(json_object_get(part, "cases"), i, o) {
		if (!mmg_glob(test, obj_str(o, "name")))
			continue;
		good &= !result_bad(obj_result(o));
		json_array_append(cases, o);
	}
	known = json_pack("{s:o, s:O}", "cases", cases, "boots", json_object_get(part, "boots"));
	if (good && json_array_size(cases))
		judged_save(key, known);
	json_decref(known);
}

static bool test_base_on(struct hunt *h, const char *machine, GPtrArray *wanted, GError **err)
{
	g_autoptr(GPtrArray) machines = g_ptr_array_new();
	g_autoptr(GPtrArray) tests = base_recall(h, machine, wanted);
	g_autofree char *name = g_strdup_printf("good%s%s", *machine ? "." : "", machine);
	g_autoptr(GError) e = NULL;
	json_t *part;

	if (!tests->len)
		return true;
	if (*machine)
		g_ptr_array_add(machines, (char *)machine);
	part = run_on(h, h->good, name, tests, machines, &e);
	if (!part) {
		/* no test of the mutants runs there (yet): they are reported as not tested */
		if (e->code == MMG_EXIT_USAGE) {
			status_note("the good kernel on %s: %s", machine, e->message);
			return true;
		}
		g_propagate_error(err, g_steal_pointer(&e));
		return false;
	}
	/* the good kernel's own trouble is said, and its cases count for nothing */
	if (json_integer_value(json_object_get(part, "exit")))
		status_note("the good kernel on %s: %s", machine, obj_str(part, "reason"));
	for (guint i = 0; i < tests->len && !mmg_interrupted(); i++)
		base_keep(h, machine, tests->pdata[i], part);
	json_object_set(h->base_run, "host", json_object_get(part, "host"));
	merge(h->base_run, part, false);
	json_decref(part);
	return !mmg_check_interrupt(err);
}

static bool test_base(struct hunt *h, GError **err)
{
	g_autoptr(GHashTable) needs = base_needs(h);
	g_autoptr(GList) machines = g_list_sort(g_hash_table_get_keys(needs), (GCompareFunc)strcmp);
	g_autoptr(GPtrArray) kernels = g_ptr_array_new();
	const struct run_options opt = cli_run(h->cli);

	h->good = build(h, NULL, "good", "base", NULL, err);
	h->keys = h->good ? judged_keys_new(&opt, h->good, err) : NULL;
	if (!h->keys)
		return false;
	g_ptr_array_add(kernels, h->good);
	h->base_run = run_new(&opt, "mutants", kernels);
	build_ahead(h, 0);
	for (GList *m = machines; m; m = m->next)
		if (!test_base_on(h, m->data, g_hash_table_lookup(needs, m->data), err))
			return false;
	h->base = seen_collect(h->base_run, 0);
	if (json_array_size(json_object_get(h->base_run, "cases")))
		return true;
	mmg_set_error(err, MMG_EXIT_USAGE, "none of these mutants names a test that there is; "
		      "give --test");
	return false;
}

/* What would be done, and whether all edits fit this source: nothing is built */
static int dry_run(const struct hunt *h, GError **err)
{
	unsigned int unfit = 0, wanted = 0;

	for (guint i = 0; i < h->mutants->len; i++) {
		const struct mutant *m = h->mutants->pdata[i];
		g_autoptr(GPtrArray) t = tests_for(h, m);
		g_autoptr(GPtrArray) machines = machines_for(h, m);

		if (m->fate == FATE_UNFIT) {
			unfit++;
			wanted += mutant_must_fit(h, m);
			printf("%s: does not fit\n    %s\n", m->script->name, m->first);
			continue;
		}
		printf("%s: %s\n", m->script->name, m->script->about);
		for (guint j = 0; j < t->len; j++)
			printf("    test %s\n", (char *)t->pdata[j]);
		for (guint j = 0; j < machines->len; j++)
			printf("    machine %s\n", (char *)machines->pdata[j]);
	}
	printf("%u mutants fit %s, %u do not\n", h->mutants->len - unfit, h->src->name, unfit);
	if (wanted)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%u mutant%s not fit %s: correct the edits in "
			      "configs/mutants or their kernel range", wanted,
			      wanted > 1 ? "s do" : " does", h->src->name);
	return wanted ? MMG_EXIT_BROKEN : MMG_EXIT_OK;
}

static bool hunt(struct hunt *h, GError **err)
{
	bool ok;

	h->dir = results_make_dir(h->cli->out, err);
	ok = h->dir && test_base(h, err);
	for (guint i = 0; ok && i < h->mutants->len; i++) {
		struct mutant *m = h->mutants->pdata[i];

		ok = try_mutant(h, i, err);
		if (ok && m->fate != FATE_UNFIT)
			status_note("%u of %u: %s: %s%s%s%s", i + 1, h->mutants->len,
				    m->script->name, fate_name(m->fate), m->first ? ": " : "",
				    m->first ? m->first : "", m->judged ? " (seen before)" : "");
	}
	ahead_wait(h, true);
	return ok;
}

/* Do --generate and its options go together with the rest of the command line? */
static bool generate_usage(const struct cli *cli, GError **err)
{
	if (!cli->generate && (cli->count || cli->function || cli->coverage))
		mmg_set_error(err, MMG_EXIT_USAGE, "--count, --function and --coverage of mutants go with --generate");
	else if (cli->generate && cli->args->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "--generate makes its own mutants: %s is one of configs/mutants",
			      (char *)cli->args->pdata[0]);
	else if (cli->generate && cli->require->len)
		mmg_set_error(err, MMG_EXIT_USAGE, "--require names mutants of configs/mutants, not generated ones");
	else
		return !cli->generate || c_parser_here(err);
	return false;
}

static GPtrArray *generate(const struct cli *cli, const struct source *src, GError **err)
{
	const struct generated how = { .arch = cli_arch(cli), .function = cli->function, .coverage = cli->coverage,
				       .config = cli->config, .count = cli->count, .seed = cli->seed,
				       .dry_run = cli->dry_run };

	return generated_files(&how, src, err);
}

int verb_mutants(struct cli *cli, GError **err)
{
	/* a wrong name is said before a kernel's source is fetched */
	g_autoptr(GPtrArray) files = !generate_usage(cli, err) ? NULL :
				     cli->generate ? g_ptr_array_new() : mutant_files(cli->args, err);
	struct hunt h = { .cli = cli, .stop = !cli->tests->len, .began = g_get_monotonic_time() };
	int status = MMG_EXIT_BROKEN;

	if (files)
		h.src = source_named(cli->tree, NULL, cli_kernel(cli).offline, err);
	if (h.src && cli->generate) {
		g_ptr_array_unref(files);
		files = generate(cli, h.src, err);
	}
	if (h.src && files && load_mutants(&h, files, err) && check_required(&h, err)) {
		if (cli->dry_run) {
			status = dry_run(&h, err);
		} else if (mutants_count(&h, FATE_UNFIT) == h.mutants->len) {
			mmg_set_error(err, cli->strict || cli->require->len ? MMG_EXIT_BROKEN :
				      MMG_EXIT_NOTHING, "none of the %u mutants fits %s",
				      h.mutants->len, h.src->name);
		} else if (hunt(&h, err)) {
			status = answer(&h, err);
		} else if (h.base_run && h.dir && *err && (*err)->code == MMG_EXIT_INTERRUPTED) {
			/* what is known so far is kept, marked incomplete */
			json_object_set_new(h.base_run, "mutants", mutants_json(&h));
			json_object_set_new(h.base_run, "complete", json_false());
			results_save(h.base_run, h.dir, NULL);
		}
	}
	if (h.mutants)
		g_ptr_array_unref(h.mutants);
	json_decref(h.base_run);
	if (h.base)
		g_hash_table_unref(h.base);
	judged_keys_free(h.keys);
	if (h.good)
		kernel_free(h.good);
	source_free(h.src);
	g_free(h.dir);
	return status;
}
