// SPDX-License-Identifier: GPL-2.0-only
/*
 * debian:latest, debian:stable and debian:rc: the newest kernel by what it is,
 * rather than by a version that has to be known.
 */
#include "debian/debian.h"

#include <string.h>

/**
 * struct moving - a word that means another kernel from day to day
 * @suites:	where to look, the newest of all of them is meant; "backports" is those of the stable release,
 *		by its codename, since a mirror's link stable-backports may be old
 * @rc:		only release candidates; else none
 */
static const struct moving {
	const char *word;
	const char *suites[3];
	bool rc;
} moving[] = {
	{ "latest", { "unstable", "backports" }, false },
	{ "stable", { "stable" }, false },
	{ "rc", { "experimental" }, true },
};

static const struct moving *find_moving(const char *word)
{
	for (gsize i = 0; i < G_N_ELEMENTS(moving); i++)
		if (!strcmp(moving[i].word, word))
			return &moving[i];
	return NULL;
}

/* "trixie-backports": from what the lists of suite stable say of themselves; interned, NULL with *@err */
static const char *backports(const char *arch, GError **err)
{
	struct apt *apt = apt_open("stable", arch, false, err);
	char *dir = apt ? g_strdup_printf("%s/apt/stable_%s/lists", mmg_cache(), arch) : NULL, *name = NULL;
	GDir *d = dir ? g_dir_open(dir, 0, NULL) : NULL;
	const char *file, *suite = NULL;

	while (d && !name && (file = g_dir_read_name(d))) {
		char *path = g_build_filename(dir, file, NULL), *text = NULL, *at;

		if (g_str_has_suffix(file, "Release") && g_file_get_contents(path, &text, NULL, NULL) &&
		    (at = strstr(text, "\nCodename: "))) {
			at += strlen("\nCodename: ");
			name = g_strndup(at, strspn(at, "abcdefghijklmnopqrstuvwxyz"));
		}
		g_free(text);
		g_free(path);
	}
	if (name && *name) {
		char *text = g_strconcat(name, "-backports", NULL);

		suite = g_intern_string(text);
		g_free(text);
	} else if (apt) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the lists of Debian's stable name no release");
	}
	if (d)
		g_dir_close(d);
	g_free(name);
	g_free(dir);
	apt_free(apt);
	return suite;
}

bool debian_is_moving(const char *word)
{
	return find_moving(word);
}

char *debian_newest_of(const GPtrArray *list, bool rc, const char *flavour)
{
	char *best = NULL;

	for (guint i = 0; i < list->len; i++) {
		const struct apt_pkg *p = list->pdata[i];
		struct apt_image *img;

		/* Debian writes 7.3~rc7-1~exp1 for a candidate, 7.3.4-1~bpo13+1 for a release */
		if (!g_str_has_prefix(p->name, "linux-image-") || !!strstr(p->version, "~rc") != rc ||
		    (best && deb_version_cmp(p->version, best) <= 0))
			continue;
		img = apt_choose(list, p->version, flavour);
		if (img) {
			g_free(best);
			best = g_strdup(p->version);
		}
		apt_image_free(img);
	}
	return best;
}

char *debian_newest(const char *word, const char *arch, const char *flavour, const char **suite, GError **err)
{
	const struct moving *m = find_moving(word);
	char *pattern = g_strdup_printf(KERNEL_PACKAGES, flavour), *best = NULL;
	GError *e = NULL;

	for (gsize i = 0; m && i < G_N_ELEMENTS(m->suites) && m->suites[i] && !mmg_interrupted(); i++) {
		const char *where = strcmp(m->suites[i], "backports") ? m->suites[i] :
				    backports(arch, e ? NULL : &e);
		struct apt *apt = where ? apt_open(where, arch, false, e ? NULL : &e) : NULL;
		GPtrArray *list = apt ? apt_list(apt, pattern, e ? NULL : &e) : NULL;
		char *here = list ? debian_newest_of(list, m->rc, flavour) : NULL;

		if (here && (!best || deb_version_cmp(here, best) > 0)) {
			g_free(best);
			best = g_steal_pointer(&here);
			*suite = where;
		}
		g_free(here);
		if (list)
			g_ptr_array_unref(list);
		apt_free(apt);
	}
	if (!best && e)
		g_propagate_error(err, g_steal_pointer(&e));
	else if (!best)
		mmg_set_error(err, MMG_EXIT_BROKEN, "Debian has no kernel that debian:%s means for %s now",
			      word, arch);
	/* one suite that could not be asked does not hide what the other has */
	g_clear_error(&e);
	g_free(pattern);
	return best;
}
