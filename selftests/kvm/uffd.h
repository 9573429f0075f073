/* SPDX-License-Identifier: GPL-2.0-only */
/* A userfaultfd over a mapping, and the thread that answers its faults */
#ifndef MMGATE_UFFD_H
#define MMGATE_UFFD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/**
 * struct uffd - a userfaultfd and who answers it
 * @fd:		the descriptor
 * @mem:	the mapping
 * @bytes:	its size
 * @fill:	makes base page @page of the mapping, for one that is missing
 * @before_write: is shown a protected page before it may be written; may be NULL
 * @seen:	a byte for each base page, set where it was accessed; may be NULL
 * @missing:	faults of missing pages that were answered
 * @protected:	faults of write-protected pages that were answered
 * @accessed:	faults of pages protected against all access that were answered
 */
struct uffd {
	int fd;
	char *mem;
	size_t bytes;
	void (*fill)(u64 *words, size_t page);
	void (*before_write)(const char *page, size_t number);
	u8 *seen;
	size_t missing;
	size_t protected;
	size_t accessed;
	pthread_t thread;
	sem_t ready;
	int stop[2];
	bool running;
};

/* Skip where a mapping of this process cannot be watched, in the kernel's accesses as well */
void uffd_open(struct uffd *u, void *mem, size_t bytes);

/*
 * Watch it for missing pages, each of which @fill makes (it stays missing until it is
 * touched), and start the thread that answers.
 */
void uffd_serve_missing(struct uffd *u, void (*fill)(u64 *words, size_t page));

/* Watch it for writes, and start the thread that answers: it lets the page be written */
void uffd_serve_writes(struct uffd *u);

/* Protect all of it against writes */
void uffd_protect(struct uffd *u);

/*
 * The same for any access (from 7.3 on): uffd_open_accesses() takes the place of uffd_open(),
 * the thread notes in @seen which pages were accessed, and lets them be accessed.
 */
void uffd_open_accesses(struct uffd *u, void *mem, size_t bytes);
void uffd_serve_accesses(struct uffd *u, u8 *seen);
void uffd_protect_accesses(struct uffd *u);

/* End the thread and close the descriptor */
void uffd_close(struct uffd *u);

#endif /* MMGATE_UFFD_H */
