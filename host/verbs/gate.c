// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb gate: does a series do what it says?  Base and patched kernels run
 * the same cases, in turn; what must change and what must not is a file in
 * configs/gates, and so is, for trees that hold the fix already, how to undo it.
 */
#include "verbs/verbs.h"

int verb_gate(struct cli *cli, GError **err)
{
	const struct gate_options opt = cli_gate(cli);

	return gate_run(&opt, err);
}
