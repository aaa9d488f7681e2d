#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who is created, runs which program, has which name, and ends: against what the programs did.
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'rm -f trace out err events' EXIT

fail() {
	echo "FAIL: $*"
	cat err
	"$XPUGAP" dump -t 'task*' trace
	exit 1
}

holds() {
	jq -es "$1" events >/dev/null || fail "not so: $1"
}

record() {
	"$XPUGAP" record -q -f -o trace "$@" >out 2>err
	"$XPUGAP" dump --json -t 'task*' trace >events || fail "dump"
}

# exit codes and signals as waitpid() gives them; names of programs and files
record -- sh -c '(exit 7); sh -c "kill -9 \$\$"; /bin/true; exit 0'
holds '[.[] | select(.type == "task_exit") | .fields.code] | sort == [0, 0, 9, 1792]'
holds '[.[] | select(.type == "task_exec") | .fields.file | split("/") | last] == ["sh", "sh", "true"]'
holds '[.[] | select(.type == "task_comm") | .fields.comm] == ["sh", "sh", "true"]'
holds '[.[] | select(.type == "task_fork")] | length == 3 and all(.fields.child_tid == .fields.child_pid)'

# a long path is cut, not lost
name=$(printf 'x%.0s' $(seq 200))
mkdir "$name" && cp /bin/true "$name/$name"
record -- "./$name/$name"
rm -r "$name"
holds '[.[] | select(.type == "task_exec") | .fields.file | length] == [255]'

# a thread other than the leader calls exec: it becomes the leader
record -- python3 -c '
import os, threading

print(os.getpid(), flush=True)
t = threading.Thread(target=lambda: (print(threading.get_native_id(), flush=True), os.execv("/bin/true", ["true"])))
t.start()
t.join()'
{ read -r pid; read -r tid; } <out
holds "[.[] | select(.type == \"task_exec\" and .fields.file == \"/bin/true\")] |
	length == 1 and .[0].tid == $pid and .[0].fields.old_tid == $tid"
holds "any(.type == \"task_fork\" and .fields.child_tid == $tid and .fields.child_pid == $pid)"

# ids in a PID namespace of its own
if unshare --pid --fork true 2>/dev/null; then
	record -- unshare --pid --fork sh -c 'echo $$; sh -c "echo \$\$"; true'
	[ "$(xargs <out)" = "1 2" ] || fail "the namespace: $(xargs <out)"
	holds 'any(.type == "task_fork" and .fields.child_ns_pid == 1 and .fields.child_ns_tid == 1 and .fields.child_pid > 1)'
	holds 'any(.type == "task_fork" and .fields.child_ns_pid == 2 and .fields.child_pid > 2)'
else
	echo "no PID namespaces: not tested"
fi

# start times tell tasks apart and are those of /proc
record -- sh -c 'cat /proc/self/stat'
start=$(sed 's/.*) //' out | cut -d' ' -f20) # in ticks of 10 ms since boot
holds "[.[] | select(.type == \"task_fork\") | .fields.start_ns / 1e7 | floor] | any(. >= $start - 1 and . <= $start + 1)"

# the record of the root
holds "[.[] | select(.type == \"task\" and .fields.flags == \"0x1\")] | length == 1 and
	.[0].fields.ppid > 0 and .[0].fields.uid == 0 and .[0].fields.start_ns > 0"
exit 0
