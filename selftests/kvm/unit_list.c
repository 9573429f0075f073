// SPDX-License-Identifier: GPL-2.0-only
#include "unit_list.h"

#include <stdlib.h>

#include "orderstat.h"
#include "runner.h"

u32 *list_all(size_t n, u64 seed)
{
	u32 *list = malloc(n * sizeof(*list));
	size_t i;

	if (!list)
		mmg_broken("no memory for a list of %zu", n);
	for (i = 0; i < n; i++)
		list[i] = i;
	if (seed)
		mmg_shuffle(list, n, &seed);
	return list;
}

u32 *list_where(const u8 *label, size_t n, u8 which, size_t *count)
{
	u32 *list = malloc((n ? n : 1) * sizeof(*list));
	size_t i;

	if (!list)
		mmg_broken("no memory for a list of %zu", n);
	*count = 0;
	for (i = 0; i < n; i++) {
		if (label[i] == which)
			list[(*count)++] = i;
	}
	return list;
}

void label_stratified(u8 *label, const u32 *order, size_t n, unsigned int k, u64 seed)
{
	u32 group[ORDER_K_MAX];
	size_t i;
	unsigned int j;

	for (i = 0; i < n; i += k) {
		for (j = 0; j < k; j++)
			group[j] = j;
		mmg_shuffle(group, k, &seed);
		for (j = 0; j < k && i + j < n; j++)
			label[order[i + j]] = group[j];
	}
}
