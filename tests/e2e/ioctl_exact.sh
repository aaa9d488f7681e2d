#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every ioctl of 100 forked children and their threads is recorded once, from the first of each
# child on, while other processes load the machine. CHILDREN and CALLS may be given, for machines
# that are slow.
# timeout: 300
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
children=${1:-100} calls=${2:-300}
cd "$TMPDIR" || exit 1
trap 'kill $load 2>/dev/null; wait; rm -f trace out' EXIT
load=

i=0
while [ $i -lt "$(nproc)" ]; do
	"$BUILD/tests/bench/ioctl_loop" 250 >/dev/null &
	load="$load $!"
	i=$((i + 1))
done

"$XPUGAP" record -e task,sched,ioctl --require task,sched,ioctl -o trace -- "$BUILD/tests/e2e/ioctl_tree" \
	"$children" 4 "$calls" >out || exit 1
# shellcheck disable=SC2086 # a list of words
kill $load
load=
"$XPUGAP" dump --json trace | CHILDREN=$children CALLS=$calls python3 -c '
import json, os, sys

want = int(open("out").read())
children, threads, calls = int(os.environ["CHILDREN"]), 4, int(os.environ["CALLS"])
seen = set()
counts, forks, born, first, lost, fail = {}, {}, {}, {}, 0, []
tasks = {}
for line in sys.stdin:
    r = json.loads(line)
    f = r["fields"]
    counts[r["type"]] = counts.get(r["type"], 0) + 1
    if r["type"] == "task_fork":
        born[f["child_tid"]] = f
    elif r["type"] == "lost":
        lost += f["count"]
    elif r["type"] == "hook_count" and f["hook"] == "syscall":
        tasks[f["cpu"]] = f
    elif r["type"] == "ioctl" and f["cmd"] == "0x7801":
        arg = int(f["arg"], 0)
        if arg in seen:
            fail.append(f"{arg} twice")
        seen.add(arg)
        if f["mode"] != "020666":
            fail.append("mode %s" % f["mode"])
        if f["rdev"] != "1:3":
            fail.append("rdev %s is not /dev/null" % f["rdev"])
        if f["ret"] != -25:
            fail.append("ret %s is not -ENOTTY" % f["ret"])
        if r["tid"] not in first:
            first[r["tid"]] = arg
if seen != set(range(want)):
    fail.append(f"{len(seen)} of {want} calls, the first missing is "
                f"{min(set(range(want)) - seen, default=None)}")
if lost:
    fail.append(f"{lost} lost")
if len(first) != children // 2 * threads + children // 2:
    fail.append(f"{len(first)} tasks made calls")
for tid, arg in first.items():
    if tid not in born:
        fail.append(f"no fork record of {tid}")
# the first call of each task is the first of its range
wrong = [a for a in first.values() if a % calls]
if wrong:
    fail.append(f"{len(wrong)} tasks were not seen from their first call: {wrong[:5]}")
born_n = children // 2 * (1 + threads) + children // 2
for kind, n in (("task_fork", born_n), ("task_exit", born_n + 1), ("task_exec", children // 2 + 1)):
    if counts.get(kind, 0) != n:
        fail.append(f"{counts.get(kind, 0)} {kind} records instead of {n}")
total = sum(t["records"] for t in tasks.values())
if total != counts["ioctl"] + counts.get("ioctl_blocked", 0):
    fail.append(f"the hook counted {total} records, the trace has {counts}")
print(f"{want} calls, {len(first)} tasks")
for f in fail[:20]:
    print(f)
sys.exit(bool(fail))
'
