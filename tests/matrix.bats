#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The table of kernels, without booting: kernels as data, shards, and result folders put together.

setup() {
	root=$BATS_TEST_TMPDIR/checkout
	mmgate=$BATS_TEST_DIRNAME/../build/mmgate
	mkdir -p "$root/configs/kernels" "$root/configs/machines" "$root/configs/known-issues" "$root/selftests/kvm"
	export MMGATE_ROOT=$root XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	printf '[machine]\nabout=d\nmemory=1G\n' >"$root/configs/machines/default.conf"
	printf '/*\n * mmgate-about: a\n * mmgate-guards: 1d4832becdc2 x\n * mmgate-quick: default\n */\n' \
		>"$root/selftests/kvm/a_test.c"
	printf '[1d4832becdc2]\ntitle=the fix\nin=6.12;6.6.80\n' >"$root/configs/fixes.conf"
	kernel old debian:6.1
	kernel lts debian:6.12.43@bookworm-backports
	kernel new debian:7.3@trixie-backports
}

kernel() {
	printf '[kernel]\nspec=%s\nwhy=it is %s\nsince=2025-01\n' "$2" "$1" >"$root/configs/kernels/$1.conf"
}

# part DIR LABEL VERSION RESULT: a results folder of one kernel and one case
part() {
	mkdir -p "$1/$2/default"
	echo hello >"$1/$2/default/console.log"
	jq -n --arg l "$2" --arg v "$3" --arg r "$4" '{schema: 1, tool: {name: "mmgate", version: "0"}, verb: "matrix",
		id: $l, started: "2026-12-01T00:00:00Z", complete: true, command: [], host: {}, seed: 1, duration_s: 1,
		options: {repeat: 1, require: [], tests: [], machines: []}, requires: [], verdict: "pass", exit: 0, reason: "",
		kernels: [{spec: $l, label: $l, release: $v, version: $v, arch: "x86_64", image_sha256: $l, packages: []}],
		boots: [{kernel: 0, machine: "default", repeat: 0, dir: ($l + "/default"), state: "goodbye", reason: "",
			complete: true, duration_s: 1, splats: [], artifacts: []}],
		cases: [{name: "kvm/a/x", result: $r, reason: "because", duration_s: 1, metrics: {auc: 1}, diag: [], kernel: 0,
			boot: 0, machine: "default", repeat: 0}],
		matrix: {kernels: [{name: $l, spec: $l, why: "w", since: "2025-01", until: "", seen: "2026-12-01T00:00:00Z",
			label: $l, release: $v, version: $v, state: "tested", reason: ""}], arch: "x86_64", changes: [],
			previous: "", boots_run: 1, boots_recalled: 0}}' >"$1/run.json"
}

@test "kernels come in the order of their versions, and shards part them" {
	run "$mmgate" matrix -n
	[ "$status" = 0 ]
	[[ "${lines[0]}" == old* && "${lines[1]}" == lts* && "${lines[2]}" == new* ]]
	run "$mmgate" matrix -n --shard 2/2
	[ "$status" = 0 ]
	[[ "$output" == lts* ]]
	[ "${#lines[@]}" = 1 ]
}

@test "wrong words are said before anything is fetched" {
	for s in 0/2 3/2 1 x/y 1/2x; do
		run "$mmgate" matrix -n --shard $s
		[ "$status" = 2 ]
	done
	run "$mmgate" matrix -n nope
	[ "$status" = 2 ]
	[[ "$output" == *"no kernel of configs/kernels fits 'nope'"* ]]
	kernel bad debian:6.1
	echo what=now >>"$root/configs/kernels/bad.conf"
	run "$mmgate" matrix -n
	[ "$status" = 2 ]
	[[ "$output" == *"bad.conf"*"not known"* ]]
}

@test "a kernel that cannot be had costs its own row" {
	part "$BATS_TEST_TMPDIR/p" 7.3 7.3 pass
	run "$mmgate" matrix --offline --kernel debian:9.9 --kernel /nowhere --no-history --out "$BATS_TEST_TMPDIR/out"
	[ "$status" = 3 ]
	[[ "$output" == *"2 kernels, 0 UNEXPLAINED, some kernels could not be tested"* ]]
	[ "$(jq -r '.matrix.kernels[].state' "$BATS_TEST_TMPDIR/out/run.json" | sort -u)" = "not had" ]
}

@test "merge: a red cell of a kernel that lacks the fix is explained, another is not" {
	part "$BATS_TEST_TMPDIR/a" 6.1 6.1.192 fail
	part "$BATS_TEST_TMPDIR/b" 7.3 7.3.4 pass
	run "$mmgate" merge "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" --no-history --out "$BATS_TEST_TMPDIR/ab"
	[ "$status" = 0 ]
	[[ "$output" == *"fixed in 6.12 and 6.6.80: 1d4832becdc2 the fix"* ]]
	[ -f "$BATS_TEST_TMPDIR/ab/1/6.1/default/console.log" ]
	grep -q 'fixed in 6.12' "$BATS_TEST_TMPDIR/ab/matrix.html"
	[ "$(jq '.kernels | length' "$BATS_TEST_TMPDIR/ab/run.json")" = 2 ]
	part "$BATS_TEST_TMPDIR/c" 6.18 6.18.15 fail
	run "$mmgate" merge "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/c" --no-history --out "$BATS_TEST_TMPDIR/ac"
	[ "$status" = 1 ]
	[[ "$output" == *"1 UNEXPLAINED"* ]]
	part "$BATS_TEST_TMPDIR/d" 6.6 6.6.79 fail
	part "$BATS_TEST_TMPDIR/e" 6.6b 6.6.80 broken
	run "$mmgate" merge "$BATS_TEST_TMPDIR/d" "$BATS_TEST_TMPDIR/e" --no-history --out "$BATS_TEST_TMPDIR/de"
	[ "$status" = 3 ]
}

@test "merge: a fix that lists its cases explains those alone, whether a test guards it or not" {
	printf '[163bc3d68c9f]\ntitle=another\nin=7.2\nsince=6.17\ncases=kvm/a/x\n' >>"$root/configs/fixes.conf"
	part "$BATS_TEST_TMPDIR/a" 6.18 6.18.15 fail
	run "$mmgate" merge "$BATS_TEST_TMPDIR/a" --no-history --out "$BATS_TEST_TMPDIR/aa"
	[ "$status" = 0 ]
	[[ "$output" == *"fixed in 7.2: 163bc3d68c9f another"* ]]
	sed -i 's,kvm/a/x,kvm/a/y,' "$root/configs/fixes.conf"
	run "$mmgate" merge "$BATS_TEST_TMPDIR/a" --no-history --out "$BATS_TEST_TMPDIR/ab"
	[ "$status" = 1 ]
	[[ "$output" == *"1 UNEXPLAINED"* ]]
}

@test "merge: what is no results folder, and none at all" {
	run "$mmgate" merge "$BATS_TEST_TMPDIR"
	[ "$status" = 2 ]
	run "$mmgate" merge
	[ "$status" = 2 ]
}
