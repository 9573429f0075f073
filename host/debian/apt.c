// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debian's archive as an ordinary user sees it: asks apt-cache what there is,
 * has apt-get download fetch and verify it, installs nothing.  Another suite,
 * another architecture or stale lists get a private apt state in the cache,
 * which takes mirror and keyring from the host's own sources.
 */
#include "debian/debian.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Private lists are refreshed once a day, as the host's own are by its timer */
#define LISTS_MAX_AGE (24 * 3600)
/* A linux-image smaller than this has no image in it: a metapackage */
#define IMAGE_MIN (1 << 20)

static const char *const plain_env[] = { "LC_ALL=C", NULL };

bool apt_version_fits(const char *have, const char *want)
{
	gsize n = strlen(want);

	return g_str_has_prefix(have, want) && !isalnum((unsigned char)have[n]);
}

/* ---- the host's sources ---- */

/**
 * struct source - one of the host's Debian archives
 * @uri:	of the archive
 * @suite:	as the host names it
 * @security:	the security archive
 * @options:	deb822 lines that say whom to trust, or ""
 */
struct source {
	char *uri, *suite, *options;
	bool security;
};

static void source_free(gpointer data)
{
	struct source *s = data;

	g_free(s->uri);
	g_free(s->suite);
	g_free(s->options);
	g_free(s);
}

/* The lines of a deb822 stanza that say whom to trust, continuations included */
static char *deb822_options(const char *stanza)
{
	char **lines = g_strsplit(stanza, "\n", -1);
	GString *s = g_string_new(NULL);
	bool take = false;
	int i;

	for (i = 0; lines[i]; i++) {
		if (*lines[i] != ' ' && *lines[i] != '\t')
			take = !g_ascii_strncasecmp(lines[i], "Signed-By:", 10) ||
			       !g_ascii_strncasecmp(lines[i], "Trusted:", 8) ||
			       !g_ascii_strncasecmp(lines[i], "Check-Valid-Until:", 18);
		if (take && *lines[i] && *lines[i] != '#')
			g_string_append_printf(s, "%s\n", lines[i]);
	}
	g_strfreev(lines);
	return g_string_free(s, FALSE);
}

/* The same of a one-line "deb [signed-by=...] URI SUITE ..." */
static char *one_line_options(const char *line)
{
	const char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
	GString *s = g_string_new(NULL);
	char *inside, **words;
	int i;

	if (!close)
		return g_string_free(s, FALSE);
	inside = g_strndup(open + 1, close - open - 1);
	words = g_strsplit_set(inside, " \t", -1);
	for (i = 0; words[i]; i++) {
		if (g_str_has_prefix(words[i], "signed-by="))
			g_string_append_printf(s, "Signed-By: %s\n", words[i] + 10);
		else if (g_str_has_prefix(words[i], "trusted="))
			g_string_append_printf(s, "Trusted: %s\n", words[i] + 8);
		else if (g_str_has_prefix(words[i], "check-valid-until="))
			g_string_append_printf(s, "Check-Valid-Until: %s\n", words[i] + 18);
	}
	g_strfreev(words);
	g_free(inside);
	return g_string_free(s, FALSE);
}

/* Whom the host's entry @where ("FILE:N", a line or a stanza) for @uri trusts */
static char *source_options(const char *where, const char *uri)
{
	char *file = g_strdup(where), *colon = strrchr(file, ':'), *text = NULL, *found = NULL;
	char *bare = g_strdup(uri), **parts;
	int n = colon ? atoi(colon + 1) : 0, i;
	bool deb822;

	if (colon)
		*colon = '\0';
	if (g_str_has_suffix(bare, "/"))
		bare[strlen(bare) - 1] = '\0';
	if (g_file_get_contents(file, &text, NULL, NULL)) {
		deb822 = g_str_has_suffix(file, ".sources");
		parts = g_strsplit(text, deb822 ? "\n\n" : "\n", -1);
		for (i = 0; parts[i] && !found; i++) {
			if (deb822 && strstr(parts[i], bare))
				found = deb822_options(parts[i]);
			else if (!deb822 && i + 1 == n)
				found = one_line_options(parts[i]);
		}
		g_strfreev(parts);
	}
	g_free(text);
	g_free(bare);
	g_free(file);
	return found ? found : g_strdup("");
}

/* Before its lists are fetched apt knows no origin: go by the archive's usual path */
static bool is_debian(const char *origin, const char *uri)
{
	if (origin && *origin)
		return !strcmp(origin, "Debian");
	return g_str_has_suffix(uri, "/debian/") || g_str_has_suffix(uri, "/debian-security/");
}

/* One stanza of apt-get indextargets as a source, or NULL where it is not Debian's main */
static struct source *source_parse(const char *stanza)
{
	char *uri = text_field(stanza, "Repo-URI"), *origin = text_field(stanza, "Origin");
	char *part = text_field(stanza, "Component"), *by = text_field(stanza, "Created-By");
	char *suite = text_field(stanza, "Release"), *where = text_field(stanza, "Sourcesentry");
	char *label = text_field(stanza, "Label");
	struct source *s = NULL;

	if (uri && suite && part && by && !strcmp(by, "Packages") && !strcmp(part, "main") &&
	    !g_str_has_prefix(uri, "cdrom:") && is_debian(origin, uri)) {
		s = g_new0(struct source, 1);
		s->uri = g_strdup(uri);
		s->suite = g_strdup(suite);
		s->security = (label && strstr(label, "Security")) || strstr(uri, "security");
		s->options = source_options(where ? where : "", uri);
	}
	g_free(label);
	g_free(where);
	g_free(suite);
	g_free(by);
	g_free(part);
	g_free(origin);
	g_free(uri);
	return s;
}

/* Add the Debian archives that apt names; @option: one more word for it, or NULL */
static bool add_sources(GPtrArray *sources, const char *option, GError **err)
{
	const char *const argv[] = { "apt-get", "indextargets", option, NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "asking apt for its sources", .argv = argv,
			       .env = plain_env, .out = out };
	bool ok = mmg_run(&cmd, err);
	char **stanzas = g_strsplit(ok ? out->str : "", "\n\n", -1);
	guint i, j;

	for (i = 0; stanzas[i]; i++) {
		struct source *s = source_parse(stanzas[i]);

		/* One archive has targets for the architecture and for "all" */
		for (j = 0; s && j < sources->len; j++) {
			const struct source *o = sources->pdata[j];

			if (!strcmp(o->uri, s->uri) && !strcmp(o->suite, s->suite))
				g_clear_pointer(&s, source_free);
		}
		if (s)
			g_ptr_array_add(sources, s);
	}
	g_strfreev(stanzas);
	g_string_free(out, TRUE);
	return ok;
}

/* The host's Debian archives; NULL with *@err where it has none */
static GPtrArray *host_sources(GError **err)
{
	GPtrArray *sources = g_ptr_array_new_with_free_func(source_free);
	bool ok = add_sources(sources, NULL, err);

	/* Without lists apt names its sources only when it may not look at them */
	if (ok && !sources->len)
		ok = add_sources(sources, "--no-release-info", err);
	if (ok && !sources->len)
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "this host's apt has no Debian source (apt-get indextargets): pass the kernel's packages as files, --kernel FILE.deb");
	if (sources->len)
		return sources;
	g_ptr_array_unref(sources);
	return NULL;
}

/* ---- the private state ---- */

static char *private_sources(const GPtrArray *sources, const char *suite)
{
	GString *s = g_string_new(NULL);
	guint i;

	for (i = 0; i < sources->len; i++) {
		const struct source *src = sources->pdata[i];

		if (suite && src->security != g_str_has_suffix(suite, "-security"))
			continue;
		g_string_append_printf(s, "Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n%s\n",
				       src->uri, suite ? suite : src->suite, src->options);
		if (suite)
			break;
	}
	return g_string_free(s, FALSE);
}

/*
 * Read after the host's own files, so that its proxies hold and its hooks do not.
 * Root needs no sandbox user here: _apt cannot read root's cache.
 */
static char *private_config(const char *dir, const char *arch)
{
	return g_strdup_printf("Dir::Etc::sourcelist \"%s/mmgate.sources\";\n"
			       "Dir::Etc::sourceparts \"/dev/null\";\n"
			       "Dir::State \"%s/state\";\n"
			       "Dir::State::lists \"%s/lists\";\n"
			       "Dir::State::status \"%s/status\";\n"
			       "Dir::Cache \"%s/cache\";\n"
			       "APT::Architecture \"%s\";\n"
			       "#clear APT::Architectures;\n"
			       "APT::Architectures { \"%s\"; };\n"
			       "APT::Sandbox::User \"root\";\n"
			       "Acquire::Languages \"none\";\n"
			       "Acquire::GzipIndexes \"true\";\n"
			       "#clear APT::Update;\n"
			       "#clear DPkg;\n"
			       "#clear Acquire::IndexTargets::deb::Contents-deb;\n"
			       "#clear Acquire::IndexTargets::deb::DEP-11;\n"
			       "#clear Acquire::IndexTargets::deb::DEP-11-icons-small;\n"
			       "#clear Acquire::IndexTargets::deb::DEP-11-icons;\n"
			       "#clear Acquire::IndexTargets::deb::CNF;\n",
			       dir, dir, dir, dir, dir, arch, arch);
}

static char *private_dir(const char *suite, const char *arch)
{
	char *name = g_strdup_printf("%s_%s", suite ? suite : "host", arch), *dir, *p;

	for (p = name; *p; p++)
		if (*p == '/')
			*p = '_';
	dir = mmg_cache_path("apt", name, NULL);
	g_free(name);
	return dir;
}

static bool write_private(struct apt *a, const char *dir, GError **err)
{
	static const char *const folders[] = { "lists/partial", "state", "cache/archives/partial" };
	GPtrArray *sources = host_sources(err);
	char *text, *conf, *path;
	bool ok = sources;
	guint i;

	for (i = 0; ok && i < G_N_ELEMENTS(folders); i++) {
		path = g_build_filename(dir, folders[i], NULL);
		ok = mmg_mkdirs(path, err);
		g_free(path);
	}
	if (!ok)
		goto out;
	text = private_sources(sources, a->suite);
	conf = private_config(dir, a->arch);
	path = g_build_filename(dir, "mmgate.sources", NULL);
	ok = mmg_write_atomic(path, text, -1, err);
	g_free(path);
	path = g_build_filename(dir, "status", NULL);
	ok = ok && mmg_write_atomic(path, "", 0, err) && mmg_write_atomic(a->config, conf, -1, err);
	g_free(path);
	g_free(conf);
	g_free(text);
out:
	if (sources)
		g_ptr_array_unref(sources);
	return ok;
}

/**
 * struct fetch - what apt-get says while it fetches
 * @mib:	size of what is fetched, 0 where unknown
 * @complaint:	its first line that names an error, without the "E: "
 */
struct fetch {
	double mib;
	char *complaint;
};

/* Lines of APT::Status-Fd: "dlstatus:1:20.5:Retrieving file 1 of 1 (3s remaining)" */
static void on_apt_line(const char *line, void *data)
{
	struct fetch *f = data;
	char **w = g_strsplit(line, ":", 4);

	if (!strcmp(w[0], "dlstatus") && w[1] && w[2]) {
		double pct = g_ascii_strtod(w[2], NULL);

		if (f->mib > 0)
			status_progress("%.0f of %.0f MiB", f->mib * pct / 100, f->mib);
		else
			status_progress("%.0f%%", pct);
	} else {
		status_debug("%s", line);
	}
	/* A failed index is only a warning, and says more than the error that follows */
	if (!f->complaint && (g_str_has_prefix(line, "E: ") ||
			      g_str_has_prefix(line, "W: Failed to fetch")))
		f->complaint = g_strdup(line + 3);
	g_strfreev(w);
}

/* Run an apt-get that fetches @what; false with *@err: what apt said, what to do */
static bool fetch(const char *what, const char *const *argv, const char *cwd, double mib,
		  GError **err)
{
	struct fetch f = { .mib = mib };
	struct mmg_cmd cmd = { .what = what, .argv = argv, .env = plain_env, .cwd = cwd,
			       .line = on_apt_line, .data = &f };
	GError *e = NULL;
	bool ok = mmg_run(&cmd, &e);

	if (!ok && e->code == MMG_EXIT_BROKEN && f.complaint)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s: %s; %s", what, f.complaint,
			      strstr(f.complaint, "No space left") ?
			      "make room, or set XDG_CACHE_HOME to a larger disk" :
			      "without a network pass the packages as files, --kernel FILE.deb");
	else if (!ok)
		g_propagate_error(err, g_error_copy(e));
	g_clear_error(&e);
	g_free(f.complaint);
	return ok;
}

static bool update_private(struct apt *a, GError **err)
{
	const char *const argv[] = { "apt-get", "-q", "-c", a->config, "-o", "APT::Status-Fd=1",
				     "-o", "APT::Update::Error-Mode=any", "update", NULL };
	char *what = g_strdup_printf("fetching the package lists of Debian %s (%s)",
				     a->suite ? a->suite : "as configured", a->arch);
	bool ok;

	status_set("%s", what);
	ok = fetch(what, argv, NULL, 0, err);
	g_free(what);
	return ok;
}

static char *updated_path(const struct apt *a)
{
	char *dir = g_path_get_dirname(a->config), *path = g_build_filename(dir, "updated", NULL);

	g_free(dir);
	return path;
}

/* Seconds since the private lists were fetched, or -1: never */
static gint64 lists_age(const struct apt *a)
{
	char *path = updated_path(a);
	struct stat st;
	gint64 age = -1;

	if (!stat(path, &st))
		age = MAX(time(NULL) - st.st_mtime, 0);
	g_free(path);
	return age;
}

static bool no_lists_offline(struct apt *a, GError **err)
{
	mmg_set_error(err, MMG_EXIT_BROKEN,
		      "the package lists of Debian %s (%s) are not in the cache and --offline forbids fetching them: run once without it, or pass the packages as files",
		      a->suite ? a->suite : "as configured", a->arch);
	return false;
}

/* Make the state private, with lists at most @max_age seconds old */
static bool go_private(struct apt *a, gint64 max_age, GError **err)
{
	char *dir = private_dir(a->suite, a->arch), *name = g_path_get_basename(dir), *stamp;
	char *lock = g_strconcat("apt-", name, NULL);
	GError *e = NULL;
	bool ok = true;
	gint64 age;
	int fd;

	g_free(a->config);
	a->config = g_build_filename(dir, "apt.conf", NULL);
	fd = mmg_lock(lock, err);
	if (fd < 0) {
		ok = false;
		goto out;
	}
	age = lists_age(a);
	if (age < 0 && a->offline) {
		ok = no_lists_offline(a, err);
	} else if (!a->offline && (age < 0 || age > max_age)) {
		ok = write_private(a, dir, err);
		if (ok && update_private(a, &e)) {
			stamp = updated_path(a);
			ok = mmg_write_atomic(stamp, "", 0, err);
			g_free(stamp);
		} else if (ok && age >= 0 && e->code != MMG_EXIT_INTERRUPTED) {
			status_note("using package lists that are %" G_GINT64_FORMAT " hours old: %s",
				    age / 3600, e->message);
		} else if (ok) {
			g_propagate_error(err, g_steal_pointer(&e));
			ok = false;
		}
		g_clear_error(&e);
	}
	close(fd);
out:
	g_free(lock);
	g_free(name);
	g_free(dir);
	return ok;
}

char *apt_host_arch(void)
{
	const char *const argv[] = { "dpkg", "--print-architecture", NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "asking dpkg for its architecture", .argv = argv,
			       .env = plain_env, .out = out };

	if (!mmg_run(&cmd, NULL))
		g_string_truncate(out, 0);
	return g_strstrip(g_string_free(out, FALSE));
}

static bool suite_is_word(const char *suite)
{
	return *suite && strspn(suite, "abcdefghijklmnopqrstuvwxyz0123456789-./") == strlen(suite) &&
	       isalnum((unsigned char)*suite) && !strstr(suite, "..");
}

/**
 * apt_open - open a view of Debian's archive
 * @suite:	other suite of the host's mirror, or NULL: what the host has configured
 * @arch:	Debian's word for the architecture
 * @offline:	use what lists there are
 *
 * NULL with *@err: no apt here, no Debian source, no network.
 */
struct apt *apt_open(const char *suite, const char *arch, bool offline, GError **err)
{
	char *tool = g_find_program_in_path("apt-get"), *host;
	struct apt *a;
	bool ok = true;

	if (!tool) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "debian: kernels need apt-get, which this host has not: pass the kernel's packages as files, --kernel linux-image-....deb");
		return NULL;
	}
	g_free(tool);
	if (suite && !suite_is_word(suite)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "'%s' is no name of a Debian suite", suite);
		return NULL;
	}
	a = g_new0(struct apt, 1);
	a->suite = g_strdup(suite);
	a->arch = g_strdup(arch);
	a->offline = offline;
	host = apt_host_arch();
	if (suite || strcmp(host, arch))
		ok = go_private(a, LISTS_MAX_AGE, err);
	g_free(host);
	if (ok)
		return a;
	apt_free(a);
	return NULL;
}

void apt_free(struct apt *a)
{
	if (!a)
		return;
	g_free(a->suite);
	g_free(a->arch);
	g_free(a->config);
	g_free(a);
}

/**
 * apt_refresh - fetch lists anew, into a private state
 *
 * For when the host's lists are absent or so old that what they name is gone.
 * False with *@err; offline that is always so.
 */
bool apt_refresh(struct apt *a, GError **err)
{
	if (a->offline)
		return no_lists_offline(a, err);
	return go_private(a, 60, err);
}

char *apt_stamp(struct apt *a)
{
	struct stat st = { 0 };
	char *path = a->config ? updated_path(a) : g_strdup("/var/lib/apt/lists");
	char *text;

	if (stat(path, &st))
		st.st_mtim.tv_sec = 0;
	text = g_strdup_printf("%s %s %lld.%09ld", a->suite ? a->suite : "-", a->arch,
			       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	g_free(path);
	return text;
}

/* ---- asking ---- */

static void apt_pkg_free(gpointer data)
{
	struct apt_pkg *p = data;

	g_free(p->name);
	g_free(p->version);
	g_free(p->arch);
	g_free(p->depends);
	g_free(p);
}

/* apt-cache @verb @words with the view's configuration */
static bool apt_cache(struct apt *a, const char *verb, const GPtrArray *words, GString *out,
		      GError **err)
{
	GPtrArray *argv = g_ptr_array_new();
	struct mmg_cmd cmd = { .what = "asking apt what there is", .env = plain_env, .out = out };
	int status = 0;
	bool ok;
	guint i;

	g_ptr_array_add(argv, "apt-cache");
	if (a->config) {
		g_ptr_array_add(argv, "-c");
		g_ptr_array_add(argv, a->config);
	}
	g_ptr_array_add(argv, (char *)verb);
	for (i = 0; i < words->len; i++)
		g_ptr_array_add(argv, words->pdata[i]);
	g_ptr_array_add(argv, NULL);
	cmd.argv = (const char *const *)argv->pdata;
	/* 100: some name has no version any more */
	cmd.expect = &status;
	ok = mmg_run(&cmd, err);
	g_ptr_array_free(argv, TRUE);
	return ok;
}

static void add_stanza(GPtrArray *list, const char *stanza)
{
	struct apt_pkg *p = g_new0(struct apt_pkg, 1);
	char *size = text_field(stanza, "Size");

	p->name = text_field(stanza, "Package");
	p->version = text_field(stanza, "Version");
	p->arch = text_field(stanza, "Architecture");
	p->depends = text_field(stanza, "Depends");
	p->size = size ? g_ascii_strtoull(size, NULL, 10) : 0;
	if (!p->depends)
		p->depends = g_strdup("");
	g_free(size);
	/* No file, no download: only dpkg's memory of it */
	if (p->name && p->version && p->size)
		g_ptr_array_add(list, p);
	else
		apt_pkg_free(p);
}

GPtrArray *apt_list(struct apt *a, const char *pattern, GError **err)
{
	GPtrArray *list = NULL, *words = g_ptr_array_new();
	GString *names = g_string_new(NULL), *out = g_string_new(NULL);
	GRegex *regex = g_regex_new(pattern, 0, 0, NULL);
	char **lines = NULL, **stanzas;
	int i;

	g_ptr_array_add(words, "linux-");
	if (!apt_cache(a, "pkgnames", words, names, err))
		goto out;
	g_ptr_array_set_size(words, 0);
	lines = g_strsplit(names->str, "\n", -1);
	for (i = 0; lines[i]; i++)
		if (g_regex_match(regex, lines[i], 0, NULL))
			g_ptr_array_add(words, lines[i]);
	if (words->len && !apt_cache(a, "show", words, out, err))
		goto out;
	list = g_ptr_array_new_with_free_func(apt_pkg_free);
	stanzas = g_strsplit(out->str, "\n\n", -1);
	for (i = 0; stanzas[i]; i++)
		add_stanza(list, stanzas[i]);
	g_strfreev(stanzas);
out:
	g_strfreev(lines);
	g_regex_unref(regex);
	g_string_free(names, TRUE);
	g_string_free(out, TRUE);
	g_ptr_array_free(words, TRUE);
	return list;
}

/* The .deb of package @name in @dir, g_free() it; or NULL */
static char *deb_in(const char *dir, const char *name)
{
	char *start = g_strconcat(name, "_", NULL), *path = NULL;
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *file;

	while (d && !path && (file = g_dir_read_name(d)))
		if (g_str_has_prefix(file, start) && g_str_has_suffix(file, ".deb"))
			path = g_build_filename(dir, file, NULL);
	if (d)
		g_dir_close(d);
	g_free(start);
	return path;
}

char *apt_download(struct apt *a, const struct apt_pkg *p, const char *dir, GError **err)
{
	char *word = g_strdup_printf("%s=%s", p->name, p->version), *path = NULL;
	const char *const argv[] = { "apt-get", "-q", "-c", a->config ? a->config : "/dev/null", "-o",
				     "APT::Status-Fd=1", "-o", "APT::Sandbox::User=root",
				     "download", word, NULL };
	char *what = g_strdup_printf("downloading %s %s", p->name, p->version);

	if (a->offline) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "%s is not in the cache and --offline forbids fetching it: run once without it, or pass the package as a file",
			      word);
	} else {
		status_set("%s", what);
		if (fetch(what, argv, dir, p->size / 1048576.0, err)) {
			path = deb_in(dir, p->name);
			if (!path)
				mmg_set_error(err, MMG_EXIT_BROKEN,
					      "apt-get download %s ended well but left no .deb in %s",
					      word, dir);
		}
	}
	g_free(what);
	g_free(word);
	return path;
}

/* ---- choosing ---- */

static const struct apt_pkg *find_pkg(const GPtrArray *list, const char *name, const char *version)
{
	guint i;

	for (i = 0; i < list->len; i++) {
		const struct apt_pkg *p = list->pdata[i];

		if (!strcmp(p->name, name) && !strcmp(p->version, version))
			return p;
	}
	return NULL;
}

static bool add_named(struct apt_image *img, const GPtrArray *list, const char *stem)
{
	char *name = g_strdup_printf("linux-%s-%s", stem, img->release);
	const struct apt_pkg *p = find_pkg(list, name, img->version);

	if (p)
		g_ptr_array_add(img->packages, (void *)p);
	g_free(name);
	return p;
}

void apt_image_free(struct apt_image *i)
{
	if (!i)
		return;
	g_free(i->version);
	g_free(i->release);
	g_ptr_array_unref(i->packages);
	g_free(i);
}

/*
 * The packages behind linux-image @p: itself, or from 7.x on linux-binary (the
 * image), linux-modules and linux-base (the config); NULL for a metapackage.
 */
static struct apt_image *image_of(const GPtrArray *list, const struct apt_pkg *p)
{
	struct apt_image *img = g_new0(struct apt_image, 1);

	img->version = g_strdup(p->version);
	img->release = g_strdup(p->name + strlen("linux-image-"));
	img->packages = g_ptr_array_new();
	if (p->size > IMAGE_MIN) {
		g_ptr_array_add(img->packages, (void *)p);
		return img;
	}
	if (add_named(img, list, "binary") && add_named(img, list, "modules")) {
		add_named(img, list, "base");
		return img;
	}
	apt_image_free(img);
	return NULL;
}

/*
 * Debug and unsigned packages have one more word in their names; "6.1.0-52" has a number
 * before the flavour.
 */
struct apt_image *apt_choose(const GPtrArray *list, const char *want, const char *flavour)
{
	char *pattern = g_strdup_printf("^linux-image-([0-9][0-9a-z.+~]*(-[0-9]+)?-%s)$", flavour);
	GRegex *regex = g_regex_new(pattern, 0, 0, NULL);
	struct apt_image *best = NULL;
	guint i;

	for (i = 0; i < list->len; i++) {
		const struct apt_pkg *p = list->pdata[i];
		struct apt_image *img;

		if (!g_regex_match(regex, p->name, 0, NULL) ||
		    (!apt_version_fits(p->version, want) &&
		     !apt_version_fits(p->name + strlen("linux-image-"), want)))
			continue;
		if (best && deb_version_cmp(p->version, best->version) <= 0)
			continue;
		img = image_of(list, p);
		if (img) {
			apt_image_free(best);
			best = img;
		}
	}
	g_regex_unref(regex);
	g_free(pattern);
	return best;
}
