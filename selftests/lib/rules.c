// SPDX-License-Identifier: GPL-2.0-only
/* The table of rules.def, and what it says of a release; pure code, tested on the host */
#include <stdio.h>

#include "rules.h"

#define RULE(name, since, holds, before, source, probe) \
	{ #name, since, holds, before, source, probe },
const struct mmg_rule_row mmg_rules[NR_RULES] = {
#include "rules.def"
};

#undef RULE

/* Major and minor number as one that can be compared; 0 for text without them */
static unsigned int version_of(const char *text)
{
	unsigned int major, minor;

	if (sscanf(text, "%u.%u", &major, &minor) != 2 || major > 999 || minor > 999)
		return 0;
	return major * 1000 + minor;
}

/**
 * mmg_rule_of() - whether a rule holds on a release, by its version alone
 * @rule:	row of the table
 * @release:	as uname -r prints it, "6.12.117+deb12-amd64"
 *
 * Where the row names a probe, the probe's answer counts and not this one.
 *
 * Return: true where the release is as new as the rule, or cannot be read.
 */
bool mmg_rule_of(enum mmg_rule rule, const char *release)
{
	unsigned int version = version_of(release);

	return !version || version >= version_of(mmg_rules[rule].since);
}

/**
 * mmg_rule_known() - whether the table was read from kernels as new as this one
 * @release:	as uname -r prints it
 *
 * Return: false above RULES_NEWEST, where the newest rules are an assumption.
 */
bool mmg_rule_known(const char *release)
{
	return version_of(release) && version_of(release) <= version_of(RULES_NEWEST);
}
