/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the caller's shell, terminal and environment may not change: called once, first.
 */
#ifndef MMGATE_ENVIRONMENT_H
#define MMGATE_ENVIRONMENT_H

/*
 * Take out of the environment what would steer make, kbuild and git, which run
 * as children: ARCH, O, TARGETS, MAKEFLAGS, GIT_DIR and their like.  What is
 * wanted of them is given to each child by name.  Children speak English (LC_ALL=C).
 * A TMPDIR that is not an absolute name of a folder that can be written to is dropped.
 */
void environment_clean(void);

/* Let git know its user again: whose configuration it reads, and the names of author and committer */
void environment_git_user(void);

/*
 * Give closed descriptors 0 to 2 something to be, so that no file of ours gets
 * their number: reading finds nothing, writing to stdout goes on to fail.
 * A file that grows past `ulimit -f` is then a failed write, not the end.
 */
void environment_descriptors(void);

#endif /* MMGATE_ENVIRONMENT_H */
