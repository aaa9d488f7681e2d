#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# xpugap report: numbers against what a program counts itself; runs, bare traces, and inputs that
# are not well.
# timeout: 180
set -u

fakes=$BUILD/tests/fakes/xpugap
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
cd "$dir" || exit 1

fail() {
	echo "FAIL: $*"
	cat "$dir/err" "$dir/out" 2>/dev/null | head -60
	exit 1
}

# report STATUS ARGS...
report() {
	local want=$1 got
	shift
	"$XPUGAP" report "$@" >out 2>err
	got=$?
	[ "$got" = "$want" ] || fail "'report $*' exited with $got, expected $want"
	LC_ALL=C.UTF-8 grep -qP '[ \t]+$|\x1b' out && fail "'report $*': blanks at an end of line, or colour"
	[ "$want" != 0 ] || [ ! -s err ] || fail "'report $*' complained"
}

said() {
	grep -q -- "$1" "${2:-out}" || fail "nothing said of '$1'"
}

# check FILE PYTHON: assertions over the JSON object r
check() {
	python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
w = {x["name"]: x for x in r["workloads"]}
exec(sys.argv[2])' "$1" "$2" || fail "$1: not so"
}

# ---- inputs that are none ----

report 1
said "report on what?" err
report 1 nothing
said "nothing" err
mkdir empty
report 1 empty
said "'empty' is not the directory of a run" err
mkdir stray
printf 'a,b\n1,2\n' >stray/table.data
report 1 stray
said "'stray' is not the directory of a run" err
# a model, as others keep it, and what perf left there
printf '{"layers": 3}' >stray/config.json
head -c 100 /dev/urandom >stray/perf.data
report 1 stray
said "'stray' is not the directory of a run" err
[ ! -s out ] || fail "a report of nothing"
printf 'no trace at all' >bad.xpt
report 1 bad.xpt
report 2 a b
report 2 --csv --json bad.xpt
report 2 --stepps

# ---- a run without a trace ----

"$fakes" run steady crashing --size tiny --no-trace -o plain >out 2>err
report 0 plain
said "there is no trace"
said "^steady .*|    0 |   1 |"
said "^crashing, failed (1 of 1)"
said "throughput"
report 0 plain --json
check out '
assert r["trace"] is None and r["directory"] == "plain"
s = w["steady"]
assert not s["traced"] and s["status"] is None and len(s["rate"]["values"]) == 6
assert all(0.9 < v / 1e6 < 1000 for v in s["step_time_ns"]["values"]), s["step_time_ns"]
assert s["step_time_ns"]["min"] == min(s["step_time_ns"]["values"])
rows = {x["bench"]: x for x in r["milabench"]["breakdown"]}
assert rows["crashing"]["fail"] == 1 and rows["steady"]["fail"] == 0
assert r["milabench"]["failure_rate"] == 0.5'
report 0 plain --csv
[ "$(wc -l <out)" = 1 ] || fail "steps without a trace"
printf '{"event": "config", "data": {"name": "half"}}\n{"event": "da' >plain/half.D0.data
report 0 plain
said "half.D0.data' has no start"
said "1 lines of the logs are no events"
report 1 plain -r stedy
said "did you mean 'steady'" err
report 0 plain -r steady
grep -q crashing out && fail "--row shows other rows"

# ---- the newest run is the default ----

mkdir -p runs
cp -r plain runs/older
touch -d '1 hour ago' runs/older
cp -r plain runs/newer
report 0
said "runs/newer"
rm -rf runs

# ---- a trace without steps ----

"$XPUGAP" record --source fake:records=20000,lost=5000 -o fake.xpt >/dev/null 2>err || fail "record"
report 0 fake.xpt
said "no steps are marked"
said "were lost"
said ", [1-9][0-9]* lost"
n=$("$XPUGAP" info --json fake.xpt | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])')
said " $n records, " # those of the trace, not only those that the report is made from
report 0 fake.xpt --json
grep -q "\"records\": $n," out || fail "--json has other records than info's $n"

"$XPUGAP" doctor --json >doctor.json 2>/dev/null
python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))
sys.exit(not any(r["name"] == "sched" and r["state"] != "missing" for r in rows))' doctor.json || {
	echo "the kernel's hooks cannot be attached here"
	exit 77
}

# ---- numbers against what the program counts itself ----

head -1 /proc/stat >busy
"$XPUGAP" record -o marked.xpt -- "$BUILD/tests/e2e/marked" 60 >counted 2>err || fail "record"
head -1 /proc/stat >>busy
report 0 marked.xpt --json
cp out marked.json
python3 - <<'END' || fail "the report's numbers are not the program's"
import json
r = json.load(open("marked.json"))
assert r["trace"]["lost"] == 0 and r["trace"]["complete"], r["trace"]
[w] = r["workloads"]
assert w["name"] == "marked" and w["loaders"] == 1 and w["others"] == 0
steps = {s["step"]: s for s in w["steps"]}
lines = [[int(x) for x in line.split()[1:]] for line in open("counted")]
assert len(lines) == len(steps) == 60
states = "running runnable blocked stopped unknown".split()
known, excess, short = 0, [], []
for n, wmin, wmax, cpu, sleep, ioctls, vmin, vmax, imin, imax in lines:
    s = steps[n]
    total = {g: sum(s[f"{g}_{x}_ns"] for x in states) for g in ("step", "loader", "other")}
    # to the nanosecond: one step thread and one loader, once it has taken its role
    assert total["step"] == total["loader"] + total["other"] == s["wall_ns"], s
    assert n < 10 or total["other"] == 0, s
    assert wmin <= s["wall_ns"] <= wmax, (n, s["wall_ns"], wmin, wmax)
    assert s["items"] == 8
    assert s["step_ioctls"] == ioctls and s["loader_ioctls"] == 0, (n, s["step_ioctls"], ioctls)
    assert not s["lost"] and not s["gap"]
    if s["step_unknown_ns"]:
        continue # the kernel itself misses a switch now and then
    known += 1
    # interrupts and a hypervisor take from a running thread what is not its own cpu time
    if s["step_running_ns"] <= 0.98 * cpu - 1e5:
        short.append((n, s["step_running_ns"], cpu))
    excess.append(s["step_running_ns"] / cpu - 1)
    assert s["step_blocked_ns"] > 0.99 * sleep, (n, s["step_blocked_ns"], sleep)
    assert vmin <= s["step_voluntary"] <= vmax, (n, s["step_voluntary"], vmin, vmax)
    assert imin <= s["step_involuntary"] <= imax, (n, s["step_involuntary"], imin, imax)
assert known >= 50, known
# what a hypervisor takes in the midst of a switch the kernel counts for the thread that comes next
assert len(short) <= 3, short
before, after = ([int(x) for x in line.split()[1:]] for line in open("busy"))
delta = [b - a for a, b in zip(before, after)]
stolen = delta[7] / max(1, sum(delta[:3] + delta[5:8])) # of the time in which the cpus were not idle
assert sorted(excess)[len(excess) // 2] < 0.05 + 3 * stolen, (stolen, excess)
f = w["facts"]["step"]
assert f["running_ns"]["values"] == [steps[i]["step_running_ns"] for i in range(60)]
assert abs(sum(f[x + "_ns"]["share"] for x in states if x + "_ns" in f) - 1) < 1e-9
t, rates = w["throughput"], sorted(w["rate"]["values"])
span = sum(s["wall_ns"] for s in steps.values()) # each begins where the one before ends
assert t["items"] == 480 and t["time_ns"] == span
assert abs(t["items_per_s"] / (480e9 / span) - 1) < 1e-9
assert abs(t["rate_mean"] / (sum(rates) / 60) - 1) < 1e-9
assert rates[29] <= t["rate_p50"] <= rates[30]
walls = sorted(s["wall_ns"] for s in steps.values())
assert w["step_time_ns"]["max"] == walls[-1] and w["step_time_ns"]["min"] == walls[0]
assert walls[29] <= w["step_time_ns"]["p50"] <= walls[30]
assert w["facts"]["counters"]["loss"]["values"] == [10 / (1 + i) for i in range(60)]
END
report 0 marked.xpt --steps
said "^marked: 60 steps in .*, 480 items"
said "throughput .* items/s (480 items in "
said "rates of the steps: p50 .*, from .* to "
said "loaders (1)"
said "10 at first, 0.1667 at last"
said "^ *59 .* ms"
[ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 100 ] || fail "wider than 100 columns"
report 0 marked.xpt --csv
python3 - <<'END' || fail "CSV and JSON differ"
import csv, json
[w] = json.load(open("marked.json"))["workloads"]
rows = list(csv.DictReader(open("out")))
assert len(rows) == 60
for row, step in zip(rows, w["steps"]):
    assert list(row) == list(step)
    for key, v in step.items():
        got = row[key]
        want = "" if v is None else str(v).lower() if isinstance(v, bool) else str(v)
        assert got == want or float(got) == v, (key, got, v)
END

# ---- ends that are not ends ----

"$XPUGAP" record -o killed.xpt -- "$BUILD/tests/e2e/marked" 5 abort >/dev/null 2>err
report 0 killed.xpt
said "5 steps in .*one more had begun"
report 0 killed.xpt --json
check out 'assert w["marked"]["unfinished"] and len(w["marked"]["steps"]) == 5'
"$XPUGAP" record -o one.xpt -- "$BUILD/tests/e2e/marked" 1 >/dev/null 2>err || fail "record"
report 0 one.xpt --steps
said "1 steps"
"$XPUGAP" record -o none.xpt -- "$BUILD/tests/e2e/marked" 0 >/dev/null 2>err || fail "record"
report 0 none.xpt --steps
said "no steps are marked"
# a program that marks nothing: the whole recording is one span
"$XPUGAP" record -o whole.xpt -- python3 -c '
import os, resource, threading, time
def spin(s):
    t = time.thread_time()
    while time.thread_time() - t < s:
        pass
threads = [threading.Thread(target=time.sleep, args=(0.4,)) for _ in range(10)]
[t.start() for t in threads]
spin(0.2)
[t.join() for t in threads]
u = resource.getrusage(resource.RUSAGE_SELF)
print(os.getpid(), u.ru_utime + u.ru_stime, u.ru_nvcsw, u.ru_nivcsw, u.ru_minflt + u.ru_majflt)
' >counted 2>err || fail "record"
report 0 whole.xpt
said "where the time went: 1 process, 11 threads"
said "^  python3 (pid $(cut -d' ' -f1 counted)) "
said "^    3 more threads"
said "^  total "
said "xpugap_mark.step()"
said "page faults took"
[ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 100 ] || fail "wider than 100 columns"
report 0 whole.xpt --json
python3 - <<'END' || fail "the whole is not what the kernel counted"
import json
r = json.load(open("out"))["whole"]
pid, cpu, vcsw, ivcsw, faults = (float(x) for x in open("counted").read().split())
[p] = r["processes"]
assert p["sum"]["pid"] == pid and p["rest"]["threads"] == 0 == r["rest"]["threads"]
states = [x + "_ns" for x in ("running", "runnable", "blocked", "stopped", "unknown")]
threads = p["threads"]
assert len(threads) == 11
for t in threads:
    assert sum(t[s] for s in states) == t["wall_ns"] == t["end_ns"] - t["begin_ns"], t
for key in states + ["voluntary", "involuntary", "ioctls", "ioctl_ns", "faults", "fault_ns"]:
    assert sum(t[key] for t in threads) == p["sum"][key] == r["total"][key], key
lead, sleepers = threads[0], threads[1:]
assert lead["tid"] == pid and all(t["blocked_ns"] + t["unknown_ns"] > 0.39e9 for t in sleepers)
if p["sum"]["unknown_ns"] < 1e7:
    # what interrupts and a hypervisor take is none of the thread's own cpu time, but on the cpu
    assert p["sum"]["running_ns"] > 0.97 * cpu * 1e9 - 5e6, (p["sum"]["running_ns"], cpu)
    # what lies between the program's own reading and its end comes on top
    assert p["sum"]["voluntary"] >= vcsw - 2 and p["sum"]["involuntary"] >= ivcsw - 2, p["sum"]
assert p["sum"]["faults"] >= 0.9 * faults > 100, (p["sum"]["faults"], faults)
END
head -c $(($(stat -c %s marked.xpt) * 2 / 3)) marked.xpt >cut.xpt
report 1 cut.xpt
said "the trace has no end"
# who cut it is not known, so neither is how much is missing: the same words everywhere
words="no end: if the recorder was killed at most the last second is missing; if the file was cut"
for command in report info dump; do
	"$XPUGAP" $command cut.xpt 2>&1 | tr -s ' \n' ' ' | grep -q "$words" || fail "$command: other words"
done
# a file that takes no more: said once, of all hooks, and with the moment
# shellcheck disable=SC2016 # for that shell to expand
(ulimit -f 4; exec "$XPUGAP" record -o full.xpt -- sh -c 'for i in $(seq 100); do /bin/true; done') >/dev/null 2>err
report 0 full.xpt
tr -s ' \n' ' ' <out >flat
said "the recording ended early: no room on the disk.* records that came later" flat
said ", ended early, [1-9]"
grep -q "hook 'meta'" out && fail "a full disk is called a loss of hook 'meta'"
"$XPUGAP" info full.xpt >out 2>err || fail "info of a full disk"
said "^complete  *no: it ended early"
said "^lost  *the recording ended early"
said "^all .* write "
"$XPUGAP" info --json full.xpt | jq -e '.complete == false and .lost.records == (.lost.by | map(.count) | add)' >/dev/null ||
	fail "info --json of a full disk"
report 1 cut.xpt --json
check out 'assert r["trace"]["damage"]["truncated"] and not r["trace"]["complete"]'
"$XPUGAP" record -e task,mark -o blind.xpt -- "$BUILD/tests/e2e/marked" 12 >/dev/null 2>err || fail "record"
report 0 blind.xpt --steps
said "hook 'sched' was not recorded (not asked for)"
said "^marked: 12 steps"
grep -q "on cpu" out && fail "states without a scheduler's records"
"$XPUGAP" report - <marked.xpt >out 2>err || fail "not from a pipe"
said "^marked: 60 steps"

# ---- a run of the suite ----

"$fakes" run steady crashing -d cpu,null -r 2 --size tiny -o run >out 2>err
report 0 run
said "steady on null, again (1)"
said "killed by signal 11\|failed with 1" # the latter from a sanitizer
[ "$(grep -c '^crashing on\|^steady on' out)" = 8 ] || fail "not eight workloads"
report 0 run --json
check out '
names = [(x["name"], x["device"], x["repeat"]) for x in r["workloads"]]
assert sorted(names) == sorted((n, d, k) for n in ("steady", "crashing") for d in ("cpu", "null")
                               for k in (0, 1)), names
for x in r["workloads"]:
    assert x["traced"]
    if x["name"] == "steady":
        assert x["status"] == 0 and len(x["steps"]) == 6 and x["units"] == "items/s"
        for s in x["steps"]:
            assert s["step_running_ns"] + s["step_runnable_ns"] + s["step_blocked_ns"] + \
                   s["step_stopped_ns"] + s["step_unknown_ns"] == s["wall_ns"]
    else:
        assert x["status"] in (11, 139, 256), x["status"]'

# ---- and one of the real workloads ----

"$XPUGAP" run flops --size tiny -o flops >out 2>err || grep -q "LeakSanitizer has encountered" err || fail "run"
report 0 flops
said "^flops on cpu: [0-9]* steps"
said "Tflops"
said "^flops .*|    0 |   1 |"
# a device may be given with a choice; its bench is called after its kind
"$XPUGAP" run flops --size tiny -d cpu:0-1,null -o two >out 2>err || grep -q "LeakSanitizer has encountered" err || fail "run"
report 0 two --json
check out '
rows = {x["device"]: x for x in r["workloads"]}
assert sorted(rows) == ["cpu:0-1", "null"], rows
assert all(x["units"] == "Tflops" for x in rows.values())'
exit 0
