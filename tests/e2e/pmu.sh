#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counters of each thread against what the kernel itself counts: faults and switches to the last one;
# by names of the kernel and of a unit.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err json' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

events=page-faults,minor-faults,context-switches,task-clock
[ -e /sys/bus/event_source/devices/msr/events/tsc ] && events=$events,msr/tsc/

# check WHAT OPTION...: record the program and compare
check() {
	what=$1
	shift
	"$XPUGAP" record -q -f "$@" -o trace -- "$BUILD/tests/e2e/counted" 4 >out 2>err ||
		fail "$what: $(cat err)"
	"$XPUGAP" dump --json trace 2>/dev/null | python3 -c '
import json, sys

WHAT = sys.argv[1]
recs = [json.loads(line) for line in sys.stdin]
fail = []

def check(ok, *what):
    if not ok:
        fail.append(" ".join(map(str, what)))

check(not any(r["type"] == "lost" for r in recs), "records were lost")
counters = {}
for r in recs:
    f = r["fields"]
    if r["type"] == "pmu_counter":
        check(f["err"] == 0, f)
        counters[f["counter"]] = f["name"]
        check(f["unit"] == ("ns" if f["name"] == "task-clock" else ""), f)
check(len(counters) == len(set(counters.values())) >= 4, "counters", counters)
sums, end = {}, {}
for r in recs:
    f = r["fields"]
    if r["type"] != "pmu_read":
        continue
    key = r["tid"], counters[f["counter"]]
    check(f["since_ns"] < r["time_ns"], "an interval that is none:", r)
    check(f["since_ns"] >= end.get(key, 0), "intervals that overlap:", r)
    check(f["running_ns"] == f["enabled_ns"] > 0, "no time:", r)
    # as long as the interval, but for the reading of the others
    check(abs(r["time_ns"] - f["since_ns"] - f["enabled_ns"]) < 5e6, "another time:", r)
    check(r["time_ns"] - f["since_ns"] < 5e8, "no tick for half a second:", r)
    end[key] = r["time_ns"]
    sums[key] = sums.get(key, 0) + f["value"]
    if key[1] == "task-clock":
        sums[r["tid"], "there"] = sums.get((r["tid"], "there"), 0) + f["enabled_ns"]
exits = {r["tid"]: r["fields"] for r in recs if r["type"] == "task_exit"}
rates = []
said = [list(map(int, line.split())) for line in open("out")]
check(len(said) == 4, "threads:", said)
for tid, minor, major, voluntary, involuntary, cpu_ns in said:
    got = lambda name: sums.get((tid, name), 0)
    x = exits.get(tid)
    if x and x["run_ns"]:  # the kernel itself; with the probe sched, at the very last switch
        more = 0 if any(r["type"] == "sched_switch" for r in recs) else 3
        fits = lambda name, n: n <= got(name) <= n + more
        minor, major = x["minor_faults"], x["major_faults"]
        voluntary, involuntary, cpu_ns = x["voluntary"], x["involuntary"], x["run_ns"]
        check(fits("minor-faults", minor), tid, "minor", got("minor-faults"), "of", minor)
        check(fits("page-faults", minor + major), tid, "faults", got("page-faults"), "of", minor + major)
        check(fits("context-switches", voluntary + involuntary), tid, "switches",
              got("context-switches"), "of", voluntary + involuntary)
    else:  # without it, what the thread did after it looked comes on top
        check(got("page-faults") >= minor + major > 300, tid, "faults", got("page-faults"))
        check(got("context-switches") >= voluntary + involuntary >= 20, tid, "switches")
    # time: what the counter was there for, as its clock is the one; the account of the scheduler has
    # other bounds where a hypervisor takes the cpu in the middle of a switch
    there = sums.get((tid, "there"), 0)
    check(abs(got("task-clock") - there) < 0.01 * there, tid, "time", got("task-clock"), "of", there)
    check(got("task-clock") > 0.5 * cpu_ns, tid, "time", got("task-clock"), "of", cpu_ns)
    print(WHAT, tid, "faults", got("page-faults"), "switches", got("context-switches"), "time",
          got("task-clock"), "of", cpu_ns)
    if got("msr/tsc/"):
        rates.append(got("msr/tsc/") / got("task-clock"))
# the processor counts time at one rate, for whomever; a hypervisor may take the cpu for a while
# between the moments at which the two counters of a thread are let go
check(not rates or max(rates) - min(rates) < 0.2 * min(rates), "rates of tsc", rates)
for line in fail[:20]:
    print("FAIL:", line)
sys.exit(bool(fail))
' "$what" || exit 1
}

check "with types:" --require pmu -e "task,sched,pmu:$events"
check "alone:" -e "pmu:$events"
check "without types:" --no-btf -e "task,pmu:$events"

# in steps: step n touched n times 100 fresh pages
"$XPUGAP" record -q -f -e mark,sched,fault,pmu:page-faults,cs -o trace -- "$BUILD/tests/e2e/counted" 1 >out 2>err ||
	fail "steps: $(cat err)"
"$XPUGAP" report --csv trace >json || fail "no report"
python3 - json <<'END' || fail "counters in steps: $(cat json)"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [int(r["step"]) for r in rows] == [1, 2, 3, 4, 5], rows
for r in rows:
    n, hook = float(r["step_page-faults"]), int(r["step_faults"])
    # the end of a step within a reading divides it by time: 10 ms of it, of what a step takes
    assert int(r["step_faults"]) >= 100 * int(r["step"]), r
    assert float(r["step_cs"]) >= 0 and float(r["loader_cs"]) == 0, r
total, hook = (sum(float(r[k]) for r in rows) for k in ("step_page-faults", "step_faults"))
assert abs(total - hook) <= 0.1 * hook + 20, (total, hook)
END
"$XPUGAP" report trace | grep -q 'page-faults' || fail "the report does not name it"
"$XPUGAP" info --json trace | python3 -c '
import json, sys
counters = {c["counter"] if "counter" in c else c["name"]: c for c in json.load(sys.stdin)["counters"]}
assert counters["page-faults"]["count"] >= 1500, counters
assert counters["page-faults"]["running_pct"] == 100, counters' || fail "info"

# the processor's, which a guest may lack: told by name, and the rest is recorded
"$XPUGAP" record -q -f -e pmu:cycles,page-faults -o trace -- true 2>err || fail "cycles: $(cat err)"
"$XPUGAP" dump --json -t pmu_counter trace >json
if grep -q '"name":"cycles".*"why":""' json; then
	"$XPUGAP" dump --json -t pmu_read trace | grep -q '"counter":1' || fail "page faults are not counted"
else
	grep -q 'cycles: the kernel has no such counter' err || fail "cycles: $(cat err)"
	grep -q '"name":"page-faults".*"why":""' json || fail "page faults are refused too: $(cat json)"
	"$XPUGAP" dump --json -t pmu_read trace | grep -q '"counter":1' || fail "page faults are not counted"
	"$XPUGAP" record -q -f -e pmu:cycles,page-faults --require pmu -o trace -- true 2>err &&
		fail "cycles are required, yet it went on"
	"$XPUGAP" record -q -f -e task,pmu:cycles -o trace -- true 2>err || fail "cycles alone: $(cat err)"
	grep -q "cannot attach probe 'pmu': cycles: the kernel has no such counter" err ||
		fail "cycles alone: $(cat err)"
fi

# refuse WHAT EVENTS: it must say WHAT, and exit with 2
refuse() {
	"$XPUGAP" record -q -f -e "pmu:$2" -o trace -- true >out 2>err
	[ $? = 2 ] || fail "$2: $(cat err)"
	grep -qF "$1" err || fail "$2: $(cat err)"
}
refuse "did you mean 'page-faults'" page-fualts
refuse "there is no unit 'nothing'" nothing/x/
refuse "expected UNIT/EVENT/" msr/tsc
refuse "more than the 8" cs,cs,cs,cs,cs,cs,cs,cs,cs
refuse "an event has a name" ""
if [ -e /sys/bus/event_source/devices/msr/events/tsc ]; then
	refuse "there is no term 'tcs'" msr/tcs/
	"$XPUGAP" record -q -f -e pmu:msr/event=0,config1=0/,cs -o trace -- true || fail "terms"
	[ "$("$XPUGAP" dump --json -t pmu_counter trace | grep -c '"why":""')" = 2 ] || fail "two counters"
fi
exit 0
