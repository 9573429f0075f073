#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A guest that lies, floods or stops in the middle, played by a script in QEMU's place:
# nothing it says may look green that was not asked for, whole, and ended by a goodbye.

setup_file() {
	# what PID 1 signs, a played one signs as well: "line KEY NR TEXT" or "stream KEY FILE"
	cat >"$BATS_FILE_TMPDIR/sign.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include "sign.h"

		int main(int argc, char **argv)
		{
			unsigned char key[SIGN_KEY_BYTES] = { 0 };
			struct sign s;
			int c;

			for (c = 0; c < SIGN_KEY_BYTES; c++)
				sscanf(argv[2] + 2 * c, "%2hhx", &key[c]);
			if (!strcmp(argv[1], "line"))
				return printf("%s ~%016llx\n", argv[4], (unsigned long long)sign_line(key,
					      strtoull(argv[3], NULL, 10), argv[4], strlen(argv[4]))) < 0;
			sign_begin(&s, key);
			for (FILE *f = fopen(argv[3], "r"); f && (c = getc(f)) != EOF; ) {
				char byte = c;

				sign_add(&s, &byte, 1);
			}
			printf("%llu %016llx\n", (unsigned long long)s.bytes, (unsigned long long)sign_tag(&s));
		}
	EOF
	cc -I"$BATS_TEST_DIRNAME/../../guest" -o "$BATS_FILE_TMPDIR/sign" "$BATS_FILE_TMPDIR/sign.c"
}

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	out="$BATS_TEST_TMPDIR/out"
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	# descriptors: 10 console, 11 ktap, 12 artifacts, 13 control
	cat >"$BATS_TEST_TMPDIR/bin/qemu-system-x86_64" <<-'EOF'
		#!/bin/bash
		[ "$1" = --version ] && echo "QEMU emulator version 7.2.0" && exit
		nr=0 ktap=$(mktemp)
		say() { sign line "$key" $nr "$1" >&13; nr=$((nr + 1)); }
		hello() { printf 'hello 1 x\n' >&13; read -r _ key <&13; say ready; k 'KTAP version 1\n1..1\n'; }
		begin() { k '  # Subtest: mm/lowmem_reserve\n'; }
		k() { printf "$@" | tee -a "$ktap" >&11; }
		whole() { begin; k '  1..1\n  ok 1 a\nok 1 mm/lowmem_reserve\n'; }
		bye() { say "goodbye $(sign stream "$key" "$ktap")"; rm -f "$ktap"; }
		eval "$GUEST"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
}

# guest STATUS SCRIPT: the exit status of a run with this guest
guest() {
	local want=$1
	GUEST="$2" PATH="$BATS_TEST_TMPDIR/bin:$BATS_FILE_TMPDIR:$PATH" run "$mmgate" -q --no-history --kernel debian:6.12 \
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
		say "request $i plug dimm0"; say "request $i unplug dimm9"; say "request $i"; done; whole; bye'
}

@test "a goodbye that PID 1 did not say" { guest 3 'hello; whole; printf "goodbye\n" >&13; sleep 2'; }
@test "a goodbye with another key" { guest 3 'hello; whole; key=00; bye; sleep 2'; }
@test "a line said twice" { guest 3 'hello; say beat; nr=1; say beat; whole; bye; sleep 2'; }
@test "a goodbye before hello" { guest 3 'printf "goodbye 0 0\n" >&13; sleep 1'; }
@test "results that PID 1 did not give" {
	guest 3 'hello; printf "  # Subtest: mm/lowmem_reserve\n  1..1\n  ok 1 a\nok 1 mm/lowmem_reserve\n" >&11; bye'
	[[ "$output" == *"spoke in its place"* ]]
}
@test "a taint that the console does not explain" {
	guest 1 'hello; whole; say "taint mm/lowmem_reserve 0 200"; bye'
	[[ "$output" == *"the kernel is tainted (W)"* ]]
}
@test "a taint that says what was loaded" { guest 0 'hello; whole; say "taint mm/lowmem_reserve 0 3000"; bye'; }
@test "more artifacts than are taken, and it is said" {
	mkdir "$BATS_TEST_TMPDIR/t"
	(cd "$BATS_TEST_TMPDIR/t" && seq -f f%.0f 2100 | xargs touch && tar -cf ../many.tar f*)
	guest 0 "hello; whole; cat '$BATS_TEST_TMPDIR/many.tar' >&12; bye"
	jq -e '.boots[0].trouble[0] | test("more than 2000 artifacts")' "$out/run.json"
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
	GUEST="echo \$\$ >'$BATS_TEST_TMPDIR/pid'; exec sleep 100" PATH="$BATS_TEST_TMPDIR/bin:$BATS_FILE_TMPDIR:$PATH" "$mmgate" \
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
