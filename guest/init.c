// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of the test VM: mounts, loads modules, runs the tests of its plan each
 * with a timeout, streams results, says goodbye, powers off.
 *
 * It talks to the host program over three virtio-serial ports:
 *   mmgate.ktap       results, KTAP, to the host only
 *   mmgate.artifacts  a tar stream of what the tests left, to the host only
 *   mmgate.control    lines, both ways: hello, beat, start, end, taint,
 *                     request, goodbye; and key and reply from the host
 * The kernel's own words stay alone on the console.
 *
 * Tests run as root.  After hello the host sends a key, which only PID 1 and the
 * host know: each line of the control port carries a tag made with it, and goodbye
 * one of all that was said on the KTAP port (sign.h).  PID 1 cannot be traced, and
 * what a test does not need to do its work, but would need to take PID 1's place,
 * is taken from it (see drop_capabilities()).
 *
 * The plan (/mmgate/plan) is one command a line, words separated by a blank:
 *   module PATH [OPTIONS]        write PATH VALUE          env NAME=VALUE
 *   swap zram BYTES              swap disk SERIAL          mount SERIAL FSTYPE DIR
 *   scale N                      test NAME SECONDS PATH [ARG...]
 *   hostroot TAG DIR             shell DIR                 (DIR: where it starts)
 *   command TEXT                 (what the shell runs; \n and \\ stand for newline and \)
 *   keep NAME PATH               (after the last test PATH is sent as the artifact NAME)
 *   ports                        what follows can be told to the host
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sign.h"

#define PLAN "/mmgate/plan"
#define ARTIFACTS "/run/artifacts"
#define CONTROL "/run/mmgate.sock"
#define BOOT_DIR "/run/mmgate/boot"	/* what selftests/mm/lowmem_reserve_test.c reads */
#define BOOT_BYTES (1024 * 1024)		/* no file kept there is larger */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define __printf(f, a) __attribute__((format(printf, f, a)))

#define PATHS "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define LINE_BYTES 4096			/* a longer line of a test is cut */
#define TEST_BYTES (8 << 20)		/* and so is what a test says in all */
#define DRAIN_ROUNDS 8
#define MAX_ARGS 64
#define MAX_ENV 32
#define MAX_TESTS 512
#define MAX_NEEDS 2048
#define MAX_CLIENTS 8
#define MAX_KEPT 64
#define KEPT_BYTES (8 << 20)	/* no file that the plan keeps is larger */
#define BEAT_MS 1000
#define KILL_GRACE_MS 3000
#define PORT_WAIT_MS 10000
#define CONTROL_BYTES 2000		/* of a line on the control port */
/* Of the tests; the host takes a little more (host/vm/vm.c), for what PID 1 itself leaves */
#define ARTIFACT_FILES 1990
#define ARTIFACT_BYTES (240ULL << 20)
#define ARTIFACT_DEPTH 4
#define LEFT_OUT_SAID 20		/* artifacts that are named as left out */

struct line_buf {
	char buf[LINE_BYTES];
	size_t len;
	bool cut;
};

struct client {
	int fd;
	unsigned int id;
	bool asked;
};

static int ktap = -1, artifacts = -1, control = -1, listener = -1, kmsg = -1;
static struct client clients[MAX_CLIENTS];
static struct line_buf control_in;
static char *envs[MAX_ENV + 1];
static size_t nr_envs;
static char *tests[MAX_TESTS];
static struct stat programs[MAX_TESTS];	/* of the tests, before the first one ran */
static size_t nr_tests;
static unsigned char key[SIGN_KEY_BYTES];
static bool have_key;
static unsigned long long nr_told;
static struct sign ktap_sign;
static int taint_fd = -1;
static dev_t artifacts_dev;
static unsigned long long artifact_bytes;
static unsigned int artifact_files, over_files, left_out;
static char *shell, *shell_root, *shell_command;
static struct kept {
	char *name, *path;
} kept[MAX_KEPT];
static size_t nr_kept;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (fd >= 0 && len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			poll(&pfd, 1, 1000);
			continue;
		}
		if (n <= 0)
			return;
		p += n;
		len -= n;
	}
}

static void __printf(2, 3) say(int fd, const char *fmt, ...)
{
	char line[LINE_BYTES + 256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	write_all(fd, line, n);
}

/* A line on the control port, signed once there is a key */
static void __printf(1, 2) tell(const char *fmt, ...)
{
	char line[CONTROL_BYTES + 32];
	va_list ap;
	int n, i;

	va_start(ap, fmt);
	n = vsnprintf(line, CONTROL_BYTES, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > CONTROL_BYTES - 1)
		n = CONTROL_BYTES - 1;
	/* the host cleans lines before it reads them: what it would change is changed here */
	for (i = 0; i < n; i++)
		if (line[i] < 0x20 || line[i] > 0x7e)
			line[i] = '?';
	if (have_key)
		n += snprintf(line + n, 32, " ~%016llx",
			      sign_line(key, nr_told++, line, n));
	line[n++] = '\n';
	write_all(control, line, n);
}

/* A line on the KTAP port */
static void __printf(1, 2) report(const char *fmt, ...)
{
	char line[LINE_BYTES + 256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	sign_add(&ktap_sign, line, n);
	write_all(ktap, line, n);
}

/* Trouble of PID 1 itself: to the host where it can hear, else to the console */
static void __printf(1, 2) trouble(const char *fmt, ...)
{
	char text[CONTROL_BYTES - 20];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (control >= 0)
		tell("trouble %s", text);
	else
		say(kmsg, "mmgate: trouble %s", text);
}

static int write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	while (n && buf[n - 1] == '\n')
		buf[--n] = '\0';
	return n;
}

static void mount_one(const char *type, const char *dir, const char *data, bool must)
{
	mkdir(dir, 0755);
	if (mount(type, dir, type, 0, data) && errno != EBUSY && must)
		trouble("mount %s on %s: %s", type, dir, strerror(errno));
}

/* Give every controller of the root group to its children, one at a time: one may be taken */
static void enable_controllers(void)
{
	char buf[1024], word[80], *p, *save;

	if (read_file("/sys/fs/cgroup/cgroup.controllers", buf, sizeof(buf)) < 0)
		return;
	for (p = strtok_r(buf, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
		snprintf(word, sizeof(word), "+%.70s", p);
		write_file("/sys/fs/cgroup/cgroup.subtree_control", word);
	}
}

static void mount_all(void)
{
	static const char * const dirs[] = { "/proc", "/sys", "/dev", "/tmp", "/run", "/mnt" };
	struct stat st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		mkdir(dirs[i], 0755);
	mount_one("devtmpfs", "/dev", NULL, true);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	mount_one("proc", "/proc", NULL, true);
	mount_one("sysfs", "/sys", NULL, true);
	mount_one("tmpfs", "/tmp", "size=25%", true);
	mount_one("tmpfs", "/run", "size=10%", true);
	mount_one("debugfs", "/sys/kernel/debug", NULL, false);
	mount_one("tracefs", "/sys/kernel/tracing", NULL, false);
	mount_one("cgroup2", "/sys/fs/cgroup", NULL, false);
	enable_controllers();
	mkdir("/dev/shm", 01777);
	mount_one("tmpfs", "/dev/shm", NULL, false);
	mkdir(ARTIFACTS, 0755);
	if (!lstat(ARTIFACTS, &st))
		artifacts_dev = st.st_dev;
	taint_fd = open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC);
}

/*
 * Copy at most @max bytes of a file of /proc or debugfs, which has no size of its own, to the new
 * file @to.  Returns 0, -EFBIG where there is more, or another negative errno.
 */
static int keep_file(const char *from, const char *to, size_t max)
{
	static char buf[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out, ret = 0;
	size_t total = 0;
	ssize_t n = 0;

	if (in < 0)
		return -errno;
	out = open(to, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (out < 0)
		ret = -errno;
	while (out >= 0 && total < max && (n = read(in, buf, sizeof(buf))) > 0) {
		write_all(out, buf, n);
		total += n;
	}
	if (n < 0)
		ret = -errno;
	else if (out >= 0 && total >= max)
		ret = -EFBIG;
	if (out >= 0)
		close(out);
	close(in);
	return ret;
}

/* The kernel's log as a file */
static void keep_log(const char *to)
{
	int size = klogctl(10, NULL, 0), n, fd;
	char *buf = size > 0 ? malloc(size) : NULL;

	n = buf ? klogctl(3, buf, size) : -1;
	fd = open(to, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd >= 0) {
		if (n > 0)
			write_all(fd, buf, n);
		close(fd);
	}
	free(buf);
}

/*
 * The zones as boot left them.  On some kernels a mere read of the ratio recomputes
 * their reserves, so this comes first, and a second look shows what the read did.
 */
static void keep_boot_rows(void)
{
	mkdir("/run/mmgate", 0755);
	mkdir(BOOT_DIR, 0755);
	keep_file("/proc/zoneinfo", BOOT_DIR "/zoneinfo", BOOT_BYTES);
	keep_file("/proc/sys/vm/lowmem_reserve_ratio", BOOT_DIR "/ratio", BOOT_BYTES);
	keep_file("/proc/zoneinfo", BOOT_DIR "/zoneinfo-after-read", BOOT_BYTES);
	keep_log(BOOT_DIR "/dmesg");
}

static void load_module(char *path)
{
	char *opts = strchr(path, ' ');
	int fd;

	if (opts)
		*opts++ = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, opts ? opts : "", 0) && errno != EEXIST))
		trouble("module %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* The device whose virtio-blk serial is @serial, waiting for it to come up */
static bool find_disk(const char *serial, char *dev, size_t size)
{
	long long end = now_ms() + 5000;

	do {
		DIR *d = opendir("/sys/block");
		struct dirent *e;

		while (d && (e = readdir(d))) {
			char path[300], got[64];

			snprintf(path, sizeof(path), "/sys/block/%.240s/serial", e->d_name);
			if (read_file(path, got, sizeof(got)) > 0 && !strcmp(got, serial)) {
				snprintf(dev, size, "/dev/%.240s", e->d_name);
				closedir(d);
				return true;
			}
		}
		if (d)
			closedir(d);
		usleep(10000);	/* device nodes appear without an event that PID 1 could await */
	} while (now_ms() < end);
	return false;
}

/* A version 1 swap header (include/linux/swap.h: union swap_header) */
static int make_swap(const char *dev)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd = open(dev, O_RDWR | O_CLOEXEC), ret = 0;
	char *header = calloc(1, page);
	off_t size;

	if (fd < 0 || !header) {
		ret = -errno;
		goto out;
	}
	size = lseek(fd, 0, SEEK_END);
	((uint32_t *)(header + 1024))[0] = 1;
	((uint32_t *)(header + 1024))[1] = size / page - 1;
	memcpy(header + page - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, header, page, 0) != page || fsync(fd))
		ret = -errno;
out:
	if (fd >= 0)
		close(fd);
	free(header);
	return ret;
}

static void setup_swap(const char *kind, const char *what)
{
	char dev[300] = "/dev/zram0";
	int ret;

	if (!strcmp(kind, "zram")) {
		ret = write_file("/sys/block/zram0/disksize", what);
		if (ret) {
			trouble("swap: /sys/block/zram0/disksize: %s", strerror(-ret));
			return;
		}
	} else if (!find_disk(what, dev, sizeof(dev))) {
		trouble("swap: no disk with serial %s", what);
		return;
	}
	ret = make_swap(dev);
	if (!ret && swapon(dev, 0))
		ret = -errno;
	if (ret)
		trouble("swap on %s: %s", dev, strerror(-ret));
}

static void mount_disk(const char *serial, const char *type, const char *dir)
{
	char dev[300];

	mkdir(dir, 0755);
	if (!find_disk(serial, dev, sizeof(dev)))
		trouble("mount: no disk with serial %s", serial);
	else if (mount(dev, dir, type, 0, NULL))
		trouble("mount %s (%s) on %s: %s", dev, type, dir, strerror(errno));
}

/*
 * The host's own file system as @dir, for a person's shell: read-only over 9p,
 * with what is written kept in the guest's memory.
 */
static void mount_host(const char *tag, const char *dir)
{
	static const char * const binds[] = { "/proc", "/sys", "/dev", "/run" };
	char target[128];
	size_t i;

	mkdir("/lower", 0755);
	mkdir("/upper", 0755);
	mkdir(dir, 0755);
	mount("tmpfs", "/upper", "tmpfs", 0, NULL);
	mkdir("/upper/data", 0755);
	mkdir("/upper/work", 0755);
	if (mount(tag, "/lower", "9p", MS_RDONLY,
		  "trans=virtio,version=9p2000.L,msize=262144,cache=loose")) {
		trouble("mount the host over 9p: %s", strerror(errno));
		return;
	}
	if (mount("overlay", dir, "overlay", 0,
		  "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work")) {
		trouble("mount an overlay over the host's files: %s", strerror(errno));
		return;
	}
	for (i = 0; i < ARRAY_SIZE(binds); i++) {
		snprintf(target, sizeof(target), "%s%s", dir, binds[i]);
		mount(binds[i], target, NULL, MS_BIND | MS_REC, NULL);
	}
	shell_root = strdup(dir);
}

/* Open the port of this name; the names are in sysfs, the nodes are numbered */
static int open_port(const char *name)
{
	DIR *d = opendir("/sys/class/virtio-ports");
	struct dirent *e;
	int fd = -1;

	while (d && (e = readdir(d))) {
		char path[300], got[64];

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%.240s/name", e->d_name);
		if (read_file(path, got, sizeof(got)) < 0 || strcmp(got, name))
			continue;
		snprintf(path, sizeof(path), "/dev/%.240s", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		break;
	}
	if (d)
		closedir(d);
	return fd;
}

static bool open_ports(void)
{
	long long end = now_ms() + PORT_WAIT_MS;

	for (;;) {
		if (ktap < 0)
			ktap = open_port("mmgate.ktap");
		if (artifacts < 0)
			artifacts = open_port("mmgate.artifacts");
		if (control < 0)
			control = open_port("mmgate.control");
		if (ktap >= 0 && artifacts >= 0 && control >= 0)
			return true;
		if (now_ms() > end)
			return false;
		usleep(5000);	/* see find_disk() */
	}
}

/* A copy of @text with \n made a newline and \\ a backslash */
static char *unescaped(const char *text)
{
	char *copy = strdup(text), *to = copy;

	for (; copy && *text; text++) {
		if (*text == '\\' && text[1])
			*to++ = *++text == 'n' ? '\n' : *text;
		else
			*to++ = *text;
	}
	if (copy)
		*to = '\0';
	return copy;
}

/* "NAME SECONDS PATH ...": what PATH is now, it must be when it runs */
static void add_test(const char *spec)
{
	char path[512];

	if (sscanf(spec, "%*s %*s %511s", path) == 1)
		stat(path, &programs[nr_tests]);
	tests[nr_tests++] = strdup(spec);
}

/*
 * What a test needs, by its head comment (mmgate-needs): a path that has to be there, or
 * the host's word that the kernel lacks an option.
 */
static struct need {
	char *test, *what;
	bool is_path;
} needs[MAX_NEEDS];

static size_t nr_needs;

/* Why a test cannot run here, in one line; false where nothing is missing */
static bool lacks(const char *test, char *why, size_t size)
{
	size_t i;

	for (i = 0; i < nr_needs; i++) {
		if (!needs[i].test || !needs[i].what || strcmp(needs[i].test, test))
			continue;
		if (!needs[i].is_path) {
			snprintf(why, size, "%s", needs[i].what);
			return true;
		}
		if (access(needs[i].what, F_OK)) {
			snprintf(why, size, "needs %s, which is not there: %s", needs[i].what,
				 strerror(errno));
			return true;
		}
	}
	return false;
}

static void plan_line(char *line)
{
	char *rest = strchr(line, ' '), *next;

	if (rest)
		*rest++ = '\0';
	else
		rest = line + strlen(line);
	next = strchr(rest, ' ');
	if (!strcmp(line, "module")) {
		load_module(rest);
	} else if (!strcmp(line, "env") && nr_envs < MAX_ENV) {
		envs[nr_envs++] = strdup(rest);
	} else if (!strcmp(line, "test") && nr_tests < MAX_TESTS) {
		add_test(rest);
	} else if ((!strcmp(line, "skip") || !strcmp(line, "path")) && next &&
		   nr_needs < MAX_NEEDS) {
		*next++ = '\0';
		needs[nr_needs].test = strdup(rest);
		needs[nr_needs].what = strdup(next);
		needs[nr_needs++].is_path = !strcmp(line, "path");
	} else if (!strcmp(line, "shell")) {
		shell = strdup(rest);
	} else if (!strcmp(line, "command")) {
		shell_command = unescaped(rest);
	} else if (!strcmp(line, "keep") && next && nr_kept < MAX_KEPT) {
		*next++ = '\0';
		kept[nr_kept].name = strdup(rest);
		kept[nr_kept++].path = strdup(next);
	} else if (!strcmp(line, "hostroot") && next) {
		*next++ = '\0';
		mount_host(rest, next);
	} else if (!strcmp(line, "write") && next) {
		int ret;

		*next++ = '\0';
		ret = write_file(rest, next);
		if (ret)
			trouble("write %s to %s: %s", next, rest, strerror(-ret));
	} else if (!strcmp(line, "swap") && next) {
		*next++ = '\0';
		setup_swap(rest, next);
	} else if (!strcmp(line, "mount") && next) {
		char *dir;

		*next++ = '\0';
		dir = strchr(next, ' ');
		if (dir) {
			*dir++ = '\0';
			mount_disk(rest, next, dir);
		}
	} else {
		trouble("plan: cannot follow '%s %s'", line, rest);
	}
}

/* Lines from "ports" on need the ports: what goes wrong there is told to the host */
static bool read_plan(FILE **plan, bool early)
{
	static char line[65536];

	if (!*plan)
		*plan = fopen(PLAN, "re");
	if (!*plan)
		return false;
	while (fgets(line, sizeof(line), *plan)) {
		line[strcspn(line, "\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		if (!strcmp(line, "ports")) {
			if (early)
				return true;
			continue;
		}
		plan_line(line);
	}
	return true;
}

static void listen_control(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = CONTROL };
	size_t i;

	for (i = 0; i < MAX_CLIENTS; i++)
		clients[i].fd = -1;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener >= 0 && (bind(listener, (struct sockaddr *)&sa, sizeof(sa)) ||
			      listen(listener, MAX_CLIENTS))) {
		close(listener);
		listener = -1;
	}
}

static void drop_client(struct client *c)
{
	close(c->fd);
	c->fd = -1;
	c->asked = false;
}

static void accept_client(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t i;

	if (fd < 0)
		return;
	for (i = 0; i < MAX_CLIENTS; i++) {
		if (clients[i].fd < 0) {
			clients[i].fd = fd;
			clients[i].asked = false;
			return;
		}
	}
	close(fd);
}

/* A test's request goes to the host under a number, which the answer carries */
static void read_client(struct client *c)
{
	static unsigned int last_id;
	char line[512];
	ssize_t n = read(c->fd, line, sizeof(line) - 1);

	if (n <= 0) {
		if (!n || errno != EAGAIN)
			drop_client(c);
		return;
	}
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	c->id = ++last_id;
	c->asked = true;
	tell("request %u %s", c->id, line);
}

static void answer_client(char *line)
{
	char *rest;
	unsigned int id = strtoul(line, &rest, 10);
	size_t i;

	for (i = 0; i < MAX_CLIENTS; i++) {
		if (clients[i].fd >= 0 && clients[i].asked && clients[i].id == id) {
			say(clients[i].fd, "%s", rest + (*rest == ' '));
			drop_client(&clients[i]);
		}
	}
}

static void take_key(const char *hex)
{
	size_t i;

	for (i = 0; i < sizeof(key); i++)
		if (sscanf(hex + 2 * i, "%2hhx", &key[i]) != 1)
			return;
	have_key = true;
	sign_begin(&ktap_sign, key);
}

static void read_control(void)
{
	char buf[1024];
	ssize_t n = read(control, buf, sizeof(buf)), i;

	for (i = 0; i < n; i++) {
		if (buf[i] != '\n') {
			if (control_in.len < sizeof(control_in.buf) - 1)
				control_in.buf[control_in.len++] = buf[i];
			continue;
		}
		control_in.buf[control_in.len] = '\0';
		control_in.len = 0;
		if (!strncmp(control_in.buf, "reply ", 6))
			answer_client(control_in.buf + 6);
		else if (!strncmp(control_in.buf, "key ", 4) && !have_key)
			take_key(control_in.buf + 4);
	}
}

/* Before any test runs, so none can read it */
static void await_key(void)
{
	long long end = now_ms() + PORT_WAIT_MS;
	struct pollfd pfd = { .fd = control, .events = POLLIN };

	while (!have_key && now_ms() < end)
		if (poll(&pfd, 1, 1000) > 0)
			read_control();
	memset(&control_in, 0, sizeof(control_in));
}

static void beat(void)
{
	static long long next;

	if (now_ms() >= next) {
		next = now_ms() + BEAT_MS;
		tell("beat");
	}
}

/* Relay what a test says, a line at a time, indented as a KTAP subtest */
static void relay(struct line_buf *b, const char *prefix, const char *data, size_t n, size_t *said)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (data[i] != '\n') {
			if (b->len < sizeof(b->buf) - 1)
				b->buf[b->len++] = data[i];
			continue;
		}
		b->buf[b->len] = '\0';
		if (*said < TEST_BYTES)
			report("  %s%s", prefix, b->buf);
		else if (!b->cut)
			report("  # mmgate: output over %d bytes is cut", TEST_BYTES);
		b->cut = *said >= TEST_BYTES;
		*said += b->len + 1;
		b->len = 0;
	}
}

/* ---- artifacts: a ustar stream, by POSIX.1-1988's header layout ---- */

/* Octal digits and a NUL; the header is zeroed */
static void octal(char *field, size_t size, unsigned long long value)
{
	size_t i;

	for (i = size - 1; i--; value >>= 3)
		field[i] = '0' + (value & 7);
}

static void tar_header(const char *name, unsigned long long size)
{
	char h[512] = "";
	unsigned int sum = 0;
	size_t i;

	snprintf(h, 100, "%s", name);
	octal(h + 100, 8, 0644);
	octal(h + 108, 8, 0);
	octal(h + 116, 8, 0);
	octal(h + 124, 12, size);
	octal(h + 136, 12, 0);
	h[156] = '0';
	memcpy(h + 257, "ustar", 6);
	memcpy(h + 263, "00", 2);
	memset(h + 148, ' ', 8);
	for (i = 0; i < sizeof(h); i++)
		sum += (unsigned char)h[i];
	octal(h + 148, 7, sum);
	write_all(artifacts, h, sizeof(h));
}

static void leave_out(const char *name, const char *why)
{
	if (left_out++ < LEFT_OUT_SAID)
		trouble("artifact %.200s is left out: %s", name, why);
}

/*
 * A test may have left anything: no link is followed, no pipe or device opened, no other mount
 * entered, no more sent than the host takes; and what is left out is said.
 */
static void tar_file(int dir, const char *base, const char *name, dev_t dev)
{
	static char buf[65536];
	unsigned long long left;
	struct stat st;
	int fd;

	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_dev != dev) {
		leave_out(name, "it is not a regular file");
		return;
	}
	if (strlen(name) > 99) {
		leave_out(name, "its name is longer than 99 bytes");
		return;
	}
	if (st.st_size + artifact_bytes > ARTIFACT_BYTES) {
		leave_out(name, "more bytes than the host takes");
		return;
	}
	if (artifact_files >= ARTIFACT_FILES && dir != AT_FDCWD) {
		over_files++;
		return;
	}
	fd = openat(dir, base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		leave_out(name, strerror(errno));
		return;
	}
	artifact_files++;
	artifact_bytes += st.st_size + 1024;
	tar_header(name, st.st_size);
	for (left = st.st_size; left; ) {
		ssize_t n = read(fd, buf, left < sizeof(buf) ? left : sizeof(buf));

		if (n <= 0) {	/* it shrank: keep the stream in step */
			n = left < sizeof(buf) ? left : sizeof(buf);
			memset(buf, 0, n);
		}
		write_all(artifacts, buf, n);
		left -= n;
		beat();
	}
	memset(buf, 0, 512);
	write_all(artifacts, buf, (512 - st.st_size % 512) % 512);
	close(fd);
}

/* Send the files of the folder @base in @parent and take them away */
static void tar_dir(int parent, const char *base, const char *prefix, int depth)
{
	int fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		char name[512];
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		beat();
		if (snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "/" : "",
			     e->d_name) >= (int)sizeof(name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!S_ISDIR(st.st_mode)) {
			tar_file(fd, e->d_name, name, artifacts_dev);
			unlinkat(fd, e->d_name, 0);
			continue;
		}
		if (depth < ARTIFACT_DEPTH && st.st_dev == artifacts_dev)
			tar_dir(fd, e->d_name, name, depth + 1);
		else
			leave_out(name, "a folder too deep, or another mount");
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

static void send_artifacts(void)
{
	struct stat st;

	if (!lstat(ARTIFACTS, &st) && S_ISDIR(st.st_mode) && st.st_dev == artifacts_dev) {
		tar_dir(AT_FDCWD, ARTIFACTS, "", 0);
		return;
	}
	trouble("artifacts: the test replaced %s: what it left there is lost", ARTIFACTS);
	umount2(ARTIFACTS, MNT_DETACH | UMOUNT_NOFOLLOW);
	if (lstat(ARTIFACTS, &st) || !S_ISDIR(st.st_mode)) {
		unlink(ARTIFACTS);
		mkdir(ARTIFACTS, 0755);
	}
	if (!lstat(ARTIFACTS, &st))
		artifacts_dev = st.st_dev;
}

/* The files that the plan asked for, each whole or not at all, whatever tests did in /run */
static void send_kept(void)
{
	static const char * const copy = "/run/kept";
	struct stat st;
	size_t i;
	int ret;

	for (i = 0; i < nr_kept; i++) {
		unlink(copy);
		ret = keep_file(kept[i].path, copy, KEPT_BYTES);
		if (ret)
			trouble("keep %s: %s", kept[i].path, strerror(-ret));
		else if (!lstat(copy, &st))
			tar_file(AT_FDCWD, copy, kept[i].name, st.st_dev);
		beat();
	}
	unlink(copy);
}

static void send_dmesg(void)
{
	int size = klogctl(10, NULL, 0), n, fd;
	char *buf = size > 0 ? malloc(size) : NULL;
	struct stat st;

	n = buf ? klogctl(3, buf, size) : -1;
	unlink("/run/dmesg.txt");
	fd = open("/run/dmesg.txt", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0 && !fstat(fd, &st)) {
		if (n > 0)
			write_all(fd, buf, n);
		tar_file(AT_FDCWD, "/run/dmesg.txt", "dmesg.txt", st.st_dev);
	}
	if (fd >= 0)
		close(fd);
	if (over_files)
		trouble("artifacts: %u are left out, over the %d that are taken", over_files,
			ARTIFACT_FILES);
	if (left_out > LEFT_OUT_SAID)
		trouble("artifacts: %u more are left out", left_out - LEFT_OUT_SAID);
	free(buf);
}

/* ---- tests ---- */

/*
 * Tests are root's, but do without what would let them be PID 1: trace it or take its
 * descriptors (ptrace(2), pidfd_getfd(2)), read memory through /dev/mem or /proc/kcore,
 * load code into the kernel, or end the VM by reboot(2).
 */
static void drop_capabilities(void)
{
	static const int drop[] = {
		CAP_SYS_PTRACE, CAP_SYS_RAWIO, CAP_SYS_MODULE, CAP_SYS_BOOT,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(drop); i++)
		prctl(PR_CAPBSET_DROP, drop[i], 0, 0, 0);
}

static pid_t start_test(char **argv, int *out, int *err)
{
	int o[2], e[2];
	pid_t pid;

	if (pipe2(o, O_CLOEXEC))
		return -1;
	if (pipe2(e, O_CLOEXEC)) {
		close(o[0]);
		close(o[1]);
		return -1;
	}
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDONLY);

		setsid();
		dup2(null, 0);
		dup2(o[1], 1);
		dup2(e[1], 2);
		chdir("/tmp");
		drop_capabilities();
		execve(argv[0], argv, envs);
		dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(o[1]);
	close(e[1]);
	*out = o[0];
	*err = e[0];
	fcntl(*out, F_SETFL, O_NONBLOCK);
	fcntl(*err, F_SETFL, O_NONBLOCK);
	return pid;
}

/*
 * Read what is there, or some of it: a test that never stops talking must keep
 * PID 1 neither from its beat nor from the test's timeout.  False at the end of
 * the pipe.
 */
static bool drain(int fd, struct line_buf *b, const char *prefix, size_t *said)
{
	char buf[8192];
	ssize_t n = 0;
	int rounds;

	for (rounds = 0; rounds < DRAIN_ROUNDS; rounds++) {
		n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		relay(b, prefix, buf, n, said);
	}
	return true;
}

static void poll_once(int out, int err, int timeout)
{
	struct pollfd p[4 + MAX_CLIENTS] = {
		{ .fd = control, .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
		{ .fd = out, .events = POLLIN },
		{ .fd = err, .events = POLLIN },
	};
	size_t i;

	for (i = 0; i < MAX_CLIENTS; i++) {
		p[4 + i].fd = clients[i].fd;
		p[4 + i].events = POLLIN;
	}
	poll(p, 4 + MAX_CLIENTS, timeout);
	if (p[0].revents & POLLIN)
		read_control();
	for (i = 0; i < MAX_CLIENTS; i++)
		if (clients[i].fd >= 0 && p[4 + i].revents)
			read_client(&clients[i]);
	if (p[1].revents & POLLIN)
		accept_client();
}

/* Everything that was started is ended: PID 1 itself is spared by kill(-1) */
static void kill_all(int sig)
{
	kill(-1, sig);
}

/* Flags of the kernel's taint, by a descriptor from before the first test */
static unsigned long long taint(void)
{
	char buf[32];
	ssize_t n = pread(taint_fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = '\0';
	return strtoull(buf, NULL, 10);
}

/* True where a test's program is the one that this VM was given */
static bool same_program(size_t i, const char *path)
{
	struct stat st, *was = &programs[i];

	return !stat(path, &st) && st.st_dev == was->st_dev && st.st_ino == was->st_ino &&
	       st.st_size == was->st_size && st.st_ctim.tv_sec == was->st_ctim.tv_sec &&
	       st.st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

static void run_test(size_t nr, char *spec)
{
	static struct line_buf out_buf, err_buf;
	char *argv[MAX_ARGS + 1] = { }, *name = strtok(spec, " ");
	int secs = atoi(strtok(NULL, " ") ?: "60"), out, err, status = 0, argc = 0;
	bool out_open = true, err_open = true, late = false, done = false;
	long long begin = now_ms(), limit, kill_at = 0;
	unsigned long long tainted = taint(), taints;
	char why[256], *word;
	size_t said = 0;
	pid_t pid;

	while (argc < MAX_ARGS && (word = strtok(NULL, " ")))
		argv[argc++] = word;
	if (!argc) {
		trouble("plan: test %s names no program", name);
		return;
	}
	tell("start %s", name);
	/* a warning, so that it gets onto the console, where splats are tied to it */
	say(kmsg, "<4>mmgate: start %s", name);
	report("  # Subtest: %s", name);
	if (lacks(name, why, sizeof(why))) {
		report("  1..0 # SKIP %s", why);
		report("ok %zu %s # SKIP %s", nr, name, why);
		say(kmsg, "<4>mmgate: end %s", name);
		tell("end %s", name);
		return;
	}
	memset(&out_buf, 0, sizeof(out_buf));
	memset(&err_buf, 0, sizeof(err_buf));
	limit = begin + secs * 1000LL;
	if (!same_program(nr - 1, argv[0])) {
		report("not ok %zu %s # ERROR its program was changed by a test before it", nr,
		       name);
		tell("end %s", name);
		return;
	}
	pid = start_test(argv, &out, &err);
	if (pid < 0) {
		report("not ok %zu %s # ERROR cannot start: %s", nr, name, strerror(errno));
		return;
	}
	while (!done || out_open || err_open) {
		pid_t got;
		int how;

		poll_once(out_open ? out : -1, err_open ? err : -1, done ? 50 : 100);
		beat();
		if (out_open)
			out_open = drain(out, &out_buf, "", &said);
		if (err_open)
			err_open = drain(err, &err_buf, "# stderr: ", &said);
		while ((got = waitpid(-1, &how, WNOHANG)) > 0) {
			if (got != pid)
				continue;	/* an orphan's end is not the test's */
			status = how;
			done = true;
			kill_at = now_ms() + KILL_GRACE_MS;
			break;
		}
		if (!done && !late && now_ms() > limit) {
			late = true;
			kill(-pid, SIGTERM);
			kill_at = now_ms() + KILL_GRACE_MS;
		}
		if (kill_at && now_ms() > kill_at) {
			kill_all(SIGKILL);
			if (done)
				break;	/* a straggler held the pipes open */
			kill_at = now_ms() + KILL_GRACE_MS;
		}
	}
	relay(&out_buf, "", "\n", out_buf.len ? 1 : 0, &said);
	relay(&err_buf, "# stderr: ", "\n", err_buf.len ? 1 : 0, &said);
	close(out);
	close(err);
	kill_all(SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	send_artifacts();
	report("  # mmgate: %s %s %d after %lld ms", name,
	       late ? "timeout" : WIFEXITED(status) ? "exit" : "signal",
	       late ? secs : WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
	       now_ms() - begin);
	if (late)
		report("not ok %zu %s # ERROR over its %d s", nr, name, secs);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		report("ok %zu %s # SKIP all of it", nr, name);
	else
		report("%sok %zu %s", WIFEXITED(status) && !WEXITSTATUS(status) ? "" : "not ",
		       nr, name);
	taints = taint();
	if (taints & ~tainted)
		tell("taint %s %llx %llx", name, tainted, taints);
	say(kmsg, "<4>mmgate: end %s", name);
	tell("end %s", name);
}

static void run_shell(void)
{
	char *argv[4] = { (char *)"/bin/sh", (char *)"-l", NULL, NULL };
	pid_t pid;

	if (shell_command) {
		argv[1] = (char *)"-c";
		argv[2] = shell_command;
	}
	pid = fork();
	if (!pid) {
		int tty;

		setsid();
		tty = open("/dev/console", O_RDWR);
		ioctl(tty, TIOCSCTTY, 1);
		dup2(tty, 0);
		dup2(tty, 1);
		dup2(tty, 2);
		if (shell_root && chroot(shell_root))
			dprintf(2, "chroot %s: %s\n", shell_root, strerror(errno));
		if (chdir(shell))
			dprintf(2, "chdir %s: %s\n", shell, strerror(errno));
		if (!shell_command && shell_root && !access("/bin/bash", X_OK))
			argv[0] = (char *)"/bin/bash";
		execve(argv[0], argv, envs);
		dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	for (;;) {
		int status;

		poll_once(-1, -1, BEAT_MS / 10);
		beat();
		if (waitpid(-1, &status, WNOHANG) == pid) {
			tell("exit %d", WIFEXITED(status) ? WEXITSTATUS(status) :
			    128 + WTERMSIG(status));
			return;
		}
	}
}

static noreturn void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

int main(void)
{
	long long born = now_ms();
	struct utsname uts;
	FILE *plan = NULL;
	bool ports;
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_DUMPABLE, 0);	/* /proc/1 and ptrace(2) ask for it */
	mount_all();
	if (getpid() != 1) {
		fprintf(stderr, "%s: this is PID 1 of a test VM, not for a running system\n", PLAN);
		return 2;
	}
	keep_boot_rows();
	if (!read_plan(&plan, true))
		trouble("no plan in %s: %s", PLAN, strerror(errno));
	ports = open_ports();
	if (!ports) {
		say(kmsg, "<3>mmgate: no virtio-serial ports: the kernel needs %s",
		    "CONFIG_VIRTIO_CONSOLE and CONFIG_VIRTIO_PCI, built in or as modules");
		power_off();
	}
	uname(&uts);
	/* the kernel's clock: how long it took to come here, and when this is said */
	tell("hello 1 %s %lld %lld", uts.release, born, now_ms());
	await_key();
	envs[nr_envs++] = (char *)"PATH=" PATHS;
	envs[nr_envs++] = (char *)"HOME=/root";
	envs[nr_envs++] = (char *)"MMGATE_VM=1";
	envs[nr_envs++] = (char *)"MMGATE_ARTIFACTS=" ARTIFACTS;
	envs[nr_envs++] = (char *)"MMGATE_CONTROL=" CONTROL;
	read_plan(&plan, false);
	listen_control();
	if (taint())
		tell("taint - 0 %llx", taint());
	tell("ready");
	report("KTAP version 1");
	report("1..%zu", nr_tests);
	for (i = 0; i < nr_tests; i++)
		run_test(i + 1, tests[i]);
	if (shell)
		run_shell();
	send_kept();
	send_dmesg();
	tell("goodbye %llu %016llx", ktap_sign.bytes,
	     sign_tag(&ktap_sign));
	power_off();
}
