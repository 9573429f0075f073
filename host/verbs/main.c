// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* git bisect run takes 2 to 127 for bad: 129 and above stop it */
static int bisect_status(const struct cli *cli, int status)
{
	if (cli->verb && !strcmp(cli->verb, "bisect") && status == MMG_EXIT_USAGE)
		return 129;
	return status;
}

int main(int argc, char **argv)
{
	struct cli *cli = cli_new();
	int (*fn)(struct cli *cli, GError **err);
	GError *err = NULL;
	bool help;
	int status = MMG_EXIT_USAGE;

	g_set_prgname("mmgate");
	fn = cli_parse(cli, argc, argv, &help, &err);
	if (fn && help) {
		char *text = cli_usage(cli->verb);

		fputs(text, stdout);
		g_free(text);
		cli_free(cli);
		return MMG_EXIT_OK;
	}
	if (fn) {
		mmg_interrupted();	/* from here on signals are ours */
		status_init(cli->quiet, cli->verbose > 0);
		status = fn(cli, &err);
	}
	status_clear();
	if (err) {
		fprintf(stderr, "mmgate: %s\n", err->message);
		status = err->code;
		g_error_free(err);
	}
	status = bisect_status(cli, status);
	cli_free(cli);
	errno = 0;
	/* a reader that has seen enough (head, say) is no error */
	if ((fflush(stdout) || ferror(stdout)) && !status && errno != EPIPE) {
		fprintf(stderr, "mmgate: cannot write to stdout: %s\n", strerror(errno));
		status = MMG_EXIT_BROKEN;
	}
	return status;
}
