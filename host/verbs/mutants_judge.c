// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a run says of one mutant, beside what it said of the good kernel.
 */
#include <string.h>

#include "run/seen.h"
#include "verbs/mutants.h"

char *mutant_test_of(const char *name)
{
	const char *slash = strchr(name, '/');
	const char *end = slash ? strchr(slash + 1, '/') : NULL;

	return end ? g_strndup(name, end - name) : g_strdup(name);
}

/* Which test ran when the splat of @machine came: boot/splat itself where nobody knows */
static char *splat_test(json_t *run, const char *machine)
{
	json_t *boot, *splat;
	size_t i, j;

	json_array_foreach(json_object_get(run, "boots"), i, boot) {
		if (strcmp(obj_str(boot, "machine"), machine))
			continue;
		json_array_foreach(json_object_get(boot, "splats"), j, splat)
			if (*obj_str(splat, "test") && !json_is_string(json_object_get(splat, "allowed")))
				return g_strdup(obj_str(splat, "test"));
	}
	return g_strdup("boot/splat");
}

static bool boot_died(json_t *run, const char *machine)
{
	json_t *boot;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, boot)
		if (!strcmp(obj_str(boot, "machine"), machine) &&
		    (obj_state(boot) == STATE_PANIC || obj_state(boot) == STATE_HANG))
			return true;
	return false;
}

/* A stronger word replaces a weaker one: failed, panic, splat, broken */
void mutant_add_kill(struct mutant *m, const char *test, const char *word)
{
	static const char order[] = "BSPF";
	const char *had = g_hash_table_lookup(m->kills, test);

	if (!had || strchr(order, *word) > strchr(order, *had))
		g_hash_table_replace(m->kills, g_strdup(test), (char *)word);
}

const char *mutant_no_boot(json_t *run)
{
	json_t *boot;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, boot)
		if (obj_state(boot) == STATE_NO_BOOT)
			return obj_str(boot, "reason");
	return NULL;
}

static void count_shown(struct mutant *m, json_t *run)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run, "cases"), i, o) {
		const char *name = obj_str(o, "name");

		if (!g_str_has_prefix(name, "boot/") && obj_result(o) != RESULT_SKIP)
			g_hash_table_add(m->shown, mutant_test_of(name));
	}
	json_array_foreach(json_object_get(run, "boots"), i, o)
		m->stopped |= obj_state(o) == STATE_STOPPED;
}

const char *mutant_lost(json_t *run, const char *machine)
{
	json_t *boot;
	size_t i;

	json_array_foreach(json_object_get(run, "boots"), i, boot)
		if (obj_state(boot) == STATE_LOST && (!machine || !strcmp(obj_str(boot, "machine"), machine)))
			return obj_str(boot, "reason");
	return NULL;
}

/* What passes on the good kernel and does not on the mutant */
static void count_kills(struct mutant *m, json_t *base_run, json_t *run)
{
	g_autoptr(GHashTable) base = seen_collect(base_run, 0);
	g_autoptr(GHashTable) now = seen_collect(run, 0);
	g_autoptr(GPtrArray) keys = NULL;
	bool first_is_fail = false;

	seen_align(base, base_run, 0, now, run, 0);
	keys = seen_keys(base, now);
	for (guint i = 0; i < keys->len; i++) {
		const struct seen *b = g_hash_table_lookup(base, keys->pdata[i]);
		const struct seen *n = g_hash_table_lookup(now, keys->pdata[i]);
		g_autofree char *test = NULL;
		const char *word;

		if (!b || !n || !b->t.pass || b->t.fail || b->t.broken)
			continue;
		if (!n->t.fail && n->t.broken && mutant_lost(run, b->machine))
			continue;
		/* a boot without trouble is no test that ran */
		m->cases += strcmp(b->name, "boot/splat") && n->t.pass + n->t.fail + n->t.broken;
		if (!n->t.fail && !n->t.broken)
			continue;
		if (!strcmp(b->name, "boot/splat")) {
			test = splat_test(run, b->machine);
			word = "S";
		} else {
			test = mutant_test_of(b->name);
			word = !n->t.fail ? "B" : boot_died(run, b->machine) ? "P" : "F";
		}
		mutant_add_kill(m, test, word);
		if (!m->first || (!first_is_fail && n->t.fail)) {
			g_free(m->first);
			m->first = g_strdup_printf("%s on %s: %s", b->name, b->machine,
						   n->reason ? n->reason : "");
			first_is_fail = n->t.fail;
		}
	}
}

void mutant_judge(struct mutant *m, json_t *base_run, json_t *run)
{
	const char *boot;

	count_shown(m, run);
	boot = mutant_no_boot(run);
	if (boot) {
		/* tried more than once by now: this kernel does not come up, and no test is needed */
		mutant_add_kill(m, "boot", "P");
		m->first = g_strdup(boot);
	} else {
		count_kills(m, base_run, run);
	}
	if (g_hash_table_size(m->kills)) {
		m->fate = FATE_KILLED;
		return;
	}
	m->fate = m->script->survives ? FATE_EXPLAINED : FATE_SURVIVED;
	boot = mutant_lost(run, NULL);
	if (boot) {
		m->fate = FATE_UNSEEN;
		m->first = g_strdup_printf("its VM was lost: %s", boot);
		return;
	}
	boot = bad_boot(run, 0);
	if (!m->cases) {
		m->fate = FATE_UNSEEN;
		m->first = g_strdup_printf("nothing that passes on the good kernel ran: %s",
					   boot ? boot : obj_str(run, "reason"));
	}
}

bool mutant_only_broken(const struct mutant *m)
{
	GHashTableIter it;
	gpointer v;

	g_hash_table_iter_init(&it, m->kills);
	while (g_hash_table_iter_next(&it, NULL, &v))
		if (strcmp(v, "B"))
			return false;
	return g_hash_table_size(m->kills);
}
