#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every command line that README, docs/ and the READMEs of configs/ show is understood, and the lists they hold are whole.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	mmgate="$root/build/mmgate"
	T="$BATS_TEST_TMPDIR"
	export XDG_CACHE_HOME="$T/cache" HOME="$T"
	mkdir -p "$T/linux/mm" "$T/work"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$T/linux/Makefile"
	: >"$T/linux/mm/Kconfig"
	mapfile -t docs < <(find "$root/README" "$root/docs" "$root/configs" -name '*.md' -o -name README)
	cd "$T/work" || exit 1
}

# examples FILE...: command lines of indented blocks, joined where they end in '\', without what is said beside them
examples() {
	cat "$@" | sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' |
		sed -nE 's,^(    |	)(sudo |git bisect run )?[^ `]*\./?run\.sh( .*|$),\3,p' |
		sed -E "s/ {2,}.*//; s/ #.*//; s/[][]//g; s/ (&&|>|\|).*//; s/ bisect\$/ bisect --tree x/"
}

# understood WORDS: it is not the command line that is wrong, whatever else is not here
understood() {
	local words=$1 dry=''
	case " $words" in
	*" check"* | *" -h"* | *" help"*) return 0 ;;
	*" list"* | *" doctor"* | *" report "* | *" history"* | *" trend"* | *" watch "* | *" restore"* | *" merge "*) ;;
	*) case " $words " in *" -n "*) ;; *) dry=-n ;; esac ;;
	esac
	words=$(sed -E "s,~/,$T/,g; s/\bgate NAME/gate mglru-stats/; s/\bbench NAME/bench boot/; s/--machine (NAME|FILE\.conf)/--machine default/; s/MINUTES/10/" <<<"$words")
	run timeout 60 bash -c "'$mmgate' $words $dry"
	if [ "$status" = 124 ] || grep -qE "no such option|no verb|takes no|value is missing|whole number|did you mean|no machine|no test fits|no gate|no mutant|no workload|it is one of|takes one |list '" <<<"${lines[-1]-}" &&
		[[ ${lines[-1]-} != *"is neither" ]]; then
		echo "./run.sh $1: status $status: ${lines[-1]-}"
		return 1
	fi
}

@test "every command line that README and docs/ show" {
	local bad=0 n=0
	while read -r words; do
		n=$((n + 1))
		understood "$words" || bad=$((bad + 1))
	done < <(examples "${docs[@]}")
	echo "$n command lines"
	[ "$n" -gt 40 ]
	[ "$bad" = 0 ]
}

@test "a command line that has rotted is seen" {
	! understood "build --frob"
	! understood "gate no-such-gate"
	! understood "run --machine tdp-off"
	understood "build debian-source:6.12"
}

@test "what names a machine, test, gate or verb in README and docs/ names one that is there" {
	local bad=0 word
	for word in $(grep -ohE '\-\-machine [a-z][a-z0-9-]*' "$root"/README "$root"/docs/*.md | awk '{ print $2 }' | sort -u); do
		[ -e "$root/configs/machines/$word.conf" ] || { echo "no machine $word"; bad=1; }
	done
	for word in $(grep -ohE 'configs/(machines|gates|mutants)/[a-z][a-z0-9-]*\.conf' "$root"/README "$root"/docs/*.md | sort -u); do
		[ -e "$root/$word" ] || [[ $word == */my-* ]] || { echo "no file $word"; bad=1; }
	done
	[ "$bad" = 0 ]
}

@test "docs/machines.md lists every machine as list does" {
	diff <("$mmgate" list machines --json | jq -r '.machines[] | "| `\(.name)` | \(.about) |"') \
		<(sed -n '/<!-- machines -->/,/<!-- end -->/{/^| `/p}' "$root/docs/machines.md")
}

@test "run.sh knows which options take no value" {
	local bad=0 o
	for o in $("$mmgate" -h | sed -nE 's/^    .*(--[a-z-]+)  +[^ ].*/\1/p'); do
		"$mmgate" -h | grep -qE -- "$o [A-Z]" && continue
		grep -qE -- "(\| |	)$o( |\))" "$root/run.sh" || { echo "run.sh takes $o for an option with a value"; bad=1; }
	done
	[ "$bad" = 0 ]
}
