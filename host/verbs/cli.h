/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_CLI_H
#define MMGATE_CLI_H

#include "mmg.h"

struct cli *cli_new(void);
void cli_free(struct cli *cli);
/*
 * Parse argv into @cli and return the verb's function, or NULL with *@err
 * (usage).  @help: -h was given; print cli_usage() instead.
 */
int (*cli_parse(struct cli *cli, int argc, char **argv, bool *help, GError **err))(struct cli *cli,
										    GError **err);
/* Help for @verb, or for all where NULL; g_free() it */
char *cli_usage(const char *verb);

#endif /* MMGATE_CLI_H */
