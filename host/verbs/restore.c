// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb restore: put back what a test changed on this host before it was
 * killed, from the journal it kept.
 */
#include "verbs/verbs.h"

#include "journal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int verb_restore(struct cli *cli, GError **err)
{
	const char *path = mmg_journal_path();
	char *text = NULL;
	int left;

	if (access(path, F_OK)) {
		printf("nothing to put back: there is no journal %s\n", path);
		return MMG_EXIT_OK;
	}
	if (cli->dry_run) {
		if (!g_file_get_contents(path, &text, NULL, NULL)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read the journal %s: %s", path,
				      g_strerror(errno));
			return MMG_EXIT_BROKEN;
		}
		printf("would put back, from %s:\n%s", path, text);
		g_free(text);
		return MMG_EXIT_OK;
	}
	left = mmg_journal_open(1);
	if (left) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot open the journal %s: %s; %s", path,
			      g_strerror(-left), left == -EBUSY ? "a test is still running" :
			      "run this as the user who ran the tests");
		return MMG_EXIT_BROKEN;
	}
	left = mmg_journal_restore(0);
	mmg_journal_close();
	if (left) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "%d settings of %s could not be put back; run it as root",
			      left, path);
		return MMG_EXIT_BROKEN;
	}
	printf("put back all that %s held\n", path);
	return MMG_EXIT_OK;
}
