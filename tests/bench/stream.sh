#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a traced read or write of a pipe or socket costs, and a traced poll, beside perf record of the
# tracepoints of both calls, and beside a recording without the probes.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/syscalls/sys_enter_read ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import os, statistics, subprocess, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "60"))
loop = os.path.join(build, "tests/bench/stream_loop")
os.chdir(tmp)
cpu = str(max(os.sched_getaffinity(0)))
RECORD = [xpugap, "record", "-q", "-f", "-o", "trace"]
OURS = [*RECORD, "--require", "stream,wait", "-e", "default,stream,wait", "--"]
WITHOUT = [*RECORD, "--"]
CALLS = {"pipe": ("read", "write"), "unix": ("read", "write"), "poll": ("poll",)}


def perf(kind):
    events = ",".join(f"syscalls:sys_{way}_{call}" for call in CALLS[kind]
                      for way in ("enter", "exit"))
    return ["perf", "record", "-q", "-B", "-N", "-o", "perf.data", "-e", events]


def ns_per_call(kind, *before):
    out = subprocess.run([*before, loop, kind, "0.2", cpu], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return float(out[1])


rows = {kind: [] for kind in CALLS}
begin = time.monotonic()
while len(rows["pipe"]) < 5 or time.monotonic() - begin < limit:
    for kind, row in rows.items():
        row.append((ns_per_call(kind), ns_per_call(kind, *OURS), ns_per_call(kind, *WITHOUT),
                    ns_per_call(kind, *perf(kind))))
for kind, row in rows.items():
    plain, ours, without, theirs = (statistics.median(c) for c in zip(*row))
    print(f"a call of {kind} alone\t{plain:.0f} ns\t-\tcpu time, median of {len(row)}")
    print(f"{kind}: added by xpugap record\t{ours - plain:.0f} ns\t-\tdefaults, stream and wait")
    print(f"{kind}: added by the defaults\t{without - plain:.0f} ns\t-\twithout stream and wait")
    print(f"{kind}: added by perf record\t{theirs - plain:.0f} ns\t-\t{' '.join(CALLS[kind])}")
PY
