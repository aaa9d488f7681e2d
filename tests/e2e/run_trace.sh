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
