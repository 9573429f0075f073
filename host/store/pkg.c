// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens .deb, .rpm and tar archives with libarchive alone, so that a Debian
 * host can test a SUSE kernel and the other way round.  What an archive says
 * is not trusted: names, links and sizes are checked before they reach the
 * disk.
 */
#include "store/store.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (256 * 1024)
/* Members and bytes that reading one archive may cost, wanted or not */
#define MEMBERS_MAX 1000000
#define READ_MAX (16ULL << 30)
#define CONTROL_MAX (1 << 20)

enum kind { KIND_TAR, KIND_DEB, KIND_RPM };

static void turn_main_context(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

bool pkg_name_is_safe(const char *name)
{
	char **parts = g_strsplit(name, "/", -1);
	bool safe = *name;
	int i;

	for (i = 0; parts[i] && safe; i++)
		safe = *parts[i] && strcmp(parts[i], ".") && strcmp(parts[i], "..");
	g_strfreev(parts);
	return safe;
}

/* ---- whole files ---- */

GByteArray *pkg_read(const char *path, uint64_t max, GError **err)
{
	GByteArray *bytes = NULL;
	struct stat st;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path, g_strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %s", path,
			      S_ISREG(st.st_mode) ? "it is too large" : "it is no plain file");
		goto out;
	}
	bytes = g_byte_array_sized_new(st.st_size + 1);
	g_byte_array_set_size(bytes, st.st_size);
	for (n = 0; n < st.st_size;) {
		ssize_t got = pread(fd, bytes->data + n, st.st_size - n, n);

		if (got <= 0)
			break;
		n += got;
	}
	if (n < st.st_size) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot read %s: %zd of %lld bytes came", path,
			      n, (long long)st.st_size);
		g_clear_pointer(&bytes, g_byte_array_unref);
	}
out:
	if (fd >= 0)
		close(fd);
	return bytes;
}

GByteArray *pkg_decompress_mem(const void *data, gsize len, uint64_t max, const char *what,
			       GError **err)
{
	struct archive *a = archive_read_new();
	GByteArray *bytes = NULL;
	struct archive_entry *e;
	la_ssize_t n = -1;
	char *buf = NULL;

	archive_read_support_filter_all(a);
	archive_read_support_format_raw(a);
	archive_read_support_format_empty(a);
	if (archive_read_open_memory(a, data, len) != ARCHIVE_OK ||
	    archive_read_next_header(a, &e) != ARCHIVE_OK)
		goto out;
	bytes = g_byte_array_new();
	buf = g_malloc(BLOCK);
	while ((n = archive_read_data(a, buf, BLOCK)) > 0 && bytes->len + (uint64_t)n <= max)
		g_byte_array_append(bytes, (guint8 *)buf, n);
out:
	if (n) {
		const char *why = archive_error_string(a);

		mmg_set_error(err, MMG_EXIT_USAGE, "cannot decompress %s: %s", what,
			      n > 0 ? "it is too large" : why ? why : "unknown format");
		g_clear_pointer(&bytes, g_byte_array_unref);
	}
	g_free(buf);
	archive_read_free(a);
	return bytes;
}

GByteArray *pkg_decompress(const char *path, uint64_t max, GError **err)
{
	GByteArray *packed = pkg_read(path, max, err), *bytes;

	if (!packed)
		return NULL;
	bytes = pkg_decompress_mem(packed->data, packed->len, max, path, err);
	g_byte_array_unref(packed);
	return bytes;
}

/* ---- archives in archives ---- */

/**
 * struct layer - an archive, read from a file or from a member of another one
 * @a:		NULL until it is open
 * @outer:	whose current member it is, or NULL
 */
struct layer {
	struct archive *a;
	struct layer *outer;
	char *buf;
};

static void layer_close(struct layer *l)
{
	if (l->a)
		archive_read_free(l->a);
	g_free(l->buf);
	l->a = NULL;
	l->buf = NULL;
}

static la_ssize_t read_outer(struct archive *a, void *data, const void **buf)
{
	struct layer *l = data;
	la_ssize_t n = archive_read_data(l->outer->a, l->buf, BLOCK);

	*buf = l->buf;
	if (n < 0)
		archive_set_error(a, archive_errno(l->outer->a), "%s",
				  archive_error_string(l->outer->a));
	return n;
}

static bool layer_failed(struct layer *l, const char *path, GError **err)
{
	const char *why = archive_error_string(l->a);

	mmg_set_error(err, MMG_EXIT_USAGE, "cannot open the package %s: %s; is it complete?", path,
		      why ? why : "it ends too early");
	return false;
}

static bool layer_open_file(struct layer *l, const char *path, enum kind kind, GError **err)
{
	l->a = archive_read_new();
	if (kind == KIND_DEB) {
		archive_read_support_format_ar(l->a);
	} else if (kind == KIND_RPM) {
		archive_read_support_filter_all(l->a);
		archive_read_support_format_cpio(l->a);
	} else {
		archive_read_support_filter_all(l->a);
		archive_read_support_format_tar(l->a);
	}
	if (archive_read_open_filename(l->a, path, BLOCK) != ARCHIVE_OK)
		return layer_failed(l, path, err);
	return true;
}

/* Open the current member of @outer as a tarball */
static bool layer_open_member(struct layer *l, struct layer *outer, const char *path, GError **err)
{
	l->a = archive_read_new();
	l->outer = outer;
	l->buf = g_malloc(BLOCK);
	archive_read_support_filter_all(l->a);
	archive_read_support_format_tar(l->a);
	if (archive_read_open(l->a, l, NULL, read_outer, NULL) != ARCHIVE_OK)
		return layer_failed(l, path, err);
	return true;
}

/* Go to the next member whose name matches @glob; 0 at the end, -1 with *@err */
static int layer_seek(struct layer *l, const char *glob, const char *path, GError **err)
{
	GPatternSpec *pattern = g_pattern_spec_new(glob);
	struct archive_entry *e;
	int r, hit = 0;

	while (!hit && (r = archive_read_next_header(l->a, &e)) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(e);

		if (name && g_str_has_prefix(name, "./"))
			name += 2;
		hit = name && g_pattern_spec_match_string(pattern, name);
	}
	g_pattern_spec_free(pattern);
	if (hit)
		return 1;
	if (r == ARCHIVE_EOF)
		return 0;
	layer_failed(l, path, err);
	return -1;
}

/* Open the tarball in @l's member @glob as @in; an absent member is an error */
static bool layer_enter(struct layer *in, struct layer *l, const char *glob, const char *path,
			GError **err)
{
	int r = layer_seek(l, glob, path, err);

	if (!r)
		mmg_set_error(err, MMG_EXIT_USAGE, "the package %s has no %s in it; is it complete?",
			      path, glob);
	return r > 0 && layer_open_member(in, l, path, err);
}

/* ---- what kind of file it is ---- */

static bool file_magic(const char *path, enum kind *kind, GError **err)
{
	unsigned char head[8] = "";
	struct stat st;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && !fstat(fd, &st) && !S_ISREG(st.st_mode)) {
		close(fd);
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is no plain file", path);
		return false;
	}
	if (fd >= 0)
		n = read(fd, head, sizeof(head));
	if (n < 0) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read %s: %s", path, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	close(fd);
	if (!memcmp(head, "!<arch>\n", 8))
		*kind = KIND_DEB;
	else if (!memcmp(head, "\xed\xab\xee\xdb", 4))
		*kind = KIND_RPM;
	else
		*kind = KIND_TAR;
	return true;
}

bool pkg_is_archive(const char *path)
{
	struct layer l = { 0 };
	struct archive_entry *e;
	enum kind kind;
	bool yes;

	if (!file_magic(path, &kind, NULL))
		return false;
	if (kind != KIND_TAR)
		return true;
	yes = layer_open_file(&l, path, kind, NULL) &&
	      archive_read_next_header(l.a, &e) == ARCHIVE_OK;
	layer_close(&l);
	return yes;
}

/* ---- names and versions ---- */

static bool deb_describe(struct pkg *p, const char *path, GError **err)
{
	struct layer ar = { 0 }, tar = { 0 };
	char *control = g_malloc0(CONTROL_MAX + 1);
	bool ok = false;

	if (layer_open_file(&ar, path, KIND_DEB, err) &&
	    layer_enter(&tar, &ar, "control.tar*", path, err) &&
	    layer_seek(&tar, "control", path, err) == 1 &&
	    archive_read_data(tar.a, control, CONTROL_MAX) > 0) {
		p->name = text_field(control, "Package");
		p->version = text_field(control, "Version");
		p->arch = text_field(control, "Architecture");
		ok = p->name && p->version && p->arch;
	}
	if (!ok && err && !*err)
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "the package %s has no control file in it; is it complete?", path);
	layer_close(&tar);
	layer_close(&ar);
	g_free(control);
	return ok;
}

/*
 * An RPM by its file's name, NAME-VERSION-RELEASE.ARCH.rpm: it only names the package in what people
 * read (which kernel and architecture it is, the image says).  A renamed file is known by its name.
 */
static void rpm_describe(struct pkg *p, const char *path)
{
	g_autofree char *base = g_path_get_basename(path);
	char *arch, *release, *version;

	if (g_str_has_suffix(base, ".rpm"))
		base[strlen(base) - strlen(".rpm")] = '\0';
	arch = strrchr(base, '.');
	release = arch ? g_strrstr_len(base, arch - base, "-") : NULL;
	version = release ? g_strrstr_len(base, release - base, "-") : NULL;
	if (!version || version == base) {
		p->name = g_path_get_basename(path);
		return;
	}
	p->name = g_strndup(base, version - base);
	p->version = g_strndup(version + 1, arch - version - 1);
	p->arch = g_strdup(arch + 1);
}

struct pkg *pkg_open(const char *path, GError **err)
{
	struct pkg *p = g_new0(struct pkg, 1);
	enum kind kind;
	bool ok;

	ok = file_magic(path, &kind, err);
	if (ok && kind == KIND_DEB)
		ok = deb_describe(p, path, err);
	else if (ok && kind == KIND_RPM)
		rpm_describe(p, path);
	else if (ok)
		p->name = g_path_get_basename(path);
	if (ok)
		return p;
	pkg_free(p);
	return NULL;
}

void pkg_free(struct pkg *p)
{
	if (!p)
		return;
	g_free(p->name);
	g_free(p->version);
	g_free(p->arch);
	g_free(p);
}

/* ---- unpacking ---- */

/**
 * struct unpacker - the state of one pkg_unpack()
 * @dir:	where to, free of links
 * @disk:	libarchive's writer
 * @outer:	the archive that is the file itself, for progress
 * @size:	of the file
 * @files:	unpacked so far
 * @bytes:	of them
 * @read:	bytes of all members seen
 */
struct unpacker {
	const struct pkg_unpack *how;
	const char *path;
	char *dir;
	struct archive *disk, *outer;
	uint64_t size;
	int files;
	unsigned int members;
	uint64_t bytes, read;
};

/* True where a link at @at (below the folder) to @target stays below the folder */
static bool link_stays_inside(const char *at, const char *target)
{
	char **parts;
	int depth = -1, i;

	if (*target == '/')
		return false;
	for (; *at; at++)
		depth += *at == '/';
	depth++;
	parts = g_strsplit(target, "/", -1);
	for (i = 0; parts[i] && depth >= 0; i++) {
		if (!strcmp(parts[i], ".."))
			depth--;
		else if (*parts[i] && strcmp(parts[i], "."))
			depth++;
	}
	g_strfreev(parts);
	return depth >= 0;
}

static const char *plain_name(const char *name)
{
	while (name && (*name == '/' || g_str_has_prefix(name, "./")))
		name += *name == '/' ? 1 : 2;
	return name;
}

static bool refuse(struct unpacker *u, const char *name, const char *why, GError **err)
{
	mmg_set_error(err, MMG_EXIT_USAGE, "refused to unpack %s: its member '%s' %s", u->path,
		      name, why);
	return false;
}

static bool disk_failed(struct unpacker *u, const char *name, GError **err)
{
	const char *why = archive_error_string(u->disk);
	int code = archive_errno(u->disk);

	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot unpack %s of %s to %s: %s%s", name, u->path,
		      u->dir, code > 0 ? g_strerror(code) : why ? why : "unknown error",
		      code == ENOSPC ? "; make room, or set XDG_CACHE_HOME to a larger disk" : "");
	return false;
}

static bool copy_data(struct unpacker *u, struct layer *l, const char *name, GError **err)
{
	const void *buf;
	size_t n;
	la_int64_t at;
	int r;

	while ((r = archive_read_data_block(l->a, &buf, &n, &at)) == ARCHIVE_OK) {
		u->bytes += n;
		if (u->bytes > u->how->max)
			return refuse(u, name, "makes it larger than any kernel package is", err);
		if (archive_write_data_block(u->disk, buf, n, at) < ARCHIVE_OK)
			return disk_failed(u, name, err);
		turn_main_context();
		if (mmg_check_interrupt(err))
			return false;
	}
	return r == ARCHIVE_EOF || layer_failed(l, u->path, err);
}

/* Give @e a name and modes that are safe; false with *@err where it leads out */
static bool make_safe(struct unpacker *u, struct archive_entry *e, const char *name,
		      const char *dst, GError **err)
{
	const char *target = archive_entry_symlink(e), *hard = plain_name(archive_entry_hardlink(e));
	mode_t type = archive_entry_filetype(e);
	char *full;

	if (!pkg_name_is_safe(dst) || !pkg_name_is_safe(name))
		return refuse(u, name, "leads out of the folder", err);
	if (target && !link_stays_inside(dst, target))
		return refuse(u, name, "is a link that leads out of the folder", err);
	if (hard) {
		char *to = pkg_name_is_safe(hard) ? u->how->want(hard, u->how->data) : NULL;

		if (!to || !pkg_name_is_safe(to)) {
			g_free(to);
			return refuse(u, name, "is a link to what is not unpacked", err);
		}
		full = g_build_filename(u->dir, to, NULL);
		archive_entry_copy_hardlink(e, full);
		g_free(full);
		g_free(to);
	} else if (type == AE_IFDIR) {
		archive_entry_set_perm(e, 0755);
	} else if (type == AE_IFREG) {
		archive_entry_set_perm(e, archive_entry_perm(e) & 0111 ? 0755 : 0644);
	} else if (type != AE_IFLNK) {
		return refuse(u, name, "is neither file, folder nor link", err);
	}
	full = g_build_filename(u->dir, dst, NULL);
	archive_entry_copy_pathname(e, full);
	g_free(full);
	return true;
}

static bool unpack_one(struct unpacker *u, struct layer *l, struct archive_entry *e, GError **err)
{
	char *name = g_strdup(plain_name(archive_entry_pathname(e))), *dst = NULL;
	bool ok = true;

	/* "dir/" of tar */
	if (name && g_str_has_suffix(name, "/"))
		name[strlen(name) - 1] = '\0';
	if (name && *name && strcmp(name, "."))
		dst = u->how->want(name, u->how->data);
	if (dst) {
		ok = make_safe(u, e, name, dst, err);
		if (ok && archive_write_header(u->disk, e) != ARCHIVE_OK)
			ok = disk_failed(u, name, err);
		if (ok && archive_entry_size(e) > 0 && !archive_entry_hardlink(e))
			ok = copy_data(u, l, name, err);
		if (ok && archive_write_finish_entry(u->disk) != ARCHIVE_OK)
			ok = disk_failed(u, name, err);
		u->files++;
	}
	g_free(dst);
	g_free(name);
	return ok;
}

static void show_progress(const struct unpacker *u)
{
	/* -1: the last filter, which reads the file */
	int64_t at = archive_filter_bytes(u->outer, -1);

	if (u->size && at > 0)
		status_progress("%d%%", (int)(MIN((uint64_t)at, u->size) * 100 / u->size));
}

static bool unpack_all(struct unpacker *u, struct layer *l, GError **err)
{
	struct archive_entry *e;
	int r;

	while ((r = archive_read_next_header(l->a, &e)) == ARCHIVE_OK) {
		u->read += MAX(archive_entry_size(e), 0);
		if (++u->members > MEMBERS_MAX || u->read > READ_MAX)
			return refuse(u, plain_name(archive_entry_pathname(e)),
				      "makes it larger than any kernel package is", err);
		if (!unpack_one(u, l, e, err))
			return false;
		if (!(u->members % 64)) {
			show_progress(u);
			turn_main_context();
			if (mmg_check_interrupt(err))
				return false;
		}
	}
	return r == ARCHIVE_EOF || layer_failed(l, u->path, err);
}

int pkg_unpack(const char *path, const struct pkg_unpack *how, GError **err)
{
	struct unpacker u = { .how = how, .path = path };
	struct layer outer = { 0 }, tar = { 0 }, inner = { 0 }, *last = &outer;
	enum kind kind;
	struct stat st;
	bool ok;

	u.dir = realpath(how->dir, NULL);
	if (!u.dir) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot unpack to %s: %s", how->dir,
			      g_strerror(errno));
		return -1;
	}
	if (how->what)
		status_set("%s", how->what);
	u.disk = archive_write_disk_new();
	archive_write_disk_set_options(u.disk, ARCHIVE_EXTRACT_SECURE_SYMLINKS |
				       ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_TIME);
	ok = file_magic(path, &kind, err) && layer_open_file(&outer, path, kind, err);
	u.outer = outer.a;
	u.size = stat(path, &st) ? 0 : st.st_size;
	if (ok && kind == KIND_DEB) {
		ok = layer_enter(&tar, &outer, "data.tar*", path, err);
		last = &tar;
	}
	if (ok && how->inner) {
		ok = layer_enter(&inner, last, how->inner, path, err);
		last = &inner;
	}
	ok = ok && unpack_all(&u, last, err);
	if (archive_write_close(u.disk) != ARCHIVE_OK && ok)
		ok = disk_failed(&u, "a folder", err);
	archive_write_free(u.disk);
	layer_close(&inner);
	layer_close(&tar);
	layer_close(&outer);
	free(u.dir);
	return ok ? u.files : -1;
}
