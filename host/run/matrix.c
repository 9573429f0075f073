// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verdict on a table of many kernels.
 */
#include "run/matrix.h"
#include "run/explain.h"

int matrix_judge(json_t *run, GError **err)
{
	json_t *m = json_object_get(run, "matrix"), *row;
	g_autoptr(GPtrArray) catalog = catalog_load(err);
	int broken = 0, n = catalog ? explain_run(run, catalog, &broken, err) : -1, absent = 0, status;
	g_autofree char *reason = NULL;
	size_t i;

	if (n < 0)
		return (*err)->code;
	json_array_foreach(json_object_get(m, "kernels"), i, row)
		absent += g_str_has_prefix(obj_str(row, "state"), "not ");
	status = n > broken ? MMG_EXIT_FAIL : n || absent ? MMG_EXIT_BROKEN :
		 json_array_size(json_object_get(run, "cases")) ? MMG_EXIT_OK : MMG_EXIT_NOTHING;
	if (!json_is_true(json_object_get(run, "complete")))
		status = mmg_interrupted() ? MMG_EXIT_INTERRUPTED : MMG_EXIT_BROKEN;
	reason = g_strdup_printf("%s: %zu kernels, %d UNEXPLAINED%s",
				 status == MMG_EXIT_NOTHING ? "nothing ran" : result_name(exit_result(status)),
				 json_array_size(json_object_get(m, "kernels")), n,
				 absent ? ", some kernels could not be tested" : "");
	json_object_set_new(m, "unexplained", json_integer(n));
	json_object_set_new(m, "not_tested", json_integer(absent));
	json_object_set_new(run, "verdict", json_string(result_name(exit_result(status))));
	json_object_set_new(run, "exit", json_integer(status));
	json_object_set_new(run, "reason", json_string(reason));
	return status;
}
