#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# System calls counted in the kernel against what a program counts itself: threads and children that
# end, under load, by each way to attach, in one file and in several, and no record for a call; what
# there is no room for, and that there is room again; beside the other probes.
# timeout: 600
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
load=''
# shellcheck disable=SC2086 # a list of words
trap 'kill $load 2>/dev/null; wait; rm -f t.* out err events data' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

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

NR = {"x86_64": (110, 35, 59), "aarch64": (173, 101, 221)}[platform.machine()]
want = {}
for line in open("out"):
    tid, *calls = map(int, line.split())
    want[tid] = calls
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
for tid, (calls, naps, execs) in want.items():
    if execs: # it was started itself before that
        if count[tid, NR[2]] != 2:
            bad.append(f"{tid}: started {count[tid, NR[2]]} programs")
        continue
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
calls = sum(c[0] for c in want.values())
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
run -e syscall:agg --flight 1h -o t

# ---- who runs already: calls that begin from then on ----
"$BUILD/tests/bench/ioctl_loop" 200 >out &
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
    # no filter answers these: at the end, entries are no longer seen before returns are not
    if r["type"] == "ioctl" and r["fields"]["duration_ns"] == 0:
        sys.exit(f"without an entry: {r}")
    if r["type"] == "lost":
        recorded += r["fields"]["count"]
    if r["type"] == "syscall_agg" and r["fields"]["nr"] == nr:
        counted += r["fields"]["count"]
# the recording ends in the midst of them: one may be told of in one way only
sys.exit(0 if recorded > 100 and abs(recorded - counted) <= 2 else f"{recorded}, {counted}")
PY

# shellcheck disable=SC2086 # a list of words
kill $load 2>/dev/null
load=''

# ---- more threads and numbers than there is room for: what is counted and what is lost is all ----
for way in '' --no-btf; do
	# shellcheck disable=SC2086 # an option or nothing
	"$XPUGAP" record -f -e syscall:agg $way -o t.xpt -- "$BUILD/tests/e2e/agg_calls" 40000 2>err ||
		fail "numbers $way"
	"$XPUGAP" dump --json t.xpt >events 2>err || fail "dump"
	jq -es '(map(select(.type == "syscall_agg" and .fields.nr >= 100000) | .fields)) as $a |
		(map(select(.type == "lost") | .fields)) as $l |
		($a | length) <= 32768 and ($a | length) > 32000 and ($a | all(.count == 1)) and
		($l | all(.hook == "syscall" and .why == "state")) and
		($a | map(.nr) | unique | length) == ($a | length) and
		(($l | map(.count) | add) - (40000 - ($a | length)) | . >= 0 and . < 100)' events >/dev/null ||
		fail "of 40000 numbers $(grep -c syscall_agg events), $(grep '"lost"' events)"
	"$XPUGAP" info t.xpt >out 2>err || fail "info"
	grep -q '^lost .*syscall' out || fail "info does not say it: $(grep ^lost out)"
done
"$XPUGAP" record -f -e syscall:agg -o t.xpt -- "$BUILD/tests/e2e/agg_calls" 10 2>err || fail "ten"
"$XPUGAP" dump --json -t syscall_agg t.xpt >events 2>err || fail "dump"
jq -es '(map(select(.fields.nr >= 100000 and .fields.count == 1)) | length == 10) and
	any(.fields.nr == -1 and .fields.count == 1 and .fields.flags == "0x0")' events >/dev/null ||
	fail "numbers that there are not: $(cat events)"
rm -f t.*

# ---- those of threads that have ended are forgotten: after a few readings there is room again ----
# shellcheck disable=SC2016 # for the shell that is recorded
"$XPUGAP" record -e syscall:agg -o t --rotate-time 300ms -- bash -c '
	files() {
		echo $#
	}
	"$BUILD/tests/e2e/agg_calls" 40000
	n=$(files t.*.xpt)
	until [ "$(files t.*.xpt)" -ge $((n + 5)) ]; do sleep 0.1; done
	"$BUILD/tests/e2e/agg_calls" 40 100 >out' 2>err || fail "room"
for f in t.*.xpt; do
	"$XPUGAP" dump --json -t syscall_agg "$f" 2>err || fail "dump $f"
done >events
python3 - <<'PY' || fail "no room again"
import collections, json, platform, sys

nr = {"x86_64": 110, "aarch64": 173}[platform.machine()]
want = {int(tid): int(calls) for tid, calls, *_ in map(str.split, open("out"))}
count = collections.Counter()
for r in map(json.loads, open("events")):
    if r["fields"]["nr"] == nr:
        count[r["tid"]] += r["fields"]["count"]
bad = [(t, n, count[t]) for t, n in want.items() if count[t] < n]
sys.exit(f"{bad[:5]} of {len(want)}" if bad or len(want) < 40 else 0)
PY
rm -f t.*

# ---- beside other probes, which tell of each call as without it ----
echo x >data
# shellcheck disable=SC2016 # for the shell that is recorded
"$XPUGAP" record -e task,sched,ioctl,file,syscall:agg -o t.xpt -- sh -c '
	"$BUILD/tests/bench/ioctl_loop" 1 -1 20000 && "$BUILD/tests/bench/file_loop" data 0.02 0' >out 2>err ||
	fail "beside others"
"$XPUGAP" dump --json t.xpt >events 2>err || fail "dump"
python3 - <<'PY' || fail "beside others"
import collections, json, platform, sys

NR = {"x86_64": (16, 17), "aarch64": (29, 67)}[platform.machine()]
want = [int(line.split()[0]) for line in open("out")]
seen, count, time, took, lost = *(collections.Counter() for _ in range(4)), 0
for r in map(json.loads, open("events")):
    f, t = r["fields"], r["type"]
    if t == "ioctl" and f["cmd"] == "0x5401":
        seen[0] += 1
        took[0] += f["duration_ns"]
    elif t == "file_io" and f["call"] == "pread" and f["asked"] == 1:
        seen[1] += 1
        took[1] += f["duration_ns"]
    elif t == "syscall_agg" and r["comm"] in ("ioctl_loop", "file_loop") and f["nr"] in NR:
        count[NR.index(f["nr"])] += f["count"]
        time[NR.index(f["nr"])] += f["total_ns"]
    elif t == "lost":
        lost += f["count"]
bad = [f"{seen[i]} records, {count[i]} counted of {n}" for i, n in enumerate(want)
       if seen[i] > n or seen[i] + lost < n or not n <= count[i] < n + 20]
# what is counted begins before what is recorded
bad += [f"{took[i]} ns recorded, {time[i]} counted" for i in range(2) if not 0 < took[i]]
sys.exit("; ".join(bad) + f" ({lost} lost)" if bad or len(want) != 2 else 0)
PY
rm -f t.*

# ---- with these two rights only ----
if command -v setpriv >/dev/null; then
	dir=$(mktemp -d /tmp/agg.XXXXXX)
	cp "$XPUGAP" "$BUILD/tests/e2e/agg_calls" "$dir"
	chmod -R a+rX "$dir"
	chown 65534:65534 "$dir"
	(cd "$dir" && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=+bpf,+perfmon \
		--ambient-caps=+bpf,+perfmon ./xpugap record -e syscall:agg -o t.xpt --require syscall -- \
		./agg_calls 40 20000) >out 2>err || { rm -rf "$dir"; fail "with CAP_BPF and CAP_PERFMON"; }
	mv "$dir/t.xpt" .
	rm -rf "$dir"
	check "with CAP_BPF and CAP_PERFMON"
fi

# ---- what cannot be ----
"$XPUGAP" record -e syscall -o t -- true 2>err && fail "without an option"
grep -q "needs an option: syscall:agg" err || fail "$(cat err)"
"$XPUGAP" record -e syscall:sum -o t -- true 2>err && fail "another option"
grep -q "unknown option 'sum'" err || fail "$(cat err)"
"$XPUGAP" record -e ioctl:agg -o t -- true 2>err && fail "of another probe"
grep -q "takes no option" err || fail "$(cat err)"
exit 0
