#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# export: a branch of a kernel tree, whose work tree is left alone. The tree here
# has just the files that the export reads and changes.

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
	tree="$BATS_TEST_TMPDIR/a tree"
	kvm="$tree/tools/testing/selftests/kvm"
	mm="$tree/tools/testing/selftests/mm"
	mkdir -p "$kvm/lib" "$mm"
	echo "int x;" > "$kvm/lib/kvm_util.c"
	printf 'CONFIG_KVM=y\n' > "$kvm/config"
	printf 'TEST_GEN_FILES = cow\nTEST_GEN_FILES += a\nifneq ($(ARCH),arm64)\nTEST_GEN_FILES += b\nendif\ninclude ../lib.mk\n' > "$mm/Makefile"
	printf 'cow\n' > "$mm/.gitignore"
	printf -- '- mdwe\n\ttest it\n\nexample: ./run_vmtests.sh -t "x"\n\nCATEGORY="mdwe" run_test ./mdwe_test\n\necho "SUMMARY: x"\n' > "$mm/run_vmtests.sh"
	cd "$tree" || return 1
	git init -q .
	git config user.name "A. Tester"
	git config user.email a.tester@example.org
}

makefile_612() {
	printf 'TEST_GEN_PROGS_x86_64 = x86_64/a\nTEST_GEN_PROGS_x86_64 += x86_64/b\n\ninclude ../lib.mk\n\ncscope: x\n\ttrue\n' > "$kvm/Makefile"
}

makefile_72() {
	echo "include Makefile.kvm" > "$kvm/Makefile"
	printf 'TEST_GEN_PROGS_x86 = a\nTEST_GEN_PROGS_x86 += x86/b\nTEST_GEN_PROGS_arm64 = a\nTEST_GEN_PROGS_arm64 += arm64/b\n\ncscope: x\n\ttrue\n' > "$kvm/Makefile.kvm"
	printf '#!/bin/sh -e\n' > "$mm/ksft_compaction.sh"
	sed -i 's,^include,TEST_PROGS += ksft_compaction.sh\n&,' "$mm/Makefile"
}

commit_all() {
	git add -f . && git commit -qm base
}

at() {
	git show "mmgate-selftests:tools/testing/selftests/$1"
}

@test "export to a tree with kvm/Makefile" {
	makefile_612
	commit_all
	run "$mmgate" export --tree "$tree"
	[ "$status" = 0 ]
	[ -z "$(git status --porcelain)" ]
	[ "$(git rev-list --count HEAD..mmgate-selftests)" -ge 6 ]
	at kvm/Makefile | grep -qx 'TEST_GEN_PROGS_x86_64 += eviction_order_test'
	at kvm/eviction_order_test.c | cmp - "$root/selftests/kvm/eviction_order_test.c"
	at mm/Makefile | grep -qx 'TEST_GEN_FILES += lowmem_reserve_test'
	at mm/run_vmtests.sh | grep -qx 'CATEGORY="zone" run_test ./lowmem_reserve_test'
	at mm/.gitignore | grep -qx lowmem_reserve_test
	at mm/mmgate/runner.c | cmp - "$root/selftests/lib/runner.c"
	at kvm/config | grep -qx CONFIG_LRU_GEN=y
	[ "$(at kvm/config | grep -c CONFIG_KVM=)" = 1 ]
	# not within the conditional
	at mm/Makefile | sed -n '/^ifneq (\$(ARCH),arm64)/,/^endif/p' | grep -q lowmem && return 1
	git log --format=%B HEAD..mmgate-selftests | grep -q '^Signed-off-by: A. Tester <a.tester@example.org>'
	[ -z "$(git log --format=%B HEAD..mmgate-selftests | grep -E '.{76}')" ]
}

@test "export to a tree with kvm/Makefile.kvm and mm/ksft_*.sh" {
	makefile_72
	commit_all
	run "$mmgate" export --tree "$tree"
	[ "$status" = 0 ]
	at kvm/Makefile.kvm | grep -qx 'TEST_GEN_PROGS_x86 += eviction_order_test'
	at kvm/Makefile.kvm | grep -qx 'TEST_GEN_PROGS_arm64 += eviction_order_test'
	at mm/Makefile | grep -qx 'TEST_PROGS += ksft_zone.sh'
	git ls-tree mmgate-selftests tools/testing/selftests/mm/ksft_zone.sh | grep -q ^100755
}

@test "a dry run makes no branch" {
	makefile_612
	commit_all
	run "$mmgate" export -n --tree "$tree"
	[ "$status" = 0 ]
	[[ "$output" == *"selftests/kvm: add eviction_order_test"* ]]
	run git rev-parse --verify -q mmgate-selftests
	[ "$status" != 0 ]
}

@test "a branch that is there is left alone, another name is taken" {
	makefile_612
	commit_all
	git branch mmgate-selftests
	run "$mmgate" export --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"has a branch mmgate-selftests already"* ]]
	run "$mmgate" export --tree "$tree" other
	[ "$status" = 0 ]
	git rev-parse --verify -q other
}

@test "a file of the tree is not overwritten" {
	makefile_612
	echo "int mine;" > "$kvm/eviction_order_test.c"
	commit_all
	run "$mmgate" export --tree "$tree"
	[ "$status" = 1 ]
	[[ "$output" == *"has a tools/testing/selftests/kvm/eviction_order_test.c already"* ]]
	run git rev-parse --verify -q mmgate-selftests
	[ "$status" != 0 ]
}

@test "no tree, no repository, no kernel, an unknown layout" {
	run "$mmgate" export
	[ "$status" = 2 ]
	mkdir "$BATS_TEST_TMPDIR/empty"
	run "$mmgate" export --tree "$BATS_TEST_TMPDIR/empty"
	[ "$status" = 2 ]
	[[ "$output" == *"no git repository"* ]]
	git rm -q --cached -r . 2>/dev/null || true
	git commit -q --allow-empty -m nothing
	run "$mmgate" export --tree "$tree"
	[ "$status" = 2 ]
	[[ "$output" == *"no kernel with kvm and mm selftests"* ]]
	echo "all:" > "$kvm/Makefile"
	commit_all
	run "$mmgate" export --tree "$tree"
	[ "$status" = 3 ]
	[[ "$output" == *"laid out in a way"* ]]
}
