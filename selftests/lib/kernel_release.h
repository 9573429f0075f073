/* SPDX-License-Identifier: GPL-2.0-only */
/* Which release is running; for rules that cannot be probed */
#ifndef MMGATE_KERNEL_RELEASE_H
#define MMGATE_KERNEL_RELEASE_H

#include <stdbool.h>

/* Is the running kernel from before @major.@minor?  Broken where uname() makes no sense. */
bool kernel_before(int major, int minor);

#endif /* MMGATE_KERNEL_RELEASE_H */
