#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Waits for the lock of an address space: for each page fault that the program itself saw to take
# long, the wait, its length and who held the lock.
set -u
# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err events' EXIT

for _ in 1 2 3 4 5 6; do
	"$XPUGAP" record -q -f -e lock --require task,lock -o trace -- "$BUILD/tests/e2e/locks" >out 2>err ||
		fail "record"
	"$XPUGAP" dump --json -t lock_wait,lost trace >events 2>err || fail "dump"
	whole lock && break
done
python3 -c '
import json, sys

MMAP, READ = 256, 2
recs = [json.loads(line) for line in open("events")]
lines = [[int(w) for w in line.split()] for line in open("out")]
(forker, faulter), slow = lines[0], lines[1:]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

check(not any(r["type"] == "lost" for r in recs), "records were lost")
waits = [r for r in recs if r["type"] == "lock_wait" and r["tid"] == faulter
         and int(r["fields"]["flags"], 0) & MMAP]
held = explained = 0
for begin, end in slow:
    mine = [r for r in waits if begin <= r["time_ns"] - r["fields"]["duration_ns"] <= r["time_ns"] <= end]
    waited = sum(r["fields"]["duration_ns"] for r in mine)
    explained += waited > 0.8 * (end - begin)
    held += any(r["fields"]["holder_tid"] == forker for r in mine)
    check(waited <= end - begin, "longer than the fault:", waited, end - begin)
print(len(slow), "slow faults,", explained, "explained by the lock,", held, "with its holder")
check(len(slow) >= 2, "the test tested nothing")
# others are held up by the hypervisor
check(explained >= len(slow) * 0.7, explained, "explained of", len(slow))
check(held >= explained * 0.9, held, "with holder of", explained)
for line in fail:
    print("FAIL:", line)
sys.exit(bool(fail))
'
