#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A guest that lies, floods or stops in the middle, played by a script in QEMU's place:
# nothing it says may look green that was not asked for, whole, and ended by a goodbye.

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	out="$BATS_TEST_TMPDIR/out"
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	# descriptors: 10 console, 11 ktap, 12 artifacts, 13 control
	cat >"$BATS_TEST_TMPDIR/bin/qemu-system-x86_64" <<-'EOF'
		#!/bin/bash
		[ "$1" = --version ] && echo "QEMU emulator version 7.2.0" && exit
		hello() { printf 'hello 1 x\nready\n' >&13; printf 'KTAP version 1\n1..1\n' >&11; }
		begin() { printf '  # Subtest: mm/lowmem_reserve\n' >&11; }
		k() { printf "$@" >&11; }
		whole() { begin; k '  1..1\n  ok 1 a\nok 1 mm/lowmem_reserve\n'; }
		bye() { printf 'goodbye\n' >&13; }
		eval "$GUEST"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
}

# guest STATUS SCRIPT: the exit status of a run with this guest
guest() {
	local want=$1
	GUEST="$2" PATH="$BATS_TEST_TMPDIR/bin:$PATH" run "$mmgate" -q --no-history --kernel debian:6.12 \
		--accel tcg --test mm/lowmem_reserve --machine default --out "$out"
	echo "$output"
	[ "$status" = "$want" ]
}

@test "an honest guest is green" { guest 0 'hello; whole; bye'; }
@test "goodbye in the middle of a test" { guest 3 'hello; begin; k "  1..2\n  ok 1 a\n"; bye'; }
@test "all results, but no goodbye" { guest 3 'hello; whole'; }
@test "goodbye without a plan" { guest 3 'whole; bye'; }
@test "a plan of another length" { guest 3 'hello; whole; whole; bye'; }
@test "a test that crashes after its last result" {
	guest 3 'hello; begin; k "  1..1\n  ok 1 a\nnot ok 1 mm/lowmem_reserve\n"; bye'
}
@test "a plan changed to fit" {
	guest 3 'hello; begin; k "  1..2\n  ok 1 a\n  1..1\nok 1 mm/lowmem_reserve\n"; bye'
}
@test "results of a test that was not asked for" {
	guest 3 'hello; k "  # Subtest: kvm/eviction_order\n  1..1\n  ok 1 a\nok 1 kvm/eviction_order\n"; bye'
}
@test "a splat behind a flood of the console" {
	guest 3 'hello; whole; yes noise | head -c 20000000 >&10; echo "BUG: late" >&10; bye; sleep 1'
}
@test "results without end" { guest 3 'hello; begin; yes "  ok 1 a" | head -c 100000000 >&11; whole; bye'; }
@test "a line without end" { guest 3 'hello; whole; head -c 100000000 /dev/zero >&11; bye'; }
@test "requests of any number" {
	guest 0 'hello; for i in -1 0 2147483648 4294967295 x; do
		printf "request $i plug dimm0\nrequest $i unplug dimm9\nrequest $i\n" >&13; done; whole; bye'
}

@test "artifacts stay in their folder, and are files" {
	mkdir "$BATS_TEST_TMPDIR/t"
	cd "$BATS_TEST_TMPDIR/t"
	echo x >plain
	ln -s / link
	mkfifo fifo
	tar -cf ../evil.tar --transform 's,^plain,../../../escape,' plain
	tar -rPf ../evil.tar --transform "s,^plain,$BATS_TEST_TMPDIR/escape," plain
	tar -rf ../evil.tar link fifo plain
	guest 0 "hello; whole; cat '$BATS_TEST_TMPDIR/evil.tar' >&12; bye"
	[ -z "$(find "$BATS_TEST_TMPDIR" -name 'escape*')" ]
	[ "$(find "$out"/*/default/artifacts -mindepth 1)" = "$(echo "$out"/*/default/artifacts)/plain" ]
}

@test "QEMU does not outlive a killed mmgate" {
	GUEST="echo \$\$ >'$BATS_TEST_TMPDIR/pid'; exec sleep 100" PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$mmgate" \
		-q --no-history --kernel debian:6.12 --accel tcg --test mm/lowmem_reserve --machine default \
		--out "$out" 3>&- &
	for _ in $(seq 300); do
		[ -s "$BATS_TEST_TMPDIR/pid" ] && break
		sleep 0.1
	done
	qemu=$(cat "$BATS_TEST_TMPDIR/pid")
	kill -9 $!
	for _ in $(seq 50); do
		[ "$(ps -o stat= -p "$qemu")" ] || return 0
		[ "$(ps -o stat= -p "$qemu")" = Z ] && return 0
		sleep 0.1
	done
	return 1
}
