// SPDX-License-Identifier: GPL-2.0-only
#include "kernel_release.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "runner.h"

bool kernel_before(int major, int minor)
{
	struct utsname u;
	int a = 0, b = 0;

	uname(&u);
	if (sscanf(u.release, "%d.%d", &a, &b) != 2)
		mmg_broken("uname says release \"%s\"", u.release);
	return a < major || (a == major && b < minor);
}
