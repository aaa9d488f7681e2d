#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What finds no room is counted exactly: with rings far too small, and with a recorder that is
# stopped for a while, records plus losses are the calls that were made.
# timeout: 120
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err dump' EXIT

check() {
	"$XPUGAP" dump --json trace 2>err | python3 -c '
import json, sys

made = int(open("out").read().split()[0])
kept, lost, counts, spans = 0, 0, {}, []
for line in sys.stdin:
    r = json.loads(line)
    f = r["fields"]
    if r["type"] == "ioctl" and f["cmd"] == "0x5401" and r["comm"] == "ioctl_loop":
        kept += 1
    elif r["type"] == "lost" and f["hook"] == "syscall":
        lost += f["count"]
        spans.append((f["since_ns"], r["time_ns"]))
        assert f["since_ns"] <= r["time_ns"], f
        assert f["why"] in ("ring", 1), f
    elif r["type"] == "hook_count" and f["hook"] == "syscall":
        counts[f["cpu"]] = f
print(f"{made} calls: {kept} recorded, {lost} lost in {len(spans)} intervals")
assert kept + lost == made, "they do not add up"
assert sum(c["hits"] for c in counts.values()) == made, counts
assert sum(c["lost"] for c in counts.values()) == lost, counts
assert lost > 0, "the test tested nothing"
' || { cat err; exit 1; }
}

# the smallest rings there are, but on 16 cpus and fewer
cpus=$(sed 's/.*[,-]//' /sys/devices/system/cpu/possible)
cpus=$((cpus + 1))
"$XPUGAP" record --no-priority -e task,sched,ioctl --memory $((4 * (cpus > 16 ? cpus : 16)))K -o trace -- \
	"$BUILD/tests/bench/ioctl_loop" 2 >out 2>err || exit 1
grep -q 'LOST' err || { echo "the loss was not said"; cat err; exit 1; }
check

"$XPUGAP" record -f -e task,sched,ioctl --memory 4M -o trace -- sh -c "echo \$\$ >&2; exec '$BUILD/tests/bench/ioctl_loop' 7" >out 2>err &
pid=$!
while [ "$(cat /proc/"$(cat err)"/comm 2>/dev/null)" != ioctl_loop ]; do sleep 0.05; done
kill -STOP $pid
sleep 5
kill -CONT $pid
wait $pid || { cat err; exit 1; }
check
exit 0
