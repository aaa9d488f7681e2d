#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The ways in which a recording begins and ends: each leaves a trace that opens, says what
# happened, and leaves nothing else behind.
# timeout: 180
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
trap 'umount small 2>/dev/null; rm -rf t* out err events small prog dir' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

# record STATUS ARGS...: run it and compare the exit status
record() {
	local want=$1 got
	shift
	"$XPUGAP" record "$@" >out 2>err </dev/null
	got=$?
	[ $got = "$want" ] || fail "'record $*' exited with $got instead of $want"
}

said() {
	grep -q -- "$1" err || fail "nothing said of '$1'"
}

# The trace is complete, and its meta record KEY is VALUE.
meta() {
	"$XPUGAP" dump --json -t meta "$1" >events 2>err || fail "cannot read '$1'"
	grep -q 'not complete\|truncated' err && fail "'$1' is not complete"
	jq -es --arg k "$2" --arg v "$3" 'any(.fields.key == $k and .fields.value == $v)' events \
		>/dev/null || { cat events; fail "'$1' does not say $2 = $3"; }
}

# ---- how the target ends ----

record 0 -o t1 -- true
meta t1 target.end 'exited with status 0'
meta t1 target.command true
[ "$(stat -c %a t1)" = 600 ] || fail "the trace has mode $(stat -c %a t1)"
record 0 -f -o t1 -- nice
[ "$(cat out)" = "$(nice)" ] || fail "the target got the recorder's priority: $(cat out)"
record 0 -f -o t1 -- true
record 3 -o t2 -- sh -c 'exit 3'
said "'sh' exited with status 3"
meta t2 target.end 'exited with status 3'
record 139 -o t3 -- sh -c 'kill -SEGV $$'
said "'sh' was killed by SIGSEGV"
record 0 -o t4 -- sh -c 'exec sh -c "exec true"'
"$XPUGAP" dump --json -t task_exec t4 >events
[ "$(jq -s 'length' events)" = 3 ] || fail "three execs, not $(jq -s length events)"
record 0 -q -o t5 -- echo "a b" "it's" ''
[ -s err ] && fail "--quiet said something"
meta t5 target.command "echo 'a b' 'it'\\''s' ''"

# ---- what cannot begin ----

record 1 -o t6 -- no-such-program-here
said "cannot run 'no-such-program-here': no such program in PATH"
[ -e t6 ] && fail "a trace of nothing is left"
record 1 -o t6 -- ./nothing
said "cannot run './nothing': no such file"
touch prog
record 1 -o t6 -- ./prog
said "cannot run './prog': permission denied"
record 1 -o t1 -- true
said "'t1' exists"
meta t1 target.command true
record 0 -f -o t1 -- true again
meta t1 target.command 'true again'
record 1 -o /nowhere/t -- true
said "cannot create '/nowhere/t': no such file"
mkdir dir
record 1 -o dir -- true
said "'dir' exists"
record 2
said "record what?"
record 2 -e ioctl,tasks -- true
said "unknown probe 'tasks', did you mean 'task'?"
record 2 --outptu t6 -- true
said "did you mean '--output'"
record 2 --memory lots -- true
said "lots"
for size in 0 1K; do
	record 2 -m $size -- true
	said "memory must be at least"
done
[ -e t6 ] && fail "a trace of nothing is left"

# ---- a pipe ----

"$XPUGAP" record -o - -- echo text 2>err | "$XPUGAP" dump --json -t meta - >events || fail "the pipe"
jq -es 'any(.fields.value == "exited with status 0")' events >/dev/null || fail "the pipe's trace"
grep -q '^text$' err || fail "the target's output went into the trace"
# whose reader goes away: the target runs on
"$XPUGAP" record -o - -- sh -c 'sleep 1; touch t_alive' 2>err | head -c 10 >/dev/null
[ -e t_alive ] || fail "the target did not run on"
said "cannot write the trace: broken pipe"

# ---- a full disk ----

mkdir small
if mount -t tmpfs -o size=64k none small; then
	"$XPUGAP" record -o small/t -- "$BUILD/tests/e2e/ioctl_tree" 2 1 400000 >out 2>err
	[ $? = 1 ] || fail "a full disk is no success"
	said "cannot write the trace: no space left on device"
	[ "$(cat out)" = 800000 ] || fail "the target did not run on"
	"$XPUGAP" dump small/t >events 2>err || fail "a trace cut by a full disk does not open"
	[ "$(grep -c ioctl events)" -gt 100 ] || fail "nothing of it can be read"
	umount small
else
	echo "no tmpfs: full disk not tested"
fi

# ---- limits ----

"$XPUGAP" record -o t7 --max-duration 300ms -- sh -c 'sleep 2; echo on' >out 2>err ||
	fail "--max-duration"
[ "$(cat out)" = on ] || fail "the target did not run on"
said "the recording has ended, 'sh' runs on"
"$XPUGAP" dump --json -t task_exit t7 >events
[ "$(jq -s 'map(.fields.code) | length' events)" = 0 ] || fail "recorded after the limit"
"$XPUGAP" record -o t8 --max-size 100K -- "$BUILD/tests/bench/ioctl_loop" 3 >out 2>err ||
	fail "--max-size"
size=$(stat -c %s t8)
if [ "$size" -lt 102400 ] || [ "$size" -gt 4000000 ]; then
	fail "--max-size 100K made $size bytes"
fi

# ---- processes that outlive the target ----

record 0 -o t9 -- sh -c '(sleep 1; true; exec true) & exit 0'
said "live on"
record 0 -o t10 --wait-tree -- sh -c '(sleep 1; exec true) & exit 0'
"$XPUGAP" dump --json -t task_exit t10 >events
[ "$(jq -s length events)" = 3 ] || fail "--wait-tree: $(jq -s length events) ends of 3"

# ---- signals ----

# start ARGS...: a recording in a session of its own; $pid is the recorder
start() {
	rm -f out err # of the one before
	# background jobs of a shell ignore SIGINT, those of nohup SIGHUP
	env --default-signal setsid "$XPUGAP" record "$@" >out 2>err </dev/null &
	pid=$!
	for _ in $(seq 100); do
		grep -qs started out && return
		sleep 0.1
	done
	fail "the target did not start"
}

for sig in INT TERM HUP; do
	start -f -o t11 -- sh -c "trap 'echo got; exit 5' $sig; echo started; while :; do sleep 0.05; done"
	kill -$sig $pid
	wait $pid
	[ $? = 5 ] || fail "SIG$sig"
	grep -q got out || fail "the target got no SIG$sig"
	meta t11 target.end 'exited with status 5'
done

# asked before it begins: nothing is run, nothing is left, and the file of before is as it was
asked_before() {
	python3 - "$@" >out 2>err <<'PY'
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # waits for whoever reads it
os.kill(os.getpid(), signal.SIGINT)
os.execv(sys.argv[1], sys.argv[1:])
PY
}
asked_before "$XPUGAP" record -o t13 -- touch t_ran
[ $? = 130 ] || fail "asked before it begins"
said "interrupted before the recording began"
[ -e t13 ] && fail "a trace of nothing is left"
[ -e t_ran ] && fail "the target ran"
cp t5 t13
asked_before "$XPUGAP" record -f -o t13 -a
[ $? = 130 ] || fail "asked before it begins, with -a"
cmp -s t5 t13 || fail "the file of before was replaced"
asked_before "$XPUGAP" run flops -o t_run
[ $? = 1 ] || fail "run, asked before it begins"
said "interrupted before anything was run"
[ -e t_run ] && fail "a folder of nothing is left"
mkdir t_run
cp t5 t_run/trace.xpt
echo '{}' >t_run/config.json
asked_before "$XPUGAP" run flops --force -o t_run
[ $? = 1 ] || fail "run --force, asked before it begins"
cmp -s t5 t_run/trace.xpt || fail "the trace of the run before is gone"
[ "$(cat t_run/*.json)" = '{}' ] || fail "the results of the run before are gone"
[ "$(ls t_run)" = "config.json
trace.xpt" ] || fail "left: $(ls t_run)"
rm -r t_run

# one that ignores it: the second time it ends at once
start -f -o t11 -- sh -c "trap '' INT TERM; echo started; while :; do sleep 0.05; done"
kill -INT $pid
sleep 0.3
kill -0 $pid || fail "it did not wait for the target"
# one that comes before the first was taken is none
while kill -INT $pid 2>/dev/null; do sleep 0.5; done
wait $pid
[ $? = 137 ] || fail "twice"
"$XPUGAP" dump t11 >events 2>err || fail "the trace does not open"
grep -q 'not complete\|truncated' err && fail "the trace is not complete"

# the terminal's own: it goes to the whole group, the target gets it once
python3 - "$XPUGAP" >out 2>err <<'PY' || fail "Ctrl-C"
import os, pty, signal, sys, time

prog = 'trap "echo got; n=1" INT; echo started; while [ -z "$n" ]; do sleep 0.05; done; exit 0'
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "record", "-f", "-o", "t12", "--", "sh", "-c", prog])
text = b""
while b"started" not in text:
    text += os.read(fd, 1000)
os.write(fd, b"\x03")
try:
    while True:
        data = os.read(fd, 1000)
        if not data:
            break
        text += data
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(text.decode(), status)
sys.exit(not (status == 0 and text.count(b"got") == 1))
PY
exit 0
