#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# xpugap list: everything, one kind, one workload; as text and as JSON.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fakes=$BUILD/tests/fakes/xpugap

fail() {
	echo "FAIL: $*"
	cat "$dir"/*
	exit 1
}

"$XPUGAP" list >"$dir/out" 2>"$dir/err" || fail "exit status $?"
for kind in workloads devices sizes probes counters hooks sources; do
	grep -qx "$kind" "$dir/out" || fail "no $kind"
done
[ -s "$dir/err" ] && fail "something on standard error"
grep -q 'True\|False' "$dir/out" && fail "booleans as Python has them"
grep -q '^sched  *sched  *yes ' "$dir/out" || fail "'sched' is not on by default"
grep -q '^sample  *sample  *no ' "$dir/out" || fail "'sample' is on by default"
"$XPUGAP" list --json >"$dir/json" || fail "exit status $?"
python3 - "$dir/json" <<'END' || fail "the JSON is not as it should be"
import json, sys
x = json.load(open(sys.argv[1]))
assert list(x) == ["workloads", "devices", "sizes", "probes", "counters", "hooks", "sources"]
assert [s["name"] for s in x["sizes"]] == ["tiny", "small", "full"]
assert {"cpu", "null"} <= {d["name"] for d in x["devices"] if d["usable"]}
counters = {c["name"]: c for c in x["counters"]}
for name in "page-faults", "context-switches", "task-clock":  # every kernel has them, if we may
    assert counters[name]["usable"] or "CAP_PERFMON" in counters[name]["reason"], counters[name]
assert all(c["usable"] or c["reason"] for c in counters.values())
assert {"task", "sched", "ioctl", "mark"} <= {p["name"] for p in x["probes"]}
default = {p["name"]: p["default"] for p in x["probes"]}
assert default["sched"] is True and default["sample"] is False, default
for kind in x.values():
    assert all(row["name"] and row["summary"] for row in kind)
END

"$XPUGAP" list device >"$dir/out" || fail "exit status $?"
grep -q '^null ' "$dir/out" || fail "no device"
grep -q '^tiny ' "$dir/out" && fail "sizes where devices were asked for"

"$fakes" list nan >"$dir/out" || fail "exit status $?"
grep -q -- '--sleep TIME .*(default 1ms)' "$dir/out" || fail "no options of a workload"
"$fakes" list nan --json | python3 -c '
import json, sys
x = json.load(sys.stdin)["nan"]
assert x["weight"] == 1 and x["options"][0]["name"] == "sleep", x' || fail "no JSON of a workload"

"$XPUGAP" list devics >"$dir/out" 2>"$dir/err"
[ $? = 2 ] || fail "an unknown word is no usage error"
grep -q "did you mean 'devices'" "$dir/err" || fail "nothing suggested"
"$XPUGAP" list >/dev/full 2>"$dir/err" && fail "a full disk is not noticed"
exit 0
