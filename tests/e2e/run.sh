#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# xpugap run: rows that go well, rows that do not, and what is left of them.
set -u

fakes=$BUILD/tests/fakes/xpugap
dir=$(mktemp -d)
trap 'umount "$dir/small" 2>/dev/null; rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache

fail() {
	echo "FAIL: $*"
	cat "$dir/err" 2>/dev/null
	exit 1
}

# run STATUS ARGS...: the program with workloads that misbehave
run() {
	local want=$1 got
	shift
	"$fakes" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ "$got" = "$want" ] || fail "'$*' exited with $got, expected $want"
}

said() {
	grep -q -- "$1" "$dir/err" || fail "nothing said of '$1'"
}

# events FILE PYTHON: evaluate an expression over its events e, {name: [data...]}
events() {
	python3 -c '
import json, sys
e = {}
for line in open(sys.argv[1], encoding="utf-8"):
    x = json.loads(line)
    assert sorted(x) == ["data", "event", "pipe"], line
    e.setdefault(x["event"], []).append(x["data"])
rates = [d["rate"] for d in e.get("data", []) if "rate" in d]
losses = [d["loss"] for d in e.get("data", []) if "loss" in d]
code = e["end"][0]["return_code"] if "end" in e else None
sys.exit(not eval(sys.argv[2]))' "$1" "$2" || fail "$1: not so: $2"
}

wait_for() { # until a file has a line like PATTERN
	local i
	for ((i = 0; i < 1000; i++)); do
		grep -qs -- "$2" "$1" && return
		sleep 0.02
	done
	fail "no '$2' in $1"
}

# ---- a row that goes well ----

run 0 run steady --size tiny --no-trace -o "$dir/good" --items 10 --steady.sleep 20ms
[ "$(cd "$dir/good" && echo *)" = "config.json machine.json steady.D0.data summary.json" ] ||
	fail "files: $(ls "$dir/good")"
f=$dir/good/steady.D0.data
events "$f" 'len(rates) == 6 and len(losses) == 6 and code == 0 and "stop" in e'
# ten items in at least 20 ms
events "$f" 'all(0 < r <= 500 for r in rates) and losses[0] == 8 and losses[3] == 2'
events "$f" '[p["name"] for p in e["phase"]] == ["init", "load_script", "run_script", "finalize"]'
events "$f" 'e["config"][0]["name"] == "steady" and e["config"][0]["tag"] == ["steady", "D0"]'
events "$f" 'e["config"][0]["argv"]["sleep"] == 20000000 and e["config"][0]["argv"]["items"] == 10'
grep -q '^steady *| *0 | *1 |' "$dir/out" || fail "no row in the table"
grep -q '^Failure rate: *0.00% (PASS)' "$dir/out" || fail "no failure rate"
for json in config machine summary; do
	python3 -m json.tool "$dir/good/$json.json" >"$dir/json" || fail "$json.json is no JSON"
done
grep -q '"runtime"' "$dir/good/machine.json" || fail "the device is not described"

# ---- several devices, several times ----

run 0 run steady steady -d cpu:0,cpu -r 2 --size tiny --no-trace -o "$dir/many"
[ "$(cd "$dir/many" && echo *.data)" = \
	"steady.D0.R0.data steady.D0.R1.data steady.D1.R0.data steady.D1.R1.data" ] ||
	fail "files: $(ls "$dir/many")"
grep -q '^steady *| *0 | *4 |' "$dir/out" || fail "four processes make no row of four"
events "$dir/many/steady.D1.R1.data" 'e["config"][0]["xpugap"]["device"] == "cpu"'

# of different kinds: what they do cannot be pooled
run 0 run steady -d cpu,null --size tiny --no-trace -o "$dir/kinds"
for kind in cpu null; do
	grep -q "^steady-$kind *| *0 | *1 |" "$dir/out" || fail "$kind is no row of its own"
done
events "$dir/kinds/steady-null.D1.data" 'len(rates) == 6 and not losses'

# ---- rows that do not go well; the rest goes on ----

run 1 run fakes --size tiny --no-trace --max-duration 1s -o "$dir/bad"
for row in "failing: exited with status 1" "stumbling: exited with status 1" \
	"crashing: was killed by SIGSEGV" "nan: its loss is not a number" \
	"hanging: took longer than" "stubborn: took longer than"; do
	said "${row%%:*}.D0 failed:${row#*:}"
	grep -q "^${row%%:*} *| *1 | *1 |" "$dir/out" || fail "${row%%:*} is no failed row"
done
said 'there is no such thing' # the last words of the failing one
said "'lasting' left processes running, which were killed: xpugap ("
for row in steady chatty lasting; do
	grep -q "^$row *| *0 | *1 |" "$dir/out" || fail "$row is no row that went well"
done
events "$dir/bad/hanging.D0.data" 'code == -9 and len(rates) == 2 and "stop" not in e'
events "$dir/bad/hanging.D0.data" 'e["error"][0]["type"] == "TimeoutError"'
events "$dir/bad/stubborn.D0.data" 'code == -9'
events "$dir/bad/crashing.D0.data" 'code == -11 and len(rates) == 2'
events "$dir/bad/nan.D0.data" 'losses[-1] != losses[-1] and code == 1'
f=$dir/bad/chatty.D0.data
events "$f" '"x" * 1000000 + "\n" in e["line"] and "no end" in e["line"]'
events "$f" 'e["binary"] == ["binary \xff\xfe\n"]'
events "$f" 'e["format_error"][0]["line"] == "{\"rate\": oops\n" and len(rates) == 6'
pgrep -f "^$fakes" >/dev/null && fail "processes are left"

# ---- a slow one counts with what it has ----

run 0 run steady --sleep 300ms --size full --no-trace --max-duration 1s -o "$dir/slow"
events "$dir/slow/steady.D0.data" '2 <= len(rates) <= 4 and code == 0 and "stop" not in e'

# ---- results that are wrong ----

run 0 run steady --size tiny --no-trace --verify -o "$dir/right"
run 1 run wrong --size tiny --no-trace --verify -o "$dir/wrong"
said 'its results are wrong'

# ---- Ctrl-C ----

"$fakes" run steady nan --sleep 100ms --size full --no-trace -o "$dir/once" >"$dir/out" 2>"$dir/err" &
pid=$!
wait_for "$dir/once/steady.D0.data" '"rate"'
kill -INT $pid
wait $pid
[ $? = 1 ] || fail "interrupted, it exited with $?"
events "$dir/once/steady.D0.data" 'code == -15 and rates and "KeyboardInterrupt" in str(e["error"])'
said 'steady.D0 failed: was interrupted by you'
grep -q 'No score: the run was interrupted' "$dir/out" || fail 'an interrupted run has a score'
"$fakes" report "$dir/once" >"$dir/out2" || fail 'no report of an interrupted run'
grep -q '^Score:' "$dir/out2" && fail 'the report of an interrupted run has a score'
[ ! -e "$dir/once/nan.D0.data" ] || fail "the next row was begun"
grep -q '^steady *| *1 | *1 |' "$dir/out" || fail "no summary after an interruption"
[ -s "$dir/once/summary.json" ] || fail "no summary.json after an interruption"

# in set-up, which has far more to do than anybody waits for: it ends by itself, not by SIGKILL
"$XPUGAP" run resnet50 --size full -o "$dir/early" --data-dir "$dir/images" >"$dir/out" 2>"$dir/err" &
pid=$!
until [ "$(find "$dir/images" -type f 2>/dev/null | wc -l)" -gt 3 ]; do
	sleep 0.1
done
kill -INT $pid
wait $pid
[ $? = 1 ] || fail "interrupted in set-up, it exited with $?"
events "$dir/early/resnet50.D0.data" 'code == -15 and "KeyboardInterrupt" in str(e["error"])'
said 'resnet50.D0 failed: was interrupted by you'
grep -q '^Score:' "$dir/out" && fail 'a run that was interrupted in set-up has a score'
if [ -e "$dir/early/trace.xpt" ]; then
	"$XPUGAP" report "$dir/early" >"$dir/out2" || fail "no report of a run interrupted in set-up"
	grep -q 'resnet50 on cpu (interrupted by you)' "$dir/out2" || fail "the report knows of no interruption"
	grep -q 'xpugap_step()' "$dir/out2" && fail "advice on how to mark a workload of our own"
fi
rm -rf "$dir/images"

"$fakes" run stubborn --size full --no-trace -o "$dir/twice" >"$dir/out" 2>"$dir/err" &
pid=$!
wait_for "$dir/twice/stubborn.D0.data" '\[2, 1000\]'
kill -INT $pid
wait_for "$dir/err" 'once more ends at once'
kill -INT $pid
wait $pid
[ $? = 1 ] || fail "interrupted twice, it exited with $?"
events "$dir/twice/stubborn.D0.data" 'code == -9'
pgrep -f "^$fakes" >/dev/null && fail "processes are left after two interruptions"

# ---- killed: its workload ends, its files can be read ----

"$fakes" run steady --sleep 10ms --size full --no-trace -o "$dir/killed" >"$dir/out" 2>"$dir/err" &
pid=$!
wait_for "$dir/killed/steady.D0.data" '"rate"'
kill -KILL $pid
wait $pid 2>/dev/null
for ((i = 0; i < 250; i++)); do
	pgrep -f "^$fakes" >/dev/null || break
	sleep 0.02
done
pgrep -f "^$fakes" >/dev/null && fail "a workload outlives its runner"
events "$dir/killed/steady.D0.data" 'rates and "end" not in e'

# ---- bad input ----

run 2 run stedy --no-trace -o "$dir/none"
said "no workload 'stedy' (did you mean 'steady'?)"
run 2 run --no-trace
said 'run what?'
run 2 run steady -d cpuu --no-trace -o "$dir/none"
said "no device 'cpuu' (did you mean 'cpu'?)"
run 2 run steady --slep 1s --no-trace -o "$dir/none"
said "unknown option '--slep', did you mean '--sleep'?"
run 2 run steady --nan.sleep 1s --no-trace -o "$dir/none"
said '--nan.sleep is no option of a workload that is to run'
run 2 run steady --sleep soon --no-trace -o "$dir/none"
said "'soon' is not understood"
run 2 run steady --repeat 0 --no-trace -o "$dir/none"
[ ! -e "$dir/none" ] || fail "a directory is left of a run that was refused"

echo mine >"$dir/good/notes"
run 1 run steady --size tiny --no-trace -o "$dir/good"
said "exists and is not empty (--force"
run 0 run steady --size tiny --no-trace -o "$dir/good" --force -n 2
events "$dir/good/steady.D0.data" 'len(rates) == 3'
[ "$(cat "$dir/good/notes")" = mine ] || fail "--force removed what is not its own"
echo >"$dir/file"
run 1 run steady --size tiny --no-trace -o "$dir/file"
said "cannot create '$dir/file': not a directory"

cd "$dir" || exit 1
run 0 run steady --size tiny --no-trace
ls "$dir"/runs/steady.20??-??-??_??-??-??/summary.json >/dev/null || fail "no runs/NAME.DATE"

# ---- a full disk ----

mkdir "$dir/small"
if mount -t tmpfs -o size=64k none "$dir/small" 2>/dev/null; then
	run 1 run chatty --size tiny --no-trace -o "$dir/small/full"
	said 'chatty.D0.data.: no space left on device'
	# what does not fit is cut at a line; what is said to be written is what Milabench reads
	said 'chatty.D0 failed: of its [0-9]* observations [0-9]* could be written: no space'
	written=$(sed -n 's/.* observations \([0-9]*\) could be written.*/\1/p' "$dir/err")
	events "$dir/small/full/chatty.D0.data" "len(rates) == $written"
fi
exit 0
