// SPDX-License-Identifier: GPL-2.0-only
/* run.json of a stranger, given to each form of a report */
#include "fuzz.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	json_t *run;

	if (!null)
		null = fopen("/dev/null", "w");
	g_free(fuzz_file("run.json", data, size));
	run = rep_load(fuzz_dir, NULL);
	if (!run)
		return 0;
	report_text(run, fuzz_dir, null, true, NULL);
	report_summary(run, fuzz_dir, NULL);
	report_tap(run, fuzz_dir, NULL);
	report_junit(run, fuzz_dir, NULL);
	report_html(run, fuzz_dir, NULL);
	report_kcidb(run, fuzz_dir, NULL);
	report_gitlab(run, fuzz_dir, NULL);
	report_github(run, fuzz_dir, NULL);
	report_patchwork(run, fuzz_dir, NULL);
	json_decref(run);
	return 0;
}
