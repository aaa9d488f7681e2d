#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The flight recorder: files of the last seconds on a signal, at the end, and by a condition over
# steps. In each, nothing is missing between its first record and its last, and it opens alone.
# timeout: 400
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
recorder='' target=''
# shellcheck disable=SC2086 # may be empty
trap 'kill -9 $recorder $target 2>/dev/null; wait; rm -f f.* s.* c.* out err events said' EXIT

count() {
	echo $#
}

fail() {
	echo "FAIL: $*"
	tail -20 err
	exit 1
}

until_so() {
	for _ in $(seq 1200); do
		"$@" && return
		sleep 0.1
	done
	fail "never so: $*"
}

marks() {
	[ -n "$(pgrep -P "$1" lasting)" ]
}

check() {
	"$XPUGAP" info "$1" >said 2>err || fail "info $1"
	grep -q '^damage  *none' said || fail "$1 is damaged"
	"$XPUGAP" info --json "$1" | jq -e '.lost.by | all(.hook == "lock")' >/dev/null || fail "$1: $(grep ^lost said)"
	"$XPUGAP" report "$1" >said 2>err || fail "report $1"
	"$XPUGAP" dump --json "$1" 2>err | sed "s/^/$1 /" || fail "dump $1"
}

# ---- on a signal, again, and at the end ----
"$XPUGAP" record -o f --flight 2s,16M -- "$BUILD/tests/e2e/lasting" 9000 >out 2>err &
recorder=$!
until_so grep -q "keeping the last 2 s, at most 16.0 MiB" err
until_so marks $recorder
sleep 3.5
kill -USR1 $recorder
until_so [ -e f.0001.xpt ]
sleep 0.5
kill -USR1 $recorder
until_so [ -e f.0002.xpt ]
[ ! -s out ] || { echo "too slow: the program ended before the second signal"; exit 77; }
wait $recorder || fail "record"
recorder=
[ "$(ls f.*)" = "$(printf 'f.%04u.xpt\n' 1 2 3)" ] || fail "files: $(ls f.*)"
for f in f.*.xpt; do
	check "$f"
done >events
python3 - <<'PY' || fail "not what the program counted"
import json, sys

steps, children, calls, leader, waiter, cmd = open("out").read().split()
steps, calls, leader, waiter = map(int, (steps, calls, leader, waiter))
files, bad = {}, []
for line in open("events"):
    name, text = line.split(" ", 1)
    files.setdefault(name, []).append(json.loads(text))
causes = ["SIGUSR1", "SIGUSR1", "the end of the recording"]
ends = []
for (name, records), cause in zip(files.items(), causes):
    args = [int(r["fields"]["arg"], 0) for r in records
            if r["type"] == "ioctl" and r["fields"]["cmd"] == "0x7801"]
    if args != list(range(args[0], args[-1] + 1)):
        bad.append(f"{name}: calls {args[0]} to {args[-1]} are {len(args)}")
    ends.append((args[0], args[-1]))
    marks = [r["fields"]["step"] for r in records if r["type"] == "mark_step"]
    if marks != list(range(marks[0], marks[-1] + 1)):
        bad.append(f"{name}: steps {marks[0]} to {marks[-1]} are {len(marks)}")
    facts = {r["fields"]["key"]: r["fields"]["value"] for r in records if r["type"] == "meta"}
    if facts.get("part.cause") != cause:
        bad.append(f"{name}: cause {facts.get('part.cause')}")
    if not facts.get("target.command", "").endswith("lasting 9000"):
        bad.append(f"{name}: command {facts.get('target.command')}")
    nameless = [r for r in records if r["type"] == "ioctl" and r["comm"] != "lasting"]
    if nameless:
        bad.append(f"{name}: {len(nameless)} ioctls of {nameless[0]['comm']}")
    if args[0] == 0:
        continue # slow: all of it is in the window
    if not any(r["type"] == "range_open" and r["fields"]["name"] == "all of it" for r in records):
        bad.append(f"{name}: the range is not open")
    if not any(r["type"] == "unit_open" and r["fields"]["unit"] == 7 for r in records):
        bad.append(f"{name}: the unit is not open")
    if not any(r["type"] in ("ioctl_blocked", "ioctl") and r["fields"]["cmd"] == cmd
               for r in records):
        bad.append(f"{name}: the call that waits is not told of")
    if not any(r["type"] == "map" and r["fields"]["path"].endswith("/lasting") and
               int(r["fields"]["flags"], 0) & 4 for r in records):
        bad.append(f"{name}: does not say what the program has mapped")
if ends[-1][1] != calls - 1:
    bad.append(f"the last call is {ends[-1][1]} of {calls}")
if ends[-1][0] == 0:
    bad.append("the first call is still there after 9 s")
if not ends[0][1] <= ends[1][1] <= ends[2][1]:
    bad.append(f"ends {ends}")
print("\n".join(bad[:20]))
sys.exit(bool(bad))
PY

# ---- by a condition ----
"$XPUGAP" record -e task,mark -o s --flight 30s --keep 5 --dump-on 'step > 5*p50 && step > 250ms' -- \
	"$BUILD/tests/e2e/lasting" 3000 100 >out 2>err || fail "by a condition"
[ "$(count s.*)" = 2 ] || fail "files: $(ls s.*)"
check s.0001.xpt | sed 's/^[^ ]* //' >events
python3 - <<'PY' || fail "the step is another"
import json, re, sys

records = [json.loads(line) for line in open("events")]
cause = next(r["fields"]["value"] for r in records
             if r["type"] == "meta" and r["fields"]["key"] == "part.cause")
m = re.match(r"step (\d+) of thread (\d+) took ([0-9.]+) ms \(p50 ([0-9.]+) ms\)$", cause)
times = {r["fields"]["step"]: r["time_ns"] for r in records
         if r["type"] == "mark_step" and r["tid"] == int(m[2])}
step = int(m[1])
took = (times[step + 1] - times[step]) / 1e6
durations = sorted((times[n + 1] - times[n]) / 1e6 for n in range(step) if n + 1 in times)
if abs(took - float(m[3])) > 0.001 or took < 250:
    sys.exit(f"{cause}: took {took}")
# an estimate lies between values that are near the middle
low, high = durations[int(len(durations) * 0.3)], durations[int(len(durations) * 0.7)]
if not low - 0.001 <= float(m[4]) <= high + 0.001:
    sys.exit(f"{cause}: the middle lies between {low} and {high}")
if step > 100:
    sys.exit(f"{cause}: step 100 took {times[101] - times[100]} ns")
PY

# ---- who is asked to end writes a file ----
"$BUILD/tests/e2e/lasting" 60000 >out &
target=$!
rm -f err
"$XPUGAP" record -o c.xpt --flight 1m -p $target >out 2>err &
recorder=$!
until_so grep -qs "recording process" err
kill -INT $recorder
wait $recorder || fail "after Ctrl-C"
recorder=
kill $target
[ "$(ls c.*)" = c.0001.xpt ] || fail "files: $(ls c.*)"
check c.0001.xpt >events
grep -q "the end of the recording" events || fail "cause"

# ---- what cannot be ----
refused() {
	local why=$1
	shift
	"$XPUGAP" record "$@" -- true >out 2>err && fail "took $*"
	grep -q -e "$why" err || fail "$*: $(cat err)"
}
refused "give the number a unit" --flight 1m --dump-on 'step > 1.5'
refused "'p5' is none of" --flight 1m --dump-on 'step > 1.5*p5'
refused "needs --flight" --dump-on 'step > 1s'
refused "expected a time" --flight soon
refused "expected a time" --flight 1m,much
refused "at least 1M" --flight 1m,1K
refused "at most a day" --flight 0
refused "not with --rotate" --flight 1m --rotate-size 1M
refused "not made with -o -" --flight 1m -o -
refused "says how much" --flight 1m --max-size 1M
exit 0
