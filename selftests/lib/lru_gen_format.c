// SPDX-License-Identifier: GPL-2.0-only
/*
 * A row is read with sscanf() and printed again in the kernel's format: it is right
 * where that gives the same bytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lru_gen_format.h"

#define LINE_MAX_LEN	4200
#define STATS_INDENT	22

struct checker {
	bool full;
	struct lru_gen_format *f;
	struct lru_gen_error *err;
	unsigned int line;
	unsigned int gens;	/* of the current node */
	unsigned int tiers;	/* of the current generation */
	bool counted;		/* the current generation has its row of counters */
	u64 seq;
	char last_tier[4];	/* letters of the last tier row with any */
	char walk[LRU_GEN_MAX_STATS + 1];	/* letters of this node's counters */
};

static __printf(2, 3)
int bad(struct checker *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->err->line = c->line;
	vsnprintf(c->err->what, sizeof(c->err->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool all_of(const char *s, char which)
{
	return s[strspn(s, (char []){ which, 0 })] == 0;
}

/* Numbers with a letter each, as " %10lu%c"; how many, or -1 where the bytes differ */
static int numbers(const char *s, char *marks, int max)
{
	char again[32];
	int n = 0, len;
	u64 v;

	while (*s) {
		unsigned long long w;
		char mark;

		if (n == max || sscanf(s, "%llu%c", &w, &mark) != 2)
			return -1;
		v = w;
		len = snprintf(again, sizeof(again), " %10llu%c", (unsigned long long)v, mark);
		if (strncmp(s, again, len))
			return -1;
		marks[n++] = mark;
		s += len;
	}
	marks[n] = 0;
	return n;
}

static int end_of_gen(struct checker *c)
{
	if (!c->full || !c->gens)
		return 0;
	if (c->tiers != LRU_GEN_MAX_TIERS)
		return bad(c, "generation %llu has %u tier rows", (unsigned long long)c->seq,
			   c->tiers);
	return 0;
}

/* Youngest generation: averages R and T; the set of columns shows in what follows them */
static int end_of_node(struct checker *c)
{
	struct lru_gen_format *f = c->f;
	unsigned int columns;
	bool old;

	if (!c->gens)
		return 0;
	if (end_of_gen(c))
		return -EINVAL;
	if (c->gens < 2)
		return bad(c, "a node with %u generation", c->gens);
	if (!c->full)
		return 0;
	if (strcmp(c->last_tier, "RTx") && strcmp(c->last_tier, "RT "))
		return bad(c, "the youngest generation's tiers are marked \"%s\"", c->last_tier);
	old = c->last_tier[2] == ' ';
	columns = old ? 6 : 4;
	if (f->columns && f->columns != columns)
		return bad(c, "tiers marked \"%s\" beside %u walk counters", c->last_tier,
			   f->columns);
	if (f->columns && strcmp(c->walk, old ? "LOYNFA" : "TYFA") &&
	    strcmp(c->walk, old ? "loynfa" : "tyfa"))
		return bad(c, "walk counters are marked \"%s\"", c->walk);
	memcpy(f->tier, c->last_tier, sizeof(f->tier));
	memcpy(f->walk, c->walk, sizeof(f->walk));
	return 0;
}

static int memcg_line(struct checker *c, const char *s)
{
	char again[LINE_MAX_LEN + 32];
	unsigned long long id;
	int at = 0;

	if (end_of_node(c))
		return -EINVAL;
	c->gens = 0;
	if (sscanf(s, "memcg %llu%n", &id, &at) != 1 || s[at] != ' ')
		return bad(c, "not a memcg line: \"%.60s\"", s);
	/* the number was a 16-bit one, padded to five places, up to 6.17 */
	snprintf(again, sizeof(again), "memcg %5llu %s", id, s + at + 1);
	if (strcmp(s, again)) {
		snprintf(again, sizeof(again), "memcg %llu %s", id, s + at + 1);
		if (strcmp(s, again))
			return bad(c, "memcg line out of column: \"%.60s\"", s);
	}
	if (s[at + 1] && s[at + 1] != '/')
		return bad(c, "memcg path \"%.60s\"", s + at + 1);
	c->f->memcgs++;
	return 0;
}

static int node_line(struct checker *c, const char *s)
{
	char again[64];
	int nid;

	if (end_of_node(c))
		return -EINVAL;
	if (sscanf(s, " node %d", &nid) != 1)
		return bad(c, "not a node line: \"%.60s\"", s);
	snprintf(again, sizeof(again), " node %5d", nid);
	if (strcmp(s, again))
		return bad(c, "node line out of column: \"%.60s\"", s);
	c->f->nodes++;
	c->gens = 0;
	c->walk[0] = 0;
	return 0;
}

static int gen_line(struct checker *c, unsigned long long seq, unsigned int age, const char *s)
{
	char head[48], marks[3];
	int len = snprintf(head, sizeof(head), " %10llu %10u", seq, age), i;

	if (strncmp(s, head, len) || numbers(s + len, marks, 2) != 2)
		return bad(c, "generation out of column: \"%.60s\"", s);
	for (i = 0; i < 2; i++) {
		if (marks[i] != ' ' && (marks[i] != 'x' || !c->full))
			return bad(c, "pages marked '%c'", marks[i]);
	}
	if (end_of_gen(c))
		return -EINVAL;
	if (c->gens && seq != c->seq + 1)
		return bad(c, "generation %llu after %llu", seq, (unsigned long long)c->seq);
	if (++c->gens > LRU_GEN_MAX_GENS)
		return bad(c, "more than %d generations", LRU_GEN_MAX_GENS);
	c->seq = seq;
	c->tiers = 0;
	c->counted = false;
	c->f->gens++;
	return 0;
}

static int tier_line(struct checker *c, const char *s)
{
	char head[40], marks[8];
	int len = snprintf(head, sizeof(head), "            %10u", c->tiers), i;

	if (c->counted || strncmp(s, head, len) || numbers(s + len, marks, 6) != 6)
		return bad(c, "neither tier %u nor counters: \"%.70s\"", c->tiers, s);
	for (i = 0; i < 6; i += 3) {
		if (!strncmp(marks + i, "RT", 2) || !strncmp(marks + i, "rep", 3)) {
			memcpy(c->last_tier, marks + i, 3);
			continue;
		}
		if (strncmp(marks + i, "xxx", 3) && strncmp(marks + i, "   ", 3))
			return bad(c, "tier marked \"%.3s\"", marks + i);
	}
	c->tiers++;
	c->f->tiers++;
	return 0;
}

static int walk_line(struct checker *c, const char *marks, int n)
{
	if (n != 4 && n != 6)
		return bad(c, "%d walk counters", n);
	if (c->counted)
		return bad(c, "a second row of walk counters");
	if (c->f->columns && c->f->columns != (unsigned int)n)
		return bad(c, "%d walk counters after rows of %u", n, c->f->columns);
	c->f->columns = n;
	c->counted = true;
	if (all_of(marks, ' ') || all_of(marks, 'x'))
		return 0;
	memcpy(c->walk, marks, n + 1);
	return 0;
}

static int other_line(struct checker *c, const char *s)
{
	size_t indent = strspn(s, " ");
	char marks[LRU_GEN_MAX_STATS + 1];
	unsigned long long seq;
	unsigned int age;
	int n;

	if (!c->f->nodes)
		return bad(c, "a row before any node");
	/* a generation's first column ends at 11, a tier's at 22, a counter's at 33 */
	if (indent < 11 && sscanf(s, "%llu %u", &seq, &age) == 2)
		return gen_line(c, seq, age, s);
	if (!c->full)
		return bad(c, "a row of the long form: \"%.70s\"", s);
	if (!c->gens)
		return bad(c, "a row before any generation");
	if (indent > STATS_INDENT && c->tiers == LRU_GEN_MAX_TIERS) {
		n = numbers(s + STATS_INDENT, marks, LRU_GEN_MAX_STATS);
		if (n > 0)
			return walk_line(c, marks, n);
	}
	return tier_line(c, s);
}

int lru_gen_check_format(const char *text, bool full, struct lru_gen_format *f,
			 struct lru_gen_error *err)
{
	struct checker c = { .full = full, .f = f, .err = err };
	char line[LINE_MAX_LEN];
	size_t len;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	memset(err, 0, sizeof(*err));
	while (!ret && *text) {
		c.line++;
		len = strcspn(text, "\n");
		if (len >= sizeof(line))
			return bad(&c, "longer than %zu bytes", sizeof(line) - 1);
		if (!text[len])
			return bad(&c, "the last line has no end");
		memcpy(line, text, len);
		line[len] = 0;
		text += len + 1;
		if (!strncmp(line, "memcg", 5))
			ret = memcg_line(&c, line);
		else if (!f->memcgs)
			ret = bad(&c, "not a memcg line: \"%.60s\"", line);
		else if (!strncmp(line, " node", 5))
			ret = node_line(&c, line);
		else
			ret = other_line(&c, line);
	}
	if (!ret)
		ret = end_of_node(&c);
	if (!ret && !f->memcgs)
		ret = bad(&c, "empty");
	return ret;
}
