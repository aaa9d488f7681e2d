#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A recording in several files: under full load each record is in one of them and in no other; what
# lasts is told as open in each; each opens alone; the oldest go; those of an older recording stay
# until there is a new one; a full disk costs none of the earlier ones.
# timeout: 600
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
load='' mounted=''
# shellcheck disable=SC2086 # a list of words
trap 'kill $load 2>/dev/null; wait; [ -z "$mounted" ] || umount disk; rm -rf t.* full.* k.* disk out err events said shares bad' EXIT

count() {
	echo $#
}

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

# ---- by size and time, under load: the program counts itself what it does ----
"$XPUGAP" record -o t.xpt --rotate-size 300K --rotate-time 1300ms -- "$BUILD/tests/e2e/lasting" 6000 >out 2>err ||
	fail "record"
files=$(ls t.*.xpt)
[ "$(ls t.*)" = "$files" ] || fail "left behind: $(ls t.*)"
for f in $files; do
	"$XPUGAP" info "$f" >said 2>err || fail "info $f"
	grep -q '^damage  *none' said || fail "$f is damaged"
	"$XPUGAP" report "$f" >said 2>err || fail "report $f"
	grep -q lasting said || fail "report of $f does not know the program"
	"$XPUGAP" info --json "$f" >>shares 2>err || fail "info --json $f"
	"$XPUGAP" dump --json "$f" 2>err | sed "s/^/$f /" || fail "dump $f"
done >events
python3 - <<'PY' || fail "not what the program counted"
import collections, json, sys

steps, children, calls, leader, waiter, cmd = open("out").read().split()
steps, children, calls, leader, waiter = map(int, (steps, children, calls, leader, waiter))
files = collections.OrderedDict()
for line in open("events"):
    name, text = line.split(" ", 1)
    files.setdefault(name, []).append(json.loads(text))
bad, lost = [], 0
seen, exits, marks, ranges = set(), 0, [], 0
born, forks = set(), 0
names = list(files)
# what the cpus did: a file begins with what the one before ended with, so the parts are the whole
cpus = collections.defaultdict(list)
for name, records in files.items():
    of = collections.defaultdict(list)
    for r in (r for r in records if r["type"] == "cpu_stat"):
        of[r["fields"]["cpu"]].append({k: v for k, v in r["fields"].items() if k.endswith("_ns")})
    for cpu, readings in of.items():
        cpus[cpu].append((name, readings))
for cpu, parts in cpus.items():
    for (one, before), (name, after) in zip(parts, parts[1:]):
        if after[0] != before[-1]:
            bad.append(f"{name}: cpu {cpu} begins with {after[0]}, {one} ends with {before[-1]}")
shares = collections.Counter()
text, decoder = open("shares").read().strip(), json.JSONDecoder()
while text:
    info, at = decoder.raw_decode(text)
    text = text[at:].strip()
    for c in info["cpu_times"]:
        shares[c["cpu"]] += c["total_ns"]
NAMES = "user nice system idle iowait irq softirq steal".split()
for cpu, parts in cpus.items():
    all_of = [r for name, readings in parts for r in readings]
    whole = sum(max(0, b[n + "_ns"] - a[n + "_ns"]) for a, b in zip(all_of, all_of[1:]) for n in NAMES)
    if len(parts) != len(files) or shares[cpu] != whole:
        bad.append(f"cpu {cpu}: {len(parts)} parts of {len(files)}, shares {shares[cpu]} of {whole}")
begun, ended = {}, {} # of what lasts
for r in (r for records in files.values() for r in records):
    t, f = r["type"], r["fields"]
    if t in ("range_begin", "range_end") and f["name"] == "all of it":
        (begun if t == "range_begin" else ended)["range"] = r["time_ns"]
    elif t in ("unit_begin", "unit_end"):
        (begun if t == "unit_begin" else ended)["unit"] = r["time_ns"]
    elif t == "ioctl_blocked" and f["cmd"] == cmd:
        begun.setdefault("call", r["time_ns"])
    elif t == "ioctl" and f["cmd"] == cmd:
        ended["call"] = r["time_ns"]
if len(begun) != 3 or len(ended) != 3:
    bad.append(f"what lasts: began {begun}, ended {ended}")
within = 0
for number, (name, records) in enumerate(files.items(), 1):
    head = {}
    last, own, open_calls, returned = 0, collections.Counter(), 0, 0
    tasks = set()
    for r in records:
        f, t = r["fields"], r["type"]
        own[t] += 1
        if r["time_ns"] < last:
            bad.append(f"{name}: not in order")
        last = r["time_ns"]
        if t == "lost":
            lost += f["count"] * (f["hook"] != "lock")
        elif t == "ioctl" and f["cmd"] == "0x7801":
            arg = int(f["arg"], 0)
            if arg in seen:
                bad.append(f"{name}: ioctl {arg} twice")
            seen.add(arg)
            if r["comm"] != "lasting":
                bad.append(f"{name}: who made ioctl {arg} is not known")
        elif t == "ioctl" and f["cmd"] == cmd:
            returned += 1
            if f["duration_ns"] < r["time_ns"] - begun["call"]: # it was in it already then
                bad.append(f"{name}: the call took {f['duration_ns']}")
        elif t == "ioctl_blocked" and f["cmd"] == cmd and r["tid"] == waiter:
            open_calls += 1
        elif t == "task_fork":
            forks += f["child_pid"] == f["child_tid"]
        elif t == "mark_step":
            marks.append(f["step"])
        elif t == "range_end":
            ranges += 1
        elif t == "meta":
            head[f["key"]] = f["value"]
        elif t == "task":
            tasks |= {r["tid"]} if int(f["flags"], 0) & 1 else set()
    if head.get("part.number") != str(number):
        bad.append(f"{name}: is number {head.get('part.number')}")
    if not head.get("target.command", "").endswith("lasting 6000"):
        bad.append(f"{name}: command {head.get('target.command')}")
    for t in "clock", "hook":
        if not own[t]:
            bad.append(f"{name}: no {t}")
    if not max(begun.values()) < records[0]["time_ns"] < min(ended.values()):
        continue
    within += 1
    if not {leader, waiter} <= tasks or len(tasks) > 20:
        bad.append(f"{name}: tasks {sorted(tasks)[:60]}")
    again = [r for r in records if r["type"] == "map" and r["fields"]["pid"] == leader and
             int(r["fields"]["flags"], 0) & 4]
    if not any(r["fields"]["path"].endswith("/lasting") for r in again):
        bad.append(f"{name}: does not say what the program has mapped")
    opened = {r["fields"]["name"] for r in records if r["type"] == "range_open"}
    if "all of it" not in opened:
        bad.append(f"{name}: open ranges {opened}")
    if not any(r["fields"]["unit"] == 7 for r in records if r["type"] == "unit_open"):
        bad.append(f"{name}: the unit is not open")
    if not open_calls and not returned:
        bad.append(f"{name}: the call that waits is not told of")
if within < 3:
    bad.append(f"only {within} files begin while the program runs")
if lost:
    bad.append(f"{lost} lost")
if seen != set(range(calls)):
    bad.append(f"{len(seen)} of {calls} ioctls, the first missing is "
               f"{min(set(range(calls)) - seen, default=None)}")
if marks != list(range(steps)):
    bad.append(f"{len(marks)} steps of {steps}: {marks[:3]}...")
if ranges != steps + 1:
    bad.append(f"{ranges} ends of ranges, not {steps + 1}")
if forks != children:
    bad.append(f"{forks} children of {children}")
print("\n".join(bad[:20]))
sys.exit(bool(bad))
PY
# shellcheck disable=SC2086 # a list of words
kill $load 2>/dev/null
load=

# ---- by time; only the last two stay; an older recording's are not overwritten ----
"$XPUGAP" record -e task,mark -o k --rotate-time 100ms --keep 2 -- \
	sh -c 'until [ -e k.0004.xpt ]; do sleep 0.1; done' 2>err || fail "by time"
[ "$(count k.*)" = 2 ] || fail "kept: $(ls k.*)"
first=$(printf '%s\n' k.* | sed -n 's/k\.0*\([0-9]*\)\.xpt/\1/p' | head -1)
[ "$first" -ge 3 ] || fail "the first that was kept is $first"
"$XPUGAP" record -e task -o k.xpt --rotate-time 1h -- true 2>err && fail "overwrote"
grep -q "exists (-f removes" err || fail "not said that they exist"
"$XPUGAP" record -f -e task -o k.xpt --rotate-time 1h -- true 2>err || fail "-f"
[ "$(ls k.*)" = k.0001.xpt ] || fail "after -f: $(ls k.*)"

# ---- those of an older one stay until the new one stands ----
cp k.0001.xpt said
cp k.0001.xpt k.0007.xpt
: >k.0001.xpt.part
old=$(ls k.*)
printf '#!%s/no-interpreter\n' "$TMPDIR" >bad
chmod +x bad # so all looks well up to the last moment
for how in "--rotate-time 1h" "--flight 1s"; do
	# shellcheck disable=SC2086 # words
	"$XPUGAP" record -f -e task -o k $how -- ./nothing-of-that-name 2>err && fail "ran what does not exist"
	# shellcheck disable=SC2086 # words
	"$XPUGAP" record -f -e ioctl --require sched -o k $how -- true 2>err && fail "recorded without what is required"
	# shellcheck disable=SC2086 # words
	"$XPUGAP" record -f -e task -o k $how -- ./bad 2>err && fail "ran a script without its interpreter"
	grep -q "cannot run './bad': no such file" err || fail "not said what could not be run"
	[ "$(ls k*)" = "$old" ] || fail "a recording that did not begin left $(ls k*)"
	cmp -s k.0001.xpt said || fail "a recording that did not begin took an old file away"
	cmp -s k.0007.xpt said || fail "a recording that did not begin took another away"
done
# they are in nobody's way from the first, and gone soon
# shellcheck disable=SC2016 # for that shell to expand
"$XPUGAP" record -f -e task -o k --rotate-time 1h -- sh -c 'echo k.0*
	until [ "$(echo k*)" = k.0001.xpt.part ]; do sleep 0.1; done' >out 2>err || fail "-f over others"
[ "$(cat out)" = k.0001.xpt.part ] || fail "while it records there are $(cat out)"
[ "$(ls k*)" = k.0001.xpt ] || fail "after -f over others: $(ls k*)"
cmp -s k.0001.xpt said && fail "the old one is still there"
cp k.0001.xpt k.0007.xpt
"$XPUGAP" record -f -e task -o k --flight 1h -- true 2>err || fail "-f --flight"
[ "$(ls k*)" = k.0001.xpt ] || fail "after -f --flight: $(ls k*)"

# ---- the limits of a recording hold for all files together ----
"$XPUGAP" record -f -o k --rotate-size 20K --max-size 100K -- "$BUILD/tests/bench/ioctl_loop" 3 >out 2>err ||
	fail "max-size"
size=$(cat k.*.xpt | wc -c)
[ "$size" -ge 100000 ] || fail "max-size: $size"
[ "$(count k.*)" -ge 2 ] || fail "max-size: $(ls k.*)"
"$XPUGAP" record -f -e task -o k --rotate-time 100ms --max-duration 1 -- sleep 2 2>err || fail "max-duration"
# on a busy machine it may end late; there are no more files than it has tenths of seconds all the same
for f in k.*; do
	"$XPUGAP" info --json "$f" 2>err || fail "info $f"
done | jq -es '(map(.duration_ns) | add) as $all | length <= $all / 100e6 + 2' >/dev/null || fail "max-duration: $(ls k.*)"

# ---- a full disk ----
mkdir disk
mount -t tmpfs -o size=400k tmpfs disk || { echo "cannot mount"; exit 77; }
mounted=1
"$XPUGAP" record -o disk/t --rotate-size 100K -- "$BUILD/tests/bench/ioctl_loop" 6 >out 2>err &&
	fail "a full disk is no failure"
grep -q "cannot write the trace: No space left" err || grep -qi "no space left" err || fail "not said"
calls=0
for f in disk/t.*.xpt; do
	"$XPUGAP" info "$f" >said 2>err || fail "info $f"
	grep -q '^damage  *none' said || fail "$f has no end"
	calls=$((calls + $("$XPUGAP" dump --json -t ioctl "$f" | grep -c 0x5401)))
done
[ "$(count disk/t.*.xpt)" -ge 2 ] || fail "files: $(ls disk)"
"$XPUGAP" dump --json -t ioctl disk/t.*1.xpt >/dev/null 2>err || fail "the first"
umount disk && mounted=

# ---- what cannot be ----
"$XPUGAP" record -o - --rotate-size 1M -- true 2>err && fail "to a pipe"
grep -q "numbered files" err || fail "pipe: $(cat err)"
"$XPUGAP" record -o k --keep 3 -- true 2>err && fail "keep alone"
grep -q "needs --rotate" err || fail "keep: $(cat err)"
exit 0
