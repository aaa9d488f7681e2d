#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a traced wait for a futex costs, beside perf record of its two tracepoints: one that ends at
# once, one whose owner is looked up, one that sleeps; and what a wake-up and another call cost,
# which are not recorded.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/syscalls/sys_enter_futex ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import os, statistics, subprocess, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "90"))
loop = os.path.join(build, "tests/bench/futex_loop")
os.chdir(tmp)
cpu = str(max(os.sched_getaffinity(0)))
RECORD = [xpugap, "record", "-q", "-f", "-o", "trace"]
WITH = [*RECORD, "-e", "task,sched,ioctl,file,futex", "--require", "futex", "--"]
WITHOUT = [*RECORD, "-e", "task,sched,ioctl,file", "--"]
PERF = ["perf", "record", "-q", "-B", "-N", "-o", "perf.data",
        "-e", "syscalls:sys_enter_futex,syscalls:sys_exit_futex"]
KINDS = {"again": "a wait that ends at once", "owned": "the same, its owner looked up",
         "pair": "a wait that sleeps, there and back", "wake": "a wake-up, not recorded",
         "other": "another call"}


def ns_per_call(kind, *before):
    out = subprocess.run([*before, loop, kind, "0.2", cpu], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return float(out[1])


rows = []
begin = time.monotonic()
while len(rows) < 5 or time.monotonic() - begin < limit:
    rows.append([ns_per_call(kind, *before) for kind in KINDS
                 for before in ([], WITH, WITHOUT, PERF)])
columns = [statistics.median(c) for c in zip(*rows)]
for i, what in enumerate(KINDS.values()):
    plain, ours, without, perf = columns[4 * i:4 * i + 4]
    print(f"{what}\t{plain:.0f} ns\t-\tuntraced, cpu time, median of {len(rows)}")
    print(f"added by the probe futex\t{ours - without:.0f} ns\t-\t"
          f"{ours - plain:.0f} with task, sched, ioctl and file; {perf - plain:.0f} by perf record")
PY
