#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a traced ioctl costs, beside perf record of its two tracepoints; the bytes of an event; and
# whether targets at full speed on every cpu lose anything.
#
# XPUGAP_BENCH_SECONDS (default 120) ends the pairs if the confidence interval has not become
# narrow enough before.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/syscalls/sys_enter_ioctl ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import json, os, random, statistics, subprocess, sys, time

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
limit = float(os.environ.get("XPUGAP_BENCH_SECONDS", "120"))
loop = os.path.join(build, "tests/bench/ioctl_loop")
os.chdir(tmp)
cpus = sorted(os.sched_getaffinity(0))
PERF = ["perf", "record", "-q", "-o", "perf.data",
        "-e", "syscalls:sys_enter_ioctl,syscalls:sys_exit_ioctl"]
OURS = [xpugap, "record", "-q", "-f", "-o", "trace", "--require", "task,sched,ioctl", "--"]


def ns_per_call(*before):
    """cpu time of the target per call; what others take does not count"""
    out = subprocess.run([*before, loop, "0.3", str(cpus[-1])], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.split()
    return int(out[0]), float(out[1])


def ratio(rows):
    plain, ours, perf = (statistics.fmean(r[i] for r in rows) for i in range(3))
    return (ours - plain) / (perf - plain)


def interval(rows):
    """95 %, by resampling the triples"""
    rng = random.Random(1)
    means = sorted(ratio(rng.choices(rows, k=len(rows))) for _ in range(2000))
    return means[50], means[1950]


rows, records, ours_bytes, perf_bytes, perf_events = [], 0, 0, 0, 0
begin = time.monotonic()
while True:
    plain = ns_per_call()[1]
    calls, ours = ns_per_call(*OURS)
    records += calls
    ours_bytes += os.path.getsize("trace")
    calls, perf = ns_per_call(*PERF)
    perf_events += 2 * calls
    perf_bytes += os.path.getsize("perf.data")
    rows.append((plain, ours, perf))
    if len(rows) < 10:
        continue
    lo, hi = interval(rows)
    if (hi - lo) / 2 <= 0.005 or time.monotonic() - begin > limit:
        break

p, o, f = (statistics.median(r[i] for r in rows) for i in range(3))
print(f"an ioctl alone\t{p:.0f} ns\t-\tcpu time, median of {len(rows)}")
print(f"added by xpugap record\t{o - p:.0f} ns\t-\tall hooks attached")
print(f"added by perf record\t{f - p:.0f} ns\t-\tsys_enter_ioctl, sys_exit_ioctl")
print(f"xpugap / perf\t{ratio(rows):.3f}\t<= 0.30\t95 % CI {lo:.3f} to {hi:.3f}, {len(rows)} interleaved triples")
ours, theirs = ours_bytes / records, perf_bytes / perf_events
print(f"bytes of a record\t{ours:.2f}\t-\ttrace of {records} calls")
print(f"bytes of a perf event\t{theirs:.1f}\t-\t")
print(f"bytes, xpugap / perf\t{ours / theirs:.3f}\t<= 0.10\t")

targets = " & ".join(f"{loop} 10 {c}" for c in cpus)
subprocess.run([*OURS, "sh", "-c", f"{targets} & wait"], check=True, stdout=open("out", "w"))
made = sum(int(line.split()[0]) for line in open("out"))
lost = kept = 0
dump = subprocess.run([xpugap, "dump", "--json", "-t", "lost,hook_count,file,file_io", "trace"], check=True,
                      text=True, stdout=subprocess.PIPE).stdout
counts = {}
for line in dump.splitlines():
    r = json.loads(line)
    if r["type"] == "lost":
        lost += r["fields"]["count"]
    elif r["type"] in ("file", "file_io"):
        made += 1  # of the same hook: programs that start read files
    elif r["fields"]["hook"] == "syscall":
        counts[r["fields"]["cpu"]] = r["fields"]["hits"]
print(f"lost at full speed\t{lost}\t<= 0\t{len(cpus)} targets, 10 s, {made / 1e7:.2f} million calls/s")
print(f"calls made and not seen\t{made - sum(counts.values())}\t= 0\tof {made}")
PY
