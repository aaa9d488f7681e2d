#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# System calls counted in the kernel against what a program counts itself: threads and children that
# end, under load, by each way to attach, in one file and in several, and no record for a call.
# timeout: 300
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
load=''
# shellcheck disable=SC2086 # a list of words
trap 'kill $load 2>/dev/null; wait; rm -f t.* out err events' EXIT

fail() {
	echo "FAIL: $*"
	tail -20 err
	exit 1
}

n=0
while [ $n -lt "$(nproc)" ]; do
	"$BUILD/tests/bench/ioctl_loop" 200 >/dev/null &
	load="$load $!"
	n=$((n + 1))
done

check() {
	for f in t.*; do
		"$XPUGAP" dump --json "$f" 2>err || fail "dump $f"
	done >events
	python3 - <<'PY' || fail "not what the program counted ($*)"
import collections, json, platform, sys

NR = {"x86_64": (110, 35), "aarch64": (173, 101)}[platform.machine()]
want = {}
for line in open("out"):
    tid, calls, naps = map(int, line.split())
    want[tid] = (calls, naps)
count, total, longest, hist = (collections.Counter() for _ in range(4))
shortest, records, lost, bad, intervals = {}, 0, 0, [], set()
for line in open("events"):
    r = json.loads(line)
    f = r["fields"]
    if r["type"] == "lost":
        lost += f["count"]
    if r["type"] not in ("syscall_agg", "syscall_hist"):
        continue
    records += 1
    key = (r["tid"], f["nr"])
    if not f["since_ns"] < f["until_ns"] <= r["time_ns"]:
        bad.append(f"{key}: from {f['since_ns']} to {f['until_ns']} at {r['time_ns']}")
    if r["type"] == "syscall_agg":
        intervals.add(f["since_ns"])
        count[key] += f["count"]
        total[key] += f["total_ns"]
        longest[key] = max(longest[key], f["max_ns"])
    else:
        hist[key] += f["count"]
        shortest[key] = min(shortest.get(key, 99), f["log2_ns"])
for tid, (calls, naps) in want.items():
    if count[tid, NR[0]] != calls:
        bad.append(f"{tid}: {count[tid, NR[0]]} calls of {calls}")
    if count[tid, NR[1]] != naps:
        bad.append(f"{tid}: {count[tid, NR[1]]} naps of {naps}")
    if total[tid, NR[1]] < naps * 2000000 or longest[tid, NR[1]] < 2000000:
        bad.append(f"{tid}: naps of {total[tid, NR[1]]} ns, the longest {longest[tid, NR[1]]}")
    if shortest.get((tid, NR[1]), 0) < 20:
        bad.append(f"{tid}: a nap of less than 2^{shortest.get((tid, NR[1]))} ns")
if hist != count:
    bad.append("the histograms are not as many as the counts: " +
               str([(k, count[k], hist[k]) for k in count | hist if count[k] != hist[k]][:5]))
calls = sum(c for c, _ in want.values())
if records > calls / 10:
    bad.append(f"{records} records for {calls} calls")
if lost:
    bad.append(f"{lost} lost")
if len(want) < 40:
    bad.append(f"{len(want)} threads and children")
print("\n".join(bad[:20]))
sys.exit(bool(bad))
PY
	rm -f t.*
}

run() {
	"$XPUGAP" record "$@" -- "$BUILD/tests/e2e/agg_calls" 40 20000 >out 2>err || fail "record $*"
	check "$@"
}

run -e syscall:agg -o t.xpt
run -e syscall:agg,ioctl,sched -o t.xpt --rotate-time 700ms
run -e syscall:agg --no-btf -o t.xpt

# ---- who runs already: calls that begin from then on ----
"$BUILD/tests/bench/ioctl_loop" 20 >out &
load="$load $!"
"$XPUGAP" record -e syscall:agg,ioctl -o t.xpt --max-duration 2 -p $! >out 2>err || fail "-p"
"$XPUGAP" dump --json t.xpt >events 2>err || fail "dump"
python3 - <<'PY' || fail "ioctls that were recorded, and counted"
import json, platform, sys

nr = {"x86_64": 16, "aarch64": 29}[platform.machine()]
recorded = counted = 0
for line in open("events"):
    r = json.loads(line)
    recorded += r["type"] == "ioctl" and r["fields"]["cmd"] == "0x5401"
    if r["type"] == "lost":
        recorded += r["fields"]["count"]
    if r["type"] == "syscall_agg" and r["fields"]["nr"] == nr:
        counted += r["fields"]["count"]
# the recording ends in the midst of them: one may be told of in one way only
sys.exit(0 if recorded > 100 and abs(recorded - counted) <= 2 else f"{recorded}, {counted}")
PY

# ---- what cannot be ----
"$XPUGAP" record -e syscall -o t -- true 2>err && fail "without an option"
grep -q "needs an option: syscall:agg" err || fail "$(cat err)"
"$XPUGAP" record -e syscall:sum -o t -- true 2>err && fail "another option"
grep -q "unknown option 'sum'" err || fail "$(cat err)"
"$XPUGAP" record -e ioctl:agg -o t -- true 2>err && fail "of another probe"
grep -q "takes no option" err || fail "$(cat err)"
exit 0
