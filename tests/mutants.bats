#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What mutants says of edits that do not fit, on a checkout of a few lines.

setup() {
	root=$BATS_TEST_TMPDIR/checkout
	mmgate=$BATS_TEST_DIRNAME/../build/mmgate
	tree=$BATS_TEST_TMPDIR/linux
	mkdir -p "$root/configs/mutants" "$root/selftests/kvm" "$tree/mm"
	printf "/*\n * mmgate-about: a\n */\n" >"$root/selftests/kvm/aging_test.c"
	export MMGATE_ROOT=$root XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	printf 'VERSION = 6\nPATCHLEVEL = 18\nSUBLEVEL = 3\n' >"$tree/Makefile"
	: >"$tree/mm/Kconfig"
	printf 'static int walk(int x)\n{\n\tlook(x + 1);\n\treturn 0;\n}\n' >"$tree/mm/vmscan.c"
	mutant fits 'look(x + 1);'
	mutant unfit 'look(&x);'
}

mutant() {
	cat >"$root/configs/mutants/$1.conf" <<-END
		[mutant]
		about=$1
		room=walk
		kernels=6.12..
		notice=kvm/aging
		[edit 1]
		file=mm/vmscan.c
		function=walk
		find=$2
		replace=;
	END
}

@test "one that does not fit is listed with the place, and is no error" {
	run "$mmgate" mutants -n --tree "$tree"
	[ "$status" = 0 ]
	[[ "$output" == *"unfit: does not fit"* ]]
	[[ "$output" == *"walk of mm/vmscan.c"*"the nearest is line 3: 'look(x + 1);'"* ]]
	[[ "$output" == *"1 mutants fit $tree, 1 do not"* ]]
}

@test "--strict makes it one" {
	run "$mmgate" mutants -n --strict --tree "$tree"
	[ "$status" = 3 ]
	[[ "$output" == *"1 mutant does not fit"* ]]
}

@test "--require makes one of the named an error, and refuses a name that there is not" {
	run "$mmgate" mutants -n --require fits --tree "$tree"
	[ "$status" = 0 ]
	run "$mmgate" mutants -n --require unfit --tree "$tree"
	[ "$status" = 3 ]
	run "$mmgate" mutants -n --require nope --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"--require nope"* ]]
}

@test "none that fits: nothing ran" {
	rm "$root/configs/mutants/fits.conf"
	run "$mmgate" mutants --tree "$tree"
	[ "$status" = 4 ]
	[[ "$output" == *"none of the 1 mutants fits"* ]]
}

@test "the shipped mutants name edits of known steps and kernels" {
	unset MMGATE_ROOT
	run "$mmgate" mutants -n --tree "$tree"
	[[ "$output" != *"unknown"* ]]
	[[ "$output" == *"mutants fit $tree, "*" do not"* ]]
}
