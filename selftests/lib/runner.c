// SPDX-License-Identifier: GPL-2.0-only
/*
 * The case runner.  The parent forks one child a case, reads its output
 * through a pipe (so that no half line can break the KTAP), bounds its time
 * and puts the settings back from the journal on every way out.
 *
 * KTAP is printed here rather than by the kernel's kselftest.h: that header
 * changes between 6.1 and 7.2, needs a kernel tree, and knows no "broken".
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "runner.h"

#define DEFAULT_TIMEOUT_S	60
#define JOURNAL_WAIT_S		60
#define MAX_GLOBS		32
#define LINE_LEN		1024
#define MAX_OUTPUT		200	/* lines of one case: the KVM library dumps whole VMs */
/* starts a line that goes out as it is, without the case's name before it */
#define RAW_MARK		1

enum result { NONE, PASS, FAIL, SKIP, BROKEN };

/* What the child tells the parent, in memory that both map */
struct shared {
	enum result result;
	char reason[LINE_LEN];
	char doing[LINE_LEN];
};

struct mmg_opts mmg_opts = { .seed = 1, .mem_bytes = 32 << 20 };

static struct shared *shared;
static const struct mmg_test *test;
static const char *running;		/* case name, NULL outside of cases */
static bool in_child;
static pid_t child_pid;		/* read by the crash handler: __atomic_ only */
static const char *globs[MAX_GLOBS];
static int nr_globs;
static int sig_fd = -1;
static char skip_all[LINE_LEN];
static char assert_line[LINE_LEN];	/* the KVM library's last word */

/* --- what a test calls ----------------------------------------------------- */

static void one_line(char *dst, size_t size, const char *fmt, va_list ap)
{
	char *p;

	vsnprintf(dst, size, fmt, ap);
	for (p = dst; *p; p++) {
		if (iscntrl((unsigned char)*p) || *p == '#')
			*p = ' ';
	}
}

static __noreturn void finish(enum result result, const char *fmt, va_list ap)
{
	/* the first word counts: a failing clean-up does not change the verdict */
	if (shared->result == NONE) {
		one_line(shared->reason, sizeof(shared->reason), fmt, ap);
		shared->result = result;
	}
	fflush(NULL);
	if (!in_child) {
		/* in setup() there is no case to end: all of them end so */
		snprintf(skip_all, sizeof(skip_all), "%s", shared->reason);
		mmg_journal_close();
		printf("Bail out! %s\n", shared->reason);
		exit(result == SKIP ? 4 : 1);
	}
	_exit(0);
}

#define DEFINE_END(name, result)			\
void name(const char *fmt, ...)		\
{							\
	va_list ap;					\
							\
	va_start(ap, fmt);				\
	finish(result, fmt, ap);			\
}

DEFINE_END(mmg_pass, PASS)
DEFINE_END(mmg_fail, FAIL)
DEFINE_END(mmg_skip, SKIP)
DEFINE_END(mmg_broken, BROKEN)

static __noreturn void print_all_skipped(void);

void mmg_skip_all(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line(skip_all, sizeof(skip_all), fmt, ap);
	va_end(ap);
	print_all_skipped();
}

void mmg_info(const char *fmt, ...)
{
	char text[LINE_LEN];
	va_list ap;

	va_start(ap, fmt);
	one_line(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (in_child)
		printf("%s\n", text);
	else
		printf("# %s\n", text);
	fflush(stdout);
}

void mmg_metric(const char *name, double value)
{
	if (!in_child)
		return;
	printf("%c# mmgate-metric: %s %s %.10g\n", RAW_MARK, running, name, value);
	fflush(stdout);
}

void mmg_doing(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line(shared->doing, sizeof(shared->doing), fmt, ap);
	va_end(ap);
}

void mmg_expect_oom_kill(pid_t pid)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC), n;
	char text[80];

	n = snprintf(text, sizeof(text), "<4>mmgate: expect OOM kill of process %d\n", pid);
	/* not to be had: then the kill is seen as any other is */
	if (fd < 0 || write(fd, text, n) != n)
		mmg_info("/dev/kmsg: %s: the kill cannot be announced", strerror(errno));
	if (fd >= 0)
		close(fd);
}

static int mkdirs(char *path)
{
	char *p;

	for (p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

FILE *mmg_artifact(const char *kind)
{
	const char *dir = getenv("MMGATE_ARTIFACTS");
	char path[PATH_MAX];
	FILE *f;

	if (!dir || !*dir || !running)
		return NULL;
	if (snprintf(path, sizeof(path), "%s/%s/%s.%s", dir, test->name, running, kind) >=
	    (int)sizeof(path))
		return NULL;
	f = mkdirs(path) ? NULL : fopen(path, "we");
	if (!f)
		mmg_info("artifact %s not kept: %s", path, strerror(errno));
	return f;
}

void mmg_save_setting(const char *path)
{
	int err = mmg_journal_save(path);

	if (err)
		mmg_broken("%s cannot be saved in the journal %s (MMGATE_JOURNAL): %s", path,
			   mmg_journal_path(), strerror(-err));
}

static int write_all(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	err = n < 0 ? -errno : n != (ssize_t)strlen(text) ? -EIO : 0;
	close(fd);
	return err;
}

int mmg_try_write(const char *path, const char *fmt, ...)
{
	char text[LINE_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return write_all(path, text);
}

void mmg_write_setting(const char *path, const char *fmt, ...)
{
	char text[LINE_LEN];
	va_list ap;
	int err;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err = write_all(path, text);
	if (err)
		mmg_broken("writing \"%s\" to %s: %s", text, path, strerror(-err));
}

char *mmg_read_file(const char *path, size_t *len)
{
	size_t used = 0, room = 16384;
	char *buf, *more;
	ssize_t n = -1;
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	buf = malloc(room);
	while (buf) {
		n = read(fd, buf + used, room - used - 1);
		if (n <= 0)
			break;
		used += n;
		if (room - used < 4096) {
			room *= 2;
			more = realloc(buf, room);
			if (!more)
				free(buf);
			buf = more;
		}
	}
	err = errno;
	close(fd);
	if (!buf || n < 0) {
		free(buf);
		errno = buf ? err : ENOMEM;
		return NULL;
	}
	buf[used] = 0;
	if (len)
		*len = used;
	return buf;
}

int mmg_request(const char *what, char *reply, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = getenv("MMGATE_CONTROL");
	char line[LINE_LEN];
	size_t got = 0;
	ssize_t n;
	int fd, len;

	if (!path || !*path) {
		snprintf(reply, size, "nobody outside to ask for \"%s\" on a booted host", what);
		return -1;
	}
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	len = snprintf(line, sizeof(line), "%s\n", what);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, line, len, MSG_NOSIGNAL) != len) {
		snprintf(reply, size, "asking %s for \"%s\": %s", path, what, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (got < sizeof(line) - 1) {
		n = read(fd, line + got, sizeof(line) - 1 - got);
		if (n <= 0)
			break;
		got += n;
		if (memchr(line, '\n', got))
			break;
	}
	close(fd);
	line[got] = 0;
	line[strcspn(line, "\n")] = 0;
	snprintf(reply, size, "%s", got ? line : "no answer");
	return strncmp(line, "ok", 2) ? -1 : 0;
}

u64 mmg_rand(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void mmg_shuffle(u32 *v, size_t n, u64 *state)
{
	size_t i, j;
	u32 t;

	for (i = n; i > 1; i--) {
		j = mmg_rand(state) % i;
		t = v[i - 1];
		v[i - 1] = v[j];
		v[j] = t;
	}
}

bool mmg_in_vm(void)
{
	const char *v = getenv("MMGATE_VM");

	return v && *v && strcmp(v, "0");
}

/* --- the parent -------------------------------------------------------------- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool wanted(const struct mmg_case *c)
{
	int i;

	for (i = 0; i < nr_globs; i++) {
		if (!fnmatch(globs[i], c->name, 0))
			return true;
	}
	return !nr_globs;
}

static void print_result(int nr, const char *name, enum result result, const char *reason)
{
	printf("# mmgate-reason: %s %s\n", name, reason);
	switch (result) {
	case PASS:
		printf("ok %d %s\n", nr, name);
		break;
	case SKIP:
		printf("ok %d %s # SKIP %s\n", nr, name, reason);
		break;
	case FAIL:
		printf("not ok %d %s\n", nr, name);
		break;
	default:
		printf("not ok %d %s # ERROR %s\n", nr, name, reason);
	}
	fflush(stdout);
}

static int count_wanted(void)
{
	int n = 0;
	size_t i;

	for (i = 0; i < test->nr_cases; i++)
		n += wanted(&test->cases[i]);
	return n;
}

static void print_plan(void)
{
	printf("KTAP version 1\n1..%d\n", count_wanted());
	fflush(stdout);
}

static __noreturn void print_all_skipped(void)
{
	int nr = 0;
	size_t i;

	if (in_child)
		mmg_broken("mmg_skip_all() called inside a case");
	print_plan();
	for (i = 0; i < test->nr_cases; i++) {
		if (wanted(&test->cases[i]))
			print_result(++nr, test->cases[i].name, SKIP, skip_all);
	}
	mmg_journal_close();
	exit(4);
}

/*
 * A crash of the parent itself: kill the child, put the settings back, and die
 * of the same signal.
 */
static void on_crash(int sig)
{
	pid_t pid = __atomic_load_n(&child_pid, __ATOMIC_RELAXED);

	if (pid > 0)
		kill(-pid, SIGKILL);
	mmg_journal_close();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_crashes(void)
{
	static char stack[65536];
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction sa = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND };
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	size_t i;

	sigaltstack(&ss, NULL);
	for (i = 0; i < ARRAY_SIZE(sigs); i++)
		sigaction(sigs[i], &sa, NULL);
}

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGCHLD);
	sigprocmask(SIG_BLOCK, set, NULL);
}

static __noreturn void child_main(const struct mmg_case *c, int out, pid_t parent)
{
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	sigset_t none;
	size_t i;
	int null;

	in_child = true;
	setpgid(0, 0);
	/* where memory runs out it is the case that goes, and the runner can say so */
	mmg_try_write("/proc/self/oom_score_adj", "1000");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (i = 0; i < ARRAY_SIZE(sigs); i++)
		signal(sigs[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	null = open("/dev/null", O_RDONLY);
	if (null >= 0)
		dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	c->fn(c);
	mmg_broken("the case ended without a verdict");
}

/* Lines of the child's output: "# CASE: " before each, or raw where marked */
struct lines {
	char buf[4 * LINE_LEN];
	size_t used;
	unsigned int printed;
	int in_assert;		/* lines seen of a failed TEST_ASSERT, 0 outside */
};

/*
 * "==== Test Assertion Failure ====", then where and what, then pid, then a
 * stack, then the message: keep the second and the last line.
 */
static void note_assert(struct lines *l, const char *line)
{
	static char where[LINE_LEN / 2];

	if (strstr(line, "Test Assertion Failure")) {
		l->in_assert = 1;
	} else if (l->in_assert == 1) {
		snprintf(where, sizeof(where), "%s", line + strspn(line, " "));
		snprintf(assert_line, sizeof(assert_line), "%s", where);
		l->in_assert = 2;
	} else if (l->in_assert && *line) {
		snprintf(assert_line, sizeof(assert_line), "%.500s: %.500s", where,
			 line + strspn(line, " "));
	}
}

static void print_line(struct lines *l, char *line)
{
	char *p;

	if (*line == RAW_MARK) {
		printf("%s\n", line + 1);
		return;
	}
	for (p = line; *p; p++) {
		if (iscntrl((unsigned char)*p) && *p != '\t')
			*p = ' ';
	}
	note_assert(l, line);
	if (++l->printed < MAX_OUTPUT)
		printf("# %s: %s\n", running, line);
	else if (l->printed == MAX_OUTPUT)
		printf("# %s: (further output dropped)\n", running);
}

static void take_output(struct lines *l, int fd, bool at_end)
{
	char *nl;
	ssize_t n;

	do {
		n = read(fd, l->buf + l->used, sizeof(l->buf) - 1 - l->used);
		if (n > 0)
			l->used += n;
		l->buf[l->used] = 0;
		while ((nl = memchr(l->buf, '\n', l->used))) {
			*nl++ = 0;
			print_line(l, l->buf);
			l->used -= nl - l->buf;
			memmove(l->buf, nl, l->used + 1);
		}
		if (l->used && (l->used == sizeof(l->buf) - 1 || (at_end && n <= 0))) {
			print_line(l, l->buf);
			l->used = 0;
		}
	} while (n > 0);
	fflush(stdout);
}

static double case_timeout(const struct mmg_case *c)
{
	const char *scale = getenv("MMGATE_TIMEOUT_SCALE");
	double s = scale ? strtod(scale, NULL) : 1;

	return (c->timeout_s ? c->timeout_s : DEFAULT_TIMEOUT_S) * (s > 0 ? s : 1);
}

static __printf(2, 3)
void set_result(enum result result, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line(shared->reason, sizeof(shared->reason), fmt, ap);
	va_end(ap);
	shared->result = result;
}

static void judge_exit(int status)
{
	if (WIFSIGNALED(status)) {
		set_result(BROKEN, "the case died of signal %d (%s) while %s", WTERMSIG(status),
			   strsignal(WTERMSIG(status)), shared->doing);
		return;
	}
	if (shared->result != NONE)
		return;
	if (*assert_line)
		set_result(BROKEN, "KVM library: %s (while %s)", assert_line, shared->doing);
	else
		set_result(BROKEN, "the case exited with %d and no verdict while %s",
			   WEXITSTATUS(status), shared->doing);
}

/*
 * Wait for the child: output, end, time-out, or a signal for us.  Returns the
 * signal that asks us to stop, or 0.
 */
static int watch_child(pid_t pid, int out, double limit)
{
	struct pollfd fds[2] = { { .fd = out, .events = POLLIN },
				 { .fd = sig_fd, .events = POLLIN } };
	double end = now() + limit;
	struct lines lines = { .used = 0 };
	int status, stop = 0;

	for (;;) {
		struct signalfd_siginfo si;
		int ms = (int)((end - now()) * 1000);

		poll(fds, 2, ms < 0 ? 0 : ms > 1000 ? 1000 : ms);
		take_output(&lines, out, false);
		while (read(sig_fd, &si, sizeof(si)) == sizeof(si)) {
			if (si.ssi_signo != SIGCHLD)
				stop = si.ssi_signo;
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (!stop && now() < end)
			continue;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (stop)
			set_result(BROKEN, "interrupted by signal %d (%s) while %s", stop,
				   strsignal(stop), shared->doing);
		else
			set_result(BROKEN, "took more than %.0f s, killed while %s", limit,
				   shared->doing);
		status = 0;
		break;
	}
	kill(-pid, SIGKILL);	/* helpers that it left behind */
	take_output(&lines, out, true);
	judge_exit(status);
	return stop;
}

static int fork_case(const struct mmg_case *c)
{
	pid_t pid, parent = getpid();
	int out[2], stop;

	if (pipe2(out, O_CLOEXEC)) {
		set_result(BROKEN, "pipe: %s", strerror(errno));
		return 0;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		child_main(c, out[1], parent);
	close(out[1]);
	if (pid < 0) {
		set_result(BROKEN, "fork: %s", strerror(errno));
		close(out[0]);
		return 0;
	}
	setpgid(pid, pid);
	__atomic_store_n(&child_pid, pid, __ATOMIC_RELAXED);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	stop = watch_child(pid, out[0], case_timeout(c));
	__atomic_store_n(&child_pid, 0, __ATOMIC_RELAXED);
	close(out[0]);
	return stop;
}

static bool save_declared(void)
{
	const char *const *s;
	int err;

	for (s = test->settings; s && *s; s++) {
		err = mmg_journal_save(*s);
		if (err) {
			set_result(BROKEN, "%s cannot be saved in the journal %s: %s", *s,
				   mmg_journal_path(), strerror(-err));
			return false;
		}
	}
	return true;
}

/* One case from its fork to its result line.  Returns the signal to stop for. */
static int run_case(const struct mmg_case *c, int nr)
{
	off_t mark = mmg_journal_mark();
	double start = now();
	int stop = 0, failed;

	running = c->name;
	/* for whoever has to say which case a panic belongs to */
	printf("# mmgate-case: %s\n", c->name);
	fflush(stdout);
	memset(shared, 0, sizeof(*shared));
	snprintf(shared->doing, sizeof(shared->doing), "starting");
	assert_line[0] = 0;
	if (c->destructive && !mmg_in_vm() && !mmg_opts.destructive)
		set_result(SKIP, "would disturb this host: run it in a VM or give --destructive");
	else if (save_declared())
		stop = fork_case(c);
	failed = mmg_journal_restore(mark);
	if (failed)
		printf("# %s: %d setting(s) could not be put back\n", c->name, failed);
	printf("# mmgate-time: %s %.3f\n", c->name, now() - start);
	print_result(nr, c->name, shared->result, shared->reason);
	running = NULL;
	return stop;
}

#define MAX_CASES	512

/*
 * The order of the cases: that of the table, or with MMGATE_SHUFFLE=SEED one drawn from the
 * seed and the test's name.  No case may depend on what ran before it.
 */
static size_t case_order(u32 *order)
{
	const char *text = getenv("MMGATE_SHUFFLE"), *name;
	size_t i, n = test->nr_cases < MAX_CASES ? test->nr_cases : MAX_CASES;
	u64 state = text ? strtoull(text, NULL, 10) : 0;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (name = test->name; *name; name++)
		state = state * 31 + (unsigned char)*name;
	if (text && *text)
		mmg_shuffle(order, n, &state);
	return n;
}

static int run_all(void)
{
	static u32 order[MAX_CASES];
	bool passed = false, bad = false;
	size_t i, n = case_order(order);
	int nr = 0;

	print_plan();
	for (i = 0; i < n; i++) {
		const struct mmg_case *c = &test->cases[order[i]];
		int stop;

		if (!wanted(c))
			continue;
		stop = run_case(c, ++nr);
		passed |= shared->result == PASS;
		bad |= shared->result == FAIL || shared->result == BROKEN;
		if (stop) {
			printf("Bail out! signal %d\n", stop);
			fflush(stdout);
			mmg_journal_close();
			exit(128 + stop);
		}
	}
	return bad ? 1 : passed ? 0 : 4;
}

/* --- command line -------------------------------------------------------------- */

static __noreturn void print_usage(const char *prog, int code)
{
	fprintf(code ? stderr : stdout,
		"usage: %s [-m SIZE] [--seed N] [--destructive] [-v] [-l] [-c GLOB]... [--restore]\n"
		"  -m SIZE        guest memory of an experiment (K, M, G; default 32M)\n"
		"  --seed N       labels and orders are drawn from it (default MMGATE_SEED or 1)\n"
		"  --destructive  run also what disturbs a production host\n"
		"  -l             list the cases\n"
		"  -c GLOB        only these cases\n"
		"  --restore      put back settings that an interrupted test left changed\n", prog);
	exit(code);
}

static size_t parse_size(const char *s, const char *prog)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 0);
	switch (toupper((unsigned char)*end)) {
	case 'G':
		v <<= 10;
		fallthrough;
	case 'M':
		v <<= 10;
		fallthrough;
	case 'K':
		v <<= 10;
		end++;
		break;
	}
	if (errno || end == s || *end || v < (2 << 20) || v > (1ULL << 40)) {
		fprintf(stderr, "%s: -m %s: not a size of 2M to 1T\n", prog, s);
		exit(2);
	}
	return v;
}

static u64 parse_seed(const char *s, const char *prog)
{
	char *end;
	u64 v;

	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || end == s || *end) {
		fprintf(stderr, "%s: --seed %s: not a number\n", prog, s);
		exit(2);
	}
	return v;
}

static bool parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "destructive", no_argument, NULL, 'd' },
		{ "restore", no_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *seed = getenv("MMGATE_SEED");
	size_t i;
	int opt;

	if (seed && *seed)
		mmg_opts.seed = parse_seed(seed, argv[0]);
	while ((opt = getopt_long(argc, argv, "m:vlc:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'm':
			mmg_opts.mem_bytes = parse_size(optarg, argv[0]);
			break;
		case 's':
			mmg_opts.seed = parse_seed(optarg, argv[0]);
			break;
		case 'd':
			mmg_opts.destructive = true;
			break;
		case 'v':
			mmg_opts.verbose = true;
			break;
		case 'c':
			if (nr_globs == MAX_GLOBS)
				print_usage(argv[0], 2);
			globs[nr_globs++] = optarg;
			break;
		case 'l':
			for (i = 0; i < test->nr_cases; i++)
				printf("%s\n", test->cases[i].name);
			exit(0);
		case 'r':
			return true;
		case 'h':
			print_usage(argv[0], 0);
		default:
			print_usage(argv[0], 2);
		}
	}
	if (optind < argc)
		print_usage(argv[0], 2);
	return false;
}

static int open_journal(const char *prog)
{
	int err = mmg_journal_open(JOURNAL_WAIT_S);

	if (!err) {
		if (mmg_journal_mark()) {
			printf("# settings that an interrupted test left changed: put back\n");
			if (mmg_journal_restore(0))
				printf("# some of them could not be put back\n");
		}
		return 0;
	}
	if (err == -EBUSY)
		fprintf(stderr, "%s: another test holds the journal %s: wait for it to end\n",
			prog, mmg_journal_path());
	else
		fprintf(stderr, "%s: journal %s: %s; set MMGATE_JOURNAL to a file of your own\n",
			prog, mmg_journal_path(), strerror(-err));
	return err;
}

int mmg_main(int argc, char **argv, const struct mmg_test *t)
{
	bool restore_only;
	sigset_t set;
	int ret;

	test = t;
	restore_only = parse_options(argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	if (nr_globs && !count_wanted()) {
		fprintf(stderr, "%s: no case matches; -l lists them\n", argv[0]);
		return 2;
	}
	if (open_journal(argv[0]))
		return 1;
	if (restore_only) {
		mmg_journal_close();
		return 0;
	}
	block_signals(&set);
	sig_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	catch_crashes();
	if (t->setup)
		t->setup();
	ret = run_all();
	mmg_journal_close();
	return ret;
}
