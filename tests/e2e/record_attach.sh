#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Recording what runs already: a tree that forks wildly, in full from the moment on, each thread
# once; how that ends; and what cannot be recorded. PROCESSES and THREADS may be given.
# timeout: 240
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
pids='' copy=''
processes=${1:-20} threads=${2:-50}
# shellcheck disable=SC2086 # several
trap 'kill $pids 2>/dev/null; wait; rm -rf t out err events go truth "$copy"' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

said() {
	grep -q -- "$1" err || fail "nothing said of '$1'"
}

# refuse STATUS ARGS...: the recording does not begin
refuse() {
	local want=$1 got
	shift
	"$XPUGAP" record -o none "$@" >out 2>err </dev/null
	got=$?
	[ $got = "$want" ] || fail "'record $*' exited with $got instead of $want"
	[ -e none ] && fail "'record $*' left a trace"
}

# what those before left must not be taken for what is to come
fresh() {
	rm -f go t truth err
}

# ---- a tree, while it forks ----

# tree ARGS...: record it as ARGS say, compare all with what it did itself
tree() {
	fresh
	"$BUILD/tests/e2e/attach_tree" "$processes" "$threads" 20 3 >truth &
	tree=$!
	pids=$tree
	until_so grep -qs ready truth
	"$XPUGAP" record -m 64M -e task,ioctl -o t "$@" -p $tree 2>err &
	recorder=$!
	pids="$tree $recorder"
	until_so grep -qs '^xpugap: recording' err
	touch go
	wait $tree || fail "the tree ended with $?"
	# it has ended: so does the recording, by itself
	wait $recorder || fail "the recorder ended with $?"
	pids=
	"$XPUGAP" dump --json t >events || fail "dump"
	EXACT=$exact TASKS=$((processes * threads)) python3 - <<'EOF' || fail "not what the tree did ($*)"
import json, os, sys

exact = os.environ["EXACT"] == "yes"
truth = json.loads(open("truth").read().split("\n")[1])
told, ended, seen, by_tid, fail, lost, first = {}, {}, {}, {}, [], 0, None
for line in open("events"):
    r = json.loads(line)
    f = r["fields"]
    if r["type"] == "task":
        told.setdefault(r["tid"], []).append(r["time_ns"])
        first = first or r["time_ns"]
    elif r["type"] == "task_fork":
        told.setdefault(f["child_tid"], []).append(r["time_ns"])
    elif r["type"] == "task_exit":
        ended[r["tid"]] = ended.get(r["tid"], 0) + 1
    elif r["type"] == "lost":
        lost += f["count"]
    elif r["type"] == "ioctl" and f["cmd"] == "0x7801":
        arg = int(f["arg"], 0)
        seen[arg] = seen.get(arg, 0) + 1
        by_tid[r["tid"]] = by_tid.get(r["tid"], 0) + 1
if lost and exact:
    fail.append(f"{lost} lost")
fail += [f"call {n} recorded {seen[n]} times" for n in seen if seen[n] != 1]
orphans, short = 0, set()
for tid, calls, orphaned in truth["tasks"]:
    # who had lost his parent before is in no tree any more; without types of the kernel also
    # who loses it while the tree is looked at may be missed
    if orphaned and (orphaned < first or not exact):
        continue
    orphans += bool(orphaned)
    got = by_tid.get(tid, 0), len(told.get(tid, [])), ended.get(tid, 0)
    if got != (calls, 1, 1):
        short.add(tid)
        if exact:
            fail.append(f"{tid}: calls, beginnings, ends: {got} instead of {(calls, 1, 1)}")
# classic tracepoints of one cpu do not run in each other: what the kernel left out is counted
if not exact and len(short) > lost:
    fail.append(f"{len(short)} tasks are not complete, {lost} records were lost")
if len([t for t in truth["tasks"] if not t[2]]) != int(os.environ["TASKS"]):
    fail.append("the tree is not what it should be")
if exact and sum(by_tid.values()) > truth["calls"]:
    fail.append("more calls than there were")
print(f"{truth['calls']} calls, {len(truth['tasks'])} tasks, {orphans} orphaned since")
print("\n".join(fail[:20]))
sys.exit(bool(fail))
EOF
}

exact=yes
tree
exact=no
tree --no-btf

# ---- marks: of one that runs already by its probes, never twice ----

fresh
# shellcheck disable=SC2016 # for python
python3 -c 'import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
lib.xpugap_step.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
def mark(first, n):
    for i in range(first, first + n):
        lib.xpugap_step(i, 3)
mark(0, 10)
print("ready", flush=True)
sys.stdin.readline()
pid = os.fork()
mark(1000 if pid else 5000, 300)
if not pid: os._exit(0)
os.wait()' "$BUILD/libxpugap_mark.so" < <(until [ -e go ]; do sleep 0.1; done; echo) >truth &
pid=$!
pids=$pid
until_so grep -qs ready truth
"$XPUGAP" record -f -e mark -o t -p $pid 2>err &
recorder=$!
until_so grep -qs '^xpugap: recording' err
touch go
wait $pid || fail "the program that marks"
pids=
wait $recorder || fail "the recorder"
"$XPUGAP" dump --json t >events || fail "dump"
if jq -es 'any(.type == "hook" and .fields.hook == "mark" and .fields.state == "refused")' events >/dev/null; then
	echo "no uprobes: marks not tested: $(grep marks err)"
else
	jq -es '[.[] | select(.type == "mark_step") | .fields.step] | sort ==
		([range(1000; 1300)] + [range(5000; 5300)])' events >/dev/null || fail "steps of a running program"
	jq -es '[.[] | select(.type == "mark_step") | .tid] | unique | length == 2' events >/dev/null ||
		fail "threads of steps"
	jq -es 'any(.type == "hook" and .fields.hook == "mark" and .fields.state == "attached" and
		.fields.way == "usdt")' events >/dev/null || fail "how marks are recorded"
fi
fresh

# ---- the whole machine: all but the recorder ----

"$BUILD/tests/e2e/attach_tree" 2 3 20 0 >truth &
tree=$!
pids=$tree
until_so grep -qs ready truth
"$XPUGAP" record -f -e task,ioctl -m 64M -o t -a 2>err &
recorder=$!
pids="$tree $recorder"
until_so grep -qs '^xpugap: recording' err
touch go
wait $tree || fail "the tree"
kill -TERM $recorder
wait $recorder || fail "SIGTERM"
pids=
"$XPUGAP" dump --json t >events || fail "dump"
jq -es '[.[] | select(.type == "ioctl" and .fields.cmd == "0x7801") | .fields.arg] | length == 120 and
	(unique | length == 120)' events >/dev/null || fail "calls of all"
jq -es --argjson r $recorder --argjson shell $$ '([.[] | select(.type == "task" and .fields.flags == "0x1")] |
	any(.tid == $shell) and all(.fields.pid != $r)) and any(.type == "task" and .fields.flags == "0x5")' \
	events >/dev/null || fail "who is recorded: $(grep -c '"task"' events)"
fresh

# ---- several, named twice, and the end ----

sleep 300 &
one=$!
sh -c 'sleep 300 & wait' &
two=$!
pids="$one $two"
fresh
"$XPUGAP" record -f -o t -p $one,$two -p $one 2>err &
recorder=$!
until_so grep -qs '^xpugap: recording' err
kill -INT $recorder
wait $recorder || fail "Ctrl-C"
kill -0 $one || fail "the first target was ended"
kill -0 $two || fail "the second target was ended"
"$XPUGAP" dump --json t >events || fail "dump"
jq -es --argjson one $one --argjson two $two '[.[] | select(.type == "task" and .fields.flags == "0x1") | .tid] |
	length == 3 and contains([$one, $two]) and (unique | length == 3)' events >/dev/null || fail "the tasks of $one and $two"
jq -es --arg v "$one,$two,$one" 'any(.fields.key == "target.pid" and .fields.value == $v)' events >/dev/null ||
	fail "target.pid"
"$XPUGAP" record -f -o t -p $one --max-duration 200ms 2>err || fail "--max-duration"
kill -0 $one || fail "the target was ended"
pkill -P $two
kill $one $two 2>/dev/null
wait $one $two 2>/dev/null
pids=

# ---- a target that is the recorder's own child ----

fresh
# shellcheck disable=SC2016 # for that shell to expand
sh -c 'sh -c "until [ -e go ]; do sleep 0.1; done" & exec "$XPUGAP" record -f -o t -p $!' 2>err &
pids=$!
until_so grep -qs '^xpugap: recording' err
touch go
wait $pids || fail "its own child"
pids=
"$XPUGAP" dump --json -t task_exit t >events || fail "dump"
jq -es 'length >= 1' events >/dev/null || fail "the end of its own child"

# ---- what cannot be recorded ----

refuse 1 -p $$ --require mark
said "cannot attach probe 'mark': no target has the mark library"
refuse 1 -p 4194304
said "cannot record process 4194304: there is none"
refuse 1 -p $$,4194304
said "process 4194304"
refuse 1 -p 2
said "is a thread of the kernel"
refuse 2 -p 0
said "'0' is no process id"
refuse 2 -p 12x
said "'12x' is no process id"
refuse 2 -p $$ -- true
said "a program does not go with --pid"
refuse 2 -p $$ --wait-tree
said "--wait-tree does not go with what runs already"
refuse 2 -p $$ -a
said "only one of"
fresh
"$BUILD/tests/e2e/attach_tree" 1 2 1 0 >truth &
tree=$!
pids=$tree
until_so grep -qs ready truth
child=$(pgrep -P $tree)
for tid in /proc/"$child"/task/*; do
	[ "${tid##*/}" = "$child" ] || thread=${tid##*/}
done
refuse 1 -p "$thread"
said "it is a thread of process $child"
touch go
wait $tree
pids=
# one that has ended and that nobody asked for
fresh
python3 -c 'import os, time
pid = os.fork()
if not pid: os._exit(0)
print(pid, flush=True)
time.sleep(300)' >truth &
pids=$!
until_so grep -qs . truth
refuse 1 -p "$(cat truth)"
said "has ended"
kill $pids
wait
# shellcheck disable=SC2016 # for that shell to expand
sh -c 'exec "$XPUGAP" record -o none -p $$' 2>err && fail "it recorded itself"
said "it is the recorder itself"
if command -v setpriv >/dev/null; then
	copy=$(mktemp -d)
	cp "$XPUGAP" "$copy/xpugap" && chmod -R 755 "$copy"
	setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "cd /tmp && exec '$copy/xpugap' record -o /dev/null -f -p $$" 2>err &&
		fail "recorded another user's process"
	said "may not be looked into"
fi
exit 0
