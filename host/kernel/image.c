// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a kernel image says about itself: architecture, release, whether the
 * machine can boot it as it is.
 */
#include "base/arch.h"
#include "kernel/kernel.h"
#include "store/store.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_MAX (4ULL << 30)
#define BOOTABLE_MAX (512ULL << 20)
/* Xen's ELF note for the entry point of a PVH guest (arch/x86/platform/pvh/head.S) */
#define NOTE_PHYS32_ENTRY 18

/* A file mapped to read */
struct map {
	const unsigned char *p;
	gsize len;
};

static uint16_t le16(const unsigned char *p)
{
	return p[0] | p[1] << 8;
}

static uint32_t le32(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool map_file(struct map *m, const char *path, GError **err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	m->p = NULL;
	if (fd < 0 || fstat(fd, &st)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the kernel %s: %s", path,
			      g_strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a kernel: it is no plain file", path);
	} else if (st.st_size < 4096 || (uint64_t)st.st_size > IMAGE_MAX) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a kernel: it has %lld bytes", path,
			      (long long)st.st_size);
	} else {
		m->len = st.st_size;
		m->p = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (m->p == MAP_FAILED) {
			m->p = NULL;
			mmg_set_error(err, MMG_EXIT_USAGE, "cannot read the kernel %s: %s", path,
				      g_strerror(errno));
		}
	}
	if (fd >= 0)
		close(fd);
	return m->p;
}

static void unmap_file(struct map *m)
{
	if (m->p)
		munmap((void *)m->p, m->len);
}

/* Release and the rest of a version text ("6.12.1-x (who@where) ..."), bounded */
static void take_version(struct image *img, const char *text, gsize max)
{
	gsize n = strnlen(text, MIN(max, 1024)), word = 0;
	char *clean;

	while (word < n && text[word] > ' ' && text[word] < 0x7f)
		word++;
	if (!word || !g_ascii_isdigit(*text) || word > 64)
		return;
	clean = g_strndup(text, n);
	g_strdelimit(clean, "\n", '\0');
	img->release = g_strndup(text, word);
	img->banner = mmg_clean(clean + MIN(word, strlen(clean)), -1, 1024);
	g_free(clean);
}

/* linux_banner (init/version.c), somewhere in the read-only data */
static void find_banner(struct image *img, const unsigned char *p, gsize len)
{
	static const char mark[] = "Linux version ";
	const unsigned char *hit = p, *end = p + len;

	while (!img->release && hit < end &&
	       (hit = memmem(hit, end - hit, mark, sizeof(mark) - 1))) {
		hit += sizeof(mark) - 1;
		take_version(img, (const char *)hit, end - hit);
	}
}

/* Documentation/arch/x86/boot.rst: the setup header at 0x1f1 */
static bool read_bzimage(struct image *img, const struct map *m)
{
	uint16_t version, at;
	uint64_t want;

	if (m->len < 0x1000 || le16(m->p + 0x1fe) != 0xaa55 || memcmp(m->p + 0x202, "HdrS", 4))
		return false;
	version = le16(m->p + 0x206);
	img->kind = "bzImage";
	/* xloadflags: XLF_KERNEL_64 */
	img->arch = g_strdup(version >= 0x20c && (le16(m->p + 0x236) & 1) ? "x86_64" : "i386");
	/* setup_sects and, in 16 bytes, syssize: what a boot loader will read of the file */
	want = ((m->p[0x1f1] ? m->p[0x1f1] : 4) + 1) * 512 + le32(m->p + 0x1f4) * UINT64_C(16);
	img->missing = version >= 0x204 && want > m->len ? want - m->len : 0;
	at = le16(m->p + 0x20e);
	if (at && at + 0x200U < m->len)
		take_version(img, (const char *)m->p + 0x200 + at, m->len - 0x200 - at);
	return true;
}

/* Documentation/arch/arm64/booting.rst and riscv/boot-image-header.rst */
static bool read_image(struct image *img, const struct map *m)
{
	if (m->len < 64)
		return false;
	if (!memcmp(m->p + 0x38, "ARM\x64", 4))
		img->arch = g_strdup("arm64");
	else if (!memcmp(m->p + 0x38, "RSC\x05", 4))
		img->arch = g_strdup("riscv64");
	else
		return false;
	img->kind = "Image";
	find_banner(img, m->p, m->len);
	return true;
}

static const char *elf_arch(uint16_t machine)
{
	const struct arch *a = arch_of_elf(machine);

	if (a)
		return a->name;
	switch (machine) {
	case EM_386: return "i386";
	case EM_ARM: return "arm";
	default: return "an unknown architecture";
	}
}

static bool notes_have_pvh(const unsigned char *p, gsize len)
{
	while (len >= 12) {
		uint32_t name = le32(p), desc = le32(p + 4), type = le32(p + 8);
		gsize size = 12 + ((gsize)name + 3) / 4 * 4 + ((gsize)desc + 3) / 4 * 4;

		if (size > len)
			break;
		if (type == NOTE_PHYS32_ENTRY && name == 4 && !memcmp(p + 12, "Xen", 4))
			return true;
		p += size;
		len -= size;
	}
	return false;
}

/* True where a PT_NOTE of ELF64 @m names a PVH entry */
static bool elf_has_pvh(const struct map *m)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	unsigned int i;

	memcpy(&eh, m->p, sizeof(eh));
	for (i = 0; i < eh.e_phnum; i++) {
		uint64_t at = eh.e_phoff + (uint64_t)i * sizeof(ph);

		if (at > m->len || m->len - at < sizeof(ph))
			return false;
		memcpy(&ph, m->p + at, sizeof(ph));
		if (ph.p_type != PT_NOTE || ph.p_offset > m->len ||
		    ph.p_filesz > m->len - ph.p_offset)
			continue;
		if (notes_have_pvh(m->p + ph.p_offset, ph.p_filesz))
			return true;
	}
	return false;
}

static bool read_elf(struct image *img, const struct map *m)
{
	if (m->len < sizeof(Elf64_Ehdr) || memcmp(m->p, ELFMAG, SELFMAG) ||
	    m->p[EI_DATA] != ELFDATA2LSB)
		return false;
	img->kind = "vmlinux";
	img->arch = g_strdup(elf_arch(le16(m->p + 18)));
	find_banner(img, m->p, m->len);
	/* Any program is an ELF file; only a kernel has the banner */
	if (!img->release)
		return false;
	img->pvh = m->p[EI_CLASS] == ELFCLASS64 && elf_has_pvh(m);
	return true;
}

static bool has_magic(const struct map *m, const char *magic, gsize n)
{
	return m->len > n && !memcmp(m->p, magic, n);
}

/* drivers/firmware/efi/libstub/zboot-header.S: where the compressed Image is */
static bool zboot_payload(const struct map *m, gsize *at, gsize *len)
{
	if (m->len < 64 || memcmp(m->p, "MZ\0\0zimg", 8))
		return false;
	*at = le32(m->p + 8);
	*len = le32(m->p + 12);
	return *at < m->len && *len <= m->len - *at;
}

/*
 * The kernel in a unified kernel image: a PE file whose section ".linux" is a kernel as it
 * would lie in a file of its own (the UAPI group's specification of UKIs).  What
 * else it has (.initrd, .cmdline) is for another boot than ours.
 */
static bool uki_payload(const struct map *m, gsize *at, gsize *len)
{
	gsize pe, section;
	unsigned int n, i;

	if (m->len < 0x40 || memcmp(m->p, "MZ", 2))
		return false;
	pe = le32(m->p + 0x3c);
	if (pe > m->len || m->len - pe < 24 || memcmp(m->p + pe, "PE\0\0", 4))
		return false;
	n = le16(m->p + pe + 6);
	section = pe + 24 + le16(m->p + pe + 20);
	for (i = 0; i < n; i++, section += 40) {
		uint32_t size, raw;

		if (section > m->len || m->len - section < 40)
			return false;
		if (memcmp(m->p + section, ".linux\0", 8))
			continue;
		/* what is in the file is rounded up, what is in memory is not */
		size = le32(m->p + section + 8);
		raw = le32(m->p + section + 16);
		*len = size && size < raw ? size : raw;
		*at = le32(m->p + section + 20);
		return *len && *at < m->len && *len <= m->len - *at;
	}
	return false;
}

/* The Image in a compressed one; NULL where @m is none or is damaged */
static GByteArray *decompress_image(const struct map *m, const char *path, GError **err)
{
	gsize at = 0, len = m->len;

	if (!zboot_payload(m, &at, &len) && !has_magic(m, "\x1f\x8b", 2) &&
	    !has_magic(m, "\xfd" "7zXZ", 5) && !has_magic(m, "\x28\xb5\x2f\xfd", 4) &&
	    !has_magic(m, "BZh", 3) && !has_magic(m, "\x02\x21\x4c\x18", 4) &&
	    !has_magic(m, "\x5d\0\0", 3))
		return NULL;
	return pkg_decompress_mem(m->p + at, len, BOOTABLE_MAX, path, err);
}

/* The kernel in @m, where it is not one itself: in a UKI, compressed, or both; NULL where there is none */
static GByteArray *inner_image(const struct map *m, const char *path, GError **err)
{
	GByteArray *inner, *plain;
	struct map inside;
	GError *e = NULL;
	gsize at, len;

	if (!uki_payload(m, &at, &len))
		return decompress_image(m, path, err);
	if (len > BOOTABLE_MAX) {
		mmg_set_error(err, MMG_EXIT_USAGE, "the kernel in %s is larger than %llu MiB", path, BOOTABLE_MAX >> 20);
		return NULL;
	}
	inside = (struct map){ m->p + at, len };
	plain = decompress_image(&inside, path, &e);
	if (plain || e) {
		if (e)
			g_propagate_error(err, e);
		return plain;
	}
	inner = g_byte_array_new();
	return g_byte_array_append(inner, m->p + at, len);
}

static bool read_any(struct image *img, const struct map *m)
{
	return read_bzimage(img, m) || read_image(img, m) || read_elf(img, m);
}

static struct image *not_a_kernel(struct image *img, const char *path, GError **err)
{
	if (err && !*err)
		mmg_set_error(err, MMG_EXIT_USAGE,
			      "%s is not a kernel: neither a bzImage, an arm64 or RISC-V Image, a vmlinux nor a unified kernel image", path);
	image_free(img);
	return NULL;
}

/**
 * image_open - read what a kernel image says about itself
 *
 * NULL with *@err (usage): not there, not readable, no kernel.
 */
struct image *image_open(const char *path, GError **err)
{
	struct image *img = g_new0(struct image, 1);
	GByteArray *plain = NULL;
	bool known = false;
	GError *e = NULL;
	struct map m;

	if (!map_file(&m, path, err))
		return not_a_kernel(img, path, err);
	known = read_any(img, &m);
	if (!known) {
		plain = inner_image(&m, path, &e);
		if (e)
			mmg_set_error(err, MMG_EXIT_USAGE, "%s is not a kernel: %s", path,
				      e->message);
		g_clear_error(&e);
		if (plain) {
			struct map inner = { plain->data, plain->len };

			known = read_any(img, &inner);
			img->compressed = true;
			g_byte_array_unref(plain);
		}
	}
	unmap_file(&m);
	if (known && img->missing) {
		mmg_set_error(err, MMG_EXIT_USAGE, "%s is cut short: its setup header announces %" G_GUINT64_FORMAT
			      " bytes more", path, img->missing);
		image_free(img);
		return NULL;
	}
	return known ? img : not_a_kernel(img, path, err);
}

void image_free(struct image *img)
{
	if (!img)
		return;
	g_free(img->arch);
	g_free(img->release);
	g_free(img->banner);
	g_free(img);
}

bool image_unpack(const char *path, const char *to, GError **err)
{
	GByteArray *plain;
	struct map m;
	bool ok;

	if (!map_file(&m, path, err))
		return false;
	plain = inner_image(&m, path, err);
	unmap_file(&m);
	if (!plain) {
		if (err && !*err)
			mmg_set_error(err, MMG_EXIT_BROKEN, "%s has no kernel in it", path);
		return false;
	}
	ok = mmg_write_atomic(to, (char *)plain->data, plain->len, err);
	g_byte_array_unref(plain);
	return ok;
}

/* The gzip'ed .config between its marks (kernel/configs.c), NULL where it is not built in */
static GByteArray *find_config(const unsigned char *p, gsize len)
{
	const unsigned char *start = memmem(p, len, "IKCFG_ST\x1f\x8b", 10), *end;

	if (!start)
		return NULL;
	start += 8;
	end = memmem(start, p + len - start, "IKCFG_ED", 8);
	if (!end)
		return NULL;
	return pkg_decompress_mem(start, end - start, 16 << 20, "the built-in configuration", NULL);
}

/* The vmlinux in a bzImage; NULL where its payload cannot be read */
static GByteArray *bzimage_payload(const struct map *m)
{
	gsize at, len;

	if (le16(m->p + 0x1fe) != 0xaa55 || memcmp(m->p + 0x202, "HdrS", 4))
		return NULL;
	at = ((m->p[0x1f1] ? m->p[0x1f1] : 4) + 1) * 512 + (gsize)le32(m->p + 0x248);
	len = le32(m->p + 0x24c);
	if (at >= m->len || len > m->len - at || len < 8)
		return NULL;
	/* The build appends the uncompressed size, 4 bytes, to all but gzip, which ends so anyway */
	if (memcmp(m->p + at, "\x1f\x8b", 2))
		len -= 4;
	return pkg_decompress_mem(m->p + at, len, BOOTABLE_MAX, "the kernel's payload", NULL);
}

/**
 * image_config - the .config that CONFIG_IKCONFIG=y builds into a kernel
 *
 * Its text, or NULL where there is none (no error: it is a convenience).
 */
GByteArray *image_config(const char *path)
{
	GByteArray *config, *plain = NULL;
	struct map m;

	if (!map_file(&m, path, NULL))
		return NULL;
	config = find_config(m.p, m.len);
	if (!config)
		plain = bzimage_payload(&m);
	if (!config && !plain)
		plain = inner_image(&m, path, NULL);
	if (plain) {
		struct map inside = { plain->data, plain->len };
		GByteArray *deeper;

		config = find_config(plain->data, plain->len);
		/* the bzImage of a UKI */
		deeper = config || plain->len < 0x1000 ? NULL : bzimage_payload(&inside);
		if (deeper) {
			config = find_config(deeper->data, deeper->len);
			g_byte_array_unref(deeper);
		}
		g_byte_array_unref(plain);
	}
	unmap_file(&m);
	return config;
}

/**
 * image_kernel - the kernel proper in a boot image
 *
 * The ELF file in a bzImage, the Image in a compressed one, else the file's own bytes; NULL with
 * *@err where it cannot be read or unpacked.
 */
GByteArray *image_kernel(const char *path, GError **err)
{
	GByteArray *plain = NULL;
	GError *e = NULL;
	struct map m;

	if (!map_file(&m, path, err))
		return NULL;
	if (!memcmp(m.p + 0x202, "HdrS", 4))
		plain = bzimage_payload(&m);
	else
		plain = decompress_image(&m, path, &e);
	if (e)
		g_propagate_error(err, e);
	else if (!plain && m.len <= BOOTABLE_MAX)
		plain = g_byte_array_append(g_byte_array_new(), m.p, m.len);
	else if (!plain)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s is too large to be read", path);
	unmap_file(&m);
	return plain;
}
