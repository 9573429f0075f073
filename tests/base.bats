#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The base of a series: what --base says, the mail's base-commit, the work tree, or the newest tag
# on which it applies; which of them is said.  Nothing here builds or boots: nothing guarded is touched.

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
	tree="$BATS_TEST_TMPDIR/linux"
	mkdir -p "$tree/mm" "$tree/drivers"
	printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n' >"$tree/Makefile"
	: >"$tree/mm/Kconfig"
	git init -q "$tree"
	# the function returns 1, 2, 3, 1 and 4: one is the newest tag but v4 that holds 1
	n=0
	for value in 1 2 1 3 4; do
		n=$((n + 1))
		printf 'int one(void)\n{\n\treturn %s;\n}\n' "$value" >"$tree/drivers/x.c"
		git -C "$tree" add .
		at="2026-01-0${n}T00:00:00Z"
		GIT_AUTHOR_DATE=$at GIT_COMMITTER_DATE=$at \
			git -C "$tree" -c user.name=x -c user.email=x@x commit -q -m "$n: return $value"
		git -C "$tree" tag "v$n"
	done
}

# series WAS [LINE]...: a mail that changes "return WAS", with the lines at its end
series() {
	printf '%s\n' "From: X <x@example.org>" "Subject: [PATCH] x: return nine" "Message-ID: <a@x>" "" \
		"Why." "---" "diff --git a/drivers/x.c b/drivers/x.c" "--- a/drivers/x.c" "+++ b/drivers/x.c" \
		"@@ -1,4 +1,4 @@" " int one(void)" " {" "-	return $1;" "+	return 9;" " }" >"$BATS_TEST_TMPDIR/s.mbox"
	shift
	printf '%s\n' "" "$@" "--" "2.39.5" >>"$BATS_TEST_TMPDIR/s.mbox"
}

gate() {
	run "$mmgate" gate --series "$BATS_TEST_TMPDIR/s.mbox" --tree "$tree" -n "$@"
}

id() {
	git -C "$tree" rev-parse "$1"
}

@test "the work tree, where the series applies to it" {
	series 4
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"base: the work tree as it is"* ]]
}

@test "the newest tag on which it applies" {
	series 1
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"base: tag v3, the newest on which it applies"* ]]
}

@test "the base-commit of the mail, where the tree has it" {
	series 1 "base-commit: $(id v1)"
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"base: revision $(id v1 | cut -c1-12), the base-commit of the mail"* ]]
}

@test "what --base says goes before the mail" {
	series 1 "base-commit: $(id v2)"
	gate --base v1
	[ "$status" = 4 ]
	series 1 "base-commit: $(id v1)"
	gate --base v2
	[ "$status" = 3 ]
}

@test "a base-commit that it does not apply to is refused: the mail is wrong, not to be guessed at" {
	series 1 "base-commit: $(id v2)"
	gate
	[ "$status" = 3 ]
	[[ "$output" == *"does not apply"* ]]
}

@test "a base-commit that the tree lacks is said, and the rest of the order tried" {
	series 3 "base-commit: 0123456789012345678901234567890123456789"
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"base: tag v4"*"has no commit 012345678901"* ]]
}

@test "prerequisite patches: said where it applies without them, else the order goes on" {
	series 1 "base-commit: $(id v1)" "prerequisite-patch-id: $(id v5)"
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"1 prerequisite patch that the mail names is not applied"* ]]
	series 4 "base-commit: $(id v1)" "prerequisite-patch-id: $(id v5)"
	gate
	[ "$status" = 4 ]
	[[ "$output" == *"base: the work tree as it is; it does not apply to the mail's base-commit"* ]]
}

@test "one that applies nowhere is refused in the words of the work tree's misfit" {
	series 7
	gate
	[ "$status" = 3 ]
	[[ "$output" == *"does not apply"* ]]
}
