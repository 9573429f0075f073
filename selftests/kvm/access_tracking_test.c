// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: what does upstream's access_tracking_perf_test say, with its check armed?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-machines: default
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 180
 * mmgate-export: no, the tree has the program itself
 *
 * The kernel's own test, built from the same source tree, run as a child: a VM
 * touches all its memory, ages, and looks whether nine tenths of it moved to a newer
 * generation.  Under a hypervisor or with NUMA balancing on it only warns where they
 * did not; "-w 0" makes it fail.  The same question is then asked our way, in a group
 * of the same size, and both answers are shown: one that the other does not share is
 * broken, to be looked at, not a verdict.
 *
 *			upstream	ours
 *	series present	exit 0		all pages moved
 *	series absent	exit 254	no page moved
 *
 * How it could mislead: upstream's assertions all exit alike, so the ones that are its
 * check are told by their words; what else it asserts (memory, cgroups) is broken.
 */
#include "scenario.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal.h"
#include "upstream.h"

#define UPSTREAM_GROUP	MEMCG_ROOT "/access_tracking_perf_test"
#define OUTPUT_MAX	65536
#define LINE_MAX_SHOWN	200
#define EXIT_SKIP	4	/* KSFT_SKIP */
#define EXIT_ASSERT	254	/* TEST_ASSERT() of the KVM library */

/**
 * struct params - a case
 * @backing:	what our region is made of
 * @type:	upstream's name of it
 * @vcpus:	vCPUs, each with an equal share
 */
struct params {
	enum backing backing;
	const char *type;
	int vcpus;
};

enum answer { SEES, BLIND };

#pragma weak kvm_selftest_init
void kvm_selftest_init(void);

static size_t bytes_of(const struct params *p)
{
	return p->backing == BACK_THP ? 16 * HUGE_SIZE : mmg_opts.mem_bytes / 2;
}

/* --- upstream's answer ---------------------------------------------------------- */

static __noreturn void run_upstream(const struct params *p, int out)
{
	char words[][28] = { "access_tracking_perf_test", "-w", "0", "-b", "", "-v", "", "-s", "" };
	char *argv[ARRAY_SIZE(words) + 1] = { };
	size_t i;

	snprintf(words[4], sizeof(words[4]), "%zuM", (bytes_of(p) >> 20) / p->vcpus);
	snprintf(words[6], sizeof(words[6]), "%d", p->vcpus);
	snprintf(words[8], sizeof(words[8]), "%s", p->type);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		argv[i] = words[i];
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
	program_invocation_name = "/proc/self/exe";
	if (kvm_selftest_init)
		kvm_selftest_init();
	optind = 1;
	exit(upstream_main(ARRAY_SIZE(words), argv));
}

/* Wait for the child's end; the first @size - 1 bytes that it prints go to @text */
static int collect(pid_t pid, int in, char *text, size_t size)
{
	char more[4096];
	size_t have = 0;
	ssize_t n;
	int status;

	while ((n = read(in, more, sizeof(more))) > 0) {
		size_t take = (size_t)n < size - 1 - have ? (size_t)n : size - 1 - have;

		memcpy(text + have, more, take);
		have += take;
	}
	text[have] = '\0';
	if (waitpid(pid, &status, 0) != pid)
		mmg_broken("waiting for upstream's test: %s", strerror(errno));
	return status;
}

/* The last line of @text with a letter, or the first that has @word */
static void pick_line(const char *text, const char *word, char *line, size_t size)
{
	const char *p = text, *end;

	line[0] = '\0';
	while (*p) {
		end = strchrnul(p, '\n');
		while (*p == ' ' || *p == '\t')
			p++;
		if (end > p)
			snprintf(line, size, "%.*s", (int)(end - p), p);
		if (word && strstr(line, word))
			return;
		p = *end ? end + 1 : end;
	}
	if (word)
		line[0] = '\0';
}

static enum answer ask_upstream(const struct params *p, char *line, size_t size)
{
	static const char *const its_check[] = { "Too many pages still idle",
						 "Could not find a generation with" };
	static char text[OUTPUT_MAX];
	int out[2], status;
	size_t i;
	pid_t pid;

	/* it goes on in a group of that name that it finds, whoever's that is */
	if (!rmdir(UPSTREAM_GROUP))
		mmg_info("removed an empty %s", UPSTREAM_GROUP);
	if (!access(UPSTREAM_GROUP, F_OK))
		mmg_broken("%s is there and in use: is upstream's test running?", UPSTREAM_GROUP);
	if (mmg_journal_remove_dir(UPSTREAM_GROUP))
		mmg_broken("writing the journal %s", mmg_journal_path());
	if (pipe(out))
		mmg_broken("pipe: %s", strerror(errno));
	mmg_doing("upstream's access_tracking_perf_test");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		mmg_broken("fork: %s", strerror(errno));
	if (!pid) {
		close(out[0]);
		run_upstream(p, out[1]);
	}
	close(out[1]);
	status = collect(pid, out[0], text, sizeof(text));
	close(out[0]);
	if (mmg_opts.verbose)
		mmg_info("%s", text);
	pick_line(text, NULL, line, size);
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		if (!strstr(text, "Using lru_gen for aging"))
			mmg_broken("upstream's test passed, but did not use lru_gen: %s", line);
		return SEES;
	}
	for (i = 0; i < ARRAY_SIZE(its_check); i++) {
		char found[LINE_MAX_SHOWN];

		pick_line(text, its_check[i], found, sizeof(found));
		if (!found[0] || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_ASSERT)
			continue;
		snprintf(line, size, "%s", found);
		return BLIND;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		mmg_skip("upstream's test skipped: %s", line);
	mmg_broken("upstream's test ended with status 0x%x: %s", status, line);
}

/* --- ours ----------------------------------------------------------------------------- */

static enum answer ask_ours(const struct params *p, u64 *moved, size_t *pages)
{
	struct scenario_opts o = { .name = "ours", .backing = p->backing, .bytes = bytes_of(p),
				.vcpus = p->vcpus };
	static struct scenario s;

	mmg_doing("the same our way");
	scenario_create(&s, &o);
	scenario_populate(&s);
	group_age(&s.group, true);
	scenario_touch(&s, s.all, s.r.units, true);
	group_age(&s.group, true);
	group_read(&s.group, false);
	*moved = group_pages(&s.group, 1, LRU_GEN_ANON);
	*pages = s.r.pages;
	scenario_destroy(&s);
	return *moved * 10 > *pages * 9 ? SEES : BLIND;
}

static void cross_case(const struct mmg_case *c)
{
	const struct params *p = c->arg;
	char line[LINE_MAX_SHOWN];
	enum answer upstream, ours;
	size_t pages;
	u64 moved;

	if (upstream_why_not)
		mmg_skip("%s", upstream_why_not);
	guest_require();
	mglru_require(2 * bytes_of(p));
	upstream = ask_upstream(p, line, sizeof(line));
	ours = ask_ours(p, &moved, &pages);
	mmg_metric("upstream_sees", upstream == SEES);
	mmg_metric("moved", moved);
	mmg_metric("pages", pages);
	if (upstream != ours)
		mmg_broken("upstream %s (%s), ours: %llu of %zu touched pages moved",
			   upstream == SEES ? "passed" : "failed", line,
			   (unsigned long long)moved, pages);
	if (ours == BLIND)
		mmg_fail("upstream fails: %s; ours: %llu of %zu touched pages moved", line,
			 (unsigned long long)moved, pages);
	mmg_pass("upstream passes: %s; ours: %llu of %zu touched pages moved", line,
		 (unsigned long long)moved, pages);
}

#define CASE(name_, ...) { .name = name_, .fn = cross_case, .timeout_s = 90, \
	.arg = &(const struct params){ __VA_ARGS__ } }

static const struct mmg_case cases[] = {
	CASE("anon-4k", .backing = BACK_ANON, .type = "anonymous", .vcpus = 1),
	CASE("anon-thp", .backing = BACK_THP, .type = "anonymous_thp", .vcpus = 1),
	CASE("shmem", .backing = BACK_SHMEM, .type = "shmem", .vcpus = 1),
	CASE("two-vcpus", .backing = BACK_ANON, .type = "anonymous", .vcpus = 2),
};

static const struct mmg_test test = {
	.name = "kvm/access_tracking",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
