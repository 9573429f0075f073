#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Commands, files and environments that are out to hurt: each ends soon, with one clear line and the right status.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	mmgate="$root/build/mmgate"
	T="$BATS_TEST_TMPDIR"
	export XDG_CACHE_HOME="$T/cache"
	mkdir -p "$XDG_CACHE_HOME/mmgate"
}

# configs_copy: a checkout of ours whose configuration files can be spoilt
configs_copy() {
	export MMGATE_ROOT="$T/root"
	mkdir -p "$MMGATE_ROOT"
	cp -r "$root/configs" "$root/selftests" "$root/guest" "$MMGATE_ROOT/"
}

# says STATUS TEXT COMMAND...: within 20 s, with TEXT in the last line
says() {
	local want=$1 text=$2
	shift 2
	run timeout 20 "$@"
	echo "status $status: $output"
	[ "$status" = "$want" ]
	[ -z "$text" ] || [[ ${lines[-1]} == *"$text"* ]]
}

# hold FILE: keep a database locked for all others
hold() {
	python3 -c 'import sqlite3,sys,time
d=sqlite3.connect(sys.argv[1],isolation_level=None)
d.execute("create table if not exists x(y)"); d.execute("pragma locking_mode=exclusive"); d.execute("begin exclusive")
d.execute("insert into x values(1)"); open(sys.argv[1]+".held","w"); time.sleep(120)' "$1" 3>&- &
	holder=$!
	until [ -e "$1.held" ]; do sleep 0.1; done
}

teardown() {
	[ -z "${holder-}" ] || kill "$holder"
}

@test "a history that somebody holds: an end to the waiting, and SIGTERM is heard" {
	hold "$XDG_CACHE_HOME/mmgate/history.sqlite"
	run timeout 40 "$mmgate" history
	[ "$status" = 3 ]
	[[ $output == *locked* ]]
	"$mmgate" history 3>&- &
	pid=$!
	sleep 1
	kill "$pid"
	start=$SECONDS
	status=0
	wait "$pid" || status=$?
	[ "$status" = 130 ]
	[ $((SECONDS - start)) -lt 5 ]
}

@test "no history yet, and one in a cache that cannot be written to" {
	says 4 "" "$mmgate" history
	[ ! -e "$XDG_CACHE_HOME/mmgate/history.sqlite" ]
	[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || skip "needs root, to become somebody else"
	chmod 755 "$T" "$T/.." "$T/../.." 2>/dev/null || true
	python3 -c 'import sqlite3,sys; d=sqlite3.connect(sys.argv[1]); d.execute("pragma journal_mode=wal"); d.execute("pragma user_version=1")
for t in ("run (id, name, started, verb, verdict, accel, seed)", "result (run, name, machine, kernel, label, arch, repeat, result, duration, auc, reason, allowed)"): d.execute("create table "+t)' \
		"$XDG_CACHE_HOME/mmgate/history.sqlite"
	says 4 "" setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$mmgate" history
}

@test "a FIFO in place of a file" {
	configs_copy
	mkfifo "$MMGATE_ROOT/configs/machines/pipe.conf" "$T/pipe.mbox" "$T/vmlinuz" "$T/gate.conf"
	says 2 "not a regular file" "$mmgate" --machine pipe -n
	says 2 "not a regular file" "$mmgate" list machines
	rm "$MMGATE_ROOT/configs/machines/pipe.conf"
	says 2 "" "$mmgate" run -n --kernel "$T/vmlinuz"
	says 2 "not a regular file" "$mmgate" gate "$T/gate.conf" -n
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	says 2 "not a regular file" "$mmgate" build -n --tree "$T/tree" --series "$T/pipe.mbox"
}

@test "machine files that are not what they seem" {
	configs_copy
	m="$MMGATE_ROOT/configs/machines/bad.conf"
	printf '[machine]\nabout=x\n[machin]\ncpus=2\n' >"$m"
	says 2 "[machin]" "$mmgate" --machine bad -n
	printf '[machine]\nabout=x\ncpus=2\ncpus=4\n' >"$m"
	says 2 "cpus= twice" "$mmgate" --machine bad -n
	printf '[machine]\nabout=x\n[machine]\ncpus=4\n' >"$m"
	says 2 "[machine] twice" "$mmgate" --machine bad -n
	for arch in vax riscv x86 arm; do
		printf '[machine]\nabout=x\narch=%s\n' "$arch" >"$m"
		says 2 "arch=$arch" "$mmgate" --machine bad -n
		says 2 "arch=$arch" "$mmgate" list machines
	done
	head -c 2000000 /dev/zero | tr '\0' '#' >"$m"
	says 2 "too large" "$mmgate" --machine bad -n
}

@test "gate and mutant files that name nothing, or no number" {
	configs_copy
	g="$T/g.conf"
	for v in repeat=abc repeat=-3 repeat=0 machines=nowhere 'machines=default;nume*' tests=mm/lowmem_reserv \
		'fixes=mm/lowmem_reserv*x' keeps=kvm/eviction_ordre/anon-4k arch=vax; do
		printf '[gate]\nabout=x\nfixes=mm/lowmem_reserve\ntests=mm/lowmem_reserve\n%s\n' "$v" |
			awk -F= '{ line[$1] = $0; if (!($1 in seen)) order[n++] = $1; seen[$1] = 1 } END { for (i = 0; i < n; i++) print line[order[i]] }' >"$g"
		says 2 "" "$mmgate" gate "$g" -n
		[[ $output == *"g.conf"* ]]
	done
	printf '[gate]\nabout=x\nfixes=mm/lowmem_reserve\nfixes=mm/zoneinfo\ntests=mm/lowmem_reserve\n' >"$g"
	says 2 "fixes= twice" "$mmgate" gate "$g" -n
	sed -i 's/^notice=.*/notice=kvm\/nothing_of_that_name/' "$MMGATE_ROOT"/configs/mutants/*.conf
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	says 2 "nothing_of_that_name" "$mmgate" mutants -n --tree "$T/tree"
	echo '[[' >"$MMGATE_ROOT/configs/mutants/broken.conf"
	says 2 "broken.conf" "$mmgate" list mutants
	echo '[[' >"$MMGATE_ROOT/configs/gates/broken.conf"
	says 2 "broken.conf" "$mmgate" list gates
}

@test "stdout that is full, closed or gone" {
	says 3 "No space left" sh -c "'$mmgate' list --json >/dev/full"
	says 3 "stdout" sh -c "'$mmgate' list >&-"
	says 0 "" sh -c "'$mmgate' list | head -n 1"
	says 0 "" sh -c "'$mmgate' list <&- >/dev/null"
	says 2 "" sh -c "'$mmgate' frob 2>&-; s=\$?; echo; exit \$s"
}

@test "a file size limit is an error with a reason" {
	says 3 "File too large" bash -c "ulimit -f 1; '$mmgate' list --json >'$T/big'"
}

@test "a closed terminal is an interrupt" {
	command -v script >/dev/null || skip "needs script(1)"
	# nohup may be what started us, and what it ignores is inherited
	hold "$XDG_CACHE_HOME/mmgate/history.sqlite"
	script -qec "sh -c 'trap \"\" TERM; env --default-signal=HUP \"$mmgate\" history; echo \$? >\"$T/status\"'" /dev/null </dev/null >/dev/null 2>&1 3>&- &
	# it has to be there, and to have its handler of SIGHUP (bit 0)
	for _ in $(seq 50); do
		one=$(pgrep -f "^$mmgate history" | head -n 1)
		[ -n "$one" ] && (( 0x$(sed -n 's/^SigCgt:\t//p' "/proc/$one/status") & 1 )) && break
		sleep 0.1
	done
	kill -HUP "$one"
	for _ in $(seq 50); do [ -s "$T/status" ] && break; sleep 0.1; done
	[ "$(cat "$T/status")" = 130 ]
}

@test "nohup keeps SIGHUP ignored" {
	hold "$XDG_CACHE_HOME/mmgate/history.sqlite"
	nohup "$mmgate" history >"$T/out" 2>&1 3>&- &
	pid=$!
	sleep 1
	kill -HUP "$pid"
	sleep 1
	kill -0 "$pid"
	kill "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" = 130 ]
}

@test "numbers are decimal" {
	run "$mmgate" --repeat 0x10 -n
	[ "$status" = 2 ]
	run "$mmgate" --timeout 08 -n --offline --machine default --test mm/zoneinfo
	[ "$status" = 0 ]
	run "$mmgate" --seed 9223372036854775807 -n --offline --machine default --test mm/zoneinfo
	[ "$status" = 0 ]
	says 2 "from 1 to 9223372036854775807" "$mmgate" --seed 9223372036854775808 -n
	# not octal
	says 2 "not 100000" "$mmgate" --repeat 0100000 -n
	run "$mmgate" --repeat 08 --jobs 010 -n --offline --machine default --test mm/zoneinfo
	[ "$status" = 0 ]
}

@test "--machine takes a glob" {
	run "$mmgate" -n --offline --machine 'numa*' --test mm/zoneinfo
	[ "$status" = 0 ]
	[[ $output == *"machine numa-fake2"* ]]
	says 2 "no machine 'nums*'" "$mmgate" -n --machine 'nums*'
}

@test "-n writes nothing" {
	rm -rf "$XDG_CACHE_HOME"
	for c in "run -n" "gate mglru-secondary-mmu -n" "build -n debian-source:6.12" "bench boot -n"; do
		# shellcheck disable=SC2086 # words on purpose
		run "$mmgate" $c
		echo "$c: $output"
		[ "$status" -le 3 ]
		[ -z "$(find "$XDG_CACHE_HOME" -type f 2>/dev/null)" ]
	done
}

@test "temporary folders of killed runs go with the next one" {
	mkdir -p "$XDG_CACHE_HOME/mmgate/tmp/run-dead/mail-1"
	: >"$XDG_CACHE_HOME/mmgate/tmp/run-dead/mail-1/mail"
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	printf 'From: a\nSubject: [PATCH] x\n\n---\ndiff --git a/mm/n b/mm/n\nnew file mode 100644\n--- /dev/null\n+++ b/mm/n\n@@ -0,0 +1 @@\n+x\n' >"$T/s.mbox"
	says 0 "changed mm/n" "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox"
	[ ! -e "$XDG_CACHE_HOME/mmgate/tmp/run-dead" ]
	[ -z "$(find "$XDG_CACHE_HOME/mmgate/tmp" -name 'run-*')" ]
}

@test "a TMPDIR that is missing, relative, full of colons, or a HOME that is not set" {
	mkdir -p "$T/tree/mm" "$T/a:b c'd"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	printf 'From: a\nSubject: [PATCH] x\nContent-Transfer-Encoding: quoted-printable\n\n---\ndiff --git a/mm/n b/mm/n\nnew file mode 100644\n--- /dev/null\n+++ b/mm/n\n@@ -0,0 +1 @@\n+x=3D\n' >"$T/s.mbox"
	cd "$T"
	mkdir here
	cd here
	for tmp in /nonexistent . relative "$T/a:b c'd" ""; do
		TMPDIR=$tmp says 0 "changed mm/n" "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox"
		[ -z "$(ls -A "$T/here")" ]
		[ -z "$(ls -A "$T/a:b c'd")" ]
	done
	says 0 "changed mm/n" env -u HOME "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox"
	for locale in tr_TR.UTF-8 tr_TR.ISO-8859-9 en_US.ISO-8859-1 ja_JP.EUC-JP xx; do
		says 0 "changed mm/n" env LC_ALL="$locale" LANG="$locale" LANGUAGE=tr "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox"
	done
	says 0 "changed mm/n" env LC_ALL=tr_TR.UTF-8 LANG=xx "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox"
	(umask 077 && says 0 "changed mm/n" "$mmgate" build -n --tree "$T/tree" --series "$T/s.mbox")
	# names that shells and make would take for something else
	nl=$'\n'
	for name in "a b" "a:b" "a'b" 'a"b' "a${nl}b" 'a$b' 'a;b'; do
		cp -r "$T/tree" "$T/$name"
		cp "$T/s.mbox" "$T/$name.mbox"
		says 0 "changed mm/n" "$mmgate" build -n --tree "$T/$name" --series "$T/$name.mbox"
	done
}

@test "what is exported for another make, kernel or git has no effect" {
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	export ARCH=vax O=/nonexistent KBUILD_OUTPUT=/nonexistent TARGETS=none LLVM=1 KCONFIG_CONFIG=/nonexistent KCFLAGS=-bad \
		CROSS_COMPILE=none- MAKEFLAGS="-n TARGETS=none" GIT_DIR=/nonexistent GIT_INDEX_FILE=/nonexistent \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=apply.whitespace GIT_CONFIG_VALUE_0=error GIT_EXTERNAL_DIFF=false
	printf -- '--- /dev/null\n+++ b/mm/n\n@@ -0,0 +1 @@\n+x \n' >"$T/s.patch"
	says 0 "changed mm/n" "$root/run.sh" build -n --tree "$T/tree" --series "$T/s.patch"
	says 0 "" "$root/run.sh" -q list gates
}

# repository: $T/tree is one, of two commits
repository() {
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	git -C "$T/tree" init -q
	for n in 1 2; do
		printf '%s\ntwo\n' "$n" >"$T/tree/mm/n"
		git -C "$T/tree" add -A
		git -C "$T/tree" -c user.name=a -c user.email=a@example.org commit -qm "$n"
	done
}

@test "the user's configuration of git has no effect" {
	repository
	mkdir -p "$T/home"
	printf '#!/bin/sh\ntouch "%s"\ncat\n' "$T/executed" >"$T/evil"
	chmod +x "$T/evil"
	{
		printf '[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n\twhitespace = trailing-space\n\tpager = %s\n' "$T/evil"
		printf '\tfsmonitor = %s\n\taskPass = %s\n\tattributesFile = %s\n' "$T/evil" "$T/evil" "$T/attributes"
		printf '[apply]\n\twhitespace = error\n\tignoreWhitespace = change\n[diff]\n\tnoprefix = true\n\texternal = %s\n' "$T/evil"
		printf '[filter "evil"]\n\tclean = %s\n\tsmudge = %s\n\trequired = true\n' "$T/evil" "$T/evil"
		printf '[mailinfo]\n\tscissors = true\n[color]\n\tui = always\n[alias]\n\tapply = !%s\n' "$T/evil"
	} >"$T/home/.gitconfig"
	echo '* filter=evil text eol=crlf' >"$T/attributes"
	printf -- '--- a/mm/n\n+++ b/mm/n\n@@ -1,2 +1,2 @@\n-2\n+3 \n two\n' >"$T/s.patch"
	for v in HOME="$T/home" GIT_CONFIG_GLOBAL="$T/home/.gitconfig" GIT_CONFIG_SYSTEM="$T/home/.gitconfig" XDG_CONFIG_HOME="$T/home"; do
		says 0 "changed mm/n" env "$v" "$mmgate" build -n --tree "$T/tree" --series "$T/s.patch"
		says 0 "" env "$v" "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1 --patched HEAD
		[[ $output == *"mm/n changed"* ]]
	done
	[ ! -e "$T/executed" ]
}

@test "a tree whose configuration of git names commands: none of them runs, with --base and -n as well" {
	repository
	printf '#!/bin/sh\ntouch "%s"\ncat\n' "$T/executed" >"$T/tree/.git/evil"
	chmod +x "$T/tree/.git/evil"
	for h in post-index-change post-checkout reference-transaction fsmonitor-watchman pre-auto-gc; do
		cp "$T/tree/.git/evil" "$T/tree/.git/hooks/$h" 2>/dev/null || install -D "$T/tree/.git/evil" "$T/tree/.git/hooks/$h"
	done
	echo '* filter=evil diff=evil' >"$T/tree/.git/info/attributes"
	for key in core.fsmonitor core.hooksPath core.pager core.sshCommand core.askPass core.editor diff.external diff.evil.textconv \
		diff.evil.command filter.evil.clean filter.evil.smudge filter.evil.process credential.helper gpg.program; do
		git -C "$T/tree" config "$key" "$T/tree/.git/evil"
	done
	echo changed >>"$T/tree/mm/n"
	touch "$T/tree/mm/Kconfig"
	rm -f "$T/executed"
	run "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1
	echo "$output"
	[ "$status" -le 2 ]
	run "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1 --patched HEAD
	[ "$status" = 0 ]
	printf -- '--- a/mm/n\n+++ b/mm/n\n@@ -1,2 +1,2 @@\n-1\n+3\n two\n' >"$T/s.patch"
	run "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1 --series "$T/s.patch"
	echo "$output"
	[ ! -e "$T/executed" ]
	# it would have: git itself runs them
	git -C "$T/tree" status >/dev/null 2>&1 || true
	[ -e "$T/executed" ]
}

@test "git asks nobody for a password, and a missing TMPDIR does not crash a gate with --base" {
	repository
	printf '#!/bin/sh\ntouch "%s"\n' "$T/asked" >"$T/ask"
	chmod +x "$T/ask"
	git -C "$T/tree" config uploadpack.allowFilter true
	git clone -q --filter=blob:none "file://$T/tree" "$T/partial"
	git -C "$T/partial" remote set-url origin https://user@127.0.0.1:9/x
	says 2 "" env GIT_ASKPASS="$T/ask" SSH_ASKPASS="$T/ask" DISPLAY=:9 "$mmgate" gate mglru-stats -n --tree "$T/partial" --base HEAD~1 --patched HEAD </dev/null
	[[ $output == *"missing"* ]]
	[ ! -e "$T/asked" ]
	says 0 "" env TMPDIR=/nonexistent "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1 --patched HEAD
}

@test "results in folders with spaces, quotes, colons and newlines in their names are reported" {
	nl=$'\n'
	one=$(printf '%s\n' "$root"/tests/fixtures/runs/*/ | head -n 1)
	for name in "a b" "a:b" "a'b" 'a"b' "a${nl}b" 'a$b' 'a;b' 'a%b' '-n'; do
		cp -r "$one" "$T/$name"
		run "$mmgate" report "$T/$name" --html --junit --tap
		echo "$name: $output"
		[ -s "$T/$name/report.html" ]
		[ -s "$T/$name/junit.xml" ]
	done
}

@test "revisions: dubious ownership, a shallow clone and a missing one are told in git's words" {
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	git -C "$T/tree" init -q
	git -C "$T/tree" add -A
	git -C "$T/tree" -c user.name=a -c user.email=a@example.org commit -qm one
	echo 1 >"$T/tree/mm/n"
	git -C "$T/tree" add -A
	git -C "$T/tree" -c user.name=a -c user.email=a@example.org commit -qm two
	git clone -q --depth 1 "file://$T/tree" "$T/shallow"
	run "$mmgate" gate mglru-stats -n --tree "$T/shallow" --base HEAD~1 --patched HEAD
	echo "$output"
	[ "$status" = 2 ]
	[[ $output == *"has no revision HEAD~1"*"git says"* ]]
	# a linked work tree has its own HEAD
	git -C "$T/tree" worktree add -q "$T/linked" HEAD~1
	says 0 "" "$mmgate" gate mglru-stats -n --tree "$T/linked" --base HEAD --patched master
	[[ $output == *"mm/n changed"* ]]
	[ "$(id -u)" -eq 0 ] || skip "needs root, to give the tree to somebody else"
	chown -R 65534 "$T/tree"
	HOME="$T/nobody" run "$mmgate" gate mglru-stats -n --tree "$T/tree" --base HEAD~1 --patched HEAD
	echo "$output"
	[ "$status" != 0 ]
	[[ $output == *"dubious ownership"* ]]
}

@test "a partial clone whose content is missing is told in git's words, and nothing is fetched" {
	mkdir -p "$T/tree/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	git -C "$T/tree" init -q
	git -C "$T/tree" config uploadpack.allowFilter true
	for n in 1 2 3; do
		echo "$n" >"$T/tree/mm/n"
		git -C "$T/tree" add -A
		git -C "$T/tree" -c user.name=a -c user.email=a@example.org commit -qm "$n"
	done
	git clone -q --filter=blob:none "file://$T/tree" "$T/partial"
	says 2 "missing (in a partial or shallow clone, fetch what is missing first)" \
		"$mmgate" gate mglru-stats -n --tree "$T/partial" --base HEAD~1 --patched HEAD
	[[ $output == *"no content for mm/n"* ]]
	# what was fetched is enough
	git -C "$T/partial" show HEAD~1:mm/n >/dev/null
	says 0 "" "$mmgate" gate mglru-stats -n --tree "$T/partial" --base HEAD~1 --patched HEAD
}

@test "timeout(1) ends it at once, in the background too" {
	hold "$XDG_CACHE_HOME/mmgate/history.sqlite"
	start=$SECONDS
	run timeout -k 20 2 "$mmgate" history
	[ "$status" = 124 ]
	run timeout -k 20 --foreground -s INT 2 "$mmgate" history </dev/null
	[ "$status" = 124 ]
	[ $((SECONDS - start)) -lt 15 ]
}

@test "a TMPDIR that is full" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "needs root, to mount"
	mkdir -p "$T/tree/mm" "$T/full"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/tree/Makefile"
	: >"$T/tree/mm/Kconfig"
	printf 'From: a\nSubject: [PATCH] x\nContent-Transfer-Encoding: quoted-printable\n\n---\ndiff --git a/mm/n b/mm/n\nnew file mode 100644\n--- /dev/null\n+++ b/mm/n\n@@ -0,0 +1 @@\n+x=3D\n' >"$T/s.mbox"
	# shellcheck disable=SC2016 # for the inner shell
	says 0 "changed mm/n" unshare -m sh -c 'mount -t tmpfs -o size=4k none "$1" || exit 99
		head -c 4096 /dev/zero >"$1/x"; TMPDIR=$1 "$2" build -n --tree "$3" --series "$4"' \
		sh "$T/full" "$mmgate" "$T/tree" "$T/s.mbox"
}

@test "a checkout that cannot be written to is built in the cache" {
	[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || skip "needs root, to become somebody else"
	mkdir -p "$T/checkout" "$T/home"
	(cd "$root" && git ls-files -z | tar --null -T - -cf -) | tar -C "$T/checkout" -xf -
	chown -R 65534 "$T/home"
	chmod 755 "$T" "$T/checkout"
	d=$T
	while [ "$d" != /tmp ] && [ "$d" != / ]; do chmod o+x "$d" || true; d=$(dirname "$d"); done
	run timeout 300 setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_CACHE_HOME HOME="$T/home" \
		"$T/checkout/run.sh" -q list gates
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *mglru-secondary-mmu* ]]
	[ ! -e "$T/checkout/build" ]
}
