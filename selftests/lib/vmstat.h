/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of "name value" lines: /proc/vmstat, a node's vmstat and numastat, meminfo */
#ifndef MMGATE_VMSTAT_H
#define MMGATE_VMSTAT_H

#include <stdbool.h>
#include <stddef.h>

#define VMSTAT_MAX	400

struct vmstat_item {
	char name[40];
	unsigned long value;
};

/* One snapshot of such a file */
struct vmstat {
	struct vmstat_item items[VMSTAT_MAX];
	int nr;
};

int vmstat_parse(const char *text, struct vmstat *v);
int vmstat_read(const char *path, struct vmstat *v);
bool vmstat_has(const struct vmstat *v, const char *name);
bool vmstat_has_prefix(const struct vmstat *v, const char *prefix);
const char *vmstat_option(const char *name);
unsigned long vmstat_get(const struct vmstat *v, const char *name);
unsigned long vmstat_sum(const struct vmstat *v, const char *prefix);
long vmstat_delta(const struct vmstat *a, const struct vmstat *b, const char *name);
unsigned long vmstat_now(const char *name);
unsigned long vmstat_alloc(const struct vmstat *v, const char *zone);

#endif /* MMGATE_VMSTAT_H */
