// SPDX-License-Identifier: GPL-2.0-only
/*
 * One VM: QEMU with its console, KTAP, artifact, control and monitor channels,
 * each a socket pair of ours, so no path or port of the host is involved.
 * Everything that comes out of the guest is bounded in size and time.
 */
#include "vm/vm.h"

#include "base/arch.h"
#include "vm/postmortem.h"

#include "sign.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONSOLE_MAX (16 << 20)
#define KTAP_MAX (64 << 20)
#define ARTIFACTS_MAX (256LL << 20)
#define ARTIFACT_FILES 2000
#define CONTROL_LINE 4096
#define TROUBLE_MAX 16384
#define QEMU_SAID_MAX 8192
#define MAX_EVENTS 4000
#define TICK_MS 250
#define POST_MORTEM_SAID (4 << 20)	/* what is kept of the console's answers to us */

/* Wide enough for hours: G_USEC_PER_SEC is an int */
#define USEC ((gint64)G_USEC_PER_SEC)

/* Seconds; multiplied by plan_scale() */
#define BOOT_LIMIT 60
#define SILENT_LIMIT 20			/* no word on the console since power-on */
#define BEAT_LIMIT 20			/* PID 1 beats once a second */
#define OFF_LIMIT 15			/* from goodbye to power-off */
#define DEAD_LIMIT 3			/* no word after the last line of a panic that halts */

enum channel { CONSOLE, KTAP, ARTIFACTS, CONTROL, QMP, CHANNELS };

static const char *const channel_names[CHANNELS] = {
	"console", "ktap", "artifacts", "control", "qmp",
};

struct vm_private {
	GPid pid;
	bool exited;
	int status;
	int fds[CHANNELS], err_fd;
	guint sources[CHANNELS], err_source, tick, child;
	int console_log, spool;
	gint64 started, limit_from, last_tick, last_beat, last_console, goodbye, dead, deadline;
	long long ktap_bytes, artifact_bytes;
	int tap_log;
	GString *console, *control, *qmp, *said;
	bool hello, reset, stopping, finished;
	uint8_t key[SIGN_KEY_BYTES];	/* known to us and PID 1 */
	uint64_t nr_signed;		/* lines of the control port */
	struct sign ktap_sign;		/* of what came, and what PID 1 says of it */
	uint64_t signed_bytes, signed_tag;
	GHashTable *requests;		/* DIMM id -> request number waiting for its event */
	enum vm_state given;		/* where we end it ourselves */
	char *why;
	struct post_mortem *pm;		/* while it is asked what it died of */
	enum vm_state late;		/* what ends it after that, or STATE_NONE for its own end */
	char *late_why;
	gsize judged;			/* bytes of the console from before that; what we made it say is no evidence */
};

static double since(const struct vm *vm)
{
	return (g_get_monotonic_time() - vm->p->started) / 1e6;
}

static int scale(const struct vm *vm)
{
	return plan_scale(!strcmp(vm->accel->name, "tcg"));
}

/* ---- the command line ---- */

static void add(struct vm *vm, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void add(struct vm *vm, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g_ptr_array_add(vm->argv, g_strdup_vprintf(fmt, ap));
	va_end(ap);
}

/* A comma inside a QEMU option value is written twice */
static char *escape(const char *path)
{
	char **parts = g_strsplit(path, ",", -1), *joined = g_strjoinv(",,", parts);

	g_strfreev(parts);
	return joined;
}

/* A machine file that names a firmware wants it to load the kernel, and EFI's loads no ELF file */
static bool own_firmware(const struct machine *m)
{
	for (guint i = 0; i < m->qemu->len; i++) {
		const char *word = m->qemu->pdata[i];

		if (!strcmp(word, "-bios") || !strcmp(word, "-pflash") || strstr(word, "if=pflash"))
			return true;
	}
	return m->board && strstr(m->board, "pflash");
}

const char *vm_image(const struct kernel *k, const struct machine *m, const char **sha256)
{
	bool entered = k->vmlinux && strcmp(m->boot, "image") && !own_firmware(m);

	if (sha256)
		*sha256 = entered ? k->vmlinux_sha256 : k->sha256;
	return entered ? k->vmlinux : k->image;
}

static void add_board(struct vm *vm)
{
	const struct arch *a = arch_find(vm->kernel->arch);
	const struct machine *m = vm->machine;
	bool kvm = !strcmp(vm->accel->name, "kvm");

	add(vm, "-machine");
	add(vm, "%s%s%s", m->type ?: a->machine, m->board ? "," : "", m->board ?: "");
	add(vm, "-accel");
	add(vm, "%s%s", kvm ? "kvm" : "tcg", kvm ? "" : a->tcg);
	add(vm, "-cpu");
	add(vm, "%s", m->cpu ?: kvm ? "host" : a->cpu);
	add(vm, "-m");
	add(vm, "%s%s%s", m->memory, m->memory_args ? "," : "", m->memory_args ?: "");
	add(vm, "-smp");
	/* a socket each: numa=fake splits an LLC otherwise, and the scheduler warns */
	add(vm, "%d,sockets=%d,cores=1,threads=1,maxcpus=%d", m->cpus, m->cpus, m->cpus);
}

static void add_channel(struct vm *vm, const char *name, int fd)
{
	add(vm, "-chardev");
	add(vm, "socket,id=%s,fd=%d", name, fd);
}

static void add_port(struct vm *vm, const char *name)
{
	add(vm, "-device");
	add(vm, "virtserialport,chardev=%s,name=mmgate.%s", name, name);
}

static bool parse_size(const char *text, long long *bytes)
{
	char *end;
	long long v = g_ascii_strtoll(text, &end, 10);

	if (end == text || v <= 0 || v > 1 << 20)
		return false;
	if (*end == 'G' || *end == 'g')
		v <<= 30;
	else if (*end == 'M' || *end == 'm')
		v <<= 20;
	else
		return false;
	*bytes = v;
	return !end[1];
}

/* Sparse image for swap or data; the data disk gets an ext4 from the host's mke2fs */
static bool make_disk(struct vm *vm, const char *name, const char *size, bool format, GError **err)
{
	char *path = g_strdup_printf("%s/%s.img", vm->dir, name), *quoted;
	long long bytes;
	bool ok = false;
	int fd;

	if (!parse_size(size, &bytes)) {
		mmg_set_error(err, MMG_EXIT_USAGE, "machine %s: '%s' is no size (256M, 1G)",
			      vm->machine->name, size);
		goto out;
	}
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, bytes)) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot make the disk %s: %s", path,
			      g_strerror(errno));
		if (fd >= 0)
			close(fd);
		goto out;
	}
	close(fd);
	if (format) {
		g_autofree char *own = vm->staged ? NULL : programs_stage(vm->dir, vm->machine->programs,
									   vm->kernel->arch);
		const char *files = vm->staged ? vm->staged : own;
		const char *const argv[] = {
			"mke2fs", "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,nodiscard",
			files ? "-d" : path, files, path, NULL
		};
		const char *const env[] = { "PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL };
		struct mmg_cmd cmd = { .what = "formatting the data disk", .argv = argv, .env = env };

		ok = mmg_run(&cmd, err);
		if (own)
			mmg_rmtree(own);
		if (!ok)
			goto out;
		ok = false;
	}
	quoted = escape(path);
	add(vm, "-drive");
	add(vm, "if=none,id=%s,format=raw,cache=unsafe,discard=unmap,file=%s", name, quoted);
	add(vm, "-device");
	add(vm, "virtio-blk-pci,drive=%s,serial=%s", name, name);
	g_free(quoted);
	ok = true;
out:
	g_free(path);
	return ok;
}

static bool add_disks(struct vm *vm, GError **err)
{
	if (g_str_has_prefix(vm->machine->swap, "disk:") &&
	    !make_disk(vm, "swap", vm->machine->swap + 5, false, err))
		return false;
	return !vm->machine->disk || make_disk(vm, "data", vm->machine->disk, true, err);
}

void vm_dry_command(struct vm *vm)
{
	int i;

	vm->argv = g_ptr_array_new_with_free_func(g_free);
	add(vm, "%s", vm->accel->qemu);
	add(vm, "-nodefaults");
	add(vm, "-no-user-config");
	add(vm, "-display");
	add(vm, "none");
	add(vm, "-no-reboot");
	/* QEMU holds a guest that ended itself, for its post-mortem; we tell it to quit */
	if (!vm->interactive)
		add(vm, "-no-shutdown");
	add_board(vm);
	for (i = 0; i < (int)vm->machine->qemu->len; i++)
		add(vm, "%s", (char *)vm->machine->qemu->pdata[i]);
	add(vm, "-kernel");
	add(vm, "%s", vm_image(vm->kernel, vm->machine, NULL));
	add(vm, "-initrd");
	add(vm, "%s", vm->initramfs);
	add(vm, "-append");
	add(vm, "%s", vm->append);
	if (vm->interactive) {
		add(vm, "-chardev");
		add(vm, "stdio,id=console,mux=on,signal=off");
		add(vm, "-mon");
		add(vm, "chardev=console,mode=readline");
		add(vm, "-virtfs");
		add(vm, "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap");
	}
	if (vm->gdb) {
		g_autofree char *quoted = escape(vm->gdb);

		add(vm, "-gdb");
		add(vm, "unix:%s,server=on,wait=off", quoted);
		if (vm->halt)
			add(vm, "-S");
	}
	for (i = 0; i < CHANNELS; i++)
		if (i != CONSOLE || !vm->interactive)
			add_channel(vm, channel_names[i], 10 + i);
	add(vm, "-serial");
	add(vm, "chardev:console");
	add(vm, "-mon");
	add(vm, "chardev=qmp,mode=control");
	add(vm, "-device");
	add(vm, "virtio-serial-pci");
	add_port(vm, "ktap");
	add_port(vm, "artifacts");
	add_port(vm, "control");
}

bool vm_command(struct vm *vm, GError **err)
{
	vm_dry_command(vm);
	return add_disks(vm, err);
}

/* ---- ends ---- */

/* Evidence that could not be kept is no evidence: the VM is ended */
static void put_log(struct vm *vm, int fd, const char *buf, ssize_t n)
{
	ssize_t done = fd < 0 ? 0 : write(fd, buf, n);
	char *why;

	if (done == n)
		return;
	why = g_strdup_printf("cannot write its logs in %s: %s", vm->dir,
			      done < 0 ? g_strerror(errno) : "is the disk full?");
	vm_stop(vm, STATE_LOST, why);
	g_free(why);
}

static char *find_line(const GString *text, const char *needle)
{
	char *at = strstr(text->str, needle), *end;

	if (!at)
		return NULL;
	end = strpbrk(at, "\r\n");
	return mmg_clean(at, end ? end - at : -1, 300);
}

static void last_words(struct vm *vm, GString *to)
{
	g_autofree char *text = g_strndup(vm->p->console->str, vm->p->judged ?: vm->p->console->len);
	char **lines = g_strsplit_set(text, "\r\n", -1);
	int n = g_strv_length(lines);

	while (n && !*g_strstrip(lines[n - 1]))
		n--;
	if (n) {
		char *clean = mmg_clean(lines[n - 1], -1, 200);

		g_string_append_printf(to, "; the console's last line: %s", clean);
		g_free(clean);
	} else {
		g_string_append(to, "; the console never said a word");
	}
	g_strfreev(lines);
}

/* What became of it, from what was seen; an end of our own making is known already */
static void judge_end(struct vm *vm)
{
	struct vm_private *p = vm->p;
	GString *why = g_string_new(NULL);
	char *panic = find_line(p->console, "Kernel panic - not syncing");
	char *ports = find_line(p->console, "mmgate: no virtio-serial ports");

	if (p->given) {
		vm->state = p->given;
		g_string_append(why, p->why);
	} else if (p->goodbye) {
		vm->state = STATE_GOODBYE;
	} else if (panic && p->hello) {
		vm->state = STATE_PANIC;
		g_string_append(why, panic);
	} else if (ports) {
		vm->state = STATE_NO_BOOT;
		g_string_append(why, ports);
	} else if (panic) {
		vm->state = STATE_NO_BOOT;
		g_string_append_printf(why, "the kernel panicked before PID 1 said hello: %s", panic);
	} else if (p->reset) {
		vm->state = p->hello ? STATE_PANIC : STATE_NO_BOOT;
		g_string_append(why, "the machine reset without a panic message (a triple fault?)");
		last_words(vm, why);
	} else if (p->said->len || (WIFEXITED(p->status) && WEXITSTATUS(p->status))) {
		vm->state = STATE_LOST;
		g_string_append_printf(why, "%s exited with %d: %s", vm->accel->qemu,
				       WIFEXITED(p->status) ? WEXITSTATUS(p->status) : -1, p->said->str);
	} else if (WIFSIGNALED(p->status)) {
		vm->state = STATE_LOST;
		g_string_append_printf(why, "%s was killed by signal %d", vm->accel->qemu,
				       WTERMSIG(p->status));
	} else {
		vm->state = p->hello ? STATE_LOST : STATE_NO_BOOT;
		g_string_append(why, "it powered off without saying goodbye");
		last_words(vm, why);
	}
	if ((vm->state == STATE_PANIC || vm->state == STATE_NO_BOOT) && panic && !p->given) {
		g_autofree char *in = post_mortem_panicked_in(p->console->str, vm->post_mortem);

		if (in)
			g_string_append_printf(why, " (in %s)", in);
	}
	vm->reason = mmg_clean(g_strchomp(why->str), -1, 2000);
	g_string_free(why, TRUE);
	g_free(panic);
	g_free(ports);
}

/* A name that needs no thought: letters, digits, and folders below the one it is meant for */
static bool plain_path(const char *name)
{
	return name && *name && *name != '/' && !strstr(name, "..") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
	       strlen(name);
}

/* One regular file of the guest's tar into the folder we are in; false where it did not get there whole */
static bool unpack_file(struct archive *a, struct archive *disk, struct archive_entry *e)
{
	const void *block;
	size_t n;
	la_int64_t at;
	int ret;

	archive_entry_set_perm(e, 0644);
	if (archive_write_header(disk, e) < ARCHIVE_WARN)
		return false;
	while ((ret = archive_read_data_block(a, &block, &n, &at)) == ARCHIVE_OK)
		if (archive_write_data_block(disk, block, n, at) < ARCHIVE_WARN)
			return false;
	return ret == ARCHIVE_EOF && archive_write_finish_entry(disk) >= ARCHIVE_WARN;
}

/*
 * Unpack the guest's tar: regular files of plain names only, below artifacts/, bounded; libarchive
 * refuses links on the way, absolute paths and "..".  It follows the same rule from the folder that
 * it is in, so we go there: nothing else runs meanwhile.
 */
static void unpack_artifacts(struct vm *vm)
{
	char *tar = g_build_filename(vm->dir, "artifacts.tar", NULL);
	char *dir = g_build_filename(vm->dir, "artifacts", NULL);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct archive *a = archive_read_new(), *disk = archive_write_disk_new();
	struct archive_entry *e;
	long long bytes = 0;
	int files = 0;

	archive_read_support_format_tar(a);
	archive_write_disk_set_options(disk, ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
				       ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
	if (here < 0 || archive_read_open_filename(a, tar, 65536) != ARCHIVE_OK)
		goto out;
	while (archive_read_next_header(a, &e) >= ARCHIVE_WARN) {
		const char *name = archive_entry_pathname(e);
		long long size = archive_entry_size(e);
		char *copy;

		if (++files > ARTIFACT_FILES) {
			g_string_append_printf(vm->trouble, "the tests left more than %d artifacts: the rest is lost\n",
					       ARTIFACT_FILES);
			break;
		}
		if (archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) || !plain_path(name) ||
		    size < 0 || size > ARTIFACTS_MAX - bytes)
			continue;
		if (!bytes && !mmg_mkdirs(dir, NULL))
			break;
		bytes += size + 1;
		if (chdir(dir))
			break;
		copy = g_strdup(name);
		if (unpack_file(a, disk, e) && g_hash_table_add(names, g_strdup(copy)))
			g_ptr_array_add(vm->artifacts, g_strdup(copy));
		g_free(copy);
		if (fchdir(here))
			break;
	}
out:
	archive_write_free(disk);
	archive_read_free(a);
	g_hash_table_unref(names);
	if (here >= 0)
		close(here);
	unlink(tar);
	g_free(tar);
	g_free(dir);
}

static void remove_disks(struct vm *vm)
{
	static const char *const names[] = { "swap.img", "data.img" };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(names); i++) {
		char *path = g_build_filename(vm->dir, names[i], NULL);

		unlink(path);
		g_free(path);
	}
}

static void clear_source(guint *id)
{
	if (*id)
		g_source_remove(*id);
	*id = 0;
}

static bool drained(const struct vm_private *p)
{
	int i;

	for (i = 0; i < CHANNELS; i++)
		if (p->sources[i])
			return false;
	return !p->err_source;
}

/* The results that came must be those that PID 1 signed with its goodbye */
static void check_results(struct vm *vm)
{
	struct vm_private *p = vm->p;

	if (vm->state != STATE_GOODBYE || (p->ktap_sign.bytes == p->signed_bytes &&
					   sign_tag(&p->ktap_sign) == p->signed_tag))
		return;
	vm->state = STATE_LOST;
	g_free(vm->reason);
	vm->reason = g_strdup("the results that came are not those that PID 1 gave: a test spoke in its place");
}

/* What was learnt goes to disk, into run.json and into the reason of an end that we make */
static void end_post_mortem(struct vm *vm)
{
	struct vm_private *p = vm->p;
	g_autofree char *where = NULL;
	GString *why;

	vm->post_mortem = post_mortem_write(p->pm, p->console->str, p->console->len,
					    p->judged ?: p->console->len);
	if (p->late && !p->given) {
		why = g_string_new(p->late_why);
		p->given = p->late;
		where = post_mortem_where(vm->post_mortem);
		if (where)
			g_string_append_printf(why, "; %s", where);
		/* a guest that is not run says nothing of its kernel */
		if (!post_mortem_answered(p->pm) && !p->exited) {
			p->given = STATE_LOST;
			g_string_append_printf(why, "; nor does %s answer (stopped, or starved by the host?)",
					       vm->accel->qemu);
		}
		last_words(vm, why);
		p->why = g_string_free(why, FALSE);
	}
	post_mortem_free(p->pm);
	p->pm = NULL;
}

static void finish(struct vm *vm)
{
	struct vm_private *p = vm->p;
	int i;

	if (p->finished || !p->exited || !drained(p))
		return;
	p->finished = true;
	clear_source(&p->tick);
	for (i = 0; i < CHANNELS; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
	close(p->err_fd);
	if (p->console_log >= 0)
		close(p->console_log);
	if (p->tap_log >= 0)
		close(p->tap_log);
	if (p->spool >= 0)
		close(p->spool);
	vm->duration_s = since(vm);
	vm->console = p->console->str;
	if (p->pm && p->given != STATE_INTERRUPTED)
		end_post_mortem(vm);
	vm->console_len = p->judged ?: p->console->len;
	judge_end(vm);
	check_results(vm);
	unpack_artifacts(vm);
	remove_disks(vm);
	vm->ended(vm, vm->data);
}

static void end_qemu(struct vm *vm, int sig)
{
	if (!vm->p->exited)
		kill(vm->p->pid, sig);
}

void vm_stop(struct vm *vm, enum vm_state state, const char *reason)
{
	struct vm_private *p = vm->p;

	if (p->stopping || p->exited)
		return;
	p->stopping = true;
	p->given = state;
	p->why = g_strdup(reason);
	end_qemu(vm, SIGKILL);
}

/* ---- channels ---- */

static void control_say(struct vm *vm, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void control_say(struct vm *vm, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	/* short lines into an empty buffer: a guest that does not read loses its answer */
	if (send(vm->p->fds[CONTROL], text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		status_debug("control port: %s", g_strerror(errno));
	g_free(text);
}

static void qmp_say(struct vm *vm, json_t *command)
{
	char *text = json_dumps(command, JSON_COMPACT);

	if (send(vm->p->fds[QMP], text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		status_debug("QEMU's monitor: %s", g_strerror(errno));
	free(text);
	json_decref(command);
}

/* "plug dimmN [node=K]": a backend and a pc-dimm of the size the machine file gives */
static void plug(struct vm *vm, unsigned int id, unsigned int nr, unsigned int node)
{
	char *mem, *dev = g_strdup_printf("dimm%u", nr);
	long long bytes = 0;

	if (nr >= vm->machine->dimms->len || !parse_size(vm->machine->dimms->pdata[nr], &bytes)) {
		control_say(vm, "reply %u refused: machine %s has no %s\n", id, vm->machine->name, dev);
		g_free(dev);
		return;
	}
	mem = g_strdup_printf("mem-dimm%u", nr);
	qmp_say(vm, json_pack("{s:s, s:{s:s, s:s, s:I}}", "execute", "object-add", "arguments",
			      "qom-type", "memory-backend-ram", "id", mem, "size", (json_int_t)bytes));
	qmp_say(vm, json_pack("{s:s, s:{s:s, s:s, s:s, s:i}, s:i}", "execute", "device_add",
			      "arguments", "driver", "pc-dimm", "id", dev, "memdev", mem, "node",
			      (int)node, "id", (int)id));
	g_free(mem);
	g_free(dev);
}

static void unplug(struct vm *vm, unsigned int id, unsigned int nr)
{
	char *dev;

	if (nr >= vm->machine->dimms->len) {
		control_say(vm, "reply %u refused: machine %s has no dimm%u\n", id, vm->machine->name, nr);
		return;
	}
	dev = g_strdup_printf("dimm%u", nr);
	g_hash_table_insert(vm->p->requests, g_strdup(dev), GUINT_TO_POINTER(id));
	qmp_say(vm, json_pack("{s:s, s:{s:s}, s:i}", "execute", "device_del", "arguments", "id", dev,
			      "id", -(int)id));
	g_free(dev);
}

static void request(struct vm *vm, const char *line)
{
	unsigned int id, nr, node = 0;

	/* QEMU's monitor carries it back with a sign */
	if (sscanf(line, "%u", &id) != 1 || !id || id > G_MAXINT)
		return;
	if (sscanf(line, "%*u plug dimm%u node=%u", &nr, &node) >= 1)
		plug(vm, id, nr, MIN(node, 1024));
	else if (sscanf(line, "%*u unplug dimm%u", &nr) == 1)
		unplug(vm, id, nr);
	else
		control_say(vm, "reply %u refused: no such request\n", id);
}

static void event(struct vm *vm, const char *what, const char *name)
{
	if (json_array_size(vm->events) < MAX_EVENTS)
		json_array_append_new(vm->events, json_pack("{s:s, s:s, s:f}", "what", what, "name",
							    name, "at_s", since(vm)));
}

/*
 * What came before PID 1, told apart by the guest's own clock: it began with the kernel.
 * No figure of the guest's is taken that the host's clock does not leave room for.
 */
static void before_init(struct vm *vm, const char *line)
{
	double room = vm->hello_s - vm->qemu_s;
	guint born, now;

	if (sscanf(line, "hello 1 %*s %u %u", &born, &now) != 2 || born > now || now / 1e3 > room)
		return;
	vm->kernel_s = born / 1e3;
	vm->firmware_s = room - now / 1e3;
}

/* A key for this VM: PID 1 reads it before any test runs, and signs with it what it says from then on */
static void send_key(struct vm *vm)
{
	struct vm_private *p = vm->p;
	GString *hex = g_string_new(NULL);

	if (getrandom(p->key, sizeof(p->key), 0) != sizeof(p->key))
		g_error("getrandom: %s", g_strerror(errno));
	for (size_t i = 0; i < sizeof(p->key); i++)
		g_string_append_printf(hex, "%02x", p->key[i]);
	sign_begin(&p->ktap_sign, p->key);
	control_say(vm, "key %s\n", hex->str);
	g_string_free(hex, TRUE);
}

/* True for a line "TEXT ~TAG" that only PID 1 can have said now; the tag is cut off */
static bool verify_line(struct vm_private *p, char *line)
{
	char *mark = strrchr(line, '~'), want[24];

	if (!mark || mark == line || mark[-1] != ' ')
		return false;
	g_snprintf(want, sizeof(want), "~%016llx",
		   sign_line(p->key, p->nr_signed, line, mark - 1 - line));
	if (strcmp(mark, want))
		return false;
	p->nr_signed++;
	mark[-1] = '\0';
	return true;
}

static void taint_line(struct vm *vm, const char *line)
{
	guint64 before, after;
	char name[256];

	if (sscanf(line, "%255s %" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x", name, &before, &after) == 3 &&
	    json_array_size(vm->taints) < MAX_EVENTS)
		json_array_append_new(vm->taints, json_pack("{s:s, s:I, s:I}", "test", name, "before",
							    (json_int_t)before, "after", (json_int_t)after));
}

static void goodbye_line(struct vm *vm, const char *line)
{
	struct vm_private *p = vm->p;

	if (p->goodbye || sscanf(line, "%" G_GINT64_MODIFIER "u %" G_GINT64_MODIFIER "x", &p->signed_bytes,
				 &p->signed_tag) != 2)
		return;
	p->goodbye = p->last_beat;
	vm->goodbye_s = since(vm);
}

static void control_line(struct vm *vm, char *line)
{
	struct vm_private *p = vm->p;

	/* there is no key before hello, and no test: PID 1 may say what it could not do */
	if (!p->hello && !g_str_has_prefix(line, "hello ") && !g_str_has_prefix(line, "trouble "))
		return;
	if (p->hello && !verify_line(p, line)) {
		vm_stop(vm, STATE_LOST, "a line on the control port is not PID 1's: a test spoke in its place");
		return;
	}
	p->last_beat = g_get_monotonic_time();
	if (p->pm && p->late && !post_mortem_touched(p->pm)) {
		/* it was late, not dead, and nothing was done to it yet */
		g_clear_pointer(&p->pm, post_mortem_free);
		p->late = STATE_NONE;
		p->judged = 0;
	}
	if (g_str_has_prefix(line, "hello ") && !p->hello) {
		p->hello = true;
		vm->hello_s = since(vm);
		before_init(vm, line);
		event(vm, "hello", "");
		send_key(vm);
	} else if (!strcmp(line, "ready")) {
		vm->ready_s = since(vm);
		event(vm, "ready", "");
	} else if (g_str_has_prefix(line, "start ")) {
		event(vm, "start", line + 6);
	} else if (g_str_has_prefix(line, "end ")) {
		event(vm, "end", line + 4);
	} else if (g_str_has_prefix(line, "request ")) {
		request(vm, line + 8);
	} else if (g_str_has_prefix(line, "trouble ") && vm->trouble->len < TROUBLE_MAX) {
		g_string_append_printf(vm->trouble, "%s\n", line + 8);
	} else if (g_str_has_prefix(line, "exit ")) {
		vm->shell_status = CLAMP(atoi(line + 5), 0, 255);
	} else if (g_str_has_prefix(line, "taint ")) {
		taint_line(vm, line + 6);
	} else if (g_str_has_prefix(line, "goodbye ")) {
		goodbye_line(vm, line + 8);
	}
}

static void monitor_for_post_mortem(json_t *command, void *data)
{
	qmp_say(data, command);
}

static void type_for_post_mortem(const char *text, void *data)
{
	struct vm *vm = data;

	if (send(vm->p->fds[CONSOLE], text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		status_debug("console: %s", g_strerror(errno));
}

/*
 * Ask what it died of before it goes: @late is what it is ended as after that, for @why;
 * STATE_NONE where it ended itself and only QEMU holds it.
 */
static void begin_post_mortem(struct vm *vm, enum vm_state late, const char *why)
{
	struct vm_private *p = vm->p;
	struct post_mortem_vm about = {
		.kernel = vm->kernel, .dir = vm->dir, .paused = !late, .dump = vm->dump, .scale = scale(vm),
		.monitor = monitor_for_post_mortem, .type = type_for_post_mortem, .data = vm,
	};
	long long bytes = 0;

	if (p->pm || p->stopping || p->exited)
		return;
	about.nmi = !strcmp(vm->kernel->arch, "x86_64");
	about.memory = parse_size(vm->machine->memory, &bytes) ? (uint64_t)bytes : UINT64_MAX;
	p->late = late;
	g_free(p->late_why);
	p->late_why = g_strdup(why);
	p->judged = late ? p->console->len : 0;
	p->pm = post_mortem_begin(&about, g_get_monotonic_time());
}

/* The guest ended itself, and QEMU holds what is left of it (-no-shutdown) */
static void shut_down(struct vm *vm, const char *reason)
{
	struct vm_private *p = vm->p;

	p->reset = reason && (!strcmp(reason, "guest-reset") || !strcmp(reason, "guest-panic"));
	if (p->pm)
		post_mortem_ended(p->pm);
	else if (p->reset && !p->goodbye && !vm->interactive)
		begin_post_mortem(vm, STATE_NONE, NULL);
	else
		qmp_say(vm, json_pack("{s:s}", "execute", "quit"));
}

static void qmp_line(struct vm *vm, const char *line)
{
	json_t *m = json_loads(line, 0, NULL), *data, *e;
	const char *name = json_string_value(json_object_get(m, "event"));
	int id = json_integer_value(json_object_get(m, "id"));

	data = json_object_get(m, "data");
	e = json_object_get(m, "error");
	if (post_mortem_reply(vm->p->pm, m, g_get_monotonic_time())) {
		;
	} else if (json_object_get(m, "QMP")) {
		vm->qemu_s = since(vm);
		qmp_say(vm, json_pack("{s:s}", "execute", "qmp_capabilities"));
	} else if (id && e) {
		control_say(vm, "reply %d refused: %s\n", abs(id),
			    json_string_value(json_object_get(e, "desc")) ?: "QEMU did not say why");
	} else if (id > 0) {
		control_say(vm, "reply %d ok\n", id);
	} else if (name && !strcmp(name, "SHUTDOWN")) {
		shut_down(vm, json_string_value(json_object_get(data, "reason")));
	} else if (name && !strcmp(name, "DEVICE_DELETED")) {
		const char *dev = json_string_value(json_object_get(data, "device"));
		gpointer req = dev ? g_hash_table_lookup(vm->p->requests, dev) : NULL;

		if (req) {
			char *mem = g_strdup_printf("mem-%s", dev);

			qmp_say(vm, json_pack("{s:s, s:{s:s}}", "execute", "object-del", "arguments",
					      "id", mem));
			control_say(vm, "reply %u ok\n", GPOINTER_TO_UINT(req));
			g_hash_table_remove(vm->p->requests, dev);
			g_free(mem);
		}
	} else if (name && !strcmp(name, "MEM_UNPLUG_ERROR")) {
		const char *dev = json_string_value(json_object_get(data, "device"));
		gpointer req = dev ? g_hash_table_lookup(vm->p->requests, dev) : NULL;

		if (req)
			control_say(vm, "reply %u refused: the guest refused to give %s back\n",
				    GPOINTER_TO_UINT(req), dev);
	}
	json_decref(m);
}

static void lines(struct vm *vm, GString *acc, const char *buf, ssize_t n, gsize max,
		  void (*fn)(struct vm *vm, char *line))
{
	ssize_t i;

	for (i = 0; i < n; i++) {
		if (buf[i] == '\n') {
			char *clean = mmg_clean(acc->str, acc->len, max);

			fn(vm, g_strchomp(clean));
			g_free(clean);
			g_string_truncate(acc, 0);
		} else if (acc->len < max) {
			g_string_append_c(acc, buf[i]);
		}
	}
}

static void qmp_text(struct vm *vm, char *line)
{
	qmp_line(vm, line);
}

static void take_ktap(struct vm *vm, const char *buf, ssize_t n)
{
	vm->p->ktap_bytes += n;
	if (vm->p->ktap_bytes > KTAP_MAX) {
		vm_stop(vm, STATE_LOST, "the guest sent more than 64 MiB of results: ended");
		return;
	}
	sign_add(&vm->p->ktap_sign, buf, n);
	put_log(vm, vm->p->tap_log, buf, n);
	ktap_feed(vm->ktap, buf, n);
}

/*
 * panic() prints its last line only where it neither reboots nor powers off: the machine
 * stands still from then on.  Early in boot that is so whatever panic= says, since it has not
 * been read yet.  Looks at the last @n bytes, and at the start of a line that they may end.
 */
static bool panic_halts(const GString *console, ssize_t n)
{
	static const char last[] = "---[ end Kernel panic - not syncing";
	gsize back = n + sizeof(last);

	return strstr(console->str + (console->len > back ? console->len - back : 0), last);
}

static void take_console(struct vm *vm, const char *buf, ssize_t n)
{
	struct vm_private *p = vm->p;

	p->last_console = g_get_monotonic_time();
	if (p->pm)
		post_mortem_said(p->pm, p->last_console);
	if (p->pm && p->console->len + n > MIN(p->judged + POST_MORTEM_SAID, CONSOLE_MAX)) {
		;	/* enough of what it says to us */
	} else if (p->console->len + n > CONSOLE_MAX) {
		/* a splat behind the flood would go unseen: no verdict from here on */
		vm_stop(vm, STATE_LOST, "the guest's console said more than 16 MiB: ended");
	} else {
		ssize_t i;

		/* NULs would end the text for whoever reads it as a string */
		for (i = 0; i < n; i++)
			g_string_append_c(p->console, buf[i] ?: ' ');
		if (!p->dead && !p->pm && panic_halts(p->console, n))
			p->dead = p->last_console;
		put_log(vm, p->console_log, buf, n);
	}
}

static void take(struct vm *vm, enum channel c, const char *buf, ssize_t n)
{
	struct vm_private *p = vm->p;

	switch (c) {
	case CONSOLE:
		take_console(vm, buf, n);
		break;
	case KTAP:
		take_ktap(vm, buf, n);
		break;
	case ARTIFACTS:
		if (p->artifact_bytes + n <= ARTIFACTS_MAX)
			put_log(vm, p->spool, buf, n);
		else if (p->artifact_bytes <= ARTIFACTS_MAX)
			g_string_append(vm->trouble, "the tests left more than 256 MiB of artifacts: the rest is lost\n");
		p->artifact_bytes += n;
		break;
	case CONTROL:
		lines(vm, p->control, buf, n, CONTROL_LINE, control_line);
		break;
	case QMP:
		lines(vm, p->qmp, buf, n, 1 << 20, qmp_text);
		break;
	default:
		break;
	}
}

static gboolean on_channel(gint fd, GIOCondition cond, gpointer data)
{
	struct vm *vm = data;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));
	int c;

	(void)cond;
	for (c = 0; c < CHANNELS; c++)
		if (vm->p->fds[c] == fd)
			break;
	if (n > 0) {
		take(vm, c, buf, n);
		return G_SOURCE_CONTINUE;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	vm->p->sources[c] = 0;
	finish(vm);
	return G_SOURCE_REMOVE;
}

static gboolean on_qemu_said(gint fd, GIOCondition cond, gpointer data)
{
	struct vm *vm = data;
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)cond;
	if (n > 0) {
		if (vm->p->said->len < QEMU_SAID_MAX)
			g_string_append_len(vm->p->said, buf, n);
		return G_SOURCE_CONTINUE;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	vm->p->err_source = 0;
	finish(vm);
	return G_SOURCE_REMOVE;
}

static void on_qemu_exit(GPid pid, gint status, gpointer data)
{
	struct vm *vm = data;

	g_spawn_close_pid(pid);
	vm->p->exited = true;
	vm->p->status = status;
	vm->p->child = 0;
	finish(vm);
}

static void stop_late(struct vm *vm, enum vm_state state, const char *fmt, int secs)
{
	g_autofree char *why = g_strdup_printf(fmt, secs);

	begin_post_mortem(vm, state, why);
}

/* True while the VM is asked what it died of */
static bool in_post_mortem(struct vm *vm, gint64 now)
{
	struct vm_private *p = vm->p;

	if (!p->pm)
		return false;
	if (post_mortem_done(p->pm, now)) {
		end_post_mortem(vm);
		p->stopping = true;
		end_qemu(vm, SIGKILL);
	}
	return true;
}

static gboolean on_vm_tick(gpointer data)
{
	struct vm *vm = data;
	struct vm_private *p = vm->p;
	gint64 now = g_get_monotonic_time();
	gint64 lost = now - p->last_tick - TICK_MS * 1000;
	int k = scale(vm);

	p->last_tick = now;
	if (lost > G_USEC_PER_SEC) {
		/* it is we who stood still (Ctrl-Z, say): what the VM said meanwhile is yet to be read */
		p->last_beat += lost;
		p->deadline += lost;
		p->limit_from += lost;
		if (p->goodbye)
			p->goodbye += lost;
	}
	if (p->stopping)
		return G_SOURCE_CONTINUE;
	if (mmg_interrupted()) {
		vm_stop(vm, STATE_INTERRUPTED, "interrupted");
	} else if (in_post_mortem(vm, now)) {
		return G_SOURCE_CONTINUE;
	} else if (vm->interactive) {
		return G_SOURCE_CONTINUE;
	} else if (p->goodbye) {
		if (now - p->goodbye > OFF_LIMIT * k * USEC)
			end_qemu(vm, SIGKILL);	/* it said goodbye: its word counts */
	} else if (p->dead && now - MAX(p->last_console, p->last_beat) > DEAD_LIMIT * k * USEC) {
		begin_post_mortem(vm, STATE_NONE, NULL);	/* what it said tells what became of it */
	} else if (!p->hello && !p->console->len && now - p->limit_from > SILENT_LIMIT * k * USEC) {
		stop_late(vm, STATE_NO_BOOT, "silent boot: no word for %d s (no kernel for this machine, or no serial console in it?)",
			  SILENT_LIMIT * k);
	} else if (!p->hello && now - p->limit_from > BOOT_LIMIT * k * USEC) {
		stop_late(vm, STATE_NO_BOOT, "PID 1 said nothing within %d s", BOOT_LIMIT * k);
	} else if (p->hello && now - p->last_beat > BEAT_LIMIT * k * USEC) {
		stop_late(vm, STATE_HANG, "the kernel hangs: PID 1 has been silent for %d s", BEAT_LIMIT * k);
	} else if (now > p->deadline) {
		stop_late(vm, STATE_TIMEOUT, "over its %d s in all", vm->timeout);
	}
	return G_SOURCE_CONTINUE;
}

static int log_file(struct vm *vm, const char *name)
{
	char *path = g_build_filename(vm->dir, name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	g_free(path);
	return fd;
}

static bool make_channels(int ours[CHANNELS], int theirs[CHANNELS], GError **err)
{
	int c, pair[2];

	for (c = 0; c < CHANNELS; c++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
			mmg_set_error(err, MMG_EXIT_BROKEN, "socketpair: %s", g_strerror(errno));
			return false;
		}
		ours[c] = pair[0];
		theirs[c] = pair[1];
	}
	return true;
}

/* Out of the terminal's process group, so Ctrl-C comes to us alone; a person's shell stays in it */
static void qemu_setup(gpointer data)
{
	const struct vm *vm = data;

	if (!vm->interactive)
		setpgid(0, 0);
	/* nobody is left to end a VM that hangs, once we are killed */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

static bool spawn(struct vm *vm, int theirs[CHANNELS], GError **err)
{
	struct vm_private *p = vm->p;
	int targets[CHANNELS] = { 10, 11, 12, 13, 14 };
	GSpawnFlags flags = G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD;
	GError *e = NULL;
	bool ok;

	if (vm->interactive)
		flags |= G_SPAWN_CHILD_INHERITS_STDIN;
	g_ptr_array_add(vm->argv, NULL);
	ok = g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)vm->argv->pdata, NULL, flags,
					      qemu_setup, vm, -1, -1, -1, theirs,
					      targets, CHANNELS, &p->pid, NULL, NULL, &p->err_fd, &e);
	g_ptr_array_remove_index(vm->argv, vm->argv->len - 1);
	if (!ok) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "cannot start %s: %s", vm->accel->qemu, e->message);
		g_error_free(e);
	}
	return ok;
}

static struct vm_private *private_new(void)
{
	struct vm_private *p = g_new0(struct vm_private, 1);

	p->console = g_string_new(NULL);
	p->control = g_string_new(NULL);
	p->qmp = g_string_new(NULL);
	p->said = g_string_new(NULL);
	p->requests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return p;
}

bool vm_start(struct vm *vm, GError **err)
{
	struct vm_private *p = private_new();
	int theirs[CHANNELS], c;
	bool ok;

	vm->p = p;
	vm->ktap = ktap_new();
	vm->artifacts = g_ptr_array_new_with_free_func(g_free);
	vm->trouble = g_string_new(NULL);
	vm->events = json_array();
	vm->taints = json_array();
	if (!make_channels(p->fds, theirs, err))
		return false;
	p->console_log = log_file(vm, "console.log");
	p->tap_log = log_file(vm, "guest.ktap");
	p->spool = log_file(vm, "artifacts.tar");
	p->started = p->limit_from = p->last_tick = g_get_monotonic_time();
	p->deadline = p->started + vm->timeout * USEC;
	ok = spawn(vm, theirs, err);
	for (c = 0; c < CHANNELS; c++)
		close(theirs[c]);
	if (!ok)
		return false;
	for (c = 0; c < CHANNELS; c++) {
		g_unix_set_fd_nonblocking(p->fds[c], TRUE, NULL);
		p->sources[c] = g_unix_fd_add(p->fds[c], G_IO_IN | G_IO_HUP, on_channel, vm);
	}
	g_unix_set_fd_nonblocking(p->err_fd, TRUE, NULL);
	p->err_source = g_unix_fd_add(p->err_fd, G_IO_IN | G_IO_HUP, on_qemu_said, vm);
	p->child = g_child_watch_add(p->pid, on_qemu_exit, vm);
	p->tick = g_timeout_add(TICK_MS, on_vm_tick, vm);
	return true;
}

void vm_free(struct vm *vm)
{
	struct vm_private *p = vm->p;

	if (p) {
		g_string_free(p->console, TRUE);
		g_string_free(p->control, TRUE);
		g_string_free(p->qmp, TRUE);
		g_string_free(p->said, TRUE);
		g_hash_table_unref(p->requests);
		g_free(p->why);
		g_free(p->late_why);
		post_mortem_free(p->pm);
		g_free(p);
		ktap_free(vm->ktap);
		g_ptr_array_unref(vm->artifacts);
		g_string_free(vm->trouble, TRUE);
		json_decref(vm->events);
		json_decref(vm->taints);
		json_decref(vm->post_mortem);
	}
	if (vm->argv)
		g_ptr_array_unref(vm->argv);
	g_free(vm->dir);
	g_free(vm->initramfs);
	g_free(vm->append);
	g_free(vm->reason);
	g_free(vm);
}
