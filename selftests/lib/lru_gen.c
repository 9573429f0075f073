// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading the two forms (numbers are right-aligned, each may carry a letter):
 *
 *	memcg     5 /path
 *	 node     0
 *	          1       1234          0           0		seq, age, anon, file
 *	                     0          0r          0e          0p  (same for file)
 *	                                0T          0Y          0F          0A
 *
 * The second and third kind are in lru_gen_full only.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lru_gen.h"

#define MAX_WORDS	8

struct word {
	u64 n;
	char mark;	/* letter after the number, ' ' where none */
};

struct parser {
	const char *path;
	u64 id;
	struct lru_gen_memcg *out;
	struct lru_gen_error *err;
	unsigned int line;
	bool ours;		/* within the memcg that is asked for */
	bool found;
	/* what the current memcg is parsed into: @out, or scratch for the others */
	struct lru_gen_memcg *cur;
	struct lru_gen_node *node;
	struct lru_gen_gen *gen;
};

static __printf(2, 3)
int bad(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	p->err->line = p->line;
	vsnprintf(p->err->what, sizeof(p->err->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Split a row into numbers with their letters; -1 where it holds anything else */
static int split(const char *s, struct word *w)
{
	int n = 0;
	char *end;

	for (;;) {
		s += strspn(s, " ");
		if (!*s)
			return n;
		if (n == MAX_WORDS || !isdigit((unsigned char)*s))
			return -1;
		errno = 0;
		w[n].n = strtoull(s, &end, 10);
		if (errno)
			return -1;
		w[n].mark = ' ';
		if (isalpha((unsigned char)*end))
			w[n].mark = *end++;
		if (*end && *end != ' ')
			return -1;
		s = end;
		n++;
	}
}

static int parse_memcg(struct parser *p, const char *s)
{
	char *end;
	u64 id;

	errno = 0;
	s += strspn(s, " ");
	id = strtoull(s, &end, 10);
	if (errno || end == s || *end != ' ')
		return bad(p, "no memcg number");
	s = end + 1;
	p->ours = p->path ? !strcmp(s, p->path) : id == p->id;
	/* the root's path is empty while it is dying; "/" otherwise */
	if (p->ours && p->found)
		return bad(p, "memcg listed twice");
	p->found |= p->ours;
	memset(p->cur, 0, sizeof(*p->cur));
	p->cur->id = id;
	p->node = NULL;
	p->gen = NULL;
	return 0;
}

static int parse_node(struct parser *p, const char *s)
{
	char *end;
	long nid;

	errno = 0;
	nid = strtol(s, &end, 10);
	if (errno || end == s || *end || nid < 0)
		return bad(p, "no node number");
	if (p->cur->nr_nodes == LRU_GEN_MAX_NODES)
		return bad(p, "more than %d nodes", LRU_GEN_MAX_NODES);
	p->node = &p->cur->node[p->cur->nr_nodes++];
	memset(p->node, 0, sizeof(*p->node));
	p->node->nid = nid;
	p->gen = NULL;
	return 0;
}

static int add_gen(struct parser *p, const struct word *w)
{
	struct lru_gen_gen *prev = p->gen;
	int type;

	if (p->node->nr_gens == LRU_GEN_MAX_GENS)
		return bad(p, "more than %d generations", LRU_GEN_MAX_GENS);
	if (prev && w[0].n != prev->seq + 1)
		return bad(p, "generation %llu after %llu", (unsigned long long)w[0].n,
			   (unsigned long long)prev->seq);
	p->gen = &p->node->gen[p->node->nr_gens++];
	memset(p->gen, 0, sizeof(*p->gen));
	p->gen->seq = w[0].n;
	p->gen->age_ms = w[1].n;
	for (type = 0; type < 2; type++) {
		if (w[2 + type].mark != ' ' && w[2 + type].mark != 'x')
			return bad(p, "mark '%c' after a page count", w[2 + type].mark);
		p->gen->pages[type] = w[2 + type].n;
		p->gen->stale[type] = w[2 + type].mark == 'x';
	}
	return 0;
}

static int add_tier(struct parser *p, const struct word *w)
{
	struct lru_gen_tier *t;
	int i;

	if (p->gen->nr_tiers == LRU_GEN_MAX_TIERS || w[0].n != p->gen->nr_tiers)
		return bad(p, "tier %llu after %u tiers", (unsigned long long)w[0].n,
			   p->gen->nr_tiers);
	t = &p->gen->tier[p->gen->nr_tiers++];
	for (i = 0; i < 6; i++) {
		t->n[i / 3][i % 3] = w[1 + i].n;
		t->mark[i / 3][i % 3] = w[1 + i].mark;
	}
	p->cur->full = true;
	return 0;
}

static int add_stats(struct parser *p, const struct word *w, int n)
{
	int i;

	if (p->gen->nr_stats)
		return bad(p, "a second row of walk counters");
	p->gen->nr_stats = n;
	for (i = 0; i < n; i++) {
		p->gen->stat[i] = w[i].n;
		p->gen->stat_mark[i] = w[i].mark;
	}
	return 0;
}

/*
 * A row is told by its number of words: 4 a generation (or, after tiers, the four
 * walk counters), 7 a tier, 6 the walk counters of kernels before the series.
 */
static int parse_row(struct parser *p, const char *s)
{
	struct word w[MAX_WORDS];
	int n = split(s, w);
	bool after_tiers = p->gen && p->gen->nr_tiers && !p->gen->nr_stats;

	if (!p->node)
		return bad(p, "a row before any node");
	/* the counters' row is indented beyond the generation's first column */
	if (n == 4 && after_tiers && strspn(s, " ") > 22)
		return add_stats(p, w, 4);
	if (n == 4 && w[0].mark == ' ' && w[1].mark == ' ')
		return add_gen(p, w);
	if (n == 7 && p->gen)
		return add_tier(p, w);
	if (n == 6 && after_tiers)
		return add_stats(p, w, 6);
	return bad(p, "neither a generation nor a tier nor counters: \"%.60s\"", s);
}

static int parse_line(struct parser *p, const char *s, struct lru_gen_memcg *scratch)
{
	if (!strncmp(s, "memcg ", 6)) {
		const char *name = strchr(s + 6 + strspn(s + 6, " "), ' ');
		bool ours = p->path && name ? !strcmp(name + 1, p->path) :
			    !p->path && strtoull(s + 6, NULL, 10) == p->id;

		p->cur = ours && !p->found ? p->out : scratch;
		return parse_memcg(p, s + 6);
	}
	if (!p->cur)
		return bad(p, "not a memcg line: \"%.60s\"", s);
	if (!strncmp(s, " node ", 6))
		return parse_node(p, s + 6);
	return parse_row(p, s);
}

int lru_gen_parse(const char *text, const char *path, u64 id, struct lru_gen_memcg *memcg,
		  struct lru_gen_error *err)
{
	struct parser p = { .path = path, .id = id, .out = memcg, .err = err };
	struct lru_gen_memcg *scratch = malloc(sizeof(*scratch));
	char line[4200];
	int ret = scratch ? 0 : -ENOMEM;

	memset(err, 0, sizeof(*err));
	while (!ret && *text) {
		size_t len = strcspn(text, "\n");

		p.line++;
		if (len >= sizeof(line)) {
			ret = bad(&p, "longer than %zu bytes", sizeof(line) - 1);
			break;
		}
		memcpy(line, text, len);
		line[len] = 0;
		text += len + (text[len] == '\n');
		ret = parse_line(&p, line, scratch);
	}
	free(scratch);
	return ret ? ret : p.found ? 0 : -ENOENT;
}

const struct lru_gen_node *lru_gen_node(const struct lru_gen_memcg *memcg, int nid)
{
	unsigned int i;

	for (i = 0; i < memcg->nr_nodes; i++) {
		if (memcg->node[i].nid == nid)
			return &memcg->node[i];
	}
	return NULL;
}

u64 lru_gen_max_seq(const struct lru_gen_node *node)
{
	return node->nr_gens ? node->gen[node->nr_gens - 1].seq : 0;
}

u64 lru_gen_min_seq(const struct lru_gen_node *node)
{
	return node->nr_gens ? node->gen[0].seq : 0;
}

u64 lru_gen_pages(const struct lru_gen_node *node, u64 seq, int type)
{
	unsigned int i;

	for (i = 0; i < node->nr_gens; i++) {
		if (node->gen[i].seq == seq && !node->gen[i].stale[type])
			return node->gen[i].pages[type];
	}
	return 0;
}

long long lru_gen_counter(const struct lru_gen_node *node, enum lru_gen_counter which)
{
	static const signed char six[] = { 0, 1, 2, 3, 4, 5 }, four[] = { 0, -1, 1, -1, 2, 3 };
	const struct lru_gen_gen *gen;
	long long sum = -1;
	unsigned int i;

	/* the youngest where LRU_GEN_STATS=n; else each generation has its own */
	for (i = 0; i < node->nr_gens; i++) {
		int at;

		gen = &node->gen[i];
		if (!gen->nr_stats || gen->stat_mark[0] == ' ' || gen->stat_mark[0] == 'x')
			continue;
		at = gen->nr_stats == 6 ? six[which] : four[which];
		if (at >= 0)
			sum = (sum < 0 ? 0 : sum) + gen->stat[at];
	}
	return sum;
}
