// SPDX-License-Identifier: GPL-2.0-only
#include "uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner.h"

#define UNPRIVILEGED	"/proc/sys/vm/unprivileged_userfaultfd"

static void open_with(struct uffd *u, void *mem, size_t bytes, u64 features, const char *since)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	memset(u, 0, sizeof(*u));
	u->mem = mem;
	u->bytes = bytes;
	/* who may answer faults of the kernel: CAP_SYS_PTRACE, or anybody by this setting */
	if (!access(UNPRIVILEGED, W_OK)) {
		mmg_save_setting(UNPRIVILEGED);
		mmg_write_setting(UNPRIVILEGED, "1");
	}
	u->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (u->fd < 0)
		mmg_skip("userfaultfd: %s: needs CONFIG_USERFAULTFD, and root or vm.unprivileged_userfaultfd",
			 strerror(errno));
	if (ioctl(u->fd, UFFDIO_API, &api) && features)
		mmg_skip("this userfaultfd cannot do that: from %s on", since);
	if (!api.ioctls)
		mmg_broken("UFFDIO_API: %s", strerror(errno));
	if (pipe(u->stop))
		mmg_broken("pipe: %s", strerror(errno));
}

void uffd_open(struct uffd *u, void *mem, size_t bytes)
{
	open_with(u, mem, bytes, 0, "");
}

static void watch(struct uffd *u, u64 mode, const char *what)
{
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)u->mem, .len = u->bytes }, .mode = mode,
	};

	if (ioctl(u->fd, UFFDIO_REGISTER, &reg))
		mmg_skip("no userfaultfd for %s of this memory: %s", what,
			 strerror(errno));
}

static void protect(struct uffd *u, u64 start, u64 len, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = start, .len = len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int err;

	do {
		err = ioctl(u->fd, UFFDIO_WRITEPROTECT, &wp);
	} while (err && errno == EAGAIN);
	if (err)
		mmg_broken("UFFDIO_WRITEPROTECT: %s", strerror(errno));
}

void uffd_protect(struct uffd *u)
{
	protect(u, (uintptr_t)u->mem, u->bytes, true);
}

#ifdef UFFDIO_REGISTER_MODE_RWP

static void protect_access(struct uffd *u, u64 start, u64 len, bool on)
{
	struct uffdio_rwprotect rwp = {
		.range = { .start = start, .len = len },
		.mode = on ? UFFDIO_RWPROTECT_MODE_RWP : 0,
	};
	int err;

	do {
		err = ioctl(u->fd, UFFDIO_RWPROTECT, &rwp);
	} while (err && errno == EAGAIN);
	if (err)
		mmg_broken("UFFDIO_RWPROTECT: %s", strerror(errno));
}

void uffd_protect_accesses(struct uffd *u)
{
	protect_access(u, (uintptr_t)u->mem, u->bytes, true);
}

void uffd_open_accesses(struct uffd *u, void *mem, size_t bytes)
{
	open_with(u, mem, bytes, UFFD_FEATURE_RWP, "7.3");
}

static bool answer_access(struct uffd *u, u64 address, u64 flags, size_t page_size)
{
	if (!(flags & UFFD_PAGEFAULT_FLAG_RWP))
		return false;
	u->accessed++;
	u->seen[(address - (uintptr_t)u->mem) / page_size] = 1;
	protect_access(u, address, page_size, false);
	return true;
}

#else

#define UFFDIO_REGISTER_MODE_RWP 0

void uffd_protect_accesses(struct uffd *u)
{
	(void)u;
}

void uffd_open_accesses(struct uffd *u, void *mem, size_t bytes)
{
	(void)u;
	(void)mem;
	(void)bytes;
	mmg_skip("built with headers older than 7.3: no read-write protection by userfaultfd there");
}

static bool answer_access(struct uffd *u, u64 address, u64 flags, size_t page_size)
{
	(void)u;
	(void)address;
	(void)flags;
	(void)page_size;
	return false;
}

#endif

/* A page that came in meanwhile is answered as well: EEXIST, and it has woken whoever waits */
static void place(struct uffd *u, u64 address, void *buffer, size_t page_size)
{
	struct uffdio_copy copy = { .dst = address, .src = (uintptr_t)buffer, .len = page_size };
	struct uffdio_range range = { .start = address, .len = page_size };
	int err;

	do {
		copy.copy = 0;
		err = ioctl(u->fd, UFFDIO_COPY, &copy);
	} while (err && errno == EAGAIN);
	if (err && errno != EEXIST)
		mmg_broken("UFFDIO_COPY: %s", strerror(errno));
	if (err)
		ioctl(u->fd, UFFDIO_WAKE, &range);
}

static void answer(struct uffd *u, const struct uffd_msg *msg, u64 *buffer, size_t page_size)
{
	u64 address = msg->arg.pagefault.address & ~((u64)page_size - 1);

	if (msg->event != UFFD_EVENT_PAGEFAULT)
		return;
	if (answer_access(u, address, msg->arg.pagefault.flags, page_size))
		return;
	if (msg->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
		u->protected++;
		if (u->before_write)
			u->before_write((char *)(uintptr_t)address,
					(address - (uintptr_t)u->mem) / page_size);
		protect(u, address, page_size, false);
		return;
	}
	u->missing++;
	u->fill(buffer, (address - (uintptr_t)u->mem) / page_size);
	place(u, address, buffer, page_size);
}

static void *serve(void *arg)
{
	struct uffd *u = arg;
	struct pollfd fds[] = {
		{ .fd = u->stop[0], .events = POLLIN }, { .fd = u->fd, .events = POLLIN },
	};
	size_t page_size = sysconf(_SC_PAGESIZE);
	u64 *buffer = aligned_alloc(page_size, page_size);
	struct uffd_msg msg;

	if (!buffer)
		mmg_broken("no memory for a page");
	sem_post(&u->ready);
	while (poll(fds, 2, -1) > 0 || errno == EINTR) {
		if (fds[0].revents)
			break;
		if (read(u->fd, &msg, sizeof(msg)) == sizeof(msg))
			answer(u, &msg, buffer, page_size);
	}
	free(buffer);
	return NULL;
}

/*
 * What a new thread allocates takes mmap_lock for writing, and a walk that comes then leaves
 * this process out (walk_mm()): return once the thread does nothing but wait.
 */
static void start(struct uffd *u)
{
	sem_init(&u->ready, 0, 0);
	if (pthread_create(&u->thread, NULL, serve, u))
		mmg_broken("starting the thread of a userfaultfd failed");
	u->running = true;
	while (sem_wait(&u->ready) && errno == EINTR)
		;
}

void uffd_serve_missing(struct uffd *u, void (*fill)(u64 *words, size_t page))
{
	u->fill = fill;
	watch(u, UFFDIO_REGISTER_MODE_MISSING, "missing pages");
	start(u);
}

void uffd_serve_writes(struct uffd *u)
{
	watch(u, UFFDIO_REGISTER_MODE_WP, "writes");
	start(u);
}

void uffd_serve_accesses(struct uffd *u, u8 *seen)
{
	u->seen = seen;
	watch(u, UFFDIO_REGISTER_MODE_RWP, "accesses");
	start(u);
}

void uffd_close(struct uffd *u)
{
	if (!u->running)
		return;
	if (write(u->stop[1], "", 1) != 1)
		mmg_broken("ending the thread of a userfaultfd: %s", strerror(errno));
	pthread_join(u->thread, NULL);
	close(u->stop[0]);
	close(u->stop[1]);
	close(u->fd);
	memset(u, 0, sizeof(*u));
}
