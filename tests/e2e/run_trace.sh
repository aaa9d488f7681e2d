#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The trace of a run: rows, steps and the kernel's records; through sudo; without rights.
set -u

fakes=$BUILD/tests/fakes/xpugap
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache

fail() {
	echo "FAIL: $*"
	cat "$dir/err" 2>/dev/null
	exit 1
}

# ---- without rights the marks are there, and it is said what is not ----

chmod 777 "$dir"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"; }
if [ "$(id -u)" = 0 ]; then
	as_user test -x "$fakes" || {
		echo "user 65534 may not run '$fakes'"
		exit 77
	}
	as_user "$fakes" run steady --size tiny -o "$dir/bare" >"$dir/out" 2>"$dir/err" ||
		fail "without rights it exited with $?"
	grep -q "cannot attach probe 'sched'.*CAP_BPF" "$dir/err" || fail "missing rights are not said"
	n=$("$fakes" dump -t mark_step "$dir/bare" | wc -l)
	[ "$n" = 7 ] || fail "$n steps without rights, expected 7"
fi

"$XPUGAP" doctor --json >"$dir/doctor" 2>/dev/null
python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))
sys.exit(not any(r["name"] == "sched" and r["state"] != "missing" for r in rows))' "$dir/doctor" || {
	echo "the kernel's hooks cannot be attached here"
	exit 77
}

# ---- all sources see the workloads, which are started when the recording goes on already ----

"$fakes" run steady --size tiny -o "$dir/maps" >"$dir/out" 2>"$dir/err" || fail "run exited with $?"
"$fakes" dump --json "$dir/maps" >"$dir/json" 2>"$dir/err" || fail "dump exited with $?"
if grep -q "hook 'sideband'\|probe 'map'" "$dir/err"; then
	echo "no mappings: perf's events cannot be had here"
else
	jq -es '(map(select(.type == "row"))[0].fields.pid) as $pid |
		any(.type == "map" and .pid == $pid and (.fields.path | endswith("/xpugap"))) and
		any(.type == "map_exit" and .pid == $pid)' "$dir/json" >/dev/null || fail "no mappings of the workload"
fi

# ---- a step that failed has no end ----

"$fakes" run stumbling nan steady -e mark --size tiny -o "$dir/failed" >"$dir/out" 2>"$dir/err"
[ $? = 1 ] || fail "exit status"
"$fakes" dump --json "$dir/failed" >"$dir/json" 2>"$dir/err" || fail "dump exited with $?"
"$fakes" report --json "$dir/failed" >"$dir/report" 2>"$dir/err" || fail "report exited with $?"
python3 - "$dir" <<'END' || fail "a step that failed counts"
import json, sys
names, marks = {}, {}
for line in open(sys.argv[1] + "/json"):
    r = json.loads(line)
    if r["type"] == "row":
        names[r["fields"]["pid"]] = r["fields"]["name"]
    elif r["type"] == "mark_step":
        marks.setdefault(r["pid"], []).append(r["fields"]["step"])
steps = {names[pid]: s for pid, s in marks.items()}
# the third fails, or computes what is no number
assert steps["stumbling"] == steps["nan"] == [0, 1, 2], steps
assert len(steps["steady"]) == 7 and steps["steady"][:6] == list(range(6)), steps
complete = {w["name"]: len(w["steps"]) for w in json.load(open(sys.argv[1] + "/report"))["workloads"]}
assert complete == {"stumbling": 2, "nan": 2, "steady": 6}, complete
END

# ---- a row whose process cannot become the program ends as it began ----

# So much environment that the program itself starts, and the process of its row, which has longer
# arguments, does not (E2BIG).
with_pad() { (
	ulimit -s 512
	n=$1
	shift
	PAD=$(head -c $((n / 2)) /dev/zero | tr '\0' x)
	export PAD PAD2=$PAD
	exec "$@"
); }
command=("$fakes" run steady -e mark --size tiny -o "$dir/big")
low=1000 high=140000
while [ $((high - low)) -gt 8 ]; do
	middle=$(((low + high) / 2))
	# as many bytes, but a command that does nothing
	with_pad $middle "$fakes" xyz steady -e mark --size tiny -o "$dir/big" >/dev/null 2>"$dir/err"
	if grep -q "rgument list too long" "$dir/err"; then
		high=$middle
	else
		low=$middle
	fi
done
with_pad $low "${command[@]}" >"$dir/out" 2>"$dir/err"
[ $? = 1 ] || fail "exit status with a full environment"
grep -q "steady.D0: cannot be started: argument list too long" "$dir/err" || fail "it was started"
"$fakes" dump --json -t row "$dir/big" >"$dir/json" || fail "dump exited with $?"
python3 - "$dir" <<'END' || fail "the row has no end"
import json, sys
begin, end = [json.loads(line)["fields"] for line in open(sys.argv[1] + "/json")]
assert begin["pid"] == end["pid"] and begin["name"] == end["name"] == "steady"
assert (begin["state"], end["state"], end["status"]) == ("begin", "end", 127 << 8), (begin, end)
END

# ---- rows and steps, and nothing of other programs ----

"$fakes" run steady crashing -d cpu,null -r 2 --size tiny -o "$dir/r" >"$dir/out" 2>"$dir/err"
[ $? = 1 ] || fail "exit status"
"$fakes" dump --json "$dir/r" >"$dir/json" 2>"$dir/err" || fail "dump exited with $?"
[ "$(stat -c %a "$dir/r/trace.xpt")" = 600 ] || fail "the trace can be read by others"
python3 - "$dir" <<'END' || fail "the trace is not as it should be"
import glob, json, sys
rows, steps, ends, switches, ranges = {}, {}, 0, 0, 0
for line in open(sys.argv[1] + "/json"):
    r = json.loads(line)
    f = r.get("fields", r)
    kind = r["type"]
    if kind == "row":
        rows.setdefault((f["name"], f["device"], f["repeat"]), []).append(r)
    elif kind == "mark_step":
        steps.setdefault(r["pid"], []).append(f)
    elif kind == "sched_switch":
        switches += 1
want = {(n, d, r) for n in ("steady", "crashing") for d in ("cpu", "null") for r in (0, 1)}
assert set(rows) == want, rows
for (name, device, repeat), (begin, end) in rows.items():
    pid = begin["fields"]["pid"]
    assert end["fields"]["pid"] == pid and begin["time_ns"] < end["time_ns"]
    assert end["fields"]["status"] & 127 == (11 if name == "crashing" else 0)
    rates = []
    data = "%s/r/%s-%s.D%d.R%d.data" % (sys.argv[1], name, device, device == "null", repeat)
    for line in open(data):
        d = json.loads(line)["data"]
        if isinstance(d, dict) and "rate" in d:
            rates.append(d)
    # a step begins before each observation; the last mark ends the last step
    s = steps[pid]
    assert len(s) == (7 if name == "steady" else 3), (name, s)
    assert len(rates) == (6 if name == "steady" else 2)
    assert all(x["items"] == 8 for x in s[1:]), s
assert switches > 100, switches
END

# ---- through sudo the workload is the caller's, and so are the files ----

if [ "$(id -u)" = 0 ]; then
	SUDO_UID=65534 SUDO_GID=65534 "$fakes" run steady nan --size tiny --data-dir "$dir/data" \
		-o "$dir/theirs" >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] || fail "through sudo it exited otherwise"
	[ "$(stat -c %u "$dir/theirs"/* | sort -u)" = 65534 ] || fail "not all files are the caller's"
	"$fakes" dump --json -t task,task_exec "$dir/theirs" >"$dir/json" || fail "dump"
	grep -q '"uid": *65534' "$dir/json" || fail "the workload did not run as the caller"
	[ "$(grep -c task_exec "$dir/json")" = 2 ] || fail "not two programs in the trace"
fi
exit 0
