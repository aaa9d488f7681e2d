#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Marks of a program's children and threads, all of them; and a recorder that is killed.
set -u

tree=$BUILD/tests/e2e/mark_tree
dir=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	cat "$dir/err" "$dir/out" 2>/dev/null
	exit 1
}

# wait_for LINE FILE: until the line is there
wait_for() {
	for _ in $(seq 300); do
		grep -qsx "$1" "$2" && return
		sleep 0.1
	done
	fail "no line '$1'"
}

# 20 children x 4 threads x 2,000 steps of 3 items, with no kernel hook at all
"$XPUGAP" record -q -e mark -o "$dir/a.xpt" -- "$tree" 20 4 2000 >"$dir/out" 2>"$dir/err" ||
	fail "record failed"
"$XPUGAP" dump --json "$dir/a.xpt" 2>"$dir/err" | python3 -c '
import collections, json, sys
steps, tasks, items, roles, lost = collections.Counter(), {}, 0, 0, 0
for line in sys.stdin:
    r = json.loads(line)
    f = r["fields"]
    if r["type"] == "mark_step":
        assert f["step"] == steps[r["tid"]], (r, steps[r["tid"]])
        steps[r["tid"]] += 1
        items += f["items"]
    if r["type"] == "task":
        tasks[r["tid"]] = f
    roles += r["type"] == "role"
    lost += f["count"] if r["type"] == "lost" else 0
assert roles == 81, roles
# nothing but the marks tells of these threads
assert len(tasks) == 81 and {t["comm"] for t in tasks.values()} <= {"mark_tree", ""}, tasks
assert len({t["pid"] for t in tasks.values()}) == 21, tasks
assert lost == 0, lost
assert len(steps) == 80 and set(steps.values()) == {2000}, steps
assert items == 20 * 4 * 2000 * 3, items
' || fail "the trace is not what was marked"

# a recorder that is killed: its program lives on, soon marks no more, and nothing is left
rm "$dir/out"
"$XPUGAP" record -q -e mark -o "$dir/b.xpt" -- "$tree" forever >"$dir/out" 2>"$dir/err" &
recorder=$!
pids=$recorder
wait_for recorded "$dir/out"
target=$(pgrep -P $recorder -x mark_tree) || fail "no target"
pids="$recorder $target"
grep -q "@xpugap-$recorder-" /proc/net/unix || fail "no socket of the recorder's"
sleep 0.5
kill -9 $recorder
wait $recorder 2>/dev/null
wait_for "not recorded" "$dir/out"
kill -0 "$target" 2>/dev/null || fail "the target died with its recorder"
! grep -q "@xpugap-$recorder-" /proc/net/unix || fail "the socket is still there"
kill -9 "$target"
"$XPUGAP" dump -t mark_step "$dir/b.xpt" >"$dir/steps" 2>"$dir/err"
[ "$(wc -l <"$dir/steps")" -gt 1000 ] || fail "the trace has no steps"

# a recorder that ends before its program, and waits for it
rm "$dir/out"
"$XPUGAP" record -q -e mark --max-duration 500ms -o "$dir/c.xpt" -- "$tree" forever \
	>"$dir/out" 2>"$dir/err" &
recorder=$!
pids=$recorder
wait_for "not recorded" "$dir/out"
target=$(pgrep -P $recorder -x mark_tree) || fail "the target ended with its recording"
pids="$recorder $target"
"$XPUGAP" dump -t mark_step "$dir/c.xpt" >"$dir/steps" 2>"$dir/err" || fail "cannot read the trace"
[ "$(wc -l <"$dir/steps")" -gt 1000 ] || fail "the trace has no steps"
kill "$target"
wait $recorder
pids=
exit 0
