// SPDX-License-Identifier: GPL-2.0-only
#include "base/environment.h"
#include "base/scratch.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* git bisect run takes 2 to 127 for bad: 129 and above stop it */
static int bisect_status(const struct cli *cli, int status)
{
	bool step = cli->verb && !strcmp(cli->verb, "bisect") && !cli->good->len && !cli->bad;

	if (step && status == MMG_EXIT_USAGE)
		return 129;
	return status;
}

/* Whether what was written to stdout did not all get there; a reader that has seen enough is no error */
static bool stdout_lost(int status)
{
	errno = 0;
	if (!fflush(stdout) && ferror(stdout)) {
		/* it failed earlier: ask again, for the reason */
		clearerr(stdout);
		putchar('\n');
		fflush(stdout);
	}
	if (!ferror(stdout) || errno == EPIPE || status == MMG_EXIT_INTERRUPTED)
		return false;
	fprintf(stderr, "mmgate: cannot write to stdout: %s\n", strerror(errno ? errno : EIO));
	return true;
}

int main(int argc, char **argv)
{
	verb_fn *fn;
	struct cli *cli;
	GError *err = NULL;
	enum cli_help help;
	int status = MMG_EXIT_USAGE;

	environment_descriptors();
	environment_clean();
	cli = cli_new();
	g_set_prgname("mmgate");
	fn = cli_parse(cli, argc, argv, &help, &err);
	if (fn && help) {
		g_autofree char *text = help == CLI_VERSION ? g_strdup("mmgate " MMG_VERSION "\n") :
					cli_usage(help == CLI_HELP_ALL ? NULL : cli->verb);

		fputs(text, stdout);
		status = MMG_EXIT_OK;
	} else if (fn) {
		mmg_interrupted();	/* from here on signals are ours */
		status_init(cli->quiet, cli->verbose > 0);
		if (machines_expand(cli->machines, &err))
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
	scratch_end();
	return stdout_lost(status) ? MMG_EXIT_BROKEN : status;
}
