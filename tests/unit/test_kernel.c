// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/build/ksrc.c host/source/*.c host/kernel/*.c host/debian/*.c host/store/*.c host/base/*.c
/*
 * What --kernel SPEC means: images, folders, trees and packages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "build/build.h"
#include "pkg_fixture.h"

#define V612 "6.12.117+deb12-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1 (2026-11-14)"

static char *top;
static struct kernel_options how;

static int setup(void **state)
{
	char *cache;

	(void)state;
	top = g_dir_make_tmp("mmgate kernel-XXXXXX", NULL);
	cache = g_build_filename(top, "the cache", NULL);
	g_setenv("XDG_CACHE_HOME", cache, TRUE);
	g_free(cache);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	return 0;
}

static int reset(void **state)
{
	(void)state;
	memset(&how, 0, sizeof(how));
	return 0;
}

/* Save @bytes as DIR/NAME; the path, g_free() it */
static char *put(const char *name, GByteArray *bytes)
{
	char *path = fixture_path(top, name);

	fixture_save(path, bytes);
	return path;
}

static GByteArray *text_bytes(const char *text)
{
	GByteArray *b = g_byte_array_new();

	g_byte_array_append(b, (const guint8 *)text, strlen(text));
	return b;
}

static struct kernel *resolve(const char *spec)
{
	GError *e = NULL;
	struct kernel *k = kernel_resolve(&how, spec, &e);

	if (!k)
		fail_msg("%s: %s", spec, e->message);
	return k;
}

/* @spec is refused with @status and a message that has @word in it */
static void refused(const char *spec, int status, const char *word)
{
	GError *e = NULL;
	struct kernel *k = kernel_resolve(&how, spec, &e);

	if (k)
		fail_msg("'%s' was taken for %s", spec, k->release);
	assert_non_null(e);
	if (e->code != status || !strstr(e->message, word) || strchr(e->message, '\n'))
		fail_msg("'%s': status %d, '%s'", spec, e->code, e->message);
	g_error_free(e);
}

static void test_bzimage(void **state)
{
	char *path = put("a folder/bz image", fixture_bzimage(V612, 1));
	struct kernel *k = resolve(path);

	(void)state;
	assert_string_equal(k->release, "6.12.117+deb12-amd64");
	assert_string_equal(k->version, "6.12.117");
	assert_string_equal(k->label, "6.12.117");
	assert_string_equal(k->arch, "x86_64");
	assert_string_equal(k->image, path);
	assert_int_equal(strlen(k->sha256), 64);
	assert_null(k->modules);
	assert_null(k->config);
	kernel_free(k);
	how.arch = "arm64";
	refused(path, MMG_EXIT_USAGE, "is a kernel for x86_64, but --arch asks for arm64");
	g_free(path);
}

/* A PE file with one section, @name, that holds @kernel; @size is what its header says of it */
static GByteArray *pe_of(const char *name, GByteArray *kernel, guint32 size)
{
	guint8 head[0x200] = { 'M', 'Z', [0x3c] = 0x80, [0x80] = 'P', 'E', 0, 0, [0x86] = 1 };
	GByteArray *b = g_byte_array_new();
	guint32 raw = GUINT32_TO_LE((kernel->len + 511) / 512 * 512), at = GUINT32_TO_LE(sizeof(head));

	strncpy((char *)head + 0x98, name, 8);
	size = GUINT32_TO_LE(size);
	memcpy(head + 0x98 + 8, &size, 4);
	memcpy(head + 0x98 + 16, &raw, 4);
	memcpy(head + 0x98 + 20, &at, 4);
	g_byte_array_append(b, head, sizeof(head));
	g_byte_array_append(b, kernel->data, kernel->len);
	g_byte_array_set_size(b, sizeof(head) + GUINT32_FROM_LE(raw));
	g_byte_array_unref(kernel);
	return b;
}

/* A unified kernel image: the kernel of its section .linux is what boots */
static void test_uki(void **state)
{
	GByteArray *bz = fixture_bzimage(V612, 1);
	guint32 len = bz->len;
	char *path = put("uki.efi", pe_of(".linux", g_byte_array_ref(bz), len)), *text;
	struct kernel *k = resolve(path);
	gsize got;

	(void)state;
	assert_string_equal(k->release, "6.12.117+deb12-amd64");
	assert_string_equal(k->arch, "x86_64");
	assert_string_not_equal(k->image, path);
	assert_true(g_file_get_contents(k->image, &text, &got, NULL));
	assert_int_equal(got, len);
	assert_memory_equal(text, bz->data, len);
	g_free(text);
	kernel_free(k);
	g_free(path);
	g_byte_array_unref(bz);
	/* an EFI program that is none, and one whose section lies outside of it */
	path = put("shell.efi", pe_of(".text", fixture_bzimage(V612, 1), len));
	refused(path, MMG_EXIT_USAGE, "is not a kernel");
	g_free(path);
	bz = pe_of(".linux", fixture_bzimage(V612, 1), len);
	memset(bz->data + 0x98 + 16, 0xff, 8);
	path = put("cut.efi", bz);
	refused(path, MMG_EXIT_USAGE, "is not a kernel");
	g_free(path);
}

/* Debian's frozen uname hides the version; the banner has it */
static void test_debian_abi(void **state)
{
	char *path = put("abi", fixture_bzimage("6.1.0-52-amd64 (a@b) #1 SMP Debian 6.1.180-1 (x)", 1));
	struct kernel *k = resolve(path);

	(void)state;
	assert_string_equal(k->release, "6.1.0-52-amd64");
	assert_string_equal(k->version, "6.1.180");
	kernel_free(k);
	g_free(path);
}

static void test_labels_are_unique(void **state)
{
	char *a = put("l1", fixture_bzimage("5.19.3-x (a@b) #1", 1));
	char *b = put("l2", fixture_bzimage("5.19.3-y (a@b) #2", 1));
	struct kernel *k1 = resolve(a), *k2 = resolve(b), *k3 = resolve(b), *k4 = resolve(b);

	(void)state;
	assert_string_equal(k1->label, "5.19.3");
	assert_string_equal(k2->label, "5.19.3-y");
	assert_string_equal(k3->label, "5.19.3-y-2");
	assert_string_equal(k4->label, "5.19.3-y-3");
	kernel_free(k1);
	kernel_free(k2);
	kernel_free(k3);
	kernel_free(k4);
	g_free(a);
	g_free(b);
}

/* @plain by gzip */
static GByteArray *gzipped(const GByteArray *plain)
{
	struct fixture_sink sink = { g_byte_array_new() };
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();

	archive_write_add_filter_gzip(a);
	archive_write_set_format_raw(a);
	archive_write_open(a, &sink, NULL, fixture_write, NULL);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_write_header(a, e);
	archive_write_data(a, plain->data, plain->len);
	archive_entry_free(e);
	archive_write_free(a);
	return sink.bytes;
}

static void test_arm64(void **state)
{
	GByteArray *plain = fixture_arm64("6.12.117+deb12-arm64"), *small = gzipped(plain);
	char *path, *image;
	struct kernel *k;
	gsize len;

	(void)state;
	path = put("Image", plain);
	how.arch = "arm64";
	k = resolve(path);
	assert_string_equal(k->arch, "arm64");
	assert_string_equal(k->release, "6.12.117+deb12-arm64");
	kernel_free(k);
	g_free(path);
	/* Compressed: the bootable form is put into the cache */
	while (small->len < 4096)
		g_byte_array_append(small, (const guint8 *)"", 1);
	path = put("Image.gz", small);
	k = resolve(path);
	assert_string_equal(k->release, "6.12.117+deb12-arm64");
	assert_string_not_equal(k->image, path);
	assert_true(g_file_get_contents(k->image, &image, &len, NULL));
	assert_int_equal(len, 8192);
	g_free(image);
	kernel_free(k);
	how.arch = "x86_64";
	refused(path, MMG_EXIT_USAGE, "arm64");
	g_free(path);
}

/* An ELF file with @banner, and a PVH note where @pvh */
static GByteArray *elf(const char *banner, bool pvh, unsigned int machine)
{
	GByteArray *b = g_byte_array_new();
	Elf64_Ehdr eh = { .e_type = ET_EXEC, .e_machine = machine, .e_phnum = 1,
			  .e_phoff = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr ph = { .p_type = PT_NOTE, .p_offset = 512, .p_filesz = 24 };

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	g_byte_array_set_size(b, 8192);
	memset(b->data, 0, b->len);
	memcpy(b->data, &eh, sizeof(eh));
	memcpy(b->data + sizeof(eh), &ph, sizeof(ph));
	memcpy(b->data + 512, "\4\0\0\0\4\0\0\0\x12\0\0\0Xen\0\0\0\0\1", 20);
	if (!pvh)
		b->data[520] = 1;
	memcpy(b->data + 4096, banner, strlen(banner));
	return b;
}

static void test_vmlinux(void **state)
{
	static const char banner[] = "Linux version 6.13.0-rc1 (a@b) #1\n";
	char *path = put("vmlinux", elf(banner, true, EM_X86_64));
	struct kernel *k = resolve(path);

	(void)state;
	assert_string_equal(k->release, "6.13.0-rc1");
	assert_string_equal(k->version, "6.13.0");
	kernel_free(k);
	g_free(path);
	path = put("vmlinux-no-pvh", elf(banner, false, EM_X86_64));
	refused(path, MMG_EXIT_USAGE, "CONFIG_PVH");
	g_free(path);
	path = put("vmlinux-arm", elf(banner, false, EM_AARCH64));
	refused(path, MMG_EXIT_USAGE, "Image");
	g_free(path);
	/* A program is no kernel */
	path = put("program", elf("hello", true, EM_X86_64));
	refused(path, MMG_EXIT_USAGE, "not a kernel");
	g_free(path);
}

/* A bzImage with @vmlinux, by gzip, as its payload */
static char *bzimage_of(const char *name, GByteArray *vmlinux)
{
	GByteArray *b = fixture_bzimage(V612, 1), *payload = gzipped(vmlinux);
	/* what follows the setup, of 5 sectors, and the fixture's own 8 KiB */
	guint32 at = GUINT32_TO_LE(8192 - 5 * 512), len = GUINT32_TO_LE(payload->len);

	memcpy(b->data + 0x248, &at, sizeof(at));
	memcpy(b->data + 0x24c, &len, sizeof(len));
	g_byte_array_append(b, payload->data, payload->len);
	g_byte_array_unref(payload);
	g_byte_array_unref(vmlinux);
	return put(name, b);
}

static void test_vmlinux_in_a_bzimage(void **state)
{
	static const char banner[] = "Linux version 6.12.117+deb12-amd64 (a@b) #1\n";
	char *path = bzimage_of("whole", elf(banner, true, EM_X86_64)), *first;
	struct kernel *k = resolve(path);

	(void)state;
	/* Naming a kernel unpacks nothing: -n leaves no trace */
	assert_null(k->vmlinux);
	kernel_unpack(k);
	assert_non_null(k->vmlinux);
	assert_string_equal(k->image, path);
	assert_int_equal(strlen(k->vmlinux_sha256), 64);
	assert_string_not_equal(k->vmlinux_sha256, k->sha256);
	first = g_strdup(k->vmlinux);
	kernel_free(k);
	k = resolve(path);
	assert_string_equal(k->vmlinux, first);
	kernel_free(k);
	g_free(first);
	g_free(path);
	/* No entry, another architecture's, or nothing to unpack: the image boots itself */
	for (int i = 0; i < 3; i++) {
		path = i == 2 ? put("part2", fixture_bzimage(V612, 1)) :
				bzimage_of(i ? "part1" : "part0", elf(banner, i, i ? EM_AARCH64 : EM_X86_64));
		k = resolve(path);
		kernel_unpack(k);
		assert_null(k->vmlinux);
		kernel_free(k);
		k = resolve(path);
		assert_null(k->vmlinux);
		kernel_free(k);
		g_free(path);
	}
}

static void test_bad_files(void **state)
{
	GByteArray *noise = g_byte_array_new();
	char *path, *text;
	guint i, n;

	(void)state;
	refused("/nonexistent/vmlinuz", MMG_EXIT_USAGE, "No such file");
	refused("", MMG_EXIT_USAGE, "no such file");
	refused("/dev/null", MMG_EXIT_USAGE, "no plain file");
	refused(top, MMG_EXIT_USAGE, "neither a kernel tree nor");
	path = put("empty", text_bytes(""));
	refused(path, MMG_EXIT_USAGE, "not a kernel");
	g_free(path);
	text = g_strnfill(10000, 'x');
	path = put("text", text_bytes(text));
	refused(path, MMG_EXIT_USAGE, "not a kernel");
	g_free(text);
	g_free(path);
	for (i = 0; i < 20000; i++) {
		guint8 c = g_random_int();

		g_byte_array_append(noise, &c, 1);
	}
	memcpy(noise->data, "\x1f\x8b\x08\0", 4);
	path = put("noise.gz", noise);
	refused(path, MMG_EXIT_USAGE, "");
	g_free(path);
	/* A bzImage cut short, or whose version lies outside */
	for (n = 0; n < 4096; n += 512) {
		GByteArray *b = fixture_bzimage(V612, 1);

		g_byte_array_set_size(b, n);
		path = put("cut", b);
		refused(path, MMG_EXIT_USAGE, "not a kernel");
		g_free(path);
	}
	{
		GByteArray *b = fixture_bzimage(V612, 1);

		b->data[0x20e] = b->data[0x20f] = 0xff;
		path = put("wild", b);
		refused(path, MMG_EXIT_USAGE, "does not say which release");
		g_free(path);
	}
	path = put("i386", fixture_bzimage(V612, 0));
	how.arch = "x86_64";
	refused(path, MMG_EXIT_USAGE, "is a kernel for i386");
	g_free(path);
	if (geteuid()) {
		path = put("secret", fixture_bzimage(V612, 1));
		assert_int_equal(chmod(path, 0), 0);
		refused(path, MMG_EXIT_USAGE, "Permission denied");
		g_free(path);
	}
}

/* Random bytes in a header: refused or taken, never a crash */
static void test_fuzz(void **state)
{
	char *path = fixture_path(top, "fuzz");
	int i, j;

	(void)state;
	g_random_set_seed(1);
	for (i = 0; i < 600; i++) {
		GByteArray *b = i % 3 == 0 ? fixture_bzimage(V612, 1) : i % 3 == 1 ?
				fixture_arm64("6.1") : elf("Linux version 6.1 x\n", true, EM_X86_64);
		struct image *img;

		for (j = 0; j < 20; j++)
			b->data[g_random_int_range(0, i % 2 ? 0x260 : 120)] = g_random_int();
		fixture_save(path, b);
		img = image_open(path, NULL);
		image_free(img);
		b = image_config(path);
		if (b)
			g_byte_array_unref(b);
	}
	g_free(path);
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(version_cmp("6.12.19", "6.1") > 0);
	assert_true(version_cmp("6.1", "6.12.19") < 0);
	assert_true(version_cmp("6.9", "6.12") < 0);
	assert_int_equal(version_cmp("6.12", "6.12.0"), 0);
	assert_int_equal(version_cmp("6.12.3-rc1", "6.12.3"), 0);
	assert_true(version_cmp("7", "6.99.99") > 0);
}

static void test_config(void **state)
{
	struct kernel k = { 0 };

	(void)state;
	assert_int_equal(kernel_config(&k, "KVM"), 0);
	k.config = put("config", text_bytes("CONFIG_KVM=m\nCONFIG_MEMCG=y\n# CONFIG_X is not set\n"
					    "XCONFIG_Y=y\nCONFIG_NR_CPUS=64\n"));
	assert_int_equal(kernel_config(&k, "KVM"), 'm');
	assert_int_equal(kernel_config(&k, "MEMCG"), 'y');
	assert_int_equal(kernel_config(&k, "X"), 'n');
	assert_int_equal(kernel_config(&k, "Y"), 'n');
	assert_int_equal(kernel_config(&k, "KV"), 'n');
	assert_int_equal(kernel_config(&k, "NR_CPUS"), 'y');
	g_free(k.config);
}

/* CONFIG_IKCONFIG: found in the image where no file tells */
static void test_built_in_config(void **state)
{
	const struct member m[] = { { "x", "CONFIG_LRU_GEN=y\n", 0 }, { NULL, NULL, 0 } };
	GByteArray *image = fixture_arm64("6.11.1"), *gz = fixture_archive(m, "gzip", "raw");
	struct kernel *k;
	char *path;

	(void)state;
	memcpy(image->data + 6000, "IKCFG_ST", 8);
	memcpy(image->data + 6008, gz->data, gz->len);
	memcpy(image->data + 6008 + gz->len, "IKCFG_ED", 8);
	g_byte_array_unref(gz);
	path = put("ik/Image", image);
	k = resolve(path);
	assert_int_equal(kernel_config(k, "LRU_GEN"), 'y');
	assert_int_equal(kernel_config(k, "KVM"), 'n');
	kernel_free(k);
	g_free(path);
}

/* boot/vmlinuz-REL beside lib/modules/REL, in a folder with a space */
static void test_beside(void **state)
{
	char *image = put("my root/boot/vmlinuz-6.12.117+deb12-amd64", fixture_bzimage(V612, 1));
	char *config = put("my root/boot/config-6.12.117+deb12-amd64", text_bytes("CONFIG_KVM=y\n"));
	char *dep = put("my root/lib/modules/6.12.117+deb12-amd64/modules.dep.bin", text_bytes("x"));
	char *ko = put("my root/lib/modules/6.12.117+deb12-amd64/kernel/x", text_bytes("x"));
	char *root = g_build_filename(top, "my root", NULL), *modules = g_path_get_dirname(dep);
	char *other = put("other/lib/modules/6.1.0-1/kernel/x", text_bytes("x"));
	char *other_root = g_build_filename(top, "other", NULL), *lone;
	struct kernel *k = resolve(image);

	(void)state;
	assert_string_equal(k->modules, modules);
	assert_string_equal(k->config, config);
	kernel_free(k);
	/* The folder, as a spec, and as --modules */
	k = resolve(root);
	assert_string_equal(k->image, image);
	kernel_free(k);
	lone = put("lone", fixture_bzimage(V612, 1));
	how.modules = root;
	k = resolve(lone);
	assert_string_equal(k->modules, modules);
	kernel_free(k);
	how.modules = modules;
	k = resolve(lone);
	assert_string_equal(k->modules, modules);
	kernel_free(k);
	how.modules = other_root;
	refused(lone, MMG_EXIT_USAGE, "neither it nor its lib/modules/6.12.117");
	g_free(other_root);
	other_root = g_build_filename(top, "other/lib/modules/6.1.0-1", NULL);
	how.modules = other_root;
	refused(lone, MMG_EXIT_USAGE, "another kernel");
	how.modules = "/nonexistent";
	refused(lone, MMG_EXIT_USAGE, "no such folder");
	how.modules = NULL;
	/* Two kernels in a folder are one too many */
	g_free(put("my root/boot/vmlinuz-5", fixture_bzimage("5.1 x", 1)));
	refused(root, MMG_EXIT_USAGE, "2 kernels");
	g_free(image);
	g_free(config);
	g_free(dep);
	g_free(ko);
	g_free(root);
	g_free(modules);
	g_free(other);
	g_free(other_root);
	g_free(lone);
}

static void test_tree(void **state)
{
	char *tree = g_build_filename(top, "tree", NULL), *source;
	struct kernel *k;

	(void)state;
	g_free(put("tree/Kconfig", text_bytes("")));
	refused(tree, MMG_EXIT_USAGE, "without a built kernel");
	g_free(put("tree/.config", text_bytes("CONFIG_MEMCG=y\n")));
	g_free(put("tree/arch/x86/boot/bzImage", fixture_bzimage("6.14.0-mine (a@b) #1", 1)));
	g_free(put("tree/tools/testing/selftests/kvm/lib/x", text_bytes("")));
	k = resolve(tree);
	assert_true(g_str_has_suffix(k->image, "bzImage"));
	assert_int_equal(kernel_config(k, "MEMCG"), 'y');
	assert_string_equal(k->ksrc, tree);
	assert_true(kernel_find_ksrc(&how, k, NULL));
	assert_string_equal(k->ksrc_name, tree);
	kernel_free(k);
	/* A vmlinux that boots is the better image; a separate build folder knows its source */
	g_free(put("obj/vmlinux", elf("Linux version 6.14.0-mine x\n", true, EM_X86_64)));
	g_free(put("obj/.config", text_bytes("")));
	g_free(put("obj/arch/x86/boot/bzImage", fixture_bzimage("6.14.0-mine (a@b) #1", 1)));
	source = fixture_path(top, "obj/source");
	assert_int_equal(symlink("../tree", source), 0);
	g_free(source);
	source = g_build_filename(top, "obj", NULL);
	k = resolve(source);
	assert_true(g_str_has_suffix(k->image, "vmlinux"));
	assert_string_equal(k->ksrc, tree);
	kernel_free(k);
	how.ksrc = top;
	k = resolve(source);
	assert_false(kernel_find_ksrc(&how, k, NULL));
	kernel_free(k);
	g_free(source);
	g_free(tree);
}

/* A .deb with a kernel in it: the image has zero bytes, so data.tar is made by hand */
static char *kernel_deb(const char *file, const char *package, const char *member, GByteArray *image)
{
	struct fixture_sink sink = { g_byte_array_new() };
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();
	GByteArray *ar = g_byte_array_new(), *tar;
	char *control = g_strdup_printf("Package: %s\nVersion: 1-1\nArchitecture: amd64\n", package);
	const struct member c[] = { { "./control", control, 0 }, { NULL, NULL, 0 } };

	archive_write_add_filter_xz(a);
	archive_write_set_format_ustar(a);
	archive_write_open(a, &sink, NULL, fixture_write, NULL);
	archive_entry_set_pathname(e, member);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0600);
	archive_entry_set_size(e, image->len);
	archive_write_header(a, e);
	archive_write_data(a, image->data, image->len);
	archive_entry_free(e);
	archive_write_free(a);
	g_byte_array_unref(image);
	g_byte_array_append(ar, (const guint8 *)"!<arch>\n", 8);
	tar = fixture_archive(c, "gzip", "ustar");
	fixture_ar_member(ar, "control.tar.gz", tar->data, tar->len);
	g_byte_array_unref(tar);
	fixture_ar_member(ar, "data.tar.xz", sink.bytes->data, sink.bytes->len);
	g_byte_array_unref(sink.bytes);
	g_free(control);
	return put(file, ar);
}

static GByteArray *config_bytes(void)
{
	return text_bytes("CONFIG_LRU_GEN=y\n");
}

static guint count_cached(const char *kind)
{
	GPtrArray *names = cache_list(kind, "*");
	guint n = names->len;

	g_ptr_array_unref(names);
	return n;
}

static void test_packages(void **state)
{
	char *one = kernel_deb("p/linux image.deb", "linux-image-x", "./boot/vmlinuz-7.0.1-x",
			       fixture_bzimage("7.0.1-x (a@b) #1", 1));
	char *split = kernel_deb("p/binary.deb", "linux-binary-y", "./usr/lib/modules/7.0.2-y/vmlinuz",
				 fixture_bzimage("7.0.2-y (a@b) #1", 1));
	char *base = kernel_deb("p/base.deb", "linux-base-y", "./usr/lib/modules/7.0.2-y/config",
				config_bytes());
	char *commas = g_strconcat(split, ",", base, NULL), *words, *bad;
	struct kernel *k = resolve(one);
	guint n;

	(void)state;
	assert_string_equal(k->release, "7.0.1-x");
	assert_int_equal(k->packages->len, 1);
	assert_string_equal(k->packages->pdata[0], "linux-image-x=1-1");
	kernel_free(k);
	n = count_cached("kernels");
	k = resolve(commas);
	assert_string_equal(k->release, "7.0.2-y");
	assert_int_equal(kernel_config(k, "LRU_GEN"), 'y');
	assert_int_equal(k->packages->len, 2);
	kernel_free(k);
	/* The same in another order is the same kernel: unpacked once */
	words = g_strdup_printf("'%s'  '%s'", base, split);
	k = resolve(words);
	assert_string_equal(k->release, "7.0.2-y");
	kernel_free(k);
	assert_int_equal(count_cached("kernels"), n + 1);
	g_free(words);
	/* Not a kernel, two kernels, a kernel and something else; nothing is left in the cache */
	refused(base, MMG_EXIT_USAGE, "no kernel image");
	words = g_strconcat(one, ",", split, NULL);
	refused(words, MMG_EXIT_USAGE, "kernels");
	g_free(words);
	words = g_strconcat(one, ",/etc/passwd", NULL);
	refused(words, MMG_EXIT_USAGE, "packages of one kernel");
	g_free(words);
	words = g_strconcat(one, ",/nonexistent.deb", NULL);
	refused(words, MMG_EXIT_USAGE, "/nonexistent.deb");
	g_free(words);
	how.arch = "arm64";
	refused(one, MMG_EXIT_USAGE, "is a kernel for x86_64");
	how.arch = NULL;
	bad = kernel_deb("p/bad.deb", "linux-image-bad", "./boot/vmlinuz-1", text_bytes("no kernel"));
	refused(bad, MMG_EXIT_USAGE, "not a kernel");
	assert_int_equal(truncate(bad, 200), 0);
	refused(bad, MMG_EXIT_USAGE, "complete?");
	assert_int_equal(count_cached("kernels"), n + 1);
	words = mmg_cache_path("kernels", NULL);
	{
		GDir *d = g_dir_open(words, 0, NULL);
		const char *name;

		while ((name = g_dir_read_name(d)))
			assert_false(g_str_has_suffix(name, ".part"));
		g_dir_close(d);
	}
	g_free(words);
	g_free(bad);
	g_free(commas);
	g_free(one);
	g_free(split);
	g_free(base);
}

/* Two runs at once, and one that was killed in the middle before them */
static void test_two_at_once(void **state)
{
	char *deb = kernel_deb("race.deb", "linux-image-race", "./boot/vmlinuz-7.1.0",
			       fixture_bzimage("7.1.0 (a@b) #1", 1));
	char *sha = mmg_sha256_file(deb, NULL);
	char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, sha, -1);
	char *key = g_strdup_printf("files-%.32s.part", sum), *left;
	int i, status;

	(void)state;
	/* Another release's image: it must be gone, not found beside the right one */
	left = mmg_cache_path("kernels", key, "boot", "vmlinuz-old", NULL);
	{
		char *dir = g_path_get_dirname(left);

		g_mkdir_with_parents(dir, 0755);
		g_free(dir);
	}
	fixture_save(left, fixture_bzimage("9.9.9 (a@b) #1", 1));
	for (i = 0; i < 4; i++) {
		if (!fork()) {
			struct kernel *k = kernel_resolve(&how, deb, NULL);

			_exit(!k || strcmp(k->release, "7.1.0"));
		}
	}
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	g_free(left);
	g_free(key);
	g_free(sum);
	g_free(sha);
	g_free(deb);
}

static void test_debian_specs(void **state)
{
	static const char *const bad[] = { "debian:", "debian:x", "debian:6.12 ", "debian:6.1;x",
					   "debian:@unstable", "debian:6.12/.." };
	guint i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(bad); i++)
		refused(bad[i], MMG_EXIT_USAGE, "give a version");
	how.arch = "vax";
	refused("debian:6.12", MMG_EXIT_USAGE, "vax");
	how.arch = NULL;
	how.offline = true;
	refused("debian:6.12", MMG_EXIT_BROKEN, "--offline");
}

static void test_host(void **state)
{
	struct kernel *k = resolve("host");

	(void)state;
	assert_true(k->host);
	assert_string_equal(k->label, "host");
	assert_null(k->image);
	kernel_free(k);
	how.arch = "vax";
	refused("host", MMG_EXIT_USAGE, "the running kernel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bzimage, reset),
		cmocka_unit_test_setup(test_uki, reset),
		cmocka_unit_test_setup(test_debian_abi, reset),
		cmocka_unit_test_setup(test_labels_are_unique, reset),
		cmocka_unit_test_setup(test_arm64, reset),
		cmocka_unit_test_setup(test_vmlinux, reset),
		cmocka_unit_test_setup(test_vmlinux_in_a_bzimage, reset),
		cmocka_unit_test_setup(test_bad_files, reset),
		cmocka_unit_test_setup(test_fuzz, reset),
		cmocka_unit_test_setup(test_versions, reset),
		cmocka_unit_test_setup(test_config, reset),
		cmocka_unit_test_setup(test_built_in_config, reset),
		cmocka_unit_test_setup(test_beside, reset),
		cmocka_unit_test_setup(test_tree, reset),
		cmocka_unit_test_setup(test_packages, reset),
		cmocka_unit_test_setup(test_two_at_once, reset),
		cmocka_unit_test_setup(test_debian_specs, reset),
		cmocka_unit_test_setup(test_host, reset),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
