#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Kernels and machines that lack something: a skip or a broken experiment that names
# it, never a wrong verdict.

setup_file() {
	root="$BATS_TEST_DIRNAME/../.."
	export MMGATE_ROOT="$BATS_FILE_TMPDIR/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
	machine no-debugfs 'append=debugfs=off'
	machine locked 'append=lsm=lockdown lockdown=confidentiality'
	machine no-memcg 'append=cgroup_disable=memory'
	machine no-swap 'swap=none'
	machine zswap 'append=zswap.enabled=1'
	machine no-kvm 'module.kvm_amd=nested=0 npt=bogus'
}

machine() {
	printf '[machine]\nabout=%s\n%s\n' "$1" "$2" >"$MMGATE_ROOT/configs/machines/$1.conf"
}

# lacks MACHINE STATUS TEXT: the guest's order there ends with this status and reason
lacks() {
	run "$BATS_TEST_DIRNAME/../../build/mmgate" -q --no-history --kernel debian:6.12 \
		--test kvm/eviction_order/anon-4k --machine "$1" --out "$BATS_TEST_TMPDIR/out"
	echo "$output"
	[ "$status" = "$2" ]
	[[ "${lines[-1]}" == *"$3"* ]]
}

@test "no debugfs" { lacks no-debugfs 4 debugfs; }
@test "debugfs shut by lockdown" { lacks locked 4 lockdown; }
@test "no memory controller" { lacks no-memcg 4 memory; }
@test "no swap" { lacks no-swap 4 swap; }
@test "zswap in front of the swap device" { lacks zswap 4 zswap; }
@test "no KVM" { lacks no-kvm 4 /dev/kvm; }

@test "an image without its modules says what is missing" {
	image=$("$BATS_TEST_DIRNAME/../../build/mmgate" -n --kernel debian:6.12 | sed -n 's/.*, image //p')
	cp "$image" "$BATS_TEST_TMPDIR/vmlinuz"
	run "$BATS_TEST_DIRNAME/../../build/mmgate" -q --no-history --kernel "$BATS_TEST_TMPDIR/vmlinuz" \
		--modules "$BATS_TEST_TMPDIR" --test mm/lowmem_reserve --machine default --out "$BATS_TEST_TMPDIR/out"
	echo "$output"
	[ "$status" = 2 ]
	[[ "$output" == *--modules* ]]
}
