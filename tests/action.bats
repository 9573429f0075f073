#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The step of the GitHub action: inputs to options, outputs, summary, exit status.

setup() {
	root="$BATS_TEST_TMPDIR/root"
	mkdir -p "$root/.github"
	cp "$BATS_TEST_DIRNAME/../.github/action.sh" "$root/.github/"
	# what it calls: writes its words, one a line, and results as run.sh does
	cat > "$root/run.sh" <<- 'END'
		#!/bin/bash
		printf '%s\n' "$@" > "$BATS_TEST_TMPDIR/words"
		while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
		mkdir -p "$out"
		printf '{\n "exit": 1,\n "cases": [\n  {\n   "reason": "inner"\n  }\n ],\n "reason": "fail: \\"x\\" %%0A::y",\n "verdict": "fail"\n}\n' > "$out/run.json"
		printf 'one\n::error::two\n' > "$out/summary.txt"
		exit "${FAKE_STATUS-1}"
	END
	chmod +x "$root/run.sh"
	export RUNNER_TEMP="$BATS_TEST_TMPDIR" GITHUB_OUTPUT="$BATS_TEST_TMPDIR/out" GITHUB_STEP_SUMMARY="$BATS_TEST_TMPDIR/summary"
}

@test "inputs become options, a line each" {
	MMGATE_GATE=g MMGATE_TREE="a tree" MMGATE_TEST=$'kvm/*\n\nmm/x\n' MMGATE_ARGS="--repeat 3" \
		run bash -e "$root/.github/action.sh"
	[ "$status" = 1 ]
	run head -n 10 "$BATS_TEST_TMPDIR/words"
	[ "$output" = $'gate\ng\n--tree\na tree\n--test\nkvm/*\n--test\nmm/x\n--repeat\n3' ]
}

@test "an input is one word, whatever is in it" {
	MMGATE_KERNEL="x; touch $BATS_TEST_TMPDIR/pwned \$(touch $BATS_TEST_TMPDIR/pwned)" run bash -e "$root/.github/action.sh"
	[ ! -e "$BATS_TEST_TMPDIR/pwned" ]
	[ "$(sed -n 2p "$BATS_TEST_TMPDIR/words")" = "x; touch $BATS_TEST_TMPDIR/pwned \$(touch $BATS_TEST_TMPDIR/pwned)" ]
}

@test "outputs, summary and exit status" {
	run bash -e "$root/.github/action.sh"
	[ "$status" = 1 ]
	grep -qx 'verdict=fail' "$GITHUB_OUTPUT"
	grep -qx 'reason=fail: \\"x\\" %0A::y' "$GITHUB_OUTPUT"
	[ "$(wc -l < "$GITHUB_OUTPUT")" = 3 ]
	grep -qx '    ::error::two' "$GITHUB_STEP_SUMMARY"
	FAKE_STATUS=0 run bash -e "$root/.github/action.sh"
	[ "$status" = 0 ]
}
