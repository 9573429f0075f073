// SPDX-License-Identifier: GPL-2.0-only
/*
 * From what cases did on two kernels to one word, with the statistics that say
 * how far to trust it: exact bounds of rates, a rank test for measured values.
 */
#include <math.h>
#include <string.h>

#include "run/run.h"

/* Everything here is said with 95 % confidence */
#define ALPHA		0.05
/* Where the search for "how many runs more" gives up */
#define MAX_RUNS	1000
/* Up to this many values the rank test counts every arrangement */
#define EXACT_MAX	60

/* ---- rates ---- */

/* P(X >= k) for X binomial(n, p) */
static double binomial_upper(unsigned int k, unsigned int n, double p)
{
	double sum = 0;

	if (!k)
		return 1;
	if (p <= 0)
		return 0;
	if (p >= 1)
		return 1;
	for (unsigned int i = k; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) +
			   i * log(p) + (n - i) * log1p(-p));
	return MIN(sum, 1.0);
}

/* The p at which P(X >= k) is @target; it grows with p, so halving finds it */
static double solve_upper(unsigned int k, unsigned int n, double target)
{
	double lo = 0, hi = 1;

	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;

		if (binomial_upper(k, n, mid) < target)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

void clopper_pearson(unsigned int k, unsigned int n, double alpha, double *low, double *high)
{
	*low = 0;
	*high = 1;
	if (!n || k > n)
		return;
	if (k)
		*low = solve_upper(k, n, alpha / 2);
	if (k < n)
		*high = solve_upper(k + 1, n, 1 - alpha / 2);
}

/* ---- ranks ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Chance that @na of the @n doubled ranks, drawn at random, have a sum at
 * least as far from the expected one as @sum: every draw is counted.
 */
static double exact_p(const unsigned int *ranks, unsigned int n, unsigned int na, unsigned int sum)
{
	unsigned int total = 0, width;
	double expected, far, hit = 0, all = 0;
	double *ways;

	for (unsigned int i = 0; i < n; i++)
		total += ranks[i];
	width = total + 1;
	ways = g_new0(double, (gsize)(na + 1) * width);
	ways[0] = 1;
	for (unsigned int i = 0; i < n; i++)
		for (int k = MIN(i, na - 1); k >= 0; k--)
			for (unsigned int s = 0; s + ranks[i] < width; s++)
				ways[(k + 1) * width + s + ranks[i]] += ways[k * width + s];
	expected = (double)total * na / n;
	far = fabs(sum - expected) - 1e-9;
	for (unsigned int s = 0; s < width; s++) {
		all += ways[na * width + s];
		if (fabs(s - expected) >= far)
			hit += ways[na * width + s];
	}
	g_free(ways);
	return hit / all;
}

double rank_test(const double *a, unsigned int na, const double *b, unsigned int nb,
		 double *effect)
{
	unsigned int n = na + nb, sum = 0;
	g_autofree double *sorted = g_new(double, n ? n : 1);
	g_autofree unsigned int *ranks = g_new(unsigned int, n ? n : 1);
	double u, mean, var, ties = 0;

	if (effect)
		*effect = 0.5;
	if (!na || !nb)
		return 1;
	memcpy(sorted, a, na * sizeof(*a));
	memcpy(sorted + na, b, nb * sizeof(*b));
	qsort(sorted, n, sizeof(*sorted), by_value);
	/* doubled mid-ranks are whole numbers, with ties too */
	for (unsigned int i = 0, j; i < n; i = j) {
		double t;

		for (j = i; j < n && sorted[j] == sorted[i]; j++)
			;
		for (unsigned int k = i; k < j; k++)
			ranks[k] = i + j + 1;
		t = j - i;
		ties += t * t * t - t;
	}
	for (unsigned int i = 0; i < na; i++)
		for (unsigned int k = 0; k < n; k++)
			if (sorted[k] == a[i]) {
				sum += ranks[k];
				break;
			}
	/* U of @a: pairs in which the value of @a is the larger, ties half */
	u = sum / 2.0 - na * (na + 1) / 2.0;
	if (effect)
		*effect = 1 - u / ((double)na * nb);
	if (n <= EXACT_MAX)
		return exact_p(ranks, n, na, sum);
	mean = (double)na * nb / 2;
	var = (double)na * nb / 12 * (n + 1 - ties / ((double)n * (n - 1)));
	if (var <= 0)
		return 1;
	return erfc(fmax(0, fabs(u - mean) - 0.5) / sqrt(var) / M_SQRT2);
}

/* ---- words ---- */

void tally_add(struct tally *t, enum result result)
{
	switch (result) {
	case RESULT_PASS:
		t->pass++;
		break;
	case RESULT_FAIL:
		t->fail++;
		break;
	case RESULT_SKIP:
		t->skip++;
		break;
	default:
		t->broken++;
	}
}

int verdict_exit(enum verdict v)
{
	switch (v) {
	case VERDICT_PASS:
		return MMG_EXIT_OK;
	case VERDICT_INCONCLUSIVE:
	case VERDICT_BROKEN:
		return MMG_EXIT_BROKEN;
	default:
		return MMG_EXIT_FAIL;
	}
}

/* True where the failure rates of two kernels are told apart, whatever they are */
static bool rates_apart(unsigned int ka, unsigned int na, unsigned int kb, unsigned int nb)
{
	double la, ha, lb, hb;

	clopper_pearson(ka, na, ALPHA, &la, &ha);
	clopper_pearson(kb, nb, ALPHA, &lb, &hb);
	return ha < lb || hb < la;
}

enum change change_of(const struct tally *base, const struct tally *patched)
{
	unsigned int nb = base->pass + base->fail, np = patched->pass + patched->fail;
	bool mixed_base = base->pass && base->fail;
	bool mixed_patched = patched->pass && patched->fail;

	if (!nb && !np && !base->broken && !patched->broken)
		return base->skip || patched->skip ? CHANGE_SKIPPED : CHANGE_ABSENT;
	/* an experiment that did not work says nothing, and spoils what its other runs say */
	if (base->broken || patched->broken)
		return CHANGE_BROKEN;
	if (!nb || !np)
		return base->skip || patched->skip ? CHANGE_SKIPPED : CHANGE_ABSENT;
	if (mixed_patched)
		return CHANGE_FLAKY;
	/* a fault that shows now and then: fixed or worse only where the numbers say so */
	if (mixed_base && !rates_apart(base->fail, nb, patched->fail, np))
		return CHANGE_FLAKY;
	if (patched->pass)
		return base->fail ? CHANGE_FIXED : CHANGE_STILL_PASSING;
	return base->pass ? CHANGE_REGRESSED : CHANGE_STILL_FAILING;
}

/*
 * Runs in all that would tell the two rates apart if they stay as they are, 0 where
 * none up to MAX_RUNS would.
 */
static unsigned int runs_needed(const struct tally *base, const struct tally *patched)
{
	unsigned int nb = base->pass + base->fail, np = patched->pass + patched->fail;
	double pb, pp;

	if (!nb || !np)
		return 0;
	pb = (double)base->fail / nb;
	pp = (double)patched->fail / np;
	if (pb == pp)
		return 0;
	for (unsigned int n = MAX(nb, np) + 1; n <= MAX_RUNS; n++)
		if (rates_apart(lround(pb * n), n, lround(pp * n), n))
			return n;
	return 0;
}

struct counts {
	unsigned int n[CHANGE_ABSENT + 1];
	const struct judged *first[CHANGE_ABSENT + 1];
	unsigned int all;
};

static void count(struct counts *c, const struct judged *j)
{
	c->all++;
	if (!c->n[j->change]++)
		c->first[j->change] = j;
}

static char *rates(const struct judged *j)
{
	return g_strdup_printf("%s: base fails %u of %u, patched %u of %u", j->name, j->base.fail,
			       j->base.fail + j->base.pass, j->patched.fail,
			       j->patched.fail + j->patched.pass);
}

static char *say(const struct judged *j, unsigned int n, const char *what)
{
	g_autofree char *r = rates(j);

	return n > 1 ? g_strdup_printf("%u cases %s, first %s", n, what, r) :
		       g_strdup_printf("a case %s, %s", what, r);
}

/*
 * Both ways on one kernel leaves a claim open, but for a case that only must not get worse
 * and that the patched kernel never failed: whatever base does now and then, that is not worse.
 */
static bool is_open(const struct judged *j)
{
	return j->claim == CLAIM_FIXES || (j->claim == CLAIM_KEEPS && j->patched.fail);
}

/*
 * An experiment that broke leaves a claim open, but for a case that only must not get worse and that the
 * patched kernel passed each time: however base would have done, that is not worse.
 */
static bool is_spoilt(const struct judged *j)
{
	return j->change == CHANGE_BROKEN &&
	       (j->claim == CLAIM_FIXES ||
		(j->claim == CLAIM_KEEPS && (j->patched.broken || j->patched.fail || !j->patched.pass)));
}

static unsigned int runs(const struct tally *t)
{
	return t->pass + t->fail;
}

/*
 * A claim that one kernel answered and the other skipped is open: a series must not come to a
 * pass by making a test impossible.  What only a kept case's base lacks says nothing against it.
 */
static bool is_half(const struct judged *j)
{
	if (j->change != CHANGE_SKIPPED && j->change != CHANGE_ABSENT)
		return false;
	return (j->claim != CLAIM_NONE && runs(&j->base) && !runs(&j->patched)) ||
	       (j->claim == CLAIM_FIXES && !runs(&j->base) && runs(&j->patched));
}

enum verdict verdict_of(const struct judged *cases, unsigned int n, char **why, unsigned int *more)
{
	struct counts fixes = { 0 }, all = { 0 }, claimed = { 0 }, open = { 0 }, spoilt = { 0 };
	const struct judged *half = NULL;
	const struct judged *j;

	*more = 0;
	for (unsigned int i = 0; i < n; i++) {
		count(&all, &cases[i]);
		if (cases[i].claim != CLAIM_NONE)
			count(&claimed, &cases[i]);
		if (is_open(&cases[i]))
			count(&open, &cases[i]);
		if (is_spoilt(&cases[i]))
			count(&spoilt, &cases[i]);
		if (is_half(&cases[i]) && !half)
			half = &cases[i];
		if (cases[i].claim == CLAIM_FIXES)
			count(&fixes, &cases[i]);
	}
	j = all.first[CHANGE_REGRESSED];
	if (j) {
		*why = say(j, all.n[CHANGE_REGRESSED], "got worse");
		return VERDICT_REGRESSED;
	}
	j = spoilt.first[CHANGE_BROKEN];
	if (j) {
		*why = g_strdup_printf("%u case%s could not be judged, first %s: broken %u times on "
				       "base, %u times on patched", spoilt.n[CHANGE_BROKEN],
				       spoilt.n[CHANGE_BROKEN] > 1 ? "s" : "", j->name,
				       j->base.broken, j->patched.broken);
		return VERDICT_BROKEN;
	}
	if (half) {
		*why = g_strdup_printf("%s ran on %s and not on %s, so that nothing can be said of it",
				       half->name, runs(&half->base) ? "base" : "patched",
				       runs(&half->base) ? "patched" : "base");
		return VERDICT_BROKEN;
	}
	/* nothing is claimed to be fixed: something has to have run all the same */
	if (!fixes.all && claimed.all == claimed.n[CHANGE_SKIPPED] + claimed.n[CHANGE_ABSENT] +
					 claimed.n[CHANGE_BROKEN]) {
		j = claimed.first[CHANGE_BROKEN] ?: claimed.first[CHANGE_SKIPPED];
		*why = g_strdup_printf("none of the chosen cases ran on both kernels%s%s",
				       !j ? "" : j->change == CHANGE_BROKEN ? ", broken on base: " : ", skipped: ",
				       j ? j->name : "");
		return VERDICT_BROKEN;
	}
	if (fixes.all && fixes.all == fixes.n[CHANGE_SKIPPED] + fixes.n[CHANGE_ABSENT]) {
		j = fixes.first[CHANGE_SKIPPED];
		*why = g_strdup_printf("none of the cases that the series should fix ran on both "
				       "kernels%s%s", j ? ", skipped: " : "", j ? j->name : "");
		return VERDICT_BROKEN;
	}
	/* what failed in every run of the patched kernel is settled, whatever else is open */
	j = fixes.first[CHANGE_STILL_FAILING];
	if (j) {
		*why = say(j, fixes.n[CHANGE_STILL_FAILING], fixes.n[CHANGE_STILL_FAILING] > 1 ? "still fail" : "still fails");
		return VERDICT_NOT_FIXED;
	}
	j = open.first[CHANGE_FLAKY];
	if (j) {
		g_autofree char *said = say(j, open.n[CHANGE_FLAKY],
					    "went both ways on the same kernel");
		unsigned int need = runs_needed(&j->base, &j->patched);
		unsigned int have = MAX(j->base.pass + j->base.fail,
					j->patched.pass + j->patched.fail);

		*more = need > have ? need - have : 0;
		if (*more)
			*why = g_strdup_printf("%s; about %u more runs would tell them apart", said,
					       *more);
		else
			*why = g_strdup_printf("%s; more runs will not make that a pass", said);
		return VERDICT_INCONCLUSIVE;
	}
	j = fixes.first[CHANGE_STILL_PASSING];
	if (j) {
		*why = say(j, fixes.n[CHANGE_STILL_PASSING], fixes.n[CHANGE_STILL_PASSING] > 1 ?
			   "pass without the series already" : "passes without the series already");
		return VERDICT_NOT_REPRODUCED;
	}
	*why = g_strdup_printf("%u case%s fixed, %u unchanged, none worse",
			       (fixes.all ? fixes : all).n[CHANGE_FIXED],
			       (fixes.all ? fixes : all).n[CHANGE_FIXED] == 1 ? "" : "s",
			       all.n[CHANGE_STILL_PASSING] + all.n[CHANGE_STILL_FAILING]);
	return VERDICT_PASS;
}
