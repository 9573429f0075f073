#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The set of past series: what is in it, and what the verb says of wrong words.  Nothing here builds or boots.

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
}

@test "every file of the set can be read, and is told by what became of it" {
	run "$mmgate" replay -n
	[ "$status" = 0 ]
	[ "${#lines[@]}" = "$(find "$root/configs/replay" -name '*.conf' | wc -l)" ]
	[[ "$output" == *"bad "*"empty-zone-hidden"*96a5c186efff*eae116d1f044* ]]
	[[ "$output" == *"good "*"secondary-mmu"*1d4832becdc2* ]]
	sed -n 's/^edits=//p' "$root"/configs/replay/*.conf >"$BATS_TEST_TMPDIR/edits"
	while read -r f; do
		[ -f "$root/configs/$f" ]
	done <"$BATS_TEST_TMPDIR/edits"
}

@test "only what is named, and a name that is none" {
	run "$mmgate" replay -n 'reserve-*'
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 2 ]
	run "$mmgate" replay -n nothing-of-that-name
	[ "$status" = 2 ]
	[ "${#lines[@]}" = 1 ]
}

@test "answers that are there are not asked for again, and a wrong one is red" {
	out="$BATS_TEST_TMPDIR/out"
	for n in empty-zone-hidden per-node-lists; do
		mkdir -p "$out/$n"
		jq '.verb = "gate" | .gate = {name: "series", about: "", verdict: "regressed", reason: "", exit: 1, identical: false,
			more_runs: 0, cases: [], metrics: []}' "$root/tests/fixtures/runs/two-kernels/run.json" >"$out/$n/run.json"
	done
	run "$mmgate" replay empty-zone-hidden per-node-lists --out "$out"
	[ "$status" = 0 ]
	[[ "$output" == *"2 right, 0 wrong, 0 without"* ]]
	[ "$(jq -r '[.[].right] | all' "$out/replay.json")" = true ]
	sed -i 's/"verdict": "regressed"/"verdict": "pass"/' "$out/per-node-lists/run.json"
	run "$mmgate" replay empty-zone-hidden per-node-lists --out "$out"
	[ "$status" = 1 ]
	[[ "$output" == *"1 right, 1 wrong"* ]]
}

@test "what was cut off is not taken for an answer" {
	out="$BATS_TEST_TMPDIR/out"
	mkdir -p "$out/per-node-lists"
	jq '.verb = "gate" | .complete = false | .gate = {name: "series", about: "", verdict: "broken", reason: "interrupted", exit: 3,
		identical: false, more_runs: 0, cases: [], metrics: []}' "$root/tests/fixtures/runs/two-kernels/run.json" \
		>"$out/per-node-lists/run.json"
	# nothing can be built here, so that it comes to no new answer; the old one is gone
	run "$mmgate" replay per-node-lists --out "$out" --offline
	[ "$status" = 3 ]
	[[ "$output" == *"no answer"* ]]
	[ ! -e "$out/per-node-lists/run.json" ]
}
