#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What it costs to count all system calls in the kernel (syscall:agg): on a call of a target, beside
# perf record of the two tracepoints of all calls, and on a call of who is none.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/raw_syscalls/sys_enter ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import os, statistics, subprocess, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "60"))
loop = os.path.join(build, "tests/bench/file_loop")
os.chdir(tmp)
cpu = str(max(os.sched_getaffinity(0)))
PERF = ["perf", "record", "-q", "-B", "-N", "-o", "perf.data",
        "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"]


def record(probes):
    return [xpugap, "record", "-q", "-f", "-o", "trace", "-e", probes, "--require", "task"]


WITHOUT = record("task,sched,ioctl,file")
COUNTED = record("task,sched,ioctl,file,syscall:agg")


def ns_per_call(*before):
    """a call that is neither an ioctl nor of a file"""
    out = subprocess.run([*before, loop, "/dev/zero", "0.3", cpu], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return float(out[1])


def beside(record):
    """of who is no target"""
    with subprocess.Popen([*record, "--", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        ns = ns_per_call()
        p.stdin.close()
        p.stdout.read()
    return ns


rows = []
begin = time.monotonic()
while len(rows) < 5 or time.monotonic() - begin < limit:
    rows.append((ns_per_call(), ns_per_call(*WITHOUT, "--"), ns_per_call(*COUNTED, "--"),
                 ns_per_call(*PERF), beside(WITHOUT), beside(COUNTED)))
plain, without, counted, perf, other, other_counted = (statistics.median(c) for c in zip(*rows))
print(f"a pread of /dev/zero alone\t{plain:.0f} ns\t-\tcpu time, median of {len(rows)}")
print(f"added without counting\t{without - plain:.0f} ns\t-\tprobes task, sched, ioctl, file")
print(f"added by counting\t{counted - without:.0f} ns\t-\tprobe syscall:agg besides")
print(f"added by perf record\t{perf - plain:.0f} ns\t-\traw_syscalls:sys_enter, sys_exit")
print(f"added to who is no target\t{other_counted - other:.0f} ns\t-\tby counting, besides "
      f"{other - plain:.0f} ns by the others")
PY
