#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The verb coverage without a kernel: what it refuses, and counts of earlier runs added up.

setup() {
	root=$BATS_TEST_TMPDIR/checkout
	mmgate=$BATS_TEST_DIRNAME/../build/mmgate
	tree=$BATS_TEST_TMPDIR/linux
	mkdir -p "$root/configs" "$root/selftests/kvm" "$tree/mm"
	printf "/*\n * mmgate-about: a\n */\n" >"$root/selftests/kvm/aging_test.c"
	printf '[mm/vmscan.c]\nwalk=kvm/aging\n' >"$root/configs/guarded.conf"
	printf '[first]\nfunction=walk\nline=if (x)\nreason=x is never 0\n' >"$root/configs/unreached.conf"
	export MMGATE_ROOT=$root XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	printf 'VERSION = 6\nPATCHLEVEL = 18\n' >"$tree/Makefile"
	: >"$tree/mm/Kconfig"
	cd "$BATS_TEST_TMPDIR" || exit 1
}

# counts DIR IMAGE COUNT TAKEN: the result of an earlier run
counts() {
	mkdir -p "$1"
	cat >"$1/coverage.json" <<-END
		{"format": 1, "source": "linux", "version": "6.18", "arch": "x86_64", "image_sha256": "$2", "boots": 1,
		 "functions": [{"file": "mm/vmscan.c", "name": "walk", "state": "counted", "lines": [
		  {"line": 3, "text": "if (x)", "count": $3, "branches": [$3, $4]},
		  {"line": 4, "text": "return <b>1</b>;", "count": $4, "branches": []}]},
		  {"file": "mm/vmscan.c", "name": "later", "state": "not defined", "lines": []}]}
	END
}

@test "counts of one image are added up, with reasons for what is not reached" {
	counts a 11 5 0
	counts b 11 2 0
	run "$mmgate" coverage a b --out sum
	[ "$status" = 0 ]
	[[ "$output" == *"walk "*"1/2  50 %"*"1/2  50 %"* ]]
	[[ "$output" == *"not defined by this kernel: later"* ]]
	[[ "$output" == *"3: if (x)"*"way never taken: 2 of 2; x is never 0"* ]]
	[[ "$output" == *"4: return"*"never runs"* ]]
	[[ "$output" == *"1 line without a reason"* ]]
	[[ "${lines[-1]}" == "mmgate: 1 of 2 lines and 1 of 2 branches of the guarded functions are reached" ]]
	[ "$(jq '.functions[0].lines[0].count' sum/coverage.json)" = 7 ]
	[ "$(jq '.boots' sum/coverage.json)" = 2 ]
	grep -q 'return &lt;b&gt;1' sum/coverage.html
	grep -q 'never runs' sum/coverage.txt
}

@test "what is reached in one of them is reached, and its reason is out of date" {
	counts a 11 5 0
	counts b 11 0 4
	run "$mmgate" coverage a b --out sum
	[ "$status" = 0 ]
	[[ "$output" == *"walk "*"2/2 100 %"*"2/2 100 %"* ]]
	[[ "$output" == *"[first] fits no line that is not reached"* ]]
}

@test "--json is coverage.json alone" {
	counts a 11 5 0
	run bash -c "'$mmgate' coverage a --out sum --json 2>/dev/null | jq -r .sum.branches_reached"
	[ "$output" = 1 ]
}

@test "counts of another image are refused" {
	counts a 11 5 0
	counts b 22 5 0
	run "$mmgate" coverage a b --out sum
	[ "$status" = 2 ]
	[[ "$output" == *"counts of another kernel image"* ]]
}

@test "what is neither a source nor a result is refused, and so is a kernel" {
	run "$mmgate" coverage nothing
	[ "$status" = 2 ]
	[[ "$output" == *"nothing has no coverage.json"* ]]
	run "$mmgate" coverage --kernel debian:6.12
	[ "$status" = 2 ]
	[[ "$output" == *"coverage builds its kernel"* ]]
	run "$mmgate" coverage --tree "$tree" --test kvm/nothing
	[ "$status" = 2 ]
}

@test "-n says what would be counted" {
	run "$mmgate" coverage -n --tree "$tree" --test kvm/aging
	[ "$status" = 0 ]
	[[ "$output" == *"counted file mm/vmscan.c"*"function walk"*"test kvm/aging"* ]]
}
