/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules that differ between kernel versions, as data: rules.def */
#ifndef MMGATE_RULES_H
#define MMGATE_RULES_H

#include <stdbool.h>

#define RULE(name, since, holds, before, source, probe) RULE_##name,
enum mmg_rule {
#include "rules.def"
	NR_RULES
};

#undef RULE

/**
 * struct mmg_rule_row - a row of rules.def, field by field
 */
struct mmg_rule_row {
	const char *name, *since, *holds, *before, *source, *probe;
};

extern const struct mmg_rule_row mmg_rules[NR_RULES];

bool mmg_rule_of(enum mmg_rule rule, const char *release);
bool mmg_rule_known(const char *release);

#endif /* MMGATE_RULES_H */
