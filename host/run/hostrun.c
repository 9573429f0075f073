// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests on the running kernel itself (--kernel host): no VM, each test a child
 * of ours, its KTAP read as a VM's is.
 */
#include "run/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct feed {
	struct ktap *k;
};

static void on_line(const char *line, void *data)
{
	struct feed *f = data;

	ktap_feed(f->k, "  ", 2);
	ktap_feed(f->k, line, strlen(line));
	ktap_feed(f->k, "\n", 1);
}

static bool run_one(struct ktap *k, const struct planned *p, const char *built, const char *artifacts,
		    const struct run_options *opt, GError **err)
{
	GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
	char *file = g_strdup_printf("%s_test", p->test->name);
	char *env_art = g_strdup_printf("MMGATE_ARTIFACTS=%s", artifacts);
	char *head = g_strdup_printf("  # Subtest: %s\n", p->test->name), *tail;
	const char *env[] = { env_art, NULL };
	struct feed f = { k };
	int status = 0;
	struct mmg_cmd cmd = { .what = p->test->name, .env = env, .line = on_line, .data = &f,
			       .expect = &status };
	GError *e = NULL;
	bool ok;
	guint i;

	g_ptr_array_add(argv, g_strdup("timeout"));
	g_ptr_array_add(argv, g_strdup("-k5"));
	g_ptr_array_add(argv, g_strdup_printf("%d", p->test->timeout));
	g_ptr_array_add(argv, g_build_filename(built, file, NULL));
	for (i = 0; i < p->cases->len; i++) {
		g_ptr_array_add(argv, g_strdup("-c"));
		g_ptr_array_add(argv, g_strdup(p->cases->pdata[i]));
	}
	if (opt->seed) {
		g_ptr_array_add(argv, g_strdup("--seed"));
		g_ptr_array_add(argv, g_strdup_printf("%" G_GUINT64_FORMAT, opt->seed));
	}
	if (opt->destructive)
		g_ptr_array_add(argv, g_strdup("--destructive"));
	g_ptr_array_add(argv, NULL);
	cmd.argv = (const char *const *)argv->pdata;
	status_progress("%s", p->test->name);
	ktap_feed(k, head, strlen(head));
	ok = mmg_run(&cmd, &e);
	if (!ok && e->code == MMG_EXIT_BROKEN)	/* it crashed: that is a result, and the next test is due */
		tail = g_strdup_printf("not ok 1 %s # BROKEN %s\n", p->test->name, e->message);
	else
		tail = g_strdup_printf("%sok 1 %s%s\n", ok && (!status || status == 4) ? "" : "not ",
				       p->test->name, status == 4 ? " # SKIP all of it" :
				       status == 124 || status == 137 ? " # BROKEN over its time" : "");
	ktap_feed(k, tail, strlen(tail));
	g_free(tail);
	if (!ok && e->code == MMG_EXIT_BROKEN) {
		g_clear_error(&e);
		ok = true;
	} else if (!ok) {
		g_propagate_error(err, e);
	}
	g_free(head);
	g_free(env_art);
	g_free(file);
	g_ptr_array_unref(argv);
	return ok;
}

bool host_run(json_t *run, const struct run_options *opt, int nr, const GPtrArray *plan, const char *built,
	      const char *dir, int repeat, GError **err)
{
	json_t *boots = json_object_get(run, "boots"), *c;
	char *sub = repeat ? g_strdup_printf("host/host.%d", repeat) : g_strdup("host/host");
	char *artifacts = g_build_filename(dir, sub, "artifacts", NULL);
	GHashTable *done = g_hash_table_new(g_str_hash, g_str_equal);
	int index = json_array_size(boots);
	gint64 began = g_get_monotonic_time();
	struct ktap *k = ktap_new();
	bool ok = mmg_mkdirs(artifacts, err);
	guint m, t;
	size_t i;

	status_set("testing this host");
	for (m = 0; ok && m < plan->len; m++) {
		const struct boot_plan *bp = plan->pdata[m];

		/* a host has one topology: a test that wants several machines runs once */
		for (t = 0; ok && t < bp->tests->len; t++) {
			const struct planned *p = bp->tests->pdata[t];

			if (g_hash_table_add(done, p->test->name))
				ok = run_one(k, p, built, artifacts, opt, err);
		}
	}
	json_array_append_new(boots, json_pack("{s:i, s:s, s:i, s:I, s:s, s:s, s:s, s:b, s:f, s:[], s:[]}",
					       "kernel", nr, "machine", "host", "repeat", repeat,
					       "seed", (json_int_t)opt->seed, "dir", sub,
					       "state", state_name(ok ? STATE_GOODBYE : STATE_INTERRUPTED), "reason", "",
					       "complete", ok, "duration_s",
					       (g_get_monotonic_time() - began) / 1e6, "splats", "artifacts"));
	json_array_foreach(k->cases, i, c) {
		json_object_set_new(c, "kernel", json_integer(nr));
		json_object_set_new(c, "boot", json_integer(index));
		json_object_set_new(c, "machine", json_string("host"));
		json_object_set_new(c, "repeat", json_integer(repeat));
		json_array_append(json_object_get(run, "cases"), c);
	}
	ktap_free(k);
	g_hash_table_unref(done);
	g_free(artifacts);
	g_free(sub);
	return ok;
}
