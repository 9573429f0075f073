// SPDX-License-Identifier: GPL-2.0-only
/*
 * Versions compared: kernels by their numbers, packages by Debian's rule.
 */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int version_cmp(const char *a, const char *b)
{
	while (*a || *b) {
		char *ea, *eb;
		unsigned long x = strtoul(a, &ea, 10), y = strtoul(b, &eb, 10);

		if (x != y)
			return x < y ? -1 : 1;
		if (ea == a && eb == b)
			return 0;
		a = *ea == '.' ? ea + 1 : "";
		b = *eb == '.' ? eb + 1 : "";
	}
	return 0;
}

static bool version_valid(const char *v)
{
	return !*v || (g_ascii_isdigit(*v) && strspn(v, "0123456789.") == strlen(v));
}

bool version_range_valid(const char *range)
{
	g_auto(GStrv) ends = g_strsplit(range, "..", 2);

	return g_strv_length(ends) == 2 && version_valid(ends[0]) && version_valid(ends[1]);
}

bool version_in_range(const char *range, const char *version)
{
	g_auto(GStrv) ends = NULL;

	if (!range)
		return true;
	ends = g_strsplit(range, "..", 2);
	if (*ends[0] && version_cmp(version, ends[0]) < 0)
		return false;
	return !ends[1] || !*ends[1] || version_cmp(version, ends[1]) < 0;
}

/* ---- packages, by deb-version(7) ---- */

static int version_order(int c)
{
	if (c == '~')
		return -1;
	if (isdigit(c) || !c)
		return 0;
	return isalpha(c) ? c : c + 256;
}

/* One part of a version: non-digits and digits in turn */
static int version_part_cmp(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long long na, nb;

		while ((*a && !isdigit((unsigned char)*a)) ||
		       (*b && !isdigit((unsigned char)*b))) {
			int d = version_order((unsigned char)*a) - version_order((unsigned char)*b);

			if (d)
				return d;
			a += *a != '\0';
			b += *b != '\0';
		}
		na = strtoull(a, (char **)&a, 10);
		nb = strtoull(b, (char **)&b, 10);
		if (na != nb)
			return na < nb ? -1 : 1;
	}
	return 0;
}

static void version_split(const char *v, unsigned long *epoch, char **upstream, char **revision)
{
	const char *colon = strchr(v, ':');
	char *dash;

	*epoch = colon ? strtoul(v, NULL, 10) : 0;
	*upstream = g_strdup(colon ? colon + 1 : v);
	dash = strrchr(*upstream, '-');
	*revision = g_strdup(dash ? dash + 1 : "");
	if (dash)
		*dash = '\0';
}

int deb_version_cmp(const char *a, const char *b)
{
	char *ua, *ub, *ra, *rb;
	unsigned long ea, eb;
	int d;

	version_split(a, &ea, &ua, &ra);
	version_split(b, &eb, &ub, &rb);
	d = ea < eb ? -1 : ea > eb;
	if (!d)
		d = version_part_cmp(ua, ub);
	if (!d)
		d = version_part_cmp(ra, rb);
	g_free(ua);
	g_free(ub);
	g_free(ra);
	g_free(rb);
	return d;
}
