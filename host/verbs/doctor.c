// SPDX-License-Identifier: GPL-2.0-only
/*
 * What this host has and lacks, and what to do about it; and the cache.
 */
#include "base/arch.h"
#include "debian/debian.h"
#include "store/store.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <fcntl.h>
#include <unistd.h>

#define CGROUP2_MAGIC 0x63677270
/* A first run downloads and unpacks about this much */
#define ROOM_MIB 1500

enum state { OK, NOTE, LACKS };

static const char *const state_words[] = { "ok", "note", "lacks" };

/* One finding: its @fix says what to do, or is NULL */
static void found(json_t *all, const char *section, const char *name, enum state state,
		  const char *fix, const char *fmt, ...) G_GNUC_PRINTF(6, 7);

static void found(json_t *all, const char *section, const char *name, enum state state,
		  const char *fix, const char *fmt, ...)
{
	json_t *o = json_object();
	char *raw, *text, *clean_fix;
	va_list ap;

	va_start(ap, fmt);
	raw = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	text = mmg_clean(raw, -1, 1000);
	json_object_set_new(o, "section", json_string(section));
	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "state", json_string(state_words[state]));
	json_object_set_new(o, "found", json_string(text));
	if (fix) {
		clean_fix = mmg_clean(fix, -1, 2000);
		json_object_set_new(o, "fix", json_string(clean_fix));
		g_free(clean_fix);
	}
	json_array_append_new(all, o);
	g_free(text);
	g_free(raw);
}

/* First line of a file, g_free() it; NULL where it cannot be read (errno says why) */
static char *first_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char buf[4096], *line;

	if (!f)
		return NULL;
	line = fgets(buf, sizeof(buf), f);
	fclose(f);
	return g_strstrip(g_strdup(line ? line : ""));
}

/* A number of "Key:  123 kB" in /proc/meminfo, in MiB */
static unsigned long meminfo_mib(const char *key)
{
	char *text = NULL, *at;
	unsigned long kb = 0;

	if (g_file_get_contents("/proc/meminfo", &text, NULL, NULL) && (at = strstr(text, key)))
		kb = strtoul(at + strlen(key) + 1, NULL, 10);
	g_free(text);
	return kb / 1024;
}

/* ---- the host ---- */

static void look_at_host(json_t *all)
{
	char *os = g_get_os_info(G_OS_INFO_KEY_PRETTY_NAME);
	struct utsname u;

	uname(&u);
	found(all, "host", "system", OK, NULL, "%s, kernel %s, %s", os ? os : "unknown", u.release,
	      kernel_host_arch());
	found(all, "host", "processors", OK, NULL, "%u", g_get_num_processors());
	found(all, "host", "memory", meminfo_mib("MemAvailable") < 2048 ? NOTE : OK,
	      meminfo_mib("MemAvailable") < 2048 ?
	      "VMs take 1 GiB and more each: use --jobs 1" : NULL,
	      "%lu MiB, %lu available", meminfo_mib("MemTotal"), meminfo_mib("MemAvailable"));
	found(all, "host", "user", OK, NULL, "%s", geteuid() ?
	      "not root: enough for everything but installing packages and --kernel host" : "root");
	g_free(os);
}

/* ---- VMs ---- */

static void look_at_vms_of(json_t *all, const struct arch *row)
{
	const bool native = row == arch_host();
	struct accel *a;
	GError *e = NULL;
	char *name = g_strdup_printf("%s guests", row->name);

	a = row->qemu ? accel_choose(NULL, row->name, &e) : NULL;
	if (!row->qemu) {
		found(all, "virtual machines", name, NOTE, "the tests build for it: run them on such a machine",
		      "not under emulation: %s", row->why_not);
	} else if (!a) {
		found(all, "virtual machines", name, native ? LACKS : NOTE,
		      native ? "./run.sh -y installs it" : "only needed for --arch of it", "%s",
		      e->message);
		g_error_free(e);
	} else {
		found(all, "virtual machines", name, OK, NULL, "%s %s, accelerator %s: %s", a->qemu,
		      a->version, a->name, a->reason);
	}
	accel_free(a);
	g_free(name);
}

static void look_at_compiler(json_t *all, const char *program, enum state lacking, const char *use)
{
	const char *const argv[] = { program, "--version", NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = { .what = "asking a compiler", .argv = argv, .out = out };
	char *path = g_find_program_in_path(program), *nl;

	if (path && mmg_run(&cmd, NULL)) {
		nl = strchr(out->str, '\n');
		if (nl)
			*nl = '\0';
		found(all, "compilers", program, OK, NULL, "%s", out->str);
	} else {
		found(all, "compilers", program, lacking, NULL, "not there: %s", use);
	}
	g_free(path);
	g_string_free(out, TRUE);
}

/* ---- packages ---- */

/**
 * struct manager - a distribution's package manager
 * @program:	its command
 * @list:	file below configs/packages
 * @install:	how a person installs with it
 */
static const struct manager {
	const char *program, *list, *install;
	bool rpm;
} managers[] = {
	{ "apt-get", "apt.txt", "apt-get install", false },
	{ "dnf", "dnf.txt", "dnf install", true },
	{ "zypper", "zypper.txt", "zypper install", true },
};

static const struct manager *host_manager(void)
{
	guint i;

	for (i = 0; i < G_N_ELEMENTS(managers); i++) {
		char *path = g_find_program_in_path(managers[i].program);

		g_free(path);
		if (path)
			return &managers[i];
	}
	return NULL;
}

static bool is_installed(const struct manager *m, const char *package)
{
	const char *const deb[] = { "dpkg-query", "-W", "-f", "${db:Status-Status}\n", package, NULL };
	const char *const rpm[] = { "rpm", "-q", "--whatprovides", package, NULL };
	GString *out = g_string_new(NULL);
	int status = 0;
	struct mmg_cmd cmd = { .what = "asking for a package", .argv = m->rpm ? rpm : deb,
			       .out = out, .expect = &status };
	bool yes;

	yes = mmg_run(&cmd, NULL) && !status &&
	      (m->rpm || g_str_has_prefix(out->str, "installed"));
	g_string_free(out, TRUE);
	return yes;
}

/* Packages of @group in the list @text that are not installed, space separated; "" where all are */
static char *lacking(const struct manager *m, const char *text, const char *group)
{
	char **lines = g_strsplit(text, "\n", -1);
	GString *s = g_string_new(NULL);
	int i;

	for (i = 0; lines[i]; i++) {
		char package[128], of[32];

		if (sscanf(lines[i], "%127s %31s", package, of) != 2 || *package == '#' ||
		    strcmp(of, group) || is_installed(m, package))
			continue;
		g_string_append_printf(s, "%s%s", s->len ? " " : "", package);
	}
	g_strfreev(lines);
	return g_string_free(s, FALSE);
}

static void look_at_packages(json_t *all)
{
	static const struct { const char *group, *use; enum state state; } groups[] = {
		{ "run", "for a verdict", LACKS },
		{ "check", "for the suite's own tests, ./run.sh check", NOTE },
		{ "build", "to build kernels: build, gate, mutants, coverage, bisect", NOTE },
		{ "generate", "for mutants --generate", NOTE },
		{ "arm64", "for --arch arm64 on this host", NOTE },
		{ "riscv64", "for --arch riscv64 on this host", NOTE },
		{ "ppc64el", "for --arch ppc64el on this host", NOTE },
		{ "bench", "for bench randread to read by fio", NOTE },
	};
	const struct manager *m = host_manager();
	char *path, *text = NULL;
	guint i;

	if (!m) {
		found(all, "packages", "manager", NOTE,
		      "install by hand what docs/dependencies.md lists",
		      "neither apt, dnf nor zypper is here");
		return;
	}
	path = mmg_root_path("configs", "packages", m->list, NULL);
	if (!g_file_get_contents(path, &text, NULL, NULL))
		found(all, "packages", "list", LACKS, "is the checkout complete?", "cannot read %s", path);
	for (i = 0; text && i < G_N_ELEMENTS(groups); i++) {
		char *lack = lacking(m, text, groups[i].group), *fix;

		fix = g_strdup_printf("%s%s %s", geteuid() ? "sudo " : "", m->install, lack);
		found(all, "packages", groups[i].group, *lack ? groups[i].state : OK,
		      *lack ? fix : NULL, "%s: %s%s", groups[i].use,
		      *lack ? "not installed: " : "all here", lack);
		g_free(fix);
		g_free(lack);
	}
	g_free(text);
	g_free(path);
}

/* ---- where kernels come from ---- */

static void look_at_kernels(json_t *all)
{
	static const char fix[] = "pass kernels as files: --kernel IMAGE --modules DIR, or --kernel FILE.deb (.rpm)";
	char *arch, *tool = g_find_program_in_path("apt-get");
	struct apt_image *img = NULL;
	GPtrArray *list = NULL;
	struct apt *apt = NULL;
	GError *e = NULL;

	if (!tool) {
		found(all, "kernels", "debian:", NOTE, fix, "no apt here");
		return;
	}
	g_free(tool);
	arch = apt_host_arch();
	apt = apt_open(NULL, arch, true, &e);
	if (apt)
		list = apt_list(apt, "^linux-(image-[0-9]|source-[0-9])", &e);
	if (list)
		img = apt_choose(list, "6", arch);
	if (e)
		found(all, "kernels", "debian:", NOTE, fix, "%s", e->message);
	else if (!img)
		found(all, "kernels", "debian:", NOTE,
		      "they are fetched when a debian: kernel is asked for; without a network pass kernels as files",
		      "apt's lists name no kernel for %s", arch);
	else
		found(all, "kernels", "debian:", OK, NULL, "apt's lists name kernels up to %s",
		      img->version);
	g_clear_error(&e);
	apt_image_free(img);
	if (list)
		g_ptr_array_unref(list);
	apt_free(apt);
	g_free(arch);
}

/* ---- what a run on the host itself would meet ---- */

static void look_at_file(json_t *all, const char *name, const char *path, const char *bad,
			 const char *fix)
{
	char *line = first_line(path);

	if (!line)
		found(all, "host runs", name, NOTE, errno == EACCES ? "be root for --kernel host" : NULL,
		      "%s: %s", path, g_strerror(errno));
	else
		found(all, "host runs", name, bad && strcmp(line, bad) ? NOTE : OK,
		      bad && strcmp(line, bad) ? fix : NULL, "%s", line);
	g_free(line);
}

static void look_at_cgroups(json_t *all)
{
	const char *fix = "boot with systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1=all";
	char *controllers = first_line("/sys/fs/cgroup/cgroup.controllers");
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs))
		found(all, "host runs", "cgroups", NOTE, fix, "/sys/fs/cgroup: %s", g_strerror(errno));
	else if (fs.f_type != CGROUP2_MAGIC)
		found(all, "host runs", "cgroups", NOTE, fix, "version 1 (memory.reclaim needs version 2)");
	else if (!controllers || !strstr(controllers, "memory"))
		found(all, "host runs", "cgroups", NOTE, "boot without cgroup_disable=memory",
		      "version 2, without the memory controller");
	else
		found(all, "host runs", "cgroups", OK, NULL, "version 2, controllers: %s", controllers);
	g_free(controllers);
}

static void look_at_lru_gen(json_t *all)
{
	char *line = first_line("/sys/kernel/mm/lru_gen/enabled");
	unsigned long caps = line ? strtoul(line, NULL, 16) : 0;

	if (!line)
		found(all, "host runs", "lru_gen", NOTE, "needs a kernel with CONFIG_LRU_GEN", "not there");
	else if ((caps & 3) != 3)
		found(all, "host runs", "lru_gen", NOTE, "the tests turn it on and put it back",
		      "%s: off, or without the page table walk", line);
	else
		found(all, "host runs", "lru_gen", OK, NULL, "%s", line);
	g_free(line);
}

static void look_at_swap(json_t *all)
{
	char *text = NULL;
	int areas = -1;
	const char *p;

	if (g_file_get_contents("/proc/swaps", &text, NULL, NULL))
		for (p = text; *p; p++)
			areas += *p == '\n';
	if (areas > 0)
		found(all, "host runs", "swap", OK, NULL, "%d area%s", areas, areas > 1 ? "s" : "");
	else
		found(all, "host runs", "swap", NOTE,
		      "anonymous memory cannot be evicted: modprobe zram; zramctl --find --size 1G; mkswap and swapon it",
		      "none");
	g_free(text);
}

static void look_at_host_runs(json_t *all)
{
	look_at_cgroups(all);
	look_at_lru_gen(all);
	if (access("/sys/kernel/debug/lru_gen", R_OK))
		found(all, "host runs", "debugfs", NOTE, errno == EACCES ? "be root for --kernel host" :
		      "mount -t debugfs debugfs /sys/kernel/debug (as root)",
		      "/sys/kernel/debug/lru_gen: %s", g_strerror(errno));
	else
		found(all, "host runs", "debugfs", OK, NULL, "lru_gen can be read");
	if (!access("/sys/kernel/security/lockdown", F_OK))
		look_at_file(all, "lockdown", "/sys/kernel/security/lockdown",
			     "[none] integrity confidentiality",
			     "debugfs is shut: boot without Secure Boot or lockdown=, or test in a VM");
	else
		found(all, "host runs", "lockdown", OK, NULL, "none");
	look_at_swap(all);
	if (!access("/sys/module/zswap/parameters/enabled", F_OK))
		look_at_file(all, "zswap", "/sys/module/zswap/parameters/enabled", "N",
			     "evicted pages stay in memory: echo N > /sys/module/zswap/parameters/enabled");
	if (!access("/sys/kernel/mm/numa/demotion_enabled", F_OK))
		look_at_file(all, "tier demotion", "/sys/kernel/mm/numa/demotion_enabled", "false",
			     "pages are moved, not evicted: echo 0 > /sys/kernel/mm/numa/demotion_enabled");
	if (!access("/proc/sys/kernel/numa_balancing", F_OK))
		look_at_file(all, "NUMA balancing", "/proc/sys/kernel/numa_balancing", "0",
			     "the tests turn it off and put it back");
	if (!access("/sys/kernel/mm/ksm/run", F_OK))
		look_at_file(all, "KSM", "/sys/kernel/mm/ksm/run", "0",
			     "it moves pages: echo 0 > /sys/kernel/mm/ksm/run");
}

/* ---- cache and disk ---- */

static const struct { const char *kind, *what; } kinds[] = {
	{ "kernels", "unpacked kernel packages" },
	{ "sources", "kernel sources, or what the tests need of them" },
	{ "selftests", "built tests" },
	{ "objects", "their objects" },
	{ "modules", "module indexes" },
	{ "build", "kernels built here, and their sources" },
	{ "apt", "package lists of other suites and architectures" },
};

static double mib(uint64_t bytes)
{
	return bytes / 1048576.0;
}

static void look_at_room(json_t *all, const char *name, const char *path)
{
	char *dir = g_strdup(path), *up;
	struct statvfs fs;
	uint64_t room;

	/* A folder that is to be made lies where its parent does */
	while (access(dir, F_OK) && strlen(dir) > 1) {
		up = g_path_get_dirname(dir);
		g_free(dir);
		dir = up;
	}
	if (!statvfs(dir, &fs)) {
		room = (uint64_t)fs.f_bavail * fs.f_frsize;
		found(all, "disk", name, mib(room) < ROOM_MIB ? NOTE : OK, mib(room) < ROOM_MIB ?
		      "a first run takes about 1.5 GiB: make room, or set XDG_CACHE_HOME" : NULL,
		      "%s: %.0f MiB free%s", path, mib(room),
		      access(dir, W_OK) ? ", not writable for you" : "");
	}
	g_free(dir);
}

static void look_at_cache(json_t *all)
{
	uint64_t total = cache_size(mmg_cache()), size;
	char *results = mmg_root_path("results", NULL);
	guint i;

	found(all, "cache", "all of it", OK, NULL, "%s: %.0f MiB; ./run.sh doctor --empty-cache deletes it",
	      mmg_cache(), mib(total));
	for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
		GPtrArray *names = cache_list(kinds[i].kind, "*");
		char *path = mmg_cache_path(kinds[i].kind, NULL);

		size = cache_size(path);
		if (names->len)
			found(all, "cache", kinds[i].kind, OK, NULL, "%.0f MiB, %u: %s", mib(size),
			      names->len, kinds[i].what);
		g_free(path);
		g_ptr_array_unref(names);
	}
	look_at_room(all, "cache", mmg_cache());
	look_at_room(all, "results", results);
	g_free(results);
}

/* True where another run works on something in the cache */
static bool cache_in_use(void)
{
	GPtrArray *locks = cache_list("locks", "*");
	bool busy = false;
	guint i;

	for (i = 0; i < locks->len && !busy; i++) {
		char *path = mmg_cache_path("locks", locks->pdata[i], NULL);
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd >= 0) {
			busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
			close(fd);
		}
		g_free(path);
	}
	g_ptr_array_unref(locks);
	return busy;
}

static int empty_cache(const struct cli *cli, GError **err)
{
	uint64_t size = cache_size(mmg_cache());
	struct stat st;

	if (lstat(mmg_cache(), &st)) {
		if (!cli->quiet)
			printf("%s: there is no cache\n", mmg_cache());
		return MMG_EXIT_OK;
	}
	if (cache_in_use()) {
		mmg_set_error(err, MMG_EXIT_BROKEN,
			      "another run works on the cache %s: nothing was deleted; try again when it is done",
			      mmg_cache());
		return MMG_EXIT_BROKEN;
	}
	mmg_rmtree(mmg_cache());
	if (!lstat(mmg_cache(), &st) && S_ISDIR(st.st_mode)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "could not delete all of the cache %s",
			      mmg_cache());
		return MMG_EXIT_BROKEN;
	}
	if (!cli->quiet)
		printf("%s: deleted, %.0f MiB freed\n", mmg_cache(), mib(size));
	return MMG_EXIT_OK;
}

/* ---- the verb ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void print_findings(const json_t *all)
{
	const char *section = "";
	const json_t *o;
	size_t i;

	json_array_foreach(all, i, o) {
		if (strcmp(section, text_of(o, "section"))) {
			section = text_of(o, "section");
			printf("%s%s\n", i ? "\n" : "", section);
		}
		printf("  %-5s %-15s %s\n", text_of(o, "state"), text_of(o, "name"),
		       text_of(o, "found"));
		if (json_object_get(o, "fix"))
			printf("  %-5s %-15s -> %s\n", "", "", text_of(o, "fix"));
	}
}

static unsigned int count_lacks(const json_t *all)
{
	unsigned int n = 0;
	const json_t *o;
	size_t i;

	json_array_foreach(all, i, o)
		n += !strcmp(text_of(o, "state"), "lacks");
	return n;
}

/**
 * verb_doctor - say what this host has and lacks
 *
 * Returns 0 where a plain run can be had, else broken; *@err names the first
 * thing lacking.  With --empty-cache: delete the cache instead.
 */
int verb_doctor(struct cli *cli, GError **err)
{
	json_t *all, *o, *doc;
	unsigned int lacks, n;
	const struct arch *rows = arch_all(&n);
	size_t i;

	if (cli->args->len) {
		mmg_set_error(err, MMG_EXIT_USAGE, "doctor takes no word '%s'",
			      (char *)cli->args->pdata[0]);
		return MMG_EXIT_USAGE;
	}
	if (cli->empty_cache)
		return empty_cache(cli, err);
	all = json_array();
	status_set("looking at this host");
	look_at_host(all);
	for (i = 0; i < n; i++)
		look_at_vms_of(all, &rows[i]);
	look_at_compiler(all, "gcc", LACKS, "it compiles the tests");
	look_at_compiler(all, "clang", NOTE, "a second compiler, for ./run.sh check");
	for (i = 0; i < n; i++) {
		g_autofree char *cc = g_strconcat(arch_cross(&rows[i]), "gcc", NULL);
		g_autofree char *use = g_strdup_printf("only needed for --arch %s (%s)", rows[i].name,
						       rows[i].package);

		if (&rows[i] != arch_host())
			look_at_compiler(all, cc, NOTE, use);
	}
	look_at_packages(all);
	look_at_kernels(all);
	look_at_host_runs(all);
	look_at_cache(all);
	status_clear();
	lacks = count_lacks(all);
	if (cli->json) {
		doc = json_pack("{s:i, s:b, s:O}", "schema", 1, "ready", lacks == 0, "findings", all);
		json_dumpf(doc, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(doc);
	} else if (!cli->quiet) {
		print_findings(all);
	}
	json_array_foreach(all, i, o) {
		if (strcmp(text_of(o, "state"), "lacks"))
			continue;
		mmg_set_error(err, MMG_EXIT_BROKEN, "this host lacks %u thing%s for a verdict, first: %s, %s",
			      lacks, lacks > 1 ? "s" : "", text_of(o, "name"), text_of(o, "found"));
		break;
	}
	json_decref(all);
	return lacks ? MMG_EXIT_BROKEN : MMG_EXIT_OK;
}
