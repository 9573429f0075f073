#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Values over time, from runs that are put into an empty history

setup() {
	root="$BATS_TEST_DIRNAME/.."
	mmgate="$root/build/mmgate"
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
}

@test "an empty history is said, with exit status 4" {
	run "$mmgate" trend
	[ "$status" = 4 ]
	[[ "$output" == *"holds no value"* ]]
}

@test "a step in AUC is found, and where" {
	db="$XDG_CACHE_HOME/mmgate/history.sqlite"
	# an empty file becomes a history without a run
	mkdir -p "${db%/*}"
	: >"$db"
	run "$mmgate" trend
	[ "$status" = 4 ]
	python3 - "$db" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	for i in range(16):
	    db.execute("INSERT INTO run VALUES (?, ?, ?, 'run', 'pass', 'tcg', 1)", (i + 1, f"r{i}", f"2026-12-{i + 1:02}T00:00:00Z"))
	    db.execute("INSERT INTO result VALUES (?, 'kvm/t/c', 'default', 'k', ?, 'x86_64', 0, 'pass', 1.0, ?, '', NULL)",
	               (i + 1, "6.12" if i < 8 else "6.13", 0.99 + i * 1e-4 if i < 8 else 0.80 + i * 1e-4))
	db.commit()
	END
	run "$mmgate" trend 'kvm/t/*' --metric auc
	[ "$status" = 0 ]
	[[ "$output" == *"changed: 0.990"*" -> 0.801"*"2026-12-09"*"from kernel 6.12 to 6.13"* ]]
	run "$mmgate" trend --html --out "$BATS_TEST_TMPDIR/t.html"
	[ "$status" = 0 ]
	grep -q '<svg' "$BATS_TEST_TMPDIR/t.html"
	xmllint --html --noout "$BATS_TEST_TMPDIR/t.html" 2>/dev/null || true
	# durations did not change
	[[ "$output" != *duration_s* ]]
}
