// SPDX-License-Identifier: GPL-2.0-only
/* Results as they come from the guest, in two pieces and cut off */
#include "fuzz.h"
#include "vm/vm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ktap *k = ktap_new();
	size_t cut = size ? data[0] % size : 0;
	json_t *c;
	size_t i;

	ktap_feed(k, (const char *)data, cut);
	ktap_feed(k, (const char *)data + cut, size - cut);
	ktap_cut(k, RESULT_BROKEN, "cut");
	must(json_array_size(k->cases) <= 5001);
	json_array_foreach(k->cases, i, c) {
		must(json_string_value(json_object_get(c, "name")));
		must(json_string_value(json_object_get(c, "result")));
	}
	ktap_free(k);
	return 0;
}
