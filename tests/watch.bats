#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A mailbox is judged unattended: what is new, once, newest revision only.  Nothing here boots:
# the series touch nothing that is guarded, or are refused.

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
	tree="$BATS_TEST_TMPDIR/linux"
	box="$BATS_TEST_TMPDIR/box"
	out="$BATS_TEST_TMPDIR/out"
	mkdir -p "$tree/mm" "$tree/drivers" "$box/new" "$box/cur" "$box/tmp"
	printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n' >"$tree/Makefile"
	: >"$tree/mm/Kconfig"
	printf 'int one(void)\n{\n\treturn 1;\n}\n' >"$tree/drivers/x.c"
}

# mail FILE ID SUBJECT DATE [HEADER]: a patch that makes drivers/x.c return $value
mail() {
	cat >"$box/new/$1" <<-END
	From: Jörg Müller <joerg@example.org>
	To: linux-mm@example.org
	Cc: Other <other@example.org>
	Subject: $3
	Date: $4
	Message-ID: <$2>
	${5:-X-Nothing: here}

	Why it is done.
	---
	 drivers/x.c | 2 +-
	 1 file changed, 1 insertion(+), 1 deletion(-)

	diff --git a/drivers/x.c b/drivers/x.c
	--- a/drivers/x.c
	+++ b/drivers/x.c
	@@ -1,4 +1,4 @@
	 int one(void)
	 {
	-	return ${was:-1};
	+	return ${value:-2};
	 }
	--
	2.39.5
	END
}

states() {
	sqlite3 "$XDG_CACHE_HOME/mmgate/history.sqlite" "SELECT state, title FROM series ORDER BY title, changed" 2>/dev/null ||
		python3 -c 'import sqlite3, sys
for r in sqlite3.connect(sys.argv[1]).execute("SELECT state, title FROM series ORDER BY title, changed"): print("|".join(r))' \
			"$XDG_CACHE_HOME/mmgate/history.sqlite"
}

@test "a series that touches nothing guarded is passed over, without a reply" {
	mail 1 a@x "[PATCH] x: return two" "Tue, 1 Dec 2026 10:00:00 +0000"
	run "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[[ "$output" == *"nothing guarded: x: return two"* ]]
	[ -z "$(ls "$out/replies")" ]
	grep -q 'nothing guarded' "$out/queue.html"
}

@test "what is judged already is not judged again" {
	mail 1 a@x "[PATCH] x: return two" "Tue, 1 Dec 2026 10:00:00 +0000"
	"$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	run "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[[ "$output" != *"return two"* ]]
}

@test "what a killed watch left half done is judged by the next one, and the rest is left alone" {
	mail 1 a@x "[PATCH] x: is judged" "Tue, 1 Dec 2026 10:00:00 +0000"
	mail 2 b@x "[PATCH] x: was cut off" "Tue, 1 Dec 2026 11:00:00 +0000"
	"$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	# as kill -9 leaves it
	python3 - "$XDG_CACHE_HOME/mmgate/history.sqlite" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	n = db.execute("UPDATE series SET state = 'running' WHERE title = 'x: was cut off'").rowcount
	assert n == 1, n
	db.commit()
	END
	run "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[[ "$output" == *"nothing guarded: x: was cut off"* ]]
	[[ "$output" != *"x: is judged"* ]]
	[ "$(states | sort)" = "nothing guarded|x: is judged
nothing guarded|x: was cut off" ]
}

@test "one that does not apply is refused, and the reply says why" {
	was=7 mail 1 b@x "[PATCH] x: does not fit" "Tue, 1 Dec 2026 10:00:00 +0000"
	run "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[ "$(states)" = "refused|x: does not fit" ]
	reply=$(ls "$out"/replies/*.eml)
	grep -q '^In-Reply-To: <b@x>' "$reply"
	grep -q '^References: <b@x>' "$reply"
	grep -q '^Subject: Re: \[PATCH\] x: does not fit' "$reply"
	grep -q 'mmgate could not judge this series' "$reply"
	# by another mail parser
	python3 - "$reply" <<-'END'
	import email, email.policy, sys
	m = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
	assert not m.defects, m.defects
	assert m["To"].addresses[0].addr_spec == "joerg@example.org", m["To"]
	assert m["To"].addresses[0].display_name == "Jörg Müller", m["To"]
	assert {a.addr_spec for a in m["Cc"].addresses} == {"linux-mm@example.org", "other@example.org"}
	assert max(map(len, m.get_content().split("\n"))) <= 72
	assert "Tested-by" not in m.get_content()
	END
}

# What is written in the reply to mail $1 of the box; the mail and the reply as a thread in $BATS_TEST_TMPDIR/thread
reply_to() {
	local f

	"$mmgate" watch "$box" --tree "$tree" --once --out "$out" --from 'Tess Ter <tess@example.org>'
	export HOME="$BATS_TEST_TMPDIR/home"
	mkdir -p "$HOME"
	git config --global user.name "Tess Ter"
	git config --global user.email tess@example.org
	for f in "$box/new/$1" "$out"/replies/*.eml; do
		printf 'From x Thu Jan  1 00:00:00 1970\n'
		cat "$f"
		echo
	done >"$BATS_TEST_TMPDIR/thread"
}

@test "git send-email takes the reply as it is" {
	[ -x "$(git --exec-path)/git-send-email" ] || skip "git-email is not installed"
	was=7 mail 1 long-id-of-a-mail-program.0123456789012345678901234567890123456789@mail.example.org \
		"[PATCH] x: does not fit" "Tue, 1 Dec 2026 10:00:00 +0000" "References: <root@x>"
	reply_to 1
	run git send-email --dry-run --suppress-cc=all --confirm=never --smtp-server=/bin/false "$out"/replies/*.eml
	[ "$status" = 0 ]
	[[ "$output" == *"To: =?"*"<joerg@example.org>"* ]]
	[[ "$output" == *"In-Reply-To: <long-id-of-a-mail-program.0123456789012345678901234567890123456789@mail.example.org>"* ]]
	[[ "$output" == *"References: <root@x>"*"<long-id-of"* ]]
	[[ "$output" == *"Result: OK"* ]]
}

@test "b4 finds the reply in the thread, and a trailer in it" {
	command -v b4 >/dev/null || skip "b4 is not installed"
	was=7 mail 1 b@x "[PATCH] x: does not fit" "Tue, 1 Dec 2026 10:00:00 +0000"
	reply_to 1
	echo "Tested-by: Tess Ter <tess@example.org>" >>"$BATS_TEST_TMPDIR/thread"
	run b4 --offline-mode am -m "$BATS_TEST_TMPDIR/thread" -o - b@x </dev/null
	[ "$status" = 0 ]
	[[ "$output" == *"Analyzing 2 messages"* ]]
	[[ "$output" == *"+ Tested-by: Tess Ter <tess@example.org>"* ]]
}

@test "a reply names no folder of this machine" {
	was=7 mail 1 b@x "[PATCH] x: does not fit" "Tue, 1 Dec 2026 10:00:00 +0000"
	reply_to 1
	run grep -F "$BATS_TEST_TMPDIR" "$out"/replies/*.eml
	[ "$status" = 1 ]
	grep -q 'does not apply to the tree' <(tr '\n' ' ' <"$(ls "$out"/replies/*.eml)")
}

@test "a newer revision in a thread of its own replaces the older" {
	mail 1 v1@x "[PATCH] x: twice" "Tue, 1 Dec 2026 10:00:00 +0000"
	value=3 mail 2 v2@x "[PATCH v2] x: twice" "Tue, 1 Dec 2026 11:00:00 +0000"
	"$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$(states | sort)" = "nothing guarded|x: twice
replaced|x: twice" ]
}

@test "a revision in the thread of the older is taken, and judged anew" {
	mail 1 v1@x "[PATCH] x: thrice" "Tue, 1 Dec 2026 10:00:00 +0000"
	"$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	value=3 mail 2 v2@x "[PATCH v2] x: thrice" "Tue, 1 Dec 2026 11:00:00 +0000" "In-Reply-To: <v1@x>"
	run "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[[ "$output" == *"nothing guarded: x: thrice"* ]]
}

@test "noise: a talk, a mail without an id, bytes that are no mail" {
	printf 'From: a@x\nSubject: lunch?\nMessage-ID: <n@x>\n\nToday.\n' >"$box/new/1"
	printf 'From: a@x\nSubject: [PATCH] no id\n\nText.\n' >"$box/new/2"
	head -c 4096 /dev/urandom >"$box/new/3"
	mkfifo "$box/new/4"
	run timeout 60 "$mmgate" watch "$box" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[ -z "$(states)" ]
}

@test "an mbox and a git mirror hold the same series" {
	mail 1 a@x "[PATCH] x: return two" "Tue, 1 Dec 2026 10:00:00 +0000"
	{ echo "From x Thu Jan  1 00:00:00 1970"; cat "$box/new/1"; } >"$BATS_TEST_TMPDIR/mbox"
	run "$mmgate" watch "$BATS_TEST_TMPDIR/mbox" --tree "$tree" --once --out "$out"
	[ "$status" = 0 ]
	[[ "$output" == *"nothing guarded: x: return two"* ]]
	git init -q "$BATS_TEST_TMPDIR/mirror"
	cp "$box/new/1" "$BATS_TEST_TMPDIR/mirror/m"
	git -C "$BATS_TEST_TMPDIR/mirror" add m
	git -C "$BATS_TEST_TMPDIR/mirror" -c user.name=x -c user.email=x@x commit -q -m "x: return two"
	run "$mmgate" watch "$BATS_TEST_TMPDIR/mirror" --tree "$tree" --once --out "$BATS_TEST_TMPDIR/out2"
	[ "$status" = 0 ]
	[[ "$output" == *"nothing guarded: x: return two"* ]]
}

@test "usage: no mailbox, no tree, a mailbox that is none" {
	run "$mmgate" watch --tree "$tree"
	[ "$status" = 2 ]
	run "$mmgate" watch "$box"
	[ "$status" = 2 ]
	run "$mmgate" watch /nope --tree "$tree" --once
	[ "$status" = 2 ]
	[[ "$output" == *"/nope"* ]]
}
