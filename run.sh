#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The front door: finds or gets what is needed, builds build/mmgate, hands over to it.
set -u
# Nothing that the caller exported for another make, kernel or git has an effect here
for word in $(env | sed -nE 's/^((GIT|KBUILD|KCONFIG)_[A-Za-z0-9_]*)=.*/\1/p') MAKEFLAGS MFLAGS MAKEOVERRIDES MAKEFILES \
	MAKELEVEL GNUMAKEFLAGS TARGETS OUTPUT KSRC O B V W C M ARCH SUBARCH CROSS_COMPILE LLVM SANITIZE WERROR CDPATH ENV \
	BASH_ENV POSIXLY_CORRECT LD AR; do
	unset "$word"
done
root=$(cd "$(dirname "$(readlink -f "$0")")" && pwd) || exit 3
yes=
quiet=
verb=
value=
generate=
fleet=
# The verb is the first word that is neither an option nor the value of one
for word in "$@"; do
	if [ -n "$value" ]; then
		value=
		continue
	fi
	case $word in
	--) break ;;
	--generate) generate=1 ;;
	-y | --yes) yes=1 ;;
	-q | --quiet) quiet=1 ;;
	--once | --slurm | --resume | --lava | --json | --junit | --tap | --html | --kcidb | --gitlab | --github | --patchwork | --offline | --strict | --no-history | \
		--destructive | --dump | --gdb | --halt | --flaky | \
		--empty-cache | --dry-run | --verbose | --help | --version | --*=*) ;;
	--*) value=1 ;;
	-*) ;;
	fleet)
		fleet='|fleet'
		[ -n "$verb" ] || verb=$word
		;;
	*) [ -n "$verb" ] || verb=$word ;;
	esac
done
verb=${verb:-run}

broken() {
	echo "mmgate: $*" >&2
	exit 3
}

# apt, dnf or zypper, whichever this host has
packager() {
	for p in apt-get dnf zypper; do
		command -v "$p" >/dev/null 2>&1 && echo "${p%-get}" && return
	done
}

# The packages of the groups that a verb needs; the lists say what each is for
packages() {
	case $2 in
	check) groups="run|build|check|generate|arm64|riscv64|ppc64el$fleet" ;;
	build | gate | mutants | coverage | bisect) groups='run|build' ;;
	*) groups=run ;;
	esac
	[ -z "$generate" ] || groups="$groups|generate"
	sed -nE "s/^([^#[:space:]]+)[[:space:]]+($groups)[[:space:]].*/\1/p" "$root/configs/packages/$1.txt"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# What is missing, as words for a person; empty where all is here
missing() {
	for c in cc make pkg-config flock gnuplot mke2fs depmod qemu-system-x86_64; do
		have "$c" || PATH=$PATH:/usr/sbin:/sbin have "$c" || printf '%s ' "$c"
	done
	if have pkg-config; then
		for l in glib-2.0 gio-unix-2.0 libarchive libkmod jansson sqlite3 libxml-2.0 gmime-3.0; do
			pkg-config --exists "$l" || printf '%s ' "$l"
		done
	fi
	case ${1-} in
	build | gate | mutants | coverage | bisect | check)
		for c in git flex bison bc; do
			have "$c" || printf '%s ' "$c"
		done
		if have pkg-config; then
			for l in libelf openssl; do
				pkg-config --exists "$l" || printf '%s ' "$l"
			done
		fi
		;;
	esac
	if [ -n "$generate" ] || [ "${1-}" = check ]; then
		set -- "${1-}" /usr/lib*/llvm*/include/clang-c/Index.h /usr/include/clang-c/Index.h
		[ -e "$2" ] || [ -e "${3-}" ] || printf 'libclang '
	fi
	if [ "${1-}" = check ]; then
		for c in bats shellcheck clang perl jq pgrep python3 xmllint chromium xz b4; do
			have "$c" || printf '%s ' "$c"
		done
		[ -x "$(git --exec-path 2>/dev/null)/git-send-email" ] && perl -MMail::Address -e 1 2>/dev/null || printf 'git-send-email '
		python3 -c 'import jsonschema' 2>/dev/null || printf 'jsonschema '
		# only where somebody said yes: without them the boots of other architectures are skipped
		if [ -n "$yes" ]; then
			for c in qemu-system-aarch64 qemu-system-riscv64 qemu-system-ppc64 aarch64-linux-gnu-gcc \
				riscv64-linux-gnu-gcc powerpc64le-linux-gnu-gcc; do
				have "$c" || printf '%s ' "$c"
			done
		fi
		have pkg-config && { pkg-config --exists cmocka || printf 'cmocka '; }
		# only where somebody said yes: without it the tests of the fleet are skipped
		if [ -n "$fleet" ] && [ -n "$yes" ]; then
			for c in slurmctld munged sshd; do
				PATH=$PATH:/usr/sbin:/sbin have "$c" || printf '%s ' "$c"
			done
		fi
	fi
}

install_missing() {
	lacks=$(missing "${1-}")
	[ -n "$lacks" ] || return 0
	tool=$(packager)
	[ -n "$tool" ] || broken "missing: $lacks; no apt, dnf or zypper here: install what docs/dependencies.md lists"
	list=$(packages "$tool" "${1-}")
	case $tool in
	apt) set -- env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ;;
	dnf) set -- dnf install -y ;;
	zypper) set -- zypper --non-interactive install ;;
	esac
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	if [ -z "$yes" ]; then
		# shellcheck disable=SC2086 # words on purpose
		broken "missing: $lacks; ./run.sh -y installs it, or by hand: $sudo $* "$list
	fi
	[ -n "$quiet" ] || echo "mmgate: installing packages ($lacks missing)" >&2
	[ -z "$sudo" ] || have sudo || broken "missing: $lacks; installing needs root, and there is no sudo"
	log=$(mktemp) || exit 3
	[ "$tool" != apt ] || $sudo apt-get update -q >"$log" 2>&1 ||
		{ tail -n 3 "$log" >&2; broken "apt-get update failed (in $log)"; }
	# shellcheck disable=SC2086 # words on purpose
	$sudo "$@" $list >"$log" 2>&1 || { tail -n 5 "$log" >&2; broken "installing failed: all of it is in $log"; }
	rm -f "$log"
	lacks=$(missing "${1-}")
}

install_missing "$verb"
# one build at a time in a checkout; it says nothing when there is nothing to do
build=$root/build
if ! { mkdir -p "$build" && : >>"$build/.lock"; } 2>/dev/null; then
	# somebody else's checkout, or one that is read-only: the program is built in the cache, by the checkout's name
	build=${XDG_CACHE_HOME:-${HOME:-/tmp/mmgate-$(id -u)}/.cache}/mmgate/host/$(echo "$root" | cksum | tr ' ' -)
	mkdir -p "$build" 2>/dev/null || broken "neither $root/build nor $build can be written to"
	export MMGATE_ROOT="$root"
fi
log=$build/make.log
if ! flock "$build/.lock" make -s -C "$root" B="$build" -j"$(nproc)" "$build/mmgate" >"$log" 2>&1; then
	cat "$log" >&2
	broken "building $build/mmgate failed: its output is above"
fi
if [ "$verb" = check ]; then
	# the words without the verb
	first=1
	for word in "$@"; do
		shift
		if [ "$word" = check ] && [ -n "$first" ]; then
			first=
		else
			set -- "$@" "$word"
		fi
	done
	exec "$root/tests/check" "$@"
fi
exec "$build/mmgate" "$@"
