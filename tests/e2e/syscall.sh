#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ioctls that wait, that never return, that a filter answers, and those of 32-bit programs.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out events' EXIT
prog=$BUILD/tests/e2e/ioctl_kinds

fail() {
	echo "FAIL: $*"
	cat events
	exit 1
}

record() {
	"$XPUGAP" record -q -f -o trace "$@" >out || fail "record $*"
	"$XPUGAP" dump --json -t 'ioctl*' trace >events || fail "dump"
}

# fields EXPRESSION: a jq program over the array of records must be true
holds() {
	jq -es "$1" events >/dev/null || fail "not so: $1"
}

# with the sched hook (the call is kept on the cpu and moves with the task) and without it
for probes in task,sched,ioctl ioctl; do
	record -e $probes -- "$prog" blocked
	read -r recv send fd inode <out
	recv=$(printf '"0x%x"' "$recv") send=$(printf '"0x%x"' "$send")
	holds "[.[] | select(.type == \"ioctl\" and .fields.cmd == $recv)] |
		length == 1 and .[0].fields.duration_ns > 50e6 and .[0].fields.duration_ns < 10e9
		and .[0].fields.fd == $fd and .[0].fields.inode == $inode and .[0].fields.ret == 0"
	holds "[.[] | select(.type == \"ioctl\" and .fields.cmd == $send)] | length == 1"
	if [ $probes != ioctl ]; then
		# told once, and the return tells the same beginning
		holds "([.[] | select(.type == \"ioctl_blocked\" and .fields.cmd == $recv)]) as \$b |
			([.[] | select(.type == \"ioctl\" and .fields.cmd == $recv)][0]) as \$r |
			(\$b | length) == 1 and
			\$b[0].fields.start_ns == \$r.time_ns - \$r.fields.duration_ns and
			\$b[0].fields.inode == $inode and \$b[0].tid == \$r.tid"
	fi
done

# the descriptor is closed while the call waits: the record still names the file
record -- "$prog" closed
read -r recv send fd inode <out
recv=$(printf '"0x%x"' "$recv")
holds "[.[] | select(.type == \"ioctl\" and .fields.cmd == $recv)] |
	length == 1 and .[0].fields.inode == $inode and .[0].fields.fd == $fd"
holds '[.[] | select(.fields.fd == 12345)] |
	length == 1 and .[0].fields.inode == 0 and .[0].fields.ret == "-EBADF" or .[0].fields.ret == -9'

# one that has not returned when the recording ends: the program ends long after
for probes in task,sched,ioctl ioctl; do
	: >out
	# shellcheck disable=SC2094 # read while it is written
	{ until grep -q open out; do sleep 0.1; done && sleep 4; } |
		"$XPUGAP" record -q -f -o trace -e $probes --max-duration 2 -- "$prog" open >out ||
		fail "record open"
	grep -q open out || fail "the call was not made"
	"$XPUGAP" dump --json -t 'ioctl*' trace >events
	holds '[.[] | select(.fields.cmd == "0xc0502100")] | length == 1 and .[0].type == "ioctl_blocked"'
done

# calls that a seccomp filter answers are calls
record -- "$prog" denied
holds '[.[] | select(.fields.cmd == "0x7803")] | length == 11'
holds '[.[] | select(.fields.cmd == "0x7803" and .fields.arg == "0x63")] |
	length == 5 and all(.fields.ret == -18 and .fields.duration_ns == 0)'
holds '[.[] | select(.fields.cmd == "0x7803" and .fields.arg != "0x63") | .fields.arg] ==
	["0x0", "0x1", "0x2", "0x3", "0x4", "0x5"]'

record -- "$prog" compat
if grep -q none out; then
	echo "32-bit calls: none here"
else
	holds '[.[] | select(.fields.cmd == "0x7803")] | length == 7 and
		all(.fields.rdev == "1:3") and
		([.[] | .fields.arg] | .[0] == "0xfffffff0" and .[6] == "0xfffffff6")'
	holds 'length == 7'
fi
exit 0
