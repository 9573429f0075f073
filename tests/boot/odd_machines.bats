#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Machines that `fuzz machines` drew, and on which a bound of ours was once wrong: a good kernel
# passes there, or skips with a reason.

setup() {
	mmgate="$BATS_TEST_DIRNAME/../../build/mmgate"
	machine="$BATS_TEST_TMPDIR/odd.conf"
}

# good KERNEL TEST...: nothing there is red
good() {
	kernel=$1
	shift
	run "$mmgate" -q --no-history --kernel "$kernel" --machine "$machine" "${@/#/--test=}" \
		--out "$BATS_TEST_TMPDIR/out"
	echo "$output"
	[ "$status" = 0 ]
}

@test "vm.numa_stat=0: hits and misses are counted while a case looks at them" {
	printf '[machine]\narch=x86_64\nmemory=768M\ncpus=2\nappend=numa=fake=2\nsetup=/proc/sys/vm/numa_stat=0\n' >"$machine"
	good debian:6.12 mm/node_alloc/numa-counts
}

@test "a small zone above a large one: the large one serves, and the small one's own marks are min's" {
	printf '[machine]\narch=x86_64\nmemory=1536M\nboard=max-ram-below-4g=1408M\nappend=init_on_alloc=0\nswap=zram:512M\ndisk=64M\n' >"$machine"
	good debian:6.12 mm/kswapd_scan/steady-churn mm/kswapd_life/gives-up mm/reserve_pressure/anon
	[ "$(jq -r '.cases[] | select(.name == "mm/kswapd_life/gives-up") | .result' "$BATS_TEST_TMPDIR/out/run.json")" = skip ]
}

@test "a fake node that ends within a subsection, and memory that left above it" {
	printf '[machine]\narch=x86_64\nmemory=2G\nmemory-args=slots=4,maxmem=8G\nboard=max-ram-below-4g=864M\ncpus=2\nappend=numa=fake=2 init_on_alloc=0\nswap=none\ndimms=128M;128M;128M;128M\n' >"$machine"
	good debian:6.12 mm/hotplug_zone mm/zoneinfo/zone-sizes
}

@test "a kernel that panics before it has read panic= is not waited for" {
	printf '[machine]\narch=x86_64\nmemory=512M\ncpus=2\nappend=numa=fake=2\nqemu=-object;memory-backend-ram,id=a,size=512M;-numa;node,nodeid=0,cpus=0,memdev=a;-numa;node,nodeid=1,cpus=1\n' >"$machine"
	run "$mmgate" -q --no-history --kernel debian:6.12 --machine "$machine" --test mm/zoneinfo --out "$BATS_TEST_TMPDIR/out"
	echo "$output"
	[ "$status" = 3 ]
	[ "$(jq -r '.boots[0].state' "$BATS_TEST_TMPDIR/out/run.json")" = no-boot ]
	[[ "${lines[-1]}" == *"the kernel panicked before PID 1 said hello: Kernel panic"* ]]
}
