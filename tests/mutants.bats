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

# The guarded list and the object folder that a build of this tree would have left
guarded() {
	cp "$BATS_TEST_DIRNAME/../configs/equivalent.conf" "$root/configs"
	printf '[mm/vmscan.c]\nwalk=kvm/aging\nlater=kvm/aging\n' >"$root/configs/guarded.conf"
}

objects() {
	local dir
	dir=$XDG_CACHE_HOME/mmgate/build/$(printf %s "$(realpath "$tree")" | sha256sum | cut -c1-12)/x86_64
	mkdir -p "$dir/mm"
	echo 'savedcmd_mm/vmscan.o := gcc -Wp,-MMD,x.d -nostdinc -DX=\#1 -std=gnu11 -c -o mm/vmscan.o mm/vmscan.c ; objtool' \
		>"$dir/mm/.vmscan.o.cmd"
}

parser() {
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree"
	[[ "$output" != *libclang* ]] || skip "no libclang"
}

@test "--generate lists what it would make, the same for the same seed" {
	guarded
	objects
	parser
	[ "$status" = 0 ]
	[[ "$output" == *"walk.drop."*"statement dropped in line 3 of mm/vmscan.c: 'look(x + 1);'"* ]]
	[[ "$output" == *"walk.off-by-one."*"test kvm/aging"* ]]
	[[ "$output" == *"3 mutants fit"* ]]
	first=$output
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree"
	[ "$output" = "$first" ]
	run "$mmgate" mutants -n --generate --count 1 --arch x86_64 --tree "$tree"
	[[ "$output" == *"1 of 3 possible mutants"*"1 mutants fit"* ]]
	run "$mmgate" mutants -n --generate --function later --arch x86_64 --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"no guarded function later"* ]]
}

@test "--generate gives a known equivalent its reason" {
	guarded
	objects
	parser
	name=$(grep -o 'walk\.drop\.[0-9a-f]*' <<<"$output" | head -n 1)
	printf '[%s]\nchange=x\nreason=equivalent: look() only looks\n' "$name" >"$root/configs/equivalent.conf"
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree"
	[ "$status" = 0 ]
	grep -q '^survives=equivalent: look() only looks$' "$XDG_CACHE_HOME"/mmgate/mutants/generated/*/"$name.conf"
	printf '[%s]\nwhy=x\n' "$name" >"$root/configs/equivalent.conf"
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"unknown key why"* ]]
}

@test "--generate without a built kernel says what is missing" {
	guarded
	parser
	[ "$status" = 3 ]
	[[ "$output" == *"how mm/vmscan.c is compiled is not known"*".vmscan.o.cmd is not there"* ]]
}

@test "--coverage of another kernel, or of none, is refused" {
	guarded
	objects
	parser
	echo '{"format": 1, "version": "6.12.1", "functions": []}' >"$BATS_TEST_TMPDIR/c.json"
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree" --coverage "$BATS_TEST_TMPDIR/c.json"
	[ "$status" = 2 ]
	[[ "$output" == *"is of kernel 6.12.1, not of 6.18.3"* ]]
	run "$mmgate" mutants -n --generate --arch x86_64 --tree "$tree" --coverage "$BATS_TEST_TMPDIR/none.json"
	[ "$status" = 2 ]
	[[ "$output" == *"is not what coverage writes"* ]]
}

@test "options of --generate that do not go together are refused" {
	run "$mmgate" mutants -n --count 3 --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"go with --generate"* ]]
	run "$mmgate" mutants -n --generate fits --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"--generate makes its own mutants"* ]]
}
