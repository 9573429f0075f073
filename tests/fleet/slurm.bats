#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A real slurmctld and four slurmd on this host: the run on them is the run of one host, also where a node is killed in
# the middle, an element is taken away, and the program itself is killed and goes on with --resume.

setup_file() {
	local n port
	PATH=$PATH:/usr/sbin:/sbin
	for p in munged slurmctld slurmd sbatch squeue; do
		command -v $p >/dev/null || { echo "no $p: slurm-wlm and munge are not installed" >"$BATS_FILE_TMPDIR/why"; return 0; }
	done
	[ "$(id -u)" = 0 ] || { echo "slurmd needs root here" >"$BATS_FILE_TMPDIR/why"; return 0; }
	# short: sockets have names of at most 107 bytes
	D=$(mktemp -d /tmp/fleet.XXXXXX)
	port=$((20000 + RANDOM % 8000))
	dd if=/dev/urandom of="$D/munge.key" bs=128 count=1 2>/dev/null
	chmod 600 "$D/munge.key"
	munged --force --key-file="$D/munge.key" --socket="$D/munge.sock" --pid-file="$D/munged.pid" --log-file="$D/munged.log" \
		--seed-file="$D/munge.seed" 3>&-
	cat >"$D/slurm.conf" <<- CONF
		ClusterName=mmgate
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmctldPort=$port
		AuthType=auth/munge
		AuthInfo=socket=$D/munge.sock,cred_expire=5
		SlurmUser=root
		SlurmdUser=root
		StateSaveLocation=$D/state
		SlurmdSpoolDir=$D/spool-%n
		SlurmctldPidFile=$D/slurmctld.pid
		SlurmdPidFile=$D/slurmd-%n.pid
		SlurmctldLogFile=$D/slurmctld.log
		SlurmdLogFile=$D/slurmd-%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		ReturnToService=2
		SlurmdTimeout=10
		KillWait=5
		NodeName=n[1-4] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=1 RealMemory=2000 State=UNKNOWN
		PartitionName=p Nodes=ALL Default=YES State=UP MaxTime=INFINITE
	CONF
	mkdir "$D/state"
	export D SLURM_CONF=$D/slurm.conf PATH
	slurmctld -f "$SLURM_CONF" 3>&-
	for n in 1 2 3 4; do mkdir "$D/spool-n$n"; slurmd -N n$n -f "$SLURM_CONF" 3>&-; done
	for n in $(seq 60); do [ "$(sinfo -h -N -t idle 2>/dev/null | wc -l)" = 4 ] && break; sleep 1; done
	export MMGATE_TIMEOUT_SCALE=${MMGATE_TIMEOUT_SCALE-5}
	mmgate=$BATS_TEST_DIRNAME/../../build/mmgate
	cd "$BATS_FILE_TMPDIR" || exit 1
	"$mmgate" --kernel debian:6.12 --test 'mm/lowmem_reserve/ratio-*' --machine default --repeat 4 --offline --no-history -q --out one || true
}

setup() {
	[ ! -f "$BATS_FILE_TMPDIR/why" ] || skip "$(cat "$BATS_FILE_TMPDIR/why")"
	mmgate=$BATS_TEST_DIRNAME/../../build/mmgate
	cd "$BATS_FILE_TMPDIR" || exit 1
	opts=(--kernel debian:6.12 --test 'mm/lowmem_reserve/ratio-*' --machine default --repeat 4 --offline --no-history)
}

teardown_file() {
	[ -n "${D-}" ] || return 0
	scancel -u root -Q || true
	for f in "$D"/slurmd-*.pid "$D/slurmctld.pid" "$D/munged.pid"; do
		[ ! -f "$f" ] || kill "$(cat "$f")" || true
	done
	for _ in $(seq 20); do [ -e "$D/slurmctld.pid" ] || break; sleep 0.5; done
	rm -rf "$D"
}

# run.json without times, hosts, and what a guest measured
plain() {
	jq -S 'del(.id, .command, .started, .duration_s, .host) |
		del(.boots[] | .ended, .duration_s, .hello_s, .ready_s, .goodbye_s, .qemu_s, .firmware_s, .kernel_s, .events, .qemu) |
		del(.cases[] | .duration_s, .metrics, .diag)' "$1/run.json"
}

# wait until at least $1 elements run, or $2 seconds
elements_run() {
	for _ in $(seq "$2"); do [ "$(squeue -h -r -t R | wc -l)" -ge "$1" ] && return; sleep 1; done
	return 1
}

@test "four nodes, one killed in the middle and one element taken away: the same as on one host" {
	"$mmgate" --slurm "${opts[@]}" --out four >four.out 2>four.err 3>&- &
	pid=$!
	elements_run 4 60
	job=$(sort -n four/jobs/slurm.ids | head -n 1)
	# the node dies: its daemon, and with it what it ran
	victim=$(squeue -h -r -j "${job}_2" -o %N)
	raw=$(scontrol show job "${job}_2" | sed -n 's/^JobId=\([0-9]*\).*/\1/p' | head -n 1)
	step=$(pgrep -f "^slurmstepd: \[($raw|${job}_2)\.")
	pkill -KILL -P "$step"
	kill -KILL "$step"
	kill -KILL "$(cat "$D/slurmd-$victim.pid")"
	scancel -Q "${job}_3"
	# the node comes back
	sleep 12
	rm -f "$D/slurmd-$victim.pid"
	slurmd -N "$victim" -f "$SLURM_CONF" 3>&-
	wait $pid
	status=$?
	cat four.err
	[ "$status" = 0 ]
	grep -q 'given out again: element .*_3 left' four.err
	diff <(plain one) <(plain four)
	[ ! -e four/jobs ]
}

@test "the program is killed; --resume takes what is there, and cancels what it left in the queue" {
	"$mmgate" --slurm "${opts[@]}" --jobs 2 --out killed >/dev/null 2>&1 3>&- &
	pid=$!
	for _ in $(seq 180); do ls killed/jobs/*/result/run.json >/dev/null 2>&1 && break; sleep 1; done
	kill -KILL $pid
	wait $pid || true
	had=$(ls killed/jobs/*/result/run.json | head -n 1)
	[ -n "$had" ]
	old=$(cat killed/jobs/slurm.ids)
	ln "$had" had
	run "$mmgate" --slurm "${opts[@]}" --out killed --resume
	[ "$status" = 0 ]
	[ -z "$(squeue -h -j "$old" 2>/dev/null)" ]
	diff <(plain one) <(plain killed)
	# the result that was there is the one that was taken
	[ "$(jq -r '.boots[0].ended' had)" = "$(jq -r --argjson r "$(jq .boots[0].repeat had)" '.boots[$r].ended' killed/run.json)" ]
}

@test "a job that always dies is lost, named, and broken" {
	"$mmgate" --slurm "${opts[@]}" --out lost >lost.out 2>lost.err 3>&- &
	pid=$!
	for _ in $(seq 400); do
		for j in $(cat lost/jobs/slurm.ids 2>/dev/null); do
			# the element whose line names job 2
			e=$(grep -n '^00002$' "lost/jobs/array-$(grep -n "^$j\$" lost/jobs/slurm.ids | cut -d: -f1).list" | cut -d: -f1)
			[ -z "$e" ] || scancel -Q "${j}_$e"
		done
		kill -0 $pid 2>/dev/null || break
		sleep 1
	done
	status=0
	wait $pid || status=$?
	cat lost.err
	[ "$status" = 3 ]
	grep -q 'job 00002 has no result.*given out 3 times' lost.err
	[ "$(jq -r '[.boots[].state] | join(" ")' lost/run.json)" = "goodbye lost goodbye goodbye" ]
	[ -d lost/jobs ]
}
