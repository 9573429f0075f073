#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# run_tests.sh FAMILY SETTINGS TEST...: run the tests one after the other and
# print what kselftest's runner prints.  Exit 1 where one failed or was broken.
family=$1
settings=$2
shift 2
limit=
[ -r "$settings" ] && limit=$(sed -n 's/^timeout=//p' "$settings")
: "${limit:=45}"
n=0
bad=0
rc_file=$(mktemp) || exit 1
trap 'rm -f "$rc_file"' EXIT
echo "TAP version 13"
echo "1..$#"
for t in "$@"; do
	n=$((n + 1))
	name="selftests: $family: $(basename "$t")"
	echo "# timeout set to $limit"
	echo "# $name"
	{
		timeout -k 10 "$limit" "$t" 2>&1
		echo $? >"$rc_file"
	} | sed 's/^/# /'
	rc=$(cat "$rc_file")
	case $rc in
	0) echo "ok $n $name" ;;
	4) echo "ok $n $name # SKIP" ;;
	124 | 137) echo "not ok $n $name # TIMEOUT $limit seconds" ;;
	*) echo "not ok $n $name # exit=$rc" ;;
	esac
	case $rc in 0 | 4) ;; *) bad=1 ;; esac
done
exit $bad
