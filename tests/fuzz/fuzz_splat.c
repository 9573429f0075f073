// SPDX-License-Identifier: GPL-2.0-only
/* A console of any content */
#include "fuzz.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *a = splat_scan((const char *)data, size), *s;
	size_t i;

	must(json_array_size(a) <= 65);
	json_array_foreach(a, i, s) {
		must(strlen(json_string_value(json_object_get(s, "fingerprint"))) == 16);
		must(json_string_length(json_object_get(s, "text")) <= 20000);
		must(json_integer_value(json_object_get(s, "count")) > 0);
	}
	json_decref(a);
	return 0;
}
