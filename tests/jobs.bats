#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Jobs without booting: their results put together in any order, with gaps and twice, and what is not taken.

setup() {
	mmgate=$BATS_TEST_DIRNAME/../build/mmgate
	export MMGATE_ROOT=$BATS_TEST_DIRNAME/.. XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	cd "$BATS_TEST_TMPDIR" || exit 1
	campaign=0123456789abcdef0123456789abcdef
	mkdir jobs
	jq -n --arg c $campaign '{schema: 1, campaign: $c, run: {schema: 1, tool: {name: "mmgate", version: "0"}, verb: "run", id: "x",
		started: "2026-12-01T00:00:00Z", complete: false, command: ["./run.sh"], host: {}, seed: 1,
		options: {repeat: 3, require: [], tests: [], machines: []}, requires: [], boots: [], cases: [],
		kernels: [{spec: "k", label: "6.12", release: "6.12", version: "6.12", arch: "x86_64", image_sha256: "a", packages: []}]},
		jobs: [range(1; 4) | {nr: ., id: ("0000" + (. | tostring)), kernel_nr: 0, machine: "default", repeat: (. - 1), seed: 1,
			timeout: 100, sub: ("6.12/default." + (. - 1 | tostring)), tests: ["kvm/a"], image_sha256: "a"}]}' >jobs/jobs.json
}

# result DIR NR RESULT [STARTED]: what job NR left
result() {
	local sub=6.12/default.$(($2 - 1))
	mkdir -p "$1/$sub/artifacts"
	echo "console of $2" >"$1/$sub/console.log"
	jq -n --arg c $campaign --argjson n "$2" --arg r "$3" --arg s "${4-2026-12-01T00:00:0$2Z}" --arg sub $sub '{schema: 1,
		tool: {name: "mmgate", version: "0"}, id: "x", verb: "run", started: $s, complete: true, exit: 0, reason: "",
		verdict: (if $r == "fail" then "fail" elif $r == "broken" then "broken" else "pass" end), duration_s: 1,
		command: [], host: {qemu: "7.2"}, seed: 1, options: {}, requires: [], kernels: [],
		job: {campaign: $c, nr: $n, id: "x"},
		boots: [{kernel: 0, machine: "default", repeat: ($n - 1), dir: $sub, state: "goodbye", reason: "", complete: true,
			duration_s: 1, splats: [], artifacts: []}],
		cases: [{name: "kvm/a/x", result: $r, reason: "because", duration_s: 1, metrics: {}, diag: [], kernel: 0, boot: 0,
			machine: "default", repeat: 0}]}' >"$1/run.json"
}

merged() {
	jq -S 'del(.id)' "$1/run.json"
}

@test "results in any order and given twice make the same run" {
	for n in 1 2 3; do result jobs/0000$n/result $n pass; done
	run "$mmgate" merge jobs --no-history --out a
	[ "$status" = 0 ]
	mkdir apart
	for n in 3 1 2; do mv jobs/0000$n/result apart/r$n; done
	run "$mmgate" merge apart/r2 jobs apart/r3 apart/r2 apart/r1 apart --no-history --out b
	[ "$status" = 0 ]
	[ "$(merged a)" = "$(merged b)" ]
	[ "$(jq -c '[.cases[] | [.boot, .repeat, .kernel]]' b/run.json)" = '[[0,0,0],[1,1,0],[2,2,0]]' ]
	[ "$(cat b/6.12/default.2/console.log)" = "console of 3" ]
	diff -r a/6.12 b/6.12
}

@test "a lost job is named and makes the run broken" {
	result jobs/00001/result 1 pass
	run "$mmgate" merge jobs --no-history --out a
	[ "$status" = 3 ]
	[[ "$output" == *"2 of 3 jobs have no result: 00002 00003"* ]]
	[ "$(jq -c .jobs.lost a/run.json)" = '["00002","00003"]' ]
	[ "$(jq -c '[.cases[].result]' a/run.json)" = '["pass","broken","broken"]' ]
	# a fail that was seen is a fail, whatever else is lost
	result jobs/00002/result 2 fail
	run "$mmgate" merge jobs --no-history --out b
	[ "$status" = 1 ]
}

@test "of two results of a job a fail counts before a pass, and any before a broken one" {
	for n in 1 2 3; do result jobs/0000$n/result $n pass; done
	result late 2 fail 2026-12-02T00:00:00Z
	result bad 3 broken 2026-11-30T00:00:00Z
	run "$mmgate" merge jobs late bad --no-history --out a
	[ "$status" = 1 ]
	[ "$(jq -c '[.cases[].result]' a/run.json)" = '["pass","fail","pass"]' ]
	run "$mmgate" merge bad late jobs --no-history --out b
	[ "$(merged a)" = "$(merged b)" ]
}

@test "what is not a result of these jobs is said and left out" {
	for n in 1 2 3; do result jobs/0000$n/result $n pass; done
	result other 1 fail
	jq '.job.campaign = "ffffffffffffffffffffffffffffffff"' other/run.json >t && mv t other/run.json
	result beyond 1 fail
	jq '.job.nr = 9' beyond/run.json >t && mv t beyond/run.json
	result up 1 fail
	jq '.boots[0].dir = "../../jobs"' up/run.json >t && mv t up/run.json
	result words 1 fail
	jq '.cases[0].result = "splendid"' words/run.json >t && mv t words/run.json
	result link 1 fail
	ln -s /etc/passwd link/6.12/default.0/artifacts/secret
	mkdir not && echo '{' >not/run.json
	run "$mmgate" merge jobs other beyond up words link not --no-history --out a
	[ "$status" = 0 ]
	for d in other beyond up words link not; do [[ "$output" == *"$d"* ]]; done
	[ ! -e a/6.12/default.0/artifacts/secret ]
}

@test "a damaged jobs.json is refused" {
	for edit in '.schema = 2' '.campaign = "x"' '.jobs = []' '.jobs[1].nr = 7' '.jobs[0].sub = "../x"' '.jobs[0].machine = "a/b"' \
		'.jobs[2].kernel_nr = 4' '.jobs[0].tests = [1]' '.run.kernels = []' '.jobs[0].timeout = 0'; do
		jq "$edit" jobs/jobs.json >t
		mkdir -p bad && cp t bad/jobs.json
		run "$mmgate" merge bad --no-history --out out
		[ "$status" = 3 ]
		[[ "$output" == *"damaged"* ]]
		[ ! -e out ]
	done
}

@test "a folder that is no job is refused" {
	run "$mmgate" job .
	[ "$status" = 2 ]
	[[ "$output" == *"job.json"* ]]
	run "$mmgate" job
	[ "$status" = 2 ]
	run "$mmgate" job a b --out c
	[ "$status" = 2 ]
	echo '{"schema": 1}' >job.json
	run "$mmgate" job .
	[ "$status" = 3 ]
	rm job.json
	ln -s /etc/passwd job.json
	run "$mmgate" job .
	[ "$status" = 2 ]
	[[ "$output" == *"not a regular file"* ]]
}

@test "options that do not go together" {
	run "$mmgate" --slurm --on ssh://x --kernel debian:6.12
	[ "$status" = 2 ]
	run "$mmgate" --resume --kernel debian:6.12
	[ "$status" = 2 ]
	for url in host ssh:// ssh://-oProxyCommand=x ssh://a:b ssh://a:0 "ssh://a/b c" 'ssh://a/$(x)' ssh://a/../b 'ssh://a;b' ssh://a@b@c; do
		run "$mmgate" --on "$url" --kernel debian:6.12
		[ "$status" = 2 ]
		[[ "$output" == *"write ssh://"* ]]
	done
}
