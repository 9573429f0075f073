// SPDX-License-Identifier: GPL-2.0-only
// fuzz-only: selftests/lib/zoneinfo.c selftests/lib/vmstat.c selftests/lib/node.c selftests/lib/lru_gen_format.c selftests/lib/lru_gen.c
/* What the selftests read of the kernel under test: zoneinfo, vmstat, lru_gen, lowmem_reserve_ratio */
#include "fuzz.h"

#include "lru_gen.h"
#include "vmstat.h"
#include "zoneinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zoneinfo zi;
	static struct vmstat v;
	static struct lru_gen_memcg memcg;
	struct lru_gen_error e;
	char *text = fuzz_text(data, size), err[200];
	long ratio[8];

	zoneinfo_parse(text, &zi, err, sizeof(err));
	zoneinfo_free(&zi);
	vmstat_parse(text, &v);
	if (!lru_gen_parse(text, "/", 0, &memcg, &e))
		must(memcg.nr_nodes <= LRU_GEN_MAX_NODES);
	lru_gen_parse(text, NULL, 1, &memcg, &e);
	must(zi_ratio_parse(text, ratio, 8) <= 8);
	g_free(text);
	return 0;
}
