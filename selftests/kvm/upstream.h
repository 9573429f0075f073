/* SPDX-License-Identifier: GPL-2.0-only */
/* Upstream's access_tracking_perf_test as libkvm.mk links it into ours */
#ifndef MMGATE_UPSTREAM_H
#define MMGATE_UPSTREAM_H

/* Why this build has none of it, or NULL */
extern const char *upstream_why_not;

/*
 * Its main(): @argv is what its command line would be, the words may be moved by it.
 * Returns its exit status, or ends the process with that (254: an assertion failed).
 */
int upstream_main(int argc, char **argv);

#endif /* MMGATE_UPSTREAM_H */
