// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parser of /proc/zoneinfo, and the arithmetic of reserves and watermarks.
 * Pure code but for the two *_read() functions: it also builds on the host,
 * where it is tested over recorded files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoneinfo.h"

/* What the lines that follow belong to */
enum section {
	SEC_NONE,		/* before the first zone */
	SEC_ZONE,		/* "pages free" and the fixed fields, then counters */
	SEC_NODE_STATS,		/* counters of the whole node */
	SEC_PAGESETS,		/* per-CPU lists, then the trailer */
};

struct parser {
	struct zoneinfo *zi;
	struct zi_zone *zone;
	struct zi_node *nstat;
	enum section section;
	bool seen_free, seen_protection;
	int line;
	char *err;
	size_t errlen;
};

static int bad(struct parser *p, const char *line, size_t len, const char *why)
{
	if (p->err)
		snprintf(p->err, p->errlen, "zoneinfo line %d: %s: \"%.*s\"", p->line, why,
			 (int)(len > 60 ? 60 : len), line);
	return -EINVAL;
}

/* "name: 12" or "name 12", blanks around: the name without colon, the number */
static bool name_value(const char *line, size_t len, char *name, size_t max, unsigned long *value)
{
	const char *end = line + len, *p = line, *last;
	char num[24];
	char *stop;
	size_t n;

	while (p < end && *p == ' ')
		p++;
	last = end;
	while (last > p && last[-1] != ' ')
		last--;
	n = end - last;
	if (last == p || !n || n >= sizeof(num))
		return false;
	memcpy(num, last, n);
	num[n] = 0;
	if (num[0] < '0' || num[0] > '9')
		return false;
	errno = 0;
	*value = strtoul(num, &stop, 10);
	if (*stop || errno)
		return false;
	while (last > p && last[-1] == ' ')
		last--;
	if (last > p && last[-1] == ':')
		last--;
	n = last - p;
	if (!n || n >= max)
		return false;
	memcpy(name, p, n);
	name[n] = 0;
	return true;
}

static int start_zone(struct parser *p, const char *line, size_t len)
{
	struct zoneinfo *zi = p->zi;
	struct zi_zone *z, *prev = p->zone;
	char copy[80], name[16], extra;
	int node;

	if (prev && !p->seen_protection)
		return bad(p, line, len, "the zone before it has no protection row");
	if (len >= sizeof(copy))
		return bad(p, line, len, "too long for a zone's first line");
	memcpy(copy, line, len);
	copy[len] = 0;
	if (sscanf(copy, "Node %d, zone %15s %c", &node, name, &extra) != 2 || node < 0)
		return bad(p, line, len, "not \"Node N, zone NAME\"");

	z = reallocarray(zi->zones, zi->nr_zones + 1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	zi->zones = z;
	z += zi->nr_zones;
	memset(z, 0, sizeof(*z));
	z->node = node;
	memcpy(z->name, name, sizeof(z->name));
	if (zi->nr_zones && z[-1].node == node)
		z->index = z[-1].index + 1;
	if (z->index >= ZI_MAX_ZONES)
		return bad(p, line, len, "more zones in a node than any kernel has");
	zi->nr_zones++;
	p->zone = z;
	p->section = SEC_ZONE;
	p->seen_free = false;
	p->seen_protection = false;
	return 0;
}

static int parse_protection(struct parser *p, const char *line, size_t len, const char *at)
{
	const char *end = line + len;
	struct zi_zone *z = p->zone;

	at += strlen("protection:");
	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != '(')
		return bad(p, line, len, "protection without a list");
	for (;;) {
		char *stop;

		if (z->nr_protection == ZI_MAX_ZONES)
			return bad(p, line, len, "more protection columns than zones");
		while (at < end && *at == ' ')
			at++;
		if (at == end || *at < '0' || *at > '9')
			return bad(p, line, len, "protection is not a number");
		z->protection[z->nr_protection++] = strtoul(at, &stop, 10);
		at = stop;
		if (at + 1 == end && *at == ')')
			break;
		if (at >= end || *at++ != ',')
			return bad(p, line, len, "protection list is cut short");
	}
	p->seen_protection = true;
	return 0;
}

static int start_node_stats(struct parser *p)
{
	struct zoneinfo *zi = p->zi;
	struct zi_node *n = reallocarray(zi->nodes, zi->nr_nodes + 1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	zi->nodes = n;
	n += zi->nr_nodes++;
	memset(n, 0, sizeof(*n));
	n->node = p->zone->node;
	p->nstat = n;
	p->section = SEC_NODE_STATS;
	return 0;
}

static int add_stat(struct parser *p, const char *line, size_t len, struct zi_stat *stats, int *nr,
		    const char *name, unsigned long value)
{
	struct zi_stat *s;

	if (*nr == ZI_MAX_STATS)
		return bad(p, line, len, "more counters than this parser holds");
	s = &stats[(*nr)++];
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->value = value;
	return 0;
}

/* The fixed fields of a zone, in the order of the kernel's zoneinfo_show_print() */
static unsigned long *zone_field_of(struct zi_zone *z, const char *name)
{
	struct {
		const char *name;
		unsigned long *at;
	} fields[] = {
		{ "pages free", &z->free },
		{ "boost", &z->boost },
		{ "min", &z->min },
		{ "low", &z->low },
		{ "high", &z->high },
		{ "promo", &z->promo },
		{ "spanned", &z->spanned },
		{ "present", &z->present },
		{ "managed", &z->managed },
		{ "cma", &z->cma },
		{ NULL, NULL },
	};
	int i;

	for (i = 0; fields[i].name; i++)
		if (!strcmp(fields[i].name, name))
			break;
	return fields[i].at;
}

/* pages and free have any number of blanks between them: make it one */
static void squeeze(char *name)
{
	char *to = name, *from = name;

	for (; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = 0;
}

static int parse_pageset(struct parser *p, const char *name, unsigned long value)
{
	struct zi_zone *z = p->zone;

	if (!strcmp(name, "cpu"))
		z->nr_cpus++;
	else if (!strcmp(name, "count"))
		z->pcp_count += value;
	else if (!strcmp(name, "high"))
		z->pcp_high += value;
	else if (!strcmp(name, "batch") && value > z->pcp_batch)
		z->pcp_batch = value;
	else if (!strcmp(name, "vm stats threshold") && value > z->threshold)
		z->threshold = value;
	else if (!strcmp(name, "node_unreclaimable"))
		z->unreclaimable = value;
	else if (!strcmp(name, "start_pfn"))
		z->start_pfn = value;
	return 0;
}

static int parse_line(struct parser *p, const char *line, size_t len)
{
	char name[ZI_NAME_LEN];
	unsigned long value, *field;
	const char *at;

	p->line++;
	while (len && line[len - 1] == ' ')
		len--;
	if (!len)
		return 0;
	if (len > 5 && !memcmp(line, "Node ", 5))
		return start_zone(p, line, len);
	if (!p->zone)
		return bad(p, line, len, "comes before any zone");
	at = memmem(line, len, "protection:", strlen("protection:"));
	if (at && p->section == SEC_ZONE && !p->seen_protection)
		return parse_protection(p, line, len, at);
	if (memmem(line, len, "per-node stats", strlen("per-node stats")))
		return start_node_stats(p);
	if (memmem(line, len, "pagesets", strlen("pagesets"))) {
		p->section = SEC_PAGESETS;
		return 0;
	}
	if (!name_value(line, len, name, sizeof(name), &value))
		return bad(p, line, len, "not a name and a number");
	squeeze(name);
	if (!strcmp(name, "pages free")) {
		p->section = SEC_ZONE;
		p->seen_free = true;
	}
	switch (p->section) {
	case SEC_NODE_STATS:
		return add_stat(p, line, len, p->nstat->stats, &p->nstat->nr_stats, name, value);
	case SEC_PAGESETS:
		return parse_pageset(p, name, value);
	default:
		break;
	}
	if (!p->seen_free)
		return bad(p, line, len, "comes before the zone's \"pages free\"");
	field = zone_field_of(p->zone, name);
	if (field) {
		*field = value;
		return 0;
	}
	if (p->seen_protection)
		p->zone->populated = true;
	return add_stat(p, line, len, p->zone->stats, &p->zone->nr_stats, name, value);
}

/* Every node prints the same zones, and a column for each of them */
static int check_shape(struct parser *p)
{
	struct zoneinfo *zi = p->zi;
	size_t i;
	int count = 0, per_node = 0;

	if (!zi->nr_zones)
		return bad(p, "", 0, "no zone at all");
	if (!p->seen_protection)
		return bad(p, "", 0, "the last zone has no protection row");
	for (i = 0; i < zi->nr_zones; i++) {
		count++;
		if (i + 1 < zi->nr_zones && zi->zones[i + 1].node == zi->zones[i].node)
			continue;
		if (per_node && count != per_node)
			return bad(p, "", 0, "nodes differ in their number of zones");
		per_node = count;
		count = 0;
	}
	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].nr_protection != per_node)
			return bad(p, "", 0, "a protection row has not one column a zone");
	zi->zones_per_node = per_node;
	return 0;
}

/**
 * zoneinfo_parse() - read the text of a /proc/zoneinfo
 * @text:	the whole file
 * @zi:		filled; to be given to zoneinfo_free(), also after an error
 * @err:	where to say what is wrong and in which line, or NULL
 * @errlen:	its size in bytes
 *
 * Understands the format of 6.1 to 7.2 (mm/vmstat.c, zoneinfo_show_print());
 * counters it does not know are kept by name.
 *
 * Return: 0, -EINVAL for text that is no zoneinfo, -ENOMEM.
 */
int zoneinfo_parse(const char *text, struct zoneinfo *zi, char *err, size_t errlen)
{
	struct parser p = { .zi = zi, .err = err, .errlen = errlen };
	int ret;

	memset(zi, 0, sizeof(*zi));
	if (err && errlen)
		err[0] = 0;
	while (*text) {
		size_t len = strcspn(text, "\n");

		ret = parse_line(&p, text, len);
		if (ret)
			return ret;
		text += len;
		if (*text)
			text++;
	}
	return check_shape(&p);
}

/* All of an open file of /proc, or NULL with errno set */
static char *slurp(int fd)
{
	size_t size = 0, room = 65536;
	char *buf = NULL;
	ssize_t got = 1;

	while (got > 0) {
		char *bigger = realloc(buf, room + 1);

		if (!bigger) {
			got = -1;
			break;
		}
		buf = bigger;
		got = pread(fd, buf + size, room - size, size);
		if (got > 0)
			size += got;
		if (size == room)
			room *= 2;
	}
	if (got < 0) {
		free(buf);
		return NULL;
	}
	buf[size] = 0;
	return buf;
}

/**
 * zoneinfo_read() - read the running kernel's /proc/zoneinfo
 * @zi:		filled; to be given to zoneinfo_free()
 * @err:	where to say what went wrong, or NULL
 * @errlen:	its size in bytes
 *
 * Does not read lowmem_reserve_ratio, so it shows protections as they are.  The file
 * stays open, since it is read where memory is short: each open() takes slabs, which
 * KASAN's quarantine does not give back (55 MiB of a debug kernel, and the OOM killer).
 *
 * Return: 0 or a negative errno.
 */
int zoneinfo_read(struct zoneinfo *zi, char *err, size_t errlen)
{
	static int fd = -1;
	char *text = NULL;
	int ret;

	memset(zi, 0, sizeof(*zi));
	if (fd < 0)
		fd = open("/proc/zoneinfo", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		text = slurp(fd);
	if (!text) {
		ret = -errno;
		if (err)
			snprintf(err, errlen, "reading /proc/zoneinfo: %s", strerror(-ret));
		return ret;
	}
	ret = zoneinfo_parse(text, zi, err, errlen);
	free(text);
	return ret;
}

/**
 * zoneinfo_free() - give back what zoneinfo_parse() or zoneinfo_read() took
 * @zi:	table; empty afterwards
 */
void zoneinfo_free(struct zoneinfo *zi)
{
	free(zi->zones);
	free(zi->nodes);
	memset(zi, 0, sizeof(*zi));
}

/**
 * zoneinfo_zone() - the zone at a position of a node
 * @zi:		table
 * @node:	node id
 * @index:	position, 0 the lowest zone
 *
 * Return: the zone, NULL where there is none.
 */
const struct zi_zone *zoneinfo_zone(const struct zoneinfo *zi, int node, int index)
{
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].node == node && zi->zones[i].index == index)
			return &zi->zones[i];
	return NULL;
}

/**
 * zoneinfo_zone_named() - a node's zone by name
 * @zi:		table
 * @node:	node id
 * @name:	"DMA", "DMA32", "Normal", "Movable", ...
 *
 * Return: the zone, NULL where there is none.
 */
const struct zi_zone *zoneinfo_zone_named(const struct zoneinfo *zi, int node, const char *name)
{
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (zi->zones[i].node == node && !strcmp(zi->zones[i].name, name))
			return &zi->zones[i];
	return NULL;
}

static bool find_stat(const struct zi_stat *s, int nr, const char *name, unsigned long *value)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (strcmp(s[i].name, name))
			continue;
		*value = s[i].value;
		return true;
	}
	return false;
}

/**
 * zi_zone_stat() - a counter of a zone
 * @z:		zone
 * @name:	as the kernel prints it, "nr_free_pages"
 * @value:	the counter, left alone where the zone has none of that name
 *
 * Return: whether the zone has it.
 */
bool zi_zone_stat(const struct zi_zone *z, const char *name, unsigned long *value)
{
	return find_stat(z->stats, z->nr_stats, name, value);
}

/**
 * zi_node_stat() - a counter of a node
 * @zi:		table
 * @node:	node id
 * @name:	as the kernel prints it, "nr_anon_pages"
 * @value:	the counter, left alone where the node has none of that name
 *
 * Return: whether the node has it.
 */
bool zi_node_stat(const struct zoneinfo *zi, int node, const char *name, unsigned long *value)
{
	size_t i;

	for (i = 0; i < zi->nr_nodes; i++)
		if (zi->nodes[i].node == node)
			return find_stat(zi->nodes[i].stats, zi->nodes[i].nr_stats, name, value);
	return false;
}

/**
 * zi_zone_slack() - how far a counter of a zone may be from the truth
 * @z:	zone
 *
 * Each CPU holds back up to the published threshold before it folds its part
 * into the zone (mm/vmstat.c, __mod_zone_page_state()).
 *
 * Return: pages.
 */
unsigned long zi_zone_slack(const struct zi_zone *z)
{
	return z->threshold * z->nr_cpus;
}

/**
 * zi_ratio_parse() - the numbers of lowmem_reserve_ratio
 * @text:	content of the file
 * @ratio:	filled, one a zone
 * @max:	room in @ratio
 *
 * Return: how many, -EINVAL for anything but numbers and blanks.
 */
int zi_ratio_parse(const char *text, long *ratio, int max)
{
	int n = 0;

	for (;;) {
		char *stop;

		while (*text == ' ' || *text == '\t' || *text == '\n')
			text++;
		if (!*text)
			return n;
		if (n == max)
			return -EINVAL;
		ratio[n] = strtol(text, &stop, 10);
		if (stop == text)
			return -EINVAL;
		n++;
		text = stop;
	}
}

/**
 * zi_ratio_read() - read the ratios
 * @ratio:	filled, one a zone (the last ones have none: 0)
 * @max:	room in @ratio
 *
 * Up to 7.2 the kernel recomputes every row for it, later it does not
 * (rules.def, ratio_read_passive).
 *
 * Return: how many the kernel has, or a negative errno.
 */
int zi_ratio_read(long *ratio, int max)
{
	int fd = open(ZI_RATIO_PATH, O_RDONLY | O_CLOEXEC), n;
	char *text = NULL;

	if (fd >= 0)
		text = slurp(fd);
	n = text ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	if (!text)
		return n;
	memset(ratio, 0, sizeof(*ratio) * max);
	n = zi_ratio_parse(text, ratio, max);
	free(text);
	return n;
}

/**
 * zi_protection() - what zone @i keeps from an allocation aimed at zone @j
 * @zi:		table
 * @node:	node id
 * @i:		the zone that would be taken from
 * @j:		the highest zone that the allocation may use
 * @ratio:	lowmem_reserve_ratio of zone @i
 *
 * The managed pages of all zones above @i, up to and with @j, divided by the
 * ratio; nothing where the ratio is 0 or zone @i is empty
 * (mm/page_alloc.c, setup_per_zone_lowmem_reserve()).  Whether zone @j itself
 * has pages does not matter: the sum only stops growing there.
 *
 * Return: pages.
 */
unsigned long zi_protection(const struct zoneinfo *zi, int node, int i, int j, long ratio)
{
	const struct zi_zone *z = zoneinfo_zone(zi, node, i);
	unsigned long above = 0;
	int k;

	if (j <= i || ratio <= 0 || !z || !z->managed)
		return 0;
	for (k = i + 1; k <= j; k++) {
		const struct zi_zone *up = zoneinfo_zone(zi, node, k);

		if (up)
			above += up->managed;
	}
	return above / ratio;
}

static bool capped(const struct zi_zone *z, enum zi_movable_rule rule)
{
	if (!strcmp(z->name, "HighMem"))
		return true;
	return rule == ZI_MOVABLE_CAPPED && !strcmp(z->name, "Movable");
}

static unsigned long movable_cap(unsigned long managed)
{
	unsigned long min = managed / 1024;

	return min < 32 ? 32 : min > 128 ? 128 : min;
}

/**
 * zi_movable_rule() - which of the two formulas the kernel uses
 * @zi:	table
 *
 * By what its first ZONE_MOVABLE shows: an empty one has 32 pages by the later
 * rule, none by the older one.
 *
 * Return: the rule.
 */
enum zi_movable_rule zi_movable_rule(const struct zoneinfo *zi)
{
	size_t i;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];

		if (strcmp(z->name, "Movable"))
			continue;
		return z->min - z->boost == movable_cap(z->managed) ? ZI_MOVABLE_CAPPED :
		       ZI_MOVABLE_LOWMEM;
	}
	return ZI_MOVABLE_CAPPED;
}

/**
 * zi_watermarks() - the watermarks that a zone is to have
 * @zi:		table, for the managed pages of all zones
 * @z:		the zone
 * @rule:	how ZONE_MOVABLE is treated
 * @min_free_kbytes: the sysctl
 * @scale_factor: watermark_scale_factor, in units of 1/10000
 * @page_kb:	base page size in KiB
 * @out:	filled, in pages, without boost
 *
 * mm/page_alloc.c, __setup_per_zone_wmarks().
 */
void zi_watermarks(const struct zoneinfo *zi, const struct zi_zone *z, enum zi_movable_rule rule,
		   unsigned long min_free_kbytes, unsigned long scale_factor,
		   unsigned long page_kb, struct zi_wmarks *out)
{
	unsigned long lowmem = 0, share, gap;
	size_t i;

	for (i = 0; i < zi->nr_zones; i++)
		if (!capped(&zi->zones[i], rule))
			lowmem += zi->zones[i].managed;
	share = lowmem ? (unsigned long)((unsigned long long)(min_free_kbytes / page_kb) *
					 z->managed / lowmem) : 0;
	out->min = capped(z, rule) ? movable_cap(z->managed) : share;
	gap = z->managed / 10000 * scale_factor + z->managed % 10000 * scale_factor / 10000;
	if (gap < share / 4)
		gap = share / 4;
	out->low = out->min + gap;
	out->high = out->low + gap;
	out->promo = out->high + gap;
}

/**
 * zi_totalreserve() - pages that the kernel counts as never available to users
 * @zi:	table
 *
 * Of each zone its largest protection plus its high watermark, but no more than
 * it manages (mm/page_alloc.c, calculate_totalreserve_pages()).
 *
 * Return: pages.
 */
unsigned long zi_totalreserve(const struct zoneinfo *zi)
{
	unsigned long sum = 0;
	size_t i;
	int j;

	for (i = 0; i < zi->nr_zones; i++) {
		const struct zi_zone *z = &zi->zones[i];
		unsigned long most = 0;

		for (j = z->index; j < z->nr_protection; j++)
			if (z->protection[j] > most)
				most = z->protection[j];
		most += z->high;
		sum += most < z->managed ? most : z->managed;
	}
	return sum;
}
