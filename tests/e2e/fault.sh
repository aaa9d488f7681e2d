#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Page faults against the kernel's own counts: minor and major, in user and kernel mode, and those
# without an exception, while other work loads the machine.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
case $(stat -f -c %T .) in tmpfs | ramfs) echo "$TMPDIR is in memory: needs a disk" && exit 77 ;; esac
load=
trap 'kill $load 2>/dev/null; wait; rm -f trace out plain' EXIT

i=0
while [ $i -lt "$(nproc)" ]; do
	"$BUILD/tests/bench/ioctl_loop" 100 >/dev/null &
	load="$load $!"
	i=$((i + 1))
done

"$XPUGAP" record -q --require task,fault -o trace -- "$BUILD/tests/e2e/faults" file >out || exit 1
"$XPUGAP" dump --json trace | python3 -c '
import json, sys

MAJOR, KERNEL, WRITE = 1, 2, 4
recs = [json.loads(line) for line in sys.stdin]
faults = [r for r in recs if r["type"] == "fault"]
end = [r for r in recs if r["type"] == "task_exit"][-1]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

check(not any(r["type"] == "lost" and r["fields"]["hook"] != "lock" for r in recs), "records were lost")
check(all(r["tid"] == end["tid"] for r in faults), "faults of others")
begin = last = None
for line in open("out"):
    name, address, size, minor, major = line.split()
    lo, minor, major = int(address, 0), int(minor), int(major)
    pages = int(size) // 4096
    at = [i for i, r in enumerate(faults)
          if lo <= int(r["fields"]["address"], 0) < lo + int(size)]
    mine = [faults[i]["fields"] for i in at]
    kinds = [int(f["flags"], 0) for f in mine]
    majors = sum(k & MAJOR for k in kinds)
    for f in mine:
        check(f["area"] == "mmap", name, "area", f["area"])
        check(f["duration_ns"] > 0, name, "has no duration")
    if name == "write":
        begin = at[0]
        check(len(mine) == pages <= minor, name, len(mine), "of", pages, minor)
        check(all(k == WRITE for k in kinds), name, "flags", set(kinds))
    elif name == "kernel":
        check(len(mine) == pages <= minor, name, len(mine), "of", pages, minor)
        check(all(k == KERNEL | WRITE for k in kinds), name, "flags", set(kinds))
    elif name == "unseen":
        check(minor >= pages and not mine, name, len(mine), "of 0;", minor)
    elif name == "file":
        last = at[-1]
        check(len(mine) == pages, name, len(mine), "of", pages)
        check(majors == major > pages * 9 // 10, name, majors, "major of", major)
    else:
        # all that the kernel counted of the thread meanwhile, whatever it was
        between = [r["fields"] for r in faults[begin : last + 1]]
        unseen = sum(f["unseen"] for f in between[1:])
        check(len(between) + unseen == minor + major, len(between), "seen,", unseen, "unseen of",
              minor + major)
        majors = sum(int(f["flags"], 0) & MAJOR for f in between)
        check(majors == major, majors, "major of", major)
        check(unseen >= 500, "unseen", unseen)
    print(name, len(mine), "seen, the kernel counted", minor, "minor and", major, "major")
for line in fail:
    print("FAIL:", line)
sys.exit(bool(fail))
' || exit 1

# without type information: the same faults, less about each
"$XPUGAP" record -q --no-btf -e fault -o plain -- "$BUILD/tests/e2e/faults" file >out 2>/dev/null || exit 1
read -r name lo size rest <out
"$XPUGAP" dump --json -t fault plain | python3 -c '
import json, sys

name, lo, size = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3])
mine = [f for f in (json.loads(line)["fields"] for line in sys.stdin)
        if lo <= int(f["address"], 0) < lo + size]
print("plain:", len(mine))
sys.exit(len(mine) != size // 4096 or any(f["area"] != "unknown" for f in mine))
' "$name" "$lo" "$size" || { echo "FAIL: without type information"; exit 1; }
