#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A tree of processes that fork and run programs: who was born of whom, ran what and ended how, and
# the counts of each branch against what wait4() told its parent.
# kernels: 6.1 6.12
set -u

cd "$TMPDIR" || exit 1
trap 'rm -f trace out' EXIT

"$XPUGAP" record --require task,sched -e task,sched -o trace -- "$BUILD/tests/guest/tree" 3 3 >out || exit 1
"$XPUGAP" dump --json trace | python3 -c '
import collections, json, sys

WIDTH, DEPTH = 3, 3
PREV = 2
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

by = collections.defaultdict(list)
for line in sys.stdin:
    r = json.loads(line)
    by[r["type"]].append(r)
check(not by["lost"], "records were lost")

told = {}
for line in open("out"):
    _, pid, parent, *counts = map(str, line.split())
    told[int(pid)] = (int(parent), list(map(int, counts)))
want = sum(WIDTH ** n for n in range(1, DEPTH + 1))
check(len(told) == want, len(told), "children instead of", want)

born = {r["fields"]["child_tid"]: r["tid"] for r in by["task_fork"]}
check(born == {pid: parent for pid, (parent, _) in told.items()}, "other parents", born)
ran = collections.Counter(r["tid"] for r in by["task_exec"] if r["fields"]["file"].endswith("/exe"))
check(ran == dict.fromkeys(told, 1), "programs run by", ran)
ended = {r["tid"]: r["fields"] for r in by["task_exit"]}
check(len(ended) == want + 1 and len(by["task_exit"]) == want + 1, len(by["task_exit"]), "ends")

left = collections.Counter(r["tid"] for r in by["sched_switch"] if int(r["fields"]["flags"], 0) & PREV)

def branch(pid):
    yield pid
    for child, (parent, _) in told.items():
        if parent == pid:
            yield from branch(child)

total = 0
for pid, (_, (voluntary, involuntary, minor, major, code)) in told.items():
    e = ended.get(pid)
    if not e:
        continue
    check(e["code"] == code << 8, pid, "ended with", e["code"], "instead of", code << 8)
    n = e["voluntary"] + e["involuntary"]
    check(left[pid] == n, pid, left[pid], "switches of", n)
    tasks = list(branch(pid))
    # a task is waited for before or after its last switch
    for key, value, late in (("voluntary", voluntary, 1), ("involuntary", involuntary, 1),
                             ("minor_faults", minor, 0), ("major_faults", major, 0)):
        got = sum(ended[t][key] for t in tasks if t in ended)
        check(0 <= got - value <= late * len(tasks), pid, "and its children:", got, key, "of", value)
    total += voluntary
check(total > 5 * WIDTH ** DEPTH, "the test tested nothing")
for line in fail[:20]:
    print(line)
print(len(told), "children,", sum(left.values()), "switches")
sys.exit(bool(fail))
'
