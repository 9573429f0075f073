#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A run written down as jobs, carried out where there is no checkout and no cache, and put together: the run on one host.

setup_file() {
	cd "$BATS_FILE_TMPDIR" || exit 1
	root=$BATS_TEST_DIRNAME/../..
	export MMGATE_TIMEOUT_SCALE=${MMGATE_TIMEOUT_SCALE-3}
	opts=(--kernel debian:6.12 --test 'mm/lowmem_reserve/ratio-*' --machine default --machine numa-uneven --repeat 2 --offline)
	"$root/build/mmgate" jobs "${opts[@]}" -q --out here
	"$root/build/mmgate" "${opts[@]}" -q --no-history --out one || true
	mkdir far
	cp -r here far/jobs
	for n in 1 2 3 4; do
		env -i PATH=/usr/sbin:/usr/bin:/bin HOME=/nonexistent far/jobs/runner/mmgate job far/jobs/0000$n -q || echo "$n: $?" >>status
	done
}

# run.json without times, hosts, and what a guest measured
plain() {
	jq -S 'del(.id, .command, .started, .duration_s, .jobs, .host) |
		del(.boots[] | .ended, .duration_s, .hello_s, .ready_s, .goodbye_s, .qemu_s, .firmware_s, .kernel_s, .events, .qemu) |
		del(.cases[] | .duration_s, .metrics, .diag)' "$1/run.json"
}

@test "jobs run without checkout, cache and network, and give what one host gives" {
	cd "$BATS_FILE_TMPDIR"
	[ ! -e status ]
	run "$BATS_TEST_DIRNAME/../../build/mmgate" merge far/jobs --no-history --out all
	[ "$status" = 0 ]
	[ "$(jq '[.cases[] | select(.result == "pass")] | length' all/run.json)" -ge 24 ]
	diff <(plain one) <(plain all)
	[ -s all/6.12*/numa-uneven.1/console.log ]
}

@test "a job that has its result is not run a second time" {
	cd "$BATS_FILE_TMPDIR"
	before=$(stat -c %Y far/jobs/00001/result/run.json)
	run far/jobs/runner/mmgate job far/jobs/00001
	[ "$status" = 0 ]
	[[ "$output" == *"has its result already"* ]]
	[ "$(stat -c %Y far/jobs/00001/result/run.json)" = "$before" ]
}

@test "a damaged job is broken, and gives no verdict" {
	cd "$BATS_FILE_TMPDIR"
	cp -r here bad
	printf x >>bad/00001/image
	run bad/runner/mmgate job bad/00001
	[ "$status" = 3 ]
	[[ "$output" == *"image is not the file that job.json names"* ]]
	sed -i 's/memory=.*/memory=2G/; $aabout=x' bad/00002/numa-uneven.conf
	run bad/runner/mmgate job bad/00002
	[ "$status" = 3 ]
	rm bad/00003/initramfs.cpio
	ln -s /etc/passwd bad/00003/initramfs.cpio
	run bad/runner/mmgate job bad/00003
	[ "$status" = 3 ]
	for edit in '.timeout = 99999999' '.sub = "../../x"' '.repeat = 7' '.append = ""' '.accel = "x"' '.machine = "../default"'; do
		jq "$edit" here/00004/job.json >bad/00004/job.json
		run bad/runner/mmgate job bad/00004
		[ "$status" = 3 ]
		[[ "$output" == *"is not what it should be"* ]]
	done
	[ ! -e bad/00001/result ] && [ ! -e bad/00004/result ]
}

@test "QEMU missing where a job runs is broken, not fail" {
	cd "$BATS_FILE_TMPDIR"
	mkdir bin
	for p in sh dirname readlink cp rm; do ln -sf "$(command -v $p)" bin/; done
	run env -i PATH="$PWD/bin" HOME=/nonexistent here/runner/mmgate job here/00001
	[ "$status" = 3 ]
	[[ "$output" == *"no qemu-system-x86_64 in PATH"* ]]
	[ ! -e here/00001/result ]
}

@test "what services are given has every job once, in the form they ask for" {
	cd "$BATS_FILE_TMPDIR"
	"$BATS_TEST_DIRNAME/../../build/mmgate" jobs --kernel debian:6.12 --test 'mm/lowmem_reserve/ratio-1' --machine default --repeat 450 \
		--offline -q --out many --for gitlab --for github --for jenkins --for lava
	[ "$(ls -d many/0* | wc -l)" = 450 ]
	run python3 - many <<- 'END'
		import json, re, sys
		d = sys.argv[1]
		def load(f):
		    return json.loads("".join(l for l in open(d + "/" + f) if not l.startswith("#")))
		want = ["%05d" % i for i in range(1, 451)]
		ci = load("gitlab-ci.yml")
		runs = [k for k in ci if k.startswith("run-")]
		axes = [ci[k]["parallel"]["matrix"][0]["JOB"] for k in runs]
		assert sum(axes, []) == want and max(map(len, axes)) <= 200
		for k in runs:
		    assert ci[k]["stage"] in ci["stages"] and ci[k]["script"][1] == "many/runner/mmgate job many/$JOB"
		    assert ci[k]["artifacts"] == {"when": "always", "paths": ["many/$JOB/result"]}
		assert [n["job"] for n in ci["merge"]["needs"]] == ["jobs"] + runs
		gh = load("github.yml")
		runs = [k for k in gh["jobs"] if k.startswith("run-")]
		axes = [gh["jobs"][k]["strategy"]["matrix"]["job"] for k in runs]
		assert sum(axes, []) == want and max(map(len, axes)) <= 256
		assert gh["jobs"]["merge"]["needs"] == ["jobs"] + runs and "workflow_dispatch" in gh["on"]
		for j in gh["jobs"].values():
		    for s in j["steps"]:
		        assert ("uses" in s) != ("run" in s)
		assert "--out many" in gh["jobs"]["jobs"]["steps"][1]["run"] and "--for" not in gh["jobs"]["jobs"]["steps"][1]["run"]
		groovy = open(d + "/Jenkinsfile").read()
		assert re.findall(r"'(\d{5})'", groovy) == want and groovy.count("{") == groovy.count("}")
		lava = load("00007/lava.yaml")
		assert [list(a)[0] for a in lava["actions"]] == ["deploy", "boot", "test"]
		step = lava["actions"][2]["test"]["definitions"][0]["repository"]["run"]["steps"][0]
		assert "--lava" in step and step.split(";")[0].endswith("/many/00007"), step
	END
	echo "$output"
	[ "$status" = 0 ]
	run "$BATS_TEST_DIRNAME/../../build/mmgate" jobs --for teamcity
	[ "$status" = 2 ]
}
