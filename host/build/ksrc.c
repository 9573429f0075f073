// SPDX-License-Identifier: GPL-2.0-only
/*
 * The source that a kernel's selftests are built from, and built kernels as the suite
 * wants them.
 */
#include "base/arch.h"
#include "build/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool take_given(const struct kernel_options *how, struct kernel *k, GError **err)
{
	char *real = realpath(how->ksrc, NULL), *lib;
	bool ok;

	if (!real) {
		mmg_set_error(err, MMG_EXIT_USAGE, "--ksrc %s: %s", how->ksrc, g_strerror(errno));
		return false;
	}
	lib = g_build_filename(real, "tools/testing/selftests/kvm/lib", NULL);
	ok = g_file_test(lib, G_FILE_TEST_IS_DIR);
	if (ok) {
		g_free(k->ksrc);
		g_free(k->ksrc_name);
		k->ksrc = g_strdup(real);
		k->ksrc_name = g_strdup(real);
	} else {
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "--ksrc %s is no kernel source tree: it has no tools/testing/selftests/kvm/lib",
			      how->ksrc);
	}
	g_free(lib);
	free(real);
	return ok;
}

/**
 * kernel_find_ksrc - have the source that the selftest library is built from
 *
 * Fills @k->ksrc and ksrc_name where they are not set: --ksrc, the build
 * tree's own source (set by kernel_resolve()), the packaged one that fits.
 * False with *@err.
 */
bool kernel_find_ksrc(const struct kernel_options *how, struct kernel *k, GError **err)
{
	const char *at;

	if (how->ksrc)
		return take_given(how, k, err);
	if (k->ksrc)
		return true;
	at = g_str_has_prefix(k->spec, "debian:") ? strchr(k->spec, '@') : NULL;
	k->ksrc = ksrc_fetch(how->offline, k->version, k->suite ? k->suite : at ? at + 1 : NULL, false,
			     &k->ksrc_name, err);
	return k->ksrc;
}

struct kernel *kernel_from_build(const struct kernel_options *how, const struct source *src,
				 const struct build_result *b, const char *label, const char *role,
				 GError **err)
{
	g_autofree char *meta = g_build_filename(b->dir, "build.json", NULL);
	struct kernel *k = g_new0(struct kernel, 1);
	json_t *j = json_load_file(meta, 0, NULL);
	const char *release = json_string_value(json_object_get(j, "release"));

	k->spec = g_strdup(src->name);
	k->label = g_strdup(label);
	k->release = g_strdup(release ? release : src->version);
	k->version = g_strdup(src->version);
	k->arch = g_strdup(how->arch ?: arch_host()->name);
	k->image = g_strdup(b->image);
	k->config = g_strdup(b->config);
	k->ksrc = g_strdup(src->tree);
	k->ksrc_name = g_strdup(src->name);
	k->packages = g_ptr_array_new_with_free_func(g_free);
	if (strchr(src->name, '='))
		g_ptr_array_add(k->packages, g_strdup(src->name));
	k->sha256 = g_strdup(b->sha256);
	k->role = g_strdup(role);
	json_decref(j);
	if (how->ksrc) {
		g_free(k->ksrc);
		g_free(k->ksrc_name);
		k->ksrc = g_strdup(how->ksrc);
		k->ksrc_name = g_strdup(how->ksrc);
	}
	if (!kernel_find_ksrc(how, k, err)) {
		kernel_free(k);
		return NULL;
	}
	return k;
}
