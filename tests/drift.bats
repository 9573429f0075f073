#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# drift finds a renamed function, a vanished option, a changed signature and a test that no longer
# compiles, in trees made for it.

setup() {
	root=$BATS_TEST_TMPDIR/checkout
	mmgate=$BATS_TEST_DIRNAME/../build/mmgate
	tree=$BATS_TEST_TMPDIR/linux
	mkdir -p "$root/configs/mutants" "$root/configs/gates" "$root/configs/kernel" "$root/selftests/mm" \
		"$root/guest" "$tree/mm" "$tree/tools/testing/selftests/kvm/lib"
	export MMGATE_ROOT=$root XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	unset CC CFLAGS CROSS_COMPILE
	printf 'VERSION = 7\nPATCHLEVEL = 9\nSUBLEVEL = 1\n' >"$tree/Makefile"
	printf 'config SWAP\n\tbool\nchoice\n\tconfig OF_A_CHOICE\n' >"$tree/mm/Kconfig"
	printf 'static int walk(int x)\n{\n\tlook(x + 1);\n\treturn 0;\n}\n' >"$tree/mm/vmscan.c"
	cat >"$root/configs/mutants/m.conf" <<-'END'
		[mutant]
		about=m
		room=walk
		notice=kvm/aging
		[edit 1]
		file=mm/vmscan.c
		function=walk
		find=look(x + 1);
		replace=;
	END
	sed 's/\[mutant\]/[gate]/; /^room/d; /^notice/d' "$root/configs/mutants/m.conf" >"$root/configs/gates/g.conf"
	cat >"$root/configs/drift.conf" <<-'END'
		[read the walk]
		file=mm/vmscan.c
		find=static int walk(int x) {
		tests=kvm/aging
	END
	for f in base kvm zones debug; do echo CONFIG_SWAP=y >"$root/configs/kernel/$f.config"; done
	echo CONFIG_OF_A_CHOICE=y >>"$root/configs/kernel/base.config"
	printf 'int main(void) { return 0; }\n' >"$root/guest/init.c"
	printf 'all:\n\tcc -o $(OUTPUT)/init init.c\n' >"$root/guest/Makefile"
	printf 'int main(void) { return 0; }\n' | tee "$root/selftests/mm/a_test.c" >"$root/selftests/mm/b_test.c"
	printf '%s\n' 'all: $(OUTPUT)/mm/a_test $(OUTPUT)/mm/b_test' '$(OUTPUT)/%_test: %_test.c' \
		'	@mkdir -p $(@D)' '	@cc -o $@ $<' .DELETE_ON_ERROR: >"$root/selftests/Makefile"
}

@test "all fits" {
	run "$mmgate" drift --tree "$tree" --strict
	[ "$status" = 0 ]
	[[ "$output" == *"3 edits and texts fit"* ]]
	[[ "$output" == *"drift: all fits"* ]]
}

@test "a renamed function" {
	sed -i 's/walk(int/walk_mm(int/' "$tree/mm/vmscan.c"
	run "$mmgate" drift --tree "$tree" --strict
	[ "$status" = 1 ]
	[[ "$output" == *"mutant m"*"defines no function walk"*"the text is in walk_mm now, line 3"*"mend configs/mutants/m.conf"* ]]
	[[ "$output" == *"gate g"*"mend configs/gates/g.conf"* ]]
	# as a warning it is no error
	run "$mmgate" drift --tree "$tree"
	[ "$status" = 0 ]
	[[ "$output" == *"drift: 3 things to mend"* ]]
}

@test "a changed signature" {
	sed -i 's/walk(int x)/walk(int x, int y)/' "$tree/mm/vmscan.c"
	run "$mmgate" drift --tree "$tree" --strict
	[ "$status" = 1 ]
	[[ "$output" == *"text the walk"*"the nearest is line 1: 'static int walk(int x, int y)'"*"kvm/aging"* ]]
}

@test "an option that vanished, and one that is known to be gone" {
	printf 'config SWAP\n' >"$tree/mm/Kconfig"
	run "$mmgate" drift --tree "$tree" --strict
	[ "$status" = 1 ]
	[[ "$output" == *"option OF_A_CHOICE"*"mend configs/kernel/base.config"* ]]
	printf '\n[gone OF_A_CHOICE]\nkernels=7.9..\n' >>"$root/configs/drift.conf"
	run "$mmgate" drift --tree "$tree" --strict
	[ "$status" = 0 ]
}

@test "a test that does not compile" {
	echo 'int main(void) { return nonsense; }' >"$root/selftests/mm/b_test.c"
	run "$mmgate" drift --tree "$tree" --strict --json
	[ "$status" = 1 ]
	[ "$("$mmgate" drift --tree "$tree" --json 2>/dev/null | jq -r '.[0].findings[] | .kind + " " + .name')" = "test mm/b" ]
	[[ "$output" == *"nonsense"* ]]
}

@test "wrong words" {
	run "$mmgate" drift 6.12 --tree "$tree"
	[ "$status" = 2 ]
	run "$mmgate" drift --tree "$BATS_TEST_TMPDIR"
	[ "$status" = 2 ]
}
