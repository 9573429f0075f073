// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: opening tabs beside a VM that idles, under a memory limit
 * mmgate-guards: MGLRU asks the secondary MMU (v6.12): mm/vmscan.c, mm/rmap.c, mm/memcontrol.c
 * mmgate-machines: bench-tabs
 * mmgate-needs: CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_KVM CONFIG_ZRAM
 * mmgate-modules: kvm
 * mmgate-timeout: 300
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "lru_gen.h"
#include "memcg.h"
#include "residency.h"
#include "runner.h"
#include "vmstat.h"

#define MIB (1ul << 20)
static long P(const char *n, long d) { const char *e = getenv(n); return e ? atol(e) : d; }

struct tab { int in, out; pid_t pid; };
struct opened { double ns; long majflt; long gone_anon; };

static double now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void tab_main(int nr, int in, int out, size_t anon, size_t file, const char *dir)
{
	u8 *a = mmap(NULL, anon, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *f = NULL;
	char path[100], c;
	volatile u8 sink;
	size_t i;
	u64 st = nr + 1;

	madvise(a, anon, MADV_NOHUGEPAGE);
	if (file) {
		int fd;
		snprintf(path, sizeof(path), "%s/tab%d", dir, nr);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		if (ftruncate(fd, file)) _exit(1);
		f = mmap(NULL, file, PROT_READ, MAP_SHARED, fd, 0);
	}
	while (read(in, &c, 1) == 1) {
		struct opened o;
		struct rusage r0, r1;
		double t0;
		getrusage(RUSAGE_SELF, &r0);
		t0 = now_ns();
		for (i = 0; i < anon; i += 4096) { if (!a[i + 8]) { ((u64 *)(a + i))[0] = mmg_rand(&st); ((u64*)(a+i))[1] = 1; for (int k = 2; k < 128; k++) ((u64 *)(a + i))[k] = mmg_rand(&st);} else a[i]++; }
		for (i = 0; i < file; i += 4096) sink = f[i];
		(void)sink;
		o.ns = now_ns() - t0;
		getrusage(RUSAGE_SELF, &r1);
		o.majflt = r1.ru_majflt - r0.ru_majflt;
		if (write(out, &o, sizeof(o)) != sizeof(o)) break;
	}
	_exit(0);
}

static int cmpd(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }

static void run(const struct mmg_case *c)
{
	int lru = *(const int *)c->arg;
	int tabs = P("TABS", 24), opens = P("OPENS", 200), warm = P("WARM", 60), slices = P("SLICES", 100);
	size_t anon = P("ANON", 6) * MIB, file = P("FILE", 2) * MIB, vmb = P("VM", 64) * MIB, limit = P("LIMIT", 128) * MIB;
	double sum = 0, *cdf = calloc(tabs, sizeof(double));
	double *lat = calloc(opens, sizeof(double)), mean = 0;
	struct tab *t = calloc(tabs, sizeof(*t));
	struct memcg cg;
	struct guest g;
	u64 seed = mmg_opts.seed;
	long maj = 0, vmgone = 0;
	int i, slice = 0;
	struct vmstat *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
	double t0;
	u8 *pres = malloc(vmb / 4096);
	u32 *order = calloc(tabs, 4);
	long long s0[8], s1[8];
	static const char *const keys[] = { "workingset_refault_anon", "workingset_refault_file", "pgscan", "pgsteal", "pswpin", "pgmajfault" };
	struct rusage r0, r1;

	memcg_require();
	mmg_write_setting("/sys/kernel/mm/lru_gen/enabled", "%d", lru);
	mmg_write_setting("/proc/sys/vm/page-cluster", "0");
	memcg_create(&cg, NULL, "tabs");
	memcg_write(&cg, "memory.max", "%zu", limit);
	memcg_enter(&cg, 0);
	for (i = 0; i < tabs; i++) {
		int in[2], out[2];
		if (pipe(in) || pipe(out)) mmg_broken("pipe");
		t[i].pid = fork();
		if (!t[i].pid) { close(in[1]); close(out[0]); tab_main(i, in[0], out[1], anon, file, P("DISK", 0) ? "/mnt/data" : "/tmp"); }
		close(in[0]); close(out[1]);
		t[i].in = in[1]; t[i].out = out[0];
		sum += 1.0 / (i + 1);
		order[i] = i;
	}
	mmg_shuffle(order, tabs, &seed);
	for (i = 0; i < tabs; i++) cdf[i] = (i ? cdf[i - 1] : 0) + 1.0 / (i + 1) / sum;
	guest_create(&g, vmb, false);
	guest_touch(&g, 0, 4096, vmb / 4096, true);
	for (i = -warm - tabs; i < opens; i++) {
		double u = (mmg_rand(&seed) >> 11) * 0x1p-53;
		int k = 0;
		struct opened o;
		if (i == 0) { vmstat_read("/proc/vmstat", a); getrusage(RUSAGE_SELF, &r0); t0 = now_ns(); for (k = 0; k < 6; k++) s0[k] = memcg_key_maybe(&cg, "memory.stat", keys[k]); k = 0; }
		if (i < -warm) k = i + warm + tabs;
		else while (k < tabs - 1 && u > cdf[k]) k++;
		k = order[k];
		if (write(t[k].in, "x", 1) != 1 || read(t[k].out, &o, sizeof(o)) != sizeof(o)) mmg_broken("tab %d died", k);
		if (i >= 0) { lat[i] = o.ns / 1e6; mean += lat[i] / opens; maj += o.majflt; }
		if (slices > 0) { size_t sp = vmb / slices; sp &= ~4095ul; guest_touch(&g, slice * sp, 4096, sp / 4096, true); slice = (slice + 1) % slices; }
	}
	t0 = now_ns() - t0;
	getrusage(RUSAGE_SELF, &r1);
	vmstat_read("/proc/vmstat", b);
	for (int k = 0; k < 6; k++) s1[k] = memcg_key_maybe(&cg, "memory.stat", keys[k]);
	vmgone = vmb / 4096 - residency_read(g.mem, vmb / 4096, RESIDENCY_ANON, pres);
	qsort(lat, opens, sizeof(double), cmpd);
	mmg_metric("majflt_per_open", maj / (double)opens);
	mmg_metric("vm_majflt", r1.ru_majflt - r0.ru_majflt);
	mmg_metric("vm_gone", vmgone);
	for (int k = 0; k < 6; k++) mmg_metric(keys[k], s1[k] - s0[k]);
	mmg_metric("pswpin", vmstat_delta(a, b, "pswpin"));
	mmg_metric("pswpout", vmstat_delta(a, b, "pswpout"));
	mmg_metric("pgscan", vmstat_delta(a, b, "pgscan_direct") + vmstat_delta(a, b, "pgscan_kswapd"));
	mmg_metric("p50", lat[opens / 2]); mmg_metric("mean", mean); mmg_metric("p95", lat[opens * 95 / 100]); mmg_metric("p99", lat[opens * 99 / 100]); mmg_metric("max", lat[opens - 1]);
	mmg_metric("secs", t0 / 1e9);
	for (i = 0; i < tabs; i++) { close(t[i].in); close(t[i].out); waitpid(t[i].pid, NULL, 0); }
	mmg_pass("%.0f faults per opening, %ld of %zu VM pages gone", maj / (double)opens, vmgone, vmb / 4096);
}

static const int classic = 0, mglru = 7;
static const struct mmg_case cases[] = {
	{ "classic", run, &classic, 200, true },
	{ "mglru", run, &mglru, 200, true },
};
static const char *const settings[] = { "/sys/kernel/mm/lru_gen/enabled", "/proc/sys/vm/page-cluster", NULL };
static const struct mmg_test test = { "bench/tab_latency", cases, 2, settings, NULL };
int main(int argc, char **argv) { return mmg_main(argc, argv, &test); }
