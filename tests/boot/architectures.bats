#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# One experiment on each architecture whose QEMU and compiler are here: the order is kept, and
# the verdict says by which promise.

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	R="$BATS_TEST_TMPDIR"
}

# Boot architecture $1 on machine $2; its promise, as the verdict names it, is $3
experiment() {
	case $1 in
	arm64) qemu=qemu-system-aarch64 cc=aarch64-linux-gnu-gcc ;;
	riscv64) qemu=qemu-system-riscv64 cc=riscv64-linux-gnu-gcc ;;
	ppc64el) qemu=qemu-system-ppc64 cc=powerpc64le-linux-gnu-gcc ;;
	esac
	command -v $qemu >/dev/null || skip "no $qemu: ./run.sh doctor names its package"
	[ "$(uname -m)" = "${cc%%-*}" ] || command -v $cc >/dev/null ||
		skip "no $cc: ./run.sh doctor names its package"
	run "$mmgate" --arch "$1" --kernel debian:6.12 --machine "$2" --test kvm/eviction_order/anon-4k \
		--out "$R/run" --no-history -q
	echo "$output"
	[ "$status" = 0 ]
	jq -e --arg promise "($3)" '.cases | length == 1 and all(.result == "pass" and
		.metrics.auc >= 0.99 and .metrics.control_auc > 0.4 and .metrics.control_auc < 0.6 and
		(.reason | contains($promise)))' "$R/run/run.json"
}

@test "arm64 with a hardware access flag: walk" { experiment arm64 default walk; }
@test "arm64 without one: eviction only" { experiment arm64 arm64-sw-af "eviction only"; }
@test "riscv64: eviction only" { experiment riscv64 default "eviction only"; }
@test "ppc64el, nested on pseries: eviction only" { experiment ppc64el default "eviction only"; }
