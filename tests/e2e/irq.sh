#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Interrupts: each wake-up that the sched hook says came from one, at the end of a wait for the
# disk, lies inside a handler or softirq that the irq hook recorded; names and numbers against
# /proc/interrupts.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
case $(stat -f -c %T .) in tmpfs | ramfs) echo "$TMPDIR is in memory: needs a disk" && exit 77 ;; esac
trap 'rm -f file before after err trace' EXIT
dd if=/dev/zero of=file bs=64k count=32 conv=fsync 2>/dev/null || exit 1
if ! dd if=file of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then
	echo "no direct I/O in $TMPDIR"
	exit 77
fi

cat /proc/interrupts >before
"$XPUGAP" record -q --require task,sched,irq -o trace -- \
	dd if=file of=/dev/null bs=4k iflag=direct 2>err || { cat err; exit 1; }
cat /proc/interrupts >after
"$XPUGAP" dump --json trace | python3 -c '
import json, sys

WAKE_TARGET, WAKE_IRQ, TARGET, WOKE = 4, 16, 1, 2
READS = 512
recs = [json.loads(line) for line in sys.stdin]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

def flags(r):
    return int(r["fields"]["flags"], 0)

def counts(path):
    found, names = {}, {}
    for line in open(path):
        number, _, rest = line.partition(":")
        if number.strip().isdigit():
            words = rest.split()
            n = [int(w) for w in words if w.isdigit()]
            found[int(number)] = sum(n)
            names[int(number)] = words[-1]
    return found, names

check(not any(r["type"] == "lost" and r["fields"]["hook"] != "lock" for r in recs), "records were lost")
targets = {r["tid"] for r in recs if r["type"] == "task_exit"}
handled = [r for r in recs if r["type"] in ("irq", "softirq")]
leave = {}
waits = inside = 0
for r in recs:
    f = r["fields"]
    if r["type"] == "sched_switch" and r["tid"] in targets:
        leave[r["tid"]] = f["prev_nr"]
    if r["type"] != "sched_waking" or f["wakee_tid"] not in targets or not flags(r) & WAKE_IRQ:
        continue
    if leave.get(f["wakee_tid"]) != 0: # a read
        continue
    waits += 1
    inside += any(h["ring"] == r["ring"] and flags(h) & WOKE and
                  h["time_ns"] - h["fields"]["duration_ns"] <= r["time_ns"] <= h["time_ns"]
                  for h in handled)
print(waits, "waits of", READS, "reads ended by interrupts,", inside, "of them in what was recorded")
# a wait may be over before its thread has left the cpu, or another task ends it
check(waits > READS // 20, "the test tested nothing:", waits, "waits")
check(inside == waits, inside, "of", waits, "wake-ups lie in a handler")

was, _ = counts("before")
now, names = counts("after")
seen = {}
for r in handled:
    check(0 < r["fields"]["duration_ns"] < 1e9, "duration", r)
    check(bool(flags(r) & TARGET) == (r["tid"] in targets), "whose time it was:", r)
    if r["type"] == "irq":
        seen[r["fields"]["irq"]] = seen.get(r["fields"]["irq"], 0) + 1
for irq, n in seen.items():
    total = now.get(irq, 0) - was.get(irq, 0)
    print("irq", irq, names.get(irq), n, "recorded of", total)
    check(0 < n <= total, "irq", irq, n, "of", total)
told = {r["fields"]["irq"]: r["text"] if "text" in r else r["fields"].get("name")
        for r in recs if r["type"] == "irq_name"}
check(set(seen) == set(told), "names of", sorted(told), "numbers", sorted(seen))
for irq, name in told.items():
    check(name == names.get(irq), "irq", irq, "is called", name, "not", names.get(irq))
for line in fail[:20]:
    print("FAIL:", line)
sys.exit(bool(fail))
' || exit 1
