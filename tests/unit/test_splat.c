// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/splat*.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "run/splat.h"

static json_t *scan(const char *s)
{
	json_t *a = splat_scan(s, strlen(s));

	assert_non_null(a);
	return a;
}

static const char *get(json_t *a, size_t i, const char *key)
{
	const char *s = json_string_value(json_object_get(json_array_get(a, i), key));

	return s ? s : "";
}

#define BOOT "[    0.000000] Linux version 6.12.117\r\n[    1.0] mmgate: start kvm/eviction_order\r\n"
#define END "[    9.0] reboot: Power down\r\n"

static void quiet_console(void **state)
{
	json_t *a = scan(BOOT "[ 1.2] WARNING! nothing\n[ 1.3] foo: BUG: said a driver\n"
			 "[ 1.4] Spectre V2 : WARNING: Unprivileged eBPF is enabled\n"
			 "[ 1.5] traps: x[12] general protection fault ip:401000 in x[400000+1000]\n"
			 "[ 1.6] lockdep is turned off\nOops I did it\n" END);

	(void)state;
	/* the last line is user text that looks like an Oops: it counts, on purpose */
	assert_int_equal(json_array_size(a), 1);
	json_decref(a);
	a = scan("");
	assert_int_equal(json_array_size(a), 0);
	json_decref(a);
}

static const char warn_612[] = BOOT
	"[    3.100000] ------------[ cut here ]------------\r\n"
	"[    3.100001] walk went wrong: 7\r\n"
	"[    3.100002] WARNING: CPU: 1 PID: 87 at mm/vmscan.c:3210 walk_mm+0x1a/0x3b0\r\n"
	"[    3.100003] Modules linked in: kvm_amd kvm\r\n"
	"[    3.100004] CPU: 1 UID: 0 PID: 87 Comm: eviction_order_ Not tainted 6.12.117 #1\r\n"
	"[    3.100005] RIP: 0010:walk_mm+0x1a/0x3b0\r\n"
	"[    3.100006] Call Trace:\r\n"
	"[    3.100007]  <TASK>\r\n"
	"[    3.100008]  ? __warn+0x81/0x130\r\n"
	"[    3.100009]  try_to_inc_max_seq+0x10/0x20\r\n"
	"[    3.100010]  run_aging+0x10/0x20\r\n"
	"[    3.100011]  </TASK>\r\n"
	"[    3.100012] ---[ end trace 0000000000000000 ]---\r\n"
	"[    3.2] an innocent line\r\n" END;

static void warning(void **state)
{
	json_t *a = scan(warn_612);

	(void)state;
	assert_int_equal(json_array_size(a), 1);
	assert_string_equal(get(a, 0, "kind"), "WARNING");
	assert_string_equal(get(a, 0, "title"), "WARNING: at mm/vmscan.c:3210 walk_mm");
	assert_string_equal(get(a, 0, "test"), "kvm/eviction_order");
	assert_non_null(strstr(get(a, 0, "text"), "walk went wrong: 7"));
	assert_non_null(strstr(get(a, 0, "text"), "end trace"));
	assert_null(strstr(get(a, 0, "text"), "innocent"));
	assert_int_equal(strlen(get(a, 0, "fingerprint")), 16);
	json_decref(a);
}

/* Same WARN on another boot and build: other CPU, pid, offset, line, form of 7.x */
static void fingerprint_is_stable(void **state)
{
	json_t *a = scan(warn_612);
	json_t *b = scan("[   88.1][  T901] ------------[ cut here ]------------\n[   88.1][  T901] walk went wrong: 12\n"
			 "[   88.1][  T901] WARNING: CPU: 0 PID: 3 at mm/vmscan.c:99 walk_mm.isra.0+0x2/0x4\n"
			 "[   88.1][  T901] RIP: 0010:walk_mm.isra.0+0x2/0x4\n");
	json_t *c = scan("[   88.1] ------------[ cut here ]------------\n[   88.1] walk went wrong: 7\n"
			 "[   88.1] WARNING: mm/vmscan.c:3300 at walk_mm+0x1c/0x3b0, CPU#0: kswapd0/45\n");
	json_t *d = scan("[   88.1] WARNING: CPU: 0 PID: 3 at mm/vmscan.c:99 other_fn+0x2/0x4\n");

	(void)state;
	assert_string_equal(get(a, 0, "fingerprint"), get(b, 0, "fingerprint"));
	assert_string_equal(get(a, 0, "fingerprint"), get(c, 0, "fingerprint"));
	assert_string_not_equal(get(a, 0, "fingerprint"), get(d, 0, "fingerprint"));
	assert_string_equal(get(c, 0, "title"), "WARNING: mm/vmscan.c:3300 at walk_mm");
	assert_string_equal(get(b, 0, "test"), "");
	json_decref(a);
	json_decref(b);
	json_decref(c);
	json_decref(d);
}

static void counted_once(void **state)
{
	char *twice = g_strconcat(warn_612, warn_612, warn_612, NULL);
	json_t *a = scan(twice);

	(void)state;
	assert_int_equal(json_array_size(a), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(a, 0), "count")), 3);
	json_decref(a);
	g_free(twice);
}

/* BUG, its Oops and the panic that follows are one thing */
static void oops_is_one(void **state)
{
	json_t *a = scan(BOOT
		"[ 2.0] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
		"[ 2.0] #PF: supervisor read access in kernel mode\n"
		"[ 2.0] Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI\n"
		"[ 2.0] CPU: 0 UID: 0 PID: 1 Comm: init Not tainted\n"
		"[ 2.0] RIP: 0010:lru_gen_look_around+0x5/0x10\n"
		"[ 2.0] Call Trace:\n[ 2.0]  folio_referenced_one+0x1/0x2\n"
		"[ 2.0] ---[ end trace 0000000000000000 ]---\n"
		"[ 2.1] Kernel panic - not syncing: Fatal exception\n"
		"[ 2.1] ---[ end Kernel panic - not syncing: Fatal exception ]---\n");

	(void)state;
	assert_int_equal(json_array_size(a), 1);
	assert_string_equal(get(a, 0, "kind"), "BUG");
	json_decref(a);
	a = scan(BOOT "[ 2.1] Kernel panic - not syncing: VFS: Unable to mount root fs\n");
	assert_int_equal(json_array_size(a), 1);
	assert_string_equal(get(a, 0, "kind"), "panic");
	json_decref(a);
}

/* An OOM kill that a test announced is none, once, for that process, in that test */
static void announced_kill(void **state)
{
	static const char expect[] = "[    2.0] mmgate: expect OOM kill of process 12\r\n";
	static const char kill_12[] = "[    3.0] Out of memory: Killed process 12 (x) total-vm:1kB\r\n";
	static const char kill_123[] = "[    3.0] Out of memory: Killed process 123 (x)\r\n";
	static const char next[] = "[    4.0] mmgate: start kvm/other\r\n";
	const struct {
		const char *a, *b, *c;
		size_t splats;
	} rows[] = {
		{ expect, kill_12, "", 0 },
		{ expect, kill_123, "", 1 },
		{ expect, kill_12, kill_12, 1 },
		{ expect, next, kill_12, 1 },
		{ kill_12, expect, "", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *console = g_strconcat(BOOT, rows[i].a, rows[i].b, rows[i].c, END, NULL);
		json_t *a = scan(console);

		assert_int_equal(json_array_size(a), rows[i].splats);
		json_decref(a);
		g_free(console);
	}
}

static void kinds(void **state)
{
	static const struct {
		const char *line, *kind;
	} all[] = {
		{ "BUG: KASAN: slab-use-after-free in walk_mm+0x1/0x2", "KASAN" },
		{ "BUG: KCSAN: data-race in walk_mm / folio_mark", "KCSAN" },
		{ "UBSAN: shift-out-of-bounds in mm/vmscan.c:12:3", "UBSAN" },
		{ "WARNING: possible circular locking dependency detected", "lockdep" },
		{ "WARNING: possible recursive locking detected", "lockdep" },
		{ "WARNING: suspicious RCU usage", "lockdep" },
		{ "[ BUG: Invalid wait context ]", "lockdep" },
		{ "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "RCU stall" },
		{ "rcu: INFO: rcu_sched self-detected stall on CPU", "RCU stall" },
		{ "INFO: task kswapd0:45 blocked for more than 120 seconds.", "hung task" },
		{ "Out of memory: Killed process 12 (x) total-vm:1kB", "OOM kill" },
		{ "Memory cgroup out of memory: Killed process 12 (x)", "OOM kill" },
		{ "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
		  "memory leak" },
		{ "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]", "soft lockup" },
		{ "watchdog: Watchdog detected hard LOCKUP on cpu 1", "hard lockup" },
		{ "kernel BUG at mm/vmscan.c:12!", "BUG" },
		{ "BUG: sleeping function called from invalid context at mm/x.c:1", "BUG" },
		{ "BUG: Bad page state in process x  pfn:123", "BUG" },
		{ "Unable to handle kernel paging request at virtual address 0", "Oops" },
		{ "Oops: general protection fault, maybe for address 0", "Oops" },
		{ "general protection fault, probably for non-canonical address", "Oops" },
		{ "Kernel panic - not syncing: Attempted to kill init!", "panic" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *console = g_strdup_printf(BOOT "[   12.345678] %s\n" END, all[i].line);
		json_t *a = scan(console);

		assert_int_equal(json_array_size(a), 1);
		assert_string_equal(get(a, 0, "kind"), all[i].kind);
		json_decref(a);
		g_free(console);
	}
}

static void tied_to_the_test_that_ran(void **state)
{
	json_t *a = scan("BUG: at boot\n"
			 "mmgate: start mm/lowmem_reserve\n[ 1.0] BUG: Bad page map in process a\n"
			 "mmgate: end mm/lowmem_reserve\n[ 2.0] BUG: Bad rss-counter state mm:1\n");

	(void)state;
	assert_int_equal(json_array_size(a), 3);
	assert_string_equal(get(a, 0, "test"), "");
	assert_string_equal(get(a, 1, "test"), "mm/lowmem_reserve");
	assert_string_equal(get(a, 2, "test"), "");
	json_decref(a);
}

/* Megabytes of one line, bytes that are no text, no end of line, thousands of splats */
static void hostile(void **state)
{
	GString *s = g_string_new(BOOT "BUG: ");
	json_t *a;

	(void)state;
	for (int i = 0; i < 3 * 1024 * 1024; i++)
		g_string_append_c(s, (char)(i * 7 + 1) == '\n' ? 'x' : (char)(i * 7 + 1));
	g_string_append_c(s, '\n');
	g_string_append_len(s, "\0\xff\xfe\n\0BUG: \n", 12);
	for (int i = 0; i < 3000; i++)
		g_string_append_printf(s, "WARNING: CPU: 0 PID: 1 at mm/x.c:%d f%d+0x1/0x2\n", i, i);
	for (int i = 0; i < 100000; i++)
		g_string_append(s, " f+0x1/0x2\n");
	g_string_append(s, "<script>alert(1)</script>");
	a = splat_scan(s->str, s->len);
	assert_true(json_array_size(a) >= 2);
	assert_true(json_array_size(a) <= 100);
	for (size_t i = 0; i < json_array_size(a); i++) {
		assert_true(strlen(get(a, i, "title")) <= 4096);
		assert_true(strlen(get(a, i, "text")) <= 20000);
		assert_null(strchr(get(a, i, "text"), '\033'));
	}
	json_decref(a);
	g_string_free(s, TRUE);
}

/* Forms in which consoles, loggers and vendors put a stamp before a line */
static const char *const stamps[] = {
	"[    1.234567] %s\n", "[    1.234567][  T123] %s\r\n", "[    1.234567][    C0] %s\n",
	"<4>[    1.234567] %s\n", "[    1.234567] [T123] %s\n", "<2>[    1.234567] (0)[77:kworker]%s\n",
	"[    1.234567] [0:      swapper/0:    1] %s\n", "[    1.234567] c0   1234 %s\n",
	"2026-12-02T22:30:11.123456+00:00 kernel: [    1.234567] %s\n",
	"Dec  2 22:30:11 vm kernel: [    1.234567] %s\n", "[Wed Dec  2 22:30:11 2026] %s\n",
	"[    1.200000] half of another li[    1.234567][  T123] %s\n", "login: \r[    1.234567] %s\n", "%s\n",
};

/* Each row's own line, under each stamp, gives a splat of its kind */
static void rows(void **state)
{
	(void)state;
	for (gsize i = 0; i < splat_nr_kinds; i++) {
		const struct splat_kind *k = &splat_kinds[i];

		assert_non_null(strstr(k->sample, k->key));
		assert_true(g_regex_match_simple(k->regex, k->sample, 0, 0));
		for (gsize j = 0; j < G_N_ELEMENTS(stamps); j++) {
			char *said = g_strdup_printf(stamps[j], k->sample);
			char *line = g_strdup_printf("%s%s", k->flags & SPLAT_NOT_FIRST ? "[    0.1] one\n" : "", said);
			json_t *a = scan(line);

			if (json_array_size(a) != 1 || strcmp(get(a, 0, "kind"), k->kind))
				fail_msg("row %zu, stamp %zu: %s is %s", i, j, line, get(a, 0, "kind"));
			json_decref(a);
			g_free(said);
			g_free(line);
		}
	}
}

static void innocents(void **state)
{
	static const char *const more[] = {
		"[    0.1] WARNING: The mand mount option has been deprecated and",
		"[    0.1] DMAR: [Firmware Bug]: WARNING: your BIOS is broken",
		"[    0.1] ACPI BIOS Warning (bug): Optional FADT field Gpe1Block has valid Address but zero Length",
		"[    0.1] WARNING! nothing", "[    0.1] a WARNING: CPU is hot", "[    0.1] Spectre V2 : WARNING: eBPF",
		"[    0.1] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable",
		"[    0.1] rcu: Hierarchical RCU implementation.", "[    0.1] watchdog: Delayed init of the lockup detector",
		"[    0.1] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
		"[    0.1] EXT4-fs error (device loop0): ext4_lookup:1: comm a: bad extra_isize",
		"[    0.1] systemd[1]: Failed to start a unit named BUG: or WARNING: or Call Trace",
		"[    0.1] ODEBUG: Out of memory. ODEBUG disabled", "[    0.1] DEBUG: x", "[    0.1] debug: on",
		"[    0.1] kmemleak: Kernel memory leak detector initialized",
		"[    0.1] a.out[12]: segfault at 0 ip 0000 sp 0000 error 4", "[    0.1] task:a state:D stack:0 pid:1",
		"[    0.1] hard LOCKUP detector is off", "[    0.1] INFO: lockdep is turned off.",
		"[    0.1] Lockdep: possible lock classes 8192", "[    0.1] x86/split lock detection: warning",
		"[    0.1] traps: a[1] trap divide error ip:1 sp:2 error:0", "[    0.1] x86/fpu: overflow: no",
		"[    0.1] overlayfs: NFS export: is blocked", "[    0.1] a: unhandled level 2 translation fault (11) at 0x0",
		"[    0.1] ** 123 printk messages dropped **", "[    0.1] panic_on_oops is set",
		/* firmware, and what the kernel says of it and of CPUs */
		"[    0.1] ACPI BIOS Error (bug): Failure creating named object [\\_SB.PCI0._UPC], AE_ALREADY_EXISTS (20240322/dswload2-326)",
		"[    0.1] [Firmware Bug]: TSC ADJUST: CPU0: -1 force to 0", "[    0.1] mce: [Hardware Error]: Machine check events logged",
		"[    0.1] MDS CPU bug present and SMT on, data leak possible.", "[    0.1] mitigations: WARNING: kernel not compiled with MITIGATION_SRSO.",
		"[    0.1] WARNING: BIOS bug: CPU MTRRs don't cover all of memory, losing 7MB of RAM.",
		"[    0.1] WARNING: Overflow in clocksource 'tsc' observed, time update capped.",
		/* programs' faults, and what others log */
		"[    0.1] audit: type=1400 audit(1: 2): msg=\"WARNING: CPU: 0 PID: 1 at x.c:1 f+0x1/0x2\"",
		"[    0.1] systemd[1]: Warning: The unit file of x.service changed on disk.",
		"[    0.1] a.out[12]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in a.out[400000+1000]",
		"[    0.1] a.out: unhandled page fault (11) at 0x00000000, code 0x017",
		"[    0.1] a.out[12]: unhandled signal 11 code 0x1 at 0x0000000000000000 in a.out[10000+1000]",
		"[    0.1] User process fault: interruption code 0010 ilc:3 in a.out[1000+1000]",
		"[    0.1] a.out: potentially unexpected fatal signal 11.",
		/* what the kernel does of itself */
		"[    0.1] workqueue: x hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
		"[    0.1] rcu: rcu_tasks_wait_gp: rcu_tasks grace period number 9 (since boot) is 30001 jiffies old.",
		"[    0.1] smp: csd: CSD lock (#1) got unstuck on CPU#02, CPU#03 released the lock.",
		"[    0.1] page dumped because: unmovable page", "[    0.1] page dumped because: migration failure",
		"[    0.1] kmemleak: Unknown object at 0xffff888005a31200", "[    0.1] watchdog: CPU 2 became unstuck TB:7",
		"[    0.1] x86/mm: Checked W+X mappings: passed, no W+X pages found.", "[    0.1] sched: RT throttling activated",
		"[    0.1] cma: cma_alloc: linux,cma: alloc failed, req-size: 1 pages, ret: -16",
		"[    0.1] process 'a.out' started with executable stack", "[    0.1] module: loading out-of-tree module taints kernel.",
	};

	(void)state;
	for (gsize i = 0; i < splat_nr_innocents + G_N_ELEMENTS(more); i++) {
		const char *line = i < splat_nr_innocents ? splat_innocents[i].sample : more[i - splat_nr_innocents];
		char *console = g_strdup_printf("[    0.000000] Linux version 6.12\n[    1.234567] %s\n"
						"[    1.3] after it\n", line);
		json_t *a = scan(console);

		if (i < splat_nr_innocents) {
			assert_true(g_regex_match_simple(splat_innocents[i].regex, line, 0, 0));
			assert_non_null(strstr(line, splat_innocents[i].key));
		}
		if (json_array_size(a))
			fail_msg("%s is no %s", line, get(a, 0, "kind"));
		json_decref(a);
		g_free(console);
	}
}

/* A program's words are none of the kernel's, where those are stamped */
static void unstamped(void **state)
{
	json_t *a = scan(BOOT "BUG: said a program\nWARNING:\nINFO:\n" END);

	(void)state;
	assert_int_equal(json_array_size(a), 0);
	json_decref(a);
	a = scan("BUG: said who knows\n");
	assert_int_equal(json_array_size(a), 1);
	json_decref(a);
}

static size_t unknown(const char *console)
{
	json_t *a = scan(console);
	size_t n = json_array_size(a);

	if (n)
		assert_string_equal(get(a, 0, "kind"), "unknown");
	json_decref(a);
	return n;
}

/* The net below the net: what no row opened */
static void net_below(void **state)
{
	json_t *a;

	(void)state;
	assert_int_equal(unknown(BOOT "[ 2.0] ** 77 printk messages dropped **\n[ 2.0] Call Trace:\n"
				 "[ 2.0]  <TASK>\n[ 2.0]  shrink_node+0x1/0x2\n[ 2.0]  </TASK>\n" END), 1);
	assert_int_equal(unknown(BOOT "[ 2.0] Call trace:\n[ 2.0]  shrink_node+0x1/0x2 (P)\n" END), 1);
	assert_int_equal(unknown(BOOT "[ 2.0] ---[ end trace 0000000000000000 ]---\n" END), 1);
	assert_int_equal(unknown(BOOT "[ 2.0] ------------[ cut here ]------------\n[ 2.0] WARN\n" END), 1);
	/* asked for: sysrq-t, sysrq-l, an OOM kill's own trace, fault injection */
	assert_int_equal(unknown(BOOT "[ 2.0] sysrq: Show State\n[ 2.0] task:a state:S\n[ 2.0] Call Trace:\n"
				 "[ 2.0]  schedule+0x1/0x2\n[ 2.0] task:b state:S\n[ 2.0] Call Trace:\n" END), 0);
	assert_int_equal(unknown(BOOT "[ 2.0] FAULT_INJECTION: forcing a failure.\n[ 2.0] Call Trace:\n"
				 "[ 2.0]  should_fail+0x1/0x2\n" END), 0);
	/* until the next test starts */
	assert_int_equal(unknown(BOOT "[ 2.0] sysrq: Show State\n[ 3.0] mmgate: start b\n[ 3.1] Call Trace:\n"), 1);
	/* the traces of the other CPUs are the stall's own */
	a = scan(BOOT "[ 2.0] rcu: INFO: rcu_sched self-detected stall on CPU\n[ 2.0] Sending NMI from CPU 0 to CPUs 1:\n"
		 "[ 2.0] NMI backtrace for cpu 1\n[ 2.0] Call Trace:\n[ 2.0]  spin+0x1/0x2\n" END);
	assert_int_equal(json_array_size(a), 1);
	json_decref(a);
}

/* A splat within a splat's text is one of its own, unless it is one more line of it */
static void one_in_another(void **state)
{
	json_t *a = scan(BOOT "[ 2.0] WARNING: at a_fn+0x1/0x2, CPU#0: x/1\n[ 2.0] RIP: 0010:a_fn+0x1/0x2\n"
			 "[ 2.0] kernel BUG at mm/b.c:1!\n[ 2.0] Oops: invalid opcode: 0000 [#1] SMP\n"
			 "[ 2.0] RIP: 0010:b_fn+0x1/0x2\n");

	(void)state;
	assert_int_equal(json_array_size(a), 2);
	assert_string_equal(get(a, 1, "kind"), "BUG");
	json_decref(a);
	a = scan(BOOT "[ 2.0] BUG: Bad rss-counter state mm:1 type:X val:1\n[ 2.0] Oops: 0000 [#1] SMP\n");
	assert_int_equal(json_array_size(a), 2);
	json_decref(a);
}

/* Two CPUs print at once: each frame goes to the splat of its caller */
static void interleaved(void **state)
{
	json_t *a = scan("[ 2.0][   T1] BUG: sleeping function called from invalid context at a.c:1\n"
			 "[ 2.0][   T2] BUG: sleeping function called from invalid context at b.c:1\n"
			 "[ 2.0][   T1] Call Trace:\n[ 2.0][   T2] Call Trace:\n[ 2.0][   T2]  of_two+0x1/0x2\n"
			 "[ 2.0][   T1]  of_one+0x1/0x2\n");
	json_t *b = scan("[ 9.0] BUG: sleeping function called from invalid context at b.c:9\n[ 9.0] Call Trace:\n"
			 "[ 9.0]  of_two+0x4/0x8\n");

	(void)state;
	assert_int_equal(json_array_size(a), 2);
	assert_string_not_equal(get(a, 0, "fingerprint"), get(a, 1, "fingerprint"));
	assert_string_equal(get(b, 0, "fingerprint"), get(a, 1, "fingerprint"));
	json_decref(a);
	json_decref(b);
}

static char *print_of(const char *console)
{
	json_t *a = scan(console);
	char *fp = g_strdup(get(a, 0, "fingerprint"));

	if (json_array_size(a) != 1)
		fail_msg("%zu splats in %s", json_array_size(a), console);
	json_decref(a);
	return fp;
}

/* What only reports does not name a bug: the frame below it does, on each architecture */
static void reporters(void **state)
{
	static const char *const forms[] = {
		/* %1$s the reporter, %2$s its caller */
		"[ 2.0] WARNING: CPU: 0 PID: 1 at lib/x.c:1 %1$s+0x1/0x2\n[ 2.0] RIP: 0010:%1$s+0x1/0x2\n"
		"[ 2.0] Call Trace:\n[ 2.0]  <TASK>\n[ 2.0]  ? %1$s+0x1/0x2\n[ 2.0]  %2$s+0x1/0x2\n",
		"[ 2.0] WARNING: lib/x.c:1 at %1$s+0x1/0x2, CPU#0: a/1\n[ 2.0] pc : %1$s+0x1/0x2\n"
		"[ 2.0] lr : %2$s+0x1/0x2\n[ 2.0] Call trace:\n[ 2.0]  %1$s+0x1/0x2 (P)\n[ 2.0]  %2$s+0x1/0x2\n",
		"[ 2.0] kernel BUG at lib/x.c:1!\n[ 2.0] RIP: 0010:%1$s+0x1/0x2\n[ 2.0] Call Trace:\n"
		"[ 2.0]  %1$s+0x1/0x2\n[ 2.0]  %2$s.isra.0+0x1/0x2\n",
		"[ 2.0] kernel BUG at lib/x.c:1!\n[ 2.0] epc : %1$s+0x1/0x2\n[ 2.0] Call Trace:\n"
		"[ 2.0] [<ffffffff80001234>] %1$s+0x1/0x2\n[ 2.0] [<ffffffff80001234>] %2$s+0x1/0x2\n",
		"[ 2.0] kernel BUG at lib/x.c:1!\n[ 2.0] NIP [c000000000123450] %1$s+0x1/0x2\n[ 2.0] Call Trace:\n"
		"[ 2.0] [c000000001230000] [c000000000123450] %1$s+0x1/0x2 (unreliable)\n"
		"[ 2.0] [c000000001230000] [c000000000123450] %2$s+0x1/0x2\n",
		"[ 2.0] monitor event: 0040 ilc:2 [#1] SMP\n[ 2.0] Krnl PSW : 0704c00180000000 0000000000123456 (%1$s+0x1/0x2)\n"
		"[ 2.0] Call Trace:\n[ 2.0]  [<0000000000123456>] %1$s+0x1/0x2\n[ 2.0] ([<0000000000123456>] %2$s+0x1/0x2)\n",
	};
	static const char *const names[] = {
		"fortify_panic", "__fortify_panic", "__warn", "debug_print_object", "refcount_warn_saturate", "memcpy",
		"__pi_memset_generic", "memmove", "strscpy", "strlen", "usercopy_abort", "dump_stack", "panic",
		"report_bug", "kasan_report", "check_memory_region", "__might_sleep", "__list_add_valid_or_report",
		"print_circular_bug", "lockdep_rcu_suspicious", "__stack_chk_fail", "bad_page", "spin_bug",
		"check_heap_object", "__check_object_size.part.0", "__ubsan_handle_shift_out_of_bounds", "kasan_report_invalid_free",
		"kvmalloc_node_noprof", "page_counter_cancel", "mas_walk", "folio_unlock", "__mod_timer", "__flush_work.isra.0",
		"__wake_up_common", "vmalloc_to_page", "__phys_addr", "debug_check_no_obj_freed", "__list_del_entry_valid",
		"mmap_assert_write_locked", "kobject_put", "percpu_ref_put_many.constprop.0", "xas_store", "__pi_memcpy_generic",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(names); j++) {
			char *one = g_strdup_printf(forms[i], names[j], "walk_mm"), *a = print_of(one);
			char *two = g_strdup_printf(forms[i], names[j], "run_aging"), *b = print_of(two);
			char *again = g_strdup_printf(forms[i], names[j], "walk_mm.constprop.0"), *c = print_of(again);

			if (!strcmp(a, b) || strcmp(a, c))
				fail_msg("%s below %s: form %zu", "walk_mm", names[j], i);
			g_free(one);
			g_free(two);
			g_free(again);
			g_free(a);
			g_free(b);
			g_free(c);
		}
	}
}

/* One bug by the forms of several kernels, and bugs that are not one */
static void same_and_not(void **state)
{
	static const char *const same[][2] = {
		{ "WARNING: CPU: 0 PID: 1 at mm/vmscan.c:1 walk_mm+0x1a/0x3b0\n", "WARNING: at walk_mm+0x1c/0x3b0, CPU#0: k/45\n" },
		{ "WARNING: mm/vmscan.c:7 at walk_mm+0x1a/0x3b0, CPU#1: k/9\n", "WARNING: at walk_mm.part.0+0x1/0x2, CPU#0: k/45\n" },
		{ "WARNING: [nr < 0] mm/vmscan.c:7 at walk_mm+0x1a/0x3b0, CPU#1: k/9\n", "WARNING: at mm/vmscan.c:7 walk_mm()\n" },
		{ "BUG: KASAN: use-after-free in walk_mm+0x1/0x2\n", "BUG: KASAN: slab-use-after-free in walk_mm+0x7/0x9\n" },
		{ "BUG: KCSAN: data-race in a_fn / b_fn\n", "BUG: KCSAN: data-race in b_fn.isra.0+0x1/0x2 / a_fn+0x1/0x2\n" },
		{ "BUG: unable to handle page fault for address: ffff\nOops: 0000 [#1] SMP\nRIP: 0010:walk_mm+0x1/0x2\n",
		  "BUG: unable to handle page fault for address: eeee\nOops: Oops: 0000 [#2] SMP\nRIP: 0010:walk_mm.cold+0x1/0x2\n" },
		/* what a compiler adds, inlines and numbers; 5.10, 6.12, 7.x */
		{ "WARNING: CPU: 0 PID: 1 at mm/a.c:1 walk_mm.isra.0.cold+0x1/0x2\n", "WARNING: at walk_mm.constprop.0.isra.0+0x7/0x9 [kvm], CPU#0: k/45\n" },
		{ "WARNING: CPU: 0 PID: 1 at mm/a.c:1 walk_mm.llvm.123456+0x1/0x2\n", "WARNING: CPU: 0 PID: 1 at mm/a.c:9 walk_mm.specialized.1+0x1/0x2 [m]\n" },
		{ "BUG: scheduling while atomic: a/1/0x2\nCall Trace:\n <TASK>\n dump_stack_lvl+0x1/0x2\n a_fn+0x1/0x2\n __do_sys_madvise+0x1/0x2\n"
		  " __se_sys_madvise+0x1/0x2\n __x64_sys_madvise+0x1/0x2\n do_syscall_64+0x1/0x2\n entry_SYSCALL_64_after_hwframe+0x1/0x2\n",
		  "BUG: scheduling while atomic: b/7/0x1\nCall Trace:\n <TASK>\n dump_stack+0x1/0x2\n a_fn.part.0+0x1/0x2\n __arm64_sys_madvise+0x1/0x2\n"
		  " invoke_syscall+0x1/0x2\n el0_svc_common.constprop.0+0x1/0x2\n do_el0_svc+0x1/0x2\n" },
		{ "BUG: scheduling while atomic: a/1/0x2\nCall Trace:\n a_fn+0x1/0x2\n kthread+0x1/0x2\n ret_from_fork+0x1/0x2\n",
		  "BUG: scheduling while atomic: a/1/0x2\nCall Trace:\n a_fn+0x1/0x2\n kthread+0x1/0x2\n ret_from_fork+0x1/0x2\n ret_from_fork_asm+0x1/0x2\n" },
		/* helpers that changed their names */
		{ "WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1 __alloc_pages_noprof+0x1/0x2\nCall Trace:\n alloc_pages_mpol_noprof+0x1/0x2\n a_fn+0x1/0x2\n",
		  "WARNING: mm/page_alloc.c:7 at __alloc_frozen_pages_noprof+0x1/0x2, CPU#0: k/1\nCall Trace:\n alloc_pages_mpol+0x1/0x2\n a_fn+0x1/0x2\n" },
		{ "WARNING: CPU: 0 PID: 1 at lib/x.c:1 __list_add_valid+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n",
		  "WARNING: CPU: 0 PID: 1 at lib/x.c:1 __list_add_valid_or_report+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n" },
		/* addresses that differ from boot to boot, with nothing else to tell them by */
		{ "BUG: Bad rss-counter state mm:00000000a1b2c3d4 type:MM_ANONPAGES val:2\n", "BUG: Bad rss-counter state mm:0000000055e6f7ff type:MM_ANONPAGES val:7\n" },
		/* a title that begins with one: nothing before it is read */
		{ "deadbeef.c:33: bad pmd ffff888012345678(0)\n", "feedbeef.c:33: bad pmd ffff888012345679(0)\n" },
		{ "mm/pgtable-generic.c:33: bad pmd ffff888012345678(00000000deadbeef)\n", "mm/pgtable-generic.c:33: bad pmd ffff8880abcdef78(80000000deadbe01)\n" },
		/* SLUB's caches of random names; 5.13 told left from right */
		{ "BUG kmalloc-512 (Not tainted): Redzone overwritten\nCall Trace:\n a_fn+0x1/0x2\n",
		  "BUG kmalloc-rnd-07-512 (Tainted: G    B      ): Right Redzone overwritten\nCall Trace:\n a_fn+0x1/0x2\n" },
		{ "WARNING: possible recursive locking detected\na/1 is trying to acquire lock:\nffff8880 (&mm->mmap_lock){++++}-{3:3}, at: f+0x1/0x2\n\n"
		  "but task is already holding lock:\nffff8880 (&mm->mmap_lock#2){++++}-{3:3}, at: g+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n",
		  "WARNING: possible recursive locking detected\nb/7 is trying to acquire lock:\nffff8881 (&mm->mmap_lock){++++}-{4:4}, at: f+0x7/0x9\n\n"
		  "but task is already holding lock:\nffff8881 (&mm->mmap_lock){+.+.}-{4:4}, at: g+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n" },
	};
	static const char *const other[][2] = {
		{ "WARNING: CPU: 0 PID: 1 at mm/util.c:1 kvmalloc_node_noprof+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n",
		  "WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1 __alloc_pages_noprof+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n" },
		{ "BUG kmalloc-64 (Not tainted): Redzone overwritten\nCall Trace:\n kfree+0x1/0x2\n a_fn+0x1/0x2\n",
		  "BUG kmalloc-64 (Not tainted): Object already free\nCall Trace:\n kfree+0x1/0x2\n a_fn+0x1/0x2\n" },
		{ "list_add corruption. prev is NULL.\n" "kernel BUG at lib/list_debug.c:25!\nRIP: 0010:__list_add_valid+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n",
		  "list_del corruption, next is LIST_POISON1\n" "kernel BUG at lib/list_debug.c:50!\nRIP: 0010:__list_del_entry_valid+0x1/0x2\nCall Trace:\n a_fn+0x1/0x2\n" },
		{ "WARNING: possible circular locking dependency detected\na/1 is trying to acquire lock:\nffff8880 (&mm->mmap_lock){++++}-{3:3}, at: a_fn+0x1/0x2\n"
		  "but task is already holding lock:\nffffffff (fs_reclaim){+.+.}-{0:0}, at: g+0x1/0x2\nCall Trace:\n lock_acquire+0x1/0x2\n a_fn+0x1/0x2\n",
		  "WARNING: possible circular locking dependency detected\na/1 is trying to acquire lock:\nffff8880 (&mm->mmap_lock){++++}-{3:3}, at: a_fn+0x1/0x2\n"
		  "but task is already holding lock:\nffffffff (&inode->i_rwsem){+.+.}-{0:0}, at: g+0x1/0x2\nCall Trace:\n lock_acquire+0x1/0x2\n a_fn+0x1/0x2\n" },
		{ "UBSAN: shift-out-of-bounds in lib/x.c:1:2\nCall Trace:\n __ubsan_handle_shift_out_of_bounds+0x1/0x2\n a_fn+0x1/0x2\n",
		  "UBSAN: shift-out-of-bounds in lib/x.c:1:2\nCall Trace:\n __ubsan_handle_shift_out_of_bounds+0x1/0x2\n b_fn+0x1/0x2\n" },
		{ "BUG: scheduling while atomic: a/1/0x2\nCall Trace:\n a_fn+0x1/0x2\n __x64_sys_madvise+0x1/0x2\n",
		  "BUG: scheduling while atomic: a/1/0x2\nCall Trace:\n a_fn+0x1/0x2\n __x64_sys_mremap+0x1/0x2\n" },
		{ "psi: task underflow! cpu=0 t=2 tasks=[0 0 0 0] clear=4 set=0\n", "psi: inconsistent task state! task=12:a cpu=0 psi_flags=4 clear=0 set=4\n" },
		/* a trap's registers within the trace do not end it */
		{ "WARNING: CPU: 1 PID: 1 at lib/x.c:1 debug_print_object+0x1/0x2\nCall Trace:\n panic+0x1/0x2\n __warn+0x1/0x2\n"
		  "RIP: 0010:debug_print_object+0x1/0x2\nRSP: 0018:0 EFLAGS: 0\nRAX: 0 RBX: 0\n kfree+0x1/0x2\n a_fn+0x1/0x2\n",
		  "WARNING: CPU: 1 PID: 1 at lib/x.c:1 debug_print_object+0x1/0x2\nCall Trace:\n panic+0x1/0x2\n __warn+0x1/0x2\n"
		  "RIP: 0010:debug_print_object+0x1/0x2\nRSP: 0018:0 EFLAGS: 0\nRAX: 0 RBX: 0\n kfree+0x1/0x2\n b_fn+0x1/0x2\n" },
		{ "BUG: KASAN: out-of-bounds in test_and_clear_bit+0x1/0x2\nCall Trace:\n test_and_clear_bit+0x1/0x2\n a_fn+0x1/0x2\n",
		  "BUG: KASAN: out-of-bounds in test_and_clear_bit+0x1/0x2\nCall Trace:\n test_and_clear_bit+0x1/0x2\n b_fn+0x1/0x2\n" },
		{ "WARNING: fs/x.c:1058 at 0x0, CPU#0: k/1\n", "WARNING: fs/x.c:2211 at 0x0, CPU#0: k/1\n" },
		{ "BUG: KASAN: use-after-free in walk_mm+0x1/0x2\n", "BUG: KASAN: out-of-bounds in walk_mm+0x1/0x2\n" },
		{ "BUG: KCSAN: data-race in a_fn / b_fn\n", "BUG: KCSAN: data-race in a_fn / c_fn\n" },
		{ "BUG: scheduling while atomic: a/1\nCall Trace:\n f+0x1/0x2\n", "BUG: sleeping function called\nCall Trace:\n f+0x1/0x2\n" },
		{ "WARNING: possible recursive locking detected\nCall Trace:\n f+0x1/0x2\n",
		  "WARNING: inconsistent lock state\nCall Trace:\n f+0x1/0x2\n" },
		/* what an interrupt met is not where a lock was taken */
		{ "WARNING: inconsistent lock state\nCall Trace:\n <IRQ>\n f+0x1/0x2\n RIP: 0010:idle+0x1/0x2\n",
		  "WARNING: inconsistent lock state\nCall Trace:\n <IRQ>\n g+0x1/0x2\n RIP: 0010:idle+0x1/0x2\n" },
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(same) + G_N_ELEMENTS(other); i++) {
		bool want = i < G_N_ELEMENTS(same);
		const char *const *pair = want ? same[i] : other[i - G_N_ELEMENTS(same)];
		char *a = print_of(pair[0]), *b = print_of(pair[1]);

		if (want == !!strcmp(a, b))
			fail_msg("%s and %s", pair[0], pair[1]);
		g_free(a);
		g_free(b);
	}
}

#define CUT "------------[ cut here ]------------\n"

/* Two WARN()s of one function: by their words, and where they have none by their places */
static void two_in_one_function(void **state)
{
	char *a = print_of(CUT "walk of nid 3 went wrong\nWARNING: at walk_mm+0x1a/0x3b0, CPU#0: k/1\n");
	char *b = print_of(CUT "walk of nid 77 went wrong\nWARNING: CPU: 0 PID: 1 at mm/vmscan.c:9 walk_mm+0x2a/0x3b0\n");
	char *c = print_of(CUT "nothing to walk\nWARNING: at walk_mm+0x3a/0x3b0, CPU#0: k/1\n");
	json_t *d = scan("WARNING: at walk_mm+0x1a/0x3b0, CPU#0: k/1\nWARNING: at walk_mm+0x2a/0x3b0, CPU#0: k/1\n"
			 "WARNING: at walk_mm+0x1a/0x3b0, CPU#1: k/2\n");
	json_t *e = scan("WARNING: CPU: 0 PID: 1 at mm/vmscan.c:1 walk_mm+0x1a/0x3b0\n"
			 "WARNING: CPU: 0 PID: 1 at mm/vmscan.c:1 walk_mm+0x2a/0x3b0\n");
	static const char *const bugs[] = {
		"refcount_t: underflow; use-after-free.", "refcount_t: addition on 0; use-after-free.",
		"ODEBUG: free active (active state 0) object: ffff8880 object type: timer_list hint: f+0x0/0x40",
		"ODEBUG: free active (active state 0) object: ffff8880 object type: work_struct hint: f+0x0/0x40",
		"ODEBUG: init active (active state 0) object: ffff8880 object type: work_struct hint: f+0x0/0x40",
	};

	(void)state;
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	g_free(a);
	g_free(b);
	g_free(c);
	assert_int_equal(json_array_size(d), 2);
	assert_string_equal(get(d, 0, "fingerprint"), get(d, 1, "fingerprint"));
	assert_string_equal(get(d, 0, "site"), "walk_mm+0x1a/0x3b0");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(d, 0), "count")), 2);
	assert_int_equal(json_array_size(e), 1);
	assert_string_equal(get(e, 0, "site"), "mm/vmscan.c:1");
	json_decref(d);
	json_decref(e);
	for (gsize i = 0; i < G_N_ELEMENTS(bugs); i++) {
		for (gsize j = 0; j < i; j++) {
			static const char form[] = CUT "%s\nWARNING: lib/x.c:1 at refcount_warn_saturate+0x1/0x2, CPU#0: k/1\n"
						   "Call Trace:\n a_fn+0x1/0x2\n";
			char *one = g_strdup_printf(form, bugs[i]), *two = g_strdup_printf(form, bugs[j]);

			a = print_of(one);
			b = print_of(two);
			assert_string_not_equal(a, b);
			g_free(a);
			g_free(b);
			g_free(one);
			g_free(two);
		}
	}
}

/* A WARN()'s words count once: before its line, after it as until 4.15, and alone */
static void message_and_place(void **state)
{
	static const char words[] = "ODEBUG: free active (active state 0) object type: timer_list hint: f+0x0/0x40\n";
	static const char line[] = "WARNING: CPU: 0 PID: 1 at lib/debugobjects.c:2 debug_print_object+0x1/0x2\n";
	static const char trace[] = "Modules linked in:\nCall Trace:\n a_fn+0x1/0x2\n---[ end trace 12 ]---\n";
	char *forms[] = {
		g_strconcat(CUT, words, line, trace, NULL), g_strconcat(CUT, line, words, trace, NULL),
		g_strconcat(words, trace, NULL), g_strconcat(words, CUT, line, trace, NULL), g_strconcat(words, line, trace, NULL),
		g_strconcat(words, NULL), g_strconcat("usercopy: Kernel memory exposure attempt detected from x (offset 0, size 9)!\n",
		CUT, "kernel BUG at mm/usercopy.c:99!\nRIP: 0010:a_fn+0x1/0x2\n", trace, NULL),
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
		char *fp = print_of(forms[i]);

		g_free(fp);
		g_free(forms[i]);
	}
}

/* What a terminal or a logger did to a line */
static void stamps_of_loggers(void **state)
{
	static const char *const before[] = {
		"\033[31m", "\033[1;31m[    1.234567] \033[0m", "\033[33m[    1.234567] \033[31m\033[1m", "[    1.234567@3] ",
		"[    1.234567,0] ", "[    1.234567] -(1)[77:kworker]", "kern  :warn  : [    1.234567] ", "4,123,1234567,-;",
		"4,123,1234567,-,caller=T9;", "Dec 02 22:30:11 vm kernel: ", "2026-12-02T22:30:11.123456+00:00 vm kernel: ",
		"2026-12-02T22:30:11.123456-07:00 ERR kernel: ", "Sun Aug  9 13:47:00 2026 kern.warn kernel: [509378.242848] ",
		"[Dec 2 22:30] ", "[  +0.000012] ", "[2026-12-02 22:30:11.123] [    1.234567] ", "22:30:11.123 [    1.234567] ",
		"Dec  2 22:30:11 vm kernel[99]: ", "(d1) [    1.234567] ", "\033[2J\033[H",
		"[    0.000000] [pid:0,cpu0,swapper/0]", "[  240.] ", "60836.026949] ", "[   73098][    T1] ",
		"<0>[  110.560296] I[6:      swapper/6:    0] ", "\320\270\321\216\320\273 27 14:08:03 vm kernel: ",
		"Jul 28 04:24:10 kernel: ", "kern.alert kernel: [ 1912.963040] ", "[    0.7745][    T1] ",
	};
	static const struct {
		const char *line, *kind;
	} said[] = {
		{ "WARNING: mm/vmscan.c:7 at walk_mm+0x1a/0x3b0, CPU#1: k/9", "WARNING" },
		{ "BUG: a thing of a kind to come", "BUG" },
		{ "Oops: Kernel access of bad area, sig: 11 [#1]", "Oops" },
		{ "unreferenced object 0xffff888005a31200 (size 64):", "memory leak" },
		{ "Call Trace:", "unknown" },
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(before); i++) {
		for (gsize j = 0; j < G_N_ELEMENTS(said); j++) {
			char *line = g_strconcat(before[i], said[j].line, "\033[0m\r\n", NULL);
			json_t *a = scan(line);

			if (json_array_size(a) != 1 || strcmp(get(a, 0, "kind"), said[j].kind))
				fail_msg("%s is %s", line, get(a, 0, "kind"));
			json_decref(a);
			g_free(line);
		}
	}
}

/* Openers as kernels of 2.6 to 6.15 of many makers printed them, in forms that no source of today has any more */
static void met_in_the_field(void **state)
{
	static const char *const lines[] = {
		"[ 2749.048047] general protection fault: 0000 [#1] SMP ", "Internal error: Oops: 817 [#1] PREEMPT",
		"Internal error: Oops: 1 [#1] ARM", "Oops [#1]", "<4>[ 3518.325262] Oops[#1]:", "Unhandled kernel unaligned access[#1]:",
		"[  227.653112] Oops: Kernel access of bad area, sig: 11 [#12]", "cpu 0x0: Vector: 300 (Data Access) at [c00000000111f7d0]",
		"[2113471.872311] Unknown program exception: 0028 [#1] SMP ", "[ 3556.510903] INFO: rcu_sched_state detected stall on CPU 0 (t=105060 jiffies)",
		"[   64.1] [ INFO: inconsistent lock state ]", "[   64.1] [ BUG: a/7 still has locks held! ]",
		"[   64.1] kernel stack overflow (page fault): 0000 [#1] PREEMPT SMP", "[   64.1] Oops - load access fault [#1]",
		"[   64.1] Kernel BUG [#1]", "[   64.1] kasan: GPF could be caused by NULL-ptr deref or user memory access",
		"[49212.4] txg_sync: page allocation failure. order:0, mode:0x20",
		"[   64.1] usercopy: kernel memory exposure attempt detected from ffff88 (kmalloc-64) (96 bytes)",
		"[   64.1] unable to handle kernel paging request at ffff88", "[    4.8] Slab 0x807e1060 objects=10 used=6 fp=0x81b6b380",
		"[    4.8] Allocated in hub_event+0xa98/0xeac age=2 cpu=0 pid=154",
		"[  599.8] [<c0014a70>] (unwind_backtrace+0x0/0x130) from [<c00907b0>] (warn_alloc_failed+0xc8/0x10c)",
		"[  599.8]  unwind_backtrace from show_stack+0x18/0x1c", "[   64.1] Modules linked in: a b c", "[   64.1] RIP: 0010:f+0x1/0x2",
		"[ 1356.2] r8125 0000:22:04.0 eth4: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 ms",
		"[   64.1] CPU 1 Unable to handle kernel paging request at virtual address 00000628, epc == 8010c560, ra == 8010c444",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
		json_t *a = scan(lines[i]);

		if (json_array_size(a) != 1)
			fail_msg("%zu in %s", json_array_size(a), lines[i]);
		json_decref(a);
	}
}

/* Each takes time that grows with its bytes: 2 MiB of anything within seconds, also under a sanitizer */
static void floods(void **state)
{
	static const char *const lines[] = {
		"\n", "[    1.234567] [    1.234567] x ", "[    1.234567] WARNING: at f%d+0x1/0x2, CPU#0: x/1\n",
		"[    1.234567]  shrink_node+0x1/0x2\n", "[    1.234567] x BUG: WARNING: INFO: task rcu Oops [#1] detected\n",
		"[[[[[[[[", "\xff\xfe\x80", "\033[", "Call Trace:\n", "[ cut here ]-\n-[ cut here ]-\n",
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
		GString *s = g_string_new(NULL);
		clock_t begin;
		json_t *a;

		for (int n = 0; s->len < 2 * 1024 * 1024; n++) {
			if (strstr(lines[i], "%d"))
				g_string_append_printf(s, lines[2], n);
			else
				g_string_append(s, lines[i]);
		}
		begin = clock();
		a = splat_scan(s->str, s->len);
		/* of CPU time, which a busy machine does not change; some tenths of one here */
		if (clock() - begin > 3 * CLOCKS_PER_SEC)
			fail_msg("%s: %g s", lines[i], (clock() - begin) / (double)CLOCKS_PER_SEC);
		assert_true(json_array_size(a) <= 66);
		json_decref(a);
		g_string_free(s, TRUE);
	}
}

/*
 * One bug keeps its fingerprint whatever stands between its lines: a program's words, systemd's, the other CPU's
 * (one line at a time), lines that printk dropped, and a logger's stamp before the kernel's.
 */
static void interrupted(void **state)
{
	static const char *const report[] = {
		"------------[ cut here ]------------", "walk went wrong", "WARNING: lib/x.c:1 at refcount_warn_saturate+0x1/0x2, CPU#0: k/1",
		"RIP: 0010:refcount_warn_saturate+0x1/0x2", "Call Trace:", " <TASK>", " a_fn+0x1/0x2", " b_fn+0x1/0x2", " c_fn+0x1/0x2",
		" </TASK>", "---[ end trace 0000000000000000 ]---",
	};
	static const char *const between[] = {
		"ok 3 - a case\n", "[    2.000000] ** 12 printk messages dropped **\n", "[    2.000000] systemd[1]: Starting x...\n",
		"[    2.000000] audit: type=1400 audit(1.2:3): x\n", "[    2.000000][   T77] usb 1-1: reset\n", "[  OK  ] Reached x.\r\n",
	};
	static const char *const before[] = {
		"[    2.000000] ", "[    2.000000][    T1] ", "Dec  2 22:30:11 vm kernel: [    2.000000] ", "<4>[    2.000000] (0)[77:kworker]",
		"2026-12-02T22:30:11.123456+00:00 vm kernel: [    2.000000] ", "[2026-12-02 22:30:11.123] [    2.000000] ",
	};
	char *want = NULL;

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(before); i++) {
		for (gsize j = 0; j <= G_N_ELEMENTS(between); j++) {
			for (gsize at = 1; at < G_N_ELEMENTS(report); at++) {
				GString *s = g_string_new("[    1.000000] one\n");
				char *fp;

				for (gsize n = 0; n < G_N_ELEMENTS(report); n++) {
					/* without callers, a driver's line after "cut here" may as well be a WARN()'s words */
					if (n == at && j < G_N_ELEMENTS(between) && (j != 4 || i == 1))
						g_string_append(s, between[j]);
					g_string_append_printf(s, "%s%s\n", before[i], report[n]);
				}
				fp = print_of(s->str);
				if (!want)
					want = g_strdup(fp);
				if (strcmp(fp, want))
					fail_msg("%s is not %s: %s", fp, want, s->str);
				g_free(fp);
				g_string_free(s, TRUE);
			}
		}
	}
	g_free(want);
	/* a driver's single line within a trace, where nothing tells who printed it */
	{
		char *a = print_of("[ 2.0] BUG: scheduling while atomic: a/1\n[ 2.0] Call Trace:\n[ 2.0]  a_fn+0x1/0x2\n[ 2.0]  b_fn+0x1/0x2\n");
		char *b = print_of("[ 2.0] BUG: scheduling while atomic: a/1\n[ 2.0] Call Trace:\n[ 2.0] usb 1-1: reset\n[ 2.0]  a_fn+0x1/0x2\n"
				   "[ 2.0] usb 1-2: reset\n[ 2.0]  b_fn+0x1/0x2\n");
		/* what heads another part of a report ends it */
		char *c = print_of("[ 2.0] BUG: scheduling while atomic: a/1\n[ 2.0] Call Trace:\n[ 2.0]  a_fn+0x1/0x2\n[ 2.0]  b_fn+0x1/0x2\n"
				   "[ 2.0] Allocated by task 7:\n[ 2.0]  other_fn+0x1/0x2\n");

		assert_string_equal(a, b);
		assert_string_equal(a, c);
		g_free(a);
		g_free(b);
		g_free(c);
	}
}

/* What is not kept is said, and no entry can allow it */
static void more_than_kept(void **state)
{
	GString *s = g_string_new(NULL);
	json_t *a;

	(void)state;
	for (int i = 0; i < 300; i++)
		g_string_append_printf(s, "WARNING: at f%d+0x1/0x2, CPU#0: x/1\n", i);
	a = scan(s->str);
	assert_int_equal(json_array_size(a), 65);
	assert_string_equal(get(a, 64, "kind"), "unknown");
	json_decref(a);
	g_string_free(s, TRUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_console),
		cmocka_unit_test(warning),
		cmocka_unit_test(fingerprint_is_stable),
		cmocka_unit_test(counted_once),
		cmocka_unit_test(oops_is_one),
		cmocka_unit_test(announced_kill),
		cmocka_unit_test(kinds),
		cmocka_unit_test(tied_to_the_test_that_ran),
		cmocka_unit_test(rows),
		cmocka_unit_test(innocents),
		cmocka_unit_test(unstamped),
		cmocka_unit_test(net_below),
		cmocka_unit_test(one_in_another),
		cmocka_unit_test(interleaved),
		cmocka_unit_test(reporters),
		cmocka_unit_test(same_and_not),
		cmocka_unit_test(more_than_kept),
		cmocka_unit_test(two_in_one_function),
		cmocka_unit_test(message_and_place),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(stamps_of_loggers),
		cmocka_unit_test(met_in_the_field),
		cmocka_unit_test(floods),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
