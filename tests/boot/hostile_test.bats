#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Tests that mean harm, in a real VM: they cannot speak in PID 1's place, and what they leave
# behind is not taken for a fault of the kernel.

setup_file() {
	root="$BATS_TEST_DIRNAME/../.."
	export MMGATE_ROOT="$BATS_FILE_TMPDIR/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
	cp "$BATS_TEST_DIRNAME"/hostile/*.c "$MMGATE_ROOT/selftests/mm/"
	sed -i 's/^TESTS := /TESTS := hostile_test hostile_link_test /' "$MMGATE_ROOT/selftests/mm/Makefile"
	run "$root/build/mmgate" --no-history --kernel debian:6.12 --machine default --test mm/hostile \
		--test mm/hostile_link --test mm/lowmem_reserve/formula --out "$BATS_FILE_TMPDIR/out"
	echo "$output" >"$BATS_FILE_TMPDIR/said"
	echo "$status" >"$BATS_FILE_TMPDIR/status"
}

setup() {
	json="$BATS_FILE_TMPDIR/out/run.json"
	cat "$BATS_FILE_TMPDIR/said"
}

passed() {
	jq -e --arg n "mm/hostile/$1" '.cases[] | select(.name == $n) | .result == "pass"' "$json"
}

@test "PID 1's descriptors cannot be taken" { passed take-descriptors; }
@test "PID 1 cannot be traced" { passed trace; }
@test "PID 1's memory and the machine's cannot be opened" { passed open-things; }
@test "PID 1's ports cannot be opened" { passed open-ports; }
@test "a test cannot end the VM" { passed end-the-vm; }

@test "pipes, links, devices and huge files are left out, and it is said" {
	[ "$(jq -r '.boots[0].state' "$json")" = goodbye ]
	for name in fifo link console sparse; do
		jq -e --arg n "artifact $name is left out" '.boots[0].trouble | any(startswith($n))' "$json"
	done
	jq -e '.boots[0].trouble | any(test("left out, over the 1990"))' "$json"
}

@test "a link in the place of the artifacts is not followed, and it is said" {
	jq -e '.cases[] | select(.name == "mm/hostile_link/link") | .result == "pass"' "$json"
	jq -e '.boots[0].trouble | any(test("the test replaced /run/artifacts"))' "$json"
}

@test "a program that another test has changed is not run" {
	[ "$(cat "$BATS_FILE_TMPDIR/status")" = 3 ]
	jq -e '.cases[] | select(.name | startswith("mm/lowmem_reserve")) |
		.result == "broken" and (.reason | test("changed by a test before it"))' "$json"
}
