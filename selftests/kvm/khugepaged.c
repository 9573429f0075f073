// SPDX-License-Identifier: GPL-2.0-only
#include "khugepaged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"

#define KHUGEPAGED	"/sys/kernel/mm/transparent_hugepage/khugepaged/"
#define KSM		"/sys/kernel/mm/ksm/"
#define A_DAY		"86400000"
/* More than a test's memory has pages: one wake-up goes over all of it */
#define ALL_PAGES	"10000000"
#define POLL_US		10000
#define KSM_PASSES	20
/* of a pagemap entry: Documentation/admin-guide/mm/pagemap.rst */
#define PM_PFN		0x7fffffffffffffULL

static u64 number(const char *path)
{
	char *text = mmg_read_file(path, NULL);
	u64 n;

	if (!text)
		mmg_broken("%s cannot be read", path);
	n = strtoull(text, NULL, 10);
	free(text);
	return n;
}

static void set(const char *path, const char *value)
{
	mmg_save_setting(path);
	mmg_write_setting(path, "%s", value);
}

void khugepaged_require(void)
{
	if (access(KHUGEPAGED "full_scans", R_OK))
		mmg_skip("no khugepaged: CONFIG_TRANSPARENT_HUGEPAGE");
	set(KHUGEPAGED "scan_sleep_millisecs", A_DAY);
	set(KHUGEPAGED "alloc_sleep_millisecs", "10");
	set(KHUGEPAGED "pages_to_scan", ALL_PAGES);
	set(KHUGEPAGED "max_ptes_none", "0");
	set(KHUGEPAGED "max_ptes_swap", "0");
}

/*
 * The count goes up at the end of a pass (khugepaged_scan_mm_slot()).  The first may have
 * begun in the middle, and one that could not lock the mm left it out: wait for three.
 */
void khugepaged_pass(void)
{
	u64 start = number(KHUGEPAGED "full_scans");

	mmg_doing("waiting for khugepaged to go over all of it");
	mmg_write_setting(KHUGEPAGED "scan_sleep_millisecs", "1");
	while (number(KHUGEPAGED "full_scans") < start + 3)
		usleep(POLL_US);
	mmg_write_setting(KHUGEPAGED "scan_sleep_millisecs", A_DAY);
}

void ksm_require(void)
{
	if (access(KSM "pages_sharing", R_OK))
		mmg_skip("no KSM: CONFIG_KSM");
	set(KSM "sleep_millisecs", "1");
	set(KSM "pages_to_scan", "2000");
	if (!access(KSM "use_zero_pages", W_OK))
		set(KSM "use_zero_pages", "0");
	if (!access(KSM "smart_scan", W_OK))
		set(KSM "smart_scan", "0");
}

/* How many of the @pages are the same page of memory as the first of their @per */
static size_t merged(int fd, const char *mem, size_t pages, size_t per)
{
	size_t page_size = sysconf(_SC_PAGESIZE), n = 0, i;
	u64 entry, first = 0;

	for (i = 0; i < pages; i++) {
		off_t at = (uintptr_t)mem / page_size + i;

		if (pread(fd, &entry, sizeof(entry), at * sizeof(entry)) != sizeof(entry))
			mmg_broken("reading pagemap: %s", strerror(errno));
		entry &= PM_PFN;
		if (!entry)
			mmg_skip("pagemap shows no page frame numbers: needs CAP_SYS_ADMIN");
		if (!(i % per))
			first = entry;
		n += entry == first;
	}
	return n;
}

/* A page is merged once its checksum was the same in two passes (cmp_and_merge_page()) */
void ksm_merge(const char *mem, size_t pages, size_t per)
{
	u64 start = number(KSM "full_scans");
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t n;

	if (fd < 0)
		mmg_broken("pagemap: %s", strerror(errno));
	mmg_doing("waiting for ksmd to merge");
	mmg_write_setting(KSM "run", "1");
	do {
		usleep(POLL_US);
		n = merged(fd, mem, pages, per);
	} while (n < pages && number(KSM "full_scans") < start + KSM_PASSES);
	mmg_write_setting(KSM "run", "0");
	close(fd);
	if (n < pages)
		mmg_broken("%zu of %zu pages are merged after %d passes of ksmd", n, pages,
			   KSM_PASSES);
}
