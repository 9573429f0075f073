// SPDX-License-Identifier: GPL-2.0-only
// unit-sources: host/vm/postmortem.c host/kernel/*.c host/debian/*.c host/store/*.c host/base/*.c
/*
 * The post-mortem against a monitor of our own: ids, order, refusals, silence, times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "vm/postmortem.h"

#define SEC ((gint64)G_USEC_PER_SEC)

static const char x86[] =
	"\r\nCPU#0\r\nRAX=0 RSP=ffffc90000003e00\r\nRIP=ffffffff81000100 RFL=00000046 [---Z-P-] CPL=0 II=0 HLT=0\r\n"
	"\r\nCPU#1\r\nRAX=0 RSP=ffffc90000013e00\r\nRIP=0000000000401000 RFL=00000246 [---Z-P-] CPL=3 II=0 HLT=0\r\n";

static json_t *sent;		/* commands, in order */
static GString *typed;
static char *top;
static struct kernel kernel;

static void monitor(json_t *command, void *data)
{
	(void)data;
	json_array_append_new(sent, command);
}

static void type(const char *text, void *data)
{
	(void)data;
	g_string_append(typed, text);
}

static int setup(void **state)
{
	(void)state;
	top = g_dir_make_tmp("mmgate pm-XXXXXX", NULL);
	kernel.image = g_build_filename(top, "none", NULL);
	kernel.release = (char *)"6.12";
	sent = json_array();
	typed = g_string_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmg_rmtree(top);
	g_free(top);
	g_free(kernel.image);
	json_decref(sent);
	g_string_free(typed, TRUE);
	return 0;
}

static struct post_mortem *begin(bool paused, bool dump, uint64_t memory)
{
	const struct post_mortem_vm vm = {
		.kernel = &kernel, .dir = top, .paused = paused, .nmi = true, .dump = dump, .memory = memory,
		.scale = 1, .monitor = monitor, .type = type,
	};

	return post_mortem_begin(&vm, 0);
}

static const json_t *last(void)
{
	return json_array_get(sent, json_array_size(sent) - 1);
}

static const char *last_command(void)
{
	return obj_str(last(), "execute");
}

static json_t *answer(const char *text)
{
	return json_pack("{s:s, s:s}", "id", obj_str(last(), "id"), "return", text);
}

static bool reply(struct post_mortem *pm, json_t *message, gint64 now)
{
	bool ours = post_mortem_reply(pm, message, now);

	json_decref(message);
	return ours;
}

/* Answer what is asked until it is done or @until is asked; what the time is then */
static gint64 run(struct post_mortem *pm, const char *until, bool speaks)
{
	gint64 now = SEC;
	size_t seen = 0;

	while (!post_mortem_done(pm, now) && now < 300 * SEC) {
		now += SEC / 10;
		if (json_array_size(sent) == seen)
			continue;
		seen = json_array_size(sent);
		if (until && !strcmp(last_command(), until))
			break;
		reply(pm, answer(strstr(obj_str(json_object_get(last(), "arguments"), "command-line"), "registers") ?
				 x86 : ""), now);
		if (speaks && !strcmp(last_command(), "chardev-send-break"))
			post_mortem_said(pm, now + 1);
	}
	return now;
}

static bool was_sent(const char *command)
{
	const json_t *c;
	size_t i;

	json_array_foreach(sent, i, c)
		if (!strcmp(obj_str(c, "execute"), command))
			return true;
	return false;
}

/* The guest's own requests have numbers; ours are told from them, and from answers that come too late */
static void ids(void **state)
{
	struct post_mortem *pm = begin(false, false, 0);

	(void)state;
	assert_true(json_is_string(json_object_get(last(), "id")));
	assert_false(reply(pm, json_pack("{s:i, s:{}}", "id", 1, "return"), 1));
	assert_false(reply(pm, json_pack("{s:s, s:{}}", "id", "other", "return"), 1));
	assert_false(reply(pm, json_pack("{s:s}", "event", "STOP"), 1));
	assert_false(post_mortem_answered(pm));
	/* ours, but of nothing that is waited for */
	assert_true(reply(pm, json_pack("{s:s, s:s}", "id", "pm-99", "return", x86), 1));
	assert_false(post_mortem_answered(pm));
	assert_true(reply(pm, answer(x86), 1));
	assert_true(post_mortem_answered(pm));
	post_mortem_free(pm);
	assert_true(reply(NULL, json_pack("{s:s, s:{}}", "id", "pm-1", "return"), 1));
	assert_false(reply(NULL, json_pack("{s:i, s:{}}", "id", 1, "return"), 1));
}

/* The guest is not touched before the registers were seen; then it is asked, and left at last */
static void hang(void **state)
{
	struct post_mortem *pm = begin(false, false, 0);
	g_autofree char *where = NULL;
	json_t *o;

	(void)state;
	assert_false(post_mortem_touched(pm));
	run(pm, NULL, true);
	assert_true(post_mortem_touched(pm));
	assert_string_equal(typed->str, "7lw");
	assert_false(was_sent("inject-nmi"));
	assert_false(was_sent("dump-guest-memory"));
	o = post_mortem_write(pm, "a line\nsaid to us\n", 18, 7);
	where = post_mortem_where(o);
	/* no image to name it by: the address; the CPU in the kernel, not the one in user space */
	assert_string_equal(where, "CPU 0 is in 0xffffffff81000100, interrupts off");
	assert_string_equal(obj_str(json_array_get(json_object_get(o, "cpus"), 1), "mode"), "user");
	json_decref(o);
	post_mortem_free(pm);
}

static void deaf_kernel_gets_an_nmi(void **state)
{
	struct post_mortem *pm = begin(false, false, 0);

	(void)state;
	run(pm, NULL, false);
	assert_true(was_sent("inject-nmi"));
	post_mortem_free(pm);
}

/* A guest that panicked is neither woken nor spoken to */
static void paused(void **state)
{
	struct post_mortem *pm = begin(true, true, 1 << 20);

	(void)state;
	run(pm, NULL, false);
	assert_true(was_sent("dump-guest-memory"));
	assert_false(was_sent("stop"));
	assert_false(was_sent("cont"));
	assert_false(was_sent("chardev-send-break"));
	assert_false(was_sent("inject-nmi"));
	post_mortem_free(pm);
}

static void dump_is_bounded(void **state)
{
	struct post_mortem *pm = begin(true, true, UINT64_MAX);

	(void)state;
	run(pm, NULL, false);
	assert_false(was_sent("dump-guest-memory"));
	post_mortem_free(pm);
}

/* A monitor that says nothing, or stops to in any step, ends it all the same */
static void silence(void **state)
{
	static const char *const steps[] = {
		"human-monitor-command", "stop", "dump-guest-memory", "cont", "chardev-send-break", "inject-nmi",
	};

	(void)state;
	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		struct post_mortem *pm = begin(false, true, 1 << 20);
		gint64 now = run(pm, steps[i], false);

		for (; !post_mortem_done(pm, now) && now < 1000 * SEC; now += SEC)
			;
		assert_true(now < 200 * SEC);
		assert_true(post_mortem_answered(pm) == (i > 0));
		json_decref(post_mortem_write(pm, "", 0, 0));
		post_mortem_free(pm);
		json_array_clear(sent);
	}
}

/* What QEMU prints may be anything: nothing is believed of its size */
static void nonsense(void **state)
{
	static const char *const texts[] = {
		"", "CPU#", "CPU#0\r\nRIP=", "CPU#0 RIP=zz RSP=-1", "0: 0x 0xg 0x", "IDT=     0 0\r\nCPU#0 RIP=1 IDT= 1 2",
	};

	(void)state;
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		struct post_mortem *pm = begin(false, false, 0);
		gint64 now = SEC;

		while (!post_mortem_done(pm, now) && now < 300 * SEC) {
			reply(pm, answer(texts[i]), now);
			now += SEC / 10;
		}
		if (now >= 100 * SEC)
			print_error("%u: %s\n", i, last_command());
		assert_true(now < 100 * SEC);
		json_decref(post_mortem_write(pm, "x", 1, 0));
		post_mortem_free(pm);
	}
}

static void panic(void **state)
{
	static const char oops[] =
		"[ 1.0] RIP: 0010:earlier+0x1/0x2\n[ 2.0] RIP: 0010:shrink_one+0x10/0x20\n"
		"[ 2.1] Kernel panic - not syncing: Fatal exception\n[ 2.2] RIP: 0010:later+0x1/0x2\n";
	g_autofree char *a = post_mortem_panicked_in(oops, NULL), *b = NULL, *c = NULL;
	json_t *o = json_pack("{s:[{s:[s]}, {s:[s, s, s, s]}]}", "cpus", "callers", "do_idle+0x1", "callers",
			      "native_machine_emergency_restart+0xba", "panic+0x1cd", "_printk+0x3",
			      "sysrq_handle_crash+0x19");

	(void)state;
	assert_string_equal(a, "shrink_one");
	b = post_mortem_panicked_in("Kernel panic - not syncing: sysrq triggered crash\n", o);
	assert_string_equal(b, "sysrq_handle_crash");
	c = post_mortem_panicked_in("nothing", NULL);
	assert_null(c);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ids, setup, teardown),
		cmocka_unit_test_setup_teardown(hang, setup, teardown),
		cmocka_unit_test_setup_teardown(deaf_kernel_gets_an_nmi, setup, teardown),
		cmocka_unit_test_setup_teardown(paused, setup, teardown),
		cmocka_unit_test_setup_teardown(dump_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(silence, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(panic, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
