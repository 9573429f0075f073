// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs put together: the kernels of a table that were tested one by one, or the
 * results of several machines that each did a part.
 */
#include "run/merge.h"

#include <string.h>

/* The column of kernel @k in @run, added where there is none yet */
static size_t column_of(json_t *run, json_t *k)
{
	json_t *kernels = json_object_get(run, "kernels"), *have;
	const char *label = obj_str(k, "label");
	int taken = 0;
	size_t i;

	json_array_foreach(kernels, i, have) {
		if (strcmp(obj_str(have, "label"), label))
			continue;
		if (!strcmp(obj_str(have, "image_sha256"), obj_str(k, "image_sha256")) &&
		    !strcmp(obj_str(have, "arch"), obj_str(k, "arch")))
			return i;
		taken++;
	}
	if (taken) {
		g_autofree char *other = g_strdup_printf("%s#%s", label, obj_str(k, "release"));

		json_object_set_new(k, "label", json_string(other));
		return column_of(run, k);
	}
	json_array_append(kernels, k);
	return json_array_size(kernels) - 1;
}

void run_merge(json_t *run, json_t *part, const char *prefix)
{
	json_t *boots = json_object_get(run, "boots"), *kernels = json_object_get(part, "kernels"), *o;
	size_t first = json_array_size(boots), i, n = json_array_size(kernels);
	g_autofree size_t *column = g_new0(size_t, n + 1);

	json_array_foreach(kernels, i, o)
		column[i] = column_of(run, o);
	json_array_foreach(json_object_get(part, "boots"), i, o) {
		size_t k = obj_int(o, "kernel");
		const char *dir = obj_str(o, "dir");

		json_object_set_new(o, "kernel", json_integer(k < n ? column[k] : 0));
		if (*dir && *prefix) {
			g_autofree char *path = g_strdup_printf("%s/%s", prefix, dir);

			json_object_set_new(o, "dir", json_string(path));
		}
		json_array_append(boots, o);
	}
	json_array_foreach(json_object_get(part, "cases"), i, o) {
		size_t k = obj_int(o, "kernel");

		json_object_set_new(o, "kernel", json_integer(k < n ? column[k] : 0));
		json_object_set_new(o, "boot", json_integer(obj_int(o, "boot") + first));
		json_array_append(json_object_get(run, "cases"), o);
	}
}
