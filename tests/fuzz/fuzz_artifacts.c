// SPDX-License-Identifier: GPL-2.0-only
// fuzz-without: host/vm/vm.c
/* The guest's tar stream: nothing of it gets outside of its folder, and only regular files into it */
#include "../../host/vm/vm.c"

#include "fuzz.h"

static void only_files(const char *path)
{
	GDir *d = g_dir_open(path, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		char *full = g_build_filename(path, name, NULL);
		struct stat st;

		must(!lstat(full, &st));
		must(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
		if (S_ISDIR(st.st_mode))
			only_files(full);
		g_free(full);
	}
	if (d)
		g_dir_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vm vm = { .artifacts = g_ptr_array_new_with_free_func(g_free), .trouble = g_string_new(NULL) };
	char *tar = fuzz_file("vm/artifacts.tar", data, size), *out;
	GDir *d;

	vm.dir = g_build_filename(fuzz_dir, "vm", NULL);
	unpack_artifacts(&vm);
	out = g_build_filename(vm.dir, "artifacts", NULL);
	only_files(out);
	d = g_dir_open(fuzz_dir, 0, NULL);
	must(!g_strcmp0(g_dir_read_name(d), "vm") && !g_dir_read_name(d));
	g_dir_close(d);
	mmg_rmtree(out);
	g_free(out);
	g_free(tar);
	g_free(vm.dir);
	g_ptr_array_unref(vm.artifacts);
	g_string_free(vm.trouble, TRUE);
	return 0;
}
