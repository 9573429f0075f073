// SPDX-License-Identifier: GPL-2.0-only
/* A package from who knows where */
#include "fuzz.h"
#include "store/store.h"

static char *all(const char *path, void *data)
{
	(void)data;
	return g_strdup(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_file("in/x.deb", data, size), *out = g_build_filename(fuzz_dir, "out", NULL);
	struct pkg_unpack how = { .dir = out, .want = all, .max = 1 << 20, .what = "fuzz" };
	struct pkg *p = pkg_open(path, NULL);
	GByteArray *bytes;

	pkg_free(p);
	must(mmg_mkdirs(out, NULL));
	pkg_is_archive(path);
	pkg_unpack(path, &how, NULL);
	bytes = pkg_decompress(path, 1 << 20, NULL);
	if (bytes)
		g_byte_array_unref(bytes);
	must(access(fuzz_dir, F_OK) == 0);
	mmg_rmtree(out);
	g_free(out);
	g_free(path);
	return 0;
}
