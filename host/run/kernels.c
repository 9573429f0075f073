// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernels of a run: each --kernel resolved, its heading unique.
 */
#include "base/arch.h"
#include "run/run.h"

#include <string.h>

static void kernel_unref(gpointer k)
{
	kernel_free(k);
}

void kernels_unique_labels(GPtrArray *kernels)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint i;

	for (i = 0; i < kernels->len; i++) {
		struct kernel *k = kernels->pdata[i];
		int n = GPOINTER_TO_INT(g_hash_table_lookup(seen, k->label)) + 1;

		g_hash_table_replace(seen, g_strdup(k->label), GINT_TO_POINTER(n));
		if (n > 1) {
			char *label = g_strdup_printf("%s#%d", k->label, n);

			g_free(k->label);
			k->label = label;
		}
	}
}

/* Add --kernel @spec as @how means it */
static bool add_kernel(GPtrArray *kernels, const struct kernel_options *how, const char *spec, GError **err)
{
	struct kernel *k;

	status_set("kernel %s%s%s", spec, how->arch ? " for " : "", how->arch ?: "");
	k = kernel_resolve(how, spec, err);
	if (k)
		g_ptr_array_add(kernels, k);
	return k;
}

/* Can VMs of @a be had here, and programs for them be compiled?  Says why not */
static bool arch_is_here(const struct arch *a)
{
	g_autofree char *gcc = NULL, *cc = NULL, *qemu = NULL;

	if (!a->qemu)
		return false;
	gcc = g_strconcat(arch_cross(a), "gcc", NULL);
	cc = g_find_program_in_path(gcc);
	qemu = g_find_program_in_path(a->qemu);
	if (!cc || !qemu)
		status_note("--arch all leaves %s out: no %s; ./run.sh doctor names the package", a->name,
			    qemu ? gcc : a->qemu);
	return cc && qemu;
}

/* --arch all: @spec of each architecture, with the architecture in the heading */
static bool add_of_all(GPtrArray *kernels, const struct kernel_options *how, const char *spec, GError **err)
{
	unsigned int n;
	const struct arch *rows = arch_all(&n);

	for (unsigned int i = 0; i < n; i++) {
		struct kernel_options one = *how;
		struct kernel *k;
		char *label;

		if (!arch_is_here(&rows[i]))
			continue;
		one.arch = rows[i].name;
		if (!add_kernel(kernels, &one, spec, err))
			return false;
		k = kernels->pdata[kernels->len - 1];
		label = g_strdup_printf("%s-%s", k->version, k->arch);
		g_free(k->label);
		k->label = label;
	}
	return true;
}

GPtrArray *kernels_resolve(const struct kernel_options *how, const GPtrArray *specs, GError **err)
{
	GPtrArray *kernels = g_ptr_array_new_with_free_func(kernel_unref);
	bool all = how->arch && !strcmp(how->arch, "all"), ok = true;
	guint i;

	for (i = 0; ok && i < MAX(specs->len, 1); i++) {
		const char *spec = specs->len ? specs->pdata[i] : DEFAULT_KERNEL;

		ok = all ? add_of_all(kernels, how, spec, err) : add_kernel(kernels, how, spec, err);
	}
	if (!ok) {
		g_ptr_array_unref(kernels);
		return NULL;
	}
	kernels_unique_labels(kernels);
	return kernels;
}
