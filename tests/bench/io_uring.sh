#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a traced request through io_uring costs, beside perf record of its two tracepoints; and what the
# probe costs a read that does not go through io_uring, which is nothing.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/io_uring/io_uring_complete ] || { echo "needs tracefs and io_uring"; exit 77; }
"$BUILD/tests/bench/io_uring_loop" "$0" 0 0 >/dev/null || { echo "nobody may make a ring here"; exit 77; }

exec python3 - <<'PY'
import os, statistics, subprocess, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "60"))
loop = {n: os.path.join(build, "tests/bench", n + "_loop") for n in ("io_uring", "file")}
os.chdir(tmp)
open("data", "w").write("x")
cpu = str(max(os.sched_getaffinity(0)))
events = "/sys/kernel/tracing/events/io_uring/"
submit = "io_uring_submit_req" if os.path.isdir(events + "io_uring_submit_req") else "io_uring_submit_sqe"
PERF = ["perf", "record", "-q", "-B", "-N", "-o", "perf.data",
        "-e", f"io_uring:{submit},io_uring:io_uring_complete"]
RECORD = [xpugap, "record", "-q", "-f", "-o", "trace", "--require"]
OURS = [*RECORD, "io_uring", "-e", "task,sched,io_uring", "--"]
WITHOUT = [*RECORD, "task", "-e", "task,sched", "--"]


def ns_per_call(name, *before):
    out = subprocess.run([*before, loop[name], "data", "0.3", cpu], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return float(out[1])


rows = []
begin = time.monotonic()
while len(rows) < 5 or time.monotonic() - begin < limit:
    rows.append((ns_per_call("io_uring"), ns_per_call("io_uring", *OURS),
                 ns_per_call("io_uring", *PERF), ns_per_call("io_uring", *WITHOUT),
                 ns_per_call("file", *WITHOUT), ns_per_call("file", *OURS)))
plain, ours, perf, without, read, seen = (statistics.median(c) for c in zip(*rows))
print(f"a request to read alone\t{plain:.0f} ns\t-\tcpu time, 16 a call, median of {len(rows)}")
print(f"added by xpugap record\t{ours - plain:.0f} ns\t-\tprobes task, sched, io_uring")
print(f"added without probe io_uring\t{without - plain:.0f} ns\t-\tprobes task, sched")
print(f"added by perf record\t{perf - plain:.0f} ns\t-\t{submit}, io_uring_complete")
print(f"xpugap's / perf's\t{(ours - plain) / (perf - plain):.2f}\t<= 1\t")
print(f"a pread, probes task, sched\t{read:.0f} ns\t-\twithout io_uring")
print(f"probe io_uring adds to it\t{seen - read:.0f} ns\t-\tno tracepoint is passed")
PY
