#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# --on ssh://: against a real sshd on this host, on a port and with keys of its own.

setup_file() {
	PATH=$PATH:/usr/sbin:/sbin
	for p in sshd ssh rsync ssh-keygen; do
		command -v $p >/dev/null || { echo "no $p: openssh-server and rsync are not installed" >"$BATS_FILE_TMPDIR/why"; return 0; }
	done
	[ "$(id -u)" = 0 ] || { echo "sshd needs root here" >"$BATS_FILE_TMPDIR/why"; return 0; }
	S=$(mktemp -d /tmp/fleet.XXXXXX)
	P=$((28000 + RANDOM % 4000))
	mkdir -p /run/sshd "$S/far"
	ssh-keygen -q -t ed25519 -N '' -f "$S/host"
	ssh-keygen -q -t ed25519 -N '' -f "$S/key"
	cp "$S/key.pub" "$S/authorized"
	chmod 700 "$S"
	cat >"$S/sshd_config" <<- CONF
		Port $P
		ListenAddress 127.0.0.1
		HostKey $S/host
		AuthorizedKeysFile $S/authorized
		PidFile $S/sshd.pid
		StrictModes no
		UsePAM no
		PermitRootLogin prohibit-password
		PasswordAuthentication no
		SetEnv MMGATE_TIMEOUT_SCALE=${MMGATE_TIMEOUT_SCALE-5}
	CONF
	"$(command -v sshd)" -f "$S/sshd_config" 3>&-
	for _ in $(seq 20); do [ -s "$S/sshd.pid" ] && break; sleep 0.2; done
	export S P PATH
	export MMGATE_SSH="ssh -F none -i $S/key -o UserKnownHostsFile=$S/known -o StrictHostKeyChecking=accept-new"
	export MMGATE_TIMEOUT_SCALE=${MMGATE_TIMEOUT_SCALE-5}
}

setup() {
	[ ! -f "$BATS_FILE_TMPDIR/why" ] || skip "$(cat "$BATS_FILE_TMPDIR/why")"
	mmgate=$BATS_TEST_DIRNAME/../../build/mmgate
	cd "$BATS_FILE_TMPDIR" || exit 1
	opts=(--kernel debian:6.12 --test 'mm/lowmem_reserve/ratio-*' --machine default --repeat 2 --offline --no-history)
	user=$(id -un)
}

teardown_file() {
	[ -n "${S-}" ] || return 0
	[ ! -s "$S/sshd.pid" ] || kill "$(cat "$S/sshd.pid")" || true
	rm -rf "$S"
}

plain() {
	jq -S 'del(.id, .command, .started, .duration_s, .host) |
		del(.boots[] | .ended, .duration_s, .hello_s, .ready_s, .goodbye_s, .qemu_s, .firmware_s, .kernel_s, .events, .qemu) |
		del(.cases[] | .duration_s, .metrics, .diag)' "$1/run.json"
}

@test "two boots on a host that ssh reaches are those of this host, and nothing is left there" {
	"$mmgate" "${opts[@]}" -q --out one || true
	run "$mmgate" --on "ssh://$user@127.0.0.1:$P$S/far" "${opts[@]}" --out away
	[ "$status" = 0 ]
	diff <(plain one) <(plain away)
	grep -q "$S/far" away/run.json
	[ -z "$(ls "$S/far")" ]
	[ -s away/6.12*/default.1/console.log ]
	[ ! -e away/jobs ]
}

@test "a host that does not answer is left out; without another one nothing is tested" {
	run "$mmgate" --on "ssh://$user@127.0.0.1:1" "${opts[@]}" --out none
	[ "$status" = 3 ]
	[[ "$output" == *"is left out"* ]]
	run "$mmgate" --on "ssh://$user@127.0.0.1:1" --on "ssh://$user@127.0.0.1:$P$S/far" "${opts[@]}" --out some
	[ "$status" = 0 ]
}

@test "a signal here ends what runs there" {
	"$mmgate" --on "ssh://$user@127.0.0.1:$P$S/far" "${opts[@]}" --out cut >/dev/null 2>&1 3>&- &
	pid=$!
	for _ in $(seq 60); do pgrep -f "qemu.*$S/far" >/dev/null && break; sleep 0.5; done
	pgrep -f "qemu.*$S/far"
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" = 130 ]
	for _ in $(seq 60); do pgrep -f "qemu.*$S/far" >/dev/null || break; sleep 0.5; done
	! pgrep -f "qemu.*$S/far"
}
