#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Odd surroundings of a recording: closed standard files, a pipe without a reader or with one that
# takes nothing, a time namespace, no rights, bytes that are no text.
# timeout: 180
set -u

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
cd "$TMPDIR" || exit 1
sleeper=
trap '[ -n "$sleeper" ] && kill $sleeper; rm -rf t* out err pipe plain D* small' EXIT

# shellcheck source=tests/common.sh
. "$SRC/tests/common.sh"

# Process $1 ends within ten seconds.
ends() {
	local i

	for ((i = 0; i < 100; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -9 "$1"
	return 1
}

# ---- few descriptors: the limit is raised as far as may be, for the recorder alone ----

(ulimit -Sn 30 && exec "$XPUGAP" record -q -o t1 --require task,sched -- sh -c 'ulimit -Sn') >out 2>err ||
	fail "it does not raise the limit of open files"
[ "$(cat out)" = 30 ] || fail "the target may have '$(cat out)' files"
(ulimit -n 40 && exec "$XPUGAP" record -f -o t1 -- true) >out 2>err && fail "forty files were enough"
grep -q 'too many open files (raise the limit: ulimit -n)' err || fail "nothing said of the limit"
rm -f t1

# ---- closed standard files are not taken by what is opened ----

"$XPUGAP" record -o t1 -- sh -c 'exit 3' <&- >&- 2>&-
[ $? = 3 ] || fail "with all standard files closed it exits with another status"
"$XPUGAP" info t1 >out 2>err || fail "the trace of a recorder without standard files is damaged"
grep -q 'exited with status 3' out || fail "its target did not run"
"$XPUGAP" record -o - -- true >&- 2>err && fail "a trace went to a closed standard output"
grep -q 'bad file descriptor' err || fail "not said that standard output is closed"
"$XPUGAP" dump t1 >&- 2>err && fail "records went to a closed standard output"

# ---- the target's signals are those that its caller had ----

for blocked in "" USR1 INT; do
	python3 - "$blocked" "$XPUGAP" record -q -e mark -o t0 -f -- \
		sed -n 's/SigBlk:.//p' /proc/self/status >out 2>err <<'END' || fail "record"
import os, signal, sys
if sys.argv[1]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.Signals["SIG" + sys.argv[1]]})
os.execvp(sys.argv[2], sys.argv[2:])
END
	want=0
	[ -z "$blocked" ] || want=$((1 << ($(kill -l "$blocked") - 1)))
	[ $((16#$(cat out))) = $want ] || fail "signals blocked: $(cat out), not $want (${blocked:-none})"
done

# ---- a caller that ignores the ends of its children: the recorder sees its own ----

# shellcheck disable=SC2016 # for sed
timeout 60 python3 - "$XPUGAP" record -q -e mark -o t0 -f -- \
	sed -n 's/SigIgn:.//p;$q5' /proc/self/status >out 2>err <<'END'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])
END
[ $? = 5 ] || fail "with SIGCHLD ignored it exits with $?"
grep -q "exited with status 5" err || fail "the end of the target was not seen"
[ $((16#$(cat out) >> 16 & 1)) = 1 ] || fail "the target does not ignore SIGCHLD: $(cat out)"

# ---- pipes ----

mkfifo pipe
"$XPUGAP" record -o pipe -- true 2>err &
sleep 0.5
kill -TERM $!
ends $! || fail "it cannot be ended while it waits for the pipe's reader"

# this holds the pipe open, as small as can be, and reads nothing
python3 -c 'import fcntl, time
pipe = open("pipe", "rb", buffering=0)
fcntl.fcntl(pipe, 1031, 4096)  # F_SETPIPE_SZ
time.sleep(100)' &
sleeper=$!
"$XPUGAP" record -o pipe -- sh -c 'while :; do /bin/true; done' 2>err &
recorder=$!
# a full pipe stays as it is
was=0
for ((i = 0; i < 60; i++)); do
	sleep 0.5
	has=$(python3 -c 'import fcntl, os, struct, termios
fd = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
print(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"0000"))[0])')
	[ "$has" -gt 0 ] && [ "$has" = "$was" ] && break
	was=$has
done
# the second time at once; one that comes before the first was taken is none
for ((i = 0; i < 10; i++)); do
	kill -TERM $recorder 2>/dev/null || break
	sleep 0.5
done
ends $recorder || fail "it cannot be ended while the pipe's reader takes nothing"
grep -q 'its reader takes nothing' err || fail "not said why the trace ends"
kill $sleeper
sleeper=

# ---- a time namespace of its own: times stay those of the kernel ----

if unshare -T --monotonic 100000 -f true 2>/dev/null; then
	unshare -T --monotonic 100000 --boottime 100000 -f \
		"$XPUGAP" record -o t2 -- sleep 0.2 2>err || fail "it does not run there"
	"$XPUGAP" dump --json t2 >out || fail "its trace is damaged"
	# kernel's and recorder's records lie within the seconds that it took
	jq -es 'map(.time_ns) | max - min < 60e9' out >/dev/null || fail "times are mixed"
	# since boot: the system's uptime, a minute at most ago
	jq -es --argjson up "$(cut -d' ' -f1 /proc/uptime)" \
		'map(.time_ns) | max / 1e9 | . <= $up + 1 and . > $up - 60' out >/dev/null ||
		fail "times are not those of the machine"
fi

# ---- without rights, too, what the target leaves behind is waited for ----

mkdir -m 777 plain
(cd plain && setpriv --reuid 65534 --clear-groups "$XPUGAP" record --wait-tree -o t -- \
	sh -c '(sleep 1; echo late >late) & exit 0' 2>../err)
[ -e plain/late ] || fail "it did not wait for what the target left behind"
grep -q 'tasks that' err && fail "it counts tasks that it cannot know"

# ---- what cannot be asked ----

for level in 0 20 99999999999; do
	"$XPUGAP" record --level $level -o t3 -- true 2>err
	[ $? = 2 ] || fail "--level $level was taken"
done
# refuse WHAT IS SAID, ARGS...
refuse() {
	want=$1
	shift
	"$XPUGAP" record -o t3 "$@" 2>err
	[ $? = 2 ] || fail "'record $*' was not refused"
	grep -q -- "$want" err || fail "'record $*' did not say '$want'"
	[ -e t3 ] && fail "'record $*' left a trace"
}
refuse "probe 'sched' is required, but not among" -e ioctl --require sched -- true
refuse "probe 'map' is required, but not among" -e ioctl --require task,map -- true
refuse "--max-size does not go with --source" --source fake:records=10 --max-size 1M
refuse "a program does not go with --source" --source fake:records=10 -- true
refuse "--pace does not go with" --pace -- true

# ---- the file that was there stays until there is something better, and its loss is said ----

"$XPUGAP" record -q -e mark -o t4 -- true 2>err || fail "record"
cp t4 t5
"$XPUGAP" record -q -f -o t5 -- ./nothing-of-that-name 2>err && fail "ran what does not exist"
cmp -s t4 t5 || fail "a recording that did not begin took the old one away"
"$XPUGAP" record -q -f -e ioctl --require sched -o t5 -- true 2>err && fail "recorded without what is required"
cmp -s t4 t5 || fail "a recording that was refused took the old one away"
printf '#!%s/no-interpreter\n' "$TMPDIR" >plain/script
chmod +x plain/script # so all looks well up to the last moment
"$XPUGAP" record -q -f -e mark -o t5 -- plain/script 2>err && fail "ran a script without its interpreter"
grep -q "cannot run 'plain/script': no such file" err || fail "not said what could not be run"
cmp -s t4 t5 || fail "a recording whose program cannot be run took the old one away"
[ "$(echo t5*)" = t5 ] || fail "left: $(echo t5*)"
# the old one goes while the program runs; who looks at its trace finds the new one
# shellcheck disable=SC2016 # for that shell to expand
"$XPUGAP" record -q -f -e mark -o t5 -- sh -c 'until [ "$(echo t5*)" = t5 ]; do sleep 0.1; done
	cmp -s t4 t5 || echo new' >out 2>err || fail "replaced"
[ "$(cat out)" = new ] || fail "the program finds the old trace"
cp t4 t5
# whoever is killed before it has gone leaves both
# shellcheck disable=SC2016 # for that shell to expand
"$XPUGAP" record -q -f -e mark -o t5 -- sh -c 'kill -9 $PPID' 2>err
for f in t5*; do
	"$XPUGAP" dump "$f" >out 2>err # of the new one it says that it has no end
	[ -s out ] || fail "a recorder that was killed leaves '$f', which cannot be read"
done
rm -f t5*
cp t4 t5
"$XPUGAP" record -q -f --source replay:t5 -o t5 2>err || fail "a trace cannot be replayed onto itself"
"$XPUGAP" dump t4 >out 2>err || fail "dump"
"$XPUGAP" dump t5 2>err | grep -v 'key="replay.trace"' | cmp -s out - || fail "replayed onto itself it is another"
"$XPUGAP" record -q -f --source replay:nothing -o t5 2>err && fail "replayed nothing"
"$XPUGAP" info t5 >out 2>err || fail "the old one is gone where there is no source"
[ "$(echo t5*)" = t5 ] || fail "left: $(echo t5*)"
"$XPUGAP" record -q -f -e mark -o t5 -- rm t5 2>err && fail "the trace is gone, and that is no failure"
grep -q "'t5' was removed" err || fail "it is not said that the trace is gone"

# ---- a directory whose name is no text; a full one ----

dir=$(printf 'D\xff')
"$XPUGAP" run flops --size tiny --stop 2 --no-trace -o "$dir" --data-dir "$dir" >out 2>err ||
	fail "a run with such a name fails"
jq -e '.data_dir == "D\ufffd"' "$dir/config.json" >/dev/null || fail "its config.json is bad"
grep -q '^flops | *0 ' out || fail "the run is not counted"

mkdir small
mount -t tmpfs -o size=64k none small || exit 1
head -c 65536 /dev/zero >small/fill
"$XPUGAP" run flops --size tiny --stop 2 -o small/run >out 2>err
left=$(find small/run -type f)
umount small
[ -z "$left" ] || fail "on a full disk are left: $left"
exit 0
