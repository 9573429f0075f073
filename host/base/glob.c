// SPDX-License-Identifier: GPL-2.0-only
/*
 * Globs over names such as family/test/case.
 */
#include "base/base.h"

#include <string.h>

bool mmg_glob(const char *glob, const char *name)
{
	GPatternSpec *p = g_pattern_spec_new(glob);
	char *lead = g_strdup(name), *slash;
	bool hit = g_pattern_spec_match_string(p, name);

	while (!hit && (slash = strrchr(lead, '/'))) {
		*slash = '\0';
		hit = g_pattern_spec_match_string(p, lead);
	}
	g_free(lead);
	g_pattern_spec_free(p);
	return hit;
}

bool mmg_glob_any(const GPtrArray *globs, const char *name)
{
	guint i;

	for (i = 0; i < globs->len; i++)
		if (mmg_glob(globs->pdata[i], name))
			return true;
	return false;
}

const char *mmg_glob_machine(const char *glob)
{
	const char *at = strchr(glob, '@');

	return at ? at + 1 : NULL;
}

char *mmg_glob_split(const char *glob, const char **machine)
{
	*machine = mmg_glob_machine(glob);
	return *machine ? g_strndup(glob, *machine - 1 - glob) : g_strdup(glob);
}
