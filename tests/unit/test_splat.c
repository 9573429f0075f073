// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/run/splat.c host/base/*.c
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "run/run.h"

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
	json_t *b = scan("[   88.1][  T901] WARNING: CPU: 0 PID: 3 at mm/vmscan.c:99 walk_mm.isra.0+0x2/0x4\n"
			 "[   88.1][  T901] RIP: 0010:walk_mm.isra.0+0x2/0x4\n");
	json_t *c = scan("[   88.1] WARNING: mm/vmscan.c:3300 at walk_mm+0x1c/0x3b0, CPU#0: kswapd0/45\n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_console),
		cmocka_unit_test(warning),
		cmocka_unit_test(fingerprint_is_stable),
		cmocka_unit_test(counted_once),
		cmocka_unit_test(oops_is_one),
		cmocka_unit_test(kinds),
		cmocka_unit_test(tied_to_the_test_that_ran),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
