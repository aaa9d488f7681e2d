#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Context switches, voluntary and not, against the kernel's own account of a thread over the same
# time; totals of children against wait4(); each wait has a wake-up before it ends.
# timeout: 120
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'kill $load 2>/dev/null; wait; rm -f trace out' EXIT

# something that displaces the target
i=0 load=
while [ $i -lt "$(nproc)" ]; do
	"$BUILD/tests/bench/ioctl_loop" 100 >/dev/null &
	load="$load $!"
	i=$((i + 1))
done

"$XPUGAP" record --require task,sched,ioctl -o trace -- "$BUILD/tests/e2e/switches" >out || exit 1
"$XPUGAP" dump --json trace | python3 -c '
import json, sys

PREEMPT, PREV, NEXT, IRQ = 1, 2, 4, 16
recs = [json.loads(line) for line in sys.stdin]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

def flags(r):
    return int(r["fields"]["flags"], 0)

exits = {r["tid"]: r["fields"] for r in recs if r["type"] == "task_exit"}
forks = {r["fields"]["child_tid"]: r for r in recs if r["type"] == "task_fork"}
switches = [r for r in recs if r["type"] == "sched_switch"]
out = {}
for r in switches:
    if flags(r) & PREV:
        out.setdefault(r["tid"], []).append(r)

check(not any(r["type"] == "lost" and r["fields"]["hook"] != "lock" for r in recs), "records were lost")
lines = [line.split() for line in open("out")]
for kind, tid, *rest in lines:
    tid = int(tid)
    v = [int(x) for x in rest]
    if kind == "thread":
        at = {int(r["fields"]["arg"], 0): r["time_ns"] for r in recs
              if r["type"] == "ioctl" and r["tid"] == tid and r["fields"]["cmd"] == "0x7802"}
        mine = [r for r in out[tid] if at[v[0]] < r["time_ns"] < at[v[1]]]
        inv = sum(flags(r) & PREEMPT for r in mine)
        check(len(mine) - inv == v[2], "voluntary", len(mine) - inv, "of", v[2])
        check(inv == v[3], "involuntary", inv, "of", v[3])
        check(v[2] >= 200 and v[3] > 0, "the test tested nothing:", v)
        # 35 is nanosleep, 230 clock_nanosleep, 0 read: all it leaves the cpu in of its own will.
        # Of 200 sleeps a few may end while it is displaced on the way to sleep.
        left = [r["fields"]["prev_nr"] for r in mine if not flags(r) & PREEMPT]
        sleeps = sum(nr in (35, 230) for nr in left)
        check(sleeps + left.count(0) == len(left), "in which system calls it waited:", left)
        check(sleeps >= 190, sleeps, "sleeps of 200 know their system call")
        # a sleep is ended by the timer interrupt, a read from a pipe by who wrote, whatever ran
        wakes = [r for r in recs if r["type"] == "sched_waking" and r["fields"]["wakee_tid"] == tid]
        by = {35: [0, 0], 230: [0, 0], 0: [0, 0]}
        for leave in mine:
            nr = leave["fields"]["prev_nr"]
            wake = next((w for w in wakes if w["time_ns"] > leave["time_ns"]), None)
            if wake and nr in by and not flags(leave) & PREEMPT:
                by[nr][bool(flags(wake) & IRQ)] += 1
        sleep, read = [a + b for a, b in zip(by[35], by[230])], by[0]
        check(sleep[0] == 0 and sleep[1] >= 190, "ends of sleeps by tasks, interrupts:", sleep)
        check(read[1] == 0 and read[0] > 0, "ends of reads by tasks, interrupts:", read)
        print("thread:", v[2], "voluntary,", v[3], "involuntary")
    else:
        e = exits.get(tid)
        check(e, "no exit record of", tid)
        if not e:
            continue
        # wait4 may come before or after the last switch of the dead child
        check(0 <= e["voluntary"] - v[0] <= 1, "child", tid, "voluntary", e["voluntary"], v[0])
        check(e["involuntary"] - v[1] in (0, 1), "child", tid, "involuntary", e["involuntary"], v[1])
        check(e["minor_faults"] == v[2], "child", tid, "minor faults", e["minor_faults"], v[2])
        check(e["major_faults"] == v[3], "child", tid, "major faults", e["major_faults"], v[3])
        check(-2 <= e["run_ns"] / 1000 - v[4] < 20000, "child", tid, "ran", e["run_ns"], "ns,", v[4], "us")
        check(e["code"] == v[5] << 8, "child", tid, "code", e["code"])
children = [line for line in lines if line[0] == "child"]
check(len(children) == 8, len(children), "children")

# every task from its birth to its end: the records add up to the kernel s own totals
for tid in forks:
    e = exits.get(tid)
    check(e, "no exit record of", tid)
    if e:
        n = len(out.get(tid, []))
        check(n == e["voluntary"] + e["involuntary"], tid, n, "switches of",
              e["voluntary"] + e["involuntary"])

# Who leaves the cpu waiting gets it back only after a wake-up. It is told when another cpu begins
# with it, which may be before the switch is seen, while the next task is looked for; and a task that
# was displaced on its way to wait may get the cpu back in between, and leave it, before it is done.
pending, woken, waits, unwoken = {}, set(), 0, 0
for r in recs:
    f = r["fields"]
    if r["type"] == "sched_waking":
        woken.add(f["wakee_tid"])
    elif r["type"] == "sched_switch":
        if flags(r) & NEXT and f["next_tid"] in pending:
            waits += 1
            unwoken += f["next_tid"] not in woken
            del pending[f["next_tid"]]
            woken.discard(f["next_tid"])
        if flags(r) & PREV:
            pending.pop(r["tid"], None)
            if not flags(r) & PREEMPT:
                pending[r["tid"]] = r
# some kernels run no programs while certain tasks have the cpu, and an interrupt that wakes may meet one
check(unwoken <= waits * 0.01, "nobody ended", unwoken, "of", waits, "waits")
# whoever displaced or woke a target has been introduced
known = {r["tid"] for r in recs if r["type"] == "task"} | set(forks)
for r in switches:
    n = r["fields"]["next_tid"]
    check(n == 0 or n in known, "who is", n)
for line in fail[:20]:
    print(line)
sys.exit(bool(fail))
'
