// SPDX-License-Identifier: GPL-2.0-only
// fuzz-without: host/vm/vm.c
/* Lines of the control port, signed ("!": not), and QEMU's monitor ("%") */
#include "../../host/vm/vm.c"

#include "fuzz.h"

static void signed_line(struct vm *vm, const char *line)
{
	char *clean = mmg_clean(line, -1, CONTROL_LINE - 32), *full;

	full = g_strdup_printf("%s ~%016llx", clean,
			       (unsigned long long)sign_line(vm->p->key, vm->p->nr_signed, clean, strlen(clean)));
	control_line(vm, full);
	g_free(full);
	g_free(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine machine = { .name = (char *)"m" };
	static struct kernel kernel = { .arch = (char *)"x86_64" };
	static const struct accel accel = { .name = (char *)"tcg", .qemu = (char *)"qemu" };
	struct vm *vm = g_new0(struct vm, 1);
	char *text = fuzz_text(data, size), **all = g_strsplit(text, "\n", 200);

	if (!machine.dimms) {
		machine.dimms = g_ptr_array_new();
		g_ptr_array_add(machine.dimms, (char *)"128M");
	}
	vm->machine = &machine;
	vm->kernel = &kernel;
	vm->accel = &accel;
	vm->p = private_new();
	vm->ktap = ktap_new();
	vm->artifacts = g_ptr_array_new_with_free_func(g_free);
	vm->trouble = g_string_new(NULL);
	vm->events = json_array();
	vm->taints = json_array();
	vm->p->exited = true;		/* there is no process to end */
	for (int c = 0; c < CHANNELS; c++)
		vm->p->fds[c] = -1;
	for (int i = 0; all[i]; i++) {
		GString *acc = vm->p->control;

		if (all[i][0] == '%')
			lines(vm, vm->p->qmp, all[i] + 1, strlen(all[i] + 1), 1 << 20, qmp_text);
		else if (all[i][0] == '!')
			lines(vm, acc, all[i] + 1, strlen(all[i] + 1), CONTROL_LINE, control_line);
		else if (vm->p->hello)
			signed_line(vm, all[i]);
		else
			control_line(vm, all[i]);
		if (all[i][0] == '%')
			lines(vm, vm->p->qmp, "\n", 1, 1 << 20, qmp_text);
		else
			lines(vm, acc, "\n", 1, CONTROL_LINE, control_line);
	}
	must(json_array_size(vm->events) <= MAX_EVENTS && json_array_size(vm->taints) <= MAX_EVENTS);
	must(vm->trouble->len <= TROUBLE_MAX + CONTROL_LINE);
	g_strfreev(all);
	g_free(text);
	vm_free(vm);
	return 0;
}
