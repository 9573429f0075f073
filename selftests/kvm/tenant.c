// SPDX-License-Identifier: GPL-2.0-only
#include "tenant.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { START, TOUCH, TOUCH_HOT, ABSENT, ABSENT_HOT, FILL, CHECK, DROP };

/* Every other unit is hot: both halves have all places in the order of faults */
static u64 touch_hot(struct tenant *t)
{
	u32 *list = malloc(t->s.r.units * sizeof(*list));
	size_t n = 0, i;

	for (i = 1; list && i < t->s.r.units; i += 2)
		list[n++] = t->s.all[i];
	scenario_touch(&t->s, list, n, true);
	free(list);
	return n;
}

static u64 absent_hot(struct tenant *t)
{
	u64 n = 0;
	size_t i;

	region_read(&t->s.r);
	for (i = 1; i < t->s.r.units; i += 2)
		n += !t->s.r.present[i];
	return n;
}

static u64 check(struct tenant *t, u64 key)
{
	u64 first, bad = 0;

	if (!t->host)
		bad = guest_pattern(&t->s.guest, 0, OP_CHECK, t->s.all, t->s.r.units, key);
	return bad + region_check(&t->s.r, t->s.all, t->s.r.units, key, &first);
}

static void fill(struct tenant *t, u64 key)
{
	if (t->host)
		region_fill(&t->s.r, t->s.all, t->s.r.units, key);
	else
		guest_pattern(&t->s.guest, 0, OP_FILL, t->s.all, t->s.r.units, key);
}

static u64 tenant_work(void *state, int cmd, u64 arg)
{
	struct tenant *t = state;

	switch (cmd) {
	case START:
		t->s.host = t->host;
		if (!t->host)
			guest_create(&t->s.guest, 1, arg, NULL);
		region_create(&t->s.r, BACK_ANON, arg, 0);
		t->s.all = list_all(t->s.r.units, 0);
		for (size_t i = 0; t->backwards && i < t->s.r.units; i++)
			t->s.all[i] = t->s.r.units - 1 - i;
		if (!t->host)
			guest_set_memory(&t->s.guest, &t->s.r, 1, 0);
		memcg_enter(&t->group.cg, 0);
		scenario_touch(&t->s, t->s.all, t->s.r.units, true);
		region_check_resident(&t->s.r);
		memcg_drain_lru();
		return t->s.r.units;
	case TOUCH:
		scenario_touch(&t->s, t->s.all + (arg >> 32), (u32)arg, true);
		memcg_drain_lru();
		return 0;
	case TOUCH_HOT:
		return touch_hot(t);
	case ABSENT:
		return t->s.r.units - region_read(&t->s.r);
	case ABSENT_HOT:
		return absent_hot(t);
	case FILL:
		fill(t, arg);
		return 0;
	case CHECK:
		return check(t, arg);
	case DROP:
		return madvise(t->s.r.mem, t->s.r.pages * t->s.r.page_size, MADV_DONTNEED);
	}
	return 0;
}

void tenant_join(struct tenant *t, const struct group *group, size_t bytes)
{
	t->group = *group;
	worker_start(&t->w, tenant_work, t);
	t->units = worker_call(&t->w, START, bytes);
	if (t->units != bytes / sysconf(_SC_PAGESIZE))
		mmg_broken("%s has %zu pages of the %zu bytes asked for", t->group.cg.dir, t->units,
			   bytes);
}

void tenant_start(struct tenant *t, const struct memcg *parent, const char *name, size_t bytes)
{
	struct group group;

	group_create(&group, parent, name);
	tenant_join(t, &group, bytes);
}

void tenant_touch(struct tenant *t, size_t from, size_t n)
{
	worker_call(&t->w, TOUCH, (u64)from << 32 | n);
}

void tenant_touch_hot(struct tenant *t)
{
	worker_call(&t->w, TOUCH_HOT, 0);
}

void tenant_drop(struct tenant *t)
{
	if (worker_call(&t->w, DROP, 0))
		mmg_broken("MADV_DONTNEED of a VM's memory failed");
}

u64 tenant_absent_hot(struct tenant *t)
{
	return worker_call(&t->w, ABSENT_HOT, 0);
}

u64 tenant_absent_cold(struct tenant *t)
{
	return tenant_absent(t) - tenant_absent_hot(t);
}

void tenant_fill(struct tenant *t, u64 key)
{
	worker_call(&t->w, FILL, key);
}

u64 tenant_check(struct tenant *t, u64 key)
{
	return worker_call(&t->w, CHECK, key);
}

void tenant_age(struct tenant *t, int rounds)
{
	while (rounds--)
		group_age(&t->group, true);
}

u64 tenant_absent(struct tenant *t)
{
	return worker_call(&t->w, ABSENT, 0);
}

u64 tenant_stolen(const struct tenant *t)
{
	return memcg_key(&t->group.cg, "memory.stat", "pgsteal");
}

void tenant_set(const struct memcg *cg, const char *file, const char *text)
{
	int err = memcg_write(cg, file, "%s", text);

	if (err)
		mmg_broken("writing \"%s\" to %s/%s: %s", text, cg->dir, file, strerror(-err));
}
