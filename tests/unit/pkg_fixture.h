/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes tiny packages and kernel images for the tests, at run time.
 */
#ifndef PKG_FIXTURE_H
#define PKG_FIXTURE_H

#include <archive.h>
#include <archive_entry.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/**
 * struct member - of a fixture's archive
 * @name:	as it is to stand in the archive, however hostile
 * @data:	content, or the target of a link
 * @type:	AE_IFREG where 0; 'H' for a hard link
 */
struct member {
	const char *name, *data;
	unsigned int type;
};

struct fixture_sink {
	GByteArray *bytes;
};

static inline la_ssize_t fixture_write(struct archive *a, void *data, const void *buf, size_t n)
{
	(void)a;
	g_byte_array_append(((struct fixture_sink *)data)->bytes, buf, n);
	return n;
}

/* @filter: "gzip", "xz", "zstd" or "none"; @format: "ustar", "newc" */
static inline GByteArray *fixture_archive(const struct member *m, const char *filter,
					  const char *format)
{
	struct fixture_sink sink = { g_byte_array_new() };
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();
	int ino = 1;

	if (strcmp(filter, "none"))
		archive_write_add_filter_by_name(a, filter);
	archive_write_set_format_by_name(a, format);
	archive_write_set_bytes_in_last_block(a, 1);
	archive_write_open(a, &sink, NULL, fixture_write, NULL);
	for (; m->name; m++) {
		bool plain = !m->type || m->type == AE_IFREG;

		archive_entry_clear(e);
		archive_entry_set_pathname(e, m->name);
		archive_entry_set_ino64(e, ino++);
		archive_entry_set_nlink(e, 1);
		if (m->type == 'H')
			archive_entry_set_hardlink(e, m->data);
		else
			archive_entry_set_filetype(e, plain ? AE_IFREG : m->type);
		archive_entry_set_perm(e, m->type == AE_IFDIR ? 0755 : 0644);
		if (m->type == AE_IFLNK)
			archive_entry_set_symlink(e, m->data);
		archive_entry_set_size(e, plain && m->data ? strlen(m->data) : 0);
		archive_write_header(a, e);
		if (plain && m->data)
			archive_write_data(a, m->data, strlen(m->data));
	}
	archive_entry_free(e);
	archive_write_close(a);
	archive_write_free(a);
	return sink.bytes;
}

static inline void fixture_ar_member(GByteArray *ar, const char *name, const void *data, gsize n)
{
	char *head = g_strdup_printf("%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0",
				     "100644", n);

	g_byte_array_append(ar, (guint8 *)head, 60);
	g_byte_array_append(ar, data, n);
	if (n & 1)
		g_byte_array_append(ar, (const guint8 *)"\n", 1);
	g_free(head);
}

static inline GByteArray *fixture_deb_bytes(const char *control, const struct member *data,
					    const char *filter)
{
	const struct member c[] = { { "./control", control, 0 }, { NULL, NULL, 0 } };
	const char *ext = !strcmp(filter, "gzip") ? ".gz" : !strcmp(filter, "xz") ? ".xz" :
			  !strcmp(filter, "zstd") ? ".zst" : "";
	char *name = g_strconcat("data.tar", ext, NULL);
	GByteArray *ar = g_byte_array_new(), *tar;

	g_byte_array_append(ar, (const guint8 *)"!<arch>\n", 8);
	fixture_ar_member(ar, "debian-binary", "2.0\n", 4);
	tar = fixture_archive(c, "gzip", "ustar");
	fixture_ar_member(ar, "control.tar.gz", tar->data, tar->len);
	g_byte_array_unref(tar);
	tar = fixture_archive(data, filter, "ustar");
	fixture_ar_member(ar, name, tar->data, tar->len);
	g_byte_array_unref(tar);
	g_free(name);
	return ar;
}

static inline void fixture_save(const char *path, GByteArray *bytes)
{
	g_file_set_contents(path, (char *)bytes->data, bytes->len, NULL);
	g_byte_array_unref(bytes);
}

static inline void fixture_deb(const char *path, const char *control, const struct member *data,
			       const char *filter)
{
	fixture_save(path, fixture_deb_bytes(control, data, filter));
}

static inline void fixture_be32(GByteArray *b, guint32 v)
{
	guint8 x[4] = { v >> 24, v >> 16, v >> 8, v };

	g_byte_array_append(b, x, 4);
}

/* An RPM as rpmbuild lays it out: lead, empty signature, header, compressed cpio */
static inline void fixture_rpm(const char *path, const char *name, const char *version,
			       const char *release, const char *arch, const struct member *data)
{
	const struct { guint32 tag; const char *text; } tags[] = {
		{ 1000, name }, { 1001, version }, { 1002, release }, { 1022, arch },
	};
	GByteArray *b = g_byte_array_new(), *cpio;
	guint32 at = 0, i;

	g_byte_array_append(b, (const guint8 *)"\xed\xab\xee\xdb\x03\0", 6);
	g_byte_array_set_size(b, 96);
	memset(b->data + 6, 0, 90);
	g_byte_array_append(b, (const guint8 *)"\x8e\xad\xe8\x01\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	g_byte_array_append(b, (const guint8 *)"\x8e\xad\xe8\x01\0\0\0\0", 8);
	for (i = 0; i < G_N_ELEMENTS(tags); i++)
		at += strlen(tags[i].text) + 1;
	fixture_be32(b, G_N_ELEMENTS(tags));
	fixture_be32(b, at);
	for (i = at = 0; i < G_N_ELEMENTS(tags); i++) {
		fixture_be32(b, tags[i].tag);
		fixture_be32(b, 6);
		fixture_be32(b, at);
		fixture_be32(b, 1);
		at += strlen(tags[i].text) + 1;
	}
	for (i = 0; i < G_N_ELEMENTS(tags); i++)
		g_byte_array_append(b, (const guint8 *)tags[i].text, strlen(tags[i].text) + 1);
	cpio = fixture_archive(data, "gzip", "newc");
	g_byte_array_append(b, cpio->data, cpio->len);
	g_byte_array_unref(cpio);
	fixture_save(path, b);
}

/* As much of a bzImage as is looked at; @flags: xloadflags */
static inline GByteArray *fixture_bzimage(const char *version, unsigned int flags)
{
	GByteArray *b = g_byte_array_new();

	g_byte_array_set_size(b, 8192);
	memset(b->data, 0, b->len);
	b->data[0x1f1] = 4;
	memcpy(b->data + 0x1fe, "\x55\xaaxxHdrS", 8);
	b->data[0x206] = 0x0f;
	b->data[0x207] = 0x02;
	b->data[0x236] = flags;
	/* kernel_version points below 0x200 of itself */
	b->data[0x20e] = 0x00;
	b->data[0x20f] = 0x08;
	strcpy((char *)b->data + 0x200 + 0x800, version);
	return b;
}

/* As much of an arm64 Image as is looked at */
static inline GByteArray *fixture_arm64(const char *version)
{
	GByteArray *b = g_byte_array_new();
	char *banner = g_strconcat("Linux version ", version, " (a@b) #1 SMP\n", NULL);

	g_byte_array_set_size(b, 8192);
	memset(b->data, 0, b->len);
	memcpy(b->data + 0x38, "ARM\x64", 4);
	memcpy(b->data + 4096, banner, strlen(banner));
	g_free(banner);
	return b;
}

/* DIR/NAME with its parents made, g_free() it */
static inline char *fixture_path(const char *dir, const char *name)
{
	char *path = g_build_filename(dir, name, NULL), *parent = g_path_get_dirname(path);

	g_mkdir_with_parents(parent, 0755);
	g_free(parent);
	return path;
}

#endif /* PKG_FIXTURE_H */
