#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What --kernel, --modules, --ksrc and --arch refuse: one clear line, the right exit code, nothing left.

setup() {
	cd "$BATS_TEST_DIRNAME/.." || exit 1
	T="$BATS_TEST_TMPDIR/a folder"
	mkdir -p "$T"
	export XDG_CACHE_HOME="$T/cache"
}

# bzimage FILE VERSION: as much of a bzImage as is looked at
bzimage() {
	head -c 8192 /dev/zero >"$1"
	printf '\004' | poke "$1" 497
	printf '\125\252xxHdrS\017\002' | poke "$1" 510
	printf '\000\010' | poke "$1" 526
	printf '\001' | poke "$1" 566
	printf '%s' "$2" | poke "$1" 2560
}

poke() {
	dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# deb FILE FOLDER: a package of what FOLDER holds
deb() {
	local w="$T/deb.$RANDOM"
	mkdir -p "$w"
	printf 'Package: linux-image-x\nVersion: 1\nArchitecture: amd64\n' >"$w/control"
	tar -C "$w" -czf "$w/control.tar.gz" ./control
	tar -C "$2" -cJf "$w/data.tar.xz" .
	echo 2.0 >"$w/debian-binary"
	rm -f "$1"
	ar rc "$1" "$w/debian-binary" "$w/control.tar.gz" "$w/data.tar.xz"
}

# refused STATUS WORD ARG...: mmgate ends with it before anything boots, its last line has the word in it
refused() {
	local want=$1 word=$2
	shift 2
	run build/mmgate run --no-history --test mm/lowmem_reserve --machine default --out "$T/out" "$@"
	echo "$output"
	[ "$status" -eq "$want" ]
	[[ ${lines[-1]} == "mmgate: "*"$word"* ]]
	[ ! -e "$T/out" ]
}

nothing_half() {
	! find "$XDG_CACHE_HOME" -name '*.part' 2>/dev/null | grep .
}

@test "no such kernel" {
	refused 2 "No such file" --kernel "$T/vmlinuz"
	refused 2 "" --kernel ""
}

@test "what is no kernel" {
	refused 2 "not a kernel" --kernel /etc/passwd
	refused 2 "not a kernel" --kernel /bin/sh
	refused 2 "no plain file" --kernel /dev/zero
	head -c 100000 /dev/urandom >"$T/noise"
	refused 2 "not a kernel" --kernel "$T/noise"
	: >"$T/empty"
	refused 2 "not a kernel" --kernel "$T/empty"
	bzimage "$T/whole" "6.1 (a@b) #1"
	head -c 3000 "$T/whole" >"$T/cut"
	refused 2 "not a kernel" --kernel "$T/cut"
}

@test "a folder that holds no kernel, or a tree that is not built" {
	refused 2 "neither a kernel tree nor" --kernel "$T"
	: >"$T/Kconfig"
	refused 2 "without a built kernel" --kernel "$T"
}

@test "an unreadable kernel" {
	[ "$(id -u)" -ne 0 ] || skip "root reads everything"
	bzimage "$T/secret" "6.1 (a@b) #1"
	chmod 0 "$T/secret"
	refused 2 "Permission denied" --kernel "$T/secret"
}

@test "another architecture's kernel" {
	bzimage "$T/vmlinuz" "6.1.1-x (a@b) #1"
	refused 2 "is a kernel for x86_64, but --arch asks for arm64" --arch arm64 --kernel "$T/vmlinuz"
	printf '\000' | poke "$T/vmlinuz" 566
	refused 2 "i386" --arch x86_64 --kernel "$T/vmlinuz"
}

@test "modules that are not there, or another kernel's" {
	bzimage "$T/vmlinuz" "6.1.1-x (a@b) #1"
	refused 2 "no such folder" --kernel "$T/vmlinuz" --modules "$T/none"
	refused 2 "neither it nor its lib/modules/6.1.1-x" --kernel "$T/vmlinuz" --modules "$T"
	mkdir -p "$T/6.1.2-y/kernel"
	refused 2 "for another kernel" --kernel "$T/vmlinuz" --modules "$T/6.1.2-y"
}

@test "packages: no kernel in it, two kernels, cut short, mixed with other files" {
	mkdir -p "$T/p/boot" "$T/q/boot" "$T/e/etc"
	bzimage "$T/p/boot/vmlinuz-6.1.1-x" "6.1.1-x (a@b) #1"
	bzimage "$T/q/boot/vmlinuz-6.1.2-y" "6.1.2-y (a@b) #1"
	echo x >"$T/e/etc/x"
	deb "$T/one.deb" "$T/p"
	deb "$T/two.deb" "$T/q"
	deb "$T/none.deb" "$T/e"
	refused 2 "no kernel image in it" --kernel "$T/none.deb"
	refused 2 "hold 2 kernels" --kernel "$T/one.deb,$T/two.deb"
	refused 2 "packages of one kernel" --kernel "$T/one.deb,/etc/passwd"
	head -c 300 "$T/one.deb" >"$T/cut.deb"
	refused 2 "is it complete?" --kernel "$T/cut.deb"
	# it names what the user gave, not where it was opened
	[[ $output == *"$T/cut.deb"* && $output != *"$XDG_CACHE_HOME"* && $output != *"/tmp/mmgate"* ]]
	refused 2 "no kernel image in it" --kernel "$T/none.deb"
	[[ $output == *"$T/none.deb"* && $output != *"$XDG_CACHE_HOME"* && $output != *"/tmp/mmgate"* ]]
	nothing_half
}

@test "a package whose members lead out of the folder" {
	mkdir -p "$T/p/boot" "$T/p/lib/modules/6.1.1-x/kernel"
	bzimage "$T/p/boot/vmlinuz-6.1.1-x" "6.1.1-x (a@b) #1"
	ln -s ../../../../../../../../../../tmp "$T/p/lib/modules/6.1.1-x/kernel/out"
	deb "$T/evil.deb" "$T/p"
	refused 2 "leads out of the folder" --kernel "$T/evil.deb"
	nothing_half
}

@test "a full disk under the cache" {
	unshare -rm true 2>/dev/null || skip "no user namespaces to mount a small disk in"
	mkdir -p "$T/p/boot" "$T/small"
	bzimage "$T/p/boot/vmlinuz-6.1.1-x" "6.1.1-x (a@b) #1"
	head -c 3000000 /dev/urandom >"$T/p/boot/config-6.1.1-x"
	deb "$T/one.deb" "$T/p"
	run unshare -rm sh -c "mount -t tmpfs -o size=1m t '$T/small' &&
		XDG_CACHE_HOME='$T/small' build/mmgate run --no-history --out '$T/out' --kernel '$T/one.deb' --test mm/lowmem_reserve &&
		exit 99; s=\$?; find '$T/small' -name '*.part'; exit \$s"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"No space left on device; make room"* ]]
	[[ $output != *.part ]]
}

@test "debian: versions and suites that are none" {
	refused 2 "give a version" --kernel debian:
	refused 2 "give a version" --kernel debian:bookworm
	refused 2 "give a version" --kernel "debian:6.12/.."
	refused 2 "give a version" --kernel "debian:6.12/"
	refused 2 "" --arch vax --kernel debian:6.12
}

@test "--offline with an empty cache" {
	refused 3 "--offline forbids fetching it" --offline --kernel debian:6.12
}

@test "a host without apt" {
	mkdir "$T/bin"
	for c in qemu-system-x86_64 gcc make; do ln -s "$(command -v $c)" "$T/bin/$c" 2>/dev/null || true; done
	PATH="$T/bin" refused 3 "apt-get, which this host has not" --kernel debian:6.12
}

@test "a source tree that is none" {
	bzimage "$T/vmlinuz" "6.1.1-x (a@b) #1"
	refused 2 "no kernel source tree" --kernel "$T/vmlinuz" --ksrc "$T"
	refused 2 "No such file" --kernel "$T/vmlinuz" --ksrc "$T/none"
}

@test "doctor says what is here, also as JSON, and refuses words" {
	run build/mmgate doctor -q
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
	run build/mmgate doctor --json
	[[ $output == *'"findings"'* ]]
	run build/mmgate doctor nonsense
	[ "$status" -eq 2 ]
}

@test "the cache is emptied on request, not while another run works on it" {
	mkdir -p "$XDG_CACHE_HOME/mmgate/kernels/x" "$XDG_CACHE_HOME/mmgate/locks"
	echo keep >"$T/keep"
	ln -s "$T" "$XDG_CACHE_HOME/mmgate/kernels/out"
	exec 8>"$XDG_CACHE_HOME/mmgate/locks/kernels-x"
	flock 8
	run build/mmgate doctor --empty-cache 8>&-
	[ "$status" -eq 3 ]
	[[ $output == *"nothing was deleted"* ]]
	[ -d "$XDG_CACHE_HOME/mmgate/kernels/x" ]
	exec 8>&-
	run build/mmgate doctor --empty-cache
	[ "$status" -eq 0 ]
	[ ! -e "$XDG_CACHE_HOME/mmgate" ]
	[ "$(cat "$T/keep")" = keep ]
}
