#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# xpugap workload: voir's lines on standard output or on the pipe of DATA_FD.
set -u

fakes=$BUILD/tests/fakes/xpugap
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	cat "$dir"/*
	exit 1
}

"$fakes" workload steady --size tiny >"$dir/out" 2>"$dir/err" || fail "exit status $?"
[ "$(grep -c '"rate"' "$dir/out")" = 6 ] || fail "not six rates"
tail -n 1 "$dir/out" | grep -qF '"stop"' || fail "the end is not stop"
python3 -c 'import json, sys; [json.loads(x) for x in sys.stdin]' <"$dir/out" || fail "no JSON"

DATA_FD=5 "$fakes" workload steady --size tiny -n 1 --say hello >"$dir/out" 2>"$dir/err" \
	5>"$dir/data" || fail "exit status $?"
[ "$(cat "$dir/out")" = hello ] || fail "its own output is not on standard output"
[ "$(grep -c '"rate"' "$dir/data")" = 2 ] || fail "not two rates on DATA_FD"

# a number that is no open file is none
DATA_FD=77 "$fakes" workload steady --size tiny -n 1 >"$dir/out" 2>"$dir/err" || fail "status $?"
grep -q '"rate"' "$dir/out" || fail "no rates without a pipe"

"$fakes" workload steady --sleep 50ms --size full >"$dir/out" 2>"$dir/err" &
pid=$!
for ((i = 0; i < 500; i++)); do
	grep -qs '"rate"' "$dir/out" && break
	sleep 0.02
done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "after SIGTERM it exited with $?"

"$fakes" workload steady nan 2>"$dir/err" && fail "two workloads were taken"
"$fakes" workload nan --size tiny >"$dir/out" 2>"$dir/err" && fail "NaN went well"
grep -q '"loss": NaN}' "$dir/out" || fail "no NaN as Milabench writes it"
"$fakes" workload stedy >"$dir/out" 2>"$dir/err"
[ $? = 2 ] || fail "an unknown workload is no usage error"
grep -q "did you mean 'steady'" "$dir/err" || fail "nothing suggested"
exit 0
