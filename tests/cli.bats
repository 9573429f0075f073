#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The command line: every wrong word gets one line and exit status 2.

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
}

# usage_error TEXT ARGS...: exits 2 with one line that holds TEXT, and leaves nothing behind
usage_error() {
	local text=$1 before after
	shift
	before=$(ls "$root/results" 2>/dev/null | wc -l)
	run "$mmgate" "$@"
	after=$(ls "$root/results" 2>/dev/null | wc -l)
	[ "$status" = 2 ]
	[ "${#lines[@]}" = 1 ]
	[[ "$output" == *"$text"* ]]
	[ "$before" = "$after" ]
}

@test "no such verb" { usage_error "no verb 'frob'" frob; }
@test "no such option" { usage_error "--frob" --frob; }
@test "an option the verb does not take" { usage_error "takes no --kernel" doctor --kernel x; }
@test "a value is missing" { usage_error "--kernel" run --kernel; }
@test "an empty value" { usage_error "empty word" --kernel ""; }
@test "a number that is none" { usage_error "whole number" --repeat many; }
@test "a number out of range" { usage_error "whole number" --jobs 0; }
@test "more repeats than anybody waits for" { usage_error "at most" --repeat 1000000; }
@test "no such architecture" { usage_error "sparc" --arch sparc; }
@test "all architectures are for run alone" { usage_error "takes one architecture" mutants --arch all; }
@test "no such accelerator" { usage_error "auto, kvm, tcg" --accel hvf; }
@test "a word that belongs nowhere" { usage_error "takes no word" run now; }
@test "no such machine" { usage_error "no machine 'nope'" --machine nope; }
@test "a machine outside configs" { usage_error "no machine" --machine ../../etc/passwd; }
@test "no test fits" { usage_error "no test fits" --test 'nope/*'; }
@test "--out that exists" { usage_error "exists" --out "$BATS_TEST_TMPDIR"; }
@test "no such mutant" { usage_error "no mutant fits 'nope'" mutants nope; }
@test "no such list" { usage_error "list 'foo'" list foo; }
@test "a folder without results" { usage_error "run.json" report "$BATS_TEST_TMPDIR"; }
@test "bisect says 129 for usage" {
	run "$mmgate" bisect --frob
	[ "$status" = 129 ]
}

@test "-h lists the verbs, a verb's -h its options" {
	run "$mmgate" -h
	[ "$status" = 0 ]
	for v in run gate mutants bench bisect watch replay trend report shell list doctor build history export restore check; do
		[[ "$output" == *"    $v "* ]]
	done
	run "$mmgate" doctor -h
	[ "$status" = 0 ]
	[[ "$output" != *"--kernel"* ]]
}

@test "list shows each test with what it guards and where it runs" {
	run "$mmgate" list tests
	[ "$status" = 0 ]
	[[ "$output" == *"kvm/eviction_order"* ]]
	[[ "$output" == *"mm/lowmem_reserve"* ]]
	[[ "$output" == *"guards:"* ]]
	"$mmgate" list --json | jq -e '.tests | length > 0 and all(.about != "")'
}

@test "every machine file loads, with a line on what it is for" {
	"$mmgate" list machines --json | jq -e '.machines | length > 5 and all(.about != "")'
}

@test "a misspelt key of a machine file is an error" {
	mkdir -p "$BATS_TEST_TMPDIR/root"
	cp -r "$root/configs" "$root/selftests" "$BATS_TEST_TMPDIR/root/"
	echo "memroy=1G" >>"$BATS_TEST_TMPDIR/root/configs/machines/default.conf"
	MMGATE_ROOT="$BATS_TEST_TMPDIR/root" run "$mmgate" --machine default
	[ "$status" = 2 ]
	[[ "$output" == *"memroy"* ]]
}

@test "a full or closed stdout is no success" {
	run sh -c "'$mmgate' list >/dev/full"
	[ "$status" = 3 ]
	[[ "${lines[-1]}" == *"stdout"* ]]
}
@test "--out that cannot be made is said before anything is built" {
	touch "$BATS_TEST_TMPDIR/file"
	run timeout 10 "$mmgate" --offline --out "$BATS_TEST_TMPDIR/file/nope/x"
	[ "$status" = 3 ]
	[ "${#lines[@]}" = 1 ]
	[[ "$output" == *"is no folder"* ]]
}
@test "a machine file with values that are none" {
	export MMGATE_ROOT="$BATS_TEST_TMPDIR/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$MMGATE_ROOT/"
	for v in memory=banana memory=-1G memory=99999999999G cpus=many cpus=0 cpus=1000 swap=much swap=zram: \
		swap=disk:1T disk=none 'dimms=1G;x' setup=foo boot=grub; do
		printf '[machine]\n%s\n' "$v" >"$MMGATE_ROOT/configs/machines/bad.conf"
		usage_error "bad.conf: ${v%%=*}=" --machine bad
	done
}

@test "fuzz prints the machines it would draw, the same for the same seed" {
	run "$mmgate" fuzz machines -n --count 3 --seed 5
	[ "$status" = 0 ]
	[ "$(grep -c '^\[machine\]' <<< "$output")" = 3 ]
	first=$output
	run "$mmgate" fuzz machines -n --count 3 --seed 5
	[ "$output" = "$first" ]
	run "$mmgate" fuzz machines -n --count 3 --seed 6
	[ "$output" != "$first" ]
	run "$mmgate" fuzz
	[ "$status" = 2 ]
	run "$mmgate" fuzz machines --count 9999
	[ "$status" = 2 ]
}

@test "a machine file elsewhere is taken by its path, and each that fuzz draws is one" {
	"$mmgate" fuzz machines -n --count 20 --seed 3 | csplit -s -z -f "$BATS_TEST_TMPDIR/m" -b %02d.conf - '/SPDX/' '{*}'
	for file in "$BATS_TEST_TMPDIR"/m*.conf; do
		run "$mmgate" run -n --offline --machine "$file" --shuffle 4 --test mm/zoneinfo
		[[ "$output" == *"machine $(basename "$file" .conf):"* ]] || { echo "$output"; false; }
	done
	run "$mmgate" run -n --offline --machine "$BATS_TEST_TMPDIR/none.conf"
	[ "$status" = 2 ]
	[[ "$output" == *"no machine file"* ]]
}

@test "list rules says since when, and where that was read" {
	run "$mmgate" list rules --json
	[ "$status" = 0 ]
	[ "$(jq -r '.rules[] | select(.name == "ratio_checked") | .since' <<< "$output")" = 7.3 ]
}

@test "make alone makes the program" {
	run make -C "$root" -n B="$BATS_TEST_TMPDIR/b"
	[ "$status" = 0 ]
	[[ "$output" == *" -o $BATS_TEST_TMPDIR/b/mmgate "* ]]
}
