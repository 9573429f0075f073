// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a hang or a panic: registers of all CPUs, the code and stack each of
 * them stands at, a dump of the memory where that was asked for, and then what
 * the kernel says of itself when it is asked by sysrq over its console or, where
 * it does not listen, by an NMI.
 *
 * A machine of steps, each with a time of its own, driven by the monitor's
 * answers and by a tick: nothing here waits.  Registers, stack and console are
 * the guest's, hence untrusted: bounded, and only ever printed.
 */
#include "vm/postmortem.h"

#include "kernel/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEC		((gint64)G_USEC_PER_SEC)
#define CPUS_MAX	64
#define WORDS		512		/* of each stack */
#define CALLERS		24		/* kept of each CPU */
#define CALLERS_SAID	3		/* of them in the verdict */
#define FRAMES_MAX	64
#define REPLY_MAX	(1 << 20)
#define TAIL_LINES	200
#define LINE_BYTES	512
#define SAMPLES		4		/* of the registers, the last of them while the guest is stopped */
#define SAMPLE_GAP	(SEC / 20)
#define OOPS_BYTES	16384		/* from an oops to the panic that it ends in */
#define DUMP_MAX	(16ULL << 30)

/* Seconds, multiplied by the scale */
#define ANSWER_LIMIT	5		/* of the monitor */
#define DUMP_LIMIT	60
#define WORD_LIMIT	4		/* until the kernel begins to answer a key */
#define SPEECH_LIMIT	10		/* until it has said all */
#define WHOLE_LIMIT	40		/* without the dump */
#define QUIET		(SEC / 2)	/* after its last word */

enum step { SAMPLE, GAP, STOP, REGISTERS, TABLE, CODE, STACK, DUMP, WAKE, BREAK, SPEECH, NMI, DONE };

/* What is asked by sysrq, in this order: print all of it, backtraces of CPUs, blocked tasks, all tasks */
static const struct {
	const char *key, *what;
} keys[] = {
	{ "7", "print all" }, { "l", "backtraces of all CPUs" }, { "w", "blocked tasks" },
};

struct cpu {
	uint64_t pc, sp, fp, lr;
	bool user, halted, masked;
	uint64_t words[WORDS];
	guint nr_words;
	uint64_t samples[SAMPLES];
	guint nr_samples, in_user;
};

struct post_mortem {
	struct post_mortem_vm vm;
	enum step step;
	guint id;			/* of the command that is waited for, 0: none */
	guint nr;			/* commands so far */
	guint at;			/* CPU, sample or key that the step is at */
	gint64 step_from, until, end, last_word;
	bool touched, answered, ended, spoke;
	GString *registers;		/* as QEMU printed them */
	struct cpu cpus[CPUS_MAX];
	guint nr_cpus;
	GArray *probes;			/* struct code_probe */
	uint64_t table;			/* x86: where the descriptors of interrupts are */
	GString *notes;
	char *dump_path;
	bool dumped;
};

/* ---- what QEMU prints ---- */

/* The hexadecimal number after the first of @marks in @text; false where there is none */
static bool number_after(const char *text, const char *const *marks, uint64_t *value)
{
	for (guint i = 0; marks[i]; i++) {
		const char *at = strstr(text, marks[i]);
		char *end;

		if (!at)
			continue;
		at += strlen(marks[i]);
		at += strspn(at, " =");
		*value = g_ascii_strtoull(at, &end, 16);
		if (end != at)
			return true;
	}
	return false;
}

/* One CPU of "info registers": x86, arm64, RISC-V and POWER */
static void read_cpu(struct cpu *c, const char *text)
{
	static const char *const pc[] = { "RIP=", " PC=", "\npc ", " pc ", "NIP ", NULL };
	static const char *const sp[] = { "RSP=", " SP=", "x2/sp", NULL };
	static const char *const fp[] = { "RBP=", "X29=", "x8/s0", NULL };
	static const char *const lr[] = { "X30=", "x1/ra", "LR ", NULL };
	static const char *const state[] = { "PSTATE=", NULL };
	static const char *const flags[] = { "RFL=", NULL };
	const char *gpr = strstr(text, "GPR00 ");
	uint64_t v;

	number_after(text, pc, &c->pc);
	number_after(text, sp, &c->sp);
	number_after(text, fp, &c->fp);
	number_after(text, lr, &c->lr);
	/* POWER: the stack pointer is r1 */
	if (gpr && sscanf(gpr, "GPR00 %*s %" G_GINT64_MODIFIER "x", &v) == 1)
		c->sp = v;
	c->user = strstr(text, " CPL=3") || strstr(text, "EL0t");
	c->halted = strstr(text, " HLT=1");
	if (number_after(text, flags, &v))
		c->masked = !(v & 0x200);	/* X86_EFLAGS_IF */
	else if (number_after(text, state, &v))
		c->masked = v & 0x80;		/* PSR_I_BIT */
}

/* All CPUs of "info registers -a" */
static void read_registers(struct post_mortem *pm, const char *text, bool final)
{
	static const char *const table[] = { "IDT=", NULL };
	g_auto(GStrv) parts = g_strsplit(text, "CPU#", CPUS_MAX + 2);

	pm->nr_cpus = 0;
	/* the first part is what stands before CPU 0; of an empty text there is none */
	for (guint i = 1; parts[0] && parts[i] && pm->nr_cpus < CPUS_MAX; i++) {
		struct cpu *c = &pm->cpus[pm->nr_cpus++], now = { 0 };

		read_cpu(&now, parts[i]);
		if (c->nr_samples < SAMPLES) {
			c->samples[c->nr_samples++] = now.pc;
			c->in_user += now.user;
		}
		if (!final)
			continue;
		memcpy(now.samples, c->samples, sizeof(now.samples));
		now.nr_samples = c->nr_samples;
		now.in_user = c->in_user;
		*c = now;
		if (!pm->table)
			number_after(parts[i], table, &pm->table);
	}
}

/* The numbers of "ADDRESS: NUMBER NUMBER..." lines; how many */
static guint read_memory(const char *text, uint64_t *to, guint max)
{
	g_auto(GStrv) rows = g_strsplit_set(text, "\r\n", -1);
	guint n = 0;

	for (guint i = 0; rows[i]; i++) {
		const char *at = strchr(rows[i], ':');

		while (at && n < max) {
			char *end;

			at = strstr(at, "0x");
			if (!at)
				break;
			to[n] = g_ascii_strtoull(at, &end, 16);
			n += end > at + 1;
			at = end > at ? end : NULL;
		}
	}
	return n;
}

static void take_code(struct post_mortem *pm, uint64_t addr, const char *text)
{
	struct code_probe probe = { .addr = addr };
	uint64_t bytes[sizeof(probe.bytes)];

	probe.n = read_memory(text, bytes, sizeof(probe.bytes));
	for (guint i = 0; i < probe.n; i++)
		probe.bytes[i] = bytes[i];
	if (probe.n)
		g_array_append_val(pm->probes, probe);
}

/* ---- steps ---- */

static void note(struct post_mortem *pm, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void note(struct post_mortem *pm, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g_string_append_vprintf(pm->notes, fmt, ap);
	g_string_append_c(pm->notes, '\n');
	va_end(ap);
}

static void ask(struct post_mortem *pm, const char *command, json_t *arguments, int seconds, gint64 now)
{
	g_autofree char *id = g_strdup_printf("pm-%u", ++pm->nr);
	json_t *o = json_pack("{s:s, s:s}", "execute", command, "id", id);

	if (arguments)
		json_object_set_new(o, "arguments", arguments);
	pm->id = pm->nr;
	pm->until = now + seconds * pm->vm.scale * SEC;
	pm->vm.monitor(o, pm->vm.data);
}

static void ask_human(struct post_mortem *pm, int cpu, gint64 now, const char *fmt, ...) G_GNUC_PRINTF(4, 5);
static void ask_human(struct post_mortem *pm, int cpu, gint64 now, const char *fmt, ...)
{
	g_autofree char *line = NULL;
	json_t *args;
	va_list ap;

	va_start(ap, fmt);
	line = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	args = json_pack("{s:s}", "command-line", line);
	if (cpu >= 0)
		json_object_set_new(args, "cpu-index", json_integer(cpu));
	ask(pm, "human-monitor-command", args, ANSWER_LIMIT, now);
}

/* kdump-compressed leaves out pages of zeros; it needs a QEMU that can, else ELF as it is */
static void ask_dump(struct post_mortem *pm, gint64 now)
{
	g_autofree char *to = g_strconcat("file:", pm->dump_path, NULL);

	ask(pm, "dump-guest-memory", json_pack("{s:b, s:s, s:s}", "paging", 0, "protocol", to, "format",
					       pm->at ? "elf" : "kdump-zlib"), DUMP_LIMIT, now);
}

static void enter(struct post_mortem *pm, enum step step, gint64 now);

/* The next CPU with something to ask, from @pm->at on; else the step after it */
static void enter_cpu(struct post_mortem *pm, gint64 now)
{
	for (; pm->at < pm->nr_cpus; pm->at++) {
		const struct cpu *c = &pm->cpus[pm->at];

		if (pm->step == CODE && c->pc) {
			ask_human(pm, pm->at, now, "x /64xb 0x%" G_GINT64_MODIFIER "x", c->pc);
			return;
		}
		if (pm->step == STACK && c->sp) {
			/* aligned, so that what is read are the stack's own words */
			ask_human(pm, pm->at, now, "x /%dgx 0x%" G_GINT64_MODIFIER "x", WORDS,
				  c->sp & ~UINT64_C(7));
			return;
		}
	}
	enter(pm, pm->step + 1, now);
}

static void enter(struct post_mortem *pm, enum step step, gint64 now)
{
	pm->step = step;
	pm->step_from = now;
	pm->id = 0;
	switch (step) {
	case SAMPLE:
	case REGISTERS:
		ask_human(pm, -1, now, "info registers -a");
		break;
	case GAP:
		pm->until = now + SAMPLE_GAP;
		break;
	case STOP:
		if (pm->vm.paused) {
			enter(pm, REGISTERS, now);
			break;
		}
		pm->touched = true;
		ask(pm, "stop", NULL, ANSWER_LIMIT, now);
		break;
	case TABLE:
		/* where the handler of vector 0 is: known code, wherever the CPUs are */
		pm->at = 0;
		if (pm->table)
			ask_human(pm, 0, now, "x /2gx 0x%" G_GINT64_MODIFIER "x", pm->table);
		else
			enter(pm, CODE, now);
		break;
	case CODE:
	case STACK:
		pm->at = 0;
		enter_cpu(pm, now);
		break;
	case DUMP:
		pm->at = 0;
		if (pm->dump_path)
			ask_dump(pm, now);
		else
			enter(pm, WAKE, now);
		break;
	case WAKE:
		pm->at = 0;
		if (pm->vm.paused || pm->ended)
			enter(pm, DONE, now);
		else
			ask(pm, "cont", NULL, ANSWER_LIMIT, now);
		break;
	case BREAK:
		if (pm->at < G_N_ELEMENTS(keys))
			ask(pm, "chardev-send-break", json_pack("{s:s}", "id", "console"), ANSWER_LIMIT, now);
		else
			enter(pm, DONE, now);
		break;
	case SPEECH:
		pm->until = now + WORD_LIMIT * pm->vm.scale * SEC;
		break;
	case NMI:
		if (pm->vm.nmi)
			ask(pm, "inject-nmi", NULL, ANSWER_LIMIT, now);
		else
			enter(pm, DONE, now);
		break;
	default:
		break;
	}
}

/* The answer to what the step asked; @text is NULL where it was refused */
static void answered(struct post_mortem *pm, const char *text, gint64 now)
{
	uint64_t words[2];

	switch (pm->step) {
	case SAMPLE:
		read_registers(pm, text ?: "", false);
		enter(pm, ++pm->at < SAMPLES - 1 && !pm->vm.paused ? GAP : STOP, now);
		break;
	case STOP:
		enter(pm, REGISTERS, now);
		break;
	case REGISTERS:
		g_string_append(pm->registers, text ?: "");
		read_registers(pm, pm->registers->str, true);
		enter(pm, TABLE, now);
		break;
	case TABLE:
		if (pm->id && pm->at) {
			take_code(pm, pm->table, text ?: "");
			enter(pm, CODE, now);
		} else if (text && read_memory(text, words, 2) == 2) {
			/* a gate of 16 bytes: the address is in three parts (arch/x86/include/asm/desc_defs.h) */
			pm->table = (words[0] & 0xffff) | (words[0] >> 32 & 0xffff0000) | words[1] << 32;
			pm->at = 1;
			ask_human(pm, 0, now, "x /64xb 0x%" G_GINT64_MODIFIER "x", pm->table);
		} else {
			enter(pm, CODE, now);
		}
		break;
	case CODE:
		take_code(pm, pm->cpus[pm->at].pc, text ?: "");
		pm->at++;
		enter_cpu(pm, now);
		break;
	case STACK:
		pm->cpus[pm->at].nr_words = text ? read_memory(text, pm->cpus[pm->at].words, WORDS) : 0;
		pm->at++;
		enter_cpu(pm, now);
		break;
	case DUMP:
		if (!text && !pm->at++) {
			ask_dump(pm, now);
			break;
		}
		pm->dumped = text;
		enter(pm, WAKE, now);
		break;
	case WAKE:
		enter(pm, BREAK, now);
		break;
	case BREAK:
		if (!text) {
			enter(pm, NMI, now);
			break;
		}
		pm->vm.type(keys[pm->at].key, pm->vm.data);
		enter(pm, SPEECH, now);
		break;
	case NMI:
		if (text)
			pm->step_from = now;
		pm->id = 0;
		pm->until = now + (text ? WORD_LIMIT * pm->vm.scale : 0) * SEC;
		break;
	default:
		break;
	}
}

bool post_mortem_reply(struct post_mortem *pm, const json_t *message, gint64 now)
{
	const char *id = json_string_value(json_object_get(message, "id"));
	const json_t *error = json_object_get(message, "error"), *back = json_object_get(message, "return");
	g_autofree char *want = NULL;

	if (!id || !g_str_has_prefix(id, "pm-"))
		return false;
	if (!pm || pm->step == DONE || !pm->id)
		return true;
	want = g_strdup_printf("pm-%u", pm->id);
	if (strcmp(id, want))
		return true;
	pm->answered = true;
	if (error)
		note(pm, "QEMU refused: %s", obj_str(error, "desc"));
	if (json_is_string(back) && json_string_length(back) > REPLY_MAX)
		back = NULL;
	answered(pm, error ? NULL : json_is_string(back) ? json_string_value(back) : "", now);
	return true;
}

void post_mortem_said(struct post_mortem *pm, gint64 now)
{
	pm->last_word = now;
	if (pm->step == SPEECH || pm->step == NMI)
		pm->spoke = true;
}

void post_mortem_ended(struct post_mortem *pm)
{
	pm->ended = true;
}

/* Said nothing so far, nothing more, or too much */
static bool speech_over(const struct post_mortem *pm, gint64 now)
{
	if (pm->last_word <= pm->step_from)
		return now > pm->until;
	return now - pm->last_word > QUIET || now - pm->step_from > SPEECH_LIMIT * pm->vm.scale * SEC;
}

bool post_mortem_done(struct post_mortem *pm, gint64 now)
{
	if (pm->step != DONE && (now > pm->end || (pm->ended && pm->step >= WAKE))) {
		if (now > pm->end)
			note(pm, "over its time: the rest was not asked");
		pm->step = DONE;
	}
	switch (pm->step) {
	case DONE:
		return true;
	case GAP:
		if (now > pm->until)
			enter(pm, SAMPLE, now);
		break;
	case SPEECH:
		if (!speech_over(pm, now))
			break;
		/* the first key only changes what is printed: some kernels say so, some do not */
		if (pm->at && pm->last_word <= pm->step_from)
			note(pm, "the kernel did not answer sysrq-%s (%s)", keys[pm->at].key, keys[pm->at].what);
		pm->at++;
		enter(pm, !pm->spoke && pm->at > 1 ? NMI : BREAK, now);
		break;
	case NMI:
		if (!pm->id && speech_over(pm, now))
			enter(pm, DONE, now);
		else if (pm->id && now > pm->until)
			enter(pm, DONE, now);
		break;
	default:
		if (now <= pm->until)
			break;
		note(pm, "QEMU's monitor did not answer in time");
		enter(pm, pm->answered ? WAKE : DONE, now);
		break;
	}
	return pm->step == DONE;
}

bool post_mortem_touched(const struct post_mortem *pm)
{
	return pm->touched;
}

bool post_mortem_answered(const struct post_mortem *pm)
{
	return pm->answered;
}

struct post_mortem *post_mortem_begin(const struct post_mortem_vm *vm, gint64 now)
{
	struct post_mortem *pm = g_new0(struct post_mortem, 1);

	pm->vm = *vm;
	pm->registers = g_string_new(NULL);
	pm->notes = g_string_new(NULL);
	pm->probes = g_array_new(FALSE, FALSE, sizeof(struct code_probe));
	pm->end = now + (WHOLE_LIMIT + (vm->dump ? 2 * DUMP_LIMIT : 0)) * vm->scale * SEC;
	if (vm->dump && vm->memory <= DUMP_MAX)
		pm->dump_path = g_build_filename(vm->dir, "post-mortem", "vmcore", NULL);
	else if (vm->dump)
		note(pm, "no dump: the machine has more than %llu GiB", DUMP_MAX >> 30);
	if (pm->dump_path) {
		g_autofree char *dir = g_path_get_dirname(pm->dump_path);

		mmg_mkdirs(dir, NULL);
	}
	enter(pm, SAMPLE, now);
	return pm;
}

void post_mortem_free(struct post_mortem *pm)
{
	if (!pm)
		return;
	g_string_free(pm->registers, TRUE);
	g_string_free(pm->notes, TRUE);
	g_array_unref(pm->probes);
	g_free(pm->dump_path);
	g_free(pm);
}

/* ---- what came of it ---- */

static char *where(const struct symbols *s, uint64_t addr)
{
	uint64_t offset;
	const char *name = s ? symbols_name(s, addr, &offset) : NULL;
	g_autofree char *clean = name ? mmg_clean(name, -1, 200) : NULL;

	return clean ? g_strdup_printf("%s+0x%" G_GINT64_MODIFIER "x", clean, offset) : NULL;
}

static void add_caller(json_t *callers, const struct symbols *s, uint64_t addr)
{
	g_autofree char *name = symbols_is_return(s, addr) ? where(s, addr - 1) : NULL;
	const json_t *other;
	size_t i;

	/* what was found nearer counts: the same place again is left from an earlier call */
	json_array_foreach(callers, i, other)
		if (name && !strcmp(json_string_value(other), name))
			return;
	if (name && json_array_size(callers) < CALLERS)
		json_array_append_new(callers, json_string(name));
}

/*
 * Who called: with frame pointers by their chain, as far as it lies in what was read of the
 * stack.  Without them (x86 kernels with ORC), all words of the stack that can be return
 * addresses, some of which are left from earlier calls.
 */
static json_t *callers_of(const struct cpu *c, const struct symbols *s, bool chain)
{
	json_t *list = json_array();
	uint64_t sp = c->sp & ~UINT64_C(7), fp = c->fp;

	if (!s || c->user)
		return list;
	if (c->lr)
		add_caller(list, s, c->lr);
	for (guint i = 0; chain && i < FRAMES_MAX; i++) {
		uint64_t at = (fp - sp) / 8;

		if (fp < sp || fp & 7 || at + 1 >= c->nr_words)
			break;
		add_caller(list, s, c->words[at + 1]);
		if (c->words[at] <= fp)
			break;
		fp = c->words[at];
	}
	for (guint i = 0; !chain && i < c->nr_words; i++)
		add_caller(list, s, c->words[i]);
	return list;
}

static bool idle(const char *at)
{
	static const char *const names[] = {
		"default_idle", "pv_native_safe_halt", "native_safe_halt", "cpu_do_idle", "arch_cpu_idle",
		"default_idle_call", "mwait_idle", "intel_idle", "acpi_safe_halt", "acpi_idle_do_entry",
		"cpuidle_enter_state", "do_idle", "stop_this_cpu", "native_halt", "cpu_idle_poll",
		"local_cpu_stop", "plpar_hcall_norets", "shared_cede_loop", "snooze_loop",
	};

	for (guint i = 0; at && i < G_N_ELEMENTS(names); i++)
		if (g_str_has_prefix(at, names[i]) && strchr("+.", at[strlen(names[i])]))
			return true;
	return false;
}

static json_t *cpu_json(const struct post_mortem *pm, guint nr, const struct symbols *s)
{
	const struct cpu *c = &pm->cpus[nr];
	g_autofree char *at = where(s, c->pc), *pc = g_strdup_printf("0x%016" G_GINT64_MODIFIER "x", c->pc);
	bool x86 = pm->table || strstr(pm->registers->str, "RIP=");
	/* a program is interrupted now and then, and stopping it can be that */
	const char *mode = c->in_user * 2 > c->nr_samples ? "user" : c->halted || idle(at) ? "idle" : "kernel";
	json_t *seen = json_array(), *o;

	for (guint i = 0; i < c->nr_samples; i++) {
		g_autofree char *name = where(s, c->samples[i]);

		if (name)
			json_array_append_new(seen, json_string(name));
	}
	o = json_pack("{s:i, s:s, s:s, s:b, s:o, s:o}", "cpu", (int)nr, "pc", pc, "mode", mode, "masked",
		      c->masked, "seen", seen, "callers", callers_of(c, s, !x86));
	if (at && strcmp(mode, "user"))
		json_object_set_new(o, "at", json_string(at));
	return o;
}

static void write_file(struct post_mortem *pm, const char *name, const char *text)
{
	g_autofree char *dir = g_build_filename(pm->vm.dir, "post-mortem", NULL);
	g_autofree char *path = g_build_filename(dir, name, NULL);

	if (mmg_mkdirs(dir, NULL))
		mmg_write_atomic(path, text, -1, NULL);
}

/* The last lines of the console, and no line longer than a screen or two */
static char *console_tail(const char *console, gsize len)
{
	GString *out = g_string_new(NULL);
	const char *from = console + len;
	int lines = 0;

	while (from > console && lines <= TAIL_LINES) {
		from--;
		lines += *from == '\n';
	}
	while (from < console + len) {
		const char *end = memchr(from, '\n', console + len - from) ?: console + len;
		g_autofree char *line = mmg_clean(from, end - from, LINE_BYTES);

		if (out->len || *line)
			g_string_append_printf(out, "%s\n", g_strchomp(line));
		from = end + 1;
	}
	return g_string_free(out, FALSE);
}

static char *report(const struct post_mortem *pm, const json_t *o)
{
	GString *out = g_string_new(NULL);
	const json_t *c, *name;
	size_t i, k;

	json_array_foreach(json_object_get(o, "cpus"), i, c) {
		const char *at = obj_str(c, "at");

		g_string_append_printf(out, "CPU %zu: %s %s", i, obj_str(c, "mode"), *at ? at : obj_str(c, "pc"));
		if (!strcmp(obj_str(c, "mode"), "kernel"))
			g_string_append_printf(out, ", interrupts %s", obj_bool(c, "masked") ? "off" : "on");
		g_string_append_c(out, '\n');
		json_array_foreach(json_object_get(c, "seen"), k, name)
			g_string_append_printf(out, "    seen at %s\n", json_string_value(name));
		json_array_foreach(json_object_get(c, "callers"), k, name)
			g_string_append_printf(out, "    %s %s\n", *obj_str(o, "stack") == 's' ? "on its stack" :
					       "called from", json_string_value(name));
	}
	if (*obj_str(o, "moved"))
		g_string_append_printf(out, "the kernel runs %s from where it is linked\n", obj_str(o, "moved"));
	if (*obj_str(o, "dump"))
		g_string_append_printf(out, "its memory is in %s\n", obj_str(o, "dump"));
	g_string_append(out, pm->notes->str);
	return g_string_free(out, FALSE);
}

/* QEMU's own "made it, but not whole" cannot be told from its answer alone: the file has to be there */
static void take_dump(struct post_mortem *pm, json_t *o)
{
	struct stat st;

	if (!pm->dump_path)
		return;
	if (pm->dumped && !stat(pm->dump_path, &st) && st.st_size)
		json_object_set_new(o, "dump", json_string("post-mortem/vmcore"));
	else
		remove(pm->dump_path);
}

json_t *post_mortem_write(struct post_mortem *pm, const char *console, gsize len, gsize before)
{
	json_t *o = json_object(), *cpus = json_array();
	g_autofree char *tail = console_tail(console, MIN(before, len)), *text = NULL;
	struct symbols *s;
	GError *e = NULL;

	s = pm->nr_cpus && pm->probes->len ? symbols_load(pm->vm.kernel, &e) : NULL;
	if (e) {
		note(pm, "no names: %s", e->message);
		g_error_free(e);
	}
	if (s && symbols_place(s, (struct code_probe *)pm->probes->data, pm->probes->len)) {
		g_autofree char *moved = g_strdup_printf("0x%" G_GINT64_MODIFIER "x", symbols_moved(s));

		json_object_set_new(o, "moved", json_string(moved));
	} else if (s) {
		note(pm, "no names: no code that was read is the image's (in a module, in user space, or before the kernel began)");
	}
	json_object_set_new(o, "stack", json_string(strstr(pm->registers->str, "RIP=") ? "scanned" : "walked"));
	for (guint i = 0; i < pm->nr_cpus; i++)
		json_array_append_new(cpus, cpu_json(pm, i, s));
	json_object_set_new(o, "cpus", cpus);
	take_dump(pm, o);
	symbols_free(s);
	text = report(pm, o);
	write_file(pm, "summary.txt", text);
	write_file(pm, "console-tail.txt", tail);
	if (pm->registers->len)
		write_file(pm, "registers.txt", pm->registers->str);
	if (len > before) {
		g_autofree char *said = g_strndup(console + before, len - before);

		write_file(pm, "backtraces.txt", said);
	}
	return o;
}

/* The CPU that tells most: in the kernel with interrupts off, in the kernel, in user space */
static const json_t *telling(const json_t *o)
{
	const json_t *best = NULL, *c;
	int rank = -1;
	size_t i;

	json_array_foreach(json_object_get(o, "cpus"), i, c) {
		const char *mode = obj_str(c, "mode");
		int r = !strcmp(mode, "kernel") ? (*obj_str(c, "at") ? 2 : 1) + obj_bool(c, "masked") :
			!strcmp(mode, "user") ? 0 : -1;

		if (r > rank) {
			rank = r;
			best = c;
		}
	}
	return best;
}

/* A function's name without its offset, g_free() it */
static char *plain(const char *at)
{
	return g_strndup(at, strcspn(at, "+"));
}

char *post_mortem_where(const json_t *o)
{
	const json_t *c = telling(o), *name;
	g_autofree char *fn = NULL;
	GString *out;
	size_t i;

	if (!json_array_size(json_object_get(o, "cpus")))
		return NULL;
	out = g_string_new(NULL);
	if (!c) {
		g_string_append(out, "all CPUs are idle");
		return g_string_free(out, FALSE);
	}
	if (!strcmp(obj_str(c, "mode"), "user")) {
		g_string_append_printf(out, "CPU %d is in user space", (int)obj_int(c, "cpu"));
		return g_string_free(out, FALSE);
	}
	fn = *obj_str(c, "at") ? plain(obj_str(c, "at")) : g_strdup(obj_str(c, "pc"));
	g_string_append_printf(out, "CPU %d is in %s", (int)obj_int(c, "cpu"), fn);
	json_array_foreach(json_object_get(c, "callers"), i, name) {
		g_autofree char *caller = plain(json_string_value(name));

		if (i >= CALLERS_SAID)
			break;
		g_string_append_printf(out, " < %s", caller);
	}
	if (obj_bool(c, "masked"))
		g_string_append(out, ", interrupts off");
	return g_string_free(out, FALSE);
}

/* What called panic(), by the stack of the CPU that did */
static char *called_panic(const json_t *o)
{
	const json_t *c, *name;
	size_t i, k;

	json_array_foreach(json_object_get(o, "cpus"), i, c) {
		bool seen = false;

		json_array_foreach(json_object_get(c, "callers"), k, name) {
			g_autofree char *fn = plain(json_string_value(name));

			if (!strcmp(fn, "panic") || !strcmp(fn, "vpanic"))
				seen = true;
			else if (seen && strcmp(fn, "_printk"))
				return g_steal_pointer(&fn);
		}
	}
	return NULL;
}

char *post_mortem_panicked_in(const char *text, const json_t *post_mortem)
{
	static const char *const marks[] = { "RIP: 0010:", "pc : ", "epc : ", "NIP [" };
	const char *panic = strstr(text, "Kernel panic - not syncing"), *best = NULL;
	gsize n = 0;

	for (guint i = 0; panic && i < G_N_ELEMENTS(marks); i++) {
		/* the oops that led to it stands before it, its own trace behind */
		const char *at = g_strrstr_len(text, panic - text, marks[i]);

		if (at && panic - at < OOPS_BYTES && at + strlen(marks[i]) > best)
			best = at + strlen(marks[i]);
	}
	if (best)
		n = strspn(best, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	if (n && n < 200 && best[n] == '+')
		return g_strndup(best, n);
	return called_panic(post_mortem);
}
