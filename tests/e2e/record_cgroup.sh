#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Control groups of each kind that is mounted: who is in one, below it, created in it or moved into
# it is recorded in full, also out of namespaces of its own and from a file that is gone. And a
# container, which is such a group.
# timeout: 300
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
pids=
groups=

clean() {
	# shellcheck disable=SC2086 # several
	kill $pids 2>/dev/null
	wait
	for g in $groups; do
		for _ in $(seq 50); do
			[ -d "$g" ] || break
			rmdir "$g/below" "$g" 2>/dev/null && break
			sleep 0.1
		done
	done
	rm -rf t out err events inside outside attach_tree ids
}
trap clean EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

# mounts TYPE WORD: where such hierarchies are mounted that have WORD in their options
mounts() {
	awk -v type="$1" -v word="$2" '{
		for (i = 1; i <= NF && $i != "-"; i++);
		if ($(i + 1) == type && (word == "" || $(i + 3) ~ word)) print $5
	}' /proc/self/mountinfo | head -1
}

now() {
	python3 -c 'import time; print(time.monotonic_ns())'
}

# Is thread $1 told of in the trace so far?
told() {
	"$XPUGAP" dump --json -t task t 2>/dev/null | jq -es --argjson tid "$1" 'any(.tid == $tid)' >/dev/null
}

# compare PROGRAM... : the trace against what each of them, by its directory, printed
compare() {
	"$XPUGAP" dump --json t >events || fail "dump"
	BEFORE=$before AFTER=$after python3 - "$@" <<'EOF' || fail "not what the programs did"
import collections, json, os, sys

before, after = int(os.environ["BEFORE"]), int(os.environ["AFTER"])
born, calls, ended, fail, lost, nsof = {}, {}, {}, [], 0, {}
begin = None
for line in open("events"):
    r = json.loads(line)
    f = r["fields"]
    if r["type"] == "task" and int(f["flags"], 0) & 1:
        born[r["tid"]] = born.get(r["tid"], 0) + 1
        nsof[r["tid"]] = f["ns_tid"]
    elif r["type"] == "task_fork":
        born[f["child_tid"]] = born.get(f["child_tid"], 0) + 1
        nsof[f["child_tid"]] = f["child_ns_tid"]
    elif r["type"] == "task_exit":
        ended[r["tid"]] = ended.get(r["tid"], 0) + 1
    elif r["type"] == "lost":
        lost += f["count"]
    elif r["type"] == "ioctl" and f["cmd"] == "0x7801":
        calls[r["tid"]] = calls.get(r["tid"], 0) + 1
        if not before <= r["time_ns"] <= after:
            fail.append(f"a call at {r['time_ns']}, not between {before} and {after}")
if lost:
    fail.append(f"{lost} lost")
total = 0
want = collections.Counter()
for name in sys.argv[1:]:
    truth = json.loads(open(name + "/truth").read().split("\n")[1])
    total += truth["calls"]
    for tid, n, orphaned in truth["tasks"]:
        want[tid, n] += 1
got = collections.Counter((nsof.get(tid), n) for tid, n in calls.items())
if got != want:
    fail.append(f"ids and calls: missing {list((want - got).items())[:5]}, not made {list((got - want).items())[:5]}")
if sum(calls.values()) != total:
    fail.append(f"{sum(calls.values())} of {total} calls")
wrong = [tid for tid in calls if born.get(tid) != 1 or ended.get(tid) != 1]
if wrong:
    fail.append(f"{len(wrong)} tasks did not begin and end once: {wrong[:5]}")
print(f"{total} calls of {len(calls)} tasks")
print("\n".join(fail[:10]))
sys.exit(bool(fail))
EOF
}

# Start attach_tree ARGS in group $1 in directory $2, after the words of $wrap; $! is the tree
start() {
	local group=$1 dir=$2
	shift 2
	mkdir -p "$dir"
	rm -f "$dir"/go "$dir"/truth
	# shellcheck disable=SC2016,SC2086 # for that shell to expand; several words
	(cd "$dir" && exec sh -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs" || exit 1; exec "$@"' "$group" \
		$wrap "$@" >truth 2>&1) &
	until_so grep -q ready "$dir/truth"
}

# both GROUP NAME: a tree below it, and one that is moved into it while it is recorded
both() {
	local group=$1 name=$2
	groups="$groups $group"
	mkdir -p "$group/below" || { echo "cannot make '$group'"; return; }
	start "$group/below" inside "$tree" 4 5 20 2
	inside=$!
	wrap='' start "" outside "$BUILD/tests/e2e/attach_tree" 2 5 20 0
	outside=$!
	pids="$inside $outside"
	[ -n "$gone" ] && rm "$tree"
	rm -f err
	"$XPUGAP" record -f -e task,ioctl,map -o t --cgroup "$name" 2>err &
	recorder=$!
	pids="$pids $recorder"
	until_so grep -qs '^xpugap: recording' err
	told $outside && fail "it records who is in another group"
	for pid in $outside $(pgrep -P $outside); do
		echo "$pid" >"$group/cgroup.procs" || fail "cannot move $pid"
		last=$pid
	done
	for tid in /proc/"$last"/task/*; do
		until_so told "${tid##*/}"
	done
	before=$(now)
	touch inside/go outside/go
	wait $inside || fail "the tree inside"
	wait $outside || fail "the tree that was moved"
	after=$(now)
	rmdir "$group/below" "$group" || fail "the group is not empty"
	wait $recorder || fail "the recorder" # ends with the group
	pids=
	compare inside outside
}

tree=$BUILD/tests/e2e/attach_tree gone='' wrap=''
v2=$(mounts cgroup2 '')
v1=$(mounts cgroup '(^|,)(pids|memory|freezer)(,|$)')
named=$(mounts cgroup 'name=')
[ -n "$v1$v2" ] || { echo "no control groups are mounted"; exit 77; }
if [ -n "$v2" ]; then
	both "$v2/xpugap-test-$$" "$v2/xpugap-test-$$"
	both "$v2/xpugap-test-$$" "/xpugap-test-$$"
fi
[ -n "$v1" ] && both "$v1/xpugap-test-$$" "$v1/xpugap-test-$$"
[ -n "$named" ] && both "$named/xpugap-test-$$" "$named/xpugap-test-$$"

# ---- in namespaces of its own, with another clock, from a file that is gone ----

wrap="unshare --user --map-root-user --pid --fork --mount --mount-proc --time --monotonic 100000 --kill-child"
if $wrap true 2>/dev/null; then
	cp "$BUILD/tests/e2e/attach_tree" attach_tree
	cp attach_tree ids
	tree=$PWD/attach_tree gone=yes
	both "${v2:-$v1}/xpugap-test-$$" "${v2:-$v1}/xpugap-test-$$"
	# of a process that ends while it is looked into, the file can no longer be read
	id=$(readelf -n ids | sed -n 's/.*Build ID: //p')
	jq -es --arg id "$id" '[.[] | select(.type == "map" and (.fields.path | endswith("attach_tree (deleted)")))] |
		any(.fields.build_id == $id) and all((.fields.build_id | IN($id, "")) and .fields.inode > 0)' events >/dev/null ||
		fail "the file that is gone: $(grep '(deleted)' events | head -3)"
else
	echo "no namespaces: not tested"
fi

# ---- a container ----

wrap='' tree=$BUILD/tests/e2e/attach_tree
id=$(python3 -c 'import os; print(os.urandom(32).hex())')
group=${v2:-$v1}/docker-$id.scope
groups="$groups $group"
mkdir "$group" || fail "cannot make '$group'"
"$XPUGAP" record -f -o t --container "$id" 2>err && fail "a container without processes"
grep -q 'no process runs in one of that name or id' err || fail "nothing said of the container"
start "$group" inside "$tree" 2 3 20 0
inside=$!
pids=$inside
rm -f err
"$XPUGAP" record -f -e task,ioctl -o t --container "${id:0:12}" 2>err &
recorder=$!
pids="$pids $recorder"
until_so grep -qs '^xpugap: recording' err
before=$(now)
touch inside/go
wait $inside || fail "the container's tree"
after=$(now)
rmdir "$group"
wait $recorder || fail "the recorder"
pids=
compare inside
"$XPUGAP" record -f -o t --cgroup /no/such/group 2>err && fail "a group that there is none of"
grep -q "cannot record control group '/no/such/group': there is none" err || fail "nothing said of the group"
for none in '' . .. ../../../../../etc; do
	"$XPUGAP" record -f -o t --cgroup "$none" --max-duration 100ms 2>err && fail "'$none' is taken for a group"
	grep -q "there is none" err || fail "nothing said of '$none'"
done
"$XPUGAP" record -f -o t --cgroup /etc/passwd 2>err && fail "a file"
grep -q "it is none, but another file" err || fail "nothing said of the file"
exit 0
