/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share: a scratch folder, and a check that ends the process.
 */
#ifndef MMGATE_FUZZ_H
#define MMGATE_FUZZ_H

#include "base/base.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define must(x)								\
	do {								\
		if (!(x))						\
			__builtin_trap();				\
	} while (0)

extern char *fuzz_dir;		/* of this process, removed with it */

/* Write @size bytes to @name below fuzz_dir; its path, g_free() it */
char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/* The bytes as a string, which ends at the first NUL; g_free() it */
char *fuzz_text(const uint8_t *data, size_t size);

#endif /* MMGATE_FUZZ_H */
