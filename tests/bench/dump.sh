#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# xpugap dump beside perf script: events a second of each, on recordings of the same program; and
# the memory that it takes for one and for ten million events.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "needs perf (Debian: linux-perf)"; exit 77; }
[ -d /sys/kernel/tracing/events/syscalls/sys_enter_ioctl ] || { echo "needs tracefs"; exit 77; }

exec python3 - <<'PY'
import os, resource, statistics, subprocess

xpugap, build, tmp = (os.environ[n] for n in ("XPUGAP", "BUILD", "TMPDIR"))
loop = os.path.join(build, "tests/bench/ioctl_loop")
os.chdir(tmp)
quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def cost(*command):
    """cpu seconds of one run whose output nobody reads; and its peak of memory"""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def lines(*command):
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return out.stdout.count(b"\n")


subprocess.run(["perf", "record", "-q", "-m", "4096", "-o", "perf.data", "-e",
                "syscalls:sys_enter_ioctl,syscalls:sys_exit_ioctl", loop, "0.5"], **quiet)
subprocess.run([xpugap, "record", "-q", "-f", "-o", "t.xpt", "--", loop, "1"], **quiet)
SCRIPT = ["perf", "script", "-i", "perf.data"]
DUMP = [xpugap, "dump", "t.xpt"]
events = {"perf": lines(*SCRIPT), "dump": lines(*DUMP)}
ratios, ours, theirs = [], [], []
for _ in range(9):
    theirs.append(events["perf"] / cost(*SCRIPT)[0])
    ours.append(events["dump"] / cost(*DUMP)[0])
    ratios.append(ours[-1] / theirs[-1])
json = events["dump"] / min(cost(xpugap, "dump", "--json", "t.xpt")[0] for _ in range(5))
print(f"dump: events/s, as a ratio to perf script\t{statistics.median(ratios):.1f}\t>= 5\t"
      f"medians {statistics.median(ours) / 1e6:.2f} M and {statistics.median(theirs) / 1e6:.2f} M")
print(f"dump --json: events/s\t{json:.0f}\t-\t")

peaks = []
for millions in (1, 10):
    subprocess.run([xpugap, "record", "-q", "-f", "--no-sync", "-o", "m.xpt", "--source",
                    f"fake:records={millions}000000"], **quiet)
    peaks.append(cost(xpugap, "dump", "m.xpt")[1])
print(f"dump: memory for 10 million events, as a ratio to 1 million\t{peaks[1] / peaks[0]:.3f}\t"
      f"<= 1.1\t{peaks[0]} and {peaks[1]} KiB")
PY
