// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of the host carried into a VM on its data disk, with the libraries
 * that ldd names and the loader, by which they are started there.
 */
#include "vm/vm.h"

#include <string.h>
#include <sys/utsname.h>

/* Every absolute path in the lines of ldd: "name => /path (0x...)" and "/path (0x...)" */
static void add_libraries(const char *text, GPtrArray *files)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **l = lines; *l; l++) {
		/* where both sides have a path, the second is where it was found */
		char *arrow = strstr(*l, "=> "), *path = strchr(arrow ? arrow : *l, '/');
		char *end = path ? strstr(path, " (0x") : NULL;

		if (end)
			g_ptr_array_add(files, g_strndup(path, end - path));
	}
}

static bool linked_with(const char *program, GPtrArray *files, GError **err)
{
	const char *const argv[] = { "ldd", program, NULL };
	g_autoptr(GString) out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "asking for a program's libraries", .argv = argv, .out = out };

	if (!mmg_run(&cmd, err))
		return false;
	add_libraries(out->str, files);
	return true;
}

/* cp follows links: a library's name is often one */
static bool copy(const char *to, const GPtrArray *files, GError **err)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	struct mmg_cmd cmd = { .what = "copying programs for the data disk" };

	g_ptr_array_add(argv, (char *)"cp");
	g_ptr_array_add(argv, (char *)"-L");
	g_ptr_array_add(argv, (char *)"-t");
	g_ptr_array_add(argv, (char *)to);
	for (guint i = 0; i < files->len; i++)
		g_ptr_array_add(argv, files->pdata[i]);
	g_ptr_array_add(argv, NULL);
	cmd.argv = (const char *const *)argv->pdata;
	return mmg_run(&cmd, err);
}

static bool stage(const char *name, const char *to, GError **err)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	char *program = g_find_program_in_path(name);

	if (!program) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "it is not installed here");
		return false;
	}
	g_ptr_array_add(files, program);
	return linked_with(program, files, err) && mmg_mkdirs(to, err) && copy(to, files, err);
}

char *programs_stage(const char *dir, const GPtrArray *names, const char *arch)
{
	char *root = g_build_filename(dir, "disk", NULL);
	g_autofree char *to = g_build_filename(root, "programs", NULL);
	struct utsname host;
	bool any = false;

	uname(&host);
	for (guint i = 0; i < names->len; i++) {
		g_autoptr(GError) why = NULL;

		if (strcmp(host.machine, arch))
			mmg_set_error(&why, MMG_EXIT_BROKEN, "the host's is no program of %s", arch);
		else if (stage(names->pdata[i], to, &why))
			any = true;
		if (why)
			status_note("%s is not carried into the VM: %s", (char *)names->pdata[i],
				    why->message);
	}
	if (any)
		return root;
	g_free(root);
	return NULL;
}
