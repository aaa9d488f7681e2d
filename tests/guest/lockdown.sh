#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A kernel booted for secure boot (integrity): what it locks, it locks, and yet every hook attaches
# as ever and records, whoever asks for it.
# kernels: 6.12
# append: lockdown=integrity
# timeout: 600
set -u

cd "$TMPDIR" || exit 1
trap 'rm -f rows trace events' EXIT

fail() {
	echo "$*"
	exit 1
}

# the kernel itself: who could write to ports could write to memory
grep -q '\[integrity\]' /sys/kernel/security/lockdown || fail "not locked down: the test tests nothing"
(: </dev/port) 2>/dev/null && fail "/dev/port opens: the kernel is not locked down"

modprobe gpu-sched || fail "no scheduler of GPUs"
"$XPUGAP" doctor --json >rows || fail "something is missing: $(cat rows)"
jq -e 'any(.[]; .name == "lockdown" and .state == "ok" and .found == "integrity") and
	([.[] | select(.kind == "hook" and (.name | IN("sample", "pmu") | not))] |
		length >= 3 and all(.state == "ok" and (.found | endswith(" (rung 0)"))))' rows >/dev/null ||
	fail "not so: $(cat rows)"

# word for word what doctor says where nothing is locked
broken=0
for user in root bpf nobody; do
	"$SRC/tests/doctor_case.py" "$SRC/tests/data/doctor/6.12.$user.tsv" $user || broken=1
done
[ $broken = 0 ] || exit 1

# by tracepoints as well, which need tracefs; of these the kernel leaves one out here and there, where
# an interrupt meets another program on the same cpu, and says so
for btf in '' --no-btf; do
	# shellcheck disable=SC2086 # an option or none
	"$XPUGAP" record -q -f $btf -e task,sched,ioctl -o trace -- sh -c '(exit 7); exit 0' || fail "record $btf"
	"$XPUGAP" dump --json trace >events || fail "dump"
	jq -es '([.[] | select(.type == "task_exit")] | length == 2) and
		any(.type == "sched_switch") and all(.type != "lost" or .fields.why == "nested")' events >/dev/null ||
		fail "not recorded ($btf): $(cat events)"
done
exit 0
