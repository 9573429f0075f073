// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program made portable: with its libraries and its loader in one folder.
 */
#include "run/job.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * The loader starts the program with the libraries beside it.  No plug-ins of the host's GLib are loaded into
 * ours; MMGATE_ROOT is where the known issues lie, and no checkout.
 */
static const char script[] =
	"#!/bin/sh\n"
	"here=$(dirname \"$(readlink -f \"$0\")\")\n"
	"MMGATE_ROOT=$here GIO_MODULE_DIR=$here GIO_USE_VFS=local\n"
	"export MMGATE_ROOT GIO_MODULE_DIR GIO_USE_VFS\n"
	"for loader in \"$here\"/lib/ld-linux*.so* \"$here\"/lib/ld64.so*; do\n"
	"\t[ ! -e \"$loader\" ] || exec \"$loader\" --library-path \"$here/lib\" \"$here/lib/mmgate\" \"$@\"\n"
	"done\n"
	"echo \"mmgate: $here/lib holds no loader\" >&2\n"
	"exit 3\n";

/* The known issues go with it: a job's own verdict is the one of the checkout that wrote it */
static bool put_known_issues(const char *dir, GError **err)
{
	g_autofree char *from = mmg_root_path("configs", "known-issues", NULL);
	g_autofree char *to = g_build_filename(dir, "configs", "known-issues", NULL);

	return !g_file_test(from, G_FILE_TEST_IS_DIR) || job_copy_tree(from, to, err);
}

static bool put_script(const char *dir, GError **err)
{
	g_autofree char *path = g_build_filename(dir, "mmgate", NULL);

	if (!mmg_write_atomic(path, script, -1, err))
		return false;
	if (!chmod(path, 0755))
		return true;
	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make %s a program: %s", path, g_strerror(errno));
	return false;
}

bool runner_stage(const char *dir, GError **err)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *name = NULL, *disk = NULL;
	g_autofree char *from = NULL, *to = g_build_filename(dir, "lib", NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	struct utsname host;

	uname(&host);
	/* what is there already was put there by this program, or is another's: made anew */
	mmg_rmtree(dir);
	if (!mmg_mkdirs(dir, err))
		return false;
	name = self ? g_path_get_basename(self) : NULL;
	if (name && !strcmp(name, "mmgate")) {
		g_ptr_array_add(names, self);
		disk = programs_stage(dir, names, host.machine);
	}
	from = disk ? g_build_filename(disk, "programs", NULL) : NULL;
	if (!from || rename(from, to)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "this program (%s) and its libraries cannot be copied to %s",
			      self ? self : "of unknown name", to);
		return false;
	}
	rmdir(disk);
	return put_known_issues(dir, err) && put_script(dir, err);
}
