#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cgroup's quota of cpu time and its freezer, as the sched hook tells of them, against the
# cgroup's own counts.
# shellcheck disable=SC2016 # what is quoted is for another shell
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
quota="" freezer="" g=""
trap 'rm -f trace out; for g in "$quota" "$freezer"; do [ -z "$g" ] || rmdir "$g"; done' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# make CONTROLLER FILE: a group under the first mount that has FILE, of either version; printed
make() {
	for root in "/sys/fs/cgroup/$1" /sys/fs/cgroup /sys/fs/cgroup/unified; do
		mkdir "$root/xpugap-test-$$" 2>/dev/null || continue
		[ ! -e "$root/xpugap-test-$$/$2" ] || { echo "$root/xpugap-test-$$" && return; }
		rmdir "$root/xpugap-test-$$"
	done
	return 1
}

flagged() {
	"$XPUGAP" dump --json -t sched_switch,lost trace | python3 -c '
import json, sys
recs = [json.loads(line) for line in sys.stdin]
if any(r["type"] == "lost" for r in recs):
    sys.exit("records were lost")
flag = int(sys.argv[1])
out = [r for r in recs if int(r["fields"]["flags"], 0) & flag]
states = {r["fields"]["prev_state"] for r in out}
print(len(out), *sorted(states))
' "$1" || fail "dump"
}

if quota=$(make cpu cpu.cfs_quota_us); then
	echo 20000 >"$quota/cpu.cfs_quota_us"
elif quota=$(make cpu cpu.max); then
	echo "20000 100000" >"$quota/cpu.max"
else
	echo "no cgroup can be made that limits cpu time"
	quota=
fi
if [ -n "$quota" ]; then
	"$XPUGAP" record -q -e sched --require sched -o trace -- sh -c \
		'echo $$ >"$1/cgroup.procs" && exec "$2" 2' sh "$quota" "$BUILD/tests/bench/ioctl_loop" \
		>out || fail "record"
	throttled=$(awk '/^nr_throttled/ { print $2 }' "$quota/cpu.stat")
	seen=$(flagged 64)
	echo "quota: throttled $throttled times; switches and their states: $seen"
	[ "$throttled" -ge 5 ] || fail "the test tested nothing"
	# a period may end between the last tick that finds the quota spent and the switch
	n=${seen%% *}
	if [ "$n" -lt $((throttled - 2)) ] || [ "$n" -gt $((throttled + 2)) ]; then
		fail "throttled"
	fi
	[ "${seen#* }" = 0 ] || fail "a throttled task is runnable"
	rm -f trace
fi

if freezer=$(make freezer cgroup.freeze); then
	freeze=1 thaw=0 file=cgroup.freeze state='grep -q "frozen 1" "$1/cgroup.events"'
elif freezer=$(make freezer freezer.state); then
	freeze=FROZEN thaw=THAWED file=freezer.state state='grep -q FROZEN "$1/freezer.state"'
else
	echo "no cgroup can be made that freezes"
	freezer=
	[ -n "$quota" ] || exit 77
	exit 0
fi
"$XPUGAP" record -q -e sched --require sched -o trace -- sh -c '
	"$2" 100 >/dev/null &
	pid=$!
	echo $pid >"$1/cgroup.procs"
	for i in 1 2 3; do
		sleep 0.1
		echo '$freeze' >"$1/'$file'"
		until '"$state"'; do sleep 0.02; done
		echo '$thaw' >"$1/'$file'"
	done
	kill $pid
	wait
	exit 0' sh "$freezer" "$BUILD/tests/bench/ioctl_loop" || fail "record"
seen=$(flagged 128)
echo "frozen 3 times; switches and their states: $seen"
[ "${seen%% *}" = 3 ] || fail "frozen"
