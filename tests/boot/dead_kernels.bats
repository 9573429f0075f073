#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Kernels and VMs that die: no verdict from them, the right exit status, early.

setup_file() {
	root="$BATS_TEST_DIRNAME/../.."
	export MMGATE_ROOT="$BATS_FILE_TMPDIR/a root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
	machine no-init 'append=rdinit=/nope'
	machine no-device 'qemu=-device;no-such-device'
}

machine() {
	printf '[machine]\nabout=%s\n%s\n' "$1" "$2" >"$MMGATE_ROOT/configs/machines/$1.conf"
}

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
}

gate() {
	run "$mmgate" -q --no-history --kernel debian:6.12 --test mm/lowmem_reserve \
		--out "$BATS_TEST_TMPDIR/out" "$@"
}

state() {
	jq -r '.boots[0].state' "$BATS_TEST_TMPDIR/out/run.json"
}

# The VM of the run $pid, once it boots: as $qemu.  A QEMU that is only asked what it can do
# comes before the results' folder.
wait_vm() {
	for _ in $(seq 600); do
		qemu=$(pgrep -P "$pid" -f qemu-system | head -n 1) && [ -n "$qemu" ] &&
			compgen -G "$BATS_TEST_TMPDIR/out/*/*/console.log" >/dev/null && return
		sleep 0.1
	done
	return 1
}

@test "a panic before hello is broken, with the panic's text, within seconds" {
	gate --machine no-init
	[ "$status" = 3 ]
	[ "$(state)" = no-boot ]
	[[ "${lines[-1]}" == *"Kernel panic"* ]]
}

@test "a machine QEMU refuses is broken, with QEMU's words" {
	gate --machine no-device
	[ "$status" = 3 ]
	[ "$(state)" = lost ]
	[[ "${lines[-1]}" == *"no-such-device"* ]]
}

@test "QEMU killed in mid-run is broken" {
	"$mmgate" -q --no-history --kernel debian:6.12 --test mm/lowmem_reserve --machine numa-uneven \
		--out "$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	wait_vm
	kill -9 "$qemu"
	status=0
	wait "$pid" || status=$?
	[ "$status" = 3 ]
	[ "$(state)" = lost ]
	grep -q "signal 9" "$BATS_TEST_TMPDIR/err"
}

@test "Ctrl-C: exit 130, the VM is gone, results are marked incomplete" {
	# a background job of a shell ignores SIGINT, and what is ignored stays so
	env --default-signal=INT "$mmgate" -q --no-history --kernel debian:6.12 --test mm/lowmem_reserve --machine numa-uneven \
		--out "$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	wait_vm
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" = 130 ]
	[ ! -e "/proc/$qemu" ]
	[ "$(jq -r .complete "$BATS_TEST_TMPDIR/out/run.json")" = false ]
}

@test "a VM over its time is broken" {
	# more than any host does in two seconds
	gate --test kvm/eviction_order --test kvm/integrity --machine default --timeout 2
	[ "$status" = 3 ]
}

@test "two runs at once in one checkout both pass" {
	"$mmgate" -q --no-history --test mm/lowmem_reserve --machine default 2>"$BATS_TEST_TMPDIR/a" &
	pid=$!
	run "$mmgate" -q --no-history --test mm/lowmem_reserve --machine default
	[ "$status" = 0 ]
	wait "$pid"
}

@test "a full disk below --out is broken, and says so" {
	[ "$(id -u)" = 0 ] || skip "mounting a small file system needs root"
	mkdir "$BATS_TEST_TMPDIR/small"
	mount -t tmpfs -o size=64k none "$BATS_TEST_TMPDIR/small" || skip "no tmpfs can be mounted here"
	run "$mmgate" -q --no-history --test mm/lowmem_reserve --machine default --out "$BATS_TEST_TMPDIR/small/out"
	umount "$BATS_TEST_TMPDIR/small"
	[ "$status" = 3 ]
	[[ "${lines[-1]}" == *"No space left"* ]]
}
