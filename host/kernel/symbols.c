// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which function of a kernel an address lies in, told from its image alone: the
 * names that CONFIG_KALLSYMS builds in, or a System.map beside it.
 *
 * The tables have no header.  Two of them can be told by their form, and the
 * others stand in a known order around them (scripts/kallsyms.c, write_src()):
 * up to 6.4 offsets, relative base, number, names, markers, sequence numbers,
 * tokens, index; since 6.5 number, names, markers, tokens, index, offsets.  What an
 * offset counts from differs too (kallsyms_sym_address()): the relative base
 * downwards, with absolute symbols as they are (per-CPU kernels up to 6.14); the
 * relative base upwards; or its own place (since 7.0).  The table is sorted by
 * address and holds aliases, which tells the three apart.
 *
 * The image is that of the kernel under test, hence untrusted: nothing in it is
 * used before it was compared with the size of what was read.
 */
#include "kernel/symbols.h"
#include "kernel/kernel.h"

#include <elf.h>
#include <string.h>

#define SYMBOLS_MAX	2000000U	/* a kernel with debug options has 300 000 */
#define SYMBOLS_MIN	64U
#define NAMES_MAX	(64U << 20)	/* bytes between the number of symbols and the tokens */
#define INDEX_TRIES	8		/* that look like an index and have no names before them */
#define NAME_MAX_BYTES	200		/* of a name that is kept */
#define SEGMENTS_MAX	64
#define TEXT_MAX	(256ULL << 20)
#define PLACE_STEP	0x10000		/* a kernel is placed in steps of 64 KiB at least (EFI_KIMG_ALIGN) */
#define MATCH_PERCENT	70		/* of code bytes: what is patched at boot differs */

struct symbol {
	uint64_t addr;
	uint32_t name;			/* place in names */
	char type;
};

struct segment {
	uint64_t va, at, len;
};

struct symbols {
	GByteArray *image;
	GArray *list;			/* struct symbol, by address */
	GString *names;			/* each ends with a NUL */
	struct segment segments[SEGMENTS_MAX];
	guint nr_segments;
	uint64_t text, end;		/* link addresses of the image's code */
	uint64_t moved;			/* from link address to where it runs */
	bool placed, x86;
};

static uint16_t le16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t le64(const uint8_t *p)
{
	return le32(p) | (uint64_t)le32(p + 4) << 32;
}

static gsize up8(gsize n)
{
	return (n + 7) & ~(gsize)7;
}

/* ---- the tables ---- */

/**
 * struct tables - where in an image they stand
 * @tokens:	token table: 256 strings
 * @index:	256 times 16 bits: where each string begins
 * @number:	how many symbols, 32 bits
 * @names:	compressed names
 */
struct tables {
	const uint8_t *p;
	gsize len, tokens, index, number, names;
	uint32_t n;
};

/* Does an index stand at @at, with its strings just before it? */
static bool index_at(struct tables *t, gsize at)
{
	const uint8_t *p = t->p + at;
	gsize size;

	if (le16(p) || !le16(p + 2) || le16(p + 2) > 64)
		return false;
	for (int i = 1; i < 256; i++)
		if (le16(p + 2 * i) <= le16(p + 2 * i - 2))
			return false;
	/* the last string begins at index[255], and a few bytes may pad it */
	for (size = le16(p + 510) + 2U; size < le16(p + 510) + 80U && size <= at; size++) {
		const uint8_t *s = t->p + at - size;
		bool ok = !((at - size) & 3);

		for (int i = 1; ok && i < 256; i++)
			ok = !s[le16(p + 2 * i) - 1] && s[le16(p + 2 * i)];
		if (ok && g_ascii_isprint(s[0])) {
			t->tokens = at - size;
			t->index = at;
			return true;
		}
	}
	return false;
}

/* One name's length; the bytes that it takes before the name, 0 where it leads out */
static guint name_len(const struct tables *t, gsize at, guint *len)
{
	if (at + 2 > t->tokens)
		return 0;
	*len = t->p[at];
	if (!(*len & 0x80))
		return *len ? 1 : 0;
	*len = (*len & 0x7f) | t->p[at + 1] << 7;
	return 2;
}

/* Do @t->n names stand at @t->names, with markers behind them that say so? */
static bool names_fit(const struct tables *t)
{
	gsize at = t->names, markers;
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		guint len = 0, head = name_len(t, at, &len);

		if (!head || len > 0x3fff || at + head + len > t->tokens)
			return false;
		at += head + len;
	}
	markers = (at + 3) & ~(gsize)3;
	for (int tries = 0; tries < 2; tries++, markers = up8(markers + 1)) {
		bool ok = markers + (t->n + 255) / 256 * 4 <= t->tokens;

		at = t->names;
		for (i = 0; ok && i < t->n; i++) {
			guint len = 0, head = name_len(t, at, &len);

			if (!(i & 255))
				ok = le32(t->p + markers + i / 256 * 4) == at - t->names;
			at += head + len;
		}
		if (ok)
			return true;
	}
	return false;
}

static bool find_names(struct tables *t)
{
	gsize low = t->tokens > NAMES_MAX ? t->tokens - NAMES_MAX : 0;

	for (gsize at = (t->tokens - 8) & ~(gsize)3; at > low; at -= 4) {
		t->n = le32(t->p + at);
		if (t->n < SYMBOLS_MIN || t->n > SYMBOLS_MAX || t->n * UINT64_C(2) > t->tokens - at)
			continue;
		t->number = at;
		/* every table begins at a multiple of 8 bytes, since 7.0 of 4 */
		t->names = at + 4;
		if (names_fit(t))
			return true;
		t->names = at + 8;
		if (!le32(t->p + at + 4) && names_fit(t))
			return true;
	}
	return false;
}

static bool find_tables(struct tables *t)
{
	int tries = 0;

	for (gsize at = 1024; at + 512 <= t->len && tries < INDEX_TRIES; at += 4) {
		if (!index_at(t, at))
			continue;
		tries++;
		if (find_names(t))
			return true;
	}
	return false;
}

enum counting { DOWN_FROM_BASE, UP_FROM_BASE, FROM_ITSELF, COUNTINGS };

static uint64_t address(const uint8_t *offsets, uint64_t va, uint64_t base, enum counting how, uint32_t i)
{
	int32_t v = le32(offsets + 4 * (gsize)i);

	switch (how) {
	case DOWN_FROM_BASE:
		return v >= 0 ? (uint64_t)v : base - 1 - (int64_t)v;
	case UP_FROM_BASE:
		return base + (uint32_t)v;
	default:
		return va + 4 * (uint64_t)i + (int64_t)v;
	}
}

/* Link address of a place in the image; places in none count from its start */
static uint64_t va_of(const struct symbols *s, gsize at)
{
	for (guint i = 0; i < s->nr_segments; i++)
		if (at >= s->segments[i].at && at - s->segments[i].at < s->segments[i].len)
			return s->segments[i].va + (at - s->segments[i].at);
	return at;
}

/*
 * Sorted, and not all the same: these are addresses.  More than one way of counting can give that;
 * the right one also gives aliases one address (_text and _stext, the names of a syscall).
 */
static bool take_addresses(struct symbols *s, const struct tables *t, gsize offsets, uint64_t base)
{
	const uint8_t *p = t->p + offsets;
	uint64_t va = va_of(s, offsets), most = 1;
	enum counting best = COUNTINGS;

	if (offsets > t->len || t->n * UINT64_C(4) > t->len - offsets)
		return false;
	for (enum counting how = 0; how < COUNTINGS; how++) {
		uint64_t last = 0, aliases = 1;
		bool sorted = true;

		for (uint32_t i = 0; i < t->n && sorted; i++) {
			uint64_t a = address(p, va, base, how, i);

			sorted = a >= last;
			aliases += i && a == last;
			last = a;
		}
		if (sorted && aliases > most && aliases < t->n - t->n / 4) {
			most = aliases;
			best = how;
		}
	}
	if (best == COUNTINGS)
		return false;
	g_array_set_size(s->list, t->n);
	for (uint32_t i = 0; i < t->n; i++)
		g_array_index(s->list, struct symbol, i).addr = address(p, va, base, best, i);
	return true;
}

static void take_names(struct symbols *s, const struct tables *t)
{
	gsize at = t->names;

	for (uint32_t i = 0; i < t->n; i++) {
		struct symbol *sym = &g_array_index(s->list, struct symbol, i);
		guint len = 0, head = name_len(t, at, &len);
		gsize begin = s->names->len;

		sym->name = begin;
		for (guint k = 0; k < len && s->names->len - begin <= NAME_MAX_BYTES; k++) {
			const char *token = (const char *)t->p + t->tokens +
					    le16(t->p + t->index + 2 * t->p[at + head + k]);

			g_string_append_len(s->names, token, strnlen(token, 64));
		}
		/* the first character is the type */
		sym->type = s->names->str[begin];
		g_string_erase(s->names, begin, s->names->len > begin ? 1 : 0);
		g_string_append_c(s->names, '\0');
		at += head + len;
	}
}

static bool read_kallsyms(struct symbols *s)
{
	struct tables t = { .p = s->image->data, .len = s->image->len };
	gsize bytes, after, base;

	if (t.len < 4096 || !find_tables(&t))
		return false;
	bytes = up8(t.n * (gsize)4);
	/* after the index and before the base, or before the base and the number */
	after = t.names == t.number + 4 ? t.index + 512 : up8(t.index + 512);
	base = after + bytes;
	if (!take_addresses(s, &t, after, base + 8 <= t.len ? le64(t.p + base) : 0) &&
	    !(t.number >= bytes + 8 && take_addresses(s, &t, t.number - 8 - bytes, le64(t.p + t.number - 8))))
		return false;
	take_names(s, &t);
	return true;
}

/* ---- System.map ---- */

static gint by_address(gconstpointer a, gconstpointer b)
{
	const struct symbol *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Lines "ADDRESS TYPE NAME"; Debian's packages hold one of a single line, which names another package */
static bool read_map(struct symbols *s, const char *path)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize len;

	if (!g_file_get_contents(path, &text, &len, NULL) || len > (256 << 20))
		return false;
	lines = g_strsplit(text, "\n", SYMBOLS_MAX);
	for (guint i = 0; lines[i]; i++) {
		struct symbol sym = { 0 };
		char *end;

		sym.addr = g_ascii_strtoull(lines[i], &end, 16);
		if (end == lines[i] || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
			continue;
		sym.type = end[1];
		sym.name = s->names->len;
		g_string_append_len(s->names, end + 3, strnlen(end + 3, NAME_MAX_BYTES));
		g_string_append_c(s->names, '\0');
		g_array_append_val(s->list, sym);
	}
	if (s->list->len < SYMBOLS_MIN) {
		g_array_set_size(s->list, 0);
		return false;
	}
	g_array_sort(s->list, by_address);
	return true;
}

/* ---- the image ---- */

static void read_segments(struct symbols *s)
{
	const uint8_t *p = s->image->data;
	gsize len = s->image->len;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (len < sizeof(eh) || memcmp(p, ELFMAG, SELFMAG) || p[EI_CLASS] != ELFCLASS64 ||
	    p[EI_DATA] != ELFDATA2LSB)
		return;
	memcpy(&eh, p, sizeof(eh));
	s->x86 = eh.e_machine == EM_X86_64;
	for (guint i = 0; i < eh.e_phnum && s->nr_segments < SEGMENTS_MAX; i++) {
		uint64_t at = eh.e_phoff + i * sizeof(ph);

		if (at > len || len - at < sizeof(ph))
			return;
		memcpy(&ph, p + at, sizeof(ph));
		if (ph.p_type == PT_LOAD && ph.p_offset < len)
			s->segments[s->nr_segments++] = (struct segment){
				.va = ph.p_vaddr, .at = ph.p_offset, .len = MIN(ph.p_filesz, len - ph.p_offset)
			};
	}
}

static const char *name_of(const struct symbols *s, guint i)
{
	return s->names->str + g_array_index(s->list, struct symbol, i).name;
}

static bool find_symbol(const struct symbols *s, const char *name, uint64_t *addr)
{
	for (guint i = 0; i < s->list->len; i++)
		if (!strcmp(name_of(s, i), name)) {
			*addr = g_array_index(s->list, struct symbol, i).addr;
			return true;
		}
	return false;
}

/* Code at a link address, or NULL where fewer than @n bytes of it are in the image */
static const uint8_t *code_at(const struct symbols *s, uint64_t va, gsize n)
{
	/* a flat image begins with _text */
	if (!s->nr_segments)
		return va >= s->text && va - s->text < s->image->len && s->image->len - (va - s->text) >= n ?
		       s->image->data + (va - s->text) : NULL;
	for (guint i = 0; i < s->nr_segments; i++) {
		const struct segment *g = &s->segments[i];

		if (va >= g->va && va - g->va < g->len && g->len - (va - g->va) >= n)
			return s->image->data + g->at + (va - g->va);
	}
	return NULL;
}

/*
 * Where the base is only known to the relocations (x86 from 6.15 on), the names count from 0: what is
 * _text there is where the first segment is in the file.
 */
static void count_from_segments(struct symbols *s)
{
	uint64_t by;

	if (!s->nr_segments || code_at(s, s->text, 1))
		return;
	by = s->segments[0].va - s->text;
	for (guint i = 0; i < s->list->len; i++)
		g_array_index(s->list, struct symbol, i).addr += by;
	s->text += by;
	s->end += by;
}

struct symbols *symbols_parse(GByteArray *image, const char *const *maps)
{
	struct symbols *s = g_new0(struct symbols, 1);
	bool ok;

	s->image = image;
	s->list = g_array_new(FALSE, TRUE, sizeof(struct symbol));
	s->names = g_string_new(NULL);
	read_segments(s);
	ok = read_kallsyms(s);
	for (guint i = 0; !ok && maps && maps[i]; i++)
		ok = read_map(s, maps[i]);
	if (ok && (find_symbol(s, "_text", &s->text) || find_symbol(s, "_stext", &s->text))) {
		s->text &= ~(uint64_t)0xfff;
		if (!find_symbol(s, "_etext", &s->end) || s->end <= s->text)
			s->end = s->text + TEXT_MAX;
		s->end = MIN(s->end, s->text + TEXT_MAX);
		count_from_segments(s);
		return s;
	}
	symbols_free(s);
	return NULL;
}

struct symbols *symbols_load(const struct kernel *k, GError **err)
{
	g_autofree char *dir = g_path_get_dirname(k->image), *map = g_strdup_printf("System.map-%s", k->release);
	/* in a package's boot/, and at the top of a build tree from arch/ARCH/boot or from itself */
	g_autofree char *beside = g_build_filename(dir, map, NULL);
	g_autofree char *above = g_build_filename(dir, "..", "..", "..", "System.map", NULL);
	g_autofree char *here = g_build_filename(dir, "System.map", NULL);
	const char *const maps[] = { beside, above, here, NULL };
	GByteArray *image = image_kernel(k->image, err);
	struct symbols *s;

	if (!image)
		return NULL;
	s = symbols_parse(image, maps);
	if (!s)
		mmg_set_error(err, MMG_EXIT_BROKEN, "%s names no functions (built without CONFIG_KALLSYMS?), "
			      "and there is no System.map beside it", k->image);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	g_byte_array_unref(s->image);
	g_array_unref(s->list);
	g_string_free(s->names, TRUE);
	g_free(s);
}

/* ---- where it runs ---- */

static guint same_bytes(const uint8_t *a, const uint8_t *b, guint n)
{
	guint same = 0;

	for (guint i = 0; i < n; i++)
		same += a[i] == b[i];
	return same;
}

/* How far the kernel must have been moved for @probe to be where it is; false where that is not clear */
static bool place_by(const struct symbols *s, const struct code_probe *probe, uint64_t *moved)
{
	uint64_t first = s->text + ((probe->addr - s->text) & (PLACE_STEP - 1));
	guint best = 0, second = 0;

	for (uint64_t va = first; va < s->end; va += PLACE_STEP) {
		const uint8_t *code = code_at(s, va, probe->n);
		guint same = code ? same_bytes(code, probe->bytes, probe->n) : 0;

		if (same > best) {
			second = best;
			best = same;
			*moved = probe->addr - va;
		} else if (same > second) {
			second = same;
		}
	}
	return probe->n >= 16 && best * 100 >= probe->n * MATCH_PERCENT && best > second;
}

bool symbols_place(struct symbols *s, const struct code_probe *probes, guint n)
{
	guint best = 0;

	s->placed = false;
	for (guint i = 0; i < n; i++) {
		uint64_t moved, other;
		guint votes = 0;

		if (!place_by(s, &probes[i], &moved))
			continue;
		for (guint j = 0; j < n; j++)
			votes += place_by(s, &probes[j], &other) && other == moved;
		if (votes > best) {
			best = votes;
			s->moved = moved;
			s->placed = true;
		}
	}
	return s->placed;
}

uint64_t symbols_moved(const struct symbols *s)
{
	return s->moved;
}

const char *symbols_name(const struct symbols *s, uint64_t addr, uint64_t *offset)
{
	uint64_t va = addr - s->moved;
	guint low = 0, high = s->list->len;
	const struct symbol *sym;

	if (!s->placed || va < s->text || va >= s->end)
		return NULL;
	while (high - low > 1) {
		guint mid = low + (high - low) / 2;

		if (g_array_index(s->list, struct symbol, mid).addr <= va)
			low = mid;
		else
			high = mid;
	}
	/* of several names for one address, the first that is code */
	while (low && g_array_index(s->list, struct symbol, low - 1).addr ==
		      g_array_index(s->list, struct symbol, low).addr)
		low--;
	while (low + 1 < s->list->len && !strchr("tTwW", g_array_index(s->list, struct symbol, low).type) &&
	       g_array_index(s->list, struct symbol, low + 1).addr <= va)
		low++;
	sym = &g_array_index(s->list, struct symbol, low);
	if (sym->addr > va)
		return NULL;
	*offset = va - sym->addr;
	return s->names->str + sym->name;
}

bool symbols_is_return(const struct symbols *s, uint64_t addr)
{
	const uint8_t *p = s->placed && addr - s->moved > s->text && addr - s->moved < s->end ?
			   code_at(s, addr - s->moved - 8, 8) : NULL;

	if (!p)
		return false;
	if (!s->x86)
		return !(addr & 3);
	/* call rel32; call *reg; call *disp8(reg); call *disp32(reg) or *(rip) */
	return p[3] == 0xe8 || (p[6] == 0xff && (p[7] & 0x38) == 0x10) ||
	       (p[5] == 0xff && (p[6] & 0xf8) == 0x50) || (p[2] == 0xff && (p[3] & 0x38) == 0x10);
}
