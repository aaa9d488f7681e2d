#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same as tests/guest/doctor_rights.sh under this machine's kernel, and as if that had no type
# information: which rows of the tables are meant follows from what the kernel shows root.
# timeout: 120
set -u

skip() {
	echo "$*"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v setpriv >/dev/null || skip "needs setpriv"
setpriv --reuid=65534 --clear-groups --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon true ||
	skip "this root cannot give CAP_BPF and CAP_PERFMON to others"
[ -r /sys/kernel/btf/vmlinux ] || skip "the tables are for kernels with type information"
events=/sys/kernel/tracing/events
[ -r $events/sched/sched_switch/id ] || skip "the tables are for those who can read tracefs"
[ "$(stat -c %a /sys/kernel/tracing)" = 700 ] || skip "tracefs can be read by others than root"
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip "not in the first PID namespace"
grep -qs '\[confidentiality\]' /sys/kernel/security/lockdown && skip "locked down"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] || skip "performance events are open to all"

facts=
has() {
	facts="$facts $1"
}

[ -d $events/dma ] && has dma_events
[ -d $events/dma_fence ] && has fence_events
[ -d $events/gpu_scheduler ] && has jobs
[ -d $events/gpu_scheduler ] && [ ! -e /sys/kernel/btf/gpu_sched ] && has jobs_builtin
[ -d $events/io_uring ] && ! grep -qs 2 /proc/sys/kernel/io_uring_disabled && has io_uring
# without a counter of cycles there is no unit "cpu", or it has no such event
"$XPUGAP" list counters --json | jq -e '.counters[] | select(.name == "cycles") | .usable' >/dev/null &&
	has cycles

broken=0
users="root nobody bpf"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	users="root nobody"
	echo "kernel.perf_event_paranoid is above 2: what CAP_PERFMON is good for depends on patches"
fi
for user in $users; do
	# shellcheck disable=SC2086 # facts are words
	"$SRC/tests/doctor_case.py" "$SRC/tests/data/doctor/here.$user.tsv" $user $facts || broken=1
done

# an empty file in its place, for these processes only
hidden() {
	unshare -m --propagation private sh -c '
		mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"' sh "$@"
}
if hidden "$XPUGAP" doctor --json | jq -e 'any(.[]; .name == "btf" and .state == "missing")' >/dev/null; then
	# shellcheck disable=SC2086
	hidden "$SRC/tests/doctor_case.py" "$SRC/tests/data/doctor/here.nobtf.tsv" root $facts || broken=1
else
	echo "not tested without type information: it cannot be hidden here, or lies in /boot as well"
fi
exit $broken
