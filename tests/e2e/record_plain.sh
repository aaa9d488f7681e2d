#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rungs for kernels without type information: what they can tell is as exact as on the first.
# timeout: 180
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
"$XPUGAP" doctor --json | jq -e 'any(.[]; .name == "tracefs" and .state == "ok")' >/dev/null ||
	{ echo "needs tracefs"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err events' EXIT

fail() {
	echo "FAIL: $*"
	cat err
	exit 1
}

holds() {
	jq -es "$1" events >/dev/null || fail "not so: $1"
}

"$XPUGAP" record --no-btf --require task,sched,ioctl -o trace -- "$BUILD/tests/e2e/ioctl_tree" 40 4 200 \
	>out 2>err || fail "record"
grep -q "probe 'ioctl' uses 'raw_tp'" err || fail "what is missing was not said"
"$XPUGAP" dump --json trace >events
holds '[.[] | select(.type == "hook")] | map(select(.fields.hook | IN("mark", "sideband", "sample", "pmu") | not)) |
	all(.fields.state == "degraded" and .fields.rung == (if .fields.hook == "gpu" then 2 else 1 end) and (.fields.reason | length) > 20)'
holds "[.[] | select(.type == \"ioctl\" and .fields.cmd == \"0x7801\") | .fields.arg] |
	length == $(cat out) and (unique | length) == $(cat out)"
holds '[.[] | select(.type == "ioctl" and .fields.cmd == "0x7801")] | all(.fields.ret == -25)'
holds '[.[] | select(.type == "task_fork")] | length == 120'
holds '[.[] | select(.type == "task_exit")] | length == 121'
holds '[.[] | select(.type == "task_exec")] | length == 21'
holds 'any(.type == "task" and .fields.flags == "0x1")'
# a fault's program runs: the kernel then skips those of other tracepoints on that cpu, and counts it
holds '(map(select(.type == "lost")) | all(.fields.why == "nested")) and
	(map(select(.type == "lost") | .fields.count) | add // 0) < length * 0.02'
python3 - <<'PY' || fail "one that had ended was still a target"
import json, sys

ended, seen = set(), 0
for line in open("events"):
    r = json.loads(line)
    f = r.get("fields", {})
    if r["type"] == "task_exit":
        ended.add(r["tid"])
    elif r["type"] == "task_fork":
        ended.discard(f["child_tid"])
    elif r["type"] in ("sched_switch", "sched_waking"):
        flags = int(f["flags"], 0)
        who = [(r["tid"], 2), (f["next_tid"] if "next_tid" in f else f["wakee_tid"], 4)]
        bad = [tid for tid, bit in who if tid in ended and flags & bit]
        seen += any(tid in ended for tid, _ in who)
        if bad:
            sys.exit(f"{line}: {bad} had ended")
sys.exit(not seen)
PY

# a thread other than the leader runs another program: it takes the leader's id and remains a target
"$XPUGAP" record --no-btf -f -q -o trace -- python3 -c '
import os, threading

script = "import time\nfor i in range(20): time.sleep(0.01)"
t = threading.Thread(target=lambda: os.execvp("python3", ["python3", "-c", script]))
t.start()
t.join()' >out 2>err || fail "exec by a thread"
"$XPUGAP" dump --json trace >events
python3 - <<'PY' || fail "after an exec by a thread"
import json, sys

recs = [json.loads(line) for line in open("events")]
execs = [r for r in recs if r["type"] == "task_exec" and r["fields"]["old_tid"] != r["tid"]]
end = [r for r in recs if r["type"] == "task_exit"][-1]
if len(execs) != 1 or end["tid"] != execs[0]["tid"]:
    sys.exit(f"{execs}, then {end}")
tid, at = execs[0]["tid"], execs[0]["time_ns"]
leaves = [r for r in recs if r["type"] == "sched_switch" and r["tid"] == tid
          and at < r["time_ns"] < end["time_ns"]]
print(len(leaves), "switches after it")
sys.exit(len(leaves) < 20 or any(not int(r["fields"]["flags"], 0) & 2 for r in leaves))
PY

# what this rung does not tell is refused, not replaced by what nobody asked for
"$XPUGAP" record --no-btf -f -o trace --require file -- true >out 2>err && fail "'file' was granted"
grep -q "cannot attach probe 'file': type information is not used" err || fail "no word of 'file'"
"$XPUGAP" record --no-btf -f -o trace -e file -- "$BUILD/tests/e2e/ioctl_tree" 2 1 10 >out 2>err || fail "-e file"
grep -q "cannot attach probe 'file': type information is not used" err || fail "no word of 'file'"
"$XPUGAP" dump --json trace >events
holds 'any(.type == "task_exit") and (any(.type | startswith("ioctl")) | not)'

"$XPUGAP" record --no-btf -f -q -o trace -- "$BUILD/tests/e2e/switches" >out 2>err || fail "switches"
"$XPUGAP" dump --json trace >events
read -r _ tid first last voluntary involuntary < <(grep ^thread out)
python3 - "$tid" "$first" "$last" "$voluntary" "$involuntary" <<'PY' || fail "switches"
import json, sys

tid, first, last, voluntary, involuntary = map(int, sys.argv[1:])
recs = [json.loads(line) for line in open("events")]
at = {int(r["fields"]["arg"], 0): r["time_ns"] for r in recs
      if r["type"] == "ioctl" and r["tid"] == tid and r["fields"]["cmd"] == "0x7802"}
mine = [r for r in recs if r["type"] == "sched_switch" and r["tid"] == tid
        and at[first] < r["time_ns"] < at[last]]
inv = sum(int(r["fields"]["flags"], 0) & 1 for r in mine)
print(len(mine) - inv, voluntary, inv, involuntary)
sys.exit(len(mine) - inv != voluntary or inv != involuntary)
PY

# where the kernel skipped the end of a wait, the next one must not be told to have begun with it: a
# thread faults in nothing while it waits
"$XPUGAP" record --no-btf -f -q -e fault,lock -o trace -- "$BUILD/tests/e2e/locks" >out 2>err || fail "locks"
"$XPUGAP" dump --json -t lock_wait,fault,lost trace >events
python3 - <<'PY' || fail "a wait goes on while its thread faults"
import bisect, json, sys

recs = [json.loads(line) for line in open("events")]
lost = [(r["fields"]["since_ns"], r["time_ns"]) for r in recs if r["type"] == "lost"]
faults, waits = {}, 0
for r in recs:
    if r["type"] == "fault":
        faults.setdefault(r["tid"], []).append(r["time_ns"])
for r in recs:
    if r["type"] != "lock_wait":
        continue
    waits += 1
    begin, end = r["time_ns"] - r["fields"]["duration_ns"], r["time_ns"]
    mine = faults.get(r["tid"], [])
    i = bisect.bisect_right(mine, begin)
    if i < len(mine) and mine[i] < end and not any(b <= end and begin <= e for b, e in lost):
        sys.exit(f"{r}: a fault at {mine[i]}")
sys.exit(waits < 2)
PY

"$XPUGAP" record --no-btf -f -q -o trace -- "$BUILD/tests/e2e/ioctl_kinds" blocked >out 2>err || fail "blocked"
"$XPUGAP" dump --json -t 'ioctl*' trace >events
holds '[.[] | select(.type == "ioctl_blocked" and .fields.cmd == "0xc0502100")] | length == 1'
holds '[.[] | select(.type == "ioctl" and .fields.cmd == "0xc0502100")] |
	length == 1 and .[0].fields.duration_ns > 50e6'
"$XPUGAP" record --no-btf -f -q -o trace -- "$BUILD/tests/e2e/ioctl_kinds" denied >out 2>err || fail "denied"
"$XPUGAP" dump --json -t 'ioctl*' trace >events
holds '[.[] | select(.fields.cmd == "0x7803")] | length == 11'
sleep 6 | "$XPUGAP" record --no-btf -q -f -o trace --max-duration 2 -- "$BUILD/tests/e2e/ioctl_kinds" open >out 2>err
"$XPUGAP" dump --json -t 'ioctl*' trace >events
holds '[.[] | select(.fields.cmd == "0xc0502100")] | length == 1 and .[0].type == "ioctl_blocked"'
exit 0
