#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a traced read of a file costs, beside perf record of its two tracepoints, and what one costs
# that is looked at and not recorded (of a device).
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/syscalls/sys_enter_pread64 ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import os, statistics, subprocess, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "60"))
loop = os.path.join(build, "tests/bench/file_loop")
os.chdir(tmp)
open("data", "w").write("x")
cpu = str(max(os.sched_getaffinity(0)))
PERF = ["perf", "record", "-q", "-B", "-N", "-o", "perf.data",
        "-e", "syscalls:sys_enter_pread64,syscalls:sys_exit_pread64"]
OURS = [xpugap, "record", "-q", "-f", "-o", "trace", "--require", "task,sched,file", "--"]
WITHOUT = [xpugap, "record", "-q", "-f", "-o", "trace", "-e", "task,sched,ioctl,fault", "--"]


def ns_per_call(path, *before):
    out = subprocess.run([*before, loop, path, "0.3", cpu], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return float(out[1])


rows = []
begin = time.monotonic()
while len(rows) < 5 or time.monotonic() - begin < limit:
    rows.append((ns_per_call("data"), ns_per_call("data", *OURS), ns_per_call("data", *PERF),
                 ns_per_call("data", *WITHOUT), ns_per_call("/dev/zero"),
                 ns_per_call("/dev/zero", *OURS)))
plain, ours, perf, without, zero, seen = (statistics.median(c) for c in zip(*rows))
print(f"a pread of a file alone\t{plain:.0f} ns\t-\tcpu time, median of {len(rows)}")
print(f"added by xpugap record\t{ours - plain:.0f} ns\t-\tprobe file and all others")
print(f"added without probe file\t{without - plain:.0f} ns\t-\tprobes task, sched, ioctl, fault")
print(f"added by perf record\t{perf - plain:.0f} ns\t-\tsys_enter_pread64, sys_exit_pread64")
print(f"a pread of /dev/zero alone\t{zero:.0f} ns\t-\t")
print(f"added by xpugap record\t{seen - zero:.0f} ns\t-\tlooked at, not recorded")
PY
