// SPDX-License-Identifier: GPL-2.0-only
#include "fuzz.h"

#include <stdlib.h>

char *fuzz_dir;

static void clean(void)
{
	mmg_rmtree(fuzz_dir);
}

static void quiet(const char *domain, GLogLevelFlags level, const char *text, gpointer data)
{
	(void)domain;
	(void)level;
	(void)text;
	(void)data;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *in = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	(void)argc;
	(void)argv;
	fuzz_dir = g_strdup_printf("%s/mmgate-fuzz-XXXXXX", in);
	must(g_mkdtemp(fuzz_dir));
	g_setenv("MMGATE_ROOT", fuzz_dir, TRUE);
	g_setenv("XDG_CACHE_HOME", fuzz_dir, TRUE);
	g_setenv("TMPDIR", fuzz_dir, TRUE);
	g_log_set_default_handler(quiet, NULL);
	atexit(clean);
	return 0;
}

char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
	char *path = g_build_filename(fuzz_dir, name, NULL), *dir = g_path_get_dirname(path);
	int fd;

	must(mmg_mkdirs(dir, NULL));
	g_free(dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd >= 0);
	must(write(fd, data, size) == (ssize_t)size);
	close(fd);
	return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	return g_strndup((const char *)data, size);
}
