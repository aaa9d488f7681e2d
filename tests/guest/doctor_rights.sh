#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# doctor's word on every hook, for root, for a user with CAP_BPF and CAP_PERFMON, and for nobody,
# against tables; a recording by each keeps it; and what doctor advises helps.
# kernels: 6.1 6.12
# timeout: 600
set -u

cd "$TMPDIR" || exit 1
kernel=$(uname -r | cut -d. -f1,2)
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
# the guest is shared with other tests
trap 'sysctl -q kernel.perf_event_paranoid=$paranoid; mount -o remount,gid=0,mode=700 /sys/kernel/tracing' EXIT
modprobe gpu-sched || exit 1
broken=0

# compare TABLE USER
compare() {
	"$SRC/tests/doctor_case.py" "$SRC/tests/data/doctor/$kernel.$1.tsv" "$2" || broken=1
}

sysctl -q kernel.perf_event_paranoid=3 || exit 1
for user in root bpf nobody; do
	compare $user $user
done
# what it says of performance events, and of tracefs
sysctl -q kernel.perf_event_paranoid=2 || exit 1
compare bpf-paranoid2 bpf
mount -o remount,gid=65534,mode=750 /sys/kernel/tracing || exit 1
compare bpf-paranoid2-tracefs bpf
exit $broken
