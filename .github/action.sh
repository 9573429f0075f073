#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The step of action.yml: inputs come as MMGATE_*, outputs go to $GITHUB_OUTPUT,
# the summary to $GITHUB_STEP_SUMMARY. Exits as run.sh does.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 3
out=${RUNNER_TEMP:-/tmp}/mmgate-${GITHUB_RUN_ID:-0}-${GITHUB_RUN_ATTEMPT:-0}-$$
words=()

# option NAME VALUES: --NAME for each line of VALUES
option() {
	local line
	while IFS= read -r line; do
		[ -z "$line" ] || words+=("--$1" "$line")
	done <<< "$2"
}

[ -z "${MMGATE_GATE-}" ] || words+=(gate "$MMGATE_GATE")
for name in kernel tree series base patched test machine require; do
	value=MMGATE_${name^^}
	option "$name" "${!value-}"
done
read -r -a more <<< "${MMGATE_ARGS-}"

status=0
"$root/run.sh" "${words[@]}" "${more[@]}" -y --junit --html --out "$out" || status=$?

# what run.json says, on one line each: nothing in it can become another output
if [ -f "$out/run.json" ]; then
	{
		echo "results=$out"
		for key in verdict reason; do
			printf '%s=' "$key"
			sed -n "s/^ \"$key\": \"\(.*\)\",\{0,1\}\$/\1/p" "$out/run.json" | head -n 1
		done
	} >> "${GITHUB_OUTPUT:-/dev/null}"
fi
# indented, so that it is shown as it is
[ ! -f "$out/summary.txt" ] || sed 's/^/    /' "$out/summary.txt" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
exit "$status"
