#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that warns: red, until an owned entry of configs/known-issues allows it,
# and red again once that has expired. The warning is a real one: two cores
# that share a cache on two nodes, which the kernel calls insane.

setup_file() {
	root="$BATS_TEST_DIRNAME/../.."
	export MMGATE_ROOT="$BATS_FILE_TMPDIR/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
	cat > "$MMGATE_ROOT/configs/machines/insane.conf" <<- 'END'
		[machine]
		about=siblings on two nodes
		cpus=2
		memory=1G
		qemu=-smp;2,sockets=1,cores=2,threads=1;-object;memory-backend-ram,id=m0,size=512M;-object;memory-backend-ram,id=m1,size=512M;-numa;node,nodeid=0,cpus=0,memdev=m0;-numa;node,nodeid=1,cpus=1,memdev=m1
	END
}

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	rm -f "$MMGATE_ROOT/configs/known-issues/"*.conf
}

gate() {
	rm -rf "$BATS_TEST_TMPDIR/out"
	run "$mmgate" --no-history --kernel debian:6.12 --test mm/lowmem_reserve/formula --machine insane --junit \
		--out "$BATS_TEST_TMPDIR/out"
	echo "$output"
}

known() {
	cat > "$MMGATE_ROOT/configs/known-issues/sibling.conf" <<- END
		[sibling]
		kind=splat
		pattern=$1
		owner=A. Tester
		link=https://example.org/bug/1
		expires=$2
	END
}

@test "a warning fails the run whatever the tests say, and is allowed by an entry until it expires" {
	gate
	[ "$status" = 1 ]
	[[ "$output" == *"SPLAT WARNING: at arch/x86/kernel/smpboot.c"* ]]
	[ "$(jq -r '.cases[0].result' "$BATS_TEST_TMPDIR/out/run.json")" = pass ]
	fingerprint=$(jq -r '.boots[0].splats[0].fingerprint' "$BATS_TEST_TMPDIR/out/run.json")
	[[ "$fingerprint" =~ ^[0-9a-f]{16}$ ]]
	grep -q '<failure message="WARNING' "$BATS_TEST_TMPDIR/out/junit.xml"

	known "$fingerprint" 2999-12-31
	gate
	[ "$status" = 0 ]
	[[ "$output" == *"known issue sibling allowed 1"* ]]
	grep -q '<failure' "$BATS_TEST_TMPDIR/out/junit.xml" && return 1

	known 'WARNING: at arch/x86/kernel/smpboot.c:* topology_sane*' 2020-01-01
	gate
	[ "$status" = 1 ]
	[[ "$output" == *"expired on 2020-01-01"* ]]

	known 'WARNING: *' 2999-12-31
	gate
	[ "$status" = 1 ]
	[[ "$output" == *"matches too much"* ]]
}
