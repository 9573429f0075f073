#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Real kernels, real boots: the main job on stock kernels, with both verdicts.

setup_file() {
	export R="$BATS_FILE_TMPDIR"
	"$BATS_TEST_DIRNAME/../../build/mmgate" --kernel debian:6.1 --kernel debian:6.12 --out "$R/two" \
		--junit --html --no-history >"$R/two.txt" 2>"$R/two.err" || echo $? >"$R/two.status"
}

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	run_json="$R/two/run.json"
}

# Number of cases of kernel $1 (a version prefix) that this jq condition holds for
count() {
	jq --arg v "$1" '[.kernels as $k | .cases[] | select($k[.kernel].version | startswith($v)) | select('"$2"')] | length' \
		"$run_json"
}

# No case of kernel $1 holds $2; those that do are named
none() {
	[ "$(count "$1" "$2")" = 0 ] && return
	jq -r --arg v "$1" '.kernels as $k | .cases[] | select($k[.kernel].version | startswith($v)) | select('"$2"') |
		"\(.name) on \(.machine): \(.result): \(.reason)"' "$run_json"
	return 1
}

@test "two kernels: exit 1, and the last line names test and kernel" {
	[ "$(cat "$R/two.status")" = 1 ]
	tail -n 1 "$R/two.err" | grep -q 'kvm/eviction_order/.* on 6\.1\.'
	[ "$(jq -r .complete "$run_json")" = true ]
}

@test "6.1 is blind to the guest: its cases fail with an AUC of 0.4 to 0.6" {
	guest='.name | test("^kvm/eviction_order/(anon|shmem)")'
	[ "$(count 6.1. "($guest)")" -ge 3 ]
	none 6.1. "($guest) and .result != \"fail\""
	none 6.1. "($guest) and (.metrics.auc < 0.4 or .metrics.auc > 0.6)"
}

@test "6.1 orders what the host touches: the host cases pass" {
	[ "$(count 6.1. '(.name | test("^kvm/eviction_order/host")) and .result == "pass"')" -ge 3 ]
	none 6.1. '(.name | test("^kvm/eviction_order/host")) and .result != "pass"'
}

@test "6.12 passes, with an AUC of 0.99 at least" {
	none 6.12. '.result == "fail" or .result == "broken"'
	[ "$(count 6.12. '(.name | test("^kvm/eviction_order/")) and .result == "pass"')" -ge 6 ]
	none 6.12. '(.name | test("^kvm/eviction_order/(anon|shmem)")) and .metrics.auc < 0.99'
}

@test "every guest case proved its control: blind with the walk off" {
	none 6.12. '(.name | test("^kvm/eviction_order/(anon|shmem)")) and (.metrics.control_auc | . == null or . < 0.4 or . > 0.6)'
}

@test "the zone tests pass on both kernels, on three machines" {
	none 6. '(.name | startswith("mm/lowmem_reserve")) and .result != "pass" and .result != "skip"'
	[ "$(jq -r '[.cases[] | select(.name | startswith("mm/lowmem_reserve")) | select(.result == "pass") | .machine] | unique | length' "$run_json")" -ge 3 ]
}

@test "no splat in any boot, every boot said goodbye" {
	[ "$(jq '[.boots[].splats[]] | length' "$run_json")" = 0 ]
	[ "$(jq '[.boots[] | select(.state != "goodbye")] | length' "$run_json")" = 0 ]
}

@test "a required test that is skipped is not green" {
	run "$mmgate" --kernel debian:6.12 --machine one-zone --test mm/reserve_pressure/anon \
		--require mm/reserve_pressure/anon --out "$R/required" --no-history -q
	[ "$status" = 3 ]
	[[ "${lines[-1]}" == *required* ]]
}

@test "what is booted of a stock image is the vmlinux in it, unless the machine wants the image" {
	jq -e '[.boots[].qemu[] | select(endswith("/vmlinux"))] | length == 6' "$run_json"
	jq -e 'all(.kernels[]; .image | contains("/vmlinuz-"))' "$run_json"
	run "$mmgate" run -n --kernel debian:6.12 --machine default --machine la57 --test kvm/young_clear
	[ "$(grep -c -- '-kernel [^ ]*/vmlinux ' <<<"$output")" = 1 ]
	[ "$(grep -c -- '-kernel [^ ]*/vmlinuz-' <<<"$output")" = 1 ]
	# a firmware loads the kernel itself, and EFI's takes no ELF file
	printf '[machine]\nabout=x\nqemu=-bios;bios-256k.bin\n' >"$BATS_TEST_TMPDIR/own.conf"
	run "$mmgate" run -n --kernel debian:6.12 --machine "$BATS_TEST_TMPDIR/own.conf" --test kvm/young_clear
	[ "$(grep -c -- '-kernel [^ ]*/vmlinuz-' <<<"$output")" = 1 ]
}
