// SPDX-License-Identifier: GPL-2.0-only
/* Configuration files: machine, mutant, known issue; a test's head comment */
#include "fuzz.h"
#include "plan/plan.h"
#include "run/run.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dirs[] = { "machines", "mutants", "known-issues" };
	char *text = fuzz_text(data, size);
	struct edit_script *script;
	struct machine *m;
	struct test *t;
	json_t *run;

	for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++) {
		char *name = g_strdup_printf("configs/%s/x.conf", dirs[i]);

		g_free(fuzz_file(name, data, size));
		g_free(name);
	}
	m = machine_load("x", NULL);
	if (m)
		machine_free(m);
	script = edit_script_load("x.conf", NULL);
	if (script)
		edit_script_free(script);
	run = json_pack("{s:s, s:[{s:[{s:s, s:s, s:s, s:n}]}], s:[{s:s, s:s, s:s, s:s, s:i, s:i}], s:[{s:s}]}", "started",
			"2026-12-02T00:00:00Z", "boots", "splats", "kind", "WARNING", "title", "WARNING: at x",
			"fingerprint", "0123456789abcdef", "allowed", "cases", "name", "mm/a/b", "result", "fail",
			"reason", "r", "machine", "default", "kernel", 0, "boot", 0, "kernels", "label", "6.12");
	must(run);
	known_apply(run, NULL);
	json_decref(run);
	t = catalog_parse("mm/x", text);
	if (t)
		catalog_test_free(t);
	g_free(text);
	return 0;
}
