#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A checkout on a read-only file system: built in the cache, run with --out elsewhere, and nothing is written to it.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	T="$BATS_TEST_TMPDIR"
	kernel=${MMGATE_TEST_KERNEL:-debian:6.12}
}

@test "a read-only checkout boots and passes, with --out elsewhere" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "needs root, to mount"
	mkdir -p "$T/checkout"
	(cd "$root" && git ls-files -z | tar --null -T - -cf -) | tar -C "$T/checkout" -xf -
	# shellcheck disable=SC2016 # for the inner shell
	run timeout 900 unshare -m sh -c '
		mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
		touch "$1/x" 2>/dev/null && exit 98
		cd "$1" && ./run.sh run -q --kernel "$2" --test mm/zoneinfo --machine default --no-history --out "$3/out"' \
		sh "$T/checkout" "$kernel" "$T"
	echo "$output"
	[ "$status" != 99 ] || skip "cannot mount read-only here"
	[ "$status" = 0 ]
	[ "$(jq -r .verdict "$T/out/run.json")" = pass ]
	[ ! -e "$T/checkout/build" ]
	# without --out it says at once that results/ cannot be made
	run timeout 60 unshare -m sh -c '
		mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
		cd "$1" && ./run.sh run -q --kernel "$2" --test mm/zoneinfo --machine default --no-history' sh "$T/checkout" "$kernel"
	echo "$output"
	[ "$status" = 3 ]
	[[ $output == *"Read-only file system"* ]]
}
