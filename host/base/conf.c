// SPDX-License-Identifier: GPL-2.0-only
/*
 * Key files as people write them: what GKeyFile passes over in silence is an error.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_MAX	(1 << 20)

/* The whole of @path, g_free() it; never waits: a FIFO or a device is refused */
static char *read_conf(const char *path, gsize *len, GError **err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, g_strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a regular file", path);
	} else if (st.st_size > CONF_MAX) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s has %lld bytes: too large for a configuration file",
			      path, (long long)st.st_size);
	} else {
		text = g_malloc(CONF_MAX + 1);
		for (*len = 0; (n = read(fd, text + *len, CONF_MAX - *len)) > 0; *len += n)
			;
		text[*len] = '\0';
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* GKeyFile joins groups of one name, and the last of two equal keys counts */
static bool nothing_twice(const char *path, const char *text, GError **err)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *group = g_strdup("");

	for (int i = 0; lines[i]; i++) {
		char *line = g_strstrip(lines[i]);
		g_autofree char *what = NULL;

		if (*line == '[') {
			g_free(group);
			group = g_strdup(line);
			what = g_strdup(line);
		} else if (*line && *line != '#' && strchr(line, '=')) {
			g_autofree char *key = g_strchomp(g_strndup(line, strcspn(line, "=")));

			what = g_strdup_printf("%s %s=", group, key);
		} else {
			continue;
		}
		if (!g_hash_table_add(seen, g_strdup(what))) {
			mmg_set_error(err, MMG_EXIT_USAGE, "%s has %s twice, the second time in line %d", path,
				      what, i + 1);
			return false;
		}
	}
	return true;
}

GKeyFile *conf_load(const char *path, GError **err)
{
	g_autoptr(GKeyFile) kf = g_key_file_new();
	g_autoptr(GError) e = NULL;
	g_autofree char *text = NULL;
	gsize len = 0;

	text = read_conf(path, &len, err);
	if (!text)
		return NULL;
	g_key_file_set_list_separator(kf, ';');
	if (!g_key_file_load_from_data(kf, text, len, G_KEY_FILE_NONE, &e)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, e->message);
		return NULL;
	}
	return nothing_twice(path, text, err) ? g_steal_pointer(&kf) : NULL;
}

char *kconfig_value(const char *config, const char *option)
{
	gsize n = strlen(option);

	for (const char *at = config; (at = strstr(at, option)); at += n)
		if (at[n] == '=' && (at == config || at[-1] == '\n'))
			return g_strndup(at + n + 1, strcspn(at + n + 1, "\n"));
	return g_strdup("n");
}
