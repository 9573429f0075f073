// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller's environment, made harmless.
 */
#include "base/environment.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Variables that make, kbuild, the compilers' wrappers, git and the shells take
 * as options.  CC, CFLAGS and USERCFLAGS are not among them: they are part of the
 * names under which programs are kept in the cache.
 */
static const char *const steering[] = {
	/* make, and the variables of our own makefiles */
	"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKEFILES", "MAKELEVEL", "GNUMAKEFLAGS",
	"MAKE_TERMOUT", "MAKE_TERMERR", "TARGETS", "OUTPUT", "KSRC", "INSTALL_PATH", "B",
	"SANITIZE", "WERROR", "V", "W", "C", "M",
	/* kbuild: Documentation/kbuild/kbuild.rst and llvm.rst of the kernel */
	"ARCH", "SUBARCH", "O", "CROSS_COMPILE", "CROSS_COMPILE_COMPAT", "LLVM", "LLVM_IAS",
	"KCFLAGS", "KCPPFLAGS", "KAFLAGS", "KRUSTFLAGS", "CFLAGS_KERNEL", "AFLAGS_KERNEL",
	"CFLAGS_MODULE", "AFLAGS_MODULE", "LDFLAGS_MODULE", "LDFLAGS_vmlinux", "HOSTCFLAGS",
	"HOSTCXXFLAGS", "HOSTLDFLAGS", "HOSTLDLIBS", "USERLDFLAGS", "LOCALVERSION",
	"INSTALL_MOD_PATH", "INSTALL_HDR_PATH", "INSTALL_DTBS_PATH", "CHECK", "CF", "DEPMOD",
	"srctree", "objtree", "KERNELRELEASE", "KERNELVERSION", "VMLINUX_SYMBOL", "CLANG_FLAGS",
	"LD", "AR", "NM", "OBJCOPY", "OBJDUMP", "READELF", "STRIP", "HOSTCC", "HOSTCXX",
	/* shells and tools that run in between */
	"BASH_ENV", "ENV", "CDPATH", "POSIXLY_CORRECT", "GREP_OPTIONS", "TAR_OPTIONS", "GZIP",
	"XZ_OPT", "XZ_DEFAULTS", "ZSTD_CLEVEL", "TAPE", "LANGUAGE", "GCC_EXEC_PREFIX",
	"COMPILER_PATH", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "DEPENDENCIES_OUTPUT",
	"SUNPRO_DEPENDENCIES",
};

static const char *const families[] = { "GIT_", "KBUILD_", "KCONFIG_" };

/* Who commits, and where it is written: export makes commits in the user's name */
static const char *const user_git[] = {
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_NAME",
	"GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	"GIT_COMMITTER_DATE",
};

static char *user_git_was[G_N_ELEMENTS(user_git)];

static void drop_families(void)
{
	g_auto(GStrv) names = g_listenv();

	for (char **n = names; *n; n++)
		for (gsize i = 0; i < G_N_ELEMENTS(families); i++)
			if (g_str_has_prefix(*n, families[i]))
				g_unsetenv(*n);
}

void environment_clean(void)
{
	const char *tmp = g_getenv("TMPDIR");

	for (gsize i = 0; i < G_N_ELEMENTS(steering); i++)
		g_unsetenv(steering[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(user_git); i++)
		user_git_was[i] = g_strdup(g_getenv(user_git[i]));
	drop_families();
	g_setenv("LC_ALL", "C", TRUE);
	/* git as a child: nobody's configuration, no questions, no network */
	g_setenv("GIT_CONFIG_NOSYSTEM", "1", TRUE);
	g_setenv("GIT_CONFIG_SYSTEM", "/dev/null", TRUE);
	g_setenv("GIT_CONFIG_GLOBAL", "/dev/null", TRUE);
	g_setenv("GIT_ATTR_NOSYSTEM", "1", TRUE);
	g_setenv("GIT_TERMINAL_PROMPT", "0", TRUE);
	g_setenv("GIT_OPTIONAL_LOCKS", "0", TRUE);
	g_setenv("GIT_ALLOW_PROTOCOL", "none", TRUE);
	g_setenv("GIT_NO_LAZY_FETCH", "1", TRUE);
	if (tmp && (!g_path_is_absolute(tmp) || !g_file_test(tmp, G_FILE_TEST_IS_DIR) ||
		    access(tmp, W_OK | X_OK)))
		g_unsetenv("TMPDIR");
}

void environment_git_user(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(user_git); i++)
		if (user_git_was[i])
			g_setenv(user_git[i], user_git_was[i], TRUE);
		else
			g_unsetenv(user_git[i]);
}

void environment_descriptors(void)
{
	struct stat st;

	for (int fd = 0; fd <= 2; fd++) {
		/* stdout for reading only: what is written there fails, and is seen to fail */
		int got = fstat(fd, &st) ? open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) : fd;

		if (got != fd)
			abort();
	}
	signal(SIGXFSZ, SIG_IGN);
}
