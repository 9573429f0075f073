/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's threads that change memory behind its owner's back: khugepaged and ksmd */
#ifndef MMGATE_KHUGEPAGED_H
#define MMGATE_KHUGEPAGED_H

#include <stddef.h>

#include "compiler.h"

/*
 * Skip where the kernel has no khugepaged, else make it fast and let it alone decide: no
 * page of a table may be missing or swapped out, and it sleeps between passes for a day.
 */
void khugepaged_require(void);

/* Let it go over all memory that it may collapse, once from the start to the end */
void khugepaged_pass(void);

/* Skip where the kernel has no KSM, else make it fast; it stays off */
void ksm_require(void);

/* Let ksmd merge until each @per base pages from @mem on are one, of @pages, then stop it */
void ksm_merge(const char *mem, size_t pages, size_t per);

#endif /* MMGATE_KHUGEPAGED_H */
