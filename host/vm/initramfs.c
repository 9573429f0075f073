// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packs an initramfs: newc, uncompressed (the kernel unpacks it faster than it
 * decompresses one), the same bytes for the same content.
 */
#include "store/store.h"
#include "vm/vm.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No test VM needs more; it also keeps a file that grows while it is read at bay */
#define FILE_BYTES_MAX (512ULL << 20)
#define TOTAL_BYTES_MAX (1ULL << 30)

struct packer {
	struct archive *to;
	struct archive_entry *entry;
	GHashTable *have;		/* names that are in already */
	GChecksum *sum;
	FILE *file;
	const char *path;
	uint64_t total;
	int64_t ino;
};

/* libarchive's write callback: hash and write what it has packed */
static la_ssize_t take_bytes(struct archive *a, void *data, const void *buf, size_t n)
{
	struct packer *p = data;

	if (fwrite(buf, 1, n, p->file) != n) {
		archive_set_error(a, errno, "%s", g_strerror(errno));
		return -1;
	}
	g_checksum_update(p->sum, buf, n);
	return n;
}

static bool packer_failed(struct packer *p, GError **err)
{
	const char *why = archive_error_string(p->to);

	mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write the initramfs %s: %s", p->path,
		      why ? why : "unknown error");
	return false;
}

/* One member; @len bytes of @data where it is a plain file */
static bool put(struct packer *p, const char *dst, unsigned int mode, const void *data,
		gsize len, GError **err)
{
	p->total += len;
	if (p->total > TOTAL_BYTES_MAX) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "the initramfs would exceed %llu MiB at %s",
			      TOTAL_BYTES_MAX >> 20, dst);
		return false;
	}
	archive_entry_clear(p->entry);
	archive_entry_set_pathname(p->entry, dst);
	archive_entry_set_mode(p->entry, S_ISDIR(mode) ? mode : S_IFREG | (mode & 07777));
	archive_entry_set_nlink(p->entry, S_ISDIR(mode) ? 2 : 1);
	/* Equal inode numbers with several links would make hard links of them */
	archive_entry_set_ino64(p->entry, ++p->ino);
	archive_entry_set_mtime(p->entry, 0, 0);
	archive_entry_set_size(p->entry, len);
	if (archive_write_header(p->to, p->entry) != ARCHIVE_OK)
		return packer_failed(p, err);
	if (len && archive_write_data(p->to, data, len) != (la_ssize_t)len)
		return packer_failed(p, err);
	return true;
}

/* The folders above @dst, each once */
static bool put_parents(struct packer *p, const char *dst, GError **err)
{
	char *slash, *dir = g_strdup(dst);
	bool ok = true;

	for (slash = strchr(dir, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (g_hash_table_add(p->have, g_strdup(dir)))
			ok = put(p, dir, S_IFDIR | 0755, NULL, 0, err);
		*slash = '/';
	}
	g_free(dir);
	return ok;
}

static bool put_file(struct packer *p, const struct initramfs_file *f, const char *dst,
		     GError **err)
{
	GByteArray *bytes = f->unpack ? pkg_decompress(f->src, FILE_BYTES_MAX, err) :
			    pkg_read(f->src, FILE_BYTES_MAX, err);
	bool ok;

	if (!bytes)
		return false;
	ok = put(p, dst, f->mode, bytes->data, bytes->len, err);
	g_byte_array_unref(bytes);
	return ok;
}

static bool put_member(struct packer *p, const struct initramfs_file *f, GError **err)
{
	char *dst = g_strdup(f->dst), *dot;
	bool ok = false;

	if (f->unpack && (dot = strstr(dst, ".ko.")))
		dot[3] = '\0';
	if (!*dst || *dst == '/' || !pkg_name_is_safe(dst)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "'%s' is no name for a member of an initramfs",
			      dst);
	} else if (!put_parents(p, dst, err)) {
		;
	} else if (!g_hash_table_add(p->have, g_strdup(dst))) {
		ok = S_ISDIR(f->mode);
		if (!ok)
			mmg_set_error(err, MMG_EXIT_BROKEN, "two files want to be %s in the initramfs",
				      dst);
	} else if (f->src) {
		ok = put_file(p, f, dst, err);
	} else {
		ok = put(p, dst, f->mode, f->data, S_ISDIR(f->mode) ? 0 : f->len, err);
	}
	g_free(dst);
	return ok;
}

static bool pack_all(struct packer *p, const GPtrArray *files, GError **err)
{
	guint i;

	archive_write_set_format_cpio_newc(p->to);
	/* Blocks of 64 KiB, the last one not padded to a tape's record */
	archive_write_set_bytes_per_block(p->to, 65536);
	archive_write_set_bytes_in_last_block(p->to, 1);
	if (archive_write_open(p->to, p, NULL, take_bytes, NULL) != ARCHIVE_OK)
		return packer_failed(p, err);
	for (i = 0; i < files->len; i++)
		if (!put_member(p, files->pdata[i], err))
			return false;
	if (archive_write_close(p->to) != ARCHIVE_OK)
		return packer_failed(p, err);
	if (fflush(p->file)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write the initramfs %s: %s", p->path,
			      g_strerror(errno));
		return false;
	}
	return true;
}

/**
 * initramfs_pack - write an initramfs, whole or not at all
 * @files:	struct initramfs_file *, in this order
 * @path:	where to
 * @sha256:	gets the hash of what was written, or NULL
 *
 * Parent folders of members are made, mode 0755; equal content gives equal
 * bytes.  False with *@err: a source that cannot be read or decompressed, a
 * name that leads out, a size beyond all need, a full disk.
 */
bool initramfs_pack(const GPtrArray *files, const char *path, char **sha256, GError **err)
{
	struct packer p = { .path = path };
	char *tmp = g_strdup_printf("%s.%d.tmp", path, getpid());
	bool ok = false;

	p.file = fopen(tmp, "we");
	if (!p.file) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot write the initramfs %s: %s", path,
			      g_strerror(errno));
		g_free(tmp);
		return false;
	}
	p.to = archive_write_new();
	p.entry = archive_entry_new();
	p.have = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	p.sum = g_checksum_new(G_CHECKSUM_SHA256);
	ok = pack_all(&p, files, err);
	archive_write_free(p.to);
	fclose(p.file);
	if (ok && rename(tmp, path)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot name the initramfs %s: %s", path,
			      g_strerror(errno));
		ok = false;
	}
	if (!ok)
		unlink(tmp);
	else if (sha256)
		*sha256 = g_strdup(g_checksum_get_string(p.sum));
	archive_entry_free(p.entry);
	g_hash_table_unref(p.have);
	g_checksum_free(p.sum);
	g_free(tmp);
	return ok;
}
