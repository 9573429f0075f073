#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What is kept of a kernel that panics or hangs, on real kernels; and gdb in a shell's VM.

setup_file() {
	root="$BATS_TEST_DIRNAME/../.."
	export MMGATE_ROOT="$BATS_FILE_TMPDIR/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
	cp "$BATS_TEST_DIRNAME"/dying/*.c "$MMGATE_ROOT/selftests/mm/"
	sed -i 's/^TESTS := /TESTS := dying_test /' "$MMGATE_ROOT/selftests/mm/Makefile"
}

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	out="$BATS_TEST_TMPDIR/out"
	dir="$out/*/default/post-mortem"
}

dying() {
	local case=$1
	shift
	run "$mmgate" -q --no-history --kernel debian:6.12 --machine default --test "mm/dying/$case" --out "$out" "$@"
	echo "$output"
	[ "$status" = 1 ]
	# shellcheck disable=SC2086 # one folder of results
	cat $dir/summary.txt
}

@test "a panic: the function in the verdict, registers, the console's end, no dump unasked" {
	dying panic
	[ "$(jq -r '.boots[0].state' "$out/run.json")" = panic ]
	[[ "${lines[-1]}" == *"(in sysrq_handle_crash)"* ]]
	grep -q 'panic+0x' $dir/summary.txt
	[ "$(grep -c 'CPU#' $dir/registers.txt)" = 2 ]
	[ "$(wc -l <$(echo $dir/console-tail.txt))" -le 200 ]
	grep -q 'Kernel panic - not syncing: sysrq triggered crash' $dir/console-tail.txt
	! compgen -G "$dir/vmcore"
	# the splats are those of the kernel's own words
	[ "$(jq '.boots[0].splats | length' "$out/run.json")" = 1 ]
}

@test "nobody but a program runs: a hang in user space, backtraces asked for, a dump" {
	dying starve --dump
	[ "$(jq -r '.boots[0].state' "$out/run.json")" = hang ]
	[[ "${lines[-1]}" == *"is in user space"* ]]
	grep -q 'Show backtrace of all active CPUs' $dir/backtraces.txt
	! grep -q 'Show backtrace of all active CPUs' $dir/console-tail.txt
	[ "$(jq -r '.boots[0].post_mortem.cpus | length' "$out/run.json")" = 2 ]
	# the flat form of makedumpfile: crash(8) reads it, `makedumpfile -R` turns it into KDUMP
	[ "$(head -c 12 $dir/vmcore)" = makedumpfile ]
	# what the kernel said to us is no splat
	[ "$(jq '.boots[0].splats | length' "$out/run.json")" = 0 ]
}

@test "QEMU stopped by the host is lost, not a hang of the kernel" {
	MMGATE_TIMEOUT_SCALE=1 "$mmgate" -q --no-history --kernel debian:6.12 --test mm/lowmem_reserve \
		--machine numa-uneven --out "$out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	for _ in $(seq 1200); do
		# hello was said: what comes now can be a hang
		compgen -G "$out/*/*/guest.ktap" >/dev/null && [ -s "$(echo "$out"/*/*/guest.ktap)" ] && break
		sleep 0.1
	done
	qemu=$(pgrep -P "$pid" -f qemu-system | head -n 1)
	kill -STOP "$qemu"
	status=0
	wait "$pid" || status=$?
	cat "$BATS_TEST_TMPDIR/err"
	[ "$status" = 3 ]
	[ "$(jq -r '.boots[0].state' "$out/run.json")" = lost ]
	grep -q 'nor does qemu' "$BATS_TEST_TMPDIR/err"
}

# One packet of the remote protocol to the socket $1, which gdb itself would begin with
ask_gdb() {
	python3 - "$1" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
s.sendall(b"+$qSupported#37")
got = b""
# an acknowledgement by itself may come first
while b"#" not in got:
    part = s.recv(4096)
    if not part:
        break
    got += part
print(got.decode())
END
}

@test "shell --gdb --halt: a socket that gdb is let in by, before the kernel begins" {
	# a background job of a shell ignores SIGINT, and what is ignored stays so
	env --default-signal=INT "$mmgate" shell --kernel debian:6.12 --gdb --halt </dev/null >"$BATS_TEST_TMPDIR/said" 2>&1 &
	pid=$!
	for _ in $(seq 1200); do
		socket=$(sed -n "s/.*target remote \([^']*\)'.*/\1/p" "$BATS_TEST_TMPDIR/said")
		[ -n "$socket" ] && [ -S "$socket" ] && break
		sleep 0.1
	done
	cat "$BATS_TEST_TMPDIR/said"
	[ -S "$socket" ]
	run ask_gdb "$socket"
	kill -INT "$pid"
	wait "$pid" || true
	[[ "$output" == *PacketSize* ]]
}

@test "--halt without --gdb is usage" {
	run "$mmgate" shell --kernel debian:6.12 --halt
	[ "$status" = 2 ]
	[[ "${lines[-1]}" == *"--halt needs --gdb"* ]]
}
