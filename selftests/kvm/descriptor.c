// SPDX-License-Identifier: GPL-2.0-only
#include "descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner.h"

void descriptor_memfd(struct region *r, size_t bytes)
{
	memset(r, 0, sizeof(*r));
	r->backing = BACK_SHMEM;
	r->page_size = sysconf(_SC_PAGESIZE);
	r->unit = 1;
	r->pages = bytes / r->page_size;
	r->units = r->pages;
	r->nid = region_node();
	r->present = calloc(1, r->units);
	r->scratch = calloc(1, r->pages);
	r->fd = memfd_create("mmgate", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, bytes))
		mmg_broken("a memfd of %zu bytes: %s", bytes, strerror(errno));
	r->mem = mmap(NULL, bytes, PROT_READ, MAP_SHARED, r->fd, 0);
	if (r->mem == MAP_FAILED)
		mmg_broken("mmap of a memfd: %s", strerror(errno));
	madvise(r->mem, bytes, MADV_NOHUGEPAGE);
	if (r->nid >= 0)
		region_bind(r->mem, bytes, r->nid);
}

void descriptor_read(const struct region *r, const u8 *label, int which, int times)
{
	char byte;
	size_t i;

	while (times--) {
		for (i = 0; i < r->pages; i++) {
			if (which >= 0 && label[i] != which)
				continue;
			if (pread(r->fd, &byte, 1, i * r->page_size) != 1)
				mmg_broken("reading page %zu: %s", i, strerror(errno));
		}
	}
}

void descriptor_write(const struct region *r)
{
	size_t i;

	for (i = 0; i < r->pages; i++) {
		if (pwrite(r->fd, &i, sizeof(i), i * r->page_size) != sizeof(i))
			mmg_broken("writing page %zu: %s", i, strerror(errno));
	}
}
